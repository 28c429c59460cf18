/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servos: drives whose force is a function of the state,
 *
 *      force = -k (x - target(t)) - d (xdot - velocity(t)),   at most max_force,
 *
 * with k = `stiffness` and d = `damping`, one of them above 0, and without limits (Vondrak 2005,
 * section 7.4).  Formulations that solve smooth equations serve these and no other drives
 * (PERP_FORM_SERVOS): a limit is an impact, and a motor without damping has any force up to
 * max_force at its velocity.  Private. */
#ifndef PERP_SERVOS_H
#define PERP_SERVOS_H

#include "models/multibody/model_private.h"

/* The first drive that acts and is no servo, nor (motors) a motor without damping and without
 * bound, -1: there is none.  *what: why, as "has limits". */
int perp_servos_other(const perp_model *model, bool motors, const char **what);
/* f [nv] += J' force of all servos at (t, v), of which eval has the poses; force [drives] along the
 * coordinate of each, N or N m; NULL: not wanted.  O(drives), nothing where there are none. */
void perp_servos_apply(const perp_model *model, const perp_eval *eval, double t, const double *v,
                       double *force, double *f);

#endif
