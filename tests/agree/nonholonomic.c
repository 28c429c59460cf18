/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows on velocities against closed forms: Chaplygin's sleigh in the plane, in space and on a
 * floor; gears whose speeds are tied by a function of time, with their multiplier and power; a ball
 * that rolls; Jdot v of many terms against differences. */
#include "tests/run_model.h"

static perp_ctx ctx;

static const perp_joint_def on_floor = {
  .kind = PERP_JOINT_PLANAR, .a = PERP_WORLD, .axis_a = { 0, 0, 1 }, .axis_b = { 0, 0, 1 }
};

static void tie(perp_model *m, perp_rate_def def)
{
  if (perp_model_add_rate(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
}

/* ---- the sleigh ----
 * u the speed of the blade, w of turning, k^2 = I / m + a^2:  u' = a w^2,  k^2 w' = -a u w.  From u
 * = 0: u = k w0 tanh(a w0 t / k),  w = w0 / cosh(a w0 t / k),  and the angle is (k / a) gd(a w0 t /
 * k). */

enum { PLANE, SPACE, FLOOR };
static const double arm = 0.3, inertia = 0.5, w0 = 2, t_end = 1;

static perp_model *sleigh(int where)
{
  const int dim = where == PLANE ? 2 : 3;
  perp_model *m = run_model(&ctx, dim);
  perp_model_gravity(m, where == FLOOR ? 9.81 : 0);
  perp_body_def def = { .mass = { 1, { 0.4, 0, 0, 0, 0.7, 0, 0, 0, inertia } },
                        .x = { arm },
                        .v = { 0, arm * w0 },
                        .w = { 0, 0, w0 } };
  const int body = run_body(&ctx, m, def);
  tie(m, (perp_rate_def){
             .n_terms = 1,
             .term = { { .body = body, .frame = body, .at = { -arm }, .along = { 0, 1 } } } });
  if (where == SPACE) {
    perp_joint_def joint = on_floor;
    joint.b = body;
    run_joint(&ctx, m, joint);
  }
  if (where == FLOOR) {
    const perp_shape_def box = { .kind = PERP_SHAPE_BOX, .body = body, .half = { 0.4, 0.3, 0.2 } };
    const perp_shape_def ground = { .kind = PERP_SHAPE_PLANE,
                                    .body = PERP_WORLD,
                                    .x = { 0, 0, -0.2 } };
    run_shape(&ctx, m, box);
    run_shape(&ctx, m, ground);
  }
  return run_finish(&ctx, m);
}

/* how far speed, turning and angle are off at the end */
static double sleigh_off(int where, run_parts parts, double h)
{
  perp_model *m = sleigh(where);
  double q[7], v[6];
  if (run_fresh(&ctx, m, parts, h, t_end, q, v) < 0) bail("a run failed");
  const double k = sqrt(inertia + arm * arm), s = arm * w0 * t_end / k;
  const double angle = k / arm * 2 * atan(tanh(s / 2));
  const double is = where == PLANE ? q[2] : 2 * atan2(q[6], q[3]), w = where == PLANE ? v[2] : v[5];
  const double u = v[0] * cos(is) + v[1] * sin(is),
               slip = -v[0] * sin(is) + v[1] * cos(is) - arm * w;
  perp_model_destroy(m);
  return fmax(fmax(fabs(u - k * w0 * tanh(s)), fabs(w - w0 / cosh(s))),
              fmax(fabs(is - angle), fabs(slip)));
}

static void the_sleigh(void)
{
  static const char *const places[] = { "plane", "space", "floor" };
  for (int where = PLANE; where <= FLOOR; where++) {
    const run_parts velocity = { "velocity", "symplectic-euler" };
    double off[3];
    for (int i = 0; i < 3; i++) off[i] = sleigh_off(where, velocity, 0.02 / (1 << i));
    ok(off[0] < 0.1 && off[0] > 1.8 * off[1] && off[1] > 1.8 * off[2],
       "%s, velocity: of order 1: %.3g, %.3g, %.3g", places[where], off[0], off[1], off[2]);
    if (where == FLOOR) continue;
    static const char *const stabs[] = { "none", "baumgarte:alpha=10", "post" };
    for (int k = 0; k < 3; k++) {
      const run_parts exact = { "acceleration", "rk4", "", stabs[k] };
      for (int i = 0; i < 3; i++) off[i] = sleigh_off(where, exact, 0.04 / (1 << i));
      ok(off[0] < 1e-4 && off[0] > 13 * off[1] && off[1] > 13 * off[2],
         "%s, acceleration, %s: of order 4: %.3g, %.3g, %.3g", places[where], stabs[k], off[0],
         off[1], off[2]);
    }
  }
  perp_model *m = sleigh(PLANE);
  static const char *const others[] = { "ggl",     "radau5",      "generalized-alpha",
                                        "penalty", "regularized", "impulse",
                                        "reduced", "point-mass",  "velocity-implicit",
                                        "groups" };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    run_refused(&ctx, m, (run_parts){ others[i] }, "non-holonomic");
  perp_model_destroy(m);
}

/* ---- gears ----
 * w_a + 2 w_b = g(t), a torque T on a:  I_a w_a' = T + p,  I_b w_b' = 2 p,  p = (g' - T / I_a) / (1
 * / I_a + 4 / I_b). */

static void gears(void)
{
  const double I[2] = { 0.3, 0.7 }, T = 0.4, amplitude = 0.5, rate = 3;
  perp_model *m = run_model(&ctx, 3);
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, m,
             (perp_body_def){ .mass = { 1, { 1, 0, 0, 0, 1, 0, 0, 0, I[i] } }, .x = { i } });
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = i,
                                .anchor_a = { i },
                                .axis_a = { 0, 0, 1 },
                                .axis_b = { 0, 0, 1 } });
  }
  const perp_force_def torque = { .kind = PERP_FORCE_TORQUE, .a = 0, .value = { 0, 0, T } };
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = amplitude, .rate = rate };
  perp_rate_def def = { .name = "gears",
                        .n_terms = 2,
                        .term = { { .body = 0, .frame = PERP_WORLD, .about = { 0, 0, 1 } },
                                  { .body = 1, .frame = 0, .about = { 0, 0, 2 } } } };
  if (perp_model_add_force(&ctx, m, &torque) != PERP_OK ||
      perp_model_add_signal(&ctx, m, &sine, &def.value_signal) != PERP_OK)
    bail("%s", ctx.msg);
  tie(m, def);
  run_finish(&ctx, m);
  ok(perp_model_depends_on_time(m), "g depends on time");
  double v[12], off[2];
  const double end = 1, tied = 1 / I[0] + 4 / I[1];
  const double push = (amplitude * sin(rate * end) - T * end / I[0]) / tied; /* integral of p */
  for (int i = 0; i < 2; i++) {
    if (run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 0.02 / (1 + i), end, NULL, v) < 0)
      bail("a run failed");
    off[i] = fmax(fabs(v[5] - (T * end + push) / I[0]), fabs(v[11] - 2 * push / I[1]));
  }
  below(off[1], 1e-8, "gears, acceleration: off by %.3g, %.3g rad/s", off[0], off[1]);
  if (run_fresh(&ctx, m, (run_parts){ "velocity", "symplectic-euler" }, 1e-3, end, NULL, v) < 0)
    bail("a run failed");
  near(v[5] + 2 * v[11], amplitude * sin(rate * end), 1e-9, 0,
       "gears, velocity: w_a + 2 w_b = g at the end of the step");
  near(v[5], (T * end + push) / I[0], 2e-3, 0, "gears, velocity: w_a");
  /* the multiplier at the start, and the power that g brings in */
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "rk4" }, 1e-3);
  perp_step_info info;
  double t;
  const double *q, *vel;
  if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK || info.lambda == NULL) bail("%s", ctx.msg);
  const double exact = (amplitude * rate - T / I[0]) / tied;
  near(info.lambda[10], exact, 1e-9, 0, "gears: the multiplier at the start is %.12g",
       info.lambda[10]);
  perp_sim_state(sim, &t, &q, &vel);
  double lambda[11] = { [10] = 1.5 };
  near(perp_model_motion_power(m, 0.3, q, lambda), 1.5 * amplitude * sin(rate * 0.3), 1e-12, 0,
       "gears: power is lambda g");
  perp_sim_destroy(sim);
  perp_rate_def back;
  ok(perp_model_rate_of(m, 2, &back) && back.n_terms == 2 && back.term[1].body == 1 &&
         back.term[1].frame == 0 && back.term[0].frame == PERP_WORLD &&
         back.value_signal == def.value_signal && !perp_model_rate_of(m, 0, &back),
     "the row is told as it was given");
  perp_model_destroy(m);
}

/* ---- a ball that rolls: v = r w across, so that a force F at its centre gives a = 5 F / 7 m ----
 */

static void rolling(void)
{
  const double r = 0.2, F = 1.4, mass = 2;
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  const int ball = run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(mass, r) });
  for (int i = 0; i < 2; i++) {
    perp_rate_def def = { .n_terms = 1, .term = { { .body = ball, .frame = PERP_WORLD } } };
    def.term[0].along[i] = 1;
    def.term[0].about[1 - i] = i == 0 ? -r : r;
    tie(m, def);
  }
  const perp_force_def force = { .kind = PERP_FORCE_POINT,
                                 .a = ball,
                                 .value = { F * 0.6, F * 0.8, 0 } };
  run_force(&ctx, m, force);
  run_finish(&ctx, m);
  double v[6], q[7];
  if (run_fresh(&ctx, m, (run_parts){ "velocity", "symplectic-euler" }, 1e-2, 1, q, v) < 0)
    bail("a run failed");
  near(hypot(v[0], v[1]), 5 * F / (7 * mass), 1e-12, 0, "a ball rolls with 5 F / 7 m");
  perp_model_destroy(m);
}

/* ---- Jdot v ---- */

static void derivative(int dim)
{
  perp_model *m = run_model(&ctx, dim);
  perp_rng *rng = perp_rng_create(7 + (uint64_t)dim);
  perp_rate_def def = { .n_terms = 4 };
  for (int i = 0; i < 3; i++) {
    perp_body_def body = { .mass = perp_mass_box(1, 1, 2, 3),
                           .x = { 2 * i },
                           .angle = 0.2 * i,
                           .quat = { 1, 0.2 * i, 0.3, -0.1 } };
    run_body(&ctx, m, body);
  }
  for (int i = 0; i < 4; i++) {
    perp_rate_term *term = &def.term[i];
    term->body = i % 3;
    term->frame = i == 3 ? PERP_WORLD : (i * 2) % 3;
    for (int k = 0; k < dim; k++) {
      term->at[k] = perp_rng_uniform(rng, -1, 1);
      term->along[k] = perp_rng_uniform(rng, -1, 1);
    }
    for (int k = dim == 3 ? 0 : 2; k < 3; k++) term->about[k] = perp_rng_uniform(rng, -1, 1);
  }
  tie(m, def);
  run_finish(&ctx, m);
  const int nv = perp_model_nv(m);
  double worst = 0;
  for (int round = 0; round < 5; round++) {
    double q[21], q1[21], v[18], dq[18], gamma, rate = 0, step[18];
    static const double weight[3] = { 0.75, -0.15, 1.0 / 60 };
    for (int i = 0; i < nv; i++)
      v[i] = perp_rng_uniform(rng, -1, 1), step[i] = perp_rng_uniform(rng, -1, 1);
    perp_model_retract(m, perp_model_q0(m), step, q);
    perp_model_jdotv(m, 0, q, v, &gamma);
    const double h = 1e-2;
    for (int i = -3; i <= 3; i++) {
      double Cdot;
      if (i == 0) continue;
      for (int k = 0; k < nv; k++) dq[k] = i * h * v[k];
      perp_model_retract(m, q, dq, q1);
      perp_model_rate(m, 0, q1, v, &Cdot);
      rate += (i < 0 ? -1 : 1) * weight[abs(i) - 1] * Cdot / h;
    }
    worst = fmax(worst, fabs(rate - gamma));
  }
  below(worst, 1e-10, "%s: Jdot v of four terms is the derivative of J v: off by %.2g",
        dim == 3 ? "space" : "plane", worst);
  perp_rng_destroy(rng);
  perp_model_destroy(m);
}

/* ---- what is refused ---- */

static void refused(void)
{
  perp_model *m = run_model(&ctx, 2);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
  run_body(&ctx, m, (perp_body_def){ .mass = { 1 }, .particle = true });
  const perp_rate_def bads[] = {
    { .n_terms = 0 },
    { .n_terms = PERP_RATE_TERMS + 1 },
    { .n_terms = 1, .term = { { .body = 7, .along = { 1 } } } },
    { .n_terms = 1, .term = { { .body = 0, .frame = 9, .along = { 1 } } } },
    { .n_terms = 1, .term = { { .body = PERP_WORLD, .along = { 1 } } } },
    { .n_terms = 1, .term = { { .body = 0 } } },
    { .n_terms = 1, .term = { { .body = 0, .along = { NAN } } } },
    { .n_terms = 1, .term = { { .body = 0, .about = { 1 } } } },
    { .n_terms = 1, .term = { { .body = 1, .frame = PERP_WORLD, .about = { 0, 0, 1 } } } },
    { .n_terms = 1, .term = { { .body = 0, .along = { 1 } } }, .value = HUGE_VAL },
    { .n_terms = 1, .term = { { .body = 0, .along = { 1 } } }, .value_signal = 3 },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    const perp_status status = perp_model_add_rate(&ctx, m, &bads[i], NULL);
    ok(status == PERP_ERR_ARG || status == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  }
  ok(perp_model_joints(m) == 0, "the model is as it was");
  perp_model_destroy(m);
  m = run_model(&ctx, 2);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .v = { 0, 1 } });
  tie(m, (perp_rate_def){ .n_terms = 1, .term = { { .body = 0, .along = { 0, 1 } } } });
  ok(perp_model_finish(&ctx, m) == PERP_ERR_ARG &&
         strstr(ctx.msg, "initial velocity contradicts") != NULL,
     "an initial velocity that contradicts it: %s", ctx.msg);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  the_sleigh();
  gears();
  rolling();
  derivative(2);
  derivative(3);
  refused();
  return tap_done();
}
