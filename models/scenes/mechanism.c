/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/mechanism.h"
#include "models/geometry/kinematics.h"

#include <string.h>

/* the vector r of the world in the frame of a body */
static void turn_back(const perp_model *model, int body, const double r[3], double s[3])
{
  const int d = perp_model_dim(model);
  memcpy(s, r, 3 * sizeof *s);
  if (body == PERP_WORLD) return;
  const perp_body_def *def = perp_model_body(model, body);
  double q[7] = { 0 };
  perp_pose pose;
  memcpy(q, def->x, (size_t)d * sizeof *q);
  if (d == 3)
    memcpy(q + 3, def->quat, sizeof def->quat);
  else
    q[2] = def->angle;
  perp_pose_of(d, q, &pose);
  perp_turn_back(d, pose.R, r, s);
}

void perp_mechanism_local(const perp_model *model, int body, const double p[3], double s[3])
{
  double r[3] = { 0 };
  for (int i = 0; i < perp_model_dim(model); i++)
    r[i] = p[i] - (body == PERP_WORLD ? 0 : perp_model_body(model, body)->x[i]);
  turn_back(model, body, r, s);
}

perp_status perp_mechanism_join(perp_ctx *ctx, perp_model *model, perp_joint_kind kind, int body,
                                int b, const double p[3], const double *axis)
{
  perp_joint_def def = { .kind = kind, .a = body, .b = b };
  perp_mechanism_local(model, body, p, def.anchor_a);
  perp_mechanism_local(model, b, p, def.anchor_b);
  if (axis != NULL) {
    turn_back(model, body, axis, def.axis_a);
    turn_back(model, b, axis, def.axis_b);
  }
  return perp_model_add_joint(ctx, model, &def, NULL);
}
