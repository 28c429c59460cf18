/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resting contacts on the acceleration level (Vondrak 2005, sections 6.5.2 and 6.5.3; STAR 2012, section
 * 3.2.1).  For the contacts that rest in a step, at each evaluation,
 *
 *      0 <= lambda_n  perp  J_n a + Jdot_n v - feedback(gap, J_n v) >= 0
 *
 * with the joints eliminated; friction as the contact model has it on J_t a + Jdot_t v - feedback(0, u_t) where the
 * contact sticks, and -mu lambda_n along the sliding where it slides (sliding.c).  The feedback is that of the
 * stabilization (Vondrak 2005, eq. 6.34, for Baumgarte's; no other has any): without it the gap and the speed that a
 * contact has when it comes to rest stay with it, and what the integration adds.
 *
 * Rows: Vondrak 2005, eq. 6.11 and 6.12; STAR 2012, eq. 28, 30, 31 and 34; Cline 2002, eq. 2.33.
 * Friction that sticks: Vondrak 2005, eq. 6.40; with the model cone STAR 2012, eq. 32. Contacts that
 * rest and slide, or stick: STAR 2012, eq. 11, 12. */
#include "models/contact_step/belts.h"
#include "models/events/events_private.h"

#include <stdio.h>
#include <string.h>

static const double BAD = 0.01; /* of the accelerations: more is no answer */

/* Direction of sliding now.  Where it ceases to be clear, at the end of sliding, that of the start of the
 * step: the derivative stays smooth beyond the event. */
static void events_rest_direction(const perp_events *s, const perp_contact *x,
                                  const perp_event_contact *t, const double u[3], double dir[3])
{
  double slide[3];
  perp_events_tangential(s->model->dim, x->n, u, slide);
  const double speed = sqrt(perp_dot(3, slide, slide));
  if (!(speed > s->o.slip && perp_dot(3, slide, t->dir) > 0.5 * speed)) {
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

/* Everything of the problem but the solution; how many contacts rest. */
static int events_rest_prepare(perp_events *s, const perp_eval *e, const double *q, const double *v)
{
  const perp_model *model = s->model;
  const int dim = model->dim;
  int kept = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    const perp_event_contact *t = s->of[i] >= 0 ? &s->now.x[s->of[i]] : NULL;
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
    const double rate = perp_dot(dim, x->n, u);
    /* gaps within the tolerance are as good as none */
    const double error = x->gap > s->tol ? x->gap - s->tol : t->held ? 0 : fmin(x->gap + s->tol, 0);
    const double normal = events_rest_feedback(s, error, rate);
    for (int j = 0; j < dim; j++) offset[j] -= normal * x->n[j];
    if (t->slides) {
      events_rest_direction(s, x, t, u, dir);
    } else {
      for (int j = 0; j < dim; j++) offset[j] -= events_rest_feedback(s, 0, u[j] - rate * x->n[j]);
    }
  }
  return kept;
}

/* static friction, or dynamic friction where the contact slides */
static double events_rest_friction_of(void *user, const perp_contact *x, const double *before,
                                      int dim)
{
  const perp_events *s = user;
  const double *dir = s->sliding + 3 * (x - s->contact);
  (void)before, (void)dim;
  return dir[0] != 0 || dir[1] != 0 || dir[2] != 0 ? x->mu_dynamic : x->mu;
}

/* largest violation of w_n >= 0, and of w_n = 0 where a contact presses, with the accelerations a */
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
                             .align = true,
                             .friction = events_rest_friction_of,
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

bool perp_events_forces(perp_events *s, perp_constrained *k, double t, double h, const double *q,
                        const double *v, bool intermediate)
{
  if (!intermediate) s->n_shown = 0;
  s->cause[0] = '\0';
  s->loaded = s->critical = false;
  perp_island_row *row = NULL;
  int rows = 0, n = 0;
  if (s->drives != NULL) {
    rows = perp_event_drives_rows(s->drives, k, v, &row);
    perp_event_drives_remember(s->drives, intermediate);
  }
  if (s->now.n > 0) {
    if (!perp_events_find(s, k, t, q)) return false;
    s->h_feedback = perp_constrained_feedback_step(k, PERP_LEVEL_ACCELERATION, s->h);
    n = events_rest_prepare(s, k->e, q, v) > 0 ? s->n : 0;
  }
  if (n == 0 && rows == 0) return true;
  const perp_contact_count before = *perp_islands_count(s->islands);
  const double free = events_rest_violation(s, k, n, k->a);
  perp_twists(s->model, k->e, v, s->before);
  perp_twists(s->model, k->e, k->a, s->free);
  perp_island_task task = task_of(s, n, h);
  task.row = row;
  task.n_rows = rows;
  if (!perp_islands_step(s->islands, k, &task, PERP_LEVEL_ACCELERATION, h, v, &s->lcp_s))
    return false;
  const perp_reason reason = perp_events_failed(&before, perp_islands_count(s->islands));
  if (reason < 0 && !(events_rest_violation(s, k, n, k->a) <= BAD * free)) {
    events_rest_explain(s, k, n, v, reason);
    k->reason = reason;
    if (n > 0 &&
        perp_contact_count_none(perp_islands_count(s->islands)) > perp_contact_count_none(&before))
      perp_events_refuted(s, &before);
    return false;
  }
  s->loaded = n > 0;
  events_rest_remember(s, n, intermediate);
  if (s->drives != NULL) perp_event_drives_remember(s->drives, intermediate);
  return true;
}

void perp_events_apply(const perp_events *s, const perp_constrained *k, double *f)
{
  if (s->drives != NULL) perp_event_drives_apply(s->drives, f);
  if (!s->loaded) return;
  const perp_island_task task = { .contact = s->contact, .n = s->n, .impulse = s->force };
  perp_islands_apply(s->islands, k, &task, f);
}
