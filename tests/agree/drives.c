/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, motors, servo springs and dry friction of joints against closed forms, with pivoting and
 * iterative LCP solvers; and what is refused. */
#include "tests/drive_models.h"

typedef struct outcome {
  double x, force[2], v[6];
} outcome;

static outcome run_by(perp_model *model, const char *formulation, const char *lcp, double h,
                      int steps)
{
  outcome o = { .x = (double)NAN };
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation, .lcp = lcp }, h);
  for (int i = 0; i < steps; i++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) {
      printf("# step %d: %s %s\n", i, perp_reason_name(info.reason), ctx.msg);
      perp_sim_destroy(sim);
      return o;
    }
  perp_sim_state(sim, &t, &q, &v);
  o.x = perp_model_drive_coordinate(model, q, 0);
  memcpy(o.v, v, (size_t)perp_model_nv(model) * sizeof *v);
  for (int i = 0; i < perp_model_drives(model) && i < 2; i++) o.force[i] = info.drive[i];
  perp_sim_destroy(sim);
  return o;
}

static outcome run(perp_model *model, const char *lcp, double h, int steps)
{
  return run_by(model, "velocity", lcp, h, steps);
}

/* the rod falls onto a stop and stays there: the stop carries its weight */
static void limit(const char *lcp)
{
  for (int dim = 2; dim <= 3; dim++)
    for (int beyond = 0; beyond < 2; beyond++) {
      perp_model *model = rod(dim);
      perp_drive_def stop = unlimited(0);
      /* about +y in space the rod falls to positive angles, in the plane to negative ones */
      const double at = 0.7, sign = dim == 3 ? 1 : -1;
      if (dim == 3)
        stop.upper = at;
      else
        stop.lower = -at;
      /* `zero` tells the rod to be beyond the stop at the start: it is pushed back */
      stop.zero = beyond ? sign * (at + 0.1) : 0;
      run_drive(&ctx, model, stop);
      run_finish(&ctx, model);
      outcome o = run(model, lcp, 1e-3, beyond ? 6000 : 3000);
      const double angle = beyond ? -0.1 : at; /* of the rod below the horizontal */
      near(o.x, sign * at, 1e-8, 0, "%s: %d-D rod at its stop%s", lcp, dim,
           beyond ? ", from beyond" : "");
      near(o.force[0], -sign * 2 * gravity * 0.5 * cos(angle), 0, 1e-6,
           "%s: the stop carries the weight of the rod", lcp);
      perp_model_destroy(model);
    }
}

/* a block that a motor pushes against dry friction: sticks below it, accelerates by the rest above
 */
static void motor(const char *lcp)
{
  static const double push[] = { 1.5, 3 };
  const double friction = 2, h = 1e-2;
  for (int i = 0; i < 2; i++) {
    perp_model *model = block(false, 0);
    perp_drive_def m = unlimited(0), f = unlimited(0);
    m.velocity = 100;
    m.max_force = push[i];
    f.max_force = friction;
    run_drive(&ctx, model, m);
    run_drive(&ctx, model, f);
    run_finish(&ctx, model);
    outcome o = run(model, lcp, h, 100);
    const double a = fmax(0, push[i] - friction) / 2;
    near(o.v[0], a * 1, 1e-7, 0, "%s: motor of %g N against friction of 2 N: speed after 1 s", lcp,
         push[i]);
    near(o.x, a * h * h * 100 * 101 / 2, 1e-7, 0, "%s: and way", lcp);
    near(o.force[0], push[i], 1e-6, 0, "%s: the motor is at its bound", lcp);
    near(o.force[1], -fmin(push[i], friction), 1e-6, 0, "%s: friction", lcp);
    perp_model_destroy(model);
  }
  /* a motor that can: reaches its velocity and then needs the friction only */
  perp_model *model = block(false, 0);
  perp_drive_def m = unlimited(0), f = unlimited(0);
  m.velocity = 0.3;
  m.max_force = 50;
  f.max_force = friction;
  run_drive(&ctx, model, m);
  run_drive(&ctx, model, f);
  run_finish(&ctx, model);
  outcome o = run(model, lcp, h, 100);
  near(o.v[0], 0.3, 1e-9, 0, "%s: a strong motor holds its velocity", lcp);
  near(o.force[0], friction, 1e-6, 0, "%s: against friction", lcp);
  perp_model_destroy(model);
}

/* spring and damper of the end of the step = implicit Euler, exactly; limited in force */
static void servo(const char *lcp)
{
  const double k = 80, d = 3, h = 1e-2, mass = 2, bound = 5;
  for (int limited = 0; limited < 2; limited++) {
    perp_model *model = block(false, 0);
    perp_drive_def s = unlimited(0);
    s.target = 1;
    s.stiffness = k;
    s.damping = d;
    s.max_force = limited ? bound : 1e6;
    run_drive(&ctx, model, s);
    run_finish(&ctx, model);
    double x = 0, v = 0;
    for (int i = 0; i < 200; i++) {
      double next = (mass * v - h * k * (x - 1)) / (mass + h * d + h * h * k);
      const double force = mass * (next - v) / h;
      if (limited && fabs(force) > bound) next = v + h * copysign(bound, force) / mass;
      v = next;
      x += h * v;
    }
    outcome o = run(model, lcp, h, 200);
    near(o.x, x, 1e-9, 0, "%s: servo spring%s", lcp, limited ? " of limited force" : "");
    near(o.v[0], v, 1e-8, 0, "%s: and its speed", lcp);
    if (!limited) { /* of steps with two impulses: a damped oscillation, to first order */
      const double a = d / (2 * mass), w = sqrt(k / mass - a * a), t = 0.3;
      o = run_by(model, "impulse", lcp, 1e-3, 300);
      near(o.x, 1 - exp(-a * t) * (cos(w * t) + a / w * sin(w * t)), 0.02, 0,
           "impulse, %s: servo spring", lcp);
    }
    perp_model_destroy(model);
  }
}

/* The same spring at the start of each step, with a damper and without: symplectic Euler. */
static void symplectic(const char *lcp)
{
  const double k = 80, h = 1e-2, mass = 2, bound = 5;
  for (int damped = 0; damped < 2; damped++)
    for (int limited = 0; limited < 2; limited++) {
      const double d = damped ? 3 : 0;
      perp_model *model = block(false, 0);
      perp_drive_def s = unlimited(0);
      s.target = 1, s.stiffness = k, s.damping = d, s.max_force = limited ? bound : 1e6;
      run_drive(&ctx, model, s);
      run_finish(&ctx, model);
      double x = 0, v = 0, force = 0;
      for (int i = 0; i < 200; i++) {
        double next = (mass * v - h * k * (x - 1)) / (mass + h * d);
        force = mass * (next - v) / h;
        if (limited && fabs(force) > bound) {
          force = copysign(bound, force);
          next = v + h * force / mass;
        }
        v = next;
        x += h * v;
      }
      const outcome o = run_by(model, "velocity:servo=symplectic", lcp, h, 200);
      near(o.x, x, 1e-9, 0, "%s: symplectic servo%s%s", lcp, damped ? ", damped" : "",
           limited ? ", of limited force" : "");
      near(o.v[0], v, 1e-8, 0, "%s: and its speed", lcp);
      near(o.force[0], force, 1e-7, 0, "%s: and its force", lcp);
      perp_model_destroy(model);
    }
}

/* between two stops with restitution 1 the speed is kept, also where a step ends on the stop
 * itself; schemes see a stop when it is overrun */
static void rebound(const char *formulation, const char *lcp, double h, double speed, double over)
{
  perp_model *model = block(false, 0);
  perp_drive_def stops = unlimited(0);
  stops.lower = -1;
  stops.upper = 1;
  stops.restitution = 1;
  run_drive(&ctx, model, stops);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation, .lcp = lcp }, h);
  const double q[7] = { 0, 0, 0, 1 }, v[6] = { speed };
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  double t, farthest = 0;
  const double *qt, *vt;
  for (int i = 0; i < 500; i++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &qt, &vt);
    farthest = fmax(farthest, fabs(perp_model_drive_coordinate(model, qt, 0)));
  }
  near(fabs(vt[0]), speed, 1e-9, 0, "%s, %s: between elastic stops the speed is kept", formulation,
       lcp);
  below(farthest, 1 + over, "%s, %s: and none is overrun by more", formulation, lcp);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void refusals(void)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(2, 1, 1, 1) });
  run_joint(&ctx, model, (perp_joint_def){ .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0 });
  perp_drive_def d = unlimited(0);
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  perp_model_destroy(model);
  model = rod(3);
  d.joint = 1;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.lower = 1, d.upper = 0;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.max_force = -1;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.stiffness = -1;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.velocity = (double)NAN;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.restitution = 2;
  ok(perp_model_add_drive(&ctx, model, &d, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  d = unlimited(0), d.upper = 1;
  run_drive(&ctx, model, d);
  run_finish(&ctx, model);
  run_refused(&ctx, model, (run_parts){ "ggl", "rk4" }, "has limits");
  run_refused(&ctx, model, (run_parts){ "generalized-alpha" }, "has limits");
  run_refused(&ctx, model, (run_parts){ "radau5" }, "has limits");
  perp_model_destroy(model);
}

/* Every problem is counted, and a run goes on only where each was solved, or has had the sweeps it
 * was to have.  Two rods, a weak motor at each hinge: rows that sweeps do not solve at once. */
static void counted(void)
{
  static const struct {
    const char *lcp;
    bool goes_on, solves;
  } cases[] = { { "dantzig", true, true },
                { "pgs:max_iter=100000", true, true },
                { "pgs:max_iter=2", false, false },
                { "pgs:sweeps=2", true, false } };
  enum { STEPS = 10 };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = rod(3);
    run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(2, 1, 0.1, 0.1), .x = { 1.5 } });
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = 0,
                                .b = 1,
                                .anchor_a = { 0.5 },
                                .anchor_b = { -0.5 },
                                .axis_a = { 0, 1 },
                                .axis_b = { 0, 1 } });
    for (int k = 0; k < 2; k++) {
      perp_drive_def d = unlimited(k);
      d.max_force = 1e3;
      run_drive(&ctx, model, d);
    }
    run_finish(&ctx, model);
    perp_sim *sim = run_start(
        &ctx, model,
        (run_parts){ "velocity", "symplectic-euler", "tree", "baumgarte", cases[i].lcp }, 1e-3);
    perp_reason reason = run_to(&ctx, sim, STEPS * 1e-3);
    const perp_contact_count *c = perp_sim_contacts(sim);
    if (c == NULL) bail("problems are not counted");
    if (cases[i].goes_on)
      ok(reason >= 0 && c->problems == STEPS && c->failures == 0 &&
             c->solved == (cases[i].solves ? STEPS : 0) &&
             c->swept == (cases[i].solves ? 0 : STEPS) && c->rows == 2,
         "%s: %d problems, %d solved, %d swept", cases[i].lcp, (int)c->problems, (int)c->solved,
         (int)c->swept);
    else
      ok(reason == PERP_MAX_ITER && c->problems == 1 && c->failures == 1,
         "%s: the run ends where a problem is not solved (%s)", cases[i].lcp,
         perp_reason_name(reason));
    if (cases[i].solves)
      ok(c->data <= 1e-6 && c->residual <= 1e-10, "%s: by both rules, %.2g and %.2g", cases[i].lcp,
         c->residual, c->data);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* A block so fast that one step goes through all its range, from a place next to the limit that it
 * leaves: it ends at the other one; with restitution it comes back, but not beyond the first. */
static void through(const char *lcp)
{
  for (int e = 0; e <= 1; e++) {
    perp_model *model = block(false, 100);
    perp_drive_def stops = unlimited(0);
    stops.zero = 0.02;
    stops.lower = 0;
    stops.upper = 0.1;
    stops.restitution = e;
    run_drive(&ctx, model, stops);
    run_finish(&ctx, model);
    const outcome one = run(model, lcp, 2e-3, 1), two = run(model, lcp, 2e-3, 2);
    near(one.x, e == 0 ? 0.1 : 0, 1e-9, 0, "%s: a fast block ends at a limit, e = %d", lcp, e);
    near(one.force[0], 2 * (one.v[0] - 100) / 2e-3, 0, 1e-9, "%s: ... whose force stops it", lcp);
    below(fabs(two.x - 0.05), 0.05 + 1e-9, "%s: ... and stays within both", lcp);
    perp_model_destroy(model);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < SOLVERS; i++) {
    limit(solvers[i]);
    motor(solvers[i]);
    servo(solvers[i]);
    symplectic(solvers[i]);
    rebound("velocity", solvers[i], 1e-2, 3, 1e-9);
    rebound("impulse", solvers[i], 1e-2, 3, 1e-9);
    rebound("velocity", solvers[i], 1.0 / 64, 1, 1e-9);
    rebound("impulse", solvers[i], 1.0 / 64, 1, 1e-9);
    through(solvers[i]);
  }
  static const char *const schemes[] = { "si-baumgarte", "si-split", "si-ngs", "soft-step", "tgs" };
  for (int i = 0; i < (int)(sizeof schemes / sizeof *schemes); i++)
    rebound(schemes[i], NULL, 1e-2, 3, 1e-2 * 3);
  counted();
  refusals();
  return tap_done();
}
