/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp status, show */
#include "experiments/cli/command.h"

#include "experiments/study/words.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* Does a runner hold the lock of the folder? */
static bool is_running(const char *dir)
{
  char *path = perp_xprintf("%s/.lock", dir);
  int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  free(path);
  if (fd < 0) return false;
  bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
  close(fd);
  return locked;
}

struct rounds {
  int done, wanted, noisy;
};
static struct rounds count_rounds(const perp_results *results)
{
  struct rounds rounds = { 0 };
  for (int record = 0; record < results->plan.n; record++) {
    rounds.done += results->record[record].rounds;
    rounds.noisy += results->record[record].noisy;
    if (perp_cell_timed(results->study->kind, results->record[record].status))
      rounds.wanted += results->study->measure.repeats;
  }
  return rounds;
}

static void status_text(const perp_results *results, bool running)
{
  struct rounds rounds = count_rounds(results);
  printf("%s in %s: %s\n", results->study->name, results->dir,
         running                                 ? "running"
         : results->count[PERP_CELL_PLANNED] > 0 ? "incomplete"
                                                 : "complete");
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (results->count[s] > 0)
      printf("  %-13s %6d  %5.1f %%\n", perp_cell_status_names[s], results->count[s],
             100.0 * results->count[s] / results->plan.n);
  if (rounds.wanted > 0) /* each cell that still ends well adds its own */
    printf("  timing rounds %6d  of %d%s, %d noisy\n", rounds.done, rounds.wanted,
           results->count[PERP_CELL_PLANNED] > 0 ? " so far" : "", rounds.noisy);
  int interrupted = 0;
  for (int record = 0; record < results->plan.n; record++)
    interrupted += results->record[record].interrupted;
  if (interrupted > 0)
    printf("  %d run(s) %s\n", interrupted, running ? "are in progress" : "were interrupted");
  if (results->as_recorded > 0)
    printf("  ok has the older meaning (schema 1): not every problem was solved necessarily\n");
  if (results->n_envs > 1) printf("  computed in %d environments (see env/)\n", results->n_envs);
  if (results->torn > 0) printf("  %d damaged journal line(s) were ignored\n", results->torn);
}

/* The numbers of those of n parts (perp run --shard k/n) that have something left to do, one a
 * line. */
static void print_tasks(const perp_results *results, int n)
{
  bool *left = perp_xalloc((size_t)n, sizeof *left);
  for (int record = 0; record < results->plan.n; record++) {
    const perp_record *rec = &results->record[record];
    const bool timed = perp_cell_timed(results->study->kind, rec->status);
    if (rec->status == PERP_CELL_PLANNED ||
        (timed && rec->rounds < results->study->measure.repeats))
      left[record % n] = true;
  }
  for (int k = 0; k < n; k++)
    if (left[k]) printf("%d\n", k + 1);
  free(left);
}

static int cmd_status(perp_ctx *ctx, const perp_args *args)
{
  int64_t tasks = 0;
  const int bad = perp_option_int(ctx, args, "tasks", 1, 4000000, &tasks);
  if (bad >= 0) return bad;
  const bool watch = perp_option_given(args, "watch"), json = perp_option_given(args, "json");
  for (;;) {
    perp_results results;
    const int status = perp_results_open(ctx, args->arg[0], &results);
    if (status >= 0) return status;
    if (tasks > 0) {
      print_tasks(&results, (int)tasks);
      perp_results_free(&results);
      return PERP_EXIT_OK;
    }
    const bool running = is_running(results.dir);
    if (watch && !json && isatty(1)) printf("\033[H\033[J");
    if (json) {
      struct rounds rounds = count_rounds(&results);
      perp_json out = { .out = stdout, .indent = true };
      perp_json_open(&out, NULL, '{');
      perp_json_members(&out, "dir %s, study %s, running? %d, cells %d", results.dir,
                        results.study->name, running, results.plan.n);
      perp_json_open(&out, "status", '{');
      for (int s = 0; s < PERP_CELL_STATUSES; s++)
        perp_json_int(&out, perp_cell_status_names[s], results.count[s]);
      perp_json_close(&out, '}');
      perp_json_object(&out, "timing", "rounds %d, wanted %d, noisy %d", rounds.done, rounds.wanted,
                       rounds.noisy);
      perp_json_members(&out, "schema %d, ok_as_recorded %d, torn_lines %d",
                        results.selection.schema, results.as_recorded, results.torn);
      perp_json_open(&out, "environments", '[');
      for (int env = 0; env < results.n_envs; env++)
        perp_json_text(&out, NULL, results.envs[env].id);
      perp_json_close(&out, ']');
      perp_json_close(&out, '}');
    } else
      status_text(&results, running);
    fflush(stdout);
    perp_results_free(&results);
    if (!watch || !running) return PERP_EXIT_OK;
    nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
  }
}

static const perp_flag status_flags[] = { { "watch", 'w', NULL,
                                            "Repeat every two seconds while the study runs." },
                                          { "tasks", 0, "N",
                                            "Print the numbers of incomplete shards out of N "
                                            "instead (perp run --shard K/N), one per line." },
                                          { "json", 0, NULL, "Print JSON." },
                                          { 0 } };

const perp_command perp_status_command = {
  .cli.name = "status",
  .cli.usage = "DIR [options]",
  .cli.summary = "Shows the progress of a study: runs by status, and timing rounds. DIR is a "
                 "results folder, or the name of a study with results in results/NAME.",
  .cli.example = "perp status results/chain6-stab --watch",
  .cli.flags = status_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Show the progress of a study",
  .run = cmd_status
};

/* ---- show ---- */

static void show_json(const perp_results *results, int i)
{
  const perp_study *study = results->study;
  const perp_record *rec = &results->record[i];
  const perp_cell *cell = &results->plan.cells[i];
  perp_json json = { .out = stdout, .indent = true };
  perp_json_open(&json, NULL, '{');
  perp_json_text(&json, "cell", cell->id);
  perp_json_open(&json, "parameters", '{');
  perp_cell_json(&json, study, cell);
  perp_json_close(&json, '}');
  perp_json_members(&json, "status %s, reason %s, cause %s, attempt %d, schema %d",
                    perp_cell_status_names[rec->status], rec->reason, rec->cause, rec->attempt,
                    rec->schema);
  perp_json_texts(&json, "warnings", rec->warning, rec->n_warnings);
  perp_command_record_json(&json, rec);
  if (!isnan(rec->reached)) perp_json_real(&json, "reached", rec->reached);
  perp_json_bool(&json, "partial", rec->partial);
  perp_json_open(&json, "metrics", '{');
  for (int metric = 0; metric < study->n_metrics; metric++)
    if (!study->metric[metric].timing && !isnan(rec->value[metric]))
      perp_json_real(&json, study->metric[metric].name, rec->value[metric]);
  perp_json_close(&json, '}');
  perp_json_open(&json, "time", '{');
  for (int metric = 0; metric < study->n_metrics; metric++) {
    if (!study->metric[metric].timing) continue;
    perp_quartiles quartiles = perp_results_timing(results, i, metric);
    if (quartiles.n == 0) continue;
    perp_json_object(&json, study->metric[metric].name,
                     "n %d, min %g, q1 %g, median %g, q3 %g, max %g, sd %g", quartiles.n,
                     quartiles.min, quartiles.q1, quartiles.median, quartiles.q3, quartiles.max,
                     quartiles.sd);
  }
  perp_json_close(&json, '}');
  perp_json_text(&json, "stderr", rec->stderr_tail);
  char *command = perp_command_alone(study, cell);
  if (command != NULL) perp_json_text(&json, "command", command);
  free(command);
  perp_json_close(&json, '}');
}

/* "err.tip.max   4734  largest error of the tip [m]" */
static void show_metric(const perp_metric *metric, const char *value, const char *more)
{
  enum { WIDTH = 35 };
  char head[128];
  perp_text text = { 0 };
  const char *words = perp_words(metric->name);
  snprintf(head, sizeof head, "  %-20s %10s  ", metric->name, value);
  if (strcmp(words, metric->name) != 0) perp_text_add(&text, "%s", words);
  if (metric->unit[0] != '\0') perp_text_add(&text, "%s[%s]", text.n > 0 ? " " : "", metric->unit);
  perp_text_put(&text, more, strlen(more));
  perp_wrap_after(stdout, head, WIDTH, text.s);
  perp_text_free(&text);
}

static void show_text(const perp_results *results, int i)
{
  const perp_study *study = results->study;
  const perp_record *rec = &results->record[i];
  const perp_cell *cell = &results->plan.cells[i];
  char a[32], b[32], c[32];
  printf("run %s of %s\n", cell->id, study->name);
  for (int param = 0; param < study->n_params; param++)
    if (cell->value[param].text[0] != '\0')
      printf("  %-14s %s\n", study->kind->params[param].key, cell->value[param].text);
  printf("status %s%s%s%s%s\n", perp_cell_status_names[rec->status], rec->reason[0] ? " (" : "",
         rec->reason, rec->reason[0] ? ")" : "", rec->interrupted ? ", interrupted" : "");
  if (rec->cause[0] != '\0') perp_wrap(stdout, 2, rec->cause);
  for (int warning = 0; warning < rec->n_warnings; warning++)
    perp_wrapf(stdout, 2, "warning: %s", rec->warning[warning]);
  if (rec->schema < 2 && rec->status == PERP_CELL_OK)
    printf("  ok has the older meaning (schema 1): not every problem was solved necessarily\n");
  if (rec->partial)
    printf("  partial: the values are those up to t = %s s\n", perp_brief(rec->reached, a));
  for (int metric = 0; metric < study->n_metrics; metric++)
    if (!study->metric[metric].timing && !isnan(rec->value[metric]))
      show_metric(&study->metric[metric], perp_brief(rec->value[metric], a), "");
  for (int metric = 0; metric < study->n_metrics; metric++) {
    if (!study->metric[metric].timing) continue;
    perp_quartiles quartiles = perp_results_timing(results, i, metric);
    if (!(quartiles.n > 0 && quartiles.max > 0)) continue;
    char rounds[96] = "";
    if (quartiles.n > 1)
      snprintf(rounds, sizeof rounds, "; %s to %s in %d rounds", perp_brief(quartiles.min, b),
               perp_brief(quartiles.max, c), quartiles.n);
    show_metric(&study->metric[metric], perp_brief(quartiles.median, a), rounds);
  }
  char *series = perp_xprintf("%s/series/%s.csv", results->dir, cell->id);
  if (perp_exists(series)) printf("series %s\n", series);
  free(series);
  if (rec->stderr_tail[0] != '\0') printf("output of the run\n%s\n", rec->stderr_tail);
  char *command = perp_command_alone(study, cell);
  if (command != NULL) printf("alone: %s\n", command);
  free(command);
}

static int cmd_show(perp_ctx *ctx, const perp_args *args)
{
  perp_results results;
  int status = perp_results_open(ctx, args->arg[0], &results);
  if (status >= 0) return status;
  int i = perp_command_cell(args, &results.plan, args->arg[1]);
  status = i < 0 ? PERP_EXIT_USAGE : PERP_EXIT_OK;
  if (i >= 0 && perp_option_given(args, "json"))
    show_json(&results, i);
  else if (i >= 0)
    show_text(&results, i);
  perp_results_free(&results);
  return status;
}

static const perp_flag show_flags[] = { { "json", 0, NULL, "Print JSON." }, { 0 } };

const perp_command perp_show_command = {
  .cli.name = "show",
  .cli.usage = "DIR CELL [--json]",
  .cli.summary = "Shows one run completely: parameters, status, metrics, times, its output, and "
                 "the command that repeats it alone. CELL is the id of the run or its beginning.",
  .cli.example = "perp show results/chain6-stab a430",
  .cli.flags = show_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Show one run completely",
  .run = cmd_show
};
