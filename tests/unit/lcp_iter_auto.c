/* SPDX-License-Identifier: GPL-3.0-or-later */
/* auto: every solvable generated problem is solved, the others never reported solved; falls back
 * and says so. */
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

/* Two solvers that are wrong in one row each, the second by more of |lambda| and by less of b. */
static perp_status wrong_create(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)c, (void)max_n, (void)opts;
  *ws = NULL;
  return PERP_OK;
}
static perp_status first_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda, double *z,
                               perp_stats *stats)
{
  (void)c, (void)ws, (void)p;
  lambda[0] = 0.5, lambda[1] = 1000;
  z[0] = z[1] = 0;
  stats->reason = PERP_STALLED;
  return PERP_OK;
}
static perp_status second_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda, double *z,
                                perp_stats *stats)
{
  (void)c, (void)ws, (void)p;
  lambda[0] = 1, lambda[1] = 1001;
  z[0] = z[1] = 0;
  stats->reason = PERP_STALLED;
  return PERP_OK;
}
static void wrong_destroy(void *ws)
{
  (void)ws;
}
static const perp_lcp_desc first = {
  .d = { .name = "first", .summary = "wrong in b", .caps = PERP_LCP_NONSYMMETRIC },
  .create = wrong_create,
  .solve = first_solve,
  .destroy = wrong_destroy
};
static const perp_lcp_desc second = {
  .d = { .name = "second", .summary = "wrong in lambda", .caps = PERP_LCP_NONSYMMETRIC },
  .create = wrong_create,
  .solve = second_solve,
  .destroy = wrong_destroy
};
static const perp_plugin wrong[] = { { PERP_KIND_lcp, &first.d },
                                     { PERP_KIND_lcp, &second.d },
                                     { PERP_KIND_NONE, NULL } };

/* Of attempts that failed the best by what was asked for: own, in time steps rel, or the worse one
 * of both rules. */
static void check_best(void)
{
  double A[4] = { 1, 0, 0, 1e-6 }, b[2] = { -1, -1e-3 };
  perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b };
  perp_stats stats = run("auto:attempts=2,chain=(first;second)", &p, 1e-8);
  ok(stats.reason < 0 && strcmp(stats.by, "second") == 0,
     "own 5e-4 before 1 / 3 where own is asked");
  p.brief = true;
  stats = run("auto:attempts=2,chain=(first;second)", &p, 1e-8);
  ok(stats.reason < 0 && strcmp(stats.by, "first") == 0, "rel 5e-4 before 1e-3 in time steps");
  p.brief = false;
  p.tol_data = 1e-6;
  stats = run("auto:attempts=2,chain=(first;second)", &p, 1e-8);
  ok(stats.reason < 0 && strcmp(stats.by, "second") == 0,
     "data 1e-6 before 0.5 where both rules are asked, also where it comes later");
  stats = run("auto:attempts=2,chain=(second;first)", &p, 1e-8);
  ok(stats.reason < 0 && strcmp(stats.by, "second") == 0, "... and earlier");
}

/* What solvers made of others accept is accepted by both rules, and reached where the second is the
 * tighter one. */
static void check_both(void)
{
  static const char *const specs[] = {
    "auto",
    "rescue:of=(pgs:max_iter=100000)",
    "rescue:of=(pgs:max_iter=1),sweeps=100000",
    "fixed-point",
    "fixed-point:inner=(psor:max_iter=100000)",
    "staggered",
    "staggered:normal=(pgs:max_iter=9999),friction=(pgs:max_iter=9999)"
  };
  static const char *const families[] = { "stack-box", "wall-box" };
  for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
    for (int i = 0; i < 2; i++) {
      perp_lcp_problem q;
      perp_lcp_recipe recipe = { .family = families[i], .boxes = 3 };
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
      q.p.tol_data = 1e-9;
      perp_stats stats = run(specs[k], &q.p, 1e-3);
      ok(stats.reason == PERP_CONVERGED && stats.data <= 1e-9, "%s, %s: %s, %.1e in units of b",
         specs[k], families[i], perp_reason_name(stats.reason), stats.data);
      perp_lcp_problem_free(&q);
    }
}

/* What no solver solves: the end is that of the budget, the same every time, with the best iterate
 * and its reason. */
static void check_ends(void)
{
  enum { ROWS = 20 };
  static double A[ROWS * ROWS], b[ROWS];
  perp_rng *rng = perp_rng_create(5);
  perp_lcp_problem hard[2];
  perp_lcp random = { .n = ROWS, .A = A, .lda = ROWS, .b = b, .brief = true };
  for (int i = 0; i < ROWS * ROWS; i++) A[i] = perp_rng_normal(rng);
  for (int i = 0; i < ROWS; i++) b[i] = -1 - perp_rng_uniform(rng, 0, 1);
  perp_rng_destroy(rng);
  perp_lcp_recipe recipe[] = { { .family = "heavy-cone", .n = 60, .seed = 1 },
                               { .family = "wall-rough-cone", .n = 540, .seed = 1 } };
  recipe[1].n = perp_lcp_family_rows(perp_lcp_family_find("wall-rough-cone"), 540);
  for (int k = 0; k < 2; k++)
    if (perp_lcp_generate(&ctx, &recipe[k], &hard[k]) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp *problems[] = { &random, &hard[0].p, &hard[1].p };
  for (int k = 0; k < 3; k++) {
    const double budget = k == 2 ? 1e8 : 3e8;
    const char *spec = k == 2 ? "auto:budget=0.1" : "auto:budget=0.3";
    perp_stats one = run(spec, problems[k], 1e-12), two = run(spec, problems[k], 1e-12);
    ok(one.reason < 0 && isfinite(one.residual) && one.work < 1.2 * budget,
       "%d rows that nobody solves to 1e-12 with that: %s after %.3g of %.3g, rel %.1e",
       problems[k]->n, perp_reason_name(one.reason), one.work, budget, one.residual);
    ok(one.work == two.work && one.residual == two.residual && one.fallbacks == two.fallbacks,
       "... and the same again");
  }
  for (int k = 0; k < 2; k++) perp_lcp_problem_free(&hard[k]);
}

/* Every method that comes with perp counts its work, and stops near what its caller affords. */
static void check_limits(void)
{
  static const char *const families[] = { "spd", "stack-friction", "stack-box", "pushed-cone",
                                          "bimatrix" };
  static const double limits[] = { 5e4, 2e5, 1e6 };
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    int counted = 0, over = 0, same = 0, tried = 0;
    if (d->caps & PERP_LCP_PEER) continue;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
      perp_lcp_problem q;
      perp_lcp_recipe recipe = { .family = families[k] };
      recipe.n = perp_lcp_family_rows(perp_lcp_family_find(families[k]), 72);
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s", ctx.msg);
      if (perp_lcp_unsuited(d, &q.p) == NULL) {
        perp_lcp p = q.p;
        p.brief = true;
        p.work = 2e7;
        perp_stats all = run(d->name, &p, 1e-8);
        counted += all.reason == PERP_UNSUITED || all.work >= p.n;
        tried++;
        for (int l = 0; l < 3; l++) {
          p.work = limits[l];
          perp_stats some = run(d->name, &p, 1e-8);
          /* a step: a factorization or some, or a sweep of inner ones */
          over += some.work > limits[l] + 12.0 * p.n * p.n * p.n;
          same += some.reason == PERP_CONVERGED && all.reason != PERP_CONVERGED;
          if (some.work > limits[l] + 12.0 * p.n * p.n * p.n)
            printf("# %s %s %g of %g\n", d->name, families[k], some.work, limits[l]);
        }
      }
      perp_lcp_problem_free(&q);
    }
    ok(counted == tried && over == 0 && same == 0,
       "%s: counts its work on %d of %d problems and stops near the limit of the caller", d->name,
       counted, tried);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_both();
  check_limits();
  check_ends();
  perp_ctx known = ctx;
  if (perp_register(&ctx, wrong) != PERP_OK) bail("%s", ctx.msg);
  check_best();
  ctx = known; /* they are not to be among what auto tries below */
  const perp_lcp_family *f;
  int solvable = 0, solved = 0, lies = 0;
  /* every family, small and larger, as generated and with the rows in random order and other units
   */
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int k = 0; k < 6; k++) {
      static const int rows[] = { 12, 48, 96 };
      perp_lcp_problem q;
      perp_lcp_recipe recipe = { .family = f->name,
                                 .n = perp_lcp_family_rows(f, rows[k / 2]),
                                 .seed = (uint64_t)(4 + k),
                                 .permute = k % 2 == 1,
                                 .scale = k % 2 == 1 ? 1e-9 : 1 };
      /* scaled and permuted, its multipliers of 2^47 leave 2 % of the data in rounding: no solver
       * at all */
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
  /* 9 multiplications a product of 3 rows */
  stats = run("auto:chain=(pgs;lemke),budget=3.6e-7", &q.p, 1e-8);
  ok(stats.reason == PERP_MAX_ITER && stats.residual > 1e-8 && stats.matvecs >= 30 &&
         stats.work >= 360 && stats.work < 400,
     "auto: a budget of 360 is spent by sweeps, and lemke not asked (%s, %g)",
     perp_reason_name(stats.reason), stats.work);
  perp_lcp afford = q.p;
  afford.work = 360;
  stats = run("auto:chain=(pgs;lemke)", &afford, 1e-8);
  ok(stats.reason == PERP_MAX_ITER && stats.work >= 360 && stats.work < 400,
     "... as is what the caller affords (%g)", stats.work);
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
