/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that are disabled for a time, against closed forms: falling from then on, stopping at a
 * time, at a coordinate, enabled by an impact, the pendulum that is let go, the plastic impact of a
 * stop; in each formulation that serves them. What contradicts itself, and who does not serve it,
 * is refused. */
#include "tests/run_model.h"

static perp_ctx ctx;

static const char *const forms[] = {
  "velocity", "velocity-midpoint", "acceleration", "impulse",      "ggl", "generalized-alpha",
  "radau5",   "variational",       "esdirk",       "sundials:ida", NULL
};

static perp_cue at(double t)
{
  return (perp_cue){ .kind = PERP_CUE_TIME, .time = t };
}

static perp_cue passes(int body, int k, double value, int direction)
{
  return (perp_cue){ .kind = PERP_CUE_COORDINATE,
                     .body = body,
                     .coordinate = k,
                     .value = value,
                     .direction = direction };
}

static bool known(const char *formulation)
{
  return perp_find(&ctx, PERP_KIND_formulation, formulation) != NULL;
}

/* Two balls of 1 kg: one falls, one is disabled from `from` until `until`. */
static perp_model *two(int d, bool particle, perp_cue from, perp_cue until)
{
  perp_model *m = run_model(&ctx, d);
  for (int i = 0; i < 2; i++) {
    perp_body_def b = { .mass = perp_mass_sphere(1, 0.1), .particle = particle, .x = { 2.0 * i } };
    if (!particle && d == 3) b.quat[0] = 0.8, b.quat[1] = 0.6;
    if (!particle && from.time > 0) b.w[2] = 1;
    if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  const perp_disabled_def def = { .body = 1, .from = from, .until = until };
  if (perp_model_add_disabled(&ctx, m, &def, NULL) != PERP_OK ||
      perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  return m;
}

/* Free fall with steps of order one is g h t / 2 off; the second ball is where the first one was a
 * while before. */
static void falls(const char *form, int d, bool particle)
{
  const double h = 1e-3, g = 9.81;
  perp_model *m = two(d, particle, at(0), at(0.5));
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form }, h);
  double t;
  const double *q, *v;
  const int up = d - 1, nqb = perp_model_nq(m) / 2, nvb = perp_model_nv(m) / 2;
  const double *q0 = perp_model_q0(m);
  run_to(&ctx, sim, 0.5);
  perp_sim_state(sim, &t, &q, &v);
  bool still = true;
  for (int i = 0; i < nqb; i++) still &= fabs(q[nqb + i] - q0[nqb + i]) < 1e-10;
  for (int i = 0; i < nvb; i++) still &= fabs(v[nvb + i]) < 1e-10;
  ok(still, "%s, %d-d%s: it stays where it is while it is disabled", form, d,
     particle ? ", particle" : "");
  run_to(&ctx, sim, 1.25);
  perp_sim_state(sim, &t, &q, &v);
  const double fall = g * 0.75 * 0.75 / 2;
  ok(fabs(v[nvb + up] + g * 0.75) < 1e-9 && fabs(q[nqb + up] + fall) < g * h * 0.75 / 2 + 1e-9,
     "... enabled at 0.5 s it falls: v = %.12g (%.12g), z = %.9g (%.9g)", v[nvb + up], -g * 0.75,
     q[nqb + up], -fall);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* It falls, stops at 0.4 s, and falls anew at 0.7 s. */
static void stops(const char *form)
{
  const double h = 1e-3, g = 9.81;
  perp_model *m = two(3, false, at(0.4), at(0.7));
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form }, h);
  double t, there[7];
  const double *q, *v;
  run_to(&ctx, sim, 0.4);
  perp_sim_state(sim, &t, &q, &v);
  memcpy(there, q + 7, sizeof there);
  ok(fabs(there[2] + g * 0.08) < g * h * 0.2 + 1e-9, "%s: it falls until 0.4 s: %.9g", form,
     there[2]);
  run_to(&ctx, sim, 0.7);
  perp_sim_state(sim, &t, &q, &v);
  double off = 0;
  for (int i = 0; i < 7; i++) off = fmax(off, fabs(q[7 + i] - there[i]));
  for (int i = 0; i < 6; i++) off = fmax(off, fabs(v[6 + i]));
  ok(off < 1e-10, "... stops there, turned as it is: off by %.3g", off);
  run_to(&ctx, sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  ok(fabs(v[8] + g * 0.3) < 1e-9 && fabs(v[11]) < 1e-12,
     "... and falls again from rest: v = %.12g (%.12g)", v[8], -g * 0.3);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* It falls, is disabled where it passes -1 m, and enabled as the other one passes -3 m. */
static void passed(const char *form)
{
  const double g = 9.81;
  perp_model *m = two(2, false, passes(1, 1, -1, -1), passes(0, 1, -3, 0));
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form }, 1e-3);
  double t;
  const double *q, *v;
  perp_step_info info = { .reason = PERP_EXACT };
  do {
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  } while (t < 1 && info.reason >= 0);
  const double stop = sqrt(2 / g), go = sqrt(6 / g);
  ok(info.n_releases == 2 && info.release[0].kind == PERP_RELEASE_DISABLED &&
         info.release[1].kind == PERP_RELEASE_ENABLED && fabs(info.release[0].t - stop) < 1e-3 &&
         fabs(info.release[1].t - go) < 1e-3,
     "%s: disabled at %.6g s (%.6g), enabled at %.6g s (%.6g)", form,
     info.n_releases > 0 ? info.release[0].t : -1, stop,
     info.n_releases > 1 ? info.release[1].t : -1, go);
  ok(info.n_releases == 2 && fabs(v[4] + g * (1 - info.release[1].t)) < 1e-9 &&
         fabs(q[4] + 1 + g * pow(1 - info.release[1].t, 2) / 2) < 5e-3,
     "... held at -1 m meanwhile: now %.6g m, %.6g m/s", q[4], v[4]);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A ball that is thrown up is disabled where it passes 1 m on its way down; beside it a body goes
 * to and fro as a motion prescribes, which the stop leaves alone. */
static void comes_down(const char *form)
{
  const double g = 9.81, speed = 5, stop = (speed + sqrt(speed * speed - 2 * g)) / g, t_end = 1;
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = 0.5, .rate = 2 };
  const perp_disabled_def def = { .body = 1, .from = passes(1, 1, 1, -1), .until = at(HUGE_VAL) };
  perp_motion_def swings = { .body = 0, .sets_velocity = true };
  perp_model *m = run_model(&ctx, 2);
  for (int i = 0; i < 2; i++)
    run_body(&ctx, m,
             (perp_body_def){
                 .mass = perp_mass_sphere(1, 0.1), .x = { 2.0 * i }, .v = { 0, i * speed } });
  if (perp_model_add_signal(&ctx, m, &sine, &swings.x_signal[0]) != PERP_OK ||
      perp_model_add_motion(&ctx, m, &swings, NULL) != PERP_OK ||
      perp_model_add_disabled(&ctx, m, &def, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form, .stab = "none" }, 1e-3);
  perp_step_info info = { .n_releases = 0 };
  double t = 0, when = (double)NAN;
  const double *q, *v;
  while (t < t_end - 1e-9) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.n_releases > 0) when = info.release[0].t;
  }
  near(when, stop, 2e-3, 0, "%s: disabled on its way down", form);
  near(q[0], 0.5 * sin(2 * t_end), 1e-3, 0, "%s: another one goes on as prescribed", form);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* An elastic ball meets an equal one that waits for a contact: they exchange their velocities.  One
 * that stays disabled throws it back.  One that waits and is not met stays. */
static void hit(const char *form, bool wakes)
{
  perp_model *m = run_model(&ctx, 2);
  perp_model_gravity(m, 0);
  for (int i = 0; i < 3; i++) {
    const perp_body_def b = { .mass = perp_mass_sphere(1, 0.1),
                              .x = { i == 0 ? 0 : 1, i == 2 ? 1 : 0 },
                              .v = { i == 0 ? 2 : 0 } };
    const perp_shape_def s = {
      .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.1, .surface = { .restitution = 1 }
    };
    if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &s, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  for (int i = 1; i < 3; i++) {
    const perp_disabled_def def = { .body = i,
                                    .until = wakes ? (perp_cue){ .kind = PERP_CUE_CONTACT }
                                                   : at(HUGE_VAL) };
    if (perp_model_add_disabled(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form }, 1e-3);
  double t;
  const double *q, *v;
  perp_step_info info = { .reason = PERP_EXACT };
  do {
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  } while (t < 1 && info.reason >= 0);
  if (wakes)
    ok(info.n_releases == 1 && fabs(info.release[0].t - 0.4) < 2e-3 && fabs(v[0]) < 1e-9 &&
           fabs(v[3] - 2) < 1e-9 && fabs(q[3] - 2.2) < 4e-3 && q[6] == 1 && v[6] == 0,
       "%s: a contact enables the ball, and moves it: v = %.9g and %.9g (0 and 2 m/s)", form, v[0],
       v[3]);
  else
    ok(info.n_releases == 0 && fabs(v[0] + 2) < 1e-9 && fabs(q[3] - 1) < 1e-12,
       "%s: a disabled ball throws another one back as a wall does: v = %.9g (-2 m/s)", form, v[0]);
  ok(perp_sim_contacts(sim) == NULL || perp_sim_contacts(sim)->problems > 0,
     "... and problems before a switch count");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A double pendulum in the plane, two rods of length 1 that lie to the right.  The outer one is
 * disabled at first: nothing moves; then the inner one is disabled from the start for good and the
 * outer one swings alone as a simple rod. */
static perp_model *rods(int held, perp_cue from, perp_cue until, double w)
{
  perp_model *m = run_model(&ctx, 2);
  for (int i = 0; i < 2; i++) {
    perp_body_def b = { .mass = perp_mass_box(1, 1, 0.01, 0.01), .x = { i + 0.5 } };
    b.mass.inertia[8] = 1.0 / 12;
    b.w[2] = w;
    b.v[1] = w * b.x[0];
    const perp_joint_def j = { .kind = PERP_JOINT_BALL,
                               .a = i - 1,
                               .b = i,
                               .anchor_a = { i == 0 ? 0 : 0.5 },
                               .anchor_b = { -0.5 } };
    if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK ||
        perp_model_add_joint(&ctx, m, &j, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  const perp_disabled_def def = { .body = held, .from = from, .until = until };
  if (perp_model_add_disabled(&ctx, m, &def, NULL) != PERP_OK ||
      perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  return m;
}

static void pendulum(const char *form)
{
  const double g = 9.81;
  double t;
  const double *q, *v;
  perp_model *m = rods(0, at(0), at(HUGE_VAL), 0);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ form }, 1e-4);
  run_to(&ctx, sim, 0.3);
  perp_sim_state(sim, &t, &q, &v);
  /* w^2 = 3 g sin(angle) of a rod that is let go from the horizontal */
  ok(fabs(q[2]) < 1e-9 && q[5] < -0.3 &&
         fabs(v[5] * v[5] - 3 * g * sin(-q[5])) < 5e-3 * v[5] * v[5],
     "%s: on a disabled rod the other one swings by itself: w^2 = %.6g (%.6g)", form, v[5] * v[5],
     3 * g * sin(-q[5]));
  perp_sim_destroy(sim);
  perp_model_destroy(m);

  /* both turn as one, without weight; the inner one is disabled: the outer one keeps its angular
   * momentum about the joint, m v r + I w = 1.5 w / 2 + w / 12 = w' / 3 */
  m = rods(0, at(0.1), at(HUGE_VAL), 1);
  perp_model_gravity(m, 0);
  sim = run_start(&ctx, m, (run_parts){ form }, 1e-4);
  perp_reason reason = run_to(&ctx, sim, 0.11);
  perp_sim_state(sim, &t, &q, &v);
  ok(reason >= 0 && fabs(v[2]) < 1e-9 && fabs(v[5] - 2.5) < 5e-3,
     "%s: a stop is a plastic impact for what is joined: w = %.6g (2.5)", form, v[5]);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

static void refused_model(perp_disabled_def def, bool moves, const char *word)
{
  perp_model *m = run_model(&ctx, 2);
  perp_body_def b = { .name = "ball", .mass = perp_mass_sphere(1, 0.1) };
  if (moves) b.v[0] = 1;
  if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK) bail("%s", ctx.msg);
  perp_status status = perp_model_add_disabled(&ctx, m, &def, NULL);
  if (status == PERP_OK) status = perp_model_finish(&ctx, m);
  ok(status == PERP_ERR_ARG && strstr(ctx.msg, word) != NULL, "refused: %s", ctx.msg);
  perp_model_destroy(m);
}

static void refused(void)
{
  const perp_cue never = at(HUGE_VAL), touch = { .kind = PERP_CUE_CONTACT };
  refused_model((perp_disabled_def){ 1, at(0), never }, false, "does not exist");
  refused_model((perp_disabled_def){ 0, at(-1), never }, false, ">= 0");
  refused_model((perp_disabled_def){ 0, at(2), at(1) }, false, "later than");
  refused_model((perp_disabled_def){ 0, never, never }, false, "never disabled");
  refused_model((perp_disabled_def){ 0, touch, never }, false, "a contact enables");
  refused_model((perp_disabled_def){ 0, at(0), touch }, false, "no shape");
  refused_model((perp_disabled_def){ 0, at(0), never }, true, "has a velocity");
  refused_model((perp_disabled_def){ 0, at(0), passes(1, 0, 0, 1) }, false, "does not exist");
  refused_model((perp_disabled_def){ 0, at(0), passes(0, 6, 0, 1) }, false, "coordinate 6");
  perp_model *m = two(3, false, at(0), at(0.5));
  run_refused(&ctx, m, (run_parts){ "reduced" }, "disabled");
  run_refused(&ctx, m, (run_parts){ "penalty" }, "disabled");
  run_refused(&ctx, m, (run_parts){ "velocity-implicit" }, "disabled");
  run_refused(&ctx, m, (run_parts){ "groups" }, "disabled");
  run_refused(&ctx, m, (run_parts){ "xpbd" }, "disabled");
  run_refused(&ctx, m, (run_parts){ "point-mass" }, "disabled");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; forms[i] != NULL; i++) {
    if (!known(forms[i])) continue;
    falls(forms[i], 3, false);
    falls(forms[i], 2, false);
    falls(forms[i], 3, true);
    stops(forms[i]);
    passed(forms[i]);
    pendulum(forms[i]);
  }
  comes_down("velocity");
  comes_down("acceleration");
  static const char *const contacts[] = { "velocity", "velocity-midpoint", "acceleration",
                                          "impulse", NULL };
  for (int i = 0; contacts[i] != NULL; i++) {
    hit(contacts[i], true);
    hit(contacts[i], false);
  }
  refused();
  return tap_done();
}
