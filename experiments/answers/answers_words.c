/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Competitors and conditions in words, for sentences; tables have their tokens. */
#include "experiments/answers/answers_parts.h"

#include "experiments/base/numbers.h"
#include "experiments/study/words.h"

#include <math.h>
#include <string.h>

/* "a = 1": a key that says nothing without its name. */
static bool words_number(const perp_results *results, const perp_study_key *key)
{
  const perp_param *param = &results->study->kind->params[key->param];
  return (key->option != NULL && !key->without) || param->type == PERP_PARAM_REAL ||
         param->type == PERP_PARAM_INT;
}

const char *answers_with_article(perp_pool *pool, const char *words)
{
  static const char *const noun[] = {
    "level", "box", "cone", "complement", "matrix", "relaxation"
  };
  const size_t n = strcspn(words, "(") - (strchr(words, '(') != NULL); /* before " (options)" */
  for (size_t i = 0; i < sizeof noun / sizeof *noun; i++) {
    const size_t m = strlen(noun[i]);
    if (n > m && words[n - m - 1] == ' ' && strncmp(words + n - m, noun[i], m) == 0)
      return perp_pool_printf(pool, "the %s", words);
  }
  return words;
}

const char *answers_choice_words(const perp_ctx *ctx, perp_results *results,
                                 const perp_study_key *key, const char *text)
{
  const perp_param *param = &results->study->kind->params[key->param];
  if (text[0] == '\0') return text;
  if (key->option != NULL && !key->without)
    return perp_pool_printf(&results->pool, "%s = %s", perp_words(key->option), text);
  if (param->type == PERP_PARAM_REAL || param->type == PERP_PARAM_INT)
    return perp_pool_printf(&results->pool, "%s = %s", key->text, text);
  const char *words = perp_words_choice(ctx, &results->pool, param->key,
                                        param->type == PERP_PARAM_PLUGIN, param->plugin, text),
             *more = strstr(words, ", ");
  /* options stand in parentheses: in a list commas part names */
  return more == NULL
             ? words
             : perp_pool_printf(&results->pool, "%.*s (%s)", (int)(more - words), words, more + 2);
}

const char *answers_label_words(struct answering *answers, const perp_study_key *keys, int n,
                                int cell)
{
  const char *label = "";
  for (int k = 0; k < n; k++) {
    const char *value = answers_value(answers, &keys[k], cell);
    const char *text = answers_choice_words(answers->ctx, answers->r, &keys[k], value);
    if (n == 1)
      return words_number(answers->r, &keys[k]) && text[0] != '\0'
                 ? perp_pool_printf(&answers->r->pool, "runs with %s", text)
                 : answers_with_article(&answers->r->pool, text);
    if (text[0] != '\0')
      label = label[0] == '\0' ? text : perp_pool_printf(&answers->r->pool, "%s + %s", label, text);
  }
  return label;
}

const char *answers_first_words(struct answering *answers, int who)
{
  const char *words = answers->a->words[who];
  if (strcmp(words, answers->a->who[who]) == 0 || words[0] < 'a' || words[0] > 'z') return words;
  return perp_pool_printf(&answers->r->pool, "%c%s", words[0] - 'a' + 'A', words + 1);
}

const char *answers_who_words(struct answering *answers, const char *who)
{
  for (int k = 0; k < answers->a->n_who; k++)
    if (strcmp(answers->a->who[k], who) == 0) return answers->a->words[k];
  return who;
}

/* The keys that are not the same in all comparisons, in words: "RK4, h = 1 ms". */
static const char *words_apart(struct answering *answers, int cell)
{
  const char *label = "";
  for (int apart = 0; apart < answers->q.n_apart; apart++) {
    const perp_study_key *key = &answers->q.apart[apart];
    const char *text = answers_choice_words(answers->ctx, answers->r, key,
                                            answers_value(answers, key, cell));
    if (text[0] == '\0' || answers->key[apart].constant) continue;
    label = perp_pool_printf(&answers->r->pool, "%s%s%s", label, label[0] ? ", " : "", text);
  }
  return label;
}

/* Who would be chosen by another figure, and what that costs. */
void answers_say_proxy(struct answering *answers)
{
  perp_results *results = answers->r;
  int facets = 0, wrong = 0;
  double most = 0;
  int worst = -1;
  for (int facet = 0; facet < answers->n_facets; facet++) {
    int by = -1, best = -1;
    const int *cell, n = answers_cells(answers, facet, &cell);
    for (int k = 0; k < n; k++) {
      const int i = cell[k];
      if (!perp_results_wins(results, i)) continue;
      const double p = perp_results_value(results, i, answers->proxy),
                   v = perp_results_value(results, i, answers->metric);
      if (isnan(p) || isnan(v)) continue;
      if (by < 0 || p < perp_results_value(results, by, answers->proxy)) by = i;
      if (best < 0 || v < perp_results_value(results, best, answers->metric)) best = i;
    }
    if (best < 0) continue;
    facets++;
    /* of several that share the least, within what can be told, the one that is best by the metric
     */
    const double least = perp_results_value(results, by, answers->proxy) +
                         answers_floor(answers, answers->proxy, by);
    for (int k = 0; k < n; k++)
      if (perp_results_wins(results, cell[k]) &&
          perp_results_value(results, cell[k], answers->proxy) <= least &&
          perp_results_value(results, cell[k], answers->metric) <
              perp_results_value(results, by, answers->metric))
        by = cell[k];
    const double factor = perp_results_value(results, by, answers->metric) /
                          fmax(perp_results_value(results, best, answers->metric),
                               answers_floor(answers, answers->metric, best));
    wrong += factor > 1.01;
    if (factor > most) {
      most = factor;
      worst = by;
    }
  }
  char number[32];
  if (facets == 0) return;
  const char *proxy = perp_words_ranked(answers->q.proxy), *chosen = words_apart(answers, worst),
             *named = answers_label_words(answers, answers->q.by, answers->q.n_by, worst);
  if (wrong == 0)
    answers->a->proxy = perp_pool_printf(
        &results->pool, "The smallest %s gives the same winner in all %d comparisons.", proxy,
        facets);
  else
    answers->a->proxy = perp_pool_printf(
        &results->pool,
        "The smallest %s gives another winner in %d of %d comparisons. There the "
        "%s is up to %s times the smallest one (%s%s%s).",
        proxy, wrong, facets, perp_words_ranked(answers->q.metric), perp_number(most, number),
        named, named[0] != '\0' && chosen[0] != '\0' ? ", " : "", chosen);
  const char *text = answers->a->text;
  answers->a->text = perp_pool_printf(&results->pool, "%s%s%s", text, text[0] != '\0' ? " " : "",
                                      answers->a->proxy);
}

void answers_line_decides(const perp_answer *answer, const perp_answer_line *line, bool *equal,
                          bool *sole)
{
  int there = 0, beaten = 0;
  for (int entry = 0; entry < answer->n_who; entry++) {
    there += line->entry[entry].cell >= 0;
    beaten += strcmp(line->entry[entry].why, "over budget") == 0 ||
              strcmp(line->entry[entry].why, "not reached") == 0;
  }
  *equal = there > 1 && line->n_best == there;
  *sole = there == 1 && beaten == 0;
}
