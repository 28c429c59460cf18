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

static void line_begin(struct line *l, const char *event)
{
  *l = (struct line){ 0 };
  l->j.out = perp_memory_stream(&l->text, &l->size);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  perp_json_members(&l->j, "{ event %s, t %g", event,
                    (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
}

static perp_status line_end(perp_ctx *ctx, perp_journal *journal, struct line *l)
{
  perp_json_close(&l->j, '}');
  perp_memory_stream_close(l->j.out);
  perp_status status = perp_journal_write(ctx, journal, l->text, l->size - 1);
  free(l->text);
  return status;
}

perp_status perp_run_event_begin(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                 int cells, const perp_run_options *options)
{
  struct line l;
  char id[17];
  perp_env_id(id);
  line_begin(&l, "run");
  perp_json_members(&l.j,
                    "schema %d, env %s, load %g, jobs %d, cells %d, profile %s, command %s, "
                    "timeout %g, memory %g",
                    PERP_RESULTS_SCHEMA, id, perp_load(), options->jobs, cells, study->profile,
                    options->again, options->timeout, options->memory);
  perp_program_write(&l.j);
  return line_end(ctx, journal, &l);
}

perp_status perp_run_event_start(perp_ctx *ctx, perp_journal *journal, const char *id, int attempt)
{
  struct line l;
  line_begin(&l, "start");
  perp_json_members(&l.j, "cell %s, attempt %d", id, attempt);
  return line_end(ctx, journal, &l);
}

perp_status perp_run_event_outcome(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                   const perp_cell *cell, int attempt, bool timing,
                                   const perp_outcome *outcome, const char *log)
{
  struct line l;
  line_begin(&l, timing ? "time" : "cell");
  perp_json_members(&l.j, "cell %s, attempt %d, status %s", cell->id, attempt,
                    perp_cell_status_names[outcome->status]);
  if (outcome->reason[0] != '\0') perp_json_text(&l.j, "reason", outcome->reason);
  if (outcome->cause[0] != '\0') perp_json_text(&l.j, "cause", outcome->cause);
  if (!timing && outcome->warnings.n > 0) perp_warnings_json(&outcome->warnings, &l.j);
  if (outcome->resolved[0] != '\0' && !timing) perp_json_text(&l.j, "resolved", outcome->resolved);
  if (!timing && outcome->problems > 0)
    perp_json_members(&l.j, "problems %lld, unsolved %lld, swept %lld",
                      (long long)outcome->problems, (long long)outcome->unsolved,
                      (long long)outcome->swept);
  if (!timing && outcome->partial) perp_json_bool(&l.j, "partial", true);
  if (!timing && outcome->reached > 0) perp_json_real(&l.j, "reached", outcome->reached);
  perp_json_members(&l.j, "cpu_s %g, wall_s %g", outcome->cpu_s, outcome->wall_s);
  if (timing && outcome->pace > 0) perp_json_real(&l.j, "pace_s", outcome->pace);
  perp_json_open(&l.j, "values", '{');
  const perp_metric *metric = NULL, *const end = study->metric + study->n_metrics;
  for (int i = 0; i < outcome->n; i++) { /* mostly in the order of the study */
    const bool next = metric != NULL && metric + 1 < end &&
                      strcmp(metric[1].name, outcome->value[i].name) == 0;
    metric = next ? metric + 1 : perp_study_metric(study, outcome->value[i].name);
    /* what is not there is read as NaN */
    if (metric != NULL && (metric->timing || !timing) && !isnan(outcome->value[i].value))
      perp_json_real(&l.j, metric->name, outcome->value[i].value);
  }
  perp_json_close(&l.j, '}');
  char *tail = perp_folder_log_tail(log);
  if (tail != NULL && !timing) perp_json_text(&l.j, "stderr", tail);
  char code[17];
  perp_plugin_code(ctx, study, cell, code);
  if (code[0] != '\0' && !timing) perp_json_text(&l.j, "code", code);
  free(tail);
  return line_end(ctx, journal, &l);
}

perp_status perp_run_event_end(perp_ctx *ctx, perp_journal *journal, const char *why)
{
  struct line l;
  line_begin(&l, "end");
  perp_json_text(&l.j, "why", why);
  return line_end(ctx, journal, &l);
}
