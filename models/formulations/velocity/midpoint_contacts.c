/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of a part of a step: found, remembered, solved for. */
#include "models/formulations/velocity/midpoint.h"

#include "models/contact/step/belts.h"

#include <stdlib.h>
#include <string.h>

/* ---- found ---- */

static void midpoint_layout_grown(void *ws, perp_arena *a)
{
  perp_midpoint *s = ws;
  const size_t n = (size_t)s->cap;
  PERP_DOUBLES(a, 3 * n, &s->impulse, &s->curve, &s->ahead);
  s->slip = PERP_CARVE(a, double, n);
  s->kept = PERP_CARVE(a, unsigned char, n);
  s->known = PERP_CARVE(a, perp_midpoint_memory *, n);
  s->memory = PERP_CARVE(a, perp_midpoint_memory, n);
  s->next = PERP_CARVE(a, perp_midpoint_memory, n);
  s->closing = PERP_CARVE(a, perp_midpoint_closing, n);
}

/* room for n contacts; what is remembered stays */
static perp_status midpoint_reserve(perp_midpoint *s, int n)
{
  if (n <= s->cap) return PERP_OK;
  perp_arena old = s->grown;
  const perp_midpoint_memory *memory = s->memory;
  const perp_midpoint_closing *closing = s->closing;
  s->grown = (perp_arena){ 0 };
  s->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(s->step.k.ctx, &s->grown, midpoint_layout_grown, s);
  if (status != PERP_OK) s->cap = s->n_memory = s->n_closing = 0;
  if (s->n_memory > 0) memcpy(s->memory, memory, (size_t)s->n_memory * sizeof *memory);
  if (s->n_closing > 0) memcpy(s->closing, closing, (size_t)s->n_closing * sizeof *closing);
  perp_arena_free(&old);
  return status;
}

/* what gravity closes in a step, twice, and rounding */
static double midpoint_base(const perp_midpoint *s, double h)
{
  const perp_model *model = s->step.k.model;
  return 2 * h * h * fabs(perp_model_gravity_at(model, s->step.grid.t)) + 1e-6 * model->size;
}

bool perp_midpoint_find(perp_midpoint *s, perp_collision *collision, double h,
                        const perp_contact **contact, int *n)
{
  const perp_model *model = s->step.k.model;
  perp_constrained *k = &s->step.k;
  const double start = perp_constrained_clock(k);
  const double motors = s->drives != NULL ? perp_drives_speed(s->drives, s->step.grid.t + h) : 0;
  const double margin = midpoint_base(s, h) +
                        h * (perp_closing_speed(model, s->step.v, s->reach) + 2 * motors);
  if (!isfinite(margin)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  perp_collision_margin(collision, margin);
  k->status = perp_collision_find(k->ctx, collision, k->e->pose, contact, n);
  if (k->status == PERP_OK) k->status = midpoint_reserve(s, *n);
  s->collision_s += perp_constrained_clock(k) - start;
  return k->status == PERP_OK;
}

void perp_midpoint_velocity(const perp_model *model, const perp_pose *pose, const perp_contact *x,
                            const double *v, double u[3])
{
  double p[3];
  perp_contact_middle(x, p);
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int body = x->body[side];
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

void perp_midpoint_recall(perp_midpoint *s)
{
  int at = 0;
  for (int i = 0; i < s->n; i++) {
    while (at < s->n_memory && s->memory[at].id < s->contact[i].id) at++;
    s->known[i] = at < s->n_memory && s->memory[at].id == s->contact[i].id ? &s->memory[at] : NULL;
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

int perp_midpoint_pair(const perp_midpoint *s, int first, double *used)
{
  double normal = 0, along[3] = { 0 };
  int i = first;
  for (; i < s->n && perp_contact_pair(s->contact[i].id) == perp_contact_pair(s->contact[first].id);
       i++) {
    const double *P = s->impulse + 3 * (size_t)i, *n = s->contact[i].n, pressed = perp_dot(3, P, n);
    normal += s->contact[i].mu * pressed;
    for (int j = 0; j < 3; j++) along[j] += P[j] - pressed * n[j];
  }
  *used = normal > 0 ? sqrt(perp_dot(3, along, along)) / normal : 0;
  return i;
}

double perp_midpoint_rate(const perp_midpoint *s, const perp_midpoint_memory *m, double used)
{
  return m != NULL && m->h > 0 ? (used - m->used) / ((s->h + m->h) / 2) : 0;
}

void perp_midpoint_release(perp_midpoint *s, int first)
{
  double used;
  const int end = perp_midpoint_pair(s, first, &used);
  for (int i = first; i < end; i++)
    if (s->known[i] != NULL) s->known[i]->slides = 1;
}

void perp_midpoint_remember(perp_midpoint *s)
{
  int n = 0;
  double used = 0;
  for (int i = 0, end = 0; i < s->n; i++) {
    const double *P = s->impulse + 3 * (size_t)i;
    perp_midpoint_memory *m = &s->next[n];
    double u[3], left;
    if (i >= end) end = perp_midpoint_pair(s, i, &used);
    if (!s->kept[i] || !(perp_dot(3, P, s->contact[i].n) > 0)) continue;
    *m = (perp_midpoint_memory){ .id = s->contact[i].id, .h = s->h };
    for (int j = 0; j < 3; j++) m->force[j] = P[j] / s->h;
    if (s->contact[i].mu != s->contact[i].mu_dynamic) {
      m->slides = perp_midpoint_sliding(s, i, u, &left) > left;
      m->used = used;
      m->rate = perp_midpoint_rate(s, s->known[i], used);
      if (s->known[i] != NULL && s->known[i]->slides && !m->slides)
        m->h = 0; /* it was another law */
    }
    n++;
  }
  perp_midpoint_memory *swap = s->memory;
  s->memory = s->next;
  s->next = swap;
  s->n_memory = n;
}

/* ---- solved for ---- */

static double midpoint_bias(const perp_midpoint *s, const perp_contact *x, double h, double before,
                            double free)
{
  const bool bounces = x->e > 0 && before < -s->o.threshold;
  if (s->problem == PERP_MIDPOINT_IMPACT) return bounces ? x->e * before : 0;
  if (s->problem == PERP_MIDPOINT_REST && bounces && x->gap + h * free <= 0) return x->e * before;
  if (x->gap > s->slop) return x->gap / h;
  return x->gap < -s->slop ? fmax(x->gap / s->step.grid.h, -s->o.push) : 0;
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

static bool midpoint_closes(const perp_midpoint *s, uint64_t id)
{
  for (int i = 0; i < s->n_closing; i++)
    if (s->closing[i].contact.id == id) return true;
  return false;
}

/* Is it open, and would it close faster than the threshold, by its speed and the acceleration
 * without contacts? */
static bool midpoint_fast(const perp_midpoint *s, const perp_contact *x, double speed, double free)
{
  const double pull = fmax(0, speed - free) / s->h;
  return x->gap > s->slop && fmin(speed, free) < 0 &&
         speed * speed + 2 * pull * x->gap > s->o.threshold * s->o.threshold;
}

/* Which contacts have rows: those that are near, but for fast ones, whose meeting is the end of the
 * part. */
static bool midpoint_keep(perp_midpoint *s, double h)
{
  const perp_model *model = s->step.k.model;
  const double near = 2 * midpoint_base(s, h);
  const bool splits = s->problem == PERP_MIDPOINT_PREDICTS || s->problem == PERP_MIDPOINT_CORRECTS;
  bool any = false;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    const double speed = perp_contact_speed(model->dim, s->step.k.e, x, 0, s->before),
                 free = perp_contact_speed(model->dim, s->step.k.e, x, 0, s->free);
    if (s->problem == PERP_MIDPOINT_IMPACT)
      s->kept[i] = x->gap <= 2 * s->slop;
    else
      s->kept[i] = x->gap + h * fmin(fmin(speed, free), 0) <= near && !midpoint_closes(s, x->id);
    if (s->kept[i] && splits && midpoint_fast(s, x, speed, free)) {
      s->kept[i] = 0;
      if (s->problem == PERP_MIDPOINT_PREDICTS)
        s->closing[s->n_closing++] = (perp_midpoint_closing){ .contact = *x, .speed = speed };
    }
    any |= s->kept[i];
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
                                  .push = s->o.push,
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
static bool midpoint_contacts(perp_midpoint *s, double h, const double *v)
{
  perp_constrained *k = &s->step.k;
  const perp_model *model = k->model;
  const bool impact = s->problem == PERP_MIDPOINT_IMPACT;
  perp_twists(model, k->e, v, s->before);
  perp_twists(model, k->e, k->a, s->free);
  perp_midpoint_recall(s);
  if (s->n > 0) memset(s->impulse, 0, 3 * (size_t)s->n * sizeof *s->impulse);
  perp_island_row *rows = NULL;
  const int n_rows = s->drives != NULL ? perp_drives_rows(s->drives, k, h, v, &rows) : 0;
  if (!midpoint_keep(s, h) && n_rows == 0) {
    if (s->drives != NULL) perp_drives_accept(s->drives, h);
    return true;
  }
  for (int i = 0; i < s->n; i++) {
    s->slip[i] = 0;
    for (int j = 0; j < 3 && s->known[i] != NULL && !impact; j++)
      s->impulse[3 * i + j] = h * s->known[i]->force[j];
  }
  perp_island_task task = { .contact = s->contact,
                            .n = s->n,
                            .kept = s->kept,
                            .impulse = s->impulse,
                            .slip = s->slip,
                            .row = rows,
                            .n_rows = n_rows,
                            .h = h,
                            .before = s->before,
                            .free = s->free,
                            .belts = model->surfaces.belts,
                            .t_belts = impact ? k->e->t : s->t_end,
                            .ahead = impact || s->problem == PERP_MIDPOINT_REST ? NULL : s->ahead,
                            .align = true,
                            .law = midpoint_law,
                            .user = s };
  return midpoint_islands(s, &task, h, v);
}

bool perp_midpoint_bounded(perp_midpoint *s, double h, const double *v)
{
  if (s->drives != NULL) midpoint_drives(s, h);
  if (s->islands != NULL) return midpoint_contacts(s, h, v);
  return s->drives == NULL || perp_drives_step(s->drives, &s->step.k, h, v);
}

/* ---- the step's ---- */

static bool midpoint_say_room(perp_midpoint *s, int n)
{
  if (n <= s->said.cap) return true;
  const int cap = n + n / 2 + 16;
  perp_contact *said = realloc(s->said.contact, (size_t)cap * sizeof *said);
  if (said != NULL) s->said.contact = said;
  double *impulse = realloc(s->said.impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) s->said.impulse = impulse;
  if (said == NULL || impulse == NULL) {
    s->step.k.status = PERP_FAIL(s->step.k.ctx, PERP_ERR_NOMEM,
                                 "no memory for %d contacts of a step", cap);
    return false;
  }
  s->said.cap = cap;
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
