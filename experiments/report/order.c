/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/order.h"

#include "experiments/base/expr.h"

#include <math.h>

/* Slope between neighbours i and i + 1 in logarithms; NaN where a point is unusable. */
static double slope_at(const double *h, const double *err, int i)
{
  if (!(err[i] > 0) || !(err[i + 1] > 0) || !(h[i] > 0) || !(h[i + 1] > h[i]) || isinf(err[i]) ||
      isinf(err[i + 1]))
    return (double)NAN;
  return log(err[i + 1] / err[i]) / log(h[i + 1] / h[i]);
}

perp_order perp_observed_order(const double *h, const double *err, int n)
{
  enum { LEAST = 3 };
  const double straight = 0.2;
  perp_order best = { (double)NAN, 0, -1 };
  for (int first = 0; first + 1 < n; first++) {
    double before = slope_at(h, err, first);
    if (isnan(before)) continue;
    int last = first + 1;
    while (last + 1 < n) {
      double next = slope_at(h, err, last);
      if (isnan(next) || fabs(next - before) >= straight) break;
      before = next;
      last++;
    }
    if (last - first + 1 >= LEAST && last - first > best.last - best.first) {
      best.first = first;
      best.last = last;
    }
  }
  if (best.last > best.first)
    best.slope = perp_log_slope(h + best.first, err + best.first, best.last - best.first + 1);
  return best;
}
