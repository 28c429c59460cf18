/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many problems, many solvers: who solves what, how fast, and why not.  For studies whose cells are problems. */
#include "experiments/pages/csv.h"
#include "experiments/report/page.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SOLVERS = 40, MOST_TARGETS = 8 };

/* The cells as a box solver x problem x target. */
typedef struct box {
  int n_solvers, n_problems, n_targets;
  const char *solver[MOST_SOLVERS], *target[MOST_TARGETS];
  const char **problem;
  int *cell; /* [(problem * n_targets + target) * n_solvers + solver], -1 none */
} box;

static int index_in(const char **list, int *n, int most, const char *text)
{
  for (int i = 0; i < *n; i++)
    if (strcmp(list[i], text) == 0) return i;
  if (*n == most) return -1;
  list[*n] = text;
  return (*n)++;
}

static int *profiles_slot(const box *b, int problem, int target, int solver)
{
  return &b->cell[((size_t)problem * (size_t)b->n_targets + (size_t)target) * (size_t)b->n_solvers +
                  (size_t)solver];
}

static bool profiles_build(perp_page *page, box *b)
{
  const perp_cell_kind *kind = page->study->kind;
  int n = page->results->plan.n, P = perp_kind_param(kind, "problem"),
      T = perp_kind_param(kind, "tol");
  int S = perp_kind_param(kind, "lcp");
  if (P < 0 || T < 0 || S < 0) return false;
  *b = (box){ .problem = perp_pool_alloc(&page->pool, (size_t)n + 1, sizeof *b->problem) };
  for (int pass = 0; pass < 2; pass++) {
    for (int r = 0; r < n; r++) {
      int p = index_in(b->problem, &b->n_problems, n, perp_view_text(&page->view, r, P));
      int t = index_in(b->target, &b->n_targets, MOST_TARGETS, perp_view_text(&page->view, r, T));
      int s = index_in(b->solver, &b->n_solvers, MOST_SOLVERS, perp_view_text(&page->view, r, S));
      if (pass == 1 && p >= 0 && t >= 0 && s >= 0) *profiles_slot(b, p, t, s) = r;
    }
    if (pass == 1) break;
    size_t size = (size_t)b->n_problems * (size_t)b->n_targets * (size_t)b->n_solvers;
    b->cell = perp_pool_alloc(&page->pool, size + 1, sizeof *b->cell);
    for (size_t i = 0; i < size; i++) b->cell[i] = -1;
  }
  return true;
}

/* Cost of a solved cell; infinite when it was not solved. */
static double profiles_cost(const perp_page *page, int cell, const char *metric)
{
  if (cell < 0 || !perp_view_ok(&page->view, cell)) return HUGE_VAL;
  double v = perp_page_value(page, cell, metric);
  return v > 0 ? v : HUGE_VAL;
}

static int profiles_ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Distribution of costs: share of `of` items within x.  The curve is made of the corners of the steps. */
static perp_curve profiles_distribution(perp_page *page, double *costs, int n, int of,
                                        const char *label, int colour, double end)
{
  qsort(costs, (size_t)n, sizeof *costs, profiles_ascending);
  double *x = perp_pool_alloc(&page->pool, (size_t)n + 2, sizeof *x);
  double *y = perp_pool_alloc(&page->pool, (size_t)n + 2, sizeof *y);
  int k = 0;
  for (int i = 0; i < n && isfinite(costs[i]); i++) {
    x[k] = costs[i];
    y[k++] = (double)(i + 1) / of;
  }
  if (k > 0) {
    x[k] = fmax(end, x[k - 1]);
    y[k] = y[k - 1];
    k++;
  }
  return (perp_curve){
    .label = label, .style = PERP_PLOT_STEPS, .colour = colour, .n = k, .x = x, .y = y
  };
}

enum chart { PERFORMANCE, DATA, ECDF };

/* One curve a solver over the targets first ... last. */
static void profiles_draw(perp_page *page, const box *b, enum chart chart, int first, int last,
                          const char *id, const char *title, const char *xlabel,
                          const char *caption)
{
  const char *metric = chart == DATA ? "work.products" : "time.cpu";
  int items = b->n_problems * (last - first + 1);
  double *costs[MOST_SOLVERS], end = 0;
  for (int s = 0; s < b->n_solvers; s++)
    costs[s] = perp_pool_alloc(&page->pool, (size_t)items, sizeof **costs);
  int at = 0;
  for (int p = 0; p < b->n_problems; p++)
    for (int t = first; t <= last; t++, at++) {
      double best = HUGE_VAL;
      for (int s = 0; s < b->n_solvers; s++)
        best = fmin(best, profiles_cost(page, *profiles_slot(b, p, t, s), metric));
      for (int s = 0; s < b->n_solvers; s++) {
        double c = profiles_cost(page, *profiles_slot(b, p, t, s), metric);
        costs[s][at] = isinf(c) ? c : chart == PERFORMANCE ? c / best : c;
        if (isfinite(costs[s][at])) end = fmax(end, costs[s][at]);
      }
    }
  perp_curve curves[MOST_SOLVERS];
  for (int s = 0; s < b->n_solvers; s++)
    curves[s] = profiles_distribution(page, costs[s], items, items, b->solver[s], s, end * 1.2);
  perp_figure f = { .id = id,
                    .title = title,
                    .xlabel = xlabel,
                    .ylabel = "share solved",
                    .alt = perp_pool_printf(&page->pool, "%s, %d solvers, %d items", title,
                                            b->n_solvers, items),
                    .logx = true,
                    .n = b->n_solvers,
                    .curves = curves };
  perp_page_figure(page, &f, caption);
}

static void profiles(perp_page *page, const box *b)
{
  for (int t = 0; t < b->n_targets; t++)
    profiles_draw(
        page, b, PERFORMANCE, t, t, perp_pool_printf(&page->pool, "profile-%d", t + 1),
        perp_pool_printf(&page->pool, "Performance profile at rel <= %s", b->target[t]),
        "time / time of the fastest solver of the problem",
        "Dolan and More: share of problems solved within a factor tau of the fastest. A failure "
        "never counts as "
        "solved, and a problem that all fail stays in the denominator.");
  profiles_draw(
      page, b, DATA, b->n_targets - 1, b->n_targets - 1, "data-profile",
      perp_pool_printf(&page->pool, "Data profile at rel <= %s", b->target[b->n_targets - 1]),
      "work, in products with A (the cost of a sweep)",
      "More and Wild: share of problems solved within a budget; the unit is the time of one "
      "product A lambda of the "
      "same problem.");
  profiles_draw(page, b, ECDF, 0, b->n_targets - 1, "ecdf",
                "Share of (problem, target) pairs solved within a time", "thread-CPU time [s]",
                "Does not depend on which other solvers are shown.");
}

/* ---- who fails where, and why -------------------------------------------------------------------------------- */

static const char *family_of(perp_page *page, const char *problem)
{
  if (strncmp(problem, "file:", 5) == 0) return "file";
  return perp_pool_strndup(&page->pool, problem, strcspn(problem, ":"));
}

static int profiles_families(perp_page *page, const box *b, const char **family)
{
  int n = 0;
  for (int p = 0; p < b->n_problems; p++)
    index_in(family, &n, b->n_problems, family_of(page, b->problem[p]));
  return n;
}

/* "12 / 15: 2 max-iter, 1 ray" */
static void matrix_entry(perp_page *page, const box *b, int s, const char *family)
{
  const char *reason[16];
  int count[16] = { 0 }, n_reasons = 0, solved = 0, all = 0;
  for (int p = 0; p < b->n_problems; p++) {
    if (strcmp(family_of(page, b->problem[p]), family) != 0) continue;
    for (int t = 0; t < b->n_targets; t++) {
      int cell = *profiles_slot(b, p, t, s);
      if (cell < 0) continue;
      all++;
      if (perp_view_ok(&page->view, cell)) {
        solved++;
        continue;
      }
      const perp_record *record = &page->results->record[cell];
      const char *why = record->reason[0] != '\0' ? record->reason
                                                  : perp_cell_status_names[record->status];
      int k = index_in(reason, &n_reasons, 16, why);
      if (k >= 0) count[k]++;
    }
  }
  if (all == 0) {
    perp_html(page->out, "<td></td>");
    return;
  }
  perp_html(page->out, "<td class=\"%s\">%d/%d", solved == all ? "good" : "bad", solved, all);
  for (int k = 0; k < n_reasons; k++)
    perp_html(page->out, "<br><small>%d %s</small>", count[k], reason[k]);
  perp_html(page->out, "</td>");
}

static void failure_matrix(perp_page *page, const box *b)
{
  const char **family = perp_pool_alloc(&page->pool, (size_t)b->n_problems + 1, sizeof *family);
  int n = profiles_families(page, b, family);
  perp_html(
      page->out,
      "<h3 id=\"failure-matrix\">Who solves what, and why not</h3>\n<p class=\"note\">Solved / all "
      "(problem, target) pairs of the family; below, the reason of each failure as the solver or "
      "the "
      "judge gave it. An unsolvable problem is answered best by <em>infeasible</em>.</p>\n"
      "<div class=\"scroll\"><table><tr><th>solver</th>");
  for (int f = 0; f < n; f++) perp_html(page->out, "<th>%s</th>", family[f]);
  perp_html(page->out, "</tr>\n");
  for (int s = 0; s < b->n_solvers; s++) {
    perp_html(page->out, "<tr><td><code>%s</code></td>", b->solver[s]);
    for (int f = 0; f < n; f++) matrix_entry(page, b, s, family[f]);
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n");
}

/* ---- time against size, by family --------------------------------------------------------------------------------- */

/* Family names are those of files: in a name of a file only letters, digits and a few marks. */
static char *profiles_id(perp_page *page, const char *family)
{
  char *id = perp_pool_printf(&page->pool, "time-%s", family);
  for (char *s = id; *s != '\0'; s++)
    if (!isalnum((unsigned char)*s) && strchr("-_.+", *s) == NULL) *s = '_';
  return id;
}

static void time_against_size(perp_page *page, const box *b)
{
  const char **family = perp_pool_alloc(&page->pool, (size_t)b->n_problems + 1, sizeof *family);
  int n = profiles_families(page, b, family), t = b->n_targets - 1;
  perp_html(page->out, "<h3 id=\"time-vs-n\">Time against size</h3>\n");
  perp_page_fold(page, "%d families", n);
  for (int f = 0; f < n; f++) {
    perp_curve curves[MOST_SOLVERS];
    int n_curves = 0;
    for (int s = 0; s < b->n_solvers; s++) {
      double *x = perp_pool_alloc(&page->pool, (size_t)b->n_problems, sizeof *x);
      double *y = perp_pool_alloc(&page->pool, (size_t)b->n_problems, sizeof *y);
      int k = 0;
      for (int p = 0; p < b->n_problems; p++) {
        double c = profiles_cost(page, *profiles_slot(b, p, t, s), "time.cpu");
        if (isinf(c) || strcmp(family_of(page, b->problem[p]), family[f]) != 0) continue;
        double rows = perp_page_value(page, *profiles_slot(b, p, t, s), "rows");
        int at = k++; /* by size */
        for (; at > 0 && x[at - 1] > rows; at--) {
          x[at] = x[at - 1];
          y[at] = y[at - 1];
        }
        x[at] = rows;
        y[at] = c;
      }
      if (k == 0) continue;
      double exponent = perp_log_slope(x, y, k);
      const char *label = isnan(exponent) ? b->solver[s]
                                          : perp_pool_printf(&page->pool, "%s (n^%.2f)",
                                                             b->solver[s], exponent);
      curves[n_curves++] = (perp_curve){
        .label = label, .style = PERP_PLOT_POINTS_LINES, .colour = s, .n = k, .x = x, .y = y
      };
    }
    if (n_curves == 0) continue;
    perp_figure figure = {
      .id = profiles_id(page, family[f]),
      .title = perp_pool_printf(&page->pool, "%s: time at rel <= %s", family[f], b->target[t]),
      .xlabel = "rows n",
      .ylabel = "thread-CPU time [s]",
      .alt = perp_pool_printf(&page->pool, "time against n for the family %s", family[f]),
      .logx = true,
      .logy = true,
      .n = n_curves,
      .curves = curves
    };
    perp_page_figure(page, &figure,
                     "Solved problems only. Exponent: Theil-Sen slope of log time over log n.");
  }
  perp_page_unfold(page);
}

/* ---- residual per iteration ------------------------------------------------------------------------------------------ */

static void profiles_histories(perp_page *page, const box *b)
{
  /* the problem on which most solvers tell their residuals */
  int best = -1, most = 0, t = b->n_targets - 1;
  for (int p = 0; p < b->n_problems; p++) {
    int told = 0;
    for (int s = 0; s < b->n_solvers; s++) {
      int cell = *profiles_slot(b, p, t, s);
      if (cell >= 0) told += perp_page_value(page, cell, "iterations") > 3;
    }
    if (told > most) {
      most = told;
      best = p;
    }
  }
  if (best < 0) return;
  perp_curve curves[MOST_SOLVERS];
  int n = 0;
  for (int s = 0; s < b->n_solvers; s++) {
    int cell = *profiles_slot(b, best, t, s);
    if (cell < 0) continue;
    char path[1200];
    snprintf(path, sizeof path, "%s/series/%s.csv", page->results->record[cell].dir,
             page->results->plan.cells[cell].id);
    perp_csv series;
    if (!perp_exists(path) || perp_csv_read(page->ctx, path, &series) != PERP_OK) continue;
    if (series.rows > 1) {
      double *x = perp_pool_alloc(&page->pool, (size_t)series.rows, sizeof *x);
      double *y = perp_pool_alloc(&page->pool, (size_t)series.rows, sizeof *y);
      for (int i = 0; i < series.rows; i++) {
        x[i] = perp_csv_number(&series, i, perp_csv_column(&series, "iteration"));
        y[i] = perp_csv_number(&series, i, perp_csv_column(&series, "rel"));
      }
      curves[n++] = (perp_curve){ .label = b->solver[s],
                                  .style = PERP_PLOT_LINES,
                                  .colour = s,
                                  .n = series.rows,
                                  .x = x,
                                  .y = y };
    }
    perp_csv_free(&series);
  }
  if (n == 0) return;
  perp_html(page->out, "<h3 id=\"residual-history\">Residual per iteration</h3>\n");
  perp_figure f = { .id = "residual-history",
                    .title = perp_pool_printf(&page->pool, "Residual per iteration: %s",
                                              b->problem[best]),
                    .xlabel = "iteration",
                    .ylabel = "rel, as the method tells",
                    .alt = "residual histories",
                    .logx = true,
                    .logy = true,
                    .n = n,
                    .curves = curves };
  perp_page_figure(
      page, &f,
      "Pivots, sweeps and Newton steps are not equally dear: compare shapes, not lengths.");
}

bool perp_page_has_problems(const perp_page *page)
{
  return perp_kind_param(page->study->kind, "problem") >= 0;
}

/* Who solves most, and who is fastest on most. */
void perp_page_solver_answers(perp_page *page)
{
  box b;
  if (!profiles_build(page, &b)) return;
  int solved[MOST_SOLVERS] = { 0 }, wins[MOST_SOLVERS] = { 0 }, robust = 0, fast = 0,
      all = b.n_problems * b.n_targets;
  for (int p = 0; p < b.n_problems; p++)
    for (int t = 0; t < b.n_targets; t++) {
      int winner = -1;
      for (int s = 0; s < b.n_solvers; s++) {
        double c = profiles_cost(page, *profiles_slot(&b, p, t, s), "time.cpu");
        solved[s] += isfinite(c);
        if (isfinite(c) &&
            (winner < 0 || c < profiles_cost(page, *profiles_slot(&b, p, t, winner), "time.cpu")))
          winner = s;
      }
      if (winner >= 0) wins[winner]++;
    }
  for (int s = 0; s < b.n_solvers; s++) {
    if (solved[s] > solved[robust]) robust = s;
    if (wins[s] > wins[fast]) fast = s;
  }
  perp_html(page->out,
            "<li>Most robust: <strong>%s</strong> solves %d of %d (problem, target) pairs.</li>\n"
            "<li>Most often the fastest: <strong>%s</strong>, on %d of them; it solves %d.</li>\n",
            b.solver[robust], solved[robust], all, b.solver[fast], wins[fast], solved[fast]);
}

void perp_page_problems(perp_page *page)
{
  box b;
  if (!profiles_build(page, &b) || b.n_problems == 0) return;
  perp_html(page->out, "<h2 id=\"problems\">Solvers on %d problems</h2>\n", b.n_problems);
  failure_matrix(page, &b);
  profiles(page, &b);
  time_against_size(page, &b);
  profiles_histories(page, &b);
}
