/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interior point method for convex quadratic programmes over half-lines and circular cones.
 *
 *      min 1/2 x'A x + c'x   subject to   G x + h in C,
 * C a product of half-lines and of cones { s : s_0 >= |(s_1, s_2)| }: the bounds of rows, s = x -
 * lo and hi - x, of friction boxes, s = mu x_n -+ x_k, and circular cones, s = (mu x_n, x_k,
 * x_k+1).  With r_x = A x + c - G'z,   r_z = G x + h - s,   s o z = 0,   s, z in C, the scaling W
 * of Nesterov and Todd, W z = W^-1 s = l, and bs = -l o l for the predictor, bs = -l o l - (W^-1
 * ds_a) o (W dz_a) + sigma mu e for the corrector (Mehrotra), a step solves (A + G' W^-2 G) dx =
 * -r_x + G' W^-2 (W (l \ bs) - r_z), dz = W^-2 (W (l \ bs) - r_z - G dx),     ds = G dx + r_z.
 * Vandenberghe 2010 (the CVXOPT notes) has all formulas; o and \ are the product and the quotient
 * of the Jordan algebra.
 *
 * Everything is scaled by D = diag(A_ii) of a contact, so that the size of c alone tells where to
 * begin.  A dense system is factored by Cholesky, one of a sparse A by sparse LU. */
#ifndef PERP_LCP_CONIC_H
#define PERP_LCP_CONIC_H

#include "solvers/linalg/sparse_lu.h"
#include "solvers/lcp/splitting/desaxce.h"

/* One half-line, s = f x_i + g x_k + h, k = -1: none, or a cone, size 3, s = (f x_i, x_k, x_k+1).
 */
typedef struct perp_conic_part {
  int i, k, size, at; /* at: its place in s */
  double f, g, h;
} perp_conic_part;

typedef struct perp_conic {
  perp_rows *R;
  const perp_desaxce *K;
  int max_n, n, parts, m;                        /* m: numbers of s */
  perp_conic_part *part;                         /* [2 max_n] */
  double *root, *x, *c, *rx, *rhs, *Ax, *dx, *y; /* [max_n] root: of D; x and c scaled */
  double *s, *z, *l, *ds, *dz, *rz, *bs, *v;     /* [4 max_n] */
  double *beta;                                  /* [2 max_n] of W; half-lines: W itself */
  signed char *fixed;                            /* [max_n] rows that do not move */
  int *first, *other; /* [max_n], [6 max_n] the parts of a column, a list */
  double *matrix;     /* [n n], dense */
  size_t capacity;
  perp_sparse_lu L;
  double size; /* of c: where the numbers of s and z begin */
} perp_conic;

void perp_conic_layout(perp_conic *conic, perp_arena *arena); /* with conic->max_n */
void perp_conic_close(perp_conic *conic);
/* Rows prepared in rows, contacts in desaxce.  NULL, or why the problem is none of these.  *status:
 * PERP_ERR_NOMEM. */
const char *perp_conic_open(perp_ctx *ctx, perp_conic *conic, perp_rows *rows,
                            const perp_desaxce *desaxce, perp_status *status);
/* Begin at x [n] with c [n] anew, or, after a solve, with another c near where it ended; apart: how
 * far c has moved. */
void perp_conic_begin(perp_conic *conic, const double *x, const double *c);
void perp_conic_again(perp_conic *conic, const double *c, double apart);
/* One predictor-corrector step; *length of it, 0: the system cannot be factored, or no step is
 * possible. */
void perp_conic_step(perp_conic *conic, double *length, perp_stats *stats);
/* x [n], unscaled. */
void perp_conic_point(const perp_conic *conic, double *x);
/* How far c has moved, as perp_conic_again wants it. */
double perp_conic_apart(const perp_conic *conic, const double *c);

#endif
