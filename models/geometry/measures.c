/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What meshes and height fields have alike: their memory, normals, the triangles at each vertex,
 * facets, bounds. */
#include "models/geometry/mesh.h"

#include <string.h>

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
  for (int k = 0; k < 3 * mesh->n_triangles; k++) mesh->star[mesh->tri[k]]++;
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
  for (int t = 0; t < mesh->n_triangles; t++)
    if (!mesh_normal(mesh, t))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: triangle %d (vertices %d, %d, %d) has no area: remove it", who, t,
                       mesh->tri[3 * t], mesh->tri[3 * t + 1], mesh->tri[3 * t + 2]);
  mesh_stars(mesh);
  for (int t = 0; t < mesh->n_triangles; t++) mesh->facet[t] = t;
  for (int t = 0; t < mesh->n_triangles; t++)
    for (int k = 0; k < 3; k++) {
      const int other = perp_mesh_across(mesh, t, k);
      double x[3];
      if (other < t) continue;
      perp_cross(mesh->n + 3 * t, mesh->n + 3 * other, x);
      if (perp_dot(3, x, x) > MESH_COPLANAR * MESH_COPLANAR) continue;
      const int a = mesh_root(mesh->facet, t), b = mesh_root(mesh->facet, other);
      mesh->facet[a < b ? b : a] = a < b ? a : b;
    }
  for (int t = 0; t < mesh->n_triangles; t++) mesh->facet[t] = mesh_root(mesh->facet, t);
  perp_mesh_bounds(mesh);
  return PERP_OK;
}
