/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What jacobi, pgs and psor share: options, workspace, stopping. */
#ifndef PERP_LCP_SPLITTING_H
#define PERP_LCP_SPLITTING_H

#include "solvers/lcp/rows/rows.h"

struct perp_splitting_opts {
  int max_iter, sweeps, order, seed;
  double tol, omega;
  bool plain; /* jacobi: the bare diagonal */
};

enum { PERP_ORDER_FORWARD, PERP_ORDER_SYMMETRIC, PERP_ORDER_RANDOM, PERP_ORDER_COLOURED };
extern const char *const perp_sweep_orders[]; /* all but the last, */
extern const char *const perp_row_orders[];   /* and all */

#define PERP_SPLITTING_STOP                                                                        \
  PERP_INT(struct perp_splitting_opts, max_iter, 10000, 1, 1e9, "Maximum number of sweeps."),      \
      PERP_REAL(struct perp_splitting_opts, tol, 0, 0, 1, 0, "",                                   \
                "Stopping tolerance of the scaled residual. 0: the tolerance of the caller."),     \
      PERP_INT(                                                                                    \
          struct perp_splitting_opts, sweeps, 0, 0, 1e9,                                           \
          "Exact number of sweeps, without convergence test. 0: iterate until tol is reached.")
#define PERP_SPLITTING_ORDER                                                                       \
  PERP_ENUM(struct perp_splitting_opts, order, PERP_ORDER_FORWARD, perp_sweep_orders,              \
            "Order of the rows: forward, symmetric (alternately forward and backward), random."),  \
      PERP_INT(struct perp_splitting_opts, seed, 1, 0, 2147483647, "Seed of the random order.")
#define PERP_SPLITTING_ROW_ORDER                                                                   \
  PERP_ENUM(struct perp_splitting_opts, order, PERP_ORDER_FORWARD, perp_row_orders,                \
            "Order of the rows: forward, symmetric (alternately forward and backward), random or " \
            "coloured. Coloured sweeps update contacts that share no body together, with SIMD "    \
            "and several threads."),                                                               \
      PERP_INT(struct perp_splitting_opts, seed, 1, 0, 2147483647, "Seed of the random order.")

/* One iteration: update lambda, return the largest change divided by the relaxation. */
typedef struct perp_splitting perp_splitting;
typedef double perp_splitting_step(perp_splitting *w, double *lambda, int iteration);

struct perp_splitting {
  perp_rows rows; /* first: see perp_rows_create */
  struct perp_splitting_opts o;
  double *keep, *slack, *aux; /* [max_n] */
  int *order;                 /* [max_n] */
  uint64_t random;
  double memory; /* of the step function, between two calls */
};

/* Of a perp_splitting with its rows.max_n; for methods with one at the beginning of their own
 * workspace. */
void perp_splitting_layout(void *ws, perp_arena *arena);
perp_status perp_splitting_create(perp_ctx *ctx, int max_n, const void *opts, void **ws);
/* The loop.  A change at or below tol max(|lambda|, |b_i| / A_ii) is a cheap sign of convergence,
 * which costs nothing; the residual from scratch decides, each failed test makes the next sign
 * harder. */
perp_status perp_splitting_solve(perp_ctx *ctx, perp_splitting *splitting, const perp_lcp *lcp,
                                 double *lambda, double *certificate, const char *name,
                                 perp_splitting_step *step, perp_stats *stats);
/* Gauss-Seidel sweep in the order asked for. */
double perp_splitting_gauss_seidel(perp_splitting *splitting, double *lambda, int iteration);

/* splitmix64: the random orders, identical on every machine */
static inline uint64_t perp_splitmix(uint64_t *state)
{
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
void perp_shuffle(uint64_t *state, int *index, int n);

#endif
