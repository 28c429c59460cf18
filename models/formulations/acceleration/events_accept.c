/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/acceleration/events_private.h"

#include "models/contact/step/drives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trial steps to locate an event, at most: half of them would halve a step to its accuracy. */
enum { BISECTIONS = 60 };

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

static void events_layout(void *ws, perp_arena *arena)
{
  perp_events *events = ws;
  events->settings.reach = PERP_CARVE(arena, double, events->model->n_bodies);
  PERP_DOUBLES(arena, events->model->nq, &events->at.q, &events->start.q);
  PERP_DOUBLES(arena, 6 * (size_t)events->model->n_bodies, &events->trial.before,
               &events->trial.free);
  PERP_DOUBLES(arena, events->model->nv, &events->stop.rhs, &events->stop.response,
               &events->trial.f_free, &events->trial.a_free, &events->trial.a_asked,
               &events->start.held);
  events->trial.load = PERP_CARVE(arena, double, events->model->n_bodies);
  PERP_DOUBLES(arena, events->model->m, &events->stop.zero, &events->stop.lambda);
}

void perp_events_destroy(perp_events *events)
{
  if (events == NULL) return;
  if (events->collision != NULL) perp_collision_destroy(events->collision);
  perp_event_drives_destroy(events->drives);
  perp_contact_post_destroy(events->post);
  if (events->stab != NULL) events->stab->destroy(events->stab_ws);
  perp_islands_destroy(events->islands);
  free(events->now.list);
  free(events->next.list);
  free(events->was.list);
  free(events->start.seen);
  free(events->accepted.shown.contact);
  free(events->accepted.shown.force);
  free(events->accepted.shown.impulse);
  perp_arena_free(&events->at.arena);
  free(events);
}

/* column needs a solver that serves nonsymmetric matrices; auto takes it where there is one */
static perp_status create_rule(perp_ctx *ctx, perp_events *events, const perp_desc *lcp)
{
  const bool can = (lcp->caps & PERP_LCP_NONSYMMETRIC) != 0;
  events->settings.rule = events->opts.sliding;
  if (events->settings.rule == PERP_SLIDING_AUTO)
    events->settings.rule = can ? PERP_SLIDING_COLUMN : PERP_SLIDING_ITERATE;
  if (events->settings.rule == PERP_SLIDING_COLUMN && !can)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "acceleration:sliding=column has a nonsymmetric matrix: lcp '%s' does not "
                     "support it; use sliding=iterate with it, or --lcp lemke",
                     lcp->name);
  return PERP_OK;
}

/* shapes of the model, or the rows of drives alone */
static perp_status create_contacts(perp_ctx *ctx, perp_events *events, const perp_parts *parts)
{
  const perp_event_opts *opts = &events->opts;
  const perp_contact_setup solving = { .tol = opts->residual,
                                       .tol_data = PERP_CONTACT_TOL_DATA,
                                       .budget = opts->budget,
                                       .choice = opts->choice };
  perp_parts alone = *parts;
  if (events->model->surfaces.belts && opts->critical == PERP_CRITICAL_STOP)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration:critical=stop does not support moving surfaces: use critical=fail");
  if (events->model->n_shapes > 0) {
    if (parts->contact.d->caps & PERP_CONTACT_RELAXED)
      return PERP_FAIL(
          ctx, PERP_ERR_UNSUPPORTED,
          "contact %s is defined for time steps: with accelerations, a contact that begins to "
          "slide would open; use --formulation velocity, or --contact polyhedral",
          parts->contact.d->name);
    PERP_TRY(create_rule(ctx, events, parts->lcp.d));
    PERP_TRY(
        perp_collision_create(ctx, events->model, events->settings.margin, &events->collision));
    PERP_TRY(perp_contacts_islands(ctx, events->model, parts, &solving, opts->threads, false,
                                   &events->islands));
    PERP_TRY(perp_contact_stab(ctx, parts, &events->stab, &events->stab_ws));
    const perp_contact_post_setup setup = { .tol = opts->residual,
                                            .tol_data = PERP_CONTACT_TOL_DATA,
                                            .budget = opts->budget,
                                            .slop = events->settings.touch,
                                            .size = events->settings.size,
                                            .slow = SLOW * opts->rest,
                                            .threshold = opts->threshold,
                                            .threads = opts->threads };
    return perp_contact_post_create(ctx, events->model, parts, events->stab, events->stab_ws,
                                    &setup, &events->post);
  }
  alone.contact = (perp_spec){ 0 };
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_contact, "frictionless", &alone.contact));
  perp_status status = perp_contacts_islands(ctx, events->model, &alone, &solving, opts->threads,
                                             false, &events->islands);
  perp_spec_free(&alone.contact);
  return status;
}

static perp_status create_drives(perp_ctx *ctx, perp_events *events, const perp_desc *lcp)
{
  if (events->model->n_drives == 0) return PERP_OK;
  PERP_TRY(perp_drives_check(ctx, events->model, PERP_LEVEL_ACCELERATION, lcp));
  if (events->opts.order == PERP_ORDER_SEQUENTIAL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "acceleration:order=sequential does not support limits and motors: use order=together");
  const perp_drive_tolerances tol = { .tol = { TOUCH, events->settings.touch },
                                      .hold = { HOLD, events->settings.hold },
                                      .rest = events->opts.rest,
                                      .keep = PERP_HOLD_SPEED,
                                      .slip = events->opts.slip,
                                      .relax = RELAX * events->settings.h,
                                      .locate = events->settings.locate };
  return perp_event_drives_create(ctx, events->model, &tol, &events->drives);
}

perp_status perp_events_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               const perp_event_opts *opts, double h, perp_events **out)
{
  perp_events like = { .model = model,
                       .opts = *opts,
                       .settings = { .h = h,
                                     .locate = fmax(opts->locate, h * exp2(-0.5 * BISECTIONS)) } };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_impact_check(ctx, opts->impact, opts->tangential));
  PERP_TRY(perp_workspace_create(ctx, "contacts", &like, sizeof like, events_layout, &ws));
  perp_events *events = ws;
  perp_contacts_reach(model, events->settings.reach);
  for (int body = 0; body < model->n_bodies; body++)
    events->settings.size = fmax(events->settings.size, events->settings.reach[body]);
  if (!(events->settings.size > 0))
    events->settings.size = model->size > 0 ? model->size : 1; /* planes only */
  events->settings.touch = opts->gap > 0 ? opts->gap : TOUCH * events->settings.size;
  events->settings.hold = fmax(HOLD * events->settings.size, 2 * events->settings.touch);
  events->settings.margin = 4 * events->settings.hold;
  perp_status status = perp_events_reserve(ctx, events, 1);
  const bool exact = (parts->lcp.d->caps & PERP_LCP_PIVOTING) != 0;
  events->settings.past = exact ? PAST : ROUGHLY * opts->residual;
  events->settings.noise = NOISE * events->settings.past;
  events->settings.fixed = perp_ode_tol(&parts->ode) == 0;
  events->settings.order = ((const perp_ode_desc *)parts->ode.d)->order;
  events->settings.repeats = perp_ode_repeats(&parts->ode);
  if (status == PERP_OK) status = create_contacts(ctx, events, parts);
  events->settings.feeds_start = events->settings.fixed && events->stab != NULL &&
                                 (events->stab->d.caps & PERP_STAB_PROJECTS) != 0;
  if (status == PERP_OK) status = create_drives(ctx, events, parts->lcp.d);
  if (status != PERP_OK) {
    perp_events_destroy(events);
    return status;
  }
  *out = events;
  return PERP_OK;
}

void perp_events_restart(perp_events *events)
{
  perp_event_start *start = &events->start;
  perp_event_accepted *accepted = &events->accepted;
  events->now.phase = events->was.phase = PERP_PHASE_FRESH;
  events->now.n = events->next.n = events->was.n = 0;
  events->at.valid = false;
  events->at.n = events->trial.n = 0;
  events->trial.verdict = PERP_FORCES_FOUND;
  start->n_seen = start->revisions = 0;
  start->redundant = start->unturned = false;
  start->longest = HUGE_VAL;
  start->w_scale = 0;
  accepted->shown.n = accepted->n_critical = accepted->idle = accepted->chatter = 0;
  accepted->hit = false;
  accepted->t_calm = -HUGE_VAL;
  events->collision_s = events->lcp_s = 0;
  events->cause[0] = '\0';
  if (events->drives != NULL) perp_event_drives_restart(events->drives);
  perp_islands_restart(events->islands);
  perp_islands_count(events->islands)->events = true;
  perp_islands_forget(events->islands);
  if (events->post != NULL) perp_contact_post_restart(events->post);
}

bool perp_events_between(perp_events *events, bool begins)
{
  if (begins && events->was.phase != PERP_PHASE_FROZEN) return false;
  const perp_event_step swap = events->now;
  events->now = events->was;
  events->was = swap;
  if (events->drives != NULL) perp_event_drives_swap(events->drives);
  return true;
}

bool perp_events_slow(const perp_events *events)
{
  for (int i = 0; i < events->now.n && events->model->dim == 3 && !events->start.redundant; i++)
    if (perp_event_slides(&events->now.list[i]) &&
        events->settings.h * events->start.w_scale > PERP_EVENTS_STIFF * events->now.list[i].speed)
      return true;
  return false;
}

void perp_events_locate(const perp_events *events, perp_ode_sys *sys)
{
  sys->locate = events->opts.locate;
  sys->locations_most = BISECTIONS;
  sys->rough = events->opts.residual * fabs(events->model->gravity);
}

/* ---- a regular state ---- */

/* Snapshot of the contact i that touches or rests from here on; now: what it was in the step. */
static perp_event_contact accept_snapshot(const perp_events *events, int i, bool rests,
                                          const double u[3], double t_new, bool impact)
{
  const perp_contact *contact = &events->at.contact[i];
  const perp_event_contact *now = perp_events_of(events, i);
  const bool slid = now != NULL && perp_event_slides(now) && !impact;
  double slide[3];
  perp_event_contact next = { .id = contact->id, .gap = contact->gap };
  perp_contact_middle(contact, next.at);
  perp_events_tangential(events->model->dim, contact->n, u, slide);
  next.speed = sqrt(perp_dot(3, slide, slide));
  /* what has begun to slide goes on, however slowly */
  const bool slides = next.speed > events->opts.slip ||
                      (slid &&
                       perp_dot(3, slide, now->dir) > PERP_EVENTS_STOPPED * events->opts.slip);
  if (rests) next.state = slides ? PERP_CONTACT_SLIDES : PERP_CONTACT_STICKS;
  for (int j = 0; j < 3 && rests && slides; j++) next.dir[j] = slide[j] / next.speed;
  if (now == NULL) return next;
  next.held = rests && now->held && contact->gap < -events->settings.touch;
  if (rests && slides && slid && t_new > events->start.t)
    perp_events_turning_next(events, now, contact, t_new, &next);
  next.mode = now->mode;
  next.goes_on = perp_events_keeps_modes(events) && rests && perp_event_rests(now) &&
                 slides == perp_event_slides(now) && !impact;
  if (next.goes_on) next.certificate = now->certificate;
  memcpy(next.force, now->force, sizeof next.force);
  next.slip = now->slip;
  return next;
}

/* Contacts that touch or rest from here on. */
static void accept_contacts(perp_events *events, const perp_constrained *system, double t_new,
                            const double *v, bool impact)
{
  const perp_event_settings *settings = &events->settings;
  for (int i = 0; i < events->at.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    double u[3];
    perp_events_velocity(events->model, system->e, contact, v, u);
    const double normal = perp_dot(events->model->dim, contact->n, u);
    const bool near = contact->gap <= settings->hold;
    bool rests = events->at.kept[i] && near && normal <= events->opts.rest;
    /* what feedback takes out of the other body goes on resting */
    if (perp_events_rested(events, i) && !(impact && events->at.struck[i]))
      rests |= near && (normal <= PERP_HOLD_SPEED || contact->gap < -settings->touch);
    if (rests || contact->gap <= 2 * settings->touch)
      events->next.list[events->next.n++] = accept_snapshot(events, i, rests, u, t_new, impact);
  }
}

/* Positions at the end of a step: contacts that are deep in each other. */
static perp_ode_answer accept_positions(perp_events *events, perp_constrained *system, double t,
                                        double *q)
{
  const int passes = events->post != NULL ? perp_contact_post_passes(events->post) : 0;
  perp_contact_count count = { 0 };
  bool good = true, moved = true, changed = false;
  int pass = 0;
  while (good && moved && pass < passes) {
    for (int i = 0; i < events->at.n; i++)
      events->at.part[i] = perp_events_of(events, i) != NULL && perp_events_of(events, i)->held;
    if (!perp_contact_post_deep(events->post, events->at.contact, events->at.part, events->at.n,
                                false))
      break;
    pass++;
    const double start = perp_constrained_own_clock(system);
    good = perp_contact_post_position(events->post, system, events->at.contact, events->at.part,
                                      events->at.n, q, &moved, &count);
    events->lcp_s += perp_constrained_own_clock(system) - start;
    changed |= moved;
    good = good && perp_events_find(events, system, t, q);
  }
  if (pass > 0) perp_contact_count_add(perp_islands_count(events->islands), &count);
  return !good ? PERP_ODE_FAILED : changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
}

/* Velocities at the end of a step without an impact. */
static perp_ode_answer accept_velocities(perp_events *events, perp_constrained *system, double t,
                                         double *v)
{
  if (events->post == NULL || !perp_contact_post_stops(events->post)) return PERP_ODE_OK;
  perp_contact_count count = { 0 };
  const double start = perp_constrained_own_clock(system);
  const perp_ode_answer answer = perp_contact_post_velocity(
      events->post, system, t, events->at.contact, events->at.n, events->settings.touch, v, &count);
  events->lcp_s += perp_constrained_own_clock(system) - start;
  perp_contact_count_add(perp_islands_count(events->islands), &count);
  return answer;
}

perp_ode_answer perp_events_accept(perp_events *events, perp_constrained *system, double t,
                                   double *q, double *v)
{
  if (!perp_events_find(events, system, t, q)) return PERP_ODE_FAILED;
  if (events->now.phase != PERP_PHASE_FRESH) {
    double gap, speed, load = HUGE_VAL;
    perp_events_lows(events, system, v, &gap, &speed);
    if (events->drives != NULL)
      perp_event_drives_lows(events->drives, system, v, &gap, &speed, &load);
    if (gap < 0 || speed < -events->opts.slip || perp_events_passed(events, q))
      return PERP_ODE_INVALID;
  }
  const perp_ode_answer parted = accept_positions(events, system, t, q);
  if (parted == PERP_ODE_FAILED) return parted;
  events->next.n = 0;
  system->status = perp_events_grow(system->ctx, &events->next.list, sizeof *events->next.list,
                                    events->at.n, &events->next.cap);
  if (system->status == PERP_OK)
    system->status = perp_events_grow(system->ctx, &events->start.seen, sizeof *events->start.seen,
                                      events->at.n, &events->start.cap_seen);
  if (system->status != PERP_OK) return PERP_ODE_FAILED;
  bool impact = events->drives != NULL && perp_event_drives_touch(events->drives, system, v);
  const double closed = parted == PERP_ODE_CHANGED ? PARTED * events->settings.size
                                                   : events->settings.touch;
  for (int i = 0; i < events->at.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    const double limit = perp_events_rested(events, i) ? PERP_HOLD_SPEED : events->opts.rest;
    const double speed = perp_events_speed(events, system, contact, v);
    /* what closes before it could be located touches */
    events->at.kept[i] = contact->gap <= fmax(closed, events->settings.touch) -
                                             events->settings.locate * fmin(speed, 0) ||
                         (perp_events_rested(events, i) && contact->gap <= events->settings.hold);
    impact |= events->at.kept[i] && speed < -limit;
  }
  if (impact && !perp_events_impact(events, system, v)) return PERP_ODE_FAILED;
  const perp_ode_answer stopped = impact ? PERP_ODE_CHANGED
                                         : accept_velocities(events, system, t, v);
  if (stopped == PERP_ODE_FAILED) return stopped;
  events->accepted.hit = impact;
  accept_contacts(events, system, t, v, impact);
  if (events->drives != NULL) perp_event_drives_stock(events->drives, system, v, impact);
  return stopped == PERP_ODE_OK ? parted : stopped;
}

/* contacts that began or ceased to rest or to slide */
static int64_t accept_changes(const perp_event_step *a, const perp_event_step *b)
{
  const perp_event_contact none = { 0 };
  int64_t count = 0;
  for (int i = 0, j = 0; i < a->n || j < b->n;) {
    const bool first = j == b->n || (i < a->n && a->list[i].id <= b->list[j].id),
               second = i == a->n || (j < b->n && b->list[j].id <= a->list[i].id);
    const perp_event_contact *x = first ? &a->list[i++] : &none,
                             *y = second ? &b->list[j++] : &none;
    count += perp_event_rests(x) != perp_event_rests(y) ||
             perp_event_slides(x) != perp_event_slides(y);
    count += x->begins; /* to slide, at the start of the step */
  }
  return count;
}

bool perp_events_adopt(perp_events *events, perp_constrained *system, double t, const double *q)
{
  perp_contact_count count = { 0 };
  if (events->drives != NULL) count.switches = perp_event_drives_adopt(events->drives);
  if (events->now.phase == PERP_PHASE_FRESH) {
    events->accepted.t_mark = t;
    events->accepted.idle = 0;
  } else {
    count.switches += accept_changes(&events->now, &events->next);
    count.piled = events->start.unturned;
    perp_contact_count_add(perp_islands_count(events->islands), &count);
  }
  perp_events_see(events);
  perp_events_accumulate(events, t, count.switches > 0 || events->accepted.hit);
  const perp_event_step swap = events->was;
  events->was = events->now;
  events->now = events->next;
  events->next = swap;
  events->now.phase = PERP_PHASE_BEGINS;
  events->start.unturned = false;
  events->start.revisions = 0;
  events->accepted.chatter = t - events->start.t > PROGRESS * events->settings.h
                                 ? 0
                                 : events->accepted.chatter + 1;
  memcpy(events->start.q, q, (size_t)events->model->nq * sizeof *q);
  events->start.t = t;
  if (++events->accepted.idle < IDLE_MOST) return true;
  const bool moving = t - events->accepted.t_mark > PROGRESS * events->settings.h;
  events->accepted.idle = 0;
  events->accepted.t_mark = t;
  if (moving) return true;
  system->reason = PERP_STALLED;
  snprintf(events->cause, sizeof events->cause,
           "%d events in less than %g s: impacts accumulate (Zeno); a larger threshold makes slow "
           "impacts plastic",
           IDLE_MOST, PROGRESS * events->settings.h);
  return false;
}

/* ---- reports ---- */

const char *perp_events_cause(const perp_events *events)
{
  return events->cause;
}

void perp_events_info(perp_events *events, double dt, perp_step_info *info)
{
  const int n = events->accepted.shown.n;
  for (int i = 0; i < 3 * n; i++)
    events->accepted.shown.impulse[i] = dt * events->accepted.shown.force[i];
  info->n_contacts = n;
  info->contacts = n > 0 ? events->accepted.shown.contact : NULL;
  info->impulse = n > 0 ? events->accepted.shown.impulse : NULL;
  info->n_critical = events->accepted.n_critical;
  events->accepted.n_critical = 0;
  info->drive = events->drives != NULL ? perp_event_drives_forces(events->drives) : NULL;
}

const perp_contact_count *perp_events_counters(const perp_events *events)
{
  return perp_islands_count(events->islands);
}

void perp_events_observe(perp_events *events, perp_contact_observer *observer, void *user)
{
  perp_islands_observe(events->islands, observer, user);
}

void perp_events_times(const perp_events *events, double *collision, double *lcp)
{
  *collision = events->collision_s;
  *lcp = events->lcp_s;
}
