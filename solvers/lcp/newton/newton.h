/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the Newton type methods share: workspace, a few safe sweeps, the active-set step, polishing.
 */
#ifndef PERP_LCP_NEWTON_H
#define PERP_LCP_NEWTON_H

#include "solvers/lcp/newton/system.h"

typedef struct perp_newton {
  perp_rows R;
  perp_system S;
  int n, max_n;
  double tol;   /* aim of the current solve */
  bool coupled; /* friction rows: the systems are unsymmetric */
  int matvecs;
  /* [max_n] each */
  double *w;     /* A lambda + b of the iterate */
  double *scale; /* step scale of a row: A_ii, or max_j |A_ij| where A_ii <= 0 */
  double *d, *gamma, *rhs, *dx, *Adx; /* Newton system, direction, A direction */
  double *trial, *tw, *keep, *known;
  signed char *state, *state2;
} perp_newton;

/* Arrays of the perp_newton that ws begins with, for the layout of the whole. */
void perp_newton_layout(void *ws, perp_arena *arena);
/* A workspace like *like, which is `size` bytes that begin with a perp_newton.  name: for messages.
 * *ws NULL on failure: PERP_ERR_DIM (max_n < 0), PERP_ERR_NOMEM. */
perp_status perp_newton_create(perp_ctx *ctx, const char *name, int max_n, perp_newton *like,
                               size_t size, perp_layout_fn *layout, void **ws);
void perp_newton_destroy(void *ws); /* NULL is fine */
/* Read the problem; tol: option of the method.  Allocation as in system.h and rows.h. */
perp_status perp_newton_prepare(perp_ctx *ctx, perp_newton *newton, const perp_lcp *lcp,
                                double tol);

/* w = A lambda + b and the judge's rel of lambda. */
double perp_newton_rel(perp_newton *newton, const double *lambda, double *w);
/* Up to `sweeps` Gauss-Seidel sweeps on lambda, kept only if rel falls; returns the better rel.  w
 * is up to date afterwards. */
double perp_newton_sweeps(perp_newton *newton, double *lambda, int sweeps, double rel);
/* With friction a Newton method may be led to a place where its merit function has a minimum that
 * is no solution (Painleve's rod: sliding pushes the contact in, no direction from there shows the
 * sticking one).  Gauss-Seidel sweeps from zero are another place to begin: lambda out, w is up to
 * date; returns rel. */
double perp_newton_restart(perp_newton *newton, double *lambda);
/* Newton steps without a tenth less of rel before that. */
enum { PERP_NEWTON_PATIENCE = 25 };
/* Index set of every row by the natural map: where lambda - w / scale falls. */
void perp_newton_classify(const perp_newton *newton, const double *lambda, const double *w,
                          signed char *state);
/* One undamped Newton step on the natural map (an active-set step): rows at bounds go there,
 * sliding friction rows follow their normal row, the rest is solved for w = 0.  to = lambda + step;
 * dependent rows keep their share of lambda as far as possible.  rho: proximal weight relative to
 * A_ii.  to may not be lambda.  False: no finite solution. */
bool perp_newton_active_step(perp_newton *newton, const double *lambda, const double *w,
                             const signed char *state, double rho, double *to);
/* Repeat classify and active step while rel falls; lambda is only replaced by something better.
 * Turns an approximate answer with the right index sets into an exact one.  Returns rel; w is up to
 * date. */
double perp_newton_polish(perp_newton *newton, double *lambda, int rounds, double rel);

#endif
