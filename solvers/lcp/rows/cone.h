/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_LCP_CONE_H
#define PERP_LCP_CONE_H

#include <stdbool.h>

/* One contact with Coulomb's circular cone:  w = K x + q,  x = (n, t1, t2),  K 3 x 3 column-major,
 * its tangential block symmetric positive semidefinite, K_nn > 0: n >= 0, w_n >= 0, n w_n = 0;
 * |x_T| <= mu n;   w_T = -kappa x_T, kappa >= 0,  kappa = 0 inside. Exact up to rounding; open,
 * sticking and sliding are tried in this order, and one of them always exists. False (x untouched)
 * when K_nn <= 0 or something is not finite.  No allocation.  For the source see cone.c. */
bool perp_cone_solve(double mu, const double *K, const double *q, double *x);
/* The same by bisection of the direction of sliding, see cone_bisect.c: to about 1e-15 of the
 * angle.  False, too, where no direction is found. */
bool perp_cone_bisect(double mu, const double *K, const double *q, double *x);

#endif
