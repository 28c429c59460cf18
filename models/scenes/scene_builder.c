/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_scene_builder_quat(double tilt, double azimuth, double quat[4])
{
  const double ct = cos(tilt / 2), st = sin(tilt / 2), ca = cos(azimuth / 2), sa = sin(azimuth / 2);
  quat[0] = ca * ct;
  quat[1] = -sa * st;
  quat[2] = ca * st;
  quat[3] = sa * ct;
}

perp_scene_builder perp_scene_builder_begin(perp_ctx *ctx, perp_scene *scene, int dim,
                                            double gravity, double mu, double e)
{
  perp_scene_builder y = {
    .ctx = ctx, .scene = scene, .dim = dim, .surface = { mu, nan(""), e }, .depth = 1
  };
  y.status = perp_model_create(ctx, dim, &scene->model);
  if (y.status == PERP_OK) perp_model_gravity(scene->model, gravity);
  scene->gravity = gravity;
  return y;
}

void perp_scene_builder_shape(perp_scene_builder *y, perp_shape_def *def)
{
  def->surface = y->surface;
  def->name = y->name;
  def->collide_joined = y->collide_joined;
  if (y->status == PERP_OK) y->status = perp_model_add_shape(y->ctx, y->scene->model, def, NULL);
  y->name = NULL;
}

int perp_scene_builder_body(perp_scene_builder *y, perp_body_def *def, const double p[3],
                            double tilt, double azimuth)
{
  int body = PERP_WORLD;
  def->name = y->name;
  perp_scene_point(y->dim, p, def->x);
  perp_scene_point(y->dim, y->v, def->v);
  if (y->dim == 3) {
    perp_scene_builder_quat(tilt, azimuth, def->quat);
    if (y->spin != 0) def->w[1] = -y->spin;
  } else {
    def->angle = -tilt;
    if (y->spin != 0) def->w[2] = y->spin;
  }
  if (y->status == PERP_OK) y->status = perp_model_add_body(y->ctx, y->scene->model, def, &body);
  memset(y->v, 0, sizeof y->v);
  y->spin = 0;
  return body;
}

void perp_scene_builder_joint(perp_scene_builder *y, const perp_joint_def *def)
{
  if (y->status == PERP_OK) y->status = perp_model_add_joint(y->ctx, y->scene->model, def, NULL);
}

void perp_scene_builder_force(perp_scene_builder *y, const perp_force_def *def)
{
  if (y->status == PERP_OK) y->status = perp_model_add_force(y->ctx, y->scene->model, def);
}

/* pose of a shape of the world */
static void scene_builder_place(const perp_scene_builder *y, perp_shape_def *def, const double p[3],
                                double tilt, double azimuth)
{
  def->body = PERP_WORLD;
  perp_scene_point(y->dim, p, def->x);
  if (y->dim == 3)
    perp_scene_builder_quat(tilt, azimuth, def->quat);
  else
    def->angle = -tilt;
}

void perp_scene_builder_plane(perp_scene_builder *y, const double p[3], double tilt, double azimuth)
{
  perp_shape_def def = { .kind = PERP_SHAPE_PLANE };
  scene_builder_place(y, &def, p, tilt, azimuth);
  perp_scene_builder_shape(y, &def);
}

void perp_scene_builder_floor(perp_scene_builder *y)
{
  static const double origin[3];
  y->name = "floor";
  perp_scene_builder_plane(y, origin, 0, 0);
}

int perp_scene_builder_box(perp_scene_builder *y, double m, const double size[3], const double p[3],
                           double tilt, double azimuth)
{
  double edges[3];
  perp_scene_point(y->dim, size, edges);
  perp_shape_def shape = { .kind = PERP_SHAPE_BOX,
                           .half = { edges[0] / 2, edges[1] / 2, edges[2] / 2 } };
  int body = PERP_WORLD;
  if (m > 0) {
    /* in the plane only the moment about z is used: that of the face */
    perp_body_def def = { .mass = perp_mass_box(m, edges[0], edges[1], edges[2]) };
    body = perp_scene_builder_body(y, &def, p, tilt, azimuth);
    shape.body = body;
  } else {
    scene_builder_place(y, &shape, p, tilt, azimuth);
  }
  perp_scene_builder_shape(y, &shape);
  return body;
}

int perp_scene_builder_ball(perp_scene_builder *y, double m, double r, double k, const double p[3])
{
  const double I = k * m * r * r;
  perp_body_def def = { .mass = { m, { I, 0, 0, 0, I, 0, 0, 0, I } } };
  const int body = perp_scene_builder_body(y, &def, p, 0, 0);
  perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .body = body, .radius = r };
  perp_scene_builder_shape(y, &shape);
  return body;
}

int perp_scene_builder_foot(perp_scene_builder *y, double m, double r, const double p[3],
                            double tilt, double azimuth)
{
  perp_body_def def = { .mass = perp_mass_sphere(m, r) };
  perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = r };
  ball.body = perp_scene_builder_body(y, &def, p, tilt, azimuth);
  perp_scene_point(y->dim, (const double[3]){ 0, 0, r }, ball.x);
  perp_scene_builder_shape(y, &ball);
  return ball.body;
}

int perp_scene_builder_needle(perp_scene_builder *y, double m, double half, const double p[3],
                              double tilt)
{
  const double l = half, d = l / 1000, I = m * l * l / 3;
  const double plane[8] = { l, 0, 0, d, -l, 0, 0, -d };
  const double space[18] = { l, 0, 0, -l, 0, 0, 0, d, 0, 0, -d, 0, 0, 0, d, 0, 0, -d };
  perp_body_def def = { .mass = { m, { I / 50, 0, 0, 0, I, 0, 0, 0, I } } };
  perp_shape_def needle = { .kind = PERP_SHAPE_POLYTOPE,
                            .vertices = y->dim == 2 ? plane : space,
                            .n_vertices = y->dim == 2 ? 4 : 6 };
  needle.body = perp_scene_builder_body(y, &def, p, tilt, 0);
  perp_scene_builder_shape(y, &needle);
  return needle.body;
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

/* mass of a prism of a polygon: (x, height) section, length `depth` along y */
static perp_mass scene_builder_prism(double m, int n, const double *corners,
                                     const double centroid[2], double area, double polar,
                                     double depth, int dim)
{
  perp_mass mass = { .mass = m };
  if (dim == 2) {
    mass.inertia[8] = m * polar / area;
    mass.inertia[0] = mass.inertia[4] = mass.inertia[8]; /* not used in the plane */
    return mass;
  }
  double xx = 0, xz = 0; /* second moments of the section about its centroid, over the area */
  for (int i = 0; i < n; i++) {
    const double *a = corners + 2 * i, *b = corners + 2 * ((i + 1) % n);
    const double ax = a[0] - centroid[0], ay = a[1] - centroid[1], bx = b[0] - centroid[0],
                 by = b[1] - centroid[1], D = ax * by - ay * bx;
    xx += D / 12 * (ax * ax + ax * bx + bx * bx) / area;
    xz += D / 24 * (2 * ax * ay + ax * by + bx * ay + 2 * bx * by) / area;
  }
  const double zz = polar / area - xx, yy = depth * depth / 12;
  mass.inertia[0] = m * (yy + zz);
  mass.inertia[4] = m * (xx + zz);
  mass.inertia[8] = m * (xx + yy);
  mass.inertia[2] = mass.inertia[6] = -m * xz;
  return mass;
}

enum { CORNERS_MAX = 16 };

int perp_scene_builder_polygon(perp_scene_builder *y, double m, int n, const double *corners)
{
  double area, com[2], polar, vertex[6 * CORNERS_MAX];
  int body = PERP_WORLD, used = 0;
  perp_polygon_moments(n, corners, &area, com, &polar);
  if (m > 0) {
    perp_body_def def = { .mass = scene_builder_prism(m, n, corners, com, area, polar, y->depth,
                                                      y->dim) };
    body = perp_scene_builder_body(y, &def, (const double[3]){ com[0], 0, com[1] }, 0, 0);
  } else {
    com[0] = com[1] = 0;
  }
  for (int side = 0; side < (y->dim == 3 ? 2 : 1); side++)
    for (int i = 0; i < n && i < CORNERS_MAX; i++) {
      const double p[3] = { corners[2 * i] - com[0], side == 0 ? -y->depth / 2 : y->depth / 2,
                            corners[2 * i + 1] - com[1] };
      double x[3];
      perp_scene_point(y->dim, p, x);
      memcpy(vertex + (size_t)y->dim * (size_t)used++, x, (size_t)y->dim * sizeof *x);
    }
  perp_shape_def shape = {
    .kind = PERP_SHAPE_POLYTOPE, .body = body, .vertices = vertex, .n_vertices = used
  };
  perp_scene_builder_shape(y, &shape);
  return body;
}

perp_status perp_scene_builder_end(perp_scene_builder *y, double size, double t_end)
{
  if (y->status == PERP_OK) y->status = perp_model_finish(y->ctx, y->scene->model);
  y->scene->size = size;
  y->scene->t_end = t_end;
  y->scene->h = 1.0 / 240;
  y->scene->dissipative = true;
  return y->status;
}

double perp_scene_builder_rate(int dim, int b, const double *v)
{
  return dim == 2 ? v[3 * b + 2] : -v[6 * b + 4];
}
