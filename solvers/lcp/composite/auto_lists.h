/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What auto sees of a problem, and the solvers that it tries therefore. */
#ifndef PERP_AUTO_LISTS_H
#define PERP_AUTO_LISTS_H

#include "solvers/lcp/lcp.h"

typedef struct perp_auto_structure {
  int n;
  unsigned needs;
  bool factored, symmetric, bimatrix;
  bool guess;             /* lambda is not zero */
  bool nonnegative, zero; /* the diagonal: no entry < 0, some = 0 */
  bool mostly_zeros;      /* with cones: sparse, or dense as rows.h has it */
  bool compressed;        /* A is kept by its numbers */
  bool alike, sheared;    /* with cones: b and mu are those of all contacts, or b is 0; any b_T */
  /* of problems without friction: */
  bool sparse;    /* few rows, or few numbers in A, however it is kept */
  bool falling;   /* no number beside the diagonal is positive */
  double numbers; /* of a product with A */
} perp_auto_structure;

/* A solver and what it may spend in the first round: so many products with A and per row of A, the
 * latter for what factorizes: n / 6 products are a Cholesky factorization. */
typedef struct perp_auto_stage {
  const char *name;
  double products, per_row;
  double longer; /* goes on at once where that much more will do, by the rate so far */
  double part;   /* goes for this part of the tolerance, 0: the tolerance itself */
} perp_auto_stage;

/* Everything but `guess`, which is false.  As reading A; no allocation. */
perp_auto_structure perp_auto_look(const perp_lcp *lcp);
/* The stages, of which the last one has no name.  *first: what comes before them, or NULL. */
const perp_auto_stage *perp_auto_choose(const perp_auto_structure *s,
                                        const perp_auto_stage **first);

#endif
