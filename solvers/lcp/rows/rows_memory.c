/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that grows with the problem, and the compressed columns of a dense A that is mostly zeros.
 */
#include "solvers/lcp/rows/rows_private.h"

perp_status perp_rows_grow(perp_ctx *ctx, perp_rows *R, size_t bytes)
{
  if (bytes > R->capacity) {
    perp_arena_free(&R->grown);
    R->capacity = 0;
    R->grown.used = bytes + bytes / 4;
    const size_t capacity = R->grown.used;
    PERP_TRY(perp_arena_reserve(ctx, &R->grown));
    R->capacity = capacity;
  }
  R->grown.used = 0;
  return PERP_OK;
}

static void rows_memory_layout(perp_rows *R, size_t numbers, perp_arena *a)
{
  PERP_INTS(a, (size_t)R->n + 1, &R->start);
  PERP_INTS(a, numbers, &R->row);
  PERP_DOUBLES(a, numbers, &R->value);
}

perp_status perp_rows_compress(perp_ctx *ctx, perp_rows *R, size_t numbers)
{
  const perp_lcp *p = R->p;
  perp_arena need = { 0 };
  rows_memory_layout(R, numbers, &need);
  PERP_TRY(perp_rows_grow(ctx, R, need.used));
  rows_memory_layout(R, numbers, &R->grown);
  int k = 0;
  for (int j = 0; j < p->n; j++) {
    const double *a = p->A + (size_t)j * (size_t)p->lda;
    R->start[j] = k;
    for (int i = 0; i < p->n; i++)
      if (a[i] != 0) {
        R->row[k] = i;
        R->value[k++] = a[i];
      }
  }
  R->start[p->n] = k;
  return PERP_OK;
}
