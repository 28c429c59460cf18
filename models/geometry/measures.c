/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What meshes and height fields have alike: their memory, normals, the triangles at each vertex,
 * facets, bounds. */
#include "models/geometry/mesh.h"

#include <string.h>

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

void perp_mesh_bounds(perp_mesh *m)
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
                       "%s: triangle %d (vertices %d, %d, %d) has no area: remove it", who, t,
                       m->tri[3 * t], m->tri[3 * t + 1], m->tri[3 * t + 2]);
  mesh_stars(m);
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
  perp_mesh_bounds(m);
  return PERP_OK;
}
