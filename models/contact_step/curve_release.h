/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulations in which points leave their curves.  Private. */
#ifndef PERP_CURVE_RELEASE_H
#define PERP_CURVE_RELEASE_H

#include "models/stepping/formulation.h"

typedef struct perp_curve_release perp_curve_release;
/* *view: what the formulation is to simulate, a shallow copy of model that knows released joints; without a
 * curve that ends *out is NULL and *view the model.  Both are borrowed by the workspace of form.
 * PERP_ERR_UNSUPPORTED: a formulation that runs others. */
perp_status perp_curve_release_create(perp_ctx *ctx, perp_model *model,
                                      const perp_formulation_desc *form, perp_model **view,
                                      perp_curve_release **out);
void perp_curve_release_destroy(perp_curve_release *k);
/* All joints hold again; restart the formulation afterwards. */
void perp_curve_release_restart(perp_curve_release *k);
/* A step of the formulation; when a point passes the end of its curve, the step up to there. */
perp_status perp_curve_release_step(perp_ctx *ctx, perp_curve_release *k, void *ws, double t_max,
                                    perp_step_info *info);

#endif
