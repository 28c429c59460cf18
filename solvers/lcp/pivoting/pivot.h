/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the pivoting solvers share: the problem in dense form with explicit bounds and row scales,
 * products with chosen columns, the generic numbers that break ties, the last check.  Private
 * header. */
#ifndef PERP_LCP_PIVOT_H
#define PERP_LCP_PIVOT_H

#include "solvers/lcp/lcp.h"

#include <math.h>

/* Relative to the judge's scale of lambda: what counts as zero in a sign or ratio test, and what
 * the last check lets pass.  The first lies well above rounding of well-scaled data (1e-16 times a
 * modest growth), the second below the accuracy that is asked for (1e-10). */
#define PERP_PIVOT_ZERO 1e-12
#define PERP_PIVOT_DONE 1e-11

/* fmax and fmin are calls; these compile to one instruction (the second operand where the first is
 * NaN) */
static inline double perp_larger(double a, double b)
{
  return a > b ? a : b;
}
static inline double perp_smaller(double a, double b)
{
  return a < b ? a : b;
}

typedef struct perp_pivot {
  int n, max_n;
  const double *A; /* [lda * n] the caller's, both triangles */
  size_t lda;
  const double *b;
  double *lo, *hi; /* [n] explicit */
  double *a;       /* [n] max_j |A_ij|, for a zero row that of the largest */
  double bscale;   /* max_i |b_i| / a_i */
  double *r;       /* [n] scratch */
  double afford;   /* work of the caller, 0: no limit */
  double product;  /* work of a product with A */
  bool brief;      /* the problem is one of a time step */
  /* compressed columns, when few entries are not zero */
  int sparse, *ptr, *idx; /* [n+1], [nnz] */
  double *val;
  int max_nnz;
} perp_pivot;

/* Carve the arrays of a perp_pivot with its max_n. */
void perp_pivot_layout(void *P, perp_arena *arena);
/* Take over a problem with dense A: bounds, row scales, nonzero entries.  PERP_ERR_DIM when it is
 * larger than the workspace.   O(n^2), no allocation. */
perp_status perp_pivot_take(perp_ctx *ctx, perp_pivot *pivot, const perp_lcp *lcp);
/* The same for a problem whose A (and n) is that of the call before, as the caller asserts: b and
 * bounds only.   O(n). */
void perp_pivot_retake(perp_pivot *pivot, const perp_lcp *lcp);
static inline bool perp_pivot_spent(const perp_pivot *pivot, const perp_stats *stats)
{
  return pivot->afford > 0 && stats->work >= pivot->afford;
}
/* Work of perp_pivot_columns, or of perp_pivot_slack with k entries that are not zero. */
static inline double perp_pivot_cost(const perp_pivot *pivot, int k)
{
  return k * (pivot->product / (pivot->n > 0 ? pivot->n : 1));
}
/* y += sum_j x[j] A[:, idx[j]], j = 0 ... k-1.   O(n k), or the entries that are not zero. */
void perp_pivot_columns(const perp_pivot *pivot, int k, const int *idx, const double *x, double *y);
/* w = A lambda + b, skipping zeros of lambda. */
void perp_pivot_slack(const perp_pivot *pivot, const double *lambda, double *w);
/* The judge's rel of (lambda, w) for plain boxes: max_i |lambda - clamp(lambda - w/a)| over the
 * scale; 1 when lambda is so large that b does not show in w. */
double perp_pivot_residual(const perp_pivot *pivot, const double *lambda, const double *w);
/* Does v prove that no lambda in the box makes A lambda + b complementary-feasible?  v must be a
 * recession direction of the box with  max over the box of v'(A lambda + b) < 0; true for v'b < 0,
 * A'v = 0.  O(n k) for k entries of v. */
int perp_pivot_proves_infeasible(perp_pivot *pivot, const double *v);
/* Clamp lambda to the bounds, outside time steps also put what is rounding beside its own w on its
 * bound; w and what perp_pivot_residual says of it. */
double perp_pivot_settle(const perp_pivot *pivot, double *lambda, double *w);
/* The i-th of a fixed sequence of numbers in [1, 2) without arithmetic relations between them. */
double perp_pivot_generic(int i);

/* ---- the ratio test ---- */

/* What may stop a step: a variable that moves towards a bound. */
typedef struct perp_stop {
  int what, row, to; /* the caller's: what meets its end in which row, where the row goes */
  bool ends;         /* comes before all others that stop as early */
  double rate;       /* > 0: speed towards the bound */
  double theta,
      theta_p;  /* step; derivative of the distance under the perturbation, then that of the step */
  double noise; /* of path_follow.c */
} perp_stop;

typedef struct perp_stops {
  perp_stop *at; /* room for all that move */
  int count;
  double limit; /* from HUGE_VAL: the longest step that takes nothing beyond its reach */
} perp_stops;

/* One more, at `distance` from its bound; reach: the distance with what counts as zero beyond
 * it. */
static inline void perp_stops_add(perp_stops *stops, double distance, double reach, perp_stop stop)
{
  stop.theta = distance / stop.rate;
  stops->limit = perp_smaller(stops->limit, reach / stop.rate);
  if (!(stop.theta > stops->limit)) stops->at[stops->count++] = stop;
}
/* Only those that the longest step reaches are left, in their order.  Returns their number, 0:
 * nothing stops it. */
int perp_stops_end(perp_stops *stops);
/* Of these the one that ends, else the one with the least perturbed ratio. */
const perp_stop *perp_stops_least(const perp_stops *stops);

#endif
