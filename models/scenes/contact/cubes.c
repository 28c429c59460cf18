/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cubes of side 2 hanging from each other by opposite corners, the first one from a point: the
 * experiments of van Overveld & Barenbrug 1995, section 3, whose masses, gravity and frame they do
 * not give.  count = 1 is their experiment 2, count = 2 their experiment 3; held = false is a free
 * turning cube, experiment 1. */
#include "models/scenes/build.h"

#include <math.h>

struct cubes_opts {
  int count;
  bool held;
  double mass, gravity, spin;
};
static const perp_opt options[] = {
  PERP_INT(struct cubes_opts, count, 1, 1, 1000, "number of cubes"),
  PERP_BOOL(struct cubes_opts, held, true, "hanging; false: one free cube without gravity"),
  PERP_OPT_POSITIVE(struct cubes_opts, mass, 8, "kg", "mass of a cube"),
  PERP_OPT_NONNEGATIVE(struct cubes_opts, gravity, 1, "m/s^2", "gravity, when held"),
  PERP_OPT_FINITE(struct cubes_opts, spin, 0.314, "rad/s", "rate about (1, 2, 2), when free"),
  PERP_OPTIONS_END
};

static perp_status cubes_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct cubes_opts *o = opts;
  if (!o->held && o->count != 1)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "cubes: held=false needs count=1");
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  for (int i = 0; i < o->count; i++) {
    const double x = 1 + 2 * i, w = o->held ? 0 : o->spin / 3, corner = i > 0;
    const perp_body_def cube = { .mass = perp_mass_box(o->mass, 2, 2, 2),
                                 .x = { x, x, x },
                                 .w = { w, 2 * w, 2 * w } };
    const perp_joint_def joint = { .kind = PERP_JOINT_BALL,
                                   .a = i - 1,
                                   .b = i,
                                   .anchor_a = { corner, corner, corner },
                                   .anchor_b = { -1, -1, -1 } };
    PERP_TRY(perp_model_add_body(ctx, scene->model, &cube, NULL));
    if (o->held) PERP_TRY(perp_model_add_joint(ctx, scene->model, &joint, NULL));
  }
  PERP_TRY(perp_scene_finish(ctx, scene, o->held ? o->gravity : 0, 10, 0.02));
  scene->isolated = !o->held;
  for (int i = 0; i < 3; i++) scene->tip[i] = 1;
  return perp_truth_reduced(ctx, scene, 20, 1e-6);
}

const perp_scene_desc perp_scene_cubes = {
  .d = { .name = "cubes",
         .summary = "cubes hanging by their corners, or one turning freely",
         .reference = "van Overveld and Barenbrug 1995, section 3, experiments 1 to 3",
         PERP_OPTIONS(options, struct cubes_opts) },
  .build = cubes_build,
};
