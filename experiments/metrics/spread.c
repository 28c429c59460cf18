/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/metrics/spread.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

#define BIN_LEAST 1e-12
#define BIN_WIDTH 1.01
enum { BINS = 6944 }; /* log(1e30) / log(1.01), and one of zeros */

static int spread_bin(double x)
{
  if (!(x > BIN_LEAST)) return 0;
  const double k = 1 + log(x / BIN_LEAST) / log(BIN_WIDTH);
  return k < BINS - 1 ? (int)k : BINS - 1;
}

/* The numbers so far become counts. */
static perp_status spread_count(perp_ctx *ctx, perp_cell_list *list)
{
  list->bin = calloc(BINS, sizeof *list->bin);
  if (list->bin == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d bins", BINS);
  for (int i = 0; i < list->n; i++) list->bin[spread_bin(list->x[i])]++;
  free(list->x);
  list->x = NULL;
  list->n = list->cap = 0;
  return PERP_OK;
}

perp_status perp_cell_add(perp_ctx *ctx, perp_cell_list *list, double x)
{
  if (list->n == PERP_LIST_EXACT) PERP_TRY(spread_count(ctx, list));
  list->least = list->total > 0 ? fmin(list->least, x) : x;
  list->most = list->total > 0 ? fmax(list->most, x) : x;
  list->total++;
  if (list->bin != NULL) {
    list->bin[spread_bin(x)]++;
    return PERP_OK;
  }
  if (list->n == list->cap) {
    const int cap = list->cap < PERP_LIST_EXACT / 2 - 512 ? 2 * list->cap + 1024 : PERP_LIST_EXACT;
    double *more = realloc(list->x, (size_t)cap * sizeof *more);
    if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d steps", cap);
    list->x = more;
    list->cap = cap;
  }
  list->x[list->n++] = x;
  return PERP_OK;
}

void perp_cell_clear(perp_cell_list *list)
{
  free(list->x);
  free(list->bin);
  *list = (perp_cell_list){ 0 };
}

/* The middle of the bin that holds the order statistic. */
static double spread_quantile(const perp_cell_list *list, double q)
{
  const int64_t rank = (int64_t)(q * (double)(list->total - 1));
  int64_t before = 0;
  int k = 0;
  while (k < BINS - 1 && before + list->bin[k] <= rank) before += list->bin[k++];
  const double middle = k == 0 ? 0 : BIN_LEAST * pow(BIN_WIDTH, k - 0.5);
  return fmin(fmax(middle, list->least), list->most);
}

perp_spread perp_cell_spread(perp_cell_list *list)
{
  const size_t n = (size_t)list->n;
  if (list->bin != NULL)
    return (perp_spread){ .median = spread_quantile(list, 0.5),
                          .p99 = spread_quantile(list, 0.99),
                          .most = list->most,
                          .quartiles = spread_quantile(list, 0.75) - spread_quantile(list, 0.25) };
  if (n == 0) return (perp_spread){ nan(""), nan(""), nan(""), nan("") };
  gsl_sort(list->x, 1, n);
  return (perp_spread){ .median = gsl_stats_median_from_sorted_data(list->x, 1, n),
                        .p99 = gsl_stats_quantile_from_sorted_data(list->x, 1, n, 0.99),
                        .most = list->x[n - 1],
                        .quartiles = gsl_stats_quantile_from_sorted_data(list->x, 1, n, 0.75) -
                                     gsl_stats_quantile_from_sorted_data(list->x, 1, n, 0.25) };
}
