/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge's rel written out once more from its definition, in long double and without the
 * safeguard: what the library's judge is judged by, where the numbers are tame; tests/oracle has
 * the rest. */
#ifndef TESTS_LCP_REL_H
#define TESTS_LCP_REL_H

#include "solvers/lcp/lcp.h"

#include <math.h>

/* A: dense, column-major, n x n, also where p is factored.  *data: D_b */
__attribute__((unused)) static double independent_parts(const perp_lcp *p, const double *A,
                                                        const double *x, double *data)
{
  int n = p->n;
  long double worst = 0, size = 0, w[2], a[2], y[2], r, D = 0, rest = HUGE_VALL;
  long double largest = 0; /* scale of zero rows */
  bool bad = false;
  for (int k = 0; k < n * n; k++) largest = fmaxl(largest, fabsl((long double)A[k]));
  if (largest == 0) largest = 1;
  for (int i = 0; i < n; i++) {
    bool cone = p->cone != NULL && p->cone[i];
    for (int k = 0; k <= cone; k++) {
      w[k] = p->b[i + k];
      a[k] = 0;
      for (int j = 0; j < n; j++) {
        w[k] += (long double)A[i + k + j * n] * x[j];
        a[k] = fmaxl(a[k], fabsl((long double)A[i + k + j * n]));
      }
      if (a[k] == 0) a[k] = largest;
      size = fmaxl(size, fabsl((long double)x[i + k]));
    }
    long double slack, b = fabs(p->b[i]), pull = fabsl(w[0]), scale = a[0];
    if (cone) {
      long double most = fmaxl(a[0], a[1]), normal = x[p->fric_of[i]];
      long double radius = normal > 0 ? p->mu[i] * normal : 0;
      /* lambda - P(lambda - y) without the difference where lambda - y is inside, and else with the
       * part of it that the projection takes away: no y is lost beside lambda */
      long double z[2];
      for (int k = 0; k < 2; k++) {
        y[k] = w[k] / most;
        z[k] = x[i + k] - y[k];
      }
      long double length = hypotl(z[0], z[1]), l = hypotl(x[i], x[i + 1]);
      long double over = (l - radius) * (l + radius) - 2 * (x[i] * y[0] + x[i + 1] * y[1]) +
                         y[0] * y[0] + y[1] * y[1];
      long double cut = over > 0 ? over / (length * (length + radius))
                                 : 0; /* (|z| - radius) / |z| */
      r = hypotl(y[0] + cut * z[0], y[1] + cut * z[1]);
      scale = most;
      slack = most * fmaxl(length - radius, 0);
      pull = hypotl(w[0], w[1]);
      b = hypotl(b, p->b[i + 1]);
      i++;
    } else {
      double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
      if (p->fric_of != NULL && p->fric_of[i] >= 0) {
        hi = p->mu[i] * fmax(x[p->fric_of[i]], 0);
        lo = -hi;
      }
      y[0] = w[0] / a[0];
      if (y[0] > (long double)x[i] - lo) y[0] = (long double)x[i] - lo;
      if (y[0] < (long double)x[i] - hi) y[0] = (long double)x[i] - hi;
      r = fabsl(y[0]);
      slack = fabsl(w[0] - a[0] * y[0]);
      if (lo < hi && (p->fric_of == NULL || p->fric_of[i] < 0))
        rest = fminl(rest, slack > 0x1p-40L * pull ? slack / scale : 0);
    }
    if (slack <= 0x1p-40L * pull) slack = 0;
    if (b - slack > 0x1p-40L * (b + (slack > 0 ? pull : 0))) D = fmaxl(D, (b - slack) / scale);
    bad |= !(r < HUGE_VALL);
    worst = fmaxl(worst, r);
  }
  if (rest < HUGE_VALL) D = fmaxl(D, rest);
  *data = (double)D;
  return bad ? (double)NAN : (double)(worst / fmaxl(fmaxl(size, D), 2.2250738585072014e-308L));
}

__attribute__((unused)) static double independent_rel(const perp_lcp *p, const double *A,
                                                      const double *x)
{
  double data;
  return independent_parts(p, A, x, &data);
}

#endif
