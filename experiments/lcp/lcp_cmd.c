/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include "solvers/lcp/io/io.h"
#include "experiments/base/numbers.h"

int perp_lcp_refuse(perp_ctx *ctx, perp_status status)
{
  /* what the numbers of a file say is invalid, not how it was asked for */
  return perp_refuse(ctx, status == PERP_ERR_ARG || status == PERP_ERR_DIM ? PERP_EXIT_INPUT
                                                                           : perp_exit_of(status));
}

double *perp_lcp_room(perp_pool *pool, const perp_lcp *lcp)
{
  return perp_pool_alloc(pool, PERP_LCP_SCRATCH(lcp->n, lcp->F != NULL ? lcp->F->nv : 0) + 1,
                         sizeof(double));
}

void perp_lcp_json_judgement(perp_json *json, const char *key, const perp_lcp_judgement *judgement)
{
  perp_json_object(json, key,
                   "rel %g, data %g, own %g, own_data %g, abs %g, componentwise %g, siconos %g, "
                   "fclib %g, abh %g, coupling %g",
                   judgement->rel, judgement->data, judgement->own, judgement->own_data,
                   judgement->abs, judgement->componentwise, judgement->siconos, judgement->fclib,
                   judgement->abh, judgement->coupling);
}

int perp_lcp_memory(perp_ctx *ctx, const perp_args *args)
{
  return perp_option_parsed(ctx, args, "memory", perp_parse_size, &ctx->memory);
}

int perp_lcp_open(perp_ctx *ctx, const char *path, perp_lcp_problem *problem)
{
  perp_status status = perp_lcp_read(ctx, path, problem);
  return status == PERP_OK ? -1 : perp_lcp_refuse(ctx, status);
}
