/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense level-2 kernels for pivoting methods: column-major, columns chosen by an index list, cheap
 * for the smallest sizes (no dispatch, no packing) and bound by memory bandwidth for large ones.
 *
 * Results do not depend on the instruction set: sums run in a fixed order, without contraction. */
#ifndef PERP_DENSE_H
#define PERP_DENSE_H

#include <stddef.h>

/* y += sum_j x[j] A[:, idx[j]],  j = 0 ... k-1.   A has m rows and leading dimension lda; idx NULL:
 * the first k columns.  y [m] may not overlap A or x.  O(m k), no allocation. */
void perp_gaxpy(int m, int k, const double *A, size_t lda, const int *idx, const double *x,
                double *y);
/* y[j] = A[:, idx[j]]' x,  j = 0 ... k-1.   x [m], y [k].  O(m k), no allocation. */
void perp_gdot(int m, int k, const double *A, size_t lda, const int *idx, const double *x,
               double *y);
/* A[:, 0 ... k-1] += x y'   x [m], y [k].  O(m k), no allocation. */
void perp_rank1(int m, int k, const double *x, const double *y, double *A, size_t lda);

#endif
