/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Support functions of the cores, and of the smooth pieces they are made of. */
#include "models/geometry/convex.h"

#include <string.h>

/* of |d|: below that a direction is that of the axis of a circle */
static const double ON_AXIS = 1e-14;
static const double END = 1e-15; /* rad: a direction that is that of a flat end */

/* y = E E^T d; returns |E^T d| */
static double convex_stretch(const perp_convex *convex, const double d[3], double y[3])
{
  double m[3];
  perp_turn_back(3, convex->E, d, m);
  perp_turn(3, convex->E, m, y);
  return perp_norm(m);
}

void perp_convex_set(perp_convex *convex, const perp_shape *shape, const perp_pose *pose,
                     const double origin[3])
{
  double centre[3];
  *convex = (perp_convex){ .kind = PERP_CONVEX_POINT, .hull = shape->hull, .size = shape->bound };
  perp_place(pose, shape->c, centre);
  perp_sub(centre, origin, convex->c);
  switch (shape->kind) {
  case PERP_SHAPE_SPHERE:
    convex->radius = shape->radius;
    break;
  case PERP_SHAPE_CAPSULE:
    convex->kind = PERP_CONVEX_SEGMENT;
    convex->radius = shape->radius;
    convex->top = convex->bottom = perp_norm(shape->axis);
    perp_turn(3, pose->R, shape->axis, convex->u);
    for (int i = 0; i < 3; i++) convex->u[i] /= convex->top;
    break;
  case PERP_SHAPE_ELLIPSOID:
    convex->kind = PERP_CONVEX_ELLIPSOID;
    for (int k = 0; k < 3; k++) {
      double axis[3];
      perp_turn(3, pose->R, shape->R + 3 * k, axis);
      for (int i = 0; i < 3; i++) convex->E[i + 3 * k] = shape->half[k] * axis[i];
    }
    break;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    convex->kind = shape->kind == PERP_SHAPE_CYLINDER ? PERP_CONVEX_CYLINDER : PERP_CONVEX_CONE;
    convex->rim = shape->radius;
    convex->top = shape->top;
    convex->bottom = shape->bottom;
    perp_turn(3, pose->R, shape->axis, convex->u);
    for (int k = 0; k < 2; k++) perp_turn(3, pose->R, shape->R + 3 * (k + 1), convex->across[k]);
    break;
  default:
    convex->kind = PERP_CONVEX_HULL;
    memcpy(convex->R, pose->R, sizeof convex->R);
    perp_sub(pose->x, origin, convex->x);
    break;
  }
}

/* perp_convex_across, with du, the part along the axis */
static inline double convex_off_axis(const perp_convex *convex, double du, const double d[3],
                                     double e[3])
{
  perp_along(d, -du, convex->u, e);
  const double ee = perp_dot(3, e, e);
  if (ee > 0.25 * du * du) return sqrt(ee);
  perp_along(e, -perp_dot(3, e, convex->u), convex->u, e);
  return perp_norm(e);
}

double perp_convex_across(const perp_convex *convex, const double d[3], double e[3])
{
  return convex_off_axis(convex, perp_dot(3, d, convex->u), d, e);
}

double perp_convex_outward(const perp_convex *convex, const double d[3], double e[3])
{
  const double len = perp_convex_across(convex, d, e);
  const bool off_axis = len > 1e-15 * perp_norm(d);
  for (int i = 0; i < 3; i++) e[i] = off_axis ? e[i] / len : convex->across[0][i];
  return len;
}

/* s = centre of a circle + its radius times the part of d that is square to the axis, e, of length
 * len; du: the part along it */
static void convex_on_rim(const perp_convex *convex, double along, double du, const double e[3],
                          double len, double s[3])
{
  perp_along(convex->c, along, convex->u, s);
  if (len > ON_AXIS * fabs(du)) perp_along(s, convex->rim / len, e, s);
}

int perp_convex_support(const perp_convex *convex, const double d[3], double s[3])
{
  const double du = perp_dot(3, d, convex->u);
  double e[3], len;
  switch (convex->kind) {
  case PERP_CONVEX_POINT:
    memcpy(s, convex->c, 3 * sizeof *s);
    return 0;
  case PERP_CONVEX_SEGMENT:
    perp_along(convex->c, du < 0 ? -convex->bottom : convex->top, convex->u, s);
    return du < 0;
  case PERP_CONVEX_CYLINDER:
    len = convex_off_axis(convex, du, d, e);
    convex_on_rim(convex, du < 0 ? -convex->bottom : convex->top, du, e, len, s);
    return du < 0;
  case PERP_CONVEX_CONE: {
    len = convex_off_axis(convex, du, d, e);
    const bool base = convex->rim * len > (convex->top + convex->bottom) * du;
    if (base)
      convex_on_rim(convex, -convex->bottom, du, e, len, s);
    else
      perp_along(convex->c, convex->top, convex->u, s);
    return base;
  }
  case PERP_CONVEX_ELLIPSOID: {
    double y[3];
    len = convex_stretch(convex, d, y);
    perp_along(convex->c, 1 / len, y, s);
    return 0;
  }
  case PERP_CONVEX_HULL:
    break;
  }
  double m[3], high = -HUGE_VAL;
  int top = 0;
  perp_turn_back(3, convex->R, d, m);
  if (convex->hull->n_vertices > PERP_HULL_SMALL) top = perp_hull_support(convex->hull, m, -1);
  for (int i = 0; i < convex->hull->n_vertices && convex->hull->n_vertices <= PERP_HULL_SMALL;
       i++) {
    const double x = perp_dot(3, m, convex->hull->v + 3 * i);
    if (x > high) high = x, top = i;
  }
  perp_turn(3, convex->R, convex->hull->v + 3 * top, s);
  for (int i = 0; i < 3; i++) s[i] += convex->x[i];
  return top;
}

double perp_convex_value(const perp_convex *convex, const double d[3])
{
  double s[3];
  if (convex->kind == PERP_CONVEX_CYLINDER || convex->kind == PERP_CONVEX_CONE) {
    const double du = perp_dot(3, d, convex->u), dd = perp_dot(3, d, d),
                 middle = perp_dot(3, d, convex->c);
    /* the part square to the axis, without its direction where it is not small */
    const double ee = dd - du * du,
                 out = convex->rim *
                       (ee > 0.25 * dd ? sqrt(ee) : convex_off_axis(convex, du, d, s));
    if (convex->kind == PERP_CONVEX_CONE)
      return middle + fmax(out - convex->bottom * du, convex->top * du);
    return middle + (out + (du < 0 ? -convex->bottom : convex->top) * du);
  }
  perp_convex_support(convex, d, s);
  return perp_dot(3, s, d);
}

double perp_convex_gap(const perp_convex *a, const perp_convex *b, const double d[3])
{
  const double back[3] = { -d[0], -d[1], -d[2] };
  return perp_convex_value(a, d) + perp_convex_value(b, back);
}

void perp_convex_vertex_at(const perp_convex *a, const perp_convex *b, const double d[3],
                           perp_convex_vertex *vertex)
{
  const double back[3] = { -d[0], -d[1], -d[2] };
  vertex->ia = perp_convex_support(a, d, vertex->a);
  vertex->ib = perp_convex_support(b, back, vertex->b);
  perp_sub(vertex->a, vertex->b, vertex->w);
}

/* ---- pieces ---- */

static void convex_circle(const perp_convex *convex, double along, const double d[3],
                          perp_convex_piece *piece)
{
  double e[3];
  const double du = perp_dot(3, d, convex->u), len = convex_off_axis(convex, du, d, e);
  convex_on_rim(convex, along, du, e, len, piece->grad);
  if (!(len > ON_AXIS)) return;
  const double bend = convex->rim / len, f[3] = { e[0] / len, e[1] / len, e[2] / len };
  for (int j = 0; j < 3; j++)
    for (int i = 0; i <= j; i++)
      piece->H[i + 3 * j] = piece->H[j + 3 * i] = bend * ((i == j) - convex->u[i] * convex->u[j] -
                                                          f[i] * f[j]);
}

void perp_convex_piece_at(const perp_convex *convex, int piece, const double d[3],
                          perp_convex_piece *convex_piece)
{
  *convex_piece = (perp_convex_piece){ 0 };
  switch (convex->kind) {
  case PERP_CONVEX_POINT:
    memcpy(convex_piece->grad, convex->c, sizeof convex_piece->grad);
    break;
  case PERP_CONVEX_SEGMENT:
    perp_along(convex->c, piece == 0 ? convex->top : -convex->bottom, convex->u,
               convex_piece->grad);
    break;
  case PERP_CONVEX_CYLINDER:
    convex_circle(convex, piece == 0 ? convex->top : -convex->bottom, d, convex_piece);
    break;
  case PERP_CONVEX_CONE:
    if (piece == 0)
      perp_along(convex->c, convex->top, convex->u, convex_piece->grad);
    else
      convex_circle(convex, -convex->bottom, d, convex_piece);
    break;
  case PERP_CONVEX_ELLIPSOID: {
    double y[3];
    const double len = convex_stretch(convex, d, y);
    perp_along(convex->c, 1 / len, y, convex_piece->grad);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double m = 0;
        for (int k = 0; k < 3; k++) m += convex->E[i + 3 * k] * convex->E[j + 3 * k];
        convex_piece->H[i + 3 * j] = (m - y[i] / len * (y[j] / len)) / len;
      }
    break;
  }
  case PERP_CONVEX_HULL:
    perp_turn(3, convex->R, convex->hull->v + 3 * piece, convex_piece->grad);
    for (int i = 0; i < 3; i++) convex_piece->grad[i] += convex->x[i];
    break;
  }
  convex_piece->value = perp_dot(3, convex_piece->grad, d);
}

/* ---- flat ends ---- */

void perp_convex_ask(const perp_convex *a, const perp_convex *b, const double d[3], double slack,
                     perp_convex_best *best)
{
  const double h = perp_convex_gap(a, b, d);
  if (!(h < best->h + slack)) return;
  *best = perp_convex_candidate(d, h);
}

/* The flat end of `of`, sign 1: a, -1: b, whose outward normal is best->d up to rounding, if there
 * is one.  Where the point of the other body that is nearest to it lies over it, both are on one
 * line along it, and h rises from there to all sides. */
static bool convex_end(const perp_convex *of, const perp_convex *other, double sign,
                       perp_convex_best *best)
{
  if (of->kind != PERP_CONVEX_CYLINDER && of->kind != PERP_CONVEX_CONE) return false;
  double e[3], d[3], back[3], o[3], y[3], z[3], r[3];
  perp_cross(of->u, best->d, e);
  const double side = sign * perp_dot(3, of->u, best->d) < 0 ? -1 : 1;
  if (perp_norm(e) > END || (of->kind == PERP_CONVEX_CONE && side > 0)) return false; /* the apex */
  for (int i = 0; i < 3; i++) d[i] = side * of->u[i], back[i] = -d[i];
  perp_convex_support(other, back, y);
  perp_along(of->c, side > 0 ? of->top : -of->bottom, of->u, o);
  perp_sub(y, o, r);
  const double gap = perp_dot(3, d, r);
  perp_along(y, -gap, d, z);
  perp_sub(z, o, r);
  if (!(perp_norm(r) < of->rim)) return false;
  *best = perp_convex_candidate(d, -gap);
  for (int i = 0; i < 3; i++) best->d[i] *= sign;
  memcpy(sign > 0 ? best->a : best->b, z, sizeof z);
  memcpy(sign > 0 ? best->b : best->a, y, sizeof y);
  best->off = 0;
  best->exact = true;
  return true;
}

bool perp_convex_on_end(const perp_convex *a, const perp_convex *b, perp_convex_best *best)
{
  return convex_end(a, b, 1, best) || convex_end(b, a, -1, best);
}

static void convex_ask_ends(const perp_convex *a, const perp_convex *b, const perp_convex *of,
                            double slack, perp_convex_best *best)
{
  if (of->kind != PERP_CONVEX_CYLINDER && of->kind != PERP_CONVEX_CONE) return;
  for (int side = -1; side <= 1; side += 2) {
    const double d[3] = { side * of->u[0], side * of->u[1], side * of->u[2] };
    perp_convex_ask(a, b, d, slack, best);
  }
}

void perp_convex_ends(const perp_convex *a, const perp_convex *b, double slack,
                      perp_convex_best *best)
{
  convex_ask_ends(a, b, a, slack, best);
  convex_ask_ends(a, b, b, slack, best);
}
