/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp report, answer: the page of a results folder, made anew. */
#include "experiments/report/report.h"
#include "experiments/answers/findings.h"

#include "experiments/pages/plot_draw.h"
#include "experiments/web/web.h"
#include "experiments/cli/command.h"
#include "experiments/base/shell.h"
#include "experiments/base/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cmd_report(perp_ctx *ctx, const perp_args *args)
{
  char page[4096];
  perp_report_request request = { .out = perp_args_get(args, "output"),
                                  .figs = perp_args_get(args, "figs"),
                                  .tex = perp_args_get(args, "tex"),
                                  .together = args->n > 1 };
  bool chosen[16] = { 0 };
  const char *words[16];
  perp_text formats = { 0 };
  const char *width = perp_args_get(args, "width");
  if (width != NULL && strcmp(width, "column") != 0 && strcmp(width, "page") != 0)
    return perp_usage_error(args, "--width must be column (8.4 cm) or page (17.5 cm): got '%s'",
                            width);
  if (width != NULL && request.figs == NULL && request.tex == NULL)
    return perp_usage_error(args, "--width is the width of figures: add --figs pdf or --tex DIR");
  if (width != NULL)
    request.width = strcmp(width, "column") == 0 ? PERP_PLOT_COLUMN : PERP_PLOT_PAGE;
  int known = 0;
  for (; perp_figure_formats[known] != NULL; known++) words[known] = perp_figure_formats[known];
  words[known] = "all";
  int exit_status = perp_option_words(args, "figs", "format", words, known + 1,
                                      " (svg, pdf, png, tikz; all)", chosen);
  if (exit_status >= 0) return exit_status;
  for (int i = 0; i < known && request.figs != NULL; i++)
    if (chosen[i]) perp_text_add(&formats, "%s%s", formats.n > 0 ? "," : "", words[i]);
  request.all_figures = request.figs != NULL && chosen[known];
  if (request.all_figures && formats.n == 0) perp_text_add(&formats, "svg");
  request.figs = formats.s;
  if (args->n > 1 && request.out == NULL)
    return perp_usage_error(args, "several folders need an output file: -o FILE.html");
  perp_join join;
  int undrawn = 0;
  bool tables = true; /* of the folder, written anew */
  exit_status = perp_join_load(ctx, args, perp_option_given(args, "keep-first"), &join);
  if (exit_status < 0) {
    perp_join_records(&join);
    perp_results_warn_unlike(&join.part[0]);
    tables = join.n > 1 || perp_results_derive(ctx, &join.part[0]) == PERP_OK;
    if (!tables) perp_print_error(ctx);
    perp_status status = perp_report_results(ctx, &join.part[0], &request, page, sizeof page,
                                             &undrawn);
    if (status != PERP_OK)
      exit_status = perp_refuse(ctx, status == PERP_ERR_IO ? PERP_EXIT_INPUT : PERP_EXIT_INTERNAL);
  }
  perp_text_free(&formats);
  int duplicates = join.duplicates, folders = join.n;
  perp_join_free(&join);
  if (exit_status >= 0) return exit_status;
  if (duplicates > 0)
    perp_say("%d run(s) are in more than one of the %d folders", duplicates, folders);
  printf("%s\n", page);
  if (!perp_web_built()) {
    perp_web_missing(ctx);
    return perp_refuse(ctx, PERP_EXIT_INFRA);
  }
  if (perp_option_given(args, "open")) perp_show_page(page);
  return undrawn > 0 || !tables ? PERP_EXIT_INFRA : PERP_EXIT_OK;
}

static const perp_flag report_flags[] = {
  { "output", 'o', "FILE.html", "Output file (default: DIR/report.html)." },
  { "figs", 0, "LIST",
    "Draw figures for documents too, in these formats: svg, pdf, png, tikz. Add all to draw every "
    "combination instead of the best 12." },
  { "width", 0, "WIDTH",
    "Width of the figures of --figs and --tex: column (8.4 cm) or page (17.5 cm, default)." },
  { "tex", 0, "DIR",
    "Write tables.tex, numbers.tex and figures.tex for a LaTeX document into DIR." },
  { "keep-first", 0, NULL,
    "Where folders disagree about a run, use the first folder that has it." },
  { "open", 0, NULL, "Show the page in the browser of the desktop (xdg-open)." },
  { 0 }
};

const perp_command perp_report_command = {
  .cli.name = "report",
  .cli.usage = "DIR... [options]",
  .cli.summary = "Writes the report of a results folder: one HTML page that needs no network.",
  .cli.more =
      "DIR is a folder made by `perp run`, or the name of a study with a folder in "
      "results/. report.json beside the page has all that it shows. The page is written "
      "first. Figures for documents are drawn only with --figs or --tex, and are stored in "
      "DIR/figs with their data and gnuplot scripts. "
      "Several folders with shards of one study (--shard) give one page, which needs -o; "
      "its figures are stored beside it.\n\nExit status: 0 the report is complete, 5 "
      "gnuplot could not draw some figures, or the tables in DIR/derived could not be written "
      "(an error names them). It is 5, too, where perp "
      "was built without the script of its pages; the message says how to get it.",
  .cli.example = "perp report results/chain6-stab --figs svg,pdf",
  .cli.flags = report_flags,
  .cli.min_args = 1,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Write the report of a results folder as a page",
  .run = cmd_report
};

/* ---- answer ---- */

static int cmd_answer(perp_ctx *ctx, const perp_args *args)
{
  perp_results results;
  if (perp_option_given(args, "json") && perp_option_given(args, "plot"))
    return perp_usage_error(args, "--json prints no figure: use --json or --plot");
  const int status = perp_results_open(ctx, args->arg[0], &results);
  if (status >= 0) return status;
  perp_json json = { .out = stdout, .indent = true };
  if (perp_option_given(args, "json"))
    perp_answers_json(ctx, &results, &json);
  else {
    const perp_answer *answers;
    const int n = perp_results_answers(ctx, &results, &answers);
    const char *left_out = perp_results_left_out(&results);
    printf("%s: %s\n", results.study->name, results.study->title);
    if (results.study->question[0] != '\0') perp_wrap(stdout, 2, results.study->question);
    perp_findings_print(ctx, &results, perp_option_given(args, "plot") || isatty(STDOUT_FILENO),
                        stdout);
    for (int answer = 0; answer < n; answer++)
      perp_answer_print(&results, &answers[answer], INT_MAX, stdout);
    if (left_out[0] != '\0') putchar('\n');
    perp_wrap(stdout, 0, left_out);
  }
  perp_results_free(&results);
  return PERP_EXIT_OK;
}

static const perp_flag answer_flags[] = {
  { "plot", 0, NULL,
    "Draw the figure on top of the report with letters even if the output is not a terminal." },
  { "json", 0, NULL, "Print JSON, as in the file derived/answers.json of the folder." },
  { 0 }
};

const perp_command perp_answer_command = {
  .cli.name = "answer",
  .cli.usage = "DIR [--plot | --json]",
  .cli.summary = "Answers the question of a study from its results, with every comparison behind "
                 "the answer: the most accurate method at equal work, the most robust one, "
                 "exponents of growth. The questions are in the section answer of the study. "
                 "Without that section the primary metric is compared.",
  .cli.more =
      "Only runs that are ok are compared, and unsolved ones that the study accepts. Scenes, "
      "problems, durations and steps are never mixed. Differences are ties (*) if they are below "
      "the uncertainty of the references, the scatter of times, or 1 %.\n\nA proof that no "
      "solution exists counts as solved, unless another solver found a solution. Problems outside "
      "of the declared range of a solver are counted separately.",
  .cli.example = "perp answer results/chain6-stab --plot | less",
  .cli.flags = answer_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Answer the question of a study from its results",
  .run = cmd_answer
};
