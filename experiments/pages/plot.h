/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures: curves over axes (plot_draw.h draws them). */
#ifndef PERP_REPORT_PLOT_H
#define PERP_REPORT_PLOT_H

#include "solvers/core/core.h"

typedef enum perp_plot_style {
  PERP_PLOT_POINTS_LINES, /* markers joined in the order of the points */
  PERP_PLOT_LINES,        /* long series */
  PERP_PLOT_POINTS,
  PERP_PLOT_STEPS,     /* right-continuous steps with a few markers: profiles */
  PERP_PLOT_BOUND,     /* such steps that no curve is above: thick, grey, no marker */
  PERP_PLOT_END,       /* crosses where what is known of another curve ends; not in the legend */
  PERP_PLOT_PUBLISHED, /* a published figure: a grey cross or star, named in the legend */
  PERP_PLOT_GUIDE,     /* a reference slope: thin, no marker */
  PERP_PLOT_MARK       /* a ring around points of another curve that are not ok */
} perp_plot_style;

typedef struct perp_curve {
  const char *label;
  perp_plot_style style;
  int colour; /* number of the style (styles.h); curves of one family share it */
  int n;
  const double *x,
      *y; /* borrowed; points that are not finite, or <= 0 on a log axis, are left out */
  const double *lo, *hi; /* a band around y, [n], NaN where there is none; NULL: no band */
  double rank;           /* of curves: the least y that may win, infinite when none may */
  bool unsound; /* of curves: some point is of an unsolved cell, so that no slope is said */
} perp_curve;

typedef struct perp_figure {
  const char *id; /* file name without suffix */
  const char *title, *xlabel, *ylabel;
  const char *alt; /* what a reader who does not see it should know */
  bool logx, logy;
  bool share;             /* y is a share of 1, shown whole and in per cent */
  double floor;           /* below it y says nothing, with rows x: shaded; 0: none */
  int n_rows;             /* y is the number of a row, from 0 at the bottom; 0: y is a number */
  const char *const *row; /* [n_rows] their names, the first one on top */
  double width;           /* cm, 0: PERP_PLOT_PAGE */
  int n;
  const perp_curve *curves;
} perp_figure;

/* Widths of a figure in print [cm]: over two columns, in one of them. */
#define PERP_PLOT_PAGE   17.5
#define PERP_PLOT_COLUMN 8.4

/* Can point i be drawn: is it finite, and above 0 on logarithmic axes? */
bool perp_curve_drawable(const perp_figure *figure, const perp_curve *curve, int i);
/* How many can: of a curve, of all. */
int perp_curve_points(const perp_figure *figure, const perp_curve *curve);
int perp_figure_points(const perp_figure *figure);

#endif
