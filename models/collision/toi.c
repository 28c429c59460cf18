/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of impact by conservative advancement (Mirtich 1996).
 *
 * Let n be the unit normal of the closest points at s, d the distance there.  The separation of
 * two convex shapes along the fixed direction n bounds their distance from below, and in a further
 * step ds falls by at most
 *
 *      ds (n . (dx_a - dx_b) + |dtheta_a| r_a + |dtheta_b| r_b)
 *
 * for the displacements dx, rotation vectors dtheta of the whole motion, and r the largest
 * distance of a point of the shape from the centre of mass of its body.  So s may advance by (d -
 * target) over the bracket, and when the bracket is not positive the shapes never come nearer.  A
 * half-space that turns has no radius: seen from it the other shape moves, at a lever of its
 * distance.  The normal of a surface of triangles bounds nothing beyond its triangle: each one on
 * the way is asked. */
#include "models/collision/piece.h"

#include <string.h>

enum { STEPS_MAX = 1000 };
static const double NEAR_ENOUGH = 1e-10; /* of the size of the smaller shape */

/* Motion of one body. */
typedef struct motion {
  int dim;
  const double *q0, *q1; /* NULL: the world */
  double dx[3], dtheta[3], turn;
} motion;

static void motion_set(motion *m, int dim, const double *q0, const double *q1)
{
  *m = (motion){ .dim = dim, .q0 = q0, .q1 = q1 };
  if (q0 == NULL) return;
  for (int i = 0; i < dim; i++) m->dx[i] = q1[i] - q0[i];
  if (dim == 2)
    m->dtheta[2] = q1[2] - q0[2];
  else
    perp_quat_difference(q0 + 3, q1 + 3, m->dtheta);
  m->turn = perp_norm(m->dtheta);
}

static void toi_motion_at(const motion *m, double s, perp_pose *pose)
{
  double q[7], dtheta[3];
  *pose = (perp_pose){ 0 };
  if (m->q0 == NULL) {
    for (int i = 0; i < m->dim; i++) pose->R[i + m->dim * i] = 1;
    return;
  }
  for (int i = 0; i < m->dim; i++) q[i] = m->q0[i] + s * m->dx[i];
  if (m->dim == 2) {
    q[2] = m->q0[2] + s * m->dtheta[2];
  } else {
    for (int i = 0; i < 3; i++) dtheta[i] = s * m->dtheta[i];
    perp_quat_retract(m->q0 + 3, dtheta, q + 3);
  }
  perp_pose_of(m->dim, q, pose);
}

/* bound on the speed at which the shapes approach along n, per unit of s; lever: largest distance
 * of the bodies on the way */
static double toi_closing(const perp_shape *a, const motion *ma, const perp_shape *b,
                          const motion *mb, const double n[3], double lever)
{
  double along = 0, all = 0;
  for (int i = 0; i < 3; i++) {
    double d = ma->dx[i] - mb->dx[i];
    along += n[i] * d;
    all += d * d;
  }
  bool turning_plane = (a->kind == PERP_SHAPE_PLANE && ma->turn > 0) ||
                       (b->kind == PERP_SHAPE_PLANE && mb->turn > 0);
  double speed = turning_plane ? sqrt(all) : along;
  if (ma->turn > 0) speed += ma->turn * (a->kind == PERP_SHAPE_PLANE ? lever + b->reach : a->reach);
  if (mb->turn > 0) speed += mb->turn * (b->kind == PERP_SHAPE_PLANE ? lever + a->reach : b->reach);
  return speed;
}

/* |x_b - x_a| is convex in s: largest at an end */
static double largest_lever(const motion *ma, const motion *mb)
{
  double largest = 0;
  for (int end = 0; end < 2; end++) {
    double d[3] = { 0 };
    for (int i = 0; i < ma->dim; i++) {
      const double *qa = end == 0 ? ma->q0 : ma->q1, *qb = end == 0 ? mb->q0 : mb->q1;
      d[i] = (qb == NULL ? 0 : qb[i]) - (qa == NULL ? 0 : qa[i]);
    }
    largest = fmax(largest, perp_norm(d));
  }
  return largest;
}

/* Earliest s from the distances of a convex pair that `ask` gives; 1 and *hit false: it stays
 * above. */
typedef double distance_fn(const void *user, const perp_pose *pa, const perp_pose *pb, double n[3]);

static double toi_advance(distance_fn *ask, const void *user, const perp_shape *a, const motion *ma,
                          const perp_shape *b, const motion *mb, double target, bool *hit)
{
  const double lever = largest_lever(ma, mb), near = NEAR_ENOUGH * fmin(a->bound, b->bound);
  double s = 0;
  *hit = true;
  for (int k = 0; k < STEPS_MAX; k++) {
    perp_pose pa, pb;
    double n[3] = { 0 };
    toi_motion_at(ma, s, &pa);
    toi_motion_at(mb, s, &pb);
    const double d = ask(user, &pa, &pb, n);
    if (d <= target + near) return s;
    double speed = toi_closing(a, ma, b, mb, n, lever);
    if (!(speed > 0) || s + (d - target) / speed >= 1) break;
    s += (d - target) / speed;
    if (k == STEPS_MAX - 1) return s;
  }
  *hit = false;
  return 1;
}

/* ---- two convex shapes ---- */

struct shape_pair {
  const perp_model *model;
  int a, b;
};

static double toi_of_shapes(const void *user, const perp_pose *pa, const perp_pose *pb, double n[3])
{
  const struct shape_pair *pair = user;
  return perp_shape_distance(pair->model, pair->a, pa, pair->b, pb, NULL, NULL, n);
}

/* ---- a surface: each of its pieces on the way is convex ---- */

struct toi_surface {
  const perp_shape *shape, *surface;
  const motion *moving, *still;
  double target, first;
  bool hit;
};

struct piece_pair {
  const perp_shape *shape;
  const perp_piece *piece;
};

static double toi_of_piece(const void *user, const perp_pose *pa, const perp_pose *pb, double n[3])
{
  const struct piece_pair *pair = user;
  perp_touch touch[PERP_MANIFOLD_CONVEX];
  bool flip;
  perp_pair_fn *fn = perp_pair_with_piece(pair->shape->kind, &flip);
  touch[0] = (perp_touch){ .gap = HUGE_VAL };
  if (fn == NULL) return HUGE_VAL;
  if (flip)
    fn(&pair->piece->shape, pb, pair->shape, pa, HUGE_VAL, touch);
  else
    fn(pair->shape, pa, &pair->piece->shape, pb, HUGE_VAL, touch);
  for (int i = 0; i < 3; i++) n[i] = flip ? -touch[0].n[i] : touch[0].n[i];
  return touch[0].gap;
}

static bool toi_visit(void *user, int triangle)
{
  struct toi_surface *surface = user;
  perp_piece piece;
  bool hit;
  perp_piece_set(&piece, surface->surface->mesh, triangle);
  const struct piece_pair pair = { surface->shape, &piece };
  const double s = toi_advance(toi_of_piece, &pair, surface->shape, surface->moving, &piece.shape,
                               surface->still, surface->target, &hit);
  if (hit && (!surface->hit || s < surface->first)) surface->first = s, surface->hit = true;
  return !(surface->hit && surface->first <= 0);
}

static double toi_on_surface(const perp_shape *shape, const motion *moving,
                             const perp_shape *surface, const motion *still, double target,
                             bool *hit)
{
  struct toi_surface toi_surface = { shape, surface, moving, still, target, 1, false };
  double lo[3], hi[3];
  for (int i = 0; i < 3; i++) { /* the shape stays in a ball around the centre of its body */
    const double x = moving->q0 != NULL ? moving->q0[i] : 0, y = x + moving->dx[i],
                 by = shape->reach + fmax(target, 0);
    lo[i] = fmin(x, y) - by;
    hi[i] = fmax(x, y) + by;
  }
  perp_mesh_near(surface->mesh, lo, hi, toi_visit, &toi_surface);
  *hit = toi_surface.hit;
  return toi_surface.first;
}

double perp_time_of_impact(const perp_model *model, int shape_a, const double *qa0,
                           const double *qa1, int shape_b, const double *qb0, const double *qb1,
                           double target, bool *hit)
{
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  motion ma, mb;
  motion_set(&ma, model->dim, qa0, qa1);
  motion_set(&mb, model->dim, qb0, qb1);
  if (b->mesh != NULL) return toi_on_surface(a, &ma, b, &mb, target, hit);
  if (a->mesh != NULL) return toi_on_surface(b, &mb, a, &ma, target, hit);
  const struct shape_pair pair = { model, shape_a, shape_b };
  return toi_advance(toi_of_shapes, &pair, a, &ma, b, &mb, target, hit);
}
