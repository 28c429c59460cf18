/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a lesson right?  What can be said without a run: its study, expressions, settings, methods. */
#include "experiments/lessons/lesson.h"

#include "experiments/base/numbers.h"
#include "experiments/scenes/scene_file.h"

#include <math.h>
#include <string.h>

struct examiner {
  perp_ctx *ctx;
  const perp_lesson *l;
  perp_study *study;
  perp_diag *diag;
  perp_pool pool;
};

enum form { CONDITION, WHERE, NUMBER };

/* An expression of the language of claims at `key` of a map. */
static void examine_expression(struct examiner *x, const perp_node *map, const char *key,
                               const char *text, enum form form)
{
  const perp_scope scope = { .ctx = x->ctx,
                             .columns = x->study->columns,
                             .n_columns = x->study->n_columns,
                             .aggregates = form != WHERE,
                             .number = form == NUMBER };
  perp_expr_error error;
  if (perp_expr_parse(&x->pool, &scope, text, &error) == NULL)
    perp_diag_error(x->diag, perp_tree_get(map, key), error.offset,
                    error.hint[0] ? error.hint : NULL, "%s", error.message);
}

/* A column, a parameter or the option of one. */
static void examine_name(struct examiner *x, const perp_node *map, const char *key,
                         const char *name)
{
  if (name == NULL || perp_study_column(x->study, name) >= 0 ||
      perp_kind_param(x->study->kind, name) >= 0)
    return;
  const char *text = perp_pool_printf(&x->pool, "max(%s)", name);
  const perp_scope scope = { .ctx = x->ctx,
                             .columns = x->study->columns,
                             .n_columns = x->study->n_columns,
                             .aggregates = true,
                             .number = true };
  perp_expr_error error;
  if (perp_expr_parse(&x->pool, &scope, text, &error) == NULL)
    perp_diag_error(x->diag, perp_tree_get(map, key), 0, error.hint[0] ? error.hint : NULL, "%s",
                    error.message);
}

/* Fields of the series: those that the study stores, or numbers of one ("q2" of q). */
static void examine_fields(struct examiner *x, const perp_lesson_plot *p)
{
  for (const char *s = p->y; *s != '\0'; s += strspn(s, ", ")) {
    const size_t n = strcspn(s, ", ");
    bool stored = x->study->metrics.series && x->study->metrics.n_fields == 0;
    for (int i = 0; i < x->study->metrics.n_fields && !stored; i++) {
      const char *field = x->study->metrics.fields[i];
      const size_t length = strlen(field);
      stored = n >= length && strncmp(s, field, length) == 0 &&
               strspn(s + length, "0123456789") >= n - length;
    }
    if (!stored)
      perp_diag_error(
          x->diag, perp_tree_get(p->at, "y"), (int)(s - p->y),
          perp_pool_printf(&x->pool, "study: metrics: series: { fields: [%.*s] }", (int)n, s),
          "the series of the study do not have the field '%.*s'", (int)n, s);
    s += n;
  }
}

static void examine_plot(struct examiner *x, const perp_lesson_plot *p)
{
  if (p->title == NULL) return;
  examine_name(x, p->at, "by", p->by);
  if (p->where != NULL) examine_expression(x, p->at, "where", p->where, WHERE);
  if (p->series) {
    examine_fields(x, p);
    return;
  }
  examine_name(x, p->at, "x", p->x);
  examine_name(x, p->at, "y", p->y);
}

/* Does the study read with these settings?  `at`: where an error is told. */
static void examine_settings(struct examiner *x, const perp_node *at, const char *const *set,
                             int n_set, const char *more)
{
  perp_diag diag = { 0 };
  const char **all = perp_pool_alloc(&x->pool, (size_t)n_set + 1, sizeof *all);
  for (int i = 0; i < n_set; i++) all[i] = set[i];
  all[n_set] = more;
  perp_study *study = perp_lesson_study(x->ctx, x->l, all, n_set + (more != NULL), &diag);
  if (study == NULL) {
    const char *said = diag.text.s != NULL ? strstr(diag.text.s, "error: ") : NULL;
    said = said != NULL ? said + 7 : "the study is not valid with these settings";
    perp_diag_error(x->diag, at, 0, NULL, "%s%s%.*s", more != NULL ? more : "",
                    more != NULL ? ": " : "", (int)strcspn(said, "\n"), said);
  }
  perp_diag_free(&diag);
  perp_study_free(study);
}

static void examine_number(struct examiner *x, const perp_lesson_exercise *e)
{
  const struct {
    const char *key, *text;
  } given[] = { { "solution", e->solution }, { "wrong", e->wrong } };
  for (int i = 0; i < 2; i++)
    if (isnan(perp_real_of(given[i].text)))
      perp_diag_error(x->diag, perp_tree_get(e->at, given[i].key), 0,
                      "with try: the answer is a setting", "%s must be a number: got '%s'",
                      given[i].key, given[i].text);
  if (!isnan(perp_real_of(e->expr))) return;
  if (x->study == NULL)
    perp_diag_error(x->diag, perp_tree_get(e->at, "expr"), 0, NULL,
                    "without a study, expr must be a number");
  else
    examine_expression(x, e->at, "expr", e->expr, NUMBER);
}

static void examine_exercise(struct examiner *x, const perp_lesson_exercise *e)
{
  if (x->study != NULL && e->n_set > 0)
    examine_settings(x, perp_tree_get(e->at, "set"), e->set, e->n_set, NULL);
  if (e->try == NULL) {
    examine_number(x, e);
    return;
  }
  if (x->study == NULL) return;
  if (perp_kind_param(x->study->kind, e->try) < 0) {
    perp_diag_error(x->diag, perp_tree_get(e->at, "try"), 0, "for example stab, ode, h, scene",
                    "there is no parameter '%s'", e->try);
    return;
  }
  examine_expression(x, e->at, "check", e->check, CONDITION);
  const struct {
    const char *key, *text;
  } given[] = { { "solution", e->solution }, { "wrong", e->wrong } };
  for (int i = 0; i < 2; i++)
    examine_settings(x, perp_tree_get(e->at, given[i].key), e->set, e->n_set,
                     perp_pool_printf(&x->pool, "%s=%s", e->try, given[i].text));
  for (int i = 0; i < e->n_stored; i++)
    examine_settings(x, perp_tree_get(e->at, "stored"), e->set, e->n_set,
                     perp_pool_printf(&x->pool, "%s=%s", e->try, e->stored[i]));
}

/* ---- live ---- */

static const char *const live_parts[] = { "formulation", "ode",     "kkt", "lcp",
                                          "stab",        "contact", NULL };

/* The method that a text names; its name in pool, NULL after an error at `at`. */
static const char *examine_method(struct examiner *x, const char *kind, const perp_node *at,
                                  const char *text)
{
  perp_spec spec;
  if (perp_spec_parse(x->ctx, perp_kind_of(kind), text, &spec) != PERP_OK) {
    perp_diag_ctx(x->diag, at, 0, x->ctx);
    return NULL;
  }
  const char *name = perp_pool_strdup(&x->pool, spec.d->name);
  perp_spec_free(&spec);
  return name;
}

static void examine_step(struct examiner *x, const perp_node *at)
{
  double h;
  if (at->type != PERP_NODE_SCALAR || perp_parse_real(x->ctx, at->text, "s", &h) != PERP_OK ||
      !(h > 0 && h <= 1))
    perp_diag_error(x->diag, at, 0, "h: 4 ms", "a step between 0 and 1 s is required here");
}

/* { text, of: h | PART | PART.OPTION, values: [...] } */
static void examine_slider(struct examiner *x, const perp_node *live, const perp_node *s)
{
  static const char *const keys[] = { "text", "of", "values", NULL };
  if (s->type != PERP_NODE_MAP) {
    perp_diag_error(x->diag, s, 0, NULL, "a slider must be a map of text, of and values");
    return;
  }
  perp_study_check_keys(x->diag, s, "slide", keys);
  const perp_node *text = perp_tree_get(s, "text"), *of = perp_tree_get(s, "of"),
                  *values = perp_tree_get(s, "values");
  if (text == NULL || text->type != PERP_NODE_SCALAR || of == NULL ||
      of->type != PERP_NODE_SCALAR || values == NULL || values->type != PERP_NODE_LIST ||
      values->n < 2) {
    perp_diag_error(x->diag, s, 0, "{ text: alpha, of: stab.alpha, values: [10, 50, 250] }",
                    "a slider requires text, of and two or more values");
    return;
  }
  const size_t n = strcspn(of->text, ".");
  const char *part = perp_pool_strndup(&x->pool, of->text, n);
  const perp_node *spec = perp_tree_get(live, part);
  const bool step = strcmp(of->text, "h") == 0, whole = of->text[n] == '\0';
  if (!step && spec == NULL && (!whole || perp_kind_of(part) == PERP_KIND_NONE)) {
    perp_diag_error(x->diag, of, 0, "of: h, lcp, stab.alpha, scene.mu, ...",
                    "live has no '%s' whose value this slider could set", part);
    return;
  }
  const char *name = step || whole ? part : examine_method(x, part, spec, spec->text);
  for (int i = 0; i < values->n && name != NULL; i++) {
    const perp_node *v = values->item[i];
    if (step) {
      examine_step(x, v);
      continue;
    }
    const char *method = whole ? v->text
                               : perp_pool_printf(&x->pool, "%s:%s=%s", name, of->text + n + 1,
                                                  v->text);
    if (examine_method(x, part, v, method) == NULL) break; /* one message is enough */
  }
}

static void examine_live(struct examiner *x, const perp_node *live)
{
  static const char *const keys[] = { "text",  "scene", "formulation", "ode",     "kkt",
                                      "lcp",   "stab",  "contact",     "against", "h",
                                      "fixed", "slide", NULL };
  perp_study_check_keys(x->diag, live, "live", keys);
  const perp_node *scene = perp_tree_get(live, "scene"), *slide = perp_tree_get(live, "slide"),
                  *h = perp_tree_get(live, "h"), *fixed = perp_tree_get(live, "fixed"),
                  *against = perp_tree_get(live, "against");
  if (scene == NULL || scene->type != PERP_NODE_SCALAR)
    perp_diag_error(x->diag, live, 0, "live: { scene: chain:links=6 }", "live requires a scene");
  else
    examine_method(x, "scene", scene, scene->text);
  for (int i = 0; live_parts[i] != NULL; i++) {
    const perp_node *part = perp_tree_get(live, live_parts[i]);
    if (part != NULL) examine_method(x, live_parts[i], part, part->text);
  }
  if (against != NULL) examine_method(x, "lcp", against, against->text);
  if (h != NULL) examine_step(x, h);
  if (fixed != NULL && strcmp(fixed->text, "yes") != 0 && strcmp(fixed->text, "no") != 0)
    perp_diag_error(x->diag, fixed, 0, NULL, "fixed must be yes or no");
  for (int i = 0; slide != NULL && i < slide->n; i++) examine_slider(x, live, slide->item[i]);
}

/* Its runs are those of the study with further settings. */
static void examine_explore(struct examiner *x, const perp_lesson_explore *e)
{
  perp_diag quiet = { 0 };
  perp_study *plain = x->study;
  examine_settings(x, e->plot.at, e->set, e->n_set, NULL);
  x->study = perp_lesson_study(x->ctx, x->l, e->set, e->n_set, &quiet);
  perp_diag_free(&quiet);
  if (x->study != NULL) {
    examine_plot(x, &e->plot);
    examine_plot(x, &e->over);
    for (int i = 0; i < e->n_slide; i++) examine_name(x, e->slide[i].at, "of", e->slide[i].expr);
    for (int i = 0; i < e->n_numbers; i++)
      examine_name(x, e->numbers[i].at, "of", e->numbers[i].expr);
  }
  perp_study_free(x->study);
  x->study = plain;
}

void perp_lesson_examine(perp_ctx *ctx, const perp_lesson *l, perp_diag *diag)
{
  struct examiner x = { .ctx = ctx, .l = l, .diag = diag };
  if (l->study != NULL) {
    x.study = perp_lesson_study(ctx, l, NULL, 0, diag);
    if (x.study == NULL) return;
    for (int i = 0; i < l->n_plots; i++) examine_plot(&x, &l->plots[i]);
    for (int i = 0; i < l->n_show; i++)
      examine_expression(&x, l->show[i].at, "expr", l->show[i].expr, NUMBER);
    if (l->explore.title != NULL) examine_explore(&x, &l->explore);
  } else
    perp_scene_files_beside(l->file);
  if (l->live != NULL) examine_live(&x, l->live);
  for (int i = 0; i < l->n_exercises; i++) examine_exercise(&x, &l->exercises[i]);
  perp_study_free(x.study);
  perp_pool_free(&x.pool);
}
