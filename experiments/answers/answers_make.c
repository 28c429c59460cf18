/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is best: sorting cells into comparisons (answers_keys.c says by what), and comparing. */
#include "experiments/answers/answers_parts.h"

#include "experiments/results/order.h"
#include "experiments/base/numbers.h"

#include <gsl/gsl_sort.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is no difference. */
static const double same = 0.01;      /* relative, of figures */
static const double same_time = 0.05; /* of times measured in rounds, at least */
static const double same_once = 0.2;  /* of times measured once or twice */
static const double equal = 1e-12;    /* of a figure and a limit that is written in decimals */

/* ---- what is no difference ---- */

/* Relative scatter of a value: of times, by their rounds. */
static double answers_noise(const struct answering *answers, int metric, int cell)
{
  if (!answers->r->study->metric[metric].timing) return same / 2;
  const perp_quartiles quartiles = perp_results_timing(answers->r, cell, metric);
  const double wide = quartiles.median > 0 ? (quartiles.q3 - quartiles.q1) / quartiles.median : 0;
  return fmax((quartiles.n < 3 ? same_once : same_time) / 2, wide / 2);
}

/* Is b, of cell_b, not worse than the best, a of cell_a, by anything that can be told? */
static bool answers_tied(struct answering *answers, int metric, double a, int cell_a, double b,
                         int cell_b)
{
  const double floor = fmax(answers_floor(answers, metric, cell_a),
                            answers_floor(answers, metric, cell_b));
  const double tol = answers_noise(answers, metric, cell_a) +
                     answers_noise(answers, metric, cell_b);
  if (a == b || fabs(a - b) <= floor) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= tol * fmax(fabs(a), fabs(b));
}

static bool answers_better(const struct answering *answers, int metric, double a, double b)
{
  return answers->r->study->metric[metric].better > 0 ? a > b : a < b;
}

/* ---- comparing ---- */

static bool usable(struct answering *answers, int cell)
{
  return perp_results_wins(answers->r, cell) &&
         !isnan(perp_results_value(answers->r, cell, answers->metric)) &&
         (answers->at < 0 || perp_results_value(answers->r, cell, answers->at) >= 0);
}

/* Why a competitor has no figure in a comparison: the most frequent status of its cells. */
static const char *why_none(const struct answering *answers, int facet, int who)
{
  int count[PERP_CELL_STATUSES + 1] = { 0 }, most = -1;
  const int *cell, n = answers_cells(answers, facet, &cell);
  for (int k = 0; k < n; k++) {
    const int record = cell[k];
    if (answers->who[record] == who)
      count[perp_results_wins(answers->r, record) ? PERP_CELL_STATUSES
                                                  : (int)answers->r->record[record].status]++;
  }
  for (int s = 0; s <= PERP_CELL_STATUSES; s++)
    if (count[s] > 0 && (most < 0 || count[s] > count[most])) most = s;
  return most < 0 ? "" : most == PERP_CELL_STATUSES ? "no figure" : perp_cell_status_names[most];
}

/* The best figure of those cells of a competitor that reached their end and may not win. */
static double figure_that_stands(struct answering *answers, int facet, int who)
{
  double best = (double)NAN;
  const int *cell, n = answers->at < 0 ? answers_cells(answers, facet, &cell) : 0;
  for (int k = 0; k < n; k++) {
    const int record = cell[k];
    if (answers->who[record] != who) continue;
    const double v = perp_results_value(answers->r, record, answers->metric);
    if (!perp_cell_whole(answers->r->record[record].status) || isnan(v)) continue;
    if (isnan(best) || answers_better(answers, answers->metric, v, best)) best = v;
  }
  return best;
}

/* Mark the best of a line by the metric m. */
static void answers_mark(struct answering *answers, perp_answer_line *line, int m)
{
  int best = -1, next = -1;
  for (int k = 0; k < answers->a->n_who; k++)
    if (line->entry[k].cell >= 0 &&
        (best < 0 || answers_better(answers, m, line->entry[k].value, line->entry[best].value)))
      best = k;
  line->value = line->next = (double)NAN;
  if (best < 0) return;
  line->value = line->entry[best].value;
  for (int k = 0; k < answers->a->n_who; k++) {
    perp_answer_entry *entry = &line->entry[k];
    if (entry->cell < 0) continue;
    if (!line->cost) line->floor = fmax(line->floor, answers_floor(answers, m, entry->cell));
    entry->floor = !line->cost && fabs(entry->value) < answers_floor(answers, m, entry->cell);
    entry->best = answers_tied(answers, m, line->value, line->entry[best].cell, entry->value,
                               entry->cell);
    line->n_best += entry->best;
    if (!entry->best &&
        (next < 0 || answers_better(answers, m, entry->value, line->entry[next].value)))
      next = k;
  }
  if (next >= 0) {
    line->next = line->entry[next].value;
    line->second = answers->a->who[next];
  }
}

/* The best of each competitor in a facet, of the cells that cost at most `budget` (inf: all), or,
 * where target is no NaN, the cheapest of those that reach it. */
static void compare(struct answering *answers, int facet, double budget, double target,
                    perp_answer_line *line)
{
  line->cost = !isnan(target);
  const int by = line->cost ? answers->at : answers->metric;
  for (int k = 0; k < answers->a->n_who; k++)
    line->entry[k] = (perp_answer_entry){
      .value = (double)NAN, .stands = (double)NAN, .cell = -1, .why = ""
    };
  const int *cell, n = answers_cells(answers, facet, &cell);
  for (int k = 0; k < n; k++) {
    const int i = cell[k];
    if (!usable(answers, i)) continue;
    const double value = perp_results_value(answers->r, i, answers->metric);
    if (answers->at >= 0 && perp_results_value(answers->r, i, answers->at) > budget * (1 + equal))
      continue;
    if (line->cost && fabs(value - target) > equal * target &&
        !answers_better(answers, answers->metric, value, target))
      continue;
    perp_answer_entry *entry = &line->entry[answers->who[i]];
    const double v = perp_results_value(answers->r, i, by);
    if (entry->cell < 0 || answers_better(answers, by, v, entry->value)) {
      entry->value = v;
      entry->cell = i;
    }
  }
  for (int k = 0; k < answers->a->n_who; k++)
    if (line->entry[k].cell < 0) {
      const char *why = why_none(answers, facet, k);
      const bool some = strcmp(why, "no figure") == 0 && answers->at >= 0;
      line->entry[k].stands = figure_that_stands(answers, facet, k);
      line->entry[k].why = some ? (line->cost ? "not reached" : "over budget") : why;
    }
  answers_mark(answers, line, by);
}

/* ---- budgets ---- */

/* Numbers 1, 2, 5 times powers of ten, at most four, evenly over [lo, hi]; hi itself where there is
 * none. */
static int round_numbers(double lo, double hi, double *v)
{
  static const double mantissa[] = { 1, 2, 5 };
  enum { MOST = 120 };
  double all[MOST];
  int n = 0;
  if (!(lo > 0) || !(hi >= lo) || isinf(hi)) return 0;
  const bool decades = hi / lo >= 100;
  for (int e = (int)floor(log10(lo)); e <= (int)ceil(log10(hi)); e++)
    for (int k = 0; k < (decades ? 1 : 3); k++) {
      /* divided, as 1e-3 is and 1 * pow(10, -3) need not be */
      const double x = e < 0 ? mantissa[k] / pow(10, -e) : mantissa[k] * pow(10, e);
      if (x >= lo && x <= hi && n < MOST) all[n++] = x;
    }
  if (n == 0) {
    v[0] = hi;
    return 1;
  }
  const int kept = n < 4 ? n : 4;
  for (int k = 0; k < kept; k++)
    v[k] = all[kept == 1 ? 0 : (int)lround((double)k * (n - 1) / (kept - 1))];
  return kept;
}

/* The values of a metric over the usable cells of a facet: the second smallest of the best of each
 * competitor, and the worst of them all: between these it decides who is best. */
static bool range_of(struct answering *answers, int facet, int m, double *lo, double *hi)
{
  double *least = perp_pool_alloc(&answers->r->pool, (size_t)answers->a->n_who, sizeof *least);
  const int *cell, cells = answers_cells(answers, facet, &cell);
  int n = 0;
  *hi = 0;
  for (int k = 0; k < answers->a->n_who; k++) least[k] = HUGE_VAL;
  for (int c = 0; c < cells; c++) {
    if (!usable(answers, cell[c])) continue;
    const double x = fmax(perp_results_value(answers->r, cell[c], m),
                          answers_floor(answers, m, cell[c]));
    double *v = &least[answers->who[cell[c]]];
    *v = fmin(*v, x);
    if (isfinite(x)) *hi = fmax(*hi, x);
  }
  for (int k = 0; k < answers->a->n_who; k++)
    if (isfinite(least[k])) least[n++] = least[k];
  if (n < 2) return false;
  gsl_sort(least, 1, (size_t)n);
  *lo = least[1];
  return *lo > 0 && *hi >= *lo;
}

/* The largest error at which costs still differ: that of the cheapest cells of all competitors. */
static double cheapest_error(struct answering *answers, int facet)
{
  double error = 0;
  const int *cell, n = answers_cells(answers, facet, &cell);
  for (int k = 0; k < answers->a->n_who; k++) {
    int cheap = -1;
    for (int c = 0; c < n; c++)
      if (answers->who[cell[c]] == k && usable(answers, cell[c]) &&
          (cheap < 0 || perp_results_value(answers->r, cell[c], answers->at) <
                            perp_results_value(answers->r, cheap, answers->at)))
        cheap = cell[c];
    const double v = cheap < 0 ? 0 : perp_results_value(answers->r, cheap, answers->metric);
    if (isfinite(v)) error = fmax(error, v);
  }
  return error;
}

/* ---- the kinds of questions ---- */

static perp_answer_line *new_line(struct answering *answers, int facet)
{
  perp_answer *answer = answers->a;
  answer->line = perp_pool_grown(&answers->r->pool, answer->line, answer->n_lines,
                                 sizeof *answer->line);
  answers->facet_of = perp_pool_grown(&answers->r->pool, answers->facet_of, answer->n_lines,
                                      sizeof *answers->facet_of);
  answers->facet_of[answer->n_lines] = facet;
  perp_answer_line *line = &answer->line[answer->n_lines++];
  *line = (perp_answer_line){
    .apart = "", .brief = "", .condition = "", .words = "", .limit = "", .who = "", .second = ""
  };
  line->entry = perp_pool_alloc(&answers->r->pool, (size_t)answer->n_who + 1, sizeof *line->entry);
  return line;
}

/* A line that compares fewer than two says nothing: who was skipped or unsuited is no rival. */
static void keep_line(struct answering *answers)
{
  const perp_answer_line *line = &answers->a->line[answers->a->n_lines - 1];
  int there = 0, asked = 0;
  for (int entry = 0; entry < answers->a->n_who; entry++) {
    const char *why = line->entry[entry].why;
    there += line->entry[entry].cell >= 0;
    asked += line->entry[entry].cell >= 0 ||
             (why[0] != '\0' && strcmp(why, "skipped") != 0 && strcmp(why, "unsuited") != 0);
  }
  if (there == 0 || (asked < 2 && answers->a->n_who > 1)) {
    answers->a->n_lines--;
    answers->left_out += there > 0;
  }
}

static void answer_best(struct answering *answers)
{
  for (int facet = 0; facet < answers->n_facets; facet++) {
    if (answers->at < 0) {
      compare(answers, facet, HUGE_VAL, (double)NAN, new_line(answers, facet));
      keep_line(answers);
      continue;
    }
    double lo, hi, chosen[4];
    const double *v = answers->q.budget;
    int n = answers->q.n_budgets;
    if (n == 0 && answers->q.n_targets == 0) {
      v = chosen;
      n = range_of(answers, facet, answers->at, &lo, &hi) ? round_numbers(lo, hi, chosen) : 0;
    }
    for (int k = 0; k < n; k++) {
      perp_answer_line *line = new_line(answers, facet);
      line->condition = answers_condition(answers, answers->at, v[k], false);
      line->words = answers_condition_words(answers, answers->at, v[k], false);
      line->limit = answers_limit(answers, answers->at, v[k], false);
      compare(answers, facet, v[k], (double)NAN, line);
      keep_line(answers);
    }
    v = answers->q.target;
    n = answers->q.n_targets;
    if (n == 0 && answers->q.n_budgets == 0 &&
        answers->r->study->metric[answers->metric].better < 0) {
      v = chosen;
      n = range_of(answers, facet, answers->metric, &lo, &hi)
              ? round_numbers(lo, fmax(lo, cheapest_error(answers, facet)), chosen)
              : 0;
    }
    for (int k = n - 1; k >= 0; k--) {
      perp_answer_line *line = new_line(answers, facet);
      line->condition = answers_condition(answers, answers->metric, v[k], true);
      line->words = answers_condition_words(answers, answers->metric, v[k], true);
      line->limit = answers_limit(answers, answers->metric, v[k], true);
      compare(answers, facet, HUGE_VAL, v[k], line);
      keep_line(answers);
    }
  }
}

/* Has another competitor found a solution of the problem of this cell?  Then a proof that there is
 * none is wrong. */
static bool refuted(const struct answering *answers, int cell)
{
  const perp_study *study = answers->r->study;
  for (int i = 0; i < answers->r->plan.n; i++) {
    const perp_record *rec = &answers->r->record[i];
    if (i == cell || !perp_results_wins(answers->r, i) || strcmp(rec->reason, "infeasible") == 0)
      continue;
    bool alike = true;
    for (int param = 0; param < study->n_params && alike; param++)
      alike = strcmp(study->kind->params[param].key, "tol") == 0 ||
              answers_named(answers->q.by, answers->q.n_by, param) ||
              strcmp(answers->r->plan.cells[i].value[param].text,
                     answers->r->plan.cells[cell].value[param].text) == 0;
    if (alike) return true;
  }
  return false;
}

static void count_solved(struct answering *answers, int cell, perp_answer_entry *entry)
{
  const perp_record *rec = &answers->r->record[cell];
  if (rec->status == PERP_CELL_PLANNED || (rec->status == PERP_CELL_SKIPPED && rec->attempt == 0))
    return;
  if (isnan(entry->value)) entry->value = 0;
  entry->cell = cell;
  entry->asked++;
  if (rec->status == PERP_CELL_UNSUITED || rec->status == PERP_CELL_SKIPPED) {
    entry->unsuited++;
  } else if (strcmp(rec->reason, "infeasible") == 0) {
    const bool right = !refuted(answers, cell);
    entry->proved += right;
    entry->value += right;
  } else {
    entry->value += perp_results_wins(answers->r, cell);
  }
}

/* The first line counts all, the others each facet. */
static void answer_most(struct answering *answers)
{
  const bool facets = answers->q.n_apart > 0 && answers->n_facets > 1;
  for (int facet = -1; facet < (facets ? answers->n_facets : 0); facet++) {
    perp_answer_line *line = new_line(answers, facet);
    for (int k = 0; k < answers->a->n_who; k++)
      line->entry[k] = (perp_answer_entry){
        .value = (double)NAN, .stands = (double)NAN, .cell = -1, .why = ""
      };
    const int *cell, n = answers_cells(answers, facet, &cell);
    for (int k = 0; k < n; k++) count_solved(answers, cell[k], &line->entry[answers->who[cell[k]]]);
    line->value = line->next = (double)NAN;
    for (int k = 0; k < answers->a->n_who; k++)
      if (line->entry[k].cell >= 0)
        line->value = fmax(isnan(line->value) ? 0 : line->value, line->entry[k].value);
    for (int k = 0; k < answers->a->n_who; k++) {
      perp_answer_entry *entry = &line->entry[k];
      entry->best = entry->cell >= 0 && entry->value == line->value && entry->value > 0;
      line->n_best += entry->best;
      if (entry->cell < 0 || entry->best ||
          (line->second[0] != '\0' && !(entry->value > line->next)))
        continue;
      line->next = entry->value;
      line->second = answers->a->who[k];
    }
  }
}

static double over_of(struct answering *answers, int cell)
{
  if (answers->q.over_metric != NULL)
    return perp_results_value(answers->r, cell,
                              perp_results_metric(answers->r, answers->q.over_metric));
  const perp_value *value = &answers->r->plan.cells[cell].value[answers->q.over.param];
  if (value->type == PERP_VALUE_NUMBER) return value->number;
  return perp_real_of(perp_study_key_text(answers->ctx, answers->r->study, &answers->r->pool,
                                          &answers->q.over, value->text));
}

/* Observed order over steps and tolerances, exponent over sizes. */
static double slope_of(struct answering *answers, int facet, int who, int *cell)
{
  const int *cells, n = answers_cells(answers, facet, &cells);
  double *x = perp_xalloc((size_t)n + 1, sizeof *x), *y = perp_xalloc((size_t)n + 1, sizeof *y);
  int k = 0;
  const bool steps = answers->q.over_metric == NULL &&
                     (answers->q.over.option == NULL || strcmp(answers->q.over.option, "tol") == 0);
  for (int c = 0; c < n; c++) {
    const int i = cells[c];
    if (answers->who[i] != who || !usable(answers, i)) continue;
    const double at = over_of(answers, i),
                 value = perp_results_value(answers->r, i, answers->metric);
    if (!(at > 0) || fabs(value) <= answers_floor(answers, answers->metric, i)) continue;
    int to = k++; /* by size */
    for (; to > 0 && x[to - 1] > at; to--) {
      x[to] = x[to - 1];
      y[to] = y[to - 1];
    }
    x[to] = at;
    y[to] = value;
    *cell = i;
  }
  double slope = (double)NAN;
  if (k >= 3) slope = steps ? perp_observed_order(x, y, k, 0).slope : perp_log_slope(x, y, k);
  free(x);
  free(y);
  return slope;
}

static void answer_slope(struct answering *answers)
{
  for (int facet = 0; facet < answers->n_facets; facet++) {
    perp_answer_line *line = new_line(answers, facet);
    line->value = line->next = (double)NAN;
    for (int who = 0; who < answers->a->n_who; who++) {
      perp_answer_entry *entry = &line->entry[who];
      *entry = (perp_answer_entry){ .stands = (double)NAN,
                                    .cell = -1,
                                    .why = why_none(answers, facet, who) };
      entry->value = slope_of(answers, facet, who, &entry->cell);
      if (isnan(entry->value)) entry->cell = -1;
      if (isnan(entry->value) && strcmp(entry->why, "no figure") == 0) entry->why = "no line";
    }
    keep_line(answers);
  }
}

/* ---- one question ---- */

static void sort_cells(struct answering *answers)
{
  perp_results *results = answers->r;
  perp_names who = { 0 }, facet = { 0 };
  for (int cell = 0; cell < results->plan.n; cell++) {
    answers->who[cell] = answers->facet[cell] = -1;
    if (!answers->in[cell]) continue;
    const int competitors = who.n;
    answers->who[cell] = perp_names_index(
        &results->pool, &who, answers_label(answers, answers->q.by, answers->q.n_by, cell), -1);
    if (who.n > competitors) {
      const char *in_words = answers_label_words(answers, answers->q.by, answers->q.n_by, cell);
      answers->a->words = perp_pool_grown(&results->pool, answers->a->words, competitors,
                                          sizeof *answers->a->words);
      answers->a->words[competitors] = in_words[0] != '\0' ? in_words : who.text[competitors];
    }
    const int known = facet.n;
    answers->facet[cell] = perp_names_index(
        &results->pool, &facet,
        answers_joined_keys(answers, answers->q.apart, answers->q.n_apart, cell), -1);
    if (facet.n > known) {
      answers->example = perp_pool_grown(&results->pool, answers->example, known,
                                         sizeof *answers->example);
      answers->example[known] = cell;
    }
  }
  answers->a->who = who.text;
  answers->a->n_who = who.n;
  answers->a->ran = perp_pool_alloc(&results->pool, (size_t)who.n + 1, sizeof(bool));
  for (int record = 0; record < results->plan.n; record++)
    if (answers->in[record] && results->record[record].status != PERP_CELL_SKIPPED &&
        results->record[record].status != PERP_CELL_UNSUITED)
      answers->a->ran[answers->who[record]] = true;
  answers->n_facets = facet.n;
  answers->first = perp_pool_alloc(&results->pool, (size_t)facet.n + 2, sizeof *answers->first);
  answers->cell = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1,
                                  sizeof *answers->cell);
  /* counted one place too far, so that first[f + 1] can count up from the start of f to its end */
  for (int i = 0; i < results->plan.n; i++)
    if (answers->in[i]) answers->first[answers->facet[i] + 2]++;
  for (int f = 1; f <= facet.n; f++) answers->first[f + 1] += answers->first[f];
  for (int i = 0; i < results->plan.n; i++)
    if (answers->in[i]) answers->cell[answers->first[answers->facet[i] + 1]++] = i;
}

void answers_ask(const perp_ctx *ctx, perp_results *results, const perp_question *question,
                 perp_answer *answer)
{
  struct answering answers = {
    .ctx = ctx, .r = results, .q = *question, .a = answer, .metric = -1, .at = -1, .proxy = -1
  };
  const size_t n = (size_t)results->plan.n + 1;
  *answer = (perp_answer){ .question = question,
                           .asked = "",
                           .text = "",
                           .proxy = "",
                           .basis = "",
                           .note = "",
                           .by = "",
                           .apart_by = "",
                           .unit = "",
                           .cost_unit = "" };
  answers.least_floor = HUGE_VAL;
  if (question->kind == PERP_ASK_CLAIMS) {
    answers_say_claims(&answers);
    return;
  }
  if (question->metric != NULL) answers.metric = perp_results_metric(results, question->metric);
  if (question->at != NULL) answers.at = perp_results_metric(results, question->at);
  if (question->proxy != NULL) answers.proxy = perp_results_metric(results, question->proxy);
  answers.in = perp_pool_alloc(&results->pool, n, sizeof *answers.in);
  answers.who = perp_pool_alloc(&results->pool, n, sizeof *answers.who);
  answers.facet = perp_pool_alloc(&results->pool, n, sizeof *answers.facet);
  const perp_scope scope = perp_results_scope(ctx, results, false);
  for (int record = 0; record < results->plan.n; record++) {
    const perp_cell_status status = results->record[record].status;
    answers.in[record] = status != PERP_CELL_PLANNED &&
                         (question->where == NULL ||
                          perp_expr_true(question->where, &scope, record));
  }
  if (answers.q.n_by == 0) answers_default_by(&answers);
  answers_join_tolerances(&answers);
  answers_hold_apart(&answers);
  sort_cells(&answers);
  if (question->kind == PERP_ASK_BEST) answer_best(&answers);
  if (question->kind == PERP_ASK_MOST) answer_most(&answers);
  if (question->kind == PERP_ASK_SLOPE) answer_slope(&answers);
  answers_say(&answers);
  json_decref(answers.references);
}

/* What is asked where the study does not say: of problems who solves most; the best by the primary
 * metric. */
static int assumed(perp_results *results, const perp_question **questions)
{
  const perp_study *study = results->study;
  perp_question *question = perp_pool_alloc(&results->pool, 2, sizeof *question);
  const int problem = perp_kind_param(study->kind, "problem"),
            lcp = perp_kind_param(study->kind, "lcp");
  const perp_metric *primary = perp_study_metric(study, study->metrics.primary);
  int n = 0;
  if (problem >= 0 && lcp >= 0) {
    perp_study_key *keys = perp_pool_alloc(&results->pool, 2, sizeof *keys);
    keys[0] = (perp_study_key){ .text = "lcp", .param = lcp };
    keys[1] = (perp_study_key){
      .text = "problem.family", .param = problem, .option = "family", .name = true
    };
    question[n++] = (perp_question){ .kind = PERP_ASK_MOST,
                                     .ask = "",
                                     .n_by = 1,
                                     .by = keys,
                                     .n_apart = 1,
                                     .apart = keys + 1,
                                     .assumed = true };
  }
  if (primary->better != 0)
    question[n++] = (perp_question){
      .kind = PERP_ASK_BEST, .ask = "", .metric = primary->name, .assumed = true
    };
  *questions = question;
  return n;
}

int perp_results_answers(const perp_ctx *ctx, perp_results *results, const perp_answer **answers)
{
  const perp_question *question = results->study->questions;
  int n = results->study->n_questions;
  if (results->answers != NULL) { /* several outputs of one command ask */
    *answers = results->answers;
    while (n == 0 && (*answers)[n].question != NULL) n++;
    return n;
  }
  if (n == 0) n = assumed(results, &question);
  perp_answer *list = perp_pool_alloc(&results->pool, (size_t)n + 1, sizeof *list);
  for (int i = 0; i < n; i++) answers_ask(ctx, results, &question[i], &list[i]);
  results->answers = *answers = list; /* behind the last one stands none */
  return n;
}
