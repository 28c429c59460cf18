/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motors without damping and without a bound of their force, as constraints on velocities,
 *
 *      J v = velocity(t),      M a = f + J_c' lambda + J' p,
 *
 * for formulations that solve smooth equations.  Private. */
#ifndef PERP_MOTORS_H
#define PERP_MOTORS_H

#include "models/stepping/constrained.h"

typedef struct perp_motors {
  int n;
  int *drive;        /* [n] of the model */
  double *force;     /* [n] N or N m along the coordinates */
  double *Y, *mult;  /* [nv n], [m n] answers of the jointed bodies to a unit force of each */
  double *A, *f, *c; /* [n n], [nv], [m] */
  int *pivot;        /* [n] */
} perp_motors;

/* How many the model has. */
int perp_motors_count(const perp_model *model);
/* Arrays for the layout of who has them; n is set.  perp_motors_find fills `drive`. */
void perp_motors_layout(perp_motors *motors, const perp_model *model, perp_arena *arena);
void perp_motors_find(perp_motors *motors, const perp_model *model);
/* f [nv] += factor J' p at the poses of eval. */
void perp_motors_push(const perp_motors *motors, const perp_model *model, const perp_eval *eval,
                      double factor, const double *p, double *f);
/* J v - velocity(t) [n]. */
void perp_motors_slip(const perp_motors *motors, const perp_model *model, const perp_eval *eval,
                      double t, const double *v, double *slip);
/* k was evaluated and solved at (t, v) on the level of accelerations: k->a and k->lambda with the
 * forces of the motors, which are kept.  False: dependent motors, k->reason says so. */
bool perp_motors_accelerate(perp_motors *motors, perp_constrained *k, double t, const double *v);
/* v is given the velocities of the motors, with the factor at hand. */
bool perp_motors_start(perp_motors *motors, perp_constrained *k, double t, double *v);

#endif
