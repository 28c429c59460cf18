/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The peers of other projects, where they are installed: LCPs of 2 to 14 rows with dominant
 * diagonals, symmetric and not, whose only solution was chosen first; and what they count. */
#include "solvers/lcp/lcp.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
enum { MOST = 14, LD = MOST + 2 };

/* A dominant; a third of lambda or so is 0, w = 0 where it is not; b = w - A lambda is exact in
 * whole numbers.  The first row presses, so that 0 is no solution. */
static void planted(perp_rng *g, int n, bool symmetric, double *A, double *b, double *lambda)
{
  double w[MOST];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      A[i + j * LD] = perp_rng_int(g, 5) - 2;
      A[j + i * LD] = symmetric ? A[i + j * LD] : perp_rng_int(g, 5) - 2;
    }
    A[i + i * LD] = 2 * n + 1 + perp_rng_int(g, 3);
    const bool open = i > 0 && perp_rng_int(g, 3) == 0;
    lambda[i] = open ? 0 : 1 + perp_rng_int(g, 4);
    w[i] = open ? 1 + perp_rng_int(g, 4) : 0;
  }
  for (int i = 0; i < n; i++) {
    b[i] = w[i];
    for (int j = 0; j < n; j++) b[i] -= A[i + j * LD] * lambda[j];
  }
}

static perp_stats solve(const char *method, int n, const double *A, const double *b, double *x)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  const perp_lcp p = { .n = n, .A = A, .lda = LD, .b = b };
  for (int i = 0; i < n; i++) x[i] = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, n + 1, 0, &s) != PERP_OK ||
      perp_lcp_solve(&ctx, s, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s: %s", method, ctx.msg);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

static bool is_one_of(const char *name, const char *const *list)
{
  for (; *list != NULL; list++)
    if (strcmp(name, *list) == 0) return true;
  return false;
}

static void check(const char *method)
{
  /* Bard's pivots may cycle; some report no steps, or ask for symmetry */
  static const char *const may_cycle[] = { "siconos:bard", NULL };
  static const char *const silent[] = { "siconos:enum", "siconos:nsgs-sbm", NULL };
  static const char *const one_kind[] = { "siconos:cpg", "siconos:latin", "siconos:bard", NULL };
  perp_rng *g = perp_rng_create(17);
  for (int symmetric = 1; symmetric >= 0; symmetric--) {
    int solved = 0, wrong = 0, idle = 0;
    for (int n = 2; n <= MOST; n++) { /* one row is perp's own */
      double A[LD * MOST], b[MOST], want[MOST], x[MOST];
      for (int k = 0; k < LD * MOST; k++) A[k] = 1e3; /* below the last row, too */
      planted(g, n, symmetric, A, b, want);
      const perp_stats stats = solve(method, n, A, b, x);
      idle += stats.iterations <= 0;
      if (stats.reason != PERP_CONVERGED) continue;
      solved++;
      for (int i = 0; i < n; i++) wrong += !(fabs(x[i] - want[i]) <= 1e-6);
    }
    const char *const *spared = symmetric ? may_cycle : one_kind;
    ok(wrong == 0 && (solved == MOST - 1 || is_one_of(method, spared)), "%s: %d of %d, %s", method,
       solved, MOST - 1, symmetric ? "symmetric" : "not symmetric");
    if (!is_one_of(method, silent)) ok(idle == 0, "%s: steps are counted", method);
  }
  perp_rng_destroy(g);
}

/* Sweeps as many as are allowed, too few to solve. */
static void check_sweeps(void)
{
  const double A[2 + LD] = { [0] = 4, [1] = 3, [LD] = 3, [LD + 1] = 4 }, b[2] = { -1, -1 };
  double x[2];
  for (int most = 1; most < 5; most++) {
    char method[40];
    snprintf(method, sizeof method, "siconos:pgs:limit=%d", most);
    const perp_stats stats = solve(method, 2, A, b, x);
    double want[2] = { 0 };
    for (int k = 0; k < most; k++) {
      want[0] = fmax(0, (1 - 3 * want[1]) / 4);
      want[1] = fmax(0, (1 - 3 * want[0]) / 4);
    }
    ok(stats.iterations == most && stats.reason == PERP_STALLED &&
           fabs(x[0] - want[0]) + fabs(x[1] - want[1]) < 1e-12,
       "%s: %d sweeps (%s)", method, stats.iterations, perp_reason_name(stats.reason));
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  int peers = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++)
    if (d->caps & PERP_LCP_PEER) check(d->name), peers++;
  if (peers == 0)
    skip("none is installed", "peers");
  else
    check_sweeps();
  return tap_done();
}
