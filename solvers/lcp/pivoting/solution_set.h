/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All solutions of a small complementarity problem, as the sets that they form.
 *
 * With the rows split into those at lo, at hi and free, the conditions are linear: each split has a
 * polyhedron of solutions, mostly empty.  The solution set is the union of these polyhedra. */
#ifndef PERP_LCP_SOLUTION_SET_H
#define PERP_LCP_SOLUTION_SET_H

#include "solvers/lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets that a row may belong to in a solution, as bits. */
enum { PERP_SET_LO = 1, PERP_SET_FREE = 2, PERP_SET_HI = 4 };

/* sets [n] out: the sets of each row at lambda, w = A lambda + b [n], to the tolerance zero >= 0.
 *      FREE                |w_i| <= zero (|A||lambda| + |b|)_i
 *      LO (with w_i >= 0 or FREE), HI (with w_i <= 0 or FREE)
 *                          the distance to the bound is at most zero times lambda_i or the bound,
 *                          or changes no w_k by more than zero (|A||lambda| + |b|)_k.
 * Both LO and HI where the two bounds agree (lo = hi, mu = 0); then the sign of w does not matter,
 * nor that of friction rows whose normal row is at 0 with w > 0.  0: neither, lambda is no
 * solution. Two bits elsewhere: strict complementarity fails.  scratch [n].  A dense or sparse, no
 * circular cones.  O(n^2), no allocation. */
void perp_lcp_row_sets(const perp_lcp *lcp, const double *lambda, const double *w, double zero,
                       unsigned char *sets, double *scratch);

/* A maximal set of basic solutions of one polyhedron; with `bounded` their convex hull is that
 * polyhedron, else it has a direction in which lambda may go on without end. */
typedef struct perp_lcp_part {
  int count, *member;  /* [count] solutions */
  int dimension;       /* of the convex hull of the members: 0 a point, 1 a segment, ... */
  bool bounded, known; /* known false: the budget did not suffice to tell */
  double *ray;         /* [n] such a direction, largest entry 1; NULL: bounded or not known */
} perp_lcp_part;

typedef struct perp_lcp_solutions {
  int n, count;
  double *lambda, *w;            /* [n count] basic solutions, one after the other */
  unsigned char *sets;           /* [n count] PERP_SET_* */
  perp_lcp_judgement *judgement; /* [count] */
  perp_reason *verdict;          /* [count] PERP_CONVERGED or PERP_UNDECIDED */
  int rejected;                  /* candidates that the judge did not accept: not among them */
  bool complete;                 /* no index set was left out */
  int parts;                     /* -1: not grouped, there are more than PERP_SOLUTIONS_MOST */
  perp_lcp_part *part;           /* [parts] */
} perp_lcp_solutions;

/* Most basic solutions, and parts: with more the search ends and is not complete. */
enum { PERP_SOLUTIONS_MOST = 4096 };

/* All basic solutions of perp_lcp_all_solutions, with accept = 1e-9, judged at tol and
 * lcp->tol_data by perp_lcp_judge, and the sets that they form, to zero (as above).  The directions
 * of unbounded sets are found in exact arithmetic.  Limits, errors and cost as
 * perp_lcp_all_solutions (n <= 20, at most 2^22 index sets, dense A, no cones); *out is empty after
 * an error.  Allocates. */
perp_status perp_lcp_solutions_find(perp_ctx *ctx, const perp_lcp *lcp, double tol, double zero,
                                    perp_lcp_solutions *out);
void perp_lcp_solutions_free(perp_lcp_solutions *solutions); /* leaves an empty one; NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
