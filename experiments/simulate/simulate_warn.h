/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run must conserve, how far it did, and its warnings. */
#ifndef PERP_SIMULATE_WARN_H
#define PERP_SIMULATE_WARN_H

#include "experiments/simulate/simulate_run.h"

/* A conserved quantity that changes by more than this part of its scale is a warning. */
#define PERP_LOSS_MOST 0.01

/* Before the first step: shapes that overlap, a warning each; and those that do so as drawn and do
 * not collide, a line of the events. */
perp_status perp_warn_overlaps(perp_ctx *ctx, const perp_cell_run *run);
/* After the last step, with the counts read: which rows are redundant (a line of the events);
 * warnings of singular positions, and of energy that the constraint forces took or gave. */
void perp_warn_constraints(const perp_ctx *ctx, const perp_cell_run *run);
/* Likewise: how much damping implicit steps add to the servo spring that they damp most, a line of
 * the events; where that is a tenth of its own damping and 0.001 of the critical one.
 * PERP_ERR_NOMEM. */
perp_status perp_warn_servos(perp_ctx *ctx, const perp_cell_run *run);
/* After the metrics of the result: result->invariants and its warnings.  Nothing of a run that did
 * not reach its end. */
void perp_simulate_warn(const perp_cell_run *run, perp_result *result);

/* Of forces that were asked for: not known, or not the only ones with this motion. */
void perp_warn_forces(const perp_cell_run *run);

#endif
