/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Capsules: segments with a radius.
 *
 * Two segments are closest at their common perpendicular or at an end.  Capsules that are almost
 * parallel touch at both ends of the stretch where they face each other, so that one can rest on
 * another.  A segment at a hull: supporting planes are the faces of the hull and, in space, cross
 * products of the segment with those edges whose arc of normals crosses the great circle square to
 * the segment, in the plane the two normals of the segment (what is left of the polytope case, see
 * polytope_pairs.c). */
#include "models/collision/pairs.h"

#include <string.h>

/* cosine above which a face carries the manifold, as in polytope_pairs.c */
static const double NEAR = 0.9995;
static const double SNAP = 1e-6;
static const double LYING = 0.1; /* sine: steeper capsules touch a face with one end */

/* ---- capsules ---- */

/* world segment of a capsule: start and vector */
static void capsule_segment(const perp_shape *shape, const perp_pose *pose, double p[3],
                            double u[3])
{
  double c[3];
  perp_place(pose, shape->c, c);
  perp_turn(3, pose->R, shape->axis, u);
  for (int i = 0; i < 3; i++) p[i] = c[i] - u[i], u[i] *= 2;
}

static void capsule_exchange(perp_touch *s, perp_touch *t)
{
  perp_touch x = *s;
  *s = *t;
  *t = x;
}

/* a unit vector square to u (and to w in space), for axes that meet */
static void square_to(int dim, const double u[3], const double w[3], double n[3])
{
  perp_cross(u, w, n);
  double len = perp_norm(n);
  if (dim == 2 || len <= 1e-12 * perp_norm(u) * perp_norm(w)) {
    n[0] = -u[1], n[1] = u[0], n[2] = 0;
    if (n[0] == 0 && n[1] == 0) n[0] = 1;
    len = perp_norm(n);
  }
  for (int i = 0; i < 3; i++) n[i] /= len;
}

int perp_sphere_capsule(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                        const perp_pose *pb, double margin, perp_touch *out)
{
  double x[3], p[3], u[3], y[3], spare[3];
  perp_place(pa, a->c, x);
  capsule_segment(b, pb, p, u);
  perp_along(p, perp_onto(p, u, x), u, y);
  square_to(a->dim, u, u, spare);
  perp_balls(x, a->radius, y, b->radius, spare, 0, out);
  return out->gap < margin;
}

/* Segments of the plane that cross: the least translation is square to one of them and takes an
 * end of the other to it.  Improves *sep along the normals of p + s u; q, w the other one. */
static void leave_segment(const double p[3], const double u[3], const double q[3],
                          const double w[3], double *sep, double n[3], double on[3], double end[3],
                          bool *better)
{
  double len = hypot(u[0], u[1]);
  *better = false;
  for (int side = -1; side <= 1; side += 2) {
    double m[3] = { -side * u[1] / len, side * u[0] / len, 0 }, r[3];
    perp_sub(q, p, r);
    double s0 = perp_dot(3, m, r), s1 = s0 + perp_dot(3, m, w), low = fmin(s0, s1);
    if (low <= *sep) continue;
    *sep = low;
    *better = true;
    memcpy(n, m, sizeof m);
    perp_along(q, s1 < s0 ? 1 : 0, w, end);
    perp_along(end, -low, m, on);
  }
}

/* the two ends of the stretch where almost parallel capsules face each other; 0 when it is short */
static int both_ends(const perp_shape *a, const double p[3], const double u[3], const perp_shape *b,
                     const double q[3], const double w[3], double margin, perp_touch *out)
{
  double d[3], spare[3], x[3], y[3], uu = perp_dot(3, u, u);
  perp_sub(q, p, d);
  double t0 = perp_dot(3, d, u) / uu, t1 = t0 + perp_dot(3, w, u) / uu;
  double from = perp_clamp01(fmin(t0, t1)), to = perp_clamp01(fmax(t0, t1));
  int n = 0;
  if (to - from <= 1e-3) return 0;
  square_to(a->dim, u, u, spare);
  for (int k = 0; k < 2; k++) {
    /* which end of which segment bounds the stretch names the point */
    bool of_a = k == 0 ? fmin(t0, t1) <= 0 : fmax(t0, t1) >= 1;
    int end_b = (t1 > t0) == (k == 1);
    perp_along(p, k == 0 ? from : to, u, x);
    perp_along(q, perp_onto(q, w, x), w, y);
    perp_balls(x, a->radius, y, b->radius, spare,
               of_a ? perp_feature(PERP_VERTEX_A, 0, k) : perp_feature(PERP_VERTEX_B, 0, end_b),
               &out[n]);
    if (out[n].gap < margin) n++;
  }
  if (n == 2 && out[1].feature < out[0].feature) capsule_exchange(&out[0], &out[1]);
  return n;
}

int perp_capsule_capsule(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                         const perp_pose *pb, double margin, perp_touch *out)
{
  double p[3], u[3], q[3], w[3], x[3], y[3], c[3], spare[3], s, t;
  capsule_segment(a, pa, p, u);
  capsule_segment(b, pb, q, w);
  double best = perp_segments(p, u, q, w, &s, &t), reach = a->radius + b->radius;
  if (!(sqrt(best) - reach < margin)) return 0;
  perp_cross(u, w, c);
  bool parallel = perp_dot(3, c, c) < 1e-3 * perp_dot(3, u, u) * perp_dot(3, w, w);
  /* both ends must count, and include the closest points up to their turn against each other */
  if (parallel && isfinite(margin) && both_ends(a, p, u, b, q, w, margin, out) == 2) return 2;
  perp_along(p, s, u, x);
  perp_along(q, t, w, y);
  bool crossed = perp_dot(3, c, c) > 1e-20 * perp_dot(3, u, u) * perp_dot(3, w, w);
  if (a->dim == 2 && crossed && sqrt(best) < 1e-12 * (perp_norm(u) + perp_norm(w))) {
    double sep = -HUGE_VAL;
    bool of_a, of_b;
    leave_segment(p, u, q, w, &sep, spare, x, y, &of_a);
    leave_segment(q, w, p, u, &sep, spare, y, x, &of_b);
    for (int i = 0; i < 3; i++) out->n[i] = of_b ? -spare[i] : spare[i];
    perp_along(x, a->radius, out->n, out->p[0]);
    perp_along(y, -b->radius, out->n, out->p[1]);
    out->gap = sep - reach;
    out->feature = perp_feature(PERP_EDGES, 0, 0);
    return out->gap < margin;
  }
  square_to(a->dim, u, w, spare);
  perp_balls(x, a->radius, y, b->radius, spare, perp_feature(PERP_EDGES, 0, 0), out);
  return out->gap < margin;
}

/* ---- capsule and hull ---- */

/* Segment p + s u at a hull, in the frame of the hull: n from hull to segment. */
typedef struct leave {
  double sep, n[3], on[3], at[3]; /* witnesses on the hull and on the segment */
} leave;

/* the face planes; a segment along a face has many deepest points, of which one over the face
 * counts */
static void face_planes(const perp_hull *hull, const double p[3], const double u[3], leave *l)
{
  int face = 0;
  double sep = -HUGE_VAL, end[2][3], tol = 1e-12 * perp_norm(u);
  uint32_t id[2];
  for (int f = 0; f < hull->n_faces; f++) {
    const double *n = hull->n + 3 * f;
    double s = perp_dot(3, n, p) - hull->d[f] + fmin(perp_dot(3, n, u), 0);
    if (s > sep) sep = s, face = f;
  }
  const double *n = hull->n + 3 * face;
  l->sep = sep;
  memcpy(l->n, n, sizeof l->n);
  memcpy(end[0], p, sizeof end[0]);
  perp_along(p, 1, u, end[1]);
  memcpy(l->at, end[perp_dot(3, n, u) < 0 ? 1 : 0], sizeof l->at);
  if (perp_cut_segment(hull, face, end, id, tol) == 2)
    for (int k = 1; k >= 0; k--)
      if (perp_dot(3, n, end[k]) - hull->d[face] <= sep + tol) memcpy(l->at, end[k], sizeof l->at);
  perp_along(l->at, hull->d[face] - perp_dot(3, n, l->at), n, l->on);
}

/* supporting planes; sep < 0 is minus the depth of the segment in the hull */
static void support_planes(const perp_hull *hull, const double p[3], const double u[3], leave *l)
{
  const double tie = 1e-13 * perp_norm(u);
  face_planes(hull, p, u, l);
  if (hull->dim == 2) {
    double len = hypot(u[0], u[1]);
    for (int side = -1; side <= 1; side += 2) {
      /* n from the hull to the segment: the support vertex of the hull along n is below the line */
      double n[3] = { -side * u[1] / len, side * u[0] / len, 0 }, high = -HUGE_VAL;
      int top = 0;
      for (int i = 0; i < hull->n_vertices; i++) {
        double x = perp_dot(3, n, hull->v + 3 * i);
        if (x > high) high = x, top = i;
      }
      double s = perp_dot(3, n, p) - high;
      if (s <= l->sep + tie) continue; /* the face it is parallel to has been asked */
      l->sep = s;
      memcpy(l->n, n, sizeof n);
      memcpy(l->on, hull->v + 3 * top, sizeof l->on);
      perp_along(l->on, s, n, l->at);
    }
    return;
  }
  double uu = perp_dot(3, u, u);
  for (int e = 0; e < hull->n_edges; e++) {
    const double *n0 = hull->n + 3 * hull->edge[4 * e + 2],
                 *n1 = hull->n + 3 * hull->edge[4 * e + 3];
    const double *w = hull->dir + 3 * e, *v = hull->v + 3 * hull->edge[4 * e];
    double n[3], r[3], t0, t1;
    if (!(perp_dot(3, n0, u) * perp_dot(3, n1, u) < 0)) continue;
    perp_cross(u, w, n);
    double nn = perp_dot(3, n, n);
    if (nn <= 1e-18 * uu * perp_dot(3, w, w)) continue;
    double len = perp_dot(3, n, n0) + perp_dot(3, n, n1) < 0 ? -sqrt(nn) : sqrt(nn);
    perp_sub(p, v, r);
    double s = perp_dot(3, n, r) / len;
    if (s <= l->sep + tie) continue;
    l->sep = s;
    for (int i = 0; i < 3; i++) l->n[i] = n[i] / len;
    perp_segments(p, u, v, w, &t0, &t1);
    perp_along(p, t0, u, l->at);
    perp_along(v, t1, w, l->on);
  }
}

/* closest points of a segment outside the hull */
static void segment_closest(const perp_hull *hull, const double p[3], const double u[3], leave *l)
{
  double best = HUGE_VAL, s, t;
  for (int end = 0; end < 2; end++) {
    double x[3], on[3], n[3];
    perp_along(p, end, u, x);
    double d = perp_hull_point(hull, x, on, n);
    if (d >= best) continue;
    best = d;
    memcpy(l->n, n, sizeof n);
    memcpy(l->on, on, sizeof on);
    memcpy(l->at, x, sizeof x);
  }
  double best2 = best * best;
  for (int e = 0; e < hull->n_edges; e++) {
    const double *w = hull->dir + 3 * e, *v = hull->v + 3 * hull->edge[4 * e];
    double d2 = perp_segments(p, u, v, w, &s, &t), r[3];
    if (!(d2 < best2) || d2 == 0) continue;
    best2 = d2;
    best = sqrt(d2);
    perp_along(p, s, u, l->at);
    perp_along(v, t, w, l->on);
    perp_sub(l->at, l->on, r);
    for (int i = 0; i < 3; i++) l->n[i] = r[i] / best;
  }
  l->sep = best;
}

int perp_capsule_hull(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                      const perp_pose *pb, double margin, perp_touch *out)
{
  const perp_hull *hull = b->hull;
  double p[3], u[3], q[3], w[3], best = -2;
  const double tol = SNAP * fmin(a->bound, b->bound);
  double low = HUGE_VAL;
  leave l;
  int face = 0, count = 0;
  capsule_segment(a, pa, q, w);
  perp_place_back(pb, q, p);
  perp_turn_back(3, pb->R, w, u);
  support_planes(hull, p, u, &l);
  if (!(l.sep - a->radius < margin)) return 0;
  if (l.sep > 0) segment_closest(hull, p, u, &l);
  if (!(l.sep - a->radius < margin)) return 0;
  for (int f = 0; f < hull->n_faces; f++) {
    double x = perp_dot(3, hull->n + 3 * f, l.n);
    if (x > best + 1e-12) best = x, face = f;
  }
  /* in these touches the hull is a: flipped at the end */
  bool lies = fabs(perp_dot(3, u, hull->n + 3 * face)) <= LYING * perp_norm(u);
  if (best >= NEAR && lies && isfinite(margin)) {
    double end[2][3];
    uint32_t id[2] = { perp_feature(PERP_VERTEX_B, 0, 0), perp_feature(PERP_VERTEX_B, 0, 1) };
    memcpy(end[0], p, sizeof p);
    perp_along(p, 1, u, end[1]);
    int points = perp_cut_segment(hull, face, end, id, tol);
    for (int k = 0; k < points; k++) {
      perp_touch *touch = &out[count];
      const double *n = hull->n + 3 * face;
      double s = perp_dot(3, n, end[k]) - hull->d[face];
      touch->gap = s - a->radius;
      touch->feature = id[k];
      perp_along(end[k], -s, n, touch->p[0]);
      perp_along(end[k], -a->radius, n, touch->p[1]);
      memcpy(touch->n, n, 3 * sizeof *n);
      low = fmin(low, s);
      if (touch->gap < margin) count++;
    }
  }
  /* the face stands for the closest features only if it tells their distance */
  if (count == 0 || !(fabs(low - l.sep) <= 0.05 * fabs(l.sep - a->radius) + tol)) {
    memcpy(out->p[0], l.on, sizeof l.on);
    perp_along(l.at, -a->radius, l.n, out->p[1]);
    memcpy(out->n, l.n, sizeof l.n);
    out->gap = l.sep - a->radius;
    out->feature = perp_feature(PERP_VERTICES, 0, 0);
    count = 1;
  }
  for (int k = 0; k < count; k++) {
    perp_touch touch = out[k];
    perp_place(pb, touch.p[0], out[k].p[0]);
    perp_place(pb, touch.p[1], out[k].p[1]);
    perp_turn(3, pb->R, touch.n, out[k].n);
  }
  perp_touch_flip(count, out);
  return count;
}
