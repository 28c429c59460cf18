/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every registered LCP solver owes its users: a new solver needs no new test code. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/contract/lcp_known.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"
#include "tests/lcp_own.h"
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
  watch_begin();
  perp_status status = perp_lcp_create(&ctx, &spec, n, nv, &s);
  watch_end();
  if (status != PERP_OK) bail("%s: %s", d->name, ctx.msg);
  perp_spec_free(&spec);
  return s;
}

static perp_status solve(struct run *r, const perp_lcp *p, double tol)
{
  watch_begin();
  perp_status status = perp_lcp_solve(&ctx, r->s, p, tol, r->x, r->w, &r->j, &r->stats);
  watch_end();
  return status;
}

static bool has_option(const perp_desc *d, const char *key)
{
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
    if (strcmp(o->key, key) == 0 && o->type == PERP_OPT_INT) return true;
  return false;
}

/* ---- one row ---- */

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

/* ---- known answers ---- */

/* Is the answer promised by what the method declares? */
static bool promised(const perp_desc *d, const known *k)
{
  return (k->asks & ~d->caps) == 0 && !(d->caps & (PERP_LCP_STRUCTURED | PERP_LCP_PEER)) &&
         (!k->pivots || d->caps & PERP_LCP_PIVOTING);
}

static double far(int n, const double *x, const double *y)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  return worst;
}

/* Rows at a bound are there exactly, and the others are solved as elimination solves them, however
 * little is asked: an iteration stops earlier. */
static bool exact_basis(const known *k, const struct run *r)
{
  for (int i = 0; i < k->n; i++)
    if (k->w[i] != 0 && k->fric_of[i] < 0 && r->x[i] != k->x[i]) return false;
  double size = 1;
  for (int i = 0; i < k->n; i++) size = fmax(size, fabs(k->x[i]));
  return far(k->n, r->w, k->w) <= 1e-12 * size * 16 &&
         (k->only_w || far(k->n, r->x, k->x) <= 1e-15 * k->pivoted * size);
}

static void check_known(const perp_desc *d)
{
  const perp_lcp_desc *l = (const perp_lcp_desc *)(const void *)d;
  static known list[KNOWN_MOST];
  const int count = known_all(list);
  int wrong = 0, loose = 0, slow = 0, lies = 0, made = 0, beyond = 0;
  for (int i = 0; i < count; i++) {
    const known *k = &list[i];
    perp_lcp p = known_problem(k);
    struct run r = { .s = open_solver(d, "", k->n, 0) };
    if (solve(&r, &p, 1e-10) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    bool right = r.stats.reason == PERP_CONVERGED && far(k->n, r.w, k->w) <= 1e-6 &&
                 (k->only_w || far(k->n, r.x, k->x) <= 1e-6);
    int cold = r.stats.iterations;
    made = cold > made ? cold : made;
    if (!promised(d, k)) {
      /* what is not promised may fail, but not be called solved when it is not */
      lies += r.stats.reason == PERP_CONVERGED && !right && !k->only_w;
      beyond += k->pivots && !right;
      perp_lcp_destroy(r.s);
      continue;
    }
    if (!right) {
      wrong++;
      printf("# %s: %s: %s, rel %g\n", d->name, k->what, perp_reason_name(r.stats.reason),
             r.stats.residual);
      for (int j = 0; j < k->n; j++)
        printf("#   lambda %.9g, known %g; w %.9g, known %g\n", r.x[j], k->x[j], r.w[j], k->w[j]);
    }
    if (d->caps & PERP_LCP_WARM && right) { /* from the answer there is nothing left to do */
      memcpy(r.x, k->x, sizeof k->x);
      solve(&r, &p, 1e-10);
      if (r.stats.iterations > cold ||
          (d->caps & PERP_LCP_ITERATIVE && cold > 3 && r.stats.iterations >= cold)) {
        slow++;
        printf("# %s: %s: %d iterations from zero, %d from the answer\n", d->name, k->what, cold,
               r.stats.iterations);
      }
    }
    if (d->caps & PERP_LCP_PIVOTING) {
      memset(r.x, 0, sizeof r.x);
      solve(&r, &p, 0.05);
      if (!(r.stats.reason == PERP_CONVERGED && exact_basis(k, &r))) {
        loose++;
        printf("# %s: %s: lambda off by %g, w by %g\n", d->name, k->what, far(k->n, r.x, k->x),
               far(k->n, r.w, k->w));
      }
    }
    perp_lcp_destroy(r.s);
  }
  if (!(d->caps & (PERP_LCP_STRUCTURED | PERP_LCP_PEER))) {
    ok(wrong == 0, "%s: %d problems of 2 to 12 rows have their known answers", d->name, count);
    ok(!(d->caps & PERP_LCP_ITERATIVE) || made > 0, "%s: counts its iterations", d->name);
  }
  ok(lies == 0, "%s: calls nothing else solved", d->name);
  /* "nonsymmetric" is no class of problems: who needs more than positive minors says so */
  if (d->caps & PERP_LCP_NONSYMMETRIC && !(d->caps & (PERP_LCP_STRUCTURED | PERP_LCP_PEER)))
    ok(beyond == 0 || strstr(d->summary, "dominant") != NULL ||
           (d->equation != NULL && strstr(d->equation, "dominant") != NULL) ||
           (l->serves != NULL && strstr(l->serves, "dominant") != NULL),
       "%s: solves nonsymmetric problems of all kinds, or says that it needs dominant rows",
       d->name);
  if (d->caps & PERP_LCP_EXHAUSTIVE) {
    known_start(&list[0], "none", 2, 0, known_table);
    list[0].A[1] = list[0].A[2] = -3;
    list[0].b[0] = list[0].b[1] = -1;
    perp_lcp p = known_problem(&list[0]);
    struct run r = { .s = open_solver(d, "", 2, 0) };
    ok(solve(&r, &p, 1e-10) == PERP_OK && r.stats.reason == PERP_INFEASIBLE,
       "%s: having tried everything it says that there is no solution", d->name);
    perp_lcp_destroy(r.s);
  }
  if (d->caps & PERP_LCP_WARM) ok(slow == 0, "%s: profits from a good guess", d->name);
  if (d->caps & PERP_LCP_PIVOTING)
    ok(loose == 0, "%s: ends with an exact basis, whatever the tolerance", d->name);
}

/* ---- the method alone: what it is given, what it fills ---- */

struct alone {
  const perp_lcp_desc *l;
  const void *opts;
  const perp_lcp *p;
  perp_status status;
};

static uint64_t hash_problem(const perp_lcp *p)
{
  size_t n = (size_t)p->n;
  uint64_t h = watch_hash(1, p, sizeof *p);
  if (p->A != NULL) h = watch_hash(h, p->A, (size_t)p->lda * n * sizeof *p->A);
  if (p->F != NULL) {
    const perp_blocks *F = p->F;
    h = watch_hash(h, F, sizeof *F);
    h = watch_hash(h, F->J, (size_t)F->joff[F->jptr[F->nc]] * sizeof *F->J);
    h = watch_hash(h, F->Minv, (size_t)F->mptr[F->nb] * sizeof *F->Minv);
    h = watch_hash(h, F->s, n * sizeof *F->s);
  }
  if (p->C != NULL) h = watch_hash(h, p->C->value, (size_t)p->C->start[n] * sizeof *p->C->value);
  h = watch_hash(h, p->b, n * sizeof *p->b);
  h = watch_hash(h, p->lo, n * sizeof *p->lo);
  h = watch_hash(h, p->hi, n * sizeof *p->hi);
  h = watch_hash(h, p->mu, n * sizeof *p->mu);
  h = watch_hash(h, p->fric_of, n * sizeof *p->fric_of);
  return watch_hash(h, p->cone, n);
}

static void life(void *user)
{
  struct alone *a = user;
  void *ws = NULL;
  static double x[64], certificate[64];
  perp_stats stats = { 0 };
  memset(x, 0, sizeof x);
  a->status = a->l->create(&ctx, a->p->n, a->opts, &ws);
  if (a->status == PERP_OK) a->status = a->l->solve(&ctx, ws, a->p, x, certificate, &stats);
  a->l->destroy(ws);
}

static void check_alone(const perp_desc *d)
{
  static known list[KNOWN_MOST + 5];
  static known_factors factors;
  static known_columns columns;
  static walled lambda, certificate;
  const perp_lcp_desc *l = (const perp_lcp_desc *)(const void *)d;
  int count = known_all(list), wall = 0, changed = 0, names = 0, counts = 0, unfilled = 0,
      judged = 0;
  int other = 0, scattered = 0, empty = 0;
  perp_spec spec, shortest = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (has_option(d, "max_iter")) {
    char text[PERP_TEXT_MAX];
    snprintf(text, sizeof text, "%s:max_iter=1", d->name);
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, text, &shortest) != PERP_OK) bail("%s", ctx.msg);
  }
  /* how it fails, too: no solution (Farkas), no solution (a ray), and the factored one */
  known_start(&list[count], "none", 2, 0, known_table);
  list[count].A[1] = list[count].A[2] = -3;
  list[count].b[0] = list[count].b[1] = -1;
  count++;
  known_start(&list[count], "none either", 3, PERP_LCP_NONSYMMETRIC, known_minors);
  for (int i = 0; i < 9; i++) list[count].A[i] *= -1;
  for (int i = 0; i < 3; i++) list[count].b[i] = -1;
  count++;
  /* a game, for what serves nothing else */
  known_start(&list[count], "a game", 2, PERP_LCP_NONSYMMETRIC, known_table);
  for (int i = 0; i < 4; i++) list[count].A[i] = i == 1 || i == 2;
  list[count].b[0] = list[count].b[1] = -1;
  count++;
  known_factored(&factors, &list[count++]);
  known_sparse(&columns, &list[count++]);
  struct alone a = { .l = l, .opts = spec.opts };
  perp_lcp shown = { 0 };
  const int limits = has_option(d, "max_iter") ? 2 : 1; /* the default, and one iteration */
  for (int i = 0; i < limits * count; i++) {
    known *k = &list[i / limits];
    perp_lcp p = known_problem(k);
    if (k->asks & ~d->caps) continue;
    if (k->asks & PERP_LCP_FACTORED) {
      p.A = NULL;
      p.F = &factors.F;
    }
    if (k->asks & PERP_LCP_SPARSE) {
      p.A = NULL;
      p.C = &columns.C;
    }
    void *ws = NULL;
    watch_begin();
    perp_status status = l->create(&ctx, k->n, i % limits == 0 ? spec.opts : shortest.opts, &ws);
    watch_end();
    if (status != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    for (int pass = 0; pass < 2;
         pass++) { /* with a certificate, which holds nothing yet, and without */
      double *x = wall_set(&lambda, k->n, 0), *z = wall_set(&certificate, k->n, (double)NAN);
      perp_stats stats = { 0 };
      uint64_t before = hash_problem(&p);
      watch_begin();
      status = l->solve(&ctx, ws, &p, x, pass == 0 ? z : NULL, &stats);
      watch_end();
      wall += !wall_stands(&lambda) || !wall_stands(&certificate);
      changed += hash_problem(&p) != before;
      names += !watch_status(status) || (status == PERP_OK && !watch_reason(stats.reason));
      counts += !watch_counts(&stats);
      unfilled += !watch_finite(k->n, x);
      if (pass == 0 && status == PERP_OK && !watch_finite(k->n, z)) {
        empty++;
        if (empty == 1)
          printf("# %s: %s: ends with %s and an empty certificate\n", d->name, k->what,
                 perp_reason_name(stats.reason));
      }
      judged += stats.residual != 0 || stats.data != 0;
      if (k->asks & (PERP_LCP_FACTORED | PERP_LCP_SPARSE) && i % limits == 0 && status == PERP_OK &&
          far(k->n, x, k->x) > 1e-6) {
        *(k->asks & PERP_LCP_SPARSE ? &scattered : &other) += 1;
        printf("# %s: %s: lambda off by %g\n", d->name, k->what, far(k->n, x, k->x));
      }
      if (names + counts + unfilled > 0 && shown.n == 0) {
        shown = p;
        printf("# %s: %s: status %d, reason %d, iterations %d, factorizations %d, products %lld, "
               "fallbacks %d\n",
               d->name, k->what, (int)status, (int)stats.reason, stats.iterations,
               stats.factorizations, (long long)stats.matvecs, stats.fallbacks);
      }
    }
    l->destroy(ws);
  }
  ok(wall == 0, "%s: writes nothing beside lambda and its certificate", d->name);
  ok(changed == 0, "%s: only reads its problem", d->name);
  ok(names == 0, "%s: ends with a status and a reason that perp knows", d->name);
  ok(counts == 0, "%s: its counts are counts", d->name);
  ok(unfilled == 0, "%s: lambda is finite", d->name);
  ok(empty == 0, "%s: leaves the certificate filled, however it ends", d->name);
  ok(judged == 0, "%s: leaves the residual to the judge", d->name);
  if (d->caps & PERP_LCP_FACTORED) ok(other == 0, "%s: factored rows, a known answer", d->name);
  if (d->caps & PERP_LCP_SPARSE) ok(scattered == 0, "%s: sparse rows, a known answer", d->name);

  if (!(d->caps & PERP_LCP_PEER)) {
    perp_lcp p = known_problem(&list[3]);
    a.p = &p;
    watch_begin();
    for (int k = 0; k < 2; k++) life(&a);
    watch_end();
    watch_memory(d->name, life, &a);
  }
  perp_spec_free(&shortest);
  perp_spec_free(&spec);
}

/* ---- guesses ---- */

/* Rows that repel each other, of which only row k carries: the solution as a guess is seen,
 * whichever row it is. */
static void check_guess(const perp_desc *d)
{
  enum { ROWS = 4 };
  double A[ROWS * ROWS], b[ROWS];
  int most = 0, unsolved = 0;
  struct run r = { .s = open_solver(d, "", ROWS, 0) };
  if (!(d->caps & PERP_LCP_WARM)) {
    perp_lcp_destroy(r.s);
    return;
  }
  for (int k = 0; k < ROWS; k++) {
    for (int i = 0; i < ROWS; i++) {
      for (int j = 0; j < ROWS; j++) A[i + j * ROWS] = i == j ? 2 : 0.25;
      b[i] = i == k ? -2 : 1;
      r.x[i] = i == k;
    }
    const perp_lcp p = { .n = ROWS, .A = A, .lda = ROWS, .b = b };
    unsolved += solve(&r, &p, 1e-8) != PERP_OK || r.stats.reason != PERP_CONVERGED;
    if (r.stats.iterations > most) most = r.stats.iterations;
  }
  ok(unsolved == 0 && most <= (d->caps & PERP_LCP_PIVOTING ? 0 : 1),
     "%s: the solution as a guess takes %d iterations", d->name, most);
  perp_lcp_destroy(r.s);
}

/* ---- bad input ---- */

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
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_lcp_create(&ctx, &spec, 0, 0, &r.s) == PERP_OK && solve(&r, &p, 1e-8) == PERP_OK &&
         r.stats.reason == PERP_CONVERGED,
     "%s: made for no rows, it solves none", d->name);
  perp_lcp_destroy(r.s);
  ok(perp_lcp_create(&ctx, &spec, -1, 0, &r.s) == PERP_ERR_DIM && r.s == NULL,
     "%s: less than no rows are refused", d->name);
  perp_spec_free(&spec);
  perp_lcp_destroy(NULL);
  const perp_lcp_desc *l = (const perp_lcp_desc *)(const void *)d;
  l->destroy(NULL); /* is allowed */
}

/* ---- generated problems ---- */

/* Has the solver an integer option of that name? */
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
    if (solve(&again, &q.p, 1e-8) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    /* as a time step asks: a small singular problem is proved in integers of any size otherwise */
    perp_lcp step = q.p;
    step.brief = true;
    struct run counted = r;
    memcpy(counted.x, guess[g], sizeof counted.x);
    long before = count_malloc;
    if (solve(&counted, &step, 1e-8) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    const long grown = count_malloc - before;
    /* a claim that there is no solution is weighed in integers of any size */
    bool weighed = again.stats.reason == PERP_INFEASIBLE || again.stats.reason == PERP_RAY ||
                   again.stats.reason == PERP_NONE_WITHIN ||
                   (again.stats.reason == PERP_INACCURATE && q.classes & PERP_CLASS_UNSOLVABLE) ||
                   d->caps & PERP_LCP_EXHAUSTIVE;
    if (grown != 0 && !weighed && !(d->caps & PERP_CAP_ALLOCATES)) {
      printf("# %s on %s: %ld allocations\n", d->name, recipe->family, grown);
      ++*allocations;
    }
    if (memcmp(again.x, r.x, (size_t)n * sizeof *r.x) != 0 ||
        again.stats.reason != r.stats.reason || again.stats.iterations != r.stats.iterations) {
      printf("# %s on %s: the second solve differs\n", d->name, recipe->family);
      ++*differ;
    }
    double own = independent_own(&dense.p, dense.p.A, r.x);
    if ((r.stats.reason == PERP_CONVERGED) != (r.stats.residual <= 1e-8) ||
        (r.stats.reason == PERP_CONVERGED && !(own <= 1.01e-8)) || r.stats.reason == PERP_RUNNING ||
        r.stats.reason == PERP_EXACT ||
        (q.classes & PERP_CLASS_UNSOLVABLE && r.stats.reason == PERP_CONVERGED)) {
      printf("# %s on %s: %s with residual %g, recomputed %g\n", d->name, recipe->family,
             perp_reason_name(r.stats.reason), r.stats.residual, own);
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
  const perp_lcp_desc *l = (const perp_lcp_desc *)(const void *)d;
  const struct {
    const char *what, *text;
  } said[] = { { "which problems it serves", l->serves },
               { "how it breaks ties", l->ties },
               { "what it costs", l->cost },
               { "what it counts", l->counts } };
  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    ok(said[i].text != NULL && strlen(said[i].text) >= 5, "%s: says %s", d->name, said[i].what);
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
    check_known(d);
    check_alone(d);
    check_refusals(d);
    check_guess(d);
    check_generated(d);
    if (!(d->caps & PERP_LCP_PEER)) watch_silent(d->name);
  }
  return tap_done();
}
