/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Markdown of lessons on a terminal. */
#ifndef PERP_LESSON_TEXT_H
#define PERP_LESSON_TEXT_H

#include "experiments/base/memory.h"

#include <stdio.h>

/* The text below the heading "# NAME", in pool; NULL: there is none. */
const char *perp_lesson_section(perp_pool *pool, const char *markdown, const char *name);
/* A text with `code`, *emphasis* and $mathematics$ in ASCII, in pool. */
const char *perp_lesson_plain(perp_pool *pool, const char *text);
/* Markdown, wrapped at the width of the terminal. */
void perp_lesson_print(perp_pool *pool, const char *markdown, FILE *out);

#endif
