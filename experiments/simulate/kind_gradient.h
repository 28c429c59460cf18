/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_KIND_GRADIENT_H
#define PERP_KIND_GRADIENT_H

#include "experiments/study/kind.h"

/* Derivatives of steps, beside difference quotients: `kind: gradient`. */
extern const perp_cell_kind perp_kind_gradient;

#endif
