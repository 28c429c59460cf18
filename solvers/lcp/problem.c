/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complementarity problems that own their data: one zeroed block for the arrays of a dense problem,
 * one for the arrays of a factored one. */
#include "solvers/lcp/problem.h"

#include "solvers/lcp/lcp_private.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *perp_lcp_zeroed(double count, size_t size)
{
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  double memory = (double)pages * (double)page, bytes = count * (double)size;
  if (pages > 0 && page > 0 && bytes > memory) return NULL;
  return bytes < 0x1p62 ? calloc((size_t)count + 1, size) : NULL;
}

perp_status perp_lcp_affords(perp_ctx *ctx, double bytes, const char *what)
{
  const double bound = ctx != NULL && ctx->memory > 0 ? ctx->memory : PERP_MEMORY;
  if (bytes <= bound) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "%s takes %.3g MB, more than the limit of %.3g MB; --memory %.0fMB raises it",
                   what, bytes / 1e6, bound / 1e6, ceil(bytes / 1e6));
}

perp_status perp_lcp_affords_form(perp_ctx *ctx, const perp_desc *method, const perp_lcp *lcp)
{
  char what[120];
  const int n = lcp->n;
  if (lcp->A != NULL || method->caps & (lcp->F != NULL ? PERP_LCP_FACTORED : PERP_LCP_SPARSE))
    return PERP_OK;
  snprintf(what, sizeof what, "%.60s needs a dense A: with %d rows it", method->name, n);
  const perp_status status = perp_lcp_affords(ctx, (double)n * n * sizeof(double), what);
  if (status != PERP_OK && ctx != NULL) {
    const size_t used = strlen(ctx->msg);
    snprintf(ctx->msg + used, sizeof ctx->msg - used, "; auto takes A as it is");
  }
  return status;
}

static perp_status problem_dense(perp_ctx *ctx, int n)
{
  char what[64];
  snprintf(what, sizeof what, "a dense A of %d rows", n);
  return perp_lcp_affords(ctx, (double)n * n * sizeof(double), what);
}

static void *problem_zeroed(perp_ctx *ctx, size_t bytes)
{
  void *block = perp_lcp_zeroed((double)bytes, 1);
  if (block == NULL) PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %.3g bytes", (double)bytes);
  return block;
}

/* The vectors of a problem: the parts that have them (0: all), where their pointers stand, the size
 * of a number. */
static const struct problem_vector {
  unsigned parts;
  size_t at, size;
} problem_vectors[] = {
  { 0, offsetof(perp_lcp_problem, p.b), sizeof(double) },
  { PERP_PART_BOUNDS, offsetof(perp_lcp_problem, p.lo), sizeof(double) },
  { PERP_PART_BOUNDS, offsetof(perp_lcp_problem, p.hi), sizeof(double) },
  { PERP_PART_FRICTION | PERP_PART_CONE, offsetof(perp_lcp_problem, p.mu), sizeof(double) },
  { PERP_PART_FRICTION | PERP_PART_CONE, offsetof(perp_lcp_problem, p.fric_of), sizeof(int) },
  { PERP_PART_CONE, offsetof(perp_lcp_problem, p.cone), sizeof(signed char) },
  { PERP_PART_UNIT, offsetof(perp_lcp_problem, p.unit), sizeof(double) },
  { PERP_PART_CONTACTS, offsetof(perp_lcp_problem, p.contact_of), sizeof(int) },
  { PERP_PART_SOLUTION, offsetof(perp_lcp_problem, solution), sizeof(double) },
};
enum { VECTORS = sizeof problem_vectors / sizeof problem_vectors[0] };

/* The array of a vector; NULL where q does not have it. */
static char *problem_array(const perp_lcp_problem *problem, const struct problem_vector *vector)
{
  char *array;
  memcpy(&array, (const char *)problem + vector->at, sizeof array);
  return array;
}

static void problem_layout(perp_lcp_problem *problem, perp_arena *arena, unsigned parts)
{
  size_t n = (size_t)problem->p.n;
  if (parts & PERP_PART_A) problem->p.A = PERP_CARVE(arena, double, n *n);
  for (const struct problem_vector *vector = problem_vectors; vector < problem_vectors + VECTORS;
       vector++) {
    void *array = vector->parts == 0 || parts & vector->parts
                      ? perp_arena_carve(arena, n, vector->size)
                      : NULL;
    memcpy((char *)problem + vector->at, &array, sizeof array);
  }
}

perp_status perp_lcp_problem_new(perp_ctx *ctx, int n, unsigned parts, perp_lcp_problem *out)
{
  *out = (perp_lcp_problem){ 0 };
  if (n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n must not be negative: got %d", n);
  if (parts & PERP_PART_A) PERP_TRY(problem_dense(ctx, n));
  out->p.n = n;
  out->p.lda = parts & PERP_PART_A ? n : 0;
  perp_arena arena = { 0 };
  problem_layout(out, &arena, parts);
  void *block = problem_zeroed(ctx, arena.used);
  if (block == NULL) {
    *out = (perp_lcp_problem){ 0 };
    return PERP_ERR_NOMEM;
  }
  arena = (perp_arena){ .base = block };
  problem_layout(out, &arena, parts);
  out->storage = block;
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  for (int i = 0; arrays.hi != NULL && i < n; i++) arrays.hi[i] = HUGE_VAL;
  for (int i = 0; arrays.fric_of != NULL && i < n; i++) arrays.fric_of[i] = -1;
  for (int i = 0; arrays.unit != NULL && i < n; i++) arrays.unit[i] = 1;
  for (int i = 0; arrays.contact_of != NULL && i < n; i++) arrays.contact_of[i] = -1;
  return PERP_OK;
}

void perp_lcp_problem_free(perp_lcp_problem *problem)
{
  if (problem == NULL) return;
  free(problem->storage);
  free(problem->block_storage);
  free(problem->provenance);
  free(problem->sequence.carry);
  *problem = (perp_lcp_problem){ 0 };
}

perp_lcp_arrays perp_lcp_edit(perp_lcp_problem *problem)
{
  /* the arrays were allocated by us as writable; the view shows them as const */
  return (perp_lcp_arrays){ .A = (double *)(uintptr_t)problem->p.A,
                            .b = (double *)(uintptr_t)problem->p.b,
                            .lo = (double *)(uintptr_t)problem->p.lo,
                            .hi = (double *)(uintptr_t)problem->p.hi,
                            .mu = (double *)(uintptr_t)problem->p.mu,
                            .unit = (double *)(uintptr_t)problem->p.unit,
                            .solution = problem->solution,
                            .fric_of = (int *)(uintptr_t)problem->p.fric_of,
                            .contact_of = (int *)(uintptr_t)problem->p.contact_of,
                            .cone = (signed char *)(uintptr_t)problem->p.cone };
}

perp_status perp_lcp_problem_note(perp_ctx *ctx, perp_lcp_problem *problem, const char *fmt, ...)
{
  va_list ap;
  char *text = NULL;
  va_start(ap, fmt);
  int n = vasprintf(&text, fmt, ap);
  va_end(ap);
  if (n < 0) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a text");
  free(problem->provenance);
  problem->provenance = text;
  return PERP_OK;
}

perp_status perp_lcp_problem_carry(perp_ctx *ctx, perp_lcp_problem *problem, int rows, int n,
                                   const perp_lcp_carry *carry)
{
  for (int k = 0; k < n; k++)
    if (carry[k].to < 0 || carry[k].to >= problem->p.n || carry[k].from < 0 ||
        carry[k].from >= rows || !isfinite(carry[k].c))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "carry %d: %g of row %d of %d to row %d of %d", k,
                       carry[k].c, carry[k].from, rows, carry[k].to, problem->p.n);
  perp_lcp_carry *copy = NULL;
  if (n > 0) {
    copy = malloc((size_t)n * sizeof *copy);
    if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d carries", n);
    memcpy(copy, carry, (size_t)n * sizeof *copy);
  }
  free(problem->sequence.carry);
  problem->sequence.carry = copy;
  problem->sequence.n = n;
  problem->sequence.rows = rows;
  return PERP_OK;
}

/* The block that holds A from now on, in whichever form; the old one goes. */
static void problem_keep(perp_lcp_problem *problem, void *block)
{
  free(problem->block_storage);
  problem->block_storage = block;
  problem->p.A = NULL;
  problem->p.lda = 0;
  problem->p.F = NULL;
  problem->p.C = NULL;
}

/* ---- factored form ---- */

perp_status perp_lcp_problem_set_blocks(perp_ctx *ctx, perp_lcp_problem *problem,
                                        const perp_blocks *blocks)
{
  if (blocks->m != problem->p.n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d rows but n = %d", blocks->m, problem->p.n);
  perp_arena arena = { 0 };
  perp_blocks_copy(blocks, &arena);
  void *block = problem_zeroed(ctx, arena.used);
  if (block == NULL) return PERP_ERR_NOMEM;
  arena = (perp_arena){ .base = block };
  const perp_blocks *copy = perp_blocks_copy(blocks, &arena);
  problem_keep(problem, block);
  problem->p.F = copy;
  return PERP_OK;
}

perp_status perp_lcp_problem_add_dense(perp_ctx *ctx, perp_lcp_problem *problem)
{
  const size_t n = (size_t)problem->p.n;
  PERP_TRY(problem_dense(ctx, problem->p.n));
  double *A = problem_zeroed(ctx, n * n * sizeof *A);
  if (A == NULL) return PERP_ERR_NOMEM;
  problem_keep(problem, A);
  problem->p.A = A;
  problem->p.lda = problem->p.n;
  return PERP_OK;
}

perp_status perp_lcp_problem_set_columns(perp_ctx *ctx, perp_lcp_problem *problem,
                                         const perp_columns *columns)
{
  if (columns->n != problem->p.n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "A has %d columns but n = %d", columns->n, problem->p.n);
  perp_arena arena = { 0 };
  perp_columns_copy(columns, &arena);
  void *block = problem_zeroed(ctx, arena.used);
  if (block == NULL) return PERP_ERR_NOMEM;
  arena = (perp_arena){ .base = block };
  const perp_columns *copy = perp_columns_copy(columns, &arena);
  problem_keep(problem, block);
  problem->p.C = copy;
  return PERP_OK;
}

/* ---- copies ---- */

static unsigned problem_parts_of(const perp_lcp_problem *problem)
{
  const perp_lcp *lcp = &problem->p;
  unsigned parts = problem->solution != NULL ? PERP_PART_SOLUTION : 0u;
  if (lcp->A != NULL) parts |= PERP_PART_A;
  if (lcp->lo != NULL || lcp->hi != NULL) parts |= PERP_PART_BOUNDS;
  if (lcp->fric_of != NULL) parts |= PERP_PART_FRICTION;
  if (lcp->cone != NULL) parts |= PERP_PART_CONE;
  if (lcp->unit != NULL) parts |= PERP_PART_UNIT;
  if (lcp->contact_of != NULL) parts |= PERP_PART_CONTACTS;
  return parts;
}

/* Everything but A and F. */
static void copy_vectors(const perp_lcp_problem *problem, perp_lcp_problem *out)
{
  for (const struct problem_vector *vector = problem_vectors; vector < problem_vectors + VECTORS;
       vector++) {
    const char *from = problem_array(problem, vector);
    char *to = problem_array(out, vector);
    if (from != NULL && to != NULL) memcpy(to, from, (size_t)problem->p.n * vector->size);
  }
  out->p.frozen = problem->p.frozen;
  out->p.tol = problem->p.tol;
  out->p.tol_data = problem->p.tol_data;
}

static perp_status copy_all(perp_ctx *ctx, const perp_lcp_problem *problem, perp_lcp_problem *out)
{
  const perp_lcp *lcp = &problem->p;
  PERP_TRY(perp_lcp_problem_new(ctx, lcp->n, problem_parts_of(problem), out));
  copy_vectors(problem, out);
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  size_t n = (size_t)lcp->n;
  for (size_t j = 0; lcp->A != NULL && j < n; j++)
    memcpy(arrays.A + j * n, lcp->A + j * (size_t)lcp->lda, n * sizeof *arrays.A);
  perp_status status = PERP_OK;
  if (lcp->F != NULL) status = perp_lcp_problem_set_blocks(ctx, out, lcp->F);
  if (lcp->C != NULL) status = perp_lcp_problem_set_columns(ctx, out, lcp->C);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

static perp_status copy_labels(perp_ctx *ctx, const perp_lcp_problem *problem,
                               perp_lcp_problem *out)
{
  out->classes = problem->classes;
  memcpy(out->family, problem->family, sizeof out->family);
  const perp_lcp_sequence *sequence = &problem->sequence;
  memcpy(out->sequence.name, sequence->name, sizeof sequence->name);
  out->sequence.number = sequence->number;
  out->sequence.of = sequence->of;
  perp_status status = perp_lcp_problem_carry(ctx, out, sequence->rows, sequence->n,
                                              sequence->carry);
  if (status == PERP_OK && problem->provenance != NULL)
    status = perp_lcp_problem_note(ctx, out, "%s", problem->provenance);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

perp_status perp_lcp_copy(perp_ctx *ctx, const perp_lcp *lcp, perp_lcp_problem *out)
{
  return copy_all(ctx, &(perp_lcp_problem){ .p = *lcp }, out);
}

perp_status perp_lcp_problem_copy(perp_ctx *ctx, const perp_lcp_problem *problem,
                                  perp_lcp_problem *out)
{
  PERP_TRY(copy_all(ctx, problem, out));
  return copy_labels(ctx, problem, out);
}

size_t perp_lcp_largest_block(const perp_blocks *blocks)
{
  size_t most = 1;
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int b = blocks->jblk[k];
      size_t size = (size_t)(blocks->cptr[g + 1] - blocks->cptr[g]) *
                    (size_t)(blocks->bptr[b + 1] - blocks->bptr[b]);
      if (size > most) most = size;
    }
  return most;
}

perp_status perp_lcp_problem_form(perp_ctx *ctx, const perp_lcp_problem *problem,
                                  perp_lcp_problem *out)
{
  if (problem->p.A != NULL || problem->p.n == 0) return perp_lcp_problem_copy(ctx, problem, out);
  if (problem->p.C != NULL) {
    PERP_TRY(perp_lcp_problem_new(ctx, problem->p.n, problem_parts_of(problem) | PERP_PART_A, out));
    copy_vectors(problem, out);
    perp_columns_form(problem->p.C, perp_lcp_edit(out).A, problem->p.n);
    return copy_labels(ctx, problem, out);
  }
  const perp_blocks *blocks = problem->p.F;
  PERP_TRY(perp_lcp_problem_new(ctx, problem->p.n, problem_parts_of(problem) | PERP_PART_A, out));
  double *scratch = problem_zeroed(ctx, perp_lcp_largest_block(blocks) * sizeof *scratch);
  if (scratch == NULL) {
    perp_lcp_problem_free(out);
    return PERP_ERR_NOMEM;
  }
  copy_vectors(problem, out);
  perp_blocks_delassus(blocks, perp_lcp_edit(out).A, problem->p.n, scratch);
  free(scratch);
  return copy_labels(ctx, problem, out);
}

/* ---- transformations ---- */

/* Turned twice, both orders of the numbers are ascending. */
static perp_status problem_permute_columns(perp_ctx *ctx, perp_lcp_problem *problem,
                                           const int *perm, const int *inverse)
{
  const perp_columns *old = problem->p.C;
  const size_t n = (size_t)old->n, numbers = (size_t)old->start[n];
  int *place = problem_zeroed(ctx, 2 * (n + 1 + numbers) * sizeof *place);
  double *value = problem_zeroed(ctx, 2 * numbers * sizeof *value);
  perp_status status = PERP_ERR_NOMEM;
  if (place != NULL && value != NULL) {
    int *start = place, *row = start + n + 1, *rstart = row + numbers, *col = rstart + n + 1;
    int at = 0;
    for (size_t k = 0; k < n; k++) {
      for (int l = old->start[perm[k]]; l < old->start[perm[k] + 1]; l++, at++) {
        row[at] = inverse[old->row[l]];
        value[at] = old->value[l];
      }
      start[k + 1] = at;
    }
    perp_columns_turn(old->n, start, row, value, rstart, col, value + numbers);
    perp_columns_turn(old->n, rstart, col, value + numbers, start, row, value);
    const perp_columns columns = { .n = old->n,
                                   .start = start,
                                   .row = row,
                                   .value = value,
                                   .rstart = rstart,
                                   .col = col,
                                   .rvalue = value + numbers };
    status = perp_lcp_problem_set_columns(ctx, problem, &columns);
  }
  free(place);
  free(value);
  return status;
}

perp_status perp_lcp_problem_permute(perp_ctx *ctx, perp_lcp_problem *problem, const int *perm)
{
  int n = problem->p.n;
  if (problem->p.F != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "a factored problem cannot be permuted; make it dense first");
  int *inverse = problem_zeroed(ctx, (size_t)n * sizeof *inverse);
  if (inverse == NULL) return PERP_ERR_NOMEM;
  for (int k = 0; k < n; k++) inverse[k] = -1;
  perp_status status = PERP_OK;
  for (int k = 0; k < n && status == PERP_OK; k++) {
    if (perm[k] < 0 || perm[k] >= n || inverse[perm[k]] >= 0)
      status = PERP_FAIL(ctx, PERP_ERR_ARG, "not a permutation: entry %d is %d", k, perm[k]);
    else
      inverse[perm[k]] = k;
  }
  for (int k = 0; k < n && status == PERP_OK; k++)
    if (problem->p.cone != NULL && problem->p.cone[perm[k]] &&
        (k + 1 == n || perm[k + 1] != perm[k] + 1))
      status = PERP_FAIL(ctx, PERP_ERR_ARG, "the permutation separates the rows of a cone");
  perp_lcp_problem old = { 0 };
  if (status == PERP_OK) status = perp_lcp_problem_copy(ctx, problem, &old);
  if (status == PERP_OK && problem->p.C != NULL)
    status = problem_permute_columns(ctx, problem, perm, inverse);
  if (status != PERP_OK) {
    perp_lcp_problem_free(&old);
    free(inverse);
    return status;
  }
  perp_lcp_arrays arrays = perp_lcp_edit(problem), y = perp_lcp_edit(&old);
  size_t m = (size_t)n;
  for (size_t k = 0; k < m; k++) {
    size_t i = (size_t)perm[k];
    for (size_t l = 0; arrays.A != NULL && l < m; l++)
      arrays.A[l + k * m] = y.A[(size_t)perm[l] + i * m];
    for (const struct problem_vector *vector = problem_vectors; vector < problem_vectors + VECTORS;
         vector++)
      if (problem_array(problem, vector) != NULL)
        memcpy(problem_array(problem, vector) + k * vector->size,
               problem_array(&old, vector) + i * vector->size, vector->size);
    if (arrays.fric_of != NULL && arrays.fric_of[k] >= 0)
      arrays.fric_of[k] = inverse[arrays.fric_of[k]];
  }
  for (int k = 0; k < problem->sequence.n; k++)
    problem->sequence.carry[k].to = inverse[problem->sequence.carry[k].to];
  perp_lcp_problem_free(&old);
  free(inverse);
  return PERP_OK;
}

void perp_lcp_problem_scale(perp_lcp_problem *problem, double s)
{
  size_t n = (size_t)problem->p.n;
  perp_lcp_arrays arrays = perp_lcp_edit(problem);
  for (size_t i = 0; arrays.A != NULL && i < n * n; i++) arrays.A[i] *= s;
  for (size_t i = 0; i < n; i++) arrays.b[i] *= s;
  for (int k = 0; problem->p.C != NULL && k < problem->p.C->start[problem->p.n]; k++) {
    ((double *)(uintptr_t)problem->p.C->value)[k] *= s;
    ((double *)(uintptr_t)problem->p.C->rvalue)[k] *= s;
  }
  if (problem->p.F == NULL) return;
  /* s A = J (s M^-1) J' + s S */
  const perp_blocks *blocks = problem->p.F;
  double *M = (double *)(uintptr_t)blocks->M, *W = (double *)(uintptr_t)blocks->Minv;
  double *soft = (double *)(uintptr_t)blocks->s, *flat = (double *)(uintptr_t)blocks->flat;
  for (int i = 0; i < blocks->mptr[blocks->nb]; i++) {
    M[i] /= s;
    W[i] *= s;
  }
  for (size_t i = 0; soft != NULL && i < n; i++) soft[i] *= s;
  for (int i = 0; flat != NULL && i < blocks->nv; i++) flat[i] *= s;
}
