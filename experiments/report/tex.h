/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and numbers of a study for a LaTeX document. */
#ifndef PERP_REPORT_TEX_H
#define PERP_REPORT_TEX_H

#include "experiments/report/page.h"

/* Write into the folder dir, which is made:
 *   tables.tex    booktabs tables, each a macro that a table environment takes: \perpSummary, \perpClaims,
 *                 \perpPublished, \perpStatus, \perpSolvers (those that the study has)
 *   numbers.tex   \perpvalue{cells}, \perpvalue{cells.ok}, \perpvalue{best.err.tip.max}, ...: an unknown name is an error of the
 *                 document, so that no number of another study slips in; the file lists all names
 *   figures.tex   \perpFigure{work-precision}: \includegraphics of the pictures in figs, with their captions,
 *                 or of the pictures that LaTeX draws (--figs tikz); \perpfigs says where they are
 *   example.tex   a document with all of it */
perp_status perp_page_tex(perp_page *page, const char *dir);

#endif
