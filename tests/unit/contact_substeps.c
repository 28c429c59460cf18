/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Substeps, soft contact by frequency and relaxed velocities, against closed forms: the trajectory
 * of the shorter step, depth at rest, the discrete oscillation, rebounds, energy and order; and few
 * sweeps, which start from the best multiple of their guess. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81, h = 1e-2;

static void add(perp_model *model, int body, perp_shape_kind kind, double mu, double e)
{
  const perp_shape_def shape = { .kind = kind,
                                 .body = body,
                                 .radius = 0.5,
                                 .half = { 0.5, 0.5, 0.5 },
                                 .surface = { .mu = mu, .mu_dynamic = mu, .restitution = e } };
  run_shape(&ctx, model, shape);
}

/* n boxes or balls of 2 kg and 1 m on each other on the ground, the lowest point at z, moving with
 * vx and vz */
static perp_model *pile(int dim, perp_shape_kind kind, int n, double z, double vx, double vz,
                        double mu, double e)
{
  perp_model *model = run_model(&ctx, dim);
  perp_model_gravity(model, g);
  add(model, PERP_WORLD, PERP_SHAPE_PLANE, mu, e);
  for (int i = 0; i < n; i++) {
    perp_body_def body = { .mass = kind == PERP_SHAPE_BOX ? perp_mass_box(2, 1, 1, 1)
                                                          : perp_mass_sphere(2, 0.5) };
    body.x[dim - 1] = 0.5 + z + i;
    body.v[0] = vx;
    body.v[dim - 1] = vz;
    add(model, run_body(&ctx, model, body), kind, mu, e);
  }
  return run_finish(&ctx, model);
}

static perp_step_info one_step(perp_sim *sim)
{
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("%s %s", perp_reason_name(info.reason), ctx.msg);
  return info;
}

static double energy(const perp_model *model, const double *q, const double *v)
{
  double kinetic, potential;
  perp_model_energy(model, 0, q, v, &kinetic, &potential);
  return kinetic + potential;
}

static const double *state(const perp_sim *sim, const double **v)
{
  double t;
  const double *q;
  perp_sim_state(sim, &t, &q, v);
  return q;
}

/* ---- trajectories ---- */

/* Symplectic Euler with h / n: after k of these steps x = x0 + hs (k v0 + hs a k (k + 1) / 2). */
static void test_closed_form(void)
{
  static const char *const formulation[] = { "velocity:substeps=5", "velocity:substeps=5,gap=false",
                                             "velocity:substeps=5,align=none" };
  for (int falls = 0; falls < 2; falls++)
    for (int dim = 2; dim <= 3; dim++)
      for (size_t f = 0; f < sizeof formulation / sizeof *formulation; f++) {
        const double hs = h / 5, a = falls ? -g : -0.3 * g, v0 = falls ? 1 : 4;
        const int up = dim - 1, along = falls ? up : 0, steps = 50, k = 5 * steps;
        perp_model *model = pile(dim, PERP_SHAPE_BOX, 1, falls ? 2 : 0, falls ? 0 : v0,
                                 falls ? v0 : 0, 0.3, 0);
        perp_sim *sim = run_start(
            &ctx, model,
            (run_parts){ .formulation = formulation[f], .lcp = "dantzig", .contact = "box" }, h);
        const double *v, *q, start = falls ? 2.5 : 0;
        perp_ode_counters count;
        for (int i = 0; i < steps; i++) one_step(sim);
        q = state(sim, &v);
        near(q[along], start + hs * (k * v0 + hs * a * k * (k + 1) / 2), 1e-12, 0,
             "%s, dim %d, %s: x of symplectic Euler at h / 5", formulation[f], dim,
             falls ? "falls" : "slides");
        near(v[along], v0 + k * hs * a, 1e-12, 0, "and v");
        if (!falls) near(q[up], 0.5, 1e-12, 0, "and on the ground");
        perp_sim_counters(sim, &count, NULL);
        ok(count.steps == steps && count.rhs == k, "%d steps of 5 derivatives", steps);
        perp_sim_destroy(sim);
        perp_model_destroy(model);
      }
}

/* a cart that slides on the ground, with a pendulum that a motor turns */
static perp_model *cart(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  add(model, PERP_WORLD, PERP_SHAPE_PLANE, 0.1, 0);
  const perp_body_def box = { .mass = perp_mass_box(2, 1, 1, 1),
                              .x = { 0, 0, 0.5 },
                              .v = { 3, 0, 0 } };
  const perp_body_def bob = { .mass = perp_mass_box(0.2, 0.1, 0.1, 0.4),
                              .x = { 0, 0, 0.3 },
                              .v = { 3, 0, 0 } };
  add(model, run_body(&ctx, model, box), PERP_SHAPE_BOX, 0.1, 0);
  run_body(&ctx, model, bob);
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = 0,
                              .b = 1,
                              .anchor_b = { 0, 0, 0.2 },
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 1 } });
  run_drive(
      &ctx, model,
      (perp_drive_def){ .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = 2, .max_force = 0.3 });
  return run_finish(&ctx, model);
}

static double furthest(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

/* Four substeps are four steps of h / 4 where no contact is made or lost: state and forces. */
static void test_same(const char *formulation)
{
  char name[96];
  snprintf(name, sizeof name, "%s,substeps=4", formulation);
  perp_model *model = cart();
  run_parts parts = { .formulation = name, .lcp = "dantzig", .contact = "box" };
  perp_sim *one = run_start(&ctx, model, parts, h);
  parts.formulation = formulation;
  perp_sim *four = run_start(&ctx, model, parts, h / 4);
  const int m = perp_model_m(model);
  double q_off = 0, v_off = 0, lambda_off = 0, impulse_off = 0, drive_off = 0;
  for (int i = 0; i < 40; i++) {
    double lambda[6] = { 0 }, impulse[3] = { 0 }, drive = 0;
    bool known = true;
    const double *v, *v4;
    for (int k = 0; k < 4; k++) {
      const perp_step_info part = one_step(four);
      known &= part.lambda != NULL;
      for (int j = 0; j < m && known; j++) lambda[j] += part.lambda[j] / 4;
      for (int j = 0; j < 3 * part.n_contacts; j++) impulse[j % 3] += part.impulse[j];
      drive += part.drive[0] / 4;
    }
    const perp_step_info whole = one_step(one);
    for (int j = 0; j < 3 * whole.n_contacts; j++) impulse[j % 3] -= whole.impulse[j];
    if (known && whole.lambda != NULL)
      lambda_off = fmax(lambda_off, furthest(m, lambda, whole.lambda));
    else
      known = false;
    ok(known || i < 2, "forces of joints are known after two steps");
    impulse_off = fmax(impulse_off, perp_dot(3, impulse, impulse));
    drive_off = fmax(drive_off, fabs(drive - whole.drive[0]));
    const double *q = state(one, &v), *q4 = state(four, &v4);
    q_off = fmax(q_off, furthest(perp_model_nq(model), q, q4));
    v_off = fmax(v_off, furthest(perp_model_nv(model), v, v4));
  }
  below(q_off, 1e-9, "%s: positions of 4 steps of h / 4", formulation);
  below(v_off, 1e-8, "%s: velocities", formulation);
  below(lambda_off, 1e-5, "%s: joint forces are their means, N", formulation);
  below(sqrt(impulse_off), 1e-8, "%s: contact impulses are their sums, N s", formulation);
  below(drive_off, 1e-6, "%s: drive forces are their means, N m", formulation);
  perp_sim_destroy(one);
  perp_sim_destroy(four);
  perp_model_destroy(model);
}

/* A ball that rolls on the ground keeps v = omega r and its height. */
static void test_rolling(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  add(model, PERP_WORLD, PERP_SHAPE_PLANE, 0.5, 0);
  const perp_body_def ball = {
    .mass = perp_mass_sphere(2, 0.5), .x = { 0, 0, 0.5 }, .v = { 3, 0, 0 }, .w = { 0, 6, 0 }
  };
  add(model, run_body(&ctx, model, ball), PERP_SHAPE_SPHERE, 0.5, 0);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(
      &ctx, model,
      (run_parts){ .formulation = "velocity:substeps=8", .lcp = "block-gs", .contact = "cone" }, h);
  const double *v, *q;
  for (int i = 0; i < 100; i++) one_step(sim);
  q = state(sim, &v);
  near(q[0], 3, 1e-9, 0, "a ball rolls on: x");
  near(q[2], 0.5, 1e-9, 0, "z");
  near(v[0], 3, 1e-9, 0, "v");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- soft contact ---- */

/* Springs k = omega^2 / A_ii carry the weight: with r the arm of a corner and I = m / 6 of a cube
 * of 1 m, A_ii = 1/m + |r x n|^2 / I is 4/m on 4 points in space, 2.5/m on 2 points in the plane.
 */
static void test_statics(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box" },
    { .lcp = "lemke", .contact = "polyhedral" },
    { .lcp = "block-gs", .contact = "cone" },
    { .lcp = "pgs", .contact = "box" },
  };
  static const char *const how[] = { "", ",relax=no", ",substeps=4", ",substeps=3,relax=no",
                                     ",damping_ratio=1" };
  for (int dim = 2; dim <= 3; dim++)
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
      for (size_t k = 0; k < sizeof how / sizeof *how; k++)
        for (int finer = 0; finer < 2; finer++) {
          const double omega = 2 * M_PI * 20, hs = finer ? h / 3 : h;
          char name[96];
          run_parts p = parts[i];
          snprintf(name, sizeof name, "velocity:frequency=20%s", how[k]);
          p.formulation = name;
          perp_model *model = pile(dim, PERP_SHAPE_BOX, 1, 0, 0, 0, 0.5, 0);
          perp_sim *sim = run_start(&ctx, model, p, hs);
          const double *v, *q;
          for (int n = 0; n < 2400; n++) one_step(sim);
          q = state(sim, &v);
          near(0.5 - q[dim - 1], (dim == 3 ? 1 : 1.25) * g / (omega * omega), 0, 1e-6,
               "%s, %s, dim %d, h = %g: depth at rest", name, p.lcp, dim, hs);
          below(fabs(v[dim - 1]), 1e-9, "at rest");
          perp_sim_destroy(sim);
          perp_model_destroy(model);
        }
}

/* A ball has A_ii = 1/m.  In contact, without relaxation, with hs = h / n:
 * v+ = (v - hs g - hs omega^2 z) / (1 + 2 zeta omega hs + omega^2 hs^2), z+ = z + hs v+. */
static void test_oscillation(void)
{
  static const struct {
    int n;
    double f, zeta;
  } cases[] = { { 1, 5, 0 }, { 1, 5, 0.1 }, { 4, 5, 0 }, { 4, 5, 0.3 }, { 2, 200, 3 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double hs = h / cases[i].n, omega = 2 * M_PI * cases[i].f, zeta = cases[i].zeta;
    char name[128];
    snprintf(name, sizeof name,
             "velocity:frequency=%g,damping_ratio=%g,substeps=%d,relax=no,push=100", cases[i].f,
             zeta, cases[i].n);
    double z = -1.5 * g / (omega * omega), vz = 0, worst = 0;
    perp_model *model = pile(3, PERP_SHAPE_SPHERE, 1, z, 0, 0, 0.5, 0);
    perp_sim *sim = run_start(
        &ctx, model, (run_parts){ .formulation = name, .lcp = "dantzig", .contact = "box" }, h);
    const double *v, *q;
    for (int k = 0; k < 60; k++) {
      for (int n = 0; n < cases[i].n; n++) {
        vz = (vz - hs * g - hs * omega * omega * z) /
             (1 + 2 * zeta * omega * hs + omega * omega * hs * hs);
        z += hs * vz;
        if (z > 0) bail("it leaves the ground");
      }
      one_step(sim);
      q = state(sim, &v);
      worst = fmax(worst, fmax(fabs(q[2] - 0.5 - z), h * fabs(v[2] - vz)));
    }
    below(worst, 1e-10, "%s: the discrete oscillation", name);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* Bodies that start deep in the ground come out no faster than push, and relaxed they keep no
 * speed. */
static void test_push(void)
{
  perp_model *model = pile(3, PERP_SHAPE_SPHERE, 1, -0.1, 0, 0, 0.5, 0);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ .formulation = "velocity:frequency=30,push=0.5",
                                         .lcp = "dantzig",
                                         .contact = "frictionless" },
                            h);
  const double *v, *q;
  double before = 0.4, fastest = 0, kept = 0;
  for (int i = 0; i < 60; i++) {
    one_step(sim);
    q = state(sim, &v);
    fastest = fmax(fastest, (q[2] - before) / h);
    kept = fmax(kept, v[2]);
    before = q[2];
  }
  below(fastest, 0.5 + 1e-9, "no faster than push");
  ok(fastest > 0.3, "but pushed: %g m/s", fastest);
  below(kept, 1e-9, "relaxed: no speed is kept");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- impacts, energy, order ---- */

/* e times the speed of approach before the step, once, whatever part of the step meets the ground.
 */
static void test_rebound(void)
{
  static const char *const formulation[] = { "velocity:substeps=4", "velocity:substeps=7",
                                             "velocity:frequency=60",
                                             "velocity:frequency=60,relax=no,substeps=4",
                                             "velocity:relax=yes" };
  for (size_t i = 0; i < sizeof formulation / sizeof *formulation; i++)
    for (int dim = 2; dim <= 3; dim++) {
      perp_model *model = pile(dim, PERP_SHAPE_SPHERE, 1, 0.3, 0.2, 0, 0.2, 0.6);
      perp_sim *sim = run_start(
          &ctx, model,
          (run_parts){ .formulation = formulation[i], .lcp = "dantzig", .contact = "box" }, h);
      const double *v;
      double before = 0, after = 0;
      for (int k = 0; k < 100 && after <= 0; k++) {
        state(sim, &v);
        before = v[dim - 1];
        one_step(sim);
        state(sim, &v);
        after = v[dim - 1];
      }
      near(after, -0.6 * before, 1e-8, 0, "%s, dim %d: rebound", formulation[i], dim);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

/* Kinetic and potential energy of a stack that rests, or sinks into soft contacts. */
static void test_energy(void)
{
  static const char *const formulation[] = { "velocity:substeps=4", "velocity:frequency=30",
                                             "velocity:frequency=30,substeps=4",
                                             "velocity:frequency=60,damping_ratio=5,substeps=4",
                                             "velocity:relax=yes,substeps=2" };
  enum { BOXES = 8 };
  for (size_t i = 0; i < sizeof formulation / sizeof *formulation; i++) {
    perp_model *model = pile(3, PERP_SHAPE_BOX, BOXES, 0, 0, 0, 0.5, 0);
    perp_sim *sim = run_start(
        &ctx, model, (run_parts){ .formulation = formulation[i], .lcp = "auto", .contact = "box" },
        h);
    const double *v, *q;
    double last = energy(model, perp_model_q0(model), perp_model_v0(model)), grown = 0;
    for (int k = 0; k < 300; k++) {
      one_step(sim);
      q = state(sim, &v);
      const double now = energy(model, q, v);
      grown = fmax(grown, now - last);
      last = now;
    }
    below(grown, 1e-9 * 2 * g * BOXES * BOXES / 2, "%s: no step makes energy, J", formulation[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* A ball thrown up that bounces twice, against its parabolas: at most first order, and no less. */
static void test_order(void)
{
  static const char *const formulation[] = { "velocity", "velocity:substeps=4" };
  const double e = 0.8, u0 = sqrt(2 * g * 0.5), t1 = u0 / g, t2 = 2 * e * u0 / g;
  const double t_end = t1 + t2 + 0.5 * e * t2, u2 = e * e * u0, s = t_end - t1 - t2;
  const double truth = u2 * s - 0.5 * g * s * s;
  for (size_t i = 0; i < sizeof formulation / sizeof *formulation; i++) {
    double err[2];
    for (int fine = 0; fine < 2; fine++) {
      perp_model *model = pile(3, PERP_SHAPE_SPHERE, 1, 0.5, 0, 0, 0, e);
      double q[7];
      run_fresh(
          &ctx, model,
          (run_parts){ .formulation = formulation[i], .lcp = "dantzig", .contact = "frictionless" },
          fine ? 1e-2 / 64 : 1e-2, t_end, q, NULL);
      err[fine] = fabs(q[2] - 0.5 - truth);
      perp_model_destroy(model);
    }
    ok(err[1] < err[0] / 16 && err[1] < 5e-3, "%s: order 1, errors %.3g and %.3g m", formulation[i],
       err[0], err[1]);
  }
}

/* A force presses a ball on a box that turns: the same whichever body is the first one, between
 * detections as well. */
static void test_first_body(void)
{
  double end[2][14];
  for (int first = 0; first < 2; first++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, 0);
    if (first == 0) run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 1) });
    const perp_body_def box = { .mass = perp_mass_box(2, 1, 1, 1),
                                .quat = { cos(0.3), 0, sin(0.3) },
                                .w = { 0, -4, 0 } };
    const perp_body_def ball = { .mass = perp_mass_sphere(1, 0.5),
                                 .x = { sin(0.6) + 0.3 * cos(0.6), 0, cos(0.6) - 0.3 * sin(0.6) },
                                 .v = { -2 * sin(0.6), 0, -2 * cos(0.6) } };
    add(model, run_body(&ctx, model, box), PERP_SHAPE_BOX, 0.3, 0);
    add(model, run_body(&ctx, model, ball), PERP_SHAPE_SPHERE, 0.3, 0);
    const perp_force_def press = { .kind = PERP_FORCE_POINT,
                                   .a = 1 + (first == 0),
                                   .value = { -20 * sin(0.6), 0, -20 * cos(0.6) } };
    if (perp_model_add_force(&ctx, model, &press) != PERP_OK) bail("%s", ctx.msg);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(
        &ctx, model,
        (run_parts){ .formulation = "velocity:substeps=5", .lcp = "dantzig", .contact = "box" }, h);
    const double *v;
    for (int k = 0; k < 10; k++) one_step(sim);
    const double *q = state(sim, &v);
    memcpy(end[first], q + (first == 0 ? 7 : 0), sizeof end[first]);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
  below(furthest(14, end[0], end[1]), 1e-12, "a ball on a box that is the first body, or not");
}

/* ---- few sweeps ---- */

typedef struct lean {
  double drift, depth;
} lean;

static lean drift_of(const char *scene_name, const char *formulation, const char *lcp)
{
  perp_spec spec;
  perp_scene scene;
  lean l = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene_name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  perp_sim *sim = run_start(&ctx, scene.model,
                            (run_parts){ .formulation = formulation, .lcp = lcp, .contact = "box" },
                            h);
  const double *start = perp_model_q0(scene.model);
  for (int k = 0; k < 250; k++) {
    const perp_step_info info = one_step(sim);
    const double *v, *q = state(sim, &v);
    for (int i = 0; i < perp_model_bodies(scene.model); i++)
      l.drift = fmax(l.drift, hypot(q[7 * i] - start[7 * i], q[7 * i + 1] - start[7 * i + 1]));
    for (int i = 0; i < info.n_contacts; i++) l.depth = fmax(l.depth, -info.contacts[i].gap);
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  return l;
}

/* Ten sweeps a step at 10 ms, 2.5 s: no worse than Bullet 3.24 in doubles with ten sweeps
 * (tests/bench/engines.c). */
static void test_sweeps(void)
{
  static const struct {
    const char *scene, *formulation, *lcp;
    double drift, depth; /* of Bullet, mm */
  } cases[] = {
    { "stack:boxes=50", "velocity", "pgs:sweeps=10", 1155, 29.1 },
    { "stack:boxes=50", "velocity:substeps=2", "pgs:sweeps=5", 1155, 29.1 },
    { "wall:rows=10,columns=12", "velocity", "pgs:sweeps=10", 10.6, 3.77 },
    { "wall:rows=10,columns=12", "velocity:substeps=2", "pgs:sweeps=5,order=coloured", 10.6, 3.77 },
    { "pyramid:rows=20", "velocity:substeps=2", "pgs:sweeps=5,order=coloured", 9.57, 3.88 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const lean l = drift_of(cases[i].scene, cases[i].formulation, cases[i].lcp);
    below(1e3 * l.drift, cases[i].drift, "%s, %s, %s: drift, mm", cases[i].scene,
          cases[i].formulation, cases[i].lcp);
    below(1e3 * l.depth, cases[i].depth, "and depth, mm");
  }
}

/* ---- what does not go together ---- */

static void refused(const char *formulation, const char *ode, perp_status status, const char *word)
{
  perp_model *model = pile(3, PERP_SHAPE_BOX, 1, 0, 0, 0, 0.5, 0);
  perp_parts parts;
  perp_sim *sim = NULL;
  const run_parts names = { .formulation = formulation, .ode = ode, .lcp = "dantzig" };
  if (run_parse(&ctx, &names, &parts) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_sim_create(&ctx, model, &parts, h, &sim) == status && strstr(ctx.msg, word) != NULL,
     "%s is refused: %s", formulation, ctx.msg);
  perp_sim_destroy(sim);
  run_free(&parts);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_closed_form();
  test_same("velocity:joints=eliminate");
  test_same("velocity:joints=rows");
  test_rolling();
  test_first_body();
  test_statics();
  test_oscillation();
  test_push();
  test_rebound();
  test_energy();
  test_order();
  test_sweeps();
  refused("velocity:substeps=2,sleep=true", "", PERP_ERR_UNSUPPORTED, "sleep");
  refused("velocity:substeps=2,impact=poisson", "", PERP_ERR_UNSUPPORTED, "poisson");
  refused("velocity:frequency=30,impact=poisson", "", PERP_ERR_UNSUPPORTED, "poisson");
  refused("velocity:substeps=2,impact=stronge", "", PERP_ERR_UNSUPPORTED, "stronge");
  refused("velocity:softness=1,impact=stronge", "", PERP_ERR_UNSUPPORTED, "stronge");
  refused("velocity:tangential=0.5", "", PERP_ERR_OPTION, "tangential");
  refused("velocity:frequency=30", "euler", PERP_ERR_UNSUPPORTED, "symplectic-euler");
  refused("velocity:frequency=30,softness=1", "", PERP_ERR_OPTION, "frequency");
  refused("velocity:stiffness=30,relax=yes", "", PERP_ERR_OPTION, "relax");
  return tap_done();
}
