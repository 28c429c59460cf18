/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closest points of segments. */
#include "models/collision/pairs.h"

/* squared distance of p + s u to q + t w */
static double segments_apart(const double p[3], const double u[3], const double q[3],
                             const double w[3], double s, double t)
{
  double d = 0;
  for (int i = 0; i < 3; i++) {
    double x = (q[i] + t * w[i]) - (p[i] + s * u[i]);
    d += x * x;
  }
  return d;
}

double perp_onto(const double p[3], const double u[3], const double x[3])
{
  double d[3], uu = perp_dot(3, u, u);
  perp_sub(x, p, d);
  return uu > 0 ? perp_clamp01(perp_dot(3, d, u) / uu) : 0;
}

double perp_segments(const double p[3], const double u[3], const double q[3], const double w[3],
                     double *s, double *t)
{
  /* the minimum is at the common perpendicular when that meets both, else at an end: five
   * candidates, none of which needs the lines to be far from parallel */
  double end[3], best = HUGE_VAL;
  for (int k = 0; k < 4; k++) {
    double sk, tk;
    if (k < 2) {
      sk = k;
      perp_along(p, sk, u, end);
      tk = perp_onto(q, w, end);
    } else {
      tk = k - 2;
      perp_along(q, tk, w, end);
      sk = perp_onto(p, u, end);
    }
    double d = segments_apart(p, u, q, w, sk, tk);
    if (d < best) best = d, *s = sk, *t = tk;
  }
  double d[3], c[3];
  perp_sub(q, p, d);
  perp_cross(u, w, c);
  double cc = perp_dot(3, c, c);
  if (cc <= 1e-28 * perp_dot(3, u, u) * perp_dot(3, w, w)) return best;
  double dw[3], du[3];
  perp_cross(d, w, dw);
  perp_cross(d, u, du);
  double sk = perp_dot(3, dw, c) / cc, tk = perp_dot(3, du, c) / cc;
  if (sk < 0 || sk > 1 || tk < 0 || tk > 1) return best;
  double inner = segments_apart(p, u, q, w, sk, tk);
  if (inner <= best) best = inner, *s = sk, *t = tk;
  return best;
}
