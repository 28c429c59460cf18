/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics for comparing two sets of timings. */
#ifndef PERP_ROBUST_H
#define PERP_ROBUST_H

#include "solvers/core/core.h"

/* One cell measured twice: n and m rounds. */
typedef struct perp_pair {
  int n, m;
  const double *base, *now; /* [n], [m], all > 0 */
} perp_pair;

typedef struct perp_shift {
  int pairs;
  double ratio;  /* median over the pairs of min(now) / min(base): > 1 is slower */
  double lo, hi; /* 99 % bootstrap interval of the same, rounds and pairs drawn again */
  double
      p_slower; /* one-sided Mann-Whitney test, the pairs as strata (normal approximation, ties halved) */
  double p_faster;
} perp_shift;

/* How much slower is now than base?  The minimum over rounds is the estimate, as what disturbs a run only ever
 * makes it slower; the interval and the test guard it against luck.  Deterministic for one seed.
 * O(1000 * rounds + pairs * n m).  Allocates; PERP_ERR_NOMEM. */
perp_status perp_shift_of(perp_ctx *ctx, const perp_pair *pair, int pairs, uint64_t seed,
                          perp_shift *s);

#endif
