/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complete orthogonal decomposition of the transpose of J, its rows brought to length 1 by D,
 *
 *      B D P = Q [ T 0; 0 0 ] W',
 *
 * B [rows m] with dependent columns, T [rank rank] upper triangular,
 * by Householder QR with column pivoting and an RZ factorization of its upper rows (LAPACK dgeqp3,
 * dtzrzf).  Softness S is rows S^1/2 below B, on coordinates of mass 1 beside those of the bodies.
 * Golub and Van Loan, Matrix Computations, section 5.5.2.  Private to this folder. */
#ifndef PERP_KKT_ORTHOGONAL_H
#define PERP_KKT_ORTHOGONAL_H

#include "solvers/kkt/kkt_private.h"

typedef struct kkt_orthogonal {
  int nv, m, rows, rank; /* rows = nv + m: room for softness */
  int n;                 /* rows in use: nv, or all with softness */
  int lwork;
  double *B;            /* [rows m] then the factors */
  double *tau, *tz;     /* [m] of Q and of W */
  double *unit;         /* [m] D */
  double *work, *x, *y; /* [lwork], [m], [rows] */
  int *pivot;           /* [m] */
} kkt_orthogonal;

kkt_orthogonal perp_kkt_orthogonal_of(const perp_blocks *blocks);
void perp_kkt_orthogonal_layout(kkt_orthogonal *o, perp_arena *arena);
/* B = J' with the softness of blocks below it: zeroed, filled, [n m]. */
void perp_kkt_orthogonal_fill(kkt_orthogonal *o, const perp_blocks *blocks);
/* The decomposition; false: LAPACK failed.  About 2 n m^2 multiplications. */
bool perp_kkt_orthogonal_factor(kkt_orthogonal *o);
/* z [rank] with  B' Q1 z = c  in the least-squares sense of rows of length 1. */
void perp_kkt_orthogonal_rows(kkt_orthogonal *o, const double *c, double *z);
/* lambda [m] of least norm (times the lengths of the rows) with  Q1' B lambda = z [rank]. */
void perp_kkt_orthogonal_multipliers(kkt_orthogonal *o, const double *z, double *lambda);
/* x [n columns] <- Q x, or Q' x. */
void perp_kkt_orthogonal_Q(kkt_orthogonal *o, bool transposed, int columns, double *x);

#endif
