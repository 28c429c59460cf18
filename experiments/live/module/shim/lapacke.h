/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The routines of LAPACK that perp calls, for the WebAssembly module (lapack_small.c,
 * lapack_more.c): column-major only, meanings of arguments and of the returned info as LAPACK's.
 * "N" is the only transposition of solves with LU factors, one right side at a time in orthogonal
 * products. */
#ifndef LAPACKE_H
#define LAPACKE_H

#define LAPACK_COL_MAJOR      102
#define lapack_int            int
#define lapack_complex_double double _Complex

int LAPACKE_dpotrf_work(int order, char uplo, int n, double *A, int lda);
int LAPACKE_dpotrs_work(int order, char uplo, int n, int nrhs, const double *A, int lda, double *B,
                        int ldb);
int LAPACKE_dpstrf_work(int order, char uplo, int n, double *A, int lda, int *piv, int *rank,
                        double tol, double *work);
int LAPACKE_dpbtrf_work(int order, char uplo, int n, int kd, double *A, int lda);
int LAPACKE_dpbtrs_work(int order, char uplo, int n, int kd, int nrhs, const double *A, int lda,
                        double *B, int ldb);
int LAPACKE_dgetrf_work(int order, int m, int n, double *A, int lda, int *piv);
int LAPACKE_dgetrs_work(int order, char trans, int n, int nrhs, const double *A, int lda,
                        const int *piv, double *B, int ldb);
int LAPACKE_dgesv_work(int order, int n, int nrhs, double *A, int lda, int *piv, double *B,
                       int ldb);
int LAPACKE_dgetri_work(int order, int n, double *A, int lda, const int *piv, double *work,
                        int lwork);
int LAPACKE_dgecon_work(int order, char norm, int n, const double *A, int lda, double anorm,
                        double *rcond, double *work, int *iwork);
int LAPACKE_dgbtrf_work(int order, int m, int n, int kl, int ku, double *A, int lda, int *piv);
int LAPACKE_dgbtrs_work(int order, char trans, int n, int kl, int ku, int nrhs, const double *A,
                        int lda, const int *piv, double *B, int ldb);
int LAPACKE_zgbtrf_work(int order, int m, int n, int kl, int ku, double _Complex *A, int lda,
                        int *piv);
int LAPACKE_zgbtrs_work(int order, char trans, int n, int kl, int ku, int nrhs,
                        const double _Complex *A, int lda, const int *piv, double _Complex *B,
                        int ldb);
int LAPACKE_dsytrf_work(int order, char uplo, int n, double *A, int lda, int *piv, double *work,
                        int lwork);
int LAPACKE_dsytrs_work(int order, char uplo, int n, int nrhs, const double *A, int lda,
                        const int *piv, double *B, int ldb);
int LAPACKE_dgeqrf_work(int order, int m, int n, double *A, int lda, double *tau, double *work,
                        int lwork);
int LAPACKE_dgeqp3_work(int order, int m, int n, double *A, int lda, int *piv, double *tau,
                        double *work, int lwork);
int LAPACKE_dormqr_work(int order, char side, char trans, int m, int n, int k, const double *A,
                        int lda, const double *tau, double *C, int ldc, double *work, int lwork);
int LAPACKE_dtzrzf_work(int order, int m, int n, double *A, int lda, double *tau, double *work,
                        int lwork);
int LAPACKE_dormrz_work(int order, char side, char trans, int m, int n, int k, int l,
                        const double *A, int lda, const double *tau, double *C, int ldc,
                        double *work, int lwork);
int LAPACKE_dtrtrs_work(int order, char uplo, char trans, char diag, int n, int nrhs,
                        const double *A, int lda, double *B, int ldb);
int LAPACKE_dgels_work(int order, char trans, int m, int n, int nrhs, double *A, int lda, double *B,
                       int ldb, double *work, int lwork);
int LAPACKE_dsyev_work(int order, char jobz, char uplo, int n, double *A, int lda, double *w,
                       double *work, int lwork);
int LAPACKE_dsyevd_work(int order, char jobz, char uplo, int n, double *A, int lda, double *w,
                        double *work, int lwork, int *iwork, int liwork);
int LAPACKE_dstev_work(int order, char jobz, int n, double *d, double *e, double *Z, int ldz,
                       double *work);

#endif
