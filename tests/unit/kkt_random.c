/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every KKT formulation on random blocks, groups of one to six rows on one to three blocks, trees
 * and loops, against dense elimination of the whole matrix; and the judge of their answers against
 * its definition. */
#include "solvers/kkt/kkt.h"
#include "tests/kkt_problems.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

enum { MOST = 140 };
static perp_ctx ctx;

/* H = [M -J'; J S], dense, and of the same entries |.| for the judge */
static void dense(const perp_blocks *F, double *H)
{
  const int n = F->nv, N = n + F->m;
  memset(H, 0, (size_t)(N * N) * sizeof *H);
  for (int b = 0; b < F->nb; b++)
    for (int i = 0, col = F->bptr[b], d = F->bptr[b + 1] - col; i < d; i++)
      for (int j = 0; j < d; j++) H[col + i + (col + j) * N] = F->M[F->mptr[b] + i + j * d];
  for (int c = 0; c < F->nc; c++)
    for (int k = F->jptr[c], r = F->cptr[c + 1] - F->cptr[c]; k < F->jptr[c + 1]; k++) {
      const int col = F->bptr[F->jblk[k]], d = F->bptr[F->jblk[k] + 1] - col;
      for (int i = 0; i < r; i++)
        for (int j = 0; j < d; j++) {
          const double x = F->J[F->joff[k] + i + j * r];
          H[n + F->cptr[c] + i + (col + j) * N] = x;
          H[col + j + (n + F->cptr[c] + i) * N] = -x;
        }
    }
  for (int i = 0; i < F->m; i++) H[(n + i) * (N + 1)] = F->s != NULL ? F->s[i] : 0;
}

/* x <- H^-1 x; the least pivot: what is left of it says how far to trust x */
static double eliminate(int N, double *H, double *x)
{
  double least = HUGE_VAL;
  for (int k = 0; k < N; k++) {
    int top = k;
    for (int i = k + 1; i < N; i++)
      if (fabs(H[i + k * N]) > fabs(H[top + k * N])) top = i;
    least = fmin(least, fabs(H[top + k * N]));
    if (!(least > 1e-12)) return 0;
    double t = x[k];
    x[k] = x[top], x[top] = t;
    for (int j = k; j < N; j++) {
      t = H[k + j * N];
      H[k + j * N] = H[top + j * N], H[top + j * N] = t;
    }
    for (int i = k + 1; i < N; i++) {
      const double f = H[i + k * N] / H[k + k * N];
      for (int j = k; f != 0 && j < N; j++) H[i + j * N] -= f * H[k + j * N];
      x[i] -= f * x[k];
    }
  }
  for (int k = N - 1; k >= 0; k--) {
    for (int j = k + 1; j < N; j++) x[k] -= H[k + j * N] * x[j];
    x[k] /= H[k + k * N];
  }
  return least;
}

static double judged(int N, const double *H, const double *rhs, const double *x)
{
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double sum = -rhs[i], size = fabs(rhs[i]);
    for (int j = 0; j < N; j++) {
      sum += H[i + j * N] * x[j];
      size += fabs(H[i + j * N] * x[j]);
    }
    worst = fmax(worst, size > 0 ? fabs(sum) / size : 0);
  }
  return worst;
}

static void check(const perp_desc *d)
{
  perp_rng *g = perp_rng_create(31);
  static double H[MOST * MOST], K[MOST * MOST];
  double worst = 0, judge = 0;
  int failed = 0, solved = 0, miscounted = 0;
  for (int trial = 0; trial < 60; trial++) {
    const bool stiff = trial % 3 == 0; /* no give: fewer rows than columns then */
    random_lcp q = random_factored(g, stiff ? 6 + trial % 5 : 1 + trial % 9,
                                   stiff ? 1 + trial % 6 : 1 + trial % 11,
                                   trial % 2 ? SHAPE_ANY : trial % 3, 0, stiff ? 0 : 0.5);
    perp_blocks *F = &q.F;
    const int n = F->nv, m = F->m, N = n + m;
    double f[MOST], c[MOST], x[MOST], rhs[MOST], a[MOST], lambda[MOST], both[MOST],
        scratch[2 * MOST];
    perp_spec spec;
    perp_kkt_solver *s;
    perp_stats stats = { 0 };
    if (N > MOST) {
      random_free(&q);
      continue;
    }
    for (int i = 0; !stiff && i < m; i++) ((double *)(uintptr_t)F->s)[i] += 0.05;
    if (perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    if (perp_kkt_create(&ctx, &spec, F, &s) != PERP_OK) {
      perp_spec_free(&spec); /* what it does not serve, such as loops, it says so */
      random_free(&q);
      continue;
    }
    for (int round = 0; round < 2; round++) { /* other numbers, same pattern */
      for (int k = 0; round > 0 && k < F->joff[F->jptr[F->nc]]; k++)
        ((double *)(uintptr_t)F->J)[k] *= perp_rng_uniform(g, 0.6, 1.4);
      for (int i = 0; i < n; i++) rhs[i] = f[i] = perp_rng_uniform(g, -1, 1);
      for (int i = 0; i < m; i++) rhs[n + i] = c[i] = perp_rng_uniform(g, -1, 1);
      dense(F, H);
      memcpy(K, H, sizeof K);
      memcpy(x, rhs, sizeof x);
      if (!(eliminate(N, K, x) > 0.02)) continue;
      memset(lambda, 0, sizeof lambda);
      const perp_stats before = stats; /* counts grow from call to call */
      if (perp_kkt_factor(&ctx, s, F, &stats) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
      if (stats.reason <= 0 || perp_kkt_solve(&ctx, s, F, f, c, a, lambda, &stats) != PERP_OK ||
          stats.reason <= 0) {
        failed++;
        continue;
      }
      solved++;
      const int steps = stats.iterations - before.iterations;
      const int64_t products = stats.matvecs - before.matvecs;
      miscounted += stats.factorizations <= before.factorizations || steps < 0 || products < 0 ||
                    stats.fallbacks < before.fallbacks;
      /* each step multiplies, and so does the test of the guess */
      if (d->caps & PERP_KKT_ITERATIVE) miscounted += steps == 0 || products <= steps;
      double size = 1, off = 0;
      memcpy(both, a, (size_t)n * sizeof *a);
      memcpy(both + n, lambda, (size_t)m * sizeof *a);
      for (int i = 0; i < N; i++)
        size = fmax(size, fabs(x[i])), off = fmax(off, fabs(both[i] - x[i]));
      if (!(off / size <= worst)) worst = off / size;
      /* the judge, of an answer that is wrong somewhere */
      const int where = perp_rng_int(g, N);
      both[where] += 0.1;
      const double *mine = both;
      const double got = perp_kkt_residual(F, f, c, mine, mine + n, scratch),
                   want = judged(N, H, rhs, both);
      if (!(fabs(got - want) / want <= judge)) judge = fabs(got - want) / want;
    }
    perp_kkt_destroy(s);
    perp_spec_free(&spec);
    random_free(&q);
  }
  ok(failed == 0 && solved > 30, "%s: %d of %d random systems", d->name, solved, solved + failed);
  below(worst, d->caps & PERP_KKT_ITERATIVE ? 1e-5 : 1e-7, "%s: as dense elimination", d->name);
  ok(miscounted == 0, "%s: counts grow by what was done (not: %d)", d->name, miscounted);
  below(judge, 1e-9, "%s: the judge by its definition", d->name);
  perp_rng_destroy(g);
}

/* ---- by hand ---- */

/* Factors and solves with lambda = 0 first; bails where that is refused. */
static perp_stats by_hand(const char *method, const problem *p, double *a, double *lambda)
{
  perp_spec spec;
  perp_kkt_solver *s;
  perp_stats stats = { 0 };
  for (int i = 0; i < p->B.m; i++) lambda[i] = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, method, &spec) != PERP_OK ||
      perp_kkt_create(&ctx, &spec, &p->B, &s) != PERP_OK ||
      perp_kkt_factor(&ctx, s, &p->B, &stats) != PERP_OK || stats.reason < 0 ||
      perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, lambda, &stats) != PERP_OK)
    bail("%s: %s", method, ctx.msg);
  perp_kkt_destroy(s);
  perp_spec_free(&spec);
  return stats;
}

/* Columns of one body: M [d d] and M^-1; rows of one column group each. */
static problem *small(int d, const double *M, const double *Minv, int rows, const double *J,
                      const double *c)
{
  perp_rng *g = perp_rng_create(1);
  problem *p = problem_open("by hand", 1, rows);
  problem_body(p, g, d, 1, false);
  for (int r = 0; r < rows; r++) problem_joint(p, g, 1, 1, (int[]){ 0 });
  perp_rng_destroy(g);
  memcpy(p->M, M, (size_t)(d * d) * sizeof *M);
  memcpy(p->Minv, Minv, (size_t)(d * d) * sizeof *M);
  memcpy(p->J, J, (size_t)(rows * d) * sizeof *J);
  memcpy(p->c, c, (size_t)rows * sizeof *c);
  memset(p->f, 0, (size_t)d * sizeof *p->f);
  return problem_close(p);
}

/* Conjugate gradients that can be followed on paper: how many steps and products they take. */
static void check_counts(void)
{
  const double one = 1, rows[2] = { 1, 1 }, torn[2] = { 3, 1 };
  double a[4], l[4];
  /* one row: a product for the guess, one for the step, one for what is left */
  problem *p = small(1, &one, &one, 1, rows, torn);
  perp_stats s = by_hand("schur-cg", p, a, l);
  ok(s.reason == PERP_CONVERGED && a[0] == 3 && l[0] == 3 && s.iterations == 1 && s.matvecs == 3 &&
         s.fallbacks == 0 && s.factorizations == 1,
     "schur-cg: one row: %d steps, %d products", s.iterations, (int)s.matvecs);
  problem_free(p);
  /* A = (1 1; 1 1), b = (3, 1): the guess, a step to r = (1/2, -3/2), and p = (5/4, -5/4) has A p =
   * 0.  Anew: the guess, A P b and A z, and one step to r = (1, -1), where A r = 0 */
  p = small(1, &one, &one, 2, rows, torn);
  s = by_hand("schur-cg", p, a, l);
  ok(s.reason == PERP_INFEASIBLE && a[0] == 2 && l[0] == 1.5 && l[1] == 0.5,
     "schur-cg: two rows that contradict each other: the mean");
  ok(s.iterations == 2 && s.matvecs == 7 && s.fallbacks == 1 && s.factorizations == 1,
     "schur-cg: 2 steps and 7 products: %d, %d", s.iterations, (int)s.matvecs);
  const double away[2] = { 1, -1 };
  memcpy(p->c, away, sizeof away);
  s = by_hand("schur-cg", p, a, l);
  ok(s.reason == PERP_INFEASIBLE && a[0] == 0 && s.iterations == 0 && s.matvecs == 5 &&
         s.fallbacks == 1,
     "schur-cg: b in the null space: no step and 5 products: %d, %d", s.iterations, (int)s.matvecs);
  problem_free(p);
  /* a limit on the steps: one product more than steps */
  p = problem_chain("chain", 8, 6, 3, true, true);
  double *x = problem_memory((size_t)p->B.nv, sizeof *x), *y = problem_memory((size_t)p->B.m, 8);
  for (int most = 1; most < 6; most++) {
    char method[40];
    snprintf(method, sizeof method, "schur-cg:max_iter=%d", most);
    s = by_hand(method, p, x, y);
    ok(s.reason == PERP_MAX_ITER && s.iterations == most && s.matvecs == most + 1,
       "%s: as many steps, and a product more", method);
  }
  free(x), free(y);
  problem_free(p);
}

/* M = (1 1-e; 1-e 1), J = (1 -1): A = 2 / e, and the scaled matrix has, after its first row, the
 * pivot
 *
 *      [p o; o q] = (2 - e) [e s; s 0] - [0 0; 0 e/2],   s = sqrt(e / 2) > p
 *
 *      |p q - o o| = e (2 - e)
 *
 * Its least eigenvalue decides whether the row counts as dependent. */
static void check_pivot(void)
{
  double a[2], l[1];
  for (int k = 0; k < 6; k++) {
    const double e = pow(10, -4.5 - 0.5 * k), s = sqrt(e / 2), J[2] = { 1, -1 }, c = 1;
    const double det = e * (2 - e), M[4] = { 1, 1 - e, 1 - e, 1 };
    const double Minv[4] = { 1 / det, (e - 1) / det, (e - 1) / det, 1 / det };
    const double p = det, q = -e / 2, o = s * (2 - e);
    const double least = fmin(fabs((p + q) / 2 + hypot((p - q) / 2, o)),
                              fabs((p + q) / 2 - hypot((p - q) / 2, o)));
    near(fabs(p * q - o * o), det, 0, 1e-14, "the determinant of a pivot, e = %.2g", e);
    problem *small_one = small(2, M, Minv, 1, J, &c);
    for (int above = 0; above < 2; above++) {
      char method[60];
      snprintf(method, sizeof method, "kkt-dense:rank_tol=%.17g",
               least * (above ? 1 + 1e-6 : 1 - 1e-6));
      const perp_stats got = by_hand(method, small_one, a, l);
      ok(got.factorizations == (above ? 2 : 1) &&
             got.reason == (above ? PERP_REGULARIZED : PERP_EXACT),
         "%s: %s", method, perp_reason_name(got.reason));
      below(fabs(a[0] - 0.5) + fabs(a[1] + 0.5) + fabs(l[0] * 2 / e - 1), 1e-6, "and the answer");
    }
    problem_free(small_one);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) check(d);
  check_counts();
  check_pivot();
  return tap_done();
}
