/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All of a scheme but its step: memory, the grid of times, what it reports. */
#include "models/formulations/schemes/scheme.h"
#include "models/contact/step/contacts.h"

#include <stdlib.h>
#include <string.h>

enum { TWO_BODIES = 2 };

void perp_scheme_layout(void *ws, perp_arena *a)
{
  perp_scheme *s = ws;
  const perp_model *model = s->model;
  perp_eval_layout(&s->e, model, a);
  PERP_DOUBLES(a, model->nq, &s->q, &s->q1, &s->moved);
  PERP_DOUBLES(a, model->nv, &s->v, &s->v1, &s->f);
  PERP_DOUBLES(a, model->m, &s->Ct, &s->lambda, &s->joint_p, &s->joint_k);
  PERP_DOUBLES(a, 3 * (size_t)model->n_drives, &s->drive_p, &s->drive_k);
  PERP_DOUBLES(a, model->n_drives, &s->force);
  PERP_DOUBLES(a, model->n_bodies, &s->reach);
}

/* rows are between two bodies */
static perp_status scheme_serves(perp_ctx *ctx, const perp_model *model, const char *name)
{
  char label[PERP_LABEL_MAX];
  for (int i = 0; i < model->n_joints; i++)
    if (model->joint[i].n_bodies > TWO_BODIES)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation %s: %s has %d bodies, but rows connect two at most; use "
                       "--formulation velocity",
                       name, perp_model_label(label, "joint", i, model->joint_def[i].name),
                       model->joint[i].n_bodies);
  return PERP_OK;
}

perp_status perp_scheme_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               double h, perp_scheme *like, size_t size, perp_layout_fn *layout,
                               void **ws)
{
  *ws = NULL;
  like->model = model;
  like->name = parts->formulation.d->name;
  like->grid.h = h;
  PERP_TRY(scheme_serves(ctx, model, like->name));
  PERP_TRY(perp_workspace_create(ctx, like->name, like, size, layout, ws));
  perp_scheme *s = *ws;
  perp_eval_init(&s->e, model);
  perp_contacts_reach(model, s->reach);
  perp_status status = PERP_OK;
  if (model->n_shapes > 0) status = perp_collision_create(ctx, model, 0, &s->collision);
  if (status == PERP_OK) status = perp_scheme_reserve(ctx, s, 4 * model->n_shapes);
  if (status == PERP_OK) return PERP_OK;
  perp_scheme_destroy(s);
  *ws = NULL;
  return status;
}

void perp_scheme_destroy(void *ws)
{
  perp_scheme *s = ws;
  if (s == NULL) return;
  perp_collision_destroy(s->collision);
  perp_arena_free(&s->grown);
  free(s);
}

perp_status perp_scheme_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  perp_scheme *s = ws;
  const perp_model *model = s->model;
  memcpy(s->q, q, (size_t)model->nq * sizeof *q);
  memcpy(s->v, v, (size_t)model->nv * sizeof *v);
  memset(s->lambda, 0, (size_t)model->m * sizeof *s->lambda);
  memset(s->force, 0, (size_t)model->n_drives * sizeof *s->force);
  memset(s->joint_p, 0, (size_t)model->m * sizeof *s->joint_p);
  memset(s->drive_p, 0, 3 * (size_t)model->n_drives * sizeof *s->drive_p);
  memset(s->joint_k, 0, (size_t)model->m * sizeof *s->joint_k);
  memset(s->drive_k, 0, 3 * (size_t)model->n_drives * sizeof *s->drive_k);
  s->h_before = s->drift = 0;
  s->n_memory = s->n_contacts = s->n = 0;
  s->known = false;
  s->status = PERP_OK;
  s->count = (perp_contact_count){ .residual = (double)NAN, .data = (double)NAN };
  s->step_s = s->assembly_s = s->collision_s = 0;
  perp_time_grid_restart(&s->grid, t);
  return perp_constrained_check_start(ctx, model, s->q, s->v);
}

static double scheme_now(const perp_scheme *s)
{
  return s->timing ? perp_clock_wall() : 0;
}

/* The state at the end is the state; what is off there. */
static void scheme_accept(perp_scheme *s, double end)
{
  const perp_model *model = s->model;
  memcpy(s->q, s->q1, (size_t)model->nq * sizeof *s->q);
  memcpy(s->v, s->v1, (size_t)model->nv * sizeof *s->v);
  perp_time_grid_accept(&s->grid, end);
  const double start = scheme_now(s);
  perp_eval_at(&s->e, model, end, s->q);
  s->assembly_s += scheme_now(s) - start;
  s->known = true;
  s->drift = 0;
  for (int i = 0; i < model->m; i++)
    if (!perp_row_springs(model, i)) s->drift = fmax(s->drift, fabs(s->e.C[i]));
}

perp_status perp_scheme_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_scheme *s = ws;
  const perp_model *model = s->model;
  const double begun = scheme_now(s), end = perp_time_grid_next(&s->grid, t_max);
  s->ctx = ctx;
  s->status = PERP_OK;
  info->reason = PERP_EXACT;
  if (end > s->grid.t) {
    s->grid.count.rhs++;
    info->reason = s->step(s, s->grid.t, end - s->grid.t);
    if (s->status != PERP_OK) return s->status;
    if (info->reason > 0 &&
        !(perp_all_finite(model->nq, s->q1) && perp_all_finite(model->nv, s->v1)))
      info->reason = PERP_NOT_FINITE;
    if (info->reason > 0)
      scheme_accept(s, end);
    else
      s->known = false;
  }
  s->step_s += scheme_now(s) - begun;
  info->drift_pos_pre = s->drift;
  info->lambda = s->lambda;
  info->drive = model->n_drives > 0 ? s->force : NULL;
  info->n_contacts = s->n_contacts;
  info->contacts = s->n_contacts > 0 ? s->found : NULL;
  info->impulse = s->n_contacts > 0 ? s->impulse : NULL;
  return PERP_OK;
}

void perp_scheme_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_scheme *s = ws;
  *t = s->grid.t;
  *q = s->q;
  *v = s->v;
}

void perp_scheme_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_scheme *s = ws;
  if (ode != NULL) *ode = s->grid.count;
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

void perp_scheme_timing(void *ws, bool on, perp_times *times)
{
  perp_scheme *s = ws;
  if (times != NULL)
    *times = (perp_times){ .collision = s->collision_s,
                           .assembly = s->assembly_s,
                           .integrate = s->step_s - s->assembly_s - s->collision_s };
  s->timing = on;
}

const perp_contact_count *perp_scheme_contacts(const void *ws)
{
  const perp_scheme *s = ws;
  return s->model->m > 0 || s->model->n_drives > 0 || s->collision != NULL ? &s->count : NULL;
}

void perp_scheme_observe(void *ws, perp_contact_observer *observer, void *user)
{
  (void)ws, (void)observer, (void)user; /* no complementarity problems are made */
}
