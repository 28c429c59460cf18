/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the KKT formulations share; private to this folder. */
#ifndef PERP_KKT_IMPL_H
#define PERP_KKT_IMPL_H

#include "solvers/core/finite.h"
#include "solvers/kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- dependent rows ----
 *
 * A row of A is taken as dependent on the rows before it when its pivot falls below rank_tol times
 * its diagonal entry A_ii.  Both sides scale alike with the units of the row, so the test does not.
 * Sparse and LDL' formulations cannot drop a row in a fixed pattern; they then factor with S +
 * delta I, delta = KKT_DELTA trace(A) / m, and refine: every pass multiplies the part of
 * the error in the range of A by delta / (delta + sigma), sigma its eigenvalue, and leaves the null
 * space alone, so that from lambda = 0 the limit is the multiplier of least norm (iterated Tikhonov
 * regularization). Round-off in the null space is amplified by trace / delta: the norm is least to
 * about 1e-6. */

/* Relative violation above which constraints are reported as contradictory: far above what rounding
 * leaves of consistent ones, which iterated regularization meets to about 1e-6. */
#define KKT_INFEASIBLE 1e-6

/* A smaller one loses more of the least norm, a larger one needs more passes. */
#define KKT_DELTA 1e-10

#define KKT_RANK_OPTIONS(S)                                                                        \
  PERP_REAL(S, rank_tol, 1e-12, 0, 1e-2, PERP_OPEN_MIN, "",                                        \
            "Rank tolerance: a row is dependent if its pivot is below this fraction of A_ii.")

/* Refuse the solve: defined finite output. */
static inline perp_status kkt_give_up(const perp_blocks *blocks, double *a, double *lambda,
                                      perp_stats *stats, perp_reason reason)
{
  for (int i = 0; i < blocks->nv; i++) a[i] = 0;
  for (int i = 0; i < blocks->m; i++) lambda[i] = 0;
  stats->reason = reason;
  return PERP_OK;
}

/* Take the answer of a direct solve, if it is finite. */
static inline perp_status kkt_take(const perp_blocks *blocks, double *a, double *lambda,
                                   perp_stats *stats)
{
  if (!perp_finite(blocks->nv, a) || !perp_finite(blocks->m, lambda))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  stats->reason = PERP_EXACT;
  return PERP_OK;
}

/* Same sizes as the pattern of create? */
static inline perp_status kkt_same_size(perp_ctx *ctx, const char *name, const perp_blocks *blocks,
                                        int nv, int m)
{
  if (blocks->nv == nv && blocks->m == m) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: J is %d x %d, but the solver was created for %d x %d",
                   name, blocks->m, blocks->nv, m, nv);
}

/* Why there is no factor: numbers that are not finite, or a matrix that is not what M and S must
 * be. */
perp_reason perp_kkt_why_no_factor(const perp_blocks *blocks);

/* max_i |J a + S lambda - c|_i / (|J||a| + S|lambda| + |c|)_i: how badly the constraints are
 * violated. scratch [2 m]. */
double perp_kkt_violation(const perp_blocks *blocks, const double *c, const double *a,
                          const double *lambda, double *scratch);

/* trace(J M^-1 J') / m without forming it; S is left out.  scratch [m]. */
double perp_kkt_mean_diagonal(const perp_blocks *blocks, double *scratch);

/* max over blocks and sub-matrices of the number of entries of a sub-matrix, r d, of a block, d d,
 * and of a group, r r. */
int perp_kkt_largest(const perp_blocks *blocks);

/* Schur formulations: b = c - J M^-1 f.  scratch [nv]. */
void perp_kkt_schur_rhs(const perp_blocks *blocks, const double *f, const double *c, double *b,
                        double *scratch);
/* a = M^-1 (f + J' lambda).  scratch [nv]. */
void perp_kkt_schur_motion(const perp_blocks *blocks, const double *f, const double *lambda,
                           double *a, double *scratch);

/* B with blocks->diag known: B itself when it is, else *copy, with the flags [nb] found from Minv.
 */
const perp_blocks *perp_kkt_find_diagonal(const perp_blocks *blocks, perp_blocks *copy,
                                          unsigned char *flags);
/* The same with the flags that were found for the same values before. */
static inline const perp_blocks *kkt_use_diagonal(const perp_blocks *blocks, perp_blocks *copy,
                                                  const unsigned char *flags)
{
  if (blocks->diag != NULL) return blocks;
  *copy = *blocks;
  copy->diag = flags;
  return copy;
}

/* Solve with the factor at hand (of a system close to the true one).  On return a and lambda solve
 * the nearby system with right-hand side (f, c). */
typedef void kkt_apply(void *ws, const perp_blocks *B, const double *f, const double *c, double *a,
                       double *lambda);

/* Solve a system whose rows may be dependent with the factor of the shifted one: iterative
 * refinement against the true system from (a, lambda) = 0 until the residual is at round-off or
 * stalls.  What is then left of c is the part that the rows contradict each other in; it would
 * drive lambda along the null space by 1/delta, so it is taken out of c and the rest is solved: the
 * least-squares solution of least norm. Returns the residual (perp_kkt_residual) of the answer;
 * stats->iterations counts the passes. scratch [KKT_REFINE_SCRATCH(nv, m)]. */
double perp_kkt_refine(void *ws, kkt_apply *apply, const perp_blocks *blocks, const double *f,
                       const double *c, double *a, double *lambda, perp_stats *stats,
                       double *scratch);
#define KKT_REFINE_SCRATCH(nv, m) (4 * (size_t)(nv) + 5 * (size_t)(m))

/* After a solve with dependent rows: PERP_REGULARIZED, or PERP_INFEASIBLE, or NOT_FINITE. */
perp_status perp_kkt_judge_dependent(const perp_blocks *blocks, const double *c, double *a,
                                     double *lambda, perp_stats *stats, double *scratch);

/* ---- formulations that factor A or K, and a shifted one where rows are dependent: direct.c ----
 */

struct kkt_direct_opts {
  double rank_tol;
};
extern const perp_opt perp_kkt_direct_options[];

/* Factor with S + shift I; false when a pivot is not above tol times its diagonal entry. */
typedef bool kkt_factor_shifted(void *ws, const perp_blocks *B, double tol, double shift);

/* What their workspaces begin with. */
typedef struct kkt_direct {
  const char *name;
  kkt_factor_shifted *factor;
  kkt_apply *apply;
  struct kkt_direct_opts opt;
  int nv, m, nb;
  double cost_factor, cost_solve; /* of kkt.h; of an apply */
  bool dependent;                 /* the last factor is a shifted one */
  unsigned char *diag;            /* [nb] flags found by the last factor */
  double *refine;                 /* [KKT_REFINE_SCRATCH] */
} kkt_direct;

kkt_direct perp_kkt_direct_of(const char *name, const perp_blocks *blocks, const void *opts,
                              kkt_factor_shifted *factor, kkt_apply *apply);
void perp_kkt_direct_layout(kkt_direct *direct, perp_arena *arena);
/* factor and solve of the descriptors.  When the factor without a shift fails it is made with delta
 * trace(A) / m, and larger ones where A is so badly scaled that round-off of large entries hides
 * that; solutions are then refined. */
perp_status perp_kkt_direct_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                   perp_stats *stats);
perp_status perp_kkt_direct_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                  const double *f, const double *c, double *a, double *lambda,
                                  perp_stats *stats);
void perp_kkt_direct_cost(const void *ws, double *factor, double *solve);
/* Multiplications with additions that make the triangle of J M^-1 J', and A^-1-free: c - J M^-1 f,
 * M^-1 (f + J' l). */
double perp_kkt_cost_schur(const perp_blocks *blocks);
double perp_kkt_cost_sides(const perp_blocks *blocks);

#endif
