/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of a part of a step: found, remembered, solved for. */
#include "models/formulations/velocity/midpoint.h"

/* m/s: speed at which the correction of their penetration parts deep contacts */
static const double PUSH = 0.1;

#include "models/contact/step/belts.h"

#include <stdlib.h>
#include <string.h>

/* ---- found ---- */

static void midpoint_layout_grown(void *ws, perp_arena *arena)
{
  perp_midpoint *midpoint = ws;
  const size_t n = (size_t)midpoint->cap;
  PERP_DOUBLES(arena, 3 * n, &midpoint->impulse, &midpoint->curve, &midpoint->ahead);
  midpoint->slip = PERP_CARVE(arena, double, n);
  midpoint->kept = PERP_CARVE(arena, unsigned char, n);
  midpoint->known = PERP_CARVE(arena, perp_midpoint_memory *, n);
  midpoint->memory = PERP_CARVE(arena, perp_midpoint_memory, n);
  midpoint->next = PERP_CARVE(arena, perp_midpoint_memory, n);
  midpoint->closing = PERP_CARVE(arena, perp_midpoint_closing, n);
}

/* room for n contacts; what is remembered stays */
static perp_status midpoint_reserve(perp_midpoint *midpoint, int n)
{
  if (n <= midpoint->cap) return PERP_OK;
  perp_arena old = midpoint->grown;
  const perp_midpoint_memory *memory = midpoint->memory;
  const perp_midpoint_closing *closing = midpoint->closing;
  midpoint->grown = (perp_arena){ 0 };
  midpoint->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(midpoint->step.k.ctx, &midpoint->grown,
                                               midpoint_layout_grown, midpoint);
  if (status != PERP_OK) midpoint->cap = midpoint->n_memory = midpoint->n_closing = 0;
  if (midpoint->n_memory > 0)
    memcpy(midpoint->memory, memory, (size_t)midpoint->n_memory * sizeof *memory);
  if (midpoint->n_closing > 0)
    memcpy(midpoint->closing, closing, (size_t)midpoint->n_closing * sizeof *closing);
  perp_arena_free(&old);
  return status;
}

/* what gravity closes in a step, twice, and rounding */
static double midpoint_base(const perp_midpoint *midpoint, double h)
{
  const perp_model *model = midpoint->step.k.model;
  return 2 * h * h * fabs(perp_model_gravity_at(model, midpoint->step.grid.t)) + 1e-6 * model->size;
}

bool perp_midpoint_find(perp_midpoint *midpoint, perp_collision *collision, double h,
                        const perp_contact **contact, int *n)
{
  const perp_model *model = midpoint->step.k.model;
  perp_constrained *system = &midpoint->step.k;
  const double start = perp_constrained_clock(system);
  const double motors = midpoint->drives != NULL
                            ? perp_drives_speed(midpoint->drives, midpoint->step.grid.t + h)
                            : 0;
  const double margin = midpoint_base(midpoint, h) +
                        h * (perp_closing_speed(model, midpoint->step.v, midpoint->reach) +
                             2 * motors);
  if (!isfinite(margin)) {
    system->reason = PERP_NOT_FINITE;
    return false;
  }
  perp_collision_margin(collision, margin);
  system->status = perp_collision_find(system->ctx, collision, system->e->pose, contact, n);
  if (system->status == PERP_OK) system->status = midpoint_reserve(midpoint, *n);
  midpoint->collision_s += perp_constrained_clock(system) - start;
  return system->status == PERP_OK;
}

void perp_midpoint_velocity(const perp_model *model, const perp_pose *pose,
                            const perp_contact *contact, const double *v, double u[3])
{
  double p[3];
  perp_contact_middle(contact, p);
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    const double sign = side == 0 ? -1 : 1, *vb = v + (size_t)model->nvb * (size_t)body;
    double w[3] = { 0 }, r[3] = { 0 }, c[3];
    if (model->dim == 3)
      perp_turn(3, pose[body].R, vb + 3, w);
    else
      w[2] = vb[2];
    for (int i = 0; i < model->dim; i++) r[i] = p[i] - pose[body].x[i];
    perp_cross(w, r, c);
    for (int i = 0; i < model->dim; i++) u[i] += sign * (vb[i] + c[i]);
  }
}

/* ---- remembered ---- */

void perp_midpoint_recall(perp_midpoint *midpoint)
{
  int at = 0;
  for (int contact = 0; contact < midpoint->n; contact++) {
    while (at < midpoint->n_memory && midpoint->memory[at].id < midpoint->contact[contact].id) at++;
    midpoint->known[contact] = at < midpoint->n_memory &&
                                       midpoint->memory[at].id == midpoint->contact[contact].id
                                   ? &midpoint->memory[at]
                                   : NULL;
  }
}

double perp_midpoint_sliding(const perp_midpoint *s, int i, double u[3], double *left)
{
  const perp_model *model = s->step.k.model;
  const perp_contact *x = &s->contact[i];
  const double *P = s->impulse + 3 * (size_t)i;
  double inverse = 0, belt[3] = { 0 };
  perp_midpoint_velocity(model, s->step.k.e->pose, x, s->step.v1, u);
  for (int j = 0; j < model->dim; j++) u[j] += s->curve[3 * i + j];
  const double normal = perp_dot(3, x->n, u);
  for (int j = 0; j < 3; j++) u[j] -= normal * x->n[j];
  if (model->surfaces.belts) perp_belts_velocity(model, s->step.k.e, x, s->t_end, belt);
  const double largest = fmax(sqrt(perp_dot(3, u, u)), fabs(normal));
  for (int j = 0; j < 3; j++) u[j] += belt[j];
  for (int side = 0; side < 2; side++)
    if (x->body[side] >= 0) inverse += 1 / model->inertia[x->body[side]].mass;
  *left = fmax(10 * s->o.residual, 1e-12) * inverse * sqrt(perp_dot(3, P, P)) + 1e-13 * largest;
  return sqrt(perp_dot(3, u, u));
}

int perp_midpoint_pair(const perp_midpoint *midpoint, int first, double *used)
{
  double normal = 0, along[3] = { 0 };
  int contact = first;
  for (; contact < midpoint->n && perp_contact_pair(midpoint->contact[contact].id) ==
                                      perp_contact_pair(midpoint->contact[first].id);
       contact++) {
    const double *P = midpoint->impulse + 3 * (size_t)contact, *n = midpoint->contact[contact].n,
                 pressed = perp_dot(3, P, n);
    normal += midpoint->contact[contact].mu * pressed;
    for (int j = 0; j < 3; j++) along[j] += P[j] - pressed * n[j];
  }
  *used = normal > 0 ? sqrt(perp_dot(3, along, along)) / normal : 0;
  return contact;
}

double perp_midpoint_rate(const perp_midpoint *s, const perp_midpoint_memory *m, double used)
{
  return m != NULL && m->h > 0 ? (used - m->used) / ((s->h + m->h) / 2) : 0;
}

void perp_midpoint_release(perp_midpoint *midpoint, int first)
{
  double used;
  const int end = perp_midpoint_pair(midpoint, first, &used);
  for (int i = first; i < end; i++)
    if (midpoint->known[i] != NULL) midpoint->known[i]->slides = 1;
}

void perp_midpoint_remember(perp_midpoint *midpoint)
{
  int n = 0;
  double used = 0;
  for (int contact = 0, end = 0; contact < midpoint->n; contact++) {
    const double *P = midpoint->impulse + 3 * (size_t)contact;
    perp_midpoint_memory *memory = &midpoint->next[n];
    double u[3], left;
    if (contact >= end) end = perp_midpoint_pair(midpoint, contact, &used);
    if (!midpoint->kept[contact] || !(perp_dot(3, P, midpoint->contact[contact].n) > 0)) continue;
    *memory = (perp_midpoint_memory){ .id = midpoint->contact[contact].id, .h = midpoint->h };
    for (int j = 0; j < 3; j++) memory->force[j] = P[j] / midpoint->h;
    if (midpoint->contact[contact].mu != midpoint->contact[contact].mu_dynamic) {
      memory->slides = perp_midpoint_sliding(midpoint, contact, u, &left) > left;
      memory->used = used;
      memory->rate = perp_midpoint_rate(midpoint, midpoint->known[contact], used);
      if (midpoint->known[contact] != NULL && midpoint->known[contact]->slides && !memory->slides)
        memory->h = 0; /* it was another law */
    }
    n++;
  }
  perp_midpoint_memory *swap = midpoint->memory;
  midpoint->memory = midpoint->next;
  midpoint->next = swap;
  midpoint->n_memory = n;
}

/* ---- solved for ---- */

static double midpoint_bias(const perp_midpoint *s, const perp_contact *x, double h, double before,
                            double free)
{
  const bool bounces = x->e > 0 && before < -s->o.threshold;
  if (s->problem == PERP_MIDPOINT_IMPACT) return bounces ? x->e * before : 0;
  if (s->problem == PERP_MIDPOINT_REST && bounces && x->gap + h * free <= 0) return x->e * before;
  if (x->gap > s->slop) return x->gap / h;
  return x->gap < -s->slop ? fmax(x->gap / s->step.grid.h, -PUSH) : 0;
}

static void midpoint_law(void *user, const perp_contact *x, double h, const double *before,
                         const double *free, perp_contact_terms *terms)
{
  const perp_midpoint *s = user;
  const perp_midpoint_memory *m = s->known[x - s->contact];
  const bool slides = m != NULL ? m->slides : hypot(before[1], before[2]) > s->o.slip;
  terms->bias = midpoint_bias(s, x, h, before[0], free[0]);
  terms->mu = slides ? x->mu_dynamic : x->mu;
}

static bool midpoint_closes(const perp_midpoint *midpoint, uint64_t id)
{
  for (int closing = 0; closing < midpoint->n_closing; closing++)
    if (midpoint->closing[closing].contact.id == id) return true;
  return false;
}

/* Is it open, and would it close faster than the threshold, by its speed and the acceleration
 * without contacts? */
static bool midpoint_fast(const perp_midpoint *midpoint, const perp_contact *contact, double speed,
                          double free)
{
  const double pull = fmax(0, speed - free) / midpoint->h;
  return contact->gap > midpoint->slop && fmin(speed, free) < 0 &&
         speed * speed + 2 * pull * contact->gap > midpoint->o.threshold * midpoint->o.threshold;
}

/* Which contacts have rows: those that are near, but for fast ones, whose meeting is the end of the
 * part. */
static bool midpoint_keep(perp_midpoint *midpoint, double h)
{
  const perp_model *model = midpoint->step.k.model;
  const double near = 2 * midpoint_base(midpoint, h);
  const bool splits = midpoint->problem == PERP_MIDPOINT_PREDICTS ||
                      midpoint->problem == PERP_MIDPOINT_CORRECTS;
  bool any = false;
  for (int i = 0; i < midpoint->n; i++) {
    const perp_contact *contact = &midpoint->contact[i];
    const double speed = perp_contact_speed(model->dim, midpoint->step.k.e, contact, 0,
                                            midpoint->before),
                 free = perp_contact_speed(model->dim, midpoint->step.k.e, contact, 0,
                                           midpoint->free);
    if (midpoint->problem == PERP_MIDPOINT_IMPACT)
      midpoint->kept[i] = contact->gap <= 2 * midpoint->slop;
    else
      midpoint->kept[i] = contact->gap + h * fmin(fmin(speed, free), 0) <= near &&
                          !midpoint_closes(midpoint, contact->id);
    if (midpoint->kept[i] && splits && midpoint_fast(midpoint, contact, speed, free)) {
      midpoint->kept[i] = 0;
      if (midpoint->problem == PERP_MIDPOINT_PREDICTS)
        midpoint->closing[midpoint->n_closing++] = (perp_midpoint_closing){ .contact = *contact,
                                                                            .speed = speed };
    }
    any |= midpoint->kept[i];
  }
  return any;
}

/* What the drives have to know of the problem at hand. */
static void midpoint_drives(perp_midpoint *s, double h)
{
  static const perp_drives_end end[] = { [PERP_MIDPOINT_PREDICTS] = PERP_DRIVES_PREDICT,
                                         [PERP_MIDPOINT_CORRECTS] = PERP_DRIVES_MIDDLE,
                                         [PERP_MIDPOINT_IMPACT] = PERP_DRIVES_IMPACT,
                                         [PERP_MIDPOINT_REST] = PERP_DRIVES_WHOLE };
  const perp_drives_part part = { .t = s->t_end - s->h,
                                  .h = h,
                                  .whole = s->step.grid.h,
                                  .threshold = s->o.threshold,
                                  .push = PUSH,
                                  .slop = s->slop,
                                  .near = 2 * midpoint_base(s, h),
                                  .predicted = s->predicted };
  perp_drives_of_part(s->drives, end[s->problem], &part);
}

/* All rows of the islands of task; limits that the answer of a whole step passes are further ones.
 */
static bool midpoint_islands(perp_midpoint *s, perp_island_task *task, double h, const double *v)
{
  perp_constrained *k = &s->step.k;
  const size_t size = (size_t)k->model->nv * sizeof *k->f;
  const bool again = s->drives != NULL && s->problem == PERP_MIDPOINT_REST;
  if (again) { /* no part is in the making: its arrays are free */
    memcpy(s->f, k->f, size);
    memcpy(s->mean, k->a, size);
  }
  for (int round = 0; round < PERP_DRIVE_ROUNDS; round++) {
    if (round > 0) {
      memcpy(k->f, s->f, size);
      memcpy(k->a, s->mean, size);
    }
    if (!perp_islands_step(s->islands, k, task, PERP_LEVEL_VELOCITY, h, v, &s->lcp_s)) return false;
    const int more = again ? perp_drives_missed(s->drives, k, h, v) : 0;
    if (more == 0) break;
    task->n_rows += more;
  }
  if (s->drives != NULL) perp_drives_accept(s->drives, h);
  return true;
}

/* In models with shapes. */
static bool midpoint_contacts(perp_midpoint *midpoint, double h, const double *v)
{
  perp_constrained *system = &midpoint->step.k;
  const perp_model *model = system->model;
  const bool impact = midpoint->problem == PERP_MIDPOINT_IMPACT;
  perp_twists(model, system->e, v, midpoint->before);
  perp_twists(model, system->e, system->a, midpoint->free);
  perp_midpoint_recall(midpoint);
  if (midpoint->n > 0)
    memset(midpoint->impulse, 0, 3 * (size_t)midpoint->n * sizeof *midpoint->impulse);
  perp_island_row *rows = NULL;
  const int n_rows = midpoint->drives != NULL
                         ? perp_drives_rows(midpoint->drives, system, h, v, &rows)
                         : 0;
  if (!midpoint_keep(midpoint, h) && n_rows == 0) {
    if (midpoint->drives != NULL) perp_drives_accept(midpoint->drives, h);
    return true;
  }
  for (int i = 0; i < midpoint->n; i++) {
    midpoint->slip[i] = 0;
    for (int j = 0; j < 3 && midpoint->known[i] != NULL && !impact; j++)
      midpoint->impulse[3 * i + j] = h * midpoint->known[i]->force[j];
  }
  perp_island_task task = { .contact = midpoint->contact,
                            .n = midpoint->n,
                            .kept = midpoint->kept,
                            .impulse = midpoint->impulse,
                            .slip = midpoint->slip,
                            .row = rows,
                            .n_rows = n_rows,
                            .h = h,
                            .before = midpoint->before,
                            .free = midpoint->free,
                            .belts = model->surfaces.belts,
                            .t_belts = impact ? system->e->t : midpoint->t_end,
                            .ahead = impact || midpoint->problem == PERP_MIDPOINT_REST
                                         ? NULL
                                         : midpoint->ahead,
                            .align = true,
                            .law = midpoint_law,
                            .user = midpoint };
  return midpoint_islands(midpoint, &task, h, v);
}

bool perp_midpoint_bounded(perp_midpoint *midpoint, double h, const double *v)
{
  if (midpoint->drives != NULL) midpoint_drives(midpoint, h);
  if (midpoint->islands != NULL) return midpoint_contacts(midpoint, h, v);
  return midpoint->drives == NULL || perp_drives_step(midpoint->drives, &midpoint->step.k, h, v);
}

/* ---- the step's ---- */

static bool midpoint_say_room(perp_midpoint *midpoint, int n)
{
  if (n <= midpoint->said.cap) return true;
  const int cap = n + n / 2 + 16;
  perp_contact *said = realloc(midpoint->said.contact, (size_t)cap * sizeof *said);
  if (said != NULL) midpoint->said.contact = said;
  double *impulse = realloc(midpoint->said.impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) midpoint->said.impulse = impulse;
  if (said == NULL || impulse == NULL) {
    midpoint->step.k.status = PERP_FAIL(midpoint->step.k.ctx, PERP_ERR_NOMEM,
                                        "no memory for %d contacts of a step", cap);
    return false;
  }
  midpoint->said.cap = cap;
  return true;
}

/* Contacts of a part come in the order of their id; so do those of the first part, at the head of
 * the list. */
bool perp_midpoint_say(perp_midpoint *s)
{
  const int before = s->said.n;
  if (!midpoint_say_room(s, before + s->n)) return false;
  if (before == 0) s->said.head = s->n;
  for (int i = 0, head = 0; i < s->n; i++) {
    const uint64_t id = s->contact[i].id;
    const int end = before == 0 ? 0 : s->said.head;
    while (head < end && s->said.contact[head].id < id) head++;
    int at = head < end && s->said.contact[head].id == id ? head : end;
    while (at < before && s->said.contact[at].id != id) at++;
    if (at >= before) {
      at = s->said.n++;
      s->said.contact[at] = s->contact[i];
      memset(s->said.impulse + 3 * (size_t)at, 0, 3 * sizeof *s->said.impulse);
    }
    for (int j = 0; j < 3; j++) s->said.impulse[3 * at + j] += s->impulse[3 * i + j];
  }
  return true;
}

bool perp_midpoint_strike(perp_midpoint *s, double t, bool *struck)
{
  perp_constrained *k = &s->step.k;
  const perp_model *model = k->model;
  *struck = false;
  s->problem = PERP_MIDPOINT_IMPACT;
  s->h = s->step.grid.h;
  s->t_end = t + s->h;
  if (s->drives != NULL) {
    midpoint_drives(s, s->h);
    *struck = perp_drives_strike(s->drives, k, s->step.v);
  }
  s->contact = s->start;
  s->n = s->n_start;
  for (int i = 0; i < s->n && !*struck; i++) {
    double u[3];
    perp_midpoint_velocity(model, k->e->pose, &s->contact[i], s->step.v, u);
    *struck = s->contact[i].gap <= 2 * s->slop && perp_dot(3, s->contact[i].n, u) < -s->o.threshold;
  }
  if (!*struck) return true;
  perp_eval_impulse(k->e, model, t, 0, s->step.v, k->f);
  if (model->m > 0) perp_constrained_product(k, s->step.v, k->c);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, s->step.grid.h, s->step.v) ||
      !perp_midpoint_bounded(s, s->step.grid.h, s->step.v))
    return false;
  for (int i = 0; s->drives != NULL && i < model->n_drives; i++)
    s->drive[i] += s->h * perp_drives_forces(s->drives)[i];
  memcpy(s->step.v, k->a, (size_t)model->nv * sizeof *s->step.v);
  for (int i = 0; i < model->m; i++) s->step.lambda[i] += k->lambda[i];
  for (int i = 0; i < s->n_memory; i++) s->memory[i].h = 0;
  if (s->drives != NULL) perp_drives_strike(s->drives, k, s->step.v); /* rates are other ones now */
  return perp_midpoint_say(s);
}
