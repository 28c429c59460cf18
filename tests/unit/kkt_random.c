/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every KKT formulation on random blocks, groups of one to six rows on one to three blocks, trees and loops, against dense
 * elimination of the whole matrix; and the judge of their answers against its definition. */
#include "solvers/kkt/kkt.h"
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
  int failed = 0, solved = 0;
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
      if (perp_kkt_factor(&ctx, s, F, &stats) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
      if (stats.reason <= 0 || perp_kkt_solve(&ctx, s, F, f, c, a, lambda, &stats) != PERP_OK ||
          stats.reason <= 0) {
        failed++;
        continue;
      }
      solved++;
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
  below(judge, 1e-9, "%s: the judge by its definition", d->name);
  perp_rng_destroy(g);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) check(d);
  return tap_done();
}
