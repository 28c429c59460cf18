/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The band of schur-band: groups numbered at random get the band that the best numbering has, in
 * the counted work and in the answer, which dense elimination of the whole matrix confirms. */
#include "solvers/kkt/kkt.h"
#include "solvers/solvers.h"
#include "tests/kkt_problems.h"
#include "tests/tap.h"

enum { N = 24, ROWS = 3, D = 6 };
enum shape { CHAIN, RING, STAR, TWO_CHAINS };

static perp_ctx ctx;

/* Group i of the shape at a random place of the numbering. */
static problem *shuffled(enum shape shape, uint64_t seed, int *groups)
{
  perp_rng *rng = perp_rng_create(seed);
  const int n = *groups = shape == RING ? N : N - 1 - (shape == TWO_CHAINS);
  problem *p = problem_open("shuffled", N, n);
  int at[N];
  for (int b = 0; b < N; b++) problem_body(p, rng, D, 1, false);
  for (int i = 0; i < n; i++) at[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int k = (int)perp_rng_uniform(rng, 0, i + 0.999), moved = at[i];
    at[i] = at[k];
    at[k] = moved;
  }
  for (int k = 0; k < n; k++) {
    const int i = at[k], first = shape == TWO_CHAINS && i >= N / 2 - 1 ? i + 1 : i;
    const int pair[2] = { shape == STAR ? 0 : first, shape == STAR ? i + 1 : (first + 1) % N };
    problem_joint(p, rng, ROWS, 2, pair);
  }
  perp_rng_destroy(rng);
  return problem_close(p);
}

static void look(const char *name, enum shape shape, int width)
{
  for (uint64_t seed = 1; seed <= 5; seed++) {
    int groups;
    problem *p = shuffled(shape, seed, &groups);
    const size_t nv = (size_t)p->B.nv, m = (size_t)p->B.m;
    double *a = problem_memory(nv, 8), *l = problem_memory(m, 8), *a0 = problem_memory(nv, 8),
           *l0 = problem_memory(m, 8);
    const int k = width > 0 ? width : p->B.m - 1;
    double columns = 0, factor = 0, dense = 0, solve;
    for (int j = 1; j <= p->B.m; j++) columns += pow(j < k + 1 ? j : k + 1, 2) / 2;
    problem_solve(p, a0, l0);
    static const char *const names[] = { "schur-dense", "schur-band" };
    for (int i = 0; i < 2; i++) {
      perp_spec spec;
      perp_stats stats = { 0 };
      void *ws;
      if (perp_spec_parse(&ctx, PERP_KIND_kkt, names[i], &spec) != PERP_OK) bail("%s", ctx.msg);
      const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)spec.d;
      if (kkt->create(&ctx, &p->B, spec.opts, &ws) != PERP_OK ||
          kkt->factor(&ctx, ws, &p->B, &stats) != PERP_OK ||
          kkt->solve(&ctx, ws, &p->B, p->f, p->c, a, l, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      kkt->cost(ws, i == 0 ? &dense : &factor, &solve);
      below(problem_difference(p->B.m, l, l0), 1e-9, "%s %d: %s: forces", name, (int)seed,
            names[i]);
      kkt->destroy(ws);
      perp_spec_free(&spec);
    }
    const double formed = dense - pow(p->B.m, 3) / 6;
    ok(fabs(factor - formed - columns) < 1e-9 * factor,
       "%s %d: columns of %d entries: counted %g, by hand %g", name, (int)seed, k + 1,
       factor - formed, columns);
    free(a), free(l), free(a0), free(l0);
    problem_free(p);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  look("chain", CHAIN, 2 * ROWS - 1);
  look("ring", RING, 3 * ROWS - 1);
  look("two chains", TWO_CHAINS, 2 * ROWS - 1);
  look("star, whose band is full", STAR, 0);
  return tap_done();
}
