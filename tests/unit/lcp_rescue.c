/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rescue: the answer of its part where that is one, sweeps where they are, and impulses that are
 * bounded where nothing solves the problem - which then counts as unsolved. */
#include "solvers/lcp/gain.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static perp_ctx ctx;

static perp_stats run(const char *spec, const perp_lcp *p, double *x)
{
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK ||
      perp_lcp_create(&ctx, &s, p->n, 0, &solver) != PERP_OK ||
      perp_lcp_solve(&ctx, solver, p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s: %s", spec, ctx.msg);
  char by[32]; /* its workspace ends here */
  snprintf(by, sizeof by, "%s", stats.by != NULL ? stats.by : "");
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
  static char kept[32];
  memcpy(kept, by, sizeof kept);
  stats.by = kept;
  return stats;
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  /* 2 x + y = 3, x + 2 y = 3 */
  static const double A[4] = { 2, 1, 1, 2 }, b[2] = { -3, -3 };
  const perp_lcp easy = { .n = 2, .A = A, .lda = 2, .b = b };
  double x[2] = { 0, 0 };
  perp_stats stats = run("rescue:of=dantzig", &easy, x);
  ok(stats.reason == PERP_CONVERGED && strcmp(stats.by, "dantzig") == 0 && stats.fallbacks == 0,
     "the part solves it: %s", stats.by);
  near(x[0], 1, 1e-12, 0, "... with its answer");

  x[0] = x[1] = 0;
  stats = run("rescue:of=(pgs:max_iter=1)", &easy, x);
  ok(stats.reason == PERP_CONVERGED && strcmp(stats.by, "sweeps") == 0 && stats.fallbacks == 1,
     "it does not: sweeps do");
  near(x[1], 1, 1e-7, 0, "... with the same answer");

  x[0] = x[1] = 0;
  stats = run("rescue:of=(pgs:sweeps=1)", &easy, x);
  ok(stats.reason == PERP_SWEEPS_DONE && strcmp(stats.by, "pgs") == 0 && stats.iterations == 1,
     "as much work as was asked for is no failure");

  /* one body between two plates that come together: w1 + w2 = -2 whatever the impulses are */
  static const double between[4] = { 1, -1, -1, 1 }, closing[2] = { -1, -1 };
  const perp_lcp none = { .n = 2, .A = between, .lda = 2, .b = closing };
  x[0] = x[1] = 0;
  stats = run("rescue:of=dantzig", &none, x);
  ok(stats.reason < 0, "no solution: not solved (%s)", perp_reason_name(stats.reason));
  ok(strcmp(stats.by, "softened") == 0, "... the softened problem has an answer: %s", stats.by);
  /* (A + eps I) x = 1 in both rows: x = 1 / eps */
  near(x[0], 20, 1e-5, 0, "... that holds the body from both sides");
  near(x[1], 20, 1e-5, 0, "... with bounded impulses");
  x[0] = x[1] = 0;
  run("rescue:of=dantzig,softness=0.5", &none, x);
  near(x[0], 2, 1e-6, 0, "... the softer, the smaller");

  /* mass-free, what throws loses */
  double w[2], w0[2], zero[2];
  static const double a[2] = { 1, 1 }, thrown[2] = { 0, 1e4 }, held[2] = { 20, 20 };
  perp_lcp_product(&none, thrown, w, NULL);
  const perp_lcp_candidate bad = { perp_lcp_rating(&none, a, thrown, w),
                                   perp_lcp_gain(&none, a, 0, thrown, w, zero, w0, NULL) };
  perp_lcp_product(&none, held, w, NULL);
  const perp_lcp_candidate good = { perp_lcp_rating(&none, a, held, w),
                                    perp_lcp_gain(&none, a, 0, held, w, zero, w0, NULL) };
  ok(bad.gain > PERP_THROWN && good.gain <= PERP_THROWN, "gains: %g thrown, %g held", bad.gain,
     good.gain);
  ok(perp_lcp_better(good, bad) && !perp_lcp_better(bad, good), "... decide");

  perp_spec s;
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "rescue:of=no-such-solver", &s) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)(const void *)s.d;
  ok(d->create(&ctx, 3, s.opts, &ws) == PERP_ERR_OPTION, "an unknown part is refused at creation");
  perp_spec_free(&s);
  return tap_done();
}
