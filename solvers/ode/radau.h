/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of Radau IIA of order 5 (three stages) for
 *
 *      B y' = f(t, y),   B diagonal of ones (differential equations) and zeros (algebraic ones),
 *
 * of index up to 3: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.
 * With Z_i = Y_i - y0,
 *
 *      B Z = h (A x 1) f(t + c h, y0 + Z),   y1 = y0 + Z_3,
 *
 * solved by simplified Newton iterations in W = T^-1 Z, where T^-1 A^-1 T is a real number gamma
 * and a pair alpha +- i beta: a real and a complex matrix of n rows each, gamma / h B - J and
 * (alpha + i beta) / h B - J, in the place of one of 3 n.  J is df/dy by finite differences, kept
 * while the iteration contracts by a thousand; the first guess is the collocation polynomial of
 * the step before, continued.  Where stiff directions turn within the step and that does not
 * converge, the iteration goes on with a J between the first two stages.
 *
 * For what it is used: the ODE method and the formulation of the same name, radau5. */
#ifndef PERP_RADAU_H
#define PERP_RADAU_H

#include "solvers/core/core.h"
#include "solvers/linalg/local.h"

/* f at (t, y [n]) into f [n]; false: there is none. */
typedef bool perp_radau_fn(void *user, double t, const double *y, double *f);

/* Set by the owner before create: local, f, user, differential; before a step: scale and
 * difference. */
typedef struct perp_radau {
  perp_local *local; /* which equations read which unknowns; borrowed */
  perp_radau_fn *f;
  void *user;
  const unsigned char *differential; /* [n] 1: y_i' = f_i, 0: 0 = f_i */
  double *scale;      /* [n] error level of each unknown, HUGE_VAL: it does not count */
  double *difference; /* [n] steps of the finite differences */
  /* state */
  bool kept;        /* J is of an earlier step, and may serve */
  bool fresh;       /* J is of this one */
  double h, h_past; /* of the factors (0: none); of the polynomial of the step before (0: none) */
  double theta;     /* contraction of the last iteration */
  int newton;       /* its corrections */
  double *z[3], *past[3];      /* [n] Z of the step, and of the one before */
  double *w[3], *g[3], *y, *e; /* [n] */
  double *J, *E1;              /* perp_local_length */
  double _Complex *E2, *pair, *scratch;
  perp_local_lu lu1, lu2;
  int64_t evaluations, iterations;
  int factorizations;
  double t; /* of the derivatives under way */
  perp_arena arena;
} perp_radau;

/* PERP_ERR_NOMEM.  Allocates all that steps need: 20 vectors of n numbers, the matrices J and E1
 * and the complex E2, their factors. */
perp_status perp_radau_create(perp_ctx *ctx, perp_radau *radau);
void perp_radau_destroy(perp_radau *radau); /* an empty one is fine */
void perp_radau_reset(perp_radau *radau);   /* forget J, factors and the step before */

/* Z of a step h from y0 at t, where f is f0.  tol > 0: until the error left in Z is below `tol` of
 * `scale` (in the mean of squares); 0: until corrections are round-off.  PERP_EXACT; PERP_MAX_ITER,
 * PERP_SINGULAR, PERP_NOT_FINITE.  No allocation. */
perp_reason perp_radau_solve(perp_radau *radau, double t, double h, const double *y0,
                             const double *f0, double tol);
/* The step that was solved becomes the one before. */
void perp_radau_accept(perp_radau *radau, double h);
/* err [n] = (gamma / h B - J)^-1 (f0 + B (e_1 Z_1 + e_2 Z_2 + e_3 Z_3) / h), O(h^4), bounded where
 * the problem is stiff; again: filtered once more, for first and refused steps (IV.8.20).  False:
 * no value of f. */
bool perp_radau_error(perp_radau *radau, double t, double h, const double *y0, const double *f0,
                      bool again, double *err);
/* Weights of the Z_i in the collocation polynomial at t + s h: y0 + sum_i l_i Z_i. */
void perp_radau_weights(double s, double l[3]);
/* sqrt(mean of (x_i / scale_i)^2) over those that count */
double perp_radau_norm(const perp_radau *radau, const double *x);

#endif
