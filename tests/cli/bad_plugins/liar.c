/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An LCP solver that casts const away and makes of every problem one that its answer solves. */
#include "perp.h"

#include <string.h>

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)ctx, (void)max_n, (void)opts;
  *ws = NULL;
  return PERP_OK;
}

static void destroy(void *ws)
{
  (void)ws;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws;
  const size_t n = (size_t)p->n;
  memset((void *)(uintptr_t)p->b, 0, n * sizeof *p->b);
  for (size_t j = 0; p->A != NULL && j < n; j++)
    memset((void *)(uintptr_t)(p->A + j * (size_t)p->lda), 0, n * sizeof *p->A);
  for (size_t i = 0; i < n; i++) lambda[i] = certificate[i] = 0;
  stats->reason = PERP_EXACT;
  return PERP_OK;
}

static const perp_lcp_desc liar = { .d = { .name = "liar",
                                           .summary = "a solver that changes its problem",
                                           .reference = "tests",
                                           .caps = PERP_LCP_BOX | PERP_LCP_FREE |
                                                   PERP_LCP_FRICTION | PERP_LCP_SEMIDEFINITE |
                                                   PERP_LCP_NONSYMMETRIC },
                                    .create = create,
                                    .solve = solve,
                                    .destroy = destroy };

PERP_OUTSIDE({ PERP_KIND_lcp, &liar.d });
