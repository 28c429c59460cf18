/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp cluster: a study as jobs for Slurm or GNU parallel.
 *
 * The tasks are shards of one run that share its results folder: each writes a journal of its own,
 * so they need nothing from each other, and a task that is run again does what is missing; the
 * scripts ask `perp status --tasks` which ones have something left, and submit these.  A scheduler
 * takes longer to start a task than most cells take to run, so cells are packed into tasks of a
 * wanted length. */
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/command.h"
#include "experiments/cli/templates.h"
#include "experiments/run/folder.h"
#include "experiments/run/program.h"
#include "experiments/base/shell.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"
#include "solvers/core/finite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct cluster {
  perp_ctx *ctx;
  const perp_study *study;
  perp_plan plan;
  char dir[4096], here[4096], *program; /* absolute */
  /* for Slurm; NULL: as the cluster has it */
  const char *partition, *account, *memory, *container;
  double limit; /* s, of a task; 0: from the estimate */
  int tasks, jobs, array_limit, at_once;
  bool slurm;
  double seconds; /* of a task, estimated; NaN: unknown */
};

/* The path of a part of a folder, as a word of a script. */
static const char *cluster_word(perp_pool *pool, const char *folder, const char *part)
{
  perp_text text = { 0 };
  perp_shell_path(&text, perp_pool_printf(pool, "%s%s", folder, part));
  const char *word = perp_pool_strdup(pool, text.s);
  perp_text_free(&text);
  return word;
}

static perp_status write_script(struct cluster *c, const char *name, const char *text, size_t n)
{
  char *path = perp_xprintf("%s/cluster/%s", c->dir, name);
  const perp_status status = perp_write_file(c->ctx, path, text, n);
  if (status == PERP_OK) chmod(path, 0755);
  free(path);
  return status;
}

static perp_status write_study(struct cluster *c)
{
  char *text = NULL;
  size_t n = 0;
  FILE *file = perp_memory_stream(&text, &n);
  fprintf(file, "# %s, as it is run: profile and --set merged\n", c->study->name);
  perp_tree_write(c->study->root, file);
  perp_memory_stream_close(file);
  perp_status status = write_script(c, "study.yaml", text, n);
  free(text);
  char *folder = perp_xprintf("%s/cluster", c->dir);
  if (status == PERP_OK) status = perp_scene_files_keep(c->ctx, folder, c->study->file);
  free(folder);
  return status;
}

/* What every sbatch is given; the words hold nothing that a shell would read. */
static const char *sbatch_options(struct cluster *c)
{
  /* three times the estimate and ten minutes: a limit that ends what hangs, not what is slow */
  const double minutes = c->limit > 0           ? c->limit / 60
                         : isfinite(c->seconds) ? 3 * c->seconds / 60 + 10
                                                : 60;
  perp_text text = { 0 };
  perp_text_add(&text, "--cpus-per-task=%d --time=%d", c->jobs, perp_whole(ceil(minutes), 1 << 30));
  if (c->partition != NULL) perp_text_add(&text, " --partition=%s", c->partition);
  if (c->account != NULL) perp_text_add(&text, " --account=%s", c->account);
  if (c->memory != NULL) perp_text_add(&text, " --mem=%s", c->memory);
  const char *kept = perp_pool_strdup(&c->plan.pool, text.s);
  perp_text_free(&text);
  return kept;
}

/* The folder knows its study and plan from now on: tasks only add journals. */
static perp_status cmd_cluster_write_plan(struct cluster *c, const char *plugins)
{
  const perp_selection all = { .plugins = plugins };
  PERP_TRY(perp_results_refuse_older(c->ctx, c->dir, NULL));
  PERP_TRY(perp_folder_study(c->ctx, c->dir, c->study));
  return perp_plan_write(c->ctx, perp_pool_printf(&c->plan.pool, "%s/plan.jsonl", c->dir), c->study,
                         &c->plan, &all);
}

static perp_status write_all(struct cluster *c)
{
  const char *const scripts[][2] = { { "task.sh", "cluster-task.sh" },
                                     { "finish.sh", "cluster-finish.sh" },
                                     { "start.sh",
                                       c->slurm ? "cluster-slurm.sh" : "cluster-parallel.sh" } };
  perp_pool *pool = &c->plan.pool;
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  const perp_mark marks[] = {
    { "@NAME@", c->study->name },
    { "@TASKS@", perp_pool_printf(pool, "%d", c->tasks) },
    { "@JOBS@", perp_pool_printf(pool, "%d", c->jobs) },
    { "@SBATCH@", sbatch_options(c) },
    { "@ARRAYLIMIT@", perp_pool_printf(pool, "%d", c->array_limit) },
    { "@ATONCE@", c->at_once > 0 ? perp_pool_printf(pool, "%%%d", c->at_once) : "" },
    { "@HERE@", cluster_word(pool, c->here, "") },
    { "@PERP@", c->container != NULL ? perp_pool_printf(pool, "%s perp", c->container)
                                     : cluster_word(pool, c->program, "") },
    { "@STUDY@", cluster_word(pool, c->dir, "/cluster/study.yaml") },
    { "@FOLDER@", cluster_word(pool, c->dir, "/cluster") },
    { "@DIR@", cluster_word(pool, c->dir, "") },
    { "@PLUGINS@", plugins.s != NULL ? plugins.s : "" }
  };
  perp_status status = perp_make_part(c->ctx, c->dir, "cluster");
  if (status == PERP_OK) status = write_study(c);
  if (status == PERP_OK) status = cmd_cluster_write_plan(c, plugins.s);
  for (int i = 0; i < 3 && status == PERP_OK; i++) {
    perp_text text = { 0 };
    status = perp_template_fill(c->ctx, scripts[i][1], marks, sizeof marks / sizeof *marks, &text);
    if (status == PERP_OK) status = write_script(c, scripts[i][0], text.s, text.n);
    perp_text_free(&text);
  }
  perp_text_free(&plugins);
  return status;
}

/* A word of a Slurm option; NULL: not given. */
static int cmd_cluster_word(const perp_args *args, const char *name, const char **word)
{
  *word = perp_args_get(args, name);
  if (*word == NULL) return -1;
  if ((*word)[0] != '\0' && (*word)[0] != '-' &&
      (*word)[strspn(
          *word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:@+-")] == '\0')
    return -1;
  return perp_usage_error(args, "--%s: '%s' is not a valid Slurm name", name, *word);
}

static int read_slurm(struct cluster *c, const perp_args *args)
{
  static const char *const slurm_only[] = { "partition", "account",     "memory",
                                            "time",      "array-limit", "at-once" };
  for (size_t i = 0; i < sizeof slurm_only / sizeof *slurm_only && !c->slurm; i++)
    if (perp_option_given(args, slurm_only[i]))
      return perp_usage_error(args, "--%s is an option of perp cluster slurm", slurm_only[i]);
  int64_t array_limit = 0, at_once = 0;
  int status = cmd_cluster_word(args, "partition", &c->partition);
  if (status < 0) status = cmd_cluster_word(args, "account", &c->account);
  if (status < 0) status = perp_option_int(c->ctx, args, "array-limit", 1, 4000000, &array_limit);
  if (status < 0) status = perp_option_int(c->ctx, args, "at-once", 1, 4000000, &at_once);
  if (status < 0) status = perp_option_parsed(c->ctx, args, "time", perp_parse_duration, &c->limit);
  c->array_limit = (int)array_limit;
  c->at_once = (int)at_once;
  if (status >= 0) return status;
  c->memory = perp_args_get(args, "memory");
  const size_t digits = c->memory != NULL ? strspn(c->memory, "0123456789") : 0;
  if (c->memory != NULL && (digits == 0 || c->memory[0] == '0' ||
                            strspn(c->memory + digits, "KMGT") != strlen(c->memory + digits) ||
                            strlen(c->memory + digits) > 1))
    return perp_usage_error(args, "--memory must be a number with K, M, G or T, e.g. 2G: got '%s'",
                            c->memory);
  c->container = perp_args_get(args, "container");
  if (c->container != NULL && (c->container[0] == '\0' || strchr(c->container, '\n') != NULL))
    return perp_usage_error(args,
                            "--container must be one line: the command that is placed before perp");
  return -1;
}

static int cmd_cluster_read_numbers(struct cluster *c, const perp_args *args, double *target)
{
  int64_t tasks = 0, jobs = 1;
  *target = 600;
  int status = perp_option_int(c->ctx, args, "tasks", 1, 100000, &tasks);
  if (status < 0) status = perp_option_int(c->ctx, args, "jobs", 1, 4096, &jobs);
  if (status < 0)
    status = perp_option_parsed(c->ctx, args, "target-time", perp_parse_duration, target);
  c->tasks = (int)tasks;
  c->jobs = (int)jobs;
  if (status < 0) status = read_slurm(c, args);
  if (status >= 0 || *target > 0) return status;
  return perp_usage_error(args, "--target-time must be positive");
}

static int cmd_cluster_run(struct cluster *c, const perp_args *args, double target)
{
  c->seconds = (double)NAN;
  if (c->tasks == 0) {
    perp_say("executing some runs to estimate their duration");
    double total = perp_command_pilot(c->ctx, c->study, &c->plan) / c->jobs;
    if (!isfinite(total)) return perp_refuse(c->ctx, PERP_EXIT_INTERNAL);
    c->tasks = (int)fmin(fmax(ceil(total / target), 1), c->plan.n);
    c->seconds = total / c->tasks;
  }
  if (c->tasks > c->plan.n) c->tasks = c->plan.n;
  if (write_all(c) != PERP_OK) return perp_refuse(c->ctx, PERP_EXIT_INTERNAL);
  char brief[32];
  printf("%d runs in %d task(s)%s%s of %d job(s) each: %s/cluster\n", c->plan.n, c->tasks,
         isfinite(c->seconds) ? " of about " : "",
         isfinite(c->seconds) ? perp_brief_time(c->seconds, brief) : "", c->jobs, c->dir);
  perp_pool *pool = &c->plan.pool;
  char *script = perp_pool_printf(pool, "%s/cluster/start.sh", c->dir);
  const char *start = cluster_word(pool, script, "");
  int code = PERP_EXIT_OK;
  if (perp_option_given(args, "submit")) {
    const char *const argv[] = { "sh", script, NULL };
    int status = 0;
    if (perp_process_run(c->ctx, &(perp_process){ .argv = argv }, &status) != PERP_OK)
      code = perp_refuse(c->ctx, PERP_EXIT_INTERNAL);
    else if (status != 0) {
      perp_say("error: sh %s ended with status %d", start,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1);
      code = PERP_EXIT_INTERNAL;
    }
  } else
    printf("start    sh %s\n", start);
  printf("follow   perp status %s --watch\n", cluster_word(pool, c->dir, ""));
  return code;
}

static int cmd_cluster(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  double target;
  struct cluster c = { .ctx = ctx, .slurm = strcmp(args->arg[0], "slurm") == 0 };
  if (!c.slurm && strcmp(args->arg[0], "parallel") != 0)
    return perp_usage_error(args, "'%s' is neither slurm nor parallel", args->arg[0]);
  if (perp_option_given(args, "submit") && perp_option_given(args, "write-only"))
    return perp_usage_error(args,
                            "--submit and --write-only contradict each other; use one of them");
  int status = cmd_cluster_read_numbers(&c, args, &target);
  if (status >= 0) return status;
  perp_args of_study = *args;
  of_study.arg[0] = args->arg[1];
  status = perp_command_plan(ctx, &of_study, true, &study, &c.plan);
  if (status >= 0) return status;
  c.study = study;
  c.program = perp_program_path();
  char *dir = perp_command_folder(args, study);
  if (c.plan.n == 0) {
    perp_say("nothing to run: every combination is excluded");
    status = PERP_EXIT_NOTHING;
  } else if (c.program[0] == '\0' || getcwd(c.here, sizeof c.here) == NULL ||
             perp_make_dirs(ctx, dir) != PERP_OK || realpath(dir, c.dir) == NULL) {
    perp_say("error: cannot use the folder %s: %s", dir, strerror(errno));
    status = PERP_EXIT_INTERNAL;
  } else
    status = cmd_cluster_run(&c, args, target);
  perp_plan_free(&c.plan);
  perp_study_free(study);
  free(c.program);
  free(dir);
  return status;
}

static const perp_flag cluster_flags[] = {
  { "output", 'o', "DIR", "Results folder that all machines can access (default: results/NAME)." },
  { "tasks", 0, "N", "Number of tasks (default: estimated from some runs and --target-time)." },
  { "target-time", 0, "TIME", "Desired duration of a task (default: 10m)." },
  { "jobs", 'j', "N", "Number of runs that a task executes at the same time (default: 1)." },
  { "partition", 0, "NAME", "Slurm: partition of the tasks." },
  { "account", 0, "NAME", "Slurm: account that is charged." },
  { "memory", 0, "SIZE", "Slurm: memory of a task, e.g. 2G." },
  { "time", 0, "TIME",
    "Slurm: time limit of a task, e.g. 30m (default: three times the estimate plus ten minutes)." },
  { "array-limit", 0, "N",
    "Slurm: largest number of tasks in one array; more tasks make several arrays (default: "
    "MaxArraySize of the cluster, which start.sh reads)." },
  { "at-once", 0, "N", "Slurm: number of tasks of an array that run at the same time." },
  { "container", 0, "CMD",
    "Command placed before perp to run the perp of a container, e.g. 'apptainer exec perp.sif'." },
  { "set", 0, "KEY=VALUE", "Override a value of the study, as in perp run." },
  { "submit", 0, NULL, "Start the jobs now." },
  { "write-only", 0, NULL, "Write the scripts and print how to start them (the default)." },
  { 0 }
};

const perp_command perp_cluster_command = {
  .cli.name = "cluster",
  .cli.usage = "slurm|parallel STUDY [options]",
  .cli.summary =
      "Writes a study as jobs. DIR/cluster/start.sh submits Slurm job arrays, or runs GNU parallel "
      "(xargs where parallel is missing). At the end it writes the tables and the report.\n\nTasks "
      "share the results folder, and each writes a journal of its own. Run again, start.sh submits "
      "only tasks that are not complete, for example because a node failed.",
  .cli.more = "Without a shared folder, run the commands that perp plan STUDY --shards N prints, "
              "then perp merge.",
  .cli.example = "perp cluster slurm kkt-scaling --set profile=full -o /shared/kkt --partition "
                 "short --memory 2G "
                 "--time 30m --target-time 20m --submit",
  .cli.flags = cluster_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Write a study as jobs for Slurm or GNU parallel",
  .run = cmd_cluster
};
