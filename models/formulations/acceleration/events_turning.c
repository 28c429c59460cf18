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

static double turning_tangent(const perp_event_turn *p, double t)
{
  return (p->c[0] + p->c[1] * (t - p->t)) * (t - p->t);
}

void perp_events_turning_direction(const perp_event_contact *c, const perp_contact *x, double t,
                                   double d[3])
{
  const double p = turning_tangent(&c->turn, t) + c->turn.nudge;
  double e[3];
  perp_events_tangential(3, x->n, c->dir, d);
  perp_cross(x->n, d, e);
  for (int j = 0; j < 3; j++) d[j] += p * e[j];
  const double length = sqrt(perp_dot(3, d, d));
  for (int j = 0; j < 3; j++) d[j] = length > 0 ? d[j] / length : 0;
}

double perp_events_turning_rate(const perp_event_contact *c, double t)
{
  const perp_event_turn *turn = &c->turn;
  const double p = turning_tangent(turn, t);
  return (turn->c[0] + 2 * turn->c[1] * (t - turn->t)) / (1 + p * p);
}

/* s, of the time left until sliding ends: each step adds as much to the error */
static double turning_part(const perp_events *s, double left)
{
  const double part = FIRST * pow(s->h / left, 1.0 / (s->order + 1));
  return left * (s->fixed ? fmin(part, PART) : PART);
}

/* ---- steps ---- */

double perp_events_longest(perp_events *s)
{
  s->longest = HUGE_VAL;
  for (int i = 0; i < s->now.n && s->order >= GRADES; i++) {
    const perp_event_contact *c = &s->now.x[i];
    const double slowing = fmax(c->slowing, 2 * c->slowing - c->slowed);
    if (c->turned > STRAIGHT && c->slowing > 0 && c->speed > LEAST * s->o.slip)
      s->longest = fmin(s->longest, turning_part(s, c->speed / slowing));
  }
  return s->longest;
}

void perp_events_turning_stock(const perp_events *s, const perp_event_contact *now,
                               const perp_contact *x, double t_new, perp_event_contact *next)
{
  double change[3], d[3];
  if (now->turns) perp_events_turning_direction(now, x, t_new, d);
  /* what slides clearly tells its direction itself */
  if (now->turns && (next->speed <= s->o.slip || perp_dot(3, d, next->dir) > CLEAR)) {
    memcpy(next->dir, d, sizeof d);
    next->rate = perp_events_turning_rate(now, t_new);
  }
  for (int j = 0; j < 3; j++) change[j] = next->dir[j] - now->dir[j];
  next->turned = sqrt(perp_dot(3, change, change));
  next->slowing = (now->speed - next->speed) / (t_new - s->t);
  next->slowed = now->slowing;
}

void perp_events_turning_begin(perp_events *s, const perp_constrained *k, int n, double h)
{
  if (s->model->dim < 3 || s->order < TURNS || !s->repeats || s->many) return;
  for (int i = 0; i < n; i++) {
    perp_event_contact *c = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    double w[3];
    if (c == NULL || !c->steady || c->turns) continue;
    perp_events_acceleration(s, k, i, k->a, w);
    const double gain = fmin(h, s->longest) * perp_dot(3, w, c->dir);
    if (!c->begins && gain < -ENDS * c->speed) continue;
    c->turns = true;
    c->turn = (perp_event_turn){ .t = s->t, .c = { c->rate } };
    memcpy(c->turn.normal, s->contact[i].n, sizeof c->turn.normal);
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
static double turning_quick(const perp_events *s, const perp_contact *x, const double *v)
{
  double sum = 0;
  for (int i = 0; i < 2; i++) {
    if (x->body[i] < 0) continue;
    const double *vb = v + (size_t)s->model->nvb * (size_t)x->body[i];
    sum += sqrt(perp_dot(3, vb, vb)) + s->reach[x->body[i]] * sqrt(perp_dot(3, vb + 3, vb + 3));
  }
  return sum;
}

/* of contact i, with the accelerations k->a */
static void turning_measure(const perp_events *s, const perp_constrained *k, int i, const double *v,
                            turning_end *end)
{
  const perp_contact *x = &s->contact[i];
  const perp_event_contact *c = &s->now.x[s->of[i]];
  double u[3], w[3], tilt[3];
  perp_events_turning_direction(c, x, end->t, end->d);
  perp_cross(x->n, end->d, end->e);
  perp_events_velocity(s->model, k->e, x, v, u);
  perp_events_acceleration(s, k, i, k->a, w);
  for (int j = 0; j < 3; j++) tilt[j] = (x->n[j] - c->turn.normal[j]) / end->h;
  /* d_0 in a tangential plane that tilts turns with it */
  const double phi = perp_events_turning_rate(c, end->t) -
                     perp_dot(3, x->n, c->dir) * perp_dot(3, tilt, end->e);
  end->rounding = ROUNDING * turning_quick(s, x, v);
  end->speed = perp_dot(3, u, end->d);
  end->onward = perp_dot(3, u, c->dir);
  end->gain = perp_dot(3, w, end->d);
  end->aside = perp_dot(3, w, end->e);
  end->residual[0] = perp_dot(3, u, end->e);
  end->residual[1] = end->aside - end->speed * phi;
}

/* the same evaluation with another direction, and again with this one */
static bool turning_stiffness(perp_events *s, const perp_constrained *k, int i,
                              const turning_end *end, perp_events_evaluate *evaluate, void *user)
{
  perp_event_turn *turn = &s->now.x[s->of[i]].turn;
  const double p = turning_tangent(turn, end->t);
  double w[3];
  turn->nudge = NUDGE;
  const bool solved = evaluate(user);
  perp_events_acceleration(s, k, i, k->a, w);
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

/* A polynomial that leads away from what goes on sliding: once more from a straight line, or one
 * direction in this step. */
static void turning_restart(perp_events *s, perp_event_contact *c)
{
  s->unturned |= c->turn.restarted;
  c->turns = !c->turn.restarted;
  c->turn.restarted = true;
  c->turn.measured = false;
  c->turn.c[0] = c->turn.c[1] = 0;
}

bool perp_events_revise(perp_events *s, const perp_constrained *k, double t, double h,
                        const double *v, perp_events_evaluate *evaluate, void *user)
{
  bool any = false, again = false;
  for (int i = 0; i < s->now.n; i++) any |= s->now.x[i].turns;
  if (!any || !s->frozen || s->many || !evaluate(user)) return false;
  for (int i = 0; i < s->n; i++) {
    perp_event_contact *c = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    turning_end end = { .t = t + h, .h = h };
    if (c == NULL || !c->turns) continue;
    turning_measure(s, k, i, v, &end);
    const double aside = fmax(fabs(end.residual[0]) - end.rounding, 0);
    const double worst = fmax(aside / h, fabs(end.residual[1])) / s->w_scale;
    /* at its beginning a straight line may lead back where a turn does not */
    const bool begins = c->begins && !c->turn.restarted && end.speed <= 0;
    if (begins ? s->revisions == BEGINS_MOST : end.speed <= 0 && end.onward > 0) {
      turning_restart(s, c);
      again = true;
      continue;
    }
    if (!begins && (end.speed <= 0 || worst <= SAME)) continue; /* ends before the step does */
    if (s->revisions == REVISIONS_MOST) {
      s->unturned |= worst > ENOUGH;
      continue;
    }
    if (!c->turn.measured && !turning_stiffness(s, k, i, &end, evaluate, user)) return false;
    turning_improve(&c->turn, &end);
    again = true;
  }
  s->revisions = again ? s->revisions + 1 : 0;
  return again;
}
