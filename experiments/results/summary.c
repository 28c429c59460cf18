/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run prints at its end: 80 columns, the best cells, claims, published figures. */
#include "experiments/results/results.h"
#include "experiments/results/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12, MOST_METRICS = 4 };

static void print_counts(const perp_results *r, FILE *out)
{
  fprintf(out, "%d cells:", r->plan.n);
  const char *comma = "";
  for (int s = PERP_CELL_OK; s < PERP_CELL_STATUSES; s++)
    if (r->count[s] > 0) {
      fprintf(out, "%s %d %s", comma, r->count[s], perp_cell_status_names[s]);
      comma = ",";
    }
  if (r->count[PERP_CELL_PLANNED] > 0)
    fprintf(out, "%s %d not run yet", comma, r->count[PERP_CELL_PLANNED]);
  putc('\n', out);
  if (r->as_recorded > 0)
    perp_wrap(out, 2,
              "ok as recorded (schema 1): it meant that the run reached its end, not that every "
              "problem of it was solved");
}

/* Status, reason and cause of a cell: causes that differ in their numbers only are one cause. */
static const char *summary_failure(perp_pool *pool, const perp_record *a)
{
  static const char digits[] = "0123456789.+-";
  char *name = perp_pool_printf(pool, "%d %s %s", a->status, a->reason, a->cause);
  char *to = name + strlen(name) - strlen(a->cause);
  for (const char *from = to;; to++) {
    const size_t number = strspn(from, digits);
    *to = number > 0 ? '0' : *from;
    if (*to == '\0') return name;
    from += number > 0 ? number : 1;
  }
}

/* Failures with their causes, the most frequent first.  counted: what the methods themselves report has been
 * shown, only what befell them is left. */
static void print_failures(perp_results *r, bool counted, FILE *out)
{
  perp_tally failures = { 0 };
  for (int i = 0; i < r->plan.n; i++) {
    const perp_record *a = &r->record[i];
    if (a->status == PERP_CELL_OK || a->status == PERP_CELL_FIXED_WORK ||
        a->status == PERP_CELL_PLANNED ||
        (a->status == PERP_CELL_SKIPPED && a->attempt == 0) || /* not selected; else refused */
        (counted && !perp_cell_infrastructure(a->status) && a->status != PERP_CELL_TIMEOUT &&
         strcmp(a->reason, "invalid-state") != 0))
      continue; /* fixed work is no failure */
    perp_tally_add(&failures, summary_failure(&r->pool, a), i);
  }
  perp_tally_sort(&failures);
  if (failures.n > 0) fprintf(out, "\nnot solved, or failed\n");
  for (int k = 0; k < failures.n && k < 5; k++) {
    const int n = failures.count[k].n, first = failures.count[k].first;
    const perp_record *a = &r->record[first];
    perp_wrapf(out, 2, "%d %s: %s%s (cell %.6s)", n, perp_cell_status_names[a->status],
               n > 1 ? "e.g. " : "", a->cause[0] ? a->cause : a->reason, r->plan.cells[first].id);
  }
  if (failures.n > 5) fprintf(out, "  and %d other kinds of failure\n", failures.n - 5);
  free(failures.count);
}

static int summary_by_key(const void *a, const void *b)
{
  const perp_ranked *x = a, *y = b;
  if (x->group != y->group) return x->group - y->group;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->at - y->at;
}

void perp_ranked_sort(perp_ranked *list, int n)
{
  for (int i = 0; i < n; i++) list[i].at = i;
  if (n > 0) qsort(list, (size_t)n, sizeof *list, summary_by_key);
}

int perp_results_group(const perp_results *r, int cell)
{
  return perp_results_wins(r, cell) ? 0 : perp_results_counts(r, cell) ? 1 : 2;
}

/* The axis that the table has one row for each value of: the last one that names a plug-in. */
static int chosen_axis(const perp_study *s)
{
  for (int a = s->n_axes - 1; a >= 0; a--)
    if (s->kind->params[s->axes[a].param].type == PERP_PARAM_PLUGIN && s->axes[a].n <= MOST_ROWS)
      return a;
  return -1;
}

/* Cells whose figures are whole, with a primary metric: those that may win, the best first, then fixed work, then
 * unsolved; `where` NULL: all. */
static int rank_cells(const perp_ctx *ctx, perp_results *r, const perp_expr *where,
                      perp_ranked *rank)
{
  int primary = perp_results_metric(r, r->study->metrics.primary), n = 0;
  double sign = r->study->metric[primary].better > 0 ? -1 : 1;
  const perp_scope scope = perp_results_scope(ctx, r, false);
  for (int i = 0; i < r->plan.n; i++) {
    double v = perp_results_value(r, i, primary);
    if (perp_cell_whole(r->record[i].status) && !isnan(v) &&
        (where == NULL || perp_expr_true(where, &scope, i)))
      rank[n++] = (perp_ranked){ i, perp_results_group(r, i), sign * v, 0 };
  }
  perp_ranked_sort(rank, n);
  return n;
}

/* Keep the best cell of each value of a parameter. */
static int best_of_each(perp_results *r, int p, perp_ranked *rank, int n)
{
  perp_names seen = { 0 };
  for (int i = 0; i < n; i++) {
    const int kept = seen.n;
    if (perp_names_index(&r->pool, &seen, r->plan.cells[rank[i].cell].value[p], -1) == kept)
      rank[kept] = rank[i];
  }
  return seen.n;
}

/* "err.tip.max" -> "err.tip": a head that fits. */
static void put_short_name(perp_table *t, const char *name)
{
  if (strncmp(name, "time.", 5) == 0) name += 5;
  size_t n = strlen(name);
  if (n > 4 && strcmp(name + n - 4, ".max") == 0) n -= 4;
  perp_table_put(t, "%.*s", (int)n, name);
}

/* Is some row not ok?  Its status takes the place of a figure. */
static bool any_marked(const perp_results *r, const perp_ranked *rank, int n)
{
  bool marked = false;
  for (int i = 0; i < n; i++) marked = marked || r->record[rank[i].cell].status != PERP_CELL_OK;
  return marked;
}

static void print_best(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  perp_ranked *rank = perp_pool_alloc(&r->pool, (size_t)r->plan.n + 1, sizeof *rank);
  int n = rank_cells(ctx, r, s->report.summary, rank), total = n;
  int axis = chosen_axis(s);
  int first = axis >= 0 ? s->axes[axis].param : -1; /* parameter of the first column */
  bool best = axis >= 0 && s->report.summary == NULL;
  if (best) n = best_of_each(r, first, rank, n);
  if (n == 0) {
    fprintf(out, "\nno cell has %s\n", s->metrics.primary);
    return;
  }
  int winners = 0; /* rows that may win come first */
  for (int i = 0; i < n; i++) winners += rank[i].group == 0;
  if (best && winners > 0)
    fprintf(out, "\nbest cell for each %s by %s (of %d)\n", s->kind->params[first].key,
            s->metrics.primary, total);
  else if (s->report.summary == NULL && winners == 0)
    fprintf(out, "\nno cell is ok; by %s\n", s->metrics.primary);
  else if (s->report.summary != NULL)
    fprintf(out, "\nby %s, where %s\n", s->metrics.primary, s->report.summary_text);
  else
    fprintf(out, "\nbest cells by %s (of %d)\n", s->metrics.primary, total);

  int primary = perp_results_metric(r, s->metrics.primary), metric[MOST_METRICS], n_metrics = 0;
  metric[n_metrics++] = primary;
  bool marked = any_marked(r, rank, n < MOST_ROWS ? n : MOST_ROWS);
  for (int k = 0; k < s->metrics.n_record && n_metrics < MOST_METRICS - 1 - marked; k++) {
    int m = perp_results_metric(r, s->metrics.record[k]);
    if (m != primary && s->metric[m].better != 0 && !s->metric[m].timing) metric[n_metrics++] = m;
  }
  int step = perp_results_metric(r, "time.step_us");
  if (step >= 0 && step != primary) metric[n_metrics++] = step;

  /* one column for the chosen axis, one for all other parameters that vary in these rows */
  int *others = perp_pool_alloc(&r->pool, (size_t)s->n_axes, sizeof *others), n_others = 0;
  int rows = n < MOST_ROWS ? n : s->report.summary != NULL && n < 2 * MOST_ROWS ? n : MOST_ROWS;
  perp_text with = { 0 };
  for (int a = 0; a < s->n_axes; a++) {
    int p = s->axes[a].param;
    bool varies = s->report.summary == NULL;
    for (int i = 1; i < rows; i++)
      varies = varies || strcmp(r->plan.cells[rank[i].cell].value[p],
                                r->plan.cells[rank[0].cell].value[p]) != 0;
    if (p == first || !varies) continue;
    others[n_others++] = p;
    perp_text_add(&with, "%s%s", with.n > 0 ? " " : "", s->kind->params[p].key);
  }
  marked = any_marked(r, rank, rows);
  char align[MOST_METRICS + 4];
  snprintf(align, sizeof align, "%s%.*s%s", first >= 0 ? "ll" : "l", n_metrics, "rrrr",
           marked ? "l" : "");
  perp_table t;
  perp_table_init(&t, align);
  if (first >= 0) perp_table_put(&t, "%s", s->kind->params[first].key);
  perp_table_put(&t, "%s", with.n > 0 ? with.s : "");
  perp_text_free(&with);
  for (int k = 0; k < n_metrics; k++) put_short_name(&t, s->metric[metric[k]].name);
  if (marked) perp_table_put(&t, "status");
  for (int row = 0; row < rows; row++) {
    int i = rank[row].cell;
    perp_text label = { 0 };
    for (int k = 0; k < n_others; k++) {
      const char *v = r->plan.cells[i].value[others[k]];
      perp_text_add(&label, "%s%s", label.n ? " " : "", v[0] ? v : "-");
    }
    if (first >= 0) perp_table_put(&t, "%s", r->plan.cells[i].value[first]);
    perp_table_put(&t, "%s", label.s != NULL ? label.s : "");
    for (int k = 0; k < n_metrics; k++) {
      double v = perp_results_value(r, i, metric[k]);
      perp_table_put(&t, isnan(v) ? "-" : "%.3g", v);
    }
    char mark[32];
    if (marked) perp_table_put(&t, "%s", perp_record_mark(&r->record[i], mark));
    perp_text_free(&label);
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
}

static void print_claims(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  if (r->study->n_claims == 0) return;
  const perp_claim_result *c = perp_results_claims(ctx, r);
  fprintf(out, "\nclaims\n");
  for (int i = 0; i < r->study->n_claims; i++) {
    bool sides = !isnan(c[i].left) && !isnan(c[i].right);
    perp_wrapf(out, 2, sides ? "%s: %s [%.4g against %.4g]" : "%s: %s",
               perp_verdict_name(c[i].verdict), c[i].claim->text, c[i].left, c[i].right);
  }
}

/* Variants side by side: one row each, one column a published figure. */
static void print_published(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  enum { MOST_FIGURES = 6 };
  perp_variant *v;
  int n = perp_results_variants(ctx, r, &v);
  if (n == 0) return;
  const perp_study *s = r->study;
  int figures = s->n_published < MOST_FIGURES ? s->n_published : MOST_FIGURES;
  fprintf(out, "\npublished figures beside ours\n");
  perp_table t;
  char align[MOST_FIGURES + 3];
  snprintf(align, sizeof align, "l%.*s", figures + 1, "rrrrrrr");
  perp_table_init(&t, align);
  perp_table_put(&t, "%s", "");
  for (int k = 0; k < figures; k++) perp_table_put(&t, "(%d)", k + 1);
  perp_table_put(&t, "factor");
  perp_table_put(&t, "published");
  for (int k = 0; k < figures; k++) perp_table_put(&t, "%.3g", s->published[k].value);
  perp_table_put(&t, "%s", "");
  for (int i = 0; i < n && i < MOST_ROWS; i++) {
    perp_table_put(&t, "%s", v[i].label[0] ? v[i].label : "ours");
    for (int k = 0; k < figures; k++) {
      int cell = v[i].cell[k], m = perp_results_metric(r, s->published[k].metric);
      if (cell >= 0 && perp_results_wins(r, cell))
        perp_table_put(&t, "%.3g", perp_results_value(r, cell, m));
      else
        perp_table_put(&t, "%s", cell < 0 ? "-" : perp_cell_status_names[r->record[cell].status]);
    }
    perp_table_put(&t, isnan(v[i].mismatch) ? "-" : "%.2f", pow(10, v[i].mismatch));
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  for (int k = 0; k < figures; k++)
    perp_wrapf(out, 2, "(%d) %s where %s: %s", k + 1, s->published[k].metric,
               s->published[k].where_text, s->published[k].source);
  perp_wrap(out, 2,
            "factor: geometric mean of ours / published, whichever is larger; a cell that failed "
            "counts as 100");
}

void perp_results_summary(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  fprintf(out, "%s: %s\n", s->name, s->title);
  if (s->question[0] != '\0') perp_wrap(out, 2, s->question);
  putc('\n', out);
  print_counts(r, out);
  bool matrix = s->report.summary == NULL && perp_results_matrix(r, out);
  if (!matrix) print_best(ctx, r, out);
  print_failures(r, matrix, out);
  print_published(ctx, r, out);
  print_claims(ctx, r, out);
  int rounds = 0, noisy = 0;
  for (int i = 0; i < r->plan.n; i++) {
    rounds += r->record[i].rounds;
    noisy += r->record[i].noisy;
  }
  if (noisy > 0)
    fprintf(out, "\n%d of %d timing rounds were noisy (wall time / CPU time > 1.05)\n", noisy,
            rounds);
  if (r->torn > 0)
    fprintf(out, "%d journal line(s) were torn by a kill and are left out\n", r->torn);
}
