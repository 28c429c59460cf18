/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fundamental equation of Udwadia and Kalaba: the acceleration nearest to the free one, in the
 * metric of the masses (Gauss' principle), among those that obey the constraints,
 *
 *      a = a0 + M^-1/2 (J M^-1/2)^+ (c - J a0),   a0 = M^-1 f,
 *      lambda = ((J M^-1/2)^+)' (J M^-1/2)^+ (c - J a0),
 *
 * with the Cholesky factor of M as its root, which changes no result, and the pseudoinverse by a
 * complete orthogonal decomposition (orthogonal.h).  J M^-1 J' is never formed: what mass ratios
 * and nearly dependent rows cost in accuracy is the condition of J M^-1/2, the root of that of A.
 * Softness S adds coordinates of mass 1: (J M^-1/2, S^1/2).
 *
 * Dependent rows: rank by orthogonal.c, multipliers of least norm times the lengths of the rows of
 * J M^-1/2; where they contradict each other the least-squares answer of rows of length 1.
 * Cost: about 2 (nv + m) m^2 for the factor without softness 2 nv m^2, 4 nv m a solve; memory
 * (nv + m) m. */
#include "solvers/kkt/orthogonal.h"

#include <lapacke.h>

struct ws {
  kkt_orthogonal o;
  int nm;         /* numbers of M */
  double *L;      /* [nm] Cholesky factors of the blocks of M */
  double *a0, *e; /* [nv], [m] */
  double *z;      /* [m] */
};

static void udwadia_kalaba_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_orthogonal_layout(&work->o, arena);
  PERP_DOUBLES(arena, work->nm, &work->L);
  PERP_DOUBLES(arena, work->o.nv, &work->a0);
  PERP_DOUBLES(arena, 2 * work->o.m, &work->e, &work->z);
}

static perp_status udwadia_kalaba_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                         void **ws)
{
  (void)opts;
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .o = perp_kkt_orthogonal_of(blocks), .nm = blocks->mptr[blocks->nb] };
  return perp_workspace_create(ctx, "udwadia-kalaba", &like, sizeof like, udwadia_kalaba_layout,
                               ws);
}

/* columns [nv of ld columns] <- L^-1 columns, or L'^-1 */
static void udwadia_kalaba_root(const struct ws *work, const perp_blocks *blocks, char trans,
                                int columns, double *x, int ld)
{
  for (int b = 0; b < blocks->nb && columns > 0; b++) {
    const int lda = blocks->bptr[b + 1] - blocks->bptr[b];
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'L', trans, 'N', lda, columns, work->L + blocks->mptr[b],
                        lda, x + blocks->bptr[b], ld);
  }
}

static perp_status udwadia_kalaba_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                         perp_stats *stats)
{
  struct ws *work = ws;
  kkt_orthogonal *orthogonal = &work->o;
  PERP_TRY(kkt_same_size(ctx, "udwadia-kalaba", blocks, orthogonal->nv, orthogonal->m));
  stats->factorizations++;
  stats->reason = perp_kkt_why_no_factor(blocks);
  orthogonal->rank = 0;
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK; /* LAPACK need not see NaN */
  memcpy(work->L, blocks->M, (size_t)work->nm * sizeof *work->L);
  for (int b = 0; b < blocks->nb; b++) {
    const int lda = blocks->bptr[b + 1] - blocks->bptr[b];
    stats->work += pow(lda, 3) / 6;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', lda, work->L + blocks->mptr[b], lda) != 0) {
      stats->reason = PERP_SINGULAR;
      return PERP_OK;
    }
  }
  for (int i = 0; blocks->s != NULL && i < orthogonal->m; i++)
    if (blocks->s[i] < 0) {
      stats->reason = PERP_SINGULAR;
      return PERP_OK;
    }
  perp_kkt_orthogonal_fill(orthogonal, blocks);
  udwadia_kalaba_root(work, blocks, 'N', orthogonal->m, orthogonal->B, orthogonal->n);
  stats->work += 2.0 * orthogonal->n * orthogonal->m * (double)orthogonal->m;
  if (!perp_kkt_orthogonal_factor(orthogonal))
    stats->reason = PERP_STALLED;
  else
    stats->reason = orthogonal->rank < orthogonal->m ? PERP_REGULARIZED : PERP_EXACT;
  return PERP_OK;
}

static perp_status udwadia_kalaba_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                        const double *f, const double *c, double *a, double *lambda,
                                        perp_stats *stats)
{
  struct ws *work = ws;
  kkt_orthogonal *orthogonal = &work->o;
  PERP_TRY(kkt_same_size(ctx, "udwadia-kalaba", blocks, orthogonal->nv, orthogonal->m));
  stats->work += 4.0 * orthogonal->n * orthogonal->m;
  perp_blocks_Minv(blocks, f, work->a0);
  memcpy(work->e, c, (size_t)orthogonal->m * sizeof *c);
  perp_blocks_J(blocks, -1, work->a0, work->e);
  perp_kkt_orthogonal_rows(orthogonal, work->e, work->z);
  memset(orthogonal->y, 0, (size_t)orthogonal->rows * sizeof *orthogonal->y);
  memcpy(orthogonal->y, work->z, (size_t)orthogonal->rank * sizeof *orthogonal->y);
  perp_kkt_orthogonal_multipliers(orthogonal, work->z, lambda);
  perp_kkt_orthogonal_Q(orthogonal, false, 1, orthogonal->y);
  udwadia_kalaba_root(work, blocks, 'T', 1, orthogonal->y, orthogonal->n > 0 ? orthogonal->n : 1);
  for (int i = 0; i < orthogonal->nv; i++) a[i] = work->a0[i] + orthogonal->y[i];
  if (orthogonal->rank < orthogonal->m)
    return perp_kkt_judge_dependent(blocks, c, a, lambda, stats, work->e);
  return kkt_take(blocks, a, lambda, stats);
}

const perp_kkt_desc perp_kkt_udwadia_kalaba = {
  .d = { .name = "udwadia-kalaba",
         .summary = "Fundamental equation of Udwadia and Kalaba: pseudoinverse of J M^-1/2 by "
                    "orthogonal factors",
         .reference = "Udwadia and Kalaba 1992; Golub and Van Loan, section 5.5.2",
         .equation = "a = a0 + M^-1/2 (J M^-1/2)^+ (c - J a0),  a0 = M^-1 f",
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_LOOPS },
  .create = udwadia_kalaba_create,
  .factor = udwadia_kalaba_factor,
  .solve = udwadia_kalaba_solve,
  .destroy = free,
};
