/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tie rules of lemke.  The lexicographic one against a textbook tableau with all columns of the
 * inverse of the basis (Cline 2002, 2.7.1): the same variables leave, pivot by pivot, on problems
 * full of ties. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 8, PIVOTS = 500 };
static perp_ctx ctx;
static double A[N * N], b[N], lambda[N];
static int n;

struct leavers {
  int count, row[PIVOTS];
};

/* ---- the tableau:  w - A z - e z0 = b, columns w (the inverse of the basis), z, z0, b ---- */

static long double T[N][2 * N + 2];
static int basic[N];

static void tableau_pivot(int row, int column)
{
  const long double p = T[row][column];
  for (int j = 0; j < 2 * n + 2; j++) T[row][j] /= p;
  for (int i = 0; i < n; i++) {
    const long double f = T[i][column];
    if (i == row || f == 0) continue;
    for (int j = 0; j < 2 * n + 2; j++) {
      T[i][j] -= f * T[row][j];
      if (fabsl(T[i][j]) < 1e-13L) T[i][j] = 0; /* small integers: what is small is zero */
    }
  }
  basic[row] = column;
}

/* is row i before row k: [b, B^-1] over the pivot entries, lexicographically */
static bool before(int i, int k, long double pi, long double pk)
{
  for (int j = -1; j < n; j++) {
    const int column = j < 0 ? 2 * n + 1 : j;
    const long double x = T[i][column] / pi, y = T[k][column] / pk;
    if (fabsl(x - y) > 1e-12L * (1 + fabsl(x) + fabsl(y))) return x < y;
  }
  return false;
}

static int index_of(int column)
{
  return column == 2 * n ? -1 : column % n;
}

/* true: solved, false: a ray; lexico = false: the first row of those that tie */
static bool tableau_lemke(struct leavers *out, bool lexico)
{
  memset(T, 0, sizeof T);
  out->count = 0;
  int row = 0;
  bool needed = false;
  for (int i = 0; i < n; i++) {
    T[i][i] = 1;
    for (int j = 0; j < n; j++) T[i][n + j] = -(long double)A[i + j * n];
    T[i][2 * n] = -1;
    T[i][2 * n + 1] = b[i];
    basic[i] = i;
    needed |= b[i] < 0;
  }
  if (!needed) return true;
  for (int i = 1; i < n; i++)
    if (lexico ? before(i, row, 1, 1) : T[i][2 * n + 1] < T[row][2 * n + 1]) row = i;
  int entering = n + row;
  out->row[out->count++] = row;
  tableau_pivot(row, 2 * n);
  while (out->count < PIVOTS) {
    row = -1;
    for (int i = 0; i < n; i++) {
      if (!(T[i][entering] > 1e-12L)) continue;
      const long double p = T[i][entering];
      if (row < 0) {
        row = i;
        continue;
      }
      const long double q = T[row][entering];
      const long double x = T[i][2 * n + 1] / p, y = T[row][2 * n + 1] / q;
      const bool tie = fabsl(x - y) <= 1e-12L * (1 + fabsl(x) + fabsl(y));
      if (tie ? basic[i] == 2 * n || (lexico && basic[row] != 2 * n && before(i, row, p, q))
              : x < y)
        row = i;
    }
    if (row < 0) return false;
    const int leaving = basic[row];
    out->row[out->count++] = index_of(leaving);
    tableau_pivot(row, entering);
    if (leaving == 2 * n) return true;
    entering = leaving < n ? leaving + n : leaving - n;
  }
  return false;
}

/* ---- lemke as it is seen ---- */

static void watch(void *user, const perp_trace_event *e)
{
  struct leavers *l = user;
  if (strcmp(e->what, "cover") != 0 && strcmp(e->what, "pivot") != 0) return;
  if (l->count < PIVOTS) l->row[l->count++] = e->leaving;
}

static perp_stats lemke(const char *text, struct leavers *l)
{
  perp_spec spec;
  perp_stats stats;
  perp_lcp_solver *s;
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
  memset(lambda, 0, sizeof lambda);
  l->count = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, n, 0, &s) != PERP_OK) bail("%s", ctx.msg);
  ctx.trace = watch;
  ctx.trace_user = l;
  if (perp_lcp_solve(&ctx, s, &p, 1e-10, lambda, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  ctx.trace = NULL;
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

static bool equal(const struct leavers *a, const struct leavers *b2)
{
  return a->count == b2->count && memcmp(a->row, b2->row, (size_t)a->count * sizeof *a->row) == 0;
}

/* G G' + skew with entries of -1, 0, 1, b of -1 and 0: hardly a pivot without a tie */
static void degenerate(perp_rng *rng)
{
  double G[N * N];
  n = 3 + perp_rng_int(rng, N - 2);
  for (int i = 0; i < n * n; i++) G[i] = perp_rng_int(rng, 3) - 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = i == j;
      for (int k = 0; k < n; k++) sum += G[i + k * n] * G[j + k * n];
      A[i + j * n] = sum;
    }
  const bool skewed = perp_rng_int(rng, 2);
  for (int i = 0; skewed && i < n; i++)
    for (int j = 0; j < i; j++) {
      const double x = perp_rng_int(rng, 3) - 1;
      A[i + j * n] += x;
      A[j + i * n] -= x;
    }
  for (int i = 0; i < n; i++) b[i] = perp_rng_int(rng, 4) == 0 ? 0 : -1;
}

static void against_tableau(void)
{
  perp_rng *rng = perp_rng_create(31);
  struct leavers book, naive, lexico, perturbed;
  int wrong = 0, failed = 0, differ = 0, naive_differs = 0, problems = 400;
  for (int k = 0; k < problems; k++) {
    degenerate(rng);
    if (!tableau_lemke(&book, true)) bail("the tableau ends on a ray of a definite matrix");
    tableau_lemke(&naive, false);
    failed += lemke("lemke:cover=ones,ties=lexicographic", &lexico).reason != PERP_CONVERGED;
    failed += lemke("lemke:cover=ones,ties=perturbed", &perturbed).reason != PERP_CONVERGED;
    if (!equal(&book, &lexico) && wrong++ < 3) printf("# problem %d, n = %d: other pivots\n", k, n);
    differ += !equal(&lexico, &perturbed);
    naive_differs += !equal(&book, &naive);
  }
  ok(failed == 0, "both rules solve %d degenerate problems", problems);
  ok(wrong == 0, "lexicographic: the pivots of the tableau, problem by problem");
  ok(differ > problems / 4, "the two rules part on %d of %d", differ, problems);
  ok(naive_differs > problems / 10, "and the rule matters: the first row differs on %d",
     naive_differs);
  perp_rng_destroy(rng);
}

/* Kostreva's circulant: with b = -e and the covering vector e all three rows tie at once.  Of the
 * rows with equal b that one is the lexico-minimum whose unit vector comes last. */
static void circulant(void)
{
  struct leavers l;
  n = 3;
  memset(A, 0, sizeof A);
  for (int i = 0; i < 3; i++) A[i + i * 3] = 1, A[i + (i + 1) % 3 * 3] = 2, b[i] = -1;
  for (int k = 0; k < 2; k++) {
    const char *name = k ? "lemke:cover=ones,ties=perturbed"
                         : "lemke:cover=ones,ties=lexicographic";
    perp_stats stats = lemke(name, &l);
    ok(stats.reason == PERP_CONVERGED, "%s: Kostreva's circulant", name);
    for (int i = 0; i < 3; i++) near(lambda[i], 1.0 / 3, 0, 1e-15, "%s: lambda = e / 3", name);
    if (k == 0) ok(l.row[0] == 2, "lexicographic: the last of equal rows leaves first");
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  against_tableau();
  circulant();
  return tap_done();
}
