/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes that overlap in the initial state. */
#ifndef PERP_COLLISION_START_H
#define PERP_COLLISION_START_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The deepest pair of shapes of two bodies, a < b; depth m, the least translation that separates
 * the two shapes. */
typedef struct perp_start_overlap {
  int a, b;             /* bodies */
  int shape_a, shape_b; /* of them, in this order */
  double depth;
  double part; /* depth by the least of the widths of both shapes along the coordinate axes */
} perp_start_overlap;

/* Pairs of bodies of a finished model whose shapes may touch and overlap in the initial state by
 * more than 1e-6 of the size of the model; *list [*n] by a, then b: free() it.
 * PERP_ERR_NOMEM.  O(shapes + overlaps). */
perp_status perp_start_overlaps(perp_ctx *ctx, const perp_model *model, perp_start_overlap **list,
                                int *n);
/* Pairs that overlap as drawn collide no more (perp_model_add_no_contact): bodies that chains of
 * joints connect, and bodies with shapes of the world but planes, surfaces and fields, where such
 * a chain leads to the world.  Others are left as they are.  Before a simulation is made of the
 * model.  PERP_ERR_NOMEM. */
perp_status perp_start_filter(perp_ctx *ctx, perp_model *model);

#ifdef __cplusplus
}
#endif

#endif
