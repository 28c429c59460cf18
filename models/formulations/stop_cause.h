/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a step was not made, for those who have to change something: the method, the cause and
 * options that mend it. */
#ifndef PERP_STOP_CAUSE_H
#define PERP_STOP_CAUSE_H

#include "models/stepping/formulation.h"

enum { PERP_STOP_CAUSE = 400 };

/* text [PERP_STOP_CAUSE] of a step of at most h from q [nq], v [nv] at t that failed with `reason`;
 * "" where there is nothing more to say.  ode, kkt: NULL where the formulation has none.  known:
 * redundant rows, as perp_sim_redundant has them; NULL: they are found by the same rule, which
 * allocates. */
void perp_stop_cause(perp_ctx *ctx, perp_model *model, const perp_desc *formulation,
                     const perp_desc *ode, const perp_desc *kkt, const perp_redundant *known,
                     double h, double t, const double *q, const double *v, perp_reason reason,
                     char *text);

#endif
