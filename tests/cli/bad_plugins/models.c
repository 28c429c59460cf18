/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene whose model contradicts itself in one way or another. */
#include "perp.h"

#include <stdlib.h>
#include <unistd.h>

enum what {
  LIMITS,
  AXIS,
  SELF,
  STIFFNESS,
  SERVO,
  CURVE,
  DOMAIN,
  ANCHOR,
  NO_AXIS,
  SLENDER,
  CRASH,
  LOOP,
  GOOD
};
static const char *const whats[] = { "limits", "axis",   "self",   "stiffness", "servo",
                                     "curve",  "domain", "anchor", "no-axis",   "slender",
                                     "crash",  "loop",   "good",   NULL };
struct opts {
  int what;
};
static const perp_opt options[] = { PERP_ENUM(struct opts, what, LIMITS, whats, "what is wrong"),
                                    PERP_OPTIONS_END };

static perp_status build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct opts *o = opts;
  perp_body_def body = { .name = "block", .mass = perp_mass_box(1, 1, 1, 1) };
  perp_joint_def joint = {
    .name = "rail", .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .axis_a = { 1 }, .axis_b = { 1 }
  };
  perp_drive_def drive = { .name = "stop", .lower = -1, .upper = 1 };
  if (o->what == SLENDER)
    body.mass.inertia[0] = 0; /* a rod without thickness: M would be singular */
  if (o->what == LIMITS) drive.lower = 2;
  if (o->what == AXIS) joint.axis_a[0] = 0;
  if (o->what == SELF) joint.a = 0;
  if (o->what == STIFFNESS) joint.stiffness = -5;
  if (o->what == SERVO) drive.stiffness = -5;
  if (o->what == ANCHOR) joint.anchor_b[1] = 0.5;
  if (o->what == NO_AXIS) drive.axis = PERP_DRIVE_B;
  if (o->what == CURVE || o->what == DOMAIN) {
    joint.kind = PERP_JOINT_CURVE;
    joint.axis_b[0] = 0, joint.axis_b[1] = 1;
    joint.curve = (perp_curve_def){ .kind = PERP_CURVE_LINE, .lower = 3, .upper = 2 };
    if (o->what == DOMAIN) joint.curve.lower = 1; /* the block is at s = 0 */
  }
  if (o->what == CRASH) abort();
  while (o->what == LOOP) sleep(1);
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  PERP_TRY(perp_model_add_body(ctx, scene->model, &body, NULL));
  PERP_TRY(perp_model_add_joint(ctx, scene->model, &joint, NULL));
  if (joint.kind == PERP_JOINT_SLIDER)
    PERP_TRY(perp_model_add_drive(ctx, scene->model, &drive, NULL));
  PERP_TRY(perp_model_finish(ctx, scene->model));
  scene->t_end = 1;
  scene->h = 1e-2;
  return PERP_OK;
}

static const perp_scene_desc wrong = { .d = { .name = "bad-model",
                                              .summary = "a model that contradicts itself",
                                              .reference = "tests",
                                              .equation = "0 = 1",
                                              .opts = options,
                                              .opts_size = sizeof(struct opts) },
                                       .build = build };

PERP_OUTSIDE({ PERP_KIND_scene, &wrong.d });
