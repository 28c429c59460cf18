/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LAPACK of the WebAssembly module, factors of definite, general and band matrices: unblocked
 * forms (Golub and Van Loan 2013, algorithms 3.4.1, 4.2.1, 4.3.1, 4.3.5), pivots by the same rules
 * as LAPACK's.  Interface: lapacke.h beside this file's folder shim. */
#include <cblas.h>
#include <complex.h>
#include <lapacke.h>
#include <math.h>
#include <stddef.h>

#define AT(i, j) A[(ptrdiff_t)(i) + (ptrdiff_t)(j)*lda]

/* ---- Cholesky ---- */

int LAPACKE_dpotrf_work(int order, char uplo, int n, double *A, int lda)
{
  (void)order;
  for (int j = 0; j < n; j++) {
    if (uplo == 'L') {
      double d = AT(j, j);
      for (int k = 0; k < j; k++) d -= AT(j, k) * AT(j, k);
      AT(j, j) = d;
      if (!(d > 0)) return j + 1;
      AT(j, j) = d = sqrt(d);
      for (int k = 0; k < j; k++)
        for (int i = j + 1; i < n; i++) AT(i, j) -= AT(j, k) * AT(i, k);
      for (int i = j + 1; i < n; i++) AT(i, j) /= d;
    } else {
      for (int i = 0; i < j; i++) {
        double s = AT(i, j);
        for (int k = 0; k < i; k++) s -= AT(k, i) * AT(k, j);
        AT(i, j) = s / AT(i, i);
      }
      double d = AT(j, j);
      for (int k = 0; k < j; k++) d -= AT(k, j) * AT(k, j);
      AT(j, j) = d;
      if (!(d > 0)) return j + 1;
      AT(j, j) = sqrt(d);
    }
  }
  return 0;
}

int LAPACKE_dpotrs_work(int order, char uplo, int n, int nrhs, const double *A, int lda, double *B,
                        int ldb)
{
  const int lower = uplo == 'L', half = lower ? CblasLower : CblasUpper;
  for (int r = 0; r < nrhs; r++) {
    double *b = B + (ptrdiff_t)r * ldb;
    cblas_dtrsv(order, half, lower ? CblasNoTrans : CblasTrans, CblasNonUnit, n, A, lda, b, 1);
    cblas_dtrsv(order, half, lower ? CblasTrans : CblasNoTrans, CblasNonUnit, n, A, lda, b, 1);
  }
  return 0;
}

/* With the largest remaining diagonal element as pivot (Higham 2002, section 10.3); the lower
 * triangle. */
int LAPACKE_dpstrf_work(int order, char uplo, int n, double *A, int lda, int *piv, int *rank,
                        double tol, double *work)
{
  (void)order;
  (void)uplo;
  double most = 0;
  for (int i = 0; i < n; i++) {
    piv[i] = i + 1;
    work[i] = 0;
    if (isnan(AT(i, i))) {
      *rank = 0;
      return 1;
    }
    if (AT(i, i) > most) most = AT(i, i);
  }
  *rank = 0;
  if (n > 0 && most <= 0) return 1;
  const double stop = tol < 0 ? n * (0x1p-53) * most : tol;
  for (int j = 0; j < n; j++) {
    int p = j;
    double best = 0;
    for (int i = j; i < n; i++) {
      if (j > 0) work[i] += AT(i, j - 1) * AT(i, j - 1);
      work[n + i] = AT(i, i) - work[i];
      if (i == j || work[n + i] > best) {
        p = i;
        best = work[n + i];
      }
    }
    if (j > 0 && (best <= stop || isnan(best))) {
      AT(j, j) = best;
      *rank = j;
      return 1;
    }
    if (p != j) {
      AT(p, p) = AT(j, j);
      cblas_dswap(j, &AT(j, 0), lda, &AT(p, 0), lda);
      if (p + 1 < n) cblas_dswap(n - p - 1, &AT(p + 1, j), 1, &AT(p + 1, p), 1);
      cblas_dswap(p - j - 1, &AT(j + 1, j), 1, &AT(p, j + 1), lda);
      cblas_dswap(1, &work[j], 1, &work[p], 1);
      const int keep = piv[p];
      piv[p] = piv[j];
      piv[j] = keep;
    }
    const double d = AT(j, j) = sqrt(best);
    for (int k = 0; k < j; k++)
      for (int i = j + 1; i < n; i++) AT(i, j) -= AT(j, k) * AT(i, k);
    for (int i = j + 1; i < n; i++) AT(i, j) /= d;
  }
  *rank = n;
  return 0;
}

/* The upper triangle, kd diagonals above the main one: a_ij in row kd + i - j. */
int LAPACKE_dpbtrf_work(int order, char uplo, int n, int kd, double *A, int lda)
{
  (void)order;
  (void)uplo;
  for (int j = 0; j < n; j++)
    for (int i = j > kd ? j - kd : 0; i <= j; i++) {
      double s = AT(kd + i - j, j);
      for (int k = j > kd ? j - kd : 0; k < i; k++)
        if (k >= i - kd) s -= AT(kd + k - i, i) * AT(kd + k - j, j);
      if (i < j)
        AT(kd + i - j, j) = s / AT(kd, i);
      else {
        AT(kd, j) = s;
        if (!(s > 0)) return j + 1;
        AT(kd, j) = sqrt(s);
      }
    }
  return 0;
}

int LAPACKE_dpbtrs_work(int order, char uplo, int n, int kd, int nrhs, const double *A, int lda,
                        double *B, int ldb)
{
  (void)order;
  (void)uplo;
  for (int r = 0; r < nrhs; r++) {
    double *b = B + (ptrdiff_t)r * ldb;
    for (int j = 0; j < n; j++) {
      for (int k = j > kd ? j - kd : 0; k < j; k++) b[j] -= AT(kd + k - j, j) * b[k];
      b[j] /= AT(kd, j);
    }
    for (int j = n - 1; j >= 0; j--) {
      b[j] /= AT(kd, j);
      for (int k = j > kd ? j - kd : 0; k < j; k++) b[k] -= AT(kd + k - j, j) * b[j];
    }
  }
  return 0;
}

/* ---- LU with partial pivoting ---- */

int LAPACKE_dgetrf_work(int order, int m, int n, double *A, int lda, int *piv)
{
  (void)order;
  int info = 0;
  for (int j = 0; j < m && j < n; j++) {
    const int p = j + cblas_idamax(m - j, &AT(j, j), 1);
    piv[j] = p + 1;
    if (AT(p, j) == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (p != j) cblas_dswap(n, &AT(j, 0), lda, &AT(p, 0), lda);
    for (int i = j + 1; i < m; i++) AT(i, j) /= AT(j, j);
    for (int c = j + 1; c < n; c++) {
      const double t = AT(j, c);
      for (int i = j + 1; i < m; i++) AT(i, c) -= AT(i, j) * t;
    }
  }
  return info;
}

int LAPACKE_dgetrs_work(int order, char trans, int n, int nrhs, const double *A, int lda,
                        const int *piv, double *B, int ldb)
{
  (void)trans;
  for (int r = 0; r < nrhs; r++) {
    double *b = B + (ptrdiff_t)r * ldb;
    for (int i = 0; i < n; i++) cblas_dswap(1, &b[i], 1, &b[piv[i] - 1], 1);
    cblas_dtrsv(order, CblasLower, CblasNoTrans, CblasUnit, n, A, lda, b, 1);
    cblas_dtrsv(order, CblasUpper, CblasNoTrans, CblasNonUnit, n, A, lda, b, 1);
  }
  return 0;
}

int LAPACKE_dgesv_work(int order, int n, int nrhs, double *A, int lda, int *piv, double *B, int ldb)
{
  const int info = LAPACKE_dgetrf_work(order, n, n, A, lda, piv);
  if (info == 0) LAPACKE_dgetrs_work(order, 'N', n, nrhs, A, lda, piv, B, ldb);
  return info;
}

/* U^-1 first, then the columns of L from the right (LAPACK's dgetri without blocks). */
int LAPACKE_dgetri_work(int order, int n, double *A, int lda, const int *piv, double *work,
                        int lwork)
{
  (void)order;
  (void)lwork;
  for (int j = 0; j < n; j++)
    if (AT(j, j) == 0) return j + 1;
  for (int j = 0; j < n; j++) {
    AT(j, j) = 1 / AT(j, j);
    for (int i = 0; i < j; i++) { /* column j of U^-1 above the diagonal */
      double s = 0;
      for (int k = i; k < j; k++) s += AT(i, k) * AT(k, j);
      work[i] = -s * AT(j, j);
    }
    for (int i = 0; i < j; i++) AT(i, j) = work[i];
  }
  for (int j = n - 1; j >= 0; j--) {
    for (int i = j + 1; i < n; i++) {
      work[i] = AT(i, j);
      AT(i, j) = 0;
    }
    for (int k = j + 1; k < n; k++)
      for (int i = 0; i < n; i++) AT(i, j) -= AT(i, k) * work[k];
  }
  for (int j = n - 1; j >= 0; j--)
    if (piv[j] - 1 != j) cblas_dswap(n, &AT(0, j), 1, &AT(0, piv[j] - 1), 1);
  return 0;
}

/* The norm of the inverse itself, column by column (LAPACK estimates it); of rows are those of no
 * pivoting, which change no sum over a column. */
int LAPACKE_dgecon_work(int order, char norm, int n, const double *A, int lda, double anorm,
                        double *rcond, double *work, int *iwork)
{
  (void)norm;
  (void)iwork;
  double most = 0;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) work[i] = i == j;
    cblas_dtrsv(order, CblasLower, CblasNoTrans, CblasUnit, n, A, lda, work, 1);
    cblas_dtrsv(order, CblasUpper, CblasNoTrans, CblasNonUnit, n, A, lda, work, 1);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(work[i]);
    if (!(sum <= most)) most = sum;
  }
  *rcond = most > 0 && anorm > 0 ? 1 / (anorm * most) : 0;
  return 0;
}

/* ---- bands: a_ij in row kl + ku + i - j ---- */

int LAPACKE_dgbtrf_work(int order, int m, int n, int kl, int ku, double *A, int lda, int *piv)
{
  (void)order;
  const int v = kl + ku;
  int info = 0;
  for (int j = 0; j < n; j++) /* room for rows that are exchanged */
    for (int i = 0; i < kl; i++) AT(i, j) = 0;
  for (int j = 0; j < n && j < m; j++) {
    const int below = kl < m - 1 - j ? kl : m - 1 - j;
    const int right = v < n - 1 - j ? v : n - 1 - j, p = cblas_idamax(below + 1, &AT(v, j), 1);
    piv[j] = j + p + 1;
    if (AT(v + p, j) == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int c = 0; c <= right && p > 0; c++)
      cblas_dswap(1, &AT(v - c, j + c), 1, &AT(v + p - c, j + c), 1);
    for (int i = 1; i <= below; i++) AT(v + i, j) /= AT(v, j);
    for (int c = 1; c <= right; c++) {
      const double t = AT(v - c, j + c);
      for (int i = 1; i <= below; i++) AT(v + i - c, j + c) -= AT(v + i, j) * t;
    }
  }
  return info;
}

int LAPACKE_dgbtrs_work(int order, char trans, int n, int kl, int ku, int nrhs, const double *A,
                        int lda, const int *piv, double *B, int ldb)
{
  (void)order;
  (void)trans;
  const int v = kl + ku;
  for (int r = 0; r < nrhs; r++) {
    double *b = B + (ptrdiff_t)r * ldb;
    for (int j = 0; j < n; j++) {
      const int below = kl < n - 1 - j ? kl : n - 1 - j;
      if (piv[j] - 1 != j) cblas_dswap(1, &b[j], 1, &b[piv[j] - 1], 1);
      for (int i = 1; i <= below; i++) b[j + i] -= AT(v + i, j) * b[j];
    }
    for (int j = n - 1; j >= 0; j--) {
      b[j] /= AT(v, j);
      for (int i = j > v ? j - v : 0; i < j; i++) b[i] -= AT(v + i - j, j) * b[j];
    }
  }
  return 0;
}

static double lapack_size1(double _Complex z)
{
  return fabs(creal(z)) + fabs(cimag(z));
}

int LAPACKE_zgbtrf_work(int order, int m, int n, int kl, int ku, double _Complex *A, int lda,
                        int *piv)
{
  (void)order;
  const int v = kl + ku;
  int info = 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < kl; i++) AT(i, j) = 0;
  for (int j = 0; j < n && j < m; j++) {
    const int below = kl < m - 1 - j ? kl : m - 1 - j, right = v < n - 1 - j ? v : n - 1 - j;
    int p = 0;
    for (int i = 1; i <= below; i++)
      if (lapack_size1(AT(v + i, j)) > lapack_size1(AT(v + p, j))) p = i;
    piv[j] = j + p + 1;
    if (AT(v + p, j) == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int c = 0; c <= right && p > 0; c++) {
      const double _Complex keep = AT(v - c, j + c);
      AT(v - c, j + c) = AT(v + p - c, j + c);
      AT(v + p - c, j + c) = keep;
    }
    for (int i = 1; i <= below; i++) AT(v + i, j) /= AT(v, j);
    for (int c = 1; c <= right; c++) {
      const double _Complex t = AT(v - c, j + c);
      for (int i = 1; i <= below; i++) AT(v + i - c, j + c) -= AT(v + i, j) * t;
    }
  }
  return info;
}

int LAPACKE_zgbtrs_work(int order, char trans, int n, int kl, int ku, int nrhs,
                        const double _Complex *A, int lda, const int *piv, double _Complex *B,
                        int ldb)
{
  (void)order;
  (void)trans;
  const int v = kl + ku;
  for (int r = 0; r < nrhs; r++) {
    double _Complex *b = B + (ptrdiff_t)r * ldb;
    for (int j = 0; j < n; j++) {
      const int below = kl < n - 1 - j ? kl : n - 1 - j, p = piv[j] - 1;
      const double _Complex keep = b[j];
      b[j] = b[p];
      b[p] = keep;
      for (int i = 1; i <= below; i++) b[j + i] -= AT(v + i, j) * b[j];
    }
    for (int j = n - 1; j >= 0; j--) {
      b[j] /= AT(v, j);
      for (int i = j > v ? j - v : 0; i < j; i++) b[i] -= AT(v + i - j, j) * b[j];
    }
  }
  return 0;
}
