/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauges on states made by hand, whose figure is known: what they leave out (before their time,
 * after it, other quantities), and which state, step or event they take. */
#include "models/models.h"
#include "models/scenes/truths.h"
#include "tests/tap.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static const perp_step_info none = { .reason = PERP_EXACT };

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, scene) != PERP_OK) bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static void sample(const perp_gauge *g, double t, const double *q, const double *v,
                   const perp_step_info *info)
{
  g->sample(g->user, t, q, v, info);
}

/* The gauge of the scene with this metric, of a new run. */
static const perp_gauge *gauge(const perp_scene *s, const char *metric)
{
  for (int i = s->n_gauges - 1; i >= 0; i--)
    if (strcmp(s->gauge[i].metric, metric) == 0) {
      if (s->gauge[i].restart != NULL) s->gauge[i].restart(s->gauge[i].user);
      return &s->gauge[i];
    }
  bail("no gauge %s", metric);
}

static double value_of(const perp_gauge *g)
{
  return g->value(g->user);
}

/* ---- shared gauges, on a particle in the plane ---- */

static bool never(const void *user, int k, const double *q, const double *v, const double *before)
{
  (void)user, (void)k, (void)q, (void)v, (void)before;
  return false;
}

static double asked; /* time at which the exact force was asked for */

static void force_at(const void *user, double t, double exact[3])
{
  (void)user;
  asked = t;
  exact[0] = exact[1] = exact[2] = 0;
}

static void shared(void)
{
  perp_scene s;
  open_scene("pendulum:dim=2", &s);
  double q[3] = { 7, 7 }, v[3] = { 0 };

  /* from (0, 0) at 1 s to (3, 4) at 2 s, whatever is before, between and behind */
  if (perp_gauge_accel(&ctx, &s, 0, (const double[3]){ 3, 0, 4 }, 1, 1, 2) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_gauge *g = gauge(&s, "accel.rel.err");
  for (int i = 0; i <= 6; i++) {
    v[0] = i == 4 ? 3 : i == 2 ? 0 : 50;
    v[1] = i == 4 ? 4 : i == 2 ? 0 : -70;
    sample(g, 0.5 * i, q, v, NULL);
  }
  near(value_of(g), 0, 1e-15, 0, "acceleration: between its two times");

  v[0] = v[1] = 0;
  if (perp_gauge_rest(&ctx, &s, 0, 1, 1, 0.5) != PERP_OK) bail("%s", ctx.msg);
  g = gauge(&s, "pose.drift.max");
  sample(g, 0.25, q, v, NULL);
  q[0] = 1;
  sample(g, 0.5, q, v, &none);
  q[0] = 1.25;
  sample(g, 1, q, v, &none);
  near(value_of(g), 0.25, 1e-15, 0, "rest: from its time on");

  if (perp_gauge_places(&ctx, &s, 1, (const double[3]){ 1, 9, 7 }) != PERP_OK) bail("%s", ctx.msg);
  g = gauge(&s, "statics.err.max");
  sample(g, 0, q, v, NULL);
  q[0] = 1, q[1] = 7.125;
  sample(g, 1, q, v, &none);
  near(value_of(g), 0.125, 1e-15, 0, "places: of the last state");

  /* steps of 0.5 s: 5 N from the floor, 7 N and 1 N as parts of 8 N; and an early step without */
  perp_contact contact[3] = { { .body = { PERP_WORLD, 0 }, .n = { 0, 1 } },
                              { .body = { 1, 0 }, .n = { 0, 1 } },
                              { .body = { 2, 0 }, .n = { 0, 1 } } };
  const double impulse[9] = { 0, 2.5, 0, 0, 3.5, 0, 0, 0.5, 0 };
  const perp_step_info info = {
    .reason = PERP_EXACT, .n_contacts = 3, .contacts = contact, .impulse = impulse
  };
  const perp_force_truth truths[3] = { { PERP_WORLD, 0, 5 }, { 0, 1, nan("") }, { 0, 2, 8 } };
  if (perp_gauge_force(&ctx, &s, 3, truths, 1, 0.5) != PERP_OK) bail("%s", ctx.msg);
  g = gauge(&s, "force.rel.err");
  sample(g, 0, q, v, NULL);
  sample(g, 0.5, q, v, &none);
  ok(isnan(value_of(g)), "forces: none before their time");
  sample(g, 1, q, v, &info);
  near(value_of(g), 0, 1e-15, 0, "forces: each on its own, parts added");

  if (perp_gauge_events(&ctx, &s, 1, (const double[1]){ 1 }, 0.125, never, &s, 0) != PERP_OK)
    bail("%s", ctx.msg);
  g = gauge(&s, "event.err");
  sample(g, 1.0625, q, v, NULL);
  ok(isnan(value_of(g)), "events: one that may still come is not missed");
  sample(g, 1.25, q, v, &none);
  ok(value_of(g) == HUGE_VAL, "events: one that is late is missed");

  if (perp_gauge_release(&ctx, &s, 1) != PERP_OK) bail("%s", ctx.msg);
  g = gauge(&s, "event.err");
  sample(g, 0.5, q, v, NULL);
  ok(isnan(value_of(g)), "release: it may still come");
  sample(g, 1.5, q, v, &none);
  ok(value_of(g) == HUGE_VAL, "release: it is missed");
  const perp_release at = { .t = 1.25 };
  const perp_step_info released = { .reason = PERP_EXACT, .n_releases = 1, .release = &at };
  sample(g, 2, q, v, &released);
  near(value_of(g), 0.25, 1e-15, 0, "release: its time");
  perp_scene_destroy(&s);
}

/* The force of the strut of a pendulum that points from 60 degrees below the horizontal; the time
 * that it belongs to. */
static void reaction(void)
{
  static const struct {
    perp_forces_time when;
    double t;
  } rows[] = { { PERP_FORCES_AT_START, 1 },
               { PERP_FORCES_AT_STATE, 1.5 },
               { PERP_FORCES_MEAN, 1.25 },
               { PERP_FORCES_MEAN_MIDDLE, 1.25 } };
  perp_scene s;
  open_scene("pendulum:dim=2,amplitude=30deg", &s);
  const double *q = perp_model_q0(s.model), *v = perp_model_v0(s.model), lambda[1] = { 3 };
  if (perp_gauge_reaction(&ctx, &s, 0, force_at, &s, 0, 1, 0) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const perp_step_info info = { .lambda = lambda, .forces_time = rows[i].when };
    const perp_gauge *g = gauge(&s, "force.rel.err");
    sample(g, 1, q, v, NULL);
    sample(g, 1.5, q, v, &info);
    near(asked, rows[i].t, 0, 0, "reaction: time %g of the step from 1 s to 1.5 s", rows[i].t);
    near(value_of(g), 3, 1e-14, 0, "reaction: all of it is wrong");
  }
  perp_scene_destroy(&s);
}

/* ---- tables ---- */

static void tables(void)
{
  char path[] = "/tmp/perp-table-XXXXXX";
  const int file = mkstemp(path);
  FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
  if (out == NULL) bail("no temporary file");
  fputs("t [ms], pendulum.x [mm], uncertainty\n500, 125, 0.03\n1000, 1000, 0.01\n", out);
  fclose(out);
  perp_data data;
  if (perp_data_read(&ctx, path, &data) != PERP_OK) bail("%s", ctx.msg);
  near(data.uncertainty, 0.03, 0, 0, "table: the largest uncertainty of its rows");
  near(data.x[0], 0.5, 0, 1e-15, "table: the first row in seconds");
  if (perp_data_si(&ctx, &data, 1, "m") != PERP_OK) bail("%s", ctx.msg);
  near(data.x[1], 0.125, 0, 1e-15, "table: the first row in metres");
  near(data.x[4], 1, 0, 1e-15, "table: the second one");
  perp_data_free(&data);
  remove(path);
}

/* An event at 1.5 s of a coordinate that passes 0.5 in the step from 1 s to 2 s with an impact in
 * it, at constant rates before and behind it: from 1 downwards, or from -1 upwards, before the
 * impact; the mirror images behind it.  And one that is missed. */
static void events_of_a_step(void)
{
  perp_scene s;
  open_scene("pendulum:dim=2", &s);
  for (int k = 0; k < 4; k++) {
    const double sign = k % 2 == 0 ? 1 : -1, value = 0.5 * sign, due = k < 2 ? 1.5 : 1.95;
    const perp_event event = { .body = 0, .k = 0, .value = value };
    const int which = 0;
    if (perp_gauge_event_times(&ctx, &s, 1, &event, 1, &due, &which, 0.125) != PERP_OK)
      bail("%s", ctx.msg);
    const perp_gauge *g = gauge(&s, "event.err");
    for (int i = 0; i < 3; i++) {
      const double x[3] = { 2, 1, k < 2 ? 0.25 : 0.75 }, rate[3] = { -1, -1, 1 };
      const double q[3] = { sign * x[i] }, v[3] = { sign * rate[i] };
      sample(g, i, q, v, i > 0 ? &none : NULL);
    }
    if (k < 2)
      near(value_of(g), 0, 1e-14, 0, "events: passed before an impact, %s", k == 0 ? "down" : "up");
    else
      ok(isnan(value_of(g)), "events: within the slack of the end none is missed");
  }
  perp_scene_destroy(&s);
}

/* ---- gauges of single scenes ---- */

/* Implicit Euler for m x'' = -k x - d x', its equation solved by fixed-point iterations. */
static void soft(void)
{
  perp_scene s;
  open_scene("soft:mass=2,stiffness=50,damping=6", &s);
  const perp_gauge *g = gauge(&s, "path.err.max");
  double q[7] = { 0, 0, 0, 1 }, v[6] = { 0 }, t = 0;
  memcpy(q, perp_model_q0(s.model), sizeof q);
  sample(g, t, q, v, NULL);
  for (int k = 0; k < 40; k++) {
    const double h = k % 2 == 0 ? 0.01 : 0.02, before = v[0];
    for (int i = 0; i < 60; i++) v[0] = before - h / 2 * (50 * (q[0] + h * v[0]) + 6 * v[0]);
    q[0] += h * v[0];
    sample(g, t += h, q, v, &none);
  }
  below(value_of(g), 1e-14, "soft: the discrete oscillator");
  perp_scene_destroy(&s);
}

/* Jellett's constant of a top that spins by 10 % more, then as before, against that of the start */
static void tippe_top(void)
{
  perp_scene s;
  open_scene("tippe-top", &s);
  const perp_gauge *g = gauge(&s, "invariant.rel.max");
  double v[6];
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 6; i++) v[i] = (k == 1 ? 1.1 : 1) * perp_model_v0(s.model)[i];
    sample(g, k, perp_model_q0(s.model), v, k > 0 ? &none : NULL);
  }
  near(value_of(g), 0.1, 1e-14, 0, "tippe-top: change from the start");
  perp_scene_destroy(&s);
}

/* The block stops for good at 2.5 s, not where it turned before nor at the states behind. */
static void coulomb_oscillator(void)
{
  perp_scene s;
  open_scene("coulomb-oscillator:dim=2", &s);
  const perp_gauge *g = gauge(&s, "event.err");
  for (int k = 0; k <= 8; k++) {
    const double v[3] = { k == 2 || k >= 5 ? 0 : 1 };
    sample(g, 0.5 * k, perp_model_q0(s.model), v, k > 0 ? &none : NULL);
  }
  /* ten half swings of 2 pi / 10 s, as (0.2 - x_f) / (2 x_f) = 9.7 */
  near(value_of(g), M_PI - 2.5, 1e-14, 0, "coulomb-oscillator: when it stops");
  perp_scene_destroy(&s);
}

/* 0.125 m away from the mirror image, in each direction */
static void cloth(void)
{
  perp_scene s;
  open_scene("cloth:side=4", &s);
  double q[7 * 16];
  for (int c = -1; c < 3; c++) {
    const perp_gauge *g = gauge(&s, "symmetry.err.max");
    memcpy(q, perp_model_q0(s.model), sizeof q);
    if (c >= 0) q[7 * 6 + c] += 0.125;
    sample(g, 0, q, perp_model_v0(s.model), NULL);
    near(value_of(g), c < 0 ? 0 : 0.125, 1e-15, 0, "cloth: one particle aside, axis %d", c);
  }
  perp_scene_destroy(&s);
}

/* A bead on the ramp is released after a quarter of a period, 2 pi sqrt(4 r / g). */
static void ramp(void)
{
  perp_scene s;
  open_scene("bead:track=ramp,radius=0.5,gravity=4", &s);
  const perp_release at = { .t = M_PI_2 * sqrt(4 * 0.5 / 4) };
  const perp_step_info released = { .reason = PERP_EXACT, .n_releases = 1, .release = &at };
  const perp_gauge *g = gauge(&s, "event.err");
  sample(g, 3, perp_model_q0(s.model), perp_model_v0(s.model), &released);
  near(value_of(g), 0, 1e-15, 0, "bead: it leaves the ramp at its end");
  perp_scene_destroy(&s);
}

/* The weight of jammed balls is asked for when they have come to rest. */
static void jam(void)
{
  perp_scene s;
  open_scene("jam:side=2,dim=2,mass=0.5,gravity=4", &s);
  const perp_gauge *g = gauge(&s, "force.rel.err");
  perp_contact contact = { .body = { PERP_WORLD, 0 }, .n = { 0, 1 } };
  const double impulse[3] = { 0, 0.25 * 4 * 0.5 * 4, 0 };
  const perp_step_info info = {
    .reason = PERP_EXACT, .n_contacts = 1, .contacts = &contact, .impulse = impulse
  };
  static const double times[] = { 0, 0.0625, 0.3125, 0.5625 };
  for (int k = 0; k < 4; k++)
    sample(g, times[k], perp_model_q0(s.model), perp_model_v0(s.model), k > 0 ? &info : NULL);
  near(value_of(g), 0, 1e-14, 0, "jam: weight of four balls, after 0.1 s");
  perp_scene_destroy(&s);
}

/* Rest and forces of structures are judged from their time on. */
static void settling(void)
{
  static const char *const scenes[] = { "stack:boxes=2,settle=0.5",
                                        "wall:rows=1,columns=1,settle=0.5",
                                        "pyramid:rows=1,settle=0.5" };
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    perp_scene s;
    open_scene(scenes[k], &s);
    const double *q = perp_model_q0(s.model), *v = perp_model_v0(s.model);
    const perp_gauge *rest = gauge(&s, "pose.drift.max"), *force = gauge(&s, "force.rel.err");
    for (int i = 0; i < 2; i++) {
      sample(rest, 0.375 * i, q, v, i > 0 ? &none : NULL);
      sample(force, 0.375 * i, q, v, i > 0 ? &none : NULL);
    }
    ok(isnan(value_of(rest)) && isnan(value_of(force)), "%s: no figure before", scenes[k]);
    sample(rest, 0.5, q, v, &none);
    near(value_of(rest), 0, 0, 0, "%s: at rest", scenes[k]);
    perp_scene_destroy(&s);
  }
}

/* An apex between two samples of which the later is lower. */
static void apex(void)
{
  perp_scene s;
  open_scene("bouncing-ball:dim=2,e=0.5,height=1,radius=0.1", &s);
  const perp_gauge *g = gauge(&s, "apex.rel.err");
  static const double gap[] = { 1, 0.1, 0, 0.25, 0.125 }, speed[] = { 0, -4, 2, 0.1, -1 };
  const perp_gauge *first = NULL;
  for (int i = 0; i < s.n_gauges; i++)
    if (s.gauge[i].user == g->user && s.gauge[i].sample != NULL) first = &s.gauge[i];
  for (int k = 0; k < 5; k++) {
    const double q[3] = { 0, 0.1 + gap[k] }, v[3] = { 0, speed[k] };
    sample(first, 0.1 * k, q, v, NULL);
  }
  near(value_of(g), 0, 1e-14, 0, "bouncing-ball: the highest point of a bounce");
  perp_scene_destroy(&s);
}

/* A rod falls from the horizontal: theta'' = m g L / (2 I) cos theta, by the classical Runge-Kutta
 * method with steps of 0.1 ms, until the limit is passed; its moment of inertia is that of a box a
 * tenth as thick as long, about its end. */
static void stop(void)
{
  perp_scene s;
  open_scene("stop:length=2,angle=1.2,mass=3,gravity=5", &s);
  const perp_gauge *g = gauge(&s, "event.err");
  const double limit = 1.2, w2 = 5.0 / (4 * (1 + 0.01) / 12.0 + 1), h = 1e-4;
  double x[2] = { 0 }, before = 0, t = 0;
  for (; x[0] < limit; t += h) {
    double k[5][2] = { 0 };
    for (int i = 1; i <= 4; i++) {
      const double part = i == 1 ? 0 : i == 4 ? h : h / 2;
      k[i][0] = x[1] + part * k[i - 1][1];
      k[i][1] = w2 * cos(x[0] + part * k[i - 1][0]);
    }
    before = x[0];
    for (int c = 0; c < 2; c++) x[c] += h / 6 * (k[1][c] + 2 * k[2][c] + 2 * k[3][c] + k[4][c]);
  }
  t -= h * (x[0] - limit) / (x[0] - before);
  const double up[7] = { 0, 0, 0, 1 }, down[7] = { 0, 0, 0, cos(0.6), 0, sin(0.6) }, v[6] = { 0 };
  sample(g, 0, up, v, NULL);
  sample(g, t, down, v, &none);
  below(value_of(g), 1e-8, "stop: time of the fall");
  perp_scene_destroy(&s);
}

/* A motor that is weaker than friction moves nothing. */
static void pusher(void)
{
  perp_scene s;
  open_scene("pusher:force=1", &s);
  const perp_gauge *g = gauge(&s, "accel.rel.err");
  sample(g, 0, perp_model_q0(s.model), perp_model_v0(s.model), NULL);
  sample(g, 1, perp_model_q0(s.model), perp_model_v0(s.model), &none);
  near(value_of(g), 0, 0, 0, "pusher: it sticks");
  perp_scene_destroy(&s);
}

/* A sliding rod that turns: the contact force (-mu, 1) lambda that keeps the normal acceleration of
 * its lower end at zero, by Newton's and Euler's equations with the end carried along. */
static void painleve(void)
{
  perp_scene s;
  open_scene("painleve:theta=50deg,mu=0.4,spin=3,half=0.5,mass=2", &s);
  const perp_gauge *g = gauge(&s, "accel.rel.err");
  const double angle = 50 * M_PI / 180, r[2] = { 0.5 * cos(angle), -0.5 * sin(angle) };
  const double *v0 = perp_model_v0(s.model), w = v0[2], I = 2 * 0.25 / 3;
  double normal[2]; /* acceleration of the end for lambda = 0 and 1 */
  for (int k = 0; k < 2; k++) {
    const double turn = (r[0] + 0.4 * r[1]) * k / I;
    normal[k] = k / 2.0 - 9.81 + turn * r[0] - w * w * r[1];
  }
  const double lambda = normal[0] / (normal[0] - normal[1]);
  const double v[3] = { v0[0] - 0.4 * lambda / 2 * 1e-3, v0[1] + (lambda / 2 - 9.81) * 1e-3, w };
  sample(g, 0, perp_model_q0(s.model), v0, NULL);
  sample(g, 1e-3, perp_model_q0(s.model), v, &none);
  ok(lambda > 0 && fabs(w) > 2, "painleve: the contact is active and the rod turns");
  below(value_of(g), 1e-11, "painleve: acceleration of a rod that slides and turns");
  perp_scene_destroy(&s);
}

/* Velocity of the contact (along the floor, across it) and work of the normal force of a rod-impact
 * in small steps of the normal impulse with Coulomb friction (Routh): the end at Stronge's work.
 * Chatterjee and Ruina: their impulse is on the line from that without friction to that of
 * sticking, and on the edge of the cone of friction. */
static void rod_impact(void)
{
  static const char *const rows[] = { "law=stronge,mu=0.2,e=0.6,slide=0.3",
                                      "law=stronge,mu=1.5,e=0.6,slide=0.7",
                                      "law=stronge,mu=0.1,e=0.8,slide=-0.05",
                                      "law=chatterjee-ruina,mu=0.1,e=0.6,slide=2",
                                      "law=chatterjee-ruina,mu=0.3,e=0.9,slide=-2" };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    char text[120];
    double mu, e, slide;
    snprintf(text, sizeof text, "rod-impact:theta=50deg,%s", rows[k]);
    if (sscanf(strstr(rows[k], "mu="), "mu=%lf,e=%lf,slide=%lf", &mu, &e, &slide) != 3) bail("row");
    perp_scene s;
    open_scene(text, &s);
    const double *v0 = perp_model_v0(s.model), angle = 50 * M_PI / 180;
    const double r[2] = { cos(angle), -sin(angle) };
    /* u = v + w x r, of unit mass, half length and I = 1/3; columns by (p_t, p_n) */
    const double A[2][2] = { { 1 + 3 * r[1] * r[1], -3 * r[0] * r[1] },
                             { -3 * r[0] * r[1], 1 + 3 * r[0] * r[0] } };
    const double u0[2] = { v0[0] - v0[2] * r[1], v0[1] + v0[2] * r[0] };
    double p[2] = { 0 }, u[2] = { u0[0], u0[1] };
    if (k < 3) {
      const double d = 1e-6;
      double work = 0, compression = 0;
      bool back = false;
      while (!back || work < e * e * compression) {
        const double hold = -A[0][1] / A[0][0]; /* dp_t / dp_n that keeps it from sliding */
        const double slip = fabs(u[0]) > 3e-6  ? -copysign(mu, u[0])
                            : fabs(hold) <= mu ? hold - u[0] / (A[0][0] * d)
                                               : copysign(mu, hold);
        const double along = fmin(fmax(slip, -mu), mu), before = u[1];
        p[0] += along * d, p[1] += d;
        u[0] += (A[0][0] * along + A[0][1]) * d, u[1] += (A[1][0] * along + A[1][1]) * d;
        const double done = 0.5 * (before + u[1]) * d;
        work += done;
        if (!back && u[1] >= 0) back = true, compression = -work, work = 0;
      }
    } else {
      const double det = A[0][0] * A[1][1] - A[0][1] * A[0][1];
      const double slick = -u0[1] / A[1][1],
                   stick[2] = { (A[0][1] * u0[1] - A[1][1] * u0[0]) / det,
                                (A[0][1] * u0[0] - A[0][0] * u0[1]) / det };
      double lo = 0, hi = 1;
      for (int i = 0; i < 60; i++) {
        const double part = (lo + hi) / 2;
        p[1] = (1 + e) * slick + part * (stick[1] - slick), p[0] = part * stick[0];
        *(fabs(p[0]) <= mu * p[1] ? &lo : &hi) = part;
      }
      ok(hi < 1, "%s: it slides", text);
    }
    const double v[3] = { v0[0] + p[0], v0[1] + p[1], v0[2] + 3 * (r[0] * p[1] - r[1] * p[0]) };
    const perp_gauge *g = gauge(&s, "impact.rel.err");
    sample(g, s.t_end, perp_model_q0(s.model), v, NULL);
    below(value_of(g), k < 3 ? 1e-4 : 1e-12, "%s", text);
    perp_scene_destroy(&s);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  shared();
  reaction();
  tables();
  events_of_a_step();
  soft();
  tippe_top();
  coulomb_oscillator();
  cloth();
  ramp();
  jam();
  settling();
  apex();
  stop();
  pusher();
  painleve();
  rod_impact();
  return tap_done();
}
