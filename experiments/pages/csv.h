/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of text read from CSV files (RFC 4180 quoting), numbers on demand. */
#ifndef PERP_REPORT_CSV_H
#define PERP_REPORT_CSV_H

#include "solvers/core/core.h"

typedef struct perp_csv {
  int rows, columns;
  char **header; /* [columns] */
  char **field;  /* [rows * columns] row-major */
  char *text;    /* what header and field point into */
} perp_csv;

/* Read a CSV file with a header line.  PERP_ERR_IO when it cannot be read, PERP_ERR_FORMAT with the
 * line when a row has another number of fields; *table is then empty. */
perp_status perp_csv_read(perp_ctx *ctx, const char *path, perp_csv *table);
void perp_csv_free(perp_csv *table);

/* By name, without regard to a unit in the header: "t" finds "t[s]"; -1 when there is none. */
int perp_csv_field(const perp_csv *table, const char *name);
/* "" for column -1 */
const char *perp_csv_text(const perp_csv *table, int row, int column);
/* NaN for column -1, empty fields and text that is not a number */
double perp_csv_number(const perp_csv *table, int row, int column);

#endif
