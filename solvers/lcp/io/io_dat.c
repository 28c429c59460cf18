/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Siconos text files: LCP, MLCP, relay, FC2D, FC3D and global FC2D, FC3D.
 *
 * They have no keyword.  A matrix is `storage` (0 dense, 1 blocks, 2 sparse), rows, columns, and
 *   dense   rows and columns once more, then the numbers in column-major order: a line of text is a
 * COLUMN blocks  number of blocks, block rows, block columns, their cumulated sizes, sizes of two
 * index arrays, the arrays (compressed block rows), then each block's number and its entries,
 * column-major sparse  origin (1 triplets, 2 columns, 3 rows), a banner line, "[triplet: ]m-by-n,
 * nzmax: X nnz: Y", then "i j : x" lines, or "col j : locations a to b" followed by "i : x" lines
 *
 *   LCP     n, A, b                                         w = A z + b
 *   relay   n, A, b, lo, hi
 *   MLCP    two flags, n, m, block starts, block types (0 equality, 1 complementarity), A, b, more
 *   FC      dimension, contacts, W, q, mu, maybe 0 or 1     u = W r + q, rows N, T (, S) of each
 * contact global  dimension, contacts, M, H, f, b, mu, maybe 0, 1 M v = H r + f,  u = H'v + b
 *
 * Which one it is follows from the first numbers; where several fit, the first that reads to the
 * end. */
#include "solvers/lcp/io/io_matrix.h"
#include "solvers/lcp/io/io_scan.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status read_dense(perp_scan *scan, perp_io_matrix *matrix)
{
  int rows, columns;
  double v;
  PERP_TRY(perp_scan_int(scan, "the number of rows", 0, INT_MAX, &rows));
  PERP_TRY(perp_scan_int(scan, "the number of columns", 0, INT_MAX, &columns));
  if (rows != matrix->rows || columns != matrix->columns)
    return perp_scan_fail(scan, scan->word_line, "a dense matrix of %d x %d in one of %d x %d",
                          rows, columns, matrix->rows, matrix->columns);
  PERP_TRY(perp_scan_afford(scan, "the matrix", (double)rows * columns));
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) {
      PERP_TRY(perp_scan_real(scan, "an entry of the matrix", &v));
      if (v != 0) PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, i, j, v, scan->word_line));
    }
  return PERP_OK;
}

/* Cumulated sizes that end at `total`; start [count + 1] out. */
static perp_status read_starts(perp_scan *scan, const char *what, int count, int total, int *start)
{
  start[0] = 0;
  for (int k = 0; k < count; k++)
    PERP_TRY(perp_scan_int(scan, what, start[k], total, &start[k + 1]));
  if (start[count] != total)
    return perp_scan_fail(scan, scan->word_line, "%s end at %d, not at %d", what, start[count],
                          total);
  return PERP_OK;
}

/* start: room for the starts of block rows and columns, then for both indices. */
static perp_status read_block_arrays(perp_scan *scan, perp_io_matrix *matrix, int blocks, int nr,
                                     int nc, int *start)
{
  int *rs = start, *cs = rs + nr + 1, *index2 = cs + nc + 1, *index1 = index2 + blocks;
  int filled1, filled2, number;
  PERP_TRY(read_starts(scan, "block rows", nr, matrix->rows, rs));
  PERP_TRY(read_starts(scan, "block columns", nc, matrix->columns, cs));
  PERP_TRY(perp_scan_int(scan, "the size of the first index", 1, nr + 1, &filled1));
  PERP_TRY(perp_scan_int(scan, "the size of the second index", blocks, blocks, &filled2));
  for (int k = 0; k < filled1; k++)
    PERP_TRY(
        perp_scan_int(scan, "a block row pointer", k > 0 ? index1[k - 1] : 0, blocks, &index1[k]));
  if (index1[0] != 0 || index1[filled1 - 1] != blocks)
    return perp_scan_fail(scan, scan->word_line, "the block row pointers do not span all blocks");
  for (int k = 0; k < filled2; k++)
    PERP_TRY(perp_scan_int(scan, "a block column", 0, nc - 1, &index2[k]));
  double v;
  for (int r = 0; r + 1 < filled1; r++)
    for (int k = index1[r]; k < index1[r + 1]; k++) {
      PERP_TRY(perp_scan_int(scan, "the number of a block", k, k, &number));
      for (int j = cs[index2[k]]; j < cs[index2[k] + 1]; j++)
        for (int i = rs[r]; i < rs[r + 1]; i++) {
          PERP_TRY(perp_scan_real(scan, "an entry of a block", &v));
          PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, i, j, v, scan->word_line));
        }
    }
  return PERP_OK;
}

static perp_status read_blocks(perp_scan *scan, perp_io_matrix *matrix)
{
  int blocks, nr, nc;
  PERP_TRY(perp_scan_int(scan, "the number of blocks", 0, INT_MAX, &blocks));
  PERP_TRY(perp_scan_int(scan, "the number of block rows", 0, matrix->rows, &nr));
  PERP_TRY(perp_scan_int(scan, "the number of block columns", 0, matrix->columns, &nc));
  PERP_TRY(perp_scan_afford(scan, "the blocks", 2.0 * blocks + nr + nc));
  int *start = calloc(2 * (size_t)nr + (size_t)nc + (size_t)blocks + 3, sizeof *start);
  if (start == NULL) return PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d blocks", blocks);
  perp_status status = read_block_arrays(scan, matrix, blocks, nr, nc, start);
  free(start);
  return status;
}

/* The word after a label, e.g. "nnz: 12" or "12," */
static perp_status labelled_int(perp_scan *scan, const char *label, int most, int *value)
{
  char word[64];
  int line = scan->line;
  while (perp_scan_word(scan, word, sizeof word) && scan->word_line <= line + 1) {
    if (strcmp(word, label) != 0) continue;
    if (!perp_scan_word(scan, word, sizeof word)) break;
    char *end;
    long v = strtol(word, &end, 10);
    if (end != word && (*end == '\0' || *end == ',') && v >= 0 && v <= most) {
      *value = (int)v;
      return PERP_OK;
    }
    break;
  }
  return perp_scan_fail(scan, scan->word_line, "expected '%s' with a number", label);
}

static perp_status io_dat_expect(perp_scan *scan, const char *what)
{
  char word[64];
  if (!perp_scan_word(scan, word, sizeof word)) word[0] = '\0';
  if (strcmp(word, what) != 0)
    return perp_scan_fail(scan, scan->word_line, "expected '%s', got '%s'", what, word);
  return PERP_OK;
}

static perp_status read_sparse(perp_scan *scan, perp_io_matrix *matrix)
{
  int origin, entries = 0, i, j, first, last;
  double v;
  PERP_TRY(perp_scan_int(scan, "the origin of a sparse matrix", 1, 3, &origin));
  char banner[16];
  if (!perp_scan_word(scan, banner, sizeof banner) || strcmp(banner, "CSparse") != 0)
    return perp_scan_fail(scan, scan->word_line, "expected the banner of CSparse");
  perp_scan_skip_line(scan);
  PERP_TRY(labelled_int(scan, "nnz:", INT_MAX, &entries));
  perp_scan_skip_line(scan); /* the 1-norm */
  PERP_TRY(perp_scan_afford(scan, "the entries", 2.0 * entries));
  if (origin == 1) {
    for (int k = 0; k < entries; k++) {
      PERP_TRY(perp_scan_int(scan, "a row index", 0, matrix->rows - 1, &i));
      PERP_TRY(perp_scan_int(scan, "a column index", 0, matrix->columns - 1, &j));
      PERP_TRY(io_dat_expect(scan, ":"));
      PERP_TRY(perp_scan_real(scan, "an entry", &v));
      PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, i, j, v, scan->word_line));
    }
    return PERP_OK;
  }
  int outer = origin == 2 ? matrix->columns : matrix->rows,
      inner = origin == 2 ? matrix->rows : matrix->columns;
  for (int c = 0; c < outer; c++) {
    PERP_TRY(io_dat_expect(scan, "col"));
    PERP_TRY(perp_scan_int(scan, "a column", c, c, &j));
    PERP_TRY(io_dat_expect(scan, ":"));
    PERP_TRY(io_dat_expect(scan, "locations"));
    PERP_TRY(perp_scan_int(scan, "a location", 0, INT_MAX, &first));
    PERP_TRY(io_dat_expect(scan, "to"));
    PERP_TRY(perp_scan_int(scan, "a location", first - 1, entries, &last));
    for (int k = first; k <= last; k++) {
      PERP_TRY(perp_scan_int(scan, "an index", 0, inner - 1, &i));
      PERP_TRY(io_dat_expect(scan, ":"));
      PERP_TRY(perp_scan_real(scan, "an entry", &v));
      PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, origin == 2 ? i : c, origin == 2 ? c : i, v,
                                  scan->word_line));
    }
  }
  return PERP_OK;
}

static perp_status io_dat_read_matrix(perp_scan *scan, perp_io_matrix *matrix)
{
  int storage, rows, columns;
  perp_io_matrix_open(0, 0, matrix);
  PERP_TRY(perp_scan_int(scan, "the storage of a matrix", 0, 2, &storage));
  PERP_TRY(perp_scan_int(scan, "the number of rows", 0, INT_MAX, &rows));
  PERP_TRY(perp_scan_int(scan, "the number of columns", 0, INT_MAX, &columns));
  PERP_TRY(perp_scan_afford(scan, "the matrix", fmax(rows, columns) / 3));
  perp_io_matrix_open(rows, columns, matrix);
  perp_status status = storage == 0   ? read_dense(scan, matrix)
                       : storage == 1 ? read_blocks(scan, matrix)
                                      : read_sparse(scan, matrix);
  /* entries of one place add up */
  if (status == PERP_OK) status = perp_io_matrix_close(scan->ctx, matrix, PERP_TWICE_ADDS, NULL);
  if (status != PERP_OK) perp_io_matrix_free(matrix);
  return status;
}

/* ---- the kinds ---- */

/* A square matrix of n rows into a new problem. */
static perp_status square_problem(perp_scan *scan, int n, unsigned parts, perp_lcp_problem *out)
{
  perp_io_matrix matrix;
  PERP_TRY(io_dat_read_matrix(scan, &matrix));
  perp_status status = PERP_OK;
  if (matrix.rows != n || matrix.columns != n)
    status = perp_scan_fail(scan, scan->word_line, "the matrix is %d x %d but n = %d", matrix.rows,
                            matrix.columns, n);
  if (status == PERP_OK) status = perp_scan_afford(scan, "q", n);
  if (status == PERP_OK) status = perp_lcp_problem_new(scan->ctx, n, parts, out);
  if (status == PERP_OK) status = perp_io_matrix_into(scan->ctx, &matrix, out);
  perp_io_matrix_free(&matrix);
  return status;
}

/* Are there `count` more numbers?  Does not move. */
static bool numbers_follow(perp_scan scan, int count)
{
  char word[64], *end;
  for (int k = 0; k < count; k++) {
    if (!perp_scan_word(&scan, word, sizeof word)) return false;
    strtod_l(word, &end, scan.c);
    if (end == word || *end != '\0') return false;
  }
  return true;
}

static perp_status io_dat_read_lcp(perp_scan *scan, perp_lcp_problem *out)
{
  int n;
  PERP_TRY(perp_scan_int(scan, "n", 1, INT_MAX, &n));
  PERP_TRY(square_problem(scan, n, PERP_PART_BOUNDS, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  PERP_TRY(perp_scan_reals(scan, "q", (size_t)n, arrays.b));
  snprintf(out->family, sizeof out->family, "siconos-lcp");
  if (n > INT_MAX / 2 || !numbers_follow(*scan, 2 * n)) { /* free text may follow */
    out->p.lo = out->p.hi = NULL;
    return PERP_OK;
  }
  for (int i = 0; i < n; i++) PERP_TRY(perp_scan_bound(scan, "lb", &arrays.lo[i]));
  for (int i = 0; i < n; i++) {
    PERP_TRY(perp_scan_bound(scan, "ub", &arrays.hi[i]));
    if (!(arrays.lo[i] <= arrays.hi[i]))
      return perp_scan_fail(scan, scan->word_line, "row %d: lb = %g, ub = %g; lb <= ub is required",
                            i, arrays.lo[i], arrays.hi[i]);
  }
  snprintf(out->family, sizeof out->family, "siconos-relay");
  return PERP_OK;
}

static perp_status read_mlcp(perp_scan *scan, perp_lcp_problem *out)
{
  enum { MOST = 64 };
  int flag, n, m, start[MOST + 1], blocks = 0, equalities = 0;
  bool equality[MOST];
  PERP_TRY(perp_scan_int(scan, "the first storage flag", 0, 1, &flag));
  PERP_TRY(perp_scan_int(scan, "the second storage flag", 0, 1, &flag));
  PERP_TRY(perp_scan_int(scan, "the number of equalities", 0, INT_MAX / 2, &n));
  PERP_TRY(perp_scan_int(scan, "the number of complementarities", 0, INT_MAX / 2, &m));
  if (n + m == 0) return perp_scan_fail(scan, scan->word_line, "the problem has no rows");
  PERP_TRY(perp_scan_int(scan, "the first block start", 0, 0, &start[0]));
  while (start[blocks] < n + m) {
    if (blocks == MOST) return perp_scan_fail(scan, scan->line, "more than %d blocks", MOST);
    PERP_TRY(perp_scan_int(scan, "a block start", start[blocks] + 1, n + m, &start[blocks + 1]));
    blocks++;
  }
  for (int k = 0; k < blocks; k++) {
    PERP_TRY(perp_scan_int(scan, "a block type", 0, 1, &flag));
    equality[k] = flag == 0;
    if (flag == 0) equalities += start[k + 1] - start[k];
  }
  if (equalities != n)
    return perp_scan_fail(scan, scan->word_line, "the blocks have %d equalities but n = %d",
                          equalities, n);
  PERP_TRY(square_problem(scan, n + m, PERP_PART_BOUNDS, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  PERP_TRY(perp_scan_reals(scan, "q", (size_t)(n + m), arrays.b));
  for (int k = 0; k < blocks; k++)
    for (int i = start[k]; equality[k] && i < start[k + 1]; i++) arrays.lo[i] = -HUGE_VAL;
  snprintf(out->family, sizeof out->family, "siconos-mlcp");
  return PERP_OK;
}

/* The vectors behind M = W (local), or M and H (global), into x: f, then b and mu. */
static perp_status read_friction_vectors(perp_scan *scan, int dim, int nc, perp_io_matrix *M,
                                         perp_io_matrix *H, double *x, perp_lcp_problem *out)
{
  const int dof = H != NULL ? M->rows : 0, m = dim * nc;
  double *f = x, *b = f + dof, *mu = b + m;
  PERP_TRY(perp_scan_reals(scan, "q", (size_t)dof, f));
  PERP_TRY(perp_scan_reals(scan, H != NULL ? "b" : "q", (size_t)m, b));
  for (int c = 0; c < nc; c++) {
    PERP_TRY(perp_scan_real(scan, "mu", &mu[c]));
    if (mu[c] < 0) return perp_scan_fail(scan, scan->word_line, "mu must be >= 0, got %g", mu[c]);
  }
  if (H == NULL) return perp_lcp_friction_problem(scan->ctx, dim, nc, M, b, mu, out);
  perp_status status = perp_lcp_condense(scan->ctx, dim, nc, M, H, f, b, mu, out);
  return status == PERP_ERR_FORMAT ? perp_scan_fail(scan, scan->word_line, "M is singular")
                                   : status;
}

/* The same, with a look at the sizes.  H NULL: local. */
static perp_status read_friction_data(perp_scan *scan, int dim, int nc, perp_io_matrix *M,
                                      perp_io_matrix *H, perp_lcp_problem *out)
{
  const int m = dim * nc, dof = H != NULL ? M->rows : 0;
  if (H == NULL && (M->rows != m || M->columns != m))
    return perp_scan_fail(scan, scan->word_line, "W is %d x %d, but %d contacts have %d rows",
                          M->rows, M->columns, nc, m);
  if (H != NULL && (M->columns != dof || H->rows != dof || H->columns != m))
    return perp_scan_fail(scan, scan->word_line, "M is %d x %d and H is %d x %d with %d contacts",
                          M->rows, M->columns, H->rows, H->columns, nc);
  PERP_TRY(perp_scan_afford(scan, H != NULL ? "f, b and mu" : "q and mu", (double)dof + m + nc));
  double *x = calloc((size_t)dof + (size_t)m + (size_t)nc + 1, sizeof *x);
  if (x == NULL) return PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", nc);
  perp_status status = read_friction_vectors(scan, dim, nc, M, H, x, out);
  free(x);
  return status;
}

/* Nothing, or the flag that Siconos writes there.  A plasticity problem of Siconos begins as one of
 * friction does, with eta in place of mu, and goes on with theta. */
static perp_status io_dat_friction_ends(perp_scan *scan, int nc)
{
  char word[64];
  if (!perp_scan_word(scan, word, sizeof word)) return PERP_OK;
  const bool flag = strcmp(word, "0") == 0 || strcmp(word, "1") == 0;
  if (flag && !perp_scan_word(scan, word, sizeof word)) return PERP_OK;
  return perp_scan_fail(
      scan, scan->word_line,
      "'%s' after the %d coefficients of friction: the file must end there (a plasticity "
      "problem has its angles there, and is not read)",
      word, nc);
}

static perp_status io_dat_read_friction(perp_scan *scan, bool global, perp_lcp_problem *out)
{
  int dim, nc;
  perp_io_matrix M, H = { 0 };
  PERP_TRY(perp_scan_int(scan, "the dimension", 2, 3, &dim));
  PERP_TRY(perp_scan_int(scan, "the number of contacts", 0, INT_MAX / 3, &nc));
  PERP_TRY(io_dat_read_matrix(scan, &M));
  perp_status status = global ? io_dat_read_matrix(scan, &H) : PERP_OK;
  if (status == PERP_OK) status = read_friction_data(scan, dim, nc, &M, global ? &H : NULL, out);
  perp_io_matrix_free(&M);
  perp_io_matrix_free(&H);
  if (status == PERP_OK) status = io_dat_friction_ends(scan, nc);
  if (status == PERP_OK)
    snprintf(out->family, sizeof out->family, "siconos-%sfc%dd", global ? "global-" : "", dim);
  return status;
}

static perp_status read_fc(perp_scan *scan, perp_lcp_problem *out)
{
  return io_dat_read_friction(scan, false, out);
}

static perp_status io_dat_read_global(perp_scan *scan, perp_lcp_problem *out)
{
  return io_dat_read_friction(scan, true, out);
}

/* ---- which kind ---- */

static const struct kind {
  const char *name;
  perp_status (*read)(perp_scan *t, perp_lcp_problem *out);
} kinds[] = { { "global", io_dat_read_global },
              { "fc", read_fc },
              { "lcp", io_dat_read_lcp },
              { "mlcp", read_mlcp } };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Do the first numbers allow this kind?  v: the first six, -1 where there are fewer. */
static bool io_dat_plausible(int kind, const int *v)
{
  bool contacts = (v[0] == 2 || v[0] == 3) && v[1] >= 0 && v[2] >= 0 && v[2] <= 2;
  switch (kind) {
  case 0:
    return contacts && v[3] == v[4];
  case 1:
    return contacts && v[3] == v[4] && (int64_t)v[0] * v[1] == v[3];
  case 2:
    return v[0] > 0 && v[1] >= 0 && v[1] <= 2 && v[2] == v[0] && v[3] == v[0];
  default:
    return v[0] >= 0 && v[0] <= 1 && v[1] >= 0 && v[1] <= 1 && v[2] >= 0 && v[3] >= 0 && v[4] == 0;
  }
}

perp_status perp_lcp_read_dat(perp_scan *scan, perp_lcp_problem *out)
{
  perp_scan ahead = *scan;
  perp_ctx scratch;
  int v[6];
  ahead.ctx = NULL;
  for (int k = 0; k < 6; k++)
    if (perp_scan_int(&ahead, "", 0, INT_MAX, &v[k]) != PERP_OK) {
      if (k == 0)
        return perp_scan_fail(
            scan, 1, "not a problem file (perp-lcp, Matrix Market, fclib HDF5 or Siconos)");
      for (; k < 6; k++) v[k] = -1;
    }
  /* dimension, cones, model (1: Drucker and Prager, 2: von Mises), then a matrix */
  if ((v[0] == 2 || v[0] == 3) && (v[2] == 1 || v[2] == 2) && v[3] >= 0 && v[3] <= 2 &&
      v[4] == v[5] && (int64_t)v[0] * v[1] == v[4])
    return perp_scan_fail(
        scan, 1,
        "a plasticity problem of Siconos (model %d) is not one of friction, and is not read", v[2]);
  if (v[0] == 5) return perp_scan_fail(scan, 1, "rolling friction (dimension 5) is not supported");
  /* the first kind that reads to the end; else the complaint of the one that came furthest */
  const char *furthest = NULL;
  perp_scan start = *scan;
  perp_status worst = PERP_ERR_FORMAT;
  for (int k = 0; k < KINDS; k++) {
    if (!io_dat_plausible(k, v)) continue;
    perp_ctx_init(&scratch);
    perp_scan attempt = start;
    attempt.ctx = &scratch;
    perp_status status = kinds[k].read(&attempt, out);
    if (status == PERP_OK) {
      scan->at = attempt.at;
      scan->line = attempt.line;
      return PERP_OK;
    }
    perp_lcp_problem_free(out);
    if (furthest == NULL || attempt.at > furthest) {
      furthest = attempt.at;
      worst = PERP_FAIL(scan->ctx, status, "%s", scratch.msg);
      scan->line = attempt.line;
    }
  }
  if (furthest == NULL)
    return perp_scan_fail(scan, 1, "%s",
                          "not a problem file: the first numbers match no Siconos LCP, MLCP, relay "
                          "or friction problem");
  return worst;
}
