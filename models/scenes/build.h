/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of models/scenes share.  Private. */
#ifndef PERP_SCENE_BUILD_H
#define PERP_SCENE_BUILD_H

#include "models/scenes/scene.h"

/* ---- truths ------------------------------------------------------------------------------------------- */

/* Add a truth that answers at any time.  user is owned from here on, also on failure. */
typedef perp_status perp_truth_state(void *user, perp_ctx *ctx, double t, double *q, double *v);
perp_status perp_truth_add(perp_ctx *ctx, perp_scene *scene, const char *what, double t_end,
                           double uncertainty, perp_truth_state *state, void *user);

/* The initial state of the model, finished, in which it stays at rest. */
perp_status perp_truth_rest(perp_ctx *ctx, perp_scene *scene, const char *what);

/* Rows of a reference file, as text with all its digits: see tests/data/reference/README.md.
 * names [n]: the columns that are wanted; map turns their values at one time into (q, v).  map_user is
 * owned from here on, also on failure. */
typedef void perp_truth_map(void *map_user, double t, const double *row, double *q, double *v);
perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, void *map_user);

/* The scene integrated in joint coordinates: formulation reduced, gsl:rk8pd with tolerance 1e-13, made
 * when first asked.  The model must be finished. */
perp_status perp_truth_reduced(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty);

/* Which truths a scene with a choice attaches: option `truth` of such scenes. */
enum { PERP_TRUTH_AUTO, PERP_TRUTH_FILE, PERP_TRUTH_REDUCED, PERP_TRUTH_NONE };
extern const char *const perp_truth_names[];

/* ---- links that move in one vertical plane ---------------------------------------------------------------- */

/* Serial links: link i starts at the end of link i-1 (the first at the origin) and makes the angle theta_i
 * with +x, counter-clockwise as seen with gravity pointing down.  The plane is (x, y) in the plane and
 * (x, z) in space, where theta turns about -y.  Body axes: x along the link. */
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
  bool mixed; /* BODY links are held by ball, hinge and universal joint in turn; in space */
} perp_links;

perp_links *perp_links_create(perp_ctx *ctx, int dim, int n); /* NULL when out of memory; free() */
/* A model of the links: bodies at angles theta with rates omega (NULL: 0), and their joints.  BODY links
 * are held by `joint` (ball or hinge about y), POINT links by distance joints at the centre of mass, so
 * that nothing turns the body and its inertia is not felt, CARRIED ones by a ball joint at the centre of
 * mass.  gravity in m/s^2.  The model is finished and put into the scene. */
perp_status perp_links_model(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                             perp_joint_kind joint, double gravity, const double *theta,
                             const double *omega);
/* (q, v) of all bodies from the angles and rates of the links that have one. */
void perp_links_state(const perp_links *links, const double *theta, const double *omega, double *q,
                      double *v);
/* Adds the file truth whose columns are theta1 ... , omega1 ...  */
perp_status perp_links_file(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                            const char *file, double uncertainty);

/* The mass properties of a thin rod along x: transverse m L^2/12, axial m L^2/600 (which keeps the mass
 * matrix positive definite and is not felt in motion in a plane). */
perp_mass perp_mass_thin_rod(double m, double length);
/* Gravity pulls along the last axis: point in the plane of motion to coordinates. */
void perp_in_plane(int dim, double x, double height, double p[3]);

#endif
