/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gnuplot: a script is a program, and so is what gnuplot finds in the folder it works in
 * (gnuplot-tikz.lua).  Texts become strings of the script by one function, and the script runs in a
 * folder of its own. */
#ifndef PERP_GNUPLOT_H
#define PERP_GNUPLOT_H

#include "solvers/core/core.h"

#include <stdio.h>

/* A text as a single-quoted string of a script: nothing in it is read as a command, line breaks
 * become blanks. */
void perp_gnuplot_text(FILE *out, const char *text);
/* The same as one field of a data file, in double quotes. */
void perp_gnuplot_field(FILE *out, const char *text);

typedef struct perp_gnuplot {
  const char *set;                  /* a command before the script; NULL: none */
  const char *script_name, *script; /* file names have no folder */
  const char *data_name, *data;
  const char *picture_name; /* that the script makes */
} perp_gnuplot;
/* Run the script in a temporary folder beside its data; *picture is what it drew, [*size], free it.
 * PERP_ERR_EXTERNAL with a message when gnuplot is missing, fails or draws nothing. */
perp_status perp_gnuplot_draw(perp_ctx *ctx, const perp_gnuplot *g, char **picture, size_t *size);

#endif
