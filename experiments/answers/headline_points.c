/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure on top as points and words, for pictures and terminals. */
#include "experiments/answers/headline.h"
#include "experiments/study/words.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

bool perp_headline_point(const perp_headline *top, const perp_view *view, int cell, double *x,
                         double *y)
{
  const perp_results *results = view->results;
  const double v = perp_results_value(results, cell, top->y_metric);
  double at = v;
  *x = *y = (double)NAN;
  if (!perp_view_stands(view, cell)) return false;
  if (top->kind == PERP_HEADLINE_ROWS) {
    if (top->floor > 0 && v >= 0) at = fmax(v, 0.5 * top->floor); /* 0 is below it, too */
    if (!(at > 0 && isfinite(at))) return false;
    *x = *y = at;
    return true;
  }
  if (top->kind == PERP_HEADLINE_CURVES)
    at = top->x_metric >= 0     ? perp_results_value(results, cell, top->x_metric)
         : top->x_param >= 0    ? results->plan.cells[cell].value[top->x_param].number
         : view->x_name != NULL ? view->x[cell]
                                : (double)NAN;
  /* under error control the step is not what is varied */
  const bool loose = top->kind == PERP_HEADLINE_CURVES && top->x_metric < 0 &&
                     perp_view_adaptive(view, cell);
  if (loose || !(v > 0 && isfinite(v)) || !(at > 0 && isfinite(at))) return false;
  *x = at;
  *y = fmax(v, 0.5 * top->floor);
  return true;
}

int perp_headline_solved(const perp_headline *top, const perp_view *view, int name, double *x,
                         double *y)
{
  const perp_results *results = view->results;
  const perp_headline_slice *slice = &top->slice[0];
  const int problem = perp_kind_param(results->study->kind, "problem"),
            tol = perp_kind_param(results->study->kind, "tol");
  perp_pool pool = { 0 };
  perp_names pairs = { 0 };
  int n = 0;
  for (int i = 0; i < slice->n; i++) {
    const int cell = slice->cell[i];
    const char *pair = perp_pool_printf(&pool, "%s\n%s", perp_view_text(view, cell, problem),
                                        perp_view_text(view, cell, tol));
    perp_names_index(&pool, &pairs, pair, -1);
    const double t = perp_results_value(results, cell, top->x_metric);
    if (top->name_of[cell] == name && perp_results_wins(results, cell) && t > 0 && isfinite(t))
      x[n++] = t;
  }
  gsl_sort(x, 1, (size_t)n);
  for (int i = 0; i < n; i++) y[i] = 100.0 * (i + 1) / pairs.n;
  perp_pool_free(&pool);
  return n;
}

static const char *points_title(perp_results *results, const char *metric)
{
  const perp_metric *m = perp_study_metric(results->study, metric);
  const char *words = perp_words(metric);
  if (m == NULL || m->unit[0] == '\0') return words;
  return perp_pool_printf(&results->pool, "%s [%s]", words, m->unit);
}

const char *perp_headline_y_title(const perp_headline *top, perp_results *results)
{
  return top->kind == PERP_HEADLINE_SOLVED ? "solved problems [%]" : points_title(results, top->y);
}

const char *perp_headline_x_title(const perp_headline *top, perp_results *results,
                                  const perp_view *view)
{
  if (top->kind == PERP_HEADLINE_ROWS) return points_title(results, top->y);
  if (top->x_metric >= 0) return points_title(results, top->x);
  if (top->x_param >= 0) {
    const perp_param *param = &results->study->kind->params[top->x_param];
    return param->unit[0] != '\0'
               ? perp_pool_printf(&results->pool, "%s [%s]", perp_words(param->key), param->unit)
               : perp_words(param->key);
  }
  /* "h [s]" of the view, with its name in words */
  const char *name = view->x_name != NULL ? view->x_name : "", *unit = strchr(name, ' ');
  if (unit == NULL) return perp_words(name);
  const char *key = perp_pool_strndup(&results->pool, name, (size_t)(unit - name));
  return perp_pool_printf(&results->pool, "%s%s", perp_words(key), unit);
}
