/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vondrak's test of critical contacts (2005, sections 6.5.2 and 9.1): a box between two fixed
 * plates that are `squeeze` too near.  Where overlap asks bodies to part, both ask for
 * accelerations that exclude each other: w_1 = a + x >= 0, w_2 = -a - y >= 0, y > x.  The box is to
 * be stopped, and then nothing moves.
 *
 * No scene file: where solvers end that go on without a solution hangs on the order of the shapes,
 * in which the box stands between the plates. */
#include "models/scenes/scene_builder.h"

struct crush_opts {
  double squeeze, edge, mass, mu, gravity;
  int dim;
};
static const perp_opt crush_options[] = {
  PERP_REAL(struct crush_opts, squeeze, 0.01, 0, 0.5, 0, "",
            "Depth of the upper plate below its fitting height, in edges of the box."),
  PERP_OPT_POSITIVE(struct crush_opts, edge, 1, "m", "Edge length of the box."),
  PERP_OPT_POSITIVE(struct crush_opts, mass, 1, "kg", "Mass of the box."),
  PERP_OPT_MU(struct crush_opts, mu, 0.5),
  PERP_OPT_G(struct crush_opts),
  PERP_OPT_DIM(struct crush_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_crush(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct crush_opts *o = opts;
  const double a = o->edge, cube[3] = { a, a, a }, slab[3] = { 2 * a, 2 * a, a / 5 };
  const double middle[3] = { 0, 0, a / 2 }, above[3] = { 0, 0, a + a / 10 - o->squeeze * a };
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&builder);
  const int box = perp_build_box(&builder, "box", o->mass, cube, middle, 0, 0);
  perp_build_box(&builder, "plate", 0, slab, above, 0, 0);
  PERP_TRY(perp_build_end(&builder, a, 1));
  return perp_gauge_rest(ctx, scene, box, 1, a / 2, 0);
}

const perp_scene_desc perp_scene_crush = {
  .d = { .name = "crush",
         .summary = "Box crushed by two fixed plates: contacts that cannot be satisfied",
         .reference = "statics; Vondrak 2005, sections 6.5.2 and 9.1 (critical contacts)",
         .equation = "w_1 = a + x >= 0, w_2 = -a - y >= 0, y > x: no a",
         PERP_OPTIONS(crush_options, struct crush_opts) },
  .build = build_crush,
};
