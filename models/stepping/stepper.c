/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/stepper.h"
#include "models/multibody/servos.h"

#include <float.h>
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

bool perp_stepper_accelerate(perp_stepper *s, double t, double h, const double *q, const double *v)
{
  perp_constrained *k = &s->k;
  perp_constrained_at(k, t, q);
  s->grid.count.rhs++;
  perp_stepper_forces(s, t, v, k->f);
  perp_joints_bias(k->model, k->e, v, k->c);
  for (int i = 0; i < k->model->m; i++) k->c[i] = -k->c[i];
  return perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, h, v);
}

/* Corrections of positions, and what of the size may be left where they no longer fall. */
enum { PROJECTIONS = 20 };
static const double ROUNDED = 1e-12;

bool perp_stepper_project(perp_stepper *s, double t, double h, double *q, double *v)
{
  perp_constrained *k = &s->k;
  const perp_model *model = k->model;
  if (model->m == 0) return true;
  double last = HUGE_VAL;
  for (int pass = 0;; pass++) {
    perp_constrained_at(k, t, q);
    perp_constrained_error(k, k->c);
    const double worst = perp_worst(model->m, k->c);
    if (worst <= 4 * DBL_EPSILON * model->size) break;
    if (pass == PROJECTIONS ||
        !(worst < 0.9 * last)) { /* rounding, or beside a singular position */
      if (worst <= ROUNDED * model->size) break;
      k->reason = PERP_MAX_ITER;
      return false;
    }
    last = worst;
    for (int i = 0; i < model->m; i++) k->c[i] = -k->c[i];
    memcpy(k->f, k->zeros, (size_t)model->nv * sizeof *k->f);
    if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
    perp_model_retract(model, q, k->a, q);
  }
  perp_constrained_at(k, t, q);
  perp_constrained_rate(k, v, k->c);
  for (int i = 0; i < model->m; i++) k->c[i] = -k->c[i];
  memcpy(k->f, k->zeros, (size_t)model->nv * sizeof *k->f);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
  for (int i = 0; i < model->nv; i++) v[i] += k->a[i];
  return true;
}

void perp_stepper_destroy(void *ws)
{
  if (ws == NULL) return;
  perp_constrained_destroy(&((perp_stepper *)ws)->k);
  free(ws);
}

perp_status perp_stepper_constrained(perp_ctx *ctx, perp_constrained *k, const perp_model *model,
                                     const perp_parts *parts)
{
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  return perp_constrained_create(ctx, k, model, &with, false);
}

perp_status perp_stepper_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                                perp_stepper *like, size_t size, perp_layout_fn *layout, void **ws)
{
  like->k.model = model;
  like->grid.h = h;
  PERP_TRY(perp_workspace_create(ctx, parts->formulation.d->name, like, size, layout, ws));
  const perp_status status = perp_stepper_constrained(ctx, &((perp_stepper *)*ws)->k, model, parts);
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

perp_status perp_stepper_rigid(perp_ctx *ctx, const perp_model *model, const char *formulation)
{
  for (int i = 0; i < model->m; i++)
    if (model->soft.softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation %s does not support joints with softness: use rigid joints, or "
                       "--formulation velocity",
                       formulation);
  return PERP_OK;
}

/* ---- a step ---- */

static void stepper_begin(perp_ctx *ctx, perp_stepper *s, perp_step_info *info)
{
  s->k.ctx = ctx;
  s->k.status = PERP_OK;
  s->k.reason = PERP_EXACT;
  info->reason = PERP_EXACT;
}

/* The step is one, and ends at `end`. */
static void stepper_take(perp_stepper *s, double end)
{
  memcpy(s->q, s->q1, (size_t)s->k.model->nq * sizeof *s->q);
  memcpy(s->v, s->v1, (size_t)s->k.model->nv * sizeof *s->v);
  if (s->keep != NULL) s->keep(s);
  perp_time_grid_accept(&s->grid, end);
}

static void stepper_report(perp_stepper *s, double start, perp_step_info *info)
{
  perp_constrained *k = &s->k;
  k->spent.step += perp_constrained_clock(k) - start;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  info->lambda = s->lambda;
  info->drive = k->model->n_drives > 0 ? s->servo : NULL;
}

perp_status perp_stepper_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_stepper *s = ws;
  const double end = perp_time_grid_next(&s->grid, t_max), start = perp_constrained_clock(&s->k);
  stepper_begin(ctx, s, info);
  if (end > s->grid.t) {
    info->reason = s->make_step(s, s->grid.t, end - s->grid.t);
    if (s->k.status != PERP_OK) return s->k.status;
    if (info->reason > 0) stepper_take(s, end);
  }
  stepper_report(s, start, info);
  return PERP_OK;
}

/* ---- error control ---- */

void perp_stepper_control_restart(perp_stepper_control *control, double h)
{
  control->h_next = h;
  control->speed[0] = control->speed[1] = control->last = 0;
}

void perp_stepper_judge(perp_stepper *s, perp_stepper_control *control, double h, const double *e_q,
                        const double *e_v)
{
  const perp_model *model = s->k.model;
  const double size = model->size > 0 ? model->size : 1;
  for (int i = 0; i < model->nv; i++) {
    double *most = &control->speed[i % model->nvb >= model->dim];
    *most = fmax(*most, fmax(fabs(s->v[i]), fabs(s->v1[i])));
  }
  double sum = 0;
  for (int i = 0; i < model->nv; i++) {
    const bool turns = i % model->nvb >= model->dim;
    const double reach = turns ? 1 : size;
    const double speed = fmax(control->speed[turns], 1e-3 * reach / h);
    const double q = e_q[i] / reach, v = e_v[i] / speed;
    sum += (q * q + v * v) / (2 * model->nv);
  }
  s->error = sqrt(sum) / control->tol;
}

/* Of the next step, by the error of this one of h and of the one before. */
static double stepper_next(perp_stepper_control *control, double h, double error, bool refused)
{
  static const double safety = 0.9, shrink = 0.2, grow = 5;
  const double e = fmax(error, 1e-10), k = control->order + 1;
  double by = safety * pow(e, -0.7 / k);
  if (error >= 1) return h * fmax(shrink, fmin(0.9, safety * pow(e, -1 / k)));
  if (control->last > 0) by *= pow(control->last, 0.4 / k);
  control->last = fmax(e, 1e-4);
  return h * fmax(shrink, fmin(refused ? 1 : grow, by));
}

static perp_reason stepper_adaptive(perp_stepper *s, perp_stepper_control *control, double t_max)
{
  enum { REFUSALS = 100 };
  perp_time_grid *grid = &s->grid;
  bool refused = false;
  for (int i = 0; i < REFUSALS; i++) {
    const double left = t_max - grid->t;
    double h = fmin(control->h_next, control->h_max);
    const bool last = left <= h * (1 + 1e-12);
    if (last)
      h = left;
    else if (left < 2 * h)
      h = left / 2;
    const bool cut = h < control->h_next;
    const double end = last ? t_max : grid->t + h;
    if (!(end > grid->t)) return PERP_STEP_TOO_SMALL;
    const perp_reason reason = s->make_step(s, grid->t, h);
    if (s->k.status != PERP_OK) return reason;
    if (reason > 0 && s->error < 1) {
      double next = stepper_next(control, h, s->error, refused);
      if (next > h && next < control->keep * h) next = h;
      control->h_next = cut ? fmax(next, control->h_next) : next;
      stepper_take(s, end);
      return PERP_EXACT;
    }
    grid->count.rejected++;
    refused = true;
    control->h_next = reason < 0 || isnan(s->error) ? h / 4
                                                    : stepper_next(control, h, s->error, true);
    if (control->h_next < control->h_min) return reason < 0 ? reason : PERP_STEP_TOO_SMALL;
    s->k.reason = PERP_EXACT;
  }
  return PERP_STALLED;
}

perp_status perp_stepper_controlled(perp_ctx *ctx, void *ws, perp_stepper_control *control,
                                    double t_max, perp_step_info *info)
{
  perp_stepper *s = ws;
  if (control->tol == 0) return perp_stepper_step(ctx, ws, t_max, info);
  const double start = perp_constrained_clock(&s->k);
  stepper_begin(ctx, s, info);
  if (t_max > s->grid.t) {
    info->reason = stepper_adaptive(s, control, t_max);
    if (s->k.status != PERP_OK) return s->k.status;
  }
  stepper_report(s, start, info);
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
