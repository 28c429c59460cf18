/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include "experiments/cli/command.h"
#include "experiments/cli/templates.h"

#include "experiments/base/files.h"
#include "experiments/import/import.h"
#include "experiments/lcp/kind_lcp.h"
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/metrics/metrics.h"
#include "experiments/plugins/cmd_scene.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/plugins/python_process.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/kind_gradient.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/live/cmd_live.h"
#include "experiments/watch/watch.h"
#include "models/models.h"

#include <stdlib.h>
#include <string.h>

/* The first is that of a study file that names none. */
static const perp_cell_kind *const kinds[] = { &perp_kind_simulate, &perp_kind_lcp,
                                               &perp_kind_gradient, NULL };

static void print_commands(FILE *out)
{
  fputs("perp COMMAND [arguments]\n\n"
        "Compares numerical solvers for constrained rigid-body dynamics. Choose a scene\n"
        "and exchange one method at a time: perp shows which is accurate, fast and\n"
        "robust, and why.\n\n"
        "Commands\n",
        out);
  perp_commands_print(perp_commands, 12, out);
  fputs("\nStart with\n"
        "  perp run chain6-stab            the main study: a table, then a page\n"
        "  perp simulate pendulum --json   one simulation, as data\n"
        "  perp COMMAND --help             options and an example of one command\n"
        "\n"
        "Every command accepts --plugin FILE.so or FILE.py: your own solvers, scenes and\n"
        "metrics (see perp new). PERP_PLUGIN_PATH lists folders of plug-ins.\n"
        "Every command accepts --package-path DIR[:DIR]: folders of the meshes and models\n"
        "that a robot names (package://, model://), before those of ROS_PACKAGE_PATH.\n"
        "Every command that takes the file of a robot accepts --no-filter: shapes that\n"
        "overlap as drawn collide all the same.\n"
        "\n"
        "Exit status\n"
        "   0  done\n"
        "   1  internal error\n"
        "   2  wrong usage\n"
        "   3  invalid file\n"
        "   4  nothing selected\n"
        "   5  runs crashed, figures failed, or memory ran out\n"
        "   6  regression\n"
        "   7  incomplete; run the command again to continue\n"
        "   8  references disagree\n"
        "   9  simulated, but some contact problems were not solved\n"
        "  10  no run succeeded\n",
        out);
}

/* Load what PERP_PLUGIN_PATH and each --plugin FILE name; the words are taken out of argv.  Returns
 * -1 to go on, or the exit status after a message. */
static int load_plugins(perp_ctx *ctx, int *argc, char **argv)
{
  const char *list = getenv("PERP_PLUGIN_PATH");
  perp_status status = list != NULL ? perp_plugin_load_path(ctx, list) : PERP_OK;
  int kept = 1;
  bool only_words = false;
  for (int i = 1; i < *argc; i++) {
    const char *word = argv[i], *file = NULL;
    only_words = only_words || strcmp(word, "--") == 0;
    if (!only_words && strncmp(word, "--plugin=", 9) == 0)
      file = word + 9;
    else if (!only_words && strcmp(word, "--plugin") == 0) {
      if (i + 1 == *argc) {
        perp_say_error("--plugin needs a value: FILE.so or FILE.py");
        return PERP_EXIT_USAGE;
      }
      file = argv[++i];
    }
    if (file == NULL)
      argv[kept++] = argv[i];
    else if (status == PERP_OK)
      status = perp_plugin_load(ctx, file, true);
  }
  argv[kept] = NULL;
  *argc = kept;
  if (status == PERP_OK) return -1;
  return perp_refuse(ctx, status == PERP_ERR_IO ? PERP_EXIT_USAGE : PERP_EXIT_INPUT);
}

/* --package-path DIR[:DIR], taken out of argv.  Returns -1 to go on, or the exit status. */
static int set_package_path(int *argc, char **argv)
{
  static const char option[] = "--package-path";
  int kept = 1;
  bool only_words = false;
  for (int i = 1; i < *argc; i++) {
    const char *list = NULL;
    const size_t n = sizeof option - 1;
    char *bad;
    only_words = only_words || strcmp(argv[i], "--") == 0;
    if (!only_words && strncmp(argv[i], option, n) == 0 && argv[i][n] == '=')
      list = argv[i] + n + 1;
    else if (!only_words && strcmp(argv[i], option) == 0) {
      if (i + 1 == *argc) {
        perp_say_error("--package-path needs a value: DIR[:DIR]");
        return PERP_EXIT_USAGE;
      }
      list = argv[++i];
    }
    if (list == NULL)
      argv[kept++] = argv[i];
    else if (!perp_import_package_path(list, &bad)) {
      char *message = perp_xprintf("--package-path: there is no folder %s", bad);
      perp_say_error(message);
      free(message);
      free(bad);
      return PERP_EXIT_USAGE;
    }
  }
  argv[kept] = NULL;
  *argc = kept;
  return -1;
}

/* The file of a robot that a word names, which may have options behind it. */
static bool names_robot(const char *word)
{
  char *file = perp_xprintf("%.*s", (int)strcspn(word, ":"), word);
  const bool is = word[0] != '-' && perp_scene_file_robot(word) && !perp_import_is_figure(file) &&
                  perp_exists(file);
  free(file);
  return is;
}

/* --no-filter, taken out of argv: robots that the words name get filter=false, as if it stood
 * there. perp import has the option itself.  Returns -1 to go on, or the exit status. */
static int set_no_filter(int *argc, char **argv)
{
  static const char option[] = "--no-filter";
  int kept = 1, robots = 0;
  bool only_words = false, off = false, asked = false;
  if (*argc > 1 && strcmp(argv[1], "import") == 0) return -1;
  for (int i = 1; i < *argc; i++) {
    only_words = only_words || strcmp(argv[i], "--") == 0;
    if (!only_words && strcmp(argv[i], option) == 0) {
      off = true;
      continue;
    }
    asked = asked || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    argv[kept++] = argv[i];
  }
  argv[kept] = NULL;
  *argc = kept;
  for (int i = 2; i < kept && off; i++) {
    const bool output = strcmp(argv[i - 1], "-o") == 0 || strcmp(argv[i - 1], "--output") == 0;
    if (output || !names_robot(argv[i])) continue;
    argv[i] = perp_xprintf("%s%cfilter=false", argv[i], strchr(argv[i], ':') != NULL ? ',' : ':');
    robots++;
  }
  if (!off || robots > 0 || asked) return -1;
  perp_say_error("--no-filter needs the file of a robot (MJCF, URDF, SDF) among the words; a study "
                 "names the scene robot.xml:filter=false, and a scene file has no_contact");
  return PERP_EXIT_USAGE;
}

static int cmd_completion(perp_ctx *ctx, const perp_args *args)
{
  const char *shell = args->arg[0];
  static const char *const shells[] = { "bash", "zsh", "fish" };
  int k = 0;
  while (k < 3 && strcmp(shells[k], shell) != 0) k++;
  if (k == 3)
    return perp_usage_error(args, "no completion for '%s'; choose bash, zsh or fish", shell);
  char name[32];
  snprintf(name, sizeof name, "completion.%s", shell);
  perp_text words = { 0 }, script = { 0 };
  for (const perp_command *const *command = perp_commands; *command != NULL; command++)
    perp_text_add(&words, "%s%s", words.n ? " " : "", (*command)->cli.name);
  const perp_mark mark = { "@COMMANDS@", words.s };
  const perp_status status = perp_template_fill(ctx, name, &mark, 1, &script);
  if (status == PERP_OK) fputs(script.s, stdout);
  perp_text_free(&words);
  perp_text_free(&script);
  return status == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, PERP_EXIT_INTERNAL);
}

static const perp_command completion = {
  .cli.name = "completion",
  .cli.usage = "bash|zsh|fish",
  .cli.summary =
      "Prints a completion script for a shell. It completes commands, studies and scenes.",
  .cli.example = "source <(perp completion bash)",
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Completion script for bash, zsh or fish",
  .run = cmd_completion
};

/* In the order of the help. */
const perp_command *const perp_commands[] = { &perp_run_command,
                                              &perp_simulate_command,
                                              &perp_gradient_command,
                                              &perp_why_command_desc,
                                              &perp_view_command,
                                              &perp_live_command,
                                              &perp_list_command,
                                              &perp_info_command,
                                              &perp_answer_command,
                                              &perp_status_command,
                                              &perp_show_command,
                                              &perp_report_command,
                                              &perp_explain_command,
                                              &perp_rerun_command,
                                              &perp_ref_command,
                                              &perp_merge_command,
                                              &perp_cluster_command,
                                              &perp_compare_command,
                                              &perp_export_command,
                                              &perp_export_scene_command,
                                              &perp_import_command,
                                              &perp_inverse_command,
                                              &perp_motion_command,
                                              &perp_check_command,
                                              &perp_plan_command,
                                              &perp_lcp_command,
                                              &perp_lesson_command,
                                              &perp_new_command,
                                              &perp_doctor_command,
                                              &completion,
                                              &perp_version_command,
                                              &perp_python_command,
                                              &perp_site_command,
                                              &perp_submit_command,
                                              &perp_setup_command,
                                              &perp_test_command,
                                              NULL };

int perp_main(int argc, char **argv)
{
  perp_ctx ctx;
  perp_json_memory();
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    return perp_refuse(&ctx, PERP_EXIT_INTERNAL);
  if (perp_scene_files_register(&ctx) != PERP_OK) return perp_refuse(&ctx, PERP_EXIT_INTERNAL);
  perp_register_kinds(kinds);
  perp_register_study_loader(perp_plugin_load_named);
  const int named = set_package_path(&argc, argv);
  if (named >= 0) return named;
  const int filtered = set_no_filter(&argc, argv);
  if (filtered >= 0) return filtered;
  int loaded = load_plugins(&ctx, &argc, argv);
  if (loaded >= 0) return loaded;
  if (argc < 2) {
    print_commands(stderr);
    return PERP_EXIT_USAGE;
  }
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    if (argc > 2) { /* perp help run */
      char *again[] = { argv[0], argv[2], "--help", NULL };
      return perp_main(3, again);
    }
    print_commands(stdout);
    return PERP_EXIT_OK;
  }
  if (strcmp(word, "--version") == 0) word = "version";
  argv[1] = (char *)(uintptr_t)word;
  const int status = perp_commands_run(&ctx, perp_commands, argc - 1, argv + 1, "",
                                       "perp --help lists them");
  /* data that did not reach its reader is an error, whatever the command thought */
  if (status != PERP_EXIT_OK) return status;
  return perp_output_whole() ? PERP_EXIT_OK : PERP_EXIT_INTERNAL;
}
