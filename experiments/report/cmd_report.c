/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp report: the page of a results folder, made anew. */
#include "experiments/report/report.h"

#include "experiments/report/web.h"
#include "experiments/runner/cli.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern char **environ;

int perp_cmd_report(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "output", 'o', "FILE.html", "where to write the page (default: DIR/report.html)" },
    { "figs", 0, "LIST", "formats of the figures, out of svg, pdf, png, tikz (default: svg)" },
    { "tex", 0, "DIR", "write tables.tex, numbers.tex and figures.tex for a LaTeX document" },
    { "interactive", 0, NULL,
      "build the script of the interactive figures when it is missing (npm)" },
    { "open", 0, NULL, "show the page in the browser of the desktop (xdg-open)" },
    { "no-js", 0, NULL, "pictures only" },
    { 0 }
  };
  static const perp_cli cli = {
    "report",
    "DIR [options]",
    "Write the report of a results folder: one HTML page without a network.",
    "DIR is a folder that `perp run` made, or the name of a study with a folder in "
    "results/. Figures stay in DIR/figs with their data and gnuplot script.",
    "perp report results/chain6-stab --figs svg,pdf",
    flags,
    1,
    1
  };
  perp_args args;
  int exit_status = perp_args_read(&cli, argc, argv, &args);
  if (exit_status >= 0) return exit_status;

  if (perp_args_get(&args, "interactive") != NULL && !perp_web_built() &&
      perp_web_build(ctx) != PERP_OK) {
    perp_print_error(ctx);
    return PERP_EXIT_INFRA;
  }

  struct stat st;
  bool is_dir = stat(args.arg[0], &st) == 0 && S_ISDIR(st.st_mode);
  char *dir = is_dir || strchr(args.arg[0], '/') != NULL ? perp_xstrdup(args.arg[0])
                                                         : perp_xprintf("results/%s", args.arg[0]);
  char page[1200];
  perp_report_request request = { .out = perp_args_get(&args, "output"),
                                  .figs = perp_args_get(&args, "figs"),
                                  .tex = perp_args_get(&args, "tex"),
                                  .no_js = perp_args_get(&args, "no-js") != NULL };
  perp_status status = perp_report(ctx, dir, &request, page, sizeof page);
  free(dir);
  if (status != PERP_OK) {
    perp_print_error(ctx);
    return status == PERP_ERR_IO || status == PERP_ERR_FORMAT ? PERP_EXIT_INPUT
                                                              : PERP_EXIT_INTERNAL;
  }
  printf("%s\n", page);
  if (perp_args_get(&args, "open") != NULL) {
    char *show[] = { (char *)"xdg-open", page, NULL };
    pid_t pid;
    if (posix_spawnp(&pid, "xdg-open", NULL, NULL, show, environ) != 0)
      perp_say("xdg-open is not installed (package xdg-utils): open the page by hand");
  }
  return PERP_EXIT_OK;
}
