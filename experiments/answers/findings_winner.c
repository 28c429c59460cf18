/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings about competitors: who is best and by how much, and whether there was anybody else. */
#include "experiments/answers/findings_parts.h"

#include "experiments/study/words.h"
#include "experiments/base/numbers.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { NAMED = 3 };
static const double telling = 1.05; /* a factor that is worth a word */

const char *findings_who(struct writing *w, const char *who, const char *key)
{
  return strcmp(who, "none") == 0 ? perp_pool_printf(w->pool, "no %s", perp_words(key)) : who;
}

const char *findings_times(struct writing *w, double factor)
{
  if (factor >= 1000) return perp_pool_printf(w->pool, "10^%.0f", log10(factor));
  const double unit = factor < 10 ? 0.1 : factor < 100 ? 1 : 10;
  return perp_pool_printf(w->pool, "%.*f", factor < 10, unit * round(factor / unit));
}

const char *findings_capital(struct writing *w, const char *text)
{
  char *made = perp_pool_strdup(w->pool, text);
  if (made[0] >= 'a' && made[0] <= 'z') made[0] = (char)(made[0] - 'a' + 'A');
  return made;
}

static const char *kind_words(const perp_answer *a)
{
  return strchr(a->by, ',') != NULL ? "combination"
         : a->by[0] == '\0'         ? "competitor"
                                    : perp_words(a->by);
}

static const char *who_words(struct writing *w, const perp_answer *a, int k)
{
  return findings_who(w, a->who[k], a->by);
}

/* ---- nobody to compare with ---- */

/* "ode (./perp setup ode), bullet (./perp setup bullet)": what this perp was built without. */
static const char *absent_words(struct writing *w)
{
  static const char setup[] = "./perp setup ";
  perp_names parts = { 0 };
  const char *text = "";
  for (int i = 0; i < w->r->plan.n; i++) {
    const char *at = strstr(w->r->record[i].cause, setup);
    if (at == NULL) continue;
    const int known = parts.n;
    at += strlen(setup);
    perp_names_index(w->pool, &parts, perp_pool_strndup(w->pool, at, strcspn(at, " ;,.")), -1);
    if (parts.n > known)
      text = perp_pool_printf(w->pool, "%s%s%s", text, known > 0 ? ", " : "", parts.text[known]);
  }
  return parts.n == 0 ? ""
                      : perp_pool_printf(w->pool,
                                         " Not installed: %s; `./perp setup NAME` installs one.",
                                         text);
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

static bool found_alone(struct writing *w, const perp_answer *a)
{
  const int only = only_one(a);
  if (only < 0 || a->by[0] == '\0' || a->question->kind == PERP_ASK_SLOPE) return false;
  const char *kind = kind_words(a), *who = who_words(w, a, only);
  for (int i = 0; i < w->n; i++) /* several questions have the same competitors */
    if (w->list[i].kind == PERP_FOUND_ALONE && strcmp(w->list[i].factor, a->by) == 0) return true;
  const char *text =
      a->n_who == 1
          ? perp_pool_printf(w->pool,
                             "There is nobody to compare with: %s is the only %s of the study.",
                             who, kind)
          : perp_pool_printf(w->pool,
                             "There is nobody to compare with: of %d %ss only %s has results.%s",
                             a->n_who, kind, who, absent_words(w));
  perp_finding *found = findings_add(w, RANK_ALONE, PERP_FOUND_ALONE, text);
  found->factor = a->by;
  found->who = a->who[only];
  return true;
}

/* ---- who is best ---- */

/* How far apart figures are, over the comparisons of an answer. */
struct standing {
  int *best;            /* [n_who] in how many comparisons it is among the best */
  int *order, n;        /* [n_who] the most frequent first; comparisons with a best */
  int equal;            /* comparisons in which all are equal */
  double *next, *last;  /* [lines] factors of those won by order[0] alone, of figures at equal cost */
  int n_next, n_last;
  double *spread;       /* [lines] factor between the best and the worst */
  int n_spread;
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

static void stand(struct writing *w, const perp_answer *a, struct standing *s)
{
  const int better = perp_study_metric(w->r->study, a->question->metric)->better;
  const size_t lines = (size_t)a->n_lines + 1, n = (size_t)a->n_who + 1;
  *s = (struct standing){ .best = perp_pool_alloc(w->pool, n, sizeof *s->best),
                          .order = perp_pool_alloc(w->pool, n, sizeof *s->order),
                          .next = perp_pool_alloc(w->pool, lines, sizeof *s->next),
                          .last = perp_pool_alloc(w->pool, lines, sizeof *s->last),
                          .spread = perp_pool_alloc(w->pool, lines, sizeof *s->spread) };
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    int there = 0;
    for (int k = 0; k < a->n_who; k++) there += line->entry[k].cell >= 0;
    s->n += line->n_best > 0;
    s->equal += there > 1 && line->n_best == there;
    for (int k = 0; k < a->n_who; k++)
      s->best[k] += line->entry[k].best && !(there > 1 && line->n_best == there);
  }
  for (int k = 0; k < a->n_who; k++) {
    int at = k;
    for (; at > 0 && s->best[s->order[at - 1]] < s->best[k]; at--) s->order[at] = s->order[at - 1];
    s->order[at] = k;
  }
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    double last = (double)NAN;
    if (line->cost) continue;
    for (int k = 0; k < a->n_who; k++) {
      if (line->entry[k].cell < 0) continue;
      const double times = times_better(line, line->value, line->entry[k].value, better);
      if (!(times <= last)) last = times;
    }
    if (!isnan(last)) s->spread[s->n_spread++] = last;
    if (a->n_who == 0 || !line->entry[s->order[0]].best || line->n_best != 1) continue;
    const double next = times_better(line, line->value, line->next, better);
    if (!isnan(next)) s->next[s->n_next++] = next;
    if (!isnan(last)) s->last[s->n_last++] = last;
  }
}

/* Who is next most often where the winner is alone. */
static const char *next_words(struct writing *w, const perp_answer *a, int winner)
{
  int most = -1, at = -1;
  for (int k = 0; k < a->n_who; k++) {
    int n = 0;
    for (int i = 0; i < a->n_lines; i++)
      n += a->line[i].n_best == 1 && a->line[i].entry[winner].best && !a->line[i].cost &&
           strcmp(a->line[i].second, a->who[k]) == 0;
    if (n > most) {
      most = n;
      at = k;
    }
  }
  return most > 0 ? who_words(w, a, at) : "the next";
}

static void found_winner(struct writing *w, const perp_answer *a, int rank)
{
  const perp_metric *metric = perp_study_metric(w->r->study, a->question->metric);
  const char *figure = perp_words_ranked(metric->name), *kind = kind_words(a),
             *size = metric->better > 0 ? "largest" : "smallest",
             *smaller = metric->better > 0 ? "larger" : "smaller", *text;
  const char *at = a->question->at != NULL
                       ? perp_pool_printf(w->pool, "at equal %s ",
                                          perp_words_ranked(a->question->at))
                       : "";
  struct standing s;
  stand(w, a, &s);
  if (s.n == 0) {
    findings_add(w, RANK_FLOOR, PERP_FOUND_ANSWER, a->text)->metric = metric->name;
    return;
  }
  const int first = s.order[0], second = a->n_who > 1 ? s.order[1] : -1, decided = s.n - s.equal;
  const double next = median(s.next, s.n_next), last = median(s.last, s.n_last),
               spread = median(s.spread, s.n_spread);
  const char *ties = s.equal == 0 ? ""
                                  : perp_pool_printf(w->pool, " In %d other%s all are equal.",
                                                     s.equal, s.equal == 1 ? "" : "s");
  perp_finding *found;
  if (decided == 0) {
    text = perp_pool_printf(
        w->pool, "No %s is better than another: the %s %sis equal in %s.", kind, figure, at,
        s.n == 1 ? "the only comparison" : perp_pool_printf(w->pool, "all %d comparisons", s.n));
    found = findings_add(w, rank, PERP_FOUND_WINNER, text);
  } else if (s.best[first] == decided && (second < 0 || s.best[second] < decided)) {
    text = perp_pool_printf(w->pool, "%s%s the %s %s%s", findings_capital(w, at),
                            perp_pool_printf(w->pool, "%s has", who_words(w, a, first)), size,
                            figure,
                            decided == 1 ? ""
                                         : perp_pool_printf(w->pool, " in all %d comparisons",
                                                            decided));
    if (next > telling)
      text = perp_pool_printf(w->pool, "%s, %s%s times %s than %s", text,
                              decided > 1 ? "typically " : "", findings_times(w, next), smaller,
                              next_words(w, a, first));
    if (last > 2 * next)
      text = perp_pool_printf(w->pool, "%s and %s times %s than the last", text,
                              findings_times(w, last), smaller);
    text = perp_pool_printf(w->pool, "%s.%s", text, ties);
    found = findings_add(w, rank, PERP_FOUND_WINNER, text);
    found->who = a->who[first];
    found->effect = next;
  } else {
    text = perp_pool_printf(w->pool, "No %s wins everywhere: %s%s has the %s %s in %d of %d "
                                     "comparisons",
                            kind, at, who_words(w, a, first), size, figure, s.best[first], decided);
    for (int k = 1; k < a->n_who && k < NAMED && s.best[s.order[k]] > 0; k++)
      text = perp_pool_printf(w->pool, "%s, %s in %d", text, who_words(w, a, s.order[k]),
                              s.best[s.order[k]]);
    text = perp_pool_printf(w->pool, "%s.", text);
    if (spread > telling)
      text = perp_pool_printf(w->pool, "%s The best and the worst differ by a factor of %s%s.",
                              text, findings_times(w, spread),
                              s.n_spread > 1 ? " in the median" : "");
    text = perp_pool_printf(w->pool, "%s%s", text, ties);
    found = findings_add(w, rank, PERP_FOUND_WINNER, text);
    found->who = a->who[first];
    found->effect = spread;
  }
  found->metric = metric->name;
  found->factor = a->by;
}

/* ---- questions ---- */

/* Who is best of the levels of a factor that no question compares, at equal cost where steps
 * vary. */
static void found_of_factor(struct writing *w, const answers_factor *factor)
{
  perp_results *r = w->r;
  const perp_study *study = r->study;
  perp_question *question = perp_pool_alloc(w->pool, 1, sizeof *question);
  perp_study_key *by = perp_pool_alloc(w->pool, 1, sizeof *by);
  perp_answer *answer = perp_pool_alloc(w->pool, 1, sizeof *answer);
  *by = factor->key;
  by->option = NULL;
  by->without = false;
  *question = (perp_question){ .kind = PERP_ASK_BEST,
                               .ask = "",
                               .metric = study->metrics.primary,
                               .n_by = 1,
                               .by = by };
  for (int i = 0; i < study->n_questions && question->at == NULL; i++)
    if (study->questions[i].metric != NULL &&
        strcmp(study->questions[i].metric, question->metric) == 0)
      question->at = study->questions[i].at;
  answers_ask(w->ctx, r, question, answer);
  if (!found_alone(w, answer)) found_winner(w, answer, RANK_WINNER);
}

/* Is the key one of "ode, stab"? */
static bool has_key(const char *keys, const char *key)
{
  const size_t n = strlen(key);
  for (const char *at = keys; (at = strstr(at, key)) != NULL; at += n)
    if ((at == keys || at[-1] == ' ') && (at[n] == '\0' || at[n] == ',')) return true;
  return false;
}

void findings_answers(struct writing *w, const answers_factor *factor)
{
  const perp_answer *answer;
  const int n = perp_results_answers(w->ctx, w->r, &answer);
  bool compared = factor == NULL;
  for (int i = 0; i < n && !compared; i++)
    compared = answer[i].question->kind == PERP_ASK_BEST &&
               has_key(answer[i].by, factor->key.text);
  if (!compared) found_of_factor(w, factor);
  for (int i = 0; i < n; i++) {
    const int rank = i == 0 && compared ? RANK_WINNER : RANK_ANSWER;
    if (answer[i].question->kind == PERP_ASK_BEST) {
      if (!found_alone(w, &answer[i])) found_winner(w, &answer[i], rank);
    } else {
      findings_add(w, i == 0 ? RANK_COUNT : RANK_ANSWER, PERP_FOUND_ANSWER, answer[i].text);
    }
  }
}
