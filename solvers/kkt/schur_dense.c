/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense Schur complement: A lambda = c - J M^-1 f with A = J M^-1 J' + S formed as a matrix and factored
 * by LAPACK's Cholesky; a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8 and 6.48; STAR 2012,
 * section 3.2.1).
 *
 * Storage: `full` is the textbook dense method, dpotrf on m x m numbers, whatever their zeros.  `band`
 * keeps the diagonals up to the last one that the numbering of the rows makes nonzero (dpbtrf); nothing is
 * reordered.  `auto` takes the band where it is narrower than m / 4: a chain numbered from one end has 2 r - 1
 * diagonals, a tree or a loop soon has all of them.
 *
 * Dependent rows: A, full and scaled to unit diagonal, is factored by pivoted Cholesky (dpstrf) to its
 * rank r, A = F F' with F m x r of full column rank, and with F = Q R (dgeqrf)
 *
 *      lambda = A^+ b = Q R^-T R^-1 Q' b,
 *
 * the least-squares solution of minimum norm; where c is consistent it solves the constraints exactly.
 *
 * Cost: m^3/3 for the factor (with dependent rows about three times as much) and 2 m^2 a solve, with band
 * width k: m k^2 and 4 m k.  Memory m^2 in any case, as rows may become dependent at any time; the band
 * touches m k of it.  Condition numbers of A up to 1/rank_tol are taken as full rank.
 *
 * Of particles: Vondrak 2005, eq. 4.6; STAR 2012, eq. 58. Of impulses: Vondrak 2005, eq. 6.29. */
#include "solvers/kkt/assembly.h"

#include <lapacke.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK with 32-bit integers");

enum storage { AUTO, FULL, BAND };
static const char *const storages[] = { "auto", "full", "band", NULL };

struct opts {
  int storage;
  double rank_tol, infeasible_tol;
};
static const perp_opt options[] = {
  PERP_ENUM(
      struct opts, storage, AUTO, storages,
      "Storage of A: full matrix, or only its band. auto: the band if it is narrower than m / 4."),
  KKT_RANK_OPTIONS(struct opts), PERP_OPTIONS_END
};

struct ws {
  struct opts opt;
  int nv, m, nb, lwork;
  int k; /* diagonals above the main one; m - 1 when full */
  double cost_factor, cost_solve;
  kkt_assembly to_full, to_band;
  bool dependent; /* the last factor is Q R of rank r, else Cholesky */
  int rank;
  double *A;           /* [m m] the Cholesky factor in full or band storage, or Q and R */
  double *diag;        /* [m] A_ii */
  double *tau;         /* [m] of dgeqrf */
  double *work;        /* [lwork] of LAPACK, [2 m] */
  double *v, *b;       /* [nv], [m] */
  int *piv;            /* [m] */
  unsigned char *flat; /* [nb] blocks of M that are diagonal, at the last factor */
};

static void schur_dense_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  perp_kkt_assembly_layout(&w->to_full, a);
  perp_kkt_assembly_layout(&w->to_band, a);
  w->A = PERP_CARVE(a, double, (size_t)w->m *(size_t)w->m);
  PERP_DOUBLES(a, w->m, &w->diag, &w->tau, &w->b);
  w->work = PERP_CARVE(a, double, w->lwork);
  w->v = PERP_CARVE(a, double, w->nv);
  w->piv = PERP_CARVE(a, int, w->m);
  w->flat = PERP_CARVE(a, unsigned char, w->nb);
}

/* Number of diagonals above the main one that can hold something. */
static int band_width(const perp_blocks *B)
{
  int k = 0;
  for (int b = 0; b < B->nb; b++) {
    if (B->tptr[b] == B->tptr[b + 1]) continue;
    int first = B->jgrp[B->tsub[B->tptr[b]]], last = B->jgrp[B->tsub[B->tptr[b + 1] - 1]];
    int width = B->cptr[last + 1] - 1 - B->cptr[first];
    if (width > k) k = width;
  }
  return k;
}

static perp_status schur_dense_create(perp_ctx *ctx, const perp_blocks *B, const void *opts,
                                      void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  const int m = B->m;
  struct ws like = { .opt = *(const struct opts *)opts,
                     .nv = B->nv,
                     .m = m,
                     .nb = B->nb,
                     .lwork = 64 * (m + 1),
                     .k = band_width(B) };
  if (like.opt.storage == FULL || (like.opt.storage == AUTO && like.k >= m / 4)) like.k = m - 1;
  PERP_TRY(perp_kkt_assembly_count(ctx, B, &like.to_full));
  if (like.k < m - 1) like.to_band = like.to_full;
  like.cost_factor = perp_kkt_cost_schur(B) +
                     (like.k < m - 1 ? m * pow(like.k + 1, 2) / 2 : pow(m, 3) / 6);
  like.cost_solve = perp_kkt_cost_sides(B) + (like.k < m - 1 ? 2.0 * m * (like.k + 1) : pow(m, 2));
  PERP_TRY(perp_workspace_create(ctx, "schur-dense", &like, sizeof like, schur_dense_layout, ws));
  struct ws *w = *ws;
  const kkt_dense_shape full = { B->cptr, m, 0 }, band = { B->cptr, w->k, w->k };
  perp_kkt_assembly_fill(B, perp_kkt_dense_locate, &full, &w->to_full);
  if (w->k < m - 1) perp_kkt_assembly_fill(B, perp_kkt_dense_locate, &band, &w->to_band);
  return PERP_OK;
}

static void form_full(struct ws *w, const perp_blocks *B)
{
  size_t m = (size_t)w->m;
  for (size_t j = 0; j < m; j++) memset(w->A + j * m, 0, (j + 1) * sizeof *w->A);
  perp_kkt_assemble(&w->to_full, B, 0, w->A);
  for (size_t i = 0; i < m; i++) w->diag[i] = w->A[i + i * m];
}

/* Cholesky.  False when a pivot vanishes. */
static bool factor_plain(struct ws *w, const perp_blocks *B)
{
  int m = w->m, k = w->k;
  if (k == m - 1) {
    form_full(w, B);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', m, w->A, m) != 0) return false;
  } else {
    memset(w->A, 0, sizeof *w->A * (size_t)(k + 1) * (size_t)m);
    perp_kkt_assemble(&w->to_band, B, 0, w->A);
    for (int i = 0; i < m; i++) w->diag[i] = w->A[k + (size_t)i * (size_t)(k + 1)];
    if (LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'U', m, k, w->A, k + 1) != 0) return false;
  }
  for (int i = 0; i < m; i++) {
    double u = k == m - 1 ? w->A[i + (size_t)i * (size_t)m] : w->A[k + (size_t)i * (size_t)(k + 1)];
    if (!(u * u > w->opt.rank_tol * w->diag[i]) || !(u <= DBL_MAX)) return false;
  }
  return true;
}

/* Pivoted Cholesky of the scaled matrix, then QR of its factor. */
static perp_reason factor_dependent(struct ws *w, const perp_blocks *B)
{
  int m = w->m;
  double *A = w->A, *scale = w->diag;
  form_full(w, B);
  for (int i = 0; i < m; i++) scale[i] = scale[i] > 0 ? sqrt(scale[i]) : 1;
  for (int j = 0; j < m; j++)
    for (int i = 0; i <= j; i++) A[i + (size_t)j * (size_t)m] /= scale[i] * scale[j];
  /* the same matrix as a lower triangle, whose factor has the columns of F */
  for (int j = 0; j < m; j++)
    for (int i = j + 1; i < m; i++) A[i + (size_t)j * (size_t)m] = A[j + (size_t)i * (size_t)m];
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

static perp_status schur_dense_factor(perp_ctx *ctx, void *ws, const perp_blocks *B,
                                      perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", B, w->nv, w->m));
  perp_blocks known;
  B = perp_kkt_find_diagonal(B, &known, w->flat);
  stats->factorizations++;
  stats->work += w->cost_factor;
  stats->reason = PERP_EXACT;
  w->dependent = false;
  if (w->m == 0 || factor_plain(w, B)) return PERP_OK;

  stats->reason = perp_kkt_why_no_factor(B);
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK;
  w->dependent = true;
  stats->factorizations++;
  stats->reason = factor_dependent(w, B);
  stats->work += pow(w->m, 3) / 6 + (w->m - w->rank / 3.0) * pow(w->rank, 2); /* dpstrf, dgeqrf */
  return PERP_OK;
}

static perp_status schur_dense_solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                                     const double *c, double *a, double *lambda, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-dense", B, w->nv, w->m));
  int m = w->m, r = w->rank, k = w->k;
  perp_blocks known;
  B = kkt_use_diagonal(B, &known, w->flat);
  stats->work += w->cost_solve;
  perp_kkt_schur_rhs(B, f, c, lambda, w->v);
  if (m == 0) {
  } else if (!w->dependent && k == m - 1) {
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', m, 1, w->A, m, lambda, m);
  } else if (!w->dependent) {
    LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'U', m, k, 1, w->A, k + 1, lambda, m);
  } else {
    if (!perp_finite(m, lambda)) return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', m, 1, r, w->A, m, w->tau, lambda, m, w->work,
                        w->lwork);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', r, 1, w->A, m, lambda, m);
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'T', 'N', r, 1, w->A, m, lambda, m);
    for (int i = r; i < m; i++) lambda[i] = 0;
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'N', m, 1, r, w->A, m, w->tau, lambda, m, w->work,
                        w->lwork);
  }
  perp_kkt_schur_motion(B, f, lambda, a, w->v);
  if (w->dependent)
    return perp_kkt_judge_dependent(B, c, a, lambda, w->opt.infeasible_tol, stats, w->work);
  return kkt_take(B, a, lambda, stats);
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
