/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include "solvers/lcp/io/io.h"

#include <math.h>

int perp_lcp_refuse(perp_ctx *ctx, perp_status status)
{
  perp_print_error(ctx);
  switch (status) {
  case PERP_ERR_FORMAT:
  case PERP_ERR_IO:
  case PERP_ERR_ARG:
  case PERP_ERR_DIM:
    return PERP_EXIT_INPUT;
  case PERP_ERR_OPTION:
  case PERP_ERR_UNSUPPORTED:
    return PERP_EXIT_USAGE;
  default:
    return PERP_EXIT_INTERNAL;
  }
}

int perp_lcp_open(perp_ctx *ctx, const char *path, perp_lcp_problem *p)
{
  perp_status status = perp_lcp_read(ctx, path, p);
  return status == PERP_OK ? -1 : perp_lcp_refuse(ctx, status);
}

int perp_lcp_positive(perp_ctx *ctx, const perp_args *args, const char *name, double *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL) return -1;
  if (perp_parse_real(ctx, text, "", value) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", name, ctx->msg);
  if (!(*value > 0 && isfinite(*value)))
    return perp_usage_error(args, "--%s must be in (0, inf): got %s", name, text);
  return -1;
}

int perp_lcp_whole(perp_ctx *ctx, const perp_args *args, const char *name, int64_t lo, int64_t hi,
                   int64_t *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL) return -1;
  if (perp_parse_int(ctx, text, lo, hi, value) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", name, ctx->msg);
  return -1;
}

void perp_lcp_json_vector(perp_json *j, const char *key, const double *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(j, NULL, x[i]);
  perp_json_close(j, ']');
}
