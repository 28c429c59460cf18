/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp compare: two runs of one study, before and after a change. */
#include "experiments/cli/command.h"
#include "experiments/cli/compare.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The processor that made a run; "" when unknown. */
static char *cmd_compare_processor(const perp_results *r)
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

static int cmd_compare_read_classes(const perp_args *args, perp_compare *c)
{
  const char *list = perp_args_get(args, "fail-on");
  for (int k = 0; k < PERP_FINDINGS; k++) c->fails[k] = list == NULL;
  while (list != NULL && *list != '\0') {
    char word[32];
    size_t n = strcspn(list, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, list);
    int k = 0;
    while (k < PERP_FINDINGS && strcmp(perp_finding_names[k], word) != 0) k++;
    if (k == PERP_FINDINGS) {
      const char *close = perp_closest(word, perp_finding_names, PERP_FINDINGS);
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

/* The programs and plug-ins that may be run. */
static int read_programs(const perp_args *args, perp_compare *c, const char **plugins)
{
  int n = 0;
  for (int i = 0; i < args->n_flags; i++) {
    const char *name = args->flag[i].flag->name;
    if (strcmp(name, "again-plugin") == 0) plugins[c->n_again_plugins++] = args->flag[i].value;
    if (strcmp(name, "again-with") != 0) continue;
    if (n == 2)
      return perp_usage_error(args, "--again-with is given twice at most: for BASE and for NEW");
    c->with[n++] = args->flag[i].value;
  }
  if (n == 1) c->with[1] = c->with[0];
  c->again_plugin = plugins;
  if (c->as_recorded && n > 0)
    return perp_usage_error(args, "--again-with and --as-recorded contradict each other");
  return -1;
}

/* --again without a program: nothing that a folder names is run, but it may be shown. */
static int ask_for_programs(const perp_args *args, perp_compare *c)
{
  perp_text command = { 0 };
  int status;
  if (perp_compare_command(c, &command) != PERP_OK) {
    perp_print_error(c->ctx);
    status = PERP_EXIT_INPUT;
  } else
    status = perp_usage_error(args,
                              "--again: by which programs? What a folder names is not run unless "
                              "you say so; if you trust these files: %s",
                              command.s);
  perp_text_free(&command);
  return status;
}

static void times_json(perp_json *j, const perp_time_comparison *t)
{
  perp_json_real(j, "time_ratio", t->ratio);
  perp_json_bool(j, "paced", t->paced);
  perp_json_bool(j, "busy_machine", t->busy);
  perp_json_int(j, "timed_again", t->retimed);
  perp_json_int(j, "blocks", t->blocks);
  perp_json_text(j, "not_timed_again", t->why_not[0] != '\0' ? t->why_not : NULL);
  perp_json_text(j, "time_again", t->how.s);
}

static void times_text(const perp_time_comparison *t)
{
  if (isnan(t->ratio)) {
    printf("times: not compared, there are no timing rounds in both\n");
    return;
  }
  printf("times: %.3f times those of the base (median over cells%s)\n", t->ratio,
         t->paced ? ", in units of the pace of the machine" : "");
  if (t->busy)
    printf(
        "%d of %d timing rounds are noisy: a busy machine; solvers are compared with each other, "
        "and that ratio is taken for its pace\n",
        t->noisy, t->rounds);
  if (t->retimed > 0)
    printf("%d cell(s) timed again by both programs in turn, %d block(s) of four: that decides\n",
           t->retimed, t->blocks);
  else if (t->why_not[0] != '\0')
    printf("as recorded, nothing timed again: %s\n", t->why_not);
  if (t->how.n > 0)
    printf("to time again by the programs that the folders name, if you trust these files:\n  %s\n",
           t->how.s);
}

static int run_compare(perp_compare *c)
{
  int only_base = 0, only_now = 0;
  perp_compare_match(c, &only_base, &only_now);
  if (c->n == 0) {
    perp_say("error: %s and %s have no finished cell in common", c->base.dir, c->now.dir);
    return PERP_EXIT_NOTHING;
  }
  char *cpu[2] = { cmd_compare_processor(&c->base), cmd_compare_processor(&c->now) };
  bool same_cpu = strcmp(cpu[0], cpu[1]) == 0;
  if (c->json) {
    perp_json_open(&c->j, NULL, '{');
    perp_json_int(&c->j, "cells", c->n);
    perp_json_int(&c->j, "schema_base", c->base.selection.schema);
    perp_json_int(&c->j, "schema_new", c->now.selection.schema);
    perp_json_int(&c->j, "only_base", only_base);
    perp_json_int(&c->j, "only_new", only_now);
    perp_json_bool(&c->j, "same_processor", same_cpu);
    perp_json_open(&c->j, "findings", '[');
  } else {
    printf("%s: %d cells in both", c->base.study->name, c->n);
    if (only_base > 0) printf(", %d in %s alone", only_base, c->base.dir);
    if (only_now > 0) printf(", %d in %s alone", only_now, c->now.dir);
    printf("\n");
    if (c->base.as_recorded + c->now.as_recorded > 0)
      printf("ok in %s as recorded (schema 1): it did not mean that every problem was solved\n",
             c->base.as_recorded == 0  ? c->now.dir
             : c->now.as_recorded == 0 ? c->base.dir
                                       : "both");
  }
  perp_compare_status(c);
  int changed = perp_compare_results(c);
  perp_time_comparison times = { .ratio = (double)NAN };
  if (same_cpu && perp_compare_times(c, &times) != PERP_OK) {
    perp_print_error(c->ctx);
    perp_text_free(&times.how);
    free(cpu[0]);
    free(cpu[1]);
    return PERP_EXIT_INPUT;
  }
  bool failed = false;
  for (int k = 0; k < PERP_FINDINGS; k++) failed = failed || (c->fails[k] && c->regressions[k] > 0);
  if (c->json) {
    perp_json_close(&c->j, ']');
    perp_json_int(&c->j, "changed", changed);
    times_json(&c->j, &times);
    perp_json_open(&c->j, "regressions", '{');
    for (int k = 0; k < PERP_FINDINGS; k++)
      perp_json_int(&c->j, perp_finding_names[k], c->regressions[k]);
    perp_json_close(&c->j, '}');
    perp_json_bool(&c->j, "regressed", failed);
    perp_json_close(&c->j, '}');
  } else {
    printf("results: %d of %d cells differ in some figure\n", changed, c->n);
    if (!same_cpu)
      printf("times: not compared, the processors differ (%s; %s)\n", cpu[0], cpu[1]);
    else
      times_text(&times);
    printf("%d regression(s) in time, %d in accuracy, %d in status; %d improvement(s)\n",
           c->regressions[PERP_FINDING_TIME], c->regressions[PERP_FINDING_ACCURACY],
           c->regressions[PERP_FINDING_STATUS], c->improvements);
  }
  perp_text_free(&times.how);
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
    { "again-with", 0, "PROGRAM",
      "run this program to time cells again: given twice, that of BASE and that of NEW; once, when "
      "one made both" },
    { "again-plugin", 0, "FILE.so",
      "a plug-in for these programs, where a folder was made with one (--plugin counts too)" },
    { "again", 0, "N",
      "with --again-with: time all cells, N blocks of four (new and old alternate), and compare "
      "these times" },
    { "as-recorded", 0, NULL, "start no program: the times of the journals only" },
    { "json", 0, NULL, "as JSON" },
    { 0 }
  };
  static const perp_cli cli = {
    "compare",
    "BASE NEW [options]",
    "Compares two runs of one study, before and after a change: cells that no longer end well, "
    "results that became worse, solvers that became slower. Times are compared for each value of "
    "each axis and for single cells, with a rank test and a bootstrap interval; 3 timing rounds or "
    "more are needed. They are taken in units of the pace of the machine, a fixed piece of work "
    "timed beside each round, as a neighbour on the same core costs up to half as much again.\n\n"
    "A folder is data: what it holds or names is never run. Where you name the programs of both "
    "runs (--again-with; the journals have paths and hashes, perp run --keep-program keeps copies) "
    "a difference in time is a suspicion at first: the cells of it are timed again, by both "
    "programs in turn, and that decides. The hashes are a check: a program that did not make the "
    "folder is refused. Without --again-with times are compared as recorded, and the command that "
    "would time again is printed.",
    "Exit status 6: a regression.",
    "perp compare results/before results/after --fail-on time",
    flags,
    2,
    2
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  const char *plugins[PERP_ARGS_MAX];
  perp_compare c = { .ctx = ctx,
                     .time_tol = 0.10,
                     .accuracy_tol = 0.05,
                     .json = perp_args_get(&args, "json") != NULL,
                     .j = { .out = stdout, .indent = true } };
  c.as_recorded = perp_args_get(&args, "as-recorded") != NULL;
  const char *again = perp_args_get(&args, "again");
  int64_t blocks = 0;
  if (again != NULL && perp_parse_int(ctx, again, 1, PERP_COMPARE_BLOCKS, &blocks) != PERP_OK)
    return perp_usage_error(&args, "--again: %s", ctx->msg);
  if (again != NULL && c.as_recorded)
    return perp_usage_error(&args, "--again and --as-recorded contradict each other");
  c.again = (int)blocks;
  status = read_programs(&args, &c, plugins);
  if (status < 0) status = cmd_compare_read_classes(&args, &c);
  if (status < 0) status = read_tolerance(&args, "time-tol", &c.time_tol);
  if (status < 0) status = read_tolerance(&args, "accuracy-tol", &c.accuracy_tol);
  if (status < 0) status = perp_results_open(ctx, args.arg[0], &c.base);
  if (status >= 0) return status;
  status = perp_results_open(ctx, args.arg[1], &c.now);
  if (status < 0) {
    if (strcmp(c.base.study->kind->name, c.now.study->kind->name) != 0) {
      perp_say("error: %s is a study of kind %s, %s of kind %s", c.base.dir,
               c.base.study->kind->name, c.now.dir, c.now.study->kind->name);
      status = PERP_EXIT_INPUT;
    } else
      status = c.again > 0 && c.with[0] == NULL ? ask_for_programs(&args, &c) : run_compare(&c);
    perp_results_free(&c.now);
  }
  perp_results_free(&c.base);
  free(c.a);
  free(c.b);
  return status;
}
