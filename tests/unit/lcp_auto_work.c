/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of auto against that of the best of its members, in multiplications with additions
 * (lcp.h), on the shown set: at most 2 times in the geometric mean and 5 times anywhere, and it
 * solves what any member solves.  Then on small problems with friction cones, as the first of a
 * time step without a guess: at most a fifth more than the best in the mean, 2.5 times anywhere.
 *
 *      test_lcp_auto_work FILE ...      the same figures of these problems, and those of all
 * members */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <dirent.h>
#include <string.h>

enum { MEMBERS = 40 };
static const double TOL = 1e-8;

static perp_ctx ctx;
static perp_spec member[MEMBERS];
static int members;

/* What counts as a try of a member where none has solved the problem yet. */
static double enough(const perp_lcp *p)
{
  return fmin(2e9, 5e4 * p->n * p->n);
}

static perp_stats run(const perp_spec *spec, const perp_lcp *p, double work)
{
  perp_lcp_solver *s;
  perp_stats stats;
  perp_lcp q = *p;
  q.work = work;
  q.brief = true;
  if (perp_lcp_create(&ctx, spec, p->n, p->F != NULL ? p->F->nv : 0, &s) != PERP_OK)
    bail("%s", ctx.msg);
  double *x = calloc((size_t)p->n + 1, sizeof *x);
  if (perp_lcp_solve(&ctx, s, &q, TOL, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  if (stats.by != NULL) /* of the workspace */
    for (int i = 0; i < members; i++)
      if (strcmp(member[i].d->name, stats.by) == 0) stats.by = member[i].d->name;
  free(x);
  perp_lcp_destroy(s);
  return stats;
}

static struct {
  int problems, solved, unsolved;
  double log_ratio, worst, seconds;
  char where[80];
} all;

/* auto first; then members, each with no more work than the best one so far, and at first no more
 * than twice that of auto: the best one rarely needs more. */
static void compare(const char *name, const perp_lcp *p, const perp_spec *automatic, bool table)
{
  double best = HUGE_VAL;
  const char *by = "none";
  if (table) printf("%-28s n %4d:", name, p->n);
  double begun = perp_clock_thread();
  perp_stats stats = run(automatic, p, 0);
  double seconds = perp_clock_thread() - begun;
  const bool done = stats.reason == PERP_CONVERGED;
  /* lambda = 0 may be the answer of a method that refused the structure of A, at which it has
   * looked */
  const double least = (double)p->n * p->n;
  const double most = done && !table ? fmin(enough(p), 2 * fmax(stats.work, least)) : enough(p);
  for (int pass = 0; pass < 2 && best == HUGE_VAL; pass++)
    for (int i = 0; i < members; i++) {
      if (perp_lcp_unsuited(member[i].d, p) != NULL || (pass == 1 && most == enough(p))) continue;
      const double cap = fmin(pass == 0 ? most : enough(p), (table ? 20 : 1) * best);
      const perp_stats of = run(&member[i], p, cap);
      if (of.reason != PERP_CONVERGED) continue;
      const double work = fmax(of.work, least);
      if (table) printf(" %s %.3g", member[i].d->name, work);
      if (work < best) {
        best = work;
        by = member[i].d->name;
      }
    }
  double ratio = best < HUGE_VAL && done ? stats.work / best : 0;
  if (table)
    printf(" | best %s %.3g | auto %s by %s %.3g, data %.1e, %.3f s | ratio %.2f%s\n", by, best,
           perp_reason_name(stats.reason), stats.by != NULL ? stats.by : "-", stats.work,
           stats.data, seconds, ratio,
           ratio > 5                  ? " >>>"
           : best < HUGE_VAL && !done ? " LOST"
                                      : "");
  all.problems++;
  if (best == HUGE_VAL) return;
  if (!done) {
    all.unsolved++;
    printf("# %s: solved by %s, not by auto\n", name, by);
    return;
  }
  all.solved++;
  all.log_ratio += log(ratio);
  if (ratio > all.worst) {
    all.worst = ratio;
    snprintf(all.where, sizeof all.where, "%s, by %s against %s", name, stats.by, by);
  }
}

static void generated(const char *family, int n, uint64_t seed, bool factored,
                      const perp_spec *automatic, bool table)
{
  char name[80];
  perp_lcp_problem q;
  const perp_lcp_family *f = perp_lcp_family_find(family);
  perp_lcp_recipe recipe = {
    .family = family, .n = perp_lcp_family_rows(f, n), .seed = seed, .factored = factored
  };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  snprintf(name, sizeof name, "%s%s:n=%d,seed=%d", family, factored ? "(J)" : "", q.p.n, (int)seed);
  compare(name, &q.p, automatic, table);
  perp_lcp_problem_free(&q);
}

static void file(const char *path, const perp_spec *automatic, bool table)
{
  perp_lcp_problem q;
  if (perp_lcp_read(&ctx, path, &q) != PERP_OK) bail("%s: %s", path, ctx.msg);
  const char *slash = strrchr(path, '/');
  compare(slash != NULL ? slash + 1 : path, &q.p, automatic, table);
  perp_lcp_problem_free(&q);
}

static void shown_set(const perp_spec *automatic, bool table)
{
  char path[4096];
  const perp_lcp_family *f;
  const char *source = getenv("PERP_SOURCE");
  if (source == NULL) source = ".";
  snprintf(path, sizeof path, "%s/experiments/studies/problems", source);
  DIR *dir = opendir(path);
  if (dir == NULL) bail("%s is not there", path);
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (strstr(e->d_name, ".lcp") != NULL) {
      snprintf(path, sizeof path, "%s/experiments/studies/problems/%s", source, e->d_name);
      file(path, automatic, table);
    }
  closedir(dir);
  /* the soft projection of the overlaps of 250 bodies, many contacts beyond need */
  snprintf(path, sizeof path, "%s/tests/data/lcp/positions-142.lcp", source);
  file(path, automatic, table);
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    static const int rows[] = { 16, 64, 192 };
    int before = 0;
    for (int k = 0; k < 3; k++) {
      int n = perp_lcp_family_rows(f, rows[k]);
      if (n == before || f->classes & PERP_CLASS_UNSOLVABLE) continue;
      if (strcmp(f->name, "heavy-cone") == 0 && n > 24) continue; /* below: nobody solves it */
      before = n;
      generated(f->name, n, 1, false, automatic, table);
      if (f->factored) generated(f->name, n, 1, true, automatic, table);
    }
  }
  for (uint64_t seed = 2; seed < 4; seed++) {
    generated("pushed-cone", 192, seed, false, automatic, table);
    generated("wall-rough-cone", 300, seed, false, automatic, table);
  }
}

/* Of 4 to 32 contacts, about which one finds out little before one solves them. */
static void small_cones(const perp_spec *automatic, bool table)
{
  static const char *const families[] = { "stack-cone", "wall-cone", "incline-cone", "pushed-cone",
                                          "wall-rough-cone" };
  for (int n = 12; n <= 96; n *= 2)
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
      for (uint64_t seed = 1; seed <= (f < 3 ? 1 : 3); seed++)
        generated(families[f], n, seed, false, automatic, table);
}

int main(int argc, char **argv)
{
  perp_spec automatic;
  const perp_desc *d;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "auto", &automatic) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL && members < MEMBERS; i++)
    if (strcmp(d->name, "auto") != 0 && !(d->caps & (PERP_LCP_PEER | PERP_LCP_CHOOSES)) &&
        perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &member[members++]) != PERP_OK)
      bail("%s", ctx.msg);
  bool table = argc > 1;
  if (argc > 1 && strcmp(argv[1], "shown") != 0)
    for (int i = 1; i < argc; i++) file(argv[i], &automatic, true);
  else
    shown_set(&automatic, table);
  const double mean = exp(all.log_ratio / (all.solved > 0 ? all.solved : 1));
  ok(all.unsolved == 0, "auto solves what any member solves: %d of %d, %d others solved by none",
     all.solved, all.solved + all.unsolved, all.problems - all.solved - all.unsolved);
  below(mean, 2, "its work over that of the best: %.2f in the geometric mean", mean);
  below(all.worst, 5, "... and %.2f at most, on %s", all.worst, all.where);
  memset(&all, 0, sizeof all);
  if (argc == 1 || strcmp(argv[1], "shown") == 0) {
    small_cones(&automatic, table);
    ok(all.unsolved == 0, "auto solves the small problems with cones: %d", all.solved);
    below(exp(all.log_ratio / all.solved), 1.2, "its work there: %.2f in the geometric mean",
          exp(all.log_ratio / all.solved));
    below(all.worst, 2.5, "... and %.2f at most, on %s", all.worst, all.where);
  }
  for (int i = 0; i < members; i++) perp_spec_free(&member[i]);
  perp_spec_free(&automatic);
  return tap_done();
}
