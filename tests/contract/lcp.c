/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every registered LCP solver owes its users: a new solver needs no new test code. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

struct run {
  perp_lcp_solver *s;
  perp_stats stats;
  perp_lcp_judgement j;
  double x[64], w[64];
};

static perp_lcp_solver *open_solver(const perp_desc *d, const char *options, int n, int nv)
{
  char text[PERP_TEXT_MAX];
  perp_spec spec;
  perp_lcp_solver *s;
  snprintf(text, sizeof text, "%s%s%s", d->name, options[0] ? ":" : "", options);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, n, nv, &s) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
  perp_spec_free(&spec);
  return s;
}

static perp_status solve(struct run *r, const perp_lcp *p, double tol)
{
  return perp_lcp_solve(&ctx, r->s, p, tol, r->x, r->w, &r->j, &r->stats);
}

/* ---- one row ------------------------------------------------------------------------------------------- */

static void check_scalar(const perp_desc *d)
{
  static const struct {
    const char *what;
    double A, b, lo, hi, x;
    bool solvable;
    unsigned needs;
  } cases[] = {
    { "A = 2, b = -4", 2, -4, 0, HUGE_VAL, 2, true, 0 },
    { "A = 2, b = 4", 2, 4, 0, HUGE_VAL, 0, true, 0 },
    { "A = 2, b = 0", 2, 0, 0, HUGE_VAL, 0, true, 0 },
    { "A = 1e-12, b = -1e-12", 1e-12, -1e-12, 0, HUGE_VAL, 1, true, 0 },
    { "A = 1e12, b = -3e12", 1e12, -3e12, 0, HUGE_VAL, 3, true, 0 },
    { "A = 0, b = 1", 0, 1, 0, HUGE_VAL, 0, true, 0 },
    { "A = -1, b = -1", -1, -1, 0, HUGE_VAL, 0, false, 0 },
    { "A = 0, b = -1", 0, -1, 0, HUGE_VAL, 0, false, 0 },
    { "hi = 2 binds", 1, -5, 0, 2, 2, true, PERP_LCP_BOX },
    { "lo = 1 binds", 1, 5, 1, 3, 1, true, PERP_LCP_BOX },
    { "hi = -1 binds", 1, -5, -3, -1, -1, true, PERP_LCP_BOX },
    { "upper bound only", 1, 4, -HUGE_VAL, 1, -4, true, PERP_LCP_BOX },
    { "fixed", 1, -5, 2, 2, 2, true, PERP_LCP_BOX },
    { "free", 2, 3, -HUGE_VAL, HUGE_VAL, -1.5, true, PERP_LCP_FREE },
    { "free, A = 0", 0, 3, -HUGE_VAL, HUGE_VAL, 0, false, PERP_LCP_FREE },
  };
  struct run r = { .s = open_solver(d, "", 1, 0) };
  int wrong = 0, lies = 0;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    perp_lcp p = { .n = 1, .A = &cases[k].A, .lda = 1, .b = &cases[k].b };
    p.lo = &cases[k].lo;
    p.hi = &cases[k].hi;
    r.x[0] = 0;
    if (solve(&r, &p, 1e-10) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    bool claims = r.stats.reason == PERP_CONVERGED;
    if (!cases[k].solvable) {
      if (claims && !ok(false, "%s: %s is not reported solved", d->name, cases[k].what)) lies++;
      continue;
    }
    if ((cases[k].needs & ~d->caps) || (d->caps & PERP_LCP_STRUCTURED)) {
      if (!(r.stats.reason == PERP_UNSUITED || claims))
        ok(false, "%s: %s is outside its domain, and said to be", d->name, cases[k].what);
      continue;
    }
    if (!(claims && fabs(r.x[0] - cases[k].x) <= 1e-9 * fmax(1, fabs(cases[k].x)))) {
      /* zero rows are outside the domain of methods that divide by the diagonal */
      if (cases[k].A == 0 || d->caps & PERP_LCP_PEER) continue; /* peers are measured, not tested */
      wrong++;
      printf("# %s: %s: %s, x = %.17g\n", d->name, cases[k].what, perp_reason_name(r.stats.reason),
             r.x[0]);
    }
  }
  ok(wrong == 0, "%s: 1x1 problems of its domain have their known answers", d->name);
  ok(lies == 0, "%s: unsolvable 1x1 problems are not reported solved", d->name);
  perp_lcp_destroy(r.s);
}

/* ---- bad input --------------------------------------------------------------------------------------------- */

static void check_refusals(const perp_desc *d)
{
  double A[4] = { 2, 1, 1, 2 }, b[2] = { -1, -1 }, bad[4] = { 2, (double)NAN, 1, 2 };
  double inf[2] = { -1, HUGE_VAL };
  double lo[2] = { 0, 1 }, hi[2] = { 1, 0 };
  struct run r = { .s = open_solver(d, "", 2, 0) };
  perp_lcp p = { .n = 2, .A = bad, .lda = 2, .b = b };
  ok(solve(&r, &p, 1e-8) == PERP_OK && r.stats.reason == PERP_NOT_FINITE && isfinite(r.x[0]) &&
         isfinite(r.x[1]),
     "%s: NaN in A is diagnosed", d->name);
  p.A = A;
  p.b = inf;
  ok(solve(&r, &p, 1e-8) == PERP_OK && r.stats.reason == PERP_NOT_FINITE,
     "%s: infinity in b is diagnosed", d->name);
  p.b = b;
  p.lo = lo;
  p.hi = hi;
  ok(solve(&r, &p, 1e-8) == PERP_ERR_ARG, "%s: lo > hi is refused", d->name);
  p.lo = p.hi = NULL;
  p.n = 3;
  ok(solve(&r, &p, 1e-8) == PERP_ERR_DIM, "%s: more rows than created for are refused", d->name);
  p.n = 2;
  p.lda = 1;
  ok(solve(&r, &p, 1e-8) == PERP_ERR_DIM, "%s: lda < n is refused", d->name);
  p.lda = 2;
  ok(solve(&r, &p, 0) == PERP_ERR_ARG, "%s: tol = 0 is refused", d->name);
  r.x[0] = (double)NAN;
  r.x[1] = 1;
  ok(solve(&r, &p, 1e-8) == PERP_OK && isfinite(r.x[0]) && isfinite(r.x[1]),
     "%s: a NaN guess does not survive", d->name);
  p.n = 0;
  ok(solve(&r, &p, 1e-8) == PERP_OK && r.stats.reason == PERP_CONVERGED, "%s: n = 0 is solved",
     d->name);
  perp_lcp_destroy(r.s);
  perp_lcp_destroy(NULL);
  const perp_lcp_desc *l = (const perp_lcp_desc *)(const void *)d;
  l->destroy(NULL); /* is allowed */
}

/* ---- generated problems ---------------------------------------------------------------------------------------- */

/* Has the solver an integer option of that name? */
static bool has_option(const perp_desc *d, const char *key)
{
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
    if (strcmp(o->key, key) == 0 && o->type == PERP_OPT_INT) return true;
  return false;
}

static void check_problem(const perp_desc *d, const perp_lcp_recipe *recipe, int *allocations,
                          int *differ, int *lies, int *limit, int *nonfinite)
{
  perp_lcp_problem q, dense;
  if (perp_lcp_generate(&ctx, recipe, &q) != PERP_OK) bail("%s: %s", recipe->family, ctx.msg);
  if (perp_lcp_problem_form(&ctx, &q, &dense) != PERP_OK) bail("%s", ctx.msg);
  int n = q.p.n, nv = q.p.F != NULL ? q.p.F->nv : 0;
  struct run r = { .s = open_solver(d, "", n, nv) }, again;
  double guess[2][64] = { { 0 } };
  for (int i = 0; i < n; i++) guess[1][i] = 1e3 * (i % 3) - 1e3; /* a bad warm start */
  for (int g = 0; g < 2; g++) {
    memcpy(r.x, guess[g], sizeof r.x);
    if (solve(&r, &q.p, 1e-8) != PERP_OK) bail("%s on %s: %s", d->name, recipe->family, ctx.msg);
    again = r;
    memcpy(again.x, guess[g], sizeof again.x);
    long before = count_malloc;
    if (solve(&again, &q.p, 1e-8) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    /* a claim that there is no solution is weighed in integers of any size */
    bool weighed = again.stats.reason == PERP_INFEASIBLE || again.stats.reason == PERP_RAY ||
                   again.stats.reason == PERP_NONE_WITHIN ||
                   (again.stats.reason == PERP_INACCURATE && q.classes & PERP_CLASS_UNSOLVABLE) ||
                   d->caps & PERP_LCP_EXHAUSTIVE;
    if (count_malloc != before && !weighed && !(d->caps & PERP_CAP_ALLOCATES)) {
      printf("# %s on %s: %ld allocations\n", d->name, recipe->family, count_malloc - before);
      ++*allocations;
    }
    if (memcmp(again.x, r.x, (size_t)n * sizeof *r.x) != 0 ||
        again.stats.reason != r.stats.reason || again.stats.iterations != r.stats.iterations) {
      printf("# %s on %s: the second solve differs\n", d->name, recipe->family);
      ++*differ;
    }
    double rel = independent_rel(&dense.p, dense.p.A, r.x);
    if ((r.stats.reason == PERP_CONVERGED) != (r.stats.residual <= 1e-8) ||
        (r.stats.reason == PERP_CONVERGED && !(rel <= 1.01e-8)) || r.stats.reason == PERP_RUNNING ||
        r.stats.reason == PERP_EXACT ||
        (q.classes & PERP_CLASS_UNSOLVABLE && r.stats.reason == PERP_CONVERGED)) {
      printf("# %s on %s: %s with rel %g, recomputed %g\n", d->name, recipe->family,
             perp_reason_name(r.stats.reason), r.stats.residual, rel);
      ++*lies;
    }
    for (int i = 0; i < n; i++) *nonfinite += !isfinite(r.x[i]) || !isfinite(r.w[i]);
  }
  perp_lcp_destroy(r.s);
  if (has_option(d, "max_iter")) {
    r.s = open_solver(d, "max_iter=1", n, nv);
    memset(r.x, 0, sizeof r.x);
    if (solve(&r, &q.p, 1e-8) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    if (r.stats.iterations > 1) {
      printf("# %s on %s: %d iterations with max_iter=1\n", d->name, recipe->family,
             r.stats.iterations);
      ++*limit;
    }
    perp_lcp_destroy(r.s);
  }
  perp_lcp_problem_free(&dense);
  perp_lcp_problem_free(&q);
}

static void check_generated(const perp_desc *d)
{
  static const perp_lcp_recipe recipes[] = {
    { .family = "spd", .n = 8, .seed = 1 },
    { .family = "psd", .n = 8, .seed = 2 },
    { .family = "boxed", .n = 8, .seed = 3 },
    { .family = "boxed-psd", .n = 8, .seed = 4 },
    { .family = "p-matrix", .n = 6, .seed = 5 },
    { .family = "copositive", .n = 6, .seed = 6 },
    { .family = "infeasible", .n = 6, .seed = 7 },
    { .family = "stack", .n = 8 },
    { .family = "stack", .n = 8, .factored = true },
    { .family = "stack-box", .n = 12 },
    { .family = "stack-box", .n = 12, .factored = true },
    { .family = "stack-cone", .n = 12 },
    { .family = "stack-friction", .n = 24 },
    { .family = "murty1", .n = 6 },
    { .family = "nosol", .n = 4 },
    { .family = "pang-perturbed" },
    { .family = "negative" },
    { .family = "zero-row" },
    { .family = "free-infeasible" },
    { .family = "bimatrix", .n = 4, .seed = 8 },
    { .family = "cps-2" },
  };
  int allocations = 0, differ = 0, lies = 0, limit = 0, nonfinite = 0;
  for (size_t k = 0; k < sizeof recipes / sizeof *recipes; k++)
    check_problem(d, &recipes[k], &allocations, &differ, &lies, &limit, &nonfinite);
  if (!COUNTS_MALLOC)
    skip("sanitizer", "%s: the second solve allocates nothing", d->name);
  else
    ok(allocations == 0, "%s: the second solve allocates nothing", d->name);
  ok(differ == 0, "%s: two solves give identical bits", d->name);
  ok(lies == 0, "%s: converged exactly when the judge accepts, never on unsolvable input", d->name);
  ok(nonfinite == 0, "%s: lambda and w are finite", d->name);
  if (has_option(d, "max_iter")) ok(limit == 0, "%s: max_iter is honoured", d->name);
}

static void check_descriptor(const perp_desc *d)
{
  ok(d->summary != NULL && d->summary[0] && d->reference != NULL && d->reference[0],
     "%s: says what it is and where it comes from", d->name);
  char text[1024];
  perp_spec spec, back;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  text[0] = '\0';
  if (spec.opts != NULL) perp_opts_format(d, spec.opts, false, text, sizeof text);
  char full[1200];
  snprintf(full, sizeof full, "%s%s%s", d->name, text[0] ? ":" : "", text);
  ok(perp_spec_parse(&ctx, PERP_KIND_lcp, full, &back) == PERP_OK &&
         (d->opts_size == 0 || memcmp(back.opts, spec.opts, d->opts_size) == 0),
     "%s: all options written out read back identically", d->name);
  perp_spec_free(&spec);
  perp_spec_free(&back);
  snprintf(full, sizeof full, "%s:no_such_option=1", d->name);
  ok(perp_spec_parse(&ctx, PERP_KIND_lcp, full, &spec) == PERP_ERR_OPTION,
     "%s: an unknown option is refused", d->name);
}

/* one argument: the name of the only solver to test */
int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (!under_test(d) || (argc > 1 && strcmp(argv[1], d->name) != 0)) continue;
    check_descriptor(d);
    check_scalar(d);
    check_refusals(d);
    check_generated(d);
  }
  return tap_done();
}
