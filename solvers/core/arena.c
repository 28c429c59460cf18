/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* Under the address sanitizer a gap that nobody may touch follows each array. */
#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define ARENA_GAPS
#endif
#elif defined(__SANITIZE_ADDRESS__) /* gcc */
#define ARENA_GAPS
#endif
#ifdef ARENA_GAPS
#include <sanitizer/asan_interface.h>
enum { GAP = ALIGN };
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
enum { GAP = 0 };
#endif

/* Saturates: a request that cannot fit is refused where memory is asked for. */
static size_t arena_sum(size_t a, size_t b)
{
  return a > SIZE_MAX / 2 - b || b > SIZE_MAX / 2 ? SIZE_MAX / 2 : a + b;
}

static size_t arena_round(size_t bytes)
{
  return bytes >= SIZE_MAX / 2 ? SIZE_MAX / 2 : (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void *perp_arena_carve(perp_arena *arena, size_t count, size_t size)
{
  const size_t at = arena->used;
  const size_t bytes = count > SIZE_MAX / 2 / (size ? size : 1) ? SIZE_MAX / 2 : count * size;
  arena->used = arena_sum(arena_sum(at, arena_round(bytes)), count > 0 ? GAP : 0);
  if (arena->base == NULL) return NULL;
  ASAN_UNPOISON_MEMORY_REGION(arena->base + at, bytes);
  ASAN_POISON_MEMORY_REGION(arena->base + at + bytes, arena->used - at - bytes);
  return arena->base + at;
}

void perp_arena_doubles(perp_arena *arena, size_t count, double **const *to, size_t k)
{
  for (size_t i = 0; i < k; i++) *to[i] = PERP_CARVE(arena, double, count);
}

void perp_arena_ints(perp_arena *arena, size_t count, int **const *to, size_t k)
{
  for (size_t i = 0; i < k; i++) *to[i] = PERP_CARVE(arena, int, count);
}

/* All bits one is a NaN: reading before writing shows. */
static void *arena_block(perp_ctx *ctx, const char *who, size_t bytes)
{
  char *block = bytes >= SIZE_MAX / 2 ? NULL : aligned_alloc(ALIGN, bytes > 0 ? bytes : ALIGN);
  if (block == NULL)
    (void)PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s%sno memory for a workspace of %zu bytes", who,
                    *who == '\0' ? "" : ": ", bytes);
  else
    memset(block, 0xff, bytes);
  return block;
}

perp_status perp_arena_reserve(perp_ctx *ctx, perp_arena *arena)
{
  arena->base = arena_block(ctx, "",
                            arena_round(arena->used)); /* a caller may ask for some spare room */
  if (arena->base == NULL) return PERP_ERR_NOMEM;
  arena->used = 0;
  return PERP_OK;
}

perp_status perp_arena_layout(perp_ctx *ctx, perp_arena *arena, perp_layout_fn *layout, void *ws)
{
  perp_arena_free(arena);
  layout(ws, arena);
  PERP_TRY(perp_arena_reserve(ctx, arena));
  layout(ws, arena);
  return PERP_OK;
}

void perp_arena_free(perp_arena *arena)
{
  free(arena->base);
  *arena = (perp_arena){ 0 };
}

perp_status perp_workspace_create(perp_ctx *ctx, const char *who, void *like, size_t size,
                                  perp_layout_fn *layout, void **ws)
{
  perp_arena arena = { .used = arena_round(size) };
  layout(like, &arena);
  *ws = arena.base = arena_block(ctx, who, arena.used);
  if (arena.base == NULL) return PERP_ERR_NOMEM;
  memcpy(arena.base, like, size);
  arena.used = arena_round(size);
  layout(arena.base, &arena);
  return PERP_OK;
}
