/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of the velocity level, from (q, v) at t to t + h.  A formulation begins with a
 * perp_stepping; what it does in another way is `prepare`.  stepping.h makes steps in time of it.
 */
#ifndef PERP_VELOCITY_STEP_H
#define PERP_VELOCITY_STEP_H

#include "models/contact/step/step_contacts.h"
#include "solvers/ode/grid.h"

typedef struct perp_stepping {
  perp_constrained k;
  perp_contacts *contacts; /* NULL: no shapes */
  perp_drives *drives;     /* NULL: none */
  int gyro;                /* PERP_GYRO_* */
  /* Before the joints are solved for in a step h from v: k is evaluated at its start, k.f = M v + h
   * f, k.c = 0 before the feedback of the stabilization.  NULL: nothing to do. */
  void (*prepare)(struct perp_stepping *w, double h, const double *v);
  bool symplectic; /* positions move with v+ (symplectic-euler); else with v (euler) */
  double *lambda;  /* [m] force of the step: the impulses of its solve and of projections over h */
  double *dq;      /* [max(nq, nv)] */
  double h;        /* of the step or its part, 0 before the first */
  int unknown;     /* steps whose lambda is not the force, see velocity_step.c */
  /* Parts of a step (substeps), each a step with the equations. */
  struct {
    int n, now;             /* how many, and which is made */
    double t_max;           /* not beyond it */
    double *lambda, *drive; /* [m], [drives] impulses of the parts */
  } parts;
  /* Halvings in a row, because steps penetrate: at most, of the steps before and of this one. */
  struct {
    int most, before, now;
  } halvings;
  /* Time: steps of the grid, or those that the error control of the ODE method chooses. */
  perp_ode *ode; /* NULL: fixed steps */
  perp_ode_grid grid;
  double t;
  double *y, *y1;          /* [nq + nv] state; end of the step being made */
  perp_ode_counters count; /* of fixed steps, or of whole steps */
} perp_stepping;

/* The step: from q and v at t to those of its end at t_new = t + h, by v+ = v + h a and, as the ODE
 * method has it, q+ = q [+] h v+ (symplectic-euler) or q + h qdot (euler).  Answers as of
 * perp_velocity_step_end; FAILED: k.reason or k.status says why. */
perp_ode_answer perp_velocity_step(perp_stepping *w, double t, double h, double t_new, double *q,
                                   double *v);
/* Both sides of the balance of a step h from v, without contacts and rows of drives, at k.e: k.f =
 * M v
 * + h f and the right-hand side k.c of the joints. */
void perp_velocity_step_sides(perp_stepping *w, double t, double h, const double *v);
/* For error control by the driver of ODE methods: a [nv] = (v+ - v) / h of such a step.  False: k
 * says why. */
bool perp_velocity_step_acceleration(perp_stepping *w, double t, double h, const double *q,
                                     const double *v, double *a);
/* At the end (q, v) of a step, at time t: PERP_ODE_INVALID where it penetrates (halvings).  Else
 * the velocity that is kept and what the stabilization corrects: PERP_ODE_OK, CHANGED (q or v is
 * new), FAILED. */
perp_ode_answer perp_velocity_step_end(perp_stepping *w, double t, double *q, double *v);

#endif
