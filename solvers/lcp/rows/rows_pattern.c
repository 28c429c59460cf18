/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pattern of the last factored problem.  Units and their order follow from it alone: where the
 * next problem has the same one, as bodies at rest have from step to step, they are there already.
 * What is compared is all that they depend on, so that nothing else comes of it. */
#include "solvers/lcp/rows/rows_private.h"

#include <string.h>

void perp_rows_pattern_layout(perp_rows *rows, perp_arena *arena)
{
  const perp_blocks *blocks = rows->p->F;
  perp_rows_pattern *known = &rows->pattern;
  PERP_INTS(arena, (size_t)blocks->nc + 1, &known->cptr, &known->jptr);
  PERP_INTS(arena, blocks->jptr[blocks->nc], &known->jblk);
  PERP_INTS(arena, (size_t)blocks->nb + 1, &known->bptr);
  PERP_INTS(arena, rows->p->n, &known->fric_of);
  known->kind = PERP_CARVE(arena, signed char, rows->p->n);
  known->diag = PERP_CARVE(arena, unsigned char, blocks->nb);
}

/* Is `kept` what it was, *same?  If not, it becomes so. */
static void rows_pattern_keep(void *kept, const void *now, size_t size, bool *same)
{
  if (*same && memcmp(kept, now, size) == 0) return;
  memcpy(kept, now, size);
  *same = false;
}

bool perp_rows_pattern_known(perp_rows *rows)
{
  const perp_blocks *blocks = rows->p->F;
  perp_rows_pattern *known = &rows->pattern;
  const size_t groups = (size_t)blocks->nc + 1, nb = (size_t)blocks->nb, n = (size_t)rows->n;
  const int subs = blocks->jptr[blocks->nc];
  const int size[] = { rows->n,        blocks->nc,     blocks->nb,         subs,
                       rows->coloured, rows->friction, blocks->joff[subs], blocks->diag != NULL };
  bool same = known->valid;
  rows_pattern_keep(known->size, size, sizeof size, &same);
  rows_pattern_keep(known->cptr, blocks->cptr, groups * sizeof(int), &same);
  rows_pattern_keep(known->jptr, blocks->jptr, groups * sizeof(int), &same);
  rows_pattern_keep(known->jblk, blocks->jblk, (size_t)subs * sizeof(int), &same);
  rows_pattern_keep(known->bptr, blocks->bptr, (nb + 1) * sizeof(int), &same);
  rows_pattern_keep(known->kind, rows->kind, n, &same);
  if (rows->friction) rows_pattern_keep(known->fric_of, rows->p->fric_of, n * sizeof(int), &same);
  if (blocks->diag != NULL) rows_pattern_keep(known->diag, blocks->diag, nb, &same);
  known->valid = true;
  return same;
}
