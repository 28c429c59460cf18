/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Active sets on sparse problems: answers by the judge, who knows nothing of the method, and by the
 * bound of the distance to the one solution; few rounds on any grid; P-matrices on which exchanges
 * of whole blocks go in circles. */
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

/* a sparse problem, filled column by column */
typedef struct grid {
  int n, *start, *row, *rstart, *col;
  double *value, *rvalue, *b, *lo, *hi;
  perp_columns columns;
  perp_lcp lcp;
} grid;

static grid *grid_new(int n, int numbers)
{
  grid *g = calloc(1, sizeof *g);
  g->n = n;
  g->start = calloc(2 * (size_t)n + 2, sizeof *g->start);
  g->rstart = g->start + n + 1;
  g->row = calloc(2 * (size_t)numbers, sizeof *g->row);
  g->col = g->row + numbers;
  g->value = calloc(2 * (size_t)numbers + 3 * (size_t)n, sizeof *g->value);
  g->rvalue = g->value + numbers;
  g->b = g->rvalue + numbers;
  g->lo = g->b + n;
  g->hi = g->lo + n;
  for (int i = 0; i < n; i++) g->hi[i] = HUGE_VAL;
  return g;
}

static void grid_put(grid *g, int j, int i, double value)
{
  if (i < 0 || i >= g->n || value == 0) return;
  g->row[g->start[j + 1]] = i;
  g->value[g->start[j + 1]++] = value;
  if (j + 1 < g->n) g->start[j + 2] = g->start[j + 1];
}

static void grid_done(grid *g)
{
  perp_columns_turn(g->n, g->start, g->row, g->value, g->rstart, g->col, g->rvalue);
  g->columns = (perp_columns){ g->n, g->start, g->row, g->value, g->rstart, g->col, g->rvalue };
  g->lcp = (perp_lcp){ .n = g->n, .C = &g->columns, .b = g->b, .lo = g->lo, .hi = g->hi };
}

static void grid_free(grid *g)
{
  free(g->start);
  free(g->row);
  free(g->value);
  free(g);
}

/* k x k points of the unit square: -div grad u - wind u_x - load over an obstacle, lambda = u
 * - obstacle.  between: u may not exceed a second one either. */
static grid *membrane(int k, double wind, bool between)
{
  grid *g = grid_new(k * k, 5 * k * k);
  const double h = 1.0 / (k + 1), up = 1 - wind * h / 2, down = 1 + wind * h / 2;
  for (int j = 0; j < g->n; j++) {
    const int c = j % k;
    grid_put(g, j, j - k, -1);
    grid_put(g, j, c > 0 ? j - 1 : -1, -up);
    grid_put(g, j, j, 4);
    grid_put(g, j, c + 1 < k ? j + 1 : -1, -down);
    grid_put(g, j, j + k, -1);
  }
  grid_done(g);
  double *obstacle = calloc((size_t)g->n, sizeof *obstacle);
  for (int i = 0; i < g->n; i++) {
    const double x = (i % k + 1) * h - 0.5, y = (i / k + 1) * h - 0.4;
    obstacle[i] = 0.5 - 2 * (x * x + y * y);
    g->b[i] = 10 * h * h;
    if (between) g->hi[i] = 0.3;
  }
  perp_columns_times(&g->columns, obstacle, g->b);
  free(obstacle);
  return g;
}

/* One implicit step of an American put in log prices: tridiagonal, an M-matrix that is not quite
 * symmetric, most of b zero. */
static grid *put(int n)
{
  if (n < 1) bail("no rows");
  grid *g = grid_new(n, 3 * n);
  const double h = 6.0 / (n + 1), s = 0.3, r = 0.05, half = s * s / 2 / (h * h),
               drift = (r - s * s / 2) / (2 * h);
  for (int j = 0; j < n; j++) {
    grid_put(g, j, j - 1, -half - drift);
    grid_put(g, j, j, 1 + 2 * half + r);
    grid_put(g, j, j + 1, -half + drift);
  }
  grid_done(g);
  double *pay = calloc((size_t)n, sizeof *pay);
  for (int i = 0; i < n; i++) {
    pay[i] = fmax(1 - exp(-3 + (i + 1) * h), 0);
    g->b[i] = -pay[i];
  }
  g->b[0] += (-half + drift) * (1 - exp(-3.0));
  perp_columns_times(&g->columns, pay, g->b);
  free(pay);
  return g;
}

static perp_stats solve(const char *solver, const perp_lcp *lcp, double *lambda, double *own)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  perp_lcp_judgement judgement;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, solver, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, lcp->n, 0, &s) != PERP_OK ||
      perp_lcp_solve(&ctx, s, lcp, 1e-10, lambda, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  double *scratch = calloc(PERP_LCP_SCRATCH(lcp->n, 0), sizeof *scratch);
  perp_lcp_judge(lcp, lambda, NULL, scratch, &judgement);
  *own = judgement.own;
  free(scratch);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

/* Is the answer right to 14 digits, within so many rounds, and without any other solver? */
static void check(const char *what, grid *g, int rounds)
{
  double *lambda = calloc(2 * (size_t)g->n, sizeof *lambda), *bound = lambda + g->n, own, most = 0,
         size = 0;
  int active = 0;
  const perp_stats stats = solve("pdas", &g->lcp, lambda, &own);
  const bool small = g->n <= 500; /* the bound is costly, and worse on finer grids */
  const perp_lcp_near near = small ? perp_lcp_distance(&g->lcp, lambda, bound) : PERP_NEAR_UNKNOWN;
  for (int i = 0; i < g->n; i++) {
    most = fmax(most, bound[i]);
    size = fmax(size, fabs(lambda[i]));
    active += lambda[i] == g->lo[i];
  }
  ok(stats.reason == PERP_CONVERGED && own <= 1e-14 && stats.iterations <= rounds,
     "%s, %d rows, %d at the lower bound: own %.1e in %d rounds", what, g->n, active, own,
     stats.iterations);
  if (small)
    ok(near != PERP_NEAR_UNKNOWN && most <= 1e-8 * size,
       "... and no farther than %.1e of %.2g from the one solution", most, size);
  free(lambda);
  grid_free(g);
}

/* ---- the rounds ---- */

static void check_rounds(void)
{
  char text[80];
  for (int k = 20; k <= 160; k *= 2) {
    check("a membrane over an obstacle", membrane(k, 0, false), 7);
    check("... between two", membrane(k, 0, true), 9);
    check("... in the wind", membrane(k, 8, false), 7);
  }
  for (int n = 500; n <= 32000; n *= 4) check("a put", put(n), 6);
  /* without coarser problems the rounds grow with the grid: the check above says something */
  grid *g = membrane(80, 0, false);
  double *lambda = calloc((size_t)g->n, sizeof *lambda), own;
  const perp_stats stats = solve("pdas:nested=false", &g->lcp, lambda, &own);
  snprintf(text, sizeof text, "pdas:max_iter=%d,nested=false", stats.iterations - 1);
  ok(stats.reason == PERP_CONVERGED && own <= 1e-14 && stats.iterations >= 11,
     "from all rows free it takes %d rounds", stats.iterations);
  memset(lambda, 0, (size_t)g->n * sizeof *lambda);
  const perp_stats fewer = solve(text, &g->lcp, lambda, &own);
  ok(fewer.reason == PERP_MAX_ITER, "and with one change less it ends there: %s",
     perp_reason_name(fewer.reason));
  /* a guess */
  memset(lambda, 0, (size_t)g->n * sizeof *lambda);
  solve("pdas", &g->lcp, lambda, &own);
  const perp_stats again = solve("pdas:nested=false", &g->lcp, lambda, &own);
  ok(again.reason == PERP_CONVERGED && again.iterations <= 1, "from its answer: %d rounds",
     again.iterations);
  free(lambda);
  grid_free(g);
}

/* ---- free and fixed rows ---- */

static void check_rows(void)
{
  grid *g = membrane(30, 3, false);
  for (int i = 0; i < g->n; i += 7) g->lo[i] = -HUGE_VAL;
  for (int i = 0; i < g->n; i += 11) g->lo[i] = g->hi[i] = 0.01;
  double *lambda = calloc(2 * (size_t)g->n, sizeof *lambda), *other = lambda + g->n, own,
         furthest = 0;
  const perp_stats stats = solve("pdas", &g->lcp, lambda, &own);
  ok(stats.reason == PERP_CONVERGED && own <= 1e-14, "free and fixed rows: own %.1e", own);
  solve("lemke", &g->lcp, other, &own);
  for (int i = 0; i < g->n; i++) furthest = fmax(furthest, fabs(lambda[i] - other[i]));
  ok(furthest <= 1e-11, "Lemke's pivots on the dense matrix end %.1e from it", furthest);
  free(lambda);
  grid_free(g);
}

/* ---- P-matrices that are no M-matrices ---- */

static double uniform(unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (1 << 24);
}

static void check_others(void)
{
  /* a circulant P-matrix on which the Newton method of the min map runs in a circle (Ben Gharbia
   * and Gilbert 2012, section 3.2) */
  const double A[9] = { 1, 2, 0, 0, 1, 2, 2, 0, 1 }, b[3] = { -1, -1, -1 };
  const perp_lcp circle = { .n = 3, .A = A, .lda = 3, .b = b };
  double x[3] = { 1, 0, 0 }, own;
  perp_stats stats = solve("pdas:nested=false", &circle, x, &own);
  ok(stats.reason == PERP_CONVERGED && fabs(x[0] - 1 / 3.0) + fabs(x[1] - 1 / 3.0) < 1e-15,
     "a circulant: (%.3f, %.3f, %.3f) in %d rounds", x[0], x[1], x[2], stats.iterations);
  int solved = 0, good = 0;
  unsigned state = 5;
  for (int t = 0; t < 40; t++) { /* diagonally dominant with numbers of both signs */
    const int n = 220;
    grid *g = grid_new(n, 8 * n);
    for (int j = 0; j < n; j++)
      for (int i = j - 3; i <= j + 3; i++)
        grid_put(g, j, i, i == j ? 3.2 : t % 2 == 0 || i < j ? uniform(&state) * 2 - 1 : 0.4);
    grid_done(g);
    for (int i = 0; i < n; i++) {
      g->b[i] = uniform(&state) * 2 - 1.2;
      g->hi[i] = t % 3 == 0 ? 0.2 : HUGE_VAL;
    }
    double *lambda = calloc((size_t)n, sizeof *lambda);
    stats = solve("pdas", &g->lcp, lambda, &own);
    solved += stats.reason == PERP_CONVERGED;
    good += own <= 1e-14;
    free(lambda);
    grid_free(g);
  }
  ok(solved == 40 && good == 40, "%d of 40 bands with numbers of both signs", solved);
  /* what it does not serve is said */
  const double zero[4] = { 0, 1, -1, 0 }, c[2] = { 1, -1 };
  const perp_lcp game = { .n = 2, .A = zero, .lda = 2, .b = c };
  double y[2] = { 0 };
  stats = solve("pdas", &game, y, &own);
  ok(stats.reason == PERP_UNSUITED, "zeros on the diagonal: %s", perp_reason_name(stats.reason));
  const double ones[4] = { 1, 1, 1, 1 }, d[2] = { -1, -1 };
  const perp_lcp singular = { .n = 2, .A = ones, .lda = 2, .b = d };
  y[0] = y[1] = 0;
  stats = solve("pdas", &singular, y, &own);
  ok(stats.reason == PERP_SINGULAR, "a singular A: %s", perp_reason_name(stats.reason));
}

/* ---- auto ---- */

static void check_auto(void)
{
  grid *g = put(8000);
  double *lambda = calloc((size_t)g->n, sizeof *lambda), own;
  const perp_stats stats = solve("auto", &g->lcp, lambda, &own);
  ok(stats.reason == PERP_CONVERGED && own <= 1e-14 && strcmp(stats.by, "pdas") == 0,
     "auto takes it for an M-matrix: own %.1e by %s", own, stats.by);
  free(lambda);
  grid_free(g);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_rounds();
  check_rows();
  check_others();
  check_auto();
  return tap_done();
}
