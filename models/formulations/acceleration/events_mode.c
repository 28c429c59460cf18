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
 * (events_forces.c). */
#include "models/formulations/acceleration/events_private.h"

#include <string.h>

static const double CLEAR = 1e-4; /* of accelerations: one that has a direction */
static const double FLOOR =
    1e-6; /* of mass times acceleration, scale of a contact without a load */

void perp_events_acceleration(const perp_events *events, const perp_constrained *system, int i,
                              const double *a, double w[3])
{
  const perp_contact *contact = &events->at.contact[i];
  perp_events_velocity_at(events->model, &system->e->pose[contact->body[0]],
                          &system->e->pose[contact->body[1]], contact, a, w);
  for (int j = 0; j < events->model->dim; j++) w[j] += events->at.offset[3 * i + j];
}

double perp_events_largest(const perp_events *events, const perp_constrained *system,
                           const double *a)
{
  double most = 0, w[3];
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i]) continue;
    perp_events_acceleration(events, system, i, a, w);
    most = fmax(most, sqrt(perp_dot(events->model->dim, w, w)));
  }
  return most;
}

double perp_events_apart(const perp_events *events, const perp_constrained *system, const double *a,
                         const double *b)
{
  double most = 0, wa[3], wb[3];
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i]) continue;
    perp_events_acceleration(events, system, i, a, wa);
    perp_events_acceleration(events, system, i, b, wb);
    for (int j = 0; j < events->model->dim; j++) most = fmax(most, fabs(wa[j] - wb[j]));
  }
  return most;
}

double perp_events_opening(const perp_events *events, const perp_constrained *system)
{
  double least = 0, w[3];
  for (int contact = 0; contact < events->trial.n; contact++) {
    if (!events->at.kept[contact] || events->at.mode[contact] != PERP_FROZEN_OPEN) continue;
    perp_events_acceleration(events, system, contact, system->a, w);
    least = fmin(least, perp_dot(events->model->dim, events->at.contact[contact].n, w));
  }
  return least;
}

/* a body whose load stands for that of the island */
static int mode_root(const perp_events *events, const perp_contact *contact)
{
  return perp_islands_roots(events->islands, false)[perp_contact_holder(contact)];
}

bool perp_events_modes(perp_events *events, const perp_constrained *system)
{
  const int dim = events->model->dim;
  bool same = true;
  memset(events->trial.load, 0, (size_t)events->model->n_bodies * sizeof *events->trial.load);
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i]) continue;
    const double *f = events->at.force + 3 * i;
    double *load = &events->trial.load[mode_root(events, &events->at.contact[i])];
    *load = fmax(*load, sqrt(perp_dot(dim, f, f)));
  }
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i]) continue;
    const perp_contact *contact = &events->at.contact[i];
    perp_event_contact *touching = perp_events_of(events, i);
    double w[3];
    perp_events_acceleration(events, system, i, system->a, w);
    const double mass = events->model->inertia[perp_contact_holder(contact)].mass;
    touching->scale = fmax(events->trial.load[mode_root(events, contact)],
                           FLOOR * mass * events->start.w_scale);
    const bool idle = perp_dot(dim, contact->n, events->at.force + 3 * i) <=
                      events->settings.past * touching->scale;
    const unsigned char mode = idle && perp_dot(dim, contact->n, w) >
                                           events->settings.noise * events->start.w_scale
                                   ? PERP_FROZEN_OPEN
                               : perp_event_slides(touching) || !(contact->mu > 0)
                                   ? PERP_FROZEN_SLIDES
                                   : PERP_FROZEN_STICKS;
    same &= events->at.mode[i] == mode;
    events->at.mode[i] = touching->mode = mode;
  }
  return same;
}

/* margins of contact i; friction: HUGE_VAL where it does not stick */
static void mode_margins(const perp_events *events, int i, double *normal, double *friction)
{
  const perp_contact *contact = &events->at.contact[i];
  const perp_event_contact *touching = perp_events_of(events, i);
  const double *f = events->at.force + 3 * i;
  double tangential[3];
  *normal = *friction = HUGE_VAL;
  if (events->at.mode[i] == PERP_FROZEN_OPEN || !(touching->scale > 0)) return;
  const double force = perp_dot(events->model->dim, contact->n, f);
  *normal = force / touching->scale;
  if (events->at.mode[i] != PERP_FROZEN_STICKS) return;
  perp_events_tangential(events->model->dim, contact->n, f, tangential);
  *friction = (contact->mu * force - sqrt(perp_dot(3, tangential, tangential))) / touching->scale;
}

double perp_events_margin(const perp_events *events)
{
  double least = HUGE_VAL, normal, friction;
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i]) continue;
    mode_margins(events, i, &normal, &friction);
    least = fmin(least, fmin(normal, friction));
  }
  return least;
}

static double mode_apart(const double a[3], const double b[3])
{
  const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
  return sqrt(perp_dot(3, d, d));
}

bool perp_events_certified(const perp_events *events)
{
  for (int contact = 0; contact < events->trial.n; contact++) {
    if (!events->at.kept[contact] || events->at.mode[contact] == PERP_FROZEN_OPEN) continue;
    const perp_event_contact *touching = perp_events_of(events, contact);
    if (!touching->certificate.known ||
        mode_apart(events->at.contact[contact].n, touching->certificate.normal) >
            0.5 * events->settings.past ||
        mode_apart(events->at.force + 3 * contact, touching->certificate.force) >
            0.5 * events->settings.past * touching->scale)
      return false;
  }
  return true;
}

void perp_events_certify(perp_events *events)
{
  for (int contact = 0; contact < events->trial.n; contact++) {
    if (!events->at.kept[contact]) continue;
    perp_event_certificate *certificate = &perp_events_of(events, contact)->certificate;
    certificate->known = true;
    memcpy(certificate->force, events->at.force + 3 * contact, sizeof certificate->force);
    memcpy(certificate->normal, events->at.contact[contact].n, sizeof certificate->normal);
  }
}

/* Sliding of contact i begins along `w`. */
static bool mode_slide(perp_events *events, const perp_constrained *system, int i,
                       const double w[3])
{
  const int dim = events->model->dim;
  const perp_contact *contact = &events->at.contact[i];
  perp_event_contact *touching = perp_events_of(events, i);
  double along[3], u[3];
  perp_events_tangential(dim, contact->n, w, along);
  const double length = sqrt(perp_dot(3, along, along));
  if (!(length > 0)) return false;
  for (int j = 0; j < 3; j++) touching->dir[j] = along[j] / length;
  perp_events_velocity(events->model, system->e, contact, events->start.v, u);
  touching->back = fmax(0, -perp_dot(dim, u, touching->dir));
  touching->state = events->start.redundant ? PERP_CONTACT_SLIDES : PERP_CONTACT_STEADY;
  return true;
}

/* that of the last solution of complementarity */
static double mode_slip(const perp_events *events, const perp_constrained *system, int contact,
                        double along[3])
{
  double w[3];
  perp_events_acceleration(events, system, contact, events->trial.a_asked, w);
  perp_events_tangential(events->model->dim, events->at.contact[contact].n, w, along);
  return sqrt(perp_dot(3, along, along));
}

int perp_events_release(perp_events *events, const perp_constrained *system, bool unique)
{
  int released = 0;
  for (int i = 0; i < events->trial.n; i++) {
    if (!events->at.kept[i] || events->at.mode[i] != PERP_FROZEN_STICKS) continue;
    const perp_event_contact *touching = perp_events_of(events, i);
    double against[3], along[3], normal, friction;
    if (unique) {
      mode_margins(events, i, &normal, &friction);
      if (friction >= -0.5 * events->settings.past) continue;
    } else if (mode_slip(events, system, i, along) <=
               events->settings.noise * events->start.w_scale) {
      continue;
    }
    perp_events_tangential(events->model->dim, events->at.contact[i].n, events->at.force + 3 * i,
                           against);
    for (int j = 0; j < 3; j++) against[j] = -against[j];
    if (!unique && sqrt(perp_dot(3, against, against)) <= events->settings.past * touching->scale)
      released += mode_slide(events, system, i, along);
    else
      released += mode_slide(events, system, i, against);
    perp_events_of(events, i)->begins = true;
  }
  return released;
}

void perp_events_steady(perp_events *events, const perp_constrained *system)
{
  const double least = events->trial.h * events->start.w_scale;
  for (int contact = 0;
       contact < events->trial.n && events->model->dim == 3 && !events->start.redundant;
       contact++) {
    perp_event_contact *touching = perp_events_kept(events, contact);
    double slide[3];
    if (touching == NULL || touching->state != PERP_CONTACT_SLIDES) continue;
    if (!(events->at.contact[contact].mu_dynamic > 0)) continue;
    const double speed = perp_events_sliding(events, system, contact, events->start.v, slide);
    if (least > PERP_EVENTS_STIFF * speed) touching->state = PERP_CONTACT_STEADY;
  }
}

/* m/s: up to that the velocity of a contact is no direction; of one that slid before only where it
 * has all but stopped */
static double mode_slow(const perp_events *events, const perp_event_contact *touching)
{
  return touching->begins ? events->opts.slip : PERP_EVENTS_STOPPED * events->opts.slip;
}

/* Contact i that slides in a direction of the step, NULL: it does not; its sliding velocity. */
static perp_event_contact *mode_steady(const perp_events *events, const perp_constrained *system,
                                       int i, double slide[3], double *speed)
{
  perp_event_contact *touching = perp_events_kept(events, i);
  if (events->model->dim != 3 || touching == NULL || touching->state != PERP_CONTACT_STEADY)
    return NULL;
  *speed = perp_events_sliding(events, system, i, events->start.v, slide);
  return touching;
}

void perp_events_ahead(perp_events *events, const perp_constrained *system, bool test)
{
  for (int i = 0; i < events->trial.n; i++) {
    const perp_contact *contact = &events->at.contact[i];
    double slide[3], held[3], speed;
    perp_event_contact *touching = mode_steady(events, system, i, slide, &speed);
    if (touching == NULL) continue;
    if (!test) {
      for (int j = 0; j < 3; j++) events->at.offset[3 * i + j] += slide[j] / events->trial.h;
      memset(events->at.sliding + 3 * i, 0, 3 * sizeof *events->at.sliding);
      events->at.mode[i] = PERP_FROZEN_STICKS;
      continue;
    }
    const double *f = events->at.force + 3 * i, normal = perp_dot(3, contact->n, f);
    perp_events_tangential(3, contact->n, f, held);
    const bool stops = contact->mu_dynamic * normal >= sqrt(perp_dot(3, held, held));
    if (stops && speed > mode_slow(events, touching)) mode_slide(events, system, i, slide);
  }
}

bool perp_events_reversed(perp_events *events, const perp_constrained *system)
{
  bool any = false;
  for (int i = 0; i < events->trial.n; i++) {
    double slide[3], speed;
    const perp_event_contact *touching = mode_steady(events, system, i, slide, &speed);
    if (touching != NULL && speed > mode_slow(events, touching) &&
        perp_dot(3, slide, touching->dir) < 0)
      any |= mode_slide(events, system, i, slide);
  }
  return any;
}

double perp_events_turn(perp_events *events, const perp_constrained *system, double part)
{
  double most = 0;
  for (int contact = 0; contact < events->trial.n; contact++) {
    double along[3], old[3], slide[3], speed;
    const perp_event_contact *touching = mode_steady(events, system, contact, slide, &speed);
    if (touching == NULL) continue;
    mode_slip(events, system, contact, along);
    for (int j = 0; j < 3; j++) along[j] += slide[j] / events->trial.h;
    const double length = sqrt(perp_dot(3, along, along));
    if (length <= CLEAR * events->start.w_scale) continue;
    memcpy(old, touching->dir, sizeof old);
    for (int j = 0; j < 3; j++) {
      most = fmax(most, fabs(along[j] / length - old[j]));
      along[j] = part * along[j] / length + (1 - part) * old[j];
    }
    mode_slide(events, system, contact, along);
  }
  return most;
}
