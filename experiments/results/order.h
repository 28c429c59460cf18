/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_ORDER_H
#define PERP_ORDER_H

typedef struct perp_order {
  double slope;    /* observed order; NaN when no window of three points is straight */
  int first, last; /* the window, inclusive */
} perp_order;

/* Observed order of err(h): Theil-Sen slope of log err over log h on the longest window of at least
 * three points in which neighbouring slopes differ by less than 0.2; of two equally long windows
 * the one with the smaller steps.  A window with a slope under 0.25 has no order: that is a floor
 * of rounding or of the reference, or an error that does not come from the step.  h [n] ascends;
 * points with err <= noise, the uncertainty of err, or not finite break a window.  O(n^2). */
perp_order perp_observed_order(const double *h, const double *err, int n, double noise);

/* y ~ x^slope over the points with y > noise, and between which quartiles the slopes of pairs lie;
 * NaN with fewer than three different x, or where the quartiles are more than 1 apart, as such
 * points follow no power.  O(n^2). */
typedef struct perp_power {
  double slope, lo, hi, from, to; /* from ... to: the x that were used */
} perp_power;
perp_power perp_power_law(const double *x, const double *y, int n, double noise);

#endif
