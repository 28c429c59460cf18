/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/penalty/penalty_drives.h"
#include "models/contact/step/islands.h"

#include <stdlib.h>
#include <string.h>

enum { LOWER, UPPER, SIDES };

/* What a drive remembers from the last accepted state. */
typedef struct drive_memory {
  double x, rate, velocity; /* of the motor, what it should have */
  double spring;            /* displacement of its spring */
  double force[SIDES];      /* of the limits along x */
  double approach[SIDES];   /* speed at which a limit was met; < 0: it is not touched */
  perp_penalty_ledger ledger[SIDES];
} drive_memory;

/* A drive at a state. */
typedef struct drive_look {
  perp_island_row row;
  double x, rate, error, velocity;
  double mass;   /* kg or kg m^2, effective, of the bodies alone */
  double spring; /* as above */
  double limit[SIDES], approach[SIDES];
  double force; /* of all along x */
} drive_look;

struct perp_penalty_drives {
  const perp_model *model;
  perp_penalty_law law;
  double damping, t;
  bool fresh;           /* nothing is remembered */
  double *factor;       /* [drives] x of the restitution */
  drive_memory *memory; /* [drives] */
  double *force;        /* [drives] */
};

static void penalty_drives_layout(void *ws, perp_arena *arena)
{
  perp_penalty_drives *drives = ws;
  drives->factor = PERP_CARVE(arena, double, drives->model->n_drives);
  drives->memory = PERP_CARVE(arena, drive_memory, drives->model->n_drives);
  drives->force = PERP_CARVE(arena, double, drives->model->n_drives);
}

perp_status perp_penalty_drives_create(perp_ctx *ctx, const perp_model *model,
                                       const perp_penalty_law *law, double damping,
                                       perp_penalty_drives **out)
{
  perp_penalty_drives like = { .model = model, .law = *law, .damping = damping };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_drives_layout, &ws));
  *out = ws;
  for (int drive = 0; drive < model->n_drives; drive++)
    (*out)->factor[drive] = perp_penalty_factor(model->drive_def[drive].restitution);
  perp_penalty_drives_restart(*out);
  return PERP_OK;
}

void perp_penalty_drives_destroy(perp_penalty_drives *drives)
{
  free(drives);
}

void perp_penalty_drives_restart(perp_penalty_drives *drives)
{
  drives->fresh = true;
  for (int drive = 0; drive < drives->model->n_drives; drive++)
    drives->memory[drive] = (drive_memory){ .approach = { -1, -1 } };
  memset(drives->force, 0, (size_t)drives->model->n_drives * sizeof *drives->force);
}

/* ---- one drive ---- */

static double penalty_drives_mass(const perp_model *model, const perp_island_row *row)
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    const perp_inertia *in = &model->inertia[row->body[side]];
    const double *J = row->J[side];
    double y[3];
    sum += perp_dot(model->dim, J, J) / in->mass;
    if (model->dim == 2) {
      sum += J[2] * J[2] * in->Iinv[8];
      continue;
    }
    perp_sym_mul(in->Iinv, J + 3, y);
    sum += perp_dot(3, J + 3, y);
  }
  return 1 / sum;
}

static double penalty_drives_clip(double y, double most)
{
  return fmin(fmax(y, -most), most);
}

/* Of the motor along x; its spring as far as its limit leaves it. */
static double penalty_drives_motor(const perp_penalty_drives *drives, int i, double t,
                                   drive_look *at)
{
  const perp_model *model = drives->model;
  const perp_drive_def *def = &model->drive_def[i];
  const drive_memory *before = &drives->memory[i];
  const double k = drives->law.stiffness,
               dashpot = 2 * drives->law.tangent_ratio * sqrt(k * at->mass);
  if (perp_drive_is_servo(def))
    return penalty_drives_clip(
        -def->stiffness * at->error - def->damping * (at->rate - at->velocity), def->max_force);
  if (!drives->fresh)
    at->spring = before->spring + at->x - before->x -
                 0.5 * (t - drives->t) * (before->velocity + at->velocity);
  at->spring = penalty_drives_clip(at->spring, def->max_force / k);
  return -penalty_drives_clip(k * at->spring + dashpot * (at->rate - at->velocity), def->max_force);
}

static drive_look penalty_drives_look_at(const perp_penalty_drives *drives, const perp_eval *eval,
                                         double t, const double *v, int drive)
{
  const perp_model *model = drives->model;
  const perp_drive_def *def = &model->drive_def[drive];
  drive_look at = { .row = { .body = { model->drive[drive].a, model->drive[drive].b } } };
  at.x = perp_drive_row(model, eval, drive, at.row.J[0], at.row.J[1]);
  at.rate = perp_island_row_product(model, &at.row, v);
  at.error = perp_drive_error(model, eval, drive, at.x, t, &at.velocity);
  at.mass = penalty_drives_mass(model, &at.row);
  if (def->max_force > 0) at.force += penalty_drives_motor(drives, drive, t, &at);
  if (def->lower == def->upper) {
    at.force -= drives->law.stiffness * (at.x - def->lower) + drives->damping * at.rate;
    return at;
  }
  for (int side = 0; side < SIDES; side++) {
    const double sign = side == LOWER ? 1 : -1;
    const double depth = side == LOWER ? def->lower - at.x : at.x - def->upper;
    const double met = drives->memory[drive].approach[side];
    at.approach[side] = !(depth > 0) ? -1 : met >= 0 ? met : fmax(-sign * at.rate, 0);
    const perp_penalty_spring spring = perp_penalty_depth(&drives->law, depth);
    at.limit[side] = sign * perp_penalty_normal(&drives->law, drives->factor[drive],
                                                at.approach[side], at.mass, &spring,
                                                -sign * at.rate);
    at.force += at.limit[side];
  }
  return at;
}

/* ---- all ---- */

void perp_penalty_drives_force(perp_penalty_drives *drives, const perp_eval *eval, double t,
                               const double *v, double *f)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const drive_look at = penalty_drives_look_at(drives, eval, t, v, drive);
    perp_island_row_apply(drives->model, &at.row, at.force, f);
  }
}

void perp_penalty_drives_accept(perp_penalty_drives *drives, const perp_eval *eval, double t,
                                const double *v, bool *passive)
{
  const double h = t - drives->t, slow = drives->law.threshold;
  *passive = true;
  for (int i = 0; i < drives->model->n_drives; i++) {
    const drive_look at = penalty_drives_look_at(drives, eval, t, v, i);
    drive_memory *memory = &drives->memory[i];
    for (int side = 0; side < SIDES; side++) {
      const double force = at.limit[side];
      if (memory->approach[side] >= 0)
        *passive &= perp_penalty_ledger_add(&memory->ledger[side],
                                            0.25 * h * (memory->force[side] + force) *
                                                (memory->rate + at.rate),
                                            at.mass * slow * slow);
      else if (at.approach[side] >= 0) { /* what its spring has is what it took */
        const double depth = side == LOWER ? drives->model->drive_def[i].lower - at.x
                                           : at.x - drives->model->drive_def[i].upper;
        memory->ledger[side] = (perp_penalty_ledger){ 0 };
        perp_penalty_ledger_add(&memory->ledger[side], -0.5 * drives->law.stiffness * depth * depth,
                                0);
      }
      memory->force[side] = force;
      memory->approach[side] = at.approach[side];
    }
    memory->x = at.x;
    memory->rate = at.rate;
    memory->velocity = at.velocity;
    memory->spring = at.spring;
    drives->force[i] = at.force;
  }
  drives->t = t;
  drives->fresh = false;
}

const double *perp_penalty_drives_forces(const perp_penalty_drives *drives)
{
  return drives->force;
}

void perp_penalty_drives_stiffness(const perp_penalty_drives *drives, const perp_eval *eval,
                                   const double *x, double *stiffness, double *damping)
{
  const perp_model *model = drives->model;
  for (int drive = 0; drive < model->n_drives; drive++) {
    const perp_drive_def *def = &model->drive_def[drive];
    const bool servo = perp_drive_is_servo(def);
    perp_island_row row = { .body = { model->drive[drive].a, model->drive[drive].b } };
    perp_drive_row(model, eval, drive, row.J[0], row.J[1]);
    const double rate = perp_island_row_product(model, &row, x),
                 mass = penalty_drives_mass(model, &row);
    const double k = drives->law.stiffness, root = 2 * sqrt(k * mass);
    double K = 0, D = 0;
    if (def->max_force > 0) {
      K += servo ? def->stiffness : k;
      D += servo ? def->damping : drives->law.tangent_ratio * root;
    }
    if (def->lower == def->upper) {
      K += k;
      D += drives->damping;
    } else if (def->lower > -HUGE_VAL || def->upper < HUGE_VAL) {
      K += k;
      D += drives->factor[drive] > 0 ? drives->law.damping_ratio * root : 0;
    }
    perp_island_row_apply(model, &row, K * rate, stiffness);
    perp_island_row_apply(model, &row, D * rate, damping);
  }
}
