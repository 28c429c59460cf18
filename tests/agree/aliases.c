/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A name is its method: no two registered LCP solvers take the same pivots or the same iterates on
 * thirty problems, unless one of them says so (perp_lcp_desc.same).
 *
 * What a solver does is read from its trace: the pairs (entering, leaving) of its pivots, and its
 * iterates (x, the index sets where there is no x), the events of solvers inside of it included,
 * names left out.  Two solvers are the same method when one of the two sequences is equal on more
 * than half of the problems where both of them have at least LEAST of its entries. Peers have no
 * trace of ours and are left out. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <string.h>

enum { MOST = 64, LEAST = 3, ROUNDED = 1000000, EXHAUSTIVE_ROWS = 8 };

#ifdef TAP_SANITIZED
/* LeakSanitizer itself crashes at the end of this program (clang 14: "Tracer caught signal 11");
 * what these solvers leak is seen by contract/lcp. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
  return "detect_leaks=0";
}
#endif

static perp_ctx ctx;

static const struct {
  const char *family;
  int n;
} recipes[] = {
  { "spd", 8 },
  { "spd", 24 },
  { "spd-degenerate", 16 },
  { "psd", 8 },
  { "psd", 24 },
  { "pd-nonsymmetric", 8 },
  { "pd-nonsymmetric", 24 },
  { "p-matrix", 16 },
  { "copositive", 12 },
  { "boxed", 8 },
  { "boxed", 24 },
  { "boxed-psd", 16 },
  { "stack", 8 },
  { "stack", 32 },
  { "wall", 40 },
  { "stack-box", 24 },
  { "wall-box", 48 },
  { "incline-box", 24 },
  { "stack-cone", 24 },
  { "wall-cone", 48 },
  { "incline-cone", 24 },
  { "stack-friction", 24 },
  { "incline-slide", 24 },
  { "bimatrix", 8 },
  { "bimatrix", 24 },
  { "harker-pang", 16 },
  { "fathi", 8 },
  { "csizmadia", 8 },
  { "tridiag", 16 },
  { "poisson", 36 },
};
enum { PROBLEMS = sizeof recipes / sizeof *recipes };

struct sequence {
  uint64_t hash;
  int length;
};
struct record {
  struct sequence pivots, iterates;
};

static void feed(struct sequence *s, int64_t x)
{
  for (int k = 0; k < 8; k++) s->hash = (s->hash ^ (uint64_t)(x >> 8 * k & 255)) * 0x100000001b3u;
}

static void watch(void *user, const perp_trace_event *e)
{
  struct record *r = user;
  if (e->entering >= 0 || e->leaving >= 0) {
    feed(&r->pivots, e->entering);
    feed(&r->pivots, e->leaving);
    r->pivots.length++;
  }
  if ((e->x == NULL && e->state == NULL) || strcmp(e->what, "start") == 0) return;
  double top = 0;
  for (int i = 0; e->x != NULL && i < e->n; i++) top = fmax(top, fabs(e->x[i]));
  for (int i = 0; i < e->n; i++) /* to six digits: rounding is no method */
    feed(&r->iterates, e->x == NULL               ? e->state[i]
                       : top > 0 && isfinite(top) ? (int64_t)llround(ROUNDED * e->x[i] / top)
                                                  : 0);
  r->iterates.length++;
}

static struct record trace_of(const char *text, const perp_lcp *p)
{
  struct record r = { { 0xcbf29ce484222325u, 0 }, { 0xcbf29ce484222325u, 0 } };
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  double *x = calloc((size_t)p->n, sizeof *x);
  if (x == NULL) bail("no memory");
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, p->n, 0, &s) != PERP_OK) bail("%s: %s", text, ctx.msg);
  ctx.trace = watch;
  ctx.trace_user = &r;
  if (perp_lcp_solve(&ctx, s, p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  ctx.trace = NULL;
  if (stats.reason == PERP_UNSUITED) r.pivots.length = r.iterates.length = 0;
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  free(x);
  return r;
}

static bool names(const char *list, const char *name)
{
  if (list == NULL) return false;
  if (strcmp(list, "*") == 0) return true;
  const size_t n = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
    if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) return true;
  return false;
}

/* What part of the problems on which both do something goes the same way: the larger one of pivots
 * and iterates; with friction rows or cones only, -1 where there is no such problem. */
static double equal_share(const struct record *a, const struct record *b, const bool *friction)
{
  double share = -1;
  for (int pivots = 0; pivots < 2; pivots++) {
    int count = 0, equal = 0;
    for (int k = 0; k < PROBLEMS; k++) {
      const struct sequence *s = pivots ? &a[k].pivots : &a[k].iterates;
      const struct sequence *t = pivots ? &b[k].pivots : &b[k].iterates;
      if (s->length < LEAST || t->length < LEAST || (friction != NULL && !friction[k])) continue;
      count++;
      equal += s->length == t->length && s->hash == t->hash;
    }
    if (count > 0) share = fmax(share, (double)equal / count);
  }
  return share;
}

int main(void)
{
  static struct record seen[MOST][PROBLEMS];
  /* settings that promise another way: they must take it */
  static const char *const settings[][2] = {
    { "dantzig", "dantzig:start=bpp" },         { "dantzig", "dantzig:order=index" },
    { "lemke", "lemke:ties=lexicographic" },    { "lemke:cover=ones", "lemke:cover=scaled" },
    { "murty:rule=least", "murty:rule=worst" }, { "bpp", "bpp:patience=0" },
  };
  static perp_lcp_problem problem[PROBLEMS];
  const perp_lcp_desc *method[MOST];
  bool friction[PROBLEMS];
  int n = 0;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < PROBLEMS; k++) {
    perp_lcp_recipe recipe = { .family = recipes[k].family, .n = recipes[k].n, .seed = 3 };
    if (perp_lcp_generate(&ctx, &recipe, &problem[k]) != PERP_OK) bail("%s", ctx.msg);
    friction[k] = perp_lcp_needs(&problem[k].p) & (PERP_LCP_FRICTION | PERP_LCP_CONE);
  }
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (d->caps & PERP_LCP_PEER) continue;
    if (n == MOST) bail("more than %d solvers", MOST);
    method[n] = (const perp_lcp_desc *)(const void *)d;
    int seen_something = 0;
    for (int k = 0; k < PROBLEMS; k++) {
      const bool exhaustive = (d->caps & PERP_LCP_EXHAUSTIVE) && (d->caps & PERP_LCP_PIVOTING);
      if (perp_lcp_needs(&problem[k].p) & ~d->caps) continue;
      if (exhaustive && problem[k].p.n > EXHAUSTIVE_ROWS) continue;
      seen[n][k] = trace_of(d->name, &problem[k].p);
      seen_something += seen[n][k].pivots.length >= LEAST || seen[n][k].iterates.length >= LEAST;
    }
    ok(seen_something > 0, "%s: its trace shows what it does", d->name);
    n++;
  }
  for (int a = 0; a < n; a++)
    for (int b = a + 1; b < n; b++) {
      const char *first = method[a]->d.name, *second = method[b]->d.name;
      const double equal = equal_share(seen[a], seen[b], NULL);
      const double rubbing = equal_share(seen[a], seen[b], friction);
      const bool said = names(method[a]->same, second) || names(method[b]->same, first);
      ok(equal <= 0.5 || said, "%s and %s are two methods", first, second);
      /* what is said of plain problems is no excuse where there is friction */
      const bool composite = names(method[a]->same, "*") || names(method[b]->same, "*");
      if (said && !composite)
        ok(rubbing < 1, "%s and %s are two methods where there is friction", first, second);
    }
  /* the comparison sees an alias: over-relaxation by 1 is Gauss-Seidel */
  static struct record plain[PROBLEMS], relaxed[PROBLEMS];
  for (int k = 0; k < PROBLEMS; k++) {
    if (friction[k] || strncmp(recipes[k].family, "boxed", 5) == 0) continue;
    plain[k] = trace_of("pgs", &problem[k].p);
    relaxed[k] = trace_of("psor:omega=1", &problem[k].p);
  }
  ok(equal_share(plain, relaxed, NULL) == 1, "pgs and psor:omega=1 are seen to be one method");
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
    static struct record one[PROBLEMS], two[PROBLEMS];
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    for (int k = 0; k < PROBLEMS; k++) {
      perp_spec spec;
      if (perp_spec_parse(&ctx, PERP_KIND_lcp, settings[s][0], &spec) != PERP_OK)
        bail("%s", ctx.msg);
      const unsigned caps = spec.d->caps;
      perp_spec_free(&spec);
      if (perp_lcp_needs(&problem[k].p) & ~caps) continue;
      one[k] = trace_of(settings[s][0], &problem[k].p);
      two[k] = trace_of(settings[s][1], &problem[k].p);
    }
    const double equal = equal_share(one, two, NULL);
    ok(equal >= 0 && equal < 1, "%s and %s take different ways", settings[s][0], settings[s][1]);
  }
  for (int k = 0; k < PROBLEMS; k++) perp_lcp_problem_free(&problem[k]);
  return tap_done();
}
