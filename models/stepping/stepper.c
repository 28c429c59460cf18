/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/stepper.h"
#include "models/multibody/servos.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

void perp_stepper_layout(perp_stepper *s, perp_arena *a)
{
  const perp_model *model = s->k.model;
  perp_constrained_layout(&s->k, model, a);
  PERP_DOUBLES(a, model->nq, &s->q, &s->q1);
  PERP_DOUBLES(a, model->nv, &s->v, &s->v1);
  PERP_DOUBLES(a, model->m, &s->lambda);
  PERP_DOUBLES(a, model->n_drives, &s->servo);
}

void perp_stepper_forces(perp_stepper *s, double t, const double *v, double *f)
{
  perp_eval_forces(s->k.e, s->k.model, t, v, true, f);
  perp_servos_apply(s->k.model, s->k.e, t, v, NULL, f);
}

void perp_stepper_servos(perp_stepper *s, double t, const double *q, const double *v)
{
  if (s->k.model->n_drives == 0) return;
  perp_constrained_at(&s->k, t, q);
  perp_servos_apply(s->k.model, s->k.e, t, v, s->servo, s->k.f);
}

void perp_stepper_destroy(void *ws)
{
  if (ws == NULL) return;
  perp_constrained_destroy(&((perp_stepper *)ws)->k);
  free(ws);
}

perp_status perp_stepper_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                                perp_stepper *like, size_t size, perp_layout_fn *layout, void **ws)
{
  like->k.model = model;
  like->grid.h = h;
  PERP_TRY(perp_workspace_create(ctx, parts->formulation.d->name, like, size, layout, ws));
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  const perp_status status = perp_constrained_create(ctx, &((perp_stepper *)*ws)->k, model, &with,
                                                     false);
  if (status != PERP_OK) {
    perp_stepper_destroy(*ws);
    *ws = NULL;
  }
  return status;
}

perp_status perp_stepper_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                 const double *v)
{
  perp_stepper *s = ws;
  const perp_model *model = s->k.model;
  perp_constrained_restart(&s->k);
  s->k.ctx = ctx;
  memset(s->lambda, 0, (size_t)model->m * sizeof *s->lambda);
  memset(s->servo, 0, (size_t)model->n_drives * sizeof *s->servo);
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
  info->drive = k->model->n_drives > 0 ? s->servo : NULL;
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
