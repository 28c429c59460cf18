/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lowest point of one basin of h on the sphere, from any direction in it.
 *
 * h is the largest of smooth functions, one for each pair of a piece of A and one of B.  In the
 * plane tangent to the sphere at d, where x are the coordinates of (d + U x) / |d + U x|, each is
 *
 *      f(x) = f + g . x + x . (U^T H U - f I) x / 2 + ...,   g = U^T grad f,
 *
 * and a minimum is one of a single pair, one on the curve where two are equal, or a point where
 * three are.  A step is the best of these by the models of the pairs that have been the largest so
 * far (a bundle), no longer than a radius of trust, and is taken where h itself falls; where it
 * does not, the pair that is the largest there joins the bundle, or the radius shrinks: sequential
 * quadratic programming for the largest of several functions.  Directions in which a model is
 * concave are followed to the radius, so that it ends at no saddle.  At most TURNS steps, of at
 * most 1 + 2 INNER support points. */
#include "models/geometry/convex.h"

#include <string.h>

enum { TURNS = 60, INNER = 3 /* Newton steps within the models */ };
static const double RADIUS = 0.3, SMALLEST = 1e-9; /* of trust, rad */
static const double SHORTEST = 1e-5;               /* rad: step along a valley */
static const double AROUND_END = 1e-5;             /* rad: where h is asked beside a flat end */
static const double NEAR = 1e-6;                   /* rad: pairs that meet */
static const double FLAT = 2e-16; /* of the largest numbers in h: what rounding leaves of it */

typedef struct descend_pair {
  int ia, ib;
  double f, g[2], Q[3]; /* Q: xx, xy, yy */
} descend_pair;

typedef struct descent {
  const perp_convex *a, *b;
  double d[3], u[2][3], h, radius, rounding;
  int n;
  descend_pair p[PERP_CONVEX_BUNDLE];
  double x[2], low; /* the best step by the models, and what they say of it */
  bool across;      /* steps down to the floor of a valley only, not along it */
} descent;

/* true: the pair has not been there */
static bool descend_join(descent *s, int ia, int ib)
{
  for (int k = 0; k < s->n; k++)
    if (s->p[k].ia == ia && s->p[k].ib == ib) return false;
  int at = s->n;
  if (s->n < PERP_CONVEX_BUNDLE) {
    s->n++;
  } else { /* in the place of the lowest */
    at = 0;
    for (int k = 1; k < PERP_CONVEX_BUNDLE; k++)
      if (s->p[k].f < s->p[at].f) at = k;
  }
  s->p[at] = (descend_pair){ .ia = ia, .ib = ib, .f = -HUGE_VAL };
  return true;
}

static void descend_model(const descent *s, descend_pair *pair)
{
  const double back[3] = { -s->d[0], -s->d[1], -s->d[2] };
  perp_convex_piece a, b;
  double grad[3], H[9];
  perp_convex_piece_at(s->a, pair->ia, s->d, &a);
  perp_convex_piece_at(s->b, pair->ib, back, &b);
  pair->f = a.value + b.value;
  perp_sub(a.grad, b.grad, grad);
  for (int i = 0; i < 9; i++) H[i] = a.H[i] + b.H[i];
  for (int i = 0; i < 2; i++) pair->g[i] = perp_dot(3, s->u[i], grad);
  for (int i = 0; i < 2; i++)
    for (int j = i; j < 2; j++) {
      double y[3];
      perp_turn(3, H, s->u[j], y);
      pair->Q[i + j] = perp_dot(3, s->u[i], y) - (i == j) * pair->f;
    }
}

/* to the direction d: the models there */
static void descend_go(descent *s, const double d[3])
{
  double least[3] = { 0 };
  memmove(s->d, d, sizeof s->d);
  const int small = fabs(d[0]) < fabs(d[1]) ? (fabs(d[0]) < fabs(d[2]) ? 0 : 2)
                                            : (fabs(d[1]) < fabs(d[2]) ? 1 : 2);
  least[small] = 1;
  perp_cross(s->d, least, s->u[0]);
  const double len = perp_norm(s->u[0]);
  for (int i = 0; i < 3; i++) s->u[0][i] /= len;
  perp_cross(s->d, s->u[0], s->u[1]);
  for (int k = 0; k < s->n; k++) descend_model(s, &s->p[k]);
}

/* ---- steps ---- */

/* -slope / curvature, to the radius where the function is concave or flat */
static double descend_newton(const descent *s, double slope, double curvature)
{
  const double bend = fabs(curvature);
  if (curvature < 0 && fabs(slope) <= 1e-9 * bend * s->radius) return s->radius;
  return fabs(slope) < bend * s->radius ? -slope / bend : slope > 0 ? -s->radius : s->radius;
}

static double descend_at(const descend_pair *pair, const double x[2], double g[2])
{
  const double y[2] = { pair->Q[0] * x[0] + pair->Q[1] * x[1],
                        pair->Q[1] * x[0] + pair->Q[2] * x[1] };
  for (int i = 0; i < 2; i++) g[i] = pair->g[i] + y[i];
  return pair->f + x[0] * (pair->g[0] + 0.5 * y[0]) + x[1] * (pair->g[1] + 0.5 * y[1]);
}

/* a step by the models, if it is the best so far; x: no longer than the radius then */
static void descend_offer(descent *s, double x[2])
{
  const double len = sqrt(x[0] * x[0] + x[1] * x[1]);
  double high = -HUGE_VAL, g[2];
  if (!(len > 0)) return;
  for (int i = 0; i < 2 && len > s->radius; i++) x[i] *= s->radius / len;
  for (int k = 0; k < s->n; k++) high = fmax(high, descend_at(&s->p[k], x, g));
  if (high < s->low) s->low = high, memcpy(s->x, x, sizeof s->x);
}

/* the minimum of one: Newton's step along each principal axis */
static void descend_one(descent *s, const descend_pair *pair)
{
  /* cosine and sine of half the angle of (Q_xx - Q_yy, 2 Q_xy) */
  const double p = pair->Q[0] - pair->Q[2], q = 2 * pair->Q[1], len = sqrt(p * p + q * q);
  const double far = len > 0 ? sqrt(0.5 + 0.5 * fabs(p) / len) : 1,
               near = len > 0 ? 0.5 * q / (len * far) : 0;
  const double c = p < 0 ? fabs(near) : far, e = p < 0 ? copysign(far, q) : near;
  const double first = c * c * pair->Q[0] + 2 * c * e * pair->Q[1] + e * e * pair->Q[2],
               second = pair->Q[0] + pair->Q[2] - first;
  const bool steep = fabs(first) > fabs(second);
  double x = descend_newton(s, c * pair->g[0] + e * pair->g[1], first),
         y = descend_newton(s, -e * pair->g[0] + c * pair->g[1], second);
  if (!s->across) descend_offer(s, (double[2]){ c * x - e * y, e * x + c * y });
  *(steep ? &y : &x) = 0; /* down to the floor alone, where the way along it ends at another pair */
  descend_offer(s, (double[2]){ c * x - e * y, e * x + c * y });
}

/* The minimum where two are equal: down to the floor of their valley, along it, and down again as
 * it winds. */
static void descend_two(descent *s, const descend_pair *p, const descend_pair *q)
{
  double x[2] = { 0 };
  for (int k = 0; k <= 2 * INNER; k++) {
    double g[2], f[2], Q[3];
    if (k == INNER) descend_offer(s, x);
    if (k == INNER && s->across) return;
    const double y = descend_at(p, x, g) - descend_at(q, x, f);
    const double e[2] = { g[0] - f[0], g[1] - f[1] }, len = sqrt(e[0] * e[0] + e[1] * e[1]);
    if (!(len > 0)) return;
    const double n[2] = { e[0] / len, e[1] / len }, across = -y / len;
    for (int i = 0; i < 2; i++) x[i] += across * n[i];
    if (k < INNER || k == 2 * INNER) continue;
    /* of p: lambda, of q: 1 - lambda, with the least sum of gradients */
    const double t[2] = { -n[1], n[0] }, part = -(n[0] * f[0] + n[1] * f[1]) / len,
                 lambda = part < 0   ? 0
                          : part > 1 ? 1
                                     : part;
    for (int i = 0; i < 3; i++) Q[i] = lambda * p->Q[i] + (1 - lambda) * q->Q[i];
    const double Qt[2] = { Q[0] * t[0] + Q[1] * t[1], Q[1] * t[0] + Q[2] * t[1] };
    double slope = across * (Qt[0] * n[0] + Qt[1] * n[1]);
    for (int i = 0; i < 2; i++) slope += t[i] * (lambda * g[i] + (1 - lambda) * f[i]);
    const double along = descend_newton(s, slope, Qt[0] * t[0] + Qt[1] * t[1]);
    for (int i = 0; i < 2; i++) x[i] += along * t[i];
  }
  descend_offer(s, x);
}

/* where three are equal */
static void descend_three(descent *s, const descend_pair *p, const descend_pair *q,
                          const descend_pair *r)
{
  double x[2] = { 0 };
  for (int k = 0; k < INNER; k++) {
    double g[2], e[2], f[2];
    const double top = descend_at(p, x, g), y = descend_at(q, x, e) - top,
                 z = descend_at(r, x, f) - top;
    for (int i = 0; i < 2; i++) e[i] = g[i] - e[i], f[i] = g[i] - f[i];
    const double det = e[0] * f[1] - e[1] * f[0];
    if (det == 0) return;
    x[0] += (y * f[1] - z * e[1]) / det;
    x[1] += (e[0] * z - f[0] * y) / det;
    descend_offer(s, x);
  }
}

static void descend_choose(descent *s)
{
  s->low = s->h;
  for (int i = 0; i < s->n; i++) {
    const descend_pair *pair = s->p;
    descend_one(s, &pair[i]);
    for (int j = 0; j < i; j++) {
      descend_two(s, &pair[i], &pair[j]);
      for (int k = 0; k < j; k++) descend_three(s, &pair[i], &pair[j], &pair[k]);
    }
  }
}

/* ---- the descent ---- */

/* The step that has been chosen; returns how much h falls, true in *joined: the largest pair there
 * is new. */
static double descend_try(descent *s, double e[3], bool *joined)
{
  perp_convex_vertex at;
  perp_along(s->d, s->x[0], s->u[0], e);
  perp_along(e, s->x[1], s->u[1], e);
  const double norm = perp_norm(e);
  for (int i = 0; i < 3; i++) e[i] /= norm;
  perp_convex_vertex_at(s->a, s->b, e, &at);
  *joined = descend_join(s, at.ia, at.ib);
  return s->h - perp_dot(3, e, at.w);
}

/* The floor of a valley that winds is not reached by a straight step: from where that has led,
 * across the valley down to its floor.  True: lower than before. */
static bool descend_floor(descent *s, const double e[3], double fall)
{
  descent t = *s;
  bool joined;
  double f[3];
  t.across = true;
  t.h -= fall;
  descend_go(&t, e);
  for (int k = 0; k < INNER; k++) {
    descend_choose(&t);
    if (!(t.h - t.low > t.rounding)) return false;
    const double down = descend_try(&t, f, &joined);
    if (!(down > 0)) return false;
    t.h -= down;
    descend_go(&t, f);
    if (!(t.h < s->h)) continue;
    *s = t;
    s->across = false;
    return true;
  }
  return false;
}

/* Along the floor of a valley where the models know nothing of a lower point: their third order may
 * be larger than the slope of a long valley, as that of a cone which holds a small body.  Nothing
 * where a third pair ends it. */
static bool descend_valley(descent *s)
{
  const descend_pair *pair[2] = { NULL, NULL };
  for (int k = 0; k < s->n; k++) {
    if (s->h - s->p[k].f > NEAR * (fabs(s->h) + hypot(s->p[k].g[0], s->p[k].g[1]))) continue;
    if (pair[1] != NULL) return false;
    pair[pair[0] == NULL ? 0 : 1] = &s->p[k];
  }
  if (pair[1] == NULL) return false;
  const double e[2] = { pair[0]->g[0] - pair[1]->g[0], pair[0]->g[1] - pair[1]->g[1] };
  const double len = sqrt(e[0] * e[0] + e[1] * e[1]);
  if (!(len > 0)) return false;
  const double slope = (e[0] * pair[0]->g[1] - e[1] * pair[0]->g[0]) / len; /* the same of both */
  for (double r = s->radius; r > SHORTEST && fabs(slope) * r > 10 * s->rounding; r *= 0.25) {
    const double way = slope > 0 ? r / len : -r / len;
    bool joined;
    double to[3];
    s->x[0] = way * e[1], s->x[1] = -way * e[0];
    const double fall = descend_try(s, to, &joined);
    if (!(fall > 0) && !descend_floor(s, to, fall)) continue;
    if (fall > 0) s->h -= fall, descend_go(s, to);
    s->radius = fmin(RADIUS, 2 * r);
    return true;
  }
  return false;
}

/* To the direction of a flat end nearby, if it is lower: no circle is smooth there, and Newton's
 * steps only creep to it. */
static bool descend_end(descent *s, const perp_convex *convex, double reach)
{
  if (convex->kind != PERP_CONVEX_CYLINDER && convex->kind != PERP_CONVEX_CONE) return false;
  double e[3], cross[3];
  const bool down = perp_dot(3, convex->u, s->d) < 0;
  for (int i = 0; i < 3; i++) e[i] = down ? -convex->u[i] : convex->u[i];
  if (convex->kind == PERP_CONVEX_CONE && down != (convex == s->a)) return false; /* the apex */
  perp_cross(e, s->d, cross);
  if (!(perp_norm(cross) <= reach)) return false;
  const double h = perp_convex_gap(s->a, s->b, e);
  if (!(h < s->h)) return false;
  s->h = h;
  descend_go(s, e);
  return true;
}

/* the pairs that are within a small angle of being the largest */
static int descend_active(const descent *s, perp_convex_vertex *active)
{
  int n = 0;
  for (int k = 0; k < s->n; k++) {
    const descend_pair *pair = &s->p[k];
    if (s->h - pair->f <= NEAR * (fabs(s->h) + hypot(pair->g[0], pair->g[1])))
      active[n].ia = pair->ia, active[n++].ib = pair->ib;
  }
  return n;
}

int perp_convex_descend(const perp_convex *a, const perp_convex *b, int n,
                        const perp_convex_vertex *vertex, bool ends, perp_convex_best *best,
                        perp_convex_vertex *active)
{
  descent s = { .a = a, .b = b, .radius = RADIUS };
  perp_convex_vertex at;
  int tries = TURNS;
  perp_convex_vertex_at(a, b, best->d, &at);
  s.h = perp_dot(3, best->d, at.w);
  s.rounding = FLAT * (fabs(s.h) + perp_norm(b->c) + a->size + b->size);
  descend_join(&s, at.ia, at.ib);
  for (int k = 0; k < n && s.n < PERP_CONVEX_BUNDLE; k++)
    descend_join(&s, vertex[k].ia, vertex[k].ib);
  descend_go(&s, best->d);
  for (int turn = 0; turn < TURNS && tries > 0 && s.radius > SMALLEST; turn++) {
    descend_choose(&s);
    const double hope = s.h - s.low, len = hypot(s.x[0], s.x[1]);
    if (!(hope > s.rounding)) {
      if (!descend_valley(&s)) break;
      continue;
    }
    double e[3];
    bool joined;
    const double fall = descend_try(&s, e, &joined);
    if (fall > 0) {
      if (fall > 0.5 * hope) s.radius = fmin(RADIUS, fmax(s.radius, 2 * len));
      if (fall < 0.1 * hope) s.radius = 0.5 * len;
      s.h -= fall;
      descend_go(&s, e);
      tries = TURNS;
    } else if (ends && (descend_end(&s, a, 2 * len) || descend_end(&s, b, 2 * len))) {
      s.radius = AROUND_END;
      tries = 2;
    } else {
      tries--;
      if (joined)
        descend_go(&s, s.d);
      else if (!descend_floor(&s, e, fall))
        s.radius = 0.25 * len;
    }
  }
  *best = perp_convex_candidate(s.d, perp_convex_gap(a, b, s.d));
  return descend_active(&s, active);
}
