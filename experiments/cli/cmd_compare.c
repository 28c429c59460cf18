/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp compare: two runs of one study, before and after a change. */
#include "experiments/cli/command.h"
#include "experiments/cli/compare.h"
#include "experiments/run/commits.h"
#include "experiments/base/numbers.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What made a run; "" when unknown. */
struct machine {
  char *cpu;
  char *blas; /* "Haswell, 1 thread" */
};

static struct machine cmd_compare_machine(const perp_results *results)
{
  char *path = results->n_envs > 0
                   ? perp_xprintf("%s/env/%s.json", results->envs[0].dir, results->envs[0].id)
                   : NULL;
  json_t *env = path != NULL ? perp_json_read_file(path) : NULL;
  const json_t *libraries = json_object_get(env, "libraries");
  const char *cpu = json_string_value(json_object_get(env, "cpu")),
             *core = json_string_value(json_object_get(libraries, "openblas_core"));
  const int threads = (int)json_integer_value(json_object_get(libraries, "openblas_threads"));
  const struct machine machine = {
    .cpu = perp_xstrdup(cpu != NULL ? cpu : ""),
    .blas = core != NULL ? perp_xprintf("%s, %d thread%s", core, threads, threads == 1 ? "" : "s")
                         : perp_xstrdup("")
  };
  json_decref(env);
  free(path);
  return machine;
}

/* ---- the command ---- */

static int cmd_compare_read_classes(const perp_args *args, perp_compare *compare)
{
  for (int k = 0; k < PERP_FINDINGS; k++) compare->fails[k] = !perp_option_given(args, "fail-on");
  return perp_option_words(args, "fail-on", "class", perp_finding_names, PERP_FINDINGS,
                           " (time, accuracy, status)", compare->fails);
}

/* "10%" or "0.1" */
static int read_tolerance(const perp_args *args, const char *flag, double *tol)
{
  const char *text = perp_args_get(args, flag);
  if (text == NULL) return -1;
  if (!perp_parse_share(text, tol))
    return perp_usage_error(args, "--%s must be a number or a percentage: got '%s'", flag, text);
  return -1;
}

/* The programs and plug-ins that may be run. */
static int read_programs(const perp_args *args, perp_compare *compare, const char **plugins)
{
  int n = 0;
  for (int flag = 0; flag < args->n_flags; flag++) {
    const char *name = args->flag[flag].flag->name;
    if (strcmp(name, "again-plugin") == 0)
      plugins[compare->n_again_plugins++] = args->flag[flag].value;
    if (strcmp(name, "again-with") != 0) continue;
    if (n == 2)
      return perp_usage_error(args, "--again-with can be used at most twice: for BASE and for NEW");
    compare->with[n++] = args->flag[flag].value;
  }
  if (n == 1) compare->with[1] = compare->with[0];
  compare->again_plugin = plugins;
  if (compare->as_recorded && n > 0)
    return perp_usage_error(
        args, "--again-with and --as-recorded contradict each other; use one of them");
  return -1;
}

/* --again without a program: nothing that a folder names is run, but it may be shown. */
static int ask_for_programs(const perp_args *args, perp_compare *compare)
{
  perp_text command = { 0 };
  const int status = perp_compare_line(compare, &command) != PERP_OK
                         ? perp_refuse(compare->ctx, PERP_EXIT_INPUT)
                         : perp_usage_error(
                               args,
                               "--again needs the programs (--again-with). Programs named in a "
                               "folder are not executed by default; if you trust these files: %s",
                               command.s);
  perp_text_free(&command);
  return status;
}

static void times_json(perp_json *json, const perp_time_comparison *comparison)
{
  perp_json_members(json,
                    "time_ratio %g, paced? %d, busy_machine? %d, timed_again %d, blocks %d, "
                    "not_timed_again %s, time_again %s",
                    comparison->ratio, comparison->paced, comparison->busy, comparison->retimed,
                    comparison->blocks, comparison->why_not[0] != '\0' ? comparison->why_not : NULL,
                    comparison->how.s);
}

static void times_text(const perp_time_comparison *comparison)
{
  if (isnan(comparison->ratio)) {
    printf("times: not compared, because one folder has no timing rounds\n");
    return;
  }
  printf("times: %.3f times those of the base (median over runs%s)\n", comparison->ratio,
         comparison->paced ? ", relative to the speed of the machine" : "");
  if (comparison->busy)
    printf("%d of %d timing rounds are noisy: the machine was busy. The ratio between solvers is "
           "taken as the speed of the machine.\n",
           comparison->noisy, comparison->rounds);
  if (comparison->retimed > 0)
    printf("%d run(s) timed again by both programs in turn, in %d block(s) of four; these times "
           "decide\n",
           comparison->retimed, comparison->blocks);
  else if (comparison->why_not[0] != '\0')
    printf("times are compared as recorded, nothing was timed again: %s\n", comparison->why_not);
  if (comparison->how.n > 0)
    printf(
        "to time again with the programs named in the folders, if you trust these files:\n  %s\n",
        comparison->how.s);
}

/* What comes after the single findings.  cpu: the two processors, where they differ. */
static int conclude(perp_compare *compare, int changed, const char *const *cpu,
                    const perp_time_comparison *times)
{
  bool failed = false;
  for (int k = 0; k < PERP_FINDINGS; k++)
    failed = failed || (compare->fails[k] && compare->regressions[k] > 0);
  if (compare->json) {
    perp_json_close(&compare->j, ']');
    perp_json_members(&compare->j, "changed %d, largest_difference %g", changed, compare->largest);
    times_json(&compare->j, times);
    perp_json_open(&compare->j, "regressions", '{');
    for (int k = 0; k < PERP_FINDINGS; k++)
      perp_json_int(&compare->j, perp_finding_names[k], compare->regressions[k]);
    perp_json_close(&compare->j, '}');
    perp_json_bool(&compare->j, "regressed", failed);
    perp_json_close(&compare->j, '}');
  } else {
    printf("results: %d of %d runs differ in at least one figure\n", changed, compare->n);
    if (compare->largest > 0)
      printf("largest difference: %.2g of the figure (%s)\n", compare->largest,
             compare->largest_of);
    if (cpu != NULL)
      printf("times: not compared, because the processors differ (%s; %s)\n", cpu[0], cpu[1]);
    else
      times_text(times);
    printf("%d regression(s) in time, %d in accuracy, %d in status; %d improvement(s)\n",
           compare->regressions[PERP_FINDING_TIME], compare->regressions[PERP_FINDING_ACCURACY],
           compare->regressions[PERP_FINDING_STATUS], compare->improvements);
  }
  return failed ? PERP_EXIT_REGRESSED : PERP_EXIT_OK;
}

static int run_compare(perp_compare *compare)
{
  int only_base = 0, only_now = 0;
  perp_compare_match(compare, &only_base, &only_now);
  if (compare->n == 0) {
    perp_say("error: %s and %s have no finished run in common", compare->base.dir,
             compare->now.dir);
    return PERP_EXIT_NOTHING;
  }
  struct machine made[2] = { cmd_compare_machine(&compare->base),
                             cmd_compare_machine(&compare->now) };
  const char *const cpu[2] = { made[0].cpu, made[1].cpu };
  const bool same_cpu = strcmp(cpu[0], cpu[1]) == 0,
             same_blas = strcmp(made[0].blas, made[1].blas) == 0;
  if (compare->json) {
    perp_json_open(&compare->j, NULL, '{');
    perp_json_members(&compare->j,
                      "cells %d, schema_base %d, schema_new %d, only_base %d, only_new %d, "
                      "same_processor? %d, openblas_base %s, openblas_new %s",
                      compare->n, compare->base.selection.schema, compare->now.selection.schema,
                      only_base, only_now, same_cpu, made[0].blas, made[1].blas);
    perp_json_open(&compare->j, "findings", '[');
  } else {
    printf("%s: %d runs in both", compare->base.study->name, compare->n);
    if (only_base > 0) printf(", %d only in %s", only_base, compare->base.dir);
    if (only_now > 0) printf(", %d only in %s", only_now, compare->now.dir);
    printf("\n");
    if (compare->base.as_recorded + compare->now.as_recorded > 0)
      printf("note: ok in %s has the older meaning (schema 1): not every problem was solved "
             "necessarily\n",
             compare->base.as_recorded == 0  ? compare->now.dir
             : compare->now.as_recorded == 0 ? compare->base.dir
                                             : "both");
    if (!same_blas)
      printf("note: the kernels of OpenBLAS differ (%s; %s), and with them last digits: "
             "OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS choose them\n",
             made[0].blas, made[1].blas);
  }
  perp_compare_status(compare);
  int changed = perp_compare_results(compare);
  perp_time_comparison times = { .ratio = (double)NAN };
  int status = PERP_EXIT_INPUT;
  if (same_cpu && perp_compare_times(compare, &times) != PERP_OK)
    perp_print_error(compare->ctx);
  else
    status = conclude(compare, changed, same_cpu ? NULL : cpu, &times);
  perp_text_free(&times.how);
  for (int i = 0; i < 2; i++) {
    free(made[i].cpu);
    free(made[i].blas);
  }
  return status;
}

/* With --study both sides are commits: what they have built and computed is compared. */
static int run_commits(perp_compare *compare, const perp_args *args, perp_commits *commits,
                       const char **name)
{
  const char *study = perp_args_get(args, "study"), *given = perp_args_get(args, "output");
  if (study == NULL)
    return given != NULL || perp_option_given(args, "set")
               ? perp_usage_error(
                     args, "-o and --set need --study: they apply to the comparison of two commits")
               : -1;
  if (compare->with[0] != NULL)
    return perp_usage_error(args,
                            "--study and --again-with contradict each other; use one of them");
  char *path = perp_study_find(compare->ctx, study);
  if (path == NULL) return perp_usage_of(compare->ctx, args, "%s", compare->ctx->msg);
  char *out = given != NULL ? perp_xstrdup(given)
                            : perp_xprintf("results/compare-%ld", (long)getpid());
  const perp_status status = perp_commits_run(compare->ctx, args, path, out, commits);
  free(path);
  free(out);
  if (status != PERP_OK)
    return perp_refuse(compare->ctx, status == PERP_ERR_ARG ? PERP_EXIT_USAGE : PERP_EXIT_INFRA);
  for (int side = 0; side < 2; side++) {
    name[side] = commits->result[side];
    if (!compare->as_recorded)
      compare->with[side] =
          commits->program[side]; /* they were built here, from the tree of the person */
  }
  return -1;
}

static int cmd_compare(perp_ctx *ctx, const perp_args *args)
{
  const char *plugins[PERP_ARGS_MAX];
  perp_compare compare = { .ctx = ctx,
                           .time_tol = 0.10,
                           .accuracy_tol = 0.05,
                           .json = perp_option_given(args, "json"),
                           .j = { .out = stdout, .indent = true } };
  compare.as_recorded = perp_option_given(args, "as-recorded");
  int64_t blocks = 0;
  int status = perp_option_int(ctx, args, "again", 1, PERP_COMPARE_BLOCKS, &blocks);
  if (status >= 0) return status;
  if (blocks > 0 && compare.as_recorded)
    return perp_usage_error(args,
                            "--again and --as-recorded contradict each other; use one of them");
  compare.again = (int)blocks;
  status = read_programs(args, &compare, plugins);
  if (status < 0) status = cmd_compare_read_classes(args, &compare);
  if (status < 0) status = read_tolerance(args, "time-tol", &compare.time_tol);
  if (status < 0) status = read_tolerance(args, "accuracy-tol", &compare.accuracy_tol);
  perp_commits commits = { 0 };
  const char *name[2] = { args->arg[0], args->arg[1] };
  if (status < 0) status = run_commits(&compare, args, &commits, name);
  if (status < 0) status = perp_results_open(ctx, name[0], &compare.base);
  if (status >= 0) {
    perp_commits_free(&commits);
    return status;
  }
  status = perp_results_open(ctx, name[1], &compare.now);
  if (status < 0) {
    if (strcmp(compare.base.study->kind->name, compare.now.study->kind->name) != 0) {
      perp_say("error: %s is a study of kind %s, %s of kind %s", compare.base.dir,
               compare.base.study->kind->name, compare.now.dir, compare.now.study->kind->name);
      status = PERP_EXIT_INPUT;
    } else
      status = compare.again > 0 && compare.with[0] == NULL ? ask_for_programs(args, &compare)
                                                            : run_compare(&compare);
    perp_results_free(&compare.now);
  }
  perp_results_free(&compare.base);
  perp_commits_free(&commits);
  free(compare.a);
  free(compare.b);
  return status;
}

static const perp_flag compare_flags[] = {
  { "fail-on", 0, "CLASS,..",
    "Findings that cause exit status 6: time, accuracy, status (default: all)." },
  { "time-tol", 0, "X", "Relative slowdown above which a difference is a finding (default: 10%)." },
  { "accuracy-tol", 0, "X",
    "Relative loss of accuracy above which a difference is a finding (default: 5%)." },
  { "again-with", 0, "PROGRAM",
    "Program that times runs again. Use it twice for the programs of BASE and of NEW, once when "
    "one program made both." },
  { "again-plugin", 0, "FILE.so",
    "Plug-in for these programs, if a folder was computed with one (--plugin counts too)." },
  { "again", 0, "N",
    "With --again-with: time all runs in N blocks of four (new and old alternate), and compare "
    "these times." },
  { "study", 0, "STUDY",
    "Compare two commits of perp, BASE and NEW: build both and run this study with both in turn." },
  { "output", 'o', "DIR", "With --study: results folder (default: results/compare-...)." },
  { "set", 0, "KEY=VALUE", "With --study: override a value of the study, as in perp run." },
  { "as-recorded", 0, NULL, "Start no program: compare the recorded times only." },
  { "json", 0, NULL, "Print JSON." },
  { 0 }
};

const perp_command perp_compare_command = {
  .cli.name = "compare",
  .cli.usage = "BASE NEW [options]",
  .cli.summary =
      "Compares two results of one study, before and after a change. It lists runs that no longer "
      "succeed, results that became worse, and solvers that became slower.\n\nTimes are compared "
      "for each value of each axis and for single runs, with a rank test and a bootstrap interval. "
      "At least 3 timing rounds are needed. Times are relative to a fixed piece of work that is "
      "timed beside each round. This reduces the influence of other processes on the same "
      "machine.\n\nPrograms named in a folder are never executed by default. Name the programs of "
      "both results with --again-with to time suspicious runs again. Both programs then run in "
      "turn, and these times decide. A program that did not make the folder is refused (its hash "
      "differs). perp run --keep-program stores a copy of the program.\n\nWithout --again-with "
      "times are compared as recorded, and perp prints the command that would time again.\n\nWith "
      "--study the two sides are commits (HEAD~1, a tag) of the source tree of perp. Each is "
      "checked out in a temporary git worktree and built with meson. The study is then run with "
      "both in turn.",
  .cli.more = "Exit status: 0 no regression, 6 a regression.",
  .cli.example = "perp compare results/before results/after --fail-on time",
  .cli.flags = compare_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Compare two results of one study: regressions",
  .run = cmd_compare
};
