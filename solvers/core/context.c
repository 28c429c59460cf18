/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#include <stdarg.h>
#include <string.h>

void perp_ctx_init(perp_ctx *ctx)
{
  *ctx = (perp_ctx){ 0 };
}

perp_status perp_fail_at(perp_ctx *ctx, perp_status status, const char *file, int line,
                         const char *func, const char *fmt, ...)
{
  if (ctx == NULL) return status;
  ctx->status = status;
  ctx->file = file;
  ctx->line = line;
  ctx->func = func;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(ctx->msg, sizeof ctx->msg, fmt, ap);
  va_end(ap);
  return status;
}

const char *perp_status_name(perp_status status)
{
  switch (status) {
  case PERP_OK:
    return "ok";
  case PERP_ERR_ARG:
    return "argument";
  case PERP_ERR_DIM:
    return "dimension";
  case PERP_ERR_OPTION:
    return "option";
  case PERP_ERR_UNSUPPORTED:
    return "unsupported";
  case PERP_ERR_NOMEM:
    return "out of memory";
  case PERP_ERR_IO:
    return "input/output";
  case PERP_ERR_FORMAT:
    return "format";
  case PERP_ERR_EXTERNAL:
    return "external library";
  case PERP_ERR_INTERNAL:
    return "internal";
  }
  return "?";
}

const char *perp_reason_name(perp_reason reason)
{
  switch (reason) {
  case PERP_RUNNING:
    return "running";
  case PERP_CONVERGED:
    return "converged";
  case PERP_EXACT:
    return "exact";
  case PERP_REGULARIZED:
    return "regularized";
  case PERP_MAX_ITER:
    return "max-iter";
  case PERP_STALLED:
    return "stalled";
  case PERP_RAY:
    return "ray";
  case PERP_CYCLED:
    return "cycled";
  case PERP_SINGULAR:
    return "singular";
  case PERP_NOT_FINITE:
    return "not-finite";
  case PERP_STEP_TOO_SMALL:
    return "step-too-small";
  case PERP_INFEASIBLE:
    return "infeasible";
  case PERP_INACCURATE:
    return "inaccurate";
  case PERP_INVALID_STATE:
    return "invalid-state";
  case PERP_UNSUITED:
    return "unsuited";
  case PERP_DIVERGED:
    return "diverged";
  case PERP_SWEEPS_DONE:
    return "sweeps-done";
  case PERP_UNDECIDED:
    return "undecided";
  case PERP_NONE_WITHIN:
    return "none-within";
  }
  return "?";
}
