/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No option without effect: for each option of each method there is a problem or a scene for which two of its values give
 * different results, in their bits or in their counts; or the table below has the reason.  Where an option alone
 * changes nothing, each other option of the method is set beside it: many act with another one only. */
#include "experiments/simulate/simulate.h"
#include "experiments/metrics/metrics.h"
#include "models/models.h"
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/problems/generate.h"
#include "tests/kkt_problems.h"
#include "tests/option_values.h"
#include "tests/tap.h"

static perp_ctx ctx;

#define DOUBLING "step doubling is its only estimate, and the other values are refused"

/* Options whose effect no short run shows: "method:key" and why. */
static const struct {
  const char *option, *why;
} exceptions[] = {
  { "midpoint:control", DOUBLING },
  { "rk4:control", DOUBLING },
  { "verlet:control", DOUBLING },
  { "implicit-midpoint:control", DOUBLING },
  { "auto:peers", "solvers of other packages may not be installed" },
};

static uint64_t mix(uint64_t h, const void *data, size_t size)
{
  const unsigned char *c = data;
  for (size_t i = 0; i < size; i++) h = (h ^ c[i]) * 1099511628211u;
  return h;
}
#define MIX(h, x) h = mix(h, &(x), sizeof(x))

/* ---- results of one method on one problem; 0: refused, or not served ---------------------------------------------- */

/* A run that takes long is none: values far from the default may make thousands of steps of one. */
static double until;

static perp_cut too_long(void *user)
{
  (void)user;
  return perp_clock_thread() > until ? PERP_CUT_TIME : PERP_CUT_NONE;
}

static void keep_nothing(const perp_result *so_far, void *user)
{
  (void)so_far, (void)user;
}

static uint64_t of_run(perp_request request)
{
  const perp_minder minder = { too_long, keep_nothing, NULL };
  perp_result r;
  request.minder = &minder;
  until = perp_clock_thread() + 0.2;
  uint64_t h = 14695981039346656037u;
  if (perp_simulate(&ctx, &request, &r) != PERP_OK) return 0;
  h = mix(h, r.q, (size_t)r.nq * sizeof *r.q);
  h = mix(h, r.v, (size_t)r.nv * sizeof *r.v);
  MIX(h, r.reason), MIX(h, r.t);
  MIX(h, r.ode_count.steps), MIX(h, r.ode_count.rhs), MIX(h, r.ode_count.iterations);
  MIX(h, r.ode_count.rejected), MIX(h, r.kkt_count.work);
  MIX(h, r.contact_count.work), MIX(h, r.contact_count.failures), MIX(h, r.contact_count.problems);
  MIX(h, r.group_count.merges), MIX(h, r.group_count.splits), MIX(h, r.group_count.groups);
  if (r.cut != PERP_CUT_NONE) h = 0;
  perp_result_free(&r);
  return h;
}

/* A solver in the steps of a scene: what it carries from problem to problem. */
static uint64_t of_steps(const char *method, int k)
{
  static const struct {
    const char *scene, *contact;
  } runs[] = { { "stack:boxes=3", NULL },
               { "crush", NULL },
               { "stack:boxes=2", "polyhedral" },
               { "card-house", NULL } };
  if (k >= (int)(sizeof runs / sizeof *runs)) return 1;
  return of_run((perp_request){ .scene = runs[k].scene,
                                .formulation = "velocity",
                                .lcp = method,
                                .contact = runs[k].contact,
                                .h = 4e-3,
                                .t_end = 0.1 });
}

static uint64_t of_lcp(const char *method, int k)
{
  static const struct {
    const char *family;
    int n, factored;
    double tol;
  } sets[] = { { "spd", 12, 0, 1e-8 },
               { "boxed", 12, 0, 1e-8 },
               { "wall-box", 24, 0, 1e-8 },
               { "stack-cone", 24, 1, 1e-10 },
               { "incline-slide", 24, 0, 1e-8 },
               { "incline-cone", 24, 1, 1e-12 },
               { "bimatrix", 8, 0, 1e-8 },
               { "wall-box", 48, 1, 1e-12 },
               { "pd-nonsymmetric", 10, 0, 1e-8 },
               { "tridiag", 40, 0, 1e-12 },
               { "stack-box", 120, 1, 1e-10 } };
  enum { SETS = 2 * sizeof sets / sizeof *sets };
  if (k >= SETS) return of_steps(method, k - SETS);
  const bool warm = k % 2;
  k /= 2;
  perp_lcp_recipe recipe = {
    .family = sets[k].family, .n = sets[k].n, .factored = sets[k].factored, .seed = 3
  };
  perp_lcp_problem q;
  perp_spec spec = { 0 };
  perp_lcp_solver *s;
  perp_stats stats = { 0 };
  uint64_t h = 0;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", sets[k].family, ctx.msg);
  q.p.work = 3e7;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) == PERP_OK &&
      (perp_lcp_needs(&q.p) & ~spec.d->caps) == 0) {
    double *x = problem_memory((size_t)q.p.n, sizeof *x);
    for (int i = 0; warm && i < q.p.n; i++) x[i] = fmod(0.7548776662466927 * (i + 1), 1);
    if (perp_lcp_create(&ctx, &spec, q.p.n, q.p.F != NULL ? q.p.F->nv : 0, &s) == PERP_OK) {
      if (perp_lcp_solve(&ctx, s, &q.p, sets[k].tol, x, NULL, NULL, &stats) == PERP_OK &&
          stats.reason != PERP_UNSUITED) {
        h = mix(14695981039346656037u, x, (size_t)q.p.n * sizeof *x);
        MIX(h, stats.iterations), MIX(h, stats.work), MIX(h, stats.reason), MIX(h, stats.matvecs);
      }
      perp_lcp_destroy(s);
    }
    free(x);
  }
  perp_spec_free(&spec);
  perp_lcp_problem_free(&q);
  return h;
}

static uint64_t of_kkt(const char *method, int k)
{
  problem *p = k == 0   ? problem_chain("chain", 6, 6, 3, true, true)
               : k == 1 ? problem_twice("joint twice", 5, 1, false)
               : k == 2 ? problem_twice("contradiction", 5, 1, true)
               : k == 3 ? problem_masses("masses", 6, 8)
               : k == 4 ? problem_ring("ring", 6)
                        : NULL;
  perp_spec spec = { 0 };
  perp_kkt_solver *s;
  perp_stats stats = { 0 };
  uint64_t h = 0;
  if (p == NULL) return 1;
  double *a = problem_memory((size_t)p->B.nv, 8), *l = problem_memory((size_t)p->B.m, 8);
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, method, &spec) == PERP_OK &&
      perp_kkt_create(&ctx, &spec, &p->B, &s) == PERP_OK) {
    if (perp_kkt_factor(&ctx, s, &p->B, &stats) == PERP_OK && stats.reason >= 0 &&
        perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, l, &stats) == PERP_OK) {
      h = mix(14695981039346656037u, a, (size_t)p->B.nv * 8);
      h = mix(h, l, (size_t)p->B.m * 8);
    }
    MIX(h, stats.iterations), MIX(h, stats.work), MIX(h, stats.reason);
    perp_kkt_destroy(s);
  }
  perp_spec_free(&spec);
  free(a), free(l);
  problem_free(p);
  return h;
}

static uint64_t of_ode(const char *method, int k)
{
  static const perp_request runs[] = {
    { .scene = "oscillator", .h = 0.05, .t_end = 20 },
    { .scene = "pendulum", .formulation = "reduced", .h = 0.02, .t_end = 0.5 },
    { .scene = "pendulum", .formulation = "acceleration", .h = 0.02, .t_end = 0.5 },
    { .scene = "stiff-and-slow", .formulation = "acceleration", .h = 0.01, .t_end = 0.1 },
    { .scene = "circle", .h = 0.1, .t_end = 2 },
  };
  if (k >= (int)(sizeof runs / sizeof *runs)) return 1;
  perp_request r = runs[k];
  r.ode = method;
  return of_run(r);
}

static const perp_request scenes[] = {
  { .scene = "chain:links=3,dim=3", .h = 4e-3, .t_end = 0.2 },
  { .scene = "stack:boxes=2", .h = 4e-3, .t_end = 0.2 },
  { .scene = "incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity", .h = 4e-3, .t_end = 0.2 },
  { .scene = "bouncing-ball", .h = 4e-3, .t_end = 0.8 },
  { .scene = "four-bar", .h = 4e-3, .t_end = 0.2 },
  { .scene = "spinning-puck", .h = 4e-3, .t_end = 0.2 },
  { .scene = "oblique-impact", .h = 4e-3, .t_end = 0.2 },
  { .scene = "rolling-sphere", .h = 4e-3, .t_end = 0.2 },
  { .scene = "at-limit", .h = 4e-3, .t_end = 0.2 },
  { .scene = "motor", .h = 4e-3, .t_end = 0.2 },
  { .scene = "crush", .h = 4e-3, .t_end = 0.1 },
  { .scene = "billiard", .h = 4e-3, .t_end = 0.3 },
  { .scene = "spring", .h = 4e-3, .t_end = 0.2 },
  { .scene = "coulomb-oscillator", .h = 4e-3, .t_end = 0.3 },
  { .scene = "group-merging", .h = 4e-3, .t_end = 0.4 },
  { .scene = "cradle", .h = 4e-3, .t_end = 0.3 },
  { .scene = "heavy-top", .h = 4e-3, .t_end = 0.1 },
  { .scene = "free-body", .h = 4e-3, .t_end = 0.1 },
  { .scene = "incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity,shape=point",
    .contact = "box",
    .lcp = "dantzig",
    .h = 4e-3,
    .t_end = 0.1 },
  { .scene = "belt.yaml", .h = 4e-3, .t_end = 0.6 },
};

static uint64_t of_scene(perp_kind kind, const char *method, int k)
{
  const int ways = kind == PERP_KIND_formulation ? 1 : 3;
  if (k >= ways * (int)(sizeof scenes / sizeof *scenes)) return 1;
  perp_request r = scenes[k / ways];
  if (kind == PERP_KIND_formulation)
    r.formulation = method;
  else
    r.formulation = k % 3 == 1 ? "acceleration" : "velocity";
  if (ways > 1 && k % 3 == 2) r.lcp = "pgs:sweeps=10";
  if (kind == PERP_KIND_stab) r.stab = method;
  if (kind == PERP_KIND_contact) r.contact = method;
  return of_run(r);
}

/* 1: there is no problem of this number */
static uint64_t probe(perp_kind kind, const char *method, int k)
{
  return kind == PERP_KIND_lcp   ? of_lcp(method, k)
         : kind == PERP_KIND_kkt ? of_kkt(method, k)
         : kind == PERP_KIND_ode ? of_ode(method, k)
                                 : of_scene(kind, method, k);
}

/* ---- values --------------------------------------------------------------------------------------------------------- */

/* Value k of an option: those of golden_option, then some far from the default. */
static bool value_of(const perp_opt *o, int k, char *value, size_t size)
{
  int n = 0;
  while (golden_option(o, n, value, size)) n++;
  if (k < n) return golden_option(o, k, value, size);
  if (o->type != PERP_OPT_INT && o->type != PERP_OPT_REAL) return false;
  const double far[] = {
    o->dflt * 1e3, o->dflt * 1e-3, 1, 30, 1e3, 0, 2, 5, 0.05, 1e-4, 1e-9, 1e6
  };
  for (size_t i = 0, at = (size_t)n; i < sizeof far / sizeof *far; i++) {
    const double x = o->type == PERP_OPT_INT ? floor(far[i]) : far[i];
    if (!isfinite(x) || x < o->min || x > o->max || x == o->dflt) continue;
    if (at++ < (size_t)k) continue;
    snprintf(value, size, "%.12g", x);
    return true;
  }
  return false;
}

/* Do two values differ on some problem?  beside: "p=1", or "". */
static bool acts(perp_kind kind, const perp_desc *d, const perp_opt *o, const char *beside)
{
  char value[32], text[256], base[256];
  snprintf(base, sizeof base, "%s%s%s", d->name, beside[0] ? ":" : "", beside);
  for (int k = 0;; k++) {
    const uint64_t without = probe(kind, base, k);
    if (without == 1) return false;
    if (without == 0) continue;
    /* beside another option near values are enough: those pairs are many */
    for (int i = 0; beside[0] != '\0' ? golden_option(o, i, value, sizeof value)
                                      : value_of(o, i, value, sizeof value);
         i++) {
      snprintf(text, sizeof text, "%s:%s=%s%s%s", d->name, o->key, value, beside[0] ? "," : "",
               beside);
      const uint64_t with = probe(kind, text, k);
      if (with != 0 && with != without) return true;
    }
  }
}

/* Results do not depend on the number of threads, which other tests hold. */
static bool of_speed(const perp_opt *o)
{
  return strcmp(o->key, "threads") == 0;
}

static void look(perp_kind kind, const perp_desc *d, const perp_opt *o)
{
  char name[128], beside[64], value[32];
  snprintf(name, sizeof name, "%s:%s", d->name, o->key);
  if (of_speed(o)) return;
  if (o->type == PERP_OPT_TEXT) return; /* names of other methods, and files: their own tests */
  const char *why = NULL;
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
    if (strcmp(exceptions[i].option, name) == 0) why = exceptions[i].why;
  bool found = acts(kind, d, o, "");
  for (const perp_opt *p = d->opts; !found && why == NULL && p->type != PERP_OPT_END; p++)
    for (int i = 0; p != o && !found && value_of(p, i, value, sizeof value); i++) {
      if (p->type == PERP_OPT_TEXT) continue;
      snprintf(beside, sizeof beside, "%s=%s", p->key, value);
      found = acts(kind, d, o, beside);
    }
  if (why != NULL)
    ok(!found, "%s has no effect here, as said: %s", name, why);
  else
    ok(found, "%s has an effect", name);
}

int main(int argc, char **argv)
{
  static const perp_kind kinds[] = { PERP_KIND_lcp,  PERP_KIND_kkt,     PERP_KIND_ode,
                                     PERP_KIND_stab, PERP_KIND_contact, PERP_KIND_formulation };
  const perp_desc *d;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  /* formulations, whose scenes take minutes, by hand: test_options velocity */
  for (int kind = 0; kind < (argc > 1 ? 6 : 5); kind++)
    for (int i = 0; (d = perp_plugin_at(&ctx, kinds[kind], i)) != NULL; i++) {
      if (argc > 1 && strcmp(argv[1], d->name) != 0)
        continue;                                 /* one method, and one option of it */
      if (strchr(d->name, ':') != NULL) continue; /* third-party: their options are theirs */
      for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
        if (argc < 3 || strcmp(argv[2], o->key) == 0) look(kinds[kind], d, o);
    }
  return tap_done();
}
