/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes of a skeleton are bodies of a figure (figure_nodes.c has the rules). */
#ifndef PERP_FIGURE_NODES_H
#define PERP_FIGURE_NODES_H

#include "experiments/import/bvh.h"

/* What a node of the file is for the figure. */
typedef enum perp_figure_node {
  PERP_FIGURE_BODY, /* a joint that a segment begins at */
  PERP_FIGURE_END,  /* a place at which a bone ends */
  PERP_FIGURE_LINK, /* a joint without a body: its rotation is passed on to what hangs on it */
  PERP_FIGURE_NONE  /* not of the figure, with all that hangs on it */
} perp_figure_node;

/* Of the joints of a BVH. */
typedef struct perp_figure_nodes {
  perp_figure_node *node;
  const char **why;  /* of LINK and NONE, and of ends that were joints; NULL */
  int *carrier;      /* the joint of the body in which the joint has its place, -1: none */
  double (*bone)[3]; /* that place, from the joint of the carrier, axes of perp */
} perp_figure_nodes;

/* All memory is of the pool. */
perp_figure_nodes perp_figure_nodes_of(perp_pool *pool, const perp_bvh *bvh);

#endif
