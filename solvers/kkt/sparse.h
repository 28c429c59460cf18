/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A symmetric sparse matrix made of dense blocks, ordered once, refactored often by CHOLMOD's
 * simplicial L D L'; private to this folder.
 *
 * The matrix is the adjacency of `nodes` (groups; or bodies and groups) of given sizes.  Minimum
 * degree (AMD) and postordering work on the graph of nodes, so that the rows of a node stay
 * together; the matrix is stored permuted, upper triangle, and CHOLMOD is told to leave the order
 * alone: then a numeric refactorization allocates nothing.  The triangular solves run over L->p, i,
 * x in place, since cholmod_solve allocates. */
#ifndef PERP_KKT_SPARSE_H
#define PERP_KKT_SPARSE_H

#include "solvers/kkt/assembly.h"
#include "solvers/kkt/graph.h"

#include <suitesparse/cholmod.h>

/* graph->position by minimum degree (AMD) and postorder.  PERP_ERR_NOMEM, PERP_ERR_EXTERNAL */
perp_status perp_kkt_graph_order(perp_ctx *ctx, const char *name, kkt_graph *graph);

typedef struct kkt_sparse {
  cholmod_common cm;
  cholmod_sparse *A;
  cholmod_factor *L;
  int n_nodes, n, n_above;
  double cost_factor, cost_solve; /* multiplications with additions */
  int *position;                  /* [n_nodes] of a node in the order of elimination */
  int *row;                       /* [n_nodes] its first row in the permuted matrix */
  int *above_ptr;                 /* [n_nodes+1] earlier neighbours of a node ... */
  int *above;                     /* ... by their position */
  int *above_row;                 /* first row of that neighbour within the columns of the node */
  int *first_row;                 /* [n_nodes] size of all blocks above the diagonal one */
} kkt_sparse;

/* For the layout of a workspace; n_nodes and n_above, the edges of its graph, are set. */
void perp_kkt_sparse_layout(kkt_sparse *sparse, perp_arena *arena);
/* In the workspace, in the order of graph->position; on failure, too, the rest is the caller's to
 * free. */
perp_status perp_kkt_sparse_create(perp_ctx *ctx, const char *name, const kkt_graph *graph,
                                   kkt_sparse *sparse);
void perp_kkt_sparse_free(kkt_sparse *sparse);
/* Where the block of nodes g, h is in the values (kkt_locate); g and h must be neighbours or equal.
 */
kkt_place perp_kkt_sparse_locate(const void *sparse, int g, int h);
/* All values to zero. */
void perp_kkt_sparse_clear(kkt_sparse *sparse);
/* Factor the values.  False when CHOLMOD gave up; the pivots remain to be judged. */
bool perp_kkt_sparse_factor(kkt_sparse *sparse);
/* D_ii of row i of the permuted matrix. */
static inline double kkt_sparse_pivot(const kkt_sparse *sparse, int i)
{
  return ((const double *)sparse->L->x)[((const int *)sparse->L->p)[i]];
}
/* x = (L D L')^-1 x in the permuted order. */
void perp_kkt_sparse_solve(const kkt_sparse *sparse, double *x);

#endif
