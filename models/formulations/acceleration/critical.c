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

/* u [3 n] = J_c v at the contacts `part`, 0 at others; the largest component */
static double critical_velocities(const perp_events *events, const perp_constrained *system,
                                  const double *v, double *u)
{
  double most = 0;
  for (int i = 0; i < events->at.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    double *at = u + 3 * i;
    at[0] = at[1] = at[2] = 0;
    if (!events->at.part[i]) continue;
    perp_events_velocity(events->model, system->e, contact, v, at);
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
static bool critical_impulses(perp_events *events, perp_constrained *system, double *u, double *P)
{
  const int n = 3 * events->at.n;
  double *d = events->at.stop + n, *Ad = events->at.stop + 2 * n;
  const perp_island_task task = { .contact = events->at.contact, .n = events->at.n, .impulse = d };
  for (int i = 0; i < n; i++) {
    P[i] = 0;
    d[i] = u[i] = -u[i];
  }
  double rr = critical_product(n, u, u);
  const double enough = SMALL * SMALL * rr;
  for (int pass = 0; pass < 4 * n && rr > enough; pass++) {
    memset(events->stop.rhs, 0, (size_t)events->model->nv * sizeof *events->stop.rhs);
    perp_islands_apply(events->islands, system, &task, events->stop.rhs);
    if (!perp_constrained_response(system, events->stop.rhs, events->stop.zero,
                                   events->stop.response, events->stop.lambda))
      return false;
    critical_velocities(events, system, events->stop.response, Ad);
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
static int critical_choose(perp_events *events, bool *deep)
{
  int chosen = 0;
  *deep = false;
  for (int contact = 0; contact < events->at.n; contact++) {
    const perp_event_contact *touching = perp_events_of(events, contact);
    events->at.part[contact] = touching != NULL && perp_event_rests(touching) && touching->critical;
    if (!events->at.part[contact]) continue;
    chosen++;
    *deep |= !touching->held && events->at.contact[contact].gap < -events->settings.touch;
  }
  return chosen;
}

static bool critical_refuse(perp_events *events, perp_constrained *system, double left)
{
  system->reason = PERP_INACCURATE;
  snprintf(events->cause, sizeof events->cause,
           "bodies at critical contacts could not be stopped: a speed of %.3g m/s remains", left);
  return false;
}

bool perp_events_stop(perp_events *events, perp_constrained *system, double t, const double *q,
                      double *v)
{
  const perp_model *model = events->model;
  const size_t size = (size_t)model->nv * sizeof *v;
  bool deep;
  perp_contact_count count = { .critical = 1 };
  const bool stops = events->trial.verdict == PERP_FORCES_STOP;
  events->trial.verdict = PERP_FORCES_FOUND;
  events->accepted.n_critical = 0;
  for (int i = 0; i < events->now.n; i++)
    events->accepted.n_critical += events->now.list[i].critical;
  if (!stops || !perp_events_find(events, system, t, q)) {
    perp_contact_count_add(perp_islands_count(events->islands), &count);
    return false;
  }
  double *const u = events->at.offset,
                *const P = events->at.stop; /* after there may be more contacts than ever */
  const int chosen = critical_choose(events, &deep);
  const double before = critical_velocities(events, system, v, u);
  if (chosen == 0) {
    perp_contact_count_add(perp_islands_count(events->islands), &count);
    return false;
  }
  if (before <= events->opts.slip && !deep) return false; /* what a stop came to, counted then */
  perp_eval_impulse(system->e, model, events->start.t, 0, v, system->f);
  const double energy = critical_product(model->nv, v, system->f);
  if (model->m > 0) perp_constrained_product(system, v, system->c);
  memset(events->stop.zero, 0, (size_t)model->m * sizeof *events->stop.zero);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, events->settings.h, v) ||
      !critical_impulses(events, system, u, P))
    return false;
  const perp_island_task task = { .contact = events->at.contact, .n = events->at.n, .impulse = P };
  perp_islands_apply(events->islands, system, &task, system->f);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, events->settings.h, v)) return false;
  const double left = critical_velocities(events, system, system->a, u);
  if (!(left <= fmin(events->opts.slip, events->opts.rest)))
    return critical_refuse(events, system, left);
  memcpy(events->stop.response, system->a, size);
  perp_eval_impulse(system->e, model, events->start.t, 0, events->stop.response, system->f);
  if (!(critical_product(model->nv, events->stop.response, system->f) <= energy * (1 + 1e-12)))
    return critical_refuse(events, system, left);
  memcpy(v, events->stop.response, size);
  for (int i = 0; i < events->at.n; i++) {
    if (!events->at.part[i]) continue;
    perp_event_contact *now = perp_events_of(events, i);
    now->held = events->at.contact[i].gap < -events->settings.touch;
    now->critical = false;
  }
  count.stopped = 1;
  perp_contact_count_add(perp_islands_count(events->islands), &count);
  return true;
}
