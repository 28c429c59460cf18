/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/penalty/penalty_contacts.h"
#include "models/contact/step/belts.h"
#include "models/contact/step/contacts.h"
#include "models/contact/step/islands.h"

#include <stdlib.h>
#include <string.h>

static const double NEAR = 1e-3; /* of the size of the model: contacts that bound the step */
static const double PLACE =
    0.1; /* of the body: how far a contact whose features change moves in a step */

/* What a contact remembers from the last accepted state. */
typedef struct memory {
  uint64_t id;
  double arm[2][3];        /* the ends of the tangential spring, in the frames of the bodies */
  double factor, approach; /* x and v_i of its restitution */
  bool slides;
  /* then, in the world: normal, force on b, velocity of b relative to a, and what the surfaces add
   * to it */
  double n[3], force[3], u[3], belt[3];
  int body[2];
  perp_penalty_ledger ledger;
  bool used;
} memory;

/* A contact at a state. */
typedef struct touch {
  const memory *before; /* NULL: it is new */
  double r[2][3];       /* from the centres to the middle of the contact */
  double u[3], belt[3]; /* as above */
  double mass;          /* kg, effective along the normal */
  double s[3];          /* displacement along the surface, as far as the slip limit leaves it */
  double factor, approach;
  bool slips; /* beyond that limit */
  double force[3];
} touch;

/* The deepest contact that evaluations of a step have met and its start had not: where its end has
 * it neither, it has begun and ended between them. */
typedef struct passing {
  uint64_t id;
  int body[2];
  double n[3], r[2][3], mass;
  double energy; /* J of its spring; 0: there is none */
} passing;

struct perp_penalty_contacts {
  const perp_model *model;
  perp_penalty_law law;
  perp_penalty_found found;
  double *reach; /* [bodies] */
  double *twist; /* [6 bodies] */
  double *start; /* [6 bodies] of the last accepted state */
  passing passing;
  double t;   /* of the last accepted state */
  bool begun; /* there is one */
  memory *before, *after;
  int n_before, n_old; /* contacts of the last accepted state, and of that before */
  perp_contact *shown; /* [n_old] of that state, with their impulses in the last step */
  perp_contact *next;  /* [n_before] */
  double *impulse;     /* [3 n_old] */
  int cap;
  perp_contact_count count;
  perp_arena grown;
};

/* ---- life ---- */

static void penalty_contacts_layout(void *ws, perp_arena *a)
{
  perp_penalty_contacts *c = ws;
  c->reach = PERP_CARVE(a, double, c->model->n_bodies);
  PERP_DOUBLES(a, 6 * (size_t)c->model->n_bodies, &c->twist, &c->start);
  c->found.q = PERP_CARVE(a, double, c->model->nq);
}

static void penalty_contacts_layout_grown(void *ws, perp_arena *a)
{
  perp_penalty_contacts *c = ws;
  c->before = PERP_CARVE(a, memory, c->cap);
  c->after = PERP_CARVE(a, memory, c->cap);
  c->shown = PERP_CARVE(a, perp_contact, c->cap);
  c->next = PERP_CARVE(a, perp_contact, c->cap);
  c->impulse = PERP_CARVE(a, double, 3 * (size_t)c->cap);
}

/* room for n contacts; what is remembered stays, where there is memory */
static perp_status penalty_contacts_reserve(perp_ctx *ctx, perp_penalty_contacts *c, int n)
{
  if (n <= c->cap) return PERP_OK;
  perp_arena old = c->grown;
  const memory *before = c->before;
  const perp_contact *next = c->next;
  c->grown = (perp_arena){ 0 };
  c->cap = n + n / 2 + 16;
  c->n_old = 0;
  const perp_status status = perp_arena_layout(ctx, &c->grown, penalty_contacts_layout_grown, c);
  if (status != PERP_OK) c->cap = c->n_before = 0;
  if (c->n_before > 0) {
    memcpy(c->before, before, (size_t)c->n_before * sizeof *before);
    memcpy(c->next, next, (size_t)c->n_before * sizeof *next);
  }
  perp_arena_free(&old);
  return status;
}

void perp_penalty_contacts_destroy(perp_penalty_contacts *c)
{
  if (c == NULL) return;
  perp_penalty_found_close(&c->found);
  perp_arena_free(&c->grown);
  free(c);
}

perp_status perp_penalty_contacts_create(perp_ctx *ctx, const perp_model *model,
                                         const perp_penalty_law *law, perp_penalty_contacts **out)
{
  perp_penalty_contacts like = { .model = model, .law = *law };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_contacts_layout, &ws));
  perp_penalty_contacts *c = ws;
  perp_contacts_reach(model, c->reach);
  c->found.model = model;
  c->found.law = &c->law;
  perp_status status = perp_penalty_found_open(ctx, &c->found);
  if (status == PERP_OK) status = penalty_contacts_reserve(ctx, c, 4 * model->n_shapes);
  if (status != PERP_OK) {
    perp_penalty_contacts_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_penalty_contacts_restart(perp_penalty_contacts *c)
{
  perp_penalty_found_forget(&c->found);
  c->n_before = c->n_old = 0;
  c->begun = false;
  c->passing.energy = 0;
  c->count = (perp_contact_count){ 0 };
}

/* ---- which contact is which ---- */

/* Ends of its spring in the world, and their middle. */
static void penalty_contacts_ends(const perp_penalty_contacts *c, const perp_eval *e,
                                  const memory *m, double end[2][3], double middle[3])
{
  for (int side = 0; side < 2; side++) {
    const perp_pose *pose = &e->pose[m->body[side]];
    end[side][0] = end[side][1] = end[side][2] = 0;
    perp_turn(c->model->dim, pose->R, m->arm[side], end[side]);
    for (int k = 0; k < c->model->dim; k++) end[side][k] += pose->x[k];
  }
  for (int k = 0; k < 3; k++) middle[k] = 0.5 * (end[0][k] + end[1][k]);
}

/* The nearest memory first ... end - 1 that is nobody's, within a tenth of the body. */
static memory *penalty_contacts_nearest(const perp_penalty_contacts *c, const perp_eval *e,
                                        const perp_contact *x, int first, int end)
{
  double middle[3], ends[2][3], place[3];
  double best = PLACE * c->reach[perp_contact_holder(x)];
  memory *found = NULL;
  perp_contact_middle(x, middle);
  for (int k = first; k < end; k++) {
    memory *m = &c->before[k];
    if (m->used) continue;
    penalty_contacts_ends(c, e, m, ends, place);
    for (int l = 0; l < 3; l++) place[l] -= middle[l];
    const double d = sqrt(perp_dot(3, place, place));
    if (!(d < best)) continue;
    best = d;
    found = m;
  }
  return found;
}

/* Calls visit with each contact and what it remembers, by name, then by place among those of its
 * pair of shapes.  Both lists are sorted alike.  used: those that went on. */
typedef void penalty_contacts_visit(perp_penalty_contacts *c, const perp_eval *e, int i,
                                    memory *before, void *user);
static void penalty_contacts_each(perp_penalty_contacts *c, const perp_eval *e,
                                  penalty_contacts_visit *visit, void *user)
{
  for (int k = 0; k < c->n_before; k++) c->before[k].used = false;
  for (int i = 0, stop, first = 0; i < c->found.n; i = stop) {
    const uint64_t pair = perp_contact_pair(c->found.contact[i].id);
    for (stop = i + 1; stop < c->found.n && perp_contact_pair(c->found.contact[stop].id) == pair;)
      stop++;
    while (first < c->n_before && perp_contact_pair(c->before[first].id) < pair) first++;
    int end = first;
    while (end < c->n_before && perp_contact_pair(c->before[end].id) == pair) end++;
    for (int l = i, k = first; l < stop && k < end; l++) {
      while (k < end && c->before[k].id < c->found.contact[l].id) k++;
      if (k < end && c->before[k].id == c->found.contact[l].id) c->before[k].used = true;
    }
    for (int l = i, k = first; l < stop; l++) {
      while (k < end && c->before[k].id < c->found.contact[l].id) k++;
      memory *m = k < end && c->before[k].id == c->found.contact[l].id
                      ? &c->before[k]
                      : penalty_contacts_nearest(c, e, &c->found.contact[l], first, end);
      if (m != NULL) m->used = true;
      visit(c, e, l, m, user);
    }
    first = end;
  }
}

/* ---- one contact ---- */

/* u = velocity of b less that of a at arms r from their centres */
static void penalty_contacts_velocity(const double *twists, const int body[2], double r[2][3],
                                      double u[3])
{
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    if (body[side] < 0) continue;
    const double *twist = twists + 6 * (size_t)body[side];
    double turn[3];
    perp_cross(twist + 3, r[side], turn);
    for (int k = 0; k < 3; k++) u[k] += (side == 0 ? -1 : 1) * (twist[k] + turn[k]);
  }
}

/* d . J M^-1 J' d of a direction d */
static double penalty_contacts_admittance(const perp_penalty_contacts *c, const perp_eval *e,
                                          const int body[2], double r[2][3], const double d[3])
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (body[side] < 0) continue;
    const perp_inertia *in = &c->model->inertia[body[side]];
    double turn[3], own[3], y[3];
    perp_cross(r[side], d, turn);
    sum += perp_dot(3, d, d) / in->mass;
    if (c->model->dim == 2) {
      sum += turn[2] * turn[2] * in->Iinv[8];
      continue;
    }
    perp_turn_back(3, e->pose[body[side]].R, turn, own);
    perp_sym_mul(in->Iinv, own, y);
    sum += perp_dot(3, own, y);
  }
  return sum;
}

/* f += J' force, force on b */
static void penalty_contacts_apply(const perp_penalty_contacts *c, const perp_eval *e,
                                   const int body[2], double r[2][3], const double force[3],
                                   double *f)
{
  const int dim = c->model->dim;
  for (int side = 0; side < 2; side++) {
    if (body[side] < 0) continue;
    double *fb = f + (size_t)c->model->nvb * (size_t)body[side], turn[3], own[3];
    const double sign = side == 0 ? -1 : 1;
    perp_cross(r[side], force, turn);
    for (int k = 0; k < dim; k++) fb[k] += sign * force[k];
    if (dim == 2) {
      fb[2] += sign * turn[2];
      continue;
    }
    perp_turn_back(3, e->pose[body[side]].R, turn, own);
    for (int k = 0; k < 3; k++) fb[3 + k] += sign * own[k];
  }
}

static void penalty_contacts_arms(const perp_penalty_contacts *c, const perp_eval *e,
                                  const perp_contact *x, double r[2][3])
{
  double middle[3];
  perp_contact_middle(x, middle);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++)
      r[side][k] = x->body[side] >= 0 && k < c->model->dim ? middle[k] - e->pose[x->body[side]].x[k]
                                                           : 0;
}

/* y = y or, where it is longer than `most`, that long; was it longer? */
static bool penalty_contacts_clip(double y[3], double most)
{
  const double length = sqrt(perp_dot(3, y, y));
  if (!(length > most)) return false;
  for (int k = 0; k < 3; k++) y[k] *= most / length;
  return true;
}

static void penalty_contacts_across(const double n[3], double y[3])
{
  const double along = perp_dot(3, n, y);
  for (int k = 0; k < 3; k++) y[k] -= along * n[k];
}

/* The tangential spring: s from the ends that are remembered, less what surfaces that move have
 * carried away. */
static void penalty_contacts_displacement(const perp_penalty_contacts *c, const perp_eval *e,
                                          const perp_contact *x, double t, touch *at)
{
  double end[2][3], middle[3];
  at->s[0] = at->s[1] = at->s[2] = 0;
  if (at->before == NULL) return;
  penalty_contacts_ends(c, e, at->before, end, middle);
  for (int k = 0; k < 3; k++)
    at->s[k] = end[1][k] - end[0][k] + 0.5 * (t - c->t) * (at->before->belt[k] + at->belt[k]);
  penalty_contacts_across(x->n, at->s);
}

static const perp_penalty_spring *penalty_contacts_spring(const perp_penalty_contacts *c,
                                                          const perp_contact *x)
{
  return &c->found.spring[x - c->found.contact];
}

/* All of a contact at the state of twist. */
static void penalty_contacts_touch(const perp_penalty_contacts *c, const perp_eval *e, double t,
                                   const perp_contact *x, const memory *before, touch *at)
{
  const perp_penalty_law *law = &c->law;
  at->before = before;
  penalty_contacts_arms(c, e, x, at->r);
  penalty_contacts_velocity(c->twist, x->body, at->r, at->u);
  at->belt[0] = at->belt[1] = at->belt[2] = 0;
  if (c->model->belts) perp_belts_velocity(c->model, e, x, t, at->belt);
  for (int k = 0; k < 3; k++) at->u[k] += at->belt[k];
  const double rate = -perp_dot(3, x->n, at->u);
  at->mass = 1 / penalty_contacts_admittance(c, e, x->body, at->r, x->n);
  at->approach = before != NULL ? before->approach : fmax(rate, 0);
  at->factor = before != NULL ? before->factor : perp_penalty_factor(x->e);
  const double normal = perp_penalty_normal(law, at->factor, at->approach, at->mass,
                                            penalty_contacts_spring(c, x), rate);
  double drag[3] = { 0 };
  at->s[0] = at->s[1] = at->s[2] = 0;
  at->slips = false;
  if (x->mu > 0 || x->mu_dynamic > 0) {
    const double most = (before != NULL && before->slides ? x->mu_dynamic : x->mu) * normal;
    const double dashpot = 2 * law->tangent_ratio * sqrt(law->tangent_stiffness * at->mass);
    penalty_contacts_displacement(c, e, x, t, at);
    at->slips = penalty_contacts_clip(at->s, most / law->tangent_stiffness);
    for (int k = 0; k < 3; k++) drag[k] = at->u[k];
    penalty_contacts_across(x->n, drag);
    for (int k = 0; k < 3; k++) drag[k] = law->tangent_stiffness * at->s[k] + dashpot * drag[k];
    penalty_contacts_clip(drag, most);
  }
  for (int k = 0; k < 3; k++) at->force[k] = normal * x->n[k] - drag[k];
}

/* ---- all contacts of a state ---- */

typedef struct forces {
  double t;
  double *f;
} forces;

static void penalty_contacts_push(perp_penalty_contacts *c, const perp_eval *e, int i,
                                  memory *before, void *user)
{
  const forces *all = user;
  const perp_contact *x = &c->found.contact[i];
  touch at;
  penalty_contacts_touch(c, e, all->t, x, before, &at);
  penalty_contacts_apply(c, e, x->body, at.r, at.force, all->f);
  const double energy = before == NULL ? penalty_contacts_spring(c, x)->energy : 0;
  if (!(energy > c->passing.energy)) return;
  c->passing = (passing){
    .id = x->id, .body = { x->body[0], x->body[1] }, .mass = at.mass, .energy = energy
  };
  memcpy(c->passing.n, x->n, sizeof c->passing.n);
  memcpy(c->passing.r, at.r, sizeof c->passing.r);
}

perp_status perp_penalty_contacts_force(perp_ctx *ctx, perp_penalty_contacts *c, const perp_eval *e,
                                        double t, const double *q, const double *v, double *f)
{
  PERP_TRY(perp_penalty_found_at(ctx, &c->found, e, t, q));
  if (c->found.n == 0) return PERP_OK;
  perp_twists(c->model, e, v, c->twist);
  penalty_contacts_each(c, e, penalty_contacts_push, &(forces){ t, f });
  return PERP_OK;
}

bool perp_penalty_contacts_inside(const perp_penalty_contacts *c)
{
  return c->found.inside;
}

/* ---- accepted states ---- */

typedef struct acceptance {
  double t, h;
  bool passive;
} acceptance;

/* Work on the bodies in a step: mean force times mean velocity. */
static double penalty_contacts_work(const memory *m, double h, const double force[3],
                                    const double u[3])
{
  double work = 0;
  for (int k = 0; k < 3; k++) work += 0.25 * h * (m->force[k] + force[k]) * (m->u[k] + u[k]);
  return work;
}

/* J: slower than the threshold nothing is judged */
static double penalty_contacts_least(const perp_penalty_contacts *c, double mass)
{
  return mass * c->law.threshold * c->law.threshold;
}

/* Had these two shapes a contact at the last accepted state? */
static bool penalty_contacts_known(const perp_penalty_contacts *c, uint64_t id)
{
  int low = 0, high = c->n_before;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (perp_contact_pair(c->before[middle].id) < perp_contact_pair(id))
      low = middle + 1;
    else
      high = middle;
  }
  return low < c->n_before && perp_contact_pair(c->before[low].id) == perp_contact_pair(id);
}

/* J: what the spring of a contact may have at the end of the step in which its bodies met. */
static double penalty_contacts_met(const perp_penalty_contacts *c, const perp_contact *x, touch *at)
{
  double u[3];
  penalty_contacts_velocity(c->start, x->body, at->r, u);
  const double met = fmax(-perp_dot(3, x->n, u), -perp_dot(3, x->n, at->u));
  return 0.5 * at->mass * (1 + PERP_PENALTY_GAIN) * met * met + penalty_contacts_least(c, at->mass);
}

static void penalty_contacts_remember(perp_penalty_contacts *c, const perp_eval *e, int i,
                                      memory *before, void *user)
{
  acceptance *all = user;
  const perp_contact *x = &c->found.contact[i];
  memory *m = &c->after[i];
  touch at;
  double middle[3];
  penalty_contacts_touch(c, e, all->t, x, before, &at);
  *m = (memory){ .id = x->id,
                 .factor = at.factor,
                 .approach = at.approach,
                 .slides = at.slips,
                 .body = { x->body[0], x->body[1] } };
  perp_contact_middle(x, middle);
  for (int side = 0; side < 2; side++) {
    const perp_pose *pose = &e->pose[x->body[side]];
    double arm[3] = { 0 };
    for (int k = 0; k < c->model->dim; k++)
      arm[k] = middle[k] + (side == 0 ? -0.5 : 0.5) * at.s[k] - pose->x[k];
    perp_turn_back(c->model->dim, pose->R, arm, m->arm[side]);
  }
  memcpy(m->n, x->n, sizeof m->n);
  memcpy(m->force, at.force, sizeof m->force);
  memcpy(m->u, at.u, sizeof m->u);
  memcpy(m->belt, at.belt, sizeof m->belt);
  if (before != NULL) {
    m->ledger = before->ledger;
    all->passive &= perp_penalty_ledger_add(&m->ledger,
                                            penalty_contacts_work(before, all->h, at.force, at.u),
                                            penalty_contacts_least(c, at.mass));
    return;
  }
  /* what its spring has is what it took */
  const double energy = penalty_contacts_spring(c, x)->energy;
  perp_penalty_ledger_add(&m->ledger, -energy, 0);
  if (c->begun && !penalty_contacts_known(c, x->id))
    all->passive &= energy <= penalty_contacts_met(c, x, &at);
}

/* Contacts that have ended in the step: their last work. */
static void penalty_contacts_close(perp_penalty_contacts *c, const perp_eval *e, acceptance *all)
{
  static const double none[3] = { 0 };
  for (int k = 0; k < c->n_before; k++) {
    memory *m = &c->before[k];
    double end[2][3], middle[3], r[2][3] = { { 0 } }, u[3];
    if (m->used) continue;
    penalty_contacts_ends(c, e, m, end, middle);
    for (int side = 0; side < 2; side++)
      for (int l = 0; l < c->model->dim && m->body[side] >= 0; l++)
        r[side][l] = middle[l] - e->pose[m->body[side]].x[l];
    penalty_contacts_velocity(c->twist, m->body, r, u);
    for (int l = 0; l < 3; l++) u[l] += m->belt[l];
    const double mass = 1 / penalty_contacts_admittance(c, e, m->body, r, m->n);
    all->passive &= perp_penalty_ledger_add(&m->ledger, penalty_contacts_work(m, all->h, none, u),
                                            penalty_contacts_least(c, mass));
  }
}

/* A contact between the ends of the step: its bodies part no faster than they met. */
static bool penalty_contacts_passed(perp_penalty_contacts *c)
{
  passing *p = &c->passing;
  double u[3];
  if (!(p->energy > 0)) return true;
  for (int i = 0; i < c->found.n; i++)
    if (c->found.contact[i].id == p->id) return true;
  penalty_contacts_velocity(c->start, p->body, p->r, u);
  const double met = perp_dot(3, p->n, u);
  penalty_contacts_velocity(c->twist, p->body, p->r, u);
  const double part = perp_dot(3, p->n, u);
  return !(part > 0) || 0.5 * p->mass * (part * part - (1 + PERP_PENALTY_GAIN) * met * met) <=
                            penalty_contacts_least(c, p->mass);
}

perp_status perp_penalty_contacts_accept(perp_ctx *ctx, perp_penalty_contacts *c,
                                         const perp_eval *e, double t, const double *q,
                                         const double *v, bool *passive)
{
  PERP_TRY(perp_penalty_found_at(ctx, &c->found, e, t, q));
  PERP_TRY(penalty_contacts_reserve(ctx, c, c->found.n));
  perp_twists(c->model, e, v, c->twist);
  acceptance all = { t, t - c->t, penalty_contacts_passed(c) };
  c->passing.energy = 0;
  penalty_contacts_each(c, e, penalty_contacts_remember, &all);
  penalty_contacts_close(c, e, &all);
  for (int k = 0; k < c->n_before; k++)
    for (int l = 0; l < 3; l++) c->impulse[3 * k + l] = all.h * c->before[k].force[l];
  perp_contact *shown = c->shown;
  c->shown = c->next;
  c->next = shown;
  if (c->found.n > 0) memcpy(c->next, c->found.contact, (size_t)c->found.n * sizeof *c->next);
  memory *before = c->before;
  c->before = c->after;
  c->after = before;
  double *twist = c->start;
  c->start = c->twist;
  c->twist = twist;
  c->n_old = c->n_before;
  c->n_before = c->found.n;
  c->t = t;
  c->begun = true;
  if (c->found.n > c->count.contacts) c->count.contacts = c->found.n;
  *passive = all.passive;
  return PERP_OK;
}

void perp_penalty_contacts_info(perp_penalty_contacts *c, perp_step_info *info)
{
  info->n_contacts = c->n_old;
  info->contacts = c->n_old > 0 ? c->shown : NULL;
  info->impulse = c->n_old > 0 ? c->impulse : NULL;
}

bool perp_penalty_contacts_remembers(const perp_penalty_contacts *c)
{
  return c->n_before > 0 || c->n_old > 0;
}

const perp_contact_count *perp_penalty_contacts_count(const perp_penalty_contacts *c)
{
  return &c->count;
}

/* ---- the longest step ---- */

perp_status perp_penalty_contacts_near(perp_ctx *ctx, perp_penalty_contacts *c, const perp_eval *e)
{
  return perp_penalty_found_near(ctx, &c->found, e, NEAR * c->model->size);
}

void perp_penalty_contacts_stiffness(const perp_penalty_contacts *c, const perp_eval *e,
                                     const double *x, double *stiffness, double *damping)
{
  const perp_penalty_law *law = &c->law;
  if (c->found.n == 0) return;
  perp_twists(c->model, e, x, c->twist);
  for (int i = 0; i < c->found.n; i++) {
    const perp_contact *y = &c->found.contact[i];
    double r[2][3], u[3], K[3], D[3];
    penalty_contacts_arms(c, e, y, r);
    penalty_contacts_velocity(c->twist, y->body, r, u);
    const double mass = 1 / penalty_contacts_admittance(c, e, y->body, r, y->n);
    const bool linear = law->exponent == 1 && !law->volume; /* as stiff before it touches */
    const double k = linear ? law->stiffness : penalty_contacts_spring(c, y)->stiffness;
    const double kt = y->mu > 0 ? law->tangent_stiffness : 0, along = perp_dot(3, y->n, u);
    const double d = y->e < 1 ? 2 * law->damping_ratio * sqrt(k * mass) : 0,
                 dt = 2 * law->tangent_ratio * sqrt(kt * mass);
    for (int l = 0; l < 3; l++) {
      const double normal = along * y->n[l], across = u[l] - normal;
      K[l] = k * normal + kt * across;
      D[l] = d * normal + dt * across;
    }
    penalty_contacts_apply(c, e, y->body, r, K, stiffness);
    penalty_contacts_apply(c, e, y->body, r, D, damping);
  }
}
