/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projectile: a free sphere under gravity with drag.
 *
 * Linear drag c (kg/s), k = c/m:
 *
 *      xdot = u exp(-k t),                x = u (1 - exp(-k t)) / k
 *
 *      zdot = (w + g/k) exp(-k t) - g/k,  z = (w + g/k) (1 - exp(-k t)) / k - g t / k
 *
 * with 1 - exp evaluated without cancellation, so that k -> 0 is the parabola.  With quadratic drag
 * there is no closed form and the truth is the integrated one. */
#include "models/scenes/build.h"

#include <math.h>

struct projectile_opts {
  double mass, speed, angle, linear, quadratic, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct projectile_opts, mass, 1, "kg", "Mass of the sphere."),
  PERP_OPT_NONNEGATIVE(struct projectile_opts, speed, 20, "m/s", "Initial speed."),
  PERP_REAL(struct projectile_opts, angle, M_PI / 4, -M_PI_2, M_PI_2, 0, "rad",
            "Elevation angle of the initial velocity."),
  PERP_OPT_NONNEGATIVE(struct projectile_opts, linear, 0.1, "Ns/m", "Coefficient of linear drag."),
  PERP_OPT_NONNEGATIVE(struct projectile_opts, quadratic, 0, "kg/m",
                       "Coefficient of quadratic drag."),
  PERP_OPT_FINITE(struct projectile_opts, gravity, 9.81, "m/s^2", "Gravitational acceleration."),
  PERP_OPT_DIM(struct projectile_opts, 3),
  PERP_OPTIONS_END
};

static void projectile_exact(void *user, double t, double *q, double *v)
{
  const struct projectile_opts *opts = user;
  const double k = opts->linear / opts->mass, g = opts->gravity;
  const double vx = opts->speed * cos(opts->angle), vz = opts->speed * sin(opts->angle);
  /* e1 = (1 - exp(-k t)) / k,  e2 = (t - e1) / k; their series where kt is small */
  const double x = k * t, decay = exp(-x);
  double e1 = t, e2 = t * t / 2;
  if (x > 0.05) {
    e1 = -expm1(-x) / k;
    e2 = (t - e1) / k;
  } else if (x > 0) {
    double term1 = t, term2 = t * t / 2;
    for (int n = 2; n < 16; n++) {
      term1 *= -x / n;
      term2 *= -x / (n + 1);
      e1 += term1;
      e2 += term2;
    }
  }
  const perp_planar at = {
    .x = vx * e1, .height = vz * e1 - g * e2, .vx = vx * decay, .vheight = vz * decay - g * e1
  };
  perp_planar_state(opts->dim, 0, &at, q, v);
}

static perp_status projectile_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct projectile_opts *o = opts;
  perp_body_def ball = { .name = "ball", .mass = perp_mass_sphere(o->mass, 0.1) };
  const double thrown[3] = { o->speed * cos(o->angle), 0, o->speed * sin(o->angle) };
  perp_scene_point(o->dim, thrown, ball.v);
  perp_force_def drag = {
    .kind = PERP_FORCE_DRAG, .a = 0, .b = PERP_WORLD, .linear = o->linear, .quadratic = o->quadratic
  };
  scene->dissipative = o->linear > 0 || o->quadratic > 0;
  const perp_scene_parts parts = {
    .dim = o->dim, .gravity = o->gravity, .body = &ball, .force = scene->dissipative ? &drag : NULL
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 2, 0.01));
  scene->isolated = !scene->dissipative;
  if (o->quadratic == 0)
    PERP_TRY(perp_truth_add(ctx, scene, "closed form", 1e-15, projectile_exact, o, sizeof *o));
  return perp_truth_reduced(ctx, scene, 60, 1e-11);
}

const perp_scene_desc perp_scene_projectile = {
  .d = { .name = "projectile",
         .summary = "Sphere thrown under gravity with linear or quadratic drag",
         .reference = "closed form for linear drag",
         .equation = "m x'' = m g - linear x' - quadratic |x'| x'",
         PERP_OPTIONS(options, struct projectile_opts) },
  .build = projectile_build,
};
