/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Surfaces that move along themselves: a block that is put on a belt slides until it has its speed,
 * v = mu g t; a block on a belt that goes to and fro, slowly enough, is carried along; whatever the
 * frame of the shape.  What does not serve belts says so. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double mu = 0.3, g = 9.81;
static double mu_dynamic = (double)NAN; /* of the block on a belt */

/* A block on a belt along x; turned: the frame of the shape is turned, in space and in the plane.
 * rides: the belt is that of a body whose motion is prescribed. */
static perp_model *belt(int dim, bool turned, bool rides, double speed, double rate)
{
  perp_model *m = run_model(&ctx, dim);
  const int up = dim - 1;
  perp_body_def block = { .mass = perp_mass_box(2, 0.2, 0.2, 0.2) },
                base = { .mass = perp_mass_box(1, 1, 1, 1) };
  perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                         .half = { 0.1, 0.1, 0.1 },
                         .surface = { mu, (double)NAN, 0 } };
  perp_shape_def under = { .kind = PERP_SHAPE_BOX,
                           .body = PERP_WORLD,
                           .half = { 20, 20, 20 },
                           .surface = { mu, (double)NAN, 0 } };
  block.x[up] = 0.1;
  if (!isnan(mu_dynamic)) {
    box.surface.mu_dynamic = under.surface.mu_dynamic = mu_dynamic;
    box.surface.mu = under.surface.mu = 1000;
  }
  int along = 0, sign = 1;
  if (dim == 3 && turned) { /* its y axis along x */
    under.quat[0] = sqrt(0.5), under.quat[3] = -sqrt(0.5);
    along = 1;
  }
  if (dim == 2 && turned) { /* upside down */
    under.angle = M_PI;
    sign = -1;
  }
  if (rate > 0) {
    const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE,
                                   .amplitude = sign * speed,
                                   .rate = rate };
    if (perp_model_add_signal(&ctx, m, &sine, &under.belt_signal[along]) != PERP_OK)
      bail("%s", ctx.msg);
  } else
    under.belt[along] = sign * speed;
  run_body(&ctx, m, block);
  if (rides) {
    const perp_motion_def still = { .body = 1, .x = { 0, dim == 2 ? -20 : 0, -20 } };
    base.x[up] = -20;
    under.body = 1;
    run_body(&ctx, m, base);
    if (perp_model_add_motion(&ctx, m, &still, NULL) != PERP_OK) bail("%s", ctx.msg);
  } else
    under.x[up] = -20;
  run_shape(&ctx, m, box);
  run_shape(&ctx, m, under);
  return run_finish(&ctx, m);
}

/* A block that sticks to a belt of a body that turns to and fro about the vertical, theta =
 * sin(2 t) / 2: it goes along a ray that turns, x = s t u, v = s u + s t theta' u'. */
static void turntable(run_parts parts, double h, double tol)
{
  const double s = 0.8, t = 0.5, theta = sin(2 * t) / 2, rate = cos(2 * t);
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = 0.5, .rate = 2 };
  perp_body_def block = { .mass = perp_mass_box(2, 0.2, 0.2, 0.2) };
  perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                         .half = { 0.1, 0.1, 0.1 },
                         .surface = { mu, (double)NAN, 0 } };
  perp_motion_def turns = { .body = 1, .x[2] = -20, .axis[2] = 1, .sets_velocity = true };
  perp_model *m = run_model(&ctx, 3);
  double q[14], v[12];
  if (perp_model_add_signal(&ctx, m, &sine, &turns.angle_signal) != PERP_OK) bail("%s", ctx.msg);
  block.x[2] = 0.1, block.v[0] = s, block.w[2] = 1;
  run_body(&ctx, m, block);
  block.x[2] = -20, block.v[0] = 0;
  run_body(&ctx, m, block);
  if (perp_model_add_motion(&ctx, m, &turns, NULL) != PERP_OK) bail("%s", ctx.msg);
  run_shape(&ctx, m, box);
  box.body = 1, box.belt[0] = s;
  for (int i = 0; i < 3; i++) box.half[i] = 20;
  run_shape(&ctx, m, box);
  run_finish(&ctx, m);
  if (run_fresh(&ctx, m, parts, h, t, q, v) < 0) bail("ends early");
  near(hypot(q[0] - s * t * cos(theta), q[1] - s * t * sin(theta)), 0, tol, 0,
       "on a turntable, %s: it goes along a ray that turns", parts.formulation);
  near(hypot(v[0] - s * (cos(theta) - t * rate * sin(theta)),
             v[1] - s * (sin(theta) + t * rate * cos(theta))),
       0, tol, 0, "on a turntable, %s: at its rate", parts.formulation);
  perp_model_destroy(m);
}

static const struct {
  run_parts parts;
  double h, tol;
} levels[] = { { { "velocity" }, 1e-3, 2e-3 },
               { { "velocity", "", "", "", "pgs:max_iter=2000" }, 1e-3, 2e-3 },
               { { "velocity:joints=rows" }, 1e-3, 2e-3 },
               { { "acceleration", "rk4" }, 1e-3, 2e-3 },
               { { "acceleration", "dopri5:tol=1e-9" }, 1e-3, 1e-3 } };
enum { LEVELS = sizeof levels / sizeof *levels };

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int variant = 0; variant < 8; variant++) {
    const int dim = 2 + (variant & 1);
    const bool turned = variant & 2, rides = variant & 4;
    const char *frame = turned ? "turned" : "straight", *on = rides ? "a body" : "the world";
    double q[14], v[12];
    for (int i = 0; i < LEVELS; i++) {
      const char *name = levels[i].parts.formulation;
      perp_model *m = belt(dim, turned, rides, 1.5, 0);
      const double t1 = 1.5 / (mu * g), x1 = 0.5 * mu * g * t1 * t1;
      if (run_fresh(&ctx, m, levels[i].parts, levels[i].h, 0.3, q, v) < 0) bail("ends early");
      near(v[0], mu * g * 0.3, levels[i].tol, 0, "%d-d, %s, of %s, %s: it is accelerated", dim,
           frame, on, name);
      if (run_fresh(&ctx, m, levels[i].parts, levels[i].h, 1, q, v) < 0) bail("ends early");
      near(v[0], 1.5, 1e-6, 0, "%d-d, %s, of %s, %s: and then carried", dim, frame, on, name);
      near(q[0], x1 + 1.5 * (1 - t1), levels[i].tol, 0, "%d-d, %s, of %s, %s: as far as that", dim,
           frame, on, name);
      perp_model_destroy(m);
      m = belt(dim, turned, rides, 0.5, 4); /* 2 m/s^2 at most: it sticks */
      if (run_fresh(&ctx, m, levels[i].parts, levels[i].h, 1, q, v) < 0) bail("ends early");
      near(v[0], 0.5 * sin(4), 1e-5, 0, "%d-d, %s, of %s, %s: to and fro", dim, frame, on, name);
      near(q[0], 0.125 * (1 - cos(4)), levels[i].tol, 0, "%d-d, %s, of %s, %s: the way", dim, frame,
           on, name);
      perp_model_destroy(m);
    }
  }
  /* put down it slides, whatever its own speed, where it would stick at once if it were at rest */
  mu_dynamic = 0.1;
  for (int i = 0; i < LEVELS + 3; i++) {
    const run_parts more[] = { { "velocity-nonlinear" },
                               { "velocity-midpoint" },
                               { "moreau-jean" } },
                    parts = i < LEVELS ? levels[i].parts : more[i - LEVELS];
    double v[12];
    perp_model *m = belt(3, false, false, 1.5, 0);
    if (run_fresh(&ctx, m, parts, 1e-3, 0.3, NULL, v) < 0) bail("ends early");
    near(v[0], mu_dynamic * g * 0.3, 2e-3, 0, "%s: by its dynamic friction", parts.formulation);
    perp_model_destroy(m);
  }
  mu_dynamic = (double)NAN;
  for (int i = 0; i < LEVELS; i++)
    turntable(levels[i].parts, levels[i].h, levels[i].parts.formulation[0] == 'a' ? 1e-6 : 2e-3);
  perp_model *m = belt(3, false, false, 1, 0);
  run_refused(&ctx, m, (run_parts){ "groups" }, "moving surfaces");
  run_refused(&ctx, m, (run_parts){ "velocity-implicit" }, "moving surfaces");
  run_refused(&ctx, m, (run_parts){ "velocity:sleep=true" }, "moving surfaces");
  run_refused(&ctx, m, (run_parts){ "acceleration:critical=stop", "rk4" }, "moving surfaces");
  ok(perp_model_depends_on_time(m), "a belt drives its scene");
  perp_model_destroy(m);
  return tap_done();
}
