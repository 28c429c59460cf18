/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

void *perp_arena_carve(perp_arena *a, size_t count, size_t size)
{
  size_t at = a->used;
  size_t bytes = count > SIZE_MAX / 2 / (size ? size : 1) ? SIZE_MAX / 2 : count * size;
  /* saturate: a request that cannot fit is refused by perp_arena_reserve */
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  a->used = at > SIZE_MAX - bytes ? SIZE_MAX : at + bytes;
  return a->base == NULL ? NULL : a->base + at;
}

perp_status perp_arena_reserve(perp_ctx *ctx, perp_arena *a)
{
  /* aligned_alloc wants a multiple, and a caller may ask for some spare room */
  size_t bytes = a->used > 0 ? a->used : ALIGN;
  if (bytes < SIZE_MAX / 2) bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  a->base = bytes >= SIZE_MAX / 2 ? NULL : aligned_alloc(ALIGN, bytes);
  if (a->base == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a workspace of %zu bytes", bytes);
  memset(a->base, 0xff, bytes); /* all bits one is a NaN: reading before writing shows */
  a->used = 0;
  return PERP_OK;
}

void perp_arena_free(perp_arena *a)
{
  free(a->base);
  *a = (perp_arena){ 0 };
}
