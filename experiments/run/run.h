/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running a study: plan, cells, timing rounds, tables. */
#ifndef PERP_RUN_H
#define PERP_RUN_H

#include "experiments/base/progress.h"
#include "experiments/results/results.h"

typedef struct perp_run_options {
  const char *dir;                /* results folder */
  int jobs;                       /* children at a time; 0: one a core */
  const char *only, *skip;        /* expressions, NULL: none */
  const char *shard;              /* "slice:k/n", "hash:k/n", NULL: all */
  bool fresh;                     /* forget what was computed before */
  bool retry[PERP_CELL_STATUSES]; /* run cells again that ended so */
  double timeout, memory;         /* over the limits of the study; NaN: as the study says */
  double budget;                  /* s after which no cell is started; 0: none */
  bool keep_program;              /* copy program and plug-ins into the folder (program.h) */
  bool journal_only;              /* a part of a run: study, plan and tables belong to others */
  bool plot;                      /* the figure on top in letters, in the summary */
  bool quiet;                     /* no messages but errors */
  perp_progress_style progress;
  const char *again; /* command line that resumes, for messages */
  /* Called when all is done, before the summary: writes the report and says where.  NULL: no
   * report. */
  perp_status (*report)(perp_ctx *ctx, const char *dir, void *user);
  void *report_user;
  /* Called at the end of a run that is complete, unless quiet: says what to do next.  NULL:
   * nothing. */
  void (*next)(const perp_results *after, void *user);
} perp_run_options;

/* Returns an exit status (messages.h).  Data (the summary) go to stdout, messages to stderr. */
int perp_run(perp_ctx *ctx, const perp_study *study, const perp_run_options *options,
             const perp_cell_kind *const *kinds);

#endif
