/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/inverse_update.h"

#include "solvers/linalg/dense.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32 }; /* columns of the inverse at a time */

void perp_inverse_apply(const perp_inverse *K, const double *x, double *y)
{
  for (int u = 0; u < K->m; u++) y[u] = 0;
  perp_gaxpy(K->m, K->m, K->R, K->ld, NULL, x, y);
}

void perp_inverse_apply_t(const perp_inverse *K, const double *x, double *y)
{
  perp_gdot(K->m, K->m, K->R, K->ld, NULL, x, y);
}

void perp_inverse_replace_column(perp_inverse *K, int u, const double *f)
{
  /* row u /= f_u;  row i -= f_i row u */
  int m = K->m;
  double *x = K->x, *row = K->x + K->cap, p = 1 / f[u];
  for (int i = 0; i < m; i++) x[i] = -f[i] * p;
  x[u] = 0;
  for (int c = 0; c < m; c++) {
    row[c] = K->R[u + (size_t)c * K->ld];
    K->R[u + (size_t)c * K->ld] = row[c] * p;
  }
  perp_rank1(m, m, x, row, K->R, K->ld);
}

void perp_inverse_replace_row(perp_inverse *K, int c, const double *g)
{
  /* column c /= g_c;  column j -= g_j column c */
  int m = K->m;
  double *col = K->R + (size_t)c * K->ld, p = 1 / g[c];
  for (int u = 0; u < m; u++) col[u] *= p;
  for (int j = 0; j < m; j++) K->x[j] = -g[j];
  K->x[c] = 0;
  perp_rank1(m, m, col, K->x, K->R, K->ld);
}

void perp_inverse_append(perp_inverse *K, const double *f, const double *g, double s)
{
  int m = K->m;
  double p = 1 / s, *last = K->R + (size_t)m * K->ld;
  for (int j = 0; j < m; j++) K->x[j] = g[j] * p;
  perp_rank1(m, m, f, K->x, K->R, K->ld);
  for (int j = 0; j < m; j++) K->R[m + (size_t)j * K->ld] = -K->x[j];
  for (int u = 0; u < m; u++) last[u] = -f[u] * p;
  last[m] = p;
  K->m = m + 1;
}

void perp_inverse_remove(perp_inverse *K, int u, int c)
{
  int m = K->m, last = m - 1;
  double *col = K->R + (size_t)c * K->ld, p = 1 / col[u];
  for (int j = 0; j < m; j++) K->x[j] = -p * K->R[u + (size_t)j * K->ld];
  K->x[c] = 0;
  perp_rank1(m, m, col, K->x, K->R, K->ld);
  if (c != last) memcpy(col, K->R + (size_t)last * K->ld, (size_t)m * sizeof *col);
  if (u != last)
    for (int j = 0; j < last; j++) K->R[u + (size_t)j * K->ld] = K->R[last + (size_t)j * K->ld];
  K->m = last;
}

/* The 1-norm of what is in R. */
static double inverse_norm(const perp_inverse *K)
{
  double norm = 0;
  for (int j = 0; j < K->m; j++) {
    double sum = 0;
    for (int i = 0; i < K->m; i++) sum += fabs(K->R[i + (size_t)j * K->ld]);
    norm = fmax(norm, sum);
  }
  return norm;
}

double perp_inverse_factor(perp_inverse *K, int *ipiv, double *work, int lwork)
{
  int m = K->m, ld = (int)K->ld;
  if (m == 0) return 1;
  const double norm = inverse_norm(K);
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, m, K->R, ld, ipiv) != 0) return 0;
  const int used = lwork / BLOCK < m ? lwork : BLOCK * m;
  if (LAPACKE_dgetri_work(LAPACK_COL_MAJOR, m, K->R, ld, ipiv, work, used) != 0) return 0;
  const double rcond = 1 / (norm * inverse_norm(K));
  return rcond > 0 ? rcond : 0; /* also when NaN */
}
