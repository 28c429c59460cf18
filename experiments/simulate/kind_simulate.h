/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of study whose cells are simulations. */
#ifndef PERP_KIND_SIMULATE_H
#define PERP_KIND_SIMULATE_H

#include "experiments/study/plan.h"
#include "experiments/simulate/simulate.h"

extern const perp_cell_kind perp_kind_simulate;

/* The simulation of a cell of this kind; the texts are those of the cell. */
perp_request perp_kind_simulate_request(const perp_cell *cell);

#endif
