/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics for comparing two sets of timings. */
#ifndef PERP_ROBUST_H
#define PERP_ROBUST_H

#include "solvers/core/core.h"

/* Sorts v [n > 0]; linear interpolation between order statistics. */
double perp_quantile(double *v, int n, double level);

/* One cell measured twice: n and m rounds. */
typedef struct perp_pair {
  int n, m;
  const double *base, *now; /* [n], [m], all > 0 */
} perp_pair;

/* One cell measured in n blocks base, now, now, base: log(now / base) of each block, of the
 * geometric means. */
typedef struct perp_blocks_of_cell {
  int n;
  const double *log_ratio; /* [n] */
} perp_blocks_of_cell;

typedef struct perp_shift {
  int pairs;
  double ratio;    /* > 1 is slower: the median over the cells */
  double lo, hi;   /* 99 % bootstrap interval of the same, rounds (blocks) and cells drawn again */
  double p_slower; /* one-sided rank test, cells as strata (normal approximation, ties halved) */
  double p_faster;
} perp_shift;

/* How much slower is now than base?  A cell counts with the quantile `level` of its rounds: 0, the
 * minimum, for plain times, as what disturbs a run only ever makes it slower; more for times in
 * units of a pace, which err to both sides.  The interval and the test (Mann-Whitney) guard it
 * against luck.  draws: of the bootstrap, 1000 for an interval, 0 for none; deterministic.  O(draws
 * * rounds log rounds + pairs * n m).  Allocates; PERP_ERR_NOMEM. */
perp_status perp_shift_of(perp_ctx *ctx, const perp_pair *pair, int pairs, double level, int draws,
                          perp_shift *shift);

/* The same from blocks: what drifts more slowly than a block, and what strikes both alike, is not
 * in them.  A cell counts with the median of its blocks; the test is Wilcoxon's signed-rank test.
 */
perp_status perp_shift_of_blocks(perp_ctx *ctx, const perp_blocks_of_cell *cell, int cells,
                                 int draws, perp_shift *shift);

/* What perp compare says: 1 slower, -1 faster, 0 neither.  Slower is more than 1 + tol times, with
 * the lower end of the interval beyond 1 + tol / 2 and a p below 0.001; faster is the mirror image.
 */
int perp_shift_verdict(const perp_shift *shift, double tol);

#endif
