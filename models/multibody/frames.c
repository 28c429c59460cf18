/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of prescribed motions.  The axis of a frame is fixed in the world and in the frame: its
 * angular velocity is the same in both. */
#include "models/multibody/chain.h"

/* y [3]: a number with its signal, first and second derivative */
static void frames_value(const perp_model *model, double x, perp_signal_ref signal, double t,
                         double y[3])
{
  y[0] = y[1] = y[2] = 0;
  if (signal != 0) perp_model_signal_at(model, signal, t, y);
  y[0] += x;
}

void perp_frame_at(const perp_model *model, int i, double t, double x[3], double *angle,
                   perp_frame *frame)
{
  const perp_motion_def *def = &model->motions.def[i];
  const int d = model->dim;
  double y[3], start[3];
  *frame = (perp_frame){ 0 };
  for (int k = 0; k < d; k++) {
    frames_value(model, def->x[k], def->x_signal[k], t, y);
    x[k] = y[0], frame->v[k] = y[1], frame->a[k] = y[2];
  }
  *angle = 0;
  if (def->angle_signal == 0) return;
  frames_value(model, 0, def->angle_signal, 0, start);
  frames_value(model, 0, def->angle_signal, t, y);
  *angle = y[0] - start[0];
  const double length = d == 3 ? sqrt(perp_dot(3, def->axis, def->axis)) : 1;
  for (int rate = 0; rate < model->rates; rate++) {
    const double along = d == 3 ? def->axis[rate] / length : 1;
    frame->v[d + rate] = along * y[1];
    frame->a[d + rate] = along * y[2];
  }
}

void perp_frames_evaluate(const perp_model *model, perp_eval *eval)
{
  for (int frame = 0; frame < model->motions.n; frame++) {
    const perp_motion_def *def = &model->motions.def[frame];
    double q[7] = { 0 }, angle;
    perp_frame_at(model, frame, eval->t, q, &angle, &eval->frame[frame]);
    if (model->dim == 3) {
      const double length = sqrt(perp_dot(3, def->axis, def->axis));
      q[3] = cos(angle / 2);
      for (int k = 0; k < 3 && length > 0; k++) q[4 + k] = sin(angle / 2) * def->axis[k] / length;
    } else {
      q[2] = angle;
    }
    perp_pose_of(model->dim, q, &eval->pose[PERP_FRAME_OF(frame)]);
  }
}

void perp_eval_poses(perp_eval *eval, const perp_model *model, double t, const double *q)
{
  eval->t = t;
  if (model->motions.n > 0) perp_frames_evaluate(model, eval);
  if (model->dim == 3)
    for (int body = 0; body < model->n_bodies; body++)
      perp_pose_of(3, q + 7 * body, &eval->pose[body]);
  else
    for (int body = 0; body < model->n_bodies; body++)
      perp_pose_of(2, q + 3 * body, &eval->pose[body]);
  if (model->chains.n > 0) perp_chains_evaluate(model, eval);
}
