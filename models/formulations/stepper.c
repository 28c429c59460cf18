/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/stepper.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

static void stepper_layout(perp_stepper *s, const perp_model *model,
                           void (*carve)(void *ws, const perp_model *model, perp_arena *a),
                           perp_arena *a)
{
  perp_constrained_layout(&s->k, model, a);
  s->q = PERP_CARVE(a, double, model->nq);
  s->v = PERP_CARVE(a, double, model->nv);
  s->q1 = PERP_CARVE(a, double, model->nq);
  s->v1 = PERP_CARVE(a, double, model->nv);
  s->lambda = PERP_CARVE(a, double, model->m);
  carve(s, model, a);
}

void perp_stepper_destroy(void *ws)
{
  perp_stepper *s = ws;
  if (s == NULL) return;
  perp_constrained_destroy(&s->k);
  perp_arena_free(&s->arena);
  free(s);
}

perp_status perp_stepper_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                                size_t size,
                                void (*carve)(void *ws, const perp_model *model, perp_arena *a),
                                perp_reason (*make_step)(perp_stepper *s, double t, double h),
                                void **ws)
{
  *ws = NULL;
  perp_stepper *s = calloc(1, size);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", parts->formulation.d->name);
  perp_arena a = { 0 };
  stepper_layout(s, model, carve, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(s);
    return status;
  }
  s->arena = a;
  stepper_layout(s, model, carve, &a);
  s->make_step = make_step;
  s->grid.h = h;
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  status = perp_constrained_create(ctx, &s->k, model, &with, false);
  if (status != PERP_OK) {
    perp_stepper_destroy(s);
    return status;
  }
  *ws = s;
  return PERP_OK;
}

perp_status perp_stepper_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                 const double *v)
{
  perp_stepper *s = ws;
  const perp_model *model = s->k.model;
  perp_constrained_restart(&s->k);
  s->k.ctx = ctx;
  memset(s->lambda, 0, (size_t)model->m * sizeof *s->lambda);
  memcpy(s->q, q, (size_t)model->nq * sizeof *q);
  memcpy(s->v, v, (size_t)model->nv * sizeof *v);
  perp_time_grid_restart(&s->grid, t);
  return perp_constrained_check_start(ctx, model, s->q, s->v);
}

perp_status perp_stepper_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_stepper *s = ws;
  perp_constrained *k = &s->k;
  const double end = perp_time_grid_next(&s->grid, t_max), start = perp_constrained_clock(k);
  k->ctx = ctx;
  k->status = PERP_OK;
  k->reason = PERP_EXACT;
  info->reason = PERP_EXACT;
  if (end > s->grid.t) {
    info->reason = s->make_step(s, s->grid.t, end - s->grid.t);
    if (k->status != PERP_OK) return k->status;
    if (info->reason > 0) {
      memcpy(s->q, s->q1, (size_t)k->model->nq * sizeof *s->q);
      memcpy(s->v, s->v1, (size_t)k->model->nv * sizeof *s->v);
      perp_time_grid_accept(&s->grid, end);
    }
  }
  k->step_s += perp_constrained_clock(k) - start;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  info->lambda = s->lambda;
  return PERP_OK;
}

void perp_stepper_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_stepper *s = ws;
  *t = s->grid.t;
  *q = s->q;
  *v = s->v;
}

void perp_stepper_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_stepper *s = ws;
  if (ode != NULL) *ode = s->grid.count;
  if (kkt != NULL) *kkt = s->k.count;
}

void perp_stepper_timing(void *ws, bool on, perp_times *times)
{
  perp_constrained_timing(&((perp_stepper *)ws)->k, on, times);
}
