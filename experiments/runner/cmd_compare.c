/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp compare: two runs of one study, before and after a change.
 *
 * Status and results are deterministic: any difference is real, and one that is worse by more than a tolerance is a
 * regression.  Times are not: they are compared for each value of each axis ("lcp = pgs"), where many cells
 * speak together, and for single cells with enough rounds. */
#include "experiments/runner/command.h"
#include "experiments/runner/robust.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double significance = 0.001; /* of the rank test */
static const double rounding = 1e-12;     /* results below it are rounding of zero */

enum { TIME, ACCURACY, STATUS, CLASSES };
static const char *const class_names[] = { "time", "accuracy", "status" };

struct compare {
  perp_ctx *ctx;
  perp_results base, now;
  int n, *a, *b; /* [n] cells that both have: index in base, in now */
  double time_tol, accuracy_tol;
  bool fails[CLASSES];
  int regressions[CLASSES], improvements;
  int rounds[2], noisy[2]; /* of the cells whose times are compared: in the base, now */
  bool json;
  perp_json j;
};

static void finding(struct compare *c, int class, bool worse, const char *where, const char *what,
                    double before, double after)
{
  if (worse)
    c->regressions[class]++;
  else
    c->improvements++;
  if (c->json) {
    perp_json_open(&c->j, NULL, '{');
    perp_json_text(&c->j, "class", class_names[class]);
    perp_json_bool(&c->j, "worse", worse);
    perp_json_text(&c->j, "where", where);
    perp_json_text(&c->j, "what", what);
    perp_json_real(&c->j, "before", before);
    perp_json_real(&c->j, "after", after);
    perp_json_close(&c->j, '}');
    return;
  }
  enum { MOST = 20 };
  int shown = worse ? c->regressions[class] : c->improvements;
  if (shown > MOST) return;
  printf("%s %s  %s: %s%s\n", worse ? "WORSE " : "better", class_names[class], where, what,
         shown == MOST ? " (further ones are not listed; --json has all)" : "");
}

/* ---- cells -------------------------------------------------------------------------------------------------- */

static void match_cells(struct compare *c, int *only_base, int *only_now)
{
  c->a = perp_xalloc((size_t)c->base.plan.n + 1, sizeof *c->a);
  c->b = perp_xalloc((size_t)c->base.plan.n + 1, sizeof *c->b);
  int in_both = 0;
  for (int i = 0; i < c->base.plan.n; i++) {
    if (c->base.record[i].attempt == 0) continue;
    int k = perp_plan_find(&c->now.plan, c->base.plan.cells[i].id);
    if (k < 0 || c->now.record[k].attempt == 0) {
      ++*only_base;
      continue;
    }
    c->a[in_both] = i;
    c->b[in_both++] = k;
  }
  c->n = in_both;
  *only_now = -in_both;
  for (int k = 0; k < c->now.plan.n; k++) *only_now += c->now.record[k].attempt > 0;
}

static char *name_of(const struct compare *c, int k)
{
  perp_text t = { 0 };
  perp_text_add(&t, "%.8s ", c->base.plan.cells[c->a[k]].id);
  perp_cell_label(c->base.study, &c->base.plan.cells[c->a[k]], &t);
  return t.s;
}

static void compare_status(struct compare *c)
{
  for (int k = 0; k < c->n; k++) {
    perp_cell_status before = c->base.record[c->a[k]].status, after = c->now.record[c->b[k]].status;
    if (before == after || (before != PERP_CELL_OK && after != PERP_CELL_OK)) continue;
    char what[128], *name = name_of(c, k);
    snprintf(what, sizeof what, "%s, was %s", perp_cell_status_names[after],
             perp_cell_status_names[before]);
    finding(c, STATUS, before == PERP_CELL_OK, name, what, before, after);
    free(name);
  }
}

/* Counts of work (steps, pivots) are whole numbers: one more or less of a few is no finding. */
static bool count_noise(double before, double after)
{
  return before == rint(before) && after == rint(after) && fabs(after - before) <= 1;
}

static int compare_results(struct compare *c)
{
  const perp_study *s = c->base.study;
  int changed = 0;
  for (int k = 0; k < c->n; k++) {
    const perp_record *x = &c->base.record[c->a[k]], *y = &c->now.record[c->b[k]];
    bool differs = false;
    if (x->status != PERP_CELL_OK || y->status != PERP_CELL_OK) continue;
    for (int m = 0; m < s->n_metrics; m++) {
      const perp_metric *metric = &s->metric[m];
      int other = perp_results_metric(&c->now, metric->name);
      if (metric->timing || other < 0) continue;
      double before = x->value[m], after = y->value[other];
      if (before == after || (isnan(before) && isnan(after))) continue;
      differs = true;
      if (metric->better == 0) continue;
      /* the change in the direction that is worse, relative to before */
      double worse = metric->better < 0 ? after - before : before - after, size = fabs(before);
      bool lost = isfinite(before) && !isfinite(after), won = !isfinite(before) && isfinite(after);
      if (!lost && !won &&
          (fmax(fabs(before), fabs(after)) < rounding || count_noise(before, after) ||
           !(fabs(worse) > c->accuracy_tol * size)))
        continue;
      char what[160], *name = name_of(c, k);
      snprintf(what, sizeof what, "%s %.4g, was %.4g (%+.1f %%)", metric->name, after, before,
               100 * (after - before) / size);
      finding(c, ACCURACY, lost || (!won && worse > 0), name, what, before, after);
      free(name);
    }
    changed += differs;
  }
  return changed;
}

/* ---- times ----------------------------------------------------------------------------------------------------- */

/* The time that cells are compared by: that of a step, else that of the whole. */
static int time_metric(const perp_results *r)
{
  static const char *const names[] = { "time.step_us", "time.cpu" };
  for (int k = 0; k < 2; k++) {
    int m = perp_results_metric(r, names[k]);
    for (int i = 0; m >= 0 && i < r->plan.n; i++)
      if (r->record[i].rounds > 0 && r->record[i].round[m] != NULL &&
          isfinite(r->record[i].round[m][0]))
        return m;
  }
  return -1;
}

/* The finite, positive rounds of a cell. */
static int rounds_of(const perp_record *rec, int m, double *out)
{
  int n = 0;
  for (int k = 0; k < rec->rounds && rec->round[m] != NULL; k++)
    if (isfinite(rec->round[m][k]) && rec->round[m][k] > 0) out[n++] = rec->round[m][k];
  return n;
}

static void judge_times(struct compare *c, const char *where, const char *metric,
                        const perp_pair *pair, int pairs)
{
  perp_shift s;
  if (pairs == 0 || perp_shift_of(c->ctx, pair, pairs, 1, &s) != PERP_OK) return;
  bool slower = s.ratio > 1 + c->time_tol && s.lo > 1 + c->time_tol / 2 &&
                s.p_slower < significance;
  bool faster = s.ratio < 1 / (1 + c->time_tol) && s.hi < 1 / (1 + c->time_tol / 2) &&
                s.p_faster < significance;
  if (!slower && !faster) return;
  char what[160];
  snprintf(what, sizeof what, "%s %.2f times %s (99 %% interval %.2f ... %.2f, %d cell%s)", metric,
           slower ? s.ratio : 1 / s.ratio, slower ? "slower" : "faster", slower ? s.lo : 1 / s.hi,
           slower ? s.hi : 1 / s.lo, pairs, pairs == 1 ? "" : "s");
  finding(c, TIME, slower, where, what, 1, s.ratio);
}

/* Fills pairs [n] (n: cells with rounds in both), and which cell each is; one block of numbers to free. */
static double *gather(struct compare *c, int m, int m_now, perp_pair *pair, int *cell, int *n)
{
  size_t room = 1;
  for (int k = 0; k < c->n; k++)
    room += (size_t)(c->base.record[c->a[k]].rounds + c->now.record[c->b[k]].rounds);
  double *block = perp_xalloc(room, sizeof *block), *next = block;
  *n = 0;
  for (int k = 0; k < c->n; k++) {
    const perp_record *x = &c->base.record[c->a[k]], *y = &c->now.record[c->b[k]];
    if (x->status != PERP_CELL_OK || y->status != PERP_CELL_OK || x->rounds == 0 || y->rounds == 0)
      continue;
    c->rounds[0] += x->rounds, c->noisy[0] += x->noisy;
    c->rounds[1] += y->rounds, c->noisy[1] += y->noisy;
    perp_pair p = { .base = next };
    next += p.n = rounds_of(x, m, next);
    p.now = next;
    next += p.m = rounds_of(y, m_now, next);
    if (p.n == 0 || p.m == 0) continue;
    cell[*n] = k;
    pair[(*n)++] = p;
  }
  return block;
}

/* With most rounds of a run noisy the clock runs at the pace of a machine that has other work: up to 40 % of difference between
 * two runs of one build were measured so.  The pace is common to all cells: only what changed against it says
 * something about a solver. */
static bool busy(const struct compare *c)
{
  return 2 * c->noisy[0] > c->rounds[0] || 2 * c->noisy[1] > c->rounds[1];
}

static double compare_times(struct compare *c)
{
  const perp_study *s = c->base.study;
  int m = time_metric(&c->base),
      m_now = m >= 0 ? perp_results_metric(&c->now, s->metric[m].name) : -1, n;
  if (m < 0 || m_now < 0) return (double)NAN;
  perp_pair *pair = perp_xalloc((size_t)c->n + 1, sizeof *pair),
            *group = perp_xalloc((size_t)c->n + 1, sizeof *group);
  int *cell = perp_xalloc((size_t)c->n + 1, sizeof *cell);
  double *block = gather(c, m, m_now, pair, cell, &n), overall = (double)NAN;
  const char *name = s->metric[m].name;
  perp_shift all;
  if (n > 0 && perp_shift_of(c->ctx, pair, n, 1, &all) == PERP_OK) overall = all.ratio;
  if (!busy(c)) judge_times(c, "all cells", name, pair, n);
  for (int k = 0; busy(c) && isfinite(overall) && k < n; k++)
    for (int i = 0; i < pair[k].m; i++) block[pair[k].now - block + i] /= overall;
  for (int a = 0; a < s->n_axes; a++)
    for (int v = 0; v < s->axes[a].n; v++) {
      int p = s->axes[a].param, members = 0;
      for (int k = 0; k < n; k++)
        if (strcmp(c->base.plan.cells[c->a[cell[k]]].value[p], s->axes[a].value[v]) == 0)
          group[members++] = pair[k];
      char where[256];
      snprintf(where, sizeof where, "%s = %s", s->kind->params[p].key, s->axes[a].value[v]);
      if (members > 1 && members < n) judge_times(c, where, name, group, members);
    }
  for (int k = 0; k < n; k++) { /* one cell alone: the rank test asks for six rounds or so */
    char *where = name_of(c, cell[k]);
    judge_times(c, where, name, &pair[k], 1);
    free(where);
  }
  free(block);
  free(cell);
  free(group);
  free(pair);
  return overall;
}

/* The processor that made a run; "" when unknown. */
static char *processor(const perp_results *r)
{
  char *path = r->n_envs > 0 ? perp_xprintf("%s/env/%s.json", r->envs[0].dir, r->envs[0].id) : NULL;
  json_t *env = path != NULL ? json_load_file(path, 0, NULL) : NULL;
  const char *cpu = json_string_value(json_object_get(env, "cpu"));
  char *copy = perp_xstrdup(cpu != NULL ? cpu : "");
  json_decref(env);
  free(path);
  return copy;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int read_classes(const perp_args *args, struct compare *c)
{
  const char *list = perp_args_get(args, "fail-on");
  for (int k = 0; k < CLASSES; k++) c->fails[k] = list == NULL;
  while (list != NULL && *list != '\0') {
    char word[32];
    size_t n = strcspn(list, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, list);
    int k = 0;
    while (k < CLASSES && strcmp(class_names[k], word) != 0) k++;
    if (k == CLASSES) {
      const char *close = perp_closest(word, class_names, CLASSES);
      return perp_usage_error(args, "--fail-on: unknown class '%s'%s%s%s", word,
                              close != NULL ? "; did you mean '" : "", close != NULL ? close : "",
                              close != NULL ? "'?" : " (time, accuracy, status)");
    }
    c->fails[k] = true;
    list += n + (list[n] == ',');
  }
  return -1;
}

/* "10%" or "0.1" */
static int read_tolerance(const perp_args *args, const char *flag, double *tol)
{
  const char *text = perp_args_get(args, flag);
  if (text == NULL) return -1;
  char *end;
  double v = strtod(text, &end);
  if (*end == '%') v /= 100, end++;
  if (end == text || *end != '\0' || !(v >= 0) || !isfinite(v))
    return perp_usage_error(args, "--%s must be a number or a percentage: got '%s'", flag, text);
  *tol = v;
  return -1;
}

static int run_compare(struct compare *c)
{
  int only_base = 0, only_now = 0;
  match_cells(c, &only_base, &only_now);
  if (c->n == 0) {
    perp_say("error: %s and %s have no finished cell in common", c->base.dir, c->now.dir);
    return PERP_EXIT_NOTHING;
  }
  char *cpu[2] = { processor(&c->base), processor(&c->now) };
  bool same_cpu = strcmp(cpu[0], cpu[1]) == 0;
  if (c->json) {
    perp_json_open(&c->j, NULL, '{');
    perp_json_int(&c->j, "cells", c->n);
    perp_json_int(&c->j, "only_base", only_base);
    perp_json_int(&c->j, "only_new", only_now);
    perp_json_bool(&c->j, "same_processor", same_cpu);
    perp_json_open(&c->j, "findings", '[');
  } else {
    printf("%s: %d cells in both", c->base.study->name, c->n);
    if (only_base > 0) printf(", %d in %s alone", only_base, c->base.dir);
    if (only_now > 0) printf(", %d in %s alone", only_now, c->now.dir);
    printf("\n");
  }
  compare_status(c);
  int changed = compare_results(c);
  double ratio = same_cpu ? compare_times(c) : (double)NAN;
  bool failed = false;
  for (int k = 0; k < CLASSES; k++) failed = failed || (c->fails[k] && c->regressions[k] > 0);
  if (c->json) {
    perp_json_close(&c->j, ']');
    perp_json_int(&c->j, "changed", changed);
    perp_json_real(&c->j, "time_ratio", ratio);
    perp_json_bool(&c->j, "busy_machine", busy(c));
    perp_json_open(&c->j, "regressions", '{');
    for (int k = 0; k < CLASSES; k++) perp_json_int(&c->j, class_names[k], c->regressions[k]);
    perp_json_close(&c->j, '}');
    perp_json_bool(&c->j, "regressed", failed);
    perp_json_close(&c->j, '}');
  } else {
    printf("results: %d of %d cells differ in some figure\n", changed, c->n);
    if (!same_cpu)
      printf("times: not compared, the processors differ (%s; %s)\n", cpu[0], cpu[1]);
    else if (isnan(ratio))
      printf("times: not compared, there are no timing rounds in both\n");
    else
      printf("times: %.3f times those of the base (median over cells)\n", ratio);
    if (same_cpu && busy(c))
      printf("%d of %d timing rounds are noisy: a busy machine; solvers are compared with each "
             "other, and that "
             "ratio is taken for its pace\n",
             c->noisy[0] + c->noisy[1], c->rounds[0] + c->rounds[1]);
    printf("%d regression(s) in time, %d in accuracy, %d in status; %d improvement(s)\n",
           c->regressions[TIME], c->regressions[ACCURACY], c->regressions[STATUS], c->improvements);
  }
  free(cpu[0]);
  free(cpu[1]);
  return failed ? PERP_EXIT_REGRESSED : PERP_EXIT_OK;
}

int perp_cmd_compare(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "fail-on", 0, "CLASS,..",
      "what makes the exit status 6: time, accuracy, status (default: all)" },
    { "time-tol", 0, "X", "slower by more than this is a finding (default 10%)" },
    { "accuracy-tol", 0, "X", "a result worse by more than this is a finding (default 5%)" },
    { "json", 0, NULL, "as JSON" },
    { 0 }
  };
  static const perp_cli cli = {
    "compare",
    "BASE NEW [options]",
    "Compares two runs of one study, before and after a change: cells "
    "that no longer end well, results that became "
    "worse, solvers that became slower. Times are compared for each "
    "value of each axis and for single cells, by the "
    "minimum over timing rounds, guarded by a rank test and a "
    "bootstrap interval; 3 rounds or more are needed. With most rounds "
    "noisy (wall/CPU time above 1.05) all times are taken relative to the "
    "median over cells: the pace of a busy machine.",
    "Exit status 6: a regression.",
    "perp compare results/before results/after --fail-on time",
    flags,
    2,
    2
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  struct compare c = { .ctx = ctx,
                       .time_tol = 0.10,
                       .accuracy_tol = 0.05,
                       .json = perp_args_get(&args, "json") != NULL,
                       .j = { .out = stdout, .indent = true } };
  status = read_classes(&args, &c);
  if (status < 0) status = read_tolerance(&args, "time-tol", &c.time_tol);
  if (status < 0) status = read_tolerance(&args, "accuracy-tol", &c.accuracy_tol);
  if (status < 0) status = perp_command_results(ctx, args.arg[0], &c.base);
  if (status >= 0) return status;
  status = perp_command_results(ctx, args.arg[1], &c.now);
  if (status < 0) {
    if (strcmp(c.base.study->kind->name, c.now.study->kind->name) != 0) {
      perp_say("error: %s is a study of kind %s, %s of kind %s", c.base.dir,
               c.base.study->kind->name, c.now.dir, c.now.study->kind->name);
      status = PERP_EXIT_INPUT;
    } else
      status = run_compare(&c);
    perp_results_free(&c.now);
  }
  perp_results_free(&c.base);
  free(c.a);
  free(c.b);
  return status;
}
