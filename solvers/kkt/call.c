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

static double *kkt_copy_vector(perp_arena *a, int n, const double *from)
{
  double *to = PERP_CARVE(a, double, n);
  if (to != NULL && from != NULL && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  return to;
}

/* Room for all that a system of this pattern may have. */
static perp_status kkt_reserve(perp_ctx *ctx, perp_kkt_solver *s, const perp_blocks *pattern)
{
  static const double some;
  static const unsigned char flag;
  perp_blocks full = *pattern;
  full.s = full.flat = &some; /* counted, not read */
  full.diag = &flag;
  perp_blocks_copy(&full, &s->copies);
  kkt_copy_vector(&s->copies, pattern->nv, NULL);
  kkt_copy_vector(&s->copies, pattern->m, NULL);
  s->size = s->copies.used;
  s->nv = pattern->nv;
  s->m = pattern->m;
  s->nb = pattern->nb;
  s->nc = pattern->nc;
  return perp_arena_reserve(ctx, &s->copies);
}

perp_status perp_kkt_create(perp_ctx *ctx, const perp_spec *method, const perp_blocks *pattern,
                            perp_kkt_solver **out)
{
  *out = NULL;
  perp_kkt_solver *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "kkt: no memory for a solver");
  s->d = (const perp_kkt_desc *)(const void *)method->d;
  s->outside = !perp_is_own(ctx, method->d);
  perp_status status = PERP_OK;
  if (s->outside) status = perp_blocks_check(ctx, pattern);
  if (s->outside && status == PERP_OK) status = kkt_reserve(ctx, s, pattern);
  if (s->outside && status == PERP_OK) pattern = perp_blocks_copy(pattern, &s->copies);
  if (status == PERP_OK) status = s->d->create(ctx, pattern, method->opts, &s->ws);
  if (status == PERP_OK) {
    *out = s;
  } else {
    s->ws = NULL;
    perp_kkt_destroy(s);
  }
  return status;
}

void perp_kkt_destroy(perp_kkt_solver *s)
{
  if (s == NULL) return;
  if (s->ws != NULL) s->d->destroy(s->ws);
  perp_arena_free(&s->copies);
  free(s);
}

/* B where that of create was: formulations keep pointers to the pattern. */
static perp_status kkt_copy(perp_ctx *ctx, perp_kkt_solver *s, const perp_blocks *B,
                            const perp_blocks **own)
{
  perp_arena need = { 0 };
  bool same = B->nv == s->nv && B->m == s->m && B->nb == s->nb && B->nc == s->nc;
  if (same) perp_blocks_copy(B, &need);
  if (!same || need.used > s->size)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: J is %d x %d, but the solver was created for %d x %d",
                     s->d->d.name, B->m, B->nv, s->m, s->nv);
  s->copies.used = 0;
  *own = perp_blocks_copy(B, &s->copies);
  return PERP_OK;
}

perp_status perp_kkt_factor(perp_ctx *ctx, perp_kkt_solver *s, const perp_blocks *B,
                            perp_stats *stats)
{
  if (s->outside) PERP_TRY(kkt_copy(ctx, s, B, &B));
  return s->d->factor(ctx, s->ws, B, stats);
}

perp_status perp_kkt_solve(perp_ctx *ctx, perp_kkt_solver *s, const perp_blocks *B, const double *f,
                           const double *c, double *a, double *lambda, perp_stats *stats)
{
  if (s->outside) {
    PERP_TRY(kkt_copy(ctx, s, B, &B));
    f = kkt_copy_vector(&s->copies, B->nv, f);
    c = kkt_copy_vector(&s->copies, B->m, c);
  }
  return s->d->solve(ctx, s->ws, B, f, c, a, lambda, stats);
}
