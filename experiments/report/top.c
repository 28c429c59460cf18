/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure that a study asks for on top of its page (report.figure), for documents: a figure for
 * each panel, a curve for each choice of the parameter that is coloured. */
#include "experiments/report/page.h"
#include "experiments/study/words.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { TOP_CURVES = 64 };

typedef struct top_figure {
  const char *y, *x; /* x: a metric; NULL: a parameter or the abscissa of the view */
  int x_param;       /* -1: the abscissa of the view */
  int colour, panels;
} top_figure;

static double top_abscissa(const perp_page *page, const top_figure *f, int row)
{
  if (f->x != NULL) return perp_page_value(page, row, f->x);
  if (f->x_param >= 0) return page->results->plan.cells[row].value[f->x_param].number;
  return page->view.x_name != NULL ? page->view.x[row] : (double)NAN;
}

static const char *top_choice(perp_page *page, int param, const char *name)
{
  const perp_param *p = &page->study->kind->params[param];
  return perp_words_choice(page->ctx, &page->pool, p->key, p->type == PERP_PARAM_PLUGIN, p->plugin,
                           name);
}

/* The runs row [n] as the points of a curve: by tolerance, step or size. */
static perp_curve top_curve(perp_page *page, const top_figure *f, const char *label, int colour,
                            const int *row, int n)
{
  perp_curve curve = perp_page_curve(page, label, PERP_PLOT_POINTS_LINES, colour, n);
  double *order = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *order);
  size_t *at = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *at);
  for (int i = 0; i < n; i++)
    order[i] = page->view.x_name != NULL ? page->view.order[row[i]] : (double)i;
  gsl_sort_index(at, order, 1, (size_t)n);
  curve.rank = HUGE_VAL;
  for (int i = 0; i < n; i++) {
    const int r = row[at[i]];
    const double x = top_abscissa(page, f, r), y = perp_page_value(page, r, f->y);
    if (!perp_view_stands(&page->view, r) || !(x > 0) || !(y > 0)) continue;
    if (f->x == NULL && perp_view_adaptive(&page->view, r)) continue;
    perp_page_point(&curve, x, y);
    if (perp_results_wins(page->results, r)) curve.rank = fmin(curve.rank, y);
  }
  return curve;
}

/* colour_of, panel_of [runs]: numbers of the names; -1: not shown. */
static void top_panel(perp_page *page, const top_figure *f, const char *id, const char *panel,
                      int number, const int *panel_of, const perp_names *colours,
                      const int *colour_of)
{
  const int n = page->results->plan.n;
  perp_curve curve[TOP_CURVES];
  int curves = 0, *row = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *row);
  for (int k = 0; k < colours->n && curves < TOP_CURVES; k++) {
    int m = 0;
    for (int r = 0; r < n; r++)
      if (panel_of[r] == number && colour_of[r] == k) row[m++] = r;
    const char *label = top_choice(page, f->colour, colours->text[k]);
    curve[curves] = top_curve(page, f, label, k, row, m);
    curves += curve[curves].n > 0;
  }
  if (curves == 0) return;
  double shade;
  perp_page_noise(page, f->y, &shade);
  const char *x = f->x != NULL     ? perp_page_title(page, f->x)
                  : f->x_param < 0 ? perp_page_abscissa(page)
                                   : perp_words(page->study->kind->params[f->x_param].key),
             *y = perp_page_title(page, f->y),
             *title = f->panels < 0 ? y : top_choice(page, f->panels, panel);
  perp_page_figure(page,
                   &(perp_figure){ .id = id,
                                   .title = title,
                                   .xlabel = x,
                                   .ylabel = y,
                                   .alt = perp_pool_printf(&page->pool,
                                                           "%s: %s against %s, %d "
                                                           "curves",
                                                           title, y, x, curves),
                                   .logx = true,
                                   .logy = true,
                                   .floor = shade,
                                   .n = curves,
                                   .curves = curve },
                   "The figure on top of the page. Points are joined in the order of step size, "
                   "tolerance or size.");
}

/* What the study leaves open: as the page has it where nothing needs to be chosen by the results.
 */
static top_figure top_wanted(const perp_page *page, bool *shown)
{
  const perp_study *s = page->study;
  const char *x = s->report.figure.x, *name = page->view.x_name;
  const int param = x == NULL ? -1 : perp_kind_param(s->kind, x);
  const bool stepped = name != NULL && (strcmp(name, "h [s]") == 0 || strcmp(name, "tol") == 0);
  top_figure f = { .y = s->report.figure.y != NULL ? s->report.figure.y : s->metrics.primary,
                   .x = param >= 0 ? NULL : x,
                   .x_param = param,
                   .colour = -1,
                   .panels = -1 };
  if (x == NULL && stepped && perp_page_has(page, "time.cpu")) f.x = "time.cpu";
  if (s->report.figure.colour != NULL) f.colour = perp_kind_param(s->kind, s->report.figure.colour);
  if (s->report.figure.panels != NULL) f.panels = perp_kind_param(s->kind, s->report.figure.panels);
  const perp_scope scope = perp_results_scope(page->ctx, page->results, false);
  for (int r = 0; r < page->results->plan.n; r++)
    shown[r] = s->report.figure.where == NULL || perp_expr_true(s->report.figure.where, &scope, r);
  return f;
}

void perp_page_top(perp_page *page)
{
  const int n = page->results->plan.n;
  if (!page->study->report.figure.given || page->study->report.figure.colour == NULL) return;
  bool *shown = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *shown);
  int *colour_of = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *colour_of),
      *panel_of = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *panel_of);
  const top_figure f = top_wanted(page, shown);
  perp_names colours = { 0 }, panels = { 0 };
  for (int r = 0; r < n; r++) {
    colour_of[r] = panel_of[r] = -1;
    if (!shown[r]) continue;
    colour_of[r] = perp_names_index(
        &page->pool, &colours, perp_view_name(&page->pool, &page->view, r, f.colour), TOP_CURVES);
    panel_of[r] = perp_names_index(
        &page->pool, &panels,
        f.panels < 0 ? "" : perp_view_name(&page->pool, &page->view, r, f.panels), -1);
  }
  for (int k = 0; k < panels.n; k++)
    top_panel(page, &f, panels.n == 1 ? "top" : perp_pool_printf(&page->pool, "top-%d", k + 1),
              panels.text[k], k, panel_of, &colours, colour_of);
}
