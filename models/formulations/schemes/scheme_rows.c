/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a step: of drives, joints and contacts, with the impulses of the step before. */
#include "models/contact/step/belts.h"
#include "models/formulations/schemes/scheme.h"

#include <string.h>

enum { MOTOR, LOWER, UPPER, SLOTS };

static const double NEAR =
    1e-6; /* of the size of the model: contacts that are looked for at rest */

/* Part of the slip that the friction of a whole step stops, above which a contact slides: one cold
 * sweep leaves a tenth of it to a box that sticks on four contacts.  Sliding is thus seen late by
 * a time that goes with the square root of the step. */
static const double SLIDES = 0.2;

/* ---- memory ---- */

static int scheme_fixed(const perp_scheme *scheme)
{
  return SLOTS * scheme->model->n_drives + scheme->model->m;
}

static void scheme_layout_grown(void *ws, perp_arena *arena)
{
  perp_scheme *scheme = ws;
  const int rows = scheme_fixed(scheme) + scheme->model->dim * scheme->cap;
  scheme->row = PERP_CARVE(arena, perp_scheme_row, rows);
  scheme->slot = PERP_CARVE(arena, int, scheme_fixed(scheme));
  scheme->contact = PERP_CARVE(arena, perp_scheme_contact, scheme->cap);
  scheme->memory = PERP_CARVE(arena, perp_scheme_memory, scheme->cap);
  scheme->next = PERP_CARVE(arena, perp_scheme_memory, scheme->cap);
  scheme->impulse = PERP_CARVE(arena, double, 3 * (size_t)scheme->cap);
}

perp_status perp_scheme_reserve(perp_ctx *ctx, perp_scheme *scheme, int n)
{
  if (n <= scheme->cap && scheme->row != NULL) return PERP_OK;
  perp_arena old = scheme->grown;
  const perp_scheme_memory *memory = scheme->memory;
  scheme->grown = (perp_arena){ 0 };
  scheme->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &scheme->grown, scheme_layout_grown, scheme);
  if (status != PERP_OK) scheme->cap = scheme->n_memory = 0, scheme->row = NULL;
  if (scheme->n_memory > 0)
    memcpy(scheme->memory, memory, (size_t)scheme->n_memory * sizeof *memory);
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

/* J of a direction d of a contact, for the bodies as they are turned in scheme->e. */
static void scheme_direction(const perp_scheme *scheme, const perp_scheme_contact *contact,
                             const double d[3], perp_scheme_row *row)
{
  const int dim = scheme->model->dim;
  for (int side = 0; side < 2; side++) {
    const double sign = side == 0 ? -1 : 1;
    double turn[3], *J = row->J[side];
    if (row->body[side] < 0) continue;
    perp_cross(contact->r[side], d, turn);
    for (int i = 0; i < dim; i++) J[i] = sign * d[i];
    if (dim == 2) {
      J[2] = sign * turn[2];
      continue;
    }
    perp_turn_back(3, scheme->e.pose[row->body[side]].R, turn, J + 3);
    for (int i = 3; i < 6; i++) J[i] *= sign;
  }
  scheme_masses(scheme, row);
}

/* t1 across n and, where there is any, along u; t2 = n x t1 */
static void scheme_tangents(int dim, const double n[3], const double u[3], double t1[3],
                            double t2[3])
{
  double along[3], normal = perp_dot(3, n, u), size;
  for (int i = 0; i < 3; i++) along[i] = u[i] - normal * n[i];
  size = sqrt(perp_dot(3, along, along));
  if (dim == 2) {
    t1[0] = -n[1], t1[1] = n[0], t1[2] = 0;
    t2[0] = t2[1] = 0, t2[2] = 1;
    return;
  }
  if (!(size > 1e-9 * fabs(normal) && size > 0)) {
    const int k = fabs(n[0]) < 0.6 ? 0 : 1; /* an axis that n is not along */
    for (int i = 0; i < 3; i++) along[i] = (i == k) - n[k] * n[i];
    size = sqrt(perp_dot(3, along, along));
  }
  for (int i = 0; i < 3; i++) t1[i] = along[i] / size;
  perp_cross(n, t1, t2);
}

/* u = velocity of b less that of a */
static void scheme_velocity(const perp_scheme *scheme, const perp_contact *x,
                            const perp_scheme_contact *c, const double *v, double u[3])
{
  const int dim = scheme->model->dim;
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    if (x->body[side] < 0) continue;
    const double *vb = v + (size_t)scheme->model->nvb * (size_t)x->body[side];
    double w[3] = { 0 }, turn[3];
    if (dim == 3)
      perp_turn(3, scheme->e.pose[x->body[side]].R, vb + 3, w);
    else
      w[2] = vb[2];
    perp_cross(w, c->r[side], turn);
    for (int i = 0; i < dim; i++) u[i] += (side == 0 ? -1 : 1) * (vb[i] + turn[i]);
  }
}

static const perp_scheme_memory *scheme_recall(const perp_scheme *scheme, uint64_t id, int *at)
{
  while (*at < scheme->n_memory && scheme->memory[*at].id < id) ++*at;
  return *at < scheme->n_memory && scheme->memory[*at].id == id ? &scheme->memory[*at] : NULL;
}

static void scheme_contact(perp_scheme *scheme, int found, double t_end, double scale,
                           const perp_scheme_memory *before)
{
  const int dim = scheme->model->dim;
  const perp_contact *x = &scheme->found[found];
  perp_scheme_contact *c = &scheme->contact[found];
  double middle[3], u[3], belt[3] = { 0 };
  perp_contact_middle(x, middle);
  c->row = scheme->n;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++)
      c->r[side][k] = x->body[side] >= 0 && k < dim ? middle[k] - scheme->e.pose[x->body[side]].x[k]
                                                    : 0;
  scheme_velocity(scheme, x, c, scheme->v, u);
  if (scheme->model->surfaces.belts) perp_belts_velocity(scheme->model, &scheme->e, x, t_end, belt);
  memcpy(c->d[0], x->n, sizeof c->d[0]);
  double slip[3], normal = perp_dot(3, x->n, u);
  for (int k = 0; k < 3; k++) slip[k] = u[k] + belt[k] - normal * x->n[k];
  scheme_tangents(dim, x->n, slip, c->d[1], c->d[2]);
  const bool slides = before != NULL ? before->slides
                                     : sqrt(perp_dot(3, slip, slip)) > scheme->o.slip;
  c->mu = slides ? x->mu_dynamic : x->mu;
  c->slides = false;
  for (int k = 0; k < dim; k++) {
    perp_scheme_row *row = &scheme->row[scheme->n++];
    *row = (perp_scheme_row){ .kind = k == 0 ? PERP_SCHEME_NORMAL : PERP_SCHEME_TANGENT,
                              .body = { x->body[0], x->body[1] },
                              .lo = 0,
                              .hi = HUGE_VAL };
    scheme_direction(scheme, c, c->d[k], row);
    if (before != NULL) {
      row->p = scale * perp_dot(3, before->impulse, c->d[k]);
      row->k = before->k[k];
    }
    if (k == 0) {
      row->C = row->start = x->gap;
      row->approach = normal;
      row->e = x->e;
      row->p = scheme_clamp(row, row->p);
    } else {
      row->given = perp_dot(3, belt, c->d[k]);
    }
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
  scheme->n_contacts = 0;
  if (scheme->collision == NULL) return true;
  const double start = scheme->timing ? perp_clock_wall() : 0, margin = scheme_margin(scheme, t, h);
  if (!isfinite(margin)) return false;
  perp_collision_margin(scheme->collision, margin);
  scheme->status = perp_collision_find(scheme->ctx, scheme->collision, scheme->e.pose,
                                       &scheme->found, &scheme->n_contacts);
  if (scheme->status == PERP_OK)
    scheme->status = perp_scheme_reserve(scheme->ctx, scheme, scheme->n_contacts);
  if (scheme->timing) scheme->collision_s += perp_clock_wall() - start;
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
  const double start = scheme->timing ? perp_clock_wall() : 0, found = scheme->collision_s;
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
      row.p = scheme_clamp(&row, scale * scheme->drive_p[SLOTS * drive + slot]);
      row.k = scheme->drive_k[SLOTS * drive + slot];
      scheme->slot[scheme->n] = SLOTS * drive + slot;
      scheme->row[scheme->n++] = row;
    }
  scheme->joints = scheme->n;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int m = scheme->e.blocks.cptr[joint]; m < scheme->e.blocks.cptr[joint + 1]; m++) {
      perp_scheme_row row = { .p = scale * scheme->joint_p[m], .k = scheme->joint_k[m] };
      scheme_joint(scheme, joint, m - scheme->e.blocks.cptr[joint], part, &row);
      row.start = row.C;
      scheme->slot[scheme->n] = m;
      scheme->row[scheme->n++] = row;
    }
  scheme->contacts = scheme->n;
  for (int contact = 0, at = 0; contact < scheme->n_contacts; contact++)
    scheme_contact(scheme, contact, t + h, scale,
                   scheme_recall(scheme, scheme->found[contact].id, &at));
  if (scheme->timing)
    scheme->assembly_s += perp_clock_wall() - start - (scheme->collision_s - found);
  return true;
}

void perp_scheme_refresh(perp_scheme *scheme, double t, double h)
{
  const perp_model *model = scheme->model;
  const double start = scheme->timing ? perp_clock_wall() : 0;
  perp_eval_at(&scheme->e, model, t, scheme->q1);
  scheme_driven(scheme, t + h);
  for (int joint = 0; joint < scheme->joints; joint++)
    scheme_drive(scheme, scheme->slot[joint] / SLOTS, scheme->slot[joint] % SLOTS, t, h,
                 &scheme->row[joint]);
  int at = scheme->joints;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int k = 0; k < scheme->e.blocks.cptr[joint + 1] - scheme->e.blocks.cptr[joint]; k++)
      scheme_joint(scheme, joint, k, h, &scheme->row[at++]);
  for (int contact = 0; contact < scheme->n_contacts && model->dim == 3; contact++)
    for (int k = 0; k < 3; k++)
      scheme_direction(scheme, &scheme->contact[contact], scheme->contact[contact].d[k],
                       &scheme->row[scheme->contact[contact].row + k]);
  if (scheme->timing) scheme->assembly_s += perp_clock_wall() - start;
}

/* Did the contact slide in the step?  Its friction was at its bound when it was solved for, and it
 * moves faster at the end than SLIDES of its friction would stop: a fixed number of sweeps takes
 * the friction of one contact to its bound while others hold the body.  A contact that does not
 * press slides as a new one does. */
static bool scheme_slides(const perp_scheme *scheme, const perp_scheme_contact *contact)
{
  double square = 0, A = 0;
  for (int k = 1; k < scheme->model->dim; k++) {
    const perp_scheme_row *row = &scheme->row[contact->row + k];
    const double u = perp_scheme_speed(scheme, row, scheme->v1) + row->given;
    square += u * u;
    A = fmax(A, row->A);
  }
  const double total = scheme->row[contact->row].total;
  if (!(total > 0)) return sqrt(square) > scheme->o.slip;
  return contact->slides && sqrt(square) > fmax(scheme->o.slip, SLIDES * A * contact->mu * total);
}

void perp_scheme_remember(perp_scheme *scheme, double h, double part)
{
  const perp_model *model = scheme->model;
  memset(scheme->drive_p, 0, SLOTS * (size_t)model->n_drives * sizeof *scheme->drive_p);
  memset(scheme->force, 0, (size_t)model->n_drives * sizeof *scheme->force);
  for (int joint = 0; joint < scheme->joints; joint++) {
    const int slot = scheme->slot[joint];
    scheme->drive_p[slot] = scheme->row[joint].p;
    scheme->drive_k[slot] = scheme->row[joint].k;
    scheme->force[slot / SLOTS] += (slot % SLOTS == UPPER ? -1 : 1) * scheme->row[joint].total / h;
  }
  for (int i = scheme->joints; i < scheme->contacts; i++) {
    scheme->joint_p[scheme->slot[i]] = scheme->row[i].p;
    scheme->joint_k[scheme->slot[i]] = scheme->row[i].k;
    scheme->lambda[scheme->slot[i]] = scheme->row[i].total / h;
  }
  for (int i = 0; i < scheme->n_contacts; i++) {
    const perp_scheme_contact *contact = &scheme->contact[i];
    perp_scheme_memory *memory = &scheme->next[i];
    *memory = (perp_scheme_memory){ .id = scheme->found[i].id,
                                    .slides = scheme_slides(scheme, contact) };
    for (int l = 0; l < 3; l++) scheme->impulse[3 * i + l] = 0;
    for (int k = 0; k < model->dim; k++) memory->k[k] = scheme->row[contact->row + k].k;
    for (int k = 0; k < model->dim; k++)
      for (int l = 0; l < 3; l++) {
        memory->impulse[l] += scheme->row[contact->row + k].p * contact->d[k][l];
        scheme->impulse[3 * i + l] += scheme->row[contact->row + k].total * contact->d[k][l];
      }
  }
  perp_scheme_memory *old = scheme->memory;
  scheme->memory = scheme->next;
  scheme->next = old;
  scheme->n_memory = scheme->n_contacts;
  scheme->h_before = part;
  if (scheme->n_contacts > scheme->count.contacts) scheme->count.contacts = scheme->n_contacts;
  if (scheme->n > scheme->count.rows) scheme->count.rows = scheme->n;
}
