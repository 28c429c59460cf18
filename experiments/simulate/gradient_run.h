/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of some steps of a scene (models/stepping/gradient.h), and the same by differences of
 * whole steps: what `perp gradient` prints and runs of kind gradient measure. */
#ifndef PERP_GRADIENT_RUN_H
#define PERP_GRADIENT_RUN_H

#include "experiments/simulate/simulate.h"
#include "models/stepping/gradient.h"

enum { PERP_GRADIENT_LABEL = 64 };
typedef struct perp_gradient_names {
  int n;
  perp_gradient_wrt *wrt;             /* [n] */
  char (*label)[PERP_GRADIENT_LABEL]; /* [n] "v:ball.x" */
} perp_gradient_names;
/* What a list "v:ball.x,mass:ball,friction" names in a model:
 *
 *      state                     all coordinates and velocities
 *      q:BODY.x ... z, rx ... rz, v:BODY.x ...   one; q:BODY, v:BODY all of a body
 *      mass:BODY, gravity, friction, friction:SHAPE, force:BODY.x ..., target:DRIVE
 *
 * BODY, SHAPE and DRIVE are names or numbers.  PERP_ERR_OPTION: none of these.  Allocates; free. */
perp_status perp_gradient_names_read(perp_ctx *ctx, const perp_model *model, const char *text,
                                     perp_gradient_names *names);
void perp_gradient_names_free(perp_gradient_names *names);

typedef struct perp_gradient_run {
  perp_scene scene;
  perp_parts parts;
  double h, t; /* s; t at the start of the steps */
  int steps, nv;
  perp_gradient_names names;
  double *q, *v; /* the state there */
  double *D;     /* [2 nv n] column-major: dq, then dv of the end; of perp_gradient_run_make */
  perp_gradient_side *side;    /* [n] */
  perp_gradient_report report; /* rows: of the last step */
  perp_gradient_row *row;
  double cpu, cpu_plain; /* s, CPU of the steps with derivatives, and of the same ones without */
} perp_gradient_run;

/* The scene and methods of the request, `skip` steps on, then the derivatives of `steps` steps by
 * wrt. Errors as of perp_simulate and perp_gradient_create; a step that fails is
 * PERP_ERR_UNSUPPORTED with its reason.  The caller frees, also on failure. */
perp_status perp_gradient_run_make(perp_ctx *ctx, const perp_request *request, int skip, int steps,
                                   const char *wrt, perp_gradient_run *run);
void perp_gradient_run_free(perp_gradient_run *run);
/* Column j by a difference quotient of whole steps: out [2 nv]; side 0: central, 1, -1: one-sided.
 * PERP_ERR_UNSUPPORTED: the parameter of this column cannot be moved in the scene. */
perp_status perp_gradient_run_quotient(perp_ctx *ctx, const perp_gradient_run *run, int j,
                                       double eps, int side, double *out);
/* The same extrapolated (Richardson) from eps, eps / 2, eps / 4. */
perp_status perp_gradient_run_richardson(perp_ctx *ctx, const perp_gradient_run *run, int j,
                                         double eps, int side, double *out);
/* Where quotients for Richardson begin for a parameter of a kind, in its SI unit. */
double perp_gradient_run_eps(perp_gradient_kind kind);
/* Largest difference of a column [2 nv] over the largest entry of want, a thousandth of that of all
 * columns or 1e-3 in SI units. */
double perp_gradient_run_off(const perp_gradient_run *run, const double *got, const double *want);

#endif
