/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newton's method for the equations of an implicit step: unknowns of the bodies (one or more for
 * each velocity) and of the joints (one or more for each row), equations likewise, and each reads
 * its neighbours only: solvers/linalg/local.h.
 *
 * The factors of a Jacobian serve from step to step (simplified Newton) until corrections fall by
 * less than a factor of ten; then the step is made again from its guess with a new one, and from
 * there with one at each iterate where it must be.
 *
 * Dependent rows of joints leave the Jacobian singular.  To the equation of a row, 1e-9 of its J
 * M^-1 J' times its multiplier is added: C is off by 1e-9 of what the force of the joint does in a
 * step, h^2 times an acceleration (1e-14 m at 1 ms and 10 m/s^2), the multipliers are those of
 * least norm where they are not unique, and a position in which J loses rank is one like others.
 * Where that is more than 1e-10 of the size (a light body between heavy ones: the force is that of
 * their mass, J M^-1 J' is its own), rows are made soft about the multipliers that were found, and
 * solved for again, up to 100 times (method of multipliers): at mass ratios of 1e9 each pass halves
 * the error.  PERP_INACCURATE where more than 1e-7 of the size is left.  `hard` makes them soft
 * about the multipliers of each iterate, so that C = 0 to rounding, and multipliers that are not
 * unique follow the first guess and rounding. */
#ifndef PERP_IMPLICIT_STEP_H
#define PERP_IMPLICIT_STEP_H

#include "models/multibody/model_private.h"
#include "solvers/linalg/local.h"

typedef struct perp_implicit {
  const perp_model *model;
  perp_local local;
  int per_velocity, per_row; /* parts: unknowns for each velocity, for each row */
  int motors;                /* further unknowns, one for each of these (motors.h) */
  int n;                     /* of all parts: those of bodies first */
  double *A;
  perp_local_lu lu;
  double *x0, *dx, *r, *step, *soft;
  double *about; /* [n] multipliers about which rows are soft */
  bool softened; /* the caller's equations of rows are soft themselves: nothing is added to them */
  bool hard;     /* the softness is in the Jacobian alone: about the multipliers of each iterate */
  bool factored;
  double h;                        /* step that the factors are of */
  double floor;                    /* of corrections that no longer fell */
  int64_t iterations, evaluations; /* since create: corrections; evaluations for Jacobians too */
  int64_t jacobians;
  perp_arena arena;
} perp_implicit;

/* PERP_ERR_NOMEM, PERP_ERR_UNSUPPORTED (a band of more than 2^31 numbers).  Allocates all that
 * solutions need. */
perp_status perp_implicit_create(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                 int per_row, perp_implicit *implicit);
/* The same with an unknown for each of n drives: their forces as those of joints. */
perp_status perp_implicit_create_driven(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                        int per_row, int n, const int *drive,
                                        perp_implicit *implicit);
/* Its graph alone: implicit->local, and the parts below; for who has another iteration. */
perp_status perp_implicit_graph(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                int per_row, perp_implicit *implicit);
/* With per_body unknowns of a body, of whatever kind: parts of the joints only. */
perp_status perp_implicit_graph_of(perp_ctx *ctx, const perp_model *model, int per_body,
                                   int per_row, perp_implicit *implicit);
void perp_implicit_destroy(perp_implicit *implicit);
void perp_implicit_restart(perp_implicit *implicit); /* forget the factors */

/* Part k of the bodies, y [nv], or of the joints, y [m], out of x [n] or into it. */
void perp_implicit_get_body(const perp_implicit *implicit, const double *x, int k, double *y);
void perp_implicit_put_body(const perp_implicit *implicit, int k, const double *y, double *x);
void perp_implicit_get_row(const perp_implicit *implicit, const double *x, int k, double *y);
void perp_implicit_put_row(const perp_implicit *implicit, int k, const double *y, double *x);

/* Likewise y [motors]. */
void perp_implicit_get_motor(const perp_implicit *implicit, const double *x, double *y);
void perp_implicit_put_motor(const perp_implicit *implicit, const double *y, double *x);

/* F(x) = 0 from the guess x [n], in place; unknowns of bodies are lengths and angles (velocities
 * times h), those of joints M times as much.  Solved when a correction of the bodies is below tol
 * times `size`, or no longer falls below 1e-9 of it.  B: J and M near the solution.  PERP_EXACT;
 * PERP_MAX_ITER after `most` corrections, PERP_INACCURATE, PERP_NOT_FINITE, PERP_SINGULAR. No
 * allocation, but for new pivots of wide models. */
/* tol of fixed steps: rounding, so that their error is that of the formula. */
#define PERP_IMPLICIT_TOL 1e-14
perp_reason perp_implicit_solve(perp_implicit *implicit, perp_local_fn *F, void *user, double h,
                                const perp_blocks *blocks, double tol, int most, double size,
                                double *x);

#endif
