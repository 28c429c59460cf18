/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contacts of a time step: found, matched with those of the step before, chosen, remembered. */
#include "models/contact/step/step_contacts.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_LISTS = 1 + PERP_ENDS };

/* ---- life ---- */

static void step_contacts_layout(void *ws, perp_arena *arena)
{
  perp_contacts *contacts = ws;
  contacts->reach = PERP_CARVE(arena, double, contacts->model->n_bodies);
  contacts->f = PERP_CARVE(arena, double, contacts->model->nv);
  PERP_DOUBLES(arena, 6 * (size_t)contacts->model->n_bodies, &contacts->twist_before,
               &contacts->twist_free);
  contacts->detect.q_ahead = PERP_CARVE(arena, double, contacts->model->nq);
  contacts->ball = PERP_CARVE(arena, bool, contacts->model->n_shapes);
  contacts->met = PERP_CARVE(arena, bool, contacts->model->n_bodies);
  PERP_DOUBLES(arena, contacts->second.on ? contacts->model->nv : 0, &contacts->second.v_kept,
               &contacts->second.v_moving);
}

static void step_contacts_grown(void *ws, perp_arena *arena)
{
  perp_contacts *contacts = ws;
  contacts->task.impulse = PERP_CARVE(arena, double, 3 * (size_t)contacts->cap);
  contacts->task.couple = contacts->model->surfaces.couples
                              ? PERP_CARVE(arena, double, 3 * (size_t)contacts->cap)
                              : NULL;
  PERP_DOUBLES(arena, contacts->cap, &contacts->task.slip, &contacts->mu);
  contacts->kept = PERP_CARVE(arena, unsigned char, contacts->cap);
  contacts->task.fresh = PERP_CARVE(arena, unsigned char, contacts->cap);
  contacts->memory.pressed = PERP_CARVE(arena, unsigned char, contacts->cap);
  contacts->memory.friction = PERP_CARVE(arena, unsigned char, contacts->cap);
  const int parted = contacts->o.substeps > 1 ? contacts->cap : 0,
            second = contacts->second.on ? contacts->cap : 0;
  contacts->parts.carried = PERP_CARVE(arena, perp_contact, parted);
  contacts->parts.carry = PERP_CARVE(arena, perp_contact_carry, parted);
  contacts->parts.total = PERP_CARVE(arena, double, 3 * (size_t)parted);
  PERP_DOUBLES(arena, second, &contacts->second.approach, &contacts->second.reached);
  contacts->second.rebounds = PERP_CARVE(arena, bool, second);
  contacts->origin = PERP_CARVE(arena, uint64_t, contacts->cap);
  contacts->task.kept = contacts->kept;
  contacts->task.origin = contacts->origin;
  contacts->memory.after = PERP_CARVE(arena, perp_contact_memory, contacts->cap);
  for (int i = 0; i < STEP_LISTS; i++)
    contacts->memory.list[i].x = PERP_CARVE(arena, perp_contact_memory,
                                            i == 0 || contacts->again ? contacts->cap : 0);
}

/* room for n contacts; what is remembered stays, where there is memory */
static perp_status step_contacts_reserve(perp_ctx *ctx, perp_contacts *contacts, int n)
{
  if (n <= contacts->cap) return PERP_OK;
  perp_arena old = contacts->grown;
  perp_contacts_memory before = contacts->memory;
  contacts->grown = (perp_arena){ 0 };
  contacts->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &contacts->grown, step_contacts_grown,
                                               contacts);
  if (status != PERP_OK) contacts->cap = 0;
  for (int i = 0; i < STEP_LISTS; i++) {
    if (status != PERP_OK) contacts->memory.list[i].n = 0;
    if (contacts->memory.list[i].n > 0)
      memcpy(contacts->memory.list[i].x, before.list[i].x,
             (size_t)contacts->memory.list[i].n * sizeof *before.list[i].x);
  }
  perp_arena_free(&old);
  return status;
}

void perp_contacts_destroy(perp_contacts *contacts)
{
  if (contacts == NULL) return;
  perp_collision_destroy(contacts->detect.now);
  perp_collision_destroy(contacts->detect.ahead);
  perp_islands_destroy(contacts->islands);
  perp_contact_post_destroy(contacts->post);
  perp_sleep_destroy(contacts->sleep);
  if (contacts->stab != NULL) contacts->stab->destroy(contacts->stab_ws);
  perp_arena_free(&contacts->grown);
  free(contacts);
}

/* Steps whose length follows their error tell sliding from sticking by what is left of a speed that
 * is zero: their problems are solved to this part of the tolerances where the solver can. */
static const double CLOSE = 1e-4;

/* Collision detection at the end of steps. */
static perp_status step_contacts_ahead(perp_ctx *ctx, perp_contacts *contacts)
{
  PERP_TRY(perp_collision_create(ctx, contacts->model, 0, &contacts->detect.ahead));
  perp_collision_tolerance(contacts->detect.ahead, contacts->o.tolerance);
  if (contacts->sleep != NULL)
    perp_collision_rest(contacts->detect.ahead, perp_sleep_asleep(contacts->sleep));
  return PERP_OK;
}

static perp_status step_contacts_open(perp_ctx *ctx, perp_contacts *contacts,
                                      const perp_parts *parts)
{
  const perp_model *model = contacts->model;
  if (parts->contact.d->caps & PERP_CONTACT_RELAXED)
    for (int i = 0; i < model->n_shapes; i++)
      contacts->relaxed = fmax(contacts->relaxed, model->shape_def[i].surface.mu);
  PERP_TRY(perp_contact_stab(ctx, parts, &contacts->stab, &contacts->stab_ws));
  PERP_TRY(perp_collision_create(ctx, model, 0, &contacts->detect.now));
  perp_collision_tolerance(contacts->detect.now, contacts->o.tolerance);
  bool rows = contacts->o.joints == PERP_JOINTS_ROWS ||
              (contacts->o.joints == PERP_JOINTS_AUTO && parts->kkt.d != NULL &&
               (parts->kkt.d->caps & PERP_KKT_ITERATIVE));
  if (rows && model->m > 0 && perp_impact_single(contacts->o.impact))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s needs joints that are eliminated from contact problems: use "
                     "joints=eliminate, with a KKT solver that is not iterative",
                     perp_impact_names[contacts->o.impact]);
  const perp_contact_setup solving = { .tol = contacts->o.residual,
                                       .tol_data = PERP_CONTACT_TOL_DATA,
                                       .budget = contacts->o.budget,
                                       .part = contacts->o.closed > 0 ? CLOSE : 0,
                                       .choice = contacts->o.choice };
  PERP_TRY(perp_contacts_islands(ctx, model, parts, &solving, contacts->o.threads, rows,
                                 &contacts->islands));
  if (contacts->o.sleep) {
    PERP_TRY(perp_sleep_create(ctx, model, contacts->o.sleep_time, contacts->o.sleep_velocity,
                               contacts->reach, &contacts->sleep));
    perp_collision_rest(contacts->detect.now, perp_sleep_asleep(contacts->sleep));
  }
  if (contacts->o.halvings > 0) PERP_TRY(step_contacts_ahead(ctx, contacts));
  if (perp_contacts_mode(&contacts->o) != PERP_CONTACTS_RIGID)
    return PERP_OK; /* what is deep is under load */
  double size = 0;
  for (int b = 0; b < model->n_bodies; b++) size = fmax(size, contacts->reach[b]);
  const perp_contact_post_setup setup = { .tol = contacts->o.residual,
                                          .tol_data = PERP_CONTACT_TOL_DATA,
                                          .budget = contacts->o.budget,
                                          .slop = contacts->slop,
                                          .size = size,
                                          .threshold = contacts->o.threshold,
                                          .rubs = true,
                                          .threads = contacts->o.threads,
                                          .rows = rows,
                                          .sleep = contacts->sleep };
  PERP_TRY(perp_contact_post_create(ctx, model, parts, contacts->stab, contacts->stab_ws, &setup,
                                    &contacts->post));
  return contacts->post == NULL || contacts->detect.ahead != NULL
             ? PERP_OK
             : step_contacts_ahead(ctx, contacts);
}

perp_status perp_contacts_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *opts, perp_contacts **out)
{
  perp_contacts like = { .model = model, .o = *opts };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_contacts_check(ctx, model, opts, parts));
  like.impact = (perp_impact_rule){ .law = opts->impact,
                                    .tangential = opts->tangential,
                                    .threshold = opts->threshold };
  like.again = opts->halvings > 0 || opts->closed > 0;
  like.second.on = opts->substeps > 1 || opts->frequency > 0 || perp_contacts_relaxes(opts);
  PERP_TRY(perp_workspace_create(ctx, "contacts", &like, sizeof like, step_contacts_layout, &ws));
  perp_contacts *contacts = ws;
  contacts->task.reuse = opts->reuse ? opts->residual : 0;
  contacts->task.before = contacts->twist_before;
  contacts->task.free = contacts->twist_free;
  contacts->task.belts = model->surfaces.belts;
  contacts->task.align = opts->align == PERP_ALIGN_SLIP;
  contacts->task.impact = opts->impact != PERP_IMPACT_NEWTON ? &contacts->impact : NULL;
  contacts->task.user = contacts;
  perp_contacts_reach(model, contacts->reach);
  for (int i = 0; i < model->n_shapes; i++)
    contacts->ball[i] = model->shape_def[i].kind == PERP_SHAPE_SPHERE;
  for (int b = 0; b < model->n_bodies; b++)
    contacts->slop = fmax(contacts->slop, perp_contacts_closed(opts) * contacts->reach[b]);
  perp_status status = step_contacts_open(ctx, contacts, parts);
  if (status != PERP_OK) {
    perp_contacts_destroy(contacts);
    return status;
  }
  *out = contacts;
  return PERP_OK;
}

void perp_contacts_restart(perp_contacts *contacts)
{
  contacts->task.n = 0;
  for (int i = 0; i < STEP_LISTS; i++)
    contacts->memory.list[i].n = 0, contacts->memory.list[i].h = 0;
  contacts->parts.now = (perp_contact_part){ .first = true,
                                             .last = true }; /* the start is corrected, too */
  contacts->swept = contacts->second.keeps = false;
  contacts->detect.margin = contacts->detect.corrected = 0;
  contacts->collision_s = contacts->lcp_s = 0;
  if (contacts->sleep != NULL) perp_sleep_restart(contacts->sleep);
  perp_islands_restart(contacts->islands);
  if (contacts->post != NULL) perp_contact_post_restart(contacts->post);
  contacts->detect.ahead_holds = false;
}

/* contacts that are worth a team */
enum { TEAM_CONTACTS = 500 };

static int step_contacts_team(const perp_contacts *contacts)
{
  return contacts->task.n >= TEAM_CONTACTS ? contacts->o.threads : 1;
}

/* ---- detect ---- */

/* a contact left out is taken in when it would be this deep at the end of the step, m */
static const double LATE = 1e-12;

/* Without gap closed contacts are all there are, and a correction of the depth d at the end of the
 * step before has left some of them open by O(d^2 / size), as bodies have turned: without these
 * their bodies fall on, are put back in each step, and their speed grows. */
static double step_contacts_base(const perp_contacts *contacts, double h)
{
  const perp_model *model = contacts->model;
  const double rounding = 1e-6 * model->size, d = contacts->detect.corrected;
  if (!contacts->o.gap) return rounding + d * d / model->size;
  return 2 * h * h * fabs(perp_model_gravity_at(model, contacts->detect.t)) + rounding;
}

static double step_contacts_margin(const perp_contacts *contacts, double h, double drive_speed,
                                   const double *v)
{
  const double base = step_contacts_base(contacts, h);
  const double fastest = (1 + contacts->relaxed) *
                         perp_closing_speed(contacts->model, v, contacts->reach);
  return contacts->o.gap ? base + h * fastest + h * drive_speed : base;
}

static perp_status step_contacts_find(perp_contacts *contacts, perp_constrained *system,
                                      perp_collision *collision, const perp_contact **contact,
                                      int *n)
{
  const int before = system->ctx->threads;
  system->ctx->threads = contacts->o.threads;
  const perp_status status = perp_collision_find(system->ctx, collision, system->e->pose, contact,
                                                 n);
  system->ctx->threads = before;
  return status;
}

bool perp_contacts_look_ahead(perp_contacts *contacts, perp_constrained *system, double t,
                              const double *q)
{
  const double start = perp_constrained_clock(system);
  perp_constrained_at(system, t, q);
  /* enough for the next step of bodies that fall */
  contacts->detect.margin_ahead = contacts->o.gap && contacts->detect.margin > 0
                                      ? 1.25 * contacts->detect.margin +
                                            2 * contacts->parts.now.whole *
                                                contacts->parts.now.whole *
                                                fabs(perp_model_gravity_at(contacts->model, t))
                                      : 1e-3 * contacts->model->size;
  perp_collision_margin(contacts->detect.ahead, contacts->detect.margin_ahead);
  system->status = step_contacts_find(contacts, system, contacts->detect.ahead,
                                      &contacts->detect.contact_ahead, &contacts->detect.n_ahead);
  contacts->collision_s += perp_constrained_clock(system) - start;
  return system->status == PERP_OK;
}

/* Where nothing was corrected they are those that the end of the step before was looked at with,
 * when that was as far. */
static perp_status step_contacts_find_start(perp_contacts *contacts, perp_constrained *system)
{
  perp_contacts_detection *detection = &contacts->detect;
  const size_t size = (size_t)contacts->model->nq * sizeof *detection->q_ahead;
  const bool known = detection->ahead_holds && detection->margin <= detection->margin_ahead &&
                     memcmp(detection->q_ahead, system->q_at[system->e - system->eval], size) == 0;
  detection->ahead_holds = false;
  if (!known) {
    perp_collision_margin(detection->now, detection->margin);
    return step_contacts_find(contacts, system, detection->now, &contacts->task.contact,
                              &contacts->task.n);
  }
  perp_collision *other = detection->now;
  detection->now = detection->ahead;
  detection->ahead = other;
  contacts->task.contact = detection->contact_ahead;
  contacts->task.n = detection->n_ahead;
  return PERP_OK;
}

/* ---- choose ---- */

typedef struct choice {
  perp_contacts *c;
  const perp_eval *e;
  double h, base;
  const double *v, *a; /* velocities before the step, and v^; v NULL: v+ */
  int found;
} choice;

/* What slides apart under a relaxed law has a force, all the same: its speed counts less mu times
 * the sliding. */
static double step_contacts_speed(const choice *all, const perp_contact *contact,
                                  const double *twist)
{
  const double mu = all->c->relaxed > 0 ? contact->mu : 0;
  return perp_contact_speed(all->c->model->dim, all->e, contact, mu, twist);
}

/* Is it closed, or does it come near with v^ or with the velocities before the step, which at rest
 * are nearer to those after it?  Near is twice the base, as an open contact costs three rows, a
 * late one another solve. */
static bool step_contacts_near(const choice *all, const perp_contact *contact)
{
  const perp_contacts *contacts = all->c;
  if (contact->gap <= all->base ||
      (contacts->within > 0 && contacts->memory.pressed[contact - contacts->task.contact]))
    return true;
  if (!contacts->o.gap || !(contact->gap <= contacts->detect.margin)) return false;
  const double free = step_contacts_speed(all, contact, contacts->twist_free),
               before = step_contacts_speed(all, contact, contacts->twist_before);
  return contact->gap + all->h * fmin(free, before) <= 2 * all->base;
}

static void step_contacts_share(void *user, int member, int members)
{
  choice *all = user;
  perp_contacts *contacts = all->c;
  const int bodies = contacts->model->n_bodies;
  int end = perp_share(bodies, member + 1, members), found = 0;
  for (int b = perp_share(bodies, member, members); b < end; b++) {
    if (all->v != NULL) perp_twist(contacts->model, all->e, b, all->v, contacts->twist_before);
    perp_twist(contacts->model, all->e, b, all->a, contacts->twist_free);
  }
  perp_team_wait(members);
  end = perp_share(contacts->task.n, member + 1, members);
  for (int i = perp_share(contacts->task.n, member, members); i < end; i++) {
    const perp_contact *contact = &contacts->task.contact[i];
    if (all->v == NULL && contacts->kept[i]) continue;
    if (all->v != NULL)
      contacts->kept[i] = step_contacts_near(all, contact);
    else
      contacts->kept[i] = contact->gap <= contacts->detect.margin &&
                          contact->gap +
                                  all->h * step_contacts_speed(all, contact, contacts->twist_free) <
                              -LATE;
    found += contacts->kept[i];
  }
  __atomic_fetch_add(&all->found, found, __ATOMIC_RELAXED);
}

int perp_contacts_choose(perp_contacts *contacts, const perp_eval *eval, double h, const double *v,
                         const double *a)
{
  choice all = {
    .c = contacts, .e = eval, .h = h, .base = step_contacts_base(contacts, h), .v = v, .a = a
  };
  perp_team(step_contacts_team(contacts), step_contacts_share, &all);
  return all.found;
}

bool perp_contacts_wake(perp_contacts *contacts)
{
  bool woken = false;
  for (int i = 0; i < contacts->task.n && contacts->sleep != NULL; i++)
    for (int side = 0; side < 2 && contacts->kept[i]; side++)
      if (contacts->task.contact[i].body[side] >= 0)
        woken |= perp_sleep_wake(contacts->sleep, contacts->task.contact[i].body[side]);
  return woken;
}

/* ---- match ---- */

/* where a contact is, in the frame of a moving body */
PERP_INLINE void place_of(const perp_eval *eval, const perp_contact *contact, const int dim,
                          double at[3])
{
  const perp_pose *pose = &eval->pose[perp_contact_holder(contact)];
  double middle[3], r[3] = { 0 };
  perp_contact_middle(contact, middle);
  for (int i = 0; i < dim; i++) r[i] = middle[i] - pose->x[i];
  at[0] = at[1] = at[2] = 0;
  perp_turn_back(dim, pose->R, r, at);
}

static void step_contacts_place_of(const perp_contacts *contacts, const perp_eval *eval,
                                   const perp_contact *contact, double at[3])
{
  if (contacts->model->dim == 3)
    place_of(eval, contact, 3, at);
  else
    place_of(eval, contact, 2, at);
}

static void step_contacts_take(perp_contacts *contacts, int i, perp_contact_memory *memory,
                               double scale)
{
  contacts->memory.friction[i] = memory->friction;
  memory->used = 1;
  contacts->memory.pressed[i] = perp_dot(3, memory->impulse, memory->impulse) > 0;
  if (!contacts->o.warm) return;
  for (int k = 0; k < 3; k++) contacts->task.impulse[3 * i + k] = scale * memory->impulse[k];
  for (int k = 0; k < 3 && contacts->task.couple != NULL; k++)
    contacts->task.couple[3 * i + k] = scale * memory->couple[k];
  contacts->task.slip[i] = memory->slip;
  contacts->task.fresh[i] = memory->fresh;
  contacts->origin[i] = memory->id;
}

/* For a contact of a pair of shapes without a namesake: the nearest one within a tenth of the body.
 */
static void take_nearest(perp_contacts *contacts, const perp_eval *eval, int i, int first, int end,
                         double scale)
{
  const perp_contact *contact = &contacts->task.contact[i];
  double at[3], reach = contacts->reach[perp_contact_holder(contact)], best = 0.1 * reach;
  int found = -1;
  step_contacts_place_of(contacts, eval, contact, at);
  for (int k = first; k < end; k++) {
    const perp_contact_memory *memory = &contacts->memory.list->x[k];
    double d = hypot(hypot(at[0] - memory->at[0], at[1] - memory->at[1]), at[2] - memory->at[2]);
    if (memory->used || !(d < best)) continue;
    best = d;
    found = k;
  }
  if (found >= 0) step_contacts_take(contacts, i, &contacts->memory.list->x[found], scale);
}

/* Contacts i ... stop - 1 and memories first ... end - 1, all those of one pair of shapes: by name,
 * then by place. */
static void recall_pair(perp_contacts *contacts, const perp_eval *eval, int i, int stop, int first,
                        int end, double scale)
{
  unsigned nameless = 0; /* a bit for each contact, at most PERP_MANIFOLD_MAX */
  for (int k = first; k < end; k++) contacts->memory.list->x[k].used = 0;
  for (int l = i, at = first; l < stop; l++) {
    while (at < end && contacts->memory.list->x[at].id < contacts->task.contact[l].id) at++;
    if (at < end && contacts->memory.list->x[at].id == contacts->task.contact[l].id)
      step_contacts_take(contacts, l, &contacts->memory.list->x[at++], scale);
    else
      nameless |= 1u << (l - i);
  }
  for (int l = i; nameless != 0 && l < stop; l++)
    if (nameless >> (l - i) & 1) take_nearest(contacts, eval, l, first, end, scale);
}

/* what the members of a team do for a share of the contacts each */
typedef struct job {
  perp_contacts *c;
  const perp_eval *e;
  double scale;
} job;

/* the first contact at or after `at` that is not of the same pair as the one before it */
static int pair_start(const perp_contacts *contacts, int at)
{
  while (at > 0 && at < contacts->task.n &&
         perp_contact_pair(contacts->task.contact[at].id) ==
             perp_contact_pair(contacts->task.contact[at - 1].id))
    at++;
  return at;
}

/* the first memory of this pair of shapes or a later one */
static int memory_of(const perp_contacts *contacts, uint64_t pair)
{
  int low = 0, high = contacts->memory.list->n;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (perp_contact_pair(contacts->memory.list->x[middle].id) < pair)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Guesses: both lists are sorted alike.  Where two faces meet, the features that name a contact may
 * change although nothing moves; such contacts are found by their place. */
static void recall_share(void *user, int member, int members)
{
  const job *all = user;
  perp_contacts *contacts = all->c;
  int i = pair_start(contacts, perp_share(contacts->task.n, member, members));
  const int end = pair_start(contacts, perp_share(contacts->task.n, member + 1, members));
  if (i >= end) return;
  memset(contacts->task.impulse + (size_t)3 * (size_t)i, 0,
         (size_t)3 * (size_t)(end - i) * sizeof(double));
  if (contacts->task.couple != NULL)
    memset(contacts->task.couple + (size_t)3 * (size_t)i, 0,
           (size_t)3 * (size_t)(end - i) * sizeof(double));
  memset(contacts->task.slip + i, 0, (size_t)(end - i) * sizeof *contacts->task.slip);
  memset(contacts->task.fresh + i, 0, (size_t)(end - i) * sizeof *contacts->task.fresh);
  memset(contacts->memory.pressed + i, 0, (size_t)(end - i) * sizeof *contacts->memory.pressed);
  memset(contacts->memory.friction + i, PERP_FRICTION_NEW,
         (size_t)(end - i) * sizeof *contacts->memory.friction);
  for (int l = i; l < end; l++) contacts->origin[l] = PERP_NO_ORIGIN;
  if (all->scale == 0) return;
  for (int stop, at = memory_of(contacts, perp_contact_pair(contacts->task.contact[i].id)); i < end;
       i = stop) {
    const uint64_t pair = perp_contact_pair(contacts->task.contact[i].id);
    for (stop = i + 1; stop < end && perp_contact_pair(contacts->task.contact[stop].id) == pair;)
      stop++;
    while (at < contacts->memory.list->n &&
           perp_contact_pair(contacts->memory.list->x[at].id) < pair)
      at++;
    const int first = at;
    while (at < contacts->memory.list->n &&
           perp_contact_pair(contacts->memory.list->x[at].id) == pair)
      at++;
    if (at > first) recall_pair(contacts, all->e, i, stop, first, at, all->scale);
  }
}

bool perp_contacts_detect(perp_contacts *contacts, perp_constrained *system, double drive_speed,
                          double h)
{
  contacts->detect.t = system->e->t;
  contacts->detect.margin = step_contacts_margin(contacts, contacts->parts.now.whole, drive_speed,
                                                 system->a);
  if (!isfinite(contacts->detect.margin)) {
    system->reason = PERP_NOT_FINITE;
    return false;
  }
  system->status = step_contacts_find_start(contacts, system);
  if (system->status == PERP_OK)
    system->status = step_contacts_reserve(
        system->ctx, contacts,
        contacts->task.n + (contacts->sleep != NULL ? contacts->memory.list->n : 0));
  if (system->status != PERP_OK) return false;
  job all = { contacts, system->e,
              contacts->memory.list->h > 0 ? h / contacts->memory.list->h : 0 };
  perp_team(step_contacts_team(contacts), recall_share, &all);
  contacts->parts.found = contacts->task.contact;
  return true;
}

void perp_contacts_recall_part(perp_contacts *contacts, double h)
{
  const double scale = contacts->o.warm && contacts->memory.list->h > 0
                           ? h / contacts->memory.list->h
                           : 0;
  for (int i = 0; i < 3 * contacts->task.n; i++) contacts->task.impulse[i] *= scale;
  for (int i = 0; i < 3 * contacts->task.n && contacts->task.couple != NULL; i++)
    contacts->task.couple[i] *= scale;
}

/* ---- remember ---- */

/* of two bodies at rest: not looked for, but of use when they wake */
static bool step_contacts_dormant(const perp_contacts *contacts, const perp_contact_memory *memory)
{
  const unsigned char *asleep = perp_sleep_asleep(contacts->sleep);
  const int a = contacts->model->shape_def[perp_contact_shape_a(memory->id)].body,
            b = contacts->model->shape_def[perp_contact_shape_b(memory->id)].body;
  return (a < 0 || asleep[a]) && (b < 0 || asleep[b]);
}

static void step_contacts_keep(const perp_contacts *contacts, const perp_eval *eval, int i,
                               perp_contact_memory *memory)
{
  const perp_contact *contact = &contacts->task.contact[i];
  memory->id = contact->id;
  memcpy(memory->impulse, contacts->task.impulse + (size_t)3 * (size_t)i, sizeof memory->impulse);
  if (contacts->task.couple != NULL)
    memcpy(memory->couple, contacts->task.couple + (size_t)3 * (size_t)i, sizeof memory->couple);
  memory->slip = contacts->task.slip[i];
  memory->fresh = contacts->task.fresh[i];
  memory->friction = contacts->memory.friction[i];
  if (!contacts->ball[contact->shape[0]] && !contacts->ball[contact->shape[1]])
    step_contacts_place_of(contacts, eval, contact, memory->at);
}

static void remember_share(void *user, int member, int members)
{
  const job *all = user;
  const int end = perp_share(all->c->task.n, member + 1, members);
  for (int i = perp_share(all->c->task.n, member, members); i < end; i++)
    step_contacts_keep(all->c, all->e, i, &all->c->memory.after[i]);
}

/* With those of bodies at rest: merge of both lists, which are sorted alike. */
static int remember_dormant(perp_contacts *contacts, const perp_eval *eval, double scale)
{
  int n = 0, k = 0;
  for (int i = 0; i <= contacts->task.n; i++) {
    for (;
         k < contacts->memory.list->n &&
         (i == contacts->task.n || contacts->memory.list->x[k].id <= contacts->task.contact[i].id);
         k++) {
      if (!step_contacts_dormant(contacts, &contacts->memory.list->x[k])) continue;
      contacts->memory.after[n] = contacts->memory.list->x[k];
      for (int q = 0; q < 3; q++) contacts->memory.after[n].impulse[q] *= scale;
      for (int q = 0; q < 3 && contacts->task.couple != NULL; q++)
        contacts->memory.after[n].couple[q] *= scale;
      n++;
    }
    if (i < contacts->task.n) step_contacts_keep(contacts, eval, i, &contacts->memory.after[n++]);
  }
  return n;
}

void perp_contacts_remember(perp_contacts *c, const perp_eval *e, double h)
{
  job all = { c, e, c->memory.list->h > 0 ? h / c->memory.list->h : 0 };
  if (c->sleep != NULL) {
    c->memory.list->n = remember_dormant(c, e, all.scale);
  } else {
    perp_team(step_contacts_team(c), remember_share, &all);
    c->memory.list->n = c->task.n;
  }
  perp_contact_memory *swap = c->memory.list->x;
  c->memory.list->x = c->memory.after;
  c->memory.after = swap;
  c->memory.list->h = h;
}

static void step_contacts_copy(perp_contacts_list *to, const perp_contacts_list *from)
{
  to->n = from->n;
  to->h = from->h;
  if (from->n > 0) memcpy(to->x, from->x, (size_t)from->n * sizeof *from->x);
}

void perp_contacts_keep(perp_contacts *contacts, perp_step_end which)
{
  step_contacts_copy(&contacts->memory.list[1 + which], &contacts->memory.list[0]);
  perp_islands_keep(contacts->islands, which);
  if (contacts->post != NULL) perp_contact_post_keep(contacts->post, which);
}

void perp_contacts_put_back(perp_contacts *contacts, perp_step_end which)
{
  step_contacts_copy(&contacts->memory.list[0], &contacts->memory.list[1 + which]);
  perp_islands_put_back(contacts->islands, which);
  if (contacts->post != NULL) perp_contact_post_put_back(contacts->post, which);
}
