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
static void want_scene(struct page *page, const char *text)
{
  for (int scene = 0; scene < page->n_scenes; scene++)
    if (strcmp(page->scene[scene], text) == 0) return;
  if (page->n_scenes < SCENES) page->scene[page->n_scenes++] = perp_pool_strdup(&page->pool, text);
}

/* Numbers as floats: a picture needs no more. */
static void put_numbers(perp_json *json, const char *key, const double *v, int n)
{
  float *f = perp_xalloc((size_t)n + 1, sizeof *f);
  for (int i = 0; i < n; i++) f[i] = (float)v[i];
  perp_json_floats(json, key, f, (size_t)n);
  free(f);
}

static void put_curves(perp_json *json, const perp_lesson_figure *figure)
{
  perp_json_open(json, "curves", '[');
  for (int curve = 0; curve < figure->n; curve++) {
    perp_json_open(json, NULL, '{');
    perp_json_text(json, "label", figure->curve[curve].label);
    put_numbers(json, "x", figure->curve[curve].x, figure->curve[curve].n);
    put_numbers(json, "y", figure->curve[curve].y, figure->curve[curve].n);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

static void put_head(perp_json *json, const perp_lesson_plot *plot,
                     const perp_lesson_figure *figure)
{
  perp_json_members(json, "title %s, x %s, y %s, log %s, lines? %d", plot->title, figure->x,
                    figure->y, plot->log, plot->series);
}

static void put_plots(struct page *page)
{
  perp_json_open(page->data, "plots", '[');
  for (int i = 0; i < page->l->n_plots; i++) {
    const perp_lesson_plot *plot = &page->l->plots[i];
    perp_lesson_figure figure;
    perp_lesson_pick(page->ctx, &page->pool, page->results, plot, NULL, &figure);
    perp_json_open(page->data, NULL, '{');
    put_head(page->data, plot, &figure);
    put_curves(page->data, &figure);
    perp_json_close(page->data, '}');
  }
  perp_json_close(page->data, ']');
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

static void read_slider(struct page *page, perp_results *results, const char *name,
                        struct slider *slider)
{
  *slider = (struct slider){ .name = name };
  for (int cell = 0; cell < results->plan.n; cell++) {
    double v = perp_lesson_at(page->ctx, results, name, cell, &slider->unit);
    bool known = isnan(v) || slider->n == PERP_LESSON_VALUES;
    for (int k = 0; k < slider->n && !known; k++) known = lesson_page_near(v, slider->value[k]);
    if (!known) slider->value[slider->n++] = v;
  }
  gsl_sort(slider->value, 1, (size_t)slider->n);
}

/* The cells at position at[k] of slider k, for the sliders from `first`. */
static void lesson_page_choose(struct page *page, perp_results *results,
                               const struct slider *slider, const int *at, int first, bool *chosen)
{
  for (int cell = 0; cell < results->plan.n; cell++) {
    chosen[cell] = true;
    for (int k = first; k < page->l->explore.n_slide; k++)
      chosen[cell] = chosen[cell] && lesson_page_near(perp_lesson_at(page->ctx, results,
                                                                     slider[k].name, cell, NULL),
                                                      slider[k].value[at[k]]);
  }
}

/* The metrics of the cells at one position, a row a cell, under the label of its curve. */
static void put_metrics(struct page *page, perp_results *results, const bool *chosen)
{
  const perp_lesson_explore *explore = &page->l->explore;
  perp_json_open(page->data, "numbers", '[');
  for (int number = 0; number < explore->n_numbers; number++) {
    /* a figure of one point a curve: the labels come along */
    perp_lesson_plot plot = { .x = explore->slide[0].expr,
                              .y = explore->numbers[number].expr,
                              .by = explore->plot.by,
                              .where = explore->plot.where,
                              .log = "",
                              .title = "" };
    perp_lesson_figure figure;
    perp_lesson_pick(page->ctx, &page->pool, results, &plot, chosen, &figure);
    perp_json_open(page->data, NULL, '[');
    for (int curve = 0; curve < figure.n; curve++)
      perp_json_members(page->data, "{ label %s, value %g }",
                        explore->plot.by != NULL ? figure.curve[curve].label : "",
                        figure.curve[curve].y[0]);
    perp_json_close(page->data, ']');
  }
  perp_json_close(page->data, ']');
}

/* What the page needs to compute the curves of another position itself: the run of each curve at
 * the first one, and its quantity. */
static void put_computable(struct page *page, perp_results *results,
                           const perp_lesson_figure *first)
{
  const perp_lesson_explore *explore = &page->l->explore;
  if (!explore->plot.series || strcmp(results->study->kind->name, "simulate") != 0) return;
  perp_json_open(page->data, "curves", '[');
  for (int curve = 0; curve < first->n; curve++) {
    const perp_cell *cell = &results->plan.cells[first->curve[curve].cell];
    want_scene(page, cell->value[perp_kind_param(results->study->kind, "scene")].text);
    perp_json_members(page->data, "{ label %s, field %s, run: {", first->curve[curve].label,
                      first->curve[curve].field);
    perp_cell_json(page->data, results->study, cell);
    perp_json_close(page->data, '}');
    perp_json_close(page->data, '}');
  }
  perp_json_close(page->data, ']');
  perp_json_text(page->data, "path", explore->plot.path ? explore->plot.x : NULL);
  perp_json_open(page->data, "metrics", '[');
  for (int number = 0; number < explore->n_numbers; number++)
    perp_json_text(page->data, NULL, explore->numbers[number].expr);
  perp_json_close(page->data, ']');
}

static void put_positions(struct page *page, perp_results *results, const struct slider *slider)
{
  const perp_lesson_explore *explore = &page->l->explore;
  bool *chosen = perp_pool_alloc(&page->pool, (size_t)results->plan.n, sizeof *chosen);
  int second = explore->n_slide > 1 ? slider[1].n : 1, at[PERP_LESSON_SLIDERS];
  perp_lesson_figure figure, first = { 0 };
  perp_lesson_pick(page->ctx, &page->pool, results, &explore->plot, NULL, &figure);
  perp_json_open(page->data, "plot", '{');
  put_head(page->data, &explore->plot, &figure);
  perp_json_close(page->data, '}');
  perp_json_open(page->data, "at", '['); /* the first slider runs fastest */
  for (at[1] = 0; at[1] < second; at[1]++)
    for (at[0] = 0; at[0] < slider[0].n; at[0]++) {
      lesson_page_choose(page, results, slider, at, 0, chosen);
      perp_lesson_pick(page->ctx, &page->pool, results, &explore->plot, chosen, &figure);
      perp_json_open(page->data, NULL, '{');
      put_curves(page->data, &figure);
      put_metrics(page, results, chosen);
      perp_json_close(page->data, '}');
      if (at[0] == 0 && at[1] == 0) first = figure;
    }
  perp_json_close(page->data, ']');
  put_computable(page, results, &first);
  if (explore->over.title != NULL) {
    perp_json_open(page->data, "over", '[');
    for (at[1] = 0; at[1] < second; at[1]++) {
      lesson_page_choose(page, results, slider, at, 1, chosen);
      perp_lesson_pick(page->ctx, &page->pool, results, &explore->over, chosen, &figure);
      perp_json_open(page->data, NULL, '{');
      put_head(page->data, &explore->over, &figure);
      put_curves(page->data, &figure);
      perp_json_close(page->data, '}');
    }
    perp_json_close(page->data, ']');
  }
}

static perp_status put_explore(struct page *page)
{
  const perp_lesson_explore *explore = &page->l->explore;
  struct slider s[PERP_LESSON_SLIDERS];
  perp_results results;
  PERP_TRY(perp_lesson_run(page->ctx, page->l, explore->set, explore->n_set,
                           perp_pool_printf(&page->pool, "%s/explore", page->dir), &results));
  perp_json_members(page->data, "explore: { title %s, text %s, runs %d, sliders: [", explore->title,
                    explore->text, results.plan.n);
  for (int slide = 0; slide < explore->n_slide; slide++) {
    read_slider(page, &results, explore->slide[slide].expr, &s[slide]);
    perp_json_open(page->data, NULL, '{');
    perp_json_members(page->data, "name %s, of %s, unit %s", explore->slide[slide].text,
                      explore->slide[slide].expr, s[slide].unit);
    put_numbers(page->data, "x", s[slide].value, s[slide].n);
    const char *value[PERP_LESSON_VALUES];
    for (int i = 0; i < s[slide].n; i++)
      value[i] = perp_lesson_quantity(&page->pool, s[slide].value[i], s[slide].unit);
    perp_json_texts(page->data, "values", value, s[slide].n);
    perp_json_close(page->data, '}');
  }
  perp_json_close(page->data, ']');
  perp_json_open(page->data, "heads", '[');
  for (int number = 0; number < explore->n_numbers; number++)
    perp_json_text(page->data, NULL, explore->numbers[number].text);
  perp_json_close(page->data, ']');
  put_positions(page, &results, s);
  perp_json_close(page->data, '}');
  perp_results_free(&results);
  return PERP_OK;
}

/* ---- pivots ---- */

/* Every solver on every value of what varies. */
static perp_status put_film(struct page *page)
{
  const perp_lesson *lesson = page->l;
  perp_json *json = page->data;
  double b[PERP_LESSON_ROWS];
  perp_status status = PERP_OK;
  perp_pivots *pivots = perp_xalloc(1, sizeof *pivots);
  perp_json_members(json, "n %d, told %s", lesson->n, lesson->vary.n > 0 ? lesson->vary.text : "");
  perp_json_open(json, "A", '[');
  for (int i = 0; i < lesson->n; i++) {
    perp_json_open(json, NULL, '[');
    for (int k = 0; k < lesson->n; k++) perp_json_real(json, NULL, lesson->A[i + k * lesson->n]);
    perp_json_close(json, ']');
  }
  perp_json_close(json, ']');
  perp_pivots_put_reals(json, "b", lesson->b, lesson->n);
  perp_pivots_put_reals(json, "lo", lesson->lo, lesson->n);
  perp_pivots_put_reals(json, "hi", lesson->hi, lesson->n);
  if (lesson->vary.n > 0) {
    perp_json_int(json, "varied", lesson->vary.row);
    perp_pivots_put_reals(json, "values", lesson->vary.value, lesson->vary.n);
  }
  perp_json_open(json, "runs", '[');
  memcpy(b, lesson->b, sizeof b);
  for (int variant = 0; variant < (lesson->vary.n > 0 ? lesson->vary.n : 1) && status == PERP_OK;
       variant++) {
    if (lesson->vary.n > 0) b[lesson->vary.row] = lesson->vary.value[variant];
    for (int i = 0; i < lesson->n_solvers && status == PERP_OK; i++) {
      if (strcmp(lesson->solvers[i], "all") == 0) continue;
      const perp_lcp problem = {
        .n = lesson->n, .A = lesson->A, .lda = lesson->n, .b = b, .lo = lesson->lo, .hi = lesson->hi
      };
      status = perp_pivots_record(page->ctx, &problem, lesson->solvers[i], pivots);
      if (status == PERP_OK) perp_pivots_put_run(json, pivots, variant);
    }
  }
  perp_json_close(json, ']');
  free(pivots);
  return status;
}

/* What the terminal prints of the solvers, of "all" or of the single ones; free it. */
static perp_status lesson_page_told(struct page *page, bool all, char **told)
{
  const perp_lesson *lesson = page->l;
  size_t n;
  perp_status status = PERP_OK;
  FILE *file = perp_memory_stream(told, &n);
  for (int i = 0; i < lesson->n_solvers && status == PERP_OK; i++)
    if ((strcmp(lesson->solvers[i], "all") == 0) == all)
      status = perp_lesson_pivots(page->ctx, lesson, lesson->solvers[i], file, NULL);
  perp_memory_stream_close(file);
  return status;
}

static perp_status put_pivots(struct page *page)
{
  char *told[2] = { NULL, NULL };
  perp_status status = lesson_page_told(page, true, &told[0]);
  if (status == PERP_OK) status = lesson_page_told(page, false, &told[1]);
  perp_json_open(page->data, "pivots", '{');
  if (status == PERP_OK) {
    perp_json_members(page->data, "solutions %s, text %s", told[0], told[1]);
    status = put_film(page);
  }
  perp_json_close(page->data, '}');
  free(told[0]);
  free(told[1]);
  return status;
}

/* ---- what moves ---- */

/* Recordings of the run, up to RECORDED, spread over it. */
static void put_recordings(struct page *page)
{
  enum { RECORDED = 4 };
  perp_results *results = page->results;
  const char **path = perp_pool_alloc(&page->pool, (size_t)results->plan.n, sizeof *path);
  int *cell = perp_pool_alloc(&page->pool, (size_t)results->plan.n, sizeof *cell), n = 0;
  for (int i = 0; i < results->plan.n; i++) {
    path[n] = perp_pool_printf(&page->pool, "%s/replay/%s.json", results->dir,
                               results->plan.cells[i].id);
    cell[n] = i;
    n += perp_exists(path[n]);
  }
  if (n == 0) return;
  const int most = n < RECORDED ? n : RECORDED;
  perp_json_open(page->data, "recordings", '[');
  for (int k = 0; k < most; k++) {
    const int i = most > 1 ? k * (n - 1) / (most - 1) : 0;
    char *text = perp_read_file(path[i], NULL);
    perp_text label = { 0 };
    perp_cell_label(results->study, &results->plan.cells[cell[i]], &label);
    if (text != NULL) {
      perp_json_open(page->data, NULL, '{');
      perp_json_text(page->data, "label", label.s);
      perp_json_raw(page->data, "replay", text);
      perp_json_close(page->data, '}');
    }
    perp_text_free(&label);
    free(text);
  }
  perp_json_close(page->data, ']');
}

/* ---- exercises ---- */

/* The combinations that an answer is tried in, for the module of the page. */
static void put_tried(struct page *page, const perp_lesson_exercise *exercise)
{
  enum { TRIED = 6 };
  perp_diag diag = { 0 };
  perp_plan plan;
  const char **set = perp_pool_alloc(&page->pool, (size_t)exercise->n_set + 1, sizeof *set);
  for (int i = 0; i < exercise->n_set; i++) set[i] = exercise->set[i];
  set[exercise->n_set] = perp_pool_printf(&page->pool, "%s=%s", exercise->try, exercise->solution);
  perp_study *study = perp_lesson_study(page->ctx, page->l, set, exercise->n_set + 1, &diag);
  if (study != NULL && strcmp(study->kind->name, "simulate") == 0 &&
      perp_plan_make(page->ctx, study, &plan) == PERP_OK) {
    for (int cell = 0; cell < plan.n && plan.n <= TRIED; cell++) {
      if (cell == 0) perp_json_open(page->data, "cells", '[');
      want_scene(page, plan.cells[cell].value[perp_kind_param(study->kind, "scene")].text);
      perp_json_open(page->data, NULL, '{');
      perp_cell_json(page->data, study, &plan.cells[cell]);
      perp_json_close(page->data, '}');
      if (cell == plan.n - 1) perp_json_close(page->data, ']');
    }
    perp_plan_free(&plan);
  }
  perp_study_free(study);
  perp_diag_free(&diag);
}

static perp_status put_verdict(struct page *page, const perp_lesson_exercise *exercise, int k,
                               const char *answer, double *want)
{
  bool right;
  perp_text why = { 0 };
  const char *dir = perp_pool_printf(&page->pool, "%s/exercise%d", page->dir, k);
  const perp_status status = perp_lesson_check(page->ctx, page->l, exercise, answer, dir,
                                               page->results, &right, &why, want);
  if (status == PERP_OK && exercise->try != NULL)
    perp_json_members(page->data, "{ answer %s, right? %d, why %s }", answer, right, why.s);
  perp_text_free(&why);
  return status;
}

static perp_status put_exercise(struct page *page, const perp_lesson_exercise *exercise, int first)
{
  perp_json *json = page->data;
  double want;
  perp_status status = PERP_OK;
  perp_json_members(json, "{ ask %s, hint %s, because %s", exercise->ask, exercise->hint,
                    exercise->because);
  if (exercise->try == NULL) {
    status = put_verdict(page, exercise, first, exercise->solution, &want);
    perp_json_members(json, "want %g, within %g", want, exercise->within);
  } else {
    perp_json_members(json, "try %s, check %s", exercise->try, exercise->check);
    put_tried(page, exercise);
    perp_json_open(json, "stored", '[');
    status = put_verdict(page, exercise, first, exercise->solution, &want);
    if (status == PERP_OK) status = put_verdict(page, exercise, first + 1, exercise->wrong, &want);
    for (int i = 0; i < exercise->n_stored && status == PERP_OK; i++)
      status = put_verdict(page, exercise, first + 2 + i, exercise->stored[i], &want);
    perp_json_close(json, ']');
  }
  perp_json_close(json, '}');
  return status;
}

static perp_status put_exercises(struct page *page)
{
  perp_status status = PERP_OK;
  perp_json_open(page->data, "exercises", '[');
  for (int exercise = 0; exercise < page->l->n_exercises && status == PERP_OK; exercise++)
    status = put_exercise(page, &page->l->exercises[exercise], 100 * exercise);
  perp_json_close(page->data, ']');
  return status;
}

/* ---- all of it ---- */

static void put_results(struct page *page)
{
  const perp_lesson *lesson = page->l;
  perp_json *json = page->data;
  perp_json_int(json, "runs", page->results->plan.n);
  put_plots(page);
  perp_json_open(json, "show", '[');
  for (int show = 0; show < lesson->n_show; show++) {
    perp_text text = { 0 };
    perp_lesson_say(page->ctx, page->results, &lesson->show[show], &text);
    perp_json_text(json, NULL, text.s);
    perp_text_free(&text);
  }
  perp_json_close(json, ']');
  const perp_claim_result *claims = perp_results_claims(page->ctx, page->results);
  perp_json_open(json, "claims", '[');
  for (int claim = 0; claim < page->results->study->n_claims; claim++)
    perp_json_members(json, "{ text %s, verdict %s, sides %s }", claims[claim].claim->text,
                      perp_verdict_name(claims[claim].verdict),
                      perp_claim_sides(&page->results->pool, &claims[claim]));
  perp_json_close(json, ']');
}

perp_status perp_lesson_put(perp_ctx *ctx, const perp_lesson *lesson, perp_results *results,
                            const char *dir, perp_json *json)
{
  struct page page = { .ctx = ctx, .l = lesson, .results = results, .dir = dir, .data = json };
  perp_status status = PERP_OK;
  perp_json_members(json,
                    "{ name %s, title %s, minutes %d, call %s, story %s, conclusion %s, slides %s, "
                    "notes %s",
                    lesson->name, lesson->title, lesson->minutes, lesson->call, lesson->story,
                    lesson->conclusion, lesson->slides, lesson->notes);
  perp_json_members(json, "predict: { ask %s, answer %d, because %s", lesson->ask, lesson->answer,
                    lesson->because);
  perp_json_texts(json, "choices", lesson->choices, lesson->n_choices);
  perp_json_close(json, '}');
  if (lesson->live != NULL) {
    const perp_node *scene = perp_tree_get(lesson->live, "scene");
    perp_live_tree(json, "live", lesson->live);
    if (scene != NULL && scene->type == PERP_NODE_SCALAR) want_scene(&page, scene->text);
  }
  const int needed = page.n_scenes;
  if (results != NULL) {
    put_results(&page);
    if (lesson->live == NULL || !perp_live_built()) put_recordings(&page);
    if (lesson->explore.title != NULL) status = put_explore(&page);
  }
  if (status == PERP_OK && lesson->n > 0) status = put_pivots(&page);
  if (status == PERP_OK) status = put_exercises(&page);
  if (status == PERP_OK && perp_live_built())
    status = perp_live_scenes_of(ctx, json, page.scene, page.n_scenes, needed);
  perp_json_close(json, '}');
  perp_pool_free(&page.pool);
  return status;
}
