/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every KKT formulation against Gaussian elimination with complete pivoting in long double. */
#include "solvers/solvers.h"
#include "tests/kkt_problems.h"
#include "tests/tap.h"

static perp_ctx ctx;

/* Run one formulation; true when it gave an answer. */
static bool run(const perp_desc *d, const problem *p, double *a, double *lambda, perp_stats *stats)
{
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)d;
  perp_spec spec;
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (kkt->create(&ctx, &p->B, spec.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  *stats = (perp_stats){ 0 };
  for (int i = 0; i < p->B.m; i++) lambda[i] = 0;
  perp_status status = kkt->factor(&ctx, ws, &p->B, stats);
  if (status == PERP_OK && stats->reason > 0)
    status = kkt->solve(&ctx, ws, &p->B, p->f, p->c, a, lambda, stats);
  kkt->destroy(ws);
  perp_spec_free(&spec);
  return status == PERP_OK && stats->reason > 0;
}

/* tol: the relative accuracy of lambda that the condition of the problem allows every formulation.
 */
static void agree(problem *p, double tol)
{
  size_t nv = (size_t)p->B.nv, m = (size_t)p->B.m;
  double *a = problem_memory(nv, 8), *l = problem_memory(m, 8), *a0 = problem_memory(nv, 8),
         *l0 = problem_memory(m, 8), *scratch = problem_memory(2 * (nv + m), 8);
  problem_solve(p, a0, l0);
  for (int i = 0;; i++) {
    const perp_desc *d = perp_plugin_at(&ctx, PERP_KIND_kkt, i);
    if (d == NULL) break;
    perp_stats stats;
    bool answered = run(d, p, a, l, &stats);
    ok(answered, "%s: %s gives an answer (%s)", p->name, d->name, perp_reason_name(stats.reason));
    below(problem_difference(p->B.m, l, l0), tol, "%s: %s lambda", p->name, d->name);
    below(problem_difference(p->B.nv, a, a0), tol, "%s: %s a", p->name, d->name);
  }
  free(a), free(l), free(a0), free(l0), free(scratch);
  problem_free(p);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("register");
  /* well conditioned: condition of A below 1e4, so 1e-9 is met with room for every order of
   * elimination */
  agree(problem_chain("chain 6", 6, 6, 3, true, true), 1e-9);
  agree(problem_chain("chain 6, full inertia", 6, 6, 3, true, false), 1e-9);
  agree(problem_chain("chain of hinges", 8, 6, 5, true, false), 1e-9);
  agree(problem_chain("chain of welds", 5, 6, 6, true, false), 1e-9);
  agree(problem_chain("chain of universals", 5, 6, 4, true, false), 1e-9);
  agree(problem_chain("chain of distances", 5, 6, 1, true, false), 1e-9);
  agree(problem_chain("floating chain", 6, 6, 3, false, false), 1e-9);
  agree(problem_chain("planar chain", 9, 3, 2, true, true), 1e-9);
  agree(problem_chain("planar welds", 4, 3, 3, true, false), 1e-9);
  agree(problem_chain("planar distances", 4, 3, 1, false, false), 1e-9);
  agree(problem_chain("points", 6, 2, 1, true, false), 1e-9);
  agree(problem_chain("one body", 1, 6, 3, true, false), 1e-9);
  agree(problem_chain("free body", 1, 6, 3, false, false), 1e-9);
  agree(problem_heap("heap 31", 31, 3), 1e-9);
  agree(problem_heap("heap 15 of hinges", 15, 5), 1e-9);
  agree(problem_carousel("carousel", 4, 5), 1e-9);
  agree(problem_carousel("star", 9, 1), 1e-9);
  agree(problem_drifting("drifting star", 6), 1e-9);
  agree(problem_ring("ring", 7), 1e-9);
  agree(problem_bridge("bridge", 6), 1e-9);
  for (uint64_t seed = 1; seed <= 12; seed++)
    agree(problem_random("random graph", seed, 9, 9), 1e-9);
  problem *soft = problem_ring("soft ring", 6);
  for (int i = 0; i < soft->B.m; i++) soft->s[i] = i % 3 == 0 ? 0 : 0.01 * i;
  soft->B.s = soft->s;
  agree(soft, 1e-9);
  return tap_done();
}
