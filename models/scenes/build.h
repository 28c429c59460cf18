/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of models/scenes share.  Private. */
#ifndef PERP_SCENE_BUILD_H
#define PERP_SCENE_BUILD_H

#include "models/scenes/gauges.h"
#include "models/scenes/truths.h"

/* ---- truths ---- */

/* Tables of states: n rows of 1 + width numbers, each with its time first, which ascends.  A run
 * reaches a time t_k as k h: rounding leaves it as close to the grid as perp_truth_same asks.  The
 * first row that is not before t; n: there is none.  O(log n). */
bool perp_truth_same(double t, double grid);
int perp_truth_first(const double *row, int n, int width, double t);

/* Which truths a scene with a choice attaches: option `truth` of such scenes. */
enum { PERP_TRUTH_AUTO, PERP_TRUTH_FILE, PERP_TRUTH_REDUCED, PERP_TRUTH_NONE };
extern const char *const perp_truth_names[];

/* Numbers printed [n] that a public source gives for time t, against the first truth, into
 * scene->published: n_q coordinates, then rates (n = n_q: err_v is unknown, NaN).  order, unless it
 * is NULL, makes those of the source of a state: ref [n].  A state has at most 32 of each. */
typedef void perp_printed_fn(const double *q, const double *v, double *ref);
perp_status perp_truth_printed(perp_ctx *ctx, perp_scene *scene, const char *what, double t,
                               int n_q, int n, const double *printed, perp_printed_fn *order);

/* ---- whole models ---- */

/* Lists; one that has no number has one member. */
typedef struct perp_scene_parts {
  int dim; /* 0: space */
  double gravity;
  const perp_body_def *body;
  const perp_joint_def *joint;
  const perp_drive_def *drive;
  const perp_force_def *force;
  int n_bodies, n_joints, n_drives, n_forces;
} perp_scene_parts;
/* A model of these parts, finished as below. */
perp_status perp_scene_assemble(perp_ctx *ctx, perp_scene *scene, const perp_scene_parts *parts,
                                double t_end, double h);
/* Finish the model, which has all its parts, with the default run; the marked body is the last
 * one. */
perp_status perp_scene_finish(perp_ctx *ctx, perp_scene *scene, double gravity, double t_end,
                              double h);
/* A joint whose axes in both frames are coordinate axis 0, 1 or 2. */
perp_joint_def perp_scene_joint(perp_joint_kind kind, const char *name, int a, int b, int axis);

/* ---- links that move in one vertical plane ---- */

/* Serial links: link i starts at the end of link i-1 (the first at the origin) and makes the angle
 * theta_i with +x, counter-clockwise as seen with gravity pointing down.  The plane is (x, y) in
 * the plane and (x, z) in space, where theta turns about -y.  Body axes: x along the link. */
typedef enum perp_link_kind {
  PERP_LINK_BODY,   /* a body that turns with the link */
  PERP_LINK_POINT,  /* a massless link with a body at its end that never turns: a point mass */
  PERP_LINK_CARRIED /* a body at the end of the link before, without an angle, that never turns */
} perp_link_kind;

typedef struct perp_link {
  perp_link_kind kind;
  double length; /* 0 for CARRIED */
  double com;    /* BODY: from the start of the link to the centre of mass */
  perp_mass mass;
} perp_link;

typedef struct perp_links {
  int dim, n; /* bodies 0 ... n-1 */
  perp_link *link;
  double start; /* angle of all links that are not given one */
  bool mixed;   /* BODY links are held by ball, hinge and universal joint in turn; in space */
  double
      thick; /* m; > 0: BODY links are boxes that collide, but with the links they are joined to */
  double strength; /* N, of joints; 0: they do not break */
  double error;    /* m; bodies start off their places by so much, up and down in turn */
} perp_links;

perp_links *perp_links_create(perp_ctx *ctx, int dim, int n); /* NULL when out of memory; free() */
/* A model of the links: bodies at angles theta (NULL: `start`) with rates omega (NULL: 0), and
 * their joints.  BODY links are held by `joint` (ball or hinge about y), POINT links by distance
 * joints at the centre of mass, so that nothing turns the body and its inertia is not felt, CARRIED
 * ones by a ball joint at the centre of mass.  gravity in m/s^2.  The model is finished and put
 * into the scene with its run: steps of 1 ms. */
perp_status perp_links_model(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                             perp_joint_kind joint, double gravity, double t_end,
                             const double *theta, const double *omega);
/* (q, v) of all bodies from the angles and rates of the links that have one. */
void perp_links_state(const perp_links *links, const double *theta, const double *omega, double *q,
                      double *v);
/* Adds the file truth whose columns are theta1 ... , omega1 ...  */
perp_status perp_links_file(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                            const char *file, double uncertainty);

/* The mass properties of a thin rod along x: transverse m L^2/12, axial m L^2/600 (which keeps the
 * mass matrix positive definite and is not felt in motion in a plane). */
perp_mass perp_mass_thin_rod(double m, double length);

/* ---- options ---- */

#define PERP_OPT_POSITIVE(S, f, d, unit, help)                                                     \
  PERP_REAL(S, f, d, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, unit, help)
#define PERP_OPT_NONNEGATIVE(S, f, d, unit, help)                                                  \
  PERP_REAL(S, f, d, 0, HUGE_VAL, PERP_OPEN_MAX, unit, help)
#define PERP_OPT_FINITE(S, f, d, unit, help)                                                       \
  PERP_REAL(S, f, d, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, unit, help)
#define PERP_OPT_MU(S, f, d) PERP_OPT_NONNEGATIVE(S, f, d, "", "Coefficient of friction.")

#define PERP_OPT_G(S) PERP_OPT_POSITIVE(S, gravity, 9.81, "m/s^2", "Gravitational acceleration.")

#define PERP_OPT_DIM(S, d) PERP_INT(S, dim, d, 2, 3, "Dimension: 2 is the plane, 3 is space.")
#define PERP_OPT_SETTLE(S)                                                                         \
  PERP_OPT_NONNEGATIVE(                                                                            \
      S, settle, 0, "s",                                                                           \
      "Time from which rest and contact forces are evaluated. It leaves time to settle.")

#endif
