/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One semismooth Newton step for contacts with Coulomb's circular cone, which cone-newton and prox
 * share.
 *
 * Natural map, w = A lambda + b, scales a > 0, contact with multipliers (n, T), limit r = mu max(n,
 * 0): H_n = n - max(n - w_n / a_n, 0),        H_T = T - P(T - w_T / a, r),   P onto the disc of
 * radius r, one of the formulations of Alart and Curnier (1991); bounded rows and friction boxes as
 * in minmap-newton. With y = T - w_T / a the contact is open (n - w_n / a_n < 0), sticks (|y| <= r)
 * or slides.  In the directions e = y / |y| and e' orthogonal to it a generalized derivative of the
 * sliding equations is T_e+ = mu n+,      w_e'+ + d T_e'+ = 0,      d = a (1 - k) / k,  k = r / |y|
 * < 1, with + for the values after the step.  In tangential axes turned to e and e' they are
 * therefore the rows of a friction box, one at its limit and one free with d on the diagonal.
 * Dense: the columns of the unknown rows are turned while they are gathered, into a sparse LU where
 * A is large and mostly zeros.  Factored: J is turned (a copy), and the systems of system.h serve
 * cones as they serve boxes.
 *
 * Everywhere here the problem may be a proximal one: A + diag(shift) for A, b - shift center for b.
 *
 * Backtracking on sum a |H|^2 / 2, non-monotone, a shortened step projected on the limits (which
 * halves the number of steps on sliding stacks); where the direction fails a term rho diag(A)
 * grows. */
#ifndef PERP_LCP_CONE_STEP_H
#define PERP_LCP_CONE_STEP_H

#include "solvers/lcp/newton/newton.h"
#include "solvers/linalg/sparse_lu.h"

enum { PERP_CONES_WINDOW = 16 };

typedef struct perp_cones {
  perp_newton N;          /* first: vectors of a step; factored: the turned problem */
  perp_rows R;            /* of the problem itself */
  double *x, *w;          /* [max_n] the iterate and its slack, that of the proximal problem */
  double *scale, *e;      /* [max_n] e: the direction of a pair */
  double *b, *s;          /* [max_n] turned b and softness */
  double *shift, *center; /* [max_n] */
  bool proximal;          /* shift and center count */
  int refine;             /* steps of iterative refinement */
  int window;             /* non-monotone search: values to fall below */
  int steps, matvecs;
  double theta, past[PERP_CONES_WINDOW]; /* values of the merit function */
  double rho;
  perp_lcp turned;
  perp_blocks F;
  double *matrix; /* turned J */
  size_t capacity;
  perp_sparse_lu L;           /* of a dense A that is mostly zeros (see rows.h) */
  int *place, *first, *other; /* [max_n] unknown of a row; the rows that follow it, a list */
} perp_cones;

/* For workspaces that begin with a perp_cones, as in newton.h. */
void perp_cones_layout(void *ws, perp_arena *arena);
perp_status perp_cones_create(perp_ctx *ctx, const char *name, int max_n, perp_cones *like,
                              size_t size, perp_layout_fn *layout, void **ws);
void perp_cones_destroy(void *ws); /* NULL is fine */
/* Read the problem.  Allocation as in system.h and rows.h. */
perp_status perp_cones_prepare(perp_ctx *ctx, perp_cones *cones, const perp_lcp *lcp);

/* w = A x + b of the iterate, + shift (x - center) where proximal. */
void perp_cones_slack(perp_cones *cones);
/* sum of scale |H|^2 / 2 at x with slack w */
double perp_cones_merit(const perp_cones *cones, const double *x, const double *w);
/* Forget the values of the search: the iterate was moved by others, or the problem has changed. */
void perp_cones_restart(perp_cones *cones);
/* One Newton step of the iterate, *length of it: 0 where no direction helped and x stayed.  Counts
 * factorizations in *factorizations. */
perp_status perp_cones_step(perp_ctx *ctx, perp_cones *cones, double *length, int *factorizations);

#endif
