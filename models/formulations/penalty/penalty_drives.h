/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives as springs under an ODE solver (Vondrak 2005, section 7.4, without its complementarity;
 * STAR 2012, eq. 49).
 *
 * A limit has the normal law of a contact (penalty_law.h) with n = 1, k of the joints and the
 * restitution of the drive; a locked drive k and d of the joints; a servo has at most max_force:
 *
 *      locked   -k (x - lower) - d xdot
 *
 *      servo    -stiffness (x - target) - damping (xdot - velocity)
 *
 * A motor has the tangential law of a contact: a spring k to where its velocity should have taken
 * x, with the slip limit max_force; velocity 0 is dry friction, and holds what it stops.
 *
 * A motor follows its velocity with the spring between: it is late by force / k.  An angle may turn
 * by less than half a turn in a step. */
#ifndef PERP_PENALTY_DRIVES_H
#define PERP_PENALTY_DRIVES_H

#include "models/formulations/penalty/penalty_law.h"
#include "models/multibody/model_private.h"

typedef struct perp_penalty_drives perp_penalty_drives;

/* law: of limits and motors; damping: d of locked drives.  Allocates all. */
perp_status perp_penalty_drives_create(perp_ctx *ctx, const perp_model *model,
                                       const perp_penalty_law *law, double damping,
                                       perp_penalty_drives **out);
void perp_penalty_drives_destroy(perp_penalty_drives *drives); /* NULL is fine */
void perp_penalty_drives_restart(perp_penalty_drives *drives);
/* f [nv] += forces at (t, v), of which eval has the poses. */
void perp_penalty_drives_force(perp_penalty_drives *drives, const perp_eval *eval, double t,
                               const double *v, double *f);
/* (t, v) is accepted.  *passive: no limit has given more energy than it had. */
void perp_penalty_drives_accept(perp_penalty_drives *drives, const perp_eval *eval, double t,
                                const double *v, bool *passive);
const double *
perp_penalty_drives_forces(const perp_penalty_drives *drives); /* [drives], as accepted */
/* For the longest step: += K x and D x, x [nv], of all drives, limits as if they were reached. */
void perp_penalty_drives_stiffness(const perp_penalty_drives *drives, const perp_eval *eval,
                                   const double *x, double *stiffness, double *damping);

#endif
