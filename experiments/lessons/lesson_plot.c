/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of a lesson: curves picked from the results, and gnuplot's drawing of them. */
#include "experiments/lessons/lesson.h"
#include "experiments/pages/csv.h"
#include "experiments/pages/gnuplot.h"
#include "experiments/base/numbers.h"
#include "experiments/study/words.h"
#include "experiments/base/files.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 64 };
static const double DEGREE = 0.017453292519943295;

/* ---- numbers and names ---- */

static const char *lesson_plot_unit_of(const perp_results *results, const char *name)
{
  const perp_metric *metric = perp_study_metric(results->study, name);
  int param = perp_kind_param(results->study->kind, name);
  return metric != NULL ? metric->unit
         : param >= 0   ? results->study->kind->params[param].unit
                        : NULL;
}

double perp_lesson_at(perp_ctx *ctx, perp_results *results, const char *name, int cell,
                      const char **unit)
{
  const char *none;
  char text[64];
  if (unit == NULL) unit = &none;
  *unit = lesson_plot_unit_of(results, name);
  int column = perp_study_column(results->study, name);
  double v = (double)NAN;
  if (column >= 0) {
    perp_value value;
    const perp_scope scope = perp_results_scope(ctx, results, false);
    scope.value(scope.user, cell, column, &value);
    if (value.type == PERP_VALUE_NUMBER) v = value.number;
  } else {
    const perp_opt *option = perp_results_option(ctx, results, cell, name, text, sizeof text, &v);
    if (option != NULL) *unit = option->unit;
  }
  if (*unit != NULL && strcmp(*unit, "rad") == 0) {
    *unit = "deg";
    v /= DEGREE;
  }
  return v;
}

const char *perp_lesson_quantity(perp_pool *pool, double v, const char *unit)
{
  if (unit == NULL || unit[0] == '\0' || strcmp(unit, "-") == 0)
    return perp_pool_printf(pool, "%.4g", v);
  if (strcmp(unit, "s") == 0 && v < 0.1) return perp_pool_printf(pool, "%.4g ms", v * 1e3);
  return perp_pool_printf(pool, "%.4g %s", v, unit);
}

/* "largest drift [m]" of drift.pos.max; without words the last part, "ratio" of scene.ratio */
static const char *lesson_plot_axis(perp_pool *pool, const char *name, const char *unit)
{
  const char *words = perp_words(name), *dot = strrchr(name, '.');
  name = strcmp(words, name) != 0 || dot == NULL ? words : dot + 1;
  bool bare = unit == NULL || unit[0] == '\0' || strcmp(unit, "-") == 0;
  return bare || strchr(name, '[') != NULL ? name : perp_pool_printf(pool, "%s [%s]", name, unit);
}

/* "theta = 26 deg" */
static const char *lesson_plot_named(perp_pool *pool, const char *name, double v, const char *unit)
{
  const char *dot = strrchr(name, '.');
  return perp_pool_printf(pool, "%s = %s", dot != NULL ? dot + 1 : name,
                          perp_lesson_quantity(pool, v, unit));
}

/* ---- labels ---- */

/* Length of the name of a plug-in, which may have a colon ("gsl:rk8pd:..."), before its options. */
static size_t name_length(const char *label)
{
  size_t n = strcspn(label, "=");
  if (label[n] == '\0') return n;
  while (n > 0 && label[n] != ':') n--;
  return n > 0 ? n : strlen(label);
}

/* The options, from the ':' before them; NULL: none. */
static const char *lesson_plot_options_of(const char *label)
{
  const char *at = label + name_length(label);
  return *at != '\0' ? at : NULL;
}

static bool same_name(const char *a, const char *b)
{
  size_t n = name_length(a);
  return n == name_length(b) && strncmp(a, b, n) == 0;
}

/* Does every label have this option? */
static bool is_common(const perp_lesson_figure *figure, const char *item, size_t n)
{
  for (int curve = 0; curve < figure->n; curve++) {
    bool has = false;
    for (const char *at = lesson_plot_options_of(figure->curve[curve].label); at != NULL && !has;
         at = strchr(at + 1, ','))
      has = strncmp(at + 1, item, n) == 0 && (at[n + 1] == ',' || at[n + 1] == '\0');
    if (!has) return false;
  }
  return true;
}

/* The options that tell this label from the others, numbers with 4 digits. */
static const char *distinct_options(perp_pool *pool, const perp_lesson_figure *figure,
                                    const char *label)
{
  const char *out = "";
  for (const char *at = lesson_plot_options_of(label); at != NULL; at = strchr(at + 1, ',')) {
    size_t n = strcspn(at + 1, ","), key = strcspn(at + 1, "=");
    if (is_common(figure, at + 1, n)) continue;
    double v = 0;
    const char *end = key < n ? perp_real_at(at + 2 + key, &v) : NULL;
    const char *sep = out[0] != '\0' ? ", " : "";
    out = key < n && end == at + 1 + n
              ? perp_pool_printf(pool, "%s%s%.*s=%.4g", out, sep, (int)key, at + 1, v)
              : perp_pool_printf(pool, "%s%s%.*s", out, sep, (int)n, at + 1);
  }
  return out;
}

/* "pgs:max_iter=100000" is pgs where no other pgs is drawn, "post:passes=1" beside "post:passes=2"
 * passes=1. */
static void lesson_plot_shorten(perp_pool *pool, perp_lesson_figure *figure)
{
  bool alone = true, together = true;
  for (int curve = 0; curve < figure->n; curve++)
    for (int k = 0; k < curve; k++) {
      bool same = same_name(figure->curve[curve].label, figure->curve[k].label);
      alone = alone && (!same || strcmp(figure->curve[curve].label, figure->curve[k].label) == 0);
      together = together && same;
    }
  const char *label[MOST_CURVES];
  for (int curve = 0; curve < figure->n; curve++) {
    const char *at = figure->curve[curve].label;
    label[curve] = alone ? perp_pool_strndup(pool, at, name_length(at))
                   : together && lesson_plot_options_of(at) != NULL
                       ? distinct_options(pool, figure, at)
                       : at;
    if (label[curve][0] == '\0') label[curve] = at;
  }
  for (int curve = 0; curve < figure->n; curve++) figure->curve[curve].label = label[curve];
}

/* ---- the curves ---- */

struct picker {
  perp_ctx *ctx;
  perp_pool *pool;
  perp_results *r;
  const perp_lesson_plot *plot;
  perp_lesson_figure *f;
};

static bool lesson_plot_usable(double v, bool logarithmic)
{
  return isfinite(v) && (!logarithmic || v > 0);
}

/* Points [n] in the pool become a curve: those that the axes can show, sorted by x unless they are
 * a path. */
static void put_curve(struct picker *picker, const char *label, double *x, double *y, int n)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (lesson_plot_usable(x[i], strchr(picker->plot->log, 'x') != NULL) &&
        lesson_plot_usable(y[i], strchr(picker->plot->log, 'y') != NULL)) {
      x[kept] = x[i];
      y[kept++] = y[i];
    }
  if (kept == 0 || picker->f->n == MOST_CURVES) return;
  if (!picker->plot->path) gsl_sort2(x, 1, y, 1, (size_t)kept);
  picker->f->curve[picker->f->n++] = (perp_lesson_curve){
    .label = label, .n = kept, .x = x, .y = y
  };
}

/* What the curve of a cell is called: the value of `by`, a parameter or the option of one. */
static const char *label_of(struct picker *picker, int cell, const char *otherwise)
{
  const char *by = picker->plot->by, *unit;
  int param = by != NULL ? perp_kind_param(picker->r->study->kind, by) : -1;
  if (by == NULL) return otherwise;
  if (param >= 0 && picker->r->study->kind->params[param].type == PERP_PARAM_PLUGIN)
    return picker->r->plan.cells[cell].value[param].text;
  double v = perp_lesson_at(picker->ctx, picker->r, by, cell, &unit);
  return isnan(v) ? otherwise : lesson_plot_named(picker->pool, by, v, unit);
}

/* Cells with the same label are one curve. */
static void pick_cells(struct picker *picker, const bool *chosen)
{
  int n = picker->r->plan.n;
  const char *unit = NULL, **label = perp_pool_alloc(picker->pool, (size_t)n, sizeof *label);
  for (int cell = 0; cell < n; cell++)
    if (chosen[cell]) label[cell] = label_of(picker, cell, picker->plot->y);
  for (int i = 0; i < n; i++) {
    int count = 0;
    if (label[i] == NULL) continue;
    double *x = perp_pool_alloc(picker->pool, (size_t)(n - i), sizeof *x),
           *y = perp_pool_alloc(picker->pool, (size_t)(n - i), sizeof *y);
    for (int k = i; k < n; k++) {
      if (label[k] == NULL || (k > i && strcmp(label[k], label[i]) != 0)) continue;
      x[count] = perp_lesson_at(picker->ctx, picker->r, picker->plot->x, k, &unit);
      y[count++] = perp_lesson_at(picker->ctx, picker->r, picker->plot->y, k, NULL);
      if (k > i) label[k] = NULL;
    }
    put_curve(picker, label[i], x, y, count);
  }
  picker->f->x = lesson_plot_axis(picker->pool, picker->plot->x, unit);
  picker->f->y = lesson_plot_axis(picker->pool, picker->plot->y,
                                  lesson_plot_unit_of(picker->r, picker->plot->y));
}

/* "error of the tip [m]" of "err.tip[m]" */
static const char *header_axis(perp_pool *pool, const char *header)
{
  size_t n = strcspn(header, "["), end = strcspn(header, "]");
  const char *name = perp_pool_strndup(pool, header, n);
  return lesson_plot_axis(
      pool, name, end > n + 1 ? perp_pool_strndup(pool, header + n + 1, end - n - 1) : NULL);
}

/* Field k of one cell; its name is a part of the label where the figure shows several. */
static void pick_field(struct picker *picker, int cell, const perp_csv *csv, int k,
                       const char *field, size_t n)
{
  const bool several = strchr(picker->plot->y, ',') != NULL;
  const char *name = perp_pool_strndup(picker->pool, field, n),
             *shown = k < picker->plot->n_names ? picker->plot->names[k] : name,
             *label = label_of(picker, cell, shown);
  int column = picker->plot->path ? perp_csv_field(csv, picker->plot->x) : 0,
      y = perp_csv_field(csv, name);
  if (column < 0 || y < 0) return;
  if (several && picker->plot->by != NULL)
    label = perp_pool_printf(picker->pool, "%s, %s", shown, label);
  double *xs = perp_pool_alloc(picker->pool, (size_t)csv->rows, sizeof *xs),
         *ys = perp_pool_alloc(picker->pool, (size_t)csv->rows, sizeof *ys);
  for (int row = 0; row < csv->rows; row++) {
    xs[row] = perp_csv_number(csv, row, column);
    ys[row] = perp_csv_number(csv, row, y);
  }
  const int before = picker->f->n;
  put_curve(picker, label, xs, ys, csv->rows);
  if (picker->f->n > before) {
    picker->f->curve[before].cell = cell;
    picker->f->curve[before].field = name;
  }
  picker->f->x = header_axis(picker->pool, csv->header[column]);
  picker->f->y = several ? "" : header_axis(picker->pool, csv->header[y]);
}

static void pick_series(struct picker *picker, const bool *chosen)
{
  for (int cell = 0; cell < picker->r->plan.n; cell++) {
    perp_csv csv;
    const char *path = perp_pool_printf(picker->pool, "%s/series/%s.csv", picker->r->dir,
                                        picker->r->plan.cells[cell].id);
    if (!chosen[cell] || !perp_exists(path) || perp_csv_read(picker->ctx, path, &csv) != PERP_OK)
      continue;
    int k = 0;
    for (const char *at = picker->plot->y; *at != '\0'; at += strspn(at, ", ")) {
      size_t n = strcspn(at, ",");
      pick_field(picker, cell, &csv, k++, at, n);
      at += n;
    }
    perp_csv_free(&csv);
  }
}

void perp_lesson_pick(perp_ctx *ctx, perp_pool *pool, perp_results *results,
                      const perp_lesson_plot *plot, const bool *only, perp_lesson_figure *out)
{
  struct picker picker = { ctx, pool, results, plot, out };
  perp_expr_error error;
  const perp_scope scope = perp_results_scope(ctx, results, false);
  perp_expr *where = plot->where != NULL ? perp_expr_parse(pool, &scope, plot->where, &error)
                                         : NULL;
  bool *chosen = perp_pool_alloc(pool, (size_t)results->plan.n, sizeof *chosen);
  *out = (perp_lesson_figure){ .x = "", .y = "" };
  out->curve = perp_pool_alloc(pool, MOST_CURVES, sizeof *out->curve);
  for (int record = 0; record < results->plan.n; record++)
    chosen[record] = (only == NULL || only[record]) && results->record[record].attempt > 0 &&
                     (where == NULL || perp_expr_true(where, &scope, record));
  (plot->series ? pick_series : pick_cells)(&picker, chosen);
  if (plot->x_label != NULL) out->x = plot->x_label;
  if (plot->y_label != NULL) out->y = plot->y_label;
  lesson_plot_shorten(pool, out);
}

/* ---- gnuplot ---- */

static void put_data(const perp_lesson_figure *figure, FILE *file)
{
  for (int k = 0; k < figure->n; k++) {
    const perp_lesson_curve *curve = &figure->curve[k];
    if (k > 0) fputs("\n\n", file);
    perp_gnuplot_field(file, curve->label);
    fputc('\n', file);
    for (int i = 0; i < curve->n; i++) fprintf(file, "%.17g %.17g\n", curve->x[i], curve->y[i]);
  }
}

static void put_script(const perp_lesson_figure *figure, const perp_lesson_plot *plot, FILE *file)
{
  fprintf(file, "set terminal dumb 78 22\nset output 'plot.out'\n");
  fprintf(file, "set termoption noenhanced\nset format '%%g'\nset title ");
  perp_gnuplot_text(file, plot->title);
  fprintf(file, "\nset xlabel ");
  perp_gnuplot_text(file, figure->x);
  fprintf(file, "\nset key outside bottom center horizontal spacing 1\n");
  for (const char *at = plot->log; *at != '\0'; at++)
    fprintf(file, "set logscale %c\nset format %c '%%.0e'\n", *at, *at);
  /* one curve leaves gnuplot no range when all its values are equal */
  fprintf(file, "set offsets graph 0, graph 0, graph 0.02, graph 0.02\nplot ");
  for (int k = 0; k < figure->n; k++)
    fprintf(file, "%s'plot.dat' index %d using 1:2 with %s title columnheader(1)",
            k > 0 ? ", " : "", k, plot->series ? "lines" : "linespoints");
  fputc('\n', file);
}

/* gnuplot begins a dumb picture with a form feed and blank lines. */
static const char *terminal_text(perp_pool *pool, const char *text)
{
  perp_text out = { 0 };
  for (const char *at = text; *at != '\0';) {
    size_t n = strcspn(at, "\n"), used = n;
    while (used > 0 && strchr(" \f\r", at[used - 1]) != NULL) used--;
    if (used > 0) perp_text_add(&out, "%.*s\n", (int)used, at);
    at += n + (at[n] == '\n');
  }
  const char *kept = out.n > 0 ? perp_pool_strdup(pool, out.s) : NULL;
  perp_text_free(&out);
  return kept;
}

const char *perp_lesson_draw(perp_pool *pool, const perp_lesson_figure *figure,
                             const perp_lesson_plot *plot)
{
  char *data = NULL, *script = NULL, *picture = NULL;
  const char *result = NULL;
  size_t n = 0;
  perp_ctx ctx = { 0 }; /* a lesson goes on without its figure */
  if (figure->n > 0) {
    FILE *f = perp_memory_stream(&data, &n), *g = perp_memory_stream(&script, &n);
    put_data(figure, f);
    perp_memory_stream_close(f);
    put_script(figure, plot, g);
    perp_memory_stream_close(g);
    perp_gnuplot job = { NULL, "plot.gp", script, "plot.dat", data, "plot.out" };
    if (perp_gnuplot_draw(&ctx, &job, &picture, &n) == PERP_OK)
      result = terminal_text(pool, picture);
  }
  free(data);
  free(script);
  free(picture);
  return result;
}
