/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guard of methods: the first iterates of each LCP solver with each of its choices, the answers
 * of each KKT formulation on systems of every shape, and what each ODE method makes of fixed and
 * chosen steps, against methods.txt. An answer is right whatever way led to it; this says that the
 * way has changed:
 *
 *      ninja -C build accept-work
 *
 * writes methods.txt anew, and its difference goes into the commit.  Sums over components with
 * weights, to 1e-6 of the sum of their sizes; problems on which rounding does not decide. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/guard/golden.h"
#include "tests/kkt_problems.h"
#include "tests/ode_problems.h"
#include "tests/tap.h"

static perp_ctx ctx;

/* counts that rounding may move */
static void put_count(golden_line *l, const char *what, double number)
{
  if (number > 0) golden_put(l, what, number, fmax(1, 0.05 * number));
}

/* ---- LCP ---- */

enum { FEW = 4 };

struct seen {
  golden_line *l;
  int events, told;
};

static void watch(void *user, const perp_trace_event *e)
{
  static const char *const x[FEW] = { "x1", "x2", "x3", "x4" },
                           *const rows[FEW] = { "rows1", "rows2", "rows3", "rows4" },
                           *const step[FEW] = { "step1", "step2", "step3", "step4" },
                           *const rel[FEW] = { "rel1", "rel2", "rel3", "rel4" };
  struct seen *s = user;
  s->events++;
  if (s->told == FEW) return;
  const int k = s->told++;
  if (e->entering >= 0 || e->leaving >= 0)
    golden_put(s->l, rows[k], e->entering + 1000 * e->leaving, 0);
  if (isfinite(e->step) && e->step != 0)
    golden_put(s->l, step[k], e->step, 1e-9 + 1e-6 * fabs(e->step));
  /* what is left of a converged residual is rounding */
  if (e->residual > 1e-9 && isfinite(e->residual))
    golden_put(s->l, rel[k], e->residual, 1e-10 + 1e-5 * e->residual);
  if (e->x != NULL) golden_put_sum(s->l, x[k], e->n, e->x, 1e-6);
}

static void lcp(const char *method, const char *family, int n, bool factored, bool definite,
                bool warm)
{
  perp_lcp_recipe recipe = { .family = family, .n = n, .seed = 5, .factored = factored };
  perp_lcp_problem q;
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  /* contacts with some give, unequal ones */
  for (int i = 0; definite && i < q.p.n; i++)
    perp_lcp_edit(&q).A[i + (size_t)i * (size_t)q.p.lda] *= 1.1 + 0.1 * (i % 3);
  q.p.work = 2e6; /* some of them never end where nothing is definite */
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  if ((perp_lcp_needs(&q.p) & ~spec.d->caps) == 0) {
    golden_line *l = golden_add("lcp %s on %s:n=%d%s%s", method, family, q.p.n,
                                factored ? ",factored" : "", warm ? ", warm" : "");
    struct seen seen = { .l = l };
    double *x = problem_memory((size_t)q.p.n, sizeof *x);
    if (warm)
      for (int i = 0; i < q.p.n; i++) x[i] = fmod(0.7548776662466927 * (i + 1), 1);
    if (perp_lcp_create(&ctx, &spec, q.p.n, q.p.F != NULL ? q.p.F->nv : 0, &s) != PERP_OK)
      bail("%s: %s", method, ctx.msg);
    ctx.trace = watch;
    ctx.trace_user = &seen;
    if (perp_lcp_solve(&ctx, s, &q.p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s: %s", method, ctx.msg);
    ctx.trace = NULL;
    golden_put(l, "reason", stats.reason, 0);
    if (strstr(method, ":min_iter=") == NULL) { /* what follows the solution is rounding */
      put_count(l, "events", seen.events);
      put_count(l, "iterations", stats.iterations);
      put_count(l, "factorizations", (double)stats.factorizations);
      put_count(l, "products", (double)stats.matvecs);
    }
    if (!golden_led(method)) put_count(l, "work", stats.work);
    if (stats.reason > 0) golden_put_sum(l, "x", q.p.n, x, 1e-6);
    if (stats.reason == PERP_UNSUITED) golden_lines--;
    free(x);
    perp_lcp_destroy(s);
  }
  perp_spec_free(&spec);
  perp_lcp_problem_free(&q);
}

static void lcps(void)
{
  static const struct {
    const char *family;
    int n;
    bool factored;
  } sets[] = { { "spd", 12, false },
               { "boxed", 12, false },
               { "p-matrix", 8, false },
               { "pd-nonsymmetric", 10, false },
               { "tridiag", 16, false },
               { "incline-box", 12, false },
               { "stack-cone", 12, false },
               { "wall-box", 24, false },
               /* not definite */
               { "incline-box", 24, true },
               { "wall-cone", 24, true },
               { "stack-cone", 12, true },
               { "incline-slide", 24, false },
               { "bimatrix", 8, false } };
  enum { DEFINITE = 8 };
  static const char *const ways[] = {
    "pgs:order=symmetric",
    "pgs:order=random",
    "pgs:order=coloured",
    "psor:omega=1.6",
    "jacobi:plain=true",
    "murty:rule=worst",
    "dantzig:order=index",
    "dantzig:start=bpp",
    "bpp:patience=0",
    "lemke:ties=lexicographic",
    "lemke:cover=scaled",
    "lemke:start=guess",
    "lemke-howson:label=1",
    "block-gs:by=group",
    "block-gs:block=projection",
    "block-gs:block=enumeration",
    "block-gs:omega=1.3",
    "block-gs:accelerate=3",
    "staggered:depth=0",
    "staggered:relax=0.7",
    "fischer-newton:window=1",
    "fischer-newton:kink=bound",
    "fischer-newton:warm=3",
    "fischer-newton:kink=middle",
    "minmap-newton:smooth=0",
    "minmap-newton:warm=5",
    "interior-point:crossover=0",
    "cone-newton:warm=2",
    "cone-newton:window=1",
    "prox:window=1",
    "admm:refactor=0",
    "aclm:extrapolate=0",
    "block-gs:block=bisection",
    "shock:pass=up",
  };
  const int n_ways = sizeof ways / sizeof *ways;
  const perp_desc *d = NULL;
  for (int i = 0; i < n_ways || (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i - n_ways)) != NULL;
       i++) {
    if (i >= n_ways && (d->caps & PERP_LCP_PEER || strcmp(d->name, "auto") == 0)) continue;
    const char *name = i < n_ways ? ways[i] : d->name;
    const size_t n = golden_led(name) ? (size_t)DEFINITE : sizeof sets / sizeof *sets;
    for (size_t k = 0; k < n; k++)
      for (int warm = 0; warm < (k % 2 == 0 ? 2 : 1); warm++)
        lcp(name, sets[k].family, sets[k].n, sets[k].factored, k < DEFINITE, warm);
  }
}

/* Each option of each method, one at a time. */
static void lcp_options(void)
{
  static const struct {
    const char *family;
    int n;
    bool factored, definite;
  } sets[] = { { "wall-box", 24, false, true },
               { "pd-nonsymmetric", 10, false, true },
               { "stack-cone", 12, true, false },
               { "incline-slide", 24, false, false },
               { "bimatrix", 8, false, false } };
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (d->caps & PERP_LCP_PEER) continue;
    for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++) {
      char value[32], text[100];
      for (int k = 0; golden_option(o, k, value, sizeof value); k++) {
        snprintf(text, sizeof text, "%s:%s=%s", d->name, o->key, value);
        for (size_t j = 0; j < sizeof sets / sizeof *sets; j++)
          if (sets[j].definite || !golden_led(d->name))
            lcp(text, sets[j].family, sets[j].n, sets[j].factored, sets[j].definite, false);
      }
    }
  }
}

/* What the judge says of answers that are wrong, each in a way of its own. */
static void judgements(void)
{
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int factored = 0; factored < 2; factored++) {
      const int n = perp_lcp_family_rows(f, 12);
      perp_lcp_recipe recipe = { .family = f->name, .n = n, .seed = 7, .factored = factored };
      perp_lcp_problem q;
      if (n > 64 || perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) continue;
      double *x = problem_memory((size_t)(2 * n), sizeof *x), *w = x + n,
             *scratch = problem_memory(PERP_LCP_SCRATCH(n, q.p.F != NULL ? q.p.F->nv : 0),
                                       sizeof *x);
      golden_line *l = golden_add("judge %s:n=%d%s", f->name, n, factored ? ",factored" : "");
      for (int k = 0; k < 3; k++) {
        static const char *const names[3][8] = {
          { "rel", "data", "abs", "componentwise", "siconos", "fclib", "abh", "coupling" },
          { "rel1", "data1", "abs1", "componentwise1", "siconos1", "fclib1", "abh1", "coupling1" },
          { "rel2", "data2", "abs2", "componentwise2", "siconos2", "fclib2", "abh2", "coupling2" }
        };
        for (int r = 0; r < n; r++) x[r] = k * (fmod(0.7548776662466927 * (r + k), 1) - 0.3);
        perp_lcp_judgement j;
        perp_lcp_judge(&q.p, x, w, scratch, &j);
        const double figure[8] = { j.rel,     j.data,  j.abs, j.componentwise,
                                   j.siconos, j.fclib, j.abh, j.coupling };
        for (int r = 0; r < 8; r++)
          if (isfinite(figure[r]))
            golden_put(l, names[k][r], figure[r], 1e-12 + 1e-6 * fabs(figure[r]));
        static const char *const sum[3] = { "w", "w1", "w2" };
        golden_put_sum(l, sum[k], n, w, 1e-6);
      }
      free(x);
      free(scratch);
      perp_lcp_problem_free(&q);
    }
}

/* ---- KKT ---- */

static void kkt(const char *method, problem *p, double soft)
{
  const int nv = p->B.nv, m = p->B.m;
  double *a = problem_memory((size_t)(3 * nv + 3 * m), sizeof *a), *lambda = a + nv,
         *scratch = lambda + m;
  perp_stats stats = { 0 };
  perp_spec spec;
  perp_kkt_solver *s;
  for (int i = 0; soft > 0 && i < m; i++) p->s[i] = soft * (1 + i % 3);
  p->B.s = soft > 0 ? p->s : p->B.s;
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, method, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_kkt_create(&ctx, &spec, &p->B, &s) == PERP_OK) {
    golden_line *l = golden_add("kkt %s on %s%s", method, p->name, soft > 0 ? ", soft" : "");
    if (perp_kkt_factor(&ctx, s, &p->B, &stats) != PERP_OK) bail("%s: %s", method, ctx.msg);
    golden_put(l, "factor", stats.reason, 0);
    /* twice: from zero, and once more from what was found, for another right-hand side */
    static const char *const name[2][4] = { { "reason", "iterations", "a", "lambda" },
                                            { "again", "more", "a2", "lambda2" } };
    for (int k = 0; k < 2 && stats.reason > 0; k++) {
      if (perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, lambda, &stats) != PERP_OK)
        bail("%s: %s", method, ctx.msg);
      golden_put(l, name[k][0], stats.reason, 0);
      put_count(l, name[k][1], stats.iterations);
      golden_put_sum(l, name[k][2], nv, a, 1e-6);
      golden_put_sum(l, name[k][3], m, lambda, 1e-6);
      if (k == 1) break;
      /* the judge sees what is wrong by so much, on either side */
      a[nv / 2] += 0.01;
      double rel = perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch);
      golden_put(l, "off a", rel, 1e-6 * rel);
      a[nv / 2] -= 0.01;
      if (m > 0) lambda[m / 2] += 0.01;
      rel = perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch);
      golden_put(l, "off lambda", rel, 1e-9 + 1e-6 * rel);
      for (int i = 0; i < nv; i++) p->f[i] *= 1 + 0.1 * (i % 4);
      for (int i = 0; i < m; i++) p->c[i] += 0.01 * (i % 3);
    }
    put_count(l, "factorizations", (double)stats.factorizations);
    perp_kkt_destroy(s);
  }
  perp_spec_free(&spec);
  free(a);
  problem_free(p);
}

static void kkts(void)
{
  static const char *const ways[] = { "schur-cg:max_iter=3", "schur-svd:rank_tol=1e-4",
                                      "kkt-sparse:delta=1e-4" };
  const int n_ways = sizeof ways / sizeof *ways;
  const perp_desc *d = NULL;
  for (int i = 0; i < n_ways || (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i - n_ways)) != NULL;
       i++) {
    const char *name = i < n_ways ? ways[i] : d->name;
    for (int soft = 0; soft < 2; soft++) {
      const double s = 1e-2 * soft;
      kkt(name, problem_chain("chain", 5, 6, 3, true, true), s);
      kkt(name, problem_chain("floating chain", 4, 6, 5, false, false), s);
      kkt(name, problem_chain("planar chain", 6, 3, 2, true, true), s);
      kkt(name, problem_chain("points", 6, 2, 1, true, false), s);
      kkt(name, problem_heap("heap", 5, 3), s);
      kkt(name, problem_carousel("carousel", 3, 2), s);
      kkt(name, problem_ring("ring", 5), s);
      kkt(name, problem_bridge("bridge", 4), s);
      kkt(name, problem_masses("masses", 5, 2), s);
      kkt(name, problem_twice("joint twice", 5, 1, false), s);
      kkt(name, problem_twice("contradiction", 5, 1, true), s);
    }
  }
}

/* ---- ODE ---- */

static void ode(const char *method, const char *options, const ode_problem *p, double h)
{
  char text[120];
  snprintf(text, sizeof text, "%s%s%s", method, options[0] != '\0' ? ":" : "", options);
  perp_spec spec;
  perp_ode *o;
  perp_stats stats = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_ode, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_ode_create(&ctx, &spec, &p->sys, h, &o) == PERP_OK) {
    golden_line *l = golden_add("ode %s on %s", text, p->name);
    double q[4], v[3];
    if (p->exact != NULL)
      p->exact(p, 0, q, v);
    else
      memcpy(q, p->q0, sizeof q), memcpy(v, p->v0, sizeof v);
    if (perp_ode_restart(&ctx, o, 0, q, p->sys.nv > 0 ? v : NULL) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 12 && perp_ode_step(&ctx, o, p->t_end, &stats) == PERP_ODE_REACHED; k++) {}
    const perp_ode_counters *c = perp_ode_count(o);
    golden_put(l, "reason", stats.reason, 0);
    golden_put(l, "t", perp_ode_time(o), 1e-5);
    golden_put_sum(l, "q", p->sys.nq, perp_ode_q(o), 1e-5);
    if (p->sys.nv > 0) golden_put_sum(l, "v", p->sys.nv, perp_ode_v(o), 1e-5);
    golden_put(l, "h", perp_ode_h(o), 1e-5 * perp_ode_h(o));
    golden_put(l, "least", c->h_least, 1e-5 * c->h_least);
    golden_put(l, "most", c->h_most, 1e-5 * c->h_most);
    if (stats.residual > 0) golden_put(l, "error", stats.residual, 1e-9 + 1e-4 * stats.residual);
    put_count(l, "derivatives", (double)c->rhs);
    put_count(l, "rejected", (double)c->rejected);
    put_count(l, "iterations", (double)c->iterations);
    perp_ode_destroy(o);
  }
  perp_spec_free(&spec);
}

static void odes(void)
{
  static const char *const options[] = { "", "tol=1e-3", "tol=1e-6,atol=1e-8,h_max=0.3",
                                         "tol=1e-5,control=doubling" };
  const ode_problem problems[] = { oscillator(), circle(), pendulum(), rigid() };
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    if (strchr(d->name, ':') != NULL) continue; /* GSL's belong to GSL */
    for (size_t k = 0; k < sizeof options / sizeof *options; k++)
      for (size_t j = 0; j < sizeof problems / sizeof *problems; j++)
        ode(d->name, options[k], &problems[j], 0.05);
  }
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  lcps();
  lcp_options();
  judgements();
  kkts();
  odes();
  golden_end("methods.txt", argc > 1 && strcmp(argv[1], "--accept") == 0);
  return tap_done();
}
