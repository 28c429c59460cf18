/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of perp_bodylu: bodylu_analyse.c fills in the pattern, bodylu_factor.c the numbers. */
#ifndef PERP_LCP_BODYLU_IMPL_H
#define PERP_LCP_BODYLU_IMPL_H

#include "solvers/lcp/newton/bodylu.h"

/* One supernode: columns first ... first + w - 1 of the permuted, reduced matrix; its panel holds w
 * + r rows (the diagonal part on top), column-major with leading dimension w + r. */
typedef struct supernode {
  int first, w, r;
  size_t rows;  /* its r row numbers start here in `rows` */
  size_t panel; /* its numbers start here in `val` */
} supernode;

struct perp_bodylu {
  /* the pattern that was analysed: copies, to recognise it */
  int nb, nc, m, nv, ns;
  bool unsymmetric, lu; /* room for LU; the current factor is an LU */
  int *cptr, *jptr, *jblk, *bptr;
  unsigned char *mask; /* [nv] 1: column takes part */
  /* analysis */
  int *width; /* [nb] reduced columns of a block */
  int *first; /* [nb] where a block starts in the permuted, reduced order */
  supernode *sn;
  int *rows;   /* row numbers of all supernodes */
  int *owner;  /* [N] supernode of a column */
  size_t *at;  /* [nb] panel address of (block, block) */
  int *ld;     /* [nb] */
  size_t *off; /* one per pair of sub-matrices of a group: address in val of the block */
  int *jptr2;  /* [nc + 1] first pair of each group */
  int N;
  size_t size, n_rows;
  double work; /* of the last factorization */
  /* numbers */
  double *val, *uval; /* panels of L, and of U transposed */
  double *Jr;         /* reduced sub-matrices, r x width */
  size_t *joff;       /* where they start */
  double *update;     /* scratch of one update, and of a solve */
  int *map, *head, *next, *pos, *pivot;
  perp_arena arena;
};

/* An order of the nb blocks that keeps the factors sparse: perm [nb].  pairs: of blocks in one
 * group.  Allocates; false: no memory. */
bool perp_bodylu_order(const perp_blocks *blocks, size_t pairs, int *perm);

#endif
