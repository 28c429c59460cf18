/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newton type and other methods for monotone problems: every solvable monotone family of the generators,
 * dense and factored, scaled and permuted, to 1e-8 by the judge. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

struct tally {
  int problems, solved, lies;
  char worst[64];
};

static void solve(const char *spec, const perp_lcp_recipe *recipe, struct tally *t)
{
  perp_lcp_problem q;
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  if (perp_lcp_generate(&ctx, recipe, &q) != PERP_OK) bail("%s: %s", recipe->family, ctx.msg);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) bail("%s", ctx.msg);
  int nv = q.p.F != NULL ? q.p.F->nv : 0;
  if (perp_lcp_create(&ctx, &s, q.p.n, nv, &solver) != PERP_OK) bail("%s", ctx.msg);
  double *x = calloc((size_t)q.p.n + 1, sizeof *x);
  if (perp_lcp_solve(&ctx, solver, &q.p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s on %s: %s", spec, recipe->family, ctx.msg);
  t->problems++;
  t->solved += stats.reason == PERP_CONVERGED;
  t->lies += (stats.reason == PERP_CONVERGED) != (stats.residual <= 1e-8);
  if (stats.reason != PERP_CONVERGED) {
    printf("# %s: %s n = %d seed %d scale %g%s%s: %s, rel %.2e after %d\n", spec, recipe->family,
           q.p.n, (int)recipe->seed, recipe->scale, recipe->factored ? " factored" : "",
           recipe->permute ? " permuted" : "", perp_reason_name(stats.reason), stats.residual,
           stats.iterations);
  }
  free(x);
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
  perp_lcp_problem_free(&q);
}

static void monotone(const char *spec, bool friction)
{
  static const int sizes[] = { 8, 40, 100 };
  static const double scales[] = { 1, 1e-12, 1e12 };
  struct tally t = { 0 };
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    bool has_friction = strstr(f->name, "box") != NULL && f->contact;
    if (!(f->classes & PERP_CLASS_PSD) || !(f->classes & PERP_CLASS_SOLVABLE)) continue;
    if (strstr(f->name, "cone") != NULL || has_friction != friction) continue;
    for (int k = 0, last = -1; k < 3; k++) {
      int n = perp_lcp_family_rows(f, sizes[k]);
      if (n == last) continue;
      last = n;
      for (int scale = 0; scale < 3; scale++)
        solve(
            spec,
            &(perp_lcp_recipe){ .family = f->name, .n = n, .seed = 1 + k, .scale = scales[scale] },
            &t);
      solve(spec, &(perp_lcp_recipe){ .family = f->name, .n = n, .seed = 7, .permute = true }, &t);
      if (f->factored)
        solve(spec, &(perp_lcp_recipe){ .family = f->name, .n = n, .factored = true }, &t);
    }
  }
  ok(t.lies == 0, "%s: no false success%s", spec, friction ? " (boxed friction)" : "");
  ok(t.solved == t.problems, "%s: %d of %d %s solved to 1e-8", spec, t.solved, t.problems,
     friction ? "problems of boxed friction" : "monotone problems");
}

/* What needed ten times the steps, or failed, with active sets alone: redundant rows, long chains of
 * changes, and friction rows whose limits move.  Steps are deterministic; the bounds leave a factor two. */
static void few_steps(void)
{
  static const struct {
    const char *method, *family;
    int n, most;
    bool factored;
  } cases[] = { { "minmap-newton", "wall", 12000, 8, true },
                { "minmap-newton", "wall", 19996, 8, true },
                { "minmap-newton", "murty1", 200, 8, false },
                { "minmap-newton", "fathi", 200, 8, false },
                { "minmap-newton", "incline-box", 384, 40, false },
                { "fischer-newton", "murty1", 256, 16, false } };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    perp_spec spec;
    perp_lcp_problem q;
    perp_lcp_solver *s;
    perp_stats stats;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, cases[k].method, &spec) != PERP_OK)
      bail("%s", ctx.msg);
    int n = perp_lcp_family_rows(perp_lcp_family_find(cases[k].family), cases[k].n);
    perp_lcp_recipe recipe = {
      .family = cases[k].family, .n = n, .seed = 1, .factored = cases[k].factored
    };
    double *x = calloc((size_t)n, sizeof *x);
    if (x == NULL || perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, n, q.p.F != NULL ? q.p.F->nv : 0, &s) != PERP_OK ||
        perp_lcp_solve(&ctx, s, &q.p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    ok(stats.reason == PERP_CONVERGED && stats.iterations <= cases[k].most,
       "%s: %s, n = %d, %.1e in %d steps", cases[k].method, cases[k].family, n, stats.residual,
       stats.iterations);
    perp_lcp_destroy(s);
    perp_lcp_problem_free(&q);
    perp_spec_free(&spec);
    free(x);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  monotone("fischer-newton", false);
  monotone("fischer-newton", true);
  monotone("minmap-newton", false);
  monotone("minmap-newton", true);
  monotone("interior-point", false);
  monotone("interior-point", true);
  few_steps();
  return tap_done();
}
