/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates with a loop, and what they report, against maximal coordinates. */
#include "tests/run_model.h"

static perp_ctx ctx;

/* A four-bar linkage of three rods in the plane, whose last hinge closes the loop. */
static perp_model *four_bar(void)
{
  static const double p[4][2] = { { 0, 0 }, { 0.3, 0.4 }, { 1.5, 0.9 }, { 1.3, 0 } };
  perp_model *model = run_model(&ctx, 2);
  double before = 0; /* length of the rod before */
  perp_model_gravity(model, 9.81);
  for (int i = 0; i < 3; i++) {
    const double x = p[i + 1][0] - p[i][0], y = p[i + 1][1] - p[i][1], l = hypot(x, y);
    perp_body_def rod = { .mass = perp_mass_box(1, l, 0.05, 0.05),
                          .x = { p[i][0] + x / 2, p[i][1] + y / 2 },
                          .angle = atan2(y, x) };
    run_body(&ctx, model, rod);
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = i - 1,
                                .b = i,
                                .anchor_a = { before / 2 },
                                .anchor_b = { -l / 2 } });
    before = l;
    if (i < 2) continue;
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = 2,
                                .anchor_a = { p[3][0], p[3][1] },
                                .anchor_b = { l / 2 } });
  }
  return run_finish(&ctx, model);
}

static double apart(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

/* |C| and |J v|, the latter by differences */
static void errors(perp_model *model, const double *q, const double *v, double *C, double *rate)
{
  const double eps = 1e-6;
  double c[3][8], dq[9], moved[9];
  const int m = perp_model_m(model);
  for (int k = -1; k <= 1; k++) {
    for (int i = 0; i < 9; i++) dq[i] = k * eps * v[i];
    perp_model_retract(model, q, dq, moved);
    perp_model_error(model, 0, moved, c[k + 1]);
  }
  *C = *rate = 0;
  for (int i = 0; i < m; i++) {
    *C = fmax(*C, fabs(c[1][i]));
    *rate = fmax(*rate, fabs(c[2][i] - c[0][i]) / (2 * eps));
  }
}

static void loops(void)
{
  static const struct {
    const char *ode;
    double h, bound;
  } cases[] = { { "rk4", 1e-2, 5e-6 },
                { "symplectic-euler", 1e-4, 2e-3 },
                { "verlet", 2e-3, 1e-4 } };
  perp_model *model = four_bar();
  double q[9], v[9];
  run_fresh(&ctx, model, (run_parts){ "acceleration", "rk4", "", "post:velocity=true" }, 5e-4, 1, q,
            v);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_sim *sim = run_start(&ctx, model, (run_parts){ "reduced", cases[i].ode }, cases[i].h);
    double t = 0, C = 0, rate = 0, drift = 0;
    const double *at = NULL, *u = NULL;
    while (t < 1) {
      perp_step_info info;
      double c, r;
      if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &at, &u);
      errors(model, at, u, &c, &r);
      C = fmax(C, c), rate = fmax(rate, r), drift = fmax(drift, info.drift_pos_pre);
    }
    const double off = fmax(apart(9, q, at), apart(9, v, u));
    ok(off < cases[i].bound && C < 1e-12 && rate < 1e-7 && drift > 1e-14 && drift < 1e-3,
       "a loop, %s: off by %.1e, |C| %.1e, |J v| %.1e; steps left it by %.1e", cases[i].ode, off, C,
       rate, drift);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

/* A free body without symmetry by momenta: its angular momentum stays. */
static void spin(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  perp_body_def body = { .mass.mass = 1, .w = { 1, -2, 3 } };
  for (int k = 0; k < 3; k++) body.mass.inertia[4 * k] = 1 + 0.4 * k;
  run_body(&ctx, model, body);
  run_finish(&ctx, model);
  double q[7], v[6], P[3], L[2][3];
  run_fresh(&ctx, model, (run_parts){ "reduced", "verlet" }, 1e-2, 1, q, v);
  perp_model_momentum(model, perp_model_q0(model), perp_model_v0(model), P, L[0]);
  perp_model_momentum(model, q, v, P, L[1]);
  below(apart(3, L[0], L[1]), 1e-10, "verlet on momenta: angular momentum");
  perp_model_destroy(model);
}

/* Without loops multipliers of dense output are not known. */
static void reports(void)
{
  perp_model *model = run_chain(&ctx, 2, 2, PERP_JOINT_HINGE, false);
  double q[6], v[6], lambda[4] = { 0 };
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "reduced", "dopri5" }, 1e-2);
  run_to(&ctx, sim, 0.1);
  ok(perp_sim_dense_at(&ctx, sim, 0.095, q, v, lambda) == PERP_OK && isnan(lambda[0]) &&
         isnan(lambda[3]),
     "dense output: no multipliers");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  loops();
  spin();
  reports();
  return tap_done();
}
