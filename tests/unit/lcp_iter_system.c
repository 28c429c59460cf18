/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linear systems of the Newton methods, dense and in the space of velocities, against their
 * definition. */
#include "solvers/lcp/newton/system.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

/* the largest violation of  d (x - gamma x_n) + A x = r  or  x = gamma x_n, relative to its terms
 */
static double violation(const random_lcp *q, const double *d, const double *gamma, const double *r,
                        const double *x)
{
  int n = q->p.n;
  double worst = 0;
  for (int i = 0; i < n; i++) {
    double own = x[i], size = fabs(x[i]);
    if (gamma[i] != 0) {
      own -= gamma[i] * x[q->p.fric_of[i]];
      size += fabs(gamma[i] * x[q->p.fric_of[i]]);
    }
    double sum = own;
    if (d[i] < HUGE_VAL) {
      sum = d[i] * own - r[i];
      size = d[i] * size + fabs(r[i]);
      for (int j = 0; j < n; j++) {
        sum += q->A[i + j * n] * x[j];
        size += fabs(q->A[i + j * n] * x[j]);
      }
    }
    double v = fabs(sum) / fmax(size, 1e-300);
    if (!(v <= worst)) worst = v;
  }
  return worst;
}

/* random sets, weights and couplings; r consistent where rows are dependent */
static void check(perp_ctx *ctx, perp_rng *g, bool factored, bool coupled)
{
  double worst = 0;
  int failed = 0;
  for (int trial = 0; trial < 60; trial++) {
    int shape = trial % 3;
    random_lcp q = random_factored(g, 1 + trial % 7, 1 + trial % 13, shape, coupled ? 1 : 0,
                                   trial % 2 ? 0.1 : 0);
    int n = q.p.n;
    double d[80], gamma[80], r[80], x[80], y[80];
    const perp_lcp *p = factored ? random_as_factored(&q) : random_as_dense(&q);
    perp_rows R;
    perp_system S;
    if (perp_rows_open(ctx, &R, n) != PERP_OK || perp_system_open(ctx, &S, n) != PERP_OK ||
        perp_rows_prepare(ctx, &R, p, 1) != PERP_OK)
      bail("%s", ctx->msg);
    for (int round = 0; round < 3; round++) {
      if (perp_system_prepare(ctx, &S, &R, coupled) != PERP_OK) bail("%s", ctx->msg);
      for (int i = 0; i < n; i++) {
        int kind = perp_rng_int(g, 3);
        d[i] = kind == 0 ? 0 : kind == 1 ? perp_rng_uniform(g, 0, 10) : HUGE_VAL;
        gamma[i] = coupled && q.p.fric_of[i] >= 0 && perp_rng_int(g, 2)
                       ? (trial % 4 == 0 ? 1 : perp_rng_uniform(g, -0.5, 0.5))
                       : 0;
        x[i] = perp_rng_uniform(g, -1, 1);
      }
      for (int i = 0; i < n; i++)
        if (d[i] == HUGE_VAL) x[i] = gamma[i] == 0 ? 0 : gamma[i] * x[q.p.fric_of[i]];
      /* a second pass: normal rows may have come later */
      for (int i = 0; i < n; i++)
        if (d[i] == HUGE_VAL && gamma[i] != 0) x[i] = gamma[i] * x[q.p.fric_of[i]];
      for (int i = 0; i < n; i++) {
        r[i] = d[i] < HUGE_VAL ? d[i] * x[i] : 0;
        if (d[i] < HUGE_VAL && gamma[i] != 0) r[i] -= d[i] * gamma[i] * x[q.p.fric_of[i]];
        for (int j = 0; d[i] < HUGE_VAL && j < n; j++) r[i] += q.A[i + j * n] * x[j];
      }
      if (!perp_system_factor(&S, d, coupled ? gamma : NULL) || !perp_system_solve(&S, r, y, 4))
        failed++;
      else
        worst = fmax(worst, violation(&q, d, gamma, r, y));
    }
    perp_system_close(&S);
    perp_rows_close(&R);
    random_free(&q);
  }
  const char *form = factored ? "factored" : "dense",
             *kind = coupled ? "with friction" : "symmetric";
  ok(failed == 0, "%s, %s: 180 consistent systems solved", form, kind);
  /* the floor is 1e-10 of the scale; four refinements leave rounding, amplified by dependent rows
   */
  below(worst, 1e-9, "%s, %s: the equations hold", form, kind);
}

/* the same pattern is analysed once; another one replaces it */
static void check_patterns(perp_ctx *ctx, perp_rng *g)
{
  perp_system S;
  perp_rows R;
  perp_system_open(ctx, &S, 100);
  perp_rows_open(ctx, &R, 100);
  double worst = 0;
  for (int k = 0; k < 8; k++) {
    random_lcp q = random_factored(g, 2 + k, 4 + k % 4, k % 3, 0, 0.1);
    double d[100], gamma[100] = { 0 }, r[100], x[100];
    for (int i = 0; i < q.p.n; i++) {
      d[i] = perp_rng_uniform(g, 0.1, 1);
      r[i] = perp_rng_uniform(g, -1, 1);
    }
    if (perp_rows_prepare(ctx, &R, random_as_factored(&q), 1) != PERP_OK ||
        perp_system_prepare(ctx, &S, &R, false) != PERP_OK)
      bail("%s", ctx->msg);
    for (int again = 0; again < 2; again++) {
      perp_system_factor(&S, d, NULL);
      perp_system_solve(&S, r, x, 2);
      worst = fmax(worst, violation(&q, d, gamma, r, x));
      perp_system_prepare(ctx, &S, &R, false);
    }
    random_free(&q);
  }
  below(worst, 1e-12, "changing patterns in one workspace");
  perp_system_close(&S);
  perp_rows_close(&R);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_rng *g = perp_rng_create(5);
  for (int k = 0; k < 4; k++) check(&ctx, g, k & 1, k & 2);
  check_patterns(&ctx, g);
  perp_rng_destroy(g);
  return tap_done();
}
