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

static inline void perp_time_grid_restart(perp_time_grid *m, double t)
{
  m->t = m->t_0 = t;
  m->k = 0;
  m->count.restarts++;
}

/* End of the next step; m->t when t_max does not lie ahead. */
static inline double perp_time_grid_next(const perp_time_grid *m, double t_max)
{
  double next = m->t_0 + (double)(m->k + 1) * m->h;
  if (!(t_max > m->t)) return m->t;
  /* a remainder of rounding is no step of its own */
  return next > t_max || t_max - next < 1e-10 * m->h ? t_max : next;
}

/* The step from m->t to t was accepted. */
static inline void perp_time_grid_accept(perp_time_grid *m, double t)
{
  const double h = t - m->t;
  perp_ode_counters *c = &m->count;
  c->h_least = c->steps == 0 ? h : fmin(c->h_least, h);
  c->h_most = fmax(c->h_most, h);
  c->steps++;
  m->t = t;
  if (t >= m->t_0 + (double)(m->k + 1) * m->h - 1e-10 * m->h) m->k++;
}

#endif
