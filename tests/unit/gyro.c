/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that turn freely in time stepping: energy and |L| at any speed, and the order of the turn.
 */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double wide[3] = { 1, 0.3, 0.001 }; /* of a thin plate, turned in its frame below */

static perp_model *plate(double spin)
{
  perp_model *model = run_model(&ctx, 3);
  perp_mass mass = perp_mass_box(0.7, wide[0], wide[1], wide[2]);
  /* not along the axes of the body: a quarter turn and a half about z and x */
  const double c = cos(0.6), s = sin(0.6), a = mass.inertia[0], b = mass.inertia[4];
  mass.inertia[0] = c * c * a + s * s * b;
  mass.inertia[4] = s * s * a + c * c * b;
  mass.inertia[1] = mass.inertia[3] = c * s * (a - b);
  run_body(&ctx, model,
           (perp_body_def){ .mass = mass, .w = { 0.4 * spin, 0.6 * spin, -0.7 * spin } });
  perp_model_gravity(model, 0);
  return run_finish(&ctx, model);
}

/* energy and |L|^2 of a body that turns with w */
static void invariants(const perp_model *model, const double *w, double out[2])
{
  const double *I = perp_model_body(model, 0)->mass.inertia;
  out[0] = out[1] = 0;
  for (int i = 0; i < 3; i++) {
    double L = 0;
    for (int j = 0; j < 3; j++) L += I[i + 3 * j] * w[j];
    out[0] += 0.5 * L * w[i];
    out[1] += L * L;
  }
}

static void test_invariants(const char *formulation, double turn)
{
  const double h = 1.0 / 60;
  perp_model *model = plate(turn / h);
  double v[6], before[2], now[2], worst = 0;
  perp_sim *sim = run_start(&ctx, model, (run_parts){ .formulation = formulation }, h);
  invariants(model, perp_model_body(model, 0)->w, before);
  for (int k = 0; k < 600; k++) {
    double t;
    const double *q, *state;
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("step %d: %s", k, ctx.msg);
    perp_sim_state(sim, &t, &q, &state);
    memcpy(v, state, sizeof v);
    invariants(model, v + 3, now);
    for (int i = 0; i < 2; i++) worst = fmax(worst, fabs(now[i] / before[i] - 1));
  }
  below(worst, 1e-11, "%s, %g rad a step: energy and |L| after 600 steps", formulation, turn);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* Without the torque a body turns about a fixed axis: w stays, R = exp(t [w]), and L turns with it.
 */
static void test_none(const char *formulation)
{
  perp_model *model = plate(5);
  const double *w = perp_model_body(model, 0)->w, t = 1.2, speed = sqrt(perp_dot(3, w, w));
  double q[7], v[6], off = 0, turned = 0, before[2], now[2];
  invariants(model, w, before);
  run_fresh(&ctx, model, (run_parts){ .formulation = formulation }, 1e-3, t, q, v);
  invariants(model, v + 3, now);
  const double half = speed * t / 2, sign = q[3] * cos(half) < 0 ? -1 : 1;
  for (int i = 0; i < 3; i++) {
    off = fmax(off, fabs(v[3 + i] - w[i]));
    turned = fmax(turned, fabs(sign * q[4 + i] - sin(half) * w[i] / speed));
  }
  turned = fmax(turned, fabs(sign * q[3] - cos(half)));
  below(off, 1e-11, "%s: the angular velocity of a free body stays", formulation);
  below(turned, 1e-9, "and it turns about that axis");
  near(now[0], before[0], 0, 1e-12, "and keeps its energy");
  perp_model_destroy(model);
}

/* the error of w at 0.2 s against the acceleration level with tight tolerances */
static double error(const char *formulation, double h)
{
  perp_model *model = plate(5);
  double v[6], exact[6], worst = 0;
  run_fresh(&ctx, model, (run_parts){ .formulation = formulation }, h, 0.2, NULL, v);
  run_fresh(&ctx, model,
            (run_parts){ .formulation = "acceleration", .ode = "dopri5:tol=1e-13", .stab = "none" },
            1e-3, 0.2, NULL, exact);
  for (int i = 3; i < 6; i++) worst = fmax(worst, fabs(v[i] - exact[i]));
  perp_model_destroy(model);
  return worst;
}

int main(void)
{
  static const char *const formulations[] = { "velocity", "velocity-implicit" };
  static const double turns[] = { 0.01, 0.3, 3, 50, 2000 };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < sizeof turns / sizeof *turns; k++)
      test_invariants(formulations[i], turns[k]);
  const double coarse = error("velocity", 4e-3), fine = error("velocity", 2e-3);
  near(coarse / fine, 4, 0.2, 0, "the turn of a free body is of second order");
  const double old = error("velocity:gyro=explicit", 4e-3);
  near(old / error("velocity:gyro=explicit", 2e-3), 2, 0.2, 0, "explicitly of first");
  ok(old > 20 * coarse, "... and its error %.2g times as large", old / coarse);
  test_none("velocity:gyro=none");
  test_none("velocity-implicit:gyro=none");
  test_none("regularized:gyro=none");
  return tap_done();
}
