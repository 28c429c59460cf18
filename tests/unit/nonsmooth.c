/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event-capturing schemes against their recurrences on a ball that bounces, orders on a chain, the
 * energy of a spring, and what the combined projection of Acary 2013 says of the end of a step. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double G = 9.81, RADIUS = 0.25;

enum { STEPS = 600 };

static perp_model *ball(double height, double e)
{
  perp_model *m = run_model(&ctx, 2);
  perp_body_def body = { .mass = perp_mass_sphere(2, RADIUS), .x = { 0, height } };
  body.v[0] = 0.3;
  perp_model_gravity(m, G);
  run_body(&ctx, m, body);
  for (int i = 0; i < 2; i++) {
    const perp_shape_def shape = { .kind = i == 0 ? PERP_SHAPE_PLANE : PERP_SHAPE_SPHERE,
                                   .body = i == 0 ? PERP_WORLD : 0,
                                   .radius = RADIUS,
                                   .surface = { .restitution = e } };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  return m;
}

/* One step of a scheme on x = (height above the plane, its rate), written down by hand. */
typedef void recurrence(double h, double e, double *x);

static double struck(double v, double e, bool closed, double free)
{
  const double rebound = v < -0.01 ? -e * v : 0;
  return closed && free < rebound ? rebound : free;
}

static void moreau(double theta, double h, double e, double *x)
{
  const double v = x[1], next = struck(v, e, x[0] + h / 2 * v <= 1e-9, v - h * G);
  x[0] += h * (theta * next + (1 - theta) * v);
  x[1] = next;
}
static void moreau_middle(double h, double e, double *x)
{
  moreau(0.5, h, e, x);
}
static void moreau_end(double h, double e, double *x)
{
  moreau(1, h, e, x);
}
static void alpha(double h, double e, double *x)
{
  const double v = x[1], free = v - h * G, gap = x[0] + h * v - h * h / 2 * G;
  const double next = struck(v, e, gap <= 1e-9, free);
  x[0] = gap + h / 2 * (next - free);
  x[1] = next;
}

static void bounces(const char *formulation, recurrence *step, double e)
{
  perp_model *m = ball(1, e);
  const double h = 1.0 / 256;
  perp_sim *sim = run_start(
      &ctx, m, (run_parts){ formulation, .lcp = "dantzig", .contact = "frictionless" }, h);
  double x[2] = { 1 - RADIUS, 0 }, worst = 0, lowest = 1;
  for (int n = 0; n < STEPS; n++) {
    perp_step_info info;
    double t;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s, step %d: %s", formulation, n, perp_reason_name(info.reason));
    perp_sim_state(sim, &t, &q, &v);
    step(h, e, x);
    worst = fmax(worst, fmax(fabs(q[1] - RADIUS - x[0]), fabs(v[1] - x[1])));
    lowest = fmin(lowest, x[0]);
  }
  below(worst, 1e-11, "%s, e = %g: a ball that bounces is off its recurrence by %.2g", formulation,
        e, worst);
  ok(lowest < 0.02, "%s, e = %g: it has reached the ground (%.2g m)", formulation, e, lowest);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

static void order(const char *formulation, double expected)
{
  double q[2][14], end[2];
  perp_model *m = run_chain(&ctx, 3, 2, PERP_JOINT_BALL, false);
  run_fresh(&ctx, m, (run_parts){ "acceleration", "dopri5:tol=1e-12" }, 1e-3, 0.3, q[0], NULL);
  for (int i = 0; i < 2; i++) {
    if (run_fresh(&ctx, m, (run_parts){ formulation }, i == 0 ? 1e-3 : 5e-4, 0.3, q[1], NULL) < 0)
      bail("%s: the chain stops", formulation);
    end[i] = 0;
    for (int j = 0; j < 14; j++) end[i] = fmax(end[i], fabs(q[1][j] - q[0][j]));
  }
  near(log2(end[0] / end[1]), expected, 0.1, 0, "%s: order %g (%.3g, %.3g)", formulation, expected,
       end[0], end[1]);
  perp_model_destroy(m);
}

/* Energy of a point on a spring of 10 rad/s after a hundred steps h, over that of the start. */
static double energy(const char *formulation, double h)
{
  perp_model *m = run_model(&ctx, 2);
  const perp_body_def body = { .mass = perp_mass_sphere(2, RADIUS), .x = { 1, 0 } };
  const double mass = body.mass.mass, k = 100 * mass;
  run_body(&ctx, m, body);
  const perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .stiffness = k
  };
  run_force(&ctx, m, spring);
  run_finish(&ctx, m);
  double q[3], v[3];
  if (run_fresh(&ctx, m, (run_parts){ formulation }, h, 100 * h, q, v) < 0)
    bail("%s: the spring stops", formulation);
  perp_model_destroy(m);
  return (0.5 * k * q[0] * q[0] + 0.5 * mass * v[0] * v[0]) / (0.5 * k);
}

/* A ball slides without friction over a fixed one: the largest overlap at ends of steps, and the
 * largest gap of a step that has pressed. */
static double over(const char *formulation, double *open)
{
  const double R = 1, far = R + RADIUS;
  double gap = 0;
  int pressed = 0;
  *open = 0;
  perp_model *m = run_model(&ctx, 2);
  perp_body_def body = { .mass = perp_mass_sphere(2, RADIUS),
                         .x = { 0.1, sqrt(far * far - 0.01) } };
  perp_model_gravity(m, G);
  run_body(&ctx, m, body);
  for (int i = 0; i < 2; i++) {
    const perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE,
                                   .body = i == 0 ? PERP_WORLD : 0,
                                   .radius = i == 0 ? R : RADIUS };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  perp_sim *sim = run_start(
      &ctx, m, (run_parts){ formulation, .lcp = "dantzig", .contact = "frictionless" }, 5e-3);
  for (int n = 0; n < 100; n++) {
    perp_step_info info;
    double t;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", formulation, perp_reason_name(info.reason));
    perp_sim_state(sim, &t, &q, &v);
    gap = fmax(gap, far - sqrt(q[0] * q[0] + q[1] * q[1]));
    if (info.n_contacts == 0 || !(perp_dot(2, info.contacts[0].n, info.impulse) > 1e-9)) continue;
    *open = fmax(*open, sqrt(q[0] * q[0] + q[1] * q[1]) - far);
    pressed++;
  }
  ok(pressed > 20, "%s: the contact presses in %d steps", formulation, pressed);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
  return gap;
}

static void projected(void)
{
  double open[3];
  const double none = over("moreau-jean", &open[0]),
               direct = over("moreau-jean:projection=direct", &open[1]),
               combined = over("moreau-jean:projection=combined", &open[2]);
  ok(none > 1e-6, "without projection a ball sinks into another by %.2g m", none);
  below(direct, 3e-9, "direct projection leaves an overlap of %.2g m", direct);
  below(combined, 3e-9, "combined projection leaves an overlap of %.2g m", combined);
  for (int i = 1; i < 3; i++)
    below(open[i], 3e-9, "%s projection keeps closed what presses: %.2g m",
          i == 1 ? "direct" : "combined", open[i]);
}

/* A ball falls onto the plane within a step, with the prediction above it: the impact of combined
 * projection is in that step, else in the next one. */
static void impact(const char *projection, bool now)
{
  char formulation[64];
  snprintf(formulation, sizeof formulation, "moreau-jean:projection=%s", projection);
  perp_model *m = ball(RADIUS + 0.07, 0);
  double q[3] = { 0, RADIUS + 0.07, 0 }, v[3] = { 0, -1, 0 }, t;
  perp_sim *sim = run_start(
      &ctx, m, (run_parts){ formulation, .lcp = "dantzig", .contact = "frictionless" }, 0.1);
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("%s: %s", formulation, perp_reason_name(info.reason));
  const double *q1, *v1;
  perp_sim_state(sim, &t, &q1, &v1);
  if (now)
    ok(fabs(v1[1]) < 1e-9 && q1[1] > RADIUS - 1e-8,
       "combined: the impact is in the step that closes the gap (v = %.3g, gap %.2g)", v1[1],
       q1[1] - RADIUS);
  else
    ok(v1[1] < -1, "%s: the impact is one step late (v = %.3g)", projection, v1[1]);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* Forces that passes cannot find end the step. */
static void stops(const char *formulation)
{
  perp_model *m = run_chain(&ctx, 3, 2, PERP_JOINT_BALL, false);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ formulation }, 0.01);
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  ok(info.reason == PERP_MAX_ITER, "%s: one pass does not end the step: %s", formulation,
     perp_reason_name(info.reason));
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* Passes end where the last one moved less than the tolerance, which the first one does here. */
static void tolerated(const char *formulation, double tol, bool one)
{
  char text[64];
  perp_ode_counters made;
  perp_stats kkt;
  snprintf(text, sizeof text, "%s:tol=%g", formulation, tol);
  perp_model *m = run_chain(&ctx, 3, 2, PERP_JOINT_BALL, false);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ text }, 1e-3);
  if (run_to(&ctx, sim, 0.01) < 0) bail("%s stops", text);
  perp_sim_counters(sim, &made, &kkt);
  ok((made.iterations == 0) == one, "%s: %d further passes in 10 steps", text,
     (int)made.iterations);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* Two bodies one above the other, the lower one on the ground, and 1 mm missing in the joint
 * between them: the projection lifts the lower one by a, m a^2 / 2 + m b^2 / 2 + P h a -> min with
 * a + b = 1 mm and the impulse P = 2 m g h of the step, which presses it down: a = 0.5 mm - g h^2.
 */
static void pressed(void)
{
  const double h = 1e-3, off = 1e-3;
  perp_model *m = run_model(&ctx, 2);
  perp_model_gravity(m, G);
  for (int i = 0; i < 2; i++)
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.1 } }, .x = { 0, RADIUS + i } });
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { 0, 0.5 },
                              .anchor_b = { 0, -0.5 } });
  const perp_shape_def disk = { .kind = PERP_SHAPE_SPHERE, .radius = RADIUS },
                       ground = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  run_shape(&ctx, m, disk);
  run_shape(&ctx, m, ground);
  run_finish(&ctx, m);
  const double q[6] = { 0, RADIUS, 0, 0, RADIUS + 1 + off, 0 }, v[6] = { 0 };
  double t;
  const double *q1, *v1;
  perp_step_info info;
  perp_sim *sim = run_start(
      &ctx, m,
      (run_parts){ "moreau-jean:projection=direct", .lcp = "dantzig", .contact = "frictionless" },
      h);
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK ||
      perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("projection of a joint that is open: %s", ctx.msg);
  perp_sim_state(sim, &t, &q1, &v1);
  near(q1[4] - q1[1] - 1, 0, 1e-9, 0, "a joint that is open is closed");
  near(q1[1] - RADIUS, off / 2 - G * h * h, 1e-8, 0, "which lifts what the step has pressed");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 3; i++) {
    const double e = 0.4 * i;
    bounces("moreau-jean", moreau_middle, e);
    bounces("moreau-jean:theta=1", moreau_end, e);
    bounces("nonsmooth-alpha", alpha, e);
    bounces("nonsmooth-alpha:rho=0.2", alpha, e);
  }
  tolerated("moreau-jean", 2e-3, true);
  tolerated("moreau-jean", 1e-12, false);
  pressed();
  order("moreau-jean", 2);
  order("moreau-jean:theta=1", 1);
  order("moreau-jean:projection=combined", 2);
  order("nonsmooth-alpha", 2);
  order("nonsmooth-alpha:reactions=end", 1);
  near(energy("moreau-jean", 0.02), 1, 1e-12, 0, "theta = 1/2 keeps the energy of a spring");
  near(energy("moreau-jean", 2), 1, 1e-9, 0,
       "and of one that no plain pass could find: h^2 k / m = 400");
  near(energy("nonsmooth-alpha:rho=1", 0.02), 1, 2e-2, 0, "rho = 1 bounds the energy of a spring");
  below(energy("moreau-jean:theta=1", 0.02), 0.1, "theta = 1 takes it");
  below(energy("nonsmooth-alpha:rho=0", 0.02), 0.999, "rho = 0 damps it");
  projected();
  impact("none", false);
  impact("direct", false);
  impact("combined", true);
  stops("moreau-jean:iterations=1");
  stops("nonsmooth-alpha:iterations=1");
  return tap_done();
}
