/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/ldl_update.h"

#include "solvers/linalg/dense.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* below these sizes a plain loop beats a call of BLAS or LAPACK */
enum { SMALL = 48, UNBLOCKED = 24 };
/* with a pivot below DOUBTFUL, rounding may hide a dependence from a factorization in the given
 * order; diagonal pivoting decides */
static const double DOUBTFUL = 1e-7;

void perp_ldl_forward(const perp_ldl *ldl, double *x)
{
  int k = ldl->k;
  if (k > SMALL) {
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, k, ldl->L, (int)ldl->ld, x, 1);
    return;
  }
  for (int j = 0; j + 1 < k; j++) {
    const double *l = ldl->L + (size_t)j * ldl->ld;
    double xj = x[j];
    for (int i = j + 1; i < k; i++) x[i] -= xj * l[i];
  }
}

void perp_ldl_backward(const perp_ldl *ldl, double *x)
{
  int k = ldl->k;
  if (k > SMALL) {
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasUnit, k, ldl->L, (int)ldl->ld, x, 1);
    return;
  }
  for (int j = k - 2; j >= 0; j--) {
    const double *l = ldl->L + (size_t)j * ldl->ld;
    double s0 = 0, s1 = 0;
    int i = j + 1;
    for (; i + 1 < k; i += 2) {
      s0 += l[i] * x[i];
      s1 += l[i + 1] * x[i + 1];
    }
    if (i < k) s0 += l[i] * x[i];
    x[j] -= s0 + s1;
  }
}

void perp_ldl_solve(const perp_ldl *ldl, double *x)
{
  perp_ldl_forward(ldl, x);
  for (int i = 0; i < ldl->k; i++) x[i] /= ldl->d[i];
  perp_ldl_backward(ldl, x);
}

void perp_ldl_append(perp_ldl *ldl, const double *ell, double s)
{
  int k = ldl->k;
  for (int j = 0; j < k; j++) ldl->L[k + (size_t)j * ldl->ld] = ell[j] / ldl->d[j];
  ldl->d[k] = s;
  ldl->k = k + 1;
}

void perp_ldl_remove(perp_ldl *ldl, int j)
{
  int k = ldl->k;
  double alpha = ldl->d[j], *w = ldl->x;
  memcpy(w + j + 1, ldl->L + (size_t)j * ldl->ld + j + 1, (size_t)(k - j - 1) * sizeof *w);
  /* L33 D3 L33' += alpha w w', written one row up and one column to the left */
  for (int c = j + 1; c < k; c++) {
    const double *l = ldl->L + (size_t)c * ldl->ld;
    double *out = ldl->L + (size_t)(c - 1) * ldl->ld - 1;
    double p = w[c], d = ldl->d[c] + alpha * p * p, beta = p * alpha / d;
    alpha *= ldl->d[c] / d;
    ldl->d[c - 1] = d;
    for (int i = c + 1; i < k; i++) {
      double v = w[i] - p * l[i];
      w[i] = v;
      out[i] = l[i] + beta * v;
    }
  }
  /* the rows below j of the columns before it move up */
  for (int c = 0; c < j; c++) {
    double *l = ldl->L + (size_t)c * ldl->ld;
    memmove(l + j, l + j + 1, (size_t)(k - j - 1) * sizeof *l);
  }
  ldl->k = k - 1;
}

/* lower triangle of D^-1 A[rows, rows] D^-1 with D^2 = diag(A) in scale */
static void ldl_update_gather(perp_ldl *ldl, const double *A, size_t lda, const int *rows, int k,
                              const double *scale, double shift)
{
  for (int j = 0; j < k; j++) {
    const double *col = A + (size_t)rows[j] * lda;
    double *out = ldl->L + (size_t)j * ldl->ld, sj = scale[j];
    for (int i = j; i < k; i++) out[i] = col[rows[i]] * (sj * scale[i]);
    out[j] += shift;
  }
}

static void ldl_update_swap(int n, double *x, size_t x_step, double *y, size_t y_step)
{
  for (; n > 0; n--, x += x_step, y += y_step) {
    double old = *x;
    *x = *y;
    *y = old;
  }
}

/* Cholesky with diagonal pivoting for small k, by columns (the trailing part is not updated, its
 * diagonal is, in d); rows are permuted with the factor.  Returns the rank. */
static int ldl_update_small_cholesky(perp_ldl *ldl, int *rows, int k, double tol)
{
  double *d = ldl->d;
  size_t ld = ldl->ld;
  for (int j = 0; j < k; j++) d[j] = ldl->L[j + (size_t)j * ld];
  for (int j = 0; j < k; j++) {
    int p = j;
    for (int i = j + 1; i < k; i++)
      if (d[i] > d[p]) p = i;
    if (!(d[p] > tol)) return j;
    if (p != j) {
      int row = rows[j];
      rows[j] = rows[p];
      rows[p] = row;
      d[p] = d[j];
      /* symmetric exchange of j and p in the lower triangle */
      double *lj = ldl->L + (size_t)j * ld, *lp = ldl->L + (size_t)p * ld;
      ldl_update_swap(j, ldl->L + j, ld, ldl->L + p, ld);
      ldl_update_swap(p - j - 1, lj + j + 1, 1, lj + ld + p, ld);
      ldl_update_swap(k - p - 1, lj + p + 1, 1, lp + p + 1, 1);
      ldl_update_swap(1, lj + j, 1, lp + p, 1);
    }
    double *lj = ldl->L + (size_t)j * ld, sum = lj[j];
    for (int c = 0; c < j; c++) {
      const double *lc = ldl->L + (size_t)c * ld;
      double x = lc[j];
      sum -= x * x;
      for (int i = j + 1; i < k; i++) lj[i] -= x * lc[i];
    }
    if (!(sum > tol)) return j;
    double root = sqrt(sum), inv = 1 / root;
    lj[j] = root;
    for (int i = j + 1; i < k; i++) {
      lj[i] *= inv;
      d[i] -= lj[i] * lj[i];
    }
  }
  return k;
}

static bool ldl_update_regular(const perp_ldl *ldl, int k, double tol)
{
  for (int j = 0; j < k; j++) {
    double g = ldl->L[(size_t)j * (ldl->ld + 1)];
    if (!(g * g > tol)) return false;
  }
  return true;
}

int perp_ldl_factor(perp_ldl *ldl, const double *A, size_t lda, int *rows, int k, double depend,
                    double shift)
{
  double *scale = ldl->x, *work = ldl->x; /* scale is used up before work is needed */
  int zeros = 0;
  ldl->k = 0;
  /* rows with a zero diagonal go to the end at once */
  for (int i = 0; i < k - zeros;) {
    double a = A[(size_t)rows[i] * (lda + 1)];
    if (a < 0 || isnan(a)) return -1;
    if (a == 0) {
      int last = rows[k - 1 - zeros];
      rows[k - 1 - zeros++] = rows[i];
      rows[i] = last;
    } else
      i++;
  }
  k -= zeros;
  for (int i = 0; i < k; i++) scale[i] = 1 / sqrt(A[(size_t)rows[i] * (lda + 1)]);
  ldl_update_gather(ldl, A, lda, rows, k, scale, shift);
  int rank = k;
  if (k <= UNBLOCKED)
    rank = ldl_update_small_cholesky(ldl, rows, k, depend);
  else if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, ldl->L, (int)ldl->ld) != 0 ||
           !ldl_update_regular(ldl, k, depend > DOUBTFUL ? depend : DOUBTFUL)) {
    for (int i = 0; i < k; i++) scale[i] = 1 / sqrt(A[(size_t)rows[i] * (lda + 1)]);
    ldl_update_gather(ldl, A, lda, rows, k, scale, shift);
    if (LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', k, ldl->L, (int)ldl->ld, ldl->order, &rank,
                            depend, work) < 0)
      return -1;
    for (int i = 0; i < k; i++) ldl->order[i] = rows[ldl->order[i] - 1];
    memcpy(rows, ldl->order, (size_t)k * sizeof *rows);
  }
  /* undo the scaling, make the diagonal one */
  for (int i = 0; i < rank; i++) scale[i] = sqrt(A[(size_t)rows[i] * (lda + 1)]);
  for (int j = 0; j < rank; j++) {
    double *l = ldl->L + (size_t)j * ldl->ld, g = l[j] * scale[j];
    ldl->d[j] = g * g;
    for (int i = j + 1; i < rank; i++) l[i] *= scale[i] / g;
  }
  ldl->k = rank;
  return rank;
}
