/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All interfaces of models/, and what comes with perp. */
#ifndef PERP_MODELS_H
#define PERP_MODELS_H

#include "models/stepping/formulation.h"
#include "models/figures/control.h"
#include "models/engines/engine.h"
#include "models/multibody/model.h"
#include "models/scenes/gauges.h"
#include "models/scenes/scene.h"
#include "models/scenes/truths.h"
#include "solvers/solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make the built-in solvers, formulations and scenes known to ctx.  PERP_ERR_NOMEM: its registry is
 * full.  No allocation. */
perp_status perp_register_models(perp_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
