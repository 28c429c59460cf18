/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure on top of a report: what the study asks for (report.figure), else chosen by the
 * results.  Page, pictures and terminal draw this one choice.
 *
 * Colour is the factor that explains most of the metric (explain.h) and makes a difference in some
 * slice; panels are another one of at most six values, scenes first, as errors of different scenes
 * do not compare.  The other factors are slices.  What there is to see in a slice is the mean range
 * of log10 max(y, floor) among the colours, at the same abscissa and in the same panel; the slice
 * with the largest one comes first, of those with nearly all curves. */
#ifndef PERP_HEADLINE_H
#define PERP_HEADLINE_H

#include "experiments/results/view.h"

typedef enum perp_headline_kind {
  PERP_HEADLINE_NONE,   /* there is nothing to see */
  PERP_HEADLINE_CURVES, /* against work, a step or a size */
  PERP_HEADLINE_ROWS,   /* a row for each choice, a mark for each run */
  PERP_HEADLINE_SOLVED, /* share of problems solved within a time */
  PERP_HEADLINE_KINDS
} perp_headline_kind;
extern const char *const perp_headline_names[]; /* "none", "curves", "rows", "solved" */

typedef struct perp_headline_slice {
  const char *words; /* its choices: "Baumgarte, α = 50 1/s; projection"; "" without */
  int n;
  int *cell;           /* [n] in the order of the plan */
  int curves;          /* pairs of a colour and a panel with a value */
  double effect;       /* decades */
  int n_shown, *shown; /* the curves: numbers into `names`, the best ones of the slice ... */
  int left;            /* ... without so many */
} perp_headline_slice;

typedef struct perp_headline {
  perp_headline_kind kind;
  const char *y;    /* metric */
  const char *x;    /* metric, parameter, or the abscissa of the view; NULL: none */
  int y_metric;     /* in the table of the kind */
  int x_metric;     /* -1: no metric */
  int x_param;      /* -1: no parameter */
  int colour;       /* parameter; -1: one colour */
  int panels;       /* parameter; -1: one panel */
  double floor;     /* below it all values are equal: of the study, or of the reference */
  double shade;     /* that of the reference alone: ten times its uncertainty */
  perp_names names; /* of colours and of panels, without tolerances */
  perp_names panel_names;
  int *name_of, *panel_of; /* [cells] */
  int n_slices;
  perp_headline_slice *slice; /* the most telling first */
} perp_headline;

/* All memory is of the pool of results; view is of these results and must outlive *headline.
 * Time: O(factors cells log cells). */
void perp_headline_choose(const perp_ctx *ctx, perp_results *results, const perp_view *view,
                          perp_headline *headline);
/* Abscissa and ordinate of a run; NaN where it has no place: its figures do not stand, it has no
 * value, or a value that has no logarithm; *y is at least half the floor. */
bool perp_headline_point(const perp_headline *headline, const perp_view *view, int cell, double *x,
                         double *y);
/* Points of the solved share [%] of a colour over time, by time: its number; x, y [cells] out. */
int perp_headline_solved(const perp_headline *headline, const perp_view *view, int name, double *x,
                         double *y);
/* "largest error of the tip [m]"; of a colour or panel in words.  In the pool of results. */
const char *perp_headline_y_title(const perp_headline *headline, perp_results *results);
const char *perp_headline_x_title(const perp_headline *headline, perp_results *results,
                                  const perp_view *view);
const char *perp_headline_word(const perp_ctx *ctx, perp_results *results, int param,
                               const char *name);
/* Ten times the uncertainty of the reference, for errors of coordinates; else 0. */
double perp_headline_shade(const perp_results *results, const char *metric);

/* The figure in letters, at most 80 columns wide and about 14 lines high: the first slice, and of
 * several panels the one with the largest difference.  Prints nothing where there is none. */
void perp_headline_print(const perp_ctx *ctx, perp_results *results, FILE *out);

#endif
