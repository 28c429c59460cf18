/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics and parameters in words, for axes and menus: names with dots are for files and expressions. */
#ifndef PERP_WORDS_H
#define PERP_WORDS_H

/* "largest error of the tip" of "err.tip.max"; the name itself when there are no words for it. */
const char *perp_words(const char *name);

#endif
