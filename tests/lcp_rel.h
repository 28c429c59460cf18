/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge's rel written out once more from its definition, in long double and without the safeguard:
 * what the library's judge is judged by. */
#ifndef TESTS_LCP_REL_H
#define TESTS_LCP_REL_H

#include "solvers/lcp/lcp.h"

#include <math.h>

/* A: dense, column-major, n x n, also where p is factored. */
__attribute__((unused)) static double independent_rel(const perp_lcp *p, const double *A,
                                                      const double *x)
{
  int n = p->n;
  long double worst = 0, size = 0, w[2], a[2], y[2], r;
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
      size = fmaxl(size, fmaxl(fabsl((long double)x[i + k]), fabsl(p->b[i + k] / a[k])));
    }
    if (cone) {
      long double most = fmaxl(a[0], a[1]), normal = x[p->fric_of[i]];
      long double radius = normal > 0 ? p->mu[i] * normal : 0;
      y[0] = x[i] - w[0] / most;
      y[1] = x[i + 1] - w[1] / most;
      long double length = hypotl(y[0], y[1]);
      for (int k = 0; k < 2 && length > radius; k++) y[k] *= radius / length;
      r = hypotl(x[i] - y[0], x[i + 1] - y[1]);
      i++;
    } else {
      double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
      if (p->fric_of != NULL && p->fric_of[i] >= 0) {
        hi = p->mu[i] * fmax(x[p->fric_of[i]], 0);
        lo = -hi;
      }
      y[0] = x[i] - w[0] / a[0];
      if (y[0] < (long double)lo) y[0] = lo;
      if (y[0] > (long double)hi) y[0] = hi;
      r = fabsl(x[i] - y[0]);
    }
    bad |= !(r < HUGE_VALL);
    worst = fmaxl(worst, r);
  }
  return bad ? (double)NAN : (double)(worst / fmaxl(size, 2.2250738585072014e-308L));
}

#endif
