/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems without a solution that no Farkas vector shows: their index sets, one by one, in
 * rational arithmetic. */
#include "solvers/lcp/lcp_private.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <gmp.h>
#include <string.h>

enum { MOST = 4, METHODS = 3 };

static perp_ctx ctx;
static perp_rng *rng;
static double A[MOST * MOST], b[MOST];
static perp_lcp p;

static struct method {
  const char *name;
  perp_lcp_solver *s;
} method[METHODS] = { { .name = "lemke" }, { .name = "enumerate" }, { .name = "auto" } };

#define AT(i, j) A[(i) + (j)*p.n]

static int integer(int least, int most)
{
  return least + perp_rng_int(rng, most - least + 1);
}

/* Solutions by their index sets; -1 when a principal submatrix is singular. */
static int solutions(void)
{
  int n = p.n, count = 0;
  mpq_t E[MOST][MOST + 1], s;
  mpq_init(s);
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= n; j++) mpq_init(E[i][j]);
  for (int set = 0; set < 1 << n && count >= 0; set++) {
    /* I lambda - A lambda = b pattern: column j is A_j in the set, -e_j outside: x >= 0 */
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) mpq_set_d(E[i][j], set >> j & 1 ? AT(i, j) : i == j ? -1 : 0);
      mpq_set_d(E[i][n], -b[i]);
    }
    bool singular = false;
    for (int c = 0; c < n && !singular; c++) {
      int r = c;
      while (r < n && mpq_sgn(E[r][c]) == 0) r++;
      if ((singular = r == n)) break;
      for (int j = 0; j <= n; j++) mpq_swap(E[r][j], E[c][j]);
      for (int i = 0; i < n; i++) {
        if (i == c || mpq_sgn(E[i][c]) == 0) continue;
        mpq_t f;
        mpq_init(f);
        mpq_div(f, E[i][c], E[c][c]);
        for (int j = 0; j <= n; j++) {
          mpq_mul(s, f, E[c][j]);
          mpq_sub(E[i][j], E[i][j], s);
        }
        mpq_clear(f);
      }
    }
    bool good = !singular;
    for (int i = 0; i < n && good; i++) good = mpq_sgn(E[i][n]) * mpq_sgn(E[i][i]) >= 0;
    count = singular ? -1 : count + good;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= n; j++) mpq_clear(E[i][j]);
  mpq_clear(s);
  return count;
}

static void check_excluded(int problems)
{
  int none = 0, proved[METHODS] = { 0 }, wrong = 0;
  for (int seed = 0; seed < problems; seed++) {
    p = (perp_lcp){ .n = integer(2, MOST), .A = A, .b = b };
    p.lda = p.n;
    for (int i = 0; i < p.n * p.n; i++) A[i] = integer(-6, 5);
    for (int i = 0; i < p.n; i++) b[i] = integer(-6, 3);
    if (integer(0, 1)) /* no positive diagonal: seldom solvable */
      for (int i = 0; i < p.n; i++) AT(i, i) = -fabs(AT(i, i));
    int count = solutions();
    if (count < 0) continue;
    double r = ldexp(1, integer(-13, 13));
    for (int i = 0; i < p.n; i++) {
      for (int j = 0; j < p.n; j++) AT(i, j) *= i == 0 ? r : 1;
      b[i] *= i == 0 ? r : 1;
    }
    none += count == 0;
    for (int k = 0; k < METHODS; k++) {
      struct method *m = &method[k];
      perp_stats stats;
      double x[MOST] = { 0 };
      if (perp_lcp_solve(&ctx, m->s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      proved[k] += count == 0 && stats.reason == PERP_INFEASIBLE;
      wrong += count == 0 ? stats.reason == PERP_CONVERGED : stats.reason == PERP_INFEASIBLE;
      wrong += k == 1 && count > 0 && stats.reason != PERP_CONVERGED;
    }
  }
  ok(wrong == 0, "solvable or not: as index sets in rational arithmetic say (%d of %d not)", none,
     problems);
  for (int k = 1; k < 3; k++)
    ok(proved[k] >= 0.95 * none, "%s: %d of %d without a solution are shown", method[k].name,
       proved[k], none);
}

/* A vector of Farkas needs both: u = A'z of the right sign, and something that b lacks. */
static void check_strict(void)
{
  static const struct {
    double A[4], b[2], z[2];
    bool strict;
    const char *what;
  } known[] = { { { -1, 0, 0, -1 }, { -1, -2 }, { 1, 1 }, true, "u < 0, b'z < 0" },
                { { -1, 0, 0, -1 }, { 1, 2 }, { 1, 1 }, false, "u < 0, b'z > 0" },
                { { -1, 0, 0, -1 }, { 1, -1 }, { 1, 1 }, false, "u < 0, b'z = 0" },
                { { 1, 0, 0, 1 }, { -1, -2 }, { 1, 1 }, false, "u > 0, b'z < 0" } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    const perp_lcp q = { .n = 2, .A = known[k].A, .lda = 2, .b = known[k].b };
    double out[2];
    ok(perp_lcp_strict(&q, known[k].z, out) == known[k].strict, "%s: %s", known[k].what,
       known[k].strict ? "shows that there is no solution" : "shows nothing");
  }
}

int main(int argc, char **argv)
{
  int times = argc > 1 ? atoi(argv[1]) : 1;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(21);
  for (int k = 0; k < METHODS; k++) {
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, method[k].name, &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, MOST, 0, &method[k].s) != PERP_OK)
      bail("%s", ctx.msg);
    perp_spec_free(&spec);
  }
  check_strict();
  check_excluded(1000 * times);
  for (int k = 0; k < METHODS; k++) perp_lcp_destroy(method[k].s);
  perp_rng_destroy(rng);
  return tap_done();
}
