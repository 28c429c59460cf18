/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Negative test of the metrics: a run that is right at first and wrong later is no good run.  Every
 * shipped scene is simulated by its defaults and measured four times: as it is, and falsified from
 * a late time on: with states and forces moved in two opposite directions, and slowed down.  Each
 * error that the right run has must see one of them. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

/* Minutes by default, or thousands of bodies: their metrics are those of smaller scenes. */
static const char *const slow[] = { "falling", "carousel" };

/* In place of a large default. */
static const char *const smaller[][2] = {
  { "tree", "tree:bodies=15" },        { "wall", "wall:rows=3,columns=2" },
  { "pyramid", "pyramid:rows=4" },     { "pulled-brick", "pulled-brick:rows=3,row=0" },
  { "particles", "particles:side=3" }, { "gears", "gears:points=24" },
};

/* Runs that end sooner than their scene, as a part of t_end: steps of many bodies or small ones. */
static const struct {
  const char *scene;
  double part;
} sooner[] = {
  { "scara", 0.3 },
  { "flyball", 0.3 },
  { "spatial-slider-crank", 0.3 },
};

/* Metrics that say nothing of late states, and why. */
static const struct {
  const char *scene, *metric, *why;
} blind[] = {
  { "painleve", "impact.rel.err", "velocities right after its impact" },
  { "painleve", "truth.err", "the same" },
  { "cradle", "impact.together.err", "velocities right after its impact" },
  { "impact-chain", "pen.max", "the falsified bodies are apart" },
  { "see-saw", "pen.max", "the falsified bodies are apart" },
  { "enabling", "drift.pos.max", "no joint holds any more" },
  { "enabling", "drift.pos.mean", "the same" },
  { "enabling", "drift.vel.max", "the same" },
  { "enabling", "drift.acc.max", "the same" },
  { "enabling", "constraints.work", "the same" },
  { "letting-go", "lambda.err.max", "the controller has let go: no multipliers are known" },
  { "building", "event.err", "the free fall is over, and rubble has no closed form" },
  { "building", "truth.err", "the same" },
  { "building", "verdict.err", "it has fallen" },
};

static bool is_blind(const char *scene, const char *metric)
{
  for (size_t i = 0; i < sizeof blind / sizeof *blind; i++)
    if (strcmp(metric, blind[i].metric) == 0 && strcmp(scene, blind[i].scene) == 0) return true;
  return false;
}

/* An error: "less" is better, and a right run has next to none of it. */
static bool is_error(const perp_metric_desc *d)
{
  static const char *const of_work[] = {
    "lcp.", "kkt.", "time.", "steps", "rhs.", "iter", "group"
  };
  for (size_t i = 0; i < sizeof of_work / sizeof *of_work; i++)
    if (strncmp(d->d.name, of_work[i], strlen(of_work[i])) == 0) return false;
  return strcmp(d->better, "less") == 0;
}

/* The falsified copy of a state and of its step. */
struct falsified {
  double *q, *v, *impulse, *lambda, *drive;
  perp_step_info info;
};

static double *late_copy(double *to, const double *from, int n)
{
  to = realloc(to, (size_t)(n + 1) * sizeof *to);
  if (to == NULL) bail("no memory");
  if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  return to;
}

/* Bodies are shifted, each by another distance, turned and given other velocities; forces are
 * doubled. */
static void late_falsify(const perp_scene *s, double sign, int nq, int nv, struct falsified *f)
{
  const double size = sign * (s->size > 0 ? s->size : 1);
  const int dim = perp_model_dim(s->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  double *dq = calloc((size_t)nv, sizeof *dq);
  if (dq == NULL) bail("no memory");
  for (int b = 0; b < nv / nvb; b++)
    for (int i = 0; i < nvb; i++)
      dq[nvb * b + i] = (i < dim ? size : 1) * (0.6 + 0.1 * ((b + i) % 3));
  double *q = late_copy(NULL, f->q, nq / nqb * nqb);
  perp_model_retract(s->model, q, dq, f->q);
  for (int i = 0; i < nv; i++) f->v[i] = f->v[i] * 1.5 + sign;
  free(q);
  free(dq);
}

/* sign 0: as it is. `truth` may be that of another scene of the same spec. */
static void late_feed(perp_measure *m, const perp_scene *s, const perp_truth *truth, double sign,
                      double t, const double *q, const double *v, const perp_step_info *info,
                      struct falsified *f)
{
  f->q = late_copy(f->q, q, m->nq);
  f->v = late_copy(f->v, v, m->nv);
  const bool wrong = sign != 0;
  if (wrong) late_falsify(s, sign, m->nq, m->nv, f);
  if (info != NULL) {
    const int drives = perp_model_drives(s->model);
    f->info = *info;
    if (wrong) f->info.drift_pos_pre = 2 * info->drift_pos_pre + 1;
    f->impulse = late_copy(f->impulse, info->impulse,
                           info->impulse != NULL ? 3 * info->n_contacts : 0);
    f->lambda = late_copy(f->lambda, info->lambda, info->lambda != NULL ? m->m : 0);
    for (int i = 0; wrong && info->impulse != NULL && i < 3 * info->n_contacts; i++)
      f->impulse[i] *= 2;
    for (int i = 0; wrong && info->lambda != NULL && i < m->m; i++)
      f->lambda[i] = 2 * f->lambda[i] + 1;
    f->drive = late_copy(f->drive, info->drive, info->drive != NULL ? drives : 0);
    for (int i = 0; wrong && info->drive != NULL && i < drives; i++)
      f->drive[i] = 2 * f->drive[i] + 1;
    if (info->drive != NULL) f->info.drive = f->drive;
    if (info->impulse != NULL) f->info.impulse = f->impulse;
    if (info->lambda != NULL) f->info.lambda = f->lambda;
  }
  perp_measure_state(m, t, f->q, f->v, info != NULL ? &f->info : NULL);
  if (truth == NULL || t > truth->t_end || truth->next_time(truth->user, t) > t * (1 + 1e-12))
    return;
  double *q_ref = late_copy(NULL, q, m->nq), *v_ref = late_copy(NULL, v, m->nv);
  if (truth->state(truth->user, &ctx, t, q_ref, v_ref) == PERP_OK)
    perp_measure_compare(&ctx, m, f->q, f->v, q_ref, v_ref);
  free(q_ref);
  free(v_ref);
}

/* One run, four measurements: as it is, falsified in two directions, slowed down. */
enum { MEASURES = 4 };
struct late_run {
  perp_scene scene[MEASURES];
  perp_measure *measure[MEASURES];
  perp_sim *sim;
  struct falsified copy[MEASURES];
};

static void late_open(struct late_run *w, const char *name)
{
  perp_spec spec;
  const perp_parts parts = { .formulation = { 0 } };
  for (int i = 0; i < MEASURES; i++) {
    if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &w->scene[i]) != PERP_OK)
      bail("%s", ctx.msg);
    perp_spec_free(&spec);
    for (size_t k = 0; k < sizeof sooner / sizeof *sooner; k++)
      if (strcmp(name, sooner[k].scene) == 0) w->scene[i].t_end *= sooner[k].part;
  }
  const double h = w->scene[0].h > 0 ? w->scene[0].h : 1e-3;
  if (w->scene[0].model != NULL &&
      perp_sim_create(&ctx, w->scene[0].model, &parts, h, &w->sim) != PERP_OK)
    bail("%s: %s", name, ctx.msg);
  for (int i = 0; i < MEASURES; i++) {
    if (perp_measure_create(&ctx, &w->scene[i], &w->measure[i]) != PERP_OK) bail("%s", ctx.msg);
    w->measure[i]->run.impulses = true; /* of velocity, the default */
  }
}

static void late_close(struct late_run *w)
{
  perp_sim_destroy(w->sim);
  for (int i = 0; i < MEASURES; i++) {
    perp_measure_destroy(w->measure[i]);
    perp_scene_destroy(&w->scene[i]);
    free(w->copy[i].q);
    free(w->copy[i].v);
    free(w->copy[i].impulse);
    free(w->copy[i].lambda);
    free(w->copy[i].drive);
  }
}

/* When it is falsified, as a part of t_end: before the last event or the end of the window of the
 * scene's metric. */
static const struct {
  const char *scene;
  double from;
} early[] = {
  { "bouncing-ball", 0.2 }, { "stop", 0.02 },   { "motor", 0.2 },
  { "painleve", 0.2 },      { "racket", 0.02 },
};

static double late_from(const char *name)
{
  for (size_t i = 0; i < sizeof early / sizeof *early; i++)
    if (strcmp(name, early[i].scene) == 0) return early[i].from;
  return 0.6;
}

/* A default run with such an error (m, m/s, or relative) is no right one: chaos, or velocities
 * compared within an impact. */
#define WRONG_ALREADY 0.2

static void late_judge(const struct late_run *w, const char *name)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_metric, i)) != NULL; i++) {
    const perp_metric_desc *m = (const perp_metric_desc *)d;
    if (!is_error(m) || is_blind(name, d->name)) continue;
    const double right = m->value(w->measure[0]);
    const double wrong = (fmax)((fmax)(m->value(w->measure[1]), m->value(w->measure[2])),
                                m->value(w->measure[3]));
    if (isnan(right) || right > WRONG_ALREADY) continue;
    ok(wrong > 2 * right + 1e-6, "%s: %s sees what is wrong late (%.3g, right %.3g)", name, d->name,
       wrong, right);
  }
}

static void late_scene(const char *name)
{
  struct late_run w = { .sim = NULL };
  late_open(&w, name);
  if (w.sim == NULL) {
    late_close(&w);
    return;
  }
  perp_step_info info = { .reason = PERP_EXACT };
  const perp_step_info *of_step = NULL;
  static const double sign[MEASURES] = { 0, 1, -1, 0 }, slower[MEASURES] = { 0, 0, 0, 0.5 };
  double t;
  const double *q, *v;
  for (perp_sim_state(w.sim, &t, &q, &v);; perp_sim_state(w.sim, &t, &q, &v), of_step = &info) {
    for (int i = 0; i < MEASURES; i++) {
      const double after = fmax(0, t - late_from(name) * w.scene[0].t_end);
      /* what is measured at the same times has one reference solution, which may take long */
      const perp_scene *s = &w.scene[slower[i] > 0 ? i : 0];
      late_feed(w.measure[i], &w.scene[i], s->n_truths > 0 ? &s->truth[0] : NULL,
                after > 0 ? sign[i] : 0, t + slower[i] * after, q, v, of_step, &w.copy[i]);
    }
    if (t >= w.scene[0].t_end * (1 - 1e-12) || info.reason < 0) break;
    if (perp_sim_step(&ctx, w.sim, w.scene[0].t_end, &info) != PERP_OK)
      bail("%s: %s", name, ctx.msg);
  }
  late_judge(&w, name);
  late_close(&w);
}

int main(void)
{
  const perp_desc *d;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_register_metrics(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++) {
    bool skip = false;
    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++) skip |= strcmp(d->name, slow[k]) == 0;
    const char *scene = d->name;
    for (size_t k = 0; k < sizeof smaller / sizeof *smaller; k++)
      if (strcmp(scene, smaller[k][0]) == 0) scene = smaller[k][1];
    if (!skip) late_scene(scene);
  }
  return tap_done();
}
