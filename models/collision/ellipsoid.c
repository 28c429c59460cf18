/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An ellipsoid at a plane (closed form) and at a sphere.
 *
 * The closest point x of the ellipsoid sum (x_i / e_i)^2 = 1 to a point y solves x_i = e_i^2 y_i /
 * (t + e_i^2) with the largest root t of sum (e_i y_i / (t + e_i^2))^2 = 1.  In tau = 1 + t /
 * e_min^2, z_i = y_i / e_i and r_i = (e_i / e_min)^2,
 *
 *      G(tau) = sum (r_i z_i / (tau + r_i - 1))^2 - 1 = 0
 *
 * is convex and falls monotonically on the bracket below, so that Newton's method from the left
 * converges without overshooting; bisection guards it against rounding.  On the plane of the two
 * long axes within their focal ellipse G has no root above 0: then tau = 0 and the short
 * coordinate takes the rest. */
#include "models/collision/pairs.h"

int perp_plane_ellipsoid(const perp_shape *a, const perp_pose *pa, const perp_shape *shape,
                         const perp_pose *pb, double margin, perp_touch *out)
{
  double o[3], r[3], m[3], u[3], c[3], x[3];
  perp_turn(3, pa->R, a->axis, out->n);
  perp_place(pa, a->c, o);
  perp_place(pb, shape->c, c);
  perp_turn_back(3, pb->R, out->n, u);
  perp_turn_back(3, shape->R, u, m); /* the normal in the axes of the ellipsoid */
  double extent = 0;
  for (int i = 0; i < 3; i++) extent += shape->half[i] * shape->half[i] * m[i] * m[i];
  extent = sqrt(extent);
  for (int i = 0; i < 3; i++) x[i] = -shape->half[i] * shape->half[i] * m[i] / extent;
  perp_turn(3, shape->R, x, u);
  perp_turn(3, pb->R, u, x);
  perp_along(c, 1, x, out->p[1]);
  perp_sub(c, o, r);
  out->gap = perp_dot(3, out->n, r) - extent;
  perp_along(out->p[1], -out->gap, out->n, out->p[0]);
  out->feature = 0;
  return out->gap < margin;
}

/* G and, through *slope, its derivative */
static double ellipsoid_excess(const double z[3], const double r[3], double tau, double *slope)
{
  double g = -1;
  *slope = 0;
  for (int i = 0; i < 3; i++) {
    if (z[i] == 0) continue;
    double below = tau + (r[i] - 1), x = r[i] * z[i] / below;
    g += x * x;
    *slope -= 2 * x * x / below;
  }
  return g;
}

/* closest point of the ellipsoid with half axes e to y */
static void closest_point(const double e[3], const double y[3], double x[3])
{
  int least = e[1] < e[0] ? 1 : 0;
  if (e[2] < e[least]) least = 2;
  double z[3], r[3], lo = 0, hi = 0, slope;
  for (int i = 0; i < 3; i++) {
    z[i] = fabs(y[i]) / e[i];
    r[i] = e[i] / e[least] * (e[i] / e[least]);
    lo = fmax(lo, r[i] * z[i] - (r[i] - 1)); /* one term of G is 1 there */
    hi += r[i] * z[i] * r[i] * z[i];
  }
  hi = sqrt(hi);
  if (z[least] == 0) {
    double rest = 1;
    for (int i = 0; i < 3; i++) {
      x[i] = z[i] == 0 ? 0 : r[i] * z[i] / (r[i] - 1); /* of e_i; infinite for equal axes */
      rest -= x[i] * x[i];
    }
    if (rest > 0) {
      x[least] = sqrt(rest);
      for (int i = 0; i < 3; i++) x[i] = copysign(e[i] * x[i], y[i]);
      return;
    }
  }
  double tau = lo > 0 ? lo : 0.5 * hi;
  for (int k = 0; k < 200 && lo < hi; k++) {
    double g = ellipsoid_excess(z, r, tau, &slope);
    if (g > 0)
      lo = tau;
    else
      hi = tau;
    double next = tau - g / slope;
    if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
    if (next == tau || next <= lo || next >= hi) break;
    tau = next;
  }
  for (int i = 0; i < 3; i++)
    x[i] = z[i] == 0 ? 0 : copysign(e[i] * r[i] * z[i] / (tau + (r[i] - 1)), y[i]);
}

int perp_sphere_ellipsoid(const perp_shape *a, const perp_pose *pa, const perp_shape *shape,
                          const perp_pose *pb, double margin, perp_touch *out)
{
  double y[3], u[3], c[3], x[3], n[3], r[3], inside = 0;
  perp_place(pa, a->c, c);
  perp_place_back(pb, c, u);
  perp_sub(u, shape->c, u);
  perp_turn_back(3, shape->R, u, y);
  closest_point(shape->half, y, x);
  for (int i = 0; i < 3; i++) {
    n[i] = x[i] / (shape->half[i] * shape->half[i]);
    inside += y[i] / shape->half[i] * (y[i] / shape->half[i]);
  }
  double len = perp_norm(n);
  for (int i = 0; i < 3; i++) n[i] /= len;
  perp_sub(y, x, r);
  double distance = inside < 1 ? -perp_norm(r) : perp_norm(r);
  out->gap = distance - a->radius;
  if (!(out->gap < margin)) return 0;
  perp_turn(3, shape->R, x, u);
  for (int i = 0; i < 3; i++) u[i] += shape->c[i];
  perp_place(pb, u, out->p[1]);
  perp_turn(3, shape->R, n, u);
  perp_turn(3, pb->R, u, n);
  perp_along(c, -a->radius, n, out->p[0]);
  for (int i = 0; i < 3; i++) out->n[i] = -n[i];
  out->feature = 0;
  return 1;
}
