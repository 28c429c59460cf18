/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impact laws of one contact (STAR 2012, section 2.1.6): the impulse p that a contact gives when
 * its bodies meet.
 *
 * The relative velocity u = (u_n, u_t) of the two bodies at the contact changes with p as
 *
 *      u+ = u + A p,      A = J_c M^-1 J_c',     |p_t| <= mu p_n,
 *
 * with positions as they are.  Newton's and Poisson's laws are a complementarity problem of all
 * contacts and are not here (models/contact/step/islands.c).  The two laws of this file have the
 * whole course of one impact, or its extremes:
 *
 * Stronge (1990): u and p go along the path of Routh, on which the normal impulse grows and
 * friction opposes the slip at each instant,
 *
 *      du/dp_n = A (1, -mu u_t / |u_t|),   or  du_t = 0
 *
 * where the slip has stopped and the cone holds it.
 *
 * Compression does the work W_c = int u_n dp_n < 0 on the normal; the impact ends when restitution
 * has given the part e^2 of it back: int u_n dp_n = -e^2 W_c.  Normal work is never positive in
 * sum, friction never does positive work: no impact gains energy.  Where the slip stops, it sticks,
 * or goes on along the one direction that is stable.
 *
 * Chatterjee and Ruina (1998), algebraic, with p_I = -u_n / A_nn n (no friction, plastic) and p_II
 * = -A^-1 u (sticking, plastic):
 *
 *      p = (1 + e) p_I + (1 + e_t) (p_II - p_I)    where this is in the cone, else
 *
 *      p = (1 + e) p_I + kappa (p_II - p_I)
 *
 *      kappa = mu (1 + e) |p_I| / (|p_II,t| - mu n . (p_II - p_I))
 *
 * on the cone.  n . A (p_II - p_I) = 0: the rebound is e |u_n| whatever friction does.  p_I and
 * p_II - p_I are conjugate with respect to A, so that kinetic energy does not grow for 0 <= e <= 1
 * and -1 <= e_t <= 1. */
#ifndef PERP_IMPACT_H
#define PERP_IMPACT_H

#include "solvers/core/core.h"

enum { PERP_IMPACT_NEWTON, PERP_IMPACT_POISSON, PERP_IMPACT_STRONGE, PERP_IMPACT_CHATTERJEE_RUINA };
extern const char *const perp_impact_names[];

/* Of laws that have one contact at a time. */
static inline bool perp_impact_single(int law)
{
  return law >= PERP_IMPACT_STRONGE;
}

/* What the impacts of a step obey. */
typedef struct perp_impact_rule {
  int law;
  double tangential; /* e_t of Chatterjee and Ruina */
  double threshold;  /* m/s: slower approaches are plastic */
} perp_impact_rule;

/* The law of impacts, of all formulations with rigid contacts (models/contact/laws/impact.h). */
#define PERP_IMPACT_OPTIONS(type)                                                                  \
  PERP_ENUM(type, impact, PERP_IMPACT_NEWTON, perp_impact_names,                                   \
            "Impact law. newton: e multiplies the approach velocity. poisson: e multiplies the "   \
            "impulse of compression. stronge: e^2 multiplies the work of compression. "            \
            "chatterjee-ruina: as newton, with the option tangential."),                           \
      PERP_REAL(type, tangential, 0, -1, 1, 0, "",                                                 \
                "Tangential coefficient of restitution of impact=chatterjee-ruina. -1: no "        \
                "friction. 0: slip stops, within the friction cone. 1: slip reverses.")
/* PERP_ERR_OPTION: a tangential restitution that the law does not have. */
perp_status perp_impact_check(perp_ctx *ctx, int law, double tangential);

/* One contact with r rows: (n), (n, t) or (n, t1, t2). */
typedef struct perp_impact {
  int r;
  double A[9]; /* [r r] column-major, symmetric, positive semidefinite, 1/kg */
  double u[3]; /* [r] m/s, u[0] < 0 */
  double mu, e;
} perp_impact;

/* p [r], N s, by rule->law (one of those with one contact).  0 where A_nn = 0.  No allocation;
 * closed form in the plane and for slip along a fixed line, otherwise an integration to 1e-11 of
 * the path. */
void perp_impact_impulse(const perp_impact_rule *rule, const perp_impact *x, double *p);

#endif
