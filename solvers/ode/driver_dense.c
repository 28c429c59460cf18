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

static void dense_layout(void *ode, perp_arena *arena)
{
  perp_ode *o = ode;
  PERP_DOUBLES(arena, o->n, &o->dense.y, &o->dense.end);
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
  if (ode->control.tol == 0 || !ode->doubling) return dense_step(ode, t, h, y, stats);
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
  perp_ode *o = ode;
  struct perp_ode_dense *dense = &o->dense;
  if (!dense->valid || !(t >= dense->t && t <= o->t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: dense output at t = %.17g s is not possible: the time is outside the last step",
        o->desc->d.name, t);
  PERP_TRY(dense_create(ctx, o));
  const double *y = dense->y;
  if (t == dense->t) {
    y = o->y1;
  } else if (t == o->t && dense->joined) {
    y = o->y;
  } else {
    perp_stats stats = { .reason = PERP_RUNNING };
    dense->inside = true;
    const perp_ode_answer answer = dense_state(o, t, &stats);
    dense->inside = false;
    o->count.dense += stats.matvecs;
    if (answer != PERP_ODE_OK || !perp_finite(o->n, dense->y))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: dense output at t = %.17g s failed: the state there is not valid",
                       o->desc->d.name, t);
  }
  memcpy(q, y, (size_t)o->nq * sizeof *q);
  if (o->nv > 0) memcpy(v, y + o->nq, (size_t)o->nv * sizeof *v);
  return PERP_OK;
}
