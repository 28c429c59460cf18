/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every KKT formulation on the constraints of every shipped scene, against Gaussian elimination
 * with complete pivoting in long double: the motion everywhere, the forces where the constraints
 * are independent.  And the one that a scene gets by default, whose counted work is near the least.
 */
#include "models/models.h"
#include "models/stepping/kkt_default.h"
#include "models/multibody/model_private.h"
#include "models/scenes/scene.h"
#include "tests/kkt_problems.h"
#include "tests/tap.h"

enum { ROWS_MOST = 420 };

static perp_ctx ctx;

/* the reason of the formulation; a [nv], lambda [m]; work: of a factorization and two solves */
static perp_reason run(const perp_desc *d, const problem *p, double *a, double *lambda,
                       double *work)
{
  perp_spec spec;
  perp_kkt_solver *s;
  perp_stats stats = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_kkt_create(&ctx, &spec, &p->B, &s) != PERP_OK) bail("%s", ctx.msg);
  memset(lambda, 0, (size_t)p->B.m * sizeof *lambda);
  if (perp_kkt_factor(&ctx, s, &p->B, &stats) != PERP_OK) bail("%s", ctx.msg);
  const double factor = stats.work;
  if (stats.reason >= 0 && perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, lambda, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  *work = factor + 2 * (stats.work - factor);
  perp_kkt_destroy(s);
  perp_spec_free(&spec);
  return stats.reason;
}

/* name: of the default */
static void compare(const char *scene, const char *name, const problem *p)
{
  const size_t nv = (size_t)p->B.nv, m = (size_t)p->B.m;
  double *a = problem_memory(nv, 8), *l = problem_memory(m, 8), *a0 = problem_memory(nv, 8),
         *l0 = problem_memory(m, 8);
  int rank;
  problem_solve_rank(p, a0, l0, &rank);
  const bool independent = rank == p->B.nv + p->B.m;
  if (!independent) { /* what dependent constraints can all meet, whatever the rounding of the state
                       */
    perp_rng *rng = perp_rng_create(5);
    for (size_t i = 0; i < nv; i++) a[i] = perp_rng_uniform(rng, -1, 1);
    perp_rng_destroy(rng);
    memset(p->c, 0, m * sizeof *p->c);
    perp_blocks_J(&p->B, 1, a, p->c);
    problem_solve_rank(p, a0, l0, &rank);
  }
  double size = 0; /* of the motion without constraints, too: at rest a is nothing but rounding */
  perp_blocks_Minv(&p->B, p->f, a);
  for (size_t i = 0; i < nv; i++) size = fmax(size, fmax(fabs(a[i]), fabs(a0[i])));
  const perp_desc *d;
  double least = HUGE_VAL, work, named = HUGE_VAL;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    const perp_reason reason = run(d, p, a, l, &work);
    if (reason > 0 && !(d->caps & PERP_KKT_ITERATIVE)) least = fmin(least, work);
    if (strcmp(d->name, name) == 0) named = work;
    ok(reason > 0, "%s: %s gives an answer (%s)", scene, d->name, perp_reason_name(reason));
    if (reason <= 0) continue;
    const double tol = strcmp(d->name, "schur-cg") == 0 ? 1e-6 : 1e-9;
    double apart = 0;
    for (size_t k = 0; k < nv; k++) apart = fmax(apart, fabs(a[k] - a0[k]));
    below(apart, tol * size, "%s: %s: motion", scene, d->name);
    if (independent)
      below(problem_difference(p->B.m, l, l0), tol, "%s: %s: forces", scene, d->name);
  }
  /* of one or two bodies dense orthogonal factors are cheap */
  below(named / least, nv <= 12 ? 2 : 1.5, "%s: %s counts little more than the best", scene, name);
  free(a), free(l), free(a0), free(l0);
}

/* cost() says what factor() and solve() count, where no rows are dependent. */
static void promised(const char *scene, const problem *p)
{
  const perp_desc *d;
  double *a = problem_memory((size_t)p->B.nv, 8), *l = problem_memory((size_t)p->B.m, 8);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)d;
    perp_spec spec;
    perp_stats stats = { 0 };
    void *ws;
    double factor, solve, made;
    if (kkt->cost == NULL) continue;
    if (perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec) != PERP_OK ||
        kkt->create(&ctx, &p->B, spec.opts, &ws) != PERP_OK ||
        kkt->factor(&ctx, ws, &p->B, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    kkt->cost(ws, &factor, &solve);
    made = stats.work;
    if (stats.reason == PERP_EXACT) {
      if (kkt->solve(&ctx, ws, &p->B, p->f, p->c, a, l, &stats) != PERP_OK) bail("%s", ctx.msg);
      ok(factor > 0 && factor == made, "%s: %s: a factorization costs %g", scene, d->name, factor);
      made = (stats.work - made) / solve;
      ok(stats.iterations > 0 ? made > 0.1 && made < 4 : fabs(made - 1) < 1e-12,
         "%s: %s: a solve costs %g of what was said", scene, d->name, made);
    }
    kkt->destroy(ws);
    perp_spec_free(&spec);
  }
  free(a), free(l);
}

/* A chain of n ball joints that hangs from the world: what a textbook counts. */
static void counted(void)
{
  enum { LINKS = 20 };
  char name[64];
  perp_spec spec;
  perp_scene scene;
  double factor, solve;
  void *ws;
  snprintf(name, sizeof name, "chain:links=%d,dim=3", LINKS);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_blocks B = perp_model_pattern(scene.model);
  const int m = B.m, n = B.m + B.nv, r = m / LINKS;
  perp_spec_free(&spec);
  /* J_g M_b^-1 for 2 LINKS - 1 pairs, the triangles of its products, LINKS - 1 couplings; an L D L'
   * of r x r blocks */
  const double schur = (2 * LINKS - 1) * (36.0 * r + 3.0 * r * r) + (LINKS - 1) * 6.0 * r * r;
  double columns = 0;
  for (int j = 1; j <= r; j++) columns += (LINKS - 1) * (j + r) * (j + r) / 2.0 + j * j / 2.0;
  const struct {
    const char *name;
    double factor;
  } known[] = { { "kkt-dense", n * (double)n * n / 6 },
                { "schur-dense", schur + m * (double)m * m / 6 },
                { "schur-sparse", schur + columns } };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (perp_spec_parse(&ctx, PERP_KIND_kkt, known[i].name, &spec) != PERP_OK) bail("%s", ctx.msg);
    const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)spec.d;
    if (kkt->create(&ctx, &B, spec.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
    kkt->cost(ws, &factor, &solve);
    ok(fabs(factor - known[i].factor) <= 1e-12 * factor, "%s of a chain: %g, by hand %g",
       known[i].name, factor, known[i].factor);
    kkt->destroy(ws);
    perp_spec_free(&spec);
  }
  perp_scene_destroy(&scene);
}

/* At the initial state: its forces, and J a = -Jdot v. */
static bool look(const char *name)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s: %s", name, ctx.msg);
  const perp_model *model = scene.model;
  const bool fits = model != NULL && model->m > 0 && model->nv + model->m <= ROWS_MOST;
  if (fits) {
    perp_eval e;
    perp_arena arena = { 0 };
    perp_eval_layout(&e, model, &arena);
    if (perp_arena_reserve(&ctx, &arena) != PERP_OK) bail("%s", ctx.msg);
    perp_eval_layout(&e, model, &arena);
    perp_eval_init(&e, model);
    perp_eval_at(&e, model, 0, model->q0);
    double *f = problem_memory((size_t)model->nv, 8), *c = problem_memory((size_t)model->m, 8);
    perp_eval_forces(&e, model, 0, model->v0, true, f);
    perp_joints_bias(model, &e, model->v0, c);
    for (int i = 0; i < model->m; i++) c[i] = -c[i];
    const problem p = { .name = name, .B = e.blocks, .f = f, .c = c };
    const char *chosen;
    if (perp_kkt_default(&ctx, model, &chosen) != PERP_OK) bail("%s", ctx.msg);
    compare(name, chosen, &p);
    promised(name, &p);
    free(f), free(c);
    perp_arena_free(&arena);
  }
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return fits;
}

int main(void)
{
  static const char *const more[] = { "tree:bodies=15", "four-bar:loops=10",
                                      "four-bar:loops=5,dim=3" };
  const perp_desc *d;
  int looked_at = 0;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++)
    looked_at += look(d->name);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) looked_at += look(more[i]);
  counted();
  ok(looked_at >= 20, "%d scenes with joints", looked_at);
  return tap_done();
}
