/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Angles of drives over more than half a turn: servo springs against the linear equation that they
 * are, stops behind one and a half turns, a target that goes round; by every formulation that
 * serves drives. */
#include "tests/drive_models.h"

static const run_parts formulations[] = {
  { "velocity" },
  { "velocity:tol=1e-4" },
  { "velocity-implicit" },
  { "velocity-midpoint" },
  { "moreau-jean" },
  { "nonsmooth-alpha" },
  { "acceleration", "rk4" },
  { "penalty", "rk4" },
  { "regularized" },
  { "reduced" },
  { "impulse" },
  { "groups" },
  { "si-baumgarte" },
  { "si-split" },
  { "si-ngs" },
  { "soft-step" },
  { "small-steps" },
  { "tgs" },
  { "xpbd" },
  { "soft-constraints" },
};
enum { FORMULATIONS = sizeof formulations / sizeof *formulations };

/* a rod of 1 m and 2 kg on a hinge, without gravity: inertia about the hinge, kg m^2 */
static perp_model *arm(int dim, double *inertia)
{
  perp_model *m = rod(dim);
  perp_model_gravity(m, 0);
  const perp_mass mass = perp_mass_box(2, 1, 0.1, 0.1);
  *inertia = (dim == 3 ? mass.inertia[4] : mass.inertia[8]) + 2 * 0.25;
  return m;
}

/* I x'' = -k (x - goal) - d x' from rest at 0, overdamped */
static double relaxed(double I, double k, double d, double goal, double t)
{
  const double root = sqrt(d * d - 4 * I * k), a = (-d + root) / (2 * I), b = (-d - root) / (2 * I);
  return goal * (1 + (b * exp(a * t) - a * exp(b * t)) / (a - b));
}

static double end_angle(perp_model *m, run_parts parts, double h, double t_end)
{
  perp_sim *sim = run_start(&ctx, m, parts, h);
  double t = 0, x = 0;
  const double *q, *v;
  perp_step_info info;
  perp_model_follow(m, NULL);
  while (t < t_end) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) {
      printf("# %s: %s %s\n", parts.formulation, perp_reason_name(info.reason), ctx.msg);
      x = (double)NAN;
      break;
    }
    perp_sim_state(sim, &t, &q, &v);
    perp_model_follow(m, q);
    x = perp_model_drive_coordinate(m, q, 0);
  }
  perp_sim_destroy(sim);
  return x;
}

static void goals(void)
{
  static const double goal[] = { 3.5, -4.7, 7.0, 20 };
  for (int dim = 2; dim <= 3; dim++)
    for (size_t g = 0; g < sizeof goal / sizeof *goal; g++) {
      double I;
      perp_model *m = arm(dim, &I);
      perp_drive_def servo = unlimited(0);
      servo.target = goal[g], servo.stiffness = 10, servo.damping = 8, servo.max_force = HUGE_VAL;
      run_drive(&ctx, m, servo);
      run_finish(&ctx, m);
      const double want = relaxed(I, 10, 8, goal[g], 1.5);
      for (int i = 0; i < FORMULATIONS; i++) {
        const double x = end_angle(m, formulations[i], 1e-3, 1.5);
        near(x, want, 1e-2 * fabs(goal[g]), 0, "%d-d, %s: on its way to %g rad", dim,
             formulations[i].formulation, goal[g]);
      }
      perp_model_destroy(m);
    }
}

/* A wheel on a hinge about y at its centre, which turns by w; without gravity. */
static perp_model *wheel_at(int dim, double w)
{
  perp_model *m = run_model(&ctx, dim);
  perp_model_gravity(m, 0);
  perp_body_def wheel = { .mass = perp_mass_box(2, 1, 0.1, 0.1) };
  wheel.w[dim == 3 ? 1 : 2] = w;
  run_body(&ctx, m, wheel);
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = PERP_WORLD,
                              .b = 0,
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 1 } });
  return m;
}

/* It spins onto a stop at 1.6 turns, which sends it back; at 2 turns of the way it has gone as far
 * back. */
static void stops(void)
{
  for (int dim = 2; dim <= 3; dim++) {
    perp_model *m = wheel_at(dim, 10);
    perp_drive_def stop = unlimited(0);
    stop.upper = 10, stop.lower = -20, stop.restitution = 1;
    run_drive(&ctx, m, stop);
    run_finish(&ctx, m);
    static const run_parts which[] = { { "velocity" }, { "acceleration", "rk4" } };
    for (int i = 0; i < 2; i++) {
      /* 1 s to the stop, 3 s to the other one, 1 s back */
      near(end_angle(m, which[i], 1e-3, 3.5), -15, 0.05, 0, "%d-d, %s: back from a stop at 10 rad",
           dim, which[i].formulation);
    }
    perp_model_destroy(m);
  }
}

/* A target that turns 12 rad a second: the servo follows it, behind by d/k of its rate. */
static void rounds(void)
{
  double I;
  perp_model *m = arm(3, &I);
  perp_signal_ref s;
  const perp_signal_def ramp = {
    .kind = PERP_SIGNAL_TABLE, .n = 2, .t = (double[]){ 0, 10 }, .y = (double[]){ 0, 120 }
  };
  if (perp_model_add_signal(&ctx, m, &ramp, &s) != PERP_OK) bail("%s", ctx.msg);
  perp_drive_def servo = unlimited(0);
  servo.target_signal = s, servo.stiffness = 400, servo.damping = 40, servo.max_force = HUGE_VAL;
  run_drive(&ctx, m, servo);
  run_finish(&ctx, m);
  static const run_parts which[] = { { "velocity" }, { "acceleration", "rk4" } };
  for (int i = 0; i < 2; i++)
    near(end_angle(m, which[i], 1e-3, 4), 48 - 12 * 40 / 400.0, 0.03, 0, "%s: a target goes round",
         which[i].formulation);
  perp_model_destroy(m);
}

/* Goals over several turns to either side, each from a zero of its own: the arm stands at them. */
static void many_goals(void)
{
  static const run_parts which[] = { { "velocity" }, { "acceleration", "rk4" }, { "reduced" } };
  for (int g = 0; g < 20; g++) {
    const double goal = (g % 2 == 0 ? 1 : -1) * (0.3 + 0.83 * g), zero = 0.7 * (g % 5 - 2);
    double I;
    perp_model *m = arm(g % 3 == 0 ? 2 : 3, &I);
    perp_drive_def servo = unlimited(0);
    servo.zero = zero, servo.target = goal, servo.stiffness = 10, servo.damping = 6;
    servo.max_force = HUGE_VAL;
    run_drive(&ctx, m, servo);
    run_finish(&ctx, m);
    for (size_t i = 0; i < sizeof which / sizeof *which; i++)
      near(end_angle(m, which[i], 2e-3, 20), goal, 1e-6, 0, "%s: from %g to %g rad",
           which[i].formulation, zero, goal);
    perp_model_destroy(m);
  }
}

/* Ranges with a side beyond half a turn, or two: each side stops what comes to it. */
static void ranges(void)
{
  static const run_parts which[] = { { "velocity" }, { "acceleration", "rk4" }, { "reduced" } };
  for (int r = 0; r < 20; r++) {
    const double lower = -0.4 - 0.47 * r, upper = 0.1 + 0.31 * ((7 * r) % 20);
    for (int side = 0; side < 2; side++) {
      perp_model *m = wheel_at(3, side == 0 ? -5 : 5);
      perp_drive_def stop = unlimited(0);
      stop.lower = lower, stop.upper = upper;
      run_drive(&ctx, m, stop);
      run_finish(&ctx, m);
      for (size_t i = 0; i < sizeof which / sizeof *which; i++)
        near(end_angle(m, which[i], 1e-3, 3), side == 0 ? lower : upper, 1e-6, 0,
             "%s: stopped at %g rad", which[i].formulation, side == 0 ? lower : upper);
      perp_model_destroy(m);
    }
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  goals();
  stops();
  rounds();
  many_goals();
  ranges();
  return tap_done();
}
