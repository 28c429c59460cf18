/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/command.h"

#include "experiments/base/env.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/study/process_pool.h"
#include "experiments/base/files.h"
#include "solvers/core/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int perp_command_study(perp_ctx *ctx, const perp_args *args, perp_study **study)
{
  const char *set[PERP_ARGS_MAX], *profile = NULL;
  int n_set = 0;
  for (int flag = 0; flag < args->n_flags; flag++) {
    const char *value = args->flag[flag].value;
    if (strcmp(args->flag[flag].flag->name, "set") != 0) continue;
    if (strncmp(value, "profile=", 8) == 0)
      profile = value + 8;
    else
      set[n_set++] = value;
  }
  char *path = perp_study_find(ctx, args->arg[0]);
  if (path == NULL) return perp_usage_of(ctx, args, "%s", ctx->msg);
  perp_study_request request = { .file = path, .profile = profile, .set = set, .n_set = n_set };
  perp_diag diag = { 0 };
  perp_status status = perp_study_read(ctx, &request, &diag, study);
  if (status != PERP_OK) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  free(path);
  return status == PERP_OK ? -1 : status == PERP_ERR_OPTION ? PERP_EXIT_USAGE : PERP_EXIT_INPUT;
}

int perp_command_plan(perp_ctx *ctx, const perp_args *args, bool refuse, perp_study **study,
                      perp_plan *plan)
{
  int status = perp_command_study(ctx, args, study);
  if (status >= 0) return status;
  if (perp_plan_make(ctx, *study, plan) != PERP_OK)
    status = perp_refuse(ctx, PERP_EXIT_INPUT);
  else if (refuse)
    status = perp_plan_refuse(ctx, *study, plan);
  if (status < 0) return status;
  perp_plan_free(plan);
  perp_study_free(*study);
  return status;
}

int perp_command_try(perp_ctx *ctx, const perp_args *args, const perp_study *study,
                     const perp_plan *plan, perp_trial *trial)
{
  *trial = (perp_trial){ 0 };
  if (perp_option_given(args, "quick") ||
      perp_trial_make(ctx, study, plan, NULL, perp_cores(), PERP_PROGRESS_AUTO, trial) == PERP_OK)
    return -1;
  return perp_refuse(ctx, PERP_EXIT_INTERNAL);
}

char *perp_command_folder(const perp_args *args, const perp_study *study)
{
  const char *given = perp_args_get(args, "output");
  return given != NULL ? perp_xstrdup(given) : perp_xprintf("results/%s", study->name);
}

char *perp_command_alone(const perp_study *study, const perp_cell *cell)
{
  perp_text text = { 0 };
  if (study->kind->command == NULL) return NULL;
  study->kind->command(study, cell, &text);
  perp_plugin_arguments(&text);
  return text.s;
}

void perp_command_record_json(perp_json *json, const perp_record *record)
{
  if (!isnan(record->problems))
    perp_json_members(json, "problems %lld, unsolved %lld, swept %lld", (long long)record->problems,
                      (long long)record->unsolved, (long long)record->swept);
}

int perp_command_cell(const perp_args *args, const perp_plan *plan, const char *id)
{
  int i = perp_plan_find(plan, id);
  if (i < 0)
    perp_usage_error(args,
                     i == -1 ? "no run has an id that begins with '%s'"
                             : "several ids begin with '%s': give more of it",
                     id);
  return i < 0 ? -1 : i;
}

perp_status perp_command_run_cell(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome)
{
  int number;
  char *folder = perp_temp_folder(ctx), *log = NULL;
  if (folder != NULL) log = perp_xprintf("%s/log", folder);
  const perp_status status = perp_process_pool_once(ctx, job, log, outcome, &number);
  char *said = log != NULL ? perp_read_file(log, NULL) : NULL;
  if (said != NULL && said[0] != '\0')
    fprintf(stderr, "output of the run\n%s\n", perp_shown_clean(said));
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
  for (int i = 0; i < plan->n; i++) total += perp_cell_work(study, &plan->cells[i]);
  int cells = plan->n < PILOT ? plan->n : PILOT;
  for (int k = 0; k < cells; k++) { /* spread over the grid */
    const perp_cell *cell = &plan->cells[(int)((2LL * k + 1) * plan->n / (2 * cells))];
    perp_job job = { .study = study, .cell = cell };
    double begun = perp_clock_wall();
    if (perp_command_run_cell(ctx, &job, &outcome) != PERP_OK) return (double)NAN;
    seconds += perp_clock_wall() - begun;
    done += perp_cell_work(study, cell);
  }
  return done > 0 ? seconds / done * total * (1 + study->measure.repeats) : (double)NAN;
}
