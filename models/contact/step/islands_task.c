/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/islands_task.h"

/* ---- relative velocities ---- */

void perp_twist(const perp_model *model, const perp_eval *eval, int body, const double *v,
                double *twist)
{
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double *t = twist + (size_t)6 * (size_t)body;
  t[0] = vb[0], t[1] = vb[1];
  if (model->dim == 3) {
    t[2] = vb[2];
    perp_turn(3, eval->pose[body].R, vb + 3, t + 3);
  } else {
    t[2] = t[3] = t[4] = 0;
    t[5] = vb[2];
  }
}

void perp_twists(const perp_model *model, const perp_eval *eval, const double *v, double *twist)
{
  for (int b = 0; b < model->n_bodies; b++) perp_twist(model, eval, b, v, twist);
}

void perp_contact_velocity(int dim, const perp_eval *eval, const perp_contact *contact,
                           const double *twist, double u[3])
{
  perp_contact_arms at;
  if (dim == 3) /* a constant */
    perp_contact_arms_of(3, eval, contact, &at);
  else
    perp_contact_arms_of(dim, eval, contact, &at);
  perp_contact_relative(contact, &at, twist, u);
}

double perp_contact_speed(int dim, const perp_eval *eval, const perp_contact *contact, double mu,
                          const double *twist)
{
  double u[3];
  perp_contact_velocity(dim, eval, contact, twist, u);
  const double normal = perp_dot(3, contact->n, u);
  if (!(mu > 0)) return normal;
  return normal - mu * sqrt(fmax(0, perp_dot(3, u, u) - normal * normal));
}

/* ---- bounded rows ---- */

double perp_island_row_product(const perp_model *model, const perp_island_row *row, const double *v)
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    const double *vb = v + (size_t)model->nvb * (size_t)row->body[side];
    for (int i = 0; i < model->nvb; i++) sum += row->J[side][i] * vb[i];
  }
  return sum;
}

void perp_island_row_apply(const perp_model *model, const perp_island_row *row, double lambda,
                           double *f)
{
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    double *fb = f + (size_t)model->nvb * (size_t)row->body[side];
    for (int i = 0; i < model->nvb; i++) fb[i] += row->J[side][i] * lambda;
  }
}
