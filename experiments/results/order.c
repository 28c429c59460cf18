/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/order.h"

#include "experiments/expr/expr.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* Slope between neighbours i and i + 1 in logarithms; NaN where a point is unusable. */
static double slope_at(const double *h, const double *err, int i, double noise)
{
  if (!(err[i] > noise) || !(err[i + 1] > noise) || !(h[i] > 0) || !(h[i + 1] > h[i]) ||
      isinf(err[i]) || isinf(err[i + 1]))
    return (double)NAN;
  return log(err[i + 1] / err[i]) / log(h[i + 1] / h[i]);
}

perp_order perp_observed_order(const double *h, const double *err, int n, double noise)
{
  enum { LEAST = 3 };
  const double straight = 0.2, flat = 0.25;
  perp_order best = { (double)NAN, 0, -1 };
  for (int first = 0; first + 1 < n; first++) {
    double before = slope_at(h, err, first, noise);
    if (isnan(before)) continue;
    int last = first + 1;
    while (last + 1 < n) {
      double next = slope_at(h, err, last, noise);
      if (isnan(next) || fabs(next - before) >= straight) break;
      before = next;
      last++;
    }
    if (last - first + 1 < LEAST || last - first <= best.last - best.first) continue;
    const double slope = perp_log_slope(h + first, err + first, last - first + 1);
    if (slope >= flat) best = (perp_order){ slope, first, last };
  }
  return best;
}

perp_power perp_power_law(const double *x, const double *y, int n, double noise)
{
  const double none = (double)NAN;
  perp_power power = { none, none, none, HUGE_VAL, 0 };
  double *slope = perp_xalloc((size_t)n * (size_t)n / 2 + 1, sizeof *slope);
  bool third = false;
  int k = 0;
  for (int i = 0; i < n; i++) {
    if (!(x[i] > 0) || !(y[i] > noise) || !isfinite(x[i]) || !isfinite(y[i])) continue;
    power.from = fmin(power.from, x[i]);
    power.to = fmax(power.to, x[i]);
    for (int j = 0; j < i; j++)
      if (x[j] > 0 && y[j] > noise && isfinite(x[j]) && isfinite(y[j]) && x[i] != x[j])
        slope[k++] = log(y[i] / y[j]) / log(x[i] / x[j]);
  }
  for (int i = 0; i < n; i++)
    third = third || (y[i] > noise && isfinite(y[i]) && x[i] > power.from && x[i] < power.to);
  if (third) {
    gsl_sort(slope, 1, (size_t)k);
    power.lo = gsl_stats_quantile_from_sorted_data(slope, 1, (size_t)k, 0.25);
    power.hi = gsl_stats_quantile_from_sorted_data(slope, 1, (size_t)k, 0.75);
    if (power.hi - power.lo <= 1)
      power.slope = gsl_stats_median_from_sorted_data(slope, 1, (size_t)k);
  }
  free(slope);
  return power;
}
