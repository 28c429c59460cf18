/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs with a closed form: spheres and planes among each other, a capsule at a plane, a sphere at
 * a hull; closest points of segments. */
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

void perp_balls(const double x[3], double ra, const double y[3], double rb, const double spare[3],
                uint32_t feature, perp_touch *touch)
{
  double d[3];
  perp_sub(y, x, d);
  double len = perp_norm(d);
  /* below that the difference is rounding of the centres */
  bool apart = len > 1e-10 * (ra + rb);
  for (int i = 0; i < 3; i++) touch->n[i] = apart ? d[i] / len : spare[i];
  perp_along(x, ra, touch->n, touch->p[0]);
  perp_along(y, -rb, touch->n, touch->p[1]);
  touch->gap = perp_dot(3, touch->n, d) - (ra + rb);
  touch->feature = feature;
}

/* coincident centres part along y, which exists in the plane as well */
static const double UP[3] = { 0, 1, 0 };

bool perp_ball_ball(const double x[3], double ra, const double y[3], double rb, double margin,
                    perp_touch *touch)
{
  perp_balls(x, ra, y, rb, UP, 0, touch);
  return touch->gap < margin;
}

int perp_sphere_sphere(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                       const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3], y[3];
  perp_place(pa, a->c, x);
  perp_place(pb, b->c, y);
  return perp_ball_ball(x, a->radius, y, b->radius, margin, out);
}

/* ---- planes ---- */

/* ball around x against a half-space */
static void ball_plane(const double x[3], double radius, const perp_shape *plane,
                       const perp_pose *pose, uint32_t feature, perp_touch *touch)
{
  double n[3], o[3], d[3];
  perp_turn(3, pose->R, plane->axis, n);
  perp_place(pose, plane->c, o);
  perp_sub(x, o, d);
  double height = perp_dot(3, n, d);
  touch->gap = height - radius;
  perp_along(x, -radius, n, touch->p[0]);
  perp_along(x, -height, n, touch->p[1]);
  for (int i = 0; i < 3; i++) touch->n[i] = -n[i];
  touch->feature = feature;
}

int perp_sphere_plane(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                      const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3];
  perp_place(pa, a->c, x);
  ball_plane(x, a->radius, b, pb, 0, out);
  return out->gap < margin;
}

int perp_capsule_plane(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                       const perp_pose *pb, double margin, perp_touch *out)
{
  int n = 0;
  for (int end = 0; end < 2; end++) {
    double s[3], x[3];
    perp_along(a->c, end == 0 ? -1 : 1, a->axis, s);
    perp_place(pa, s, x);
    ball_plane(x, a->radius, b, pb, perp_feature(PERP_VERTEX_A, 0, end), &out[n]);
    if (out[n].gap < margin) n++;
  }
  return n;
}

/* ---- sphere and hull ---- */

double perp_hull_point(const perp_hull *hull, const double x[3], double on[3], double n[3])
{
  int face = 0;
  bool over = false; /* the foot of x is within the face */
  double depth = -HUGE_VAL;
  for (int f = 0; f < hull->n_faces && !over; f++) {
    double s = perp_dot(3, hull->n + 3 * f, x) - hull->d[f];
    over = s > 0;
    for (int k = hull->start[f]; k < hull->start[f + 1] && over; k++) {
      double r[3];
      perp_sub(x, hull->v + 3 * hull->loop[k], r);
      over = perp_dot(3, hull->side + 3 * k, r) <= 0;
    }
    /* when over, the plane of the face parts x from the hull: nothing is nearer */
    if (over || s > depth) depth = s, face = f;
  }
  if (depth > 0 && !over) {
    double best = HUGE_VAL, len;
    for (int e = 0; e < hull->n_edges; e++) {
      const double *v = hull->v + 3 * hull->edge[4 * e], *u = hull->dir + 3 * e;
      double y[3], r[3];
      perp_along(v, perp_onto(v, u, x), u, y);
      perp_sub(x, y, r);
      double d2 = perp_dot(3, r, r);
      if (d2 >= best) continue;
      best = d2;
      for (int i = 0; i < 3; i++) on[i] = y[i], n[i] = r[i];
    }
    len = sqrt(best);
    if (len > 0) {
      for (int i = 0; i < 3; i++) n[i] /= len;
      return len;
    }
  }
  for (int i = 0; i < 3; i++) n[i] = hull->n[3 * face + i];
  perp_along(x, -depth, n, on);
  return depth;
}

int perp_sphere_hull(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                     const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3], local[3], on[3], n[3];
  perp_place(pa, a->c, x);
  perp_place_back(pb, x, local);
  double s = perp_hull_point(b->hull, local, on, n);
  out->gap = s - a->radius;
  if (!(out->gap < margin)) return 0;
  perp_place(pb, on, out->p[1]);
  perp_turn(3, pb->R, n, local);
  perp_along(x, -a->radius, local, out->p[0]);
  for (int i = 0; i < 3; i++) out->n[i] = -local[i];
  out->feature = 0;
  return 1;
}
