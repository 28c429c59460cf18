/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lesson computes: its study, the figures, the exercise. */
#include "experiments/lessons/lesson.h"
#include "experiments/report/csv.h"
#include "experiments/runner/cli.h"
#include "experiments/runner/run.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the run --------------------------------------------------------------------------------------------------- */

static perp_study *read_study(perp_ctx *ctx, const perp_lesson *l, const char *const *set,
                              int n_set)
{
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  char *name = perp_xprintf("lesson %s", l->name);
  perp_study_request q = {
    .file = name, .text = l->study, .profile = "", .set = set, .n_set = n_set
  };
  if (perp_study_read(ctx, &q, &diag, &study) != PERP_OK) {
    /* the first line of the message, without the place, which means nothing to the reader */
    const char *first = strstr(diag.text.s, "error: ");
    first = first != NULL ? first + 7 : diag.text.s;
    PERP_FAIL(ctx, PERP_ERR_OPTION, "%.*s", (int)strcspn(first, "\n"), first);
    study = NULL;
  }
  perp_diag_free(&diag);
  free(name);
  return study;
}

perp_status perp_lesson_run(perp_ctx *ctx, const perp_lesson *l, const char *const *set, int n_set,
                            const char *dir, perp_results *results)
{
  perp_study *study = read_study(ctx, l, set, n_set);
  if (study == NULL) return PERP_ERR_OPTION;
  perp_run_options o = { .dir = dir,
                         .quiet = true,
                         .fresh = true,
                         .again = "perp lesson",
                         .timeout = (double)NAN,
                         .memory = (double)NAN };
  /* the summary of a run is not for the reader of a lesson */
  fflush(stdout);
  int keep = dup(1), null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, 1);
  int code = perp_run(ctx, study, &o, NULL);
  fflush(stdout);
  if (keep >= 0) dup2(keep, 1);
  if (null >= 0) close(null);
  if (keep >= 0) close(keep);
  perp_study_free(study);
  if (code != PERP_EXIT_OK && code != PERP_EXIT_FAILED && code != PERP_EXIT_INFRA)
    return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "the run of the lesson ended with status %d", code);
  return perp_results_load(ctx, dir, NULL, results);
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

struct picture {
  perp_ctx *ctx;
  perp_results *results;
  perp_scope scope;
  const perp_lesson_plot *plot;
  FILE *data;
  int curves;
};

static bool usable(double v, bool logarithmic)
{
  return isfinite(v) && (!logarithmic || v > 0);
}

/* A column, or an option of a plug-in: "scene.links". */
static double value_at(const struct picture *p, const char *name, int row)
{
  const perp_study *s = p->results->study;
  int column = perp_study_column(s, name);
  if (column >= 0) {
    perp_value v;
    p->scope.value(p->scope.user, row, column, &v);
    return v.type == PERP_VALUE_NUMBER ? v.number : (double)NAN;
  }
  char key[32], text[64] = "";
  size_t n = strcspn(name, ".");
  if (n >= sizeof key) return (double)NAN;
  memcpy(key, name, n);
  key[n] = '\0';
  int param = perp_kind_param(s->kind, key);
  perp_spec spec;
  if (param < 0 || strchr(name, '.') == NULL ||
      perp_spec_parse(p->ctx, s->kind->params[param].plugin,
                      p->results->plan.cells[row].value[param], &spec) != PERP_OK)
    return (double)NAN;
  for (const perp_opt *o = spec.d->opts; o != NULL && o->type != PERP_OPT_END; o++)
    if (strcmp(o->key, strchr(name, '.') + 1) == 0)
      perp_opt_format(o, spec.opts, text, sizeof text);
  perp_spec_free(&spec);
  return text[0] != '\0' ? strtod(text, NULL) : (double)NAN;
}

struct point {
  double x, y;
};

static int by_x(const void *a, const void *b)
{
  double x = ((const struct point *)a)->x, y = ((const struct point *)b)->x;
  return (x > y) - (x < y);
}

static void put_curve(struct picture *p, const char *label, struct point *point, int n)
{
  if (n == 0) return;
  qsort(point, (size_t)n, sizeof *point, by_x);
  if (p->curves++ > 0) fputs("\n\n", p->data);
  fputc('"', p->data);
  for (; *label != '\0'; label++) fputc(*label == '"' ? '\'' : *label, p->data);
  fputs("\"\n", p->data);
  for (int i = 0; i < n; i++) fprintf(p->data, "%.17g %.17g\n", point[i].x, point[i].y);
}

/* Cells with the same text in column `by` are one curve. */
static void put_cells(struct picture *p, const bool *chosen)
{
  const perp_study *s = p->results->study;
  int n = p->results->plan.n;
  int by = p->plot->by != NULL ? perp_kind_param(s->kind, p->plot->by) : -1;
  bool *done = perp_xalloc((size_t)n + 1, sizeof *done);
  struct point *point = perp_xalloc((size_t)n + 1, sizeof *point);
  for (int i = 0; i < n; i++) {
    if (!chosen[i] || done[i]) continue;
    int count = 0;
    const char *label = by >= 0 ? p->results->plan.cells[i].value[by] : p->plot->y;
    for (int k = i; k < n; k++) {
      if (!chosen[k] || done[k] ||
          (by >= 0 && strcmp(p->results->plan.cells[k].value[by], label) != 0))
        continue;
      done[k] = true;
      struct point q = { value_at(p, p->plot->x, k), value_at(p, p->plot->y, k) };
      if (usable(q.x, strchr(p->plot->log, 'x') != NULL) &&
          usable(q.y, strchr(p->plot->log, 'y') != NULL))
        point[count++] = q;
    }
    put_curve(p, label, point, count);
  }
  free(done);
  free(point);
}

static int column_of(const perp_csv *t, const char *field)
{
  size_t n = strlen(field);
  for (int c = 0; c < t->columns; c++)
    if (strncmp(t->header[c], field, n) == 0 && (t->header[c][n] == '[' || t->header[c][n] == '\0'))
      return c;
  return -1;
}

static void put_series(struct picture *p, const bool *chosen)
{
  const perp_study *s = p->results->study;
  int by = p->plot->by != NULL ? perp_kind_param(s->kind, p->plot->by) : -1;
  for (int i = 0; i < p->results->plan.n; i++) {
    perp_csv t;
    if (!chosen[i]) continue;
    char *path = perp_xprintf("%s/series/%s.csv", p->results->dir, p->results->plan.cells[i].id);
    bool read = perp_exists(path) && perp_csv_read(p->ctx, path, &t) == PERP_OK;
    free(path);
    if (!read) continue;
    int y = column_of(&t, p->plot->y), n = 0;
    struct point *point = perp_xalloc((size_t)t.rows + 1, sizeof *point);
    for (int r = 0; r < t.rows && y >= 0; r++) {
      struct point q = { perp_csv_number(&t, r, 0), perp_csv_number(&t, r, y) };
      if (usable(q.x, strchr(p->plot->log, 'x') != NULL) &&
          usable(q.y, strchr(p->plot->log, 'y') != NULL))
        point[n++] = q;
    }
    put_curve(p, by >= 0 ? p->results->plan.cells[i].value[by] : p->plot->y, point, n);
    free(point);
    perp_csv_free(&t);
  }
}

static bool *chosen_cells(struct picture *p)
{
  int n = p->results->plan.n;
  bool *chosen = perp_xalloc((size_t)n + 1, sizeof *chosen);
  perp_pool pool = { 0 };
  perp_expr_error error;
  perp_expr *where = p->plot->where != NULL
                         ? perp_expr_parse(&pool, &p->scope, p->plot->where, &error)
                         : NULL;
  for (int i = 0; i < n; i++)
    chosen[i] = p->results->record[i].attempt > 0 &&
                (where == NULL || perp_expr_true(where, &p->scope, i));
  perp_pool_free(&pool);
  return chosen;
}

static void gnuplot_text(FILE *f, const char *s)
{
  fputc('\'', f);
  for (; *s != '\0'; s++) {
    if (*s == '\'') fputc('\'', f);
    fputc(*s, f);
  }
  fputc('\'', f);
}

static void put_script(const struct picture *p, FILE *f, const char *data, const char *output,
                       bool svg)
{
  const char *x = p->plot->x != NULL ? p->plot->x : p->plot->series ? "t" : "";
  fprintf(f, "set terminal %s\nset output '%s'\n",
          svg ? "svg size 720,440 dynamic enhanced" : "dumb 78 22", output);
  fprintf(f, "set termoption noenhanced\nset format '%%g'\nset title ");
  gnuplot_text(f, p->plot->title);
  fprintf(f, "\nset xlabel ");
  gnuplot_text(f, x);
  fprintf(f, svg ? "\nset ylabel " : "\nset label 1 at graph 0.02, graph 0.97 ");
  if (svg)
    gnuplot_text(f, p->plot->y);
  else
    fprintf(f, "''");
  fprintf(f, "\nset key outside bottom center horizontal\n");
  for (const char *c = p->plot->log; *c != '\0'; c++)
    fprintf(f, "set logscale %c\nset format %c '%%.0e'\n", *c, *c);
  /* one curve leaves gnuplot no range when all its values are equal */
  fprintf(f, "set offsets graph 0, graph 0, graph 0.02, graph 0.02\nplot ");
  for (int k = 0; k < p->curves; k++)
    fprintf(f, "%s'%s' index %d using 1:2 with %s title columnheader(1)", k > 0 ? ", " : "", data,
            k, p->plot->series ? "lines" : "linespoints");
  fputc('\n', f);
}

/* gnuplot begins a dumb picture with a form feed and blank lines. */
static const char *terminal_text(perp_pool *pool, const char *path)
{
  char *text = perp_read_file(path, NULL);
  if (text == NULL) return NULL;
  perp_text out = { 0 };
  for (char *s = text; *s != '\0';) {
    size_t n = strcspn(s, "\n"), used = n;
    while (used > 0 && strchr(" \f\r", s[used - 1]) != NULL) used--;
    if (used > 0) perp_text_add(&out, "%.*s\n", (int)used, s);
    s += n + (s[n] == '\n');
  }
  free(text);
  const char *kept = out.n > 0 ? perp_pool_strdup(pool, out.s) : NULL;
  perp_text_free(&out);
  return kept;
}

const char *perp_lesson_draw(perp_ctx *ctx, perp_pool *pool, perp_results *results,
                             const perp_lesson_plot *plot, const char *dir, const char *svg)
{
  struct picture p = { .ctx = ctx, .results = results, .plot = plot };
  perp_results_scope(ctx, results, false, &p.scope);
  char *data = perp_xprintf("%s/plot.dat", dir), *script = perp_xprintf("%s/plot.gp", dir),
       *output = perp_xprintf("%s/plot.txt", dir);
  const char *result = NULL;
  p.data = fopen(data, "w");
  if (p.data != NULL) {
    bool *chosen = chosen_cells(&p);
    (plot->series ? put_series : put_cells)(&p, chosen);
    free(chosen);
    fclose(p.data);
  }
  FILE *f = p.curves > 0 ? fopen(script, "w") : NULL;
  if (f != NULL) {
    put_script(&p, f, data, svg != NULL ? svg : output, svg != NULL);
    fclose(f);
    unlink(output);
    char *command = perp_xprintf("gnuplot '%s' >/dev/null 2>&1", script);
    if (system(command) == 0) result = svg != NULL ? svg : terminal_text(pool, output);
    free(command);
  }
  free(data);
  free(script);
  free(output);
  return result;
}

/* ---- the exercise ----------------------------------------------------------------------------------------------------- */

perp_status perp_lesson_value(perp_ctx *ctx, perp_results *results, const char *expr, double *value)
{
  perp_pool pool = { 0 };
  perp_scope scope;
  perp_expr_error error;
  double zero;
  /* the language knows conditions: the left side of one is the number */
  const char *condition = perp_pool_printf(&pool, "(%s) >= 0", expr);
  perp_results_scope(ctx, results, true, &scope);
  perp_expr *e = perp_expr_parse(&pool, &scope, condition, &error);
  *value = (double)NAN;
  if (e != NULL) perp_expr_sides(e, &scope, value, &zero);
  perp_pool_free(&pool);
  return e != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: %s", expr, error.message);
}

static perp_status check_number(perp_ctx *ctx, const perp_lesson *l, perp_results *r,
                                const char *answer, bool *right, perp_text *why)
{
  char *end;
  double given = strtod(answer, &end), want;
  if (end == answer || *end != '\0')
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "a number is asked for: got '%s'", answer);
  PERP_TRY(perp_lesson_value(ctx, r, l->exercise.expr, &want));
  *right = fabs(given - want) <= l->exercise.within * fabs(want);
  if (*right)
    perp_text_add(why, "the run says %.3g", want);
  else
    perp_text_add(why, "%s is %s", answer, given < want ? "too small" : "too large");
  return PERP_OK;
}

static perp_status check_try(perp_ctx *ctx, const perp_lesson *l, perp_results *r, bool *right,
                             perp_text *why)
{
  perp_pool pool = { 0 };
  perp_scope scope;
  perp_expr_error error;
  perp_results_scope(ctx, r, true, &scope);
  perp_expr *e = perp_expr_parse(&pool, &scope, l->exercise.check, &error);
  if (e == NULL) {
    perp_pool_free(&pool);
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "exercise.check: %s", error.message);
  }
  double left, wanted;
  *right = perp_expr_true(e, &scope, -1);
  perp_expr_sides(e, &scope, &left, &wanted);
  if (perp_expr_undecided(e, &scope))
    perp_text_add(why,
                  r->count[PERP_CELL_OK] > 0 ? "%s: the run does not have that figure"
                                             : "%s: no run came to its end",
                  l->exercise.check);
  else
    perp_text_add(why, isfinite(left) ? "%s [%.3g against %.3g]" : "%s", l->exercise.check, left,
                  wanted);
  perp_pool_free(&pool);
  return PERP_OK;
}

perp_status perp_lesson_check(perp_ctx *ctx, const perp_lesson *l, const char *answer,
                              const char *dir, bool *right, perp_text *why)
{
  *right = false;
  if (l->study == NULL) { /* a pivoting lesson: the answer is compared as it is */
    double given = strtod(answer, NULL), want = strtod(l->exercise.expr, NULL);
    *right = fabs(given - want) <= l->exercise.within * fabs(want) + 1e-12;
    perp_text_add(why, *right ? "%s" : "%s is not it", answer);
    return PERP_OK;
  }
  const char *set[PERP_ARGS_MAX];
  int n = 0;
  for (; n < l->n_set && n < PERP_ARGS_MAX - 1; n++) set[n] = l->set[n];
  char *mine = l->exercise.try != NULL ? perp_xprintf("%s=%s", l->exercise.try, answer) : NULL;
  if (mine != NULL) set[n++] = mine;
  perp_results results;
  perp_status status = perp_lesson_run(ctx, l, set, n, dir, &results);
  free(mine);
  if (status != PERP_OK) return status;
  status = l->exercise.try != NULL ? check_try(ctx, l, &results, right, why)
                                   : check_number(ctx, l, &results, answer, right, why);
  perp_results_free(&results);
  return status;
}
