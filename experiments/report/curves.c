/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work-precision, convergence and time against size: one figure a facet, one curve a subject. */
#include "experiments/report/order.h"
#include "experiments/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 64, OVERVIEW = 8 };

typedef struct chart {
  const char *id, *title, *x_metric, *y_metric; /* x_metric NULL: the abscissa of the view */
  const char *definition;
} chart;

static double curves_abscissa(const perp_page *page, const chart *c, int row)
{
  return c->x_metric == NULL ? page->view.x[row] : perp_page_value(page, row, c->x_metric);
}

/* Can this cell be drawn?  A cell without whole figures is left out (the failures have a section of their own), and one
 * whose start was moved: its error says nothing about a method. */
static bool has_point(const perp_page *page, const chart *c, int cell)
{
  if (!perp_view_stands(&page->view, cell)) return false;
  const char *moved = perp_view_text(&page->view, cell,
                                     perp_kind_param(page->study->kind, "perturb"));
  if (strtod(moved, NULL) > 0) return false;
  if (c->x_metric == NULL && perp_view_adaptive(&page->view, cell)) return false;
  const double x = curves_abscissa(page, c, cell), y = perp_page_value(page, cell, c->y_metric);
  return x > 0 && y > 0 && isfinite(x) && isfinite(y);
}

/* Rings around the points of one status: figures that stand, but are not ok. */
static int add_marks(perp_page *page, const chart *c, int facet, perp_curve *curves, int n)
{
  static const perp_cell_status marked[] = { PERP_CELL_UNSOLVED, PERP_CELL_FIXED_WORK };
  const perp_view *v = &page->view;
  for (int k = 0; k < 2 && n < MOST_CURVES; k++) {
    perp_curve marks = perp_page_curve(page, perp_cell_status_names[marked[k]], PERP_PLOT_MARK, k,
                                       page->results->plan.n);
    for (int g = 0; g < v->n_groups; g++)
      for (int i = 0; i < v->group[g].n; i++) {
        const int cell = v->group[g].cell[i];
        if ((facet >= 0 && v->group[g].facet != facet) || !has_point(page, c, cell)) continue;
        if (page->results->record[cell].status == marked[k])
          perp_page_point(&marks, curves_abscissa(page, c, cell),
                          perp_page_value(page, cell, c->y_metric));
      }
    if (marks.n > 0) curves[n++] = marks;
  }
  return n;
}

/* The curve of a group. */
static perp_curve curve_of(perp_page *page, const chart *c, const perp_group *g)
{
  perp_curve curve = perp_page_curve(page, g->label, PERP_PLOT_POINTS_LINES, g->colour, g->n);
  curve.rank = HUGE_VAL;
  for (int i = 0; i < g->n; i++) {
    const int cell = g->cell[i];
    if (!has_point(page, c, cell)) continue;
    const double y = perp_page_value(page, cell, c->y_metric);
    const bool wins = perp_results_wins(page->results, cell);
    perp_page_point(&curve, curves_abscissa(page, c, cell), y);
    if (wins) curve.rank = fmin(curve.rank, y);
    curve.unsound |= page->results->record[cell].status == PERP_CELL_UNSOLVED && !wins;
  }
  return curve;
}

/* "facet, subject" as far as they say something */
static const char *full_label(perp_page *page, const perp_group *g)
{
  const char *facet = page->view.facet.text[g->facet];
  if (page->view.subject < 0) return "all";
  return facet[0] == '\0' ? g->label : perp_pool_printf(&page->pool, "%s, %s", facet, g->label);
}

static const char *with_slope(perp_page *page, const chart *c, const perp_curve *curve)
{
  if (c->x_metric != NULL || curve->unsound) return curve->label;
  bool over_h = page->view.x_name != NULL && strcmp(page->view.x_name, "h [s]") == 0;
  double p = over_h ? perp_observed_order(curve->x, curve->y, curve->n).slope
                    : perp_log_slope(curve->x, curve->y, curve->n);
  if (isnan(p)) return curve->label;
  return perp_pool_printf(&page->pool, over_h ? "%s (order %.2f)" : "%s (exponent %.2f)",
                          curve->label, p);
}

static void curves_draw(perp_page *page, const chart *c, const char *suffix, const char *title,
                        perp_curve *curves, int n)
{
  for (int k = 0; k < n; k++)
    if (curves[k].style == PERP_PLOT_POINTS_LINES)
      curves[k].label = with_slope(page, c, &curves[k]);
  const char *x = c->x_metric == NULL ? page->view.x_name : perp_page_axis(page, c->x_metric);
  const char *y = perp_page_axis(page, c->y_metric);
  perp_figure f = {
    .id = perp_pool_printf(&page->pool, "%s%s", c->id, suffix),
    .title = title,
    .xlabel = x,
    .ylabel = y,
    .alt = perp_pool_printf(&page->pool, "%s: %s against %s, %d curves", title, y, x, n),
    .logx = true,
    .logy = true,
    .n = n,
    .curves = curves,
  };
  perp_page_figure(page, &f, c->definition);
}

/* The curves of the overview: all when they are few, else the best one of each facet. */
static int curves_overview(perp_page *page, const chart *c, perp_curve *shown, int *total)
{
  const perp_view *v = &page->view;
  perp_curve best[OVERVIEW];
  int n_best = 0;
  *total = 0;
  for (int facet = 0; facet < v->facet.n; facet++) {
    perp_curve of_facet = { 0 };
    for (int g = 0; g < v->n_groups; g++) {
      if (v->group[g].facet != facet) continue;
      perp_curve curve = curve_of(page, c, &v->group[g]);
      if (curve.n == 0) continue;
      curve.label = full_label(page, &v->group[g]);
      if (*total < OVERVIEW) shown[*total] = curve;
      (*total)++;
      if (of_facet.n == 0 || curve.rank < of_facet.rank) of_facet = curve;
    }
    if (of_facet.n == 0) continue;
    /* best first; the worst falls out when there are too many facets */
    bool full = n_best == OVERVIEW;
    if (full && best[OVERVIEW - 1].rank <= of_facet.rank) continue;
    int at = full ? OVERVIEW - 1 : n_best++;
    for (; at > 0 && best[at - 1].rank > of_facet.rank; at--) best[at] = best[at - 1];
    best[at] = of_facet;
  }
  int n = *total;
  if (*total > OVERVIEW) {
    memcpy(shown, best, sizeof best);
    n = n_best;
  }
  for (int k = 0; k < n; k++) shown[k].colour = k;
  return n;
}

/* Published figures at the abscissa of the cells that they stand for, behind the n curves there are.  facet -1: of
 * all facets.  A figure that stands for cells at several places has none. */
static int add_published(perp_page *page, const chart *c, int facet, perp_curve *curves, int n)
{
  const perp_study *s = page->study;
  const perp_view *v = &page->view;
  int *row = perp_pool_alloc(&page->pool, (size_t)page->results->plan.n + 1, sizeof *row);
  for (int i = 0; i < s->n_published && n < MOST_CURVES; i++) {
    if (c->x_metric != NULL || strcmp(s->published[i].metric, c->y_metric) != 0) continue;
    int cells = perp_page_published_cells(page, i, row);
    bool several = false, here = facet < 0;
    for (int k = 0; k < cells; k++) {
      several = several || v->x[row[k]] != v->x[row[0]];
      for (int g = 0; g < v->n_groups && !here; g++)
        for (int j = 0; j < v->group[g].n && v->group[g].facet == facet; j++)
          here = here || v->group[g].cell[j] == row[k];
    }
    if (cells == 0 || several || !here) continue;
    const char *label = perp_pool_printf(&page->pool, "%s (%s)", s->published[i].source,
                                         s->published[i].where_text);
    curves[n] = perp_page_curve(page, label, PERP_PLOT_PUBLISHED, 0, 1);
    perp_page_point(&curves[n++], v->x[row[0]], s->published[i].value);
  }
  return n;
}

static void chart_section(perp_page *page, const chart *c)
{
  const perp_view *v = &page->view;
  if (!perp_page_has(page, c->y_metric)) return;
  if (c->x_metric == NULL ? v->x_name == NULL : !perp_page_has(page, c->x_metric)) return;

  perp_curve shown[MOST_CURVES];
  int total, n = curves_overview(page, c, shown, &total);
  if (n == 0) return;
  perp_html(page->out, "<h3 id=\"%s\">%s</h3>\n", c->id, c->title);
  const int with_published = add_published(page, c, -1, shown, n);
  curves_draw(page, c, "",
              n == total
                  ? c->title
                  : perp_pool_printf(&page->pool, "%s: the best curve of each kind", c->title),
              shown, n == total ? add_marks(page, c, -1, shown, with_published) : with_published);
  if (n == total) return;

  perp_page_fold(page, "All %d curves, one figure for each choice of the other parts", total);
  for (int facet = 0; facet < v->facet.n; facet++) {
    int k = 0;
    for (int g = 0; g < v->n_groups && k < MOST_CURVES; g++) { /* in the order of the study */
      if (v->group[g].facet != facet) continue;
      perp_curve curve = curve_of(page, c, &v->group[g]);
      if (curve.n > 0) shown[k++] = curve;
    }
    if (k == 0) continue;
    k = add_published(page, c, facet, shown, k);
    k = add_marks(page, c, facet, shown, k);
    curves_draw(page, c, perp_pool_printf(&page->pool, "-%d", facet + 1),
                perp_pool_printf(&page->pool, "%s: %s", c->title, v->facet.text[facet]), shown, k);
  }
  perp_page_unfold(page);
}

static bool curves_wanted(const perp_study *study, const char *plot)
{
  for (int i = 0; i < study->report.n_plots; i++)
    if (strncmp(study->report.plots[i], plot, strlen(plot)) == 0) return true;
  return study->report.n_plots == 0;
}

void perp_page_curves(perp_page *page)
{
  const perp_study *study = page->study;
  const char *primary = study->metrics.primary;
  if (page->view.x_name == NULL) return;
  const bool over_h = strcmp(page->view.x_name, "h [s]") == 0;
  perp_html(page->out, "<h2 id=\"curves\">Figures</h2>\n");
  if (curves_wanted(study, "work-precision"))
    chart_section(page, &(chart){ "work-precision", "Work and precision", "time.cpu", primary,
                                  "Points are joined in the order of the step size, or of the "
                                  "tolerance under error control; left and below is "
                                  "better. Work is the thread-CPU time of the whole run." });
  if (curves_wanted(study, "convergence")) {
    static const char *const errors[] = { "err.tip.max", "err.q.max", "drift.pos.max",
                                          "energy.rel.max" };
    for (size_t i = 0; over_h && i < sizeof errors / sizeof *errors; i++)
      chart_section(
          page,
          &(chart){
              perp_pool_printf(&page->pool, "convergence-%d", (int)i + 1),
              perp_pool_printf(&page->pool, "Convergence of %s", errors[i]), NULL, errors[i],
              "Observed order: Theil-Sen slope of log error over log h on the longest window "
              "in which neighbouring slopes differ by less than 0.2; no number where there is "
              "no such window of three points." });
  }
  const bool over_tol = strcmp(page->view.x_name, "tol") == 0;
  if (curves_wanted(study, "time-vs-n") && !over_h && !over_tol)
    chart_section(
        page, &(chart){ "time", "Time against size", NULL, "time.step_us",
                        "Thread-CPU time of one step (median). Exponent: Theil-Sen slope of log "
                        "time over log size over all sizes." });
}
