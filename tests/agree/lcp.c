/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every LCP solver against enumeration of all index sets, on random problems of mixed classes with
 * n <= 8.
 *
 * What is asked of a solver follows from its capability bits and the class of the problem; the
 * share that it solves outside that domain is printed, not asked.  Always asked: converged exactly
 * when an independent computation of rel agrees, and never where enumeration proves that there is
 * no solution.
 *
 * Arguments: number of problems (default 3000), name of the only solver; pivoting methods see them
 * all, iterative ones every fourth. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/lcp_own.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static const double tol = 1e-8;

enum class {
  SPD,
  SPD_DEGENERATE,
  BOXED,
  PSD,
  BOXED_PSD,
  PD_NONSYMMETRIC,
  P_MATRIX,
  COPOSITIVE,
  FRICTION,
  INDEFINITE,
  INFEASIBLE,
  CLASSES
};
static const char *const class_names[CLASSES] = { "spd",        "spd-degenerate", "boxed",
                                                  "psd",        "boxed-psd",      "pd-nonsymmetric",
                                                  "p-matrix",   "copositive",     "friction",
                                                  "indefinite", "infeasible" };

/* Known limits of a method inside its declared capabilities, each with its reason. */
static const struct {
  const char *method;
  enum class class;
  const char *reason;
} excused[] = {
  { "jacobi", PD_NONSYMMETRIC, "converges for diagonally dominant A only" },
};

/* Does the method have to solve a solvable problem of this class? */
static bool expected(const perp_desc *d, enum class class)
{
  for (size_t k = 0; k < sizeof excused / sizeof *excused; k++)
    if (excused[k].class == class && strcmp(excused[k].method, d->name) == 0) return false;
  if (d->caps & PERP_LCP_PEER) return false;
  bool pivoting = d->caps & PERP_LCP_PIVOTING, nonsymmetric = d->caps & PERP_LCP_NONSYMMETRIC;
  bool semidefinite = d->caps & PERP_LCP_SEMIDEFINITE;
  switch (class) {
  case SPD:
  case SPD_DEGENERATE:
  case BOXED:
    return true;
  case PSD:
  case BOXED_PSD:
    return semidefinite && pivoting;
  case PD_NONSYMMETRIC:
  case P_MATRIX:
    return pivoting && nonsymmetric;
  case FRICTION:
    return false;
  default:
    return strcmp(d->name, "enumerate") == 0;
  }
}

/* A dense problem of the class; INDEFINITE and FRICTION are made here. */
static void make(enum class class, int n, uint64_t seed, double scale, perp_lcp_problem *p)
{
  static const char *const family[CLASSES] = { "spd",      "spd-degenerate", "boxed",
                                               "psd",      "boxed-psd",      "pd-nonsymmetric",
                                               "p-matrix", "copositive",     "spd",
                                               "spd",      "infeasible" };
  if (class == INFEASIBLE && n < 2) n = 2;
  if (class == FRICTION) n = n < 6 ? 3 : 6;
  perp_lcp_recipe r = { .family = family[class], .n = n, .seed = seed, .scale = scale };
  if (perp_lcp_generate(&ctx, &r, p) != PERP_OK) bail("%s", ctx.msg);
  if (class != FRICTION && class != INDEFINITE) return;
  perp_rng *rng = perp_rng_create(seed + 17);
  if (class == INDEFINITE) {
    perp_lcp_arrays x = perp_lcp_edit(p);
    for (int i = 0; i < n * n; i++) x.A[i] = scale * perp_rng_uniform(rng, -1, 1);
    for (int i = 0; i < n; i++) x.b[i] = scale * perp_rng_uniform(rng, -1, 1);
    p->solution = NULL;
  } else {
    perp_lcp_problem q;
    if (perp_lcp_problem_new(&ctx, n, PERP_PART_A | PERP_PART_FRICTION, &q) != PERP_OK)
      bail("%s", ctx.msg);
    perp_lcp_arrays x = perp_lcp_edit(p), y = perp_lcp_edit(&q);
    memcpy(y.A, x.A, (size_t)(n * n) * sizeof(double));
    for (int i = 0; i < n; i++) {
      y.b[i] = scale * perp_rng_uniform(rng, -1, i % 3 == 0 ? 0 : 1);
      if (i % 3 == 0) continue;
      y.fric_of[i] = i - i % 3;
      y.mu[i] = perp_rng_uniform(rng, 0.1, 0.8);
    }
    perp_lcp_problem_free(p);
    *p = q;
  }
  perp_rng_destroy(rng);
}

struct tally {
  const perp_desc *d;
  perp_lcp_solver *s;
  int asked[CLASSES], solved[CLASSES], solvable[CLASSES];
  int missed, lies, wrong, infeasible, diagnosed;
};

struct oracle {
  bool solvable, known;
  double x[8], w[8]; /* its solution */
};

static double differ(int n, const double *x, const double *y)
{
  double d = 0, size = 0;
  for (int i = 0; i < n; i++) {
    d = fmax(d, fabs(x[i] - y[i]));
    size = fmax(size, fmax(fabs(x[i]), fabs(y[i])));
  }
  return size > 0 ? d / size : 0;
}

static void ask(struct tally *t, enum class class, uint64_t seed, const perp_lcp_problem *p,
                const struct oracle *o)
{
  double x[8] = { 0 }, w[8];
  perp_stats stats;
  int n = p->p.n;
  if (perp_lcp_solve(&ctx, t->s, &p->p, tol, x, w, NULL, &stats) != PERP_OK)
    bail("%s: %s", t->d->name, ctx.msg);
  bool claims = stats.reason == PERP_CONVERGED;
  double own = independent_own(&p->p, p->p.A, x);
  if ((claims && !(own <= 1.0001 * tol)) || (claims && o->known && !o->solvable)) {
    printf("# %s claims %s seed %llu with residual %g\n", t->d->name, class_names[class],
           (unsigned long long)seed, own);
    t->lies++;
  }
  if (!claims && o->known && !o->solvable) {
    t->infeasible++;
    t->diagnosed += stats.reason == PERP_INFEASIBLE;
  }
  if (stats.reason == PERP_INFEASIBLE && o->solvable) {
    printf("# %s calls %s seed %llu infeasible\n", t->d->name, class_names[class],
           (unsigned long long)seed);
    t->lies++;
  }
  if (!o->solvable) return;
  t->solvable[class]++;
  t->solved[class] += claims;
  if (stats.reason == PERP_UNSUITED) return;
  bool must = expected(t->d, class) && !(perp_lcp_needs(&p->p) & ~t->d->caps);
  t->asked[class] += must;
  if (must && !claims && t->missed++ < 5)
    printf("# %s misses %s seed %llu, n = %d: %s, rel %g\n", t->d->name, class_names[class],
           (unsigned long long)seed, n, perp_reason_name(stats.reason), stats.residual);
  /* one solution only, or one w only: the same as the oracle's.  rel = 1e-8 with condition numbers
   * of a few hundred leaves 1e-5 */
  bool unique = class == SPD || class == SPD_DEGENERATE || class == BOXED || class == P_MATRIX ||
                class == PD_NONSYMMETRIC;
  if (claims && unique && differ(n, x, o->x) > 1e-5) {
    printf("# %s differs from enumeration by %g on %s seed %llu\n", t->d->name, differ(n, x, o->x),
           class_names[class], (unsigned long long)seed);
    t->wrong++;
  }
}

int main(int argc, char **argv)
{
  enum { MOST = 64 };
  static struct tally tally[MOST];
  int problems = argc > 1 ? atoi(argv[1]) : 3000, methods = 0;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL && methods < MOST; i++) {
    if (argc > 2 ? strcmp(argv[2], d->name) != 0 : (d->caps & PERP_LCP_PEER) != 0) continue;
    perp_spec spec;
    struct tally *t = &tally[methods++];
    t->d = d;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, 8, 0, &t->s) != PERP_OK)
      bail("%s", ctx.msg);
    perp_spec_free(&spec);
  }
  perp_spec spec;
  perp_lcp_solver *reference;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "enumerate", &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, 8, 0, &reference) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);

  /* powers of two: a contradiction, once rounded, is none but has solutions far away */
  static const double scales[] = { 1, 0x1p-27, 0x1p27, 0x1p-10, 0x1p17, 1, 1 };
  int solvable = 0, unsolvable = 0, unknown = 0, planted_lost = 0, contradictory = 0;
  for (int k = 0; k < problems; k++) {
    enum class class = (enum class)(k % CLASSES);
    uint64_t seed = (uint64_t)k;
    perp_lcp_problem p;
    make(class, 1 + k / CLASSES % 8, seed, scales[k / 3 % 7], &p);
    struct oracle o = { 0 };
    perp_stats stats;
    if (perp_lcp_solve(&ctx, reference, &p.p, tol, o.x, o.w, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    o.solvable = stats.reason == PERP_CONVERGED;
    o.known = o.solvable || stats.reason == PERP_INFEASIBLE;
    solvable += o.solvable;
    unsolvable += stats.reason == PERP_INFEASIBLE;
    unknown += !o.known;
    /* a planted solution, and the theory of the class, judge the oracle itself */
    bool certain = p.solution != NULL || class == P_MATRIX || class == COPOSITIVE ||
                   class == FRICTION;
    /* b of a singular problem agrees but for rounding: as it stands it may have no solution */
    const bool rounded = (class == PSD || class == BOXED_PSD) && stats.reason == PERP_UNDECIDED;
    contradictory += rounded;
    if ((certain && !o.solvable && !rounded) || (class == INFEASIBLE && o.solvable)) {
      printf("# enumeration fails on %s seed %d\n", class_names[class], k);
      planted_lost++;
    }
    for (int m = 0; m < methods; m++)
      if (k / CLASSES % 4 == 0 || tally[m].d->caps & PERP_LCP_PIVOTING)
        ask(&tally[m], class, seed, &p, &o);
    perp_lcp_problem_free(&p);
  }
  printf("# %d problems: %d solvable, %d without solution, %d undecided\n", problems, solvable,
         unsolvable, unknown);
  ok(planted_lost == 0, "enumeration finds every planted solution and none of the impossible ones");
  unknown -= contradictory;
  ok(contradictory <= problems / 100, "%d contradict themselves by rounding of b", contradictory);
  ok(unknown <= problems / 200, "enumeration decides all but a few borderline problems");
  for (int m = 0; m < methods; m++) {
    struct tally *t = &tally[m];
    printf("# %-16s", t->d->name);
    for (int c = 0; c < CLASSES; c++)
      if (t->solvable[c] > 0)
        printf(" %s %d/%d%s", class_names[c], t->solved[c], t->solvable[c], t->asked[c] ? "" : "-");
    printf(" infeasible %d/%d\n", t->diagnosed, t->infeasible);
    ok(t->lies == 0, "%s: claims only what is true", t->d->name);
    ok(t->wrong == 0, "%s: agrees with enumeration where the solution is unique", t->d->name);
    ok(t->missed == 0, "%s: solves every problem of its domain", t->d->name);
    perp_lcp_destroy(t->s);
  }
  perp_lcp_destroy(reference);
  return tap_done();
}
