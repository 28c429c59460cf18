/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One solve by dantzig or bpp: memory, a kept factor, friction. */
#include "solvers/lcp/pivoting/clamped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void clamped_layout(perp_clamped *D, int max_n)
{
  perp_arena *a = &D->arena;
  int n = max_n;
  perp_pivot_layout(&D->P, a, n);
  D->K.cap = n;
  D->K.ld = (size_t)n + (n % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  D->K.L = PERP_CARVE(a, double, D->K.ld *(size_t)n);
  D->K.d = PERP_CARVE(a, double, n);
  D->K.x = PERP_CARVE(a, double, 2 * n);
  D->K.order = PERP_CARVE(a, int, n);
  D->rows = PERP_CARVE(a, int, n);
  D->pos = PERP_CARVE(a, int, n);
  D->ell = PERP_CARVE(a, double, n);
  D->dir = PERP_CARVE(a, double, n);
  D->res = PERP_CARVE(a, double, n);
  D->w = PERP_CARVE(a, double, n);
  D->dw = PERP_CARVE(a, double, n);
  D->lp = PERP_CARVE(a, double, n);
  D->wp = PERP_CARVE(a, double, n);
  D->center = PERP_CARVE(a, double, n);
  D->proof = PERP_CARVE(a, double, n);
  D->guess = PERP_CARVE(a, double, n);
  D->set = PERP_CARVE(a, signed char, n);
  D->saved = PERP_CARVE(a, signed char, n);
  D->state = PERP_CARVE(a, signed char, n);
  D->ignore = PERP_CARVE(a, unsigned char, n);
}

perp_status perp_clamped_reserve(perp_ctx *ctx, perp_clamped *D, int max_n)
{
  if (max_n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: max_n = %d is negative", D->name, max_n);
  clamped_layout(D, max_n);
  PERP_TRY(perp_arena_reserve(ctx, &D->arena));
  clamped_layout(D, max_n);
  return PERP_OK;
}

void perp_clamped_destroy(void *ws)
{
  perp_clamped *D = ws;
  if (D == NULL) return;
  perp_arena_free(&D->arena);
  free(D);
}

perp_status perp_clamped_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  perp_clamped *D = ws;
  perp_reason reason = PERP_RUNNING;
  int n = p->n, warm = 0, friction = 0;
  perp_no_certificate(p, certificate);
  for (int i = 0; i < n; i++) {
    warm |= lambda[i] != 0;
    friction |= p->fric_of != NULL && p->fric_of[i] >= 0;
  }
  D->kept = D->kept && D->reuse && !friction && D->P.A == p->A && D->P.n == n &&
            D->P.lda == (size_t)p->lda && !D->P.sparse;
  D->ctx = ctx;
  D->stats = stats;
  D->lambda = lambda;
  D->limit = D->max_iter > 0 ? D->max_iter : 50 * n + 1000;
  D->general = false;
  if (D->kept) {
    memcpy(D->guess, lambda, (size_t)n * sizeof *lambda);
    perp_pivot_retake(&D->P, p);
    reason = D->box(D, warm);
    /* the numbers of A have changed after all, or the updates wore out */
    if (reason != PERP_EXACT) {
      memcpy(lambda, D->guess, (size_t)n * sizeof *lambda);
      D->kept = false;
      D->general = false;
    }
  }
  if (!D->kept) {
    PERP_TRY(perp_pivot_take(ctx, &D->P, p));
    stats->work += D->P.product;
    reason = friction ? perp_clamped_friction(D, p, warm) : D->box(D, warm);
  }
  D->kept = D->reuse && reason == PERP_EXACT && !friction && !D->general && !D->shifted;
  if ((reason == PERP_RAY || reason == PERP_INFEASIBLE) && certificate != NULL)
    memcpy(certificate, D->proof, (size_t)n * sizeof *certificate);
  for (int i = 0; i < n; i++)
    if (!isfinite(lambda[i])) lambda[i] = perp_smaller(perp_larger(0, D->P.lo[i]), D->P.hi[i]);
  stats->reason = reason;
  return PERP_OK;
}
