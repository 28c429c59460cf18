/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Square systems F(x) = 0 whose unknowns and equations sit at the nodes of a graph (bodies and
 * joints): the equations of a node read the unknowns of the node and of its neighbours only.  Their
 * Jacobian by finite differences, as many columns at a time as no equation can tell apart (Curtis,
 * Powell and Reid 1974), and its LU factors: in the band of a reverse Cuthill-McKee order where
 * that is narrow (chains, loops) or the matrix is full, else sparse ones of KLU (Davis and
 * Palamadai Natarajan 2010: trees, nets).
 *
 * Unknown i of x is in the order of the caller; a node has as many equations as unknowns, with the
 * same numbers.  Matrices are arrays of perp_local_length numbers (LAPACK's band storage with room
 * for pivoting, or compressed columns), real or complex; the pattern is constant while the system
 * lives.
 *
 * Bands are factored without allocation.  Sparse factors keep the pivots of the first
 * factorization, which allocates, and take new ones, which may allocate, where these grow too
 * much. */
#ifndef PERP_LOCAL_H
#define PERP_LOCAL_H

#include "solvers/core/core.h"

typedef struct perp_local {
  int n, nodes;
  int width;       /* of the band, on each side of the diagonal */
  int colors;      /* nodes of one colour have no neighbour in common */
  int most;        /* unknowns of a node */
  int *first;      /* [nodes] first unknown of each node; those of a node follow each other */
  int *size;       /* [nodes] */
  int *color;      /* [nodes] */
  int *ptr, *near; /* [nodes + 1], [ptr[nodes]] neighbours, the node itself among them */
  int *at;         /* [n] place of an unknown in the band */
  bool sparse;     /* compressed columns, not a band */
  int *node;       /* [n] node of an unknown */
  int *start, *row,
      *offset; /* sparse: columns [n + 1], rows; where those of near[k] begin in a column */
  void *symbolic, *klu;
  double *x1, *r1; /* [n] scratch */
  perp_arena arena;
} perp_local;

/* F at x [n] into r [n], not NaN; false: there is none. */
typedef bool perp_local_fn(void *user, const double *x, double *r);

/* nodes of size [nodes] > 0 unknowns; edges [2 n_edges] pairs of nodes, which may repeat.
 * Allocates all that the system needs; PERP_ERR_NOMEM: *local holds nothing.  O(edges log edges).
 */
perp_status perp_local_create(perp_ctx *ctx, int nodes, const int *size, int n_edges,
                              const int *edges, perp_local *local);
void perp_local_destroy(perp_local *local); /* an empty one is fine */

/* Numbers in a matrix. */
static inline size_t perp_local_length(const perp_local *local)
{
  return local->sparse ? (size_t)local->start[local->n]
                       : (size_t)local->n * (size_t)(3 * local->width + 1);
}
/* Where a_ij is, i and j of neighbouring nodes. */
static inline size_t perp_local_place(const perp_local *local, int i, int j)
{
  if (!local->sparse)
    return (size_t)(2 * local->width + local->at[i] - local->at[j]) +
           (size_t)local->at[j] * (size_t)(3 * local->width + 1);
  int k = local->ptr[local->node[j]];
  while (local->near[k] != local->node[i]) k++;
  return (size_t)(local->start[j] + local->offset[k] + i - local->first[local->node[i]]);
}

/* A = dF/dx at x, where F(x) = r, by forward differences of the steps step [n] > 0.  False: F said
 * so.  Evaluations of F are added to *count: the sum over colours of the unknowns of their largest
 * node.  No allocation. */
bool perp_local_jacobian(perp_local *local, perp_local_fn *F, void *user, const double *x,
                         const double *r, const double *step, double *A, int64_t *count);

/* LU factors of a matrix of the system, real or complex. */
typedef struct perp_local_lu {
  bool pairs;    /* complex numbers */
  int *pivots;   /* of a band */
  void *numeric; /* KLU's */
} perp_local_lu;
/* PERP_ERR_NOMEM: *lu holds nothing. */
perp_status perp_local_lu_create(perp_ctx *ctx, const perp_local *local, bool pairs,
                                 perp_local_lu *lu);
void perp_local_lu_destroy(perp_local *local,
                           perp_local_lu *lu); /* an empty one is fine; before s */

/* The factors of A, a band in place.  False: singular, not finite or no memory.  O(n width^2), or
 * as sparse as they are. */
bool perp_local_factor(perp_local *local, double *A, perp_local_lu *lu);
/* b [n] in, x = A^-1 b out, of the factors.  No allocation. */
void perp_local_solve(perp_local *local, const double *A, const perp_local_lu *lu, double *b);
/* The same of complex numbers; scratch [n]. */
bool perp_local_factor_complex(perp_local *local, double _Complex *A, perp_local_lu *lu);
void perp_local_solve_complex(perp_local *local, const double _Complex *A, const perp_local_lu *lu,
                              double _Complex *b, double _Complex *scratch);

/* Symbolic analysis of the sparse pattern; called by create.  PERP_ERR_NOMEM, PERP_ERR_EXTERNAL. */
perp_status perp_local_analyse(perp_ctx *ctx, perp_local *local);
void perp_local_analysis_free(perp_local *local);

#endif
