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
static struct rounds count_rounds(const perp_results *r)
{
  struct rounds n = { 0 };
  for (int i = 0; i < r->plan.n; i++) {
    n.done += r->record[i].rounds;
    n.noisy += r->record[i].noisy;
    if (perp_cell_timed(r->study->kind, r->record[i].status)) n.wanted += r->study->measure.repeats;
  }
  return n;
}

static void status_text(const perp_results *r, bool running)
{
  struct rounds rounds = count_rounds(r);
  printf("%s in %s: %s\n", r->study->name, r->dir,
         running                           ? "running"
         : r->count[PERP_CELL_PLANNED] > 0 ? "incomplete"
                                           : "complete");
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (r->count[s] > 0)
      printf("  %-13s %6d  %5.1f %%\n", perp_cell_status_names[s], r->count[s],
             100.0 * r->count[s] / r->plan.n);
  if (rounds.wanted > 0) /* each cell that still ends well adds its own */
    printf("  timing rounds %6d  of %d%s, %d noisy\n", rounds.done, rounds.wanted,
           r->count[PERP_CELL_PLANNED] > 0 ? " so far" : "", rounds.noisy);
  int interrupted = 0;
  for (int i = 0; i < r->plan.n; i++) interrupted += r->record[i].interrupted;
  if (interrupted > 0)
    printf("  %d run(s) %s\n", interrupted, running ? "are in progress" : "were interrupted");
  if (r->as_recorded > 0)
    printf("  ok has the older meaning (schema 1): not every problem was solved necessarily\n");
  if (r->n_envs > 1) printf("  computed in %d environments (see env/)\n", r->n_envs);
  if (r->torn > 0) printf("  %d damaged journal line(s) were ignored\n", r->torn);
}

/* The numbers of those of n parts (perp run --shard k/n) that have something left to do, one a
 * line. */
static void print_tasks(const perp_results *r, int n)
{
  bool *left = perp_xalloc((size_t)n, sizeof *left);
  for (int i = 0; i < r->plan.n; i++) {
    const perp_record *rec = &r->record[i];
    const bool timed = perp_cell_timed(r->study->kind, rec->status);
    if (rec->status == PERP_CELL_PLANNED || (timed && rec->rounds < r->study->measure.repeats))
      left[i % n] = true;
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
    perp_results r;
    const int status = perp_results_open(ctx, args->arg[0], &r);
    if (status >= 0) return status;
    if (tasks > 0) {
      print_tasks(&r, (int)tasks);
      perp_results_free(&r);
      return PERP_EXIT_OK;
    }
    const bool running = is_running(r.dir);
    if (watch && !json && isatty(1)) printf("\033[H\033[J");
    if (json)
      {
  struct rounds rounds = count_rounds(&r);
  perp_json j = { .out = stdout, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_members(&j, "dir %s, study %s, running? %d, cells %d", r.dir, r.study->name, running,
                    r.plan.n);
  perp_json_open(&j, "status", '{');
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    perp_json_int(&j, perp_cell_status_names[s], r.count[s]);
  perp_json_close(&j, '}');
  perp_json_object(&j, "timing", "rounds %d, wanted %d, noisy %d", rounds.done, rounds.wanted,
                   rounds.noisy);
  perp_json_members(&j, "schema %d, ok_as_recorded %d, torn_lines %d", r.selection.schema,
                    r.as_recorded, r.torn);
  perp_json_open(&j, "environments", '[');
  for (int i = 0; i < r.n_envs; i++) perp_json_text(&j, NULL, r.envs[i].id);
  perp_json_close(&j, ']');
  perp_json_close(&j, '}');
}
    else
      status_text(&r, running);
    fflush(stdout);
    perp_results_free(&r);
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

static void show_json(const perp_results *r, int i)
{
  const perp_study *s = r->study;
  const perp_record *rec = &r->record[i];
  const perp_cell *cell = &r->plan.cells[i];
  perp_json j = { .out = stdout, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "cell", cell->id);
  perp_json_open(&j, "parameters", '{');
  perp_cell_json(&j, s, cell);
  perp_json_close(&j, '}');
  perp_json_members(&j, "status %s, reason %s, cause %s, attempt %d, schema %d",
                    perp_cell_status_names[rec->status], rec->reason, rec->cause, rec->attempt,
                    rec->schema);
  perp_json_texts(&j, "warnings", rec->warning, rec->n_warnings);
  perp_command_record_json(&j, rec);
  if (!isnan(rec->reached)) perp_json_real(&j, "reached", rec->reached);
  perp_json_bool(&j, "partial", rec->partial);
  perp_json_open(&j, "metrics", '{');
  for (int m = 0; m < s->n_metrics; m++)
    if (!s->metric[m].timing && !isnan(rec->value[m]))
      perp_json_real(&j, s->metric[m].name, rec->value[m]);
  perp_json_close(&j, '}');
  perp_json_open(&j, "time", '{');
  for (int m = 0; m < s->n_metrics; m++) {
    if (!s->metric[m].timing) continue;
    perp_quartiles q = perp_results_timing(r, i, m);
    if (q.n == 0) continue;
    perp_json_object(&j, s->metric[m].name, "n %d, min %g, q1 %g, median %g, q3 %g, max %g, sd %g",
                     q.n, q.min, q.q1, q.median, q.q3, q.max, q.sd);
  }
  perp_json_close(&j, '}');
  perp_json_text(&j, "stderr", rec->stderr_tail);
  char *command = perp_command_alone(s, cell);
  if (command != NULL) perp_json_text(&j, "command", command);
  free(command);
  perp_json_close(&j, '}');
}

/* "err.tip.max   4734  largest error of the tip [m]" */
static void show_metric(const perp_metric *m, const char *value, const char *more)
{
  enum { WIDTH = 35 };
  char head[128];
  perp_text text = { 0 };
  const char *words = perp_words(m->name);
  snprintf(head, sizeof head, "  %-20s %10s  ", m->name, value);
  if (strcmp(words, m->name) != 0) perp_text_add(&text, "%s", words);
  if (m->unit[0] != '\0') perp_text_add(&text, "%s[%s]", text.n > 0 ? " " : "", m->unit);
  perp_text_put(&text, more, strlen(more));
  perp_wrap_after(stdout, head, WIDTH, text.s);
  perp_text_free(&text);
}

static void show_text(const perp_results *r, int i)
{
  const perp_study *s = r->study;
  const perp_record *rec = &r->record[i];
  const perp_cell *cell = &r->plan.cells[i];
  char a[32], b[32], c[32];
  printf("run %s of %s\n", cell->id, s->name);
  for (int p = 0; p < s->n_params; p++)
    if (cell->value[p].text[0] != '\0')
      printf("  %-14s %s\n", s->kind->params[p].key, cell->value[p].text);
  printf("status %s%s%s%s%s\n", perp_cell_status_names[rec->status], rec->reason[0] ? " (" : "",
         rec->reason, rec->reason[0] ? ")" : "", rec->interrupted ? ", interrupted" : "");
  if (rec->cause[0] != '\0') perp_wrap(stdout, 2, rec->cause);
  for (int k = 0; k < rec->n_warnings; k++) perp_wrapf(stdout, 2, "warning: %s", rec->warning[k]);
  if (rec->schema < 2 && rec->status == PERP_CELL_OK)
    printf("  ok has the older meaning (schema 1): not every problem was solved necessarily\n");
  if (rec->partial)
    printf("  partial: the values are those up to t = %s s\n", perp_brief(rec->reached, a));
  for (int m = 0; m < s->n_metrics; m++)
    if (!s->metric[m].timing && !isnan(rec->value[m]))
      show_metric(&s->metric[m], perp_brief(rec->value[m], a), "");
  for (int m = 0; m < s->n_metrics; m++) {
    if (!s->metric[m].timing) continue;
    perp_quartiles q = perp_results_timing(r, i, m);
    if (!(q.n > 0 && q.max > 0)) continue;
    char rounds[96] = "";
    if (q.n > 1)
      snprintf(rounds, sizeof rounds, "; %s to %s in %d rounds", perp_brief(q.min, b),
               perp_brief(q.max, c), q.n);
    show_metric(&s->metric[m], perp_brief(q.median, a), rounds);
  }
  char *series = perp_xprintf("%s/series/%s.csv", r->dir, cell->id);
  if (perp_exists(series)) printf("series %s\n", series);
  free(series);
  if (rec->stderr_tail[0] != '\0') printf("output of the run\n%s\n", rec->stderr_tail);
  char *command = perp_command_alone(s, cell);
  if (command != NULL) printf("alone: %s\n", command);
  free(command);
}

static int cmd_show(perp_ctx *ctx, const perp_args *args)
{
  perp_results r;
  int status = perp_results_open(ctx, args->arg[0], &r);
  if (status >= 0) return status;
  int i = perp_command_cell(args, &r.plan, args->arg[1]);
  status = i < 0 ? PERP_EXIT_USAGE : PERP_EXIT_OK;
  if (i >= 0 && perp_option_given(args, "json"))
    show_json(&r, i);
  else if (i >= 0)
    show_text(&r, i);
  perp_results_free(&r);
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
