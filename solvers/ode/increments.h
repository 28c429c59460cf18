/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps whose change D [n] of the velocities (of the numbers of a plain system) solves D = G(D);
 * not installed. */
#ifndef PERP_ODE_INCREMENTS_H
#define PERP_ODE_INCREMENTS_H

#include "solvers/ode/method.h"

typedef struct perp_ode_increments {
  int n;
  double *D, *G, *r, *Dj; /* [n] increment, its image, residual, trial for the Jacobian */
  double *jacobian;       /* [n * n] column-major, then its LU factors; NULL for large n */
  int *pivots;
  double base;   /* size of what D is added to */
  double unseen; /* of a velocity: lost in the positions, or less than what a is known to */
  perp_stats *stats;
  /* G(D), whose fixed point is the step */
  perp_ode_answer (*image)(void *user, const double *D, double *G);
  void *user;
} perp_ode_increments;

void perp_ode_increments_layout(perp_ode_increments *work, int n, perp_arena *arena);
/* Sizes of a step of h from (q, v). */
void perp_ode_increments_start(perp_ode_increments *work, const perp_ode_sys *sys, double h,
                               const double *q, const double *v, perp_stats *stats);
/* Solve D = G(D) to round-off, from the guess in work->D. */
perp_ode_answer perp_ode_increments_solve(perp_ode_increments *work);

#endif
