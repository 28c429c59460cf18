/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Square systems F(x) = 0 whose unknowns and equations sit at the nodes of a graph (bodies and joints): the equations
 * of a node read the unknowns of the node and of its neighbours only.  Their Jacobian by finite differences, as many
 * columns at a time as no equation can tell apart (Curtis, Powell and Reid 1974), and its LU factors in the band of a
 * reverse Cuthill-McKee order: O(n) for chains and loops, O(n^2) in the worst case as dense.
 *
 * Unknown i of x is in the order of the caller; a node has as many equations as unknowns, with the same numbers.  Matrices
 * are arrays of perp_local_length numbers (LAPACK's band storage with room for pivoting), real or complex (pairs of
 * doubles); the pattern is constant while the system lives. */
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
  double *x1, *r1; /* [n] scratch */
  perp_arena arena;
} perp_local;

/* F at x [n] into r [n], not NaN; false: there is none. */
typedef bool perp_local_fn(void *user, const double *x, double *r);

/* nodes of size [nodes] > 0 unknowns; edges [2 n_edges] pairs of nodes, which may repeat.  Allocates all that the system
 * needs; PERP_ERR_NOMEM: *s holds nothing.  O(edges log edges). */
perp_status perp_local_create(perp_ctx *ctx, int nodes, const int *size, int n_edges,
                              const int *edges, perp_local *s);
void perp_local_destroy(perp_local *s); /* an empty one is fine */

/* Numbers in a matrix. */
static inline size_t perp_local_length(const perp_local *s)
{
  return (size_t)s->n * (size_t)(3 * s->width + 1);
}
/* Where a_ij is, i and j of neighbouring nodes. */
static inline size_t perp_local_place(const perp_local *s, int i, int j)
{
  return (size_t)(2 * s->width + s->at[i] - s->at[j]) +
         (size_t)s->at[j] * (size_t)(3 * s->width + 1);
}

/* A = dF/dx at x, where F(x) = r, by forward differences of the steps step [n] > 0.  False: F said so.  Evaluations of F are
 * added to *count: the sum over colours of the unknowns of their largest node.  No allocation. */
bool perp_local_jacobian(perp_local *s, perp_local_fn *F, void *user, const double *x,
                         const double *r, const double *step, double *A, int64_t *count);

/* A out: its LU factors, pivots [n].  False: singular or not finite.  O(n width^2), no allocation. */
bool perp_local_factor(const perp_local *s, double *A, int *pivots);
/* b [n] in, x = A^-1 b out, of the factors.  O(n width), no allocation. */
void perp_local_solve(perp_local *s, const double *A, const int *pivots, double *b);
/* The same of complex numbers; scratch [n]. */
bool perp_local_factor_complex(const perp_local *s, double _Complex *A, int *pivots);
void perp_local_solve_complex(const perp_local *s, const double _Complex *A, const int *pivots,
                              double _Complex *b, double _Complex *scratch);

#endif
