/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the formulations that make their own steps share: the grid of time, counters. Private. */
#ifndef PERP_TIME_GRID_H
#define PERP_TIME_GRID_H

#include "models/stepping/formulation.h"

#include <math.h>

/* Fixed steps are counted from the restart, t_k = t_0 + k h; a step that t_max cuts is followed by
 * one that ends at the next t_k (as the ODE driver does). */
typedef struct perp_time_grid {
  double t, t_0, h;
  int64_t k; /* last grid time that was reached or passed */
  perp_ode_counters count;
} perp_time_grid;

static inline void perp_time_grid_restart(perp_time_grid *grid, double t)
{
  grid->t = grid->t_0 = t;
  grid->k = 0;
  grid->count.restarts++;
}

/* End of the next step; grid->t when t_max does not lie ahead. */
static inline double perp_time_grid_next(const perp_time_grid *grid, double t_max)
{
  double next = grid->t_0 + (double)(grid->k + 1) * grid->h;
  if (!(t_max > grid->t)) return grid->t;
  /* a remainder of rounding is no step of its own */
  return next > t_max || t_max - next < 1e-10 * grid->h ? t_max : next;
}

/* The step from grid->t to t was accepted. */
static inline void perp_time_grid_accept(perp_time_grid *grid, double t)
{
  const double h = t - grid->t;
  perp_ode_counters *counters = &grid->count;
  counters->h_least = counters->steps == 0 ? h : fmin(counters->h_least, h);
  counters->h_most = fmax(counters->h_most, h);
  counters->steps++;
  grid->t = t;
  if (t >= grid->t_0 + (double)(grid->k + 1) * grid->h - 1e-10 * grid->h) grid->k++;
}

#endif
