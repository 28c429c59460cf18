/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of prescribed motions.  The axis of a frame is fixed in the world and in the frame: its
 * angular velocity is the same in both. */
#include "models/multibody/model_private.h"

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
