/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block-sparse constrained systems: the matrices M (block diagonal), J (block rows) and S
 * (diagonal) that KKT formulations factor and that matrix-free LCP solvers apply.
 *
 * The unknown velocity-like vector a [nv] is cut into nb blocks (one body each: 6 numbers in space,
 * 3 in the plane, but any size >= 1 serves).  The m rows of J are cut into nc groups (one joint or
 * contact each); group c touches the blocks jblk[jptr[c]] ... jblk[jptr[c+1]-1] (distinct,
 * ascending order is not required) and has one dense sub-matrix for each of them.
 *
 *      M = diag(M_0, ..., M_{nb-1}),   J = rows of groups,   S = diag(s),   A = J M^-1 J' + S
 *
 * All sub-matrices are dense and column-major without padding: M_b is d x d with d =
 * bptr[b+1]-bptr[b] at M + mptr[b]; the k-th sub-matrix of J is r x d with r = cptr[c+1]-cptr[c]
 * rows at J + joff[k]. The index arrays are the pattern: constant while a workspace lives.  The
 * values may change at will.
 *
 * One J and one M of all joints and bodies: Vondrak 2005, eq. 4.7 and 6.5; Cline 2002, eq. 2.31. */
#ifndef PERP_BLOCKS_H
#define PERP_BLOCKS_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_blocks {
  int nv, m;          /* columns and rows of J */
  int nb, nc;         /* blocks and groups */
  const int *bptr;    /* [nb+1] first column of each block; bptr[nb] = nv */
  const int *mptr;    /* [nb+1] where each M_b starts in M and Minv */
  const int *cptr;    /* [nc+1] first row of each group; cptr[nc] = m */
  const int *jptr;    /* [nc+1] first sub-matrix of each group */
  const int *jblk;    /* [jptr[nc]] block of each sub-matrix */
  const int *joff;    /* [jptr[nc]+1] where each sub-matrix starts in J */
  const int *jgrp;    /* [jptr[nc]] group of each sub-matrix */
  const int *tptr;    /* [nb+1] transpose: the sub-matrices that touch block b are ... */
  const int *tsub;    /* [jptr[nc]] ... tsub[tptr[b]] ... tsub[tptr[b+1]-1], by ascending group */
  const double *M;    /* [mptr[nb]] symmetric positive definite blocks */
  const double *Minv; /* [mptr[nb]] their inverses */
  const double *J;    /* [joff[jptr[nc]]] */
  const double *s;    /* [m] softness >= 0 (compliance / h^2, CFM), NULL = 0 */
  const unsigned char
      *diag; /* [nb] 1: M_b and its inverse are diagonal (a promise, faster); NULL: not known */
  const double
      *flat;   /* [nv] the diagonals of Minv, side by side, where diag is set; NULL: not there */
  int threads; /* of the team for products with A and what is made of its rows; 0: as 1 */
} perp_blocks;

/* The diagonal of M_b^-1 of a block that is diagonal, every *step-th number. */
static inline const double *perp_blocks_flat(const perp_blocks *blocks, int b, int *step)
{
  *step = blocks->flat != NULL ? 1 : blocks->bptr[b + 1] - blocks->bptr[b] + 1;
  return blocks->flat != NULL ? blocks->flat + blocks->bptr[b] : blocks->Minv + blocks->mptr[b];
}

/* Is the pattern (everything but the values) as described above?  Every block and group must have
 * at least one column / row; a group may touch no block at all.  PERP_ERR_DIM with the place
 * otherwise. O(nb + nc + sub-matrices), no allocation. */
perp_status perp_blocks_check(perp_ctx *ctx, const perp_blocks *blocks);
/* A deep copy of blocks in what the arena holds, the pattern first; a counting pass, and NULL,
 * where that is nothing yet. */
perp_blocks *perp_blocks_copy(const perp_blocks *blocks, perp_arena *arena);
/* y_i = (J M^-1 J' + S)_ii, y [m].   O(nnz(J) d), no allocation.  By a team of blocks->threads, the
 * same bit by bit. */
void perp_blocks_diagonal(const perp_blocks *blocks, double *y);

/* Fill jgrp, tptr and tsub (arrays of the caller, sizes as above) from nb, nc, jptr and jblk.  O(nb
 * + nc + sub-matrices), no allocation. */
void perp_blocks_transpose(int nb, int nc, const int *jptr, const int *jblk, int *jgrp, int *tptr,
                           int *tsub);

/* y += alpha J x       x [nv], y [m].   O(nnz(J)), no allocation. */
void perp_blocks_J(const perp_blocks *blocks, double alpha, const double *x, double *y);
/* y += alpha J' x      x [m], y [nv].   O(nnz(J)), no allocation. */
void perp_blocks_Jt(const perp_blocks *blocks, double alpha, const double *x, double *y);
/* y = M x, y = M^-1 x  x, y [nv], y may not alias x.   O(nnz(M)), no allocation. */
void perp_blocks_M(const perp_blocks *blocks, const double *x, double *y);
void perp_blocks_Minv(const perp_blocks *blocks, const double *x, double *y);
/* A = J M^-1 J' + S, column-major m x m with leading dimension lda, both triangles.
 * scratch [max over sub-matrices of r d].  O(m^2 + sum over blocks of (rows touching the block)^2
 * d). */
void perp_blocks_delassus(const perp_blocks *blocks, double *A, int lda, double *scratch);
/* y = (J M^-1 J' + S) x without forming it; scratch [2 nv].  By a team of blocks->threads, the same
 * bit by bit. */
void perp_blocks_A(const perp_blocks *blocks, const double *x, double *y, double *scratch);
/* y = |J| |M^-1| |J'| |x| + S |x|, and a little more: `tiny` is added to every sum on the way. With
 * the smallest normal number as tiny, perp_blocks_roundings() y / 2^53 bounds the error of every
 * row of perp_blocks_A, underflow included.  scratch [2 nv].  O(nnz), no allocation. */
void perp_blocks_bound(const perp_blocks *blocks, const double *x, double tiny, double *y,
                       double *scratch);
/* How many roundings a number meets at most on its way through perp_blocks_A, those of the bound
 * included. */
double perp_blocks_roundings(const perp_blocks *blocks);

#ifdef __cplusplus
}
#endif

#endif
