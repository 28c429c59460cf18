/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex hulls with whole faces.
 *
 * Gift wrapping (Chand and Kapur 1970; Jarvis 1973 in the plane): turn a supporting plane about an
 * edge of a known face until it meets the next point; all points in that plane, hulled in two
 * dimensions, are the next face, so that the sides of a box come out as quadrilaterals.  The next
 * point is found by planes that turn back: through the edge and the point farthest beyond the plane
 * before, until none is beyond.  With a tree over the points (points.h) O(points log points) for
 * points on a sphere.  Points closer than EPS times the extent are one point, and points that near
 * to a plane or a line lie in it.  Where that leaves faces that do not close (checked by the twin
 * of every half edge and Euler's formula), as of points in dense clusters, the length is taken
 * tenfold, up to EPS_MOST times the extent.  A hull that is flat, or that does not close then, is
 * refused. */
#include "models/geometry/points.h"
#include "models/geometry/shapes_private.h"

#include <stdlib.h>
#include <string.h>

static const double EPS = 1e-10, EPS_MOST = 1e-6;

/* u /= |u| */
static void hull_unit(double u[3])
{
  const double len = perp_norm(u);
  for (int i = 0; i < 3; i++) u[i] /= len;
}

/* ---- faces ---- */

/* The loops of vertices around faces; a half edge is a place in `vertex`. */
typedef struct faces {
  int n, *start, *vertex;
} faces;

/* The vertex after half edge k of face f. */
static int next_vertex(const faces *all, int f, int k)
{
  return all->vertex[k + 1 < all->start[f + 1] ? k + 1 : all->start[f]];
}

/* Half edges by the vertex they start at, those of a vertex in a list, the last one added first. */
typedef struct halves {
  int *first, *next, *to, *face; /* [vertices], [half edges] each */
} halves;

static void halves_clear(halves *h, int n_vertices)
{
  for (int vertex = 0; vertex < n_vertices; vertex++) h->first[vertex] = -1;
}

/* Those of face f. */
static void halves_add(halves *h, const faces *all, int f)
{
  for (int k = all->start[f]; k < all->start[f + 1]; k++) {
    h->to[k] = next_vertex(all, f, k);
    h->face[k] = f;
    h->next[k] = h->first[all->vertex[k]];
    h->first[all->vertex[k]] = k;
  }
}

/* The first half edge from a to b without an edge (edge NULL: any), -1: none. */
static int find_half(const halves *h, const int *edge, int a, int b)
{
  int found = -1;
  for (int k = h->first[a]; k >= 0; k = h->next[k])
    if (h->to[k] == b && (edge == NULL || edge[k] < 0)) found = k;
  return found;
}

/* ---- from faces to a hull ---- */

static void hull_layout(void *hull, perp_arena *arena)
{
  perp_hull *h = hull;
  h->v = PERP_CARVE(arena, double, 3 * h->n_vertices);
  h->n = PERP_CARVE(arena, double, 3 * h->n_faces);
  h->d = PERP_CARVE(arena, double, h->n_faces);
  h->side = PERP_CARVE(arena, double, 3 * h->n_half);
  h->dir = PERP_CARVE(arena, double, 3 * h->n_edges);
  h->start = PERP_CARVE(arena, int, h->n_faces + 1);
  PERP_INTS(arena, h->n_half, &h->loop, &h->rim, &h->fan);
  h->edge = PERP_CARVE(arena, int, 4 * h->n_edges);
  h->star = PERP_CARVE(arena, int, h->n_vertices + 1);
  h->axis = PERP_CARVE(arena, int, h->n_edges + 1);
  h->edges = PERP_CARVE(arena, int, h->n_edges);
  h->joint = PERP_CARVE(arena, int, h->n_vertices + 1);
  h->beside = PERP_CARVE(arena, int, 2 * h->n_edges);
}

/* number the edges; false when a half edge lacks its twin, or Euler's formula does not hold */
static bool link_edges(perp_hull *hull, halves *by)
{
  const faces all = { hull->n_faces, hull->start, hull->loop };
  int edges = 0;
  halves_clear(by, hull->n_vertices);
  for (int face = 0; face < hull->n_faces; face++) halves_add(by, &all, face);
  for (int k = 0; k < hull->n_half; k++) hull->rim[k] = -1;
  for (int face = 0; face < hull->n_faces; face++)
    for (int k = hull->start[face]; k < hull->start[face + 1]; k++) {
      if (hull->rim[k] >= 0) continue;
      const int a = hull->loop[k], b = next_vertex(&all, face, k);
      const int twin = edges < hull->n_edges ? find_half(by, hull->rim, b, a) : -1;
      if (twin < 0) return false;
      memcpy(hull->edge + 4 * edges, (int[4]){ a, b, face, by->face[twin] }, 4 * sizeof(int));
      hull->rim[k] = hull->rim[twin] = edges++;
    }
  return edges == hull->n_edges && hull->n_vertices - hull->n_edges + hull->n_faces == 2;
}

/* faces at each vertex, in order */
static void fan_faces(perp_hull *hull)
{
  memset(hull->star, 0, (size_t)(hull->n_vertices + 1) * sizeof *hull->star);
  for (int k = 0; k < hull->n_half; k++) hull->star[hull->loop[k]]++;
  for (int i = 0, sum = 0; i <= hull->n_vertices; i++) hull->star[i] = sum += hull->star[i];
  for (int f = hull->n_faces - 1; f >= 0; f--)
    for (int k = hull->start[f + 1] - 1; k >= hull->start[f]; k--)
      hull->fan[--hull->star[hull->loop[k]]] = f;
}

/* the other ends of the edges at each vertex */
static void join_vertices(perp_hull *hull)
{
  memset(hull->joint, 0, (size_t)(hull->n_vertices + 1) * sizeof *hull->joint);
  for (int edge = 0; edge < hull->n_edges; edge++)
    hull->joint[hull->edge[4 * edge]]++, hull->joint[hull->edge[4 * edge + 1]]++;
  for (int i = 0, sum = 0; i <= hull->n_vertices; i++) hull->joint[i] = sum += hull->joint[i];
  for (int e = hull->n_edges - 1; e >= 0; e--)
    for (int k = 0; k < 2; k++)
      hull->beside[--hull->joint[hull->edge[4 * e + k]]] = hull->edge[4 * e + 1 - k];
}

static bool hull_parallel(const double u[3], const double w[3])
{
  double c[3];
  perp_cross(u, w, c);
  return perp_norm(c) <= 1e-14 * perp_norm(u) * perp_norm(w);
}

/* edges by direction, those of one direction by number; of very many each by itself */
static void group_edges(perp_hull *hull)
{
  for (int edge = 0; edge < hull->n_edges; edge++) hull->edges[edge] = hull->axis[edge] = edge;
  hull->n_axes = hull->n_edges;
  hull->axis[hull->n_edges] = hull->n_edges;
  if (hull->n_vertices > PERP_HULL_SMALL) return;
  hull->n_axes = 0;
  hull->axis[0] = 0;
  for (int first = 0, end; first < hull->n_edges; first = end) {
    end = first + 1;
    for (int edge = end; edge < hull->n_edges; edge++) {
      const int e = hull->edges[edge];
      if (!hull_parallel(hull->dir + 3 * hull->edges[first], hull->dir + 3 * e)) continue;
      memmove(hull->edges + end + 1, hull->edges + end, (size_t)(edge - end) * sizeof e);
      hull->edges[end++] = e;
    }
    hull->axis[++hull->n_axes] = end;
  }
}

static void measure_face(perp_hull *hull, int f)
{
  const int *loop = hull->loop + hull->start[f], count = hull->start[f + 1] - hull->start[f];
  double *n = hull->n + 3 * f, *side = hull->side + 3 * hull->start[f], u[3], w[3], c[3];
  n[0] = n[1] = n[2] = 0;
  for (int k = 1; k + 1 < count; k++) { /* twice the vector area, about the first vertex */
    perp_sub(hull->v + 3 * loop[k], hull->v + 3 * loop[0], u);
    perp_sub(hull->v + 3 * loop[k + 1], hull->v + 3 * loop[0], w);
    perp_cross(u, w, c);
    for (int i = 0; i < 3; i++) n[i] += c[i];
  }
  hull_unit(n);
  for (int k = 0; k < count; k++, side += 3) {
    perp_sub(hull->v + 3 * loop[(k + 1) % count], hull->v + 3 * loop[k], u);
    perp_cross(u, n, side);
    hull_unit(side);
  }
}

/* normals, offsets, sides: from vertices and loops */
static void hull_measure(perp_hull *hull)
{
  for (int edge = 0; edge < hull->n_edges; edge++)
    perp_sub(hull->v + 3 * hull->edge[4 * edge + 1], hull->v + 3 * hull->edge[4 * edge],
             hull->dir + 3 * edge);
  for (int face = 0; face < hull->n_faces; face++) {
    if (hull->dim == 2) {
      /* Normal of a side of a polygon and where its ends face. */
      const double *u = hull->dir + 3 * face, len = hypot(u[0], u[1]);
      double *n = hull->n + 3 * face, *side = hull->side + 3 * hull->start[face];
      n[0] = u[1] / len, n[1] = -u[0] / len, n[2] = 0;
      for (int i = 0; i < 3; i++) {
        side[i] = -u[i] / len;
        side[3 + i] = u[i] / len;
      }
    } else
      measure_face(hull, face);
    double sum = 0; /* the mean offset: no vertex of a merged face is preferred */
    for (int k = hull->start[face]; k < hull->start[face + 1]; k++)
      sum += perp_dot(3, hull->n + 3 * face, hull->v + 3 * hull->loop[k]);
    hull->d[face] = sum / (hull->start[face + 1] - hull->start[face]);
  }
}

static perp_status hull_open(perp_ctx *ctx, const char *who)
{
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: the faces of its hull do not close: some vertices are within %g of the "
                   "extent of each other or of a face; remove them",
                   who, EPS_MOST);
}

static perp_status hull_assemble(perp_ctx *ctx, int dim, const double *v, int n_vertices,
                                 const faces *all, halves *by, const char *who, bool *open,
                                 perp_hull **out)
{
  *out = NULL;
  const int n_half = all->start[all->n];
  perp_hull like = { .dim = dim,
                     .n_vertices = n_vertices,
                     .n_faces = all->n,
                     .n_half = n_half,
                     .n_edges = dim == 2 ? all->n : n_half / 2 };
  void *hull;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, hull_layout, &hull));
  perp_hull *h = hull;
  memcpy(h->v, v, (size_t)(3 * n_vertices) * sizeof *v);
  memcpy(h->start, all->start, (size_t)(all->n + 1) * sizeof *h->start);
  memcpy(h->loop, all->vertex, (size_t)n_half * sizeof *h->loop);
  if (dim == 2) {
    /* The one edge of a side of a polygon, both half edges of which are in its loop. */
    for (int face = 0; face < h->n_faces; face++) {
      const int k = h->start[face], edge[4] = { h->loop[k], h->loop[k + 1], face, face };
      memcpy(h->edge + 4 * face, edge, sizeof edge);
      h->rim[k] = h->rim[k + 1] = face;
    }
  } else if (!link_edges(h, by)) {
    free(h);
    *open = true;
    return hull_open(ctx, who);
  }
  fan_faces(h);
  join_vertices(h);
  hull_measure(h);
  if (dim == 3) group_edges(h);
  *out = h;
  return PERP_OK;
}

static void turn_all(const double R[9], int n, double *x)
{
  for (int i = 0; i < n; i++, x += 3) {
    double y[3];
    perp_turn(3, R, x, y);
    memcpy(x, y, sizeof y);
  }
}

void perp_hull_move(perp_hull *hull, const double R[9], const double c[3])
{
  turn_all(R, hull->n_vertices, hull->v);
  turn_all(R, hull->n_edges, hull->dir);
  turn_all(R, hull->n_half, hull->side);
  turn_all(R, hull->n_faces, hull->n);
  for (int i = 0; i < hull->n_vertices; i++) perp_along(hull->v + 3 * i, 1, c, hull->v + 3 * i);
  for (int f = 0; f < hull->n_faces; f++) hull->d[f] += perp_dot(3, hull->n + 3 * f, c);
}

/* ---- support ---- */

int perp_hull_support(const perp_hull *hull, const double d[3], int start)
{
  int at = start;
  double high;
  if (start < 0) {
    at = 0;
    high = perp_dot(3, d, hull->v);
    /* of vertices at even distances in their order */
    const int step = hull->n_vertices / 16 + 1;
    for (int vertex = step; vertex < hull->n_vertices; vertex += step) {
      const double x = perp_dot(3, d, hull->v + 3 * vertex);
      if (x > high) high = x, at = vertex;
    }
  } else {
    high = perp_dot(3, d, hull->v + 3 * start);
  }
  for (int from = -1; from != at;) { /* each step is farther: no vertex comes twice */
    from = at;
    for (int k = hull->joint[from]; k < hull->joint[from + 1]; k++) {
      const double x = perp_dot(3, d, hull->v + 3 * hull->beside[k]);
      if (x > high) high = x, at = hull->beside[k];
    }
  }
  return at;
}

/* ---- box ---- */

/* vertex i of a box: bit k of i gives the sign of coordinate k */
static int box_start[] = { 0, 4, 8, 12, 16, 20, 24 };
static int box_loop[] = {
  0, 4, 6, 2, /* -x */ 1, 3, 7, 5, /* +x */ 0, 1, 5, 4, /* -y */
  2, 6, 7, 3, /* +y */ 0, 2, 3, 1, /* -z */ 4, 5, 7, 6, /* +z */
};
static int square_start[] = { 0, 2, 4, 6, 8 };
static int square_loop[] = { 0, 1, 1, 3, 3, 2, 2, 0 };

perp_status perp_hull_box(perp_ctx *ctx, int dim, const double half[3], const char *who,
                          perp_hull **out)
{
  static const faces box = { 6, box_start, box_loop }, square = { 4, square_start, square_loop };
  double v[24];
  for (int i = 0; i < 1 << dim; i++)
    for (int k = 0; k < 3; k++)
      v[3 * i + k] = k >= dim ? 0 : (i >> k & 1) != 0 ? half[k] : -half[k];
  int first[8], rest[3][24];
  halves by = { first, rest[0], rest[1], rest[2] };
  bool open;
  PERP_TRY(hull_assemble(ctx, dim, v, 1 << dim, dim == 3 ? &box : &square, &by, who, &open, out));
  (*out)->box = dim == 3;
  return PERP_OK;
}

/* ---- in the plane ---- */

static bool hull_after(const double *p, int a, int b)
{
  if (p[2 * a] != p[2 * b]) return p[2 * a] > p[2 * b];
  return p[2 * a + 1] != p[2 * b + 1] ? p[2 * a + 1] > p[2 * b + 1] : a > b;
}

/* Counter-clockwise hull of the points p[i] (x, y) listed in index: Andrew's chains, points within
 * eps of a side dropped.  Reorders index, writes loop [n + 1], returns its length, below 3 when
 * flat. */
static int hull_planar(const double *p, int n, int *index, double eps, int *loop)
{
  /* index [n] by x, then y, then number: a heap */
  for (int end = n, root = n / 2; end > 1;) {
    int at = 0, k;
    if (root > 0) {
      at = --root;
      k = index[at];
    } else {
      k = index[--end];
      index[end] = index[0];
    }
    for (int child = 2 * at + 1; child < end; child = 2 * at + 1) {
      if (child + 1 < end && hull_after(p, index[child + 1], index[child])) child++;
      if (!hull_after(p, index[child], k)) break;
      index[at] = index[child];
      at = child;
    }
    index[at] = k;
  }
  int m = 0;
  for (int pass = 0; pass < 2; pass++) {
    int base = m;
    for (int i = 0; i < n; i++) {
      int k = index[pass == 0 ? i : n - 1 - i];
      while (m - base >= 2) {
        const double *a = p + 2 * loop[m - 2], *b = p + 2 * loop[m - 1], *c = p + 2 * k;
        double ux = c[0] - a[0], uy = c[1] - a[1];
        /* distance of b to the right of the line from a to c */
        double right = (b[0] - a[0]) * uy - (b[1] - a[1]) * ux;
        if (right > eps * hypot(ux, uy)) break;
        m--;
      }
      if (m > 0 && loop[m - 1] == k) continue;
      loop[m++] = k;
    }
    m--; /* the last of this chain starts the other one */
  }
  return m;
}

/* ---- in space ---- */

enum { TURNS_MAX = 50 }; /* of a plane; more are rounding, and show in faces that do not close */
enum wrap_end { WRAP_CLOSED, WRAP_FLAT, WRAP_OPEN, WRAP_EDGES, WRAP_CORNERS };

typedef struct wrap {
  int n, n_half, corners; /* of the last face that was tried */
  double eps, *p;         /* [3 n] */
  faces found;
  halves by;
  perp_points tree;
  double *normal;    /* [3 faces] */
  double *flat;      /* [2 n] points of one plane in its coordinates */
  int *index, *ring; /* [n], [2 n + 4] */
} wrap;

static int wrap_halves(int n)
{
  return 2 * ((n < PERP_HULL_VERTICES_MAX ? 3 * n : PERP_HULL_EDGES_MAX) + 1);
}

static void wrap_layout(void *ws, perp_arena *arena)
{
  wrap *wrapped = ws;
  const size_t n = (size_t)wrapped->n, most = 2 * n + 2,
               half = (size_t)wrap_halves(wrapped->n) + 2 * n;
  wrapped->p = PERP_CARVE(arena, double, 3 * n);
  wrapped->flat = PERP_CARVE(arena, double, 2 * n);
  wrapped->normal = PERP_CARVE(arena, double, 3 * most);
  wrapped->found.start = PERP_CARVE(arena, int, most + 1);
  wrapped->found.vertex = PERP_CARVE(arena, int, half);
  wrapped->by.first = PERP_CARVE(arena, int, n);
  PERP_INTS(arena, half, &wrapped->by.next, &wrapped->by.to, &wrapped->by.face);
  wrapped->index = PERP_CARVE(arena, int, n);
  wrapped->ring = PERP_CARVE(arena, int, 2 * n + 4);
  perp_points_layout(&wrapped->tree, wrapped->n, arena);
}

/* the face in the supporting plane through point o with normal n */
static enum wrap_end add_face(wrap *wrapped, const double n[3], const double *o)
{
  double u[3] = { 0 }, t[3];
  int k = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
  if (fabs(n[2]) < fabs(n[k])) k = 2;
  u[k] = 1;
  perp_cross(u, n, t);
  hull_unit(t);
  perp_cross(n, t, u); /* a right-handed basis (t, u, n) */
  const int m = perp_points_slab(&wrapped->tree, n, perp_dot(3, n, o), wrapped->eps,
                                 wrapped->index);
  for (int l = 0; l < m; l++) {
    const int i = wrapped->index[l];
    double r[3];
    perp_sub(wrapped->p + 3 * i, o, r);
    wrapped->flat[2 * i] = perp_dot(3, r, t);
    wrapped->flat[2 * i + 1] = perp_dot(3, r, u);
  }
  wrapped->corners = hull_planar(wrapped->flat, m, wrapped->index, wrapped->eps, wrapped->ring);
  if (wrapped->corners < 3) return WRAP_OPEN;
  if (wrapped->corners > PERP_FACE_MAX) return WRAP_CORNERS;
  if (wrapped->n_half + wrapped->corners > 2 * PERP_HULL_EDGES_MAX) return WRAP_EDGES;
  if (wrapped->n_half + wrapped->corners > wrap_halves(wrapped->n) ||
      wrapped->found.n >= 2 * wrapped->n)
    return WRAP_OPEN;
  memcpy(wrapped->normal + 3 * wrapped->found.n, n, 3 * sizeof *n);
  memcpy(wrapped->found.vertex + wrapped->n_half, wrapped->ring,
         (size_t)wrapped->corners * sizeof(int));
  wrapped->n_half += wrapped->corners;
  wrapped->found.start[++wrapped->found.n] = wrapped->n_half;
  halves_add(&wrapped->by, &wrapped->found, wrapped->found.n - 1);
  return WRAP_CLOSED;
}

/* Turn the supporting plane with normal n0 about the line through o square to n0 and m until it
 * meets a point; m: perpendicular to the line, in the old plane, the side from which it turns
 * away.  Normal of the new plane.  From a half turn on each plane goes through the point that was
 * farthest beyond the one before, until none is beyond by more than a part of eps; it turns back
 * with each. */
static void turn_plane(const wrap *wrapped, const double *o, const double n0[3], const double m[3],
                       double n[3])
{
  for (int i = 0; i < 3; i++) n[i] = -n0[i];
  for (int k = 0; k < TURNS_MAX; k++) {
    double r[3];
    perp_sub(wrapped->p + 3 * perp_points_farthest(&wrapped->tree, n), o, r);
    if (k > 0 && perp_dot(3, r, n) <= 0.25 * wrapped->eps) break;
    const double down = -perp_dot(3, r, n0), out = -perp_dot(3, r, m), len = hypot(down, out);
    if (len <= 2 * wrapped->eps) break; /* on the line */
    /* in-plane direction of the new face is -m x - n0 y; its normal is n0 x - m y */
    const double y = down / len, x = out / len;
    for (int i = 0; i < 3; i++) n[i] = n0[i] * x - m[i] * y;
    hull_unit(n);
  }
}

static enum wrap_end first_face(wrap *wrapped)
{
  int low = 0;
  for (int i = 1; i < wrapped->n; i++)
    if (wrapped->p[3 * i] < wrapped->p[3 * low]) low = i;
  const double *o = wrapped->p + 3 * low;
  double n[3] = { -1, 0, 0 }, m[3] = { 0, 1, 0 }, e[3] = { 0 };
  enum wrap_end end = add_face(wrapped, n, o);
  if (end != WRAP_OPEN) return end;
  turn_plane(wrapped, o, (const double[3]){ -1, 0, 0 }, m, n);
  end = add_face(wrapped, n, o);
  if (end != WRAP_OPEN) return end;
  /* the plane touches along an edge: the farthest point in it gives its direction */
  double far = 0;
  const int on = perp_points_slab(&wrapped->tree, n, perp_dot(3, n, o), wrapped->eps,
                                  wrapped->index);
  for (int l = 0; l < on; l++) {
    double r[3];
    perp_sub(wrapped->p + 3 * wrapped->index[l], o, r);
    double len = perp_norm(r);
    if (len <= far) continue;
    far = len;
    for (int k = 0; k < 3; k++) e[k] = r[k] / len;
  }
  if (far == 0) return WRAP_FLAT;
  perp_cross(n, e, m);
  const double old[3] = { n[0], n[1], n[2] };
  turn_plane(wrapped, o, old, m, n);
  end = add_face(wrapped, n, o);
  return end == WRAP_OPEN ? WRAP_FLAT : end; /* all on a line */
}

static enum wrap_end wrap_all(wrap *wrapped)
{
  if (wrapped->n < 4) return WRAP_FLAT;
  perp_points_build(&wrapped->tree, wrapped->p, wrapped->n);
  halves_clear(&wrapped->by, wrapped->n);
  enum wrap_end end = first_face(wrapped);
  if (end != WRAP_CLOSED) return end;
  bool solid = false; /* not all in the plane of the first face */
  for (int i = 0; i < wrapped->n && !solid; i++) {
    double r[3];
    perp_sub(wrapped->p + 3 * i, wrapped->p + 3 * wrapped->found.vertex[0], r);
    solid = perp_dot(3, r, wrapped->normal) < -4 * wrapped->eps;
  }
  if (!solid) return WRAP_FLAT;
  const faces *found = &wrapped->found;
  for (int f = 0; f < found->n; f++)
    for (int k = found->start[f]; k < found->start[f + 1]; k++) {
      int a = found->vertex[k], b = next_vertex(found, f, k);
      if (find_half(&wrapped->by, NULL, b, a) >= 0) continue;
      double e[3], m[3], n[3];
      perp_sub(wrapped->p + 3 * b, wrapped->p + 3 * a, e);
      hull_unit(e);
      perp_cross(wrapped->normal + 3 * f, e, m); /* towards the inside of the face */
      turn_plane(wrapped, wrapped->p + 3 * a, wrapped->normal + 3 * f, m, n);
      end = add_face(wrapped, n, wrapped->p + 3 * a);
      if (end != WRAP_CLOSED) return end;
    }
  return WRAP_CLOSED;
}

/* The sides of a polygon; their number, below 3 when flat. */
static int wrap_polygon(wrap *wrapped)
{
  for (int i = 0; i < wrapped->n; i++) {
    memcpy(wrapped->flat + 2 * i, wrapped->p + 3 * i, 2 * sizeof *wrapped->p);
    wrapped->index[i] = i;
  }
  const int m = hull_planar(wrapped->flat, wrapped->n, wrapped->index, wrapped->eps, wrapped->ring);
  if (m < 3 || m > PERP_HULL_SMALL_EDGES) return m;
  for (int k = 0; k < m; k++) {
    wrapped->found.vertex[2 * k] = wrapped->ring[k];
    wrapped->found.vertex[2 * k + 1] = wrapped->ring[(k + 1) % m];
    wrapped->found.start[k + 1] = 2 * k + 2;
  }
  wrapped->found.n = m;
  wrapped->n_half = 2 * m;
  return m;
}

/* One message for each cause. */
static perp_status hull_refused(perp_ctx *ctx, const wrap *wrapped, enum wrap_end end,
                                const char *who)
{
  switch (end) {
  case WRAP_FLAT:
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: its vertices lie in one plane (%d of them differ) within %g m: a hull needs a volume",
        who, wrapped->n, 4 * wrapped->eps);
  case WRAP_EDGES:
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: its hull exceeds the limit of %d vertices (edges: %d): remove vertices "
                     "that are near others, or split the shape",
                     who, PERP_HULL_VERTICES_MAX, PERP_HULL_EDGES_MAX);
  case WRAP_CORNERS:
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: a face of its hull has %d corners, the limit is %d: remove some of the "
                     "vertices around it",
                     who, wrapped->corners, PERP_FACE_MAX);
  default:
    return hull_open(ctx, who);
  }
}

static perp_status hull_of(perp_ctx *ctx, int dim, wrap *wrapped, const char *who, bool *open,
                           perp_hull **out)
{
  if (dim == 2) {
    const int m = wrap_polygon(wrapped);
    if (m < 3) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its vertices lie on a line", who);
    if (m > PERP_HULL_SMALL_EDGES)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: its hull has %d sides, the limit is %d: remove vertices", who, m,
                       PERP_HULL_SMALL_EDGES);
  } else {
    const enum wrap_end end = wrap_all(wrapped);
    *open = end == WRAP_OPEN;
    if (end != WRAP_CLOSED) return hull_refused(ctx, wrapped, end, who);
  }
  /* the vertices that the hull uses, in the order given */
  int used = 0;
  for (int i = 0; i < wrapped->n; i++) wrapped->index[i] = -1;
  for (int k = 0; k < wrapped->n_half; k++) wrapped->index[wrapped->found.vertex[k]] = 0;
  for (int i = 0; i < wrapped->n; i++) {
    if (wrapped->index[i] < 0) continue;
    memmove(wrapped->p + 3 * used, wrapped->p + 3 * i, 3 * sizeof *wrapped->p);
    wrapped->index[i] = used++;
  }
  for (int k = 0; k < wrapped->n_half; k++)
    wrapped->found.vertex[k] = wrapped->index[wrapped->found.vertex[k]];
  return hull_assemble(ctx, dim, wrapped->p, used, &wrapped->found, &wrapped->by, who, open, out);
}

perp_status perp_hull_create(perp_ctx *ctx, int dim, const double *points, int stride, int n,
                             const char *who, perp_hull **out)
{
  *out = NULL;
  wrap like = { .n = n };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, wrap_layout, &ws));
  wrap *w = ws;
  perp_status status = PERP_OK;
  bool open = true;
  for (double eps = EPS; open && eps < 2 * EPS_MOST; eps *= 10) {
    w->found.start[0] = 0;
    w->found.n = w->n_half = 0;
    w->n = n;
    open = false;
    /* The distinct ones of n points go to w; the first dim of `stride` numbers of a point count. */
    double lo[3] = { 0 }, hi[3] = { 0 };
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 3; k++) {
        double x = k < dim ? points[stride * i + k] : 0;
        lo[k] = i == 0 ? x : fmin(lo[k], x);
        hi[k] = i == 0 ? x : fmax(hi[k], x);
        w->p[3 * i + k] = x;
      }
    w->eps = eps * fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    w->n = w->eps > 0 ? perp_points_distinct(&w->tree, w->p, n, 4 * w->eps) : 1;
    status = hull_of(ctx, dim, w, who, &open, out);
  }
  free(w);
  return status;
}
