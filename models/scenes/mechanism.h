/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mechanisms: joints given by points of the world in the initial state.  Private. */
#ifndef PERP_MECHANISM_H
#define PERP_MECHANISM_H

#include "models/scenes/build.h"

/* The point p of the world in the frame of a body (PERP_WORLD: p itself), in the initial state;
 * model not yet finished. */
void perp_mechanism_local(const perp_model *model, int body, const double p[3], double s[3]);
/* Join bodies a and b at the point p of the world; axis (world, NULL: none) of hinges and
 * sliders. */
perp_status perp_mechanism_join(perp_ctx *ctx, perp_model *model, perp_joint_kind kind, int a,
                                int b, const double p[3], const double *axis);

#endif
