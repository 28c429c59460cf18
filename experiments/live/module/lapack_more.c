/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LAPACK of the WebAssembly module, indefinite and orthogonal factors and eigenvalues: unblocked
 * Bunch-Kaufman (LAPACK's dsytf2), Householder QR (Golub and Van Loan 2013,
 * algorithms 5.1.1, 5.4.1) and cyclic Jacobi rotations (there, algorithm 8.5.3). */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AT(i, j) A[(ptrdiff_t)(i) + (ptrdiff_t)(j)*lda]

/* ---- L D L' with 1 x 1 and 2 x 2 pivots, lower triangle ---- */

int LAPACKE_dsytrf_work(int order, char uplo, int n, double *A, int lda, int *piv, double *work,
                        int lwork)
{
  (void)order;
  (void)uplo;
  (void)work;
  (void)lwork;
  const double alpha = (1 + sqrt(17)) / 8;
  int info = 0;
  for (int k = 0, step; k < n; k += step) {
    step = 1;
    int p = k, most = k;
    const double diagonal = fabs(AT(k, k));
    double below = 0;
    if (k + 1 < n) {
      most = k + 1 + cblas_idamax(n - k - 1, &AT(k + 1, k), 1);
      below = fabs(AT(most, k));
    }
    if (!(fmax(diagonal, below) > 0)) {
      if (info == 0) info = k + 1;
      piv[k] = k + 1;
      continue;
    }
    if (diagonal < alpha * below) {
      double row = 0; /* the largest other element of that row */
      for (int j = k; j < most; j++) row = fmax(row, fabs(AT(most, j)));
      for (int i = most + 1; i < n; i++) row = fmax(row, fabs(AT(i, most)));
      if (diagonal >= alpha * below * (below / row))
        p = k;
      else if (fabs(AT(most, most)) >= alpha * row)
        p = most;
      else {
        p = most;
        step = 2;
      }
    }
    const int kk = k + step - 1;
    if (p != kk) { /* rows and columns kk and p */
      if (p + 1 < n) cblas_dswap(n - p - 1, &AT(p + 1, kk), 1, &AT(p + 1, p), 1);
      cblas_dswap(p - kk - 1, &AT(kk + 1, kk), 1, &AT(p, kk + 1), lda);
      cblas_dswap(1, &AT(kk, kk), 1, &AT(p, p), 1);
      if (step == 2) cblas_dswap(1, &AT(k + 1, k), 1, &AT(p, k), 1);
    }
    if (step == 1) {
      const double d = 1 / AT(k, k);
      for (int j = k + 1; j < n; j++) {
        const double t = d * AT(j, k);
        for (int i = j; i < n; i++) AT(i, j) -= AT(i, k) * t;
      }
      for (int i = k + 1; i < n; i++) AT(i, k) *= d;
      piv[k] = p + 1;
      continue;
    }
    if (k + 2 < n) {
      const double d21 = AT(k + 1, k), d11 = AT(k + 1, k + 1) / d21, d22 = AT(k, k) / d21;
      const double t = 1 / (d11 * d22 - 1), d = t / d21;
      for (int j = k + 2; j < n; j++) {
        const double wk = d * (d11 * AT(j, k) - AT(j, k + 1));
        const double wk1 = d * (d22 * AT(j, k + 1) - AT(j, k));
        for (int i = j; i < n; i++) AT(i, j) -= AT(i, k) * wk + AT(i, k + 1) * wk1;
        AT(j, k) = wk;
        AT(j, k + 1) = wk1;
      }
    }
    piv[k] = piv[k + 1] = -(p + 1);
  }
  return info;
}

int LAPACKE_dsytrs_work(int order, char uplo, int n, int nrhs, const double *A, int lda,
                        const int *piv, double *B, int ldb)
{
  (void)order;
  (void)uplo;
  for (int r = 0; r < nrhs; r++) {
    double *b = B + (ptrdiff_t)r * ldb;
    for (int k = 0; k < n;) {
      if (piv[k] > 0) {
        cblas_dswap(1, &b[k], 1, &b[piv[k] - 1], 1);
        for (int i = k + 1; i < n; i++) b[i] -= AT(i, k) * b[k];
        b[k] /= AT(k, k);
        k++;
        continue;
      }
      cblas_dswap(1, &b[k + 1], 1, &b[-piv[k] - 1], 1);
      for (int i = k + 2; i < n; i++) b[i] -= AT(i, k) * b[k] + AT(i, k + 1) * b[k + 1];
      const double o = AT(k + 1, k), p = AT(k, k) / o, q = AT(k + 1, k + 1) / o;
      const double det = p * q - 1, x = b[k] / o, y = b[k + 1] / o;
      b[k] = (q * x - y) / det;
      b[k + 1] = (p * y - x) / det;
      k += 2;
    }
    for (int k = n - 1; k >= 0;) {
      const int two = piv[k] < 0;
      for (int i = k + 1; i < n; i++) {
        b[k] -= AT(i, k) * b[i];
        if (two) b[k - 1] -= AT(i, k - 1) * b[i];
      }
      cblas_dswap(1, &b[k], 1, &b[(two ? -piv[k] : piv[k]) - 1], 1);
      k -= 1 + two;
    }
  }
  return 0;
}

/* ---- reflectors ---- */

/* H = I - tau (1, x)(1, x)' with H (alpha, x) = (beta, 0): beta into *alpha; tau. */
static double reflector(int n, double *alpha, double *x, int incx)
{
  double norm = 0;
  for (ptrdiff_t i = 0; i < n; i++) norm = hypot(norm, x[i * incx]);
  if (norm == 0) return 0;
  const double beta = -copysign(hypot(*alpha, norm), *alpha), tau = (beta - *alpha) / beta;
  for (ptrdiff_t i = 0; i < n; i++) x[i * incx] /= *alpha - beta;
  *alpha = beta;
  return tau;
}

static void reflect(int n, double tau, const double *x, int incx, double *head, double *tail,
                    int inct)
{
  const double s = tau * (*head + cblas_ddot(n, x, incx, tail, inct));
  *head -= s;
  cblas_daxpy(n, -s, x, incx, tail, inct);
}

int LAPACKE_dgeqrf_work(int order, int m, int n, double *A, int lda, double *tau, double *work,
                        int lwork)
{
  (void)order;
  (void)work;
  (void)lwork;
  for (int j = 0; j < m && j < n; j++) {
    double *below = j + 1 < m ? &AT(j + 1, j) : &AT(j, j);
    tau[j] = reflector(m - j - 1, &AT(j, j), below, 1);
    for (int c = j + 1; c < n; c++)
      reflect(m - j - 1, tau[j], below, 1, &AT(j, c), &AT(j, c) + 1, 1);
  }
  return 0;
}

/* The column with the largest remainder next; remainders are computed anew, not updated.  All
 * columns are free (piv is zero on entry). */
int LAPACKE_dgeqp3_work(int order, int m, int n, double *A, int lda, int *piv, double *tau,
                        double *work, int lwork)
{
  (void)order;
  (void)work;
  (void)lwork;
  for (int j = 0; j < n; j++) piv[j] = j + 1;
  for (int j = 0; j < m && j < n; j++) {
    int p = j;
    double most = -1;
    for (int c = j; c < n; c++) {
      double norm = 0;
      for (int i = j; i < m; i++) norm = hypot(norm, AT(i, c));
      if (norm > most) {
        most = norm;
        p = c;
      }
    }
    if (p != j) {
      cblas_dswap(m, &AT(0, j), 1, &AT(0, p), 1);
      const int keep = piv[j];
      piv[j] = piv[p];
      piv[p] = keep;
    }
    double *below = j + 1 < m ? &AT(j + 1, j) : &AT(j, j);
    tau[j] = reflector(m - j - 1, &AT(j, j), below, 1);
    for (int c = j + 1; c < n; c++)
      reflect(m - j - 1, tau[j], below, 1, &AT(j, c), &AT(j, c) + 1, 1);
  }
  return 0;
}

int LAPACKE_dormqr_work(int order, char side, char trans, int m, int n, int k, const double *A,
                        int lda, const double *tau, double *C, int ldc, double *work, int lwork)
{
  (void)order;
  (void)side;
  (void)work;
  (void)lwork;
  for (int c = 0; c < n; c++)
    for (int s = 0; s < k; s++) {
      const int j = trans == 'T' ? s : k - 1 - s;
      double *x = C + (ptrdiff_t)c * ldc + j;
      reflect(m - j - 1, tau[j], &AT(j, j) + 1, 1, x, x + 1, 1);
    }
  return 0;
}

/* (R T) = (R' 0) Z from below: row i is turned with the l = n - m last columns. */
int LAPACKE_dtzrzf_work(int order, int m, int n, double *A, int lda, double *tau, double *work,
                        int lwork)
{
  (void)order;
  (void)work;
  (void)lwork;
  for (int i = m - 1; i >= 0; i--) {
    if (m == n) {
      tau[i] = 0;
      continue;
    }
    tau[i] = reflector(n - m, &AT(i, i), &AT(i, m), lda);
    for (int r = 0; r < i; r++) reflect(n - m, tau[i], &AT(i, m), lda, &AT(r, i), &AT(r, m), lda);
  }
  return 0;
}

int LAPACKE_dormrz_work(int order, char side, char trans, int m, int n, int k, int l,
                        const double *A, int lda, const double *tau, double *C, int ldc,
                        double *work, int lwork)
{
  (void)order;
  (void)side;
  (void)work;
  (void)lwork;
  for (int c = 0; c < n; c++)
    for (int s = 0; s < k; s++) {
      const int i = trans == 'T' ? s : k - 1 - s;
      double *x = C + (ptrdiff_t)c * ldc;
      reflect(l, tau[i], &AT(i, m - l), lda, x + i, x + (m - l), 1);
    }
  return 0;
}

int LAPACKE_dtrtrs_work(int order, char uplo, char trans, char diag, int n, int nrhs,
                        const double *A, int lda, double *B, int ldb)
{
  for (int i = 0; i < n && diag == 'N'; i++)
    if (AT(i, i) == 0) return i + 1;
  for (int r = 0; r < nrhs; r++)
    cblas_dtrsv(order, uplo == 'L' ? CblasLower : CblasUpper,
                trans == 'N' ? CblasNoTrans : CblasTrans, diag == 'N' ? CblasNonUnit : CblasUnit, n,
                A, lda, B + (ptrdiff_t)r * ldb, 1);
  return 0;
}

/* Least squares, or the shortest solution where m < n: by QR of A or of A'. */
int LAPACKE_dgels_work(int order, char trans, int m, int n, int nrhs, double *A, int lda, double *B,
                       int ldb, double *work, int lwork)
{
  (void)trans;
  const int tall = m >= n, k = tall ? n : m, rows = tall ? m : n;
  double *tau = calloc((size_t)k + 1, sizeof *tau), *Q = A;
  int info = 0, ld = lda;
  if (tau == NULL) return -1010; /* LAPACK_WORK_MEMORY_ERROR */
  if (!tall) {
    ld = n > 0 ? n : 1;
    Q = calloc((size_t)ld * (size_t)m + 1, sizeof *Q);
    if (Q == NULL) {
      free(tau);
      return -1010;
    }
    for (int j = 0; j < n; j++)
      for (int i = 0; i < m; i++) Q[j + (ptrdiff_t)i * ld] = AT(i, j);
  }
  LAPACKE_dgeqrf_work(order, rows, k, Q, ld, tau, work, lwork);
  if (tall) {
    LAPACKE_dormqr_work(order, 'L', 'T', m, nrhs, k, Q, ld, tau, B, ldb, work, lwork);
    info = LAPACKE_dtrtrs_work(order, 'U', 'N', 'N', k, nrhs, Q, ld, B, ldb);
  } else {
    info = LAPACKE_dtrtrs_work(order, 'U', 'T', 'N', k, nrhs, Q, ld, B, ldb);
    for (int r = 0; r < nrhs; r++)
      for (int i = m; i < n; i++) B[i + (ptrdiff_t)r * ldb] = 0;
    LAPACKE_dormqr_work(order, 'L', 'N', n, nrhs, k, Q, ld, tau, B, ldb, work, lwork);
    free(Q);
  }
  free(tau);
  return info;
}

/* ---- eigenvalues of symmetric matrices ---- */

/* One rotation that makes a_pq zero; A is full. */
static void rotate(int n, double *A, int lda, double *V, int p, int q)
{
  if (AT(p, q) == 0) return;
  const double theta = (AT(q, q) - AT(p, p)) / (2 * AT(p, q));
  const double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
  const double c = 1 / hypot(t, 1), s = t * c;
  for (int i = 0; i < n; i++) {
    const double x = AT(i, p), y = AT(i, q);
    AT(i, p) = c * x - s * y;
    AT(i, q) = s * x + c * y;
    const double u = V[i + (ptrdiff_t)p * n], v = V[i + (ptrdiff_t)q * n];
    V[i + (ptrdiff_t)p * n] = c * u - s * v;
    V[i + (ptrdiff_t)q * n] = s * u + c * v;
  }
  for (int i = 0; i < n; i++) {
    const double x = AT(p, i), y = AT(q, i);
    AT(p, i) = c * x - s * y;
    AT(q, i) = s * x + c * y;
  }
  AT(p, q) = AT(q, p) = 0;
}

int LAPACKE_dsyev_work(int order, char jobz, char uplo, int n, double *A, int lda, double *w,
                       double *work, int lwork)
{
  (void)order;
  (void)work;
  (void)lwork;
  double *V = calloc((size_t)n * (size_t)n + 1, sizeof *V);
  if (V == NULL) return -1010;
  double all = 0;
  for (int j = 0; j < n; j++) {
    V[j + (ptrdiff_t)j * n] = 1;
    for (int i = 0; i < j; i++)
      if (uplo == 'U')
        AT(j, i) = AT(i, j);
      else
        AT(i, j) = AT(j, i);
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) all = hypot(all, AT(i, j));
  int info = n;
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < j; i++) off = hypot(off, AT(i, j));
    if (off <= 1e-17 * all) { /* also where all are zero */
      info = 0;
      break;
    }
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) rotate(n, A, lda, V, p, q);
  }
  for (int j = 0; j < n; j++) w[j] = AT(j, j);
  for (int j = 0; j < n; j++) { /* ascending */
    int least = j;
    for (int i = j + 1; i < n; i++)
      if (w[i] < w[least]) least = i;
    cblas_dswap(1, &w[j], 1, &w[least], 1);
    if (least != j) cblas_dswap(n, V + (ptrdiff_t)j * n, 1, V + (ptrdiff_t)least * n, 1);
  }
  if (jobz == 'V')
    for (int j = 0; j < n; j++) memcpy(&AT(0, j), V + (ptrdiff_t)j * n, (size_t)n * sizeof *V);
  free(V);
  return info;
}

int LAPACKE_dsyevd_work(int order, char jobz, char uplo, int n, double *A, int lda, double *w,
                        double *work, int lwork, int *iwork, int liwork)
{
  (void)iwork;
  (void)liwork;
  return LAPACKE_dsyev_work(order, jobz, uplo, n, A, lda, w, work, lwork);
}

int LAPACKE_dstev_work(int order, char jobz, int n, double *d, double *e, double *Z, int ldz,
                       double *work)
{
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) Z[i + (ptrdiff_t)j * ldz] = 0;
    Z[j + (ptrdiff_t)j * ldz] = d[j];
    if (j + 1 < n) Z[j + 1 + (ptrdiff_t)j * ldz] = e[j];
  }
  return LAPACKE_dsyev_work(order, jobz, 'L', n, Z, ldz, d, work, 0);
}
