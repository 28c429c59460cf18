/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows of a step are active. */
#ifndef PERP_VELOCITY_DERIVATIVE_ROWS_H
#define PERP_VELOCITY_DERIVATIVE_ROWS_H

#include "models/contact/step/velocity_derivative_residual.h"

/* The active rows of the stage, at eval = its start: lists, d->rows.  v_free [nv]: v^. */
perp_status perp_velocity_rows(perp_ctx *ctx, perp_velocity_stage *s, const double *v_free);

#endif
