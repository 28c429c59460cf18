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

static const char *lesson_plot_unit_of(const perp_results *r, const char *name)
{
  const perp_metric *metric = perp_study_metric(r->study, name);
  int param = perp_kind_param(r->study->kind, name);
  return metric != NULL ? metric->unit : param >= 0 ? r->study->kind->params[param].unit : NULL;
}

double perp_lesson_at(perp_ctx *ctx, perp_results *r, const char *name, int cell, const char **unit)
{
  const char *none;
  char text[64];
  if (unit == NULL) unit = &none;
  *unit = lesson_plot_unit_of(r, name);
  int column = perp_study_column(r->study, name);
  double v = (double)NAN;
  if (column >= 0) {
    perp_value value;
    const perp_scope scope = perp_results_scope(ctx, r, false);
    scope.value(scope.user, cell, column, &value);
    if (value.type == PERP_VALUE_NUMBER) v = value.number;
  } else {
    const perp_opt *o = perp_results_option(ctx, r, cell, name, text, sizeof text, &v);
    if (o != NULL) *unit = o->unit;
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
  const char *s = label + name_length(label);
  return *s != '\0' ? s : NULL;
}

static bool same_name(const char *a, const char *b)
{
  size_t n = name_length(a);
  return n == name_length(b) && strncmp(a, b, n) == 0;
}

/* Does every label have this option? */
static bool is_common(const perp_lesson_figure *f, const char *item, size_t n)
{
  for (int i = 0; i < f->n; i++) {
    bool has = false;
    for (const char *s = lesson_plot_options_of(f->curve[i].label); s != NULL && !has;
         s = strchr(s + 1, ','))
      has = strncmp(s + 1, item, n) == 0 && (s[n + 1] == ',' || s[n + 1] == '\0');
    if (!has) return false;
  }
  return true;
}

/* The options that tell this label from the others, numbers with 4 digits. */
static const char *distinct_options(perp_pool *pool, const perp_lesson_figure *f, const char *label)
{
  const char *out = "";
  for (const char *s = lesson_plot_options_of(label); s != NULL; s = strchr(s + 1, ',')) {
    size_t n = strcspn(s + 1, ","), key = strcspn(s + 1, "=");
    if (is_common(f, s + 1, n)) continue;
    double v = 0;
    const char *end = key < n ? perp_real_at(s + 2 + key, &v) : NULL;
    const char *sep = out[0] != '\0' ? ", " : "";
    out = key < n && end == s + 1 + n
              ? perp_pool_printf(pool, "%s%s%.*s=%.4g", out, sep, (int)key, s + 1, v)
              : perp_pool_printf(pool, "%s%s%.*s", out, sep, (int)n, s + 1);
  }
  return out;
}

/* "pgs:max_iter=100000" is pgs where no other pgs is drawn, "post:passes=1" beside "post:passes=2"
 * passes=1. */
static void lesson_plot_shorten(perp_pool *pool, perp_lesson_figure *f)
{
  bool alone = true, together = true;
  for (int i = 0; i < f->n; i++)
    for (int k = 0; k < i; k++) {
      bool same = same_name(f->curve[i].label, f->curve[k].label);
      alone = alone && (!same || strcmp(f->curve[i].label, f->curve[k].label) == 0);
      together = together && same;
    }
  const char *label[MOST_CURVES];
  for (int i = 0; i < f->n; i++) {
    const char *s = f->curve[i].label;
    label[i] = alone ? perp_pool_strndup(pool, s, name_length(s))
               : together && lesson_plot_options_of(s) != NULL ? distinct_options(pool, f, s)
                                                               : s;
    if (label[i][0] == '\0') label[i] = s;
  }
  for (int i = 0; i < f->n; i++) f->curve[i].label = label[i];
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
static void put_curve(struct picker *p, const char *label, double *x, double *y, int n)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (lesson_plot_usable(x[i], strchr(p->plot->log, 'x') != NULL) &&
        lesson_plot_usable(y[i], strchr(p->plot->log, 'y') != NULL)) {
      x[kept] = x[i];
      y[kept++] = y[i];
    }
  if (kept == 0 || p->f->n == MOST_CURVES) return;
  if (!p->plot->path) gsl_sort2(x, 1, y, 1, (size_t)kept);
  p->f->curve[p->f->n++] = (perp_lesson_curve){ .label = label, .n = kept, .x = x, .y = y };
}

/* What the curve of a cell is called: the value of `by`, a parameter or the option of one. */
static const char *label_of(struct picker *p, int cell, const char *otherwise)
{
  const char *by = p->plot->by, *unit;
  int param = by != NULL ? perp_kind_param(p->r->study->kind, by) : -1;
  if (by == NULL) return otherwise;
  if (param >= 0 && p->r->study->kind->params[param].type == PERP_PARAM_PLUGIN)
    return p->r->plan.cells[cell].value[param].text;
  double v = perp_lesson_at(p->ctx, p->r, by, cell, &unit);
  return isnan(v) ? otherwise : lesson_plot_named(p->pool, by, v, unit);
}

/* Cells with the same label are one curve. */
static void pick_cells(struct picker *p, const bool *chosen)
{
  int n = p->r->plan.n;
  const char *unit = NULL, **label = perp_pool_alloc(p->pool, (size_t)n, sizeof *label);
  for (int i = 0; i < n; i++)
    if (chosen[i]) label[i] = label_of(p, i, p->plot->y);
  for (int i = 0; i < n; i++) {
    int count = 0;
    if (label[i] == NULL) continue;
    double *x = perp_pool_alloc(p->pool, (size_t)(n - i), sizeof *x),
           *y = perp_pool_alloc(p->pool, (size_t)(n - i), sizeof *y);
    for (int k = i; k < n; k++) {
      if (label[k] == NULL || (k > i && strcmp(label[k], label[i]) != 0)) continue;
      x[count] = perp_lesson_at(p->ctx, p->r, p->plot->x, k, &unit);
      y[count++] = perp_lesson_at(p->ctx, p->r, p->plot->y, k, NULL);
      if (k > i) label[k] = NULL;
    }
    put_curve(p, label[i], x, y, count);
  }
  p->f->x = lesson_plot_axis(p->pool, p->plot->x, unit);
  p->f->y = lesson_plot_axis(p->pool, p->plot->y, lesson_plot_unit_of(p->r, p->plot->y));
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
static void pick_field(struct picker *p, int cell, const perp_csv *t, int k, const char *field,
                       size_t n)
{
  const bool several = strchr(p->plot->y, ',') != NULL;
  const char *name = perp_pool_strndup(p->pool, field, n),
             *shown = k < p->plot->n_names ? p->plot->names[k] : name,
             *label = label_of(p, cell, shown);
  int x = p->plot->path ? perp_csv_field(t, p->plot->x) : 0, y = perp_csv_field(t, name);
  if (x < 0 || y < 0) return;
  if (several && p->plot->by != NULL) label = perp_pool_printf(p->pool, "%s, %s", shown, label);
  double *xs = perp_pool_alloc(p->pool, (size_t)t->rows, sizeof *xs),
         *ys = perp_pool_alloc(p->pool, (size_t)t->rows, sizeof *ys);
  for (int r = 0; r < t->rows; r++) {
    xs[r] = perp_csv_number(t, r, x);
    ys[r] = perp_csv_number(t, r, y);
  }
  const int before = p->f->n;
  put_curve(p, label, xs, ys, t->rows);
  if (p->f->n > before) {
    p->f->curve[before].cell = cell;
    p->f->curve[before].field = name;
  }
  p->f->x = header_axis(p->pool, t->header[x]);
  p->f->y = several ? "" : header_axis(p->pool, t->header[y]);
}

static void pick_series(struct picker *p, const bool *chosen)
{
  for (int i = 0; i < p->r->plan.n; i++) {
    perp_csv t;
    const char *path = perp_pool_printf(p->pool, "%s/series/%s.csv", p->r->dir,
                                        p->r->plan.cells[i].id);
    if (!chosen[i] || !perp_exists(path) || perp_csv_read(p->ctx, path, &t) != PERP_OK) continue;
    int k = 0;
    for (const char *s = p->plot->y; *s != '\0'; s += strspn(s, ", ")) {
      size_t n = strcspn(s, ",");
      pick_field(p, i, &t, k++, s, n);
      s += n;
    }
    perp_csv_free(&t);
  }
}

void perp_lesson_pick(perp_ctx *ctx, perp_pool *pool, perp_results *r, const perp_lesson_plot *plot,
                      const bool *only, perp_lesson_figure *out)
{
  struct picker p = { ctx, pool, r, plot, out };
  perp_expr_error error;
  const perp_scope scope = perp_results_scope(ctx, r, false);
  perp_expr *where = plot->where != NULL ? perp_expr_parse(pool, &scope, plot->where, &error)
                                         : NULL;
  bool *chosen = perp_pool_alloc(pool, (size_t)r->plan.n, sizeof *chosen);
  *out = (perp_lesson_figure){ .x = "", .y = "" };
  out->curve = perp_pool_alloc(pool, MOST_CURVES, sizeof *out->curve);
  for (int i = 0; i < r->plan.n; i++)
    chosen[i] = (only == NULL || only[i]) && r->record[i].attempt > 0 &&
                (where == NULL || perp_expr_true(where, &scope, i));
  (plot->series ? pick_series : pick_cells)(&p, chosen);
  if (plot->x_label != NULL) out->x = plot->x_label;
  if (plot->y_label != NULL) out->y = plot->y_label;
  lesson_plot_shorten(pool, out);
}

/* ---- gnuplot ---- */

static void put_data(const perp_lesson_figure *figure, FILE *f)
{
  for (int k = 0; k < figure->n; k++) {
    const perp_lesson_curve *c = &figure->curve[k];
    if (k > 0) fputs("\n\n", f);
    perp_gnuplot_field(f, c->label);
    fputc('\n', f);
    for (int i = 0; i < c->n; i++) fprintf(f, "%.17g %.17g\n", c->x[i], c->y[i]);
  }
}

static void put_script(const perp_lesson_figure *figure, const perp_lesson_plot *plot, FILE *f)
{
  fprintf(f, "set terminal dumb 78 22\nset output 'plot.out'\n");
  fprintf(f, "set termoption noenhanced\nset format '%%g'\nset title ");
  perp_gnuplot_text(f, plot->title);
  fprintf(f, "\nset xlabel ");
  perp_gnuplot_text(f, figure->x);
  fprintf(f, "\nset key outside bottom center horizontal spacing 1\n");
  for (const char *c = plot->log; *c != '\0'; c++)
    fprintf(f, "set logscale %c\nset format %c '%%.0e'\n", *c, *c);
  /* one curve leaves gnuplot no range when all its values are equal */
  fprintf(f, "set offsets graph 0, graph 0, graph 0.02, graph 0.02\nplot ");
  for (int k = 0; k < figure->n; k++)
    fprintf(f, "%s'plot.dat' index %d using 1:2 with %s title columnheader(1)", k > 0 ? ", " : "",
            k, plot->series ? "lines" : "linespoints");
  fputc('\n', f);
}

/* gnuplot begins a dumb picture with a form feed and blank lines. */
static const char *terminal_text(perp_pool *pool, const char *text)
{
  perp_text out = { 0 };
  for (const char *s = text; *s != '\0';) {
    size_t n = strcspn(s, "\n"), used = n;
    while (used > 0 && strchr(" \f\r", s[used - 1]) != NULL) used--;
    if (used > 0) perp_text_add(&out, "%.*s\n", (int)used, s);
    s += n + (s[n] == '\n');
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
