/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/stepper.h"
#include "models/multibody/servos.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

void perp_stepper_layout(perp_stepper *stepper, perp_arena *arena)
{
  const perp_model *model = stepper->k.model;
  perp_constrained_layout(&stepper->k, model, arena);
  PERP_DOUBLES(arena, model->nq, &stepper->q, &stepper->q1);
  PERP_DOUBLES(arena, model->nv, &stepper->v, &stepper->v1);
  PERP_DOUBLES(arena, model->m, &stepper->lambda);
  PERP_DOUBLES(arena, model->n_drives, &stepper->servo);
}

void perp_stepper_forces(perp_stepper *stepper, double t, const double *v, double *f)
{
  perp_eval_forces(stepper->k.e, stepper->k.model, t, v, true, f);
  perp_servos_apply(stepper->k.model, stepper->k.e, t, v, NULL, f);
}

void perp_stepper_servos(perp_stepper *stepper, double t, const double *q, const double *v)
{
  if (stepper->k.model->n_drives == 0) return;
  perp_constrained_at(&stepper->k, t, q);
  perp_servos_apply(stepper->k.model, stepper->k.e, t, v, stepper->servo, stepper->k.f);
}

bool perp_stepper_accelerate(perp_stepper *stepper, double t, double h, const double *q,
                             const double *v)
{
  perp_constrained *system = &stepper->k;
  perp_constrained_at(system, t, q);
  stepper->grid.count.rhs++;
  perp_stepper_forces(stepper, t, v, system->f);
  perp_joints_bias(system->model, system->e, v, system->c);
  for (int i = 0; i < system->model->m; i++) system->c[i] = -system->c[i];
  return perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, h, v);
}

/* Corrections of positions, and what of the size may be left where they no longer fall. */
enum { PROJECTIONS = 20 };
static const double ROUNDED = 1e-12;

bool perp_stepper_project(perp_stepper *stepper, double t, double h, double *q, double *v)
{
  perp_constrained *system = &stepper->k;
  const perp_model *model = system->model;
  if (model->m == 0) return true;
  double last = HUGE_VAL;
  for (int pass = 0;; pass++) {
    perp_constrained_at(system, t, q);
    perp_constrained_error(system, system->c);
    const double worst = perp_worst(model->m, system->c);
    if (worst <= 4 * DBL_EPSILON * model->size) break;
    if (pass == PROJECTIONS ||
        !(worst < 0.9 * last)) { /* rounding, or beside a singular position */
      if (worst <= ROUNDED * model->size) break;
      system->reason = PERP_MAX_ITER;
      return false;
    }
    last = worst;
    for (int i = 0; i < model->m; i++) system->c[i] = -system->c[i];
    memcpy(system->f, system->zeros, (size_t)model->nv * sizeof *system->f);
    if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, h, v)) return false;
    perp_model_retract(model, q, system->a, q);
  }
  perp_constrained_at(system, t, q);
  perp_constrained_rate(system, v, system->c);
  for (int i = 0; i < model->m; i++) system->c[i] = -system->c[i];
  memcpy(system->f, system->zeros, (size_t)model->nv * sizeof *system->f);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, h, v)) return false;
  for (int i = 0; i < model->nv; i++) v[i] += system->a[i];
  return true;
}

void perp_stepper_destroy(void *ws)
{
  if (ws == NULL) return;
  perp_constrained_destroy(&((perp_stepper *)ws)->k);
  free(ws);
}

perp_status perp_stepper_constrained(perp_ctx *ctx, perp_constrained *system,
                                     const perp_model *model, const perp_parts *parts)
{
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  return perp_constrained_create(ctx, system, model, &with, false);
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
  perp_stepper *stepper = ws;
  const perp_model *model = stepper->k.model;
  perp_constrained_restart(&stepper->k);
  stepper->k.ctx = ctx;
  memset(stepper->lambda, 0, (size_t)model->m * sizeof *stepper->lambda);
  memset(stepper->servo, 0, (size_t)model->n_drives * sizeof *stepper->servo);
  memcpy(stepper->q, q, (size_t)model->nq * sizeof *q);
  memcpy(stepper->v, v, (size_t)model->nv * sizeof *v);
  perp_time_grid_restart(&stepper->grid, t);
  return perp_constrained_check_start(ctx, model, stepper->q, stepper->v);
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

static void stepper_begin(perp_ctx *ctx, perp_stepper *stepper, perp_step_info *info)
{
  stepper->k.ctx = ctx;
  stepper->k.status = PERP_OK;
  stepper->k.reason = PERP_EXACT;
  info->reason = PERP_EXACT;
}

/* The step is one, and ends at `end`. */
static void stepper_take(perp_stepper *stepper, double end)
{
  memcpy(stepper->q, stepper->q1, (size_t)stepper->k.model->nq * sizeof *stepper->q);
  memcpy(stepper->v, stepper->v1, (size_t)stepper->k.model->nv * sizeof *stepper->v);
  if (stepper->keep != NULL) stepper->keep(stepper);
  perp_time_grid_accept(&stepper->grid, end);
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
  perp_stepper *stepper = ws;
  const double end = perp_time_grid_next(&stepper->grid, t_max),
               start = perp_constrained_clock(&stepper->k);
  stepper_begin(ctx, stepper, info);
  if (end > stepper->grid.t) {
    info->reason = stepper->make_step(stepper, stepper->grid.t, end - stepper->grid.t);
    if (stepper->k.status != PERP_OK) return stepper->k.status;
    if (info->reason > 0) stepper_take(stepper, end);
  }
  stepper_report(stepper, start, info);
  return PERP_OK;
}

/* ---- error control ---- */

void perp_stepper_control_restart(perp_stepper_control *control, double h)
{
  control->h_next = h;
  control->speed[0] = control->speed[1] = control->last = 0;
}

void perp_stepper_judge(perp_stepper *stepper, perp_stepper_control *control, double h,
                        const double *e_q, const double *e_v)
{
  const perp_model *model = stepper->k.model;
  const double size = model->size > 0 ? model->size : 1;
  for (int i = 0; i < model->nv; i++) {
    double *most = &control->speed[i % model->nvb >= model->dim];
    *most = fmax(*most, fmax(fabs(stepper->v[i]), fabs(stepper->v1[i])));
  }
  double sum = 0;
  for (int i = 0; i < model->nv; i++) {
    const bool turns = i % model->nvb >= model->dim;
    const double reach = turns ? 1 : size;
    const double speed = fmax(control->speed[turns], 1e-3 * reach / h);
    const double q = e_q[i] / reach, v = e_v[i] / speed;
    sum += (q * q + v * v) / (2 * model->nv);
  }
  stepper->error = sqrt(sum) / control->tol;
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

static perp_reason stepper_adaptive(perp_stepper *stepper, perp_stepper_control *control,
                                    double t_max)
{
  enum { REFUSALS = 100 };
  perp_time_grid *grid = &stepper->grid;
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
    const perp_reason reason = stepper->make_step(stepper, grid->t, h);
    if (stepper->k.status != PERP_OK) return reason;
    if (reason > 0 && stepper->error < 1) {
      double next = stepper_next(control, h, stepper->error, refused);
      if (next > h && next < control->keep * h) next = h;
      control->h_next = cut ? fmax(next, control->h_next) : next;
      stepper_take(stepper, end);
      return PERP_EXACT;
    }
    grid->count.rejected++;
    refused = true;
    control->h_next = reason < 0 || isnan(stepper->error)
                          ? h / 4
                          : stepper_next(control, h, stepper->error, true);
    if (control->h_next < control->h_min) return reason < 0 ? reason : PERP_STEP_TOO_SMALL;
    stepper->k.reason = PERP_EXACT;
  }
  return PERP_STALLED;
}

perp_status perp_stepper_controlled(perp_ctx *ctx, void *ws, perp_stepper_control *control,
                                    double t_max, perp_step_info *info)
{
  perp_stepper *stepper = ws;
  if (control->tol == 0) return perp_stepper_step(ctx, ws, t_max, info);
  const double start = perp_constrained_clock(&stepper->k);
  stepper_begin(ctx, stepper, info);
  if (t_max > stepper->grid.t) {
    info->reason = stepper_adaptive(stepper, control, t_max);
    if (stepper->k.status != PERP_OK) return stepper->k.status;
  }
  stepper_report(stepper, start, info);
  return PERP_OK;
}

void perp_stepper_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_stepper *stepper = ws;
  *t = stepper->grid.t;
  *q = stepper->q;
  *v = stepper->v;
}

void perp_stepper_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_stepper *stepper = ws;
  if (ode != NULL) *ode = stepper->grid.count;
  if (kkt != NULL) *kkt = stepper->k.count;
}

void perp_stepper_timing(void *ws, bool on, perp_times *times)
{
  perp_constrained_timing(&((perp_stepper *)ws)->k, on, times);
}
