/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph of a block-sparse symmetric matrix, and orders of its nodes; private to this folder. */
#ifndef PERP_KKT_GRAPH_H
#define PERP_KKT_GRAPH_H

#include "solvers/kkt/kkt_private.h"

/* The neighbours of node i are adj[ptr[i]] ... adj[ptr[i+1]-1]; both directions are listed,
 * repetitions and the node itself are ignored. */
typedef struct kkt_graph {
  int n_nodes, n_edges;
  int *size; /* [n_nodes] rows of a node */
  int *ptr, *adj;
  int *position;      /* [n_nodes] of a node in the order of elimination */
  int *row;           /* [n_nodes] its first row in that order; of perp_kkt_graph_narrow */
  int *order, *level; /* [n_nodes] scratch of perp_kkt_graph_narrow */
} kkt_graph;

/* Its arrays are to be filled, *out to be given to free(). */
perp_status perp_kkt_graph_create(perp_ctx *ctx, const char *name, int n_nodes, int64_t n_edges,
                                  kkt_graph **out);
/* The graph of A = J M^-1 J': groups are neighbours when they share a body.  As above, filled but
 * for position. */
perp_status perp_kkt_graph_schur(perp_ctx *ctx, const char *name, const perp_blocks *blocks,
                                 kkt_graph **out);
/* graph->position and row so that the matrix has a narrow band: as numbered, or by Cuthill and
 * McKee where that is narrower.  They go through each component breadth first from a node of large
 * eccentricity, the neighbours of a node by ascending degree.  Returns the number of diagonals
 * above the main one.  A few traversals of each component: O(n_nodes + n_edges), times the length
 * of a run of neighbours whose degrees are out of order.  No allocation. Cuthill and McKee 1969;
 * the first node: Gibbs, Poole and Stockmeyer 1976. */
int perp_kkt_graph_narrow(kkt_graph *graph);

#endif
