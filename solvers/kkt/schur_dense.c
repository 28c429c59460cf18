/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense Schur complement: A lambda = c - J M^-1 f with A = J M^-1 J' + S formed as a matrix and
 * factored by LAPACK's Cholesky; a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8 and 6.48; STAR
 * 2012, section 3.2.1).
 *
 * Every zero of A is stored and worked on; schur-band and schur-sparse use the zeros.
 *
 * Dependent rows: A, scaled to unit diagonal, is factored by pivoted Cholesky (dpstrf) to its
 * rank r, A = F F' with F m x r of full column rank, and with F = Q R (dgeqrf)
 *
 *      lambda = A^+ b = Q R^-T R^-1 Q' b,
 *
 * the least-squares solution of minimum norm; where c is consistent it solves the constraints
 * exactly.
 *
 * Cost: m^3/3 for the factor (with dependent rows about three times as much) and 2 m^2 a solve.
 * Memory m^2.  Condition numbers of A up to 1/rank_tol are taken as full rank.
 *
 * Of particles: Vondrak 2005, eq. 4.6; STAR 2012, eq. 58. Of impulses: Vondrak 2005, eq. 6.29. */
#include "solvers/kkt/assembly.h"

#include <lapacke.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK with 32-bit integers");

struct opts {
  double rank_tol;
};
static const perp_opt options[] = { KKT_RANK_OPTIONS(struct opts), PERP_OPTIONS_END };

struct ws {
  struct opts opt;
  int nv, m, nb, lwork;
  double cost_factor, cost_solve;
  kkt_assembly assembly;
  bool dependent; /* the last factor is Q R of rank r, else Cholesky */
  int rank;
  double *A;           /* [m m] the Cholesky factor, or Q and R */
  double *diag;        /* [m] A_ii */
  double *tau;         /* [m] of dgeqrf */
  double *work;        /* [lwork] of LAPACK, [2 m] */
  double *v, *b;       /* [nv], [m] */
  int *piv;            /* [m] */
  unsigned char *flat; /* [nb] blocks of M that are diagonal, at the last factor */
};

static void schur_dense_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_assembly_layout(&work->assembly, arena);
  work->A = PERP_CARVE(arena, double, (size_t)work->m *(size_t)work->m);
  PERP_DOUBLES(arena, work->m, &work->diag, &work->tau, &work->b);
  work->work = PERP_CARVE(arena, double, work->lwork);
  work->v = PERP_CARVE(arena, double, work->nv);
  work->piv = PERP_CARVE(arena, int, work->m);
  work->flat = PERP_CARVE(arena, unsigned char, work->nb);
}

static perp_status schur_dense_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                      void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  const int m = blocks->m;
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = blocks->nv,
                     .m = m,
                     .nb = blocks->nb,
                     .lwork = 64 * (m + 1) };
  PERP_TRY(perp_kkt_assembly_count(ctx, blocks, &like.assembly));
  like.cost_factor = perp_kkt_cost_schur(blocks) + pow(m, 3) / 6;
  like.cost_solve = perp_kkt_cost_sides(blocks) + pow(m, 2);
  PERP_TRY(perp_workspace_create(ctx, "schur-dense", &like, sizeof like, schur_dense_layout, ws));
  struct ws *work = *ws;
  const kkt_dense_shape shape = { blocks->cptr, m, 0 };
  perp_kkt_assembly_fill(blocks, perp_kkt_dense_locate, &shape, &work->assembly);
  return PERP_OK;
}

static void schur_dense_form(struct ws *work, const perp_blocks *blocks)
{
  size_t m = (size_t)work->m;
  for (size_t j = 0; j < m; j++) memset(work->A + j * m, 0, (j + 1) * sizeof *work->A);
  perp_kkt_assemble(&work->assembly, blocks, 0, work->A);
  for (size_t i = 0; i < m; i++) work->diag[i] = work->A[i + i * m];
}

/* Cholesky.  False when a pivot vanishes. */
static bool factor_plain(struct ws *work, const perp_blocks *blocks)
{
  const int lda = work->m;
  schur_dense_form(work, blocks);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', lda, work->A, lda) != 0) return false;
  for (int i = 0; i < lda; i++) {
    const double u = work->A[i + (size_t)i * (size_t)lda];
    if (!(u * u > work->opt.rank_tol * work->diag[i]) || !(u <= DBL_MAX)) return false;
  }
  return true;
}

/* Pivoted Cholesky of the scaled matrix, then QR of its factor. */
static perp_reason factor_dependent(struct ws *work, const perp_blocks *blocks)
{
  int lda = work->m;
  double *A = work->A, *scale = work->diag;
  schur_dense_form(work, blocks);
  for (int i = 0; i < lda; i++) scale[i] = scale[i] > 0 ? sqrt(scale[i]) : 1;
  for (int j = 0; j < lda; j++)
    for (int i = 0; i <= j; i++) A[i + (size_t)j * (size_t)lda] /= scale[i] * scale[j];
  /* the same matrix as a lower triangle, whose factor has the columns of F */
  for (int j = 0; j < lda; j++)
    for (int i = j + 1; i < lda; i++)
      A[i + (size_t)j * (size_t)lda] = A[j + (size_t)i * (size_t)lda];
  int info = LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', lda, A, lda, work->piv, &work->rank,
                                 work->opt.rank_tol, work->work);
  if (info < 0) return PERP_NOT_FINITE;

  /* F = D P L: rows back in place and in their units, zero above the diagonal of L */
  for (int j = 0; j < work->rank; j++) {
    double *col = A + (size_t)j * (size_t)lda;
    for (int i = 0; i < lda; i++) work->b[work->piv[i] - 1] = i < j ? 0 : col[i];
    for (int i = 0; i < lda; i++) col[i] = scale[i] * work->b[i];
  }
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, lda, work->rank, A, lda, work->tau, work->work,
                      work->lwork);
  for (int j = 0; j < work->rank; j++)
    if (!(fabs(A[j + (size_t)j * (size_t)lda]) > 0)) return PERP_SINGULAR;
  return PERP_REGULARIZED;
}

static perp_status schur_dense_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                      perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", blocks, work->nv, work->m));
  perp_blocks known;
  blocks = perp_kkt_find_diagonal(blocks, &known, work->flat);
  stats->factorizations++;
  stats->work += work->cost_factor;
  stats->reason = PERP_EXACT;
  work->dependent = false;
  if (work->m == 0 || factor_plain(work, blocks)) return PERP_OK;

  stats->reason = perp_kkt_why_no_factor(blocks);
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK;
  work->dependent = true;
  stats->factorizations++;
  stats->reason = factor_dependent(work, blocks);
  stats->work += pow(work->m, 3) / 6 +
                 (work->m - work->rank / 3.0) * pow(work->rank, 2); /* dpstrf, dgeqrf */
  return PERP_OK;
}

static perp_status schur_dense_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                     const double *f, const double *c, double *a, double *lambda,
                                     perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", blocks, work->nv, work->m));
  int lda = work->m, rank = work->rank;
  perp_blocks known;
  blocks = kkt_use_diagonal(blocks, &known, work->flat);
  stats->work += work->cost_solve;
  perp_kkt_schur_rhs(blocks, f, c, lambda, work->v);
  if (lda == 0) {
  } else if (!work->dependent) {
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', lda, 1, work->A, lda, lambda, lda);
  } else {
    if (!perp_finite(lda, lambda)) return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', lda, 1, rank, work->A, lda, work->tau, lambda,
                        lda, work->work, work->lwork);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', rank, 1, work->A, lda, lambda, lda);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'T', 'N', rank, 1, work->A, lda, lambda, lda);
    for (int i = rank; i < lda; i++) lambda[i] = 0;
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'N', lda, 1, rank, work->A, lda, work->tau, lambda,
                        lda, work->work, work->lwork);
  }
  perp_kkt_schur_motion(blocks, f, lambda, a, work->v);
  if (work->dependent) return perp_kkt_judge_dependent(blocks, c, a, lambda, stats, work->work);
  return kkt_take(blocks, a, lambda, stats);
}

static void schur_dense_cost(const void *ws, double *factor, double *solve)
{
  *factor = ((const struct ws *)ws)->cost_factor;
  *solve = ((const struct ws *)ws)->cost_solve;
}

const perp_kkt_desc perp_kkt_schur_dense = {
  .d = { .name = "schur-dense",
         .summary = "Dense Schur complement, Cholesky factorization of LAPACK, pivoted if rows are "
                    "dependent",
         .reference = "Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section 3.2.1",
         .equation = "A lambda = c - J M^-1 f,  A = J M^-1 J' + S,  a = M^-1 (f + J' lambda)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = schur_dense_create,
  .factor = schur_dense_factor,
  .solve = schur_dense_solve,
  .destroy = free,
  .cost = schur_dense_cost,
};
