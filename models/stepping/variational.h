/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of the steps of explicit ODE methods (derivative.h). */
#ifndef PERP_VARIATIONAL_H
#define PERP_VARIATIONAL_H

#include "models/stepping/derivative.h"

typedef struct perp_variational perp_variational;

/* The derivatives dqdot [nq n], da [nv n] of deriv at (t, q, v) along dq [nq n], dv [nv n], numbers
 * of q and v themselves; a [nv] is its answer there.  False: there are none. */
typedef bool perp_variational_fn(void *user, double t, double h, const double *q, const double *v,
                                 const double *a, const double *dq, const double *dv, double *dqdot,
                                 double *da);

/* Steps of the method, which must be explicit with fixed steps, of n columns beside (q, v).  sys is
 * copied.  PERP_ERR_UNSUPPORTED: another method.  Allocates. */
perp_status perp_variational_create(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                                    int n, perp_variational_fn *derivative, perp_variational **out);
void perp_variational_destroy(perp_variational *w); /* NULL is fine */
/* The columns at the start of the step, to be filled, and at its end. */
double *perp_variational_dq(perp_variational *w); /* [nq n] */
double *perp_variational_dv(perp_variational *w); /* [nv n] */
/* One step from (t, q, v); its end before anything is accepted: *q_end [nq], *v_end [nv]. */
perp_ode_answer perp_variational_step(perp_variational *w, double t, double h, const double *q,
                                      const double *v, const double **q_end, const double **v_end);

#endif
