/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a lesson as data: the story, curves of the results, those of runs made for its
 * sliders, and the pivots as a film.  The script of the pages (experiments/web) makes the page of
 * it. */
#include "experiments/lessons/pivots_json.h"
#include "experiments/base/files.h"
#include "experiments/web/web.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct page {
  perp_ctx *ctx;
  const perp_lesson *l;
  perp_results *results; /* of its study; NULL: none */
  const char *dir;
  perp_json *data;
  perp_pool pool;
};

/* ---- curves ---- */

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

static void put_positions(struct page *p, perp_results *r, const struct slider *s)
{
  const perp_lesson_explore *e = &p->l->explore;
  bool *chosen = perp_pool_alloc(&p->pool, (size_t)r->plan.n, sizeof *chosen);
  int second = e->n_slide > 1 ? s[1].n : 1, at[PERP_LESSON_SLIDERS];
  perp_lesson_figure f;
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
    }
  perp_json_close(p->data, ']');
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
    perp_json_text(p->data, "name", e->slide[k].text);
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
      status = perp_pivots_record(p->ctx, l, b, l->solvers[i], r);
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
  if (all) perp_lesson_problem(l, m);
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
    perp_json_members(p->data, "problem %s, text %s", told[0], told[1]);
    status = put_film(p);
  }
  perp_json_close(p->data, '}');
  free(told[0]);
  free(told[1]);
  return status;
}

/* ---- the page ---- */

static perp_status put_body(struct page *p)
{
  const perp_lesson *l = p->l;
  perp_json *j = p->data;
  perp_json_members(j, "schema %s, name %s, title %s", "perp-lesson-page/1", l->name, l->title);
  perp_json_texts(j, "story", l->story, l->n_story);
  perp_json_members(j, "predict: { ask %s, answer %d, because %s", l->ask, l->answer, l->because);
  perp_json_texts(j, "choices", l->choices, l->n_choices);
  perp_json_close(j, '}');
  if (p->results != NULL) {
    put_plots(p);
    perp_json_open(j, "show", '[');
    for (int i = 0; i < l->n_show; i++) {
      perp_text t = { 0 };
      perp_lesson_say(p->ctx, p->results, &l->show[i], &t);
      perp_json_text(j, NULL, t.s);
      perp_text_free(&t);
    }
    perp_json_close(j, ']');
    if (l->explore.title != NULL) PERP_TRY(put_explore(p));
  }
  if (l->n > 0) PERP_TRY(put_pivots(p));
  perp_json_texts(j, "end", l->end, l->n_end);
  perp_json_members(j, "exercise: { ask %s, hint %s, check %s }", l->exercise.ask, l->exercise.hint,
                    l->exercise.try != NULL ? "..." : "NUMBER");
  return PERP_OK;
}

perp_status perp_lesson_page(perp_ctx *ctx, const perp_lesson *l, perp_results *results,
                             const char *dir, const char *path)
{
  char *data = NULL;
  size_t n = 0;
  if (!perp_web_built()) return perp_web_missing(ctx);
  perp_json j = { .out = perp_memory_stream(&data, &n) };
  struct page p = { .ctx = ctx, .l = l, .results = results, .dir = dir, .data = &j };
  perp_json_open(&j, NULL, '{');
  perp_status status = put_body(&p);
  perp_json_close(&j, '}');
  perp_memory_stream_close(j.out);
  perp_pool_free(&p.pool);
  if (status == PERP_OK) status = perp_web_page(ctx, path, l->title, data, n);
  free(data);
  return status;
}
