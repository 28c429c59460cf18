/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of study whose cells are simulations. */
#ifndef PERP_KIND_SIMULATE_H
#define PERP_KIND_SIMULATE_H

#include "experiments/runner/plan.h"
#include "experiments/runner/simulate.h"

extern const perp_cell_kind perp_kind_simulate;

/* The simulation of a cell of this kind; the texts are those of the cell. */
perp_request perp_kind_simulate_request(const perp_cell *cell);
/* How a cell with this result ended. */
perp_cell_status perp_result_status(const perp_result *result);
/* The series as CSV: time and the named fields ("drift.pos", "q" for q0, q1, ...; none = all), units in the
 * head, numbers with the fewest digits that read back identically, not a number = empty. */
void perp_series_write(const perp_series *s, const char *const *fields, int n_fields, FILE *out);

#endif
