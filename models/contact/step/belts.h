/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Surfaces that move along themselves (belts): what they add to the relative velocity of a contact,
 * b less a, in the tangential plane.  The gap does not feel them. */
#ifndef PERP_BELTS_H
#define PERP_BELTS_H

#include "models/collision/collision.h"
#include "models/multibody/model_private.h"

/* u [3] += the velocities of the surfaces at the time t, at the poses of e. */
void perp_belts_velocity(const perp_model *model, const perp_eval *e, const perp_contact *x,
                         double t, double u[3]);
/* a [3] += their rates for bodies that move with v [nv], at the time of e. */
void perp_belts_rate(const perp_model *model, const perp_eval *e, const perp_contact *x,
                     const double *v, double a[3]);

#endif
