/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_REPORT_ORDER_H
#define PERP_REPORT_ORDER_H

typedef struct perp_order {
  double slope;    /* observed order; NaN when no window of three points is straight */
  int first, last; /* the window, inclusive */
} perp_order;

/* Observed order of err(h): Theil-Sen slope of log err over log h on the longest window of at least three
 * points in which neighbouring slopes differ by less than 0.2; of two equally long windows the one with the
 * smaller steps.  h [n] ascends; points with err <= 0 or not finite break a window.  O(n^2). */
perp_order perp_observed_order(const double *h, const double *err, int n);

#endif
