/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All solutions and their sensitivities against rational arithmetic, which knows neither bases nor
 * the library: corners of the arrangement of the planes lambda_i = lo_i, lambda_i = hi_i, w_i = 0,
 * inverses by elimination; and against solutions of problems with other data.
 * test_lcp_sensitivity [problems] */
#include "solvers/lcp/problem.h"
#include "solvers/lcp/pivoting/sensitivity.h"
#include "solvers/lcp/pivoting/solution_set.h"
#include "tests/oracle/rational.h"
#include "tests/tap.h"

enum { N = 4, PLANES = 3 * N, CORNERS = 512 };
static perp_ctx ctx;
static double A[N * N], b[N], lo[N], hi[N], mu[N];
static int fric_of[N];
static perp_lcp p;
static perp_rng *g;

/* ---- elimination ---- */

/* x [m] of the m x m system E, the right-hand side last; false: singular. */
static bool eliminate(mpq_t E[N][N + 1], int m, mpq_t *x)
{
  mpq_t f;
  bool regular = true;
  mpq_init(f);
  for (int k = 0; k < m && regular; k++) {
    int r = k;
    while (r < m && mpq_sgn(E[r][k]) == 0) r++;
    regular = r < m;
    for (int j = 0; j <= m && regular && r != k; j++) mpq_swap(E[k][j], E[r][j]);
    for (int i = 0; i < m && regular; i++) {
      if (i == k || mpq_sgn(E[i][k]) == 0) continue;
      mpq_t t;
      mpq_init(t);
      mpq_div(f, E[i][k], E[k][k]);
      for (int j = k; j <= m; j++) {
        mpq_mul(t, f, E[k][j]);
        mpq_sub(E[i][j], E[i][j], t);
      }
      mpq_clear(t);
    }
  }
  for (int i = 0; i < m && regular; i++) mpq_div(x[i], E[i][m], E[i][i]);
  mpq_clear(f);
  return regular;
}

/* w_i = (A x + b)_i */
static void force(int i, mpq_t *x, mpq_t w)
{
  mpq_t t;
  mpq_init(t);
  rational_of(w, b[i]);
  for (int j = 0; j < p.n; j++) {
    rational_of(t, A[i + j * p.n]);
    mpq_mul(t, t, x[j]);
    mpq_add(w, w, t);
  }
  mpq_clear(t);
}

static int against(mpq_t x, double bound)
{
  mpq_t t;
  if (bound == HUGE_VAL) return -1;
  if (bound == -HUGE_VAL) return 1;
  mpq_init(t);
  rational_of(t, bound);
  const int c = mpq_cmp(x, t);
  mpq_clear(t);
  return c;
}

static bool is_solution(mpq_t *x)
{
  bool good = true;
  mpq_t w;
  mpq_init(w);
  for (int i = 0; i < p.n && good; i++) {
    force(i, x, w);
    const int low = against(x[i], lo[i]), high = against(x[i], hi[i]), s = mpq_sgn(w);
    good = low >= 0 && high <= 0 && (s == 0 || (s > 0 ? low == 0 : high == 0));
  }
  mpq_clear(w);
  return good;
}

static mpq_t corner[CORNERS][N];
static int corners;

/* Does the plane lambda_i = lo, lambda_i = hi or w_i = 0 exist?  Its equation. */
static bool plane(int k, mpq_t *E)
{
  const int i = k / 3, kind = k % 3;
  const double bound = kind == 0 ? lo[i] : hi[i];
  if (kind < 2 && (!isfinite(bound) || (kind == 1 && lo[i] == hi[i]))) return false;
  for (int j = 0; j < p.n; j++) rational_of(E[j], kind == 2 ? A[i + j * p.n] : i == j);
  rational_of(E[p.n], kind == 2 ? -b[i] : bound);
  return true;
}

static void try_corner(const int *pick)
{
  mpq_t E[N][N + 1], *x = corner[corners];
  for (int k = 0; k < p.n; k++)
    for (int j = 0; j <= p.n; j++) mpq_init(E[k][j]);
  bool good = true;
  for (int k = 0; k < p.n && good; k++) good = plane(pick[k], E[k]);
  good = good && eliminate(E, p.n, x) && is_solution(x);
  for (int c = 0; c < corners && good; c++) {
    bool same = true;
    for (int j = 0; j < p.n && same; j++) same = mpq_equal(corner[c][j], x[j]);
    good = !same;
  }
  if (good && ++corners == CORNERS) bail("more than %d corners", CORNERS);
  for (int k = 0; k < p.n; k++)
    for (int j = 0; j <= p.n; j++) mpq_clear(E[k][j]);
}

static void find_corners(void)
{
  int pick[N];
  corners = 0;
  for (int k = 0; k < p.n; k++) pick[k] = k;
  for (;;) {
    try_corner(pick);
    int k = p.n - 1;
    while (k >= 0 && pick[k] == 2 * p.n + k) k--; /* 3 n planes */
    if (k < 0) return;
    for (pick[k]++; k + 1 < p.n; k++) pick[k + 1] = pick[k] + 1;
  }
}

/* ---- problems ---- */

static void random_problem(int kind)
{
  const int n = 1 + perp_rng_int(g, N);
  p = (perp_lcp){ .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
  for (int i = 0; i < n; i++) {
    b[i] = perp_rng_int(g, 7) - 3;
    lo[i] = 0;
    hi[i] = HUGE_VAL;
    const int bounds = kind == 0 ? 9 : perp_rng_int(g, 6);
    if (bounds == 0) lo[i] = -HUGE_VAL, hi[i] = 1;
    if (bounds == 1) lo[i] = -1, hi[i] = 2;
    if (bounds == 2) lo[i] = hi[i] = 1;
    if (bounds == 3 && kind == 2) lo[i] = -HUGE_VAL;
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      A[i + j * n] = perp_rng_int(g, 7) - 3 + (i == j && perp_rng_int(g, 2) ? 4 : 0);
  if (kind != 0 || n < 2 || perp_rng_int(g, 2) == 0) return;
  /* the second row is the first one once more: they share what there is */
  for (int j = 0; j < n; j++) A[1 + j * n] = A[j * n];
  for (int i = 0; i < n; i++) A[i + n] = A[i];
  b[1] = b[0];
}

static double rel_of(const double *x)
{
  double a[N], w[N];
  perp_lcp_scales(&p, a, NULL);
  perp_lcp_product(&p, x, w, NULL);
  return perp_lcp_rel(&p, a, x, w);
}

static int wrong;
#define must(cond, ...)                                                                            \
  do {                                                                                             \
    if (!(cond) && ++wrong < 6) ok(false, __VA_ARGS__);                                            \
  } while (0)

/* Found are the corners, all of them (with free rows also others, where there is none), but for
 * what the judge refuses: where b is 0 and only an inequality holds a corner of a ray, the nearest
 * doubles are no solution.  It is counted. */
static int refused;
static void compare_corners(const perp_lcp_solutions *s, int number, bool free_rows)
{
  must(s->complete, "problem %d: complete", number);
  const int count = s->count + s->rejected;
  refused += s->rejected;
  must(free_rows ? count >= corners : count == corners, "problem %d: %d of %d corners", number,
       count, corners);
  for (int c = 0; c < corners; c++) {
    double least = HUGE_VAL;
    for (int k = 0; k < s->count; k++) {
      double apart = 0;
      for (int i = 0; i < p.n; i++)
        apart = fmax(apart, fabs(s->lambda[k * p.n + i] - rational_double(corner[c][i])));
      least = fmin(least, apart);
    }
    must(least <= 1e-12 || s->rejected > 0, "problem %d: corner %d is %g from the nearest solution",
         number, c, least);
  }
}

/* Pure problems: what lies between two corners is a solution exactly where they share a set. */
static int segments;
static void compare_parts(const perp_lcp_solutions *s, int number)
{
  for (int k = 0; k < s->count; k++)
    for (int l = 0; l < k; l++) {
      double middle[N];
      bool shared = false;
      for (int i = 0; i < p.n; i++)
        middle[i] = 0.5 * (s->lambda[k * p.n + i] + s->lambda[l * p.n + i]);
      for (int q = 0; q < s->parts; q++) {
        int both = 0;
        for (int m = 0; m < s->part[q].count; m++)
          both += s->part[q].member[m] == k || s->part[q].member[m] == l;
        shared = shared || both == 2;
      }
      segments += shared;
      must(shared == (rel_of(middle) < 1e-10), "problem %d: solutions %d and %d %s", number, k, l,
           shared ? "share a set, but not what is between" : "share no set, but what is between");
    }
}

/* Along a ray there is no end; where a set is bounded, no corner of it goes far along a random ray
 * of the problem without b. */
static int rays;
static void compare_rays(const perp_lcp_solutions *s, int number)
{
  for (int q = 0; q < s->parts; q++) {
    const perp_lcp_part *part = &s->part[q];
    must(part->known, "problem %d: set %d is decided", number, q);
    if (part->bounded) continue;
    rays++;
    for (int m = 0; m < part->count; m++)
      for (double t = 1; t < 2000; t *= 7) {
        double x[N];
        for (int i = 0; i < p.n; i++)
          x[i] = s->lambda[part->member[m] * p.n + i] + t * part->ray[i];
        must(rel_of(x) < 1e-10, "problem %d: solution %d + %g ray", number, part->member[m], t);
      }
  }
}

/* ---- sensitivity ---- */

static perp_lcp_sensitivity z;
static double db[N * N], down[N * N], dbound[N * N], dmu[N * N], least[N], most[N];
static perp_lcp_smooth kind[N];
static unsigned char sets[N];
static int least_row[N], most_row[N];

static void sense(const double *lambda)
{
  z = (perp_lcp_sensitivity){ .sets = sets,
                              .db = db,
                              .db_down = down,
                              .kind = kind,
                              .dbound = dbound,
                              .dmu = dmu,
                              .least = least,
                              .most = most,
                              .least_row = least_row,
                              .most_row = most_row };
  if (perp_lcp_sensitivity_find(&ctx, &p, lambda, 0, &z) != PERP_OK) bail("%s", ctx.msg);
}

static double move(const double *lambda, const double *d, double t, int bi)
{
  const double before = b[bi];
  double x[N];
  for (int k = 0; k < p.n; k++) x[k] = lambda[k] + t * d[k];
  for (int k = 0; k < p.n; k++) { /* on its bound as a double, too */
    if (fabs(x[k] - lo[k]) < 1e-12) x[k] = lo[k];
    if (fabs(x[k] - hi[k]) < 1e-12) x[k] = hi[k];
    if (p.fric_of != NULL && fric_of[k] >= 0) {
      const double limit = mu[k] * fmax(x[fric_of[k]], 0);
      if (fabs(fabs(x[k]) - limit) < 1e-12) x[k] = x[k] < 0 ? -limit : limit;
    }
  }
  b[bi] += t;
  const double rel = rel_of(x);
  b[bi] = before;
  return rel;
}

static int intervals, sides, regular, degenerate, singular;
/* Within the interval the line is a solution, beyond it is none. */
static void compare_intervals(const double *lambda, int number)
{
  for (int i = 0; i < p.n; i++)
    for (int way = 0; way < 2; way++) {
      const double *d = (way ? down : db) + i * p.n;
      const double end = way ? b[i] - least[i] : most[i] - b[i], sign = way ? -1 : 1;
      if (isnan(d[0])) {
        must(z.verdict != PERP_BASIS_REGULAR, "problem %d: no derivative by b_%d", number, i);
        continue;
      }
      const double far = fmin(end, 5);
      must(move(lambda, d, sign * far * 0.999, i) < 1e-10, "problem %d: b_%d %+g goes on", number,
           i, sign * far);
      intervals++;
      sides += z.verdict == PERP_BASIS_DEGENERATE;
      if (end > 1e3) continue;
      must((way ? least_row : most_row)[i] >= 0, "problem %d: a row ends b_%d", number, i);
      must(move(lambda, d, sign * (end * 1.001 + 1e-4), i) > 1e-9,
           "problem %d: b_%d %+g is the end", number, i, sign * end);
    }
}

/* d lambda / d b by an exact inverse of the free rows. */
static void compare_inverse(int number)
{
  int F[N], m = 0;
  mpq_t E[N][N + 1], x[N];
  for (int i = 0; i < p.n; i++)
    if (sets[i] == PERP_SET_FREE) F[m++] = i;
  for (int i = 0; i < N; i++) mpq_init(x[i]);
  for (int c = 0; c < p.n; c++) {
    int at = -1;
    for (int k = 0; k < m; k++) at = F[k] == c ? k : at;
    for (int i = 0; i < m; i++)
      for (int j = 0; j <= m; j++) {
        mpq_init(E[i][j]);
        rational_of(E[i][j], j < m ? A[F[i] + F[j] * p.n] : i == at ? -1 : 0);
      }
    if (!eliminate(E, m, x)) bail("problem %d: singular", number);
    double apart = 0;
    for (int k = 0; k < p.n; k++) {
      double want = 0;
      for (int l = 0; l < m; l++)
        if (F[l] == k) want = rational_double(x[l]);
      apart = fmax(apart, fabs(db[k + c * p.n] - want) / (1 + fabs(want)));
    }
    must(apart < 1e-12, "problem %d: d lambda / d b_%d off by %g", number, c, apart);
    for (int i = 0; i < m; i++)
      for (int j = 0; j <= m; j++) mpq_clear(E[i][j]);
  }
  for (int i = 0; i < N; i++) mpq_clear(x[i]);
}

static void random_problems(int problems)
{
  g = perp_rng_create(45);
  for (int c = 0; c < CORNERS; c++)
    for (int i = 0; i < N; i++) mpq_init(corner[c][i]);
  int solutions = 0;
  for (int number = 0; number < problems; number++) {
    perp_lcp_solutions s;
    random_problem(number % 3);
    bool free_rows = false;
    for (int i = 0; i < p.n; i++) free_rows = free_rows || (isinf(lo[i]) && isinf(hi[i]));
    find_corners();
    if (perp_lcp_solutions_find(&ctx, &p, 1e-10, 1e-9, &s) != PERP_OK) bail("%s", ctx.msg);
    compare_corners(&s, number, free_rows);
    if (number % 3 == 0) compare_parts(&s, number);
    compare_rays(&s, number);
    for (int k = 0; k < s.count; k++, solutions++) {
      const double *lambda = s.lambda + k * p.n;
      sense(lambda);
      must(z.verdict != PERP_BASIS_NONE, "problem %d: solution %d is one", number, k);
      regular += z.verdict == PERP_BASIS_REGULAR;
      degenerate += z.verdict == PERP_BASIS_DEGENERATE;
      singular += z.verdict == PERP_BASIS_SINGULAR;
      if (z.verdict == PERP_BASIS_REGULAR) compare_inverse(number);
      if (z.verdict != PERP_BASIS_SINGULAR) compare_intervals(lambda, number);
    }
    perp_lcp_solutions_free(&s);
  }
  ok(wrong == 0 && regular > 0 && degenerate > 0 && singular > 0 && sides > 0 && rays > 0 &&
         segments > 0 && refused <= problems / 5000,
     "%d problems, %d solutions, %d refused, %d segments, %d rays; bases: %d regular, %d "
     "degenerate, %d "
     "singular; %d ends of intervals, %d of degenerate bases",
     problems, solutions, refused, segments, rays, regular, degenerate, singular, intervals, sides);
}

/* ---- friction rows ---- */

/* A contact with one friction row, or two, and a free row; the interval is the judge. */
static void friction_problems(int problems)
{
  int told = 0;
  wrong = 0;
  for (int number = 0; number < problems; number++) {
    double J[N * N];
    p = (perp_lcp){
      .n = N, .A = A, .lda = N, .b = b, .lo = lo, .hi = hi, .fric_of = fric_of, .mu = mu
    };
    for (int k = 0; k < N * N; k++) J[k] = perp_rng_uniform(g, -1, 1);
    for (int j = 0; j < N; j++)
      for (int i = 0; i < N; i++) {
        double sum = i == j ? 1 : 0;
        for (int k = 0; k < N; k++) sum += J[i + k * N] * J[j + k * N];
        A[i + j * N] = sum;
      }
    for (int i = 0; i < N; i++) {
      b[i] = perp_rng_uniform(g, -2, 1);
      fric_of[i] = i == 1 || (i == 2 && number % 2 == 0) ? 0 : -1;
      mu[i] = fric_of[i] >= 0 ? 0.4 : 0;
      lo[i] = i == 3 && number % 3 == 0 ? -HUGE_VAL : 0;
      hi[i] = i == 3 && number % 3 == 1 ? 0.1 : HUGE_VAL;
    }
    perp_lcp_solutions s;
    if (perp_lcp_solutions_find(&ctx, &p, 1e-10, 1e-9, &s) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < s.count; k++) {
      const double *lambda = s.lambda + k * N;
      sense(lambda);
      if (z.verdict != PERP_BASIS_REGULAR) continue;
      compare_intervals(lambda, number);
      for (int i = 1; i < 3; i++) { /* by mu: the same basis solves the problem with another mu */
        if (fric_of[i] < 0) continue;
        double x[N];
        for (int l = 0; l < N; l++) x[l] = lambda[l];
        const double h = 1e-6, m = mu[i];
        double rel = 0;
        mu[i] = m + h;
        for (int l = 0; l < N; l++) x[l] += h * dmu[l + i * N];
        for (int l = 1; l < 3; l++)
          if (fric_of[l] == 0 && sets[l] != PERP_SET_FREE)
            x[l] = (x[l] < 0 ? -1 : 1) * mu[l] * fmax(x[0], 0);
        rel = rel_of(x);
        mu[i] = m;
        must(rel < 1e-10, "friction %d: by mu_%d, rel %g", number, i, rel);
        told++;
      }
    }
    perp_lcp_solutions_free(&s);
  }
  ok(wrong == 0 && told > 0, "%d problems with friction, %d derivatives by mu", problems, told);
}

/* ---- other data, solved again ---- */

static void solve_exactly(double *x)
{
  perp_lcp_solutions s;
  if (perp_lcp_solutions_find(&ctx, &p, 1e-10, 1e-9, &s) != PERP_OK || s.count != 1)
    bail("%s, %d", ctx.msg, s.count);
  memcpy(x, s.lambda, (size_t)p.n * sizeof *x);
  perp_lcp_solutions_free(&s);
}

/* d lambda along a change of A, b and a bound by central differences and Richardson's extrapolation
 * for A positive definite and nonsymmetric: one solution. */
static void richardson(int problems)
{
  double worst = 0, worst_bound = 0;
  int compared = 0;
  for (int number = 0; number < problems; number++) {
    double dA[N * N], change[N], lambda[N], dlambda[N], keep[N * N], keep_b[N];
    p = (perp_lcp){ .n = N, .A = A, .lda = N, .b = b, .lo = lo, .hi = hi };
    for (int k = 0; k < N * N; k++) {
      A[k] = perp_rng_uniform(g, -1, 1) + (k % (N + 1) == 0 ? 5 : 0);
      dA[k] = perp_rng_uniform(g, -1, 1);
    }
    for (int i = 0; i < N; i++) {
      b[i] = perp_rng_uniform(g, -3, 2);
      change[i] = perp_rng_uniform(g, -1, 1);
      lo[i] = i == 0 ? 0.2 : 0;
      hi[i] = i == 1 ? 0.3 : HUGE_VAL;
    }
    solve_exactly(lambda);
    sense(lambda);
    double margin = HUGE_VAL;
    for (int i = 0; i < N; i++) margin = fmin(margin, fmin(most[i] - b[i], b[i] - least[i]));
    if (margin < 0.05) continue;
    perp_lcp_sensitivity_apply(N, db, lambda, dA, N, change, dlambda);
    memcpy(keep, A, sizeof A);
    memcpy(keep_b, b, sizeof b);
    double difference[2][N];
    for (int half = 0; half < 2; half++) {
      const double h = half ? 5e-4 : 1e-3;
      double up[N], low[N];
      for (int way = -1; way <= 1; way += 2) {
        for (int k = 0; k < N * N; k++) A[k] = keep[k] + way * h * dA[k];
        for (int k = 0; k < N; k++) b[k] = keep_b[k] + way * h * change[k];
        solve_exactly(way > 0 ? up : low);
      }
      for (int k = 0; k < N; k++) difference[half][k] = (up[k] - low[k]) / (2 * h);
    }
    memcpy(A, keep, sizeof A);
    memcpy(b, keep_b, sizeof b);
    for (int k = 0; k < N; k++) {
      const double want = (4 * difference[1][k] - difference[0][k]) / 3;
      worst = fmax(worst, fabs(dlambda[k] - want));
    }
    for (int i = 0; i < N; i++) { /* linear in bounds: a plain difference */
      if (sets[i] != PERP_SET_LO && sets[i] != PERP_SET_HI) continue;
      double *bound = sets[i] == PERP_SET_LO ? &lo[i] : &hi[i], at = *bound, up[N], low[N];
      *bound = at + 1e-4;
      solve_exactly(up);
      *bound = at - 1e-4;
      solve_exactly(low);
      *bound = at;
      for (int k = 0; k < N; k++)
        worst_bound = fmax(worst_bound, fabs((up[k] - low[k]) / 2e-4 - dbound[k + i * N]));
    }
    compared++;
  }
  ok(compared > problems / 4 && worst < 1e-10,
     "d lambda by A and b: %d problems, %.2g from Richardson's differences", compared, worst);
  ok(worst_bound < 1e-10, "d lambda by a bound: %.2g from differences", worst_bound);
}

int main(int argc, char **argv)
{
  random_problems(argc > 1 ? atoi(argv[1]) : 600);
  friction_problems(300);
  richardson(100);
  return tap_done();
}
