/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many problems, many solvers: who solves what, how fast, and why not.  For studies whose cells are
 * problems. */
#include "experiments/report/page.h"

#include <ctype.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { MOST_SOLVERS = 40, MOST_TARGETS = 8 };

/* The cells as a box solver x problem x target. */
typedef struct box {
  perp_names solver, problem, target;
  int *cell; /* [(problem * targets + target) * solvers + solver], -1 none */
} box;

static int *profiles_slot(const box *bound, int problem, int target, int solver)
{
  return &bound->cell[((size_t)problem * (size_t)bound->target.n + (size_t)target) *
                          (size_t)bound->solver.n +
                      (size_t)solver];
}

static bool profiles_build(perp_page *page, box *bound)
{
  const perp_cell_kind *kind = page->study->kind;
  int n = page->results->plan.n, param = perp_kind_param(kind, "problem"),
      T = perp_kind_param(kind, "tol");
  int S = perp_kind_param(kind, "lcp");
  if (param < 0 || T < 0 || S < 0) return false;
  *bound = (box){ 0 };
  for (int pass = 0; pass < 2; pass++) {
    for (int cell = 0; cell < n; cell++) {
      int problem = perp_names_index(&page->pool, &bound->problem,
                                     perp_view_text(&page->view, cell, param), -1);
      int target = perp_names_index(&page->pool, &bound->target,
                                    perp_view_text(&page->view, cell, T), MOST_TARGETS);
      int solver = perp_names_index(&page->pool, &bound->solver,
                                    perp_view_text(&page->view, cell, S), MOST_SOLVERS);
      if (pass == 1 && target >= 0 && solver >= 0)
        *profiles_slot(bound, problem, target, solver) = cell;
    }
    if (pass == 1) break;
    size_t size = (size_t)bound->problem.n * (size_t)bound->target.n * (size_t)bound->solver.n;
    bound->cell = perp_pool_alloc(&page->pool, size + 1, sizeof *bound->cell);
    for (size_t i = 0; i < size; i++) bound->cell[i] = -1;
  }
  return true;
}

/* Cost of a solved cell; infinite when it was not solved.  What is counted is at least 1. */
static double profiles_cost(const perp_page *page, int cell, const char *metric)
{
  if (cell < 0 || !perp_results_wins(page->results, cell)) return HUGE_VAL;
  const double v = perp_page_value(page, cell, metric);
  return v >= 0 && strncmp(metric, "time.", 5) != 0 && strcmp(metric, "work.products") != 0
             ? fmax(v, 1)
         : v > 0 ? v
                 : HUGE_VAL;
}

/* Distribution of costs [n]: share of items within x.  The curve is made of the corners of the
 * steps. */
static perp_curve profiles_distribution(perp_page *page, double *costs, int n, const char *label,
                                        int colour, double end)
{
  perp_curve curve = perp_page_curve(page, label, PERP_PLOT_STEPS, colour, n + 2);
  gsl_sort(costs, 1, (size_t)n);
  while (curve.n < n && isfinite(costs[curve.n]))
    perp_page_point(&curve, costs[curve.n], (curve.n + 1.0) / n);
  if (curve.n > 0) perp_page_point(&curve, fmax(end, curve.x[curve.n - 1]), curve.y[curve.n - 1]);
  return curve;
}

const perp_profile_words perp_profiles[PERP_PROFILES] = {
  [PERP_PROFILE_PERFORMANCE] = { "performance", "Performance profile",
                                 "Dolan and Moré: share of problems solved within a factor of the "
                                 "cost of the best solver shown. A failure never counts as solved. "
                                 "Problems that no solver solves remain in the denominator." },
  [PERP_PROFILE_DATA] = { "data", "Data profile",
                          "Moré and Wild: share of problems solved within a budget of work. The "
                          "unit is the time of one product of A with a vector, for the same "
                          "problem." },
  [PERP_PROFILE_ECDF] = { "ecdf", "ECDF by budget",
                          "Share of all (problem, target) pairs solved within a budget, drawn as "
                          "in COCO. The curve of a solver does not depend on the other solvers. "
                          "Pairs that are unsolved or outside the domain of a solver are missing "
                          "below 100 %. Thick grey line: the best solver of each pair (virtual "
                          "best). Cross: the largest budget that the solver spent on any pair; "
                          "nothing was measured to its right." }
};

static bool profiles_solved(const perp_page *page, const box *bound, int problem, int target)
{
  for (int solver = 0; solver < bound->solver.n; solver++) {
    const int cell = *profiles_slot(bound, problem, target, solver);
    if (cell >= 0 && perp_results_wins(page->results, cell)) return true;
  }
  return false;
}

/* One curve a solver over the problems at one target: performance and data profile. */
static void profiles_draw(perp_page *page, const box *bound, int chart, int first, int last,
                          const char *id, const char *title, const char *xlabel)
{
  const char *metric = chart == PERP_PROFILE_DATA ? "work.products" : "time.cpu",
             *caption = perp_profiles[chart].caption;
  int items = bound->problem.n * (last - first + 1);
  double *costs[MOST_SOLVERS], end = 0;
  for (int s = 0; s < bound->solver.n; s++)
    costs[s] = perp_pool_alloc(&page->pool, (size_t)items, sizeof **costs);
  int at = 0;
  for (int problem = 0; problem < bound->problem.n; problem++)
    for (int target = first; target <= last; target++, at++) {
      double best = HUGE_VAL;
      for (int solver = 0; solver < bound->solver.n; solver++)
        best = fmin(best,
                    profiles_cost(page, *profiles_slot(bound, problem, target, solver), metric));
      if (isinf(best) &&
          profiles_solved(page, bound, problem, target)) { /* not measured of such problems */
        items--;
        at--;
        continue;
      }
      for (int solver = 0; solver < bound->solver.n; solver++) {
        double c = profiles_cost(page, *profiles_slot(bound, problem, target, solver), metric);
        costs[solver][at] = isinf(c) ? c : chart == PERP_PROFILE_PERFORMANCE ? c / best : c;
        if (isfinite(costs[solver][at])) end = fmax(end, costs[solver][at]);
      }
    }
  perp_curve curves[MOST_SOLVERS];
  for (int curve = 0; curve < bound->solver.n; curve++)
    curves[curve] = profiles_distribution(page, costs[curve], items, bound->solver.text[curve],
                                          curve, end * 1.2);
  perp_figure figure = { .id = id,
                         .title = title,
                         .xlabel = xlabel,
                         .ylabel = "share of problems solved",
                         .alt = perp_pool_printf(&page->pool, "%s, %d solvers, %d items", title,
                                                 bound->solver.n, items),
                         .logx = true,
                         .share = true,
                         .n = bound->solver.n,
                         .curves = curves };
  const int left_out = bound->problem.n * (last - first + 1) - items;
  if (left_out > 0)
    caption = perp_pool_printf(&page->pool, "%s %d pairs without such a value are left out.",
                               caption, left_out);
  perp_page_figure(page, &figure, caption);
}

/* Has every solved cell this figure? */
static bool profiles_complete(const perp_page *page, const char *metric)
{
  for (int cell = 0; cell < page->results->plan.n; cell++)
    if (perp_results_wins(page->results, cell) && !(perp_page_value(page, cell, metric) >= 0))
      return false;
  return true;
}

/* The largest budget that a solver has spent on a pair; 0: not known. */
static double profiles_spent(const perp_page *page, const box *bound, int solver,
                             const char *metric)
{
  double most = 0;
  for (int problem = 0; problem < bound->problem.n; problem++)
    for (int target = 0; target < bound->target.n; target++) {
      const int cell = *profiles_slot(bound, problem, target, solver);
      const double v = cell < 0 ? (double)NAN : perp_page_value(page, cell, metric);
      if (v > most) most = v;
    }
  return most;
}

/* From nothing at the least cost of all to the right end of the figure. */
static perp_curve ecdf_curve(perp_page *page, double *costs, int n, const char *label,
                             perp_plot_style style, int colour, double least, double end)
{
  perp_curve curve = perp_page_curve(page, label, style, colour, n + 2);
  gsl_sort(costs, 1, (size_t)n);
  if (costs[0] > least && isfinite(costs[0])) perp_page_point(&curve, least, 0);
  for (int i = 0; i < n && isfinite(costs[i]); i++)
    if (i + 1 == n || costs[i + 1] > costs[i]) perp_page_point(&curve, costs[i], (i + 1.0) / n);
  if (curve.n > 0) perp_page_point(&curve, end, curve.y[curve.n - 1]);
  return curve;
}

static void ecdf_draw(perp_page *page, const box *bound, const char *id, const char *metric)
{
  const int items = bound->problem.n * bound->target.n;
  double *costs[MOST_SOLVERS], spent[MOST_SOLVERS], least = HUGE_VAL, end = 0;
  double *best = perp_pool_alloc(&page->pool, (size_t)items, sizeof *best);
  perp_curve curves[2 * MOST_SOLVERS + 1];
  perp_text none = { 0 };
  int n = 0, drawn = 0;
  for (int item = 0; item < items; item++) best[item] = HUGE_VAL;
  for (int solver = 0; solver < bound->solver.n; solver++) {
    costs[solver] = perp_pool_alloc(&page->pool, (size_t)items, sizeof **costs);
    spent[solver] = profiles_spent(page, bound, solver, metric);
    bool any = false;
    for (int item = 0; item < items; item++) {
      const double c = profiles_cost(
          page, *profiles_slot(bound, item / bound->target.n, item % bound->target.n, solver),
          metric);
      costs[solver][item] = c;
      best[item] = fmin(best[item], c);
      least = fmin(least, c);
      if (isfinite(c)) end = fmax(end, c);
      any = any || isfinite(c);
    }
    if (any)
      end = fmax(end, spent[solver]);
    else
      perp_text_add(&none, "%s%s", none.n > 0 ? ", " : " Solvers that solve none of these: ",
                    bound->solver.text[solver]);
  }
  end *= 1.1;
  for (int colour = 0; colour < bound->solver.n; colour++) {
    perp_curve curve = ecdf_curve(page, costs[colour], items, bound->solver.text[colour],
                                  PERP_PLOT_STEPS, colour, least, end);
    if (curve.n == 0) continue;
    drawn++;
    curves[n++] = curve;
    if (!(spent[colour] > 0)) continue;
    perp_curve cross = perp_page_curve(
        page, perp_pool_printf(&page->pool, "%s: largest budget", curve.label), PERP_PLOT_END,
        colour, 1);
    int i = 0;
    while (i + 1 < curve.n && curve.x[i + 1] <= spent[colour]) i++;
    perp_page_point(&cross, spent[colour], curve.y[i]);
    curves[n++] = cross;
  }
  if (drawn > 1)
    curves[n++] = ecdf_curve(page, best, items, "virtual best", PERP_PLOT_BOUND, 0, least, end);
  perp_figure figure = {
    .id = id,
    .title = "Share of (problem, target) pairs solved within a budget",
    .xlabel = perp_pool_printf(&page->pool, "budget: %s", perp_page_title(page, metric)),
    .ylabel = "share of pairs solved",
    .alt = perp_pool_printf(&page->pool, "share of %d pairs solved against %s, %d solvers", items,
                            perp_page_title(page, metric), drawn),
    .logx = true,
    .share = true,
    .n = n,
    .curves = curves
  };
  perp_page_figure(page, &figure,
                   perp_pool_printf(&page->pool, "%s%s%s", perp_profiles[PERP_PROFILE_ECDF].caption,
                                    none.n > 0 ? none.s : "", none.n > 0 ? "." : ""));
  perp_text_free(&none);
}

static void profiles(perp_page *page, const box *bound)
{
  for (int t = 0; t < bound->target.n; t++)
    profiles_draw(
        page, bound, PERP_PROFILE_PERFORMANCE, t, t,
        perp_pool_printf(&page->pool, "profile-%d", t + 1),
        perp_pool_printf(&page->pool, "Performance profile at rel <= %s", bound->target.text[t]),
        "thread CPU time / that of the best solver shown");
  profiles_draw(page, bound, PERP_PROFILE_DATA, bound->target.n - 1, bound->target.n - 1,
                "data-profile",
                perp_pool_printf(&page->pool, "Data profile at rel <= %s",
                                 bound->target.text[bound->target.n - 1]),
                "work [products with A, the cost of a sweep]");
  /* as the page does: counted work where it is known of all, which is the same on every machine */
  const bool counted = profiles_complete(page, "work.counted");
  ecdf_draw(page, bound, "ecdf", counted ? "work.counted" : "time.cpu");
  if (counted) ecdf_draw(page, bound, "ecdf-time", "time.cpu");
}

static const char *family_of(perp_page *page, const char *problem)
{
  if (strncmp(problem, "file:", 5) == 0) return "file";
  return perp_pool_strndup(&page->pool, problem, strcspn(problem, ":"));
}

static perp_names profiles_families(perp_page *page, const box *bound)
{
  perp_names family = { 0 };
  for (int p = 0; p < bound->problem.n; p++)
    perp_names_index(&page->pool, &family, family_of(page, bound->problem.text[p]), -1);
  return family;
}

/* ---- time against size, by family ---- */

/* Family names are those of files: in a name of a file only letters, digits and a few marks. */
static char *profiles_id(perp_page *page, const char *family)
{
  char *id = perp_pool_printf(&page->pool, "time-%s", family);
  for (char *at = id; *at != '\0'; at++)
    if (!isalnum((unsigned char)*at) && strchr("-_.+", *at) == NULL) *at = '_';
  return id;
}

static void time_against_size(perp_page *page, const box *bound)
{
  const perp_names family = profiles_families(page, bound);
  const int target = bound->target.n - 1;
  page->lesser = true;
  for (int f = 0; f < family.n; f++) {
    perp_curve curves[MOST_SOLVERS];
    int n_curves = 0;
    for (int solver = 0; solver < bound->solver.n; solver++) {
      perp_curve curve = perp_page_curve(page, bound->solver.text[solver], PERP_PLOT_POINTS_LINES,
                                         solver, bound->problem.n);
      double *x = (double *)(uintptr_t)curve.x, *y = (double *)(uintptr_t)curve.y;
      for (int problem = 0; problem < bound->problem.n; problem++) {
        double cost = profiles_cost(page, *profiles_slot(bound, problem, target, solver),
                                    "time.cpu");
        if (isinf(cost) ||
            strcmp(family_of(page, bound->problem.text[problem]), family.text[f]) != 0)
          continue;
        double rows = perp_page_value(page, *profiles_slot(bound, problem, target, solver), "rows");
        int at = curve.n++; /* by size */
        for (; at > 0 && x[at - 1] > rows; at--) {
          x[at] = x[at - 1];
          y[at] = y[at - 1];
        }
        x[at] = rows;
        y[at] = cost;
      }
      if (curve.n == 0) continue;
      double exponent = perp_log_slope(curve.x, curve.y, curve.n);
      if (!isnan(exponent))
        curve.label = perp_pool_printf(&page->pool, "%s (n^%.2f)", curve.label, exponent);
      curves[n_curves++] = curve;
    }
    if (n_curves == 0) continue;
    perp_figure figure = { .id = profiles_id(page, family.text[f]),
                           .title = perp_pool_printf(&page->pool, "%s: time at rel <= %s",
                                                     family.text[f], bound->target.text[target]),
                           .xlabel = "number of rows n",
                           .ylabel = "thread CPU time [s]",
                           .alt = perp_pool_printf(
                               &page->pool, "CPU time against n for the family %s", family.text[f]),
                           .logx = true,
                           .logy = true,
                           .n = n_curves,
                           .curves = curves };
    perp_page_figure(page, &figure,
                     "Solved problems only. Exponent: Theil-Sen slope of log time over log n.");
  }
  page->lesser = false;
}

/* ---- residual per iteration ---- */

static void profiles_histories(perp_page *page, const box *bound)
{
  /* the problem on which most solvers tell their residuals */
  int best = -1, most = 0, target = bound->target.n - 1;
  for (int problem = 0; problem < bound->problem.n; problem++) {
    int told = 0;
    for (int solver = 0; solver < bound->solver.n; solver++) {
      int cell = *profiles_slot(bound, problem, target, solver);
      if (cell >= 0) told += perp_page_value(page, cell, "iterations") > 3;
    }
    if (told > most) {
      most = told;
      best = problem;
    }
  }
  if (best < 0) return;
  perp_curve curves[MOST_SOLVERS];
  int n = 0;
  for (int solver = 0; solver < bound->solver.n; solver++) {
    int cell = *profiles_slot(bound, best, target, solver);
    if (cell < 0) continue;
    perp_csv series;
    if (!perp_page_read_series(page, cell, &series)) continue;
    if (series.rows > 1)
      curves[n++] = perp_page_series_curve(page, &series, "iteration", "rel",
                                           bound->solver.text[solver], solver);
    perp_csv_free(&series);
  }
  if (n == 0) return;
  perp_figure figure = { .id = "residual-history",
                         .title = perp_pool_printf(&page->pool, "Residual per iteration: %s",
                                                   bound->problem.text[best]),
                         .xlabel = "iteration",
                         .ylabel = "relative residual reported by the method",
                         .alt = "residual histories",
                         .logx = true,
                         .logy = true,
                         .n = n,
                         .curves = curves };
  perp_page_figure(page, &figure,
                   "Pivots, sweeps and Newton steps have different costs: compare the shapes of "
                   "the curves, not their lengths.");
}

bool perp_page_has_problems(const perp_page *page)
{
  return perp_kind_param(page->study->kind, "problem") >= 0;
}

void perp_page_problems(perp_page *page)
{
  box bound;
  if (!profiles_build(page, &bound) || bound.problem.n == 0) return;
  profiles(page, &bound);
  time_against_size(page, &bound);
  profiles_histories(page, &bound);
}
