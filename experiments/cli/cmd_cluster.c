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

static perp_status write_script(struct cluster *cluster, const char *name, const char *text,
                                size_t n)
{
  char *path = perp_xprintf("%s/cluster/%s", cluster->dir, name);
  const perp_status status = perp_write_file(cluster->ctx, path, text, n);
  if (status == PERP_OK) chmod(path, 0755);
  free(path);
  return status;
}

static perp_status write_study(struct cluster *cluster)
{
  char *text = NULL;
  size_t n = 0;
  FILE *file = perp_memory_stream(&text, &n);
  fprintf(file, "# %s, as it is run: profile and --set merged\n", cluster->study->name);
  perp_tree_write(cluster->study->root, file);
  perp_memory_stream_close(file);
  perp_status status = write_script(cluster, "study.yaml", text, n);
  free(text);
  char *folder = perp_xprintf("%s/cluster", cluster->dir);
  if (status == PERP_OK) status = perp_scene_files_keep(cluster->ctx, folder, cluster->study->file);
  free(folder);
  return status;
}

/* What every sbatch is given; the words hold nothing that a shell would read. */
static const char *sbatch_options(struct cluster *cluster)
{
  /* three times the estimate and ten minutes: a limit that ends what hangs, not what is slow */
  const double minutes = cluster->limit > 0           ? cluster->limit / 60
                         : isfinite(cluster->seconds) ? 3 * cluster->seconds / 60 + 10
                                                      : 60;
  perp_text text = { 0 };
  perp_text_add(&text, "--cpus-per-task=%d --time=%d", cluster->jobs,
                perp_whole(ceil(minutes), 1 << 30));
  if (cluster->partition != NULL) perp_text_add(&text, " --partition=%s", cluster->partition);
  if (cluster->account != NULL) perp_text_add(&text, " --account=%s", cluster->account);
  if (cluster->memory != NULL) perp_text_add(&text, " --mem=%s", cluster->memory);
  const char *kept = perp_pool_strdup(&cluster->plan.pool, text.s);
  perp_text_free(&text);
  return kept;
}

/* The folder knows its study and plan from now on: tasks only add journals. */
static perp_status cmd_cluster_write_plan(struct cluster *cluster, const char *plugins)
{
  const perp_selection all = { .plugins = plugins };
  PERP_TRY(perp_results_refuse_older(cluster->ctx, cluster->dir, NULL));
  PERP_TRY(perp_folder_study(cluster->ctx, cluster->dir, cluster->study));
  return perp_plan_write(cluster->ctx,
                         perp_pool_printf(&cluster->plan.pool, "%s/plan.jsonl", cluster->dir),
                         cluster->study, &cluster->plan, &all);
}

static perp_status write_all(struct cluster *cluster)
{
  const char *const scripts[][2] = { { "task.sh", "cluster-task.sh" },
                                     { "finish.sh", "cluster-finish.sh" },
                                     { "start.sh", cluster->slurm ? "cluster-slurm.sh"
                                                                  : "cluster-parallel.sh" } };
  perp_pool *pool = &cluster->plan.pool;
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  const perp_mark marks[] = {
    { "@NAME@", cluster->study->name },
    { "@TASKS@", perp_pool_printf(pool, "%d", cluster->tasks) },
    { "@JOBS@", perp_pool_printf(pool, "%d", cluster->jobs) },
    { "@SBATCH@", sbatch_options(cluster) },
    { "@ARRAYLIMIT@", perp_pool_printf(pool, "%d", cluster->array_limit) },
    { "@ATONCE@", cluster->at_once > 0 ? perp_pool_printf(pool, "%%%d", cluster->at_once) : "" },
    { "@HERE@", cluster_word(pool, cluster->here, "") },
    { "@PERP@", cluster->container != NULL ? perp_pool_printf(pool, "%s perp", cluster->container)
                                           : cluster_word(pool, cluster->program, "") },
    { "@STUDY@", cluster_word(pool, cluster->dir, "/cluster/study.yaml") },
    { "@FOLDER@", cluster_word(pool, cluster->dir, "/cluster") },
    { "@DIR@", cluster_word(pool, cluster->dir, "") },
    { "@PLUGINS@", plugins.s != NULL ? plugins.s : "" }
  };
  perp_status status = perp_make_part(cluster->ctx, cluster->dir, "cluster");
  if (status == PERP_OK) status = write_study(cluster);
  if (status == PERP_OK) status = cmd_cluster_write_plan(cluster, plugins.s);
  for (int i = 0; i < 3 && status == PERP_OK; i++) {
    perp_text text = { 0 };
    status = perp_template_fill(cluster->ctx, scripts[i][1], marks, sizeof marks / sizeof *marks,
                                &text);
    if (status == PERP_OK) status = write_script(cluster, scripts[i][0], text.s, text.n);
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

static int read_slurm(struct cluster *cluster, const perp_args *args)
{
  static const char *const slurm_only[] = { "partition", "account",     "memory",
                                            "time",      "array-limit", "at-once" };
  for (size_t i = 0; i < sizeof slurm_only / sizeof *slurm_only && !cluster->slurm; i++)
    if (perp_option_given(args, slurm_only[i]))
      return perp_usage_error(args, "--%s is an option of perp cluster slurm", slurm_only[i]);
  int64_t array_limit = 0, at_once = 0;
  int status = cmd_cluster_word(args, "partition", &cluster->partition);
  if (status < 0) status = cmd_cluster_word(args, "account", &cluster->account);
  if (status < 0)
    status = perp_option_int(cluster->ctx, args, "array-limit", 1, 4000000, &array_limit);
  if (status < 0) status = perp_option_int(cluster->ctx, args, "at-once", 1, 4000000, &at_once);
  if (status < 0)
    status = perp_option_parsed(cluster->ctx, args, "time", perp_parse_duration, &cluster->limit);
  cluster->array_limit = (int)array_limit;
  cluster->at_once = (int)at_once;
  if (status >= 0) return status;
  cluster->memory = perp_args_get(args, "memory");
  const size_t digits = cluster->memory != NULL ? strspn(cluster->memory, "0123456789") : 0;
  if (cluster->memory != NULL &&
      (digits == 0 || cluster->memory[0] == '0' ||
       strspn(cluster->memory + digits, "KMGT") != strlen(cluster->memory + digits) ||
       strlen(cluster->memory + digits) > 1))
    return perp_usage_error(args, "--memory must be a number with K, M, G or T, e.g. 2G: got '%s'",
                            cluster->memory);
  cluster->container = perp_args_get(args, "container");
  if (cluster->container != NULL &&
      (cluster->container[0] == '\0' || strchr(cluster->container, '\n') != NULL))
    return perp_usage_error(args,
                            "--container must be one line: the command that is placed before perp");
  return -1;
}

static int cmd_cluster_read_numbers(struct cluster *cluster, const perp_args *args, double *target)
{
  int64_t tasks = 0, jobs = 1;
  *target = 600;
  int status = perp_option_int(cluster->ctx, args, "tasks", 1, 100000, &tasks);
  if (status < 0) status = perp_option_int(cluster->ctx, args, "jobs", 1, 4096, &jobs);
  if (status < 0)
    status = perp_option_parsed(cluster->ctx, args, "target-time", perp_parse_duration, target);
  cluster->tasks = (int)tasks;
  cluster->jobs = (int)jobs;
  if (status < 0) status = read_slurm(cluster, args);
  if (status >= 0 || *target > 0) return status;
  return perp_usage_error(args, "--target-time must be positive");
}

static int cmd_cluster_run(struct cluster *cluster, const perp_args *args, double target)
{
  cluster->seconds = (double)NAN;
  if (cluster->tasks == 0) {
    perp_say("executing some runs to estimate their duration");
    double total = perp_command_pilot(cluster->ctx, cluster->study, &cluster->plan) / cluster->jobs;
    if (!isfinite(total)) return perp_refuse(cluster->ctx, PERP_EXIT_INTERNAL);
    cluster->tasks = (int)fmin(fmax(ceil(total / target), 1), cluster->plan.n);
    cluster->seconds = total / cluster->tasks;
  }
  if (cluster->tasks > cluster->plan.n) cluster->tasks = cluster->plan.n;
  if (write_all(cluster) != PERP_OK) return perp_refuse(cluster->ctx, PERP_EXIT_INTERNAL);
  char brief[32];
  printf("%d runs in %d task(s)%s%s of %d job(s) each: %s/cluster\n", cluster->plan.n,
         cluster->tasks, isfinite(cluster->seconds) ? " of about " : "",
         isfinite(cluster->seconds) ? perp_brief_time(cluster->seconds, brief) : "", cluster->jobs,
         cluster->dir);
  perp_pool *pool = &cluster->plan.pool;
  char *script = perp_pool_printf(pool, "%s/cluster/start.sh", cluster->dir);
  const char *start = cluster_word(pool, script, "");
  int code = PERP_EXIT_OK;
  if (perp_option_given(args, "submit")) {
    const char *const argv[] = { "sh", script, NULL };
    int status = 0;
    if (perp_process_run(cluster->ctx, &(perp_process){ .argv = argv }, &status) != PERP_OK)
      code = perp_refuse(cluster->ctx, PERP_EXIT_INTERNAL);
    else if (status != 0) {
      perp_say("error: sh %s ended with status %d", start,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1);
      code = PERP_EXIT_INTERNAL;
    }
  } else
    printf("start    sh %s\n", start);
  printf("follow   perp status %s --watch\n", cluster_word(pool, cluster->dir, ""));
  return code;
}

static int cmd_cluster(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  double target;
  struct cluster cluster = { .ctx = ctx, .slurm = strcmp(args->arg[0], "slurm") == 0 };
  if (!cluster.slurm && strcmp(args->arg[0], "parallel") != 0)
    return perp_usage_error(args, "'%s' is neither slurm nor parallel", args->arg[0]);
  if (perp_option_given(args, "submit") && perp_option_given(args, "write-only"))
    return perp_usage_error(args,
                            "--submit and --write-only contradict each other; use one of them");
  int status = cmd_cluster_read_numbers(&cluster, args, &target);
  if (status >= 0) return status;
  perp_args of_study = *args;
  of_study.arg[0] = args->arg[1];
  status = perp_command_plan(ctx, &of_study, true, &study, &cluster.plan);
  if (status >= 0) return status;
  cluster.study = study;
  cluster.program = perp_program_path();
  char *dir = perp_command_folder(args, study);
  if (cluster.plan.n == 0) {
    perp_say("nothing to run: every combination is excluded");
    status = PERP_EXIT_NOTHING;
  } else if (cluster.program[0] == '\0' || getcwd(cluster.here, sizeof cluster.here) == NULL ||
             perp_make_dirs(ctx, dir) != PERP_OK || realpath(dir, cluster.dir) == NULL) {
    perp_say("error: cannot use the folder %s: %s", dir, strerror(errno));
    status = PERP_EXIT_INTERNAL;
  } else
    status = cmd_cluster_run(&cluster, args, target);
  perp_plan_free(&cluster.plan);
  perp_study_free(study);
  free(cluster.program);
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
