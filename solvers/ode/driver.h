/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the driver: driver.c has its life, driver_step.c the step. */
#ifndef PERP_ODE_DRIVER_H
#define PERP_ODE_DRIVER_H

#include "solvers/ode/control.h"
#include "solvers/ode/method.h"

struct perp_ode {
  const perp_ode_desc *desc;
  void *ws;
  perp_ode_sys sys;   /* as given */
  perp_ode_sys asked; /* as the method sees it: `sys`, or with one h for all steps */
  perp_ode_sys trial; /* `asked` with every state declared intermediate */
  perp_ode_control control;
  bool doubling, history; /* history: a re-made step must start from scratch */
  int nq, nv, n;
  double h_first, h; /* as created; proposed */
  double t0, t;
  double k; /* steps of the grid behind t */
  bool started, armed;
  double event;                /* event function at t */
  struct perp_ode_scale scale; /* of the tolerance */
  double *y, *y1, *y2, *y3;    /* [n] the state, the trial state, and two for keeping others */
  double *err;                 /* [n] */
  perp_ode_counters count;
};

/* Steps shorter than this part of h are merged with their neighbour on the grid of fixed steps. */
static const double PERP_ODE_SLIVER = 1e-9;

static inline void perp_ode_forget_history(perp_ode *o)
{
  if (o->desc->reset != NULL) o->desc->reset(o->ws);
}

/* Event function at the regular state (t, y). */
static inline void perp_ode_watch(perp_ode *o)
{
  if (o->sys.event == NULL) return;
  o->event = o->sys.event(o->sys.user, o->t, o->y, o->y + o->nq);
  o->armed = o->event >= 0;
}

/* One accepted step towards t_max > t, see perp_ode_step; *stats from zero. */
perp_ode_stop perp_ode_make_step(perp_ctx *ctx, perp_ode *o, double t_max, perp_stats *stats);

#endif
