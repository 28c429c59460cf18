/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projectile: a free sphere under gravity with drag.
 *
 * Linear drag c (kg/s), k = c/m:   xdot = u exp(-k t),            x = u (1 - exp(-k t)) / k,
 *      zdot = (w + g/k) exp(-k t) - g/k,  z = (w + g/k) (1 - exp(-k t)) / k - g t / k,
 * with 1 - exp evaluated without cancellation, so that k -> 0 is the parabola.  With quadratic drag
 * there is no closed form and the truth is the integrated one. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

struct projectile_opts {
  double mass, speed, angle, linear, quadratic, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_REAL(struct projectile_opts, mass, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "kg",
            "mass"),
  PERP_REAL(struct projectile_opts, speed, 20, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s", "initial speed"),
  PERP_REAL(struct projectile_opts, angle, M_PI / 4, -M_PI_2, M_PI_2, 0, "rad", "elevation"),
  PERP_REAL(struct projectile_opts, linear, 0.1, 0, HUGE_VAL, PERP_OPEN_MAX, "Ns/m", "linear drag"),
  PERP_REAL(struct projectile_opts, quadratic, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "kg/m",
            "quadratic drag"),
  PERP_REAL(struct projectile_opts, gravity, 9.81, -HUGE_VAL, HUGE_VAL,
            PERP_OPEN_MIN | PERP_OPEN_MAX, "m/s^2", "gravity"),
  PERP_INT(struct projectile_opts, dim, 3, 2, 3, "2 = plane, 3 = space"),
  PERP_OPTIONS_END
};

static perp_status projectile_exact(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const struct projectile_opts *o = user;
  (void)ctx;
  const double k = o->linear / o->mass, g = o->gravity;
  const double vx = o->speed * cos(o->angle), vz = o->speed * sin(o->angle);
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
  double p[3], rate[3];
  perp_in_plane(o->dim, vx * e1, vz * e1 - g * e2, p);
  perp_in_plane(o->dim, vx * decay, vz * decay - g * e1, rate);
  const int nq = o->dim == 3 ? 7 : 3, nv = o->dim == 3 ? 6 : 3;
  for (int i = 0; i < nq; i++) q[i] = i < o->dim ? p[i] : 0;
  for (int i = 0; i < nv; i++) v[i] = i < o->dim ? rate[i] : 0;
  if (o->dim == 3) q[3] = 1;
  return PERP_OK;
}

static perp_status projectile_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct projectile_opts *o = opts;
  perp_body_def ball = { .name = "ball", .mass = perp_mass_sphere(o->mass, 0.1) };
  perp_in_plane(o->dim, o->speed * cos(o->angle), o->speed * sin(o->angle), ball.v);
  perp_force_def drag = {
    .kind = PERP_FORCE_DRAG, .a = 0, .b = PERP_WORLD, .linear = o->linear, .quadratic = o->quadratic
  };
  PERP_TRY(perp_model_create(ctx, o->dim, &scene->model));
  perp_model_gravity(scene->model, o->gravity);
  PERP_TRY(perp_model_add_body(ctx, scene->model, &ball, NULL));
  if (o->linear > 0 || o->quadratic > 0) PERP_TRY(perp_model_add_force(ctx, scene->model, &drag));
  PERP_TRY(perp_model_finish(ctx, scene->model));
  scene->gravity = o->gravity;
  scene->t_end = 2;
  scene->h = 0.01;
  scene->tip_body = 0;
  scene->dissipative = o->linear > 0 || o->quadratic > 0;
  scene->isolated = !scene->dissipative;
  if (o->quadratic == 0) {
    struct projectile_opts *copy = malloc(sizeof *copy);
    if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "projectile: no memory");
    *copy = *o;
    PERP_TRY(perp_truth_add(ctx, scene, "closed form", HUGE_VAL, 1e-15, projectile_exact, copy));
  }
  return perp_truth_reduced(ctx, scene, 60, 1e-11);
}

const perp_scene_desc perp_scene_projectile = {
  .d = { .name = "projectile",
         .summary = "a sphere thrown under gravity with linear or quadratic drag",
         .reference = "closed form for linear drag",
         .equation = "m x'' = m g - linear x' - quadratic |x'| x'",
         .opts = options,
         .opts_size = sizeof(struct projectile_opts) },
  .build = projectile_build,
};
