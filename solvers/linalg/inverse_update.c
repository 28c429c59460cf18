/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/inverse_update.h"

#include "solvers/linalg/dense.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32 }; /* columns of the inverse at a time */

void perp_inverse_apply(const perp_inverse *inverse, const double *x, double *y)
{
  for (int u = 0; u < inverse->m; u++) y[u] = 0;
  perp_gaxpy(inverse->m, inverse->m, inverse->R, inverse->ld, NULL, x, y);
}

void perp_inverse_apply_t(const perp_inverse *inverse, const double *x, double *y)
{
  perp_gdot(inverse->m, inverse->m, inverse->R, inverse->ld, NULL, x, y);
}

void perp_inverse_replace_column(perp_inverse *inverse, int u, const double *f)
{
  /* row u /= f_u;  row i -= f_i row u */
  int m = inverse->m;
  double *x = inverse->x, *row = inverse->x + inverse->cap, p = 1 / f[u];
  for (int i = 0; i < m; i++) x[i] = -f[i] * p;
  x[u] = 0;
  for (int c = 0; c < m; c++) {
    row[c] = inverse->R[u + (size_t)c * inverse->ld];
    inverse->R[u + (size_t)c * inverse->ld] = row[c] * p;
  }
  perp_rank1(m, m, x, row, inverse->R, inverse->ld);
}

void perp_inverse_replace_row(perp_inverse *inverse, int c, const double *g)
{
  /* column c /= g_c;  column j -= g_j column c */
  int m = inverse->m;
  double *col = inverse->R + (size_t)c * inverse->ld, p = 1 / g[c];
  for (int u = 0; u < m; u++) col[u] *= p;
  for (int j = 0; j < m; j++) inverse->x[j] = -g[j];
  inverse->x[c] = 0;
  perp_rank1(m, m, col, inverse->x, inverse->R, inverse->ld);
}

void perp_inverse_append(perp_inverse *inverse, const double *f, const double *g, double s)
{
  int m = inverse->m;
  double p = 1 / s, *last = inverse->R + (size_t)m * inverse->ld;
  for (int j = 0; j < m; j++) inverse->x[j] = g[j] * p;
  perp_rank1(m, m, f, inverse->x, inverse->R, inverse->ld);
  for (int j = 0; j < m; j++) inverse->R[m + (size_t)j * inverse->ld] = -inverse->x[j];
  for (int u = 0; u < m; u++) last[u] = -f[u] * p;
  last[m] = p;
  inverse->m = m + 1;
}

void perp_inverse_remove(perp_inverse *inverse, int u, int c)
{
  int m = inverse->m, last = m - 1;
  double *col = inverse->R + (size_t)c * inverse->ld, p = 1 / col[u];
  for (int j = 0; j < m; j++) inverse->x[j] = -p * inverse->R[u + (size_t)j * inverse->ld];
  inverse->x[c] = 0;
  perp_rank1(m, m, col, inverse->x, inverse->R, inverse->ld);
  if (c != last) memcpy(col, inverse->R + (size_t)last * inverse->ld, (size_t)m * sizeof *col);
  if (u != last)
    for (int j = 0; j < last; j++)
      inverse->R[u + (size_t)j * inverse->ld] = inverse->R[last + (size_t)j * inverse->ld];
  inverse->m = last;
}

/* The 1-norm of what is in R. */
static double inverse_norm(const perp_inverse *inverse)
{
  double norm = 0;
  for (int j = 0; j < inverse->m; j++) {
    double sum = 0;
    for (int i = 0; i < inverse->m; i++) sum += fabs(inverse->R[i + (size_t)j * inverse->ld]);
    norm = fmax(norm, sum);
  }
  return norm;
}

double perp_inverse_factor(perp_inverse *inverse, int *ipiv, double *work, int lwork)
{
  int m = inverse->m, ld = (int)inverse->ld;
  if (m == 0) return 1;
  const double norm = inverse_norm(inverse);
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, m, inverse->R, ld, ipiv) != 0) return 0;
  const int used = lwork / BLOCK < m ? lwork : BLOCK * m;
  if (LAPACKE_dgetri_work(LAPACK_COL_MAJOR, m, inverse->R, ld, ipiv, work, used) != 0) return 0;
  const double rcond = 1 / (norm * inverse_norm(inverse));
  return rcond > 0 ? rcond : 0; /* also when NaN */
}
