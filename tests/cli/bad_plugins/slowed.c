/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An LCP solver that is really slower: dantzig, which after each solve burns the share SLOW of the
 * CPU time that the solve took.  Two builds with different SLOW are one solver before and after a
 * change. */
#include "perp.h"

#include <stdlib.h>

static perp_status find(perp_ctx *ctx, const perp_lcp_desc **real)
{
  const perp_desc *d = perp_find(ctx, PERP_KIND_lcp, "dantzig");
  *real = (const perp_lcp_desc *)(const void *)d;
  return d != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_INTERNAL, "slowed: there is no dantzig");
}

struct ws {
  const perp_lcp_desc *real;
  void *inner;
};

static void destroy(void *ws)
{
  struct ws *s = ws;
  if (s == NULL) return;
  s->real->destroy(s->inner);
  free(s);
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)opts;
  const perp_lcp_desc *real;
  perp_spec spec;
  *ws = NULL;
  PERP_TRY(find(ctx, &real));
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, "dantzig", &spec));
  struct ws *s = calloc(1, sizeof *s);
  perp_status status = s != NULL ? real->create(ctx, max_n, spec.opts, &s->inner)
                                 : PERP_FAIL(ctx, PERP_ERR_NOMEM, "slowed: no memory");
  perp_spec_free(&spec);
  if (status == PERP_OK) {
    s->real = real;
    *ws = s;
  } else
    free(s);
  return status;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  struct ws *s = ws;
  double begun = perp_clock_thread();
  perp_status status = s->real->solve(ctx, s->inner, p, lambda, certificate, stats);
  double solved = perp_clock_thread(), until = solved + SLOW * (solved - begun);
  while (perp_clock_thread() < until) {}
  return status;
}

static const perp_lcp_desc slowed = { .d = { .name = "slowed",
                                             .summary = "dantzig, and more time than it takes",
                                             .reference = "tests",
                                             .caps = PERP_LCP_BOX | PERP_LCP_FREE |
                                                     PERP_LCP_PIVOTING | PERP_LCP_SEMIDEFINITE },
                                      .create = create,
                                      .solve = solve,
                                      .destroy = destroy };

PERP_OUTSIDE({ PERP_KIND_lcp, &slowed.d });
