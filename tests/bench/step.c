/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmark: CPU time of one whole velocity-level step of a ball-joint chain in space, by KKT
 * formulation and stabilization.  Arguments: formulation, ode, lengths... (default: velocity
 * symplectic-euler 6 32 128 512).  Not a test: prints a table, the minimum over rounds of the
 * mean of a round. */
#include "tests/run_model.h"

/* link of the engine comparison: box 0.1 x 0.02 x 0.02 m, 0.04 kg */
static perp_model *chain(perp_ctx *ctx, int n)
{
  perp_model *model = run_model(ctx, 3);
  for (int i = 0; i < n; i++) {
    perp_body_def link = { .mass = perp_mass_box(0.04, 0.1, 0.02, 0.02) };
    link.x[0] = 0.1 * i + 0.05;
    run_body(ctx, model, link);
    perp_joint_def joint = { .kind = PERP_JOINT_BALL, .a = i - 1, .b = i, .anchor_b[0] = -0.05 };
    if (i > 0) joint.anchor_a[0] = 0.05;
    run_joint(ctx, model, joint);
  }
  return run_finish(ctx, model);
}

typedef struct cost {
  double step, assembly, kkt, integrate; /* microseconds */
} cost;

static cost measure(perp_ctx *ctx, perp_model *model, run_parts parts, double budget)
{
  perp_sim *sim = run_start(ctx, model, parts, 1e-3);
  perp_step_info info;
  perp_times times;
  cost best = { HUGE_VAL, 0, 0, 0 };
  int steps = 1;
  double spent = 0;
  for (int round = 0; round < 30 && (spent < budget || round < 3); round++) {
    /* from the same state each round: a chain left alone winds up and changes nothing but the
     * numbers */
    perp_sim_restart(ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
    double start = perp_clock_thread();
    for (int k = 0; k < steps; k++)
      if (perp_sim_step(ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
        bail("step %d: %s", k, perp_reason_name(info.reason));
    double used = perp_clock_thread() - start;
    spent += used;
    if (round > 0) best.step = fmin(best.step, 1e6 * used / steps);
    if (used < budget / 20 && steps < 500) {
      steps = used > 0 ? (int)fmin(500, steps * fmax(2, budget / 20 / used)) : 2 * steps;
      best.step = HUGE_VAL;
    }
  }
  perp_sim_restart(ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
  perp_sim_timing(sim, true, NULL);
  for (int k = 0; k < steps; k++) perp_sim_step(ctx, sim, HUGE_VAL, &info);
  perp_sim_timing(sim, false, &times);
  best.assembly = 1e6 * times.assembly / steps;
  best.kkt = 1e6 * times.kkt / steps;
  best.integrate = 1e6 * times.integrate / steps;
  perp_sim_destroy(sim);
  return best;
}

int main(int argc, char **argv)
{
  static const char *const kkts[] = { "tree", "schur-sparse", "schur-dense" };
  static const char *const stabs[] = { "none", "baumgarte", "post", "post:velocity=true" };
  static const int lengths[] = { 6, 32, 128, 512 };
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const char *formulation = argc > 1 ? argv[1] : "velocity";
  const char *ode = argc > 2 ? argv[2] : "symplectic-euler";
  int n_lengths = argc > 3 ? argc - 3 : 4;
  printf("# %s, %s, h = 1 ms; parts from a run with clocks (which cost about 1 us a step)\n",
         formulation, ode);
  printf("%-13s %-19s %5s %11s %9s %11s %9s %9s\n", "kkt", "stab", "N", "step[us]", "ns/link",
         "assembly", "kkt", "integrate");
  for (int k = 0; k < 3; k++) {
    if (perp_find(&ctx, PERP_KIND_kkt, kkts[k]) == NULL) continue;
    for (int s = 0; s < 4; s++)
      for (int i = 0; i < n_lengths; i++) {
        int n = argc > 3 ? atoi(argv[3 + i]) : lengths[i];
        if (n < 1 || (k == 2 && n > 128)) continue; /* dense: 145 ms and more a step */
        perp_model *model = chain(&ctx, n);
        cost c = measure(&ctx, model, (run_parts){ formulation, ode, kkts[k], stabs[s] }, 0.5);
        printf("%-13s %-19s %5d %11.3f %9.1f %11.3f %9.3f %9.3f\n", kkts[k], stabs[s], n, c.step,
               1e3 * c.step / n, c.assembly, c.kkt, c.integrate);
        fflush(stdout);
        perp_model_destroy(model);
      }
  }
  return 0;
}
