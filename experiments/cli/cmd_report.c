/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp report: the page of a results folder, made anew. */
#include "experiments/report/report.h"

#include "experiments/pages/plot.h"
#include "experiments/report/web.h"
#include "experiments/cli/command.h"
#include "experiments/base/shell.h"

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
  bool chosen[16];
  int known = 0;
  while (perp_figure_formats[known] != NULL) known++;
  int exit_status = perp_option_words(args, "figs", "format", perp_figure_formats, known,
                                      " (svg, pdf, png, tikz)", chosen);
  if (exit_status >= 0) return exit_status;
  if (args->n > 1 && request.out == NULL)
    return perp_usage_error(args, "where to? several folders need -o FILE.html");
  perp_join g;
  int undrawn = 0;
  exit_status = perp_join_load(ctx, args, perp_option_given(args, "keep-first"), &g);
  if (exit_status < 0) {
    perp_join_records(&g);
    perp_status status = perp_report_results(ctx, &g.part[0], &request, page, sizeof page,
                                             &undrawn);
    if (status != PERP_OK)
      exit_status = perp_refuse(ctx, status == PERP_ERR_IO ? PERP_EXIT_INPUT : PERP_EXIT_INTERNAL);
  }
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
  { "figs", 0, "LIST", "formats of the figures, out of svg, pdf, png, tikz (default: svg)" },
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
