/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text and numbers for LaTeX. */
#ifndef PERP_LATEX_H
#define PERP_LATEX_H

#include "solvers/core/core.h"

/* text with the characters special to LaTeX written out; free it */
char *perp_tex_string(const char *text);
/* printf of markup.h: %s is such a text, %m "$1.23\times10^{-6}$", three digits; "--" for NaN */
void perp_tex(FILE *out, const char *format, ...);

#endif
