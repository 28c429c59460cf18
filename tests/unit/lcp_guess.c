/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pivoting methods from a guess: pyramids of friction with more rows than motions, which have a
 * solution, from guesses of every kind.  A guess may cost pivots and never the answer. */
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

enum { CONTACTS = 4, ROWS = 10, N = CONTACTS * ROWS, MOTIONS = 6, TRIALS = 2000 };

static perp_ctx ctx;
static double A[N * N], b[N], answer[N], before[N];

/* Contact c: normal, four friction directions, the sliding speed (Stewart and Trinkle 1996), with J
 * [5 CONTACTS x MOTIONS], A = [J J', E; mu N - E', 0] so that it is singular.  law: mu > 0 and b =
 * (J v, 0), for which Lemke's path from zero ends in a solution; else mu = 0, A is semidefinite,
 * and b = w - A answer with a w complementary to the answer. */
static void guess_problem(perp_rng *rng, bool law)
{
  double J[N][MOTIONS] = { { 0 } }, w[N], v[MOTIONS], half[3];
  for (int k = 0; k < MOTIONS; k++) v[k] = perp_rng_uniform(rng, -1, 1) - (k == 2);
  for (int k = 0; k < 3; k++) half[k] = perp_rng_uniform(rng, 0.1, 1);
  for (int c = 0; c < CONTACTS; c++)
    for (int d = 0; d < ROWS - 1; d++) {
      const double r[3] = { c & 1 ? half[0] : -half[0], c & 2 ? half[1] : -half[1], -half[2] };
      const double angle = 2 * acos(-1) * (d - 1) / (ROWS - 2),
                   e[3] = { d > 0 ? cos(angle) : 0, d > 0 ? sin(angle) : 0, d == 0 };
      for (int k = 0; k < 3; k++) {
        const int l = (k + 1) % 3, m = (k + 2) % 3;
        J[ROWS * c + d][k] = e[k];
        J[ROWS * c + d][3 + k] = (r[l] * e[m] - r[m] * e[l]) / half[k];
      }
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < MOTIONS; k++) sum += J[i][k] * J[j][k];
      A[i + N * j] = sum;
    }
  for (int c = 0; c < CONTACTS; c++) {
    const int s = ROWS * c + ROWS - 1;
    A[s + N * (ROWS * c)] = law ? 0.5 : 0;
    for (int d = 1; d < ROWS - 1; d++) A[ROWS * c + d + N * s] = 1, A[s + N * (ROWS * c + d)] = -1;
  }
  for (int i = 0; i < N; i++) {
    const bool positive = perp_rng_int(rng, 2) == 0;
    answer[i] = positive ? perp_rng_uniform(rng, 0.1, 1) : 0;
    w[i] = positive ? 0 : perp_rng_uniform(rng, 0, 1);
  }
  for (int i = 0; i < N; i++) {
    b[i] = w[i];
    for (int j = 0; j < N; j++) b[i] -= A[i + N * j] * answer[j];
    if (!law) continue;
    b[i] = 0;
    for (int k = 0; k < MOTIONS; k++) b[i] += J[i][k] * v[k];
  }
}

/* random sets; all rows; the answer; the answer with one row less or more; that of the problem
 * before */
static void guess_of(perp_rng *rng, int kind, double *x)
{
  for (int i = 0; i < N; i++)
    x[i] = kind == 1 || (kind == 0 && perp_rng_int(rng, 2) == 0) ? perp_rng_uniform(rng, 0.1, 1)
           : kind == 4                                           ? before[i]
           : kind >= 2                                           ? answer[i]
                                                                 : 0;
  const int i = perp_rng_int(rng, N);
  if (kind == 3) x[i] = x[i] > 0 ? 0 : 1;
}

/* w = A x + b in long double: the largest violation of any condition */
static double guess_left(const double *x)
{
  long double worst = 0;
  for (int i = 0; i < N; i++) {
    long double w = b[i];
    for (int j = 0; j < N; j++) w += (long double)A[i + N * j] * x[j];
    worst = fmaxl(worst, fabsl(fminl(w, x[i])));
  }
  return (double)worst;
}

/* path: one that ends in a solution from zero, too (keller's cycles may not, for singular A) */
static void guess_test(const char *method, bool law, bool path)
{
  perp_rng *rng = perp_rng_create(38);
  perp_spec spec;
  perp_lcp_solver *solver;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, N, 0, &solver) != PERP_OK)
    bail("%s", ctx.msg);
  int cold = 0, unsolved[5] = { 0 };
  double worst = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double x[N] = { 0 }, w[N];
    perp_stats stats;
    memcpy(before, answer, sizeof before);
    guess_problem(rng, law);
    const perp_lcp p = { .n = N, .A = A, .lda = N, .b = b, .tol_data = 1e-6 };
    if (perp_lcp_solve(&ctx, solver, &p, 1e-8, x, w, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    cold += stats.reason < 0;
    for (int i = 0; i < N && stats.reason > 0; i++) answer[i] = x[i];
    for (int kind = 0; kind < 5; kind++) {
      guess_of(rng, kind, x);
      if (perp_lcp_solve(&ctx, solver, &p, 1e-8, x, w, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      if (stats.reason < 0)
        unsolved[kind]++;
      else
        worst = fmax(worst, guess_left(x));
    }
  }
  ok(cold == 0 || !path, "%s, %s: %d of %d problems are not solved from zero", method,
     law ? "pyramids" : "semidefinite", cold, TRIALS);
  ok(unsolved[0] + unsolved[1] + unsolved[2] + unsolved[3] + unsolved[4] == 0,
     "... from random sets %d, from all rows %d, from the answer %d, from one row beside it %d, "
     "from another answer %d",
     unsolved[0], unsolved[1], unsolved[2], unsolved[3], unsolved[4]);
  below(worst, 1e-5, "... conditions are missed by %.1g at most", worst);
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  perp_rng_destroy(rng);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int law = 0; law < 2; law++) {
    guess_test("lemke", law, true);
    guess_test("lemke:ties=lexicographic", law, true);
  }
  guess_test("keller", false, false);
  return tap_done();
}
