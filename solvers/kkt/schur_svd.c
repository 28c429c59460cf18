/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schur complement with a truncated singular value decomposition,
 *
 *      A = V diag(sigma) V',   lambda = sum over sigma_i > rank_tol sigma_max of V_i (V_i' b) /
 * sigma_i,
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
  double rank_tol, infeasible_tol;
};
static const perp_opt options[] = {
  PERP_REAL(
      struct opts, rank_tol, 1e-12, 0, 1e-2, PERP_OPEN_MIN, "",
      "Rank tolerance: singular values below this fraction of the largest one count as zero."),
  KKT_INFEASIBLE_OPTION(struct opts), PERP_OPTIONS_END
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

static void schur_svd_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  perp_kkt_assembly_layout(&w->assembly, a);
  w->V = PERP_CARVE(a, double, (size_t)w->m *(size_t)w->m);
  PERP_DOUBLES(a, w->m, &w->sigma, &w->b);
  w->work = PERP_CARVE(a, double, w->lwork);
  w->v = PERP_CARVE(a, double, w->nv);
  w->iwork = PERP_CARVE(a, int, w->liwork);
  w->diag = PERP_CARVE(a, unsigned char, w->nb);
}

static perp_status schur_svd_create(perp_ctx *ctx, const perp_blocks *B, const void *opts,
                                    void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  const int m = B->m;
  if (m > 15000) /* the workspace of dsyevd is counted by 32-bit integers */
    return PERP_FAIL(
        ctx, PERP_ERR_NOMEM,
        "schur-svd: %d constraint rows are too many (at most 15000); use --kkt schur-sparse", m);
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = B->nv,
                     .m = m,
                     .nb = B->nb,
                     .lwork = 1 + 6 * m + 2 * m * m + 64 * m,
                     .liwork = 3 + 5 * m };
  PERP_TRY(perp_kkt_assembly_count(ctx, B, &like.assembly));
  PERP_TRY(perp_workspace_create(ctx, "schur-svd", &like, sizeof like, schur_svd_layout, ws));
  const kkt_dense_shape full = { B->cptr, m, 0 };
  perp_kkt_assembly_fill(B, perp_kkt_dense_locate, &full, &((struct ws *)*ws)->assembly);
  return PERP_OK;
}

static perp_status schur_svd_factor(perp_ctx *ctx, void *ws, const perp_blocks *B,
                                    perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-svd", B, w->nv, w->m));
  const int m = w->m;
  perp_blocks known;
  B = perp_kkt_find_diagonal(B, &known, w->diag);
  stats->factorizations++;
  stats->work += perp_kkt_cost_schur(B) + 4.5 * pow(B->m, 3); /* dsyevd: about 9 m^3 flops */
  stats->reason = perp_kkt_why_no_factor(B);
  w->rank = 0;
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK; /* LAPACK need not see NaN */
  stats->reason = PERP_EXACT;
  if (m == 0) return PERP_OK;
  memset(w->V, 0, sizeof *w->V * (size_t)m * (size_t)m);
  perp_kkt_assemble(&w->assembly, B, 0, w->V);
  if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', m, w->V, m, w->sigma, w->work, w->lwork,
                          w->iwork, w->liwork) != 0) {
    stats->reason = PERP_STALLED;
    return PERP_OK;
  }
  double cut = w->opt.rank_tol * fmax(w->sigma[m - 1], 0);
  for (int i = 0; i < m; i++) w->rank += w->sigma[i] > cut;
  if (w->sigma[0] < -sqrt(w->opt.rank_tol) * fmax(w->sigma[m - 1], -w->sigma[0]))
    stats->reason = PERP_SINGULAR; /* not positive semidefinite: M is no mass matrix */
  else if (w->rank < m)
    stats->reason = PERP_REGULARIZED;
  return PERP_OK;
}

static perp_status schur_svd_solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                                   const double *c, double *a, double *lambda, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-svd", B, w->nv, w->m));
  int m = w->m;
  perp_blocks known;
  B = kkt_use_diagonal(B, &known, w->diag);
  stats->work += perp_kkt_cost_sides(B) + 2.0 * m * w->rank;
  perp_kkt_schur_rhs(B, f, c, w->b, w->v);
  for (int i = 0; i < m; i++) lambda[i] = 0;
  for (int k = m - w->rank; k < m; k++) {
    const double *V = w->V + (size_t)k * (size_t)m;
    double y = 0;
    for (int i = 0; i < m; i++) y += V[i] * w->b[i];
    y /= w->sigma[k];
    for (int i = 0; i < m; i++) lambda[i] += V[i] * y;
  }
  perp_kkt_schur_motion(B, f, lambda, a, w->v);
  if (w->rank < m)
    return perp_kkt_judge_dependent(B, c, a, lambda, w->opt.infeasible_tol, stats, w->work);
  return kkt_take(B, a, lambda, stats);
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
