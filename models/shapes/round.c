/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs with a closed form: spheres, capsules and planes among each other, and a sphere at a hull. */
#include "models/shapes/shapes_private.h"

/* Two balls of radius ra, rb around x, y (a degenerate pair of centres gets the normal `spare`).  The
 * touch is written whatever the gap. */
static void balls(const double x[3], double ra, const double y[3], double rb, const double spare[3],
                  uint32_t feature, perp_touch *t)
{
  double d[3];
  perp_sub(y, x, d);
  double len = perp_norm(d);
  for (int i = 0; i < 3; i++) t->n[i] = len > 0 ? d[i] / len : spare[i];
  perp_along(x, ra, t->n, t->p_a);
  perp_along(y, -rb, t->n, t->p_b);
  t->gap = len - (ra + rb);
  t->feature = feature;
}

/* coincident centres part along y, which exists in the plane as well */
static const double UP[3] = { 0, 1, 0 };

int perp_sphere_sphere(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                       const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3], y[3];
  perp_place(pa, a->c, x);
  perp_place(pb, b->c, y);
  balls(x, a->radius, y, b->radius, UP, 0, out);
  return out->gap < margin;
}

/* ---- planes ------------------------------------------------------------------------------------ */

/* ball around x against a half-space */
static void ball_plane(const double x[3], double radius, const perp_shape *plane,
                       const perp_pose *pose, uint32_t feature, perp_touch *t)
{
  double n[3], o[3], d[3];
  perp_turn(3, pose->R, plane->axis, n);
  perp_place(pose, plane->c, o);
  perp_sub(x, o, d);
  double height = perp_dot(3, n, d);
  t->gap = height - radius;
  perp_along(x, -radius, n, t->p_a);
  perp_along(x, -height, n, t->p_b);
  for (int i = 0; i < 3; i++) t->n[i] = -n[i];
  t->feature = feature;
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

/* ---- capsules ---------------------------------------------------------------------------------- */

static double clamp01(double x)
{
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* squared distance of p + s u to q + t w */
static double apart(const double p[3], const double u[3], const double q[3], const double w[3],
                    double s, double t)
{
  double d = 0;
  for (int i = 0; i < 3; i++) {
    double x = (q[i] + t * w[i]) - (p[i] + s * u[i]);
    d += x * x;
  }
  return d;
}

/* parameter of the point of p + s u closest to x; 0 for a segment of no length */
static double onto(const double p[3], const double u[3], const double x[3])
{
  double d[3], uu = perp_dot(3, u, u);
  perp_sub(x, p, d);
  return uu > 0 ? clamp01(perp_dot(3, d, u) / uu) : 0;
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
      tk = onto(q, w, end);
    } else {
      tk = k - 2;
      perp_along(q, tk, w, end);
      sk = onto(p, u, end);
    }
    double d = apart(p, u, q, w, sk, tk);
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
  double inner = apart(p, u, q, w, sk, tk);
  if (inner <= best) best = inner, *s = sk, *t = tk;
  return best;
}

/* world segment of a capsule: start and vector */
static void capsule_segment(const perp_shape *s, const perp_pose *pose, double p[3], double u[3])
{
  double c[3];
  perp_place(pose, s->c, c);
  perp_turn(3, pose->R, s->axis, u);
  for (int i = 0; i < 3; i++) p[i] = c[i] - u[i], u[i] *= 2;
}

int perp_sphere_capsule(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                        const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3], p[3], u[3], y[3], spare[3] = { 0 };
  perp_place(pa, a->c, x);
  capsule_segment(b, pb, p, u);
  perp_along(p, onto(p, u, x), u, y);
  /* a centre on the segment leaves square to it */
  int k = fabs(u[0]) <= fabs(u[1]) ? 0 : 1;
  if (u[2] != 0 && fabs(u[2]) < fabs(u[k])) k = 2;
  double along = u[k] / perp_dot(3, u, u);
  for (int i = 0; i < 3; i++) spare[i] = (i == k ? 1 : 0) - along * u[i];
  double len = perp_norm(spare);
  for (int i = 0; i < 3; i++) spare[i] /= len;
  balls(x, a->radius, y, b->radius, spare, 0, out);
  return out->gap < margin;
}

/* a normal for axes that meet: square to both, and within the plane z = 0 when they are */
static void meeting_normal(const double u[3], const double w[3], double n[3])
{
  double len;
  perp_cross(u, w, n);
  len = perp_norm(n);
  if (len <= 1e-12 * perp_norm(u) * perp_norm(w) || (u[2] == 0 && w[2] == 0)) {
    /* parallel, or planar: square to u */
    n[0] = -u[1], n[1] = u[0], n[2] = 0;
    if (n[0] == 0 && n[1] == 0) n[0] = 1;
    len = perp_norm(n);
  }
  for (int i = 0; i < 3; i++) n[i] /= len;
}

int perp_capsule_capsule(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                         const perp_pose *pb, double margin, perp_touch *out)
{
  double p[3], u[3], q[3], w[3], x[3], y[3], c[3], spare[3], s, t;
  capsule_segment(a, pa, p, u);
  capsule_segment(b, pb, q, w);
  double best = perp_segments(p, u, q, w, &s, &t), uu = perp_dot(3, u, u), ww = perp_dot(3, w, w);
  double reach = a->radius + b->radius + margin;
  if (best >= reach * reach) return 0;
  meeting_normal(u, w, spare);
  perp_cross(u, w, c);
  int n = 0;
  if (perp_dot(3, c, c) < 1e-3 * uu * ww) {
    /* almost parallel: the two ends of the stretch where they face each other */
    double d[3], t0, t1;
    perp_sub(q, p, d);
    t0 = perp_dot(3, d, u) / uu;
    t1 = t0 + perp_dot(3, w, u) / uu;
    double from = clamp01(fmin(t0, t1)), to = clamp01(fmax(t0, t1));
    if (to - from > 1e-3) {
      for (int k = 0; k < 2; k++) {
        double sk = k == 0 ? from : to;
        /* which end of which segment bounds the stretch names the point */
        bool of_a = k == 0 ? fmin(t0, t1) <= 0 : fmax(t0, t1) >= 1;
        int end_b = (t1 > t0) == (k == 1);
        perp_along(p, sk, u, x);
        double tk = onto(q, w, x);
        perp_along(q, tk, w, y);
        balls(x, a->radius, y, b->radius, spare,
              of_a ? perp_feature(PERP_VERTEX_A, 0, k) : perp_feature(PERP_VERTEX_B, 0, end_b),
              &out[n]);
        if (out[n].gap < margin) n++;
      }
      if (n == 2 && out[1].feature < out[0].feature) {
        perp_touch swap = out[0];
        out[0] = out[1];
        out[1] = swap;
      }
      if (n == 2) return n;
      n = 0;
    }
  }
  perp_along(p, s, u, x);
  perp_along(q, t, w, y);
  balls(x, a->radius, y, b->radius, spare, perp_feature(PERP_EDGES, 0, 0), out);
  return out->gap < margin;
}

/* ---- sphere and hull --------------------------------------------------------------------------- */

double perp_hull_point(const perp_hull *h, const double x[3], double on[3], double n[3])
{
  int deepest = 0;
  double depth = -HUGE_VAL;
  for (int f = 0; f < h->n_faces; f++) {
    double s = perp_dot(3, h->n + 3 * f, x) - h->d[f];
    if (s > depth) depth = s, deepest = f;
    if (s <= 0) continue;
    bool over = true;
    for (int k = h->start[f]; k < h->start[f + 1] && over; k++) {
      double r[3];
      perp_sub(x, h->v + 3 * h->loop[k], r);
      over = perp_dot(3, h->side + 3 * k, r) <= 0;
    }
    if (over) { /* the face plane parts the point from the hull: nothing is nearer */
      depth = s, deepest = f;
      goto face;
    }
  }
  if (depth <= 0) goto face;
  double best = HUGE_VAL;
  for (int e = 0; e < h->n_edges; e++) {
    const double *v = h->v + 3 * h->edge[4 * e], *u = h->dir + 3 * e;
    double y[3], r[3];
    perp_along(v, onto(v, u, x), u, y);
    perp_sub(x, y, r);
    double d2 = perp_dot(3, r, r);
    if (d2 >= best) continue;
    best = d2;
    for (int i = 0; i < 3; i++) on[i] = y[i], n[i] = r[i];
  }
  double len = sqrt(best);
  if (len > 0) {
    for (int i = 0; i < 3; i++) n[i] /= len;
    return len;
  }
face:
  for (int i = 0; i < 3; i++) n[i] = h->n[3 * deepest + i];
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
  perp_place(pb, on, out->p_b);
  perp_turn(3, pb->R, n, local);
  perp_along(x, -a->radius, local, out->p_a);
  for (int i = 0; i < 3; i++) out->n[i] = -local[i];
  out->feature = 0;
  return 1;
}
