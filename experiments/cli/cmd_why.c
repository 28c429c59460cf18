/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp why: the cause of a failure, and options that fix it */
#include "experiments/cli/command.h"
#include "experiments/lcp/kind_lcp.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/watch/request.h"
#include "experiments/why/why.h"
#include "experiments/base/files.h"
#include "experiments/base/numbers.h"
#include "solvers/lcp/io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double WITHIN = 60; /* s, for all trials */

/* What the subject borrows. */
typedef struct why_given {
  perp_why_subject subject;
  perp_cli_request request;
  perp_lcp_problem problem;
  perp_results results;
  bool opened;
} why_given;

static void why_subject(why_given *given, const perp_request *request)
{
  perp_request own = *request;
  perp_why_subject *subject = &given->subject;
  subject->scene = own.scene;
  subject->h = own.h;
  subject->t_end = own.t_end;
  subject->perturb = own.perturb;
  subject->equivalent = own.equivalent != NULL && own.equivalent[0] != '\0' ? own.equivalent : NULL;
  for (int part = 0; part < PERP_PARTS; part++) {
    const char *text = *perp_part_text(&own, part);
    snprintf(subject->part[part], PERP_SPEC_MAX, "%s", text != NULL ? text : "");
  }
}

/* By its name: kinds of files that no scene has. */
static bool why_is_problem(const char *path)
{
  static const char *const ends[] = { ".lcp", ".mtx", ".dat", ".hdf5", ".h5", NULL };
  const size_t n = strlen(path);
  if (strcmp(path, "-") == 0) return true;
  for (int i = 0; ends[i] != NULL; i++) {
    const size_t k = strlen(ends[i]);
    if (n > k && strcmp(path + n - k, ends[i]) == 0) return true;
  }
  return false;
}

/* Options that a problem, or a run of a study, has not. */
static int why_refuse(const perp_args *args, const char *const *names, const char *what)
{
  for (int i = 0; names[i] != NULL; i++)
    if (perp_option_given(args, names[i]))
      return perp_usage_error(args, "--%s has no effect on %s: leave it out", names[i], what);
  return -1;
}

static int why_problem(perp_ctx *ctx, const perp_args *args, why_given *given)
{
  static const char *const refused[] = { "formulation", "ode",   "kkt",   "stab",    "contact",
                                         "engine",      "h",     "t-end", "perturb", "equivalent",
                                         "seed",        "limit", NULL };
  const char *lcp = perp_args_get(args, "lcp");
  int status = why_refuse(args, refused, "a problem");
  if (status >= 0) return status;
  given->subject.tol = 1e-10;
  status = perp_option_real(ctx, args, "tol", "", false, &given->subject.tol);
  if (status < 0)
    status = perp_option_real(ctx, args, "tol-data", "", false, &given->subject.tol_data);
  if (status < 0)
    status = perp_option_parsed(ctx, args, "timeout", perp_parse_duration, &given->subject.timeout);
  if (status >= 0) return status;
  perp_spec spec;
  if (lcp != NULL && perp_spec_parse(ctx, PERP_KIND_lcp, lcp, &spec) != PERP_OK)
    return perp_usage_of(ctx, args, "--lcp: %s", ctx->msg);
  if (lcp != NULL) perp_spec_free(&spec);
  snprintf(given->subject.part[PERP_PART_LCP], PERP_SPEC_MAX, "%s", lcp != NULL ? lcp : "");
  given->subject.equilibrate = perp_option_given(args, "equilibrate");
  given->subject.path = args->arg[0];
  const perp_status read = perp_lcp_read(ctx, args->arg[0], &given->problem);
  if (read != PERP_OK) return perp_refuse(ctx, perp_exit_of(read));
  given->subject.problem = &given->problem;
  return -1;
}

static int why_cell(perp_ctx *ctx, const perp_args *args, why_given *given)
{
  static const char *const refused[] = { "formulation", "ode",         "kkt",      "lcp",
                                         "stab",        "contact",     "engine",   "h",
                                         "t-end",       "tol",         "perturb",  "equivalent",
                                         "seed",        "equilibrate", "tol-data", NULL };
  int status = why_refuse(args, refused, "a run of a study, which has its own");
  if (status < 0) status = perp_results_open(ctx, args->arg[0], &given->results);
  if (status >= 0) return status;
  given->opened = true;
  const perp_study *study = given->results.study;
  const int at = perp_command_cell(args, &given->results.plan, args->arg[1]);
  if (at < 0) return PERP_EXIT_USAGE;
  const perp_cell *cell = &given->results.plan.cells[at];
  given->subject.timeout = study->limits.timeout;
  given->subject.memory = study->limits.memory;
  if (study->kind == &perp_kind_simulate) {
    const perp_request request = perp_kind_simulate_request(cell);
    why_subject(given, &request);
    return -1;
  }
  if (study->kind != &perp_kind_lcp) {
    perp_say("error: runs of kind %s cannot be explained; simulate and lcp can", study->kind->name);
    return PERP_EXIT_USAGE;
  }
  const int problem = perp_kind_param(study->kind, "problem"),
            lcp = perp_kind_param(study->kind, "lcp"), tol = perp_kind_param(study->kind, "tol");
  const perp_status made = perp_kind_lcp_problem(ctx, study, cell->value[problem].text,
                                                 &given->problem);
  if (made != PERP_OK) return perp_refuse(ctx, perp_exit_of(made));
  given->subject.problem = &given->problem;
  given->subject.path = cell->value[problem].text;
  given->subject.tol = cell->value[tol].number;
  snprintf(given->subject.part[PERP_PART_LCP], PERP_SPEC_MAX, "%s", cell->value[lcp].text);
  return -1;
}

static int why_scene(perp_ctx *ctx, const perp_args *args, why_given *given)
{
  static const char *const refused[] = { "equilibrate", "tol-data", NULL };
  int status = why_refuse(args, refused, "a simulation");
  if (status < 0) status = perp_command_request(ctx, args, &given->request);
  if (status >= 0) return status;
  why_subject(given, &given->request.q);
  given->subject.timeout = given->request.timeout;
  return -1;
}

/* --limit METRIC=VALUE, any number of them. */
static int why_limits(perp_ctx *ctx, const perp_args *args, perp_why_limits *limits)
{
  for (int flag = 0; flag < args->n_flags; flag++) {
    if (strcmp(args->flag[flag].flag->name, "limit") != 0) continue;
    const char *text = args->flag[flag].value, *equals = strchr(text, '=');
    const size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    double value;
    if (n == 0 || n >= PERP_NAME_MAX || perp_parse_real(ctx, equals + 1, "", &value) != PERP_OK ||
        !(value >= 0))
      return perp_usage_error(args, "--limit must be METRIC=VALUE, as in err.q.max=1e-3: got %s",
                              text);
    if (limits->n == PERP_WHY_LIMITS)
      return perp_usage_error(args, "at most %d limits: use fewer --limit", PERP_WHY_LIMITS);
    snprintf(limits->at[limits->n].name, PERP_NAME_MAX, "%.*s", (int)n, text);
    if (perp_find(ctx, PERP_KIND_metric, limits->at[limits->n].name) == NULL)
      return perp_usage_error(args, "--limit: there is no metric %s (perp list metrics)",
                              limits->at[limits->n].name);
    limits->at[limits->n++].limit = value;
  }
  return -1;
}

static int cmd_why(perp_ctx *ctx, const perp_args *args)
{
  why_given given = { 0 };
  perp_why_limits limits = { 0 };
  perp_why_report report = { 0 };
  double within = WITHIN, memory = 0;
  int status = why_limits(ctx, args, &limits);
  if (status < 0) status = perp_option_parsed(ctx, args, "within", perp_parse_duration, &within);
  if (status < 0) status = perp_option_parsed(ctx, args, "memory", perp_parse_size, &memory);
  if (status < 0)
    status = args->n == 2                   ? why_cell(ctx, args, &given)
             : why_is_problem(args->arg[0]) ? why_problem(ctx, args, &given)
                                            : why_scene(ctx, args, &given);
  if (status < 0) {
    if (memory > 0) given.subject.memory = memory;
    const perp_status done = perp_why(ctx, &given.subject, &limits, within, &report);
    if (done == PERP_OK) {
      (perp_option_given(args, "json") ? perp_why_json : perp_why_print)(&given.subject, &report,
                                                                         stdout);
      status = !report.failed || report.fixed ? PERP_EXIT_OK : PERP_EXIT_FAILED;
    } else
      status = perp_refuse(ctx, perp_exit_of(done));
    perp_why_free(&report);
  }
  if (given.opened) perp_results_free(&given.results);
  perp_lcp_problem_free(&given.problem);
  return status;
}

static const perp_flag why_flags[] = {
  PERP_REQUEST_FLAGS,
  { "memory", 0, "SIZE", "Memory limit of the run, e.g. 512MB." },
  { "tol-data", 0, "TOL",
    "Largest data (error of w relative to b) of a solution of a problem file." },
  { "equilibrate", 0, NULL, "Scale rows and columns of a problem file before solving." },
  { "limit", 0, "METRIC=VALUE",
    "The run fails if this metric exceeds the value, e.g. err.q.max=1e-3. Can be repeated." },
  { "within", 0, "TIME",
    "Time for all runs that try options, and limit of a run without --timeout (default: 60s)." },
  { "json", 0, NULL, "Print the report as JSON." },
  PERP_FILTER_FLAG,
  { 0 }
};

const perp_command perp_why_command_desc = {
  .cli.name = "why",
  .cli.usage = "SCENE|FILE|DIR CELL [options]",
  .cli.summary =
      "Explains why a run failed: runs it again, measures, names causes with figures, and reports "
      "options that fix it, each after a run with it. SCENE takes the options of perp simulate, a "
      "problem FILE (.lcp, .mtx, .dat, .hdf5, -) those of perp lcp solve. DIR CELL is a run of a "
      "study, as of perp rerun, within its limits.",
  .cli.more =
      "Causes: singular-jacobian, infeasible-contacts, unstable-step, stiffness, drift, budget "
      "(iterations, time, memory), bad-scaling, coarse-step.\n"
      "A run fails if it does not reach its end, or leaves contact problems unsolved. It also "
      "fails "
      "if a figure exceeds its limit. The limits are 0.1 of the range for the error against the "
      "reference, and 0.05 for energy and momentum. They are 0.001 of the size for constraint "
      "errors, and 0.02 of a body for penetration.\n"
      "Exit status 0: the run did not fail, or options that fix it were found. 10: it failed, and "
      "none of the options tried fixes it.",
  .cli.example = "perp why flyball --formulation acceleration --ode rk4 --h 10ms",
  .cli.flags = why_flags,
  .cli.min_args = 1,
  .cli.max_args = 2,
  .summary = "Find the cause of a failed run, and options that fix it",
  .run = cmd_why
};
