/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which KKT formulation a model gets when none is named. */
#ifndef PERP_KKT_DEFAULT_H
#define PERP_KKT_DEFAULT_H

#include "models/multibody/model.h"
#include "solvers/kkt/kkt.h"

/* Of the sparse direct ones that come with perp and serve dependent rows, the one with the least
 * counted work of a factorization and two solves on the pattern of the joints (perp_kkt_desc.cost).
 * A forest, where no group of rows closes a loop, is not counted: `tree` eliminates it without
 * fill.  Analyses all of them elsewhere, which allocates, and frees it; one that finds no memory is
 * left out if another does.  *name lives as long as the registry; errors: those of the analyses. */
perp_status perp_kkt_default(perp_ctx *ctx, const perp_model *model, const char **name);

/* Does no joint connect bodies, or a body and the world, that others connect already?
 * PERP_ERR_NOMEM */
perp_status perp_kkt_forest(perp_ctx *ctx, const perp_model *model, bool *forest);

#endif
