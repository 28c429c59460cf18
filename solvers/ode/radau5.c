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

static void radau5_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const int n = work->local.n;
  PERP_DOUBLES(arena, n, &work->y, &work->f, &work->err);
  work->differential = PERP_CARVE(arena, unsigned char, n);
}

static void radau5_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_radau_destroy(&work->radau);
  perp_local_destroy(&work->local);
  free(work);
}

static bool radau5_f(void *user, double t, const double *y, double *f)
{
  workspace *work = user;
  const int nq = work->sys->nq;
  work->answer = perp_ode_eval(work->sys, t, work->h, y, y + nq, true, f, f + nq, work->stats);
  return work->answer == PERP_ODE_OK;
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
  workspace *work = *ws;
  memset(work->differential, 1, (size_t)n);
  work->radau = (perp_radau){
    .local = &work->local, .f = radau5_f, .user = work, .differential = work->differential
  };
  status = perp_radau_create(ctx, &work->radau);
  if (status == PERP_OK) return PERP_OK;
  radau5_destroy(work);
  *ws = NULL;
  return status;
}

static void radau5_reset(void *ws)
{
  workspace *work = ws;
  perp_radau_reset(&work->radau);
  work->scale = (struct perp_ode_scale){ 0 };
  work->made = false;
}

/* Error levels (those of ode.h), and the steps of the differences, of their scale. */
static void radau5_levels(workspace *work)
{
  const int nq = work->sys->nq, nv = work->sys->nv;
  perp_ode_scale_grow(&work->scale, nq, nv, work->y);
  struct perp_ode_scale scale = work->scale, rate = { 0 };
  perp_ode_scale_grow(&rate, nq, nv, work->f);
  /* what the step makes of a state at rest counts too: the driver asks for its end */
  scale.q = fmax(scale.q, work->h * rate.q);
  scale.v = fmax(scale.v, work->h * rate.v);
  if (scale.q == 0) scale.q = 1;
  if (scale.v == 0) scale.v = 1;
  const double tol = work->control.tol;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, work->control.atol, scale, work->h);
  for (int i = 0; i < nq + nv; i++) {
    const double size = i < nq ? scale.q : scale.v;
    work->radau.scale[i] = tol > 0 ? tol * fabs(work->y[i]) + (i < nq ? absolute.q : absolute.v)
                                   : size;
    work->radau.difference[i] = sqrt(DBL_EPSILON) * fmax(fabs(work->y[i]), size);
  }
}

static perp_ode_answer radau5_fail(const workspace *work, perp_reason reason)
{
  if (work->answer != PERP_ODE_OK) return work->answer;
  work->stats->reason = reason;
  return PERP_ODE_FAILED;
}

static perp_ode_answer radau5_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  workspace *work = ws;
  perp_radau *radau = &work->radau;
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  const double tol = work->control.tol;
  const bool refused = work->made && t == work->start;
  work->sys = sys;
  work->stats = stats;
  work->h = h;
  if (work->made && fabs(t - work->end) <= 1e-9 * h) /* but for the rounding of times */
    perp_radau_accept(radau, work->end - work->start);
  else if (work->made && !refused)
    perp_radau_reset(radau);
  work->made = false;
  memcpy(work->y, q, nq * sizeof *q);
  if (nv > 0) memcpy(work->y + nq, v, nv * sizeof *v);
  work->answer = perp_ode_eval(sys, t, h, q, v, false, work->f, work->f + nq, stats);
  if (work->answer != PERP_ODE_OK) return work->answer;
  radau5_levels(work);

  const bool first = radau->h_past == 0;
  const int64_t iterations = radau->iterations;
  const int factorizations = radau->factorizations;
  const double enough = tol > 0 ? fmax(10 * DBL_EPSILON / tol, fmin(0.03, sqrt(tol))) : 0;
  const perp_reason reason = perp_radau_solve(radau, t, h, work->y, work->f, enough);
  stats->iterations += (int)(radau->iterations - iterations);
  stats->factorizations += radau->factorizations - factorizations;
  if (reason < 0) return radau5_fail(work, reason);
  if (err != NULL) {
    const double lower = tol > 0 ? fmin(1, 10 * cbrt(tol)) : 1;
    if (!perp_radau_error(radau, t, h, work->y, work->f, false, work->err))
      return radau5_fail(work, PERP_NOT_FINITE);
    if ((first || refused) && lower * perp_radau_norm(radau, work->err) > 1 &&
        !perp_radau_error(radau, t, h, work->y, work->f, true, work->err))
      return radau5_fail(work, PERP_NOT_FINITE);
    for (size_t i = 0; i < nq + nv; i++) err[i] = lower * work->err[i];
  }
  for (size_t i = 0; i < nq; i++) q[i] = work->y[i] + radau->z[2][i];
  for (size_t i = 0; i < nv; i++) v[i] = work->y[nq + i] + radau->z[2][nq + i];
  if (sys->project != NULL) sys->project(sys->user, q);
  work->made = true;
  work->start = t;
  work->end = t + h;
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
