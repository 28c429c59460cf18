/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of studies; the first is the one of a study file that names none. */
#include "experiments/lcp/kind_lcp.h"
#include "experiments/simulate/kind_simulate.h"

const perp_cell_kind *const perp_cell_kinds[] = { &perp_kind_simulate, &perp_kind_lcp, NULL };
