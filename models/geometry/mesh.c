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
  for (int i = 0; i < 3 * n_vertices; i++)
    if (!isfinite(vertices[i]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: vertex %d is not finite", who, i / 3);
  for (int k = 0; k < 3 * n_triangles; k++)
    if (triangles[k] < 0 || triangles[k] >= n_vertices)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d refers to vertex %d: vertices are numbered from 0 to %d",
                       who, k / 3, triangles[k], n_vertices - 1);
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
  for (int t = 0; t < n_triangles; t++) mesh->order[t] = t;
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
