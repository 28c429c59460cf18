/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pivoting solvers on problems with known answers and on random ones, judged here in long double.
 */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 64 };
static perp_ctx ctx;
static double A[N * N], b[N], lo[N], hi[N], lambda[N], proof[N];
static int n;

static void set(int i, int j, double x)
{
  A[i + j * n] = x;
}

static void pure(int size)
{
  n = size;
  memset(A, 0, sizeof A);
  memset(lambda, 0, sizeof lambda);
  for (int i = 0; i < n; i++) {
    b[i] = lo[i] = 0;
    hi[i] = HUGE_VAL;
  }
}

/* the judge's definition, in long double */
static double rel(void)
{
  typedef long double ld;
  ld worst = 0, scale = 0;
  for (int i = 0; i < n; i++) {
    ld w = (ld)b[i], a = 0, x = (ld)lambda[i];
    for (int j = 0; j < n; j++) {
      w += (ld)A[i + j * n] * (ld)lambda[j];
      a = fmaxl(a, fabsl((ld)A[i + j * n]));
    }
    if (a == 0) a = 1;
    if (!isfinite((double)w)) return HUGE_VAL;
    ld to = fminl(fmaxl(x - w / a, (ld)lo[i]), (ld)hi[i]);
    worst = fmaxl(worst, fabsl(x - to));
    scale = fmaxl(scale, fmaxl(fabsl(x), fabsl((ld)b[i]) / a));
  }
  return (double)(worst / fmaxl(scale, 1e-300L));
}

/* a vector that proves infeasibility: v >= 0 where lo is the only bound, 0 where both are, A'v = 0,
 * v'b < 0 */
static int proves(void)
{
  double vb = 0, top = 0;
  for (int i = 0; i < n; i++) top = fmax(top, fabs(proof[i]));
  for (int i = 0; i < n; i++) {
    if (lo[i] > -HUGE_VAL && proof[i] < -1e-12 * top) return 0;
    if (hi[i] < HUGE_VAL && proof[i] > 1e-12 * top) return 0;
    double u = 0, size = 0;
    for (int j = 0; j < n; j++) {
      u += A[j + i * n] * proof[j];
      size = fmax(size, fabs(A[j + i * n]));
    }
    if (fabs(u) > 1e-10 * size * top) return 0;
    vb += proof[i] * b[i];
  }
  return vb < 0;
}

static perp_stats solve_friction(const char *text, const int *of, const double *mu)
{
  perp_spec s;
  perp_stats stats = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &s) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)s.d;
  void *ws;
  if (d->create(&ctx, n, s.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi, .fric_of = of, .mu = mu };
  if (d->solve(&ctx, ws, &p, lambda, proof, &stats) != PERP_OK) bail("%s", ctx.msg);
  d->destroy(ws);
  perp_spec_free(&s);
  return stats;
}

static perp_stats solve(const char *text)
{
  return solve_friction(text, NULL, NULL);
}

/* 1e-13: a hundred times the worst seen, 1e-15 */
static void solves(const char *method, const char *problem)
{
  perp_stats stats = solve(method);
  if (!ok(stats.reason == PERP_EXACT, "%s: %s, n = %d", method, problem, n))
    printf("# %s after %d pivots, rel %.3g\n", perp_reason_name(stats.reason), stats.iterations,
           rel());
  below(rel(), 1e-13, "%s: %s, n = %d: residual", method, problem, n);
}

static void murty(int size, int second)
{
  pure(size);
  for (int i = 0; i < n; i++) {
    set(i, i, 1);
    for (int j = i + 1; j < n; j++) set(i, j, 2);
    b[i] = second ? ldexp(1, i + 1) - ldexp(1, n + 1) : -1;
  }
}

/* a problem through perp_lcp_solve: reason and residual of the one judge */
static perp_stats judged_problem(const char *method, const perp_lcp_problem *q)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, q->p.n, 0, &s) != PERP_OK) bail("%s", ctx.msg);
  double *x = calloc((size_t)q->p.n, sizeof *x);
  if (x == NULL) bail("no memory");
  if (perp_lcp_solve(&ctx, s, &q->p, 1e-10, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  free(x);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

static perp_stats judged(const char *method, const char *family, int rows, uint64_t seed)
{
  perp_lcp_problem q;
  perp_lcp_recipe recipe = { .family = family, .n = rows, .seed = seed };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
  perp_stats stats = judged_problem(method, &q);
  perp_lcp_problem_free(&q);
  return stats;
}

static void lemke_known(void)
{
  murty(12, 0);
  solves("lemke", "Murty I");
  near(lambda[11], 1, 0, 1e-15, "lemke: Murty I has lambda = e_n");
  murty(8, 1);
  perp_stats stats = solve("lemke:cover=ones");
  ok(stats.reason == PERP_EXACT && stats.iterations == 255, "lemke: Murty II takes 2^8 - 1 pivots");
  murty(16, 1);
  stats = solve("lemke:cover=ones,max_iter=500");
  ok(stats.reason == PERP_MAX_ITER && stats.iterations == 500 && isfinite(lambda[0]),
     "lemke: Murty II stops at the limit");
  pure(32);
  for (int i = 0; i < n; i++) {
    set(i, i, 1);
    for (int j = 0; j < i; j++) set(i, j, -1);
    b[i] = -1;
  }
  solves("lemke", "Csizmadia");
  near(lambda[31], ldexp(1, 31), 0, 0, "lemke: Csizmadia has lambda_i = 2^(i-1)");

  /* multipliers of 1 beside 2^47: what is small relative to the largest is no rounding here */
  static const char *const sharp[] = { "lemke", "lemke:cover=ones", "lemke:cover=scaled" };
  for (size_t k = 0; k < sizeof sharp / sizeof *sharp; k++) {
    stats = judged(sharp[k], "csizmadia", 48, 1);
    ok(stats.reason == PERP_CONVERGED, "%s: Csizmadia, n = 48, is no ray", sharp[k]);
  }

  pure(2); /* Cottle-Pang-Stone, remark 4.1.14: rank one */
  for (int i = 0; i < 4; i++) A[i] = 1;
  b[0] = b[1] = -1;
  solves("lemke", "[1 1; 1 1], (-1, -1)");
  pure(2); /* unbounded solution set */
  A[0] = A[3] = 1;
  A[1] = A[2] = -1;
  b[0] = 1;
  b[1] = -1;
  solves("lemke", "[1 -1; -1 1], (1, -1)");
  pure(3); /* zero diagonal, solution (0, 1, 3) */
  set(0, 1, -1), set(0, 2, 2), set(1, 0, 2), set(1, 2, -2), set(2, 0, -1), set(2, 1, 1);
  b[0] = -3, b[1] = 6, b[2] = -1;
  solves("lemke", "zero diagonal");
  near(lambda[2], 3, 0, 1e-15, "lemke: zero diagonal has the solution (0, 1, 3)");

  for (int size = 2; size <= 32; size *= 4) {
    pure(size); /* v v' with alternating v, b = -e: no solution */
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) set(i, j, (i + j) % 2 ? -1 : 1);
    for (int i = 0; i < n; i++) b[i] = -1;
    stats = solve("lemke");
    ok(stats.reason == PERP_INFEASIBLE && proves(), "lemke: infeasible, proved, n = %d", n);
  }

  pure(2); /* a free variable with a zero pivot of its own: w0 = lambda1 - 2, w1 = -lambda0 + 1 */
  set(0, 1, 1), set(1, 0, -1);
  b[0] = -2, b[1] = 1;
  lo[0] = -HUGE_VAL;
  solves("lemke", "free row with zero diagonal");
  near(lambda[1], 2, 0, 1e-15, "lemke: lambda_1 = 2");
  near(lambda[0], 1, 0, 1e-15, "lemke: lambda_0 = 1");
  pure(2); /* the same equation twice: fine when they agree, infeasible otherwise */
  for (int i = 0; i < 4; i++) A[i] = 1;
  b[0] = b[1] = -3;
  lo[0] = lo[1] = -HUGE_VAL;
  solves("lemke", "redundant equations");
  b[1] = -2;
  stats = solve("lemke");
  ok(stats.reason == PERP_INFEASIBLE && proves(), "lemke: contradicting equations, proved");
  pure(0);
  solves("lemke", "empty");
  pure(1); /* 1 x 1, A < 0 */
  A[0] = -1, b[0] = -1;
  stats = solve("lemke");
  ok(stats.reason < 0, "lemke: [-1], (-1) is not reported solved");
}

/* Rays: a row that finds no end alone may find one after another row has been driven */
static void keller_rays(void)
{
  pure(2); /* skew, 0 <= lambda_1 = 1, lambda_0 = 1: driving either row first changes no w of its
              own */
  set(0, 1, 1), set(1, 0, -1);
  b[0] = -1, b[1] = 1;
  solves("keller", "skew-symmetric");
  ok(judged("keller", "cps-4", 4, 1).reason == PERP_CONVERGED, "keller: cps-4");
  static const char *const solvable[] = { "skew-perturbed", "cps-2", "pang", "chen-ye" };
  for (size_t k = 0; k < sizeof solvable / sizeof *solvable; k++)
    ok(judged("keller", solvable[k], 3, 1).reason == PERP_CONVERGED, "keller: %s", solvable[k]);
  ok(judged("keller", "bimatrix", 16, 1).reason == PERP_UNSUITED &&
         judged("keller", "pang-perturbed", 3, 1).reason == PERP_UNSUITED,
     "keller: a ray of a matrix outside the domain says so");
  pure(3); /* skew, so in the domain; the sum of w is that of b, and there is no solution */
  for (int i = 0; i < 3; i++) set(i, (i + 1) % 3, 1), set((i + 1) % 3, i, -1);
  b[0] = b[1] = -1, b[2] = -3;
  const perp_stats stats = solve("keller");
  ok(stats.reason == PERP_RAY, "keller: a ray of a skew-symmetric A: %s",
     perp_reason_name(stats.reason));
  ok(judged("keller", "nosol", 16, 1).reason == PERP_INFEASIBLE, "keller: no solution, proved");
}

/* A = G G' of given rank, b from a planted solution, bounds of every kind */
static void random_boxes(perp_rng *rng, int size, int rank, int skew, int kinds)
{
  static double G[N * N], z[N];
  pure(size);
  for (int i = 0; i < n * rank; i++) G[i] = perp_rng_normal(rng);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int k = 0; k < rank; k++) sum += G[i + k * n] * G[j + k * n];
      set(i, j, sum);
    }
  for (int i = 0; skew && i < n; i++)
    for (int j = 0; j < i; j++) {
      double s = perp_rng_normal(rng);
      A[i + j * n] += s;
      A[j + i * n] -= s;
    }
  for (int i = 0; i < n; i++) {
    int kind = perp_rng_int(rng, kinds);
    double middle = perp_rng_uniform(rng, -2, 2), half = perp_rng_uniform(rng, 0, 1);
    lo[i] = kind == 0 ? 0 : kind == 2 || kind == 4 ? -HUGE_VAL : middle - half;
    hi[i] = kind == 0 || kind == 1 || kind == 4 ? HUGE_VAL : middle + half;
    if (kind == 5) hi[i] = lo[i];
  }
  /* planted: half of the rows at a bound with w of the right sign, some of them with w = 0 */
  for (int i = 0; i < n; i++) {
    double u = perp_rng_uniform(rng, 0, 1);
    z[i] = u < 0.3 && lo[i] > -HUGE_VAL  ? lo[i]
           : u < 0.5 && hi[i] < HUGE_VAL ? hi[i]
           : lo[i] > -HUGE_VAL           ? lo[i] + u * fmin(1, hi[i] - lo[i])
           : hi[i] < HUGE_VAL            ? hi[i] - u
                                         : u;
    double w = perp_rng_int(rng, 4) == 0 ? 0 : perp_rng_uniform(rng, 0, 1);
    b[i] = z[i] == lo[i] ? w : z[i] == hi[i] ? -w : 0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) b[i] -= A[i + j * n] * z[j];
}

/* 1e-11: what the solvers promise themselves; a planted solution exists */
static void random_classes(const char *method, int nonsymmetric)
{
  perp_rng *rng = perp_rng_create(11);
  for (int rank = 0; rank < 3; rank++)
    for (int skew = 0; skew <= nonsymmetric; skew++)
      for (int kinds = 1; kinds <= 6; kinds += 5) {
        int failed = 0, count = 400;
        double worst = 0;
        for (int k = 0; k < count; k++) {
          int size = 1 + perp_rng_int(rng, k % 10 == 0 ? 48 : 8);
          random_boxes(rng, size, rank == 0 ? size : rank == 1 ? (size + 1) / 2 : 1, skew, kinds);
          perp_stats stats = solve(method);
          double r = rel();
          worst = stats.reason == PERP_EXACT ? fmax(worst, r) : worst;
          if (stats.reason != PERP_EXACT || !(r <= 1e-11)) {
            if (failed++ < 3)
              printf("# %s n %d: %s after %d pivots, rel %.3g\n", method, n,
                     perp_reason_name(stats.reason), stats.iterations, r);
          }
        }
        ok(failed == 0, "%s: %d random problems, %s rank, %s, %s: worst residual %.1e", method,
           count,
           rank == 0   ? "full"
           : rank == 1 ? "half"
                       : "one",
           skew ? "skew part" : "symmetric", kinds == 1 ? "lo = 0" : "boxes and free rows", worst);
      }
  perp_rng_destroy(rng);
}

/* symmetric problems that every solver for them must get */
static void symmetric_known(const char *method)
{
  char text[80];
  perp_stats stats;
  pure(2);
  for (int i = 0; i < 4; i++) A[i] = 1;
  b[0] = b[1] = -1;
  solves(method, "[1 1; 1 1], (-1, -1)");
  pure(2);
  A[0] = A[3] = 1;
  A[1] = A[2] = -1;
  b[0] = 1, b[1] = -1;
  solves(method, "[1 -1; -1 1], (1, -1)");
  for (int size = 2; size <= 32; size *= 4) {
    pure(size);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) set(i, j, (i + j) % 2 ? -1 : 1);
    for (int i = 0; i < n; i++) b[i] = -1;
    stats = solve(method);
    ok(stats.reason == PERP_INFEASIBLE && proves(), "%s: infeasible, proved, n = %d", method, n);
  }
  pure(16); /* Fathi: U'U of Murty's U; lambda = e_1 */
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= n; j++)
      set(i - 1, j - 1, i == j ? 4 * (i - 1) + 1 : 4 * ((i < j ? i : j) - 1) + 2);
    b[i - 1] = -1;
  }
  solves(method, "Fathi");
  near(lambda[0], 1, 0, 1e-14, "%s: Fathi has lambda = e_1", method);
  pure(3); /* a zero row: fine with b >= 0, infeasible otherwise */
  set(0, 0, 1), set(1, 1, 2);
  b[0] = -1, b[1] = 1;
  solves(method, "zero row");
  b[2] = -1;
  stats = solve(method);
  ok(stats.reason == PERP_INFEASIBLE && proves(), "%s: zero row with b < 0 is infeasible", method);
  hi[2] = 5;
  solves(method, "zero row with a bound");
  near(lambda[2], 5, 0, 0, "%s: it goes to the bound", method);
  pure(2); /* bounds that do not contain 0 */
  set(0, 0, 2), set(0, 1, 1), set(1, 0, 1), set(1, 1, 2);
  lo[0] = 1, hi[0] = 2, lo[1] = -3, hi[1] = -2;
  b[0] = -2, b[1] = 3;
  solves(method, "0 outside of the bounds");
  near(lambda[0], 2, 0, 1e-15, "%s: lambda_0 = (2 + 2) / 2", method);
  near(lambda[1], -2.5, 0, 1e-15, "%s: lambda_1 = -(3 + 2) / 2", method);
  pure(2);
  for (int i = 0; i < 4; i++) A[i] = 1;
  b[0] = b[1] = -3;
  lo[0] = lo[1] = -HUGE_VAL;
  solves(method, "redundant equations");
  b[1] = -2;
  stats = solve(method);
  ok(stats.reason == PERP_INFEASIBLE && proves(), "%s: contradicting equations, proved", method);
  pure(0);
  solves(method, "empty");
  pure(1);
  A[0] = -1, b[0] = -1;
  stats = solve(method);
  ok(stats.reason < 0, "%s: [-1], (-1) is not reported solved", method);
  snprintf(text, sizeof text, "%s%cmax_iter=1", method, strchr(method, ':') != NULL ? ',' : ':');
  pure(8); /* chain of -1: needs more than one pivot */
  for (int i = 0; i < n; i++) {
    set(i, i, 2);
    if (i > 0) set(i, i - 1, -1), set(i - 1, i, -1);
    b[i] = i == 0 ? -1 : 0.01 * i;
  }
  stats = solve(text);
  ok(stats.reason != PERP_EXACT || rel() < 1e-12, "%s: a limit of one is honest", method);
}

static void generated(const char *method, const char *family, int rows, uint64_t seed, double bound)
{
  perp_stats stats = judged(method, family, rows, seed);
  if (!ok(stats.reason == PERP_CONVERGED && stats.residual <= bound,
          "%s: %s, n = %d, seed %d: %.1e", method, family, rows, (int)seed, stats.residual))
    printf("# %s after %d pivots\n", perp_reason_name(stats.reason), stats.iterations);
}

/* Games whose costs are of very different sizes: the pivots lose what the equations of the supports
 * give back. */
static void uneven_games(void)
{
  enum { GAMES = 40 };
  perp_rng *rng = perp_rng_create(8);
  int solved = 0;
  for (int k = 0; k < GAMES; k++) {
    const int half = 4 + k % 5;
    pure(2 * half);
    for (int i = 0; i < half; i++)
      for (int j = 0; j < half; j++) {
        set(i, half + j, exp(perp_rng_uniform(rng, 0, 23)));
        set(half + j, i, exp(perp_rng_uniform(rng, 0, 23)));
      }
    for (int i = 0; i < n; i++) b[i] = -1;
    const perp_lcp_problem q = { .p = { .n = n, .A = A, .lda = n, .b = b } };
    solved += judged_problem("lemke-howson", &q).reason == PERP_CONVERGED;
  }
  ok(solved == GAMES, "lemke-howson: %d of %d games of uneven costs", solved, GAMES);
  perp_rng_destroy(rng);
}

/* 1e-12: some ten times what was seen */
static void howson(void)
{
  for (int rows = 2; rows <= 256; rows *= 2)
    for (uint64_t seed = 1; seed <= (rows <= 64 ? 5 : 2); seed++)
      generated("lemke-howson", "bimatrix", rows, seed, 1e-12);
  pure(4); /* Cottle-Pang-Stone, example 4.4.23: three equilibria, given up pairs lead to some of
              them */
  double game[4][4] = { { 0, 0, 10, 20 }, { 0, 0, 30, 15 }, { 10, 20, 0, 0 }, { 30, 15, 0, 0 } };
  int found = 0;
  for (int k = 0; k < 4; k++) {
    char text[64];
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 4; j++) set(i, j, game[i][j]);
      b[i] = -1;
    }
    snprintf(text, sizeof text, "lemke-howson:label=%d", k);
    solves(text, "a game with three equilibria");
    found |= lambda[0] == 0 ? 1 : lambda[1] == 0 ? 2 : 4;
  }
  ok(found != 0 && (found & (found - 1)) != 0,
     "lemke-howson: different labels find different equilibria");
  pure(4); /* matching pennies as a game of costs 1 and 2: all 1/3 */
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      set(i, 2 + j, i == j ? 1 : 2);
      set(2 + i, j, i == j ? 2 : 1);
    }
  for (int i = 0; i < 4; i++) b[i] = -1;
  solves("lemke-howson", "matching pennies");
  for (int i = 0; i < 4; i++)
    near(lambda[i], 1.0 / 3, 0, 1e-14, "lemke-howson: lambda_%d = 1/3", i);
  pure(6); /* a degenerate game: all costs equal */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) set(i, 3 + j, 1), set(3 + j, i, 1);
  for (int i = 0; i < 6; i++) b[i] = -1;
  solves("lemke-howson", "all costs equal");
  pure(7); /* matching pennies with the rows of the two sets mixed, and a second game beside it */
  int set_of[7] = { 0, 1, 1, 0, 0, 1, 0 };
  for (int i = 0; i < 7; i++) {
    b[i] = -1;
    for (int j = 0; j < 7; j++)
      if (set_of[i] != set_of[j]) set(i, j, 1 + (i * 5 + j * 3) % 7);
  }
  solves("lemke-howson", "the rows of a game in any order");
  for (int rows = 16; rows <= 200; rows *= 3)
    for (uint64_t seed = 1; seed <= 4; seed++) {
      perp_lcp_problem q;
      perp_lcp_recipe recipe = {
        .family = "bimatrix", .n = rows - rows % 2, .seed = seed, .permute = true, .scale = 1e-9
      };
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
      perp_stats stats = judged_problem("lemke-howson", &q);
      ok(stats.reason == PERP_CONVERGED, "lemke-howson: bimatrix, %d rows in random order", q.p.n);
      perp_lcp_problem_free(&q);
    }
  uneven_games();
  pure(3); /* three rows that all see each other */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) set(i, j, i != j);
  b[0] = b[1] = b[2] = -1;
  ok(solve("lemke-howson").reason == PERP_UNSUITED, "lemke-howson: refuses three sets of rows");
  pure(2);
  A[0] = A[3] = 1;
  b[0] = b[1] = -1;
  ok(solve("lemke-howson").reason == PERP_UNSUITED, "lemke-howson: refuses what is not a game");
}

/* Boxed friction on symmetric positive definite A with random couplings: the limits must agree at
 * the end. The fixed point need not exist nor be found; nine of ten is the promise that is checked,
 * and honesty about the rest. */
static void friction(const char *method)
{
  perp_rng *rng = perp_rng_create(3);
  perp_spec spec;
  perp_lcp_solver *s;
  int solved = 0, wrong = 0, count = 300;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, 15, 0, &s) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < count; k++) {
    int of[15];
    double mu[15];
    random_boxes(rng, 3 * (1 + perp_rng_int(rng, 5)), 12, 0, 1);
    for (int i = 0; i < n; i++) {
      of[i] = i % 3 == 0 ? -1 : i - i % 3;
      mu[i] = perp_rng_uniform(rng, 0.1, 0.8);
      set(i, i, A[i + i * n] + 0.1);
    }
    perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .fric_of = of, .mu = mu };
    perp_stats stats;
    memset(lambda, 0, sizeof lambda);
    if (perp_lcp_solve(&ctx, s, &p, 1e-10, lambda, NULL, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    if (stats.reason != PERP_CONVERGED) continue;
    solved++;
    for (int i = 0; i < n; i++)
      if (of[i] >= 0) hi[i] = mu[i] * lambda[of[i]], lo[i] = -hi[i];
    wrong += !(rel() <= 1e-9);
  }
  ok(wrong == 0, "%s: friction limits agree with the normal multipliers", method);
  ok(solved >= 9 * count / 10, "%s: %d of %d coupled friction problems solved", method, solved,
     count);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  perp_rng_destroy(rng);
}

/* friction=fixed: the limits of Vondrak 6.5.3, mu times the normal multipliers without friction,
 * and the solution of the boxed problem with them. */
static void friction_fixed(const char *method)
{
  perp_rng *rng = perp_rng_create(4);
  double worst = 0;
  int solved = 0, moved = 0, count = 100;
  for (int k = 0; k < count; k++) {
    int of[15];
    double mu[15], without[15], box[2][15];
    random_boxes(rng, 3 * (1 + perp_rng_int(rng, 5)), 12, 0, 1);
    for (int i = 0; i < n; i++) {
      of[i] = i % 3 == 0 ? -1 : i - i % 3;
      mu[i] = perp_rng_uniform(rng, 0.1, 0.8);
      set(i, i, A[i + i * n] + 0.1);
      box[0][i] = lo[i], box[1][i] = hi[i];
      if (of[i] >= 0) lo[i] = hi[i] = 0;
    }
    memset(lambda, 0, sizeof lambda);
    if (solve("dantzig").reason != PERP_EXACT) bail("no solution without friction");
    memcpy(without, lambda, (size_t)n * sizeof *without);
    memcpy(lo, box[0], (size_t)n * sizeof *lo);
    memcpy(hi, box[1], (size_t)n * sizeof *hi);
    memset(lambda, 0, sizeof lambda);
    solved += solve_friction(method, of, mu).reason == PERP_EXACT;
    for (int i = 0; i < n; i++)
      if (of[i] >= 0) {
        hi[i] = mu[i] * fmax(without[of[i]], 0), lo[i] = -hi[i];
        moved += fabs(lambda[of[i]] - without[of[i]]) > 0.1 * fabs(without[of[i]]);
      }
    worst = fmax(worst, rel());
  }
  ok(solved == count, "%s: %d of %d problems with fixed limits solved", method, solved, count);
  ok(moved > 10, "%s: %d normal multipliers are others with friction", method, moved);
  below(worst, 1e-12, "%s: the limits are those without friction", method);
  perp_rng_destroy(rng);
}

/* A workspace carries nothing from one problem to the next: the results are those of a fresh one.
 */
static void stateless(const char *method)
{
  perp_rng *rng = perp_rng_create(17);
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)spec.d;
  void *used;
  int differ = 0;
  if (d->create(&ctx, N, spec.opts, &used) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < 300; k++) {
    void *fresh;
    double other[N] = { 0 };
    perp_stats one = { 0 }, two = { 0 };
    random_boxes(rng, 1 + perp_rng_int(rng, 20), 1 + perp_rng_int(rng, 20), 0, k % 2 ? 6 : 1);
    for (int i = 0; k % 3 == 0 && i < n; i++)
      b[i] = perp_rng_uniform(rng, -1, 1); /* many infeasible */
    perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
    memset(lambda, 0, sizeof lambda);
    if (d->create(&ctx, N, spec.opts, &fresh) != PERP_OK) bail("%s", ctx.msg);
    if (d->solve(&ctx, used, &p, lambda, proof, &one) != PERP_OK) bail("%s", ctx.msg);
    if (d->solve(&ctx, fresh, &p, other, proof, &two) != PERP_OK) bail("%s", ctx.msg);
    d->destroy(fresh);
    differ += one.reason != two.reason || one.iterations != two.iterations ||
              memcmp(lambda, other, (size_t)n * sizeof *other) != 0;
  }
  ok(differ == 0, "%s: a used workspace gives the results of a fresh one, bit for bit", method);
  d->destroy(used);
  perp_spec_free(&spec);
  perp_rng_destroy(rng);
}

/* reuse=true on sequences with the same A: right each time, and fewer factorizations; with an A
 * that was changed behind its back (the array is the same one all the time), right as well */
static void reuse(const char *method, double most)
{
  perp_rng *rng = perp_rng_create(23);
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)spec.d;
  void *ws;
  double worst = 0;
  int wrong = 0, factored = 0, solves = 0;
  if (d->create(&ctx, N, spec.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < 200; k++) {
    int size = 30 + perp_rng_int(rng, 30);
    random_boxes(rng, size, k % 2 ? size : size / 2, 0, k % 4 < 2 ? 6 : 1);
    memset(lambda, 0, sizeof lambda);
    for (int step = 0; step < 5; step++) {
      perp_stats stats = { 0 };
      perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
      if (step == 4) /* other numbers, still semidefinite and solvable: b stays in the range of A */
        for (int i = 0; i < n * n; i++) A[i] *= 3;
      if (step == 4)
        for (int i = 0; i < n; i++) b[i] *= 3;
      if (d->solve(&ctx, ws, &p, lambda, proof, &stats) != PERP_OK) bail("%s", ctx.msg);
      wrong += stats.reason != PERP_EXACT;
      worst = fmax(worst, rel());
      if (step > 0 && step < 4) {
        factored += stats.factorizations;
        solves++;
      }
      /* move b by a column of A: the solvable problems stay solvable */
      int j = perp_rng_int(rng, n);
      double x = perp_rng_uniform(rng, -0.05, 0.05);
      if (lo[j] > -HUGE_VAL || hi[j] < HUGE_VAL) x *= hi[j] < HUGE_VAL ? 0 : -fabs(x) / x;
      for (int i = 0; i < n; i++) b[i] += x * A[i + j * n];
    }
  }
  ok(wrong == 0 && worst <= 1e-11, "%s: sequences of 5, %.1e", method, worst);
  ok(factored < most * solves, "%s: %d factorizations in %d solves after the first", method,
     factored, solves);
  d->destroy(ws);
  perp_spec_free(&spec);
  perp_rng_destroy(rng);
}

struct watch {
  int events, bad;
};
static void watch(void *user, const perp_trace_event *e)
{
  struct watch *w = user;
  w->events += strcmp(e->what, "start") != 0 && strcmp(e->what, "cover") != 0;
  w->bad += e->n != n || !(e->step >= 0 || strcmp(e->method, "murty") == 0) || e->entering >= n ||
            e->leaving >= n;
  for (int i = 0; e->state != NULL && i < e->n; i++) w->bad += e->state[i] < -1 || e->state[i] > 1;
}

/* every pivot is seen, and being watched changes nothing */
static void traced(const char *method)
{
  perp_rng *rng = perp_rng_create(23);
  struct watch w = { 0, 0 };
  double before[N];
  random_boxes(rng, 24, 24, 0, 1);
  int pivots = solve(method).iterations;
  memcpy(before, lambda, sizeof before);
  memset(lambda, 0, sizeof lambda);
  ctx.trace = watch;
  ctx.trace_user = &w;
  perp_stats stats = solve(method);
  ctx.trace = NULL;
  ok(w.events == pivots && stats.iterations == pivots && pivots > 0 && w.bad == 0 &&
         memcmp(before, lambda, sizeof before) == 0,
     "%s: %d pivots, %d seen", method, pivots, w.events);
  perp_rng_destroy(rng);
}

/* from the solution of the same problem nothing is left to pivot */
static void warm(const char *method)
{
  perp_rng *rng = perp_rng_create(29);
  random_boxes(rng, 40, 40, 0, 1);
  int cold = solve(method).iterations;
  perp_stats again = solve(method);
  ok(again.reason == PERP_EXACT && again.iterations == 0,
     "%s: %d pivots cold, %d from the solution", method, cold, again.iterations);
  perp_rng_destroy(rng);
}

/* problem files of other projects, where they are at hand */
static void files(void)
{
  static const char *const names[] = {
    "lcp/lcp_CPS_1",         "lcp/lcp_CPS_2",      "lcp/lcp_CPS_4",       "lcp/lcp_deudeu",
    "lcp/lcp_exp_murty",     "lcp/lcp_exp_murty2", "lcp/lcp_ortiz",       "lcp/lcp_trivial",
    "mlcp/PDSym_mlcp",       "mlcp/PD_mlcp",       "mlcp/RCD_mlcp",       "mlcp/RLCD_mlcp",
    "mlcp/deudeu_mlcp",      "mlcp/m2n1_mlcp",     "mlcp/m3n2_mlcp",      "mlcp/relay2_mlcp",
    "mlcp/diodeBridge_mlcp", "relay/relay1",       "relay/relay_simple2", "relay/relay_4x4",
    "relay/step_4x4"
  };
  const char *folder = getenv("PERP_PROBLEMS");
  perp_spec spec;
  if (folder == NULL) {
    skip("PERP_PROBLEMS is not set", "lemke: problem files of other projects");
    return;
  }
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "lemke", &spec) != PERP_OK) bail("%s", ctx.msg);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    char path[1024];
    perp_lcp_problem q;
    perp_lcp_solver *s;
    perp_stats stats;
    snprintf(path, sizeof path, "%s/%s.dat", folder, names[k]);
    if (perp_lcp_read(&ctx, path, &q) != PERP_OK) {
      skip("no such file", "lemke: %s", names[k]);
      continue;
    }
    memset(lambda, 0, sizeof lambda);
    if (q.p.n > N || perp_lcp_create(&ctx, &spec, q.p.n, 0, &s) != PERP_OK) bail("%s", ctx.msg);
    if (perp_lcp_solve(&ctx, s, &q.p, 1e-10, lambda, NULL, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    ok(stats.reason == PERP_CONVERGED || perp_lcp_proved(s) != PERP_PROOF_NONE,
       "lemke: %s: %s, %.1e", names[k], perp_reason_name(stats.reason), stats.residual);
    perp_lcp_destroy(s);
    perp_lcp_problem_free(&q);
  }
  perp_spec_free(&spec);
}

/* A zero row has no scale of its own: that of A decides, so that units change no answer. */
static void zero_row(const char *method)
{
  const double matrix[9] = { 2, 0, 1, 0, 0, 0, 1, 0, 2 }, c[3] = { -1, -1e-3, -1 };
  int first = -1;
  for (int k = 0; k < 3; k++) {
    const double unit = (const double[]){ 1, 1e-12, 1e-15 }[k];
    double Ak[9], bk[3], x[3] = { 0 };
    for (int i = 0; i < 9; i++) Ak[i] = unit * matrix[i];
    for (int i = 0; i < 3; i++) bk[i] = unit * c[i];
    const perp_lcp p = { .n = 3, .A = Ak, .lda = 3, .b = bk };
    perp_spec spec;
    perp_lcp_solver *s;
    perp_stats stats;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, 3, 0, &s) != PERP_OK ||
        perp_lcp_solve(&ctx, s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s: %s", method, ctx.msg);
    if (k == 0) first = (int)stats.iterations;
    ok(stats.reason == PERP_INFEASIBLE && stats.iterations == first,
       "%s: w = -1e-3 in a zero row, times %g: %s after %d", method, unit,
       perp_reason_name(stats.reason), (int)stats.iterations);
    perp_lcp_destroy(s);
    perp_spec_free(&spec);
  }
}

/* Sizes about a multiple of 64, where every row is positive: A of full size is factored. */
static void all_positive(const char *method)
{
  double worst = 0;
  for (int rows = 62; rows <= 66; rows++) {
    perp_lcp_problem q;
    perp_lcp_recipe r = { .family = "spd", .n = rows, .seed = 4 };
    double x[66] = { 0 }, c[66], apart = 0;
    perp_spec spec;
    perp_lcp_solver *s;
    perp_stats stats;
    if (perp_lcp_generate(&ctx, &r, &q) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < rows; i++) {
      c[i] = 0;
      for (int j = 0; j < rows; j++) c[i] -= q.p.A[i + j * rows] * (1 + j);
    }
    const perp_lcp problem = { .n = rows, .A = q.p.A, .lda = rows, .b = c };
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, rows, 0, &s) != PERP_OK ||
        perp_lcp_solve(&ctx, s, &problem, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s: %s", method, ctx.msg);
    for (int i = 0; i < rows; i++) apart = fmax(apart, fabs(x[i] - (1 + i)));
    worst = fmax(worst, stats.reason > 0 ? apart : HUGE_VAL);
    perp_lcp_destroy(s);
    perp_spec_free(&spec);
    perp_lcp_problem_free(&q);
  }
  below(worst, 1e-8, "%s: 62 to 66 rows, all positive", method);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  lemke_known();
  random_classes("lemke", 1);
  symmetric_known("lemke");
  static const char *const boxed[] = { "dantzig", "dantzig:order=index", "dantzig:start=bpp",
                                       "bpp" };
  for (int k = 0; k < 4; k++) {
    symmetric_known(boxed[k]);
    random_classes(boxed[k], 0);
  }
  symmetric_known("lemke:ties=lexicographic");
  random_classes("lemke:ties=lexicographic", 1);
  symmetric_known("keller");
  random_classes("keller", 1);
  keller_rays();
  murty(10, 0);
  perp_stats stats = solve("murty");
  ok(stats.reason == PERP_EXACT && stats.iterations == 1023,
     "murty: Murty I takes 2^10 - 1 pivots");
  murty(20, 0);
  stats = solve("murty:max_iter=5000");
  ok(stats.reason == PERP_MAX_ITER && stats.iterations == 5000, "murty: stops at the limit");
  pure(3); /* circulant P-matrix, lambda = e / 3 */
  for (int i = 0; i < 3; i++) set(i, i, 1), set(i, (i + 1) % 3, 2), b[i] = -1;
  solves("murty", "circulant");
  near(lambda[1], 1.0 / 3, 0, 1e-15, "murty: circulant has lambda = e / 3");
  howson();
  for (int k = 0; k < 4; k++) friction(boxed[k]);
  friction_fixed("dantzig:friction=fixed");
  friction_fixed("bpp:friction=fixed");
  static const char *const all[] = { "lemke",  "dantzig", "dantzig:start=bpp",
                                     "keller", "murty",   "lemke:ties=lexicographic",
                                     "bpp" };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    stateless(all[k]);
    warm(all[k]);
    if (k != 2) traced(all[k]); /* the start of dantzig is seen beyond what it counts */
  }
  reuse("dantzig:start=bpp,reuse=true", 0.5);
  reuse("bpp:reuse=true", 0.75); /* half of the matrices are singular: a shift is a new factor */
  files();
  static const char *const contact[] = { "stack", "incline-edge", "incline-slide", "incline-stick",
                                         "stack-friction" };
  for (size_t k = 0; k < sizeof contact / sizeof *contact; k++)
    generated("lemke", contact[k], 96, 1, 1e-12);
  generated("lemke", "stack", 256, 1, 1e-12);
  generated("lemke", "wall", 88, 1, 1e-12);
  for (int k = 0; k < 4; k++) {
    generated(boxed[k], "stack", 96, 1, 1e-12);
    generated(boxed[k], "wall", 88, 1, 1e-12);
    generated(boxed[k], "stack-box", 96, 1, 1e-12);
  }
  ok(judged("dantzig", "murty1", 4, 1).reason == PERP_UNSUITED,
     "dantzig: a nonsymmetric matrix is refused");
  zero_row("dantzig");
  zero_row("lemke");
  zero_row("bpp");
  static const char *const direct[] = { "dantzig", "lemke",  "lemke:ties=lexicographic",
                                        "bpp",     "keller", "murty" };
  for (size_t k = 0; k < sizeof direct / sizeof *direct; k++) all_positive(direct[k]);
  return tap_done();
}
