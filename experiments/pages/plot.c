/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/plot.h"

#include <math.h>

/* Smaller values have no place on a logarithmic axis: its ends would be no numbers. */
static const double PLOT_LEAST = 1e-300;

bool perp_curve_drawable(const perp_figure *figure, const perp_curve *curve, int i)
{
  return isfinite(curve->x[i]) && isfinite(curve->y[i]) &&
         (!figure->logx || curve->x[i] > PLOT_LEAST) && (!figure->logy || curve->y[i] > PLOT_LEAST);
}

int perp_curve_points(const perp_figure *figure, const perp_curve *curve)
{
  int count = 0;
  for (int i = 0; i < curve->n; i++) count += perp_curve_drawable(figure, curve, i);
  return count;
}

int perp_figure_points(const perp_figure *figure)
{
  int points = 0;
  for (int curve = 0; curve < figure->n; curve++)
    points += perp_curve_points(figure, &figure->curves[curve]);
  return points;
}
