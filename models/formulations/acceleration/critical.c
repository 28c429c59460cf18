/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Critical contacts (Vondrak 2005, sections 6.5.2 and 9.1): contacts at rest for which the
 * acceleration level has no solution, and his remedy, which is that their bodies are stopped.
 *
 * That there is none is the word of the lcp: PERP_INFEASIBLE or PERP_NONE_WITHIN, which it says
 * with a certificate only.  A problem that was merely not solved is a failure as before.  Two kinds
 * are known: friction that is too large for the sliding (Painleve), and contacts that lie too deep
 * and would have to push a body both ways.
 *
 * critical=fail: the run ends there.  critical=stop: a trial state without a solution may not be
 * reached, so that the ODE driver goes to the latest state before it; where the step cannot begin,
 * the contacts of the problem get the impulses that bring their velocities to zero, tangential ones
 * too,
 *
 *      M v+ = M v + J' nu + J_c' P,    J v+ = J v,    J_c v+ = 0,
 *
 * so that no contact of it slides any more.  v+ is the projection of v in the norm of the kinetic
 * energy, which therefore falls by u' (J_c H J_c')^+ u / 2, u = J_c v, and never rises; P is
 * internal to the bodies and the joints, so that momenta balance.  Neither the sign of P nor
 * Coulomb's law is asked for (for Painleve's rod both hold: p <= 0 is the same as |P_t| <= mu P_n).
 * Contacts that lie deeper than the tolerance are not pushed out any more until they part: they are
 * only kept from going deeper.
 *
 * P by conjugate gradients on J_c H J_c', semidefinite where contacts are redundant, and consistent
 * always: one KKT solve an iteration, at most as many as its rank but for rounding.  No allocation.
 */
#include "models/formulations/acceleration/events_private.h"

#include <stdio.h>
#include <string.h>

static const double SMALL = 1e-14; /* of the velocities, that counts as zero */

void perp_events_refuted(perp_events *s, const perp_contact_count *before)
{
  s->critical = true;
  for (int i = 0; i < s->n; i++)
    if (s->of[i] >= 0) s->now.x[s->of[i]].critical = s->kept[i] && s->none[i];
  if (s->o.critical == PERP_CRITICAL_STOP)
    perp_contact_count_refute(perp_islands_count(s->islands), before);
}

bool perp_events_critical(const perp_events *s)
{
  return s->critical;
}

bool perp_events_stops(const perp_events *s)
{
  return s->critical && s->o.critical == PERP_CRITICAL_STOP;
}

/* u [3 n] = J_c v at the contacts `part`, 0 at others; the largest component */
static double critical_velocities(const perp_events *s, const perp_constrained *k, const double *v,
                                  double *u)
{
  double most = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    double *at = u + 3 * i;
    at[0] = at[1] = at[2] = 0;
    if (!s->part[i]) continue;
    perp_events_velocity(s->model, k->e, x, v, at);
    for (int j = 0; j < 3; j++) most = fmax(most, fabs(at[j]));
  }
  return most;
}

static double critical_product(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* P [3 n] with J_c H J_c' P = -u; u is lost.  False: k says why. */
static bool critical_impulses(perp_events *s, perp_constrained *k, double *u, double *P)
{
  const int n = 3 * s->n;
  double *d = s->stop + n, *Ad = s->stop + 2 * n;
  const perp_island_task task = { .contact = s->contact, .n = s->n, .impulse = d };
  for (int i = 0; i < n; i++) {
    P[i] = 0;
    d[i] = u[i] = -u[i];
  }
  double rr = critical_product(n, u, u);
  const double enough = SMALL * SMALL * rr;
  for (int pass = 0; pass < 4 * n && rr > enough; pass++) {
    memset(s->rhs, 0, (size_t)s->model->nv * sizeof *s->rhs);
    perp_islands_apply(s->islands, k, &task, s->rhs);
    if (!perp_constrained_response(k, s->rhs, s->zero, s->response, s->lambda)) return false;
    critical_velocities(s, k, s->response, Ad);
    const double curvature = critical_product(n, d, Ad);
    if (!(curvature > 0)) break;
    const double step = rr / curvature;
    for (int i = 0; i < n; i++) {
      P[i] += step * d[i];
      u[i] -= step * Ad[i];
    }
    const double next = critical_product(n, u, u);
    for (int i = 0; i < n; i++) d[i] = u[i] + next / rr * d[i];
    rr = next;
  }
  return true;
}

/* Which contacts, as `part`; how many.  *deep: some lie too deep and are not held yet. */
static int critical_choose(perp_events *s, bool *deep)
{
  int chosen = 0;
  *deep = false;
  for (int i = 0; i < s->n; i++) {
    const perp_event_contact *t = s->of[i] >= 0 ? &s->now.x[s->of[i]] : NULL;
    s->part[i] = t != NULL && t->rests && t->critical;
    if (!s->part[i]) continue;
    chosen++;
    *deep |= !t->held && s->contact[i].gap < -s->tol;
  }
  return chosen;
}

static bool critical_refuse(perp_events *s, perp_constrained *k, double left)
{
  k->reason = PERP_INACCURATE;
  snprintf(s->cause, sizeof s->cause,
           "bodies at critical contacts could not be stopped: a speed of %.3g m/s remains", left);
  return false;
}

bool perp_events_stop(perp_events *s, perp_constrained *k, double t, const double *q, double *v)
{
  const perp_model *model = s->model;
  const size_t size = (size_t)model->nv * sizeof *v;
  bool deep;
  perp_contact_count count = { .critical = 1 };
  const bool stops = perp_events_stops(s);
  s->critical = false;
  s->n_critical = 0;
  for (int i = 0; i < s->now.n; i++) s->n_critical += s->now.x[i].critical;
  if (!stops || !perp_events_find(s, k, t, q)) {
    perp_contact_count_add(perp_islands_count(s->islands), &count);
    return false;
  }
  double *const u = s->offset, *const P = s->stop; /* after there may be more contacts than ever */
  const int chosen = critical_choose(s, &deep);
  const double before = critical_velocities(s, k, v, u);
  if (chosen == 0) {
    perp_contact_count_add(perp_islands_count(s->islands), &count);
    return false;
  }
  if (before <= s->o.slip && !deep) return false; /* what a stop came to, counted then */
  perp_eval_impulse(k->e, model, s->t, 0, v, k->f);
  const double energy = critical_product(model->nv, v, k->f);
  if (model->m > 0) perp_constrained_product(k, v, k->c);
  memset(s->zero, 0, (size_t)model->m * sizeof *s->zero);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, s->h, v) || !critical_impulses(s, k, u, P))
    return false;
  const perp_island_task task = { .contact = s->contact, .n = s->n, .impulse = P };
  perp_islands_apply(s->islands, k, &task, k->f);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, s->h, v)) return false;
  const double left = critical_velocities(s, k, k->a, u);
  if (!(left <= fmin(s->o.slip, s->o.rest))) return critical_refuse(s, k, left);
  memcpy(s->response, k->a, size);
  perp_eval_impulse(k->e, model, s->t, 0, s->response, k->f);
  if (!(critical_product(model->nv, s->response, k->f) <= energy * (1 + 1e-12)))
    return critical_refuse(s, k, left);
  memcpy(v, s->response, size);
  for (int i = 0; i < s->n; i++) {
    if (!s->part[i]) continue;
    perp_event_contact *now = &s->now.x[s->of[i]];
    now->held = s->contact[i].gap < -s->tol;
    now->critical = false;
  }
  count.stopped = 1;
  perp_contact_count_add(perp_islands_count(s->islands), &count);
  return true;
}
