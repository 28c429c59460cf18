/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One solve by dantzig or bpp: memory, a kept factor, friction. */
#include "solvers/lcp/pivoting/clamped.h"

#include <string.h>

void perp_clamped_layout(void *ws, perp_arena *a)
{
  perp_clamped *D = ws;
  const int n = D->P.max_n;
  perp_pivot_layout(&D->P, a);
  D->K.cap = n;
  D->K.ld = (size_t)n + (n % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  PERP_DOUBLES(a, D->K.ld * (size_t)n, &D->K.L);
  PERP_DOUBLES(a, 2 * n, &D->K.x);
  PERP_DOUBLES(a, n, &D->K.d, &D->ell, &D->dir, &D->res, &D->w, &D->dw, &D->lp, &D->wp, &D->center,
               &D->proof, &D->guess, &D->from, &D->before);
  PERP_DOUBLES(a, n, &D->path.lambda, &D->path.rate, &D->path.w, &D->path.w_rate, &D->path.give,
               &D->path.push);
  PERP_INTS(a, n, &D->K.order, &D->rows, &D->pos);
  PERP_INTS(a, 2 * n, &D->list);
  D->set = PERP_CARVE(a, signed char, n);
  D->saved = PERP_CARVE(a, signed char, n);
  D->held = PERP_CARVE(a, signed char, n);
  D->state = PERP_CARVE(a, signed char, n);
  D->ignore = PERP_CARVE(a, unsigned char, n);
  D->stop = PERP_CARVE(a, perp_stop, n + 2);
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
