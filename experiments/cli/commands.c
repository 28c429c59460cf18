/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of commands, in the order of the help, and perp completion, which is made from it. */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/cli/cli.h"
#include "experiments/cli/templates.h"

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
  const char *shell = args->arg[0];
  static const char *const shells[] = { "bash", "zsh", "fish" };
  int k = 0;
  while (k < 3 && strcmp(shells[k], shell) != 0) k++;
  if (k == 3) return perp_usage_error(args, "no completion for '%s'", shell);
  char name[32];
  snprintf(name, sizeof name, "completion.%s", shell);
  perp_text words = { 0 }, script = { 0 };
  for (const perp_verb *const *v = perp_commands; *v != NULL; v++)
    perp_text_add(&words, "%s%s", words.n ? " " : "", (*v)->cli.name);
  const perp_mark mark = { "@COMMANDS@", words.s };
  const perp_status status = perp_template_fill(ctx, name, &mark, 1, &script);
  if (status == PERP_OK) fputs(script.s, stdout);
  perp_text_free(&words);
  perp_text_free(&script);
  return status == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, PERP_EXIT_INTERNAL);
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
