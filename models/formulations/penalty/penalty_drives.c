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

static void penalty_drives_layout(void *ws, perp_arena *a)
{
  perp_penalty_drives *d = ws;
  d->factor = PERP_CARVE(a, double, d->model->n_drives);
  d->memory = PERP_CARVE(a, drive_memory, d->model->n_drives);
  d->force = PERP_CARVE(a, double, d->model->n_drives);
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
  for (int i = 0; i < model->n_drives; i++)
    (*out)->factor[i] = perp_penalty_factor(model->drive_def[i].restitution);
  perp_penalty_drives_restart(*out);
  return PERP_OK;
}

void perp_penalty_drives_destroy(perp_penalty_drives *d)
{
  free(d);
}

void perp_penalty_drives_restart(perp_penalty_drives *d)
{
  d->fresh = true;
  for (int i = 0; i < d->model->n_drives; i++)
    d->memory[i] = (drive_memory){ .approach = { -1, -1 } };
  memset(d->force, 0, (size_t)d->model->n_drives * sizeof *d->force);
}

/* ---- one drive ---- */

static double penalty_drives_mass(const perp_model *m, const perp_island_row *row)
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    const perp_inertia *in = &m->inertia[row->body[side]];
    const double *J = row->J[side];
    double y[3];
    sum += perp_dot(m->dim, J, J) / in->mass;
    if (m->dim == 2) {
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
static double penalty_drives_motor(const perp_penalty_drives *d, int i, double t, drive_look *at)
{
  const perp_model *m = d->model;
  const perp_drive_def *def = &m->drive_def[i];
  const drive_memory *before = &d->memory[i];
  const double k = d->law.stiffness, dashpot = 2 * d->law.tangent_ratio * sqrt(k * at->mass);
  if (def->stiffness > 0 || def->damping > 0)
    return penalty_drives_clip(
        -def->stiffness * at->error - def->damping * (at->rate - at->velocity), def->max_force);
  if (!d->fresh) {
    double way = at->x - before->x;
    if (!m->drive[i].slides) way = remainder(way, 2 * M_PI);
    at->spring = before->spring + way - 0.5 * (t - d->t) * (before->velocity + at->velocity);
  }
  at->spring = penalty_drives_clip(at->spring, def->max_force / k);
  return -penalty_drives_clip(k * at->spring + dashpot * (at->rate - at->velocity), def->max_force);
}

static drive_look penalty_drives_look_at(const perp_penalty_drives *d, const perp_eval *e, double t,
                                         const double *v, int i)
{
  const perp_model *m = d->model;
  const perp_drive_def *def = &m->drive_def[i];
  drive_look at = { .row = { .body = { m->drive[i].a, m->drive[i].b } } };
  at.x = perp_drive_row(m, e, i, at.row.J[0], at.row.J[1]);
  at.rate = perp_island_row_product(m, &at.row, v);
  at.error = perp_drive_error(m, e, i, at.x, t, &at.velocity);
  at.mass = penalty_drives_mass(m, &at.row);
  if (def->max_force > 0) at.force += penalty_drives_motor(d, i, t, &at);
  if (def->lower == def->upper) {
    at.force -= d->law.stiffness * (at.x - def->lower) + d->damping * at.rate;
    return at;
  }
  for (int side = 0; side < SIDES; side++) {
    const double sign = side == LOWER ? 1 : -1;
    const double depth = side == LOWER ? def->lower - at.x : at.x - def->upper;
    const double met = d->memory[i].approach[side];
    at.approach[side] = !(depth > 0) ? -1 : met >= 0 ? met : fmax(-sign * at.rate, 0);
    const perp_penalty_spring spring = perp_penalty_depth(&d->law, depth);
    at.limit[side] = sign * perp_penalty_normal(&d->law, d->factor[i], at.approach[side], at.mass,
                                                &spring, -sign * at.rate);
    at.force += at.limit[side];
  }
  return at;
}

/* ---- all ---- */

void perp_penalty_drives_force(perp_penalty_drives *d, const perp_eval *e, double t,
                               const double *v, double *f)
{
  for (int i = 0; i < d->model->n_drives; i++) {
    const drive_look at = penalty_drives_look_at(d, e, t, v, i);
    perp_island_row_apply(d->model, &at.row, at.force, f);
  }
}

void perp_penalty_drives_accept(perp_penalty_drives *d, const perp_eval *e, double t,
                                const double *v, bool *passive)
{
  const double h = t - d->t, slow = d->law.threshold;
  *passive = true;
  for (int i = 0; i < d->model->n_drives; i++) {
    const drive_look at = penalty_drives_look_at(d, e, t, v, i);
    drive_memory *m = &d->memory[i];
    for (int side = 0; side < SIDES; side++) {
      const double force = at.limit[side];
      if (m->approach[side] >= 0)
        *passive &= perp_penalty_ledger_add(
            &m->ledger[side], 0.25 * h * (m->force[side] + force) * (m->rate + at.rate),
            at.mass * slow * slow);
      else if (at.approach[side] >= 0) { /* what its spring has is what it took */
        const double depth = side == LOWER ? d->model->drive_def[i].lower - at.x
                                           : at.x - d->model->drive_def[i].upper;
        m->ledger[side] = (perp_penalty_ledger){ 0 };
        perp_penalty_ledger_add(&m->ledger[side], -0.5 * d->law.stiffness * depth * depth, 0);
      }
      m->force[side] = force;
      m->approach[side] = at.approach[side];
    }
    m->x = at.x;
    m->rate = at.rate;
    m->velocity = at.velocity;
    m->spring = at.spring;
    d->force[i] = at.force;
  }
  d->t = t;
  d->fresh = false;
}

const double *perp_penalty_drives_forces(const perp_penalty_drives *d)
{
  return d->force;
}

void perp_penalty_drives_stiffness(const perp_penalty_drives *d, const perp_eval *e,
                                   const double *x, double *stiffness, double *damping)
{
  const perp_model *m = d->model;
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    const bool servo = def->stiffness > 0 || def->damping > 0;
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    perp_drive_row(m, e, i, row.J[0], row.J[1]);
    const double rate = perp_island_row_product(m, &row, x), mass = penalty_drives_mass(m, &row);
    const double k = d->law.stiffness, root = 2 * sqrt(k * mass);
    double K = 0, D = 0;
    if (def->max_force > 0) {
      K += servo ? def->stiffness : k;
      D += servo ? def->damping : d->law.tangent_ratio * root;
    }
    if (def->lower == def->upper) {
      K += k;
      D += d->damping;
    } else if (def->lower > -HUGE_VAL || def->upper < HUGE_VAL) {
      K += k;
      D += d->factor[i] > 0 ? d->law.damping_ratio * root : 0;
    }
    perp_island_row_apply(m, &row, K * rate, stiffness);
    perp_island_row_apply(m, &row, D * rate, damping);
  }
}
