/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One solve by dantzig or bpp: memory, a kept factor, friction. */
#include "solvers/lcp/pivoting/clamped.h"

#include <string.h>

void perp_clamped_layout(void *ws, perp_arena *arena)
{
  perp_clamped *clamped = ws;
  const int n = clamped->P.max_n;
  perp_pivot_layout(&clamped->P, arena);
  clamped->K.cap = n;
  clamped->K.ld = perp_column_stride(n);
  PERP_DOUBLES(arena, clamped->K.ld * (size_t)n, &clamped->K.L);
  PERP_DOUBLES(arena, 2 * n, &clamped->K.x);
  PERP_DOUBLES(arena, n, &clamped->K.d, &clamped->ell, &clamped->dir, &clamped->res, &clamped->w,
               &clamped->dw, &clamped->lp, &clamped->wp, &clamped->center, &clamped->proof,
               &clamped->guess, &clamped->from, &clamped->before);
  PERP_DOUBLES(arena, n, &clamped->path.lambda, &clamped->path.rate, &clamped->path.w,
               &clamped->path.w_rate, &clamped->path.give, &clamped->path.push);
  PERP_INTS(arena, n, &clamped->K.order, &clamped->rows, &clamped->pos);
  PERP_INTS(arena, 2 * n, &clamped->list);
  clamped->set = PERP_CARVE(arena, signed char, n);
  clamped->saved = PERP_CARVE(arena, signed char, n);
  clamped->held = PERP_CARVE(arena, signed char, n);
  clamped->state = PERP_CARVE(arena, signed char, n);
  clamped->ignore = PERP_CARVE(arena, unsigned char, n);
  clamped->stop = PERP_CARVE(arena, perp_stop, n + 2);
}

perp_status perp_clamped_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                               double *certificate, perp_stats *stats)
{
  perp_clamped *clamped = ws;
  perp_reason reason = PERP_RUNNING;
  int n = lcp->n, warm = 0, friction = 0;
  perp_no_certificate(lcp, certificate);
  for (int i = 0; i < n; i++) {
    warm |= lambda[i] != 0;
    friction |= lcp->fric_of != NULL && lcp->fric_of[i] >= 0;
  }
  clamped->kept = clamped->kept && clamped->reuse && !friction && clamped->P.A == lcp->A &&
                  clamped->P.n == n && clamped->P.lda == (size_t)lcp->lda && !clamped->P.sparse;
  clamped->ctx = ctx;
  clamped->stats = stats;
  clamped->lambda = lambda;
  clamped->limit = clamped->max_iter > 0 ? clamped->max_iter : 50 * n + 1000;
  clamped->general = false;
  if (clamped->kept) {
    memcpy(clamped->guess, lambda, (size_t)n * sizeof *lambda);
    perp_pivot_retake(&clamped->P, lcp);
    reason = clamped->box(clamped, warm);
    /* the numbers of A have changed after all, or the updates wore out */
    if (reason != PERP_EXACT) {
      memcpy(lambda, clamped->guess, (size_t)n * sizeof *lambda);
      clamped->kept = false;
      clamped->general = false;
    }
  }
  if (!clamped->kept) {
    PERP_TRY(perp_pivot_take(ctx, &clamped->P, lcp));
    stats->work += clamped->P.product;
    reason = friction ? perp_clamped_friction(clamped, lcp, warm) : clamped->box(clamped, warm);
  }
  clamped->kept = clamped->reuse && reason == PERP_EXACT && !friction && !clamped->general &&
                  !clamped->shifted;
  if ((reason == PERP_RAY || reason == PERP_INFEASIBLE) && certificate != NULL)
    memcpy(certificate, clamped->proof, (size_t)n * sizeof *certificate);
  for (int i = 0; i < n; i++)
    if (!isfinite(lambda[i]))
      lambda[i] = perp_smaller(perp_larger(0, clamped->P.lo[i]), clamped->P.hi[i]);
  stats->reason = reason;
  return PERP_OK;
}
