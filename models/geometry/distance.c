/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The signed distance of two convex bodies: start, search, witnesses. */
#include "models/geometry/convex.h"

#include <string.h>

static const double PARALLEL = 1e-12, ALMOST = 1e-5; /* rad: features that lie along each other */
/* points that lie on one line: of the sizes; and of the smaller one, where rounding of the larger
 * one allows it */
static const double PROVED = 1e-13, ALIKE = 1e-10, ROUNDING = 4e-15;

static bool distance_turned(const perp_convex *convex)
{
  return convex->kind == PERP_CONVEX_CYLINDER || convex->kind == PERP_CONVEX_CONE;
}

/* Do the points of *best, which are `off`, lie on one line? */
static bool distance_exact(const perp_convex *a, const perp_convex *b, const perp_convex_best *best)
{
  const double scale = a->size + b->size + fabs(best->h);
  return best->off <= PROVED * scale &&
         best->off <= fmax(ALIKE * fmin(a->size, b->size), ROUNDING * scale);
}

/* nearest point of a patch to x, both looked at along n */
static void distance_onto(const perp_patch *patch, const double n[3], const double x[3],
                          double y[3])
{
  double best = HUGE_VAL;
  bool over = patch->n > 2;
  for (int k = 0; k < patch->n; k++) {
    const double *v = patch->p[k], *w = patch->p[k + 1 < patch->n ? k + 1 : 0];
    double u[3], flat[3], r[3], m[3], z[3];
    perp_sub(w, v, u);
    perp_along(u, -perp_dot(3, u, n), n, flat);
    perp_sub(x, v, r);
    perp_along(r, -perp_dot(3, r, n), n, r);
    perp_cross(flat, patch->n_flat, m);
    over = over && perp_dot(3, m, r) <= 0;
    const double uu = perp_dot(3, flat, flat), t = uu > 0 ? perp_dot(3, r, flat) / uu : 0;
    perp_along(v, t < 0 ? 0 : t > 1 ? 1 : t, u, z);
    perp_sub(x, z, r);
    perp_along(r, -perp_dot(3, r, n), n, r);
    const double d2 = perp_dot(3, r, r);
    if (d2 < best) best = d2, memcpy(y, z, sizeof z);
  }
  if (!over) return;
  double r[3];
  perp_sub(patch->p[0], x, r);
  perp_along(x, perp_dot(3, r, patch->n_flat) / perp_dot(3, n, patch->n_flat), n, y);
}

/* the point of a disc that is nearest to x */
static void distance_disc(const perp_convex *convex, const double d[3], const double x[3],
                          double y[3])
{
  double o[3], r[3];
  perp_along(convex->c, perp_dot(3, convex->u, d) > 0 ? convex->top : -convex->bottom, convex->u,
             o);
  perp_sub(x, o, r);
  perp_along(r, -perp_dot(3, r, convex->u), convex->u, r);
  const double len = perp_norm(r);
  perp_along(o, len > convex->rim ? convex->rim / len : 1, r, y);
}

static bool distance_is_disc(const perp_convex *convex, const perp_patch *patch)
{
  return patch->n > 2 && convex->kind != PERP_CONVEX_HULL;
}

/* Where the segment p of one body crosses the rim of a disc of the other one, both looked at along
 * n: on the disc y, on the segment x.  toward: n as the disc sees it.  Of two points that on the
 * side where the rim is the farthest; false: none. Where n is almost along the axis its rounding
 * turns the farthest point of the rim, but not this one. */
static bool distance_rim(const perp_convex *convex, const double toward[3], const perp_patch *patch,
                         const double n[3], double y[3], double x[3])
{
  double o[3], e[3], r[3], w[3], t[2], best = -HUGE_VAL;
  const double un = perp_dot(3, convex->u, n);
  perp_along(convex->c, perp_dot(3, convex->u, toward) > 0 ? convex->top : -convex->bottom,
             convex->u, o);
  perp_convex_outward(convex, toward, e);
  perp_sub(patch->p[0], o, r);
  perp_sub(patch->p[1], patch->p[0], w);
  perp_along(r, -perp_dot(3, r, convex->u) / un, n, r);
  perp_along(w, -perp_dot(3, w, convex->u) / un, n, w);
  /* |r + t w| = rim */
  const double A = perp_dot(3, w, w), B = perp_dot(3, r, w),
               C = perp_dot(3, r, r) - convex->rim * convex->rim, root = sqrt(B * B - A * C);
  if (!(A > 0) || !(root > 0)) return false;
  const double q = -(B + copysign(root, B));
  t[0] = q / A, t[1] = C / q;
  for (int k = 0; k < 2; k++) {
    double z[3];
    perp_along(r, t[k], w, z);
    if (!(t[k] >= 0 && t[k] <= 1) || !(perp_dot(3, e, z) > best)) continue;
    best = perp_dot(3, e, z);
    perp_along(o, 1, z, y);
    perp_along(patch->p[0], t[k], patch->p[1], x);
    for (int i = 0; i < 3; i++) x[i] -= t[k] * patch->p[0][i];
  }
  return best > -HUGE_VAL;
}

/* The same for the patches of both; false: they are not a disc and a segment. */
static bool distance_cross(const perp_convex *a, const perp_convex *b, double parallel,
                           perp_convex_best *best)
{
  const double *d = best->d, back[3] = { -d[0], -d[1], -d[2] };
  perp_patch pa, pb;
  perp_convex_patch(a, d, parallel, &pa);
  perp_convex_patch(b, back, parallel, &pb);
  if (distance_is_disc(a, &pa) && pb.n == 2) return distance_rim(a, d, &pb, d, best->a, best->b);
  return distance_is_disc(b, &pb) && pa.n == 2 && distance_rim(b, back, &pa, d, best->b, best->a);
}

/* Points of the patches on one line along d, where features lie along each other and Newton's
 * method leaves open which of many pairs it means. */
static void distance_choose(const perp_convex *a, const perp_convex *b, double parallel,
                            perp_convex_best *best)
{
  const double *d = best->d, back[3] = { -d[0], -d[1], -d[2] };
  perp_patch pa, pb;
  perp_patch_point point[2 * PERP_PATCH_CORNERS];
  double middle[3] = { 0 };
  perp_convex_patch(a, d, parallel, &pa);
  perp_convex_patch(b, back, parallel, &pb);
  const bool disc_a = distance_is_disc(a, &pa), disc_b = distance_is_disc(b, &pb);
  if (disc_a || disc_b) {
    /* the point of the other one nearest to the centre of the disc */
    const perp_convex *disc = disc_a ? a : b;
    double o[3];
    perp_along(disc->c, perp_dot(3, disc->u, disc_a ? d : back) > 0 ? disc->top : -disc->bottom,
               disc->u, o);
    if (disc_a && disc_b)
      distance_disc(b, back, o, best->b);
    else
      distance_onto(disc_a ? &pb : &pa, d, o, disc_a ? best->b : best->a);
    distance_disc(disc, disc_a ? d : back, disc_a ? best->b : best->a, disc_a ? best->a : best->b);
    return;
  }
  if (pa.n == 1 || pb.n == 1) {
    memcpy(pa.n == 1 ? best->a : best->b, pa.n == 1 ? pa.p[0] : pb.p[0], sizeof best->a);
    if (pa.n == 1)
      distance_onto(&pb, d, best->a, best->b);
    else
      distance_onto(&pa, d, best->b, best->a);
    return;
  }
  const int n = perp_patch_meet(&pa, &pb, d, 1e-12 * fmin(a->size, b->size), point);
  if (n == 0) { /* they meet in a corner, up to rounding */
    for (int i = 0; i < 3; i++) middle[i] = 0.5 * (pb.p[0][i] + pb.p[1][i]);
    distance_onto(&pa, d, middle, best->a);
    distance_onto(&pb, d, best->a, best->b);
    return;
  }
  memcpy(best->a, point[0].pa, sizeof best->a);
  memcpy(best->b, point[0].pb, sizeof best->b);
}

/* *best with the points of `other`, if they come nearer to one line along d */
static void distance_offer(const perp_convex *a, const perp_convex *b, perp_convex_best *other,
                           perp_convex_best *best)
{
  double r[3];
  perp_sub(other->a, other->b, r);
  perp_along(r, -other->h, other->d, r);
  other->off = perp_norm(r);
  other->exact = distance_exact(a, b, other);
  if (other->off < best->off) *best = *other;
}

/* how far y is outside of a core that is round, if it is near to it */
static double distance_beyond(const perp_convex *convex, const double y[3])
{
  double r[3], g[3] = { 0 }, n[3], level = -1;
  if (convex->kind != PERP_CONVEX_ELLIPSOID) return fmax(0, perp_convex_point(convex, y, n, g));
  perp_sub(y, convex->c, r);
  for (int k = 0; k < 3; k++) {
    const double *e = convex->E + 3 * k, ee = perp_dot(3, e, e), z = perp_dot(3, e, r) / ee;
    level += z * z;
    perp_along(g, z / ee, e, g);
  }
  return fmax(0, level / (2 * perp_norm(g)));
}

/* The rounding of d moves the point of a round body by that times its radius of curvature, which
 * may be large.  Any other point of it as far along d does as well: that on the line through the
 * point of the other body. */
static void distance_slide(const perp_convex *a, const perp_convex *b, perp_convex_best *best)
{
  const perp_convex_best start = *best;
  for (int side = 0; side < 2 && start.off < HUGE_VAL; side++) {
    const perp_convex *c = side == 0 ? a : b;
    if (c->kind != PERP_CONVEX_ELLIPSOID && !distance_turned(c)) continue;
    perp_convex_best other = start;
    double r[3], *y = side == 0 ? other.a : other.b;
    perp_sub(other.a, other.b, r);
    perp_along(r, -other.h, other.d, r);
    perp_along(y, side == 0 ? -1 : 1, r, y);
    other.off = distance_beyond(c, y);
    other.exact = distance_exact(a, b, &other);
    if (other.off < best->off) *best = other;
  }
}

/* Are the points on one line along d? */
static bool distance_proved(const perp_convex *a, const perp_convex *b, perp_convex_best *best)
{
  distance_slide(a, b, best);
  if (best->exact) return true;
  /* the most parallel features that do it, or those that come nearest to it */
  for (double parallel = PARALLEL; parallel <= ALMOST && !best->exact; parallel *= 10) {
    perp_convex_best other = *best;
    distance_choose(a, b, parallel, &other);
    distance_offer(a, b, &other, best);
    if (!best->exact && distance_cross(a, b, parallel, &other)) distance_offer(a, b, &other, best);
  }
  distance_slide(a, b, best);
  return best->exact;
}

/* Newton's method once more where the best direction is not proved, with the pieces around it, from
 * it and from directions around it: near the axis of a circle, and on thin ellipsoids, h turns
 * within a very small angle. */
static void distance_around(const perp_convex *a, const perp_convex *b, double size,
                            perp_convex_best *best)
{
  enum { AROUND = 6 };
  for (double angle = 1e-2; angle > 1e-11; angle *= 1e-2) {
    const double *d = best->d;
    double least[3] = { 0 }, u[3], w[3], e[AROUND + 1][3];
    perp_convex_vertex vertex[AROUND + 1];
    least[fabs(d[0]) < 0.6 ? 0 : 1] = 1;
    perp_cross(d, least, u);
    perp_cross(d, u, w);
    for (int k = 0; k <= AROUND; k++) {
      const double turn = 2 * M_PI * (k + 0.3) / AROUND;
      perp_along(d, k < AROUND ? angle * cos(turn) : 0, u, e[k]);
      perp_along(e[k], k < AROUND ? angle * sin(turn) : 0, w, e[k]);
      const double len = perp_norm(e[k]);
      for (int i = 0; i < 3; i++) e[k][i] /= len;
      perp_convex_vertex_at(a, b, e[k], &vertex[k]);
    }
    for (int k = AROUND; k >= 0 && !best->exact; k--) {
      perp_convex_best convex_best = perp_convex_candidate(e[k], perp_dot(3, e[k], vertex[k].w));
      perp_convex_polish(a, b, AROUND + 1, vertex, size, &convex_best);
      /* a value is rounded where a gradient still tells: what is stationary wins among equal ones
       */
      const double slack = convex_best.exact ? 4e-15 * (a->size + b->size + fabs(convex_best.h))
                                             : 1e-15 * size;
      if (convex_best.h < best->h ||
          (convex_best.off < best->off && convex_best.h <= best->h + slack))
        *best = convex_best;
    }
    if (distance_proved(a, b, best)) return;
  }
}

/* The flat end of `of` (sign 1: a, -1: b) that faces the other body, if it separates the two more
 * than best->d. */
static void distance_end(const perp_convex *a, const perp_convex *b, double sign,
                         perp_convex_best *best)
{
  const perp_convex *of = sign > 0 ? a : b;
  if (!distance_turned(of)) return;
  double r[3], d[3];
  perp_sub(b->c, a->c, r);
  const double side = sign * perp_dot(3, of->u, r) < 0 ? -1 : 1;
  if (of->kind == PERP_CONVEX_CONE && side > 0) return; /* the apex */
  for (int i = 0; i < 3; i++) d[i] = sign * side * of->u[i];
  perp_convex_ask(a, b, d, 0, best);
}

/* By simplices where the bodies are apart, by polytopes where they overlap. */
static void distance_search(const perp_convex *a, const perp_convex *b, double size, double enough,
                            perp_convex_best *best)
{
  const double large = fmax(a->size, b->size);
  perp_convex_open open = { 0 };
  if (!perp_convex_gjk(a, b, large, enough, best, &open))
    perp_convex_expand(a, b, size, best, &open);
  if (-best->h > enough) return;
  if (!best->exact) perp_convex_ends(a, b, 1e-14 * (a->size + b->size + perp_norm(b->c)), best);
  if (distance_proved(a, b, best)) return;
  perp_convex_polish(a, b, open.n, open.v, size, best);
  if (!distance_proved(a, b, best)) distance_around(a, b, large, best);
}

double perp_convex_distance(const perp_convex *a, const perp_convex *b, double enough, double n[3],
                            double pa[3], double pb[3])
{
  const double size = fmin(a->size, b->size), round = a->radius + b->radius;
  if ((a->kind == PERP_CONVEX_POINT && distance_turned(b)) ||
      (b->kind == PERP_CONVEX_POINT && distance_turned(a))) {
    /* a ball, the first or the second, and a cylinder or a cone */
    const bool first = a->kind == PERP_CONVEX_POINT;
    const perp_convex *ball = first ? a : b, *c = first ? b : a;
    double m[3], y[3];
    const double sigma = perp_convex_point(c, ball->c, m, y) - ball->radius;
    perp_along(ball->c, -ball->radius, m, first ? pa : pb);
    memcpy(first ? pb : pa, y, sizeof y);
    for (int i = 0; i < 3; i++) n[i] = first ? -m[i] : m[i];
    return sigma;
  }
  perp_convex_best best = perp_convex_candidate((const double[3]){ 0, 1, 0 }, HUGE_VAL);
  double r[3];
  perp_sub(b->c, a->c, r);
  const double len = perp_norm(r);
  for (int i = 0; i < 3 && len > 1e-12 * size; i++) best.d[i] = r[i] / len;
  best.h = perp_convex_gap(a, b, best.d);
  if (!(-best.h - round > enough)) distance_end(a, b, 1, &best);
  if (!(-best.h - round > enough)) distance_end(a, b, -1, &best);
  const bool ends = !(-best.h - round > enough) && perp_convex_on_end(a, b, &best);
  if (!(ends && (best.h < 0 || perp_convex_inscribed(a, b, &best))) &&
      !perp_convex_near(a, b, fmax(a->size, b->size), enough + round, &best))
    distance_search(a, b, size, enough + round, &best);
  const double sigma = -best.h - round;
  memcpy(n, best.d, sizeof best.d);
  if (sigma > enough) return sigma;
  perp_along(best.a, a->radius, n, pa);
  perp_along(best.b, -b->radius, n, pb);
  return sigma;
}
