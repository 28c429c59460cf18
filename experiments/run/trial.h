/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which cells of a study can be set up?  Every distinct combination of parts is created once, and
 * not run, in a process of its own: what a part refuses, and what crashes, is known before anything
 * is computed. */
#ifndef PERP_TRIAL_H
#define PERP_TRIAL_H

#include "experiments/study/plan.h"
#include "experiments/base/progress.h"
#include "experiments/results/tally.h"

typedef enum perp_trial_verdict {
  PERP_TRIAL_NOT,      /* not tried */
  PERP_TRIAL_FITS,     /* can be run */
  PERP_TRIAL_REFUSED,  /* a part refuses: no cell to run */
  PERP_TRIAL_UNSUITED, /* the solver will say that the problem is none of its own: the cell is run,
                          it is a result */
  PERP_TRIAL_FAILED /* crash, time, memory, a file: the cell is run, and counts as that failure */
} perp_trial_verdict;

typedef struct perp_trial {
  perp_pool pool;
  int n, tried;                /* cells of the plan; sets-up that were made */
  perp_trial_verdict *verdict; /* [n] */
  const char **why;            /* [n] one line, "" where it fits */
  int count[PERP_TRIAL_FAILED + 1];
} perp_trial;

/* wanted [plan->n]: try these only; NULL: all.  A kind of study that cannot try (kind.h) leaves all
 * at NOT. PERP_ERR_IO: no process could be made, or interrupted. */
perp_status perp_trial_make(perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                            const bool *wanted, int jobs, perp_progress_style style,
                            perp_trial *trial);
void perp_trial_free(perp_trial *trial);
/* The different reasons of one verdict with their cells, the most frequent first; the caller frees
 * its array. */
perp_tally perp_trial_reasons(const perp_trial *trial, perp_trial_verdict verdict);
/* "4 cells cannot be set up:" and lines "  3: why (cell 0123ab: lcp=lemke contact=box)", at most
 * `most` of them; nothing without cells. */
void perp_trial_say(const perp_trial *trial, const perp_study *study, const perp_plan *plan,
                    perp_trial_verdict verdict, int most, perp_text *out);
/* What is refused, in a few lines on stderr. */
void perp_trial_warn(const perp_trial *trial, const perp_study *study, const perp_plan *plan);

#endif
