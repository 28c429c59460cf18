/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shapes that incremental potential contact takes, and thinner ones made of them. */
#ifndef PERP_IPC_SHAPES_H
#define PERP_IPC_SHAPES_H

#include "models/formulations/schemes/ipc_energy.h"

/* PERP_ERR_UNSUPPORTED: shapes without features, restitution, two coefficients of friction,
 * compliant joints; the message names them. */
perp_status perp_ipc_serves(perp_ctx *ctx, const perp_model *model);
/* Shape i of w->thin becomes thinner by w->inset / 2 on all sides; w->hull[i] is its hull then.
 * PERP_ERR_UNSUPPORTED: polytopes, and shapes of which nothing is left. */
perp_status perp_ipc_thin(perp_ctx *ctx, perp_ipc *w, int i);

#endif
