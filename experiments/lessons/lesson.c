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

static const char *lesson_text(struct reader *reader, const perp_node *map, const char *key,
                               bool needed)
{
  const perp_node *node = perp_tree_get(map, key);
  if (node != NULL && node->type == PERP_NODE_SCALAR)
    return perp_pool_strdup(&reader->l->pool, node->text);
  if (node != NULL || needed)
    perp_diag_error(reader->diag, node != NULL ? node : map, 0, NULL,
                    node != NULL ? "'%s' must be a text" : "the key '%s' is missing", key);
  return NULL;
}

static const char **lesson_texts(struct reader *reader, const perp_node *map, const char *key,
                                 int *n)
{
  const perp_node *node = perp_tree_get(map, key);
  *n = 0;
  if (node == NULL) return NULL;
  if (node->type != PERP_NODE_LIST) {
    perp_diag_error(reader->diag, node, 0, NULL, "'%s' must be a list", key);
    return NULL;
  }
  const char **list = perp_pool_alloc(&reader->l->pool, (size_t)node->n + 1, sizeof *list);
  for (int i = 0; i < node->n; i++) {
    if (node->item[i]->type != PERP_NODE_SCALAR)
      perp_diag_error(reader->diag, node->item[i], 0, NULL, "a text is required here");
    else
      list[(*n)++] = perp_pool_strdup(&reader->l->pool, node->item[i]->text);
  }
  return list;
}

static double number_of(struct reader *reader, const perp_node *node)
{
  if (node != NULL && node->type == PERP_NODE_SCALAR) {
    double v = perp_real_of(node->text);
    if (!isnan(v) || perp_parse_share(node->text, &v)) return v;
  }
  perp_diag_error(reader->diag, node, 0, NULL, "a number is required here");
  return 0;
}

static double lesson_number(struct reader *reader, const perp_node *map, const char *key)
{
  const perp_node *node = perp_tree_get(map, key);
  if (node != NULL) return number_of(reader, node);
  perp_diag_error(reader->diag, map, 0, NULL, "the key '%s' is missing", key);
  return 0;
}

static void read_vector(struct reader *reader, const perp_node *node, int n, double *out,
                        int stride)
{
  if (node == NULL || node->type != PERP_NODE_LIST || node->n != n) {
    perp_diag_error(reader->diag, node, 0, NULL, "a list of %d numbers is required here", n);
    return;
  }
  for (int i = 0; i < n; i++) out[i * stride] = number_of(reader, node->item[i]);
}

static void read_vary(struct reader *reader, const perp_node *map)
{
  static const char *const keys[] = { "row", "values", "text", NULL };
  perp_lesson *lesson = reader->l;
  perp_study_check_keys(reader->diag, map, "vary", keys);
  const perp_node *values = perp_tree_get(map, "values");
  lesson->vary.row = perp_whole(lesson_number(reader, map, "row"), 1 << 30) - 1;
  lesson->vary.text = lesson_text(reader, map, "text", true);
  if (lesson->vary.row < 0 || lesson->vary.row >= lesson->n || values == NULL ||
      values->n > PERP_LESSON_VALUES) {
    perp_diag_error(reader->diag, map, 0, NULL, "vary requires a row of A and 1 ... %d values",
                    PERP_LESSON_VALUES);
    return;
  }
  read_vector(reader, values, values->n, lesson->vary.value, 1);
  lesson->vary.n = values->n;
}

static void lesson_read_lcp(struct reader *reader, const perp_node *map)
{
  static const char *const keys[] = { "A", "b", "lo", "hi", "solvers", "vary", NULL };
  perp_lesson *lesson = reader->l;
  perp_study_check_keys(reader->diag, map, "lcp", keys);
  const perp_node *A = perp_tree_get(map, "A"), *lo = perp_tree_get(map, "lo"),
                  *hi = perp_tree_get(map, "hi");
  lesson->solvers = lesson_texts(reader, map, "solvers", &lesson->n_solvers);
  if (A == NULL || A->type != PERP_NODE_LIST || A->n < 1 || A->n > PERP_LESSON_ROWS) {
    perp_diag_error(reader->diag, map, 0, NULL, "lcp.A must have 1 ... %d rows", PERP_LESSON_ROWS);
    return;
  }
  lesson->n = A->n;
  for (int i = 0; i < lesson->n; i++) {
    lesson->lo[i] = 0;
    lesson->hi[i] = HUGE_VAL;
    read_vector(reader, A->item[i], lesson->n, lesson->A + i, lesson->n); /* column-major */
  }
  read_vector(reader, perp_tree_get(map, "b"), lesson->n, lesson->b, 1);
  if (lo != NULL) read_vector(reader, lo, lesson->n, lesson->lo, 1);
  if (hi != NULL) read_vector(reader, hi, lesson->n, lesson->hi, 1);
  if (perp_tree_get(map, "vary") != NULL) read_vary(reader, perp_tree_get(map, "vary"));
}

static void read_plot(struct reader *reader, const perp_node *map, perp_lesson_plot *plot)
{
  static const char *const keys[] = { "title", "kind",    "x",       "y",     "by", "where",
                                      "log",   "x_label", "y_label", "names", NULL };
  if (map->type != PERP_NODE_MAP) {
    perp_diag_error(reader->diag, map, 0, NULL, "a plot must be a map");
    return;
  }
  perp_study_check_keys(reader->diag, map, "plots", keys);
  plot->at = map;
  const char *kind = lesson_text(reader, map, "kind", true);
  plot->path = kind != NULL && strcmp(kind, "path") == 0;
  plot->series = plot->path || (kind != NULL && strcmp(kind, "series") == 0);
  if (kind != NULL && !plot->series && strcmp(kind, "cells") != 0)
    perp_diag_error(reader->diag, perp_tree_get(map, "kind"), 0, NULL,
                    "the kind of a plot must be `cells`, `series` or `path`");
  plot->title = lesson_text(reader, map, "title", true);
  plot->x = lesson_text(reader, map, "x", !plot->series || plot->path);
  plot->y = lesson_text(reader, map, "y", true);
  plot->by = lesson_text(reader, map, "by", false);
  plot->where = lesson_text(reader, map, "where", false);
  plot->x_label = lesson_text(reader, map, "x_label", false);
  plot->y_label = lesson_text(reader, map, "y_label", false);
  if (perp_tree_get(map, "names") != NULL)
    plot->names = lesson_texts(reader, map, "names", &plot->n_names);
  plot->log = lesson_text(reader, map, "log", false);
  if (plot->log == NULL) plot->log = "";
}

static void read_plots(struct reader *reader, const perp_node *list)
{
  perp_lesson *lesson = reader->l;
  lesson->plots = perp_pool_alloc(&lesson->pool, (size_t)list->n + 1, sizeof *lesson->plots);
  for (int i = 0; i < list->n; i++)
    read_plot(reader, list->item[i], &lesson->plots[lesson->n_plots++]);
}

/* [{ text, KEY }, ...] */
static perp_lesson_number *lesson_read_numbers(struct reader *reader, const perp_node *list,
                                               const char *key, int *n)
{
  perp_lesson_number *out = perp_pool_alloc(&reader->l->pool,
                                            (size_t)(list != NULL ? list->n : 0) + 1, sizeof *out);
  *n = 0;
  for (int i = 0; list != NULL && list->type == PERP_NODE_LIST && i < list->n; i++) {
    out[i].text = lesson_text(reader, list->item[i], "text", true);
    out[i].expr = lesson_text(reader, list->item[i], key, true);
    out[i].at = list->item[i];
    (*n)++;
  }
  return out;
}

static void read_explore(struct reader *reader, const perp_node *map)
{
  static const char *const keys[] = { "title", "text", "set",     "slide",
                                      "plot",  "over", "numbers", NULL };
  perp_lesson_explore *explore = &reader->l->explore;
  perp_study_check_keys(reader->diag, map, "explore", keys);
  const perp_node *plot = perp_tree_get(map, "plot"), *over = perp_tree_get(map, "over");
  explore->title = lesson_text(reader, map, "title", true);
  explore->text = lesson_text(reader, map, "text", true);
  explore->set = lesson_texts(reader, map, "set", &explore->n_set);
  explore->slide = lesson_read_numbers(reader, perp_tree_get(map, "slide"), "of",
                                       &explore->n_slide);
  explore->numbers = lesson_read_numbers(reader, perp_tree_get(map, "numbers"), "of",
                                         &explore->n_numbers);
  if (explore->n_slide < 1 || explore->n_slide > PERP_LESSON_SLIDERS || plot == NULL)
    perp_diag_error(reader->diag, map, 0, NULL, "explore requires a plot and 1 ... %d sliders",
                    PERP_LESSON_SLIDERS);
  else
    read_plot(reader, plot, &explore->plot);
  if (over != NULL) read_plot(reader, over, &explore->over);
}

static void read_exercise(struct reader *reader, const perp_node *map,
                          perp_lesson_exercise *exercise)
{
  static const char *const keys[] = { "ask",      "try",   "set",  "check",   "expr",   "within",
                                      "solution", "wrong", "hint", "because", "stored", NULL };
  if (map->type != PERP_NODE_MAP) {
    perp_diag_error(reader->diag, map, 0, "- { ask: ..., expr: ..., within: 1%, ... }",
                    "an exercise must be a map");
    return;
  }
  perp_study_check_keys(reader->diag, map, "exercises", keys);
  exercise->at = map;
  exercise->ask = lesson_text(reader, map, "ask", true);
  exercise->try = lesson_text(reader, map, "try", false);
  const bool tries = exercise->try != NULL;
  exercise->check = lesson_text(reader, map, "check", tries);
  exercise->expr = lesson_text(reader, map, "expr", !tries);
  exercise->solution = lesson_text(reader, map, "solution", true);
  exercise->wrong = lesson_text(reader, map, "wrong", true);
  exercise->hint = lesson_text(reader, map, "hint", true);
  exercise->because = lesson_text(reader, map, "because", false);
  exercise->set = lesson_texts(reader, map, "set", &exercise->n_set);
  exercise->stored = lesson_texts(reader, map, "stored", &exercise->n_stored);
  if (tries && reader->l->study == NULL)
    perp_diag_error(reader->diag, perp_tree_get(map, "try"), 0, "a number requires expr and within",
                    "an answer that is a setting requires a study");
  if (!tries) exercise->within = lesson_number(reader, map, "within");
}

/* The study as a file would have it; the places of its nodes are those in the lesson. */
static const perp_node *study_of(perp_lesson *lesson, const perp_node *study)
{
  const perp_node *root = study, *why = NULL, *problems = perp_tree_get(study, "problems");
  char *folder = perp_real_path(lesson->folder);
  const struct {
    const char *path;
    const char *text;
  } head[] = { { "schema", "perp-study/1" },
               { "study.name", perp_pool_printf(&lesson->pool, "lesson-%s", lesson->name) },
               { "problems.folder",
                 perp_pool_strdup(&lesson->pool, folder != NULL ? folder : ".") } };
  free(folder);
  const int n = problems != NULL && problems->type == PERP_NODE_MAP ? 3 : 2;
  for (int i = 0; i < n && root != NULL; i++) {
    perp_node *value = perp_pool_alloc(&lesson->pool, 1, sizeof *value);
    *value = (perp_node){ .type = PERP_NODE_SCALAR,
                          .src = study->src,
                          .line = study->line,
                          .column = study->column,
                          .text = head[i].text };
    root = perp_tree_set(&lesson->pool, root, head[i].path, value, &why);
  }
  return root;
}

static void read_predict(struct reader *reader, const perp_node *map)
{
  static const char *const keys[] = { "ask", "choices", "answer", "because", NULL };
  perp_lesson *lesson = reader->l;
  perp_study_check_keys(reader->diag, map, "predict", keys);
  lesson->ask = lesson_text(reader, map, "ask", true);
  lesson->because = lesson_text(reader, map, "because", true);
  lesson->choices = lesson_texts(reader, map, "choices", &lesson->n_choices);
  lesson->answer = perp_whole(lesson_number(reader, map, "answer"), 1 << 30);
  if (lesson->n_choices < 2)
    perp_diag_error(reader->diag, map, 0, "choices: [one, two]",
                    "predict requires two or more choices");
  else if (lesson->answer < 1 || lesson->answer > lesson->n_choices)
    perp_diag_error(reader->diag, perp_tree_get(map, "answer"), 0, NULL,
                    "predict.answer must be the number of one of the %d choices",
                    lesson->n_choices);
}

static const perp_node *lesson_part(struct reader *reader, const perp_node *root, const char *key,
                                    perp_node_type type)
{
  const perp_node *node = perp_tree_get(root, key);
  if (node == NULL || node->type == type) return node;
  perp_diag_error(reader->diag, node, 0, NULL, "'%s' must be a %s", key,
                  type == PERP_NODE_MAP ? "map" : "list");
  return NULL;
}

static void read_lesson(struct reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "schema", "title", "minutes", "predict", "study",     "lcp",
                                      "plots",  "show",  "explore", "live",    "exercises", NULL };
  perp_lesson *lesson = reader->l;
  perp_study_check_keys(reader->diag, root, "a lesson", keys);
  const char *schema = lesson_text(reader, root, "schema", true);
  if (schema != NULL && strcmp(schema, "perp-lesson/2") != 0)
    perp_diag_error(reader->diag, perp_tree_get(root, "schema"), 0, "schema: perp-lesson/2",
                    "unknown schema '%s'", schema);
  lesson->title = lesson_text(reader, root, "title", true);
  lesson->minutes = perp_whole(lesson_number(reader, root, "minutes"), 1 << 20);
  const perp_node *predict = lesson_part(reader, root, "predict", PERP_NODE_MAP),
                  *study = lesson_part(reader, root, "study", PERP_NODE_MAP),
                  *lcp = lesson_part(reader, root, "lcp", PERP_NODE_MAP),
                  *plots = lesson_part(reader, root, "plots", PERP_NODE_LIST),
                  *explore = lesson_part(reader, root, "explore", PERP_NODE_MAP),
                  *exercises = lesson_part(reader, root, "exercises", PERP_NODE_LIST);
  if (reader->diag->errors > 0) return;
  if (predict == NULL || exercises == NULL || (study == NULL && lcp == NULL)) {
    perp_diag_error(reader->diag, root, 0, "perp new lesson NAME writes one that has all",
                    "a lesson requires predict, exercises, and a study or an lcp");
    return;
  }
  if (study == NULL && (plots != NULL || explore != NULL))
    perp_diag_error(reader->diag, plots != NULL ? plots : explore, 0, NULL,
                    "plots and explore show the runs of a study, which is missing");
  read_predict(reader, predict);
  if (study != NULL) lesson->study = study_of(lesson, study);
  if (lcp != NULL) lesson_read_lcp(reader, lcp);
  if (plots != NULL) read_plots(reader, plots);
  lesson->show = lesson_read_numbers(reader, lesson_part(reader, root, "show", PERP_NODE_LIST),
                                     "expr", &lesson->n_show);
  if (explore != NULL) read_explore(reader, explore);
  lesson->live = lesson_part(reader, root, "live", PERP_NODE_MAP);
  lesson->exercises = perp_pool_alloc(&lesson->pool, (size_t)exercises->n + 1,
                                      sizeof *lesson->exercises);
  for (int i = 0; i < exercises->n; i++)
    read_exercise(reader, exercises->item[i], &lesson->exercises[lesson->n_exercises++]);
  if (exercises->n == 0)
    perp_diag_error(reader->diag, exercises, 0, NULL, "a lesson requires one exercise or more");
}

/* lesson.md and notes.md */
static void read_texts(struct reader *reader)
{
  perp_lesson *lesson = reader->l;
  const char *path = perp_pool_printf(&lesson->pool, "%s/lesson.md", lesson->folder);
  char *text = perp_read_file(path, NULL), *notes;
  for (const char *at = text; at != NULL && *at != '\0'; at += perp_tree_character(at))
    if (perp_tree_character(at) == 0 && *at != '\n' && *at != '\t') {
      perp_diag_error(reader->diag, NULL, 0, NULL, "%s: not a text in UTF-8", path);
      break;
    }
  if (text == NULL)
    perp_diag_error(reader->diag, NULL, 0, NULL, "cannot read %s: %s", path, strerror(errno));
  else {
    lesson->story = perp_lesson_section(&lesson->pool, text, "Story");
    lesson->conclusion = perp_lesson_section(&lesson->pool, text, "Conclusion");
    lesson->slides = perp_lesson_section(&lesson->pool, text, "Slides");
    if (lesson->story == NULL || lesson->conclusion == NULL)
      perp_diag_error(reader->diag, NULL, 0, NULL, "%s: the line '# %s' is missing", path,
                      lesson->story == NULL ? "Story" : "Conclusion");
  }
  free(text);
  notes = perp_read_file(perp_pool_printf(&lesson->pool, "%s/notes.md", lesson->folder), NULL);
  if (notes != NULL) lesson->notes = perp_pool_strdup(&lesson->pool, notes);
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
  perp_lesson *lesson = perp_xalloc(1, sizeof *lesson);
  size_t length = strlen(folder);
  while (length > 1 && folder[length - 1] == '/') length--;
  lesson->folder = perp_pool_strndup(&lesson->pool, folder, length);
  lesson->file = perp_pool_printf(&lesson->pool, "%s/lesson.yaml", lesson->folder);
  char *whole = perp_real_path(folder), *bytes = perp_read_file(lesson->file, &size);
  if (bytes == NULL || whole == NULL) {
    const perp_status status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", lesson->file,
                                         perp_input_why(errno));
    free(whole);
    free(bytes);
    perp_lesson_free(lesson);
    return status;
  }
  char *name = perp_base_name(whole, "");
  lesson->name = perp_pool_strdup(&lesson->pool, name);
  lesson->call = lesson->name;
  const size_t good = strspn(lesson->name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  if (lesson->name[good] != '\0' || !strchr("abcdefghijklmnopqrstuvwxyz", lesson->name[0]))
    perp_diag_error(diag, NULL, 0, NULL,
                    "%s: the folder of a lesson is named by lower-case letters, digits, '-' and "
                    "'_', a letter first: got '%s'",
                    lesson->folder, lesson->name);
  perp_node *root = perp_tree_read(&lesson->pool, diag, lesson->file, bytes, size);
  struct reader reader = { lesson, diag };
  if (root != NULL && root->type == PERP_NODE_MAP)
    read_lesson(&reader, root);
  else if (diag->errors == 0)
    perp_diag_error(diag, root, 0, NULL, "a lesson must be a map");
  read_texts(&reader);
  free(name);
  free(whole);
  free(bytes);
  if (diag->errors > 0) {
    PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s is not a valid lesson", lesson->folder);
    perp_lesson_free(lesson);
    return PERP_ERR_FORMAT;
  }
  *out = lesson;
  return PERP_OK;
}

void perp_lesson_free(perp_lesson *lesson)
{
  if (lesson == NULL) return;
  perp_pool pool = lesson->pool;
  free(lesson);
  perp_pool_free(&pool);
}
