/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variational formulation beyond its order (agree/implicit_steps): the symplectic form of a
 * rotating body, momenta of chains and tops and their joints to rounding in long steps, and RATTLE,
 * which it is with two nodes. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

static perp_ctx ctx;

static double apart(int n, const double *x, const double *y)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  return worst;
}

/* ---- the symplectic form ---- */

static const double INERTIA[3] = { 1, 2, 2.5 };

/* A body on an eccentric spring: forces and torques of position. */
static perp_model *sprung(double damping)
{
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  run_body(&ctx, m,
           (perp_body_def){ .mass = { 1.5, { 1, 0, 0, 0, 2, 0, 0, 0, 2.5 } },
                            .x = { 0.4, 0.1, -0.2 },
                            .quat = { 1, 0.3, -0.2, 0.5 },
                            .v = { 1, -2, 0.5 },
                            .w = { 0.4, 3, 1.6 } });
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = PERP_WORLD,
                                  .b = 0,
                                  .anchor_b = { 0.5, 0.3, -0.4 },
                                  .stiffness = 20,
                                  .damping = damping,
                                  .length = 0.1 };
  run_force(&ctx, m, spring);
  return run_finish(&ctx, m);
}

/* The form of two variations (turns in the body frame, momenta) at v: left trivialization, Abraham
 * and Marsden, section 4.4. */
static double form(const double v[6], const double *dq1, const double *dv1, const double *dq2,
                   const double *dv2)
{
  const double *a = dq1 + 3, *b = dq2 + 3;
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    sum += 1.5 * (dq1[i] * dv2[i] - dq2[i] * dv1[i]);
    sum += INERTIA[i] *
           (a[i] * dv2[3 + i] - b[i] * dv1[3 + i] + v[3 + i] * (a[j] * b[k] - a[k] * b[j]));
  }
  return sum;
}

/* By how much a motion of t_end changes the form of pairs of unit variations, the largest of them;
 * variations at the end are central differences. */
static double form_change(const char *formulation, const char *ode, double h, double t_end,
                          double damping)
{
  enum { N = 12 };
  static const double eps = 1e-4;
  perp_model *m = sprung(damping);
  const run_parts parts = { .formulation = formulation, .ode = ode };
  double end_q[2][7], end_v[2][6], dq[N][6], dv[N][6], centre_v[6], worst = 0;
  perp_sim *sim = run_start(&ctx, m, parts, h);
  const double *q, *v;
  double t;
  for (int k = 0; k <= N; k++)
    for (int side = 0; side < 2; side++) {
      double q0[7], v0[6], by[6] = { 0 };
      memcpy(v0, perp_model_v0(m), sizeof v0);
      if (k > 0 && k <= 6) by[k - 1] = side ? eps : -eps;
      if (k > 6) v0[k - 7] += side ? eps : -eps;
      perp_model_retract(m, perp_model_q0(m), by, q0);
      if (perp_sim_restart(&ctx, sim, 0, q0, v0) != PERP_OK || run_to(&ctx, sim, t_end) < 0)
        bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
      memcpy(end_q[side], q, sizeof end_q[side]);
      memcpy(end_v[side], v, sizeof end_v[side]);
      if (k == 0) {
        memcpy(centre_v, v, sizeof centre_v);
        break;
      }
      if (side == 0) continue;
      perp_model_difference(m, end_q[0], end_q[1], dq[k - 1]);
      for (int i = 0; i < 6; i++) {
        dq[k - 1][i] /= 2 * eps;
        dv[k - 1][i] = (end_v[1][i] - end_v[0][i]) / (2 * eps);
      }
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++) {
      double unit[2][2][6] = { { { 0 } } };
      for (int s = 0; s < 2; s++) unit[s][(s ? j : i) >= 6][(s ? j : i) % 6] = 1;
      const double start = form(perp_model_v0(m), unit[0][0], unit[0][1], unit[1][0], unit[1][1]);
      worst = fmax(worst, fabs(form(centre_v, dq[i], dv[i], dq[j], dv[j]) - start));
    }
  perp_sim_destroy(sim);
  perp_model_destroy(m);
  return worst;
}

static void symplectic(void)
{
  const double h = 0.1, t_end = 1;
  below(form_change("acceleration", "dopri5:tol=1e-12", h, t_end, 0), 1e-6,
        "the exact motion keeps the form");
  for (int stages = 2; stages <= 4; stages++) {
    char name[32];
    snprintf(name, sizeof name, "variational:stages=%d", stages);
    below(form_change(name, NULL, h, t_end, 0), 1e-6, "%s keeps the form in long steps", name);
  }
  ok(form_change("acceleration", "rk4", h, t_end, 0) > 1e-3, "rk4 does not");
  ok(form_change("variational", NULL, h, t_end, 0.3) > 1e-2, "nor does damping");
}

/* Damping is a force at the nodes: the order stays. */
static void damped(void)
{
  perp_model *m = sprung(0.8);
  double q[3][7], v[3][6], error[2];
  const run_parts truth = { "acceleration", "dopri5:tol=1e-12" };
  for (int stages = 2; stages <= 4; stages++) {
    char name[32];
    snprintf(name, sizeof name, "variational:stages=%d", stages);
    for (int k = 0; k < 2; k++) {
      run_fresh(&ctx, m, (run_parts){ .formulation = name }, k == 0 ? 0.025 : 0.0125, 1, q[k],
                v[k]);
      run_fresh(&ctx, m, truth, 0.01, 1, q[2], v[2]);
      error[k] = fmax(apart(7, q[k], q[2]), apart(6, v[k], v[2]));
    }
    near(log2(error[0] / error[1]), 2 * stages - 2, 0.4, 0, "%s, damped: order %.2f", name,
         log2(error[0] / error[1]));
  }
  perp_model_destroy(m);
}

/* ---- momenta and joints ---- */

/* The largest changes over the steps: of P, of L along each axis (relative), and |C|, |J v|. */
typedef struct kept {
  double P, L[3], C, Cdot;
} kept;

static kept keeps(perp_model *m, const char *formulation, double h, int steps)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ .formulation = formulation }, h);
  double t, P0[3], L0[3], P[3], L[3], C[64], zero[3] = { 0 };
  const double *q, *v;
  kept most = { 0 };
  perp_sim_state(sim, &t, &q, &v);
  perp_model_momentum(m, q, v, P0, L0);
  const double length = apart(3, L0, zero);
  for (int k = 0; k < steps; k++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s at %g s", formulation, perp_reason_name(info.reason), t);
    perp_sim_state(sim, &t, &q, &v);
    perp_model_momentum(m, q, v, P, L);
    most.P = fmax(most.P, apart(3, P, P0));
    for (int i = 0; i < 3; i++) most.L[i] = fmax(most.L[i], fabs(L[i] - L0[i]) / length);
    perp_model_error(m, t, q, C);
    for (int i = 0; i < perp_model_m(m); i++) most.C = fmax(most.C, fabs(C[i]));
    perp_model_rate(m, t, q, v, C);
    for (int i = 0; i < perp_model_m(m); i++) most.Cdot = fmax(most.Cdot, fabs(C[i]));
  }
  perp_sim_destroy(sim);
  return most;
}

static const char *const methods[] = { "variational:stages=2", "variational",
                                       "variational:stages=4" };

/* Links on ball joints that turn about each other without gravity. */
static void free_chain(void)
{
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *m = run_model(&ctx, dim);
    perp_model_gravity(m, 0);
    for (int i = 0; i < 4; i++) {
      perp_body_def link = { .mass = perp_mass_box(1 + i, 0.1, 0.02, 0.03), .x[0] = 0.1 * i };
      const double w[3] = { dim == 3 ? 2 : 0, dim == 3 ? 3 : 0, 5 };
      link.v[0] = 0.3;
      link.v[1] = w[2] * link.x[0];
      link.v[2] = dim == 3 ? -w[1] * link.x[0] : 0;
      for (int k = 0; k < 3; k++) link.w[k] = w[k];
      run_body(&ctx, m, link);
      if (i > 0)
        run_joint(&ctx, m,
                  (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                    .a = i - 1,
                                    .b = i,
                                    .anchor_a[0] = 0.05,
                                    .anchor_b[0] = -0.05 });
    }
    run_finish(&ctx, m);
    for (int k = 0; k < 3; k++) {
      const kept most = keeps(m, methods[k], 0.02, 2000);
      below(most.P, 1e-12, "dim %d, free chain, %s: P to rounding", dim, methods[k]);
      for (int i = dim == 2 ? 2 : 0; i < 3; i++)
        below(most.L[i], 1e-12, "  L along %c to rounding", 'x' + i);
      below(most.C, 1e-13, "  C to rounding of positions far away");
      below(most.Cdot, 1e-13, "  J v to rounding");
    }
    perp_model_destroy(m);
  }
}

static void heavy_top(void)
{
  perp_scene s = run_open(&ctx, "heavy-top");
  for (int k = 0; k < 3; k++) {
    const kept most = keeps(s.model, methods[k], 2e-3, 5000);
    below(most.L[2], 1e-12, "heavy-top, %s: L about the vertical to rounding", methods[k]);
    below(most.C, 2e-15, "  C to rounding");
    below(most.Cdot, 1e-13, "  J v to rounding");
    ok(most.L[0] > 0.1, "  the others change");
  }
  ok(keeps(s.model, "bdf", 1e-3, 1000).L[2] > 1e-6, "heavy-top, bdf: L about the vertical changes");
  perp_scene_destroy(&s);
}

/* ---- RATTLE ---- */

static void rattle(const char *scene, double h, double t_end)
{
  double q[2][64], v[2][64];
  perp_scene s = run_open(&ctx, scene);
  static const char *const names[2] = { "variational:stages=2", "impulse" };
  for (int i = 0; i < 2; i++)
    ok(run_fresh(&ctx, s.model, (run_parts){ .formulation = names[i] }, h, t_end, q[i], v[i]) > 0,
       "%s, %s ends", scene, names[i]);
  below(apart(perp_model_nq(s.model), q[0], q[1]), 1e-10, "  at the same positions");
  below(apart(perp_model_nv(s.model), v[0], v[1]), 1e-8, "  with the same velocities");
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  symplectic();
  damped();
  free_chain();
  heavy_top();
  rattle("pendulum", 0.01, 2);
  rattle("heavy-top", 1e-3, 0.2);
  rattle("four-bar", 4e-3, 0.6);
  rattle("chain:links=4,dim=3", 2e-3, 0.3);
  return tap_done();
}
