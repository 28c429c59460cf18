/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/mechanism.h"
#include "models/kinematics/kinematics.h"

#include <math.h>
#include <string.h>

static void pose_of(const perp_model *model, int body, perp_pose *pose)
{
  const perp_body_def *def = perp_model_body(model, body);
  double q[7] = { 0 };
  const int d = perp_model_dim(model);
  memcpy(q, def->x, (size_t)d * sizeof *q);
  if (d == 3)
    memcpy(q + 3, def->quat, sizeof def->quat);
  else
    q[2] = def->angle;
  perp_pose_of(d, q, pose);
}

void perp_mechanism_local(const perp_model *model, int body, const double p[3], double s[3])
{
  const int d = perp_model_dim(model);
  memcpy(s, p, 3 * sizeof *s);
  if (body == PERP_WORLD) return;
  perp_pose pose;
  double r[3] = { 0 };
  pose_of(model, body, &pose);
  for (int i = 0; i < d; i++) r[i] = p[i] - pose.x[i];
  perp_turn_back(d, pose.R, r, s);
}

static void turn_back(const perp_model *model, int body, const double n[3], double u[3])
{
  perp_pose pose;
  memcpy(u, n, 3 * sizeof *u);
  if (body == PERP_WORLD) return;
  pose_of(model, body, &pose);
  perp_turn_back(perp_model_dim(model), pose.R, n, u);
}

perp_status perp_mechanism_join(perp_ctx *ctx, perp_model *model, perp_joint_kind kind, int a,
                                int b, const double p[3], const double *axis)
{
  perp_joint_def def = { .kind = kind, .a = a, .b = b };
  perp_mechanism_local(model, a, p, def.anchor_a);
  perp_mechanism_local(model, b, p, def.anchor_b);
  if (axis != NULL) {
    turn_back(model, a, axis, def.axis_a);
    turn_back(model, b, axis, def.axis_b);
  }
  return perp_model_add_joint(ctx, model, &def, NULL);
}

void perp_mechanism_state(int dim, const perp_planar *p, double *q, double *v)
{
  perp_in_plane(dim, p->x, p->height, q); /* writes 3 numbers */
  perp_in_plane(dim, p->vx, p->vheight, v);
  if (dim == 2) {
    q[2] = p->angle;
    v[2] = p->rate;
    return;
  }
  const double turn[4] = { cos(p->angle / 2), 0, -sin(p->angle / 2), 0 }, w[3] = { 0, -p->rate, 0 };
  memcpy(q + 3, turn, sizeof turn);
  memcpy(v + 3, w, sizeof w);
}

perp_body_def perp_mechanism_body(int dim, const perp_mass *mass, const double *q, const double *v)
{
  perp_body_def def = { .mass = *mass };
  memcpy(def.x, q, (size_t)dim * sizeof *q);
  memcpy(def.v, v, (size_t)dim * sizeof *v);
  if (dim == 2) {
    def.angle = q[2];
    def.w[2] = v[2];
  } else {
    memcpy(def.quat, q + 3, sizeof def.quat);
    memcpy(def.w, v + 3, sizeof def.w);
  }
  return def;
}

void perp_mechanism_published(perp_scene *scene, const char *what, double t, int n_q, int n,
                              const double *published, const double *ref)
{
  perp_printed *p = &scene->published;
  *p = (perp_printed){ .t = t, .err_v = n > n_q ? 0 : (double)NAN };
  snprintf(p->what, sizeof p->what, "%s", what);
  for (int i = 0; i < n; i++) {
    double *err = i < n_q ? &p->err_q : &p->err_v;
    *err = fmax(*err, fabs(published[i] - ref[i]) / fabs(ref[i]));
  }
}
