/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives on the acceleration level against closed forms, with pivoting and iterative LCP solvers
 * and several integrators; universal and wheel joints against the velocity level; and what is
 * refused. */
#include "tests/drive_models.h"

typedef struct outcome {
  double x, rate, force[2];
  int64_t impacts;
} outcome;

typedef struct way {
  const char *lcp, *formulation, *ode;
  double h;
} way;

static outcome run(perp_model *model, way w, double t_end)
{
  outcome o = { .x = (double)NAN };
  perp_step_info info = { 0 };
  double t = 0;
  const double *q, *v;
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ w.formulation != NULL ? w.formulation : "acceleration",
                                         w.ode != NULL ? w.ode : "rk4", .lcp = w.lcp },
                            w.h);
  for (int i = 0; t < t_end; i++) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) {
      printf("# t = %g: %s %s %s\n", t, perp_reason_name(info.reason), ctx.msg,
             info.cause != NULL ? info.cause : "");
      perp_sim_destroy(sim);
      return o;
    }
    perp_sim_state(sim, &t, &q, &v);
  }
  perp_sim_state(sim, &t, &q, &v);
  o.x = perp_model_drive_coordinate(model, q, 0);
  double before[14], step[12];
  memcpy(before, q, (size_t)perp_model_nq(model) * sizeof *q);
  const double dt = 1e-6; /* the rate of x, by a difference along v */
  for (int i = 0; i < perp_model_nv(model); i++) step[i] = dt * v[i];
  perp_model_retract(model, before, step, before);
  o.rate = (perp_model_drive_coordinate(model, before, 0) - o.x) / dt;
  for (int i = 0; i < perp_model_drives(model) && i < 2; i++)
    o.force[i] = info.drive != NULL ? info.drive[i] : (double)NAN;
  o.impacts = perp_sim_contacts(sim) != NULL ? perp_sim_contacts(sim)->impacts : -1;
  perp_sim_destroy(sim);
  return o;
}

/* the rod falls onto a stop, or starts beyond it and is pushed back; the stop carries its weight */
static void limit(way w)
{
  w.h = 1e-3;
  for (int dim = 2; dim <= 3; dim++)
    for (int beyond = 0; beyond < 2; beyond++) {
      perp_model *model = rod(dim);
      perp_drive_def stop = unlimited(0);
      const double at = 0.7, sign = dim == 3 ? 1 : -1;
      *(dim == 3 ? &stop.upper : &stop.lower) = sign * at;
      stop.zero = beyond ? sign * (at + 0.1) : 0;
      run_drive(&ctx, model, stop);
      run_finish(&ctx, model);
      outcome o = run(model, w, 3);
      const double angle = beyond ? -0.1 : at;
      near(o.x, sign * at, 1e-8, 0, "%s: %d-D rod at its stop%s", w.lcp, dim,
           beyond ? ", from beyond" : "");
      near(o.force[0], -sign * 2 * gravity * 0.5 * cos(angle), 0, 1e-6,
           "%s: the stop carries the weight of the rod", w.lcp);
      perp_model_destroy(model);
    }
}

/* a motor against dry friction: sticks below it; above, accelerates until it has its velocity,
 * which is located */
static void motor(way w)
{
  static const double push[] = { 1.5, 3, 50 };
  const double friction = 2, mass = 2, velocity = 0.3;
  w.h = 1e-2;
  for (int i = 0; i < 3; i++) {
    perp_model *model = block(false, 0);
    perp_drive_def m = unlimited(0), f = unlimited(0);
    m.velocity = velocity;
    m.max_force = push[i];
    f.max_force = friction;
    run_drive(&ctx, model, m);
    run_drive(&ctx, model, f);
    run_finish(&ctx, model);
    outcome o = run(model, w, 1);
    const double a = fmax(0, push[i] - friction) / mass, until = a > 0 ? velocity / a : 1;
    near(o.rate, a * until, 1e-7, 0, "%s: motor of %g N against friction of 2 N: speed", w.lcp,
         push[i]);
    near(o.x, a * until * until / 2 + a * until * (1 - until), 1e-7, 0, "%s: and way", w.lcp);
    near(o.force[0], fmin(push[i], friction), 1e-6, 0, "%s: and force", w.lcp);
    near(o.force[1], -fmin(push[i], friction), 1e-6, 0, "%s: and friction", w.lcp);
    perp_model_destroy(model);
  }
  /* friction alone brings a moving block to rest, and holds it there */
  perp_model *model = block(false, 1);
  perp_drive_def f = unlimited(0);
  f.max_force = friction;
  run_drive(&ctx, model, f);
  run_finish(&ctx, model);
  outcome o = run(model, w, 1.5);
  near(o.x, mass / (2 * friction), 1e-7, 0, "%s: friction stops the block after v^2 m / 2 F",
       w.lcp);
  near(o.rate, 0, 1e-7, 0, "%s: where it stays", w.lcp);
  perp_model_destroy(model);
}

/* x'' = clamp(-k (x - 1) - c x', +-bound) / mass by many small steps of Heun's method */
static void spring_by_hand(double k, double c, double bound, double t_end, double *x, double *v)
{
  enum { N = 400000 };
  const double h = t_end / N, mass = 2;
  *x = *v = 0;
  for (int i = 0; i < N; i++) {
    const double a = fmin(fmax(-k * (*x - 1) - c * *v, -bound), bound) / mass;
    const double x1 = *x + h * *v, v1 = *v + h * a;
    const double b = fmin(fmax(-k * (x1 - 1) - c * v1, -bound), bound) / mass;
    *x += 0.5 * h * (*v + v1);
    *v += 0.5 * h * (a + b);
  }
}

static void servo(way w)
{
  w.h = 2e-3;
  for (int limited = 0; limited < 2; limited++) {
    perp_model *model = block(false, 0);
    perp_drive_def s = unlimited(0);
    s.target = 1;
    s.stiffness = 80;
    s.damping = 3;
    s.max_force = limited ? 5 : HUGE_VAL;
    run_drive(&ctx, model, s);
    run_finish(&ctx, model);
    double x, v;
    spring_by_hand(80, 3, s.max_force, 2, &x, &v);
    outcome o = run(model, w, 2);
    near(o.x, x, 1e-7, 0, "%s: servo spring%s", w.lcp, limited ? " of limited force" : "");
    near(o.rate, v, 1e-6, 0, "%s: and its speed", w.lcp);
    perp_model_destroy(model);
  }
}

/* elastic stops keep the speed; a ball on a stop bounces as in free flight, and comes to rest */
static void rebound(way w)
{
  w.h = 1e-2;
  perp_model *model = block(false, 3);
  perp_drive_def stops = unlimited(0);
  stops.lower = -1;
  stops.upper = 1;
  stops.restitution = 1;
  run_drive(&ctx, model, stops);
  run_finish(&ctx, model);
  outcome o = run(model, w, 4.9);
  near(o.x, -0.7, 1e-7, 0, "%s: to and fro between elastic stops", w.lcp);
  near(o.rate, -3, 1e-6, 0, "%s: at the same speed", w.lcp);
  if (o.impacts >= 0) near((double)o.impacts, 7, 0, 0, "%s: seven impacts", w.lcp);
  perp_model_destroy(model);
  model = block(true, 0);
  perp_drive_def ground = unlimited(0);
  ground.lower = 0;
  ground.zero = 1;
  ground.restitution = 0.5;
  run_drive(&ctx, model, ground);
  run_finish(&ctx, model);
  const double fall = sqrt(2 / gravity), up = 0.5 * gravity * fall, t = 0.8 - fall;
  o = run(model, w, 0.8);
  near(o.x, up * t - gravity * t * t / 2, 1e-7, 0, "%s: after one bounce", w.lcp);
  o = run(model, w, 2); /* it rests from 3 fall = 1.355 s on */
  near(o.x, 0, 1e-7, 0, "%s: and in the end at rest", w.lcp);
  near(o.force[0], 2 * gravity, 0, 1e-6, "%s: with its weight on the stop", w.lcp);
  perp_model_destroy(model);
}

/* a kinematic motor has its velocity at once, a locked drive does not move */
static void bilateral(way w)
{
  w.h = 1e-3;
  perp_model *model = block(true, 0);
  perp_drive_def m = unlimited(0);
  m.velocity = 0.4;
  m.max_force = HUGE_VAL;
  run_drive(&ctx, model, m);
  run_finish(&ctx, model);
  outcome o = run(model, w, 1);
  near(o.x, 0.4, 1e-8, 0, "%s: a kinematic motor lifts the block at its velocity", w.lcp);
  near(o.force[0], 2 * gravity, 0, 1e-6, "%s: with the force that it takes", w.lcp);
  perp_model_destroy(model);
  for (int off = 0; off < 2; off++) {
    model = block(true, 1);
    perp_drive_def lock = unlimited(0);
    lock.lower = lock.upper = off ? 0.01 : 0;
    run_drive(&ctx, model, lock);
    run_finish(&ctx, model);
    o = run(model, w, 1);
    near(o.x, lock.lower, 1e-8, 0, "%s: a locked drive holds%s", w.lcp, off ? ", from beside" : "");
    near(o.force[0], 2 * gravity, 0, 1e-6, "%s: with the weight on it", w.lcp);
    perp_model_destroy(model);
  }
}

/* A ball falls on a block that rests on the stop of its slider, and bounces: the stop takes the
 * impulse, the block stays; in the end it carries both. */
static void struck(const char *lcp, const char *impact)
{
  perp_model *model = block(true, 0);
  perp_drive_def ground = unlimited(0);
  char formulation[64];
  ground.lower = 0;
  run_drive(&ctx, model, ground);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 0, 0.5 + 0.1 + 0.4 } });
  for (int b = 0; b < 2; b++) {
    const perp_shape_def shape = { .kind = b == 0 ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE,
                                   .body = b,
                                   .half = { 0.5, 0.5, 0.5 },
                                   .radius = 0.1,
                                   .surface = { .restitution = 0.5, .mu_dynamic = (double)NAN } };
    if (perp_model_add_shape(&ctx, model, &shape, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  run_finish(&ctx, model);
  snprintf(formulation, sizeof formulation, "acceleration:impact=%s", impact);
  const way w = { .lcp = lcp, .formulation = formulation, .h = 1e-2 };
  double q[14], v[12];
  const run_parts parts = { formulation, "rk4", .lcp = lcp };
  const double fall = sqrt(2 * 0.4 / gravity), up = 0.5 * gravity * fall, t = 1.5 * fall;
  if (run_fresh(&ctx, model, parts, w.h, t, q, v) < 0) bail("%s: a run failed", lcp);
  near(q[7 + 2] - 0.6, up * 0.5 * fall - gravity * 0.25 * fall * fall / 2, 1e-7, 0,
       "%s, %s: the ball bounces off the block as off the ground", lcp, impact);
  near(q[2], 0, 1e-8, 0, "%s, %s: which stays on its stop", lcp, impact);
  const outcome o = run(model, w, 2);
  near(o.force[0], 3 * gravity, 0, 1e-6, "%s, %s: and carries both", lcp, impact);
  perp_model_destroy(model);
}

/* A rod on a universal joint, or on a steered and sprung wheel, under dry friction, a servo and
 * limits: both levels converge to the same. */
static perp_model *crossed(perp_joint_kind kind)
{
  perp_model *model = run_model(&ctx, 3);
  perp_body_def body = { .mass = perp_mass_box(2, 1, 0.3, 0.2), .x = { 0.5 }, .w = { 0, 0, 0 } };
  run_body(&ctx, model, body);
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = kind,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_b = { -0.5 },
                              .axis_a = { 0, 0, 1 },
                              .axis_b = { 0, 1, 0 } });
  perp_drive_def first = unlimited(0), second = unlimited(0), strut = unlimited(0);
  first.velocity = 2; /* steers: a motor of limited force */
  first.max_force = 0.8;
  first.upper = 0.9;
  run_drive(&ctx, model, first);
  second.axis = PERP_DRIVE_B; /* falls against a soft spring, onto a stop */
  second.stiffness = 4;
  second.damping = 0.5;
  second.max_force = 3;
  second.upper = 0.6;
  run_drive(&ctx, model, second);
  if (kind == PERP_JOINT_WHEEL) {
    strut.axis = PERP_DRIVE_ALONG;
    strut.stiffness = 400;
    strut.damping = 20;
    strut.max_force = HUGE_VAL;
    run_drive(&ctx, model, strut);
  }
  return run_finish(&ctx, model);
}

static void levels(perp_joint_kind kind)
{
  const char *name = perp_joint_kind_name(kind);
  double q[2][7], v[6];
  perp_model *model = crossed(kind);
  const run_parts events = { "acceleration", "rk4" };
  if (run_fresh(&ctx, model, events, 2e-3, 1, q[0], v) < 0) bail("%s: acceleration", name);
  double error[2];
  for (int i = 0; i < 2; i++) {
    if (run_fresh(&ctx, model, (run_parts){ "velocity", "symplectic-euler" }, i == 0 ? 4e-4 : 1e-4,
                  1, q[1], v) < 0)
      bail("%s: velocity", name);
    error[i] = 0;
    for (int j = 0; j < 7; j++) error[i] = fmax(error[i], fabs(q[1][j] - q[0][j]));
  }
  printf("# %s: velocity level is off by %g and %g\n", name, error[0], error[1]);
  below(error[1], 1e-3, "%s: the velocity level comes near", name);
  near(error[0] / error[1], 4, 1.5, 0, "%s: at first order", name);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < SOLVERS; i++) {
    const way w = { .lcp = solvers[i] };
    limit(w);
    motor(w);
    servo(w);
    rebound(w);
    bilateral(w);
    struck(solvers[i], "newton");
    struck(solvers[i], "poisson");
  }
  static const way others[] = { { "dantzig", "acceleration:state=momentum", "rk4" },
                                { "dantzig", "acceleration", "dopri5:tol=1e-9" },
                                { "dantzig", "groups:of=(acceleration)", "rk4" } };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    printf("# %s, %s\n", others[i].formulation, others[i].ode);
    motor(others[i]);
    servo(others[i]);
    rebound(others[i]);
  }
  levels(PERP_JOINT_UNIVERSAL);
  levels(PERP_JOINT_WHEEL);
  perp_model *model = block(false, 0);
  perp_drive_def m = unlimited(0);
  m.max_force = HUGE_VAL;
  run_drive(&ctx, model, m);
  run_finish(&ctx, model);
  run_refused(&ctx, model, (run_parts){ "acceleration:order=sequential", "rk4" }, "order=together");
  run_refused(&ctx, model, (run_parts){ "acceleration", "rk4", .lcp = "lemke-howson" },
              "'lemke-howson'");
  run_refused(&ctx, model, (run_parts){ "ggl", "rk4" }, "motor without damping");
  run_refused(&ctx, model, (run_parts){ "reduced", "rk4" }, "one evaluation per step");
  perp_model_destroy(model);
  return tap_done();
}
