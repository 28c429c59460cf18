/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families of sparse problems against their formulas by libm, forms and permutations of them, and
 * their solutions: the put by elimination along the line, the others by the judge. */
#include "solvers/lcp/problems/generate.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static perp_lcp_problem make(const char *family, int n, bool permute)
{
  const perp_lcp_recipe recipe = { .family = family, .n = n, .seed = 3, .permute = permute };
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  return q;
}

static double off(double value, double exact, double size)
{
  return fabs(value - exact) / size;
}

/* ---- formulas ---- */

static double pay(int n, int i)
{
  return fmax(1 - exp(-3 + 6.0 * (i + 1) / (n + 1)), 0);
}

static double put_error(const perp_lcp *p)
{
  const int n = p->n;
  const double h = 6.0 / (n + 1), d = 0.045 / (h * h), c = (0.05 - 0.045) / (2 * h);
  double worst = 0;
  for (int i = 0; i < n; i++) {
    const double low = -(d - c), own = 1 + 2 * d + 0.05, high = -(d + c);
    worst = fmax(worst, off(perp_lcp_entry(p, i, i), own, own));
    if (i > 0) worst = fmax(worst, off(perp_lcp_entry(p, i, i - 1), low, own));
    if (i + 1 < n) worst = fmax(worst, off(perp_lcp_entry(p, i, i + 1), high, own));
    const double b = low * pay(n, i - 1) + (own - 1) * pay(n, i) + high * pay(n, i + 1);
    worst = fmax(worst, off(p->b[i], b, own));
  }
  return worst;
}

static double psi(int k, int r, int c)
{
  const double x = (c + 1.0) / (k + 1) - 0.5, y = (r + 1.0) / (k + 1) - 0.5;
  return r < 0 || c < 0 || r == k || c == k ? 0 : 0.5 - 2 * (x * x + y * y);
}

static double obstacle_error(const perp_lcp *p)
{
  const int k = (int)lrint(sqrt((double)p->n));
  double worst = 0;
  for (int i = 0; i < p->n; i++) {
    const int r = i / k, c = i % k;
    worst = fmax(worst, off(perp_lcp_entry(p, i, i), 4, 1));
    if (c > 0) worst = fmax(worst, off(perp_lcp_entry(p, i, i - 1), -1, 1));
    if (r > 0) worst = fmax(worst, off(perp_lcp_entry(p, i, i - k), -1, 1));
    if (c == 0 && i > 0) worst = fmax(worst, fabs(perp_lcp_entry(p, i, i - 1)));
    const double b = 4 * psi(k, r, c) - psi(k, r - 1, c) - psi(k, r + 1, c) - psi(k, r, c - 1) -
                     psi(k, r, c + 1) + 10.0 / (k + 1) / (k + 1);
    worst = fmax(worst, off(p->b[i], b, 1));
  }
  return worst;
}

static double bearing_error(const perp_lcp *p)
{
  const int l = (int)lrint(sqrt(p->n / 2.0)), k = 2 * l;
  const double hx = 2 * acos(-1) / (k + 1), hy = 1.0 / (l + 1);
  double worst = 0;
  for (int i = 0; i < p->n; i++) {
    const double x = (i % k + 1) * hx, left = pow(1 + 0.8 * cos(x - hx / 2), 3) / (hx * hx),
                 right = pow(1 + 0.8 * cos(x + hx / 2), 3) / (hx * hx),
                 across = pow(1 + 0.8 * cos(x), 3) / (hy * hy), own = left + right + 2 * across;
    worst = fmax(worst, off(perp_lcp_entry(p, i, i), own, own));
    if (i % k > 0) worst = fmax(worst, off(perp_lcp_entry(p, i, i - 1), -left, own));
    if (i >= k) worst = fmax(worst, off(perp_lcp_entry(p, i, i - k), -across, own));
    worst = fmax(worst, off(p->b[i], -0.8 * sin(x), 1));
  }
  return worst;
}

/* ---- forms ---- */

/* A sum over all entries, weighted by b of their rows and columns, which no order of these
 * changes. */
static double trace_of(const perp_lcp *p)
{
  double sum = 0;
  for (int j = 0; j < p->n; j++)
    for (int k = p->C->start[j]; k < p->C->start[j + 1]; k++)
      sum += p->C->value[k] * (2 + sin(p->b[j])) * (3 + cos(p->b[p->C->row[k]]));
  return sum;
}

static void forms(const char *family, int small, int large, double (*error)(const perp_lcp *))
{
  perp_lcp_problem q = make(family, small, false);
  ok(q.p.A != NULL && error(&q.p) < 1e-14, "%s of %d rows, dense: %.2g off its formulas", family,
     small, error(&q.p));
  perp_lcp_problem_free(&q);
  q = make(family, large, false);
  ok(q.p.C != NULL && perp_columns_check(&ctx, q.p.C) == PERP_OK && error(&q.p) < 1e-14,
     "%s of %d rows, sparse: %.2g", family, large, error(&q.p));
  ok(((q.classes & PERP_CLASS_SYMMETRIC) != 0) == (perp_lcp_asymmetry(&q.p) == 0),
     "symmetric as declared");
  perp_lcp_problem turned = make(family, large, true);
  const double before = trace_of(&q.p), after = trace_of(&turned.p);
  ok(perp_columns_check(&ctx, turned.p.C) == PERP_OK &&
         memcmp(q.p.b, turned.p.b, sizeof(double) * (size_t)large) != 0 &&
         fabs(after - before) < 1e-10 * fabs(before),
     "permuted: %.17g, %.17g", before, after);
  perp_lcp_problem_free(&turned);
  perp_lcp_problem_free(&q);
}

/* As generate_classic.c has it, which is dense. */
static void same_as_dense(const char *family, int n)
{
  perp_lcp_problem dense = make(family, n, false), few;
  const perp_lcp_family *f = perp_lcp_family_find(family);
  if (perp_lcp_generate_sparse(&ctx, f, n, &few) != PERP_OK) bail("%s", ctx.msg);
  int wrong = memcmp(dense.p.b, few.p.b, sizeof(double) * (size_t)n) != 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      wrong += perp_lcp_entry(&few.p, i, j) != dense.p.A[i + (size_t)j * (size_t)dense.p.lda];
  ok(wrong == 0, "%s of %d rows: the same numbers, dense and sparse", family, n);
  perp_lcp_problem_free(&dense);
  perp_lcp_problem_free(&few);
}

/* ---- solutions ---- */

static double *solve(const perp_lcp *p)
{
  perp_spec spec;
  perp_lcp_solver *solver;
  perp_stats stats;
  double *x = calloc(2 * (size_t)p->n, sizeof *x);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "auto", &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, p->n, 0, &solver) != PERP_OK ||
      perp_lcp_solve(&ctx, solver, p, 1e-10, x, x + p->n, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  ok(stats.reason == PERP_CONVERGED, "solved by auto, residual %.2g", stats.residual);
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  return x;
}

/* The put is exercised below one price: lambda = 0 there, and above it A lambda = -b, eliminated
 * from the far end; the largest lambda that is nowhere negative (Brennan and Schwartz 1977). */
static void put_solution(int n)
{
  perp_lcp_problem q = make("american-put", n, false);
  const perp_lcp *p = &q.p;
  double *x = solve(p), *d = calloc(2 * (size_t)n, sizeof *d), *r = d + n, worst = 0, size = 0;
  for (int i = n - 1; i >= 0; i--) {
    d[i] = perp_lcp_entry(p, i, i);
    r[i] = -p->b[i];
    if (i + 1 == n) continue;
    const double up = perp_lcp_entry(p, i, i + 1);
    d[i] -= up * perp_lcp_entry(p, i + 1, i) / d[i + 1];
    r[i] -= up * r[i + 1] / d[i + 1];
  }
  double before = 0;
  for (int i = 0; i < n; i++) {
    const double left = i > 0 ? perp_lcp_entry(p, i, i - 1) * before : 0;
    before = fmax((r[i] - left) / d[i], 0);
    worst = fmax(worst, fabs(before - x[i]));
    size = fmax(size, before);
  }
  /* rounding times the condition of A */
  const double condition = perp_lcp_entry(p, 0, 0);
  ok(size > 0.01 && worst < 4 * DBL_EPSILON * condition * size,
     "put of %d rows: %.2g off by elimination", n, worst / size);
  free(x);
  free(d);
  perp_lcp_problem_free(&q);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  forms("american-put", 150, 5000, put_error);
  forms("obstacle", 144, 4900, obstacle_error);
  forms("bearing", 200, 5000, bearing_error);
  same_as_dense("poisson", 196);
  same_as_dense("tridiag", 77);
  same_as_dense("ahn", 77);
  put_solution(5000);
  put_solution(50000);
  perp_lcp_problem q = make("poisson", 1000000, false);
  ok(q.p.C != NULL && q.p.C->start[q.p.n] == 5 * 1000000 - 4 * 1000,
     "poisson of a million rows: %d numbers", q.p.C->start[q.p.n]);
  perp_lcp_problem_free(&q);
  return tap_done();
}
