/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A KKT formulation from outside that writes into all it may only read: one of perp's does its
 * work, on what it is given, before.  Nothing of the caller changes: not the system, not what is
 * made of it in a simulation. */
#include "tests/kkt_problems.h"
#include "tests/run_model.h"
#include "tests/tap.h"

#include "solvers/solvers.h"

static perp_ctx ctx;
static const perp_kkt_desc *honest;

static void zero(const void *data, size_t bytes)
{
  memset((void *)(uintptr_t)data, 0, bytes);
}
static void spoil(const perp_blocks *B)
{
  const int sub = B->jptr[B->nc];
  zero(B->M, (size_t)B->mptr[B->nb] * sizeof *B->M);
  zero(B->Minv, (size_t)B->mptr[B->nb] * sizeof *B->Minv);
  zero(B->J, (size_t)B->joff[sub] * sizeof *B->J);
  if (B->s != NULL) zero(B->s, (size_t)B->m * sizeof *B->s);
  if (B->diag != NULL) zero(B->diag, (size_t)B->nb);
  if (B->flat != NULL) zero(B->flat, (size_t)B->nv * sizeof *B->flat);
  zero(B->jblk, (size_t)sub * sizeof *B->jblk);
  zero(B->tsub, (size_t)sub * sizeof *B->tsub);
  zero(B->jptr, (size_t)(B->nc + 1) * sizeof *B->jptr);
}
static perp_status liar_create(perp_ctx *c, const perp_blocks *pattern, const void *opts, void **ws)
{
  (void)opts;
  perp_spec spec;
  PERP_TRY(perp_spec_parse(c, PERP_KIND_kkt, honest->d.name, &spec));
  perp_status status = honest->create(c, pattern, spec.opts, ws);
  perp_spec_free(&spec);
  return status;
}
static perp_status liar_factor(perp_ctx *c, void *ws, const perp_blocks *B, perp_stats *stats)
{
  perp_status status = honest->factor(c, ws, B, stats);
  spoil(B);
  return status;
}
static perp_status liar_solve(perp_ctx *c, void *ws, const perp_blocks *B, const double *f,
                              const double *r, double *a, double *lambda, perp_stats *stats)
{
  const int nv = B->nv, m = B->m;
  perp_status status = honest->solve(c, ws, B, f, r, a, lambda, stats);
  spoil(B);
  zero(f, (size_t)nv * sizeof *f);
  zero(r, (size_t)m * sizeof *r);
  return status;
}
static void liar_destroy(void *ws)
{
  honest->destroy(ws);
}
static const perp_kkt_desc liar = { .d = { .name = "liar",
                                           .summary = "writes into what it reads",
                                           .reference = "tests",
                                           .caps = PERP_KKT_LOOPS | PERP_KKT_REDUNDANT },
                                    .create = liar_create,
                                    .factor = liar_factor,
                                    .solve = liar_solve,
                                    .destroy = liar_destroy };
static const perp_plugin table[] = { { PERP_KIND_kkt, &liar.d }, { PERP_KIND_NONE, NULL } };

static uint64_t sum_of(const void *data, size_t bytes, uint64_t sum)
{
  const unsigned char *x = data;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ x[i]) * 0x100000001b3u;
  return sum;
}
static uint64_t print_of(const problem *p)
{
  const perp_blocks *B = &p->B;
  const size_t sub = (size_t)p->jptr[B->nc];
  uint64_t sum = sum_of(p->jptr, (size_t)(B->nc + 1) * sizeof(int), 1);
  sum = sum_of(p->jblk, sub * sizeof(int), sum);
  sum = sum_of(p->tsub, sub * sizeof(int), sum);
  sum = sum_of(p->M, (size_t)p->mptr[B->nb] * sizeof(double), sum);
  sum = sum_of(p->Minv, (size_t)p->mptr[B->nb] * sizeof(double), sum);
  sum = sum_of(p->J, (size_t)p->joff[sub] * sizeof(double), sum);
  sum = sum_of(p->f, (size_t)B->nv * sizeof(double), sum);
  return sum_of(p->c, (size_t)B->m * sizeof(double), sum);
}

/* Twice through factor and solve: the pattern, too, is whole again the second time. */
static void check_system(problem *p)
{
  const perp_spec spec = { &liar.d, NULL };
  const int nv = p->B.nv, m = p->B.m;
  double *a = problem_memory((size_t)nv, 8), *l = problem_memory((size_t)m, 8),
         *scratch = problem_memory(2 * (size_t)(nv + m), 8);
  const uint64_t before = print_of(p);
  perp_kkt_solver *s;
  if (perp_kkt_create(&ctx, &spec, &p->B, &s) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < 4; k++) {
    perp_stats stats = { 0 };
    if (k % 2 == 0 && perp_kkt_factor(&ctx, s, &p->B, &stats) != PERP_OK) bail("%s", ctx.msg);
    memset(l, 0, (size_t)m * sizeof *l);
    stats = (perp_stats){ 0 };
    if (perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, l, &stats) != PERP_OK) bail("%s", ctx.msg);
    ok(print_of(p) == before, "%s, %s: the system is what it was", honest->d.name, p->name);
    below(perp_kkt_residual(&p->B, p->f, p->c, a, l, scratch), 1e-9,
          "%s, %s: and the answer is one of it", honest->d.name, p->name);
  }
  problem *other = problem_chain("other", 2, 6, 3, true, true);
  perp_stats stats = { 0 };
  ok(perp_kkt_factor(&ctx, s, &other->B, &stats) == PERP_ERR_DIM,
     "%s: a system of another size is refused", honest->d.name);
  problem_free(other);
  perp_kkt_destroy(s);
  free(a), free(l), free(scratch);
}

/* |C|, |v| and where a model is after a while, with this kkt */
static void run(const char *kkt, double h, double *q_out, int *nq)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, "four-bar", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_sim *sim = run_start(&ctx, scene.model,
                            (run_parts){ "velocity", "symplectic-euler", kkt, "baumgarte" }, h);
  const double *q, *v;
  double t;
  run_to(&ctx, sim, 50 * h);
  perp_sim_state(sim, &t, &q, &v);
  *nq = perp_model_nq(scene.model);
  memcpy(q_out, q, (size_t)*nq * sizeof *q);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register(&ctx, table) != PERP_OK)
    bail("%s", ctx.msg);
  static const char *const names[] = { "schur-dense", "tree" };
  for (int k = 0; k < 2; k++) {
    honest = (const perp_kkt_desc *)(const void *)perp_find(&ctx, PERP_KIND_kkt, names[k]);
    problem *p = problem_chain("chain", 5, 6, 3, true, true);
    check_system(p);
    problem_free(p);
    double q[200], q_liar[200];
    int n, n_liar;
    run(names[k], 1e-3, q, &n);
    run("liar", 1e-3, q_liar, &n_liar);
    ok(n == n_liar && memcmp(q, q_liar, (size_t)n * sizeof *q) == 0,
       "%s: a simulation is the same bit by bit", names[k]);
  }
  return tap_done();
}
