/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver: advance, error control, roll-back, events (Vondrak 2005, 2.3, 6.3.3 and 6.4.3).
 *
 * One step goes
 *   plan      how far: the next point of the grid t0 + k h, or the step that the error control proposed
 *   attempt   trial state y1 = step of the method from y; refused while the error is too large
 *   settle    has the event function fallen?  then y1 = the state at the event; accept(y1)
 *   bisect    only when y1 is invalid: the latest valid state between y and y1
 *   commit    y1 becomes the state
 * and until commit the state y is untouched, so rolling back is free of cost. */
#include "solvers/ode/control.h"
#include "solvers/ode/method.h"

#include <float.h>
#include <string.h>

enum {
  REFUSALS_MOST = 100,  /* of trial steps within one step */
  BISECTIONS_MOST = 60, /* each halves the interval: 2^-60 of a step is far below round-off */
  LOCATIONS_MOST = 100, /* an event: at worst every third one halves the interval */
  IDLE_STEPS_MOST = 1000
};
/* Relative width at which an event or the last valid state counts as found. */
static const double narrow = 1e-12;
/* Steps shorter than this part of h are merged with their neighbour on the grid of fixed steps. */
static const double sliver = 1e-9;

struct perp_ode {
  perp_arena block; /* holds this struct too */
  const perp_ode_desc *desc;
  void *ws;
  perp_ode_sys sys;   /* as given */
  perp_ode_sys asked; /* as the method sees it: `sys`, or with one h for all steps */
  perp_ode_sys trial; /* `asked` with every state declared intermediate */
  perp_ode_control control;
  bool doubling, history; /* history: a re-made step must start from scratch */
  int nq, nv, n;
  double h_first, h; /* as created; proposed */
  double t0, t;
  double k; /* steps of the grid behind t */
  bool started, armed;
  double event;                /* event function at t */
  struct perp_ode_scale scale; /* of the tolerance */
  double *y, *y1, *y2, *y3;    /* [n] the state, the trial state, and two for keeping others */
  double *err;                 /* [n] */
  perp_ode_counters count;
};

/* ---- the system as methods see it ------------------------------------------------------------------ */

/* Under error control the derivative must not depend on the step (a feedback that goes with 1 / h, say):
 * steps of different length are compared, and a history of them is one curve.  It is told the h of create then.
 * Not so with one evaluation a step, where h turns impulses into accelerations and must be the real one. */
static bool one_h(const perp_ode *o)
{
  return o->control.tol > 0 && (o->desc->d.caps & PERP_ODE_ONE_EVALUATION) == 0;
}

static perp_ode_answer asked_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)h;
  const perp_ode *o = user;
  return o->sys.deriv(o->sys.user, t, o->h_first, q, v, intermediate, qdot, a);
}

static perp_ode_answer trial_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)intermediate;
  const perp_ode *o = user;
  return o->sys.deriv(o->sys.user, t, one_h(o) ? o->h_first : h, q, v, true, qdot, a);
}

static void forward_retract(void *user, const double *q, const double *dq, double *q_out)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->retract(sys->user, q, dq, q_out);
}

static void forward_difference(void *user, const double *q0, const double *q1, double *dq)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->difference(sys->user, q0, q1, dq);
}

static void forward_project(void *user, double *q)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->project(sys->user, q);
}

static void forward_qdot(void *user, const double *q, const double *v, double *qdot)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->qdot(sys->user, q, v, qdot);
}

static perp_ode_sys through(perp_ode *o,
                            perp_ode_answer (*deriv)(void *, double, double, const double *,
                                                     const double *, bool, double *, double *))
{
  perp_ode_sys sys = o->sys;
  sys.user = o;
  sys.deriv = deriv;
  if (sys.retract != NULL) sys.retract = forward_retract;
  if (sys.difference != NULL) sys.difference = forward_difference;
  if (sys.project != NULL) sys.project = forward_project;
  if (sys.qdot != NULL) sys.qdot = forward_qdot;
  return sys;
}

/* ---- create, restart --------------------------------------------------------------------------------- */

static perp_ode *layout(perp_arena *block, int n)
{
  perp_ode *o = PERP_CARVE(block, perp_ode, 1);
  double *x[5];
  for (int i = 0; i < 5; i++) x[i] = PERP_CARVE(block, double, n);
  if (o != NULL)
    *o = (perp_ode){ .n = n, .y = x[0], .y1 = x[1], .y2 = x[2], .y3 = x[3], .err = x[4] };
  return o;
}

static perp_status check(perp_ctx *ctx, const perp_ode_desc *desc, const perp_ode_control *control,
                         const perp_ode_sys *sys, double h)
{
  const char *name = desc->d.name;
  if (!(h > 0 && h < HUGE_VAL))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the step must be positive and finite: got %g s", name,
                     h);
  if (sys->deriv == NULL || sys->nq <= 0 || sys->nv < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a system needs deriv, nq > 0 and nv >= 0: nq = %d, nv = %d", name,
                     sys->nq, sys->nv);
  if (sys->nv > 0 && sys->nq != sys->nv && sys->retract == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: nq = %d and nv = %d differ, so the system needs retract", name, sys->nq,
                     sys->nv);
  if (sys->nv == 0 && (desc->d.caps & PERP_ODE_SECOND_ORDER) != 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s needs positions and velocities: this system is of first order (nv = 0)",
                     name);
  if (control->h_min > control->h_max)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s: h_min = %g s is above h_max = %g s", name,
                     control->h_min, control->h_max);
  if (h > control->h_max)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s: the step %g s is above h_max = %g s", name, h,
                     control->h_max);
  if (control->control == PERP_ODE_CONTROL_EMBEDDED && (desc->d.caps & PERP_ODE_EMBEDDED) == 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s has no embedded error estimate: control=doubling", name);
  if (control->control == PERP_ODE_CONTROL_DOUBLING &&
      (desc->d.caps & PERP_ODE_VARIABLE_ORDER) != 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: step doubling needs a fixed order: control=embedded", name);
  return PERP_OK;
}

perp_status perp_ode_create(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                            double h, perp_ode **out)
{
  *out = NULL;
  const perp_ode_desc *desc = (const perp_ode_desc *)method->d;
  const perp_ode_control *control = method->opts;
  PERP_TRY(check(ctx, desc, control, sys, h));

  perp_arena block = { 0 };
  layout(&block, sys->nq + sys->nv);
  PERP_TRY(perp_arena_reserve(ctx, &block));
  perp_ode *o = layout(&block, sys->nq + sys->nv);
  o->block = block;
  o->desc = desc;
  o->sys = *sys;
  o->control = *control;
  o->doubling = control->control == PERP_ODE_CONTROL_DOUBLING ||
                (desc->d.caps & PERP_ODE_EMBEDDED) == 0;
  o->history = (desc->d.caps & PERP_ODE_VARIABLE_ORDER) != 0;
  if (o->history && o->control.tol == 0) {
    o->control.tol = PERP_ODE_VARIABLE_TOL;
    o->control.h_max = fmin(o->control.h_max, h);
  }
  o->asked = one_h(o) ? through(o, asked_deriv) : o->sys;
  o->trial = through(o, trial_deriv);
  o->nq = sys->nq;
  o->nv = sys->nv;
  o->h_first = o->h = h;
  perp_status status = desc->create(ctx, &o->sys, method->opts, &o->ws);
  if (status != PERP_OK) {
    perp_arena_free(&block);
    return status;
  }
  *out = o;
  return PERP_OK;
}

void perp_ode_destroy(perp_ode *ode)
{
  if (ode == NULL) return;
  ode->desc->destroy(ode->ws);
  perp_arena block = ode->block;
  perp_arena_free(&block);
}

static void forget_history(perp_ode *o)
{
  if (o->desc->reset != NULL) o->desc->reset(o->ws);
}

/* Event function at the regular state (t, y). */
static void watch(perp_ode *o)
{
  if (o->sys.event == NULL) return;
  o->event = o->sys.event(o->sys.user, o->t, o->y, o->y + o->nq);
  o->armed = o->event >= 0;
}

perp_status perp_ode_restart(perp_ctx *ctx, perp_ode *ode, double t, const double *q,
                             const double *v)
{
  perp_ode *o = ode;
  o->started = false;
  memcpy(o->y, q, (size_t)o->nq * sizeof *q);
  if (o->nv > 0) memcpy(o->y + o->nq, v, (size_t)o->nv * sizeof *v);
  if (!(fabs(t) < HUGE_VAL) || !perp_ode_finite(o->y, o->n))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the state to start from is not finite (t = %g s)",
                     o->desc->d.name, t);
  if (o->sys.accept != NULL) {
    perp_ode_answer answer = o->sys.accept(o->sys.user, t, o->y, o->y + o->nq);
    if (answer == PERP_ODE_INVALID || answer == PERP_ODE_FAILED || !perp_ode_finite(o->y, o->n))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the state to start from (t = %g s) is not valid",
                       o->desc->d.name, t);
    if (answer == PERP_ODE_CHANGED) o->count.changed++;
  }
  o->t0 = o->t = t;
  o->k = 0;
  o->h = o->h_first;
  o->scale = (struct perp_ode_scale){ 0 };
  perp_ode_scale_grow(&o->scale, o->nq, o->nv, o->y);
  forget_history(o);
  watch(o);
  o->count.restarts++;
  o->started = true;
  return PERP_OK;
}

/* ---- one trial step ------------------------------------------------------------------------------------- */

static perp_ode_answer method_step(perp_ode *o, const perp_ode_sys *sys, double t, double h,
                                   double *y, double *err, perp_stats *stats)
{
  return o->desc->step(o->ws, sys, t, h, y, y + o->nq, err, stats);
}

static perp_ode_answer not_finite(perp_stats *stats)
{
  stats->reason = PERP_NOT_FINITE;
  return PERP_ODE_FAILED;
}

/* y1 = the state at t + h, by one step of the method from (t, y); *ratio = e / E with error control. */
static perp_ode_answer attempt(perp_ode *o, double h, double *ratio, perp_stats *stats)
{
  const size_t bytes = (size_t)o->n * sizeof *o->y;
  perp_ode_answer answer;
  *ratio = 0;
  memcpy(o->y1, o->y, bytes);
  if (o->control.tol == 0) {
    answer = method_step(o, &o->asked, o->t, h, o->y1, NULL, stats);
  } else if (!o->doubling) {
    answer = method_step(o, &o->asked, o->t, h, o->y1, o->err, stats);
  } else { /* one step beside two half steps, which are kept (Vondrak 2.2.3) */
    memcpy(o->y2, o->y, bytes);
    answer = method_step(o, &o->asked, o->t, h, o->y2, NULL, stats);
    if (answer == PERP_ODE_OK)
      answer = method_step(o, &o->asked, o->t, 0.5 * h, o->y1, NULL, stats);
    if (answer == PERP_ODE_OK)
      answer = method_step(o, &o->trial, o->t + 0.5 * h, 0.5 * h, o->y1, NULL, stats);
    for (int i = 0; i < o->n; i++) o->err[i] = o->y2[i] - o->y1[i];
  }
  if (answer != PERP_ODE_OK) return answer;
  if (!perp_ode_finite(o->y1, o->n)) return not_finite(stats);
  if (o->control.tol > 0) {
    *ratio = perp_ode_error_ratio(&o->control, o->scale, o->nq, o->nv, o->y, o->y1, o->err);
    if (isnan(*ratio)) return not_finite(stats);
  }
  return PERP_ODE_OK;
}

static int order_of_error(const perp_ode *o)
{
  if (o->desc->current_order != NULL) return o->desc->current_order(o->ws);
  return o->doubling ? o->desc->order : o->desc->error_order;
}

/* y1 = the state at t + h by as many steps as the tolerance needs, for methods whose single steps depend on
 * their history: from t they can only start again.  The states on the way are intermediate. */
static perp_ode_answer march(perp_ode *o, double h, perp_stats *stats)
{
  const size_t bytes = (size_t)o->n * sizeof *o->y;
  const double t_end = o->t + h;
  double t = o->t, g = 0.01 * h;
  bool refused = false;
  forget_history(o);
  memcpy(o->y1, o->y, bytes);
  for (int i = 0; i < 100 * REFUSALS_MOST; i++) {
    double step = fmin(g, t_end - t);
    memcpy(o->y2, o->y1, bytes);
    perp_ode_answer answer = method_step(o, &o->trial, t, step, o->y2, o->err, stats);
    double ratio = (double)NAN;
    if (answer == PERP_ODE_OK && perp_ode_finite(o->y2, o->n))
      ratio = perp_ode_error_ratio(&o->control, o->scale, o->nq, o->nv, o->y1, o->y2, o->err);
    g = step * perp_ode_step_factor(ratio, order_of_error(o), refused, true);
    refused = !(ratio <= 1);
    if (refused) {
      if (g < o->control.h_min || t + g == t)
        return answer == PERP_ODE_OK ? not_finite(stats) : answer;
      continue;
    }
    memcpy(o->y1, o->y2, bytes);
    t = step < t_end - t ? t + step : t_end;
    if (t == t_end) return PERP_ODE_OK;
  }
  stats->reason = PERP_STALLED;
  return PERP_ODE_FAILED;
}

/* Make the step again, to t + h with another h. */
static perp_ode_answer make_again(perp_ode *o, double h, perp_stats *stats)
{
  double ratio;
  o->count.bisections++;
  return o->history ? march(o, h, stats) : attempt(o, h, &ratio, stats);
}

/* Width at which a point within the step h counts as found. */
static double closely(const perp_ode *o, double h, double least)
{
  return fmax(o->sys.locate > 0 ? o->sys.locate : narrow * h, least);
}

/* ---- events and invalid states -------------------------------------------------------------------------- */

/* The latest state before the event function falls below zero in (t, t + *h], into y1; on entry it is `after` < 0 at
 * t + *h.  *h = 0: it falls right away, y1 = y.  Regula falsi (Illinois) with bisection when that is slow. */
static void locate(perp_ode *o, double *h, double after, perp_stats *stats)
{
  const size_t bytes = (size_t)o->n * sizeof *o->y;
  const double enough = closely(o, *h, 2 * DBL_EPSILON * fabs(o->t));
  const int most = o->sys.locations_most > 0 ? o->sys.locations_most : LOCATIONS_MOST;
  double lo = 0, hi = *h, f_lo = o->event, f_hi = after, width = hi;
  int side = 0;
  memcpy(o->y3, o->y, bytes);
  for (int i = 0; i < most && hi - lo > enough; i++) {
    double mid = lo + 0.5 * (hi - lo);
    bool slow = i % 3 == 2 && hi - lo > 0.5 * width;
    if (i % 3 == 2) width = hi - lo;
    if (f_lo > 0 && f_hi < 0 && !slow) mid = lo + (hi - lo) * (f_lo / (f_lo - f_hi));
    mid = fmin(fmax(mid, lo + 0.5 * enough), hi - 0.5 * enough);
    double f = -1; /* where no state can be reached is after the event */
    bool reached = make_again(o, mid, stats) == PERP_ODE_OK;
    if (reached) f = o->sys.event(o->sys.user, o->t + mid, o->y1, o->y1 + o->nq);
    if (f >= 0) {
      lo = mid;
      f_lo = f;
      if (side > 0) f_hi *= 0.5;
      side = 1;
      memcpy(o->y3, o->y1, bytes);
    } else {
      hi = mid;
      f_hi = reached && f < 0 ? f : -f_lo;
      if (side < 0) f_lo *= 0.5;
      side = -1;
    }
  }
  memcpy(o->y1, o->y3, bytes);
  stats->reason = PERP_RUNNING;
  *h = lo;
}

/* y1 is the trial state at t + *h: stop at an event, ask whether the state is acceptable. */
static perp_ode_answer settle(perp_ode *o, double *h, double *t_new, perp_ode_stop *stop,
                              double *event, perp_stats *stats)
{
  const perp_ode_sys *sys = &o->sys;
  *stop = PERP_ODE_REACHED;
  if (sys->event != NULL) {
    *event = sys->event(sys->user, *t_new, o->y1, o->y1 + o->nq);
    if (isnan(*event)) return not_finite(stats);
    if (o->armed && *event < 0) {
      locate(o, h, *event, stats);
      *t_new = o->t + *h;
      *stop = PERP_ODE_EVENT;
    }
  }
  if (sys->accept == NULL) return PERP_ODE_OK;
  perp_ode_answer answer = sys->accept(sys->user, *t_new, o->y1, o->y1 + o->nq);
  if (answer == PERP_ODE_CHANGED && !perp_ode_finite(o->y1, o->n)) return not_finite(stats);
  return answer;
}

/* The latest valid state in (t, t + *h), into y1 (Vondrak 6.4.3); y1 at t + *h is invalid on entry. */
static perp_ode_answer bisect(perp_ctx *ctx, perp_ode *o, double *h, double *t_new,
                              perp_ode_stop *stop, double *event, perp_stats *stats)
{
  const double enough = closely(o, *h, 4 * DBL_EPSILON * fabs(o->t));
  const int most = o->sys.locations_most > 0 ? o->sys.locations_most : BISECTIONS_MOST;
  double lo = 0, hi = *h;
  for (int i = 0; i < most && hi - lo > enough; i++) {
    double mid = lo + 0.5 * (hi - lo), ratio = 0;
    o->count.bisections++;
    perp_ode_answer answer = o->history ? march(o, mid, stats) : attempt(o, mid, &ratio, stats);
    PERP_TRACE(ctx, .method = o->desc->d.name, .what = "bisect", .iteration = i, .entering = -1,
               .leaving = -1, .step = mid, .residual = ratio, .n = o->n, .x = o->y1);
    if (answer == PERP_ODE_OK && ratio <= 1) {
      *h = mid;
      *t_new = o->t + mid;
      answer = settle(o, h, t_new, stop, event, stats);
      if (answer == PERP_ODE_CHANGED || (answer == PERP_ODE_OK && *stop == PERP_ODE_EVENT))
        return answer;
      if (answer == PERP_ODE_OK) {
        lo = mid;
        continue;
      }
      mid = *h; /* shorter when the state at an event is invalid */
    }
    hi = mid;
  }
  stats->reason = PERP_INVALID_STATE;
  if (!(o->t + lo > o->t)) return PERP_ODE_INVALID;
  /* the last state asked must be the one that is kept: make it again */
  *h = lo;
  *t_new = o->t + lo;
  perp_ode_answer answer = make_again(o, lo, stats);
  if (answer == PERP_ODE_OK) answer = settle(o, h, t_new, stop, event, stats);
  if (answer == PERP_ODE_OK || answer == PERP_ODE_CHANGED) stats->reason = PERP_RUNNING;
  return answer;
}

/* ---- one accepted step ------------------------------------------------------------------------------------ */

struct plan {
  double h, t_new; /* step and where it ends */
  bool whole;      /* fixed steps: it ends at a point of the grid */
};

static struct plan plan_fixed(perp_ode *o, double t_max)
{
  const double h = o->h_first, t = o->t;
  if (h <= 16 * DBL_EPSILON * fabs(t)) return (struct plan){ .t_new = t }; /* h is lost in t */
  const double small = fmax(sliver * h, 8 * DBL_EPSILON * (fabs(t) + h));
  double next = o->t0 + (o->k + 1) * h;
  while (next - t <= small) { /* an event or a cut just before the grid point took its place */
    o->k++;
    next = o->t0 + (o->k + 1) * h;
  }
  struct plan p = { .h = next - t, .t_new = next, .whole = true };
  if (next >= t_max - small) {
    p.whole = next <= t_max + small;
    p.t_new = t_max;
    if (!p.whole) p.h = t_max - t;
  }
  if (fabs(p.h - h) <= small) p.h = h; /* the step itself, not its rounding */
  return p;
}

/* the step after which the error control is free again; two equal steps rather than a long and a short one */
static struct plan plan_adaptive(const perp_ode *o, double t_max)
{
  const double left = t_max - o->t;
  double h = o->h;
  if (left <= h) return (struct plan){ .h = left, .t_new = t_max };
  if (left < 2 * h) h = 0.5 * left;
  return (struct plan){ .h = h, .t_new = o->t + h };
}

static void commit(perp_ctx *ctx, perp_ode *o, perp_ode_answer answer, double h, double t_new,
                   perp_ode_stop stop, double event, bool whole, bool again, double ratio)
{
  double *y = o->y;
  o->y = o->y1;
  o->y1 = y;
  o->t = t_new;
  if (whole) o->k++;
  if (h > 0) {
    o->count.steps++;
    o->count.h_least = o->count.steps == 1 ? h : fmin(o->count.h_least, h);
    o->count.h_most = fmax(o->count.h_most, h);
  }
  if (o->control.tol > 0) perp_ode_scale_grow(&o->scale, o->nq, o->nv, o->y);
  if (o->sys.event != NULL) {
    o->event = event;
    o->armed = event >= 0;
    if (stop == PERP_ODE_EVENT) o->armed = false; /* it has been reported */
  }
  if (answer == PERP_ODE_CHANGED) {
    o->count.changed++;
    if (stop != PERP_ODE_EVENT) watch(o);
  }
  if (answer == PERP_ODE_CHANGED || again) forget_history(o);
  PERP_TRACE(ctx, .method = o->desc->d.name,
             .what = stop == PERP_ODE_EVENT       ? "event"
                     : answer == PERP_ODE_CHANGED ? "changed"
                                                  : "step",
             .iteration = (int)o->count.steps, .entering = -1, .leaving = -1, .step = h,
             .residual = o->control.tol > 0 ? ratio : (double)NAN, .n = o->n, .x = o->y);
}

static perp_ode_stop give_up(perp_stats *stats, perp_reason reason)
{
  stats->reason = reason;
  return PERP_ODE_STOPPED;
}

/* A trial step that met the error tolerance, or the reason why there is none: STOPPED. */
static perp_ode_stop adaptive_trial(perp_ctx *ctx, perp_ode *o, double t_max, struct plan *p,
                                    perp_ode_answer *answer, double *ratio, perp_stats *stats)
{
  const bool keep = (o->desc->d.caps & PERP_ODE_OWN_STEP_CONTROL) != 0;
  *p = plan_adaptive(o, t_max);
  for (int refused = 0; refused < REFUSALS_MOST; refused++) {
    if (!(o->t + p->h > o->t))
      return give_up(stats, stats->reason < 0 ? stats->reason : PERP_STEP_TOO_SMALL);
    stats->reason = PERP_RUNNING;
    *answer = attempt(o, p->h, ratio, stats);
    if (*answer == PERP_ODE_INVALID) return PERP_ODE_REACHED; /* for bisect() */
    const bool met = *answer == PERP_ODE_OK;
    double factor = perp_ode_step_factor(met ? *ratio : (double)NAN, order_of_error(o), refused > 0,
                                         keep);
    /* a step that was cut short says little about the next one, unless history goes by its length */
    const bool cut = p->h < o->h;
    if (met && *ratio <= 1) {
      double h = fmin(p->h * factor, o->control.h_max);
      o->h = cut && !keep ? fmax(h, o->h) : h;
      return PERP_ODE_REACHED;
    }
    if (!met && stats->reason == PERP_RUNNING) stats->reason = PERP_SINGULAR;
    o->count.rejected++;
    PERP_TRACE(ctx, .method = o->desc->d.name, .what = "reject", .iteration = refused,
               .entering = -1, .leaving = -1, .step = p->h, .residual = met ? *ratio : (double)NAN,
               .n = o->n, .x = o->y1);
    p->h *= refused < 8 ? factor : fmin(factor, 0.2);
    p->t_new = o->t + p->h;
    o->h = p->h;
    if (p->h < o->control.h_min)
      return give_up(stats, stats->reason < 0 ? stats->reason : PERP_STEP_TOO_SMALL);
  }
  return give_up(stats, PERP_STALLED);
}

static perp_ode_stop make_step(perp_ctx *ctx, perp_ode *o, double t_max, perp_stats *stats)
{
  struct plan p;
  perp_ode_answer answer;
  perp_ode_stop stop = PERP_ODE_REACHED;
  double ratio = 0, event = 0;
  stats->reason = PERP_RUNNING;
  if ((o->sys.caps & PERP_ODE_SYS_RENEWED_EVENT) != 0) watch(o);

  if (o->control.tol > 0) {
    if (adaptive_trial(ctx, o, t_max, &p, &answer, &ratio, stats) == PERP_ODE_STOPPED)
      return PERP_ODE_STOPPED;
    stats->residual = isnan(stats->residual) ? ratio : fmax(stats->residual, ratio);
  } else {
    p = plan_fixed(o, t_max);
    if (!(o->t + p.h > o->t)) return give_up(stats, PERP_STEP_TOO_SMALL);
    answer = attempt(o, p.h, &ratio, stats);
  }

  const double tried = p.h;
  if (answer == PERP_ODE_OK && (o->sys.event != NULL || o->sys.accept != NULL))
    answer = settle(o, &p.h, &p.t_new, &stop, &event, stats);
  bool again = stop == PERP_ODE_EVENT;
  if (answer == PERP_ODE_INVALID) {
    answer = bisect(ctx, o, &p.h, &p.t_new, &stop, &event, stats);
    again = true;
  }
  if (answer == PERP_ODE_INVALID) return give_up(stats, PERP_INVALID_STATE);
  if (answer == PERP_ODE_FAILED)
    return give_up(stats, stats->reason < 0 ? stats->reason : PERP_SINGULAR);
  commit(ctx, o, answer, p.h, p.t_new, stop, event, p.whole && p.h == tried, again, ratio);
  stats->reason = PERP_EXACT;
  return stop;
}

/* ---- interface ---------------------------------------------------------------------------------------------- */

static bool ready(perp_ctx *ctx, const perp_ode *o, double t_to, perp_stats *stats)
{
  *stats = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
  if (o->started && !isnan(t_to)) return true;
  stats->reason = PERP_UNSUITED;
  PERP_FAIL(ctx, PERP_ERR_ARG,
            o->started ? "%s: the time to go to is not a number"
                       : "%s: no state to start from (restart first)",
            o->desc->d.name);
  return false;
}

static void count(perp_ode *o, const perp_stats *stats)
{
  o->count.rhs += stats->matvecs;
  o->count.iterations += stats->iterations;
}

perp_ode_stop perp_ode_step(perp_ctx *ctx, perp_ode *ode, double t_max, perp_stats *stats)
{
  perp_stats own;
  if (stats == NULL) stats = &own;
  if (!ready(ctx, ode, t_max, stats)) return PERP_ODE_STOPPED;
  if (!(t_max > ode->t)) return PERP_ODE_REACHED;
  perp_ode_stop stop = make_step(ctx, ode, t_max, stats);
  count(ode, stats);
  return stop;
}

perp_ode_stop perp_ode_advance(perp_ctx *ctx, perp_ode *ode, double t_to, perp_stats *stats)
{
  perp_stats own;
  if (stats == NULL) stats = &own;
  if (!ready(ctx, ode, t_to, stats)) return PERP_ODE_STOPPED;
  perp_ode_stop stop = PERP_ODE_REACHED;
  double t_mark = ode->t; /* where the steps of the last round began */
  for (int idle = 0; ode->t < t_to && stop == PERP_ODE_REACHED; idle++) {
    if (idle == IDLE_STEPS_MOST) {
      /* impacts that pile up before a point in time, say: each step valid, all together nothing */
      double least = fmax(sliver * fmin(ode->h_first, t_to - t_mark),
                          1e3 * DBL_EPSILON * fabs(t_mark));
      if (ode->t - t_mark < least) {
        stop = give_up(stats, PERP_STALLED);
        break;
      }
      t_mark = ode->t;
      idle = 0;
    }
    stop = make_step(ctx, ode, t_to, stats);
  }
  count(ode, stats);
  return stop;
}

double perp_ode_time(const perp_ode *ode)
{
  return ode->t;
}

double perp_ode_h(const perp_ode *ode)
{
  return ode->h;
}

const double *perp_ode_q(const perp_ode *ode)
{
  return ode->y;
}

const double *perp_ode_v(const perp_ode *ode)
{
  return ode->y + ode->nq;
}

const perp_ode_counters *perp_ode_count(const perp_ode *ode)
{
  return &ode->count;
}
