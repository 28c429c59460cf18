/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No false success: every solver on every generated family, scaled by 1e-12 ... 1e12 and permuted.
 * A result called converged has rel at or below the tolerance in an independent computation;
 * unsolvable problems are never solved; everything is finite; limits are kept.
 *
 * Arguments: rows (default 12), instances of the random families (default 1), the only solver. With
 * the environment variable PERP_PROBLEMS set to a folder, all problem files under it are swept as
 * well. */
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"
#include "solvers/solvers.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

#include <ftw.h>
#include <string.h>

static perp_ctx ctx;
static const double tol = 1e-8;
static const char *only;

enum { MOST = 64 };
static struct tally {
  const perp_desc *d;
  perp_spec spec;
  int solved, cases, lies, broken, over;
  double slowest, seconds;
  char slowest_on[80];
} tally[MOST];
static int methods;

static void sweep_one(const char *name, const perp_lcp_problem *p)
{
  int n = p->p.n, limit = 0;
  double *x = calloc(2 * (size_t)n + 1, sizeof *x), *w = x + n;
  for (int m = 0; m < methods; m++) {
    struct tally *t = &tally[m];
    perp_lcp_solver *s;
    perp_stats stats;
    if (perp_lcp_needs(&p->p) & ~t->d->caps) continue;
    if (perp_lcp_create(&ctx, &t->spec, n, 0, &s) != PERP_OK) bail("%s", ctx.msg);
    memset(x, 0, 2 * (size_t)n * sizeof *x);
    double start = perp_clock_thread();
    if (perp_lcp_solve(&ctx, s, &p->p, tol, x, w, NULL, &stats) != PERP_OK)
      bail("%s on %s: %s", t->d->name, name, ctx.msg);
    double seconds = perp_clock_thread() - start;
    t->seconds += seconds;
    if (seconds > t->slowest) {
      t->slowest = seconds;
      snprintf(t->slowest_on, sizeof t->slowest_on, "%s", name);
    }
    bool claims = stats.reason == PERP_CONVERGED;
    double rel = independent_rel(&p->p, p->p.A, x);
    t->cases++;
    t->solved += claims;
    if (claims && (!(rel <= 1.0001 * tol) || (p->classes & PERP_CLASS_UNSOLVABLE))) {
      printf("# %s on %s: converged with rel %g\n", t->d->name, name, rel);
      t->lies++;
    }
    if (stats.reason == PERP_INFEASIBLE && p->classes & PERP_CLASS_SOLVABLE) {
      printf("# %s on %s: called infeasible\n", t->d->name, name);
      t->lies++;
    }
    for (int i = 0; i < n; i++)
      if (!isfinite(x[i])) {
        printf("# %s on %s: lambda[%d] = %g\n", t->d->name, name, i, x[i]);
        t->broken++;
        break;
      }
    for (const perp_opt *o = t->d->opts; o != NULL && o->type != PERP_OPT_END; o++)
      if (strcmp(o->key, "max_iter") == 0 && o->dflt > 0) {
        limit = (int)o->dflt;
        if (stats.iterations > limit) {
          printf("# %s on %s: %d iterations\n", t->d->name, name, stats.iterations);
          t->over++;
        }
      }
    perp_lcp_destroy(s);
  }
  free(x);
}

/* the problem itself, scaled both ways, and permuted */
static void sweep(const char *name, const perp_lcp_problem *p)
{
  static const double scales[] = { 1, 1e-12, 1e-5, 1e7, 1e12 };
  for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
    perp_lcp_problem q;
    char label[160];
    if (perp_lcp_problem_copy(&ctx, p, &q) != PERP_OK) bail("%s", ctx.msg);
    perp_lcp_problem_scale(&q, scales[k]);
    snprintf(label, sizeof label, "%s x %g", name, scales[k]);
    sweep_one(label, &q);
    perp_lcp_problem_free(&q);
  }
}

static void sweep_families(int rows, int instances)
{
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int seed = 1; seed <= (f->seeded ? instances : 1); seed++)
      for (int permute = 0; permute < 2; permute++) {
        perp_lcp_recipe r = { .family = f->name,
                              .n = perp_lcp_family_rows(f, rows),
                              .seed = (uint64_t)seed,
                              .permute = permute == 1 };
        perp_lcp_problem p;
        char label[100];
        if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
        snprintf(label, sizeof label, "%s n=%d seed=%d%s", f->name, r.n, seed,
                 permute ? " permuted" : "");
        sweep(label, &p);
        perp_lcp_problem_free(&p);
      }
}

static int files;

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st;
  perp_lcp_problem p, form;
  const char *suffix = strrchr(path, '.');
  if (type != FTW_F || suffix == NULL || strcmp(suffix, ".md") == 0) return 0;
  if (perp_lcp_read(&ctx, path, &p) != PERP_OK) {
    ok(strstr(ctx.msg, path + ftw->base) != NULL && strchr(ctx.msg, ':') != NULL,
       "%s is refused with its place: %s", path + ftw->base, ctx.msg);
    return 0;
  }
  files++;
  if (perp_lcp_problem_form(&ctx, &p, &form) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp_problem_free(&p);
  if (form.p.n <= 200) {
    sweep(path + ftw->base, &form);
    if (form.p.cone != NULL) {
      /* the same contacts as boxes and as a pyramid */
      if (perp_lcp_pyramid(&ctx, &form, 4, &p) != PERP_OK) bail("%s", ctx.msg);
      sweep_one(path + ftw->base, &p);
      perp_lcp_problem_free(&p);
      form.p.cone = NULL;
      sweep_one(path + ftw->base, &form);
    }
  } else
    sweep_one(path + ftw->base, &form);
  perp_lcp_problem_free(&form);
  return 0;
}

int main(int argc, char **argv)
{
  int rows = argc > 1 ? atoi(argv[1]) : 12, instances = argc > 2 ? atoi(argv[2]) : 1;
  only = argc > 3 ? argv[3] : NULL;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL && methods < MOST; i++) {
    if (only != NULL ? strcmp(only, d->name) != 0 : (d->caps & PERP_LCP_PEER) != 0) continue;
    tally[methods].d = d;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &tally[methods++].spec) != PERP_OK)
      bail("%s", ctx.msg);
  }
  sweep_families(rows, instances);
  const char *folder = getenv("PERP_PROBLEMS");
  if (folder == NULL)
    skip("PERP_PROBLEMS is not set", "problem files of other projects");
  else {
    nftw(folder, visit, 16, FTW_PHYS);
    ok(files > 0, "%d problem files under %s are read", files, folder);
  }
  for (int m = 0; m < methods; m++) {
    struct tally *t = &tally[m];
    printf("# %s: %d of %d solved in %.3g s; slowest %.3g s on %s\n", t->d->name, t->solved,
           t->cases, t->seconds, t->slowest, t->slowest_on);
    ok(t->lies == 0, "%s: no false success, no false proof", t->d->name);
    ok(t->broken == 0, "%s: finite answers", t->d->name);
    ok(t->over == 0, "%s: iteration limit kept", t->d->name);
    perp_spec_free(&t->spec);
  }
  return tap_done();
}
