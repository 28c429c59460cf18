/* SPDX-License-Identifier: GPL-3.0-or-later */
/* velocity:tol against what is not the method: closed forms, and where there are none the
 * event-driven integration of the acceleration level to 1e-11.  Positions are compared on a grid of
 * times. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/multibody/model_private.h"
#include "models/stepping/step_sum.h"
#include "tests/run_model.h"

#include <string.h>
#include <unistd.h>

enum { TIMES = 23 };

static perp_ctx ctx;

/* A scene, until when, how it is judged, and as measured: the parts that all
 * accuracies take together, and the largest error over the accuracy, with room for rounding. */
typedef struct test_case {
  const char *scene;
  double t_end; /* 0: that of the scene */
  bool events;  /* the truth is the acceleration level */
  int parts;
  double within;
} test_case;

typedef struct run {
  double error;
  perp_ode_counters count;
  int64_t failures;
} run;

static void go_to(perp_sim *sim, double t_to)
{
  double t;
  const double *q, *v;
  for (perp_sim_state(sim, &t, &q, &v); t < t_to; perp_sim_state(sim, &t, &q, &v)) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, t_to, &info) != PERP_OK || info.reason < 0)
      bail("t = %.9g s: %s %s", t, perp_reason_name(info.reason),
           info.cause != NULL ? info.cause : "");
  }
  if (t != t_to) bail("a step ends at %.17g s instead of %.17g s", t, t_to);
}

/* farthest that an end of a body is off, over the size of the model */
static double distance(const perp_scene *s, const double *q0, const double *q1)
{
  const perp_model *m = s->model;
  double dq[6 * 64], most = 0;
  const double reach = s->size > 0 ? 0.5 * s->size : 0;
  if (m->nv > 6 * 64) bail("too many bodies");
  perp_model_difference(m, q0, q1, dq);
  for (int b = 0; b < m->n_bodies; b++)
    most = fmax(most, perp_point_speed(m->dim, dq + b * m->nvb, reach));
  return most / m->size;
}

static void truth_at(const test_case *c, const perp_scene *s, perp_sim *reference, double t,
                     double *q, double *v)
{
  double at;
  const double *q_ref, *v_ref;
  if (!c->events) {
    if (s->truth[0].state(s->truth[0].user, &ctx, t, q, v) != PERP_OK) bail("%s", ctx.msg);
    return;
  }
  go_to(reference, t);
  perp_sim_state(reference, &at, &q_ref, &v_ref);
  memcpy(q, q_ref, (size_t)s->model->nq * sizeof *q);
}

static run march(const test_case *c, const char *formulation, double h)
{
  perp_scene s = run_open(&ctx, c->scene);
  run r = { 0 };
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ formulation }, h > 0 ? h : s.h);
  perp_sim *reference = c->events
                            ? run_start(&ctx, s.model,
                                        (run_parts){ "acceleration", "dopri5:tol=1e-11" }, s.h)
                            : NULL;
  double *q = perp_xalloc((size_t)s.model->nq, sizeof *q),
         *v = perp_xalloc((size_t)s.model->nv, sizeof *v);
  const double t_end = c->t_end > 0 ? c->t_end : s.t_end;
  for (int i = 1; i <= TIMES; i++) {
    const double t = t_end * i / TIMES;
    double at;
    const double *q_at, *v_at;
    go_to(sim, t);
    truth_at(c, &s, reference, t, q, v);
    perp_sim_state(sim, &at, &q_at, &v_at);
    r.error = fmax(r.error, distance(&s, q, q_at));
  }
  perp_sim_counters(sim, &r.count, NULL);
  r.failures = perp_sim_contacts(sim)->failures;
  free(q);
  free(v);
  perp_sim_destroy(sim);
  perp_sim_destroy(reference);
  perp_scene_destroy(&s);
  return r;
}

static const test_case cases[] = {
  { "bouncing-ball", 0, false, 73000, 0.2 },
  { "oblique-impact", 0, false, 3200, 0.1 },
  { "rolling-sphere", 0, false, 4200, 0.01 },
  { "incline:theta=0.7,speed=-2", 0, false, 4600, 0.15 },
  { "coulomb-oscillator", 0, false, 37000, 0.2 },
  { "belt.yaml", 0, false, 21000, 0.2 },
  { "rocking.yaml", 0, true, 17000, 0.12 },
  { "dominoes:dominoes=8", 0, true, 28000, 0.06 },
  { "dominoes:dominoes=5,rate=20", 0, true, 39000, 0.15 }, /* lean at rest, gaps of 1e-9 m */
  { "tipping-box:theta=0.5", 0, true, 21000, 0.05 }, /* falls on its side, slides, comes to rest */
  { "tipping-box:theta=0.6", 0, true, 14000,
    0.5 }, /* begins to slide where no row of a long step sees it */
  { "billiard:rows=1,offset=0.7", 0, true, 3500, 0.5 },
  { "stop", 0, true, 6900, 0.01 }, /* limits */
  { "motor", 0, false, 4000, 0.01 },
};

/* What is asked is kept (ten times that is promised, less is seen), and paid for as was measured.
 */
static void test_accuracies(const test_case *c)
{
  static const double accuracy[] = { 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 };
  enum { ACCURACIES = sizeof accuracy / sizeof *accuracy };
  int64_t cost[ACCURACIES], all = 0;
  for (int i = 0; i < ACCURACIES; i++) {
    char text[64];
    snprintf(text, sizeof text, "velocity:tol=%g", accuracy[i]);
    const run r = march(c, text, 0);
    below(r.error, c->within * accuracy[i], "%s: accuracy %g, off by %.2g of the size", c->scene,
          accuracy[i], r.error);
    ok(r.failures == 0, "%s: accuracy %g, every problem is solved", c->scene, accuracy[i]);
    all += cost[i] = r.count.rhs;
  }
  below((double)all, 1.4 * c->parts, "%s: all accuracies cost %lld parts", c->scene,
        (long long)all);
  ok(cost[ACCURACIES - 1] > cost[0], "%s: accuracy %g costs %lld parts, %g costs %lld", c->scene,
     accuracy[ACCURACIES - 1], (long long)cost[ACCURACIES - 1], accuracy[0], (long long)cost[0]);
}

/* Fixed steps of as many parts: what the control is for. */
static void test_against_fixed(void)
{
  const test_case *c = &cases[0];
  const run controlled = march(c, "velocity:tol=1e-5", 0);
  const run fixed = march(c, "velocity", 4.424931681660164 / (double)controlled.count.rhs);
  ok(controlled.error < 0.05 * fixed.error,
     "%s: %lld parts under control are off by %.2g, fixed steps by %.2g", c->scene,
     (long long)controlled.count.rhs, controlled.error, fixed.error);
}

/* Infinitely many impacts in finite time are passed with the shortest step, 0.1 accuracy / rate
 * with sqrt(g / size) < rate < sqrt(g / size) + |v| / size, and told. */
static void test_zeno(void)
{
  const run r = march(&cases[0], "velocity:tol=1e-3", 0);
  const double g = 9.81;
  ok(r.count.events >= 10, "bouncing-ball: %lld events passed", (long long)r.count.events);
  ok(r.count.rejected > 0, "bouncing-ball: %lld steps refused", (long long)r.count.rejected);
  ok(r.count.h_least > 0.5 * 1e-4 / (sqrt(g) + sqrt(2 * g)) && r.count.h_least < 1e-4 / sqrt(g),
     "bouncing-ball: the shortest step, %.3g s, is of the length that is said", r.count.h_least);
}

static void test_refused(void)
{
  static const struct {
    const char *formulation, *ode, *word;
  } bad[] = { { "velocity:tol=1e-3,sleep=true", NULL, "sleep" },
              { "velocity:tol=1e-3,substeps=4", NULL, "substeps" },
              { "velocity:tol=1e-3", "symplectic-euler:tol=1e-3", "tolerance" } };
  perp_scene s = run_open(&ctx, "bouncing-ball");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    perp_parts parts = { 0 };
    perp_sim *sim = NULL;
    if (perp_spec_parse(&ctx, PERP_KIND_formulation, bad[i].formulation, &parts.formulation) !=
            PERP_OK ||
        (bad[i].ode != NULL &&
         perp_spec_parse(&ctx, PERP_KIND_ode, bad[i].ode, &parts.ode) != PERP_OK))
      bail("%s", ctx.msg);
    ok(perp_sim_create(&ctx, s.model, &parts, s.h, &sim) != PERP_OK &&
           strstr(ctx.msg, bad[i].word) != NULL,
       "%s: refused: %s", bad[i].formulation, ctx.msg);
    perp_sim_destroy(sim);
    perp_parts_free(&parts);
  }
  perp_scene_destroy(&s);
}

/* What a step in parts reports: impulses of a contact add up under its id, in the order of ids and
 * at its last place; forces are means over the parts, of different lengths; unknown ones stay so.
 */
static void test_sum_of_parts(void)
{
  static const uint64_t ids[3][3] = { { 1, 3, 5 }, { 2, 3, 7 }, { 3, 5, 5 } };
  static const int n[3] = { 3, 3, 2 };
  static const double h[3] = { 0.2, 0.6, 1.2 }; /* weights 0.1, 0.3, 0.6 */
  /* id -> impulse along x, y, z and the gap of the last part that has it */
  static const struct {
    uint64_t id;
    double impulse, gap;
  } want[5] = { { 1, 1, 0 }, { 2, 11, 1 }, { 3, 2 + 12 + 21, 2 }, { 5, 3 + 22, 2 }, { 7, 13, 1 } };
  perp_step_sum sum = { .m = 2, .drives = 1 };
  double lambda[2], drive[1], space[2] = { 0 }, more[1] = { 0 };
  sum.lambda = space;
  sum.drive = more;
  for (int round = 0; round < 2; round++) {
    perp_step_info info = { .lambda = lambda, .drive = drive };
    perp_step_sum_start(&sum);
    for (int part = 0; part < 3; part++) {
      perp_contact contact[3] = { 0 };
      double impulse[9];
      for (int i = 0; i < n[part]; i++) {
        contact[i].id = ids[part][i];
        contact[i].gap = part;
        for (int k = 0; k < 3; k++) impulse[3 * i + k] = (10 * part + i + 1) * (k + 1);
      }
      lambda[0] = 2 + part, lambda[1] = -5, drive[0] = 10 * part;
      info.lambda = round == 1 && part == 1 ? NULL : lambda;
      info.n_contacts = n[part];
      info.contacts = contact;
      info.impulse = impulse;
      if (perp_step_sum_add(&ctx, &sum, h[part], &info) != PERP_OK) bail("%s", ctx.msg);
    }
    perp_step_sum_info(&sum, &info);
    ok(info.n_contacts == 5, "parts: five contacts are reported, each once (%d)", info.n_contacts);
    for (int i = 0; i < 5 && info.n_contacts == 5; i++) {
      bool same = info.contacts[i].id == want[i].id && info.contacts[i].gap == want[i].gap;
      for (int k = 0; k < 3; k++) same &= info.impulse[3 * i + k] == (k + 1) * want[i].impulse;
      ok(same, "  contact %d: impulses of all parts, where the last one had it", (int)want[i].id);
    }
    near(info.drive[0], 0.3 * 10 + 0.6 * 20, 1e-14, 0, "  drives: the mean of the parts");
    if (round == 1)
      ok(info.lambda == NULL, "  multipliers that a part does not know are not known");
    else
      ok(fabs(info.lambda[0] - (0.1 * 2 + 0.3 * 3 + 0.6 * 4)) < 1e-14 &&
             fabs(info.lambda[1] + 5) < 1e-14,
         "  multipliers: the mean of the parts");
  }
  perp_step_sum_free(&sum);
}

/* A disk rests on the ground under a weight that bobs on a spring: the force of the contact at the
 * end of a step is that of the spring there, not its mean. */
static void test_ends(void)
{
  perp_step_info info;
  const double k = 100, g = 9.81;
  perp_model *m = run_model(&ctx, 2);
  for (int i = 0; i < 2; i++)
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.01 } }, .x = { 0, 0.1 + i } });
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1 });
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  run_force(
      &ctx, m,
      (perp_force_def){ .kind = PERP_FORCE_SPRING, .a = 0, .b = 1, .stiffness = k, .length = 1 });
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "velocity:tol=1e-4" }, 0.1);
  double t = 0, off = 0, mean = 0;
  const double *q, *v;
  while (t < 1) {
    const double before = t;
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    const double force = g + k * (1 - (q[4] - q[1]));
    if (info.n_contacts_end != 1 || info.n_contacts != 1) bail("%g s: no contact", t);
    off = fmax(off, fabs(fabs(info.impulse_end[1]) / info.h_end - force));
    mean = fmax(mean, fabs(fabs(info.impulse[1]) / (t - before) - force));
  }
  below(off, 1.5, "contact force at the end of a step: %.2g N off", off);
  ok(mean > 4, "its mean is another one (%.2g N)", mean);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A spring of 1e10 rad/s: no step is short enough. */
static void test_torn(void)
{
  perp_step_info info = { .reason = PERP_EXACT };
  perp_model *m = run_model(&ctx, 2);
  run_body(&ctx, m,
           (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.01 } }, .x = { 1, 0 } });
  run_force(
      &ctx, m,
      (perp_force_def){ .kind = PERP_FORCE_SPRING, .a = PERP_WORLD, .b = 0, .stiffness = 1e20 });
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "velocity:tol=1e-4" }, 0.1);
  for (int i = 0; i < 10 && info.reason >= 0; i++)
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
  ok(info.reason == PERP_STEP_TOO_SMALL && strstr(info.cause, "the shortest step") != NULL,
     "a motion that the shortest step tears ends: %s", info.cause != NULL ? info.cause : "");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  const char *source = getenv("PERP_SOURCE");
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char *path = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  if (chdir(path) != 0) bail("%s", path);
  free(path);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) test_accuracies(&cases[i]);
  test_against_fixed();
  test_zeno();
  test_refused();
  test_sum_of_parts();
  test_ends();
  test_torn();
  return tap_done();
}
