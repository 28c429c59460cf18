/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts at a state: velocities, found and matched with those of the step, how far they are from
 * an event, and their J and Jdot v. */
#include "models/contact/step/belts.h"
#include "models/formulations/acceleration/events_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- one contact ---- */

static void events_state_add(const perp_model *model, const perp_pose *pose, int body,
                             const double p[3], const double *v, double sign, double u[3])
{
  if (body < 0) return;
  const int dim = model->dim;
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double r[3] = { 0 }, local[3] = { 0 }, turn[3];
  for (int i = 0; i < dim; i++) r[i] = p[i] - pose->x[i];
  perp_turn_back(dim, pose->R, r, local);
  perp_direction_rate(dim, pose->R, local, vb + dim, turn);
  for (int i = 0; i < dim; i++) u[i] += sign * (vb[i] + turn[i]);
}

void perp_events_velocity_at(const perp_model *model, const perp_pose *pose_a,
                             const perp_pose *pose_b, const perp_contact *contact, const double *v,
                             double u[3])
{
  double p[3];
  perp_contact_middle(contact, p);
  u[0] = u[1] = u[2] = 0;
  events_state_add(model, pose_a, contact->body[0], p, v, -1, u);
  events_state_add(model, pose_b, contact->body[1], p, v, 1, u);
}

void perp_events_velocity(const perp_model *model, const perp_eval *eval,
                          const perp_contact *contact, const double *v, double u[3])
{
  perp_events_velocity_at(model, &eval->pose[contact->body[0]], &eval->pose[contact->body[1]],
                          contact, v, u);
  if (model->surfaces.belts) perp_belts_velocity(model, eval, contact, eval->t, u);
}

double perp_events_speed(const perp_events *events, const perp_constrained *system,
                         const perp_contact *contact, const double *v)
{
  double u[3];
  perp_events_velocity(events->model, system->e, contact, v, u);
  return perp_dot(events->model->dim, contact->n, u);
}

double perp_events_sliding(const perp_events *events, const perp_constrained *system, int contact,
                           const double *v, double slide[3])
{
  double u[3];
  perp_events_velocity(events->model, system->e, &events->at.contact[contact], v, u);
  perp_events_tangential(events->model->dim, events->at.contact[contact].n, u, slide);
  return sqrt(perp_dot(3, slide, slide));
}

void perp_events_tangential(int dim, const double n[3], const double u[3], double t[3])
{
  const double along = perp_dot(dim, n, u);
  t[0] = t[1] = t[2] = 0;
  for (int i = 0; i < dim; i++) t[i] = u[i] - along * n[i];
}

perp_reason perp_events_failed(const perp_contact_count *before, const perp_contact_count *after)
{
  for (int i = 1; i < PERP_REASONS; i++)
    if (after->failed[i] > before->failed[i]) return (perp_reason)-i;
  return PERP_EXACT;
}

const char *perp_events_body(const perp_model *model, int body)
{
  const char *name = body < 0 ? "the world" : model->body_def[body].name;
  return name != NULL ? name : "a body";
}

/* ---- memory ---- */

static void events_state_layout(void *ws, perp_arena *arena)
{
  perp_events *events = ws;
  const size_t n = (size_t)events->at.cap;
  events->at.force = PERP_CARVE(arena, double, 3 * n);
  events->at.slip = PERP_CARVE(arena, double, n);
  PERP_DOUBLES(arena, 3 * n, &events->at.offset, &events->at.sliding);
  events->at.of = PERP_CARVE(arena, int, n);
  events->at.kept = PERP_CARVE(arena, unsigned char, n);
  events->at.struck = PERP_CARVE(arena, unsigned char, n);
  events->at.part = PERP_CARVE(arena, unsigned char, n);
  events->at.none = PERP_CARVE(arena, unsigned char, n);
  events->at.mode = PERP_CARVE(arena, unsigned char, n);
  events->at.stop = PERP_CARVE(arena, double, 9 * n);
}

perp_status perp_events_grow(perp_ctx *ctx, void *array, size_t size, int n, int *cap)
{
  void *grown;
  if (n <= *cap) return PERP_OK;
  const int wanted = n + n / 2 + 16;
  memcpy(&grown, array, sizeof grown);
  grown = realloc(grown, (size_t)wanted * size);
  if (grown == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  memcpy(array, &grown, sizeof grown);
  *cap = wanted;
  return PERP_OK;
}

perp_status perp_events_reserve(perp_ctx *ctx, perp_events *events, int n)
{
  perp_event_shown *shown = &events->accepted.shown;
  if (n <= events->at.cap) return PERP_OK;
  events->at.cap = n + n / 2 + 16;
  /* those shown are of the start of a step, and more contacts may be found on its way */
  int cap[3] = { shown->cap, shown->cap, shown->cap };
  perp_status status = perp_events_grow(ctx, &shown->contact, sizeof *shown->contact, n, &cap[0]);
  if (status == PERP_OK)
    status = perp_events_grow(ctx, &shown->force, 3 * sizeof *shown->force, n, &cap[1]);
  if (status == PERP_OK)
    status = perp_events_grow(ctx, &shown->impulse, 3 * sizeof *shown->impulse, n, &cap[2]);
  if (status == PERP_OK) shown->cap = cap[0];
  if (status == PERP_OK)
    status = perp_arena_layout(ctx, &events->at.arena, events_state_layout, events);
  if (status != PERP_OK) events->at.cap = 0;
  return status;
}

/* ---- contacts at a state ---- */

static const double NEAR = 0.1; /* of the reach of a body: the same place */
enum { STUCK = 10 };            /* steps in a row that go nowhere: an event that cannot be passed */

static double events_state_away(const perp_contact *contact, const double at[3])
{
  double p[3];
  perp_contact_middle(contact, p);
  return hypot(hypot(p[0] - at[0], p[1] - at[1]), p[2] - at[2]);
}

/* A contact of the step that has no namesake any more is the nearest one of its pair. */
static void events_state_nearest(perp_events *events, perp_event_contact *touching)
{
  double best = HUGE_VAL;
  int found = -1;
  for (int i = 0; i < events->at.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    if (events->at.of[i] >= 0 || perp_contact_pair(touching->id) != perp_contact_pair(contact->id))
      continue;
    const double d = events_state_away(contact, touching->at);
    if (d < best && d < NEAR * events->settings.reach[perp_contact_holder(contact)]) {
      best = d;
      found = i;
    }
  }
  if (found < 0) return;
  events->at.of[found] = (int)(touching - events->now.list);
  touching->matched = true;
}

static void events_state_match(perp_events *events)
{
  for (int i = 0; i < events->at.n; i++) events->at.of[i] = -1;
  for (int t = 0; t < events->now.n; t++) events->now.list[t].matched = false;
  for (int t = 0, contact = 0; t < events->now.n && contact < events->at.n;) {
    const uint64_t a = events->now.list[t].id, b = events->at.contact[contact].id;
    if (a == b) {
      events->now.list[t].matched = true;
      events->at.of[contact] = t;
    }
    t += a <= b;
    contact += a >= b;
  }
  for (int t = 0; t < events->now.n; t++)
    if (perp_event_rests(&events->now.list[t]) && !events->now.list[t].matched)
      events_state_nearest(events, &events->now.list[t]);
}

bool perp_events_find(perp_events *events, perp_constrained *system, double t, const double *q)
{
  const size_t size = (size_t)events->model->nq * sizeof *q;
  perp_constrained_at(system, t, q);
  if (events->collision == NULL) return true;
  if (!events->at.valid || memcmp(q, events->at.q, size) != 0) {
    const double start = perp_constrained_clock(system);
    events->at.valid = false;
    system->status = perp_collision_find(system->ctx, events->collision, system->e->pose,
                                         &events->at.contact, &events->at.n);
    if (system->status == PERP_OK)
      system->status = perp_events_reserve(system->ctx, events, events->at.n);
    events->collision_s += perp_constrained_clock(system) - start;
    if (system->status != PERP_OK) return false;
    memcpy(events->at.q, q, size);
    events->at.valid = true;
  }
  events_state_match(events);
  return true;
}

/* ---- contacts that appear at a depth ----
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
static const double JUMP =
    2e-6; /* of the smaller body: what collision detection leaves open, twice */

void perp_events_see(perp_events *events)
{
  events->start.n_seen = events->at.n;
  for (int contact = 0; contact < events->at.n; contact++)
    events->start.seen[contact] = (perp_event_seen){ .id = events->at.contact[contact].id,
                                                     .gap = events->at.contact[contact].gap };
}

double perp_events_unseen(const perp_events *events, const perp_contact *contact)
{
  const uint64_t pair = perp_contact_pair(contact->id);
  double size = events->settings.size, deepest = HUGE_VAL;
  int lo = 0, hi = events->start.n_seen;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (perp_contact_pair(events->start.seen[mid].id) < pair)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < events->start.n_seen && perp_contact_pair(events->start.seen[lo].id) == pair; lo++) {
    if (events->start.seen[lo].id == contact->id) return 0;
    deepest = fmin(deepest, events->start.seen[lo].gap);
  }
  for (int i = 0; i < 2; i++)
    if (contact->body[i] >= 0 && events->settings.reach[contact->body[i]] > 0)
      size = fmin(size, events->settings.reach[contact->body[i]]);
  const double jump = JUMP * size;
  return deepest < jump ? jump + fmax(0, -deepest) : 0;
}

/* ---- distances from an event ---- */

/* How deep may a contact of this pair of shapes be?  Pairs that touch at the start of the step: by
 * what they were, and the tolerance. */
static double events_state_allowance(const perp_events *events, uint64_t pair)
{
  double deepest = HUGE_VAL;
  int lo = 0, hi = events->now.n;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (perp_contact_pair(events->now.list[mid].id) < pair)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < events->now.n && perp_contact_pair(events->now.list[lo].id) == pair; lo++)
    deepest = fmin(deepest, events->now.list[lo].gap);
  return deepest == HUGE_VAL ? 0 : events->settings.touch + fmax(0, -deepest);
}

/* The same of one contact: other corners of a pair that touches may not be deep. */
static double events_state_allowed(const perp_events *events, int i)
{
  const perp_contact *contact = &events->at.contact[i];
  const uint64_t pair = perp_contact_pair(contact->id);
  const perp_event_contact *touching = perp_events_of(events, i);
  if (touching != NULL) return events->settings.touch + fmax(0, -touching->gap);
  for (int t = 0; t < events->now.n; t++)
    if (perp_contact_pair(events->now.list[t].id) == pair &&
        events_state_away(contact, events->now.list[t].at) <
            NEAR * events->settings.reach[perp_contact_holder(contact)])
      return events_state_allowance(events, pair);
  return contact->gap < 0 && events->accepted.chatter > STUCK ? perp_events_unseen(events, contact)
                                                              : 0;
}

void perp_events_lows(const perp_events *events, const perp_constrained *system, const double *v,
                      double *gap, double *speed)
{
  const int dim = events->model->dim;
  const bool keeps = perp_events_keeps_modes(events);
  *gap = events->settings.margin;
  *speed = HUGE_VAL;
  for (int i = 0; i < events->at.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    const perp_event_contact *touching = perp_events_rested(events, i);
    if (touching == NULL || (keeps && touching->mode == PERP_FROZEN_OPEN)) {
      *gap = fmin(*gap, contact->gap + events_state_allowed(events, i));
      continue;
    }
    if (!perp_event_slides(touching)) continue;
    double u[3];
    perp_events_velocity(events->model, system->e, contact, v, u);
    *speed = fmin(*speed, perp_dot(dim, u, touching->dir) + touching->back);
  }
}

static bool events_state_touched(void *user, int shape_a, int shape_b)
{
  return events_state_allowance(user, (uint64_t)shape_a << 20 | (uint64_t)shape_b) > 0;
}

bool perp_events_passed(perp_events *events, const double *q)
{
  return events->collision != NULL &&
         perp_collision_crosses(events->collision, events->start.q, q,
                                -0.5 * events->settings.touch, events_state_touched, events);
}

double perp_events_value(perp_events *events, perp_constrained *system, double t, const double *q,
                         const double *v)
{
  double gap, speed, load = HUGE_VAL;
  if (events->now.phase == PERP_PHASE_FRESH) return events->settings.margin;
  if (!perp_events_find(events, system, t, q)) return (double)NAN;
  perp_events_lows(events, system, v, &gap, &speed);
  if (events->drives != NULL)
    perp_event_drives_lows(events->drives, system, v, &gap, &speed, &load);
  const double least = fmin(fmin(gap, speed), load);
  return least >= 0 && perp_events_passed(events, q) ? -events->settings.margin : least;
}

/* ---- Jdot v of a contact that rests or slides ----
 *
 * J_n v is the rate of the gap and J v the velocity of the material points that touch, both as
 * functions of q: Jdot v is their derivative along the motion.  It is taken numerically, by central
 * differences of the contact that collision detection finds (two step lengths, extrapolated: error
 * of order 4), which has the curvature of all shapes in it, and costs four narrow-phase calls for
 * each contact that turns or slides. */
static const double STRIDE = 1e-4; /* of the smaller body, of the displacement in a difference */

/* pose of a body after the time d of the motion v, without the common velocity `shift` */
static void events_state_displaced(const perp_model *model, const perp_eval *eval, int body,
                                   const double *q, const double *v, const double shift[3],
                                   double d, perp_pose *pose)
{
  if (body < 0) {
    *pose = eval->pose[PERP_WORLD];
    return;
  }
  const double *qb = q + (size_t)model->nqb * (size_t)body;
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double moved[7];
  for (int i = 0; i < model->dim; i++) moved[i] = qb[i] + d * (vb[i] - shift[i]);
  if (model->dim == 3) {
    const double turn[3] = { d * vb[3], d * vb[4], d * vb[5] };
    perp_quat_retract(qb + 3, turn, moved + 3);
  } else {
    moved[2] = qb[2] + d * vb[2];
  }
  perp_pose_of(model->dim, moved, pose);
}

/* relative velocity u and its normal part at the displaced contact; false: it is not there */
static bool events_state_probe(const perp_events *events, const perp_eval *eval,
                               const perp_contact *contact, const double *q, const double *v,
                               const double shift[3], double d, double u[3], double *normal)
{
  const perp_model *model = events->model;
  perp_contact list[PERP_MANIFOLD_MAX];
  perp_pose a, b;
  events_state_displaced(model, eval, contact->body[0], q, v, shift, d, &a);
  events_state_displaced(model, eval, contact->body[1], q, v, shift, d, &b);
  const int n = perp_collide(model, contact->shape[0], &a, contact->shape[1], &b,
                             events->settings.margin, list);
  for (int i = 0; i < n; i++) {
    if (list[i].id != contact->id) continue;
    perp_events_velocity_at(model, &a, &b, &list[i], v, u);
    *normal = perp_dot(model->dim, list[i].n, u);
    return true;
  }
  return false;
}

/* central difference over +-d: derivatives of u and of its normal part */
static bool events_state_difference(const perp_events *events, const perp_eval *eval,
                                    const perp_contact *contact, const double *q, const double *v,
                                    const double shift[3], double d, double u[3], double *normal)
{
  double before[3], after[3], n_before, n_after;
  if (!events_state_probe(events, eval, contact, q, v, shift, -d, before, &n_before) ||
      !events_state_probe(events, eval, contact, q, v, shift, d, after, &n_after))
    return false;
  for (int i = 0; i < 3; i++) u[i] = (after[i] - before[i]) / (2 * d);
  *normal = (n_after - n_before) / (2 * d);
  return true;
}

void perp_events_rate(const perp_events *events, const perp_eval *eval, const perp_contact *contact,
                      const double *q, const double *v, double out[3])
{
  const perp_model *model = events->model;
  const int dim = model->dim, *bodies = contact->body;
  double shift[3] = { 0 }, speed = 0, size = HUGE_VAL, p[3], u[3], w[3], normal, normal2;
  out[0] = out[1] = out[2] = 0;
  perp_contact_middle(contact, p);
  if (contact->body[0] >= 0 && contact->body[1] >= 0)
    memcpy(shift, v + (size_t)model->nvb * (size_t)contact->body[0], (size_t)dim * sizeof *shift);
  for (int i = 0; i < 2; i++) {
    if (bodies[i] < 0) continue;
    const double *vb = v + (size_t)model->nvb * (size_t)bodies[i];
    const double *centre = eval->pose[bodies[i]].x;
    double line = 0, turn = 0, lever = 0;
    for (int j = 0; j < dim; j++) line += (vb[j] - shift[j]) * (vb[j] - shift[j]);
    for (int j = 0; j < dim; j++) lever += (p[j] - centre[j]) * (p[j] - centre[j]);
    for (int j = dim; j < model->nvb; j++) turn += vb[j] * vb[j];
    speed += sqrt(line) + sqrt(turn * lever);
    if (events->settings.reach[bodies[i]] > 0) size = fmin(size, events->settings.reach[bodies[i]]);
  }
  const double d = STRIDE * fmin(size, events->settings.size) / speed;
  if (!(speed > 0) || !isfinite(d)) return;
  if (!events_state_difference(events, eval, contact, q, v, shift, d, u, &normal)) return;
  if (events_state_difference(events, eval, contact, q, v, shift, 2 * d, w, &normal2)) {
    for (int i = 0; i < 3; i++) u[i] = (4 * u[i] - w[i]) / 3;
    normal = (4 * normal - normal2) / 3;
  }
  const double along = perp_dot(dim, contact->n, u);
  for (int i = 0; i < dim; i++) out[i] = u[i] + (normal - along) * contact->n[i];
}
