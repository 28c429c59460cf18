/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resting contacts on the acceleration level (Vondrak 2005, sections 6.5.2 and 6.5.3; STAR 2012,
 * section 3.2.1).  For the contacts that rest in a step, at each evaluation,
 *
 *      0 <= lambda_n  perp  J_n a + Jdot_n v - feedback(gap, J_n v) >= 0
 *
 * with the joints eliminated; friction as the contact model has it on J_t a + Jdot_t v -
 * feedback(0, u_t) where the contact sticks, and -mu lambda_n along the sliding where it slides
 * (sliding.c).  The feedback is that of the stabilization (Vondrak 2005, eq. 6.34, for Baumgarte's;
 * no other has any): without it the gap and the speed that a contact has when it comes to rest stay
 * with it, and what the integration adds.
 *
 * In space friction turns the sliding towards the other forces, at a rate that goes with 1 / |u_t|:
 * a slow contact is stiff, and explicit stages would throw it from side to side.  In steps of first
 * order (events_accumulate.c) such contacts drift: their friction is that of the contact model on
 * J_t a + Jdot_t v + u_t / h, the largest dissipation for the velocity that the step leads to, as
 * on the velocity level, with mu_dynamic.  It has its full size against the motion until it can
 * stop it within about a step.
 *
 * Rows: Vondrak 2005, eq. 6.11 and 6.12; STAR 2012, eq. 28, 30, 31 and 34; Cline 2002, eq. 2.33.
 * Friction that sticks: Vondrak 2005, eq. 6.40; with the model cone STAR 2012, eq. 32. Contacts
 * that rest and slide, or stick: STAR 2012, eq. 11, 12. */
#include "models/contact/step/belts.h"
#include "models/formulations/acceleration/events.h"
#include "models/formulations/acceleration/events_private.h"

#include <stdio.h>
#include <string.h>

static const double BAD = 0.01;     /* of the accelerations: more is no answer */
static const double CLEARLY = 1e-6; /* of a force: within its bounds */
static const double TURNED = 1e-9;  /* a unit vector that did not */
static const double DISAGREES = -1; /* how far is not known */
enum { TRIES = 12 };                /* of times within which a drifting contact is to stop */
enum { ROUNDS = 8, TURNS = 30 };    /* of modes that change at one instant; of a direction */
enum { CHATTER = 20 }; /* steps that go nowhere: the next one is decided at each evaluation */

/* ---- the problem ---- */

/* Direction of sliding now.  Where it ceases to be clear, at the end of sliding, that of the start
 * of the step: the derivative stays smooth beyond the event. */
static void forces_direction(const perp_events *events, const perp_contact *contact,
                             const perp_event_contact *touching, const double u[3], double dir[3])
{
  double slide[3];
  if (touching->state == PERP_CONTACT_TURNS) {
    perp_events_turning_direction(touching, contact, events->trial.t, dir);
    return;
  }
  perp_events_tangential(events->model->dim, contact->n, u, slide);
  const double speed = sqrt(perp_dot(3, slide, slide));
  if (touching->state == PERP_CONTACT_STEADY ||
      !(speed > events->opts.slip && perp_dot(3, slide, touching->dir) > 0.5 * speed)) {
    perp_events_tangential(events->model->dim, contact->n, touching->dir, slide);
    const double length = sqrt(perp_dot(3, slide, slide));
    for (int i = 0; i < 3; i++) dir[i] = length > 0 ? slide[i] / length : 0;
    return;
  }
  for (int i = 0; i < 3; i++) dir[i] = slide[i] / speed;
}

static double forces_feedback(const perp_events *events, double gap, double rate)
{
  if (events->stab->contact == NULL) return 0;
  return events->stab->contact(events->stab_ws, PERP_LEVEL_ACCELERATION, events->trial.h_feedback,
                               gap, rate);
}

/* Feedback on the relative acceleration of a contact, world: its normal part, and the tangential
 * one where it sticks. */
static void forces_feed(const perp_events *events, const perp_contact *contact,
                        const perp_event_contact *touching, const double u[3], double fed[3])
{
  const int dim = events->model->dim;
  const double rate = perp_dot(dim, contact->n, u);
  /* gaps within the tolerance are as good as none */
  const double error = contact->gap > events->settings.touch ? contact->gap - events->settings.touch
                       : touching->held                      ? 0
                                        : fmin(contact->gap + events->settings.touch, 0);
  const double normal = forces_feedback(events, error, rate);
  fed[0] = fed[1] = fed[2] = 0;
  for (int j = 0; j < dim; j++) fed[j] = normal * contact->n[j];
  for (int j = 0; j < dim && !perp_event_slides(touching); j++) {
    const double slide = u[j] - rate * contact->n[j];
    fed[j] += touching->state == PERP_CONTACT_DRIFTS
                  ? -slide / (events->trial.stopping * events->trial.h_feedback)
                  : forces_feedback(events, 0, slide);
  }
}

/* Everything of the problem but the solution: how many contacts it has. */
static int forces_pose(perp_events *events, const perp_eval *eval)
{
  const perp_model *model = events->model;
  const double *q = events->trial.q, *v = events->trial.v;
  const bool feeds = !(perp_events_keeps_modes(events) && events->settings.feeds_start);
  perp_event_at *at = &events->at;
  bool any = false;
  for (int i = 0; i < at->n; i++) {
    const perp_contact *contact = &at->contact[i];
    perp_event_contact *touching = perp_events_rested(events, i);
    double *offset = at->offset + 3 * i, *dir = at->sliding + 3 * i, u[3];
    at->kept[i] = touching != NULL;
    memset(at->force + 3 * i, 0, 3 * sizeof *at->force);
    memset(dir, 0, 3 * sizeof *dir);
    at->slip[i] = 0;
    if (touching == NULL) continue;
    any = true;
    memcpy(at->force + 3 * i, touching->force, sizeof touching->force);
    at->slip[i] = touching->slip;
    perp_events_rate(events, eval, contact, q, v, offset);
    if (model->surfaces.belts) perp_belts_rate(model, eval, contact, v, offset);
    perp_events_velocity(model, eval, contact, v, u);
    if (feeds) forces_feed(events, contact, touching, u, touching->fed);
    for (int j = 0; j < model->dim; j++) offset[j] -= touching->fed[j];
    if (perp_event_slides(touching)) forces_direction(events, contact, touching, u, dir);
    at->mode[i] = touching->mode;
  }
  return any ? at->n : 0;
}

/* static friction, or dynamic friction where the contact slides or drifts */
static void forces_law(void *user, const perp_contact *contact, double h, const double *before,
                       const double *free, perp_contact_terms *terms)
{
  const perp_events *events = user;
  const double *dir = events->at.sliding + 3 * (contact - events->at.contact);
  const perp_event_contact *touching = perp_events_of(events, (int)(contact - events->at.contact));
  (void)h, (void)before, (void)free;
  const bool slides = (touching != NULL && touching->state == PERP_CONTACT_DRIFTS) || dir[0] != 0 ||
                      dir[1] != 0 || dir[2] != 0;
  terms->mu = slides ? contact->mu_dynamic : contact->mu;
}

/* largest violation of w_n >= 0, and of w_n = 0 where a contact presses, with the accelerations
 * system->a */
static double forces_violation(const perp_events *events, const perp_constrained *system)
{
  const perp_event_at *at = &events->at;
  double worst = 0;
  if (events->drives != NULL) worst = perp_event_drives_violation(events->drives, system->a);
  for (int contact = 0; contact < events->trial.n; contact++) {
    if (!at->kept[contact]) continue;
    const double *normal = at->contact[contact].n;
    const double w = perp_events_speed(events, system, &at->contact[contact], system->a) +
                     perp_dot(events->model->dim, normal, at->offset + 3 * contact);
    const bool presses = perp_dot(events->model->dim, normal, at->force + 3 * contact) > 0;
    worst = fmax(worst, presses ? fabs(w) : -w);
  }
  return worst;
}

/* system->f, system->a: before the forces of contacts and rows */
static void forces_rewind(perp_events *events, perp_constrained *system)
{
  const size_t size = (size_t)events->model->nv * sizeof *system->a;
  memcpy(system->f, events->trial.f_free, size);
  memcpy(system->a, events->trial.a_free, size);
}

/* frozen: rows of drives without bounds */
static void forces_rows(perp_events *events, const perp_constrained *system, bool frozen)
{
  perp_event_trial *trial = &events->trial;
  if (events->drives != NULL)
    trial->n_rows = perp_event_drives_rows(events->drives, system, trial->v, frozen, &trial->row);
}

/* frozen: in the modes of contacts and drives, else by complementarity */
static bool forces_solve(perp_events *events, perp_constrained *system, bool frozen)
{
  perp_event_trial *trial = &events->trial;
  const perp_event_at *at = &events->at;
  perp_twists(events->model, system->e, trial->v, trial->before);
  perp_twists(events->model, system->e, system->a, trial->free);
  perp_island_task task = {
    .contact = at->contact,
    .n = trial->n,
    .kept = at->kept,
    .impulse = at->force,
    .slip = at->slip,
    .h = trial->h,
    .before = trial->before,
    .free = trial->free,
    .law = forces_law,
    .user = events,
    .offset = at->offset,
    .sliding = at->sliding,
    .none = at->none,
    .rule = events->settings.rule,
    .row = trial->row,
    .n_rows = trial->n_rows,
    .frozen = frozen ? at->mode : NULL,
    /* directions that do not change have the same factors; modes are decided along the motion */
    .align = !frozen || trial->decides,
  };
  const bool good = perp_islands_step(events->islands, system, &task, PERP_LEVEL_ACCELERATION,
                                      trial->h, trial->v, &events->lcp_s);
  trial->redundant = frozen && task.redundant;
  return good;
}

/* ---- by complementarity ---- */

/* why there is no answer, in words */
static void forces_explain(perp_events *events, const perp_constrained *system, perp_reason reason)
{
  const int n = events->trial.n;
  int slides = 0;
  const perp_contact *fastest = NULL;
  double most = 0;
  for (int i = 0; i < n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    const perp_event_contact *touching = perp_events_kept(events, i);
    double slide[3];
    if (touching == NULL || !perp_event_slides(touching)) continue;
    perp_events_sliding(events, system, i, events->trial.v, slide);
    slides++;
    if (perp_dot(3, slide, slide) < most) continue;
    most = perp_dot(3, slide, slide);
    fastest = contact;
  }
  const bool shown = reason == PERP_INFEASIBLE || reason == PERP_NONE_WITHIN;
  const char *what = reason == PERP_INFEASIBLE    ? "no accelerations and forces satisfy"
                     : reason == PERP_NONE_WITHIN ? "no accelerations and forces within reach "
                                                    "satisfy"
                                                  : "no accelerations were found that satisfy";
  const char *whom = events->drives == NULL ? "the contacts"
                     : n > 0                ? "the contacts, limits and motors"
                                            : "the limits and motors";
  int at = snprintf(events->cause, sizeof events->cause, "%s %s (lcp: %s)", what, whom,
                    perp_reason_name(reason));
  if (fastest != NULL && (size_t)at < sizeof events->cause)
    at += snprintf(
        events->cause + at, sizeof events->cause - (size_t)at,
        "; %d of them slide%s, %s on %s at %.4g m/s with mu = %g: friction may be too "
        "large for the acceleration level (Painleve); formulation velocity has impulses",
        slides, slides == 1 ? "s" : "", perp_events_body(events->model, fastest->body[1]),
        perp_events_body(events->model, fastest->body[0]), sqrt(most), fastest->mu_dynamic);
  if (shown && n > 0 && events->opts.critical == PERP_CRITICAL_FAIL &&
      (size_t)at < sizeof events->cause)
    snprintf(events->cause + at, sizeof events->cause - (size_t)at,
             "; critical=stop stops the bodies");
}

/* Is a problem without a solution one of several contacts, of which some slide?  In a heap a body
 * jams that slides between two others: friction of contacts that drift stops it, as an impulse
 * would. */
static bool forces_jams(const perp_events *events)
{
  int several = 0, slides = 0;
  for (int i = 0; i < events->trial.n; i++) {
    const perp_event_contact *touching = perp_events_kept(events, i);
    if (touching == NULL || !events->at.none[i]) continue;
    several++;
    slides += touching->state >= PERP_CONTACT_DRIFTS;
  }
  return events->opts.critical == PERP_CRITICAL_FAIL && several > 1 && slides > 0;
}

/* Forces and accelerations by complementarity.  False: the verdict, the reason and the cause. */
static bool forces_complementary(perp_events *events, perp_constrained *system)
{
  perp_event_trial *trial = &events->trial;
  perp_contact_count *count = perp_islands_count(events->islands);
  const perp_contact_count before = *count;
  const double free = forces_violation(events, system);
  events->start.w_scale = perp_events_largest(events, system, system->a);
  if (events->drives != NULL)
    events->start.w_scale = fmax(events->start.w_scale,
                                 perp_event_drives_largest(events->drives, system->a));
  if (!forces_solve(events, system, false)) return false;
  const perp_reason reason = perp_events_failed(&before, count);
  /* may this step be one of first order, or another one of them be tried? */
  const bool may_skip = trial->n > 0 &&
                        (trial->tries || (perp_events_may_hold(events) &&
                                          !perp_events_holds(events, events->start.t)));
  if (reason >= 0 || (!may_skip && forces_violation(events, system) <= BAD * free)) return true;
  forces_explain(events, system, reason);
  system->reason = reason;
  const bool none = perp_contact_count_none(count) > perp_contact_count_none(&before);
  const bool critical = none && trial->n > 0 && !(may_skip && forces_jams(events));
  const bool stop = events->opts.critical == PERP_CRITICAL_STOP;
  /* That none exist is an answer, of an evaluation that is given up; a solver that failed has
   * none. */
  if (critical ? stop : may_skip && none) perp_contact_count_refute(count, &before);
  if (!critical) {
    if (may_skip) trial->verdict = PERP_FORCES_SKIPPED;
    return false;
  }
  trial->verdict = stop ? PERP_FORCES_STOP : PERP_FORCES_CRITICAL;
  for (int i = 0; i < events->at.n; i++) {
    perp_event_contact *touching = perp_events_of(events, i);
    if (touching != NULL) touching->critical = events->at.kept[i] && events->at.none[i];
  }
  return false;
}

/* The same after contacts or motors have changed their modes. */
static bool forces_again(perp_events *events, perp_constrained *system)
{
  forces_rewind(events, system);
  forces_rows(events, system, false);
  if (events->trial.n > 0) forces_pose(events, system->e);
  return forces_complementary(events, system);
}

/* ---- the phase of the step that begins ---- */

/* of accelerations, from those of complementarity */
static double forces_apart(const perp_events *events, const perp_constrained *system)
{
  const double *asked = events->trial.a_asked;
  const double apart = perp_events_apart(events, system, system->a, asked);
  if (events->drives == NULL) return apart;
  return fmax(perp_event_drives_apart(events->drives, system->a, asked), apart);
}

/* of forces from a bound */
static double forces_distance(const perp_events *events)
{
  const double margin = perp_events_margin(events);
  return events->drives != NULL ? fmin(perp_event_drives_margin(events->drives), margin) : margin;
}

/* What begins to slide has one direction with the friction that follows from it.  Friction turns
 * against the acceleration that it makes, several times as far where a body is light to turn: the
 * part of the way is halved where that grows. */
static bool forces_turn(perp_events *events, perp_constrained *system)
{
  const size_t size = (size_t)events->model->nv * sizeof *system->a;
  double part = 1, last = HUGE_VAL;
  perp_events_turning_begin(events, system);
  for (int pass = 0; pass < TURNS; pass++) {
    memcpy(events->trial.a_asked, system->a, size);
    const double turned = perp_events_turn(events, system, part);
    if (turned <= TURNED)
      return !perp_events_reversed(events, system) || forces_again(events, system);
    if (turned > 0.5 * last) part *= 0.5;
    last = turned;
    if (!forces_again(events, system)) return false;
  }
  perp_events_modes(events, system);
  perp_events_ahead(events, system, false);
  forces_rewind(events, system);
  forces_rows(events, system, true);
  if (forces_solve(events, system, true)) perp_events_ahead(events, system, true);
  return forces_again(events, system);
}

/* Contacts and motors that cannot do what they did; how many. */
static int forces_release(perp_events *events, perp_constrained *system)
{
  const bool unique = !events->trial.redundant;
  if (!unique) { /* the forces without any that hold each other */
    memset(events->at.force, 0, 3 * (size_t)events->trial.n * sizeof *events->at.force);
    forces_rewind(events, system);
    if (!forces_solve(events, system, true)) return 0;
  }
  const int released = perp_events_release(events, system, unique);
  if (events->drives == NULL) return released;
  return released + perp_event_drives_release(events->drives, 0.5 * events->settings.past,
                                              events->trial.f_free);
}

/* The modes of the step from the forces that complementarity has found.  *fit: they explain these
 * forces; else complementarity decides at each evaluation. */
static bool forces_decide(perp_events *events, perp_constrained *system, bool *fit)
{
  const size_t size = (size_t)events->model->nv * sizeof *system->a;
  perp_event_trial *trial = &events->trial;
  perp_event_start *start = &events->start;
  const double past = events->settings.past, noise = events->settings.noise;
  if (!forces_again(events, system)) return false;
  if (events->accepted.chatter >= CHATTER || events->settings.rule == PERP_SLIDING_LAGGED)
    return true;
  if (events->drives != NULL && events->settings.fixed) perp_event_drives_feed(events->drives);
  start->v = trial->v;
  perp_events_steady(events, system);
  if (!forces_turn(events, system)) return false;
  for (int round = 0; round < ROUNDS; round++) {
    /* the forces of these modes, and how far they are from complementarity */
    perp_events_modes(events, system);
    if (events->drives != NULL) {
      perp_event_drives_part(events->drives, system->a, noise * start->w_scale);
      perp_event_drives_remember(events->drives, false, true);
    }
    memcpy(trial->a_asked, system->a, size);
    forces_rows(events, system, true);
    forces_rewind(events, system);
    const bool solved = forces_solve(events, system, true);
    start->redundant = trial->redundant;
    const bool agrees = solved && forces_apart(events, system) <= noise * start->w_scale;
    *fit = solved && perp_events_opening(events, system) >= -past * start->w_scale &&
           (agrees || forces_distance(events) >= -0.5 * past);
    if (*fit && agrees) perp_events_certify(events);
    if (*fit) return true;
    /* what cannot go on is released, and complementarity asked again */
    if (!solved || forces_release(events, system) == 0) break;
    memcpy(system->f, trial->f_free, size);
    if (!perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, trial->h, trial->v)) return false;
    memcpy(trial->a_free, system->a, size);
    if (!forces_again(events, system) || !forces_turn(events, system)) return false;
  }
  return forces_again(events, system);
}

/* Do the contacts go on with what they did in the step before?  They do where the forces of these
 * modes are well within their bounds, or the same that complementarity has found, and what is open
 * parts: that is a solution, and complementarity need not look for one. */
static bool forces_go_on(perp_events *events, perp_constrained *system)
{
  if (events->drives != NULL || events->settings.rule == PERP_SLIDING_LAGGED ||
      events->accepted.chatter > 0)
    return false;
  for (int i = 0; i < events->now.n; i++)
    if (perp_event_rests(&events->now.list[i]) && !events->now.list[i].goes_on) return false;
  events->start.v = events->trial.v;
  events->start.w_scale = perp_events_largest(events, system, system->a);
  perp_events_steady(events, system);
  for (int i = 0; i < events->now.n; i++)
    if (events->now.list[i].state >= PERP_CONTACT_STEADY) return false;
  /* next to the forces of the step before; or, where forces are not unique, those without any that
   * hold each other */
  for (int pass = 0; pass < 2; pass++) {
    if (!forces_solve(events, system, true)) break;
    const bool redundant = events->trial.redundant;
    if (perp_events_modes(events, system) && perp_events_opening(events, system) >= 0 &&
        (perp_events_margin(events) > CLEARLY || (redundant && perp_events_certified(events)))) {
      events->start.redundant = redundant;
      return true;
    }
    forces_rewind(events, system);
    if (!redundant) break;
    memset(events->at.force, 0, 3 * (size_t)events->trial.n * sizeof *events->at.force);
  }
  return false;
}

/* Forces of a step of first order, which hold in it: friction stops what drifts within a step, or
 * later where none are found. */
static bool forces_hold(perp_events *events, perp_constrained *system)
{
  const perp_contact_count count = { .piled = 1 };
  perp_event_trial *trial = &events->trial;
  bool found = false;
  /* was the step not to be of first order? */
  if (trial->verdict == PERP_FORCES_SKIPPED) perp_events_hold(events);
  for (int i = 1; i == 1 || trial->verdict == PERP_FORCES_SKIPPED; i++) {
    if (trial->verdict == PERP_FORCES_SKIPPED) {
      system->reason = PERP_EXACT;
      events->cause[0] = '\0';
    }
    trial->verdict = PERP_FORCES_FOUND;
    trial->tries = i < TRIES;
    trial->stopping = 1 + 0.5 * (i - 1);
    found = forces_again(events, system);
  }
  trial->tries = false;
  trial->stopping = 1;
  if (!found) return false;
  for (int i = 0; i < events->model->nv; i++)
    events->start.held[i] = system->f[i] - trial->f_free[i];
  perp_contact_count_add(perp_islands_count(events->islands), &count);
  return true;
}

/* ---- an evaluation ---- */

void perp_events_push(perp_events *events, const perp_constrained *system, const double *v,
                      double *f)
{
  if (events->drives != NULL) perp_event_drives_push(events->drives, system, v, f);
}

/* forces for the next guess, and for reports */
static void forces_remember(perp_events *events, bool regular)
{
  const perp_event_at *at = &events->at;
  for (int contact = 0, shown = 0; contact < events->trial.n; contact++) {
    perp_event_contact *touching = perp_events_kept(events, contact);
    if (touching == NULL) continue;
    memcpy(touching->force, at->force + 3 * contact, sizeof touching->force);
    touching->slip = at->slip[contact];
    if (!regular) continue;
    events->accepted.shown.contact[shown] = at->contact[contact];
    memcpy(events->accepted.shown.force + 3 * shown, at->force + 3 * contact,
           sizeof touching->force);
    events->accepted.shown.n = ++shown;
  }
}

/* The problem of an evaluation: contacts that rest, and rows of drives.  False: the system says why
 * not. */
static bool forces_begin(perp_events *events, perp_constrained *system)
{
  const size_t size = (size_t)events->model->nv * sizeof *system->a;
  perp_event_trial *trial = &events->trial;
  if (trial->regular) events->accepted.shown.n = 0;
  events->cause[0] = '\0';
  forces_rows(events, system, events->now.phase == PERP_PHASE_FROZEN);
  if (events->drives != NULL)
    perp_event_drives_remember(events->drives, !trial->regular, !perp_events_keeps_modes(events));
  if (events->now.n > 0) {
    if (!perp_events_find(events, system, trial->t, trial->q)) return false;
    trial->h_feedback = perp_constrained_feedback_step(system, PERP_LEVEL_ACCELERATION,
                                                       events->settings.h);
    trial->n = forces_pose(events, system->e);
  }
  memcpy(trial->f_free, system->f, size);
  memcpy(trial->a_free, system->a, size);
  return true;
}

bool perp_events_forces(perp_events *events, perp_constrained *system, double t, double h,
                        const double *q, const double *v, bool intermediate)
{
  perp_event_trial *trial = &events->trial;
  perp_event_phase *phase = &events->now.phase;
  bool found = false, fit = false;
  trial->t = t, trial->h = h, trial->q = q, trial->v = v;
  trial->regular = !intermediate;
  trial->decides = trial->redundant = false;
  trial->verdict = PERP_FORCES_FOUND;
  trial->n = trial->n_rows = 0;
  trial->row = NULL;
  trial->stopping = 1;
  if (*phase == PERP_PHASE_HELD) {
    trial->verdict = PERP_FORCES_HELD;
    for (int i = 0; i < events->model->nv; i++) system->f[i] += events->start.held[i];
    return perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, h, v);
  }
  if (!forces_begin(events, system)) return false;
  const bool none = trial->n == 0 && trial->n_rows == 0;
  /* the diagram of events.h */
  switch (*phase) {
  case PERP_PHASE_FRESH:
  case PERP_PHASE_BEGINS: {
    const bool first_order = perp_events_holds(events, events->start.t);
    if (!trial->regular) { /* no modes were found at the start of the step */
      found = none || forces_complementary(events, system);
    } else if (none || forces_go_on(events, system)) {
      found = true;
      *phase = PERP_PHASE_FROZEN;
    } else if (system->status == PERP_OK) { /* else: no memory */
      trial->decides = true;
      found = !first_order && forces_decide(events, system, &fit);
      if (found && fit) *phase = PERP_PHASE_FROZEN;
      if (!found && (first_order || trial->verdict == PERP_FORCES_SKIPPED)) {
        found = forces_hold(events, system);
        if (found) *phase = PERP_PHASE_HELD;
      }
    }
    break;
  }
  case PERP_PHASE_FROZEN: /* by complementarity where the modes have no forces here */
    found = none || forces_solve(events, system, true);
    if (found || system->status != PERP_OK) break;
    forces_rewind(events, system);
    forces_rows(events, system, false);
    found = forces_complementary(events, system);
    break;
  case PERP_PHASE_CONSULTED:
    found = none || forces_complementary(events, system);
    break;
  case PERP_PHASE_HELD: /* above */
    break;
  }
  if (!found || none) return found;
  const bool guess = !perp_events_keeps_modes(events);
  if (guess || trial->regular) forces_remember(events, trial->regular);
  if (events->drives != NULL) perp_event_drives_remember(events->drives, intermediate, guess);
  return true;
}

perp_event_verdict perp_events_verdict(const perp_events *events)
{
  return events->trial.verdict;
}

bool perp_events_frozen(const perp_events *events)
{
  return events->now.phase == PERP_PHASE_FROZEN;
}

double perp_events_reserve_left(const perp_events *events, bool *unique)
{
  const perp_event_trial *trial = &events->trial;
  *unique = !trial->redundant;
  if (trial->redundant && events->drives == NULL && trial->n > 0 && perp_events_certified(events))
    return events->settings.past;
  return forces_distance(events) + events->settings.past;
}

double perp_events_agree(perp_events *events, const perp_constrained *system,
                         perp_events_evaluate *evaluate, void *user)
{
  memcpy(events->trial.a_asked, system->a, (size_t)events->model->nv * sizeof *system->a);
  events->now.phase = PERP_PHASE_CONSULTED;
  const bool solved = evaluate(user);
  events->now.phase = PERP_PHASE_FROZEN;
  const double scale = events->start.w_scale;
  if (!solved) return DISAGREES;
  return events->settings.past - (scale > 0 ? forces_apart(events, system) / scale : 0);
}

void perp_events_apply(const perp_events *events, const perp_constrained *system, double *f)
{
  const perp_event_trial *trial = &events->trial;
  if (events->drives != NULL) perp_event_drives_apply(events->drives, f);
  for (int i = 0; i < events->model->nv && trial->verdict == PERP_FORCES_HELD; i++)
    f[i] += events->start.held[i];
  if (trial->n == 0) return;
  const perp_island_task task = { .contact = events->at.contact,
                                  .n = trial->n,
                                  .impulse = events->at.force };
  perp_islands_apply(events->islands, system, &task, f);
}
