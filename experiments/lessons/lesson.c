/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lesson files: finding and reading them. */
#include "experiments/lessons/lesson.h"

#include "experiments/base/build.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"
#include "solvers/core/finite.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where they are ---- */

/* The folder of the lessons, like that of the studies; in pool, NULL when there is none. */
static const char *lesson_folder(perp_pool *pool)
{
  const char *home = getenv("PERP_HOME");
  const char *dirs[] = { home != NULL ? perp_pool_printf(pool, "%s/experiments/lessons", home)
                                      : NULL,
                         PERP_LESSONS_INSTALLED, PERP_LESSONS_SOURCE };
  for (int i = 0; i < 3; i++)
    if (dirs[i] != NULL && perp_exists(perp_pool_printf(pool, "%s/order.txt", dirs[i])))
      return dirs[i];
  return NULL;
}

int perp_lesson_files(perp_pool *pool, perp_lesson_file **files)
{
  const char *dir = lesson_folder(pool);
  char *order = dir != NULL ? perp_read_file(perp_pool_printf(pool, "%s/order.txt", dir), NULL)
                            : NULL;
  int n = 0;
  *files = perp_pool_alloc(pool, 64, sizeof **files);
  for (char *s = order; s != NULL && *s != '\0' && n < 64;) {
    size_t length = strcspn(s, "\n"), word = strcspn(s, " \n");
    perp_lesson_file *f = &(*files)[n];
    if (word > 0 && *s != '#') {
      f->name = perp_pool_strndup(pool, s, word);
      f->path = perp_pool_printf(pool, "%s/%s.yaml", dir, f->name);
      const char *title = s + word + strspn(s + word, " ");
      f->title = perp_pool_strndup(pool, title, length - (size_t)(title - s));
      n++;
    }
    s += length + (s[length] == '\n');
  }
  free(order);
  return n;
}

/* ---- reading ---- */

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

static double lesson_number(struct reader *r, const perp_node *node)
{
  if (node != NULL && node->type == PERP_NODE_SCALAR) {
    double v = perp_real_of(node->text);
    if (!isnan(v) || perp_parse_share(node->text, &v)) return v;
  }
  perp_diag_error(r->diag, node, 0, NULL, "a number is required here");
  return 0;
}

static void read_vector(struct reader *r, const perp_node *node, int n, double *out, int stride)
{
  if (node == NULL || node->type != PERP_NODE_LIST || node->n != n) {
    perp_diag_error(r->diag, node, 0, NULL, "a list of %d numbers is required here", n);
    return;
  }
  for (int i = 0; i < n; i++) out[i * stride] = lesson_number(r, node->item[i]);
}

static void read_vary(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "row", "values", "text", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, map, "vary", keys);
  const perp_node *values = perp_tree_get(map, "values");
  l->vary.row = perp_whole(lesson_number(r, perp_tree_get(map, "row")), 1 << 30) - 1;
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
  static const char *const keys[] = { "title", "kind", "x", "y", "by", "where", "log", NULL };
  if (map->type != PERP_NODE_MAP) {
    perp_diag_error(r->diag, map, 0, NULL, "a plot must be a map");
    return;
  }
  perp_study_check_keys(r->diag, map, "plots", keys);
  const char *kind = lesson_text(r, map, "kind", true);
  p->series = kind != NULL && strcmp(kind, "series") == 0;
  if (kind != NULL && !p->series && strcmp(kind, "cells") != 0)
    perp_diag_error(r->diag, perp_tree_get(map, "kind"), 0, NULL,
                    "the kind of a plot must be `cells` or `series`");
  p->title = lesson_text(r, map, "title", true);
  p->x = lesson_text(r, map, "x", !p->series);
  p->y = lesson_text(r, map, "y", true);
  p->by = lesson_text(r, map, "by", false);
  p->where = lesson_text(r, map, "where", false);
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

static void read_exercise(struct reader *r, const perp_node *map)
{
  static const char *const keys[] = { "ask",    "try",      "set",   "check", "expr",
                                      "within", "solution", "wrong", "hint",  NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, map, "exercise", keys);
  l->exercise.ask = lesson_text(r, map, "ask", true);
  l->exercise.try = lesson_text(r, map, "try", false);
  bool tries = l->exercise.try != NULL;
  l->exercise.check = lesson_text(r, map, "check", tries);
  l->exercise.expr = lesson_text(r, map, "expr", !tries);
  l->exercise.solution = lesson_text(r, map, "solution", true);
  l->exercise.wrong = lesson_text(r, map, "wrong", true);
  l->exercise.hint = lesson_text(r, map, "hint", true);
  l->set = lesson_texts(r, map, "set", &l->n_set);
  if (!tries) l->exercise.within = lesson_number(r, perp_tree_get(map, "within"));
}

static char *study_of(const perp_lesson *l, const perp_node *node)
{
  char *out = NULL;
  size_t n = 0;
  FILE *f = perp_memory_stream(&out, &n);
  fprintf(f, "schema: perp-study/1\nstudy: { name: lesson-%s }\n", l->name);
  perp_tree_write(node, f);
  perp_memory_stream_close(f);
  return out;
}

static void read_lesson(struct reader *r, const perp_node *root)
{
  static const char *const keys[] = { "schema", "title", "story",   "predict", "study",    "lcp",
                                      "plots",  "show",  "explore", "end",     "exercise", NULL };
  static const char *const predict_keys[] = { "ask", "choices", "answer", "because", NULL };
  perp_lesson *l = r->l;
  perp_study_check_keys(r->diag, root, "a lesson", keys);
  const char *schema = lesson_text(r, root, "schema", true);
  if (schema != NULL && strcmp(schema, "perp-lesson/1") != 0)
    perp_diag_error(r->diag, perp_tree_get(root, "schema"), 0, NULL,
                    "the schema of a lesson must be perp-lesson/1");
  l->title = lesson_text(r, root, "title", true);
  l->story = lesson_texts(r, root, "story", &l->n_story);
  l->end = lesson_texts(r, root, "end", &l->n_end);
  const perp_node *predict = perp_tree_get(root, "predict"), *study = perp_tree_get(root, "study"),
                  *lcp = perp_tree_get(root, "lcp"), *plots = perp_tree_get(root, "plots"),
                  *show = perp_tree_get(root, "show"), *explore = perp_tree_get(root, "explore"),
                  *exercise = perp_tree_get(root, "exercise");
  if (predict == NULL || predict->type != PERP_NODE_MAP || exercise == NULL ||
      exercise->type != PERP_NODE_MAP || (study == NULL && lcp == NULL)) {
    perp_diag_error(r->diag, root, 0, NULL,
                    "a lesson requires the maps predict and exercise, and a study or an lcp");
    return;
  }
  perp_study_check_keys(r->diag, predict, "predict", predict_keys);
  l->ask = lesson_text(r, predict, "ask", true);
  l->because = lesson_text(r, predict, "because", true);
  l->choices = lesson_texts(r, predict, "choices", &l->n_choices);
  l->answer = perp_whole(lesson_number(r, perp_tree_get(predict, "answer")), 1 << 30);
  if (l->answer < 1 || l->answer > l->n_choices)
    perp_diag_error(r->diag, predict, 0, NULL,
                    "predict.answer must be the number of one of the %d choices", l->n_choices);
  if (lcp != NULL && lcp->type == PERP_NODE_MAP) lesson_read_lcp(r, lcp);
  if (plots != NULL && plots->type == PERP_NODE_LIST) read_plots(r, plots);
  l->show = lesson_read_numbers(r, show, "expr", &l->n_show);
  if (explore != NULL && explore->type == PERP_NODE_MAP) read_explore(r, explore);
  read_exercise(r, exercise);
  if (study != NULL) l->study = study_of(l, study);
}

perp_status perp_lesson_read(perp_ctx *ctx, const char *path, const char *name, perp_diag *diag,
                             perp_lesson **out)
{
  *out = NULL;
  size_t size = 0;
  char *bytes = perp_read_file(path, &size);
  if (bytes == NULL)
    return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path, perp_input_why(errno));
  perp_lesson *l = perp_xalloc(1, sizeof *l);
  l->name = perp_pool_strdup(&l->pool, name);
  perp_node *root = perp_tree_read(&l->pool, diag, perp_pool_strdup(&l->pool, path), bytes, size);
  struct reader r = { l, diag };
  if (root != NULL && root->type == PERP_NODE_MAP)
    read_lesson(&r, root);
  else if (diag->errors == 0)
    perp_diag_error(diag, root, 0, NULL, "a lesson must be a map");
  free(bytes);
  if (diag->errors > 0) {
    perp_lesson_free(l);
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s is not a valid lesson", path);
  }
  *out = l;
  return PERP_OK;
}

void perp_lesson_free(perp_lesson *l)
{
  if (l == NULL) return;
  free(l->study);
  perp_pool_free(&l->pool);
  free(l);
}
