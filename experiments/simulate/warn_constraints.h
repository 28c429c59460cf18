/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of the constraints of a run with loops of joints. */
#ifndef PERP_WARN_CONSTRAINTS_H
#define PERP_WARN_CONSTRAINTS_H

#include "experiments/simulate/simulate_run.h"

/* After the last step, with the counts read: which rows are redundant (a line of the events);
 * warnings of singular positions, and of energy that the constraint forces took or gave. */
void perp_warn_constraints(const perp_ctx *ctx, const perp_cell_run *r);

#endif
