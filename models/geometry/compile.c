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
static void hull_centre(const perp_hull *h, double c[3])
{
  memset(c, 0, 3 * sizeof *c);
  for (int i = 0; i < h->n_vertices; i++) perp_along(c, 1.0 / h->n_vertices, h->v + 3 * i, c);
}

static double hull_radius(const perp_hull *h, const double c[3])
{
  double r2 = 0;
  for (int i = 0; i < h->n_vertices; i++) {
    double r[3];
    perp_sub(h->v + 3 * i, c, r);
    r2 = fmax(r2, perp_dot(3, r, r));
  }
  return sqrt(r2);
}

perp_status perp_shape_compile(perp_ctx *ctx, int dim, const perp_shape_def *def, const char *who,
                               perp_shape *s)
{
  *s = (perp_shape){ .kind = def->kind, .dim = dim, .body = def->body };
  for (int i = 0; i < dim; i++) {
    s->c[i] = def->x[i];
    s->half[i] = def->half[i];
  }
  shape_rotation(dim, def, s->R);
  switch (def->kind) {
  case PERP_SHAPE_SPHERE:
    s->radius = s->bound = def->radius;
    break;
  case PERP_SHAPE_CAPSULE:
    s->radius = def->radius;
    for (int i = 0; i < 3; i++) s->axis[i] = 0.5 * def->length * s->R[i];
    s->bound = def->radius + 0.5 * def->length;
    break;
  case PERP_SHAPE_PLANE:
    memcpy(s->axis, s->R + 3 * (dim - 1), sizeof s->axis);
    s->bound = s->reach = HUGE_VAL;
    return PERP_OK;
  case PERP_SHAPE_ELLIPSOID:
    s->bound = fmax(s->half[0], fmax(s->half[1], s->half[2]));
    break;
  case PERP_SHAPE_MESH:
  case PERP_SHAPE_HEIGHT_FIELD:
    if (def->kind == PERP_SHAPE_MESH)
      PERP_TRY(perp_mesh_create(ctx, def->vertices, def->n_vertices, def->triangles,
                                def->n_triangles, who, &s->mesh));
    else
      PERP_TRY(
          perp_mesh_field(ctx, def->heights, def->grid, def->spacing, def->depth, who, &s->mesh));
    perp_mesh_move(s->mesh, s->R, def->x);
    for (int i = 0; i < 3; i++) s->c[i] = 0.5 * (s->mesh->lo[i] + s->mesh->hi[i]);
    s->bound = 0.5 * hypot(hypot(s->mesh->hi[0] - s->mesh->lo[0], s->mesh->hi[1] - s->mesh->lo[1]),
                           s->mesh->hi[2] - s->mesh->lo[2]);
    break;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    s->radius = def->radius;
    memcpy(s->axis, s->R, sizeof s->axis);
    s->top = (def->kind == PERP_SHAPE_CYLINDER ? 0.5 : 0.75) * def->length;
    s->bottom = def->length - s->top;
    s->bound = def->kind == PERP_SHAPE_CYLINDER ? hypot(s->bottom, s->radius)
                                                : fmax(s->top, hypot(s->bottom, s->radius));
    break;
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_POLYTOPE:
    if (def->kind == PERP_SHAPE_BOX)
      PERP_TRY(perp_hull_box(ctx, dim, def->half, who, &s->hull));
    else
      PERP_TRY(perp_hull_create(ctx, dim, def->vertices, dim, def->n_vertices, who, &s->hull));
    perp_hull_move(s->hull, s->R, (const double[3]){ def->x[0], def->x[1], s->c[2] });
    if (def->kind == PERP_SHAPE_POLYTOPE) hull_centre(s->hull, s->c);
    s->bound = hull_radius(s->hull, s->c);
    s->reach = hull_radius(s->hull, (const double[3]){ 0 });
    return PERP_OK;
  }
  s->reach = s->bound + perp_norm(s->c);
  return PERP_OK;
}

/* ---- bounds ---- */

/* A disc of radius r about the axis u reaches r sqrt(1 - u_i^2) along axis i. */
static void round_bounds(const perp_shape *s, const perp_pose *pose, double lo[3], double hi[3])
{
  double c[3], u[3];
  const bool cone = s->kind == PERP_SHAPE_CONE;
  perp_place(pose, s->c, c);
  perp_turn(3, pose->R, s->axis, u);
  for (int i = 0; i < 3; i++) {
    const double reach = s->radius * hypot(u[(i + 1) % 3], u[(i + 2) % 3]);
    const double top = s->top * u[i], bottom = -s->bottom * u[i], rim = cone ? 0 : reach;
    lo[i] = c[i] + fmin(top - rim, bottom - reach);
    hi[i] = c[i] + fmax(top + rim, bottom + reach);
  }
}

void perp_shape_bounds(const perp_shape *s, const perp_pose *pose, double lo[3], double hi[3])
{
  double c[3], e[3] = { 0 };
  if (s->kind == PERP_SHAPE_PLANE) {
    for (int i = 0; i < 3; i++) lo[i] = -HUGE_VAL, hi[i] = HUGE_VAL;
    return;
  }
  if (s->mesh != NULL) { /* the world does not move */
    memcpy(lo, s->mesh->lo, sizeof s->mesh->lo);
    memcpy(hi, s->mesh->hi, sizeof s->mesh->hi);
    return;
  }
  if (s->kind == PERP_SHAPE_POLYTOPE && s->hull->n_vertices > PERP_HULL_SMALL) {
    for (int k = 0; k < 6; k++) {
      double d[3] = { 0 }, x[3];
      d[k / 2] = k % 2 == 0 ? -1 : 1;
      perp_turn_back(3, pose->R, d, e);
      perp_place(pose, s->hull->v + 3 * perp_hull_support(s->hull, e, -1), x);
      if (k % 2 == 0)
        lo[k / 2] = x[k / 2];
      else
        hi[k / 2] = x[k / 2];
    }
    return;
  }
  if (s->kind == PERP_SHAPE_POLYTOPE) {
    for (int i = 0; i < 3; i++) lo[i] = HUGE_VAL, hi[i] = -HUGE_VAL;
    for (int k = 0; k < s->hull->n_vertices; k++) {
      perp_turn(3, pose->R, s->hull->v + 3 * k, c);
      for (int i = 0; i < 3; i++) {
        lo[i] = c[i] < lo[i] ? c[i] : lo[i];
        hi[i] = c[i] > hi[i] ? c[i] : hi[i];
      }
    }
    for (int i = 0; i < 3; i++) lo[i] += pose->x[i], hi[i] += pose->x[i];
    return;
  }
  if (s->kind == PERP_SHAPE_CYLINDER || s->kind == PERP_SHAPE_CONE) {
    round_bounds(s, pose, lo, hi);
    return;
  }
  perp_place(pose, s->c, c);
  if (s->kind == PERP_SHAPE_SPHERE) {
    e[0] = e[1] = e[2] = s->radius;
  } else if (s->kind == PERP_SHAPE_CAPSULE) {
    perp_turn(3, pose->R, s->axis, e);
    for (int i = 0; i < 3; i++) e[i] = fabs(e[i]) + s->radius;
  } else {
    /* box: sum of |components| of the half axes; ellipsoid: their root of squares */
    for (int k = 0; k < 3; k++) {
      double u[3];
      perp_turn(3, pose->R, s->R + 3 * k, u);
      for (int i = 0; i < 3; i++) {
        double x = s->half[k] * u[i];
        e[i] += s->kind == PERP_SHAPE_BOX ? fabs(x) : x * x;
      }
    }
    if (s->kind == PERP_SHAPE_ELLIPSOID)
      for (int i = 0; i < 3; i++) e[i] = sqrt(e[i]);
  }
  for (int i = 0; i < 3; i++) lo[i] = c[i] - e[i], hi[i] = c[i] + e[i];
}

void perp_relative(const perp_pose *a, const perp_pose *b, perp_pose *rel)
{
  perp_place_back(a, b->x, rel->x);
  for (int k = 0; k < 3; k++) perp_turn_back(3, a->R, b->R + 3 * k, rel->R + 3 * k);
}
