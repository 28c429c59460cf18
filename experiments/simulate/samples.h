/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a run is looked at: samples never change its steps, so that error, time, steps and
 * evaluations belong to one and the same march.
 *
 * Errors are those of accepted states: a run is compared with a truth that answers at any time at
 * the first accepted state at or after each multiple of the sample time, and at the end, which the
 * last step meets exactly.  A reference file answers at its rows only: adaptive runs are compared
 * there by dense output (perp_ode_dense_at, as accurate as the march), fixed steps where they meet.
 *
 * Rows of a series and frames of a replay of adaptive runs are on the grid of samples, by dense
 * output; formulations that have none give the accepted state instead.  A row says the errors of
 * its own state; those of the metrics are as above, series or not.  A film has frames of its own,
 * PERP_REPLAY_FRAMES over the run. */
#ifndef PERP_SAMPLES_H
#define PERP_SAMPLES_H

#include "experiments/simulate/simulate_run.h"

/* Choose the truths, and take memory. */
perp_status perp_samples_create(perp_ctx *ctx, perp_cell_run *run);
void perp_samples_destroy(perp_cell_run *run);
/* What lies between the accepted states at t_last and t, the run being at t: before
 * perp_measure_state. */
perp_status perp_samples_between(perp_ctx *ctx, perp_cell_run *run, double t_last, double t,
                                 const perp_step_info *info);
/* The accepted state (t, q, v), after perp_measure_state; count: steps so far; end: it is the last
 * one.  info: of its step, NULL for the first state. */
perp_status perp_samples_at(perp_ctx *ctx, perp_cell_run *run, int64_t count, double t_last,
                            double t, const double *q, const double *v, bool end,
                            const perp_step_info *info);

#endif
