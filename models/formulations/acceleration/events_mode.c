/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a contact at rest does in a step: it is open, sticks or slides, and does so until the step
 * ends (the active set of the complementarity problem, Loetstedt 1984).  Forces are then smooth
 * functions of the state (islands_frozen.c), and how far they are from their bounds is an event
 * function:
 *
 *      lambda_n           a contact that presses is left where this falls through zero,
 *      mu lambda_n - |lambda_t|           one that sticks begins to slide, against lambda_t.
 *
 * Where the forces are not unique (four contacts of a box) neither is the margin: complementarity
 * is asked whether there are any forces within their bounds that give the same accelerations
 * (events_rest.c). */
#include "models/formulations/acceleration/events_private.h"

#include <string.h>

static const double CLEAR = 1e-4; /* of accelerations: one that has a direction */
static const double FLOOR =
    1e-6; /* of mass times acceleration, scale of a contact without a load */

void perp_events_acceleration(const perp_events *s, const perp_constrained *k, int i,
                              const double *a, double w[3])
{
  const perp_contact *x = &s->contact[i];
  perp_events_velocity_at(s->model, &k->e->pose[x->body[0]], &k->e->pose[x->body[1]], x, a, w);
  for (int j = 0; j < s->model->dim; j++) w[j] += s->offset[3 * i + j];
}

double perp_events_largest(const perp_events *s, const perp_constrained *k, int n, const double *a)
{
  double most = 0, w[3];
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    perp_events_acceleration(s, k, i, a, w);
    most = fmax(most, sqrt(perp_dot(s->model->dim, w, w)));
  }
  return most;
}

double perp_events_apart(const perp_events *s, const perp_constrained *k, int n, const double *a,
                         const double *b)
{
  double most = 0, x[3], y[3];
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    perp_events_acceleration(s, k, i, a, x);
    perp_events_acceleration(s, k, i, b, y);
    for (int j = 0; j < s->model->dim; j++) most = fmax(most, fabs(x[j] - y[j]));
  }
  return most;
}

double perp_events_opening(const perp_events *s, const perp_constrained *k, int n)
{
  double least = 0, w[3];
  for (int i = 0; i < n; i++) {
    if (!s->kept[i] || s->mode[i] != PERP_FROZEN_OPEN) continue;
    perp_events_acceleration(s, k, i, k->a, w);
    least = fmin(least, perp_dot(s->model->dim, s->contact[i].n, w));
  }
  return least;
}

/* a body whose load stands for that of the island */
static int mode_root(const perp_events *s, const perp_contact *x)
{
  return perp_islands_roots(s->islands, false)[perp_contact_holder(x)];
}

bool perp_events_modes(perp_events *s, const perp_constrained *k, int n)
{
  const int dim = s->model->dim;
  bool same = true;
  memset(s->load, 0, (size_t)s->model->n_bodies * sizeof *s->load);
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    const double *f = s->force + 3 * i;
    double *load = &s->load[mode_root(s, &s->contact[i])];
    *load = fmax(*load, sqrt(perp_dot(dim, f, f)));
  }
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    const perp_contact *x = &s->contact[i];
    perp_event_contact *t = &s->now.x[s->of[i]];
    double w[3];
    perp_events_acceleration(s, k, i, k->a, w);
    const double mass = s->model->inertia[perp_contact_holder(x)].mass;
    t->scale = fmax(s->load[mode_root(s, x)], FLOOR * mass * s->w_scale);
    const bool idle = perp_dot(dim, x->n, s->force + 3 * i) <= s->past * t->scale;
    const unsigned char mode = idle && perp_dot(dim, x->n, w) > s->noise * s->w_scale
                                   ? PERP_FROZEN_OPEN
                               : t->slides || !(x->mu > 0) ? PERP_FROZEN_SLIDES
                                                           : PERP_FROZEN_STICKS;
    same &= s->mode[i] == mode;
    s->mode[i] = t->mode = mode;
  }
  return same;
}

/* margins of contact i; friction: HUGE_VAL where it does not stick */
static void mode_margins(const perp_events *s, int i, double *normal, double *friction)
{
  const perp_contact *x = &s->contact[i];
  const perp_event_contact *t = &s->now.x[s->of[i]];
  const double *f = s->force + 3 * i;
  double tangential[3];
  *normal = *friction = HUGE_VAL;
  if (s->mode[i] == PERP_FROZEN_OPEN || !(t->scale > 0)) return;
  const double force = perp_dot(s->model->dim, x->n, f);
  *normal = force / t->scale;
  if (s->mode[i] != PERP_FROZEN_STICKS) return;
  perp_events_tangential(s->model->dim, x->n, f, tangential);
  *friction = (x->mu * force - sqrt(perp_dot(3, tangential, tangential))) / t->scale;
}

double perp_events_margin(const perp_events *s, int n)
{
  double least = HUGE_VAL, normal, friction;
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    mode_margins(s, i, &normal, &friction);
    least = fmin(least, fmin(normal, friction));
  }
  return least;
}

static double mode_apart(const double a[3], const double b[3])
{
  const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
  return sqrt(perp_dot(3, d, d));
}

bool perp_events_vouched(const perp_events *s, int n)
{
  for (int i = 0; i < n; i++) {
    if (!s->kept[i] || s->mode[i] == PERP_FROZEN_OPEN) continue;
    const perp_event_contact *t = &s->now.x[s->of[i]];
    if (!t->witness.known || mode_apart(s->contact[i].n, t->witness.normal) > 0.5 * s->past ||
        mode_apart(s->force + 3 * i, t->witness.force) > 0.5 * s->past * t->scale)
      return false;
  }
  return true;
}

void perp_events_vouch(perp_events *s, int n)
{
  for (int i = 0; i < n; i++) {
    if (!s->kept[i]) continue;
    perp_event_witness *w = &s->now.x[s->of[i]].witness;
    w->known = true;
    memcpy(w->force, s->force + 3 * i, sizeof w->force);
    memcpy(w->normal, s->contact[i].n, sizeof w->normal);
  }
}

/* Sliding of contact i begins along `w`. */
static bool mode_slide(perp_events *s, const perp_constrained *k, int i, const double w[3])
{
  const int dim = s->model->dim;
  const perp_contact *x = &s->contact[i];
  perp_event_contact *t = &s->now.x[s->of[i]];
  double along[3], u[3];
  perp_events_tangential(dim, x->n, w, along);
  const double length = sqrt(perp_dot(3, along, along));
  if (!(length > 0)) return false;
  for (int j = 0; j < 3; j++) t->dir[j] = along[j] / length;
  perp_events_velocity(s->model, k->e, x, s->v_start, u);
  t->back = fmax(0, -perp_dot(dim, u, t->dir));
  t->slides = true;
  t->steady = !s->many;
  return true;
}

/* that of the last solution of complementarity */
static double mode_slip(const perp_events *s, const perp_constrained *k, int i, double along[3])
{
  double w[3];
  perp_events_acceleration(s, k, i, s->a_frozen, w);
  perp_events_tangential(s->model->dim, s->contact[i].n, w, along);
  return sqrt(perp_dot(3, along, along));
}

int perp_events_release(perp_events *s, const perp_constrained *k, int n, bool unique)
{
  int released = 0;
  for (int i = 0; i < n; i++) {
    if (!s->kept[i] || s->mode[i] != PERP_FROZEN_STICKS) continue;
    const perp_event_contact *t = &s->now.x[s->of[i]];
    double against[3], along[3], normal, friction;
    if (unique) {
      mode_margins(s, i, &normal, &friction);
      if (friction >= -0.5 * s->past) continue;
    } else if (mode_slip(s, k, i, along) <= s->noise * s->w_scale) {
      continue;
    }
    perp_events_tangential(s->model->dim, s->contact[i].n, s->force + 3 * i, against);
    for (int j = 0; j < 3; j++) against[j] = -against[j];
    if (!unique && sqrt(perp_dot(3, against, against)) <= s->past * t->scale)
      released += mode_slide(s, k, i, along);
    else
      released += mode_slide(s, k, i, against);
    s->now.x[s->of[i]].begins = true;
  }
  return released;
}

void perp_events_steady(perp_events *s, const perp_constrained *k, int n, double h)
{
  for (int i = 0; i < n && s->model->dim == 3 && !s->many; i++) {
    perp_event_contact *t = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    double u[3], slide[3];
    if (t == NULL || !t->slides || !(s->contact[i].mu_dynamic > 0)) continue;
    perp_events_velocity(s->model, k->e, &s->contact[i], s->v_start, u);
    perp_events_tangential(3, s->contact[i].n, u, slide);
    t->steady |= h * s->w_scale > PERP_EVENTS_STIFF * sqrt(perp_dot(3, slide, slide));
  }
}

/* m/s: up to that the velocity of a contact is no direction; of one that slid before only where it
 * has all but stopped */
static double mode_slow(const perp_events *s, const perp_event_contact *t)
{
  return t->begins ? s->o.slip : PERP_EVENTS_STOPPED * s->o.slip;
}

void perp_events_ahead(perp_events *s, const perp_constrained *k, int n, double h, bool test)
{
  for (int i = 0; i < n && s->model->dim == 3; i++) {
    const perp_contact *x = &s->contact[i];
    perp_event_contact *t = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    double u[3], slide[3], held[3];
    if (t == NULL || !t->steady || t->turns) continue;
    perp_events_velocity(s->model, k->e, x, s->v_start, u);
    perp_events_tangential(3, x->n, u, slide);
    if (!test) {
      for (int j = 0; j < 3; j++) s->offset[3 * i + j] += slide[j] / h;
      memset(s->sliding + 3 * i, 0, 3 * sizeof *s->sliding);
      s->mode[i] = PERP_FROZEN_STICKS;
      continue;
    }
    const double *f = s->force + 3 * i, normal = perp_dot(3, x->n, f);
    perp_events_tangential(3, x->n, f, held);
    const bool stops = x->mu_dynamic * normal >= sqrt(perp_dot(3, held, held));
    if (stops && sqrt(perp_dot(3, slide, slide)) > mode_slow(s, t)) mode_slide(s, k, i, slide);
  }
}

bool perp_events_reversed(perp_events *s, const perp_constrained *k, int n)
{
  bool any = false;
  for (int i = 0; i < n && s->model->dim == 3; i++) {
    const perp_event_contact *t = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    double u[3], slide[3];
    if (t == NULL || !t->steady || t->turns) continue;
    perp_events_velocity(s->model, k->e, &s->contact[i], s->v_start, u);
    perp_events_tangential(3, s->contact[i].n, u, slide);
    if (sqrt(perp_dot(3, slide, slide)) > mode_slow(s, t) && perp_dot(3, slide, t->dir) < 0)
      any |= mode_slide(s, k, i, slide);
  }
  return any;
}

double perp_events_turn(perp_events *s, const perp_constrained *k, int n, double h, double part)
{
  double most = 0;
  for (int i = 0; i < n && s->model->dim == 3; i++) {
    const perp_contact *x = &s->contact[i];
    const perp_event_contact *t = s->kept[i] ? &s->now.x[s->of[i]] : NULL;
    double along[3], old[3], u[3], slide[3];
    if (t == NULL || !t->steady || t->turns) continue;
    mode_slip(s, k, i, along);
    perp_events_velocity(s->model, k->e, x, s->v_start, u);
    perp_events_tangential(3, x->n, u, slide);
    for (int j = 0; j < 3; j++) along[j] += slide[j] / h;
    const double length = sqrt(perp_dot(3, along, along));
    if (length <= CLEAR * s->w_scale) continue;
    memcpy(old, t->dir, sizeof old);
    for (int j = 0; j < 3; j++) {
      most = fmax(most, fabs(along[j] / length - old[j]));
      along[j] = part * along[j] / length + (1 - part) * old[j];
    }
    mode_slide(s, k, i, along);
  }
  return most;
}
