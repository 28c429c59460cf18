/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/answers/findings.h"
#include "experiments/answers/findings_winner.h"

#include "experiments/results/tally.h"
#include "experiments/study/words.h"
#include "experiments/base/numbers.h"
#include "experiments/base/table.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the variance that are worth a sentence, and words for them. */
static const double decides = 0.6, matters = 0.3, weak = 0.15, named = 0.005, pair_named = 0.1;
static const double many_failures = 0.2; /* of the runs: they are among the first sentences */
static const double far_off = 10;        /* times the worst ranked run */
static const double asked_for = 0.05;    /* a setting whose best is named though nobody asks */
static const double turned = 0.15; /* decades by which an order must change: a factor of 1.4 */
enum { OTHERS = 3, FEW = 3 };

/* ---- words ---- */

static const char *percent(struct writing *writing, double share)
{
  if (share < 0.0005) return "less than 0.1 %";
  return perp_pool_printf(writing->pool, share < 0.0095 ? "%.1f %%" : "%.0f %%", 100 * share);
}

static const char *metric_words(struct writing *writing, int metric)
{
  return findings_metric(writing, writing->r->study->metric[metric].name);
}

static const char *factor_words(const struct writing *writing, const answers_factor *factor)
{
  return answers_key_words(writing->pool, factor->key.text);
}

/* "RK4", "no stabilization", "h = 4 ms" */
static const char *level_words(struct writing *writing, const answers_factor *factor, int level)
{
  const char *text = factor->level[level];
  if ((text[0] == '\0' || strcmp(text, "none") == 0) && strcmp(factor->key.text, "ode") == 0)
    return "the formulation's own integrator";
  if (text[0] == '\0' || strcmp(text, "none") == 0)
    return perp_pool_printf(writing->pool, "no %s", factor_words(writing, factor));
  text = answers_choice_words(writing->ctx, writing->r, &factor->key, text);
  return factor->block
             ? perp_pool_printf(writing->pool, "the %s %s", factor_words(writing, factor), text)
             : answers_with_article(writing->pool, text);
}

/* ---- which setting matters ---- */

/* "the step size h explains 10 %, the stabilization 3 %": the next ones, and the one asked for. */
static const char *other_shares(struct writing *writing, const answers_explained *explained,
                                const answers_term *top)
{
  const perp_study *study = writing->r->study;
  const perp_study_key *asked = study->n_questions > 0 && study->questions[0].n_by > 0
                                    ? study->questions[0].by
                                    : NULL;
  const char *text = "";
  int n = 0;
  for (int k = 0; k < explained->n_main; k++) {
    const answers_term *term = &explained->term[k];
    if (term == top) continue;
    const answers_factor *factor = &explained->factor[term->a];
    const bool wanted = asked != NULL && factor->key.param == asked->param;
    if (!wanted && (n >= OTHERS || !term->real || term->share < named)) continue;
    text = perp_pool_printf(writing->pool, "%s%s the %s %s%s", text, text[0] != '\0' ? "," : "",
                            factor_words(writing, factor), n == 0 ? "explains " : "",
                            percent(writing, term->share));
    n++;
  }
  return text;
}

static const char *pair_words(struct writing *writing, const answers_explained *explained,
                              const answers_term *term)
{
  const answers_factor *a = &explained->factor[term->a], *b = &explained->factor[term->b];
  return perp_pool_printf(writing->pool, "%s and %s", factor_words(writing, a),
                          factor_words(writing, b));
}

/* The largest term of those from .. to - 1 that is no chance; NULL: none. */
static const answers_term *largest_real(const answers_explained *explained, int from, int to)
{
  for (int term = from; term < to; term++)
    if (explained->term[term].real) return &explained->term[term];
  return NULL;
}

/* " within a scene": what the shares are of, where runs of several are compared. */
static const char *within_words(struct writing *writing, const answers_explained *explained)
{
  for (int factor = 0; factor < explained->n_factors; factor++)
    if (explained->factor[factor].block)
      return perp_kind_param(writing->r->study->kind, "scene") >= 0 ? " within a scene"
                                                                    : " within a problem";
  return "";
}

/* What explains the differences more than chance does: a setting, or a pair of them. */
static const char *explained_text(struct writing *writing, const answers_explained *explained,
                                  const answers_term *top, const answers_term *pair)
{
  const bool two = top == NULL || (pair != NULL && pair->share > top->share);
  const answers_term *most = two ? pair : top;
  const answers_factor *a = &explained->factor[most->a],
                       *b = two ? &explained->factor[most->b] : NULL;
  const char *metric = perp_pool_printf(writing->pool, "%s%s",
                                        metric_words(writing, explained->metric),
                                        within_words(writing, explained)),
             *share = percent(writing, most->share), *first = factor_words(writing, a);
  if (most->share < weak)
    return perp_pool_printf(writing->pool,
                            "No single setting decides: of the differences of the %s the largest "
                            "share, %s, is that of the %s%s.",
                            metric, share, two ? "combination of " : "",
                            two ? pair_words(writing, explained, most) : first);
  if (two) {
    const char *alone = top == NULL
                            ? ""
                            : perp_pool_printf(writing->pool, ", the %s alone %s",
                                               factor_words(writing, &explained->factor[top->a]),
                                               percent(writing, top->share));
    if (a->block || b->block)
      return perp_pool_printf(writing->pool,
                              "The effect of the %s differs from %s to %s: this explains %s of the "
                              "differences of the %s%s.",
                              factor_words(writing, a->block ? b : a),
                              factor_words(writing, a->block ? a : b),
                              factor_words(writing, a->block ? a : b), share, metric, alone);
    return perp_pool_printf(writing->pool,
                            "The combination of %s matters most: it explains %s of the differences "
                            "of the %s%s.",
                            pair_words(writing, explained, most), share, metric, alone);
  }
  const char *others = other_shares(writing, explained, top),
             *text = perp_pool_printf(
                 writing->pool, "The %s %s: it explains %s of the differences of the %s%s%s.",
                 first,
                 most->share >= decides   ? "decides"
                 : most->share >= matters ? "matters most"
                                          : "matters most, but does not decide",
                 share, metric, others[0] != '\0' ? ";" : "", others);
  if (pair == NULL || pair->share < pair_named) return text;
  return perp_pool_printf(writing->pool, "%s Another %s depend on the combination of %s.", text,
                          percent(writing, pair->share), pair_words(writing, explained, pair));
}

static void found_factor(struct writing *writing, const answers_explained *explained, int rank)
{
  const answers_term *top = largest_real(explained, 0, explained->n_main),
                     *pair = largest_real(explained, explained->n_main, explained->n_terms);
  const char *metric = metric_words(writing, explained->metric),
             *within = within_words(writing, explained), *text;
  perp_finding *found;
  if (explained->n_main == 0 || explained->n_factors < 2)
    return; /* one setting alone explains all */
  if (top == NULL && pair == NULL) {
    const char *setting = factor_words(writing, &explained->factor[explained->term[0].a]),
               *share = percent(writing, explained->term[0].share);
    const bool few = explained->term[0].share >= matters; /* though chance may give that */
    text = few ? perp_pool_printf(
                     writing->pool,
                     "Too few runs show which setting explains the differences of the %s%s: the %s "
                     "explains %s in these %d runs, which may be chance.",
                     metric, within, setting, share, explained->n)
               : perp_pool_printf(
                     writing->pool,
                     "No setting explains the differences of the %s%s: the largest share, %s of "
                     "the %s, is not more than chance gives in %d runs.",
                     metric, within, share, setting, explained->n);
    found = findings_add(writing, rank, PERP_FOUND_NOISE, text);
    writing->noise = writing->noise || (rank != RANK_TIME && !few);
  } else {
    const answers_term *most = top == NULL || (pair != NULL && pair->share > top->share) ? pair
                                                                                         : top;
    found = findings_add(writing, rank, PERP_FOUND_FACTOR,
                         explained_text(writing, explained, top, pair));
    found->factor = explained->factor[most->a].key.text;
    found->second = most->b < 0 ? "" : explained->factor[most->b].key.text;
    found->share = most->share;
    found->basis = perp_pool_printf(
        writing->pool,
        "Analysis of variance of the decimal logarithm of the %s over %d runs; each share is what "
        "a setting explains after all others (sums of type II)%s.",
        metric, explained->n,
        within[0] == '\0'
            ? ""
            : perp_pool_printf(writing->pool, "; the shares are of the differences%s", within));
  }
  found->metric = writing->r->study->metric[explained->metric].name;
}

/* Are all runs of a block alike? */
static bool found_same(struct writing *writing, const answers_explained *explained, int rank)
{
  if (explained->decades > log10(1.01)) return false;
  const char *metric = metric_words(writing, explained->metric),
             *unit = writing->r->study->metric[explained->metric].unit;
  const char *text = explained->below == explained->n
                         ? perp_pool_printf(
                               writing->pool,
                               "The %s does not distinguish the runs: all %d are below %s (%s).",
                               metric, explained->n,
                               answers_quantity(writing->pool, explained->floor, unit),
                               writing->a.floor_why)
                         : perp_pool_printf(writing->pool,
                                            "The %s is the same in all %d runs, within 1 %%.",
                                            metric, explained->n);
  findings_add(writing, rank, PERP_FOUND_SAME, text)->metric =
      writing->r->study->metric[explained->metric].name;
  return true;
}

/* ---- where the order changes ---- */

/* Two levels of a, of which one is best with one level of b, the other with another. */
struct turn {
  int a, b, first, second, at_first, at_second; /* factors, levels of a, levels of b */
  double by_first, by_second;                   /* decades */
};

static void turn_of(struct writing *writing, const answers_explained *explained, int factor, int b,
                    struct turn *most)
{
  const int na = explained->factor[factor].n, nb = explained->factor[b].n;
  const double sign = writing->r->study->metric[explained->metric].better > 0 ? -1 : 1;
  const double *mean = answers_pair_means(&writing->a, explained, factor, b);
  int *best = perp_pool_alloc(writing->pool, (size_t)nb, sizeof *best);
  for (int k = 0; k < nb; k++) {
    best[k] = -1;
    for (int i = 0; i < na; i++)
      if (!isnan(mean[i * nb + k]) &&
          (best[k] < 0 || sign * (mean[i * nb + k] - mean[best[k] * nb + k]) < 0))
        best[k] = i;
  }
  for (int k = 0; k < nb; k++)
    for (int l = 0; l < nb; l++) {
      const int i = best[k], j = best[l];
      if (i < 0 || j < 0 || i == j || isnan(mean[j * nb + k]) || isnan(mean[i * nb + l])) continue;
      const double first = sign * (mean[j * nb + k] - mean[i * nb + k]),
                   second = sign * (mean[i * nb + l] - mean[j * nb + l]);
      if (fmin(first, second) > fmin(most->by_first, most->by_second))
        *most = (struct turn){ factor, b, i, j, k, l, first, second };
    }
}

static void found_order(struct writing *writing, const answers_explained *explained)
{
  struct turn turn = { .by_first = turned, .by_second = turned, .first = -1 };
  for (int k = explained->n_main; k < explained->n_terms && turn.first < 0; k++) {
    const answers_term *term = &explained->term[k];
    if (!term->real || term->share < named) continue;
    if (explained->factor[term->a].method) turn_of(writing, explained, term->a, term->b, &turn);
    if (explained->factor[term->b].method) turn_of(writing, explained, term->b, term->a, &turn);
  }
  if (turn.first < 0) return;
  const answers_factor *a = &explained->factor[turn.a], *b = &explained->factor[turn.b];
  perp_finding *found = findings_add(
      writing, RANK_ORDER, PERP_FOUND_ORDER,
      perp_pool_printf(
          writing->pool,
          "Which %s is best depends on the %s: with %s it is %s, by a factor of %s "
          "before %s; with %s it is %s, by a factor of %s.",
          factor_words(writing, a), factor_words(writing, b),
          level_words(writing, b, turn.at_first), level_words(writing, a, turn.first),
          findings_times(writing, pow(10, turn.by_first)), level_words(writing, a, turn.second),
          level_words(writing, b, turn.at_second), level_words(writing, a, turn.second),
          findings_times(writing, pow(10, turn.by_second))));
  found->metric = writing->r->study->metric[explained->metric].name;
  found->factor = a->key.text;
  found->second = b->key.text;
}

/* ---- what failed ---- */

static bool failed(const perp_record *record)
{
  return record->status > PERP_CELL_FIXED_WORK && record->status != PERP_CELL_UNSUITED &&
         record->status != PERP_CELL_SKIPPED;
}

/* "20 of the 27 runs with baumgarte:alpha=2000": the level that has most of the failures. */
static const char *failures_at(struct writing *writing, const answers_explained *explained,
                               int failures)
{
  const answers_factor *factor = NULL;
  double best = 0;
  int level = 0, there = 0, bad = 0;
  for (int k = 0; k < explained->n_factors; k++)
    for (int g = 0; g < explained->factor[k].n; g++) {
      int n = 0, hit = 0;
      for (int i = 0; i < explained->n; i++) {
        if (explained->factor[k].of[i] != g) continue;
        n++;
        hit += failed(&writing->r->record[explained->cell[i]]);
      }
      const double cover = (double)hit / failures, rate = (double)hit / n;
      if (cover < 0.5 || rate < 2. * failures / explained->n || cover * rate <= best) continue;
      best = cover * rate;
      factor = &explained->factor[k];
      level = g;
      there = n;
      bad = hit;
    }
  if (factor == NULL) return "";
  if (bad == failures && bad == there)
    return perp_pool_printf(writing->pool, " These are all runs with %s.",
                            level_words(writing, factor, level));
  if (bad == there)
    return perp_pool_printf(writing->pool, " All %d runs with %s are among them.", there,
                            level_words(writing, factor, level));
  return perp_pool_printf(writing->pool, " %s of them are among the %d runs with %s.",
                          bad == failures ? "All" : perp_pool_printf(writing->pool, "%d", bad),
                          there, level_words(writing, factor, level));
}

static const char *const failure_words[PERP_CELL_STATUSES] = {
  [PERP_CELL_SEVERAL] = "with a motion that is one of several solutions",
  [PERP_CELL_UNSOLVED] = "left problems unsolved",
  [PERP_CELL_DIVERGED] = "diverged",
  [PERP_CELL_MAXITER] = "reached the limit of iterations",
  [PERP_CELL_TIMEOUT] = "reached the time limit",
  [PERP_CELL_OOM] = "ran out of memory",
  [PERP_CELL_CRASH] = "crashed",
  [PERP_CELL_SETUP_FAILED] = "could not be set up",
};

/* How far runs are off that reached their end and may not win, where that is much farther than
 * those that may. */
static const char *failures_far(struct writing *writing)
{
  const int m = perp_results_metric(writing->r, writing->r->study->metrics.primary);
  const perp_metric *metric = &writing->r->study->metric[m];
  double ranked = 0, most = 0;
  for (int cell = 0; cell < writing->r->plan.n && metric->better < 0; cell++) {
    const double v = fabs(perp_results_value(writing->r, cell, m));
    double *of = perp_results_wins(writing->r, cell) ? &ranked
                 : perp_cell_whole(writing->r->record[cell].status) &&
                         failed(&writing->r->record[cell])
                     ? &most
                     : NULL;
    if (of != NULL && isfinite(v)) *of = fmax(*of, v);
  }
  if (!(most > far_off * ranked)) return "";
  return perp_pool_printf(
      writing->pool, " There the %s reaches %s; of the ranked runs the largest is %s.",
      findings_metric(writing, metric->name), answers_quantity(writing->pool, most, metric->unit),
      answers_quantity(writing->pool, ranked, metric->unit));
}

static void found_failures(struct writing *writing)
{
  perp_results *results = writing->r;
  answers_explained explained = { 0 };
  int *cell = perp_pool_alloc(writing->pool, (size_t)results->plan.n + 1, sizeof *cell),
      failures = 0, count[PERP_CELL_STATUSES] = { 0 };
  perp_tally causes = { 0 };
  explained.cell = cell;
  for (int thing = 0; thing < results->plan.n; thing++) {
    const perp_record *record = &results->record[thing];
    if (record->status == PERP_CELL_PLANNED || record->status == PERP_CELL_SKIPPED ||
        record->status == PERP_CELL_UNSUITED)
      continue;
    cell[explained.n++] = thing;
    if (!failed(record)) continue;
    failures++;
    count[record->status]++;
    const char *cause = record->cause[0] != '\0' ? record->cause : record->reason;
    perp_tally_add(&causes, perp_tally_alike(writing->pool, cause), thing);
  }
  if (failures == 0) return;
  answers_factors(&writing->a, &explained);
  const char *kinds = "";
  int n = 0;
  for (int s = 0; s < PERP_CELL_STATUSES; s++) {
    if (count[s] == 0) continue;
    kinds = perp_pool_printf(writing->pool, "%s%s%d %s", kinds, n++ > 0 ? ", " : "", count[s],
                             s == PERP_CELL_UNSOLVED && !results->study->kind->runs
                                 ? "did not solve the problem"
                                 : failure_words[s]);
  }
  perp_tally_sort(&causes);
  const perp_record *first = &results->record[causes.count[0].first];
  const char *cause = first->cause[0] != '\0' ? first->cause : first->reason, *why = "";
  const size_t length = strlen(cause);
  if (length > 0 && strcmp(cause, perp_cell_status_names[first->status]) != 0)
    why = perp_pool_printf(writing->pool, " %s: %s%s",
                           causes.count[0].n == 1
                               ? "The reason of the first"
                               : perp_pool_printf(writing->pool,
                                                  "The most frequent reason (%d runs), for example",
                                                  causes.count[0].n),
                           cause, cause[length - 1] == '.' ? "" : ".");
  free(causes.count);
  findings_add(writing, failures > many_failures * explained.n ? RANK_MANY_FAILURES : RANK_FAILURES,
               PERP_FOUND_FAILURES,
               perp_pool_printf(writing->pool, "%d of %d runs %s not ranked: %s.%s%s%s", failures,
                                explained.n, failures == 1 ? "is" : "are", kinds,
                                failures < FEW ? "" : failures_at(writing, &explained, failures),
                                failures_far(writing), why));
}

/* ---- what cannot be decided ---- */

static void found_floor(struct writing *writing, const answers_explained *explained)
{
  if (explained->below < 2 || explained->below == explained->n) return;
  const perp_metric *metric = &writing->r->study->metric[explained->metric];
  findings_add(writing, RANK_FLOOR, PERP_FOUND_FLOOR,
               perp_pool_printf(
                   writing->pool, "In %d of %d runs the %s is below %s (%s): these runs are equal.",
                   explained->below, explained->n, findings_metric(writing, metric->name),
                   answers_quantity(writing->pool, explained->floor, metric->unit),
                   writing->a.floor_why))
      ->metric = metric->name;
}

/* ---- sentences of the study ---- */

static void found_stated(struct writing *writing)
{
  const perp_study *study = writing->r->study;
  const perp_scope scope = perp_results_scope(writing->ctx, writing->r, true);
  for (int finding = 0; finding < study->n_findings; finding++) {
    const perp_stated_finding *stated = &study->findings[finding];
    bool undecided = perp_expr_undecided(stated->expr, &scope);
    perp_text text = { 0 };
    const char *at = stated->text;
    char number[32];
    for (int k = 0; k < stated->n_figures; k++) {
      const char *open = strchr(at, '{');
      const perp_value value = perp_expr_eval(stated->figure[k], &scope, -1);
      undecided = undecided || isnan(perp_value_number(&value));
      const double figure = perp_value_number(&value);
      perp_text_add(&text, "%.*s", (int)(open - at), at);
      if (figure >= 1000 && figure < 1e6) /* "11100": three digits without an exponent */
        perp_text_add(&text, "%.0f", perp_real_of(perp_number(figure, number)));
      else
        perp_text_add(&text, "%s", perp_number(figure, number));
      at = strchr(open, '}') + 1;
    }
    perp_text_add(&text, "%s", at);
    const perp_verdict verdict = undecided                                  ? PERP_CLAIM_UNDECIDED
                                 : perp_expr_true(stated->expr, &scope, -1) ? PERP_CLAIM_PROVED
                                                                            : PERP_CLAIM_REFUTED;
    const char *said = perp_pool_printf(writing->pool, "%s%s",
                                        verdict == PERP_CLAIM_PROVED ? ""
                                        : verdict == PERP_CLAIM_REFUTED
                                            ? "These runs refute: "
                                            : "These runs do not decide: ",
                                        text.s);
    perp_text_free(&text);
    findings_add(writing, verdict == PERP_CLAIM_PROVED ? RANK_STATED : RANK_UNPROVED,
                 PERP_FOUND_STATED, said)
        ->verdict = perp_verdict_name(verdict);
  }
}

/* ---- all ---- */

static int finding_before(const void *x, const void *y)
{
  const perp_finding *a = x, *b = y;
  return a->rank != b->rank ? a->rank - b->rank : a->place - b->place;
}

/* The metric of time that is not the primary one: of a step, as steps differ. */
static int time_metric(const perp_results *results)
{
  const perp_study *study = results->study;
  const perp_metric *primary = perp_study_metric(study, study->metrics.primary);
  if (primary != NULL && primary->timing) return -1;
  const int step = perp_results_metric(results, "time.step_us");
  return step >= 0 ? step : perp_results_metric(results, "time.cpu");
}

/* What explains a metric; *factor out: the method that matters most, NULL: none does. */
static void found_explained(struct writing *writing, int metric, int rank,
                            const answers_factor **factor)
{
  answers_explained *explained = perp_pool_alloc(writing->pool, 1, sizeof *explained);
  if (metric < 0 || writing->r->study->metric[metric].better == 0) return;
  writing->a.least_floor = HUGE_VAL;
  writing->a.most_floor = 0;
  writing->a.floor_why = "";
  if (!answers_explain(&writing->a, metric, explained)) return;
  writing->shares[writing->n_shares++] = explained;
  writing->same = found_same(writing, explained, rank) && rank != RANK_TIME;
  if (writing->same || explained->decades <= log10(1.01)) return;
  found_factor(writing, explained, rank);
  if (rank == RANK_TIME) return;
  found_order(writing, explained);
  found_floor(writing, explained);
  for (int term = 0; term < explained->n_main && *factor == NULL; term++)
    if (explained->factor[explained->term[term].a].method && explained->term[term].real &&
        explained->term[term].share >= asked_for)
      *factor = &explained->factor[explained->term[term].a];
}

/* What was found, made once for all outputs of a command. */
static const struct writing *findings_made(const perp_ctx *ctx, perp_results *results)
{
  const answers_factor *factor = NULL, *none = NULL;
  if (results->findings != NULL) return results->findings;
  struct writing *writing = perp_pool_alloc(&results->pool, 1, sizeof *writing);
  *writing = (struct writing){ .ctx = ctx, .r = results, .pool = &results->pool };
  writing->a = (struct answering){ .ctx = ctx, .r = results, .metric = -1, .at = -1, .proxy = -1 };
  found_stated(writing);
  found_explained(writing, perp_results_metric(results, results->study->metrics.primary),
                  RANK_FACTOR, &factor);
  findings_answers(writing, factor);
  found_failures(writing);
  found_explained(writing, time_metric(results), RANK_TIME, &none);
  json_decref(writing->a.references);
  for (int place = 0; place < writing->n; place++) writing->list[place].place = place;
  if (writing->n > 0)
    qsort(writing->list, (size_t)writing->n, sizeof *writing->list, finding_before);
  for (int i = 0; i < writing->n && i < PERP_FINDINGS_LEAD; i++)
    writing->list[i].lead = writing->list[i].rank != RANK_UNPROVED;
  results->findings = writing;
  return writing;
}

int findings_shares(const perp_ctx *ctx, perp_results *results, answers_explained *shares[2])
{
  const struct writing *writing = findings_made(ctx, results);
  for (int share = 0; share < writing->n_shares; share++) shares[share] = writing->shares[share];
  return writing->n_shares;
}

int perp_results_findings(const perp_ctx *ctx, perp_results *results, const perp_finding **list)
{
  const struct writing *writing = findings_made(ctx, results);
  *list = writing->list;
  return writing->n;
}

/* ---- JSON ---- */

static void shares_json(const answers_explained *explained, const perp_study *study,
                        perp_json *json)
{
  perp_json_members(json, "{ metric %s, runs %d, floor %g, terms: [",
                    study->metric[explained->metric].name, explained->n, explained->floor);
  for (int k = 0; k < explained->n_terms; k++) {
    const answers_term *term = &explained->term[k];
    const answers_factor *a = &explained->factor[term->a],
                         *factor = term->b < 0 ? NULL : &explained->factor[term->b];
    const char *keys[] = { a->key.text, factor != NULL ? factor->key.text : "" };
    perp_json_open(json, NULL, '{');
    perp_json_texts(json, "keys", keys, factor != NULL ? 2 : 1);
    perp_json_members(json, "words %s, second %s, share %g, real? %d }", perp_words(keys[0]),
                      factor != NULL ? perp_words(keys[1]) : "", term->share, term->real);
  }
  perp_json_members(json, "] }");
}

void perp_findings_json(const perp_ctx *ctx, perp_results *results, perp_json *json)
{
  const struct writing *writing = findings_made(ctx, results);
  const perp_study *study = results->study;
  perp_json_open(json, "findings", '[');
  for (int i = 0; i < writing->n; i++) {
    const perp_finding *finding = &writing->list[i];
    perp_json_members(json, "{ text %s, kind %s, lead? %d, metric %s, factor %s, second %s, who %s",
                      finding->text, perp_found_names[finding->kind], finding->lead,
                      finding->metric, finding->factor, finding->second, finding->who);
    perp_json_members(json, "verdict %s, basis %s", finding->verdict, finding->basis);
    perp_json_real(json, "share", finding->share);
    perp_json_real(json, "effect", finding->effect);
    perp_json_close(json, '}');
  }
  perp_json_members(json, "] shares: [");
  for (int share = 0; share < writing->n_shares; share++)
    shares_json(writing->shares[share], study, json);
  perp_json_members(json, "] constant: [");
  for (int p = 0; p < study->n_params; p++) {
    const perp_param *param = &study->kind->params[p];
    const char *value = study->fixed[p] != NULL ? study->fixed[p]->text : "";
    if (value[0] == '\0' || param->hidden) continue;
    value = param->unit != NULL && param->unit[0] != '\0'
                ? perp_pool_printf(&results->pool, "%s %s", value, param->unit)
                : perp_words_choice(ctx, &results->pool, param->key,
                                    param->type == PERP_PARAM_PLUGIN, param->plugin, value);
    perp_json_members(json, "{ key %s, words %s, value %s }", param->key, perp_words(param->key),
                      value);
  }
  perp_json_close(json, ']');
}
