/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structures that stand or fall by a closed form of statics.
 *
 *   card-house   two cards lean on each other, feet on the floor, mirror images: the thrust H acts
 *                at some height y <= y_max of the vertical face where they meet, the foot force at
 *                some x <= x_max of the foot; moments about the foot give H y = W (x_c - x), and
 *                the foot needs H <= mu W, so that the house stands iff mu >= (x_c - x_max) / y_max
 *                (thin cards: tan(theta) / 2)
 *   overhang     n bricks of length 1 at the edge of a table, brick i (1 = top) moved out by
 *                factor / (2 i): stands iff factor <= 1; 25/24 at n = 4 */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

/* ---- card house ---- */

struct card_opts {
  double theta, mu, length, thickness, mass, gravity;
  int dim;
};
static const perp_opt card_options[] = {
  PERP_REAL(struct card_opts, theta, M_PI / 9, 0.01, 1.2, 0, "rad",
            "Angle of the cards from the vertical."),
  PERP_OPT_MU(struct card_opts, mu, 0.2),
  PERP_OPT_POSITIVE(struct card_opts, length, 1, "m", "Length of the outer edge of a card."),
  PERP_OPT_POSITIVE(struct card_opts, thickness, 0.02, "m", "Horizontal thickness of a card."),
  PERP_OPT_POSITIVE(struct card_opts, mass, 0.1, "kg", "Mass of a card."),
  PERP_OPT_G(struct card_opts),
  PERP_OPT_DIM(struct card_opts, 2),
  PERP_OPTIONS_END
};

/* the left card, its foot from 0 to w, cut vertically where it meets the other */
static void thresholds_card(const struct card_opts *opts, double corner[8])
{
  const double s = sin(opts->theta), c = cos(opts->theta), L = opts->length, w = opts->thickness;
  const double meet = L * s;
  const double p[8] = { 0, 0, w, 0, meet, (meet - w) * c / s, meet, L * c };
  memcpy(corner, p, sizeof p);
}

double perp_card_house_mu(double theta, double length, double thickness)
{
  const struct card_opts opts = { .theta = theta, .length = length, .thickness = thickness };
  double corner[8], area, com[2], polar;
  thresholds_card(&opts, corner);
  perp_polygon_moments(4, corner, &area, com, &polar);
  return fmax(0, (com[0] - thickness) / corner[7]);
}

static perp_status build_card(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct card_opts *chosen = opts;
  double left[8], right[8];
  if (!(chosen->thickness < 0.9 * chosen->length * sin(chosen->theta)))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "card-house: thickness must be below 0.9 length sin(theta) = %g m: got %g m",
                     0.9 * chosen->length * sin(chosen->theta), chosen->thickness);
  thresholds_card(chosen, left);
  const double meet = left[4];
  for (int i = 0; i < 4; i++) { /* mirrored, in reverse order */
    right[2 * i] = 2 * meet - left[2 * (3 - i)];
    right[2 * i + 1] = left[2 * (3 - i) + 1];
  }
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  builder.depth = chosen->length / 2;
  perp_build_floor(&builder);
  perp_build_polygon(&builder, "left", chosen->mass, 4, left);
  perp_build_polygon(&builder, "right", chosen->mass, 4, right);
  PERP_TRY(perp_build_end(&builder, chosen->length, 2));
  const bool stands = chosen->mu >=
                      perp_card_house_mu(chosen->theta, chosen->length, chosen->thickness);
  PERP_TRY(perp_gauge_stands(ctx, scene, 0, 2, chosen->length / 2, 0.05 * chosen->length, stands));
  if (!stands) return PERP_OK;
  /* friction where the cards meet may hand weight from one to the other: only the sum is known */
  const double weight = 2 * chosen->mass * chosen->gravity;
  const perp_force_truth feet = { PERP_WORLD, PERP_ANY_BODY, weight };
  return perp_gauge_force(ctx, scene, 1, &feet, weight, 0);
}

const perp_scene_desc perp_scene_card_house = {
  .d = { .name = "card-house",
         .summary = "Two leaning cards that stand iff mu >= tan(theta) / 2 (thin cards)",
         .reference = "statics",
         .equation = "mu >= (x_c - x_foot) / y_top",
         PERP_OPTIONS(card_options, struct card_opts) },
  .build = build_card,
};

/* ---- overhang ---- */

struct overhang_opts {
  int bricks;
  double factor, length, mass, mu, gravity;
  int dim;
};
static const perp_opt overhang_options[] = {
  PERP_INT(struct overhang_opts, bricks, 4, 1, 1000, "Number of bricks above the table."),
  PERP_OPT_POSITIVE(struct overhang_opts, factor, 0.98, "",
                    "Factor of the harmonic offsets. The bricks fall above 1."),
  PERP_OPT_POSITIVE(struct overhang_opts, length, 1, "m",
                    "Length of a brick. Its height is a quarter of it."),
  PERP_OPT_POSITIVE(struct overhang_opts, mass, 1, "kg", "Mass of a brick."),
  PERP_OPT_MU(struct overhang_opts, mu, 0.5),
  PERP_OPT_G(struct overhang_opts),
  PERP_OPT_DIM(struct overhang_opts, 2),
  PERP_OPTIONS_END
};

static perp_status build_overhang(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct overhang_opts *o = opts;
  const double L = o->length, height = L / 4, size[3] = { L, L / 2, height };
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  const double table[3] = { 4 * L, 2 * L, height }, at[3] = { -2 * L, 0, -height / 2 };
  perp_build_box(&builder, "table", 0, table, at, 0, 0);
  double end = 0; /* right end of the brick, from the edge of the table at 0 */
  for (int i = 0; i < o->bricks; i++) {
    end += o->factor * L / (2 * (o->bricks - i));
    const double p[3] = { end - L / 2, 0, (i + 0.5) * height };
    perp_build_box(&builder, "brick", o->mass, size, p, 0, 0);
  }
  PERP_TRY(perp_build_end(&builder, L, 2));
  return perp_gauge_stands(ctx, scene, 0, o->bricks, L / 2, 0.05 * L, o->factor <= 1);
}

const perp_scene_desc perp_scene_overhang = {
  .d = { .name = "overhang",
         .summary =
             "Bricks over the edge of a table with harmonic offsets: 25/24 of a length with four",
         .reference = "statics",
         .equation = "sum of 1/(2 i)",
         PERP_OPTIONS(overhang_options, struct overhang_opts) },
  .build = build_overhang,
};
