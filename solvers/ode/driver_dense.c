/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense output: states between the ends of a step, see perp_ode_dense_at.
 *
 *   y(t + s h) = Phi_sh(y_0) + s^2 (3 - 2 s) (y_1 - Phi_h(y_0)),
 *
 * The second term is left out after an event or a roll-back, where `accept` may have made a jump.
 * Phi is the step of the method from the start y_0 of the step and y_1 its end after `accept`.  The
 * steps are made in a workspace of their own, with every state intermediate.  Methods that make
 * their own steps (own_step) have an interpolant: Phi is that. */
#include "solvers/ode/driver.h"

#include <string.h>

static void dense_layout(void *ode, perp_arena *a)
{
  perp_ode *o = ode;
  PERP_DOUBLES(a, o->n, &o->dense.y, &o->dense.end);
}

static perp_status dense_create(perp_ctx *ctx, perp_ode *o)
{
  if (o->dense.ws != NULL || (o->desc->own_step != NULL && o->dense.y != NULL)) return PERP_OK;
  PERP_TRY(perp_arena_layout(ctx, &o->dense.arena, dense_layout, o));
  if (o->desc->own_step != NULL) return PERP_OK; /* the workspace of the march answers */
  return o->desc->create(ctx, &o->sys, o->method.opts, &o->dense.ws);
}

void perp_ode_dense_free(perp_ode *o)
{
  if (o->dense.ws != NULL) o->desc->destroy(o->dense.ws);
  perp_arena_free(&o->dense.arena);
}

static perp_ode_answer dense_step(perp_ode *o, double t, double h, double *y, perp_stats *stats)
{
  return o->desc->step(o->dense.ws, &o->trial, t, h, y, y + o->nq, NULL, stats);
}

/* y = Phi_h of the start of the step: as the driver makes it, doubled where it does so. */
static perp_ode_answer dense_flow(perp_ode *o, double h, double *y, perp_stats *stats)
{
  const double *start = o->y1; /* until the next step */
  const double t = o->dense.t;
  if (o->desc->own_step != NULL)
    return o->desc->between(o->ws, &o->trial, t + h, y, y + o->nq, stats);
  if (o->history) return perp_ode_march(o, o->dense.ws, t, start, h, y, stats);
  if (o->desc->reset != NULL) o->desc->reset(o->dense.ws);
  memcpy(y, start, (size_t)o->n * sizeof *y);
  if (o->control.tol == 0 || !o->doubling) return dense_step(o, t, h, y, stats);
  const perp_ode_answer answer = dense_step(o, t, 0.5 * h, y, stats);
  return answer == PERP_ODE_OK ? dense_step(o, t + 0.5 * h, 0.5 * h, y, stats) : answer;
}

/* The state at t into dense.y. */
static perp_ode_answer dense_state(perp_ode *o, double t, perp_stats *stats)
{
  struct perp_ode_dense *d = &o->dense;
  const double h = o->t - d->t, s = (t - d->t) / h;
  perp_ode_answer answer = dense_flow(o, t - d->t, d->y, stats);
  if (answer != PERP_ODE_OK || !d->joined) return answer;
  if (!d->ended) answer = dense_flow(o, h, d->end, stats);
  if (answer != PERP_ODE_OK) return answer;
  d->ended = true;
  for (int i = 0; i < o->n; i++) d->y[i] += s * s * (3 - 2 * s) * (o->y[i] - d->end[i]);
  if (o->sys.project != NULL) o->sys.project(o->sys.user, d->y);
  return PERP_ODE_OK;
}

perp_status perp_ode_dense_at(perp_ctx *ctx, perp_ode *ode, double t, double *q, double *v)
{
  perp_ode *o = ode;
  struct perp_ode_dense *d = &o->dense;
  if (!d->valid || !(t >= d->t && t <= o->t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: dense output at t = %.17g s is not possible: the time is outside the last step",
        o->desc->d.name, t);
  PERP_TRY(dense_create(ctx, o));
  const double *y = d->y;
  if (t == d->t) {
    y = o->y1;
  } else if (t == o->t && d->joined) {
    y = o->y;
  } else {
    perp_stats stats = { .reason = PERP_RUNNING };
    d->inside = true;
    const perp_ode_answer answer = dense_state(o, t, &stats);
    d->inside = false;
    o->count.dense += stats.matvecs;
    if (answer != PERP_ODE_OK || !perp_finite(o->n, d->y))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: dense output at t = %.17g s failed: the state there is not valid",
                       o->desc->d.name, t);
  }
  memcpy(q, y, (size_t)o->nq * sizeof *q);
  if (o->nv > 0) memcpy(v, y + o->nq, (size_t)o->nv * sizeof *v);
  return PERP_OK;
}
