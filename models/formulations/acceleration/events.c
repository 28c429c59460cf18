/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/acceleration/events_private.h"

#include "models/contact/step/drives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const perp_order_names[] = { "together", "sequential", NULL };
const char *const perp_critical_names[] = { "fail", "stop", NULL };
const char *const perp_sliding_names[] = { "auto", "column", "iterate", "lagged", NULL };

enum { IDLE_MOST = 1000, RELAX = 5 }; /* steps; steps that the feedback of drives takes */
enum { TURNING = 3 };                 /* order of methods that see how directions turn in a step */
static const double SLOW = 1e-3;      /* of what counts as rest: such approaches are not stopped */
static const double TOUCH = 1e-9;     /* of the largest body */
static const double PARTED =
    1e-6; /* of the largest body: gaps that solutions leave between bodies moved apart */
static const double HOLD = 1e-3;     /* of the largest body */
static const double PAST = 1e-10;    /* of a force: an event is this far behind its bound */
static const double ROUGHLY = 100;   /* tolerances, where forces are known to that only */
static const double NOISE = 0.05;    /* of PAST */
static const double PROGRESS = 1e-6; /* of the step, that IDLE_MOST steps have to make */

/* ---- life ---- */

static void events_layout(void *ws, perp_arena *a)
{
  perp_events *s = ws;
  s->reach = PERP_CARVE(a, double, s->model->n_bodies);
  PERP_DOUBLES(a, s->model->nq, &s->q_found, &s->q_start);
  PERP_DOUBLES(a, 6 * (size_t)s->model->n_bodies, &s->before, &s->free);
  PERP_DOUBLES(a, s->model->nv, &s->rhs, &s->response, &s->f_free, &s->a_free, &s->a_frozen,
               &s->held);
  s->load = PERP_CARVE(a, double, s->model->n_bodies);
  PERP_DOUBLES(a, s->model->m, &s->zero, &s->lambda);
}

/* room for n; loses its contents */
static perp_status touches_reserve(perp_ctx *ctx, perp_event_contacts *t, int n)
{
  t->n = 0;
  if (n <= t->cap) return PERP_OK;
  free(t->x);
  t->cap = 0;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  t->x = malloc(cap * sizeof *t->x);
  if (t->x == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  t->cap = (int)cap;
  return PERP_OK;
}

void perp_events_destroy(perp_events *s)
{
  if (s == NULL) return;
  if (s->collision != NULL) perp_collision_destroy(s->collision);
  perp_event_drives_destroy(s->drives);
  perp_contact_post_destroy(s->post);
  if (s->stab != NULL) s->stab->destroy(s->stab_ws);
  perp_islands_destroy(s->islands);
  free(s->now.x);
  free(s->next.x);
  free(s->was.x);
  free(s->seen);
  free(s->shown);
  free(s->shown_force);
  free(s->shown_impulse);
  perp_arena_free(&s->grown);
  free(s);
}

/* column needs a solver that serves nonsymmetric matrices; auto takes it where there is one */
static perp_status choose_rule(perp_ctx *ctx, perp_events *s, const perp_desc *lcp)
{
  const bool can = (lcp->caps & PERP_LCP_NONSYMMETRIC) != 0;
  s->rule = s->o.sliding;
  if (s->rule == PERP_SLIDING_AUTO) s->rule = can ? PERP_SLIDING_COLUMN : PERP_SLIDING_ITERATE;
  if (s->rule == PERP_SLIDING_COLUMN && !can)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "acceleration:sliding=column has a nonsymmetric matrix: lcp '%s' does not "
                     "support it; use sliding=iterate with it, or --lcp lemke",
                     lcp->name);
  return PERP_OK;
}

/* shapes of the model, or the rows of drives alone */
static perp_status open_contacts(perp_ctx *ctx, perp_events *s, const perp_parts *parts)
{
  const perp_event_opts *o = &s->o;
  const perp_contact_setup solving = {
    .tol = o->residual, .tol_data = o->residual_data, .budget = o->budget, .choice = o->choice
  };
  perp_parts alone = *parts;
  if (s->model->belts && o->critical == PERP_CRITICAL_STOP)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration:critical=stop does not support moving surfaces: use critical=fail");
  if (s->model->n_shapes > 0) {
    if (parts->contact.d->caps & PERP_CONTACT_RELAXED)
      return PERP_FAIL(
          ctx, PERP_ERR_UNSUPPORTED,
          "contact %s is defined for time steps: with accelerations, a contact that begins to "
          "slide would open; use --formulation velocity, or --contact polyhedral",
          parts->contact.d->name);
    PERP_TRY(choose_rule(ctx, s, parts->lcp.d));
    PERP_TRY(perp_collision_create(ctx, s->model, s->margin, &s->collision));
    PERP_TRY(perp_contacts_islands(ctx, s->model, parts, &solving, o->threads, false, &s->islands));
    PERP_TRY(perp_contact_stab(ctx, parts, &s->stab, &s->stab_ws));
    const perp_contact_post_setup setup = { .tol = o->residual,
                                            .tol_data = o->residual_data,
                                            .budget = o->budget,
                                            .slop = s->tol,
                                            .size = s->size,
                                            .slow = SLOW * o->rest,
                                            .threshold = o->threshold,
                                            .threads = o->threads };
    return perp_contact_post_create(ctx, s->model, parts, s->stab, s->stab_ws, &setup, &s->post);
  }
  alone.contact = (perp_spec){ 0 };
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_contact, "frictionless", &alone.contact));
  perp_status status = perp_contacts_islands(ctx, s->model, &alone, &solving, o->threads, false,
                                             &s->islands);
  perp_spec_free(&alone.contact);
  return status;
}

static perp_status open_drives(perp_ctx *ctx, perp_events *s, const perp_desc *lcp)
{
  if (s->model->n_drives == 0) return PERP_OK;
  PERP_TRY(perp_drives_check(ctx, s->model, PERP_LEVEL_ACCELERATION, lcp));
  if (s->o.order == PERP_ORDER_SEQUENTIAL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration:order=sequential does not support limits and motors: use order=together");
  const perp_drive_tolerances tol = { .tol = { TOUCH, s->tol },
                                      .hold = { HOLD, s->hold },
                                      .rest = s->o.rest,
                                      .keep = PERP_HOLD_SPEED,
                                      .slip = s->o.slip,
                                      .relax = RELAX * s->h,
                                      .locate = s->locate };
  return perp_event_drives_create(ctx, s->model, &tol, &s->drives);
}

perp_status perp_events_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               const perp_event_opts *opts, double h, perp_events **out)
{
  perp_events like = { .model = model,
                       .o = *opts,
                       .h = h,
                       .locate = fmax(opts->locate, h * exp2(-0.5 * opts->bisections)) };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_impact_check(ctx, opts->impact, opts->tangential));
  PERP_TRY(perp_workspace_create(ctx, "contacts", &like, sizeof like, events_layout, &ws));
  perp_events *s = ws;
  perp_contacts_reach(model, s->reach);
  for (int b = 0; b < model->n_bodies; b++) s->size = fmax(s->size, s->reach[b]);
  if (!(s->size > 0)) s->size = model->size > 0 ? model->size : 1; /* planes only */
  s->tol = opts->gap > 0 ? opts->gap : TOUCH * s->size;
  s->hold = fmax(HOLD * s->size, 2 * s->tol);
  s->margin = 4 * s->hold;
  perp_status status = perp_events_reserve(ctx, s, 1);
  const bool exact = (parts->lcp.d->caps & PERP_LCP_PIVOTING) != 0;
  s->past = exact ? PAST : ROUGHLY * opts->residual;
  s->noise = NOISE * s->past;
  s->fixed = perp_ode_tol(&parts->ode) == 0;
  s->order = ((const perp_ode_desc *)parts->ode.d)->order;
  s->repeats = perp_ode_repeats(&parts->ode);
  if (status == PERP_OK) status = open_contacts(ctx, s, parts);
  s->holds = s->fixed && s->stab != NULL && (s->stab->d.caps & PERP_STAB_PROJECTS) != 0;
  if (status == PERP_OK) status = open_drives(ctx, s, parts->lcp.d);
  if (status != PERP_OK) {
    perp_events_destroy(s);
    return status;
  }
  *out = s;
  return PERP_OK;
}

void perp_events_restart(perp_events *s)
{
  s->found = false;
  s->fresh = true;
  s->frozen = s->was_frozen = s->between = s->consults = s->many = false;
  s->now.n = s->next.n = s->was.n = s->n_shown = s->n = s->n_seen = 0;
  s->idle = s->chatter = s->revisions = 0;
  s->unturned = false;
  s->longest = HUGE_VAL;
  s->collision_s = s->lcp_s = 0;
  s->critical = s->hit = s->hasty = s->holds_forces = s->held_now = s->skips = false;
  s->w_scale = 0;
  s->n_critical = 0;
  s->cause[0] = '\0';
  if (s->drives != NULL) perp_event_drives_restart(s->drives);
  perp_islands_restart(s->islands);
  perp_islands_count(s->islands)->events = true;
  perp_islands_forget(s->islands);
  if (s->post != NULL) perp_contact_post_restart(s->post);
}

bool perp_events_between(perp_events *s, bool begins)
{
  if (begins && !s->was_frozen) return false;
  const perp_event_contacts swap = s->now;
  const bool frozen = s->frozen;
  s->now = s->was;
  s->was = swap;
  s->frozen = s->was_frozen;
  s->was_frozen = frozen;
  s->between = begins;
  if (s->drives != NULL) perp_event_drives_swap(s->drives);
  return true;
}

bool perp_events_slow(const perp_events *s)
{
  for (int i = 0; i < s->now.n && s->model->dim == 3 && !s->many; i++)
    if (s->now.x[i].slides && s->h * s->w_scale > PERP_EVENTS_STIFF * s->now.x[i].speed)
      return true;
  return false;
}

void perp_events_locate(const perp_events *s, perp_ode_sys *sys)
{
  sys->locate = s->o.locate;
  sys->locations_most = s->o.bisections;
  sys->rough = s->o.residual * fabs(s->model->gravity);
}

/* ---- a regular state ---- */

/* what touches or rests from here on */
static void take_stock(perp_events *s, const perp_constrained *k, double t_new, const double *v,
                       bool impact)
{
  const perp_model *model = s->model;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    double u[3], slide[3];
    perp_events_velocity(model, k->e, x, v, u);
    const double normal = perp_dot(model->dim, x->n, u);
    bool rests = s->kept[i] && x->gap <= s->hold && normal <= s->o.rest;
    /* what feedback takes out of the other body goes on resting */
    if (perp_events_rested(s, i) && !(impact && s->struck[i]))
      rests |= x->gap <= s->hold && (normal <= PERP_HOLD_SPEED || x->gap < -s->tol);
    if (!rests && !(x->gap <= 2 * s->tol)) continue;
    perp_event_contact *t = &s->next.x[s->next.n++];
    *t = (perp_event_contact){ .id = x->id, .rests = rests, .gap = x->gap };
    perp_contact_middle(x, t->at);
    perp_events_tangential(model->dim, x->n, u, slide);
    const double speed = sqrt(perp_dot(3, slide, slide));
    const perp_event_contact *now = s->of[i] >= 0 ? &s->now.x[s->of[i]] : NULL;
    /* what has begun to slide goes on, however slowly */
    const bool slid = now != NULL && now->slides && !impact &&
                      perp_dot(3, slide, now->dir) > PERP_EVENTS_STOPPED * s->o.slip;
    t->slides = rests && (speed > s->o.slip || slid);
    t->speed = speed;
    t->held = rests && s->of[i] >= 0 && s->now.x[s->of[i]].held && x->gap < -s->tol;
    for (int j = 0; j < 3 && t->slides; j++) t->dir[j] = slide[j] / speed;
    if (t->slides && now != NULL && now->slides && !impact && t_new > s->t)
      perp_events_turning_stock(s, now, x, t_new, t);
    t->goes_on = s->frozen && rests && now != NULL && now->rests && t->slides == now->slides &&
                 !impact;
    if (now != NULL) t->mode = now->mode;
    if (t->goes_on) t->witness = now->witness;
    if (s->of[i] < 0 || !s->o.warm) continue;
    memcpy(t->force, s->now.x[s->of[i]].force, sizeof t->force);
    t->slip = s->now.x[s->of[i]].slip;
  }
}

/* Positions at the end of a step: contacts that are deep in each other. */
static perp_ode_answer part_bodies(perp_events *s, perp_constrained *k, double t, double *q)
{
  const int passes = s->post != NULL ? perp_contact_post_passes(s->post) : 0;
  perp_contact_count count = { 0 };
  bool good = true, moved = true, changed = false;
  int pass = 0;
  while (good && moved && pass < passes) {
    for (int i = 0; i < s->n; i++) s->part[i] = s->of[i] >= 0 && s->now.x[s->of[i]].held;
    if (!perp_contact_post_deep(s->post, s->contact, s->part, s->n, false)) break;
    pass++;
    const double start = perp_constrained_own_clock(k);
    good = perp_contact_post_position(s->post, k, s->contact, s->part, s->n, q, &moved, &count);
    s->lcp_s += perp_constrained_own_clock(k) - start;
    changed |= moved;
    good = good && perp_events_find(s, k, t, q);
  }
  if (pass > 0) perp_contact_count_add(perp_islands_count(s->islands), &count);
  return !good ? PERP_ODE_FAILED : changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
}

/* Velocities at the end of a step without an impact. */
static perp_ode_answer stop_bodies(perp_events *s, perp_constrained *k, double t, double *v)
{
  if (s->post == NULL || !perp_contact_post_stops(s->post)) return PERP_ODE_OK;
  perp_contact_count count = { 0 };
  const double start = perp_constrained_own_clock(k);
  const perp_ode_answer answer = perp_contact_post_velocity(s->post, k, t, s->contact, s->n, s->tol,
                                                            v, &count);
  s->lcp_s += perp_constrained_own_clock(k) - start;
  perp_contact_count_add(perp_islands_count(s->islands), &count);
  return answer;
}

perp_ode_answer perp_events_accept(perp_events *s, perp_constrained *k, double t, double *q,
                                   double *v)
{
  if (!perp_events_find(s, k, t, q)) return PERP_ODE_FAILED;
  if (!s->fresh) {
    double gap, speed, load = HUGE_VAL;
    perp_events_lows(s, k, v, &gap, &speed);
    if (s->drives != NULL) perp_event_drives_lows(s->drives, k, v, &gap, &speed, &load);
    if (gap < 0 || speed < -s->o.slip || perp_events_passed(s, q)) return PERP_ODE_INVALID;
  }
  const perp_ode_answer parted = part_bodies(s, k, t, q);
  if (parted == PERP_ODE_FAILED) return parted;
  k->status = touches_reserve(k->ctx, &s->next, s->n);
  if (k->status == PERP_OK) k->status = perp_events_seen_reserve(k->ctx, s);
  if (k->status != PERP_OK) return PERP_ODE_FAILED;
  bool impact = s->drives != NULL && perp_event_drives_touch(s->drives, k, v);
  const double closed = parted == PERP_ODE_CHANGED ? PARTED * s->size : s->tol;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    const double limit = perp_events_rested(s, i) ? PERP_HOLD_SPEED : s->o.rest;
    const double speed = perp_events_speed(s, k, x, v);
    /* what closes before it could be located touches */
    s->kept[i] = x->gap <= fmax(closed, s->tol) - s->locate * fmin(speed, 0) ||
                 (perp_events_rested(s, i) && x->gap <= s->hold);
    impact |= s->kept[i] && speed < -limit;
  }
  if (impact && !perp_events_impact(s, k, v)) return PERP_ODE_FAILED;
  const perp_ode_answer stopped = impact ? PERP_ODE_CHANGED : stop_bodies(s, k, t, v);
  if (stopped == PERP_ODE_FAILED) return stopped;
  s->hit = impact;
  take_stock(s, k, t, v, impact);
  if (s->drives != NULL) perp_event_drives_stock(s->drives, k, v, impact);
  return stopped == PERP_ODE_OK ? parted : stopped;
}

/* contacts that began or ceased to rest or to slide */
static int64_t events_changes(const perp_event_contacts *a, const perp_event_contacts *b)
{
  const perp_event_contact none = { 0 };
  int64_t count = 0;
  for (int i = 0, j = 0; i < a->n || j < b->n;) {
    const bool first = j == b->n || (i < a->n && a->x[i].id <= b->x[j].id),
               second = i == a->n || (j < b->n && b->x[j].id <= a->x[i].id);
    const perp_event_contact *x = first ? &a->x[i++] : &none, *y = second ? &b->x[j++] : &none;
    count += x->rests != y->rests || x->slides != y->slides;
    count += x->begins; /* to slide, at the start of the step */
  }
  return count;
}

bool perp_events_adopt(perp_events *s, perp_constrained *k, double t, const double *q)
{
  perp_contact_count count = { 0 };
  if (s->drives != NULL) count.switches = perp_event_drives_adopt(s->drives);
  if (s->fresh) {
    s->t_mark = t;
    s->idle = 0;
  } else {
    count.switches += events_changes(&s->now, &s->next);
    count.piled = s->unturned;
    perp_contact_count_add(perp_islands_count(s->islands), &count);
  }
  perp_events_see(s);
  perp_events_pile(s, t, count.switches > 0 || s->hit);
  const perp_event_contacts swap = s->was;
  s->was = s->now;
  s->now = s->next;
  s->next = swap;
  s->was_frozen = s->frozen;
  s->frozen = s->unturned = false;
  s->revisions = 0;
  s->chatter = t - s->t > PROGRESS * s->h ? 0 : s->chatter + 1;
  s->fresh = false;
  memcpy(s->q_start, q, (size_t)s->model->nq * sizeof *q);
  s->t = t;
  if (++s->idle < IDLE_MOST) return true;
  const bool moving = t - s->t_mark > PROGRESS * s->h;
  s->idle = 0;
  s->t_mark = t;
  if (moving) return true;
  k->reason = PERP_STALLED;
  snprintf(s->cause, sizeof s->cause,
           "%d events in less than %g s: impacts accumulate (Zeno); a larger threshold makes slow "
           "impacts plastic",
           IDLE_MOST, PROGRESS * s->h);
  return false;
}

/* ---- reports ---- */

const char *perp_events_cause(const perp_events *s)
{
  return s->cause;
}

void perp_events_info(perp_events *s, double dt, perp_step_info *info)
{
  for (int i = 0; i < 3 * s->n_shown; i++) s->shown_impulse[i] = dt * s->shown_force[i];
  info->n_contacts = s->n_shown;
  info->contacts = s->n_shown > 0 ? s->shown : NULL;
  info->impulse = s->n_shown > 0 ? s->shown_impulse : NULL;
  info->n_critical = s->n_critical;
  s->n_critical = 0;
  info->drive = s->drives != NULL ? perp_event_drives_forces(s->drives) : NULL;
}

const perp_contact_count *perp_events_counters(const perp_events *s)
{
  return perp_islands_count(s->islands);
}

void perp_events_observe(perp_events *s, perp_contact_observer *observer, void *user)
{
  perp_islands_observe(s->islands, observer, user);
}

void perp_events_times(const perp_events *s, double *collision, double *lcp)
{
  *collision = s->collision_s;
  *lcp = s->lcp_s;
}
