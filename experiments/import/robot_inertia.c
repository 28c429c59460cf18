/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closed forms of the solids, the surface integral of a mesh, sums of solids.
 *
 * Second moments S = integral of x x' about the centre; the inertia is tr(S) 1 - S. */
#include "experiments/import/robot_inertia.h"

#include "experiments/base/memory.h"
#include "models/geometry/kinematics.h"
#include "models/geometry/shapes_private.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

enum { POLAR = 96, AROUND = 96 }; /* points of the quadrature on an ellipsoid */

/* ---- closed forms ---- */

static void inertia_diagonal(perp_robot_solid *solid, double x, double y, double z)
{
  solid->inertia[0] = x;
  solid->inertia[4] = y;
  solid->inertia[8] = z;
}

/* A cylinder of radius r, half length h; caps: hemispheres, or discs of a shell. */
static void inertia_round(perp_robot_solid *solid, double r, double h, bool capsule, bool shell)
{
  const double r2 = r * r, side = shell ? 4 * M_PI * r * h : 2 * M_PI * r2 * h;
  const double ends = capsule ? (shell ? 4 * M_PI * r2 : 4 * M_PI * r2 * r / 3)
                              : (shell ? 2 * M_PI * r2 : 0);
  double along = side * r2 * (shell ? 1 : 0.5),
         across = side * (r2 * (shell ? 0.5 : 0.25) + h * h / 3);
  if (capsule && shell) {
    along += ends * 2 * r2 / 3;
    across += ends * (5 * r2 / 12 + (h + r / 2) * (h + r / 2));
  } else if (capsule) {
    along += ends * 2 * r2 / 5;
    across += ends * (2 * r2 / 5 + h * h + 0.75 * h * r);
  } else if (shell) {
    along += ends * r2 / 2;
    across += ends * (r2 / 4 + h * h);
  }
  solid->volume = side + ends;
  inertia_diagonal(solid, across, across, along);
}

static void inertia_box(perp_robot_solid *solid, const double half[3], bool shell)
{
  double S[3], area[3], total = 0;
  if (!shell) {
    solid->volume = 8 * half[0] * half[1] * half[2];
    for (int i = 0; i < 3; i++) S[i] = solid->volume * half[i] * half[i] / 3;
  } else {
    for (int i = 0; i < 3; i++) total += area[i] = 8 * half[(i + 1) % 3] * half[(i + 2) % 3];
    solid->volume = total;
    for (int i = 0; i < 3; i++) S[i] = (area[i] + (total - area[i]) / 3) * half[i] * half[i];
  }
  inertia_diagonal(solid, S[1] + S[2], S[0] + S[2], S[0] + S[1]);
}

/* Points (a s cos p, b s sin p, c u), s^2 = 1 - u^2: the integrand is smooth in u and periodic in
 * p, so that Gauss points and equal angles converge fast. */
static void inertia_ellipsoid(perp_robot_solid *solid, const double half[3], bool shell)
{
  double S[3] = { 0 };
  const double a = half[0], b = half[1], c = half[2];
  if (!shell) {
    solid->volume = 4 * M_PI * a * b * c / 3;
    for (int i = 0; i < 3; i++) S[i] = solid->volume * half[i] * half[i] / 5;
  } else {
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* it aborts without memory */
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(POLAR);
    gsl_set_error_handler(handler);
    if (table == NULL) perp_memory_out();
    for (size_t k = 0; k < POLAR; k++) {
      double u, weight;
      gsl_integration_glfixed_point(-1, 1, k, &u, &weight, table);
      const double s2 = 1 - u * u;
      for (int i = 0; i < AROUND; i++) {
        const double p = 2 * M_PI * (i + 0.5) / AROUND, x = cos(p), y = sin(p);
        const double area = weight * 2 * M_PI / AROUND *
                            sqrt(s2 * (b * b * c * c * x * x + a * a * c * c * y * y) +
                                 a * a * b * b * u * u);
        solid->volume += area;
        S[0] += area * a * a * s2 * x * x;
        S[1] += area * b * b * s2 * y * y;
        S[2] += area * c * c * u * u;
      }
    }
    gsl_integration_glfixed_table_free(table);
  }
  inertia_diagonal(solid, S[1] + S[2], S[0] + S[2], S[0] + S[1]);
}

/* ---- meshes ---- */

/* From second moments about the point com to an inertia. */
static void inertia_from_moments(const double S[9], double inertia[9])
{
  const double trace = S[0] + S[4] + S[8];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      inertia[i + 3 * j] = (i == j ? trace : 0) - (S[i + 3 * j] + S[j + 3 * i]) / 2;
}

/* Twice the area vector of a triangle. */
static void inertia_normal(const double *const p[3], double n[3])
{
  double u[3], v[3];
  for (int i = 0; i < 3; i++) u[i] = p[1][i] - p[0][i], v[i] = p[2][i] - p[0][i];
  perp_cross(u, v, n);
}

/* Volumes of the tetrahedra from `apex` to all triangles, and their moments; shell: areas of the
 * triangles.  sized: a volume counts by its size, whichever way its triangle is turned. */
static void inertia_sum(int n_faces, const int *face, const double *vertex, const double apex[3],
                        bool shell, bool sized, double *volume, double com[3], double S[9])
{
  *volume = 0;
  memset(com, 0, 3 * sizeof *com);
  memset(S, 0, 9 * sizeof *S);
  for (int f = 0; f < n_faces; f++) {
    double p[3][3], n[3], c[3], w = 0;
    const double *corner[3] = { p[0], p[1], p[2] };
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) p[k][i] = vertex[3 * face[3 * f + k] + i] - apex[i];
    inertia_normal(corner, n);
    for (int i = 0; i < 3; i++) c[i] = p[0][i] + p[1][i] + p[2][i];
    w = shell ? sqrt(perp_dot(3, n, n)) / 2 : perp_dot(3, n, c) / 18;
    if (sized) w = fabs(w);
    *volume += w;
    for (int i = 0; i < 3; i++) com[i] += w * c[i] / (shell ? 3 : 4);
    /* of a simplex with m corners: (sum of p p' + c c') / (m (m + 1)), c the sum of its corners */
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        S[i + 3 * j] += w *
                        (p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j] + c[i] * c[j]) /
                        (shell ? 12 : 20);
  }
}

static bool inertia_triangles(int n_faces, const int *face, const double *vertex,
                              perp_robot_inside inside, perp_robot_solid *solid)
{
  const bool shell = inside == PERP_ROBOT_INSIDE_SHELL, legacy = inside == PERP_ROBOT_INSIDE_LEGACY;
  double apex[3] = { 0 }, S[9], area;
  /* the centre of the surface: near the solid, so that nothing cancels */
  inertia_sum(n_faces, face, vertex, apex, true, false, &area, solid->com, S);
  if (!(area > 0)) return false;
  for (int i = 0; i < 3; i++) apex[i] = solid->com[i] / area;
  inertia_sum(n_faces, face, vertex, apex, shell, legacy, &solid->volume, solid->com, S);
  if (!(solid->volume > 1e-12 * area * sqrt(area)) && !shell) return false;
  for (int i = 0; i < 3; i++) solid->com[i] /= solid->volume;
  if (legacy) { /* MuJoCo sums the sizes again, about the centre */
    double again[3], centre[3];
    for (int i = 0; i < 3; i++) centre[i] = apex[i] + solid->com[i];
    inertia_sum(n_faces, face, vertex, centre, false, true, &solid->volume, again, S);
  } else
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) S[i + 3 * j] -= solid->volume * solid->com[i] * solid->com[j];
  for (int i = 0; i < 3; i++) solid->com[i] += apex[i];
  inertia_from_moments(S, solid->inertia);
  return true;
}

static perp_hull *inertia_hull(const perp_robot_mesh *mesh)
{
  perp_ctx ctx;
  perp_hull *hull = NULL;
  perp_ctx_init(&ctx);
  if (mesh->n < 4 || perp_hull_create(&ctx, 3, mesh->vertex, 3, mesh->n, "mesh", &hull) != PERP_OK)
    hull = NULL;
  return hull;
}

static bool inertia_convex(const perp_robot_mesh *mesh, perp_robot_solid *solid)
{
  perp_hull *hull = inertia_hull(mesh);
  if (hull == NULL) return false;
  int *face = perp_xalloc(3 * (size_t)hull->n_half + 1, sizeof *face), n = 0;
  for (int f = 0; f < hull->n_faces; f++) /* a fan of each face */
    for (int k = hull->start[f] + 1; k + 1 < hull->start[f + 1]; k++, n++) {
      face[3 * n] = hull->loop[hull->start[f]];
      face[3 * n + 1] = hull->loop[k];
      face[3 * n + 2] = hull->loop[k + 1];
    }
  const bool good = inertia_triangles(n, face, hull->v, PERP_ROBOT_INSIDE_EXACT, solid);
  free(face);
  free(hull);
  return good;
}

bool perp_robot_solid_of_mesh(const perp_robot_mesh *mesh, perp_robot_inside inside,
                              perp_robot_solid *solid)
{
  *solid = (perp_robot_solid){ 0 };
  if (inside == PERP_ROBOT_INSIDE_CONVEX || mesh->n_faces == 0) return inertia_convex(mesh, solid);
  return inertia_triangles(mesh->n_faces, mesh->face, mesh->vertex, inside, solid);
}

/* ---- solids ---- */

void perp_robot_solid_of(const perp_robot *robot, const perp_robot_geom *geom, bool shell,
                         perp_robot_inside inside, perp_robot_solid *solid)
{
  const double sphere[3] = { geom->size[0], geom->size[0], geom->size[0] };
  *solid = (perp_robot_solid){ 0 };
  switch (geom->kind) {
  case PERP_ROBOT_SPHERE:
    if (shell)
      inertia_round(solid, geom->size[0], 0, true, true);
    else
      inertia_ellipsoid(solid, sphere, false);
    break;
  case PERP_ROBOT_CAPSULE:
    inertia_round(solid, geom->size[0], geom->size[1], true, shell);
    break;
  case PERP_ROBOT_CYLINDER:
    inertia_round(solid, geom->size[0], geom->size[1], false, shell);
    break;
  case PERP_ROBOT_ELLIPSOID:
    inertia_ellipsoid(solid, geom->size, shell);
    break;
  case PERP_ROBOT_BOX:
    inertia_box(solid, geom->size, shell);
    break;
  case PERP_ROBOT_MESH:
    if (geom->asset >= 0 && geom->asset < robot->n_meshes)
      perp_robot_solid_of_mesh(&robot->mesh[geom->asset], shell ? PERP_ROBOT_INSIDE_SHELL : inside,
                               solid);
    break;
  case PERP_ROBOT_PLANE:
  case PERP_ROBOT_FIELD:
    break;
  }
}

/* I := R I R' */
static void inertia_turn(const double R[9], double inertia[9])
{
  double T[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      T[i + 3 * j] = 0;
      for (int k = 0; k < 3; k++) T[i + 3 * j] += R[i + 3 * k] * inertia[k + 3 * j];
    }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < 3; k++) sum += T[i + 3 * k] * R[j + 3 * k];
      inertia[i + 3 * j] = inertia[j + 3 * i] = sum;
    }
}

void perp_robot_solid_place(perp_robot_solid *solid, const double x[3], const double quat[4])
{
  double R[9], c[3];
  perp_quat_matrix(quat, R);
  for (int i = 0; i < 3; i++)
    c[i] = x[i] + (R[i] * solid->com[0] + R[i + 3] * solid->com[1] + R[i + 6] * solid->com[2]);
  memcpy(solid->com, c, sizeof c);
  if (quat[1] != 0 || quat[2] != 0 || quat[3] != 0) inertia_turn(R, solid->inertia);
}

void perp_robot_body_add(perp_robot_body *body, double mass, const perp_robot_solid *solid)
{
  if (!(mass > 0) || !(solid->volume > 0)) return;
  const double total = body->mass + mass, reduced = body->mass * mass / total,
               scale = mass / solid->volume;
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = solid->com[i] - body->com[i];
  const double d2 = perp_dot(3, d, d);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      body->inertia[i + 3 * j] += scale * solid->inertia[i + 3 * j] +
                                  reduced * ((i == j ? d2 : 0) - d[i] * d[j]);
  for (int i = 0; i < 3; i++)
    body->com[i] = body->mass > 0 ? body->com[i] + mass / total * d[i] : solid->com[i];
  body->mass = total;
}

void perp_robot_eigen(const double inertia[9], double value[3], double V[9])
{
  double work[102]; /* (32 + 2) n */
  memcpy(V, inertia, 9 * sizeof *V);
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, V, 3, value, work, 102) != 0) {
    memset(V, 0, 9 * sizeof *V);
    for (int i = 0; i < 3; i++) value[i] = inertia[4 * i], V[4 * i] = 1;
  }
  double c[3];
  perp_cross(V, V + 3, c);
  if (perp_dot(3, c, V + 6) < 0)
    for (int i = 6; i < 9; i++) V[i] = -V[i];
}
