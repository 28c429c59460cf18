/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics and parameters in words, for axes and menus: names with dots are for files and
 * expressions. */
#ifndef PERP_WORDS_H
#define PERP_WORDS_H

/* "largest error of the tip" of "err.tip.max"; the name itself when there are no words for it. */
const char *perp_words(const char *name);
/* The same without "largest", to stand after "smallest": "error of the tip" */
const char *perp_words_ranked(const char *name);

#endif
