/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the folder of a lesson. */
#include "experiments/lessons/lesson.h"
#include "experiments/lessons/lesson_text.h"

#include "experiments/base/files.h"
#include "experiments/base/numbers.h"
#include "experiments/base/shell.h"
#include "solvers/core/finite.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  perp_lesson *l;
  perp_diag *diag;
};

static const char *lesson_text(struct reader *r, const perp_node *map, const char *key, bool needed)
{
  const perp_node *node = perp_tree_get(map, key);
  if (node != NULL && node->type == PERP_NODE_SCALAR)
    return perp_pool_strdup(&r->l->pool, node->text);
  if (node != NULL || needed)
    perp_diag_error(r->diag, node != NULL ? node : map, 0, NULL,
                    node != NULL ? "'%s' must be a text" : "the key '%s' is missing", key);
  return NULL;
}

static const char **lesson_texts(struct reader *r, const perp_node *map, const char *key, int *n)
{
  const perp_node *node = perp_tree_get(map, key);
  *n = 0;
  if (node == NULL) return NULL;
  if (node->type != PERP_NODE_LIST) {
    perp_diag_error(r->diag, node, 0, NULL, "'%s' must be a list", key);
    return NULL;
  }
  const char **list = perp_pool_alloc(&r->l->pool, (size_t)node->n + 1, sizeof *list);
  for (int i = 0; i < node->n; i++) {
    if (node->item[i]->type != PERP_NODE_SCALAR)
      perp_diag_error(r->diag, node->item[i], 0, NULL, "a text is required here");
    else
      list[(*n)++] = perp_pool_strdup(&r->l->pool, node->item[i]->text);
  }
  return list;
}

static double number_of(struct reader *r, const perp_node *node)
{
  if (node != NULL && node->type == PERP_NODE_SCALAR) {
    double v = perp_real_of(node->text);
    if (!isnan(v) || perp_parse_share(node->text, &v)) return v;
  }
  perp_diag_error(r->diag, node, 0, NULL, "a number is required here");
  return 0;
}

static double lesson_number(struct reader *r, const perp_node *map, const char *key)
{
  const perp_node *node = perp_tree_get(map, key);
  if (node != NULL) return number_of(r, node);
  perp_diag_error(r->diag, map, 0, NULL, "the key '%s' is missing", key);
  return 0;
}

static void read_vector(struct reader *r, const perp_node *node, int n, double *out, int stride)
{
  if (node == NULL || node->type != PERP_NODE_LIST || node->n != n) {
    perp_diag_error(r->diag, node, 0, NULL, "a list of %d numbers is required here", n);
    return;
  }
  for (int i = 0; i < n; i++) out[i * stride] = number_of(r, node->item[i]);
}

static void read_vary(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "row", "values", "text", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, map, "vary", keys);
  const perp_node *values = perp_tree_get(map, "values");
  l->vary.row = perp_whole(lesson_number(r, map, "row"), 1 << 30) - 1;
  l->vary.text = lesson_text(r, map, "text", true);
  if (l->vary.row < 0 || l->vary.row >= l->n || values == NULL || values->n > PERP_LESSON_VALUES) {
    perp_diag_error(r->diag, map, 0, NULL, "vary requires a row of A and 1 ... %d values",
                    PERP_LESSON_VALUES);
    return;
  }
  read_vector(r, values, values->n, l->vary.value, 1);
  l->vary.n = values->n;
}

static void lesson_read_lcp(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "A", "b", "lo", "hi", "solvers", "vary", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, map, "lcp", keys);
  const perp_node *A = perp_tree_get(map, "A"), *lo = perp_tree_get(map, "lo"),
                  *hi = perp_tree_get(map, "hi");
  l->solvers = lesson_texts(r, map, "solvers", &l->n_solvers);
  if (A == NULL || A->type != PERP_NODE_LIST || A->n < 1 || A->n > PERP_LESSON_ROWS) {
    perp_diag_error(r->diag, map, 0, NULL, "lcp.A must have 1 ... %d rows", PERP_LESSON_ROWS);
    return;
  }
  l->n = A->n;
  for (int i = 0; i < l->n; i++) {
    l->lo[i] = 0;
    l->hi[i] = HUGE_VAL;
    read_vector(r, A->item[i], l->n, l->A + i, l->n); /* column-major */
  }
  read_vector(r, perp_tree_get(map, "b"), l->n, l->b, 1);
  if (lo != NULL) read_vector(r, lo, l->n, l->lo, 1);
  if (hi != NULL) read_vector(r, hi, l->n, l->hi, 1);
  if (perp_tree_get(map, "vary") != NULL) read_vary(r, perp_tree_get(map, "vary"));
}

static void read_plot(struct reader *r, const perp_node *map, perp_lesson_plot *p)
{
  static const char *const keys[] = { "title", "kind",    "x",       "y",     "by", "where",
                                      "log",   "x_label", "y_label", "names", NULL };
  if (map->type != PERP_NODE_MAP) {
    perp_diag_error(r->diag, map, 0, NULL, "a plot must be a map");
    return;
  }
  perp_study_check_keys(r->diag, map, "plots", keys);
  p->at = map;
  const char *kind = lesson_text(r, map, "kind", true);
  p->path = kind != NULL && strcmp(kind, "path") == 0;
  p->series = p->path || (kind != NULL && strcmp(kind, "series") == 0);
  if (kind != NULL && !p->series && strcmp(kind, "cells") != 0)
    perp_diag_error(r->diag, perp_tree_get(map, "kind"), 0, NULL,
                    "the kind of a plot must be `cells`, `series` or `path`");
  p->title = lesson_text(r, map, "title", true);
  p->x = lesson_text(r, map, "x", !p->series || p->path);
  p->y = lesson_text(r, map, "y", true);
  p->by = lesson_text(r, map, "by", false);
  p->where = lesson_text(r, map, "where", false);
  p->x_label = lesson_text(r, map, "x_label", false);
  p->y_label = lesson_text(r, map, "y_label", false);
  if (perp_tree_get(map, "names") != NULL) p->names = lesson_texts(r, map, "names", &p->n_names);
  p->log = lesson_text(r, map, "log", false);
  if (p->log == NULL) p->log = "";
}

static void read_plots(struct reader *r, const perp_node *list)
{
  perp_lesson *l = r->l;
  l->plots = perp_pool_alloc(&l->pool, (size_t)list->n + 1, sizeof *l->plots);
  for (int i = 0; i < list->n; i++) read_plot(r, list->item[i], &l->plots[l->n_plots++]);
}

/* [{ text, KEY }, ...] */
static perp_lesson_number *lesson_read_numbers(struct reader *r, const perp_node *list,
                                               const char *key, int *n)
{
  perp_lesson_number *out = perp_pool_alloc(&r->l->pool, (size_t)(list != NULL ? list->n : 0) + 1,
                                            sizeof *out);
  *n = 0;
  for (int i = 0; list != NULL && list->type == PERP_NODE_LIST && i < list->n; i++) {
    out[i].text = lesson_text(r, list->item[i], "text", true);
    out[i].expr = lesson_text(r, list->item[i], key, true);
    out[i].at = list->item[i];
    (*n)++;
  }
  return out;
}

static void read_explore(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "title", "text", "set",     "slide",
                                      "plot",  "over", "numbers", NULL };
  perp_lesson_explore *e = &r->l->explore;
  perp_study_check_keys(r->diag, map, "explore", keys);
  const perp_node *plot = perp_tree_get(map, "plot"), *over = perp_tree_get(map, "over");
  e->title = lesson_text(r, map, "title", true);
  e->text = lesson_text(r, map, "text", true);
  e->set = lesson_texts(r, map, "set", &e->n_set);
  e->slide = lesson_read_numbers(r, perp_tree_get(map, "slide"), "of", &e->n_slide);
  e->numbers = lesson_read_numbers(r, perp_tree_get(map, "numbers"), "of", &e->n_numbers);
  if (e->n_slide < 1 || e->n_slide > PERP_LESSON_SLIDERS || plot == NULL)
    perp_diag_error(r->diag, map, 0, NULL, "explore requires a plot and 1 ... %d sliders",
                    PERP_LESSON_SLIDERS);
  else
    read_plot(r, plot, &e->plot);
  if (over != NULL) read_plot(r, over, &e->over);
}

static void read_exercise(struct reader *r, const perp_node *map, perp_lesson_exercise *e)
{
  static const char *const keys[] = { "ask",      "try",   "set",  "check",   "expr",   "within",
                                      "solution", "wrong", "hint", "because", "stored", NULL };
  if (map->type != PERP_NODE_MAP) {
    perp_diag_error(r->diag, map, 0, "- { ask: ..., expr: ..., within: 1%, ... }",
                    "an exercise must be a map");
    return;
  }
  perp_study_check_keys(r->diag, map, "exercises", keys);
  e->at = map;
  e->ask = lesson_text(r, map, "ask", true);
  e->try = lesson_text(r, map, "try", false);
  const bool tries = e->try != NULL;
  e->check = lesson_text(r, map, "check", tries);
  e->expr = lesson_text(r, map, "expr", !tries);
  e->solution = lesson_text(r, map, "solution", true);
  e->wrong = lesson_text(r, map, "wrong", true);
  e->hint = lesson_text(r, map, "hint", true);
  e->because = lesson_text(r, map, "because", false);
  e->set = lesson_texts(r, map, "set", &e->n_set);
  e->stored = lesson_texts(r, map, "stored", &e->n_stored);
  if (tries && r->l->study == NULL)
    perp_diag_error(r->diag, perp_tree_get(map, "try"), 0, "a number requires expr and within",
                    "an answer that is a setting requires a study");
  if (!tries) e->within = lesson_number(r, map, "within");
}

/* The study as a file would have it; the places of its nodes are those in the lesson. */
static const perp_node *study_of(perp_lesson *l, const perp_node *study)
{
  const perp_node *root = study, *why = NULL, *problems = perp_tree_get(study, "problems");
  char *folder = realpath(l->folder, NULL);
  const struct {
    const char *path;
    const char *text;
  } head[] = { { "schema", "perp-study/1" },
               { "study.name", perp_pool_printf(&l->pool, "lesson-%s", l->name) },
               { "problems.folder", perp_pool_strdup(&l->pool, folder != NULL ? folder : ".") } };
  free(folder);
  const int n = problems != NULL && problems->type == PERP_NODE_MAP ? 3 : 2;
  for (int i = 0; i < n && root != NULL; i++) {
    perp_node *value = perp_pool_alloc(&l->pool, 1, sizeof *value);
    *value = (perp_node){ .type = PERP_NODE_SCALAR,
                          .src = study->src,
                          .line = study->line,
                          .column = study->column,
                          .text = head[i].text };
    root = perp_tree_set(&l->pool, root, head[i].path, value, &why);
  }
  return root;
}

static void read_predict(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "ask", "choices", "answer", "because", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, map, "predict", keys);
  l->ask = lesson_text(r, map, "ask", true);
  l->because = lesson_text(r, map, "because", true);
  l->choices = lesson_texts(r, map, "choices", &l->n_choices);
  l->answer = perp_whole(lesson_number(r, map, "answer"), 1 << 30);
  if (l->n_choices < 2)
    perp_diag_error(r->diag, map, 0, "choices: [one, two]", "predict requires two or more choices");
  else if (l->answer < 1 || l->answer > l->n_choices)
    perp_diag_error(r->diag, perp_tree_get(map, "answer"), 0, NULL,
                    "predict.answer must be the number of one of the %d choices", l->n_choices);
}

static const perp_node *lesson_part(struct reader *r, const perp_node *root, const char *key,
                                    perp_node_type type)
{
  const perp_node *node = perp_tree_get(root, key);
  if (node == NULL || node->type == type) return node;
  perp_diag_error(r->diag, node, 0, NULL, "'%s' must be a %s", key,
                  type == PERP_NODE_MAP ? "map" : "list");
  return NULL;
}

static void read_lesson(struct reader *r, const perp_node *root)
{
  static const char *const keys[] = { "schema", "title", "minutes", "predict", "study",     "lcp",
                                      "plots",  "show",  "explore", "live",    "exercises", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, root, "a lesson", keys);
  const char *schema = lesson_text(r, root, "schema", true);
  if (schema != NULL && strcmp(schema, "perp-lesson/2") != 0)
    perp_diag_error(r->diag, perp_tree_get(root, "schema"), 0, "schema: perp-lesson/2",
                    "unknown schema '%s'", schema);
  l->title = lesson_text(r, root, "title", true);
  l->minutes = perp_whole(lesson_number(r, root, "minutes"), 1 << 20);
  const perp_node *predict = lesson_part(r, root, "predict", PERP_NODE_MAP),
                  *study = lesson_part(r, root, "study", PERP_NODE_MAP),
                  *lcp = lesson_part(r, root, "lcp", PERP_NODE_MAP),
                  *plots = lesson_part(r, root, "plots", PERP_NODE_LIST),
                  *explore = lesson_part(r, root, "explore", PERP_NODE_MAP),
                  *exercises = lesson_part(r, root, "exercises", PERP_NODE_LIST);
  if (r->diag->errors > 0) return;
  if (predict == NULL || exercises == NULL || (study == NULL && lcp == NULL)) {
    perp_diag_error(r->diag, root, 0, "perp new lesson NAME writes one that has all",
                    "a lesson requires predict, exercises, and a study or an lcp");
    return;
  }
  if (study == NULL && (plots != NULL || explore != NULL))
    perp_diag_error(r->diag, plots != NULL ? plots : explore, 0, NULL,
                    "plots and explore show the runs of a study, which is missing");
  read_predict(r, predict);
  if (study != NULL) l->study = study_of(l, study);
  if (lcp != NULL) lesson_read_lcp(r, lcp);
  if (plots != NULL) read_plots(r, plots);
  l->show = lesson_read_numbers(r, lesson_part(r, root, "show", PERP_NODE_LIST), "expr",
                                &l->n_show);
  if (explore != NULL) read_explore(r, explore);
  l->live = lesson_part(r, root, "live", PERP_NODE_MAP);
  l->exercises = perp_pool_alloc(&l->pool, (size_t)exercises->n + 1, sizeof *l->exercises);
  for (int i = 0; i < exercises->n; i++)
    read_exercise(r, exercises->item[i], &l->exercises[l->n_exercises++]);
  if (exercises->n == 0)
    perp_diag_error(r->diag, exercises, 0, NULL, "a lesson requires one exercise or more");
}

/* lesson.md and notes.md */
static void read_texts(struct reader *r)
{
  perp_lesson *l = r->l;
  const char *path = perp_pool_printf(&l->pool, "%s/lesson.md", l->folder);
  char *text = perp_read_file(path, NULL), *notes;
  for (const char *s = text; s != NULL && *s != '\0'; s += perp_tree_character(s))
    if (perp_tree_character(s) == 0 && *s != '\n' && *s != '\t') {
      perp_diag_error(r->diag, NULL, 0, NULL, "%s: not a text in UTF-8", path);
      break;
    }
  if (text == NULL)
    perp_diag_error(r->diag, NULL, 0, NULL, "cannot read %s: %s", path, strerror(errno));
  else {
    l->story = perp_lesson_section(&l->pool, text, "Story");
    l->conclusion = perp_lesson_section(&l->pool, text, "Conclusion");
    l->slides = perp_lesson_section(&l->pool, text, "Slides");
    if (l->story == NULL || l->conclusion == NULL)
      perp_diag_error(r->diag, NULL, 0, NULL, "%s: the line '# %s' is missing", path,
                      l->story == NULL ? "Story" : "Conclusion");
  }
  free(text);
  notes = perp_read_file(perp_pool_printf(&l->pool, "%s/notes.md", l->folder), NULL);
  if (notes != NULL) l->notes = perp_pool_strdup(&l->pool, notes);
  free(notes);
}

bool perp_lesson_is(const char *path)
{
  char *file = perp_xprintf("%s/lesson.yaml", path);
  const bool is = perp_exists(file);
  free(file);
  return is;
}

perp_status perp_lesson_read(perp_ctx *ctx, const char *folder, perp_diag *diag, perp_lesson **out)
{
  *out = NULL;
  size_t size = 0;
  perp_lesson *l = perp_xalloc(1, sizeof *l);
  size_t length = strlen(folder);
  while (length > 1 && folder[length - 1] == '/') length--;
  l->folder = perp_pool_strndup(&l->pool, folder, length);
  l->file = perp_pool_printf(&l->pool, "%s/lesson.yaml", l->folder);
  char *whole = realpath(folder, NULL), *bytes = perp_read_file(l->file, &size);
  if (bytes == NULL || whole == NULL) {
    const perp_status status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", l->file,
                                         perp_input_why(errno));
    free(whole);
    free(bytes);
    perp_lesson_free(l);
    return status;
  }
  char *name = perp_base_name(whole, "");
  l->name = perp_pool_strdup(&l->pool, name);
  l->call = l->name;
  const size_t good = strspn(l->name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  if (l->name[good] != '\0' || !strchr("abcdefghijklmnopqrstuvwxyz", l->name[0]))
    perp_diag_error(diag, NULL, 0, NULL,
                    "%s: the folder of a lesson is named by lower-case letters, digits, '-' and "
                    "'_', a letter first: got '%s'",
                    l->folder, l->name);
  perp_node *root = perp_tree_read(&l->pool, diag, l->file, bytes, size);
  struct reader r = { l, diag };
  if (root != NULL && root->type == PERP_NODE_MAP)
    read_lesson(&r, root);
  else if (diag->errors == 0)
    perp_diag_error(diag, root, 0, NULL, "a lesson must be a map");
  read_texts(&r);
  free(name);
  free(whole);
  free(bytes);
  if (diag->errors > 0) {
    PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s is not a valid lesson", l->folder);
    perp_lesson_free(l);
    return PERP_ERR_FORMAT;
  }
  *out = l;
  return PERP_OK;
}

void perp_lesson_free(perp_lesson *l)
{
  if (l == NULL) return;
  perp_pool pool = l->pool;
  free(l);
  perp_pool_free(&pool);
}
