/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/reaction.h"

#include "models/multibody/model_private.h"

#include <string.h>

/* wrench += sign * (force, torque about the point) of a generalized force on a body */
static void reaction_add(const perp_model *model, const double *q, int body, const double *f,
                         double sign, const double point[3], perp_reaction *out)
{
  const int d = model->dim;
  double x[3] = { 0 }, F[3] = { 0 }, tau[3] = { 0 }, arm[3], moment[3], R[9];
  const double origin[3] = { 0 };
  perp_model_point(model, q, body, origin, x);
  memcpy(F, f, (size_t)d * sizeof *f);
  if (d == 3) {
    perp_model_rotation(model, q, body, R);
    perp_turn(3, R, f + 3, tau);
  } else {
    tau[2] = f[2];
  }
  for (int k = 0; k < 3; k++) arm[k] = x[k] - point[k];
  perp_cross(arm, F, moment);
  for (int k = 0; k < 3; k++) {
    out->force[k] += sign * F[k];
    out->torque[k] += sign * (tau[k] + moment[k]);
  }
}

static void reaction_axes(const perp_model *model, const double *q, int i, const double point[3],
                          double axes[9])
{
  const perp_joint_def *def = &model->joint_def[i];
  const int d = model->dim;
  double own[9], R[9];
  if (def->kind == PERP_JOINT_DISTANCE) {
    double a[3], along[3];
    perp_model_point(model, q, def->a, def->anchor_a, a);
    for (int k = 0; k < 3; k++) along[k] = point[k] - a[k];
    perp_joint_axes(d, along, axes);
    return;
  }
  static const double none[3] = { 0 };
  perp_joint_axes(d, def->kind == PERP_JOINT_PLUGIN ? none : def->axis_a, own);
  perp_model_rotation(model, q, def->a, R);
  for (int k = 0; k < 3; k++) perp_turn(3, R, own + 3 * k, axes + 3 * k);
}

void perp_model_reaction(const perp_model *model, const double *q, const perp_blocks *blocks, int i,
                         const double *lambda, perp_reaction *out)
{
  const perp_joint_def *def = &model->joint_def[i];
  const int row = model->pattern.cptr[i], rows = model->pattern.cptr[i + 1] - row;
  const int from = blocks->jptr[i], to = blocks->jptr[i + 1];
  static const double origin[3] = { 0 };
  *out = (perp_reaction){ .axes = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  if (def->kind == PERP_JOINT_PLUGIN)
    perp_model_point(model, q, def->b >= 0 ? def->b : def->a, origin, out->point);
  else
    perp_model_point(model, q, def->b, def->anchor_b, out->point);
  reaction_axes(model, q, i, out->point, out->axes);
  for (int k = from; k < to; k++) {
    const int body = blocks->jblk[k];
    const double *J = blocks->J + blocks->joff[k];
    double f[6] = { 0 };
    if (def->b >= 0 && body != def->b) continue;
    for (int c = 0; c < model->nvb; c++)
      for (int r = 0; r < rows; r++) f[c] += J[r + c * rows] * lambda[row + r];
    reaction_add(model, q, body, f, def->b >= 0 ? 1 : -1, out->point, out);
  }
  for (int k = 0; k < 3; k++) {
    out->local_force[k] = perp_dot(3, out->axes + 3 * k, out->force);
    out->local_torque[k] = perp_dot(3, out->axes + 3 * k, out->torque);
  }
}
