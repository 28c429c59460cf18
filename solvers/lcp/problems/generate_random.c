/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random problems by class, with planted solutions where the class allows.
 *
 * Planting: lambda and w are drawn complementary, b = w - A lambda.  Normal deviates are sums of
 * twelve uniform ones, so that no logarithm enters. */
#include "solvers/lcp/problems/generate.h"

#include <math.h>

#define AT(i, j) x.A[(size_t)(i) + (size_t)(j) * (size_t)n]

static double generate_random_normal(perp_rng *rng)
{
  double sum = -6;
  for (int k = 0; k < 12; k++) sum += perp_rng_uniform(rng, 0, 1);
  return sum;
}

/* A += R R' / rank, R n x rank normal; R [n rank] is scratch. */
static void add_gram(perp_lcp_arrays x, int n, int rank, double *R, perp_rng *rng)
{
  for (int k = 0; k < n * rank; k++) R[k] = generate_random_normal(rng);
  for (int j = 0; j < n; j++)
    for (int k = 0; k < rank; k++) {
      double f = R[j + k * n] / rank;
      for (int i = 0; i <= j; i++) AT(i, j) += R[i + k * n] * f;
    }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) AT(j, i) = AT(i, j);
}

static void add_skew(perp_lcp_arrays x, int n, double size, perp_rng *rng)
{
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) {
      double s = size * generate_random_normal(rng);
      AT(i, j) += s;
      AT(j, i) -= s;
    }
}

/* Draw a solution and set b.  degenerate: the share of rows at a bound with w = 0. */
static void generate_random_plant(perp_lcp_arrays x, int n, double degenerate, perp_rng *rng)
{
  for (int i = 0; i < n; i++) {
    double lo = x.lo != NULL ? x.lo[i] : 0, hi = x.hi != NULL ? x.hi[i] : HUGE_VAL;
    double where = perp_rng_uniform(rng, 0, 1), size = perp_rng_uniform(rng, 0.1, 1), w = 0;
    bool at_lo = lo > -HUGE_VAL && where < 0.5, at_hi = hi < HUGE_VAL && where >= 0.75;
    if (at_lo || at_hi) {
      x.solution[i] = at_lo ? lo : hi;
      w = perp_rng_uniform(rng, 0, 1) < degenerate ? 0 : at_lo ? size : -size;
    } else if (lo > -HUGE_VAL)
      x.solution[i] = hi < HUGE_VAL ? lo + (hi - lo) * size : lo + size;
    else
      x.solution[i] = hi < HUGE_VAL ? hi - size : generate_random_normal(rng);
    x.b[i] = w;
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) x.b[i] -= AT(i, j) * x.solution[j];
}

/* Bounds of every kind: contact, box around 0, box without 0, upper only, free, fixed. */
static void draw_bounds(perp_lcp_arrays arrays, int n, bool with_free, perp_rng *rng)
{
  for (int i = 0; i < n; i++) {
    int kind = perp_rng_int(rng, with_free ? 7 : 5);
    double u = perp_rng_uniform(rng, 0.1, 1);
    arrays.lo[i] = 0;
    arrays.hi[i] = HUGE_VAL;
    if (kind == 1) arrays.lo[i] = -u;
    if (kind == 2) arrays.lo[i] = u;
    if (kind == 1 || kind == 2) arrays.hi[i] = u + perp_rng_uniform(rng, 0.1, 1);
    if (kind == 3) {
      arrays.lo[i] = -HUGE_VAL;
      arrays.hi[i] = u;
    }
    if (kind == 4) arrays.lo[i] = arrays.hi[i] = u - 0.5;
    if (kind >= 5) arrays.lo[i] = -HUGE_VAL;
  }
}

static void generate_random_fill(perp_lcp_arrays x, int kind, int n, double *R, perp_rng *rng)
{
  switch (kind) {
  case PERP_GEN_SPD:
  case PERP_GEN_SPD_DEGENERATE:
  case PERP_GEN_SKEW:
  case PERP_GEN_BOXED:
    add_gram(x, n, n, R, rng);
    for (int i = 0; i < n; i++) AT(i, i) += 0.05;
    if (kind == PERP_GEN_SKEW) add_skew(x, n, 0.5, rng);
    if (kind == PERP_GEN_BOXED) draw_bounds(x, n, true, rng);
    generate_random_plant(x, n, kind == PERP_GEN_SPD_DEGENERATE ? 0.5 : 0, rng);
    break;
  case PERP_GEN_PSD:
  case PERP_GEN_MIXED: /* rank n / 2: redundant rows */
    add_gram(x, n, (n + 1) / 2, R, rng);
    if (kind == PERP_GEN_MIXED) draw_bounds(x, n, true, rng);
    generate_random_plant(x, n, 0.25, rng);
    break;
  case PERP_GEN_PMATRIX: /* strictly diagonally dominant with positive diagonal, signs at random */
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) AT(i, j) = i == j ? 0 : generate_random_normal(rng);
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int j = 0; j < n; j++) sum += fabs(AT(i, j));
      AT(i, i) = 1.05 * sum + 0.1;
      x.b[i] = generate_random_normal(rng);
    }
    break;
  case PERP_GEN_COPOSITIVE: /* nonnegative + skew + I / 10: strictly copositive, so always solvable
                             */
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if (perp_rng_uniform(rng, 0, 1) < 0.4) AT(i, j) = perp_rng_uniform(rng, 0, 1);
    add_skew(x, n, 0.5, rng);
    for (int i = 0; i < n; i++) {
      AT(i, i) += 0.1;
      x.b[i] = generate_random_normal(rng);
    }
    break;
  case PERP_GEN_INFEASIBLE: { /* A z = 0 and b'z = -1 exactly: small integers, z of zeros and ones
                               */
    int rank = (n + 1) / 2;
    double *z = R + (size_t)n * (size_t)n, bz = 0;
    for (int i = 0; i < n; i++) z[i] = i == 0 || perp_rng_int(rng, 2);
    for (int k = 0; k < rank; k++) {
      double sum = 0;
      for (int i = 1; i < n; i++) {
        R[i + k * n] = perp_rng_int(rng, 17) - 8;
        sum += z[i] * R[i + k * n];
      }
      R[k * n] = -sum;
    }
    for (int j = 0; j < n; j++)
      for (int k = 0; k < rank; k++)
        for (int i = 0; i < n; i++) AT(i, j) += R[i + k * n] * R[j + k * n] / 64;
    for (int i = 1; i < n; i++) {
      x.b[i] = (perp_rng_int(rng, 2049) - 1024) / 512.0;
      bz += z[i] * x.b[i];
    }
    x.b[0] = -1 - bz;
    break;
  }
  default:
    break;
  }
}

perp_status perp_lcp_generate_random(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                     perp_rng *rng, perp_lcp_problem *out)
{
  bool bounds = family->kind == PERP_GEN_BOXED || family->kind == PERP_GEN_MIXED;
  bool planted = family->kind != PERP_GEN_PMATRIX && family->kind != PERP_GEN_COPOSITIVE &&
                 family->kind != PERP_GEN_INFEASIBLE;
  unsigned parts = PERP_PART_A | (bounds ? PERP_PART_BOUNDS : 0u) |
                   (planted ? PERP_PART_SOLUTION : 0u);
  perp_lcp_problem scratch;
  PERP_TRY(perp_lcp_problem_new(ctx, n + 1, PERP_PART_A, &scratch)); /* n^2 + 2 n + 1 numbers */
  perp_status status = perp_lcp_problem_new(ctx, n, parts, out);
  if (status == PERP_OK)
    generate_random_fill(perp_lcp_edit(out), family->kind, n, perp_lcp_edit(&scratch).A, rng);
  perp_lcp_problem_free(&scratch);
  return status;
}
