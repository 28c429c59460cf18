/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include <string.h>

static const perp_verb *const verbs[] = { &perp_verb_lcp_solve,
                                          &perp_verb_lcp_check,
                                          &perp_verb_lcp_generate,
                                          &perp_verb_lcp_convert,
                                          &perp_verb_lcp_harvest,
                                          &perp_verb_lcp_info,
                                          NULL };

static void cmd_lcp_print_help(FILE *f)
{
  fputs("perp lcp COMMAND [arguments]\n\nComplementarity problems: find lambda with "
        "w = A lambda + b,\nlo <= lambda <= hi and w complementary.\n\nCommands\n",
        f);
  perp_verbs_print(verbs, 10, f);
  fputs("\nExample\n  perp lcp generate stack --n 64 | perp lcp solve - --lcp lemke\n", f);
}

static int cmd_lcp(perp_ctx *ctx, int argc, char **argv)
{
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    cmd_lcp_print_help(stdout);
    return PERP_EXIT_OK;
  }
  if (argc < 2) {
    cmd_lcp_print_help(stderr);
    return PERP_EXIT_USAGE;
  }
  return perp_verbs_run(ctx, verbs, argc - 1, argv + 1, "lcp ", "perp lcp --help");
}

const perp_verb perp_verb_lcp = {
  .cli.name = "lcp",
  .summary = "solve, check, generate and convert complementarity problems",
  .run_words = cmd_lcp
};
