/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run says in its journal, one line an event with its time: "run", "start" and "cell" of a
 * cell, "time" of a timing round, "end".  results.c reads them back.  Each is on disk when the call
 * returns (perp_journal_write). */
#ifndef PERP_RUN_EVENTS_H
#define PERP_RUN_EVENTS_H

#include "experiments/results/journal.h"
#include "experiments/run/run.h"

/* The run begins: machine, program, command, how many cells the plan has. */
perp_status perp_run_event_begin(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                 int cells, const perp_run_options *options);
/* A cell is started for the attempt-th time. */
perp_status perp_run_event_start(perp_ctx *ctx, perp_journal *journal, const char *id, int attempt);
/* What came of it, or of a timing round: status, values, the end of what it printed to `log`. */
perp_status perp_run_event_outcome(perp_ctx *ctx, perp_journal *journal, const perp_study *study,
                                   const perp_cell *cell, int attempt, bool timing,
                                   const perp_outcome *outcome, const char *log);
/* why: "done", "interrupted", "budget" */
perp_status perp_run_event_end(perp_ctx *ctx, perp_journal *journal, const char *why);

#endif
