/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workspace of inverse dynamics. */
#ifndef PERP_INVERSE_PRIVATE_H
#define PERP_INVERSE_PRIVATE_H

#include "models/figures/inverse.h"
#include "models/multibody/reduced_tree.h"

struct perp_inverse {
  const perp_model *model;
  perp_reduced_tree *tree;
  int *joint;   /* [nodes] of the model, to the parent; -1: none */
  int *node_of; /* [bodies] */
  double *qm;   /* [nq] of the model */
  double *q;    /* [nq of the tree] */
  double *vm, *f, *u;
};

#endif
