/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures over the steps of a run, in memory that does not grow with their number.
 *
 * Up to PERP_LIST_EXACT numbers are kept as they are, and their quantiles are exact.  Beyond that
 * they are counted in bins that are 1 % wide (1e-12 to 1e18; smaller ones, zeros among them, in one
 * bin of zeros): median, 99th percentile and quartiles are then within 0.5 % of an order statistic,
 * the largest one stays exact. */
#ifndef PERP_SPREAD_H
#define PERP_SPREAD_H

#include "experiments/metrics/metrics.h"

enum { PERP_LIST_EXACT = 100000 };

typedef struct perp_cell_list {
  double *x; /* [n] in the order in which they came, until they are counted in bins */
  int n, cap;
  int64_t *bin; /* NULL: not yet */
  int64_t total;
  double least, most;
} perp_cell_list;

/* One number more, none below zero.  PERP_ERR_NOMEM. */
perp_status perp_cell_add(perp_ctx *ctx, perp_cell_list *list, double x);
/* Forget them all. */
void perp_cell_clear(perp_cell_list *list);
/* Of the numbers, which are sorted; all NaN where there is none. */
perp_spread perp_cell_spread(perp_cell_list *list);

#endif
