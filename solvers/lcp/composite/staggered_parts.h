/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two problems of the staggered method and one round of them; the iteration to a fixed point is
 * staggered.c.
 *
 * T are the rows of the friction problem, N all others.  Friction rows (fric_of): both problems are
 * p itself with the rows of the other fixed by lo = hi, so that nothing of A is copied and factored
 * problems stay so; limits are mu lambda_N.  Stewart-Trinkle rows: T are directions and slacks, and
 * with lambda_N as it is
 *
 *      [ w_t ]   [ A_tt  e ] [ x_t  ]   [ b_t + A_tN lambda_N ]
 *      [ w_s ] = [ -f'   0 ] [ beta ] + [ b_s + mu lambda_n   ]
 *
 *      0 <= (x_t, beta) _|_ (w_t, w_s) >= 0
 *
 * the optimality conditions of the QP (83)-(84) of STAR 2012: monotone for e = f (copositive for
 * any e, f > 0 and A positive semidefinite), and feasible as long as lambda_n >= 0.  A_NN and this
 * matrix are copied, so that methods for symmetric matrices serve the normal problem.  A solver
 * that goes contact by contact (PERP_LCP_CONE_BLOCKS), as the blocked Gauss-Seidel method of which
 * STAR 2012, section 4.3.4 speaks, gets p with lambda_N fixed for the friction. */
#ifndef PERP_LCP_STAGGERED_PARTS_H
#define PERP_LCP_STAGGERED_PARTS_H

#include "solvers/lcp/rows/rows.h"
#include "solvers/lcp/stewart.h"

/* a chosen solver, made again when a problem needs more columns */
typedef struct perp_stagger_part {
  perp_spec spec;
  perp_lcp_solver *s;
} perp_stagger_part;

typedef struct perp_stagger {
  int max_n, max_nv;
  perp_stagger_part normal, boxes, cones, pyramids;
  perp_rows rows;
  perp_stewart contacts;
  signed char *second; /* [n] 1: a row of T */
  int *index;          /* [n] of Stewart-Trinkle problems: the rows of N, then those of T */
  int first;           /* how many of N */
  double *lo, *hi, *b, *lambda, *unit, *y; /* [n] of the parts */
  bool qp; /* Stewart-Trinkle friction as a quadratic program; what that needs, [n] but for bound
              [contacts]: */
  int *place, *local; /* of a row among those of T; of the rows of the contacts */
  signed char *slack;
  double *f, *z, *g, *last, *bound;
  double *A; /* [n n], of Stewart-Trinkle problems only: A_NN and the other */
  size_t cap_A;
  perp_arena arena;
} perp_stagger;

/* Solvers and memory for up to max_n rows.  friction "": the default of each kind of friction.
 * Release with perp_stagger_close (also after failure).  qp: that of Stewart-Trinkle rows is a
 * quadratic program, and friction is "". PERP_ERR_OPTION: a solver that cannot be one of the parts,
 * or both. */
perp_status perp_stagger_open(perp_ctx *ctx, perp_stagger *stagger, int max_n, const char *normal,
                              const char *friction, bool qp);
void perp_stagger_close(perp_stagger *stagger);

/* Read p, and which of its rows are T.  stats->reason is PERP_UNSUITED, with the reason in ctx,
 * where that is not clear or a part cannot serve its problem.  Allocates where p is larger than all
 * before. */
perp_status perp_stagger_prepare(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp,
                                 perp_stats *stats);
static inline bool perp_stagger_coupled(const perp_stagger *stagger)
{
  return stagger->rows.friction || stagger->contacts.contacts > 0;
}

/* lambda_N from lambda_T, then lambda_T from lambda_N; lambda [n] in place, each part starts from
 * it.  *good: both say converged.  Two solves, their work added to stats; reason PERP_UNSUITED when
 * a part says so. */
perp_status perp_stagger_round(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp,
                               double tol, double *lambda, perp_stats *stats, bool *good);

/* Are the directions of p those of simplexes (e = f above)?  And the friction
 * problem q, with slacks, up to changes of an iteration of `impulse` in x, and of `data` in its
 * conditions (in units of the data; 0: not asked): x [q->n] in place, *good becomes false where
 * that took too many iterations. */
bool perp_stagger_qp_fits(const perp_stagger *stagger, const perp_lcp *lcp);
void perp_stagger_qp(perp_stagger *stagger, const perp_lcp *lcp, double impulse, double data,
                     double *x, perp_stats *stats, bool *good);

#endif
