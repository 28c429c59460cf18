/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A solver that has solved a larger problem solves the next one as a new solver does; limits of
 * work are kept; numbers that are not finite are met with the feasible point next to zero. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

enum { MOST = 128 };
static perp_ctx ctx;

static perp_lcp_problem make(const char *family, int n, bool factored, uint64_t seed)
{
  perp_lcp_recipe r = { .family = family, .n = n, .seed = seed, .factored = factored };
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &r, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  return q;
}

static perp_stats run(perp_lcp_solver *s, const perp_lcp *p, double *x)
{
  perp_stats stats;
  memset(x, 0, MOST * sizeof *x);
  if (perp_lcp_solve(&ctx, s, p, 1e-8, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  return stats;
}

static perp_lcp_solver *open(const perp_spec *spec, const perp_lcp *p)
{
  perp_lcp_solver *s;
  if (perp_lcp_create(&ctx, spec, p->n, p->F != NULL ? p->F->nv : 0, &s) != PERP_OK)
    bail("%s", ctx.msg);
  return s;
}

static void check(const perp_desc *d)
{
  static const struct {
    const char *family;
    int n, large;
    bool factored;
  } sets[] = { { "spd", 12, 40, false },     { "boxed", 12, 33, false },
               { "p-matrix", 9, 30, false }, { "pd-nonsymmetric", 10, 25, false },
               { "tridiag", 16, 64, false }, { "stack-cfm", 8, 32, true } };
  int differ = 0, over = 0, count = 0, limited = 0;
  for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
    perp_lcp_problem small = make(sets[k].family, sets[k].n, sets[k].factored, 4),
                     large = make(sets[k].family, sets[k].large, sets[k].factored, 5);
    small.p.work = large.p.work = 3e6;
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    if ((perp_lcp_needs(&small.p) & ~d->caps) == 0) {
      double x[MOST], y[MOST], off = 0;
      perp_lcp_solver *fresh = open(&spec, &small.p), *used = open(&spec, &large.p);
      const perp_stats first = run(fresh, &small.p, x);
      run(used, &large.p, y);
      const perp_stats second = run(used, &small.p, y);
      count++;
      for (int i = 0; i < small.p.n; i++) off = fmax(off, fabs(x[i] - y[i]));
      /* where it ends in a solution, rounding aside */
      if (first.reason > 0 &&
          (second.reason != first.reason || abs(second.iterations - first.iterations) > 1 ||
           !(off <= 1e-6) || !(fabs(second.work - first.work) <= 0.1 * first.work + 100))) {
        differ++;
        printf("# %s on %s: %d and %d, %d and %d iterations, work %g and %g, %g apart\n", d->name,
               sets[k].family, first.reason, second.reason, first.iterations, second.iterations,
               first.work, second.work, off);
      }
      /* a part of the work: less is done, and with more than was needed the same */
      for (int part = 1; part <= 4 && first.reason > 0 && first.iterations > 2; part++) {
        small.p.work = part == 4 ? 2 * first.work : 0.25 * part * first.work;
        const perp_stats third = run(used, &small.p, y);
        limited += part < 4 && third.work < first.work;
        const double step = pow(small.p.n, 3); /* begun before the limit was met */
        if (third.work > fmax(1.3 * first.work + 100, small.p.work + step) ||
            (part == 4 && third.reason != first.reason)) {
          over++;
          printf("# %s on %s: %g of %g allowed, %g done\n", d->name, sets[k].family, small.p.work,
                 first.work, third.work);
        }
      }
      perp_lcp_destroy(fresh);
      perp_lcp_destroy(used);
    }
    perp_spec_free(&spec);
    perp_lcp_problem_free(&small);
    perp_lcp_problem_free(&large);
  }
  ok(differ == 0, "%s: %d problems solved as by a new solver", d->name, count);
  ok(over == 0, "%s: no limit of work is passed (%d ended earlier)", d->name, limited);
}

/* From the guess x, and the answer in y. */
static void run_from(perp_lcp_solver *s, const perp_lcp *p, const double *x, double *y)
{
  perp_stats stats;
  memcpy(y, x, MOST * sizeof *y);
  if (perp_lcp_solve(&ctx, s, p, 1e-8, y, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
}

/* To the last bit: a second time, and in a workspace with more room, from a guess that has the
 * right sets. Of `spd` 80 rows are free: a basis of more rows than the blocks of LAPACK have. */
static void bits(const perp_desc *d)
{
  static const char *const families[] = { "spd",         "boxed",       "pd-nonsymmetric",
                                          "incline-box", "pushed-cone", "stack-box" };
  int again = 0, room = 0, count = 0;
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    perp_lcp_problem q = make(families[k], k == 0 ? 100 : 60, false, 6);
    perp_spec spec;
    double lo[MOST], hi[MOST];
    q.p.work = 3e6;
    for (int i = 0; i < q.p.n && i < MOST; i++) lo[i] = i < 80 ? -HUGE_VAL : 0, hi[i] = HUGE_VAL;
    if (k == 0) q.p.lo = lo, q.p.hi = hi;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    if ((perp_lcp_needs(&q.p) & ~d->caps) == 0 && q.p.n <= MOST) {
      double guess[MOST], x[MOST], y[MOST];
      perp_lcp_solver *helper = open(&spec, &q.p), *s = open(&spec, &q.p), *wide;
      const int nv = q.p.F != NULL ? q.p.F->nv : 0;
      if (perp_lcp_create(&ctx, &spec, q.p.n + 29, nv, &wide) != PERP_OK) bail("%s", ctx.msg);
      run(helper, &q.p, guess);
      for (int i = 0; i < MOST; i++) guess[i] *= 1.01;
      run_from(s, &q.p, guess, x);
      run_from(s, &q.p, guess, y);
      again += memcmp(x, y, sizeof x) != 0;
      run_from(wide, &q.p, guess, y);
      room += memcmp(x, y, sizeof x) != 0;
      count++;
      perp_lcp_destroy(helper);
      perp_lcp_destroy(s);
      perp_lcp_destroy(wide);
    }
    perp_spec_free(&spec);
    perp_lcp_problem_free(&q);
  }
  ok(again == 0, "%s: %d of %d problems have another answer the second time", d->name, again,
     count);
  ok(room == 0, "%s: %d of %d have another one in a workspace with more room", d->name, room,
     count);
}

/* A guess that is not finite is none, and data that are not finite leave the feasible point next to
 * zero. */
static void not_finite(const char *method)
{
  const double A[4] = { 2, 1, 1, 2 }, b[2] = { 1, -4 }, lo[2] = { 0.5, 0 }, hi[2] = { 3, HUGE_VAL };
  perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b, .lo = lo, .hi = hi };
  perp_stats stats;
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp_solver *s = open(&spec, &p);
  for (int k = 0; k < 2; k++) { /* 2 + lambda_2 >= 0 and 0.5 - 4 + 2 lambda_2 = 0 */
    double x[2] = { 0, 0 };
    x[k] = (double)NAN;
    if (perp_lcp_solve(&ctx, s, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    ok(stats.reason >= 0 && fabs(x[0] - 0.5) < 1e-7 && fabs(x[1] - 1.75) < 1e-7,
       "%s: a guess that is NaN in row %d: (%g, %g)", method, k, x[0], x[1]);
  }
  for (int k = 0; k < 2; k++) {
    double x[2] = { 2, 2 }, bad[2] = { 1, -4 };
    bad[k] = (double)NAN;
    p.b = bad;
    if (perp_lcp_solve(&ctx, s, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    ok(stats.reason == PERP_NOT_FINITE && x[0] == 0.5 && x[1] == 0, "%s: NaN in b_%d", method, k);
    p.b = b;
  }
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++)
    if (!(d->caps & PERP_LCP_PEER)) {
      check(d);
      bits(d);
    }
  not_finite("dantzig");
  not_finite("pgs:max_iter=1000");
  return tap_done();
}
