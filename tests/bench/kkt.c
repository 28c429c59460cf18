/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of factor + solve of every KKT formulation on chains, trees and a carousel, in ns per body,
 * and the exponent p of time ~ N^p fitted by least squares of the logarithms for N >= 64. kkt
 * [formulation ...]      all without arguments; "tree:rank_tol=1e-9" also serves Least of several
 * repeats in thread CPU time: the figure that the noise of other processes cannot lower. */
#include "solvers/solvers.h"
#include "tests/kkt_problems.h"

#include <stdio.h>

static perp_ctx ctx;

enum { LIMIT_NS = 400000000 }; /* larger sizes are left out where a call would take longer */

/* ns per factor + solve; NAN when refused */
static double measure(const perp_spec *spec, const problem *p, double *factor_ns)
{
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)spec->d;
  void *ws;
  if (kkt->create(&ctx, &p->B, spec->opts, &ws) != PERP_OK) return (double)NAN;
  double *a = problem_memory((size_t)p->B.nv, 8), *lambda = problem_memory((size_t)p->B.m, 8);
  double best = HUGE_VAL, best_factor = HUGE_VAL, spent = 0;
  int rounds = 1;
  for (int repeat = 0; repeat < 3 || (repeat < 40 && spent < 0.15); repeat++) {
    perp_stats stats = { 0 };
    double t0 = perp_clock_thread();
    for (int k = 0; k < rounds; k++) kkt->factor(&ctx, ws, &p->B, &stats);
    double t1 = perp_clock_thread();
    for (int k = 0; k < rounds; k++) {
      memset(lambda, 0, sizeof(double) * (size_t)p->B.m);
      kkt->solve(&ctx, ws, &p->B, p->f, p->c, a, lambda, &stats);
    }
    double t2 = perp_clock_thread();
    if (stats.reason < 0) best = (double)NAN;
    best = fmin(best, (t2 - t0) / rounds);
    best_factor = fmin(best_factor, (t1 - t0) / rounds);
    spent += t2 - t0;
    /* about a millisecond a repeat, so that the clock does not count */
    if (repeat == 0 && t2 - t0 < 1e-3) rounds = (int)(1e-3 / (t2 - t0 + 1e-7)) + 1;
  }
  kkt->destroy(ws);
  free(a), free(lambda);
  *factor_ns = 1e9 * best_factor;
  return 1e9 * best;
}

static problem *chain(int N)
{
  return problem_chain("chain", N, 6, 3, true, true);
}
static problem *chain_full(int N)
{
  return problem_chain("chain, full inertia", N, 6, 3, true, false);
}
static problem *planar(int N)
{
  return problem_chain("planar chain", N, 3, 2, true, true);
}
static problem *hinges(int N)
{
  return problem_chain("chain of hinges", N, 6, 5, true, true);
}
static problem *heap(int N)
{
  return problem_heap("heap tree", N, 3);
}
static problem *star(int N)
{
  return problem_carousel("star", N - 1, 1);
}

int main(int argc, char **argv)
{
  static const int sizes[] = { 6, 16, 32, 64, 128, 256, 512, 1024 };
  enum { SIZES = sizeof sizes / sizeof *sizes };
  problem *(*const families[])(int) = { chain, chain_full, planar, hinges, heap, star };
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) return 1;
  for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
    problem *first = families[f](6);
    printf("%s: ns per body (factor part), N =", first->name);
    problem_free(first);
    for (int i = 0; i < SIZES; i++) printf(" %d", sizes[i]);
    printf(", exponent\n");
    for (int k = 0;; k++) {
      const perp_desc *d = perp_plugin_at(&ctx, PERP_KIND_kkt, k);
      const char *text = argc > 1    ? (k + 1 < argc ? argv[k + 1] : NULL)
                         : d != NULL ? d->name
                                     : NULL;
      perp_spec spec;
      if (text == NULL) break;
      if (perp_spec_parse(&ctx, PERP_KIND_kkt, text, &spec) != PERP_OK) {
        printf("%s\n", ctx.msg);
        return 2;
      }
      double last = 0, n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
      printf("  %-20s", text);
      for (int i = 0; i < SIZES; i++) {
        double factor = 0;
        if (last * 8 > LIMIT_NS) {
          printf("       -       ");
          continue;
        }
        problem *p = families[f](sizes[i]);
        last = measure(&spec, p, &factor);
        problem_free(p);
        printf(" %7.0f (%.0f)", last / sizes[i], factor / sizes[i]);
        fflush(stdout);
        if (sizes[i] < 64 || isnan(last)) continue;
        double x = log(sizes[i]), y = log(last);
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
      }
      printf("  %.2f\n", (n * sxy - sx * sy) / (n * sxx - sx * sx));
      perp_spec_free(&spec);
    }
  }
  return 0;
}
