/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulations in which joints are released: points leave their curves, joints break.  Private. */
#ifndef PERP_JOINT_RELEASE_H
#define PERP_JOINT_RELEASE_H

#include "models/stepping/formulation.h"

typedef struct perp_joint_release perp_joint_release;
/* *view: what the formulation is to simulate, a shallow copy of model that knows released joints; without a
 * curve that ends and a joint that breaks *out is NULL and *view the model.  Both are borrowed by the workspace of form.
 * PERP_ERR_UNSUPPORTED: a formulation that runs others. */
perp_status perp_joint_release_create(perp_ctx *ctx, perp_model *model,
                                      const perp_formulation_desc *form, perp_model **view,
                                      perp_joint_release **out);
void perp_joint_release_destroy(perp_joint_release *k);
/* All joints hold again; restart the formulation afterwards. */
void perp_joint_release_restart(perp_joint_release *k);
/* A step of the formulation; when a joint is released within it, the step up to there. */
perp_status perp_joint_release_step(perp_ctx *ctx, perp_joint_release *k, void *ws, double t_max,
                                    perp_step_info *info);

#endif
