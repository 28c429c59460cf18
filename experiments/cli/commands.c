/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands, in the order of the help, and perp completion, which is made from it. */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/cli/cli.h"

#include <string.h>

const perp_verb *const perp_commands[] = {
  &perp_verb_run,        &perp_verb_simulate, &perp_verb_list,   &perp_verb_info,
  &perp_verb_status,     &perp_verb_show,     &perp_verb_report, &perp_verb_explain,
  &perp_verb_rerun,      &perp_verb_ref,      &perp_verb_merge,  &perp_verb_cluster,
  &perp_verb_compare,    &perp_verb_export,   &perp_verb_check,  &perp_verb_plan,
  &perp_verb_lcp,        &perp_verb_lesson,   &perp_verb_new,    &perp_verb_doctor,
  &perp_verb_completion, &perp_verb_version,  &perp_verb_test,   NULL
};

static int cmd_completion(perp_ctx *ctx, const perp_args *args)
{
  (void)ctx;
  const char *shell = args->arg[0];
  bool bash = strcmp(shell, "bash") == 0, zsh = strcmp(shell, "zsh") == 0;
  if (!bash && !zsh && strcmp(shell, "fish") != 0)
    return perp_usage_error(args, "no completion for '%s'", shell);
  perp_text words = { 0 };
  for (const perp_verb *const *v = perp_commands; *v != NULL; v++)
    perp_text_add(&words, "%s%s", words.n ? " " : "", (*v)->cli.name);
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

const perp_verb perp_verb_completion = {
  .cli.name = "completion",
  .cli.usage = "bash|zsh|fish",
  .cli.summary = "Prints a completion script for a shell: commands, studies, scenes.",
  .cli.example = "source <(perp completion bash)",
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "completion script for bash, zsh or fish",
  .run = cmd_completion
};
