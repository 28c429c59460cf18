/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/page.h"

#include "experiments/base/messages.h"
#include "experiments/pages/latex.h"
#include "experiments/study/words.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double perp_page_value(const perp_page *page, int cell, const char *metric)
{
  int m = perp_results_metric(page->results, metric);
  return m < 0 ? (double)NAN : perp_results_value(page->results, cell, m);
}

bool perp_page_has(const perp_page *page, const char *metric)
{
  for (int cell = 0; cell < page->results->plan.n; cell++)
    if (perp_view_stands(&page->view, cell) && !isnan(perp_page_value(page, cell, metric)))
      return true;
  return false;
}

const char *perp_page_axis(perp_page *page, const char *metric)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  if (m == NULL || m->unit[0] == '\0') return metric;
  return perp_pool_printf(&page->pool, "%s [%s]", metric, m->unit);
}

const char *perp_page_title(perp_page *page, const char *metric)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  const char *words = perp_words(metric);
  if (m == NULL || m->unit[0] == '\0') return words;
  return perp_pool_printf(&page->pool, "%s [%s]", words, m->unit);
}

const char *perp_page_abscissa(perp_page *page)
{
  const char *at = page->view.x_name;
  if (at == NULL || strcmp(at, "h [s]") != 0) return at == NULL ? "" : perp_words(at);
  return perp_pool_printf(&page->pool, "%s [s]", perp_words("h"));
}

double perp_page_noise(perp_page *page, const char *metric, double *shade)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  const double rounding = m != NULL && m->unit[0] == '\0' && m->better < 0 && !m->timing &&
                                  strstr(metric, "err") != NULL
                              ? 1e-13
                              : 0;
  *shade = perp_headline_shade(page->results, metric);
  return fmax(rounding, *shade);
}

const char *perp_page_file(perp_page *page, int cell, const char *folder, const char *suffix)
{
  return perp_pool_printf(&page->pool, "%s/%s/%s.%s", page->results->record[cell].dir, folder,
                          page->results->plan.cells[cell].id, suffix);
}

bool perp_page_read_series(perp_page *page, int cell, perp_csv *csv)
{
  const char *path = perp_page_file(page, cell, "series", "csv");
  return perp_exists(path) && perp_csv_read(page->ctx, path, csv) == PERP_OK;
}

perp_curve perp_page_curve(perp_page *page, const char *label, perp_plot_style style, int colour,
                           int most)
{
  return (perp_curve){ .label = label,
                       .style = style,
                       .colour = colour,
                       .x = perp_pool_alloc(&page->pool, (size_t)most, sizeof(double)),
                       .y = perp_pool_alloc(&page->pool, (size_t)most, sizeof(double)) };
}

void perp_page_point(perp_curve *curve, double x, double y)
{
  ((double *)(uintptr_t)curve->x)[curve->n] = x;
  ((double *)(uintptr_t)curve->y)[curve->n++] = y;
}

/* ---- what tables show ---- */

const char *perp_page_row_label(perp_page *page, int row)
{
  const perp_view *view = &page->view;
  const char *label = perp_view_label(&page->pool, view, row, -1);
  if (view->x_name == NULL) return label[0] == '\0' ? "the only run" : label;
  if (strcmp(view->x_name, "tol") == 0) return label; /* it says so */
  int name = (int)strcspn(view->x_name, " ");
  return perp_pool_printf(&page->pool, "%s%s%.*s = %.6g", label, label[0] == '\0' ? "" : ", ", name,
                          view->x_name, view->x[row]);
}

const char *perp_page_labels(perp_page *page, const int *row, int n, const char **label)
{
  const perp_view *view = &page->view;
  const char *all = "";
  for (int i = 0; i < n; i++) label[i] = "";
  for (int a = 0; a <= view->n_axes;
       a++) { /* the last one: the abscissa, unless the label has it */
    const bool x = a == view->n_axes;
    if (x && (view->x_name == NULL || strcmp(view->x_name, "tol") == 0)) continue;
    const char **text = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *text);
    bool same = true;
    for (int i = 0; i < n; i++) {
      text[i] = x ? perp_pool_printf(&page->pool, "%.*s = %.6g", (int)strcspn(view->x_name, " "),
                                     view->x_name, view->x[row[i]])
                  : perp_view_text(view, row[i], view->axis[a]);
      same = same && strcmp(text[i], text[0]) == 0;
    }
    for (int i = 0; i < (same && n > 1 ? 1 : n); i++) {
      const char **to = same && n > 1 ? &all : &label[i];
      if (text[i][0] != '\0')
        *to = perp_pool_printf(&page->pool, "%s%s%s", *to, (*to)[0] != '\0' ? ", " : "", text[i]);
    }
  }
  for (int i = 0; i < n; i++)
    if (label[i][0] == '\0') label[i] = "the only run";
  return all;
}

double perp_page_shown_x(const perp_page *page)
{
  const perp_view *view = &page->view;
  double middle = (double)NAN;
  if (view->x_name == NULL) return middle;
  for (int group = 0; group < view->n_groups; group++)
    for (int i = 0; i < view->group[group].n; i++) {
      if (view->x[view->group[group].cell[i]] == 1e-3) return 1e-3;
      if (group == 0 && i == view->group[group].n / 2) middle = view->x[view->group[group].cell[i]];
    }
  return middle;
}

const char *perp_page_scene(const perp_page *page, int row)
{
  return perp_view_text(&page->view, row, perp_kind_param(page->study->kind, "scene"));
}

/* One step, one size for all: only there are figures of different curves alike.  Under error
 * control the tolerance is the method's own. */
static bool ranked_alike(const perp_page *page, int row, double x)
{
  return isnan(x) || page->view.x[row] == x || perp_view_adaptive(&page->view, row);
}

int perp_page_ranked(perp_page *page, int *cell, int most)
{
  const perp_view *view = &page->view;
  const char *primary = page->study->metrics.primary;
  const double x = perp_page_shown_x(page);
  const bool size = view->x_name != NULL && strncmp(view->x_name, "h ", 2) != 0;
  const double sign = perp_study_metric(page->study, primary)->better > 0 ? -1 : 1;
  perp_ranked *list = perp_pool_alloc(&page->pool, (size_t)view->n_groups + 1, sizeof *list);
  perp_names scene = { 0 };
  int n = 0, kept = 0;
  for (int g = 0; g < view->n_groups; g++) {
    perp_ranked best = { -1, 3, HUGE_VAL, 0 };
    for (int i = 0; i < view->group[g].n; i++) {
      const int row = view->group[g].cell[i];
      const double value = sign * perp_page_value(page, row, primary);
      const int group = perp_results_group(page->results, row);
      if (perp_view_stands(view, row) && !isnan(value) && ranked_alike(page, row, x) &&
          (group < best.group || (group == best.group && value < best.key)))
        best = (perp_ranked){ row, group, value, 0 };
    }
    if (best.cell >= 0) list[n++] = best;
  }
  perp_ranked_sort(list, n);
  for (int i = 0; i < n && !size; i++)
    perp_names_index(&page->pool, &scene, perp_page_scene(page, list[i].cell), -1);
  /* scene by scene: errors in one say nothing about those in another */
  for (int k = 0; k < (size ? 1 : scene.n); k++)
    for (int i = 0; i < n && kept < most; i++)
      if (size || strcmp(perp_page_scene(page, list[i].cell), scene.text[k]) == 0)
        cell[kept++] = list[i].cell;
  return kept;
}

int perp_page_shown_metrics(perp_page *page, const char **metric, int most)
{
  const perp_study *study = page->study;
  const char *primary = study->metrics.primary, *time = "time.step_us";
  int n = 0;
  bool told = strcmp(primary, time) == 0;
  metric[n++] = primary;
  for (int i = 0; i < study->metrics.n_record && n < most - 1; i++) {
    const char *name = study->metrics.record[i];
    if (strcmp(name, primary) == 0 || !perp_page_has(page, name)) continue;
    told = told || strcmp(name, time) == 0;
    metric[n++] = name;
  }
  if (!told && perp_page_has(page, time)) metric[n++] = time;
  return n;
}

/* A figure of a metric that is the less the better is not told from its floor. */
static double page_above_floor(perp_page *page, int row, const char *metric, int better)
{
  double shade;
  const double value = perp_page_value(page, row, metric);
  if (better >= 0 || isnan(value)) return value;
  const double noise = perp_page_noise(page, metric, &shade),
               floor = strcmp(metric, page->top.y) == 0 ? page->top.floor : 0;
  return fmax(fabs(value), fmax(noise, floor));
}

bool perp_page_best_of_scene(perp_page *page, const int *row, int n, int i, const char *metric)
{
  const int better = perp_study_metric(page->study, metric)->better;
  const double value = page_above_floor(page, row[i], metric, better);
  if (better == 0 || isnan(value) || !perp_results_wins(page->results, row[i])) return false;
  for (int k = 0; k < n; k++)
    if (perp_results_wins(page->results, row[k]) &&
        strcmp(perp_page_scene(page, row[k]), perp_page_scene(page, row[i])) == 0 &&
        better * (page_above_floor(page, row[k], metric, better) - value) > 0)
      return false;
  return true;
}

int perp_page_published_cells(const perp_page *page, int published, int *row)
{
  const perp_scope scope = perp_results_scope(page->ctx, page->results, false);
  int n = 0;
  for (int r = 0; r < page->results->plan.n; r++)
    if (perp_expr_true(page->study->published[published].where, &scope, r) &&
        (page->study->published[published].conditions == NULL ||
         perp_expr_true(page->study->published[published].conditions, &scope, r)))
      row[n++] = r;
  return n;
}

/* ---- figures ---- */

/* Figures that fail one after the other for one reason are named in one message. */
static void page_figure_failed(perp_page *page, const char *id)
{
  page->undrawn++;
  if (page->failed.n > 0 && strcmp(page->reason, page->ctx->msg) != 0) perp_page_say_failed(page);
  if (page->failed.n == 0) page->reason = perp_pool_strdup(&page->pool, page->ctx->msg);
  perp_text_add(&page->failed, "%s%s", page->failed.n > 0 ? ", " : "", id);
}

/* A figure without a point is no fault of the report: the page says why there is none. */
static const char *page_figure_empty(const perp_figure *figure)
{
  int zeros = 0, others = 0;
  for (int curve = 0; curve < figure->n; curve++)
    for (int i = 0; i < figure->curves[curve].n; i++) {
      zeros += figure->curves[curve].y[i] == 0;
      others += isfinite(figure->curves[curve].y[i]) && figure->curves[curve].y[i] != 0;
    }
  return zeros > 0 && others == 0 && figure->logy
             ? "all its values are exactly 0 and its axis is logarithmic (a scene without joints "
               "has no constraint error)"
         : others > 0 || zeros > 0 ? "none of its values is positive and its axes are logarithmic"
                                   : "no run has a value";
}

void perp_page_figure(perp_page *page, const perp_figure *figure, const char *caption)
{
  const char *empty = perp_figure_points(figure) == 0 ? page_figure_empty(figure) : "";
  perp_figure sized = *figure;
  if (page->counting) {
    page->n_figures += empty[0] == '\0';
    return;
  }
  sized.width = page->width;
  if (empty[0] == '\0') {
    const double begun = perp_clock_wall();
    const perp_status status = perp_figure_draw(page->ctx, &sized, page->figs, page->formats);
    perp_progress_step(&page->progress, 1, perp_clock_wall() - begun, status != PERP_OK,
                       figure->id);
    if (status != PERP_OK) {
      perp_text_add(&page->warnings, "%s: %s\n", figure->id, page->ctx->msg);
      if (status != PERP_ERR_ARG) page_figure_failed(page, figure->id);
      return;
    }
  }
  perp_json_members(&page->figures, "{ id %s, section %s, title %s, caption %s, empty %s }",
                    figure->id, page->section, figure->title, caption, empty);
  if (empty[0] != '\0') return;
  if (!page->lesser) perp_text_add(&page->chief, "%s\n", figure->id);
  perp_text_add(&page->drawn, "\\expandafter\\def\\csname perp@fig@%s\\endcsname{\\centering",
                figure->id);
  perp_text_add(&page->drawn,
                strstr(page->formats, "tikz") != NULL
                    ? "\\perpfit{\\input{\\perpfigs %s.tex}}\\caption{"
                    : "\\perpfit{\\includegraphics{\\perpfigs %s.pdf}}\\caption{",
                figure->id);
  char *tex = perp_tex_string(caption);
  perp_text_add(&page->drawn, "%s}\\label{fig:%s}}\n", tex, figure->id);
  free(tex);
}

void perp_page_say_failed(perp_page *page)
{
  if (page->failed.n > 0)
    perp_say("error: these figures could not be drawn: %s: %s", page->failed.s, page->reason);
  perp_text_free(&page->failed);
}

size_t perp_page_indices(perp_json *json, const int *of, int n, int many)
{
  const int bytes = many <= 256 ? 1 : many <= 65536 ? 2 : 4;
  unsigned char *packed = perp_xalloc((size_t)n + 1, (size_t)bytes);
  for (int i = 0; i < n; i++)
    for (int byte = 0; byte < bytes; byte++)
      packed[i * bytes + byte] = (unsigned char)(of[i] >> 8 * byte);
  char *text = perp_base64(packed, (size_t)n * (size_t)bytes);
  perp_json_text(json, "of", text);
  perp_json_int(json, "bytes", bytes);
  const size_t size = strlen(text);
  free(text);
  free(packed);
  return size;
}
