/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proofs of infeasibility of problems with hundreds of rows: planted Farkas vectors, small
 * integers. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <gmp.h>
#include <string.h>
#include <time.h>

static perp_ctx ctx;
static perp_rng *rng;

static int integer(int least, int most)
{
  return least + perp_rng_int(rng, most - least + 1);
}

enum { TIGHT, STRICT, EQUATIONS, CONES, KINDS };
static const char *const kinds[] = { "tight", "strict", "equations", "cones" };

/* z'A <= 0, z'b < 0 with z of about n / 3 rows; row 0 has z = 1.  Cones: u_n + mu |u_t| <= 0.
 * Equations, all multipliers free: z'A = 0; every other row times 3^20, so that its numbers have 32
 * bits more. */
static void make(int kind, perp_lcp *p, double *A, double *b)
{
  int n = p->n, *z = calloc((size_t)n, sizeof *z);
  z[0] = 1;
  for (int i = 1; i < n; i++)
    z[i] = integer(0, 2) > 0 || (kind == CONES && i % 3 != 0) ? 0 : integer(1, 4);
  for (int j = 0; j <= n; j++) {
    double *x = j < n ? A + (size_t)j * (size_t)n : b;
    double sum = j == n || kind == STRICT ? integer(1, 4) : integer(0, 3) == 0;
    if (kind == EQUATIONS && j < n) sum = 0;
    if (kind == CONES && j < n) /* u_t = (3, 4), u_n = -ceil(5 mu) or one less */
      sum = j % 3 == 0 ? ceil(5 * p->mu[j + 1]) + integer(0, 1) : -2 - j % 3;
    for (int i = 1; i < n; i++) {
      x[i] = integer(-9, 9);
      sum += z[i] * x[i];
    }
    x[0] = -sum;
    for (int i = 1; kind == EQUATIONS && i < n; i += 2) x[i] *= 3486784401.0;
  }
  free(z);
}

/* The same question to a vector that was handed over, in rational arithmetic. */
static bool farkas(const perp_lcp *p, const double *z)
{
  mpq_t sum, s, t;
  mpq_inits(sum, s, t, NULL);
  bool good = true;
  for (int i = 0; i < p->n; i++)
    good = good && (p->cone != NULL && p->fric_of[i] >= 0 ? z[i] == 0 : z[i] >= 0);
  mpq_t u[3];
  for (int k = 0; k < 3; k++) mpq_init(u[k]);
  for (int j = 0; j <= p->n && good; j++) {
    const double *x = j < p->n ? p->A + (size_t)j * (size_t)p->lda : p->b;
    mpq_set_ui(sum, 0, 1);
    for (int i = 0; i < p->n; i++) {
      if (x[i] == 0 || z[i] == 0) continue;
      mpq_set_d(s, x[i]);
      mpq_set_d(t, z[i]);
      mpq_mul(s, s, t);
      mpq_add(sum, sum, s);
    }
    if (p->cone == NULL || j == p->n || j % 3 == 0)
      good = j == p->n ? mpq_sgn(sum) < 0 : p->lo != NULL ? mpq_sgn(sum) == 0 : mpq_sgn(sum) <= 0;
    mpq_set(u[j % 3], sum);
    if (p->cone == NULL || j % 3 != 2) continue;
    mpq_set_d(t, p->mu[j]); /* mu^2 |u_t|^2 <= u_n^2 */
    for (int k = 1; k < 3; k++) {
      mpq_mul(u[k], u[k], t);
      mpq_mul(u[k], u[k], u[k]);
    }
    mpq_add(s, u[1], u[2]);
    mpq_mul(t, u[0], u[0]);
    good = good && mpq_cmp(s, t) <= 0;
  }
  for (int k = 0; k < 3; k++) mpq_clear(u[k]);
  mpq_clears(sum, s, t, NULL);
  return good;
}

static void check(const char *name, int kind, int n, int problems)
{
  double *A = calloc((size_t)n * (size_t)n, sizeof *A), *b = calloc((size_t)n, sizeof *b);
  double *x = calloc((size_t)n, sizeof *x), most = 0;
  perp_lcp p = { .n = n, .A = A, .lda = n, .b = b };
  int *fric_of = calloc((size_t)n, sizeof *fric_of);
  double *mu = calloc((size_t)n, sizeof *mu);
  signed char *cone = calloc((size_t)n, sizeof *cone);
  if (kind == CONES) {
    for (int i = 0; i < n; i++) {
      fric_of[i] = i % 3 == 0 ? -1 : i - i % 3;
      cone[i] = i % 3 == 1;
      mu[i] = (1 + i / 3 % 8) / 8.0;
    }
    p.fric_of = fric_of;
    p.mu = mu;
    p.cone = cone;
  }
  double *lo = calloc((size_t)n, sizeof *lo), *hi = calloc((size_t)n, sizeof *hi);
  for (int i = 0; i < n; i++) lo[i] = -HUGE_VAL, hi[i] = HUGE_VAL;
  if (kind == EQUATIONS) p.lo = lo, p.hi = hi;
  perp_lcp_solver *s;
  perp_spec spec;
  int proved = 0, exact = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, name, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, n, 0, &s) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  for (int k = 0; k < problems; k++) {
    perp_stats stats;
    make(kind, &p, A, b);
    memset(x, 0, (size_t)n * sizeof *x);
    clock_t start = clock();
    if (perp_lcp_solve(&ctx, s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
    most = fmax(most, (double)(clock() - start) / CLOCKS_PER_SEC);
    if (stats.reason != PERP_INFEASIBLE) continue;
    proved++;
    const double *z = perp_lcp_certificate(s);
    exact += z != NULL && farkas(&p, z);
  }
  printf("# %s, %s, n = %d: at most %.3f s\n", kinds[kind], name, n, most);
  ok(proved == problems, "%s, n = %d: %s proves %d of %d", kinds[kind], n, name, proved, problems);
  ok(exact == proved, "%d of the vectors are proofs in rational arithmetic", exact);
  perp_lcp_destroy(s);
  free(A);
  free(b);
  free(x);
  free(lo);
  free(hi);
  free(fric_of);
  free(mu);
  free(cone);
}

int main(void)
{
  static const struct {
    const char *name;
    int n, problems;
  } set[] = { { "lemke", 100, 10 }, { "lemke", 200, 5 }, { "lemke", 500, 2 }, { "auto", 200, 2 } };
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(22);
  for (int kind = 0; kind < KINDS; kind++)
    for (size_t k = 0; kind < EQUATIONS && k < sizeof set / sizeof *set; k++)
      check(set[k].name, kind, set[k].n, set[k].problems);
  check("lemke", EQUATIONS, 100, 4);
  check("auto", EQUATIONS, 60, 4);
  check("auto", CONES, 60, 5);
  check("auto", CONES, 150, 4);
  perp_rng_destroy(rng);
  return tap_done();
}
