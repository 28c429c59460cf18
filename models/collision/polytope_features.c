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

static void polytope_features_see(const perp_hull *h, const perp_pose *rel, perp_seen *s)
{
  s->h = h;
  memcpy(s->R, rel->R, sizeof s->R);
  memcpy(s->x, rel->x, sizeof s->x);
  for (int i = 0; i < h->n_vertices && perp_hull_is_small(h); i++)
    perp_place(rel, h->v + 3 * i, s->v + 3 * i);
  if (!h->box) return;
  for (int i = 0; i < 3; i++) {
    s->centre[i] = 0.5 * (s->v[i] + s->v[21 + i]);
    for (int k = 0; k < 3; k++) s->half[k][i] = 0.5 * (s->v[(3 << k) + i] - s->v[i]);
  }
}

int perp_seen_lowest(const perp_seen *s, const double n[3], double *low)
{
  double v[3];
  int at = 0;
  *low = HUGE_VAL;
  if (!perp_hull_is_small(s->h)) {
    for (int i = 0; i < 3; i++) v[i] = -n[i];
    double d[3];
    perp_turn_back(3, s->R, v, d);
    at = perp_hull_support(s->h, d, -1);
    perp_seen_vertex(s, at, v);
    *low = perp_dot(3, n, v);
    return at;
  }
  for (int i = 0; i < s->h->n_vertices; i++) {
    const double x = perp_dot(3, n, s->v + 3 * i);
    if (x < *low) *low = x, at = i;
  }
  return at;
}

/* least n . v over the vertices */
static double polytope_features_lowest(const perp_seen *s, const double n[3])
{
  double low = HUGE_VAL;
  if (s->h->box)
    return perp_dot(3, n, s->centre) - fabs(perp_dot(3, n, s->half[0])) -
           fabs(perp_dot(3, n, s->half[1])) - fabs(perp_dot(3, n, s->half[2]));
  if (!perp_hull_is_small(s->h)) {
    perp_seen_lowest(s, n, &low);
    return low;
  }
  for (int i = 0; i < s->h->n_vertices; i++) {
    const double *v = s->v + 3 * i;
    double x = n[0] * v[0] + n[1] * v[1] + n[2] * v[2];
    low = x < low ? x : low;
  }
  return low;
}

/* largest separation of `other` along a face normal of h; stops early beyond `enough` */
static double best_face(const perp_hull *h, const perp_seen *other, double enough, double tie,
                        int *face)
{
  double best = -HUGE_VAL;
  for (int f = 0; f < h->n_faces; f++) {
    double sep = polytope_features_lowest(other, h->n + 3 * f) - h->d[f];
    /* the first of faces that are equal up to rounding: a tie must not flicker */
    if (sep > best + tie) best = sep, *face = f;
    if (best >= enough) break;
  }
  return best;
}

/* improves *best by the pairs of edge j of b (direction w, face normals c, d) with the edges of a
 * that are parallel to axis k; along: w . n of the faces of a */
static void try_axis(const perp_hull *a, int k, const perp_seen *b, int j, const double w[3],
                     const double c[3], const double *along, double tie, double *best,
                     perp_features *out)
{
  double vb[3];
  perp_seen_vertex(b, b->h->edge[4 * j], vb);
  for (int l = a->axis[k]; l < a->axis[k + 1]; l++) {
    const int i = a->edges[l], *ea = a->edge + 4 * i;
    const double *u = a->dir + 3 * i, *na = a->n + 3 * ea[2], *nb = a->n + 3 * ea[3];
    double aw = along[ea[2]], bw = along[ea[3]], n[3], r[3];
    if (!(aw * bw < 0) || !(perp_dot(3, c, u) * bw < 0)) continue;
    perp_cross(u, w, n);
    double nn = perp_dot(3, n, n);
    if (nn <= 1e-18 * perp_dot(3, w, w) * perp_dot(3, u, u)) continue;
    /* outward for a: on the side of the mean of its two face normals */
    double out_a = perp_dot(3, n, na) + perp_dot(3, n, nb);
    double len = out_a < 0 ? -sqrt(nn) : sqrt(nn);
    perp_sub(vb, a->v + 3 * ea[0], r);
    double sep = perp_dot(3, n, r) / len;
    if (sep <= *best + tie) continue;
    *best = sep;
    out->ea = i;
    out->eb = j;
    for (int m = 0; m < 3; m++) out->n[m] = n[m] / len;
  }
}

/* Largest separation along a cross product of edges; -infinity when no pair counts.  The arcs (na,
 * nb) of an edge of a and (-c, -d) of one of b on the Gauss sphere must cross: c and d on either
 * side of the plane of the first arc, na and nb of the second's, and on the same hemisphere.  The
 * first test is the same for parallel edges. */
static double best_edges(const perp_hull *a, const perp_seen *b, double enough, double tie,
                         perp_features *out)
{
  double best = -HUGE_VAL;
  for (int j = 0; j < b->h->n_edges && best < enough; j++) {
    const int *eb = b->h->edge + 4 * j;
    double w[3], c[3], d[3], along[PERP_HULL_SMALL];
    perp_turn(3, b->R, b->h->dir + 3 * j, w);
    perp_turn(3, b->R, b->h->n + 3 * eb[2], c);
    perp_turn(3, b->R, b->h->n + 3 * eb[3], d);
    for (int f = 0; f < a->n_faces; f++) along[f] = perp_dot(3, w, a->n + 3 * f);
    for (int k = 0; k < a->n_axes; k++) {
      const double *u = a->dir + 3 * a->edges[a->axis[k]];
      if (perp_dot(3, c, u) * perp_dot(3, d, u) < 0)
        try_axis(a, k, b, j, w, c, along, tie, &best, out);
    }
  }
  return best;
}

/* the edge of a group of parallel ones (vertices v, 3 each) that lies farthest along n */
static int outer_edge(const perp_hull *h, int group, const double *v, const double n[3])
{
  int best = h->edges[h->axis[group]];
  double far = -HUGE_VAL;
  for (int l = h->axis[group]; l < h->axis[group + 1]; l++) {
    double x = perp_dot(3, n, v + 3 * h->edge[4 * h->edges[l]]);
    if (x > far) far = x, best = h->edges[l];
  }
  return best;
}

/* Which directions e_k x (half axis l of b), e_k the axes of box a, separate two boxes by more than
 * `least`, or by so nearly that rounding may decide: bit 3 k + l.  half: of a; r: from its centre
 * to that of b. */
static unsigned worth_trying(double half[3][3], const perp_seen *b, const double r[3], double least)
{
  static const int after[3] = { 1, 2, 0 };
  double la[3], lb[3], B[3][3], Q[3][3], x[3], sum = 0; /* lengths; b and r in the axes of a */
  unsigned which = 0;
  for (int k = 0; k < 3; k++) {
    la[k] = perp_norm(half[k]);
    lb[k] = perp_norm(b->half[k]);
    const double part = 1 / la[k];
    x[k] = part * perp_dot(3, half[k], r);
    for (int l = 0; l < 3; l++) B[k][l] = part * perp_dot(3, half[k], b->half[l]);
    sum += la[k] + lb[k] + fabs(x[k]);
  }
  for (int l = 0; l < 3;
       l++) { /* reach of half axis m of b along e_k x l: that of o along e_k, m x l = o */
    const double part = lb[after[l]] * lb[after[after[l]]] / lb[l];
    for (int k = 0; k < 3; k++) Q[k][l] = part * fabs(B[k][l]);
  }
  const double slack = 1e-13 * sum * sum;
  /* gap / |n| against least, without the root */
  const double square = least * fabs(least) * (least > 0 ? 1 - 1e-9 : 1 + 1e-9);
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++) {
      const int i = after[k], j = after[i], m = after[l], o = after[m];
      const double nn = B[i][l] * B[i][l] + B[j][l] * B[j][l];
      const double gap = fabs(B[i][l] * x[j] - B[j][l] * x[i]) - la[i] * fabs(B[j][l]) -
                         la[j] * fabs(B[i][l]) - Q[k][m] - Q[k][o] + slack;
      which |= (unsigned)!(gap * fabs(gap) < square * nn) << (3 * k + l);
    }
  return which;
}

/* half axis of a box that the edges of a group are parallel to */
static int axis_of(const perp_hull *h, int group)
{
  const int *e = h->edge + 4 * h->edges[h->axis[group]];
  return (e[0] ^ e[1]) >> 1; /* bit k of a vertex: its side along axis k */
}

/* The same for two boxes: nine directions, supports from the half axes.  A direction that belongs
 * to no crossing of arcs separates by no more than one that does, so that it need not be told
 * apart.  Most directions are seen to separate by no more than `least` (the faces) by a shorter
 * formula. */
static double best_box_edges(const perp_hull *a, const perp_seen *b, double least, double tie,
                             perp_features *out)
{
  double best = -HUGE_VAL, half[3][3], r[3];
  int group_a = 0, group_b = 0;
  for (int i = 0; i < 3; i++) {
    r[i] = b->centre[i] - 0.5 * (a->v[i] + a->v[21 + i]);
    for (int k = 0; k < 3; k++) half[k][i] = 0.5 * (a->v[(3 << k) + i] - a->v[i]);
  }
  const unsigned which = worth_trying(half, b, r, least);
  for (int l = 0; l < 3 && which != 0; l++)
    for (int k = 0; k < 3; k++) {
      if (!(which >> (3 * axis_of(a, k) + axis_of(b->h, l)) & 1)) continue;
      const double *u = a->dir + 3 * a->edges[a->axis[k]];
      double n[3], w[3];
      perp_turn(3, b->R, b->h->dir + 3 * b->h->edges[b->h->axis[l]], w);
      perp_cross(u, w, n);
      double nn = perp_dot(3, n, n), along = perp_dot(3, n, r), reach = 0;
      if (nn <= 1e-18 * perp_dot(3, w, w) * perp_dot(3, u, u)) continue;
      for (int i = 0; i < 3; i++)
        reach += fabs(perp_dot(3, n, half[i])) + fabs(perp_dot(3, n, b->half[i]));
      double len = sqrt(nn), sep = (fabs(along) - reach) / len;
      if (sep <= best + tie) continue;
      best = sep;
      group_a = k;
      group_b = l;
      for (int i = 0; i < 3; i++) out->n[i] = along < 0 ? -n[i] / len : n[i] / len;
    }
  if (best == -HUGE_VAL) return best;
  const double back[3] = { -out->n[0], -out->n[1], -out->n[2] };
  out->ea = outer_edge(a, group_a, a->v, out->n);
  out->eb = outer_edge(b->h, group_b, b->v, back);
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

/* Pairs of edges are passed over that the plane of the separating normal f->n shows to be too far
 * apart. */
void perp_hull_closest(const perp_hull_pair *p, perp_features *f)
{
  const perp_hull *a = p->a;
  const perp_seen *b = &p->bs;
  double best2 = HUGE_VAL, high[PERP_HULL_SMALL_EDGES];
  for (int i = 0; i < a->n_edges; i++)
    high[i] = fmax(perp_dot(3, f->n, a->v + 3 * a->edge[4 * i]),
                   perp_dot(3, f->n, a->v + 3 * a->edge[4 * i + 1]));
  for (int j = 0; j < b->h->n_edges; j++) {
    double q[3], q1[3];
    perp_seen_vertex(b, b->h->edge[4 * j], q);
    perp_seen_vertex(b, b->h->edge[4 * j + 1], q1);
    double w[3], low = fmin(perp_dot(3, f->n, q), perp_dot(3, f->n, q1));
    perp_sub(q1, q, w);
    for (int i = 0; i < a->n_edges; i++) {
      double apart = low - high[i];
      if (apart > 0 && apart * apart > best2) continue;
      const double *o = a->v + 3 * a->edge[4 * i], *u = a->dir + 3 * i;
      double s, t, d2 = perp_segments(o, u, q, w, &s, &t);
      if (d2 >= best2) continue;
      best2 = d2;
      perp_along(o, s, u, f->pa);
      perp_along(q, t, w, f->pb);
      f->id = edge_feature(a, i, s, b->h, j, t);
    }
  }
  const double best = sqrt(best2);
  double d[3];
  perp_sub(f->pb, f->pa, d);
  /* nearer than that the difference is rounding: the normal of the separating plane stays */
  if (best > 1e-10 * p->size)
    for (int i = 0; i < 3; i++) f->n[i] = d[i] / best;
  f->kind = PERP_BY_CLOSEST;
  f->sep = perp_dot(3, f->n, d);
}

/* ---- a pair ---- */

void perp_hull_pair_set(perp_hull_pair *p, const perp_shape *a, const perp_pose *pa,
                        const perp_shape *b, const perp_pose *pb)
{
  p->a = a->hull;
  p->b = b->hull;
  perp_relative(pa, pb, &p->ab);
  perp_place_back(pb, pa->x, p->ba.x);
  for (int i = 0; i < 3; i++) /* its transpose, to the bit */
    for (int k = 0; k < 3; k++) p->ba.R[i + 3 * k] = p->ab.R[k + 3 * i];
  polytope_features_see(p->b, &p->ab, &p->bs);
  polytope_features_see(p->a, &p->ba, &p->as);
  p->size = fmin(a->bound, b->bound);
}

void perp_hull_separate(const perp_hull_pair *p, double enough, perp_features *f)
{
  int fa = 0, fb = 0;
  perp_features edges;
  const double tie = 1e-13 * p->size;
  double a = best_face(p->a, &p->bs, enough, tie, &fa), b = -HUGE_VAL, e = -HUGE_VAL;
  if (a < enough) b = best_face(p->b, &p->as, enough, tie, &fb);
  double faces = fmax(a, b);
  if (faces < enough && p->a->box && p->b->box)
    e = best_box_edges(p->a, &p->bs, faces, tie, &edges);
  else if (faces < enough && p->a->dim == 3)
    e = best_edges(p->a, &p->bs, enough, tie, &edges);
  if (e > faces + tie) {
    *f = edges;
    f->kind = PERP_BY_EDGES;
    f->sep = e;
    return;
  }
  f->kind = b > a + PERP_HULL_EXACT * p->size ? PERP_BY_FACE_B : PERP_BY_FACE_A;
  f->face = f->kind == PERP_BY_FACE_A ? fa : fb;
  f->sep = f->kind == PERP_BY_FACE_A ? a : b;
  if (f->kind == PERP_BY_FACE_A) {
    memcpy(f->n, p->a->n + 3 * fa, sizeof f->n);
  } else {
    perp_turn(3, p->bs.R, p->b->n + 3 * fb, f->n);
    for (int i = 0; i < 3; i++) f->n[i] = -f->n[i];
  }
}

double perp_hull_edge_witness(const perp_hull_pair *p, perp_features *f)
{
  const perp_hull *a = p->a, *b = p->b;
  const double *va = a->v + 3 * a->edge[4 * f->ea], *u = a->dir + 3 * f->ea;
  double vb[3], end[3], w[3], s, t;
  perp_seen_vertex(&p->bs, b->edge[4 * f->eb], vb);
  perp_seen_vertex(&p->bs, b->edge[4 * f->eb + 1], end);
  perp_sub(end, vb, w);
  double d = sqrt(perp_segments(va, u, vb, w, &s, &t));
  perp_along(va, s, u, f->pa);
  perp_along(vb, t, w, f->pb);
  f->id = perp_feature(PERP_EDGES, f->ea, f->eb);
  return d;
}
