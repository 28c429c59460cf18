/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocity level in the middle of the step: time stepping of second order between events, which it
 * finds.
 *
 * The velocity at the end of a step follows from the impulse balance with forces, directions of
 * impulses and mass in the middle, and satisfies constraints and contacts at the end; the position
 * moves with the mean velocity:
 *
 *      M v+ = M v + h f(t + h/2, q_m, v_m) + J(q_m)' lambda + J_c(q_m)' lambda_c
 *
 *      q+ = q [+] h (v + v+) / 2
 *
 *      J(q_m) v+ + h/2 (Jdot v)_m = feedback
 *
 *      0 <= lambda_n  perp  n . J_c(q_m) v+ + (n . J_c(q*) - n . J_c(q_m)) v* + g_m / h >= 0
 *
 * and friction likewise,
 *
 * with the middle q_m = q [+] h (3 v + v*) / 8, v_m = (v + v*) / 2 and the end q* = q [+] h (v +
 * v*) / 2 of a prediction v*, which is a step of the formulation velocity.  What v* says of the end
 * is curvature: where a body that rolls will touch, and how its normal turns.  The matrix of the
 * problem stays J_c M^-1 J_c'.  This is a half-explicit step (Schindler and Acary 2014) with the
 * rows of Moreau's midpoint rule (Moreau 1988), which alone, J(q_m) v+ = 0, is of first order where
 * rows turn.  Where sliding goes on in about one direction, friction opposes J_c(q_m) (v + v+), the
 * mean of both ends, not the end, which is of first order where that direction turns (not on
 * belts). Between events: order 2 of q and v.
 *
 * Events end a part of the step (event-capturing schemes of higher order: Acary 2012).  A gap
 * closes faster than `threshold`: the part ends where it is zero, and an impact follows,
 *
 *      M v+ = M v + J' lambda + J_c' lambda_c,   0 <= lambda_n  perp  n . J_c v+ + e n . J_c v >= 0
 *
 * A contact slides that has stuck, where mu_dynamic < mu: the part ends where the force that holds
 * it is mu lambda_n, from the forces in the middle of this part and the one before,
 *
 * so that both have errors of h^2.  A contact that opens, slides to a stop or closes below the
 * threshold needs no end: forces are continuous there, or velocities are, and a step that has such
 * an event is wrong by h^2 in itself.  A contact that slid and would slide back sticks on the way,
 * as far as mu allows.  What falls with less than the threshold stops without restitution.  A step
 * has up to `parts` parts; the rest of one with more events (a pile that falls, a ball that comes
 * to rest) is a step of the formulation velocity, of first order.  So is a part whose v+ is off v*
 * by more than a quarter of what changes: a velocity that jumps without an impact (scene painleve).
 * A pair that begins to turn on the spot is noticed a step late.
 *
 * Depths go back in a step, at most with `push`; the feedback of joints is that of a whole step,
 * not of its part.  What is deep on two sides and cannot part makes a problem without a solution,
 * which counts as unsolved (scene crush), and so does Newton's law among bodies without room (scene
 * jam with e > 0; Poisson's is at hand in velocity and acceleration).
 *
 * Cost: two problems and two detections a step, about four times as much for each event in it.  No
 * allocation but for more contacts than ever.  Fails as velocity does.  Joints with stiffness and
 * blades are refused.
 *
 * Drives (drives_part in drives.h): servo springs with the mean of their coordinate at both ends of
 * the part, which takes no energy; motors at the velocity of its end; a part ends where a limit is
 * reached. */
#include "models/formulations/velocity/midpoint.h"

#include "models/contact/step/contacts.h"

#include <stdlib.h>
#include <string.h>

static const perp_opt options[] = {
  PERP_REAL(perp_midpoint_opts, threshold, 0.01, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",
            "Approach speed above which a closing contact is an impact."),
  PERP_REAL(perp_midpoint_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",
            "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use it if "
            "they slid in the previous step."),
  PERP_REAL(perp_midpoint_opts, residual, PERP_CONTACT_TOL, 0, 1, PERP_OPEN_MIN, "",
            "Largest scaled residual of an accepted solution."),
  PERP_REAL(perp_midpoint_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),
  PERP_INT(perp_midpoint_opts, parts, 8, 1, 1000,
           "Largest number of sub-steps in a step; events end sub-steps. The last one has order 1 "
           "when all are used."),
  PERP_CHOICE_OPTION(perp_midpoint_opts, choice),
  PERP_OPTIONS_END
};

static const double TURN = 0.95;  /* cosine: normals further apart are those of other faces */
static const double JUMP = 0.25;  /* of the change of a velocity */
enum { TRIES = 20 };              /* of a part */
static const double LEAST = 1e-9; /* of a step: shorter parts are none */
static const double SAME = 1e-6;  /* of a part: times of sliding that are one */
static const double FULL = 1e-9;  /* of friction */
/* sliding that goes on: of its speed, and the cosine of its turn */
static const double SLOWER = 0.5, ALIKE = 0.9;

/* ---- where a part ends: a gap that closes, friction that is no longer enough ---- */

/* gap at the end of the part */
static double midpoint_gap(const perp_midpoint *midpoint, const perp_midpoint_closing *closing)
{
  const perp_model *model = midpoint->step.k.model;
  const perp_pose *pose = midpoint->pose + 1;
  perp_contact list[PERP_MANIFOLD_MAX];
  const perp_contact *contact = &closing->contact;
  double u[3];
  const int n = perp_collide(model, contact->shape[0], &pose[contact->body[0]], contact->shape[1],
                             &pose[contact->body[1]], contact->gap + midpoint->slop + model->size,
                             list);
  for (int i = 0; i < n; i++)
    if (list[i].id == contact->id) return list[i].gap;
  perp_midpoint_velocity(model, pose, contact, midpoint->step.v1, u);
  return contact->gap + midpoint->h / 2 * (closing->speed + perp_dot(3, contact->n, u));
}

/* g0 + u t + b t^2 with g1 at h: its first zero, HUGE_VAL where there is none */
static double midpoint_zero(double g0, double u, double g1, double h)
{
  const double b = (g1 - g0 - u * h) / (h * h), root = u * u - 4 * b * g0;
  if (root < 0) return HUGE_VAL;
  const double q = -u + sqrt(root); /* the zero that is nearer: 2 g0 / q */
  return q > 0 ? 2 * g0 / q : HUGE_VAL;
}

/* When is friction used up, of a pair of shapes that sticks with contacts first ... end - 1?  The
 * part of it that is used is known in the middle of this part and of the one before, as the mean
 * over a part is that in its middle to second order; where this part has slid, from the two before.
 */
static double midpoint_slides(const perp_midpoint *s, int first, int end, double used)
{
  const perp_midpoint_memory *m = NULL;
  for (int i = first; i < end; i++) {
    if (!s->kept[i] || !(perp_dot(3, s->impulse + 3 * (size_t)i, s->contact[i].n) > 0)) continue;
    m = s->known[i];
    if (m == NULL || m->slides || s->contact[i].mu == s->contact[i].mu_dynamic) return HUGE_VAL;
  }
  if (m == NULL) return HUGE_VAL;
  if (used >= 1 - FULL) { /* sooner than what was known says by far: with a jump, from the start */
    const double at = m->h > 0 ? (1 - m->used) / m->rate - m->h / 2 : 0;
    return at > 2 * s->h ? 0 : fmax(0, at);
  }
  const double rate = perp_midpoint_rate(s, m, used);
  return rate > 0 ? fmax(0, s->h / 2 + (1 - used) / rate) : HUGE_VAL;
}

/* The first event of the part: a time after its start, HUGE_VAL where there is none within `most`.
 * *settled: the part ends there already.  *slips: the first contact of the pair that begins to
 * slide there, -1. */
static double midpoint_event(perp_midpoint *s, double most, bool *settled, int *slips)
{
  const perp_model *model = s->step.k.model;
  double first = HUGE_VAL;
  *settled = false;
  *slips = -1;
  if (s->n_closing > 0 || s->drives != NULL)
    for (int b = 0; b < model->n_bodies; b++)
      perp_pose_of(model->dim, s->step.q1 + (size_t)model->nqb * (size_t)b, &s->pose[b + 1]);
  if (s->drives != NULL) {
    perp_eval end = *s->step.k.e;
    double speed;
    end.pose = s->pose + 1;
    const double t = perp_drives_event(s->drives, &end, s->step.v1, &speed);
    if (t <= fmin(most, 2 * s->h)) {
      first = t;
      *settled = speed > 0 ? fabs(t - s->h) * fmax(speed, s->o.threshold) <= s->slop
                           : fabs(t - s->h) <= SAME * most;
    }
  }
  if (s->islands == NULL) return first;
  for (int i = 0; i < s->n_closing; i++) {
    const perp_midpoint_closing *c = &s->closing[i];
    const double t = midpoint_zero(c->contact.gap, c->speed, midpoint_gap(s, c), s->h);
    if (t > fmin(most, 2 * s->h) || t >= first) continue;
    first = t;
    *settled = fabs(t - s->h) * fmax(fabs(c->speed), s->o.threshold) <= s->slop;
  }
  for (int i = 0, end; i < s->n; i = end) {
    double used;
    end = perp_midpoint_pair(s, i, &used);
    const double t = midpoint_slides(s, i, end, used);
    if (t > fmin(most, 2 * s->h) || t >= first) continue;
    first = t;
    *settled = fabs(t - s->h) <= SAME * most;
    *slips = i;
  }
  return first;
}

/* Contacts that have slid and would slide back are told to stick: how many. */
static int midpoint_reversals(perp_midpoint *s)
{
  int found = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    perp_midpoint_memory *m = s->known[i];
    double u[3], left, change[3], before = 0;
    if (!s->kept[i] || m == NULL || !m->slides || m->back || x->mu == x->mu_dynamic) continue;
    if (!(perp_dot(3, s->impulse + 3 * (size_t)i, x->n) > 0)) continue;
    const double speed = perp_midpoint_sliding(s, i, u, &left);
    if (!(speed > left)) continue;
    /* along the sliding at the end: that at the start differs from it by what v1 - v makes */
    for (int j = 0; j < s->step.k.model->nv; j++) s->move[j] = s->step.v[j] - s->step.v1[j];
    perp_midpoint_velocity(s->step.k.model, s->step.k.e->pose, x, s->move, change);
    for (int j = 0; j < 3; j++) before += u[j] * (u[j] + change[j]) / speed;
    if (!(before < -left)) continue;
    m->slides = 0;
    m->back = 1;
    m->h = 0;
    found++;
  }
  return found;
}

/* ---- a part, predicted and corrected ---- */

/* q_out = q [+] (a u + b w) */
static void midpoint_move(perp_midpoint *midpoint, double a, const double *u, double b,
                          const double *w, double *q_out)
{
  for (int i = 0; i < midpoint->step.k.model->nv; i++) midpoint->move[i] = a * u[i] + b * w[i];
  perp_model_retract(midpoint->step.k.model, midpoint->step.q, midpoint->move, q_out);
}

/* The velocity u of x along its surface. */
static double midpoint_along(const perp_contact *x, double u[3])
{
  const double normal = perp_dot(3, x->n, u);
  for (int l = 0; l < 3; l++) u[l] -= normal * x->n[l];
  return sqrt(perp_dot(3, u, u));
}

/* Where x slides at the start, and at the end w, in about one direction, friction opposes the mean
 * of both: the row is J (v + v+) along the surface. */
static void midpoint_goes_on(const perp_midpoint *s, const perp_contact *x, const double w[3],
                             double ahead[3])
{
  const perp_model *model = s->step.k.model;
  double u[3], end[3] = { w[0], w[1], w[2] };
  if (!s->means || model->surfaces.belts) return;
  perp_midpoint_velocity(model, s->step.k.e->pose, x, s->step.v, u);
  const double before = midpoint_along(x, u), after = midpoint_along(x, end);
  if (!(before > s->o.slip && after > SLOWER * before &&
        perp_dot(3, u, end) > ALIKE * before * after))
    return;
  const double normal = perp_dot(3, x->n, ahead);
  for (int l = 0; l < model->dim; l++) ahead[l] = u[l] + normal * x->n[l];
}

/* (J(q1) - J) v of the contacts at hand, at s->step.q1 and where they are */
static void midpoint_look_ahead(perp_midpoint *s, const double *v)
{
  const perp_model *model = s->step.k.model;
  const perp_pose *pose = s->pose + 1;
  const double start = perp_constrained_clock(&s->step.k);
  for (int b = 0; b < model->n_bodies; b++)
    perp_pose_of(model->dim, s->step.q1 + (size_t)model->nqb * (size_t)b, &s->pose[b + 1]);
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    perp_contact list[PERP_MANIFOLD_MAX];
    double *curve = s->curve + 3 * (size_t)i, *ahead = s->ahead + 3 * (size_t)i, u[3], w[3];
    for (int l = 0; l < 3; l++) curve[l] = ahead[l] = 0;
    const int n = perp_collide(model, x->shape[0], &pose[x->body[0]], x->shape[1],
                               &pose[x->body[1]], fabs(x->gap) + 0.1 * model->size, list);
    for (int j = 0; j < n; j++) {
      if (list[j].id != x->id || perp_dot(3, list[j].n, x->n) < TURN) continue;
      perp_midpoint_velocity(model, pose, &list[j], v, w);
      perp_midpoint_velocity(model, s->step.k.e->pose, x, v, u);
      /* the normal is that of the end in what closes, and here in what slides */
      const double normal = perp_dot(3, list[j].n, w) - perp_dot(3, x->n, w);
      for (int l = 0; l < model->dim; l++) curve[l] = ahead[l] = w[l] - u[l] + normal * x->n[l];
      midpoint_goes_on(s, x, w, ahead);
    }
  }
  s->collision_s += perp_constrained_clock(&s->step.k) - start;
}

/* k->c -= h Jdot v: J v of the joints in a time h from where they are.  What depends on time alone
 * is in the rows already: C_t of the end. */
static void midpoint_curve(perp_midpoint *s, double h, const double *v)
{
  const perp_model *model = s->step.k.model;
  if (model->m > 0) perp_joints_curvature(model, s->step.k.e, v, s->gamma);
  for (int i = 0; i < model->m; i++) s->step.k.c[i] -= h * s->gamma[i];
}

/* s->predicted: the velocity at the end with forces and masses of the start.  Constraints are those
 * of the end, as the error of the prediction is to be h^2: without their curvature it has none of
 * the acceleration that they make. */
static bool midpoint_predict(perp_midpoint *s, double t, double h)
{
  perp_constrained *k = &s->step.k;
  const perp_model *model = k->model;
  perp_constrained_at(k, t, s->step.q);
  perp_eval_impulse(k->e, model, t, h, s->step.v, k->f);
  perp_gyro_implicit(model, h, s->step.v, k->f);
  memset(k->c, 0, (size_t)model->m * sizeof *k->c);
  perp_constrained_feedback(k, PERP_LEVEL_VELOCITY, s->step.grid.h, s->step.v);
  perp_constrained_driven(k, t + h, 1, k->c);
  midpoint_curve(s, h, s->step.v);
  s->step.grid.count.rhs++;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, s->step.v)) return false;
  s->contact = s->start;
  s->n = s->n_start;
  if (s->islands != NULL) {
    midpoint_move(s, h, s->step.v, 0, s->step.v, s->step.q1);
    midpoint_look_ahead(s, s->step.v);
  }
  if (!perp_midpoint_bounded(s, h, s->step.v)) return false;
  memcpy(s->predicted, k->a, (size_t)model->nv * sizeof *s->predicted);
  return true;
}

/* the velocity at the end with everything in the middle: s->step.v1, s->step.q1 */
static bool midpoint_correct_once(perp_midpoint *s, double t, double h)
{
  perp_constrained *k = &s->step.k;
  const perp_model *model = k->model;
  midpoint_move(s, 3 * h / 8, s->step.v, h / 8, s->predicted, s->middle);
  midpoint_move(s, h / 2, s->step.v, h / 2, s->predicted, s->step.q1);
  for (int i = 0; i < model->nv; i++) s->mean[i] = (s->step.v[i] + s->predicted[i]) / 2;
  if (!perp_constrained_signals(k, t + h / 2)) return false;
  perp_constrained_at(k, t + h / 2, s->middle);
  perp_eval_forces(k->e, model, t + h / 2, s->mean, true, s->f);
  perp_eval_impulse(k->e, model, t + h / 2, 0, s->step.v, k->f);
  for (int i = 0; i < model->nv; i++) k->f[i] += h * s->f[i];
  memset(k->c, 0, (size_t)model->m * sizeof *k->c);
  perp_constrained_feedback(k, PERP_LEVEL_VELOCITY, s->step.grid.h, s->step.v);
  perp_constrained_driven(k, t + h, 1, k->c);
  midpoint_curve(s, h / 2, s->mean);
  s->step.grid.count.rhs++;
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, s->step.v)) return false;
  s->problem = PERP_MIDPOINT_CORRECTS;
  if (s->islands != NULL) {
    if (!perp_midpoint_find(s, s->at_middle, h, &s->contact, &s->n)) return false;
    midpoint_look_ahead(s, s->predicted);
  }
  if (!perp_midpoint_bounded(s, h, s->step.v)) return false;
  memcpy(s->step.v1, k->a, (size_t)model->nv * sizeof *s->step.v1);
  midpoint_move(s, h / 2, s->step.v, h / 2, s->step.v1, s->step.q1);
  return true;
}

/* Does a contact slide back at the end, where friction opposed the mean of both ends? */
static bool midpoint_turned_back(const perp_midpoint *midpoint)
{
  const perp_model *model = midpoint->step.k.model;
  for (int contact = 0; contact < midpoint->n; contact++) {
    const double *curve = midpoint->curve + 3 * (size_t)contact;
    double u[3], end[3];
    if (memcmp(curve, midpoint->ahead + 3 * (size_t)contact, 3 * sizeof *curve) == 0) continue;
    perp_midpoint_velocity(model, midpoint->step.k.e->pose, &midpoint->contact[contact],
                           midpoint->step.v, u);
    perp_midpoint_velocity(model, midpoint->step.k.e->pose, &midpoint->contact[contact],
                           midpoint->step.v1, end);
    for (int l = 0; l < 3; l++) end[l] += curve[l];
    midpoint_along(&midpoint->contact[contact], u);
    if (perp_dot(3, u, end) < 0) return true;
  }
  return false;
}

/* What slides back, as the prediction did not know, has friction against the velocity at the end.
 */
static bool midpoint_correct(perp_midpoint *midpoint, double t, double h)
{
  midpoint->means = true;
  bool made = midpoint_correct_once(midpoint, t, h);
  midpoint->means = false;
  if (made && midpoint_turned_back(midpoint)) made = midpoint_correct_once(midpoint, t, h);
  return made;
}

static bool midpoint_try(perp_midpoint *midpoint, double t, double h)
{
  midpoint->h = h;
  midpoint->t_end = t + h;
  midpoint->problem = PERP_MIDPOINT_PREDICTS;
  return midpoint_predict(midpoint, t, h) && midpoint_correct(midpoint, t, h);
}

/* The part ends where it is: its end becomes the state. */
static bool midpoint_accept(perp_midpoint *s, double t, double h)
{
  perp_constrained *k = &s->step.k;
  const perp_model *model = k->model;
  if (s->islands != NULL) {
    perp_midpoint_remember(s);
    if (!perp_midpoint_say(s)) return false;
  }
  for (int i = 0; i < model->m; i++) s->step.lambda[i] += k->lambda[i];
  for (int i = 0; s->drives != NULL && i < model->n_drives; i++)
    s->drive[i] += h * perp_drives_forces(s->drives)[i];
  k->start_h = h;
  const perp_ode_answer answer = perp_constrained_accept(k, t + h, s->step.q1, s->step.v1);
  if (answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED) return false;
  for (int i = 0; i < model->m; i++) s->step.lambda[i] += k->impulse[i];
  memcpy(s->step.q, s->step.q1, (size_t)model->nq * sizeof *s->step.q);
  memcpy(s->step.v, s->step.v1, (size_t)model->nv * sizeof *s->step.v);
  return true;
}

/* What is left of a step whose events are used up: as the formulation velocity makes it. */
static bool midpoint_rest(perp_midpoint *s, double t, double h)
{
  s->h = h;
  s->t_end = t + h;
  s->n_closing = 0; /* these have rows again */
  s->problem = PERP_MIDPOINT_REST;
  if (!midpoint_predict(s, t, h)) return false;
  if (s->n > 0) memset(s->curve, 0, 3 * (size_t)s->n * sizeof *s->curve);
  memcpy(s->step.v1, s->predicted, (size_t)s->step.k.model->nv * sizeof *s->step.v1);
  midpoint_move(s, h, s->step.v1, 0, s->step.v1, s->step.q1);
  return midpoint_accept(s, t, h);
}

/* Is the velocity at the end another one than was predicted, by more than a smooth motion has it?
 */
static bool midpoint_jumps(const perp_midpoint *s)
{
  const perp_model *model = s->step.k.model;
  double off = 0, change = 0;
  for (int b = 0; b < model->n_bodies; b++) {
    double d[6], e[6];
    for (int i = 0; i < model->nvb; i++) {
      const int at = model->nvb * b + i;
      d[i] = s->step.v1[at] - s->predicted[at];
      e[i] = s->predicted[at] - s->step.v[at];
    }
    off = fmax(off, perp_point_speed(model->dim, d, s->reach[b]));
    change = fmax(change, perp_point_speed(model->dim, e, s->reach[b]));
  }
  return off > s->o.threshold && off > JUMP * change;
}

/* A part of a step from (t, q, v), at most h long: state and *h at its end.  rest: all of h, in
 * first order. */
static bool midpoint_part(perp_midpoint *midpoint, double t, double *h, bool rest)
{
  const double most = *h, least = LEAST * midpoint->step.grid.h;
  bool struck, settled = false;
  int slips = -1;
  midpoint->n_closing = midpoint->n_start = midpoint->n = 0;
  perp_constrained_at(&midpoint->step.k, t, midpoint->step.q);
  if (midpoint->islands != NULL &&
      !perp_midpoint_find(midpoint, midpoint->at_start, most, &midpoint->start, &midpoint->n_start))
    return false;
  if ((midpoint->islands != NULL || midpoint->drives != NULL) &&
      !perp_midpoint_strike(midpoint, t, &struck))
    return false;
  if (rest) return midpoint_rest(midpoint, t, most);
  for (int i = 0; i < TRIES; i++) {
    if (!midpoint_try(midpoint, t, *h)) return false;
    if (midpoint->islands != NULL && midpoint_jumps(midpoint)) {
      perp_constrained_at(&midpoint->step.k, t, midpoint->step.q);
      return midpoint_rest(midpoint, t, *h);
    }
    const double event = midpoint_event(midpoint, most, &settled, &slips);
    if (event <= least && slips >= 0) { /* it slides from the start */
      perp_midpoint_release(midpoint, slips);
      continue;
    }
    if (midpoint_reversals(midpoint) > 0) continue;
    if (settled || event >= most * (1 - LEAST) || event == HUGE_VAL) break;
    *h = fmax(event, least);
  }
  *h = midpoint->h; /* of the last try */
  if (midpoint->drives != NULL) perp_drives_settle(midpoint->drives, settled);
  if (!midpoint_accept(midpoint, t, *h)) return false;
  if (!settled || slips < 0) return true;
  perp_midpoint_recall(midpoint);
  perp_midpoint_release(midpoint, slips);
  return true;
}

/* ---- life and steps ---- */

static void velocity_midpoint_layout(void *ws, perp_arena *arena)
{
  perp_midpoint *midpoint = ws;
  const perp_model *model = midpoint->step.k.model;
  perp_stepper_layout(&midpoint->step, arena);
  midpoint->middle = PERP_CARVE(arena, double, model->nq);
  PERP_DOUBLES(arena, model->nv, &midpoint->mean, &midpoint->predicted, &midpoint->move,
               &midpoint->f);
  midpoint->gamma = PERP_CARVE(arena, double, model->m);
  PERP_DOUBLES(arena, 6 * (size_t)model->n_bodies, &midpoint->before, &midpoint->free);
  midpoint->drive = PERP_CARVE(arena, double, model->n_drives);
  midpoint->reach = PERP_CARVE(arena, double, model->n_bodies);
  midpoint->pose = PERP_CARVE(arena, perp_pose, (size_t)model->n_bodies + 1);
}

static void velocity_midpoint_destroy(void *ws)
{
  perp_midpoint *midpoint = ws;
  if (midpoint == NULL) return;
  perp_collision_destroy(midpoint->at_start);
  perp_collision_destroy(midpoint->at_middle);
  perp_islands_destroy(midpoint->islands);
  perp_drives_destroy(midpoint->drives);
  perp_arena_free(&midpoint->grown);
  free(midpoint->said.contact);
  free(midpoint->said.impulse);
  perp_stepper_destroy(midpoint);
}

static perp_status velocity_midpoint_open(perp_ctx *ctx, perp_midpoint *midpoint,
                                          const perp_parts *parts)
{
  const perp_model *model = midpoint->step.k.model;
  const perp_compliance rigid = { .on = false };
  PERP_TRY(perp_constrained_create(ctx, &midpoint->step.k, model, parts, true));
  if (model->n_drives > 0)
    PERP_TRY(perp_drives_create(ctx, model, parts, &rigid, PERP_CONTACT_TOL_DATA,
                                midpoint->o.budget, &midpoint->drives));
  midpoint->slop = midpoint->o.residual * model->size;
  if (model->n_shapes == 0) return PERP_OK;
  midpoint->slop = 0;
  const perp_contact_setup setup = { .tol = midpoint->o.residual,
                                     .tol_data = PERP_CONTACT_TOL_DATA,
                                     .budget = midpoint->o.budget,
                                     .choice = midpoint->o.choice };
  perp_contacts_reach(model, midpoint->reach);
  for (int body = 0; body < model->n_bodies; body++)
    midpoint->slop = fmax(midpoint->slop, midpoint->o.residual * midpoint->reach[body]);
  PERP_TRY(perp_collision_create(ctx, model, 0, &midpoint->at_start));
  PERP_TRY(perp_collision_create(ctx, model, 0, &midpoint->at_middle));
  return perp_contacts_islands(ctx, model, parts, &setup, 1, false, &midpoint->islands);
}

/* All parts of a step. */
static perp_reason velocity_midpoint_make(perp_stepper *step, double t, double h)
{
  perp_midpoint *midpoint = (perp_midpoint *)step;
  perp_constrained *system = &step->k;
  midpoint->said.n = 0;
  memset(step->lambda, 0, (size_t)system->model->m * sizeof *step->lambda);
  memset(midpoint->drive, 0, (size_t)system->model->n_drives * sizeof *midpoint->drive);
  bool made = perp_constrained_signals(system, t) &&
              perp_constrained_signals(system, midpoint->end);
  for (int part = 1; made && midpoint->end - t > 1e-10 * step->grid.h; part++) {
    double length = midpoint->end - t;
    made = midpoint_part(midpoint, t, &length, part >= midpoint->o.parts);
    t += length;
  }
  for (int i = 0; i < system->model->m; i++) step->lambda[i] /= h;
  for (int drive = 0; drive < system->model->n_drives; drive++) midpoint->drive[drive] /= h;
  memcpy(step->q1, step->q, (size_t)system->model->nq * sizeof *step->q);
  memcpy(step->v1, step->v, (size_t)system->model->nv * sizeof *step->v);
  return made || system->reason < 0 ? system->reason : PERP_INVALID_STATE;
}

static perp_status velocity_midpoint_create(perp_ctx *ctx, perp_model *model,
                                            const perp_parts *parts, double h, void **ws)
{
  perp_midpoint like = { .step.k.model = model,
                         .step.grid.h = h,
                         .step.make_step = velocity_midpoint_make,
                         .o = *(const perp_midpoint_opts *)parts->formulation.opts };
  PERP_TRY(perp_workspace_create(ctx, "velocity-midpoint", &like, sizeof like,
                                 velocity_midpoint_layout, ws));
  const perp_status status = velocity_midpoint_open(ctx, *ws, parts);
  if (status == PERP_OK) return PERP_OK;
  velocity_midpoint_destroy(*ws);
  *ws = NULL;
  return status;
}

static perp_status velocity_midpoint_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                             const double *v)
{
  perp_midpoint *midpoint = ws;
  midpoint->n_memory = midpoint->said.n = midpoint->n = 0;
  midpoint->collision_s = midpoint->lcp_s = 0;
  if (midpoint->islands != NULL) perp_islands_restart(midpoint->islands);
  if (midpoint->drives != NULL) perp_drives_restart(midpoint->drives);
  perp_pose_or_world(midpoint->step.k.model->dim, NULL, &midpoint->pose[0]);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status velocity_midpoint_step(perp_ctx *ctx, void *ws, double t_max,
                                          perp_step_info *info)
{
  perp_midpoint *midpoint = ws;
  midpoint->end = perp_time_grid_next(&midpoint->step.grid, t_max);
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  info->drive = midpoint->drives != NULL ? midpoint->drive : NULL;
  info->n_contacts = midpoint->said.n;
  info->contacts = midpoint->said.n > 0 ? midpoint->said.contact : NULL;
  info->impulse = midpoint->said.n > 0 ? midpoint->said.impulse : NULL;
  return PERP_OK;
}

static void velocity_midpoint_timing(void *ws, bool on, perp_times *times)
{
  perp_midpoint *midpoint = ws;
  perp_constrained_timing(&midpoint->step.k, on, times);
  if (midpoint->islands == NULL || times == NULL) return;
  times->collision = midpoint->collision_s;
  times->lcp = midpoint->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *velocity_midpoint_contacts(const void *ws)
{
  const perp_midpoint *midpoint = ws;
  if (midpoint->islands != NULL) return perp_islands_count(midpoint->islands);
  return midpoint->drives != NULL ? perp_drives_count(midpoint->drives) : NULL;
}

static void velocity_midpoint_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_midpoint *midpoint = ws;
  if (midpoint->islands != NULL)
    perp_islands_observe(midpoint->islands, observer, user);
  else if (midpoint->drives != NULL)
    perp_drives_observe(midpoint->drives, observer, user);
}

const perp_formulation_desc perp_formulation_velocity_midpoint = {
  .d = { .name = "velocity-midpoint",
         .summary = "Time stepping of order 2 between events, which end sub-steps",
         .reference = "Schindler and Acary 2014; Acary 2012; Moreau 1988",
         .equation =
             "M v+ = M v + h f_m + J_m' lambda,  J(q+) v+ = feedback,  q+ = q [+] h (v + v+) / 2",
         PERP_OPTIONS(options, perp_midpoint_opts),
         .caps = PERP_FORM_FORCES_MIDDLE | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_FORM_USES_STAB | PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES |
                 PERP_FORM_FEEDBACK | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED },
  .create = velocity_midpoint_create,
  .restart = velocity_midpoint_restart,
  .step = velocity_midpoint_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = velocity_midpoint_timing,
  .destroy = velocity_midpoint_destroy,
  .contacts = velocity_midpoint_contacts,
  .observe = velocity_midpoint_observe,
};
