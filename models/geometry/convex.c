/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Support functions of the cores, and of the smooth pieces they are made of. */
#include "models/geometry/convex.h"

#include <string.h>

/* of |d|: below that a direction is that of the axis of a circle */
static const double ON_AXIS = 1e-14;

/* y = E E^T d; returns |E^T d| */
static double convex_stretch(const perp_convex *c, const double d[3], double y[3])
{
  double m[3];
  perp_turn_back(3, c->E, d, m);
  perp_turn(3, c->E, m, y);
  return perp_norm(m);
}

void perp_convex_set(perp_convex *c, const perp_shape *s, const perp_pose *pose,
                     const double origin[3])
{
  double centre[3];
  *c = (perp_convex){ .kind = PERP_CONVEX_POINT, .hull = s->hull, .size = s->bound };
  perp_place(pose, s->c, centre);
  perp_sub(centre, origin, c->c);
  switch (s->kind) {
  case PERP_SHAPE_SPHERE:
    c->radius = s->radius;
    break;
  case PERP_SHAPE_CAPSULE:
    c->kind = PERP_CONVEX_SEGMENT;
    c->radius = s->radius;
    c->top = c->bottom = perp_norm(s->axis);
    perp_turn(3, pose->R, s->axis, c->u);
    for (int i = 0; i < 3; i++) c->u[i] /= c->top;
    break;
  case PERP_SHAPE_ELLIPSOID:
    c->kind = PERP_CONVEX_ELLIPSOID;
    for (int k = 0; k < 3; k++) {
      double axis[3];
      perp_turn(3, pose->R, s->R + 3 * k, axis);
      for (int i = 0; i < 3; i++) c->E[i + 3 * k] = s->half[k] * axis[i];
    }
    break;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    c->kind = s->kind == PERP_SHAPE_CYLINDER ? PERP_CONVEX_CYLINDER : PERP_CONVEX_CONE;
    c->rim = s->radius;
    c->top = s->top;
    c->bottom = s->bottom;
    perp_turn(3, pose->R, s->axis, c->u);
    for (int k = 0; k < 2; k++) perp_turn(3, pose->R, s->R + 3 * (k + 1), c->across[k]);
    break;
  default:
    c->kind = PERP_CONVEX_HULL;
    memcpy(c->R, pose->R, sizeof c->R);
    perp_sub(pose->x, origin, c->x);
    break;
  }
}

double perp_convex_across(const perp_convex *c, const double d[3], double e[3])
{
  perp_along(d, -perp_dot(3, d, c->u), c->u, e);
  perp_along(e, -perp_dot(3, e, c->u), c->u, e);
  return perp_norm(e);
}

double perp_convex_outward(const perp_convex *c, const double d[3], double e[3])
{
  const double len = perp_convex_across(c, d, e);
  const bool off_axis = len > 1e-15 * perp_norm(d);
  for (int i = 0; i < 3; i++) e[i] = off_axis ? e[i] / len : c->across[0][i];
  return len;
}

/* s = centre of a circle + its radius times the part of d that is square to the axis */
static void convex_on_rim(const perp_convex *c, double along, const double d[3], double s[3])
{
  const double du = perp_dot(3, d, c->u);
  double e[3];
  const double len = perp_convex_across(c, d, e);
  perp_along(c->c, along, c->u, s);
  if (len > ON_AXIS * fabs(du)) perp_along(s, c->rim / len, e, s);
}

int perp_convex_support(const perp_convex *c, const double d[3], double s[3])
{
  const double du = perp_dot(3, d, c->u);
  switch (c->kind) {
  case PERP_CONVEX_POINT:
    memcpy(s, c->c, 3 * sizeof *s);
    return 0;
  case PERP_CONVEX_SEGMENT:
    perp_along(c->c, du < 0 ? -c->bottom : c->top, c->u, s);
    return du < 0;
  case PERP_CONVEX_CYLINDER:
    convex_on_rim(c, du < 0 ? -c->bottom : c->top, d, s);
    return du < 0;
  case PERP_CONVEX_CONE: {
    double e[3];
    const bool base = c->rim * perp_convex_across(c, d, e) > (c->top + c->bottom) * du;
    if (base)
      convex_on_rim(c, -c->bottom, d, s);
    else
      perp_along(c->c, c->top, c->u, s);
    return base;
  }
  case PERP_CONVEX_ELLIPSOID: {
    double y[3];
    const double len = convex_stretch(c, d, y);
    perp_along(c->c, 1 / len, y, s);
    return 0;
  }
  case PERP_CONVEX_HULL:
    break;
  }
  double m[3], high = -HUGE_VAL;
  int top = 0;
  perp_turn_back(3, c->R, d, m);
  if (c->hull->n_vertices > PERP_HULL_SMALL) top = perp_hull_support(c->hull, m, -1);
  for (int i = 0; i < c->hull->n_vertices && c->hull->n_vertices <= PERP_HULL_SMALL; i++) {
    const double x = perp_dot(3, m, c->hull->v + 3 * i);
    if (x > high) high = x, top = i;
  }
  perp_turn(3, c->R, c->hull->v + 3 * top, s);
  for (int i = 0; i < 3; i++) s[i] += c->x[i];
  return top;
}

double perp_convex_value(const perp_convex *c, const double d[3])
{
  double s[3];
  perp_convex_support(c, d, s);
  return perp_dot(3, s, d);
}

double perp_convex_gap(const perp_convex *a, const perp_convex *b, const double d[3])
{
  const double back[3] = { -d[0], -d[1], -d[2] };
  return perp_convex_value(a, d) + perp_convex_value(b, back);
}

void perp_convex_vertex_at(const perp_convex *a, const perp_convex *b, const double d[3],
                           perp_convex_vertex *v)
{
  const double back[3] = { -d[0], -d[1], -d[2] };
  v->ia = perp_convex_support(a, d, v->a);
  v->ib = perp_convex_support(b, back, v->b);
  perp_sub(v->a, v->b, v->w);
}

/* ---- pieces ---- */

static void convex_circle(const perp_convex *c, double along, const double d[3],
                          perp_convex_piece *p)
{
  double e[3];
  const double len = perp_convex_across(c, d, e);
  convex_on_rim(c, along, d, p->grad);
  if (!(len > ON_AXIS)) return;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      p->H[i + 3 * j] = c->rim / len * ((i == j) - c->u[i] * c->u[j] - e[i] / len * (e[j] / len));
}

void perp_convex_piece_at(const perp_convex *c, int piece, const double d[3], perp_convex_piece *p)
{
  *p = (perp_convex_piece){ 0 };
  switch (c->kind) {
  case PERP_CONVEX_POINT:
    memcpy(p->grad, c->c, sizeof p->grad);
    break;
  case PERP_CONVEX_SEGMENT:
    perp_along(c->c, piece == 0 ? c->top : -c->bottom, c->u, p->grad);
    break;
  case PERP_CONVEX_CYLINDER:
    convex_circle(c, piece == 0 ? c->top : -c->bottom, d, p);
    break;
  case PERP_CONVEX_CONE:
    if (piece == 0)
      perp_along(c->c, c->top, c->u, p->grad);
    else
      convex_circle(c, -c->bottom, d, p);
    break;
  case PERP_CONVEX_ELLIPSOID: {
    double y[3];
    const double len = convex_stretch(c, d, y);
    perp_along(c->c, 1 / len, y, p->grad);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double m = 0;
        for (int k = 0; k < 3; k++) m += c->E[i + 3 * k] * c->E[j + 3 * k];
        p->H[i + 3 * j] = (m - y[i] / len * (y[j] / len)) / len;
      }
    break;
  }
  case PERP_CONVEX_HULL:
    perp_turn(3, c->R, c->hull->v + 3 * piece, p->grad);
    for (int i = 0; i < 3; i++) p->grad[i] += c->x[i];
    break;
  }
  p->value = perp_dot(3, p->grad, d);
}

/* ---- flat ends ---- */

void perp_convex_ask(const perp_convex *a, const perp_convex *b, const double d[3], double slack,
                     perp_convex_best *best)
{
  const double h = perp_convex_gap(a, b, d);
  if (!(h < best->h + slack)) return;
  *best = perp_convex_candidate(d, h);
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
