/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that accumulate.  In a heap that comes to rest modes change faster than steps resolve, and
 * where forces are not unique, or those of complementarity no smooth function of the state, there
 * may be no modes that explain them: events then follow each other within parts of 1e-6 of a step,
 * or no accelerations are found at all.  After EVENTS_MOST of them in one step, or where none are
 * found, and where a body that slides between others jams (none exist), steps are of first order:
 * all contacts at rest drift, with forces that complementarity decides at the start of the step and
 * that hold in it (phase HELD), as the impulses of a step of the velocity level do.  Only bodies
 * that meet are located in it.  So it goes on for a step, and for twice as many each time that
 * events accumulate again as soon as that is over.  These steps are counted.  In space, and without
 * drives: contacts in the plane, whose sliding has no direction to turn, do not accumulate so. */
#include "models/formulations/acceleration/events_private.h"

static const double WHOLE = 1 - 1e-9; /* of the step */
static const double MOST = 0.99;      /* of the longest step */
static const double CUT = 1e-3; /* of the step: under error control, nearer events accumulate */
enum { EVENTS_MOST = 4, SPAN_MOST = 64 };

bool perp_events_may_hold(const perp_events *events)
{
  return events->model->dim == 3 && events->drives == NULL && events->collision != NULL;
}

bool perp_events_holds(const perp_events *events, double t)
{
  return perp_events_may_hold(events) &&
         t + (1 - WHOLE) * events->settings.h < events->accepted.t_calm;
}

static void accumulate_from(perp_events *events, double t)
{
  perp_event_accepted *accepted = &events->accepted;
  accepted->span = accepted->span == 0          ? 1
                   : accepted->span < SPAN_MOST ? 2 * accepted->span
                                                : SPAN_MOST;
  accepted->t_calm = t + accepted->span * events->settings.h;
}

static void accumulate_drift(perp_event_step *step)
{
  for (int i = 0; i < step->n; i++) {
    perp_event_contact *touching = &step->list[i];
    if (perp_event_rests(touching)) touching->state = PERP_CONTACT_DRIFTS;
    touching->back = 0;
  }
}

void perp_events_hold(perp_events *events)
{
  accumulate_from(events, events->start.t);
  accumulate_drift(&events->now);
}

void perp_events_accumulate(perp_events *events, double t, bool event)
{
  const perp_event_settings *settings = &events->settings;
  perp_event_accepted *accepted = &events->accepted;
  const double whole = settings->h * WHOLE;
  const bool held = perp_events_holds(events, events->start.t);
  const bool cut = (settings->fixed || event) &&
                   t - events->start.t < fmin((settings->fixed ? WHOLE : CUT) * settings->h,
                                              MOST * events->start.longest);
  if (events->now.phase == PERP_PHASE_FRESH) {
    accepted->t_events = accepted->t_calm = t;
    accepted->events = accepted->span = 0;
  } else if (t - accepted->t_events >= whole) {
    if (!held) accepted->span = 0;
    accepted->t_events = t;
    accepted->events = 0;
  } else if (cut && ++accepted->events >= EVENTS_MOST && !held) {
    accumulate_from(events, t);
  }
  if (perp_events_holds(events, t)) accumulate_drift(&events->next);
}
