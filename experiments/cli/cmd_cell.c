/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp explain, rerun: why a cell is what it is */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/command.h"
#include "experiments/base/env.h"
#include "experiments/run/program.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/simulate/kkt_dump.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- explain ---- */

/* What perp run would do with a cell, and why. */
static const char *cmd_cell_decision(const perp_ctx *ctx, const perp_results *results, int record,
                                     char *why, size_t size)
{
  char code[17];
  if (results == NULL) {
    snprintf(why, size, "there are no results yet");
    return "run";
  }
  const perp_record *rec = &results->record[record];
  perp_plugin_code(ctx, results->study, &results->plan.cells[record], code);
  const bool timed = perp_cell_timed(results->study->kind, rec->status);
  int missing = timed ? results->study->measure.repeats - rec->rounds : 0;
  if (rec->attempt == 0 && rec->interrupted)
    snprintf(why, size, "it was started, but was stopped or killed before its end");
  else if (rec->attempt == 0)
    snprintf(why, size, "it has not been run");
  else if (strcmp(code, rec->code) != 0)
    snprintf(why, size, "its plug-in, or the file of its scene, has changed since");
  else if (missing > 0) {
    snprintf(why, size, "its results are complete (attempt %d); %d of %d timing rounds are missing",
             rec->attempt, missing, results->study->measure.repeats);
    return "time";
  } else {
    snprintf(why, size, "it ended as %s in attempt %d, with the same parameters%s%s%s",
             perp_cell_status_names[rec->status], rec->attempt,
             rec->status != PERP_CELL_OK ? "; --retry " : "",
             rec->status != PERP_CELL_OK ? perp_cell_status_names[rec->status] : "",
             rec->status != PERP_CELL_OK ? " runs it again" : "");
    return "keep";
  }
  return "run";
}

static void explain_one(const perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                        const perp_results *results, int i)
{
  char why[256], id[17];
  const perp_cell *cell = &plan->cells[i];
  int at = results != NULL ? perp_plan_find(&results->plan, cell->id) : -1;
  printf("run %s of %s\n", cell->id, study->name);
  printf("the id is a hash of the kind and of these parameters only:\n");
  printf("  %-14s %s\n", "kind", study->kind->name);
  for (int param = 0; param < study->n_params; param++)
    if (cell->value[param].text[0] != '\0')
      printf("  %-14s %s\n", study->kind->params[param].key, cell->value[param].text);
  const char *what = cmd_cell_decision(ctx, at >= 0 ? results : NULL, at, why, sizeof why);
  printf("perp run would %s it: %s\n", what, why);
  if (at < 0 || results->record[at].attempt == 0) return;
  const char *separator = "events: ";
  for (int metric = 0; metric < results->study->n_metrics; metric++) {
    const char *name = results->study->metric[metric].name;
    if (strncmp(name, "events.", 7) != 0 || isnan(results->record[at].value[metric])) continue;
    printf("%s%.0f %s", separator, results->record[at].value[metric], name + 7);
    separator = ", ";
  }
  if (strcmp(separator, ", ") == 0) printf("\n");
  perp_env_id(id);
  bool here = false;
  for (int env = 0; env < results->n_envs; env++)
    here = here || strcmp(results->envs[env].id, id) == 0;
  if (!here)
    printf("the results were computed by another build or machine (env/%s.json) and remain valid; "
           "--fresh computes them again\n",
           results->n_envs > 0 ? results->envs[0].id : "?");
}

static int cmd_cell_explain(perp_ctx *ctx, const perp_args *args, const perp_study *study,
                            const perp_plan *plan, const perp_results *results)
{
  const char *which = args->arg[1];
  size_t n = strlen(which);
  if (strspn(which, "0123456789abcdef") == n && n <= 16) {
    int i = perp_command_cell(args, plan, which);
    if (i < 0) return PERP_EXIT_USAGE;
    explain_one(ctx, study, plan, results, i);
    return PERP_EXIT_OK;
  }
  /* an expression over the parameters: one line a cell */
  perp_pool pool = { 0 };
  perp_plan_scope scope;
  perp_plan_scope_init(ctx, &scope, study, plan, NULL);
  perp_expr_error error;
  perp_expr *expr = perp_expr_parse(&pool, &scope.scope, which, &error);
  int matched = 0, status = PERP_EXIT_OK;
  if (expr == NULL)
    status = perp_usage_error(args,
                              "'%s' is neither the beginning of an id nor a valid expression: %s",
                              which, error.message);
  for (int cell = 0; expr != NULL && cell < plan->n; cell++) {
    if (!perp_expr_true(expr, &scope.scope, cell)) continue;
    char why[256];
    perp_text label = { 0 };
    perp_cell_label(study, &plan->cells[cell], &label);
    int at = results != NULL ? perp_plan_find(&results->plan, plan->cells[cell].id) : -1;
    const char *what = cmd_cell_decision(ctx, at >= 0 ? results : NULL, at, why, sizeof why);
    printf("%s  %-4s  %s: %s\n", plan->cells[cell].id, what, label.s, why);
    perp_text_free(&label);
    matched++;
  }
  if (expr != NULL && matched == 0) {
    printf("no run of %s matches\n", study->name);
    for (int exclude = 0; exclude < study->n_exclude; exclude++)
      printf("excluded: %s (%d combinations)%s%s\n", study->exclude[exclude].where_text,
             plan->excluded[exclude], study->exclude[exclude].reason[0] ? ": " : "",
             study->exclude[exclude].reason);
    if (plan->duplicates > 0)
      printf("%d combinations repeat another run: they differ only in methods that the formulation "
             "does not use\n",
             plan->duplicates);
    status = PERP_EXIT_NOTHING;
  }
  perp_pool_free(&pool);
  return status;
}

static int cmd_explain(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  perp_plan plan;
  perp_results results;
  int status = perp_command_plan(ctx, args, false, &study, &plan);
  if (status >= 0) return status;
  char *dir = perp_command_folder(args, study);
  bool loaded = false;
  if (perp_option_given(args, "output") || perp_exists(dir)) {
    status = perp_results_open(ctx, dir, &results);
    loaded = status < 0;
  }
  if (status < 0) status = cmd_cell_explain(ctx, args, study, &plan, loaded ? &results : NULL);
  if (loaded) perp_results_free(&results);
  perp_plan_free(&plan);
  perp_study_free(study);
  free(dir);
  return status;
}

static const perp_flag explain_flags[] = {
  { "output", 'o', "DIR", "Results folder to examine (default: results/NAME)." },
  { "set", 0, "KEY=VALUE", "Override a value of the study, as in perp run." },
  { 0 }
};

const perp_command perp_explain_command = {
  .cli.name = "explain",
  .cli.usage = "STUDY CELL [options]",
  .cli.summary =
      "Explains why perp run would skip a run, execute it (again), or only time it. CELL is the id "
      "of a run or the beginning of its id, or an expression over the parameters.",
  .cli.example = "perp explain chain6-stab 'stab == post and h == 1 ms'",
  .cli.flags = explain_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Explain why a run would be skipped, executed or timed",
  .run = cmd_explain
};

/* ---- rerun ---- */

static double outcome_value(const perp_outcome *outcome, const char *name)
{
  for (int i = 0; i < outcome->n; i++)
    if (strcmp(outcome->value[i].name, name) == 0) return outcome->value[i].value;
  return (double)NAN;
}

/* Does what came out now differ from what is recorded? */
static bool cmd_cell_compare(const perp_results *results, int cell, const perp_outcome *outcome,
                             bool print)
{
  const perp_study *study = results->study;
  const perp_record *rec = &results->record[cell];
  char a[32], b[32];
  bool differs = outcome->status != rec->status;
  if (print)
    printf("%-20s %14s %14s\n%-20s %14s %14s\n", "", "recorded", "now", "status",
           perp_cell_status_names[rec->status], perp_cell_status_names[outcome->status]);
  for (int metric = 0; metric < study->n_metrics; metric++) {
    double now = outcome_value(outcome, study->metric[metric].name), then = rec->value[metric];
    if (isnan(now) && isnan(then)) continue;
    bool other = !study->metric[metric].timing && now != then && !(isnan(now) && isnan(then));
    differs = differs || other;
    if (print)
      printf("%-20s %14s %14s  %s%s\n", study->metric[metric].name, perp_brief(then, a),
             perp_brief(now, b), study->metric[metric].unit,
             study->metric[metric].timing ? " (a time)"
             : other                      ? "  DIFFERS"
                                          : "");
  }
  if (print && outcome->cause[0] != '\0') perp_wrap(stdout, 2, outcome->cause);
  for (int i = 0; print && i < outcome->warnings.n; i++)
    perp_wrapf(stdout, 2, "warning: %s", outcome->warnings.line[i]);
  return differs;
}

static int start_debugger(const perp_results *results, int cell)
{
  char *argv[16] = { "gdb",   "--args",     perp_program_path(),
                     "rerun", results->dir, results->plan.cells[cell].id,
                     "--here" };
  int k = 7;
  const perp_plugin_file *file;
  for (int i = 0; (file = perp_plugin_file_at(i)) != NULL && k < 14; i++)
    if (file->named) {
      argv[k++] = "--plugin";
      argv[k++] = file->path;
    }
  execvp("gdb", argv);
  perp_say("error: cannot start gdb: %s", strerror(errno));
  free(argv[2]);
  return PERP_EXIT_INTERNAL;
}

/* The words of a command, in the pool. */
struct words {
  perp_pool pool;
  int n;
  char *argv[24];
};

static void add_words(struct words *words, const char *flag, const char *value, const char *unit)
{
  if (flag != NULL) words->argv[words->n++] = perp_pool_strdup(&words->pool, flag);
  words->argv[words->n++] = perp_pool_printf(&words->pool, "%s%s", value, unit);
}

/* The contact problems of a cell as files: those that its simulation meets (perp lcp harvest), or
 * the one that it solves (perp lcp generate). */
static int dump_lcp(perp_ctx *ctx, const perp_results *results, int cell, const char *path)
{
  static const char *const parts[][2] = {
    { "formulation", "--formulation" }, { "lcp", "--lcp" }, { "stab", "--stab" },
    { "contact", "--contact" },         { "h", "--h" },     { "t_end", "--t-end" }
  };
  const perp_study *study = results->study;
  const perp_cell *c = &results->plan.cells[cell];
  const int scene = perp_kind_param(study->kind, "scene"),
            at = perp_kind_param(study->kind, "problem");
  const char *problem = at >= 0 ? c->value[at].text : "?";
  struct words words = { .n = 0 };
  char family[64], rows[16], seed[16];
  add_words(&words, NULL, "lcp", "");
  if (scene >= 0) {
    add_words(&words, "harvest", c->value[scene].text, "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      const int param = perp_kind_param(study->kind, parts[i][0]);
      if (param < 0 || c->value[param].text[0] == '\0') continue;
      /* times are kept as numbers of seconds, and asked for with a unit */
      const bool time = study->kind->params[param].type == PERP_PARAM_REAL;
      add_words(&words, parts[i][1], c->value[param].text, time ? " s" : "");
    }
  } else if (sscanf(problem, "%63[^:]:n=%15[0-9],seed=%15[0-9]", family, rows, seed) == 3) {
    const perp_lcp_family *known = perp_lcp_family_find(family);
    add_words(&words, "generate", family, "");
    add_words(&words, "--n", rows, "");
    if (known == NULL || known->seeded) add_words(&words, "--seed", seed, "");
    if (strstr(problem, ",factored") != NULL) add_words(&words, NULL, "--factored", "");
  } else {
    perp_say("error: the problem of this run is a file already: %s", problem);
    perp_pool_free(&words.pool);
    return PERP_EXIT_USAGE;
  }
  add_words(&words, "-o", path, "");
  const int code = perp_lcp_command.run_words(ctx, words.n, words.argv);
  perp_pool_free(&words.pool);
  return code;
}

static int dump_kkt(perp_ctx *ctx, const perp_results *results, int cell, const char *path,
                    const char *steps)
{
  const perp_study *study = results->study;
  if (study->kind != &perp_kind_simulate) {
    perp_say("error: runs of kind %s solve no KKT systems", study->kind->name);
    return PERP_EXIT_USAGE;
  }
  perp_request request = perp_kind_simulate_request(&results->plan.cells[cell]);
  perp_text command = { 0 };
  study->kind->command(study, &results->plan.cells[cell], &command);
  perp_status status = perp_kkt_dump(ctx, &request, path, steps, command.s, stdout);
  perp_text_free(&command);
  if (status == PERP_OK) return PERP_EXIT_OK;
  return perp_refuse(ctx, perp_exit_of(status));
}

/* The cell again, alone, and what came of it. */
static int rerun_cell(perp_ctx *ctx, const perp_args *args, const perp_results *results, int cell)
{
  static perp_outcome outcome;
  const bool json = perp_option_given(args, "json");
  const perp_job job = { .study = results->study,
                         .cell = &results->plan.cells[cell],
                         .timing = perp_option_given(args, "time"),
                         .series_path = perp_args_get(args, "series") };
  if (perp_option_given(args, "here"))
    results->study->kind->run(ctx, &job, &outcome);
  else if (perp_command_run_cell(ctx, &job, &outcome) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  bool differs = !job.timing && cmd_cell_compare(results, cell, &outcome, !json);
  if (job.timing) {
    if (!json) {
      char a[32];
      printf("%-20s %14s\n", "status", perp_cell_status_names[outcome.status]);
      for (int i = 0; i < outcome.n; i++) {
        const perp_metric *metric = perp_study_metric(results->study, outcome.value[i].name);
        if (metric != NULL && metric->timing && !isnan(outcome.value[i].value))
          printf("%-20s %14s  %s\n", metric->name, perp_brief(outcome.value[i].value, a),
                 metric->unit);
      }
    }
  } else if (results->record[cell].attempt == 0) {
    differs = false;
    if (!json) printf("no results are recorded for this run\n");
  } else if (!json)
    printf(differs ? "the results differ\n" : "the same results to the last bit\n");
  if (json) {
    perp_json out = { .out = stdout, .indent = true };
    perp_json_open(&out, NULL, '{');
    perp_json_members(&out, "cell %s, status %s, reason %s, cause %s", results->plan.cells[cell].id,
                      perp_cell_status_names[outcome.status], outcome.reason, outcome.cause);
    if (!job.timing) perp_json_bool(&out, "same", !differs);
    if (outcome.pace > 0) perp_json_real(&out, "pace_s", outcome.pace);
    perp_json_open(&out, "metrics", '{');
    for (int i = 0; i < outcome.n; i++)
      perp_json_real(&out, outcome.value[i].name, outcome.value[i].value);
    perp_json_close(&out, '}');
    perp_json_close(&out, '}');
  }
  return differs ? PERP_EXIT_REGRESSED : PERP_EXIT_OK;
}

static int cmd_rerun(perp_ctx *ctx, const perp_args *args)
{
  perp_results results;
  int status = perp_results_open(ctx, args->arg[0], &results);
  if (status >= 0) return status;
  const char *lcp = perp_args_get(args, "dump-lcp"), *kkt = perp_args_get(args, "dump-kkt");
  const int cell = perp_command_cell(args, &results.plan, args->arg[1]);
  if (cell < 0)
    status = PERP_EXIT_USAGE;
  else if (perp_option_given(args, "gdb"))
    status = start_debugger(&results, cell);
  else if (lcp != NULL)
    status = dump_lcp(ctx, &results, cell, lcp);
  else if (kkt != NULL)
    status = dump_kkt(ctx, &results, cell, kkt, perp_args_get(args, "steps"));
  else
    status = rerun_cell(ctx, args, &results, cell);
  perp_results_free(&results);
  return status;
}

static const perp_flag rerun_flags[] = {
  { "gdb", 0, NULL, "Execute it in the debugger gdb, without limits." },
  { "here", 0, NULL, "Execute it in the process of perp, without limits; a crash then ends perp." },
  { "series", 0, "FILE", "Write the time series as CSV." },
  { "time", 0, NULL,
    "Make a timing round instead: only times are measured and nothing is compared." },
  { "dump-lcp", 0, "PATH",
    "Write the contact problem of the run to a file instead; of a simulation, write all its "
    "problems to a folder." },
  { "dump-kkt", 0, "DIR",
    "Write the KKT systems of the simulation to a folder instead, as Matrix Market files." },
  { "steps", 0, "N,N,..",
    "Steps whose KKT systems are written with --dump-kkt: numbers, or all (default: 1, 2, 4, 8, "
    "... and the last system)." },
  { "json", 0, NULL, "Print JSON." },
  { 0 }
};

const perp_command perp_rerun_command = {
  .cli.name = "rerun",
  .cli.usage = "DIR CELL [options]",
  .cli.summary = "Executes one run of a results folder again, alone and within its limits, and "
                 "compares its results with the recorded ones. The folder is not changed. CELL is "
                 "the id of the run or its beginning.",
  .cli.more = "Exit status: 0 the results are identical to the last bit, 6 they differ.",
  .cli.example = "perp rerun results/chain6-stab a430",
  .cli.flags = rerun_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Execute one run again and compare its results",
  .run = cmd_rerun
};
