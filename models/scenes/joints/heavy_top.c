/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heavy symmetric top: a body of revolution about its y axis, held at the origin, centre of mass at
 * (0, length, 0) of the body.  Defaults: the benchmark of Geradin and Cardona, which starts
 * horizontal with a fast spin and the precession that makes the reaction small.
 *
 * Conserved: energy, angular momentum about the vertical and about the axis of the top, I_yy
 * spin. */
#include "models/scenes/build.h"

#include <math.h>
#include <string.h>

struct top_opts {
  double mass, length, ixx, iyy, spin, precession, gravity;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct top_opts, mass, 15, "kg", "mass"),
  PERP_OPT_POSITIVE(struct top_opts, length, 1, "m", "from the fixed point to the centre of mass"),
  PERP_OPT_POSITIVE(struct top_opts, ixx, 0.234375, "kg m^2",
                    "transverse inertia about the centre of mass"),
  PERP_OPT_POSITIVE(struct top_opts, iyy, 0.46875, "kg m^2", "axial inertia"),
  PERP_OPT_FINITE(struct top_opts, spin, 150, "rad/s", "initial spin about the axis"),
  PERP_OPT_FINITE(struct top_opts, precession, -4.61538, "rad/s",
                  "initial rate about the vertical"),
  PERP_OPT_FINITE(struct top_opts, gravity, 9.81, "m/s^2", "gravity"),
  PERP_OPTIONS_END
};

static perp_status heavy_top_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "com_x",   "com_y",   "com_z",  "qw",     "qx",
                                         "qy",      "qz",      "vcom_x", "vcom_y", "vcom_z",
                                         "wx_body", "wy_body", "wz_body" };
  static const struct top_opts benchmark = { 15, 1, 0.234375, 0.46875, 150, -4.61538, 9.81 };
  const struct top_opts *o = opts;
  perp_body_def top = {
    .name = "top",
    .mass = { o->mass, { o->ixx, 0, 0, 0, o->iyy, 0, 0, 0, o->ixx } },
    .x = { 0, o->length, 0 },
    .v = { -o->precession * o->length, 0, 0 },
    .w = { 0, o->spin, o->precession },
  };
  perp_joint_def point = { .name = "point",
                           .kind = PERP_JOINT_BALL,
                           .a = PERP_WORLD,
                           .b = 0,
                           .anchor_b = { 0, -o->length, 0 } };
  /* the marked point is the centre of mass */
  const perp_scene_parts parts = { .gravity = o->gravity, .body = &top, .joint = &point };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 2, 1e-3));
  if (memcmp(o, &benchmark, sizeof benchmark) == 0)
    PERP_TRY(
        perp_truth_file(ctx, scene, "C_heavytop_geradin.csv", 1e-15, 13, columns, NULL, NULL, 0));
  return perp_truth_reduced(ctx, scene, 20, 1e-9);
}

const perp_scene_desc perp_scene_heavy_top = {
  .d = { .name = "heavy-top",
         .summary = "fast symmetric top on a fixed point",
         .reference = "Geradin & Cardona's heavy top, own reference to 27 digits",
         PERP_OPTIONS(options, struct top_opts) },
  .build = heavy_top_build,
};
