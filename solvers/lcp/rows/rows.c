/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preparing rows: bounds, dense problems.  rows_units.c has steps and the factored ones. */
#include "solvers/lcp/rows/rows_private.h"

#include <math.h>
#include <stdlib.h>

static void rows_layout(void *rows, perp_arena *a)
{
  perp_rows *R = rows;
  const int n = R->max_n;
  PERP_DOUBLES(a, n, &R->diag, &R->big, &R->a, &R->inv, &R->lo, &R->hi, &R->w);
  PERP_DOUBLES(a, PERP_LCP_SCRATCH(n, 0), &R->judged);
  R->unit = PERP_CARVE(a, perp_unit, n);
  R->unit2 = PERP_CARVE(a, perp_unit, n);
  PERP_INTS(a, n, &R->level, &R->place, &R->unit_of);
  PERP_INTS(a, (size_t)n + 1, &R->count);
  R->type = PERP_CARVE(a, signed char, n);
}

perp_status perp_rows_open(perp_ctx *ctx, perp_rows *R, int max_n)
{
  *R = (perp_rows){ .max_n = max_n };
  return perp_arena_layout(ctx, &R->own, rows_layout, R);
}

void perp_rows_close(perp_rows *R)
{
  perp_arena_free(&R->own);
  perp_arena_free(&R->grown);
}

perp_status perp_rows_create(perp_ctx *ctx, const char *who, void *like, size_t size,
                             perp_layout_fn *layout, void **ws)
{
  PERP_TRY(perp_workspace_create(ctx, who, like, size, layout, ws));
  const perp_status status = perp_rows_open(ctx, *ws, ((perp_rows *)like)->max_n);
  if (status == PERP_OK) return PERP_OK;
  free(*ws);
  *ws = NULL;
  return status;
}

void perp_rows_destroy(void *ws)
{
  if (ws != NULL) perp_rows_close(ws);
  free(ws);
}

static void rows_types(void *user, int member, int members)
{
  perp_rows *R = user;
  const perp_lcp *p = R->p;
  const int end = perp_share(p->n, member + 1, members);
  bool friction = false;
  for (int i = perp_share(p->n, member, members); i < end; i++) {
    R->lo[i] = p->lo != NULL ? p->lo[i] : 0;
    R->hi[i] = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    R->type[i] = PERP_ROW_BOUNDED;
    if (p->fric_of == NULL || p->fric_of[i] < 0) continue;
    friction = true;
    R->type[i] = perp_lcp_is_cone(p, i)                ? PERP_ROW_CONE
                 : i > 0 && perp_lcp_is_cone(p, i - 1) ? PERP_ROW_CONE_TAIL
                                                       : PERP_ROW_FRICTION;
  }
  if (friction) __atomic_store_n(&R->friction, true, __ATOMIC_RELAXED);
}

/* Diagonal and largest numbers of a sparse A, whose columns are those of R. */
static void rows_columns(perp_rows *R)
{
  const perp_columns *C = R->p->C;
  R->start = (int *)(uintptr_t)C->start; /* only read */
  R->row = (int *)(uintptr_t)C->row;
  R->value = (double *)(uintptr_t)C->value;
  for (int j = 0; j < C->n; j++) R->diag[j] = 0;
  for (int j = 0; j < C->n; j++)
    for (int k = C->start[j]; k < C->start[j + 1]; k++) {
      const int i = C->row[k];
      R->big[i] = larger(R->big[i], fabs(C->value[k]));
      if (i == j) R->diag[j] = C->value[k];
    }
}

/* How many numbers of A are not 0. */
static size_t rows_dense(perp_rows *R, double omega)
{
  const perp_lcp *p = R->p;
  const int n = p->n;
  size_t numbers = 0;
  for (int i = 0; i < n; i++) R->big[i] = 0;
  if (p->C != NULL) {
    rows_columns(R);
    numbers = (size_t)p->C->start[n];
  }
  for (int j = 0; p->A != NULL && j < n; j++) {
    const double *a = p->A + (size_t)j * (size_t)p->lda;
    R->diag[j] = a[j];
    int some = 0;
    for (int i = 0; i < n; i++) {
      R->big[i] = larger(R->big[i], fabs(a[i]));
      some += a[i] != 0;
    }
    numbers += (size_t)some;
  }
  R->n_units = 0;
  for (int i = 0; i < n; i++) {
    perp_rows_step(R, i, omega);
    R->bnorm = larger(R->bnorm, fabs(p->b[i]) / R->big[i]);
    if (R->type[i] == PERP_ROW_CONE_TAIL)
      perp_rows_step_cone(R, i - 1, perp_rows_entry(R, i, i - 1), omega);
    else
      R->unit[R->n_units++] = (perp_unit){ .row = i,
                                           .r = R->type[i] == PERP_ROW_CONE ? 2 : 1,
                                           .shape = DENSE_ROW };
  }
  if (R->coloured) perp_rows_dense_colours(R);
  return numbers;
}

perp_status perp_rows_prepare(perp_ctx *ctx, perp_rows *R, const perp_lcp *p, double omega)
{
  if (p->n > R->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", p->n, R->max_n);
  R->p = p;
  R->n = p->n;
  R->zero_diagonal = R->scaled = R->friction = false;
  R->n_levels = 0;
  R->bnorm = 0;
  /* small problems are done before a second thread has begun */
  const int threads = ctx->threads < PERP_TEAM_MAX ? ctx->threads : PERP_TEAM_MAX;
  R->threads = p->n >= PERP_TEAM_ROWS ? threads : 1;
  perp_team(R->threads, rows_types, R);
  R->sparse = false;
  if (p->F == NULL) {
    const size_t n = (size_t)p->n, numbers = rows_dense(R, omega);
    R->sparse = p->C != NULL || perp_lcp_mostly_zeros(p->n, (double)numbers);
    if (R->sparse && p->C == NULL) PERP_TRY(perp_rows_compress(ctx, R, numbers));
    R->product = R->sparse ? (double)numbers : (double)n * (double)n;
    R->work = p->C != NULL ? R->product : (double)n * (double)n; /* for reading it */
  } else {
    PERP_TRY(perp_rows_units(ctx, R, omega));
    R->work = R->product = 2.0 * p->F->joff[p->F->jptr[p->F->nc]];
  }
  return PERP_OK;
}
