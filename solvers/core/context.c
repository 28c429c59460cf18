/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"
#include "solvers/core/shown.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void perp_ctx_init(perp_ctx *ctx)
{
  *ctx = (perp_ctx){ 0 };
}

perp_status perp_fail_at(perp_ctx *ctx, perp_status status, const char *file, int line,
                         const char *func, const char *fmt, ...)
{
  const bool no_memory = errno == ENOMEM && status == PERP_ERR_IO;
  if (ctx == NULL) return status;
  char before[sizeof ctx->msg] = "";
  if (ctx->status == PERP_ERR_NOMEM) memcpy(before, ctx->msg, sizeof before);
  ctx->file = file;
  ctx->line = line;
  ctx->func = func;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(ctx->msg, sizeof ctx->msg, fmt, ap);
  va_end(ap);
  perp_shown_clean(ctx->msg); /* names of others are in it */
  /* Whoever quotes the message of a want of memory passes it on, whatever it makes of it. */
  if (no_memory || (before[0] != '\0' && strstr(ctx->msg, before) != NULL)) status = PERP_ERR_NOMEM;
  ctx->status = status;
  return status;
}

static const char *const status_names[] = {
  [PERP_OK] = "ok",
  [PERP_ERR_ARG] = "argument",
  [PERP_ERR_DIM] = "dimension",
  [PERP_ERR_OPTION] = "option",
  [PERP_ERR_UNSUPPORTED] = "unsupported",
  [PERP_ERR_NOMEM] = "out of memory",
  [PERP_ERR_IO] = "input/output",
  [PERP_ERR_FORMAT] = "format",
  [PERP_ERR_EXTERNAL] = "external library",
  [PERP_ERR_INTERNAL] = "internal",
  [PERP_ERR_RAISED] = "exception",
};

enum { LEAST = PERP_NONE_WITHIN };
static const char *const reason_names[] = {
  [PERP_RUNNING - LEAST] = "running",
  [PERP_CONVERGED - LEAST] = "converged",
  [PERP_EXACT - LEAST] = "exact",
  [PERP_REGULARIZED - LEAST] = "regularized",
  [PERP_MAX_ITER - LEAST] = "max-iter",
  [PERP_STALLED - LEAST] = "stalled",
  [PERP_RAY - LEAST] = "ray",
  [PERP_CYCLED - LEAST] = "cycled",
  [PERP_SINGULAR - LEAST] = "singular",
  [PERP_NOT_FINITE - LEAST] = "not-finite",
  [PERP_STEP_TOO_SMALL - LEAST] = "step-too-small",
  [PERP_INFEASIBLE - LEAST] = "infeasible",
  [PERP_INACCURATE - LEAST] = "inaccurate",
  [PERP_INVALID_STATE - LEAST] = "invalid-state",
  [PERP_UNSUITED - LEAST] = "unsuited",
  [PERP_DIVERGED - LEAST] = "diverged",
  [PERP_SWEEPS_DONE - LEAST] = "sweeps-done",
  [PERP_UNDECIDED - LEAST] = "undecided",
  [PERP_NONE_WITHIN - LEAST] = "none-within",
};

int perp_abi(void)
{
  return PERP_ABI;
}

const char *perp_status_name(perp_status status)
{
  const int n = sizeof status_names / sizeof *status_names;
  return (int)status >= 0 && (int)status < n ? status_names[status] : "?";
}

const char *perp_reason_name(perp_reason reason)
{
  const int at = (int)reason - LEAST, n = sizeof reason_names / sizeof *reason_names;
  return at >= 0 && at < n ? reason_names[at] : "?";
}
