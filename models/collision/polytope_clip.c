/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clipping: the part of one face that lies over another (Sutherland and Hodgman 1974), with
 * identities of its corners that last from step to step. */
#include "models/collision/polytope.h"

#include <string.h>

/* A corner of the polygon being clipped.  `out` is the edge that leaves it: an edge of the
 * incident face, or -1 - edge of the reference face. */
typedef struct corner {
  double p[3];
  int vertex, out; /* of the incident hull, or -1 */
} corner;

enum { CORNERS_MAX = 2 * PERP_FACE_MAX + 2 };

/* s [n]: distances of the corners from the side plane through o with normal m; is one of them
 * beyond tol? */
static bool sticks_out(int n, const corner *in, const double m[3], const double o[3], double tol,
                       double *s)
{
  bool out = false;
  for (int k = 0; k < n; k++) {
    double r[3];
    perp_sub(in[k].p, o, r);
    s[k] = perp_dot(3, m, r);
    out |= !(s[k] <= tol);
  }
  return out;
}

/* cut off what lies outside a side plane, at distances s from it; edge: of the reference face */
static int polytope_clip_cut(int n, const corner *in, const double *s, int edge, double tol,
                             corner *out)
{
  int count = 0;
  for (int k = 0; k < n; k++) {
    const int l = k + 1 < n ? k + 1 : 0;
    const corner *c = &in[k], *d = &in[l];
    bool inside = s[k] <= tol, stays = s[l] <= tol;
    if (inside) {
      out[count] = *c;
      if (!stays && s[k] > -tol) out[count].out = -1 - edge;
      count++;
    }
    /* crossing, unless the corner on the inside is the crossing itself */
    if (inside != stays && (inside ? s[k] : s[l]) <= -tol) {
      double t = s[k] / (s[k] - s[l]);
      for (int i = 0; i < 3; i++) out[count].p[i] = c->p[i] + t * (d->p[i] - c->p[i]);
      out[count].vertex = -1;
      out[count++].out = inside ? -1 - edge : c->out;
    }
  }
  return count;
}

/* the vertex that two edges share, or -1 */
static int shared_vertex(const perp_hull *hull, int e, int f)
{
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (hull->edge[4 * e + i] == hull->edge[4 * f + j]) return hull->edge[4 * e + i];
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

int perp_hull_face_points(const perp_hull *ref, int face, const perp_seen *inc, double margin,
                          double size, double tol, perp_touch *out)
{
  const double *n = ref->n + 3 * face;
  const perp_hull *hull = inc->h;
  perp_touch touch[CORNERS_MAX];
  int count = 0;
  double low, facing = HUGE_VAL;
  const int support = perp_seen_lowest(inc, n, &low);
  if (low - ref->d[face] >= margin) return 0;
  int opposed = hull->fan[hull->star[support]];
  for (int k = hull->star[support]; k < hull->star[support + 1]; k++) {
    double m[3];
    perp_turn(3, inc->R, hull->n + 3 * hull->fan[k], m);
    double x = perp_dot(3, m, n);
    if (x < facing - PERP_HULL_SNAP) facing = x, opposed = hull->fan[k];
  }
  int first = hull->start[opposed], corners = hull->start[opposed + 1] - first;
  corner ring[2][CORNERS_MAX], *now = ring[0];
  if (hull->dim == 2) {
    double p[2][3];
    uint32_t id[2];
    for (int i = 0; i < 2; i++) {
      int v = hull->loop[first + i];
      perp_seen_vertex(inc, v, p[i]);
      id[i] = perp_feature(PERP_VERTEX_B, 0, v);
    }
    corners = perp_cut_segment(ref, face, p, id, tol);
    for (int i = 0; i < corners; i++) {
      memcpy(touch[i].p[1], p[i], sizeof p[i]);
      touch[i].feature = id[i];
    }
  } else {
    for (int k = 0; k < corners; k++) {
      int v = hull->loop[first + k];
      perp_seen_vertex(inc, v, now[k].p);
      now[k].vertex = v;
      now[k].out = hull->rim[first + k];
    }
    for (int k = ref->start[face]; k < ref->start[face + 1] && corners > 0; k++) {
      double s[CORNERS_MAX];
      if (!sticks_out(corners, now, ref->side + 3 * k, ref->v + 3 * ref->loop[k], tol, s)) continue;
      corner *next = now == ring[0] ? ring[1] : ring[0];
      corners = polytope_clip_cut(corners, now, s, ref->rim[k], tol, next);
      now = next;
    }
    for (int k = 0; k < corners; k++) {
      memcpy(touch[k].p[1], now[k].p, sizeof touch[k].p[1]);
      touch[k].feature = corner_feature(ref, &now[k > 0 ? k - 1 : corners - 1], &now[k]);
    }
  }
  for (int k = 0; k < corners; k++) {
    double gap = perp_dot(3, n, touch[k].p[1]) - ref->d[face];
    if (!(gap < margin)) continue;
    touch[count] = touch[k];
    touch[count].gap = gap;
    memcpy(touch[count].n, n, 3 * sizeof *n);
    perp_along(touch[count].p[1], -gap, n, touch[count].p[0]);
    /* the exact question: the deepest point alone */
    if (isinf(margin) && count > 0 && gap < touch[0].gap) touch[0] = touch[count];
    if (!isinf(margin) || count == 0) count++;
  }
  count = perp_manifold_reduce(count, touch, size);
  memcpy(out, touch, (size_t)count * sizeof *touch);
  return count;
}

/* The lowest point y along the normal of a face of ref that the edges of inc have over it, vertices
 * included; false: none. */
static bool polytope_clip_edges(const perp_hull *ref, int face, const perp_seen *inc, double tol,
                                double y[3])
{
  const double *n = ref->n + 3 * face;
  double low = HUGE_VAL;
  for (int e = 0; e < inc->h->n_edges; e++) {
    double p[2][3];
    uint32_t id[2];
    for (int i = 0; i < 2; i++) perp_seen_vertex(inc, inc->h->edge[4 * e + i], p[i]);
    if (!(fmin(perp_dot(3, n, p[0]), perp_dot(3, n, p[1])) < low) ||
        perp_cut_segment(ref, face, p, id, tol) == 0)
      continue;
    for (int i = 0; i < 2; i++) {
      const double x = perp_dot(3, n, p[i]);
      if (x < low) low = x, memcpy(y, p[i], sizeof p[i]);
    }
  }
  return low < HUGE_VAL;
}

void perp_hull_face_witness(const perp_hull_pair *pair, perp_features *features)
{
  const bool of_a = features->kind == PERP_BY_FACE_A;
  const perp_hull *ref = of_a ? pair->a : pair->b;
  const perp_seen *inc = of_a ? &pair->bs : &pair->as;
  double v[3], apart;
  const int low = perp_seen_lowest(inc, ref->n + 3 * features->face, &apart);
  /* an edge that lies along the face: its vertices may both be beside it */
  if (ref->dim == 2 ||
      !polytope_clip_edges(ref, features->face, inc, PERP_HULL_EXACT * pair->size, v))
    perp_seen_vertex(inc, low, v);
  memcpy(of_a ? features->pb : features->pa, v, sizeof v);
  if (!of_a) perp_place(&pair->ab, v, features->pa);
  perp_along(of_a ? features->pb : features->pa, of_a ? -features->sep : features->sep, features->n,
             of_a ? features->pa : features->pb);
  features->id = perp_feature(of_a ? PERP_VERTEX_B : PERP_VERTEX_A, 0, low);
}
