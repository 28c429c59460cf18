/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver of ODE methods: what methods see of a system, create, restart, step and advance.  The
 * step itself is in driver_step.c. */
#include "solvers/ode/driver.h"
#include <float.h>
#include <string.h>

enum { IDLE_STEPS_MOST = 1000 };

/* ---- the system as methods see it ---- */

/* Under error control the derivative must not depend on the step (a feedback that goes with 1 / h,
 * say): steps of different length are compared, and a history of them is one curve.  It is told the
 * h of create then. Not so with one evaluation a step, where h turns impulses into accelerations
 * and must be the real one. */
/* A step errs by O(h^(p+1)) and a motion by O(h^p), which is in proportion to tol^(1+1/p) for a
 * step (ode.h). */
static double driver_part(const perp_ode_desc *desc, double tol)
{
  return desc->order > 0 ? fmin(1, pow(tol / 1e-4, 1.0 / desc->order)) : 1;
}

static bool one_h(const perp_ode *ode)
{
  return ode->control.tol > 0 && (ode->desc->d.caps & PERP_ODE_ONE_EVALUATION) == 0;
}

static perp_ode_answer asked_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)h;
  const perp_ode *ode = user;
  return ode->sys.deriv(ode->sys.user, t, ode->h_first, q, v, intermediate, qdot, a);
}

static perp_ode_answer trial_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)intermediate;
  const perp_ode *ode = user;
  const bool first = one_h(ode) ||
                     (ode->dense.inside && (ode->desc->d.caps & PERP_ODE_ONE_EVALUATION) == 0);
  return ode->sys.deriv(ode->sys.user, t, first ? ode->h_first : h, q, v, true, qdot, a);
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

static void forward_dexpinv(void *user, const double *u, const double *v, double *du)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->dexpinv(sys->user, u, v, du);
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

static perp_ode_answer forward_onto(void *user, double t, double *q, double *v)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  return sys->onto(sys->user, t, q, v);
}

static bool forward_momentum(void *user, double t, const double *q, const double *v, double *p,
                             double *g)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  return sys->canonical->momentum(sys->user, t, q, v, p, g);
}

static bool forward_velocity(void *user, const double *p, double *v)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  return sys->canonical->velocity(sys->user, p, v);
}

static void forward_transport(void *user, const double *dq, const double *p, double *start,
                              double *end)
{
  const perp_ode_sys *sys = &((const perp_ode *)user)->sys;
  sys->canonical->transport(sys->user, dq, p, start, end);
}

static const perp_ode_canonical forward_canonical = { forward_momentum, forward_velocity,
                                                      forward_transport };

static perp_ode_sys
driver_through(perp_ode *ode, perp_ode_answer (*deriv)(void *, double, double, const double *,
                                                       const double *, bool, double *, double *))
{
  perp_ode_sys sys = ode->sys;
  sys.user = ode;
  sys.deriv = deriv;
  if (sys.retract != NULL) sys.retract = forward_retract;
  if (sys.difference != NULL) sys.difference = forward_difference;
  if (sys.dexpinv != NULL) sys.dexpinv = forward_dexpinv;
  if (sys.project != NULL) sys.project = forward_project;
  if (sys.qdot != NULL) sys.qdot = forward_qdot;
  if (sys.canonical != NULL) sys.canonical = &forward_canonical;
  if (sys.onto != NULL) sys.onto = forward_onto;
  return sys;
}

/* ---- create, restart ---- */

static void driver_layout(void *ode, perp_arena *arena)
{
  perp_ode *driver = ode;
  PERP_DOUBLES(arena, driver->n, &driver->y, &driver->y1, &driver->y2, &driver->y3, &driver->err);
  if (driver->control.control == PERP_ODE_CONTROL_TRUNCATION)
    PERP_DOUBLES(arena, driver->n, &driver->slope, &driver->slope1);
}

perp_status perp_ode_check(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                           double h)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)method->d;
  const perp_ode_control *control = method->opts;
  const char *name = desc->d.name;
  if (!(h > 0 && h < HUGE_VAL))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the step size must be positive and finite: got %g s",
                     name, h);
  if (sys->deriv == NULL || sys->nq <= 0 || sys->nv < 0)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: the system needs the function deriv, nq > 0 and nv >= 0: got nq = %d, nv = %d", name,
        sys->nq, sys->nv);
  if (sys->nv > 0 && sys->nq != sys->nv && sys->retract == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: nq = %d and nv = %d differ, so the system needs the function retract",
                     name, sys->nq, sys->nv);
  if (sys->nv == 0 && (desc->d.caps & PERP_ODE_SECOND_ORDER) != 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s needs positions and velocities: this system is of first order (nv = 0)",
                     name);
  if (control->h_min > control->h_max)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "%s: h_min = %g s is larger than h_max = %g s; lower h_min or raise h_max",
                     name, control->h_min, control->h_max);
  if (h > control->h_max)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "%s: the step size %g s is larger than h_max = %g s; lower the step size or raise h_max",
        name, h, control->h_max);
  if (control->control == PERP_ODE_CONTROL_EMBEDDED && (desc->d.caps & PERP_ODE_EMBEDDED) == 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s has no embedded error estimate; use control=doubling", name);
  if (control->control == PERP_ODE_CONTROL_DOUBLING &&
      (desc->d.caps & PERP_ODE_VARIABLE_ORDER) != 0)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "%s has a variable order, and step doubling needs a fixed one; use control=embedded", name);
  if (control->control == PERP_ODE_CONTROL_TRUNCATION &&
      ((desc->d.caps & PERP_ODE_ONE_EVALUATION) == 0 || desc->order != 1))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s does not support control=truncation, which needs a method of order 1 with "
                     "one evaluation per step (euler, symplectic-euler); use control=auto",
                     name);
  return PERP_OK;
}

double perp_ode_tol(const perp_spec *method)
{
  const perp_ode_control *control = method->opts;
  const bool fixed = (method->d->caps & PERP_ODE_VARIABLE_ORDER) == 0;
  return control->tol > 0 || fixed ? control->tol : PERP_ODE_VARIABLE_TOL;
}

double perp_ode_slack(const perp_spec *method)
{
  const bool keeps = (method->d->caps & (PERP_ODE_MULTISTEP | PERP_ODE_PROJECTS)) != 0;
  return keeps ? 10 * perp_ode_tol(method) : 0;
}

perp_status perp_ode_create(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                            double h, perp_ode **out)
{
  *out = NULL;
  const perp_ode_desc *desc = (const perp_ode_desc *)method->d;
  const perp_ode_control *control = method->opts;
  PERP_TRY(perp_ode_check(ctx, method, sys, h));

  const bool history = (desc->d.caps & PERP_ODE_VARIABLE_ORDER) != 0;
  perp_ode like = { .desc = desc,
                    .sys = *sys,
                    .control = *control,
                    .part = driver_part(desc, control->tol),
                    .history = history,
                    .nq = sys->nq,
                    .nv = sys->nv,
                    .n = sys->nq + sys->nv,
                    .h_first = h,
                    .h = h };
  if (control->control == PERP_ODE_CONTROL_AUTO)
    like.control.control = (desc->d.caps & PERP_ODE_EMBEDDED) != 0 ? PERP_ODE_CONTROL_EMBEDDED
                                                                   : PERP_ODE_CONTROL_DOUBLING;
  if (history && control->tol == 0) {
    like.control.tol = perp_ode_tol(method);
    like.control.h_max = fmin(control->h_max, h);
  }
  void *ode;
  PERP_TRY(perp_workspace_create(ctx, desc->d.name, &like, sizeof like, driver_layout, &ode));
  perp_ode *driver = ode;
  driver->asked = one_h(driver) ? driver_through(driver, asked_deriv) : driver->sys;
  driver->trial = driver_through(driver, trial_deriv);
  perp_status status = perp_spec_copy(ctx, method, &driver->method);
  if (status == PERP_OK) status = desc->create(ctx, &driver->sys, method->opts, &driver->ws);
  if (status == PERP_OK) {
    *out = driver;
  } else {
    perp_spec_free(&driver->method);
    free(driver);
  }
  return status;
}

void perp_ode_destroy(perp_ode *ode)
{
  if (ode != NULL) {
    perp_ode_dense_free(ode);
    ode->desc->destroy(ode->ws);
    perp_spec_free(&ode->method);
  }
  free(ode);
}

perp_status perp_ode_restart(perp_ctx *ctx, perp_ode *ode, double t, const double *q,
                             const double *v)
{
  perp_ode *driver = ode;
  driver->started = false;
  driver->dense.valid = false;
  memcpy(driver->y, q, (size_t)driver->nq * sizeof *q);
  if (driver->nv > 0) memcpy(driver->y + driver->nq, v, (size_t)driver->nv * sizeof *v);
  if (!(fabs(t) < HUGE_VAL) || !perp_finite(driver->n, driver->y))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not finite (t = %g s)",
                     driver->desc->d.name, t);
  if (driver->sys.accept != NULL) {
    perp_ode_answer answer = driver->sys.accept(driver->sys.user, t, driver->y,
                                                driver->y + driver->nq);
    if (answer == PERP_ODE_INVALID || answer == PERP_ODE_FAILED ||
        !perp_finite(driver->n, driver->y))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial state is not valid (t = %g s)",
                       driver->desc->d.name, t);
    if (answer == PERP_ODE_CHANGED) driver->count.changed++;
  }
  driver->t = t;
  driver->grid = (perp_ode_grid){ .h = driver->h_first, .t_0 = t };
  driver->h = driver->h_first;
  driver->ratio = driver->h_before = 0;
  driver->scale = (struct perp_ode_scale){ .q = driver->sys.size };
  perp_ode_scale_grow(&driver->scale, driver->nq, driver->nv, driver->y);
  perp_ode_forget_history(driver);
  perp_ode_watch(driver);
  driver->count.restarts++;
  driver->started = true;
  return PERP_OK;
}

/* ---- interface ---- */

static bool driver_ready(perp_ctx *ctx, const perp_ode *ode, double t_to, perp_stats *stats)
{
  *stats = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
  if (ode->started && !isnan(t_to)) return true;
  stats->reason = PERP_UNSUITED;
  PERP_FAIL(ctx, PERP_ERR_ARG,
            ode->started ? "%s: the target time is not a number"
                         : "%s: no initial state; call perp_ode_restart first",
            ode->desc->d.name);
  return false;
}

static void driver_count(perp_ode *ode, const perp_stats *stats)
{
  ode->count.rhs += stats->matvecs;
  ode->count.iterations += stats->iterations;
}

perp_ode_stop perp_ode_step(perp_ctx *ctx, perp_ode *ode, double t_max, perp_stats *stats)
{
  perp_stats own;
  if (stats == NULL) stats = &own;
  if (!driver_ready(ctx, ode, t_max, stats)) return PERP_ODE_STOPPED;
  if (!(t_max > ode->t)) return PERP_ODE_REACHED;
  perp_ode_stop stop = perp_ode_make_step(ctx, ode, t_max, stats);
  driver_count(ode, stats);
  return stop;
}

perp_ode_stop perp_ode_advance(perp_ctx *ctx, perp_ode *ode, double t_to, perp_stats *stats)
{
  perp_stats own;
  if (stats == NULL) stats = &own;
  if (!driver_ready(ctx, ode, t_to, stats)) return PERP_ODE_STOPPED;
  perp_ode_stop stop = PERP_ODE_REACHED;
  double t_mark = ode->t; /* where the steps of the last round began */
  for (int idle = 0; ode->t < t_to && stop == PERP_ODE_REACHED; idle++) {
    if (idle == IDLE_STEPS_MOST) {
      /* impacts that pile up before a point in time, say: each step valid, all together nothing */
      double least = fmax(PERP_ODE_SLIVER * fmin(ode->h_first, t_to - t_mark),
                          1e3 * DBL_EPSILON * fabs(t_mark));
      if (ode->t - t_mark < least) {
        stats->reason = PERP_STALLED;
        stop = PERP_ODE_STOPPED;
        break;
      }
      t_mark = ode->t;
      idle = 0;
    }
    stop = perp_ode_make_step(ctx, ode, t_to, stats);
  }
  driver_count(ode, stats);
  return stop;
}

const perp_spec *perp_ode_method(const perp_ode *ode)
{
  return &ode->method;
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

/* Dense output: states between the ends of a step, see perp_ode_dense_at.
 *
 *   y(t + s h) = Phi_sh(y_0) + s^2 (3 - 2 s) (y_1 - Phi_h(y_0)),
 *
 * The second term is left out after an event or a roll-back, where `accept` may have made a jump.
 * Phi is the step of the method from the start y_0 of the step and y_1 its end after `accept`.  The
 * steps are made in a workspace of their own, with every state intermediate.  Methods that make
 * their own steps (own_step) have an interpolant: Phi is that. */

static void dense_layout(void *ode, perp_arena *arena)
{
  perp_ode *driver = ode;
  PERP_DOUBLES(arena, driver->n, &driver->dense.y, &driver->dense.end);
}

static perp_status dense_create(perp_ctx *ctx, perp_ode *ode)
{
  if (ode->dense.ws != NULL || (ode->desc->own_step != NULL && ode->dense.y != NULL))
    return PERP_OK;
  PERP_TRY(perp_arena_layout(ctx, &ode->dense.arena, dense_layout, ode));
  if (ode->desc->own_step != NULL) return PERP_OK; /* the workspace of the march answers */
  return ode->desc->create(ctx, &ode->sys, ode->method.opts, &ode->dense.ws);
}

void perp_ode_dense_free(perp_ode *ode)
{
  if (ode->dense.ws != NULL) ode->desc->destroy(ode->dense.ws);
  perp_arena_free(&ode->dense.arena);
}

static perp_ode_answer dense_step(perp_ode *ode, double t, double h, double *y, perp_stats *stats)
{
  return ode->desc->step(ode->dense.ws, &ode->trial, t, h, y, y + ode->nq, NULL, stats);
}

/* y = Phi_h of the start of the step: as the driver makes it, doubled where it does so. */
static perp_ode_answer dense_flow(perp_ode *ode, double h, double *y, perp_stats *stats)
{
  const double *start = ode->y1; /* until the next step */
  const double t = ode->dense.t;
  if (ode->desc->own_step != NULL)
    return ode->desc->between(ode->ws, &ode->trial, t + h, y, y + ode->nq, stats);
  if (ode->history) return perp_ode_march(ode, ode->dense.ws, t, start, h, y, stats);
  if (ode->desc->reset != NULL) ode->desc->reset(ode->dense.ws);
  memcpy(y, start, (size_t)ode->n * sizeof *y);
  if (ode->control.tol == 0 || ode->control.control != PERP_ODE_CONTROL_DOUBLING)
    return dense_step(ode, t, h, y, stats);
  const perp_ode_answer answer = dense_step(ode, t, 0.5 * h, y, stats);
  return answer == PERP_ODE_OK ? dense_step(ode, t + 0.5 * h, 0.5 * h, y, stats) : answer;
}

/* The state at t into dense.y. */
static perp_ode_answer dense_state(perp_ode *ode, double t, perp_stats *stats)
{
  struct perp_ode_dense *dense = &ode->dense;
  const double h = ode->t - dense->t, s = (t - dense->t) / h;
  perp_ode_answer answer = dense_flow(ode, t - dense->t, dense->y, stats);
  if (answer != PERP_ODE_OK || !dense->joined) return answer;
  if (!dense->ended) answer = dense_flow(ode, h, dense->end, stats);
  if (answer != PERP_ODE_OK) return answer;
  dense->ended = true;
  for (int i = 0; i < ode->n; i++) dense->y[i] += s * s * (3 - 2 * s) * (ode->y[i] - dense->end[i]);
  if (ode->sys.project != NULL) ode->sys.project(ode->sys.user, dense->y);
  return PERP_ODE_OK;
}

perp_status perp_ode_dense_at(perp_ctx *ctx, perp_ode *ode, double t, double *q, double *v)
{
  perp_ode *driver = ode;
  struct perp_ode_dense *dense = &driver->dense;
  if (!dense->valid || !(t >= dense->t && t <= driver->t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: dense output at t = %.17g s is not possible: the time is outside the last step",
        driver->desc->d.name, t);
  PERP_TRY(dense_create(ctx, driver));
  const double *y = dense->y;
  if (t == dense->t) {
    y = driver->y1;
  } else if (t == driver->t && dense->joined) {
    y = driver->y;
  } else {
    perp_stats stats = { .reason = PERP_RUNNING };
    dense->inside = true;
    const perp_ode_answer answer = dense_state(driver, t, &stats);
    dense->inside = false;
    driver->count.dense += stats.matvecs;
    if (answer != PERP_ODE_OK || !perp_finite(driver->n, dense->y))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: dense output at t = %.17g s failed: the state there is not valid",
                       driver->desc->d.name, t);
  }
  memcpy(q, y, (size_t)driver->nq * sizeof *q);
  if (driver->nv > 0) memcpy(v, y + driver->nq, (size_t)driver->nv * sizeof *v);
  return PERP_OK;
}
