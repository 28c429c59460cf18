/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block principal pivoting: known answers, all P-matrices that are tried (against the enumeration
 * of all index sets), and what semidefinite stacks get. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 48 };
static perp_ctx ctx;
static double A[N * N], b[N], lambda[N];
static int n;

static perp_stats solved_from(const char *text, const perp_lcp *p, double *x)
{
  perp_spec spec;
  perp_stats stats;
  perp_lcp_solver *s;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, p->n, 0, &s) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_solve(&ctx, s, p, 1e-10, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

static perp_stats solved(const char *text, const perp_lcp *p, double *x)
{
  memset(x, 0, (size_t)p->n * sizeof *x);
  return solved_from(text, p, x);
}

static perp_stats generated(const char *text, const char *family, int rows)
{
  static double x[1024];
  perp_lcp_problem q;
  perp_lcp_recipe recipe = { .family = family, .n = rows, .seed = 1 };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
  if (q.p.n > 1024) bail("%d rows", q.p.n);
  perp_stats stats = solved(text, &q.p, x);
  perp_lcp_problem_free(&q);
  return stats;
}

/* exponential for others, all sizes: never more rounds than index sets */
static void families(void)
{
  static const char *const names[] = { "murty1", "murty2", "fathi", "csizmadia", "kostreva" };
  for (size_t f = 0; f < sizeof names / sizeof *names; f++)
    for (int rows = 3; rows <= (f == 4 ? 3 : 16); rows++) {
      perp_stats stats = generated("bpp", names[f], rows);
      if (stats.reason != PERP_CONVERGED || stats.iterations > 1 << rows)
        ok(false, "bpp: %s, n = %d: %s after %d rounds", names[f], rows,
           perp_reason_name(stats.reason), stats.iterations);
      else if (rows == 16 || f == 4)
        ok(true, "bpp: %s up to n = %d, the last in %d rounds", names[f], rows, stats.iterations);
    }
}

/* A P-matrix by its definition: every principal minor is positive. */
static bool is_p(void)
{
  for (int set = 1; set < 1 << n; set++) {
    double M[N][N];
    int k = 0, rows[N];
    for (int i = 0; i < n; i++)
      if (set >> i & 1) rows[k++] = i;
    for (int i = 0; i < k; i++)
      for (int j = 0; j < k; j++) M[i][j] = A[rows[i] + rows[j] * n];
    for (int c = 0; c < k; c++) { /* no exchanges: leading minors are principal minors as well */
      if (!(M[c][c] > 1e-3)) return false;
      for (int i = c + 1; i < k; i++)
        for (int j = c + 1; j < k; j++) M[i][j] -= M[i][c] / M[c][c] * M[c][j];
    }
  }
  return true;
}

static double truth[N];
static bool keep(void *user, const double *x, const double *w, const signed char *state)
{
  (void)user, (void)w, (void)state;
  memcpy(truth, x, (size_t)n * sizeof *x);
  return true;
}

/* Random P-matrices, most of them neither symmetric nor definite: one solution each, and it is
 * found, with blocks and without.  1e-9: minors of 1e-3 and ten digits of the judge */
static void p_matrices(void)
{
  perp_rng *rng = perp_rng_create(41);
  int problems = 0, wrong = 0, indefinite = 0;
  while (problems < 200) {
    n = 2 + perp_rng_int(rng, 4);
    for (int i = 0; i < n; i++) {
      b[i] = perp_rng_uniform(rng, -1, 0.5);
      for (int j = 0; j < n; j++)
        A[i + j * n] = i == j  ? 1
                       : i < j ? perp_rng_uniform(rng, -3, 3)
                               : perp_rng_uniform(rng, -0.5, 0.5);
    }
    if (!is_p()) continue;
    problems++;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) /* a 2 x 2 block of A + A' that is indefinite */
        if (pow(A[i + j * n] + A[j + i * n], 2) > 4 * A[i + i * n] * A[j + j * n]) {
          indefinite++;
          i = j = n;
        }
    perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
    int count;
    bool complete;
    if (perp_lcp_all_solutions(&ctx, &p, 1e-10, keep, NULL, &count, &complete) != PERP_OK)
      bail("%s", ctx.msg);
    if (count != 1 || !complete) bail("a P-matrix with %d solutions", count);
    static const char *const settings[] = { "bpp", "bpp:patience=0" };
    for (int k = 0; k < 2; k++) {
      perp_stats stats = solved(settings[k], &p, lambda);
      double apart = 0;
      for (int i = 0; i < n; i++) apart = fmax(apart, fabs(lambda[i] - truth[i]));
      if ((stats.reason != PERP_CONVERGED || apart > 1e-9) && wrong++ < 3)
        printf("# %s, n = %d: %s, %.1e from the truth\n", settings[k], n,
               perp_reason_name(stats.reason), apart);
    }
  }
  ok(wrong == 0, "bpp: %d random P-matrices, with blocks and without", problems);
  ok(indefinite > 50, "%d of them are not definite", indefinite);
  perp_rng_destroy(rng);
}

/* Kostreva's circulant, of which all three rows are out of order: the block of all of them is the
 * solution. */
static void circulant(void)
{
  n = 3;
  memset(A, 0, sizeof A);
  for (int i = 0; i < 3; i++) A[i + i * 3] = 1, A[i + (i + 1) % 3 * 3] = 2, b[i] = -1;
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
  perp_stats stats = solved("bpp", &p, lambda);
  ok(stats.reason == PERP_CONVERGED && stats.iterations <= 1, "bpp: one block");
  for (int i = 0; i < 3; i++) near(lambda[i], 1.0 / 3, 0, 1e-15, "bpp: lambda = e / 3");
}

/* Blocks alone cycle for ever: from F = {1} to {2}, {3} and {1} again (Ben Gharbia and Gilbert
 * 2012, of the Newton-min method, which takes the same blocks).  Single exchanges end that. */
static void cycle(void)
{
  n = 3;
  memset(A, 0, sizeof A);
  for (int i = 0; i < 3; i++) A[i + i * 3] = 1, A[(i + 1) % 3 + i * 3] = 2, b[i] = 1;
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
  static const char *const settings[] = { "bpp:patience=1000000", "bpp" };
  for (int k = 0; k < 2; k++) {
    lambda[0] = 1, lambda[1] = lambda[2] = 0;
    perp_stats stats = solved_from(settings[k], &p, lambda);
    ok(stats.reason == (k ? PERP_CONVERGED : PERP_MAX_ITER), "%s: %s after %d rounds", settings[k],
       perp_reason_name(stats.reason), stats.iterations);
  }
  near(lambda[0], 0, 0, 0, "bpp: lambda = 0");
}

/* Redundant rows: four contacts a face.  The forces of a face are not unique, their sum is. */
static void stacks(void)
{
  perp_stats stats;
  static const int rows[] = { 4, 16, 64, 256 };
  for (int k = 0; k < 4; k++) {
    stats = generated("bpp", "stack", rows[k]);
    ok(stats.reason == PERP_CONVERGED && stats.iterations == 0,
       "bpp: stack of %d contacts, the first block is right", rows[k]);
  }
  stats = generated("bpp", "wall", 424);
  ok(stats.reason == PERP_CONVERGED && stats.iterations <= 20,
     "bpp: wall of 424 contacts, %d rounds", stats.iterations);
  stats = generated("bpp", "psd", 256);
  ok(stats.reason == PERP_CONVERGED && stats.iterations <= 100, "bpp: psd of rank 128, %d rounds",
     stats.iterations);
  /* what it hands over is a direction with entries in all rows, a proof or one within a radius */
  const perp_reason reason = generated("bpp", "infeasible", 64).reason;
  ok(reason == PERP_INFEASIBLE || reason == PERP_NONE_WITHIN,
     "bpp: semidefinite without a solution, 64 rows: %s", perp_reason_name(reason));
  ok(generated("bpp", "nosol", 16).reason == PERP_INFEASIBLE, "bpp: v v' is proved to have none");
  /* a cube on four corners: A = (1/m + ...) of the corners, weight 4: the sum of the forces is 4 */
  n = 4;
  const double x[4] = { -1, -1, 1, 1 }, y[4] = { -1, 1, -1, 1 };
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) A[i + j * 4] = 1 + 3 * (x[i] * x[j] + y[i] * y[j]);
  for (int i = 0; i < 4; i++) b[i] = -4;
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
  stats = solved("bpp", &p, lambda);
  ok(stats.reason == PERP_CONVERGED, "bpp: a cube on four corners");
  near(lambda[0] + lambda[1] + lambda[2] + lambda[3], 4, 0, 1e-14, "bpp: they carry its weight");
  /* the drives of dantzig: a pivot for nearly every row; the start named bpp leaves none */
  const int none = generated("dantzig", "spd", 96).iterations,
            start = generated("dantzig:start=bpp", "spd", 96).iterations,
            rounds = generated("bpp", "spd", 96).iterations;
  ok(none > 64 && rounds <= 4 && start == rounds,
     "dantzig drives %d times, after bpp's start %d, bpp takes %d rounds", none, start, rounds);
}

/* v v' + a skew matrix + e I, with a solution: semidefinite, with e > 0 positive definite.  Where
 * the skew part is the larger one blocks come to nothing, and Murty's exchanges, which follow, can
 * be 2^n: few rows are solved, many run out of rounds, P-matrices too, and say so.  They are never
 * called unsolvable.  keller solves every one. */
static void skew(int rows, double e, int problems, bool all)
{
  perp_rng *rng = perp_rng_create(13);
  int wrong = 0, lost = 0, unsolved = 0, beyond = 0;
  n = rows;
  for (int k = 0; k < problems; k++) {
    double v[N], x[N];
    for (int i = 0; i < n; i++) v[i] = perp_rng_uniform(rng, -1, 1);
    for (int j = 0; j < n; j++)
      for (int i = 0; i <= j; i++) {
        const double s = i < j ? perp_rng_uniform(rng, -1, 1) : 0;
        A[i + j * n] = v[i] * v[j] + s;
        A[j + i * n] = v[i] * v[j] - s + (i == j ? e : 0);
      }
    for (int i = 0; i < n; i++) x[i] = fmax(perp_rng_uniform(rng, -1, 1), 0);
    for (int i = 0; i < n; i++) {
      b[i] = x[i] > 0 ? 0 : perp_rng_uniform(rng, 0, 1);
      for (int j = 0; j < n; j++) b[i] -= A[i + j * n] * x[j];
    }
    perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
    const perp_stats stats = solved("bpp", &p, lambda);
    lost += stats.reason == PERP_MAX_ITER;
    wrong += stats.reason != PERP_MAX_ITER && stats.reason != PERP_CONVERGED;
    beyond += stats.iterations > 50 * n + 1000;
    unsolved += solved("keller", &p, lambda).reason != PERP_CONVERGED;
  }
  perp_rng_destroy(rng);
  ok(wrong == 0 && beyond == 0, "bpp: %d mostly skew problems of %d rows, e = %g: %d out of rounds",
     problems, rows, e, lost);
  if (all) ok(lost == 0, "bpp: solves all of them");
  ok(unsolved == 0, "keller solves all of them");
}

/* A zero on the diagonal of A = [1 0 0; 0 0 1; 0 1 1], which is indefinite: its row is not zero. */
static void zero_row(void)
{
  double lo[3] = { 0 }, hi[3] = { 5, 5, 5 };
  const perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b, .lo = lo, .hi = hi };
  memcpy(A, (double[]){ 1, 0, 0, 0, 0, 1, 0, 1, 1 }, 9 * sizeof *A);
  memcpy(b, (double[]){ -1, -1, 0 }, 3 * sizeof *b);
  const perp_stats stats = solved("bpp", &p, lambda);
  ok(stats.reason == PERP_UNSUITED, "bpp: a zero on the diagonal of an indefinite A: %s",
     perp_reason_name(stats.reason));
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  families();
  p_matrices();
  circulant();
  cycle();
  stacks();
  zero_row();
  skew(6, 0, 200, true);
  skew(24, 0, 200, true);
  skew(24, 0.01, 100, true);
  skew(48, 0, 20, false);
  skew(48, 0.01, 20, false);
  skew(48, 1, 20, true);
  return tap_done();
}
