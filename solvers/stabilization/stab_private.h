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

/* A workspace that begins with what the feedback of joints needs; alpha and beta 0: chosen (baumgarte.c). */
struct stab_joints {
  double alpha, beta;
  int m;
};

/* A copy of *like, which is `size` bytes that begin with a stab_projection, for sys; *ws NULL on failure.  free()
 * destroys it. */
perp_status perp_stab_create(perp_ctx *ctx, const char *name, const perp_stab_sys *sys,
                             struct stab_projection *like, size_t size, void **ws);
/* max |x_i|; NaN or infinity when one is not finite */
double perp_stab_norm(int n, const double *x);
/* stats->reason of a linear solve, NOT_FINITE when its answer is not */
bool perp_stab_solved(int n, const double *x, perp_stats *stats);
/* `size` bytes, zero but for the joints; *ws NULL on failure.  free() destroys it. */
perp_status perp_stab_joints_create(perp_ctx *ctx, const char *name, const perp_stab_sys *sys,
                                    double alpha, double beta, size_t size, void **ws);
void perp_stab_joints_rhs(void *ws, perp_level level, double h, const double *C, const double *Cdot,
                          double *rhs);
/* Of a contact on the acceleration level, which no overlap makes part faster than push. */
double perp_stab_contact(double alpha, double beta, double push, double gap, double rate);
/* v += dv with M dv = J' lambda, J dv = -Cdot at q, unless |Cdot| <= tol.  stats->reason < 0: v is as
 * it was. */
perp_status perp_stab_project_velocity(struct stab_projection *p, double t, const double *q,
                                       double *v, double tol, perp_stats *stats);

#endif
