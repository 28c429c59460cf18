/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triangles with their neighbours, and a tree of boxes over them: split at the median of the centres along the longest
 * side (Ericson 2005, section 6.2). */
#include "models/mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

enum { MESH_DEPTH_MAX = 64 };
static const double MESH_FLAT = 1e-13; /* area of a triangle over the square of its longest edge */
static const double MESH_COPLANAR = 1e-9; /* sine between triangles that are one facet */

void perp_mesh_layout(void *mesh, perp_arena *a)
{
  perp_mesh *m = mesh;
  const size_t nv = (size_t)m->n_vertices, nt = (size_t)m->n_triangles;
  m->v = PERP_CARVE(a, double, 3 * nv);
  m->n = PERP_CARVE(a, double, 3 * nt);
  m->tri = PERP_CARVE(a, int, 3 * nt);
  m->star = PERP_CARVE(a, int, nv + 1);
  m->fan = PERP_CARVE(a, int, 3 * nt);
  m->facet = PERP_CARVE(a, int, nt);
  if (m->field) return;
  m->order = PERP_CARVE(a, int, nt);
  m->node = PERP_CARVE(a, perp_mesh_node, 2 * nt);
}

/* ---- measures ------------------------------------------------------------------------------------ */

static bool mesh_normal(perp_mesh *m, int t)
{
  const int *c = m->tri + 3 * t;
  double u[3], w[3], x[3], longest = 0;
  for (int i = 0; i < 3; i++) {
    u[i] = m->v[3 * c[1] + i] - m->v[3 * c[0] + i];
    w[i] = m->v[3 * c[2] + i] - m->v[3 * c[0] + i];
    x[i] = w[i] - u[i];
  }
  longest = fmax(perp_dot(3, u, u), fmax(perp_dot(3, w, w), perp_dot(3, x, x)));
  perp_cross(u, w, x);
  const double area = sqrt(perp_dot(3, x, x));
  if (!(area > MESH_FLAT * longest)) return false;
  for (int i = 0; i < 3; i++) m->n[3 * t + i] = x[i] / area;
  return true;
}

static void mesh_stars(perp_mesh *m)
{
  memset(m->star, 0, (size_t)(m->n_vertices + 1) * sizeof *m->star);
  for (int k = 0; k < 3 * m->n_triangles; k++) m->star[m->tri[k]]++;
  for (int i = 0, sum = 0; i <= m->n_vertices; i++) {
    sum += m->star[i];
    m->star[i] = sum;
  }
  for (int k = 3 * m->n_triangles - 1; k >= 0; k--) m->fan[--m->star[m->tri[k]]] = k / 3;
}

int perp_mesh_across(const perp_mesh *m, int t, int k)
{
  const int a = m->tri[3 * t + k], b = m->tri[3 * t + (k + 1) % 3];
  for (int l = m->star[a]; l < m->star[a + 1]; l++) {
    const int *c = m->tri + 3 * m->fan[l];
    if (m->fan[l] != t && (c[0] == b || c[1] == b || c[2] == b)) return m->fan[l];
  }
  return -1;
}

static int mesh_root(int *facet, int t)
{
  while (facet[t] != t) t = facet[t] = facet[facet[t]];
  return t;
}

static void mesh_facets(perp_mesh *m)
{
  for (int t = 0; t < m->n_triangles; t++) m->facet[t] = t;
  for (int t = 0; t < m->n_triangles; t++)
    for (int k = 0; k < 3; k++) {
      const int other = perp_mesh_across(m, t, k);
      double x[3];
      if (other < t) continue;
      perp_cross(m->n + 3 * t, m->n + 3 * other, x);
      if (perp_dot(3, x, x) > MESH_COPLANAR * MESH_COPLANAR) continue;
      const int a = mesh_root(m->facet, t), b = mesh_root(m->facet, other);
      m->facet[a < b ? b : a] = a < b ? a : b;
    }
  for (int t = 0; t < m->n_triangles; t++) m->facet[t] = mesh_root(m->facet, t);
}

static void mesh_bounds(perp_mesh *m)
{
  for (int k = 0; k < 3; k++) m->lo[k] = HUGE_VAL, m->hi[k] = -HUGE_VAL;
  for (int i = 0; i < 3 * m->n_vertices; i++) {
    m->lo[i % 3] = fmin(m->lo[i % 3], m->v[i]);
    m->hi[i % 3] = fmax(m->hi[i % 3], m->v[i]);
  }
  for (int k = 0; k < 3 && m->field; k++) { /* the solid below */
    m->lo[k] -= fmax(0, m->depth * m->R[6 + k]);
    m->hi[k] += fmax(0, -m->depth * m->R[6 + k]);
  }
}

perp_status perp_mesh_measure(perp_ctx *ctx, perp_mesh *m, const char *who)
{
  for (int t = 0; t < m->n_triangles; t++)
    if (!mesh_normal(m, t))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d (vertices %d, %d, %d) has no area: leave it out", who, t,
                       m->tri[3 * t], m->tri[3 * t + 1], m->tri[3 * t + 2]);
  mesh_stars(m);
  mesh_facets(m);
  mesh_bounds(m);
  return PERP_OK;
}

/* ---- tree ---------------------------------------------------------------------------------------- */

static double mesh_centre(const perp_mesh *m, int t, int axis)
{
  const int *c = m->tri + 3 * t;
  return m->v[3 * c[0] + axis] + m->v[3 * c[1] + axis] + m->v[3 * c[2] + axis];
}

/* is a before b along an axis, ties by number */
static bool mesh_before(const perp_mesh *m, int a, int b, int axis)
{
  const double x = mesh_centre(m, a, axis), y = mesh_centre(m, b, axis);
  return x < y || (x == y && a < b);
}

/* partial order: the first `half` of n are those before the others (Hoare's selection, pivots from the middle) */
static void mesh_select(const perp_mesh *m, int *order, int n, int half, int axis)
{
  int low = 0, high = n - 1;
  while (low < high) {
    const int pivot = order[low + (high - low) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (mesh_before(m, order[i], pivot, axis)) i++;
      while (mesh_before(m, pivot, order[j], axis)) j--;
      if (i > j) break;
      const int keep = order[i];
      order[i++] = order[j];
      order[j--] = keep;
    }
    if (half <= j)
      high = j;
    else if (half >= i)
      low = i;
    else
      return;
  }
}

static void mesh_node_bounds(const perp_mesh *m, perp_mesh_node *node, int first, int n)
{
  for (int k = 0; k < 3; k++) node->lo[k] = HUGE_VAL, node->hi[k] = -HUGE_VAL;
  for (int i = first; i < first + n; i++)
    for (int c = 0; c < 3; c++) {
      const double *v = m->v + 3 * m->tri[3 * m->order[i] + c];
      for (int k = 0; k < 3; k++) {
        node->lo[k] = fmin(node->lo[k], v[k]);
        node->hi[k] = fmax(node->hi[k], v[k]);
      }
    }
}

/* halves: the recursion is as deep as the logarithm of the number of triangles */
static void mesh_split(perp_mesh *m, int first, int n)
{
  const int at = m->n_nodes++;
  mesh_node_bounds(m, &m->node[at], first, n);
  m->node[at].first = first;
  m->node[at].n = n;
  if (n <= PERP_MESH_LEAF) return;
  int axis = 0;
  double extent[3];
  for (int k = 0; k < 3; k++) extent[k] = m->node[at].hi[k] - m->node[at].lo[k];
  if (extent[1] > extent[axis]) axis = 1;
  if (extent[2] > extent[axis]) axis = 2;
  mesh_select(m, m->order + first, n, n / 2, axis);
  mesh_split(m, first, n / 2);
  m->node[at].first = m->n_nodes;
  m->node[at].n = 0;
  mesh_split(m, first + n / 2, n - n / 2);
}

static bool mesh_apart(const perp_mesh_node *node, const double lo[3], const double hi[3])
{
  for (int k = 0; k < 3; k++)
    if (node->lo[k] > hi[k] || node->hi[k] < lo[k]) return true;
  return false;
}

void perp_mesh_near(const perp_mesh *m, const double lo[3], const double hi[3],
                    perp_mesh_visit *visit, void *user)
{
  if (m->field) {
    perp_field_near(m, lo, hi, visit, user);
    return;
  }
  int stack[MESH_DEPTH_MAX], depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const int at = stack[--depth];
    const perp_mesh_node *node = &m->node[at];
    if (mesh_apart(node, lo, hi)) continue;
    for (int i = 0; i < node->n; i++)
      if (!visit(user, m->order[node->first + i])) return;
    if (node->n > 0) continue;
    stack[depth++] = node->first;
    stack[depth++] = at + 1;
  }
}

/* ---- create -------------------------------------------------------------------------------------- */

static perp_status mesh_check(perp_ctx *ctx, const double *vertices, int n_vertices,
                              const int *triangles, int n_triangles, const char *who)
{
  if (n_vertices < 3 || n_triangles < 1 || vertices == NULL || triangles == NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: a mesh needs vertices (at least 3) and triangles (at least 1): got %d, %d", who,
        n_vertices, n_triangles);
  if (n_triangles > PERP_MESH_TRIANGLES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: %d triangles, %d is the limit: make several meshes of it", who,
                     n_triangles, PERP_MESH_TRIANGLES_MAX);
  for (int i = 0; i < 3 * n_vertices; i++)
    if (!isfinite(vertices[i]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: vertex %d is not finite", who, i / 3);
  for (int k = 0; k < 3 * n_triangles; k++)
    if (triangles[k] < 0 || triangles[k] >= n_vertices)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d names vertex %d: vertices have numbers from 0 to %d", who,
                       k / 3, triangles[k], n_vertices - 1);
  return PERP_OK;
}

perp_status perp_mesh_create(perp_ctx *ctx, const double *vertices, int n_vertices,
                             const int *triangles, int n_triangles, const char *who,
                             perp_mesh **out)
{
  *out = NULL;
  PERP_TRY(mesh_check(ctx, vertices, n_vertices, triangles, n_triangles, who));
  perp_mesh like = { .n_vertices = n_vertices, .n_triangles = n_triangles };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, perp_mesh_layout, &ws));
  perp_mesh *m = ws;
  memcpy(m->v, vertices, (size_t)n_vertices * 3 * sizeof *vertices);
  memcpy(m->tri, triangles, (size_t)n_triangles * 3 * sizeof *triangles);
  const perp_status status = perp_mesh_measure(ctx, m, who);
  if (status != PERP_OK) {
    free(m);
    return status;
  }
  for (int t = 0; t < n_triangles; t++) m->order[t] = t;
  mesh_split(m, 0, n_triangles);
  *out = m;
  return PERP_OK;
}

static void mesh_turn(const double R[9], double *x)
{
  double y[3];
  perp_turn(3, R, x, y);
  memcpy(x, y, sizeof y);
}

void perp_mesh_move(perp_mesh *m, const double R[9], const double c[3])
{
  for (int i = 0; i < m->n_vertices; i++) {
    mesh_turn(R, m->v + 3 * i);
    for (int k = 0; k < 3; k++) m->v[3 * i + k] += c[k];
  }
  for (int t = 0; t < m->n_triangles; t++) mesh_turn(R, m->n + 3 * t);
  if (m->field) {
    memcpy(m->R, R, sizeof m->R);
    memcpy(m->c, c, sizeof m->c);
  } else {
    m->n_nodes = 0;
    mesh_split(m, 0, m->n_triangles);
  }
  mesh_bounds(m);
}
