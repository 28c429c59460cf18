/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The features by which two convex polytopes are apart, or overlap least.
 *
 * The separation along the outward normal n of a supporting plane is min_j n . b_j - max_i n . a_i.
 * When they overlap, minus their penetration depth is its largest value over the face normals of
 * both and the cross products of those edges whose images on the Gauss sphere cross (the faces of
 * the Minkowski difference; penetration depth and witness points as in STAR 2012, section 6.2).
 * When they are apart the largest value is their distance only if the closest features are a face
 * and something, or two edges; else they lie on an edge of each (a point inside a face has the
 * normal of the face for its direction) and are searched among all pairs of edges, which is exact
 * and rarely needed.  Cost O(faces x vertices + edges x edges), no allocation. */
#include "models/collision/polytope.h"

#include <string.h>

static void polytope_features_see(const perp_hull *hull, const perp_pose *rel, perp_seen *seen)
{
  seen->h = hull;
  memcpy(seen->R, rel->R, sizeof seen->R);
  memcpy(seen->x, rel->x, sizeof seen->x);
  if (hull->box) {
    perp_seen_box(seen);
    return;
  }
  for (int i = 0; i < hull->n_vertices && perp_hull_is_small(hull); i++)
    perp_place(rel, hull->v + 3 * i, seen->v + 3 * i);
}

int perp_seen_lowest(const perp_seen *seen, const double n[3], double *low)
{
  double v[3];
  int at = 0;
  *low = HUGE_VAL;
  if (!perp_hull_is_small(seen->h)) {
    for (int i = 0; i < 3; i++) v[i] = -n[i];
    double d[3];
    perp_turn_back(3, seen->R, v, d);
    at = perp_hull_support(seen->h, d, -1);
    perp_seen_vertex(seen, at, v);
    *low = perp_dot(3, n, v);
    return at;
  }
  for (int i = 0; i < seen->h->n_vertices; i++) {
    const double x = perp_dot(3, n, seen->v + 3 * i);
    if (x < *low) *low = x, at = i;
  }
  return at;
}

/* least n . v over the vertices */
static double polytope_features_lowest(const perp_seen *seen, const double n[3])
{
  double low = HUGE_VAL;
  if (!perp_hull_is_small(seen->h)) {
    perp_seen_lowest(seen, n, &low);
    return low;
  }
  for (int i = 0; i < seen->h->n_vertices; i++) {
    const double *v = seen->v + 3 * i;
    double x = n[0] * v[0] + n[1] * v[1] + n[2] * v[2];
    low = x < low ? x : low;
  }
  return low;
}

/* largest separation of `other` along a face normal of hull; stops early beyond `enough` */
static double best_face(const perp_hull *hull, const perp_seen *other, double enough, double tie,
                        int *face)
{
  double best = -HUGE_VAL;
  if (other->h->box) return perp_box_face(hull, other, enough, tie, face);
  for (int f = 0; f < hull->n_faces; f++) {
    double sep = polytope_features_lowest(other, hull->n + 3 * f) - hull->d[f];
    /* the first of faces that are equal up to rounding: a tie must not flicker */
    if (sep > best + tie) best = sep, *face = f;
    if (best >= enough) break;
  }
  return best;
}

/* improves *best by the pairs of edge j of b (direction w, face normals c, d) with the edges of a
 * that are parallel to axis k; along: w . n of the faces of a */
static void try_axis(const perp_hull *hull, int k, const perp_seen *seen, int j, const double w[3],
                     const double c[3], const double *along, double tie, double *best,
                     perp_features *out)
{
  double vb[3];
  perp_seen_vertex(seen, seen->h->edge[4 * j], vb);
  for (int l = hull->axis[k]; l < hull->axis[k + 1]; l++) {
    const int i = hull->edges[l], *ea = hull->edge + 4 * i;
    const double *u = hull->dir + 3 * i, *na = hull->n + 3 * ea[2], *nb = hull->n + 3 * ea[3];
    double aw = along[ea[2]], bw = along[ea[3]], n[3], r[3];
    if (!(aw * bw < 0) || !(perp_dot(3, c, u) * bw < 0)) continue;
    perp_cross(u, w, n);
    double nn = perp_dot(3, n, n);
    if (nn <= 1e-18 * perp_dot(3, w, w) * perp_dot(3, u, u)) continue;
    /* outward for a: on the side of the mean of its two face normals */
    double out_a = perp_dot(3, n, na) + perp_dot(3, n, nb);
    double len = out_a < 0 ? -sqrt(nn) : sqrt(nn);
    perp_sub(vb, hull->v + 3 * ea[0], r);
    double sep = perp_dot(3, n, r) / len;
    if (sep <= *best + tie) continue;
    *best = sep;
    out->ea = i;
    out->eb = j;
    for (int m = 0; m < 3; m++) out->n[m] = n[m] / len;
  }
}

/* Largest separation along a cross product of edges; -infinity when no pair counts.  The arcs (na,
 * nb) of an edge of a and (-c, -d) of one of seen on the Gauss sphere must cross: c and d on either
 * side of the plane of the first arc, na and nb of the second's, and on the same hemisphere.  The
 * first test is the same for parallel edges. */
static double best_edges(const perp_hull *hull, const perp_seen *seen, double enough, double tie,
                         perp_features *out)
{
  double best = -HUGE_VAL;
  for (int j = 0; j < seen->h->n_edges && best < enough; j++) {
    const int *eb = seen->h->edge + 4 * j;
    double w[3], c[3], d[3], along[2 * PERP_HULL_SMALL]; /* of its faces, by Euler's formula */
    perp_turn(3, seen->R, seen->h->dir + 3 * j, w);
    perp_turn(3, seen->R, seen->h->n + 3 * eb[2], c);
    perp_turn(3, seen->R, seen->h->n + 3 * eb[3], d);
    for (int f = 0; f < hull->n_faces; f++) along[f] = perp_dot(3, w, hull->n + 3 * f);
    for (int k = 0; k < hull->n_axes; k++) {
      const double *u = hull->dir + 3 * hull->edges[hull->axis[k]];
      if (perp_dot(3, c, u) * perp_dot(3, d, u) < 0)
        try_axis(hull, k, seen, j, w, c, along, tie, &best, out);
    }
  }
  return best;
}

/* identity of the closest points s, t of two edges */
static uint32_t edge_feature(const perp_hull *a, int ea, double s, const perp_hull *b, int eb,
                             double t)
{
  bool at_a = s <= 0 || s >= 1, at_b = t <= 0 || t >= 1;
  int va = a->edge[4 * ea + (s >= 1)], vb = b->edge[4 * eb + (t >= 1)];
  if (at_a && at_b) return perp_feature(PERP_VERTICES, va, vb);
  if (at_b) return perp_feature(PERP_VERTEX_B, 0, vb);
  return at_a ? perp_feature(PERP_VERTEX_A, 0, va) : perp_feature(PERP_EDGES, ea, eb);
}

/* Pairs of edges are passed over that the plane of the separating normal features->n shows to be
 * too far apart. */
void perp_hull_closest(const perp_hull_pair *pair, perp_features *features)
{
  const perp_hull *hull = pair->a;
  const perp_seen *seen = &pair->bs;
  double best2 = HUGE_VAL, high[3 * PERP_HULL_SMALL]; /* of its edges, likewise */
  for (int i = 0; i < hull->n_edges; i++)
    high[i] = fmax(perp_dot(3, features->n, hull->v + 3 * hull->edge[4 * i]),
                   perp_dot(3, features->n, hull->v + 3 * hull->edge[4 * i + 1]));
  for (int j = 0; j < seen->h->n_edges; j++) {
    double q[3], q1[3];
    perp_seen_vertex(seen, seen->h->edge[4 * j], q);
    perp_seen_vertex(seen, seen->h->edge[4 * j + 1], q1);
    double w[3], low = fmin(perp_dot(3, features->n, q), perp_dot(3, features->n, q1));
    perp_sub(q1, q, w);
    for (int i = 0; i < hull->n_edges; i++) {
      double apart = low - high[i];
      if (apart > 0 && apart * apart > best2) continue;
      const double *o = hull->v + 3 * hull->edge[4 * i], *u = hull->dir + 3 * i;
      double s, t, d2 = perp_segments(o, u, q, w, &s, &t);
      if (d2 >= best2) continue;
      best2 = d2;
      perp_along(o, s, u, features->pa);
      perp_along(q, t, w, features->pb);
      features->id = edge_feature(hull, i, s, seen->h, j, t);
    }
  }
  const double best = sqrt(best2);
  double d[3];
  perp_sub(features->pb, features->pa, d);
  /* nearer than that the difference is rounding: the normal of the separating plane stays */
  if (best > 1e-10 * pair->size)
    for (int i = 0; i < 3; i++) features->n[i] = d[i] / best;
  features->kind = PERP_BY_CLOSEST;
  features->sep = perp_dot(3, features->n, d);
}

/* ---- a pair ---- */

void perp_hull_pair_set(perp_hull_pair *pair, const perp_shape *a, const perp_pose *pa,
                        const perp_shape *b, const perp_pose *pb)
{
  pair->a = a->hull;
  pair->b = b->hull;
  perp_relative(pa, pb, &pair->ab);
  perp_place_back(pb, pa->x, pair->ba.x);
  for (int i = 0; i < 3; i++) /* its transpose, to the bit */
    for (int k = 0; k < 3; k++) pair->ba.R[i + 3 * k] = pair->ab.R[k + 3 * i];
  polytope_features_see(pair->b, &pair->ab, &pair->bs);
  polytope_features_see(pair->a, &pair->ba, &pair->as);
  pair->size = fmin(a->bound, b->bound);
}

void perp_hull_separate(const perp_hull_pair *pair, double enough, perp_features *features)
{
  int fa = 0, fb = 0;
  perp_features edges;
  const double tie = 1e-13 * pair->size;
  double a = best_face(pair->a, &pair->bs, enough, tie, &fa), b = -HUGE_VAL, e = -HUGE_VAL;
  if (a < enough) b = best_face(pair->b, &pair->as, enough, tie, &fb);
  double faces = fmax(a, b);
  if (faces < enough && pair->a->box && pair->b->box)
    e = perp_box_edges(pair->a, &pair->bs, faces, tie, &edges);
  else if (faces < enough && pair->a->dim == 3)
    e = best_edges(pair->a, &pair->bs, enough, tie, &edges);
  if (e > faces + tie) {
    *features = edges;
    features->kind = PERP_BY_EDGES;
    features->sep = e;
    return;
  }
  features->kind = b > a + PERP_HULL_EXACT * pair->size ? PERP_BY_FACE_B : PERP_BY_FACE_A;
  features->face = features->kind == PERP_BY_FACE_A ? fa : fb;
  features->sep = features->kind == PERP_BY_FACE_A ? a : b;
  if (features->kind == PERP_BY_FACE_A) {
    memcpy(features->n, pair->a->n + 3 * fa, sizeof features->n);
  } else {
    perp_turn(3, pair->bs.R, pair->b->n + 3 * fb, features->n);
    for (int i = 0; i < 3; i++) features->n[i] = -features->n[i];
  }
}

double perp_hull_edge_witness(const perp_hull_pair *pair, perp_features *features)
{
  const perp_hull *a = pair->a, *b = pair->b;
  const double *va = a->v + 3 * a->edge[4 * features->ea], *u = a->dir + 3 * features->ea;
  double vb[3], end[3], w[3], s, t;
  perp_seen_vertex(&pair->bs, b->edge[4 * features->eb], vb);
  perp_seen_vertex(&pair->bs, b->edge[4 * features->eb + 1], end);
  perp_sub(end, vb, w);
  double d = sqrt(perp_segments(va, u, vb, w, &s, &t));
  perp_along(va, s, u, features->pa);
  perp_along(vb, t, w, features->pb);
  features->id = perp_feature(PERP_EDGES, features->ea, features->eb);
  return d;
}
