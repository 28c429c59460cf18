/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps of the velocity level. */
#ifndef PERP_VELOCITY_DERIVATIVE_H
#define PERP_VELOCITY_DERIVATIVE_H

#include "models/stepping/derivative.h"

/* Of perp_derivative_calls, for a formulation whose workspace begins with a perp_stepping. */
perp_status perp_velocity_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *d);
void perp_velocity_derivative_before(void *ws, perp_derivative *d);
perp_status perp_velocity_derivative_step(perp_ctx *ctx, void *ws, perp_derivative *d);

#endif
