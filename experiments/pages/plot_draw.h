/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures, drawn by gnuplot run as a program.  Beside each picture stay its .gp and .csv, so that
 * it can be redrawn and restyled without perp. */
#ifndef PERP_PLOT_DRAW_H
#define PERP_PLOT_DRAW_H

#include "experiments/pages/plot.h"

/* "svg", "pdf", "png", "tikz", NULL */
extern const char *const perp_figure_formats[];

/* Write DIR/<id>.gp and DIR/<id>.csv and run gnuplot once for each format of a comma list out of
 * svg, pdf, png, tikz.  PERP_ERR_EXTERNAL with the reason when gnuplot is missing, refuses or
 * leaves no picture, PERP_ERR_ARG when there is no point to draw. */
perp_status perp_figure_draw(perp_ctx *ctx, const perp_figure *figure, const char *dir,
                             const char *formats);

#endif
