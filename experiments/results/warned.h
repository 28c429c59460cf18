/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The warnings of the runs of a study (base/warnings.h), for its summary and its report. */
#ifndef PERP_WARNED_H
#define PERP_WARNED_H

#include "experiments/results/results.h"
#include "experiments/results/tally.h"

/* Into *t the warnings of all runs, the most frequent first; those that differ in their numbers
 * only are one.  Returns the whole text of the first of each, [tally->n] from pool. */
const char **perp_results_warnings(const perp_results *results, perp_pool *pool, perp_tally *tally);
/* Of how many comparisons a metric is the largest, in the runs that have it: least and most; false
 * where it is no such largest, or no run has it. */
bool perp_results_compared(const perp_results *results, const char *metric, double *least,
                           double *most);

#endif
