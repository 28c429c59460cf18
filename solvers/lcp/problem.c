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
static char *problem_array(const perp_lcp_problem *q, const struct problem_vector *v)
{
  char *array;
  memcpy(&array, (const char *)q + v->at, sizeof array);
  return array;
}

static void problem_layout(perp_lcp_problem *q, perp_arena *a, unsigned parts)
{
  size_t n = (size_t)q->p.n;
  if (parts & PERP_PART_A) q->p.A = PERP_CARVE(a, double, n *n);
  for (const struct problem_vector *v = problem_vectors; v < problem_vectors + VECTORS; v++) {
    void *array = v->parts == 0 || parts & v->parts ? perp_arena_carve(a, n, v->size) : NULL;
    memcpy((char *)q + v->at, &array, sizeof array);
  }
}

perp_status perp_lcp_problem_new(perp_ctx *ctx, int n, unsigned parts, perp_lcp_problem *out)
{
  *out = (perp_lcp_problem){ 0 };
  if (n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n must not be negative: got %d", n);
  if (parts & PERP_PART_A) PERP_TRY(problem_dense(ctx, n));
  out->p.n = n;
  out->p.lda = parts & PERP_PART_A ? n : 0;
  perp_arena a = { 0 };
  problem_layout(out, &a, parts);
  void *block = problem_zeroed(ctx, a.used);
  if (block == NULL) {
    *out = (perp_lcp_problem){ 0 };
    return PERP_ERR_NOMEM;
  }
  a = (perp_arena){ .base = block };
  problem_layout(out, &a, parts);
  out->storage = block;
  perp_lcp_arrays x = perp_lcp_edit(out);
  for (int i = 0; x.hi != NULL && i < n; i++) x.hi[i] = HUGE_VAL;
  for (int i = 0; x.fric_of != NULL && i < n; i++) x.fric_of[i] = -1;
  for (int i = 0; x.unit != NULL && i < n; i++) x.unit[i] = 1;
  for (int i = 0; x.contact_of != NULL && i < n; i++) x.contact_of[i] = -1;
  return PERP_OK;
}

void perp_lcp_problem_free(perp_lcp_problem *p)
{
  if (p == NULL) return;
  free(p->storage);
  free(p->block_storage);
  free(p->provenance);
  free(p->sequence.carry);
  *p = (perp_lcp_problem){ 0 };
}

perp_lcp_arrays perp_lcp_edit(perp_lcp_problem *p)
{
  /* the arrays were allocated by us as writable; the view shows them as const */
  return (perp_lcp_arrays){ .A = (double *)(uintptr_t)p->p.A,
                            .b = (double *)(uintptr_t)p->p.b,
                            .lo = (double *)(uintptr_t)p->p.lo,
                            .hi = (double *)(uintptr_t)p->p.hi,
                            .mu = (double *)(uintptr_t)p->p.mu,
                            .unit = (double *)(uintptr_t)p->p.unit,
                            .solution = p->solution,
                            .fric_of = (int *)(uintptr_t)p->p.fric_of,
                            .contact_of = (int *)(uintptr_t)p->p.contact_of,
                            .cone = (signed char *)(uintptr_t)p->p.cone };
}

perp_status perp_lcp_problem_note(perp_ctx *ctx, perp_lcp_problem *p, const char *fmt, ...)
{
  va_list ap;
  char *text = NULL;
  va_start(ap, fmt);
  int n = vasprintf(&text, fmt, ap);
  va_end(ap);
  if (n < 0) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a text");
  free(p->provenance);
  p->provenance = text;
  return PERP_OK;
}

perp_status perp_lcp_problem_carry(perp_ctx *ctx, perp_lcp_problem *p, int rows, int n,
                                   const perp_lcp_carry *carry)
{
  for (int k = 0; k < n; k++)
    if (carry[k].to < 0 || carry[k].to >= p->p.n || carry[k].from < 0 || carry[k].from >= rows ||
        !isfinite(carry[k].c))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "carry %d: %g of row %d of %d to row %d of %d", k,
                       carry[k].c, carry[k].from, rows, carry[k].to, p->p.n);
  perp_lcp_carry *copy = NULL;
  if (n > 0) {
    copy = malloc((size_t)n * sizeof *copy);
    if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d carries", n);
    memcpy(copy, carry, (size_t)n * sizeof *copy);
  }
  free(p->sequence.carry);
  p->sequence.carry = copy;
  p->sequence.n = n;
  p->sequence.rows = rows;
  return PERP_OK;
}

/* The block that holds A from now on, in whichever form; the old one goes. */
static void problem_keep(perp_lcp_problem *p, void *block)
{
  free(p->block_storage);
  p->block_storage = block;
  p->p.A = NULL;
  p->p.lda = 0;
  p->p.F = NULL;
  p->p.C = NULL;
}

/* ---- factored form ---- */

perp_status perp_lcp_problem_set_blocks(perp_ctx *ctx, perp_lcp_problem *p, const perp_blocks *F)
{
  if (F->m != p->p.n) return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d rows but n = %d", F->m, p->p.n);
  perp_arena a = { 0 };
  perp_blocks_copy(F, &a);
  void *block = problem_zeroed(ctx, a.used);
  if (block == NULL) return PERP_ERR_NOMEM;
  a = (perp_arena){ .base = block };
  const perp_blocks *copy = perp_blocks_copy(F, &a);
  problem_keep(p, block);
  p->p.F = copy;
  return PERP_OK;
}

perp_status perp_lcp_problem_add_dense(perp_ctx *ctx, perp_lcp_problem *p)
{
  const size_t n = (size_t)p->p.n;
  PERP_TRY(problem_dense(ctx, p->p.n));
  double *A = problem_zeroed(ctx, n * n * sizeof *A);
  if (A == NULL) return PERP_ERR_NOMEM;
  problem_keep(p, A);
  p->p.A = A;
  p->p.lda = p->p.n;
  return PERP_OK;
}

perp_status perp_lcp_problem_set_columns(perp_ctx *ctx, perp_lcp_problem *p, const perp_columns *C)
{
  if (C->n != p->p.n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "A has %d columns but n = %d", C->n, p->p.n);
  perp_arena a = { 0 };
  perp_columns_copy(C, &a);
  void *block = problem_zeroed(ctx, a.used);
  if (block == NULL) return PERP_ERR_NOMEM;
  a = (perp_arena){ .base = block };
  const perp_columns *copy = perp_columns_copy(C, &a);
  problem_keep(p, block);
  p->p.C = copy;
  return PERP_OK;
}

/* ---- copies ---- */

static unsigned problem_parts_of(const perp_lcp_problem *q)
{
  const perp_lcp *p = &q->p;
  unsigned parts = q->solution != NULL ? PERP_PART_SOLUTION : 0u;
  if (p->A != NULL) parts |= PERP_PART_A;
  if (p->lo != NULL || p->hi != NULL) parts |= PERP_PART_BOUNDS;
  if (p->fric_of != NULL) parts |= PERP_PART_FRICTION;
  if (p->cone != NULL) parts |= PERP_PART_CONE;
  if (p->unit != NULL) parts |= PERP_PART_UNIT;
  if (p->contact_of != NULL) parts |= PERP_PART_CONTACTS;
  return parts;
}

/* Everything but A and F. */
static void copy_vectors(const perp_lcp_problem *p, perp_lcp_problem *out)
{
  for (const struct problem_vector *v = problem_vectors; v < problem_vectors + VECTORS; v++) {
    const char *from = problem_array(p, v);
    char *to = problem_array(out, v);
    if (from != NULL && to != NULL) memcpy(to, from, (size_t)p->p.n * v->size);
  }
  out->p.frozen = p->p.frozen;
  out->p.tol = p->p.tol;
  out->p.tol_data = p->p.tol_data;
}

static perp_status copy_all(perp_ctx *ctx, const perp_lcp_problem *q, perp_lcp_problem *out)
{
  const perp_lcp *p = &q->p;
  PERP_TRY(perp_lcp_problem_new(ctx, p->n, problem_parts_of(q), out));
  copy_vectors(q, out);
  perp_lcp_arrays x = perp_lcp_edit(out);
  size_t n = (size_t)p->n;
  for (size_t j = 0; p->A != NULL && j < n; j++)
    memcpy(x.A + j * n, p->A + j * (size_t)p->lda, n * sizeof *x.A);
  perp_status status = PERP_OK;
  if (p->F != NULL) status = perp_lcp_problem_set_blocks(ctx, out, p->F);
  if (p->C != NULL) status = perp_lcp_problem_set_columns(ctx, out, p->C);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

static perp_status copy_labels(perp_ctx *ctx, const perp_lcp_problem *p, perp_lcp_problem *out)
{
  out->classes = p->classes;
  memcpy(out->family, p->family, sizeof out->family);
  const perp_lcp_sequence *q = &p->sequence;
  memcpy(out->sequence.name, q->name, sizeof q->name);
  out->sequence.number = q->number;
  out->sequence.of = q->of;
  perp_status status = perp_lcp_problem_carry(ctx, out, q->rows, q->n, q->carry);
  if (status == PERP_OK && p->provenance != NULL)
    status = perp_lcp_problem_note(ctx, out, "%s", p->provenance);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

perp_status perp_lcp_copy(perp_ctx *ctx, const perp_lcp *p, perp_lcp_problem *out)
{
  return copy_all(ctx, &(perp_lcp_problem){ .p = *p }, out);
}

perp_status perp_lcp_problem_copy(perp_ctx *ctx, const perp_lcp_problem *p, perp_lcp_problem *out)
{
  PERP_TRY(copy_all(ctx, p, out));
  return copy_labels(ctx, p, out);
}

size_t perp_lcp_largest_block(const perp_blocks *F)
{
  size_t most = 1;
  for (int g = 0; g < F->nc; g++)
    for (int k = F->jptr[g]; k < F->jptr[g + 1]; k++) {
      int b = F->jblk[k];
      size_t size = (size_t)(F->cptr[g + 1] - F->cptr[g]) * (size_t)(F->bptr[b + 1] - F->bptr[b]);
      if (size > most) most = size;
    }
  return most;
}

perp_status perp_lcp_problem_form(perp_ctx *ctx, const perp_lcp_problem *p, perp_lcp_problem *out)
{
  if (p->p.A != NULL || p->p.n == 0) return perp_lcp_problem_copy(ctx, p, out);
  if (p->p.C != NULL) {
    PERP_TRY(perp_lcp_problem_new(ctx, p->p.n, problem_parts_of(p) | PERP_PART_A, out));
    copy_vectors(p, out);
    perp_columns_form(p->p.C, perp_lcp_edit(out).A, p->p.n);
    return copy_labels(ctx, p, out);
  }
  const perp_blocks *F = p->p.F;
  PERP_TRY(perp_lcp_problem_new(ctx, p->p.n, problem_parts_of(p) | PERP_PART_A, out));
  double *scratch = problem_zeroed(ctx, perp_lcp_largest_block(F) * sizeof *scratch);
  if (scratch == NULL) {
    perp_lcp_problem_free(out);
    return PERP_ERR_NOMEM;
  }
  copy_vectors(p, out);
  perp_blocks_delassus(F, perp_lcp_edit(out).A, p->p.n, scratch);
  free(scratch);
  return copy_labels(ctx, p, out);
}

/* ---- transformations ---- */

perp_status perp_lcp_problem_permute(perp_ctx *ctx, perp_lcp_problem *p, const int *perm)
{
  int n = p->p.n;
  if (p->p.F != NULL || p->p.C != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "a %s problem cannot be permuted; make it dense first",
                     p->p.F != NULL ? "factored" : "sparse");
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
    if (p->p.cone != NULL && p->p.cone[perm[k]] && (k + 1 == n || perm[k + 1] != perm[k] + 1))
      status = PERP_FAIL(ctx, PERP_ERR_ARG, "the permutation separates the rows of a cone");
  perp_lcp_problem old = { 0 };
  if (status == PERP_OK) status = perp_lcp_problem_copy(ctx, p, &old);
  if (status != PERP_OK) {
    free(inverse);
    return status;
  }
  perp_lcp_arrays x = perp_lcp_edit(p), y = perp_lcp_edit(&old);
  size_t m = (size_t)n;
  for (size_t k = 0; k < m; k++) {
    size_t i = (size_t)perm[k];
    for (size_t l = 0; l < m; l++) x.A[l + k * m] = y.A[(size_t)perm[l] + i * m];
    for (const struct problem_vector *v = problem_vectors; v < problem_vectors + VECTORS; v++)
      if (problem_array(p, v) != NULL)
        memcpy(problem_array(p, v) + k * v->size, problem_array(&old, v) + i * v->size, v->size);
    if (x.fric_of != NULL && x.fric_of[k] >= 0) x.fric_of[k] = inverse[x.fric_of[k]];
  }
  for (int k = 0; k < p->sequence.n; k++)
    p->sequence.carry[k].to = inverse[p->sequence.carry[k].to];
  perp_lcp_problem_free(&old);
  free(inverse);
  return PERP_OK;
}

void perp_lcp_problem_scale(perp_lcp_problem *p, double s)
{
  size_t n = (size_t)p->p.n;
  perp_lcp_arrays x = perp_lcp_edit(p);
  for (size_t i = 0; x.A != NULL && i < n * n; i++) x.A[i] *= s;
  for (size_t i = 0; i < n; i++) x.b[i] *= s;
  for (int k = 0; p->p.C != NULL && k < p->p.C->start[p->p.n]; k++) {
    ((double *)(uintptr_t)p->p.C->value)[k] *= s;
    ((double *)(uintptr_t)p->p.C->rvalue)[k] *= s;
  }
  if (p->p.F == NULL) return;
  /* s A = J (s M^-1) J' + s S */
  const perp_blocks *F = p->p.F;
  double *M = (double *)(uintptr_t)F->M, *W = (double *)(uintptr_t)F->Minv;
  double *soft = (double *)(uintptr_t)F->s, *flat = (double *)(uintptr_t)F->flat;
  for (int i = 0; i < F->mptr[F->nb]; i++) {
    M[i] /= s;
    W[i] *= s;
  }
  for (size_t i = 0; soft != NULL && i < n; i++) soft[i] *= s;
  for (int i = 0; flat != NULL && i < F->nv; i++) flat[i] *= s;
}
