/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time stepping of the velocity level under the error control of models/controlled. Private. */
#ifndef PERP_VELOCITY_CONTROL_H
#define PERP_VELOCITY_CONTROL_H

#include "models/controlled/controlled.h"
#include "models/formulations/stepping.h"

#define PERP_VELOCITY_LONGEST 1e6 /* s: the fixed step of the ode, which the control cuts */

/* m/s: up to this speed contacts hold with their static friction.  What begins to slide reaches it after a time that goes
 * with its root: so that no position is late by more than the accuracy.  Rounding is not sliding. */
static inline double perp_velocity_slip(double accuracy)
{
  return fmax(accuracy * accuracy, 1e-12);
}
/* Can steps with these parts and options be made again?  PERP_ERR_UNSUPPORTED: sleep, substeps; PERP_ERR_OPTION: the ode
 * has a tolerance of its own. */
perp_status perp_velocity_controls(perp_ctx *ctx, const perp_parts *parts,
                                   const perp_contact_opts *contact);
/* The control over w, which must outlive it.  Allocates. */
perp_status perp_velocity_control(perp_ctx *ctx, perp_stepping *w, double accuracy, double h,
                                  perp_controlled **out);

#endif
