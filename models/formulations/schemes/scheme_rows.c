/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a step: of drives, joints and, where a scheme asks for it, contacts, with the
 * impulses of the step before. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

enum { MOTOR, LOWER, UPPER, SLOTS };

static const double NEAR =
    1e-6; /* of the size of the model: contacts that are looked for at rest */

/* ---- memory ---- */

static int scheme_fixed(const perp_scheme *scheme)
{
  return SLOTS * scheme->model->n_drives + scheme->model->m;
}

static void scheme_layout_grown(void *ws, perp_arena *arena)
{
  perp_scheme *scheme = ws;
  const int rows = scheme->contact_rows ? scheme->model->dim * scheme->cap : 0;
  scheme->row = PERP_CARVE(arena, perp_scheme_row, scheme_fixed(scheme) + rows);
  scheme->slot = PERP_CARVE(arena, int, scheme_fixed(scheme));
  scheme->contact = PERP_CARVE(arena, perp_scheme_contact, scheme->cap);
  scheme->gap = PERP_CARVE(arena, perp_scheme_gap, scheme->cap);
  scheme->pair = PERP_CARVE(arena, perp_scheme_pair, scheme->cap);
  scheme->coloured.order = PERP_CARVE(arena, int, 2 * (size_t)scheme->cap);
  scheme->tie = PERP_CARVE(arena, perp_scheme_tie, 3 * (size_t)scheme->cap / 2);
  scheme->memory.now = PERP_CARVE(arena, perp_scheme_memory, scheme->cap);
  scheme->memory.next = PERP_CARVE(arena, perp_scheme_memory, scheme->cap);
  scheme->impulse = PERP_CARVE(arena, double, 3 * (size_t)scheme->cap);
}

perp_status perp_scheme_reserve(perp_ctx *ctx, perp_scheme *scheme, int n)
{
  if (n <= scheme->cap && scheme->contact != NULL) return PERP_OK;
  perp_arena old = scheme->grown;
  const perp_scheme_memory *memory = scheme->memory.now;
  scheme->grown = (perp_arena){ 0 };
  scheme->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &scheme->grown, scheme_layout_grown, scheme);
  if (status != PERP_OK) scheme->cap = scheme->memory.n = 0, scheme->contact = NULL;
  if (scheme->memory.n > 0)
    memcpy(scheme->memory.now, memory, (size_t)scheme->memory.n * sizeof *memory);
  perp_arena_free(&old);
  return status;
}

/* ---- one row ---- */

/* W and A from J */
static void scheme_masses(const perp_scheme *scheme, perp_scheme_row *row)
{
  const int dim = scheme->model->dim;
  row->A = 0;
  for (int side = 0; side < 2; side++) {
    double *W = row->W[side];
    const double *J = row->J[side];
    if (row->body[side] < 0) continue;
    const perp_inertia *in = &scheme->model->inertia[row->body[side]];
    for (int i = 0; i < dim; i++) W[i] = J[i] / in->mass;
    if (dim == 3)
      perp_sym_mul(in->Iinv, J + 3, W + 3);
    else
      W[2] = J[2] * in->Iinv[8];
    for (int i = 0; i < scheme->model->nvb; i++) row->A += J[i] * W[i];
  }
}

static double scheme_clamp(const perp_scheme_row *row, double p)
{
  return fmin(fmax(p, row->lo), row->hi);
}

/* ---- drives ---- */

/* bias and softness of a motor or servo in a step h that begins at t, x its coordinate */
static void scheme_motor(const perp_scheme *scheme, int i, double t, double h, double x,
                         perp_scheme_row *row)
{
  const perp_drive_def *def = &scheme->model->drive_def[i];
  const double k = def->stiffness, d = def->damping;
  double velocity;
  const double error = perp_drive_error(scheme->model, &scheme->e, i, x, t + h, &velocity);
  row->C = 0;
  row->given = -velocity;
  if (k > 0 || d > 0) {
    row->own = 1 / (h * (h * k + d));
    row->given = (k * error - d * velocity) / (h * k + d);
  }
  row->hi = h * def->max_force;
  row->lo = -row->hi;
}

/* The row of a slot, sign and all; false: there is none. */
static bool scheme_drive(const perp_scheme *scheme, int drive, int slot, double t, double h,
                         perp_scheme_row *row)
{
  const perp_model *model = scheme->model;
  const perp_drive_def *def = &model->drive_def[drive];
  const bool locked = def->lower == def->upper;
  if (slot == MOTOR && !(def->max_force > 0)) return false;
  if (slot == LOWER && def->lower == -HUGE_VAL) return false;
  if (slot == UPPER && (def->upper == HUGE_VAL || locked)) return false;
  row->body[0] = model->drive[drive].a;
  row->body[1] = model->drive[drive].b;
  memset(row->J, 0, sizeof row->J);
  const double x = perp_drive_row(model, &scheme->e, drive, row->J[0], row->J[1]);
  row->own = row->given = 0;
  if (slot == MOTOR) {
    row->kind = PERP_SCHEME_OWN;
    scheme_motor(scheme, drive, t, h, x, row);
  } else {
    row->kind = locked ? PERP_SCHEME_JOINT : PERP_SCHEME_LIMIT;
    row->C = slot == LOWER ? x - def->lower : def->upper - x;
    row->lo = locked ? -HUGE_VAL : 0;
    row->hi = HUGE_VAL;
    row->e = locked ? 0 : def->restitution;
  }
  for (int side = 0; side < 2 && slot == UPPER; side++)
    for (int k = 0; k < model->nvb; k++) row->J[side][k] = -row->J[side][k];
  scheme_masses(scheme, row);
  return true;
}

/* ---- joints ---- */

/* Row k of joint i from the evaluation. */
static void scheme_joint(const perp_scheme *scheme, int i, int k, double h, perp_scheme_row *row)
{
  const perp_model *model = scheme->model;
  const perp_blocks *blocks = &scheme->e.blocks;
  const int rows = blocks->cptr[i + 1] - blocks->cptr[i], m = blocks->cptr[i] + k;
  row->body[0] = row->body[1] = PERP_WORLD;
  memset(row->J, 0, sizeof row->J);
  for (int q = blocks->jptr[i], side = 0; q < blocks->jptr[i + 1]; q++, side++) {
    row->body[side] = blocks->jblk[q];
    for (int l = 0; l < model->nvb; l++)
      row->J[side][l] = blocks->J[blocks->joff[q] + k + l * rows];
  }
  row->kind = PERP_SCHEME_JOINT;
  row->C = scheme->e.C[m];
  row->given = model->driven ? scheme->Ct[m] : 0;
  row->own = model->soft.softness[m];
  row->lo = -HUGE_VAL;
  row->hi = HUGE_VAL;
  if (perp_row_springs(model, m)) {
    const double k_h = h * model->soft.stiffness[m] + model->soft.damping[m];
    row->kind = PERP_SCHEME_OWN;
    row->own = 1 / (h * k_h) + model->soft.softness[m];
    row->given = model->soft.stiffness[m] * row->C / k_h;
  }
  scheme_masses(scheme, row);
}

/* ---- contacts ---- */

/* J of direction k of a contact, which is a pair alone, for the bodies as they are turned in
 * scheme->e. */
static void scheme_direction(const perp_scheme *scheme, int contact, int k, perp_scheme_row *row)
{
  const int dim = scheme->model->dim;
  for (int side = 0; side < 2; side++) {
    const perp_v4 d = scheme->pair[contact].d[k], turn = scheme->contact[contact].turn[side][k];
    double *J = row->J[side];
    if (row->body[side] < 0) continue;
    for (int i = 0; i < 3; i++) J[i] = dim == 2 ? turn[i] : side == 0 ? -d[i] : d[i];
    if (dim == 3)
      perp_turn_back(3, scheme->e.pose[row->body[side]].R, (double[]){ turn[0], turn[1], turn[2] },
                     J + 3);
  }
  scheme_masses(scheme, row);
}

/* Rows of contact i at the end of those there are. */
static void scheme_contact_rows(perp_scheme *scheme, int i, const perp_scheme_memory *before)
{
  perp_scheme_contact *contact = &scheme->contact[i];
  contact->row = scheme->n;
  for (int k = 0; k < scheme->model->dim; k++) {
    perp_scheme_row *row = &scheme->row[scheme->n++];
    *row = (perp_scheme_row){ .kind = k == 0 ? PERP_SCHEME_NORMAL : PERP_SCHEME_TANGENT,
                              .body = { scheme->found[i].body[0], scheme->found[i].body[1] },
                              .hi = HUGE_VAL,
                              .p = contact->p[k],
                              .k = before != NULL ? before->k[k] : 0,
                              .given = contact->bias[k] };
    scheme_direction(scheme, i, k, row);
    if (k > 0) continue;
    row->C = row->start = scheme->gap[i].C;
    row->approach = scheme->gap[i].approach;
    row->e = scheme->gap[i].e;
  }
}

/* ---- all ---- */

/* what the step may close: motion, what gravity adds twice over, motors */
static double scheme_margin(const perp_scheme *scheme, double t, double h)
{
  const perp_model *model = scheme->model;
  double speed = perp_closing_speed(model, scheme->v, scheme->reach);
  for (int drive = 0; drive < model->n_drives; drive++)
    if (model->drive_def[drive].max_force > 0)
      speed += fabs(perp_drive_velocity(model, drive, t, NULL)) *
               (model->drive[drive].slides ? 1 : model->size);
  return h * speed + 2 * h * h * fabs(perp_model_gravity_at(model, t)) + NEAR * model->size;
}

static bool scheme_find(perp_scheme *scheme, double t, double h)
{
  scheme->n_contacts = scheme->pairs = 0;
  if (scheme->collision == NULL) return true;
  const double start = scheme->clock.on ? perp_clock_wall() : 0,
               margin = scheme_margin(scheme, t, h);
  if (!isfinite(margin)) return false;
  perp_collision_margin(scheme->collision, margin);
  scheme->status = perp_collision_find(scheme->ctx, scheme->collision, scheme->e.pose,
                                       &scheme->found, &scheme->n_contacts);
  if (scheme->status == PERP_OK)
    scheme->status = perp_scheme_reserve(scheme->ctx, scheme, scheme->n_contacts);
  if (scheme->clock.on) scheme->clock.collision += perp_clock_wall() - start;
  return scheme->status == PERP_OK;
}

/* Are all signals defined there? */
static bool scheme_signals(const perp_scheme *scheme, double t)
{
  double y[3];
  for (int i = 0; i < scheme->model->signals.n; i++) {
    perp_signal_at(scheme->model->signals.list[i], t, y);
    if (!perp_all_finite(scheme->model->driven || scheme->model->surfaces.belts ? 3 : 1, y))
      return false;
  }
  return true;
}

static void scheme_driven(perp_scheme *scheme, double t)
{
  if (scheme->model->driven) perp_joints_driven(scheme->model, &scheme->e, t, scheme->Ct);
}

bool perp_scheme_begin(perp_scheme *scheme, double t, double h, double part)
{
  const perp_model *model = scheme->model;
  const double start = scheme->clock.on ? perp_clock_wall() : 0, found = scheme->clock.collision;
  const double scale = scheme->h_before > 0 && scheme->o.warm ? part / scheme->h_before : 0;
  memcpy(scheme->q1, scheme->q, (size_t)model->nq * sizeof *scheme->q);
  memcpy(scheme->v1, scheme->v, (size_t)model->nv * sizeof *scheme->v);
  if (!scheme_signals(scheme, t) || !scheme_signals(scheme, t + h)) return false;
  if (!scheme->known) perp_eval_at(&scheme->e, model, t, scheme->q);
  scheme->known = false;
  if (!scheme_find(scheme, t, h)) return false;
  scheme_driven(scheme, t + part);
  scheme->n = 0;
  for (int drive = 0; drive < model->n_drives; drive++)
    for (int slot = 0; slot < SLOTS; slot++) {
      perp_scheme_row row = { .kind = PERP_SCHEME_OWN };
      if (!scheme_drive(scheme, drive, slot, t, part, &row)) continue;
      row.start = row.C;
      row.approach = perp_scheme_speed(scheme, &row, scheme->v);
      row.p = scheme_clamp(&row, scale * scheme->guess.drive[SLOTS * drive + slot]);
      row.k = scheme->guess.drive_k[SLOTS * drive + slot];
      scheme->slot[scheme->n] = SLOTS * drive + slot;
      scheme->row[scheme->n++] = row;
    }
  scheme->joints = scheme->n;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int m = scheme->e.blocks.cptr[joint]; m < scheme->e.blocks.cptr[joint + 1]; m++) {
      perp_scheme_row row = { .p = scale * scheme->guess.joint[m], .k = scheme->guess.joint_k[m] };
      scheme_joint(scheme, joint, m - scheme->e.blocks.cptr[joint], part, &row);
      row.start = row.C;
      scheme->slot[scheme->n] = m;
      scheme->row[scheme->n++] = row;
    }
  scheme->contacts = scheme->n;
  if (scheme->n_contacts > 0) perp_scheme_contacts_begin(scheme, t + h, scale);
  if (scheme->status != PERP_OK) return false;
  for (int contact = 0, at = 0; contact < scheme->n_contacts && scheme->contact_rows; contact++)
    scheme_contact_rows(scheme, contact,
                        perp_scheme_recall(scheme, scheme->found[contact].id, &at));
  if (scheme->clock.on)
    scheme->clock.assembly += perp_clock_wall() - start - (scheme->clock.collision - found);
  return true;
}

void perp_scheme_refresh(perp_scheme *scheme, double t, double h)
{
  const perp_model *model = scheme->model;
  const double start = scheme->clock.on ? perp_clock_wall() : 0;
  perp_eval_at(&scheme->e, model, t, scheme->q1);
  scheme_driven(scheme, t + h);
  for (int joint = 0; joint < scheme->joints; joint++)
    scheme_drive(scheme, scheme->slot[joint] / SLOTS, scheme->slot[joint] % SLOTS, t, h,
                 &scheme->row[joint]);
  int at = scheme->joints;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int k = 0; k < scheme->e.blocks.cptr[joint + 1] - scheme->e.blocks.cptr[joint]; k++)
      scheme_joint(scheme, joint, k, h, &scheme->row[at++]);
  perp_scheme_contacts_refresh(scheme);
  for (int i = scheme->contacts; i < scheme->n && model->dim == 3; i++)
    scheme_direction(scheme, (i - scheme->contacts) / 3, (i - scheme->contacts) % 3,
                     &scheme->row[i]);
  if (scheme->clock.on) scheme->clock.assembly += perp_clock_wall() - start;
}

void perp_scheme_remember(perp_scheme *scheme, double h, double part)
{
  const perp_model *model = scheme->model;
  memset(scheme->guess.drive, 0, SLOTS * (size_t)model->n_drives * sizeof *scheme->guess.drive);
  memset(scheme->force, 0, (size_t)model->n_drives * sizeof *scheme->force);
  for (int joint = 0; joint < scheme->joints; joint++) {
    const int slot = scheme->slot[joint];
    scheme->guess.drive[slot] = scheme->row[joint].p;
    scheme->guess.drive_k[slot] = scheme->row[joint].k;
    scheme->force[slot / SLOTS] += (slot % SLOTS == UPPER ? -1 : 1) * scheme->row[joint].total / h;
  }
  for (int i = scheme->joints; i < scheme->contacts; i++) {
    scheme->guess.joint[scheme->slot[i]] = scheme->row[i].p;
    scheme->guess.joint_k[scheme->slot[i]] = scheme->row[i].k;
    scheme->lambda[scheme->slot[i]] = scheme->row[i].total / h;
  }
  for (int i = scheme->contacts; i < scheme->n; i++) {
    const int k = (i - scheme->contacts) % model->dim;
    const int contact = (i - scheme->contacts) / model->dim;
    scheme->contact[contact].p[k] = scheme->row[i].p;
    scheme->gap[contact].total[k] = scheme->row[i].total;
  }
  perp_scheme_contacts_remember(scheme);
  for (int i = scheme->contacts; i < scheme->n; i++)
    scheme->memory.now[(i - scheme->contacts) / model->dim].k[(i - scheme->contacts) % model->dim] =
        scheme->row[i].k;
  scheme->h_before = part;
  if (scheme->n_contacts > scheme->count.contacts) scheme->count.contacts = scheme->n_contacts;
  const int rows = scheme->contacts + model->dim * scheme->n_contacts;
  if (rows > scheme->count.rows) scheme->count.rows = rows;
}
