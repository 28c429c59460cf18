/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fixed steps, for the driver and for who makes them by itself.  They are counted from the restart,
 * t_k = t_0 + k h, so that no rounding piles up; after a step that t_max cuts the next one ends at
 * the next t_k. */
#ifndef PERP_ODE_GRID_H
#define PERP_ODE_GRID_H

#include "solvers/ode/ode.h"

#include <float.h>

/* Steps shorter than this part of h are merged with their neighbour on the grid of fixed steps. */
static const double PERP_ODE_SLIVER = 1e-9;

typedef struct perp_ode_grid {
  double h, t_0;
  double k; /* steps of the grid behind t */
} perp_ode_grid;

/* What perp_ode_create refuses of method, sys and h. */
perp_status perp_ode_check(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                           double h);

/* A step: its length and end; whole: it ends at a point of the grid. */
typedef struct perp_ode_grid_step {
  double h, t_new;
  bool whole;
} perp_ode_grid_step;

/* The next step from t towards t_max > t.  h = 0: h is lost in t. */
static inline perp_ode_grid_step perp_ode_grid_next(perp_ode_grid *grid, double t, double t_max)
{
  const double h = grid->h;
  if (h <= 16 * DBL_EPSILON * fabs(t)) return (perp_ode_grid_step){ .t_new = t };
  const double small = fmax(PERP_ODE_SLIVER * h, 8 * DBL_EPSILON * (fabs(t) + h));
  double next = grid->t_0 + (grid->k + 1) * h;
  while (next - t <= small) { /* an event or a cut just before the grid point took its place */
    grid->k++;
    next = grid->t_0 + (grid->k + 1) * h;
  }
  perp_ode_grid_step step = { .h = next - t, .t_new = next, .whole = true };
  if (next >= t_max - small) {
    step.whole = next <= t_max + small;
    step.t_new = t_max;
    if (!step.whole) step.h = t_max - t;
  }
  if (fabs(step.h - h) <= small) step.h = h; /* the step itself, not its rounding */
  return step;
}

#endif
