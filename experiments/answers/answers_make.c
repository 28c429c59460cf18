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
static double answers_noise(const struct answering *w, int m, int cell)
{
  if (!w->r->study->metric[m].timing) return same / 2;
  const perp_quartiles q = perp_results_timing(w->r, cell, m);
  const double wide = q.median > 0 ? (q.q3 - q.q1) / q.median : 0;
  return fmax((q.n < 3 ? same_once : same_time) / 2, wide / 2);
}

/* Is b, of cell_b, not worse than the best, a of cell_a, by anything that can be told? */
static bool answers_tied(struct answering *w, int m, double a, int cell_a, double b, int cell_b)
{
  const double floor = fmax(answers_floor(w, m, cell_a), answers_floor(w, m, cell_b));
  const double tol = answers_noise(w, m, cell_a) + answers_noise(w, m, cell_b);
  if (a == b || fabs(a - b) <= floor) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= tol * fmax(fabs(a), fabs(b));
}

static bool answers_better(const struct answering *w, int m, double a, double b)
{
  return w->r->study->metric[m].better > 0 ? a > b : a < b;
}

/* ---- comparing ---- */

static bool usable(struct answering *w, int cell)
{
  return perp_results_wins(w->r, cell) && !isnan(perp_results_value(w->r, cell, w->metric)) &&
         (w->at < 0 || perp_results_value(w->r, cell, w->at) >= 0);
}

/* Why a competitor has no figure in a comparison: the most frequent status of its cells. */
static const char *why_none(const struct answering *w, int facet, int who)
{
  int count[PERP_CELL_STATUSES + 1] = { 0 }, most = -1;
  const int *cell, n = answers_cells(w, facet, &cell);
  for (int k = 0; k < n; k++) {
    const int i = cell[k];
    if (w->who[i] == who)
      count[perp_results_wins(w->r, i) ? PERP_CELL_STATUSES : (int)w->r->record[i].status]++;
  }
  for (int s = 0; s <= PERP_CELL_STATUSES; s++)
    if (count[s] > 0 && (most < 0 || count[s] > count[most])) most = s;
  return most < 0 ? "" : most == PERP_CELL_STATUSES ? "no figure" : perp_cell_status_names[most];
}

/* The best figure of those cells of a competitor that reached their end and may not win. */
static double figure_that_stands(struct answering *w, int facet, int who)
{
  double best = (double)NAN;
  const int *cell, n = w->at < 0 ? answers_cells(w, facet, &cell) : 0;
  for (int k = 0; k < n; k++) {
    const int i = cell[k];
    if (w->who[i] != who) continue;
    const double v = perp_results_value(w->r, i, w->metric);
    if (!perp_cell_whole(w->r->record[i].status) || isnan(v)) continue;
    if (isnan(best) || answers_better(w, w->metric, v, best)) best = v;
  }
  return best;
}

/* Mark the best of a line by the metric m. */
static void answers_mark(struct answering *w, perp_answer_line *line, int m)
{
  int best = -1, next = -1;
  for (int k = 0; k < w->a->n_who; k++)
    if (line->entry[k].cell >= 0 &&
        (best < 0 || answers_better(w, m, line->entry[k].value, line->entry[best].value)))
      best = k;
  line->value = line->next = (double)NAN;
  if (best < 0) return;
  line->value = line->entry[best].value;
  for (int k = 0; k < w->a->n_who; k++) {
    perp_answer_entry *e = &line->entry[k];
    if (e->cell < 0) continue;
    e->floor = !line->cost && fabs(e->value) < answers_floor(w, m, e->cell);
    e->best = answers_tied(w, m, line->value, line->entry[best].cell, e->value, e->cell);
    line->n_best += e->best;
    if (!e->best && (next < 0 || answers_better(w, m, e->value, line->entry[next].value))) next = k;
  }
  if (next >= 0) {
    line->next = line->entry[next].value;
    line->second = w->a->who[next];
  }
}

/* The best of each competitor in a facet, of the cells that cost at most `budget` (inf: all), or,
 * where target is no NaN, the cheapest of those that reach it. */
static void compare(struct answering *w, int facet, double budget, double target,
                    perp_answer_line *line)
{
  line->cost = !isnan(target);
  const int by = line->cost ? w->at : w->metric;
  for (int k = 0; k < w->a->n_who; k++)
    line->entry[k] = (perp_answer_entry){
      .value = (double)NAN, .stands = (double)NAN, .cell = -1, .why = ""
    };
  const int *cell, n = answers_cells(w, facet, &cell);
  for (int k = 0; k < n; k++) {
    const int i = cell[k];
    if (!usable(w, i)) continue;
    const double value = perp_results_value(w->r, i, w->metric);
    if (w->at >= 0 && perp_results_value(w->r, i, w->at) > budget * (1 + equal)) continue;
    if (line->cost && fabs(value - target) > equal * target &&
        !answers_better(w, w->metric, value, target))
      continue;
    perp_answer_entry *e = &line->entry[w->who[i]];
    const double v = perp_results_value(w->r, i, by);
    if (e->cell < 0 || answers_better(w, by, v, e->value)) {
      e->value = v;
      e->cell = i;
    }
  }
  for (int k = 0; k < w->a->n_who; k++)
    if (line->entry[k].cell < 0) {
      const char *why = why_none(w, facet, k);
      const bool some = strcmp(why, "no figure") == 0 && w->at >= 0;
      line->entry[k].stands = figure_that_stands(w, facet, k);
      line->entry[k].why = some ? (line->cost ? "not reached" : "over budget") : why;
    }
  answers_mark(w, line, by);
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
static bool range_of(struct answering *w, int facet, int m, double *lo, double *hi)
{
  double *least = perp_pool_alloc(&w->r->pool, (size_t)w->a->n_who, sizeof *least);
  const int *cell, cells = answers_cells(w, facet, &cell);
  int n = 0;
  *hi = 0;
  for (int k = 0; k < w->a->n_who; k++) least[k] = HUGE_VAL;
  for (int c = 0; c < cells; c++) {
    if (!usable(w, cell[c])) continue;
    const double x = fmax(perp_results_value(w->r, cell[c], m), answers_floor(w, m, cell[c]));
    double *v = &least[w->who[cell[c]]];
    *v = fmin(*v, x);
    if (isfinite(x)) *hi = fmax(*hi, x);
  }
  for (int k = 0; k < w->a->n_who; k++)
    if (isfinite(least[k])) least[n++] = least[k];
  if (n < 2) return false;
  gsl_sort(least, 1, (size_t)n);
  *lo = least[1];
  return *lo > 0 && *hi >= *lo;
}

/* The largest error at which costs still differ: that of the cheapest cells of all competitors. */
static double cheapest_error(struct answering *w, int facet)
{
  double error = 0;
  const int *cell, n = answers_cells(w, facet, &cell);
  for (int k = 0; k < w->a->n_who; k++) {
    int cheap = -1;
    for (int c = 0; c < n; c++)
      if (w->who[cell[c]] == k && usable(w, cell[c]) &&
          (cheap < 0 ||
           perp_results_value(w->r, cell[c], w->at) < perp_results_value(w->r, cheap, w->at)))
        cheap = cell[c];
    const double v = cheap < 0 ? 0 : perp_results_value(w->r, cheap, w->metric);
    if (isfinite(v)) error = fmax(error, v);
  }
  return error;
}

/* ---- the kinds of questions ---- */

static perp_answer_line *new_line(struct answering *w, int facet)
{
  perp_answer *a = w->a;
  a->line = perp_pool_grown(&w->r->pool, a->line, a->n_lines, sizeof *a->line);
  w->facet_of = perp_pool_grown(&w->r->pool, w->facet_of, a->n_lines, sizeof *w->facet_of);
  w->facet_of[a->n_lines] = facet;
  perp_answer_line *line = &a->line[a->n_lines++];
  *line = (perp_answer_line){
    .apart = "", .brief = "", .condition = "", .words = "", .limit = "", .who = "", .second = ""
  };
  line->entry = perp_pool_alloc(&w->r->pool, (size_t)a->n_who + 1, sizeof *line->entry);
  return line;
}

/* A line that compares fewer than two says nothing. */
static void keep_line(struct answering *w)
{
  const perp_answer_line *line = &w->a->line[w->a->n_lines - 1];
  int there = 0, asked = 0;
  for (int k = 0; k < w->a->n_who; k++) {
    there += line->entry[k].cell >= 0;
    asked += line->entry[k].cell >= 0 || line->entry[k].why[0] != '\0';
  }
  if (there == 0 || (asked < 2 && w->a->n_who > 1)) {
    w->a->n_lines--;
    w->left_out += there > 0;
  }
}

static void answer_best(struct answering *w)
{
  for (int f = 0; f < w->n_facets; f++) {
    if (w->at < 0) {
      compare(w, f, HUGE_VAL, (double)NAN, new_line(w, f));
      keep_line(w);
      continue;
    }
    double lo, hi, chosen[4];
    const double *v = w->q.budget;
    int n = w->q.n_budgets;
    if (n == 0 && w->q.n_targets == 0) {
      v = chosen;
      n = range_of(w, f, w->at, &lo, &hi) ? round_numbers(lo, hi, chosen) : 0;
    }
    for (int k = 0; k < n; k++) {
      perp_answer_line *line = new_line(w, f);
      line->condition = answers_condition(w, w->at, v[k], false);
      line->words = answers_condition_words(w, w->at, v[k], false);
      line->limit = answers_limit(w, w->at, v[k], false);
      compare(w, f, v[k], (double)NAN, line);
      keep_line(w);
    }
    v = w->q.target;
    n = w->q.n_targets;
    if (n == 0 && w->q.n_budgets == 0 && w->r->study->metric[w->metric].better < 0) {
      v = chosen;
      n = range_of(w, f, w->metric, &lo, &hi)
              ? round_numbers(lo, fmax(lo, cheapest_error(w, f)), chosen)
              : 0;
    }
    for (int k = n - 1; k >= 0; k--) {
      perp_answer_line *line = new_line(w, f);
      line->condition = answers_condition(w, w->metric, v[k], true);
      line->words = answers_condition_words(w, w->metric, v[k], true);
      line->limit = answers_limit(w, w->metric, v[k], true);
      compare(w, f, HUGE_VAL, v[k], line);
      keep_line(w);
    }
  }
}

/* Has another competitor found a solution of the problem of this cell?  Then a proof that there is
 * none is wrong. */
static bool refuted(const struct answering *w, int cell)
{
  const perp_study *s = w->r->study;
  for (int i = 0; i < w->r->plan.n; i++) {
    const perp_record *rec = &w->r->record[i];
    if (i == cell || !perp_results_wins(w->r, i) || strcmp(rec->reason, "infeasible") == 0)
      continue;
    bool alike = true;
    for (int p = 0; p < s->n_params && alike; p++)
      alike = strcmp(s->kind->params[p].key, "tol") == 0 || answers_named(w->q.by, w->q.n_by, p) ||
              strcmp(w->r->plan.cells[i].value[p].text, w->r->plan.cells[cell].value[p].text) == 0;
    if (alike) return true;
  }
  return false;
}

static void count_solved(struct answering *w, int cell, perp_answer_entry *e)
{
  const perp_record *rec = &w->r->record[cell];
  if (rec->status == PERP_CELL_PLANNED || (rec->status == PERP_CELL_SKIPPED && rec->attempt == 0))
    return;
  if (isnan(e->value)) e->value = 0;
  e->cell = cell;
  e->asked++;
  if (rec->status == PERP_CELL_UNSUITED || rec->status == PERP_CELL_SKIPPED) {
    e->unsuited++;
  } else if (strcmp(rec->reason, "infeasible") == 0) {
    const bool right = !refuted(w, cell);
    e->proved += right;
    e->value += right;
  } else {
    e->value += perp_results_wins(w->r, cell);
  }
}

/* The first line counts all, the others each facet. */
static void answer_most(struct answering *w)
{
  const bool facets = w->q.n_apart > 0 && w->n_facets > 1;
  for (int f = -1; f < (facets ? w->n_facets : 0); f++) {
    perp_answer_line *line = new_line(w, f);
    for (int k = 0; k < w->a->n_who; k++)
      line->entry[k] = (perp_answer_entry){
        .value = (double)NAN, .stands = (double)NAN, .cell = -1, .why = ""
      };
    const int *cell, n = answers_cells(w, f, &cell);
    for (int k = 0; k < n; k++) count_solved(w, cell[k], &line->entry[w->who[cell[k]]]);
    line->value = line->next = (double)NAN;
    for (int k = 0; k < w->a->n_who; k++)
      if (line->entry[k].cell >= 0)
        line->value = fmax(isnan(line->value) ? 0 : line->value, line->entry[k].value);
    for (int k = 0; k < w->a->n_who; k++) {
      perp_answer_entry *e = &line->entry[k];
      e->best = e->cell >= 0 && e->value == line->value && e->value > 0;
      line->n_best += e->best;
      if (e->cell < 0 || e->best || (line->second[0] != '\0' && !(e->value > line->next))) continue;
      line->next = e->value;
      line->second = w->a->who[k];
    }
  }
}

static double over_of(struct answering *w, int cell)
{
  if (w->q.over_metric != NULL)
    return perp_results_value(w->r, cell, perp_results_metric(w->r, w->q.over_metric));
  const perp_value *value = &w->r->plan.cells[cell].value[w->q.over.param];
  if (value->type == PERP_VALUE_NUMBER) return value->number;
  return perp_real_of(
      perp_study_key_text(w->ctx, w->r->study, &w->r->pool, &w->q.over, value->text));
}

/* Observed order over steps and tolerances, exponent over sizes. */
static double slope_of(struct answering *w, int facet, int who, int *cell)
{
  const int *cells, n = answers_cells(w, facet, &cells);
  double *x = perp_xalloc((size_t)n + 1, sizeof *x), *y = perp_xalloc((size_t)n + 1, sizeof *y);
  int k = 0;
  const bool steps = w->q.over_metric == NULL &&
                     (w->q.over.option == NULL || strcmp(w->q.over.option, "tol") == 0);
  for (int c = 0; c < n; c++) {
    const int i = cells[c];
    if (w->who[i] != who || !usable(w, i)) continue;
    const double at = over_of(w, i), value = perp_results_value(w->r, i, w->metric);
    if (!(at > 0) || fabs(value) <= answers_floor(w, w->metric, i)) continue;
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

static void answer_slope(struct answering *w)
{
  for (int f = 0; f < w->n_facets; f++) {
    perp_answer_line *line = new_line(w, f);
    line->value = line->next = (double)NAN;
    for (int k = 0; k < w->a->n_who; k++) {
      perp_answer_entry *e = &line->entry[k];
      *e = (perp_answer_entry){ .stands = (double)NAN, .cell = -1, .why = why_none(w, f, k) };
      e->value = slope_of(w, f, k, &e->cell);
      if (isnan(e->value)) e->cell = -1;
      if (isnan(e->value) && strcmp(e->why, "no figure") == 0) e->why = "no line";
    }
    keep_line(w);
  }
}

/* ---- one question ---- */

static void sort_cells(struct answering *w)
{
  perp_results *r = w->r;
  perp_names who = { 0 }, facet = { 0 };
  for (int i = 0; i < r->plan.n; i++) {
    w->who[i] = w->facet[i] = -1;
    if (!w->in[i]) continue;
    w->who[i] = perp_names_index(&r->pool, &who, answers_label(w, w->q.by, w->q.n_by, i), -1);
    const int known = facet.n;
    w->facet[i] = perp_names_index(&r->pool, &facet,
                                   answers_joined_keys(w, w->q.apart, w->q.n_apart, i), -1);
    if (facet.n > known) {
      w->example = perp_pool_grown(&r->pool, w->example, known, sizeof *w->example);
      w->example[known] = i;
    }
  }
  w->a->who = who.text;
  w->a->n_who = who.n;
  w->n_facets = facet.n;
  w->first = perp_pool_alloc(&r->pool, (size_t)facet.n + 2, sizeof *w->first);
  w->cell = perp_pool_alloc(&r->pool, (size_t)r->plan.n + 1, sizeof *w->cell);
  /* counted one place too far, so that first[f + 1] can count up from the start of f to its end */
  for (int i = 0; i < r->plan.n; i++)
    if (w->in[i]) w->first[w->facet[i] + 2]++;
  for (int f = 1; f <= facet.n; f++) w->first[f + 1] += w->first[f];
  for (int i = 0; i < r->plan.n; i++)
    if (w->in[i]) w->cell[w->first[w->facet[i] + 1]++] = i;
}

static void answer_one(const perp_ctx *ctx, perp_results *r, const perp_question *q, perp_answer *a)
{
  struct answering w = { .ctx = ctx, .r = r, .q = *q, .a = a, .metric = -1, .at = -1, .proxy = -1 };
  const size_t n = (size_t)r->plan.n + 1;
  *a = (perp_answer){ .question = q,
                      .asked = "",
                      .text = "",
                      .basis = "",
                      .note = "",
                      .by = "",
                      .apart_by = "",
                      .unit = "",
                      .cost_unit = "" };
  w.least_floor = HUGE_VAL;
  if (q->kind == PERP_ASK_CLAIMS) {
    answers_say_claims(&w);
    return;
  }
  if (q->metric != NULL) w.metric = perp_results_metric(r, q->metric);
  if (q->at != NULL) w.at = perp_results_metric(r, q->at);
  if (q->proxy != NULL) w.proxy = perp_results_metric(r, q->proxy);
  w.in = perp_pool_alloc(&r->pool, n, sizeof *w.in);
  w.who = perp_pool_alloc(&r->pool, n, sizeof *w.who);
  w.facet = perp_pool_alloc(&r->pool, n, sizeof *w.facet);
  const perp_scope scope = perp_results_scope(ctx, r, false);
  for (int i = 0; i < r->plan.n; i++) {
    const perp_cell_status status = r->record[i].status;
    w.in[i] = status != PERP_CELL_PLANNED &&
              (q->where == NULL || perp_expr_true(q->where, &scope, i));
  }
  if (w.q.n_by == 0) answers_default_by(&w);
  answers_join_tolerances(&w);
  answers_hold_apart(&w);
  sort_cells(&w);
  if (q->kind == PERP_ASK_BEST) answer_best(&w);
  if (q->kind == PERP_ASK_MOST) answer_most(&w);
  if (q->kind == PERP_ASK_SLOPE) answer_slope(&w);
  answers_say(&w);
  json_decref(w.references);
}

/* What is asked where the study does not say: of problems who solves most; the best by the primary
 * metric. */
static int assumed(perp_results *r, const perp_question **questions)
{
  const perp_study *s = r->study;
  perp_question *q = perp_pool_alloc(&r->pool, 2, sizeof *q);
  const int problem = perp_kind_param(s->kind, "problem"), lcp = perp_kind_param(s->kind, "lcp");
  const perp_metric *primary = perp_study_metric(s, s->metrics.primary);
  int n = 0;
  if (problem >= 0 && lcp >= 0) {
    perp_study_key *keys = perp_pool_alloc(&r->pool, 2, sizeof *keys);
    keys[0] = (perp_study_key){ .text = "lcp", .param = lcp };
    keys[1] = (perp_study_key){
      .text = "problem.family", .param = problem, .option = "family", .name = true
    };
    q[n++] = (perp_question){ .kind = PERP_ASK_MOST,
                              .ask = "",
                              .n_by = 1,
                              .by = keys,
                              .n_apart = 1,
                              .apart = keys + 1,
                              .assumed = true };
  }
  if (primary->better != 0)
    q[n++] = (perp_question){
      .kind = PERP_ASK_BEST, .ask = "", .metric = primary->name, .assumed = true
    };
  *questions = q;
  return n;
}

int perp_results_answers(const perp_ctx *ctx, perp_results *r, const perp_answer **answers)
{
  const perp_question *q = r->study->questions;
  int n = r->study->n_questions;
  if (n == 0) n = assumed(r, &q);
  perp_answer *list = perp_pool_alloc(&r->pool, (size_t)n + 1, sizeof *list);
  for (int i = 0; i < n; i++) answer_one(ctx, r, &q[i], &list[i]);
  *answers = list;
  return n;
}
