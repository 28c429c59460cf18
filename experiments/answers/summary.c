/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run prints at its end: answers, chosen cells, claims, published figures. */
#include "experiments/answers/answers.h"
#include "experiments/results/endings.h"
#include "experiments/results/warned.h"
#include "experiments/study/words.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FEW: a largest error of fewer comparisons says so */
enum { FEW = 5, MOST_ROWS = 12, MOST_METRICS = 4, MOST_LINES = 16 };

static void print_counts(const perp_results *r, FILE *out)
{
  const int proved = perp_results_proved(r);
  perp_text t = { 0 };
  const char *comma = "";
  perp_text_add(&t, "%d run%s:", r->plan.n, r->plan.n == 1 ? "" : "s");
  for (int s = PERP_CELL_OK; s < PERP_CELL_STATUSES; s++) {
    if (r->count[s] == 0) continue;
    perp_text_add(&t, "%s %d %s", comma, r->count[s], perp_cell_status_names[s]);
    comma = ",";
    if (s == PERP_CELL_OK && proved > 0)
      perp_text_add(&t, " (%d of these proved that no solution exists)", proved);
  }
  if (r->count[PERP_CELL_PLANNED] > 0)
    perp_text_add(&t, "%s %d not run yet", comma, r->count[PERP_CELL_PLANNED]);
  perp_wrap(out, 0, t.s);
  perp_text_free(&t);
  if (r->as_recorded > 0)
    perp_wrap(out, 2,
              "In results of schema 1, ok means that a run reached its end, not that all of its "
              "problems were solved.");
}

/* Status, reason and cause of a cell: causes that differ in their numbers only are one cause. */
static const char *summary_failure(perp_pool *pool, const perp_record *a)
{
  return perp_pool_printf(pool, "%s %s %s", perp_cell_status_names[a->status], a->reason,
                          perp_tally_alike(pool, a->cause));
}

/* Failures with their causes, the most frequent first.  counted: what the methods themselves report
 * has been shown, only what befell them is left. */
static void print_failures(perp_results *r, bool counted, FILE *out)
{
  perp_tally failures = { 0 };
  for (int i = 0; i < r->plan.n; i++) {
    const perp_record *a = &r->record[i];
    if (a->status == PERP_CELL_OK || a->status == PERP_CELL_FIXED_WORK ||
        a->status == PERP_CELL_PLANNED || a->status == PERP_CELL_UNSUITED ||
        (a->status == PERP_CELL_SKIPPED && a->attempt == 0) || /* not selected; else refused */
        (counted && !perp_cell_infrastructure(a->status) && a->status != PERP_CELL_TIMEOUT &&
         strcmp(a->reason, "invalid-state") != 0))
      continue; /* fixed work is no failure, nor is what a method does not serve */
    perp_tally_add(&failures, summary_failure(&r->pool, a), i);
  }
  perp_tally_sort(&failures);
  if (failures.n > 0) fprintf(out, "\nRuns that are not ok\n");
  for (int k = 0; k < failures.n && k < 5; k++) {
    const int n = failures.count[k].n, first = failures.count[k].first;
    const perp_record *a = &r->record[first];
    perp_wrapf(out, 2, "%d %s: %s%s (run %.6s)", n, perp_cell_status_names[a->status],
               n > 1 ? "e.g. " : "", a->cause[0] ? a->cause : a->reason, r->plan.cells[first].id);
  }
  if (failures.n > 5) fprintf(out, "  and %d other kinds of failure\n", failures.n - 5);
  free(failures.count);
}

/* Warnings of the runs, the most frequent first. */
static void print_warnings(perp_results *r, FILE *out)
{
  enum { MOST = 5 };
  perp_tally warnings;
  const char **example = perp_results_warnings(r, &r->pool, &warnings);
  if (warnings.n > 0) fprintf(out, "\nWarnings\n");
  for (int k = 0; k < warnings.n && k < MOST; k++)
    perp_wrapf(out, 2, "%d run%s: %s%s (run %.6s)", warnings.count[k].n,
               warnings.count[k].n == 1 ? "" : "s", warnings.count[k].n == 1 ? "" : "e.g. ",
               example[k], r->plan.cells[warnings.count[k].first].id);
  if (warnings.n > MOST) fprintf(out, "  and %d other kinds of warning\n", warnings.n - MOST);
  free(warnings.count);
}

/* Cells that must not be ranked together: unlike scenes, problems, sizes, steps. */
static const char *summary_apart(perp_results *r, int cell)
{
  const perp_study *s = r->study;
  const char *label = "";
  for (int a = 0; a < s->n_axes; a++) {
    const perp_param *p = &s->kind->params[s->axes[a].param];
    const char *v = r->plan.cells[cell].value[s->axes[a].param].text;
    if ((p->type == PERP_PARAM_PLUGIN && p->plugin != PERP_KIND_scene) || v[0] == '\0') continue;
    label = perp_pool_printf(&r->pool, "%s%s%s %s", label, label[0] ? ", " : "", p->key, v);
  }
  return label;
}

/* The cells that the study wants to see, those of a kind together, of these the best first: those
 * that may win, then fixed work, then unsolved. */
static int rank_cells(const perp_ctx *ctx, perp_results *r, perp_ranked *rank, int *apart)
{
  const int primary = perp_results_metric(r, r->study->metrics.primary);
  const double sign = r->study->metric[primary].better > 0 ? -1 : 1;
  const perp_scope scope = perp_results_scope(ctx, r, false);
  perp_names kinds = { 0 };
  int n = 0, sorted = 0;
  for (int i = 0; i < r->plan.n; i++) {
    const double v = perp_results_value(r, i, primary);
    if (!perp_cell_whole(r->record[i].status) || isnan(v) ||
        !perp_expr_true(r->study->report.summary, &scope, i))
      continue;
    apart[i] = perp_names_index(&r->pool, &kinds, summary_apart(r, i), -1);
    rank[n++] = (perp_ranked){ i, perp_results_group(r, i), sign * v, 0 };
  }
  perp_ranked_sort(rank, n);
  perp_ranked *list = perp_pool_alloc(&r->pool, (size_t)n + 1, sizeof *list);
  for (int k = 0; k < kinds.n; k++)
    for (int i = 0; i < n; i++)
      if (apart[rank[i].cell] == k) list[sorted++] = rank[i];
  if (n > 0) memcpy(rank, list, (size_t)n * sizeof *rank);
  return n;
}

/* "err.tip.max" -> "err.tip": a head that fits. */
static const char *short_name(const char *name, int *length)
{
  if (strncmp(name, "time.", 5) == 0) name += 5;
  const size_t n = strlen(name);
  *length = (int)(n > 4 && strcmp(name + n - 4, ".max") == 0 ? n - 4 : n);
  return name;
}

static void put_short_name(perp_table *t, const char *name)
{
  int length;
  name = short_name(name, &length);
  perp_table_put(t, "%.*s", length, name);
}

/* "err.tip: largest error of the tip [m]; ...": what the heads stand for. */
static const char *metrics_legend(perp_results *r, const int *metric, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++) {
    const perp_metric *m = &r->study->metric[metric[k]];
    int length;
    const char *name = short_name(m->name, &length);
    text = perp_pool_printf(&r->pool, "%s%s%.*s: %s%s%s%s", text, k == 0 ? "" : "; ", length, name,
                            perp_words(m->name), m->unit[0] != '\0' ? " [" : "", m->unit,
                            m->unit[0] != '\0' ? "]" : "");
    double least, most;
    if (perp_results_compared(r, m->name, &least, &most) && least < FEW)
      text = perp_pool_printf(&r->pool, "%s (largest of only %g to %g comparisons)", text, least,
                              most);
  }
  return text;
}

/* The metrics worth a column: the primary one, the recorded ones, the time of a step. */
static int summary_metrics(const perp_results *r, int most, int *metric)
{
  const perp_study *s = r->study;
  const int primary = perp_results_metric(r, s->metrics.primary);
  int n = 0;
  metric[n++] = primary;
  for (int k = 0; k < s->metrics.n_record && n < most - 1; k++) {
    const int m = perp_results_metric(r, s->metrics.record[k]);
    if (m != primary && s->metric[m].better != 0 && !s->metric[m].timing) metric[n++] = m;
  }
  const int step = perp_results_metric(r, "time.step_us");
  if (step >= 0 && step != primary) metric[n++] = step;
  return n;
}

static void print_chosen(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  if (s->report.summary == NULL) return;
  perp_ranked *rank = perp_pool_alloc(&r->pool, (size_t)r->plan.n + 1, sizeof *rank);
  int *apart = perp_pool_alloc(&r->pool, (size_t)r->plan.n + 1, sizeof *apart);
  const int n = rank_cells(ctx, r, rank, apart), rows = n < 3 * MOST_ROWS ? n : 3 * MOST_ROWS;
  if (n == 0) {
    putc('\n', out);
    perp_wrapf(out, 0, "No run with %s has a value of the %s.", s->report.summary_text,
               perp_words(s->metrics.primary));
    return;
  }
  putc('\n', out);
  perp_wrapf(out, 0, "Runs with %s, sorted by the %s", s->report.summary_text,
             perp_words(s->metrics.primary));
  bool marked = false;
  for (int i = 0; i < rows; i++) marked = marked || r->record[rank[i].cell].status != PERP_CELL_OK;
  int metric[MOST_METRICS], n_metrics = summary_metrics(r, MOST_METRICS - marked, metric);
  int *param = perp_pool_alloc(&r->pool, (size_t)s->n_axes + 1, sizeof *param), n_params = 0;
  for (int a = 0; a < s->n_axes; a++) {
    const int p = s->axes[a].param;
    bool varies = false;
    for (int i = 1; i < rows; i++)
      varies = varies || strcmp(r->plan.cells[rank[i].cell].value[p].text,
                                r->plan.cells[rank[0].cell].value[p].text) != 0;
    if (varies && n_params < PERP_TABLE_COLUMNS - MOST_METRICS - 1) param[n_params++] = p;
  }
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int k = 0; k < n_params; k++) strcat(align, "l");
  for (int k = 0; k < n_metrics; k++) strcat(align, "r");
  if (marked) strcat(align, "l");
  perp_table t;
  perp_table_init(&t, align);
  t.fold = n_params > 0 ? n_params - 1 : 0;
  for (int k = 0; k < n_params; k++) perp_table_put(&t, "%s", s->kind->params[param[k]].key);
  for (int k = 0; k < n_metrics; k++) put_short_name(&t, s->metric[metric[k]].name);
  if (marked) perp_table_put(&t, "status");
  for (int row = 0; row < rows; row++) {
    const int i = rank[row].cell;
    char mark[32], number[32];
    for (int k = 0; k < n_params; k++)
      perp_table_put(&t, "%s", r->plan.cells[i].value[param[k]].text);
    for (int k = 0; k < n_metrics; k++)
      perp_table_put(&t, "%s", perp_number(perp_results_value(r, i, metric[k]), number));
    if (marked) perp_table_put(&t, "%s", perp_record_mark(&r->record[i], mark));
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  if (rows < n) fprintf(out, "... and %d more rows: see derived/cells.csv\n", n - rows);
  perp_wrap(out, 2, metrics_legend(r, metric, n_metrics));
}

static void print_claims(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  if (r->study->n_claims == 0) return;
  const perp_claim_result *c = perp_results_claims(ctx, r);
  fprintf(out, "\nClaims\n");
  for (int i = 0; i < r->study->n_claims; i++) {
    const char *sides = perp_claim_sides(&r->pool, &c[i]);
    perp_wrapf(out, 2, "%s: %s%s", perp_verdict_name(c[i].verdict), c[i].claim->text, sides);
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
  fprintf(out, "\nPublished values and ours\n");
  perp_table t;
  char align[MOST_FIGURES + 3], number[32];
  snprintf(align, sizeof align, "l%.*s", figures + 1, "rrrrrrr");
  perp_table_init(&t, align);
  t.fold = 1;
  perp_table_put(&t, "%s", "");
  for (int k = 0; k < figures; k++) perp_table_put(&t, "(%d)", k + 1);
  perp_table_put(&t, "factor");
  perp_table_put(&t, "published");
  for (int k = 0; k < figures; k++)
    perp_table_put(&t, "%s", perp_number(s->published[k].value, number));
  perp_table_put(&t, "%s", "");
  for (int i = 0; i < n && i < MOST_ROWS; i++) {
    perp_table_put(&t, "%s", v[i].label[0] ? v[i].label : "ours");
    for (int k = 0; k < figures; k++) {
      int cell = v[i].cell[k], m = perp_results_metric(r, s->published[k].metric);
      if (cell >= 0 && perp_results_wins(r, cell))
        perp_table_put(&t, "%s", perp_number(perp_results_value(r, cell, m), number));
      else
        perp_table_put(&t, "%s", cell < 0 ? "-" : perp_cell_status_names[r->record[cell].status]);
    }
    perp_table_put(&t, isnan(v[i].mismatch) ? "-" : "%.2f", pow(10, v[i].mismatch));
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  for (int k = 0; k < figures; k++)
    perp_wrapf(out, 2, "(%d) %s where %s: %s", k + 1, perp_words(s->published[k].metric),
               s->published[k].where_text, s->published[k].source);
  if (n > MOST_ROWS || s->n_published > figures)
    perp_wrapf(out, 2,
               "%d of %d values and %d of %d variants are shown; the report has all of them.",
               figures, s->n_published, n < MOST_ROWS ? n : MOST_ROWS, n);
  perp_wrap(out, 2,
            "factor: geometric mean of the ratio between our value and the published one, at least "
            "1. A failed run counts as 100.");
}

void perp_results_summary(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  fprintf(out, "%s: %s\n", s->name, s->title);
  if (s->question[0] != '\0') perp_wrap(out, 2, s->question);
  putc('\n', out);
  print_counts(r, out);
    const perp_answer *answers;
  const int n = perp_results_answers(ctx, r, &answers);
  for (int i = 0; i < n; i++) perp_answer_print(r, &answers[i], MOST_LINES, out);
  const char *left_out = perp_results_left_out(r);
  if (left_out[0] != '\0') {
    putc('\n', out);
    perp_wrap(out, 0, left_out);
  }
  const bool matrix = perp_results_matrix(r, out);
  perp_endings endings;
  if (perp_results_endings(r, &endings)) perp_endings_print(r, &endings, out);
  print_chosen(ctx, r, out);
  print_failures(r, matrix, out);
  print_warnings(r, out);
  print_published(ctx, r, out);
  perp_symptoms_print(ctx, r, out);
  perp_replicate_print(ctx, r, out);
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
    fprintf(out, "%d incomplete journal line(s) of a killed program are ignored\n", r->torn);
}
