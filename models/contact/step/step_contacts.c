/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contacts of a time step: found, matched with those of the step before, chosen, remembered. */
#include "models/contact/step/step_contacts.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_LISTS = 1 + PERP_ENDS };

/* ---- life ---- */

static void step_contacts_layout(void *ws, perp_arena *a)
{
  perp_contacts *c = ws;
  c->reach = PERP_CARVE(a, double, c->model->n_bodies);
  c->f = PERP_CARVE(a, double, c->model->nv);
  PERP_DOUBLES(a, 6 * (size_t)c->model->n_bodies, &c->twist_before, &c->twist_free);
  c->detect.q_ahead = PERP_CARVE(a, double, c->model->nq);
  c->ball = PERP_CARVE(a, bool, c->model->n_shapes);
  c->met = PERP_CARVE(a, bool, c->model->n_bodies);
  PERP_DOUBLES(a, c->second.on ? c->model->nv : 0, &c->second.v_kept, &c->second.v_moving);
}

static void step_contacts_grown(void *ws, perp_arena *a)
{
  perp_contacts *c = ws;
  c->task.impulse = PERP_CARVE(a, double, 3 * (size_t)c->cap);
  c->task.couple = c->model->surfaces.couples ? PERP_CARVE(a, double, 3 * (size_t)c->cap) : NULL;
  PERP_DOUBLES(a, c->cap, &c->task.slip, &c->mu);
  c->kept = PERP_CARVE(a, unsigned char, c->cap);
  c->task.fresh = PERP_CARVE(a, unsigned char, c->cap);
  c->memory.pressed = PERP_CARVE(a, unsigned char, c->cap);
  c->memory.friction = PERP_CARVE(a, unsigned char, c->cap);
  const int parted = c->o.substeps > 1 ? c->cap : 0, second = c->second.on ? c->cap : 0;
  c->parts.carried = PERP_CARVE(a, perp_contact, parted);
  c->parts.carry = PERP_CARVE(a, perp_contact_carry, parted);
  c->parts.total = PERP_CARVE(a, double, 3 * (size_t)parted);
  PERP_DOUBLES(a, second, &c->second.approach, &c->second.reached);
  c->second.rebounds = PERP_CARVE(a, bool, second);
  c->origin = PERP_CARVE(a, uint64_t, c->cap);
  c->task.kept = c->kept;
  c->task.origin = c->origin;
  c->memory.after = PERP_CARVE(a, perp_contact_memory, c->cap);
  for (int i = 0; i < STEP_LISTS; i++)
    c->memory.list[i].x = PERP_CARVE(a, perp_contact_memory, i == 0 || c->again ? c->cap : 0);
}

/* room for n contacts; what is remembered stays, where there is memory */
static perp_status step_contacts_reserve(perp_ctx *ctx, perp_contacts *c, int n)
{
  if (n <= c->cap) return PERP_OK;
  perp_arena old = c->grown;
  perp_contacts_memory before = c->memory;
  c->grown = (perp_arena){ 0 };
  c->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &c->grown, step_contacts_grown, c);
  if (status != PERP_OK) c->cap = 0;
  for (int i = 0; i < STEP_LISTS; i++) {
    if (status != PERP_OK) c->memory.list[i].n = 0;
    if (c->memory.list[i].n > 0)
      memcpy(c->memory.list[i].x, before.list[i].x,
             (size_t)c->memory.list[i].n * sizeof *before.list[i].x);
  }
  perp_arena_free(&old);
  return status;
}

void perp_contacts_destroy(perp_contacts *c)
{
  if (c == NULL) return;
  perp_collision_destroy(c->detect.now);
  perp_collision_destroy(c->detect.ahead);
  perp_islands_destroy(c->islands);
  perp_contact_post_destroy(c->post);
  perp_sleep_destroy(c->sleep);
  if (c->stab != NULL) c->stab->destroy(c->stab_ws);
  perp_arena_free(&c->grown);
  free(c);
}

/* Steps whose length follows their error tell sliding from sticking by what is left of a speed that
 * is zero: their problems are solved to this part of the tolerances where the solver can. */
static const double CLOSE = 1e-4;

/* Collision detection at the end of steps. */
static perp_status step_contacts_ahead(perp_ctx *ctx, perp_contacts *c)
{
  PERP_TRY(perp_collision_create(ctx, c->model, 0, &c->detect.ahead));
  perp_collision_tolerance(c->detect.ahead, c->o.tolerance);
  if (c->sleep != NULL) perp_collision_rest(c->detect.ahead, perp_sleep_asleep(c->sleep));
  return PERP_OK;
}

static perp_status step_contacts_open(perp_ctx *ctx, perp_contacts *c, const perp_parts *parts)
{
  const perp_model *model = c->model;
  if (parts->contact.d->caps & PERP_CONTACT_RELAXED)
    for (int i = 0; i < model->n_shapes; i++)
      c->relaxed = fmax(c->relaxed, model->shape_def[i].surface.mu);
  PERP_TRY(perp_contact_stab(ctx, parts, &c->stab, &c->stab_ws));
  PERP_TRY(perp_collision_create(ctx, model, 0, &c->detect.now));
  perp_collision_tolerance(c->detect.now, c->o.tolerance);
  bool rows = c->o.joints == PERP_JOINTS_ROWS ||
              (c->o.joints == PERP_JOINTS_AUTO && parts->kkt.d != NULL &&
               (parts->kkt.d->caps & PERP_KKT_ITERATIVE));
  if (rows && model->m > 0 && perp_impact_single(c->o.impact))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s needs joints that are eliminated from contact problems: use "
                     "joints=eliminate, with a KKT solver that is not iterative",
                     perp_impact_names[c->o.impact]);
  const perp_contact_setup solving = { .tol = c->o.residual,
                                       .tol_data = PERP_CONTACT_TOL_DATA,
                                       .budget = c->o.budget,
                                       .part = c->o.closed > 0 ? CLOSE : 0,
                                       .choice = c->o.choice };
  PERP_TRY(perp_contacts_islands(ctx, model, parts, &solving, c->o.threads, rows, &c->islands));
  if (c->o.sleep) {
    PERP_TRY(
        perp_sleep_create(ctx, model, c->o.sleep_time, c->o.sleep_velocity, c->reach, &c->sleep));
    perp_collision_rest(c->detect.now, perp_sleep_asleep(c->sleep));
  }
  if (c->o.halvings > 0) PERP_TRY(step_contacts_ahead(ctx, c));
  if (perp_contacts_mode(&c->o) != PERP_CONTACTS_RIGID)
    return PERP_OK; /* what is deep is under load */
  double size = 0;
  for (int b = 0; b < model->n_bodies; b++) size = fmax(size, c->reach[b]);
  const perp_contact_post_setup setup = { .tol = c->o.residual,
                                          .tol_data = PERP_CONTACT_TOL_DATA,
                                          .budget = c->o.budget,
                                          .slop = c->slop,
                                          .size = size,
                                          .threshold = c->o.threshold,
                                          .rubs = true,
                                          .threads = c->o.threads,
                                          .rows = rows,
                                          .sleep = c->sleep };
  PERP_TRY(perp_contact_post_create(ctx, model, parts, c->stab, c->stab_ws, &setup, &c->post));
  return c->post == NULL || c->detect.ahead != NULL ? PERP_OK : step_contacts_ahead(ctx, c);
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
  perp_contacts *c = ws;
  c->task.reuse = opts->reuse ? opts->residual : 0;
  c->task.before = c->twist_before;
  c->task.free = c->twist_free;
  c->task.belts = model->surfaces.belts;
  c->task.align = opts->align == PERP_ALIGN_SLIP;
  c->task.impact = opts->impact != PERP_IMPACT_NEWTON ? &c->impact : NULL;
  c->task.user = c;
  perp_contacts_reach(model, c->reach);
  for (int i = 0; i < model->n_shapes; i++)
    c->ball[i] = model->shape_def[i].kind == PERP_SHAPE_SPHERE;
  for (int b = 0; b < model->n_bodies; b++)
    c->slop = fmax(c->slop, perp_contacts_closed(opts) * c->reach[b]);
  perp_status status = step_contacts_open(ctx, c, parts);
  if (status != PERP_OK) {
    perp_contacts_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_contacts_restart(perp_contacts *c)
{
  c->task.n = 0;
  for (int i = 0; i < STEP_LISTS; i++) c->memory.list[i].n = 0, c->memory.list[i].h = 0;
  c->parts.now = (perp_contact_part){ .first = true,
                                      .last = true }; /* the start is corrected, too */
  c->swept = c->second.keeps = false;
  c->detect.margin = c->detect.corrected = 0;
  c->collision_s = c->lcp_s = 0;
  if (c->sleep != NULL) perp_sleep_restart(c->sleep);
  perp_islands_restart(c->islands);
  if (c->post != NULL) perp_contact_post_restart(c->post);
  c->detect.ahead_holds = false;
}

/* contacts that are worth a team */
enum { TEAM_CONTACTS = 500 };

static int step_contacts_team(const perp_contacts *c)
{
  return c->task.n >= TEAM_CONTACTS ? c->o.threads : 1;
}

/* ---- detect ---- */

/* a contact left out is taken in when it would be this deep at the end of the step, m */
static const double LATE = 1e-12;

/* Without gap closed contacts are all there are, and a correction of the depth d at the end of the
 * step before has left some of them open by O(d^2 / size), as bodies have turned: without these
 * their bodies fall on, are put back in each step, and their speed grows. */
static double step_contacts_base(const perp_contacts *c, double h)
{
  const perp_model *model = c->model;
  const double rounding = 1e-6 * model->size, d = c->detect.corrected;
  if (!c->o.gap) return rounding + d * d / model->size;
  return 2 * h * h * fabs(perp_model_gravity_at(model, c->detect.t)) + rounding;
}

static double step_contacts_margin(const perp_contacts *c, double h, double drive_speed,
                                   const double *v)
{
  if (c->o.margin > 0) return c->o.margin;
  const double base = step_contacts_base(c, h);
  const double fastest = (1 + c->relaxed) * perp_closing_speed(c->model, v, c->reach);
  return c->o.gap ? base + h * fastest + h * drive_speed : base;
}

static perp_status step_contacts_find(perp_contacts *c, perp_constrained *k,
                                      perp_collision *collision, const perp_contact **contact,
                                      int *n)
{
  const int before = k->ctx->threads;
  k->ctx->threads = c->o.threads;
  const perp_status status = perp_collision_find(k->ctx, collision, k->e->pose, contact, n);
  k->ctx->threads = before;
  return status;
}

bool perp_contacts_look_ahead(perp_contacts *c, perp_constrained *k, double t, const double *q)
{
  const double start = perp_constrained_clock(k);
  perp_constrained_at(k, t, q);
  /* enough for the next step of bodies that fall */
  c->detect.margin_ahead = c->o.gap && c->detect.margin > 0
                               ? 1.25 * c->detect.margin +
                                     2 * c->parts.now.whole * c->parts.now.whole *
                                         fabs(perp_model_gravity_at(c->model, t))
                               : 1e-3 * c->model->size;
  perp_collision_margin(c->detect.ahead, c->detect.margin_ahead);
  k->status = step_contacts_find(c, k, c->detect.ahead, &c->detect.contact_ahead,
                                 &c->detect.n_ahead);
  c->collision_s += perp_constrained_clock(k) - start;
  return k->status == PERP_OK;
}

/* Where nothing was corrected they are those that the end of the step before was looked at with,
 * when that was as far. */
static perp_status step_contacts_find_start(perp_contacts *c, perp_constrained *k)
{
  perp_contacts_detection *d = &c->detect;
  const size_t size = (size_t)c->model->nq * sizeof *d->q_ahead;
  const bool known = d->ahead_holds && d->margin <= d->margin_ahead &&
                     memcmp(d->q_ahead, k->q_at[k->e - k->eval], size) == 0;
  d->ahead_holds = false;
  if (!known) {
    perp_collision_margin(d->now, d->margin);
    return step_contacts_find(c, k, d->now, &c->task.contact, &c->task.n);
  }
  perp_collision *other = d->now;
  d->now = d->ahead;
  d->ahead = other;
  c->task.contact = d->contact_ahead;
  c->task.n = d->n_ahead;
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
static double step_contacts_speed(const choice *all, const perp_contact *x, const double *twist)
{
  const double mu = all->c->relaxed > 0 ? x->mu : 0;
  return perp_contact_speed(all->c->model->dim, all->e, x, mu, twist);
}

/* Is it closed, or does it come near with v^ or with the velocities before the step, which at rest
 * are nearer to those after it?  Near is twice the base, as an open contact costs three rows, a
 * late one another solve. */
static bool step_contacts_near(const choice *all, const perp_contact *x)
{
  const perp_contacts *c = all->c;
  if (x->gap <= all->base || (c->within > 0 && c->memory.pressed[x - c->task.contact])) return true;
  if (!c->o.gap || !(x->gap <= c->detect.margin)) return false;
  const double free = step_contacts_speed(all, x, c->twist_free),
               before = step_contacts_speed(all, x, c->twist_before);
  return x->gap + all->h * fmin(free, before) <= 2 * all->base;
}

static void step_contacts_share(void *user, int member, int members)
{
  choice *all = user;
  perp_contacts *c = all->c;
  const int bodies = c->model->n_bodies;
  int end = perp_share(bodies, member + 1, members), found = 0;
  for (int b = perp_share(bodies, member, members); b < end; b++) {
    if (all->v != NULL) perp_twist(c->model, all->e, b, all->v, c->twist_before);
    perp_twist(c->model, all->e, b, all->a, c->twist_free);
  }
  perp_team_wait(members);
  end = perp_share(c->task.n, member + 1, members);
  for (int i = perp_share(c->task.n, member, members); i < end; i++) {
    const perp_contact *x = &c->task.contact[i];
    if (all->v == NULL && c->kept[i]) continue;
    if (all->v != NULL)
      c->kept[i] = step_contacts_near(all, x);
    else
      c->kept[i] = x->gap <= c->detect.margin &&
                   x->gap + all->h * step_contacts_speed(all, x, c->twist_free) < -LATE;
    found += c->kept[i];
  }
  __atomic_fetch_add(&all->found, found, __ATOMIC_RELAXED);
}

int perp_contacts_choose(perp_contacts *c, const perp_eval *e, double h, const double *v,
                         const double *a)
{
  choice all = { .c = c, .e = e, .h = h, .base = step_contacts_base(c, h), .v = v, .a = a };
  perp_team(step_contacts_team(c), step_contacts_share, &all);
  return all.found;
}

bool perp_contacts_wake(perp_contacts *c)
{
  bool woken = false;
  for (int i = 0; i < c->task.n && c->sleep != NULL; i++)
    for (int side = 0; side < 2 && c->kept[i]; side++)
      if (c->task.contact[i].body[side] >= 0)
        woken |= perp_sleep_wake(c->sleep, c->task.contact[i].body[side]);
  return woken;
}

/* ---- match ---- */

/* where a contact is, in the frame of a moving body */
PERP_INLINE void place_of(const perp_eval *e, const perp_contact *x, const int dim, double at[3])
{
  const perp_pose *pose = &e->pose[perp_contact_holder(x)];
  double middle[3], r[3] = { 0 };
  perp_contact_middle(x, middle);
  for (int i = 0; i < dim; i++) r[i] = middle[i] - pose->x[i];
  at[0] = at[1] = at[2] = 0;
  perp_turn_back(dim, pose->R, r, at);
}

static void step_contacts_place_of(const perp_contacts *c, const perp_eval *e,
                                   const perp_contact *x, double at[3])
{
  if (c->model->dim == 3)
    place_of(e, x, 3, at);
  else
    place_of(e, x, 2, at);
}

static void step_contacts_take(perp_contacts *c, int i, perp_contact_memory *m, double scale)
{
  c->memory.friction[i] = m->friction;
  m->used = 1;
  c->memory.pressed[i] = perp_dot(3, m->impulse, m->impulse) > 0;
  if (!c->o.warm) return;
  for (int k = 0; k < 3; k++) c->task.impulse[3 * i + k] = scale * m->impulse[k];
  for (int k = 0; k < 3 && c->task.couple != NULL; k++)
    c->task.couple[3 * i + k] = scale * m->couple[k];
  c->task.slip[i] = m->slip;
  c->task.fresh[i] = m->fresh;
  c->origin[i] = m->id;
}

/* For a contact of a pair of shapes without a namesake: the nearest one within a tenth of the body.
 */
static void take_nearest(perp_contacts *c, const perp_eval *e, int i, int first, int end,
                         double scale)
{
  const perp_contact *x = &c->task.contact[i];
  double at[3], reach = c->reach[perp_contact_holder(x)], best = 0.1 * reach;
  int found = -1;
  step_contacts_place_of(c, e, x, at);
  for (int k = first; k < end; k++) {
    const perp_contact_memory *m = &c->memory.list->x[k];
    double d = hypot(hypot(at[0] - m->at[0], at[1] - m->at[1]), at[2] - m->at[2]);
    if (m->used || !(d < best)) continue;
    best = d;
    found = k;
  }
  if (found >= 0) step_contacts_take(c, i, &c->memory.list->x[found], scale);
}

/* Contacts i ... stop - 1 and memories first ... end - 1, all those of one pair of shapes: by name,
 * then by place. */
static void recall_pair(perp_contacts *c, const perp_eval *e, int i, int stop, int first, int end,
                        double scale)
{
  unsigned nameless = 0; /* a bit for each contact, at most PERP_MANIFOLD_MAX */
  for (int k = first; k < end; k++) c->memory.list->x[k].used = 0;
  for (int l = i, at = first; l < stop; l++) {
    while (at < end && c->memory.list->x[at].id < c->task.contact[l].id) at++;
    if (at < end && c->memory.list->x[at].id == c->task.contact[l].id)
      step_contacts_take(c, l, &c->memory.list->x[at++], scale);
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
  while (at > 0 && at < c->task.n &&
         perp_contact_pair(c->task.contact[at].id) == perp_contact_pair(c->task.contact[at - 1].id))
    at++;
  return at;
}

/* the first memory of this pair of shapes or a later one */
static int memory_of(const perp_contacts *c, uint64_t pair)
{
  int low = 0, high = c->memory.list->n;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (perp_contact_pair(c->memory.list->x[middle].id) < pair)
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
  perp_contacts *c = all->c;
  int i = pair_start(c, perp_share(c->task.n, member, members));
  const int end = pair_start(c, perp_share(c->task.n, member + 1, members));
  if (i >= end) return;
  memset(c->task.impulse + (size_t)3 * (size_t)i, 0,
         (size_t)3 * (size_t)(end - i) * sizeof(double));
  if (c->task.couple != NULL)
    memset(c->task.couple + (size_t)3 * (size_t)i, 0,
           (size_t)3 * (size_t)(end - i) * sizeof(double));
  memset(c->task.slip + i, 0, (size_t)(end - i) * sizeof *c->task.slip);
  memset(c->task.fresh + i, 0, (size_t)(end - i) * sizeof *c->task.fresh);
  memset(c->memory.pressed + i, 0, (size_t)(end - i) * sizeof *c->memory.pressed);
  memset(c->memory.friction + i, PERP_FRICTION_NEW, (size_t)(end - i) * sizeof *c->memory.friction);
  for (int l = i; l < end; l++) c->origin[l] = PERP_NO_ORIGIN;
  if (all->scale == 0) return;
  for (int stop, at = memory_of(c, perp_contact_pair(c->task.contact[i].id)); i < end; i = stop) {
    const uint64_t pair = perp_contact_pair(c->task.contact[i].id);
    for (stop = i + 1; stop < end && perp_contact_pair(c->task.contact[stop].id) == pair;) stop++;
    while (at < c->memory.list->n && perp_contact_pair(c->memory.list->x[at].id) < pair) at++;
    const int first = at;
    while (at < c->memory.list->n && perp_contact_pair(c->memory.list->x[at].id) == pair) at++;
    if (at > first) recall_pair(c, all->e, i, stop, first, at, all->scale);
  }
}

bool perp_contacts_detect(perp_contacts *c, perp_constrained *k, double drive_speed, double h)
{
  c->detect.t = k->e->t;
  c->detect.margin = step_contacts_margin(c, c->parts.now.whole, drive_speed, k->a);
  if (!isfinite(c->detect.margin)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  k->status = step_contacts_find_start(c, k);
  if (k->status == PERP_OK)
    k->status = step_contacts_reserve(k->ctx, c,
                                      c->task.n + (c->sleep != NULL ? c->memory.list->n : 0));
  if (k->status != PERP_OK) return false;
  job all = { c, k->e, c->memory.list->h > 0 ? h / c->memory.list->h : 0 };
  perp_team(step_contacts_team(c), recall_share, &all);
  c->parts.found = c->task.contact;
  return true;
}

void perp_contacts_recall_part(perp_contacts *c, double h)
{
  const double scale = c->o.warm && c->memory.list->h > 0 ? h / c->memory.list->h : 0;
  for (int i = 0; i < 3 * c->task.n; i++) c->task.impulse[i] *= scale;
  for (int i = 0; i < 3 * c->task.n && c->task.couple != NULL; i++) c->task.couple[i] *= scale;
}

/* ---- remember ---- */

/* of two bodies at rest: not looked for, but of use when they wake */
static bool step_contacts_dormant(const perp_contacts *c, const perp_contact_memory *m)
{
  const unsigned char *asleep = perp_sleep_asleep(c->sleep);
  const int a = c->model->shape_def[perp_contact_shape_a(m->id)].body,
            b = c->model->shape_def[perp_contact_shape_b(m->id)].body;
  return (a < 0 || asleep[a]) && (b < 0 || asleep[b]);
}

static void step_contacts_keep(const perp_contacts *c, const perp_eval *e, int i,
                               perp_contact_memory *m)
{
  const perp_contact *x = &c->task.contact[i];
  m->id = x->id;
  memcpy(m->impulse, c->task.impulse + (size_t)3 * (size_t)i, sizeof m->impulse);
  if (c->task.couple != NULL)
    memcpy(m->couple, c->task.couple + (size_t)3 * (size_t)i, sizeof m->couple);
  m->slip = c->task.slip[i];
  m->fresh = c->task.fresh[i];
  m->friction = c->memory.friction[i];
  if (!c->ball[x->shape[0]] && !c->ball[x->shape[1]]) step_contacts_place_of(c, e, x, m->at);
}

static void remember_share(void *user, int member, int members)
{
  const job *all = user;
  const int end = perp_share(all->c->task.n, member + 1, members);
  for (int i = perp_share(all->c->task.n, member, members); i < end; i++)
    step_contacts_keep(all->c, all->e, i, &all->c->memory.after[i]);
}

/* With those of bodies at rest: merge of both lists, which are sorted alike. */
static int remember_dormant(perp_contacts *c, const perp_eval *e, double scale)
{
  int n = 0, k = 0;
  for (int i = 0; i <= c->task.n; i++) {
    for (; k < c->memory.list->n &&
           (i == c->task.n || c->memory.list->x[k].id <= c->task.contact[i].id);
         k++) {
      if (!step_contacts_dormant(c, &c->memory.list->x[k])) continue;
      c->memory.after[n] = c->memory.list->x[k];
      for (int q = 0; q < 3; q++) c->memory.after[n].impulse[q] *= scale;
      for (int q = 0; q < 3 && c->task.couple != NULL; q++) c->memory.after[n].couple[q] *= scale;
      n++;
    }
    if (i < c->task.n) step_contacts_keep(c, e, i, &c->memory.after[n++]);
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

void perp_contacts_keep(perp_contacts *c, perp_step_end which)
{
  step_contacts_copy(&c->memory.list[1 + which], &c->memory.list[0]);
  perp_islands_keep(c->islands, which);
  if (c->post != NULL) perp_contact_post_keep(c->post, which);
}

void perp_contacts_put_back(perp_contacts *c, perp_step_end which)
{
  step_contacts_copy(&c->memory.list[0], &c->memory.list[1 + which]);
  perp_islands_put_back(c->islands, which);
  if (c->post != NULL) perp_contact_post_put_back(c->post, which);
}
