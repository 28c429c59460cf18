/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redundant constraints: which rows of J depend on others, decided once for a step, for all KKT
 * formulations. */
#ifndef PERP_REDUNDANCY_H
#define PERP_REDUNDANCY_H

#include "models/stepping/formulation.h"

typedef struct perp_redundancy perp_redundancy;

/* *view: what the formulation is to simulate, a shallow copy of model that knows the rows that are
 * left out; without loops of joints, and with more than a few hundred rows that close them, the
 * model itself and *out NULL. accelerations: rows have to be consistent in J a = -Jdot v, too.
 * PERP_ERR_NOMEM, and what `tree` answers. */
perp_status perp_redundancy_create(perp_ctx *ctx, perp_model *model, double h, bool accelerations,
                                   perp_model **view, perp_redundancy **out);
void perp_redundancy_destroy(perp_redundancy *redundancy); /* NULL is fine */
/* After the creation, too: no step has been made; the rows of the start, quaternions of any length.
 * Errors as of perp_redundancy_decide. */
perp_status perp_redundancy_restart(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                    const double *q, const double *v);
/* Decide the rows for the step that starts at (t, q, v); drift: |C|_inf before the projection at
 * the end of the last step, NaN: not known.  *reason: PERP_EXACT; PERP_INFEASIBLE: rows that depend
 * on others contradict them.  O(N k + k^3) for N bodies and k rows that close loops, in each step
 * while rows are left out; else when the motion may have come half of its way to a singular
 * position.  With more than 10 of these rows once in (k / 10)^2 steps (of up to 64, while none are
 * left out). */
perp_status perp_redundancy_decide(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                   const double *q, const double *v, double drift,
                                   perp_reason *reason);
/* The multipliers [m] of least norm with the same forces on the bodies, at the state of the last
 * decision; lambda itself where no rows are left out, and with more than 64 rows that close loops.
 * Lives until the next call. */
const double *perp_redundancy_share(perp_redundancy *redundancy, const double *lambda);
/* The same at another state (t, q) of the step, in lambda.  O(N k + k^3). */
perp_status perp_redundancy_share_at(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                     const double *q, double *lambda);
const perp_redundant *perp_redundancy_report(const perp_redundancy *redundancy);

#endif
