/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/collision/overlap.h"

#include "models/collision/pairs.h"

#include <string.h>

/* A half space: m . x < height, m unit. */
typedef struct half_space {
  double m[3], height;
} half_space;

static double overlap_over(const half_space *space, const double x[3])
{
  return perp_dot(3, space->m, x) - space->height;
}

/* ---- spheres ---- */

/* Of a ball of radius r the part beyond a plane at a depth d in it; *area: of the section. */
static double overlap_cap(int dim, double r, double d, double *area)
{
  *area = 0;
  if (d <= 0) return 0;
  if (d >= 2 * r) return dim == 3 ? 4 * M_PI / 3 * r * r * r : M_PI * r * r;
  const double chord = d * (2 * r - d); /* square of half of it */
  *area = dim == 3 ? M_PI * chord : 2 * sqrt(chord);
  if (dim == 3) return M_PI / 3 * d * d * (3 * r - d);
  return r * r * 2 * asin(sqrt(d / (2 * r))) - (r - d) * sqrt(chord);
}

static void overlap_balls(int dim, const double x[3], double ra, const double y[3], double rb,
                          perp_overlap *overlap)
{
  double u[3], area;
  perp_sub(y, x, u);
  const double d = perp_norm(u), depth = ra + rb - d, least = fmin(ra, rb);
  if (!(depth > 0)) return;
  if (d <= fabs(ra - rb)) {
    overlap->volume = overlap_cap(dim, least, 2 * least, &area);
    return;
  }
  const double a = (d * d + ra * ra - rb * rb) / (2 * d); /* from x to the section */
  for (int i = 0; i < 3; i++) overlap->n[i] = u[i] / d;
  perp_along(x, a, overlap->n, overlap->p);
  /* depths of the section in both, without the difference of large numbers */
  const double in_a = depth * (depth + 2 * (d - ra)) / (2 * d), in_b = depth - in_a;
  overlap->volume = overlap_cap(dim, ra, in_a, &overlap->area) + overlap_cap(dim, rb, in_b, &area);
}

static void overlap_ball(int dim, const double x[3], double r, const half_space *space,
                         perp_overlap *overlap)
{
  const double over = overlap_over(space, x);
  overlap->volume = overlap_cap(dim, r, r - over, &overlap->area);
  perp_along(x, -over, space->m, overlap->p);
}

/* The image of the unit ball under x -> centre + R diag(half) x. */
static void overlap_ellipsoid(const perp_shape *shape, const perp_pose *pose,
                              const half_space *space, perp_overlap *overlap)
{
  double c[3], body[3], own[3], w[3], across[3];
  perp_place(pose, shape->c, c);
  perp_turn_back(3, pose->R, space->m, body);
  perp_turn_back(3, shape->R, body, own);
  for (int i = 0; i < 3; i++) own[i] *= shape->half[i];
  const double reach = perp_norm(own), over = overlap_over(space, c);
  const double scale = shape->half[0] * shape->half[1] * shape->half[2];
  overlap->volume = scale * overlap_cap(3, 1, 1 - over / reach, &overlap->area);
  overlap->area *= scale / reach;
  for (int i = 0; i < 3; i++) own[i] *= shape->half[i];
  perp_turn(3, shape->R, own, body);
  perp_turn(3, pose->R, body, w);
  for (int i = 0; i < 3; i++) across[i] = -over / (reach * reach);
  for (int i = 0; i < 3; i++) overlap->p[i] = c[i] + across[i] * w[i];
}

/* ---- polytopes ---- */

/* A corner, or in the plane a side, of a hull seen from a point on the plane that cuts it. */
typedef struct corner {
  double x[3], over;
} corner;

static void overlap_corner(const perp_hull *hull, const half_space *space, const double origin[3],
                           int vertex, corner *c)
{
  perp_sub(hull->v + 3 * vertex, origin, c->x);
  c->over = overlap_over(space, hull->v + 3 * vertex);
}

/* Where the edge from p to q meets the plane. */
static void overlap_cut(const corner *p, const corner *q, double x[3])
{
  const double t = p->over / (p->over - q->over);
  for (int i = 0; i < 3; i++) x[i] = p->x[i] + t * (q->x[i] - p->x[i]);
}

/* What a face has below the plane: volume of the cone from the origin over it; *enters, *leaves:
 * where its rim crosses. */
static double overlap_face(const perp_hull *hull, int face, const half_space *space,
                           const double origin[3], double enters[3], double leaves[3], bool *cut)
{
  const int first = hull->start[face], end = hull->start[face + 1];
  double point[3][3], volume = 0, c[3]; /* first and last corner below, and the next one */
  int n = 0;
  corner p, q;
  overlap_corner(hull, space, origin, hull->loop[end - 1], &p);
  *cut = false;
  for (int k = first; k < end; k++) {
    overlap_corner(hull, space, origin, hull->loop[k], &q);
    const bool crosses = (p.over <= 0) != (q.over <= 0);
    for (int part = crosses ? 0 : 1; part < 2; part++) {
      double *x = point[n < 2 ? n : 2];
      if (part == 1 && !(q.over <= 0)) break;
      if (part == 0) {
        overlap_cut(&p, &q, x);
        memcpy(q.over <= 0 ? enters : leaves, x, sizeof p.x);
        *cut = true;
      } else {
        memcpy(x, q.x, sizeof q.x);
      }
      if (++n < 3) continue;
      perp_cross(point[1], point[2], c);
      volume += perp_dot(3, point[0], c) / 6;
      memcpy(point[1], point[2], sizeof point[1]);
    }
    p = q;
  }
  return volume;
}

/* the same of a polygon, whose faces are its sides */
static void overlap_polygon(const perp_hull *hull, const half_space *space, perp_overlap *overlap)
{
  double origin[3], end[2][3] = { { 0 } };
  int crossings = 0;
  perp_along(hull->v, -overlap_over(space, hull->v), space->m, origin);
  for (int f = 0; f < hull->n_faces; f++) {
    corner p, q;
    overlap_corner(hull, space, origin, hull->loop[hull->start[f]], &p);
    overlap_corner(hull, space, origin, hull->loop[hull->start[f] + 1], &q);
    if (p.over > 0 && q.over > 0) continue;
    if ((p.over <= 0) != (q.over <= 0)) {
      double *x = p.over > 0 ? p.x : q.x;
      double cut[3];
      overlap_cut(&p, &q, cut);
      memcpy(x, cut, sizeof cut);
      if (crossings < 2) memcpy(end[crossings++], cut, sizeof cut);
    }
    overlap->volume += (p.x[0] * q.x[1] - p.x[1] * q.x[0]) / 2;
  }
  double along[3];
  perp_sub(end[1], end[0], along);
  overlap->volume = fmax(overlap->volume, 0);
  overlap->area = crossings == 2 ? perp_norm(along) : 0;
  for (int i = 0; i < 3; i++) overlap->p[i] = origin[i] + (end[0][i] + end[1][i]) / 2;
}

static void overlap_hull(const perp_shape *shape, const perp_pose *pose, const half_space *space,
                         perp_overlap *overlap)
{
  half_space own;
  double p[3];
  perp_turn_back(3, pose->R, space->m, own.m);
  own.height = space->height - perp_dot(3, space->m, pose->x);
  if (shape->hull->dim == 2)
    overlap_polygon(shape->hull, &own, overlap);
  else {
    /* in the frame of the hull */
    const perp_hull *hull = shape->hull;
    double origin[3], sum[3] = { 0 };
    perp_along(hull->v, -overlap_over(&own, hull->v), own.m, origin);
    for (int f = 0; f < hull->n_faces; f++) {
      double enters[3], leaves[3], c[3];
      bool cut;
      overlap->volume += overlap_face(hull, f, &own, origin, enters, leaves, &cut);
      if (!cut) continue;
      /* the section runs the other way round than the faces below it */
      perp_cross(enters, leaves, c);
      const double part = perp_dot(3, own.m, c) / 2;
      overlap->area += part;
      for (int i = 0; i < 3; i++) sum[i] += part * (enters[i] + leaves[i]) / 3;
    }
    overlap->volume = fmax(overlap->volume, 0);
    overlap->area = fmax(overlap->area, 0);
    for (int i = 0; i < 3; i++)
      overlap->p[i] = origin[i] + (overlap->area > 0 ? sum[i] / overlap->area : 0);
  }
  memcpy(p, overlap->p, sizeof p);
  perp_place(pose, p, overlap->p);
}

/* ---- pairs ---- */

bool perp_overlap_serves(const perp_model *model, int shape_a, int shape_b)
{
  perp_shape_kind a = model->shape[shape_a].kind, b = model->shape[shape_b].kind;
  if (a == PERP_SHAPE_PLANE) a = b, b = PERP_SHAPE_PLANE;
  if (b != PERP_SHAPE_PLANE) return a == PERP_SHAPE_SPHERE && b == PERP_SHAPE_SPHERE;
  return a == PERP_SHAPE_SPHERE || a == PERP_SHAPE_BOX || a == PERP_SHAPE_POLYTOPE ||
         a == PERP_SHAPE_ELLIPSOID;
}

void perp_overlap_of(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                     const perp_pose *pose_b, perp_overlap *out)
{
  const perp_shape *a = &model->shape[shape_a], *b = &model->shape[shape_b];
  perp_pose pa, pb;
  double x[3];
  *out = (perp_overlap){ 0 };
  perp_lift(model->dim, pose_a, &pa);
  perp_lift(model->dim, pose_b, &pb);
  if (a->kind == PERP_SHAPE_SPHERE && b->kind == PERP_SHAPE_SPHERE) {
    double y[3];
    perp_place(&pa, a->c, x);
    perp_place(&pb, b->c, y);
    overlap_balls(model->dim, x, a->radius, y, b->radius, out);
    return;
  }
  const bool first = a->kind == PERP_SHAPE_PLANE;
  const perp_shape *plane = first ? a : b, *body = first ? b : a;
  const perp_pose *below = first ? &pa : &pb, *above = first ? &pb : &pa;
  half_space space;
  perp_turn(3, below->R, plane->axis, space.m);
  perp_place(below, plane->c, x);
  space.height = perp_dot(3, space.m, x);
  if (body->kind == PERP_SHAPE_SPHERE) {
    perp_place(above, body->c, x);
    overlap_ball(model->dim, x, body->radius, &space, out);
  } else if (body->kind == PERP_SHAPE_ELLIPSOID) {
    overlap_ellipsoid(body, above, &space, out);
  } else {
    overlap_hull(body, above, &space, out);
  }
  for (int i = 0; i < 3; i++) out->n[i] = first ? space.m[i] : -space.m[i];
}
