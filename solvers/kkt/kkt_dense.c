/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense KKT matrix: the indefinite system in one piece,
 *
 *      [ M  -J' ] [ a      ]   [  f ]
 *      [-J  -S  ] [ lambda ] = [ -c ],     P K P' = L D L'
 *
 * by LAPACK's Bunch-Kaufman factorization (dsytrf), D with 1 x 1 and 2 x 2 pivots (Vondrak 2005,
 * eq. 6.48 with the signs of kkt.h; STAR 2012, section 3.2.1).  M^-1 is not used but for scaling:
 * rows and columns are scaled by M_ii^-1/2 and A_ii^-1/2, so that a pivot says how dependent a row
 * is, whatever its units. D has as many positive eigenvalues as K (Sylvester): exactly nv where M
 * is a mass matrix.
 *
 * Dependent rows (an eigenvalue of D below rank_tol): S + delta I is factored and refined, see
 * kkt_private.h. Cost: (nv + m)^3/3 for the factor, 2 (nv + m)^2 a solve; memory (nv + m)^2.
 *
 * Symmetric and sparse, with S: Vondrak 2005, eq. 6.9 and 6.49. */
#include "solvers/kkt/kkt_private.h"

#include <lapacke.h>

struct ws {
  kkt_direct direct; /* first */
  int n, lwork;
  double *K;     /* [n n] lower triangle, then L and D */
  double *scale; /* [n] */
  double *x;     /* [n] */
  double *work;  /* [lwork] */
  int *piv;      /* [n] */
};

static void kkt_dense_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_direct_layout(&work->direct, arena);
  work->K = PERP_CARVE(arena, double, (size_t)work->n *(size_t)work->n);
  PERP_DOUBLES(arena, work->n, &work->scale, &work->x);
  work->work = PERP_CARVE(arena, double, work->lwork);
  work->piv = PERP_CARVE(arena, int, work->n);
}

/* Lower triangle of the scaled K with S + shift I. */
static void kkt_dense_form(struct ws *work, const perp_blocks *blocks, double shift)
{
  size_t n = (size_t)work->n;
  int nv = blocks->nv;
  double *K = work->K, *scale = work->scale;
  for (size_t j = 0; j < n; j++) memset(K + j + j * n, 0, (n - j) * sizeof *K);
  perp_blocks_diagonal(blocks, scale + nv);
  for (int i = 0; i < blocks->m; i++)
    scale[nv + i] = scale[nv + i] > 0 ? 1 / sqrt(scale[nv + i]) : 1;
  for (int b = 0; b < blocks->nb; b++) {
    int col = blocks->bptr[b], d = blocks->bptr[b + 1] - col;
    const double *M = blocks->M + blocks->mptr[b];
    for (int i = 0; i < d; i++) scale[col + i] = M[i + i * d] > 0 ? 1 / sqrt(M[i + i * d]) : 1;
    for (int j = 0; j < d; j++)
      for (int i = j; i < d; i++)
        K[(size_t)(col + i) + (size_t)(col + j) * n] = M[i + j * d] * scale[col + i] *
                                                       scale[col + j];
  }
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      int row = nv + blocks->cptr[g], r = blocks->cptr[g + 1] - blocks->cptr[g];
      const double *J = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++)
          K[(size_t)(row + i) + (size_t)(col + j) * n] = -J[i + j * r] * scale[row + i] *
                                                         scale[col + j];
    }
  for (int i = 0; i < blocks->m; i++) {
    double s = shift + (blocks->s != NULL ? blocks->s[i] : 0);
    K[(size_t)(nv + i) * (n + 1)] = -s * scale[nv + i] * scale[nv + i];
  }
}

/* Smallest size of an eigenvalue of D, and how many are positive. */
static double kkt_dense_pivots(const struct ws *work, int *positive)
{
  size_t n = (size_t)work->n;
  double least = HUGE_VAL;
  *positive = 0;
  for (size_t k = 0; k < n; k++) {
    double p = work->K[k + k * n], size = fabs(p);
    if (work->piv[k] > 0) {
      *positive += p > 0;
    } else { /* [p o; o q] has one eigenvalue of each sign */
      double o = work->K[k + 1 + k * n], q = work->K[(k + 1) * (n + 1)];
      double mean = (p + q) / 2, radius = hypot((p - q) / 2, o);
      size = fabs(p * q - o * o) / (fabs(mean) + radius);
      *positive += (mean + radius > 0) + (mean - radius > 0);
      k++;
    }
    if (!(size >= least)) least = size; /* NaN comes through */
    if (isnan(least)) return least;
  }
  return least;
}

static bool kkt_dense_factor(void *ws, const perp_blocks *blocks, double tol, double shift)
{
  struct ws *work = ws;
  int positive;
  if (work->n == 0) return true;
  if (perp_kkt_why_no_factor(blocks) == PERP_NOT_FINITE) return false; /* LAPACK need not see NaN */
  kkt_dense_form(work, blocks, shift);
  if (!perp_finite(work->n, work->scale)) return false;
  if (LAPACKE_dsytrf_work(LAPACK_COL_MAJOR, 'L', work->n, work->K, work->n, work->piv, work->work,
                          work->lwork) != 0)
    return false;
  return kkt_dense_pivots(work, &positive) > tol && positive == blocks->nv;
}

static void kkt_dense_apply(void *ws, const perp_blocks *blocks, const double *f, const double *c,
                            double *a, double *lambda)
{
  struct ws *work = ws;
  const int nv = blocks->nv;
  for (int i = 0; i < nv; i++) work->x[i] = work->scale[i] * f[i];
  for (int i = 0; i < blocks->m; i++) work->x[nv + i] = -work->scale[nv + i] * c[i];
  if (work->n > 0)
    LAPACKE_dsytrs_work(LAPACK_COL_MAJOR, 'L', work->n, 1, work->K, work->n, work->piv, work->x,
                        work->n);
  for (int i = 0; i < nv; i++) a[i] = work->scale[i] * work->x[i];
  for (int i = 0; i < blocks->m; i++) lambda[i] = work->scale[nv + i] * work->x[nv + i];
}

static perp_status kkt_dense_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                    void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .direct = perp_kkt_direct_of("kkt-dense", blocks, opts, kkt_dense_factor,
                                                  kkt_dense_apply),
                     .n = blocks->nv + blocks->m };
  like.lwork = 64 * (like.n + 1);
  like.direct.cost_factor = pow(like.n, 3) / 6;
  like.direct.cost_solve = pow(like.n, 2);
  return perp_workspace_create(ctx, "kkt-dense", &like, sizeof like, kkt_dense_layout, ws);
}

const perp_kkt_desc perp_kkt_kkt_dense = {
  .d = { .name = "kkt-dense",
         .summary = "Dense KKT matrix, Bunch-Kaufman L D L' factorization of LAPACK",
         .reference = "Vondrak 2005, eq. 6.48; STAR 2012, section 3.2.1",
         .equation = "[M -J'; -J -S] (a, lambda) = (f, -c)",
         PERP_OPTIONS(perp_kkt_direct_options, struct kkt_direct_opts),
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = kkt_dense_create,
  .factor = perp_kkt_direct_factor,
  .solve = perp_kkt_direct_solve,
  .destroy = free,
  .cost = perp_kkt_direct_cost,
};
