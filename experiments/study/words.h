/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics and parameters in words, for axes and menus: names with dots are for files and
 * expressions. */
#ifndef PERP_WORDS_H
#define PERP_WORDS_H

#include "experiments/base/memory.h"
#include "solvers/core/core.h"

/* "largest error of the tip" of "err.tip.max"; the name itself when there are no words for it. */
const char *perp_words(const char *name);
/* The same without "largest", to stand after "smallest": "error of the tip" */
const char *perp_words_ranked(const char *name);

/* The choice `text` of the parameter `key` in words, with units: "Baumgarte, α = 50 1/s" of "stab"
 * and "baumgarte:alpha=50", "no stabilization" of "stab" and "none".  From pool; a plug-in that is
 * not known is named as it is written. */
const char *perp_words_choice(const perp_ctx *ctx, perp_pool *pool, const char *key, bool plugin,
                              perp_kind kind, const char *text);

#endif
