/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time left after a tenth of a run, of cells whose cost is known: a start, and so much a step.
 */
#include "experiments/base/progress.h"
#include "solvers/core/core.h"

#include "tests/tap.h"

#include <math.h>

enum { CELLS = 2000 };

/* said / true after a tenth of the cells in mixed order */
static double after_a_tenth(double start, double step, double noise, int jobs)
{
  perp_rng *rng = perp_rng_create(7);
  perp_progress p;
  double work[CELLS], cost[CELLS], all = 0, left = 0;
  int order[CELLS];
  for (int i = 0; i < CELLS; i++) {
    order[i] = i;
    work[i] = 10 * pow(10, i % 4); /* 10 to 10 000 steps */
    cost[i] = (start + step * work[i]) * exp(noise * perp_rng_uniform(rng, -1, 1));
    all += work[i];
  }
  perp_rng_shuffle(rng, order, CELLS);
  perp_progress_begin(&p, PERP_PROGRESS_NONE, "cells", CELLS, all, jobs);
  for (int k = 0; k < CELLS; k++)
    if (k < CELLS / 10)
      perp_progress_step(&p, work[order[k]], cost[order[k]], false, NULL);
    else
      left += cost[order[k]] / jobs;
  perp_rng_destroy(rng);
  return perp_progress_left(&p) / left;
}

int main(void)
{
  static const struct {
    const char *what;
    double start, step, noise;
    int jobs;
  } cases[] = { { "starts cost all", 1, 0, 0, 1 },
                { "steps cost all", 0, 1, 0, 1 },
                { "both", 300, 1, 0, 2 },
                { "methods that differ by a factor of 16", 300, 1, 1.3863, 4 },
                { "short cells", 1000, 0.1, 0.6931, 1 } };
  perp_progress p;
  perp_progress_begin(&p, PERP_PROGRESS_NONE, "cells", 10, 10, 1);
  ok(isnan(perp_progress_left(&p)), "nothing is known before the first one is done");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const double ratio = after_a_tenth(cases[k].start, cases[k].step, cases[k].noise,
                                       cases[k].jobs);
    ok(ratio < 1.5 && ratio > 1 / 1.5, "%s: %.3f times the time that is left", cases[k].what,
       ratio);
  }
  /* without noise the fit is exact */
  ok(fabs(after_a_tenth(300, 1, 0, 1) - 1) < 1e-9, "a start and a pace are found out");
  return tap_done();
}
