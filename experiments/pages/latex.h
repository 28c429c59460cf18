/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text and numbers for LaTeX. */
#ifndef PERP_LATEX_H
#define PERP_LATEX_H

#include "solvers/core/core.h"

/* text with the characters special to LaTeX written out */
void perp_tex_text(FILE *out, const char *text);
/* "$1.23\times10^{-6}$", three digits; "--" for NaN */
void perp_tex_number(FILE *out, double v);

#endif
