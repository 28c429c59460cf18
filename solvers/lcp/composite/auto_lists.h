/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What auto sees of a problem, and the solvers that it tries therefore. */
#ifndef PERP_AUTO_LISTS_H
#define PERP_AUTO_LISTS_H

#include "solvers/lcp/lcp.h"

typedef enum perp_auto_storage {
  PERP_AUTO_DENSE,
  PERP_AUTO_COMPRESSED, /* A is stored by its numbers */
  PERP_AUTO_FACTORED
} perp_auto_storage;

/* Have all contacts that must be stopped the same b and mu? */
typedef enum perp_auto_loads {
  PERP_AUTO_DIFFER,
  PERP_AUTO_ALIKE,
  PERP_AUTO_SHEARED /* the same, and b_T is not 0 */
} perp_auto_loads;

typedef struct perp_auto_structure {
  int n;
  unsigned needs;
  perp_auto_storage storage;
  perp_auto_loads loads;  /* with cones */
  int n_negative, n_zero; /* entries of the diagonal < 0, = 0; of a factored A: not counted */
  bool symmetric;
  bool sparse;    /* with cones as rows.h has it; without friction: few rows, or few numbers in A */
  bool z_matrix;  /* without friction: no number beside the diagonal is positive */
  bool bimatrix;  /* no diagonal, and b < 0 */
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

/* As reading A; no allocation. */
perp_auto_structure perp_auto_look(const perp_lcp *lcp);
/* The stages, of which the last one has no name.  guess: lambda is not zero.  *first: what comes
 * before them, or NULL. */
const perp_auto_stage *perp_auto_choose(const perp_auto_structure *s, bool guess,
                                        const perp_auto_stage **first);

#endif
