/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/motors.h"

#include "models/multibody/model_private.h"

#include <lapacke.h>
#include <string.h>

static bool motors_is(const perp_drive_def *def)
{
  return isinf(def->max_force) && !perp_drive_is_servo(def);
}

int perp_motors_count(const perp_model *model)
{
  int n = 0;
  for (int drive = 0; drive < model->n_drives; drive++) n += motors_is(&model->drive_def[drive]);
  return n;
}

void perp_motors_layout(perp_motors *motors, const perp_model *model, perp_arena *arena)
{
  const int n = motors->n;
  PERP_INTS(arena, n, &motors->drive, &motors->pivot);
  PERP_DOUBLES(arena, n, &motors->force);
  PERP_DOUBLES(arena, n * model->nv, &motors->Y);
  PERP_DOUBLES(arena, n * model->m, &motors->mult);
  PERP_DOUBLES(arena, n * n, &motors->A);
  PERP_DOUBLES(arena, model->nv, &motors->f);
  PERP_DOUBLES(arena, model->m, &motors->c);
}

void perp_motors_find(perp_motors *motors, const perp_model *model)
{
  int n = 0;
  for (int i = 0; i < model->n_drives && n < motors->n; i++)
    if (motors_is(&model->drive_def[i])) motors->drive[n++] = i;
}

/* f += y J' */
static void motors_row(const perp_model *model, const perp_eval *eval, int i, double y, double *f)
{
  double Ja[6], Jb[6];
  perp_drive_row(model, eval, i, Ja, Jb);
  perp_drive_push(model, i, Ja, Jb, y, f);
}

static double motors_product(const perp_model *model, const perp_eval *eval, int i, const double *v)
{
  double Ja[6], Jb[6];
  perp_drive_row(model, eval, i, Ja, Jb);
  return perp_drive_product(model, i, Ja, Jb, v);
}

void perp_motors_push(const perp_motors *motors, const perp_model *model, const perp_eval *eval,
                      double factor, const double *p, double *f)
{
  for (int k = 0; k < motors->n; k++) motors_row(model, eval, motors->drive[k], factor * p[k], f);
}

void perp_motors_slip(const perp_motors *motors, const perp_model *model, const perp_eval *eval,
                      double t, const double *v, double *slip)
{
  for (int k = 0; k < motors->n; k++)
    slip[k] = motors_product(model, eval, motors->drive[k], v) -
              perp_drive_velocity(model, motors->drive[k], t, NULL);
}

/* motors->force: what gives J x the values in it, with Y and mult of these. */
static bool motors_solve(perp_motors *motors, perp_constrained *system)
{
  const perp_model *model = system->model;
  const int n = motors->n, nv = model->nv;
  memset(motors->c, 0, (size_t)model->m * sizeof *motors->c);
  for (int i = 0; i < n; i++) {
    memset(motors->f, 0, (size_t)nv * sizeof *motors->f);
    motors_row(model, system->e, motors->drive[i], 1, motors->f);
    if (!perp_constrained_response(system, motors->f, motors->c, motors->Y + (size_t)i * (size_t)nv,
                                   motors->mult + (size_t)i * (size_t)model->m))
      return false;
    for (int j = 0; j < n; j++)
      motors->A[j + i * n] = motors_product(model, system->e, motors->drive[j],
                                            motors->Y + (size_t)i * (size_t)nv);
  }
  if (LAPACKE_dgesv_work(LAPACK_COL_MAJOR, n, 1, motors->A, n, motors->pivot, motors->force, n) ==
      0)
    return true;
  system->reason = PERP_SINGULAR;
  return false;
}

bool perp_motors_accelerate(perp_motors *motors, perp_constrained *k, double t, const double *v)
{
  const perp_model *model = k->model;
  if (motors->n == 0) return true;
  for (int i = 0; i < motors->n; i++) {
    double rate;
    perp_drive_velocity(model, motors->drive[i], t, &rate);
    motors->force[i] = rate - perp_drive_bias(model, k->e, motors->drive[i], v) -
                       motors_product(model, k->e, motors->drive[i], k->a);
  }
  if (!motors_solve(motors, k)) return false;
  for (int i = 0; i < motors->n; i++) {
    const double *y = motors->Y + (size_t)i * (size_t)model->nv,
                 *mult = motors->mult + (size_t)i * (size_t)model->m;
    for (int j = 0; j < model->nv; j++) k->a[j] += motors->force[i] * y[j];
    for (int j = 0; j < model->m; j++) k->lambda[j] += motors->force[i] * mult[j];
  }
  return true;
}

bool perp_motors_start(perp_motors *motors, perp_constrained *system, double t, double *v)
{
  const perp_model *model = system->model;
  if (motors->n == 0) return true;
  perp_motors_slip(motors, model, system->e, t, v, motors->force);
  for (int i = 0; i < motors->n; i++) motors->force[i] = -motors->force[i];
  if (!motors_solve(motors, system)) return false;
  for (int i = 0; i < motors->n; i++)
    for (int j = 0; j < model->nv; j++)
      v[j] += motors->force[i] * motors->Y[(size_t)i * (size_t)model->nv + (size_t)j];
  return true;
}
