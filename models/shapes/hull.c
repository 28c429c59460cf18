/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex hulls with whole faces.
 *
 * Gift wrapping (Chand and Kapur 1970; Jarvis 1973 in the plane): turn a supporting plane about an
 * edge of a known face until it meets the next point; all points in that plane, hulled in two
 * dimensions, are the next face, so that the sides of a box come out as quadrilaterals.  O(points
 * x faces) once per shape.  Points closer than EPS times the extent are one point, and points that
 * near to a plane or a line lie in it.  A hull that is flat, or where rounding leaves faces that
 * do not close (checked by the twin of every half edge and Euler's formula), is refused. */
#include "models/shapes/shapes_private.h"

#include <stdlib.h>
#include <string.h>

static const double EPS = 1e-10;

/* ---- from loops to a hull -------------------------------------------------------------------- */

static void hull_layout(perp_hull *h, int half_edges, perp_arena *a)
{
  h->v = PERP_CARVE(a, double, 3 * h->n_vertices);
  h->n = PERP_CARVE(a, double, 3 * h->n_faces);
  h->d = PERP_CARVE(a, double, h->n_faces);
  h->side = PERP_CARVE(a, double, 3 * half_edges);
  h->dir = PERP_CARVE(a, double, 3 * h->n_edges);
  h->start = PERP_CARVE(a, int, h->n_faces + 1);
  PERP_INTS(a, half_edges, &h->loop, &h->rim);
  h->edge = PERP_CARVE(a, int, 4 * h->n_edges);
  h->star = PERP_CARVE(a, int, h->n_vertices + 1);
  h->fan = PERP_CARVE(a, int, half_edges);
  h->axis = PERP_CARVE(a, int, h->n_edges + 1);
  h->edges = PERP_CARVE(a, int, h->n_edges);
}

/* number the edges; false when a half edge lacks its twin */
static bool link_edges(perp_hull *h)
{
  int n_half = h->start[h->n_faces], edges = 0;
  for (int k = 0; k < n_half; k++) h->rim[k] = -1;
  for (int f = 0; f < h->n_faces; f++)
    for (int k = h->start[f]; k < h->start[f + 1]; k++) {
      if (h->rim[k] >= 0) continue;
      int a = h->loop[k], b = h->loop[k + 1 < h->start[f + 1] ? k + 1 : h->start[f]], twin = -1;
      if (h->dim == 2) {
        /* both half edges of a side are the one edge of its face */
        h->rim[k] = f;
        if (k == h->start[f])
          memcpy(h->edge + 4 * f, (int[4]){ a, b, f, f }, 4 * sizeof(int)), edges++;
        continue;
      }
      for (int g = 0; g < h->n_faces && twin < 0; g++)
        for (int l = h->start[g]; l < h->start[g + 1] && twin < 0; l++) {
          int next = h->loop[l + 1 < h->start[g + 1] ? l + 1 : h->start[g]];
          if (h->loop[l] != b || next != a || h->rim[l] >= 0 || edges >= h->n_edges) continue;
          memcpy(h->edge + 4 * edges, (int[4]){ a, b, f, g }, 4 * sizeof(int));
          h->rim[k] = h->rim[l] = edges;
          twin = l;
        }
      if (twin < 0) return false;
      edges++;
    }
  return edges == h->n_edges;
}

static void fan_faces(perp_hull *h)
{
  int at = 0;
  for (int i = 0; i < h->n_vertices; i++) {
    h->star[i] = at;
    for (int f = 0; f < h->n_faces; f++)
      for (int k = h->start[f]; k < h->start[f + 1]; k++)
        if (h->loop[k] == i) h->fan[at++] = f;
  }
  h->star[h->n_vertices] = at;
}

/* edges by direction */
static void group_edges(perp_hull *h)
{
  int count = 0;
  h->n_axes = 0;
  h->axis[0] = 0;
  for (int i = 0; i < h->n_edges; i++) {
    const double *u = h->dir + 3 * i;
    bool old = false;
    for (int k = 0; k < count && !old; k++) old = h->edges[k] == i;
    if (old) continue;
    for (int j = i; j < h->n_edges; j++) {
      double c[3];
      perp_cross(u, h->dir + 3 * j, c);
      if (j != i && perp_norm(c) > 1e-14 * perp_norm(u) * perp_norm(h->dir + 3 * j)) continue;
      old = false;
      for (int k = 0; k < count && !old; k++) old = h->edges[k] == j;
      if (!old) h->edges[count++] = j;
    }
    h->axis[++h->n_axes] = count;
  }
}

/* normals, offsets, sides: from vertices and loops */
static void hull_measure(perp_hull *h)
{
  for (int e = 0; e < h->n_edges; e++)
    perp_sub(h->v + 3 * h->edge[4 * e + 1], h->v + 3 * h->edge[4 * e], h->dir + 3 * e);
  for (int f = 0; f < h->n_faces; f++) {
    double *n = h->n + 3 * f, sum = 0;
    int first = h->start[f], count = h->start[f + 1] - first;
    const double *v0 = h->v + 3 * h->loop[first];
    if (h->dim == 2) {
      const double *u = h->dir + 3 * f;
      double len = hypot(u[0], u[1]);
      n[0] = u[1] / len, n[1] = -u[0] / len, n[2] = 0;
      for (int i = 0; i < 3; i++) {
        h->side[3 * first + i] = -u[i] / len;
        h->side[3 * first + 3 + i] = u[i] / len;
      }
    } else {
      n[0] = n[1] = n[2] = 0;
      for (int k = 1; k + 1 < count; k++) { /* twice the vector area, about v0 */
        double u[3], w[3], c[3];
        perp_sub(h->v + 3 * h->loop[first + k], v0, u);
        perp_sub(h->v + 3 * h->loop[first + k + 1], v0, w);
        perp_cross(u, w, c);
        for (int i = 0; i < 3; i++) n[i] += c[i];
      }
      double len = perp_norm(n);
      for (int i = 0; i < 3; i++) n[i] /= len;
      for (int k = 0; k < count; k++) {
        double u[3], *side = h->side + 3 * (first + k);
        perp_sub(h->v + 3 * h->loop[first + (k + 1) % count], h->v + 3 * h->loop[first + k], u);
        perp_cross(u, n, side);
        len = perp_norm(side);
        for (int i = 0; i < 3; i++) side[i] /= len;
      }
    }
    /* the mean offset: no vertex of a merged face is preferred */
    for (int k = 0; k < count; k++) sum += perp_dot(3, n, h->v + 3 * h->loop[first + k]);
    h->d[f] = sum / count;
  }
}

static perp_status hull_assemble(perp_ctx *ctx, int dim, const double *v, int n_vertices,
                                 const int *start, const int *loop, int n_faces, const char *who,
                                 perp_hull **out)
{
  int half_edges = start[n_faces];
  perp_arena a = { 0 };
  perp_hull *h = calloc(1, sizeof *h);
  if (h == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for its hull", who);
  h->dim = dim;
  h->n_vertices = n_vertices;
  h->n_faces = n_faces;
  h->n_edges = dim == 2 ? n_faces : half_edges / 2;
  hull_layout(h, half_edges, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(h);
    return status;
  }
  h->block = a.base;
  hull_layout(h, half_edges, &a);
  memcpy(h->v, v, (size_t)(3 * n_vertices) * sizeof *v);
  memcpy(h->start, start, (size_t)(n_faces + 1) * sizeof *start);
  memcpy(h->loop, loop, (size_t)half_edges * sizeof *loop);
  bool closed = link_edges(h);
  if (dim == 3) closed = closed && h->n_vertices - h->n_edges + h->n_faces == 2;
  if (!closed) {
    perp_hull_destroy(h);
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the faces of its hull do not close (vertices almost in one plane)", who);
  }
  fan_faces(h);
  hull_measure(h);
  if (dim == 3) group_edges(h);
  *out = h;
  return PERP_OK;
}

void perp_hull_destroy(perp_hull *hull)
{
  if (hull == NULL) return;
  free(hull->block);
  free(hull);
}

void perp_hull_move(perp_hull *h, const double R[9], const double c[3])
{
  int half_edges = h->start[h->n_faces];
  double y[3];
  for (int i = 0; i < h->n_vertices; i++) {
    perp_turn(3, R, h->v + 3 * i, y);
    perp_along(y, 1, c, h->v + 3 * i);
  }
  for (int i = 0; i < h->n_edges; i++) {
    perp_turn(3, R, h->dir + 3 * i, y);
    memcpy(h->dir + 3 * i, y, sizeof y);
  }
  for (int i = 0; i < half_edges; i++) {
    perp_turn(3, R, h->side + 3 * i, y);
    memcpy(h->side + 3 * i, y, sizeof y);
  }
  for (int f = 0; f < h->n_faces; f++) {
    perp_turn(3, R, h->n + 3 * f, y);
    memcpy(h->n + 3 * f, y, sizeof y);
    h->d[f] += perp_dot(3, y, c);
  }
}

/* ---- box ------------------------------------------------------------------------------------- */

/* vertex i of a box: bit k of i gives the sign of coordinate k */
static const int box_start[] = { 0, 4, 8, 12, 16, 20, 24 };
static const int box_loop[] = {
  0, 4, 6, 2, /* -x */ 1, 3, 7, 5, /* +x */ 0, 1, 5, 4, /* -y */
  2, 6, 7, 3, /* +y */ 0, 2, 3, 1, /* -z */ 4, 5, 7, 6, /* +z */
};
static const int square_start[] = { 0, 2, 4, 6, 8 };
static const int square_loop[] = { 0, 1, 1, 3, 3, 2, 2, 0 };

perp_status perp_hull_box(perp_ctx *ctx, int dim, const double half[3], const char *who,
                          perp_hull **out)
{
  double v[24];
  for (int i = 0; i < 1 << dim; i++)
    for (int k = 0; k < 3; k++)
      v[3 * i + k] = k >= dim ? 0 : (i >> k & 1) != 0 ? half[k] : -half[k];
  PERP_TRY(dim == 3 ? hull_assemble(ctx, 3, v, 8, box_start, box_loop, 6, who, out)
                    : hull_assemble(ctx, 2, v, 4, square_start, square_loop, 4, who, out));
  (*out)->box = dim == 3;
  return PERP_OK;
}

/* ---- in the plane ---------------------------------------------------------------------------- */

/* Counter-clockwise hull of the points p[i] (x, y) listed in index: Andrew's chains, points within
 * eps of a side dropped.  Reorders index, writes loop [n + 1], returns its length, below 3 when
 * flat. */
static int hull_hull2(const double *p, int n, int *index, double eps, int *loop)
{
  for (int i = 1; i < n; i++) { /* by x, then y */
    int k = index[i], j = i;
    for (; j > 0; j--) {
      const double *a = p + 2 * index[j - 1], *b = p + 2 * k;
      if (a[0] < b[0] || (a[0] == b[0] && a[1] <= b[1])) break;
      index[j] = index[j - 1];
    }
    index[j] = k;
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

/* ---- in space -------------------------------------------------------------------------------- */

typedef struct wrap {
  const double *p;
  int n;
  double eps;
  int *start, *loop, n_faces, n_half;
  double *normal; /* [3 faces] */
  double *flat;   /* [2 n] points of one plane in its coordinates */
  int *index, *ring;
} wrap;

/* the face in the supporting plane through point o with normal n; false: fewer than three
 * corners */
static bool add_face(wrap *w, const double n[3], const double *o)
{
  double u[3] = { 0 }, t[3];
  int k = fabs(n[0]) < fabs(n[1]) ? 0 : 1, m = 0;
  if (fabs(n[2]) < fabs(n[k])) k = 2;
  u[k] = 1;
  perp_cross(u, n, t); /* t, n, and u = t x n ... a right-handed basis (t, s, n) */
  double len = perp_norm(t);
  for (int i = 0; i < 3; i++) t[i] /= len;
  perp_cross(n, t, u);
  for (int i = 0; i < w->n; i++) {
    double r[3];
    perp_sub(w->p + 3 * i, o, r);
    if (fabs(perp_dot(3, r, n)) > w->eps) continue;
    w->flat[2 * i] = perp_dot(3, r, t);
    w->flat[2 * i + 1] = perp_dot(3, r, u);
    w->index[m++] = i;
  }
  int corners = hull_hull2(w->flat, m, w->index, w->eps, w->ring);
  if (corners < 3 || corners > PERP_FACE_MAX || w->n_half + corners > 2 * PERP_HULL_EDGES_MAX ||
      w->n_faces >= 2 * w->n)
    return false;
  memcpy(w->normal + 3 * w->n_faces, n, 3 * sizeof *n);
  memcpy(w->loop + w->n_half, w->ring, (size_t)corners * sizeof(int));
  w->n_half += corners;
  w->start[++w->n_faces] = w->n_half;
  return true;
}

/* Turn the supporting plane with normal n0 about the line through o square to n0 and m until it
 * meets a point; m: perpendicular to the line, in the old plane, the side from which it turns
 * away.  Normal of the new plane. */
static void turn_plane(const wrap *w, const double *o, const double n0[3], const double m[3],
                       double n[3])
{
  double best = HUGE_VAL, y = 1, x = 0;
  for (int i = 0; i < w->n; i++) {
    double r[3];
    perp_sub(w->p + 3 * i, o, r);
    double down = -perp_dot(3, r, n0), out = -perp_dot(3, r, m);
    double len = hypot(down, out);
    if (len <= 2 * w->eps) continue; /* on the line */
    /* rounding may leave a point above the old plane by less than eps */
    double angle = atan2(down, out);
    if (angle < -3) angle += 2 * acos(-1.0);
    if (angle < best) best = angle, y = down / len, x = out / len;
  }
  /* in-plane direction of the new face is -m x - n0 y; its normal is n0 x - m y */
  for (int i = 0; i < 3; i++) n[i] = n0[i] * x - m[i] * y;
  double len = perp_norm(n);
  for (int i = 0; i < 3; i++) n[i] /= len;
}

static bool has_half(const wrap *w, int a, int b)
{
  for (int f = 0; f < w->n_faces; f++)
    for (int k = w->start[f]; k < w->start[f + 1]; k++)
      if (w->loop[k] == a && w->loop[k + 1 < w->start[f + 1] ? k + 1 : w->start[f]] == b)
        return true;
  return false;
}

static bool first_face(wrap *w)
{
  int low = 0;
  for (int i = 1; i < w->n; i++)
    if (w->p[3 * i] < w->p[3 * low]) low = i;
  const double *o = w->p + 3 * low;
  double n[3] = { -1, 0, 0 }, m[3] = { 0, 1, 0 }, e[3] = { 0 };
  if (add_face(w, n, o)) return true;
  turn_plane(w, o, n, m, n);
  if (add_face(w, n, o)) return true;
  /* the plane touches along an edge: the farthest point in it gives its direction */
  double far = 0;
  for (int i = 0; i < w->n; i++) {
    double r[3];
    perp_sub(w->p + 3 * i, o, r);
    double len = perp_norm(r);
    if (fabs(perp_dot(3, r, n)) > w->eps || len <= far) continue;
    far = len;
    for (int k = 0; k < 3; k++) e[k] = r[k] / len;
  }
  if (far == 0) return false;
  perp_cross(n, e, m);
  turn_plane(w, o, n, m, n);
  return add_face(w, n, o);
}

static bool wrap_all(wrap *w)
{
  if (!first_face(w)) return false;
  bool solid = false; /* not all in the plane of the first face */
  for (int i = 0; i < w->n && !solid; i++) {
    double r[3];
    perp_sub(w->p + 3 * i, w->p + 3 * w->loop[0], r);
    solid = perp_dot(3, r, w->normal) < -4 * w->eps;
  }
  if (!solid) return false;
  for (int f = 0; f < w->n_faces; f++)
    for (int k = w->start[f]; k < w->start[f + 1]; k++) {
      int a = w->loop[k], b = w->loop[k + 1 < w->start[f + 1] ? k + 1 : w->start[f]];
      if (has_half(w, b, a)) continue;
      double e[3], m[3], n[3];
      perp_sub(w->p + 3 * b, w->p + 3 * a, e);
      double len = perp_norm(e);
      for (int i = 0; i < 3; i++) e[i] /= len;
      perp_cross(w->normal + 3 * f, e, m); /* towards the inside of the face */
      turn_plane(w, w->p + 3 * a, w->normal + 3 * f, m, n);
      if (!add_face(w, n, w->p + 3 * a)) return false;
    }
  return true;
}

/* distinct points, centred coordinates; returns their number */
static int hull_distinct(int dim, const double *points, int n, double *p, double *scale)
{
  double lo[3] = { 0 }, hi[3] = { 0 };
  int m = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < dim; k++) {
      double x = points[3 * i + k];
      lo[k] = i == 0 ? x : fmin(lo[k], x);
      hi[k] = i == 0 ? x : fmax(hi[k], x);
    }
  *scale = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
  for (int i = 0; i < n; i++) {
    double q[3] = { points[3 * i], points[3 * i + 1], dim == 3 ? points[3 * i + 2] : 0 };
    bool old = false;
    for (int j = 0; j < m && !old; j++) {
      double r[3];
      perp_sub(q, p + 3 * j, r);
      old = perp_norm(r) <= 4 * EPS * *scale;
    }
    if (!old) memcpy(p + 3 * m++, q, sizeof q);
  }
  return m;
}

static perp_status hull_of(perp_ctx *ctx, int dim, wrap *w, double *p, const char *who,
                           perp_hull **out)
{
  if (dim == 2) {
    for (int i = 0; i < w->n; i++) {
      w->flat[2 * i] = p[3 * i];
      w->flat[2 * i + 1] = p[3 * i + 1];
      w->index[i] = i;
    }
    int m = hull_hull2(w->flat, w->n, w->index, w->eps, w->ring);
    if (m < 3) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its vertices lie on a line", who);
    if (m > PERP_HULL_EDGES_MAX)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its hull has %d sides, %d is the limit", who, m,
                       PERP_HULL_EDGES_MAX);
    for (int k = 0; k < m; k++) {
      w->loop[2 * k] = w->ring[k];
      w->loop[2 * k + 1] = w->ring[(k + 1) % m];
      w->start[k + 1] = 2 * k + 2;
    }
    w->n_faces = m;
    w->n_half = 2 * m;
  } else if (!wrap_all(w)) {
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: no convex hull (vertices on a plane or almost so, more than %d edges, or a face "
        "of more than %d)",
        who, PERP_HULL_EDGES_MAX, PERP_FACE_MAX);
  }
  /* the vertices that the hull uses, in the order given */
  int used = 0;
  for (int i = 0; i < w->n; i++) w->index[i] = -1;
  for (int k = 0; k < w->n_half; k++) w->index[w->loop[k]] = 0;
  for (int i = 0; i < w->n; i++) {
    if (w->index[i] < 0) continue;
    memmove(p + 3 * used, p + 3 * i, 3 * sizeof *p);
    w->index[i] = used++;
  }
  for (int k = 0; k < w->n_half; k++) w->loop[k] = w->index[w->loop[k]];
  return hull_assemble(ctx, dim, p, used, w->start, w->loop, w->n_faces, who, out);
}

perp_status perp_hull_create(perp_ctx *ctx, int dim, const double *points, int n, const char *who,
                             perp_hull **out)
{
  *out = NULL;
  int half = 2 * (PERP_HULL_EDGES_MAX + 1) + 2 * n, faces = 2 * n + 2;
  double *reals = malloc((size_t)(3 * n + 2 * n + 3 * faces) * sizeof *reals);
  int *ints = malloc((size_t)(half + faces + 1 + 3 * n + 4) * sizeof *ints);
  perp_status status = PERP_ERR_NOMEM;
  if (reals == NULL || ints == NULL) {
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for its hull", who);
  } else {
    wrap w = { .p = reals, .flat = reals + 3 * n, .normal = reals + 5 * n };
    double scale;
    w.loop = ints;
    w.start = w.loop + half;
    w.index = w.start + faces + 1;
    w.ring = w.index + n;
    w.start[0] = 0;
    w.n = hull_distinct(dim, points, n, reals, &scale);
    w.eps = EPS * scale;
    status = hull_of(ctx, dim, &w, reals, who, out);
  }
  free(reals);
  free(ints);
  return status;
}
