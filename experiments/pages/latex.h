/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text and numbers for LaTeX. */
#ifndef PERP_LATEX_H
#define PERP_LATEX_H

#include "solvers/core/core.h"

/* text with the characters special to LaTeX written out; free it */
char *perp_tex_string(const char *text);
/* format is LaTeX, in which %s is such a text, %n a text that is LaTeX, %d an int, %g a double (6
 * digits), %m a measured number: "$1.23\times10^{-6}$", three digits, "--" for NaN; %% a percent
 * sign. */
void perp_tex(FILE *out, const char *format, ...);

#endif
