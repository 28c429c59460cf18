/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of convex polytopes (polygons in the plane) with each other and with planes.
 *
 * polytope_features.c finds what separates the pair.  Manifold: when a face is within NEAR of that
 * direction, the other shape's most opposed face at its support vertex is clipped against the sides
 * of that face (polytope_clip.c); what lies deeper than the margin are the contacts.  An edge-edge
 * normal that near to a face would be one point where the bodies rest on several.  Otherwise the
 * pair of closest points is the contact. Vertices within PERP_HULL_SNAP of a side plane count as
 * inside, so that aligned boxes touch in their corners whatever the rounding.  No allocation. */
#include "models/collision/polytope.h"

#include <string.h>

static const double NEAR = 0.9995; /* cosine: 1.8 degrees */

/* face of a hull nearest to direction n, same frame; its cosine */
static double polytope_facing(const perp_hull *h, const double n[3], int *face)
{
  double best = -2;
  for (int f = 0; f < h->n_faces; f++) {
    double x = perp_dot(3, h->n + 3 * f, n);
    if (x > best + 1e-12) best = x, *face = f;
  }
  return best;
}

/* manifold over a face of a or of b, in world coordinates */
static int over_face(const perp_hull_pair *p, bool of_a, int face, double margin, double snap,
                     const perp_pose *pa, const perp_pose *pb, perp_touch *out)
{
  int n = of_a ? perp_hull_face_points(p->a, face, &p->bs, margin, p->size, snap * p->size, out)
               : perp_hull_face_points(p->b, face, &p->as, margin, p->size, snap * p->size, out);
  const perp_pose *pose = of_a ? pa : pb;
  for (int i = 0; i < n; i++) {
    perp_touch t = out[i];
    perp_place(pose, t.p[0], out[i].p[0]);
    perp_place(pose, t.p[1], out[i].p[1]);
    perp_turn(3, pose->R, t.n, out[i].n);
  }
  if (!of_a) perp_touch_flip(n, out);
  return n;
}

static double polytope_deepest(int n, const perp_touch *t, int *at)
{
  double low = HUGE_VAL;
  for (int i = 0; i < n; i++)
    if (t[i].gap < low) low = t[i].gap, *at = i;
  return low;
}

/* exact signed distance with witness points (world) and normal */
static double hull_distance(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                            const perp_pose *pb, double p_a[3], double p_b[3], double n[3])
{
  perp_hull_pair p;
  perp_features f;
  perp_touch t[PERP_MANIFOLD_CONVEX];
  int at = 0;
  perp_hull_pair_set(&p, a, pa, b, pb);
  perp_hull_separate(&p, HUGE_VAL, &f);
  double slack = PERP_HULL_EXACT * p.size;
  if (f.kind == PERP_BY_EDGES) {
    double d = perp_hull_edge_witness(&p, &f);
    if (f.sep > 0 && d > f.sep + slack) f.kind = PERP_BY_CLOSEST;
  } else {
    int count = over_face(&p, f.kind == PERP_BY_FACE_A, f.face, HUGE_VAL, PERP_HULL_EXACT, pa, pb,
                          t);
    double low = polytope_deepest(count, t, &at);
    if (low <= f.sep + slack) {
      memcpy(p_a, t[at].p[0], 3 * sizeof *p_a);
      memcpy(p_b, t[at].p[1], 3 * sizeof *p_b);
      memcpy(n, t[at].n, 3 * sizeof *n);
      return f.sep;
    }
    if (f.sep > 0)
      f.kind = PERP_BY_CLOSEST;
    else
      perp_hull_face_witness(&p, &f);
  }
  if (f.kind == PERP_BY_CLOSEST) perp_hull_closest(&p, &f);
  perp_place(pa, f.pa, p_a);
  perp_place(pa, f.pb, p_b);
  perp_turn(3, pa->R, f.n, n);
  return f.sep;
}

/* Too many pairs of features to ask them all: by support functions then (models/geometry). */
static bool hull_pair_is_large(const perp_hull *a, const perp_hull *b)
{
  return a->dim == 3 &&
         ((!perp_hull_is_small(a) && !b->piece) || (!perp_hull_is_small(b) && !a->piece));
}

int perp_hull_hull(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                   const perp_pose *pb, double margin, perp_touch *out)
{
  perp_hull_pair p;
  perp_features f;
  int at = 0, face_a = 0, face_b = 0, n;
  if (hull_pair_is_large(a->hull, b->hull)) return perp_solid_solid(a, pa, b, pb, margin, out);
  if (isinf(margin)) {
    out->gap = hull_distance(a, pa, b, pb, out->p[0], out->p[1], out->n);
    out->feature = 0;
    return 1;
  }
  perp_hull_pair_set(&p, a, pa, b, pb);
  perp_hull_separate(&p, margin, &f);
  if (!(f.sep < margin)) return 0;
  double slack = PERP_HULL_EXACT * p.size;
  if (f.kind == PERP_BY_EDGES) {
    double d = perp_hull_edge_witness(&p, &f);
    if (f.sep > 0 && d > f.sep + slack) f.kind = PERP_BY_CLOSEST;
  } else if (f.sep > 0) {
    /* face and something, unless nothing of the other lies over the face */
    n = over_face(&p, f.kind == PERP_BY_FACE_A, f.face, HUGE_VAL, PERP_HULL_EXACT, pa, pb, out);
    if (n == 0 || polytope_deepest(n, out, &at) > f.sep + slack) f.kind = PERP_BY_CLOSEST;
  }
  if (f.kind == PERP_BY_CLOSEST) {
    perp_hull_closest(&p, &f);
    if (!(f.sep < margin)) return 0;
  }
  /* a face that points along n, that of a if both do */
  double cos_a = polytope_facing(p.a, f.n, &face_a), back[3];
  perp_turn(3, p.ba.R, f.n, back);
  for (int i = 0; i < 3; i++) back[i] = -back[i];
  double cos_b = polytope_facing(p.b, back, &face_b);
  for (int pass = 0; pass < 2; pass++) {
    bool of_a = (cos_a >= (p.a->piece ? NEAR : cos_b - 1e-6)) == (pass == 0);
    if ((of_a ? cos_a : cos_b) < NEAR) continue;
    n = over_face(&p, of_a, of_a ? face_a : face_b, margin, PERP_HULL_SNAP, pa, pb, out);
    /* the face stands for these features only if it tells their distance */
    if (n > 0 &&
        fabs(polytope_deepest(n, out, &at) - f.sep) <= 0.05 * fabs(f.sep) + PERP_HULL_SNAP * p.size)
      return n;
  }
  if (f.kind == PERP_BY_FACE_A || f.kind == PERP_BY_FACE_B) perp_hull_face_witness(&p, &f);
  perp_place(pa, f.pa, out->p[0]);
  perp_place(pa, f.pb, out->p[1]);
  perp_turn(3, pa->R, f.n, out->n);
  double d[3];
  perp_sub(out->p[1], out->p[0], d);
  out->gap = perp_dot(3, out->n, d);
  out->feature = f.id;
  return 1;
}

/* ---- hull and plane ---- */

int perp_hull_plane(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                    const perp_pose *pb, double margin, perp_touch *out)
{
  const perp_hull *h = a->hull;
  double n[3], o[3], r[3], m[3], low = HUGE_VAL, facing_best = HUGE_VAL;
  int support = 0, count = 0;
  perp_touch t[PERP_FACE_MAX];
  perp_turn(3, pb->R, b->axis, n);
  perp_place(pb, b->c, o);
  perp_sub(o, pa->x, r);
  double height = perp_dot(3, n, r);
  perp_turn_back(3, pa->R, n, m); /* the plane seen from a: m . x = height */
  if (!perp_hull_is_small(h)) {
    support = perp_hull_support(h, (const double[3]){ -m[0], -m[1], -m[2] }, -1);
    low = perp_dot(3, m, h->v + 3 * support);
  }
  for (int i = 0; i < h->n_vertices && perp_hull_is_small(h); i++) {
    double x = perp_dot(3, m, h->v + 3 * i);
    if (x < low) low = x, support = i;
  }
  if (!(low - height < margin)) return 0;
  int face = h->fan[h->star[support]];
  for (int k = h->star[support]; k < h->star[support + 1]; k++) {
    double x = perp_dot(3, m, h->n + 3 * h->fan[k]);
    if (x < facing_best - PERP_HULL_SNAP) facing_best = x, face = h->fan[k];
  }
  for (int k = h->start[face]; k < h->start[face + 1]; k++) {
    perp_touch *c = &t[count];
    if (isinf(margin) && h->loop[k] != support) continue;
    perp_place(pa, h->v + 3 * h->loop[k], c->p[0]);
    perp_sub(c->p[0], o, r);
    c->gap = perp_dot(3, n, r);
    if (!(c->gap < margin)) continue;
    perp_along(c->p[0], -c->gap, n, c->p[1]);
    for (int i = 0; i < 3; i++) c->n[i] = -n[i];
    c->feature = perp_feature(PERP_VERTEX_A, 0, h->loop[k]);
    count++;
  }
  count = perp_manifold_reduce(count, t, a->bound);
  memcpy(out, t, (size_t)count * sizeof *t);
  return count;
}
