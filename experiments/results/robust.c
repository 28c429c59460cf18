/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mann and Whitney, Annals of Mathematical Statistics 18 (1947); Wilcoxon, Biometrics Bulletin 1
 * (1945); strata summed as van Elteren does (1960); percentile bootstrap after Efron and
 * Tibshirani, An Introduction to the Bootstrap (1993). */
#include "experiments/results/robust.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

static const double significance = 0.001; /* of the rank tests */

double perp_quantile(double *v, int n, double level)
{
  gsl_sort(v, 1, (size_t)n);
  double at = level * (n - 1);
  int i = (int)at;
  return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[n - 1];
}

/* ---- the interval ---- */

/* A cell as a number (log ratio) from its rounds as they are (rng NULL), or drawn again; scratch:
 * room for them. */
typedef double cell_fn(const void *cells, int k, double level, perp_rng *rng, double *scratch);

static double of_rounds(const double *v, int n, double level, perp_rng *rng, double *scratch)
{
  for (int i = 0; i < n; i++) scratch[i] = v[rng != NULL ? perp_rng_int(rng, n) : i];
  return perp_quantile(scratch, n, level);
}

static double of_pair(const void *cells, int k, double level, perp_rng *rng, double *scratch)
{
  const perp_pair *pair = (const perp_pair *)cells + k;
  double now = of_rounds(pair->now, pair->m, level, rng, scratch);
  return log(now / of_rounds(pair->base, pair->n, level, rng, scratch));
}

static double of_blocks(const void *cells, int k, double level, perp_rng *rng, double *scratch)
{
  const perp_blocks_of_cell *cell = (const perp_blocks_of_cell *)cells + k;
  return of_rounds(cell->log_ratio, cell->n, level, rng, scratch);
}

static perp_status robust_estimate(perp_ctx *ctx, cell_fn *cell, const void *cells, int n,
                                   int most_rounds, double level, int draws, perp_shift *shift)
{
  double *value = calloc((size_t)(n + draws + most_rounds), sizeof *value);
  perp_rng *rng = perp_rng_create(1);
  if (value == NULL || rng == NULL) {
    free(value);
    perp_rng_destroy(rng);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory to compare timings");
  }
  double *draw = value + n, *scratch = draw + draws;
  for (int k = 0; k < n; k++) value[k] = cell(cells, k, level, NULL, scratch);
  shift->ratio = exp(perp_quantile(value, n, 0.5));
  for (int d = 0; d < draws; d++) {
    for (int k = 0; k < n; k++) value[k] = cell(cells, perp_rng_int(rng, n), level, rng, scratch);
    draw[d] = perp_quantile(value, n, 0.5);
  }
  if (draws > 0) {
    gsl_sort(draw, 1, (size_t)draws);
    shift->lo = exp(draw[draws / 200]);
    shift->hi = exp(draw[draws - 1 - draws / 200]);
  }
  free(value);
  perp_rng_destroy(rng);
  return PERP_OK;
}

/* ---- the tests ---- */

static void set_p(perp_shift *shift, double sum, double variance)
{
  double z = variance > 0 ? sum / sqrt(variance) : 0;
  shift->p_slower = 0.5 * erfc(z / sqrt(2));
  shift->p_faster = 0.5 * erfc(-z / sqrt(2));
}

/* ---- both ---- */

static bool robust_begin(int cells, perp_shift *shift)
{
  *shift = (perp_shift){ .pairs = cells, .p_slower = 1, .p_faster = 1 };
  shift->ratio = shift->lo = shift->hi = (double)NAN;
  return cells > 0;
}

perp_status perp_shift_of(perp_ctx *ctx, const perp_pair *pair, int pairs, double level, int draws,
                          perp_shift *shift)
{
  if (!robust_begin(pairs, shift)) return PERP_OK;
  int most = 1;
  for (int k = 0; k < pairs; k++) {
    if (pair[k].n > most) most = pair[k].n;
    if (pair[k].m > most) most = pair[k].m;
  }
  PERP_TRY(robust_estimate(ctx, of_pair, pair, pairs, most, level, draws, shift));
  /* Sum over the strata of (U - nm/2) and of its variance without an effect. */
  double sum = 0, variance = 0;
  for (int k = 0; k < pairs; k++) {
    const perp_pair *p = &pair[k];
    double u = 0, weight = 1.0 / (p->n + p->m + 1);
    for (int i = 0; i < p->n; i++)
      for (int j = 0; j < p->m; j++)
        u += p->now[j] > p->base[i] ? 1 : p->now[j] == p->base[i] ? 0.5 : 0;
    double nm = (double)p->n * p->m;
    sum += weight * (u - nm / 2);
    variance += weight * weight * nm * (p->n + p->m + 1) / 12;
  }
  set_p(shift, sum, variance);
  return PERP_OK;
}

perp_status perp_shift_of_blocks(perp_ctx *ctx, const perp_blocks_of_cell *cell, int cells,
                                 int draws, perp_shift *shift)
{
  if (!robust_begin(cells, shift)) return PERP_OK;
  int most = 1;
  for (int k = 0; k < cells; k++)
    if (cell[k].n > most) most = cell[k].n;
  PERP_TRY(robust_estimate(ctx, of_blocks, cell, cells, most, 0.5, draws, shift));
  /* Sum over the strata of (W - n(n+1)/4): ranks of the absolute values, summed where the value is
   * positive. */
  double sum = 0, variance = 0;
  for (int k = 0; k < cells; k++) {
    const double *d = cell[k].log_ratio;
    int n = cell[k].n;
    double w = 0, weight = 1.0 / (n + 1);
    for (int i = 0; i < n; i++) {
      double rank = 0.5;
      for (int j = 0; j < n; j++)
        rank += fabs(d[j]) < fabs(d[i]) ? 1 : fabs(d[j]) == fabs(d[i]) ? 0.5 : 0;
      w += d[i] > 0 ? rank : d[i] == 0 ? rank / 2 : 0;
    }
    sum += weight * (w - n * (n + 1) / 4.0);
    variance += weight * weight * n * (n + 1) * (2 * n + 1) / 24.0;
  }
  set_p(shift, sum, variance);
  return PERP_OK;
}

int perp_shift_verdict(const perp_shift *shift, double tol)
{
  if (shift->ratio > 1 + tol && shift->lo > 1 + tol / 2 && shift->p_slower < significance) return 1;
  if (shift->ratio < 1 / (1 + tol) && shift->hi < 1 / (1 + tol / 2) &&
      shift->p_faster < significance)
    return -1;
  return 0;
}
