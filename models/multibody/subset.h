/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of some bodies of another model, with all that acts on them alone. */
#ifndef PERP_SUBSET_H
#define PERP_SUBSET_H

#include "models/multibody/model_private.h"

/* Parts keep their order; x[i] is the number in the whole of part i of the subset. */
typedef struct perp_subset {
  const perp_model *whole;
  perp_model *model; /* owned */
  int n_bodies, n_joints, n_drives, n_shapes;
  int *body, *joint, *drive, *shape;
  perp_arena arena;
} perp_subset;

/* The finished model of bodies [n] (ascending) of a finished model: joints, drives and forces of
 * these bodies, their shapes and those of the world, in the initial state of the whole, so that
 * joints keep the zero of their coordinates.  No joint or force may connect a body of the subset
 * with one outside (PERP_ERR_ARG).  On failure *out is empty.  O(size of the whole). */
perp_status perp_subset_create(perp_ctx *ctx, const perp_model *whole, const int *bodies, int n,
                               perp_subset *out);
void perp_subset_destroy(perp_subset *subset);

/* State of the subset from that of the whole (q [nq], v [nv]), and back into it. */
void perp_subset_gather(const perp_subset *subset, const double *q, const double *v, double *q_sub,
                        double *v_sub);
void perp_subset_scatter(const perp_subset *subset, const double *q_sub, const double *v_sub,
                         double *q, double *v);

#endif
