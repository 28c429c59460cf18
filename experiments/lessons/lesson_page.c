/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lesson as data of a page: its texts, curves of the results, those of runs made for its
 * sliders, the pivots as a film, what judges the exercises.  The script of the lessons
 * (experiments/web/lesson) makes the page of it. */
#include "experiments/base/files.h"
#include "experiments/lessons/lesson.h"
#include "experiments/lessons/pivots_json.h"
#include "experiments/live/live_scenes.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCENES = 16 };

struct page {
  perp_ctx *ctx;
  const perp_lesson *l;
  perp_results *results; /* of its study; NULL: none */
  const char *dir;
  perp_json *data;
  const char *scene[SCENES]; /* that the module of the page is to know */
  int n_scenes;
  perp_pool pool;
};

/* ---- curves ---- */

/* The module will run this scene. */
static void want_scene(struct page *p, const char *text)
{
  for (int i = 0; i < p->n_scenes; i++)
    if (strcmp(p->scene[i], text) == 0) return;
  if (p->n_scenes < SCENES) p->scene[p->n_scenes++] = perp_pool_strdup(&p->pool, text);
}

/* Numbers as floats: a picture needs no more. */
static void put_numbers(perp_json *j, const char *key, const double *v, int n)
{
  float *f = perp_xalloc((size_t)n + 1, sizeof *f);
  for (int i = 0; i < n; i++) f[i] = (float)v[i];
  perp_json_floats(j, key, f, (size_t)n);
  free(f);
}

static void put_curves(perp_json *j, const perp_lesson_figure *f)
{
  perp_json_open(j, "curves", '[');
  for (int i = 0; i < f->n; i++) {
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "label", f->curve[i].label);
    put_numbers(j, "x", f->curve[i].x, f->curve[i].n);
    put_numbers(j, "y", f->curve[i].y, f->curve[i].n);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void put_head(perp_json *j, const perp_lesson_plot *plot, const perp_lesson_figure *f)
{
  perp_json_members(j, "title %s, x %s, y %s, log %s, lines? %d", plot->title, f->x, f->y,
                    plot->log, plot->series);
}

static void put_plots(struct page *p)
{
  perp_json_open(p->data, "plots", '[');
  for (int i = 0; i < p->l->n_plots; i++) {
    const perp_lesson_plot *plot = &p->l->plots[i];
    perp_lesson_figure f;
    perp_lesson_pick(p->ctx, &p->pool, p->results, plot, NULL, &f);
    perp_json_open(p->data, NULL, '{');
    put_head(p->data, plot, &f);
    put_curves(p->data, &f);
    perp_json_close(p->data, '}');
  }
  perp_json_close(p->data, ']');
}

/* ---- sliders over runs ---- */

struct slider {
  const char *name, *unit;
  int n;
  double value[PERP_LESSON_VALUES];
};

static bool lesson_page_near(double a, double b)
{
  return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void read_slider(struct page *p, perp_results *r, const char *name, struct slider *s)
{
  *s = (struct slider){ .name = name };
  for (int i = 0; i < r->plan.n; i++) {
    double v = perp_lesson_at(p->ctx, r, name, i, &s->unit);
    bool known = isnan(v) || s->n == PERP_LESSON_VALUES;
    for (int k = 0; k < s->n && !known; k++) known = lesson_page_near(v, s->value[k]);
    if (!known) s->value[s->n++] = v;
  }
  gsl_sort(s->value, 1, (size_t)s->n);
}

/* The cells at position at[k] of slider k, for the sliders from `first`. */
static void lesson_page_choose(struct page *p, perp_results *r, const struct slider *s,
                               const int *at, int first, bool *chosen)
{
  for (int i = 0; i < r->plan.n; i++) {
    chosen[i] = true;
    for (int k = first; k < p->l->explore.n_slide; k++)
      chosen[i] = chosen[i] && lesson_page_near(perp_lesson_at(p->ctx, r, s[k].name, i, NULL),
                                                s[k].value[at[k]]);
  }
}

/* The metrics of the cells at one position, a row a cell, under the label of its curve. */
static void put_metrics(struct page *p, perp_results *r, const bool *chosen)
{
  const perp_lesson_explore *e = &p->l->explore;
  perp_json_open(p->data, "numbers", '[');
  for (int m = 0; m < e->n_numbers; m++) {
    /* a figure of one point a curve: the labels come along */
    perp_lesson_plot plot = { .x = e->slide[0].expr,
                              .y = e->numbers[m].expr,
                              .by = e->plot.by,
                              .where = e->plot.where,
                              .log = "",
                              .title = "" };
    perp_lesson_figure f;
    perp_lesson_pick(p->ctx, &p->pool, r, &plot, chosen, &f);
    perp_json_open(p->data, NULL, '[');
    for (int i = 0; i < f.n; i++)
      perp_json_members(p->data, "{ label %s, value %g }",
                        e->plot.by != NULL ? f.curve[i].label : "", f.curve[i].y[0]);
    perp_json_close(p->data, ']');
  }
  perp_json_close(p->data, ']');
}

/* What the page needs to compute the curves of another position itself: the run of each curve at
 * the first one, and its quantity. */
static void put_computable(struct page *p, perp_results *r, const perp_lesson_figure *first)
{
  const perp_lesson_explore *e = &p->l->explore;
  if (!e->plot.series || strcmp(r->study->kind->name, "simulate") != 0) return;
  perp_json_open(p->data, "curves", '[');
  for (int i = 0; i < first->n; i++) {
    const perp_cell *cell = &r->plan.cells[first->curve[i].cell];
    want_scene(p, cell->value[perp_kind_param(r->study->kind, "scene")].text);
    perp_json_members(p->data, "{ label %s, field %s, run: {", first->curve[i].label,
                      first->curve[i].field);
    perp_cell_json(p->data, r->study, cell);
    perp_json_close(p->data, '}');
    perp_json_close(p->data, '}');
  }
  perp_json_close(p->data, ']');
  perp_json_text(p->data, "path", e->plot.path ? e->plot.x : NULL);
  perp_json_open(p->data, "metrics", '[');
  for (int m = 0; m < e->n_numbers; m++) perp_json_text(p->data, NULL, e->numbers[m].expr);
  perp_json_close(p->data, ']');
}

static void put_positions(struct page *p, perp_results *r, const struct slider *s)
{
  const perp_lesson_explore *e = &p->l->explore;
  bool *chosen = perp_pool_alloc(&p->pool, (size_t)r->plan.n, sizeof *chosen);
  int second = e->n_slide > 1 ? s[1].n : 1, at[PERP_LESSON_SLIDERS];
  perp_lesson_figure f, first = { 0 };
  perp_lesson_pick(p->ctx, &p->pool, r, &e->plot, NULL, &f);
  perp_json_open(p->data, "plot", '{');
  put_head(p->data, &e->plot, &f);
  perp_json_close(p->data, '}');
  perp_json_open(p->data, "at", '['); /* the first slider runs fastest */
  for (at[1] = 0; at[1] < second; at[1]++)
    for (at[0] = 0; at[0] < s[0].n; at[0]++) {
      lesson_page_choose(p, r, s, at, 0, chosen);
      perp_lesson_pick(p->ctx, &p->pool, r, &e->plot, chosen, &f);
      perp_json_open(p->data, NULL, '{');
      put_curves(p->data, &f);
      put_metrics(p, r, chosen);
      perp_json_close(p->data, '}');
      if (at[0] == 0 && at[1] == 0) first = f;
    }
  perp_json_close(p->data, ']');
  put_computable(p, r, &first);
  if (e->over.title != NULL) {
    perp_json_open(p->data, "over", '[');
    for (at[1] = 0; at[1] < second; at[1]++) {
      lesson_page_choose(p, r, s, at, 1, chosen);
      perp_lesson_pick(p->ctx, &p->pool, r, &e->over, chosen, &f);
      perp_json_open(p->data, NULL, '{');
      put_head(p->data, &e->over, &f);
      put_curves(p->data, &f);
      perp_json_close(p->data, '}');
    }
    perp_json_close(p->data, ']');
  }
}

static perp_status put_explore(struct page *p)
{
  const perp_lesson_explore *e = &p->l->explore;
  struct slider s[PERP_LESSON_SLIDERS];
  perp_results r;
  PERP_TRY(perp_lesson_run(p->ctx, p->l, e->set, e->n_set,
                           perp_pool_printf(&p->pool, "%s/explore", p->dir), &r));
  perp_json_members(p->data, "explore: { title %s, text %s, runs %d, sliders: [", e->title, e->text,
                    r.plan.n);
  for (int k = 0; k < e->n_slide; k++) {
    read_slider(p, &r, e->slide[k].expr, &s[k]);
    perp_json_open(p->data, NULL, '{');
    perp_json_members(p->data, "name %s, of %s, unit %s", e->slide[k].text, e->slide[k].expr,
                      s[k].unit);
    put_numbers(p->data, "x", s[k].value, s[k].n);
    const char *value[PERP_LESSON_VALUES];
    for (int i = 0; i < s[k].n; i++)
      value[i] = perp_lesson_quantity(&p->pool, s[k].value[i], s[k].unit);
    perp_json_texts(p->data, "values", value, s[k].n);
    perp_json_close(p->data, '}');
  }
  perp_json_close(p->data, ']');
  perp_json_open(p->data, "heads", '[');
  for (int m = 0; m < e->n_numbers; m++) perp_json_text(p->data, NULL, e->numbers[m].text);
  perp_json_close(p->data, ']');
  put_positions(p, &r, s);
  perp_json_close(p->data, '}');
  perp_results_free(&r);
  return PERP_OK;
}

/* ---- pivots ---- */

/* Every solver on every value of what varies. */
static perp_status put_film(struct page *p)
{
  const perp_lesson *l = p->l;
  perp_json *j = p->data;
  double b[PERP_LESSON_ROWS];
  perp_status status = PERP_OK;
  perp_pivots *r = perp_xalloc(1, sizeof *r);
  perp_json_members(j, "n %d, told %s", l->n, l->vary.n > 0 ? l->vary.text : "");
  perp_json_open(j, "A", '[');
  for (int i = 0; i < l->n; i++) {
    perp_json_open(j, NULL, '[');
    for (int k = 0; k < l->n; k++) perp_json_real(j, NULL, l->A[i + k * l->n]);
    perp_json_close(j, ']');
  }
  perp_json_close(j, ']');
  perp_pivots_put_reals(j, "b", l->b, l->n);
  perp_pivots_put_reals(j, "lo", l->lo, l->n);
  perp_pivots_put_reals(j, "hi", l->hi, l->n);
  if (l->vary.n > 0) {
    perp_json_int(j, "varied", l->vary.row);
    perp_pivots_put_reals(j, "values", l->vary.value, l->vary.n);
  }
  perp_json_open(j, "runs", '[');
  memcpy(b, l->b, sizeof b);
  for (int k = 0; k < (l->vary.n > 0 ? l->vary.n : 1) && status == PERP_OK; k++) {
    if (l->vary.n > 0) b[l->vary.row] = l->vary.value[k];
    for (int i = 0; i < l->n_solvers && status == PERP_OK; i++) {
      if (strcmp(l->solvers[i], "all") == 0) continue;
      const perp_lcp problem = {
        .n = l->n, .A = l->A, .lda = l->n, .b = b, .lo = l->lo, .hi = l->hi
      };
      status = perp_pivots_record(p->ctx, &problem, l->solvers[i], r);
      if (status == PERP_OK) perp_pivots_put_run(j, r, k);
    }
  }
  perp_json_close(j, ']');
  free(r);
  return status;
}

/* What the terminal prints of the solvers, of "all" or of the single ones; free it. */
static perp_status lesson_page_told(struct page *p, bool all, char **told)
{
  const perp_lesson *l = p->l;
  size_t n;
  perp_status status = PERP_OK;
  FILE *m = perp_memory_stream(told, &n);
  for (int i = 0; i < l->n_solvers && status == PERP_OK; i++)
    if ((strcmp(l->solvers[i], "all") == 0) == all)
      status = perp_lesson_pivots(p->ctx, l, l->solvers[i], m, NULL);
  perp_memory_stream_close(m);
  return status;
}

static perp_status put_pivots(struct page *p)
{
  char *told[2] = { NULL, NULL };
  perp_status status = lesson_page_told(p, true, &told[0]);
  if (status == PERP_OK) status = lesson_page_told(p, false, &told[1]);
  perp_json_open(p->data, "pivots", '{');
  if (status == PERP_OK) {
    perp_json_members(p->data, "solutions %s, text %s", told[0], told[1]);
    status = put_film(p);
  }
  perp_json_close(p->data, '}');
  free(told[0]);
  free(told[1]);
  return status;
}

/* ---- what moves ---- */

/* Recordings of the run, up to RECORDED, spread over it. */
static void put_recordings(struct page *p)
{
  enum { RECORDED = 4 };
  perp_results *r = p->results;
  const char **path = perp_pool_alloc(&p->pool, (size_t)r->plan.n, sizeof *path);
  int *cell = perp_pool_alloc(&p->pool, (size_t)r->plan.n, sizeof *cell), n = 0;
  for (int i = 0; i < r->plan.n; i++) {
    path[n] = perp_pool_printf(&p->pool, "%s/replay/%s.json", r->dir, r->plan.cells[i].id);
    cell[n] = i;
    n += perp_exists(path[n]);
  }
  if (n == 0) return;
  const int most = n < RECORDED ? n : RECORDED;
  perp_json_open(p->data, "recordings", '[');
  for (int k = 0; k < most; k++) {
    const int i = most > 1 ? k * (n - 1) / (most - 1) : 0;
    char *text = perp_read_file(path[i], NULL);
    perp_text label = { 0 };
    perp_cell_label(r->study, &r->plan.cells[cell[i]], &label);
    if (text != NULL) {
      perp_json_open(p->data, NULL, '{');
      perp_json_text(p->data, "label", label.s);
      perp_json_raw(p->data, "replay", text);
      perp_json_close(p->data, '}');
    }
    perp_text_free(&label);
    free(text);
  }
  perp_json_close(p->data, ']');
}

/* ---- exercises ---- */

/* The combinations that an answer is tried in, for the module of the page. */
static void put_tried(struct page *p, const perp_lesson_exercise *e)
{
  enum { TRIED = 6 };
  perp_diag diag = { 0 };
  perp_plan plan;
  const char **set = perp_pool_alloc(&p->pool, (size_t)e->n_set + 1, sizeof *set);
  for (int i = 0; i < e->n_set; i++) set[i] = e->set[i];
  set[e->n_set] = perp_pool_printf(&p->pool, "%s=%s", e->try, e->solution);
  perp_study *study = perp_lesson_study(p->ctx, p->l, set, e->n_set + 1, &diag);
  if (study != NULL && strcmp(study->kind->name, "simulate") == 0 &&
      perp_plan_make(p->ctx, study, &plan) == PERP_OK) {
    for (int i = 0; i < plan.n && plan.n <= TRIED; i++) {
      if (i == 0) perp_json_open(p->data, "cells", '[');
      want_scene(p, plan.cells[i].value[perp_kind_param(study->kind, "scene")].text);
      perp_json_open(p->data, NULL, '{');
      perp_cell_json(p->data, study, &plan.cells[i]);
      perp_json_close(p->data, '}');
      if (i == plan.n - 1) perp_json_close(p->data, ']');
    }
    perp_plan_free(&plan);
  }
  perp_study_free(study);
  perp_diag_free(&diag);
}

static perp_status put_verdict(struct page *p, const perp_lesson_exercise *e, int k,
                               const char *answer, double *want)
{
  bool right;
  perp_text why = { 0 };
  const char *dir = perp_pool_printf(&p->pool, "%s/exercise%d", p->dir, k);
  const perp_status status = perp_lesson_check(p->ctx, p->l, e, answer, dir, p->results, &right,
                                               &why, want);
  if (status == PERP_OK && e->try != NULL)
    perp_json_members(p->data, "{ answer %s, right? %d, why %s }", answer, right, why.s);
  perp_text_free(&why);
  return status;
}

static perp_status put_exercise(struct page *p, const perp_lesson_exercise *e, int first)
{
  perp_json *j = p->data;
  double want;
  perp_status status = PERP_OK;
  perp_json_members(j, "{ ask %s, hint %s, because %s", e->ask, e->hint, e->because);
  if (e->try == NULL) {
    status = put_verdict(p, e, first, e->solution, &want);
    perp_json_members(j, "want %g, within %g", want, e->within);
  } else {
    perp_json_members(j, "try %s, check %s", e->try, e->check);
    put_tried(p, e);
    perp_json_open(j, "stored", '[');
    status = put_verdict(p, e, first, e->solution, &want);
    if (status == PERP_OK) status = put_verdict(p, e, first + 1, e->wrong, &want);
    for (int i = 0; i < e->n_stored && status == PERP_OK; i++)
      status = put_verdict(p, e, first + 2 + i, e->stored[i], &want);
    perp_json_close(j, ']');
  }
  perp_json_close(j, '}');
  return status;
}

static perp_status put_exercises(struct page *p)
{
  perp_status status = PERP_OK;
  perp_json_open(p->data, "exercises", '[');
  for (int i = 0; i < p->l->n_exercises && status == PERP_OK; i++)
    status = put_exercise(p, &p->l->exercises[i], 100 * i);
  perp_json_close(p->data, ']');
  return status;
}

/* ---- all of it ---- */

static void put_results(struct page *p)
{
  const perp_lesson *l = p->l;
  perp_json *j = p->data;
  perp_json_int(j, "runs", p->results->plan.n);
  put_plots(p);
  perp_json_open(j, "show", '[');
  for (int i = 0; i < l->n_show; i++) {
    perp_text t = { 0 };
    perp_lesson_say(p->ctx, p->results, &l->show[i], &t);
    perp_json_text(j, NULL, t.s);
    perp_text_free(&t);
  }
  perp_json_close(j, ']');
  const perp_claim_result *claims = perp_results_claims(p->ctx, p->results);
  perp_json_open(j, "claims", '[');
  for (int i = 0; i < p->results->study->n_claims; i++)
    perp_json_members(j, "{ text %s, verdict %s, sides %s }", claims[i].claim->text,
                      perp_verdict_name(claims[i].verdict),
                      perp_claim_sides(&p->results->pool, &claims[i]));
  perp_json_close(j, ']');
}

perp_status perp_lesson_put(perp_ctx *ctx, const perp_lesson *l, perp_results *results,
                            const char *dir, perp_json *j)
{
  struct page p = { .ctx = ctx, .l = l, .results = results, .dir = dir, .data = j };
  perp_status status = PERP_OK;
  perp_json_members(j,
                    "{ name %s, title %s, minutes %d, call %s, story %s, conclusion %s, slides %s, "
                    "notes %s",
                    l->name, l->title, l->minutes, l->call, l->story, l->conclusion, l->slides,
                    l->notes);
  perp_json_members(j, "predict: { ask %s, answer %d, because %s", l->ask, l->answer, l->because);
  perp_json_texts(j, "choices", l->choices, l->n_choices);
  perp_json_close(j, '}');
  if (l->live != NULL) {
    const perp_node *scene = perp_tree_get(l->live, "scene");
    perp_live_tree(j, "live", l->live);
    if (scene != NULL && scene->type == PERP_NODE_SCALAR) want_scene(&p, scene->text);
  }
  const int needed = p.n_scenes;
  if (results != NULL) {
    put_results(&p);
    if (l->live == NULL || !perp_live_built()) put_recordings(&p);
    if (l->explore.title != NULL) status = put_explore(&p);
  }
  if (status == PERP_OK && l->n > 0) status = put_pivots(&p);
  if (status == PERP_OK) status = put_exercises(&p);
  if (status == PERP_OK && perp_live_built())
    status = perp_live_scenes_of(ctx, j, p.scene, p.n_scenes, needed);
  perp_json_close(j, '}');
  perp_pool_free(&p.pool);
  return status;
}
