/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps of the acceleration level without contacts and actuators (derivative.h). */
#ifndef PERP_DERIVATIVE_SMOOTH_H
#define PERP_DERIVATIVE_SMOOTH_H

#include "models/stepping/variational.h"

/* k and the system of the formulation, whose user begins with a pointer to the model; d->own.
 * PERP_ERR_UNSUPPORTED: a method or a stabilization without derivatives. */
perp_status perp_derivative_smooth_create(perp_ctx *ctx, perp_derivative *d, perp_constrained *k,
                                          const perp_spec *method, const perp_ode_sys *sys);
/* The columns of a state that was projected onto the constraints. */
perp_status perp_derivative_smooth_reset(perp_ctx *ctx, perp_derivative *d);
/* Those of the end of the step. */
perp_status perp_derivative_smooth_step(perp_ctx *ctx, perp_derivative *d);

/* Tangent coordinates of numbers dq [nq] at q, and back; out may not be dq. */
void perp_derivative_tangent(const perp_model *model, const double *q, const double *dq,
                             double *out);
void perp_derivative_numbers(const perp_model *model, const double *q, const double *dq,
                             double *out);

#endif
