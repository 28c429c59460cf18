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

#include "solvers/core/library_files.h"

#include <float.h>
#include <string.h>

enum { ONE_STEP = 2 }; /* of all codes */

struct perp_sundials_calls perp_sundials_calls;

perp_status perp_sundials_open(perp_ctx *ctx, const perp_library *own)
{
  PERP_LIBRARY(shared, PERP_SUNDIALS, perp_sundials_calls, SUNDIALS_CVODE, "SUNDIALS",
               "libsundials-dev");
  PERP_TRY(perp_library_open(ctx, &shared_library));
  return perp_library_open(ctx, own);
}

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
  perp_sundials *sundials = user;
  const double *x = perp_sundials_calls.N_VGetArrayPointer(y);
  double *f = perp_sundials_calls.N_VGetArrayPointer(ydot);
  if (sundials->starts && t == sundials->t &&
      memcmp(x, sundials->origin, (size_t)sundials->n * sizeof *x) == 0) {
    memcpy(f, sundials->start, (size_t)sundials->n * sizeof *f);
    return 0;
  }
  const perp_ode_answer answer = perp_ode_eval(sundials->sys, t, sundials->h, x, x + sundials->nq,
                                               true, f, f + sundials->nq, sundials->stats);
  const bool finite = answer == PERP_ODE_OK && perp_finite(sundials->n, f);
  sundials->inside = finite                       ? PERP_RUNNING
                     : answer == PERP_ODE_OK      ? PERP_NOT_FINITE
                     : answer == PERP_ODE_INVALID ? PERP_INVALID_STATE
                                                  : PERP_SINGULAR;
  return finite ? 0 : 1; /* a shorter step may find one */
}

int perp_sundials_weights(N_Vector y, N_Vector weight, void *user)
{
  perp_sundials *sundials = user;
  const double *x = perp_sundials_calls.N_VGetArrayPointer(y), tol = sundials->control.tol;
  double *e = perp_sundials_calls.N_VGetArrayPointer(weight);
  perp_ode_scale_grow(&sundials->scale, sundials->nq, sundials->n - sundials->nq, x);
  struct perp_ode_scale scale = sundials->scale;
  if (scale.q == 0) scale.q = sundials->rate.q > 0 ? sundials->h * sundials->rate.q : 1;
  if (scale.v == 0) scale.v = sundials->rate.v > 0 ? sundials->h * sundials->rate.v : 1;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, sundials->control.atol, scale,
                                                           sundials->h);
  for (int i = 0; i < sundials->n; i++)
    e[i] = 1 / (tol * fabs(x[i]) + (i < sundials->nq ? absolute.q : absolute.v));
  return perp_finite(sundials->n, e) ? 0 : -1;
}

bool perp_sundials_project(const perp_sundials *sundials, double t, double *y)
{
  const perp_ode_sys *sys = sundials->sys;
  if (sys->project != NULL) sys->project(sys->user, y);
  if (sys->onto != NULL && sys->onto(sys->user, t, y, y + sundials->nq) != PERP_ODE_OK)
    return false;
  return perp_finite(sundials->n, y);
}

/* ---- a step ---- */

static perp_ode_answer sundials_fails(perp_sundials *sundials, perp_stats *stats,
                                      perp_reason reason)
{
  sundials->fresh = true;
  stats->reason = reason;
  return reason == PERP_INVALID_STATE ? PERP_ODE_INVALID : PERP_ODE_FAILED;
}

static void sundials_call(perp_sundials *sundials, const perp_ode_sys *sys, double h,
                          perp_stats *stats)
{
  sundials->sys = sys;
  sundials->stats = stats;
  sundials->h = h;
  sundials->inside = PERP_RUNNING;
}

/* Out of the vector y of the code, which the manifold of q may have been left in. */
static void sundials_hand_out(const perp_sundials *sundials, double *q, double *v)
{
  const double *y = perp_sundials_calls.N_VGetArrayPointer(sundials->y);
  memcpy(q, y, (size_t)sundials->nq * sizeof *q);
  if (sundials->n > sundials->nq)
    memcpy(v, y + sundials->nq, (size_t)(sundials->n - sundials->nq) * sizeof *v);
  if (sundials->sys->project != NULL) sundials->sys->project(sundials->sys->user, q);
}

/* The derivative at the regular state, and where there is no history a start. */
static perp_ode_answer sundials_begin(perp_sundials *sundials, double t, const double *q,
                                      const double *v, double left, perp_stats *stats)
{
  const perp_sundials_code *code = &sundials->code;
  double *y = perp_sundials_calls.N_VGetArrayPointer(sundials->y);
  if (!sundials->fresh && sundials->sys->event == NULL) return PERP_ODE_OK;
  const perp_ode_answer answer = perp_ode_eval(sundials->sys, t, sundials->h, q, v, false,
                                               sundials->start, sundials->start + sundials->nq,
                                               stats);
  if (answer != PERP_ODE_OK) return answer;
  if (!perp_finite(sundials->n, sundials->start))
    return sundials_fails(sundials, stats, PERP_NOT_FINITE);
  if (!sundials->fresh) return PERP_ODE_OK;
  memcpy(y, q, (size_t)sundials->nq * sizeof *q);
  if (sundials->n > sundials->nq)
    memcpy(y + sundials->nq, v, (size_t)(sundials->n - sundials->nq) * sizeof *v);
  sundials->rate = (struct perp_ode_scale){ 0 };
  perp_ode_scale_grow(&sundials->rate, sundials->nq, sundials->n - sundials->nq, sundials->start);
  memcpy(sundials->origin, y, (size_t)sundials->n * sizeof *y);
  sundials->starts = true;
  /* 0: a guess of its own, which needs more room than a few digits of t */
  double first = code->keeps_step && t == sundials->t ? fmin(sundials->h, left) : 0;
  if (left < 1e3 * DBL_EPSILON * (fabs(t) + left)) first = left;
  sundials->t = t;
  int flag = code->restart(sundials, t);
  if (flag >= 0) flag = code->set_first(sundials->mem, first);
  if (flag < 0) return sundials_fails(sundials, stats, perp_sundials_reason(flag, PERP_RUNNING));
  return PERP_ODE_OK;
}

static void sundials_longest(perp_sundials *sundials, double h_max)
{
  if (h_max == sundials->h_max) return;
  sundials->h_max = h_max;
  sundials->code.set_shortest(sundials->mem, fmin(sundials->control.h_min, h_max));
  sundials->code.set_longest(sundials->mem, h_max < HUGE_VAL ? h_max : 0); /* 0: none */
}

static long sundials_refused(const perp_sundials *sundials)
{
  long by_error = 0, by_iteration = 0;
  sundials->code.refused(sundials->mem, &by_error);
  sundials->code.failed(sundials->mem, &by_iteration);
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
  perp_sundials *sundials = ws;
  const perp_sundials_code *code = &sundials->code;
  const double end = t_max < DBL_MAX ? t_max : DBL_MAX;
  sundials_call(sundials, sys, own->h, stats);
  sundials->scale = (struct perp_ode_scale){ own->scale_q, own->scale_v };
  sundials_longest(sundials, own->h_max);
  perp_ode_answer answer = sundials_begin(sundials, t, q, v, end - t, stats);
  if (answer != PERP_ODE_OK) return answer;

  long iterations = 0, all = 0;
  const long refused = sundials_refused(sundials);
  code->iterations(sundials->mem, &iterations);
  realtype t_new = t;
  int flag = code->set_stop(sundials->mem, end);
  if (flag >= 0)
    flag = code->evolve(sundials->mem, end < DBL_MAX ? end : t + 1e3 * own->h, sundials->y, &t_new,
                        ONE_STEP);
  own->rejected = sundials_since(refused, sundials_refused(sundials));
  code->iterations(sundials->mem, &all);
  stats->iterations += (int)sundials_since(iterations, all);
  if (flag < 0)
    return sundials_fails(sundials, stats, perp_sundials_reason(flag, sundials->inside));
  if (!perp_finite(sundials->n, perp_sundials_calls.N_VGetArrayPointer(sundials->y)))
    return sundials_fails(sundials, stats, PERP_NOT_FINITE);

  sundials_hand_out(sundials, q, v);
  sundials->fresh = sundials->starts = false;
  sundials->t = own->t_new = fabs(end - t_new) <= 4 * DBL_EPSILON * fabs(end) ? end : t_new;
  /* its weighted mean of squares */
  sundials->code.errors(sundials->mem, sundials->error);
  sundials->code.weights(sundials->mem, sundials->weight);
  own->ratio = perp_sundials_calls.N_VWrmsNorm(sundials->error, sundials->weight);
  code->next(sundials->mem, &own->h);
  return PERP_ODE_OK;
}

perp_ode_answer perp_sundials_between(void *ws, const perp_ode_sys *sys, double t, double *q,
                                      double *v, perp_stats *stats)
{
  perp_sundials *sundials = ws;
  sundials_call(sundials, sys, sundials->h, stats);
  const int flag = sundials->code.between(sundials->mem, t, 0, sundials->y);
  if (flag < 0) {
    stats->reason = perp_sundials_reason(flag, sundials->inside);
    return PERP_ODE_FAILED;
  }
  sundials_hand_out(sundials, q, v);
  return PERP_ODE_OK;
}

perp_ode_answer perp_sundials_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  perp_sundials *sundials = ws;
  const size_t nq = (size_t)sundials->nq, nv = (size_t)(sundials->n - sundials->nq),
               size = sizeof *q;
  const double end = t + h;
  double *y = sundials->trial;
  (void)err;
  if (t != sundials->t || memcmp(q, sundials->last, nq * size) != 0 ||
      (nv > 0 && memcmp(v, sundials->last + nq, nv * size) != 0))
    sundials->fresh = true;
  memcpy(y, q, nq * size);
  if (nv > 0) memcpy(y + nq, v, nv * size);
  perp_ode_own own = { .h_max = sundials->control.h_max, .h = h };
  while (t < end) {
    own.scale_q = sundials->scale.q;
    own.scale_v = sundials->scale.v;
    const perp_ode_answer answer = perp_sundials_own_step(sundials, sys, t, end, y, y + nq, &own,
                                                          stats);
    if (answer != PERP_ODE_OK) return answer;
    if (!(own.t_new > t)) return sundials_fails(sundials, stats, PERP_STEP_TOO_SMALL);
    t = own.t_new;
  }
  memcpy(sundials->last, y, (nq + nv) * size);
  memcpy(q, y, nq * size);
  if (nv > 0) memcpy(v, y + nq, nv * size);
  return PERP_ODE_OK;
}

/* ---- life ---- */

void perp_sundials_reset(void *ws)
{
  perp_sundials *sundials = ws;
  sundials->fresh = true;
}

static void sundials_layout(void *ws, perp_arena *arena)
{
  perp_sundials *sundials = ws;
  PERP_DOUBLES(arena, sundials->n, &sundials->last, &sundials->trial, &sundials->onto,
               &sundials->origin, &sundials->start);
}

perp_status perp_sundials_create(perp_ctx *ctx, const perp_sundials_code *code,
                                 const perp_ode_sys *sys, const perp_ode_control *control,
                                 bool newton, perp_sundials **out)
{
  const int n = sys->nq + sys->nv;
  perp_sundials like = {
    .code = *code, .control = *control, .n = n, .nq = sys->nq, .fresh = true, .t = (double)NAN
  };
  void *ws;
  *out = NULL;
  if (control->tol == 0) like.control.tol = PERP_ODE_VARIABLE_TOL;
  PERP_TRY(perp_workspace_create(ctx, code->name, &like, sizeof like, sundials_layout, &ws));
  perp_sundials *sundials = ws;
  bool made = perp_sundials_calls.SUNContext_Create(NULL, &sundials->context) == 0;
  made = made && (sundials->y = perp_sundials_calls.N_VNew_Serial(n, sundials->context)) != NULL;
  made = made && (sundials->error = perp_sundials_calls.N_VClone(sundials->y)) != NULL &&
         (sundials->weight = perp_sundials_calls.N_VClone(sundials->y)) != NULL;
  if (newton) {
    made = made &&
           (sundials->A = perp_sundials_calls.SUNDenseMatrix(n, n, sundials->context)) != NULL;
    made = made && (sundials->linear = perp_sundials_calls.SUNLinSol_Dense(
                        sundials->y, sundials->A, sundials->context)) != NULL;
  } else {
    made = made && (sundials->nonlinear = perp_sundials_calls.SUNNonlinSol_FixedPoint(
                        sundials->y, 0, sundials->context)) != NULL;
  }
  if (made) {
    perp_sundials_calls.N_VConst(0, sundials->y); /* until there is a state */
    *out = sundials;
    return PERP_OK;
  }
  perp_sundials_destroy(sundials);
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for %d unknowns", code->name, n);
}

void perp_sundials_destroy(void *ws)
{
  perp_sundials *sundials = ws;
  if (sundials == NULL) return;
  if (sundials->mem != NULL) sundials->code.free(&sundials->mem);
  if (sundials->nonlinear != NULL) perp_sundials_calls.SUNNonlinSolFree(sundials->nonlinear);
  if (sundials->linear != NULL) perp_sundials_calls.SUNLinSolFree(sundials->linear);
  if (sundials->A != NULL) perp_sundials_calls.SUNMatDestroy(sundials->A);
  if (sundials->weight != NULL) perp_sundials_calls.N_VDestroy(sundials->weight);
  if (sundials->error != NULL) perp_sundials_calls.N_VDestroy(sundials->error);
  if (sundials->y != NULL) perp_sundials_calls.N_VDestroy(sundials->y);
  if (sundials->context != NULL) perp_sundials_calls.SUNContext_Free(&sundials->context);
  free(sundials);
}
