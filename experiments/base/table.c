/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and running text for a terminal. */
#include "experiments/base/table.h"

#include "experiments/base/memory.h"
#include "solvers/core/shown.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char *printed(const char *fmt, va_list ap)
{
  perp_text text = { 0 };
  perp_text_vadd(&text, fmt, ap);
  perp_shown_clean(text.s); /* names of others are in it */
  return text.s != NULL ? text.s : perp_xstrdup("");
}

void perp_table_init(perp_table *table, const char *align)
{
  *table = (perp_table){ .columns = (int)strlen(align) };
  if (table->columns > PERP_TABLE_COLUMNS) table->columns = PERP_TABLE_COLUMNS;
  for (int column = 0; column < table->columns; column++)
    table->right[column] = align[column] == 'r';
}

void perp_table_put(perp_table *table, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  table->cell = perp_xrealloc(table->cell, (size_t)table->n + 1, sizeof *table->cell);
  table->cell[table->n++] = printed(fmt, ap);
  va_end(ap);
}

void perp_table_row(perp_table *table, const char *const *text)
{
  for (int column = 0; column < table->columns; column++)
    perp_table_put(table, "%s", text[column] != NULL ? text[column] : "");
}

/* Columns of a terminal that a UTF-8 text takes (one each; no combining marks in our texts). */
static int width_of(const char *text)
{
  int n = 0;
  for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

/* The same text as far as both go. */
static int common_start(const char *a, const char *b)
{
  int n = 0;
  while (a[n] != '\0' && a[n] == b[n]) n++;
  while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80) n--; /* whole characters */
  return n;
}

/* The first `columns` columns of a text, in bytes. */
static int bytes_of(const char *text, int columns)
{
  int i = 0;
  for (int n = 0; text[i] != '\0'; i++) {
    n += ((unsigned char)text[i] & 0xc0) != 0x80;
    if (n > columns) break;
  }
  return i;
}

/* What of a long text stays behind its beginning. */
enum keep { KEEP_END, KEEP_DIFFERENCE };

/* A text in `width` columns: what it shares with others of its column is left out behind its
 * beginning.  shared: bytes that it has in common with another one at its start.  What differs is
 * kept from the word on in which it does. */
static char *shortened(const char *text, int shared, int width, enum keep keep)
{
  const int dots = 2, room = width - dots, least = room / 2 < 5 ? room / 2 : 5;
  if (width_of(text) <= width) return perp_xstrdup(text);
  int from = shared;
  while (from > 0 && strchr(":,= ", text[from - 1]) == NULL) from--;
  if (shared < least) from = 0;
  int tail = from == 0 ? 0 : width_of(text + from);
  if (tail > room - least) {
    tail = room - least;
    if (keep == KEEP_END) /* its last letters */
      from = bytes_of(text, width_of(text) - tail);
  }
  return perp_xprintf("%.*s..%.*s", bytes_of(text, room - tail), text, bytes_of(text + from, tail),
                      text + from);
}

/* Bytes that the text in a cell shares with the nearest other one of its column. */
static int shared_start(const perp_table *table, int cell)
{
  int most = 0;
  for (int i = cell % table->columns + table->columns; i < table->n; i += table->columns) {
    const int n = strcmp(table->cell[i], table->cell[cell]) != 0
                      ? common_start(table->cell[i], table->cell[cell])
                      : 0;
    if (n > most) most = n;
  }
  return most;
}

/* Are all different texts of a column still different in this width? */
static bool told_apart(const perp_table *table, int column, int width, enum keep keep)
{
  const int rows = table->n / table->columns;
  char **text = perp_xalloc((size_t)rows + 1, sizeof *text);
  bool apart = true;
  for (int row = 1; row < rows; row++) {
    const int cell = row * table->columns + column;
    text[row] = shortened(table->cell[cell], shared_start(table, cell), width, keep);
    for (int i = 1; i < row && apart; i++)
      apart = strcmp(text[i], text[row]) != 0 ||
              strcmp(table->cell[i * table->columns + column], table->cell[cell]) == 0;
  }
  for (int row = 1; row < rows; row++) free(text[row]);
  free(text);
  return apart;
}

int perp_width(FILE *out)
{
  enum { LEAST = 40, MOST = 400 };
  struct winsize size;
  int width = 0;
  const int before = errno; /* to ask is no error of whoever prints */
  const int fd = fileno(out);
  if (fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  errno = before;
  const char *columns = getenv("COLUMNS");
  if (width == 0 && columns != NULL) width = atoi(columns);
  if (width == 0) width = PERP_TABLE_WIDTH;
  return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

bool perp_may_colour(FILE *out)
{
  const int before = errno, fd = fileno(out);
  const bool terminal = fd >= 0 && isatty(fd);
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  errno = before;
  return terminal && (none == NULL || none[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

/* ---- shorter words ---- */

enum { LEAST_WORD = 5 };

/* The text with no word, a run of letters, of more than `limit` letters: what is longer keeps its
 * beginning and gets a point. */
static char *abbreviated(const char *word, int limit)
{
  perp_text text = { 0 };
  perp_text_put(&text, "", 0);
  while (*word != '\0') {
    int n = 0;
    while (isalpha((unsigned char)word[n])) n++;
    if (n > limit)
      perp_text_add(&text, "%.*s.", limit - 1, word);
    else
      perp_text_put(&text, word, (size_t)(n > 0 ? n : 1));
    word += n > 0 ? n : 1;
  }
  return text.s;
}

/* Its column with such words; false, and nothing changed: they could not be told apart. */
static bool table_abbreviate(perp_table *table, const perp_table *whole, int column, int limit)
{
  const int rows = table->n / table->columns;
  perp_table tried = { .columns = 1, .n = rows };
  tried.cell = perp_xalloc((size_t)rows, sizeof *tried.cell);
  for (int row = 0; row < rows; row++)
    tried.cell[row] = abbreviated(whole->cell[row * table->columns + column], limit);
  bool apart = true;
  for (int row = 1; row < rows; row++)
    for (int i = 1; i < row && apart; i++)
      apart = strcmp(tried.cell[i], tried.cell[row]) != 0 ||
              strcmp(whole->cell[i * table->columns + column],
                     whole->cell[row * table->columns + column]) == 0;
  for (int row = 0; row < rows; row++) {
    char **cell = &table->cell[row * table->columns + column], *other = *cell;
    if (apart) *cell = tried.cell[row];
    free(apart ? other : tried.cell[row]);
  }
  free(tried.cell);
  return apart;
}

static int column_width(const perp_table *table, int column)
{
  int width = 0;
  for (int i = column; i < table->n; i += table->columns) {
    const int w = width_of(table->cell[i]);
    width = w > width ? w : width;
  }
  return width;
}

static int table_width(const perp_table *table)
{
  int total = 2 * (table->columns - 1);
  for (int column = 0; column < table->columns; column++) total += column_width(table, column);
  return total;
}

/* Shorter words, the widest column first, until the table fits or no column can do with shorter
 * ones. */
static void table_words(perp_table *table, const perp_table *whole, int most)
{
  int limit[PERP_TABLE_COLUMNS];
  for (int column = 0; column < table->columns; column++)
    limit[column] = table->right[column] ? 0 : column_width(table, column);
  while (table_width(table) > most) {
    int widest = -1;
    for (int column = 0; column < table->columns; column++)
      if (limit[column] >= LEAST_WORD &&
          (widest < 0 || column_width(table, column) > column_width(table, widest)))
        widest = column;
    if (widest < 0) return;
    if (!table_abbreviate(table, whole, widest, limit[widest]--)) limit[widest] = 0;
  }
}

/* ---- rows that share their first columns ---- */

static bool table_same(const perp_table *table, int a, int b, int columns)
{
  for (int column = 0; column < columns; column++)
    if (strcmp(table->cell[a * table->columns + column],
               table->cell[b * table->columns + column]) != 0)
      return false;
  return true;
}

/* The rows below the head so that those with the same first columns stand together, in the order in
 * which such groups begin; their number. */
static int table_groups(const perp_table *table, int fold, int *order)
{
  const int rows = table->n / table->columns;
  bool *taken = perp_xalloc((size_t)rows + 1, sizeof *taken);
  int groups = 0, n = 0;
  for (int row = 1; row < rows; row++) {
    if (taken[row]) continue;
    groups++;
    for (int b = row; b < rows; b++)
      if (!taken[b] && table_same(table, row, b, fold)) {
        order[n++] = b;
        taken[b] = true;
      }
  }
  free(taken);
  return groups;
}

static void print_shared(const perp_table *table, int row, int fold, FILE *out)
{
  perp_text line = { 0 };
  for (int c = 0; c < fold; c++)
    perp_text_add(&line, "%s%s", c > 0 ? ", " : "", table->cell[row * table->columns + c]);
  perp_wrap(out, 0, line.s);
  perp_text_free(&line);
}

/* ---- printing ---- */

/* The widths of the columns, shortened until the table fits where texts allow it. */
static void table_widths(const perp_table *table, int most, int *width, enum keep *keep)
{
  int total = 2 * (table->columns - 1);
  bool fixed[PERP_TABLE_COLUMNS] = { false };
  for (int column = 0; column < table->columns; column++)
    total += width[column] = column_width(table, column);
  while (total > most) {
    int widest = -1;
    for (int column = 0; column < table->columns; column++)
      if (!fixed[column] && !table->right[column] && width[column] > 6 &&
          (widest < 0 || width[column] > width[widest]))
        widest = column;
    if (widest < 0) break;
    keep[widest] = KEEP_END;
    if (!told_apart(table, widest, width[widest] - 1, KEEP_END)) keep[widest] = KEEP_DIFFERENCE;
    if (keep[widest] == KEEP_DIFFERENCE &&
        !told_apart(table, widest, width[widest] - 1, KEEP_DIFFERENCE)) {
      fixed[widest] = true;
      keep[widest] = told_apart(table, widest, width[widest], KEEP_END) ? KEEP_END
                                                                        : KEEP_DIFFERENCE;
      continue;
    }
    width[widest]--;
    total--;
  }
}

/* A line without the blanks at its end. */
static void print_line(perp_text *line, FILE *out)
{
  while (line->n > 0 && line->s[line->n - 1] == ' ') line->s[--line->n] = '\0';
  fprintf(out, "%s\n", line->s);
  line->n = 0;
}

/* Row by row; before row k come the lines that it shares with others.  whole: with the columns that
 * became lines. */
static void table_rows(const perp_table *table, const perp_table *whole, const int *order, int fold,
                       int most, FILE *out)
{
  int width[PERP_TABLE_COLUMNS] = { 0 };
  enum keep keep[PERP_TABLE_COLUMNS] = { KEEP_END };
  const int indent = fold > 0 ? 2 : 0;
  const bool strong = table->strong && perp_may_colour(out);
  table_widths(table, most, width, keep);
  perp_text line = { 0 };
  for (int row = 0; row < table->n / table->columns; row++) {
    if (fold > 0 && (row < 2 || !table_same(whole, order[row], order[row - 1], fold)))
      print_shared(whole, order[row], fold, out);
    perp_text_add(&line, "%*s", indent, "");
    for (int column = 0; column < table->columns; column++) {
      const int cell = row * table->columns + column;
      char *at = shortened(table->cell[cell], row == 0 ? 0 : shared_start(table, cell),
                           width[column], keep[column]);
      const int w = width_of(at), pad = width[column] > w ? width[column] - w : 0;
      const bool bold = strong && w > 0 && at[strlen(at) - 1] == '*';
      perp_text_add(&line, "%*s%s%s%s%*s", table->right[column] ? pad : 0, "",
                    bold ? "\033[1m" : "", at, bold ? "\033[0m" : "",
                    (table->right[column] ? 0 : pad) + (column + 1 < table->columns ? 2 : 0), "");
      free(at);
    }
    print_line(&line, out);
    if (row > 0) continue;
    perp_text_add(&line, "%*s", indent, ""); /* a line below the head */
    for (int column = 0; column < table->columns; column++) {
      for (int dash = 0; dash < width[column]; dash++) perp_text_put(&line, "-", 1);
      if (column + 1 < table->columns) perp_text_put(&line, "  ", 2);
    }
    print_line(&line, out);
  }
  perp_text_free(&line);
}

/* The columns from `fold` to before `columns`, rows in another order. */
static perp_table table_part(const perp_table *table, const int *order, int fold, int columns)
{
  perp_table part = { .columns = columns - fold, .strong = table->strong };
  const int rows = table->n / table->columns;
  memcpy(part.right, table->right + fold, (size_t)part.columns * sizeof *part.right);
  part.cell = perp_xalloc((size_t)(rows * part.columns) + 1, sizeof *part.cell);
  for (int row = 0; row < rows; row++)
    for (int column = fold; column < columns; column++)
      part.cell[part.n++] = perp_xstrdup(table->cell[order[row] * table->columns + column]);
  return part;
}

/* How hard it is tried to make a table fit, from the best to read on. */
enum effort { WORDS = 1, ALONE = 2, DROP = 4, CUT = 8 };

/* With so many of the first columns as lines (ALONE: also where few rows share one), with shorter
 * WORDS, without the last columns (DROP), with texts CUT. False, and nothing printed: it does not
 * fit. */
static bool table_try(const perp_table *table, int fold, unsigned effort, FILE *out)
{
  const int rows = table->n / table->columns, most = perp_width(out) - (fold > 0 ? 2 : 0);
  int *order = perp_xalloc((size_t)rows, sizeof *order); /* order[0]: the head */
  for (int row = 1; row < rows; row++) order[row] = row;
  bool good = fold == 0 || 3 * table_groups(table, fold, order + 1) <= 2 * (rows - 1) ||
              (effort & ALONE) != 0;
  if (good) {
    const int columns = table->columns - ((effort & DROP) != 0 ? table->spare : 0);
    perp_table whole = table_part(table, order, fold, columns),
               part = table_part(table, order, fold, columns);
    if ((effort & WORDS) != 0) table_words(&part, &whole, most);
    good = (effort & CUT) != 0 || table_width(&part) <= most;
    if (good) table_rows(&part, table, order, fold, most, out);
    perp_table_free(&part);
    perp_table_free(&whole);
  }
  free(order);
  return good;
}

bool perp_table_print(const perp_table *table, FILE *out)
{
  static const unsigned efforts[] = {
    0, WORDS, ALONE, ALONE | WORDS, DROP | ALONE, DROP | ALONE | WORDS
  };
  if (table->n == 0) return true;
  for (size_t e = 0; e < sizeof efforts / sizeof *efforts; e++)
    for (int fold = 0; fold <= table->fold; fold++)
      if (table_try(table, fold, efforts[e], out))
        return table->spare == 0 || (efforts[e] & DROP) == 0;
  for (int fold = table->fold; fold >= 0; fold--)
    if (table_try(table, fold, WORDS | DROP | CUT, out)) break;
  return table->spare == 0;
}

void perp_table_free(perp_table *table)
{
  for (int i = 0; i < table->n; i++) free(table->cell[i]);
  free(table->cell);
  *table = (perp_table){ 0 };
}

/* column: where the line stands, 0: it is empty; up to the indent there is no word yet */
static void wrap_from(FILE *out, int column, int indent, const char *text)
{
  const int width = perp_width(out);
  while (*text != '\0') {
    while (*text == ' ') text++;
    size_t n = strcspn(text, " \n");
    if (n > 0) {
      char word[512];
      snprintf(word, sizeof word, "%.*s", (int)n, text);
      int w = width_of(word);
      if (column > indent && column + 1 + w > width) {
        putc('\n', out);
        column = 0;
      }
      if (column == 0)
        column = fprintf(out, "%*s", indent, "");
      else if (column > indent)
        column += fprintf(out, " ");
      fputs(word, out);
      column += w;
      text += n;
    }
    if (*text == '\n') {
      putc('\n', out);
      column = 0;
      text++;
    }
  }
  if (column > 0) putc('\n', out);
}

void perp_wrap(FILE *out, int indent, const char *text)
{
  wrap_from(out, 0, indent, text);
}

char perp_names_letter(int k)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return letters[k % (int)(sizeof letters - 1)];
}

void perp_names_legend(FILE *out, const perp_names *names, int from, int to)
{
  perp_text line = { 0 };
  for (int k = from; k < to; k++)
    perp_text_add(&line, "%s%c=%s", k > from ? " " : "", perp_names_letter(k), names->text[k]);
  perp_wrap(out, 2, line.s);
  perp_text_free(&line);
}

void perp_wrapf(FILE *out, int indent, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *text = printed(fmt, ap);
  va_end(ap);
  wrap_from(out, 0, indent, text);
  free(text);
}

void perp_wrap_after(FILE *out, const char *label, int indent, const char *text)
{
  wrap_from(out, fprintf(out, "%-*s", indent, label), indent, text);
}
