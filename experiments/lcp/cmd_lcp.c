/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include <string.h>

static const perp_command *const commands[] = { &perp_lcp_solve_command,
                                                &perp_lcp_check_command,
                                                &perp_lcp_generate_command,
                                                &perp_lcp_convert_command,
                                                &perp_lcp_harvest_command,
                                                &perp_lcp_info_command,
                                                NULL };

static void cmd_lcp_print_help(FILE *f)
{
  fputs("perp lcp COMMAND [arguments]\n\nComplementarity problems: find lambda with "
        "w = A lambda + b,\nlo <= lambda <= hi and w complementary.\n\nCommands\n",
        f);
  perp_commands_print(commands, 10, f);
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
  return perp_commands_run(ctx, commands, argc - 1, argv + 1, "lcp ", "perp lcp --help");
}

const perp_command perp_lcp_command = {
  .cli.name = "lcp",
  .summary = "solve, check, generate and convert complementarity problems",
  .run_words = cmd_lcp
};
