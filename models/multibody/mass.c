/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass properties of solids of uniform density (Vondrak 2005, section 5.1.1), about the centre
 * of mass.
 *
 * A closed triangulated surface is the signed sum of the tetrahedra (o, a, b, c) over its
 * triangles, o any point.  For one of them, with coordinates relative to o and D = det(a, b, c),
 *
 *      volume = D / 6,   first moment = D / 24 (a + b + c),
 *      second moment  int x x' = D / 120 (a a' + b b' + c c' + (a + b + c)(a + b + c)'),
 *
 * and the inertia tensor is tr(S) E - S of the second moment S about the centroid.
 *
 * The tensor: Vondrak 2005, eq. 5.13; of particles it would be Cline 2002, eq. 2.13. */
#include "models/geometry/kinematics.h"
#include "models/multibody/model.h"
#include "models/geometry/shapes_private.h"

#include <stdlib.h>
#include <string.h>

static perp_mass mass_diagonal(double m, double ixx, double iyy, double izz)
{
  return (perp_mass){ m, { ixx, 0, 0, 0, iyy, 0, 0, 0, izz } };
}

perp_mass perp_mass_box(double m, double a, double b, double c)
{
  return mass_diagonal(m, m * (b * b + c * c) / 12, m * (a * a + c * c) / 12,
                       m * (a * a + b * b) / 12);
}

perp_mass perp_mass_sphere(double m, double r)
{
  double i = 0.4 * m * r * r;
  return mass_diagonal(m, i, i, i);
}

perp_mass perp_mass_cylinder(double m, double r, double length)
{
  double transverse = m * (3 * r * r + length * length) / 12;
  return mass_diagonal(m, transverse, transverse, 0.5 * m * r * r);
}

perp_mass perp_mass_capsule(double m, double r, double length)
{
  /* cylinder and two half balls share the mass by volume, r^2 length : 4/3 r^3; the centre of
   * mass of a half ball is 3/8 r from its plane */
  double balls = 4 * r / (3 * length + 4 * r) * m, barrel = m - balls;
  double axial = (0.5 * barrel + 0.4 * balls) * r * r;
  double transverse = barrel * (3 * r * r + length * length) / 12 +
                      balls * (0.4 * r * r + 0.25 * length * length + 0.375 * length * r);
  return mass_diagonal(m, transverse, transverse, axial);
}

typedef struct edge {
  int from, to;
} edge;

static int edge_order(const void *pa, const void *pb)
{
  const edge *a = pa, *b = pb;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

/* closed and consistently oriented: each directed edge once, with its reverse */
static perp_status check_surface(perp_ctx *ctx, const int *triangles, int n)
{
  int nmemb = 3 * n;
  edge *edges = malloc((size_t)nmemb * sizeof *edges);
  if (edges == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "polytope: no memory for %d edges", nmemb);
  for (int t = 0; t < n; t++)
    for (int k = 0; k < 3; k++)
      edges[3 * t + k] = (edge){ triangles[3 * t + k], triangles[3 * t + (k + 1) % 3] };
  qsort(edges, (size_t)nmemb, sizeof *edges, edge_order);
  edge culprit = { -1, -1 };
  for (int i = 0; i < nmemb && culprit.from < 0; i++) {
    edge reverse = { edges[i].to, edges[i].from };
    bool twice = i > 0 && edge_order(&edges[i - 1], &edges[i]) == 0;
    if (twice || bsearch(&reverse, edges, (size_t)nmemb, sizeof *edges, edge_order) == NULL)
      culprit = edges[i];
  }
  free(edges);
  if (culprit.from < 0) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG, "polytope: the surface is not closed at the edge %d-%d",
                   culprit.from, culprit.to);
}

perp_status perp_mass_polytope(perp_ctx *ctx, double density, const double *vertices,
                               int n_vertices, const int *triangles, int n_triangles,
                               perp_mass *mass, double centroid[3])
{
  if (!(density > 0) || !isfinite(density))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "polytope: density must be positive: got %g", density);
  if (n_vertices < 4 || n_triangles < 4)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "polytope: %d vertices and %d triangles enclose no volume",
                     n_vertices, n_triangles);
  for (int vertex = 0; vertex < 3 * n_vertices; vertex++)
    if (!isfinite(vertices[vertex]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "polytope: vertex %d is not finite", vertex / 3);
  for (int triangle = 0; triangle < 3 * n_triangles; triangle++)
    if (triangles[triangle] < 0 || triangles[triangle] >= n_vertices)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "polytope: triangle %d refers to vertex %d of %d",
                       triangle / 3, triangles[triangle], n_vertices);
  PERP_TRY(check_surface(ctx, triangles, n_triangles));

  /* relative to the mean vertex: less cancellation for a solid far from the origin */
  double o[3] = { 0 }, size = 0;
  for (int vertex = 0; vertex < 3 * n_vertices; vertex++)
    o[vertex % 3] += vertices[vertex] / n_vertices;
  for (int vertex = 0; vertex < 3 * n_vertices; vertex++)
    size = fmax(size, fabs(vertices[vertex] - o[vertex % 3]));
  double volume = 0, first[3] = { 0 }, second[9] = { 0 };
  for (int t = 0; t < n_triangles; t++) {
    double p[3][3], sum[3], n[3];
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) p[k][i] = vertices[3 * triangles[3 * t + k] + i] - o[i];
    perp_cross(p[1], p[2], n);
    double det = perp_dot(3, p[0], n);
    for (int i = 0; i < 3; i++) sum[i] = p[0][i] + p[1][i] + p[2][i];
    volume += det / 6;
    for (int i = 0; i < 3; i++) first[i] += det / 24 * sum[i];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        second[i + 3 * j] += det / 120 *
                             (p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j] +
                              sum[i] * sum[j]);
  }
  if (!(volume > 1e-12 * size * size * size))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "polytope: the volume is %g: the body is flat, or its triangles are inside out", volume);
  double c[3], trace = 0;
  for (int i = 0; i < 3; i++) {
    c[i] = first[i] / volume;
    centroid[i] = o[i] + c[i];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      second[i + 3 * j] = density * (second[i + 3 * j] - volume * c[i] * c[j]);
  for (int i = 0; i < 3; i++) trace += second[4 * i];
  mass->mass = density * volume;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      mass->inertia[i + 3 * j] = (i == j ? trace : 0) -
                                 0.5 * (second[i + 3 * j] + second[j + 3 * i]);
  return PERP_OK;
}

/* sums over edges of the triangles (0, a, b) */
void perp_polygon_moments(int n, const double *c, double *area, double centroid[2], double *polar)
{
  double A = 0, sx = 0, sy = 0, J = 0;
  const double x0 = c[0], y0 = c[1]; /* relative to a corner, so that far polygons lose nothing */
  for (int i = 0; i < n; i++) {
    const double *a = c + 2 * i, *b = c + 2 * ((i + 1) % n);
    const double ax = a[0] - x0, ay = a[1] - y0, bx = b[0] - x0, by = b[1] - y0;
    const double D = ax * by - ay * bx;
    A += D / 2;
    sx += D / 6 * (ax + bx);
    sy += D / 6 * (ay + by);
    J += D / 12 * (ax * ax + ax * bx + bx * bx + ay * ay + ay * by + by * by);
  }
  sx /= A, sy /= A;
  *area = A;
  centroid[0] = x0 + sx;
  centroid[1] = y0 + sy;
  *polar = J - A * (sx * sx + sy * sy);
}

perp_status perp_mass_hull(perp_ctx *ctx, double density, const double *vertices, int n_vertices,
                           perp_mass *mass, double centroid[3])
{
  perp_hull *hull;
  PERP_TRY(perp_hull_create(ctx, 3, vertices, 3, n_vertices, "polytope", &hull));
  int n = 0, *t = malloc(3 * (size_t)hull->n_half * sizeof *t); /* fans of the faces */
  for (int face = 0; t != NULL && face < hull->n_faces; face++)
    for (int k = hull->start[face] + 1; k + 1 < hull->start[face + 1]; k++) {
      const int corner[3] = { hull->loop[hull->start[face]], hull->loop[k], hull->loop[k + 1] };
      memcpy(t + 3 * n++, corner, sizeof corner);
    }
  const perp_status status = t == NULL ? PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a polytope")
                                       : perp_mass_polytope(ctx, density, hull->v, hull->n_vertices,
                                                            t, n, mass, centroid);
  free(t);
  free(hull);
  return status;
}
