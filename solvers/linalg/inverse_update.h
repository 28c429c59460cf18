/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explicit inverse of a small dense nonsymmetric matrix K that grows, shrinks and changes by one
 * row or column at a time: the core of a complementary basis.
 *
 * The m rows and m columns of K are numbered by slots 0 ... m-1; removing a slot moves the last one
 * into the hole.  R = K^-1 is stored column-major: R[u + c ld] couples the unknown u (column of K)
 * with the equation c (row of K).  Every update is one rank-one correction
 * (Sherman-Morrison-Woodbury, Cline 2002, eq. 4.19-4.21, and its bordered forms), O(m^2), and
 * divides by one pivot; the caller judges its size. Errors grow with the product of the pivots'
 * condition: compare residuals, refine with apply, and factor again when they are too large. */
#ifndef PERP_INVERSE_UPDATE_H
#define PERP_INVERSE_UPDATE_H

#include "solvers/linalg/stride.h"

typedef struct perp_inverse {
  int m;     /* current size */
  int cap;   /* largest size */
  size_t ld; /* >= cap */
  double *R; /* [ld * cap] */
  double *x; /* [2 cap] scratch of the updates */
} perp_inverse;

/* y = R x: solve K y = x.   x, y [m], not overlapping.   O(m^2). */
void perp_inverse_apply(const perp_inverse *inverse, const double *x, double *y);
/* y' = x' R: solve K' y = x.   O(m^2). */
void perp_inverse_apply_t(const perp_inverse *inverse, const double *x, double *y);

/* Column u of K becomes a, where f = R a is given; pivot f[u]. */
void perp_inverse_replace_column(perp_inverse *inverse, int u, const double *f);
/* Row c of K becomes a', where g' = a' R is given; pivot g[c]. */
void perp_inverse_replace_row(perp_inverse *inverse, int c, const double *g);
/* K becomes [K a; b' alpha], where f = R a, g' = b' R and the pivot s = alpha - b' R a are given.
 */
void perp_inverse_append(perp_inverse *inverse, const double *f, const double *g, double s);
/* Equation c and unknown u go; pivot R[u + c ld].  The last row and column move to slots c and u.
 */
void perp_inverse_remove(perp_inverse *inverse, int u, int c);

/* R in: K itself [m x m]; out: its inverse, by LU with partial pivoting (LAPACK), 2 m^3 flops.
 * ipiv [m], work with lwork >= m entries, of which at most 32 m are used: LAPACK's blocks follow
 * from them, and how numbers are rounded must not hang on the room of a workspace.  Returns an
 * estimate of the reciprocal condition number in the 1-norm, 0 when a pivot vanished (R is then
 * undefined). */
double perp_inverse_factor(perp_inverse *inverse, int *ipiv, double *work, int lwork);

#endif
