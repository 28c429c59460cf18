/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of convex polytopes (polygons in the plane) with each other and with planes.
 *
 * The separation of two convex polytopes along the outward normal n of a supporting plane is min_j
 * n . b_j - max_i n . a_i.  When they overlap, minus their penetration depth is its largest value
 * over the face normals of both and the cross products of those edges whose images on the Gauss
 * sphere cross (the faces of the Minkowski difference; penetration depth and witness points as in
 * STAR 2012, section 6.2).  When they are apart the largest value is their distance only if the
 * closest features are a face and something, or two edges; else the closest points are searched
 * among all edge-edge and vertex-face pairs, which is exact and rarely needed.
 *
 * Manifold: when a face is within NEAR of the direction of separation, the other shape's most
 * opposed face at its support vertex is clipped against the sides of that face (Sutherland and
 * Hodgman 1974); what lies deeper than the margin are the contacts.  An edge-edge normal that near
 * to a face would be one point where the bodies rest on several.  Otherwise the pair of closest
 * points is the contact.  Vertices within SNAP of a side plane count as inside, so that aligned
 * boxes touch in their corners whatever the rounding.  Cost O(faces x vertices + edges x edges),
 * no allocation. */
#include "models/shapes/shapes_private.h"

#include <string.h>

static const double NEAR = 0.9995; /* cosine: 1.8 degrees */
static const double SNAP = 1e-6;   /* of the size of the smaller shape */
static const double EXACT = 1e-12; /* likewise: lengths that are equal up to rounding */

/* One hull as seen from the frame of the other. */
typedef struct seen {
  const perp_hull *h;
  double R[9], v[3 * PERP_HULL_VERTICES_MAX];
  double centre[3], half[3][3]; /* of a box: half axes */
} seen;

/* Closest or deepest features of two hulls in the frame of a; n from a to b. */
typedef struct features {
  enum { FACE_A, FACE_B, EDGES, CLOSEST } kind;
  int face;                       /* of a or of b */
  int ea, eb;                     /* edges */
  uint32_t id;                    /* of EDGES and CLOSEST */
  double sep, n[3], pa[3], pb[3]; /* witnesses of EDGES and CLOSEST */
} features;

static void see(const perp_hull *h, const perp_pose *rel, seen *s)
{
  s->h = h;
  memcpy(s->R, rel->R, sizeof s->R);
  for (int i = 0; i < h->n_vertices; i++) perp_place(rel, h->v + 3 * i, s->v + 3 * i);
  if (!h->box) return;
  for (int i = 0; i < 3; i++) {
    s->centre[i] = 0.5 * (s->v[i] + s->v[21 + i]);
    for (int k = 0; k < 3; k++) s->half[k][i] = 0.5 * (s->v[(3 << k) + i] - s->v[i]);
  }
}

/* least n . v over the vertices */
static double lowest(const seen *s, const double n[3])
{
  double low = HUGE_VAL;
  if (s->h->box)
    return perp_dot(3, n, s->centre) - fabs(perp_dot(3, n, s->half[0])) -
           fabs(perp_dot(3, n, s->half[1])) - fabs(perp_dot(3, n, s->half[2]));
  for (int i = 0; i < s->h->n_vertices; i++) {
    const double *v = s->v + 3 * i;
    double x = n[0] * v[0] + n[1] * v[1] + n[2] * v[2];
    low = x < low ? x : low;
  }
  return low;
}

/* largest separation of `other` along a face normal of h; stops early beyond `enough` */
static double best_face(const perp_hull *h, const seen *other, double enough, double tie, int *face)
{
  double best = -HUGE_VAL;
  for (int f = 0; f < h->n_faces; f++) {
    double sep = lowest(other, h->n + 3 * f) - h->d[f];
    /* the first of faces that are equal up to rounding: a tie must not flicker */
    if (sep > best + tie) best = sep, *face = f;
    if (best >= enough) break;
  }
  return best;
}

/* improves *best by the pairs of edge j of b (direction w, face normals c, d) with the edges of a
 * that are parallel to axis k; along: w . n of the faces of a */
static void try_axis(const perp_hull *a, int k, const seen *b, int j, const double w[3],
                     const double c[3], const double *along, double tie, double *best,
                     features *out)
{
  const double *vb = b->v + 3 * b->h->edge[4 * j];
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
static double best_edges(const perp_hull *a, const seen *b, double enough, double tie,
                         features *out)
{
  double best = -HUGE_VAL;
  for (int j = 0; j < b->h->n_edges && best < enough; j++) {
    const int *eb = b->h->edge + 4 * j;
    double w[3], c[3], d[3], along[PERP_HULL_FACES_MAX];
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

/* The same for two boxes: nine directions, supports from the half axes.  A direction that belongs
 * to no crossing of arcs separates by no more than one that does, so that it need not be told
 * apart. */
static double best_box_edges(const perp_hull *a, const seen *b, double tie, features *out)
{
  double best = -HUGE_VAL, half[3][3], r[3];
  int group_a = 0, group_b = 0;
  for (int i = 0; i < 3; i++) {
    r[i] = b->centre[i] - 0.5 * (a->v[i] + a->v[21 + i]);
    for (int k = 0; k < 3; k++) half[k][i] = 0.5 * (a->v[(3 << k) + i] - a->v[i]);
  }
  for (int l = 0; l < 3; l++) {
    double w[3];
    perp_turn(3, b->R, b->h->dir + 3 * b->h->edges[b->h->axis[l]], w);
    double ww = perp_dot(3, w, w);
    for (int k = 0; k < 3; k++) {
      const double *u = a->dir + 3 * a->edges[a->axis[k]];
      double n[3];
      perp_cross(u, w, n);
      double nn = perp_dot(3, n, n), along = perp_dot(3, n, r), reach = 0;
      if (nn <= 1e-18 * ww * perp_dot(3, u, u)) continue;
      for (int i = 0; i < 3; i++)
        reach += fabs(perp_dot(3, n, half[i])) + fabs(perp_dot(3, n, b->half[i]));
      double len = sqrt(nn), sep = (fabs(along) - reach) / len;
      if (sep <= best + tie) continue;
      best = sep;
      group_a = k;
      group_b = l;
      for (int i = 0; i < 3; i++) out->n[i] = along < 0 ? -n[i] / len : n[i] / len;
    }
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

/* vertices of one hull over the faces of the other: improves *best (distance) */
static void closest_faces(const perp_hull *h, const seen *other, double *best, double on[3],
                          double from[3], int *vertex)
{
  for (int i = 0; i < other->h->n_vertices; i++)
    for (int f = 0; f < h->n_faces; f++) {
      const double *v = other->v + 3 * i, *n = h->n + 3 * f;
      double s = perp_dot(3, n, v) - h->d[f];
      if (s < 0 || s >= *best) continue;
      bool over = true;
      for (int k = h->start[f]; k < h->start[f + 1] && over; k++) {
        double r[3];
        perp_sub(v, h->v + 3 * h->loop[k], r);
        over = perp_dot(3, h->side + 3 * k, r) <= 0;
      }
      if (!over) continue;
      *best = s;
      *vertex = i;
      memcpy(from, v, 3 * sizeof *v);
      perp_along(v, -s, n, on);
    }
}

/* Closest points of disjoint hulls, by all pairs of features; a_seen: a in the frame of b.
 * out->n: normal of a plane between them, by whose distance pairs of edges are passed over that
 * are too far apart. */
static void closest(const perp_hull *a, const seen *b, const perp_hull *b_hull, const seen *a_seen,
                    const perp_pose *rel, double size, features *out)
{
  double best2 = HUGE_VAL, high[PERP_HULL_EDGES_MAX];
  for (int i = 0; i < a->n_edges; i++)
    high[i] = fmax(perp_dot(3, out->n, a->v + 3 * a->edge[4 * i]),
                   perp_dot(3, out->n, a->v + 3 * a->edge[4 * i + 1]));
  for (int j = 0; j < b->h->n_edges; j++) {
    const double *q = b->v + 3 * b->h->edge[4 * j], *q1 = b->v + 3 * b->h->edge[4 * j + 1];
    double w[3], low = fmin(perp_dot(3, out->n, q), perp_dot(3, out->n, q1));
    perp_sub(q1, q, w);
    for (int i = 0; i < a->n_edges; i++) {
      double apart = low - high[i];
      if (apart > 0 && apart * apart > best2) continue;
      const double *p = a->v + 3 * a->edge[4 * i], *u = a->dir + 3 * i;
      double s, t, d2 = perp_segments(p, u, q, w, &s, &t);
      if (d2 >= best2) continue;
      best2 = d2;
      perp_along(p, s, u, out->pa);
      perp_along(q, t, w, out->pb);
      out->id = edge_feature(a, i, s, b->h, j, t);
    }
  }
  double best = sqrt(best2), on[3], from[3];
  if (a->dim == 3) {
    int vertex = -1;
    closest_faces(a, b, &best, out->pa, out->pb, &vertex);
    if (vertex >= 0) out->id = perp_feature(PERP_VERTEX_B, 0, vertex);
    vertex = -1;
    closest_faces(b_hull, a_seen, &best, on, from, &vertex);
    if (vertex >= 0) {
      perp_place(rel, on, out->pb);
      perp_place(rel, from, out->pa);
      out->id = perp_feature(PERP_VERTEX_A, 0, vertex);
    }
  }
  double d[3];
  perp_sub(out->pb, out->pa, d);
  /* nearer than that the difference is rounding: the normal of the separating plane stays */
  if (best > 1e-10 * size)
    for (int i = 0; i < 3; i++) out->n[i] = d[i] / best;
  out->kind = CLOSEST;
  out->sep = perp_dot(3, out->n, d);
}

/* ---- clipping -------------------------------------------------------------------------------- */

/* A corner of the polygon being clipped.  `out` is the edge that leaves it: an edge of the
 * incident face, or -1 - edge of the reference face. */
typedef struct corner {
  double p[3];
  int vertex, out; /* of the incident hull, or -1 */
} corner;

enum { CORNERS_MAX = 2 * PERP_FACE_MAX + 2 };

/* cut off what lies outside the side plane through o with normal m; edge: of the reference face */
static int cut(int n, const corner *in, const double m[3], const double o[3], int edge, double tol,
               corner *out)
{
  int count = 0;
  double r[3];
  if (n == 0) return 0;
  perp_sub(in[0].p, o, r);
  double s0 = perp_dot(3, m, r), s = s0;
  for (int k = 0; k < n; k++) {
    double next = s0;
    const corner *c = &in[k], *d = &in[k + 1 < n ? k + 1 : 0];
    if (k + 1 < n) {
      perp_sub(d->p, o, r);
      next = perp_dot(3, m, r);
    }
    bool inside = s <= tol, stays = next <= tol;
    if (inside) {
      out[count] = *c;
      if (!stays && s > -tol) out[count].out = -1 - edge;
      count++;
    }
    /* crossing, unless the corner on the inside is the crossing itself */
    if (inside != stays && (inside ? s : next) <= -tol) {
      double t = s / (s - next);
      for (int i = 0; i < 3; i++) out[count].p[i] = c->p[i] + t * (d->p[i] - c->p[i]);
      out[count].vertex = -1;
      out[count++].out = inside ? -1 - edge : c->out;
    }
    s = next;
  }
  return count;
}

/* the vertex that two edges share, or -1 */
static int shared_vertex(const perp_hull *h, int e, int f)
{
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (h->edge[4 * e + i] == h->edge[4 * f + j]) return h->edge[4 * e + i];
  return -1;
}

static uint32_t corner_feature(const perp_hull *ref, const corner *before, const corner *c)
{
  if (c->vertex >= 0) return perp_feature(PERP_VERTEX_B, 0, c->vertex);
  int in = before->out, out = c->out;
  if (in < 0 && out < 0) {
    int v = shared_vertex(ref, -1 - in, -1 - out);
    return v >= 0 ? perp_feature(PERP_VERTEX_A, 0, v)
                  : perp_feature(PERP_VERTICES, -1 - in, -1 - out);
  }
  return in < 0 ? perp_feature(PERP_EDGES, -1 - in, out) : perp_feature(PERP_EDGES, -1 - out, in);
}

int perp_cut_segment(const perp_hull *ref, int face, double p[2][3], uint32_t id[2], double tol)
{
  for (int k = ref->start[face]; k < ref->start[face + 1]; k++) {
    double s[2], r[3];
    for (int i = 0; i < 2; i++) {
      perp_sub(p[i], ref->v + 3 * ref->loop[k], r);
      s[i] = perp_dot(3, ref->side + 3 * k, r);
    }
    if (s[0] > tol && s[1] > tol) return 0;
    int i = s[0] > tol ? 0 : 1;
    if (s[i] <= tol) continue;
    double t = fmax(s[1 - i], -HUGE_VAL);
    t = t >= 0 ? 1 : s[i] / (s[i] - t);
    for (int c = 0; c < 3; c++) p[i][c] += t * (p[1 - i][c] - p[i][c]);
    id[i] = ref->dim == 2 ? perp_feature(PERP_VERTEX_A, 0, ref->loop[k])
                          : perp_feature(PERP_EDGES, ref->rim[k], 0);
  }
  return 2;
}

/* Points of inc over a face of ref with a gap below margin, in the frame of ref: p_a on ref, n its
 * normal.  Returns their number, at most PERP_MANIFOLD_MAX. */
static int face_points(const perp_hull *ref, int face, const seen *inc, double margin, double size,
                       double tol, perp_touch *out)
{
  const double *n = ref->n + 3 * face;
  const perp_hull *h = inc->h;
  perp_touch t[CORNERS_MAX];
  int support = 0, count = 0;
  double low = HUGE_VAL, facing = HUGE_VAL;
  for (int i = 0; i < h->n_vertices; i++) {
    double x = perp_dot(3, n, inc->v + 3 * i);
    if (x < low) low = x, support = i;
  }
  if (low - ref->d[face] >= margin) return 0;
  int opposed = h->fan[h->star[support]];
  for (int k = h->star[support]; k < h->star[support + 1]; k++) {
    double m[3];
    perp_turn(3, inc->R, h->n + 3 * h->fan[k], m);
    double x = perp_dot(3, m, n);
    if (x < facing - SNAP) facing = x, opposed = h->fan[k];
  }
  int first = h->start[opposed], corners = h->start[opposed + 1] - first;
  corner ring[2][CORNERS_MAX], *now = ring[0];
  if (h->dim == 2) {
    double p[2][3];
    uint32_t id[2];
    for (int i = 0; i < 2; i++) {
      int v = h->loop[first + i];
      memcpy(p[i], inc->v + 3 * v, sizeof p[i]);
      id[i] = perp_feature(PERP_VERTEX_B, 0, v);
    }
    corners = perp_cut_segment(ref, face, p, id, tol);
    for (int i = 0; i < corners; i++) {
      memcpy(t[i].p_b, p[i], sizeof p[i]);
      t[i].feature = id[i];
    }
  } else {
    for (int k = 0; k < corners; k++) {
      int v = h->loop[first + k];
      memcpy(now[k].p, inc->v + 3 * v, sizeof now[k].p);
      now[k].vertex = v;
      now[k].out = h->rim[first + k];
    }
    for (int k = ref->start[face]; k < ref->start[face + 1] && corners > 0; k++) {
      corner *next = now == ring[0] ? ring[1] : ring[0];
      corners = cut(corners, now, ref->side + 3 * k, ref->v + 3 * ref->loop[k], ref->rim[k], tol,
                    next);
      now = next;
    }
    for (int k = 0; k < corners; k++) {
      memcpy(t[k].p_b, now[k].p, sizeof t[k].p_b);
      t[k].feature = corner_feature(ref, &now[k > 0 ? k - 1 : corners - 1], &now[k]);
    }
  }
  for (int k = 0; k < corners; k++) {
    double gap = perp_dot(3, n, t[k].p_b) - ref->d[face];
    if (!(gap < margin)) continue;
    t[count] = t[k];
    t[count].gap = gap;
    memcpy(t[count].n, n, 3 * sizeof *n);
    perp_along(t[count].p_b, -gap, n, t[count].p_a);
    /* the exact question: the deepest point alone */
    if (isinf(margin) && count > 0 && gap < t[0].gap) t[0] = t[count];
    if (!isinf(margin) || count == 0) count++;
  }
  count = perp_manifold_reduce(count, t, size);
  memcpy(out, t, (size_t)count * sizeof *t);
  return count;
}

/* ---- two hulls ------------------------------------------------------------------------------- */

typedef struct pair {
  const perp_hull *a, *b;
  perp_pose ab, ba; /* b seen from a, a seen from b */
  seen as, bs;      /* a from b, b from a */
  double size;
} pair;

static void pair_set(pair *p, const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                     const perp_pose *pb)
{
  p->a = a->hull;
  p->b = b->hull;
  perp_relative(pa, pb, &p->ab);
  perp_relative(pb, pa, &p->ba);
  see(p->b, &p->ab, &p->bs);
  see(p->a, &p->ba, &p->as);
  p->size = fmin(a->bound, b->bound);
}

/* the supporting plane of largest separation */
static void separate(const pair *p, double enough, features *f)
{
  int fa = 0, fb = 0;
  features edges;
  const double tie = 1e-13 * p->size;
  double a = best_face(p->a, &p->bs, enough, tie, &fa), b = -HUGE_VAL, e = -HUGE_VAL;
  if (a < enough) b = best_face(p->b, &p->as, enough, tie, &fb);
  double faces = fmax(a, b);
  if (faces < enough && p->a->box && p->b->box)
    e = best_box_edges(p->a, &p->bs, tie, &edges);
  else if (faces < enough && p->a->dim == 3)
    e = best_edges(p->a, &p->bs, enough, tie, &edges);
  if (e > faces + tie) {
    *f = edges;
    f->kind = EDGES;
    f->sep = e;
    return;
  }
  f->kind = b > a + EXACT * p->size ? FACE_B : FACE_A;
  f->face = f->kind == FACE_A ? fa : fb;
  f->sep = f->kind == FACE_A ? a : b;
  if (f->kind == FACE_A) {
    memcpy(f->n, p->a->n + 3 * fa, sizeof f->n);
  } else {
    perp_turn(3, p->bs.R, p->b->n + 3 * fb, f->n);
    for (int i = 0; i < 3; i++) f->n[i] = -f->n[i];
  }
}

/* witnesses of the edges of f, clamped to them; their distance */
static double edge_witness(const pair *p, features *f)
{
  const perp_hull *a = p->a, *b = p->b;
  const double *va = a->v + 3 * a->edge[4 * f->ea], *u = a->dir + 3 * f->ea;
  const double *vb = p->bs.v + 3 * b->edge[4 * f->eb];
  double w[3], s, t;
  perp_sub(p->bs.v + 3 * b->edge[4 * f->eb + 1], vb, w);
  double d = sqrt(perp_segments(va, u, vb, w, &s, &t));
  perp_along(va, s, u, f->pa);
  perp_along(vb, t, w, f->pb);
  f->id = perp_feature(PERP_EDGES, f->ea, f->eb);
  return d;
}

/* the support vertex over (or under) the separating face of f */
static void face_witness(const pair *p, features *f)
{
  const bool of_a = f->kind == FACE_A;
  const double *v = of_a ? p->bs.v : p->a->v;
  int count = of_a ? p->b->n_vertices : p->a->n_vertices, low = 0;
  for (int i = 1; i < count; i++) {
    double x = perp_dot(3, f->n, v + 3 * i) - perp_dot(3, f->n, v + 3 * low);
    if (of_a ? x < 0 : x > 0) low = i;
  }
  memcpy(of_a ? f->pb : f->pa, v + 3 * low, 3 * sizeof *v);
  perp_along(v + 3 * low, of_a ? -f->sep : f->sep, f->n, of_a ? f->pa : f->pb);
  f->id = perp_feature(of_a ? PERP_VERTEX_B : PERP_VERTEX_A, 0, low);
}

/* face of a hull nearest to direction n, same frame; its cosine */
static double facing(const perp_hull *h, const double n[3], int *face)
{
  double best = -2;
  for (int f = 0; f < h->n_faces; f++) {
    double x = perp_dot(3, h->n + 3 * f, n);
    if (x > best + 1e-12) best = x, *face = f;
  }
  return best;
}

/* manifold over a face of a or of b, in world coordinates */
static int over_face(const pair *p, bool of_a, int face, double margin, double snap,
                     const perp_pose *pa, const perp_pose *pb, perp_touch *out)
{
  int n = of_a ? face_points(p->a, face, &p->bs, margin, p->size, snap * p->size, out)
               : face_points(p->b, face, &p->as, margin, p->size, snap * p->size, out);
  const perp_pose *pose = of_a ? pa : pb;
  for (int i = 0; i < n; i++) {
    perp_touch t = out[i];
    perp_place(pose, t.p_a, out[i].p_a);
    perp_place(pose, t.p_b, out[i].p_b);
    perp_turn(3, pose->R, t.n, out[i].n);
  }
  if (!of_a) perp_touch_flip(n, out);
  return n;
}

static double deepest(int n, const perp_touch *t, int *at)
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
  pair p;
  features f;
  perp_touch t[PERP_MANIFOLD_MAX];
  int at = 0;
  pair_set(&p, a, pa, b, pb);
  separate(&p, HUGE_VAL, &f);
  double slack = EXACT * p.size;
  if (f.kind == EDGES) {
    double d = edge_witness(&p, &f);
    if (f.sep > 0 && d > f.sep + slack) f.kind = CLOSEST;
  } else {
    int count = over_face(&p, f.kind == FACE_A, f.face, HUGE_VAL, EXACT, pa, pb, t);
    double low = deepest(count, t, &at);
    if (low <= f.sep + slack) {
      memcpy(p_a, t[at].p_a, 3 * sizeof *p_a);
      memcpy(p_b, t[at].p_b, 3 * sizeof *p_b);
      memcpy(n, t[at].n, 3 * sizeof *n);
      return f.sep;
    }
    if (f.sep > 0)
      f.kind = CLOSEST;
    else
      face_witness(&p, &f);
  }
  if (f.kind == CLOSEST) closest(p.a, &p.bs, p.b, &p.as, &p.ab, p.size, &f);
  perp_place(pa, f.pa, p_a);
  perp_place(pa, f.pb, p_b);
  perp_turn(3, pa->R, f.n, n);
  return f.sep;
}

int perp_hull_hull(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                   const perp_pose *pb, double margin, perp_touch *out)
{
  pair p;
  features f;
  int at = 0, face_a = 0, face_b = 0, n;
  if (isinf(margin)) {
    out->gap = hull_distance(a, pa, b, pb, out->p_a, out->p_b, out->n);
    out->feature = 0;
    return 1;
  }
  pair_set(&p, a, pa, b, pb);
  separate(&p, margin, &f);
  if (!(f.sep < margin)) return 0;
  double slack = EXACT * p.size;
  if (f.kind == EDGES) {
    double d = edge_witness(&p, &f);
    if (f.sep > 0 && d > f.sep + slack) f.kind = CLOSEST;
  } else if (f.sep > 0) {
    /* face and something, unless nothing of the other lies over the face */
    n = over_face(&p, f.kind == FACE_A, f.face, HUGE_VAL, EXACT, pa, pb, out);
    if (n == 0 || deepest(n, out, &at) > f.sep + slack) f.kind = CLOSEST;
  }
  if (f.kind == CLOSEST) {
    closest(p.a, &p.bs, p.b, &p.as, &p.ab, p.size, &f);
    if (!(f.sep < margin)) return 0;
  }
  /* a face that points along n, that of a if both do */
  double cos_a = facing(p.a, f.n, &face_a), back[3];
  perp_turn(3, p.ba.R, f.n, back);
  for (int i = 0; i < 3; i++) back[i] = -back[i];
  double cos_b = facing(p.b, back, &face_b);
  for (int pass = 0; pass < 2; pass++) {
    bool of_a = (cos_a >= cos_b - 1e-6) == (pass == 0);
    if ((of_a ? cos_a : cos_b) < NEAR) continue;
    n = over_face(&p, of_a, of_a ? face_a : face_b, margin, SNAP, pa, pb, out);
    /* the face stands for these features only if it tells their distance */
    if (n > 0 && fabs(deepest(n, out, &at) - f.sep) <= 0.05 * fabs(f.sep) + SNAP * p.size) return n;
  }
  if (f.kind == FACE_A || f.kind == FACE_B) face_witness(&p, &f);
  perp_place(pa, f.pa, out->p_a);
  perp_place(pa, f.pb, out->p_b);
  perp_turn(3, pa->R, f.n, out->n);
  double d[3];
  perp_sub(out->p_b, out->p_a, d);
  out->gap = perp_dot(3, out->n, d);
  out->feature = f.id;
  return 1;
}

/* ---- hull and plane -------------------------------------------------------------------------- */

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
  for (int i = 0; i < h->n_vertices; i++) {
    double x = perp_dot(3, m, h->v + 3 * i);
    if (x < low) low = x, support = i;
  }
  if (!(low - height < margin)) return 0;
  int face = h->fan[h->star[support]];
  for (int k = h->star[support]; k < h->star[support + 1]; k++) {
    double x = perp_dot(3, m, h->n + 3 * h->fan[k]);
    if (x < facing_best - SNAP) facing_best = x, face = h->fan[k];
  }
  for (int k = h->start[face]; k < h->start[face + 1]; k++) {
    perp_touch *c = &t[count];
    if (isinf(margin) && h->loop[k] != support) continue;
    perp_place(pa, h->v + 3 * h->loop[k], c->p_a);
    perp_sub(c->p_a, o, r);
    c->gap = perp_dot(3, n, r);
    if (!(c->gap < margin)) continue;
    perp_along(c->p_a, -c->gap, n, c->p_b);
    for (int i = 0; i < 3; i++) c->n[i] = -n[i];
    c->feature = perp_feature(PERP_VERTEX_A, 0, h->loop[k]);
    count++;
  }
  count = perp_manifold_reduce(count, t, a->bound);
  memcpy(out, t, (size_t)count * sizeof *t);
  return count;
}
