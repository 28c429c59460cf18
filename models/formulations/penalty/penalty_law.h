/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Force laws of penalty contacts and limits.
 *
 * Normal (Hunt & Crossley 1975): of a depth d >= 0 that grows at the rate d',
 *
 *      f = max(0, k d^n + D d'),      D = min(k d^n c, 2 zeta sqrt(n k d^(n-1) m))
 *
 * a spring whose dashpot grows with its load, so that the force begins at zero and never pulls.  A
 * free impact at the speed v_i has v dv / (1 + c v) = -(k / m) d^n dd on the way in and out,
 * whatever k, n and m are, and leaves at e v_i where
 *
 *      x - ln(1 + x) = -e x - ln(1 - e x),      c = x / v_i
 *
 * (c = 3 (1 - e) / (2 v_i) of Hunt & Crossley for e near 1; Lankarani & Nikravesh 1990 have 3 (1 -
 * e^2) / (4 v_i)).  The bound on D is a damping ratio zeta for the effective mass m of the contact:
 * it keeps a loaded contact, and one that is met slowly, from a dashpot that no explicit step could
 * follow.  An impact does not reach it while sqrt((x - ln(1 + x)) / 2) <= zeta: for zeta = 1, e >=
 * 0.27.  With less e the rebound is larger than e, 0.16 at e = 0.1 and exp(-2) = 0.135 at e = 0.
 *
 * Of the volume of overlap V of two shapes (STAR 2012, section 7.1; Allard et al. 2010), the spring
 * is minus the gradient of the energy k V^(n+1) / (n+1): one force for the pair, k V^n A along the
 * normal of the section at its centroid, A its area.  The dashpot is the same, with the stiffness n
 * k V^(n-1) A^2 in the place of n k d^(n-1); dV / dt = A d' at the centroid.
 *
 * Tangential (Cundall & Strack 1979): a spring between the two points that met, with a slip limit.
 * Of the displacement s and the velocity u along the surface, with P the projection on the disk of
 * radius mu f (mu_dynamic f where it slides),
 *
 *      f_t = -P(P(k_t s) + c_t u),
 *
 * and after a step s is what P left of it.  Both laws are passive: power is taken, or stored and
 * given back. */
#ifndef PERP_PENALTY_LAW_H
#define PERP_PENALTY_LAW_H

#include <stdbool.h>

/* Parameters of both laws. */
typedef struct perp_penalty_law {
  double stiffness, exponent; /* k, N/m^n; n */
  bool volume;                /* of contacts: k V^n A in place of k d^n */
  double damping_ratio;       /* zeta */
  double threshold;           /* m/s: v_i of slower approaches */
  double tangent_stiffness;   /* k_t, N/m */
  double tangent_ratio;       /* damping ratio of c_t = 2 tangent_ratio sqrt(k_t m) */
} perp_penalty_law;

/* What the spring alone does. */
typedef struct perp_penalty_spring {
  double force, stiffness, energy; /* N, its derivative by the depth in N/m, J */
} perp_penalty_spring;
/* k d^n of a depth; zeros where it is <= 0. */
perp_penalty_spring perp_penalty_depth(const perp_penalty_law *law, double depth);
/* k V^n A of a volume and the area of its section, without the change of that area in the
 * stiffness. */
perp_penalty_spring perp_penalty_volume(const perp_penalty_law *law, double volume, double area);

/* x of a coefficient of restitution e in [0, 1]; infinite at 0.  Bounded bisection. */
double perp_penalty_factor(double e);
/* f of a spring and the rate of its depth; factor: x, approach: v_i, mass: m. */
double perp_penalty_normal(const perp_penalty_law *law, double factor, double approach, double mass,
                           const perp_penalty_spring *spring, double rate);

/* What a contact does to the energy of its bodies.  A passive one has taken more than it has given
 * at any time.  What has given a quarter more than it had taken at most, and by more than `least`
 * (J), is no longer the motion of the law: the step is too long for it. */
#define PERP_PENALTY_GAIN 0.25
typedef struct perp_penalty_ledger {
  double work, taken; /* J: done on the bodies so far, and -work at most */
} perp_penalty_ledger;
/* false: it has. */
bool perp_penalty_ledger_add(perp_penalty_ledger *ledger, double work, double least);

#endif
