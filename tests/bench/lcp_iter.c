/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps and Newton type methods in figures: nanoseconds a row and sweep against the bytes they
 * move and the measured stream bandwidth; time against n with the fitted exponent; small problems.
 * Thread CPU time, minimum of repeats.  Arguments: none, or the largest number of rows (default
 * 100000; the linear range is meant to be looked at with 1000000). */
#include "solvers/lcp/problem.h"
#include "solvers/lcp/rows/rows.h"
#include "solvers/solvers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static void die(const char *what)
{
  fprintf(stderr, "%s: %s\n", what, ctx.msg);
  exit(1);
}

static double now(void)
{
  return perp_clock_thread();
}

/* bytes per second of a[i] += s b[i] over arrays that no cache holds */
static double stream(void)
{
  size_t n = 8u << 20;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), best = HUGE_VAL;
  if (a == NULL || b == NULL) exit(1);
  for (size_t i = 0; i < n; i++) a[i] = b[i] = (double)i;
  for (int k = 0; k < 6; k++) {
    double t = now();
    for (size_t i = 0; i < n; i++) a[i] += 1e-3 * b[i];
    t = now() - t;
    if (t < best) best = t;
  }
  double bytes = 3.0 * (double)n * sizeof *a;
  if (a[n / 2] == 0) printf(" ");
  free(a);
  free(b);
  return bytes / best;
}

static bool generate(const char *family, int n, bool factored, perp_lcp_problem *q)
{
  const perp_lcp_family *f = perp_lcp_family_find(family);
  int rows = perp_lcp_family_rows(f, n);
  if (perp_lcp_generate(
          &ctx, &(perp_lcp_recipe){ .family = family, .n = rows, .seed = 1, .factored = factored },
          q) != PERP_OK)
    die(family);
  return true;
}

static void sweeps(const char *family, int n, double bandwidth)
{
  perp_lcp_problem q;
  perp_rows R;
  generate(family, n, true, &q);
  if (perp_rows_open(&ctx, &R, q.p.n) != PERP_OK || perp_rows_prepare(&ctx, &R, &q.p, 1) != PERP_OK)
    die("rows");
  n = q.p.n;
  double *x = calloc((size_t)n, sizeof *x), best = HUGE_VAL;
  perp_rows_reset(&R, x);
  int count = 1 + 400000 / n;
  for (int rep = 0; rep < 15; rep++) {
    double t = now();
    for (int k = 0; k < count; k++) perp_rows_sweep(&R, x, NULL, false);
    t = (now() - t) / count;
    if (t < best) best = t;
  }
  /* what a sweep must read and write once: rows, units, lambda, accumulators */
  size_t data = 0;
  for (int t = 0; t < R.n_units; t++)
    if (R.unit[t].at > data) data = R.unit[t].at;
  double bytes = (double)data * 8 + (double)R.n_units * sizeof(perp_unit) + 16.0 * n + 16.0 * R.nu;
  printf("  %-10s %8d  %6.2f ns/row  %5.0f B/row  %9.0f kB  bandwidth bound %5.2f ns/row\n", family,
         n, best / n * 1e9, bytes / n, bytes / 1024, bytes / n / bandwidth * 1e9);
  free(x);
  perp_rows_close(&R);
  perp_lcp_problem_free(&q);
}

/* seconds of one judged solve from zero, minimum of repeats */
static double solve(const char *spec, const perp_lcp *p, double tol, perp_stats *stats)
{
  perp_spec s;
  perp_lcp_solver *solver;
  double best = HUGE_VAL, total = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) die(spec);
  if (perp_lcp_create(&ctx, &s, p->n, p->F != NULL ? p->F->nv : 0, &solver) != PERP_OK) die(spec);
  double *x = calloc((size_t)p->n + 1, sizeof *x);
  for (int k = 0; k < 50 && (k < 3 || total < 0.05); k++) {
    memset(x, 0, (size_t)p->n * sizeof *x);
    double t = now();
    if (perp_lcp_solve(&ctx, solver, p, tol, x, NULL, NULL, stats) != PERP_OK) die(spec);
    t = now() - t;
    total += t;
    if (t < best) best = t;
  }
  free(x);
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
  return best;
}

static void scaling(const char *spec, const char *family, double tol)
{
  static const int sizes[] = { 832, 2000, 5000, 10000, 20000 };
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  int count = 0;
  printf("  %-15s %-9s", spec, family);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    perp_lcp_problem q;
    perp_stats stats;
    generate(family, sizes[k], true, &q);
    double t = solve(spec, &q.p, tol, &stats);
    printf("  %d: %.2f ms (%d%s)", q.p.n, t * 1e3, stats.iterations,
           stats.reason == PERP_CONVERGED ? "" : ", failed");
    double lx = log(q.p.n), ly = log(t);
    sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly, count++;
    perp_lcp_problem_free(&q);
  }
  printf("  exponent %.2f\n", (count * sxy - sx * sy) / (count * sxx - sx * sx));
}

int main(int argc, char **argv)
{
  int most = argc > 1 ? atoi(argv[1]) : 100000;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) die("register");
  double bandwidth = stream();
  printf("stream (a += s b): %.1f GB/s\n\npgs, one sweep on factored rows\n", bandwidth * 1e-9);
  for (int n = 800; n <= most; n = n < most && n > most / 5 ? most : 5 * n) {
    sweeps("wall", n, bandwidth);
    sweeps("wall-box", n, bandwidth);
    sweeps("stack", n, bandwidth);
  }
  printf("\njudged solve from zero, factored, rel <= 1e-8 (iterations)\n");
  static const char *const methods[] = { "fischer-newton", "minmap-newton", "interior-point",
                                         "auto" };
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    scaling(methods[k], "wall", 1e-8);
    scaling(methods[k], "wall-box", 1e-8);
  }
  printf("\nsmall dense problems, rel <= 1e-8, microseconds\n");
  static const char *const families[] = { "spd", "psd", "boxed", "stack", "harker-pang" };
  static const char *const small[] = { "pgs", "fischer-newton", "minmap-newton", "interior-point",
                                       "auto" };
  for (size_t f = 0; f < sizeof families / sizeof *families; f++)
    for (int n = 4; n <= 16; n *= 2) {
      perp_lcp_problem q;
      perp_stats stats;
      generate(families[f], n, false, &q);
      printf("  %-12s %3d", families[f], q.p.n);
      for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        double t = solve(small[k], &q.p, 1e-8, &stats);
        printf("  %s %.1f%s", small[k], t * 1e6, stats.reason == PERP_CONVERGED ? "" : "!");
      }
      printf("\n");
      perp_lcp_problem_free(&q);
    }
  return 0;
}
