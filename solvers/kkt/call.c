/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of a KKT formulation; one from outside is given copies of everything it may only read. */
#include "solvers/kkt/kkt.h"

#include <stdlib.h>
#include <string.h>

struct perp_kkt_solver {
  const perp_kkt_desc *d;
  void *ws;
  bool outside;
  perp_arena copies; /* pattern, values, f and c */
  size_t size;       /* of them */
  int nv, m, nb, nc;
};

static double *kkt_copy_vector(perp_arena *arena, int n, const double *from)
{
  double *to = PERP_CARVE(arena, double, n);
  if (to != NULL && from != NULL && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  return to;
}

/* Room for all that a system of this pattern may have. */
static perp_status kkt_reserve(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *pattern)
{
  static const double some;
  static const unsigned char flag;
  perp_blocks full = *pattern;
  full.s = full.flat = &some; /* counted, not read */
  full.diag = &flag;
  perp_blocks_copy(&full, &solver->copies);
  kkt_copy_vector(&solver->copies, pattern->nv, NULL);
  kkt_copy_vector(&solver->copies, pattern->m, NULL);
  solver->size = solver->copies.used;
  solver->nv = pattern->nv;
  solver->m = pattern->m;
  solver->nb = pattern->nb;
  solver->nc = pattern->nc;
  return perp_arena_reserve(ctx, &solver->copies);
}

perp_status perp_kkt_create(perp_ctx *ctx, const perp_spec *method, const perp_blocks *pattern,
                            perp_kkt_solver **out)
{
  *out = NULL;
  perp_kkt_solver *solver = calloc(1, sizeof *solver);
  if (solver == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "kkt: no memory for a solver");
  solver->d = (const perp_kkt_desc *)(const void *)method->d;
  solver->outside = !perp_is_own(ctx, method->d);
  perp_status status = PERP_OK;
  if (solver->outside) status = perp_blocks_check(ctx, pattern);
  if (solver->outside && status == PERP_OK) status = kkt_reserve(ctx, solver, pattern);
  if (solver->outside && status == PERP_OK) pattern = perp_blocks_copy(pattern, &solver->copies);
  if (status == PERP_OK) status = solver->d->create(ctx, pattern, method->opts, &solver->ws);
  if (status == PERP_OK) {
    *out = solver;
  } else {
    solver->ws = NULL;
    perp_kkt_destroy(solver);
  }
  return status;
}

void perp_kkt_destroy(perp_kkt_solver *solver)
{
  if (solver == NULL) return;
  if (solver->ws != NULL) solver->d->destroy(solver->ws);
  perp_arena_free(&solver->copies);
  free(solver);
}

/* B where that of create was: formulations keep pointers to the pattern. */
static perp_status kkt_copy(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *blocks,
                            const perp_blocks **own)
{
  perp_arena need = { 0 };
  bool same = blocks->nv == solver->nv && blocks->m == solver->m && blocks->nb == solver->nb &&
              blocks->nc == solver->nc;
  if (same) perp_blocks_copy(blocks, &need);
  if (!same || need.used > solver->size)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: J is %d x %d, but the solver was created for %d x %d",
                     solver->d->d.name, blocks->m, blocks->nv, solver->m, solver->nv);
  solver->copies.used = 0;
  *own = perp_blocks_copy(blocks, &solver->copies);
  return PERP_OK;
}

perp_status perp_kkt_factor(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *blocks,
                            perp_stats *stats)
{
  if (solver->outside) PERP_TRY(kkt_copy(ctx, solver, blocks, &blocks));
  return solver->d->factor(ctx, solver->ws, blocks, stats);
}

perp_status perp_kkt_solve(perp_ctx *ctx, perp_kkt_solver *solver, const perp_blocks *blocks,
                           const double *f, const double *c, double *a, double *lambda,
                           perp_stats *stats)
{
  if (solver->outside) {
    PERP_TRY(kkt_copy(ctx, solver, blocks, &blocks));
    f = kkt_copy_vector(&solver->copies, blocks->nv, f);
    c = kkt_copy_vector(&solver->copies, blocks->m, c);
  }
  return solver->d->solve(ctx, solver->ws, blocks, f, c, a, lambda, stats);
}
