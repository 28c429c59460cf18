/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/system.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void system_layout(void *ws, perp_arena *a)
{
  perp_system *S = ws;
  int n = S->max_n;
  PERP_INTS(a, n, &S->index, &S->pivot);
  PERP_DOUBLES(a, n, &S->rhs, &S->omega, &S->sigma, &S->d, &S->gamma, &S->res, &S->cor, &S->Ax);
}

perp_status perp_system_grow(perp_ctx *ctx, double **block, size_t *capacity, size_t count)
{
  if (count <= *capacity) return PERP_OK;
  free(*block);
  *capacity = 0;
  *block = count > SIZE_MAX / 16 ? NULL : malloc(count * sizeof **block);
  if (*block == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a matrix of %zu numbers", count);
  *capacity = count;
  return PERP_OK;
}

perp_status perp_system_open(perp_ctx *ctx, perp_system *S, int max_n)
{
  *S = (perp_system){ .max_n = max_n, .floor = 1e-10 };
  PERP_TRY(perp_arena_layout(ctx, &S->own, system_layout, S));
  size_t n = (size_t)max_n;
  if (max_n <= PERP_SYSTEM_EAGER) PERP_TRY(perp_system_grow(ctx, &S->K, &S->capacity, n * n));
  return PERP_OK;
}

void perp_system_close(perp_system *S)
{
  perp_arena_free(&S->own);
  perp_bodylu_destroy(S->L);
  free(S->K);
  free(S->v);
  S->L = NULL;
  S->K = S->v = NULL;
  S->capacity = S->v_capacity = 0;
}

perp_status perp_system_prepare(perp_ctx *ctx, perp_system *S, perp_rows *R, bool coupled)
{
  const perp_lcp *p = R->p;
  S->R = R;
  S->n = p->n;
  S->factorizations = 0;
  S->symmetric = true;
  if (p->F != NULL) {
    if (S->L == NULL) PERP_TRY(perp_bodylu_create(ctx, &S->L));
    PERP_TRY(perp_system_grow(ctx, &S->v, &S->v_capacity, (size_t)p->F->nv));
    return perp_bodylu_analyse(ctx, S->L, p->F, coupled);
  }
  size_t n = (size_t)p->n, lda = (size_t)p->lda;
  PERP_TRY(perp_system_grow(ctx, &S->K, &S->capacity, n * n));
  for (size_t j = 0; j < n && S->symmetric; j++)
    for (size_t i = j + 1; i < n && S->symmetric; i++)
      S->symmetric = p->A[i + j * lda] == p->A[j + i * lda];
  return PERP_OK;
}

/* ---- dense ---- */

/* Cholesky, lower, leading dimension f; below the size where calling LAPACK pays */
static bool system_cholesky(int f, double *K)
{
  if (f > 24) return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', f, K, f) == 0;
  for (int j = 0; j < f; j++) {
    double *cj = K + j * f;
    for (int k = 0; k < j; k++) {
      const double *ck = K + k * f;
      for (int i = j; i < f; i++) cj[i] -= ck[j] * ck[i];
    }
    if (!(cj[j] > 0)) return false;
    double inv = 1 / sqrt(cj[j]);
    for (int i = j; i < f; i++) cj[i] *= inv;
  }
  return true;
}

static void cholesky_solve(int f, const double *K, double *x)
{
  if (f > 24) {
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', f, 1, K, f, x, f);
    return;
  }
  for (int j = 0; j < f; j++) {
    x[j] /= K[j + j * f];
    for (int i = j + 1; i < f; i++) x[i] -= x[j] * K[i + j * f];
  }
  for (int j = f - 1; j >= 0; j--) {
    for (int i = j + 1; i < f; i++) x[j] -= K[i + j * f] * x[i];
    x[j] /= K[j + j * f];
  }
}

static bool dense_factor(perp_system *S)
{
  const perp_lcp *p = S->R->p;
  int n = S->n, f = 0;
  size_t lda = (size_t)p->lda;
  for (int i = 0; i < n; i++)
    if (S->d[i] < HUGE_VAL) S->index[f++] = i;
  S->f = f;
  S->lu = !S->symmetric || S->coupled;
  for (int attempt = 0; attempt < 2; attempt++) {
    for (int j = 0; j < f; j++) {
      const double *a = p->A + (size_t)S->index[j] * lda;
      double *k = S->K + (size_t)j * (size_t)f;
      for (int i = S->lu ? 0 : j; i < f; i++) k[i] = a[S->index[i]];
      k[j] += S->d[S->index[j]];
    }
    if (S->coupled) {
      for (int k = 0; k < f; k++) S->pivot[S->index[k]] = k; /* place of a row, for a moment */
      for (int i = 0; i < n; i++) {
        if (S->gamma[i] == 0 || !(S->d[p->fric_of[i]] < HUGE_VAL)) continue;
        int col = S->pivot[p->fric_of[i]];
        double *k = S->K + (size_t)col * (size_t)f;
        if (S->d[i] < HUGE_VAL)
          k[S->pivot[i]] -= S->d[i] * S->gamma[i];
        else
          for (int l = 0; l < f; l++)
            k[l] += S->gamma[i] * p->A[(size_t)S->index[l] + (size_t)i * lda];
      }
    }
    if (f == 0) return true;
    S->R->work += (double)f * f * (1 + f / (S->lu ? 3.0 : 6.0));
    if (S->lu) return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, f, f, S->K, f, S->pivot) == 0;
    if (system_cholesky(f, S->K)) return true;
    S->lu = true; /* indefinite */
  }
  return false;
}

/* ---- factored ---- */

static void factored_solve(perp_system *S, const double *r, double *x)
{
  const perp_lcp *p = S->R->p;
  S->R->work += S->R->product + 2 * (double)perp_bodylu_nnz(S->L);
  for (int i = 0; i < S->n; i++) {
    x[i] = S->omega[i] * r[i];
    if (S->coupled && S->sigma[i] != 0) x[i] += S->sigma[i] * r[p->fric_of[i]];
  }
  perp_bodylu_Jt(S->L, x, S->v);
  perp_bodylu_solve(S->L, S->v);
  for (int i = 0; i < S->n; i++) S->rhs[i] = r[i];
  perp_bodylu_J(S->L, S->v, S->rhs);
  for (int i = 0; i < S->n; i++) x[i] = S->omega[i] * S->rhs[i];
  if (S->coupled)
    for (int i = 0; i < S->n; i++)
      if (S->sigma[i] != 0) x[i] += S->sigma[i] * S->rhs[p->fric_of[i]];
}

/* ---- both ---- */

bool perp_system_factor(perp_system *S, const double *d, const double *gamma)
{
  const perp_rows *R = S->R;
  const perp_blocks *F = R->p->F;
  S->coupled = false;
  for (int i = 0; i < S->n; i++) {
    double scale = R->diag[i] > 0 ? R->diag[i] : R->big[i];
    S->d[i] = d[i];
    /* the floor is a proximal term; res is formed with d itself */
    S->Ax[i] = fmax(d[i], S->floor * scale);
    S->gamma[i] = gamma != NULL ? gamma[i] : 0;
    if (S->gamma[i] != 0) S->coupled = true;
    if (isnan(d[i])) return false;
  }
  S->factorizations++;
  bool good;
  double *keep = S->d;
  if (F == NULL) {
    S->d = S->Ax;
    good = dense_factor(S);
    S->d = keep;
    return good;
  }
  for (int i = 0; i < S->n; i++) S->omega[i] = 1 / (S->Ax[i] + (F->s != NULL ? F->s[i] : 0));
  if (S->coupled)
    for (int i = 0; i < S->n; i++) {
      S->sigma[i] = 0;
      if (S->gamma[i] == 0) continue;
      double g = d[i] < HUGE_VAL ? S->gamma[i] * S->Ax[i] * S->omega[i] : S->gamma[i];
      S->sigma[i] = g * S->omega[R->p->fric_of[i]];
    }
  bool good_pivots = perp_bodylu_factor(S->L, F, S->omega, S->coupled ? S->sigma : NULL,
                                        R->p->fric_of);
  S->R->work += perp_bodylu_work(S->L);
  return good_pivots;
}

static double system_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

static void system_solve_once(perp_system *S, const double *r, double *x)
{
  if (S->R->p->F == NULL) {
    int f = S->f;
    S->R->work += (double)f * f;
    for (int k = 0; k < f; k++) S->rhs[k] = r[S->index[k]];
    if (f == 0)
      ;
    else if (S->lu)
      LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', f, 1, S->K, f, S->pivot, S->rhs, f);
    else
      cholesky_solve(f, S->K, S->rhs);
    for (int i = 0; i < S->n; i++) x[i] = 0;
    for (int k = 0; k < f; k++) x[S->index[k]] = S->rhs[k];
    for (int i = 0; S->coupled && i < S->n; i++)
      if (S->gamma[i] != 0 && !(S->d[i] < HUGE_VAL)) x[i] = S->gamma[i] * x[S->R->p->fric_of[i]];
  } else
    factored_solve(S, r, x);
}

bool perp_system_solve(perp_system *S, const double *r, double *x, int refine)
{
  int n = S->n;
  system_solve_once(S, r, x);
  double before = system_norm(n, x), size = before;
  if (!isfinite(size)) return false;
  while (refine-- > 0) {
    perp_rows_A(S->R, x, S->Ax);
    for (int i = 0; i < n; i++) {
      if (!(S->d[i] < HUGE_VAL)) {
        S->res[i] = 0;
        continue;
      }
      double own = x[i];
      if (S->gamma[i] != 0) own -= S->gamma[i] * x[S->R->p->fric_of[i]];
      S->res[i] = r[i] - S->Ax[i] - S->d[i] * own;
    }
    system_solve_once(S, S->res, S->cor);
    double now = system_norm(n, S->cor);
    /* no contraction: dependent rows that contradict each other, or rounding */
    if (!(now <= 0.5 * before)) break;
    for (int i = 0; i < n; i++) x[i] += S->cor[i];
    if (now <= 1e-15 * size) break;
    before = now;
  }
  return true;
}
