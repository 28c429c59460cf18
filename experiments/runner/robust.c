/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mann and Whitney, Annals of Mathematical Statistics 18 (1947); strata summed as van Elteren does (1960);
 * percentile bootstrap after Efron and Tibshirani, An Introduction to the Bootstrap (1993). */
#include "experiments/runner/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1000 };

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n)
{
  qsort(v, (size_t)n, sizeof *v, by_size);
  return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static double least(const double *v, int n)
{
  double x = v[0];
  for (int i = 1; i < n; i++) x = fmin(x, v[i]);
  return x;
}

/* Sum over the strata of (U - nm/2) and of its variance without an effect. */
static double z_score(const perp_pair *pair, int pairs)
{
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
  return variance > 0 ? sum / sqrt(variance) : 0;
}

static double resampled(perp_rng *rng, const double *v, int n)
{
  double x = v[perp_rng_int(rng, n)];
  for (int i = 1; i < n; i++) x = fmin(x, v[perp_rng_int(rng, n)]);
  return x;
}

perp_status perp_shift_of(perp_ctx *ctx, const perp_pair *pair, int pairs, uint64_t seed,
                          perp_shift *s)
{
  const double nan_ = (double)NAN;
  *s = (perp_shift){ pairs, nan_, nan_, nan_, 1, 1 };
  if (pairs == 0) return PERP_OK;
  double *log_ratio = calloc((size_t)(pairs + DRAWS), sizeof *log_ratio);
  perp_rng *rng = perp_rng_create(seed);
  if (log_ratio == NULL || rng == NULL) {
    free(log_ratio);
    perp_rng_destroy(rng);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory to compare timings");
  }
  double *draw = log_ratio + pairs;
  for (int k = 0; k < pairs; k++)
    log_ratio[k] = log(least(pair[k].now, pair[k].m) / least(pair[k].base, pair[k].n));
  s->ratio = exp(median(log_ratio, pairs));
  for (int d = 0; d < DRAWS; d++) {
    for (int k = 0; k < pairs; k++) {
      const perp_pair *p = &pair[perp_rng_int(rng, pairs)];
      double now = resampled(rng, p->now, p->m);
      log_ratio[k] = log(now / resampled(rng, p->base, p->n));
    }
    draw[d] = median(log_ratio, pairs);
  }
  qsort(draw, DRAWS, sizeof *draw, by_size);
  s->lo = exp(draw[DRAWS / 200]);
  s->hi = exp(draw[DRAWS - 1 - DRAWS / 200]);
  double z = z_score(pair, pairs);
  s->p_slower = 0.5 * erfc(z / sqrt(2));
  s->p_faster = 0.5 * erfc(-z / sqrt(2));
  free(log_ratio);
  perp_rng_destroy(rng);
  return PERP_OK;
}
