/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp run, check, plan */
#include "experiments/plugins/plugin_files.h"
#include "experiments/report/report.h"
#include "experiments/report/web.h"
#include "experiments/cli/command.h"
#include "experiments/base/env.h"
#include "experiments/run/run.h"
#include "experiments/base/shell.h"
#include "experiments/run/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- run -------------------------------------------------------------------------------------------------- */

static perp_status write_report(perp_ctx *ctx, const char *dir, void *user)
{
  (void)user;
  char page[4096];
  perp_report_request request = { 0 };
  PERP_TRY(perp_report(ctx, dir, &request, page, sizeof page));
  printf("report  %s\n", page);
  if (!perp_web_built())
    perp_say("its figures are pictures; interactive ones: ./perp report %s --interactive", dir);
  return PERP_OK;
}

/* The words of a command line so that a shell reads them back; --fresh does not belong to resuming. */
static char *command_line(int argc, char **argv)
{
  perp_text t = { 0 };
  perp_text_add(&t, "perp");
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--fresh") == 0) continue;
    perp_text_add(&t, " ");
    perp_shell_word(&t, argv[i]);
  }
  perp_plugin_arguments(&t);
  return t.s;
}

static int read_retry(const perp_args *args, perp_run_options *o)
{
  const char *list = perp_args_get(args, "retry");
  while (list != NULL && *list != '\0') {
    size_t n = strcspn(list, ",");
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)n, list);
    perp_cell_status status = perp_cell_status_of(word);
    if (status <= PERP_CELL_OK || status > PERP_CELL_SKIPPED) {
      const char *const *names = perp_cell_status_names + PERP_CELL_FIXED_WORK;
      int count = PERP_CELL_SKIPPED + 1 - PERP_CELL_FIXED_WORK;
      const char *close = perp_closest(word, names, count);
      return perp_usage_error(args, "--retry: unknown cause '%s'%s%s%s", word,
                              close != NULL ? "; did you mean '" : "", close != NULL ? close : "",
                              close != NULL ? "'?" : "");
    }
    o->retry[status] = true;
    list += n + (list[n] == ',');
  }
  return -1;
}

static int read_shard(const perp_args *args, perp_run_options *o)
{
  const char *text = perp_args_get(args, "shard");
  if (text == NULL) return -1;
  int k = 0, n = 0, end = 0;
  const char *colon = strchr(text, ':'), *numbers = colon != NULL ? colon + 1 : text;
  bool known = colon == NULL || strncmp(text, "slice:", 6) == 0 || strncmp(text, "hash:", 5) == 0;
  if (!known || sscanf(numbers, "%d/%d%n", &k, &n, &end) != 2 || numbers[end] != '\0' || k < 1 ||
      n < k)
    return perp_usage_error(
        args, "--shard must be k/n, slice:k/n or hash:k/n with 1 <= k <= n: got '%s'", text);
  o->shard = text;
  return -1;
}

static int read_options(perp_ctx *ctx, const perp_args *args, perp_run_options *o)
{
  const char *text;
  int64_t jobs = 0;
  if ((text = perp_args_get(args, "jobs")) != NULL &&
      perp_parse_int(ctx, text, 1, 4096, &jobs) != PERP_OK)
    return perp_usage_error(args, "--jobs: %s", ctx->msg);
  o->jobs = (int)jobs;
  if ((text = perp_args_get(args, "timeout")) != NULL &&
      perp_parse_duration(ctx, text, &o->timeout) != PERP_OK)
    return perp_usage_error(args, "--timeout: %s", ctx->msg);
  if ((text = perp_args_get(args, "budget")) != NULL &&
      perp_parse_duration(ctx, text, &o->budget) != PERP_OK)
    return perp_usage_error(args, "--budget: %s", ctx->msg);
  if ((text = perp_args_get(args, "memory")) != NULL &&
      perp_parse_size(ctx, text, &o->memory) != PERP_OK)
    return perp_usage_error(args, "--memory: %s", ctx->msg);
  o->only = perp_args_get(args, "only");
  o->skip = perp_args_get(args, "skip");
  o->keep_program = perp_args_get(args, "keep-program") != NULL;
  o->fresh = perp_args_get(args, "fresh") != NULL;
  if ((text = perp_args_get(args, "progress")) != NULL) {
    int k = 0, n = 0;
    while (perp_progress_styles[n] != NULL) n++;
    while (k < n && strcmp(perp_progress_styles[k], text) != 0) k++;
    const char *close = perp_closest(text, perp_progress_styles, n);
    if (k == n)
      return perp_usage_error(args, "--progress is auto, plain, json or none: got '%s'%s%s%s", text,
                              close != NULL ? "; did you mean '" : "", close != NULL ? close : "",
                              close != NULL ? "'?" : "");
    o->progress = (perp_progress_style)k;
  }
  o->quiet = perp_args_get(args, "quiet") != NULL;
  if (o->quiet) o->progress = PERP_PROGRESS_NONE;
  /* programs read objects, and nothing else, until there is an error */
  if (o->progress == PERP_PROGRESS_JSON) o->quiet = true;
  if (perp_args_get(args, "no-report") != NULL) o->report = NULL;
  if (o->fresh && perp_args_get(args, "resume") != NULL)
    return perp_usage_error(args, "--fresh and --resume contradict each other");
  int status = read_retry(args, o);
  return status >= 0 ? status : read_shard(args, o);
}

int perp_cmd_run(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "output", 'o', "DIR", "results folder (default results/NAME)" },
    { "jobs", 'j', "N", "cells at a time (default: one a core)" },
    { "set", 0, "KEY=VALUE",
      "change the study: profile=NAME, or a dotted key: measure.repeats=5, "
      "h='[1 ms, 2 ms]'; may be given several times" },
    { "only", 0, "EXPR", "run these cells only: 'stab == post and h <= 1 ms'" },
    { "skip", 0, "EXPR", "leave these out" },
    { "resume", 0, NULL, "keep what is finished (the default)" },
    { "fresh", 0, NULL, "forget earlier results of this folder" },
    { "retry", 0, "CAUSE,..", "run cells again that ended as crash, timeout, oom, ..." },
    { "shard", 0, "K/N",
      "the K-th of N parts: every N-th cell (slice:K/N), or by id (hash:K/N); parts may share the "
      "folder, or perp merge puts theirs together" },
    { "timeout", 0, "TIME", "wall time of one cell, over the limit of the study" },
    { "memory", 0, "SIZE", "memory of one cell, over the limit of the study" },
    { "budget", 0, "TIME", "start no cell after this much time" },
    { "keep-program", 0, NULL,
      "keep a copy of the program and its plug-ins in the results folder, for perp compare "
      "--again-with after a rebuild" },
    { "no-report", 0, NULL, "tables only, no report.html" },
    { "progress", 0, "STYLE",
      "auto (a bar on a terminal, else lines), plain, json (an object a line), none" },
    { "quiet", 'q', NULL, "no progress, and no messages but errors" },
    { 0 }
  };
  static const perp_cli cli = {
    "run",
    "STUDY [options]",
    "Runs a study: every combination of its grid in a process of its own, measured against ground "
    "truth. STUDY is a file or the name of one that comes with perp (perp list studies). Without "
    "--set "
    "profile=NAME the profile `short` is taken where the study has one. Running it again does what "
    "is "
    "missing.",
    "A cell is ok when the run reached its end and the solver that was named solved every problem "
    "of it; unsolved when it went on with problems that it did not solve (its figures stand, "
    "marked, "
    "and win nothing unless the study accepts a share); fixed-work when it made the sweeps it was "
    "asked for.\n\n"
    "Exit status 0: done (unsolved, diverged and timed-out cells are results); 5: some cells "
    "crashed or ran out of memory; 7: incomplete, run it again to go on; 10: no cell succeeded "
    "(ok, fixed-work, or unsolved within the accepted share).",
    "perp run chain6-stab --only 'stab == post' -j 2",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  perp_run_options o = { .timeout = (double)NAN, .memory = (double)NAN, .report = write_report };
  status = read_options(ctx, &args, &o);
  perp_study *study = NULL;
  if (status < 0) status = perp_command_study(ctx, &args, &study);
  if (status >= 0) return status;
  bool asked = false;
  for (int i = 0; i < args.n_flags; i++)
    asked = asked || (strcmp(args.flag[i].flag->name, "set") == 0 &&
                      strncmp(args.flag[i].value, "profile=", 8) == 0);
  if (study->profile != NULL && !asked && !o.quiet)
    perp_say("taking the profile %s (--set profile=NAME takes another one)", study->profile);
  const char *dir = perp_args_get(&args, "output");
  char *folder = dir != NULL ? perp_xstrdup(dir) : perp_xprintf("results/%s", study->name);
  char *again = command_line(argc, argv);
  o.dir = folder;
  o.again = again;
  status = perp_run(ctx, study, &o, NULL);
  free(again);
  free(folder);
  perp_study_free(study);
  return status;
}

/* ---- check, plan ---------------------------------------------------------------------------------------------- */

static const perp_flag study_flags[] = {
  { "set", 0, "KEY=VALUE", "change the study, as in perp run" },
  { "quick", 0, NULL, "read only: do not try whether the parts of each cell fit together" },
  { "pilot", 0, NULL, "run up to five cells and say how long all will take" },
  { "json", 0, NULL, "as JSON" },
  { 0 }
};

static void trial_json(perp_json *j, const char *name, const perp_trial *t, const perp_plan *plan,
                       perp_trial_verdict verdict)
{
  perp_trial_reason *r;
  int n = perp_trial_reasons(t, verdict, &r);
  perp_json_open(j, name, '[');
  for (int i = 0; i < n; i++) {
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "why", r[i].why);
    perp_json_int(j, "cells", r[i].cells);
    perp_json_text(j, "first", plan->cells[r[i].first].id);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
  free(r);
}

static void check_json(const perp_study *s, const perp_plan *plan, const perp_trial *trial)
{
  perp_json j = { .out = stdout, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "study", s->name);
  perp_json_text(&j, "kind", s->kind->name);
  perp_json_text(&j, "profile", s->profile);
  perp_json_int(&j, "combinations", plan->combinations);
  perp_json_int(&j, "cells", plan->n);
  perp_json_int(&j, "duplicates", plan->duplicates);
  perp_json_int(&j, "timing_rounds", s->measure.repeats);
  perp_json_open(&j, "axes", '[');
  for (int a = 0; a < s->n_axes; a++) {
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "name", s->kind->params[s->axes[a].param].key);
    perp_json_open(&j, "values", '[');
    for (int i = 0; i < s->axes[a].n; i++) perp_json_text(&j, NULL, s->axes[a].value[i]);
    perp_json_close(&j, ']');
    perp_json_close(&j, '}');
  }
  perp_json_close(&j, ']');
  perp_json_open(&j, "excluded", '[');
  for (int e = 0; e < s->n_exclude; e++) {
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "where", s->exclude[e].where_text);
    perp_json_text(&j, "reason", s->exclude[e].reason);
    perp_json_int(&j, "combinations", plan->excluded[e]);
    perp_json_close(&j, '}');
  }
  perp_json_close(&j, ']');
  perp_json_open(&j, "unused", '[');
  for (int i = 0; i < plan->n_drops; i++) {
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "parameter", s->kind->params[plan->drops[i].param].key);
    perp_json_text(&j, "why", plan->drops[i].why);
    perp_json_int(&j, "combinations", plan->drops[i].combinations);
    perp_json_close(&j, '}');
  }
  perp_json_close(&j, ']');
  perp_json_int(&j, "tried", trial->n - trial->count[PERP_TRIAL_NOT]);
  trial_json(&j, "refused", trial, plan, PERP_TRIAL_REFUSED);
  trial_json(&j, "unsuited", trial, plan, PERP_TRIAL_UNSUITED);
  trial_json(&j, "failed", trial, plan, PERP_TRIAL_FAILED);
  perp_json_close(&j, '}');
}

/* What is not as it looks in the study: equal combinations, cells that cannot be set up. */
static void print_findings(const perp_study *s, const perp_plan *plan, const perp_trial *trial)
{
  enum { MOST = 20 };
  perp_text t = { 0 };
  perp_plan_say(s, plan, &t);
  if (t.n > 0) perp_wrap(stdout, 0, t.s);
  perp_text_free(&t);
  perp_trial_say(trial, s, plan, PERP_TRIAL_REFUSED, MOST, &t);
  perp_trial_say(trial, s, plan, PERP_TRIAL_UNSUITED, MOST / 2, &t);
  perp_trial_say(trial, s, plan, PERP_TRIAL_FAILED, MOST, &t);
  if (t.n > 0) fputs(t.s, stdout);
  if (t.n == 0 && trial->tried > 0)
    printf("every cell can be set up (%d different combinations of parts tried)\n", trial->tried);
  perp_text_free(&t);
}

static void check_text(const perp_study *s, const perp_plan *plan)
{
  printf("%s is valid: %s%s%s\n", s->file, s->name, s->profile != NULL ? ", profile " : "",
         s->profile != NULL ? s->profile : "");
  for (int a = 0; a < s->n_axes; a++) {
    perp_text t = { 0 };
    perp_text_add(&t, "%-12s %3d ", s->kind->params[s->axes[a].param].key, s->axes[a].n);
    for (int i = 0; i < s->axes[a].n; i++) perp_text_add(&t, " %s", s->axes[a].value[i]);
    perp_wrap(stdout, 2, t.s);
    perp_text_free(&t);
  }
  printf("%lld combinations", (long long)plan->combinations);
  for (int e = 0; e < s->n_exclude; e++)
    printf(", %d excluded (%s)", plan->excluded[e],
           s->exclude[e].reason[0] ? s->exclude[e].reason : s->exclude[e].where_text);
  if (plan->duplicates > 0) printf(", %d equal to another one", plan->duplicates);
  printf(": %d cells", plan->n);
  if (s->measure.repeats > 0) printf(", %d timing rounds each", s->measure.repeats);
  printf("\n");
}

/* The study that the arguments name and its cells; -1, or an exit status after a message. */
static int planned_study(perp_ctx *ctx, const perp_args *args, perp_study **study, perp_plan *plan)
{
  int status = perp_command_study(ctx, args, study);
  if (status >= 0) return status;
  if (perp_plan_make(ctx, *study, plan) != PERP_OK) {
    perp_print_error(ctx);
    status = PERP_EXIT_INPUT;
  } else
    status = perp_plan_refuse(*study, plan);
  if (status >= 0) {
    perp_plan_free(plan);
    perp_study_free(*study);
  }
  return status;
}

int perp_cmd_check(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_cli cli = {
    "check",
    "STUDY [options]",
    "Reads a study and says what is wrong with it, or how many cells it has: which combinations "
    "are "
    "equal because a part has no effect in them, and which cannot be set up because their parts "
    "refuse each other. For that every combination of parts is created once, and not run.",
    "Exit status 0: valid; 3: not, or a value is used by no cell; 4: there is no cell that could "
    "be "
    "run.",
    "perp check my-study.yaml --set profile=full --pilot",
    study_flags,
    1,
    1
  };
  perp_args args;
  perp_study *study;
  perp_plan plan;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status < 0) status = planned_study(ctx, &args, &study, &plan);
  if (status >= 0) return status;
  const bool json = perp_args_get(&args, "json") != NULL;
  perp_trial trial = { 0 };
  if (!json) check_text(study, &plan);
  fflush(stdout);
  if (perp_args_get(&args, "quick") == NULL &&
      perp_trial_make(ctx, study, &plan, NULL, perp_cores(), PERP_PROGRESS_AUTO, &trial) !=
          PERP_OK) {
    perp_print_error(ctx);
    perp_plan_free(&plan);
    perp_study_free(study);
    return PERP_EXIT_INTERNAL;
  }
  if (json)
    check_json(study, &plan, &trial);
  else
    print_findings(study, &plan, &trial);
  if (perp_args_get(&args, "pilot") != NULL && plan.n > 0 && !json) {
    char one[32], all[32];
    double seconds = perp_command_pilot(ctx, study, &plan);
    int cores = perp_cores();
    if (isfinite(seconds))
      printf("about %s on one core, %s on the %d here\n", perp_brief_time(seconds, one),
             perp_brief_time(seconds / cores, all), cores);
    else
      perp_print_error(ctx);
  }
  status = plan.n > trial.count[PERP_TRIAL_REFUSED] ? PERP_EXIT_OK : PERP_EXIT_NOTHING;
  perp_trial_free(&trial);
  perp_plan_free(&plan);
  perp_study_free(study);
  return status;
}

/* Work is what the kind estimates: steps, or rows squared. */
static void print_shards(const perp_args *args, const perp_study *s, const perp_plan *plan, int n,
                         bool json)
{
  double total = 0;
  for (int i = 0; i < plan->n; i++)
    total += s->kind->work != NULL ? s->kind->work(s, &plan->cells[i]) : 1;
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (int k = 1; k <= n; k++) {
    int cells = 0;
    double work = 0;
    for (int i = k - 1; i < plan->n; i += n, cells++)
      work += s->kind->work != NULL ? s->kind->work(s, &plan->cells[i]) : 1;
    perp_text command = { 0 };
    perp_text_add(&command, "perp run ");
    perp_shell_path(&command, args->arg[0]);
    for (int f = 0; f < args->n_flags; f++)
      if (strcmp(args->flag[f].flag->name, "set") == 0) {
        perp_text_add(&command, " --set ");
        perp_shell_word(&command, args->flag[f].value);
      }
    char *part = perp_xprintf("%s-%d", s->name, k);
    perp_text_add(&command, " --shard %d/%d -o ", k, n);
    perp_shell_path(&command, part);
    free(part);
    perp_plugin_arguments(&command);
    if (json) {
      perp_json_open(&j, NULL, '{');
      perp_json_int(&j, "shard", k);
      perp_json_int(&j, "cells", cells);
      perp_json_real(&j, "work", total > 0 ? work / total : 0);
      perp_json_text(&j, "command", command.s);
      perp_json_close(&j, '}');
    } else
      printf("%d cells, %.1f %% of the work: %s\n", cells, total > 0 ? 100 * work / total : 0,
             command.s);
    perp_text_free(&command);
  }
  if (json) {
    perp_json_close(&j, ']');
    return;
  }
  printf("then: perp merge");
  for (int k = 1; k <= n; k++) printf(" %s%s-%d", s->name[0] == '-' ? "./" : "", s->name, k);
  printf(" -o results/%s\n", s->name); /* the name of a study needs no quotes */
}

static void print_cells(const perp_study *study, const perp_plan *plan, const perp_trial *trial,
                        bool json)
{
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (int i = 0; i < plan->n; i++) {
    perp_text t = { 0 };
    if (!json) {
      perp_cell_label(study, &plan->cells[i], &t);
      printf("%s  %s\n", plan->cells[i].id, t.s);
    } else {
      perp_json_open(&j, NULL, '{');
      perp_json_text(&j, "cell", plan->cells[i].id);
      for (int p = 0; p < study->n_params; p++)
        if (plan->cells[i].value[p][0] != '\0')
          perp_json_text(&j, study->kind->params[p].key, plan->cells[i].value[p]);
      if (trial->n > 0 && trial->verdict[i] == PERP_TRIAL_REFUSED)
        perp_json_text(&j, "refused", trial->why[i]);
      if (study->kind->command != NULL) {
        study->kind->command(study, &plan->cells[i], &t);
        perp_plugin_arguments(&t);
        perp_json_text(&j, "command", t.s);
      }
      perp_json_close(&j, '}');
    }
    perp_text_free(&t);
  }
  if (json) perp_json_close(&j, ']');
}

int perp_cmd_plan(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = { { "set", 0, "KEY=VALUE", "change the study, as in perp run" },
                                     { "shards", 0, "N",
                                       "how N parts divide the cells, and their commands" },
                                     { "quick", 0, NULL, "do not try to set the cells up" },
                                     { "json", 0, NULL, "as JSON" },
                                     { 0 } };
  static const perp_cli cli = {
    "plan",
    "STUDY [options]",
    "Lists the cells of a study: id, what varies; with --json all parameters "
    "and the command that runs the cell alone. With --shards the commands that run it in parts. "
    "What cannot be set up is told as perp check does.",
    NULL,
    "perp plan chain6-stab --shards 4",
    flags,
    1,
    1
  };
  perp_args args;
  perp_study *study;
  perp_plan plan;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status < 0) status = planned_study(ctx, &args, &study, &plan);
  if (status >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  const char *shards = perp_args_get(&args, "shards");
  int64_t n = 0;
  if (shards != NULL && perp_parse_int(ctx, shards, 1, 100000, &n) != PERP_OK) {
    status = perp_usage_error(&args, "--shards: %s", ctx->msg);
    perp_plan_free(&plan);
    perp_study_free(study);
    return status;
  }
  perp_plan_warn(study, &plan);
  perp_trial trial = { 0 };
  if (perp_args_get(&args, "quick") == NULL) {
    if (perp_trial_make(ctx, study, &plan, NULL, perp_cores(), PERP_PROGRESS_AUTO, &trial) !=
        PERP_OK) {
      perp_print_error(ctx);
      perp_plan_free(&plan);
      perp_study_free(study);
      return PERP_EXIT_INTERNAL;
    }
    perp_trial_warn(&trial, study, &plan);
  }
  if (shards != NULL)
    print_shards(&args, study, &plan, (int)n, json);
  else
    print_cells(study, &plan, &trial, json);
  status = plan.n > 0 ? PERP_EXIT_OK : PERP_EXIT_NOTHING;
  perp_trial_free(&trial);
  perp_plan_free(&plan);
  perp_study_free(study);
  return status;
}
