/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preparing rows: bounds, dense problems.  rows_units.c has steps and the factored ones. */
#include "solvers/lcp/rows/rows_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void rows_layout(void *rows, perp_arena *arena)
{
  perp_rows *R = rows;
  const int n = R->max_n;
  PERP_DOUBLES(arena, n, &R->diag, &R->big, &R->a, &R->inv, &R->lo, &R->hi, &R->w);
  PERP_DOUBLES(arena, PERP_LCP_SCRATCH(n, 0), &R->judged);
  R->unit = PERP_CARVE(arena, perp_unit, n);
  R->schedule.unit2 = PERP_CARVE(arena, perp_unit, n);
  PERP_INTS(arena, n, &R->schedule.level, &R->schedule.place, &R->unit_of);
  PERP_INTS(arena, (size_t)n + 1, &R->schedule.count);
  R->type = PERP_CARVE(arena, signed char, n);
  R->kind = PERP_CARVE(arena, signed char, n);
}

perp_status perp_rows_open(perp_ctx *ctx, perp_rows *rows, int max_n)
{
  *rows = (perp_rows){ .max_n = max_n };
  return perp_arena_layout(ctx, &rows->own, rows_layout, rows);
}

void perp_rows_close(perp_rows *rows)
{
  perp_arena_free(&rows->own);
  perp_arena_free(&rows->grown);
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

/* x [from ... end) = those of p, NULL: all `value` */
static void rows_bounds(double *x, const double *p, double value, int from, int end)
{
  if (p != NULL && end > from) memcpy(x + from, p + from, (size_t)(end - from) * sizeof *x);
  for (int i = from; i < end && p == NULL; i++) x[i] = value;
}

static void rows_types(void *user, int member, int members)
{
  perp_rows *rows = user;
  const perp_lcp *lcp = rows->p;
  const int from = perp_share(lcp->n, member, members),
            end = perp_share(lcp->n, member + 1, members);
  bool friction = false;
  rows_bounds(rows->lo, lcp->lo, 0, from, end);
  rows_bounds(rows->hi, lcp->hi, HUGE_VAL, from, end);
  for (int i = from; i < end; i++) {
    rows->type[i] = PERP_ROW_BOUNDED;
    rows->kind[i] = ((rows->lo[i] == 0) & (rows->hi[i] == HUGE_VAL)) ? PERP_ROW_HALF : 0;
  }
  for (int i = from; i < end && lcp->fric_of != NULL; i++) {
    if (lcp->fric_of[i] < 0) continue;
    friction = true;
    rows->type[i] = perp_lcp_is_cone(lcp, i)                ? PERP_ROW_CONE
                    : i > 0 && perp_lcp_is_cone(lcp, i - 1) ? PERP_ROW_CONE_TAIL
                                                            : PERP_ROW_FRICTION;
    rows->kind[i] += rows->type[i];
  }
  if (friction) __atomic_store_n(&rows->friction, true, __ATOMIC_RELAXED);
}

/* Diagonal and largest numbers of a sparse A, whose columns are those of rows. */
static void rows_columns(perp_rows *rows)
{
  const perp_columns *columns = rows->p->C;
  rows->start = (int *)(uintptr_t)columns->start; /* only read */
  rows->row = (int *)(uintptr_t)columns->row;
  rows->value = (double *)(uintptr_t)columns->value;
  for (int j = 0; j < columns->n; j++) rows->diag[j] = 0;
  for (int j = 0; j < columns->n; j++)
    for (int k = columns->start[j]; k < columns->start[j + 1]; k++) {
      const int i = columns->row[k];
      rows->big[i] = larger(rows->big[i], fabs(columns->value[k]));
      if (i == j) rows->diag[j] = columns->value[k];
    }
}

/* How many numbers of A are not 0. */
static size_t rows_dense(perp_rows *rows, double omega)
{
  const perp_lcp *lcp = rows->p;
  const int n = lcp->n;
  size_t numbers = 0;
  for (int i = 0; i < n; i++) rows->big[i] = 0;
  if (lcp->C != NULL) {
    rows_columns(rows);
    numbers = (size_t)lcp->C->start[n];
  }
  for (int j = 0; lcp->A != NULL && j < n; j++) {
    const double *a = lcp->A + (size_t)j * (size_t)lcp->lda;
    rows->diag[j] = a[j];
    int some = 0;
    for (int i = 0; i < n; i++) {
      rows->big[i] = larger(rows->big[i], fabs(a[i]));
      some += a[i] != 0;
    }
    numbers += (size_t)some;
  }
  rows->n_units = 0;
  for (int i = 0; i < n; i++) {
    perp_rows_step(rows, i, omega);
    rows->bnorm = larger(rows->bnorm, fabs(lcp->b[i]) / rows->big[i]);
    if (rows->type[i] == PERP_ROW_CONE_TAIL)
      perp_rows_step_cone(rows, i - 1, perp_rows_entry(rows, i, i - 1), omega);
    else
      rows->unit[rows->n_units++] = (perp_unit){ .row = i,
                                                 .r = rows->type[i] == PERP_ROW_CONE ? 2 : 1,
                                                 .shape = DENSE_ROW };
  }
  if (rows->coloured) perp_rows_dense_colours(rows);
  return numbers;
}

perp_status perp_rows_prepare(perp_ctx *ctx, perp_rows *rows, const perp_lcp *lcp, double omega)
{
  if (lcp->n > rows->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", lcp->n,
                     rows->max_n);
  rows->p = lcp;
  rows->n = lcp->n;
  rows->zero_diagonal = rows->scaled = rows->friction = false;
  rows->bnorm = 0;
  /* small problems are done before a second thread has begun */
  const int threads = ctx->threads < PERP_TEAM_MAX ? ctx->threads : PERP_TEAM_MAX;
  rows->threads = lcp->n >= PERP_TEAM_ROWS ? threads : 1;
  perp_team(rows->threads, rows_types, rows);
  rows->sparse = false;
  if (lcp->F == NULL) {
    rows->pattern.valid = false;
    rows->schedule.n_levels = 0;
    const size_t n = (size_t)lcp->n, numbers = rows_dense(rows, omega);
    rows->sparse = lcp->C != NULL || perp_lcp_mostly_zeros(lcp->n, (double)numbers);
    if (rows->sparse && lcp->C == NULL) PERP_TRY(perp_rows_compress(ctx, rows, numbers));
    rows->product = rows->sparse ? (double)numbers : (double)n * (double)n;
    rows->work = lcp->C != NULL ? rows->product : (double)n * (double)n; /* for reading it */
  } else {
    PERP_TRY(perp_rows_units(ctx, rows, omega));
    rows->work = rows->product = perp_lcp_product_work(lcp);
  }
  return PERP_OK;
}
