/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drift and energy over time, at the step size nearest to that of the published figures. */
#include "experiments/report/page.h"

#include <math.h>

enum { MOST_CURVES = 32 };

/* The cell of a group at one step size; -1 when there is none. */
static int series_cell_at(const perp_view *view, const perp_group *group, double h)
{
  for (int i = 0; i < group->n; i++)
    if (view->x[group->cell[i]] == h) return group->cell[i];
  return -1;
}

perp_curve perp_page_series_curve(perp_page *page, const perp_csv *series, const char *x_field,
                                  const char *y_field, const char *label, int colour)
{
  int cx = perp_csv_field(series, x_field), cy = perp_csv_field(series, y_field);
  perp_curve curve = perp_page_curve(page, label, PERP_PLOT_LINES, colour, series->rows);
  for (int row = 0; row < series->rows && cx >= 0 && cy >= 0; row++)
    perp_page_point(&curve, perp_csv_number(series, row, cx), perp_csv_number(series, row, cy));
  return curve;
}

static void series_change(perp_curve *curve)
{
  double *y = (double *)(uintptr_t)curve->y;
  for (int i = curve->n - 1; i >= 0; i--) y[i] = fabs(y[i] - y[0]);
}

void perp_page_series(perp_page *page)
{
  static const struct {
    const char *field, *id, *title, *label;
    bool change; /* from the first value, which hides what differs from curve to curve */
  } charts[] = {
    { "drift.pos", "drift", "Constraint error over time", "largest constraint error [m or rad]",
      false },
    { "energy", "energy", "Change of the energy over time", "|E - initial E| [J]", true },
  };
  const perp_view *view = &page->view;
  double h = perp_page_shown_x(page);
  bool drawn = false;
  const int facets = view->facet.n > PERP_PAGE_FACETS && !page->all_figures ? PERP_PAGE_FACETS
                                                                            : view->facet.n;
  for (size_t c = 0; c < sizeof charts / sizeof *charts; c++)
    for (int facet = 0; facet < facets; facet++) {
      int rows = 0, n = 0;
      perp_curve curve[MOST_CURVES];
      for (int at = view->first[facet]; at < view->first[facet + 1] && rows < MOST_CURVES; at++) {
        const perp_group *group = &view->group[view->in_facet[at]];
        const int cell = series_cell_at(view, group, h);
        perp_csv series;
        rows += cell >= 0;
        if (cell < 0 || !perp_page_read_series(page, cell, &series)) continue;
        curve[n] = perp_page_series_curve(page, &series, "t", charts[c].field, group->label,
                                          group->colour);
        if (charts[c].change) series_change(&curve[n]);
        n += curve[n].n > 0;
        perp_csv_free(&series);
      }
      if (n == 0) continue;
      page->lesser = drawn; /* one of them is enough for a document */
      const char *title = view->facet.text[facet][0] == '\0'
                              ? charts[c].title
                              : perp_pool_printf(&page->pool, "%s: %s", charts[c].title,
                                                 view->facet.text[facet]);
      perp_figure figure = {
        .id = perp_pool_printf(&page->pool, "%s-%d", charts[c].id, facet + 1),
        .title = title,
        .xlabel = "time t [s]",
        .ylabel = charts[c].label,
        .alt = perp_pool_printf(&page->pool, "%s at h = %g s, %d curves", title, h, n),
        .logy = true,
        .n = n,
        .curves = curve,
      };
      perp_page_figure(page, &figure,
                       charts[c].change
                           ? "Difference between the total mechanical energy and its initial "
                             "value. Exact zeros are not drawn."
                           : "Largest position error of all joints at accepted states, after "
                             "stabilization. Exact zeros are not drawn.");
      drawn = drawn || perp_figure_points(&figure) > 0;
    }
  page->lesser = false;
}
