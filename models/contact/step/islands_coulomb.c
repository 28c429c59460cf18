/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far friction of a step is from Coulomb's law, whatever law and solver made it: from the
 * impulses of the contacts and the velocities at the end of the step alone.
 *
 * Of a contact with the normal impulse N > 0, the friction impulse T, the slip u (tangential
 * velocity of b relative to a at the end of the step, with moving surfaces) and m = 1 / (1 / m_a +
 * 1 / m_b):
 *
 *      violation = |T - proj(T - m u)| / (mu N),    proj: onto the disc of radius mu N,
 *
 * zero exactly where |T| <= mu N, and u = 0 or T = -mu N u / |u| (the natural map of STAR 2012, eq.
 * 5, with m for its scale, so that no threshold tells sticking from sliding).  mu N is at least
 * LEAST of the largest of the step: contacts that hardly press decide nothing.
 *
 * Its parts: force beyond the cone (|T| - mu N) / (mu N); and of contacts that slide, m |u| > mu N
 * (faster than friction of the step can stop): the angle between T and -u, and what is missing of
 * the limit, (mu N - |T|) / (mu N).
 *
 * Of an anisotropic surface T is S^-1 T and u is S u (islands_anisotropy.c): the ellipse becomes
 * the disc, and most dissipation the opposite direction.
 *
 * Cost: O(contacts), no allocation. */
#include "models/contact/step/belts.h"
#include "models/contact/step/islands_problem.h"

#include <math.h>

static const double LEAST = 1e-3;

static void islands_coulomb_contact(perp_contact_coulomb *worst, double mass, double limit,
                                    double scale, const double *T, const double *u)
{
  double z[3], defect = 0;
  for (int q = 0; q < 3; q++) z[q] = T[q] - mass * u[q];
  const double length = sqrt(perp_dot(3, z, z)), to = length > limit ? limit / length : 1;
  for (int q = 0; q < 3; q++) defect += (T[q] - to * z[q]) * (T[q] - to * z[q]);
  const double friction = sqrt(perp_dot(3, T, T)), slip = sqrt(perp_dot(3, u, u));
  worst->violation = fmax(worst->violation, sqrt(defect) / scale);
  worst->beyond = fmax(worst->beyond, (friction - limit) / scale);
  if (!(mass * slip > limit) || limit < scale) return;
  worst->missing = fmax(worst->missing, (limit - friction) / scale);
  if (friction > 0.01 * limit)
    worst->angle = fmax(worst->angle,
                        acos(fmax(-1, fmin(1, -perp_dot(3, T, u) / (friction * slip)))));
}

PERP_INLINE void islands_coulomb(perp_islands *s, const perp_constrained *k,
                                 const perp_island_task *task, const int dim)
{
  const perp_model *model = s->model;
  const int contacts = s->start[s->n_islands].first[CONTACTS];
  double largest = 0;
  for (int place = 0; place < contacts; place++) {
    const double *P = task->impulse + 3 * (size_t)s->contact.order[place];
    largest = fmax(largest,
                   s->contact.mu[place] * perp_dot(3, task->contact[s->contact.order[place]].n, P));
  }
  if (!(largest > 0)) return;
  s->count.coulomb.measured = true;
  perp_twists(model, k->e, k->a, s->work.twist_end);
  for (int place = 0; place < contacts; place++) {
    const int at = s->contact.order[place];
    const perp_contact *x = &task->contact[at];
    const double *P = task->impulse + 3 * (size_t)at, normal = perp_dot(3, x->n, P);
    if (!(normal > 0) || !(s->contact.mu[place] > 0)) continue;
    double u[3] = { 0 }, T[3], belt[3] = { 0 }, inverse = 0;
    for (int side = 0; side < 2; side++)
      if (x->body[side] >= 0) inverse += 1 / model->inertia[x->body[side]].mass;
    perp_contact_arms arm;
    perp_contact_arms_of(dim, k->e, x, &arm);
    perp_contact_relative(x, &arm, s->work.twist_end, u);
    if (task->belts) perp_belts_velocity(model, k->e, x, task->t_belts, belt);
    for (int q = 0; q < 3; q++)
      u[q] += belt[q] + (task->ahead != NULL ? task->ahead[3 * (size_t)at + q] : 0);
    const double along = perp_dot(3, x->n, u), limit = s->contact.mu[place] * normal;
    for (int q = 0; q < 3; q++) {
      u[q] -= along * x->n[q];
      T[q] = P[q] - normal * x->n[q];
    }
    if (model->surfaces.anisotropic) {
      double w[3];
      const double ratio = perp_islands_anisotropy(model, k->e, x, w);
      if (ratio != 1) perp_islands_stretch(1 / ratio, w, T), perp_islands_stretch(ratio, w, u);
    }
    islands_coulomb_contact(&s->count.coulomb, inverse > 0 ? 1 / inverse : 0, limit,
                            fmax(limit, LEAST * largest), T, u);
  }
}

void perp_islands_coulomb(perp_islands *islands, const perp_constrained *system,
                          const perp_island_task *task)
{
  if (islands->r == 1) return;
  if (islands->model->dim == 3)
    islands_coulomb(islands, system, task, 3);
  else
    islands_coulomb(islands, system, task, 2);
}
