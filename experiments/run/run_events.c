/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/run/run_events.h"

#include "experiments/plugins/plugin_files.h"
#include "experiments/base/env.h"
#include "experiments/run/folder.h"
#include "experiments/run/program.h"
#include "experiments/results/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct line {
  char *text;
  size_t size;
  perp_json j;
};

static void line_begin(struct line *line, const char *event)
{
  *line = (struct line){ 0 };
  line->j.out = perp_memory_stream(&line->text, &line->size);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  perp_json_members(&line->j, "{ event %s, t %g", event,
                    (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
}

static perp_status line_end(perp_ctx *ctx, perp_journal *journal, struct line *line)
{
  perp_json_close(&line->j, '}');
  perp_memory_stream_close(line->j.out);
  perp_status status = perp_journal_write(ctx, journal, line->text, line->size - 1);
  free(line->text);
  return status;
}

perp_status perp_run_event_begin(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                 int cells, const perp_run_options *options)
{
  struct line line;
  char id[17];
  perp_env_id(id);
  line_begin(&line, "run");
  perp_json_members(&line.j,
                    "schema %d, env %s, load %g, jobs %d, cells %d, profile %s, command %s, "
                    "timeout %g, memory %g",
                    PERP_RESULTS_SCHEMA, id, perp_load(), options->jobs, cells, study->profile,
                    options->again, options->timeout, options->memory);
  perp_program_write(&line.j);
  return line_end(ctx, journal, &line);
}

perp_status perp_run_event_start(perp_ctx *ctx, perp_journal *journal, const char *id, int attempt)
{
  struct line line;
  line_begin(&line, "start");
  perp_json_members(&line.j, "cell %s, attempt %d", id, attempt);
  return line_end(ctx, journal, &line);
}

perp_status perp_run_event_outcome(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                   const perp_cell *cell, int attempt, bool timing,
                                   const perp_outcome *outcome, const char *log)
{
  struct line line;
  line_begin(&line, timing ? "time" : "cell");
  perp_json_members(&line.j, "cell %s, attempt %d, status %s", cell->id, attempt,
                    perp_cell_status_names[outcome->status]);
  if (outcome->reason[0] != '\0') perp_json_text(&line.j, "reason", outcome->reason);
  if (outcome->cause[0] != '\0') perp_json_text(&line.j, "cause", outcome->cause);
  if (!timing && outcome->warnings.n > 0) perp_warnings_json(&outcome->warnings, &line.j);
  if (outcome->resolved[0] != '\0' && !timing)
    perp_json_text(&line.j, "resolved", outcome->resolved);
  if (!timing && outcome->problems > 0)
    perp_json_members(&line.j, "problems %lld, unsolved %lld, swept %lld",
                      (long long)outcome->problems, (long long)outcome->unsolved,
                      (long long)outcome->swept);
  if (!timing && outcome->partial) perp_json_bool(&line.j, "partial", true);
  if (!timing && outcome->reached > 0) perp_json_real(&line.j, "reached", outcome->reached);
  perp_json_members(&line.j, "cpu_s %g, wall_s %g", outcome->cpu_s, outcome->wall_s);
  if (timing && outcome->pace > 0) perp_json_real(&line.j, "pace_s", outcome->pace);
  perp_json_open(&line.j, "values", '{');
  const perp_metric *metric = NULL, *const end = study->metric + study->n_metrics;
  for (int i = 0; i < outcome->n; i++) { /* mostly in the order of the study */
    const bool next = metric != NULL && metric + 1 < end &&
                      strcmp(metric[1].name, outcome->value[i].name) == 0;
    metric = next ? metric + 1 : perp_study_metric(study, outcome->value[i].name);
    /* what is not there is read as NaN */
    if (metric != NULL && (metric->timing || !timing) && !isnan(outcome->value[i].value))
      perp_json_real(&line.j, metric->name, outcome->value[i].value);
  }
  perp_json_close(&line.j, '}');
  char *tail = perp_folder_log_tail(log);
  if (tail != NULL && !timing) perp_json_text(&line.j, "stderr", tail);
  char code[17];
  perp_plugin_code(ctx, study, cell, code);
  if (code[0] != '\0' && !timing) perp_json_text(&line.j, "code", code);
  free(tail);
  return line_end(ctx, journal, &line);
}

perp_status perp_run_event_end(perp_ctx *ctx, perp_journal *journal, const char *why)
{
  struct line line;
  line_begin(&line, "end");
  perp_json_text(&line.j, "why", why);
  return line_end(ctx, journal, &line);
}
