/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What schemes share: memory, the grid of times, reports, and the parts that steps are made of. */
#include "models/contact/step/contacts.h"
#include "models/formulations/schemes/scheme.h"

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

/* ---- parts of a step ---- */

void perp_scheme_forces(perp_scheme *s, double t, double h)
{
  const perp_model *model = s->model;
  perp_eval_impulse(&s->e, model, t, h, s->v1, s->f);
  perp_gyro_implicit(model, h, s->v1, s->f);
  perp_blocks_Minv(&s->e.blocks, s->f, s->v1);
}

void perp_scheme_move(perp_scheme *s, double h, const double *u)
{
  const perp_model *model = s->model;
  for (int i = 0; i < s->n_contacts; i++) {
    perp_scheme_row *row = &s->row[s->contact[i].row];
    row->C += h * perp_scheme_speed(s, row, u);
  }
  for (int i = 0; i < model->nv; i++) s->f[i] = h * u[i];
  perp_model_retract(model, s->q1, s->f, s->moved);
  memcpy(s->q1, s->moved, (size_t)model->nq * sizeof *s->q1);
}

void perp_scheme_bias(perp_scheme *s, double h, perp_scheme_feedback *feedback, bool bounce)
{
  for (int i = 0; i < s->n; i++) {
    perp_scheme_row *row = &s->row[i];
    row->bias = row->given;
    row->soft = row->own;
    if (row->kind == PERP_SCHEME_OWN || row->kind == PERP_SCHEME_TANGENT) continue;
    const bool one_sided = row->kind != PERP_SCHEME_JOINT;
    if (one_sided && row->C > 0)
      row->bias += row->C / h;
    else if (feedback != NULL)
      row->bias += feedback(s, row, h);
    if (bounce && one_sided && row->e > 0 && row->approach < -s->o.threshold &&
        row->C + h * perp_scheme_speed(s, row, s->v1) <= 0)
      row->bias = row->e * row->approach;
  }
}

void perp_scheme_warm(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->n; i++)
    if (s->row[i].p != 0) perp_scheme_push(s, &s->row[i], s->row[i].p, v);
}

static void scheme_solve(const perp_scheme *s, perp_scheme_row *row, double *v)
{
  const double A = row->A + row->soft;
  if (!(A > 0)) return;
  const double w = perp_scheme_speed(s, row, v) + row->soft * row->p + row->bias;
  const double p = fmin(fmax(row->p - w / A, row->lo), row->hi);
  perp_scheme_push(s, row, p - row->p, v);
  row->p = p;
}

/* M^-1-weighted product of two rows of one contact */
static double scheme_between(const perp_scheme *s, const perp_scheme_row *x,
                             const perp_scheme_row *y)
{
  double sum = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < s->model->nvb && x->body[side] >= 0; i++)
      sum += x->J[side][i] * y->W[side][i];
  return sum;
}

/* What sticks is solved for exactly, both tangents at once.  What would leave the disk slides: a
 * step p - w / a with one number a >= A for both, back onto the disk, has the fixed point p
 * against w; that of the exact step scaled would be A^-1 w, askew where bodies turn. */
static void scheme_friction(const perp_scheme *s, perp_scheme_contact *c, double *v)
{
  const bool plane = s->model->dim == 2;
  perp_scheme_row *x = &s->row[c->row + 1], *y = plane ? NULL : x + 1;
  const double bound = c->mu * s->row[c->row].p, wx = perp_scheme_speed(s, x, v) + x->bias;
  double p[2] = { x->p, plane ? 0 : y->p }, d[2] = { 0, 0 }, wy = 0, most = x->A;
  if (plane) {
    if (x->A > 0) d[0] = -wx / x->A;
  } else {
    const double off = scheme_between(s, x, y), det = x->A * y->A - off * off;
    wy = perp_scheme_speed(s, y, v) + y->bias;
    most = 0.5 * (x->A + y->A) + hypot(0.5 * (x->A - y->A), off);
    if (det > 1e-12 * x->A * y->A) {
      d[0] = (off * wy - y->A * wx) / det;
      d[1] = (off * wx - x->A * wy) / det;
    }
  }
  c->slides = hypot(p[0] + d[0], p[1] + d[1]) > bound;
  if (c->slides && most > 0) d[0] = -wx / most, d[1] = -wy / most;
  for (int k = 0; k < 2; k++) p[k] += d[k];
  const double size = hypot(p[0], p[1]);
  if (size > bound) p[0] *= bound / size, p[1] *= bound / size;
  perp_scheme_push(s, x, p[0] - x->p, v);
  x->p = p[0];
  if (plane) return;
  perp_scheme_push(s, y, p[1] - y->p, v);
  y->p = p[1];
}

/* Contacts of one pair of shapes follow each other: where those of contact i end. */
static int scheme_manifold(const perp_scheme *s, int i)
{
  const uint64_t pair = perp_contact_pair(s->found[i].id);
  do i++;
  while (i < s->n_contacts && perp_contact_pair(s->found[i].id) == pair);
  return i;
}

void perp_scheme_sweep(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->contacts; i++) scheme_solve(s, &s->row[i], v);
  for (int i = 0, end; i < s->n_contacts; i = end) {
    end = scheme_manifold(s, i);
    for (int k = i; k < end; k++) scheme_solve(s, &s->row[s->contact[k].row], v);
    for (int k = i; k < end; k++) scheme_friction(s, &s->contact[k], v);
  }
  if (s->n > 0) s->count.iterations++;
}

void perp_scheme_bounce(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->n; i++) {
    perp_scheme_row *row = &s->row[i];
    if (row->kind != PERP_SCHEME_LIMIT && row->kind != PERP_SCHEME_NORMAL) continue;
    if (!(row->e > 0) || !(row->approach < -s->o.threshold) || !(row->total > 0)) continue;
    const double p = fmax(-(perp_scheme_speed(s, row, v) + row->e * row->approach) / row->A,
                          -row->total);
    perp_scheme_push(s, row, p, v);
    row->total += p;
    row->p = fmax(0, row->p + p);
  }
}

void perp_scheme_sum(perp_scheme *s)
{
  for (int i = 0; i < s->n; i++) s->row[i].total += s->row[i].p;
}

void perp_scheme_counted(perp_scheme *s)
{
  if (s->n == 0) return;
  s->count.problems++;
  s->count.swept++;
}
