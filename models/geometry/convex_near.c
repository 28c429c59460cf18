/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments, cylinders and cones: features by projections, then Newton's method on them.
 *
 * The nearest point of such a core to any point is known in the half-plane of its axis.  Projected
 * from one body onto the other and back, a pair of points comes nearer to each other at every
 * projection (Cheney, Goldstein 1959), linearly; but the features on which they lie are soon those
 * of the nearest points.  Each feature is
 *
 *      a circle or a point: h(e) = o . e + rho |e - (e . u) u|,
 *      a side: normals e . u = s, on which h(e) = c . e + constant, or
 *      a flat end: one normal (perp_convex_on_end).
 *
 * A stationary direction is one of two unknowns between circles and points, one of one unknown
 * beside one side, and known between two sides.  Its points say whether the features are the right
 * ones: beyond an end of a side its circle or point takes its place, and a side that of a circle
 * whose other normals do not reach so far.
 *
 * Bodies that overlap have no nearest points.  Eroded by e_a and e_b with e_a + e_b > depth they
 * are apart along the direction d of the depth, since h_A'(d) <= h_A(d) - e_a.  The nearest points
 * of the eroded bodies are the start, and perp_convex_inscribed proves the result. */
#include "models/geometry/convex.h"

#include <string.h>

enum { ROUNDS = 12, EROSIONS = 2, STEPS = 12, CHANGES = 8, CROSSING = 5, TRIES = 3 };
static const double BEYOND = 1.05;    /* of the depth: erosion */
static const double MOST = 0.9;       /* of the inner radius */
static const double TOUCHING = 1e-9;  /* of the size: no direction can be read from such points */
static const double STRIDE = 0.5;     /* longest step, rad */
static const double PARALLEL = 1e-10; /* sine^2 between two sides */
static const double PROVED = 4e-15;   /* of all numbers: points on one line */
static const double ROUNDED = 1e-9;   /* of its radius: way on a circle that is straight */

/* Features: pieces 0 and 1 as in convex.c, or the side between them. */
enum { PIECE_0 = 0, PIECE_1 = 1, SIDE = 2, INSIDE = 3, END_0 = 4, END_1 = 5 };

static bool near_closed(const perp_convex *convex)
{
  return convex->kind == PERP_CONVEX_SEGMENT || convex->kind == PERP_CONVEX_CYLINDER ||
         convex->kind == PERP_CONVEX_CONE;
}

/* ---- projections ---- */

/* the numbers of a core that erosion changes */
typedef struct near_core {
  const perp_convex *of;
  double top, bottom, rim;
} near_core;

/* the points of a core in which a ball of radius e has room */
static near_core near_erode(const perp_convex *convex, double inner, double e)
{
  near_core core = {
    .of = convex, .top = convex->top, .bottom = convex->bottom, .rim = convex->rim
  };
  if (!(e > 0)) return core;
  core.bottom -= e;
  if (convex->kind == PERP_CONVEX_CONE) {
    const double part = 1 - e / inner; /* a smaller cone around the centre of that ball */
    core.rim *= part;
    core.top = part * (convex->top + convex->bottom) - core.bottom;
  } else {
    core.top -= e;
    core.rim -= e;
  }
  return core;
}

/* the same of a cone: z along the axis, e across it */
static int near_onto_cone(const near_core *core, const double x[3], double z, const double e[3],
                          double y[3])
{
  const perp_convex *convex = core->of;
  const double rho = perp_norm(e), high = core->top + core->bottom, up = z + core->bottom,
               in = rho - core->rim;
  double to = 0;
  int feature = PIECE_0;
  if (up < 0 && in < 0) {
    z = -core->bottom, to = rho, feature = END_1;
  } else if (up >= 0 && core->rim * up + high * in <= 0) {
    memcpy(y, x, 3 * sizeof *y);
    return INSIDE;
  } else {
    const double t = (up * high - in * core->rim) / (high * high + core->rim * core->rim);
    z = core->top;
    if (t <= 0)
      z = -core->bottom, to = core->rim, feature = PIECE_1;
    else if (t < 1)
      z = t * high - core->bottom, to = (1 - t) * core->rim, feature = SIDE;
  }
  perp_along(convex->c, z, convex->u, y);
  if (to > 0) perp_along(y, to / rho, e, y);
  return feature;
}

/* y: the nearest point of the core to x; returns its feature */
static int near_onto(const near_core *core, const double x[3], double y[3])
{
  const perp_convex *convex = core->of;
  double r[3], e[3];
  perp_sub(x, convex->c, r);
  double z = perp_dot(3, r, convex->u);
  perp_along(r, -z, convex->u, e);
  if (convex->kind == PERP_CONVEX_CONE) return near_onto_cone(core, x, z, e, y);
  const int feature = z > core->top ? PIECE_0 : z < -core->bottom ? PIECE_1 : SIDE;
  z = fmax(-core->bottom, fmin(core->top, z));
  perp_along(convex->c, z, convex->u, y);
  if (convex->kind == PERP_CONVEX_SEGMENT) return feature;
  const double ee = perp_dot(3, e, e);
  const bool within = ee <= core->rim * core->rim;
  perp_along(y, within ? 1 : core->rim / sqrt(ee), e, y);
  return !within ? feature : feature == SIDE ? INSIDE : feature + END_0;
}

/* From y on the core b on to the nearest points of the two: y, features, d from a to b; returns
 * their distance, 0: they overlap. */
static double near_apart(const near_core *a, const near_core *b, int rounds, double y[3],
                         int feature[2], double d[3])
{
  double x[3], z[3];
  for (int k = 0; k < rounds; k++) {
    const int fa = near_onto(a, y, x), fb = near_onto(b, x, z);
    const bool same = k > 0 && fa == feature[0] && fb == feature[1] && fa < END_0 && fb < END_0;
    if (fa == INSIDE || fb == INSIDE) return 0;
    feature[0] = fa, feature[1] = fb;
    memcpy(y, z, sizeof z);
    if (same) break;
  }
  perp_sub(y, x, d);
  const double len = perp_norm(d);
  for (int i = 0; i < 3; i++) d[i] /= len;
  return len;
}

/* ---- stationary directions ---- */

typedef struct near_side {
  const perp_convex *c;
  double sign; /* -1: b, whose directions are e = -d */
  int feature;
  double s;          /* e . u of the normals of the side */
  double m[3];       /* of a side: the part of e across the axis, unit */
  double p[3];       /* a circle, a point: where e is the normal */
  double bend, t[3]; /* second derivatives there: bend t t^T */
} near_side;

static void near_set(near_side *side, const perp_convex *convex, double sign, int feature)
{
  const double high = convex->top + convex->bottom;
  side->c = convex, side->sign = sign;
  side->feature = feature >= END_0 ? feature - END_0 : feature;
  side->s = convex->kind == PERP_CONVEX_CONE
                ? convex->rim / sqrt(high * high + convex->rim * convex->rim)
                : 0;
}

/* the apex, the end of a segment, or the centre of a circle */
static void near_centre(const near_side *side, double o[3])
{
  const perp_convex *convex = side->c;
  perp_along(convex->c, side->feature == PIECE_0 ? convex->top : -convex->bottom, convex->u, o);
}

/* the circle or the point at d */
static void near_piece(near_side *side, const double d[3])
{
  const perp_convex *convex = side->c;
  near_centre(side, side->p);
  side->bend = 0;
  if (convex->kind != PERP_CONVEX_CYLINDER &&
      (convex->kind != PERP_CONVEX_CONE || side->feature == PIECE_0))
    return;
  double q[3];
  side->bend = convex->rim / perp_convex_across(convex, d, q);
  perp_along(side->p, side->sign * side->bend, q, side->p);
  perp_cross(convex->u, q, side->t);
  const double unit = side->bend / convex->rim;
  for (int i = 0; i < 3; i++) side->t[i] *= unit;
}

/* m of a side and the normal d that it has, near to d */
static bool near_normal(near_side *side, double d[3])
{
  const perp_convex *convex = side->c;
  const double off = sqrt(1 - side->s * side->s);
  perp_along(d, -perp_dot(3, d, convex->u), convex->u, side->m);
  const double len = perp_norm(side->m);
  if (!(len > 0)) return false;
  for (int i = 0; i < 3; i++) {
    side->m[i] *= side->sign / len;
    d[i] = side->sign * (side->s * convex->u[i] + off * side->m[i]);
  }
  return true;
}

/* the end of a step: is it the last one? */
static bool near_last(double step, double *before)
{
  const bool last = step < 1e-15 || (step < 1e-12 && step >= 0.5 * *before);
  *before = step;
  return last;
}

/* d along the normals of a side, beside a circle or a point */
static bool near_one(near_side *side, near_side *other, double d[3])
{
  const double off = sqrt(1 - side->s * side->s);
  double before = HUGE_VAL;
  if (!near_normal(side, d)) return false;
  for (int k = 0; k < STEPS; k++) {
    double t[3], r[3];
    near_piece(other, d);
    perp_cross(side->c->u, side->m, t);
    perp_sub(side->c->c, other->p, r);
    const double turn = perp_dot(3, t, other->t), slope = perp_dot(3, t, r),
                 bend = (other->bend > 0 ? off * other->bend * turn * turn : 0) -
                        perp_dot(3, side->m, r);
    if (!(bend > 0)) return false;
    const double step = fmax(-STRIDE, fmin(STRIDE, -slope / bend));
    perp_along(side->m, step, t, side->m);
    const double len = perp_norm(side->m);
    for (int i = 0; i < 3; i++) {
      side->m[i] /= len;
      d[i] = side->sign * (side->s * side->c->u[i] + off * side->m[i]);
    }
    if (near_last(fabs(step), &before)) return true;
  }
  return false;
}

/* d between circles and points */
static bool near_two(near_side *a, near_side *b, double d[3])
{
  double before = HUGE_VAL;
  for (int k = 0; k < STEPS; k++) {
    double w[3], u[2][3], least[3] = { 0 }, Q[3] = { 0 }, g[2];
    near_piece(a, d);
    near_piece(b, d);
    perp_sub(a->p, b->p, w);
    least[fabs(d[0]) < 0.6 ? 0 : 1] = 1;
    perp_cross(d, least, u[0]);
    const double unit = 1 / perp_norm(u[0]);
    for (int i = 0; i < 3; i++) u[0][i] *= unit;
    perp_cross(d, u[0], u[1]);
    Q[0] = Q[2] = -perp_dot(3, w, d);
    for (int i = 0; i < 2; i++) g[i] = perp_dot(3, w, u[i]);
    for (int c = 0; c < 2; c++) {
      const near_side *side = c == 0 ? a : b;
      if (!(side->bend > 0)) continue;
      const double x = perp_dot(3, side->t, u[0]), y = perp_dot(3, side->t, u[1]);
      Q[0] += side->bend * x * x, Q[1] += side->bend * x * y, Q[2] += side->bend * y * y;
    }
    const double det = Q[0] * Q[2] - Q[1] * Q[1];
    if (!(det > 0) || !(Q[0] > 0)) return false;
    const double x = (Q[1] * g[1] - Q[2] * g[0]) / det, y = (Q[1] * g[0] - Q[0] * g[1]) / det,
                 len = sqrt(x * x + y * y), part = len > STRIDE ? STRIDE / len : 1;
    if (!isfinite(len)) return false;
    perp_along(d, part * x, u[0], d);
    perp_along(d, part * y, u[1], d);
    const double norm = 1 / perp_norm(d);
    for (int i = 0; i < 3; i++) d[i] *= norm;
    if (near_last(len, &before)) return true;
  }
  return false;
}

/* the normal of two sides that is nearest to d */
static bool near_none(near_side *a, near_side *b, double d[3])
{
  double n[3];
  const double k = perp_dot(3, a->c->u, b->c->u);
  perp_cross(a->c->u, b->c->u, n);
  const double nn = perp_dot(3, n, n), sa = a->sign * a->s, sb = b->sign * b->s;
  if (!(nn > PARALLEL)) return false;
  const double x = (sa - k * sb) / nn, y = (sb - k * sa) / nn, zz = (1 - (x * sa + y * sb)) / nn;
  if (!(zz > 0)) return false;
  const double z = copysign(sqrt(zz), perp_dot(3, n, d));
  for (int i = 0; i < 3; i++) d[i] = x * a->c->u[i] + y * b->c->u[i] + z * n[i];
  return near_normal(a, d) && near_normal(b, d);
}

/* the line of a side: from o, unit vector l; returns its length */
static double near_line(const near_side *side, double o[3], double l[3])
{
  const perp_convex *convex = side->c;
  const double high = convex->top + convex->bottom;
  perp_along(convex->c, -convex->bottom, convex->u, o);
  memcpy(l, convex->u, sizeof convex->u);
  if (convex->kind == PERP_CONVEX_SEGMENT) return high;
  perp_along(o, convex->rim, side->m, o);
  if (convex->kind == PERP_CONVEX_CYLINDER) return high;
  const double len = sqrt(high * high + convex->rim * convex->rim);
  for (int i = 0; i < 3; i++) l[i] = (high * convex->u[i] - convex->rim * side->m[i]) / len;
  return len;
}

/* The point of a side that is in line with the point q along d; returns how far it is beyond an
 * end, > 0: beyond the piece *end. */
static double near_beside(near_side *side, const double q[3], const double d[3], int *end)
{
  double o[3], l[3], r[3];
  const double len = near_line(side, o, l);
  perp_sub(q, o, r);
  const double t = perp_dot(3, r, l) - perp_dot(3, r, d) * perp_dot(3, l, d);
  perp_along(o, t, l, side->p);
  *end = t < 0.5 * len ? PIECE_1 : PIECE_0;
  return *end == PIECE_1 ? -t : t - len;
}

/* The rounding of d moves the point of a circle by that times its radius of curvature, which may be
 * large.  Back along the circle by the length x; true: by so little that it is there. */
static bool near_back(near_side *side, double x)
{
  const perp_convex *convex = side->c;
  perp_along(side->p, x, side->t, side->p);
  if (!(fabs(x) > ROUNDED * convex->rim)) return true;
  double o[3], r[3];
  near_centre(side, o);
  perp_sub(side->p, o, r);
  const double unit = 1 / perp_norm(r);
  perp_along(o, convex->rim * unit, r, side->p);
  perp_cross(convex->u, r, side->t);
  for (int i = 0; i < 3; i++) side->t[i] *= side->sign * unit;
  return false;
}

/* To where it crosses the plane of the axis of a side and d ... */
static void near_meet(const near_side *side, near_side *other)
{
  double t[3], r[3];
  if (!(other->bend > 0)) return;
  perp_cross(side->c->u, side->m, t);
  for (int k = 0; k < CROSSING; k++) {
    perp_sub(other->p, side->c->c, r);
    if (near_back(other, -perp_dot(3, t, r) / perp_dot(3, t, other->t))) return;
  }
}

/* ... or another circle, seen along d. */
static void near_circles(near_side *a, near_side *b, const double d[3])
{
  double r[3], n[3];
  if (!(a->bend > 0) || !(b->bend > 0)) return;
  for (int k = 0; k < CROSSING; k++) {
    perp_sub(b->p, a->p, r);
    perp_cross(b->t, d, n);
    const double x = perp_dot(3, r, n) / perp_dot(3, a->t, n);
    perp_cross(a->t, d, n);
    const double y = -perp_dot(3, r, n) / perp_dot(3, b->t, n);
    const bool there = near_back(a, x);
    if (near_back(b, y) && there) return;
  }
}

/* the points of two sides that are in line along d */
static void near_cross(near_side *a, near_side *b, const double d[3])
{
  double o[3], l[3], p[3], m[3], r[3], n[3], q[3];
  near_line(a, o, l);
  near_line(b, p, m);
  perp_cross(m, d, n);
  perp_sub(p, o, r);
  perp_along(o, perp_dot(3, r, n) / perp_dot(3, l, n), l, q);
  int end[2];
  const double beyond_b = near_beside(b, q, d, &end[1]),
               beyond_a = near_beside(a, b->p, d, &end[0]);
  if (!(fmax(beyond_a, beyond_b) > 0)) return;
  if (beyond_a > beyond_b) /* one change at a time */
    a->feature = end[0];
  else
    b->feature = end[1];
}

/* the point of a side beside a circle or a point */
static void near_along(near_side *side, near_side *other, const double d[3])
{
  int end;
  near_meet(side, other);
  if (near_beside(side, other->p, d, &end) > 0) side->feature = end;
}

/* A circle or a point whose normals do not reach e: the side is next. */
static void near_leave(near_side *side, const double d[3])
{
  const double eu = side->sign * perp_dot(3, d, side->c->u);
  if (side->feature == PIECE_0 ? eu < side->s : eu > side->s) side->feature = SIDE;
}

/* Two flat ends that are almost parallel, the normal of that of a: from d to the normal of both
 * circles where they cross seen along d, on the side where the ends are nearer. */
static void near_corner(const near_side *a, const near_side *b, double d[3])
{
  const perp_convex *ca = a->c, *cb = b->c;
  double o[3], p[3], r[3], e[3], m[3], t[3], w[3];
  near_centre(a, o);
  near_centre(b, p);
  perp_sub(p, o, r);
  perp_along(r, -perp_dot(3, r, ca->u), ca->u, r);
  const double far2 = perp_dot(3, r, r), far = sqrt(far2),
               x = (far2 + ca->rim * ca->rim - cb->rim * cb->rim) / (2 * far),
               yy = ca->rim * ca->rim - x * x;
  if (!(yy > 0)) return; /* one is over the other, or they are apart */
  for (int i = 0; i < 3; i++) e[i] = r[i] / far;
  perp_cross(ca->u, e, m);
  /* the height of the end of b over that of a falls along m where (d . u_b) (m . u_b) > 0 */
  const double side = perp_dot(3, d, cb->u) * perp_dot(3, m, cb->u) > 0 ? 1 : -1;
  for (int i = 0; i < 3; i++) r[i] = x * e[i] + side * sqrt(yy) * m[i];
  perp_cross(ca->u, r, t);
  perp_along(o, 1, r, r);
  perp_sub(r, p, r);
  perp_cross(cb->u, r, w);
  perp_cross(t, w, e);
  const double len = copysign(perp_norm(e), perp_dot(3, e, d));
  for (int i = 0; i < 3 && len != 0; i++) d[i] = e[i] / len;
}

/* From d and features to a stationary direction of h: true where *best is one, with its points. */
static bool near_solve(const perp_convex *a, const perp_convex *b, const int feature[2],
                       const double start[3], perp_convex_best *best)
{
  near_side sa, sb;
  double d[3] = { start[0], start[1], start[2] }, r[3];
  near_set(&sa, a, 1, feature[0]);
  near_set(&sb, b, -1, feature[1]);
  if (feature[0] >= END_0 && feature[1] >= END_0) near_corner(&sa, &sb, d);
  for (int k = 0; k < CHANGES; k++) {
    const int fa = sa.feature, fb = sb.feature;
    const bool solved = fa == SIDE && fb == SIDE ? near_none(&sa, &sb, d)
                        : fa == SIDE             ? near_one(&sa, &sb, d)
                        : fb == SIDE             ? near_one(&sb, &sa, d)
                                                 : near_two(&sa, &sb, d);
    if (!solved) {
      if (fa != SIDE || fb != SIDE) return false;
      sb.feature = PIECE_1; /* no common normal */
      continue;
    }
    if (fa == SIDE && fb == SIDE) {
      near_cross(&sa, &sb, d);
    } else if (fa != SIDE && fb != SIDE) {
      near_circles(&sa, &sb, d);
    } else {
      if (fa == SIDE) near_along(&sa, &sb, d);
      if (fb == SIDE) near_along(&sb, &sa, d);
    }
    if (fa != SIDE) near_leave(&sa, d);
    if (fb != SIDE) near_leave(&sb, d);
    if (sa.feature != fa || sb.feature != fb) continue;
    *best = perp_convex_candidate(d, perp_convex_gap(a, b, d));
    memcpy(best->a, sa.p, sizeof sa.p);
    memcpy(best->b, sb.p, sizeof sb.p);
    perp_sub(best->a, best->b, r);
    perp_along(r, -best->h, d, r);
    best->off = perp_norm(r);
    best->exact = best->off <= PROVED * (a->size + b->size + fabs(best->h) + perp_norm(b->c));
    return best->exact;
  }
  return false;
}

/* The same, where a flat end may be one of them. */
static bool near_stationary(const perp_convex *a, const perp_convex *b, const int feature[2],
                            const double d[3], perp_convex_best *best)
{
  for (int k = 0; k < 2; k++) {
    if (feature[k] < END_0) continue;
    const double *u = (k == 0 ? a : b)->u, side = (feature[k] == END_0) == (k == 0) ? 1 : -1;
    *best = perp_convex_candidate((const double[3]){ side * u[0], side * u[1], side * u[2] },
                                  HUGE_VAL);
    if (perp_convex_on_end(a, b, best)) return true;
  }
  return near_solve(a, b, feature, d, best);
}

/* ---- the search ---- */

/* The same of bodies that overlap, from the nearest points of smaller ones. */
static bool near_overlap(const perp_convex *a, const perp_convex *b, double size,
                         perp_convex_best *best)
{
  static const int sides[2] = { SIDE, SIDE };
  const double inner[2] = { perp_convex_inner(a), perp_convex_inner(b) }, all = inner[0] + inner[1];
  for (int k = 0; k < EROSIONS; k++) {
    const double part = BEYOND * best->h / all;
    double y[3] = { b->c[0], b->c[1], b->c[2] }, d[3];
    int feature[2] = { 0 };
    if (!(part < MOST)) { /* so deep only sides are: needles that cross each other */
      perp_convex_best convex_best;
      if (!near_stationary(a, b, sides, best->d, &convex_best) ||
          !(convex_best.h <= best->h + PROVED * size))
        return false;
      *best = convex_best;
      return perp_convex_inscribed(a, b, best);
    }
    const near_core ca = near_erode(a, inner[0], part * inner[0]),
                    cb = near_erode(b, inner[1], part * inner[1]);
    if (!(near_apart(&ca, &cb, ROUNDS, y, feature, d) > TOUCHING * size)) return false;
    perp_convex_best convex_best;
    const bool found = near_stationary(a, b, feature, d, &convex_best);
    if (!found) convex_best = perp_convex_candidate(d, perp_convex_gap(a, b, d));
    const bool lower = convex_best.h < best->h,
               proved = found && perp_convex_inscribed(a, b, &convex_best);
    if (lower || proved) *best = convex_best;
    if (proved || !lower) return proved;
  }
  return false;
}

bool perp_convex_near(const perp_convex *a, const perp_convex *b, double size, double enough,
                      perp_convex_best *best)
{
  if (-best->h > enough) return true;
  if (!near_closed(a) || !near_closed(b)) return false;
  const near_core ca = near_erode(a, 0, 0), cb = near_erode(b, 0, 0);
  double y[3] = { b->c[0], b->c[1], b->c[2] }, d[3];
  int feature[2] = { 0 };
  for (int k = 0; k < TRIES; k++) {
    if (!(near_apart(&ca, &cb, k == 0 ? 2 : ROUNDS, y, feature, d) > TOUCHING * size)) break;
    const double h = perp_convex_gap(a, b, d);
    if (h < best->h) *best = perp_convex_candidate(d, h);
    if (-best->h > enough) return true;
    perp_convex_best convex_best;
    if (!near_stationary(a, b, feature, d, &convex_best)) continue;
    if (convex_best.h < best->h) *best = convex_best;
    if (convex_best.h < 0 || perp_convex_inscribed(a, b, &convex_best)) {
      *best = convex_best;
      return true;
    }
    break;
  }
  return best->h > 0 && near_overlap(a, b, size, best);
}
