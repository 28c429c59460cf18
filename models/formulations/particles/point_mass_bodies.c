/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies as a centre and scaled principal axes, from the state of the model and back. */
#include "models/formulations/particles/point_mass.h"

#include <lapacke.h>
#include <string.h>

#undef I /* of complex.h: inertia here */

perp_status perp_point_mass_body(perp_ctx *ctx, const perp_model *model, int index, body *b)
{
  const perp_inertia *in = &model->inertia[index];
  *b = (body){ .n = model->dim, .mass = in->mass, .axes = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  if (model->body_def[index].particle) {
    b->n = 0;
    return PERP_OK;
  }
  if (model->dim == 2) {
    b->I[2] = in->I[8];
    b->gamma[0] = b->gamma[1] = in->I[8] / 2;
    return PERP_OK;
  }
  double work[32];
  memcpy(b->axes, in->I, sizeof b->axes);
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, b->axes, 3, b->I, work, 32) != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                     "point-mass: the principal axes of body %d cannot be computed", index);
  double third[3];
  perp_cross(b->axes, b->axes + 3, third);
  memcpy(b->axes + 6, third, sizeof third); /* right-handed */
  for (int j = 0; j < 3; j++) {
    b->gamma[j] = (b->I[0] + b->I[1] + b->I[2]) / 2 - b->I[j];
    if (!(b->gamma[j] > 1e-6 * b->I[2]))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation point-mass: body %d is flat: one of its points would have no "
                       "mass; use another formulation",
                       index);
  }
  return PERP_OK;
}

/* quaternion of the rotation matrix R, with the sign closest to q */
static void point_mass_bodies_quaternion(const double R[9], double q[4])
{
  double p[4], trace = R[0] + R[4] + R[8];
  int i = R[4] > R[0] ? 1 : 0;
  if (R[8] > R[4 * i]) i = 2;
  if (trace > R[4 * i]) {
    const double s = 2 * sqrt(1 + trace);
    p[0] = s / 4, p[1] = (R[5] - R[7]) / s, p[2] = (R[6] - R[2]) / s, p[3] = (R[1] - R[3]) / s;
  } else {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double s = 2 * sqrt(1 + R[4 * i] - R[4 * j] - R[4 * k]);
    p[0] = (R[k + 3 * j] - R[j + 3 * k]) / s;
    p[1 + i] = s / 4;
    p[1 + j] = (R[i + 3 * j] + R[j + 3 * i]) / s;
    p[1 + k] = (R[i + 3 * k] + R[k + 3 * i]) / s;
  }
  const double dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
  for (int j = 0; j < 4; j++) q[j] = dot < 0 ? -p[j] : p[j];
  perp_quat_unit(q);
}

void perp_point_mass_enter(workspace *work, const double *q, const double *v)
{
  const perp_model *model = work->model;
  perp_eval_poses(&work->e, model, work->grid.t, q);
  for (int i = 0; i < model->n_bodies; i++) {
    const body *b = &work->body[i];
    coordinates *x = &work->x[i], *rate = &work->w[i];
    memset(x, 0, sizeof *x);
    memset(rate, 0, sizeof *rate);
    memcpy(x->c, work->e.pose[i].x, (size_t)model->dim * sizeof(double));
    memcpy(rate->c, v + i * model->nvb, (size_t)model->dim * sizeof(double));
    for (int j = 0; j < b->n; j++) {
      double s[3];
      for (int k = 0; k < 3; k++) s[k] = sqrt(b->gamma[j]) * b->axes[k + 3 * j];
      perp_turn(model->dim, work->e.pose[i].R, s, x->B + 3 * j);
      perp_direction_rate(model->dim, work->e.pose[i].R, s, v + i * model->nvb + model->dim,
                          rate->B + 3 * j);
    }
  }
}

void perp_point_mass_leave(workspace *work, const coordinates *x, const coordinates *v)
{
  const perp_model *model = work->model;
  for (int i = 0; i < model->n_bodies; i++) {
    const body *b = &work->body[i];
    double *q = work->q_out + i * model->nqb, *out = work->v_out + i * model->nvb, P[9],
           L[3] = { 0 };
    memcpy(q, x[i].c, (size_t)model->dim * sizeof(double));
    memcpy(out, v[i].c, (size_t)model->dim * sizeof(double));
    if (b->n == 0) continue;
    frame(b, &x[i], P);
    for (int j = 0; j < b->n; j++) { /* angular momentum: unit masses at B_j */
      double spin[3];
      perp_cross(x[i].B + 3 * j, v[i].B + 3 * j, spin);
      for (int k = 0; k < 3; k++) L[k] += spin[k];
    }
    if (model->dim == 2) {
      const double turn = atan2(P[1], P[0]);
      q[2] += remainder(turn - q[2], 2 * M_PI); /* continuous */
      out[2] = L[2] / b->I[2];
      continue;
    }
    double R[9], local[3];
    rotation(b, P, R);
    point_mass_bodies_quaternion(R, q + 3);
    perp_turn_back(3, P, L, local);
    for (int j = 0; j < 3; j++) local[j] /= b->I[j];
    perp_turn(3, b->axes, local, out + 3);
  }
}
