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
static double polytope_facing(const perp_hull *hull, const double n[3], int *face)
{
  double best = -2;
  for (int f = 0; f < hull->n_faces; f++) {
    double x = perp_dot(3, hull->n + 3 * f, n);
    if (x > best + 1e-12) best = x, *face = f;
  }
  return best;
}

/* manifold over a face of a or of b, in world coordinates */
static int over_face(const perp_hull_pair *pair, bool of_a, int face, double margin, double snap,
                     const perp_pose *pa, const perp_pose *pb, perp_touch *out)
{
  int n = of_a ? perp_hull_face_points(pair->a, face, &pair->bs, margin, pair->size,
                                       snap * pair->size, out)
               : perp_hull_face_points(pair->b, face, &pair->as, margin, pair->size,
                                       snap * pair->size, out);
  const perp_pose *pose = of_a ? pa : pb;
  double normal[3], p[3]; /* one normal of all */
  if (n > 0) perp_turn(3, pose->R, out[0].n, normal);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < 2; k++) {
      perp_place(pose, out[i].p[k], p);
      memcpy(out[i].p[k], p, sizeof p);
    }
    memcpy(out[i].n, normal, sizeof normal);
  }
  if (!of_a) perp_touch_flip(n, out);
  return n;
}

static double polytope_deepest(int n, const perp_touch *touch, int *at)
{
  double low = HUGE_VAL;
  for (int i = 0; i < n; i++)
    if (touch[i].gap < low) low = touch[i].gap, *at = i;
  return low;
}

/* exact signed distance with witness points (world) and normal */
static double hull_distance(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                            const perp_pose *pb, double p_a[3], double p_b[3], double n[3])
{
  perp_hull_pair pair;
  perp_features features;
  perp_touch touch[PERP_MANIFOLD_CONVEX];
  int at = 0;
  perp_hull_pair_set(&pair, a, pa, b, pb);
  perp_hull_separate(&pair, HUGE_VAL, &features);
  double slack = PERP_HULL_EXACT * pair.size;
  if (features.kind == PERP_BY_EDGES) {
    double d = perp_hull_edge_witness(&pair, &features);
    if (features.sep > 0 && d > features.sep + slack) features.kind = PERP_BY_CLOSEST;
  } else {
    int count = over_face(&pair, features.kind == PERP_BY_FACE_A, features.face, HUGE_VAL,
                          PERP_HULL_EXACT, pa, pb, touch);
    double low = polytope_deepest(count, touch, &at);
    if (low <= features.sep + slack) {
      memcpy(p_a, touch[at].p[0], 3 * sizeof *p_a);
      memcpy(p_b, touch[at].p[1], 3 * sizeof *p_b);
      memcpy(n, touch[at].n, 3 * sizeof *n);
      return features.sep;
    }
    if (features.sep > 0)
      features.kind = PERP_BY_CLOSEST;
    else
      perp_hull_face_witness(&pair, &features);
  }
  if (features.kind == PERP_BY_CLOSEST) perp_hull_closest(&pair, &features);
  perp_place(pa, features.pa, p_a);
  perp_place(pa, features.pb, p_b);
  perp_turn(3, pa->R, features.n, n);
  return features.sep;
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
  perp_hull_pair pair;
  perp_features features;
  int at = 0, face_a = 0, face_b = 0, n;
  if (hull_pair_is_large(a->hull, b->hull)) return perp_solid_solid(a, pa, b, pb, margin, out);
  if (isinf(margin)) {
    out->gap = hull_distance(a, pa, b, pb, out->p[0], out->p[1], out->n);
    out->feature = 0;
    return 1;
  }
  perp_hull_pair_set(&pair, a, pa, b, pb);
  perp_hull_separate(&pair, margin, &features);
  if (!(features.sep < margin)) return 0;
  double slack = PERP_HULL_EXACT * pair.size;
  if (features.kind == PERP_BY_EDGES) {
    double d = perp_hull_edge_witness(&pair, &features);
    if (features.sep > 0 && d > features.sep + slack) features.kind = PERP_BY_CLOSEST;
  } else if (features.sep > 0) {
    /* face and something, unless nothing of the other lies over the face */
    n = over_face(&pair, features.kind == PERP_BY_FACE_A, features.face, HUGE_VAL, PERP_HULL_EXACT,
                  pa, pb, out);
    if (n == 0 || polytope_deepest(n, out, &at) > features.sep + slack)
      features.kind = PERP_BY_CLOSEST;
  }
  if (features.kind == PERP_BY_CLOSEST) {
    perp_hull_closest(&pair, &features);
    if (!(features.sep < margin)) return 0;
  }
  /* a face that points along n, that of a if both do */
  double cos_a = polytope_facing(pair.a, features.n, &face_a), back[3];
  perp_turn(3, pair.ba.R, features.n, back);
  for (int i = 0; i < 3; i++) back[i] = -back[i];
  double cos_b = polytope_facing(pair.b, back, &face_b);
  for (int pass = 0; pass < 2; pass++) {
    bool of_a = (cos_a >= (pair.a->piece ? NEAR : cos_b - 1e-6)) == (pass == 0);
    if ((of_a ? cos_a : cos_b) < NEAR) continue;
    n = over_face(&pair, of_a, of_a ? face_a : face_b, margin, PERP_HULL_SNAP, pa, pb, out);
    /* the face stands for these features only if it tells their distance */
    if (n > 0 && fabs(polytope_deepest(n, out, &at) - features.sep) <=
                     0.05 * fabs(features.sep) + PERP_HULL_SNAP * pair.size)
      return n;
  }
  if (features.kind == PERP_BY_FACE_A || features.kind == PERP_BY_FACE_B)
    perp_hull_face_witness(&pair, &features);
  perp_place(pa, features.pa, out->p[0]);
  perp_place(pa, features.pb, out->p[1]);
  perp_turn(3, pa->R, features.n, out->n);
  double d[3];
  perp_sub(out->p[1], out->p[0], d);
  out->gap = perp_dot(3, out->n, d);
  out->feature = features.id;
  return 1;
}

/* ---- hull and plane ---- */

int perp_hull_plane(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                    const perp_pose *pb, double margin, perp_touch *out)
{
  const perp_hull *hull = a->hull;
  double n[3], o[3], r[3], m[3], low = HUGE_VAL, facing_best = HUGE_VAL;
  int support = 0, count = 0;
  perp_touch t[PERP_FACE_MAX];
  perp_turn(3, pb->R, b->axis, n);
  perp_place(pb, b->c, o);
  perp_sub(o, pa->x, r);
  double height = perp_dot(3, n, r);
  perp_turn_back(3, pa->R, n, m); /* the plane seen from a: m . x = height */
  if (!perp_hull_is_small(hull)) {
    support = perp_hull_support(hull, (const double[3]){ -m[0], -m[1], -m[2] }, -1);
    low = perp_dot(3, m, hull->v + 3 * support);
  }
  for (int i = 0; i < hull->n_vertices && perp_hull_is_small(hull); i++) {
    double x = perp_dot(3, m, hull->v + 3 * i);
    if (x < low) low = x, support = i;
  }
  if (!(low - height < margin)) return 0;
  int face = hull->fan[hull->star[support]];
  for (int k = hull->star[support]; k < hull->star[support + 1]; k++) {
    double x = perp_dot(3, m, hull->n + 3 * hull->fan[k]);
    if (x < facing_best - PERP_HULL_SNAP) facing_best = x, face = hull->fan[k];
  }
  for (int k = hull->start[face]; k < hull->start[face + 1]; k++) {
    perp_touch *touch = &t[count];
    if (isinf(margin) && hull->loop[k] != support) continue;
    perp_place(pa, hull->v + 3 * hull->loop[k], touch->p[0]);
    perp_sub(touch->p[0], o, r);
    touch->gap = perp_dot(3, n, r);
    if (!(touch->gap < margin)) continue;
    perp_along(touch->p[0], -touch->gap, n, touch->p[1]);
    for (int i = 0; i < 3; i++) touch->n[i] = -n[i];
    touch->feature = perp_feature(PERP_VERTEX_A, 0, hull->loop[k]);
    count++;
  }
  count = perp_manifold_reduce(count, t, a->bound);
  memcpy(out, t, (size_t)count * sizeof *t);
  return count;
}
