/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes on boxes: nothing may move, and the forces are those of statics.
 *
 *   stack    N cubes: the force on the lower face of cube i (0 at the floor) is (N - i) m g; a
 * sweep of cold-started PGS contracts by cos^2(pi / 2N).  overlap > 0: Vondrak's
 *            TestContactStabilization, err.tip.end is what is left of it
 *   wall     bricks in running bond, half bricks at the ends of every other row
 *   pyramid  rows of n, n - 1, ..., 1 cubes at a pitch of 1.1 edges
 *
 * In wall and pyramid the distribution of forces is not determined by statics; the floor carries
 * the whole weight. Rest is judged from `settle` on. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>

/* Of all three: each has its own part of them as options, the others are 0. */
struct stack_opts {
  int boxes, rows, columns;
  double edge, length, mass, mu, settle, gravity, overlap, pitch;
  int dim;
};
/* what all three have */
#define STACK_OPTIONS                                                                              \
  PERP_OPT_MU(struct stack_opts, mu, 0.5), PERP_OPT_SETTLE(struct stack_opts),                     \
      PERP_OPT_G(struct stack_opts), PERP_OPT_DIM(struct stack_opts, 3)

static const perp_opt stack_options[] = {
  PERP_INT(struct stack_opts, boxes, 5, 1, 100000, "Number of cubes."),
  PERP_OPT_POSITIVE(struct stack_opts, edge, 1, "m", "Edge length of a cube."),
  PERP_OPT_POSITIVE(struct stack_opts, mass, 1, "kg", "Mass of a cube."),
  STACK_OPTIONS,
  PERP_OPT_NONNEGATIVE(struct stack_opts, overlap, 0, "m",
                       "Initial overlap of neighbours, which the stabilization must remove."),
  PERP_OPTIONS_END
};

/* Where overlapping boxes should end: on each other. */
static void stack_apart(void *user, double t, double *q, double *v)
{
  const struct stack_opts *opts = user;
  (void)t;
  for (int i = 0; i < opts->boxes; i++) {
    const perp_planar box = { .height = (i + 0.5) * opts->edge };
    perp_planar_state(opts->dim, i, &box, q, v);
  }
}

static perp_status build_stack(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct stack_opts *o = opts;
  const int top = o->boxes - 1;
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&builder);
  const double size[3] = { o->edge, o->edge, o->edge };
  for (int i = 0; i < o->boxes; i++) {
    const double p[3] = { 0, 0, (i + 0.5) * o->edge - (i + 1) * o->overlap };
    perp_build_box(&builder, NULL, o->mass, size, p, 0, 0);
  }
  PERP_TRY(perp_build_end(&builder, o->edge, 10));
  if (o->overlap > 0) {
    scene->tip_body = top;
    PERP_TRY(perp_truth_add(ctx, scene, "statics: boxes on each other", 1e-15, stack_apart, o,
                            sizeof *o));
  }
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, o->boxes, o->edge / 2, o->settle));
  perp_force_truth *force = malloc((size_t)o->boxes * sizeof *force);
  if (force == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d boxes", o->boxes);
  double load = 0;
  for (int i = top; i >= 0; i--) {
    load += o->mass * o->gravity;
    force[i] = (perp_force_truth){ i - 1, i, load };
  }
  perp_status status = perp_gauge_force(ctx, scene, o->boxes, force, load, o->settle);
  free(force);
  return status;
}

const perp_scene_desc perp_scene_stack = {
  .d = { .name = "stack",
         .summary = "Stack of N cubes: nothing may move, contact forces follow from statics",
         .reference = "statics; Vondrak 2005, section 9.1",
         .equation = "lambda_i = (N - i) m g",
         PERP_OPTIONS(stack_options, struct stack_opts) },
  .build = build_stack,
};

/* ---- wall ---- */

static const perp_opt wall_options[] = {
  PERP_INT(struct stack_opts, rows, 6, 1, 1000, "Number of rows of bricks."),
  PERP_INT(struct stack_opts, columns, 5, 1, 1000, "Number of bricks in a row."),
  PERP_OPT_POSITIVE(struct stack_opts, length, 0.4, "m",
                    "Length of a brick. Height and depth are half of it."),
  PERP_OPT_POSITIVE(struct stack_opts, mass, 1, "kg", "Mass of a brick."),
  STACK_OPTIONS,
  PERP_OPTIONS_END
};

/* the gauges of a structure whose floor carries all of it */
static perp_status stands_still(perp_ctx *ctx, perp_scene *scene, double radius, double settle)
{
  const int n = perp_model_bodies(scene->model);
  double weight = 0;
  for (int i = 0; i < n; i++)
    weight += perp_model_body(scene->model, i)->mass.mass * scene->gravity;
  const perp_force_truth floor = { PERP_WORLD, PERP_ANY_BODY, weight };
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, n, radius, settle));
  return perp_gauge_force(ctx, scene, 1, &floor, weight, settle);
}

static perp_status build_wall(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct stack_opts *chosen = opts;
  const double L = chosen->length, height = L / 2;
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  perp_build_floor(&builder);
  for (int row = 0; row < chosen->rows; row++) {
    double x = 0;
    for (int column = 0; column < chosen->columns + row % 2; column++) {
      const bool half = row % 2 == 1 && (column == 0 || column == chosen->columns);
      const double size[3] = { half ? L / 2 : L, height, height };
      const double p[3] = { x + size[0] / 2, 0, (row + 0.5) * height };
      perp_build_box(&builder, NULL, half ? chosen->mass / 2 : chosen->mass, size, p, 0, 0);
      x += size[0];
    }
  }
  PERP_TRY(perp_build_end(&builder, L, 2));
  return stands_still(ctx, scene, L / 2, chosen->settle);
}

const perp_scene_desc perp_scene_wall = {
  .d = { .name = "wall",
         .summary = "Wall of bricks in running bond: nothing may move",
         .reference = "statics: the floor carries the weight",
         PERP_OPTIONS(wall_options, struct stack_opts) },
  .build = build_wall,
};

/* ---- pyramid ---- */

static const perp_opt pyramid_options[] = {
  PERP_INT(struct stack_opts, rows, 10, 1, 200,
           "Number of cubes in the lowest row. 10 rows have 55 cubes, 20 rows have 210."),
  PERP_OPT_POSITIVE(struct stack_opts, edge, 1, "m", "Edge length of a cube."),
  PERP_REAL(struct stack_opts, pitch, 1.1, 1, 2, PERP_OPEN_MAX, "",
            "Distance between the centres of neighbours in a row, in edges."),
  PERP_OPT_POSITIVE(struct stack_opts, mass, 1, "kg", "Mass of a cube."),
  STACK_OPTIONS,
  PERP_OPTIONS_END
};

static perp_status build_pyramid(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct stack_opts *chosen = opts;
  const double a = chosen->edge, size[3] = { a, a, a };
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  perp_build_floor(&builder);
  for (int row = 0; row < chosen->rows; row++)
    for (int c = 0; c < chosen->rows - row; c++) {
      const double p[3] = { (c - (chosen->rows - row - 1) / 2.0) * chosen->pitch * a, 0,
                            (row + 0.5) * a };
      perp_build_box(&builder, NULL, chosen->mass, size, p, 0, 0);
    }
  PERP_TRY(perp_build_end(&builder, a, 2.5));
  return stands_still(ctx, scene, a / 2, chosen->settle);
}

const perp_scene_desc perp_scene_pyramid = {
  .d = { .name = "pyramid",
         .summary = "Pyramid with rows of n, n - 1, ..., 1 cubes: nothing may move",
         .reference = "statics: the floor carries the weight",
         PERP_OPTIONS(pyramid_options, struct stack_opts) },
  .build = build_pyramid,
};
