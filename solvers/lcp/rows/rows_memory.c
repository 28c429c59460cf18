/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that grows with the problem, and the compressed columns of a dense A that is mostly zeros.
 */
#include "solvers/lcp/rows/rows_private.h"

perp_status perp_rows_grow(perp_ctx *ctx, perp_rows *rows, size_t bytes)
{
  if (bytes > rows->capacity) {
    perp_arena_free(&rows->grown);
    rows->pattern.valid = false;
    rows->capacity = 0;
    rows->grown.used = bytes + bytes / 4;
    const size_t capacity = rows->grown.used;
    PERP_TRY(perp_arena_reserve(ctx, &rows->grown));
    rows->capacity = capacity;
  }
  rows->grown.used = 0;
  return PERP_OK;
}

static void rows_memory_layout(perp_rows *rows, size_t numbers, perp_arena *arena)
{
  PERP_INTS(arena, (size_t)rows->n + 1, &rows->start);
  PERP_INTS(arena, numbers, &rows->row);
  PERP_DOUBLES(arena, numbers, &rows->value);
}

perp_status perp_rows_compress(perp_ctx *ctx, perp_rows *rows, size_t numbers)
{
  const perp_lcp *lcp = rows->p;
  perp_arena need = { 0 };
  rows->pattern.valid = false;
  rows_memory_layout(rows, numbers, &need);
  PERP_TRY(perp_rows_grow(ctx, rows, need.used));
  rows_memory_layout(rows, numbers, &rows->grown);
  int k = 0;
  for (int j = 0; j < lcp->n; j++) {
    const double *a = lcp->A + (size_t)j * (size_t)lcp->lda;
    rows->start[j] = k;
    for (int i = 0; i < lcp->n; i++)
      if (a[i] != 0) {
        rows->row[k] = i;
        rows->value[k++] = a[i];
      }
  }
  rows->start[lcp->n] = k;
  return PERP_OK;
}
