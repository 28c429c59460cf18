/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What documents state against what the runs of a study measure: the verdict of each row of
 * `replicate`, computed and not believed. */
#ifndef PERP_REPLICATE_H
#define PERP_REPLICATE_H

#include "experiments/results/results.h"

/* Verdict of a row.
 *
 *   reproduced     every stated number agrees: |measured - stated| <= within, or measured / stated
 * in [1 / factor, factor]; a bound is kept; a condition holds contradicted   it does not, and the
 * evidence of the row holds undetermined   the row lacks a method or a scene; or the interval over
 * the plausible runs does not agree as a whole
 *
 * A row is confirmed when this is what it declares, and its twin, the same test under a wrong
 * condition, fails. */
typedef struct perp_replicate_result {
  const perp_replicate_row *row;
  perp_replicated verdict; /* not meaningful where none */
  bool none; /* no verdict: figures are missing, or nothing speaks for a contradiction */
  bool run;  /* the row has something to run */
  bool confirmed;
  double *measured, *twin; /* [n_points], NaN where there is no figure */
  double least, most;      /* the interval; NaN: none */
  const char *why;         /* why it is not confirmed, "" */
} perp_replicate_result;

/* [n_rows] in the pool of results. */
const perp_replicate_result *perp_results_replicate(const perp_ctx *ctx, perp_results *results);

typedef struct perp_replicate_count {
  int rows, verdict[PERP_REPLICATE_VERDICTS]; /* verdicts that are confirmed */
  int not_run, refuted;
} perp_replicate_count;
/* paper -1: all of them. */
perp_replicate_count perp_replicate_counted(const perp_study *study,
                                            const perp_replicate_result *list, int paper);
/* "3 of 8 reproduced, 1 contradicted, 4 undetermined (2 not run), 0 refuted" in pool. */
const char *perp_replicate_count_text(perp_pool *pool, const perp_replicate_count *count);
/* "0.02 m", "< 1e-06 m", "1: 0.003, 2: 4.1e-12 m", "holds": what the document states. */
const char *perp_replicate_stated_text(perp_pool *pool, const perp_replicate_row *row);
/* What perp has: "0.0178 m", "0.0027 to 0.0231 m, stated value inside", "not run". */
const char *perp_replicate_measured_text(perp_pool *pool, const perp_replicate_result *result);
/* "reproduced", "contradicted", "undetermined", or "refuted" where it is not confirmed. */
const char *perp_replicate_word(const perp_replicate_result *result);

#endif
