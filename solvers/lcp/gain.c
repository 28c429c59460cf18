/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/gain.h"

#include <float.h>
#include <math.h>
#include <string.h>

double perp_lcp_rating(const perp_lcp *lcp, const double *a, const double *lambda, const double *w)
{
  double rel, data;
  perp_lcp_rate(lcp, a, lambda, w, &rel, &data);
  return isnan(rel) || isnan(data) ? (double)NAN : fmax(rel, PERP_USABLE * data);
}

/* sum_i a_i |natural map|_i^2 / 2, J: what it would take to mend each row if there were no others
 */
static double gain_alone(const perp_lcp *lcp, const double *a, const double *lambda,
                         const double *w)
{
  double sum = 0;
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi, s = a[i], r;
    perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
    if (perp_lcp_is_cone(lcp, i)) {
      s = fmax(s, a[i + 1]);
      const double x = lambda[i] - w[i] / s, y = lambda[i + 1] - w[i + 1] / s;
      const double length = hypot(x, y), scale = length > hi ? hi / length : 1;
      r = hypot(lambda[i] - scale * x, lambda[i + 1] - scale * y);
      i++;
    } else {
      r = fmax(fmin(w[i] / s, lambda[i] - lo), lambda[i] - hi);
    }
    sum += 0.5 * s * r * r;
  }
  return sum;
}

double perp_lcp_gain(const perp_lcp *lcp, const double *a, double mass, const double *lambda,
                     const double *w, double *none, double *w0, double *scratch)
{
  bool any = false;
  double change = 0, work = 0, excess = 0, speed = DBL_MIN;
  for (int i = 0; i < lcp->n; i++) {
    const bool friction = lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
    const double lo = lcp->lo != NULL ? lcp->lo[i] : 0,
                 hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
    none[i] = friction ? 0 : fmin(fmax(0, lo), hi);
    any |= none[i] != 0;
  }
  if (any)
    perp_lcp_product(lcp, none, w0, scratch);
  else
    memcpy(w0, lcp->b, (size_t)lcp->n * sizeof *w0);
  for (int i = 0; i < lcp->n; i++) {
    change = fmax(change, fabs(w[i] - w0[i]));
    work += 0.5 * (lambda[i] - none[i]) * (w[i] - w0[i]);
    excess += fmax((lambda[i] - none[i]) * w[i], 0);
    speed = fmax(speed, fabs(w0[i]));
  }
  if (change == 0) return 0;
  if (!isfinite(work)) return HUGE_VAL;
  const double alone = gain_alone(lcp, a, none, w0), together = 0.5 * mass * speed * speed;
  return fmax(change / speed,
              sqrt(fmax(fabs(work), excess) / fmax(fmax(alone, together), DBL_MIN)));
}

bool perp_lcp_better(perp_lcp_candidate now, perp_lcp_candidate best)
{
  const double a = fmax(now.gain, PERP_THROWN);
  const double b = fmax(best.gain, PERP_THROWN);
  return a != b ? a < b : now.rating < best.rating;
}
