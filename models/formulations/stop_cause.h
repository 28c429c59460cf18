/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a step was not made, for those who have to change something: the method, the cause and options that mend it. */
#ifndef PERP_STOP_CAUSE_H
#define PERP_STOP_CAUSE_H

#include "models/stepping/formulation.h"

enum { PERP_STOP_CAUSE = 400 };

/* text [PERP_STOP_CAUSE] of a step of at most h from q [nq] at t that failed with `reason`; "" where there is nothing more to
 * say.  ode, kkt: NULL where the formulation has none.  Allocates, and counts the rank of J in O(m^3), m rows. */
void perp_stop_cause(const perp_model *model, const perp_desc *formulation, const perp_desc *ode,
                     const perp_desc *kkt, double h, double t, const double *q, perp_reason reason,
                     char *text);

#endif
