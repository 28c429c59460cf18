/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impacts between two steps (Vondrak 2005, section 6.5.4; STAR 2012, sections 3.1.5 and 7.3):
 *
 *      M v+ = M v + J' lambda + J_c' lambda_c,   J v+ = J v,   0 <= lambda_n  perp  n . J_c v+ + e
 * n . J_c v >= 0
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
static bool events_impact_bounces(const perp_events *s, const perp_contact *x, double before)
{
  return !s->plastic && x->e > 0 && before < -s->o.threshold;
}

static void events_impact_law(void *user, const perp_contact *x, double h, const double *before,
                              const double *free, perp_contact_terms *terms)
{
  const perp_events *s = user;
  const bool newton = s->o.impact == PERP_IMPACT_NEWTON,
             bounces = events_impact_bounces(s, x, before[0]);
  (void)h, (void)free;
  terms->bias = newton && bounces ? x->e * before[0] : 0;
  terms->mu = hypot(before[1], before[2]) > s->o.slip ? x->mu_dynamic : x->mu;
  if (perp_impact_single(s->o.impact))
    terms->restitution = s->plastic ? -1 : x->e;
  else
    terms->restitution = !newton && bounces ? x->e : 0;
}

static double events_impact_approach(const perp_events *s, const perp_constrained *k, int i,
                                     const double *v)
{
  return -perp_events_speed(s, k, &s->contact[i], v);
}

/* fastest approach of the contacts that take part, which one; -1: none */
static int events_impact_fastest(const perp_events *s, const perp_constrained *k, const double *v,
                                 const unsigned char *part, double *speed)
{
  int found = -1;
  *speed = 0;
  for (int i = 0; i < s->n; i++) {
    const double a = part[i] ? events_impact_approach(s, k, i, v) : 0;
    if (a > *speed) {
      *speed = a;
      found = i;
    }
  }
  return found;
}

/* Disabled bodies that enabled ones have struck. */
static void events_impact_held(const perp_events *s, const perp_model *model)
{
  for (int i = 0; i < s->n; i++) {
    const double *p = s->force + 3 * i;
    if (!(p[0] != 0 || p[1] != 0 || p[2] != 0)) continue;
    for (int side = 0; side < 2; side++) {
      const int body = s->contact[i].body[side], other = s->contact[i].body[1 - side];
      if (body >= 0 && model->held[body] && other >= 0 && !model->held[other])
        model->struck[body] = 1;
    }
  }
}

/* the contacts `part` together */
static bool events_impact_strike(perp_events *s, perp_constrained *k, const unsigned char *part,
                                 double *v)
{
  const perp_model *model = s->model;
  const size_t size = (size_t)model->nv * sizeof *v;
  double before, after;
  perp_island_row *row = NULL;
  bool bounced = false;
  int rows = 0;
  const int worst = events_impact_fastest(s, k, v, part, &before);
  if (s->drives != NULL) {
    before = fmax(before, perp_event_drives_approach(s->drives, k, v));
    rows = perp_event_drives_impact(s->drives, k, v, &row, &bounced);
    s->rebounded |= bounced;
  }
  for (int i = 0; i < s->n; i++) {
    if (part[i] && events_impact_bounces(s, &s->contact[i], -events_impact_approach(s, k, i, v)))
      s->struck[i] = 1;
    s->slip[i] = 0;
  }
  memset(s->force, 0, (size_t)3 * (size_t)s->n * sizeof *s->force);
  perp_eval_impulse(k->e, model, s->t, 0, v, k->f);
  if (model->m > 0) perp_constrained_product(k, v, k->c);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, s->h, v)) return false;
  const perp_contact_count count = *perp_islands_count(s->islands);
  perp_twists(model, k->e, v, s->before);
  perp_twists(model, k->e, k->a, s->free);
  const perp_impact_rule rule = { .law = s->o.impact,
                                  .tangential = s->o.tangential,
                                  .threshold = s->o.threshold };
  perp_island_task task = { .contact = s->contact,
                            .n = s->n,
                            .kept = part,
                            .impulse = s->force,
                            .slip = s->slip,
                            .h = s->h,
                            .before = s->before,
                            .free = s->free,
                            .belts = model->belts,
                            .t_belts = k->e->t,
                            .align = true,
                            .row = row,
                            .n_rows = rows,
                            .law = events_impact_law,
                            .impact = s->o.impact != PERP_IMPACT_NEWTON ? &rule : NULL,
                            .user = s };
  if (!perp_islands_step(s->islands, k, &task, PERP_LEVEL_VELOCITY, s->h, v, &s->lcp_s))
    return false;
  memcpy(v, k->a, size);
  if (model->held != NULL) events_impact_held(s, model);
  for (int i = 0; i < s->n && perp_impact_single(rule.law) && !s->plastic; i++)
    if (part[i] && s->contact[i].e > 0 && perp_dot(3, s->contact[i].n, s->force + 3 * i) > 0)
      s->struck[i] = 1;
  const perp_reason reason = perp_events_failed(&count, perp_islands_count(s->islands));
  events_impact_fastest(s, k, v, part, &after);
  if (s->drives != NULL) after = fmax(after, perp_event_drives_approach(s->drives, k, v));
  if (reason >= 0 || after <= LEFT * before) return true;
  snprintf(s->cause, sizeof s->cause,
           "no impulses were found for an impact of %.4g m/s between %s and %s (lcp: %s)", before,
           perp_events_body(model, worst < 0 ? PERP_WORLD : s->contact[worst].body[0]),
           perp_events_body(model, worst < 0 ? PERP_WORLD : s->contact[worst].body[1]),
           perp_reason_name(reason));
  k->reason = reason;
  return false;
}

static bool same_pair(const perp_contact *a, const perp_contact *b)
{
  return (a->body[0] == b->body[0] && a->body[1] == b->body[1]) ||
         (a->body[0] == b->body[1] && a->body[1] == b->body[0]);
}

static bool events_impact_one_by_one(perp_events *s, perp_constrained *k, double *v)
{
  double speed;
  for (int round = 0; round < ROUNDS_MOST; round++) {
    const int first = events_impact_fastest(s, k, v, s->kept, &speed);
    if (first < 0 || speed <= s->o.threshold) break;
    for (int i = 0; i < s->n; i++)
      s->part[i] = s->kept[i] && same_pair(&s->contact[i], &s->contact[first]);
    if (!events_impact_strike(s, k, s->part, v)) return false;
  }
  events_impact_fastest(s, k, v, s->kept, &speed);
  s->plastic = true;
  return speed <= s->o.rest || events_impact_strike(s, k, s->kept, v);
}

bool perp_events_impact(perp_events *s, perp_constrained *k, double *v)
{
  memset(s->struck, 0, (size_t)s->n);
  s->plastic = s->rebounded = false;
  const bool good = s->o.order == PERP_ORDER_SEQUENTIAL ? events_impact_one_by_one(s, k, v)
                                                        : events_impact_strike(s, k, s->kept, v);
  bool bounced = s->rebounded;
  for (int i = 0; i < s->n; i++) bounced |= s->struck[i] != 0;
  const perp_contact_count count = { .impacts = 1, .plastic = !bounced };
  perp_contact_count_add(perp_islands_count(s->islands), &count);
  return good;
}
