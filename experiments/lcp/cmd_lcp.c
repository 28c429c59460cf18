/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include <string.h>

static const perp_command commands[] = {
  { "solve", "solve a problem file and judge the answer", perp_cmd_lcp_solve },
  { "check", "judge multipliers, or verify a certificate", perp_cmd_lcp_check },
  { "generate", "make a problem of a family", perp_cmd_lcp_generate },
  { "convert", "another format or kind", perp_cmd_lcp_convert },
  { "harvest", "keep contact problems that occur in a scene", perp_cmd_lcp_harvest },
  { "info", "what is in a file", perp_cmd_lcp_info },
  { NULL, NULL, NULL },
};

static void cmd_lcp_print_help(FILE *f)
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
    cmd_lcp_print_help(stdout);
    return PERP_EXIT_OK;
  }
  if (argc < 2) {
    cmd_lcp_print_help(stderr);
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
