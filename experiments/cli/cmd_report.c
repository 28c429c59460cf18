/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp report: the page of a results folder, made anew. */
#include "experiments/report/report.h"

#include "experiments/pages/plot.h"
#include "experiments/report/web.h"
#include "experiments/cli/command.h"
#include "experiments/base/shell.h"

#include <stdlib.h>
#include <string.h>

/* -1, or the exit status after a message. */
static int check_formats(const perp_args *args, const char *list)
{
  while (list != NULL && *list != '\0') {
    char word[16];
    size_t n = strcspn(list, ",");
    int known = 0, k = 0;
    snprintf(word, sizeof word, "%.*s", (int)n, list);
    for (; perp_figure_formats[k] != NULL; k++)
      known += strlen(word) == n && strcmp(perp_figure_formats[k], word) == 0;
    if (known == 0) {
      const char *close = perp_closest(word, perp_figure_formats, k);
      return perp_usage_error(args, "--figs: unknown format '%s'%s%s%s", word,
                              close != NULL ? "; did you mean '" : "", close != NULL ? close : "",
                              close != NULL ? "'?" : " (svg, pdf, png, tikz)");
    }
    list += n + (list[n] == ',');
  }
  return -1;
}

int perp_cmd_report(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
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
  static const perp_cli cli = {
    "report",
    "DIR... [options]",
    "Write the report of a results folder: one HTML page without a network.",
    "DIR is a folder that `perp run` made, or the name of a study with a folder in "
    "results/. Figures stay in DIR/figs with their data and gnuplot script. Several folders with "
    "parts of one run (--shard) make one page, which needs -o; its figures go beside it. Exit "
    "status "
    "5: the report is there, but without figures that gnuplot could not draw (it says which, why).",
    "perp report results/chain6-stab --figs svg,pdf",
    flags,
    1,
    PERP_ARGS_MAX
  };
  perp_args args;
  int exit_status = perp_args_read(&cli, argc, argv, &args);
  if (exit_status >= 0) return exit_status;

  if (perp_args_get(&args, "interactive") != NULL && !perp_web_built() &&
      perp_web_build(ctx) != PERP_OK) {
    perp_print_error(ctx);
    return PERP_EXIT_INFRA;
  }

  char page[4096];
  perp_report_request request = { .out = perp_args_get(&args, "output"),
                                  .figs = perp_args_get(&args, "figs"),
                                  .tex = perp_args_get(&args, "tex"),
                                  .together = args.n > 1,
                                  .no_js = perp_args_get(&args, "no-js") != NULL };
  if ((exit_status = check_formats(&args, request.figs)) >= 0) return exit_status;
  if (args.n > 1 && request.out == NULL)
    return perp_usage_error(&args, "where to? several folders need -o FILE.html");
  perp_join g;
  int undrawn = 0;
  exit_status = perp_join_load(ctx, &args, perp_args_get(&args, "keep-first") != NULL, &g);
  if (exit_status < 0) {
    perp_join_records(&g);
    perp_status status = perp_report_results(ctx, &g.part[0], &request, page, sizeof page,
                                             &undrawn);
    if (status != PERP_OK) {
      perp_print_error(ctx);
      exit_status = status == PERP_ERR_IO ? PERP_EXIT_INPUT : PERP_EXIT_INTERNAL;
    }
  }
  int duplicates = g.duplicates, folders = g.n;
  perp_join_free(&g);
  if (exit_status >= 0) return exit_status;
  if (duplicates > 0)
    perp_say("%d cell(s) are in more than one of the %d folders", duplicates, folders);
  printf("%s\n", page);
  if (perp_args_get(&args, "open") != NULL) perp_show_page(page);
  return undrawn > 0 ? PERP_EXIT_INFRA : PERP_EXIT_OK;
}
