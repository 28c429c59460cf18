/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditions of an LCP as an exact dictionary (exact.h).  Private header. */
#ifndef PERP_LCP_EXACT_LCP_H
#define PERP_LCP_EXACT_LCP_H

#include "solvers/lcp/exact.h"

/* Variables: j < n is lambda_j from its finite bound on (lo + x, or hi - x where only hi is finite,
 * lo where both are), or x itself where there is none; a friction row t counts from its lower
 * limit, s = lambda_t + mu lambda_n. w[i] >= n is the variable of w_i (of -w_i where only hi is
 * finite), limit[t] that of 2 mu lambda_n - s. */
typedef struct perp_exact_lcp {
  perp_exact E;
  const perp_lcp *p;
  int *w, *limit; /* [n]; -1: not there */
  double *mu, *p0,
      *p1; /* [n] of friction rows; cones: (p0, p1) is the direction of the first axis */
} perp_exact_lcp;

/* keep [n]: the rows of w that are wanted.  u [n]: where the tangential parts of cones point to,
 * for their outer square; NULL: along the axes.  Friction of a normal row with lo < 0 is relaxed to
 * constant limits. */
void perp_exact_lcp_new(perp_exact_lcp *X, const perp_lcp *p, const bool *keep, const double *u,
                        int64_t budget);
void perp_exact_lcp_free(perp_exact_lcp *lcp);

/* Is there no solution at all?  Branches on complementarity, each part in exact arithmetic:
 * IMPOSSIBLE when all are excluded; POSSIBLE with a solution in lambda [n] (rounded).  first [n]
 * (may be NULL): PERP_ROW_LO ... of each row, the part that is looked at before all others.  SPENT
 * when the budget does not suffice, or n > 20, a cone, or a normal row with lo < 0 is there. */
enum perp_exact_answer perp_exact_exclude(const perp_lcp *lcp, int64_t budget,
                                          const signed char *first, double *lambda);

static inline bool perp_exact_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
}

/* The bounds of row i, and on which sides it has none; a friction row has them on both. */
typedef struct perp_exact_sides {
  double lo, hi;
  bool down, up;
} perp_exact_sides;
static inline perp_exact_sides perp_exact_sides_of(const perp_lcp *lcp, int i)
{
  perp_exact_sides sides = { 0, 0, false, false };
  if (perp_exact_is_friction(lcp, i)) return sides;
  perp_lcp_bounds(lcp, NULL, i, &sides.lo, &sides.hi);
  sides.down = sides.lo == -__builtin_inf();
  sides.up = sides.hi == __builtin_inf();
  return sides;
}

#endif
