/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jdot v of a contact that rests or slides.
 *
 * J_n v is the rate of the gap and J v the velocity of the material points that touch, both as
 * functions of q: Jdot v is their derivative along the motion.  It is taken numerically, by central
 * differences of the contact that collision detection finds (two step lengths, extrapolated: error
 * of order 4), which has the curvature of all shapes in it, and costs four narrow-phase calls for
 * each contact that turns or slides. */
#include "models/formulations/acceleration/events_private.h"

#include <string.h>

static const double STRIDE = 1e-4; /* of the smaller body, of the displacement in a difference */

/* pose of a body after the time d of the motion v, without the common velocity `shift` */
static void events_rate_displaced(const perp_model *model, const perp_eval *e, int body,
                                  const double *q, const double *v, const double shift[3], double d,
                                  perp_pose *pose)
{
  if (body < 0) {
    *pose = e->pose[PERP_WORLD];
    return;
  }
  const double *qb = q + (size_t)model->nqb * (size_t)body;
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double moved[7];
  for (int i = 0; i < model->dim; i++) moved[i] = qb[i] + d * (vb[i] - shift[i]);
  if (model->dim == 3) {
    const double turn[3] = { d * vb[3], d * vb[4], d * vb[5] };
    perp_quat_retract(qb + 3, turn, moved + 3);
  } else {
    moved[2] = qb[2] + d * vb[2];
  }
  perp_pose_of(model->dim, moved, pose);
}

/* relative velocity u and its normal part at the displaced contact; false: it is not there */
static bool events_rate_probe(const perp_events *s, const perp_eval *e, const perp_contact *x,
                              const double *q, const double *v, const double shift[3], double d,
                              double u[3], double *normal)
{
  const perp_model *model = s->model;
  perp_contact list[PERP_MANIFOLD_MAX];
  perp_pose a, b;
  events_rate_displaced(model, e, x->body[0], q, v, shift, d, &a);
  events_rate_displaced(model, e, x->body[1], q, v, shift, d, &b);
  const int n = perp_collide(model, x->shape[0], &a, x->shape[1], &b, s->margin, list);
  for (int i = 0; i < n; i++) {
    if (list[i].id != x->id) continue;
    perp_events_velocity_at(model, &a, &b, &list[i], v, u);
    *normal = perp_dot(model->dim, list[i].n, u);
    return true;
  }
  return false;
}

/* central difference over +-d: derivatives of u and of its normal part */
static bool events_rate_difference(const perp_events *s, const perp_eval *e, const perp_contact *x,
                                   const double *q, const double *v, const double shift[3],
                                   double d, double u[3], double *normal)
{
  double before[3], after[3], n_before, n_after;
  if (!events_rate_probe(s, e, x, q, v, shift, -d, before, &n_before) ||
      !events_rate_probe(s, e, x, q, v, shift, d, after, &n_after))
    return false;
  for (int i = 0; i < 3; i++) u[i] = (after[i] - before[i]) / (2 * d);
  *normal = (n_after - n_before) / (2 * d);
  return true;
}

void perp_events_rate(const perp_events *s, const perp_eval *e, const perp_contact *x,
                      const double *q, const double *v, double out[3])
{
  const perp_model *model = s->model;
  const int dim = model->dim, *bodies = x->body;
  double shift[3] = { 0 }, speed = 0, size = HUGE_VAL, p[3], u[3], w[3], normal, normal2;
  out[0] = out[1] = out[2] = 0;
  perp_contact_middle(x, p);
  if (x->body[0] >= 0 && x->body[1] >= 0)
    memcpy(shift, v + (size_t)model->nvb * (size_t)x->body[0], (size_t)dim * sizeof *shift);
  for (int i = 0; i < 2; i++) {
    if (bodies[i] < 0) continue;
    const double *vb = v + (size_t)model->nvb * (size_t)bodies[i];
    const double *centre = e->pose[bodies[i]].x;
    double line = 0, turn = 0, lever = 0;
    for (int j = 0; j < dim; j++) line += (vb[j] - shift[j]) * (vb[j] - shift[j]);
    for (int j = 0; j < dim; j++) lever += (p[j] - centre[j]) * (p[j] - centre[j]);
    for (int j = dim; j < model->nvb; j++) turn += vb[j] * vb[j];
    speed += sqrt(line) + sqrt(turn * lever);
    if (s->reach[bodies[i]] > 0) size = fmin(size, s->reach[bodies[i]]);
  }
  const double d = STRIDE * fmin(size, s->size) / speed;
  if (!(speed > 0) || !isfinite(d)) return;
  if (!events_rate_difference(s, e, x, q, v, shift, d, u, &normal)) return;
  if (events_rate_difference(s, e, x, q, v, shift, 2 * d, w, &normal2)) {
    for (int i = 0; i < 3; i++) u[i] = (4 * u[i] - w[i]) / 3;
    normal = (4 * normal - normal2) / 3;
  }
  const double along = perp_dot(dim, x->n, u);
  for (int i = 0; i < dim; i++) out[i] = u[i] + (normal - along) * x->n[i];
}
