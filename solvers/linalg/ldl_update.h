/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updatable factorization of a symmetric positive definite matrix,  K = L D L',  L unit lower
 * triangular.
 *
 * Rows are appended at the end and removed anywhere, O(k^2) each; a whole set is factored at once
 * by LAPACK's blocked Cholesky, with diagonal pivoting when it turns out to be semidefinite.
 * Removing row j leaves  L33 D3 L33' + d_j l_j l_j'  below it: a positive rank-one update (Gill,
 * Golub, Murray and Saunders, method C1), which never loses definiteness. */
#ifndef PERP_LDL_UPDATE_H
#define PERP_LDL_UPDATE_H

#include "solvers/linalg/stride.h"

typedef struct perp_ldl {
  int k;      /* current size */
  int cap;    /* largest size */
  size_t ld;  /* >= cap */
  double *L;  /* [ld * cap] column-major, below the diagonal; the diagonal is not read */
  double *d;  /* [cap] */
  double *x;  /* [2 cap] scratch */
  int *order; /* [cap] scratch of the pivoted factorization */
} perp_ldl;

/* x <- L^-1 x,  x <- L^-T x,  x <- K^-1 x.   x [k].  O(k^2). */
void perp_ldl_forward(const perp_ldl *ldl, double *x);
void perp_ldl_backward(const perp_ldl *ldl, double *x);
void perp_ldl_solve(const perp_ldl *ldl, double *x);

/* Append a row: ell = L^-1 a for its column a over the present rows, and the pivot
 * s = alpha - sum ell_i^2 / d_i > 0.   O(k). */
void perp_ldl_append(perp_ldl *ldl, const double *ell, double s);
/* Remove row j; later rows move up by one.   O((k - j)^2). */
void perp_ldl_remove(perp_ldl *ldl, int j);

/* Factor the k x k matrix A[rows, rows] (column-major, lda; both triangles).  Rows whose pivot
 * falls below depend times their own diagonal entry depend on the others: they are moved to the end
 * of `rows`, which is permuted to the order of the factor.  Returns the number of independent rows,
 * which is ldl->k; -1 when a diagonal entry is not positive (0 counts as dependent, negative as an
 * error). shift > 0 factors A + shift diag(A) instead, which makes a semidefinite A regular. O(k^3
 * / 3) blocked, twice that when rank-deficient.  No allocation. */
int perp_ldl_factor(perp_ldl *ldl, const double *A, size_t lda, int *rows, int k, double depend,
                    double shift);

#endif
