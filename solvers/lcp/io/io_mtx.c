/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix Market: coordinate and array, real and integer, general, symmetric and skew-symmetric.
 *
 * One matrix holds a problem as [A b] (n x (n + 1), pure LCP) or [A b lo hi] (n x (n + 3)); an n x
 * n matrix is A, with b (n x 1) in the second file NAME_b.mtx.  Infinite bounds are written inf and
 * -inf. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/io/io_matrix.h"
#include "solvers/lcp/io/io_scan.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct header {
  bool coordinate;
  int sign; /* 0 general, 1 symmetric, -1 skew-symmetric */
  int rows, columns, entries;
};

/* Banner and sizes.  The banner starts with the comment character, so its words are taken from the
 * raw line. */
static perp_status read_header(perp_scan *scan, struct header *header)
{
  char line[200], object[40], format[40], field[40], symmetry[40];
  size_t n = 0;
  *header = (struct header){ 0 };
  for (; scan->at < scan->end && *scan->at != '\n'; scan->at++)
    if (n + 1 < sizeof line) line[n++] = isprint((unsigned char)*scan->at) ? *scan->at : ' ';
  line[n] = '\0';
  char *at = line;
  for (; *at != '\0'; at++) *at = (char)tolower((unsigned char)*at);
  if (sscanf(line, "%%%%matrixmarket %39s %39s %39s %39s", object, format, field, symmetry) != 4)
    return perp_scan_fail(
        scan, 1,
        "the Matrix Market banner needs four words, for example matrix coordinate real general");
  if (strcmp(object, "matrix") != 0)
    return perp_scan_fail(scan, 1, "Matrix Market object '%s' is not supported; it must be matrix",
                          object);
  header->coordinate = strcmp(format, "coordinate") == 0;
  if (!header->coordinate && strcmp(format, "array") != 0)
    return perp_scan_fail(scan, 1, "unknown Matrix Market format '%s' (valid: coordinate, array)",
                          format);
  if (strcmp(field, "real") != 0 && strcmp(field, "integer") != 0 && strcmp(field, "double") != 0)
    return perp_scan_fail(
        scan, 1, "Matrix Market field '%s' is not supported (valid: real, integer, double)", field);
  header->sign = strcmp(symmetry, "symmetric") == 0        ? 1
                 : strcmp(symmetry, "skew-symmetric") == 0 ? -1
                                                           : 0;
  if (header->sign == 0 && strcmp(symmetry, "general") != 0)
    return perp_scan_fail(
        scan, 1, "unknown Matrix Market symmetry '%s' (valid: general, symmetric, skew-symmetric)",
        symmetry);
  PERP_TRY(perp_scan_int(scan, "the number of rows", 1, INT_MAX - 3, &header->rows));
  PERP_TRY(perp_scan_int(scan, "the number of columns", 1, INT_MAX, &header->columns));
  double rows = header->rows, columns = header->columns, words;
  if (header->coordinate) {
    PERP_TRY(perp_scan_int(scan, "the number of entries", 0, INT_MAX, &header->entries));
    words = 3.0 * header->entries;
  } else
    words = header->sign == 0  ? rows * columns
            : header->sign > 0 ? rows * (rows + 1) / 2
                               : rows * (rows - 1) / 2;
  if (header->sign != 0 && header->rows != header->columns)
    return perp_scan_fail(scan, scan->word_line,
                          "a symmetric matrix must be square, but it is %d x %d", header->rows,
                          header->columns);
  return perp_scan_afford(scan, "the matrix", words);
}

/* Where entries go: those of A into m where it is there, else into x.A. */
struct places {
  perp_ctx *ctx;
  perp_lcp_arrays x;
  perp_io_matrix *m;
  int n;
};

/* One entry to its place: columns n, n + 1, n + 2 are b, lo, hi. */
static perp_status io_mtx_place(const struct places *to, int i, int j, double v)
{
  const perp_lcp_arrays arrays = to->x;
  const int n = to->n;
  if (j < n && to->m != NULL) return perp_io_matrix_add(to->ctx, to->m, i, j, v, 0);
  if (j < n)
    arrays.A[(size_t)i + (size_t)j * (size_t)n] = v;
  else if (j == n)
    arrays.b[i] = v;
  else if (j == n + 1)
    arrays.lo[i] = v;
  else
    arrays.hi[i] = v;
  return PERP_OK;
}

/* what: the name of an entry of A or b in messages */
static perp_status read_entries(perp_scan *scan, const struct header *header,
                                const struct places *to, const char *what)
{
  const int n = to->n;
  int i, j;
  double v;
  bool beside = header->columns != n + 1;
  if (header->coordinate) {
    for (int k = 0; k < header->entries; k++) {
      PERP_TRY(perp_scan_int(scan, "a row index", 1, header->rows, &i));
      PERP_TRY(perp_scan_int(scan, "a column index", 1, header->columns, &j));
      PERP_TRY(j > n + 1 ? perp_scan_bound(scan, "a bound", &v) : perp_scan_real(scan, what, &v));
      PERP_TRY(io_mtx_place(to, i - 1, j - 1, v));
      beside = beside || j > n;
      if (header->sign != 0 && i != j) PERP_TRY(io_mtx_place(to, j - 1, i - 1, header->sign * v));
    }
    if (beside) return PERP_OK;
    return perp_scan_fail(scan, scan->word_line,
                          "a matrix of %d x %d is [A b], but its last column, b, has no entry; "
                          "write those of b, also where they are 0",
                          header->rows, header->columns);
  }
  for (j = 0; j < header->columns; j++)
    for (i = header->sign == 0 ? 0 : header->sign > 0 ? j : j + 1; i < header->rows; i++) {
      PERP_TRY(j > n ? perp_scan_bound(scan, "a bound", &v) : perp_scan_real(scan, what, &v));
      PERP_TRY(io_mtx_place(to, i, j, v));
      if (header->sign != 0 && i != j) PERP_TRY(io_mtx_place(to, j, i, header->sign * v));
    }
  return PERP_OK;
}

/* The line of the last bound of a row, in entries that have been read without complaint from `t`
 * on. */
static int line_of_bound(perp_scan scan, const struct header *header, int row, int n)
{
  int i = 0, j = 0, line = scan.line;
  double v;
  scan.ctx = NULL;
  size_t count = header->coordinate ? (size_t)header->entries
                                    : (size_t)header->rows * (size_t)header->columns;
  for (size_t k = 0; k < count; k++) {
    if (header->coordinate) {
      perp_scan_int(&scan, "", 1, header->rows, &i);
      perp_scan_int(&scan, "", 1, header->columns, &j);
    } else {
      i = (int)(k % (size_t)header->rows) + 1;
      j = (int)(k / (size_t)header->rows) + 1;
    }
    perp_scan_bound(&scan, "", &v);
    if (i == row + 1 && j > n + 1) line = scan.word_line;
  }
  return line;
}

/* All entries, of A as sparse as they come; the last one of those at one place stands. */
static perp_status io_mtx_read_matrix(perp_scan *scan, const struct header *header,
                                      perp_lcp_problem *out)
{
  perp_io_matrix matrix;
  const int n = header->rows;
  struct places to = { .ctx = scan->ctx, .x = perp_lcp_edit(out), .n = n };
  if (!header->coordinate) return read_entries(scan, header, &to, "an entry");
  perp_io_matrix_open(n, n, &matrix);
  to.m = &matrix;
  perp_status status = read_entries(scan, header, &to, "an entry");
  if (status == PERP_OK)
    status = perp_io_matrix_close(scan->ctx, &matrix, PERP_TWICE_REPLACES, NULL);
  if (status == PERP_OK) status = perp_io_matrix_into(scan->ctx, &matrix, out);
  perp_io_matrix_free(&matrix);
  return status;
}

/* b from the second file, a matrix of n x 1 */
static perp_status read_companion(perp_ctx *ctx, const char *name, const char *data, size_t size,
                                  int n, double *b)
{
  perp_scan scan;
  struct header header;
  PERP_TRY(perp_scan_open(ctx, name, data, size, '%', &scan));
  perp_status status = size > 14 && memcmp(data, "%%MatrixMarket", 14) == 0
                           ? read_header(&scan, &header)
                           : perp_scan_fail(&scan, 1, "the file is not a Matrix Market file");
  if (status == PERP_OK && (header.rows != n || header.columns != 1))
    status = perp_scan_fail(&scan, scan.word_line, "b is %d x %d but A has %d rows", header.rows,
                            header.columns, n);
  if (status == PERP_OK) /* its one column is that of an A of one column */
    status = read_entries(&scan, &header, &(struct places){ .x.A = b, .n = 1 }, "b");
  perp_scan_close(&scan);
  return status;
}

perp_status perp_lcp_read_mtx(perp_scan *scan, const char *companion, size_t companion_size,
                              const char *companion_name, perp_lcp_problem *out)
{
  struct header header;
  PERP_TRY(read_header(scan, &header));
  int n = header.rows, extra = header.columns - n;
  if (extra != 0 && extra != 1 && extra != 3)
    return perp_scan_fail(scan, scan->word_line,
                          "%d x %d is neither A (n x n), [A b] nor [A b lo hi]", header.rows,
                          header.columns);
  if (extra != 0 && companion != NULL)
    return perp_scan_fail(scan, scan->word_line, "A must be square where %s has b: it is %d x %d",
                          companion_name, header.rows, header.columns);
  if (extra == 0 && companion == NULL)
    return perp_scan_fail(scan, scan->word_line, "no right-hand side: %s%s",
                          companion_name != NULL ? companion_name : "a second file with b",
                          " is missing");
  PERP_TRY(perp_scan_afford(scan, "the rows", n / 3.0));
  PERP_TRY(perp_lcp_problem_new(scan->ctx, n, extra == 3 ? PERP_PART_BOUNDS : 0u, out));
  if (!header.coordinate) PERP_TRY(perp_lcp_problem_add_dense(scan->ctx, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  if (extra == 3)
    for (int i = 0; i < n; i++) arrays.hi[i] = 0; /* what a coordinate file leaves out is zero */
  perp_scan entries = *scan;
  PERP_TRY(io_mtx_read_matrix(scan, &header, out));
  if (extra == 0)
    PERP_TRY(read_companion(scan->ctx, companion_name, companion, companion_size, n, arrays.b));
  char word[8];
  if (perp_scan_word(scan, word, sizeof word))
    return perp_scan_fail(scan, scan->word_line, "there are more numbers than the header declares");
  for (int i = 0; extra == 3 && i < n; i++)
    if (!(arrays.lo[i] <= arrays.hi[i]))
      return perp_scan_fail(scan, line_of_bound(entries, &header, i, n),
                            "row %d: lo = %g, hi = %g; lo <= hi is required", i + 1, arrays.lo[i],
                            arrays.hi[i]);
  snprintf(out->family, sizeof out->family, "matrix-market");
  return PERP_OK;
}

static void write_entry(FILE *file, int i, int j, double v)
{
  char text[40];
  perp_format_real(v, text, sizeof text);
  fprintf(file, "%d %d %s\n", i + 1, j + 1, text);
}

perp_status perp_lcp_write_mtx(perp_ctx *ctx, const perp_lcp_problem *problem, FILE *file)
{
  for (int i = 0; problem->p.fric_of != NULL && i < problem->p.n; i++)
    if (problem->p.fric_of[i] >= 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "Matrix Market files cannot store friction rows; write a .lcp file");
  perp_lcp_problem formed = { 0 };
  if (problem->p.F != NULL) PERP_TRY(perp_lcp_problem_form(ctx, problem, &formed));
  const perp_lcp *lcp = problem->p.F != NULL ? &formed.p : &problem->p;
  int n = lcp->n;
  bool bounds = lcp->lo != NULL || lcp->hi != NULL;
  long long entries = bounds ? 3LL * n : n;
  for (size_t k = 0; lcp->A != NULL && k < (size_t)n * (size_t)n; k++) entries += lcp->A[k] != 0;
  if (lcp->C != NULL) entries += lcp->C->start[n];
  fprintf(file,
          "%%%%MatrixMarket matrix coordinate real general\n%% [A b%s], w = A lambda + b%s%s\n",
          bounds ? " lo hi" : "", problem->family[0] ? "; " : "", problem->family);
  fprintf(file, "%d %d %lld\n", n, n + (bounds ? 3 : 1), entries);
  for (int j = 0; j < n; j++) {
    for (int i = 0; lcp->A != NULL && i < n; i++)
      if (lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda] != 0)
        write_entry(file, i, j, lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda]);
    for (int k = lcp->C != NULL ? lcp->C->start[j] : 0; lcp->C != NULL && k < lcp->C->start[j + 1];
         k++)
      write_entry(file, lcp->C->row[k], j, lcp->C->value[k]);
  }
  for (int j = n; j < n + (bounds ? 3 : 1); j++)
    for (int i = 0; i < n; i++)
      write_entry(file, i, j,
                  j == n       ? lcp->b[i]
                  : j == n + 1 ? (lcp->lo != NULL ? lcp->lo[i] : 0)
                               : (lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL));
  perp_lcp_problem_free(&formed);
  if (ferror(file)) return PERP_FAIL(ctx, PERP_ERR_IO, "writing failed");
  return PERP_OK;
}
