/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which contact of this step was which of the last, what impulse it had (warm start), and whether
 * it slid. */
#include "models/contact/step/belts.h"
#include "models/contact/step/contacts_private.h"

#include <string.h>

/* where a contact is, in the frame of a moving body */
static void contacts_memory_place_of(const perp_contacts *c, const perp_eval *e,
                                     const perp_contact *x, double at[3])
{
  const int dim = c->model->dim;
  const perp_pose *pose = &e->pose[perp_contact_holder(x)];
  double middle[3], r[3] = { 0 };
  perp_contact_middle(x, middle);
  for (int i = 0; i < dim; i++) r[i] = middle[i] - pose->x[i];
  at[0] = at[1] = at[2] = 0;
  perp_turn_back(dim, pose->R, r, at);
}

static void contacts_memory_take(perp_contacts *c, int i, perp_contact_memory *m, double scale)
{
  c->friction[i] = m->friction;
  m->used = 1;
  c->pressed[i] = perp_dot(3, m->impulse, m->impulse) > 0;
  if (!c->o.warm) return;
  for (int k = 0; k < 3; k++) c->impulse[3 * i + k] = scale * m->impulse[k];
  for (int k = 0; k < 3 && c->couple != NULL; k++) c->couple[3 * i + k] = scale * m->couple[k];
  c->slip[i] = m->slip;
  c->fresh[i] = m->fresh;
  c->origin[i] = m->id;
}

/* For a contact of a pair of shapes without a namesake: the nearest one within a tenth of the body.
 */
static void take_nearest(perp_contacts *c, const perp_eval *e, int i, int first, int end,
                         double scale)
{
  const perp_contact *x = &c->contact[i];
  double at[3], reach = c->reach[perp_contact_holder(x)], best = 0.1 * reach;
  int found = -1;
  contacts_memory_place_of(c, e, x, at);
  for (int k = first; k < end; k++) {
    const perp_contact_memory *m = &c->before[k];
    double d = hypot(hypot(at[0] - m->at[0], at[1] - m->at[1]), at[2] - m->at[2]);
    if (m->used || !(d < best)) continue;
    best = d;
    found = k;
  }
  if (found >= 0) contacts_memory_take(c, i, &c->before[found], scale);
}

/* Contacts i ... stop - 1 and memories first ... end - 1, all those of one pair of shapes: by name,
 * then by place. */
static void recall_pair(perp_contacts *c, const perp_eval *e, int i, int stop, int first, int end,
                        double scale)
{
  unsigned nameless = 0; /* a bit for each contact, at most PERP_MANIFOLD_MAX */
  for (int k = first; k < end; k++) c->before[k].used = 0;
  for (int l = i, at = first; l < stop; l++) {
    while (at < end && c->before[at].id < c->contact[l].id) at++;
    if (at < end && c->before[at].id == c->contact[l].id)
      contacts_memory_take(c, l, &c->before[at++], scale);
    else
      nameless |= 1u << (l - i);
  }
  for (int l = i; nameless != 0 && l < stop; l++)
    if (nameless >> (l - i) & 1) take_nearest(c, e, l, first, end, scale);
}

/* what the members of a team do for a share of the contacts each */
typedef struct job {
  perp_contacts *c;
  const perp_eval *e;
  double scale;
} job;

/* the first contact at or after `at` that is not of the same pair as the one before it */
static int pair_start(const perp_contacts *c, int at)
{
  while (at > 0 && at < c->n &&
         perp_contact_pair(c->contact[at].id) == perp_contact_pair(c->contact[at - 1].id))
    at++;
  return at;
}

/* the first memory of this pair of shapes or a later one */
static int memory_of(const perp_contacts *c, uint64_t pair)
{
  int low = 0, high = c->n_before;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (perp_contact_pair(c->before[middle].id) < pair)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void recall_share(void *user, int member, int members)
{
  const job *all = user;
  perp_contacts *c = all->c;
  int i = pair_start(c, perp_share(c->n, member, members));
  const int end = pair_start(c, perp_share(c->n, member + 1, members));
  if (i >= end) return;
  memset(c->impulse + (size_t)3 * (size_t)i, 0, (size_t)3 * (size_t)(end - i) * sizeof(double));
  if (c->couple != NULL)
    memset(c->couple + (size_t)3 * (size_t)i, 0, (size_t)3 * (size_t)(end - i) * sizeof(double));
  memset(c->slip + i, 0, (size_t)(end - i) * sizeof *c->slip);
  memset(c->fresh + i, 0, (size_t)(end - i) * sizeof *c->fresh);
  memset(c->pressed + i, 0, (size_t)(end - i) * sizeof *c->pressed);
  memset(c->friction + i, PERP_FRICTION_NEW, (size_t)(end - i) * sizeof *c->friction);
  for (int l = i; l < end; l++) c->origin[l] = PERP_NO_ORIGIN;
  if (all->scale == 0) return;
  for (int stop, at = memory_of(c, perp_contact_pair(c->contact[i].id)); i < end; i = stop) {
    const uint64_t pair = perp_contact_pair(c->contact[i].id);
    for (stop = i + 1; stop < end && perp_contact_pair(c->contact[stop].id) == pair;) stop++;
    while (at < c->n_before && perp_contact_pair(c->before[at].id) < pair) at++;
    const int first = at;
    while (at < c->n_before && perp_contact_pair(c->before[at].id) == pair) at++;
    if (at > first) recall_pair(c, all->e, i, stop, first, at, all->scale);
  }
}

/* Guesses: both lists are sorted alike.  Where two faces meet, the features that name a contact may
 * change although nothing moves; such contacts are found by their place. */
void perp_contacts_recall(perp_contacts *c, const perp_eval *e, double h)
{
  job all = { c, e, c->h > 0 ? h / c->h : 0 };
  perp_team(perp_contacts_team(c), recall_share, &all);
}

void perp_contacts_recall_part(perp_contacts *c, double h)
{
  const double scale = c->o.warm && c->h > 0 ? h / c->h : 0;
  for (int i = 0; i < 3 * c->n; i++) c->impulse[i] *= scale;
  for (int i = 0; i < 3 * c->n && c->couple != NULL; i++) c->couple[i] *= scale;
}

/* ---- sticking and sliding ---- */

/* Does a contact with the impulse P slide at u?  Below rounding, which goes to zero with the step,
 * nothing slides.  What a solution may leave of a speed that is zero says nothing by itself: the
 * residual, a part of what the impulse changes of it and of the speeds that are its data, the
 * largest one `speed`.  It slides if friction is at its limit, against u. */
static bool contacts_memory_slides(const perp_contacts *c, const perp_contact *x, const double *P,
                                   const double *u, double speed)
{
  static const double FULL = 1 - 1e-6, AGAINST = -0.99;
  const double normal = perp_dot(3, x->n, P), slip = sqrt(perp_dot(3, u, u));
  double inverse = 0;
  for (int side = 0; side < 2; side++)
    if (x->body[side] >= 0) inverse += 1 / c->model->inertia[x->body[side]].mass;
  const double force = inverse * sqrt(perp_dot(3, P, P));
  if (!(slip > fmax(10 * perp_contacts_closed(&c->o), 1e-12) * force + 1e-13 * speed)) return false;
  if (slip > 10 * c->o.residual * (force + speed)) return true;
  double along[3];
  for (int k = 0; k < 3; k++) along[k] = P[k] - normal * x->n[k];
  const double friction = sqrt(perp_dot(3, along, along));
  return friction >= FULL * c->mu[x - c->contact] * normal &&
         perp_dot(3, along, u) <= AGAINST * friction * slip;
}

/* along the surface: velocity of b relative to a with the twists, and of the surfaces themselves;
 * the largest term */
static double contacts_memory_along(const perp_contacts *c, const perp_eval *e,
                                    const perp_contact *x, double t, const double *twist,
                                    double u[3])
{
  double belt[3] = { 0 };
  perp_contact_velocity(c->model->dim, e, x, twist, u);
  const double normal = perp_dot(3, x->n, u);
  for (int i = 0; i < 3; i++) u[i] -= normal * x->n[i];
  if (c->model->surfaces.belts) perp_belts_velocity(c->model, e, x, t, belt);
  const double largest = fmax(sqrt(perp_dot(3, u, u)), sqrt(perp_dot(3, belt, belt)));
  for (int i = 0; i < 3; i++) u[i] += belt[i];
  return fmax(largest, fabs(normal));
}

int perp_contacts_friction(perp_contacts *c, const perp_eval *e, double h, const double *v,
                           bool reversals)
{
  int found = 0;
  for (int i = 0; i < c->n; i++) {
    const perp_contact *x = &c->contact[i];
    const double *P = c->impulse + 3 * (size_t)i;
    double u[3], before[3];
    if (!c->kept[i] || !(perp_dot(3, x->n, P) > 0)) {
      if (!reversals) c->friction[i] = PERP_FRICTION_NEW;
      continue;
    }
    if (reversals && (c->friction[i] != PERP_FRICTION_SLIDES || x->mu == x->mu_dynamic)) continue;
    if (!reversals && x->mu == x->mu_dynamic) continue;
    for (int side = 0; side < 2; side++)
      if (x->body[side] >= 0) perp_twist(c->model, e, x->body[side], v, c->free);
    const double speed = contacts_memory_along(c, e, x, e->t + h, c->free, u);
    const bool slides = contacts_memory_slides(c, x, P, u, speed);
    if (!reversals) {
      c->friction[i] = slides ? PERP_FRICTION_SLIDES : PERP_FRICTION_STICKS;
      continue;
    }
    contacts_memory_along(c, e, x, e->t, c->before_step, before);
    if (!slides || !(perp_dot(3, u, before) < 0)) continue;
    c->friction[i] = PERP_FRICTION_STICKS;
    found++;
  }
  return found;
}

/* of two bodies at rest: not looked for, but of use when they wake */
static bool contacts_memory_dormant(const perp_contacts *c, const perp_contact_memory *m)
{
  const unsigned char *asleep = perp_sleep_asleep(c->sleep);
  const int a = c->model->shape_def[perp_contact_shape_a(m->id)].body,
            b = c->model->shape_def[perp_contact_shape_b(m->id)].body;
  return (a < 0 || asleep[a]) && (b < 0 || asleep[b]);
}

static void contacts_memory_keep(const perp_contacts *c, const perp_eval *e, int i,
                                 perp_contact_memory *m)
{
  const perp_contact *x = &c->contact[i];
  m->id = x->id;
  memcpy(m->impulse, c->impulse + (size_t)3 * (size_t)i, sizeof m->impulse);
  if (c->couple != NULL) memcpy(m->couple, c->couple + (size_t)3 * (size_t)i, sizeof m->couple);
  m->slip = c->slip[i];
  m->fresh = c->fresh[i];
  m->friction = c->friction[i];
  if (!c->ball[x->shape[0]] && !c->ball[x->shape[1]]) contacts_memory_place_of(c, e, x, m->at);
}

static void remember_share(void *user, int member, int members)
{
  const job *all = user;
  const int end = perp_share(all->c->n, member + 1, members);
  for (int i = perp_share(all->c->n, member, members); i < end; i++)
    contacts_memory_keep(all->c, all->e, i, &all->c->after[i]);
}

/* With those of bodies at rest: merge of both lists, which are sorted alike. */
static int remember_dormant(perp_contacts *c, const perp_eval *e, double scale)
{
  int n = 0, k = 0;
  for (int i = 0; i <= c->n; i++) {
    for (; k < c->n_before && (i == c->n || c->before[k].id <= c->contact[i].id); k++) {
      if (!contacts_memory_dormant(c, &c->before[k])) continue;
      c->after[n] = c->before[k];
      for (int q = 0; q < 3; q++) c->after[n].impulse[q] *= scale;
      for (int q = 0; q < 3 && c->couple != NULL; q++) c->after[n].couple[q] *= scale;
      n++;
    }
    if (i < c->n) contacts_memory_keep(c, e, i, &c->after[n++]);
  }
  return n;
}

void perp_contacts_remember(perp_contacts *c, const perp_eval *e, double h)
{
  job all = { c, e, c->h > 0 ? h / c->h : 0 };
  if (c->sleep != NULL) {
    c->n_before = remember_dormant(c, e, all.scale);
  } else {
    perp_team(perp_contacts_team(c), remember_share, &all);
    c->n_before = c->n;
  }
  perp_contact_memory *swap = c->before;
  c->before = c->after;
  c->after = swap;
  c->h = h;
}

/* Steps that are made again: what is remembered of their contacts. */
static void contacts_keep_layout(void *aside, perp_arena *a)
{
  perp_contacts_aside *kept = aside;
  kept->memory = PERP_CARVE(a, perp_contact_memory, kept->cap);
}

perp_status perp_contacts_keep(perp_ctx *ctx, perp_contacts *c, perp_step_end which)
{
  perp_contacts_aside *kept = &c->aside[which];
  if (c->n_before > kept->cap) {
    perp_arena_free(&kept->arena);
    kept->cap = c->cap;
    const perp_status status = perp_arena_layout(ctx, &kept->arena, contacts_keep_layout, kept);
    if (status != PERP_OK) kept->cap = 0;
    PERP_TRY(status);
  }
  kept->n = c->n_before;
  kept->h = c->h;
  if (c->n_before > 0) memcpy(kept->memory, c->before, (size_t)c->n_before * sizeof *c->before);
  return PERP_OK;
}

void perp_contacts_put_back(perp_contacts *c, perp_step_end which)
{
  const perp_contacts_aside *kept = &c->aside[which];
  c->n_before = kept->n; /* there is room: arrays only grow */
  c->h = kept->h;
  if (c->n_before > 0) memcpy(c->before, kept->memory, (size_t)c->n_before * sizeof *c->before);
}
