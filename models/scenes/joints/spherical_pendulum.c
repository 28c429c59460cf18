/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spherical pendulum: a point mass on a massless rod, free to move on the sphere.  From (L, 0, 0)
 * with velocity (0, speed, 0): by default L = m = 1, speed = 2.
 *
 * A body held at its centre of mass by a distance joint: it never turns.  Energy and the angular
 * momentum m L speed about the vertical are conserved. */
#include "models/scenes/build.h"

#include <math.h>

struct spherical_opts {
  double length, mass, speed, gravity;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct spherical_opts, length, 1, "m", "length"),
  PERP_OPT_POSITIVE(struct spherical_opts, mass, 1, "kg", "mass"),
  PERP_OPT_FINITE(struct spherical_opts, speed, 2, "m/s", "initial horizontal speed"),
  PERP_OPT_NONNEGATIVE(struct spherical_opts, gravity, 9.81, "m/s^2", "gravity"), PERP_OPTIONS_END
};

static perp_status spherical_pendulum_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "b0_x",   "b0_y",   "b0_z",  "b0_qw", "b0_qx",
                                         "b0_qy",  "b0_qz",  "b0_vx", "b0_vy", "b0_vz",
                                         "b0_wbx", "b0_wby", "b0_wbz" };
  const struct spherical_opts *o = opts;
  perp_body_def mass = { .name = "mass",
                         .mass = perp_mass_sphere(o->mass, o->length / 10),
                         .x = { o->length, 0, 0 },
                         .v = { 0, o->speed, 0 } };
  perp_joint_def rod = {
    .name = "rod", .kind = PERP_JOINT_DISTANCE, .a = PERP_WORLD, .b = 0, .length = o->length
  };
  const perp_scene_parts parts = { .gravity = o->gravity, .body = &mass, .joint = &rod };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 10, 1e-3));
  if (o->length == 1 && o->speed == 2 && o->gravity == 9.81)
    PERP_TRY(
        perp_truth_file(ctx, scene, "C_spherical_pendulum.csv", 1e-15, 13, columns, NULL, NULL, 0));
  return perp_truth_reduced(ctx, scene, 60, 1e-10);
}

const perp_scene_desc perp_scene_spherical_pendulum = {
  .d = { .name = "spherical-pendulum",
         .summary = "a point mass on a massless rod, free on the sphere",
         .reference = "own reference to 28 digits",
         .equation = "|x| = L, m x'' = m g + lambda x / L",
         PERP_OPTIONS(options, struct spherical_opts) },
  .build = spherical_pendulum_build,
};
