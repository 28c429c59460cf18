/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of KLU, for the WebAssembly module: a matrix in compressed columns is spread out
 * and factored densely with partial pivoting, O(n^3). */
#include <lapacke.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/klu.h>

int klu_defaults(klu_common *common)
{
  *common = (klu_common){ 0 };
  return 1;
}

klu_symbolic *klu_analyze(int n, int *start, int *row, klu_common *common)
{
  (void)start;
  (void)row;
  klu_symbolic *symbolic = calloc(1, sizeof *symbolic);
  if (symbolic != NULL) symbolic->n = n;
  common->status = symbolic != NULL ? KLU_OK : -2;
  return symbolic;
}

static int klu_fill(const int *start, const int *row, const double *value, klu_numeric *numeric,
                    klu_common *common)
{
  const int n = numeric->n, parts = 1 + numeric->pairs;
  memset(numeric->LU, 0, (size_t)n * (size_t)n * (size_t)parts * sizeof *numeric->LU);
  for (int j = 0; j < n; j++)
    for (int k = start[j]; k < start[j + 1]; k++)
      for (int c = 0; c < parts; c++)
        numeric->LU[((size_t)row[k] + (size_t)j * (size_t)n) * (size_t)parts + (size_t)c] +=
            value[(size_t)k * (size_t)parts + (size_t)c];
  int info;
  if (numeric->pairs) {
    /* a band of full width is wasteful: LU in place, on the diagonal storage of no band */
    double _Complex *A = (double _Complex *)numeric->LU;
    info = 0;
    for (int j = 0; j < n; j++) {
      int p = j;
      for (int i = j + 1; i < n; i++)
        if (__builtin_cabs(A[i + (ptrdiff_t)j * n]) > __builtin_cabs(A[p + (ptrdiff_t)j * n]))
          p = i;
      numeric->pivots[j] = p + 1;
      if (A[p + (ptrdiff_t)j * n] == 0) {
        info = j + 1;
        break;
      }
      for (int c = 0; c < n && p != j; c++) {
        const double _Complex keep = A[j + (ptrdiff_t)c * n];
        A[j + (ptrdiff_t)c * n] = A[p + (ptrdiff_t)c * n];
        A[p + (ptrdiff_t)c * n] = keep;
      }
      for (int i = j + 1; i < n; i++) A[i + (ptrdiff_t)j * n] /= A[j + (ptrdiff_t)j * n];
      for (int c = j + 1; c < n; c++)
        for (int i = j + 1; i < n; i++)
          A[i + (ptrdiff_t)c * n] -= A[i + (ptrdiff_t)j * n] * A[j + (ptrdiff_t)c * n];
    }
  } else
    info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, numeric->LU, n, numeric->pivots);
  common->status = info == 0 ? KLU_OK : 1;
  common->rgrowth = info == 0;
  return info == 0;
}

static klu_numeric *klu_make(int *start, int *row, double *value, klu_symbolic *symbolic, int pairs,
                             klu_common *common)
{
  const size_t n = (size_t)symbolic->n;
  klu_numeric *numeric = calloc(1, sizeof *numeric);
  if (numeric == NULL) return NULL;
  numeric->n = symbolic->n;
  numeric->pairs = pairs;
  numeric->LU = malloc((n * n * (size_t)(1 + pairs) + 1) * sizeof *numeric->LU);
  numeric->pivots = malloc((n + 1) * sizeof *numeric->pivots);
  numeric->lnz = numeric->unz = (int)(n * (n + 1) / 2);
  if (numeric->LU == NULL || numeric->pivots == NULL ||
      !klu_fill(start, row, value, numeric, common))
    klu_free_numeric(&numeric, common);
  return numeric;
}

klu_numeric *klu_factor(int *start, int *row, double *value, klu_symbolic *symbolic,
                        klu_common *common)
{
  return klu_make(start, row, value, symbolic, 0, common);
}

klu_numeric *klu_z_factor(int *start, int *row, double *value, klu_symbolic *symbolic,
                          klu_common *common)
{
  return klu_make(start, row, value, symbolic, 1, common);
}

int klu_refactor(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                 klu_common *common)
{
  (void)symbolic;
  return klu_fill(start, row, value, numeric, common);
}

int klu_z_refactor(int *start, int *row, double *value, klu_symbolic *symbolic,
                   klu_numeric *numeric, klu_common *common)
{
  (void)symbolic;
  return klu_fill(start, row, value, numeric, common);
}

int klu_rgrowth(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                klu_common *common)
{
  (void)start;
  (void)row;
  (void)value;
  (void)symbolic;
  (void)numeric;
  common->rgrowth = 1; /* pivots are chosen anew each time */
  return 1;
}

int klu_z_rgrowth(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                  klu_common *common)
{
  return klu_rgrowth(start, row, value, symbolic, numeric, common);
}

int klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, int ld, int nrhs, double *B,
              klu_common *common)
{
  (void)symbolic;
  (void)common;
  LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', numeric->n, nrhs, numeric->LU, numeric->n,
                      numeric->pivots, B, ld);
  return 1;
}

int klu_z_solve(klu_symbolic *symbolic, klu_numeric *numeric, int ld, int nrhs, double *B,
                klu_common *common)
{
  (void)symbolic;
  (void)common;
  const int n = numeric->n;
  const double _Complex *A = (const double _Complex *)numeric->LU;
  for (int r = 0; r < nrhs; r++) {
    double _Complex *b = (double _Complex *)B + (ptrdiff_t)r * ld;
    for (int j = 0; j < n; j++) {
      const int p = numeric->pivots[j] - 1;
      const double _Complex keep = b[j];
      b[j] = b[p];
      b[p] = keep;
    }
    for (int j = 0; j < n; j++)
      for (int i = j + 1; i < n; i++) b[i] -= A[i + (ptrdiff_t)j * n] * b[j];
    for (int j = n - 1; j >= 0; j--) {
      b[j] /= A[j + (ptrdiff_t)j * n];
      for (int i = 0; i < j; i++) b[i] -= A[i + (ptrdiff_t)j * n] * b[j];
    }
  }
  return 1;
}

int klu_flops(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common)
{
  const double n = numeric->n;
  (void)symbolic;
  common->flops = 2.0 / 3 * n * n * n;
  return 1;
}

int klu_free_symbolic(klu_symbolic **symbolic, klu_common *common)
{
  (void)common;
  free(*symbolic);
  *symbolic = NULL;
  return 1;
}

int klu_free_numeric(klu_numeric **numeric, klu_common *common)
{
  (void)common;
  if (*numeric != NULL) {
    free((*numeric)->LU);
    free((*numeric)->pivots);
    free(*numeric);
  }
  *numeric = NULL;
  return 1;
}

int klu_z_free_numeric(klu_numeric **numeric, klu_common *common)
{
  return klu_free_numeric(numeric, common);
}
