/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact and friction models: how a set of contacts becomes a complementarity problem.
 *
 * The velocity-level problem of one island (STAR 2012, sections 3.1.4 and 3.1.5; Cline 2002, section
 * 2.7.3): with the velocity v^ the island would reach in the step without contact forces,
 *
 *      v+ = v^ + H J_c' lambda,     u+ = J_c v+   (relative velocity at the contacts)
 *      0 <= lambda_n  perp  n . u+ + bias >= 0,    friction opposes the tangential u+
 *
 * where H = M^-1, or M^-1 - M^-1 J' (J M^-1 J' + S)^-1 J M^-1 when the joints of the island are
 * eliminated.  bias holds the gap (gap / h, Stewart and Trinkle), restitution and stabilization.  A
 * model says which rows stand for a contact, how they are bounded, and what an impulse is in the end. */
#ifndef PERP_CONTACT_H
#define PERP_CONTACT_H

#include "models/shapes/collision.h"

enum {
  PERP_CONTACT_FRICTION = 1 << 0, /* has tangential forces */
  PERP_CONTACT_BOX = 1 << 1,      /* friction rows bounded by mu times their normal multiplier */
  PERP_CONTACT_CONE = 1 << 2,     /* exact circular cone: lcp with PERP_LCP_CONE */
  PERP_CONTACT_DENSE = 1 << 3 /* extra rows beyond J M^-1 J' + S (polyhedral cone): dense only */
};

#endif
