/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block on a slider, driven by a motor of limited force against dry friction of the slider:
 *
 *      m xdot' = clamp(what it takes to reach `velocity`, +-force) - friction sign(xdot)
 *
 * Below the friction it sticks.  Above, it accelerates by (force - friction) / m until it has its velocity,
 * which the motor then holds with the force of friction only.  On the velocity level the closed form is met to
 * rounding in the velocity (accel.rel.err, while it accelerates) and to O(h) in the position; the acceleration level
 * locates the time when it has its velocity, and meets the position too. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct motor_opts {
  double mass, velocity, force, friction;
};
static const perp_opt options[] = {
  PERP_REAL(struct motor_opts, mass, 2, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "kg",
            "of the block"),
  PERP_REAL(struct motor_opts, velocity, 0.3, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "m/s", "desired by the motor"),
  PERP_REAL(struct motor_opts, force, 3, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "N",
            "the motor has at most"),
  PERP_REAL(struct motor_opts, friction, 2, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "N",
            "dry friction of the slider"),
  PERP_OPTIONS_END
};

static perp_status motor_exact(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const struct motor_opts *o = user;
  const double a = fmax(0, o->force - o->friction) / o->mass * copysign(1, o->velocity);
  const double until = a != 0 ? fmin(t, o->velocity / a) : t;
  (void)ctx;
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[3] = 1;
  v[0] = a * until;
  q[0] = a * until * until / 2 + v[0] * (t - until);
  return PERP_OK;
}

static perp_status motor_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct motor_opts *o = opts;
  const perp_body_def block = { .name = "block", .mass = perp_mass_box(o->mass, 1, 1, 1) };
  const perp_joint_def slider = {
    .name = "slider", .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1 }
  };
  const perp_drive_def motor = { .name = "motor",
                                 .lower = -HUGE_VAL,
                                 .upper = HUGE_VAL,
                                 .velocity = o->velocity,
                                 .max_force = o->force };
  const perp_drive_def friction = {
    .name = "friction", .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = o->friction
  };
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  PERP_TRY(perp_model_add_body(ctx, scene->model, &block, NULL));
  PERP_TRY(perp_model_add_joint(ctx, scene->model, &slider, NULL));
  PERP_TRY(perp_model_add_drive(ctx, scene->model, &motor, NULL));
  PERP_TRY(perp_model_add_drive(ctx, scene->model, &friction, NULL));
  PERP_TRY(perp_model_finish(ctx, scene->model));
  scene->gravity = 9.81;
  scene->t_end = 1;
  scene->h = 1e-2;
  scene->tip_body = 0;
  scene->dissipative = scene->driven = true;
  struct motor_opts *copy = malloc(sizeof *copy);
  if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "motor: no memory");
  *copy = *o;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form", HUGE_VAL, 1e-15, motor_exact, copy));
  const double a[3] = { fmax(0, o->force - o->friction) / o->mass * copysign(1, o->velocity) };
  return perp_gauge_accel(ctx, scene, 0, a, o->force / o->mass, 0,
                          a[0] != 0 ? o->velocity / a[0] : HUGE_VAL);
}

const perp_scene_desc perp_scene_motor = {
  .d = { .name = "motor",
         .summary = "block on a slider: a motor of limited force against dry friction",
         .reference = "Vondrak 2005, section 7.4; STAR 2012, eq. 49; closed form",
         .equation = "m x'' = F - friction sign(x'),  |F| <= force,  x' -> velocity",
         .opts = options,
         .opts_size = sizeof(struct motor_opts) },
  .build = motor_build,
};
