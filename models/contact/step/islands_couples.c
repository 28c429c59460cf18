/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Couples against spinning and rolling (contact.h): the last rows of an island, one group for each
 * contact that has any.
 *
 * Their rows are relative angular velocities along the normal and two tangents, which follow from
 * the normal alone. */
#include "models/contact/step/islands_private.h"
#include "models/multibody/model_private.h"

#include <string.h>

void perp_islands_couples_find(perp_islands *s, const perp_island_task *task)
{
  for (int i = 0; i < task->n; i++) {
    s->torsion[i] = s->rolling[i] = 0;
    if (task->couple == NULL || s->owner[i] < 0) continue;
    const int *shape = task->contact[i].shape;
    perp_surface_couples(s->model, shape[0], shape[1], &s->torsion[i], &s->rolling[i]);
  }
}

int perp_islands_couple_directions(const perp_islands *s, const perp_contact *x, int at,
                                   double d[9])
{
  static const double out[3] = { 0, 0, 1 };
  int r = 0;
  if (s->model->dim == 2) {
    memcpy(d, out, sizeof out);
    return s->rolling[at] > 0;
  }
  if (s->torsion[at] > 0) memcpy(d + 3 * r++, x->n, sizeof x->n);
  if (s->rolling[at] > 0) {
    perp_islands_tangents(3, x->n, NULL, d + 3 * r);
    r += 2;
  }
  return r;
}

void perp_islands_couple_rows(const perp_islands *s, const perp_constrained *k,
                              const perp_island_task *task, int at, const double *v,
                              double *const J[2], double *b, double *x)
{
  const perp_contact *contact = &task->contact[at];
  const int dim = s->model->dim, nvb = s->model->nvb;
  double d[9];
  const int r = perp_islands_couple_directions(s, contact, at, d);
  for (int q = 0; q < r; q++) {
    b[q] = 0;
    x[q] = perp_dot(3, d + 3 * q, task->couple + 3 * (size_t)at);
  }
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    const double sign = side == 0 ? -1 : 1, *vb = v + (size_t)nvb * (size_t)body;
    for (int q = 0; q < r; q++) {
      double along[3] = { 1 };
      if (dim == 3) perp_turn_back(3, k->e->pose[body].R, d + 3 * q, along);
      for (int l = 0; l < nvb; l++) {
        const double c = l < dim ? 0 : sign * along[l - dim];
        J[side][q + l * r] = c;
        b[q] += c * vb[l];
      }
    }
  }
}

void perp_islands_couples_back(const perp_islands *s, const perp_island_task *task, int i)
{
  const island *p = &s->start[i];
  const double *x = s->x + islands_first_row(s, i + 1) - (p[1].couple_rows - p->couple_rows);
  for (int place = p->first[CONTACTS]; place < p[1].first[CONTACTS]; place++) {
    const int at = s->order[place];
    double d[9], *tau = task->couple + 3 * (size_t)at;
    const int r = perp_islands_couple_directions(s, &task->contact[at], at, d);
    tau[0] = tau[1] = tau[2] = 0;
    for (int q = 0; q < r; q++, x++)
      for (int j = 0; j < 3; j++) tau[j] += *x * d[3 * q + j];
  }
}

void perp_islands_couples_apply(const perp_islands *s, const perp_constrained *k,
                                const perp_island_task *task, double *f)
{
  const int dim = s->model->dim, nvb = s->model->nvb;
  for (int i = 0; i < task->n; i++) {
    const double *tau = task->couple + 3 * (size_t)i;
    if (tau[0] == 0 && tau[1] == 0 && tau[2] == 0) continue;
    for (int side = 0; side < 2; side++) {
      const int body = task->contact[i].body[side];
      if (body < 0) continue;
      double turned[3] = { tau[2] }, *fb = f + (size_t)nvb * (size_t)body;
      if (dim == 3) perp_turn_back(3, k->e->pose[body].R, tau, turned);
      for (int l = dim; l < nvb; l++) fb[l] += (side == 0 ? -1 : 1) * turned[l - dim];
    }
  }
}
