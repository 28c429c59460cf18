/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What schemes share: memory, the grid of times, reports, and the parts that steps are made of. */
#include "models/contact/step/contacts.h"
#include "models/formulations/schemes/scheme.h"

#include <stdlib.h>
#include <string.h>

enum { TWO_BODIES = 2 };

const char *const perp_scheme_orders[] = { "forward", "coloured", NULL };

void perp_scheme_layout(void *ws, perp_arena *arena)
{
  perp_scheme *scheme = ws;
  const perp_model *model = scheme->model;
  perp_eval_layout(&scheme->e, model, arena);
  PERP_DOUBLES(arena, model->nq, &scheme->q, &scheme->q1, &scheme->moved);
  PERP_DOUBLES(arena, model->nv, &scheme->v, &scheme->v1, &scheme->f);
  PERP_DOUBLES(arena, model->m, &scheme->Ct, &scheme->lambda, &scheme->guess.joint,
               &scheme->guess.joint_k);
  PERP_DOUBLES(arena, 3 * (size_t)model->n_drives, &scheme->guess.drive, &scheme->guess.drive_k);
  PERP_DOUBLES(arena, model->n_drives, &scheme->force);
  PERP_DOUBLES(arena, model->n_bodies, &scheme->reach);
  scheme->body = PERP_CARVE(arena, perp_scheme_body, model->n_bodies + 1);
  scheme->coloured.used = PERP_CARVE(arena, uint64_t, model->n_bodies + 1);
}

/* rows are between two bodies */
static perp_status scheme_serves(perp_ctx *ctx, const perp_model *model, const char *name)
{
  char label[PERP_LABEL_MAX];
  for (int joint = 0; joint < model->n_joints; joint++)
    if (model->joint[joint].n_bodies > TWO_BODIES)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation %s: %s has %d bodies, but rows connect two at most; use "
                       "--formulation velocity",
                       name, perp_model_label(label, "joint", joint, model->joint_def[joint].name),
                       model->joint[joint].n_bodies);
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
  perp_scheme *scheme = *ws;
  perp_eval_init(&scheme->e, model);
  perp_contacts_reach(model, scheme->reach);
  perp_scheme_bodies(scheme);
  perp_status status = PERP_OK;
  if (model->n_shapes > 0) status = perp_collision_create(ctx, model, 0, &scheme->collision);
  if (status == PERP_OK && like->o.order == PERP_SCHEME_COLOURED)
    status = perp_scheme_lanes_create(ctx, scheme);
  if (status == PERP_OK) status = perp_scheme_reserve(ctx, scheme, 4 * model->n_shapes);
  if (status == PERP_OK) return PERP_OK;
  perp_scheme_destroy(scheme);
  *ws = NULL;
  return status;
}

void perp_scheme_destroy(void *ws)
{
  perp_scheme *scheme = ws;
  if (scheme == NULL) return;
  perp_collision_destroy(scheme->collision);
  perp_scheme_lanes_free(scheme);
  perp_arena_free(&scheme->grown);
  free(scheme);
}

perp_status perp_scheme_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  perp_scheme *scheme = ws;
  const perp_model *model = scheme->model;
  memcpy(scheme->q, q, (size_t)model->nq * sizeof *q);
  memcpy(scheme->v, v, (size_t)model->nv * sizeof *v);
  memset(scheme->lambda, 0, (size_t)model->m * sizeof *scheme->lambda);
  memset(scheme->force, 0, (size_t)model->n_drives * sizeof *scheme->force);
  memset(scheme->guess.joint, 0, (size_t)model->m * sizeof *scheme->guess.joint);
  memset(scheme->guess.drive, 0, 3 * (size_t)model->n_drives * sizeof *scheme->guess.drive);
  memset(scheme->guess.joint_k, 0, (size_t)model->m * sizeof *scheme->guess.joint_k);
  memset(scheme->guess.drive_k, 0, 3 * (size_t)model->n_drives * sizeof *scheme->guess.drive_k);
  scheme->h_before = scheme->drift = 0;
  scheme->memory.n = scheme->n_contacts = scheme->pairs = scheme->n = 0;
  scheme->known = false;
  scheme->status = PERP_OK;
  scheme->count = (perp_contact_count){ .residual = (double)NAN, .data = (double)NAN };
  scheme->clock.step = scheme->clock.assembly = scheme->clock.collision = 0;
  perp_time_grid_restart(&scheme->grid, t);
  return perp_constrained_check_start(ctx, model, scheme->q, scheme->v);
}

static double scheme_now(const perp_scheme *scheme)
{
  return scheme->clock.on ? perp_clock_wall() : 0;
}

/* The state at the end is the state; what is off there. */
static void scheme_accept(perp_scheme *scheme, double end)
{
  const perp_model *model = scheme->model;
  memcpy(scheme->q, scheme->q1, (size_t)model->nq * sizeof *scheme->q);
  memcpy(scheme->v, scheme->v1, (size_t)model->nv * sizeof *scheme->v);
  perp_time_grid_accept(&scheme->grid, end);
  const double start = scheme_now(scheme);
  perp_eval_at(&scheme->e, model, end, scheme->q);
  scheme->clock.assembly += scheme_now(scheme) - start;
  scheme->known = true;
  scheme->drift = 0;
  for (int row = 0; row < model->m; row++)
    if (!perp_row_springs(model, row)) scheme->drift = fmax(scheme->drift, fabs(scheme->e.C[row]));
}

perp_status perp_scheme_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  perp_scheme *scheme = ws;
  const perp_model *model = scheme->model;
  const double begun = scheme_now(scheme), end = perp_time_grid_next(&scheme->grid, t_max);
  scheme->ctx = ctx;
  scheme->status = PERP_OK;
  info->reason = PERP_EXACT;
  if (end > scheme->grid.t) {
    const int threads = ctx->threads;
    scheme->grid.count.rhs++;
    ctx->threads = scheme->o.threads;
    info->reason = scheme->step(scheme, scheme->grid.t, end - scheme->grid.t);
    ctx->threads = threads;
    if (scheme->status != PERP_OK) return scheme->status;
    if (info->reason > 0 &&
        !(perp_all_finite(model->nq, scheme->q1) && perp_all_finite(model->nv, scheme->v1)))
      info->reason = PERP_NOT_FINITE;
    if (info->reason > 0)
      scheme_accept(scheme, end);
    else
      scheme->known = false;
  }
  scheme->clock.step += scheme_now(scheme) - begun;
  info->drift_pos_pre = scheme->drift;
  info->lambda = scheme->lambda;
  info->drive = model->n_drives > 0 ? scheme->force : NULL;
  info->n_contacts = scheme->n_contacts;
  info->contacts = scheme->n_contacts > 0 ? scheme->found : NULL;
  info->impulse = scheme->n_contacts > 0 ? scheme->impulse : NULL;
  return PERP_OK;
}

void perp_scheme_state(const void *ws, double *t, const double **q, const double **v)
{
  const perp_scheme *scheme = ws;
  *t = scheme->grid.t;
  *q = scheme->q;
  *v = scheme->v;
}

void perp_scheme_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const perp_scheme *scheme = ws;
  if (ode != NULL) *ode = scheme->grid.count;
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

void perp_scheme_timing(void *ws, bool on, perp_times *times)
{
  perp_scheme *scheme = ws;
  if (times != NULL)
    *times = (perp_times){ .collision = scheme->clock.collision,
                           .assembly = scheme->clock.assembly,
                           .integrate = scheme->clock.step - scheme->clock.assembly -
                                        scheme->clock.collision };
  scheme->clock.on = on;
}

const perp_contact_count *perp_scheme_contacts(const void *ws)
{
  const perp_scheme *scheme = ws;
  return scheme->model->m > 0 || scheme->model->n_drives > 0 || scheme->collision != NULL
             ? &scheme->count
             : NULL;
}

void perp_scheme_observe(void *ws, perp_contact_observer *observer, void *user)
{
  (void)ws, (void)observer, (void)user; /* no complementarity problems are made */
}

/* ---- parts of a step ---- */

void perp_scheme_forces(perp_scheme *scheme, double t, double h)
{
  const perp_model *model = scheme->model;
  perp_eval_impulse(&scheme->e, model, t, h, scheme->v1, scheme->f);
  perp_gyro_implicit(model, h, scheme->v1, scheme->f);
  perp_blocks_Minv(&scheme->e.blocks, scheme->f, scheme->v1);
}

void perp_scheme_move(perp_scheme *scheme, double h, const double *u)
{
  const perp_model *model = scheme->model;
  for (int i = scheme->contacts; i < scheme->n; i += model->dim)
    scheme->row[i].C += h * perp_scheme_speed(scheme, &scheme->row[i], u);
  if (!scheme->contact_rows) {
    perp_scheme_load(scheme, u);
    perp_scheme_contacts_move(scheme, h);
  }
  for (int i = 0; i < model->nv; i++) scheme->f[i] = h * u[i];
  perp_model_retract(model, scheme->q1, scheme->f, scheme->moved);
  memcpy(scheme->q1, scheme->moved, (size_t)model->nq * sizeof *scheme->q1);
}

/* ---- feedback ---- */

const perp_scheme_feedback perp_scheme_rigid = { .push = HUGE_VAL };

perp_scheme_feedback perp_scheme_rate(double rate)
{
  return (perp_scheme_feedback){ .rate = { rate, rate, rate, rate }, .push = HUGE_VAL };
}

perp_scheme_feedback perp_scheme_baumgarte(double h)
{
  perp_scheme_feedback feedback = perp_scheme_rate(0.2 / h);
  feedback.slop = PERP_SCHEME_SLOP;
  return feedback;
}

static void scheme_bias_rows(perp_scheme *scheme, double h, const perp_scheme_feedback *feedback,
                             bool bounce)
{
  for (int i = 0; i < scheme->contacts; i++) {
    perp_scheme_row *row = &scheme->row[i];
    row->bias = row->given;
    row->soft = row->own;
    if (row->kind == PERP_SCHEME_OWN) continue;
    const int of = row->kind == PERP_SCHEME_JOINT ? PERP_SCHEME_OF_JOINT : PERP_SCHEME_OF_LIMIT;
    if (of == PERP_SCHEME_OF_LIMIT && row->C > 0) {
      row->bias += row->C / h;
    } else {
      row->bias += perp_scheme_answer(feedback, of, row->C);
      row->soft += row->A * feedback->soft[of];
    }
    if (bounce && of == PERP_SCHEME_OF_LIMIT && row->e > 0 &&
        row->approach < -scheme->o.threshold &&
        row->C + h * perp_scheme_speed(scheme, row, scheme->v1) <= 0)
      row->bias = row->e * row->approach;
  }
}

typedef struct scheme_bias_how {
  double h;
  const perp_scheme_feedback *feedback;
  bool bounce;
} scheme_bias_how;

static void scheme_bias_part(perp_scheme *scheme, int first, int end, const void *how)
{
  const perp_scheme_feedback *feedback = ((const scheme_bias_how *)how)->feedback;
  const double h = ((const scheme_bias_how *)how)->h;
  const bool bounce = ((const scheme_bias_how *)how)->bounce;
  for (int i = first; i < end; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    const int of = pair->body[0] == 0 || pair->body[1] == 0 ? PERP_SCHEME_OF_GROUND
                                                            : PERP_SCHEME_OF_BODIES;
    for (int k = pair->first; k < pair->end; k++) {
      perp_scheme_contact *contact = &scheme->contact[k];
      const perp_scheme_gap *gap = &scheme->gap[k];
      const bool open = gap->C > 0;
      contact->bias[0] = open ? gap->C / h : perp_scheme_answer(feedback, of, gap->C);
      contact->soft = open ? 0 : gap->A * feedback->soft[of];
      const double A = gap->A + contact->soft;
      contact->inverse = A > 0 ? 1 / A : 0;
      if (bounce && gap->e > 0 && gap->approach < -scheme->o.threshold &&
          gap->C + h * perp_scheme_approach(scheme, pair, k) <= 0)
        contact->bias[0] = gap->e * gap->approach;
    }
  }
}

void perp_scheme_bias(perp_scheme *scheme, double h, const perp_scheme_feedback *feedback,
                      bool bounce)
{
  const scheme_bias_how how = { h, feedback, bounce };
  scheme_bias_rows(scheme, h, feedback, bounce);
  if (bounce) perp_scheme_load(scheme, scheme->v1);
  perp_scheme_shared(scheme, scheme_bias_part, &how);
}

/* ---- sweeps ---- */

void perp_scheme_cold(perp_scheme *scheme)
{
  for (int i = 0; i < scheme->contacts; i++) scheme->row[i].p = 0;
  for (int i = 0; i < scheme->n_contacts; i++)
    memset(scheme->contact[i].p, 0, sizeof scheme->contact[i].p);
}

static void scheme_solve(const perp_scheme *scheme, perp_scheme_row *row, double *v)
{
  const double A = row->A + row->soft;
  if (!(A > 0)) return;
  const double w = perp_scheme_speed(scheme, row, v) + row->soft * row->p + row->bias;
  const double p = fmin(fmax(row->p - w / A, row->lo), row->hi);
  perp_scheme_push(scheme, row, p - row->p, v);
  row->p = p;
}

void perp_scheme_sweep(perp_scheme *scheme, int n, bool warm, double *v)
{
  const bool alone = scheme->contacts == 0; /* contacts: velocities stay in the world */
  if (!perp_scheme_any(scheme)) return;
  for (int row = 0; row < scheme->contacts && warm; row++)
    if (scheme->row[row].p != 0) perp_scheme_push(scheme, &scheme->row[row], scheme->row[row].p, v);
  perp_scheme_load(scheme, v);
  perp_scheme_contacts_sweep(scheme, alone ? n : 0, true, warm);
  perp_scheme_store(scheme, v);
  for (int sweep = 0; sweep < n && !alone; sweep++) {
    for (int row = 0; row < scheme->contacts; row++) scheme_solve(scheme, &scheme->row[row], v);
    perp_scheme_load(scheme, v);
    perp_scheme_contacts_sweep(scheme, 1, true, false);
    perp_scheme_store(scheme, v);
  }
  scheme->count.iterations += n;
}

/* The impulse that a limit or contact gets to part at e times its approach, w its velocity. */
static double scheme_rebound(const perp_scheme *scheme, double e, double approach, double total,
                             double w, double A)
{
  if (!(e > 0) || !(approach < -scheme->o.threshold) || !(total > 0)) return 0;
  return fmax(-(w + e * approach) / A, -total);
}

void perp_scheme_bounce(perp_scheme *scheme, double *v)
{
  for (int i = 0; i < scheme->contacts; i++) {
    perp_scheme_row *row = &scheme->row[i];
    if (row->kind != PERP_SCHEME_LIMIT) continue;
    const double p = scheme_rebound(scheme, row->e, row->approach, row->total,
                                    perp_scheme_speed(scheme, row, v), row->A);
    perp_scheme_push(scheme, row, p, v);
    row->total += p;
    row->p = fmax(0, row->p + p);
  }
  perp_scheme_load(scheme, v);
  for (int i = 0; i < scheme->pairs; i++)
    for (int k = scheme->pair[i].first; k < scheme->pair[i].end; k++) {
      perp_scheme_contact *contact = &scheme->contact[k];
      perp_scheme_gap *gap = &scheme->gap[k];
      const double p = scheme_rebound(scheme, gap->e, gap->approach, gap->total[0],
                                      perp_scheme_approach(scheme, &scheme->pair[i], k), gap->A);
      if (p == 0) continue;
      perp_scheme_contact_push(scheme, &scheme->pair[i], k, p);
      gap->total[0] += p;
      contact->p[0] = fmax(0, contact->p[0] + p);
    }
  perp_scheme_store(scheme, v);
}

void perp_scheme_sum(perp_scheme *scheme)
{
  for (int i = 0; i < scheme->n; i++) scheme->row[i].total += scheme->row[i].p;
  for (int i = 0; i < scheme->n_contacts && !scheme->contact_rows; i++)
    for (int k = 0; k < 3; k++) scheme->gap[i].total[k] += scheme->contact[i].p[k];
}

void perp_scheme_counted(perp_scheme *scheme)
{
  if (!perp_scheme_any(scheme)) return;
  scheme->count.problems++;
  scheme->count.swept++;
}
