/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the schemes share; private to this folder. */
#ifndef PERP_STAB_PRIVATE_H
#define PERP_STAB_PRIVATE_H

#include "solvers/stabilization/stabilization.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stab_projection {
  perp_stab_sys sys;
  double *C, *lambda; /* [m] */
  double *dx;         /* [nv] */
  double *q;          /* [nq] */
  double *v;          /* [nv] */
};

/* A workspace that begins with what the feedback of joints needs; alpha and beta 0: chosen
 * (baumgarte.c). */
struct stab_joints {
  double alpha, beta;
  int m;
};

/* A workspace made of *like, `size` bytes that begin with a stab_projection; free() destroys it. */
perp_status perp_stab_create(perp_ctx *ctx, const char *name, const perp_stab_sys *sys, void *like,
                             size_t size, void **ws);
/* max |x_i|; NaN when one is not finite */
double perp_stab_norm(int n, const double *x);
/* dx with M dx = J' lambda, J dx = -C at q; C is overwritten.  h NULL: J is built; else J of the
 * start of the step, of length *h.  stats->reason < 0: there is none. */
perp_status perp_stab_correction(struct stab_projection *projection, double t, const double *q,
                                 double *h, perp_stats *stats);
/* The same of `size` bytes that begin with a stab_joints. */
perp_status perp_stab_joints_create(perp_ctx *ctx, const char *name, void *like, size_t size,
                                    void **ws);
void perp_stab_joints_rhs(void *ws, perp_level level, double h, const double *C, const double *Cdot,
                          double *rhs);
/* perp_stab_desc.idle of feedback with a gain beta, 1/s. */
const char *perp_stab_joints_idle(double beta, perp_level level);
/* Of a contact on the acceleration level, which no overlap makes part faster than push. */
double perp_stab_contact(double alpha, double beta, double push, double gap, double rate);
/* v += dv with M dv = J' lambda, J dv = -Cdot at q, unless |Cdot| <= tol.  stats->reason < 0: v is
 * as it was. */
perp_status perp_stab_project_velocity(struct stab_projection *projection, double t,
                                       const double *q, double *v, double tol, perp_stats *stats);

#endif
