/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands, in the order of the help. */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/runner/cli.h"

const perp_command perp_commands[] = {
  { "report", "the page of a results folder, made anew", perp_cmd_report },
  { "list", "what can be combined: scenes, solvers, studies", perp_cmd_list },
  { "info", "one part: its source, order, options with units and ranges", perp_cmd_info },
  { "lcp", "solve, check, generate and convert complementarity problems", perp_cmd_lcp },
  { "doctor", "look for what would spoil results on this machine", perp_cmd_doctor },
  { "completion", "completion script for bash, zsh or fish", perp_cmd_completion },
  { "version", "version, commit and build", perp_cmd_version },
  { "test", "run the test suite", perp_cmd_test },
  { NULL, NULL, NULL },
};
