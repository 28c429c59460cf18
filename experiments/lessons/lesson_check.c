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
static void examine_expression(struct examiner *examiner, const perp_node *map, const char *key,
                               const char *text, enum form form)
{
  const perp_scope scope = { .ctx = examiner->ctx,
                             .columns = examiner->study->columns,
                             .n_columns = examiner->study->n_columns,
                             .aggregates = form != WHERE,
                             .number = form == NUMBER };
  perp_expr_error error;
  if (perp_expr_parse(&examiner->pool, &scope, text, &error) == NULL)
    perp_diag_error(examiner->diag, perp_tree_get(map, key), error.offset,
                    error.hint[0] ? error.hint : NULL, "%s", error.message);
}

/* A column, a parameter or the option of one. */
static void examine_name(struct examiner *examiner, const perp_node *map, const char *key,
                         const char *name)
{
  if (name == NULL || perp_study_column(examiner->study, name) >= 0 ||
      perp_kind_param(examiner->study->kind, name) >= 0)
    return;
  const char *text = perp_pool_printf(&examiner->pool, "max(%s)", name);
  const perp_scope scope = { .ctx = examiner->ctx,
                             .columns = examiner->study->columns,
                             .n_columns = examiner->study->n_columns,
                             .aggregates = true,
                             .number = true };
  perp_expr_error error;
  if (perp_expr_parse(&examiner->pool, &scope, text, &error) == NULL)
    perp_diag_error(examiner->diag, perp_tree_get(map, key), 0, error.hint[0] ? error.hint : NULL,
                    "%s", error.message);
}

/* Fields of the series: those that the study stores, or numbers of one ("q2" of q). */
static void examine_fields(struct examiner *examiner, const perp_lesson_plot *plot)
{
  for (const char *at = plot->y; *at != '\0'; at += strspn(at, ", ")) {
    const size_t n = strcspn(at, ", ");
    bool stored = examiner->study->metrics.series && examiner->study->metrics.n_fields == 0;
    for (int i = 0; i < examiner->study->metrics.n_fields && !stored; i++) {
      const char *field = examiner->study->metrics.fields[i];
      const size_t length = strlen(field);
      stored = n >= length && strncmp(at, field, length) == 0 &&
               strspn(at + length, "0123456789") >= n - length;
    }
    if (!stored)
      perp_diag_error(examiner->diag, perp_tree_get(plot->at, "y"), (int)(at - plot->y),
                      perp_pool_printf(&examiner->pool,
                                       "study: metrics: series: { fields: [%.*s] }", (int)n, at),
                      "the series of the study do not have the field '%.*s'", (int)n, at);
    at += n;
  }
}

static void examine_plot(struct examiner *examiner, const perp_lesson_plot *plot)
{
  if (plot->title == NULL) return;
  examine_name(examiner, plot->at, "by", plot->by);
  if (plot->where != NULL) examine_expression(examiner, plot->at, "where", plot->where, WHERE);
  if (plot->series) {
    examine_fields(examiner, plot);
    return;
  }
  examine_name(examiner, plot->at, "x", plot->x);
  examine_name(examiner, plot->at, "y", plot->y);
}

/* Does the study read with these settings?  `at`: where an error is told. */
static void examine_settings(struct examiner *examiner, const perp_node *at, const char *const *set,
                             int n_set, const char *more)
{
  perp_diag diag = { 0 };
  const char **all = perp_pool_alloc(&examiner->pool, (size_t)n_set + 1, sizeof *all);
  for (int i = 0; i < n_set; i++) all[i] = set[i];
  all[n_set] = more;
  perp_study *study = perp_lesson_study(examiner->ctx, examiner->l, all, n_set + (more != NULL),
                                        &diag);
  if (study == NULL) {
    const char *said = diag.text.s != NULL ? strstr(diag.text.s, "error: ") : NULL;
    said = said != NULL ? said + 7 : "the study is not valid with these settings";
    perp_diag_error(examiner->diag, at, 0, NULL, "%s%s%.*s", more != NULL ? more : "",
                    more != NULL ? ": " : "", (int)strcspn(said, "\n"), said);
  }
  perp_diag_free(&diag);
  perp_study_free(study);
}

static void examine_number(struct examiner *examiner, const perp_lesson_exercise *exercise)
{
  const struct {
    const char *key, *text;
  } given[] = { { "solution", exercise->solution }, { "wrong", exercise->wrong } };
  for (int i = 0; i < 2; i++)
    if (isnan(perp_real_of(given[i].text)))
      perp_diag_error(examiner->diag, perp_tree_get(exercise->at, given[i].key), 0,
                      "with try: the answer is a setting", "%s must be a number: got '%s'",
                      given[i].key, given[i].text);
  if (!isnan(perp_real_of(exercise->expr))) return;
  if (examiner->study == NULL)
    perp_diag_error(examiner->diag, perp_tree_get(exercise->at, "expr"), 0, NULL,
                    "without a study, expr must be a number");
  else
    examine_expression(examiner, exercise->at, "expr", exercise->expr, NUMBER);
}

static void examine_exercise(struct examiner *examiner, const perp_lesson_exercise *exercise)
{
  if (examiner->study != NULL && exercise->n_set > 0)
    examine_settings(examiner, perp_tree_get(exercise->at, "set"), exercise->set, exercise->n_set,
                     NULL);
  if (exercise->try == NULL) {
    examine_number(examiner, exercise);
    return;
  }
  if (examiner->study == NULL) return;
  if (perp_kind_param(examiner->study->kind, exercise->try) < 0) {
    perp_diag_error(examiner->diag, perp_tree_get(exercise->at, "try"), 0,
                    "for example stab, ode, h, scene", "there is no parameter '%s'", exercise->try);
    return;
  }
  examine_expression(examiner, exercise->at, "check", exercise->check, CONDITION);
  const struct {
    const char *key, *text;
  } given[] = { { "solution", exercise->solution }, { "wrong", exercise->wrong } };
  for (int i = 0; i < 2; i++)
    examine_settings(examiner, perp_tree_get(exercise->at, given[i].key), exercise->set,
                     exercise->n_set,
                     perp_pool_printf(&examiner->pool, "%s=%s", exercise->try, given[i].text));
  for (int i = 0; i < exercise->n_stored; i++)
    examine_settings(
        examiner, perp_tree_get(exercise->at, "stored"), exercise->set, exercise->n_set,
        perp_pool_printf(&examiner->pool, "%s=%s", exercise->try, exercise->stored[i]));
}

/* ---- live ---- */

static const char *const live_parts[] = { "formulation", "ode",     "kkt", "lcp",
                                          "stab",        "contact", NULL };

/* The method that a text names; its name in pool, NULL after an error at `at`. */
static const char *examine_method(struct examiner *examiner, const char *kind, const perp_node *at,
                                  const char *text)
{
  perp_spec spec;
  if (perp_spec_parse(examiner->ctx, perp_kind_of(kind), text, &spec) != PERP_OK) {
    perp_diag_ctx(examiner->diag, at, 0, examiner->ctx);
    return NULL;
  }
  const char *name = perp_pool_strdup(&examiner->pool, spec.d->name);
  perp_spec_free(&spec);
  return name;
}

static void examine_step(struct examiner *examiner, const perp_node *at)
{
  double h;
  if (at->type != PERP_NODE_SCALAR ||
      perp_parse_real(examiner->ctx, at->text, "s", &h) != PERP_OK || !(h > 0 && h <= 1))
    perp_diag_error(examiner->diag, at, 0, "h: 4 ms", "a step between 0 and 1 s is required here");
}

/* { text, of: h | PART | PART.OPTION, values: [...] } */
static void examine_slider(struct examiner *examiner, const perp_node *live, const perp_node *s)
{
  static const char *const keys[] = { "text", "of", "values", NULL };
  if (s->type != PERP_NODE_MAP) {
    perp_diag_error(examiner->diag, s, 0, NULL, "a slider must be a map of text, of and values");
    return;
  }
  perp_study_check_keys(examiner->diag, s, "slide", keys);
  const perp_node *text = perp_tree_get(s, "text"), *of = perp_tree_get(s, "of"),
                  *values = perp_tree_get(s, "values");
  if (text == NULL || text->type != PERP_NODE_SCALAR || of == NULL ||
      of->type != PERP_NODE_SCALAR || values == NULL || values->type != PERP_NODE_LIST ||
      values->n < 2) {
    perp_diag_error(examiner->diag, s, 0, "{ text: alpha, of: stab.alpha, values: [10, 50, 250] }",
                    "a slider requires text, of and two or more values");
    return;
  }
  const size_t n = strcspn(of->text, ".");
  const char *part = perp_pool_strndup(&examiner->pool, of->text, n);
  const perp_node *spec = perp_tree_get(live, part);
  const bool step = strcmp(of->text, "h") == 0, whole = of->text[n] == '\0';
  if (!step && spec == NULL && (!whole || perp_kind_of(part) == PERP_KIND_NONE)) {
    perp_diag_error(examiner->diag, of, 0, "of: h, lcp, stab.alpha, scene.mu, ...",
                    "live has no '%s' whose value this slider could set", part);
    return;
  }
  const char *name = step || whole ? part : examine_method(examiner, part, spec, spec->text);
  for (int i = 0; i < values->n && name != NULL; i++) {
    const perp_node *v = values->item[i];
    if (step) {
      examine_step(examiner, v);
      continue;
    }
    const char *method = whole ? v->text
                               : perp_pool_printf(&examiner->pool, "%s:%s=%s", name,
                                                  of->text + n + 1, v->text);
    if (examine_method(examiner, part, v, method) == NULL) break; /* one message is enough */
  }
}

static void examine_live(struct examiner *examiner, const perp_node *live)
{
  static const char *const keys[] = { "text",  "scene", "formulation", "ode",     "kkt",
                                      "lcp",   "stab",  "contact",     "against", "h",
                                      "fixed", "slide", NULL };
  perp_study_check_keys(examiner->diag, live, "live", keys);
  const perp_node *scene = perp_tree_get(live, "scene"), *slide = perp_tree_get(live, "slide"),
                  *node = perp_tree_get(live, "h"), *fixed = perp_tree_get(live, "fixed"),
                  *against = perp_tree_get(live, "against");
  if (scene == NULL || scene->type != PERP_NODE_SCALAR)
    perp_diag_error(examiner->diag, live, 0, "live: { scene: chain:links=6 }",
                    "live requires a scene");
  else
    examine_method(examiner, "scene", scene, scene->text);
  for (int i = 0; live_parts[i] != NULL; i++) {
    const perp_node *part = perp_tree_get(live, live_parts[i]);
    if (part != NULL) examine_method(examiner, live_parts[i], part, part->text);
  }
  if (against != NULL) examine_method(examiner, "lcp", against, against->text);
  if (node != NULL) examine_step(examiner, node);
  if (fixed != NULL && strcmp(fixed->text, "yes") != 0 && strcmp(fixed->text, "no") != 0)
    perp_diag_error(examiner->diag, fixed, 0, NULL, "fixed must be yes or no");
  for (int i = 0; slide != NULL && i < slide->n; i++)
    examine_slider(examiner, live, slide->item[i]);
}

/* Its runs are those of the study with further settings. */
static void examine_explore(struct examiner *examiner, const perp_lesson_explore *explore)
{
  perp_diag quiet = { 0 };
  perp_study *plain = examiner->study;
  examine_settings(examiner, explore->plot.at, explore->set, explore->n_set, NULL);
  examiner->study = perp_lesson_study(examiner->ctx, examiner->l, explore->set, explore->n_set,
                                      &quiet);
  perp_diag_free(&quiet);
  if (examiner->study != NULL) {
    examine_plot(examiner, &explore->plot);
    examine_plot(examiner, &explore->over);
    for (int slide = 0; slide < explore->n_slide; slide++)
      examine_name(examiner, explore->slide[slide].at, "of", explore->slide[slide].expr);
    for (int number = 0; number < explore->n_numbers; number++)
      examine_name(examiner, explore->numbers[number].at, "of", explore->numbers[number].expr);
  }
  perp_study_free(examiner->study);
  examiner->study = plain;
}

void perp_lesson_examine(perp_ctx *ctx, const perp_lesson *lesson, perp_diag *diag)
{
  struct examiner examiner = { .ctx = ctx, .l = lesson, .diag = diag };
  if (lesson->study != NULL) {
    examiner.study = perp_lesson_study(ctx, lesson, NULL, 0, diag);
    if (examiner.study == NULL) return;
    for (int plot = 0; plot < lesson->n_plots; plot++)
      examine_plot(&examiner, &lesson->plots[plot]);
    for (int show = 0; show < lesson->n_show; show++)
      examine_expression(&examiner, lesson->show[show].at, "expr", lesson->show[show].expr, NUMBER);
    if (lesson->explore.title != NULL) examine_explore(&examiner, &lesson->explore);
  } else
    perp_scene_files_beside(lesson->file);
  if (lesson->live != NULL) examine_live(&examiner, lesson->live);
  for (int exercise = 0; exercise < lesson->n_exercises; exercise++)
    examine_exercise(&examiner, &lesson->exercises[exercise]);
  perp_study_free(examiner.study);
  perp_pool_free(&examiner.pool);
}
