/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocities and rows of contacts in the world: what sweeps and masses are made of.  A contact
 * keeps its directions and arms while bodies turn, which change the inverse inertia of bodies
 * alone.  `plane` is a constant in sweeps, so that they have no branch for it. */
#ifndef PERP_SCHEME_MOTION_H
#define PERP_SCHEME_MOTION_H

#include "models/formulations/schemes/scheme.h"

enum { SCHEME_FOUR = 4, SCHEME_TIES = 6 }; /* contacts of a block, and its ties */

/* The velocities of two bodies while their contacts are solved */
typedef struct scheme_motion {
  perp_v4 va, wa, vb, wb;
} scheme_motion;

PERP_CLONE_INLINE void scheme_motion_of(const perp_scheme_body *a, const perp_scheme_body *b,
                                        scheme_motion *motion)
{
  motion->va = a->v, motion->wa = a->w, motion->vb = b->v, motion->wb = b->w;
}

PERP_CLONE_INLINE void scheme_motion_to(const scheme_motion *motion, perp_scheme_body *a,
                                        perp_scheme_body *b)
{
  a->v = motion->va, a->w = motion->wa, b->v = motion->vb, b->w = motion->wb;
}

/* Ties of n contacts of a pair: of each with those before it in its block */
PERP_INLINE int scheme_ties(int n)
{
  const int rest = n % SCHEME_FOUR;
  return SCHEME_TIES * (n / SCHEME_FOUR) + rest * (rest - 1) / 2;
}

#define SCHEME_SUM4(x) (((x)[0] + (x)[1]) + ((x)[2] + (x)[3]))

/* What turns of J v of direction k; in the plane all of it */
PERP_CLONE_INLINE double scheme_turning(const perp_scheme_contact *contact, int k,
                                        const scheme_motion *motion)
{
  const perp_v4 x = contact->turn[0][k] * motion->wa + contact->turn[1][k] * motion->wb;
  return SCHEME_SUM4(x);
}

/* The rest of J v, the same for all contacts of a pair */
PERP_CLONE_INLINE double scheme_along(bool plane, const perp_scheme_pair *pair, int k,
                                      const scheme_motion *motion)
{
  if (plane) return 0;
  const perp_v4 x = pair->d[k] * (motion->vb - motion->va);
  return SCHEME_SUM4(x);
}

/* I^-1 t */
PERP_CLONE_INLINE void scheme_weigh(bool plane, const perp_scheme_body *body, const perp_v4 *t,
                                    perp_v4 *y)
{
  if (plane)
    *y = body->I[0] * *t;
  else
    *y = body->I[0] * (*t)[0] + body->I[1] * (*t)[1] + body->I[2] * (*t)[2];
}

/* x and y, each summed */
PERP_CLONE_INLINE perp_v2 scheme_sums(const perp_v4 *x, const perp_v4 *y)
{
  const perp_v4 sum = PERP_TURN4(*x, *y, true) + PERP_TURN4(*x, *y, false);
  return PERP_HALF4(sum, false) + PERP_HALF4(sum, true);
}

/* What turns of J v of both tangents, and what a belt adds; in the plane the second is 0. */
PERP_CLONE_INLINE perp_v2 scheme_slip(bool plane, const perp_scheme_contact *contact,
                                      const scheme_motion *motion)
{
  const perp_v2 bias = *(const perp_v2_any *)(contact->bias + 1);
  if (plane) return (perp_v2){ scheme_turning(contact, 1, motion), 0 } + bias;
  const perp_v4 x = contact->turn[0][1] * motion->wa + contact->turn[1][1] * motion->wb;
  const perp_v4 y = contact->turn[0][2] * motion->wa + contact->turn[1][2] * motion->wb;
  return scheme_sums(&x, &y) + bias;
}

/* The rest of it, the same for all contacts of a pair */
PERP_CLONE_INLINE perp_v2 scheme_slide(bool plane, const perp_scheme_pair *pair,
                                       const scheme_motion *motion)
{
  return (perp_v2){ scheme_along(plane, pair, 1, motion), scheme_along(plane, pair, 2, motion) };
}

/* A p, the columns of A given */
PERP_CLONE_INLINE perp_v2 scheme_times(const perp_v2 A[2], perp_v2 p)
{
  return A[0] * (perp_v2){ p[0], p[0] } + A[1] * (perp_v2){ p[1], p[1] };
}

PERP_CLONE_INLINE double scheme_square(perp_v2 p)
{
  const perp_v2 square = p * p;
  return square[0] + square[1];
}

#endif
