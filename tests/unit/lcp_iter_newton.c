/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newton type and other methods for monotone problems: every solvable monotone family of the
 * generators, dense and factored, scaled and permuted, to 1e-8 by the judge. */
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

/* What needed ten times the steps, or failed, with active sets alone: redundant rows, long chains
 * of changes, and friction rows whose limits move.  Steps are deterministic; the bounds leave a
 * factor two. */
/* Painleve's rod (Stewart and Trinkle 1996): one contact whose sliding pushes it into the floor, so
 * that no sliding solution exists and the matrix of the sliding contact is negative.  The impulses
 * that stop it are the one answer: they solve A lambda = -b inside the friction box. */
static void painleve(const char *spec)
{
  int fric_of[2] = { -1, 0 }, solved = 0, problems = 0;
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &s, 2, 0, &solver) != PERP_OK) bail("%s", ctx.msg);
  double worst = 0;
  for (int k = 0; k < 60; k++) {
    double mu[2] = { 0, 2 + 0.1 * (k % 6) }, theta = atan(2) + 0.02 * (k / 6 % 5 - 2);
    double speed = k < 30 ? 10 : -10, c = cos(theta), n = sin(theta) * (speed > 0 ? c : -c);
    double A[4] = { 1 + 3 * c * c, 3 * n, 3 * n, 4 - 3 * c * c }, b[2] = { -0.04, speed },
           x[2] = { 0 };
    double det = A[0] * A[3] - A[1] * A[1];
    double want[2] = { (A[1] * b[1] - A[3] * b[0]) / det, (A[1] * b[0] - A[0] * b[1]) / det };
    if (!(A[0] - mu[1] * fabs(A[1]) < 0) || !(fabs(want[1]) < mu[1] * want[0])) continue;
    perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b, .fric_of = fric_of, .mu = mu };
    if (perp_lcp_solve(&ctx, solver, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s: %s", spec, ctx.msg);
    problems++;
    solved += stats.reason == PERP_CONVERGED;
    worst = fmax(worst, fmax(fabs(x[0] - want[0]), fabs(x[1] - want[1])));
  }
  ok(problems >= 40 && solved == problems, "%s: Painleve's rod, %d of %d solved", spec, solved,
     problems);
  below(worst, 1e-6, "%s: ... by the impulses that stop it", spec);
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
}

/* all: the largest, too */
static void few_steps(bool all)
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
    if (cases[k].n > 12000 && !all) continue;
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

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  monotone("fischer-newton", false);
  monotone("fischer-newton", true);
  monotone("minmap-newton", false);
  monotone("minmap-newton", true);
  monotone("interior-point", false);
  monotone("interior-point", true);
  few_steps(argc > 1 && strcmp(argv[1], "all") == 0);
  painleve("fischer-newton");
  painleve("minmap-newton");
  painleve("cone-newton");
  painleve("interior-point");
  return tap_done();
}
