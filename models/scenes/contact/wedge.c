/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ball or a wedge in a groove between two walls of half angle a, frictionless: N = m g / (2 sin
 * a) at each wall. */
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { BALL, WEDGE };
static const char *const wedge_shapes[] = { "ball", "wedge", NULL };

struct wedge_opts {
  double angle, size, mass, mu, gravity;
  int shape, dim;
};
static const perp_opt wedge_options[] = {
  PERP_REAL(struct wedge_opts, angle, M_PI / 6, 0.01, 1.5, 0, "rad",
            "Half of the opening angle of the groove."),
  PERP_OPT_POSITIVE(struct wedge_opts, size, 0.5, "m",
                    "Radius of the ball, or height of the wedge."),
  PERP_OPT_POSITIVE(struct wedge_opts, mass, 1, "kg", "Mass of the body."),
  PERP_OPT_MU(struct wedge_opts, mu, 0),
  PERP_OPT_G(struct wedge_opts),
  PERP_ENUM(struct wedge_opts, shape, WEDGE, wedge_shapes, "Body in the groove."),
  PERP_OPT_DIM(struct wedge_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_wedge(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct wedge_opts *chosen = opts;
  const double origin[3] = { 0 }, s = chosen->size;
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  builder.depth = s;
  perp_build_plane(&builder, "left wall", origin, M_PI_2 - chosen->angle, 0);
  perp_build_plane(&builder, "right wall", origin, chosen->angle - M_PI_2, 0);
  if (chosen->shape == BALL) {
    const double p[3] = { 0, 0, s / sin(chosen->angle) };
    perp_build_ball(&builder, "ball", chosen->mass, s, 0.4, p);
  } else {
    const double w = s * tan(chosen->angle), corner[6] = { 0, 0, w, s, -w, s };
    perp_build_polygon(&builder, "wedge", chosen->mass, 3, corner);
  }
  PERP_TRY(perp_build_end(&builder, s, 1));
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, 1, s / 2, 0));
  if (chosen->mu > 0) return PERP_OK; /* friction makes the forces undetermined */
  const perp_force_truth both = { PERP_WORLD, 0,
                                  chosen->mass * chosen->gravity / sin(chosen->angle) };
  return perp_gauge_force(ctx, scene, 1, &both, both.exact, 0);
}

const perp_scene_desc perp_scene_wedge = {
  .d = { .name = "wedge",
         .summary = "Wedge or ball in a groove between two walls",
         .reference = "statics of the V groove",
         .equation = "N = m g / (2 sin a)",
         PERP_OPTIONS(wedge_options, struct wedge_opts) },
  .build = build_wedge,
};
