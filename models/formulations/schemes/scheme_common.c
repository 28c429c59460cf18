/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What schemes share: memory, the grid of times, reports, and the parts that steps are made of. */
#include "models/contact/step/contacts.h"
#include "models/formulations/schemes/scheme.h"

#include <stdlib.h>
#include <string.h>

enum { TWO_BODIES = 2 };

void perp_scheme_layout(void *ws, perp_arena *arena)
{
  perp_scheme *scheme = ws;
  const perp_model *model = scheme->model;
  perp_eval_layout(&scheme->e, model, arena);
  PERP_DOUBLES(arena, model->nq, &scheme->q, &scheme->q1, &scheme->moved);
  PERP_DOUBLES(arena, model->nv, &scheme->v, &scheme->v1, &scheme->f);
  PERP_DOUBLES(arena, model->m, &scheme->Ct, &scheme->lambda, &scheme->joint_p, &scheme->joint_k);
  PERP_DOUBLES(arena, 3 * (size_t)model->n_drives, &scheme->drive_p, &scheme->drive_k);
  PERP_DOUBLES(arena, model->n_drives, &scheme->force);
  PERP_DOUBLES(arena, model->n_bodies, &scheme->reach);
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
  perp_status status = PERP_OK;
  if (model->n_shapes > 0) status = perp_collision_create(ctx, model, 0, &scheme->collision);
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
  memset(scheme->joint_p, 0, (size_t)model->m * sizeof *scheme->joint_p);
  memset(scheme->drive_p, 0, 3 * (size_t)model->n_drives * sizeof *scheme->drive_p);
  memset(scheme->joint_k, 0, (size_t)model->m * sizeof *scheme->joint_k);
  memset(scheme->drive_k, 0, 3 * (size_t)model->n_drives * sizeof *scheme->drive_k);
  scheme->h_before = scheme->drift = 0;
  scheme->n_memory = scheme->n_contacts = scheme->n = 0;
  scheme->known = false;
  scheme->status = PERP_OK;
  scheme->count = (perp_contact_count){ .residual = (double)NAN, .data = (double)NAN };
  scheme->step_s = scheme->assembly_s = scheme->collision_s = 0;
  perp_time_grid_restart(&scheme->grid, t);
  return perp_constrained_check_start(ctx, model, scheme->q, scheme->v);
}

static double scheme_now(const perp_scheme *scheme)
{
  return scheme->timing ? perp_clock_wall() : 0;
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
  scheme->assembly_s += scheme_now(scheme) - start;
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
    scheme->grid.count.rhs++;
    info->reason = scheme->step(scheme, scheme->grid.t, end - scheme->grid.t);
    if (scheme->status != PERP_OK) return scheme->status;
    if (info->reason > 0 &&
        !(perp_all_finite(model->nq, scheme->q1) && perp_all_finite(model->nv, scheme->v1)))
      info->reason = PERP_NOT_FINITE;
    if (info->reason > 0)
      scheme_accept(scheme, end);
    else
      scheme->known = false;
  }
  scheme->step_s += scheme_now(scheme) - begun;
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
    *times = (perp_times){ .collision = scheme->collision_s,
                           .assembly = scheme->assembly_s,
                           .integrate = scheme->step_s - scheme->assembly_s - scheme->collision_s };
  scheme->timing = on;
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
  for (int contact = 0; contact < scheme->n_contacts; contact++) {
    perp_scheme_row *row = &scheme->row[scheme->contact[contact].row];
    row->C += h * perp_scheme_speed(scheme, row, u);
  }
  for (int i = 0; i < model->nv; i++) scheme->f[i] = h * u[i];
  perp_model_retract(model, scheme->q1, scheme->f, scheme->moved);
  memcpy(scheme->q1, scheme->moved, (size_t)model->nq * sizeof *scheme->q1);
}

double perp_scheme_baumgarte(const perp_scheme *scheme, const perp_scheme_row *row, double h)
{
  (void)scheme;
  const double C = row->kind == PERP_SCHEME_NORMAL ? fmin(0, row->C + PERP_SCHEME_SLOP) : row->C;
  return 0.2 * C / h;
}

void perp_scheme_bias(perp_scheme *scheme, double h, perp_scheme_feedback *feedback, bool bounce)
{
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    row->bias = row->given;
    row->soft = row->own;
    if (row->kind == PERP_SCHEME_OWN || row->kind == PERP_SCHEME_TANGENT) continue;
    const bool one_sided = row->kind != PERP_SCHEME_JOINT;
    if (one_sided && row->C > 0)
      row->bias += row->C / h;
    else if (feedback != NULL)
      row->bias += feedback(scheme, row, h);
    if (bounce && one_sided && row->e > 0 && row->approach < -scheme->o.threshold &&
        row->C + h * perp_scheme_speed(scheme, row, scheme->v1) <= 0)
      row->bias = row->e * row->approach;
  }
}

void perp_scheme_warm(perp_scheme *scheme, double *v)
{
  for (int row = 0; row < scheme->n; row++)
    if (scheme->row[row].p != 0) perp_scheme_push(scheme, &scheme->row[row], scheme->row[row].p, v);
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

/* M^-1-weighted product of two rows of one contact */
static double scheme_between(const perp_scheme *scheme, const perp_scheme_row *x,
                             const perp_scheme_row *y)
{
  double sum = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < scheme->model->nvb && x->body[side] >= 0; i++)
      sum += x->J[side][i] * y->W[side][i];
  return sum;
}

/* What sticks is solved for exactly, both tangents at once.  What would leave the disk slides: a
 * step p - w / a with one number a >= A for both, back onto the disk, has the fixed point p
 * against w; that of the exact step scaled would be A^-1 w, askew where bodies turn. */
static void scheme_friction(const perp_scheme *scheme, perp_scheme_contact *contact, double *v)
{
  const bool plane = scheme->model->dim == 2;
  perp_scheme_row *x = &scheme->row[contact->row + 1], *y = plane ? NULL : x + 1;
  const double bound = contact->mu * scheme->row[contact->row].p,
               wx = perp_scheme_speed(scheme, x, v) + x->bias;
  double p[2] = { x->p, plane ? 0 : y->p }, d[2] = { 0, 0 }, wy = 0, most = x->A;
  if (plane) {
    if (x->A > 0) d[0] = -wx / x->A;
  } else {
    const double off = scheme_between(scheme, x, y), det = x->A * y->A - off * off;
    wy = perp_scheme_speed(scheme, y, v) + y->bias;
    most = 0.5 * (x->A + y->A) + hypot(0.5 * (x->A - y->A), off);
    if (det > 1e-12 * x->A * y->A) {
      d[0] = (off * wy - y->A * wx) / det;
      d[1] = (off * wx - x->A * wy) / det;
    }
  }
  contact->slides = hypot(p[0] + d[0], p[1] + d[1]) > bound;
  if (contact->slides && most > 0) d[0] = -wx / most, d[1] = -wy / most;
  for (int k = 0; k < 2; k++) p[k] += d[k];
  const double size = hypot(p[0], p[1]);
  if (size > bound) p[0] *= bound / size, p[1] *= bound / size;
  perp_scheme_push(scheme, x, p[0] - x->p, v);
  x->p = p[0];
  if (plane) return;
  perp_scheme_push(scheme, y, p[1] - y->p, v);
  y->p = p[1];
}

/* Contacts of one pair of shapes follow each other: where those of contact i end. */
static int scheme_manifold(const perp_scheme *scheme, int i)
{
  const uint64_t pair = perp_contact_pair(scheme->found[i].id);
  do i++;
  while (i < scheme->n_contacts && perp_contact_pair(scheme->found[i].id) == pair);
  return i;
}

void perp_scheme_sweep(perp_scheme *scheme, double *v)
{
  for (int contact = 0; contact < scheme->contacts; contact++)
    scheme_solve(scheme, &scheme->row[contact], v);
  for (int contact = 0, end; contact < scheme->n_contacts; contact = end) {
    end = scheme_manifold(scheme, contact);
    for (int k = contact; k < end; k++)
      scheme_solve(scheme, &scheme->row[scheme->contact[k].row], v);
    for (int k = contact; k < end; k++) scheme_friction(scheme, &scheme->contact[k], v);
  }
  if (scheme->n > 0) scheme->count.iterations++;
}

void perp_scheme_bounce(perp_scheme *scheme, double *v)
{
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    if (row->kind != PERP_SCHEME_LIMIT && row->kind != PERP_SCHEME_NORMAL) continue;
    if (!(row->e > 0) || !(row->approach < -scheme->o.threshold) || !(row->total > 0)) continue;
    const double p = fmax(-(perp_scheme_speed(scheme, row, v) + row->e * row->approach) / row->A,
                          -row->total);
    perp_scheme_push(scheme, row, p, v);
    row->total += p;
    row->p = fmax(0, row->p + p);
  }
}

void perp_scheme_sum(perp_scheme *scheme)
{
  for (int i = 0; i < scheme->n; i++) scheme->row[i].total += scheme->row[i].p;
}

void perp_scheme_counted(perp_scheme *scheme)
{
  if (scheme->n == 0) return;
  scheme->count.problems++;
  scheme->count.swept++;
}
