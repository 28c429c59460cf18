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
    const int r = slice->cell[at[i]];
    double x, y;
    if (top->name_of[r] != name || top->panel_of[r] != panel ||
        !perp_headline_point(top, &page->view, r, &x, &y))
      continue;
    perp_page_point(&curve, x, y);
    if (perp_results_wins(page->results, r)) curve.rank = fmin(curve.rank, y);
  }
  return curve;
}

static void top_panel(perp_page *page, const char *id, int panel)
{
  const perp_headline *top = &page->top;
  const perp_headline_slice *slice = &top->slice[0];
  const bool solved = top->kind == PERP_HEADLINE_SOLVED;
  perp_curve *curve = perp_pool_alloc(&page->pool, (size_t)slice->n_shown + 1, sizeof *curve);
  int curves = 0;
  for (int k = 0; k < slice->n_shown; k++) {
    curve[curves] = top_curve(page, k, panel);
    curves += curve[curves].n > 0;
  }
  if (curves == 0) return;
  const char *x = perp_headline_x_title(top, page->results, &page->view),
             *y = perp_headline_y_title(top, page->results),
             *title = top->panels < 0 ? y
                                      : perp_headline_word(page->ctx, page->results, top->panels,
                                                           top->panel_names.text[panel]),
             *with = slice->words[0] == '\0' || top->n_slices < 2
                         ? ""
                         : perp_pool_printf(&page->pool, " With %s.", slice->words),
             *best = slice->left == 0
                         ? ""
                         : perp_pool_printf(&page->pool, " The best %d of %d choices are shown.",
                                            slice->n_shown, slice->n_shown + slice->left);
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
      perp_pool_printf(&page->pool, "The figure on top of the page.%s%s%s", with, best,
                       solved ? ""
                              : " Points are joined in the order of step size, "
                                "tolerance or size."));
}

void perp_page_top(perp_page *page)
{
  const perp_headline *top = &page->top;
  /* rows have no place on an axis of numbers */
  if (top->kind != PERP_HEADLINE_CURVES && top->kind != PERP_HEADLINE_SOLVED) return;
  bool *in = perp_pool_alloc(&page->pool, (size_t)top->panel_names.n + 1, sizeof *in);
  int panels = 0, number = 0;
  for (int i = 0; i < top->slice[0].n; i++) {
    bool *mark = &in[top->panel_of[top->slice[0].cell[i]]];
    panels += !*mark;
    *mark = true;
  }
  for (int p = 0; p < top->panel_names.n; p++)
    if (in[p])
      top_panel(page, panels == 1 ? "top" : perp_pool_printf(&page->pool, "top-%d", ++number), p);
}

void perp_page_top_json(perp_page *page, perp_json *j)
{
  const perp_headline *top = &page->top;
  const perp_param *params = page->study->kind->params;
  const int n = page->results->plan.n;
  perp_json_members(j, "top: { kind %s, y %s, x %s, colour %s, panels %s, floor %g",
                    perp_headline_names[top->kind], top->y, top->x,
                    top->colour < 0 ? NULL : params[top->colour].key,
                    top->panels < 0 ? NULL : params[top->panels].key, top->floor);
  perp_json_texts(j, "names", top->names.text, top->names.n);
  perp_json_open(j, "slices", '[');
  int *slice = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *slice);
  for (int r = 0; r < n; r++) slice[r] = top->n_slices;
  for (int k = 0; k < top->n_slices; k++) {
    const perp_headline_slice *s = &top->slice[k];
    for (int i = 0; i < s->n; i++) slice[s->cell[i]] = k;
    perp_json_members(j, "{ words %s, curves %d, effect %g, left %d", s->words, s->curves,
                      s->effect, s->left);
    perp_json_ints(j, "shown", s->shown, s->n_shown);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
  perp_json_open(j, "slice", '{'); /* of each run; the number of slices: in none */
  perp_page_indices(j, slice, n, top->n_slices + 1);
  perp_json_members(j, "} }");
}
