/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Radau IIA, order 5(3), three stages, L-stable and stiffly accurate: solvers/ode/radau.h, on the
 * numbers of y = (q, v). Hairer and Wanner, Solving Ordinary Differential Equations II, section
 * IV.8 (the code RADAU5).
 *
 * The length of steps is the business of the driver; with fixed steps the stages are solved to
 * round-off, else to a part min(0.03, sqrt(tol)) of the tolerance.  The estimate is of order 3,
 * O(h^4), where the step errs by O(h^6): it is held to 0.1 tol^(2/3) in the place of tol (as RADAU5
 * does), so that the error in the end is about in proportion to tol.  The Jacobian is that of
 * forward differences, n + 1 derivatives, and serves for further steps while it is good.  Where the
 * state is no continuation of the last step, history is forgotten.
 *
 * Cost: 1 + 3 iterations derivatives, a real and a complex LU of n rows where h or the Jacobian
 * changes, n = nq + nv. Memory: 12 n^2 numbers.  Fails with PERP_MAX_ITER, PERP_SINGULAR or
 * PERP_NOT_FINITE.  No allocation in steps. */
#include "solvers/ode/control.h"
#include "solvers/ode/method.h"
#include "solvers/ode/radau.h"

#include <float.h>
#include <string.h>

typedef struct workspace {
  perp_local local;
  perp_radau radau;
  perp_ode_control control;
  struct perp_ode_scale scale; /* since the last reset */
  bool made;                   /* there is a last step, from `start` to `end` */
  double start, end;
  double *y, *f, *err; /* [n] */
  unsigned char *differential;
  /* the step being made */
  const perp_ode_sys *sys;
  perp_stats *stats;
  double h;
  perp_ode_answer answer;
} workspace;

static void radau5_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const int n = w->local.n;
  PERP_DOUBLES(a, n, &w->y, &w->f, &w->err);
  w->differential = PERP_CARVE(a, unsigned char, n);
}

static void radau5_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_radau_destroy(&w->radau);
  perp_local_destroy(&w->local);
  free(w);
}

static bool radau5_f(void *user, double t, const double *y, double *f)
{
  workspace *w = user;
  const int nq = w->sys->nq;
  w->answer = perp_ode_eval(w->sys, t, w->h, y, y + nq, true, f, f + nq, w->stats);
  return w->answer == PERP_ODE_OK;
}

static perp_status radau5_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                 void **ws)
{
  const int n = sys->nq + sys->nv;
  workspace like = { .control = *(const perp_ode_control *)opts };
  *ws = NULL;
  PERP_TRY(perp_local_create(ctx, 1, &n, 0, NULL, &like.local));
  perp_status status = perp_workspace_create(ctx, "radau5", &like, sizeof like, radau5_layout, ws);
  if (status != PERP_OK) {
    perp_local_destroy(&like.local);
    return status;
  }
  workspace *w = *ws;
  memset(w->differential, 1, (size_t)n);
  w->radau = (perp_radau){
    .local = &w->local, .f = radau5_f, .user = w, .differential = w->differential
  };
  status = perp_radau_create(ctx, &w->radau);
  if (status == PERP_OK) return PERP_OK;
  radau5_destroy(w);
  *ws = NULL;
  return status;
}

static void radau5_reset(void *ws)
{
  workspace *w = ws;
  perp_radau_reset(&w->radau);
  w->scale = (struct perp_ode_scale){ 0 };
  w->made = false;
}

/* Error levels (those of ode.h), and the steps of the differences, of their scale. */
static void radau5_levels(workspace *w)
{
  const int nq = w->sys->nq, nv = w->sys->nv;
  perp_ode_scale_grow(&w->scale, nq, nv, w->y);
  struct perp_ode_scale scale = w->scale, rate = { 0 };
  perp_ode_scale_grow(&rate, nq, nv, w->f);
  /* what the step makes of a state at rest counts too: the driver asks for its end */
  scale.q = fmax(scale.q, w->h * rate.q);
  scale.v = fmax(scale.v, w->h * rate.v);
  if (scale.q == 0) scale.q = 1;
  if (scale.v == 0) scale.v = 1;
  const double tol = w->control.tol;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, w->control.atol, scale, w->h);
  for (int i = 0; i < nq + nv; i++) {
    const double size = i < nq ? scale.q : scale.v;
    w->radau.scale[i] = tol > 0 ? tol * fabs(w->y[i]) + (i < nq ? absolute.q : absolute.v) : size;
    w->radau.difference[i] = sqrt(DBL_EPSILON) * fmax(fabs(w->y[i]), size);
  }
}

static perp_ode_answer radau5_fail(const workspace *w, perp_reason reason)
{
  if (w->answer != PERP_ODE_OK) return w->answer;
  w->stats->reason = reason;
  return PERP_ODE_FAILED;
}

static perp_ode_answer radau5_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  workspace *w = ws;
  perp_radau *r = &w->radau;
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  const double tol = w->control.tol;
  const bool refused = w->made && t == w->start;
  w->sys = sys;
  w->stats = stats;
  w->h = h;
  if (w->made && fabs(t - w->end) <= 1e-9 * h) /* but for the rounding of times */
    perp_radau_accept(r, w->end - w->start);
  else if (w->made && !refused)
    perp_radau_reset(r);
  w->made = false;
  memcpy(w->y, q, nq * sizeof *q);
  if (nv > 0) memcpy(w->y + nq, v, nv * sizeof *v);
  w->answer = perp_ode_eval(sys, t, h, q, v, false, w->f, w->f + nq, stats);
  if (w->answer != PERP_ODE_OK) return w->answer;
  radau5_levels(w);

  const bool first = r->h_past == 0;
  const int64_t iterations = r->iterations;
  const int factorizations = r->factorizations;
  const double enough = tol > 0 ? fmax(10 * DBL_EPSILON / tol, fmin(0.03, sqrt(tol))) : 0;
  const perp_reason reason = perp_radau_solve(r, t, h, w->y, w->f, enough);
  stats->iterations += (int)(r->iterations - iterations);
  stats->factorizations += r->factorizations - factorizations;
  if (reason < 0) return radau5_fail(w, reason);
  if (err != NULL) {
    const double lower = tol > 0 ? fmin(1, 10 * cbrt(tol)) : 1;
    if (!perp_radau_error(r, t, h, w->y, w->f, false, w->err))
      return radau5_fail(w, PERP_NOT_FINITE);
    if ((first || refused) && lower * perp_radau_norm(r, w->err) > 1 &&
        !perp_radau_error(r, t, h, w->y, w->f, true, w->err))
      return radau5_fail(w, PERP_NOT_FINITE);
    for (size_t i = 0; i < nq + nv; i++) err[i] = lower * w->err[i];
  }
  for (size_t i = 0; i < nq; i++) q[i] = w->y[i] + r->z[2][i];
  for (size_t i = 0; i < nv; i++) v[i] = w->y[nq + i] + r->z[2][nq + i];
  if (sys->project != NULL) sys->project(sys->user, q);
  w->made = true;
  w->start = t;
  w->end = t + h;
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_radau5 = {
  .d = { .name = "radau5",
         .summary = "Radau IIA method, order 5(3), implicit and L-stable, for stiff systems",
         .reference = "Hairer and Wanner II, section IV.8",
         .equation = "Y_i = y + h sum_j a_ij f(t + c_j h, Y_j), y+ = Y_3",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts),
         .caps = PERP_ODE_IMPLICIT | PERP_ODE_EMBEDDED },
  .order = 5,
  .stages = 0,
  .create = radau5_create,
  .step = radau5_step,
  .reset = radau5_reset,
  .destroy = radau5_destroy,
  .error_order = 3,
};
