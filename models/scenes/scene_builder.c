/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

/* R = Rz(azimuth) Ry(tilt) as a quaternion. */
static void scene_builder_quat(double tilt, double azimuth, double quat[4])
{
  const double ct = cos(tilt / 2), st = sin(tilt / 2), ca = cos(azimuth / 2), sa = sin(azimuth / 2);
  quat[0] = ca * ct;
  quat[1] = -sa * st;
  quat[2] = ca * st;
  quat[3] = sa * ct;
}

perp_builder perp_build_begin(perp_ctx *ctx, perp_scene *scene, int dim, double gravity, double mu,
                              double e)
{
  perp_builder builder = { .ctx = ctx,
                           .scene = scene,
                           .dim = dim,
                           .surface = { .mu = mu, .mu_dynamic = nan(""), .restitution = e },
                           .depth = 1 };
  builder.status = perp_model_create(ctx, dim, &scene->model);
  if (builder.status == PERP_OK) perp_model_gravity(scene->model, gravity);
  scene->gravity = gravity;
  return builder;
}

void perp_build_shape(perp_builder *builder, perp_shape_def *def)
{
  def->surface = builder->surface;
  def->collide_joined = builder->collide_joined;
  if (builder->status == PERP_OK)
    builder->status = perp_model_add_shape(builder->ctx, builder->scene->model, def, NULL);
}

int perp_build_body(perp_builder *builder, perp_body_def *def, const double p[3], double tilt,
                    double azimuth)
{
  int body = PERP_WORLD;
  perp_scene_point(builder->dim, p, def->x);
  perp_scene_point(builder->dim, builder->v, def->v);
  if (builder->dim == 3) {
    scene_builder_quat(tilt, azimuth, def->quat);
    if (builder->spin != 0) def->w[1] = -builder->spin;
  } else {
    def->angle = -tilt;
    if (builder->spin != 0) def->w[2] = builder->spin;
  }
  if (builder->status == PERP_OK)
    builder->status = perp_model_add_body(builder->ctx, builder->scene->model, def, &body);
  memset(builder->v, 0, sizeof builder->v);
  builder->spin = 0;
  return body;
}

/* A body and its shape, which gets its name. */
static int scene_builder_solid(perp_builder *builder, perp_body_def *def, perp_shape_def *shape,
                               const double p[3], double tilt, double azimuth)
{
  shape->name = def->name;
  shape->body = perp_build_body(builder, def, p, tilt, azimuth);
  perp_build_shape(builder, shape);
  return shape->body;
}

void perp_build_joint(perp_builder *builder, const perp_joint_def *def)
{
  if (builder->status == PERP_OK)
    builder->status = perp_model_add_joint(builder->ctx, builder->scene->model, def, NULL);
}

void perp_build_force(perp_builder *builder, const perp_force_def *def)
{
  if (builder->status == PERP_OK)
    builder->status = perp_model_add_force(builder->ctx, builder->scene->model, def);
}

/* pose of a shape of the world */
static void scene_builder_place(const perp_builder *builder, perp_shape_def *def, const double p[3],
                                double tilt, double azimuth)
{
  def->body = PERP_WORLD;
  perp_scene_point(builder->dim, p, def->x);
  if (builder->dim == 3)
    scene_builder_quat(tilt, azimuth, def->quat);
  else
    def->angle = -tilt;
}

void perp_build_plane(perp_builder *builder, const char *name, const double p[3], double tilt,
                      double azimuth)
{
  perp_shape_def def = { .name = name, .kind = PERP_SHAPE_PLANE };
  scene_builder_place(builder, &def, p, tilt, azimuth);
  perp_build_shape(builder, &def);
}

void perp_build_floor(perp_builder *builder)
{
  perp_build_plane(builder, "floor", (const double[3]){ 0 }, 0, 0);
}

int perp_build_box(perp_builder *builder, const char *name, double m, const double size[3],
                   const double p[3], double tilt, double azimuth)
{
  double edges[3];
  perp_scene_point(builder->dim, size, edges);
  perp_shape_def shape = { .name = name,
                           .kind = PERP_SHAPE_BOX,
                           .half = { edges[0] / 2, edges[1] / 2, edges[2] / 2 } };
  if (m > 0) {
    /* in the plane only the moment about z is used: that of the face */
    perp_body_def def = { .name = name, .mass = perp_mass_box(m, edges[0], edges[1], edges[2]) };
    return scene_builder_solid(builder, &def, &shape, p, tilt, azimuth);
  }
  scene_builder_place(builder, &shape, p, tilt, azimuth);
  perp_build_shape(builder, &shape);
  return PERP_WORLD;
}

int perp_build_ball(perp_builder *builder, const char *name, double m, double r, double k,
                    const double p[3])
{
  const double I = k * m * r * r;
  perp_body_def def = { .name = name, .mass = { m, { I, 0, 0, 0, I, 0, 0, 0, I } } };
  perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = r };
  return scene_builder_solid(builder, &def, &shape, p, 0, 0);
}

int perp_build_foot(perp_builder *builder, const char *name, double m, double r, const double p[3],
                    double tilt, double azimuth)
{
  perp_body_def def = { .name = name, .mass = perp_mass_sphere(m, r) };
  perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = r };
  perp_scene_point(builder->dim, (const double[3]){ 0, 0, r }, ball.x);
  return scene_builder_solid(builder, &def, &ball, p, tilt, azimuth);
}

int perp_build_needle(perp_builder *builder, const char *name, double m, double half,
                      const double p[3], double tilt)
{
  const double l = half, d = l / 1000, I = m * l * l / 3;
  const double plane[8] = { l, 0, 0, d, -l, 0, 0, -d };
  const double space[18] = { l, 0, 0, -l, 0, 0, 0, d, 0, 0, -d, 0, 0, 0, d, 0, 0, -d };
  perp_body_def def = { .name = name, .mass = { m, { I / 50, 0, 0, 0, I, 0, 0, 0, I } } };
  perp_shape_def needle = { .kind = PERP_SHAPE_POLYTOPE,
                            .vertices = builder->dim == 2 ? plane : space,
                            .n_vertices = builder->dim == 2 ? 4 : 6 };
  return scene_builder_solid(builder, &def, &needle, p, tilt, 0);
}

/* mass of a prism of a polygon: (x, height) section with corners relative to its centroid, length
 * `depth` along y */
static perp_mass scene_builder_prism(double m, int n, const double *corners, double area,
                                     double polar, double depth, int dim)
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
    const double ax = a[0], ay = a[1], bx = b[0], by = b[1], D = ax * by - ay * bx;
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

int perp_build_polygon(perp_builder *builder, const char *name, double m, int n,
                       const double *corners)
{
  double area, com[2], polar, c[2 * CORNERS_MAX], vertex[6 * CORNERS_MAX];
  const int sides = builder->dim == 3 ? 2 : 1;
  perp_polygon_moments(n, corners, &area, com, &polar);
  for (int i = 0; i < 2 * n; i++) c[i] = corners[i] - com[i % 2];
  for (int i = 0; i < sides * n; i++) {
    const double p[3] = { c[2 * (i % n)], i < n ? -builder->depth / 2 : builder->depth / 2,
                          c[2 * (i % n) + 1] };
    double x[3];
    perp_scene_point(builder->dim, p, x);
    memcpy(vertex + builder->dim * i, x, (size_t)builder->dim * sizeof *x);
  }
  perp_body_def def = {
    .name = name, .mass = scene_builder_prism(m, n, c, area, polar, builder->depth, builder->dim)
  };
  perp_shape_def shape = { .kind = PERP_SHAPE_POLYTOPE,
                           .vertices = vertex,
                           .n_vertices = sides * n };
  return scene_builder_solid(builder, &def, &shape, (const double[3]){ com[0], 0, com[1] }, 0, 0);
}

perp_status perp_build_end(perp_builder *builder, double size, double t_end)
{
  if (builder->status == PERP_OK)
    builder->status = perp_model_finish(builder->ctx, builder->scene->model);
  builder->scene->size = size;
  builder->scene->t_end = t_end;
  builder->scene->h = 1.0 / 240;
  builder->scene->dissipative = true;
  return builder->status;
}

double perp_build_rate(int dim, int b, const double *v)
{
  return dim == 2 ? v[3 * b + 2] : -v[6 * b + 4];
}
