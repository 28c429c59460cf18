/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_KIND_LCP_H
#define PERP_KIND_LCP_H

#include "experiments/study/kind.h"

/* Complementarity problems, each with every solver at every target: `kind: lcp`. */
extern const perp_cell_kind perp_kind_lcp;

#endif
