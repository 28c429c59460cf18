/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clipping: the part of one face that lies over another (Sutherland and Hodgman 1974), with
 * identities of its corners that last from step to step. */
#include "models/collision/polytope.h"

#include <string.h>

enum { CORNERS_MAX = 2 * PERP_FACE_MAX + 2, CORNERS_FOURS = (CORNERS_MAX + 3) / 4 };

/* The polygon being clipped: its n corners p, by fours and component, the vertex of the incident
 * hull that each is, or -1, and the edge that leaves it: an edge of the incident face, or -1 - edge
 * of the reference face. */
typedef struct ring {
  int n;
  struct {
    double p[3][4];
    int vertex[4], out[4];
  } four[CORNERS_FOURS];
} ring;

#define RING_P(r, i, k)   (r)->four[(k) >> 2].p[i][(k)&3]
#define RING_VERTEX(r, k) (r)->four[(k) >> 2].vertex[(k)&3]
#define RING_OUT(r, k)    (r)->four[(k) >> 2].out[(k)&3]

/* Vectors go on to the end of the last four. */
static void ring_fill(ring *r)
{
  for (int k = r->n; k % 4 != 0; k++)
    for (int i = 0; i < 3; i++) RING_P(r, i, k) = 0;
}

/* s [n]: distances of the corners from the side plane through o with normal m; is one of them
 * beyond tol?  Distances behind the last corner are of no corner. */
static inline __attribute__((always_inline)) bool
sticks_out(const ring *in, const double m[3], const double o[3], double tol, double *s)
{
  bool out = false;
  for (int k = 0; k < in->n; k += 4) {
    const double(*p)[4] = in->four[k / 4].p;
    const perp_v4 x = *(const perp_v4_any *)p[0] - o[0], y = *(const perp_v4_any *)p[1] - o[1],
                  z = *(const perp_v4_any *)p[2] - o[2];
    *(perp_v4_any *)(s + k) = m[0] * x + m[1] * y + m[2] * z;
  }
  for (int k = 0; k < in->n; k++) out |= !(s[k] <= tol);
  return out;
}

/* cut off what lies outside a side plane, at distances s from it; edge: of the reference face */
static inline __attribute__((always_inline)) void polytope_clip_cut(const ring *in, const double *s,
                                                                    int edge, double tol, ring *out)
{
  int n = 0;
  for (int k = 0; k < in->n; k++) {
    const int l = k + 1 < in->n ? k + 1 : 0;
    const bool inside = s[k] <= tol, stays = s[l] <= tol;
    if (inside) {
      for (int i = 0; i < 3; i++) RING_P(out, i, n) = RING_P(in, i, k);
      RING_VERTEX(out, n) = RING_VERTEX(in, k);
      RING_OUT(out, n) = !stays && s[k] > -tol ? -1 - edge : RING_OUT(in, k);
      n++;
    }
    /* crossing, unless the corner on the inside is the crossing itself */
    if (inside != stays && (inside ? s[k] : s[l]) <= -tol) {
      const double t = s[k] / (s[k] - s[l]);
      for (int i = 0; i < 3; i++)
        RING_P(out, i, n) = RING_P(in, i, k) + t * (RING_P(in, i, l) - RING_P(in, i, k));
      RING_VERTEX(out, n) = -1;
      RING_OUT(out, n) = inside ? -1 - edge : RING_OUT(in, k);
      n++;
    }
  }
  out->n = n;
  ring_fill(out);
}

/* the vertex that two edges share, or -1 */
static int shared_vertex(const perp_hull *hull, int e, int f)
{
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (hull->edge[4 * e + i] == hull->edge[4 * f + j]) return hull->edge[4 * e + i];
  return -1;
}

static uint32_t corner_feature(const perp_hull *ref, const ring *all, int k)
{
  const int vertex = RING_VERTEX(all, k), before = k > 0 ? k - 1 : all->n - 1;
  if (vertex >= 0) return perp_feature(PERP_VERTEX_B, 0, vertex);
  const int in = RING_OUT(all, before), out = RING_OUT(all, k);
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

/* What is left of face `opposed` of inc over a face of ref. */
PERP_CLONES_OF_FOUR static const ring *polytope_clip_face(const perp_hull *ref, int face,
                                                          const perp_seen *inc, int opposed,
                                                          double tol, ring two[2])
{
  const perp_hull *hull = inc->h;
  const int first = hull->start[opposed];
  ring *now = two;
  now->n = hull->start[opposed + 1] - first;
  for (int k = 0; k < now->n; k++) {
    double v[3];
    perp_seen_vertex(inc, hull->loop[first + k], v);
    for (int i = 0; i < 3; i++) RING_P(now, i, k) = v[i];
    RING_VERTEX(now, k) = hull->loop[first + k];
    RING_OUT(now, k) = hull->rim[first + k];
  }
  ring_fill(now);
  for (int k = ref->start[face]; k < ref->start[face + 1] && now->n > 0; k++) {
    double s[4 * CORNERS_FOURS];
    if (!sticks_out(now, ref->side + 3 * k, ref->v + 3 * ref->loop[k], tol, s)) continue;
    ring *next = now == two ? two + 1 : two;
    polytope_clip_cut(now, s, ref->rim[k], tol, next);
    now = next;
  }
  return now;
}

/* The face of inc at its support vertex that is most opposed to n. */
static int polytope_clip_opposed(const perp_seen *inc, int support, const double n[3])
{
  const perp_hull *hull = inc->h;
  int opposed = hull->fan[hull->star[support]];
  double facing = HUGE_VAL;
  for (int k = hull->star[support]; k < hull->star[support + 1]; k++) {
    double m[3];
    perp_turn(3, inc->R, hull->n + 3 * hull->fan[k], m);
    const double x = perp_dot(3, m, n);
    if (x < facing - PERP_HULL_SNAP) facing = x, opposed = hull->fan[k];
  }
  return opposed;
}

int perp_hull_face_points(const perp_hull *ref, int face, const perp_seen *inc, double margin,
                          double size, double tol, perp_touch *out)
{
  const double *n = ref->n + 3 * face;
  const perp_hull *hull = inc->h;
  perp_touch touch[CORNERS_MAX];
  ring two[2];
  const ring *left = two;
  int count = 0;
  double low;
  const int support = perp_seen_lowest(inc, n, &low);
  if (low - ref->d[face] >= margin) return 0;
  const int opposed = polytope_clip_opposed(inc, support, n);
  uint32_t id[2];
  if (hull->dim == 2) {
    double p[2][3];
    for (int i = 0; i < 2; i++) {
      const int v = hull->loop[hull->start[opposed] + i];
      perp_seen_vertex(inc, v, p[i]);
      id[i] = perp_feature(PERP_VERTEX_B, 0, v);
    }
    two->n = perp_cut_segment(ref, face, p, id, tol);
    for (int k = 0; k < two->n; k++)
      for (int i = 0; i < 3; i++) RING_P(two, i, k) = p[k][i];
  } else
    left = polytope_clip_face(ref, face, inc, opposed, tol, two);
  for (int k = 0; k < left->n; k++) {
    const double p[3] = { RING_P(left, 0, k), RING_P(left, 1, k), RING_P(left, 2, k) };
    const double gap = perp_dot(3, n, p) - ref->d[face];
    if (!(gap < margin)) continue;
    perp_touch *t = &touch[count];
    /* the exact question: the deepest point alone */
    if (isinf(margin) && count > 0) {
      if (!(gap < touch[0].gap)) continue;
      t = touch;
    } else
      count++;
    memcpy(t->p[1], p, sizeof p);
    t->feature = hull->dim == 2 ? id[k] : corner_feature(ref, left, k);
    t->gap = gap;
    memcpy(t->n, n, 3 * sizeof *n);
    perp_along(p, -gap, n, t->p[0]);
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
