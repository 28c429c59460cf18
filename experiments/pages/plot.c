/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/plot.h"

#include <math.h>

/* Smaller values have no place on a logarithmic axis: its ends would be no numbers. */
static const double PLOT_LEAST = 1e-300;

bool perp_curve_drawable(const perp_figure *f, const perp_curve *c, int i)
{
  return isfinite(c->x[i]) && isfinite(c->y[i]) && (!f->logx || c->x[i] > PLOT_LEAST) &&
         (!f->logy || c->y[i] > PLOT_LEAST);
}

int perp_curve_points(const perp_figure *f, const perp_curve *c)
{
  int count = 0;
  for (int i = 0; i < c->n; i++) count += perp_curve_drawable(f, c, i);
  return count;
}

int perp_figure_points(const perp_figure *f)
{
  int points = 0;
  for (int k = 0; k < f->n; k++) points += perp_curve_points(f, &f->curves[k]);
  return points;
}
