/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that move so far in a step that they may pass through others unseen. */
#include "models/collision/broad.h"

#include <math.h>

/* Half of the least width: what moves by no more than that overlaps, at the start of the motion or
 * at its end, with whatever it passes through. */
static double sweep_inner(const perp_shape *shape)
{
  double least = shape->radius;
  switch (shape->kind) {
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_ELLIPSOID:
    least = shape->half[0];
    for (int i = 1; i < shape->dim; i++) least = fmin(least, shape->half[i]);
    break;
  case PERP_SHAPE_CYLINDER:
    least = fmin(shape->radius, shape->top);
    break;
  case PERP_SHAPE_CONE: /* what a small ball in it reaches */
    least = shape->radius * (shape->top + shape->bottom) /
            (shape->radius + hypot(shape->radius, shape->top + shape->bottom));
    break;
  case PERP_SHAPE_POLYTOPE:
    least = shape->bound;
    for (int f = 0; f < shape->hull->n_faces; f++)
      least = fmin(least, shape->hull->d[f] - perp_dot(3, shape->hull->n + 3 * f, shape->c));
    break;
  default:
    break;
  }
  return fmax(least, 0);
}

/* m, the longest way of a point of the shape */
static double sweep_way(const perp_model *model, const perp_shape *shape, const double *q0,
                        const double *q1)
{
  if (shape->body < 0 || shape->kind == PERP_SHAPE_PLANE) return 0;
  const double *a = q0 + (size_t)model->nqb * (size_t)shape->body,
               *b = q1 + (size_t)model->nqb * (size_t)shape->body;
  double d[3] = { 0 }, turn[3] = { 0 };
  for (int i = 0; i < model->dim; i++) d[i] = b[i] - a[i];
  if (model->dim == 3)
    perp_quat_difference(a + 3, b + 3, turn);
  else
    turn[2] = b[2] - a[2];
  return perp_norm(d) + perp_norm(turn) * shape->reach;
}

/* Do spheres around the bodies meet on the way? */
static bool sweep_within(const perp_model *model, const perp_shape *a, const perp_shape *b,
                         const double *q0, double ways)
{
  double d[3] = { 0 };
  for (int i = 0; i < model->dim; i++) {
    if (a->body >= 0) d[i] -= q0[model->nqb * a->body + i];
    if (b->body >= 0) d[i] += q0[model->nqb * b->body + i];
  }
  return perp_norm(d) <= a->reach + b->reach + ways;
}

bool perp_broad_crosses(const perp_broad *broad, const double *q0, const double *q1, double target,
                        perp_pair_filter *skip, void *user)
{
  const perp_model *model = broad->model;
  for (int i = 0; i < model->n_shapes; i++) {
    const perp_shape *a = &model->shape[i];
    const double far = sweep_way(model, a, q0, q1);
    if (!(far > sweep_inner(a)) || a->body < 0 || a->kind == PERP_SHAPE_PLANE) continue;
    for (int j = 0; j < model->n_shapes; j++) {
      const perp_shape *b = &model->shape[j];
      bool hit;
      if (b->kind == PERP_SHAPE_PLANE || b->body == a->body || !perp_broad_may_touch(broad, i, j) ||
          !sweep_within(model, a, b, q0, far + sweep_way(model, b, q0, q1)) ||
          skip(user, i < j ? i : j, i < j ? j : i))
        continue;
      const double *qb = b->body >= 0 ? q0 + (size_t)model->nqb * (size_t)b->body : NULL;
      const double *qb1 = b->body >= 0 ? q1 + (size_t)model->nqb * (size_t)b->body : NULL;
      perp_time_of_impact(model, i, q0 + (size_t)model->nqb * (size_t)a->body,
                          q1 + (size_t)model->nqb * (size_t)a->body, j, qb, qb1, target, &hit);
      if (hit) return true;
    }
  }
  return false;
}
