/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impacts between two steps (Vondrak 2005, section 6.5.4; STAR 2012, sections 3.1.5 and 7.3):
 *
 *      M v+ = M v + J' lambda + J_c' lambda_c,   J v+ = J v
 *
 *      0 <= lambda_n  perp  n . J_c v+ + e n . J_c v >= 0
 *
 * for approaches above the threshold (Newton; Poisson: see islands.c; laws of one contact:
 * islands_impact.c), e = 0 for others, with the friction of the contact model on v+.
 *
 * order = together: all contacts that touch at once.  order = sequential: one pair of bodies after
 * the other, the fastest first, each as if it were alone, until none approaches faster than the
 * threshold; what is left, at last, together and plastic.  Of touching balls in a row with e = 1
 * the first law makes the balls part together, the second one makes Newton's cradle.
 *
 * Equations: Vondrak 2005, eq. 6.21-6.27 and 6.44-6.46; Cline 2002, eq. 4.16. */
#include "models/formulations/acceleration/events_private.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS_MOST = 10000 };    /* pairs in one sequential impact */
static const double LEFT = 0.01; /* of the approach, may be left when a solver failed */

/* does the contact give something back? */
static bool events_impact_bounces(const perp_events *events, const perp_contact *contact,
                                  double before)
{
  return !events->accepted.plastic && contact->e > 0 && before < -events->opts.threshold;
}

static void events_impact_law(void *user, const perp_contact *contact, double h,
                              const double *before, const double *free, perp_contact_terms *terms)
{
  const perp_events *events = user;
  const bool newton = events->opts.impact == PERP_IMPACT_NEWTON,
             bounces = events_impact_bounces(events, contact, before[0]);
  (void)h, (void)free;
  terms->bias = newton && bounces ? contact->e * before[0] : 0;
  terms->mu = hypot(before[1], before[2]) > events->opts.slip ? contact->mu_dynamic : contact->mu;
  if (perp_impact_single(events->opts.impact))
    terms->restitution = events->accepted.plastic ? -1 : contact->e;
  else
    terms->restitution = !newton && bounces ? contact->e : 0;
}

static double events_impact_approach(const perp_events *events, const perp_constrained *system,
                                     int contact, const double *v)
{
  return -perp_events_speed(events, system, &events->at.contact[contact], v);
}

/* fastest approach of the contacts that take part, which one; -1: none */
static int events_impact_fastest(const perp_events *events, const perp_constrained *system,
                                 const double *v, const unsigned char *part, double *speed)
{
  int found = -1;
  *speed = 0;
  for (int contact = 0; contact < events->at.n; contact++) {
    const double a = part[contact] ? events_impact_approach(events, system, contact, v) : 0;
    if (a > *speed) {
      *speed = a;
      found = contact;
    }
  }
  return found;
}

/* Disabled bodies that enabled ones have struck. */
static void events_impact_held(const perp_events *events, const perp_model *model)
{
  for (int contact = 0; contact < events->at.n; contact++) {
    const double *p = events->at.force + 3 * contact;
    if (!(p[0] != 0 || p[1] != 0 || p[2] != 0)) continue;
    for (int side = 0; side < 2; side++) {
      const int body = events->at.contact[contact].body[side],
                other = events->at.contact[contact].body[1 - side];
      if (body >= 0 && model->sim.held[body] && other >= 0 && !model->sim.held[other])
        model->sim.struck[body] = 1;
    }
  }
}

/* the contacts `part` together */
static bool events_impact_strike(perp_events *events, perp_constrained *system,
                                 const unsigned char *part, double *v)
{
  const perp_model *model = events->model;
  const size_t size = (size_t)model->nv * sizeof *v;
  double before, after;
  perp_island_row *row = NULL;
  bool bounced = false;
  int rows = 0;
  const int worst = events_impact_fastest(events, system, v, part, &before);
  if (events->drives != NULL) {
    before = fmax(before, perp_event_drives_approach(events->drives, system, v));
    rows = perp_event_drives_impact(events->drives, system, v, &row, &bounced);
    events->accepted.rebounded |= bounced;
  }
  for (int i = 0; i < events->at.n; i++) {
    if (part[i] && events_impact_bounces(events, &events->at.contact[i],
                                         -events_impact_approach(events, system, i, v)))
      events->at.struck[i] = 1;
    events->at.slip[i] = 0;
  }
  memset(events->at.force, 0, (size_t)3 * (size_t)events->at.n * sizeof *events->at.force);
  perp_eval_impulse(system->e, model, events->start.t, 0, v, system->f);
  if (model->m > 0) perp_constrained_product(system, v, system->c);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, events->settings.h, v)) return false;
  const perp_contact_count count = *perp_islands_count(events->islands);
  perp_twists(model, system->e, v, events->trial.before);
  perp_twists(model, system->e, system->a, events->trial.free);
  const perp_impact_rule rule = { .law = events->opts.impact,
                                  .tangential = events->opts.tangential,
                                  .threshold = events->opts.threshold };
  perp_island_task task = { .contact = events->at.contact,
                            .n = events->at.n,
                            .kept = part,
                            .impulse = events->at.force,
                            .slip = events->at.slip,
                            .h = events->settings.h,
                            .before = events->trial.before,
                            .free = events->trial.free,
                            .belts = model->surfaces.belts,
                            .t_belts = system->e->t,
                            .align = true,
                            .row = row,
                            .n_rows = rows,
                            .law = events_impact_law,
                            .impact = events->opts.impact != PERP_IMPACT_NEWTON ? &rule : NULL,
                            .user = events };
  if (!perp_islands_step(events->islands, system, &task, PERP_LEVEL_VELOCITY, events->settings.h, v,
                         &events->lcp_s))
    return false;
  memcpy(v, system->a, size);
  if (model->sim.held != NULL) events_impact_held(events, model);
  for (int i = 0; i < events->at.n && perp_impact_single(rule.law) && !events->accepted.plastic;
       i++)
    if (part[i] && events->at.contact[i].e > 0 &&
        perp_dot(3, events->at.contact[i].n, events->at.force + 3 * i) > 0)
      events->at.struck[i] = 1;
  const perp_reason reason = perp_events_failed(&count, perp_islands_count(events->islands));
  events_impact_fastest(events, system, v, part, &after);
  if (events->drives != NULL)
    after = fmax(after, perp_event_drives_approach(events->drives, system, v));
  if (reason >= 0 || after <= LEFT * before) return true;
  snprintf(events->cause, sizeof events->cause,
           "no impulses were found for an impact of %.4g m/s between %s and %s (lcp: %s)", before,
           perp_events_body(model, worst < 0 ? PERP_WORLD : events->at.contact[worst].body[0]),
           perp_events_body(model, worst < 0 ? PERP_WORLD : events->at.contact[worst].body[1]),
           perp_reason_name(reason));
  system->reason = reason;
  return false;
}

static bool events_impact_one_by_one(perp_events *events, perp_constrained *system, double *v)
{
  double speed;
  for (int round = 0; round < ROUNDS_MOST; round++) {
    const int first = events_impact_fastest(events, system, v, events->at.kept, &speed);
    if (first < 0 || speed <= events->opts.threshold) break;
    const int *pair = events->at.contact[first].body;
    for (int contact = 0; contact < events->at.n; contact++) {
      const int *body = events->at.contact[contact].body;
      const bool same = (body[0] == pair[0] && body[1] == pair[1]) ||
                        (body[0] == pair[1] && body[1] == pair[0]);
      events->at.part[contact] = events->at.kept[contact] && same;
    }
    if (!events_impact_strike(events, system, events->at.part, v)) return false;
  }
  events_impact_fastest(events, system, v, events->at.kept, &speed);
  events->accepted.plastic = true;
  return speed <= events->opts.rest || events_impact_strike(events, system, events->at.kept, v);
}

bool perp_events_impact(perp_events *events, perp_constrained *system, double *v)
{
  memset(events->at.struck, 0, (size_t)events->at.n);
  events->accepted.plastic = events->accepted.rebounded = false;
  const bool good = events->opts.order == PERP_ORDER_SEQUENTIAL
                        ? events_impact_one_by_one(events, system, v)
                        : events_impact_strike(events, system, events->at.kept, v);
  bool bounced = events->accepted.rebounded;
  for (int i = 0; i < events->at.n; i++) bounced |= events->at.struck[i] != 0;
  const perp_contact_count count = { .impacts = 1, .plastic = !bounced };
  perp_contact_count_add(perp_islands_count(events->islands), &count);
  return good;
}
