/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A part of a step without events, predicted and corrected; then with its end where the first event
 * is. */
#include "models/formulations/velocity/midpoint.h"

#include <string.h>

static const double TURN = 0.95;  /* cosine: normals further apart are those of other faces */
static const double JUMP = 0.25;  /* of the change of a velocity */
enum { TRIES = 20 };              /* of a part */
static const double LEAST = 1e-9; /* of a step: shorter parts are none */

/* q_out = q [+] (a u + b w) */
static void midpoint_move(perp_midpoint *s, double a, const double *u, double b, const double *w,
                          double *q_out)
{
  for (int i = 0; i < s->step.k.model->nv; i++) s->move[i] = a * u[i] + b * w[i];
  perp_model_retract(s->step.k.model, s->step.q, s->move, q_out);
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
    double *ahead = s->ahead + 3 * (size_t)i, u[3], w[3];
    ahead[0] = ahead[1] = ahead[2] = 0;
    const int n = perp_collide(model, x->shape[0], &pose[x->body[0]], x->shape[1],
                               &pose[x->body[1]], fabs(x->gap) + 0.1 * model->size, list);
    for (int j = 0; j < n; j++) {
      if (list[j].id != x->id || perp_dot(3, list[j].n, x->n) < TURN) continue;
      perp_midpoint_velocity(model, pose, &list[j], v, w);
      perp_midpoint_velocity(model, s->step.k.e->pose, x, v, u);
      /* the normal is that of the end in what closes, and here in what slides */
      const double normal = perp_dot(3, list[j].n, w) - perp_dot(3, x->n, w);
      for (int l = 0; l < model->dim; l++) ahead[l] = w[l] - u[l] + normal * x->n[l];
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
    if (!perp_midpoint_contacts(s, h, s->step.v)) return false;
  }
  memcpy(s->predicted, k->a, (size_t)model->nv * sizeof *s->predicted);
  return true;
}

/* the velocity at the end with everything in the middle: s->step.v1, s->step.q1 */
static bool midpoint_correct(perp_midpoint *s, double t, double h)
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
    if (!perp_midpoint_contacts(s, h, s->step.v)) return false;
  }
  memcpy(s->step.v1, k->a, (size_t)model->nv * sizeof *s->step.v1);
  midpoint_move(s, h / 2, s->step.v, h / 2, s->step.v1, s->step.q1);
  return true;
}

static bool midpoint_try(perp_midpoint *s, double t, double h)
{
  s->h = h;
  s->t_end = t + h;
  s->problem = PERP_MIDPOINT_PREDICTS;
  return midpoint_predict(s, t, h) && midpoint_correct(s, t, h);
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
  memset(s->ahead, 0, 3 * (size_t)s->n * sizeof *s->ahead);
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

bool perp_midpoint_part(perp_midpoint *s, double t, double *h, bool rest)
{
  const double most = *h, least = LEAST * s->step.grid.h;
  bool struck, settled = false;
  int slips = -1;
  s->n_closing = s->n_start = s->n = 0;
  perp_constrained_at(&s->step.k, t, s->step.q);
  if (s->islands != NULL) {
    if (!perp_midpoint_find(s, s->at_start, most, &s->start, &s->n_start)) return false;
    if (!perp_midpoint_strike(s, t, &struck)) return false;
  }
  if (rest) return midpoint_rest(s, t, most);
  for (int i = 0; i < TRIES; i++) {
    if (!midpoint_try(s, t, *h)) return false;
    if (s->islands != NULL && midpoint_jumps(s)) {
      perp_constrained_at(&s->step.k, t, s->step.q);
      return midpoint_rest(s, t, *h);
    }
    const double event = perp_midpoint_event(s, most, &settled, &slips);
    if (event <= least && slips >= 0) { /* it slides from the start */
      perp_midpoint_release(s, slips);
      continue;
    }
    if (perp_midpoint_reversals(s) > 0) continue;
    if (settled || event >= most * (1 - LEAST) || event == HUGE_VAL) break;
    *h = fmax(event, least);
  }
  *h = s->h; /* of the last try */
  if (!midpoint_accept(s, t, *h)) return false;
  if (!settled || slips < 0) return true;
  perp_midpoint_recall(s);
  perp_midpoint_release(s, slips);
  return true;
}
