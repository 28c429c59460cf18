/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include <string.h>

static const perp_command *const commands[] = {
  &perp_lcp_solve_command,    &perp_lcp_check_command,
  &perp_lcp_generate_command, &perp_lcp_convert_command,
  &perp_lcp_harvest_command,  &perp_lcp_sequence_command,
  &perp_lcp_info_command,     NULL
};

static int cmd_lcp(perp_ctx *ctx, int argc, char **argv)
{
  const bool asked = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  if (argc > 1 && !asked)
    return perp_commands_run(ctx, commands, argc - 1, argv + 1, "lcp ", "perp lcp --help");
  FILE *file = asked ? stdout : stderr;
  fputs("perp lcp COMMAND [arguments]\n\nSolves and converts complementarity problems: find lambda "
        "with w = A lambda + b,\nlo <= lambda <= hi and w complementary.\n\nCommands\n",
        file);
  perp_commands_print(commands, 10, file);
  fputs("\nExample\n  perp lcp generate stack --n 64 | perp lcp solve -\n", file);
  return asked ? PERP_EXIT_OK : PERP_EXIT_USAGE;
}

const perp_command perp_lcp_command = {
  .cli.name = "lcp",
  .summary = "Solve, check, generate and convert complementarity problems",
  .run_words = cmd_lcp
};
