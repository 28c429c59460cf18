/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings about competitors: who is best and by how much, and whether there was anybody else. */
#include "experiments/answers/findings_winner.h"

#include "experiments/results/symptoms.h"
#include "experiments/study/words.h"
#include "experiments/base/numbers.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { NAMED = 3 };
static const double telling = 1.05; /* a factor that is worth a word */

static const char *kind_words(struct writing *writing, const perp_answer *a)
{
  return strchr(a->by, ',') != NULL ? "combination"
         : a->by[0] == '\0'         ? "competitor"
                                    : answers_key_words(writing->pool, a->by);
}

static const char *who_words(struct writing *writing, const perp_answer *answer, int k)
{
  return strcmp(answer->who[k], "none") == 0 || strcmp(answer->who[k], "all") == 0
             ? strcmp(answer->by, "ode") == 0
                   ? "the formulation's own integrator"
                   : perp_pool_printf(writing->pool, "runs without %s", perp_words(answer->by))
             : answer->words[k];
}

/* ---- nobody to compare with ---- */

/* "ode (./perp setup ode), bullet (./perp setup bullet)": what this perp was built without. */
static const char *absent_words(struct writing *writing)
{
  static const char setup[] = "./perp setup ";
  perp_names parts = { 0 };
  const char *text = "";
  for (int record = 0; record < writing->r->plan.n; record++) {
    const char *at = strstr(writing->r->record[record].cause, setup);
    if (at == NULL) continue;
    const int known = parts.n;
    at += strlen(setup);
    perp_names_index(writing->pool, &parts,
                     perp_pool_strndup(writing->pool, at, strcspn(at, " ;,.")), -1);
    if (parts.n > known)
      text = perp_pool_printf(writing->pool, "%s%s%s", text, known > 0 ? ", " : "",
                              parts.text[known]);
  }
  return parts.n == 0
             ? ""
             : perp_pool_printf(writing->pool,
                                " Not installed: %s; `./perp setup NAME` installs one.", text);
}

/* The only competitor that has a figure anywhere; -1: several, or none. */
static int only_one(const perp_answer *a)
{
  int only = -1;
  for (int k = 0; k < a->n_who; k++) {
    if (!a->ran[k]) continue;
    if (only >= 0) return -1;
    only = k;
  }
  return only;
}

static bool found_alone(struct writing *writing, const perp_answer *answer)
{
  const int only = only_one(answer);
  if (only < 0 || answer->by[0] == '\0' || answer->question->kind == PERP_ASK_SLOPE) return false;
  const char *kind = kind_words(writing, answer),
             *name = strcmp(answer->who[only], "none") == 0 ? "none" : answer->words[only];
  for (int i = 0; i < writing->n; i++) /* several questions have the same competitors */
    if (writing->list[i].kind == PERP_FOUND_ALONE &&
        strcmp(writing->list[i].factor, answer->by) == 0)
      return true;
  const char *text =
      answer->n_who == 1
          ? perp_pool_printf(writing->pool,
                             "There is nobody to compare with: the only %s of the study is %s.",
                             kind, name)
          : perp_pool_printf(writing->pool,
                             "There is nobody to compare with: of %d %ss only %s has results.%s",
                             answer->n_who, kind, name, absent_words(writing));
  perp_finding *found = findings_add(writing, RANK_ALONE, PERP_FOUND_ALONE, text);
  found->factor = answer->by;
  found->who = answer->who[only];
  return true;
}

/* ---- who is best ---- */

/* How far apart figures are, over the comparisons of an answer. */
struct standing {
  int *best;        /* [n_who] in how many comparisons it is among the best */
  int *order;       /* [n_who] the most frequent first */
  int n, decided;   /* comparisons with a best; those that say something: */
  int equal;        /* all are equal */
  int sole;         /* all others failed */
  double *next;     /* [n_next] factors between order[0], where it is best alone, and the next */
  double *behind;   /* [n_who] median factor between the best and it, at equal cost; NaN */
  int n_next, last; /* who is farthest behind; -1 */
};

static double median(double *v, int n)
{
  if (n == 0) return (double)NAN;
  gsl_sort(v, 1, (size_t)n);
  return n % 2 == 1 ? v[n / 2] : sqrt(v[n / 2 - 1] * v[n / 2]);
}

/* How many times better the first figure is than the second, not below the floor of the line. */
static double times_better(const perp_answer_line *line, double best, double other, int better)
{
  const double a = fmax(fabs(best), line->floor), b = fmax(fabs(other), line->floor);
  const double factor = line->cost || better < 0 ? b / a : a / b;
  return isfinite(factor) && factor >= 1 ? factor : (double)NAN;
}

static void stand(struct writing *writing, const perp_answer *answer, struct standing *standing)
{
  const int better = perp_study_metric(writing->r->study, answer->question->metric)->better;
  const size_t lines = (size_t)answer->n_lines + 1, n = (size_t)answer->n_who + 1;
  double *times = perp_pool_alloc(writing->pool, lines, sizeof *times);
  *standing = (struct standing){
    .best = perp_pool_alloc(writing->pool, n, sizeof *standing->best),
    .order = perp_pool_alloc(writing->pool, n, sizeof *standing->order),
    .next = perp_pool_alloc(writing->pool, lines, sizeof *standing->next),
    .behind = perp_pool_alloc(writing->pool, n, sizeof *standing->behind),
    .last = -1
  };
  for (int i = 0; i < answer->n_lines; i++) {
    bool equal, sole;
    answers_line_decides(answer, &answer->line[i], &equal, &sole);
    standing->n += answer->line[i].n_best > 0;
    standing->equal += equal;
    standing->sole += sole;
    for (int entry = 0; entry < answer->n_who && !equal && !sole; entry++)
      standing->best[entry] += answer->line[i].entry[entry].best;
  }
  standing->decided = standing->n - standing->equal - standing->sole;
  for (int entry = 0; entry < answer->n_who; entry++) {
    int at = entry, count = 0;
    for (; at > 0 && standing->best[standing->order[at - 1]] < standing->best[entry]; at--)
      standing->order[at] = standing->order[at - 1];
    standing->order[at] = entry;
    for (int i = 0; i < answer->n_lines; i++) {
      const perp_answer_line *line = &answer->line[i];
      const double factor = line->cost || line->entry[entry].cell < 0
                                ? (double)NAN
                                : times_better(line, line->value, line->entry[entry].value, better);
      if (!isnan(factor)) times[count++] = factor;
    }
    standing->behind[entry] = median(times, count);
    if (!isnan(standing->behind[entry]) &&
        (standing->last < 0 || standing->behind[entry] > standing->behind[standing->last]))
      standing->last = entry;
  }
  for (int i = 0; i < answer->n_lines && answer->n_who > 0; i++) {
    const perp_answer_line *line = &answer->line[i];
    if (line->cost || line->n_best != 1 || !line->entry[standing->order[0]].best) continue;
    const double next = times_better(line, line->value, line->next, better);
    if (!isnan(next)) standing->next[standing->n_next++] = next;
  }
}

/* Who is next most often where the winner is alone. */
static const char *next_words(struct writing *writing, const perp_answer *answer, int winner)
{
  int most = -1, at = -1;
  for (int k = 0; k < answer->n_who; k++) {
    int n = 0;
    for (int line = 0; line < answer->n_lines; line++)
      n += answer->line[line].n_best == 1 && answer->line[line].entry[winner].best &&
           !answer->line[line].cost && strcmp(answer->line[line].second, answer->who[k]) == 0;
    if (n > most) {
      most = n;
      at = k;
    }
  }
  return most > 0 ? who_words(writing, answer, at) : "the next";
}

/* "in all 8 comparisons"; "" of one. */
static const char *in_all(struct writing *writing, int n)
{
  return n == 1 ? ""
                : perp_pool_printf(writing->pool,
                                   n == 2 ? " in both comparisons" : " in all %d comparisons", n);
}

/* The comparisons that decide nothing. */
static const char *rest_words(struct writing *writing, const struct standing *standing)
{
  const char *text = "";
  if (standing->equal > 0 && standing->decided > 0)
    text = perp_pool_printf(writing->pool, " In %d other%s all are equal.", standing->equal,
                            standing->equal == 1 ? "" : "s");
  if (standing->sole > 0)
    text = perp_pool_printf(writing->pool, "%s In %d%s all others failed.", text, standing->sole,
                            standing->decided + standing->equal > 0 ? " more" : "");
  return text;
}

static void found_winner(struct writing *writing, const perp_answer *a, int rank, const char *ask)
{
  const perp_metric *metric = perp_study_metric(writing->r->study, a->question->metric);
  const char *figure = findings_metric(writing, metric->name), *kind = kind_words(writing, a),
             *size = metric->better > 0 ? "largest" : "smallest",
             *less = metric->better > 0 ? "larger" : "smaller", *text, *at = "", *at_words = "";
  if (a->question->at != NULL) {
    at_words = perp_pool_printf(writing->pool, "At equal %s the",
                                perp_words_ranked(a->question->at));
    at = perp_pool_printf(writing->pool, "at equal %s ", perp_words_ranked(a->question->at));
  }
  struct standing standing;
  stand(writing, a, &standing);
  if (standing.n == 0) {
    findings_add(writing, RANK_FLOOR, PERP_FOUND_ANSWER,
                 perp_pool_printf(writing->pool, "%s%s%s", ask, ask[0] != '\0' ? " " : "", a->text))
        ->metric = metric->name;
    return;
  }
  const int first = standing.order[0], second = a->n_who > 1 ? standing.order[1] : -1;
  if (writing->noise && strcmp(metric->name, writing->r->study->metrics.primary) == 0 &&
      standing.best[first] < standing.decided)
    return; /* who is first in a part of them is chance as well */
  const double next = median(standing.next, standing.n_next);
  double effect = next;
  const char *last = standing.last < 0 || standing.last == first
                         ? ""
                         : who_words(writing, a, standing.last);
  if (standing.decided == 0) {
    text = perp_pool_printf(writing->pool, "No %s is better than another: %sthe %s is equal%s.",
                            kind, at, figure, in_all(writing, standing.equal));
  } else if (standing.best[first] == standing.decided && second >= 0 &&
             standing.best[second] == standing.decided) {
    const char *all = who_words(writing, a, first);
    int shared = 2;
    while (shared < a->n_who && standing.best[standing.order[shared]] == standing.decided) shared++;
    for (int k = 1; k < shared && k < NAMED; k++)
      all = perp_pool_printf(writing->pool, "%s%s%s", all, k + 1 == shared ? " and " : ", ",
                             who_words(writing, a, standing.order[k]));
    if (shared > NAMED)
      all = perp_pool_printf(writing->pool, "%s and %d other%s", all, shared - NAMED,
                             shared == NAMED + 1 ? "" : "s");
    text = perp_pool_printf(writing->pool, "%s %s %s is that of %s, which are equal%s.",
                            at[0] != '\0' ? at_words : "The", size, figure, all,
                            in_all(writing, standing.decided));
  } else if (standing.best[first] == standing.decided) {
    text = perp_pool_printf(writing->pool, "%s %s %s is that of %s%s",
                            at[0] != '\0' ? at_words : "The", size, figure,
                            who_words(writing, a, first), in_all(writing, standing.decided));
    const char *runner = next_words(writing, a, first);
    if (next > telling)
      text = perp_pool_printf(writing->pool, "%s, %s%s times %s than that of %s", text,
                              standing.decided > 1 ? "typically " : "",
                              findings_times(writing, next), less, runner);
    if (last[0] != '\0' && strcmp(last, runner) != 0 && standing.behind[standing.last] > 2 * next)
      text = perp_pool_printf(writing->pool, "%s and %s times %s than that of %s, the worst", text,
                              findings_times(writing, standing.behind[standing.last]), less, last);
    text = perp_pool_printf(writing->pool, "%s.", text);
  } else {
    text = perp_pool_printf(writing->pool,
                            "No single %s is best everywhere. %s %s %s is that of %s in %d of %d "
                            "comparisons",
                            kind, at[0] != '\0' ? at_words : "The", size, figure,
                            who_words(writing, a, first), standing.best[first], standing.decided);
    for (int k = 1; k < a->n_who && k < NAMED && standing.best[standing.order[k]] > 0; k++)
      text = perp_pool_printf(writing->pool, "%s, of %s in %d", text,
                              who_words(writing, a, standing.order[k]),
                              standing.best[standing.order[k]]);
    int counted = 0;
    for (int k = 0; k < a->n_who; k++) counted += standing.best[k];
    text = perp_pool_printf(writing->pool, "%s%s.", text,
                            counted > standing.decided ? " (ties count for each)" : "");
    effect = standing.last < 0 ? (double)NAN : standing.behind[standing.last];
    if (effect > telling)
      text = perp_pool_printf(
          writing->pool, "%s It is typically %s times %s than that of %s, the worst.", text,
          findings_times(writing, effect), less, who_words(writing, a, standing.last));
  }
  text = perp_pool_printf(writing->pool, "%s%s%s%s", ask, ask[0] != '\0' ? " " : "", text,
                          rest_words(writing, &standing));
  perp_finding *found = findings_add(writing, rank, PERP_FOUND_WINNER, text);
  if (standing.decided > 0) found->who = a->who[first];
  found->effect = effect;
  found->metric = metric->name;
  found->factor = a->by;
}

/* ---- questions ---- */

/* Who is best of the levels of a factor that no question compares, at equal cost where steps
 * vary. */
static void found_of_factor(struct writing *writing, const answers_factor *factor)
{
  perp_results *results = writing->r;
  const perp_study *study = results->study;
  perp_question *question = perp_pool_alloc(writing->pool, 1, sizeof *question);
  perp_study_key *by = perp_pool_alloc(writing->pool, 1, sizeof *by);
  perp_answer *answer = perp_pool_alloc(writing->pool, 1, sizeof *answer);
  *by = factor->key;
  by->option = NULL;
  by->without = false;
  *question = (perp_question){
    .kind = PERP_ASK_BEST, .ask = "", .metric = study->metrics.primary, .n_by = 1, .by = by
  };
  for (int i = 0; i < study->n_questions && question->at == NULL; i++)
    if (study->questions[i].metric != NULL &&
        strcmp(study->questions[i].metric, question->metric) == 0)
      question->at = study->questions[i].at;
  answers_ask(writing->ctx, results, question, answer);
  if (!found_alone(writing, answer)) found_winner(writing, answer, RANK_WINNER, "");
}

/* Is the key one of "ode, stab"? */
static bool has_key(const char *keys, const char *key)
{
  const size_t n = strlen(key);
  for (const char *at = keys; (at = strstr(at, key)) != NULL; at += n)
    if ((at == keys || at[-1] == ' ') && (at[n] == '\0' || at[n] == ',')) return true;
  return false;
}

/* "All 12 claims of the study are proved, among them: ...": the first ones by name. */
static const char *claims_words(struct writing *writing, const char *text)
{
  enum { FIRST = 2 };
  const perp_study *study = writing->r->study;
  const size_t n = strlen(text);
  if (strncmp(text, "All ", 4) != 0 || strchr(text, '.') != text + n - 1) return text;
  text = perp_pool_strndup(writing->pool, text, n - 1);
  for (int claim = 0; claim < study->n_claims && claim < FIRST; claim++)
    text = perp_pool_printf(writing->pool, "%s%s (%d) %s", text,
                            claim > 0                 ? ";"
                            : study->n_claims > FIRST ? ", among them:"
                                                      : ":",
                            claim + 1, study->claims[claim].text);
  return perp_pool_printf(writing->pool, "%s.", text);
}

/* Of the symptoms that a column could run: how many it shows, and their share. */
static double symptom_share(const struct writing *writing, const perp_symptom_entry *entry,
                            int column, int *shown, int *run)
{
  const perp_study *study = writing->r->study;
  *shown = *run = 0;
  for (int symptom = 0; symptom < study->n_symptoms; symptom++) {
    const perp_shown s = entry[symptom * study->n_symptom_columns + column].shown;
    *shown += s == PERP_SHOWN_YES || s == PERP_SHOWN_DEPENDS || s == PERP_SHOWN_FAILED;
    *run += s == PERP_SHOWN_YES || s == PERP_SHOWN_DEPENDS || s == PERP_SHOWN_FAILED ||
            s == PERP_SHOWN_NO;
  }
  return *run == 0 ? (double)NAN : (double)*shown / *run;
}

/* Of reported problems: how many occur with the first column, with the best and the worst one. */
static void found_symptoms(struct writing *writing)
{
  const perp_study *study = writing->r->study;
  if (study->n_symptoms == 0) return;
  const perp_symptom_entry *entry = perp_results_symptoms(writing->ctx, writing->r);
  int least = -1, most = -1, shown, run;
  double share[2] = { 2, -1 };
  for (int k = 0; k < study->n_symptom_columns; k++) {
    const double s = symptom_share(writing, entry, k, &shown, &run);
    if (run < study->n_symptoms / 2) continue; /* too few to compare */
    if (s < share[0]) {
      share[0] = s;
      least = k;
    }
    if (s > share[1]) {
      share[1] = s;
      most = k;
    }
  }
  if (least < 0 || least == most) return;
  const int column[] = { 0, least, most };
  const char *text = "Of the reported problems that could be run,";
  for (int k = 0; k < 3; k++) {
    if (k > 0 && column[k] == 0) continue;
    symptom_share(writing, entry, column[k], &shown, &run);
    text = perp_pool_printf(writing->pool, "%s%s %d of %d%s with %s%s", text, k > 0 ? ";" : "",
                            shown, run, k > 0 ? "" : " occur",
                            study->symptom_columns[column[k]].name,
                            column[k] == least  ? ", the smallest share"
                            : column[k] == most ? ", the largest share"
                                                : "");
  }
  findings_add(writing, RANK_COUNT, PERP_FOUND_ANSWER,
               perp_pool_printf(writing->pool, "%s.", text));
}

void findings_answers(struct writing *writing, const answers_factor *factor)
{
  found_symptoms(writing);
  const perp_answer *answer;
  const int n = perp_results_answers(writing->ctx, writing->r, &answer);
  bool compared = factor == NULL;
  for (int i = 0; i < n && !compared; i++)
    compared = answer[i].question->kind == PERP_ASK_BEST && has_key(answer[i].by, factor->key.text);
  if (!compared && !writing->same) found_of_factor(writing, factor);
  for (int i = 0; i < n; i++) {
    const perp_question *question = answer[i].question;
    const bool best = question->kind == PERP_ASK_BEST;
    const int rank = i > 0 ? RANK_ANSWER : best ? RANK_FIRST_ANSWER : RANK_COUNT;
    const char *ask = i > 0 ? question->ask : ""; /* the first is the question of the study */
    if (best && answer[i].proxy[0] == '\0') {
      const bool repeated = writing->same &&
                            strcmp(question->metric, writing->r->study->metrics.primary) == 0;
      if (!found_alone(writing, &answer[i]) && !repeated)
        found_winner(writing, &answer[i], rank, ask);
      continue;
    }
    const char *said = best                                ? answer[i].proxy
                       : question->kind == PERP_ASK_CLAIMS ? claims_words(writing, answer[i].text)
                                                           : answer[i].text;
    const bool none = question->kind == PERP_ASK_CLAIMS
                          ? writing->r->study->n_claims == 0 &&
                                writing->r->study->replicate.n_rows == 0
                          : answer[i].n_lines == 0;
    findings_add(writing, none ? RANK_FLOOR : rank, PERP_FOUND_ANSWER,
                 perp_pool_printf(writing->pool, "%s%s%s", ask, ask[0] != '\0' ? " " : "", said));
  }
}
