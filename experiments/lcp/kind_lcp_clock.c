/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cells of single problems and of sequences share: the clock, and solvers that come to be
 * timed. */
#include "experiments/lcp/kind_lcp_private.h"

#include <stdlib.h>
#include <string.h>

double perp_kind_lcp_timed(void (*call)(void *user), void *user, double least,
                           perp_clock_reference *pace)
{
  double start = perp_clock_thread() - pace->spent, spent;
  int n = 0;
  do {
    call(user);
    n++;
    double now = perp_clock_thread();
    spent = now - pace->spent - start;
    perp_clock_reference_tick(pace, now);
  } while (spent < least);
  return spent / n;
}

perp_status perp_kind_lcp_in_place(perp_ctx *ctx, const perp_spec *named, int n, int nv,
                                   perp_lcp_solver **replaced)
{
  const perp_desc *d = named->d;
  bool apart = false;
  for (const perp_opt *o = d->opts; o != NULL && o->key != NULL; o++)
    apart = apart || strcmp(o->key, "isolate") == 0;
  if (!(d->caps & PERP_LCP_PEER) || !apart) return PERP_OK;
  perp_lcp_solver *solver = NULL;
  perp_spec spec;
  char name[512];
  perp_spec_format(named, name, sizeof name);
  if (strstr(name, "isolate=") != NULL) return PERP_OK; /* as the study wants it */
  char *text = perp_xprintf("%s%cisolate=false", name, strcmp(name, d->name) == 0 ? ':' : ',');
  perp_status status = perp_spec_parse(ctx, PERP_KIND_lcp, text, &spec);
  free(text);
  PERP_TRY(status);
  status = perp_lcp_create(ctx, &spec, n, nv, &solver);
  perp_spec_free(&spec);
  PERP_TRY(status);
  perp_lcp_destroy(*replaced);
  *replaced = solver;
  return PERP_OK;
}

void perp_kind_lcp_failed(const perp_ctx *ctx, perp_status status, perp_outcome *out)
{
  out->status = status == PERP_ERR_NOMEM      ? PERP_CELL_OOM
                : status == PERP_ERR_EXTERNAL ? PERP_CELL_CRASH /* code beyond the border */
                                              : PERP_CELL_SETUP_FAILED;
  snprintf(out->cause, sizeof out->cause, "%s", ctx->msg);
}
