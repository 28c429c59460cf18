/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step that CVODE and ARKStep share: see sundials.h.
 *
 * Tolerances are those of ode.h, E_i = tol |y_i| + the absolute part, as far as SUNDIALS permits:
 * its norm is the mean of squares of e_i / E_i, not the largest of them, |y_i| is that of the start
 * of a step, and velocities at rest have the scale of what forces make of them in a step.
 *
 * The system is asked at a regular state where a history starts and, where it has events (contacts
 * and drives remember such states), at the start of each step, which is one derivative more. */
#include "solvers/ode/peers/sundials.h"

#include <float.h>
#include <string.h>

enum { ONE_STEP = 2 }; /* of all codes */

/* ---- what SUNDIALS calls ---- */

void perp_sundials_quiet(int code, const char *module, const char *function, char *message,
                         void *user)
{
  (void)code, (void)module, (void)function, (void)message, (void)user;
}

perp_reason perp_sundials_reason(int flag, perp_reason inside)
{
  if (inside < 0) return inside;
  switch (flag) { /* the same in CVODE, ARKODE and IDA */
  case -2:        /* more accuracy than double has */
  case -3:        /* the error test, again and again or at the shortest step */
    return PERP_STEP_TOO_SMALL;
  case -4: /* the iteration, likewise */
    return PERP_MAX_ITER;
  default:
    return PERP_SINGULAR;
  }
}

int perp_sundials_rhs(realtype t, N_Vector y, N_Vector ydot, void *user)
{
  perp_sundials *w = user;
  const double *x = N_VGetArrayPointer(y);
  double *f = N_VGetArrayPointer(ydot);
  if (w->starts && t == w->t && memcmp(x, w->origin, (size_t)w->n * sizeof *x) == 0) {
    memcpy(f, w->start, (size_t)w->n * sizeof *f);
    return 0;
  }
  const perp_ode_answer answer = perp_ode_eval(w->sys, t, w->h, x, x + w->nq, true, f, f + w->nq,
                                               w->stats);
  const bool finite = answer == PERP_ODE_OK && perp_finite(w->n, f);
  w->inside = finite                       ? PERP_RUNNING
              : answer == PERP_ODE_OK      ? PERP_NOT_FINITE
              : answer == PERP_ODE_INVALID ? PERP_INVALID_STATE
                                           : PERP_SINGULAR;
  return finite ? 0 : 1; /* a shorter step may find one */
}

int perp_sundials_weights(N_Vector y, N_Vector weight, void *user)
{
  perp_sundials *w = user;
  const double *x = N_VGetArrayPointer(y), tol = w->control.tol;
  double *e = N_VGetArrayPointer(weight);
  perp_ode_scale_grow(&w->scale, w->nq, w->n - w->nq, x);
  struct perp_ode_scale scale = w->scale;
  if (scale.q == 0) scale.q = w->rate.q > 0 ? w->h * w->rate.q : 1;
  if (scale.v == 0) scale.v = w->rate.v > 0 ? w->h * w->rate.v : 1;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, w->control.atol, scale, w->h);
  for (int i = 0; i < w->n; i++)
    e[i] = 1 / (tol * fabs(x[i]) + (i < w->nq ? absolute.q : absolute.v));
  return perp_finite(w->n, e) ? 0 : -1;
}

bool perp_sundials_project(const perp_sundials *w, double t, double *y)
{
  const perp_ode_sys *sys = w->sys;
  if (sys->project != NULL) sys->project(sys->user, y);
  if (sys->onto != NULL && sys->onto(sys->user, t, y, y + w->nq) != PERP_ODE_OK) return false;
  return perp_finite(w->n, y);
}

/* ---- a step ---- */

static perp_ode_answer sundials_fails(perp_sundials *w, perp_stats *stats, perp_reason reason)
{
  w->fresh = true;
  stats->reason = reason;
  return reason == PERP_INVALID_STATE ? PERP_ODE_INVALID : PERP_ODE_FAILED;
}

static void sundials_call(perp_sundials *w, const perp_ode_sys *sys, double h, perp_stats *stats)
{
  w->sys = sys;
  w->stats = stats;
  w->h = h;
  w->inside = PERP_RUNNING;
}

/* Out of the vector y of the code, which the manifold of q may have been left in. */
static void sundials_hand_out(const perp_sundials *w, double *q, double *v)
{
  const double *y = N_VGetArrayPointer(w->y);
  memcpy(q, y, (size_t)w->nq * sizeof *q);
  if (w->n > w->nq) memcpy(v, y + w->nq, (size_t)(w->n - w->nq) * sizeof *v);
  if (w->sys->project != NULL) w->sys->project(w->sys->user, q);
}

/* The derivative at the regular state, and where there is no history a start. */
static perp_ode_answer sundials_begin(perp_sundials *w, double t, const double *q, const double *v,
                                      double left, perp_stats *stats)
{
  const perp_sundials_code *code = w->code;
  double *y = N_VGetArrayPointer(w->y);
  if (!w->fresh && w->sys->event == NULL) return PERP_ODE_OK;
  const perp_ode_answer answer = perp_ode_eval(w->sys, t, w->h, q, v, false, w->start,
                                               w->start + w->nq, stats);
  if (answer != PERP_ODE_OK) return answer;
  if (!perp_finite(w->n, w->start)) return sundials_fails(w, stats, PERP_NOT_FINITE);
  if (!w->fresh) return PERP_ODE_OK;
  memcpy(y, q, (size_t)w->nq * sizeof *q);
  if (w->n > w->nq) memcpy(y + w->nq, v, (size_t)(w->n - w->nq) * sizeof *v);
  w->rate = (struct perp_ode_scale){ 0 };
  perp_ode_scale_grow(&w->rate, w->nq, w->n - w->nq, w->start);
  memcpy(w->origin, y, (size_t)w->n * sizeof *y);
  w->starts = true;
  /* 0: a guess of its own, which needs more room than a few digits of t */
  double first = code->keeps_step && t == w->t ? fmin(w->h, left) : 0;
  if (left < 1e3 * DBL_EPSILON * (fabs(t) + left)) first = left;
  w->t = t;
  int flag = code->restart(w, t);
  if (flag >= 0) flag = code->set_first(w->mem, first);
  if (flag < 0) return sundials_fails(w, stats, perp_sundials_reason(flag, PERP_RUNNING));
  return PERP_ODE_OK;
}

static void sundials_longest(perp_sundials *w, double h_max)
{
  if (h_max == w->h_max) return;
  w->h_max = h_max;
  w->code->set_shortest(w->mem, fmin(w->control.h_min, h_max));
  w->code->set_longest(w->mem, h_max < HUGE_VAL ? h_max : 0); /* 0: none */
}

static long sundials_refused(const perp_sundials *w)
{
  long by_error = 0, by_iteration = 0;
  w->code->refused(w->mem, &by_error);
  w->code->failed(w->mem, &by_iteration);
  return by_error + by_iteration;
}

/* What a counter has grown by; a new history may begin at zero. */
static long sundials_since(long before, long now)
{
  return now < before ? now : now - before;
}

perp_ode_answer perp_sundials_own_step(void *ws, const perp_ode_sys *sys, double t, double t_max,
                                       double *q, double *v, perp_ode_own *own, perp_stats *stats)
{
  perp_sundials *w = ws;
  const perp_sundials_code *code = w->code;
  const double end = t_max < DBL_MAX ? t_max : DBL_MAX;
  sundials_call(w, sys, own->h, stats);
  w->scale = (struct perp_ode_scale){ own->scale_q, own->scale_v };
  sundials_longest(w, own->h_max);
  perp_ode_answer answer = sundials_begin(w, t, q, v, end - t, stats);
  if (answer != PERP_ODE_OK) return answer;

  long iterations = 0, all = 0;
  const long refused = sundials_refused(w);
  code->iterations(w->mem, &iterations);
  realtype t_new = t;
  int flag = code->set_stop(w->mem, end);
  if (flag >= 0)
    flag = code->evolve(w->mem, end < DBL_MAX ? end : t + 1e3 * own->h, w->y, &t_new, ONE_STEP);
  own->rejected = sundials_since(refused, sundials_refused(w));
  code->iterations(w->mem, &all);
  stats->iterations += (int)sundials_since(iterations, all);
  if (flag < 0) return sundials_fails(w, stats, perp_sundials_reason(flag, w->inside));
  if (!perp_finite(w->n, N_VGetArrayPointer(w->y)))
    return sundials_fails(w, stats, PERP_NOT_FINITE);

  sundials_hand_out(w, q, v);
  w->fresh = w->starts = false;
  w->t = own->t_new = fabs(end - t_new) <= 4 * DBL_EPSILON * fabs(end) ? end : t_new;
  /* its weighted mean of squares */
  w->code->errors(w->mem, w->error);
  w->code->weights(w->mem, w->weight);
  own->ratio = N_VWrmsNorm(w->error, w->weight);
  code->next(w->mem, &own->h);
  return PERP_ODE_OK;
}

perp_ode_answer perp_sundials_between(void *ws, const perp_ode_sys *sys, double t, double *q,
                                      double *v, perp_stats *stats)
{
  perp_sundials *w = ws;
  sundials_call(w, sys, w->h, stats);
  const int flag = w->code->between(w->mem, t, 0, w->y);
  if (flag < 0) {
    stats->reason = perp_sundials_reason(flag, w->inside);
    return PERP_ODE_FAILED;
  }
  sundials_hand_out(w, q, v);
  return PERP_ODE_OK;
}

perp_ode_answer perp_sundials_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  perp_sundials *w = ws;
  const size_t nq = (size_t)w->nq, nv = (size_t)(w->n - w->nq), size = sizeof *q;
  const double end = t + h;
  double *y = w->trial;
  (void)err;
  if (t != w->t || memcmp(q, w->last, nq * size) != 0 ||
      (nv > 0 && memcmp(v, w->last + nq, nv * size) != 0))
    w->fresh = true;
  memcpy(y, q, nq * size);
  if (nv > 0) memcpy(y + nq, v, nv * size);
  perp_ode_own own = { .h_max = w->control.h_max, .h = h };
  while (t < end) {
    own.scale_q = w->scale.q;
    own.scale_v = w->scale.v;
    const perp_ode_answer answer = perp_sundials_own_step(w, sys, t, end, y, y + nq, &own, stats);
    if (answer != PERP_ODE_OK) return answer;
    if (!(own.t_new > t)) return sundials_fails(w, stats, PERP_STEP_TOO_SMALL);
    t = own.t_new;
  }
  memcpy(w->last, y, (nq + nv) * size);
  memcpy(q, y, nq * size);
  if (nv > 0) memcpy(v, y + nq, nv * size);
  return PERP_ODE_OK;
}

/* ---- life ---- */

void perp_sundials_reset(void *ws)
{
  perp_sundials *w = ws;
  w->fresh = true;
}

static void sundials_layout(void *ws, perp_arena *a)
{
  perp_sundials *w = ws;
  PERP_DOUBLES(a, w->n, &w->last, &w->trial, &w->onto, &w->origin, &w->start);
}

perp_status perp_sundials_create(perp_ctx *ctx, const perp_sundials_code *code,
                                 const perp_ode_sys *sys, const perp_ode_control *control,
                                 bool newton, perp_sundials **out)
{
  const int n = sys->nq + sys->nv;
  perp_sundials like = {
    .code = code, .control = *control, .n = n, .nq = sys->nq, .fresh = true, .t = (double)NAN
  };
  void *ws;
  *out = NULL;
  if (control->tol == 0) like.control.tol = PERP_ODE_VARIABLE_TOL;
  PERP_TRY(perp_workspace_create(ctx, code->name, &like, sizeof like, sundials_layout, &ws));
  perp_sundials *w = ws;
  bool made = SUNContext_Create(NULL, &w->context) == 0;
  made = made && (w->y = N_VNew_Serial(n, w->context)) != NULL;
  made = made && (w->error = N_VClone(w->y)) != NULL && (w->weight = N_VClone(w->y)) != NULL;
  if (newton) {
    made = made && (w->A = SUNDenseMatrix(n, n, w->context)) != NULL;
    made = made && (w->linear = SUNLinSol_Dense(w->y, w->A, w->context)) != NULL;
  } else {
    made = made && (w->nonlinear = SUNNonlinSol_FixedPoint(w->y, 0, w->context)) != NULL;
  }
  if (made) {
    N_VConst(0, w->y); /* until there is a state */
    *out = w;
    return PERP_OK;
  }
  perp_sundials_destroy(w);
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for %d unknowns", code->name, n);
}

void perp_sundials_destroy(void *ws)
{
  perp_sundials *w = ws;
  if (w == NULL) return;
  if (w->mem != NULL) w->code->free(&w->mem);
  if (w->nonlinear != NULL) SUNNonlinSolFree(w->nonlinear);
  if (w->linear != NULL) SUNLinSolFree(w->linear);
  if (w->A != NULL) SUNMatDestroy(w->A);
  if (w->weight != NULL) N_VDestroy(w->weight);
  if (w->error != NULL) N_VDestroy(w->error);
  if (w->y != NULL) N_VDestroy(w->y);
  if (w->context != NULL) SUNContext_Free(&w->context);
  free(w);
}
