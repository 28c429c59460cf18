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

static void penalty_contacts_layout(void *ws, perp_arena *arena)
{
  perp_penalty_contacts *contacts = ws;
  contacts->reach = PERP_CARVE(arena, double, contacts->model->n_bodies);
  PERP_DOUBLES(arena, 6 * (size_t)contacts->model->n_bodies, &contacts->twist, &contacts->start);
  contacts->found.q = PERP_CARVE(arena, double, contacts->model->nq);
}

static void penalty_contacts_layout_grown(void *ws, perp_arena *arena)
{
  perp_penalty_contacts *contacts = ws;
  contacts->before = PERP_CARVE(arena, memory, contacts->cap);
  contacts->after = PERP_CARVE(arena, memory, contacts->cap);
  contacts->shown = PERP_CARVE(arena, perp_contact, contacts->cap);
  contacts->next = PERP_CARVE(arena, perp_contact, contacts->cap);
  contacts->impulse = PERP_CARVE(arena, double, 3 * (size_t)contacts->cap);
}

/* room for n contacts; what is remembered stays, where there is memory */
static perp_status penalty_contacts_reserve(perp_ctx *ctx, perp_penalty_contacts *contacts, int n)
{
  if (n <= contacts->cap) return PERP_OK;
  perp_arena old = contacts->grown;
  const memory *before = contacts->before;
  const perp_contact *next = contacts->next;
  contacts->grown = (perp_arena){ 0 };
  contacts->cap = n + n / 2 + 16;
  contacts->n_old = 0;
  const perp_status status = perp_arena_layout(ctx, &contacts->grown, penalty_contacts_layout_grown,
                                               contacts);
  if (status != PERP_OK) contacts->cap = contacts->n_before = 0;
  if (contacts->n_before > 0) {
    memcpy(contacts->before, before, (size_t)contacts->n_before * sizeof *before);
    memcpy(contacts->next, next, (size_t)contacts->n_before * sizeof *next);
  }
  perp_arena_free(&old);
  return status;
}

void perp_penalty_contacts_destroy(perp_penalty_contacts *contacts)
{
  if (contacts == NULL) return;
  perp_penalty_found_close(&contacts->found);
  perp_arena_free(&contacts->grown);
  free(contacts);
}

perp_status perp_penalty_contacts_create(perp_ctx *ctx, const perp_model *model,
                                         const perp_penalty_law *law, perp_penalty_contacts **out)
{
  perp_penalty_contacts like = { .model = model, .law = *law };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_contacts_layout, &ws));
  perp_penalty_contacts *contacts = ws;
  perp_contacts_reach(model, contacts->reach);
  contacts->found.model = model;
  contacts->found.law = &contacts->law;
  perp_status status = perp_penalty_found_open(ctx, &contacts->found);
  if (status == PERP_OK) status = penalty_contacts_reserve(ctx, contacts, 4 * model->n_shapes);
  if (status != PERP_OK) {
    perp_penalty_contacts_destroy(contacts);
    return status;
  }
  *out = contacts;
  return PERP_OK;
}

void perp_penalty_contacts_restart(perp_penalty_contacts *contacts)
{
  perp_penalty_found_forget(&contacts->found);
  contacts->n_before = contacts->n_old = 0;
  contacts->begun = false;
  contacts->passing.energy = 0;
  contacts->count = (perp_contact_count){ 0 };
}

/* ---- which contact is which ---- */

/* Ends of its spring in the world, and their middle. */
static void penalty_contacts_ends(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                  const memory *last, double end[2][3], double middle[3])
{
  for (int side = 0; side < 2; side++) {
    const perp_pose *pose = &eval->pose[last->body[side]];
    end[side][0] = end[side][1] = end[side][2] = 0;
    perp_turn(contacts->model->dim, pose->R, last->arm[side], end[side]);
    for (int k = 0; k < contacts->model->dim; k++) end[side][k] += pose->x[k];
  }
  for (int k = 0; k < 3; k++) middle[k] = 0.5 * (end[0][k] + end[1][k]);
}

/* The nearest memory first ... end - 1 that is nobody's, within a tenth of the body. */
static memory *penalty_contacts_nearest(const perp_penalty_contacts *contacts,
                                        const perp_eval *eval, const perp_contact *contact,
                                        int first, int end)
{
  double middle[3], ends[2][3], place[3];
  double best = PLACE * contacts->reach[perp_contact_holder(contact)];
  memory *found = NULL;
  perp_contact_middle(contact, middle);
  for (int k = first; k < end; k++) {
    memory *last = &contacts->before[k];
    if (last->used) continue;
    penalty_contacts_ends(contacts, eval, last, ends, place);
    for (int l = 0; l < 3; l++) place[l] -= middle[l];
    const double d = sqrt(perp_dot(3, place, place));
    if (!(d < best)) continue;
    best = d;
    found = last;
  }
  return found;
}

/* Calls visit with each contact and what it remembers, by name, then by place among those of its
 * pair of shapes.  Both lists are sorted alike.  used: those that went on. */
typedef void penalty_contacts_visit(perp_penalty_contacts *c, const perp_eval *e, int i,
                                    memory *before, void *user);
static void penalty_contacts_each(perp_penalty_contacts *contacts, const perp_eval *eval,
                                  penalty_contacts_visit *visit, void *user)
{
  for (int k = 0; k < contacts->n_before; k++) contacts->before[k].used = false;
  for (int contact = 0, stop, first = 0; contact < contacts->found.n; contact = stop) {
    const uint64_t pair = perp_contact_pair(contacts->found.contact[contact].id);
    for (stop = contact + 1;
         stop < contacts->found.n && perp_contact_pair(contacts->found.contact[stop].id) == pair;)
      stop++;
    while (first < contacts->n_before && perp_contact_pair(contacts->before[first].id) < pair)
      first++;
    int end = first;
    while (end < contacts->n_before && perp_contact_pair(contacts->before[end].id) == pair) end++;
    for (int l = contact, k = first; l < stop && k < end; l++) {
      while (k < end && contacts->before[k].id < contacts->found.contact[l].id) k++;
      if (k < end && contacts->before[k].id == contacts->found.contact[l].id)
        contacts->before[k].used = true;
    }
    for (int l = contact, k = first; l < stop; l++) {
      while (k < end && contacts->before[k].id < contacts->found.contact[l].id) k++;
      memory *last = k < end && contacts->before[k].id == contacts->found.contact[l].id
                         ? &contacts->before[k]
                         : penalty_contacts_nearest(contacts, eval, &contacts->found.contact[l],
                                                    first, end);
      if (last != NULL) last->used = true;
      visit(contacts, eval, l, last, user);
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
static double penalty_contacts_admittance(const perp_penalty_contacts *contacts,
                                          const perp_eval *eval, const int body[2], double r[2][3],
                                          const double d[3])
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (body[side] < 0) continue;
    const perp_inertia *in = &contacts->model->inertia[body[side]];
    double turn[3], own[3], y[3];
    perp_cross(r[side], d, turn);
    sum += perp_dot(3, d, d) / in->mass;
    if (contacts->model->dim == 2) {
      sum += turn[2] * turn[2] * in->Iinv[8];
      continue;
    }
    perp_turn_back(3, eval->pose[body[side]].R, turn, own);
    perp_sym_mul(in->Iinv, own, y);
    sum += perp_dot(3, own, y);
  }
  return sum;
}

/* f += J' force, force on b */
static void penalty_contacts_apply(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                   const int body[2], double r[2][3], const double force[3],
                                   double *f)
{
  const int dim = contacts->model->dim;
  for (int side = 0; side < 2; side++) {
    if (body[side] < 0) continue;
    double *fb = f + (size_t)contacts->model->nvb * (size_t)body[side], turn[3], own[3];
    const double sign = side == 0 ? -1 : 1;
    perp_cross(r[side], force, turn);
    for (int k = 0; k < dim; k++) fb[k] += sign * force[k];
    if (dim == 2) {
      fb[2] += sign * turn[2];
      continue;
    }
    perp_turn_back(3, eval->pose[body[side]].R, turn, own);
    for (int k = 0; k < 3; k++) fb[3 + k] += sign * own[k];
  }
}

static void penalty_contacts_arms(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                  const perp_contact *contact, double r[2][3])
{
  double middle[3];
  perp_contact_middle(contact, middle);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++)
      r[side][k] = contact->body[side] >= 0 && k < contacts->model->dim
                       ? middle[k] - eval->pose[contact->body[side]].x[k]
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
static void penalty_contacts_displacement(const perp_penalty_contacts *contacts,
                                          const perp_eval *eval, const perp_contact *contact,
                                          double t, touch *at)
{
  double end[2][3], middle[3];
  at->s[0] = at->s[1] = at->s[2] = 0;
  if (at->before == NULL) return;
  penalty_contacts_ends(contacts, eval, at->before, end, middle);
  for (int k = 0; k < 3; k++)
    at->s[k] = end[1][k] - end[0][k] +
               0.5 * (t - contacts->t) * (at->before->belt[k] + at->belt[k]);
  penalty_contacts_across(contact->n, at->s);
}

static const perp_penalty_spring *penalty_contacts_spring(const perp_penalty_contacts *contacts,
                                                          const perp_contact *contact)
{
  return &contacts->found.spring[contact - contacts->found.contact];
}

/* All of a contact at the state of twist. */
static void penalty_contacts_touch(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                   double t, const perp_contact *contact, const memory *before,
                                   touch *at)
{
  const perp_penalty_law *law = &contacts->law;
  at->before = before;
  penalty_contacts_arms(contacts, eval, contact, at->r);
  penalty_contacts_velocity(contacts->twist, contact->body, at->r, at->u);
  at->belt[0] = at->belt[1] = at->belt[2] = 0;
  if (contacts->model->surfaces.belts)
    perp_belts_velocity(contacts->model, eval, contact, t, at->belt);
  for (int k = 0; k < 3; k++) at->u[k] += at->belt[k];
  const double rate = -perp_dot(3, contact->n, at->u);
  at->mass = 1 / penalty_contacts_admittance(contacts, eval, contact->body, at->r, contact->n);
  at->approach = before != NULL ? before->approach : fmax(rate, 0);
  at->factor = before != NULL ? before->factor : perp_penalty_factor(contact->e);
  const double normal = perp_penalty_normal(law, at->factor, at->approach, at->mass,
                                            penalty_contacts_spring(contacts, contact), rate);
  double drag[3] = { 0 };
  at->s[0] = at->s[1] = at->s[2] = 0;
  at->slips = false;
  if (contact->mu > 0 || contact->mu_dynamic > 0) {
    const double most = (before != NULL && before->slides ? contact->mu_dynamic : contact->mu) *
                        normal;
    const double dashpot = 2 * law->tangent_ratio * sqrt(law->tangent_stiffness * at->mass);
    penalty_contacts_displacement(contacts, eval, contact, t, at);
    at->slips = penalty_contacts_clip(at->s, most / law->tangent_stiffness);
    for (int k = 0; k < 3; k++) drag[k] = at->u[k];
    penalty_contacts_across(contact->n, drag);
    for (int k = 0; k < 3; k++) drag[k] = law->tangent_stiffness * at->s[k] + dashpot * drag[k];
    penalty_contacts_clip(drag, most);
  }
  for (int k = 0; k < 3; k++) at->force[k] = normal * contact->n[k] - drag[k];
}

/* ---- all contacts of a state ---- */

typedef struct forces {
  double t;
  double *f;
} forces;

static void penalty_contacts_push(perp_penalty_contacts *contacts, const perp_eval *eval, int i,
                                  memory *before, void *user)
{
  const forces *all = user;
  const perp_contact *contact = &contacts->found.contact[i];
  touch at;
  penalty_contacts_touch(contacts, eval, all->t, contact, before, &at);
  penalty_contacts_apply(contacts, eval, contact->body, at.r, at.force, all->f);
  const double energy = before == NULL ? penalty_contacts_spring(contacts, contact)->energy : 0;
  if (!(energy > contacts->passing.energy)) return;
  contacts->passing = (passing){ .id = contact->id,
                                 .body = { contact->body[0], contact->body[1] },
                                 .mass = at.mass,
                                 .energy = energy };
  memcpy(contacts->passing.n, contact->n, sizeof contacts->passing.n);
  memcpy(contacts->passing.r, at.r, sizeof contacts->passing.r);
}

perp_status perp_penalty_contacts_force(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                        const perp_eval *eval, double t, const double *q,
                                        const double *v, double *f)
{
  PERP_TRY(perp_penalty_found_at(ctx, &contacts->found, eval, t, q));
  if (contacts->found.n == 0) return PERP_OK;
  perp_twists(contacts->model, eval, v, contacts->twist);
  penalty_contacts_each(contacts, eval, penalty_contacts_push, &(forces){ t, f });
  return PERP_OK;
}

bool perp_penalty_contacts_inside(const perp_penalty_contacts *contacts)
{
  return contacts->found.inside;
}

/* ---- accepted states ---- */

typedef struct acceptance {
  double t, h;
  bool passive;
} acceptance;

/* Work on the bodies in a step: mean force times mean velocity. */
static double penalty_contacts_work(const memory *last, double h, const double force[3],
                                    const double u[3])
{
  double work = 0;
  for (int k = 0; k < 3; k++) work += 0.25 * h * (last->force[k] + force[k]) * (last->u[k] + u[k]);
  return work;
}

/* J: slower than the threshold nothing is judged */
static double penalty_contacts_least(const perp_penalty_contacts *contacts, double mass)
{
  return mass * contacts->law.threshold * contacts->law.threshold;
}

/* Had these two shapes a contact at the last accepted state? */
static bool penalty_contacts_known(const perp_penalty_contacts *contacts, uint64_t id)
{
  int low = 0, high = contacts->n_before;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (perp_contact_pair(contacts->before[middle].id) < perp_contact_pair(id))
      low = middle + 1;
    else
      high = middle;
  }
  return low < contacts->n_before &&
         perp_contact_pair(contacts->before[low].id) == perp_contact_pair(id);
}

/* J: what the spring of a contact may have at the end of the step in which its bodies met. */
static double penalty_contacts_met(const perp_penalty_contacts *contacts,
                                   const perp_contact *contact, touch *at)
{
  double u[3];
  penalty_contacts_velocity(contacts->start, contact->body, at->r, u);
  const double met = fmax(-perp_dot(3, contact->n, u), -perp_dot(3, contact->n, at->u));
  return 0.5 * at->mass * (1 + PERP_PENALTY_GAIN) * met * met +
         penalty_contacts_least(contacts, at->mass);
}

static void penalty_contacts_remember(perp_penalty_contacts *contacts, const perp_eval *eval, int i,
                                      memory *before, void *user)
{
  acceptance *all = user;
  const perp_contact *contact = &contacts->found.contact[i];
  memory *m = &contacts->after[i];
  touch at;
  double middle[3];
  penalty_contacts_touch(contacts, eval, all->t, contact, before, &at);
  *m = (memory){ .id = contact->id,
                 .factor = at.factor,
                 .approach = at.approach,
                 .slides = at.slips,
                 .body = { contact->body[0], contact->body[1] } };
  perp_contact_middle(contact, middle);
  for (int side = 0; side < 2; side++) {
    const perp_pose *pose = &eval->pose[contact->body[side]];
    double arm[3] = { 0 };
    for (int k = 0; k < contacts->model->dim; k++)
      arm[k] = middle[k] + (side == 0 ? -0.5 : 0.5) * at.s[k] - pose->x[k];
    perp_turn_back(contacts->model->dim, pose->R, arm, m->arm[side]);
  }
  memcpy(m->n, contact->n, sizeof m->n);
  memcpy(m->force, at.force, sizeof m->force);
  memcpy(m->u, at.u, sizeof m->u);
  memcpy(m->belt, at.belt, sizeof m->belt);
  if (before != NULL) {
    m->ledger = before->ledger;
    all->passive &= perp_penalty_ledger_add(&m->ledger,
                                            penalty_contacts_work(before, all->h, at.force, at.u),
                                            penalty_contacts_least(contacts, at.mass));
    return;
  }
  /* what its spring has is what it took */
  const double energy = penalty_contacts_spring(contacts, contact)->energy;
  perp_penalty_ledger_add(&m->ledger, -energy, 0);
  if (contacts->begun && !penalty_contacts_known(contacts, contact->id))
    all->passive &= energy <= penalty_contacts_met(contacts, contact, &at);
}

/* Contacts that have ended in the step: their last work. */
static void penalty_contacts_close(perp_penalty_contacts *contacts, const perp_eval *eval,
                                   acceptance *all)
{
  static const double none[3] = { 0 };
  for (int k = 0; k < contacts->n_before; k++) {
    memory *last = &contacts->before[k];
    double end[2][3], middle[3], r[2][3] = { { 0 } }, u[3];
    if (last->used) continue;
    penalty_contacts_ends(contacts, eval, last, end, middle);
    for (int side = 0; side < 2; side++)
      for (int l = 0; l < contacts->model->dim && last->body[side] >= 0; l++)
        r[side][l] = middle[l] - eval->pose[last->body[side]].x[l];
    penalty_contacts_velocity(contacts->twist, last->body, r, u);
    for (int l = 0; l < 3; l++) u[l] += last->belt[l];
    const double mass = 1 / penalty_contacts_admittance(contacts, eval, last->body, r, last->n);
    all->passive &= perp_penalty_ledger_add(&last->ledger,
                                            penalty_contacts_work(last, all->h, none, u),
                                            penalty_contacts_least(contacts, mass));
  }
}

/* A contact between the ends of the step: its bodies part no faster than they met. */
static bool penalty_contacts_passed(perp_penalty_contacts *contacts)
{
  passing *p = &contacts->passing;
  double u[3];
  if (!(p->energy > 0)) return true;
  for (int contact = 0; contact < contacts->found.n; contact++)
    if (contacts->found.contact[contact].id == p->id) return true;
  penalty_contacts_velocity(contacts->start, p->body, p->r, u);
  const double met = perp_dot(3, p->n, u);
  penalty_contacts_velocity(contacts->twist, p->body, p->r, u);
  const double part = perp_dot(3, p->n, u);
  return !(part > 0) || 0.5 * p->mass * (part * part - (1 + PERP_PENALTY_GAIN) * met * met) <=
                            penalty_contacts_least(contacts, p->mass);
}

perp_status perp_penalty_contacts_accept(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                         const perp_eval *eval, double t, const double *q,
                                         const double *v, bool *passive)
{
  PERP_TRY(perp_penalty_found_at(ctx, &contacts->found, eval, t, q));
  PERP_TRY(penalty_contacts_reserve(ctx, contacts, contacts->found.n));
  perp_twists(contacts->model, eval, v, contacts->twist);
  acceptance all = { t, t - contacts->t, penalty_contacts_passed(contacts) };
  contacts->passing.energy = 0;
  penalty_contacts_each(contacts, eval, penalty_contacts_remember, &all);
  penalty_contacts_close(contacts, eval, &all);
  for (int k = 0; k < contacts->n_before; k++)
    for (int l = 0; l < 3; l++) contacts->impulse[3 * k + l] = all.h * contacts->before[k].force[l];
  perp_contact *shown = contacts->shown;
  contacts->shown = contacts->next;
  contacts->next = shown;
  if (contacts->found.n > 0)
    memcpy(contacts->next, contacts->found.contact,
           (size_t)contacts->found.n * sizeof *contacts->next);
  memory *before = contacts->before;
  contacts->before = contacts->after;
  contacts->after = before;
  double *twist = contacts->start;
  contacts->start = contacts->twist;
  contacts->twist = twist;
  contacts->n_old = contacts->n_before;
  contacts->n_before = contacts->found.n;
  contacts->t = t;
  contacts->begun = true;
  if (contacts->found.n > contacts->count.contacts) contacts->count.contacts = contacts->found.n;
  *passive = all.passive;
  return PERP_OK;
}

void perp_penalty_contacts_info(perp_penalty_contacts *contacts, perp_step_info *info)
{
  info->n_contacts = contacts->n_old;
  info->contacts = contacts->n_old > 0 ? contacts->shown : NULL;
  info->impulse = contacts->n_old > 0 ? contacts->impulse : NULL;
}

bool perp_penalty_contacts_remembers(const perp_penalty_contacts *contacts)
{
  return contacts->n_before > 0 || contacts->n_old > 0;
}

const perp_contact_count *perp_penalty_contacts_count(const perp_penalty_contacts *contacts)
{
  return &contacts->count;
}

/* ---- the longest step ---- */

perp_status perp_penalty_contacts_near(perp_ctx *ctx, perp_penalty_contacts *contacts,
                                       const perp_eval *eval)
{
  return perp_penalty_found_near(ctx, &contacts->found, eval, NEAR * contacts->model->size);
}

void perp_penalty_contacts_stiffness(const perp_penalty_contacts *contacts, const perp_eval *eval,
                                     const double *x, double *stiffness, double *damping)
{
  const perp_penalty_law *law = &contacts->law;
  if (contacts->found.n == 0) return;
  perp_twists(contacts->model, eval, x, contacts->twist);
  for (int i = 0; i < contacts->found.n; i++) {
    const perp_contact *contact = &contacts->found.contact[i];
    double r[2][3], u[3], K[3], D[3];
    penalty_contacts_arms(contacts, eval, contact, r);
    penalty_contacts_velocity(contacts->twist, contact->body, r, u);
    const double mass = 1 /
                        penalty_contacts_admittance(contacts, eval, contact->body, r, contact->n);
    const bool linear = law->exponent == 1 && !law->volume; /* as stiff before it touches */
    const double k = linear ? law->stiffness
                            : penalty_contacts_spring(contacts, contact)->stiffness;
    const double kt = contact->mu > 0 ? law->tangent_stiffness : 0,
                 along = perp_dot(3, contact->n, u);
    const double d = contact->e < 1 ? 2 * law->damping_ratio * sqrt(k * mass) : 0,
                 dt = 2 * law->tangent_ratio * sqrt(kt * mass);
    for (int l = 0; l < 3; l++) {
      const double normal = along * contact->n[l], across = u[l] - normal;
      K[l] = k * normal + kt * across;
      D[l] = d * normal + dt * across;
    }
    penalty_contacts_apply(contacts, eval, contact->body, r, K, stiffness);
    penalty_contacts_apply(contacts, eval, contact->body, r, D, damping);
  }
}
