/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/dense.h"

#include "solvers/core/clones.h"

enum { ROWS = 1024, LANES = 8 }; /* rows of y that stay in the first-level cache */

PERP_CLONES static void dense_axpy1(int m, double x0, const double *restrict a0, double *restrict y)
{
  for (int i = 0; i < m; i++) y[i] += x0 * a0[i];
}

PERP_CLONES static void dense_axpy4(int m, const double x[4], const double *restrict a0,
                                    const double *restrict a1, const double *restrict a2,
                                    const double *restrict a3, double *restrict y)
{
  double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  for (int i = 0; i < m; i++) y[i] += (x0 * a0[i] + x1 * a1[i]) + (x2 * a2[i] + x3 * a3[i]);
}

void perp_gaxpy(int m, int k, const double *A, size_t lda, const int *idx, const double *x,
                double *y)
{
  for (int r = 0; r < m; r += ROWS) {
    int rows = m - r < ROWS ? m - r : ROWS, j = 0;
    const double *B = A + r;
    for (; j + 4 <= k; j += 4) {
      size_t c0 = (size_t)(idx != NULL ? idx[j] : j),
             c1 = (size_t)(idx != NULL ? idx[j + 1] : j + 1);
      size_t c2 = (size_t)(idx != NULL ? idx[j + 2] : j + 2),
             c3 = (size_t)(idx != NULL ? idx[j + 3] : j + 3);
      dense_axpy4(rows, x + j, B + c0 * lda, B + c1 * lda, B + c2 * lda, B + c3 * lda, y + r);
    }
    for (; j < k; j++) dense_axpy1(rows, x[j], B + (size_t)(idx != NULL ? idx[j] : j) * lda, y + r);
  }
}

PERP_CLONES static double dense_dot1(int m, const double *restrict a, const double *restrict x)
{
  double s[LANES] = { 0 };
  int i = 0;
  for (; i + LANES <= m; i += LANES)
    for (int l = 0; l < LANES; l++) s[l] += a[i + l] * x[i + l];
  for (int l = 0; i < m; i++, l++) s[l] += a[i] * x[i];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

void perp_gdot(int m, int k, const double *A, size_t lda, const int *idx, const double *x,
               double *y)
{
  for (int j = 0; j < k; j++) y[j] = dense_dot1(m, A + (size_t)(idx != NULL ? idx[j] : j) * lda, x);
}

void perp_rank1(int m, int k, const double *x, const double *y, double *A, size_t lda)
{
  for (int j = 0; j < k; j++)
    if (y[j] != 0) dense_axpy1(m, y[j], x, A + (size_t)j * lda);
}
