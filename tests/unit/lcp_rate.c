/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures without all row scales are those with all of them. */
#include "solvers/lcp/lcp_private.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

enum { BLOCKS = 30, GROUPS = 130, TRIALS = 60 };

static double apart(double x, double y)
{
  return isfinite(x) && isfinite(y) ? fabs(x - y) / fmax(fabs(y), 1e-300) : HUGE_VAL;
}

int main(void)
{
  perp_rng *g = perp_rng_create(5);
  double worst = 0;
  int taken = 0, left = 0, split = 0, less = 0, spared = 0, strange = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    random_lcp r = random_factored(g, BLOCKS, GROUPS, trial % 5 == 4 ? SHAPE_ANY : SHAPE_CONTACTS,
                                   trial % 5 == 4 ? 0 : trial % 3, trial % 2 ? 0.3 : 0);
    perp_lcp p = *random_as_factored(&r);
    const size_t n = (size_t)p.n, nv = (size_t)r.F.nv;
    double *x = random_own(&r, n, sizeof *x), *w = random_own(&r, n, sizeof *w);
    double *a = random_own(&r, n, sizeof *a), *exact = random_own(&r, n, sizeof *a);
    double *scratch = random_own(&r, PERP_LCP_SCRATCH(n, nv), sizeof *x);
    double *unit = random_own(&r, n, sizeof *unit);
    double rel[3], data[3];
    for (size_t i = 0; i < n; i++) x[i] = perp_rng_uniform(g, 0, 1);
    for (size_t i = 0; i < n; i++) unit[i] = perp_rng_uniform(g, 0.5, 2);
    if (trial % 4 == 0) p.unit = unit;
    perp_lcp_scales(&p, exact, scratch);
    perp_lcp_product(&p, x, w, scratch);
    /* nearer to a solution, so that other rows are the worst */
    for (int sweep = 0; sweep < trial % 7; sweep++) {
      for (size_t i = 0; i < n; i++) {
        double lo, hi;
        perp_lcp_bounds(&p, x, (int)i, &lo, &hi);
        x[i] = fmin(fmax(x[i] - 0.2 * w[i] / exact[i], lo), hi);
      }
      perp_lcp_product(&p, x, w, scratch);
    }
    perp_lcp_rate(&p, exact, x, w, &rel[0], &data[0]);
    for (int threads = 1; threads < 3; threads++) {
      r.F.threads = threads;
      if (!perp_lcp_rate_factored(&p, x, w, a, scratch, &rel[threads], &data[threads])) {
        left += p.n >= 256;
        continue;
      }
      taken++;
      worst = fmax(worst, apart(rel[threads], rel[0]));
      less += data[threads] < data[0] * (1 - 1e-12);
      if (threads == 2) split += rel[1] != rel[2] || data[1] != data[2];
    }
    for (size_t i = 0; i < n; i++) spared += apart(a[i], exact[i]) > 1e-9;
    w[n / 2] = (double)NAN;
    if (perp_lcp_rate_factored(&p, x, w, a, scratch, &rel[1], &data[1]))
      strange += !isnan(rel[1]) || !isnan(data[1]);
    random_free(&r);
  }
  ok(taken > TRIALS / 2,
     "%d of %d problems are rated without all scales (%d had too many that count)", taken,
     2 * TRIALS, left);
  ok(spared > 0, "%d scales were not needed", spared);
  below(worst, 1e-12, "the figures are those of perp_lcp_rate with all scales");
  ok(less == 0, "data is what perp_lcp_rate makes of it, or more");
  ok(split == 0, "one thread and two: the same bits");
  ok(strange == 0, "what is not finite has no figures");
  perp_rng_destroy(g);
  return tap_done();
}
