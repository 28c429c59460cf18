/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The velocity s(t) of a surface is fixed in the frame of its shape but for its signals: in the
 * world R s, and its rate R (s' + w x s), w the angular velocity in the frame of the body. */
#include "models/contact/step/belts.h"

/* s and s' of a shape in the frame of its body */
static void belts_of(const perp_model *model, int shape, double t, double s[3], double rate[3])
{
  const perp_shape_def *def = &model->shape_def[shape];
  double own[3] = { 0 }, own_rate[3] = { 0 }, R[9];
  for (int i = 0; i < model->dim; i++) {
    double y[3] = { 0 };
    if (def->belt_signal[i] != 0) perp_model_signal_at(model, def->belt_signal[i], t, y);
    own[i] = def->belt[i] + y[0];
    own_rate[i] = y[1];
  }
  if (model->dim == 3) {
    perp_quat_matrix(def->quat, R);
  } else {
    const double c = cos(def->angle), sine = sin(def->angle);
    R[0] = c, R[1] = sine, R[2] = -sine, R[3] = c;
  }
  perp_turn(model->dim, R, own, s);
  perp_turn(model->dim, R, own_rate, rate);
}

static bool belts_any(const perp_shape_def *def)
{
  for (int i = 0; i < 3; i++)
    if (def->belt[i] != 0 || def->belt_signal[i] != 0) return true;
  return false;
}

/* out += the tangential part of y */
static void belts_add(int dim, const double n[3], const double *y, double sign, double *out)
{
  const double along = perp_dot(dim, n, y);
  for (int i = 0; i < dim; i++) out[i] += sign * (y[i] - along * n[i]);
}

void perp_belts_velocity(const perp_model *model, const perp_eval *eval,
                         const perp_contact *contact, double t, double u[3])
{
  for (int side = 0; side < 2; side++) {
    double s[3], rate[3], world[3];
    if (!belts_any(&model->shape_def[contact->shape[side]])) continue;
    belts_of(model, contact->shape[side], t, s, rate);
    perp_turn(model->dim, eval->pose[contact->body[side]].R, s, world);
    belts_add(model->dim, contact->n, world, side == 0 ? -1 : 1, u);
  }
}

void perp_belts_rate(const perp_model *m, const perp_eval *e, const perp_contact *x,
                     const double *v, double a[3])
{
  for (int side = 0; side < 2; side++) {
    double s[3] = { 0 }, rate[3] = { 0 }, turn[3], world[3];
    const int body = x->body[side];
    if (!belts_any(&m->shape_def[x->shape[side]])) continue;
    belts_of(m, x->shape[side], e->t, s, rate);
    if (body >= 0) {
      const double *w = v + (size_t)m->nvb * (size_t)body + m->dim;
      const double spin[3] = { m->dim == 3 ? w[0] : 0, m->dim == 3 ? w[1] : 0,
                               m->dim == 3 ? w[2] : w[0] };
      if (m->dim == 2) s[2] = 0;
      perp_cross(spin, s, turn);
      for (int i = 0; i < m->dim; i++) rate[i] += turn[i];
    }
    perp_turn(m->dim, e->pose[body].R, rate, world);
    belts_add(m->dim, x->n, world, side == 0 ? -1 : 1, a);
  }
}
