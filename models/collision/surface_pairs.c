/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex shapes at meshes and height fields.
 *
 * The signed distance to a surface is the least one to its pieces (piece.h): exact where they are
 * apart; where they overlap minus the depth in the piece that would have to be left by the longest
 * translation.
 *
 * Inner edges.  A body that lies on two triangles of a plane overlaps with the second by a sliver
 * only, which it leaves soonest sideways.  A contact at an edge or a corner is one of the surface
 * only when its normal n is in the Voronoi region of that edge or corner in the whole surface: n .
 * (w - y) <= 0 for its point y and every corner w of the triangles there (Ericson 2005,
 * section 5.1; a local minimum of the distance).  Others are left to the neighbour, which is nearer
 * or deeper.  Where none is left the deepest one stays as it is: a pair that is nearer than the
 * margin never goes without a contact.  Normals of faces always count.  A body that lies deep in a
 * height field has no contact but with inner walls; it is then at the half-space of the triangle
 * below its centre.
 *
 * Contacts of one normal are one manifold, reduced as that of two convex shapes; a point that two
 * triangles found is one point.  Its name is that of the plane, not of the triangle, so that
 * contacts outlive the way over inner edges. */
#include "models/collision/piece.h"

#include <string.h>

enum { NORMALS_MAX = 16, POINTS_MAX = 48, ROUNDS_MAX = 200 };
static const double SNAP = 2e-6;   /* of the size: a point that near to an edge is on it */
static const double BEYOND = 1e-6; /* cosine by which a normal may leave its Voronoi region */
static const double SAME = 1e-12;  /* 1 - cosine of normals that are one */

/* points of one normal */
typedef struct cluster {
  int n;
  perp_touch t[POINTS_MAX];
} cluster;

typedef struct surface_query {
  const perp_shape *a;
  const perp_pose *pa, *pm;
  const perp_mesh *mesh;
  perp_pair_fn *fn;
  bool flip; /* fn takes the piece first */
  double margin, size, least;
  int n_clusters;
  bool dropped; /* a contact at an inner edge, the deepest of them: */
  perp_touch spare, nearest;
  cluster c[NORMALS_MAX];
} surface_query;

/* ---- names ---- */

/* 24 bits of any numbers: splitmix64 */
static uint32_t surface_name(uint64_t a, uint64_t b, uint64_t c)
{
  uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)((x ^ x >> 31) & 0xffffff);
}

/* Features of the piece by numbers of the mesh.  feature: of the pair (a, piece). */
static uint32_t surface_feature(const perp_mesh *m, int triangle, uint32_t feature)
{
  const uint32_t type = feature >> 22, low = feature & 0x7ff, high = feature >> 11 & 0x7ff;
  const int *corner = m->tri + 3 * triangle;
  uint64_t on = low;
  if (type == PERP_VERTEX_A) return surface_name((uint64_t)m->facet[triangle], feature, 0);
  if (type == PERP_VERTEX_B) return surface_name(1u << 31, (uint64_t)corner[low % 3], 0);
  if (type == PERP_EDGES && low < 6) {
    const int p = corner[low % 3], q = corner[(low + 1) % 3];
    on = (uint64_t)(p < q ? p : q) << 32 | (uint64_t)(p < q ? q : p);
  }
  return surface_name(1u << 30 | type, high, on);
}

/* ---- inner edges ---- */

static bool surface_beyond(const perp_mesh *m, const double n[3], const double y[3], int corner)
{
  double r[3];
  perp_sub(m->v + 3 * corner, y, r);
  return perp_dot(3, n, r) > BEYOND * perp_norm(r);
}

/* does a triangle at this corner (and, other >= 0, at the edge to the other one) rise above n? */
static bool surface_hidden(const perp_mesh *m, const double n[3], const double y[3], int corner,
                           int other)
{
  for (int l = m->star[corner]; l < m->star[corner + 1]; l++) {
    const int *c = m->tri + 3 * m->fan[l];
    if (other >= 0 && c[0] != other && c[1] != other && c[2] != other) continue;
    for (int k = 0; k < 3; k++)
      if (c[k] != corner && c[k] != other && surface_beyond(m, n, y, c[k])) return true;
  }
  return false;
}

/* Is n, away from the surface, a normal of the whole surface at y on triangle t? */
static bool surface_normal_counts(const surface_query *q, int t, const double y[3],
                                  const double n[3])
{
  const perp_mesh *m = q->mesh;
  const double *face = m->n + 3 * t, tol = SNAP * q->size;
  const int *corner = m->tri + 3 * t;
  const double along = perp_dot(3, face, n);
  int on[3], n_on = 0, edge = -1;
  double r[3];
  if (1 - (m->field ? along : fabs(along)) < SAME) return true;
  for (int k = 0; k < 3; k++) {
    double u[3], s[3];
    perp_sub(m->v + 3 * corner[(k + 1) % 3], m->v + 3 * corner[k], u);
    perp_sub(y, m->v + 3 * corner[k], r);
    if (m->field) { /* a wall below the edge: seen from above */
      perp_cross(u, m->R + 6, s);
    } else {
      perp_cross(u, face, s);
    }
    if (perp_dot(3, s, r) < -tol * perp_norm(s)) continue;
    on[n_on++] = k;
    edge = k;
  }
  if (n_on == 0) return fabs(along) > 0.9995; /* a face of the other shape that lies on this one */
  if (m->field) {
    perp_sub(y, m->v + 3 * corner[edge], r);
    if (perp_dot(3, face, r) < tol - m->depth * perp_dot(3, face, m->R + 6))
      return true;                     /* the bottom, which nothing filters */
    if (perp_dot(3, face, r) < -tol) { /* below the surface: outer walls only */
      for (int i = 0; i < n_on; i++)
        if (perp_mesh_across(m, t, on[i]) < 0) return true;
      return false;
    }
  }
  if (n_on == 1) return !surface_hidden(m, n, y, corner[edge], corner[(edge + 1) % 3]);
  /* the corner between two edges; of a needle whose three edges are that near the one that is
   * nearest */
  int at = n_on == 3 ? 0 : on[0] == 0 && on[1] == 2 ? 0 : on[1];
  for (int k = 0; k < 3 && n_on == 3; k++) {
    double x[3];
    perp_sub(y, m->v + 3 * corner[k], x);
    perp_sub(y, m->v + 3 * corner[at], r);
    if (perp_dot(3, x, x) < perp_dot(3, r, r)) at = k;
  }
  return !surface_hidden(m, n, y, corner[at], -1);
}

/* ---- clusters ---- */

/* The same point, found on two triangles: the smaller name stays, and the deeper one. */
static bool surface_again(const surface_query *q, cluster *c, const perp_touch *t)
{
  for (int i = 0; i < c->n; i++) {
    double d[3];
    perp_sub(t->p[0], c->t[i].p[0], d);
    if (perp_norm(d) > SNAP * q->size || fabs(t->gap - c->t[i].gap) > SNAP * q->size) continue;
    const uint32_t name = t->feature < c->t[i].feature ? t->feature : c->t[i].feature;
    if (t->gap < c->t[i].gap) c->t[i] = *t;
    c->t[i].feature = name;
    return true;
  }
  return false;
}

static double surface_deepest(const cluster *c)
{
  double low = HUGE_VAL;
  for (int i = 0; i < c->n; i++) low = fmin(low, c->t[i].gap);
  return low;
}

static void surface_add(surface_query *q, const perp_touch *t)
{
  cluster *c = NULL;
  for (int i = 0; i < q->n_clusters && c == NULL; i++)
    if (1 - perp_dot(3, q->c[i].t[0].n, t->n) < SAME) c = &q->c[i];
  if (c == NULL && q->n_clusters < NORMALS_MAX) {
    c = &q->c[q->n_clusters++];
    c->n = 0;
  }
  if (c == NULL) { /* more normals than there is room for: those that are deepest */
    c = &q->c[0];
    for (int i = 1; i < NORMALS_MAX; i++)
      if (surface_deepest(&q->c[i]) > surface_deepest(c)) c = &q->c[i];
    if (!(t->gap < surface_deepest(c))) return;
    c->n = 0;
  }
  if (surface_again(q, c, t)) return;
  if (c->n == POINTS_MAX) c->n = perp_manifold_spread(c->n, c->t, q->size);
  c->t[c->n++] = *t;
}

/* ---- triangles ---- */

/* contacts with one piece, the surface second */
static int surface_ask(const surface_query *q, const perp_piece *p, double margin, perp_touch *t)
{
  const int n = q->flip ? q->fn(&p->shape, q->pm, q->a, q->pa, margin, t)
                        : q->fn(q->a, q->pa, &p->shape, q->pm, margin, t);
  if (q->flip) perp_touch_flip(n, t);
  return n;
}

static bool surface_visit(void *user, int triangle)
{
  surface_query *q = user;
  perp_piece p;
  perp_touch t[PERP_MANIFOLD_CONVEX];
  perp_piece_set(&p, q->mesh, triangle);
  const int count = surface_ask(q, &p, q->margin, t);
  for (int i = 0; i < count; i++) {
    double y[3], away[3], n[3];
    for (int k = 0; k < 3; k++) away[k] = -t[i].n[k];
    perp_place_back(q->pm, t[i].p[1], y);
    perp_turn_back(3, q->pm->R, away, n);
    t[i].feature = surface_feature(q->mesh, triangle, t[i].feature);
    if (surface_normal_counts(q, triangle, y, n)) {
      surface_add(q, &t[i]);
    } else if (!q->dropped || t[i].gap < q->spare.gap) {
      q->spare = t[i];
      q->dropped = true;
    }
  }
  return true;
}

/* the least distance alone */
static bool surface_visit_distance(void *user, int triangle)
{
  surface_query *q = user;
  perp_piece p;
  perp_touch t[PERP_MANIFOLD_CONVEX];
  perp_piece_set(&p, q->mesh, triangle);
  const int count = surface_ask(q, &p, HUGE_VAL, t);
  for (int i = 0; i < count; i++)
    if (t[i].gap < q->least) {
      q->least = t[i].gap;
      q->nearest = t[i];
    }
  return true;
}

/* by names, no two of them equal */
static void surface_order(int n, perp_touch *t)
{
  for (int i = 1; i < n; i++) {
    const perp_touch x = t[i];
    int j = i;
    for (; j > 0 && t[j - 1].feature > x.feature; j--) t[j] = t[j - 1];
    t[j] = x;
  }
  for (int i = 1; i < n; i++)
    if (t[i].feature <= t[i - 1].feature) t[i].feature = t[i - 1].feature + 1;
}

/* The triangle of a height field above or below the centre of the shape; -1: it is beside. */
static int surface_below(const surface_query *q)
{
  const perp_mesh *m = q->mesh;
  double x[3], y[3], at[2];
  int cell[2];
  perp_place(q->pa, q->a->c, x);
  perp_place_back(q->pm, x, y);
  perp_sub(y, m->c, x);
  perp_turn_back(3, m->R, x, y);
  for (int k = 0; k < 2; k++) {
    at[k] = y[k] / m->spacing[k];
    if (!(at[k] >= 0) || !(at[k] < m->grid[k] - 1)) return -1;
    cell[k] = (int)at[k];
    at[k] -= cell[k];
  }
  return 2 * (cell[0] + (m->grid[0] - 1) * cell[1]) + (at[1] > at[0]);
}

/* Contacts with the half-space below the triangle there. */
static bool surface_deep(surface_query *q)
{
  const int triangle = q->mesh->field ? surface_below(q) : -1;
  if (triangle < 0) return false;
  bool flip;
  perp_pair_fn *fn = perp_pair_of_solids(q->a->kind, PERP_SHAPE_PLANE, &flip);
  if (fn == NULL) return false;
  perp_touch t[PERP_MANIFOLD_CONVEX];
  perp_shape plane = { .kind = PERP_SHAPE_PLANE, .dim = 3, .body = -1 };
  memcpy(plane.c, q->mesh->v + 3 * q->mesh->tri[3 * triangle], sizeof plane.c);
  memcpy(plane.axis, q->mesh->n + 3 * triangle, sizeof plane.axis);
  plane.bound = plane.reach = HUGE_VAL;
  const int n = flip ? fn(&plane, q->pm, q->a, q->pa, q->margin, t)
                     : fn(q->a, q->pa, &plane, q->pm, q->margin, t);
  if (flip) perp_touch_flip(n, t);
  for (int i = 0; i < n; i++) {
    t[i].feature = surface_name((uint64_t)q->mesh->facet[triangle], t[i].feature, 1);
    surface_add(q, &t[i]);
  }
  return n > 0;
}

static int surface_collect(surface_query *q, perp_touch *out)
{
  int n = 0;
  if (q->n_clusters == 0 && q->dropped && !surface_deep(q)) surface_add(q, &q->spare);
  for (int i = 0; i < q->n_clusters; i++) {
    cluster *c = &q->c[i];
    c->n = perp_manifold_spread(c->n, c->t, q->size);
    for (int k = 0; k < c->n; k++) {
      int to = n;
      if (n < PERP_MANIFOLD_MAX) {
        n++;
      } else { /* in the place of the least deep one, if it is deeper */
        to = 0;
        for (int l = 1; l < n; l++)
          if (out[l].gap > out[to].gap) to = l;
        if (!(c->t[k].gap < out[to].gap)) continue;
      }
      out[to] = c->t[k];
    }
  }
  surface_order(n, out);
  return n;
}

/* ---- pairs ---- */

/* bounds of shape a as seen from the surface, grown */
static void surface_box(const perp_shape *a, const perp_pose *pa, const perp_pose *pm, double by,
                        double lo[3], double hi[3])
{
  perp_pose seen;
  perp_relative(pm, pa, &seen);
  perp_shape_bounds(a, &seen, lo, hi);
  by += 1e-12 * (a->bound + perp_norm(seen.x));
  for (int k = 0; k < 3; k++) lo[k] -= by, hi[k] += by;
}

/* Boxes that grow twofold until the distance is within, or all is. */
static int surface_distance(surface_query *q, double bound, perp_touch *out)
{
  double lo[3], hi[3], by = bound;
  q->least = HUGE_VAL;
  for (int round = 0; round < ROUNDS_MAX; round++, by *= 2) {
    bool all = true;
    surface_box(q->a, q->pa, q->pm, by, lo, hi);
    for (int k = 0; k < 3; k++) all = all && lo[k] <= q->mesh->lo[k] && hi[k] >= q->mesh->hi[k];
    perp_mesh_near(q->mesh, lo, hi, surface_visit_distance, q);
    if (all || q->least <= by) break;
  }
  if (!(q->least < HUGE_VAL)) return 0;
  *out = q->nearest;
  return 1;
}

int perp_convex_surface(const perp_shape *a, const perp_pose *pa, const perp_shape *b,
                        const perp_pose *pb, double margin, perp_touch *out)
{
  surface_query q;
  double lo[3], hi[3];
  q.a = a;
  q.pa = pa;
  q.pm = pb;
  q.mesh = b->mesh;
  q.fn = perp_pair_with_piece(a->kind, &q.flip);
  q.margin = margin;
  q.size = a->bound;
  q.n_clusters = 0;
  q.dropped = false;
  if (q.fn == NULL) return 0;
  if (isinf(margin)) return surface_distance(&q, a->bound, out);
  surface_box(a, pa, pb, margin, lo, hi);
  perp_mesh_near(q.mesh, lo, hi, surface_visit, &q);
  return surface_collect(&q, out);
}
