/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the formulation point-mass: bodies as points (point_mass_bodies.c), their
 * constraints (point_mass_links.c), and the step (point_mass_step.c, which has the equations). */
#ifndef PERP_POINT_MASS_H
#define PERP_POINT_MASS_H

#include "models/collision/collision.h"
#include "models/stepping/constrained.h"
#include "models/stepping/time_grid.h"

#include <math.h>

enum { POINT_MASS_SWEEPS, POINT_MASS_SIMULTANEOUS };
enum { POINT_MASS_RIGIDITY_FIRST, POINT_MASS_JOINTS_FIRST };
struct point_mass_opts {
  double tol, threshold;
  int iterations, rigidity, order, solve;
};

typedef struct body {
  int n; /* vectors: 3, 2 in the plane, none of a particle */
  double mass;
  double I[3];     /* principal moments; the plane uses I[2] */
  double axes[9];  /* principal axes in the body frame, columns */
  double gamma[3]; /* |B_j|^2 */
} body;

/* a coupling of two points, the distance of them, or a point on a curve */
typedef struct link {
  int a, b, joint;
  const perp_curve *curve; /* NULL: none */
  bool distance, second;   /* second: of a pair that makes a hinge */
  double length;
  double rho_a[3], rho_b[3]; /* point = c + sum rho_j B_j; world: the point */
  double K[9];               /* (M_a + M_b)^-1 of this step */
  double ra[3], rb[3];       /* arms of this step, 0 for the world */
  double n[3];               /* direction of a distance */
  double F[3];               /* force that acts on a, and -F on b */
} link;

/* a contact in a step, see point_mass_contacts.c */
typedef struct contact {
  perp_contact at;
  double r[2][3], rho[2][3]; /* its place in both bodies: from the centre, and in their vectors */
  double K;                  /* displacement along n by a unit force */
  double bound;              /* m, of the displacement in the step */
  double lambda;             /* N */
  bool impact;               /* with restitution */
} contact;

typedef struct contacts {
  contact *x; /* [n] by id */
  int n;
} contacts;

typedef union coordinates {
  struct {
    double c[3], B[9];
  };
  double all[12];
} coordinates;

typedef struct workspace {
  const perp_model *model;
  struct point_mass_opts o;
  perp_eval e;
  perp_time_grid grid;
  body *body;
  link *link;
  int n_links;
  bool reports;                /* multipliers are forces of points: all joints but curves */
  coordinates *x, *x1, *w, *v; /* at t, at t + h, mean rates of the last step, rates at t */
  double h_last;               /* 0: w is the rate at the start */
  double h_ahead;              /* x1 is the end of a next step of this length; 0: it is not */
  perp_reason ahead;           /* of that step */
  double *q, *q_out, *v_out, *f, *lambda;
  double *rigid,
      *rigid_out; /* [bodies][6] of van Overveld and Barenbrug 1995, eq. 12, h^2 included: lambda_j,
                   * Lambda_j; of the step in the making, of the last one */
  struct perp_point_mass_lu *lu; /* NULL: sweeps */
  double drift;
  /* shapes that may touch, else collision is NULL */
  perp_ctx *ctx; /* of the call in progress */
  perp_status status;
  perp_collision *collision;
  contacts contacts[2]; /* of the step in the making, [now], and of the one before */
  int now, contact_cap;
  bool pressed, impact; /* did a force change in the sweeps; has a contact an impact? */
  double *reach;        /* [bodies] */
  coordinates *moved;   /* [bodies] scratch */
  perp_contact *shown;  /* [n_shown] of the step that was made */
  double *shown_impulse;
  int n_shown;
  perp_contact_count count;
  bool timing;
  double step_s, collision_s;
} workspace;

/* principal axes in the world, columns of P [9], unit; the axes of the world where the body has no
 * vector */
PERP_INLINE void frame(const body *b, const coordinates *x, double P[9])
{
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      P[i + 3 * j] = j < b->n ? x->B[i + 3 * j] / sqrt(b->gamma[j]) : i == j;
}

/* R = P axes', body to world; P: frame */
PERP_INLINE void rotation(const body *b, const double P[9], double R[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      R[i + 3 * j] = P[i] * b->axes[j] + P[i + 3] * b->axes[j + 3] + P[i + 6] * b->axes[j + 6];
}

/* y = I^-1 torque, in the world; P: frame */
PERP_INLINE void turn_by(const body *b, const double P[9], const double torque[3], double y[3])
{
  double local[3];
  if (b->n == 0) {
    y[0] = y[1] = y[2] = 0;
    return;
  }
  if (b->n == 2) {
    y[0] = y[1] = 0;
    y[2] = torque[2] / b->I[2];
    return;
  }
  perp_turn_back(3, P, torque, local);
  for (int j = 0; j < 3; j++) local[j] /= b->I[j];
  perp_turn(3, P, local, y);
}

/* PERP_ERR_UNSUPPORTED: a flat body. */
perp_status perp_point_mass_body(perp_ctx *ctx, const perp_model *model, int index, body *b);
/* work->x and work->w: coordinates and rates from the state of the model. */
void perp_point_mass_enter(workspace *work, const double *q, const double *v);
/* work->q_out and work->v_out: the state of the model from coordinates x and rates v. */
void perp_point_mass_leave(workspace *work, const coordinates *x, const coordinates *v);

/* work->link from the joints, after the bodies.  PERP_ERR_UNSUPPORTED: a joint that does not couple
 * points. */
perp_status perp_point_mass_links(perp_ctx *ctx, workspace *work);
/* Arms, mobilities and directions at t. */
void perp_point_mass_prepare(workspace *work);
/* A force at the centre and a torque on body i, times scale, move `to`; directions are those of
 * work->x. */
void perp_point_mass_move(const workspace *work, int i, const double force[3],
                          const double torque[3], double scale, coordinates *to);
/* So do the forces of the links. */
void perp_point_mass_push(workspace *work, double scale);
/* One sweep over all constraints at t + h, in work->x1; returns the largest violation before it:
 * relative, or to the size of the model; NaN when it is not finite. */
double perp_point_mass_sweep(workspace *work, double scale);
/* Does the joint of k hold no more? */
bool perp_point_mass_released(const workspace *work, const link *k);
/* The point rho of a body at the coordinates x; index < 0: the world's. */
void perp_point_mass_point(const workspace *work, const coordinates *x, int index,
                           const double rho[3], double p[3]);
/* gap [3] from the curve of body a to the point p of the world, at the coordinates x; tangent there
 */
void perp_point_mass_curve_gap(const workspace *work, const link *k, const coordinates *x,
                               const double p[3], double gap[3], double tangent[3]);

/* ---- all constraints at once, point_mass_lu.c ---- */

/* work->lu, after the links.  PERP_ERR_NOMEM. */
perp_status perp_point_mass_lu_open(perp_ctx *ctx, workspace *work);
void perp_point_mass_lu_close(workspace *work);
/* One Newton step of all constraints at t + h but contacts, in work->x1, unless they hold to tol;
 * *worst out: the largest violation before it, as of perp_point_mass_sweep.  PERP_SINGULAR:
 * constraints depend on each other. */
perp_reason perp_point_mass_lu_solve(workspace *work, double scale, double *worst);

/* ---- contacts ---- */

/* PERP_ERR_UNSUPPORTED: friction. */
perp_status perp_point_mass_contacts_open(perp_ctx *ctx, workspace *work);
void perp_point_mass_contacts_close(workspace *work);
/* Those within reach of a step h from work->x, at the poses of work->e.  PERP_ERR_NOMEM. */
perp_status perp_point_mass_contacts_find(workspace *work, double h);
/* Bounds of the displacements; the forces of the step before move work->x1. */
void perp_point_mass_contacts_push(workspace *work, double h, double scale);
/* As perp_point_mass_sweep, of contacts. */
double perp_point_mass_contacts_sweep(workspace *work, double scale);
/* The sweeps of the step are over. */
void perp_point_mass_contacts_count(workspace *work, perp_reason reason, double left, int sweeps);
/* The contacts of the step that is made now, with impulses. */
void perp_point_mass_contacts_show(workspace *work, double h);

#endif
