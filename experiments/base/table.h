/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and wrapped text for people. */
#ifndef PERP_TABLE_H
#define PERP_TABLE_H

#include "experiments/base/memory.h"

#include <stdio.h>

enum { PERP_TABLE_COLUMNS = 16, PERP_TABLE_WIDTH = 80 };
/* Columns of a stream: those of its terminal, else COLUMNS where it is set, else 80; at least 40.
 */
int perp_width(FILE *out);
/* May colours and bold letters be used?  On a terminal, unless NO_COLOR is set or TERM is dumb. */
bool perp_may_colour(FILE *out);
typedef struct perp_table {
  int columns, n;
  bool right[PERP_TABLE_COLUMNS]; /* numbers */
  int fold;    /* so many of the first columns may become lines above the rows that share them */
  int spare;   /* so many of the last columns may be left out */
  bool strong; /* cells that end with a star are bold where the stream is a terminal */
  char **cell; /* [n] row by row, owned */
} perp_table;
/* The first row is the head; columns whose letter in align is 'r' are flush right. */
void perp_table_init(perp_table *table, const char *align);
/* The next cell of the row, then of the next one. */
void perp_table_put(perp_table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One row: `columns` strings, copied. */
void perp_table_row(perp_table *table, const char *const *text);
/* What does not fit in perp_width(out): the first columns become lines above the rows that share
 * them (fold), as far as that needs and first where rows share them; such rows are put together.
 * Then words lose their ends ("accel.", all of a column alike), the last columns go (spare; then
 * false is returned), and what is still too wide is shortened with "..", the widest first, where
 * texts do not differ; none of it further than they can be told apart. */
bool perp_table_print(const perp_table *table, FILE *out);
void perp_table_free(perp_table *table);
/* Text wrapped at that width, every line indented. */
void perp_wrap(FILE *out, int indent, const char *text);
void perp_wrapf(FILE *out, int indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same behind a label that is shorter than the indent. */
void perp_wrap_after(FILE *out, const char *label, int indent, const char *text);
/* Narrow columns with long names: the letter of name k at their head, and what the letters from ..
 * to - 1 are, "a=arch b=...". */
char perp_names_letter(int k);
void perp_names_legend(FILE *out, const perp_names *names, int from, int to);

#endif
