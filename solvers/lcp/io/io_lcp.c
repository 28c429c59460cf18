/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp's own text format of complementarity problems, read; described in
 * docs/reference/lcp-format.md. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/io/io_matrix.h"
#include "solvers/lcp/io/io_scan.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading: what is there, then where it goes ---- */

enum section {
  S_FAMILY,
  S_PROVENANCE,
  S_CLASSES,
  S_SEQUENCE,
  S_N,
  S_A,
  S_FACTORED,
  S_SOFTNESS,
  S_B,
  S_LO,
  S_HI,
  S_FRICTION,
  S_CONE,
  S_UNIT,
  S_CONTACT,
  S_FROZEN,
  S_SOLUTION,
  S_BEFORE,
  S_END,
  SECTIONS
};
static const char *const section_names[SECTIONS] = {
  "family",   "provenance", "classes",  "sequence", "n",        "A",    "factored",
  "softness", "b",          "lo",       "hi",       "friction", "cone", "unit",
  "contact",  "frozen",     "solution", "before",   "end"
};

static int section_of(const char *word)
{
  for (int k = 0; k < SECTIONS; k++)
    if (strcmp(section_names[k], word) == 0) return k;
  return -1;
}

/* Sections that start some line. */
static unsigned io_lcp_scan(perp_scan scan)
{
  unsigned seen = 0;
  char word[16];
  while (perp_scan_word(&scan, word, sizeof word)) {
    int k = section_of(word);
    if (k >= 0) seen |= 1u << k;
    perp_scan_skip_line(&scan);
  }
  return seen;
}

/* ---- A ---- */

static perp_status read_entries_of(perp_scan *scan, int n, int count, bool symmetric,
                                   perp_io_matrix *matrix)
{
  for (int k = 0; k < count; k++) {
    int i, j;
    double v;
    PERP_TRY(perp_scan_int(scan, "a row index", 0, n - 1, &i));
    const int line = scan->word_line;
    PERP_TRY(perp_scan_int(scan, "a column index", 0, n - 1, &j));
    PERP_TRY(perp_scan_real(scan, "an entry of A", &v));
    PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, i, j, v, line));
    if (symmetric && i != j) PERP_TRY(perp_io_matrix_add(scan->ctx, matrix, j, i, v, line));
  }
  return PERP_OK;
}

static perp_status read_coordinate(perp_scan *scan, int n, bool symmetric, perp_lcp_problem *out)
{
  int count;
  perp_io_matrix matrix;
  perp_entry twice;
  PERP_TRY(perp_scan_int(scan, "the number of entries", 0, INT_MAX, &count));
  PERP_TRY(perp_scan_afford(scan, "A", 3.0 * count));
  perp_io_matrix_open(n, n, &matrix);
  perp_status status = read_entries_of(scan, n, count, symmetric, &matrix);
  if (status == PERP_OK)
    status = perp_io_matrix_close(scan->ctx, &matrix, PERP_TWICE_REFUSED, &twice);
  if (status == PERP_OK && twice.line >= 0)
    status = perp_scan_fail(scan, twice.line, "A[%d, %d] is specified twice", twice.i, twice.j);
  if (status == PERP_OK && n > 0) status = perp_io_matrix_into(scan->ctx, &matrix, out);
  perp_io_matrix_free(&matrix);
  return status;
}

static perp_status read_A(perp_scan *scan, perp_lcp_problem *out)
{
  char word[16];
  const int n = out->p.n;
  if (!perp_scan_word(scan, word, sizeof word)) word[0] = '\0';
  if (strcmp(word, "coordinate") == 0) return read_coordinate(scan, n, false, out);
  if (strcmp(word, "symmetric") == 0) return read_coordinate(scan, n, true, out);
  if (strcmp(word, "dense") != 0)
    return perp_scan_fail(scan, scan->word_line,
                          "A must be dense, coordinate or symmetric, got '%s'", word);
  PERP_TRY(perp_scan_afford(scan, "A", (double)n * n));
  PERP_TRY(perp_lcp_problem_add_dense(scan->ctx, out));
  double *A = perp_lcp_edit(out).A;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      PERP_TRY(perp_scan_real(scan, "an entry of A", &A[(size_t)i + (size_t)j * (size_t)n]));
  return PERP_OK;
}

/* ---- J M^-1 J' + S ---- */

/* M = inverse of a symmetric positive definite d x d matrix, by Cholesky; false when it is not. */
static bool io_lcp_invert(int d, const double *W, double *M)
{
  double *L = calloc((size_t)(d * d) + 1, sizeof *L);
  bool ok = L != NULL;
  for (int j = 0; j < d && ok; j++) {
    double sum = W[j + j * d];
    for (int k = 0; k < j; k++) sum -= L[j + k * d] * L[j + k * d];
    ok = sum > 0;
    L[j + j * d] = ok ? sqrt(sum) : 1;
    for (int i = j + 1; i < d; i++) {
      double s = W[i + j * d];
      for (int k = 0; k < j; k++) s -= L[i + k * d] * L[j + k * d];
      L[i + j * d] = s / L[j + j * d];
    }
  }
  for (int c = 0; c < d && ok; c++) { /* solve L L' x = e_c */
    double *x = M + c * d;
    for (int i = 0; i < d; i++) {
      double s = i == c;
      for (int k = 0; k < i; k++) s -= L[i + k * d] * x[k];
      x[i] = s / L[i + i * d];
    }
    for (int i = d - 1; i >= 0; i--) {
      double s = x[i];
      for (int k = i + 1; k < d; k++) s -= L[k + i * d] * x[k];
      x[i] = s / L[i + i * d];
    }
  }
  free(L);
  return ok;
}

/* What is read.  No file has more numbers than half of its characters, which is the room of W and J
 * together. */
struct factors {
  int *bptr, *mptr, *cptr, *jptr, *jblk, *joff, *jgrp, *tsub, *tptr;
  double *W, *J, *M;
};

enum { MOST_BLOCK = 4096 }; /* a block is a body: small */

static perp_status read_body_blocks(perp_scan *scan, int nb, struct factors *factors)
{
  int d;
  for (int b = 0; b < nb; b++) {
    PERP_TRY(perp_scan_int(scan, "the size of a block", 1, MOST_BLOCK, &d));
    int line = scan->word_line;
    PERP_TRY(perp_scan_afford(scan, "M^-1", (double)d * d));
    if (factors->mptr[b] > INT_MAX - d * d || factors->bptr[b] > INT_MAX - d)
      return perp_scan_fail(scan, line, "M^-1 has too many numbers for a 32-bit index");
    double *W = factors->W + factors->mptr[b];
    PERP_TRY(perp_scan_reals(scan, "an entry of M^-1", (size_t)(d * d), W));
    for (int j = 0; j < d; j++)
      for (int i = 0; i < j; i++)
        if (W[i + j * d] != W[j + i * d])
          return perp_scan_fail(scan, line, "M^-1 of block %d is not symmetric", b);
    factors->mptr[b + 1] = factors->mptr[b] + d * d;
    factors->bptr[b + 1] = factors->bptr[b] + d;
  }
  return PERP_OK;
}

static perp_status read_groups(perp_scan *scan, int n, int nb, int nc, struct factors *factors)
{
  int r, k, b;
  for (int c = 0; c < nc; c++) {
    const int first = factors->jptr[c];
    PERP_TRY(perp_scan_int(scan, "the rows of a group", 1, n - factors->cptr[c], &r));
    PERP_TRY(perp_scan_int(scan, "the blocks of a group", 1, nb, &k));
    for (int s = first; s < first + k; s++) {
      PERP_TRY(perp_scan_int(scan, "a block index", 0, nb - 1, &b));
      for (int q = first; q < s; q++)
        if (factors->jblk[q] == b)
          return perp_scan_fail(scan, scan->word_line, "group %d has block %d twice", c, b);
      int d = factors->bptr[b + 1] - factors->bptr[b];
      PERP_TRY(perp_scan_afford(scan, "J", (double)r * d));
      if ((double)factors->joff[s] + (double)r * d > INT_MAX)
        return perp_scan_fail(scan, scan->word_line, "J has too many numbers for a 32-bit index");
      double *J = factors->J + factors->joff[s];
      for (int i = 0; i < r; i++)
        for (int j = 0; j < d; j++) PERP_TRY(perp_scan_real(scan, "an entry of J", &J[i + j * r]));
      factors->jblk[s] = b;
      factors->joff[s + 1] = factors->joff[s] + r * d;
    }
    factors->cptr[c + 1] = factors->cptr[c] + r;
    factors->jptr[c + 1] = first + k;
  }
  if (factors->cptr[nc] != n)
    return perp_scan_fail(scan, scan->word_line, "the groups have %d rows but n = %d",
                          factors->cptr[nc], n);
  return PERP_OK;
}

static perp_status read_blocks_of(perp_scan *scan, int nb, int nc, int line,
                                  struct factors *factors, const double *softness,
                                  perp_lcp_problem *out)
{
  PERP_TRY(read_body_blocks(scan, nb, factors));
  factors->J = factors->W + factors->mptr[nb];
  PERP_TRY(read_groups(scan, out->p.n, nb, nc, factors));
  for (int b = 0; b < nb; b++) {
    int d = factors->bptr[b + 1] - factors->bptr[b], at = factors->mptr[b];
    if (!io_lcp_invert(d, factors->W + at, factors->M + at))
      return perp_scan_fail(scan, line, "M^-1 of block %d is not positive definite", b);
  }
  perp_blocks_transpose(nb, nc, factors->jptr, factors->jblk, factors->jgrp, factors->tptr,
                        factors->tsub);
  const perp_blocks blocks = { .nv = factors->bptr[nb],
                               .m = out->p.n,
                               .nb = nb,
                               .nc = nc,
                               .bptr = factors->bptr,
                               .mptr = factors->mptr,
                               .cptr = factors->cptr,
                               .jptr = factors->jptr,
                               .jblk = factors->jblk,
                               .joff = factors->joff,
                               .jgrp = factors->jgrp,
                               .tsub = factors->tsub,
                               .tptr = factors->tptr,
                               .M = factors->M,
                               .Minv = factors->W,
                               .J = factors->J,
                               .s = softness };
  return perp_lcp_problem_set_blocks(scan->ctx, out, &blocks);
}

static perp_status read_factored(perp_scan *scan, perp_lcp_problem *out, const double *softness)
{
  int nb, nc, n = out->p.n, line = scan->word_line;
  PERP_TRY(perp_scan_int(scan, "the number of blocks", n > 0, INT_MAX - 1, &nb));
  PERP_TRY(perp_scan_int(scan, "the number of groups", n > 0, n, &nc));
  PERP_TRY(perp_scan_afford(scan, "M^-1 and J", 2.0 * nb + 3.0 * nc));
  const size_t room = (size_t)(scan->end - scan->at) / 2 + 1, blocks = (size_t)nb + 1;
  const size_t groups = (size_t)nc + 1;
  int *index = calloc(3 * blocks + 2 * groups + 4 * room + 1, sizeof *index);
  double *numbers = calloc(2 * room, sizeof *numbers);
  perp_status status;
  if (index == NULL || numbers == NULL)
    status = PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d blocks", nb);
  else {
    struct factors factors = { .bptr = index, .W = numbers, .M = numbers + room };
    factors.mptr = factors.bptr + blocks;
    factors.tptr = factors.mptr + blocks;
    factors.cptr = factors.tptr + blocks;
    factors.jptr = factors.cptr + groups;
    factors.jblk = factors.jptr + groups;
    factors.jgrp = factors.jblk + room;
    factors.tsub = factors.jgrp + room;
    factors.joff = factors.tsub + room;
    status = read_blocks_of(scan, nb, nc, line, &factors, softness, out);
  }
  free(index);
  free(numbers);
  return status;
}

/* ---- the sections ---- */

static perp_status read_friction_rows(perp_scan *scan, perp_lcp_arrays arrays, int n, int count,
                                      bool *normal)
{
  int i, j;
  for (int k = 0; k < count; k++) {
    PERP_TRY(perp_scan_int(scan, "a friction row", 0, n - 1, &i));
    int line = scan->word_line;
    if (arrays.fric_of[i] >= 0)
      return perp_scan_fail(scan, line, "friction row %d is specified twice", i);
    PERP_TRY(perp_scan_int(scan, "a normal row", 0, n - 1, &j));
    PERP_TRY(perp_scan_real(scan, "mu", &arrays.mu[i]));
    if (j == i) return perp_scan_fail(scan, line, "row %d takes its bounds from itself", i);
    if (arrays.fric_of[j] >= 0)
      return perp_scan_fail(scan, line, "row %d takes its bounds from friction row %d", i, j);
    if (normal[i])
      return perp_scan_fail(scan, line, "friction row %d is the normal row of another one", i);
    if (arrays.mu[i] < 0)
      return perp_scan_fail(scan, line, "mu must be >= 0, got %g", arrays.mu[i]);
    arrays.fric_of[i] = j;
    normal[j] = true;
  }
  return PERP_OK;
}

static perp_status io_lcp_read_friction(perp_scan *scan, perp_lcp_arrays arrays, int n)
{
  int count;
  PERP_TRY(perp_scan_int(scan, "the number of friction rows", 0, n, &count));
  bool *normal = calloc((size_t)n + 1, sizeof *normal);
  if (normal == NULL) return PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d rows", n);
  perp_status status = read_friction_rows(scan, arrays, n, count, normal);
  free(normal);
  return status;
}

static perp_status read_cones(perp_scan *scan, signed char *cone, int n)
{
  int count, i;
  PERP_TRY(perp_scan_int(scan, "the number of cones", 0, n, &count));
  for (int k = 0; k < count; k++) {
    PERP_TRY(perp_scan_int(scan, "the first row of a cone", 0, n - 2, &i));
    cone[i] = 1;
  }
  return PERP_OK;
}

static perp_status read_contacts(perp_scan *scan, int *contact_of, int n)
{
  int count, i;
  PERP_TRY(perp_scan_int(scan, "the number of rows of contacts", 0, n, &count));
  for (int k = 0; k < count; k++) {
    PERP_TRY(perp_scan_int(scan, "a row of a contact", 0, n - 1, &i));
    if (contact_of[i] >= 0)
      return perp_scan_fail(scan, scan->word_line, "the contact of row %d is specified twice", i);
    PERP_TRY(perp_scan_int(scan, "a contact", 0, n - 1, &contact_of[i]));
  }
  return PERP_OK;
}

static perp_status io_lcp_read_classes(perp_scan *scan, unsigned *classes)
{
  enum { MOST = 32 };
  const char *names[MOST];
  int n = 0;
  char word[32];
  for (; n < MOST && perp_lcp_class_names[n].name != NULL; n++)
    names[n] = perp_lcp_class_names[n].name;
  while (!perp_scan_at_line_end(scan) && perp_scan_word(scan, word, sizeof word)) {
    int k = 0;
    while (k < n && strcmp(names[k], word) != 0) k++;
    if (k == n) return perp_scan_unknown(scan, scan->word_line, "class", word, names, n);
    *classes |= perp_lcp_class_names[k].bit;
  }
  return PERP_OK;
}

/* number of NAME, on one line */
static perp_status io_lcp_read_sequence(perp_scan *scan, perp_lcp_sequence *sequence)
{
  const int line = scan->word_line;
  PERP_TRY(perp_scan_int(scan, "the number of a problem in its sequence", 0, INT_MAX - 1,
                         &sequence->number));
  PERP_TRY(perp_scan_int(scan, "the number of problems of a sequence", 1, INT_MAX, &sequence->of));
  if (sequence->number >= sequence->of)
    return perp_scan_fail(scan, scan->word_line,
                          "problem %d of a sequence of %d: problems are counted from 0",
                          sequence->number, sequence->of);
  if (scan->line == line) perp_scan_rest(scan, sequence->name, sizeof sequence->name);
  if (sequence->name[0] == '\0') return perp_scan_fail(scan, line, "a sequence needs a name");
  return PERP_OK;
}

static int io_lcp_by_place(const void *a, const void *b)
{
  const perp_entry *x = a, *y = b;
  if (x->i != y->i) return x->i < y->i ? -1 : 1;
  if (x->j != y->j) return x->j < y->j ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

static perp_status read_carries(perp_scan *scan, int n, int rows, int count, perp_entry *entry)
{
  for (int k = 0; k < count; k++) {
    PERP_TRY(perp_scan_int(scan, "a row", 0, n - 1, &entry[k].i));
    entry[k].line = scan->word_line;
    PERP_TRY(perp_scan_int(scan, "a row of the previous problem", 0, rows - 1, &entry[k].j));
    PERP_TRY(perp_scan_real(scan, "the factor of a carry", &entry[k].value));
  }
  qsort(entry, (size_t)count, sizeof *entry, io_lcp_by_place);
  for (int k = 1; k < count; k++)
    if (entry[k].i == entry[k - 1].i && entry[k].j == entry[k - 1].j)
      return perp_scan_fail(scan, entry[k].line,
                            "the carry to row %d from row %d is specified twice", entry[k].i,
                            entry[k].j);
  return PERP_OK;
}

/* The guess as a matrix times the answer of the problem before. */
static perp_status io_lcp_read_before(perp_scan *scan, perp_lcp_problem *out)
{
  int rows, count;
  PERP_TRY(perp_scan_int(scan, "the number of rows of the previous problem", 0, INT_MAX, &rows));
  PERP_TRY(perp_scan_int(scan, "the number of carries", 0, INT_MAX, &count));
  PERP_TRY(perp_scan_afford(scan, "before", 3.0 * count));
  perp_entry *entry = calloc((size_t)count + 1, sizeof *entry);
  perp_lcp_carry *carry = calloc((size_t)count + 1, sizeof *carry);
  perp_status status = entry == NULL || carry == NULL
                           ? PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d carries", count)
                           : read_carries(scan, out->p.n, rows, count, entry);
  for (int k = 0; k < count && status == PERP_OK; k++)
    carry[k] = (perp_lcp_carry){ entry[k].i, entry[k].j, entry[k].value };
  if (status == PERP_OK) status = perp_lcp_problem_carry(scan->ctx, out, rows, count, carry);
  free(entry);
  free(carry);
  return status;
}

/* One side of the bounds into x, checked against the other one where that is known. */
static perp_status io_lcp_read_bounds(perp_scan *scan, bool upper, bool known, int n,
                                      perp_lcp_arrays arrays)
{
  for (int i = 0; i < n; i++) {
    PERP_TRY(perp_scan_bound(scan, upper ? "hi" : "lo", upper ? &arrays.hi[i] : &arrays.lo[i]));
    if (known &&
        (!(arrays.lo[i] <= arrays.hi[i]) || arrays.lo[i] == HUGE_VAL || arrays.hi[i] == -HUGE_VAL))
      return perp_scan_fail(
          scan, scan->word_line,
          "row %d: lo = %g, hi = %g; lo <= hi, lo < inf and hi > -inf are required", i,
          arrays.lo[i], arrays.hi[i]);
  }
  return PERP_OK;
}

/* One section after its keyword. */
static perp_status read_section(perp_scan *scan, int k, unsigned present, unsigned done,
                                double **softness, perp_lcp_problem *out)
{
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  int n = out->p.n;
  char text[400];
  switch (k) {
  case S_FAMILY:
    perp_scan_rest(scan, out->family, sizeof out->family);
    return PERP_OK;
  case S_PROVENANCE:
    perp_scan_rest(scan, text, sizeof text);
    return perp_lcp_problem_note(scan->ctx, out, "%s", text);
  case S_CLASSES:
    return io_lcp_read_classes(scan, &out->classes);
  case S_SEQUENCE:
    return io_lcp_read_sequence(scan, &out->sequence);
  case S_BEFORE:
    return io_lcp_read_before(scan, out);
  case S_A:
    if (present & 1u << S_FACTORED)
      return perp_scan_fail(scan, scan->word_line, "A is specified both dense and factored");
    return read_A(scan, out);
  case S_FACTORED:
    return read_factored(scan, out, *softness);
  case S_SOFTNESS:
    if (out->p.F != NULL)
      return perp_scan_fail(scan, scan->word_line, "softness must come before factored");
    PERP_TRY(perp_scan_afford(scan, "softness", n));
    *softness = calloc((size_t)n + 1, sizeof **softness);
    if (*softness == NULL) return PERP_FAIL(scan->ctx, PERP_ERR_NOMEM, "no memory for %d rows", n);
    PERP_TRY(perp_scan_reals(scan, "softness", (size_t)n, *softness));
    for (int i = 0; i < n; i++)
      if ((*softness)[i] < 0)
        return perp_scan_fail(scan, scan->word_line, "softness must be >= 0, got %g",
                              (*softness)[i]);
    return PERP_OK;
  case S_B:
    return perp_scan_reals(scan, "b", (size_t)n, arrays.b);
  case S_LO:
    return io_lcp_read_bounds(scan, false, !(present & ~done & 1u << S_HI), n, arrays);
  case S_HI:
    return io_lcp_read_bounds(scan, true, !(present & ~done & 1u << S_LO), n, arrays);
  case S_FRICTION:
    return io_lcp_read_friction(scan, arrays, n);
  case S_CONE:
    return read_cones(scan, arrays.cone, n);
  case S_UNIT:
    return perp_scan_reals(scan, "unit", (size_t)n, arrays.unit);
  case S_CONTACT:
    return read_contacts(scan, arrays.contact_of, n);
  case S_FROZEN:
    out->p.frozen = true;
    return PERP_OK;
  case S_SOLUTION:
    return perp_scan_reals(scan, "the solution", (size_t)n, arrays.solution);
  default:
    return PERP_ERR_INTERNAL;
  }
}

static perp_status read_n(perp_scan *scan, unsigned present, perp_lcp_problem *out)
{
  int n;
  PERP_TRY(perp_scan_int(scan, "n", 0, INT_MAX, &n));
  PERP_TRY(perp_scan_afford(scan, "b", n));
  unsigned parts = 0;
  if (present & (1u << S_LO | 1u << S_HI)) parts |= PERP_PART_BOUNDS;
  if (present & 1u << S_FRICTION) parts |= PERP_PART_FRICTION;
  if (present & 1u << S_CONE) parts |= PERP_PART_CONE;
  if (present & 1u << S_UNIT) parts |= PERP_PART_UNIT;
  if (present & 1u << S_CONTACT) parts |= PERP_PART_CONTACTS;
  if (present & 1u << S_SOLUTION) parts |= PERP_PART_SOLUTION;
  return perp_lcp_problem_new(scan->ctx, n, parts, out);
}

perp_status perp_lcp_read_own(perp_scan *scan, perp_lcp_problem *out)
{
  char word[32];
  int version;
  unsigned present = io_lcp_scan(*scan), done = 0;
  double *softness = NULL;
  perp_lcp_problem head = { 0 }; /* what may come before n */
  perp_scan_word(scan, word, sizeof word);
  if (strcmp(word, "perp-lcp") != 0)
    return perp_scan_fail(scan, 1, "expected 'perp-lcp', got '%s'", word);
  PERP_TRY(perp_scan_int(scan, "the version of the format", 1, 1, &version));
  perp_status status = PERP_OK;
  while (status == PERP_OK && perp_scan_word(scan, word, sizeof word)) {
    int k = section_of(word), line = scan->word_line;
    if (k < 0)
      status = perp_scan_unknown(scan, line, "section", word, section_names, SECTIONS);
    else if (!(present & 1u << k))
      status = perp_scan_fail(scan, line, "section %s must begin a new line", word);
    else if (done & 1u << k)
      status = perp_scan_fail(scan, line, "%s is specified twice", word);
    else if (k > S_N && !(done & 1u << S_N))
      status = perp_scan_fail(scan, line, "section %s must follow section n", word);
    else if (k == S_END) {
      done |= 1u << k;
      break;
    } else if (k == S_N) {
      status = read_n(scan, present, out);
      if (status == PERP_OK) {
        out->classes = head.classes;
        out->sequence = head.sequence;
        memcpy(out->family, head.family, sizeof out->family);
        out->provenance = head.provenance;
        head.provenance = NULL;
      }
    } else
      status = read_section(scan, k, present, done, &softness, done & 1u << S_N ? out : &head);
    if (k >= 0) done |= 1u << k;
  }
  free(softness);
  perp_lcp_problem_free(&head);
  if (status != PERP_OK) return status;
  if (!(done & 1u << S_N)) return perp_scan_fail(scan, scan->line, "section n is missing");
  if (!(done & 1u << S_B)) return perp_scan_fail(scan, scan->line, "section b is missing");
  if (!(done & (1u << S_A | 1u << S_FACTORED)) && out->p.n > 0)
    return perp_scan_fail(scan, scan->line, "section A is missing");
  if (!(done & 1u << S_END))
    return perp_scan_fail(scan, scan->line, "the file ends without 'end': it is truncated");
  if (done & 1u << S_CONE && !(done & 1u << S_FRICTION))
    return perp_scan_fail(scan, scan->line, "section cone needs section friction");
  if (out->sequence.number > 0 && !(done & 1u << S_BEFORE))
    return perp_scan_fail(
        scan, scan->line,
        "section before is missing: it relates the rows of problem %d to the previous problem",
        out->sequence.number);
  if (out->sequence.number == 0 && done & 1u << S_BEFORE)
    return perp_scan_fail(scan, scan->line,
                          "section before needs a previous problem, but this is the first one%s",
                          done & 1u << S_SEQUENCE ? "" : " (section sequence is missing)");
  return PERP_OK;
}
