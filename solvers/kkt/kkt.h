/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KKT formulations: solve the saddle-point system of equality-constrained dynamics
 *
 *      [ M  -J' ] [ a      ]   [  f ]            M a = f + J' lambda
 *      [-J  -S  ] [ lambda ] = [ -c ]            J a + S lambda = c
 *
 * (Vondrak 2005, eq. 6.48; STAR 2012, section 3.2.1).  On the acceleration level a is an
 * acceleration, f a force, c = -Jdot v + stabilization and lambda a force; on the velocity level a
 * is the new velocity, f = M v + h f_ext, c = k and lambda an impulse.  With A = J M^-1 J' + S, A
 * lambda = c - J M^-1 f and a = M^-1 (f + J' lambda).
 *
 * Shapes as in solvers/linalg/blocks.h.  M must be symmetric positive definite, s >= 0.  When the
 * rows of J are dependent and s = 0, lambda is not unique; each descriptor says which answer it
 * gives (minimum norm or regularized).  When the dependent rows contradict each other the reason is
 * PERP_INFEASIBLE and a, lambda hold the least-squares or last finite values; never NaN.
 *
 * A soft row is Vondrak 2005, eq. 6.47, with the sign that 6.48 gives S. Without softness: Vondrak
 * 2005, eq. 4.2, 4.5, 6.3, 6.6 and 6.9; of the velocity level Vondrak 2005, eq. 4.3. */
#ifndef PERP_KKT_H
#define PERP_KKT_H

#include "solvers/core/core.h"
#include "solvers/linalg/blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PERP_KKT_SPARSE = 1 << 0,    /* work and memory grow with the nonzeros, not with m^2 */
  PERP_KKT_REDUNDANT = 1 << 1, /* dependent rows: a documented answer */
  PERP_KKT_MIN_NORM = 1 << 2,  /* ... which is the one of minimum norm */
  PERP_KKT_ITERATIVE = 1 << 3,
  PERP_KKT_LOOPS = 1 << 4 /* serves any graph, not only trees (tree: loops go to auxiliary rows) */
};

typedef struct perp_kkt_desc {
  perp_desc d;
  /* Symbolic analysis of the pattern; allocates everything.  The pattern arrays must outlive *ws.
   * PERP_ERR_DIM: a pattern that perp_blocks_check refuses; PERP_ERR_NOMEM; PERP_ERR_EXTERNAL: of a
   * library.  *ws NULL then. */
  perp_status (*create)(perp_ctx *ctx, const perp_blocks *pattern, const void *opts, void **ws);
  /* Numeric factorization of the values in B (same pattern).  stats->reason: PERP_EXACT,
   * PERP_REGULARIZED (dependent rows met), or < 0 (no factor; solve must not be called):
   * PERP_NOT_FINITE, PERP_SINGULAR (M or S is not what it must be), PERP_STALLED.
   * stats->factorizations is added to.  PERP_ERR_DIM: other sizes than the pattern.  No allocation
   * unless PERP_CAP_ALLOCATES; the cost is in the head of each file. */
  perp_status (*factor)(perp_ctx *ctx, void *ws, const perp_blocks *B, perp_stats *stats);
  /* f [nv], c [m] in; a [nv], lambda [m] out (lambda in: first guess of iterative methods).  May be
   * called many times per factor.  stats->reason as above; f and c are not modified, a and lambda
   * must not alias them. */
  perp_status (*solve)(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                       const double *c, double *a, double *lambda, perp_stats *stats);
  void (*destroy)(void *ws); /* NULL is fine */
  /* What a factorization adds to stats->work when no rows are dependent, and what a solve adds with
   * that factor: multiplications with additions, by the pattern alone (M_b full); refinement: a
   * usual number of passes.  O(1). NULL: not known before. */
  void (*cost)(const void *ws, double *factor, double *solve);
} perp_kkt_desc;

/* ---- calls: call.c ---- */

/* A workspace of a formulation.  One that does not come with perp works on copies of pattern, B, f
 * and c, so that whatever it casts away it cannot change what is judged and used afterwards; the
 * others pay nothing. */
typedef struct perp_kkt_solver perp_kkt_solver;
/* As create of the descriptor of the spec, whose options are read here only; and PERP_ERR_NOMEM.
 * *out NULL on failure. */
perp_status perp_kkt_create(perp_ctx *ctx, const perp_spec *method, const perp_blocks *pattern,
                            perp_kkt_solver **out);
/* As the functions of the descriptor.  No allocation beside theirs; formulations from outside:
 * O(nnz) more. */
perp_status perp_kkt_factor(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *blocks,
                            perp_stats *stats);
perp_status perp_kkt_solve(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *blocks,
                           const double *f, const double *c, double *a, double *lambda,
                           perp_stats *stats);
void perp_kkt_destroy(perp_kkt_solver *solver); /* NULL is fine */

/* The one judge: max of  |M a - f - J' lambda|_i / (|M||a| + |f| + |J'||lambda|)_i  and
 * |J a + S lambda - c|_i / (|J||a| + S|lambda| + |c|)_i  over all rows: the componentwise backward
 * error, invariant under scaling of rows and units.  0/0 counts as 0, NaN stays NaN. scratch [2 *
 * (nv + m)].  O(nnz), no allocation. */
double perp_kkt_residual(const perp_blocks *blocks, const double *f, const double *c,
                         const double *a, const double *lambda, double *scratch);

#ifdef __cplusplus
}
#endif

#endif
