/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The routines of the BLAS that perp calls, for the WebAssembly module (blas_small.c): column-major
 * only. */
#ifndef CBLAS_H
#define CBLAS_H

enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };
enum CBLAS_UPLO { CblasUpper = 121, CblasLower = 122 };
enum CBLAS_DIAG { CblasNonUnit = 131, CblasUnit = 132 };
enum CBLAS_SIDE { CblasLeft = 141, CblasRight = 142 };

void cblas_dswap(int n, double *x, int incx, double *y, int incy);
void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
int cblas_idamax(int n, const double *x, int incx);
void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double *A, int lda,
                 const double *x, int incx, double beta, double *y, int incy);
void cblas_dsymv(int order, int uplo, int n, double alpha, const double *A, int lda,
                 const double *x, int incx, double beta, double *y, int incy);
void cblas_dtrsv(int order, int uplo, int trans, int diag, int n, const double *A, int lda,
                 double *x, int incx);
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                 const double *A, int lda, const double *B, int ldb, double beta, double *C,
                 int ldc);
void cblas_dsyrk(int order, int uplo, int trans, int n, int k, double alpha, const double *A,
                 int lda, double beta, double *C, int ldc);
void cblas_dtrsm(int order, int side, int uplo, int trans, int diag, int m, int n, double alpha,
                 const double *A, int lda, double *B, int ldb);

#endif
