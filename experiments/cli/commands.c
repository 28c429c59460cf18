/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands, in the order of the help, and perp completion, which is made from it. */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/cli/cli.h"

#include <string.h>

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

int perp_cmd_completion(perp_ctx *ctx, int argc, char **argv)
{
  (void)ctx;
  static const perp_flag flags[] = { { 0 } };
  static const perp_cli cli = {
    "completion",
    "bash|zsh|fish",
    "Prints a completion script for a shell: commands, studies, scenes.",
    NULL,
    "source <(perp completion bash)",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  const char *shell = args.arg[0];
  bool bash = strcmp(shell, "bash") == 0, zsh = strcmp(shell, "zsh") == 0;
  if (!bash && !zsh && strcmp(shell, "fish") != 0)
    return perp_usage_error(&args, "no completion for '%s'", shell);
  perp_text words = { 0 };
  for (const perp_command *c = perp_commands; c->name != NULL; c++)
    perp_text_add(&words, "%s%s", words.n ? " " : "", c->name);
  if (bash || zsh) {
    if (zsh) printf("autoload -U +X bashcompinit && bashcompinit\n");
    printf("_perp() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]}\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    COMPREPLY=($(compgen -W \"%s\" -- \"$word\"))\n"
           "    return\n"
           "  fi\n"
           "  case ${COMP_WORDS[1]} in\n"
           "    run | check | plan | explain | ref) COMPREPLY=($(compgen -f -W \"$(perp list "
           "studies 2>/dev/null |"
           " cut -d' ' -f1)\" -- \"$word\")) ;;\n"
           "    simulate) COMPREPLY=($(compgen -W \"$(perp list scenes 2>/dev/null |"
           " cut -d' ' -f1)\" -- \"$word\")) ;;\n"
           "    lesson) COMPREPLY=($(compgen -W \"$(perp lesson list 2>/dev/null |"
           " cut -d' ' -f1)\" -- \"$word\")) ;;\n"
           "    list) COMPREPLY=($(compgen -W 'scenes formulation ode kkt lcp stab contact metrics"
           " studies plots' -- \"$word\")) ;;\n"
           "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
           "  esac\n"
           "}\n"
           "complete -F _perp perp\n",
           words.s);
  } else {
    printf("complete -c perp -f -n __fish_use_subcommand -a '%s'\n", words.s);
    printf("complete -c perp -n '__fish_seen_subcommand_from run check plan' -a "
           "'(perp list studies | grep -o \"^[^ ]*\")'\n"
           "complete -c perp -f -n '__fish_seen_subcommand_from simulate' -a "
           "'(perp list scenes | grep -o \"^[^ ]*\")'\n");
  }
  perp_text_free(&words);
  return PERP_EXIT_OK;
}
