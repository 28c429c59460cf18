/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed distance of a point from a cylinder or a cone: a problem of the half-plane of its axis and
 * the point, where the body is a convex polygon (a rectangle, a triangle) with one side on the
 * axis. */
#include "models/geometry/convex.h"

#include <string.h>

enum { CORNERS = 4 };
static const double SLACK = 4e-15; /* of both bodies: rounding of a distance */

/* the polygon but for the axis, from the bottom to the top: along the axis, and from it; returns
 * the number of corners */
static int point_profile(const perp_convex *convex, double v[CORNERS][2])
{
  const double corner[CORNERS][2] = { { -convex->bottom, 0 },
                                      { -convex->bottom, convex->rim },
                                      { convex->top, convex->rim },
                                      { convex->top, 0 } };
  memcpy(v, corner, sizeof corner);
  if (convex->kind == PERP_CONVEX_CYLINDER) return 4;
  memcpy(v[2], corner[3], sizeof v[2]);
  return 3;
}

/* Signed distance of p; n: outward normal, foot: nearest point of the boundary. */
static double point_polygon(int corners, double v[CORNERS][2], const double p[2], double n[2],
                            double foot[2])
{
  double in = -HUGE_VAL, out = HUGE_VAL;
  for (int k = 0; k + 1 < corners; k++) {
    double t[2] = { v[k + 1][0] - v[k][0], v[k + 1][1] - v[k][1] };
    const double len = hypot(t[0], t[1]);
    for (int i = 0; i < 2; i++) t[i] /= len;
    double m[2] = { -t[1], t[0] };
    const double r[2] = { p[0] - v[k][0], p[1] - v[k][1] };
    const double s = r[0] * t[0] + r[1] * t[1], beyond = r[0] * m[0] + r[1] * m[1];
    const double *corner = s < 0 ? v[k] : s > len ? v[k + 1] : NULL;
    double distance = beyond, y[2] = { p[0] - beyond * m[0], p[1] - beyond * m[1] };
    if (beyond > 0 && corner != NULL) {
      distance = hypot(p[0] - corner[0], p[1] - corner[1]);
      for (int i = 0; i < 2; i++) y[i] = corner[i], m[i] = (p[i] - corner[i]) / distance;
    }
    const bool nearer = beyond > 0 ? distance < out : out == HUGE_VAL && beyond > in;
    if (beyond > 0 && nearer) out = distance;
    if (nearer) in = beyond, memcpy(n, m, sizeof m), memcpy(foot, y, sizeof y);
  }
  return out < HUGE_VAL ? out : in;
}

double perp_convex_point(const perp_convex *convex, const double x[3], double n[3], double y[3])
{
  double v[CORNERS][2], r[3], e[3], m[2] = { 1, 0 }, foot[2] = { 0 };
  perp_sub(x, convex->c, r);
  const double rho = perp_convex_outward(convex, r, e), p[2] = { perp_dot(3, r, convex->u), rho };
  const double distance = point_polygon(point_profile(convex, v), v, p, m, foot);
  for (int i = 0; i < 3; i++) {
    n[i] = m[0] * convex->u[i] + m[1] * e[i];
    y[i] = convex->c[i] + foot[0] * convex->u[i] + foot[1] * e[i];
  }
  return distance;
}

/* Is the ball of radius h around x in the core, up to slack?  d: the direction in which it touches
 * the surface if it is. */
static bool point_holds(const perp_convex *convex, const double x[3], const double d[3], double h,
                        double slack)
{
  double n[3], y[3], m[3], r[3], least = HUGE_VAL;
  switch (convex->kind) {
  case PERP_CONVEX_CYLINDER:
  case PERP_CONVEX_CONE:
    return -perp_convex_point(convex, x, n, y) >= h - slack;
  case PERP_CONVEX_HULL:
    perp_sub(x, convex->x, r);
    perp_turn_back(3, convex->R, r, m);
    for (int f = 0; f < convex->hull->n_faces; f++)
      if (!(convex->hull->d[f] - perp_dot(3, convex->hull->n + 3 * f, m) >= h - slack))
        return false;
    return true;
  case PERP_CONVEX_ELLIPSOID:
    /* of the points y on it with (I - t M) y = x that is the nearest one where I - t M is not
     * indefinite; M: of its quadric, t = h |E^T d| */
    perp_convex_support(convex, d, y);
    perp_along(y, -h, d, r);
    perp_sub(r, x, r);
    perp_turn_back(3, convex->E, d, m);
    for (int k = 0; k < 3; k++)
      least = fmin(least, perp_dot(3, convex->E + 3 * k, convex->E + 3 * k));
    return perp_norm(r) <= slack && h * perp_norm(m) <= least;
  default:
    return false;
  }
}

/* With the point x of one body; sign 1: of b, in a. */
static bool point_inscribed(const perp_convex *of, const double x[3], double sign, double slack,
                            perp_convex_best *best)
{
  const double d[3] = { sign * best->d[0], sign * best->d[1], sign * best->d[2] };
  if (!point_holds(of, x, d, best->h, slack)) return false;
  double y[3];
  perp_along(x, best->h, d, y); /* where the ball touches the plane along d that bounds `of` */
  if (!best->exact) {
    memcpy(sign > 0 ? best->b : best->a, x, 3 * sizeof *x);
    memcpy(sign > 0 ? best->a : best->b, y, sizeof y);
  }
  best->off = best->exact ? best->off : 0;
  best->exact = true;
  return true;
}

double perp_convex_inner(const perp_convex *convex)
{
  const double high = convex->top + convex->bottom, rim = convex->rim;
  if (convex->kind == PERP_CONVEX_CYLINDER) return fmin(rim, 0.5 * high);
  if (convex->kind == PERP_CONVEX_CONE) return rim * high / (rim + sqrt(rim * rim + high * high));
  return 0;
}

/* Are there balls of radii that add up to best->h around one point between best->a and b, one in
 * each core? */
static bool point_both(const perp_convex *a, const perp_convex *b, double slack,
                       const perp_convex_best *best)
{
  const double *d = best->d, back[3] = { -d[0], -d[1], -d[2] }, inner_a = perp_convex_inner(a),
               all = inner_a + perp_convex_inner(b), of_a = best->h * inner_a / all;
  double x[3];
  if (!(all > 0)) return false;
  perp_along(best->a, -of_a, d, x);
  return point_holds(a, x, d, of_a, slack) && point_holds(b, x, back, best->h - of_a, slack);
}

bool perp_convex_inscribed(const perp_convex *a, const perp_convex *b, perp_convex_best *best)
{
  const double slack = SLACK * (a->size + b->size + perp_norm(b->c));
  perp_convex_vertex at;
  if (!(best->h >= 0)) return false;
  if (best->exact &&
      (point_inscribed(a, best->b, 1, slack, best) ||
       point_inscribed(b, best->a, -1, slack, best) || point_both(a, b, slack, best)))
    return true;
  perp_convex_vertex_at(a, b, best->d, &at);
  return point_inscribed(a, at.b, 1, slack, best) || point_inscribed(b, at.a, -1, slack, best);
}
