/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp cluster: a study as jobs for Slurm or GNU parallel.
 *
 * The tasks are shards of one run that share its results folder: each writes a journal of its own,
 * so they need nothing from each other, and a task that is run again does what is missing.  A
 * scheduler takes longer to start a task than most cells take to run, so cells are packed into
 * tasks of a wanted length. */
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/command.h"
#include "experiments/cli/templates.h"
#include "experiments/run/program.h"
#include "experiments/base/shell.h"

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
  int tasks, jobs;
  bool slurm;
  double seconds; /* of a task, estimated; NaN: unknown */
};

/* The path of a part of a folder, as a word of a script. */
static const char *cluster_word(perp_pool *pool, const char *folder, const char *part)
{
  perp_text t = { 0 };
  perp_shell_path(&t, perp_pool_printf(pool, "%s%s", folder, part));
  const char *word = perp_pool_strdup(pool, t.s);
  perp_text_free(&t);
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
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return PERP_FAIL(c->ctx, PERP_ERR_NOMEM, "no memory for the study");
  fprintf(f, "# %s, as it is run: profile and --set merged\n", c->study->name);
  perp_tree_write(c->study->root, f);
  fclose(f);
  const perp_status status = write_script(c, "study.yaml", text, n);
  free(text);
  return status;
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
  /* three times the estimate and ten minutes: a limit that ends what hangs, not what is slow */
  const int minutes = isfinite(c->seconds) ? (int)ceil(3 * c->seconds / 60) + 10 : 60;
  const perp_mark marks[] = { { "@NAME@", c->study->name },
                              { "@TASKS@", perp_pool_printf(pool, "%d", c->tasks) },
                              { "@JOBS@", perp_pool_printf(pool, "%d", c->jobs) },
                              { "@MINUTES@", perp_pool_printf(pool, "%d", minutes) },
                              { "@HERE@", cluster_word(pool, c->here, "") },
                              { "@PERP@", cluster_word(pool, c->program, "") },
                              { "@STUDY@", cluster_word(pool, c->dir, "/cluster/study.yaml") },
                              { "@FOLDER@", cluster_word(pool, c->dir, "/cluster") },
                              { "@DIR@", cluster_word(pool, c->dir, "") },
                              { "@PLUGINS@", plugins.s != NULL ? plugins.s : "" } };
  perp_status status = perp_make_part(c->ctx, c->dir, "cluster");
  if (status == PERP_OK) status = write_study(c);
  for (int i = 0; i < 3 && status == PERP_OK; i++) {
    perp_text text = { 0 };
    status = perp_template_fill(c->ctx, scripts[i][1], marks, sizeof marks / sizeof *marks, &text);
    if (status == PERP_OK) status = write_script(c, scripts[i][0], text.s, text.n);
    perp_text_free(&text);
  }
  perp_text_free(&plugins);
  return status;
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
  if (status >= 0 || *target > 0) return status;
  return perp_usage_error(args, "--target-time: must be positive");
}

static int cmd_cluster_run(struct cluster *c, const perp_args *args, double target)
{
  c->seconds = (double)NAN;
  if (c->tasks == 0) {
    perp_say("trying some cells, to see how long they take");
    double total = perp_command_pilot(c->ctx, c->study, &c->plan) / c->jobs;
    if (!isfinite(total)) return perp_refuse(c->ctx, PERP_EXIT_INTERNAL);
    c->tasks = (int)fmin(fmax(ceil(total / target), 1), c->plan.n);
    c->seconds = total / c->tasks;
  }
  if (c->tasks > c->plan.n) c->tasks = c->plan.n;
  if (write_all(c) != PERP_OK) return perp_refuse(c->ctx, PERP_EXIT_INTERNAL);
  char brief[32];
  printf("%d cells in %d task(s)%s%s of %d job(s) each: %s/cluster\n", c->plan.n, c->tasks,
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
    return perp_usage_error(args, "--submit and --write-only contradict each other");
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
  { "output", 'o', "DIR", "results folder that all machines see (default results/NAME)" },
  { "tasks", 0, "N",
    "number of tasks (default: from some cells that are tried, and --target-time)" },
  { "target-time", 0, "TIME", "how long a task shall take (default 10m)" },
  { "jobs", 'j', "N", "cells at a time in one task (default 1)" },
  { "set", 0, "KEY=VALUE", "change the study, as in perp run" },
  { "submit", 0, NULL, "start them now" },
  { "write-only", 0, NULL, "write the scripts and say how to start them (the default)" },
  { 0 }
};

const perp_command perp_cluster_command = {
  .cli.name = "cluster",
  .cli.usage = "slurm|parallel STUDY [options]",
  .cli.summary = "Writes a study as jobs: DIR/cluster/start.sh submits a Slurm job array, or runs "
                 "GNU parallel (xargs where it is missing), and finishes with the tables and the "
                 "report. Tasks share the results folder; one that was killed is just run again.",
  .cli.more = "Without a folder that all machines see: run the shards that perp plan STUDY "
              "--shards N prints, then perp merge.",
  .cli.example =
      "perp cluster slurm kkt-scaling --set profile=full -o /shared/kkt --target-time 20m --submit",
  .cli.flags = cluster_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "a study as jobs for Slurm or GNU parallel",
  .run = cmd_cluster
};
