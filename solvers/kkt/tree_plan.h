/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The symbolic half of the solver `tree`: which groups of rows (joints) make a spanning forest of
 * the blocks (bodies) and the world, and in which order they are eliminated, everything after what
 * hangs on it. */
#ifndef KKT_TREE_PLAN_H
#define KKT_TREE_PLAN_H

#include "solvers/kkt/kkt_private.h"

struct perp_kkt_tree_plan {
  int nb, nc, n;     /* n: groups in the sequence */
  int *set;          /* [nb+1] union-find; nb is the world */
  char *in_tree;     /* [nc] */
  char *excluded;    /* [nc] auxiliary although no loop needs it */
  int *parent_sub;   /* [nc] sub-matrix that leads to the parent body, -1: none */
  int *parent_group; /* [nb] group that eliminates the body, -1: root */
  int *children;     /* [nb] number of child groups */
  int *last_child;   /* [nb] last child group in the order of elimination */
  char *seen;        /* [nb] */
  int *stack;        /* [nc] groups to visit */
  int *sequence;     /* [nc] groups in order of elimination */
  int *position;     /* [nc] of a group in it */
};

/* The plan for the pattern of blocks, in a few passes over it.  Groups with many rows are
 * preferred, so that few rows are left for the auxiliary ones; a group below a body with several
 * must find its pivot without that body, or is auxiliary too.  *out is to be given to free();
 * PERP_ERR_NOMEM leaves it NULL. */
perp_status perp_kkt_tree_plan(perp_ctx *ctx, const perp_blocks *blocks,
                               struct perp_kkt_tree_plan **out);

#endif
