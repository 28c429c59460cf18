/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex hulls of meshes, with a bound on their corners. */
#include "experiments/import/robot_mesh.h"

#include "models/geometry/shapes_private.h"

#include <stdlib.h>
#include <string.h>

/* How far a point is beyond the farthest face. */
static double hull_beyond(const perp_hull *hull, const double x[3], int *face)
{
  double most = -HUGE_VAL;
  for (int f = 0; f < hull->n_faces; f++) {
    const double s = perp_dot(3, hull->n + 3 * f, x) - hull->d[f];
    if (s > most) most = s, *face = f;
  }
  return most;
}

/* Numbers of the vertices of the mesh that the corners of a hull are: the first with that place. */
static int hull_numbers(const perp_robot_mesh *mesh, const perp_hull *hull, const int *from, int n,
                        int *index)
{
  int count = 0;
  for (int vertex = 0; vertex < hull->n_vertices; vertex++) {
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < n && least > 0; i++) {
      double d[3];
      perp_sub(hull->v + 3 * vertex, mesh->vertex + 3 * (from != NULL ? from[i] : i), d);
      const double s = perp_norm(d);
      if (s < least) least = s, best = from != NULL ? from[i] : i;
    }
    index[count++] = best;
  }
  return count;
}

/* The hull of some vertices of a mesh; NULL: they lie in a plane, or their hull does not close. */
static perp_hull *hull_of(const perp_robot_mesh *mesh, const int *which, int n)
{
  perp_ctx ctx;
  perp_hull *hull = NULL;
  perp_ctx_init(&ctx);
  double *p = perp_xalloc(3 * (size_t)n + 1, sizeof *p);
  for (int i = 0; i < n; i++)
    memcpy(p + 3 * i, mesh->vertex + 3 * (which != NULL ? which[i] : i), 3 * sizeof *p);
  if (n < 4 || perp_hull_create(&ctx, 3, p, 3, n, "mesh", &hull) != PERP_OK) hull = NULL;
  free(p);
  return hull;
}

/* Farthest vertices along many directions, evenly spread: the first hull. */
static int hull_first(const perp_robot_mesh *mesh, int most, int *which)
{
  int n = 0;
  const double golden = M_PI * (3 - sqrt(5));
  for (int k = 0; k < most; k++) {
    const double z = 1 - (2 * k + 1.0) / most, r = sqrt(1 - z * z);
    const double d[3] = { r * cos(golden * k), r * sin(golden * k), z };
    int best = 0;
    double high = -HUGE_VAL;
    for (int i = 0; i < mesh->n; i++) {
      const double s = perp_dot(3, d, mesh->vertex + 3 * i);
      if (s > high) high = s, best = i;
    }
    int i = 0;
    while (i < n && which[i] != best) i++;
    if (i == n) which[n++] = best;
  }
  return n;
}

/* Adds the farthest vertex beyond each face, those farthest first, until `most` are taken; false:
 * none is beyond. */
static bool hull_grow(const perp_robot_mesh *mesh, const perp_hull *hull, int most, int *which,
                      int *n, double *off)
{
  double *far = perp_xalloc((size_t)hull->n_faces, sizeof *far), extent = 0;
  int *who = perp_xalloc((size_t)hull->n_faces, sizeof *who), face = 0;
  *off = 0;
  for (int vertex = 0; vertex < hull->n_vertices; vertex++)
    extent = fmax(extent, perp_norm(hull->v + 3 * vertex));
  for (int i = 0; i < mesh->n; i++) {
    const double s = hull_beyond(hull, mesh->vertex + 3 * i, &face);
    *off = fmax(*off, s);
    if (s > fmax(far[face], 1e-9 * extent)) far[face] = s, who[face] = i;
  }
  const int before = *n;
  while (*n < most) {
    int best = -1;
    for (int f = 0; f < hull->n_faces; f++)
      if (far[f] > 0 && (best < 0 || far[f] > far[best])) best = f;
    if (best < 0) break;
    which[(*n)++] = who[best];
    far[best] = 0;
  }
  free(far);
  free(who);
  return *n > before;
}

/* A hull of at most `most` corners; NULL: none was found that closes. */
static int *hull_bounded(perp_robot *robot, const perp_robot_mesh *mesh, int most, int *n,
                         double *off)
{
  perp_hull *hull = NULL;
  int *which = perp_xalloc((size_t)most + 1, sizeof *which), count = 0,
      *index = perp_pool_alloc(&robot->pool, (size_t)most + 1, sizeof *index);
  for (int first = most > 64 ? most / 8 : most; hull == NULL && first >= 8; first /= 2) {
    count = hull_first(mesh, first, which); /* fewer are farther apart, and their hull closes */
    hull = hull_of(mesh, which, count);
  }
  for (int before = count; hull != NULL && hull_grow(mesh, hull, most, which, &count, off);
       before = count) {
    perp_hull *larger = hull_of(mesh, which, count);
    for (int added = (count - before) / 2; larger == NULL && added > 0; added /= 2)
      larger = hull_of(mesh, which, count = before + added);
    if (larger == NULL) break;
    free(hull);
    hull = larger;
  }
  *n = hull != NULL ? hull_numbers(mesh, hull, which, count, index) : 0;
  free(hull);
  free(which);
  return *n > 0 ? index : NULL;
}

int *perp_robot_mesh_hull(perp_robot *robot, const perp_robot_mesh *mesh, int most, int *n,
                          double *off)
{
  perp_hull *hull = mesh->n <= PERP_HULL_VERTICES_MAX ? hull_of(mesh, NULL, mesh->n) : NULL;
  *n = 0;
  *off = 0;
  if (hull != NULL && hull->n_vertices <= most) {
    int *index = perp_pool_alloc(&robot->pool, (size_t)hull->n_vertices + 1, sizeof *index);
    *n = hull_numbers(mesh, hull, NULL, mesh->n, index);
    free(hull);
    return index;
  }
  free(hull);
  if (mesh->n < 4) return NULL;
  for (; most >= 8; most /= 2) { /* its corners alone make a hull again, which has to close */
    int *index = hull_bounded(robot, mesh, most, n, off);
    hull = index != NULL ? hull_of(mesh, index, *n) : NULL;
    free(hull);
    if (hull != NULL) return index;
  }
  *n = 0;
  return NULL;
}
