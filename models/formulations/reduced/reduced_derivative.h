/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps in joint coordinates (derivative.h). */
#ifndef PERP_REDUCED_DERIVATIVE_H
#define PERP_REDUCED_DERIVATIVE_H

#include "models/multibody/reduced_tree.h"
#include "models/stepping/derivative.h"

/* What the formulation lends: its tree, whose model is moved for a while, its system, and a place
 * for generalized forces [nv] beside those of the model (NULL: none). */
typedef struct perp_reduced_lent {
  perp_reduced_tree *tree;
  const perp_ode_sys *sys;
  const perp_ode *ode;
  const double **push;
} perp_reduced_lent;

perp_status perp_reduced_derivative_create(perp_ctx *ctx, const perp_reduced_lent *lent,
                                           perp_derivative *d);
/* Joint coordinates of the columns at hand. */
void perp_reduced_derivative_reset(perp_derivative *d);
void perp_reduced_derivative_before(perp_derivative *d);
void perp_reduced_derivative_step(perp_derivative *d);

#endif
