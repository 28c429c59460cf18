/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of a gnuplot script: for pictures in lines of at most `most` bytes, broken at blanks, and
 * as LaTeX wants them. */
#ifndef PERP_PLOT_TEXT_H
#define PERP_PLOT_TEXT_H

#include <stdio.h>

/* As it is. */
void perp_plot_quote(FILE *out, const char *text, size_t most);
/* A name in the legend or of a row.  Where it has no room, whole parts between commas are left out
 * behind the first one, as what tells names apart is often at the end; a single part stays whole.
 */
void perp_plot_name(FILE *out, const char *text, size_t most);
/* A label of an axis begins with a capital; a symbol stays as it is. */
void perp_plot_axis_label(FILE *out, const char *text, size_t most);

#endif
