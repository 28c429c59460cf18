/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge's `own` written out once more from its definition (docs/explanation/lcp-judge.md), in
 * plain loops over a dense A in long double: what the library's judge is judged by, where the
 * numbers are tame; tests/oracle has the rest. */
#ifndef TESTS_LCP_OWN_H
#define TESTS_LCP_OWN_H

#include "solvers/lcp/lcp.h"

#include <math.h>

enum { OWN_ROWS = 128 };

struct own_parts {
  const perp_lcp *p;
  const double *A, *x;
  long double xi[OWN_ROWS], sigma[OWN_ROWS], unit[OWN_ROWS]; /* unit: 1 / l */
  bool counts[OWN_ROWS];
};

static bool own_friction(const perp_lcp *p, int j)
{
  return p->fric_of != NULL && p->fric_of[j] >= 0 && !p->frozen;
}

static void own_units(struct own_parts *q)
{
  const int n = q->p->n;
  for (int j = 0; j < n; j++) {
    q->unit[j] = 0;
    for (int k = 0; k < n; k++) {
      const long double a = fabsl((long double)q->A[k + j * n]);
      if (q->counts[k] && a > 0) q->unit[j] = fmaxl(q->unit[j], a / q->sigma[k]);
    }
  }
}

/* Has row i, without data of its own, a multiplier that is no rounding? */
static bool own_joins(const struct own_parts *q, int i, bool last)
{
  const perp_lcp *p = q->p;
  for (int j = 0; j < p->n; j++) {
    if (q->A[i + j * p->n] == 0) continue;
    const long double x = fabsl((long double)q->x[j]);
    const double bound[2] = { p->lo != NULL ? p->lo[j] : 0, p->hi != NULL ? p->hi[j] : HUGE_VAL };
    for (int side = 0; side < 2 && !own_friction(p, j); side++) {
      if (bound[side] == 0 || isinf(bound[side])) continue;
      if ((bound[side] > 0) == (side == 0) || x >= 0.5L * fabs(bound[side]) ||
          fabs(bound[side]) * q->unit[j] < 2e-10L)
        return true;
    }
    if (q->xi[j] > 0 && (q->unit[j] > 0 ? q->xi[j] * q->unit[j] >= 1e-11L : last)) return true;
  }
  return false;
}

static void own_count(struct own_parts *q)
{
  const int n = q->p->n;
  for (int i = 0; i < n; i++) q->counts[i] = q->p->b[i] != 0;
  for (bool last = false, more = true; more || !last;) {
    bool now[OWN_ROWS];
    last = last || !more;
    more = false;
    own_units(q);
    for (int i = 0; i < n; i++) now[i] = q->counts[i] || own_joins(q, i, last);
    for (int i = 0; i < n; i++) {
      more = more || now[i] != q->counts[i];
      q->counts[i] = now[i];
    }
  }
  own_units(q);
}

/* (x - bound) / l */
static long double own_away(double x, double bound, long double unit)
{
  if (x == bound) return 0;
  return unit > 0 ? ((long double)x - bound) * unit : x > bound ? HUGE_VALL : -HUGE_VALL;
}

/* A: dense, column-major, n x n, also where p is factored */
__attribute__((unused)) static double independent_own(const perp_lcp *p, const double *A,
                                                      const double *x)
{
  const int n = p->n;
  struct own_parts q = { .p = p, .A = A, .x = x };
  long double worst = 0, w[OWN_ROWS];
  for (int j = 0; j < n; j++) {
    q.xi[j] = fabsl((long double)x[j]);
    const int row = j > 0 && p->cone != NULL && p->cone[j - 1] ? j - 1 : j;
    if (own_friction(p, j))
      q.xi[j] = fmaxl(q.xi[j], (long double)p->mu[row] * fmax(x[p->fric_of[j]], 0));
  }
  for (int i = 0; i < n; i++) {
    w[i] = p->b[i];
    q.sigma[i] = fabs(p->b[i]);
    for (int j = 0; j < n; j++) {
      w[i] += (long double)A[i + j * n] * x[j];
      q.sigma[i] += fabsl((long double)A[i + j * n]) * q.xi[j];
    }
  }
  own_count(&q);
  for (int i = 0; i < n; i++) {
    double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    if (own_friction(p, i)) {
      hi = p->mu[i] * fmax(x[p->fric_of[i]], 0);
      lo = -hi;
    }
    long double r;
    if (p->cone != NULL && p->cone[i]) {
      const long double sigma = hypotl(q.sigma[i], q.sigma[i + 1]);
      const long double l = 1 / fmaxl(q.unit[i], q.unit[i + 1]);
      if (sigma == 0) {
        i++;
        continue;
      }
      long double y[2] = { w[i] / sigma, w[i + 1] / sigma };
      const long double z[2] = { x[i] / l - y[0], x[i + 1] / l - y[1] }, size = hypotl(z[0], z[1]);
      for (int k = 0; k < 2 && size * l > hi; k++) y[k] = x[i + k] / l - z[k] * (hi / l / size);
      r = hypotl(y[0], y[1]);
      i++;
    } else {
      long double y = q.sigma[i] > 0 ? w[i] / q.sigma[i] : 0, most = 0;
      for (int j = 0; j < n && !q.counts[i]; j++)
        if (A[i + j * n] != 0) most = fmaxl(most, q.xi[j] * q.unit[j]);
      if (!q.counts[i]) y = fminl(fmaxl(y, -most), most); /* right without its multipliers */
      r = fabsl(fmaxl(fminl(y, own_away(x[i], lo, q.unit[i])), own_away(x[i], hi, q.unit[i])));
    }
    worst = fmaxl(worst, r);
  }
  return (double)worst;
}

#endif
