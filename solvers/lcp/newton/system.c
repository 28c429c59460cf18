/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/system.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void system_layout(void *ws, perp_arena *arena)
{
  perp_system *system = ws;
  int n = system->max_n;
  PERP_INTS(arena, n, &system->index, &system->pivot, &system->first, &system->next);
  PERP_DOUBLES(arena, n, &system->rhs, &system->omega, &system->sigma, &system->d, &system->gamma,
               &system->res, &system->cor, &system->Ax);
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

perp_status perp_system_open(perp_ctx *ctx, perp_system *system, int max_n)
{
  *system = (perp_system){ .max_n = max_n, .floor = 1e-10 };
  PERP_TRY(perp_arena_layout(ctx, &system->own, system_layout, system));
  size_t n = (size_t)max_n;
  if (max_n <= PERP_SYSTEM_EAGER)
    PERP_TRY(perp_system_grow(ctx, &system->K, &system->capacity, n * n));
  return PERP_OK;
}

void perp_system_close(perp_system *system)
{
  perp_arena_free(&system->own);
  perp_bodylu_destroy(system->L);
  perp_sparse_lu_close(&system->sparse);
  free(system->K);
  free(system->v);
  system->L = NULL;
  system->K = system->v = NULL;
  system->capacity = system->v_capacity = 0;
}

static perp_status sparse_prepare(perp_ctx *ctx, perp_system *system, const perp_lcp *lcp)
{
  const int n = lcp->n;
  const bool friction = lcp->fric_of != NULL && !lcp->frozen;
  size_t numbers = (size_t)lcp->C->start[n] + 2 * (size_t)n;
  for (int i = 0; i < n; i++) system->first[i] = system->next[i] = -1;
  for (int i = n - 1; i >= 0 && friction; i--) {
    if (lcp->fric_of[i] < 0) continue;
    system->next[i] = system->first[lcp->fric_of[i]];
    system->first[lcp->fric_of[i]] = i;
    /* its column may be added to that of the normal row */
    numbers += (size_t)(lcp->C->start[i + 1] - lcp->C->start[i]);
  }
  return perp_sparse_lu_reserve(ctx, &system->sparse, n, numbers);
}

perp_status perp_system_prepare(perp_ctx *ctx, perp_system *system, perp_rows *rows, bool coupled)
{
  const perp_lcp *lcp = rows->p;
  system->R = rows;
  system->n = lcp->n;
  system->factorizations = 0;
  system->symmetric = true;
  if (lcp->F != NULL) {
    if (system->L == NULL) PERP_TRY(perp_bodylu_create(ctx, &system->L));
    PERP_TRY(perp_system_grow(ctx, &system->v, &system->v_capacity, (size_t)lcp->F->nv));
    return perp_bodylu_analyse(ctx, system->L, lcp->F, coupled);
  }
  if (lcp->C != NULL) return sparse_prepare(ctx, system, lcp);
  size_t n = (size_t)lcp->n, lda = (size_t)lcp->lda;
  PERP_TRY(perp_system_grow(ctx, &system->K, &system->capacity, n * n));
  for (size_t j = 0; j < n && system->symmetric; j++)
    for (size_t i = j + 1; i < n && system->symmetric; i++)
      system->symmetric = lcp->A[i + j * lda] == lcp->A[j + i * lda];
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

static bool dense_factor(perp_system *system)
{
  const perp_lcp *lcp = system->R->p;
  int n = system->n, f = 0;
  size_t lda = (size_t)lcp->lda;
  for (int i = 0; i < n; i++)
    if (system->d[i] < HUGE_VAL) system->index[f++] = i;
  system->f = f;
  system->lu = !system->symmetric || system->coupled;
  for (int attempt = 0; attempt < 2; attempt++) {
    for (int j = 0; j < f; j++) {
      const double *a = lcp->A + (size_t)system->index[j] * lda;
      double *k = system->K + (size_t)j * (size_t)f;
      for (int i = system->lu ? 0 : j; i < f; i++) k[i] = a[system->index[i]];
      k[j] += system->d[system->index[j]];
    }
    if (system->coupled) {
      for (int k = 0; k < f; k++)
        system->pivot[system->index[k]] = k; /* place of a row, for a moment */
      for (int i = 0; i < n; i++) {
        if (system->gamma[i] == 0 || !(system->d[lcp->fric_of[i]] < HUGE_VAL)) continue;
        int col = system->pivot[lcp->fric_of[i]];
        double *k = system->K + (size_t)col * (size_t)f;
        if (system->d[i] < HUGE_VAL)
          k[system->pivot[i]] -= system->d[i] * system->gamma[i];
        else
          for (int l = 0; l < f; l++)
            k[l] += system->gamma[i] * lcp->A[(size_t)system->index[l] + (size_t)i * lda];
      }
    }
    if (f == 0) return true;
    system->R->work += (double)f * f * (1 + f / (system->lu ? 3.0 : 6.0));
    if (system->lu)
      return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, f, f, system->K, f, system->pivot) == 0;
    if (system_cholesky(f, system->K)) return true;
    system->lu = true; /* indefinite */
  }
  return false;
}

/* ---- sparse ---- */

/* times the column j of A, in the gathered rows, to the column that is being made */
static void sparse_column(perp_system *system, int j, double times)
{
  const perp_columns *C = system->R->p->C;
  for (int l = C->start[j]; l < C->start[j + 1]; l++)
    if (system->pivot[C->row[l]] >= 0)
      perp_sparse_lu_add(&system->sparse, system->pivot[C->row[l]], times * C->value[l]);
}

static bool sparse_factor(perp_system *system)
{
  const int n = system->n;
  int f = 0;
  for (int i = 0; i < n; i++) {
    const bool takes_part = system->d[i] < HUGE_VAL;
    system->pivot[i] = takes_part ? f : -1; /* place of a row */
    if (takes_part) system->index[f++] = i;
  }
  system->f = f;
  if (f == 0) return true;
  perp_sparse_lu_begin(&system->sparse, f);
  for (int k = 0; k < f; k++) {
    const int j = system->index[k];
    sparse_column(system, j, 1);
    perp_sparse_lu_add(&system->sparse, k, system->d[j]);
    for (int i = system->first[j]; i >= 0; i = system->next[i]) {
      if (system->gamma[i] == 0) continue;
      if (system->pivot[i] >= 0)
        perp_sparse_lu_add(&system->sparse, system->pivot[i], -system->d[i] * system->gamma[i]);
      else
        sparse_column(system, i, system->gamma[i]);
    }
    perp_sparse_lu_column(&system->sparse);
  }
  const bool good = perp_sparse_lu_factor(&system->sparse);
  system->R->work += perp_sparse_lu_work(&system->sparse);
  return good;
}

/* ---- factored ---- */

static void factored_solve(perp_system *system, const double *r, double *x)
{
  const perp_lcp *lcp = system->R->p;
  system->R->work += system->R->product + 2 * (double)perp_bodylu_nnz(system->L);
  for (int i = 0; i < system->n; i++) {
    x[i] = system->omega[i] * r[i];
    if (system->coupled && system->sigma[i] != 0) x[i] += system->sigma[i] * r[lcp->fric_of[i]];
  }
  perp_bodylu_Jt(system->L, x, system->v);
  perp_bodylu_solve(system->L, system->v);
  for (int i = 0; i < system->n; i++) system->rhs[i] = r[i];
  perp_bodylu_J(system->L, system->v, system->rhs);
  for (int i = 0; i < system->n; i++) x[i] = system->omega[i] * system->rhs[i];
  if (system->coupled)
    for (int i = 0; i < system->n; i++)
      if (system->sigma[i] != 0) x[i] += system->sigma[i] * system->rhs[lcp->fric_of[i]];
}

/* ---- all ---- */

bool perp_system_factor(perp_system *system, const double *d, const double *gamma)
{
  const perp_rows *rows = system->R;
  const perp_blocks *blocks = rows->p->F;
  system->coupled = false;
  for (int i = 0; i < system->n; i++) {
    double scale = rows->diag[i] > 0 ? rows->diag[i] : rows->big[i];
    system->d[i] = d[i];
    /* the floor is a proximal term; res is formed with d itself */
    system->Ax[i] = fmax(d[i], system->floor * scale);
    system->gamma[i] = gamma != NULL ? gamma[i] : 0;
    if (system->gamma[i] != 0) system->coupled = true;
    if (isnan(d[i])) return false;
  }
  system->factorizations++;
  bool good;
  double *keep = system->d;
  if (blocks == NULL) {
    system->d = system->Ax;
    good = rows->p->C != NULL ? sparse_factor(system) : dense_factor(system);
    system->d = keep;
    return good;
  }
  for (int i = 0; i < system->n; i++)
    system->omega[i] = 1 / (system->Ax[i] + (blocks->s != NULL ? blocks->s[i] : 0));
  if (system->coupled)
    for (int i = 0; i < system->n; i++) {
      system->sigma[i] = 0;
      if (system->gamma[i] == 0) continue;
      double g = d[i] < HUGE_VAL ? system->gamma[i] * system->Ax[i] * system->omega[i]
                                 : system->gamma[i];
      system->sigma[i] = g * system->omega[rows->p->fric_of[i]];
    }
  bool good_pivots = perp_bodylu_factor(system->L, blocks, system->omega,
                                        system->coupled ? system->sigma : NULL, rows->p->fric_of);
  system->R->work += perp_bodylu_work(system->L);
  return good_pivots;
}

static double system_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

static void system_solve_once(perp_system *system, const double *r, double *x)
{
  if (system->R->p->F == NULL) {
    int f = system->f;
    const bool sparse = system->R->p->C != NULL;
    system->R->work += sparse ? perp_sparse_lu_nnz(&system->sparse) : (double)f * f;
    for (int k = 0; k < f; k++) system->rhs[k] = r[system->index[k]];
    if (f == 0)
      ;
    else if (sparse)
      perp_sparse_lu_solve(&system->sparse, system->rhs);
    else if (system->lu)
      LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', f, 1, system->K, f, system->pivot, system->rhs, f);
    else
      cholesky_solve(f, system->K, system->rhs);
    for (int i = 0; i < system->n; i++) x[i] = 0;
    for (int k = 0; k < f; k++) x[system->index[k]] = system->rhs[k];
    for (int i = 0; system->coupled && i < system->n; i++)
      if (system->gamma[i] != 0 && !(system->d[i] < HUGE_VAL))
        x[i] = system->gamma[i] * x[system->R->p->fric_of[i]];
  } else
    factored_solve(system, r, x);
}

bool perp_system_solve(perp_system *system, const double *r, double *x, int refine)
{
  int n = system->n;
  system_solve_once(system, r, x);
  double before = system_norm(n, x), size = before;
  if (!isfinite(size)) return false;
  while (refine-- > 0) {
    perp_rows_A(system->R, x, system->Ax);
    for (int i = 0; i < n; i++) {
      if (!(system->d[i] < HUGE_VAL)) {
        system->res[i] = 0;
        continue;
      }
      double own = x[i];
      if (system->gamma[i] != 0) own -= system->gamma[i] * x[system->R->p->fric_of[i]];
      system->res[i] = r[i] - system->Ax[i] - system->d[i] * own;
    }
    system_solve_once(system, system->res, system->cor);
    double now = system_norm(n, system->cor);
    /* no contraction: dependent rows that contradict each other, or rounding */
    if (!(now <= 0.5 * before)) break;
    for (int i = 0; i < n; i++) x[i] += system->cor[i];
    if (now <= 1e-15 * size) break;
    before = now;
  }
  return true;
}
