/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers in words and as JSON. */
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
static bool constant(struct answering *w, const perp_study_key *key)
{
  const char *first = w->n_facets > 0 ? answers_value(w, key, w->example[0]) : "";
  for (int f = 1; f < w->n_facets; f++)
    if (strcmp(first, answers_value(w, key, w->example[f])) != 0) return false;
  return true;
}

/* The one option in which plug-ins of one name differ; NULL: several names, no such option or
 * several. */
static const char *differing_option(struct answering *w, const perp_study_key *key)
{
  const perp_param *p = &w->r->study->kind->params[key->param];
  perp_ctx quiet = *w->ctx;
  perp_spec first;
  const char *option = NULL;
  int n = 0;
  if (p->type != PERP_PARAM_PLUGIN || key->option != NULL || w->n_facets == 0) return NULL;
  const int param = key->param;
  if (perp_spec_parse(&quiet, p->plugin, w->r->plan.cells[w->example[0]].value[param].text,
                      &first) != PERP_OK)
    return NULL;
  int options = 0;
  while (first.d->opts != NULL && first.d->opts[options].type != PERP_OPT_END) options++;
  bool *differs = perp_xalloc((size_t)options + 1, sizeof *differs), one_name = true;
  for (int f = 1; f < w->n_facets && one_name; f++) {
    perp_spec spec;
    if (perp_spec_parse(&quiet, p->plugin, w->r->plan.cells[w->example[f]].value[param].text,
                        &spec) != PERP_OK) {
      one_name = false;
      break;
    }
    one_name = spec.d == first.d;
    for (int k = 0; k < options && one_name; k++) {
      char text[64], other[64];
      const perp_opt *o = &first.d->opts[k];
      if (differs[k]) continue;
      perp_opt_format(o, first.opts, text, sizeof text);
      perp_opt_format(o, spec.opts, other, sizeof other);
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
static const char *apart_label(struct answering *w, int cell, bool all)
{
  const char *label = "";
  for (int k = 0; k < w->q.n_apart; k++) {
    const char *text = answers_value(w, &w->q.apart[k], cell);
    if (text[0] == '\0' || (!all && w->key[k].constant)) continue;
    label = perp_pool_printf(&w->r->pool, "%s%s%s %s", label, label[0] ? ", " : "",
                             w->q.apart[k].text, text);
  }
  return label;
}

/* Without the keys that are the same everywhere. */
static const char *brief_label(struct answering *w, int cell)
{
  const char *label = "";
  for (int k = 0; k < w->q.n_apart; k++) {
    const perp_study_key *key = &w->q.apart[k];
    const char *text = answers_value(w, key, cell), *option = w->key[k].option;
    if (text[0] == '\0' || w->key[k].constant) continue;
    if (option != NULL) {
      char value[64];
      perp_option_text(w->ctx, w->r->study->kind->params[key->param].plugin,
                       w->r->plan.cells[cell].value[key->param].text, option, value, sizeof value,
                       NULL);
      text = perp_pool_printf(&w->r->pool, "%s=%s", option, value);
    }
    label = perp_pool_printf(&w->r->pool, "%s%s%s", label, label[0] ? ", " : "", text);
  }
  return label;
}

/* The names of the best of a line: "post and split"; of many the first. */
static const char *names_of(struct answering *w, const perp_answer_line *line)
{
  const char *text = "";
  int k = 0;
  for (int i = 0; i < w->a->n_who; i++) {
    if (!line->entry[i].best || k++ >= NAMES) continue;
    const bool last = k == line->n_best;
    text = perp_pool_printf(&w->r->pool, "%s%s%s", text,
                            k == 1 ? ""
                            : last ? " and "
                                   : ", ",
                            w->a->who[i]);
  }
  if (line->n_best > NAMES)
    text = perp_pool_printf(&w->r->pool, "%s and %d others", text, line->n_best - NAMES);
  return text;
}

/* "3.1e-05 m" of the best, or what bounds it. */
static const char *value_text(struct answering *w, const perp_answer_line *line)
{
  const char *unit = line->cost ? w->a->cost_unit : w->a->unit;
  for (int i = 0; i < w->a->n_who; i++) {
    const perp_answer_entry *e = &line->entry[i];
    if (!e->best || !e->floor) continue;
    return perp_pool_printf(
        &w->r->pool, "below %s",
        answers_quantity(&w->r->pool, answers_floor(w, w->metric, e->cell), unit));
  }
  return answers_quantity(&w->r->pool, line->value, unit);
}

static const char *keys_text(struct answering *w, const perp_study_key *keys, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++)
    text = perp_pool_printf(&w->r->pool, "%s%s%s", text, k == 0 ? "" : ", ", keys[k].text);
  return text;
}

/* "integrator, formulation and scene": keys in words */
static const char *say_keys(struct answering *w, const perp_study_key *keys, int n)
{
  const char *text = "";
  for (int k = 0; k < n; k++)
    text = perp_pool_printf(&w->r->pool, "%s%s%s", text,
                            k == 0       ? ""
                            : k == n - 1 ? " and "
                                         : ", ",
                            perp_words(keys[k].text));
  return text;
}

/* What competes: "integrator", "combination of integrator and stabilization" */
static const char *say_kind(struct answering *w)
{
  const char *keys = say_keys(w, w->q.by, w->q.n_by);
  return w->q.n_by == 0   ? "competitor"
         : w->q.n_by == 1 ? keys
                          : perp_pool_printf(&w->r->pool, "combination of %s", keys);
}

/* "smallest error of the tip" */
static const char *say_best(struct answering *w, int m)
{
  const perp_metric *metric = &w->r->study->metric[m];
  return perp_pool_printf(&w->r->pool, "%s %s", metric->better > 0 ? "largest" : "smallest",
                          perp_words_ranked(metric->name));
}

/* ---- sentences ---- */

static void add(struct answering *w, const char **text, const char *more)
{
  *text = perp_pool_printf(&w->r->pool, "%s%s%s", *text, (*text)[0] ? " " : "", more);
}

static const char *where_text(struct answering *w, int i)
{
  const perp_answer_line *line = &w->a->line[i];
  const int facet = w->facet_of[i];
  const char *apart = facet < 0 ? "" : apart_label(w, w->example[facet], false);
  return line->words[0] == '\0' ? apart
         : apart[0] == '\0'     ? line->words
                                : perp_pool_printf(&w->r->pool, "%s, %s", apart, line->words);
}

/* "0.2 m; next: none, factor 2.5": the best figure, and how far behind the next is. */
static const char *say_figures(struct answering *w, const perp_answer_line *line)
{
  const char *text = value_text(w, line);
  if (line->second[0] == '\0') return text;
  const double factor = line->cost || w->r->study->metric[w->metric].better < 0
                            ? line->next / line->value
                            : line->value / line->next;
  const bool tells = isfinite(factor) && factor > 1 && strncmp(text, "below", 5) != 0;
  char number[32];
  return tells ? perp_pool_printf(&w->r->pool, "%s; next: %s, factor %s", text, line->second,
                                  perp_number(factor, number))
               : perp_pool_printf(&w->r->pool, "%s; next: %s", text, line->second);
}

/* The answer where there is one comparison. */
static void say_one(struct answering *w)
{
  const perp_answer_line *line = &w->a->line[0];
  const char *best = say_best(w, line->cost ? w->at : w->metric);
  const char *where = line->words[0] == '\0'
                          ? ""
                          : perp_pool_printf(&w->r->pool, "With %s, ", line->words);
  if (w->a->n_who < 2)
    w->a->text = perp_pool_printf(&w->r->pool, "%s %s is %s.",
                                  where[0] == '\0' ? "The"
                                                   : perp_pool_printf(&w->r->pool, "%sthe", where),
                                  best, value_text(w, line));
  else
    w->a->text = perp_pool_printf(&w->r->pool, "%s%s %s the %s (%s).", where, line->who,
                                  line->n_best > 1 ? "tie for" : "gives", best,
                                  say_figures(w, line));
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

static void say_many(struct answering *w)
{
  perp_answer *a = w->a;
  struct tally *t = perp_pool_alloc(&w->r->pool, (size_t)a->n_who, sizeof *t);
  int n = 0, ties = 0;
  for (int k = 0; k < a->n_who; k++) t[k].who = k;
  for (int i = 0; i < a->n_lines; i++) {
    n += a->line[i].n_best > 0;
    ties += a->line[i].n_best > 1;
    for (int k = 0; k < a->n_who; k++) t[k].n += a->line[i].entry[k].best;
  }
  qsort(t, (size_t)a->n_who, sizeof *t, say_more);
  int all = 0;
  while (all < a->n_who && t[all].n == n) all++;
  const char *best = say_best(w, w->metric), *text = "";
  const char *in_all = n == 2 ? "both" : perp_pool_printf(&w->r->pool, "all %d", n);
  if (all == 0 && t[0].n > 0)
    add(w, &a->text, perp_pool_printf(&w->r->pool, "No %s wins everywhere.", say_kind(w)));
  if (w->at >= 0)
    text = perp_pool_printf(&w->r->pool, "At equal %s, ",
                            perp_words_ranked(w->r->study->metric[w->at].name));
  for (int k = 0; k < all && k < FEW; k++)
    text = perp_pool_printf(&w->r->pool, "%s%s%s", text,
                            k == 0         ? ""
                            : k == all - 1 ? " and "
                                           : ", ",
                            a->who[t[k].who]);
  if (all > FEW) text = perp_pool_printf(&w->r->pool, "%s and %d others", text, all - FEW);
  if (a->n_who < 2)
    text = perp_pool_printf(&w->r->pool, "There is only one competitor in %s comparisons", in_all);
  else if (all > 0)
    text = perp_pool_printf(&w->r->pool, "%s %s the %s in %s comparisons", text,
                            all > 1 ? "tie for" : "gives", best, in_all);
  for (int k = 0; all == 0 && k < a->n_who && k < MOST_NAMED && t[k].n > 0; k++)
    text = k == 0 ? perp_pool_printf(&w->r->pool, "%s%s gives the %s in %d of %d comparisons", text,
                                     a->who[t[k].who], best, t[k].n, n)
                  : perp_pool_printf(&w->r->pool, "%s, %s in %d", text, a->who[t[k].who], t[k].n);
  if (ties > 0 && all <= 1)
    text = perp_pool_printf(&w->r->pool, "%s (%d %s, counted for each)", text, ties,
                            ties == 1 ? "tie" : "ties");
  add(w, &a->text, perp_pool_printf(&w->r->pool, "%s.", text));
  for (int i = 0; i < a->n_lines && a->n_lines <= LINES; i++)
    add(w, &a->text,
        perp_pool_printf(&w->r->pool, "With %s: %s (%s).", where_text(w, i), a->line[i].who,
                         say_figures(w, &a->line[i])));
}

/* Who would be chosen by another figure, and what that costs. */
static void say_proxy(struct answering *w)
{
  perp_results *r = w->r;
  int facets = 0, wrong = 0;
  double most = 0;
  int worst = -1;
  for (int f = 0; f < w->n_facets; f++) {
    int by = -1, best = -1;
    const int *cell, n = answers_cells(w, f, &cell);
    for (int k = 0; k < n; k++) {
      const int i = cell[k];
      if (!perp_results_wins(r, i)) continue;
      const double p = perp_results_value(r, i, w->proxy), v = perp_results_value(r, i, w->metric);
      if (isnan(p) || isnan(v)) continue;
      if (by < 0 || p < perp_results_value(r, by, w->proxy)) by = i;
      if (best < 0 || v < perp_results_value(r, best, w->metric)) best = i;
    }
    if (best < 0) continue;
    facets++;
    /* of several that share the least, within what can be told, the one that is best by the metric
     */
    const double least = perp_results_value(r, by, w->proxy) + answers_floor(w, w->proxy, by);
    for (int k = 0; k < n; k++)
      if (perp_results_wins(r, cell[k]) && perp_results_value(r, cell[k], w->proxy) <= least &&
          perp_results_value(r, cell[k], w->metric) < perp_results_value(r, by, w->metric))
        by = cell[k];
    const double factor = perp_results_value(r, by, w->metric) /
                          fmax(perp_results_value(r, best, w->metric),
                               answers_floor(w, w->metric, best));
    wrong += factor > 1.01;
    if (factor > most) {
      most = factor;
      worst = by;
    }
  }
  char number[32];
  if (facets == 0) return;
  const char *proxy = perp_words_ranked(w->q.proxy), *chosen = apart_label(w, worst, false);
  if (wrong == 0)
    add(w, &w->a->text,
        perp_pool_printf(&r->pool, "The smallest %s gives the same winner in all %d comparisons.",
                         proxy, facets));
  else
    add(w, &w->a->text,
        perp_pool_printf(&r->pool,
                         "The smallest %s gives another winner in %d of %d comparisons. There the "
                         "%s is up to %s times the smallest one (%s%s%s).",
                         proxy, wrong, facets, perp_words_ranked(w->q.metric),
                         perp_number(most, number), answers_label(w, w->q.by, w->q.n_by, worst),
                         chosen[0] != '\0' ? ", " : "", chosen));
}

static const char *share_text(struct answering *w, const perp_answer_entry *e)
{
  const int suited = e->asked - e->unsuited;
  const char *text = perp_pool_printf(&w->r->pool, "%.0f of %d", e->value, suited);
  if (e->unsuited > 0)
    text = perp_pool_printf(&w->r->pool, "%s; %d are outside its domain", text, e->unsuited);
  if (e->proved > 0)
    text = perp_pool_printf(&w->r->pool, "%s; %d of these are proofs that no solution exists", text,
                            e->proved);
  return text;
}

static void say_most(struct answering *w)
{
  const perp_answer_line *all = &w->a->line[0];
  const char *text = "", *whole = "";
  struct tally *t = perp_pool_alloc(&w->r->pool, (size_t)w->a->n_who + 1, sizeof *t);
  int k = 0, n = 0, first = -1;
  for (int i = 0; i < w->a->n_who; i++) {
    const perp_answer_entry *e = &all->entry[i];
    if (e->best && first < 0) first = i;
    if (e->cell < 0 || e->best || e->value == 0 || e->value < e->asked - e->unsuited) continue;
    t[n++] = (struct tally){ i, (int)e->value };
  }
  if (n > 0) qsort(t, (size_t)n, sizeof *t, say_more);
  for (int i = 0; i < n && i < NAMES; i++)
    whole = perp_pool_printf(&w->r->pool, "%s%s%s (%d)", whole, i == 0 ? "" : ", ",
                             w->a->who[t[i].who], t[i].n);
  if (first < 0) {
    w->a->text = perp_pool_printf(&w->r->pool, "No %s solves any problem.", say_kind(w));
    return;
  }
  for (int i = 0; i < w->a->n_who; i++)
    if (all->entry[i].best && k++ < NAMES)
      text = perp_pool_printf(&w->r->pool, "%s%s%s", text,
                              k == 1             ? ""
                              : k == all->n_best ? " and "
                                                 : ", ",
                              w->a->who[i]);
  if (k > NAMES) text = perp_pool_printf(&w->r->pool, "%s and %d others", text, k - NAMES);
  const bool runs = w->r->study->kind->runs;
  text = perp_pool_printf(&w->r->pool, "%s %s %s (%s).", text, k == 1 ? "solves" : "solve",
                          runs ? "all contact problems in the largest number of runs"
                               : "the most problems",
                          k > 1 ? perp_pool_printf(&w->r->pool, "%.0f each", all->value)
                                : share_text(w, &all->entry[first]));
  if (all->second[0] != '\0')
    text = perp_pool_printf(&w->r->pool, "%s Next is %s with %.0f.", text, all->second, all->next);
  if (n > 0)
    text = perp_pool_printf(&w->r->pool, "%s Others accept fewer %s and solve all of them: %s%s.",
                            text, runs ? "runs" : "problems", whole,
                            n > NAMES ? perp_pool_printf(&w->r->pool, " and %d others", n - NAMES)
                                      : "");
  w->a->text = text;
}

/* Of each competitor the exponent, or its range over the comparisons. */
static void say_slopes(struct answering *w)
{
  enum { MOST = 24 };
  const perp_answer *a = w->a;
  const char *text = "";
  int said = 0;
  for (int k = 0; k < a->n_who; k++) {
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    for (int i = 0; i < a->n_lines; i++) {
      if (a->line[i].entry[k].cell < 0) continue;
      lo = fmin(lo, a->line[i].entry[k].value);
      hi = fmax(hi, a->line[i].entry[k].value);
    }
    if (hi < lo || said++ >= MOST) continue;
    const bool one = hi - lo < 0.05;
    text = one ? perp_pool_printf(&w->r->pool, "%s%s%s %.2f", text, said == 1 ? "" : ", ",
                                  a->who[k], (lo + hi) / 2)
               : perp_pool_printf(&w->r->pool, "%s%s%s %.2f to %.2f", text, said == 1 ? "" : ", ",
                                  a->who[k], lo, hi);
  }
  if (said > MOST) text = perp_pool_printf(&w->r->pool, "%s and %d others", text, said - MOST);
  w->a->text = said == 0
                   ? no_exponent
                   : perp_pool_printf(
                         &w->r->pool, "The %s scales with a power of the %s; the exponents are %s.",
                         perp_words(w->q.metric),
                         perp_words(w->q.over_metric != NULL ? w->q.over_metric : w->q.over.text),
                         text);
}

/* ---- notes ---- */

/* The parameters that vary and are neither compared nor held apart: each competitor takes its best.
 */
static const char *free_ones(struct answering *w)
{
  const char *text = "";
  const perp_study *s = w->r->study;
  for (int p = 0; p < s->n_params; p++) {
    bool used = strcmp(s->kind->params[p].key, "seed") == 0, varies = false;
    const char *first = NULL;
    for (int k = 0; k < w->q.n_by; k++) used = used || w->q.by[k].param == p;
    for (int k = 0; k < w->q.n_apart; k++) used = used || w->q.apart[k].param == p;
    for (int i = 0; i < w->r->plan.n && !varies; i++) {
      const char *v = w->r->plan.cells[i].value[p].text;
      if (!w->in[i] || v[0] == '\0') continue;
      varies = first != NULL && strcmp(first, v) != 0;
      first = v;
    }
    if (!used && varies)
      text = perp_pool_printf(&w->r->pool, "%s%s%s", text, text[0] ? ", " : "",
                              perp_words(s->kind->params[p].key));
  }
  return text;
}

static void say_notes(struct answering *w)
{
  perp_answer *a = w->a;
  const perp_metric *table = w->r->study->metric;
  if (w->q.assumed) add(w, &a->note, "The study has no `answer`, so this question is assumed.");
  const char *open = free_ones(w);
  if (w->q.kind == PERP_ASK_BEST && open[0] != '\0')
    add(w, &a->note, perp_pool_printf(&w->r->pool, "Each %s uses its best %s.", say_kind(w), open));
  bool floor = false, timing = w->metric >= 0 && table[w->metric].timing;
  timing = w->q.kind == PERP_ASK_BEST && (timing || (w->at >= 0 && table[w->at].timing));
  for (int i = 0; i < a->n_lines; i++)
    for (int k = 0; k < a->n_who; k++)
      floor = floor || (a->line[i].entry[k].best && a->line[i].entry[k].floor);
  char lo[32], hi[32];
  if (floor && w->references_used)
    add(w, &a->note,
        perp_pool_printf(&w->r->pool,
                         "Two independent references differ by %s%s%s; smaller differences are "
                         "ignored.",
                         perp_number(w->least_floor, lo),
                         w->most_floor > w->least_floor ? " to " : "",
                         w->most_floor > w->least_floor ? perp_number(w->most_floor, hi) : ""));
  else if (floor)
    add(w, &a->note,
        perp_pool_printf(&w->r->pool, "Differences below %s are ignored (%s).",
                         perp_number(w->most_floor, hi),
                         w->q.floor > 0 ? "floor of the study" : "rounding errors"));
  if (timing)
    add(w, &a->note,
        "Times count as equal if they differ by less than 5 % (20 % if measured only once or "
        "twice), or by less than their scatter.");
  if (w->left_out > 0)
    add(w, &a->note,
        perp_pool_printf(&w->r->pool,
                         w->left_out == 1
                             ? "%d comparison has only one competitor and is left out."
                             : "%d comparisons have only one competitor and are left out.",
                         w->left_out));
}

/* What has been compared, after the answer. */
static const char *basis_text(struct answering *w)
{
  perp_pool *pool = &w->r->pool;
  const char *by = say_keys(w, w->q.by, w->q.n_by), *apart = say_keys(w, w->q.apart, w->q.n_apart);
  const char *text = "";
  if (w->q.kind == PERP_ASK_SLOPE && (by[0] != '\0' || apart[0] != '\0'))
    text = perp_pool_printf(pool, "One exponent is fitted for each %s%s%s.", by,
                            by[0] != '\0' && apart[0] != '\0' ? ", and for each " : "", apart);
  else if (w->q.kind != PERP_ASK_SLOPE && (by[0] != '\0' || apart[0] != '\0'))
    text = perp_pool_printf(pool, "Runs are %s%s%s%s%s.",
                            w->q.kind == PERP_ASK_MOST ? "counted" : "compared",
                            by[0] != '\0' ? " by " : "", by,
                            apart[0] == '\0' ? ""
                            : by[0] != '\0'  ? ", separately for each "
                                             : " separately for each ",
                            apart);
  if (w->q.kind == PERP_ASK_MOST && !w->r->study->kind->runs)
    add(w, &text, "A proof that no solution exists counts as solved.");
  if (w->q.where_text != NULL)
    add(w, &text, perp_pool_printf(pool, "Only runs with %s are included.", w->q.where_text));
  return text;
}

/* ---- all ---- */

static const char *asked_text(struct answering *w)
{
  const perp_study *s = w->r->study;
  perp_answer *a = w->a;
  const char *text = "";
  if (w->q.kind == PERP_ASK_BEST) {
    text = perp_pool_printf(&w->r->pool, "%s %s",
                            s->metric[w->metric].better > 0 ? "Largest" : "Smallest", w->q.metric);
    if (w->at >= 0) text = perp_pool_printf(&w->r->pool, "%s at equal %s", text, w->q.at);
  } else if (w->q.kind == PERP_ASK_MOST) {
    text = s->kind->runs ? "Most runs whose problems are all solved"
                         : "Most problems solved, or proved to have no solution";
  } else {
    text = perp_pool_printf(&w->r->pool, "Exponent of %s over %s", w->q.metric,
                            w->q.over_metric != NULL ? w->q.over_metric : w->q.over.text);
  }
  if (a->by[0] != '\0') text = perp_pool_printf(&w->r->pool, "%s, by %s", text, a->by);
  if (a->apart_by[0] != '\0')
    text = perp_pool_printf(&w->r->pool, "%s, for each %s", text, a->apart_by);
  if (w->q.where_text != NULL)
    text = perp_pool_printf(&w->r->pool, "%s, where %s", text, w->q.where_text);
  return text;
}

void answers_say(struct answering *w)
{
  perp_answer *a = w->a;
  if (w->metric >= 0) a->unit = w->r->study->metric[w->metric].unit;
  if (w->q.kind != PERP_ASK_BEST) a->unit = "";
  if (w->at >= 0) a->cost_unit = w->r->study->metric[w->at].unit;
  a->by = keys_text(w, w->q.by, w->q.n_by);
  a->apart_by = keys_text(w, w->q.apart, w->q.n_apart);
  a->asked = asked_text(w);
  a->basis = basis_text(w);
    w->key = perp_pool_alloc(&w->r->pool, (size_t)w->q.n_apart + 1, sizeof *w->key);
  for (int k = 0; k < w->q.n_apart; k++)
    w->key[k] = (struct answers_key){ .constant = constant(w, &w->q.apart[k]),
                                      .option = differing_option(w, &w->q.apart[k]) };
  for (int i = 0; i < a->n_lines; i++) {
    perp_answer_line *line = &a->line[i];
    if (w->facet_of[i] >= 0) {
      line->apart = apart_label(w, w->example[w->facet_of[i]], true);
      line->brief = brief_label(w, w->example[w->facet_of[i]]);
    } else {
      line->brief = "all";
    }
    line->who = names_of(w, line);
  }
  if (a->n_lines == 0)
    a->text = w->q.kind == PERP_ASK_SLOPE ? no_exponent
              : w->q.kind == PERP_ASK_BEST
                  ? "No two runs can be compared: too few of those that may win have a value."
                  : "There are no runs to count.";
  else if (w->q.kind == PERP_ASK_MOST)
    say_most(w);
  else if (w->q.kind == PERP_ASK_SLOPE)
    say_slopes(w);
  else if (a->n_lines == 1)
    say_one(w);
  else
    say_many(w);
  if (w->proxy >= 0) say_proxy(w);
  say_notes(w);
}

const char *perp_results_left_out(perp_results *r)
{
  const perp_study *s = r->study;
  const int m = perp_results_metric(r, s->metrics.primary);
  int whole = 0, without = 0;
  perp_names scenes = { 0 };
  const int scene = perp_kind_param(s->kind, "scene");
  const char *names = "";
  for (int i = 0; i < r->plan.n; i++) {
    if (!perp_cell_whole(r->record[i].status)) continue;
    whole++;
    if (!isnan(perp_results_value(r, i, m))) continue;
    without++;
    const int known = scenes.n;
    if (scene >= 0 &&
        perp_names_index(&r->pool, &scenes, r->plan.cells[i].value[scene].text, -1) == known &&
        known < NAMES)
      names = perp_pool_printf(&r->pool, "%s%s%s", names, known == 0 ? ": " : ", ",
                               scenes.text[known]);
  }
  if (without == 0) return "";
  if (!s->kind->runs && scene < 0) names = ""; /* proofs have no residual */
  if (scenes.n > NAMES)
    names = perp_pool_printf(&r->pool, "%s and %d other scenes", names, scenes.n - NAMES);
  return perp_pool_printf(&r->pool, "%d of %d completed runs have no value of the %s%s.", without,
                          whole, perp_words(s->metrics.primary), names);
}

const char *perp_answer_entry_text(perp_pool *pool, const perp_answer *a,
                                   const perp_answer_entry *e)
{
  char number[32];
  if (e->cell < 0 && !isnan(e->stands))
    return perp_pool_printf(pool, "(%s)", perp_number(e->stands, number));
  if (e->cell < 0 || isnan(e->value)) return e->why[0] != '\0' ? e->why : "-";
  if (a->question->kind == PERP_ASK_MOST)
    return e->asked == e->unsuited
               ? "unsuited"
               : perp_pool_printf(pool, "%.0f/%d", e->value, e->asked - e->unsuited);
  if (a->question->kind == PERP_ASK_SLOPE) return perp_pool_printf(pool, "%.2f", e->value);
  return perp_pool_strdup(pool, perp_number(e->value, number));
}
