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
  for (int i = 0; i < model->n_joints; i++)
    if (model->joint_def[i].kind == PERP_JOINT_PLUGIN &&
        model->joint_def[i].plugin->at_time != NULL)
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
static void motions_start(perp_model *m, int i)
{
  const perp_motion_def *def = &m->motions.def[i];
  perp_body_def *body = &m->body_def[def->body];
  const int d = m->dim;
  perp_frame f;
  double x[3], angle, R[9];
  perp_frame_at(m, i, 0, x, &angle, &f);
  if (!def->sets_velocity) return;
  memcpy(body->v, f.v, (size_t)d * sizeof *x);
  if (def->free_turn) return;
  if (d == 2) {
    body->w[2] = f.v[2];
    return;
  }
  perp_quat_matrix(body->quat, R);
  perp_turn_back(3, R, f.v + 3, body->w);
}

perp_status perp_motions_join(perp_ctx *ctx, perp_model *m)
{
  const int motions = m->motions.n;
  m->motions.n = 0; /* so many have their joints */
  perp_status status = PERP_OK;
  for (int i = 0; i < motions && status == PERP_OK; i++) {
    const perp_motion_def *def = &m->motions.def[i];
    const perp_joint_def joint = { .name = def->name,
                                   .kind = def->free_turn ? PERP_JOINT_BALL : PERP_JOINT_FIXED,
                                   .a = PERP_WORLD,
                                   .b = def->body };
    motions_start(m, i);
    status = perp_model_add_joint(ctx, m, &joint, NULL);
    if (status == PERP_OK) m->motions.n++;
  }
  if (status != PERP_OK) perp_motions_part(m);
  m->motions.n = motions;
  return status;
}

void perp_motions_part(perp_model *m)
{
  for (int i = 0; i < m->motions.n; i++) {
    m->n_joints--;
    free((char *)(uintptr_t)m->joint_def[m->n_joints].name);
    free(m->curve[m->n_joints]);
  }
}

/* ---- frames ---- */

/* y [3]: a number with its signal, first and second derivative */
static void frames_value(const perp_model *m, double x, perp_signal_ref signal, double t,
                         double y[3])
{
  y[0] = y[1] = y[2] = 0;
  if (signal != 0) perp_model_signal_at(m, signal, t, y);
  y[0] += x;
}

void perp_frame_at(const perp_model *m, int i, double t, double x[3], double *angle, perp_frame *f)
{
  const perp_motion_def *def = &m->motions.def[i];
  const int d = m->dim;
  double y[3], start[3];
  *f = (perp_frame){ 0 };
  for (int k = 0; k < d; k++) {
    frames_value(m, def->x[k], def->x_signal[k], t, y);
    x[k] = y[0], f->v[k] = y[1], f->a[k] = y[2];
  }
  *angle = 0;
  if (def->angle_signal == 0) return;
  frames_value(m, 0, def->angle_signal, 0, start);
  frames_value(m, 0, def->angle_signal, t, y);
  *angle = y[0] - start[0];
  const double length = d == 3 ? sqrt(perp_dot(3, def->axis, def->axis)) : 1;
  for (int k = 0; k < m->rates; k++) {
    const double along = d == 3 ? def->axis[k] / length : 1;
    f->v[d + k] = along * y[1];
    f->a[d + k] = along * y[2];
  }
}

void perp_frames_evaluate(const perp_model *m, perp_eval *e)
{
  for (int i = 0; i < m->motions.n; i++) {
    const perp_motion_def *def = &m->motions.def[i];
    double q[7] = { 0 }, angle;
    perp_frame_at(m, i, e->t, q, &angle, &e->frame[i]);
    if (m->dim == 3) {
      const double length = sqrt(perp_dot(3, def->axis, def->axis));
      q[3] = cos(angle / 2);
      for (int k = 0; k < 3 && length > 0; k++) q[4 + k] = sin(angle / 2) * def->axis[k] / length;
    } else {
      q[2] = angle;
    }
    perp_pose_of(m->dim, q, &e->pose[PERP_FRAME_OF(i)]);
  }
}

void perp_eval_poses(perp_eval *e, const perp_model *model, double t, const double *q)
{
  e->t = t;
  if (model->motions.n > 0) perp_frames_evaluate(model, e);
  if (model->dim == 3)
    for (int b = 0; b < model->n_bodies; b++) perp_pose_of(3, q + 7 * b, &e->pose[b]);
  else
    for (int b = 0; b < model->n_bodies; b++) perp_pose_of(2, q + 3 * b, &e->pose[b]);
}
