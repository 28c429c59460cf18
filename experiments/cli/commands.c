/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands, in the order of the help. */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/cli/cli.h"

const perp_command perp_commands[] = {
  { "run", "run a study: every combination, measured against ground truth", perp_cmd_run },
  { "simulate", "run one scene with one choice of parts", perp_cmd_simulate },
  { "list", "what can be combined: scenes, solvers, studies", perp_cmd_list },
  { "info", "one part: its source, order, options with units and ranges", perp_cmd_info },
  { "status", "how far a run is", perp_cmd_status },
  { "show", "everything about one cell of a run", perp_cmd_show },
  { "report", "the page of a results folder, made anew", perp_cmd_report },
  { "explain", "why a cell is kept or run again", perp_cmd_explain },
  { "rerun", "one cell again, alone: are its results the same?", perp_cmd_rerun },
  { "ref", "the references of a study and how far they agree", perp_cmd_ref },
  { "merge", "results that were computed in parts become one folder", perp_cmd_merge },
  { "cluster", "a study as jobs for Slurm or GNU parallel", perp_cmd_cluster },
  { "compare", "two runs of one study: what became worse", perp_cmd_compare },
  { "export", "all cells as one table for another program", perp_cmd_export },
  { "check", "read a study and say what is wrong with it", perp_cmd_check },
  { "plan", "list the cells of a study", perp_cmd_plan },
  { "lcp", "solve, check, generate and convert complementarity problems", perp_cmd_lcp },
  { "lesson", "learn: a story, a prediction, a run, an exercise", perp_cmd_lesson },
  { "new", "a study or a plug-in to begin with", perp_cmd_new },
  { "doctor", "look for what would spoil results on this machine", perp_cmd_doctor },
  { "completion", "completion script for bash, zsh or fish", perp_cmd_completion },
  { "version", "version, commit and build", perp_cmd_version },
  { "test", "run the test suite", perp_cmd_test },
  { NULL, NULL, NULL },
};
