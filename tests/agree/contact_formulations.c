/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts, limits and motors of formulations that have steps of their own for them, against closed
 * forms (the gauges of scenes), against the velocity level in fine steps, and against what must
 * hold whatever the method: joints, energy, surfaces. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

#include "tests/count_malloc.h" /* last: looks for the C library */

static perp_ctx ctx;

/* ---- scenes with a closed form ---- */

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, scene) != PERP_OK) bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static double energy(const perp_model *model, double t, const double *q, const double *v)
{
  double kinetic, potential;
  perp_model_energy(model, t, q, v, &kinetic, &potential);
  return kinetic + potential;
}

typedef struct outcome {
  perp_reason reason;
  int64_t failures, problems;
  double gain;  /* of energy where nothing does work, largest, J */
  double drift; /* largest |C| before corrections */
  double value; /* of the gauge */
} outcome;

/* To t_end (0: that of the scene) with steps h; the value of the gauge (NULL: none). */
static outcome run_scene(const char *text, run_parts parts, double h, double t_end,
                         const char *metric)
{
  perp_scene s;
  outcome o = { .reason = PERP_EXACT, .value = (double)NAN };
  open_scene(text, &s);
  perp_model *model = s.model;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  for (int i = 0; i < s.n_gauges; i++)
    if (s.gauge[i].restart != NULL) s.gauge[i].restart(s.gauge[i].user);
  const double end = t_end > 0 ? t_end : s.t_end;
  const double *q, *v;
  double t;
  perp_step_info info = { .reason = PERP_EXACT };
  perp_sim_state(sim, &t, &q, &v);
  double lowest = energy(model, t, q, v);
  for (int i = 0; i < s.n_gauges; i++)
    if (s.gauge[i].sample != NULL) s.gauge[i].sample(s.gauge[i].user, t, q, v, &info);
  while (t < end && o.reason >= 0) {
    if (perp_sim_step(&ctx, sim, end, &info) != PERP_OK) bail("%s: %s", text, ctx.msg);
    o.reason = info.reason;
    perp_sim_state(sim, &t, &q, &v);
    const double now = energy(model, t, q, v);
    if (!s.driven) o.gain = fmax(o.gain, now - lowest);
    lowest = fmin(lowest, now);
    o.drift = fmax(o.drift, info.drift_pos_pre);
    for (int i = 0; i < s.n_gauges; i++)
      if (s.gauge[i].sample != NULL) s.gauge[i].sample(s.gauge[i].user, t, q, v, &info);
  }
  for (int i = 0; i < s.n_gauges && metric != NULL; i++)
    if (strcmp(s.gauge[i].metric, metric) == 0) o.value = s.gauge[i].value(s.gauge[i].user);
  const perp_contact_count *count = perp_sim_contacts(sim);
  if (count != NULL) o.failures = count->failures, o.problems = count->problems;
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return o;
}

/* bound: ten times what was seen with gcc, clang and the kernels of OpenBLAS; order one: what steps
 * of h allow */
static const struct closed {
  const char *scene, *metric;
  double h, bound;
} closed[] = {
  { "incline:theta=30deg,mu=0.3", "accel.rel.err", 1e-3, 1e-9 },
  { "incline:theta=20deg,mu=0.5,azimuth=45deg,tilt=gravity", "accel.rel.err", 1e-3, 1e-9 },
  { "rolling-sphere", "speed.rel.err", 1e-3, 1e-9 },
  { "oblique-impact", "impact.rel.err", 1e-3, 0.01 },
  { "stack:boxes=5", "force.rel.err", 5e-3, 1e-7 },
  { "tipping-box", "verdict.err", 1e-3, 0 },
  { "see-saw", "force.rel.err", 2e-3, 1e-7 },
  { "stop", "force.rel.err", 1e-3, 1e-8 },
  { "stop", "event.err", 1e-3, 2e-3 },
  { "motor", "accel.rel.err", 1e-3, 1e-9 },
  { "pusher", "accel.rel.err", 1e-3, 2e-8 },
};

static void closed_forms(const char *formulation)
{
  for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
    const struct closed *c = &closed[i];
    const outcome o = run_scene(c->scene, (run_parts){ formulation }, c->h, 0, c->metric);
    ok(o.reason > 0 && o.failures == 0 && o.value <= c->bound, "%s: %s: %s = %.3g", formulation,
       c->scene, c->metric, o.value);
    ok(o.gain < 1e-7, "%s: %s: energy never grows (%.2g J)", formulation, c->scene, o.gain);
  }
}

/* A ball falls 1 m: the apex after its bounce is at e^2 m, to first order in the step. */
static double bounce(const char *formulation, double mu, double e, double h)
{
  perp_model *model = run_model(&ctx, 3);
  const perp_surface surface = { .mu = mu, .mu_dynamic = mu, .restitution = e };
  perp_shape_def ground = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface },
                 ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = surface };
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 0, 1.1 } });
  run_shape(&ctx, model, ground);
  run_shape(&ctx, model, ball);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation }, h);
  const double fall = sqrt(2 / 9.81), end = fall * (1 + 1.5 * e);
  double t = 0, apex = 0, deepest = 0;
  const double *q, *v;
  perp_step_info info = { .reason = PERP_EXACT };
  while (t < end && info.reason > 0) {
    if (perp_sim_step(&ctx, sim, end, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    deepest = fmin(deepest, q[2] - 0.1);
    if (t > 1.05 * fall) apex = fmax(apex, q[2] - 0.1);
  }
  ok(info.reason > 0 && deepest > -1e-7, "%s: e = %g: never in the ground (%.2g m)", formulation, e,
     deepest);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return apex;
}

static void bounces(const char *formulation, double mu)
{
  static const double steps[] = { 4e-3, 1e-3, 2.5e-4 };
  for (int i = 0; i < 3; i++) {
    const double e = 0.7, h = steps[i];
    near(bounce(formulation, mu, e, h), e * e, 5 * h, 0, "%s: bounces to e^2, to O(h) of %g s",
         formulation, h);
  }
  const double flat = bounce(formulation, mu, 0, 1e-3);
  below(fabs(flat), 1e-7, "%s: e = 0 stays where it is", formulation);
}

/* ---- a jointed figure ---- */

/* Five boxes on ball and hinge joints fall on the floor; rough: with friction there, and limits and
 * dry friction in the hinges. */
static perp_model *figure(double height, bool rough)
{
  perp_model *model = run_model(&ctx, 3);
  const double mu = rough ? 0.5 : 0;
  const perp_surface surface = { .mu = mu, .mu_dynamic = mu, .restitution = 0 };
  /* the floor leans, so that corners touch it one after the other */
  perp_shape_def ground = {
    .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .quat = { 1, 0.05, 0.08, 0 }, .surface = surface
  };
  run_shape(&ctx, model, ground);
  for (int i = 0; i < 5; i++) {
    perp_body_def link = { .mass = perp_mass_box(1 + 0.2 * i, 0.3, 0.08, 0.06),
                           .x = { 0.34 * (i % 3), i < 3 ? 0 : 0.3 * (i == 3 ? 1 : -1), height },
                           .v = { 0.3, 0, -0.5 } };
    if (i >= 3) link.x[0] = 0.34;
    perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                           .body = run_body(&ctx, model, link),
                           .half = { 0.15, 0.04, 0.03 },
                           .surface = surface };
    run_shape(&ctx, model, box);
  }
  for (int i = 1; i < 5; i++) {
    const int parent = i < 3 ? i - 1 : 1;
    const double side = i == 3 ? 0.15 : -0.15;
    perp_joint_def joint = { .kind = i < 3 ? PERP_JOINT_HINGE : PERP_JOINT_BALL,
                             .a = parent,
                             .b = i,
                             .axis_a = { 0, 1, 0 },
                             .axis_b = { 0, 1, 0 } };
    if (i < 3)
      joint.anchor_a[0] = 0.17, joint.anchor_b[0] = -0.17;
    else
      joint.anchor_a[1] = side, joint.anchor_b[1] = -side;
    run_joint(&ctx, model, joint);
    if (i < 3 && rough)
      run_drive(&ctx, model,
                (perp_drive_def){ .joint = i - 1, .lower = -0.3, .upper = 0.4, .max_force = 0.2 });
  }
  return run_finish(&ctx, model);
}

static void falls(const char *formulation, bool rough)
{
  perp_model *model = figure(0.5, rough);
  enum { NQ = 35, NV = 30 };
  double q1[NQ], v1[NV], lowest, gain = 0, first, deepest = 0, t = 0;
  const double *q, *v;
  perp_step_info info = { .reason = PERP_EXACT };
  /* a method that allocates nothing, whatever it meets */
  const run_parts parts = { formulation, .lcp = rough ? "dantzig:start=bpp" : "" };
  perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
  perp_sim_state(sim, &t, &q, &v);
  lowest = first = energy(model, t, q, v);
  while (t < 1 && info.reason > 0) {
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    const double now = energy(model, t, q, v);
    gain = fmax(gain, now - lowest);
    lowest = fmin(lowest, now);
    for (int i = 0; i < info.n_contacts; i++) deepest = fmax(deepest, -info.contacts[i].gap);
  }
  const perp_contact_count *count = perp_sim_contacts(sim);
  ok(info.reason > 0 && count->failures <= (rough ? 0 : count->problems / 5),
     "%s: a figure falls on the floor (%s, %ld of %ld problems not solved)", formulation,
     perp_reason_name(info.reason), (long)count->failures, (long)count->problems);
  below(gain, 1e-3 * first, "%s: its energy does not grow (of %.3g J)", formulation, first);
  below(deepest, 1e-4, "%s: nothing is deep in the floor", formulation);
  memcpy(q1, q, (size_t)perp_model_nq(model) * sizeof *q);
  memcpy(v1, v, (size_t)perp_model_nv(model) * sizeof *v);
  perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
  run_to(&ctx, sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  ok(memcmp(q, q1, (size_t)perp_model_nq(model) * sizeof *q) == 0, "%s: a restart, the same bits",
     formulation);
  if (!COUNTS_MALLOC) {
    skip("sanitizer", "%s: no allocation", formulation);
  } else {
    const long before = count_malloc;
    perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
    run_to(&ctx, sim, 1);
    ok(count_malloc == before, "%s: a run of no more contacts allocates nothing (%ld)", formulation,
       count_malloc - before);
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* largest distance of centres in states of the figure at time t */
static double figure_apart(const char *formulation, bool rough, double h, double t,
                           const double *want)
{
  perp_model *model = figure(0.2, rough);
  double q[35], most = 0;
  run_fresh(&ctx, model, (run_parts){ formulation, .contact = "box" }, h, t, q, NULL);
  for (int b = 0; b < 5; b++)
    for (int i = 0; i < 3; i++) most = fmax(most, fabs(q[7 * b + i] - want[7 * b + i]));
  perp_model_destroy(model);
  return most;
}

/* Through the first impacts the motion of the velocity level in fine steps is met to first order.
 */
static void agrees(const char *formulation, bool rough)
{
  perp_model *model = figure(0.2, rough);
  double want[35];
  const double t = 0.2;
  run_fresh(&ctx, model, (run_parts){ "velocity", .contact = "box" }, 2e-5, t, want, NULL);
  perp_model_destroy(model);
  double off[3];
  for (int i = 0; i < 3; i++)
    off[i] = figure_apart(formulation, rough, 2e-3 / (1 << (2 * i)), t, want);
  /* 2e-5 m: what the fine steps leave; with friction the order of impacts in a step decides, of the
   * velocity level too */
  ok(off[0] < 6e-3 && (rough ? off[2] < 3.5e-3 : off[2] < fmax(0.1 * off[0], 2e-5)),
     "%s: a %s figure on the floor goes where fine steps say: %.2g, %.2g, %.2g m", formulation,
     rough ? "rough" : "smooth", off[0], off[1], off[2]);
}

/* ---- points without friction ---- */

static void points(void)
{
  static const struct closed smooth[] = {
    { "incline:theta=30deg,mu=0", "accel.rel.err", 1e-3, 1e-9 },
    { "wedge", "force.rel.err", 2e-3, 1e-6 },
    { "jam:side=3", "pose.drift.max", 2e-3, 1e-9 },
    { "cradle", "impact.together.err", 1e-3, 0.01 },
  };
  for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++) {
    const struct closed *c = &smooth[i];
    const outcome o = run_scene(c->scene, (run_parts){ "point-mass" }, c->h, 0, c->metric);
    ok(o.reason > 0 && o.failures == 0 && o.problems > 0 && o.value <= c->bound,
       "point-mass: %s: %s = %.3g", c->scene, c->metric, o.value);
  }
  bounces("point-mass", 0);
  falls("point-mass", false);
  agrees("point-mass", false);
  /* two sweeps are not enough for a stack to be carried */
  const outcome o = run_scene("stack:boxes=5,mu=0", (run_parts){ "point-mass:iterations=2" }, 1e-3,
                              0.05, NULL);
  ok(o.failures > 0, "point-mass: two sweeps do not carry a stack, and that is counted: %ld",
     (long)o.failures);
}

/* ---- loops, and what is not solved ---- */

/* A motor of constant speed turns a closed loop, which stays closed. */
static void loop(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  const double at[4][2] = { { 0, 0 }, { 0, 0.5 }, { 1, 0.5 }, { 1, 0 } };
  for (int i = 0; i < 3; i++) {
    const double x = at[i + 1][0] - at[i][0], y = at[i + 1][1] - at[i][1], l = hypot(x, y);
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(1, l, 0.1, 0.1),
                              .x = { (at[i][0] + at[i + 1][0]) / 2, (at[i][1] + at[i + 1][1]) / 2 },
                              .angle = atan2(y, x) });
  }
  for (int i = 0; i < 4; i++) {
    const double l[3] = { 0.5, 1, 0.5 };
    perp_joint_def hinge = { .kind = PERP_JOINT_HINGE,
                             .a = i == 0 ? PERP_WORLD : i - 1,
                             .b = i == 3 ? PERP_WORLD : i };
    if (i > 0) hinge.anchor_a[0] = l[i - 1] / 2;
    if (i == 3) /* the world is the first of the two */
      hinge = (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = 2,
                                .anchor_a = { 1 },
                                .anchor_b = { l[2] / 2 } };
    else
      hinge.anchor_b[0] = -l[i] / 2;
    run_joint(&ctx, model, hinge);
  }
  run_drive(
      &ctx, model,
      (perp_drive_def){
          .joint = 0, .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = 0.5, .max_force = 100 });
  run_finish(&ctx, model);
  double q[9], v[9];
  const perp_reason reason = run_fresh(&ctx, model, (run_parts){ "reduced" }, 1e-3, 1, q, v);
  ok(reason > 0, "reduced: a motor turns a parallelogram");
  /* the velocities of the bodies as they are lose (omega h)^2 / 4 as they turn into the next
   * directions */
  near(v[2], 0.5, 1e-7, 0, "reduced: at its speed");
  near(q[2], M_PI / 2 + 0.5, 1e-3, 0, "reduced: as far as that, but for the start from rest");
  /* the coupler of a parallelogram is carried round and does not turn */
  near(q[5], 0, 1e-9, 0, "reduced: the coupler does not turn");
  near(q[3], 0.5 + 0.5 * cos(q[2]), 1e-9, 0, "reduced: it is where the cranks carry it, x");
  near(q[4], 0.5 * sin(q[2]), 1e-9, 0, "reduced: y");
  perp_model_destroy(model);
}

static void honest(const char *formulation)
{
  const run_parts few = { formulation, .lcp = "pgs:max_iter=3", .contact = "box" };
  const outcome o = run_scene("mass-ratio:ratio=1000", few, 2e-3, 0.1, NULL);
  ok(o.failures > 0, "%s: three sweeps do not carry a thousandfold mass, and that is counted: %ld",
     formulation, (long)o.failures);
}

static void refusals(void)
{
  perp_model *model = figure(0.5, true);
  run_refused(&ctx, model, (run_parts){ "reduced", "rk4" }, "one evaluation per step");
  run_refused(&ctx, model, (run_parts){ "impulse:velocity=false" }, "leave velocity=false out");
  run_refused(&ctx, model, (run_parts){ "impulse", .contact = "convex", .lcp = "dantzig" },
              "use --contact box or cone");
  run_refused(&ctx, model, (run_parts){ "point-mass" }, "limits and motors");
  perp_model_destroy(model);
  perp_scene scene;
  open_scene("rolling-sphere", &scene);
  run_refused(&ctx, scene.model, (run_parts){ "point-mass" }, "does not support friction");
  perp_scene_destroy(&scene);
}

/* choice=none examines nothing, and has no memory for it. */
static void memory(void)
{
  static const char *const formulations[] = { "velocity:choice=", "velocity-midpoint:choice=",
                                              "reduced:choice=", "impulse:contact.choice=",
                                              "acceleration:choice=" };
  if (!COUNTS_MALLOC) {
    skip("sanitizer", "memory of the choice");
    return;
  }
  for (int i = 0; i < 5; i++) {
    long made[2];
    for (int none = 0; none < 2; none++) {
      perp_model *model = figure(0.5, false);
      char name[64];
      snprintf(name, sizeof name, "%s%s", formulations[i], none == 1 ? "none" : "least-norm");
      const long before = count_malloc;
      perp_sim *sim = run_start(&ctx, model, (run_parts){ name, .lcp = "dantzig" }, 1e-3);
      made[none] = count_malloc - before;
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
    ok(made[1] < made[0], "%snone: fewer allocations than with a choice (%ld, %ld)",
       formulations[i], made[1], made[0]);
  }
}

/* Contacts of a step are those of the step also where the next one, which point-mass makes ahead,
 * has more of them than ever: spheres that meet the floor one after the other. */
static void growing(void)
{
  enum { SPHERES = 60 };
  perp_model *model = run_model(&ctx, 3);
  const perp_shape_def floor = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  run_shape(&ctx, model, floor);
  for (int i = 0; i < SPHERES; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { i, 0, 0.1 + 0.02 * i } });
    const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.1 };
    run_shape(&ctx, model, ball);
  }
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "point-mass" }, 1e-3);
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0;
  const double *q, *v;
  int bad = 0, most = 0;
  while (t < 0.6 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 0.6, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    most = info.n_contacts > most ? info.n_contacts : most;
    for (int k = 0; k < info.n_contacts; k++) {
      const perp_contact *c = &info.contacts[k];
      const int a = c->body[0], b = c->body[1];
      bad += !(a >= -1 && a < SPHERES && b >= -1 && b < SPHERES &&
               fabs(fabs(c->n[2]) - 1) < 1e-12 && fabs(info.impulse[3 * k + 2]) < 6);
    }
  }
  ok(bad == 0 && most > 40, "point-mass: up to %d contacts, %d of them not those of the step", most,
     bad);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  static const char *const formulations[] = { "reduced", "impulse" };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    closed_forms(formulations[i]);
    bounces(formulations[i], 0.3);
    falls(formulations[i], true);
    agrees(formulations[i], false);
    agrees(formulations[i], true);
    honest(formulations[i]);
  }
  for (int i = 0; i < 2;
       i++) { /* what is known of several solutions is forgotten by a restart, too */
    char name[64];
    snprintf(name, sizeof name, "%s:%schoice=least-norm", formulations[i],
             i == 0 ? "" : "contact.");
    falls(name, true);
  }
  memory();
  points();
  growing();
  loop();
  refusals();
  return tap_done();
}
