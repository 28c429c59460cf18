/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Static surfaces of triangles: meshes and height fields, and which of their triangles are near a
 * box.
 *
 * A mesh is the set of the points of its triangles: a surface without thickness, with two sides,
 * open or closed, and nothing is inside.  A height field is solid: the points below its surface
 * down to `depth` under it.  Both are taken apart into convex pieces, one for each triangle: the
 * triangle itself, or the prism under it. */
#ifndef PERP_MESH_H
#define PERP_MESH_H

#include "models/geometry/kinematics.h"
#include "solvers/core/core.h"

enum { PERP_MESH_TRIANGLES_MAX = 1 << 24, PERP_MESH_LEAF = 4 };

typedef struct perp_mesh_node {
  double lo[3], hi[3];
  int first, n; /* triangles order[first ... first + n - 1]; n = 0: inner node, whose children are
                   the next node and `first` */
} perp_mesh_node;

typedef struct perp_mesh {
  int n_vertices, n_triangles;
  double *v;       /* [3 n_vertices] */
  int *tri;        /* [3 n_triangles] counter-clockwise about the normal */
  double *n;       /* [3 n_triangles] unit normals */
  int *star, *fan; /* triangles at vertex i: fan[star[i] ... star[i + 1] - 1] */
  int *facet;      /* [n_triangles] the first triangle of those in one plane that edges connect */
  double lo[3], hi[3]; /* bounds */
  /* mesh */
  int n_nodes, *order;
  perp_mesh_node *node;
  /* height field; frame of the grid: x = R x_grid + c */
  bool field;
  int grid[2];
  double spacing[2], depth, R[9], c[3], low, high;
} perp_mesh;

/* n_triangles triples of numbers of n_vertices points [3 each].  PERP_ERR_ARG: a number that is
 * none, a triangle without an area, a point that is not finite.  free() destroys it.  O(n log n).
 */
perp_status perp_mesh_create(perp_ctx *ctx, const double *vertices, int n_vertices,
                             const int *triangles, int n_triangles, const char *who,
                             perp_mesh **out);
/* Heights h[i + nx j] along z at x = i spacing[0], y = j spacing[1].  The cell between (i, j) and
 * (i + 1, j + 1) is two triangles with the diagonal between these two corners.  depth: 0 takes the
 * longer side of the grid. */
perp_status perp_mesh_field(perp_ctx *ctx, const double *heights, const int grid[2],
                            const double spacing[2], double depth, const char *who,
                            perp_mesh **out);
/* x -> R x + c, once, before anything is asked. */
void perp_mesh_move(perp_mesh *mesh, const double R[9], const double c[3]);
/* Calls visit for each triangle whose piece may meet the box lo ... hi, in an order that is always
 * the same; false ends it.  Mesh: O(log n + triangles near); height field: O(cells below the box).
 */
typedef bool perp_mesh_visit(void *user, int triangle);
void perp_mesh_near(const perp_mesh *mesh, const double lo[3], const double hi[3],
                    perp_mesh_visit *visit, void *user);
/* Triangle at the other side of the edge from corner k of triangle t to the next one; -1: none.  Of
 * several the first. */
int perp_mesh_across(const perp_mesh *mesh, int t, int k);

/* ---- measures of triangles; height fields ---- */

void perp_mesh_layout(void *mesh, perp_arena *arena);
/* Normals, stars, facets and bounds, of vertices and triangles. */
perp_status perp_mesh_measure(perp_ctx *ctx, perp_mesh *mesh, const char *who);
void perp_mesh_bounds(perp_mesh *mesh);
void perp_field_near(const perp_mesh *mesh, const double lo[3], const double hi[3],
                     perp_mesh_visit *visit, void *user);

#endif
