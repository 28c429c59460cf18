/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schur complement with a truncated singular value decomposition,
 *
 *      A = V diag(sigma) V'
 *
 *      lambda = sum over sigma_i > rank_tol sigma_max of V_i (V_i' b) / sigma_i
 *
 * b = c - J M^-1 f: the least-squares solution of least norm (the pseudoinverse that Cline 2002,
 * section 3.3 describes for redundant constraints, with the mass-weighted A of his section 3.4).  A
 * is symmetric positive semidefinite, so its singular values are its eigenvalues (LAPACK dsyevd).
 *
 * The truncation is relative to the largest singular value: rows in very different units, or masses
 * spread over more than 1/rank_tol, lose their small part.
 * Cost: about 9 m^3 for the factor, 4 m^2 a solve; memory 3 m^2. */
#include "solvers/kkt/assembly.h"

#include <lapacke.h>

struct opts {
  double rank_tol;
};
static const perp_opt options[] = {
  PERP_REAL(
      struct opts, rank_tol, 1e-12, 0, 1e-2, PERP_OPEN_MIN, "",
      "Rank tolerance: singular values below this fraction of the largest one count as zero."),
  PERP_OPTIONS_END
};

struct ws {
  struct opts opt;
  int nv, m, nb, lwork, liwork, rank;
  kkt_assembly assembly;
  double *V;           /* [m m] A, then its eigenvectors */
  double *sigma;       /* [m] rising */
  double *work;        /* [lwork] */
  double *v, *b;       /* [nv], [m] */
  int *iwork;          /* [liwork] */
  unsigned char *diag; /* [nb] blocks of M that are diagonal, at the last factor */
};

static void schur_svd_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_assembly_layout(&work->assembly, arena);
  work->V = PERP_CARVE(arena, double, (size_t)work->m *(size_t)work->m);
  PERP_DOUBLES(arena, work->m, &work->sigma, &work->b);
  work->work = PERP_CARVE(arena, double, work->lwork);
  work->v = PERP_CARVE(arena, double, work->nv);
  work->iwork = PERP_CARVE(arena, int, work->liwork);
  work->diag = PERP_CARVE(arena, unsigned char, work->nb);
}

static perp_status schur_svd_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                    void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  const int m = blocks->m;
  if (m > 15000) /* the workspace of dsyevd is counted by 32-bit integers */
    return PERP_FAIL(
        ctx, PERP_ERR_NOMEM,
        "schur-svd: %d constraint rows are too many (at most 15000); use --kkt schur-sparse", m);
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = blocks->nv,
                     .m = m,
                     .nb = blocks->nb,
                     .lwork = 1 + 6 * m + 2 * m * m + 64 * m,
                     .liwork = 3 + 5 * m };
  PERP_TRY(perp_kkt_assembly_count(ctx, blocks, &like.assembly));
  PERP_TRY(perp_workspace_create(ctx, "schur-svd", &like, sizeof like, schur_svd_layout, ws));
  const kkt_dense_shape full = { blocks->cptr, m, 0 };
  perp_kkt_assembly_fill(blocks, perp_kkt_dense_locate, &full, &((struct ws *)*ws)->assembly);
  return PERP_OK;
}

static perp_status schur_svd_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                    perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-svd", blocks, work->nv, work->m));
  const int m = work->m;
  perp_blocks known;
  blocks = perp_kkt_find_diagonal(blocks, &known, work->diag);
  stats->factorizations++;
  stats->work += perp_kkt_cost_schur(blocks) +
                 4.5 * pow(blocks->m, 3); /* dsyevd: about 9 m^3 flops */
  stats->reason = perp_kkt_why_no_factor(blocks);
  work->rank = 0;
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK; /* LAPACK need not see NaN */
  stats->reason = PERP_EXACT;
  if (m == 0) return PERP_OK;
  memset(work->V, 0, sizeof *work->V * (size_t)m * (size_t)m);
  perp_kkt_assemble(&work->assembly, blocks, 0, work->V);
  if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', m, work->V, m, work->sigma, work->work,
                          work->lwork, work->iwork, work->liwork) != 0) {
    stats->reason = PERP_STALLED;
    return PERP_OK;
  }
  double cut = work->opt.rank_tol * fmax(work->sigma[m - 1], 0);
  for (int i = 0; i < m; i++) work->rank += work->sigma[i] > cut;
  if (work->sigma[0] < -sqrt(work->opt.rank_tol) * fmax(work->sigma[m - 1], -work->sigma[0]))
    stats->reason = PERP_SINGULAR; /* not positive semidefinite: M is no mass matrix */
  else if (work->rank < m)
    stats->reason = PERP_REGULARIZED;
  return PERP_OK;
}

static perp_status schur_svd_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                   const double *f, const double *c, double *a, double *lambda,
                                   perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-svd", blocks, work->nv, work->m));
  int m = work->m;
  perp_blocks known;
  blocks = kkt_use_diagonal(blocks, &known, work->diag);
  stats->work += perp_kkt_cost_sides(blocks) + 2.0 * m * work->rank;
  perp_kkt_schur_rhs(blocks, f, c, work->b, work->v);
  for (int i = 0; i < m; i++) lambda[i] = 0;
  for (int k = m - work->rank; k < m; k++) {
    const double *V = work->V + (size_t)k * (size_t)m;
    double y = 0;
    for (int i = 0; i < m; i++) y += V[i] * work->b[i];
    y /= work->sigma[k];
    for (int i = 0; i < m; i++) lambda[i] += V[i] * y;
  }
  perp_kkt_schur_motion(blocks, f, lambda, a, work->v);
  if (work->rank < m) return perp_kkt_judge_dependent(blocks, c, a, lambda, stats, work->work);
  return kkt_take(blocks, a, lambda, stats);
}

const perp_kkt_desc perp_kkt_schur_svd = {
  .d = { .name = "schur-svd",
         .summary = "Dense Schur complement, truncated singular value decomposition, minimum-norm "
                    "solution",
         .reference = "Cline 2002, sections 3.3-3.4; Vondrak 2005, eq. 6.8",
         .equation = "lambda = A^+ (c - J M^-1 f),  A = J M^-1 J' + S",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = schur_svd_create,
  .factor = schur_svd_factor,
  .solve = schur_svd_solve,
  .destroy = free,
};
