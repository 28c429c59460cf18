/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts that appear at a depth.
 *
 * The points of a manifold are no continuous function of the poses: of more than
 * PERP_MANIFOLD_CONVEX points those are kept that add most area, a point may lie beyond the rim of
 * a face, another pair of features becomes the nearest one.  Within the tolerance of collision
 * detection (collision.h: 1e-6 of the smaller shape) a point may then be there at once, at a gap
 * below zero, of which the state just before shows nothing.  An event at such a jump cannot be
 * passed: the last state ahead of it lacks the contact that closes, and a step from there is of no
 * length, again and again.  So where steps have stopped, a pair that touched, or was as near as
 * that, may get points of that depth that were not there at the start of the step; elsewhere the
 * time of an impact would suffer from it. */
#include "models/formulations/acceleration/events_private.h"

#include <stdlib.h>

static const double JUMP =
    2e-6; /* of the smaller body: what collision detection leaves open, twice */

perp_status perp_events_seen_reserve(perp_ctx *ctx, perp_events *s)
{
  if (s->n <= s->cap_seen) return PERP_OK;
  const int cap = s->n + s->n / 2 + 16;
  perp_event_seen *seen = realloc(s->seen, (size_t)cap * sizeof *seen);
  if (seen == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", cap);
  s->seen = seen;
  s->cap_seen = cap;
  return PERP_OK;
}

void perp_events_see(perp_events *s)
{
  s->n_seen = s->n;
  for (int i = 0; i < s->n; i++)
    s->seen[i] = (perp_event_seen){ .id = s->contact[i].id, .gap = s->contact[i].gap };
}

/* of the bodies of a contact */
static double seen_jump(const perp_events *s, const perp_contact *x)
{
  double size = HUGE_VAL;
  for (int i = 0; i < 2; i++)
    if (x->body[i] >= 0 && s->reach[x->body[i]] > 0) size = fmin(size, s->reach[x->body[i]]);
  return JUMP * fmin(size, s->size);
}

double perp_events_unseen(const perp_events *s, const perp_contact *x)
{
  const uint64_t pair = perp_contact_pair(x->id);
  const double jump = seen_jump(s, x);
  double deepest = HUGE_VAL;
  int lo = 0, hi = s->n_seen;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (perp_contact_pair(s->seen[mid].id) < pair)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < s->n_seen && perp_contact_pair(s->seen[lo].id) == pair; lo++) {
    if (s->seen[lo].id == x->id) return 0;
    deepest = fmin(deepest, s->seen[lo].gap);
  }
  return deepest < jump ? jump + fmax(0, -deepest) : 0;
}
