/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/command.h"

#include "experiments/study/process_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int perp_command_study(perp_ctx *ctx, const perp_args *args, perp_study **study)
{
  const char *set[PERP_ARGS_MAX], *profile = NULL;
  int n_set = 0;
  for (int i = 0; i < args->n_flags; i++) {
    const char *value = args->flag[i].value;
    if (strcmp(args->flag[i].flag->name, "set") != 0) continue;
    if (strncmp(value, "profile=", 8) == 0)
      profile = value + 8;
    else
      set[n_set++] = value;
  }
  char *path = perp_study_find(ctx, args->arg[0]);
  if (path == NULL) return perp_usage_error(args, "%s", ctx->msg);
  perp_study_request q = { .file = path, .profile = profile, .set = set, .n_set = n_set };
  perp_diag diag = { 0 };
  perp_status status = perp_study_read(ctx, &q, &diag, study);
  if (status != PERP_OK) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  free(path);
  return status == PERP_OK ? -1 : status == PERP_ERR_OPTION ? PERP_EXIT_USAGE : PERP_EXIT_INPUT;
}

int perp_command_cell(const perp_args *args, const perp_plan *plan, const char *id)
{
  int i = perp_plan_find(plan, id);
  if (i < 0)
    perp_usage_error(args,
                     i == -1 ? "no cell has an id that begins with '%s'"
                             : "several ids begin with '%s': give more of it",
                     id);
  return i < 0 ? -1 : i;
}

int perp_command_write(perp_ctx *ctx, const char *path, const char *text, size_t n)
{
  if (path == NULL || strcmp(path, "-") == 0) {
    fwrite(text, 1, n, stdout);
    return PERP_EXIT_OK;
  }
  if (perp_write_file(ctx, path, text, n) == PERP_OK) return PERP_EXIT_OK;
  perp_print_error(ctx);
  return PERP_EXIT_INTERNAL;
}

perp_status perp_command_run_cell(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome)
{
  perp_process_pool *workers;
  perp_order order = { .job = *job,
                       .timeout = job->study->limits.timeout,
                       .memory = job->study->limits.memory },
             done;
  int number = 0;
  PERP_TRY(perp_process_pool_create(ctx, 1, &workers));
  char *folder = perp_temp_folder(ctx), *log = NULL;
  if (folder != NULL) order.log_path = log = perp_xprintf("%s/log", folder);
  perp_status status = perp_process_pool_start(ctx, workers, &order);
  while (status == PERP_OK) {
    perp_process_pool_event event = perp_process_pool_wait(workers, 1, &done, outcome, &number);
    if (event == PERP_CREW_DONE) break;
    if (event == PERP_CREW_SIGNAL) status = PERP_FAIL(ctx, PERP_ERR_IO, "interrupted");
  }
  perp_process_pool_destroy(workers);
  char *said = log != NULL ? perp_read_file(log, NULL) : NULL;
  if (said != NULL && said[0] != '\0') fprintf(stderr, "it printed\n%s\n", said);
  free(said);
  free(log);
  perp_temp_remove(folder);
  return status;
}

double perp_command_pilot(perp_ctx *ctx, const perp_study *study, const perp_plan *plan)
{
  enum { PILOT = 5 };
  double seconds = 0, done = 0, total = 0;
  static perp_outcome outcome;
  const perp_cell_kind *kind = study->kind;
  for (int i = 0; i < plan->n; i++)
    total += kind->work != NULL ? kind->work(study, &plan->cells[i]) : 1;
  int cells = plan->n < PILOT ? plan->n : PILOT;
  for (int k = 0; k < cells; k++) { /* spread over the grid */
    const perp_cell *cell = &plan->cells[(int)((2LL * k + 1) * plan->n / (2 * cells))];
    perp_job job = { .study = study, .cell = cell };
    double begun = perp_clock_wall();
    if (perp_command_run_cell(ctx, &job, &outcome) != PERP_OK) return (double)NAN;
    seconds += perp_clock_wall() - begun;
    done += kind->work != NULL ? kind->work(study, cell) : 1;
  }
  return done > 0 ? seconds / done * total * (1 + study->measure.repeats) : (double)NAN;
}
