/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A terrain vehicle with a carriage on a plain (Vondrak 2005, section 9.1.5, TestVehicle; the
 * geometry is ours, his is not given).
 *
 * The chassis has four hubs that slide up and down on springs and dampers, each with a wheel on a
 * hinge; a ball joint at its rear pulls a carriage with two wheels on hinges.  Wheels are spheres.
 * A torque acts on each of the four wheels from outside.  As long as the wheels roll (T / r is far
 * below mu N here), after the springs have come to rest
 *
 *      a = (4 T / r) / (M + 6 (2/5) m_w)        M: mass of everything, I_w = 2/5 m_w r^2
 *
 * and the floor carries the weight.  Springs are preloaded: at the start all is in equilibrium but
 * for T. */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct vehicle_opts {
  double chassis, wheel, carriage, torque, stiffness, damping, mu, gravity;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct vehicle_opts, chassis, 400, "kg", "mass of the chassis"),
  PERP_OPT_POSITIVE(struct vehicle_opts, wheel, 20, "kg", "mass of a wheel"),
  PERP_OPT_POSITIVE(struct vehicle_opts, carriage, 150, "kg", "mass of the carriage"),
  PERP_OPT_NONNEGATIVE(struct vehicle_opts, torque, 60, "N m", "on each of four wheels"),
  PERP_OPT_POSITIVE(struct vehicle_opts, stiffness, 2e4, "N/m", "of a suspension"),
  PERP_OPT_POSITIVE(struct vehicle_opts, damping, 3e3, "N s/m", "of a suspension"),
  PERP_OPT_MU(struct vehicle_opts, mu, 0.8),
  PERP_OPT_G(struct vehicle_opts),
  PERP_OPTIONS_END
};

static const double radius = 0.3, hub_mass = 5, height = 0.7, free_length = 0.3;

/* a wheel with its hinge on body at p (world), the body's frame being parallel to the world's at
 * `centre` */
static int add_wheel(perp_builder *y, double mass, int body, const double centre[3],
                     const double p[3])
{
  const int wheel = perp_build_ball(y, NULL, mass, radius, 0.4, p);
  perp_joint_def axle = perp_scene_joint(PERP_JOINT_HINGE, NULL, body, wheel, 1);
  for (int k = 0; k < 3; k++) axle.anchor_a[k] = p[k] - centre[k];
  perp_build_joint(y, &axle);
  return wheel;
}

static int vehicle_add_block(perp_builder *y, double mass, double a, double b, double c,
                             const double p[3])
{
  perp_body_def def = { .mass = perp_mass_box(mass, a, b, c) };
  return perp_build_body(y, &def, p, 0, 0);
}

static void add_corner(perp_builder *y, const struct vehicle_opts *o, int chassis, double x,
                       double side)
{
  const double p[3] = { x, side, radius };
  const double load = o->chassis * o->gravity / 4;
  const int hub = vehicle_add_block(y, hub_mass, 0.2, 0.1, 0.2, p);
  const double up = radius - height;
  perp_joint_def slider = { .kind = PERP_JOINT_SLIDER,
                            .a = chassis,
                            .b = hub,
                            .anchor_a = { x, side, up },
                            .axis_a = { 0, 0, 1 } };
  /* from a point above the hub: compressed by the load of a quarter of the chassis */
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = chassis,
                            .b = hub,
                            .anchor_a = { x, side, up + free_length },
                            .stiffness = o->stiffness,
                            .damping = o->damping,
                            .length = free_length + load / o->stiffness };
  perp_build_joint(y, &slider);
  perp_build_force(y, &spring);
  const int wheel = add_wheel(y, o->wheel, hub, p, p);
  /* about +y: forward along +x */
  perp_force_def torque = { .kind = PERP_FORCE_TORQUE, .a = wheel, .value = { 0, o->torque, 0 } };
  perp_build_force(y, &torque);
}

static perp_status vehicle_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct vehicle_opts *o = opts;
  const double carriage_at[3] = { -2.5, 0, 0.5 };
  perp_builder y = perp_build_begin(ctx, scene, 3, o->gravity, o->mu, 0);
  perp_build_floor(&y);
  const int chassis = vehicle_add_block(&y, o->chassis, 2.4, 1.2, 0.3,
                                        (const double[3]){ 0, 0, height });
  for (int i = 0; i < 4; i++)
    add_corner(&y, o, chassis, i < 2 ? 0.9 : -0.9, i % 2 == 0 ? 0.7 : -0.7);
  /* its wheels are below its centre of mass: the hitch carries nothing at rest */
  const int carriage = vehicle_add_block(&y, o->carriage, 1.2, 1, 0.3, carriage_at);
  for (int side = -1; side <= 1; side += 2)
    add_wheel(&y, o->wheel, carriage, carriage_at,
              (const double[3]){ carriage_at[0], 0.6 * side, radius });
  const perp_joint_def hitch = { .name = "hitch",
                                 .kind = PERP_JOINT_BALL,
                                 .a = chassis,
                                 .b = carriage,
                                 .anchor_a = { -1.5, 0, 0.5 - height },
                                 .anchor_b = { 1, 0, 0 } };
  perp_build_joint(&y, &hitch);
  PERP_TRY(perp_build_end(&y, 2 * radius, 4));
  scene->h = 2e-3;
  scene->driven = true;
  const double mass = o->chassis + o->carriage + 6 * o->wheel + 4 * hub_mass;
  const double a[3] = { 4 * o->torque / radius / (mass + 6 * 0.4 * o->wheel), 0, 0 };
  const perp_force_truth floor = { PERP_WORLD, PERP_ANY_BODY, mass * o->gravity };
  PERP_TRY(perp_gauge_accel(ctx, scene, chassis, a, o->gravity, 2, 4));
  return perp_gauge_force(ctx, scene, 1, &floor, floor.exact, 2);
}

const perp_scene_desc perp_scene_vehicle = {
  .d = { .name = "vehicle",
         .summary = "a sprung vehicle with a carriage drives off: wheels roll, contacts carry",
         .reference = "Vondrak 2005, section 9.1.5 (TestVehicle); rigid-body mechanics of rolling",
         .equation = "a = (4 T / r) / (M + 6 (2/5) m_w)",
         PERP_OPTIONS(options, struct vehicle_opts) },
  .build = vehicle_build,
};
