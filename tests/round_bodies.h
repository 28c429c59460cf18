/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex bodies in long double, as a judge of distances knows them: hulls of round pieces.
 *
 * A piece is a point, a disc or an ellipsoid, with the support function c . d + |E^T d|, E [3 x n]
 * its half axes by columns (n = 0, 2, 3).  A body is the convex hull of its pieces, and a ball
 * around each of its points. */
#ifndef PERP_ROUND_BODIES_H
#define PERP_ROUND_BODIES_H

#include "models/geometry/shape.h"
#include "models/geometry/kinematics.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

typedef long double real;

enum { ROUND_PIECES = 16 };

typedef struct round_piece {
  int n;
  real c[3], E[3][3];
} round_piece;

typedef struct round_body {
  int n;
  real radius; /* of the ball */
  round_piece piece[ROUND_PIECES];
  const double *cloud; /* n points of a large hull in the frame `at`, if not NULL: the pieces */
  perp_pose at;
} round_body;

static inline real dot(const real *a, const real *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline real length(const real *a)
{
  return sqrtl(dot(a, a));
}

static inline void cross(const real *a, const real *b, real *c)
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* of the piece along sign * d: the value, and the point s where it is attained */
static inline real round_piece_support(const round_piece *p, real sign, const real d[3], real s[3])
{
  real y[3], len = 0;
  for (int i = 0; i < 3; i++) s[i] = p->c[i];
  for (int k = 0; k < p->n; k++) y[k] = sign * dot(p->E[k], d), len += y[k] * y[k];
  len = sqrtl(len);
  for (int k = 0; k < p->n && len > 0; k++)
    for (int i = 0; i < 3; i++) s[i] += y[k] / len * p->E[k][i];
  return sign * dot(p->c, d) + len;
}

/* a piece; room: for it */
static inline const round_piece *round_piece_of(const round_body *b, int k, round_piece *room)
{
  if (b->cloud == NULL) return &b->piece[k];
  room->n = 0;
  for (int i = 0; i < 3; i++) {
    room->c[i] = b->at.x[i];
    for (int j = 0; j < 3; j++) room->c[i] += (real)b->at.R[i + 3 * j] * b->cloud[3 * k + j];
  }
  return room;
}

/* The point of a cloud farthest along d, up to the rounding of doubles: what another one of them
 * proves is true as well. */
static inline int round_farthest(const round_body *b, real sign, const real d[3])
{
  double m[3] = { 0 }, high = -HUGE_VAL;
  int best = 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) m[j] += (double)(sign * d[i]) * b->at.R[i + 3 * j];
  for (int k = 0; k < b->n; k++) {
    const double *v = b->cloud + 3 * k, h = m[0] * v[0] + m[1] * v[1] + m[2] * v[2];
    if (h > high) high = h, best = k;
  }
  return best;
}

/* The same of the body without its ball; returns the piece. */
static inline int round_support(const round_body *b, real sign, const real d[3], real s[3])
{
  round_piece room;
  real high = -HUGE_VALL;
  int best = b->cloud != NULL ? round_farthest(b, sign, d) : 0;
  for (int k = 0; k < b->n && b->cloud == NULL; k++) {
    const round_piece *p = &b->piece[k];
    real h = sign * dot(p->c, d), len = 0;
    for (int l = 0; l < p->n; l++) len += dot(p->E[l], d) * dot(p->E[l], d);
    h += sqrtl(len);
    if (h > high) high = h, best = k;
  }
  round_piece_support(round_piece_of(b, best, &room), sign, d, s);
  return best;
}

static inline round_piece *round_add(round_body *b, const perp_pose *pose, real x, real y, real z)
{
  const real at[3] = { x, y, z };
  if (b->n == ROUND_PIECES) bail("too many pieces in the oracle");
  round_piece *p = &b->piece[b->n++];
  memset(p, 0, sizeof *p);
  for (int i = 0; i < 3; i++) {
    p->c[i] = pose->x[i];
    for (int k = 0; k < 3; k++) p->c[i] += (real)pose->R[i + 3 * k] * at[k];
  }
  return p;
}

/* a half axis along the k-th axis of the pose */
static inline void round_stretch(round_piece *p, const perp_pose *pose, int k, real half)
{
  for (int i = 0; i < 3; i++) p->E[p->n][i] = half * pose->R[i + 3 * k];
  p->n++;
}

static inline void round_disc(round_body *b, const perp_pose *pose, real x, real radius)
{
  round_piece *p = round_add(b, pose, x, 0, 0);
  round_stretch(p, pose, 1, radius);
  round_stretch(p, pose, 2, radius);
}

/* A shape but a plane or a surface, at a pose. */
static inline void round_body_of(const perp_shape_def *f, const perp_pose *pose, round_body *b)
{
  const real half = f->length / 2.0L;
  const double *h = f->half;
  b->n = 0;
  b->radius = 0;
  b->cloud = NULL;
  switch (f->kind) {
  case PERP_SHAPE_SPHERE:
    round_add(b, pose, 0, 0, 0);
    b->radius = f->radius;
    break;
  case PERP_SHAPE_CAPSULE:
    round_add(b, pose, -half, 0, 0);
    round_add(b, pose, half, 0, 0);
    b->radius = f->radius;
    break;
  case PERP_SHAPE_BOX:
    for (int k = 0; k < 8; k++)
      round_add(b, pose, k & 1 ? h[0] : -h[0], k & 2 ? h[1] : -h[1], k & 4 ? h[2] : -h[2]);
    break;
  case PERP_SHAPE_ELLIPSOID: {
    round_piece *p = round_add(b, pose, 0, 0, 0);
    if (h[0] == h[1] && h[1] == h[2]) /* a ball: exact */
      b->radius = h[0];
    else
      for (int k = 0; k < 3; k++) round_stretch(p, pose, k, h[k]);
    break;
  }
  case PERP_SHAPE_CYLINDER:
    round_disc(b, pose, -half, f->radius);
    round_disc(b, pose, half, f->radius);
    break;
  case PERP_SHAPE_CONE:
    round_disc(b, pose, -0.5L * half, f->radius);
    round_add(b, pose, 1.5L * half, 0, 0);
    break;
  default:
    if (f->n_vertices > ROUND_PIECES) {
      b->n = f->n_vertices;
      b->cloud = f->vertices;
      b->at = *pose;
      break;
    }
    for (int k = 0; k < f->n_vertices; k++)
      round_add(b, pose, f->vertices[3 * k], f->vertices[3 * k + 1], f->vertices[3 * k + 2]);
  }
}

/* h_A(d) + h_B(-d) of the bodies with their balls, d a unit vector */
static inline real round_gap(const round_body *a, const round_body *b, const real d[3])
{
  real s[3], t[3];
  round_support(a, 1, d, s);
  round_support(b, -1, d, t);
  return dot(s, d) - dot(t, d) + a->radius + b->radius;
}

/* How far a point is outside of a shape, at least, up to a factor sqrt(3) in a corner; 0 or less:
 * in it.  R [9], x: its pose.  No polytope. */
static inline real round_outside(const perp_shape_def *f, const real *R, const real *x,
                                 const double p[3])
{
  const real r[3] = { p[0] - x[0], p[1] - x[1], p[2] - x[2] };
  const real y[3] = { dot(R, r), dot(R + 3, r), dot(R + 6, r) };
  const real rim = f->radius, L = f->length, across = hypotl(y[1], y[2]);
  real worst = -HUGE_VALL;
  switch (f->kind) {
  case PERP_SHAPE_SPHERE:
    return length(y) - rim;
  case PERP_SHAPE_CAPSULE:
    return hypotl(across, fmaxl(0, fabsl(y[0]) - L / 2)) - rim;
  case PERP_SHAPE_BOX:
    for (int i = 0; i < 3; i++) worst = fmaxl(worst, fabsl(y[i]) - f->half[i]);
    return worst;
  case PERP_SHAPE_ELLIPSOID: {
    real q = 0, g = 0; /* the level over its slope */
    for (int i = 0; i < 3; i++) {
      q += y[i] / f->half[i] * (y[i] / f->half[i]);
      g += y[i] / f->half[i] / f->half[i] * (y[i] / f->half[i] / f->half[i]);
    }
    return g > 0 ? (q - 1) / (2 * sqrtl(g)) : -1;
  }
  case PERP_SHAPE_CYLINDER:
    return fmaxl(fabsl(y[0]) - L / 2, across - rim);
  case PERP_SHAPE_CONE:
    return fmaxl(-L / 4 - y[0], (across * L - rim * (0.75L * L - y[0])) / hypotl(L, rim));
  default:
    bail("the oracle does not know this shape");
  }
}

#endif
