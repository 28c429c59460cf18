/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of the solver `tree` as its pattern alone decides it: links in the order of elimination,
 * kinds of bodies, auxiliary joints, memory.  Made once; the numbers are tree.c's. */
#ifndef PERP_KKT_TREE_LINKS_H
#define PERP_KKT_TREE_LINKS_H

#include "solvers/kkt/kkt_private.h"

/* How a body is eliminated. */
enum kkt_tree_kind {
  KKT_LEAF, /* no child joint: Minv as given */
  KKT_PASS, /* one child joint: Woodbury */
  KKT_HUB /* several child joints, or one that cannot be eliminated without the body: Mt is factored
           */
};

/* A child body of a joint; all offsets are into the arrays of blocks or of the workspace. */
struct kkt_tree_child {
  int kind, body, d, col, M, J;
  int rh, J_h, L_h,
      Y;     /* KKT_PASS: the child joint h: rows, J_hb, its pivot, the block of the factor */
  int row_h; /* first row of h in lambda */
  int H;     /* KKT_HUB: its pivot */
};

/* A joint with its child bodies and its parent body, in the order of elimination. */
struct kkt_tree_link {
  int kernel, r, row, L;   /* L: its pivot, r x r: unit lower triangle, 1/Delta on the diagonal */
  int first, last;         /* children */
  int parent;              /* enum kkt_tree_kind of the parent body, -1: none */
  int body, d, col, M, J;  /* the parent body */
  int H;                   /* KKT_HUB parent: its pivot */
  int up, J_up, row_up, Y; /* KKT_PASS parent: rows of its own parent joint (0: none), ... */
};

struct kkt_tree {
  kkt_direct direct; /* first */
  int n_links, n_children, n_roots, n_aux, k, large, size_L, size_H;
  double shift; /* regularization of the last factor */
  struct kkt_tree_link *link;
  struct kkt_tree_child *child;
  int *root;        /* [n_roots] KKT_HUB bodies that are roots */
  int *hub;         /* [nb] offset of the pivot of a KKT_HUB in H, -1: not a KKT_HUB */
  int *aux;         /* [n_aux] auxiliary groups */
  double *L, *H;    /* pivots and blocks of joints; pivots of KKT_HUB bodies */
  double *z;        /* [m] forward-substituted right-hand side */
  double *C;        /* [k k] Schur complement of the auxiliary rows */
  double *mu, *ref; /* [k] */
  double *f;        /* [nv] */
  double *x, *l;    /* [nv], [m] */
  double *diag;     /* [m] A_ii */
  double *zero;     /* [m] */
  double *scratch;  /* [5 large] of the generic kernels */
};

/* Links and memory for systems of the pattern of blocks, which is valid and only read here; *like:
 * the rest. PERP_ERR_NOMEM leaves *ws NULL.  O(N + k^2) for k auxiliary rows. */
perp_status perp_kkt_tree_create(perp_ctx *ctx, const perp_blocks *blocks, struct kkt_tree *like,
                                 void **ws);

#endif
