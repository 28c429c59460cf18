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
 * a slow contact is stiff, and explicit stages would throw it from side to side.  Where events pile
 * up (events_pile.c) such contacts creep: their friction is that of the contact model on J_t a +
 * Jdot_t v + u_t / h, the largest dissipation for the velocity that the step leads to, as on the
 * velocity level, with mu_dynamic.  It has its full size against the motion until it can stop it
 * within about a step.
 *
 * Rows: Vondrak 2005, eq. 6.11 and 6.12; STAR 2012, eq. 28, 30, 31 and 34; Cline 2002, eq. 2.33.
 * Friction that sticks: Vondrak 2005, eq. 6.40; with the model cone STAR 2012, eq. 32. Contacts
 * that rest and slide, or stick: STAR 2012, eq. 11, 12. */
#include "models/contact/step/belts.h"
#include "models/formulations/acceleration/events_private.h"

#include <stdio.h>
#include <string.h>

static const double BAD = 0.01;     /* of the accelerations: more is no answer */
static const double CLEARLY = 1e-6; /* of a force: within its bounds */
static const double TURNED = 1e-9;  /* a unit vector that did not */
enum { TRIES = 12 };                /* of times within which a creeping contact is to stop */
enum { ROUNDS = 8, TURNS = 30 };    /* of modes that change at one instant; of a direction */
enum { CHATTER = 20 }; /* steps that go nowhere: the next one is decided at each evaluation */

/* Direction of sliding now.  Where it ceases to be clear, at the end of sliding, that of the start
 * of the step: the derivative stays smooth beyond the event. */
static void events_rest_direction(const perp_events *s, const perp_contact *x,
                                  const perp_event_contact *t, const double u[3], double dir[3])
{
  double slide[3];
  if (t->turns) {
    perp_events_turning_direction(t, x, s->t_now, dir);
    return;
  }
  perp_events_tangential(s->model->dim, x->n, u, slide);
  const double speed = sqrt(perp_dot(3, slide, slide));
  if (t->steady || !(speed > s->o.slip && perp_dot(3, slide, t->dir) > 0.5 * speed)) {
    perp_events_tangential(s->model->dim, x->n, t->dir, slide);
    const double length = sqrt(perp_dot(3, slide, slide));
    for (int i = 0; i < 3; i++) dir[i] = length > 0 ? slide[i] / length : 0;
    return;
  }
  for (int i = 0; i < 3; i++) dir[i] = slide[i] / speed;
}

static double events_rest_feedback(const perp_events *s, double gap, double rate)
{
  if (s->stab->contact == NULL) return 0;
  return s->stab->contact(s->stab_ws, PERP_LEVEL_ACCELERATION, s->h_feedback, gap, rate);
}

/* Feedback on the relative acceleration of a contact, world: its normal part, and the tangential
 * one where it sticks. */
static void events_rest_feed(const perp_events *s, const perp_contact *x,
                             const perp_event_contact *t, const double u[3], double fed[3])
{
  const int dim = s->model->dim;
  const double rate = perp_dot(dim, x->n, u);
  /* gaps within the tolerance are as good as none */
  const double error = x->gap > s->tol ? x->gap - s->tol : t->held ? 0 : fmin(x->gap + s->tol, 0);
  const double normal = events_rest_feedback(s, error, rate);
  fed[0] = fed[1] = fed[2] = 0;
  for (int j = 0; j < dim; j++) fed[j] = normal * x->n[j];
  for (int j = 0; j < dim && !t->slides; j++) {
    const double slide = u[j] - rate * x->n[j];
    fed[j] += t->creeps ? -slide / (s->creep * s->h_feedback) : events_rest_feedback(s, 0, slide);
  }
}

/* Everything of the problem but the solution; how many contacts rest. */
static int events_rest_prepare(perp_events *s, const perp_eval *e, const double *q, const double *v)
{
  const perp_model *model = s->model;
  const int dim = model->dim;
  int kept = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    perp_event_contact *t = s->of[i] >= 0 ? &s->now.x[s->of[i]] : NULL;
    double *offset = s->offset + 3 * i, *dir = s->sliding + 3 * i, u[3];
    s->kept[i] = t != NULL && t->rests;
    memset(s->force + 3 * i, 0, 3 * sizeof *s->force);
    memset(dir, 0, 3 * sizeof *dir);
    s->slip[i] = 0;
    if (!s->kept[i]) continue;
    kept++;
    if (s->o.warm || s->rule == PERP_SLIDING_LAGGED) {
      memcpy(s->force + 3 * i, t->force, sizeof t->force);
      s->slip[i] = t->slip;
    }
    perp_events_rate(s, e, x, q, v, offset);
    if (model->belts) perp_belts_rate(model, e, x, v, offset);
    perp_events_velocity(model, e, x, v, u);
    if (!(s->frozen && s->holds)) events_rest_feed(s, x, t, u, t->fed);
    for (int j = 0; j < dim; j++) offset[j] -= t->fed[j];
    if (t->slides) events_rest_direction(s, x, t, u, dir);
    s->mode[i] = t->mode;
  }
  return kept;
}

/* static friction, or dynamic friction where the contact slides or creeps */
static void events_rest_law(void *user, const perp_contact *x, double h, const double *before,
                            const double *free, perp_contact_terms *terms)
{
  const perp_events *s = user;
  const double *dir = s->sliding + 3 * (x - s->contact);
  const int at = s->of[x - s->contact];
  (void)h, (void)before, (void)free;
  const bool slides = (at >= 0 && s->now.x[at].creeps) || dir[0] != 0 || dir[1] != 0 || dir[2] != 0;
  terms->mu = slides ? x->mu_dynamic : x->mu;
}

/* largest violation of w_n >= 0, and of w_n = 0 where a contact presses, with the accelerations a
 */
static double events_rest_violation(const perp_events *s, const perp_constrained *k, int n,
                                    const double *a)
{
  double worst = s->drives != NULL ? perp_event_drives_violation(s->drives, a) : 0;
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    const perp_contact *x = &s->contact[i];
    const double w = perp_events_speed(s, k, x, a) +
                     perp_dot(s->model->dim, x->n, s->offset + 3 * i);
    const bool presses = perp_dot(s->model->dim, x->n, s->force + 3 * i) > 0;
    worst = fmax(worst, presses ? fabs(w) : -w);
  }
  return worst;
}

/* why there is no answer, in words */
static void events_rest_explain(perp_events *s, const perp_constrained *k, int n, const double *v,
                                perp_reason reason)
{
  int slides = 0;
  const perp_contact *fastest = NULL;
  double most = 0;
  for (int i = 0; i < n; i++) {
    const perp_contact *x = &s->contact[i];
    if (!s->kept[i] || s->of[i] < 0 || !s->now.x[s->of[i]].slides) continue;
    double u[3], slide[3];
    perp_events_velocity(s->model, k->e, x, v, u);
    perp_events_tangential(s->model->dim, x->n, u, slide);
    slides++;
    if (perp_dot(3, slide, slide) < most) continue;
    most = perp_dot(3, slide, slide);
    fastest = x;
  }
  const bool shown = reason == PERP_INFEASIBLE || reason == PERP_NONE_WITHIN;
  const char *what = reason == PERP_INFEASIBLE    ? "no accelerations and forces satisfy"
                     : reason == PERP_NONE_WITHIN ? "no accelerations and forces within reach "
                                                    "satisfy"
                                                  : "no accelerations were found that satisfy";
  const char *whom = s->drives == NULL ? "the contacts"
                     : n > 0           ? "the contacts, limits and motors"
                                       : "the limits and motors";
  int at = snprintf(s->cause, sizeof s->cause, "%s %s (lcp: %s)", what, whom,
                    perp_reason_name(reason));
  if (fastest != NULL && (size_t)at < sizeof s->cause)
    at += snprintf(s->cause + at, sizeof s->cause - (size_t)at,
                   "; %d of them slide%s, %s on %s at %.4g m/s with mu = %g: friction may be too "
                   "large for the acceleration level (Painleve); formulation velocity has impulses",
                   slides, slides == 1 ? "s" : "", perp_events_body(s->model, fastest->body[1]),
                   perp_events_body(s->model, fastest->body[0]), sqrt(most), fastest->mu_dynamic);
  if (shown && n > 0 && s->o.critical == PERP_CRITICAL_FAIL && (size_t)at < sizeof s->cause)
    snprintf(s->cause + at, sizeof s->cause - (size_t)at, "; critical=stop stops the bodies");
}

static perp_island_task task_of(perp_events *s, int n, double h)
{
  return (perp_island_task){ .contact = s->contact,
                             .n = n,
                             .kept = s->kept,
                             .impulse = s->force,
                             .slip = s->slip,
                             .h = h,
                             .before = s->before,
                             .free = s->free,
                             .law = events_rest_law,
                             .user = s,
                             .offset = s->offset,
                             .sliding = s->sliding,
                             .none = s->none,
                             .rule = s->rule };
}

/* forces for the next guess, and for reports */
static void events_rest_remember(perp_events *s, int n, bool intermediate)
{
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    memcpy(s->now.x[s->of[i]].force, s->force + 3 * i, 3 * sizeof *s->force);
    s->now.x[s->of[i]].slip = s->slip[i];
  }
  if (intermediate) return;
  s->n_shown = 0;
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    s->shown[s->n_shown] = s->contact[i];
    memcpy(s->shown_force + 3 * s->n_shown++, s->force + 3 * i, 3 * sizeof *s->force);
  }
}

void perp_events_push(perp_events *s, const perp_constrained *k, const double *v, double *f)
{
  if (s->drives != NULL) perp_event_drives_push(s->drives, k, v, f);
}

/* An evaluation in progress. */
typedef struct rest_problem {
  perp_island_row *row;
  const double *v;
  double h;
  int n, rows; /* 0: no contact rests */
  bool intermediate, decides;
} rest_problem;

/* k->f, k->a: before the forces of contacts and rows */
static void events_rest_rewind(perp_events *s, perp_constrained *k)
{
  const size_t size = (size_t)s->model->nv * sizeof *k->a;
  memcpy(k->f, s->f_free, size);
  memcpy(k->a, s->a_free, size);
}

static bool events_rest_solve(perp_events *s, perp_constrained *k, const rest_problem *p,
                              bool frozen)
{
  perp_twists(s->model, k->e, p->v, s->before);
  perp_twists(s->model, k->e, k->a, s->free);
  perp_island_task task = task_of(s, p->n, p->h);
  task.row = p->row;
  task.n_rows = p->rows;
  task.frozen = frozen ? s->mode : NULL;
  /* directions that do not change have the same factors; modes are decided along the motion */
  task.align = !frozen || p->decides;
  const bool good = perp_islands_step(s->islands, k, &task, PERP_LEVEL_ACCELERATION, p->h, p->v,
                                      &s->lcp_s);
  s->redundant = frozen && task.redundant;
  return good;
}

/* Is a problem without a solution one of several contacts, of which some slide?  In a heap a body
 * jams that slides between two others: friction that creeps stops it, as an impulse would. */
static bool events_rest_jams(const perp_events *s, int n)
{
  int several = 0, slides = 0;
  for (int i = 0; i < n; i++) {
    if (!s->kept[i] || !s->none[i]) continue;
    const perp_event_contact *t = &s->now.x[s->of[i]];
    several++;
    slides += t->slides || t->creeps;
  }
  return s->o.critical == PERP_CRITICAL_FAIL && several > 1 && slides > 0;
}

/* by complementarity */
static bool events_rest_consult(perp_events *s, perp_constrained *k, const rest_problem *p)
{
  const perp_contact_count before = *perp_islands_count(s->islands);
  const double free = events_rest_violation(s, k, p->n, k->a);
  s->w_scale = perp_events_largest(s, k, p->n, k->a);
  if (s->drives != NULL) s->w_scale = fmax(s->w_scale, perp_event_drives_largest(s->drives, k->a));
  if (!events_rest_solve(s, k, p, false)) return false;
  const perp_reason reason = perp_events_failed(&before, perp_islands_count(s->islands));
  const bool hurries = p->n > 0 && (s->tries || perp_events_may_hurry(s));
  if (reason >= 0 || (!hurries && events_rest_violation(s, k, p->n, k->a) <= BAD * free))
    return true;
  events_rest_explain(s, k, p->n, p->v, reason);
  k->reason = reason;
  const bool none = perp_contact_count_none(perp_islands_count(s->islands)) >
                    perp_contact_count_none(&before);
  if (none && p->n > 0 && !(hurries && events_rest_jams(s, p->n))) {
    perp_events_refuted(s, &before);
  } else if (hurries) {
    /* no accelerations exist: that is an answer, of an evaluation that is given up; a solver that
     * failed has none */
    if (none) perp_contact_count_refute(perp_islands_count(s->islands), &before);
    s->skips = true;
  }
  return false;
}

/* frozen: rows of drives without bounds */
static void events_rest_rows(perp_events *s, const perp_constrained *k, rest_problem *p,
                             bool frozen)
{
  if (s->drives != NULL) p->rows = perp_event_drives_rows(s->drives, k, p->v, frozen, &p->row);
}

static double events_rest_apart(const perp_events *s, const perp_constrained *k, int n)
{
  const double rows = s->drives != NULL ? perp_event_drives_apart(s->drives, k->a, s->a_frozen) : 0;
  return fmax(rows, perp_events_apart(s, k, n, k->a, s->a_frozen));
}

static double events_rest_distance(const perp_events *s)
{
  const double drives = s->drives != NULL ? perp_event_drives_margin(s->drives) : HUGE_VAL;
  return fmin(drives, s->loaded ? perp_events_margin(s, s->n) : HUGE_VAL);
}

/* Complementarity again, after contacts or motors have changed their modes. */
static bool events_rest_again(perp_events *s, perp_constrained *k, rest_problem *p, const double *q)
{
  events_rest_rewind(s, k);
  events_rest_rows(s, k, p, false);
  if (p->n > 0) events_rest_prepare(s, k->e, q, p->v);
  return events_rest_consult(s, k, p);
}

/* What begins to slide has one direction with the friction that follows from it.  Friction turns
 * against the acceleration that it makes, several times as far where a body is light to turn: the
 * part of the way is halved where that grows. */
static bool events_rest_turn(perp_events *s, perp_constrained *k, rest_problem *p, const double *q)
{
  const size_t size = (size_t)s->model->nv * sizeof *k->a;
  double part = 1, last = HUGE_VAL;
  perp_events_turning_begin(s, k, p->n, p->h);
  for (int pass = 0; pass < TURNS; pass++) {
    memcpy(s->a_frozen, k->a, size);
    const double turned = perp_events_turn(s, k, p->n, p->h, part);
    if (turned <= TURNED) {
      if (!perp_events_reversed(s, k, p->n)) return true;
      return events_rest_again(s, k, p, q);
    }
    if (turned > 0.5 * last) part *= 0.5;
    last = turned;
    if (!events_rest_again(s, k, p, q)) return false;
  }
  perp_events_modes(s, k, p->n);
  perp_events_ahead(s, k, p->n, p->h, false);
  events_rest_rewind(s, k);
  events_rest_rows(s, k, p, true);
  if (events_rest_solve(s, k, p, true)) perp_events_ahead(s, k, p->n, p->h, true);
  return events_rest_again(s, k, p, q);
}

/* The forces of the modes; *apart: from complementarity, whose accelerations are kept as a_frozen.
 */
static bool events_rest_try(perp_events *s, perp_constrained *k, rest_problem *p, double *apart)
{
  memcpy(s->a_frozen, k->a, (size_t)s->model->nv * sizeof *k->a);
  events_rest_rows(s, k, p, true);
  events_rest_rewind(s, k);
  const bool solved = events_rest_solve(s, k, p, true);
  s->loaded = p->n > 0;
  *apart = solved ? events_rest_apart(s, k, p->n) : HUGE_VAL;
  return solved;
}

/* Contacts and motors that cannot do what they did; how many. */
static int events_rest_release(perp_events *s, perp_constrained *k, rest_problem *p)
{
  const bool unique = !s->redundant;
  if (!unique) { /* the forces without any that hold each other */
    memset(s->force, 0, 3 * (size_t)p->n * sizeof *s->force);
    events_rest_rewind(s, k);
    if (!events_rest_solve(s, k, p, true)) return 0;
  }
  const int released = perp_events_release(s, k, p->n, unique);
  if (s->drives == NULL) return released;
  return released + perp_event_drives_release(s->drives, 0.5 * s->past, s->f_free);
}

/* The modes of the step that begins, from the forces that complementarity has found: frozen, unless
 * none fit. */
static bool events_rest_decide(perp_events *s, perp_constrained *k, rest_problem *p,
                               const double *q)
{
  s->v_start = p->v;
  perp_events_steady(s, k, p->n, p->h);
  if (!events_rest_turn(s, k, p, q)) return false;
  for (int round = 0; round < ROUNDS; round++) {
    double apart;
    perp_events_modes(s, k, p->n);
    if (s->drives != NULL) {
      perp_event_drives_part(s->drives, k->a, s->noise * s->w_scale);
      perp_event_drives_remember(s->drives, p->intermediate, true);
    }
    const bool solved = events_rest_try(s, k, p, &apart);
    s->many = s->redundant;
    const bool agrees = apart <= s->noise * s->w_scale;
    if (solved && perp_events_opening(s, k, p->n) >= -s->past * s->w_scale &&
        (agrees || events_rest_distance(s) >= -0.5 * s->past)) {
      if (agrees) perp_events_vouch(s, p->n);
      s->frozen = true;
      return true;
    }
    if (!solved || events_rest_release(s, k, p) == 0) break;
    memcpy(k->f, s->f_free, (size_t)s->model->nv * sizeof *k->f);
    if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, p->h, p->v)) return false;
    memcpy(s->a_free, k->a, (size_t)s->model->nv * sizeof *k->a);
    if (!events_rest_again(s, k, p, q) || !events_rest_turn(s, k, p, q)) return false;
  }
  /* modes that change at one instant, or do not explain the forces: decided at each evaluation */
  return events_rest_again(s, k, p, q);
}

/* Do the contacts go on with what they did in the step before?  They do where the forces of these
 * modes are well within their bounds, or the same that complementarity has found, and what is open
 * parts: that is a solution, and complementarity need not look for one. */
static bool events_rest_goes_on(perp_events *s, perp_constrained *k, const rest_problem *p)
{
  if (s->drives != NULL || s->rule == PERP_SLIDING_LAGGED || s->chatter > 0 || !s->o.warm)
    return false;
  for (int t = 0; t < s->now.n; t++)
    if (s->now.x[t].rests && !s->now.x[t].goes_on) return false;
  s->v_start = p->v;
  s->w_scale = perp_events_largest(s, k, p->n, k->a);
  perp_events_steady(s, k, p->n, p->h);
  for (int t = 0; t < s->now.n; t++)
    if (s->now.x[t].steady) return false;
  /* next to the forces of the step before; or, where forces are not unique, those without any that
   * hold each other */
  for (int pass = 0; pass < 2; pass++) {
    if (!events_rest_solve(s, k, p, true)) break;
    s->loaded = true;
    if (perp_events_modes(s, k, p->n) && perp_events_opening(s, k, p->n) >= 0 &&
        (perp_events_margin(s, p->n) > CLEARLY || (s->redundant && perp_events_vouched(s, p->n)))) {
      s->many = s->redundant;
      return s->frozen = true;
    }
    events_rest_rewind(s, k);
    if (!s->redundant) break;
    memset(s->force, 0, 3 * (size_t)p->n * sizeof *s->force);
  }
  return false;
}

bool perp_events_forces(perp_events *s, perp_constrained *k, double t, double h, const double *q,
                        const double *v, bool intermediate)
{
  const size_t size = (size_t)s->model->nv * sizeof *k->a;
  rest_problem p = { .v = v, .h = h, .intermediate = intermediate };
  const bool frozen = s->frozen && !s->consults;
  s->held_now = s->holds_forces; /* at its start too, from which trial steps begin again */
  s->skips = false;
  s->t_now = t;
  if (s->held_now) {
    s->loaded = false;
    for (int i = 0; i < s->model->nv; i++) k->f[i] += s->held[i];
    return perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, h, v);
  }
  if (!intermediate) s->n_shown = 0;
  s->cause[0] = '\0';
  s->loaded = s->critical = s->redundant = false;
  events_rest_rows(s, k, &p, frozen);
  if (s->drives != NULL) perp_event_drives_remember(s->drives, intermediate, !s->frozen);
  if (s->now.n > 0) {
    if (!perp_events_find(s, k, t, q)) return false;
    s->h_feedback = perp_constrained_feedback_step(k, PERP_LEVEL_ACCELERATION, s->h);
    p.n = events_rest_prepare(s, k->e, q, v) > 0 ? s->n : 0;
  }
  if (p.n == 0 && p.rows == 0) {
    if (!intermediate) s->frozen = true;
    return true;
  }
  memcpy(s->f_free, k->f, size);
  memcpy(s->a_free, k->a, size);
  bool solved = frozen && events_rest_solve(s, k, &p, true);
  if (!solved) {
    if (k->status != PERP_OK) return false;
    if (frozen) {
      events_rest_rewind(s, k);
      events_rest_rows(s, k, &p, false);
    }
    const bool begins = !intermediate && !s->frozen;
    if (begins && events_rest_goes_on(s, k, &p)) {
      events_rest_remember(s, p.n, false);
      return true;
    }
    p.decides = begins;
    if (k->status != PERP_OK) return false;
    s->creep = 1;
    s->tries = begins && s->hasty;
    bool found = begins ? events_rest_again(s, k, &p, q) : events_rest_consult(s, k, &p);
    if (found && begins && !s->hasty && s->chatter < CHATTER && s->rule != PERP_SLIDING_LAGGED) {
      if (s->drives != NULL && s->fixed) perp_event_drives_feed(s->drives);
      found = events_rest_decide(s, k, &p, q);
    }
    /* the first try of a hasty step is made */
    for (int i = s->hasty ? 2 : 1;
         begins && !found && s->skips && (s->hasty || perp_events_hurry(s)); i++) {
      s->skips = false;
      s->tries = i < TRIES;
      s->creep = 1 + 0.5 * (i - 1);
      k->reason = PERP_EXACT;
      s->cause[0] = '\0';
      found = events_rest_again(s, k, &p, q);
    }
    s->tries = false;
    s->creep = 1;
    if (!found) return false;
    if (begins && s->hasty) perp_events_hold(s, k);
  }
  s->loaded = p.n > 0;
  if (!s->frozen || !intermediate) events_rest_remember(s, p.n, intermediate);
  if (s->drives != NULL) perp_event_drives_remember(s->drives, intermediate, !s->frozen);
  return true;
}

bool perp_events_skips(const perp_events *s)
{
  return s->skips;
}

bool perp_events_frozen(const perp_events *s)
{
  return s->frozen;
}

double perp_events_reserve_left(const perp_events *s, bool *unique)
{
  *unique = !s->redundant;
  if (s->redundant && s->drives == NULL && s->loaded && perp_events_vouched(s, s->n))
    return s->past;
  return events_rest_distance(s) + s->past;
}

void perp_events_consult(perp_events *s, const perp_constrained *k, bool begins)
{
  s->consults = begins;
  if (begins) memcpy(s->a_frozen, k->a, (size_t)s->model->nv * sizeof *k->a);
}

double perp_events_agree(const perp_events *s, const perp_constrained *k)
{
  const double apart = events_rest_apart(s, k, s->loaded ? s->n : 0);
  return s->past - (s->w_scale > 0 ? apart / s->w_scale : 0);
}

void perp_events_apply(const perp_events *s, const perp_constrained *k, double *f)
{
  if (s->drives != NULL) perp_event_drives_apply(s->drives, f);
  for (int i = 0; i < s->model->nv && s->held_now; i++) f[i] += s->held[i];
  if (!s->loaded) return;
  const perp_island_task task = { .contact = s->contact, .n = s->n, .impulse = s->force };
  perp_islands_apply(s->islands, k, &task, f);
}
