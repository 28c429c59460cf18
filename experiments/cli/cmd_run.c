/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp run, check, plan */
#include "experiments/plugins/cmd_scene.h"
#include "experiments/watch/request.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/report/report.h"
#include "experiments/web/web.h"
#include "experiments/cli/command.h"
#include "experiments/lessons/lesson.h"
#include "experiments/cli/next.h"
#include "experiments/base/env.h"
#include "experiments/run/run.h"
#include "experiments/base/shell.h"
#include "experiments/run/trial.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- run ---- */

static perp_status write_report(perp_ctx *ctx, const char *dir, void *user)
{
  const bool *open = user;
  char page[4096];
  perp_report_request request = { 0 };
  PERP_TRY(perp_report(ctx, dir, &request, page, sizeof page));
  printf("report  %s\n", page);
  if (!perp_web_built()) {
    perp_web_missing(ctx);
    perp_say("%s", ctx->msg);
  } else if (*open) {
    perp_show_page(page);
  }
  return PERP_OK;
}

static void say_next(const perp_results *after, void *user)
{
  const bool *open = user;
  perp_next_say(after, *open);
}

/* The words of a command line so that a shell reads them back; --fresh does not belong to
 * resuming. */
static char *command_line(int argc, char **argv)
{
  perp_text text = { 0 };
  perp_text_add(&text, "perp");
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--fresh") == 0) continue;
    perp_text_add(&text, " ");
    perp_shell_word(&text, argv[i]);
  }
  perp_plugin_arguments(&text);
  return text.s;
}

static int read_shard(const perp_args *args, perp_run_options *options)
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
  options->shard = text;
  return -1;
}

static int read_options(perp_ctx *ctx, const perp_args *args, perp_run_options *options)
{
  int64_t jobs = 0;
  int status = perp_option_int(ctx, args, "jobs", 1, 4096, &jobs);
  if (status < 0)
    status = perp_option_parsed(ctx, args, "timeout", perp_parse_duration, &options->timeout);
  if (status < 0)
    status = perp_option_parsed(ctx, args, "budget", perp_parse_duration, &options->budget);
  if (status < 0)
    status = perp_option_parsed(ctx, args, "memory", perp_parse_size, &options->memory);
  if (status >= 0) return status;
  options->jobs = (int)jobs;
  options->only = perp_args_get(args, "only");
  options->skip = perp_args_get(args, "skip");
  options->keep_program = perp_option_given(args, "keep-program");
  options->fresh = perp_option_given(args, "fresh");
  const char *style = perp_args_get(args, "progress");
  if (style != NULL) {
    int n = 0;
    while (perp_progress_styles[n] != NULL) n++;
    const int k = perp_choose(args, "--progress: unknown style", style, perp_progress_styles, n,
                              "");
    if (k < 0) return PERP_EXIT_USAGE;
    options->progress = (perp_progress_style)k;
  }
  options->quiet = perp_option_given(args, "quiet");
  if (options->quiet) options->progress = PERP_PROGRESS_NONE;
  /* programs read objects, and nothing else, until there is an error */
  if (options->progress == PERP_PROGRESS_JSON) options->quiet = true;
  options->journal_only = perp_option_given(args, "journal-only");
  options->plot = perp_option_given(args, "plot") || isatty(STDOUT_FILENO);
  if (perp_option_given(args, "no-report") || options->journal_only) options->report = NULL;
  static const char *const without[] = { "no-report", "journal-only", "shard" };
  for (int i = 0; i < 3 && perp_option_given(args, "open"); i++)
    if (perp_option_given(args, without[i]))
      return perp_usage_error(args, "--open shows the report, and --%s makes none", without[i]);
  if (options->fresh && perp_option_given(args, "resume"))
    return perp_usage_error(args, "--fresh and --resume contradict each other");
  const int first = PERP_CELL_FIXED_WORK, causes = PERP_CELL_SKIPPED + 1 - first;
  status = perp_option_words(args, "retry", "cause", perp_cell_status_names + first, causes, "",
                             options->retry + first);
  return status >= 0 ? status : read_shard(args, options);
}

static int cmd_run(perp_ctx *ctx, int argc, char **argv)
{
  perp_args args;
  perp_study *study = NULL;
  perp_run_options options = {
    .timeout = (double)NAN, .memory = (double)NAN, .report = write_report, .next = say_next
  };
  int status = perp_args_read(&perp_run_command.cli, argc, argv, &args);
  if (status < 0) status = read_options(ctx, &args, &options);
  if (status < 0) status = perp_command_study(ctx, &args, &study);
  if (status >= 0) return status;
  bool asked = false;
  for (int flag = 0; flag < args.n_flags; flag++)
    asked = asked || (strcmp(args.flag[flag].flag->name, "set") == 0 &&
                      strncmp(args.flag[flag].value, "profile=", 8) == 0);
  if (study->profile != NULL && !asked && !options.quiet)
    perp_say("taking the profile %s (--set profile=NAME takes another one)", study->profile);
  char *folder = perp_command_folder(&args, study), *again = command_line(argc, argv);
  bool open = perp_option_given(&args, "open");
  options.report_user = &open;
  options.dir = folder;
  options.again = again;
  status = perp_run(ctx, study, &options, NULL);
  free(again);
  free(folder);
  perp_study_free(study);
  return status;
}

static const perp_flag run_flags[] = {
  { "output", 'o', "DIR", "Results folder (default: results/NAME)." },
  { "jobs", 'j', "N", "Number of runs at the same time (default: one per core)." },
  { "set", 0, "KEY=VALUE",
    "Override a value of the study: profile=NAME, or a dotted key, e.g. measure.repeats=5 or h='[1 "
    "ms, 2 ms]'. Can be repeated." },
  { "only", 0, "EXPR", "Execute only the runs selected by EXPR: 'stab == post and h <= 1 ms'." },
  { "skip", 0, "EXPR", "Leave out the runs selected by EXPR." },
  { "resume", 0, NULL, "Keep finished results of the folder (the default)." },
  { "fresh", 0, NULL, "Discard earlier results of the folder." },
  { "retry", 0, "CAUSE,..", "Execute again the runs that ended as crash, timeout, oom, ..." },
  { "shard", 0, "K/N",
    "Execute shard K of N only: every N-th run (slice:K/N), or a choice by id (hash:K/N). Shards "
    "can share the folder; perp merge joins separate folders." },
  { "timeout", 0, "TIME",
    "CPU time limit of one run, instead of that of the study. The wall-clock limit is 4 times as "
    "long." },
  { "memory", 0, "SIZE", "Memory limit of one run, instead of that of the study." },
  { "budget", 0, "TIME", "Start no further run after this time." },
  { "keep-program", 0, NULL,
    "Store a copy of the program and its plug-ins in the results folder, for perp compare "
    "--again-with after a rebuild." },
  { "no-report", 0, NULL, "Write tables only, no report.html." },
  { "plot", 0, NULL,
    "Draw the figure on top of the report with letters even if the output is not a terminal." },
  { "open", 0, NULL, "Show the report in the browser of the desktop when it is made (xdg-open)." },
  { "journal-only", 0, NULL,
    "Write results only, no tables and no report: for a shard that shares its folder (perp "
    "cluster). perp report writes them later." },
  { "progress", 0, "STYLE",
    "Style of progress messages: auto (a bar on a terminal, else lines), plain, json (one object "
    "per line), none." },
  { "quiet", 'q', NULL, "Print errors only, no progress and no other messages." },
  { 0 }
};

const perp_command perp_run_command = {
  .cli.name = "run",
  .cli.usage = "STUDY [options]",
  .cli.summary =
      "Runs a study: every combination of its grid, each in its own process, measured against "
      "ground truth. STUDY is a file, or the name of a study included in perp (perp list studies). "
      "The profile `short` is used if the study has one; --set profile=NAME selects another. Run "
      "the command again to continue after an interruption.",
  .cli.more =
      "A run is ok if it reached its end and the named solver solved every problem. It is unsolved "
      "if it continued after problems that were not solved. Unsolved runs are reported but not "
      "ranked, unless the study accepts a share of unsolved problems. A run is fixed-work if the "
      "solver made a fixed number of sweeps, as requested. A run has several solutions if all "
      "problems were solved, but the motion depends on the choice of contact impulses; it is not "
      "ranked.\n\nExit status 0: done; unsolved, "
      "diverged and timed-out runs are results. 5: some runs crashed or ran out of memory. 7: "
      "incomplete; run the command again to continue. 10: no run succeeded.",
  .cli.example = "perp run chain6-stab --only 'stab == post' -j 2",
  .cli.flags = run_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Run a study: every combination, measured against ground truth",
  .run_words = cmd_run
};

/* ---- check, plan ---- */

static const perp_flag study_flags[] = {
  { "set", 0, "KEY=VALUE", "Override a value of the study, as in perp run." },
  { "quick", 0, NULL,
    "Read the study only, without testing whether the methods of each run fit together." },
  { "pilot", 0, NULL, "Execute up to five runs and estimate the duration of all." },
  { "run", 0, NULL,
    "Run the lesson and try its exercises: the solution must be accepted, the wrong answer "
    "refused." },
  { "json", 0, NULL, "Print JSON." },
  PERP_FILTER_FLAG,
  { 0 }
};

static void trial_json(perp_json *json, const char *name, const perp_trial *trial,
                       const perp_plan *plan, perp_trial_verdict verdict)
{
  const perp_tally tally = perp_trial_reasons(trial, verdict);
  perp_json_open(json, name, '[');
  for (int i = 0; i < tally.n; i++)
    perp_json_object(json, NULL, "why %s, cells %d, first %s", tally.count[i].name,
                     tally.count[i].n, plan->cells[tally.count[i].first].id);
  perp_json_close(json, ']');
  free(tally.count);
}

static void check_json(const perp_study *study, const perp_plan *plan, const perp_trial *trial)
{
  perp_json json = { .out = stdout, .indent = true };
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json,
                    "study %s, kind %s, profile %s, combinations %lld, cells %d, duplicates %d, "
                    "timing_rounds %d",
                    study->name, study->kind->name, study->profile, (long long)plan->combinations,
                    plan->n, plan->duplicates, study->measure.repeats);
  perp_json_open(&json, "axes", '[');
  for (int axis = 0; axis < study->n_axes; axis++) {
    perp_json_open(&json, NULL, '{');
    perp_json_text(&json, "name", study->kind->params[study->axes[axis].param].key);
    perp_json_open(&json, "values", '[');
    for (int i = 0; i < study->axes[axis].n; i++)
      perp_json_text(&json, NULL, study->axes[axis].value[i].text);
    perp_json_close(&json, ']');
    perp_json_close(&json, '}');
  }
  perp_json_close(&json, ']');
  perp_json_open(&json, "excluded", '[');
  for (int exclude = 0; exclude < study->n_exclude; exclude++)
    perp_json_object(&json, NULL, "where %s, reason %s, combinations %d",
                     study->exclude[exclude].where_text, study->exclude[exclude].reason,
                     plan->excluded[exclude]);
  perp_json_close(&json, ']');
  perp_json_open(&json, "left_out", '[');
  for (int absent = 0; absent < plan->n_absent; absent++)
    perp_json_object(&json, NULL, "part %s, packages %s, combinations %d",
                     plan->absent[absent].part, perp_optional_packages(plan->absent[absent].part),
                     plan->absent[absent].combinations);
  perp_json_close(&json, ']');
  perp_json_open(&json, "unused", '[');
  for (int drop = 0; drop < plan->n_drops; drop++)
    perp_json_object(&json, NULL, "parameter %s, why %s, combinations %d",
                     study->kind->params[plan->drops[drop].param].key, plan->drops[drop].why,
                     plan->drops[drop].combinations);
  perp_json_close(&json, ']');
  perp_json_int(&json, "tried", trial->n - trial->count[PERP_TRIAL_NOT]);
  trial_json(&json, "refused", trial, plan, PERP_TRIAL_REFUSED);
  trial_json(&json, "unsuited", trial, plan, PERP_TRIAL_UNSUITED);
  trial_json(&json, "failed", trial, plan, PERP_TRIAL_FAILED);
  perp_json_close(&json, '}');
}

/* What is not as it looks in the study: equal combinations, cells that cannot be set up. */
static void print_findings(const perp_study *study, const perp_plan *plan, const perp_trial *trial)
{
  enum { MOST = 20 };
  perp_text text = { 0 };
  perp_plan_say(study, plan, &text);
  if (text.n > 0) perp_wrap(stdout, 0, text.s);
  perp_text_free(&text);
  perp_plan_say_absent(plan, &text);
  if (text.n > 0) perp_wrap(stdout, 0, text.s);
  perp_text_free(&text);
  perp_trial_say(trial, study, plan, PERP_TRIAL_REFUSED, MOST, &text);
  perp_trial_say(trial, study, plan, PERP_TRIAL_UNSUITED, MOST / 2, &text);
  perp_trial_say(trial, study, plan, PERP_TRIAL_FAILED, MOST, &text);
  if (text.n > 0) fputs(text.s, stdout);
  if (text.n == 0 && trial->tried > 0)
    printf("every run can be set up (%d different combinations of methods tried)\n", trial->tried);
  perp_text_free(&text);
}

static void print_pilot(perp_ctx *ctx, const perp_study *study, const perp_plan *plan)
{
  char one[32], all[32];
  const double seconds = perp_command_pilot(ctx, study, plan);
  const int cores = perp_cores();
  if (isfinite(seconds))
    printf("about %s on one core, %s on the %d here\n", perp_brief_time(seconds, one),
           perp_brief_time(seconds / cores, all), cores);
  else
    perp_print_error(ctx);
}

/* A file with its parameters, or one whose schema is that of scenes. */
static bool check_is_scene(const char *name)
{
  if (!perp_scene_file_named(name)) return false;
  if (perp_scene_file_robot(name)) return true;
  if (strstr(name, ".yaml:") != NULL || strstr(name, ".yml:") != NULL) return true;
  char *text = perp_exists(name) ? perp_read_file(name, NULL) : NULL;
  const bool scene = text != NULL && perp_scene_file_is(text);
  free(text);
  return scene;
}

static int cmd_check(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  perp_plan plan;
  perp_trial trial;
  if (check_is_scene(args->arg[0])) return perp_command_check_scene(ctx, args);
  if (perp_lesson_is(args->arg[0]) || perp_course_is(args->arg[0]))
    return perp_command_check_lesson(ctx, args);
  if (perp_option_given(args, "run"))
    return perp_usage_error(args, "--run is for the folder of a lesson; perp run runs a study");
  int status = perp_command_plan(ctx, args, true, &study, &plan);
  if (status >= 0) return status;
  const bool json = perp_option_given(args, "json");
  if (!json) {
    printf("%s is valid: %s%s%s\n", study->file, study->name,
           study->profile != NULL ? ", profile " : "",
           study->profile != NULL ? study->profile : "");
    for (int axis = 0; axis < study->n_axes; axis++) {
      perp_text text = { 0 };
      perp_text_add(&text, "%-12s %3d ", study->kind->params[study->axes[axis].param].key,
                    study->axes[axis].n);
      for (int i = 0; i < study->axes[axis].n; i++)
        perp_text_add(&text, " %s", study->axes[axis].value[i].text);
      perp_wrap(stdout, 2, text.s);
      perp_text_free(&text);
    }
    printf("%lld combinations", (long long)plan.combinations);
    for (int exclude = 0; exclude < study->n_exclude; exclude++)
      printf(", %d excluded (%s)", plan.excluded[exclude],
             study->exclude[exclude].reason[0] ? study->exclude[exclude].reason
                                               : study->exclude[exclude].where_text);
    if (plan.duplicates > 0) printf(", %d equal to another one", plan.duplicates);
    printf(": %d runs", plan.n);
    if (study->measure.repeats > 0) printf(", %d timing rounds each", study->measure.repeats);
    printf("\n");
  }
  fflush(stdout);
  status = perp_command_try(ctx, args, study, &plan, &trial);
  if (status < 0) {
    if (json)
      check_json(study, &plan, &trial);
    else
      print_findings(study, &plan, &trial);
    if (perp_option_given(args, "pilot") && plan.n > 0 && !json) print_pilot(ctx, study, &plan);
    status = plan.n > trial.count[PERP_TRIAL_REFUSED] ? PERP_EXIT_OK : PERP_EXIT_NOTHING;
  }
  perp_trial_free(&trial);
  perp_plan_free(&plan);
  perp_study_free(study);
  return status;
}

const perp_command perp_check_command = {
  .cli.name = "check",
  .cli.usage = "STUDY | SCENE.yaml[:options] | ROBOT.xml | LESSON | COURSE.yaml [options]",
  .cli.summary =
      "Checks a scene file, a study or a lesson, and reports errors. For a study it also prints "
      "the number "
      "of runs, and combinations that are equal (a method has no effect) or impossible. For this, "
      "every combination of methods is set up once, but not executed.",
  .cli.more =
      "Exit status: 0 valid, 3 invalid or a value is used by no run, 4 no run is possible, 10 "
      "--run found something wrong.",
  .cli.example = "perp check my-study.yaml --set profile=full --pilot",
  .cli.flags = study_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Check a study, a scene file or a lesson and report errors",
  .run = cmd_check
};

/* Work is what the kind estimates: steps, or rows squared. */
static void print_shards(const perp_args *args, const perp_study *study, const perp_plan *plan,
                         int n, bool json)
{
  double total = 0;
  for (int cell = 0; cell < plan->n; cell++) total += perp_cell_work(study, &plan->cells[cell]);
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int k = 1; k <= n; k++) {
    int cells = 0;
    double work = 0;
    for (int cell = k - 1; cell < plan->n; cell += n, cells++)
      work += perp_cell_work(study, &plan->cells[cell]);
    perp_text command = { 0 };
    perp_text_add(&command, "perp run ");
    perp_shell_path(&command, args->arg[0]);
    for (int flag = 0; flag < args->n_flags; flag++)
      if (strcmp(args->flag[flag].flag->name, "set") == 0) {
        perp_text_add(&command, " --set ");
        perp_shell_word(&command, args->flag[flag].value);
      }
    char *part = perp_xprintf("%s-%d", study->name, k);
    perp_text_add(&command, " --shard %d/%d -o ", k, n);
    perp_shell_path(&command, part);
    free(part);
    perp_plugin_arguments(&command);
    const double share = total > 0 ? work / total : 0;
    if (json)
      perp_json_object(&out, NULL, "shard %d, cells %d, work %g, command %s", k, cells, share,
                       command.s);
    else
      printf("%d runs, %.1f %% of the work: %s\n", cells, total > 0 ? 100 * work / total : 0,
             command.s);
    perp_text_free(&command);
  }
  if (json) {
    perp_json_close(&out, ']');
    return;
  }
  printf("then: perp merge");
  for (int k = 1; k <= n; k++)
    printf(" %s%s-%d", study->name[0] == '-' ? "./" : "", study->name, k);
  printf(" -o results/%s\n", study->name); /* the name of a study needs no quotes */
}

static void print_cells(const perp_study *study, const perp_plan *plan, const perp_trial *trial,
                        bool json)
{
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int i = 0; i < plan->n; i++) {
    const perp_cell *cell = &plan->cells[i];
    if (!json) {
      perp_text label = { 0 };
      perp_cell_label(study, cell, &label);
      printf("%s  %s\n", cell->id, label.s);
      perp_text_free(&label);
      continue;
    }
    perp_json_open(&out, NULL, '{');
    perp_json_text(&out, "cell", cell->id);
    perp_cell_json(&out, study, cell);
    if (trial->n > 0 && trial->verdict[i] == PERP_TRIAL_REFUSED)
      perp_json_text(&out, "refused", trial->why[i]);
    char *command = perp_command_alone(study, cell);
    if (command != NULL) perp_json_text(&out, "command", command);
    free(command);
    perp_json_close(&out, '}');
  }
  if (json) perp_json_close(&out, ']');
}

static int cmd_plan(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  perp_plan plan;
  perp_trial trial = { 0 };
  int64_t shards = 0;
  int status = perp_command_plan(ctx, args, true, &study, &plan);
  if (status >= 0) return status;
  const bool json = perp_option_given(args, "json");
  status = perp_option_int(ctx, args, "shards", 1, 100000, &shards);
  if (status < 0) {
    perp_plan_warn(study, &plan);
    status = perp_command_try(ctx, args, study, &plan, &trial);
  }
  if (status < 0) {
    perp_trial_warn(&trial, study, &plan);
    if (shards > 0)
      print_shards(args, study, &plan, (int)shards, json);
    else
      print_cells(study, &plan, &trial, json);
    status = plan.n > 0 ? PERP_EXIT_OK : PERP_EXIT_NOTHING;
  }
  perp_trial_free(&trial);
  perp_plan_free(&plan);
  perp_study_free(study);
  return status;
}

static const perp_flag plan_flags[] = {
  { "set", 0, "KEY=VALUE", "Override a value of the study, as in perp run." },
  { "shards", 0, "N", "Show how N shards divide the runs, with their commands." },
  { "quick", 0, NULL, "Do not test whether the runs can be set up." },
  { "json", 0, NULL, "Print JSON." },
  { 0 }
};

const perp_command perp_plan_command = {
  .cli.name = "plan",
  .cli.usage = "STUDY [options]",
  .cli.summary =
      "Lists the runs of a study: id and varied values. With --json it prints all parameters and "
      "the command of each single run. With --shards it prints the commands that execute the study "
      "in shards. Combinations that cannot be set up are reported as by perp check.",
  .cli.example = "perp plan chain6-stab --shards 4",
  .cli.flags = plan_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "List the runs of a study",
  .run = cmd_plan
};
