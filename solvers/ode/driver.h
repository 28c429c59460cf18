/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the driver: driver_run.c has its life, driver_step.c the step. */
#ifndef PERP_ODE_DRIVER_H
#define PERP_ODE_DRIVER_H

#include "solvers/ode/control.h"
#include "solvers/ode/grid.h"
#include "solvers/ode/method.h"

/* Dense output (driver_run.c): of the last step, from t to the time of the driver.  Its start is
 * y1 of the driver until the next step is tried. */
struct perp_ode_dense {
  double t;    /* start of the step */
  bool valid;  /* there is one */
  bool joined; /* what `accept` changed at its end is a correction, not a jump */
  bool inside; /* a derivative is asked for it now */
  bool ended;  /* `end` is known */
  void *ws;    /* of the method, another one than that of the march; NULL before it is asked for */
  double *y, *end; /* [n] the state asked for, and where the method ends the step */
  perp_arena arena;
};

struct perp_ode {
  const perp_ode_desc *desc;
  perp_spec method; /* a copy, for the workspace of dense output */
  void *ws;
  perp_ode_sys sys;         /* as given */
  perp_ode_sys asked;       /* as the method sees it: `sys`, or with one h for all steps */
  perp_ode_sys trial;       /* `asked` with every state declared intermediate */
  perp_ode_control control; /* its estimate chosen: not PERP_ODE_CONTROL_AUTO */
  double part;              /* of the tolerance, to which doubling and truncation are held */
  bool history;             /* a re-made step must start from scratch */
  int nq, nv, n;
  double h_first, h; /* as created; proposed */
  double ratio;      /* error and tolerance of the last step; 0: none since the restart */
  double t;
  perp_ode_grid grid; /* of fixed steps */
  bool started, armed;
  double event;                /* event function at t */
  struct perp_ode_scale scale; /* of the tolerance */
  double *y, *y1, *y2, *y3;    /* [n] the state, the trial state, and two for keeping others */
  double *err;                 /* [n] */
  double *slope, *slope1; /* [n] truncation: (y1 - y) / h of the last step and of the trial step */
  double h_before;        /* truncation: length of the last step; 0: none since the restart */
  struct perp_ode_dense dense;
  perp_ode_counters count;
};

static inline void perp_ode_forget_history(perp_ode *ode)
{
  if (ode->desc->reset != NULL) ode->desc->reset(ode->ws);
}

/* Event function at the regular state (t, y). */
static inline void perp_ode_watch(perp_ode *ode)
{
  if (ode->sys.event == NULL) return;
  ode->event = ode->sys.event(ode->sys.user, ode->t, ode->y, ode->y + ode->nq);
  ode->armed = ode->event >= 0;
}

/* y = the state at t + h from `from` at t, by as many steps as the tolerance needs, for methods
 * whose single steps depend on their history: ws starts again.  The states on the way are
 * intermediate.  y2 and err are used. */
perp_ode_answer perp_ode_march(perp_ode *ode, void *ws, double t, const double *from, double h,
                               double *y, perp_stats *stats);
/* Free what dense output took. */
void perp_ode_dense_free(perp_ode *ode);

/* One accepted step towards t_max > t, see perp_ode_step; *stats from zero. */
perp_ode_stop perp_ode_make_step(perp_ctx *ctx, perp_ode *ode, double t_max, perp_stats *stats);

#endif
