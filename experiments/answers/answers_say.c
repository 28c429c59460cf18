/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers in words. */
#include "experiments/answers/answers_parts.h"

#include "experiments/study/words.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char no_exponent[] =
    "No exponent can be fitted: no curve has three points above rounding errors.";

enum { FEW = 6, LINES = 3, NAMES = 3, MOST_NAMED = 4 };

/* ---- labels of comparisons ---- */

/* Is the key the same in all comparisons? */
static bool constant(struct answering *answers, const perp_study_key *key)
{
  const char *first = answers->n_facets > 0 ? answers_value(answers, key, answers->example[0]) : "";
  for (int facet = 1; facet < answers->n_facets; facet++)
    if (strcmp(first, answers_value(answers, key, answers->example[facet])) != 0) return false;
  return true;
}

/* The one option in which plug-ins of one name differ; NULL: several names, no such option or
 * several. */
static const char *differing_option(struct answering *answers, const perp_study_key *key)
{
  const perp_param *p = &answers->r->study->kind->params[key->param];
  perp_ctx quiet = *answers->ctx;
  perp_spec first;
  const char *option = NULL;
  int n = 0;
  if (p->type != PERP_PARAM_PLUGIN || key->option != NULL || answers->n_facets == 0) return NULL;
  const int param = key->param;
  if (perp_spec_parse(&quiet, p->plugin,
                      answers->r->plan.cells[answers->example[0]].value[param].text,
                      &first) != PERP_OK)
    return NULL;
  int options = 0;
  while (first.d->opts != NULL && first.d->opts[options].type != PERP_OPT_END) options++;
  bool *differs = perp_xalloc((size_t)options + 1, sizeof *differs), one_name = true;
  for (int f = 1; f < answers->n_facets && one_name; f++) {
    perp_spec spec;
    if (perp_spec_parse(&quiet, p->plugin,
                        answers->r->plan.cells[answers->example[f]].value[param].text,
                        &spec) != PERP_OK) {
      one_name = false;
      break;
    }
    one_name = spec.d == first.d;
    for (int k = 0; k < options && one_name; k++) {
      char text[64], other[64];
      const perp_opt *opt = &first.d->opts[k];
      if (differs[k]) continue;
      perp_opt_format(opt, first.opts, text, sizeof text);
      perp_opt_format(opt, spec.opts, other, sizeof other);
      differs[k] = strcmp(text, other) != 0;
    }
    perp_spec_free(&spec);
  }
  for (int k = 0; k < options && one_name; k++) {
    n += differs[k];
    if (differs[k]) option = first.d->opts[k].key;
  }
  free(differs);
  perp_spec_free(&first);
  return n == 1 ? option : NULL;
}

/* all: the keys that are the same in all comparisons, too */
static const char *apart_label(struct answering *answers, int cell, bool all)
{
  const char *label = "";
  for (int apart = 0; apart < answers->q.n_apart; apart++) {
    const char *text = answers_value(answers, &answers->q.apart[apart], cell);
    if (text[0] == '\0' || (!all && answers->key[apart].constant)) continue;
    label = perp_pool_printf(&answers->r->pool, "%s%s%s %s", label, label[0] ? ", " : "",
                             answers->q.apart[apart].text, text);
  }
  return label;
}

/* Without the keys that are the same everywhere. */
static const char *brief_label(struct answering *answers, int cell)
{
  const char *label = "";
  for (int apart = 0; apart < answers->q.n_apart; apart++) {
    const perp_study_key *key = &answers->q.apart[apart];
    const char *text = answers_value(answers, key, cell), *option = answers->key[apart].option;
    if (text[0] == '\0' || answers->key[apart].constant) continue;
    if (option != NULL) {
      char value[64];
      perp_option_text(answers->ctx, answers->r->study->kind->params[key->param].plugin,
                       answers->r->plan.cells[cell].value[key->param].text, option, value,
                       sizeof value, NULL);
      text = perp_pool_printf(&answers->r->pool, "%s=%s", option, value);
    }
    label = perp_pool_printf(&answers->r->pool, "%s%s%s", label, label[0] ? ", " : "", text);
  }
  return label;
}

/* The names of the best of a line, as they are written or in words: "post and split"; of many the
 * first. */
static const char *names_of(struct answering *answers, const perp_answer_line *line,
                            const char *const *name)
{
  const char *text = "";
  int k = 0;
  for (int entry = 0; entry < answers->a->n_who; entry++) {
    if (!line->entry[entry].best || k++ >= NAMES) continue;
    const bool last = k == line->n_best;
    text = perp_pool_printf(&answers->r->pool, "%s%s%s", text,
                            k == 1 ? ""
                            : last ? " and "
                                   : ", ",
                            k > 1 || name == answers->a->who ? name[entry]
                                                             : answers_first_words(answers, entry));
  }
  if (line->n_best > NAMES)
    text = perp_pool_printf(&answers->r->pool, "%s and %d others", text, line->n_best - NAMES);
  return text;
}

/* "3.1e-05 m" of the best, or what bounds it. */
static const char *value_text(struct answering *answers, const perp_answer_line *line)
{
  const char *unit = line->cost ? answers->a->cost_unit : answers->a->unit;
  for (int i = 0; i < answers->a->n_who; i++) {
    const perp_answer_entry *entry = &line->entry[i];
    if (!entry->best || !entry->floor) continue;
    return perp_pool_printf(&answers->r->pool, "below %s",
                            answers_quantity(&answers->r->pool,
                                             answers_floor(answers, answers->metric, entry->cell),
                                             unit));
  }
  return answers_quantity(&answers->r->pool, line->value, unit);
}

static const char *keys_text(struct answering *answers, const perp_study_key *keys, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++)
    text = perp_pool_printf(&answers->r->pool, "%s%s%s", text, k == 0 ? "" : ", ", keys[k].text);
  return text;
}

/* "integrator, formulation and scene": keys in words */
static const char *say_keys(struct answering *answers, const perp_study_key *keys, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++)
    text = perp_pool_printf(&answers->r->pool, "%s%s%s", text,
                            k == 0       ? ""
                            : k == n - 1 ? " and "
                                         : ", ",
                            answers_key_words(&answers->r->pool, keys[k].text));
  return text;
}

/* What competes: "integrator", "combination of integrator and stabilization" */
static const char *say_kind(struct answering *answers)
{
  const char *keys = say_keys(answers, answers->q.by, answers->q.n_by);
  return answers->q.n_by == 0   ? "competitor"
         : answers->q.n_by == 1 ? keys
                                : perp_pool_printf(&answers->r->pool, "combination of %s", keys);
}

/* "smallest error of the tip" */
static const char *say_best(struct answering *answers, int m)
{
  const perp_metric *metric = &answers->r->study->metric[m];
  return perp_pool_printf(&answers->r->pool, "%s %s", metric->better > 0 ? "largest" : "smallest",
                          perp_words_ranked(metric->name));
}

/* ---- sentences ---- */

static void add(struct answering *answers, const char **text, const char *more)
{
  *text = perp_pool_printf(&answers->r->pool, "%s%s%s", *text, (*text)[0] ? " " : "", more);
}

static const char *where_text(struct answering *answers, int i)
{
  const perp_answer_line *line = &answers->a->line[i];
  const int facet = answers->facet_of[i];
  const char *apart = facet < 0 ? "" : apart_label(answers, answers->example[facet], false);
  return line->words[0] == '\0' ? apart
         : apart[0] == '\0'     ? line->words
                                : perp_pool_printf(&answers->r->pool, "%s, %s", apart, line->words);
}

/* "0.2 m; next: none, factor 2.5": the best figure, and how far behind the next is. */
static const char *say_figures(struct answering *answers, const perp_answer_line *line)
{
  const char *text = value_text(answers, line);
  if (line->second[0] == '\0') return text;
  const double factor = line->cost || answers->r->study->metric[answers->metric].better < 0
                            ? line->next / line->value
                            : line->value / line->next;
  const bool tells = isfinite(factor) && factor > 1 && strncmp(text, "below", 5) != 0;
  char number[32];
  return tells ? perp_pool_printf(&answers->r->pool, "%s; next: %s, factor %s", text,
                                  answers_who_words(answers, line->second),
                                  perp_number(factor, number))
               : perp_pool_printf(&answers->r->pool, "%s; next: %s", text,
                                  answers_who_words(answers, line->second));
}

/* The answer where there is one comparison. */
static void say_one(struct answering *answers)
{
  const perp_answer_line *line = &answers->a->line[0];
  const char *best = say_best(answers, line->cost ? answers->at : answers->metric);
  const char *where = line->words[0] == '\0'
                          ? ""
                          : perp_pool_printf(&answers->r->pool, "With %s, ", line->words);
  if (answers->a->n_who < 2)
    answers->a->text = perp_pool_printf(
        &answers->r->pool, "%s %s is %s.",
        where[0] == '\0' ? "The" : perp_pool_printf(&answers->r->pool, "%sthe", where), best,
        value_text(answers, line));
  else
    answers->a->text = perp_pool_printf(&answers->r->pool, "%s%s %s the %s (%s).", where,
                                        names_of(answers, line, answers->a->words),
                                        line->n_best > 1 ? "tie for" : "gives", best,
                                        say_figures(answers, line));
}

/* How often each competitor is among the best, the most frequent first. */
struct tally {
  int who, n;
};
static int say_more(const void *a, const void *b)
{
  const struct tally *x = a, *y = b;
  return x->n != y->n ? y->n - x->n : x->who - y->who;
}

/* The comparisons in which nobody is better than another. */
static void say_undecided(struct answering *answers, int same, int alone)
{
  const char *text = answers->a->text, *more = text[0] != '\0' ? " more" : "";
  if (same > 0)
    add(answers, &answers->a->text,
        perp_pool_printf(&answers->r->pool, "In %d%s %s all competitors are equal.", same, more,
                         same == 1 ? "comparison" : "comparisons"));
  if (alone > 0)
    add(answers, &answers->a->text,
        perp_pool_printf(&answers->r->pool, "In %d%s %s all but one failed.", alone,
                         same > 0 ? " more" : more, alone == 1 ? "comparison" : "comparisons"));
}

static void say_many(struct answering *answers)
{
  perp_answer *answer = answers->a;
  struct tally *tally = perp_pool_alloc(&answers->r->pool, (size_t)answer->n_who, sizeof *tally);
  int n = 0, ties = 0, same = 0, alone = 0;
  for (int who = 0; who < answer->n_who; who++) tally[who].who = who;
  for (int line = 0; line < answer->n_lines; line++) {
    bool equal, sole;
    answers_line_decides(answer, &answer->line[line], &equal, &sole);
    same += equal;
    alone += sole && answer->n_who > 1;
    if ((equal || sole) && answer->n_who > 1) continue;
    n += answer->line[line].n_best > 0;
    ties += answer->line[line].n_best > 1;
    for (int entry = 0; entry < answer->n_who; entry++)
      tally[entry].n += answer->line[line].entry[entry].best;
  }
  qsort(tally, (size_t)answer->n_who, sizeof *tally, say_more);
  int all = 0;
  while (all < answer->n_who && tally[all].n == n) all++;
  const char *best = say_best(answers, answers->metric), *text = "";
  const char *in_all = n == 2 ? "both" : perp_pool_printf(&answers->r->pool, "all %d", n);
  if (n == 0) {
    say_undecided(answers, same, alone);
    return;
  }
  if (all == 0 && tally[0].n > 0)
    add(answers, &answer->text,
        perp_pool_printf(&answers->r->pool, "No single %s is best everywhere.", say_kind(answers)));
  if (answers->at >= 0)
    text = perp_pool_printf(&answers->r->pool, "At equal %s, ",
                            perp_words_ranked(answers->r->study->metric[answers->at].name));
  for (int k = 0; k < all && k < FEW; k++)
    text = perp_pool_printf(&answers->r->pool, "%s%s%s", text,
                            k == 0         ? ""
                            : k == all - 1 ? " and "
                                           : ", ",
                            k > 0 || text[0] != '\0' ? answer->words[tally[k].who]
                                                     : answers_first_words(answers, tally[k].who));
  if (all > FEW) text = perp_pool_printf(&answers->r->pool, "%s and %d others", text, all - FEW);
  if (answer->n_who < 2)
    text = perp_pool_printf(&answers->r->pool, "There is only one competitor in %s comparisons",
                            in_all);
  else if (all > 0)
    text = perp_pool_printf(&answers->r->pool, "%s %s the %s in %s comparisons", text,
                            all > 1 ? "tie for" : "gives", best, in_all);
  const bool begins = text[0] == '\0';
  for (int k = 0; all == 0 && k < answer->n_who && k < MOST_NAMED && tally[k].n > 0; k++)
    text = k == 0 ? perp_pool_printf(&answers->r->pool, "%s%s gives the %s in %d of %d comparisons",
                                     text,
                                     begins ? answers_first_words(answers, tally[k].who)
                                            : answer->words[tally[k].who],
                                     best, tally[k].n, n)
                  : perp_pool_printf(&answers->r->pool, "%s, %s in %d", text,
                                     answer->words[tally[k].who], tally[k].n);
  if (ties > 0 && all <= 1)
    text = perp_pool_printf(&answers->r->pool, "%s (%d %s, counted for each)", text, ties,
                            ties == 1 ? "tie" : "ties");
  add(answers, &answer->text, perp_pool_printf(&answers->r->pool, "%s.", text));
  if (same + alone > 0) say_undecided(answers, same, alone);
  for (int i = 0; i < answer->n_lines && answer->n_lines <= LINES; i++)
    add(answers, &answer->text,
        perp_pool_printf(&answers->r->pool, "With %s: %s (%s).", where_text(answers, i),
                         names_of(answers, &answer->line[i], answer->words),
                         say_figures(answers, &answer->line[i])));
}

static const char *share_text(struct answering *answers, const perp_answer_entry *entry)
{
  const int suited = entry->asked - entry->unsuited;
  const char *text = perp_pool_printf(&answers->r->pool, "%.0f of %d", entry->value, suited);
  if (entry->unsuited > 0)
    text = perp_pool_printf(&answers->r->pool, "%s; %d %s outside its domain", text,
                            entry->unsuited, entry->unsuited == 1 ? "is" : "are");
  if (entry->proved > 0)
    text = perp_pool_printf(&answers->r->pool, "%s; %d of these %s that no solution exists", text,
                            entry->proved, entry->proved == 1 ? "is a proof" : "are proofs");
  return text;
}

static void say_most(struct answering *answers)
{
  const perp_answer_line *all = &answers->a->line[0];
  const char *text = "", *whole = "";
  struct tally *tally = perp_pool_alloc(&answers->r->pool, (size_t)answers->a->n_who + 1,
                                        sizeof *tally);
  int k = 0, n = 0, first = -1;
  for (int i = 0; i < answers->a->n_who; i++) {
    const perp_answer_entry *entry = &all->entry[i];
    if (entry->best && first < 0) first = i;
    if (entry->cell < 0 || entry->best || entry->value == 0 ||
        entry->value < entry->asked - entry->unsuited)
      continue;
    tally[n++] = (struct tally){ i, (int)entry->value };
  }
  if (n > 0) qsort(tally, (size_t)n, sizeof *tally, say_more);
  for (int i = 0; i < n && i < NAMES; i++)
    whole = perp_pool_printf(&answers->r->pool, "%s%s%s (%d)", whole, i == 0 ? "" : ", ",
                             answers->a->words[tally[i].who], tally[i].n);
  if (first < 0) {
    answers->a->text = perp_pool_printf(&answers->r->pool, "No %s solves any problem.",
                                        say_kind(answers));
    return;
  }
  for (int who = 0; who < answers->a->n_who; who++)
    if (all->entry[who].best && k++ < NAMES)
      text = perp_pool_printf(&answers->r->pool, "%s%s%s", text,
                              k == 1             ? ""
                              : k == all->n_best ? " and "
                                                 : ", ",
                              k > 1 ? answers->a->words[who] : answers_first_words(answers, who));
  if (k > NAMES)
    text = perp_pool_printf(&answers->r->pool, "%s and %d other%s", text, k - NAMES,
                            k == NAMES + 1 ? "" : "s");
  const bool runs = answers->r->study->kind->runs;
  text = perp_pool_printf(&answers->r->pool, "%s %s %s (%s).", text, k == 1 ? "solves" : "solve",
                          runs ? "all contact problems in the largest number of runs"
                               : "the most problems",
                          k > 1 ? perp_pool_printf(&answers->r->pool, "%.0f each", all->value)
                                : share_text(answers, &all->entry[first]));
  if (all->second[0] != '\0')
    text = perp_pool_printf(&answers->r->pool, "%s Next is %s with %.0f.", text,
                            answers_who_words(answers, all->second), all->next);
  if (n > 0)
    text = perp_pool_printf(&answers->r->pool,
                            "%s Of those that suit fewer %s, these solve all: %s%s.", text,
                            runs ? "runs" : "problems", whole,
                            n > NAMES ? perp_pool_printf(&answers->r->pool, " and %d other%s",
                                                         n - NAMES, n == NAMES + 1 ? "" : "s")
                                      : "");
  answers->a->text = text;
}

/* Of each competitor the exponent, or its range over the comparisons. */
static void say_slopes(struct answering *answers)
{
  enum { MOST = 24 };
  const perp_answer *answer = answers->a;
  const char *text = "";
  int said = 0;
  for (int entry = 0; entry < answer->n_who; entry++) {
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    for (int line = 0; line < answer->n_lines; line++) {
      if (answer->line[line].entry[entry].cell < 0) continue;
      lo = fmin(lo, answer->line[line].entry[entry].value);
      hi = fmax(hi, answer->line[line].entry[entry].value);
    }
    if (hi < lo || said++ >= MOST) continue;
    const bool one = hi - lo < 0.05;
    const char *who = answer->n_who == 1
                          ? ""
                          : perp_pool_printf(&answers->r->pool, " for %s", answer->words[entry]);
    text = one ? perp_pool_printf(&answers->r->pool, "%s%s%.2f%s", text, said == 1 ? "" : ", ",
                                  (lo + hi) / 2, who)
               : perp_pool_printf(&answers->r->pool, "%s%s%.2f to %.2f%s", text,
                                  said == 1 ? "" : ", ", lo, hi, who);
  }
  if (said > MOST)
    text = perp_pool_printf(&answers->r->pool, "%s and %d others", text, said - MOST);
  answers->a->text = said == 0
                         ? no_exponent
                         : perp_pool_printf(
                               &answers->r->pool,
                               "The %s scales with a power of the %s; the exponent%s %s.",
                               perp_words(answers->q.metric),
                               answers_key_words(&answers->r->pool, answers->q.over_metric != NULL
                                                                        ? answers->q.over_metric
                                                                        : answers->q.over.text),
                               said == 1 && strstr(text, " to ") == NULL ? " is" : "s are", text);
}

/* ---- notes ---- */

/* The parameters that vary and are neither compared nor held apart: each competitor takes its best.
 */
static const char *free_ones(struct answering *answers)
{
  const char *text = "";
  const perp_study *study = answers->r->study;
  for (int param = 0; param < study->n_params; param++) {
    bool used = strcmp(study->kind->params[param].key, "seed") == 0, varies = false;
    const char *first = NULL;
    for (int k = 0; k < answers->q.n_by; k++) used = used || answers->q.by[k].param == param;
    for (int apart = 0; apart < answers->q.n_apart; apart++)
      used = used || answers->q.apart[apart].param == param;
    for (int cell = 0; cell < answers->r->plan.n && !varies; cell++) {
      const char *at = answers->r->plan.cells[cell].value[param].text;
      if (!answers->in[cell] || at[0] == '\0') continue;
      varies = first != NULL && strcmp(first, at) != 0;
      first = at;
    }
    if (!used && varies)
      text = perp_pool_printf(&answers->r->pool, "%s%s%s", text, text[0] ? ", " : "",
                              perp_words(study->kind->params[param].key));
  }
  return text;
}

static void say_notes(struct answering *answers)
{
  perp_answer *answer = answers->a;
  const perp_metric *table = answers->r->study->metric;
  if (answers->q.assumed)
    add(answers, &answer->note, "The study has no `answer`, so this question is assumed.");
  const char *open = free_ones(answers);
  if (answers->q.kind == PERP_ASK_BEST && open[0] != '\0')
    add(answers, &answer->note,
        perp_pool_printf(&answers->r->pool, "Each %s uses its best %s.", say_kind(answers), open));
  bool floor = false, timing = answers->metric >= 0 && table[answers->metric].timing;
  timing = answers->q.kind == PERP_ASK_BEST &&
           (timing || (answers->at >= 0 && table[answers->at].timing));
  for (int line = 0; line < answer->n_lines; line++)
    for (int entry = 0; entry < answer->n_who; entry++)
      floor = floor ||
              (answer->line[line].entry[entry].best && answer->line[line].entry[entry].floor);
  if (floor)
    add(answers, &answer->note,
        perp_pool_printf(
            &answers->r->pool, "Differences below %s%s%s are ignored (%s).",
            answers->least_floor < answers->most_floor
                ? answers_quantity(&answers->r->pool, answers->least_floor, answer->unit)
                : "",
            answers->least_floor < answers->most_floor ? " to " : "",
            answers_quantity(&answers->r->pool, answers->most_floor, answer->unit),
            answers->floor_why));
  if (timing)
    add(answers, &answer->note,
        "Times count as equal if they differ by less than 5 % (20 % if measured only once or "
        "twice), or by less than their scatter.");
  if (answers->left_out > 0)
    add(answers, &answer->note,
        perp_pool_printf(&answers->r->pool,
                         answers->left_out == 1
                             ? "%d comparison has only one competitor and is left out."
                             : "%d comparisons have only one competitor and are left out.",
                         answers->left_out));
}

/* What has been compared, after the answer. */
static const char *basis_text(struct answering *answers)
{
  perp_pool *pool = &answers->r->pool;
  const char *by = say_keys(answers, answers->q.by, answers->q.n_by),
             *apart = say_keys(answers, answers->q.apart, answers->q.n_apart);
  const char *text = "";
  if (answers->q.kind == PERP_ASK_SLOPE && (by[0] != '\0' || apart[0] != '\0'))
    text = perp_pool_printf(pool, "One exponent is fitted for each %s%s%s.", by,
                            by[0] != '\0' && apart[0] != '\0' ? ", and for each " : "", apart);
  else if (answers->q.kind != PERP_ASK_SLOPE && (by[0] != '\0' || apart[0] != '\0'))
    text = perp_pool_printf(pool, "Runs are %s%s%s%s%s.",
                            answers->q.kind == PERP_ASK_MOST ? "counted" : "compared",
                            by[0] != '\0' ? " by " : "", by,
                            apart[0] == '\0' ? ""
                            : by[0] != '\0'  ? ", separately for each "
                                             : " separately for each ",
                            apart);
  if (answers->q.kind == PERP_ASK_MOST && !answers->r->study->kind->runs)
    add(answers, &text, "A proof that no solution exists counts as solved.");
  if (answers->q.where_text != NULL)
    add(answers, &text,
        perp_pool_printf(pool, "Only runs with %s are included.", answers->q.where_text));
  const char *same = "";
  for (int k = 0; k < answers->q.n_apart && answers->n_facets > 1; k++) {
    const char *value = answers_value(answers, &answers->q.apart[k], answers->example[0]);
    if (answers->key[k].constant && value[0] != '\0')
      same = perp_pool_printf(pool, "%s%s%s %s", same, same[0] != '\0' ? ", " : "",
                              answers->q.apart[k].text, value);
  }
  if (same[0] != '\0')
    add(answers, &text, perp_pool_printf(pool, "All comparisons have %s.", same));
  return text;
}

/* ---- all ---- */

static const char *asked_text(struct answering *answers)
{
  const perp_study *study = answers->r->study;
  perp_answer *answer = answers->a;
  const char *text = "";
  if (answers->q.kind == PERP_ASK_BEST) {
    text = perp_pool_printf(&answers->r->pool, "%s %s",
                            study->metric[answers->metric].better > 0 ? "Largest" : "Smallest",
                            answers->q.metric);
    if (answers->at >= 0)
      text = perp_pool_printf(&answers->r->pool, "%s at equal %s", text, answers->q.at);
  } else if (answers->q.kind == PERP_ASK_MOST) {
    text = study->kind->runs ? "Most runs whose problems are all solved"
                             : "Most problems solved, or proved to have no solution";
  } else {
    text = perp_pool_printf(&answers->r->pool, "Exponent of %s over %s", answers->q.metric,
                            answers->q.over_metric != NULL ? answers->q.over_metric
                                                           : answers->q.over.text);
  }
  if (answer->by[0] != '\0')
    text = perp_pool_printf(&answers->r->pool, "%s, by %s", text, answer->by);
  if (answer->apart_by[0] != '\0')
    text = perp_pool_printf(&answers->r->pool, "%s, for each %s", text, answer->apart_by);
  if (answers->q.where_text != NULL)
    text = perp_pool_printf(&answers->r->pool, "%s, where %s", text, answers->q.where_text);
  return text;
}

void answers_say(struct answering *answers)
{
  perp_answer *answer = answers->a;
  if (answers->metric >= 0) answer->unit = answers->r->study->metric[answers->metric].unit;
  if (answers->q.kind != PERP_ASK_BEST) answer->unit = "";
  if (answers->at >= 0) answer->cost_unit = answers->r->study->metric[answers->at].unit;
  answer->by = keys_text(answers, answers->q.by, answers->q.n_by);
  answer->apart_by = keys_text(answers, answers->q.apart, answers->q.n_apart);
  answer->asked = asked_text(answers);
  answers->key = perp_pool_alloc(&answers->r->pool, (size_t)answers->q.n_apart + 1,
                                 sizeof *answers->key);
  for (int apart = 0; apart < answers->q.n_apart; apart++)
    answers->key[apart] = (struct answers_key){
      .constant = constant(answers, &answers->q.apart[apart]),
      .option = differing_option(answers, &answers->q.apart[apart])
    };
  answer->basis = basis_text(answers);
  for (int i = 0; i < answer->n_lines; i++) {
    perp_answer_line *line = &answer->line[i];
    if (answers->facet_of[i] >= 0) {
      line->apart = apart_label(answers, answers->example[answers->facet_of[i]], true);
      line->brief = brief_label(answers, answers->example[answers->facet_of[i]]);
    } else {
      line->brief = "all";
    }
    line->who = names_of(answers, line, answers->a->who);
  }
  if (answer->n_lines == 0)
    answer->text = answers->q.kind == PERP_ASK_SLOPE ? no_exponent
                   : answers->q.kind == PERP_ASK_BEST
                       ? "No two runs can be compared: too few of those that may win have a value."
                       : "There are no runs to count.";
  else if (answers->q.kind == PERP_ASK_MOST)
    say_most(answers);
  else if (answers->q.kind == PERP_ASK_SLOPE)
    say_slopes(answers);
  else if (answer->n_lines == 1)
    say_one(answers);
  else
    say_many(answers);
  if (answers->proxy >= 0) answers_say_proxy(answers);
  say_notes(answers);
}
