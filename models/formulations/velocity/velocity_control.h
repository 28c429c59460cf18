/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time stepping of the velocity level under the error control of models/stepping/controlled.h.
 * Private. */
#ifndef PERP_VELOCITY_CONTROL_H
#define PERP_VELOCITY_CONTROL_H

#include "models/stepping/controlled.h"
#include "models/contact/step/stepping.h"

#define PERP_VELOCITY_LONGEST 1e6 /* s: the fixed step of the ode, which the control cuts */

/* m/s: up to this speed contacts hold with their static friction.  What begins to slide reaches it
 * after a time that goes with its root: so that no position is late by more than the accuracy.
 * Rounding is not sliding. */
static inline double perp_velocity_slip(double accuracy)
{
  return fmax(accuracy * accuracy, 1e-12);
}
/* Options of contacts as the control of an accuracy > 0 needs them: how steps depend on their
 * length must be seen to rounding, so that gaps are closed to 1e-14 of the largest body and no
 * solution is taken from the step before. PERP_ERR_UNSUPPORTED: steps that cannot be made again,
 * sleep and substeps; PERP_ERR_OPTION: the ode has a tolerance of its own. */
perp_status perp_velocity_controls(perp_ctx *ctx, const perp_parts *parts, double accuracy,
                                   perp_contact_opts *contact);
/* The control over w, which must outlive it.  Allocates. */
perp_status perp_velocity_control(perp_ctx *ctx, perp_stepping *w, double accuracy, double h,
                                  perp_controlled **out);

#endif
