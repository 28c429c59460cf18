/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Colours of units: those of one colour share no block, so that they may be done in any order, or
 * at the same time.
 *
 * Greedy in the order of rows: each unit gets the first colour that none of its blocks has yet; the
 * colours of a block are bits of a word.  Where a block has run out of them, its units follow
 * behind all colours, level by level, each after those before it that share a block.  Nothing
 * depends on threads.  O(units). */
#include "solvers/lcp/rows/rows_private.h"

enum { COLOURS = 64 };

/* Units that can be done by fours, by what they have in common: contacts of box or cone, one normal
 * row, four; each on two blocks, behind them on one.  The last kind: the others. */
enum { BOX, CONE, NORMAL, FOUR_NORMALS, KINDS, NO_FOURS = PERP_FOURS_KINDS - 1 };

/* Does a row of a unit look at a row of another one? */
static bool rows_colours_looks(const perp_rows *rows, const perp_unit *unit)
{
  for (int i = unit->row; unit->contents == MIXED && i < unit->row + unit->r; i++) {
    const int j = rows->type[i] == PERP_ROW_BOUNDED ? i : rows->p->fric_of[i];
    if (j < unit->row || j >= unit->row + unit->r) return true;
  }
  return false;
}

int perp_rows_colours(perp_rows *rows, bool *commute)
{
  const perp_blocks *blocks = rows->p->F;
  int levels = 0;
  *commute = true;
  for (int b = 0; b < blocks->nb; b++)
    rows->schedule.used[b] = 0, rows->schedule.block_level[b] = COLOURS;
  for (int t = 0; t < rows->n_units; t++) {
    const perp_unit *unit = &rows->unit[t];
    const int from = blocks->jptr[unit->group], to = blocks->jptr[unit->group + 1];
    uint64_t used = 0;
    int level = COLOURS;
    for (int k = from; k < to; k++) used |= rows->schedule.used[blocks->jblk[k]];
    if (~used != 0) {
      level = __builtin_ctzll(~used);
      for (int k = from; k < to; k++) rows->schedule.used[blocks->jblk[k]] |= (uint64_t)1 << level;
    } else {
      for (int k = from; k < to; k++)
        if (rows->schedule.block_level[blocks->jblk[k]] > level)
          level = rows->schedule.block_level[blocks->jblk[k]];
      for (int k = from; k < to; k++) rows->schedule.block_level[blocks->jblk[k]] = level + 1;
    }
    rows->schedule.level[t] = level;
    if (level >= levels) levels = level + 1;
    if (rows_colours_looks(rows, unit)) *commute = false;
  }
  return levels;
}

static int rows_colours_kind(const perp_rows *rows, const perp_unit *unit)
{
  const int one = unit->shape == SPACE_ONE ? KINDS : 0;
  if (unit->contents == NORMALS && (unit->r == 1 || unit->r == 4))
    return perp_rows_flat(rows, unit) ? one + (unit->r == 1 ? NORMAL : FOUR_NORMALS) : NO_FOURS;
  if (unit->contents != CONTACT_BOX && unit->contents != CONTACT_CONE) return NO_FOURS;
  if (!perp_rows_contact(rows, unit)) return NO_FOURS;
  return one + (unit->contents == CONTACT_BOX ? BOX : CONE);
}

void perp_rows_by_colours(perp_rows *rows, int levels)
{
  const int n = rows->n_units, bins = PERP_FOURS_KINDS * levels;
  for (int l = 0; l <= bins; l++) rows->schedule.bin[l] = 0;
  for (int t = 0; t < n; t++) {
    rows->schedule.level[t] = PERP_FOURS_KINDS * rows->schedule.level[t] +
                              rows_colours_kind(rows, &rows->unit[t]);
    rows->schedule.bin[rows->schedule.level[t] + 1]++;
  }
  for (int l = 0; l < bins; l++) rows->schedule.bin[l + 1] += rows->schedule.bin[l];
  for (int t = 0; t < n; t++) {
    rows->schedule.place[t] = rows->schedule.bin[rows->schedule.level[t]]++;
    rows->schedule.unit2[rows->schedule.place[t]] = rows->unit[t];
  }
  perp_unit *sorted = rows->schedule.unit2;
  rows->schedule.unit2 = rows->unit;
  rows->unit = sorted;
  /* a bin now ends where it says */
  for (int l = 0, start = 0; l < bins; start = rows->schedule.bin[l++]) {
    if (l % PERP_FOURS_KINDS == NO_FOURS) {
      rows->schedule.count[l / PERP_FOURS_KINDS] = rows->schedule.bin[l];
      continue;
    }
    for (int t = start; t + 4 <= rows->schedule.bin[l]; t += 4) {
      sorted[t].shape = FOURS;
      for (int k = 1; k < 4; k++) sorted[t + k].shape = FOLLOWS;
    }
  }
}

/* Does a row of unit t meet one of unit s? */
static bool rows_colours_meet(const perp_rows *rows, const perp_unit *s, const perp_unit *t)
{
  const size_t ld = (size_t)rows->p->lda;
  for (int i = s->row; i < s->row + s->r; i++)
    for (int j = t->row; j < t->row + t->r; j++)
      if (rows->p->A[(size_t)i + ld * (size_t)j] != 0 ||
          rows->p->A[(size_t)j + ld * (size_t)i] != 0)
        return true;
  return false;
}

void perp_rows_dense_colours(perp_rows *rows)
{
  const int n = rows->n_units;
  int colours = 0;
  for (int t = 0; t < n; t++) {
    int colour = 0;
    for (int c = 0; c < colours; c++) rows->schedule.place[c] = 0;
    for (int s = 0; s < t; s++)
      if (rows_colours_meet(rows, &rows->unit[s], &rows->unit[t]))
        rows->schedule.place[rows->schedule.level[s]] = 1;
    while (colour < colours && rows->schedule.place[colour]) colour++;
    rows->schedule.level[t] = colour;
    if (colour == colours) colours++;
  }
  for (int l = 0; l <= colours; l++) rows->schedule.count[l] = 0;
  for (int t = 0; t < n; t++) rows->schedule.count[rows->schedule.level[t] + 1]++;
  for (int l = 0; l < colours; l++) rows->schedule.count[l + 1] += rows->schedule.count[l];
  for (int t = 0; t < n; t++)
    rows->schedule.unit2[rows->schedule.count[rows->schedule.level[t]]++] = rows->unit[t];
  perp_unit *sorted = rows->schedule.unit2;
  rows->schedule.unit2 = rows->unit;
  rows->unit = sorted;
}
