/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, motors and dry friction of joints to the order of the method (acceleration level): a
 * block on a spring that meets a stop, that a motor drags along until the spring is stronger, and
 * that friction brings to rest, against their closed forms.  Errors of rk4 fall with order 4. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double k = 40, mass = 2;

enum { STEPS = 3 }; /* halvings + 1 */

static perp_model *on_spring(double v, perp_drive_def drive)
{
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(mass, 1, 1, 1), .v = { v } });
  run_joint(
      &ctx, m,
      (perp_joint_def){ .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1 } });
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .stiffness = k, .length = 50
  };
  spring.anchor_a[0] = -50;
  run_force(&ctx, m, spring);
  run_drive(&ctx, m, drive);
  return run_finish(&ctx, m);
}

static void converges(const char *what, perp_model *m, double t_end, double truth)
{
  double error[STEPS], q[7];
  for (int i = 0; i < STEPS; i++) {
    if (run_fresh(&ctx, m, (run_parts){ "acceleration", "rk4" }, 0.02 / (1 << i), t_end, q, NULL) <
        0)
      bail("%s: ends early", what);
    error[i] = fabs(q[0] - truth);
  }
  const double order = log2(error[0] / error[STEPS - 1]) / (STEPS - 1);
  ok(order > 3.5, "%s: order %.2f (%.2g m at 20 ms, %.2g m at 5 ms)", what, order, error[0],
     error[STEPS - 1]);
  perp_model_destroy(m);
}

/* x = v / w sin(w t) until x = at; there the velocity turns round, and e of it is left */
static void test_limit(void)
{
  const double w = sqrt(k / mass), v = 1, at = 0.17, e = 0.6, t = 0.9;
  perp_drive_def stop = { .lower = -HUGE_VAL };
  stop.upper = at;
  stop.restitution = e;
  const double hit = asin(at * w / v) / w, back = -e * v * cos(w * hit);
  converges("stop", on_spring(v, stop), t, at * cos(w * (t - hit)) + back / w * sin(w * (t - hit)));
}

/* carried along until k x = F, then swings about F / k */
static void test_motor(void)
{
  const double w = sqrt(k / mass), force = 6, speed = 0.4, t = 1.1;
  perp_drive_def motor = { .lower = -HUGE_VAL, .upper = HUGE_VAL };
  motor.velocity = speed;
  motor.max_force = force;
  const double until = force / k / speed;
  converges("motor", on_spring(speed, motor), t, force / k + speed / w * sin(w * (t - until)));
}

/* swings about +-F / k, against the motion, until the spring is weaker than friction at a turn */
static void test_friction(void)
{
  const double w = sqrt(k / mass), force = 1.2, v = 1.2, d = force / k, half = M_PI / w;
  perp_drive_def brake = { .lower = -HUGE_VAL, .upper = HUGE_VAL };
  brake.max_force = force;
  /* x = -d + A cos(w t - phase), to the first turn at x = far */
  const double A = hypot(d, v / w), first = atan2(v / w, d) / w, far = A - d;
  /* each further turn is 2 d nearer: far, -(far - 2 d), ... until |x| <= d */
  double x = far;
  int turns = 0;
  while (fabs(x) > d) {
    x = x > 0 ? 2 * d - x : -2 * d - x;
    turns++;
  }
  if (turns < 2) bail("only %d turns", turns);
  const double t = first + 1.4 * half; /* behind the second turn */
  const double second = 2 * d - far;
  converges("friction, swinging", on_spring(v, brake), t,
            -d + (second + d) * cos(w * (t - first - half)));
  converges("friction, at rest", on_spring(v, brake), first + (turns + 1) * half, x);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_limit();
  test_motor();
  test_friction();
  return tap_done();
}
