/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The BLAS of the WebAssembly module: loops as the definitions have them, column-major.  Sums run
 * in the order of the indices, so that they differ from those of OpenBLAS in their last bits. */
#include <cblas.h>
#include <math.h>
#include <stddef.h>

void cblas_dswap(int n, double *x, int incx, double *y, int incy)
{
  for (ptrdiff_t i = 0; i < n; i++) {
    const double keep = x[i * incx];
    x[i * incx] = y[i * incy];
    y[i * incy] = keep;
  }
}

void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy)
{
  for (ptrdiff_t i = 0; i < n; i++) y[i * incy] += alpha * x[i * incx];
}

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
  double sum = 0;
  for (ptrdiff_t i = 0; i < n; i++) sum += x[i * incx] * y[i * incy];
  return sum;
}

int cblas_idamax(int n, const double *x, int incx)
{
  int best = 0;
  for (ptrdiff_t i = 1; i < n; i++)
    if (fabs(x[i * incx]) > fabs(x[(ptrdiff_t)best * incx])) best = (int)i;
  return best;
}

static void blas_scale(int n, double beta, double *y, int incy)
{
  for (ptrdiff_t i = 0; i < n; i++) y[i * incy] = beta == 0 ? 0 : beta * y[i * incy];
}

void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double *A, int lda,
                 const double *x, int incx, double beta, double *y, int incy)
{
  (void)order;
  const int plain = trans == CblasNoTrans;
  blas_scale(plain ? m : n, beta, y, incy);
  for (ptrdiff_t j = 0; j < n; j++)
    if (plain)
      cblas_daxpy(m, alpha * x[j * incx], A + j * lda, 1, y, incy);
    else
      y[j * incy] += alpha * cblas_ddot(m, A + j * lda, 1, x, incx);
}

void cblas_dsymv(int order, int uplo, int n, double alpha, const double *A, int lda,
                 const double *x, int incx, double beta, double *y, int incy)
{
  (void)order;
  blas_scale(n, beta, y, incy);
  for (ptrdiff_t j = 0; j < n; j++)
    for (ptrdiff_t i = 0; i < n; i++) {
      const int stored = uplo == CblasLower ? i >= j : i <= j;
      y[i * incy] += alpha * (stored ? A[i + j * lda] : A[j + i * lda]) * x[j * incx];
    }
}

void cblas_dtrsv(int order, int uplo, int trans, int diag, int n, const double *A, int lda,
                 double *x, int incx)
{
  (void)order;
  const int lower = uplo == CblasLower, plain = trans == CblasNoTrans, forward = lower == plain;
  for (ptrdiff_t k = 0; k < n; k++) {
    const ptrdiff_t j = forward ? k : n - 1 - k, from = lower ? j + 1 : 0, to = lower ? n : j;
    if (plain) {
      if (diag == CblasNonUnit) x[j * incx] /= A[j + j * lda];
      for (ptrdiff_t i = from; i < to; i++) x[i * incx] -= x[j * incx] * A[i + j * lda];
    } else {
      for (ptrdiff_t i = from; i < to; i++) x[j * incx] -= x[i * incx] * A[i + j * lda];
      if (diag == CblasNonUnit) x[j * incx] /= A[j + j * lda];
    }
  }
}

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                 const double *A, int lda, const double *B, int ldb, double beta, double *C,
                 int ldc)
{
  (void)order;
  for (ptrdiff_t j = 0; j < n; j++) {
    double *c = C + j * ldc;
    blas_scale(m, beta, c, 1);
    for (ptrdiff_t l = 0; l < k; l++) {
      const double t = alpha * (transb == CblasNoTrans ? B[l + j * ldb] : B[j + l * ldb]);
      for (ptrdiff_t i = 0; i < m; i++)
        c[i] += t * (transa == CblasNoTrans ? A[i + l * lda] : A[l + i * lda]);
    }
  }
}

void cblas_dsyrk(int order, int uplo, int trans, int n, int k, double alpha, const double *A,
                 int lda, double beta, double *C, int ldc)
{
  (void)order;
  for (ptrdiff_t j = 0; j < n; j++) {
    const ptrdiff_t from = uplo == CblasLower ? j : 0, to = uplo == CblasLower ? n : j + 1;
    blas_scale((int)(to - from), beta, C + from + j * ldc, 1);
    for (ptrdiff_t l = 0; l < k; l++)
      for (ptrdiff_t i = from; i < to; i++)
        C[i + j * ldc] += trans == CblasNoTrans ? alpha * A[i + l * lda] * A[j + l * lda]
                                                : alpha * A[l + i * lda] * A[l + j * lda];
  }
}

/* The rows of B from the right: X op(A) = alpha B is op(A)' X' = alpha B'. */
void cblas_dtrsm(int order, int side, int uplo, int trans, int diag, int m, int n, double alpha,
                 const double *A, int lda, double *B, int ldb)
{
  const int turned = trans == CblasNoTrans ? CblasTrans : CblasNoTrans;
  for (ptrdiff_t j = 0; j < n; j++) blas_scale(m, alpha, B + j * ldb, 1);
  if (side == CblasLeft)
    for (ptrdiff_t j = 0; j < n; j++)
      cblas_dtrsv(order, uplo, trans, diag, m, A, lda, B + j * ldb, 1);
  else
    for (ptrdiff_t i = 0; i < m; i++) cblas_dtrsv(order, uplo, turned, diag, n, A, lda, B + i, ldb);
}
