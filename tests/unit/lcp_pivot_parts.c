/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the pivoting solvers share: scales, slack, the last check against the judge, proofs. */
#include "solvers/lcp/pivoting/pivot.h"
#include "solvers/linalg/inverse_update.h"
#include "solvers/solvers.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 5 };
static perp_ctx ctx;

static void open_pivot(perp_pivot *P, perp_arena *arena, const perp_lcp *p)
{
  *P = (perp_pivot){ .max_n = N };
  *arena = (perp_arena){ 0 };
  if (perp_arena_layout(&ctx, arena, perp_pivot_layout, P) != PERP_OK) bail("%s", ctx.msg);
  if (perp_pivot_take(&ctx, P, p) != PERP_OK) bail("%s", ctx.msg);
}

/* Entries of both signs, the largest ones negative; a zero row; all kinds of bounds. */
static void check_residual(void)
{
  const double A[N * N] = { 1, -4, 0,  0.5, -2, -4, 3,  0, -6, 1, 0,  0, 0,
                            0, 0,  -2, 1,   0,  1,  -8, 3, 1,  0, -1, 2 };
  const double b[N] = { -30, 2, -5, 1, -20 }, lo[N] = { 0, -1, 0, -HUGE_VAL, -2 },
               hi[N] = { HUGE_VAL, 2, 1, HUGE_VAL, -1 };
  const double scale[N] = { 4, 4, 8, 6, 8 };
  perp_lcp p = { .n = N, .A = A, .lda = N, .b = b, .lo = lo, .hi = hi };
  perp_pivot P;
  perp_arena arena;
  open_pivot(&P, &arena, &p);
  double off = 0;
  for (int i = 0; i < N; i++) off = fmax(off, fabs(P.a[i] - scale[i]));
  ok(off == 0, "scales are the largest entries of rows, of either sign; of a zero row that of all");
  near(P.bscale, 7.5, 0, 0, "the size of b, of either sign");
  static const double at[][N] = {
    { 0, 0, 0, 0, -1 },    { 1, -1, 0.5, 3, -2 },     { 0, 2, 1, -4, -1.5 }, { -1, 3, 2, 0, 5 },
    { 0.1, 0, 0, -9, -1 }, { 2, 2, 0, -0.25, -1.25 }, { -20, 0, 0, 0, -1 },  { 0, 0, 0, 15, -30 },
  };
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    double w[N];
    perp_pivot_slack(&P, at[k], w);
    double want = independent_rel(&p, A, at[k]);
    near(perp_pivot_residual(&P, at[k], w), want, 0, 1e-14, "point %zu: the residual of the judge",
         k);
  }
  double x[N] = { 0, 0, 0, 0, -1 }, w[N];
  perp_pivot_slack(&P, x, w);
  w[3] = (double)NAN;
  ok(isnan(perp_pivot_residual(&P, x, w)), "NaN in the slack shows");
  x[3] = 1e16;
  perp_pivot_slack(&P, x, w);
  near(perp_pivot_residual(&P, x, w), 1, 0, 0, "a lambda in which b drowns solves nothing");
  x[3] = -1e16;
  perp_pivot_slack(&P, x, w);
  near(perp_pivot_residual(&P, x, w), 1, 0, 0, "... of either sign");
  perp_arena_free(&arena);
}

static void proof(const char *what, int n, const double *A, const double *b, const double *lo,
                  const double *hi, const double *v, bool proves)
{
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
  perp_pivot P;
  perp_arena arena;
  open_pivot(&P, &arena, &p);
  ok(!!perp_pivot_proves_infeasible(&P, v) == proves, "%s", what);
  perp_arena_free(&arena);
}

static void check_proofs(void)
{
  const double inf = HUGE_VAL, pull[4] = { 1, -1, -1, 1 }, id[4] = { 1, 0, 0, 1 };
  const double zero[2] = { 0 }, all[2] = { -inf, -inf }, up[2] = { inf, inf };
  const double neg[2] = { -1, -1 }, one[2] = { 1, 1 }, pos[2] = { 1, 1 };
  const double minus[2] = { -1, -1 }, half[2] = { 1, 0 };
  proof("w = (x - y - 1, y - x - 1) >= 0: their sum proves that there is none", 2, pull, neg, zero,
        up, one, true);
  proof("... b > 0: it proves nothing", 2, pull, pos, zero, up, one, false);
  proof("... of the other sign neither", 2, pull, neg, zero, up, minus, false);
  proof("... nor one of the rows alone", 2, pull, neg, zero, up, half, false);
  proof("... nor nothing", 2, pull, neg, zero, up, zero, false);
  proof("... nor NaN", 2, pull, neg, zero, up, (const double[]){ 1, (double)NAN }, false);
  proof("w = x - 1: x = 1 solves it", 2, id, neg, zero, up, one, false);
  proof("x <= 1/4: it does not, but such a row asks for nothing", 2, id, neg, zero,
        (const double[]){ 0.25, 0.25 }, one, false);
  /* lambda <= 0 with only an upper bound: w <= 0 is asked */
  proof("upper bounds: w <= 0 and b > 0", 2, pull, pos, all, zero, minus, true);
  proof("... with the sign of lower ones", 2, pull, pos, all, zero, one, false);
  /* free rows: equations x - y = 1, y - x = 1 */
  proof("free rows that contradict each other", 2, pull, neg, all, up, one, true);
  proof("... as seen from the other side", 2, pull, pos, all, up, minus, true);
  proof("... and that agree", 2, pull, (const double[]){ -1, 1 }, all, up, one, false);
  /* one row of the lower kind, and a box whose column reaches only so far: w = y - 2, 0 <= y <= 1
   */
  const double reach[4] = { 0, 0, 1, 1 };
  proof("a box that does not reach far enough", 2, reach, (const double[]){ -2, 5 }, zero,
        (const double[]){ inf, 1 }, (const double[]){ 1, 0 }, true);
  proof("... and one that does", 2, reach, (const double[]){ -2, 5 }, zero,
        (const double[]){ inf, 3 }, (const double[]){ 1, 0 }, false);
  proof("... from below", 2, (const double[]){ 0, 0, -1, 1 }, (const double[]){ -2, 5 },
        (const double[]){ 0, -1 }, (const double[]){ inf, 0 }, (const double[]){ 1, 0 }, true);
  proof("... far enough", 2, (const double[]){ 0, 0, -1, 1 }, (const double[]){ -2, 5 },
        (const double[]){ 0, -3 }, (const double[]){ inf, 0 }, (const double[]){ 1, 0 }, false);
  proof("a free row that makes up for it", 2, (const double[]){ 0, 0, -1, 1 },
        (const double[]){ -2, 5 }, (const double[]){ 0, -inf }, up, half, false);
  /* rounding neither makes a proof nor spoils one */
  proof("a gap of rounding", 2, pull, (const double[]){ -1 - 1e-11, 1 }, zero, up, one, false);
  proof("a gap of rounding beside a box", 2, reach, (const double[]){ 2, 5 },
        (const double[]){ 0, -10 }, (const double[]){ inf, -2 - 1e-10 }, half, false);
  proof("an entry of rounding", 2, (const double[]){ 1, -1 + 1e-12, -1, 1 }, neg, zero, up, one,
        true);
}

/* |R|_1 |R^-1|_1 does not depend on the size of R. */
static void check_condition(void)
{
  for (int k = -3; k <= 3; k++) {
    const double s = pow(10, k);
    double R[4] = { 2 * s, 0, s, s }, work[128];
    int ipiv[2];
    perp_inverse K = { .R = R, .ld = 2, .m = 2 };
    const double rcond = perp_inverse_factor(&K, ipiv, work, 128);
    near(rcond, 1. / 3, 0, 1e-14, "condition of a matrix of size %g: 2 s times 3/2 / s", s);
    near(R[0] * s, 0.5, 0, 1e-14, "and its inverse");
  }
}

/* Bard's rule goes round in circles on Kostreva's P-matrix, from many sets of rows that are on no
 * circle themselves: it is noticed after a few rounds (Brent), not at the limit of pivots. */
static void check_circles(void)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_rng *rng = perp_rng_create(4);
  int count[3] = { 0 }, most = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "murty:rule=worst,max_iter=500", &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, N, 0, &s) != PERP_OK)
    bail("%s", ctx.msg);
  for (int trial = 0; trial < 4000; trial++) {
    /* a cyclic P-matrix with some noise beside it */
    double A[N * N] = { 0 }, b[N], x[N];
    for (int i = 0; i < N; i++) {
      for (int j = 0; j < N; j++) A[i + j * N] = 0.3 * perp_rng_uniform(rng, -1, 1);
      A[i + i * N] = 1;
      A[i + (i + 1) % N * N] += perp_rng_uniform(rng, 1, 3);
      b[i] = perp_rng_uniform(rng, -2, 0.5);
      x[i] = trial % 2 ? perp_rng_int(rng, 2) : 0;
    }
    const perp_lcp p = { .n = N, .A = A, .lda = N, .b = b };
    perp_stats stats;
    if (perp_lcp_solve(&ctx, s, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    const int how = stats.reason == PERP_CYCLED ? 1 : stats.reason == PERP_MAX_ITER ? 2 : 0;
    count[how]++;
    if (how == 1 && stats.iterations > most) most = stats.iterations;
  }
  /* 2^5 sets: a circle and the way to it have no more, Brent's windows at most thrice as many
   * together */
  ok(count[1] > 50 && count[2] == 0 && most <= 3 * 32,
     "circles are noticed: %d of 4000, after at most %d pivots (%d at the limit)", count[1], most,
     count[2]);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  perp_rng_destroy(rng);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_residual();
  check_proofs();
  check_circles();
  check_condition();
  return tap_done();
}
