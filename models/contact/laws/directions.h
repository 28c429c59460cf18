/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directions that span the tangent plane positively, for friction cones of n_d edges; private to
 * this folder. */
#ifndef PERP_CONTACT_DIRECTIONS_H
#define PERP_CONTACT_DIRECTIONS_H

enum { PERP_DIRECTIONS_MAX = 64 };

typedef struct perp_directions {
  int k;                            /* how many */
  double d[2][PERP_DIRECTIONS_MAX]; /* components along t1 and t2 */
} perp_directions;

/* d_j = cos(2 pi j / k) t1 + sin(2 pi j / k) t2, k >= 3; in the plane t1 and -t1, whatever k. Those
 * of even k are exactly opposite in pairs. */
void perp_directions_set(perp_directions *w, int dim, int k);
/* (x, y) = part[0] d_at[0] + part[1] d_at[1], those beside it, part >= 0; at[1] follows at[0] (in
 * the plane y = 0). */
void perp_directions_beside(const perp_directions *w, double x, double y, int at[2],
                            double part[2]);
/* The block of two contacts: out [na x nb] = Ca in Cb', in [ra x rb] at leading dimension ld_in,
 * out at ld.  Rows of C have three coefficients, in (n, t1, t2), of which the first ra or rb count.
 * nb at most PERP_DIRECTIONS_MAX + 1. */
void perp_directions_expand(const double *Ca, int na, int ra, const double *Cb, int nb, int rb,
                            const double *in, int ld_in, double *out, int ld);

#endif
