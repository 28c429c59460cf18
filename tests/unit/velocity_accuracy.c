/* SPDX-License-Identifier: GPL-3.0-or-later */
/* velocity:accuracy against what is not the method: closed forms, and where there are none the event-driven integration
 * of the acceleration level to 1e-11.  Positions are compared on a grid of times. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <string.h>
#include <unistd.h>

enum { TIMES = 23 };

static perp_ctx ctx;

/* A scene, how it is judged and until when; accuracy: the smallest one that is cheap. */
typedef struct test_case {
  const char *scene;
  double t_end; /* 0: that of the scene */
  bool events;  /* the truth is the acceleration level */
  double least; /* smallest accuracy of the quick suite */
  double factor; /* of the accuracy, allowed */
} test_case;

typedef struct run {
  double error;
  perp_ode_counters count;
  int64_t failures, problems;
  double seconds;
} run;

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static perp_sim *start(const perp_scene *s, const char *formulation, const char *ode, double h)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  if (perp_spec_parse(&ctx, PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK ||
      (ode != NULL && perp_spec_parse(&ctx, PERP_KIND_ode, ode, &parts.ode) != PERP_OK) ||
      (getenv("STAB") && formulation[0] == (char)118 && perp_spec_parse(&ctx, PERP_KIND_stab, getenv("STAB"), &parts.stab) != PERP_OK) ||
      perp_sim_create(&ctx, s->model, &parts, h, &sim) != PERP_OK)
    bail("%s: %s", formulation, ctx.msg);
  perp_parts_free(&parts);
  return sim;
}

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
  perp_scene s;
  run r = { 0 };
  open_scene(c->scene, &s);
  perp_sim *sim = start(&s, formulation, NULL, h > 0 ? h : s.h);
  perp_sim *reference = c->events ? start(&s, "acceleration", "dopri5:tol=1e-11", s.h) : NULL;
  double *q = perp_xalloc((size_t)s.model->nq, sizeof *q), *v = perp_xalloc((size_t)s.model->nv, sizeof *v);
  const double t_end = c->t_end > 0 ? c->t_end : s.t_end;
  for (int i = 1; i <= TIMES; i++) {
    const double t = t_end * i / TIMES;
    double at;
    const double *q_at, *v_at;
    const double begun = perp_clock_thread();
    go_to(sim, t);
    r.seconds += perp_clock_thread() - begun;
    truth_at(c, &s, reference, t, q, v);
    perp_sim_state(sim, &at, &q_at, &v_at);
    r.error = fmax(r.error, distance(&s, q, q_at));
    if (getenv("DBG2")) printf("# t %.6g err %.3e\n", t, distance(&s, q, q_at));
  }
  perp_sim_counters(sim, &r.count, NULL);
  r.failures = perp_sim_contacts(sim)->failures;
  r.problems = perp_sim_contacts(sim)->solved;
  free(q);
  free(v);
  perp_sim_destroy(sim);
  perp_sim_destroy(reference);
  perp_scene_destroy(&s);
  return r;
}

static const test_case cases[] = {
  { "bouncing-ball", 0, false, 1e-6, 10 },
  { "oblique-impact", 0, false, 1e-6, 10 },
  { "rolling-sphere", 0, false, 1e-6, 10 },
  { "incline:theta=0.7,speed=-2", 0, false, 1e-6, 10 },
  { "coulomb-oscillator", 0, false, 1e-6, 10 },
  { "belt.yaml", 0, false, 1e-6, 10 },
  { "rocking.yaml", 0, true, 1e-6, 10 },
  { "dominoes:dominoes=8", 0, true, 1e-6, 10 },
  { "tipping-box:theta=0.5", 0.6, true, 1e-6, 10 },
  { "billiard:rows=1,offset=0.7", 0, true, 1e-6, 10 },
};

int main(int argc, char **argv)
{
  const char *source = getenv("PERP_SOURCE");
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char *path = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  if (chdir(path) != 0) bail("%s", path);
  free(path);
  const int only = argc > 1 ? atoi(argv[1]) : -1;
  for (int i = 0; i < 10; i++) {
    if (only >= 0 && i != only) continue;
    if (getenv("FORM")) { run r = march(&cases[i], getenv("FORM"), atof(argv[2])); printf("# %s: err %.3e steps %lld\n", getenv("FORM"), r.error, (long long)r.count.steps); continue; }
    for (double a = 1e-2; a > 5e-7; a *= 0.1) {
      char text[64];
      snprintf(text, sizeof text, "velocity:accuracy=%g%s", a, getenv("XO") ? getenv("XO") : "");
      run r = march(&cases[i], argc > 3 ? "velocity" : text, argc > 2 ? atof(argv[2]) * a : 0);
      printf("# %-40s %.0e err/tol %8.3g steps %6lld rej %5lld events %4lld rhs %8lld %.3f s fail %d h_least %.2e\n", cases[i].scene, a, r.error / a,
             (long long)r.count.steps, (long long)r.count.rejected, (long long)r.count.bisections,
             (long long)r.count.rhs, r.seconds, (int)r.failures, r.count.h_least);
    }
  }
  return tap_done();
}
