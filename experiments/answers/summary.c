/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run prints at its end: answers, chosen cells, claims, published figures. */
#include "experiments/answers/answers.h"
#include "experiments/answers/findings.h"
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

static void print_counts(const perp_results *results, FILE *out)
{
  const int proved = perp_results_proved(results);
  perp_text text = { 0 };
  const char *comma = "";
  perp_text_add(&text, "%d run%s:", results->plan.n, results->plan.n == 1 ? "" : "s");
  for (int s = PERP_CELL_OK; s < PERP_CELL_STATUSES; s++) {
    if (results->count[s] == 0) continue;
    perp_text_add(&text, "%s %d %s", comma, results->count[s], perp_cell_status_names[s]);
    comma = ",";
    if (s == PERP_CELL_OK && proved > 0)
      perp_text_add(&text, " (%d of these proved that no solution exists)", proved);
  }
  if (results->count[PERP_CELL_PLANNED] > 0)
    perp_text_add(&text, "%s %d not run yet", comma, results->count[PERP_CELL_PLANNED]);
  perp_wrap(out, 0, text.s);
  perp_text_free(&text);
  if (results->as_recorded > 0)
    perp_wrap(out, 2,
              "In results of schema 1, ok means that a run reached its end, not that all of its "
              "problems were solved.");
}

/* Status, reason and cause of a cell: causes that differ in their numbers only are one cause. */
static const char *summary_failure(perp_pool *pool, const perp_record *record)
{
  return perp_pool_printf(pool, "%s %s %s", perp_cell_status_names[record->status], record->reason,
                          perp_tally_alike(pool, record->cause));
}

/* Failures with their causes, the most frequent first.  counted: what the methods themselves report
 * has been shown, only what befell them is left. */
static void print_failures(perp_results *results, bool counted, FILE *out)
{
  perp_tally failures = { 0 };
  for (int thing = 0; thing < results->plan.n; thing++) {
    const perp_record *record = &results->record[thing];
    if (record->status == PERP_CELL_OK || record->status == PERP_CELL_FIXED_WORK ||
        record->status == PERP_CELL_PLANNED || record->status == PERP_CELL_UNSUITED ||
        (record->status == PERP_CELL_SKIPPED &&
         record->attempt == 0) || /* not selected; else refused */
        (counted && !perp_cell_infrastructure(record->status) &&
         record->status != PERP_CELL_TIMEOUT && strcmp(record->reason, "invalid-state") != 0))
      continue; /* fixed work is no failure, nor is what a method does not serve */
    perp_tally_add(&failures, summary_failure(&results->pool, record), thing);
  }
  perp_tally_sort(&failures);
  if (failures.n > 0) fprintf(out, "\nRuns that are not ok\n");
  for (int k = 0; k < failures.n && k < 5; k++) {
    const int n = failures.count[k].n, first = failures.count[k].first;
    const perp_record *record = &results->record[first];
    perp_wrapf(out, 2, "%d %s: %s%s (run %.6s)", n, perp_cell_status_names[record->status],
               n > 1 ? "e.g. " : "", record->cause[0] ? record->cause : record->reason,
               results->plan.cells[first].id);
  }
  if (failures.n > 5) fprintf(out, "  and %d other kinds of failure\n", failures.n - 5);
  free(failures.count);
}

/* Warnings of the runs, the most frequent first. */
static void print_warnings(perp_results *results, FILE *out)
{
  enum { MOST = 5 };
  perp_tally warnings;
  const char **example = perp_results_warnings(results, &results->pool, &warnings);
  if (warnings.n > 0) fprintf(out, "\nWarnings\n");
  for (int k = 0; k < warnings.n && k < MOST; k++)
    perp_wrapf(out, 2, "%d run%s: %s%s (run %.6s)", warnings.count[k].n,
               warnings.count[k].n == 1 ? "" : "s", warnings.count[k].n == 1 ? "" : "e.g. ",
               example[k], results->plan.cells[warnings.count[k].first].id);
  if (warnings.n > MOST) fprintf(out, "  and %d other kinds of warning\n", warnings.n - MOST);
  free(warnings.count);
}

/* Cells that must not be ranked together: unlike scenes, problems, sizes, steps. */
static const char *summary_apart(perp_results *results, int cell)
{
  const perp_study *study = results->study;
  const char *label = "";
  for (int axis = 0; axis < study->n_axes; axis++) {
    const perp_param *param = &study->kind->params[study->axes[axis].param];
    const char *at = results->plan.cells[cell].value[study->axes[axis].param].text;
    if ((param->type == PERP_PARAM_PLUGIN && param->plugin != PERP_KIND_scene) || at[0] == '\0')
      continue;
    label = perp_pool_printf(&results->pool, "%s%s%s %s", label, label[0] ? ", " : "", param->key,
                             at);
  }
  return label;
}

/* The cells that the study wants to see, those of a kind together, of these the best first: those
 * that may win, then fixed work, then unsolved. */
static int rank_cells(const perp_ctx *ctx, perp_results *results, perp_ranked *rank, int *apart)
{
  const int primary = perp_results_metric(results, results->study->metrics.primary);
  const double sign = results->study->metric[primary].better > 0 ? -1 : 1;
  const perp_scope scope = perp_results_scope(ctx, results, false);
  perp_names kinds = { 0 };
  int n = 0, sorted = 0;
  for (int cell = 0; cell < results->plan.n; cell++) {
    const double v = perp_results_value(results, cell, primary);
    if (!perp_cell_whole(results->record[cell].status) || isnan(v) ||
        !perp_expr_true(results->study->report.summary, &scope, cell))
      continue;
    apart[cell] = perp_names_index(&results->pool, &kinds, summary_apart(results, cell), -1);
    rank[n++] = (perp_ranked){ cell, perp_results_group(results, cell), sign * v, 0 };
  }
  perp_ranked_sort(rank, n);
  perp_ranked *list = perp_pool_alloc(&results->pool, (size_t)n + 1, sizeof *list);
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

static void put_short_name(perp_table *table, const perp_metric *metric)
{
  int length;
  const char *name = short_name(metric->name, &length);
  perp_table_put(table, metric->unit[0] != '\0' ? "%.*s [%s]" : "%.*s", length, name, metric->unit);
}

/* "err.tip: largest error of the tip [m]; ...": what the heads stand for. */
static const char *metrics_legend(perp_results *results, const int *metric, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++) {
    const perp_metric *m = &results->study->metric[metric[k]];
    int length;
    const char *name = short_name(m->name, &length);
    text = perp_pool_printf(&results->pool, "%s%s%.*s: %s", text, k == 0 ? "" : "; ", length, name,
                            perp_words(m->name));
    double least, most;
    if (perp_results_compared(results, m->name, &least, &most) && least < FEW)
      text = perp_pool_printf(&results->pool, "%s (largest of only %g to %g comparisons)", text,
                              least, most);
  }
  return text;
}

/* The metrics worth a column: the primary one, the recorded ones, the time of a step. */
static int summary_metrics(const perp_results *results, int most, int *metric)
{
  const perp_study *study = results->study;
  const int primary = perp_results_metric(results, study->metrics.primary);
  int n = 0;
  metric[n++] = primary;
  for (int k = 0; k < study->metrics.n_record && n < most - 1; k++) {
    const int m = perp_results_metric(results, study->metrics.record[k]);
    if (m != primary && study->metric[m].better != 0 && !study->metric[m].timing) metric[n++] = m;
  }
  const int step = perp_results_metric(results, "time.step_us");
  if (step >= 0 && step != primary) metric[n++] = step;
  return n;
}

static void print_chosen(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  const perp_study *study = results->study;
  if (study->report.summary == NULL) return;
  perp_ranked *rank = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *rank);
  int *apart = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *apart);
  const int n = rank_cells(ctx, results, rank, apart), rows = n < 3 * MOST_ROWS ? n : 3 * MOST_ROWS;
  if (n == 0) {
    putc('\n', out);
    perp_wrapf(out, 0, "No run with %s has a value of the %s.", study->report.summary_text,
               perp_words(study->metrics.primary));
    return;
  }
  putc('\n', out);
  const char *constant = "";
  bool marked = false;
  for (int i = 0; i < rows; i++)
    marked = marked || results->record[rank[i].cell].status != PERP_CELL_OK;
  int metric[MOST_METRICS], n_metrics = summary_metrics(results, MOST_METRICS - marked, metric);
  int *param = perp_pool_alloc(&results->pool, (size_t)study->n_axes + 1, sizeof *param),
      n_params = 0;
  for (int axis = 0; axis < study->n_axes; axis++) {
    const int p = study->axes[axis].param;
    bool varies = false;
    for (int i = 1; i < rows; i++)
      varies = varies || strcmp(results->plan.cells[rank[i].cell].value[p].text,
                                results->plan.cells[rank[0].cell].value[p].text) != 0;
    const perp_value *same = &results->plan.cells[rank[0].cell].value[p];
    if (varies && n_params < PERP_TABLE_COLUMNS - MOST_METRICS - 1) param[n_params++] = p;
    if (!varies && same->text[0] != '\0')
      constant = perp_pool_printf(&results->pool, "%s%s%s %s", constant,
                                  constant[0] != '\0' ? ", " : "", study->kind->params[p].key,
                                  same->text);
  }
  perp_wrapf(out, 0, "Runs with %s, sorted by the %s%s%s", study->report.summary_text,
             perp_words(study->metrics.primary), constant[0] != '\0' ? ". In all rows: " : "",
             constant);
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int k = 0; k < n_params; k++) strcat(align, "l");
  for (int k = 0; k < n_metrics; k++) strcat(align, "r");
  if (marked) strcat(align, "l");
  perp_table table;
  perp_table_init(&table, align);
  table.fold = n_params > 0 ? n_params - 1 : 0;
  for (int k = 0; k < n_params; k++)
    perp_table_put(&table, "%s", study->kind->params[param[k]].key);
  for (int k = 0; k < n_metrics; k++) put_short_name(&table, &study->metric[metric[k]]);
  if (marked) perp_table_put(&table, "status");
  for (int row = 0; row < rows; row++) {
    const int cell = rank[row].cell;
    char mark[32], number[32];
    for (int k = 0; k < n_params; k++)
      perp_table_put(&table, "%s", results->plan.cells[cell].value[param[k]].text);
    for (int k = 0; k < n_metrics; k++)
      perp_table_put(&table, "%s",
                     perp_number(perp_results_value(results, cell, metric[k]), number));
    if (marked) perp_table_put(&table, "%s", perp_record_mark(&results->record[cell], mark));
  }
  perp_table_print(&table, out);
  perp_table_free(&table);
  if (rows < n) fprintf(out, "... and %d more rows: see derived/cells.csv\n", n - rows);
  perp_wrap(out, 2, metrics_legend(results, metric, n_metrics));
}

static void print_claims(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  if (results->study->n_claims == 0) return;
  const perp_claim_result *result = perp_results_claims(ctx, results);
  fprintf(out, "\nClaims\n");
  for (int claim = 0; claim < results->study->n_claims; claim++) {
    const char *sides = perp_claim_sides(&results->pool, &result[claim]);
    perp_wrapf(out, 2, "%s: %s%s", perp_verdict_name(result[claim].verdict),
               result[claim].claim->text, sides);
  }
}

/* Variants side by side: one row each, one column a published figure. */
static void print_published(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  enum { MOST_FIGURES = 6 };
  perp_variant *variant;
  int n = perp_results_variants(ctx, results, &variant);
  if (n == 0) return;
  const perp_study *study = results->study;
  int figures = study->n_published < MOST_FIGURES ? study->n_published : MOST_FIGURES;
  fprintf(out, "\nPublished values and ours\n");
  perp_table table;
  char align[MOST_FIGURES + 3], number[32];
  snprintf(align, sizeof align, "l%.*s", figures + 1, "rrrrrrr");
  perp_table_init(&table, align);
  table.fold = 1;
  perp_table_put(&table, "%s", "");
  for (int figure = 0; figure < figures; figure++) perp_table_put(&table, "(%d)", figure + 1);
  perp_table_put(&table, "factor");
  perp_table_put(&table, "published");
  for (int figure = 0; figure < figures; figure++)
    perp_table_put(&table, "%s", perp_number(study->published[figure].value, number));
  perp_table_put(&table, "%s", "");
  for (int i = 0; i < n && i < MOST_ROWS; i++) {
    perp_table_put(&table, "%s", variant[i].label[0] ? variant[i].label : "ours");
    for (int figure = 0; figure < figures; figure++) {
      int cell = variant[i].cell[figure],
          m = perp_results_metric(results, study->published[figure].metric);
      if (cell >= 0 && perp_results_wins(results, cell))
        perp_table_put(&table, "%s", perp_number(perp_results_value(results, cell, m), number));
      else
        perp_table_put(&table, "%s",
                       cell < 0 ? "-" : perp_cell_status_names[results->record[cell].status]);
    }
    perp_table_put(&table, isnan(variant[i].mismatch) ? "-" : "%.2f", pow(10, variant[i].mismatch));
  }
  perp_table_print(&table, out);
  perp_table_free(&table);
  for (int figure = 0; figure < figures; figure++)
    perp_wrapf(out, 2, "(%d) %s where %s: %s", figure + 1,
               perp_words(study->published[figure].metric), study->published[figure].where_text,
               study->published[figure].source);
  if (n > MOST_ROWS || study->n_published > figures)
    perp_wrapf(out, 2,
               "%d of %d values and %d of %d variants are shown; the report has all of them.",
               figures, study->n_published, n < MOST_ROWS ? n : MOST_ROWS, n);
  perp_wrap(out, 2,
            "factor: geometric mean of the ratio between our value and the published one, at least "
            "1. A failed run counts as 100.");
}

void perp_results_summary(const perp_ctx *ctx, perp_results *results, bool plot, FILE *out)
{
  const perp_study *study = results->study;
  fprintf(out, "%s: %s\n", study->name, study->title);
  if (study->question[0] != '\0') perp_wrap(out, 2, study->question);
  perp_findings_print(ctx, results, plot, out);
  putc('\n', out);
  print_counts(results, out);
  const perp_answer *answers;
  const int n = perp_results_answers(ctx, results, &answers);
  for (int answer = 0; answer < n; answer++)
    perp_answer_print(results, &answers[answer], MOST_LINES, out);
  const char *left_out = perp_results_left_out(results);
  if (left_out[0] != '\0') {
    putc('\n', out);
    perp_wrap(out, 0, left_out);
  }
  const bool matrix = perp_results_matrix(results, out);
  perp_endings endings;
  if (perp_results_endings(results, &endings)) perp_endings_print(results, &endings, out);
  print_chosen(ctx, results, out);
  print_failures(results, matrix, out);
  print_warnings(results, out);
  print_published(ctx, results, out);
  perp_symptoms_print(ctx, results, out);
  perp_replicate_print(ctx, results, out);
  print_claims(ctx, results, out);
  int rounds = 0, noisy = 0;
  for (int record = 0; record < results->plan.n; record++) {
    rounds += results->record[record].rounds;
    noisy += results->record[record].noisy;
  }
  if (noisy > 0)
    fprintf(out, "\n%d of %d timing rounds were noisy (wall time / CPU time > 1.05)\n", noisy,
            rounds);
  if (results->torn > 0)
    fprintf(out, "%d incomplete journal line(s) of a killed program are ignored\n", results->torn);
}
