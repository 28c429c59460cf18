/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp report, answer: the page of a results folder, made anew. */
#include "experiments/report/report.h"
#include "experiments/answers/answers.h"

#include "experiments/pages/plot.h"
#include "experiments/report/web.h"
#include "experiments/cli/command.h"
#include "experiments/base/shell.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int cmd_report(perp_ctx *ctx, const perp_args *args)
{

  if (perp_option_given(args, "interactive") && !perp_web_built() && perp_web_build(ctx) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INFRA);

  char page[4096];
  perp_report_request request = { .out = perp_args_get(args, "output"),
                                  .figs = perp_args_get(args, "figs"),
                                  .tex = perp_args_get(args, "tex"),
                                  .together = args->n > 1,
                                  .no_js = perp_option_given(args, "no-js") };
  bool chosen[16] = { 0 };
  const char *words[16];
  perp_text formats = { 0 };
  const char *width = perp_args_get(args, "width");
  if (width != NULL && strcmp(width, "column") != 0 && strcmp(width, "page") != 0)
    return perp_usage_error(args, "--width: column (8.4 cm) or page (17.5 cm), not '%s'", width);
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
  request.figs = formats.s;
  if (args->n > 1 && request.out == NULL)
    return perp_usage_error(args, "where to? several folders need -o FILE.html");
  perp_join g;
  int undrawn = 0;
  exit_status = perp_join_load(ctx, args, perp_option_given(args, "keep-first"), &g);
  if (exit_status < 0) {
    perp_join_records(&g);
    perp_results_warn_unlike(&g.part[0]);
    if (g.n == 1 && perp_results_derive(ctx, &g.part[0]) != PERP_OK) perp_print_error(ctx);
    perp_status status = perp_report_results(ctx, &g.part[0], &request, page, sizeof page,
                                             &undrawn);
    if (status != PERP_OK)
      exit_status = perp_refuse(ctx, status == PERP_ERR_IO ? PERP_EXIT_INPUT : PERP_EXIT_INTERNAL);
  }
  perp_text_free(&formats);
  int duplicates = g.duplicates, folders = g.n;
  perp_join_free(&g);
  if (exit_status >= 0) return exit_status;
  if (duplicates > 0)
    perp_say("%d cell(s) are in more than one of the %d folders", duplicates, folders);
  printf("%s\n", page);
  if (perp_option_given(args, "open")) perp_show_page(page);
  return undrawn > 0 ? PERP_EXIT_INFRA : PERP_EXIT_OK;
}

static const perp_flag report_flags[] = {
  { "output", 'o', "FILE.html", "where to write the page (default: DIR/report.html)" },
  { "figs", 0, "LIST",
    "formats of the figures, out of svg, pdf, png, tikz (default: svg); with all: of every choice "
    "of the parts, not only of "
    "the best 12" },
  { "width", 0, "WIDTH", "of the figures in print: column (8.4 cm) or page (17.5 cm, default)" },
  { "tex", 0, "DIR", "write tables.tex, numbers.tex and figures.tex for a LaTeX document" },
  { "interactive", 0, NULL,
    "build the script of the interactive figures when it is missing (npm)" },
  { "keep-first", 0, NULL, "where folders disagree about a cell, take the first that has it" },
  { "open", 0, NULL, "show the page in the browser of the desktop (xdg-open)" },
  { "no-js", 0, NULL, "pictures only" },
  { 0 }
};

const perp_command perp_report_command = {
  .cli.name = "report",
  .cli.usage = "DIR... [options]",
  .cli.summary = "Write the report of a results folder: one HTML page without a network.",
  .cli.more =
      "DIR is a folder that `perp run` made, or the name of a study with a folder in results/. "
      "Figures stay in DIR/figs with their data and gnuplot script. Several folders with parts of "
      "one run (--shard) make one page, which needs -o; its figures go beside it. Exit status 5: "
      "the report is there, but without figures that gnuplot could not draw (it says which, why).",
  .cli.example = "perp report results/chain6-stab --figs svg,pdf",
  .cli.flags = report_flags,
  .cli.min_args = 1,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "the page of a results folder, made anew",
  .run = cmd_report
};

/* ---- answer ---------------------------------------------------------------------------------- */

static void answer_text(const perp_ctx *ctx, perp_results *r)
{
  const perp_answer *answers;
  const int n = perp_results_answers(ctx, r, &answers);
  const char *left_out = perp_results_left_out(r);
  printf("%s: %s\n", r->study->name, r->study->title);
  if (r->study->question[0] != '\0') perp_wrap(stdout, 2, r->study->question);
  for (int i = 0; i < n; i++) perp_answer_print(r, &answers[i], INT_MAX, stdout);
  if (left_out[0] != '\0') putchar('\n');
  perp_wrap(stdout, 0, left_out);
}

static int cmd_answer(perp_ctx *ctx, const perp_args *args)
{
  perp_results r;
  const int status = perp_results_open(ctx, args->arg[0], &r);
  if (status >= 0) return status;
  perp_json j = { .out = stdout, .indent = true };
  if (perp_option_given(args, "json"))
    perp_answers_json(ctx, &r, &j);
  else
    answer_text(ctx, &r);
  perp_results_free(&r);
  return PERP_EXIT_OK;
}

static const perp_flag answer_flags[] = {
  { "json", 0, NULL, "as JSON: what derived/answers.json of the folder has" }, { 0 }
};

const perp_command perp_answer_command = {
  .cli.name = "answer",
  .cli.usage = "DIR [--json]",
  .cli.summary =
      "Answers the question of a study from its results, with every comparison behind it: who is "
      "best at equal work, who solves most, with which exponent figures grow. What is asked "
      "stands in the section answer of the study; where there is none, the primary metric is "
      "compared, and that is said.",
  .cli.more =
      "Only cells that may win are compared; scenes, problems, lengths and steps are never mixed. "
      "Figures that differ by less than the references are apart, than times scatter, or than 1 % "
      "are ties (marked *). A proof that there is no solution counts as an answer unless another "
      "solver has found one; what does not suit a solver is counted apart.",
  .cli.example = "perp answer results/chain6-stab",
  .cli.flags = answer_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "answer the question of a study from its results",
  .run = cmd_answer
};
