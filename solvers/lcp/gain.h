/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of several answers that are no solutions does the least harm?  For those who must go on
 * with one: the composite solver `rescue`, and contact steps (models/contact). */
#ifndef PERP_LCP_GAIN_H
#define PERP_LCP_GAIN_H

#include "solvers/lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this rating the multipliers of a failed solve are used as they are. */
#define PERP_USABLE 1e-3
/* Multipliers of a failed solve with a larger gain throw bodies: they lose to any that do not. */
#define PERP_THROWN 10

typedef struct perp_lcp_candidate {
  double rating, gain;
} perp_lcp_candidate;

/* Of lambda [n], with the row scales a [n] and w = A lambda + b: rel, or, where that is more,
 * PERP_USABLE times what is left in units of the data (both figures of perp_lcp_rate).  What is
 * nothing beside the impulses of heavy bodies may throw a light one.  NaN where a number is not
 * finite.  O(n), no allocation. */
double perp_lcp_rating(const perp_lcp *lcp, const double *a, const double *lambda, const double *w);

/* How far beyond what the rows ask for multipliers go.  With the least ones lambda_0 = clamp(0, lo,
 * hi) and w_0 = A lambda_0 + b, the larger one of
 *
 *      max_i |w - w_0|_i / s,     sqrt(max(K, W) / max(E, mass s^2 / 2)),     s = max_i |w_0|_i,
 *      K = |(lambda - lambda_0)' (w - w_0)| / 2,     W = sum_i max((lambda - lambda_0)_i w_i, 0),
 *      E = sum_i a_i r_i^2 / 2,     r the natural map at lambda_0:
 *
 * changes of velocity at the contacts; and, as a ratio of velocities, the kinetic energy of the
 * change or what the rows feed in, over what each contact alone would need, or all bodies of the
 * problem at the speed s (a light body that carries a heavy one: the contact of the light one knows
 * nothing of it).  mass [kg] is that of all bodies, 0 where it is not known.  A solution has W = 0,
 * as each row is complementary, hence K + b' lambda <= -K (lambda_0 = 0): the bodies gain at most
 * the work -bias' lambda that gaps and stabilization ask for.  Of contacts that contradict each
 * other that bound says nothing: impulses along z >= 0, A z = 0, b' z < 0 may be of any size, and
 * bodies are thrown by their rounding.  So it is K itself that is measured.  0 where lambda changes
 * nothing; infinite where w is not finite.
 *
 * lambda, w [n] in; none [n] out: lambda_0; w0 [n] out; scratch [2 nv].  O(n) where zero is within
 * the bounds, else a product.  No allocation.  Source: none; the bound is the energy balance of a
 * time step (Anitescu and Potra 1997). */
double perp_lcp_gain(const perp_lcp *lcp, const double *a, double mass, const double *lambda,
                     const double *w, double *none, double *w0, double *scratch);

/* Is `now` better than `best`?  Of two that throw bodies (gain above PERP_THROWN) the one that
 * throws less, of two that do not the one with the smaller rating. */
bool perp_lcp_better(perp_lcp_candidate now, perp_lcp_candidate best);

#ifdef __cplusplus
}
#endif

#endif
