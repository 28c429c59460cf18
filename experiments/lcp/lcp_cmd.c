/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp: its commands, and what they share. */
#include "experiments/lcp/lcp_cmd.h"

#include "solvers/lcp/io/io.h"

#include <math.h>
#include <string.h>

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

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const perp_command commands[] = {
  { "solve", "solve a problem file and judge the answer", perp_cmd_lcp_solve },
  { "check", "judge multipliers, or verify a certificate", perp_cmd_lcp_check },
  { "generate", "make a problem of a family", perp_cmd_lcp_generate },
  { "convert", "another format or kind", perp_cmd_lcp_convert },
  { "harvest", "keep contact problems that occur in a scene", perp_cmd_lcp_harvest },
  { "info", "what is in a file", perp_cmd_lcp_info },
  { NULL, NULL, NULL },
};

static void print_help(FILE *f)
{
  fputs("perp lcp COMMAND [arguments]\n\nComplementarity problems: find lambda with "
        "w = A lambda + b,\nlo <= lambda <= hi and w complementary.\n\nCommands\n",
        f);
  for (const perp_command *c = commands; c->name != NULL; c++)
    fprintf(f, "  %-10s %s\n", c->name, c->summary);
  fputs("\nExample\n  perp lcp generate stack --n 64 | perp lcp solve - --lcp lemke\n", f);
}

int perp_cmd_lcp(perp_ctx *ctx, int argc, char **argv)
{
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    print_help(stdout);
    return PERP_EXIT_OK;
  }
  if (argc < 2) {
    print_help(stderr);
    return PERP_EXIT_USAGE;
  }
  const char *names[16];
  int n = 0;
  for (const perp_command *c = commands; c->name != NULL; c++) {
    if (strcmp(c->name, argv[1]) == 0) return c->run(ctx, argc - 1, argv + 1);
    names[n++] = c->name;
  }
  const char *close = perp_closest(argv[1], names, n);
  if (close != NULL)
    PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown command 'lcp %.60s'; did you mean '%s'?", argv[1],
              close);
  else
    PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown command 'lcp %.60s' (perp lcp --help)", argv[1]);
  perp_print_error(ctx);
  return PERP_EXIT_USAGE;
}
