/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts, limits and motors of the formulations that give way, penalty (springs) and regularized
 * (compliant rows), against closed forms: depth at rest, restitution, friction, energy, and that a
 * step too long is told. */
#include "models/formulations/penalty/penalty_law.h"
#include "tests/drive_models.h"

#include "tests/count_malloc.h" /* last: looks for the C library */

static const double mass = 2;
static const char *const exact = "dopri5:tol=1e-10";

/* A box with edges of 1 m (4 points in space, 2 in the plane) or a ball of 0.5 m on a plane that is
 * inclined by theta, its lowest point above the plane by gap, with the velocity `along` down the
 * plane and `up` from it. */
typedef struct slope {
  int dim;
  perp_shape_kind kind;
  double theta, gap, along, up, spin, gravity, mu, e;
} slope;

static perp_model *on_slope(slope s)
{
  const int z = s.dim - 1;
  const double c = cos(s.theta), sine = sin(s.theta);
  perp_model *model = run_model(&ctx, s.dim);
  perp_model_gravity(model, s.gravity);
  perp_body_def body = { .mass = s.kind == PERP_SHAPE_BOX ? perp_mass_box(mass, 1, 1, 1)
                                                          : perp_mass_sphere(mass, 0.5) };
  /* down the plane is (c, -sine), out of it (sine, c) */
  body.x[0] = sine * (0.5 + s.gap);
  body.x[z] = c * (0.5 + s.gap);
  body.v[0] = c * s.along + sine * s.up;
  body.v[z] = -sine * s.along + c * s.up;
  perp_shape_def ground = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, shape = { 0 };
  shape.kind = s.kind;
  shape.radius = 0.5;
  shape.half[0] = shape.half[1] = shape.half[2] = 0.5;
  ground.surface = shape.surface = (perp_surface){ s.mu, s.mu, s.e };
  if (s.dim == 3) { /* turned about y by theta */
    body.quat[0] = ground.quat[0] = cos(s.theta / 2);
    body.quat[2] = ground.quat[2] = sin(s.theta / 2);
    body.w[1] = s.spin;
  } else {
    body.angle = ground.angle = -s.theta;
    body.w[2] = -s.spin;
  }
  shape.body = run_body(&ctx, model, body);
  if (perp_model_add_shape(&ctx, model, &ground, NULL) != PERP_OK ||
      perp_model_add_shape(&ctx, model, &shape, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  return run_finish(&ctx, model);
}

/* along and out of the plane: place of the lowest point and its velocity without spin */
typedef struct place {
  double x, z, u, w;
  perp_reason reason;
} place;

static place slope_place(const slope *s, const double *q, const double *v, perp_reason reason)
{
  const double c = cos(s->theta), sine = sin(s->theta);
  const int z = s->dim - 1;
  return (place){ .x = c * q[0] - sine * q[z],
                  .z = sine * q[0] + c * q[z] - 0.5,
                  .u = c * v[0] - sine * v[z],
                  .w = sine * v[0] + c * v[z],
                  .reason = reason };
}

static place slope_run(slope s, run_parts p, double h, double t_end)
{
  double q[7], v[6];
  perp_model *model = on_slope(s);
  const perp_reason reason = run_fresh(&ctx, model, p, h, t_end, q, v);
  perp_model_destroy(model);
  return slope_place(&s, q, v, reason);
}

/* ---- at rest ---- */

/* points k d^n = m g, and on a slope nothing creeps */
static void depth_at_rest(void)
{
  static const double compliance = 1e-5;
  for (int dim = 2; dim <= 3; dim++) {
    const int points = dim == 3 ? 4 : 2;
    slope flat = { .dim = dim, .kind = PERP_SHAPE_BOX, .gravity = gravity, .mu = 0.5 };
    slope steep = flat;
    steep.theta = 0.3;
    for (int n = 0; n < 2; n++) {
      const double exponent = n == 0 ? 1 : 1.5, k = n == 0 ? 2e4 : 1e6;
      char form[128];
      snprintf(form, sizeof form,
               "penalty:contact_stiffness=%g,exponent=%g,tangent_stiffness=3e4,tangent_ratio=1", k,
               exponent);
      place at = slope_run(flat, (run_parts){ form, "rk4" }, 5e-4, 6);
      near(at.z, -pow(mass * gravity / (points * k), 1 / exponent), 0, 1e-6,
           "penalty, dim %d, exponent %g: depth at rest", dim, exponent);
      at = slope_run(steep, (run_parts){ form, "rk4" }, 5e-4, 6);
      below(fabs(at.u), 1e-8, "penalty, dim %d, exponent %g: sticks without creep", dim, exponent);
    }
    for (int i = 0; i < 2; i++) {
      const char *form = i == 0 ? "regularized:compliance=1e-5"
                                : "regularized:compliance=1e-5,relaxation=0.1";
      place at = slope_run(flat, (run_parts){ form }, 1e-2, 6);
      near(at.z, -mass * gravity * compliance / points, 0, 1e-5, "%s, dim %d: depth at rest", form,
           dim);
      at = slope_run(steep, (run_parts){ form }, 1e-2, 6);
      below(fabs(at.u), 1e-8, "%s, dim %d: sticks", form, dim);
    }
  }
}

/* A box that sticks is off by m g sin theta / (4 k_t) and by its turn on its springs: both go with
 * 1 / k. */
static void stick(void)
{
  const double k[] = { 1e4, 1e5 };
  double off[2];
  for (int i = 0; i < 2; i++) {
    slope s = { .dim = 3, .kind = PERP_SHAPE_BOX, .theta = 0.3, .gravity = gravity, .mu = 0.5 };
    char form[96];
    snprintf(form, sizeof form, "penalty:contact_stiffness=%g,tangent_stiffness=%g,tangent_ratio=1",
             k[i], k[i]);
    perp_model *model = on_slope(s);
    double q[7], v[6];
    run_fresh(&ctx, model, (run_parts){ form, "rk4" }, 2e-4, 4, q, v);
    off[i] = slope_place(&s, q, v, PERP_EXACT).x;
    perp_model_destroy(model);
  }
  ok(off[0] > 0 && off[0] < 10 * mass * gravity * sin(0.3) / (4 * k[0]),
     "penalty: a box that sticks is off by %.3g m", off[0]);
  near(off[0] / off[1], 10, 0.5, 0, "penalty: ten times stiffer, off by %.4g times less",
       off[0] / off[1]);
}

/* ---- sliding and rolling ---- */

static void sliding(void)
{
  static const run_parts parts[] = {
    { "penalty", "rk4" },
    { "penalty:exponent=1.5,contact_stiffness=1e7", "rk4" },
    { "regularized", .lcp = "dantzig", .contact = "box" },
    { "regularized", .lcp = "lemke", .contact = "polyhedral" },
    { "regularized", .lcp = "block-gs", .contact = "cone" },
  };
  const double a = gravity * (sin(0.6) - 0.3 * cos(0.6));
  const slope s = { .dim = 3, .kind = PERP_SHAPE_BOX, .theta = 0.6, .gravity = gravity, .mu = 0.3 };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const place first = slope_run(s, parts[i], 5e-4, 0.5), last = slope_run(s, parts[i], 5e-4, 1);
    near((last.u - first.u) / 0.5, a, 0, 1e-3, "%s, %s: slides with g (sin - mu cos)",
         parts[i].formulation, parts[i].contact != NULL ? parts[i].contact : "springs");
  }
  const slope ball = {
    .dim = 3, .kind = PERP_SHAPE_SPHERE, .along = 2, .gravity = gravity, .mu = 0.2, .gap = 0
  };
  for (size_t i = 0; i < 3; i++) {
    const place at = slope_run(ball, parts[i], 2e-4, 1);
    near(at.u, 2 * 5.0 / 7, 0, i < 2 ? 1e-3 : 1e-4, "%s: a sliding ball comes to roll at 5/7 v",
         parts[i].formulation);
  }
}

/* ---- impacts ---- */

/* A ball without gravity meets the plane at v and leaves at e v: whatever stiffness, exponent, mass
 * and speed are. */
static void restitution(void)
{
  static const double e[] = { 0.3, 0.5, 0.8, 1 }, speed[] = { 0.5, 4 };
  slope s = { .dim = 3, .kind = PERP_SHAPE_SPHERE, .gap = 1e-3 };
  for (int i = 0; i < 4; i++)
    for (int n = 0; n < 2; n++) {
      s.e = e[i];
      s.up = -speed[n];
      char form[96];
      snprintf(form, sizeof form, "penalty:contact_stiffness=%g,exponent=%g", n == 0 ? 1e5 : 1e6,
               n == 0 ? 1 : 1.5);
      const place at = slope_run(s, (run_parts){ form, exact }, 1e-5, 0.2);
      near(at.w, e[i] * speed[n], 0, 2e-3, "%s: %g m/s, e = %g", form, speed[n], e[i]);
    }
  s.e = 0.1;
  s.up = -1;
  place at = slope_run(s, (run_parts){ "penalty:damping_ratio=2", exact }, 1e-5, 0.2);
  near(at.w, 0.1, 0, 2e-3, "penalty: e = 0.1 with dashpots up to twice the critical one");
  s.e = 0;
  at = slope_run(s, (run_parts){ "penalty", exact }, 1e-5, 0.2);
  near(at.w, exp(-2), 0, 2e-3,
       "penalty: e = 0 is a critically damped spring, which leaves exp(-2)");

  /* the error of an instant that takes time: pi sqrt(m / k), so that ten times the stiffness is
   * late by sqrt(10) less */
  double late[3], k = 1e4;
  s = (slope){ .dim = 3, .kind = PERP_SHAPE_SPHERE, .gap = 0.1, .up = -1, .e = 1 };
  for (int i = 0; i < 3; i++, k *= 100) {
    char form[64];
    snprintf(form, sizeof form, "penalty:contact_stiffness=%g", k);
    late[i] = 0.4 - slope_run(s, (run_parts){ form, exact }, 1e-5, 0.5).z;
    near(late[i], M_PI * sqrt(mass / k), 0, 1e-3, "%s: a bounce takes pi sqrt(m / k)", form);
  }

  /* regularized: Newton's law of a rigid row, exact */
  s.up = -2;
  for (int i = 0; i < 4; i++) {
    s.e = e[i];
    at = slope_run(s, (run_parts){ "regularized" }, 1e-3, 0.2);
    near(at.w, 2 * e[i], 0, 1e-12, "regularized: e = %g", e[i]);
  }
}

/* A box that tumbles and bounces with friction: kinetic and potential energy, no contact, only ever
 * falls. */
static double tumbling(run_parts p, double h, double e)
{
  slope s = {
    .dim = 3, .kind = PERP_SHAPE_BOX, .gravity = gravity, .gap = 0.6, .along = 2, .mu = 0.4
  };
  s.spin = 7;
  s.e = e;
  perp_model *model = on_slope(s);
  perp_sim *sim = run_start(&ctx, model, p, h);
  double t = 0, least = HUGE_VAL, gain = 0;
  const double *q, *v;
  while (t < 2) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 2, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s %s at %g s", p.formulation, perp_reason_name(info.reason), ctx.msg, t);
    perp_sim_state(sim, &t, &q, &v);
    double kinetic, potential;
    perp_model_energy(model, t, q, v, &kinetic, &potential);
    const double energy = kinetic + potential;
    if (info.n_contacts > 0) continue; /* springs have a part of it */
    gain = fmax(gain, energy - least);
    least = fmin(least, energy);
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return gain;
}

static void energy(void)
{
  below(tumbling((run_parts){ "penalty", "rk4" }, 2e-4, 0.6), 1e-3,
        "penalty: a tumbling box never gains energy, J");
  below(tumbling((run_parts){ "penalty:exponent=1.5,contact_stiffness=1e6", exact }, 1e-4, 0), 1e-3,
        "penalty, Hertz: a tumbling box never gains energy, J");
  below(tumbling((run_parts){ "regularized:relaxation=0.01" }, 1e-3, 0), 1e-2,
        "regularized: a tumbling box never gains energy, J");
}

/* ---- steps that are too long ---- */

static void diverges(void)
{
  static const char *const odes[] = { "symplectic-euler", "rk4", "dopri5" };
  const slope s = { .dim = 3, .kind = PERP_SHAPE_SPHERE, .gravity = gravity, .gap = 1, .e = 0.8 };
  for (int o = 0; o < 3; o++)
    for (int i = 0; i < 2; i++) {
      /* omega h = 7 and more: the impact is over before a step has seen it */
      const double h = i == 0 ? 0.031 : 0.1;
      const place at = slope_run(s, (run_parts){ "penalty", odes[o] }, h, 20);
      ok(at.reason == PERP_DIVERGED, "penalty, %s: a ball under steps of %g s: %s", odes[o], h,
         perp_reason_name(at.reason));
    }
  const place at = slope_run(s, (run_parts){ "penalty", "dopri5:tol=1e-6" }, 0.1, 2);
  ok(at.reason > 0, "penalty: error control finds its steps: %s", perp_reason_name(at.reason));
}

/* The reported step is a bound: a box at rest that is pushed down. */
static void longest_step(void)
{
  slope s = { .dim = 3, .kind = PERP_SHAPE_BOX, .gravity = gravity, .mu = 0.5, .e = 0.5 };
  perp_model *model = on_slope(s);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "penalty", "symplectic-euler" }, 1e-5);
  perp_step_info info = { 0 };
  if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  ok(info.h_stable > 0 && info.h_stable < 2 / sqrt(4 * 1e5 / mass), "penalty: longest step %.3g s",
     info.h_stable);
  s.up = -0.1;
  const place at = slope_run(s, (run_parts){ "penalty", "symplectic-euler" }, info.h_stable, 3);
  ok(at.reason > 0, "penalty: that step runs: %s", perp_reason_name(at.reason));
  near(at.z, -mass * gravity / (4 * 1e5), 0, 1e-6, "penalty: and comes to rest");
}

/* ---- drives ---- */

/* A rod that rests on a limit at theta below the horizontal: 0.5 m g L cos theta = k (x - limit).
 */
static void limits(void)
{
  static const double k = 1e4, limit = 0.4;
  for (int i = 0; i < 2; i++) {
    perp_model *model = rod(3);
    perp_model_gravity(model, gravity);
    perp_drive_def stop = unlimited(0);
    stop.upper = limit;
    run_drive(&ctx, model, stop);
    run_finish(&ctx, model);
    const run_parts p = i == 0
                            ? (run_parts){ "penalty:stiffness=1e4,damping=30,exponent=1.5", "rk4" }
                            : (run_parts){ "regularized:compliance=1e-4" };
    perp_sim *sim = run_start(&ctx, model, p, i == 0 ? 2e-4 : 1e-3);
    run_to(&ctx, sim, 5);
    perp_step_info info;
    double t;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, 6, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    const double x = perp_model_drive_coordinate(model, q, 0);
    near(info.drive[0], -mass * gravity * 0.5 * cos(x), 0, 2e-3, "%s: torque of a limit",
         p.formulation);
    near(x - limit, -info.drive[0] / k, 1e-9, 1e-3, "%s: torque / k beyond it", p.formulation);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* A block hangs on dry friction of more than its weight, and does not creep: off by m g / k.  One
 * whose motor drives it at its velocity is late by no more; one whose motor is too weak falls with
 * what is left. */
static void motors(void)
{
  static const double k = 1e5;
  for (int i = 0; i < 3; i++) {
    perp_model *model = block(true, 0);
    perp_model_gravity(model, gravity);
    perp_drive_def motor = unlimited(0);
    motor.velocity = i == 1 ? 0.25 : 0;
    motor.max_force = i == 2 ? 10 : 100;
    run_drive(&ctx, model, motor);
    run_finish(&ctx, model);
    double q[7], v[6];
    run_fresh(&ctx, model, (run_parts){ "penalty:tangent_ratio=1", "rk4" }, 5e-4, 2, q, v);
    if (i == 0) near(q[2], -mass * gravity / k, 0, 1e-6, "penalty: dry friction holds: m g / k");
    if (i == 1)
      near(q[2], 0.5 - mass * gravity / k, 0, 1e-6, "penalty: a motor is late by its force / k");
    if (i == 2)
      near(v[2], -2 * (gravity - 10 / mass), 0, 2e-3, "penalty: a weak motor is a constant force");
    run_fresh(&ctx, model, (run_parts){ "regularized" }, 1e-3, 2, q, v);
    const double velocity = i == 0 ? 0 : i == 1 ? 0.25 : -2 * (gravity - 10 / mass);
    near(v[2], velocity, 1e-8, 1e-8, "regularized: the motor at %g N", motor.max_force);
    perp_model_destroy(model);
  }
}

/* A block meets a limit at 1 m/s and leaves it at e; the hinge of a rod turns on with its motor. */
static void rebounds(void)
{
  double q[7], v[6];
  for (int i = 0; i < 2; i++) {
    perp_model *model = i == 0 ? block(false, 1) : rod(2);
    perp_drive_def drive = unlimited(0);
    perp_model_gravity(model, 0);
    if (i == 0) drive.upper = 0.1, drive.restitution = 0.5;
    if (i == 1) drive.velocity = 12, drive.max_force = HUGE_VAL;
    run_drive(&ctx, model, drive);
    run_finish(&ctx, model);
    run_fresh(&ctx, model, (run_parts){ "penalty:tangent_ratio=1", "rk4" }, 2e-4, 1, q, v);
    if (i == 0) near(v[0], -0.5, 0, 2e-3, "penalty: a limit with e = 0.5");
    if (i == 1) near(q[2], 12, 0, 1e-2, "penalty: a motor turns on beyond a turn");
    perp_model_destroy(model);
  }
}

/* A body that is led along a sin t is late by m a / k, and not by its damping. */
static void follows(void)
{
  const double a = 0.1, k = 1e4;
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = a, .rate = 1 };
  perp_motion_def motion = { .sets_velocity = true, .free_turn = true };
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.5) });
  double q[3], v[3];
  if (perp_model_add_signal(&ctx, model, &sine, &motion.x_signal[0]) != PERP_OK ||
      perp_model_add_motion(&ctx, model, &motion, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  run_finish(&ctx, model);
  run_fresh(&ctx, model, (run_parts){ "penalty:stiffness=1e4,damping=1e3", "rk4" }, 1e-3, 1, q, v);
  near(q[0], a * sin(1), 2 * mass * a / k, 0, "penalty: a body follows its motion");
  perp_model_destroy(model);
}

/* ---- the longest step ---- */

/* Symplectic Euler on x'' = -k x - d x' is stable below (sqrt(d^2 + 4 k) - d) / k. */
static void longest_steps(void)
{
  static const struct {
    const char *form;
    perp_shape_kind kind;
    double mu, depth, k, d;
  } cases[] = {
    { "penalty:stiffness=1e4,damping=150", 0, 0, 0, 1e4 / 2, 150.0 / 2 },
    /* a ball that sticks turns, too: 1 / m + r^2 / I = 3.5 / m */
    { "penalty:contact_stiffness=10,tangent_stiffness=1e5,tangent_ratio=0", PERP_SHAPE_SPHERE, 0.5,
      1e-4, 3.5e5 / 2, 0 },
    { "penalty:contact_stiffness=1e5,exponent=1.5", PERP_SHAPE_SPHERE, 0, 0.01, 1.5e5 * 0.1 / 2,
      0 },
    /* of a section of 0.16 m^2: k A^2 */
    { "penalty:contact_stiffness=1e5,overlap=volume", PERP_SHAPE_BOX, 0, 0.01,
      1e5 * 0.16 * 0.16 / 2, 0 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_step_info info;
    const bool box = cases[i].kind == PERP_SHAPE_BOX;
    const perp_surface surface = { cases[i].mu, cases[i].mu, 1 };
    perp_model_gravity(model, 0);
    perp_body_def body = { .mass = box ? perp_mass_box(mass, 0.4, 0.4, 0.4)
                                       : perp_mass_sphere(mass, 0.5) };
    body.x[2] = (box ? 0.2 : 0.5) - cases[i].depth;
    run_body(&ctx, model, body);
    if (cases[i].depth > 0) {
      run_shape(
          &ctx, model,
          (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
      run_shape(&ctx, model,
                (perp_shape_def){ .kind = cases[i].kind,
                                  .radius = 0.5,
                                  .half = { 0.2, 0.2, 0.2 },
                                  .surface = surface });
    } else {
      perp_joint_def ball = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0 };
      ball.anchor_a[2] = 0.5;
      run_joint(&ctx, model, ball);
    }
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ cases[i].form, "symplectic-euler" }, 1e-4);
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    const double k = cases[i].k, d = cases[i].d;
    near(info.h_stable, (sqrt(d * d + 4 * k) - d) / k, 0, 1e-3, "%s: longest step", cases[i].form);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* ---- the rest ---- */

/* What took 1 J at most may give 1.25 J back, at whatever time. */
static void ledger(void)
{
  perp_penalty_ledger ledger = { 0 };
  const bool within = perp_penalty_ledger_add(&ledger, -1, 0) &&
                      perp_penalty_ledger_add(&ledger, 0.9, 0) &&
                      perp_penalty_ledger_add(&ledger, 0.3, 0);
  ok(within && !perp_penalty_ledger_add(&ledger, 0.1, 0),
     "a contact gives back at most a quarter more than it took");
}

/* A box that slides with mu_dynamic comes to rest on a belt, which carries it; again from the
 * start. */
static void belt(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, gravity);
  const perp_surface surface = { .mu = 0.6, .mu_dynamic = 0.3 };
  const int body = run_body(
      &ctx, model,
      (perp_body_def){ .mass = perp_mass_box(mass, 1, 1, 0.2), .x[2] = 0.0999, .v[0] = 4 });
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE,
                              .body = PERP_WORLD,
                              .surface = surface,
                              .belt = { 0.5, 0, 0 } });
  run_shape(
      &ctx, model,
      (perp_shape_def){
          .kind = PERP_SHAPE_BOX, .body = body, .half = { 0.5, 0.5, 0.1 }, .surface = surface });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "penalty", "rk4" }, 5e-4);
  double t, rate[2], end[2][7], up = 0;
  const double *q, *v;
  perp_step_info info;
  for (int i = 0; i < 2; i++) {
    if (i == 1 &&
        perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model)) != PERP_OK)
      bail("%s", ctx.msg);
    for (int k = 0; k < 2; k++) {
      run_to(&ctx, sim, 0.4 * (k + 1));
      perp_sim_state(sim, &t, &q, &v);
      rate[k] = v[0];
    }
    memcpy(end[i], q, sizeof end[i]);
    if (i == 0) run_to(&ctx, sim, 2.5);
    if (i == 0 && perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    if (i > 0) continue;
    near(v[0], 0.5, 1e-4, 0, "penalty: a belt carries a box");
    for (int k = 0; k < info.n_contacts; k++) up += info.impulse[3 * k + 2];
  }
  near((rate[0] - rate[1]) / 0.4, 0.3 * gravity, 0, 5e-3, "penalty: a box slides with mu_dynamic");
  near(up, mass * gravity * 5e-4, 0, 1e-3, "penalty: impulses of a step carry the weight");
  ok(memcmp(end[0], end[1], sizeof end[0]) == 0, "penalty: the same from a second start");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A depth is given back in the relaxation time. */
static void relaxes(void)
{
  const slope s = { .dim = 3, .kind = PERP_SHAPE_SPHERE, .gap = -0.01 };
  const place at = slope_run(s, (run_parts){ "regularized:compliance=1e-12,relaxation=0.1" }, 1e-3,
                             1e-3);
  near(at.w, 0.01 / (0.1 + 1e-3), 0, 1e-6,
       "regularized: a depth is left at depth / (relaxation + h)");
}

static void between_steps(void)
{
  const slope s = {
    .dim = 3, .kind = PERP_SHAPE_SPHERE, .gravity = gravity, .gap = 0.01, .e = 0.5
  };
  perp_model *model = on_slope(s);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "penalty", "rk4" }, 1e-3);
  double q[7], v[6], t;
  const double *at, *rate;
  run_to(&ctx, sim, 0.02);
  perp_sim_state(sim, &t, &at, &rate);
  ok(perp_sim_dense_at(&ctx, sim, t - 5e-4, q, v, NULL) == PERP_OK &&
         fabs(q[2] - (0.51 - 0.5 * gravity * (t - 5e-4) * (t - 5e-4))) < 1e-12,
     "penalty: dense output in the air");
  run_to(&ctx, sim, 0.05);
  perp_sim_state(sim, &t, &at, &rate);
  ok(perp_sim_dense_at(&ctx, sim, t - 5e-4, q, v, NULL) == PERP_ERR_UNSUPPORTED,
     "penalty: none in contact: %s", ctx.msg);
  if (!COUNTS_MALLOC) {
    skip("sanitizer", "penalty: contacts allocate nothing");
  } else {
    const long before = count_malloc;
    run_to(&ctx, sim, 0.2);
    ok(count_malloc == before, "penalty: contacts allocate nothing (%ld)", count_malloc - before);
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  depth_at_rest();
  stick();
  sliding();
  restitution();
  energy();
  diverges();
  longest_step();
  limits();
  motors();
  rebounds();
  follows();
  longest_steps();
  ledger();
  belt();
  relaxes();
  between_steps();
  return tap_done();
}
