/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of the driver: error control, roll-back, events (Vondrak 2005, 2.3, 6.3.3 and 6.4.3).
 *
 * It goes
 *   plan      how far: the next point of the grid t0 + k h, or the step that the error control
 * proposed attempt   trial state y1 = step of the method from y; refused while the error is too
 * large settle    has the event function fallen?  then y1 = the state at the event; accept(y1)
 *   bisect    only when y1 is invalid: the latest valid state between y and y1
 *   commit    y1 becomes the state
 * and until commit the state y is untouched, so rolling back is free of cost. */
#include "solvers/ode/driver.h"

#include <float.h>
#include <string.h>

enum {
  REFUSALS_MOST = 100,  /* of trial steps within one step */
  REVISIONS_MOST = 50,  /* of one trial step */
  BISECTIONS_MOST = 60, /* each halves the interval: 2^-60 of a step is far below round-off */
  LOCATIONS_MOST = 100  /* an event: at worst every third one halves the interval */
};
/* Relative width at which an event or the last valid state counts as found. */
static const double narrow = 1e-12;

/* The step that is being made. */
struct trial {
  double h, t_new; /* its length and end, and y1 there */
  bool whole;      /* fixed steps: it ends at a point of the grid */
  double ratio;    /* e / E with error control */
  perp_ode_stop stop;
  double event; /* function at t_new */
};

/* ---- one trial step ---- */

static perp_ode_answer method_step(perp_ode *ode, const perp_ode_sys *sys, double t, double h,
                                   double *y, double *err, perp_stats *stats)
{
  return ode->desc->step(ode->ws, sys, t, h, y, y + ode->nq, err, stats);
}

static perp_ode_answer not_finite(perp_stats *stats)
{
  stats->reason = PERP_NOT_FINITE;
  return PERP_ODE_FAILED;
}

/* e = h^2/2 y'' (Vondrak 2.2), with y'' from the slope of this step and of the one before.  The
 * slopes of an explicit step are those of its start, h_before apart; positions of the semi-implicit
 * one go by the velocity of the end. */
static void driver_step_truncation(perp_ode *ode, double h)
{
  const int ends = (ode->desc->d.caps & PERP_ODE_SECOND_ORDER) != 0 ? ode->nq : 0;
  const bool known = ode->h_before > 0; /* else err is that of doubling */
  for (int i = 0; i < ode->n; i++) {
    ode->slope1[i] = (ode->y1[i] - ode->y[i]) / h;
    const double apart = i < ends ? h : ode->h_before;
    if (known) ode->err[i] = 0.5 * h * h * (ode->slope1[i] - ode->slope[i]) / apart;
  }
}

/* y1 = the state at t + h, by one step of the method from (t, y); *ratio = e / E with error
 * control. */
static perp_ode_answer driver_step_attempt(perp_ode *ode, double h, double *ratio,
                                           perp_stats *stats)
{
  const size_t bytes = (size_t)ode->n * sizeof *ode->y;
  const bool embedded = ode->control.control == PERP_ODE_CONTROL_EMBEDDED;
  perp_ode_answer answer;
  *ratio = 0;
  memcpy(ode->y1, ode->y, bytes);
  if (ode->control.tol == 0) {
    answer = method_step(ode, &ode->asked, ode->t, h, ode->y1, NULL, stats);
  } else if (embedded || ode->h_before > 0) {
    answer = method_step(ode, &ode->asked, ode->t, h, ode->y1, embedded ? ode->err : NULL, stats);
  } else { /* one step beside two half steps, which are kept (Vondrak 2.2.3) */
    memcpy(ode->y2, ode->y, bytes);
    answer = method_step(ode, &ode->asked, ode->t, h, ode->y2, NULL, stats);
    if (answer == PERP_ODE_OK)
      answer = method_step(ode, &ode->asked, ode->t, 0.5 * h, ode->y1, NULL, stats);
    if (answer == PERP_ODE_OK)
      answer = method_step(ode, &ode->trial, ode->t + 0.5 * h, 0.5 * h, ode->y1, NULL, stats);
    for (int i = 0; i < ode->n; i++) ode->err[i] = ode->y2[i] - ode->y1[i];
  }
  if (ode->control.control == PERP_ODE_CONTROL_TRUNCATION && ode->control.tol > 0)
    driver_step_truncation(ode, h);
  if (!embedded && ode->control.tol > 0 && (ode->sys.caps & PERP_ODE_SYS_VELOCITY_LEVEL) != 0)
    memset(ode->err + ode->nq, 0, (size_t)ode->nv * sizeof *ode->err);
  if (answer != PERP_ODE_OK) return answer;
  if (!perp_finite(ode->n, ode->y1)) return not_finite(stats);
  if (ode->control.tol > 0) {
    *ratio = perp_ode_error_ratio(&ode->control, ode->scale, h, ode->nq, ode->nv, ode->y, ode->y1,
                                  ode->err);
    if (!embedded) *ratio /= ode->part;
    if (isnan(*ratio)) return not_finite(stats);
  }
  return PERP_ODE_OK;
}

bool perp_ode_repeats(const perp_spec *method)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)method->d;
  return (method->d->caps & (PERP_ODE_MULTISTEP | PERP_ODE_VARIABLE_ORDER)) == 0 &&
         desc->own_step == NULL;
}

/* The same until nothing is to be revised. */
static perp_ode_answer driver_step_revised(perp_ode *ode, double h, double *ratio,
                                           perp_stats *stats)
{
  perp_ode_answer answer = driver_step_attempt(ode, h, ratio, stats);
  if (ode->sys.revise == NULL || !perp_ode_repeats(&ode->method)) return answer;
  for (int i = 0; i < REVISIONS_MOST && answer == PERP_ODE_OK; i++) {
    if (!ode->sys.revise(ode->sys.user, ode->t, h, ode->y1, ode->y1 + ode->nq)) break;
    answer = driver_step_attempt(ode, h, ratio, stats);
  }
  return answer;
}

static int order_of_error(const perp_ode *ode)
{
  if (ode->desc->current_order != NULL) return ode->desc->current_order(ode->ws);
  return ode->control.control == PERP_ODE_CONTROL_EMBEDDED ? ode->desc->error_order
                                                           : ode->desc->order;
}

perp_ode_answer perp_ode_march(perp_ode *ode, void *ws, double t, const double *from, double h,
                               double *y, perp_stats *stats)
{
  const size_t bytes = (size_t)ode->n * sizeof *ode->y;
  const double t_end = t + h;
  double g = 0.01 * h;
  bool refused = false;
  if (ode->desc->reset != NULL) ode->desc->reset(ws);
  memcpy(y, from, bytes);
  for (int i = 0; i < 100 * REFUSALS_MOST; i++) {
    double step = fmin(g, t_end - t);
    memcpy(ode->y2, y, bytes);
    perp_ode_answer answer = ode->desc->step(ws, &ode->trial, t, step, ode->y2, ode->y2 + ode->nq,
                                             ode->err, stats);
    double ratio = (double)NAN;
    if (answer == PERP_ODE_OK && perp_finite(ode->n, ode->y2))
      ratio = perp_ode_error_ratio(&ode->control, ode->scale, step, ode->nq, ode->nv, y, ode->y2,
                                   ode->err);
    g = step * perp_ode_keep_factor(ratio, ode->desc->current_order(ws), refused);
    refused = !(ratio <= 1);
    if (refused) {
      if (g < ode->control.h_min || t + g == t)
        return answer == PERP_ODE_OK ? not_finite(stats) : answer;
      continue;
    }
    memcpy(y, ode->y2, bytes);
    t = step < t_end - t ? t + step : t_end;
    if (t == t_end) return PERP_ODE_OK;
  }
  stats->reason = PERP_STALLED;
  return PERP_ODE_FAILED;
}

/* Make the step again, to t + h with another h. */
static perp_ode_answer make_again(perp_ode *ode, double h, double *ratio, perp_stats *stats)
{
  *ratio = 0;
  ode->count.bisections++;
  if (ode->desc->own_step != NULL)
    return ode->desc->between(ode->ws, &ode->trial, ode->t + h, ode->y1, ode->y1 + ode->nq, stats);
  return ode->history ? perp_ode_march(ode, ode->ws, ode->t, ode->y, h, ode->y1, stats)
                      : driver_step_attempt(ode, h, ratio, stats);
}

/* Width at which a point within the step h counts as found. */
static double driver_step_closely(const perp_ode *ode, double h, double least)
{
  return fmax(ode->sys.locate > 0 ? ode->sys.locate : narrow * h, least);
}

/* ---- events and invalid states ---- */

/* The latest state before the event function falls below zero in (t, t_new], into y1; on entry it
 * is below at t_new. h = 0 on return: it falls right away, y1 = y.  Regula falsi (Illinois) with
 * bisection when that is slow. */
static void driver_step_locate(perp_ode *ode, struct trial *trial, perp_stats *stats)
{
  const size_t bytes = (size_t)ode->n * sizeof *ode->y;
  const double enough = driver_step_closely(ode, trial->h, 2 * DBL_EPSILON * fabs(ode->t));
  const int most = ode->sys.locations_most > 0 ? ode->sys.locations_most : LOCATIONS_MOST;
  double lo = 0, hi = trial->h, f_lo = ode->event, f_hi = trial->event, width = hi;
  int side = 0;
  memcpy(ode->y3, ode->y, bytes);
  for (int i = 0; i < most && hi - lo > enough; i++) {
    double mid = lo + 0.5 * (hi - lo);
    bool slow = i % 3 == 2 && hi - lo > 0.5 * width;
    if (i % 3 == 2) width = hi - lo;
    if (f_lo > 0 && f_hi < 0 && !slow) mid = lo + (hi - lo) * (f_lo / (f_lo - f_hi));
    mid = fmin(fmax(mid, lo + 0.5 * enough), hi - 0.5 * enough);
    double f = -1, ratio; /* where no state can be reached is after the event */
    bool reached = make_again(ode, mid, &ratio, stats) == PERP_ODE_OK;
    if (reached) f = ode->sys.event(ode->sys.user, ode->t + mid, ode->y1, ode->y1 + ode->nq);
    if (f >= 0) {
      lo = mid;
      f_lo = f;
      if (side > 0) f_hi *= 0.5;
      side = 1;
      memcpy(ode->y3, ode->y1, bytes);
    } else {
      hi = mid;
      f_hi = reached && f < 0 ? f : -f_lo;
      if (side < 0) f_lo *= 0.5;
      side = -1;
    }
  }
  memcpy(ode->y1, ode->y3, bytes);
  stats->reason = PERP_RUNNING;
  trial->h = lo;
  trial->t_new = ode->t + lo;
  trial->stop = PERP_ODE_EVENT;
}

/* y1 is the trial state at t_new: stop at an event, ask whether the state is acceptable. */
static perp_ode_answer driver_step_settle(perp_ode *ode, struct trial *trial, perp_stats *stats)
{
  const perp_ode_sys *sys = &ode->sys;
  trial->stop = PERP_ODE_REACHED;
  if (sys->event != NULL) {
    trial->event = sys->event(sys->user, trial->t_new, ode->y1, ode->y1 + ode->nq);
    if (isnan(trial->event)) return not_finite(stats);
    if (ode->armed && trial->event < 0) driver_step_locate(ode, trial, stats);
  }
  if (sys->accept == NULL) return PERP_ODE_OK;
  perp_ode_answer answer = sys->accept(sys->user, trial->t_new, ode->y1, ode->y1 + ode->nq);
  if (answer == PERP_ODE_CHANGED && !perp_finite(ode->n, ode->y1)) return not_finite(stats);
  return answer;
}

/* The latest valid state in (t, t_new], into y1 (Vondrak 6.4.3); y1 at t_new is invalid on entry.
 */
static perp_ode_answer driver_step_bisect(perp_ctx *ctx, perp_ode *ode, struct trial *trial,
                                          perp_stats *stats)
{
  const double enough = driver_step_closely(ode, trial->h, 4 * DBL_EPSILON * fabs(ode->t));
  const int most = ode->sys.locations_most > 0 ? ode->sys.locations_most : BISECTIONS_MOST;
  double lo = 0, hi = trial->h, ratio;
  for (int i = 0; i < most && hi - lo > enough; i++) {
    double mid = lo + 0.5 * (hi - lo);
    perp_ode_answer answer = make_again(ode, mid, &ratio, stats);
    PERP_TRACE(ctx, .method = ode->desc->d.name, .what = "bisect", .iteration = i, .entering = -1,
               .leaving = -1, .step = mid, .residual = ratio, .n = ode->n, .x = ode->y1);
    if (answer == PERP_ODE_OK && ratio <= 1) {
      trial->h = mid;
      trial->t_new = ode->t + mid;
      answer = driver_step_settle(ode, trial, stats);
      if (answer == PERP_ODE_CHANGED || (answer == PERP_ODE_OK && trial->stop == PERP_ODE_EVENT))
        return answer;
      if (answer == PERP_ODE_OK) {
        lo = mid;
        continue;
      }
      mid = trial->h; /* shorter when the state at an event is invalid */
    }
    hi = mid;
  }
  stats->reason = PERP_INVALID_STATE;
  if (!(ode->t + lo > ode->t)) return PERP_ODE_INVALID;
  /* the last state asked must be the one that is kept: make it again */
  trial->h = lo;
  trial->t_new = ode->t + lo;
  perp_ode_answer answer = make_again(ode, lo, &ratio, stats);
  if (answer == PERP_ODE_OK) answer = driver_step_settle(ode, trial, stats);
  if (answer == PERP_ODE_OK || answer == PERP_ODE_CHANGED) stats->reason = PERP_RUNNING;
  return answer;
}

/* ---- one accepted step ---- */

/* the step after which the error control is free again; two equal steps rather than a long and a
 * short one */
static struct trial plan_adaptive(const perp_ode *ode, double t_max)
{
  const double left = t_max - ode->t;
  double h = ode->h;
  if (left <= h) return (struct trial){ .h = left, .t_new = t_max };
  if (left < 2 * h) h = 0.5 * left;
  return (struct trial){ .h = h, .t_new = ode->t + h };
}

/* again: the step was made again, so that a history ends elsewhere. */
static void driver_step_commit(perp_ctx *ctx, perp_ode *ode, const struct trial *trial,
                               perp_ode_answer answer, bool again)
{
  double *y = ode->y;
  ode->y = ode->y1;
  ode->y1 = y;
  ode->dense.t = ode->t;
  ode->dense.valid = trial->h > 0;
  ode->dense.ended = false;
  ode->dense.joined = trial->stop != PERP_ODE_EVENT && !again;
  ode->t = trial->t_new;
  if (trial->whole) ode->grid.k++;
  if (trial->h > 0 && ode->control.control == PERP_ODE_CONTROL_TRUNCATION) {
    double *slope = ode->slope;
    ode->slope = ode->slope1;
    ode->slope1 = slope;
    ode->h_before = trial->h;
  }
  if (trial->h > 0) {
    ode->count.steps++;
    ode->count.h_least = ode->count.steps == 1 ? trial->h : fmin(ode->count.h_least, trial->h);
    ode->count.h_most = fmax(ode->count.h_most, trial->h);
  }
  if (ode->control.tol > 0) perp_ode_scale_grow(&ode->scale, ode->nq, ode->nv, ode->y);
  if (ode->sys.event != NULL) {
    ode->event = trial->event;
    ode->armed = trial->event >= 0 && trial->stop != PERP_ODE_EVENT; /* one has been reported */
  }
  if (answer == PERP_ODE_CHANGED) {
    ode->count.changed++;
    if (trial->stop != PERP_ODE_EVENT) perp_ode_watch(ode);
  }
  if (answer == PERP_ODE_CHANGED || again) perp_ode_forget_history(ode);
  PERP_TRACE(ctx, .method = ode->desc->d.name,
             .what = trial->stop == PERP_ODE_EVENT ? "event"
                     : answer == PERP_ODE_CHANGED  ? "changed"
                                                   : "step",
             .iteration = (int)ode->count.steps, .entering = -1, .leaving = -1, .step = trial->h,
             .residual = ode->control.tol > 0 ? trial->ratio : (double)NAN, .n = ode->n,
             .x = ode->y);
}

static perp_ode_stop give_up(perp_stats *stats, perp_reason reason)
{
  stats->reason = reason;
  return PERP_ODE_STOPPED;
}

/* A trial step that met the error tolerance, or the reason why there is none: STOPPED. */
static perp_ode_stop adaptive_trial(perp_ctx *ctx, perp_ode *ode, double t_max, struct trial *trial,
                                    perp_ode_answer *answer, perp_stats *stats)
{
  const bool keep = (ode->desc->d.caps & PERP_ODE_OWN_STEP_CONTROL) != 0;
  *trial = plan_adaptive(ode, t_max);
  for (int refused = 0; refused < REFUSALS_MOST; refused++) {
    if (!(ode->t + trial->h > ode->t))
      return give_up(stats, stats->reason < 0 ? stats->reason : PERP_STEP_TOO_SMALL);
    stats->reason = PERP_RUNNING;
    *answer = driver_step_revised(ode, trial->h, &trial->ratio, stats);
    if (*answer == PERP_ODE_INVALID) return PERP_ODE_REACHED; /* for bisect() */
    const double ratio = *answer == PERP_ODE_OK ? trial->ratio : (double)NAN;
    const double factor = keep ? perp_ode_keep_factor(ratio, order_of_error(ode), refused > 0)
                               : perp_ode_step_factor(ratio, ode->ratio, order_of_error(ode),
                                                      refused > 0);
    /* a step that was cut short says little about the next one, unless history goes by its length
     */
    const bool cut = trial->h < ode->h;
    if (ratio <= 1) {
      ode->ratio = ratio;
      double h = fmin(trial->h * factor, ode->control.h_max);
      ode->h = cut && !keep ? fmax(h, ode->h) : h;
      return PERP_ODE_REACHED;
    }
    if (*answer != PERP_ODE_OK && stats->reason == PERP_RUNNING) stats->reason = PERP_SINGULAR;
    ode->count.rejected++;
    PERP_TRACE(ctx, .method = ode->desc->d.name, .what = "reject", .iteration = refused,
               .entering = -1, .leaving = -1, .step = trial->h, .residual = ratio, .n = ode->n,
               .x = ode->y1);
    trial->h *= refused < 8 ? factor : fmin(factor, 0.2);
    trial->t_new = ode->t + trial->h;
    ode->h = trial->h;
    if (trial->h < ode->control.h_min)
      return give_up(stats, stats->reason < 0 ? stats->reason : PERP_STEP_TOO_SMALL);
  }
  return give_up(stats, PERP_STALLED);
}

/* A step that the method makes by itself, or the reason why there is none: STOPPED. */
static perp_ode_stop own_trial(perp_ctx *ctx, perp_ode *ode, double t_max, struct trial *trial,
                               perp_ode_answer *answer, perp_stats *stats)
{
  perp_ode_own own = {
    .h_max = ode->control.h_max, .scale_q = ode->scale.q, .scale_v = ode->scale.v, .h = ode->h
  };
  memcpy(ode->y1, ode->y, (size_t)ode->n * sizeof *ode->y);
  *answer = ode->desc->own_step(ode->ws, &ode->asked, ode->t, t_max, ode->y1, ode->y1 + ode->nq,
                                &own, stats);
  ode->count.rejected += own.rejected;
  for (int64_t i = 0; i < own.rejected; i++)
    PERP_TRACE(ctx, .method = ode->desc->d.name, .what = "reject", .iteration = (int)i,
               .entering = -1, .leaving = -1, .step = (double)NAN, .residual = (double)NAN,
               .n = ode->n, .x = ode->y);
  if (*answer == PERP_ODE_INVALID) return give_up(stats, PERP_INVALID_STATE);
  if (*answer != PERP_ODE_OK)
    return give_up(stats, stats->reason < 0 ? stats->reason : PERP_SINGULAR);
  if (!(own.t_new > ode->t)) return give_up(stats, PERP_STEP_TOO_SMALL);
  ode->h = own.h;
  *trial = (struct trial){ .h = own.t_new - ode->t, .t_new = own.t_new, .ratio = own.ratio };
  return PERP_ODE_REACHED;
}

perp_ode_stop perp_ode_make_step(perp_ctx *ctx, perp_ode *ode, double t_max, perp_stats *stats)
{
  struct trial trial;
  perp_ode_answer answer;
  stats->reason = PERP_RUNNING;
  ode->dense.valid = false;
  if ((ode->sys.caps & PERP_ODE_SYS_RENEWED_EVENT) != 0) perp_ode_watch(ode);

  if (ode->control.tol > 0) {
    const perp_ode_stop stop = ode->desc->own_step != NULL
                                   ? own_trial(ctx, ode, t_max, &trial, &answer, stats)
                                   : adaptive_trial(ctx, ode, t_max, &trial, &answer, stats);
    if (stop == PERP_ODE_STOPPED) return stop;
    stats->residual = fmax(stats->residual,
                           trial.ratio); /* that of NaN and a number is the number */
  } else {
    const perp_ode_grid_step next = perp_ode_grid_next(&ode->grid, ode->t, t_max);
    trial = (struct trial){ .h = next.h, .t_new = next.t_new, .whole = next.whole };
    if (!(ode->t + trial.h > ode->t)) return give_up(stats, PERP_STEP_TOO_SMALL);
    answer = driver_step_revised(ode, trial.h, &trial.ratio, stats);
  }

  const double tried = trial.h;
  if (answer == PERP_ODE_OK && (ode->sys.event != NULL || ode->sys.accept != NULL))
    answer = driver_step_settle(ode, &trial, stats);
  bool again = trial.stop == PERP_ODE_EVENT;
  if (answer == PERP_ODE_INVALID) {
    answer = driver_step_bisect(ctx, ode, &trial, stats);
    again = true;
  }
  if (answer == PERP_ODE_INVALID) return give_up(stats, PERP_INVALID_STATE);
  if (answer == PERP_ODE_FAILED)
    return give_up(stats, stats->reason < 0 ? stats->reason : PERP_SINGULAR);
  trial.whole = trial.whole && trial.h == tried;
  driver_step_commit(ctx, ode, &trial, answer, again);
  stats->reason = PERP_EXACT;
  return trial.stop;
}
