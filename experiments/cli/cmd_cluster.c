/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp cluster: a study as jobs for Slurm or GNU parallel.
 *
 * The tasks are shards of one run that share its results folder: each writes a journal of its own, so they need nothing
 * from each other, and a task that is run again does what is missing.  A scheduler takes longer to start a task than most
 * cells take to run, so cells are packed into tasks of a wanted length. */
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/command.h"
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
  char dir[4096], program[4096], here[4096]; /* absolute */
  int tasks, jobs;
  bool slurm;
  double seconds; /* of a task, estimated; NaN: unknown */
};

/* A path as a word of a script. */
static void cluster_path(FILE *f, const char *path)
{
  perp_text t = { 0 };
  perp_shell_path(&t, path);
  fputs(t.s, f);
  perp_text_free(&t);
}

static void put_task(const struct cluster *c, FILE *f)
{
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  fprintf(f,
          "#!/bin/sh\n# one part of %s: task.sh K, K = 1 ... %d; run again it does what is "
          "missing\ncd ",
          c->study->name, c->tasks);
  cluster_path(f, c->here);
  fputs(" || exit 1\nexec ", f);
  cluster_path(f, c->program);
  fputs(" run ", f);
  char *study = perp_xprintf("%s/cluster/study.yaml", c->dir);
  cluster_path(f, study);
  free(study);
  fprintf(f, " --shard \"$1/%d\" --jobs %d --quiet --no-report%s -o ", c->tasks, c->jobs,
          plugins.s != NULL ? plugins.s : "");
  cluster_path(f, c->dir);
  fputc('\n', f);
  perp_text_free(&plugins);
}

static void put_finish(const struct cluster *c, FILE *f)
{
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  fputs("#!/bin/sh\n# after the tasks: does what they left, writes the tables and the report\ncd ",
        f);
  cluster_path(f, c->here);
  fputs(" || exit 1\nexec ", f);
  cluster_path(f, c->program);
  fputs(" run ", f);
  char *study = perp_xprintf("%s/cluster/study.yaml", c->dir);
  cluster_path(f, study);
  free(study);
  fprintf(f, "%s -o ", plugins.s != NULL ? plugins.s : "");
  cluster_path(f, c->dir);
  fputc('\n', f);
  perp_text_free(&plugins);
}

static void put_slurm(const struct cluster *c, FILE *f)
{
  /* three times the estimate and ten minutes: a limit that ends what hangs, not what is slow */
  int minutes = isfinite(c->seconds) ? (int)ceil(3 * c->seconds / 60) + 10 : 60;
  fprintf(f, "#!/bin/sh\n# submits the tasks as one job array, and the end after it: run with "
             "sh\nset -eu\ncd ");
  char *folder = perp_xprintf("%s/cluster", c->dir);
  cluster_path(f, folder);
  free(folder);
  fprintf(f,
          "\nmkdir -p log\n"
          "job=$(sbatch --parsable --job-name='perp-%s' --array=1-%d --cpus-per-task=%d --time=%d "
          "--output=log/%%a.out "
          "--wrap='exec sh ./task.sh \"$SLURM_ARRAY_TASK_ID\"')\n"
          "sbatch --parsable --job-name='perp-%s-end' --dependency=\"afterany:${job%%%%;*}\" "
          "--cpus-per-task=%d --time=%d "
          "--output=log/end.out --wrap='exec sh ./finish.sh'\n",
          c->study->name, c->tasks, c->jobs, minutes, c->study->name, c->jobs, minutes);
}

static void put_parallel(const struct cluster *c, FILE *f)
{
  fprintf(f, "#!/bin/sh\n# runs the tasks on this machine, or on those of PERP_HOSTS "
             "(host,host,...: they see this folder too)\ncd ");
  char *folder = perp_xprintf("%s/cluster", c->dir);
  cluster_path(f, folder);
  free(folder);
  fprintf(f,
          " || exit 1\nmkdir -p log\n"
          "if command -v parallel >/dev/null 2>&1; then\n"
          "  seq %d | parallel --will-cite ${PERP_HOSTS:+--sshlogin \"$PERP_HOSTS\" --workdir "
          "\"$PWD\"} --joblog log/joblog \\\n"
          "    'sh ./task.sh {} >log/{}.out 2>&1'\n"
          "else # without GNU parallel: as many at a time as there are processors\n"
          "  seq %d | xargs -P \"$(nproc)\" -I '{}' sh -c 'sh ./task.sh {} >log/{}.out 2>&1'\n"
          "fi\n"
          "exec sh ./finish.sh\n",
          c->tasks, c->tasks);
}

static perp_status cmd_cluster_write_script(struct cluster *c, const char *name,
                                            void (*put)(const struct cluster *, FILE *))
{
  char *text = NULL, *path = perp_xprintf("%s/cluster/%s", c->dir, name);
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  if (f == NULL) return PERP_FAIL(c->ctx, PERP_ERR_NOMEM, "no memory for %s", path);
  put(c, f);
  fclose(f);
  perp_status status = perp_write_file(c->ctx, path, text, n);
  if (status == PERP_OK) chmod(path, 0755);
  free(text);
  free(path);
  return status;
}

static void put_study(const struct cluster *c, FILE *f)
{
  fprintf(f, "# %s, as it is run: profile and --set merged\n", c->study->name);
  perp_tree_write(c->study->root, f);
}

static perp_status write_all(struct cluster *c)
{
  perp_status status = perp_make_part(c->ctx, c->dir, "cluster");
  if (status == PERP_OK) status = cmd_cluster_write_script(c, "study.yaml", put_study);
  if (status == PERP_OK) status = cmd_cluster_write_script(c, "task.sh", put_task);
  if (status == PERP_OK) status = cmd_cluster_write_script(c, "finish.sh", put_finish);
  if (status == PERP_OK)
    status = cmd_cluster_write_script(c, "start.sh", c->slurm ? put_slurm : put_parallel);
  return status;
}

static int cmd_cluster_read_numbers(struct cluster *c, const perp_args *args, double *target)
{
  const char *text;
  int64_t n = 0;
  *target = 600;
  c->jobs = 1;
  if ((text = perp_args_get(args, "tasks")) != NULL) {
    if (perp_parse_int(c->ctx, text, 1, 100000, &n) != PERP_OK)
      return perp_usage_error(args, "--tasks: %s", c->ctx->msg);
    c->tasks = (int)n;
  }
  if ((text = perp_args_get(args, "jobs")) != NULL) {
    if (perp_parse_int(c->ctx, text, 1, 4096, &n) != PERP_OK)
      return perp_usage_error(args, "--jobs: %s", c->ctx->msg);
    c->jobs = (int)n;
  }
  if ((text = perp_args_get(args, "target-time")) != NULL &&
      (perp_parse_duration(c->ctx, text, target) != PERP_OK || !(*target > 0)))
    return perp_usage_error(args, "--target-time: %s",
                            *target > 0 ? c->ctx->msg : "must be positive");
  return -1;
}

static int cmd_cluster_run(struct cluster *c, const perp_args *args, double target)
{
  c->seconds = (double)NAN;
  if (c->tasks == 0) {
    perp_say("trying some cells, to see how long they take");
    double total = perp_command_pilot(c->ctx, c->study, &c->plan) / c->jobs;
    if (!isfinite(total)) {
      perp_print_error(c->ctx);
      return PERP_EXIT_INTERNAL;
    }
    c->tasks = (int)fmin(fmax(ceil(total / target), 1), c->plan.n);
    c->seconds = total / c->tasks;
  }
  if (c->tasks > c->plan.n) c->tasks = c->plan.n;
  if (write_all(c) != PERP_OK) {
    perp_print_error(c->ctx);
    return PERP_EXIT_INTERNAL;
  }
  char brief[32];
  printf("%d cells in %d task(s)%s%s of %d job(s) each: %s/cluster\n", c->plan.n, c->tasks,
         isfinite(c->seconds) ? " of about " : "",
         isfinite(c->seconds) ? perp_brief_time(c->seconds, brief) : "", c->jobs, c->dir);
  char *script = perp_xprintf("%s/cluster/start.sh", c->dir);
  perp_text start = { 0 }, dir = { 0 };
  perp_shell_path(&start, script);
  perp_shell_path(&dir, c->dir);
  int code = PERP_EXIT_OK;
  if (perp_args_get(args, "submit") != NULL) {
    const char *const argv[] = { "sh", script, NULL };
    int status = 0;
    if (perp_process_run(c->ctx, &(perp_process){ .argv = argv }, &status) != PERP_OK) {
      perp_print_error(c->ctx);
      code = PERP_EXIT_INTERNAL;
    } else if (status != 0) {
      perp_say("error: sh %s ended with status %d", start.s,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1);
      code = PERP_EXIT_INTERNAL;
    }
  } else
    printf("start    sh %s\n", start.s);
  printf("follow   perp status %s --watch\n", dir.s);
  perp_text_free(&start);
  perp_text_free(&dir);
  free(script);
  return code;
}

int perp_cmd_cluster(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
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
  static const perp_cli cli = {
    "cluster",
    "slurm|parallel STUDY [options]",
    "Writes a study as jobs: DIR/cluster/start.sh submits a Slurm job array, or runs GNU parallel "
    "(xargs where it is "
    "missing), and finishes with the tables and the report. Tasks share the results folder; one "
    "that was killed is just "
    "run again.",
    "Without a folder that all machines see: run the shards that perp plan STUDY --shards N "
    "prints, then perp merge.",
    "perp cluster slurm kkt-scaling --set profile=full -o /shared/kkt --target-time 20m --submit",
    flags,
    2,
    2
  };
  perp_args args;
  perp_study *study;
  double target;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  struct cluster c = { .ctx = ctx, .slurm = strcmp(args.arg[0], "slurm") == 0 };
  if (!c.slurm && strcmp(args.arg[0], "parallel") != 0)
    return perp_usage_error(&args, "'%s' is neither slurm nor parallel", args.arg[0]);
  if (perp_args_get(&args, "submit") != NULL && perp_args_get(&args, "write-only") != NULL)
    return perp_usage_error(&args, "--submit and --write-only contradict each other");
  status = cmd_cluster_read_numbers(&c, &args, &target);
  if (status >= 0) return status;
  args.arg[0] = args.arg[1]; /* the study is where load expects it */
  status = perp_command_study(ctx, &args, &study);
  if (status >= 0) return status;
  c.study = study;
  const char *given = perp_args_get(&args, "output");
  char *dir = given != NULL ? perp_xstrdup(given) : perp_xprintf("results/%s", study->name);
  ssize_t n = readlink("/proc/self/exe", c.program, sizeof c.program - 1);
  if (perp_plan_make(ctx, study, &c.plan) != PERP_OK) {
    perp_print_error(ctx);
    status = PERP_EXIT_INPUT;
  } else if ((status = perp_plan_refuse(study, &c.plan)) >= 0) {
    /* it has said why */
  } else if (c.plan.n == 0) {
    perp_say("nothing to run: every combination is excluded");
    status = PERP_EXIT_NOTHING;
  } else if (n <= 0 || getcwd(c.here, sizeof c.here) == NULL ||
             perp_make_dirs(ctx, dir) != PERP_OK || realpath(dir, c.dir) == NULL) {
    perp_say("error: cannot use the folder %s: %s", dir, strerror(errno));
    status = PERP_EXIT_INTERNAL;
  } else
    status = cmd_cluster_run(&c, &args, target);
  perp_plan_free(&c.plan);
  perp_study_free(study);
  free(dir);
  return status;
}
