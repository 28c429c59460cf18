/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/csv.h"

#include "experiments/base/messages.h"
#include "experiments/base/memory.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"
#include "solvers/core/shown.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Unquote the field at *at in place, step behind it; *end is the delimiter that ended it. */
static char *next_field(char **at, char *end)
{
  char *from = *at, *to = from, *field = from;
  if (*from == '"') {
    from++;
    while (*from != '\0' && !(*from == '"' && from[1] != '"')) {
      if (*from == '"') from++;
      *to++ = *from++;
    }
    if (*from == '"') from++;
    while (*from != '\0' && *from != ',' && *from != '\n') from++;
  } else {
    while (*from != '\0' && *from != ',' && *from != '\n') from++;
    to = from > field && from[-1] == '\r' ? from - 1 : from;
  }
  *end = *from;
  *at = *from == '\0' ? from : from + 1;
  *to = '\0';
  return perp_shown_clean(field);
}

perp_status perp_csv_read(perp_ctx *ctx, const char *path, perp_csv *table)
{
  *table = (perp_csv){ 0 };
  size_t size;
  table->text = perp_read_file(path, &size);
  if (table->text == NULL) perp_say_unread(path);
  if (table->text == NULL)
    return PERP_FAIL(ctx, PERP_ERR_IO, "%s: %s", path, perp_input_why(errno));
  if (strlen(table->text) != size) {
    perp_csv_free(table);
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: not a text file", path);
  }

  /* an upper bound of the number of fields: every delimiter ends one */
  size_t most = 1;
  for (const char *text = table->text; *text != '\0'; text++) most += *text == ',' || *text == '\n';
  char **all = perp_xalloc(most, sizeof *all);
  table->header = all;
  char *at = table->text, end = ',';
  int count = 0, line = 1, in_row = 0;
  while (*at != '\0') {
    all[count++] = next_field(&at, &end);
    in_row++;
    if (end == ',' && *at != '\0') continue;
    if (line == 1) table->columns = in_row;
    if (in_row != table->columns) {
      int columns = table->columns;
      perp_csv_free(table);
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: the line has %d fields, but the header has %d",
                       path, line, in_row, columns);
    }
    if (line > 1) table->rows++;
    line++;
    in_row = 0;
  }
  if (table->columns == 0) {
    perp_csv_free(table);
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: no header line", path);
  }
  table->field = all + table->columns;
  return PERP_OK;
}

void perp_csv_free(perp_csv *table)
{
  free(table->header);
  free(table->text);
  *table = (perp_csv){ 0 };
}

int perp_csv_field(const perp_csv *table, const char *name)
{
  size_t n = strlen(name);
  for (int column = 0; column < table->columns; column++)
    if (strncmp(table->header[column], name, n) == 0 &&
        (table->header[column][n] == '[' || table->header[column][n] == '\0'))
      return column;
  return -1;
}

const char *perp_csv_text(const perp_csv *table, int row, int column)
{
  return column < 0 ? "" : table->field[(size_t)row * (size_t)table->columns + (size_t)column];
}

double perp_csv_number(const perp_csv *table, int row, int column)
{
  return perp_real_of(perp_csv_text(table, row, column));
}
