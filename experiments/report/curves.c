/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work-precision, convergence and time against size: one figure a facet, one curve a subject. */
#include "experiments/results/order.h"
#include "experiments/report/page.h"
#include "experiments/study/words.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 64, OVERVIEW = 8 };

typedef struct chart {
  const char *id, *title, *x_metric, *y_metric; /* x_metric NULL: the abscissa of the view */
  const char *definition;
} chart;

static double curves_abscissa(const perp_page *page, const chart *picture, int row)
{
  return picture->x_metric == NULL ? page->view.x[row]
                                   : perp_page_value(page, row, picture->x_metric);
}

/* Can this cell be drawn?  A cell without whole figures is left out (the failures have a section of
 * their own), and one whose start was moved: its error says nothing about a method. */
static bool has_point(const perp_page *page, const chart *picture, int cell)
{
  if (!perp_view_stands(&page->view, cell)) return false;
  const int perturb = perp_kind_param(page->study->kind, "perturb");
  if (perturb >= 0 && page->results->plan.cells[cell].value[perturb].number > 0) return false;
  if (picture->x_metric == NULL && perp_view_adaptive(&page->view, cell)) return false;
  const double x = curves_abscissa(page, picture, cell),
               y = perp_page_value(page, cell, picture->y_metric);
  return x > 0 && y > 0 && isfinite(x) && isfinite(y);
}

/* Rings around the points of one status: figures that stand, but are not ok. */
static int add_marks(perp_page *page, const chart *picture, int facet, perp_curve *curves, int n)
{
  static const perp_cell_status marked[] = { PERP_CELL_UNSOLVED, PERP_CELL_SEVERAL,
                                             PERP_CELL_FIXED_WORK };
  const perp_view *view = &page->view;
  for (int colour = 0; colour < 3 && n < MOST_CURVES; colour++) {
    perp_curve marks = perp_page_curve(page, perp_cell_status_names[marked[colour]], PERP_PLOT_MARK,
                                       colour, page->results->count[marked[colour]] + 1);
    const int from = facet < 0 ? 0 : view->first[facet],
              to = facet < 0 ? view->n_groups : view->first[facet + 1];
    for (int at = from; at < to; at++) {
      const perp_group *group = &view->group[view->in_facet[at]];
      for (int i = 0; i < group->n; i++)
        if (page->results->record[group->cell[i]].status == marked[colour] &&
            has_point(page, picture, group->cell[i]))
          perp_page_point(&marks, curves_abscissa(page, picture, group->cell[i]),
                          perp_page_value(page, group->cell[i], picture->y_metric));
    }
    if (marks.n > 0) curves[n++] = marks;
  }
  return n;
}

/* The curve of a group. */
static perp_curve curve_of(perp_page *page, const chart *picture, const perp_group *group)
{
  perp_curve curve = perp_page_curve(page, group->label, PERP_PLOT_POINTS_LINES, group->colour,
                                     group->n);
  curve.rank = HUGE_VAL;
  const int metric = perp_results_metric(page->results, picture->y_metric);
  const bool timing = metric >= 0 && page->study->metric[metric].timing;
  double *lo = perp_pool_alloc(&page->pool, (size_t)group->n, sizeof *lo),
         *hi = perp_pool_alloc(&page->pool, (size_t)group->n, sizeof *hi);
  if (timing) curve.lo = lo;
  if (timing) curve.hi = hi;
  for (int i = 0; i < group->n; i++) {
    const int cell = group->cell[i];
    if (!has_point(page, picture, cell)) continue;
    const double y = perp_page_value(page, cell, picture->y_metric);
    const bool wins = perp_results_wins(page->results, cell);
    if (timing) {
      const perp_quartiles quartiles = perp_results_timing(page->results, cell, metric);
      lo[curve.n] = quartiles.n > 1 ? quartiles.q1 : (double)NAN;
      hi[curve.n] = quartiles.n > 1 ? quartiles.q3 : (double)NAN;
    }
    perp_page_point(&curve, curves_abscissa(page, picture, cell), y);
    if (wins) curve.rank = fmin(curve.rank, y);
    curve.unsound |= page->results->record[cell].status != PERP_CELL_FIXED_WORK && !wins;
  }
  return curve;
}

/* "facet, subject" as far as they say something */
static const char *full_label(perp_page *page, const perp_group *group)
{
  const char *facet = page->view.facet.text[group->facet];
  if (page->view.subject < 0) return "all";
  return facet[0] == '\0' ? group->label
                          : perp_pool_printf(&page->pool, "%s, %s", facet, group->label);
}

/* The name with its order or exponent; *window: where that was seen. */
static const char *with_slope(perp_page *page, const chart *picture, const perp_curve *curve,
                              const char **window)
{
  double shade;
  *window = "";
  if (picture->x_metric != NULL || curve->unsound) return curve->label;
  const double noise = perp_page_noise(page, picture->y_metric, &shade);
  if (page->view.x_name != NULL && strcmp(page->view.x_name, "h [s]") == 0) {
    const perp_order order = perp_observed_order(curve->x, curve->y, curve->n, noise);
    if (isnan(order.slope)) return curve->label;
    *window = perp_pool_printf(&page->pool, "%.3g to %.3g s", curve->x[order.first],
                               curve->x[order.last]);
    return perp_pool_printf(&page->pool, "%s (order %.2f)", curve->label, order.slope);
  }
  const perp_power power = perp_power_law(curve->x, curve->y, curve->n, noise);
  if (isnan(power.slope)) return curve->label;
  *window = perp_pool_printf(&page->pool, "%.3g to %.3g", power.from, power.to);
  return perp_pool_printf(&page->pool, "%s (exponent %.2f)", curve->label, power.slope);
}

/* The names with their slopes; the windows of these for the caption. */
static const char *curves_slopes(perp_page *page, const chart *picture, perp_curve *curves, int n)
{
  const char *text = "";
  for (int curve = 0; curve < n; curve++) {
    const char *window, *name = curves[curve].label;
    if (curves[curve].style != PERP_PLOT_POINTS_LINES) continue;
    curves[curve].label = with_slope(page, picture, &curves[curve], &window);
    if (window[0] != '\0')
      text = perp_pool_printf(&page->pool, "%s%s%s: %s", text,
                              text[0] == '\0' ? " Windows: " : "; ", name, window);
  }
  return text[0] == '\0' ? "" : perp_pool_printf(&page->pool, "%s.", text);
}

/* Leave out of the names ("chain, rk4, post") the parts with which all of them begin; these, for
 * the title. */
static const char *curves_common(perp_page *page, perp_curve *curves, int n)
{
  const char *common = "";
  while (n > 1) {
    const char *part = perp_pool_printf(&page->pool, "%.*s, ", (int)strcspn(curves[0].label, ","),
                                        curves[0].label);
    const size_t length = strlen(part);
    for (int curve = 0; curve < n; curve++)
      if (strncmp(curves[curve].label, part, length) != 0) return common;
    for (int curve = 0; curve < n; curve++) curves[curve].label += length;
    common = perp_pool_printf(&page->pool, "%s%s%.*s", common, common[0] == '\0' ? "" : ", ",
                              (int)length - 2, part);
  }
  return common;
}

static void curves_draw(perp_page *page, const chart *picture, const char *suffix,
                        const char *title, perp_curve *curves, int n)
{
  const char *windows = curves_slopes(page, picture, curves, n);
  const char *x = picture->x_metric == NULL ? perp_page_abscissa(page)
                                            : perp_page_title(page, picture->x_metric);
  const char *y = perp_page_title(page, picture->y_metric);
  double shade;
  perp_page_noise(page, picture->y_metric, &shade);
  perp_figure figure = {
    .id = perp_pool_printf(&page->pool, "%s%s", picture->id, suffix),
    .title = title,
    .xlabel = x,
    .ylabel = y,
    .alt = perp_pool_printf(&page->pool, "%s: %s against %s, %d curves", title, y, x, n),
    .logx = true,
    .logy = true,
    .floor = shade,
    .n = n,
    .curves = curves,
  };
  perp_page_figure(page, &figure,
                   perp_pool_printf(&page->pool, "%s%s", picture->definition, windows));
}

/* The curves of the overview: all when they are few, else the best one of each facet.  rank
 * [facets]: of the best one, infinite when none wins, NaN without a curve. */
static int curves_overview(perp_page *page, const chart *picture, perp_curve *shown, double *rank,
                           int *total)
{
  const perp_view *view = &page->view;
  perp_curve best[OVERVIEW];
  int n_best = 0;
  bool lines = false; /* then a single point is not shown among them */
  for (int g = 0; g < view->n_groups; g++) lines = lines || view->group[g].n > 1;
  *total = 0;
  for (int facet = 0; facet < view->facet.n; facet++) {
    perp_curve of_facet = { 0 };
    for (int at = view->first[facet]; at < view->first[facet + 1]; at++) {
      const perp_group *group = &view->group[view->in_facet[at]];
      perp_curve curve = curve_of(page, picture, group);
      if (curve.n == 0) continue;
      curve.label = full_label(page, group);
      if (*total < OVERVIEW) shown[*total] = curve;
      (*total)++;
      if (of_facet.n == 0 || curve.rank < of_facet.rank) of_facet = curve;
    }
    rank[facet] = of_facet.n > 0 ? of_facet.rank : (double)NAN;
    if (of_facet.n == 0 || (of_facet.n == 1 && lines)) continue;
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
  for (int colour = 0; colour < n; colour++) shown[colour].colour = colour;
  return n;
}

/* Published figures at the abscissa of the cells that they stand for, behind the n curves there
 * are.  facet -1: of all facets.  A figure that stands for cells at several places has none. */
static int add_published(perp_page *page, const chart *picture, int facet, perp_curve *curves,
                         int n)
{
  const perp_study *study = page->study;
  const perp_view *view = &page->view;
  int *row = perp_pool_alloc(&page->pool, (size_t)page->results->plan.n + 1, sizeof *row);
  for (int published = 0; published < study->n_published && n < MOST_CURVES; published++) {
    if (picture->x_metric != NULL ||
        strcmp(study->published[published].metric, picture->y_metric) != 0)
      continue;
    int cells = perp_page_published_cells(page, published, row);
    bool several = false, here = facet < 0;
    for (int cell = 0; cell < cells; cell++) {
      several = several || view->x[row[cell]] != view->x[row[0]];
      here = here || view->group[view->group_of[row[cell]]].facet == facet;
    }
    if (cells == 0 || several || !here) continue;
    const char *label = perp_pool_printf(&page->pool, "%s (%s)", study->published[published].source,
                                         study->published[published].where_text);
    curves[n] = perp_page_curve(page, label, PERP_PLOT_PUBLISHED, 0, 1);
    perp_page_point(&curves[n++], view->x[row[0]], study->published[published].value);
  }
  return n;
}

/* The rank of the last facet that gets a figure of its own; *n: facets with a curve. */
static double worst_drawn(perp_page *page, const double *rank, int *n)
{
  double *sorted = perp_pool_alloc(&page->pool, (size_t)page->view.facet.n + 1, sizeof *sorted);
  *n = 0;
  for (int facet = 0; facet < page->view.facet.n; facet++)
    if (!isnan(rank[facet])) sorted[(*n)++] = rank[facet];
  if (page->all_figures || *n <= PERP_PAGE_FACETS) return HUGE_VAL;
  gsl_sort(sorted, 1, (size_t)*n);
  return sorted[PERP_PAGE_FACETS - 1];
}

static void facet_figure(perp_page *page, const chart *picture, int facet, perp_curve *shown)
{
  const perp_view *view = &page->view;
  int k = 0;
  for (int at = view->first[facet]; at < view->first[facet + 1] && k < MOST_CURVES; at++) {
    perp_curve curve = curve_of(page, picture, &view->group[view->in_facet[at]]);
    if (curve.n > 0) shown[k++] = curve;
  }
  if (k == 0) return;
  k = add_published(page, picture, facet, shown, k);
  k = add_marks(page, picture, facet, shown, k);
  curves_draw(
      page, picture, perp_pool_printf(&page->pool, "-%d", facet + 1),
      view->facet.text[facet][0] == '\0'
          ? picture->title
          : perp_pool_printf(&page->pool, "%s: %s", picture->title, view->facet.text[facet]),
      shown, k);
}

static void chart_section(perp_page *page, const chart *picture)
{
  const perp_view *view = &page->view;
  if (!perp_page_has(page, picture->y_metric)) return;
  if (picture->x_metric == NULL ? view->x_name == NULL : !perp_page_has(page, picture->x_metric))
    return;

  perp_curve shown[MOST_CURVES];
  double *rank = perp_pool_alloc(&page->pool, (size_t)view->facet.n + 1, sizeof *rank);
  int total, n = curves_overview(page, picture, shown, rank, &total);
  if (n == 0) return;
  const char *common = curves_common(page, shown, n),
             *title = n == total ? picture->title
                                 : perp_pool_printf(&page->pool, "%s: best curve of each method",
                                                    picture->title);
  if (common[0] != '\0') title = perp_pool_printf(&page->pool, "%s (%s)", title, common);
  const int with_published = add_published(page, picture, -1, shown, n);
  curves_draw(page, picture, "", title, shown,
              n == total ? add_marks(page, picture, -1, shown, with_published) : with_published);
  if (n == total) return;

  int facets = 0;
  const double worst = worst_drawn(page, rank, &facets);
  page->lesser = true;
  for (int facet = 0, drawn = 0; facet < view->facet.n; facet++) {
    if (!(rank[facet] <= worst) || (drawn == PERP_PAGE_FACETS && !page->all_figures)) continue;
    drawn++;
    facet_figure(page, picture, facet, shown);
  }
  page->lesser = false;
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
  if (curves_wanted(study, "work-precision"))
    chart_section(
        page,
        &(chart){
            "work-precision", "Work and precision", "time.cpu", primary,
            "Points are joined in the order of step size or, under error control, of tolerance. "
            "Lower left is better. Work is the thread CPU time of the whole run." });
  if (curves_wanted(study, "convergence")) {
    const char *const errors[] = { "err.tip.max", "err.q.max", "drift.pos.max", "energy.rel.max",
                                   primary };
    bool told = strncmp(primary, "time.", 5) == 0; /* the primary one too, but once */
    for (size_t i = 0; over_h && i < sizeof errors / sizeof *errors; i++) {
      if (i == 4 && told) break;
      told = told || strcmp(errors[i], primary) == 0;
      chart_section(
          page,
          &(chart){ perp_pool_printf(&page->pool, "convergence-%d", (int)i + 1),
                    perp_pool_printf(&page->pool, "Convergence: %s", perp_words(errors[i])), NULL,
                    errors[i],
                    "Observed order: Theil-Sen slope of log error over log h. It is taken from the "
                    "longest window in which neighbouring slopes differ by less than 0.2; the "
                    "steps of the window are shown. No order is shown if no such window has three "
                    "points, or if the slope is below 0.25 (noise floor)." });
    }
  }
  const bool over_tol = strcmp(page->view.x_name, "tol") == 0;
  if (over_h || over_tol) return;
  static const char exponent[] =
      "Exponent: Theil-Sen slope of log y over log size, with the range of sizes. No exponent is "
      "shown if the slopes between pairs scatter by more than 1.";
  if (curves_wanted(study, "scaling") && strncmp(primary, "time.", 5) != 0)
    chart_section(page, &(chart){ "scaling",
                                  perp_pool_printf(&page->pool, "Scaling: %s", perp_words(primary)),
                                  NULL, primary, exponent });
  if (curves_wanted(study, "time-vs-n"))
    chart_section(
        page, &(chart){ "time", "CPU time against size", NULL, "time.step_us",
                        perp_pool_printf(&page->pool,
                                         "Mean thread CPU time of a step: median over the timing "
                                         "rounds; the bands show the quartiles. %s",
                                         exponent) });
}
