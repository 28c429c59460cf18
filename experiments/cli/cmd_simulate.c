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
  const struct run_mind *mind = user;
  return (perp_cut)*perp_kept_cut(mind->kept);
}

static void run_keep(const perp_result *so_far, void *user)
{
  struct run_mind *mind = user;
  struct kept_run *run = perp_kept_place(mind->kept);
  run->result = *so_far;
  if (so_far->q == NULL || so_far->nq + so_far->nv > KEPT_STATE)
    run->result.nq = run->result.nv = 0;
  else {
    memcpy(run->state, so_far->q, (size_t)so_far->nq * sizeof *run->state);
    if (so_far->nv > 0)
      memcpy(run->state + so_far->nq, so_far->v, (size_t)so_far->nv * sizeof *run->state);
  }
  perp_kept_commit(mind->kept);
  if (mind->series.path != NULL) perp_series_add(&mind->series, &so_far->series);
}

/* ---- for people ---- */

static void print_forces(const perp_result *result)
{
  char most[32], mean[32], last[32];
  if (result->n_forces == 0) return;
  perp_table table;
  perp_table_init(&table, "lrrrl");
  perp_table_row(&table, (const char *const[]){ "force", "largest", "rms", "last", "unit" });
  for (int i = 0; i < result->n_forces; i++) {
    const perp_force_total *force = &result->forces[i];
    perp_table_row(&table, (const char *const[]){ force->name, perp_brief(force->max, most),
                                                  perp_brief(force->rms, mean),
                                                  perp_brief(force->final, last), force->unit });
  }
  putchar('\n');
  perp_table_print(&table, stdout);
  perp_table_free(&table);
}

static void print_result(const perp_ctx *ctx, const perp_result *result)
{
  char h[40], t_end[40], buf[32], number[32];
  perp_format_real(result->h, h, sizeof h);
  perp_format_real(result->t_end, t_end, sizeof t_end);
  printf("scene    %s\n", result->scene);
  perp_text text = { 0 };
  for (int i = 0; i < PERP_PARTS; i++) {
    const char *part = perp_part_used(result, i);
    if (part[0] != '\0')
      perp_text_add(&text, "%s%s %s", text.n ? ", " : "", perp_part_name(i), part);
  }
  if (text.n > 0) perp_wrap_after(stdout, "parts    ", 9, text.s);
  if (result->resolved[0] != '\0') perp_wrap_after(stdout, "resolved ", 9, result->resolved);
  printf("step     h = %s s to t = %s s\n", h, t_end);
  char cause[512];
  text.n = 0;
  perp_text_add(&text, "%s (%s) at t = %.6g s", perp_result_status_name(result),
                perp_result_reason(result), result->t);
  if (perp_result_partial(result)) perp_text_add(&text, ": the figures are of the time until then");
  perp_wrap_after(stdout, "status   ", 9, text.s);
  perp_result_cause(result, cause, sizeof cause);
  if (cause[0] != '\0') perp_wrap_after(stdout, "         ", 9, cause);
  if (result->invariants[0] != '\0') perp_wrap_after(stdout, "keeps    ", 9, result->invariants);
  for (int i = 0; i < result->warnings.n; i++)
    perp_wrap_after(stdout, "warning  ", 9, result->warnings.line[i]);
  if (result->warnings.more > 0)
    perp_wrapf(stdout, 9, "and %d more warnings", result->warnings.more);
  if (result->note[0] != '\0') perp_wrap_after(stdout, "note     ", 9, result->note);
  text.n = 0;
  if (result->events[0]) perp_text_add(&text, "events   %s\n", result->events);
  perp_text_add(&text, "truth    %s\n\n", result->truth[0] ? result->truth : "none");
  fputs(text.s, stdout);
  perp_text_free(&text);

  if (result->engine[0] == '\0') perp_contacts_text(&result->contact_count, stdout);
  perp_solutions_text(&result->solutions, stdout);

  perp_table table;
  perp_table_init(&table, "lrlr");
  perp_table_row(&table, (const char *const[]){ "metric", "value", "unit", "comparisons" });
  for (int metric = 0; metric < result->n_metrics; metric++) {
    const perp_desc *d = perp_find(ctx, PERP_KIND_metric, result->metrics[metric].name);
    if (isnan(result->metrics[metric].value) || d == NULL || (d->caps & PERP_METRIC_TIMING))
      continue;
    const perp_metric_desc *m = (const perp_metric_desc *)(const void *)d;
    const char *count = perp_metric_count(d->name);
    const double of = count != NULL ? perp_result_metric(result, count) : (double)NAN;
    perp_table_row(&table,
                   (const char *const[]){ d->name, perp_brief(result->metrics[metric].value, buf),
                                          m->unit, isnan(of) ? "" : perp_brief(of, number) });
  }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  print_forces(result);
  if (perp_result_metric(result, "lambda.compared") == 1)
    perp_wrap_after(
        stdout, "\nlambda   ", 9,
        "lambda.err.max is a single comparison: no other sample falls on the start of a "
        "step whose multipliers the method reports");
  if (isnan(result->time.step_us)) return; /* cut short before the clock had its say */
  const long long steps = (long long)(result->ode_count.steps);
  printf("\ntime     mean %.4g us CPU a step, %lld steps in %.4g s\n", result->time.step_us, steps,
         result->time.cpu_s);
  if (!isnan(result->time.alone_us.median))
    printf("         median %.4g us, 99 of 100 at most %.4g us, largest %.4g us\n",
           result->time.alone_us.median, result->time.alone_us.p99, result->time.alone_us.most);
  if (result->time.steps_reused > 0)
    printf("         %lld of %lld steps reused contact impulses and solved nothing\n",
           (long long)result->time.steps_reused, steps);
  if (result->time.breakdown_steps == 0) return;
  text = (perp_text){ 0 };
  perp_text_add(&text, "mean %.4g us wall time, with clocks inside", result->time.breakdown_us);
  if (result->time.breakdown_steps < steps)
    perp_text_add(&text, ", of the first %lld steps", (long long)result->time.breakdown_steps);
  const double us[] = { result->time.collision_us, result->time.assembly_us, result->time.kkt_us,
                        result->time.lcp_us, result->time.integrate_us };
  static const char *const what[] = { "collision", "assembly", "kkt", "lcp", "rest" };
  const char *separator = ": ";
  for (int i = 0; i < 5; i++)
    if (us[i] > 0) {
      perp_text_add(&text, "%s%s %.3g", separator, what[i], us[i]);
      separator = ", ";
    }
  perp_wrap_after(stdout, "within   ", 9, text.s);
  perp_text_free(&text);
}

/* ---- the command ---- */

static int exit_of_run(const perp_result *result)
{
  switch (perp_result_status(result)) {
  case PERP_CELL_OK:
  case PERP_CELL_FIXED_WORK:
  case PERP_CELL_SEVERAL:
    return PERP_EXIT_OK;
  case PERP_CELL_UNSOLVED:
    return PERP_EXIT_UNSOLVED;
  case PERP_CELL_OOM:
    return PERP_EXIT_INFRA;
  case PERP_CELL_CRASH:
    return result->cut == PERP_CUT_CRASH ? PERP_EXIT_INFRA : PERP_EXIT_FAILED;
  default:
    return PERP_EXIT_FAILED;
  }
}

static int cmd_simulate_tell(const perp_ctx *ctx, const perp_result *result, bool json, bool text)
{
  if (json)
    perp_result_json(result, stdout);
  else if (text)
    print_result(ctx, result);
  return exit_of_run(result);
}

/* After a series that could not be written: says so by errno. */
static int run_unwritten(const char *series)
{
  const int why = errno;
  perp_say("error: cannot write %s: %s", series, strerror(why));
  return why == ENOMEM ? PERP_EXIT_INFRA : PERP_EXIT_INTERNAL;
}

/* In the child: run, print; the series goes to part, which the parent names. */
static int run_here(perp_ctx *ctx, perp_request *request, const perp_guard *guard, double timeout,
                    const char *series, const char *part, bool json, bool text,
                    const perp_watching *watching)
{
  struct run_mind mind = { guard->kept, { .path = part } };
  const perp_minder minder = { run_cut, run_keep, &mind };
  perp_result result;
  request->minder = &minder;
  perp_status done = perp_simulate(ctx, request, &result);
  if (done != PERP_OK) return perp_refuse(ctx, perp_exit_of(done));
  if (result.cut == PERP_CUT_TIME)
    snprintf(result.message, sizeof result.message, "stopped at the time limit of %g s", timeout);
  if (series != NULL) perp_series_add(&mind.series, &result.series);
  int code = cmd_simulate_tell(ctx, &result, json, text);
  const perp_status shown = watching != NULL ? perp_watch_result(ctx, watching, 0, &result)
                                             : PERP_OK;
  if (shown == PERP_ERR_UNSUPPORTED) /* a scene without a picture: the figures are good */
    perp_print_error(ctx);
  else if (shown != PERP_OK)
    code = perp_refuse(ctx, perp_exit_of(shown));
  if (series != NULL && !perp_series_close(&mind.series)) code = run_unwritten(series);
  perp_result_free(&result);
  return code;
}

/* Outside code may do anything to the process that runs it: the parent stays to tell. */
static int run_apart(perp_ctx *ctx, perp_request *request, double timeout, const char *series,
                     bool json, perp_watching *watching)
{
  const bool text = series == NULL || strcmp(series, "-") != 0;
  perp_guard guard;
  if (perp_guard_begin(ctx, timeout, sizeof(struct kept_run), &guard) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  char *part = series == NULL || !text ? NULL : perp_growing_path(series);
  const char *to = part != NULL ? part : series;
  if (guard.child)
    return perp_guard_leave(
        &guard, run_here(ctx, request, &guard, timeout, series, to, json, text, watching));
  int code = guard.code;
  if (guard.cut != PERP_CUT_NONE) {
    double *state = perp_xalloc(KEPT_STATE, sizeof *state);
    /* The result that a child without one has left: as far as it came. */
    perp_result result = { .h = request->h, .t_end = request->t_end };
    const struct kept_run *run = perp_kept_last(guard.kept);
    snprintf(result.scene, sizeof result.scene, "%s", request->scene);
    if (run != NULL) {
      result = run->result;
      memcpy(state, run->state, (size_t)(result.nq + result.nv) * sizeof *state);
    }
    result.q = state;
    result.v = state + result.nq;
    result.groups = NULL;
    result.forces = NULL;
    result.n_forces = 0;
    result.series = (perp_series){ 0 };
    result.cut = guard.cut;
    snprintf(result.message, sizeof result.message, "%s", guard.cause);
    const perp_result left = result;
    code = cmd_simulate_tell(ctx, &left, json, text);
    free(state);
  }
  if (part != NULL && !perp_growing_name(part, series)) code = run_unwritten(series);
  free(part);
  perp_guard_free(&guard);
  if (watching == NULL) return code;
  const int shown = perp_watch_end(ctx, watching, 1);
  return code == PERP_EXIT_OK ? shown : code;
}

static int cmd_simulate(perp_ctx *ctx, const perp_args *args)
{
  perp_cli_request given;
  int64_t rounds = PERP_ROUNDS_NEEDED;
  int status = perp_command_request(ctx, args, &given);
  if (status < 0) status = perp_option_int(ctx, args, "rounds", 0, 1000, &rounds);
  if (status >= 0) return status;
  perp_request request = given.q;
  request.sample_named = request.sample_every > 0;
  request.timing_rounds = (int)rounds;
  request.timing_detail = true;
  const char *series = perp_args_get(args, "series");
  bool json = perp_option_given(args, "json");
  if (series != NULL && strcmp(series, "-") == 0 && json)
    return perp_usage_error(
        args, "--json and --series - cannot both use standard output; write the series to a file");
  request.want_series = series != NULL;
  request.forces.wanted = perp_option_given(args, "forces");
  perp_watching watching = { 0 };
  if (perp_option_given(args, "view")) {
    status = perp_watch_begin(ctx, args, request.scene,
                              !json && !(series != NULL && series[0] == '-'), &watching);
    if (status >= 0) return status;
    request.picture_at = fmax(0, watching.picture.at);
    request.replay.path = perp_watch_replay(&watching, 0);
    request.replay.film = true;
  } else if ((status = perp_watch_unused(args)) >= 0)
    return status;
  return run_apart(ctx, &request, given.timeout, series, json,
                   watching.folder != NULL ? &watching : NULL);
}

static const perp_flag simulate_flags[] = {
  PERP_REQUEST_FLAGS,
  { "sample", 0, "TIME",
    "Time between comparisons with the reference solution, and between rows of the series." },
  { "rounds", 0, "N",
    "Number of further runs for the clock, without metrics. Default: 1, and 0 where the "
    "measured run takes more than 1 s, in steps of more than 100 us." },
  { "series", 0, "FILE", "Write the time series as CSV to FILE; - is standard output." },
  { "forces", 0, NULL,
    "Record reaction forces and torques of joints, forces of motors, servos, limits and contacts: "
    "columns of the "
    "series, and a table of their largest, root mean square and last values." },
  { "json", 0, NULL,
    "Print the result as JSON. Figures that the run does not have are absent; infinite ones are "
    "the "
    "texts inf and -inf." },
  PERP_WATCH_FLAGS,
  { "view", 0, NULL, "Make a page with an animation of the measured run (see perp view)." },
  PERP_FILTER_FLAG,
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
  .cli.example = "perp simulate chain:links=6 --stab post --h 1ms --t-end 0.8s --view\n"
                 "perp simulate four-bar --series forces.csv --forces",
  .cli.flags = simulate_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Simulate one scene with one method of each kind",
  .run = cmd_simulate
};
