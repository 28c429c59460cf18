/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constraint damping as a gradient flow: errors of positions and velocities fall as exp(-rate t),
 * without a swing to the other side, and the motion keeps the order of the integrator. */
#include "tests/run_model.h"

static perp_ctx ctx;

/* |C| and |J v| at the end, of a start whose q or v is off by 1e-4 */
static void errors_at(double t_end, bool position, const char *stab, double *C, double *rate)
{
  double q[64], v[64], rows[64];
  perp_scene s = run_open(&ctx, "chain:links=3,dim=3");
  const int nq = perp_model_nq(s.model), nv = perp_model_nv(s.model), m = perp_model_m(s.model);
  memcpy(q, perp_model_q0(s.model), (size_t)nq * sizeof *q);
  memcpy(v, perp_model_v0(s.model), (size_t)nv * sizeof *v);
  for (int i = 0; i < 3; i++) (position ? q : v)[7 + i] += 1e-4 * (i + 1);
  perp_sim *sim = run_start(&ctx, s.model,
                            (run_parts){ "acceleration", "rk4", "schur-dense", stab }, 1e-3);
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  run_to(&ctx, sim, t_end);
  const double *end, *speed;
  double t;
  perp_sim_state(sim, &t, &end, &speed);
  perp_model_error(s.model, t, end, rows);
  *C = *rate = 0;
  for (int i = 0; i < m; i++) *C = fmax(*C, fabs(rows[i]));
  perp_model_rate(s.model, t, end, speed, rows);
  for (int i = 0; i < m; i++) *rate = fmax(*rate, fabs(rows[i]));
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  double C[2], rate[2];
  static const char *const same[] = { "gradient-flow:rate=100", "gradient-flow" }; /* 1/(10 h) */
  for (int i = 0; i < 2; i++) {
    errors_at(0.002, true, same[i], &C[0], &rate[0]);
    errors_at(0.022, true, same[i], &C[1], &rate[1]);
    near(log(C[0] / C[1]), 2, 0.02, 0, "%s, positions: C falls by exp(-%.4g) in 20 ms", same[i],
         log(C[0] / C[1]));
  }
  errors_at(0.001, false, "gradient-flow:rate=20", &C[0], &rate[0]);
  errors_at(0.101, false, "gradient-flow:rate=20", &C[1], &rate[1]);
  near(log(rate[0] / rate[1]), 2, 0.1, 0, "velocities: J v falls by exp(-%.4g) in 0.1 s at 20/s",
       log(rate[0] / rate[1]));
  perp_scene s = run_open(&ctx, "pendulum");
  double error[2], q_ref[3], v_ref[3], q[3], v[3];
  if (s.truth[0].state(s.truth[0].user, &ctx, 1, q_ref, v_ref) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < 2; k++) {
    run_fresh(&ctx, s.model, (run_parts){ "acceleration", "rk4", .stab = "gradient-flow:rate=5" },
              k == 0 ? 0.02 : 0.01, 1, q, v);
    error[k] = fmax(fabs(q[0] - q_ref[0]), fabs(q[1] - q_ref[1]));
  }
  near(log2(error[0] / error[1]), 4, 0.4, 0, "order %.2f of rk4 with the flow",
       log2(error[0] / error[1]));
  perp_parts parts;
  perp_sim *sim = NULL;
  perp_step_info info;
  const run_parts lie = { "acceleration", "rkmk4", .stab = "gradient-flow" };
  if (run_parse(&ctx, &lie, &parts) != PERP_OK ||
      perp_sim_create(&ctx, s.model, &parts, 1e-3, &sim) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_sim_step(&ctx, sim, 1, &info) == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "rates") != NULL,
     "refused: %s", ctx.msg);
  run_free(&parts);
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return tap_done();
}
