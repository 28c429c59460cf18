/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulations whose joints are switched: points leave their curves, bodies are disabled and
 * enabled.  Private. */
#ifndef PERP_SWITCHES_H
#define PERP_SWITCHES_H

#include "models/stepping/formulation.h"

typedef struct perp_switches perp_switches;
/* *view: what the formulation is to simulate, a shallow copy of model that knows what is switched;
 * without a curve that ends and a body that is disabled *out is NULL and *view the model.  Both are
 * borrowed by the workspace of form. kkt: the solver of the velocities of bodies that are disabled
 * in motion; may be empty without such. PERP_ERR_UNSUPPORTED: a formulation that runs others,
 * bodies that are disabled in motion among joints that are springs. */
perp_status perp_switches_create(perp_ctx *ctx, perp_model *model,
                                 const perp_formulation_desc *form, const perp_spec *kkt,
                                 perp_model **view, perp_switches **out);
void perp_switches_destroy(perp_switches *k);
/* All joints hold again, bodies are disabled as they are at t; then the formulation is
 * restarted. */
perp_status perp_switches_restart(perp_ctx *ctx, perp_switches *k, void *ws, double t,
                                  const double *q, const double *v);
/* A step of the formulation; when something is switched within it, the step up to there. */
perp_status perp_switches_step(perp_ctx *ctx, perp_switches *k, void *ws, double t_max,
                               perp_step_info *info);
/* Counters since the restart: those of the formulation, which is restarted at each switch, and
 * those before. */
const perp_contact_count *perp_switches_contacts(perp_switches *k, const void *ws);
void perp_switches_counters(const perp_switches *k, perp_stats *kkt);

#endif
