/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp status, show */
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/command.h"

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
    const perp_cell_status s = r->record[i].status;
    if (s == PERP_CELL_OK || (perp_cell_whole(s) && r->study->kind->runs))
      n.wanted += r->study->measure.repeats;
  }
  return n;
}

static void status_json(const perp_results *r, bool running)
{
  struct rounds rounds = count_rounds(r);
  perp_json j = { .out = stdout, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "dir", r->dir);
  perp_json_text(&j, "study", r->study->name);
  perp_json_bool(&j, "running", running);
  perp_json_int(&j, "cells", r->plan.n);
  perp_json_open(&j, "status", '{');
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    perp_json_int(&j, perp_cell_status_names[s], r->count[s]);
  perp_json_close(&j, '}');
  perp_json_open(&j, "timing", '{');
  perp_json_int(&j, "rounds", rounds.done);
  perp_json_int(&j, "wanted", rounds.wanted);
  perp_json_int(&j, "noisy", rounds.noisy);
  perp_json_close(&j, '}');
  perp_json_int(&j, "schema", r->selection.schema);
  perp_json_int(&j, "ok_as_recorded", r->as_recorded);
  perp_json_int(&j, "torn_lines", r->torn);
  perp_json_open(&j, "environments", '[');
  for (int i = 0; i < r->n_envs; i++) perp_json_text(&j, NULL, r->envs[i].id);
  perp_json_close(&j, ']');
  perp_json_close(&j, '}');
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
    printf("  %d cell(s) %s\n", interrupted, running ? "are being computed" : "were interrupted");
  if (r->as_recorded > 0)
    printf("  ok as recorded (schema 1: it did not mean that every problem was solved)\n");
  if (r->n_envs > 1) printf("  made in %d environments (see env/)\n", r->n_envs);
  if (r->torn > 0) printf("  %d torn journal line(s), left out\n", r->torn);
}

int perp_cmd_status(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = { { "watch", 'w', NULL,
                                       "repeat every two seconds while it runs" },
                                     { "json", 0, NULL, "as JSON" },
                                     { 0 } };
  static const perp_cli cli = {
    "status",
    "DIR [options]",
    "How far a run is: cells by status, timing rounds. DIR is a results "
    "folder, or the name of a study with results in results/NAME.",
    NULL,
    "perp status results/chain6-stab --watch",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  bool watch = perp_args_get(&args, "watch") != NULL, json = perp_args_get(&args, "json") != NULL;
  for (;;) {
    perp_results r;
    status = perp_results_open(ctx, args.arg[0], &r);
    if (status >= 0) return status;
    bool running = is_running(r.dir);
    if (watch && !json && isatty(1)) printf("\033[H\033[J");
    if (json)
      status_json(&r, running);
    else
      status_text(&r, running);
    fflush(stdout);
    perp_results_free(&r);
    if (!watch || !running) return PERP_EXIT_OK;
    nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
  }
}

/* ---- show --------------------------------------------------------------------------------------------------- */

static void show_json(const perp_results *r, int i)
{
  const perp_study *s = r->study;
  const perp_record *rec = &r->record[i];
  const perp_cell *cell = &r->plan.cells[i];
  perp_json j = { .out = stdout, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "cell", cell->id);
  perp_json_open(&j, "parameters", '{');
  for (int p = 0; p < s->n_params; p++)
    if (cell->value[p][0] != '\0') perp_json_text(&j, s->kind->params[p].key, cell->value[p]);
  perp_json_close(&j, '}');
  perp_json_text(&j, "status", perp_cell_status_names[rec->status]);
  perp_json_text(&j, "reason", rec->reason);
  perp_json_text(&j, "cause", rec->cause);
  perp_json_int(&j, "attempt", rec->attempt);
  perp_json_int(&j, "schema", rec->schema);
  if (!isnan(rec->problems)) {
    perp_json_int(&j, "problems", (int64_t)rec->problems);
    perp_json_int(&j, "unsolved", (int64_t)rec->unsolved);
    perp_json_int(&j, "swept", (int64_t)rec->swept);
  }
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
    perp_json_open(&j, s->metric[m].name, '{');
    perp_json_int(&j, "n", q.n);
    perp_json_real(&j, "min", q.min);
    perp_json_real(&j, "q1", q.q1);
    perp_json_real(&j, "median", q.median);
    perp_json_real(&j, "q3", q.q3);
    perp_json_real(&j, "max", q.max);
    perp_json_real(&j, "sd", q.sd);
    perp_json_close(&j, '}');
  }
  perp_json_close(&j, '}');
  perp_json_text(&j, "stderr", rec->stderr_tail);
  if (s->kind->command != NULL) {
    perp_text t = { 0 };
    s->kind->command(s, cell, &t);
    perp_plugin_arguments(&t);
    perp_json_text(&j, "command", t.s);
    perp_text_free(&t);
  }
  perp_json_close(&j, '}');
}

static void show_text(const perp_results *r, int i)
{
  const perp_study *s = r->study;
  const perp_record *rec = &r->record[i];
  const perp_cell *cell = &r->plan.cells[i];
  char a[32], b[32], c[32];
  printf("cell %s of %s\n", cell->id, s->name);
  for (int p = 0; p < s->n_params; p++)
    if (cell->value[p][0] != '\0') printf("  %-14s %s\n", s->kind->params[p].key, cell->value[p]);
  printf("status %s%s%s%s%s\n", perp_cell_status_names[rec->status], rec->reason[0] ? " (" : "",
         rec->reason, rec->reason[0] ? ")" : "", rec->interrupted ? ", interrupted" : "");
  if (rec->cause[0] != '\0') perp_wrap(stdout, 2, rec->cause);
  if (rec->schema < 2 && rec->status == PERP_CELL_OK)
    printf("  as recorded, schema 1: ok did not mean that every problem was solved\n");
  if (rec->partial)
    printf("  partial: the figures are those up to t = %s s\n", perp_brief(rec->reached, a));
  for (int m = 0; m < s->n_metrics; m++)
    if (!s->metric[m].timing && !isnan(rec->value[m]))
      printf("  %-20s %12s  %s\n", s->metric[m].name, perp_brief(rec->value[m], a),
             s->metric[m].unit);
  for (int m = 0; m < s->n_metrics; m++) {
    if (!s->metric[m].timing) continue;
    perp_quartiles q = perp_results_timing(r, i, m);
    if (q.n > 0 && q.max > 0)
      printf("  %-20s %12s  %s, %s to %s in %d round(s)\n", s->metric[m].name,
             perp_brief(q.median, a), s->metric[m].unit, perp_brief(q.min, b), perp_brief(q.max, c),
             q.n);
  }
  char *series = perp_xprintf("%s/series/%s.csv", r->dir, cell->id);
  if (perp_exists(series)) printf("series %s\n", series);
  free(series);
  if (rec->stderr_tail[0] != '\0') printf("it printed\n%s\n", rec->stderr_tail);
  if (s->kind->command != NULL) {
    perp_text t = { 0 };
    s->kind->command(s, cell, &t);
    perp_plugin_arguments(&t);
    printf("alone: %s\n", t.s);
    perp_text_free(&t);
  }
}

int perp_cmd_show(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = { { "json", 0, NULL, "as JSON" }, { 0 } };
  static const perp_cli cli = {
    "show",
    "DIR CELL [--json]",
    "Everything about one cell: parameters, status, metrics, times, what it "
    "printed, the command that runs it alone. CELL is an id or its beginning.",
    NULL,
    "perp show results/chain6-stab 6b1e",
    flags,
    2,
    2
  };
  perp_args args;
  perp_results r;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status < 0) status = perp_results_open(ctx, args.arg[0], &r);
  if (status >= 0) return status;
  int i = perp_command_cell(&args, &r.plan, args.arg[1]);
  status = i < 0 ? PERP_EXIT_USAGE : PERP_EXIT_OK;
  if (i >= 0 && perp_args_get(&args, "json") != NULL)
    show_json(&r, i);
  else if (i >= 0)
    show_text(&r, i);
  perp_results_free(&r);
  return status;
}
