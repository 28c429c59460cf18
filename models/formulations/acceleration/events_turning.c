/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In space: the direction of slow sliding as a function of time.
 *
 * Friction -mu lambda_n d along d = u / |u| turns the sliding u at a rate that goes with 1 / |u|.
 * Where that is more than one over the step, as after sticking, explicit stages throw u from side
 * to side, although d hardly changes: it is the d for which u stays along it (slow manifold of a
 * singularly perturbed equation, Hairer and Wanner 1996, chapter VI). Such a contact has in a step
 *
 *      d(t) along d_0 + p(t) e_0,   p(t) = c_1 (t - t_0) + c_2 (t - t_0)^2
 *
 * with d_0 the direction at its start and e_0 = n x d_0.  c_1 and c_2 are those for which at its
 * end, with e_1 = n x d there and phi the angle of d,
 *
 *      u . e_1 = 0                         sliding is along d, and
 *      (du/dt) . e_1 = (u . d) phi'        so is its change.
 *
 * Newton's method finds them over the whole step, which the driver makes again for it
 * (perp_ode_sys.revise): the stages of a one-step method see one smooth direction.  Sliding along a
 * line meets them at once.  One evaluation more gives the derivative of each contact's conditions;
 * those between contacts are left out.  Methods of order 1 and 2 gain nothing by it: with them, and
 * where a step cannot be made again or forces are not unique, the direction in a step is one, that
 * of its end (perp_events_turn).
 *
 * Where sliding ends its direction goes with a power of the time left, so that the error of a step
 * goes with that time and with the part of it that the step takes, to the order + 1.  Steps of a
 * method of order 2 and more take parts by which each adds as much to the error, FIRST where h is
 * left and at most PART, until sliding is slower than LEAST.
 *
 * Under error control the estimate of a step does not see the error of d(t): both of its solutions
 * have the same. */
#include "models/formulations/acceleration/events_private.h"

#include <string.h>

static const double PART = 0.5;       /* of the time until sliding ends, at most */
static const double FIRST = 0.15;     /* the same, where that time is a step */
static const double LEAST = 1e-3;     /* of o.slip */
static const double ENDS = 0.9;       /* of the speed, lost in a step: sliding may end in it */
static const double STRAIGHT = 1e-9;  /* rad, in a step */
static const double SAME = 1e-9;      /* of w_scale: residuals, that of the velocity over h */
static const double ENOUGH = 1e-6;    /* the same after REVISIONS_MOST */
static const double CLEAR = 0.5;      /* cosine of an angle between directions that agree */
static const double NUDGE = 1e-3;     /* of the tangent */
static const double ROUNDING = 1e-15; /* of a velocity */
enum { REVISIONS_MOST = 20, BEGINS_MOST = 8 };
enum { GRADES = 2, TURNS = 3 }; /* orders of methods that gain by it */

static double turning_tangent(const perp_event_turn *turn, double t)
{
  return (turn->c[0] + turn->c[1] * (t - turn->t)) * (t - turn->t);
}

void perp_events_turning_direction(const perp_event_contact *touching, const perp_contact *contact,
                                   double t, double d[3])
{
  const double p = turning_tangent(&touching->turn, t) + touching->turn.nudge;
  double e[3];
  perp_events_tangential(3, contact->n, touching->dir, d);
  perp_cross(contact->n, d, e);
  for (int j = 0; j < 3; j++) d[j] += p * e[j];
  const double length = sqrt(perp_dot(3, d, d));
  for (int j = 0; j < 3; j++) d[j] = length > 0 ? d[j] / length : 0;
}

double perp_events_turning_rate(const perp_event_contact *touching, double t)
{
  const perp_event_turn *turn = &touching->turn;
  const double p = turning_tangent(turn, t);
  return (turn->c[0] + 2 * turn->c[1] * (t - turn->t)) / (1 + p * p);
}

/* ---- steps ---- */

double perp_events_longest(perp_events *events)
{
  events->start.longest = HUGE_VAL;
  for (int i = 0; i < events->now.n && events->settings.order >= GRADES; i++) {
    const perp_event_contact *touching = &events->now.list[i];
    if (!(touching->turned > STRAIGHT && touching->slowing > 0 &&
          touching->speed > LEAST * events->opts.slip))
      continue;
    /* of the time left until sliding ends: each step adds as much to the error */
    const double left = touching->speed / touching->slowing;
    const double part = FIRST * pow(events->settings.h / left, 1.0 / (events->settings.order + 1));
    events->start.longest = fmin(events->start.longest,
                                 left * (events->settings.fixed ? fmin(part, PART) : PART));
  }
  return events->start.longest;
}

void perp_events_turning_next(const perp_events *events, const perp_event_contact *now,
                              const perp_contact *contact, double t_new, perp_event_contact *next)
{
  double change[3], d[3];
  if (now->state == PERP_CONTACT_TURNS) perp_events_turning_direction(now, contact, t_new, d);
  /* what slides clearly tells its direction itself */
  if (now->state == PERP_CONTACT_TURNS &&
      (next->speed <= events->opts.slip || perp_dot(3, d, next->dir) > CLEAR)) {
    memcpy(next->dir, d, sizeof d);
    next->rate = perp_events_turning_rate(now, t_new);
  }
  for (int j = 0; j < 3; j++) change[j] = next->dir[j] - now->dir[j];
  next->turned = sqrt(perp_dot(3, change, change));
  next->slowing = (now->speed - next->speed) / (t_new - events->start.t);
}

void perp_events_turning_begin(perp_events *events, const perp_constrained *system)
{
  if (events->model->dim < 3 || events->settings.order < TURNS || !events->settings.repeats ||
      events->start.redundant)
    return;
  for (int contact = 0; contact < events->trial.n; contact++) {
    perp_event_contact *touching = perp_events_kept(events, contact);
    double w[3];
    if (touching == NULL || touching->state != PERP_CONTACT_STEADY) continue;
    perp_events_acceleration(events, system, contact, system->a, w);
    const double gain = fmin(events->trial.h, events->start.longest) *
                        perp_dot(3, w, touching->dir);
    if (!touching->begins && gain < -ENDS * touching->speed) continue;
    touching->state = PERP_CONTACT_TURNS;
    touching->turn = (perp_event_turn){ .t = events->start.t, .c = { touching->rate } };
    memcpy(touching->turn.normal, events->at.contact[contact].n, sizeof touching->turn.normal);
  }
}

/* ---- the conditions at the end of a step ---- */

typedef struct turning_end {
  double t, h;               /* where it is, and how long the step */
  double residual[2];        /* of u, m/s, and of du/dt, m/s^2 */
  double d[3], e[3];         /* d and e_1 */
  double speed, gain, aside; /* u and du/dt along d, du/dt along e */
  double onward;             /* u along d_0 */
  double rounding;           /* m/s: of u */
} turning_end;

/* m/s: speeds of the surfaces of the bodies that touch, at most */
static double turning_quick(const perp_events *events, const perp_contact *contact, const double *v)
{
  double sum = 0;
  for (int i = 0; i < 2; i++) {
    if (contact->body[i] < 0) continue;
    const double *vb = v + (size_t)events->model->nvb * (size_t)contact->body[i];
    sum += sqrt(perp_dot(3, vb, vb)) +
           events->settings.reach[contact->body[i]] * sqrt(perp_dot(3, vb + 3, vb + 3));
  }
  return sum;
}

/* of contact i, with the accelerations k->a */
static void turning_measure(const perp_events *events, const perp_constrained *system, int i,
                            const double *v, turning_end *end)
{
  const perp_contact *contact = &events->at.contact[i];
  const perp_event_contact *touching = perp_events_of(events, i);
  double u[3], w[3], tilt[3];
  perp_events_turning_direction(touching, contact, end->t, end->d);
  perp_cross(contact->n, end->d, end->e);
  perp_events_velocity(events->model, system->e, contact, v, u);
  perp_events_acceleration(events, system, i, system->a, w);
  for (int j = 0; j < 3; j++) tilt[j] = (contact->n[j] - touching->turn.normal[j]) / end->h;
  /* d_0 in a tangential plane that tilts turns with it */
  const double phi = perp_events_turning_rate(touching, end->t) -
                     perp_dot(3, contact->n, touching->dir) * perp_dot(3, tilt, end->e);
  end->rounding = ROUNDING * turning_quick(events, contact, v);
  end->speed = perp_dot(3, u, end->d);
  end->onward = perp_dot(3, u, touching->dir);
  end->gain = perp_dot(3, w, end->d);
  end->aside = perp_dot(3, w, end->e);
  end->residual[0] = perp_dot(3, u, end->e);
  end->residual[1] = end->aside - end->speed * phi;
}

/* the same evaluation with another direction, and again with this one */
static bool turning_stiffness(perp_events *events, const perp_constrained *system, int i,
                              const turning_end *end, perp_events_evaluate *evaluate, void *user)
{
  perp_event_turn *turn = &perp_events_of(events, i)->turn;
  const double p = turning_tangent(turn, end->t);
  double w[3];
  turn->nudge = NUDGE;
  const bool solved = evaluate(user);
  perp_events_acceleration(events, system, i, system->a, w);
  turn->nudge = 0;
  turn->stiff = (end->aside - perp_dot(3, w, end->e)) * (1 + p * p) / NUDGE;
  turn->measured = solved;
  return evaluate(user) && solved;
}

/* one step of Newton's method, with a friction that is as stiff all the step */
static void turning_improve(perp_event_turn *turn, const turning_end *end)
{
  const double h = end->h, p = turning_tangent(turn, end->t), part = 1 / (1 + p * p);
  const double stiff = h * turn->stiff, more = stiff + h * end->gain, u = end->speed;
  const double a11 = -part * h * (stiff / 2 + u), a12 = -part * h * h * (stiff / 3 + u);
  const double a21 = -part * (more + u), a22 = -part * h * (more + 2 * u);
  const double det = a11 * a22 - a12 * a21;
  if (det == 0) return;
  turn->c[0] -= (a22 * end->residual[0] - a12 * end->residual[1]) / det;
  turn->c[1] -= (a11 * end->residual[1] - a21 * end->residual[0]) / det;
}

bool perp_events_revise(perp_events *events, const perp_constrained *system, double t, double h,
                        const double *v, perp_events_evaluate *evaluate, void *user)
{
  bool any = false, again = false;
  for (int i = 0; i < events->now.n; i++) any |= events->now.list[i].state == PERP_CONTACT_TURNS;
  if (!any || !perp_events_keeps_modes(events) || events->start.redundant || !evaluate(user))
    return false;
  for (int i = 0; i < events->at.n; i++) {
    perp_event_contact *touching = perp_events_kept(events, i);
    turning_end end = { .t = t + h, .h = h };
    if (touching == NULL || touching->state != PERP_CONTACT_TURNS) continue;
    turning_measure(events, system, i, v, &end);
    const double aside = fmax(fabs(end.residual[0]) - end.rounding, 0);
    const double worst = fmax(aside / h, fabs(end.residual[1])) / events->start.w_scale;
    /* at its beginning a straight line may lead back where a turn does not */
    const bool begins = touching->begins && !touching->turn.restarted && end.speed <= 0;
    if (begins ? events->start.revisions == BEGINS_MOST : end.speed <= 0 && end.onward > 0) {
      /* A polynomial that leads away from what goes on sliding: once more from a straight line, or
       * one direction in this step. */
      events->start.unturned |= touching->turn.restarted;
      if (touching->turn.restarted) touching->state = PERP_CONTACT_STEADY;
      touching->turn.restarted = true;
      touching->turn.measured = false;
      touching->turn.c[0] = touching->turn.c[1] = 0;
      again = true;
      continue;
    }
    if (!begins && (end.speed <= 0 || worst <= SAME)) continue; /* ends before the step does */
    if (events->start.revisions == REVISIONS_MOST) {
      events->start.unturned |= worst > ENOUGH;
      continue;
    }
    if (!touching->turn.measured && !turning_stiffness(events, system, i, &end, evaluate, user))
      return false;
    turning_improve(&touching->turn, &end);
    again = true;
  }
  events->start.revisions = again ? events->start.revisions + 1 : 0;
  return again;
}
