/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options are tried before they are said.  A round: the causes that the evidence shows, and a run
 * with each of their options.  Where one option makes the run one that does not fail, that is the
 * end; else the option that helps most stays in effect, and the run with it is examined in turn. */
#include "experiments/why/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double HALF = 0.5, HELPS = 0.75, /* of the severity: less is a part of a fix */
    LONGEST = 20, SHORTEST = 4, TIMES = 4;    /* s, of a trial without a limit of its own */
enum { ENOUGH = 2 };                          /* options that fix it: no further one is tried */

typedef struct trial_work {
  perp_ctx *ctx;
  const perp_why_limits *limits;
  perp_why_report *report;
  perp_scene scene; /* for the facts */
  const char *name; /* of its plug-in */
  perp_scene_facts facts;
  double until;
} trial_work;

/* ---- what a change of a method leaves without effect ---- */

static void trial_fit(const trial_work *work, const perp_why_subject *base, const char *options,
                      perp_why_subject *with)
{
  perp_parts parts = { 0 };
  perp_spec formulation = { 0 };
  char why[PERP_WHY_MAX];
  if (with->scene == NULL) return;
  for (int part = 0; part < PERP_PARTS; part++)
    if (with->part[part][0] != '\0' &&
        perp_spec_parse(work->ctx, perp_part_kind(part), with->part[part],
                        perp_part(&parts, part)) != PERP_OK)
      with->part[part][0] = '\0';
  const bool known = !work->facts.bodies ||
                     perp_parts_formulation(work->ctx, &parts, &formulation) == PERP_OK;
  for (int part = 0; part < PERP_PARTS && known; part++) {
    const bool own = strcmp(base->part[part], with->part[part]) == 0;
    if (own && with->part[part][0] != '\0' &&
        perp_part_unused(&work->facts, work->name, formulation.d, part, why) != NULL)
      with->part[part][0] = '\0';
  }
  (void)options;
  perp_spec_free(&formulation);
  perp_parts_free(&parts);
}

/* All methods that options do not name are left to their defaults. */
static bool trial_plain(const perp_why_subject *base, perp_why_subject *with)
{
  bool changed = false;
  for (int i = 0; i < PERP_PARTS; i++)
    if (with->part[i][0] != '\0' && strcmp(base->part[i], with->part[i]) == 0) {
      with->part[i][0] = '\0';
      changed = true;
    }
  return changed;
}

/* ---- one option ---- */

/* Logarithm of how far below their limits the figures end that failed before, against the cost. */
static double trial_rank(const perp_why_evidence *before, const perp_why_evidence *after)
{
  double margin = 0, n = 0;
  for (int figure = 0; figure < before->n_figures; figure++) {
    const perp_why_figure *why_figure = &before->figure[figure];
    if (!(why_figure->value > why_figure->limit) || why_figure->limit == 0) continue;
    for (int k = 0; k < after->n_figures; k++)
      if (strcmp(after->figure[k].name, why_figure->name) == 0) {
        margin += fmin(2, log10(why_figure->limit / fmax(after->figure[k].value, 1e-300)));
        n++;
      }
  }
  const double whole = before->cpu * (before->t > 0 ? before->t_end / before->t : 1);
  const double cost = log10(fmax(1e-3, after->cpu) / fmax(1e-3, whole));
  /* Another formulation is another experiment: an option of the same one is worth more. */
  const char *was = before->part[PERP_PART_FORMULATION], *is = after->part[PERP_PART_FORMULATION];
  const size_t length = strcspn(was, ":");
  const bool other = length != strcspn(is, ":") || strncmp(was, is, length) != 0;
  return (n > 0 ? margin / n : 1) - 0.5 * fmax(-1, fmin(2, cost)) - (other ? 0.5 : 0);
}

static double trial_limit(const trial_work *work, const perp_why_subject *with,
                          const perp_why_evidence *first)
{
  const double own = fmin(LONGEST, fmax(SHORTEST, TIMES * first->wall));
  return with->timeout > 0 ? with->timeout : fmin(own, fmax(1, work->until - perp_clock_wall()));
}

/* Both stopped, but the second one later and for another reason: another cause is next. */
static bool trial_further(const perp_why_evidence *a, const perp_why_evidence *b)
{
  return a->reason < 0 && b->reason < 0 && b->cut == PERP_CUT_NONE && a->reason != b->reason &&
         b->t > 2 * a->t && b->t > a->t + 5 * b->h;
}

/* NULL: it does not help, or is refused. */
static perp_why_fix *trial_run(trial_work *work, const perp_why_subject *base,
                               const perp_why_evidence *before, const char *options, int *tried)
{
  perp_why_subject plain;
  perp_why_fix *fix = perp_xalloc(1, sizeof *fix);
  fix->after = perp_xalloc(1, sizeof *fix->after);
  snprintf(fix->options, sizeof fix->options, "%s", options);
  perp_status status = perp_why_with(work->ctx, base, options, &fix->with);
  if (status == PERP_OK) {
    trial_fit(work, base, options, &fix->with);
    status = perp_why_run(work->ctx, &fix->with, work->limits, false,
                          trial_limit(work, &fix->with, before), fix->after);
    plain = fix->with;
    if (status == PERP_OK && fix->after->status != PERP_OK && fix->after->cut == PERP_CUT_NONE &&
        fix->with.problem == NULL && strstr(options, "--formulation") != NULL &&
        trial_plain(base, &plain)) {
      fix->with = plain;
      status = perp_why_run(work->ctx, &plain, work->limits, false,
                            trial_limit(work, &plain, before), fix->after);
    }
  }
  const bool ran = status == PERP_OK &&
                   (fix->after->status == PERP_OK || fix->after->cut != PERP_CUT_NONE);
  work->report->trials += ran;
  *tried += ran;
  fix->severity = ran ? perp_why_severity(fix->after) : HUGE_VAL;
  fix->whole = ran && perp_why_failures(fix->after) == 0;
  if (fix->whole || fix->severity <= HELPS * perp_why_severity(before) ||
      (ran && trial_further(before, fix->after)))
    return fix;
  free(fix->after);
  free(fix);
  return NULL;
}

static void trial_drop(perp_why_fix *fix)
{
  if (fix == NULL) return;
  free(fix->after);
  free(fix);
}

static bool trial_better(const perp_why_fix *a, const perp_why_fix *b,
                         const perp_why_evidence *before)
{
  if (a->whole != b->whole) return a->whole;
  if (!a->whole) return a->severity < b->severity;
  return trial_rank(before, a->after) > trial_rank(before, b->after);
}

/* Keep fix among those of the cause, the best one first. */
static void trial_keep(perp_why_cause *cause, perp_why_fix *fix, const perp_why_evidence *before)
{
  int at = cause->n_fixes;
  if (at == PERP_WHY_FIXES) {
    if (!trial_better(fix, cause->fix[at - 1], before)) {
      trial_drop(fix);
      return;
    }
    trial_drop(cause->fix[--at]);
  } else
    cause->n_fixes++;
  for (; at > 0 && trial_better(fix, cause->fix[at - 1], before); at--)
    cause->fix[at] = cause->fix[at - 1];
  cause->fix[at] = fix;
}

/* ---- a round ---- */

static void trial_cause(trial_work *work, const perp_why_subject *base,
                        const perp_why_evidence *before, perp_why_cause *cause)
{
  perp_pool pool = { 0 };
  perp_names options = { 0 };
  int whole = 0;
  cause->d->fixes(work->ctx, base, before, &options, &pool);
  for (int i = 0; i < options.n && whole < ENOUGH; i++) {
    if (perp_clock_wall() > work->until) {
      work->report->left += options.n - i;
      break;
    }
    perp_why_fix *fix = trial_run(work, base, before, options.text[i], &cause->tried);
    if (fix == NULL) continue;
    whole += fix->whole;
    trial_keep(cause, fix, before);
  }
  cause->rank = cause->n_fixes > 0 && cause->fix[0]->whole
                    ? trial_rank(before, cause->fix[0]->after)
                    : -HUGE_VAL;
  perp_pool_free(&pool);
}

static bool trial_whole(const perp_why_cause *cause)
{
  return cause->n_fixes > 0 && cause->fix[0]->whole;
}

/* The place of cause a before b. */
static bool trial_first(const perp_why_cause *a, const perp_why_cause *b)
{
  if (trial_whole(a) != trial_whole(b)) return trial_whole(a);
  if (trial_whole(a)) return a->rank > b->rank;
  if ((a->n_fixes > 0) != (b->n_fixes > 0)) return a->n_fixes > 0;
  return a->n_fixes > 0 && a->fix[0]->severity < b->fix[0]->severity;
}

static void trial_forget(perp_why_cause *cause)
{
  for (int fixe = 0; fixe < cause->n_fixes; fixe++) trial_drop(cause->fix[fixe]);
  cause->n_fixes = 0;
}

/* The causes of one round, at the end of the report; sorted.  Returns how many. */
static int trial_round(trial_work *work, int round, const perp_why_subject *base,
                       const perp_why_evidence *before)
{
  perp_why_report *report = work->report;
  perp_why_cause *list = report->cause + report->n_causes;
  int n = 0;
  for (int i = 0; perp_why_causes[i] != NULL; i++) {
    perp_text says = { 0 };
    if (!perp_why_causes[i]->holds(base, before, &says)) {
      perp_text_free(&says);
      continue;
    }
    perp_why_cause cause = { .d = perp_why_causes[i], .says = says.s, .round = round };
    trial_cause(work, base, before, &cause);
    int at = n++;
    for (; at > 0 && trial_first(&cause, &list[at - 1]); at--) list[at] = list[at - 1];
    list[at] = cause;
  }
  return n;
}

static void trial_rounds(trial_work *work, const perp_why_subject *subject)
{
  perp_why_report *report = work->report;
  perp_why_subject base = *subject;
  perp_why_evidence *before = perp_xalloc(1, sizeof *before);
  *before = *report->first;
  for (int round = 0; round < PERP_WHY_ROUNDS; round++) {
    perp_why_cause *list = report->cause + report->n_causes;
    const int n = trial_round(work, round, &base, before);
    int named = 0;
    while (named < n && trial_whole(&list[named])) named++;
    const bool whole = named > 0;
    /* Others whose options remove half of the failure and more. */
    while (whole && before->reason >= 0 && before->cut == PERP_CUT_NONE && named < n &&
           list[named].n_fixes > 0 &&
           list[named].fix[0]->severity <= HALF * perp_why_severity(before))
      named++;
    if (!whole && n > 0 && list[0].n_fixes > 0) named = 1;
    report->n_causes += n;
    report->n_named += named;
    if (named > 0) report->last = list[0].fix[0];
    report->fixed = whole;
    const bool on = !whole && named > 0 && perp_clock_wall() < work->until;
    if (!on) break;
    /* The others of this round come again where they still hold. */
    for (int i = 1; i < n; i++) {
      trial_forget(&list[i]);
      free(list[i].says);
    }
    report->n_causes -= n - 1;
    base = report->last->with;
    if (perp_why_run(work->ctx, &base, work->limits, true, trial_limit(work, &base, report->first),
                     before) != PERP_OK ||
        perp_why_failures(before) == 0)
      break;
  }
  for (int cause = report->n_named; cause < report->n_causes; cause++)
    trial_forget(&report->cause[cause]);
  /* A proof that there is no solution names the cause, whatever the options. */
  for (int i = report->n_named; i < report->n_causes && !report->fixed; i++)
    if (report->cause[i].d == perp_why_causes[0] && before->contact.infeasible > 0) {
      const perp_why_cause proved = report->cause[i];
      for (; i > report->n_named; i--) report->cause[i] = report->cause[i - 1];
      report->cause[report->n_named++] = proved;
      break;
    }
  free(before);
}

/* Does the last option alone do?  Then its cause comes first, and it needs those of earlier rounds
 * no more: they stay with the part that their own options fix. */
static void trial_alone(trial_work *work, const perp_why_subject *subject)
{
  perp_why_report *report = work->report;
  int tried = 0, last = 0;
  while (last < report->n_named &&
         (report->cause[last].n_fixes == 0 || report->cause[last].fix[0] != report->last))
    last++;
  if (!report->fixed || last == report->n_named || report->cause[last].round == 0) return;
  perp_why_fix *alone = trial_run(work, subject, report->first, report->last->options, &tried);
  if (alone == NULL || !alone->whole) {
    trial_drop(alone);
    return;
  }
  perp_why_cause first = report->cause[last];
  trial_forget(&first);
  first.round = 0;
  first.fix[0] = report->last = alone;
  first.n_fixes = 1;
  /* Of the others only those of the run as it is stay. */
  perp_why_cause kept[PERP_WHY_CAUSES * PERP_WHY_ROUNDS];
  int n = 0;
  kept[n++] = first;
  for (int cause = 0; cause < report->n_causes; cause++) {
    if (cause == last) continue;
    if (cause < report->n_named && report->cause[cause].round == 0 &&
        report->cause[cause].d != first.d) {
      kept[n++] = report->cause[cause];
      continue;
    }
    trial_forget(&report->cause[cause]);
    free(report->cause[cause].says);
  }
  memcpy(report->cause, kept, (size_t)n * sizeof *kept);
  report->n_named = report->n_causes = n;
}

perp_status perp_why(perp_ctx *ctx, const perp_why_subject *given, const perp_why_limits *limits,
                     double allowance, perp_why_report *report)
{
  perp_why_subject own = *given, *subject = &own;
  trial_work work = { .ctx = ctx, .limits = limits, .report = report };
  const double start = perp_clock_wall();
  *report = (perp_why_report){ .first = perp_xalloc(1, sizeof *report->first) };
  PERP_TRY(perp_why_run(ctx, subject, limits, true, allowance, report->first));
  perp_why_evidence *first = report->first;
  if (first->cut == PERP_CUT_TIME && !(own.timeout > 0)) own.timeout = allowance;
  if (first->cut == PERP_CUT_SIGNAL) return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "interrupted");
  if (first->status != PERP_OK && first->cut == PERP_CUT_NONE && subject->problem == NULL)
    return PERP_FAIL(ctx, first->status, "%s", first->message);
  report->failed = perp_why_failures(first) > 0;
  if (report->failed) {
    perp_spec spec = { 0 };
    if (subject->scene != NULL) {
      PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, subject->scene, &spec));
      work.name = spec.d->name;
      const perp_status made = perp_scene_create(ctx, &spec, &work.scene);
      perp_spec_free(&spec);
      PERP_TRY(made);
      perp_scene_look(&work.scene, &work.facts);
    }
    work.until = perp_clock_wall() + allowance;
    trial_rounds(&work, subject);
    trial_alone(&work, subject);
    perp_scene_destroy(&work.scene);
  }
  report->seconds = perp_clock_wall() - start;
  return PERP_OK;
}

void perp_why_free(perp_why_report *report)
{
  for (int cause = 0; cause < report->n_causes; cause++) {
    trial_forget(&report->cause[cause]);
    free(report->cause[cause].says);
  }
  free(report->first);
  *report = (perp_why_report){ 0 };
}
