/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the stabilization does to contacts, on the velocity and on the acceleration level: against
 * closed forms for one box, and the bound of the push-out for stacks. */
#include "tests/run_model.h"

#include <math.h>
#include <stdio.h>

static perp_ctx ctx;
static const double h = 1.0 / 240, g = 9.81;

static perp_model *on_ground(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  perp_shape_def ground = { .body = PERP_WORLD,
                            .kind = PERP_SHAPE_PLANE,
                            .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
  run_shape(&ctx, model, ground);
  return model;
}

static void unit_box(perp_model *model, int i, double x, double z)
{
  perp_body_def body = { .mass = perp_mass_box(1, 1, 1, 1), .x = { x, 0, z } };
  perp_shape_def box = { .body = i,
                         .kind = PERP_SHAPE_BOX,
                         .half = { 0.5, 0.5, 0.5 },
                         .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
  run_body(&ctx, model, body);
  run_shape(&ctx, model, box);
}

/* n cubes of 1 m and 1 kg on each other and on the ground, each `overlap` deep in what is below */
static perp_model *stack(int n, double overlap)
{
  perp_model *model = on_ground();
  for (int i = 0; i < n; i++) unit_box(model, i, 0, i + 0.5 - (i + 1) * overlap);
  run_finish(&ctx, model);
  return model;
}

static void one_step(perp_sim *sim)
{
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("a step failed: %s %s", ctx.msg, perp_reason_name(info.reason));
}

/* height of the lower side of the first box, and its velocity */
static double bottom(const perp_sim *sim, double *speed)
{
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  *speed = v[2];
  return q[2] - 0.5;
}

/* ---- closed forms ---- */

static const double depth = 1e-3;

/* velocity level: z+ = (1 - alpha h) z as long as gravity takes the velocity of the step before; no
 * faster than push */
static void test_velocity_feedback(void)
{
  static const struct {
    const char *stab;
    double part, push;
  } cases[] = { { "baumgarte", 0.2, 0.1 },
                { "baumgarte:alpha=24", 0.1, 0.1 },
                { "baumgarte:alpha=48", 0.2, 0.1 },
                { "baumgarte:alpha=240,push=0.02", 1, 0.02 },
                { "none", 0, 0 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = stack(1, depth);
    perp_sim *sim = run_start(
        &ctx, model,
        (run_parts){ .formulation = "velocity", .stab = cases[i].stab, .lcp = "dantzig" }, h);
    double z = -depth, v, worst = 0;
    for (int k = 0; k < 8; k++) {
      const double want = z + fmin(-cases[i].part * z, h * cases[i].push);
      one_step(sim);
      z = bottom(sim, &v);
      worst = fmax(worst, fabs(z - want));
    }
    below(worst, 1e-9, "velocity, %s: the part %g of the depth in a step, %g m/s at most",
          cases[i].stab, cases[i].part, cases[i].push);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* z'' + 2 alpha z' + beta^2 z = 0 from z0 = -depth at rest, where alpha = beta; or two real rates
 */
static double decay(double alpha, double beta, double t)
{
  if (alpha == beta) return -depth * (1 + alpha * t) * exp(-alpha * t);
  const double root = sqrt(alpha * alpha - beta * beta), s = alpha - root, r = alpha + root;
  return -depth * (r * exp(-s * t) - s * exp(-r * t)) / (r - s);
}

static void test_acceleration_feedback(void)
{
  static const struct {
    const char *stab;
    double alpha, beta; /* 1/s */
  } cases[] = { { "baumgarte", 48, 48 },
                { "baumgarte:alpha=20", 20, 20 },
                { "baumgarte:alpha=20,beta=12", 20, 12 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = stack(1, depth);
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ .formulation = "acceleration",
                                           .ode = "rk4",
                                           .stab = cases[i].stab,
                                           .lcp = "dantzig",
                                           .contact = "box" },
                              h);
    double worst = 0, v;
    for (int k = 1; k <= 48; k++) {
      one_step(sim);
      worst = fmax(worst, fabs(bottom(sim, &v) - decay(cases[i].alpha, cases[i].beta, k * h)));
    }
    /* the tolerance of touching, 1e-9 of the box, is no error of the contact; order 4 */
    below(worst, 2e-7, "acceleration, %s: z'' + 2 %g z' + %g^2 z = 0", cases[i].stab,
          cases[i].alpha, cases[i].beta);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* a deep box settles at the highest speed: push */
static void test_push(void)
{
  static const run_parts parts[] = {
    { .formulation = "velocity", .stab = "baumgarte:push=0.05", .lcp = "dantzig" },
    { .formulation = "acceleration",
      .ode = "rk4",
      .stab = "baumgarte:push=0.05",
      .lcp = "dantzig",
      .contact = "box" }
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    perp_model *model = stack(1, 0.3);
    perp_sim *sim = run_start(&ctx, model, parts[i], h);
    double v, most = 0;
    for (int k = 0; k < 240; k++) {
      one_step(sim);
      bottom(sim, &v);
      most = fmax(most, v);
    }
    near(v, 0.05, 1e-9, 0, "%s: 0.3 m deep, it parts with push", parts[i].formulation);
    below(most, 0.05 * (1 + 1e-9), "%s: and never faster", parts[i].formulation);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* none keeps the overlap, projections remove it in one step (or their part of it) and give no
 * velocity */
static void test_projection(void)
{
  static const run_parts levels[] = {
    { .formulation = "velocity", .lcp = "dantzig" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "dantzig", .contact = "box" },
    { .formulation = "acceleration:state=momentum",
      .ode = "rk4",
      .lcp = "dantzig",
      .contact = "box" }
  };
  static const struct {
    const char *stab;
    double left;
  } cases[] = { { "none", 1 },
                { "velocity-projection", 1 },
                { "post", 0 },
                { "post:velocity=true", 0 },
                { "post:contact_passes=0", 1 },
                { "split", 0 } };
  for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      run_parts parts = levels[l];
      parts.stab = cases[i].stab;
      perp_model *model = stack(1, depth);
      perp_sim *sim = run_start(&ctx, model, parts, h);
      double v;
      one_step(sim);
      near(bottom(sim, &v), -cases[i].left * depth, 1e-8, 0,
           "%s, %s: %g of the overlap after a step", parts.formulation, parts.stab, cases[i].left);
      near(v, 0, 1e-9, 0, "%s, %s: without a velocity", parts.formulation, parts.stab);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

/* Two rods on hinges whose tip is deep in the ground: moving it out turns them, and what that
 * leaves of the hinges, of second order, is taken away too, at any size. */
static void test_hinges(double size)
{
  const double up = (0.07 + sin(0.5)) * size;
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  const perp_shape_def plane = { .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE }, tip = {
    .body = 1, .kind = PERP_SHAPE_SPHERE, .radius = 0.1 * size, .x = { 0.5 * size }
  };
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = { 1, { [8] = 0.1 * size * size } },
                              .x = { (i > 0 ? 1 + 0.5 * cos(0.5) : 0.5) * size,
                                     up - (i > 0 ? 0.5 * sin(0.5) : 0) * size },
                              .angle = i > 0 ? -0.5 : 0 });
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = i - 1,
                                .b = i,
                                .anchor_a = { i * 0.5 * size, i > 0 ? 0 : up },
                                .anchor_b = { -0.5 * size } });
  }
  run_shape(&ctx, model, plane);
  run_shape(&ctx, model, tip);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ .formulation = "velocity", .stab = "post" },
                            h);
  double t, C[4], off = 0;
  const double *q, *v;
  one_step(sim);
  perp_sim_state(sim, &t, &q, &v);
  perp_model_error(model, t, q, C);
  for (int i = 0; i < 4; i++) off = fmax(off, fabs(C[i]));
  below(off, 1e-9 * size, "hinges of %g m after a contact was moved", size);
  below(0.1 * size - q[4] - 0.5 * size * sin(q[5]), 1e-6 * size, "  which is out");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A closed contact that approaches slower than the law of impacts looks at: stopped where
 * velocities are projected. */
static void test_stop(void)
{
  static const struct {
    const char *stab;
    bool stops;
  } cases[] = { { "none", false },
                { "post", false },
                { "post:velocity=true", true },
                { "velocity-projection", true } };
  static const char *const ode = "rk4";
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = stack(1, 0);
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ .formulation = "acceleration:rest=0.1",
                                           .ode = ode,
                                           .stab = cases[i].stab,
                                           .lcp = "dantzig",
                                           .contact = "box" },
                              h);
    double t, q[7], v[6] = { 0, 0, -1e-3, 0, 0, 0 };
    const double *q0, *v0;
    perp_sim_state(sim, &t, &q0, &v0);
    memcpy(q, q0, sizeof q);
    if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
    double speed;
    one_step(sim);
    bottom(sim, &speed);
    near(speed, cases[i].stops ? 0 : -1e-3, 1e-4 * 1e-3 + 1e-9, 0,
         "acceleration, %s: an approach of 1 mm/s at rest is %s", cases[i].stab,
         cases[i].stops ? "stopped" : "kept");
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* ---- all schemes and options act ---- */

static void test_differ(void)
{
  static const run_parts levels[] = {
    { .formulation = "velocity", .lcp = "auto" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "auto", .contact = "box" }
  };
  static const char *const stabs[] = { "none",
                                       "post",
                                       "baumgarte",
                                       "baumgarte:alpha=10",
                                       "baumgarte:alpha=50",
                                       "baumgarte:alpha=50,push=0.01",
                                       "baumgarte:alpha=50,beta=20" };
  enum { STABS = sizeof stabs / sizeof *stabs };
  for (size_t l = 0; l < 2; l++) {
    double top[STABS];
    /* beta is a gain of the acceleration level */
    const int n = l == 0 ? STABS - 1 : STABS;
    for (int i = 0; i < n; i++) {
      run_parts parts = levels[l];
      parts.stab = stabs[i];
      perp_model *model = stack(5, 1e-3);
      perp_sim *sim = run_start(&ctx, model, parts, h);
      for (int k = 0; k < 4; k++) one_step(sim);
      double t;
      const double *q, *v;
      perp_sim_state(sim, &t, &q, &v);
      top[i] = q[7 * 4 + 2];
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++)
        ok(fabs(top[i] - top[j]) > 1e-7, "%s: %s and %s are different on contacts: %.9g, %.9g m",
           levels[l].formulation, stabs[i], stabs[j], top[i], top[j]);
  }
}

/* A gain that the level does not have is no option without a word, in groups neither. */
static void test_refused(void)
{
  static const char *const formulations[] = { "velocity", "velocity-midpoint", "velocity-implicit",
                                              "reduced",  "impulse",           "groups" };
  static const char *const stabs[] = { "baumgarte:beta=5", "split:alpha=3,beta=5" };
  perp_model *model = stack(1, depth);
  for (size_t i = 0; i < sizeof formulations / sizeof *formulations; i++)
    for (size_t k = 0; k < 2; k++)
      run_refused(&ctx, model,
                  (run_parts){ .formulation = formulations[i], .stab = stabs[k], .lcp = "auto" },
                  "beta has an effect on the acceleration level only");
  const run_parts served = { .formulation = "acceleration",
                             .ode = "rk4",
                             .stab = "split:alpha=3,beta=5",
                             .lcp = "auto",
                             .contact = "box" };
  perp_sim_destroy(run_start(&ctx, model, served, h));
  perp_model_destroy(model);
}

/* ---- the bound ---- */

static double energy(int n, const double *q, const double *v)
{
  double sum = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < 3; j++) sum += 0.5 * v[6 * i + j] * v[6 * i + j];
    for (int j = 3; j < 6; j++) sum += 0.5 / 6 * v[6 * i + j] * v[6 * i + j];
    sum += g * q[7 * i + 2];
  }
  return sum;
}

/* From any overlap: neighbours part no faster than 0.1 m/s, and the energy is never more than that
 * of the boxes on each other, and 1 %. */
static void bounded(int n, double overlap, run_parts parts, double t_end)
{
  perp_model *model = stack(n, overlap);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  const double rest = g * n * n / 2.0;
  double fastest = 0, most = 0, t = 0;
  const double *q, *v;
  while (t < t_end - h / 2) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0)
      bail("%s, %s, overlap %g at %g s: %s %s", parts.formulation, parts.lcp, overlap, t, ctx.msg,
           info.cause != NULL ? info.cause : "");
    perp_sim_state(sim, &t, &q, &v);
    for (int i = 0; i < n; i++)
      fastest = fmax(fastest, v[6 * i + 2] - (i > 0 ? v[6 * (i - 1) + 2] : 0));
    most = fmax(most, energy(n, q, v));
  }
  ok(fastest <= 0.1 * (1 + 1e-6) && most <= 1.01 * rest,
     "%d boxes, %g m overlap, %s, %s, %s: part at %.2g m/s, energy %+.2g of that at rest", n,
     overlap, parts.formulation, parts.lcp != NULL ? parts.lcp : "",
     parts.stab != NULL ? parts.stab : "default", fastest, most / rest - 1);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void test_bound(void)
{
  static const double overlaps[] = { 1e-4, 1e-3, 1e-2, 0.1, 0.5 };
  static const run_parts parts[] = {
    { .formulation = "velocity", .lcp = "dantzig" },
    { .formulation = "velocity", .lcp = "auto" },
    { .formulation = "velocity", .lcp = "pgs" },
    { .formulation = "velocity", .lcp = "pgs:sweeps=10" },
    { .formulation = "velocity", .lcp = "block-gs" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "dantzig", .contact = "box" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "auto", .contact = "box" },
    { .formulation = "acceleration", .ode = "euler", .lcp = "pgs", .contact = "box" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "block-gs", .contact = "cone" },
    { .formulation = "velocity", .lcp = "auto", .stab = "baumgarte" },
    { .formulation = "velocity", .lcp = "auto", .stab = "baumgarte:alpha=240" },
    { .formulation = "acceleration",
      .ode = "rk4",
      .lcp = "auto",
      .contact = "box",
      .stab = "baumgarte" }
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (size_t j = 0; j < sizeof overlaps / sizeof *overlaps; j++)
      /* five boxes deep in each other take sweeps on the acceleration level seconds */
      bounded(parts[i].ode != NULL && overlaps[j] > 0.3 ? 3 : 5, overlaps[j], parts[i],
              parts[i].ode != NULL ? 0.25 : 1);
  for (size_t j = 0; j < sizeof overlaps / sizeof *overlaps; j++)
    bounded(20, overlaps[j], (run_parts){ .formulation = "velocity", .lcp = "auto" }, 1);
}

/* ---- sweeps ---- */

/* how far the boxes of a pyramid move under ten sweeps a step */
static double drift(const char *stab)
{
  enum { ROWS = 10 };
  perp_model *model = on_ground();
  int n = 0;
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < ROWS - row; i++, n++) {
      unit_box(model, n, 1.1 * (i + 0.5 * row), row + 0.5);
    }
  run_finish(&ctx, model);
  const double *q0 = perp_model_q0(model), *q, *v;
  perp_sim *sim = run_start(
      &ctx, model, (run_parts){ .formulation = "velocity", .lcp = "pgs:sweeps=10", .stab = stab },
      h);
  double t, most = 0;
  run_to(&ctx, sim, 2);
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 3; j++) most = fmax(most, fabs(q[7 * i + j] - q0[7 * i + j]));
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return most;
}

static void test_sweeps(void)
{
  const double plain = drift("none"), stabilized = drift(NULL);
  below(stabilized, 4 * plain, "a pyramid of 55 boxes, 10 sweeps a step: drift of %g m without",
        plain);
}

/* A box 0.3 m deep: position passes raise it by the limit each, on both levels; without one at
 * once. */
static void test_limit(void)
{
  static const struct {
    const char *stab;
    double left;
  } cases[] = { { "post", 0 },
                { "post:limit=0.05,contact_passes=1", 0.25 },
                { "post:limit=0.05,contact_passes=4", 0.1 },
                { "post:limit=0.05,contact_passes=10", 0 } };
  static const run_parts levels[] = {
    { .formulation = "velocity", .lcp = "dantzig" },
    { .formulation = "acceleration", .ode = "rk4", .lcp = "dantzig", .contact = "box" }
  };
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      run_parts parts = levels[k];
      parts.stab = cases[i].stab;
      perp_model *model = stack(1, 0.3);
      perp_sim *sim = run_start(&ctx, model, parts, h);
      double v;
      below(fabs(bottom(sim, &v) + cases[i].left), 1e-9,
            "%s, %s: of 0.3 m of overlap %g m are left", parts.formulation, parts.stab,
            cases[i].left);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

/* Soft rows leave the part S / (4 / m + S) of a box on four corners in each pass, S = softness / m.
 */
static void test_split_passes(void)
{
  static const double softness = 0.5;
  for (int passes = 1; passes < 5; passes++) {
    char stab[64];
    double v;
    perp_model *model = stack(1, depth);
    snprintf(stab, sizeof stab, "split:softness=%g,passes=%d", softness, passes);
    perp_sim *sim = run_start(
        &ctx, model, (run_parts){ .formulation = "velocity", .stab = stab, .lcp = "dantzig" }, h);
    near(bottom(sim, &v), -depth * pow(softness / (4 + softness), passes), 1e-9, 0,
         "%s: what is left of an overlap", stab);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_velocity_feedback();
  test_acceleration_feedback();
  test_push();
  test_projection();
  for (int i = -4; i <= 4; i += 4) test_hinges(pow(10, i));
  test_stop();
  test_differ();
  test_refused();
  test_bound();
  test_sweeps();
  test_limit();
  test_split_passes();
  return tap_done();
}
