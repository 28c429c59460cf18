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
static uint32_t surface_feature(const perp_mesh *mesh, int triangle, uint32_t feature)
{
  const uint32_t type = feature >> 22, low = feature & 0x7ff, high = feature >> 11 & 0x7ff;
  const int *corner = mesh->tri + 3 * triangle;
  uint64_t on = low;
  if (type == PERP_VERTEX_A) return surface_name((uint64_t)mesh->facet[triangle], feature, 0);
  if (type == PERP_VERTEX_B) return surface_name(1u << 31, (uint64_t)corner[low % 3], 0);
  if (type == PERP_EDGES && low < 6) {
    const int p = corner[low % 3], q = corner[(low + 1) % 3];
    on = (uint64_t)(p < q ? p : q) << 32 | (uint64_t)(p < q ? q : p);
  }
  return surface_name(1u << 30 | type, high, on);
}

/* ---- inner edges ---- */

static bool surface_beyond(const perp_mesh *mesh, const double n[3], const double y[3], int corner)
{
  double r[3];
  perp_sub(mesh->v + 3 * corner, y, r);
  return perp_dot(3, n, r) > BEYOND * perp_norm(r);
}

/* does a triangle at this corner (and, other >= 0, at the edge to the other one) rise above n? */
static bool surface_hidden(const perp_mesh *mesh, const double n[3], const double y[3], int corner,
                           int other)
{
  for (int l = mesh->star[corner]; l < mesh->star[corner + 1]; l++) {
    const int *c = mesh->tri + 3 * mesh->fan[l];
    if (other >= 0 && c[0] != other && c[1] != other && c[2] != other) continue;
    for (int k = 0; k < 3; k++)
      if (c[k] != corner && c[k] != other && surface_beyond(mesh, n, y, c[k])) return true;
  }
  return false;
}

/* Is n, away from the surface, a normal of the whole surface at y on triangle t? */
static bool surface_normal_counts(const surface_query *query, int t, const double y[3],
                                  const double n[3])
{
  const perp_mesh *mesh = query->mesh;
  const double *face = mesh->n + 3 * t, tol = SNAP * query->size;
  const int *corner = mesh->tri + 3 * t;
  const double along = perp_dot(3, face, n);
  int on[3], n_on = 0, edge = -1;
  double r[3];
  if (1 - (mesh->field ? along : fabs(along)) < SAME) return true;
  for (int k = 0; k < 3; k++) {
    double u[3], s[3];
    perp_sub(mesh->v + 3 * corner[(k + 1) % 3], mesh->v + 3 * corner[k], u);
    perp_sub(y, mesh->v + 3 * corner[k], r);
    if (mesh->field) { /* a wall below the edge: seen from above */
      perp_cross(u, mesh->R + 6, s);
    } else {
      perp_cross(u, face, s);
    }
    if (perp_dot(3, s, r) < -tol * perp_norm(s)) continue;
    on[n_on++] = k;
    edge = k;
  }
  if (n_on == 0) return fabs(along) > 0.9995; /* a face of the other shape that lies on this one */
  if (mesh->field) {
    perp_sub(y, mesh->v + 3 * corner[edge], r);
    if (perp_dot(3, face, r) < tol - mesh->depth * perp_dot(3, face, mesh->R + 6))
      return true;                     /* the bottom, which nothing filters */
    if (perp_dot(3, face, r) < -tol) { /* below the surface: outer walls only */
      for (int i = 0; i < n_on; i++)
        if (perp_mesh_across(mesh, t, on[i]) < 0) return true;
      return false;
    }
  }
  if (n_on == 1) return !surface_hidden(mesh, n, y, corner[edge], corner[(edge + 1) % 3]);
  /* the corner between two edges; of a needle whose three edges are that near the one that is
   * nearest */
  int at = n_on == 3 ? 0 : on[0] == 0 && on[1] == 2 ? 0 : on[1];
  for (int k = 0; k < 3 && n_on == 3; k++) {
    double x[3];
    perp_sub(y, mesh->v + 3 * corner[k], x);
    perp_sub(y, mesh->v + 3 * corner[at], r);
    if (perp_dot(3, x, x) < perp_dot(3, r, r)) at = k;
  }
  return !surface_hidden(mesh, n, y, corner[at], -1);
}

/* ---- clusters ---- */

/* The same point, found on two triangles: the smaller name stays, and the deeper one. */
static bool surface_again(const surface_query *query, cluster *work, const perp_touch *touch)
{
  for (int i = 0; i < work->n; i++) {
    double d[3];
    perp_sub(touch->p[0], work->t[i].p[0], d);
    if (perp_norm(d) > SNAP * query->size || fabs(touch->gap - work->t[i].gap) > SNAP * query->size)
      continue;
    const uint32_t name = touch->feature < work->t[i].feature ? touch->feature : work->t[i].feature;
    if (touch->gap < work->t[i].gap) work->t[i] = *touch;
    work->t[i].feature = name;
    return true;
  }
  return false;
}

static double surface_deepest(const cluster *work)
{
  double low = HUGE_VAL;
  for (int i = 0; i < work->n; i++) low = fmin(low, work->t[i].gap);
  return low;
}

static void surface_add(surface_query *query, const perp_touch *touch)
{
  cluster *work = NULL;
  for (int i = 0; i < query->n_clusters && work == NULL; i++)
    if (1 - perp_dot(3, query->c[i].t[0].n, touch->n) < SAME) work = &query->c[i];
  if (work == NULL && query->n_clusters < NORMALS_MAX) {
    work = &query->c[query->n_clusters++];
    work->n = 0;
  }
  if (work == NULL) { /* more normals than there is room for: those that are deepest */
    work = &query->c[0];
    for (int i = 1; i < NORMALS_MAX; i++)
      if (surface_deepest(&query->c[i]) > surface_deepest(work)) work = &query->c[i];
    if (!(touch->gap < surface_deepest(work))) return;
    work->n = 0;
  }
  if (surface_again(query, work, touch)) return;
  if (work->n == POINTS_MAX) work->n = perp_manifold_spread(work->n, work->t, query->size);
  work->t[work->n++] = *touch;
}

/* ---- triangles ---- */

/* contacts with one piece, the surface second */
static int surface_ask(const surface_query *query, const perp_piece *piece, double margin,
                       perp_touch *touch)
{
  const int n = query->flip
                    ? query->fn(&piece->shape, query->pm, query->a, query->pa, margin, touch)
                    : query->fn(query->a, query->pa, &piece->shape, query->pm, margin, touch);
  if (query->flip) perp_touch_flip(n, touch);
  return n;
}

static bool surface_visit(void *user, int triangle)
{
  surface_query *query = user;
  perp_piece piece;
  perp_touch touch[PERP_MANIFOLD_CONVEX];
  perp_piece_set(&piece, query->mesh, triangle);
  const int count = surface_ask(query, &piece, query->margin, touch);
  for (int i = 0; i < count; i++) {
    double y[3], away[3], n[3];
    for (int k = 0; k < 3; k++) away[k] = -touch[i].n[k];
    perp_place_back(query->pm, touch[i].p[1], y);
    perp_turn_back(3, query->pm->R, away, n);
    touch[i].feature = surface_feature(query->mesh, triangle, touch[i].feature);
    if (surface_normal_counts(query, triangle, y, n)) {
      surface_add(query, &touch[i]);
    } else if (!query->dropped || touch[i].gap < query->spare.gap) {
      query->spare = touch[i];
      query->dropped = true;
    }
  }
  return true;
}

/* the least distance alone */
static bool surface_visit_distance(void *user, int triangle)
{
  surface_query *query = user;
  perp_piece piece;
  perp_touch touch[PERP_MANIFOLD_CONVEX];
  perp_piece_set(&piece, query->mesh, triangle);
  const int count = surface_ask(query, &piece, HUGE_VAL, touch);
  for (int i = 0; i < count; i++)
    if (touch[i].gap < query->least) {
      query->least = touch[i].gap;
      query->nearest = touch[i];
    }
  return true;
}

/* The triangle of a height field above or below the centre of the shape; -1: it is beside. */
static int surface_below(const surface_query *query)
{
  const perp_mesh *mesh = query->mesh;
  double x[3], y[3], at[2];
  int cell[2];
  perp_place(query->pa, query->a->c, x);
  perp_place_back(query->pm, x, y);
  perp_sub(y, mesh->c, x);
  perp_turn_back(3, mesh->R, x, y);
  for (int k = 0; k < 2; k++) {
    at[k] = y[k] / mesh->spacing[k];
    if (!(at[k] >= 0) || !(at[k] < mesh->grid[k] - 1)) return -1;
    cell[k] = (int)at[k];
    at[k] -= cell[k];
  }
  return 2 * (cell[0] + (mesh->grid[0] - 1) * cell[1]) + (at[1] > at[0]);
}

/* Contacts with the half-space below the triangle there. */
static bool surface_deep(surface_query *query)
{
  const int triangle = query->mesh->field ? surface_below(query) : -1;
  if (triangle < 0) return false;
  bool flip;
  perp_pair_fn *fn = perp_pair_of_solids(query->a->kind, PERP_SHAPE_PLANE, &flip);
  if (fn == NULL) return false;
  perp_touch touch[PERP_MANIFOLD_CONVEX];
  perp_shape plane = { .kind = PERP_SHAPE_PLANE, .dim = 3, .body = -1 };
  memcpy(plane.c, query->mesh->v + 3 * query->mesh->tri[3 * triangle], sizeof plane.c);
  memcpy(plane.axis, query->mesh->n + 3 * triangle, sizeof plane.axis);
  plane.bound = plane.reach = HUGE_VAL;
  const int n = flip ? fn(&plane, query->pm, query->a, query->pa, query->margin, touch)
                     : fn(query->a, query->pa, &plane, query->pm, query->margin, touch);
  if (flip) perp_touch_flip(n, touch);
  for (int i = 0; i < n; i++) {
    touch[i].feature = surface_name((uint64_t)query->mesh->facet[triangle], touch[i].feature, 1);
    surface_add(query, &touch[i]);
  }
  return n > 0;
}

static int surface_collect(surface_query *query, perp_touch *out)
{
  int n = 0;
  if (query->n_clusters == 0 && query->dropped && !surface_deep(query))
    surface_add(query, &query->spare);
  for (int i = 0; i < query->n_clusters; i++) {
    cluster *work = &query->c[i];
    work->n = perp_manifold_spread(work->n, work->t, query->size);
    for (int k = 0; k < work->n; k++) {
      int to = n;
      if (n < PERP_MANIFOLD_MAX) {
        n++;
      } else { /* in the place of the least deep one, if it is deeper */
        to = 0;
        for (int l = 1; l < n; l++)
          if (out[l].gap > out[to].gap) to = l;
        if (!(work->t[k].gap < out[to].gap)) continue;
      }
      out[to] = work->t[k];
    }
  }
  /* by names, no two of them equal */
  for (int i = 1; i < n; i++) {
    const perp_touch touch = out[i];
    int j = i;
    for (; j > 0 && out[j - 1].feature > touch.feature; j--) out[j] = out[j - 1];
    out[j] = touch;
  }
  for (int i = 1; i < n; i++)
    if (out[i].feature <= out[i - 1].feature) out[i].feature = out[i - 1].feature + 1;
  return n;
}

/* ---- pairs ---- */

/* bounds of shape a as seen from the surface, grown */
static void surface_box(const perp_shape *shape, const perp_pose *pa, const perp_pose *pm,
                        double by, double lo[3], double hi[3])
{
  perp_pose seen;
  perp_relative(pm, pa, &seen);
  perp_shape_bounds(shape, &seen, lo, hi);
  by += 1e-12 * (shape->bound + perp_norm(seen.x));
  for (int k = 0; k < 3; k++) lo[k] -= by, hi[k] += by;
}

/* Boxes that grow twofold until the distance is within, or all is. */
static int surface_distance(surface_query *query, double bound, perp_touch *out)
{
  double lo[3], hi[3], by = bound;
  query->least = HUGE_VAL;
  for (int round = 0; round < ROUNDS_MAX; round++, by *= 2) {
    bool all = true;
    surface_box(query->a, query->pa, query->pm, by, lo, hi);
    for (int k = 0; k < 3; k++)
      all = all && lo[k] <= query->mesh->lo[k] && hi[k] >= query->mesh->hi[k];
    perp_mesh_near(query->mesh, lo, hi, surface_visit_distance, query);
    if (all || query->least <= by) break;
  }
  if (!(query->least < HUGE_VAL)) return 0;
  *out = query->nearest;
  return 1;
}

int perp_convex_surface(const perp_shape *shape, const perp_pose *pa, const perp_shape *b,
                        const perp_pose *pb, double margin, perp_touch *out)
{
  surface_query query;
  double lo[3], hi[3];
  query.a = shape;
  query.pa = pa;
  query.pm = pb;
  query.mesh = b->mesh;
  query.fn = perp_pair_with_piece(shape->kind, &query.flip);
  query.margin = margin;
  query.size = shape->bound;
  query.n_clusters = 0;
  query.dropped = false;
  if (query.fn == NULL) return 0;
  if (isinf(margin)) return surface_distance(&query, shape->bound, out);
  surface_box(shape, pa, pb, margin, lo, hi);
  perp_mesh_near(query.mesh, lo, hi, surface_visit, &query);
  return surface_collect(&query, out);
}
