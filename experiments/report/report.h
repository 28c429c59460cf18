/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a study: report.json, and one HTML file of it that opens from file:// without a
 * network. */
#ifndef PERP_REPORT_H
#define PERP_REPORT_H

#include "experiments/results/results.h"

typedef struct perp_report_request {
  const char *out;  /* path of the page; NULL: DIR/report.html */
  const char *figs; /* formats of the figures, comma list of svg, pdf, png, tikz; NULL: none are
                       drawn, but pdf for a document (tex) */
  bool all_figures; /* also those that a page leaves out by itself (page.h) */
  double width;     /* of the figures in print, cm; 0: PERP_PLOT_PAGE */
  const char *tex;  /* folder for tables.tex, numbers.tex and figures.tex (tex.h); NULL: none */
  bool together;    /* results of several folders: figs/ goes beside the page */
} perp_report_request;

/* Write report.json and the page from the results folder DIR, then, on demand, the figures for
 * documents into DIR/figs/.  The page needs none of them; it is written first, and once more when
 * it can name their files.  Cost: linear in the runs, but for the figures.  A figure that cannot be
 * drawn becomes a warning on the page and, when it is not for want of points, a message on stderr;
 * the call fails only when the folder cannot be read or a file not be written.  page_path [size]
 * out: where the page is; where perp was built without the script of its pages (web.h),
 * report.json. */
perp_status perp_report(perp_ctx *ctx, const char *dir, const perp_report_request *request,
                        char *page_path, size_t size);
/* The same of results that are loaded already; undrawn out, unless NULL: the number of figures that
 * a message names. */
perp_status perp_report_results(perp_ctx *ctx, perp_results *results,
                                const perp_report_request *request, char *page_path, size_t size,
                                int *undrawn);

#endif
