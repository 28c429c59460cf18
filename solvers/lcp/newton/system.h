/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linear systems of Newton, interior point and active-set methods:
 *
 *      d_i (x_i - gamma_i x_n(i)) + (A x)_i = r_i    where d_i is finite
 *
 *      x_i = gamma_i x_n(i)    where d_i is infinite (gamma_i = 0: the row is out)
 *
 * with d_i >= 0, and gamma only on friction rows, n(i) being their normal row, whose own gamma is
 * 0.
 *
 * Dense: the rows with finite d are gathered; Cholesky when A is symmetric and gamma absent, LU
 * otherwise. Factored, A = J M^-1 J' + S: with z = M^-1 J' x, omega_i = 1 / (s_i + d_i) (0 where
 * d_i is infinite) and g_i = gamma_i d_i omega_i (gamma_i where d_i is infinite) the rows read x_i
 * = omega_i (r_i - J_i z) + g_i omega_n (r_n - J_n z), and M z = J' x becomes  H z = J' (omega r +
 * g omega_n r_n),  H = M + J' (omega J + g omega_n J_n): one sparse matrix in the space of
 * velocities for any set of rows (see bodylu.h).
 *
 * Sparse A, kept by its columns: the rows with finite d are gathered in a sparse LU (KLU), which
 * orders and allocates for each set of rows.
 *
 * Rows of A may be dependent: d is raised to a floor, a proximal term, which the refinement against
 * the true system removes again where the system is consistent. */
#ifndef PERP_LCP_SYSTEM_H
#define PERP_LCP_SYSTEM_H

#include "solvers/lcp/newton/bodylu.h"
#include "solvers/lcp/rows/rows.h"
#include "solvers/linalg/sparse_lu.h"

typedef struct perp_system {
  perp_rows *R;
  int n, max_n;
  bool symmetric; /* A is (exactly) symmetric; always so when factored */
  double floor;   /* of d_i, relative to the scale of the row */
  int factorizations;
  /* dense */
  int f;       /* gathered rows */
  int *index;  /* [max_n] */
  int *pivot;  /* [max_n] */
  double *rhs; /* [max_n] */
  bool lu;     /* the current factor is an LU */
  double *K;   /* [capacity] f x f */
  size_t capacity;
  /* sparse */
  perp_sparse_lu sparse;
  int *first,
      *next; /* [max_n] friction rows of a normal row: the first, and after each; -1: none */
  /* factored */
  perp_bodylu *L;
  double *omega, *sigma; /* [max_n] */
  double *v;             /* [nv] */
  size_t v_capacity;
  /* all */
  double *d, *gamma, *res, *cor, *Ax; /* [max_n] */
  bool coupled;
  perp_arena own;
} perp_system;

/* For up to max_n rows; dense matrices up to PERP_SYSTEM_EAGER rows are allocated here, larger ones
 * by the first problem that needs them. */
enum { PERP_SYSTEM_EAGER = 256 };
perp_status perp_system_open(perp_ctx *ctx, perp_system *system, int max_n);
void perp_system_close(perp_system *system);
/* *block [*capacity] of at least `count` doubles; a larger one loses the contents. */
perp_status perp_system_grow(perp_ctx *ctx, double **block, size_t *capacity, size_t count);
/* A problem, already prepared in rows.  Allocates when it is larger than any before (dense, sparse)
 * or has another pattern than the one before (factored).  coupled: gamma will be used. */
perp_status perp_system_prepare(perp_ctx *ctx, perp_system *system, perp_rows *rows, bool coupled);
/* d [n] (values may be infinite), gamma [n] or NULL.  False: singular or not finite even with the
 * floor. */
bool perp_system_factor(perp_system *system, const double *d, const double *gamma);
/* x from r [n] (not aliased), with `refine` steps of iterative refinement.  False: x is not finite.
 */
bool perp_system_solve(perp_system *system, const double *r, double *x, int refine);

#endif
