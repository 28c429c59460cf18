/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of curves beside the curves: where each of them stands, so that no name covers another one
 * and as little as possible of the curves. */
#ifndef PERP_LABELS_H
#define PERP_LABELS_H

#include "experiments/pages/plot.h"

enum { PERP_LABELS = 8, PERP_LABEL_LINES = 3 }; /* more curves have a legend */

/* A picture, in cm from its lower left corner. */
typedef struct perp_plot_frame {
  double width, height;
  double left, right, bottom, top; /* of the field between the axes */
  double x[2], y[2];               /* values at its ends */
  double letter, line;             /* size of the text */
} perp_plot_frame;

typedef struct perp_plot_label {
  int curve;
  int lines;
  struct {
    const char *text;
    int n; /* bytes */
  } line[PERP_LABEL_LINES];
  int align;                         /* the text begins (-1), has its middle (0) or ends (1) at x */
  double x, y;                       /* the middle of its height */
  bool leader;                       /* a line from the curve to the name */
  double from_x, from_y, to_x, to_y; /* of it */
} perp_plot_label;

/* Is the curve named beside it?  The others stand in the legend. */
bool perp_plot_direct(const perp_curve *curve);

/* Place the names of the curves k with named[k]; frame->right is set to leave them room.  False
 * when they are too many or find no place.  *n of labels [PERP_LABELS]. */
bool perp_plot_place(const perp_figure *figure, const bool *named, perp_plot_frame *frame,
                     perp_plot_label *labels, int *n);

#endif
