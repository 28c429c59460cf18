/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block on a slider, driven by a motor of limited force against dry friction of the slider:
 *
 *      m xdot' = clamp(what it takes to reach `velocity`, +-force) - friction sign(xdot)
 *
 * Below the friction it sticks.  Above, it accelerates by (force - friction) / m until it has its
 * velocity, which the motor then holds with the force of friction only.  On the velocity level the
 * closed form is met to rounding in the velocity (accel.rel.err, while it accelerates) and to O(h)
 * in the position; the acceleration level locates the time when it has its velocity, and meets the
 * position too. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

struct motor_opts {
  double mass, velocity, force, friction;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct motor_opts, mass, 2, "kg", "of the block"),
  PERP_OPT_FINITE(struct motor_opts, velocity, 0.3, "m/s", "desired by the motor"),
  PERP_OPT_POSITIVE(struct motor_opts, force, 3, "N", "the motor has at most"),
  PERP_OPT_POSITIVE(struct motor_opts, friction, 2, "N", "dry friction of the slider"),
  PERP_OPTIONS_END
};

static void motor_exact(void *user, double t, double *q, double *v)
{
  const struct motor_opts *o = user;
  const double a = fmax(0, o->force - o->friction) / o->mass * copysign(1, o->velocity);
  const double until = a != 0 ? fmin(t, o->velocity / a) : t;
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[3] = 1;
  v[0] = a * until;
  q[0] = a * until * until / 2 + v[0] * (t - until);
}

static perp_status motor_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct motor_opts *o = opts;
  const perp_body_def block = { .name = "block", .mass = perp_mass_box(o->mass, 1, 1, 1) };
  const perp_joint_def slider = perp_scene_joint(PERP_JOINT_SLIDER, "slider", PERP_WORLD, 0, 0);
  perp_drive_def drive[2] = { { .name = "motor", .velocity = o->velocity, .max_force = o->force },
                              { .name = "friction", .max_force = o->friction } };
  for (int i = 0; i < 2; i++) drive[i].lower = -HUGE_VAL, drive[i].upper = HUGE_VAL;
  const perp_scene_parts parts = {
    .gravity = 9.81, .body = &block, .joint = &slider, .drive = drive, .n_drives = 2
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 1, 1e-2));
  scene->dissipative = scene->driven = true;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-15, motor_exact, o, sizeof *o));
  const double a[3] = { fmax(0, o->force - o->friction) / o->mass * copysign(1, o->velocity) };
  return perp_gauge_accel(ctx, scene, 0, a, o->force / o->mass, 0,
                          a[0] != 0 ? o->velocity / a[0] : HUGE_VAL);
}

const perp_scene_desc perp_scene_motor = {
  .d = { .name = "motor",
         .summary = "block on a slider: a motor of limited force against dry friction",
         .reference = "Vondrak 2005, section 7.4; STAR 2012, eq. 49; closed form",
         .equation = "m x'' = F - friction sign(x'),  |F| <= force,  x' -> velocity",
         PERP_OPTIONS(options, struct motor_opts) },
  .build = motor_build,
};
