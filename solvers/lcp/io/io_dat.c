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

static perp_status read_dense(perp_scan *t, perp_io_matrix *m)
{
  int rows, columns;
  double v;
  PERP_TRY(perp_scan_int(t, "the number of rows", 0, INT_MAX, &rows));
  PERP_TRY(perp_scan_int(t, "the number of columns", 0, INT_MAX, &columns));
  if (rows != m->rows || columns != m->columns)
    return perp_scan_fail(t, t->word_line, "a dense matrix of %d x %d in one of %d x %d", rows,
                          columns, m->rows, m->columns);
  PERP_TRY(perp_scan_afford(t, "the matrix", (double)rows * columns));
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) {
      PERP_TRY(perp_scan_real(t, "an entry of the matrix", &v));
      if (v != 0) PERP_TRY(perp_io_matrix_add(t->ctx, m, i, j, v, t->word_line));
    }
  return PERP_OK;
}

/* Cumulated sizes that end at `total`; start [count + 1] out. */
static perp_status read_starts(perp_scan *t, const char *what, int count, int total, int *start)
{
  start[0] = 0;
  for (int k = 0; k < count; k++) PERP_TRY(perp_scan_int(t, what, start[k], total, &start[k + 1]));
  if (start[count] != total)
    return perp_scan_fail(t, t->word_line, "%s end at %d, not at %d", what, start[count], total);
  return PERP_OK;
}

/* start: room for the starts of block rows and columns, then for both indices. */
static perp_status read_block_arrays(perp_scan *t, perp_io_matrix *m, int blocks, int nr, int nc,
                                     int *start)
{
  int *rs = start, *cs = rs + nr + 1, *index2 = cs + nc + 1, *index1 = index2 + blocks;
  int filled1, filled2, number;
  PERP_TRY(read_starts(t, "block rows", nr, m->rows, rs));
  PERP_TRY(read_starts(t, "block columns", nc, m->columns, cs));
  PERP_TRY(perp_scan_int(t, "the size of the first index", 1, nr + 1, &filled1));
  PERP_TRY(perp_scan_int(t, "the size of the second index", blocks, blocks, &filled2));
  for (int k = 0; k < filled1; k++)
    PERP_TRY(
        perp_scan_int(t, "a block row pointer", k > 0 ? index1[k - 1] : 0, blocks, &index1[k]));
  if (index1[0] != 0 || index1[filled1 - 1] != blocks)
    return perp_scan_fail(t, t->word_line, "the block row pointers do not span all blocks");
  for (int k = 0; k < filled2; k++)
    PERP_TRY(perp_scan_int(t, "a block column", 0, nc - 1, &index2[k]));
  double v;
  for (int r = 0; r + 1 < filled1; r++)
    for (int k = index1[r]; k < index1[r + 1]; k++) {
      PERP_TRY(perp_scan_int(t, "the number of a block", k, k, &number));
      for (int j = cs[index2[k]]; j < cs[index2[k] + 1]; j++)
        for (int i = rs[r]; i < rs[r + 1]; i++) {
          PERP_TRY(perp_scan_real(t, "an entry of a block", &v));
          PERP_TRY(perp_io_matrix_add(t->ctx, m, i, j, v, t->word_line));
        }
    }
  return PERP_OK;
}

static perp_status read_blocks(perp_scan *t, perp_io_matrix *m)
{
  int blocks, nr, nc;
  PERP_TRY(perp_scan_int(t, "the number of blocks", 0, INT_MAX, &blocks));
  PERP_TRY(perp_scan_int(t, "the number of block rows", 0, m->rows, &nr));
  PERP_TRY(perp_scan_int(t, "the number of block columns", 0, m->columns, &nc));
  PERP_TRY(perp_scan_afford(t, "the blocks", 2.0 * blocks + nr + nc));
  int *start = calloc(2 * (size_t)nr + (size_t)nc + (size_t)blocks + 3, sizeof *start);
  if (start == NULL) return PERP_FAIL(t->ctx, PERP_ERR_NOMEM, "no memory for %d blocks", blocks);
  perp_status status = read_block_arrays(t, m, blocks, nr, nc, start);
  free(start);
  return status;
}

/* The word after a label, e.g. "nnz: 12" or "12," */
static perp_status labelled_int(perp_scan *t, const char *label, int most, int *value)
{
  char word[64];
  int line = t->line;
  while (perp_scan_word(t, word, sizeof word) && t->word_line <= line + 1) {
    if (strcmp(word, label) != 0) continue;
    if (!perp_scan_word(t, word, sizeof word)) break;
    char *end;
    long v = strtol(word, &end, 10);
    if (end != word && (*end == '\0' || *end == ',') && v >= 0 && v <= most) {
      *value = (int)v;
      return PERP_OK;
    }
    break;
  }
  return perp_scan_fail(t, t->word_line, "expected '%s' with a number", label);
}

static perp_status io_dat_expect(perp_scan *t, const char *what)
{
  char word[64];
  if (!perp_scan_word(t, word, sizeof word)) word[0] = '\0';
  if (strcmp(word, what) != 0)
    return perp_scan_fail(t, t->word_line, "expected '%s', got '%s'", what, word);
  return PERP_OK;
}

static perp_status read_sparse(perp_scan *t, perp_io_matrix *m)
{
  int origin, entries = 0, i, j, first, last;
  double v;
  PERP_TRY(perp_scan_int(t, "the origin of a sparse matrix", 1, 3, &origin));
  char banner[16];
  if (!perp_scan_word(t, banner, sizeof banner) || strcmp(banner, "CSparse") != 0)
    return perp_scan_fail(t, t->word_line, "expected the banner of CSparse");
  perp_scan_skip_line(t);
  PERP_TRY(labelled_int(t, "nnz:", INT_MAX, &entries));
  perp_scan_skip_line(t); /* the 1-norm */
  PERP_TRY(perp_scan_afford(t, "the entries", 2.0 * entries));
  if (origin == 1) {
    for (int k = 0; k < entries; k++) {
      PERP_TRY(perp_scan_int(t, "a row index", 0, m->rows - 1, &i));
      PERP_TRY(perp_scan_int(t, "a column index", 0, m->columns - 1, &j));
      PERP_TRY(io_dat_expect(t, ":"));
      PERP_TRY(perp_scan_real(t, "an entry", &v));
      PERP_TRY(perp_io_matrix_add(t->ctx, m, i, j, v, t->word_line));
    }
    return PERP_OK;
  }
  int outer = origin == 2 ? m->columns : m->rows, inner = origin == 2 ? m->rows : m->columns;
  for (int c = 0; c < outer; c++) {
    PERP_TRY(io_dat_expect(t, "col"));
    PERP_TRY(perp_scan_int(t, "a column", c, c, &j));
    PERP_TRY(io_dat_expect(t, ":"));
    PERP_TRY(io_dat_expect(t, "locations"));
    PERP_TRY(perp_scan_int(t, "a location", 0, INT_MAX, &first));
    PERP_TRY(io_dat_expect(t, "to"));
    PERP_TRY(perp_scan_int(t, "a location", first - 1, entries, &last));
    for (int k = first; k <= last; k++) {
      PERP_TRY(perp_scan_int(t, "an index", 0, inner - 1, &i));
      PERP_TRY(io_dat_expect(t, ":"));
      PERP_TRY(perp_scan_real(t, "an entry", &v));
      PERP_TRY(
          perp_io_matrix_add(t->ctx, m, origin == 2 ? i : c, origin == 2 ? c : i, v, t->word_line));
    }
  }
  return PERP_OK;
}

static perp_status io_dat_read_matrix(perp_scan *t, perp_io_matrix *m)
{
  int storage, rows, columns;
  perp_io_matrix_open(0, 0, m);
  PERP_TRY(perp_scan_int(t, "the storage of a matrix", 0, 2, &storage));
  PERP_TRY(perp_scan_int(t, "the number of rows", 0, INT_MAX, &rows));
  PERP_TRY(perp_scan_int(t, "the number of columns", 0, INT_MAX, &columns));
  PERP_TRY(perp_scan_afford(t, "the matrix", fmax(rows, columns) / 3));
  perp_io_matrix_open(rows, columns, m);
  perp_status status = storage == 0   ? read_dense(t, m)
                       : storage == 1 ? read_blocks(t, m)
                                      : read_sparse(t, m);
  /* entries of one place add up */
  if (status == PERP_OK) status = perp_io_matrix_close(t->ctx, m, PERP_TWICE_ADDS, NULL);
  if (status != PERP_OK) perp_io_matrix_free(m);
  return status;
}

/* ---- the kinds ---- */

/* A square matrix of n rows into a new problem. */
static perp_status square_problem(perp_scan *t, int n, unsigned parts, perp_lcp_problem *out)
{
  perp_io_matrix m;
  PERP_TRY(io_dat_read_matrix(t, &m));
  perp_status status = PERP_OK;
  if (m.rows != n || m.columns != n)
    status = perp_scan_fail(t, t->word_line, "the matrix is %d x %d but n = %d", m.rows, m.columns,
                            n);
  if (status == PERP_OK) status = perp_scan_afford(t, "q", n);
  if (status == PERP_OK) status = perp_lcp_problem_new(t->ctx, n, parts, out);
  if (status == PERP_OK) status = perp_io_matrix_into(t->ctx, &m, out);
  perp_io_matrix_free(&m);
  return status;
}

/* Are there `count` more numbers?  Does not move. */
static bool numbers_follow(perp_scan t, int count)
{
  char word[64], *end;
  for (int k = 0; k < count; k++) {
    if (!perp_scan_word(&t, word, sizeof word)) return false;
    strtod_l(word, &end, t.c);
    if (end == word || *end != '\0') return false;
  }
  return true;
}

static perp_status io_dat_read_lcp(perp_scan *t, perp_lcp_problem *out)
{
  int n;
  PERP_TRY(perp_scan_int(t, "n", 1, INT_MAX, &n));
  PERP_TRY(square_problem(t, n, PERP_PART_BOUNDS, out));
  perp_lcp_arrays x = perp_lcp_edit(out);
  PERP_TRY(perp_scan_reals(t, "q", (size_t)n, x.b));
  snprintf(out->family, sizeof out->family, "siconos-lcp");
  if (n > INT_MAX / 2 || !numbers_follow(*t, 2 * n)) { /* free text may follow */
    out->p.lo = out->p.hi = NULL;
    return PERP_OK;
  }
  for (int i = 0; i < n; i++) PERP_TRY(perp_scan_bound(t, "lb", &x.lo[i]));
  for (int i = 0; i < n; i++) {
    PERP_TRY(perp_scan_bound(t, "ub", &x.hi[i]));
    if (!(x.lo[i] <= x.hi[i]))
      return perp_scan_fail(t, t->word_line, "row %d: lb = %g, ub = %g; lb <= ub is required", i,
                            x.lo[i], x.hi[i]);
  }
  snprintf(out->family, sizeof out->family, "siconos-relay");
  return PERP_OK;
}

static perp_status read_mlcp(perp_scan *t, perp_lcp_problem *out)
{
  enum { MOST = 64 };
  int flag, n, m, start[MOST + 1], blocks = 0, equalities = 0;
  bool equality[MOST];
  PERP_TRY(perp_scan_int(t, "the first storage flag", 0, 1, &flag));
  PERP_TRY(perp_scan_int(t, "the second storage flag", 0, 1, &flag));
  PERP_TRY(perp_scan_int(t, "the number of equalities", 0, INT_MAX / 2, &n));
  PERP_TRY(perp_scan_int(t, "the number of complementarities", 0, INT_MAX / 2, &m));
  if (n + m == 0) return perp_scan_fail(t, t->word_line, "the problem has no rows");
  PERP_TRY(perp_scan_int(t, "the first block start", 0, 0, &start[0]));
  while (start[blocks] < n + m) {
    if (blocks == MOST) return perp_scan_fail(t, t->line, "more than %d blocks", MOST);
    PERP_TRY(perp_scan_int(t, "a block start", start[blocks] + 1, n + m, &start[blocks + 1]));
    blocks++;
  }
  for (int k = 0; k < blocks; k++) {
    PERP_TRY(perp_scan_int(t, "a block type", 0, 1, &flag));
    equality[k] = flag == 0;
    if (flag == 0) equalities += start[k + 1] - start[k];
  }
  if (equalities != n)
    return perp_scan_fail(t, t->word_line, "the blocks have %d equalities but n = %d", equalities,
                          n);
  PERP_TRY(square_problem(t, n + m, PERP_PART_BOUNDS, out));
  perp_lcp_arrays x = perp_lcp_edit(out);
  PERP_TRY(perp_scan_reals(t, "q", (size_t)(n + m), x.b));
  for (int k = 0; k < blocks; k++)
    for (int i = start[k]; equality[k] && i < start[k + 1]; i++) x.lo[i] = -HUGE_VAL;
  snprintf(out->family, sizeof out->family, "siconos-mlcp");
  return PERP_OK;
}

/* The vectors behind M = W (local), or M and H (global), into x: f, then b and mu. */
static perp_status read_friction_vectors(perp_scan *t, int dim, int nc, perp_io_matrix *M,
                                         perp_io_matrix *H, double *x, perp_lcp_problem *out)
{
  const int dof = H != NULL ? M->rows : 0, m = dim * nc;
  double *f = x, *b = f + dof, *mu = b + m;
  PERP_TRY(perp_scan_reals(t, "q", (size_t)dof, f));
  PERP_TRY(perp_scan_reals(t, H != NULL ? "b" : "q", (size_t)m, b));
  for (int c = 0; c < nc; c++) {
    PERP_TRY(perp_scan_real(t, "mu", &mu[c]));
    if (mu[c] < 0) return perp_scan_fail(t, t->word_line, "mu must be >= 0, got %g", mu[c]);
  }
  if (H == NULL) return perp_lcp_friction_problem(t->ctx, dim, nc, M, b, mu, out);
  perp_status status = perp_lcp_condense(t->ctx, dim, nc, M, H, f, b, mu, out);
  return status == PERP_ERR_FORMAT ? perp_scan_fail(t, t->word_line, "M is singular") : status;
}

/* The same, with a look at the sizes.  H NULL: local. */
static perp_status read_friction_data(perp_scan *t, int dim, int nc, perp_io_matrix *M,
                                      perp_io_matrix *H, perp_lcp_problem *out)
{
  const int m = dim * nc, dof = H != NULL ? M->rows : 0;
  if (H == NULL && (M->rows != m || M->columns != m))
    return perp_scan_fail(t, t->word_line, "W is %d x %d, but %d contacts have %d rows", M->rows,
                          M->columns, nc, m);
  if (H != NULL && (M->columns != dof || H->rows != dof || H->columns != m))
    return perp_scan_fail(t, t->word_line, "M is %d x %d and H is %d x %d with %d contacts",
                          M->rows, M->columns, H->rows, H->columns, nc);
  PERP_TRY(perp_scan_afford(t, H != NULL ? "f, b and mu" : "q and mu", (double)dof + m + nc));
  double *x = calloc((size_t)dof + (size_t)m + (size_t)nc + 1, sizeof *x);
  if (x == NULL) return PERP_FAIL(t->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", nc);
  perp_status status = read_friction_vectors(t, dim, nc, M, H, x, out);
  free(x);
  return status;
}

/* Nothing, or the flag that Siconos writes there.  A plasticity problem of Siconos begins as one of
 * friction does, with eta in place of mu, and goes on with theta. */
static perp_status io_dat_friction_ends(perp_scan *t, int nc)
{
  char word[64];
  if (!perp_scan_word(t, word, sizeof word)) return PERP_OK;
  const bool flag = strcmp(word, "0") == 0 || strcmp(word, "1") == 0;
  if (flag && !perp_scan_word(t, word, sizeof word)) return PERP_OK;
  return perp_scan_fail(
      t, t->word_line,
      "'%s' after the %d coefficients of friction: the file must end there (a plasticity "
      "problem has its angles there, and is not read)",
      word, nc);
}

static perp_status io_dat_read_friction(perp_scan *t, bool global, perp_lcp_problem *out)
{
  int dim, nc;
  perp_io_matrix M, H = { 0 };
  PERP_TRY(perp_scan_int(t, "the dimension", 2, 3, &dim));
  PERP_TRY(perp_scan_int(t, "the number of contacts", 0, INT_MAX / 3, &nc));
  PERP_TRY(io_dat_read_matrix(t, &M));
  perp_status status = global ? io_dat_read_matrix(t, &H) : PERP_OK;
  if (status == PERP_OK) status = read_friction_data(t, dim, nc, &M, global ? &H : NULL, out);
  perp_io_matrix_free(&M);
  perp_io_matrix_free(&H);
  if (status == PERP_OK) status = io_dat_friction_ends(t, nc);
  if (status == PERP_OK)
    snprintf(out->family, sizeof out->family, "siconos-%sfc%dd", global ? "global-" : "", dim);
  return status;
}

static perp_status read_fc(perp_scan *t, perp_lcp_problem *out)
{
  return io_dat_read_friction(t, false, out);
}

static perp_status io_dat_read_global(perp_scan *t, perp_lcp_problem *out)
{
  return io_dat_read_friction(t, true, out);
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

perp_status perp_lcp_read_dat(perp_scan *t, perp_lcp_problem *out)
{
  perp_scan ahead = *t;
  perp_ctx scratch;
  int v[6];
  ahead.ctx = NULL;
  for (int k = 0; k < 6; k++)
    if (perp_scan_int(&ahead, "", 0, INT_MAX, &v[k]) != PERP_OK) {
      if (k == 0)
        return perp_scan_fail(
            t, 1, "not a problem file (perp-lcp, Matrix Market, fclib HDF5 or Siconos)");
      for (; k < 6; k++) v[k] = -1;
    }
  /* dimension, cones, model (1: Drucker and Prager, 2: von Mises), then a matrix */
  if ((v[0] == 2 || v[0] == 3) && (v[2] == 1 || v[2] == 2) && v[3] >= 0 && v[3] <= 2 &&
      v[4] == v[5] && (int64_t)v[0] * v[1] == v[4])
    return perp_scan_fail(
        t, 1, "a plasticity problem of Siconos (model %d) is not one of friction, and is not read",
        v[2]);
  if (v[0] == 5) return perp_scan_fail(t, 1, "rolling friction (dimension 5) is not supported");
  /* the first kind that reads to the end; else the complaint of the one that came furthest */
  const char *furthest = NULL;
  perp_scan start = *t;
  perp_status worst = PERP_ERR_FORMAT;
  for (int k = 0; k < KINDS; k++) {
    if (!io_dat_plausible(k, v)) continue;
    perp_ctx_init(&scratch);
    perp_scan attempt = start;
    attempt.ctx = &scratch;
    perp_status status = kinds[k].read(&attempt, out);
    if (status == PERP_OK) {
      t->at = attempt.at;
      t->line = attempt.line;
      return PERP_OK;
    }
    perp_lcp_problem_free(out);
    if (furthest == NULL || attempt.at > furthest) {
      furthest = attempt.at;
      worst = PERP_FAIL(t->ctx, status, "%s", scratch.msg);
      t->line = attempt.line;
    }
  }
  if (furthest == NULL)
    return perp_scan_fail(t, 1, "%s",
                          "not a problem file: the first numbers match no Siconos LCP, MLCP, relay "
                          "or friction problem");
  return worst;
}
