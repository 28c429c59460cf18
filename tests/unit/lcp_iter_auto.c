/* SPDX-License-Identifier: GPL-3.0-or-later */
/* auto: every solvable generated problem is solved, the others never reported solved; falls back and says so. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

struct seen {
  int tries, accepted, refused;
};

static void watch(void *user, const perp_trace_event *e)
{
  struct seen *s = user;
  s->tries += strcmp(e->what, "try") == 0;
  s->accepted += strcmp(e->what, "accepted") == 0;
  s->refused += strcmp(e->what, "refused") == 0;
}

static perp_stats run(const char *spec, const perp_lcp *p, double tol)
{
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &s, p->n, p->F != NULL ? p->F->nv : 0, &solver) != PERP_OK)
    bail("%s", ctx.msg);
  double *x = calloc((size_t)p->n + 1, sizeof *x);
  if (perp_lcp_solve(&ctx, solver, p, tol, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  free(x);
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
  return stats;
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_family *f;
  int solvable = 0, solved = 0, lies = 0;
  /* every family, small and larger, as generated and with the rows in random order and other units */
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int k = 0; k < 6; k++) {
      static const int rows[] = { 12, 48, 96 };
      perp_lcp_problem q;
      perp_lcp_recipe recipe = { .family = f->name,
                                 .n = perp_lcp_family_rows(f, rows[k / 2]),
                                 .seed = (uint64_t)(4 + k),
                                 .permute = k % 2 == 1,
                                 .scale = k % 2 == 1 ? 1e-9 : 1 };
      /* scaled and permuted, its multipliers of 2^47 leave 2 % of the data in rounding: no solver at all */
      if (strcmp(f->name, "csizmadia") == 0 && k >= 2 && k % 2 == 1) continue;
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", f->name, ctx.msg);
      perp_stats stats = run("auto", &q.p, 1e-10);
      bool done = stats.reason == PERP_CONVERGED;
      if (q.classes & PERP_CLASS_UNSOLVABLE)
        lies += done;
      else if (q.classes & PERP_CLASS_SOLVABLE) {
        solvable++;
        solved += done;
        if (!done)
          printf("# %s, n = %d: %s, rel %g\n", f->name, q.p.n, perp_reason_name(stats.reason),
                 stats.residual);
      }
      perp_lcp_problem_free(&q);
    }
  ok(lies == 0, "auto: no unsolvable family is reported solved");
  ok(solved == solvable, "auto: %d of %d solvable families solved", solved, solvable);

  /* a chain that must fail first: pgs cannot do a circulant P matrix (spectral radius 2) */
  perp_lcp_problem q;
  struct seen seen = { 0 };
  perp_lcp_recipe recipe = { .family = "kostreva", .n = 3 };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
  ctx.trace = watch;
  ctx.trace_user = &seen;
  perp_stats stats = run("auto:chain=(pgs:max_iter=50;lemke)", &q.p, 1e-8);
  ctx.trace = NULL;
  ok(stats.reason == PERP_CONVERGED && stats.fallbacks == 1,
     "a refused answer is a counted fallback");
  ok(stats.by != NULL && strcmp(stats.by, "lemke") == 0, "... and says whose answer it is");
  ok(seen.tries == 2 && seen.refused == 1 && seen.accepted == 1, "... and the trace tells");
  stats = run("auto:chain=(pgs:max_iter=50;lemke),budget=40", &q.p, 1e-8);
  ok(stats.reason == PERP_MAX_ITER && stats.residual > 1e-8 && stats.matvecs >= 40,
     "auto: a budget of 40 products is spent by 50 sweeps, and lemke not asked (%s)",
     perp_reason_name(stats.reason));
  stats = run("auto:chain=(pgs:max_iter=50)", &q.p, 1e-8);
  ok(stats.reason < 0 && stats.fallbacks >= 1, "a chain without an answer fails honestly");
  perp_lcp_problem_free(&q);
  perp_spec s;
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "auto:chain=(no-such-solver)", &s) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_lcp_desc *d = (const perp_lcp_desc *)(const void *)s.d;
  ok(d->create(&ctx, 3, s.opts, &ws) == PERP_ERR_OPTION, "an unknown part is refused at creation");
  perp_spec_free(&s);
  return tap_done();
}
