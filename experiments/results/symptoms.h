/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which run shows what: the table of the symptoms that a study names. */
#ifndef PERP_SYMPTOMS_H
#define PERP_SYMPTOMS_H

#include "experiments/results/results.h"

typedef enum perp_shown {
  PERP_SHOWN_NOT_ASKED, /* no cell of the study is in this row and column */
  PERP_SHOWN_NO,
  PERP_SHOWN_YES,
  PERP_SHOWN_DEPENDS,  /* some runs show it and some do not: equivalent starts and steps decide */
  PERP_SHOWN_NOTHING,  /* it ran, and has no such figure */
  PERP_SHOWN_UNSUITED, /* it lacks what the row needs */
  PERP_SHOWN_FAILED,   /* diverged, crashed, ...: `why` */
  PERP_SHOWN_NOT_RUN   /* skipped (a package is missing), or not yet: `why` */
} perp_shown;

/* One row in one column.  Of several cells the worst is shown: one that shows it, one that failed,
 * one that does not. */
typedef struct perp_symptom_entry {
  perp_shown shown;
  double
      value; /* the figure; NaN where there is none, infinite where what was due never happened */
  int cell;  /* that has it, or that `why` is of; -1: none */
  int runs, showing; /* that have a figure or failed; and of these, that show it or failed */
  double least;      /* smallest figure of the runs; NaN as value */
  bool unsolved;     /* its run left problems unsolved */
  const char *why;   /* "diverged", "unsuited", the package that is missing, ...; "" */
} perp_symptom_entry;

/* [n_symptoms * n_symptom_columns] row by row, in the pool of results. */
const perp_symptom_entry *perp_results_symptoms(const perp_ctx *ctx, perp_results *results);
/* "shows it", "does not", ...: what an entry is, in words. */
const char *perp_shown_name(perp_shown shown);
/* An entry in few letters: "! 0.0012", "~ 0.3 (2 of 30)", "3e-13", "-", "diverged"; from pool. */
const char *perp_symptom_text(perp_pool *pool, const perp_symptom_entry *entry);
/* The bound of a row with metric and unit: "pose.drift.max > 0.001 m". */
const char *perp_symptom_bound(perp_pool *pool, const perp_study *study,
                               const perp_symptom *symptom);
/* Where a source that is a thread, OWNER/NAME#NUMBER, is read, from pool; NULL: it is another text.
 */
const char *perp_symptom_link(perp_pool *pool, const char *source);

#endif
