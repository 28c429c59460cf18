/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LU of a large matrix that is mostly zeros and whose pattern changes from one to the next, by KLU
 * (Davis and Palamadai Natarajan 2010): columns are pushed one after the other, then it is ordered
 * and factored, which allocates. */
#ifndef PERP_SPARSE_LU_H
#define PERP_SPARSE_LU_H

#include "solvers/core/core.h"

typedef struct perp_sparse_lu {
  int n, max_n;
  int *start;    /* [max_n + 1] columns so far */
  int *mark;     /* [max_n] the last column that has a row */
  int *row;      /* [room] */
  double *value; /* [room] */
  double *sum;   /* [max_n] the column that is being made */
  size_t room;
  void *common, *symbolic, *numeric;
} perp_sparse_lu;

/* An empty one is all zeros; its memory, for matrices of up to n rows with about `numbers` of them.
 */
perp_status perp_sparse_lu_reserve(perp_ctx *ctx, perp_sparse_lu *L, int n, size_t numbers);
void perp_sparse_lu_close(perp_sparse_lu *L);
/* Forget the matrix; a new one of n rows. */
void perp_sparse_lu_begin(perp_sparse_lu *L, int n);
/* a_ij += value, j the column after those that are done. */
void perp_sparse_lu_add(perp_sparse_lu *L, int i, double value);
/* That column is done. */
void perp_sparse_lu_column(perp_sparse_lu *L);
/* False: singular, not finite, no memory, or more numbers than reserved. */
bool perp_sparse_lu_factor(perp_sparse_lu *L);
/* x [n]: b in, A^-1 b out.  No allocation. */
void perp_sparse_lu_solve(const perp_sparse_lu *L, double *x);
/* Multiplications with additions of the factorization, and numbers in L and U. */
double perp_sparse_lu_work(const perp_sparse_lu *L);
double perp_sparse_lu_nnz(const perp_sparse_lu *L);

#endif
