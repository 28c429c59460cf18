/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction limits of dantzig and bpp on contact problems of a heap of spheres, whose fixed point
 * they did not find (the last two before limits were followed along a path, clamped_follow.c), and
 * auto, which has dantzig: the answers are judged here, in long double and with the limits that
 * they make. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <stdlib.h>

typedef long double ld;
static perp_ctx ctx;

/* largest distance of lambda from its projection, over the largest multiplier */
static double natural(const perp_lcp *p, const double *lambda)
{
  const int n = p->n;
  ld worst = 0, scale = 0;
  for (int i = 0; i < n; i++) {
    ld w = p->b[i], a = 0;
    for (int j = 0; j < n; j++) {
      w += (ld)p->A[i + (size_t)j * (size_t)p->lda] * (ld)lambda[j];
      a = fmaxl(a, fabsl((ld)p->A[i + (size_t)j * (size_t)p->lda]));
    }
    const int of = p->fric_of[i];
    const ld limit = of < 0 ? 0 : (ld)p->mu[i] * fmaxl((ld)lambda[of], 0);
    const ld lo = of < 0 ? (ld)p->lo[i] : -limit, hi = of < 0 ? (ld)p->hi[i] : limit;
    worst = fmaxl(worst, fabsl((ld)lambda[i] - fminl(fmaxl((ld)lambda[i] - w / a, lo), hi)));
    scale = fmaxl(scale, fabsl((ld)lambda[i]));
  }
  return (double)(worst / scale);
}

static void solves(const char *method, const char *name, double bound)
{
  char path[1024];
  perp_lcp_problem file, q;
  perp_spec spec = { 0 };
  perp_lcp_solver *s;
  perp_stats stats;
  snprintf(path, sizeof path, "%s/tests/data/lcp/%s.lcp", getenv("PERP_SOURCE"), name);
  if (perp_lcp_read(&ctx, path, &file) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_problem_form(&ctx, &file, &q) != PERP_OK) bail("%s", ctx.msg);
  double *lambda = calloc((size_t)q.p.n, sizeof *lambda);
  if (lambda == NULL || perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, q.p.n, 0, &s) != PERP_OK ||
      perp_lcp_solve(&ctx, s, &q.p, 1e-10, lambda, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  ok(stats.reason > 0, "%s: %s: %s after %d pivots", method, name, perp_reason_name(stats.reason),
     stats.iterations);
  below(natural(&q.p, lambda), bound, "... within its own limits");
  perp_lcp_destroy(s);
  free(lambda);
  perp_spec_free(&spec);
  perp_lcp_problem_free(&q);
  perp_lcp_problem_free(&file);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  static const char *const names[] = { "heap-48", "heap-57", "heap-57-impact", "heap-66",
                                       "heap-114" };
  for (int i = 0; i < 5; i++) {
    solves("dantzig", names[i], 1e-12);
    if (i < 4) solves("bpp", names[i], 1e-12); /* the last: its block rounds stall */
    solves("auto", names[i], 1e-9);            /* the tolerance, in other units */
  }
  return tap_done();
}
