/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures over the steps of a run in bounded memory, against all numbers sorted. */
#include "experiments/metrics/spread.h"

#include "tests/tap.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

static void test_many(const char *what, int n, double share_of_zeros, double tolerance)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_cell_list list = { 0 };
  perp_rng *rng = perp_rng_create(3);
  double *all = malloc((size_t)n * sizeof *all);
  bool taken = true;
  for (int i = 0; i < n; i++) { /* five decades */
    all[i] = perp_rng_uniform(rng, 0, 1) < share_of_zeros
                 ? 0
                 : 1e-7 * pow(10, 5 * pow(perp_rng_uniform(rng, 0, 1), 3));
    taken = taken && perp_cell_add(&ctx, &list, all[i]) == PERP_OK;
  }
  gsl_sort(all, 1, (size_t)n);
  const perp_spread s = perp_cell_spread(&list);
  const double median = gsl_stats_median_from_sorted_data(all, 1, (size_t)n),
               p99 = gsl_stats_quantile_from_sorted_data(all, 1, (size_t)n, 0.99),
               q1 = gsl_stats_quantile_from_sorted_data(all, 1, (size_t)n, 0.25),
               q3 = gsl_stats_quantile_from_sorted_data(all, 1, (size_t)n, 0.75);
  ok(taken && list.total == n && list.n <= PERP_LIST_EXACT && list.cap <= PERP_LIST_EXACT,
     "%s: %d numbers in memory for %d", what, n, PERP_LIST_EXACT);
  near(s.median, median, 0, tolerance, "%s: median", what);
  near(s.p99, p99, 0, tolerance, "%s: 99th percentile", what);
  ok(fabs(s.quartiles - (q3 - q1)) <= tolerance * (q1 + q3), "%s: quartiles", what);
  ok(s.most == all[n - 1], "%s: the largest one is exact", what);
  perp_cell_clear(&list);
  perp_rng_destroy(rng);
  free(all);
}

int main(void)
{
  perp_cell_list none = { 0 };
  ok(isnan(perp_cell_spread(&none).median), "nothing has no median");
  test_many("few", 999, 0, 0);
  test_many("as many as are kept", PERP_LIST_EXACT, 0, 0);
  test_many("one more", PERP_LIST_EXACT + 1, 0, 0.006);
  test_many("a million", 1000000, 0, 0.006);
  test_many("mostly zeros", 300000, 0.6, 0.006);
  return tap_done();
}
