/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure on top of the page (headline.h): what is chosen, for report.json, and its first slice
 * for documents: a figure for each panel, a curve for each choice of the factor that is coloured.
 */
#include "experiments/report/page.h"
#include "experiments/study/words.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

/* The runs of a colour in a panel as the points of a curve: by tolerance, step or size. */
static perp_curve top_curve(perp_page *page, int shown, int panel)
{
  const perp_headline *top = &page->top;
  const perp_headline_slice *slice = &top->slice[0];
  const int name = slice->shown[shown];
  const char *label = perp_headline_word(page->ctx, page->results, top->colour,
                                         top->names.text[name]);
  perp_curve curve = perp_page_curve(
      page, label, top->kind == PERP_HEADLINE_SOLVED ? PERP_PLOT_STEPS : PERP_PLOT_POINTS_LINES,
      shown, slice->n + 1);
  double *order = perp_pool_alloc(&page->pool, (size_t)slice->n + 1, sizeof *order),
         *to = perp_pool_alloc(&page->pool, (size_t)slice->n + 1, sizeof *to);
  size_t *at = perp_pool_alloc(&page->pool, (size_t)slice->n + 1, sizeof *at);
  if (top->kind == PERP_HEADLINE_SOLVED) {
    const int n = perp_headline_solved(top, &page->view, name, order, to);
    for (int i = 0; i < n; i++) perp_page_point(&curve, order[i], to[i]);
    return curve;
  }
  for (int i = 0; i < slice->n; i++)
    order[i] = page->view.x_name != NULL ? page->view.order[slice->cell[i]] : (double)i;
  gsl_sort_index(at, order, 1, (size_t)slice->n);
  curve.rank = HUGE_VAL;
  for (int i = 0; i < slice->n; i++) {
    const int cell = slice->cell[at[i]];
    double x, y;
    if (top->name_of[cell] != name || top->panel_of[cell] != panel ||
        !perp_headline_point(top, &page->view, cell, &x, &y))
      continue;
    perp_page_point(&curve, x, y);
    if (perp_results_wins(page->results, cell)) curve.rank = fmin(curve.rank, y);
  }
  return curve;
}

/* " With rk4." where there are other slices. */
static const char *top_with(perp_page *page)
{
  const perp_headline_slice *slice = &page->top.slice[0];
  if (slice->words[0] == '\0' || page->top.n_slices < 2) return "";
  return perp_pool_printf(&page->pool, " With %s.", slice->words);
}

static const char *top_best(perp_page *page)
{
  const perp_headline_slice *slice = &page->top.slice[0];
  if (slice->left == 0) return "";
  return perp_pool_printf(&page->pool, " The best %d of %d choices are shown.", slice->n_shown,
                          slice->n_shown + slice->left);
}

static void top_panel(perp_page *page, const char *id, int panel)
{
  const perp_headline *top = &page->top;
  const perp_headline_slice *slice = &top->slice[0];
  const bool solved = top->kind == PERP_HEADLINE_SOLVED;
  perp_curve *curve = perp_pool_alloc(&page->pool, (size_t)slice->n_shown + 1, sizeof *curve);
  int curves = 0;
  for (int shown = 0; shown < slice->n_shown; shown++) {
    curve[curves] = top_curve(page, shown, panel);
    curves += curve[curves].n > 0;
  }
  if (curves == 0) return;
  const char *x = perp_headline_x_title(top, page->results, &page->view),
             *y = perp_headline_y_title(top, page->results),
             *title = top->panels < 0 ? y
                                      : perp_headline_word(page->ctx, page->results, top->panels,
                                                           top->panel_names.text[panel]);
  perp_page_figure(
      page,
      &(perp_figure){
          .id = id,
          .title = title,
          .xlabel = x,
          .ylabel = y,
          .alt = perp_pool_printf(&page->pool, "%s: %s against %s, %d curves", title, y, x, curves),
          .logx = true,
          .logy = !solved,
          .floor = top->floor,
          .n = curves,
          .curves = curve },
      perp_pool_printf(&page->pool, "The figure on top of the page.%s%s%s", top_with(page),
                       top_best(page),
                       solved ? ""
                              : " Points are joined in the order of step size, "
                                "tolerance or size."));
}

/* The runs of a panel in their rows: a curve for each row, then rings around those that are not ok.
 * Returns the number of curves; row [shown] out: the choices, *rows of them. */
static int top_rows(perp_page *page, int panel, perp_curve *curve, const char **row, int *rows)
{
  static const perp_cell_status marked[] = { PERP_CELL_UNSOLVED, PERP_CELL_SEVERAL,
                                             PERP_CELL_FIXED_WORK };
  const perp_headline *top = &page->top;
  const perp_headline_slice *slice = &top->slice[0];
  int *place = perp_pool_alloc(&page->pool, (size_t)top->names.n + 1, sizeof *place), n = 0;
  perp_curve ring[3];
  for (int colour = 0; colour < 3; colour++)
    ring[colour] = perp_page_curve(page, perp_cell_status_names[marked[colour]], PERP_PLOT_MARK,
                                   colour, slice->n + 1);
  *rows = 0;
  for (int k = 0; k < slice->n_shown; k++) {
    place[slice->shown[k]] = 0;
    for (int i = 0; i < slice->n; i++)
      if (top->panel_of[slice->cell[i]] == panel && top->name_of[slice->cell[i]] == slice->shown[k])
        place[slice->shown[k]] = *rows + 1;
    if (place[slice->shown[k]] == 0) continue;
    row[(*rows)++] = perp_headline_word(page->ctx, page->results, top->colour,
                                        top->names.text[slice->shown[k]]);
  }
  for (int colour = 0; colour < slice->n_shown; colour++) {
    const int at = place[slice->shown[colour]];
    if (at == 0) continue;
    curve[n] = perp_page_curve(page, row[at - 1], PERP_PLOT_POINTS, colour, slice->n + 1);
    for (int i = 0; i < slice->n; i++) {
      const int cell = slice->cell[i];
      double x, y;
      if (top->panel_of[cell] != panel || top->name_of[cell] != slice->shown[colour] ||
          !perp_headline_point(top, &page->view, cell, &x, &y))
        continue;
      perp_page_point(&curve[n], x, *rows - at);
      for (int m = 0; m < 3; m++)
        if (page->results->record[cell].status == marked[m])
          perp_page_point(&ring[m], x, *rows - at);
    }
    n += curve[n].n > 0;
  }
  for (int k = 0; n > 0 && k < 3; k++)
    if (ring[k].n > 0) curve[n++] = ring[k];
  return n;
}

static void top_row_panel(perp_page *page, const char *id, int panel)
{
  const perp_headline *top = &page->top;
  const perp_headline_slice *slice = &top->slice[0];
  perp_curve *curve = perp_pool_alloc(&page->pool, (size_t)slice->n_shown + 4, sizeof *curve);
  const char **row = perp_pool_alloc(&page->pool, (size_t)slice->n_shown + 1, sizeof *row);
  int rows;
  const int curves = top_rows(page, panel, curve, row, &rows);
  if (curves == 0) return;
  int drawn = 0;
  for (int k = 0; k < curves; k++) drawn += curve[k].style == PERP_PLOT_POINTS;
  const bool bare = drawn < rows;
  const char *x = perp_headline_x_title(top, page->results, &page->view),
             *y = top->colour < 0 ? "" : perp_words(page->study->kind->params[top->colour].key);
  perp_page_figure(
      page,
      &(perp_figure){
          .id = id,
          .title = top->panels < 0 ? perp_pool_printf(&page->pool, "%s, by %s", x, y)
                                   : perp_headline_word(page->ctx, page->results, top->panels,
                                                        top->panel_names.text[panel]),
          .xlabel = x,
          .ylabel = y,
          .alt = perp_pool_printf(&page->pool, "%s: %d rows, a mark for each run", x, rows),
          .logx = true,
          .floor = top->floor,
          .n_rows = rows,
          .row = row,
          .n = curves,
          .curves = curve },
      perp_pool_printf(&page->pool,
                       "The figure on top of the page: a row for each choice, a mark for each "
                       "run.%s%s%s",
                       top_with(page), top_best(page),
                       bare ? " A row without a mark: its runs failed, or their values are 0."
                            : ""));
}

void perp_page_top(perp_page *page)
{
  const perp_headline *top = &page->top;
  if (top->kind == PERP_HEADLINE_NONE) return;
  bool *in = perp_pool_alloc(&page->pool, (size_t)top->panel_names.n + 1, sizeof *in);
  int panels = 0, number = 0;
  for (int i = 0; i < top->slice[0].n; i++) {
    bool *mark = &in[top->panel_of[top->slice[0].cell[i]]];
    panels += !*mark;
    *mark = true;
  }
  for (int p = 0; p < top->panel_names.n; p++) {
    if (!in[p]) continue;
    const char *id = panels == 1 ? "top" : perp_pool_printf(&page->pool, "top-%d", ++number);
    (top->kind == PERP_HEADLINE_ROWS ? top_row_panel : top_panel)(page, id, p);
  }
}

void perp_page_top_json(perp_page *page, perp_json *json)
{
  const perp_headline *top = &page->top;
  const perp_param *params = page->study->kind->params;
  const int n = page->results->plan.n;
  perp_json_members(json, "top: { kind %s, y %s, x %s, colour %s, panels %s, floor %g",
                    perp_headline_names[top->kind], top->y, top->x,
                    top->colour < 0 ? NULL : params[top->colour].key,
                    top->panels < 0 ? NULL : params[top->panels].key, top->floor);
  perp_json_texts(json, "names", top->names.text, top->names.n);
  perp_json_open(json, "slices", '[');
  int *slice = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *slice);
  for (int r = 0; r < n; r++) slice[r] = top->n_slices;
  for (int k = 0; k < top->n_slices; k++) {
    const perp_headline_slice *headline_slice = &top->slice[k];
    for (int i = 0; i < headline_slice->n; i++) slice[headline_slice->cell[i]] = k;
    perp_json_members(json, "{ words %s, curves %d, effect %g, left %d", headline_slice->words,
                      headline_slice->curves, headline_slice->effect, headline_slice->left);
    perp_json_ints(json, "shown", headline_slice->shown, headline_slice->n_shown);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
  perp_json_open(json, "slice", '{'); /* of each run; the number of slices: in none */
  perp_page_indices(json, slice, n, top->n_slices + 1);
  perp_json_members(json, "} }");
}
