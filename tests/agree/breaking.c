/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints that break: the time against the closed form of the pendulum, the motion after it against
 * that of a model without the joint, and what does not break against a model that cannot. */
#include "tests/run_model.h"

#include <math.h>

static perp_ctx ctx;

/* ---- the time: pendulums, whose force has a closed form ---- */

/* |t_break - exact|, and the largest error of q at 0.8 s; inf: it did not break. */
static double breaking_error(perp_scene *s, run_parts parts, double h, double *place)
{
  perp_step_info info = { .reason = PERP_EXACT };
  double t, q_ref[7], v_ref[6];
  const double *q, *v;
  perp_sim *sim = run_start(&ctx, s->model, parts, h);
  perp_sim_state(sim, &t, &q, &v);
  s->gauge[0].sample(s->gauge[0].user, t, q, v, NULL);
  while (t < 0.8 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 0.8, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    s->gauge[0].sample(s->gauge[0].user, t, q, v, &info);
  }
  if (s->truth[0].state(s->truth[0].user, &ctx, t, q_ref, v_ref) != PERP_OK) bail("%s", ctx.msg);
  *place = info.reason < 0 ? HUGE_VAL : 0;
  for (int i = 0; i < perp_model_nq(s->model); i++) *place = fmax(*place, fabs(q[i] - q_ref[i]));
  const double err = s->gauge[0].value(s->gauge[0].user);
  perp_sim_destroy(sim);
  return err;
}

static void times(void)
{
  static const char *const scenes[] = { "pendulum:strength=15", "pendulum:strength=15,body=rod",
                                        "pendulum:strength=15,body=rod,dim=3" };
  const perp_desc *d;
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_formulation, i)) != NULL; i++) {
      double place;
      if (!(d->caps & PERP_FORM_BREAKS)) continue;
      /* a scene for each run: its check remembers */
      perp_scene s = run_open(&ctx, scenes[k]);
      const char *name = strcmp(d->name, "penalty") == 0 ? "penalty:stiffness=1e6" : d->name;
      const double err = breaking_error(&s, (run_parts){ name }, 2e-4, &place);
      /* the step that is over, and that in which it is seen; springs of 30 Hz follow a force late,
       * whatever the step */
      const double late = strcmp(d->name, "soft-constraints") == 0 ? 2e-3 : 5e-4;
      ok(err < late && place < 10 * late, "%s, %s: breaks %.2g s off, q off by %.2g", scenes[k],
         d->name, err, place);
      perp_scene_destroy(&s);
    }
    static const run_parts exact[] = { { "acceleration", "rk4" },
                                       { "acceleration", "dopri5:tol=1e-12" },
                                       { "radau5" } };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
      double place;
      perp_scene s = run_open(&ctx, scenes[k]);
      const double err = breaking_error(&s, exact[i], 1e-3, &place);
      ok(err < 1e-8 && place < 1e-7, "%s, %s %s: breaks %.2g s off, q off by %.2g", scenes[k],
         exact[i].formulation, exact[i].ode != NULL ? exact[i].ode : "", err, place);
      perp_scene_destroy(&s);
    }
  }
}

/* ---- the motion after it: a model that never had the joint ---- */

/* Two bars on a hinge and on a joint of this kind, which breaks under `strength`; without: the
 * second one is free. */
static perp_model *bars(perp_joint_kind kind, double strength, bool with, const double *q,
                        const double *v)
{
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < 2; i++) {
    perp_body_def bar = { .mass = perp_mass_box(1, 0.4, 0.1, 0.05), .x = { 0.2 + 0.4 * i } };
    if (q != NULL) {
      memcpy(bar.x, q + 7 * i, sizeof bar.x);
      memcpy(bar.quat, q + 7 * i + 3, sizeof bar.quat);
      memcpy(bar.v, v + 6 * i, sizeof bar.v);
      memcpy(bar.w, v + 6 * i + 3, sizeof bar.w);
    }
    run_body(&ctx, model, bar);
  }
  perp_joint_def joint = { .kind = PERP_JOINT_HINGE,
                           .a = PERP_WORLD,
                           .b = 0,
                           .anchor_b = { -0.2 },
                           .axis_a = { 0, 1 },
                           .axis_b = { 0, 1 },
                           .start = q != NULL ? PERP_START_VIOLATES : PERP_START_HOLDS };
  run_joint(&ctx, model, joint);
  joint = (perp_joint_def){ .kind = kind,
                            .a = 0,
                            .b = 1,
                            .anchor_a = { 0.2 },
                            .anchor_b = { -0.2 },
                            .axis_a = { 0, 1 },
                            .axis_b = { 0, 1 },
                            .strength = strength };
  if (kind == PERP_JOINT_UNIVERSAL || kind == PERP_JOINT_WHEEL)
    joint.axis_b[1] = 0, joint.axis_b[2] = 1;
  if (kind == PERP_JOINT_DISTANCE) joint.anchor_b[0] = 0, joint.length = 0.2;
  if (kind == PERP_JOINT_CURVE) {
    joint.axis_b[1] = 0, joint.axis_b[0] = 1;
    joint.curve = (perp_curve_def){ .kind = PERP_CURVE_LINE };
  }
  if (with) run_joint(&ctx, model, joint);
  return run_finish(&ctx, model);
}

/* The largest difference at 0.5 s of the states with and without the joint that broke; inf: it did
 * not. */
static double after(perp_joint_kind kind, double strength, run_parts parts, double h)
{
  perp_step_info info = { .reason = PERP_EXACT };
  double t, off = 0, q1[14], v1[12], q2[14], v2[12];
  const double *q, *v;
  perp_model *model = bars(kind, strength, true, NULL, NULL);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  while (info.n_releases == 0 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 0.45, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (t >= 0.45) break;
  }
  const bool broke = info.n_releases == 1 && info.release[0].joint == 1 &&
                     info.release[0].force > strength && t < 0.45 && t == info.release[0].t;
  memcpy(q1, q, sizeof q1);
  memcpy(v1, v, sizeof v1);
  const perp_reason reason = run_to(&ctx, sim, t + 0.05);
  perp_sim_state(sim, &t, &q, &v);
  memcpy(q2, q, sizeof q2);
  memcpy(v2, v, sizeof v2);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  if (!broke || reason < 0) return HUGE_VAL;
  model = bars(kind, 0, false, q1, v1);
  sim = run_start(&ctx, model, parts, h);
  if (run_to(&ctx, sim, 0.05) < 0) bail("the model without the joint: %s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < 14; i++) off = fmax(off, fabs(q[i] - q2[i]));
  for (int i = 0; i < 12; i++) off = fmax(off, fabs(v[i] - v2[i]));
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return off;
}

static void kinds_and_solvers(void)
{
  static const struct {
    perp_joint_kind kind;
    double strength;
    const char *name;
  } kinds[] = {
    { PERP_JOINT_BALL, 8, "ball" },           { PERP_JOINT_HINGE, 8, "hinge" },
    { PERP_JOINT_UNIVERSAL, 8, "universal" }, { PERP_JOINT_FIXED, 8, "fixed" },
    { PERP_JOINT_DISTANCE, 8, "distance" },   { PERP_JOINT_SLIDER, 6, "slider" },
    { PERP_JOINT_LINE, 6, "line" },           { PERP_JOINT_CYLINDRICAL, 6, "cylindrical" },
    { PERP_JOINT_CURVE, 6, "curve" },
  };
  const perp_desc *d;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++)
      for (int level = 0; level < 2; level++) {
        const run_parts parts = { level == 0 ? "velocity" : "acceleration",
                                  level == 0 ? "symplectic-euler" : "rk4", d->name };
        const double off = after(kinds[k].kind, kinds[k].strength, parts, 1e-3);
        ok(off < 1e-9, "%s, %s, %s: after it broke %.2g off the motion without it", kinds[k].name,
           parts.formulation, d->name, off);
      }
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_formulation, i)) != NULL; i++) {
    if (!(d->caps & PERP_FORM_BREAKS)) continue;
    for (int k = 0; k < 2; k++) {
      const double off = after(kinds[k].kind, kinds[k].strength, (run_parts){ d->name }, 1e-3);
      ok(off < 1e-7, "%s, %s: after it broke %.2g off the motion without it", kinds[k].name,
         d->name, off);
    }
  }
}

/* A four-bar that is pushed and breaks: in space three of its rows are redundant, in the plane none
 * is.  Its motion, the time of breaking among it, is the same. */
static double four_bar(int dim, const char *kkt, double place[6])
{
  static const double x[3][2] = { { 0, 0.5 }, { 0.5, 1 }, { 1, 0.5 } };
  static const double at[4][2] = { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 0 } };
  const int up = dim - 1;
  perp_model *model = run_model(&ctx, dim);
  for (int i = 0; i < 3; i++) {
    perp_body_def bar = { .mass = { 1, { 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1 } } };
    bar.x[0] = x[i][0], bar.x[up] = x[i][1];
    run_body(&ctx, model, bar);
  }
  for (int i = 0; i < 4; i++) {
    perp_joint_def hinge = { .kind = PERP_JOINT_HINGE, .a = i - 1, .b = i < 3 ? i : PERP_WORLD };
    for (int c = 0; c < 2; c++) {
      hinge.anchor_a[c * up] = at[i][c] - (i > 0 ? x[i - 1][c] : 0);
      hinge.anchor_b[c * up] = at[i][c] - (i < 3 ? x[i][c] : 0);
    }
    hinge.axis_a[1] = hinge.axis_b[1] = 1;
    if (i == 2) hinge.strength = 25;
    run_joint(&ctx, model, hinge);
  }
  const perp_force_def push = { .kind = PERP_FORCE_POINT, .a = 1, .value = { 5 } };
  run_force(&ctx, model, push);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "acceleration", "rk4", kkt }, 1e-3);
  perp_step_info info = { .reason = PERP_EXACT };
  double t = 0, t_break = nan("");
  const double *q, *v;
  while (t < 1 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.n_releases == 1) t_break = info.release[0].t;
  }
  for (int i = 0; i < 3; i++) {
    place[2 * i] = q[i * (dim == 3 ? 7 : 3)];
    place[2 * i + 1] = q[i * (dim == 3 ? 7 : 3) + up];
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return info.reason < 0 ? (double)NAN : t_break;
}

static void loops(void)
{
  double reference[6], place[6];
  const double t = four_bar(2, "kkt-dense", reference);
  const perp_desc *d;
  ok(t > 0.8 && t < 1, "a four-bar in the plane breaks at %.9g s", t);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    double off = fabs(four_bar(3, d->name, place) - t);
    for (int k = 0; k < 6; k++) off = fmax(off, fabs(place[k] - reference[k]));
    ok(off < 1e-8, "%s: so it does in space, with redundant rows: %.2g off", d->name, off);
  }
}

/* ---- what holds ---- */

static void holds(void)
{
  static const run_parts parts[] = { { "velocity" },
                                     { "acceleration", "rk4" },
                                     { "acceleration", "rk4", "kkt-dense" },
                                     { "point-mass" },
                                     { "ggl" } };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    double q[2][14], v[2][12];
    for (int k = 0; k < 2; k++) {
      perp_model *model = bars(PERP_JOINT_BALL, k == 0 ? 0 : 1e9, true, NULL, NULL);
      if (run_fresh(&ctx, model, parts[i], 1e-3, 0.3, q[k], v[k]) < 0) bail("%s", ctx.msg);
      perp_model_destroy(model);
    }
    ok(memcmp(q[0], q[1], sizeof *q) == 0 && memcmp(v[0], v[1], sizeof *v) == 0,
       "%s: a joint that does not break moves to the last bit as one that cannot",
       parts[i].formulation);
  }
  /* a restart mends it */
  perp_model *model = bars(PERP_JOINT_BALL, 8, true, NULL, NULL);
  perp_sim *sim = run_start(&ctx, model, parts[1], 1e-3);
  double t, q[2][14];
  const double *x, *u;
  for (int k = 0; k < 2; k++) {
    if (run_to(&ctx, sim, 0.5) < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &x, &u);
    memcpy(q[k], x, sizeof q[k]);
    if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model)) != PERP_OK)
      bail("%s", ctx.msg);
  }
  ok(memcmp(q[0], q[1], sizeof *q) == 0, "a restart begins with the joint");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* An impact: the impulse of a ball that meets the floor passes the joint to the second one, P = m_2
 * v, in one step.  Above the threshold P / h the joint holds. */
static void impact(void)
{
  const double speed = 2, h = 1e-3;
  for (int holds = 0; holds < 2; holds++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, 0);
    for (int i = 0; i < 2; i++)
      run_body(&ctx, model,
               (perp_body_def){ .mass = perp_mass_sphere(1 + i, 0.1),
                                .x = { 0, 0, 0.15 + 0.3 * i },
                                .v = { 0, 0, -speed } });
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_FIXED,
                                .a = 0,
                                .b = 1,
                                .anchor_b = { 0, 0, -0.3 },
                                .strength = (holds ? 1.01 : 0.99) * 2 * speed / h });
    const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.1 },
                         floor = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
    run_shape(&ctx, model, ball);
    run_shape(&ctx, model, floor);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ "velocity" }, h);
    perp_step_info info = { 0 };
    double t = 0;
    const double *q, *v;
    while (t < 0.05) {
      if (perp_sim_step(&ctx, sim, 0.05, &info) != PERP_OK) bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
    }
    ok(info.n_releases == 1 - holds, "an impact with m v / h %s the threshold %s the joint",
       holds ? "below" : "above", holds ? "spares" : "breaks");
    if (!holds && info.n_releases == 1)
      near(info.release[0].force, 2 * speed / h, 0, 1e-9, "... at %.3g s with the force m v / h",
           info.release[0].t);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

static void refused(void)
{
  perp_model *model = bars(PERP_JOINT_BALL, 8, true, NULL, NULL);
  run_refused(&ctx, model, (run_parts){ "reduced" }, "joints that break");
  run_refused(&ctx, model, (run_parts){ "groups" }, "joints that break");
  perp_model_destroy(model);
  model = bars(PERP_JOINT_CURVE, 8, true, NULL, NULL);
  run_refused(&ctx, model, (run_parts){ "point-mass" }, "curve joints");
  perp_model_destroy(model);
  model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 1) });
  const perp_joint_def ball = { .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0 };
  perp_joint_def bad = ball;
  bad.strength = -1;
  ok(perp_model_add_joint(&ctx, model, &bad, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  bad.strength = NAN;
  ok(perp_model_add_joint(&ctx, model, &bad, NULL) == PERP_ERR_ARG, "refused: %s", ctx.msg);
  bad.strength = 5;
  bad.stiffness = 7;
  ok(perp_model_add_joint(&ctx, model, &bad, NULL) == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  bad.stiffness = 0;
  bad.kind = PERP_JOINT_HINGE;
  bad.axis_a[2] = bad.axis_b[2] = 1;
  run_joint(&ctx, model, bad);
  const perp_drive_def motor = { .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = 1 };
  ok(perp_model_add_drive(&ctx, model, &motor, NULL) == PERP_ERR_UNSUPPORTED, "refused: %s",
     ctx.msg);
  perp_model_destroy(model);
  static const char *const scenes[] = { "pendulum:strength=1e3", "pendulum:strength=2,body=rod",
                                        "pendulum:strength=15,amplitude=2" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    perp_spec spec;
    perp_scene scene;
    if (perp_spec_parse(&ctx, PERP_KIND_scene, scenes[i], &spec) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_scene_create(&ctx, &spec, &scene) == PERP_ERR_OPTION, "refused: %s", ctx.msg);
    perp_spec_free(&spec);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  times();
  kinds_and_solvers();
  loops();
  holds();
  impact();
  refused();
  return tap_done();
}
