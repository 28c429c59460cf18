/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of drives on both levels share: solvers, a rod on a hinge, a block on a slider. */
#ifndef PERP_DRIVE_MODELS_H
#define PERP_DRIVE_MODELS_H

#include "tests/run_model.h"

static perp_ctx ctx;
static const char *const solvers[] = { "dantzig", "lemke", "pgs:max_iter=100000",
                                       "fischer-newton" };
enum { SOLVERS = 4 };
static const double gravity = 9.81;

__attribute__((unused)) static perp_drive_def unlimited(int joint)
{
  return (perp_drive_def){ .joint = joint, .lower = -HUGE_VAL, .upper = HUGE_VAL };
}

/* rod of 1 m and 2 kg on a hinge about y at the origin, along +x; the hinge is joint 0 */
static perp_model *rod(int dim)
{
  perp_model *model = run_model(&ctx, dim);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(2, 1, 0.1, 0.1), .x = { 0.5 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_b = { -0.5 },
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 1 } });
  return model;
}

/* a block of 2 kg on a slider along x, or along z under gravity; moving at v */
__attribute__((unused)) static perp_model *block(bool upright, double v)
{
  perp_model *model = run_model(&ctx, 3);
  const int axis = upright ? 2 : 0;
  perp_body_def body = { .mass = perp_mass_box(2, 1, 1, 1) };
  perp_joint_def slider = { .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0 };
  body.v[axis] = v;
  slider.axis_a[axis] = 1;
  run_body(&ctx, model, body);
  run_joint(&ctx, model, slider);
  return model;
}

#endif
