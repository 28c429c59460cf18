/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are numbers numbers?  Not installed. */
#ifndef PERP_FINITE_H
#define PERP_FINITE_H

#include <stdbool.h>

/* Is each of them finite?  0 * x is 0 of finite x and NaN of others; four sums, because each must
 * wait for its own only. */
static inline bool perp_finite(int n, const double *x)
{
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += 0 * x[i];
    s1 += 0 * x[i + 1];
    s2 += 0 * x[i + 2];
    s3 += 0 * x[i + 3];
  }
  for (; i < n; i++) s0 += 0 * x[i];
  return s0 + s1 + s2 + s3 == 0;
}

/* The integer part of a number from outside, within [-most, most]; 0 of NaN.  A conversion of what
 * does not fit has no defined result. */
static inline int perp_whole(double x, int most)
{
  return x >= most ? most : x <= -most ? -most : x == x ? (int)x : 0;
}

#endif
