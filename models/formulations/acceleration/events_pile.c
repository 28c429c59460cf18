/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that pile up.
 *
 * In a heap that comes to rest modes change faster than steps resolve, and where forces are not
 * unique, or those of complementarity no smooth function of the state, there may be no modes that
 * explain them: events then follow each other within parts of 1e-6 of a step, or no accelerations
 * are found at all.  After EVENTS_MOST of them in one step, or where none are found, and where a
 * body that slides between others jams (none exist), steps are hasty: all contacts at rest creep
 * (events_rest.c), with forces that complementarity decides at the start of the step and that hold
 * in it, as the impulses of a step of the velocity level do.  Such a step is of first order; only
 * bodies that meet are located in it.  So it goes on for a step, and for twice as many each time
 * that events pile up again as soon as that is over.  These steps are counted.
 *
 * In space, and without drives: contacts in the plane, whose sliding has no direction to turn, do
 * not pile up so. */
#include "models/formulations/acceleration/events_private.h"

enum { EVENTS_MOST = 4, SPAN_MOST = 64 };
static const double WHOLE = 1 - 1e-9; /* of the step */
static const double MOST = 0.99;      /* of the longest step */
static const double CUT = 1e-3;       /* of the step: under error control nearer events pile up */

static bool pile_may(const perp_events *s)
{
  return s->model->dim == 3 && s->drives == NULL && s->collision != NULL;
}

static void pile_begin(perp_events *s, double t)
{
  s->span = s->span == 0 ? 1 : s->span < SPAN_MOST ? 2 * s->span : SPAN_MOST;
  s->t_calm = t + s->span * s->h;
}

static void pile_creep(perp_event_contacts *all)
{
  for (int i = 0; i < all->n; i++) {
    perp_event_contact *x = &all->x[i];
    x->creeps = x->rests;
    x->slides = x->steady = false;
    x->back = 0;
  }
}

void perp_events_pile(perp_events *s, double t, bool event)
{
  const double whole = s->h * WHOLE;
  const bool cut = (s->fixed || event) &&
                   t - s->t < fmin((s->fixed ? WHOLE : CUT) * s->h, MOST * s->longest);
  s->holds_forces = false;
  if (s->fresh) {
    s->t_pile = s->t_calm = t;
    s->pile = s->span = 0;
  } else if (t - s->t_pile >= whole) {
    if (!s->hasty) s->span = 0;
    s->t_pile = t;
    s->pile = 0;
  } else if (cut && ++s->pile >= EVENTS_MOST && !s->hasty) {
    pile_begin(s, t);
  }
  s->hasty = pile_may(s) && t + (1 - WHOLE) * s->h < s->t_calm;
  if (s->hasty) pile_creep(&s->next);
}

bool perp_events_hurry(perp_events *s)
{
  if (s->hasty || !pile_may(s)) return false;
  pile_begin(s, s->t);
  s->hasty = true;
  pile_creep(&s->now);
  return true;
}

bool perp_events_may_hurry(const perp_events *s)
{
  return !s->hasty && pile_may(s);
}

void perp_events_hold(perp_events *s, const perp_constrained *k)
{
  const perp_contact_count count = { .piled = 1 };
  for (int i = 0; i < s->model->nv; i++) s->held[i] = k->f[i] - s->f_free[i];
  s->holds_forces = true;
  perp_contact_count_add(perp_islands_count(s->islands), &count);
}
