/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What to type after a run. */
#ifndef PERP_NEXT_H
#define PERP_NEXT_H

#include "experiments/results/results.h"

/* Three commands for this folder, on stderr.  shown: its page is open already. */
void perp_next_say(const perp_results *results, bool shown);

#endif
