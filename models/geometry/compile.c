/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From definitions to compiled shapes, and what every shape answers: its bounds. */
#include "models/geometry/shapes_private.h"

#include <string.h>

/* rotation of the shape in the frame of its body */
static void shape_rotation(int dim, const perp_shape_def *def, double R[9])
{
  perp_pose plane, lifted;
  if (dim == 3) {
    perp_quat_matrix(def->quat, R);
    return;
  }
  perp_pose_of(2, (const double[3]){ 0, 0, def->angle }, &plane);
  perp_lift(2, &plane, &lifted);
  memcpy(R, lifted.R, sizeof lifted.R);
}

/* mean of the vertices, and the farthest of them from a point */
static void hull_centre(const perp_hull *hull, double c[3])
{
  memset(c, 0, 3 * sizeof *c);
  for (int vertex = 0; vertex < hull->n_vertices; vertex++)
    perp_along(c, 1.0 / hull->n_vertices, hull->v + 3 * vertex, c);
}

static double hull_radius(const perp_hull *hull, const double c[3])
{
  double r2 = 0;
  for (int vertex = 0; vertex < hull->n_vertices; vertex++) {
    double r[3];
    perp_sub(hull->v + 3 * vertex, c, r);
    r2 = fmax(r2, perp_dot(3, r, r));
  }
  return sqrt(r2);
}

perp_status perp_shape_compile(perp_ctx *ctx, int dim, const perp_shape_def *def, const char *who,
                               perp_shape *shape)
{
  *shape = (perp_shape){ .kind = def->kind, .dim = dim, .body = def->body };
  for (int i = 0; i < dim; i++) {
    shape->c[i] = def->x[i];
    shape->half[i] = def->half[i];
  }
  shape_rotation(dim, def, shape->R);
  switch (def->kind) {
  case PERP_SHAPE_SPHERE:
    shape->radius = shape->bound = def->radius;
    break;
  case PERP_SHAPE_CAPSULE:
    shape->radius = def->radius;
    for (int i = 0; i < 3; i++) shape->axis[i] = 0.5 * def->length * shape->R[i];
    shape->bound = def->radius + 0.5 * def->length;
    break;
  case PERP_SHAPE_PLANE:
    memcpy(shape->axis, shape->R + 3 * (dim - 1), sizeof shape->axis);
    shape->bound = shape->reach = HUGE_VAL;
    return PERP_OK;
  case PERP_SHAPE_ELLIPSOID:
    shape->bound = fmax(shape->half[0], fmax(shape->half[1], shape->half[2]));
    break;
  case PERP_SHAPE_MESH:
  case PERP_SHAPE_HEIGHT_FIELD:
    if (def->kind == PERP_SHAPE_MESH)
      PERP_TRY(perp_mesh_create(ctx, def->vertices, def->n_vertices, def->triangles,
                                def->n_triangles, who, &shape->mesh));
    else
      PERP_TRY(perp_mesh_field(ctx, def->heights, def->grid, def->spacing, def->depth, who,
                               &shape->mesh));
    perp_mesh_move(shape->mesh, shape->R, def->x);
    for (int i = 0; i < 3; i++) shape->c[i] = 0.5 * (shape->mesh->lo[i] + shape->mesh->hi[i]);
    shape->bound = 0.5 * hypot(hypot(shape->mesh->hi[0] - shape->mesh->lo[0],
                                     shape->mesh->hi[1] - shape->mesh->lo[1]),
                               shape->mesh->hi[2] - shape->mesh->lo[2]);
    break;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    shape->radius = def->radius;
    memcpy(shape->axis, shape->R, sizeof shape->axis);
    shape->top = (def->kind == PERP_SHAPE_CYLINDER ? 0.5 : 0.75) * def->length;
    shape->bottom = def->length - shape->top;
    shape->bound = def->kind == PERP_SHAPE_CYLINDER
                       ? hypot(shape->bottom, shape->radius)
                       : fmax(shape->top, hypot(shape->bottom, shape->radius));
    break;
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_POLYTOPE:
    if (def->kind == PERP_SHAPE_BOX)
      PERP_TRY(perp_hull_box(ctx, dim, def->half, who, &shape->hull));
    else
      PERP_TRY(perp_hull_create(ctx, dim, def->vertices, dim, def->n_vertices, who, &shape->hull));
    perp_hull_move(shape->hull, shape->R, (const double[3]){ def->x[0], def->x[1], shape->c[2] });
    if (def->kind == PERP_SHAPE_POLYTOPE) hull_centre(shape->hull, shape->c);
    shape->bound = hull_radius(shape->hull, shape->c);
    shape->reach = hull_radius(shape->hull, (const double[3]){ 0 });
    return PERP_OK;
  }
  shape->reach = shape->bound + perp_norm(shape->c);
  return PERP_OK;
}

/* ---- bounds ---- */

/* A disc of radius r about the axis u reaches r sqrt(1 - u_i^2) along axis i. */
static void round_bounds(const perp_shape *shape, const perp_pose *pose, double lo[3], double hi[3])
{
  double c[3], u[3];
  const bool cone = shape->kind == PERP_SHAPE_CONE;
  perp_place(pose, shape->c, c);
  perp_turn(3, pose->R, shape->axis, u);
  for (int i = 0; i < 3; i++) {
    const double reach = shape->radius * hypot(u[(i + 1) % 3], u[(i + 2) % 3]);
    const double top = shape->top * u[i], bottom = -shape->bottom * u[i], rim = cone ? 0 : reach;
    lo[i] = c[i] + fmin(top - rim, bottom - reach);
    hi[i] = c[i] + fmax(top + rim, bottom + reach);
  }
}

void perp_shape_bounds(const perp_shape *shape, const perp_pose *pose, double lo[3], double hi[3])
{
  double c[3], e[3] = { 0 };
  if (shape->kind == PERP_SHAPE_PLANE) {
    for (int i = 0; i < 3; i++) lo[i] = -HUGE_VAL, hi[i] = HUGE_VAL;
    return;
  }
  if (shape->mesh != NULL) { /* the world does not move */
    memcpy(lo, shape->mesh->lo, sizeof shape->mesh->lo);
    memcpy(hi, shape->mesh->hi, sizeof shape->mesh->hi);
    return;
  }
  if (shape->kind == PERP_SHAPE_POLYTOPE && shape->hull->n_vertices > PERP_HULL_SMALL) {
    for (int k = 0; k < 6; k++) {
      double d[3] = { 0 }, x[3];
      d[k / 2] = k % 2 == 0 ? -1 : 1;
      perp_turn_back(3, pose->R, d, e);
      perp_place(pose, shape->hull->v + 3 * perp_hull_support(shape->hull, e, -1), x);
      if (k % 2 == 0)
        lo[k / 2] = x[k / 2];
      else
        hi[k / 2] = x[k / 2];
    }
    return;
  }
  if (shape->kind == PERP_SHAPE_POLYTOPE) {
    for (int i = 0; i < 3; i++) lo[i] = HUGE_VAL, hi[i] = -HUGE_VAL;
    for (int vertex = 0; vertex < shape->hull->n_vertices; vertex++) {
      perp_turn(3, pose->R, shape->hull->v + 3 * vertex, c);
      for (int i = 0; i < 3; i++) {
        lo[i] = c[i] < lo[i] ? c[i] : lo[i];
        hi[i] = c[i] > hi[i] ? c[i] : hi[i];
      }
    }
    for (int i = 0; i < 3; i++) lo[i] += pose->x[i], hi[i] += pose->x[i];
    return;
  }
  if (shape->kind == PERP_SHAPE_CYLINDER || shape->kind == PERP_SHAPE_CONE) {
    round_bounds(shape, pose, lo, hi);
    return;
  }
  perp_place(pose, shape->c, c);
  if (shape->kind == PERP_SHAPE_SPHERE) {
    e[0] = e[1] = e[2] = shape->radius;
  } else if (shape->kind == PERP_SHAPE_CAPSULE) {
    perp_turn(3, pose->R, shape->axis, e);
    for (int i = 0; i < 3; i++) e[i] = fabs(e[i]) + shape->radius;
  } else {
    /* box: sum of |components| of the half axes; ellipsoid: their root of squares */
    for (int k = 0; k < 3; k++) {
      double u[3];
      perp_turn(3, pose->R, shape->R + 3 * k, u);
      for (int i = 0; i < 3; i++) {
        double x = shape->half[k] * u[i];
        e[i] += shape->kind == PERP_SHAPE_BOX ? fabs(x) : x * x;
      }
    }
    if (shape->kind == PERP_SHAPE_ELLIPSOID)
      for (int i = 0; i < 3; i++) e[i] = sqrt(e[i]);
  }
  for (int i = 0; i < 3; i++) lo[i] = c[i] - e[i], hi[i] = c[i] + e[i];
}

void perp_relative(const perp_pose *a, const perp_pose *b, perp_pose *rel)
{
  perp_place_back(a, b->x, rel->x);
  for (int k = 0; k < 3; k++) perp_turn_back(3, a->R, b->R + 3 * k, rel->R + 3 * k);
}
