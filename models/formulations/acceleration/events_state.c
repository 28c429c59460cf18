/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts at a state: found, matched with those of the step, and how far they are from an event.
 */
#include "models/formulations/acceleration/events_private.h"

#include <stdlib.h>
#include <string.h>

static void events_state_layout(void *ws, perp_arena *a)
{
  perp_events *s = ws;
  const size_t n = (size_t)s->cap;
  s->force = PERP_CARVE(a, double, 3 * n);
  s->slip = PERP_CARVE(a, double, n);
  PERP_DOUBLES(a, 3 * n, &s->offset, &s->sliding);
  s->of = PERP_CARVE(a, int, n);
  s->kept = PERP_CARVE(a, unsigned char, n);
  s->struck = PERP_CARVE(a, unsigned char, n);
  s->part = PERP_CARVE(a, unsigned char, n);
  s->none = PERP_CARVE(a, unsigned char, n);
  s->mode = PERP_CARVE(a, unsigned char, n);
  s->stop = PERP_CARVE(a, double, 9 * n);
}

/* They are of the start of a step, and more contacts may be found on its way. */
static perp_status events_state_grow_shown(perp_ctx *ctx, perp_events *s)
{
  const size_t cap = (size_t)s->cap;
  perp_contact *shown = realloc(s->shown, cap * sizeof *shown);
  if (shown != NULL) s->shown = shown;
  double *force = realloc(s->shown_force, 3 * cap * sizeof *force);
  if (force != NULL) s->shown_force = force;
  double *impulse = realloc(s->shown_impulse, 3 * cap * sizeof *impulse);
  if (impulse != NULL) s->shown_impulse = impulse;
  if (shown == NULL || force == NULL || impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", s->cap);
  return PERP_OK;
}

perp_status perp_events_reserve(perp_ctx *ctx, perp_events *s, int n)
{
  if (n <= s->cap) return PERP_OK;
  s->cap = n + n / 2 + 16;
  perp_status status = events_state_grow_shown(ctx, s);
  if (status == PERP_OK) status = perp_arena_layout(ctx, &s->grown, events_state_layout, s);
  if (status != PERP_OK) s->cap = 0;
  return status;
}

/* ---- contacts at a state ---- */

static const double NEAR = 0.1; /* of the reach of a body: the same place */
enum { STUCK = 10 };            /* steps in a row that go nowhere: an event that cannot be passed */

static double events_state_away(const perp_contact *x, const double at[3])
{
  double p[3];
  perp_contact_middle(x, p);
  return hypot(hypot(p[0] - at[0], p[1] - at[1]), p[2] - at[2]);
}

/* A contact of the step that has no namesake any more is the nearest one of its pair. */
static void events_state_nearest(perp_events *s, perp_event_contact *t)
{
  double best = HUGE_VAL;
  int found = -1;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    if (s->of[i] >= 0 || perp_contact_pair(t->id) != perp_contact_pair(x->id)) continue;
    const double d = events_state_away(x, t->at);
    if (d < best && d < NEAR * s->reach[perp_contact_holder(x)]) {
      best = d;
      found = i;
    }
  }
  if (found < 0) return;
  s->of[found] = (int)(t - s->now.x);
  t->taken = true;
}

static void events_state_match(perp_events *s)
{
  for (int i = 0; i < s->n; i++) s->of[i] = -1;
  for (int t = 0; t < s->now.n; t++) s->now.x[t].taken = false;
  for (int t = 0, i = 0; t < s->now.n && i < s->n;) {
    const uint64_t a = s->now.x[t].id, b = s->contact[i].id;
    if (a == b) {
      s->now.x[t].taken = true;
      s->of[i] = t;
    }
    t += a <= b;
    i += a >= b;
  }
  for (int t = 0; t < s->now.n; t++)
    if (s->now.x[t].rests && !s->now.x[t].taken) events_state_nearest(s, &s->now.x[t]);
}

bool perp_events_find(perp_events *s, perp_constrained *k, double t, const double *q)
{
  const size_t size = (size_t)s->model->nq * sizeof *q;
  perp_constrained_at(k, t, q);
  if (s->collision == NULL) return true;
  if (!s->found || memcmp(q, s->q_found, size) != 0) {
    const double start = perp_constrained_clock(k);
    s->found = false;
    k->status = perp_collision_find(k->ctx, s->collision, k->e->pose, &s->contact, &s->n);
    if (k->status == PERP_OK) k->status = perp_events_reserve(k->ctx, s, s->n);
    s->collision_s += perp_constrained_clock(k) - start;
    if (k->status != PERP_OK) return false;
    memcpy(s->q_found, q, size);
    s->found = true;
  }
  events_state_match(s);
  return true;
}

bool perp_events_rested(const perp_events *s, int i)
{
  return s->of[i] >= 0 && s->now.x[s->of[i]].rests;
}

/* How deep may a contact of this pair of shapes be?  Pairs that touch at the start of the step: by
 * what they were, and the tolerance. */
static double events_state_allowance(const perp_events *s, uint64_t pair)
{
  double deepest = HUGE_VAL;
  int lo = 0, hi = s->now.n;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (perp_contact_pair(s->now.x[mid].id) < pair)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < s->now.n && perp_contact_pair(s->now.x[lo].id) == pair; lo++)
    deepest = fmin(deepest, s->now.x[lo].gap);
  return deepest == HUGE_VAL ? 0 : s->tol + fmax(0, -deepest);
}

/* The same of one contact: other corners of a pair that touches may not be deep. */
static double events_state_allowed(const perp_events *s, int i)
{
  const perp_contact *x = &s->contact[i];
  const uint64_t pair = perp_contact_pair(x->id);
  if (s->of[i] >= 0) return s->tol + fmax(0, -s->now.x[s->of[i]].gap);
  for (int t = 0; t < s->now.n; t++)
    if (perp_contact_pair(s->now.x[t].id) == pair &&
        events_state_away(x, s->now.x[t].at) < NEAR * s->reach[perp_contact_holder(x)])
      return events_state_allowance(s, pair);
  return x->gap < 0 && s->chatter > STUCK ? perp_events_unseen(s, x) : 0;
}

void perp_events_lows(const perp_events *s, const perp_constrained *k, const double *v, double *gap,
                      double *speed)
{
  const int dim = s->model->dim;
  *gap = s->margin;
  *speed = HUGE_VAL;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    if (!perp_events_rested(s, i) || (s->frozen && s->now.x[s->of[i]].mode == PERP_FROZEN_OPEN)) {
      *gap = fmin(*gap, x->gap + events_state_allowed(s, i));
      continue;
    }
    const perp_event_contact *t = &s->now.x[s->of[i]];
    if (!t->slides) continue;
    double u[3];
    perp_events_velocity(s->model, k->e, x, v, u);
    *speed = fmin(*speed, perp_dot(dim, u, t->dir) + t->back);
  }
}

static bool events_state_touched(void *user, int shape_a, int shape_b)
{
  return events_state_allowance(user, (uint64_t)shape_a << 20 | (uint64_t)shape_b) > 0;
}

bool perp_events_passed(perp_events *s, const double *q)
{
  return s->collision != NULL && perp_collision_crosses(s->collision, s->q_start, q, -0.5 * s->tol,
                                                        events_state_touched, s);
}

double perp_events_value(perp_events *s, perp_constrained *k, double t, const double *q,
                         const double *v)
{
  double gap, speed, load = HUGE_VAL;
  if (s->fresh) return s->margin;
  if (!perp_events_find(s, k, t, q)) return (double)NAN;
  perp_events_lows(s, k, v, &gap, &speed);
  if (s->drives != NULL) perp_event_drives_lows(s->drives, k, v, &gap, &speed, &load);
  const double least = fmin(fmin(gap, speed), load);
  return least >= 0 && perp_events_passed(s, q) ? -s->margin : least;
}
