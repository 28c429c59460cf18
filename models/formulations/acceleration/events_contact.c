/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One contact at a state, and what is said of its failure. */
#include "models/contact/step/belts.h"
#include "models/formulations/acceleration/events_private.h"

static void add_velocity(const perp_model *model, const perp_pose *pose, int body,
                         const double p[3], const double *v, double sign, double u[3])
{
  if (body < 0) return;
  const int dim = model->dim;
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double r[3] = { 0 }, s[3] = { 0 }, turn[3];
  for (int i = 0; i < dim; i++) r[i] = p[i] - pose->x[i];
  perp_turn_back(dim, pose->R, r, s);
  perp_direction_rate(dim, pose->R, s, vb + dim, turn);
  for (int i = 0; i < dim; i++) u[i] += sign * (vb[i] + turn[i]);
}

void perp_events_velocity_at(const perp_model *model, const perp_pose *pose_a,
                             const perp_pose *pose_b, const perp_contact *x, const double *v,
                             double u[3])
{
  double p[3];
  perp_contact_middle(x, p);
  u[0] = u[1] = u[2] = 0;
  add_velocity(model, pose_a, x->body[0], p, v, -1, u);
  add_velocity(model, pose_b, x->body[1], p, v, 1, u);
}

void perp_events_velocity(const perp_model *model, const perp_eval *e, const perp_contact *x,
                          const double *v, double u[3])
{
  perp_events_velocity_at(model, &e->pose[x->body[0]], &e->pose[x->body[1]], x, v, u);
  if (model->belts) perp_belts_velocity(model, e, x, e->t, u);
}

double perp_events_speed(const perp_events *s, const perp_constrained *k, const perp_contact *x,
                         const double *v)
{
  double u[3];
  perp_events_velocity(s->model, k->e, x, v, u);
  return perp_dot(s->model->dim, x->n, u);
}

void perp_events_tangential(int dim, const double n[3], const double u[3], double t[3])
{
  const double along = perp_dot(dim, n, u);
  t[0] = t[1] = t[2] = 0;
  for (int i = 0; i < dim; i++) t[i] = u[i] - along * n[i];
}

perp_reason perp_events_failed(const perp_contact_count *before, const perp_contact_count *after)
{
  for (int i = 1; i < PERP_REASONS; i++)
    if (after->failed[i] > before->failed[i]) return (perp_reason)-i;
  return PERP_EXACT;
}

const char *perp_events_body(const perp_model *model, int body)
{
  const char *name = body < 0 ? "the world" : model->body_def[body].name;
  return name != NULL ? name : "a body";
}
