/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp simulate: one cell, no study */
#include "experiments/simulate/series.h"
#include "experiments/simulate/parts.h"
#include "experiments/metrics/metrics.h"
#include "experiments/cli/command.h"
#include "experiments/watch/request.h"
#include "experiments/watch/watch.h"
#include "experiments/base/guard.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- in a process of its own ---- */

enum { KEPT_STATE = 1 << 16 }; /* numbers of q and v that are kept of a run that is killed */

/* What the parent prints of a child that was killed. */
struct kept_run {
  perp_result result; /* its pointers lead nowhere */
  double state[KEPT_STATE];
};

struct run_mind {
  perp_kept *kept;
  perp_series_file series;
};

static perp_cut run_cut(void *user)
{
  const struct run_mind *m = user;
  return (perp_cut)*perp_kept_cut(m->kept);
}

static void run_keep(const perp_result *so_far, void *user)
{
  struct run_mind *m = user;
  struct kept_run *k = perp_kept_place(m->kept);
  k->result = *so_far;
  if (so_far->q == NULL || so_far->nq + so_far->nv > KEPT_STATE)
    k->result.nq = k->result.nv = 0;
  else {
    memcpy(k->state, so_far->q, (size_t)so_far->nq * sizeof *k->state);
    if (so_far->nv > 0)
      memcpy(k->state + so_far->nq, so_far->v, (size_t)so_far->nv * sizeof *k->state);
  }
  perp_kept_commit(m->kept);
  if (m->series.path != NULL) perp_series_add(&m->series, &so_far->series);
}

/* ---- for people ---- */

static void print_result(const perp_ctx *ctx, const perp_result *r)
{
  char h[40], t_end[40], buf[32], number[32];
  perp_format_real(r->h, h, sizeof h);
  perp_format_real(r->t_end, t_end, sizeof t_end);
  printf("scene    %s\n", r->scene);
  perp_text t = { 0 };
  for (int i = 0; i < PERP_PARTS; i++) {
    const char *part = perp_part_used(r, i);
    if (part[0] != '\0') perp_text_add(&t, "%s%s %s", t.n ? ", " : "", perp_part_name(i), part);
  }
  if (t.n > 0) perp_wrap_after(stdout, "parts    ", 9, t.s);
  if (r->resolved[0] != '\0') perp_wrap_after(stdout, "resolved ", 9, r->resolved);
  printf("step     h = %s s to t = %s s\n", h, t_end);
  char cause[512];
  t.n = 0;
  perp_text_add(&t, "%s (%s) at t = %.6g s", perp_result_status_name(r), perp_result_reason(r),
                r->t);
  if (perp_result_partial(r)) perp_text_add(&t, ": the figures are of the time until then");
  perp_wrap_after(stdout, "status   ", 9, t.s);
  perp_result_cause(r, cause, sizeof cause);
  if (cause[0] != '\0') perp_wrap_after(stdout, "         ", 9, cause);
  if (r->invariants[0] != '\0') perp_wrap_after(stdout, "keeps    ", 9, r->invariants);
  for (int i = 0; i < r->warnings.n; i++)
    perp_wrap_after(stdout, "warning  ", 9, r->warnings.line[i]);
  if (r->warnings.more > 0) perp_wrapf(stdout, 9, "and %d more warnings", r->warnings.more);
  if (r->note[0] != '\0') perp_wrap_after(stdout, "note     ", 9, r->note);
  t.n = 0;
  if (r->events[0]) perp_text_add(&t, "events   %s\n", r->events);
  perp_text_add(&t, "truth    %s\n\n", r->truth[0] ? r->truth : "none");
  fputs(t.s, stdout);
  perp_text_free(&t);

  if (r->engine[0] == '\0') perp_contacts_text(&r->contact_count, stdout);
  perp_solutions_text(&r->solutions, stdout);

  perp_table table;
  perp_table_init(&table, "lrlr");
  perp_table_row(&table, (const char *const[]){ "metric", "value", "unit", "comparisons" });
  for (int i = 0; i < r->n_metrics; i++) {
    const perp_desc *d = perp_find(ctx, PERP_KIND_metric, r->metrics[i].name);
    if (isnan(r->metrics[i].value) || d == NULL || (d->caps & PERP_METRIC_TIMING)) continue;
    const perp_metric_desc *m = (const perp_metric_desc *)(const void *)d;
    const char *count = perp_metric_count(d->name);
    const double of = count != NULL ? perp_result_metric(r, count) : (double)NAN;
    perp_table_row(&table,
                   (const char *const[]){ d->name, perp_brief(r->metrics[i].value, buf), m->unit,
                                          isnan(of) ? "" : perp_brief(of, number) });
  }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  if (perp_result_metric(r, "lambda.compared") == 1)
    perp_wrap_after(
        stdout, "\nlambda   ", 9,
        "lambda.err.max is a single comparison: no other sample falls on the start of a "
        "step whose multipliers the method reports");
  if (isnan(r->time.step_us)) return; /* cut short before the clock had its say */
  const long long steps = (long long)(r->ode_count.steps);
  printf("\ntime     mean %.4g us CPU a step, %lld steps in %.4g s\n", r->time.step_us, steps,
         r->time.cpu_s);
  if (!isnan(r->time.alone_us.median))
    printf("         median %.4g us, 99 of 100 at most %.4g us, largest %.4g us\n",
           r->time.alone_us.median, r->time.alone_us.p99, r->time.alone_us.most);
  if (r->time.steps_reused > 0)
    printf("         %lld of %lld steps reused contact impulses and solved nothing\n",
           (long long)r->time.steps_reused, steps);
  if (r->time.breakdown_steps == 0) return;
  t = (perp_text){ 0 };
  perp_text_add(&t, "mean %.4g us wall time, with clocks inside", r->time.breakdown_us);
  if (r->time.breakdown_steps < steps)
    perp_text_add(&t, ", of the first %lld steps", (long long)r->time.breakdown_steps);
  const double us[] = { r->time.collision_us, r->time.assembly_us, r->time.kkt_us, r->time.lcp_us,
                        r->time.integrate_us };
  static const char *const what[] = { "collision", "assembly", "kkt", "lcp", "rest" };
  const char *separator = ": ";
  for (int i = 0; i < 5; i++)
    if (us[i] > 0) {
      perp_text_add(&t, "%s%s %.3g", separator, what[i], us[i]);
      separator = ", ";
    }
  perp_wrap_after(stdout, "within   ", 9, t.s);
  perp_text_free(&t);
}

/* ---- the command ---- */

static int exit_of_run(const perp_result *r)
{
  switch (perp_result_status(r)) {
  case PERP_CELL_OK:
  case PERP_CELL_FIXED_WORK:
  case PERP_CELL_SEVERAL:
    return PERP_EXIT_OK;
  case PERP_CELL_UNSOLVED:
    return PERP_EXIT_UNSOLVED;
  case PERP_CELL_OOM:
    return PERP_EXIT_INFRA;
  case PERP_CELL_CRASH:
    return r->cut == PERP_CUT_CRASH ? PERP_EXIT_INFRA : PERP_EXIT_FAILED;
  default:
    return PERP_EXIT_FAILED;
  }
}

static int cmd_simulate_tell(const perp_ctx *ctx, const perp_result *r, bool json, bool text)
{
  if (json)
    perp_result_json(r, stdout);
  else if (text)
    print_result(ctx, r);
  return exit_of_run(r);
}

/* In the child: run, print; the series goes to part, which the parent names. */
static int run_here(perp_ctx *ctx, perp_request *q, const perp_guard *g, double timeout,
                    const char *series, const char *part, bool json, bool text,
                    const perp_watching *w)
{
  struct run_mind m = { g->kept, { .path = part } };
  const perp_minder minder = { run_cut, run_keep, &m };
  perp_result result;
  q->minder = &minder;
  perp_status done = perp_simulate(ctx, q, &result);
  if (done != PERP_OK) return perp_refuse(ctx, perp_exit_of(done));
  if (result.cut == PERP_CUT_TIME)
    snprintf(result.message, sizeof result.message, "stopped at the time limit of %g s", timeout);
  if (series != NULL) perp_series_add(&m.series, &result.series);
  int code = cmd_simulate_tell(ctx, &result, json, text);
  if (w != NULL && perp_watch_result(ctx, w, 0, &result) != PERP_OK) perp_print_error(ctx);
  if (series != NULL && !perp_series_close(&m.series)) {
    perp_say("error: cannot write %s: %s", series, strerror(errno));
    code = PERP_EXIT_INTERNAL;
  }
  perp_result_free(&result);
  return code;
}

/* Outside code may do anything to the process that runs it: the parent stays to tell. */
static int run_apart(perp_ctx *ctx, perp_request *q, double timeout, const char *series, bool json,
                     perp_watching *w)
{
  const bool text = series == NULL || strcmp(series, "-") != 0;
  perp_guard g;
  if (perp_guard_begin(ctx, timeout, sizeof(struct kept_run), &g) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  char *part = series == NULL || !text ? NULL : perp_growing_path(series);
  const char *to = part != NULL ? part : series;
  if (g.child)
    return perp_guard_leave(&g, run_here(ctx, q, &g, timeout, series, to, json, text, w));
  int code = g.code;
  if (g.cut != PERP_CUT_NONE) {
    double *state = perp_xalloc(KEPT_STATE, sizeof *state);
    /* The result that a child without one has left: as far as it came. */
  perp_result r = { .h = q->h, .t_end = q->t_end };
  const struct kept_run *k = perp_kept_last(g.kept);
  snprintf(r.scene, sizeof r.scene, "%s", q->scene);
  if (k != NULL) {
    r = k->result;
    memcpy(state, k->state, (size_t)(r.nq + r.nv) * sizeof *state);
  }
  r.q = state;
  r.v = state + r.nq;
  r.groups = NULL;
  r.series = (perp_series){ 0 };
  r.cut = g.cut;
  snprintf(r.message, sizeof r.message, "%s", g.cause);
  const perp_result left = r;
    code = cmd_simulate_tell(ctx, &left, json, text);
    free(state);
  }
  if (part != NULL && !perp_growing_name(part, series)) {
    perp_say("error: cannot write %s: %s", series, strerror(errno));
    code = PERP_EXIT_INTERNAL;
  }
  free(part);
  perp_guard_free(&g);
  if (w == NULL) return code;
  const int shown = perp_watch_end(ctx, w, 1);
  return code == PERP_EXIT_OK ? shown : code;
}

static int cmd_simulate(perp_ctx *ctx, const perp_args *args)
{
  perp_cli_request given;
  int64_t rounds = 1;
  int status = perp_command_request(ctx, args, &given);
  if (status < 0) status = perp_option_int(ctx, args, "rounds", 0, 1000, &rounds);
  if (status >= 0) return status;
  perp_request q = given.q;
  q.sample_named = q.sample_every > 0;
  q.timing_rounds = (int)rounds;
  q.timing_detail = true;
  const char *series = perp_args_get(args, "series");
  bool json = perp_option_given(args, "json");
  if (series != NULL && strcmp(series, "-") == 0 && json)
    return perp_usage_error(
        args, "--json and --series - cannot both use standard output; write the series to a file");
  q.want_series = series != NULL;
  perp_watching w = { 0 };
  if (perp_option_given(args, "view")) {
    status = perp_watch_begin(ctx, args, q.scene, !json && !(series != NULL && series[0] == '-'),
                              &w);
    if (status >= 0) return status;
    q.film = true;
    q.picture_at = fmax(0, w.picture.at);
    q.replay_path = perp_watch_replay(&w, 0);
  } else if ((status = perp_watch_unused(args)) >= 0)
    return status;
  return run_apart(ctx, &q, given.timeout, series, json, w.folder != NULL ? &w : NULL);
}

static const perp_flag simulate_flags[] = {
  PERP_REQUEST_FLAGS,
  { "sample", 0, "TIME",
    "Time between comparisons with the reference solution, and between rows of the series." },
  { "rounds", 0, "N", "Number of timed runs without metrics (default: 1)." },
  { "series", 0, "FILE", "Write the time series as CSV to FILE; - is standard output." },
  { "json", 0, NULL,
    "Print the result as JSON. Figures that the run does not have are absent; infinite ones are "
    "the "
    "texts inf and -inf." },
  PERP_WATCH_FLAGS,
  { "view", 0, NULL, "Make a page with an animation of the measured run (see perp view)." },
  { 0 }
};

const perp_command perp_simulate_command = {
  .cli.name = "simulate",
  .cli.usage = "SCENE [options]",
  .cli.summary =
      "Simulates one scene with one method of each kind, and prints accuracy, robustness and time. "
      "Names take options: chain:links=12, baumgarte:alpha=50, gsl:rk8pd:tol=1e-12. Times take "
      "units. A method without effect is an error, for example --stab with --formulation reduced.",
  .cli.more = "Exit status 0: the end was reached, and the solver solved every contact problem "
              "(ok), or made the requested number of sweeps (fixed-work). It is 0, too, if the "
              "motion is one of several (several solutions). 9: the end was reached, "
              "but some problems were not solved (unsolved). 10: diverged, stopped at --timeout, "
              "or interrupted. 5: out of memory, or a plug-in or library crashed. In all cases the "
              "result up to the reached time is printed.",
  .cli.example = "perp simulate chain:links=6 --stab post --h 1ms --t-end 0.8s --view",
  .cli.flags = simulate_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Simulate one scene with one method of each kind",
  .run = cmd_simulate
};
