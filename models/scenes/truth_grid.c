/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of a reference that is known on a grid. */
#include "models/scenes/build.h"

#include <math.h>

bool perp_truth_same(double t, double grid)
{
  return fabs(t - grid) <= 1e-10 * fmax(1, fabs(grid));
}

int perp_truth_first(const double *row, int n, int width, double t)
{
  int lo = 0, hi = n;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    const double grid = row[(size_t)mid * (size_t)(1 + width)];
    if (grid < t && !perp_truth_same(t, grid))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}
