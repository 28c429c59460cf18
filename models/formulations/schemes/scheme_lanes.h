/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of schemes in the lanes of vectors, four pairs of bodies side by side: their numbers
 * (scheme_lanes.c) and the sweeps over them (scheme_lanes_sweep.c). */
#ifndef PERP_SCHEME_LANES_H
#define PERP_SCHEME_LANES_H

#include "models/formulations/schemes/scheme_motion.h"

enum { LANES = 4, LANES_COLOURS = 64 };

/* One contact of each lane, as perp_scheme_contact; stick: xx, xy, yy */
typedef struct lanes_row {
  perp_v4 turn[2][3][3]; /* side, direction, x y z */
  perp_v4 p[3], bias[3], soft, inverse, stick[3], slide, mu;
  perp_i4 slides;
} lanes_row;

/* As perp_scheme_tie; tangents: xx, yx, xy, yy */
typedef struct lanes_tie {
  perp_v4 normal, tangents[4];
} lanes_tie;

/* Four pairs of one colour */
typedef struct lanes_group {
  perp_v4 d[3][3], part[2];
  int body[2][LANES], pair[LANES]; /* pair -1: none */
  int depth, row, tie, inertia;    /* the most contacts of a pair; where what it has begins */
  bool round;                      /* in space, and turns change I of no body */
} lanes_group;

/* I^-1 of the bodies of a side: xx, xy, yy, xz, yz, zz; of round ones the first alone.  In the
 * plane the first and the last are the diagonal of M^-1. */
enum { LANES_INERTIA = 6 };

struct perp_scheme_lanes {
  perp_arena grown;
  size_t capacity;
  int end[LANES_COLOURS]; /* groups before the end of a colour */
  int colours, groups, rows, ties, inertias;
  bool alone; /* those of the last colour have a body in common */
  lanes_group *group;
  lanes_row *row;
  lanes_tie *tie;
  perp_v4 *inertia;
};

/* x[i][k] becomes x[k][i]. */
PERP_CLONE_INLINE void lanes_transpose(perp_v4 x[LANES])
{
  const perp_v4 a = PERP_TURN4(x[0], x[1], true), b = PERP_TURN4(x[2], x[3], true);
  const perp_v4 c = PERP_TURN4(x[0], x[1], false), d = PERP_TURN4(x[2], x[3], false);
  x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  x[2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* y = I^-1 t of a side */
PERP_CLONE_INLINE void lanes_weigh(bool plane, bool round, int side, const perp_v4 *inertia,
                                   const perp_v4 t[3], perp_v4 y[3])
{
  const perp_v4 *I = inertia + (round ? 1 : LANES_INERTIA) * side;
  if (plane || round) {
    for (int i = 0; i < 3; i++) y[i] = I[plane && i == 2 ? LANES_INERTIA - 1 : 0] * t[i];
    return;
  }
  y[0] = I[0] * t[0] + I[1] * t[1] + I[3] * t[2];
  y[1] = I[1] * t[0] + I[2] * t[1] + I[4] * t[2];
  y[2] = I[3] * t[0] + I[4] * t[1] + I[5] * t[2];
}

/* Component i of A^-1 (x, y), of the tangents of a contact */
#define LANES_TIMES(stick, i, x, y) ((stick)[i] * (x) + (stick)[(i) + 1] * (y))

/* p, bias, soft and inverse of the contacts of fours [first, end) from perp_scheme_contact; p and
 * slides back. */
void perp_scheme_lanes_load(const perp_scheme *scheme, int first, int end);
void perp_scheme_lanes_store(const perp_scheme *scheme, int first, int end);

#endif
