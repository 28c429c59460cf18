/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes: a tree of boxes over the triangles, split at the median of the centres along the longest
 * side (Ericson 2005, section 6.2). */
#include "models/geometry/mesh.h"
#include <stdlib.h>
#include <string.h>

enum { MESH_DEPTH_MAX = 64 };

/* ---- tree ---- */

static double mesh_centre(const perp_mesh *mesh, int t, int axis)
{
  const int *c = mesh->tri + 3 * t;
  return mesh->v[3 * c[0] + axis] + mesh->v[3 * c[1] + axis] + mesh->v[3 * c[2] + axis];
}

/* is a before b along an axis, ties by number */
static bool mesh_before(const perp_mesh *mesh, int a, int b, int axis)
{
  const double x = mesh_centre(mesh, a, axis), y = mesh_centre(mesh, b, axis);
  return x < y || (x == y && a < b);
}

/* partial order: the first `half` of n are those before the others (Hoare's selection, pivots from
 * the middle) */
static void mesh_select(const perp_mesh *mesh, int *order, int n, int half, int axis)
{
  int low = 0, high = n - 1;
  while (low < high) {
    const int pivot = order[low + (high - low) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (mesh_before(mesh, order[i], pivot, axis)) i++;
      while (mesh_before(mesh, pivot, order[j], axis)) j--;
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

static void mesh_node_bounds(const perp_mesh *mesh, perp_mesh_node *node, int first, int n)
{
  for (int k = 0; k < 3; k++) node->lo[k] = HUGE_VAL, node->hi[k] = -HUGE_VAL;
  for (int i = first; i < first + n; i++)
    for (int c = 0; c < 3; c++) {
      const double *v = mesh->v + 3 * mesh->tri[3 * mesh->order[i] + c];
      for (int k = 0; k < 3; k++) {
        node->lo[k] = fmin(node->lo[k], v[k]);
        node->hi[k] = fmax(node->hi[k], v[k]);
      }
    }
}

/* halves: the recursion is as deep as the logarithm of the number of triangles */
static void mesh_split(perp_mesh *mesh, int first, int n)
{
  const int at = mesh->n_nodes++;
  mesh_node_bounds(mesh, &mesh->node[at], first, n);
  mesh->node[at].first = first;
  mesh->node[at].n = n;
  if (n <= PERP_MESH_LEAF) return;
  int axis = 0;
  double extent[3];
  for (int k = 0; k < 3; k++) extent[k] = mesh->node[at].hi[k] - mesh->node[at].lo[k];
  if (extent[1] > extent[axis]) axis = 1;
  if (extent[2] > extent[axis]) axis = 2;
  mesh_select(mesh, mesh->order + first, n, n / 2, axis);
  mesh_split(mesh, first, n / 2);
  mesh->node[at].first = mesh->n_nodes;
  mesh->node[at].n = 0;
  mesh_split(mesh, first + n / 2, n - n / 2);
}

static bool mesh_apart(const perp_mesh_node *node, const double lo[3], const double hi[3])
{
  for (int k = 0; k < 3; k++)
    if (node->lo[k] > hi[k] || node->hi[k] < lo[k]) return true;
  return false;
}

void perp_mesh_near(const perp_mesh *mesh, const double lo[3], const double hi[3],
                    perp_mesh_visit *visit, void *user)
{
  if (mesh->field) {
    perp_field_near(mesh, lo, hi, visit, user);
    return;
  }
  int stack[MESH_DEPTH_MAX], depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const int at = stack[--depth];
    const perp_mesh_node *node = &mesh->node[at];
    if (mesh_apart(node, lo, hi)) continue;
    for (int i = 0; i < node->n; i++)
      if (!visit(user, mesh->order[node->first + i])) return;
    if (node->n > 0) continue;
    stack[depth++] = node->first;
    stack[depth++] = at + 1;
  }
}

/* ---- create ---- */

static perp_status mesh_check(perp_ctx *ctx, const double *vertices, int n_vertices,
                              const int *triangles, int n_triangles, const char *who)
{
  if (n_vertices < 3 || n_triangles < 1 || vertices == NULL || triangles == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a mesh needs at least 3 vertices and 1 triangle: got %d, %d", who,
                     n_vertices, n_triangles);
  if (n_triangles > PERP_MESH_TRIANGLES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: %d triangles exceed the limit of %d: split the mesh", who, n_triangles,
                     PERP_MESH_TRIANGLES_MAX);
  for (int vertex = 0; vertex < 3 * n_vertices; vertex++)
    if (!isfinite(vertices[vertex]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: vertex %d is not finite", who, vertex / 3);
  for (int triangle = 0; triangle < 3 * n_triangles; triangle++)
    if (triangles[triangle] < 0 || triangles[triangle] >= n_vertices)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d refers to vertex %d: vertices are numbered from 0 to %d",
                       who, triangle / 3, triangles[triangle], n_vertices - 1);
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
  perp_mesh *mesh = ws;
  memcpy(mesh->v, vertices, (size_t)n_vertices * 3 * sizeof *vertices);
  memcpy(mesh->tri, triangles, (size_t)n_triangles * 3 * sizeof *triangles);
  const perp_status status = perp_mesh_measure(ctx, mesh, who);
  if (status != PERP_OK) {
    free(mesh);
    return status;
  }
  for (int triangle = 0; triangle < n_triangles; triangle++) mesh->order[triangle] = triangle;
  mesh_split(mesh, 0, n_triangles);
  *out = mesh;
  return PERP_OK;
}

static void mesh_turn(const double R[9], double *x)
{
  double y[3];
  perp_turn(3, R, x, y);
  memcpy(x, y, sizeof y);
}

void perp_mesh_move(perp_mesh *mesh, const double R[9], const double c[3])
{
  for (int i = 0; i < mesh->n_vertices; i++) {
    mesh_turn(R, mesh->v + 3 * i);
    for (int k = 0; k < 3; k++) mesh->v[3 * i + k] += c[k];
  }
  for (int t = 0; t < mesh->n_triangles; t++) mesh_turn(R, mesh->n + 3 * t);
  if (mesh->field) {
    memcpy(mesh->R, R, sizeof mesh->R);
    memcpy(mesh->c, c, sizeof mesh->c);
  } else {
    mesh->n_nodes = 0;
    mesh_split(mesh, 0, mesh->n_triangles);
  }
  perp_mesh_bounds(mesh);
}

/* Height fields: the cells of a grid. */

static perp_status field_check(perp_ctx *ctx, const double *heights, const int grid[2],
                               const double spacing[2], double depth, const char *who)
{
  if (grid[0] < 2 || grid[1] < 2 || heights == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a height field needs at least 2 x 2 points: got %d x %d", who, grid[0],
                     grid[1]);
  if ((int64_t)2 * (grid[0] - 1) * (grid[1] - 1) > PERP_MESH_TRIANGLES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: %d x %d points exceed the limit of %d triangles: split the height field",
                     who, grid[0], grid[1], PERP_MESH_TRIANGLES_MAX);
  for (int k = 0; k < 2; k++)
    if (!(spacing[k] > 0) || !isfinite(spacing[k]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: spacing must be positive: got %g, %g m", who,
                       spacing[0], spacing[1]);
  if (!(depth >= 0) || !isfinite(depth))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: depth must be positive, or 0: got %g m", who, depth);
  for (int i = 0; i < grid[0] * grid[1]; i++)
    if (!isfinite(heights[i]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: height %d of row %d is not finite", who, i % grid[0],
                       i / grid[0]);
  return PERP_OK;
}

perp_status perp_mesh_field(perp_ctx *ctx, const double *heights, const int grid[2],
                            const double spacing[2], double depth, const char *who, perp_mesh **out)
{
  *out = NULL;
  PERP_TRY(field_check(ctx, heights, grid, spacing, depth, who));
  const int nx = grid[0], ny = grid[1];
  perp_mesh like = { .n_vertices = nx * ny,
                     .n_triangles = 2 * (nx - 1) * (ny - 1),
                     .field = true,
                     .grid = { nx, ny },
                     .spacing = { spacing[0], spacing[1] },
                     .depth = depth,
                     .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                     .low = HUGE_VAL,
                     .high = -HUGE_VAL };
  if (depth == 0) like.depth = fmax((nx - 1) * spacing[0], (ny - 1) * spacing[1]);
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, perp_mesh_layout, &ws));
  perp_mesh *mesh = ws;
  for (int i = 0; i < nx * ny; i++) {
    mesh->v[3 * i] = (i % nx) * spacing[0];
    mesh->v[3 * i + 1] = (i / nx) * spacing[1];
    mesh->v[3 * i + 2] = heights[i];
    mesh->low = fmin(mesh->low, heights[i]);
    mesh->high = fmax(mesh->high, heights[i]);
  }
  for (int j = 0, *t = mesh->tri; j + 1 < ny; j++)
    for (int i = 0; i + 1 < nx; i++) {
      const int o = i + nx * j, across = o + nx + 1;
      *t++ = o, *t++ = o + 1, *t++ = across;
      *t++ = o, *t++ = across, *t++ = o + nx;
    }
  const perp_status status = perp_mesh_measure(ctx, mesh, who);
  if (status != PERP_OK) {
    free(mesh);
    return status;
  }
  *out = mesh;
  return PERP_OK;
}

/* cells first ... last along an axis between lo and hi; false: none */
static bool field_cells(double lo, double hi, double spacing, int cells, int *first, int *last)
{
  const double from = floor(lo / spacing - 1e-9), to = floor(hi / spacing + 1e-9);
  if (!(to >= 0) || !(from < cells)) return false;
  *first = from < 0 ? 0 : (int)from;
  *last = to >= cells ? cells - 1 : (int)to;
  return true;
}

void perp_field_near(const perp_mesh *mesh, const double lo[3], const double hi[3],
                     perp_mesh_visit *visit, void *user)
{
  double a[3], b[3]; /* the box in the frame of the grid */
  for (int k = 0; k < 3; k++) {
    const double *axis = mesh->R + 3 * k;
    double middle = 0, half = 0;
    for (int i = 0; i < 3; i++) {
      middle += axis[i] * (0.5 * (lo[i] + hi[i]) - mesh->c[i]);
      half += fabs(axis[i]) * 0.5 * (hi[i] - lo[i]);
    }
    a[k] = middle - half, b[k] = middle + half;
  }
  int x0, x1, y0, y1;
  if (a[2] > mesh->high || b[2] < mesh->low - mesh->depth ||
      !field_cells(a[0], b[0], mesh->spacing[0], mesh->grid[0] - 1, &x0, &x1) ||
      !field_cells(a[1], b[1], mesh->spacing[1], mesh->grid[1] - 1, &y0, &y1))
    return;
  for (int j = y0; j <= y1; j++)
    for (int i = x0; i <= x1; i++)
      for (int k = 0; k < 2; k++)
        if (!visit(user, 2 * (i + (mesh->grid[0] - 1) * j) + k)) return;
}

/* What meshes and height fields have alike: their memory, normals, the triangles at each vertex,
 * facets, bounds. */

static const double MESH_FLAT = 1e-13; /* area of a triangle over the square of its longest edge */
static const double MESH_COPLANAR = 1e-9; /* sine between triangles that are one facet */

void perp_mesh_layout(void *mesh, perp_arena *arena)
{
  perp_mesh *m = mesh;
  const size_t nv = (size_t)m->n_vertices, nt = (size_t)m->n_triangles;
  m->v = PERP_CARVE(arena, double, 3 * nv);
  m->n = PERP_CARVE(arena, double, 3 * nt);
  m->tri = PERP_CARVE(arena, int, 3 * nt);
  m->star = PERP_CARVE(arena, int, nv + 1);
  m->fan = PERP_CARVE(arena, int, 3 * nt);
  m->facet = PERP_CARVE(arena, int, nt);
  if (m->field) return;
  m->order = PERP_CARVE(arena, int, nt);
  m->node = PERP_CARVE(arena, perp_mesh_node, 2 * nt);
}

static bool mesh_normal(perp_mesh *mesh, int t)
{
  const int *c = mesh->tri + 3 * t;
  double u[3], w[3], x[3], longest = 0;
  for (int i = 0; i < 3; i++) {
    u[i] = mesh->v[3 * c[1] + i] - mesh->v[3 * c[0] + i];
    w[i] = mesh->v[3 * c[2] + i] - mesh->v[3 * c[0] + i];
    x[i] = w[i] - u[i];
  }
  longest = fmax(perp_dot(3, u, u), fmax(perp_dot(3, w, w), perp_dot(3, x, x)));
  perp_cross(u, w, x);
  const double area = sqrt(perp_dot(3, x, x));
  if (!(area > MESH_FLAT * longest)) return false;
  for (int i = 0; i < 3; i++) mesh->n[3 * t + i] = x[i] / area;
  return true;
}

static void mesh_stars(perp_mesh *mesh)
{
  memset(mesh->star, 0, (size_t)(mesh->n_vertices + 1) * sizeof *mesh->star);
  for (int triangle = 0; triangle < 3 * mesh->n_triangles; triangle++)
    mesh->star[mesh->tri[triangle]]++;
  for (int i = 0, sum = 0; i <= mesh->n_vertices; i++) {
    sum += mesh->star[i];
    mesh->star[i] = sum;
  }
  for (int k = 3 * mesh->n_triangles - 1; k >= 0; k--)
    mesh->fan[--mesh->star[mesh->tri[k]]] = k / 3;
}

int perp_mesh_across(const perp_mesh *mesh, int t, int k)
{
  const int a = mesh->tri[3 * t + k], b = mesh->tri[3 * t + (k + 1) % 3];
  for (int l = mesh->star[a]; l < mesh->star[a + 1]; l++) {
    const int *c = mesh->tri + 3 * mesh->fan[l];
    if (mesh->fan[l] != t && (c[0] == b || c[1] == b || c[2] == b)) return mesh->fan[l];
  }
  return -1;
}

static int mesh_root(int *facet, int t)
{
  while (facet[t] != t) t = facet[t] = facet[facet[t]];
  return t;
}

void perp_mesh_bounds(perp_mesh *mesh)
{
  for (int k = 0; k < 3; k++) mesh->lo[k] = HUGE_VAL, mesh->hi[k] = -HUGE_VAL;
  for (int i = 0; i < 3 * mesh->n_vertices; i++) {
    mesh->lo[i % 3] = fmin(mesh->lo[i % 3], mesh->v[i]);
    mesh->hi[i % 3] = fmax(mesh->hi[i % 3], mesh->v[i]);
  }
  for (int k = 0; k < 3 && mesh->field; k++) { /* the solid below */
    mesh->lo[k] -= fmax(0, mesh->depth * mesh->R[6 + k]);
    mesh->hi[k] += fmax(0, -mesh->depth * mesh->R[6 + k]);
  }
}

perp_status perp_mesh_measure(perp_ctx *ctx, perp_mesh *mesh, const char *who)
{
  for (int triangle = 0; triangle < mesh->n_triangles; triangle++)
    if (!mesh_normal(mesh, triangle))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d (vertices %d, %d, %d) has no area: remove it", who,
                       triangle, mesh->tri[3 * triangle], mesh->tri[3 * triangle + 1],
                       mesh->tri[3 * triangle + 2]);
  mesh_stars(mesh);
  for (int triangle = 0; triangle < mesh->n_triangles; triangle++) mesh->facet[triangle] = triangle;
  for (int triangle = 0; triangle < mesh->n_triangles; triangle++)
    for (int k = 0; k < 3; k++) {
      const int other = perp_mesh_across(mesh, triangle, k);
      double x[3];
      if (other < triangle) continue;
      perp_cross(mesh->n + 3 * triangle, mesh->n + 3 * other, x);
      if (perp_dot(3, x, x) > MESH_COPLANAR * MESH_COPLANAR) continue;
      const int a = mesh_root(mesh->facet, triangle), b = mesh_root(mesh->facet, other);
      mesh->facet[a < b ? b : a] = a < b ? a : b;
    }
  for (int triangle = 0; triangle < mesh->n_triangles; triangle++)
    mesh->facet[triangle] = mesh_root(mesh->facet, triangle);
  perp_mesh_bounds(mesh);
  return PERP_OK;
}
