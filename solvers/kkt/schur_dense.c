/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense Schur complement: A lambda = c - J M^-1 f with A = J M^-1 J' + S formed as a full matrix and
 * factored by Cholesky (LAPACK dpotrf); a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8 and 6.48;
 * STAR 2012, section 3.2.1).
 *
 * Dependent rows: A, scaled to unit diagonal, is factored by pivoted Cholesky (dpstrf) to its rank r,
 * A = F F' with F m x r of full column rank, and with F = Q R (dgeqrf)
 *
 *      lambda = A^+ b = Q R^-T R^-1 Q' b,
 *
 * the least-squares solution of minimum norm; where c is consistent it solves the constraints exactly.
 *
 * Cost: m^3/3 for the factor (with dependent rows about three times as much), 2 m^2 a solve;
 * memory m^2.  Condition numbers of A up to 1/rank_tol are taken as full rank. */
#include "solvers/kkt/impl.h"

#include <lapacke.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK with 32-bit integers");

struct opts {
  double rank_tol, infeasible_tol;
};
static const perp_opt options[] = { KKT_RANK_OPTIONS(struct opts), PERP_OPTIONS_END };

struct ws {
  perp_arena arena;
  struct opts opt;
  int nv, m, large, lwork;
  bool dependent; /* the last factor is Q R of rank r, else Cholesky */
  int rank;
  double *A;       /* m x m: the Cholesky factor, or Q and R */
  double *diag;    /* [m] A_ii */
  double *tau;     /* [m] of dgeqrf */
  double *work;    /* [lwork] of LAPACK, [2 m] */
  double *v, *b;   /* [nv], [m] */
  double *scratch; /* [large] */
  int *piv;        /* [m] */
};

static void layout(struct ws *w, perp_arena *a)
{
  w->A = PERP_CARVE(a, double, (size_t)w->m *(size_t)w->m);
  w->diag = PERP_CARVE(a, double, w->m);
  w->tau = PERP_CARVE(a, double, w->m);
  w->work = PERP_CARVE(a, double, w->lwork);
  w->v = PERP_CARVE(a, double, w->nv);
  w->b = PERP_CARVE(a, double, w->m);
  w->scratch = PERP_CARVE(a, double, w->large);
  w->piv = PERP_CARVE(a, int, w->m);
}

static void destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status create(perp_ctx *ctx, const perp_blocks *pattern, const void *opts, void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, pattern));
  struct ws *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "schur-dense: no memory");
  w->opt = *(const struct opts *)opts;
  w->nv = pattern->nv;
  w->m = pattern->m;
  w->large = kkt_largest(pattern);
  w->lwork = 64 * (w->m + 1);
  layout(w, &w->arena);
  perp_status status = perp_arena_reserve(ctx, &w->arena);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  layout(w, &w->arena);
  *ws = w;
  return PERP_OK;
}

/* Pivoted Cholesky of the scaled matrix, then QR of its factor.  A holds the plain matrix. */
static perp_reason factor_dependent(struct ws *w)
{
  int m = w->m;
  double *A = w->A, *scale = w->diag;
  for (int i = 0; i < m; i++) scale[i] = scale[i] > 0 ? sqrt(scale[i]) : 1;
  for (int j = 0; j < m; j++)
    for (int i = j; i < m; i++) A[i + (size_t)j * (size_t)m] /= scale[i] * scale[j];
  int info = LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', m, A, m, w->piv, &w->rank, w->opt.rank_tol,
                                 w->work);
  if (info < 0) return PERP_NOT_FINITE;

  /* F = D P L: rows back in place and in their units, zero above the diagonal of L */
  for (int j = 0; j < w->rank; j++) {
    double *col = A + (size_t)j * (size_t)m;
    for (int i = 0; i < m; i++) w->b[w->piv[i] - 1] = i < j ? 0 : col[i];
    for (int i = 0; i < m; i++) col[i] = scale[i] * w->b[i];
  }
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, m, w->rank, A, m, w->tau, w->work, w->lwork);
  for (int j = 0; j < w->rank; j++)
    if (!(fabs(A[j + (size_t)j * (size_t)m]) > 0)) return PERP_SINGULAR;
  return PERP_REGULARIZED;
}

static perp_status factor(perp_ctx *ctx, void *ws, const perp_blocks *B, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", B, w->nv, w->m));
  int m = w->m;
  stats->factorizations++;
  stats->reason = PERP_EXACT;
  w->dependent = false;
  if (m == 0) return PERP_OK;
  perp_blocks_delassus(B, w->A, m, w->scratch);
  for (int i = 0; i < m; i++) w->diag[i] = w->A[i + (size_t)i * (size_t)m];
  bool full = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', m, w->A, m) == 0;
  for (int i = 0; full && i < m; i++) {
    double l = w->A[i + (size_t)i * (size_t)m];
    full = l * l > w->opt.rank_tol * w->diag[i];
  }
  if (full) return PERP_OK;

  if (kkt_why_no_factor(B) == PERP_NOT_FINITE) {
    stats->reason = PERP_NOT_FINITE;
    return PERP_OK;
  }
  perp_blocks_delassus(B, w->A, m, w->scratch);
  w->dependent = true;
  stats->reason = factor_dependent(w);
  return PERP_OK;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                         const double *c, double *a, double *lambda, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", B, w->nv, w->m));
  int m = w->m, r = w->rank;
  kkt_schur_rhs(B, f, c, lambda, w->v);
  if (!w->dependent && m > 0) {
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', m, 1, w->A, m, lambda, m);
  } else if (m > 0) {
    if (!kkt_finite(m, lambda)) return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', m, 1, r, w->A, m, w->tau, lambda, m, w->work,
                        w->lwork);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', r, 1, w->A, m, lambda, m);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'T', 'N', r, 1, w->A, m, lambda, m);
    for (int i = r; i < m; i++) lambda[i] = 0;
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'N', m, 1, r, w->A, m, w->tau, lambda, m, w->work,
                        w->lwork);
  }
  kkt_schur_motion(B, f, lambda, a, w->v);
  if (w->dependent)
    return kkt_judge_dependent(B, c, a, lambda, w->opt.infeasible_tol, stats, w->work);
  if (!kkt_finite(w->nv, a) || !kkt_finite(m, lambda))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  stats->reason = PERP_EXACT;
  return PERP_OK;
}

const perp_kkt_desc perp_kkt_schur_dense = {
  .d = { .name = "schur-dense",
         .summary = "dense Schur complement, LAPACK Cholesky (pivoted when rows are dependent)",
         .reference = "Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section 3.2.1",
         .equation = "A lambda = c - J M^-1 f,  A = J M^-1 J' + S,  a = M^-1 (f + J' lambda)",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = create,
  .factor = factor,
  .solve = solve,
  .destroy = destroy,
};
