/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics: the table, and each definition on states made by hand. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static double value(const perp_measure *m, const char *name)
{
  const perp_metric_desc *d = (const perp_metric_desc *)perp_find(&ctx, PERP_KIND_metric, name);
  if (d == NULL) bail("no metric %s", name);
  return d->value(m);
}

static void open_scene(const char *text, perp_scene *scene, perp_measure **m)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, scene) != PERP_OK) bail("%s", ctx.msg);
  perp_spec_free(&spec);
  if (perp_measure_create(&ctx, scene, m) != PERP_OK) bail("%s", ctx.msg);
}

static void close_scene(perp_scene *scene, perp_measure *m)
{
  perp_measure_destroy(m);
  perp_scene_destroy(scene);
}

static void table(void)
{
  static const char *const catalogue[] = {
    "drift.pos.max", "drift.vel.max",  "drift.acc.max", "drift.pos.pre",  "err.q.max",
    "err.v.max",     "lambda.err.max", "err.tip.max",   "energy.rel.max", "rhs.calls",
    "steps",         "iterations",     "time.cpu",      "time.step_us",
  };
  for (size_t i = 0; i < sizeof catalogue / sizeof *catalogue; i++)
    ok(perp_find(&ctx, PERP_KIND_metric, catalogue[i]) != NULL, "%s is known", catalogue[i]);
  const perp_desc *d, *e;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_metric, i)) != NULL; i++) {
    const perp_metric_desc *m = (const perp_metric_desc *)d;
    bool way = strcmp(m->better, "less") == 0 || strcmp(m->better, "more") == 0 ||
               m->better[0] == '\0';
    ok(d->summary[0] && m->unit != NULL && way && m->value != NULL,
       "%s: meaning, unit and direction", d->name);
    for (int j = 0; j < i; j++) {
      e = perp_plugin_at(&ctx, PERP_KIND_metric, j);
      if (strcmp(d->name, e->name) == 0) ok(false, "%s is listed once", d->name);
    }
  }
}

/* a pendulum of 1 kg and 1 m in the plane: one distance row, C = |x| - 1 */
static void pendulum(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("pendulum", &s, &m);
  const double q[4][3] = {
    { -1, 0, 0 }, { 0.6, -0.8, 0 }, { 0.6 * 1.01, -0.8 * 1.01, 0 }, { 0, -1, 0 }
  };
  const double v[4][3] = { { 0, 0, 0 }, { 0.8, 0.6, 0 }, { 0.6, -0.8, 0 }, { 2, 0, 0 } };
  perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = 0.03 };

  perp_measure_state(m, 0, q[0], v[0], NULL);
  near(value(m, "drift.pos.max"), 0, 0, 0, "C = 0 at the start");
  perp_measure_state(m, 0.1, q[1], v[1], &info);
  near(value(m, "drift.pos.pre"), 0.03, 0, 0, "the error before the post-step is the step's word");
  info.drift_pos_pre = nan("");
  perp_measure_state(m, 0.2, q[2], v[2], &info);
  near(value(m, "drift.pos.max"), 0.01, 1e-15, 0, "largest |C|");
  near(value(m, "drift.pos.pre"), 0.03, 0, 0, "without a word it is the error after: 0.01 < 0.03");
  near(value(m, "drift.vel.max"), 1, 1e-15, 0, "|J v| of a purely radial velocity of 1 m/s");
  near(value(m, "drift.pos.mean"), 0.01 / 3, 1e-15, 0, "mean over three states and one joint");
  ok(isnan(value(m, "drift.acc.max")), "no multipliers, no acceleration error");
  ok(isnan(value(m, "err.q.max")) && isnan(value(m, "err.tip.max")), "nothing compared, no error");

  /* energies: 0; 0.5 - 0.8 g; 0.5 - 0.808 g.  max T = 0.5, range of V = 0.808 g */
  const double g = 9.81, worst = fmax(fabs(0.5 - 0.8 * g), fabs(0.5 - 0.808 * g));
  near(value(m, "energy.rel.max"), worst / (0.5 + 0.808 * g), 0, 1e-14,
       "energy error over its scale");

  /* truth: x is off by 0.02 m and 0.01 m, largest |x_ref| = 0.5; y is off by 0.1, largest 0.25; the
   * angle is zero in the truth and off by 0.003: in radians, as no angle of the truth moves */
  const double ref[2][3] = { { 0.5, -0.25, 0 }, { 0.1, 0.2, 0 } }, rest[3] = { 0, 0, 0 };
  const double x1[3] = { 0.52, -0.25, 0.003 }, x2[3] = { 0.11, 0.1, 0 };
  perp_measure_compare(&ctx, m, x1, rest, ref[0], rest);
  near(value(m, "err.tip.max"), 0.02, 1e-16, 0, "distance of the marked point");
  near(value(m, "err.q.max"), 0.02 / 0.5, 1e-16, 0, "error over the size of its column");
  perp_measure_compare(&ctx, m, x2, rest, ref[1], rest);
  near(value(m, "err.q.max"), 0.1 / 0.25, 1e-15, 0, "the worst column");
  near(value(m, "err.tip.max"), hypot(0.01, 0.1), 1e-15, 0, "largest distance");
  near(value(m, "err.tip.end"), hypot(0.01, 0.1), 1e-15, 0, "last distance");
  near(value(m, "err.v.max"), 0, 0, 0, "no error in v");

  /* a NaN is never forgotten */
  const double bad[3] = { nan(""), nan(""), 0 };
  perp_measure_state(m, 0.3, bad, v[3], &info);
  perp_measure_state(m, 0.4, q[3], v[3], &info);
  ok(isnan(value(m, "drift.pos.max")), "a NaN stays in drift.pos.max");
  ok(isnan(value(m, "energy.rel.max")), "a NaN stays in energy.rel.max");
  close_scene(&s, m);
}

/* Forces of joints: at theta from hanging a rod that starts at rest at theta_0 has the tension
 * m g (3 cos theta - 2 cos theta_0).  Multipliers of rigidity are those that a formulation reports.
 */
static void joint_forces(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("pendulum", &s, &m);
  const double start[3] = { -1, 0, 0 }, rest[3] = { 0 }, low[3] = { 0, -1, 0 };
  const double tension[2] = { -2, 7 }, rigidity[6] = { 0.1, -0.4, 0.2, 0, 0.03, -0.01 };
  perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = nan("") };
  perp_measure_state(m, 0, start, rest, NULL);
  ok(isnan(value(m, "joint.force.max")) && isnan(value(m, "rigidity.angle.max")),
     "no multipliers, no force of a joint");
  for (int i = 0; i < 2; i++) {
    info.lambda = &tension[i];
    info.rigidity = i == 0 ? rigidity : NULL;
    perp_measure_state(m, 0.1 * (i + 1), low, rest, &info);
  }
  near(value(m, "joint.force.max"), 7, 1e-15, 0, "the largest force");
  near(value(m, "joint.force.min"), 2, 1e-15, 0, "the smallest one");
  near(value(m, "rigidity.length.max"), 0.4, 0, 0, "the largest multiplier of a length");
  near(value(m, "rigidity.angle.max"), 0.03, 0, 0, "of an angle");
  close_scene(&s, m);
}

/* rod tension of the pendulum (IFToMM library A01) at t = 10 s, with 20 digits from its closed form
 */
static void multipliers(void)
{
  perp_scene s;
  perp_measure *m;
  double q[3], v[3];
  open_scene("pendulum", &s, &m);
  s.truth[0].state(s.truth[0].user, &ctx, 10, q, v);
  double lambda = -28.294567206067250641; /* C = |x| - L: pulled inwards, M a = f + J' lambda */
  perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = 0, .lambda = &lambda };
  perp_measure_state(m, 10, q, v, NULL);
  perp_measure_compare(&ctx, m, q, v, q, v);
  ok(isnan(value(m, "lambda.err.max")), "a multiplier is compared when the next step reports it");
  ok(isnan(value(m, "lambda.compared")), "... and not counted before");
  perp_measure_state(m, 10.001, q, v, &info);
  below(value(m, "lambda.err.max"), 1e-13, "the exact multiplier is the tension of the rod");
  near(value(m, "lambda.compared"), 1, 0, 0, "of one comparison");
  below(value(m, "drift.acc.max"), 1e-12, "with it the acceleration satisfies the constraint");
  perp_measure_compare(&ctx, m, q, v, q, v);
  lambda *= 1.01;
  perp_measure_state(m, 10.002, q, v, &info);
  near(value(m, "lambda.err.max"), 0.01, 1e-12, 0, "one per cent more is an error of 0.01");
  near(value(m, "lambda.compared"), 2, 0, 0, "of two comparisons");
  /* J M^-1 J' = 1: the acceleration is off by 1 % of the tension */
  near(value(m, "drift.acc.max"), 0.2829456720606725, 1e-11, 0,
       "and an acceleration error of that force");
  close_scene(&s, m);
}

/* forces of limits and contacts act on joints, and no state tells them */
static void multipliers_unknown(void)
{
  static const char *const scenes[] = { "stop", "dominoes" };
  for (int i = 0; i < 2; i++) {
    perp_scene s;
    perp_measure *m;
    open_scene(scenes[i], &s, &m);
    double q[256], v[256], lambda[256] = { 0 };
    if (perp_model_nq(s.model) > 256) bail("%s is large", scenes[i]);
    memcpy(q, perp_model_q0(s.model), (size_t)perp_model_nq(s.model) * sizeof *q);
    memcpy(v, perp_model_v0(s.model), (size_t)perp_model_nv(s.model) * sizeof *v);
    perp_step_info info = { .reason = PERP_EXACT, .lambda = lambda };
    perp_measure_state(m, 0, q, v, NULL);
    perp_measure_compare(&ctx, m, q, v, q, v);
    perp_measure_state(m, 0.001, q, v, &info);
    ok(isnan(value(m, "lambda.err.max")), "%s: no multipliers to compare with", scenes[i]);
    close_scene(&s, m);
  }
}

static void quaternions(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("free-body:preset=custom,vx=3,gravity=2", &s, &m);
  const double q[7] = { 0, 0, 0, 0.6, 0, 0.8, 0 }, minus[7] = { 0, 0, 0, -0.6, 0, -0.8, 0 };
  const double v[6] = { 1, 0, 0, 0, 2, 0 };
  perp_measure_state(m, 1, q, v, NULL);
  perp_measure_compare(&ctx, m, minus, v, q, v);
  near(value(m, "err.q.max"), 0, 0, 0, "q and -q are the same rotation");
  const double off[7] = { 0.004, 0, 0, 0.6, 0.004, 0.8, 0 };
  perp_measure_compare(&ctx, m, off, v, q, v);
  /* all positions of the truth are zero: metres; the x part of the quaternion is zero in the truth
   * and is divided by the largest part, 0.8 */
  near(value(m, "err.q.max"), 0.005, 1e-15, 0,
       "zero columns are divided by the largest of their kind");
  ok(isnan(value(m, "drift.pos.max")) && isnan(value(m, "err.tip.max")),
     "no joints, no marked point: not defined");

  /* momentum: P falls by m g t, L about the centre of mass stays */
  perp_measure *fresh;
  if (perp_measure_create(&ctx, &s, &fresh) != PERP_OK) bail("%s", ctx.msg);
  double moved[7] = { 3, 0, -1, 0.6, 0, 0.8, 0 }, falls[6] = { 1, 0, -2, 0, 2, 0 };
  perp_measure_state(fresh, 0, q, v, NULL);
  perp_measure_state(fresh, 1, moved, falls, NULL);
  below(value(fresh, "momentum.lin.max"), 1e-15, "free fall keeps P + m g t");
  below(value(fresh, "momentum.ang.max"), 1e-15, "and L about the centre of mass");
  falls[2] += 0.1;
  falls[4] += 0.2;
  perp_measure_state(fresh, 1, moved, falls, NULL);
  near(value(fresh, "momentum.lin.max"), 0.1 / sqrt(5), 1e-14, 0,
       "an error of P over the largest |P|");
  near(value(fresh, "momentum.ang.max"), 0.1 / 1.1, 1e-14, 0, "an error of L over the largest |L|");
  perp_measure_destroy(fresh);
  close_scene(&s, m);
}

/* A body of 2 kg that flies across: L about its own centre is that of its spin alone, wherever it
 * is. */
static void momentum_anywhere(void)
{
  static const double x[3] = { 1, 2, -3 }, u[3] = { 0.3, -0.7, 1.1 };
  perp_scene s;
  perp_measure *m;
  open_scene("free-body:preset=custom,mass=2,ix=1,iy=2,iz=2.5", &s, &m);
  for (int k = 0; k < 4; k++) {
    const double t = 0.5 * k;
    double q[7] = { 0, 0, 0, 1, 0, 0, 0 }, v[6] = { 0, 0, 0, 0, 0, 4 };
    for (int i = 0; i < 3; i++) q[i] = x[i] + t * u[i], v[i] = u[i];
    if (k == 3) v[3] = 3, v[1] += 0.25; /* L off by 3 of 10, P by 0.5 */
    perp_measure_state(m, t, q, v, NULL);
    if (k < 3) below(value(m, "momentum.ang.max"), 1e-14, "L of a body in flight, at %g s", t);
    if (k < 3) below(value(m, "momentum.lin.max"), 1e-15, "P of a body in flight, at %g s", t);
  }
  near(value(m, "momentum.ang.max"), 3 / sqrt(109), 1e-14, 0, "an error of its spin, over |L|");
  near(value(m, "momentum.lin.max"), 0.5 / (2 * sqrt(0.09 + 0.49 + 1.21)), 1e-14, 0,
       "an error of P over the largest |P|");
  close_scene(&s, m);
}

static void plain_problems(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("oscillator", &s, &m);
  const double q[1] = { 1 }, v[1] = { 0 }, q2[1] = { 0 }, v2[1] = { 1.1 }, exact[1] = { 1 };
  perp_measure_state(m, 0, q, v, NULL);
  perp_measure_state(m, 1, q2, v2, NULL);
  perp_measure_compare(&ctx, m, q2, v2, q2, exact);
  near(value(m, "energy.rel.max"), (0.605 - 0.5) / 0.605, 1e-14, 0, "energy of a plain problem");
  near(value(m, "err.v.max"), 0.1, 1e-14, 0, "error of a plain problem");
  close_scene(&s, m);
  open_scene("oscillator:zeta=0.5", &s, &m);
  perp_measure_state(m, 0, q, v, NULL);
  ok(isnan(value(m, "energy.rel.max")), "a damped problem has no energy error");
  close_scene(&s, m);
}

/* two cubes of 1 m and 1 kg in the plane, on each other */
static void contacts(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("stack:boxes=2,dim=2", &s, &m);
  double q[6], v[6] = { 0 };
  memcpy(q, perp_model_q0(s.model), sizeof q);
  perp_measure_state(m, 0, q, v, NULL);
  near(value(m, "pen.max"), 0, 1e-15, 0, "touching is no penetration");
  near(value(m, "energy.gain.rel"), 0, 0, 0, "no energy gained");
  q[1] -= 0.01, q[4] -= 0.03; /* 0.01 m into the floor, 0.02 m into each other */
  perp_measure_state(m, 0.1, q, v, NULL);
  near(value(m, "pen.max"), 0.02, 1e-14, 0, "the deepest pair");
  q[1] += 0.01, q[4] += 0.03;
  perp_measure_state(m, 0.2, q, v, NULL);
  near(value(m, "pen.max"), 0.02, 1e-14, 0, "and it stays");
  /* lifted by 0.04 m of 1 kg, m g each, over M g size + range of V + max T */
  const double g = 9.81;
  near(value(m, "energy.gain.rel"), 0.04 * g / (2 * g + 0.04 * g), 1e-14, 0,
       "energy above an earlier value");
  v[0] = 2; /* T = 2 J, above the least energy by 0.04 g + 2 */
  perp_measure_state(m, 0.3, q, v, NULL);
  near(value(m, "energy.gain.rel"), (0.04 * g + 2) / (2 * g + 0.04 * g + 2), 1e-14, 0,
       "kinetic energy counts");
  near(value(m, "pose.drift.max"), 0.03, 1e-14, 0, "gauges of the scene are sampled");
  ok(isnan(value(m, "accel.rel.err")), "a figure that the scene does not have is not defined");
  close_scene(&s, m);
  open_scene("press:dim=2", &s, &m);
  ok(isnan(value(m, "energy.gain.rel")), "driven scenes may gain energy");
  close_scene(&s, m);
  open_scene("pendulum", &s, &m);
  ok(isnan(value(m, "pen.max")) && isnan(value(m, "energy.gain.rel")),
     "without shapes there is no penetration");
  close_scene(&s, m);
}

/* A block of 1 kg that slides at 2 m/s, lifts at 0.1 m/s and turns at 3 rad/s, with impulses of two
 * contacts at its lower corners: friction of the one is half of what it should be, that of the
 * other half as much again.  A third one does not press. */
static void contact_laws(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("incline:theta=0.3,mu=0.5,dim=2", &s, &m);
  m->run.has_contacts = true;
  const double *q = perp_model_q0(s.model), still[3] = { 0 };
  perp_measure_state(m, 0, q, still, NULL);
  perp_contact x[3] = { { .body = { PERP_WORLD, 0 }, .n = { 0, 1 }, .mu_dynamic = 0.5 },
                        { .body = { PERP_WORLD, 0 }, .n = { 0, 1 }, .mu_dynamic = 0.5, .e = 1 },
                        { .body = { PERP_WORLD, 0 }, .n = { 0, 1 }, .mu_dynamic = 0.5 } };
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      x[i].p[k][0] = q[0] + (i == 0 ? -1 : 1);
      x[i].p[k][1] = q[1] - 0.5;
    }
  const double impulse[9] = { -0.25, 1, 0, -0.75, 1 }, v[3] = { 0.5, 0.1, 3 };
  const perp_step_info info = { .n_contacts = 3, .contacts = x, .impulse = impulse };
  perp_measure_state(m, 0.1, q, v, &info);
  /* at the corners u = (0.5 + 0.5 w, 0.1 -+ w) */
  near(value(m, "signorini.max"), 2.9, 1e-14, 0, "a contact that presses has no normal speed");
  const double kinetic = m->energy.kinetic_max;
  near(value(m, "dissipation.missing"), (0.25 * 2 + 0.25 * 2) / kinetic, 1e-14, 0,
       "friction takes mu N |u|, and too much of one is not too little of another");
  m->run.contacts.events = true;
  ok(isnan(value(m, "signorini.max")), "between events forces are none of a step");
  close_scene(&s, m);
}

/* The same of two cubes in space, one on the other, that meet in a corner: the lower one moves
 * there at (0.1, 0.2, 0.3) + (0, -0.5, 0.5) m/s, the upper one at (0.4, -0.1, 0.5) + (-1, 0, -1)
 * m/s. */
static void contact_laws_in_space(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("stack:boxes=2,edge=1,dim=3", &s, &m);
  m->run.has_contacts = true;
  const double *q = perp_model_q0(s.model), still[12] = { 0 };
  perp_measure_state(m, 0, q, still, NULL);
  const perp_contact x = {
    .body = { 0, 1 }, .n = { 0, 0, 1 }, .p = { { 0.5, 0.5, 1 }, { 0.5, 0.5, 1 } }, .mu_dynamic = 0.5
  };
  const double impulse[3] = { 0.3, 0, 1 },
               v[12] = { 0.1, 0.2, 0.3, 1, 0, 0, 0.4, -0.1, 0.5, 0, 2, 0 };
  const perp_step_info info = { .n_contacts = 1, .contacts = &x, .impulse = impulse };
  perp_measure_state(m, 0.1, q, v, &info);
  near(value(m, "signorini.max"), 1.3, 1e-14, 0, "in space: normal speed of two bodies");
  near(value(m, "dissipation.missing"), (0.5 * hypot(0.7, 0.2) - 0.21) / m->energy.kinetic_max,
       1e-14, 0, "in space: their slip");
  close_scene(&s, m);
}

/* Two bodies in the plane: x, y, angle of each.  Where the second one is still, its errors are
 * measured by what the first one does of that kind. */
static void two_bodies(void)
{
  perp_scene s;
  perp_measure *m;
  const double still[6] = { 0 }, ref[6] = { 2, 1, 0.5, 0, 0, 0.1 };
  static const struct {
    int i;
    double err;
  } known[] = { { 0, 0.01 / 2 }, { 1, 0.01 },     { 2, 0.01 / 0.5 },
                { 3, 0.01 / 2 }, { 4, 0.01 / 2 }, { 5, 0.01 / 0.1 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    double q[6];
    memcpy(q, ref, sizeof q);
    q[known[k].i] += 0.01;
    open_scene("double-pendulum:dim=2", &s, &m);
    if (k == 0) {
      perp_measure_compare(&ctx, m, ref, still, ref, still);
      ok(isnan(value(m, "err.q.max")), "a start that agrees with itself is no error of 0");
    }
    perp_measure_state(m, 1, q, still, NULL);
    perp_measure_compare(&ctx, m, q, still, ref, still);
    near(value(m, "err.q.max"), known[k].err, 1e-15, 0, "two bodies: coordinate %d is off by 0.01",
         known[k].i);
    close_scene(&s, m);
  }
}

/* What the runner has counted, each figure a number of its own: no metric reads another one's. */
static void counts(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("stack:boxes=2", &s, &m);
  ok(isnan(value(m, "groups.max")) && isnan(value(m, "groups.skipped")) &&
         isnan(value(m, "lcp.solved")) && isnan(value(m, "lcp.iters.mean")) &&
         isnan(value(m, "events.impacts")) && isnan(value(m, "h.stable")) &&
         isnan(value(m, "err.until")) && isnan(value(m, "time.restart.rel")),
     "nothing counted, not defined");
  m->run.ode = (perp_ode_counters){ .steps = 20,
                                    .rejected = 3,
                                    .bisections = 5,
                                    .rhs = 70,
                                    .iterations = 11,
                                    .h_least = 0.125,
                                    .h_most = 0.75 };
  m->run.kkt.iterations = 130;
  m->run.kkt.factorizations = 17;
  m->run.has_contacts = true;
  m->run.contacts = (perp_contact_count){ .problems = 40,
                                          .reused = 10,
                                          .solved = 15,
                                          .iterations = 90,
                                          .failures = 19,
                                          .swept = 23,
                                          .thrown = 29,
                                          .residual = 0.03125,
                                          .data = 0.0625,
                                          .rows = 31,
                                          .contacts = 37,
                                          .islands = 41,
                                          .impacts = 43,
                                          .switches = 47,
                                          .piled = 51,
                                          .critical = 53,
                                          .stopped = 59 };
  near(value(m, "rhs.bodies"), 140, 0, 0, "without groups each evaluation is of both bodies");
  ok(isnan(value(m, "events.impacts")) && isnan(value(m, "events.critical")) &&
         isnan(value(m, "events.bisections")),
     "no events but of event-driven formulations");
  m->run.contacts.events = true;
  m->run.has_groups = true;
  m->run.groups = (perp_group_count){ .most = 61,
                                      .merges = 67,
                                      .splits = 71,
                                      .advanced = 30,
                                      .undone = 73,
                                      .skipped = 10,
                                      .rhs_bodies = 79,
                                      .advance_s = 8,
                                      .restart_s = 2 };
  m->run.h_stable = 0.25;
  m->run.cpu_s = 83, m->run.step_us = 89, m->run.alone_us.median = 97, m->run.steps_reused = 5,
  m->run.collision_us = 6, m->run.solve_us = 24;
  static const struct {
    const char *name;
    double value;
  } known[] = { { "steps", 20 },
                { "steps.rejected", 3 },
                { "rhs.calls", 70 },
                { "rhs.bodies", 79 },
                { "iterations", 141 },
                { "kkt.factorizations", 17 },
                { "groups.max", 61 },
                { "groups.merges", 67 },
                { "groups.splits", 71 },
                { "groups.undone", 73 },
                { "groups.skipped", 0.25 },
                { "lcp.iters.mean", 4.5 },
                { "lcp.solves.mean", 2 },
                { "lcp.solved", 0.5 },
                { "lcp.failures", 19 },
                { "lcp.thrown", 29 },
                { "lcp.swept", 23 },
                { "lcp.residual.max", 0.03125 },
                { "lcp.data.max", 0.0625 },
                { "lcp.rows.max", 31 },
                { "contacts.max", 37 },
                { "islands.max", 41 },
                { "events.impacts", 43 },
                { "events.switches", 47 },
                { "events.piled", 51 },
                { "events.critical", 53 },
                { "events.stopped", 59 },
                { "events.bisections", 5 },
                { "h.least", 0.125 },
                { "h.most", 0.75 },
                { "h.stable", 0.25 },
                { "time.step_us", 89 },
                { "time.step_us.median", 97 },
                { "steps.reused", 0.25 },
                { "time.contact.rel", 0.25 },
                { "time.restart.rel", 0.25 },
                { "time.cpu", 83 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    near(value(m, known[k].name), known[k].value, 0, 0, "%s", known[k].name);
  m->run.ode.steps = 0;
  m->run.contacts.problems = m->run.contacts.reused = 0;
  m->run.groups.advanced = m->run.groups.skipped = 0;
  near(value(m, "lcp.iters.mean"), 0, 0, 0, "no steps, no mean");
  near(value(m, "lcp.solved"), 1, 0, 0, "no problems, all solved");
  near(value(m, "groups.skipped"), 0, 0, 0, "no advances, none skipped");
  close_scene(&s, m);
}

/* Rows of several joints in space: |C| of each joint, their mean, the largest row; and of a joint
 * that has let go, nothing. */
static void several_joints(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("chain:links=3,dim=3", &s, &m);
  const int nq = perp_model_nq(s.model), nv = perp_model_nv(s.model);
  double *q = calloc((size_t)nq, sizeof *q), *v = calloc((size_t)nv, sizeof *v);
  memcpy(q, perp_model_q0(s.model), (size_t)nq * sizeof *q);
  /* the second link by (0.03, 0.04, 0): both of its joints are off by 0.05 m; the third one turns
   * with them */
  q[7] += 0.03, q[8] += 0.04;
  perp_measure_state(m, 0, q, v, NULL);
  near(value(m, "drift.pos.max"), 0.04, 1e-14, 0, "the largest row of three joints");
  near(value(m, "drift.pos.mean"), (0.05 + 0.05) / 3, 1e-14, 0, "the mean of their errors");
  v[6] = 0.3, v[7] = 0.4;
  const bool none[3] = { false, false, false }, second[3] = { false, true, false },
             both[3] = { false, true, true };
  perp_step_info info = { .reason = PERP_EXACT, .drift_pos_pre = nan(""), .released = none };
  perp_measure_state(m, 1, q, v, &info);
  near(m->now.drift_vel, 0.4, 1e-14, 0, "the largest rate of a row");
  near(value(m, "drift.pos.mean"), 0.1 / 3, 1e-14, 0, "the same mean");
  info.released = second;
  perp_measure_state(m, 2, q, v, &info);
  near(m->now.drift_pos_mean, 0.05 / 3, 1e-14, 0, "a joint that holds no more has no error");
  near(m->now.drift_vel, 0.4, 1e-14, 0, "the other one has");
  info.released = both;
  perp_measure_state(m, 3, q, v, &info);
  near(m->now.drift_pos, 0, 1e-14, 0, "none of both");
  near(m->now.drift_vel, 0, 1e-14, 0, "nor a rate");
  near(value(m, "drift.pos.mean"), (0.1 / 3 * 2 + 0.05 / 3) / 4, 1e-14, 0, "mean over four states");
  near(value(m, "drift.vel.max"), 0.4, 1e-14, 0, "the largest rate of all");
  free(q);
  free(v);
  close_scene(&s, m);
}

/* Bodies against a truth by hand: the largest distance of any body, the largest angle of any body,
 * each over all samples. */
static void bodies_off(void)
{
  perp_scene s;
  perp_measure *m;
  open_scene("chain:links=2,dim=3", &s, &m);
  double q[14] = { 0 }, ref[14] = { 0 }, v[12] = { 0 };
  const double none[14] = { 0 };
  ok(isnan(value(m, "err.place.max")) && isnan(value(m, "err.turn.max")),
     "bodies that nothing is compared with are off by nothing known");
  perp_measure_state(m, 0, perp_model_q0(s.model), v, NULL);
  /* first body: (3, 4, 12) mm off and turned by 0.2 about an axis aslant; the second one by 0.4
   * about its own z, on top of a turn that both have, told by the other quaternion */
  q[0] = 0.003, q[1] = 0.004, q[2] = 0.012;
  q[3] = cos(0.1), q[4] = sin(0.1) * 2 / 3, q[5] = -sin(0.1) / 3, q[6] = sin(0.1) * 2 / 3;
  ref[3] = 1;
  ref[10] = cos(0.7), ref[11] = sin(0.7); /* about x by 1.4 */
  /* r * (turn about z by 0.4), times -1 */
  q[10] = -cos(0.7) * cos(0.2), q[11] = -sin(0.7) * cos(0.2), q[12] = sin(0.7) * sin(0.2),
  q[13] = -cos(0.7) * sin(0.2);
  perp_measure_compare(&ctx, m, q, v, ref, none);
  near(value(m, "err.place.max"), 0.013, 1e-16, 0, "largest distance of a centre of mass");
  near(value(m, "err.turn.max"), 0.4, 1e-14, 0, "largest angle of a body");
  memcpy(q, ref, sizeof q);
  q[7] = -0.02;
  q[3] = cos(1.5), q[4] = sin(1.5); /* by 3 of the first one */
  perp_measure_compare(&ctx, m, q, v, ref, none);
  near(value(m, "err.place.max"), 0.02, 1e-16, 0, "of the second one later");
  near(value(m, "err.turn.max"), 3, 1e-13, 0, "nearly half a turn");
  perp_measure_compare(&ctx, m, ref, v, ref, none);
  near(value(m, "err.place.max"), 0.02, 1e-16, 0, "it stays");
  near(value(m, "err.turn.max"), 3, 1e-13, 0, "so does that");
  close_scene(&s, m);
  open_scene("chain:links=2,dim=2", &s, &m);
  double p[6] = { 0.003, -0.004, 0.1, 1, 2, 2 * M_PI - 0.25 }, at[6] = { 0, 0, 0, 1, 2, -0.5 };
  perp_measure_state(m, 0, perp_model_q0(s.model), v, NULL);
  perp_measure_compare(&ctx, m, p, v, at, none);
  near(value(m, "err.place.max"), 0.005, 1e-16, 0, "in the plane");
  near(value(m, "err.turn.max"), 0.25, 1e-14, 0, "angles are told within half a turn");
  close_scene(&s, m);
  open_scene("oscillator", &s, &m);
  perp_measure_state(m, 0, none, none, NULL);
  perp_measure_compare(&ctx, m, none, none, none, none);
  ok(isnan(value(m, "err.place.max")) && isnan(value(m, "err.turn.max")),
     "without bodies they are not defined");
  close_scene(&s, m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  table();
  pendulum();
  joint_forces();
  multipliers();
  multipliers_unknown();
  quaternions();
  momentum_anywhere();
  two_bodies();
  plain_problems();
  contacts();
  contact_laws();
  contact_laws_in_space();
  counts();
  several_joints();
  bodies_off();
  return tap_done();
}
