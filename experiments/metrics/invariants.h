/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the motion of a run must conserve, and how far its momenta have changed. */
#ifndef PERP_INVARIANTS_H
#define PERP_INVARIANTS_H

#include "experiments/metrics/metrics.h"

/* m->conserved, from the model and from what its scene says: dissipative, driven, isolated. */
void perp_invariants_begin(perp_measure *m);
/* Momenta of an accepted state into the figures of the run.  No allocation, O(bodies). */
void perp_invariants_momentum(perp_measure *m, double t, const double *q, const double *v,
                              bool first);

#endif
