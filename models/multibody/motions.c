/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies whose motion is prescribed (Hairer and Wanner II, section VII.1: constraints C(q, t) = 0).
 *
 * A motion is a frame that moves, and a ball or fixed joint from it to the body.  The frame is
 * evaluated like a body, with its pose, velocity v_a and acceleration a_a; it is none, so that the
 * joint has no columns J_a in J.  With them
 *
 *      C. = J_b v_b + J_a v_a,      C_t = J_a v_a
 *      C.. = J_b a_b + J_a a_a + (bias of the joint for v_a and v_b) */
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

int perp_model_motions(const perp_model *model)
{
  return model->motions.n;
}

const perp_motion_def *perp_model_motion(const perp_model *model, int i)
{
  return i >= 0 && i < model->motions.n ? &model->motions.def[i] : NULL;
}

bool perp_model_prescribes(const perp_model *model)
{
  for (int joint = 0; joint < model->n_joints; joint++)
    if (model->joint_def[joint].kind == PERP_JOINT_PLUGIN &&
        model->joint_def[joint].plugin->at_time != NULL)
      return true;
  return model->motions.n > 0;
}

int perp_model_joint_motion(const perp_model *model, int i)
{
  const int first = model->n_joints - model->motions.n;
  return model->joint_def[i].a == PERP_WORLD && i >= first ? i - first : -1;
}

/* ---- building ---- */

/* The initial state that the motion says. */
static void motions_start(perp_model *model, int i)
{
  const perp_motion_def *def = &model->motions.def[i];
  perp_body_def *body = &model->body_def[def->body];
  const int d = model->dim;
  perp_frame frame;
  double x[3], angle, R[9];
  perp_frame_at(model, i, 0, x, &angle, &frame);
  if (!def->sets_velocity) return;
  memcpy(body->v, frame.v, (size_t)d * sizeof *x);
  if (def->free_turn) return;
  if (d == 2) {
    body->w[2] = frame.v[2];
    return;
  }
  perp_quat_matrix(body->quat, R);
  perp_turn_back(3, R, frame.v + 3, body->w);
}

perp_status perp_motions_join(perp_ctx *ctx, perp_model *model)
{
  const int motions = model->motions.n;
  model->motions.n = 0; /* so many have their joints */
  perp_status status = PERP_OK;
  for (int i = 0; i < motions && status == PERP_OK; i++) {
    const perp_motion_def *def = &model->motions.def[i];
    const perp_joint_def joint = { .name = def->name,
                                   .kind = def->free_turn ? PERP_JOINT_BALL : PERP_JOINT_FIXED,
                                   .a = PERP_WORLD,
                                   .b = def->body };
    motions_start(model, i);
    status = perp_model_add_joint(ctx, model, &joint, NULL);
    if (status == PERP_OK) model->motions.n++;
  }
  if (status != PERP_OK) perp_motions_part(model);
  model->motions.n = motions;
  return status;
}

void perp_motions_part(perp_model *model)
{
  for (int i = 0; i < model->motions.n; i++) {
    model->n_joints--;
    free((char *)(uintptr_t)model->joint_def[model->n_joints].name);
    free(model->curve[model->n_joints]);
  }
}
