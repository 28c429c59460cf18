/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module: the same random numbers, bit by bit, as
 * gsl_rng_taus2 (L'Ecuyer 1999) with GSL's polar Gaussian and shuffle; Carlson's elliptic integrals
 * by duplication (Carlson 1979). */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_ellint.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_sort_int.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const int gsl_rng_taus2 = 2;

static int gsl_small_compare(const void *a, const void *b)
{
  const int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

void gsl_sort_int(int *data, size_t stride, size_t n)
{
  (void)stride; /* 1 */
  qsort(data, n, sizeof *data, gsl_small_compare);
}

static int gsl_small_compare_reals(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void gsl_sort(double *data, size_t stride, size_t n)
{
  (void)stride; /* 1 */
  qsort(data, n, sizeof *data, gsl_small_compare_reals);
}

gsl_rng *gsl_rng_alloc(int type)
{
  (void)type;
  return calloc(1, sizeof(gsl_rng));
}

void gsl_rng_free(gsl_rng *rng)
{
  free(rng);
}

static uint32_t rng_get(gsl_rng *r)
{
  r->s1 = ((r->s1 & 4294967294U) << 12) ^ (((r->s1 << 13) ^ r->s1) >> 19);
  r->s2 = ((r->s2 & 4294967288U) << 4) ^ (((r->s2 << 2) ^ r->s2) >> 25);
  r->s3 = ((r->s3 & 4294967280U) << 17) ^ (((r->s3 << 3) ^ r->s3) >> 11);
  return r->s1 ^ r->s2 ^ r->s3;
}

void gsl_rng_set(gsl_rng *rng, unsigned long seed)
{
  uint32_t s = seed != 0 ? (uint32_t)seed : 1;
  rng->s1 = 69069U * s;
  if (rng->s1 < 2) rng->s1 += 2;
  rng->s2 = 69069U * rng->s1;
  if (rng->s2 < 8) rng->s2 += 8;
  rng->s3 = 69069U * rng->s2;
  if (rng->s3 < 16) rng->s3 += 16;
  for (int i = 0; i < 6; i++) rng_get(rng);
}

double gsl_rng_uniform(gsl_rng *rng)
{
  return rng_get(rng) / 4294967296.0;
}

unsigned long gsl_rng_uniform_int(gsl_rng *rng, unsigned long n)
{
  const unsigned long scale = 0xffffffffUL / n;
  unsigned long k;
  do k = rng_get(rng) / scale;
  while (k >= n);
  return k;
}

static double rng_uniform_positive(gsl_rng *rng)
{
  double x;
  do x = gsl_rng_uniform(rng);
  while (x == 0);
  return x;
}

double gsl_ran_ugaussian(gsl_rng *rng)
{
  double x, y, r2;
  do {
    x = -1 + 2 * rng_uniform_positive(rng);
    y = -1 + 2 * rng_uniform_positive(rng);
    r2 = x * x + y * y;
  } while (r2 > 1.0 || r2 == 0);
  return y * sqrt(-2.0 * log(r2) / r2);
}

void gsl_ran_shuffle(gsl_rng *rng, void *base, size_t n, size_t size)
{
  char *bytes = base, keep[64];
  for (size_t i = n - 1; n > 0 && i > 0; i--) {
    const size_t j = gsl_rng_uniform_int(rng, (unsigned long)i + 1);
    if (j == i) continue;
    memcpy(keep, bytes + i * size, size);
    memcpy(bytes + i * size, bytes + j * size, size);
    memcpy(bytes + j * size, keep, size);
  }
}

int gsl_sf_ellint_RF_e(double x, double y, double z, int mode, gsl_sf_result *result)
{
  (void)mode;
  double mean, X, Y, Z;
  do {
    const double lambda = sqrt(x) * sqrt(y) + sqrt(x) * sqrt(z) + sqrt(y) * sqrt(z);
    x = (x + lambda) / 4;
    y = (y + lambda) / 4;
    z = (z + lambda) / 4;
    mean = (x + y + z) / 3;
    X = 1 - x / mean;
    Y = 1 - y / mean;
    Z = 1 - z / mean;
  } while (fmax(fabs(X), fmax(fabs(Y), fabs(Z))) > 1e-3);
  const double e2 = X * Y - Z * Z, e3 = X * Y * Z;
  *result = (gsl_sf_result){ (1 + (e2 / 24 - 0.1 - 3 * e3 / 44) * e2 + e3 / 14) / sqrt(mean), 0 };
  return isfinite(result->val) ? 0 : 1;
}

static double rc(double x, double y)
{
  double mean, s;
  do {
    const double lambda = 2 * sqrt(x) * sqrt(y) + y;
    x = (x + lambda) / 4;
    y = (y + lambda) / 4;
    mean = (x + 2 * y) / 3;
    s = (y - mean) / mean;
  } while (fabs(s) > 1e-3);
  return (1 + s * s * (0.3 + s * (1.0 / 7 + s * (0.375 + s * 9.0 / 22)))) / sqrt(mean);
}

int gsl_sf_ellint_RJ_e(double x, double y, double z, double p, int mode, gsl_sf_result *result)
{
  (void)mode;
  double sum = 0, power = 1, mean, X, Y, Z, P;
  do {
    const double rx = sqrt(x), ry = sqrt(y), rz = sqrt(z), lambda = rx * (ry + rz) + ry * rz;
    const double a = p * (rx + ry + rz) + rx * ry * rz, alpha = a * a;
    const double beta = p * (p + lambda) * (p + lambda);
    sum += power * rc(alpha, beta);
    power /= 4;
    x = (x + lambda) / 4;
    y = (y + lambda) / 4;
    z = (z + lambda) / 4;
    p = (p + lambda) / 4;
    mean = (x + y + z + 2 * p) / 5;
    X = (mean - x) / mean;
    Y = (mean - y) / mean;
    Z = (mean - z) / mean;
    P = (mean - p) / mean;
  } while (fmax(fmax(fabs(X), fabs(Y)), fmax(fabs(Z), fabs(P))) > 1e-3);
  const double ea = X * (Y + Z) + Y * Z, eb = X * Y * Z, ec = P * P, ed = ea - 3 * ec;
  const double ee = eb + 2 * P * (ea - ec), c1 = 3.0 / 14, c2 = 1.0 / 3, c3 = 3.0 / 22;
  const double c4 = 3.0 / 26, s1 = 1 + ed * (-c1 + 0.75 * c3 * ed - 1.5 * c4 * ee);
  const double s2 = eb * (0.5 * c2 + P * (-2 * c3 + P * c4)), s3 = P * ea * (c2 - P * c3);
  const double s4 = -c2 * P * ec;
  *result = (gsl_sf_result){ 3 * sum + power * (s1 + s2 + s3 + s4) / (mean * sqrt(mean)), 0 };
  return isfinite(result->val) ? 0 : 1;
}

double gsl_stats_median_from_sorted_data(const double *data, size_t stride, size_t n)
{
  (void)stride; /* 1 */
  if (n == 0) return 0;
  return n % 2 == 1 ? data[n / 2] : (data[n / 2 - 1] + data[n / 2]) / 2;
}

double gsl_stats_quantile_from_sorted_data(const double *data, size_t stride, size_t n, double f)
{
  (void)stride; /* 1 */
  if (n == 0) return 0;
  const double index = f * (double)(n - 1);
  const size_t low = (size_t)index;
  const double delta = index - (double)low;
  return low + 1 == n ? data[low] : (1 - delta) * data[low] + delta * data[low + 1];
}
