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
static bool rows_colours_looks(const perp_rows *R, const perp_unit *t)
{
  for (int i = t->row; t->contents == MIXED && i < t->row + t->r; i++) {
    const int j = R->type[i] == PERP_ROW_BOUNDED ? i : R->p->fric_of[i];
    if (j < t->row || j >= t->row + t->r) return true;
  }
  return false;
}

int perp_rows_colours(perp_rows *R, bool *commute)
{
  const perp_blocks *F = R->p->F;
  int levels = 0;
  *commute = true;
  for (int b = 0; b < F->nb; b++) R->used[b] = 0, R->block_level[b] = COLOURS;
  for (int t = 0; t < R->n_units; t++) {
    const perp_unit *unit = &R->unit[t];
    const int from = F->jptr[unit->group], to = F->jptr[unit->group + 1];
    uint64_t used = 0;
    int level = COLOURS;
    for (int k = from; k < to; k++) used |= R->used[F->jblk[k]];
    if (~used != 0) {
      level = __builtin_ctzll(~used);
      for (int k = from; k < to; k++) R->used[F->jblk[k]] |= (uint64_t)1 << level;
    } else {
      for (int k = from; k < to; k++)
        if (R->block_level[F->jblk[k]] > level) level = R->block_level[F->jblk[k]];
      for (int k = from; k < to; k++) R->block_level[F->jblk[k]] = level + 1;
    }
    R->level[t] = level;
    if (level >= levels) levels = level + 1;
    if (rows_colours_looks(R, unit)) *commute = false;
  }
  return levels;
}

static int rows_colours_kind(const perp_rows *R, const perp_unit *t)
{
  const int one = t->shape == SPACE_ONE ? KINDS : 0;
  if (t->contents == NORMALS && (t->r == 1 || t->r == 4))
    return perp_rows_flat(R, t) ? one + (t->r == 1 ? NORMAL : FOUR_NORMALS) : NO_FOURS;
  if (t->contents != CONTACT_BOX && t->contents != CONTACT_CONE) return NO_FOURS;
  if (!perp_rows_contact(R, t)) return NO_FOURS;
  return one + (t->contents == CONTACT_BOX ? BOX : CONE);
}

void perp_rows_by_colours(perp_rows *R, int levels)
{
  const int n = R->n_units, bins = PERP_FOURS_KINDS * levels;
  for (int l = 0; l <= bins; l++) R->bin[l] = 0;
  for (int t = 0; t < n; t++) {
    R->level[t] = PERP_FOURS_KINDS * R->level[t] + rows_colours_kind(R, &R->unit[t]);
    R->bin[R->level[t] + 1]++;
  }
  for (int l = 0; l < bins; l++) R->bin[l + 1] += R->bin[l];
  for (int t = 0; t < n; t++) {
    R->place[t] = R->bin[R->level[t]]++;
    R->unit2[R->place[t]] = R->unit[t];
  }
  perp_unit *sorted = R->unit2;
  R->unit2 = R->unit;
  R->unit = sorted;
  /* a bin now ends where it says */
  for (int l = 0, start = 0; l < bins; start = R->bin[l++]) {
    if (l % PERP_FOURS_KINDS == NO_FOURS) {
      R->count[l / PERP_FOURS_KINDS] = R->bin[l];
      continue;
    }
    for (int t = start; t + 4 <= R->bin[l]; t += 4) {
      sorted[t].shape = FOURS;
      for (int k = 1; k < 4; k++) sorted[t + k].shape = FOLLOWS;
    }
  }
}

/* Does a row of unit t meet one of unit s? */
static bool rows_colours_meet(const perp_rows *R, const perp_unit *s, const perp_unit *t)
{
  const size_t ld = (size_t)R->p->lda;
  for (int i = s->row; i < s->row + s->r; i++)
    for (int j = t->row; j < t->row + t->r; j++)
      if (R->p->A[(size_t)i + ld * (size_t)j] != 0 || R->p->A[(size_t)j + ld * (size_t)i] != 0)
        return true;
  return false;
}

void perp_rows_dense_colours(perp_rows *R)
{
  const int n = R->n_units;
  int colours = 0;
  for (int t = 0; t < n; t++) {
    int colour = 0;
    for (int c = 0; c < colours; c++) R->place[c] = 0;
    for (int s = 0; s < t; s++)
      if (rows_colours_meet(R, &R->unit[s], &R->unit[t])) R->place[R->level[s]] = 1;
    while (colour < colours && R->place[colour]) colour++;
    R->level[t] = colour;
    if (colour == colours) colours++;
  }
  for (int l = 0; l <= colours; l++) R->count[l] = 0;
  for (int t = 0; t < n; t++) R->count[R->level[t] + 1]++;
  for (int l = 0; l < colours; l++) R->count[l + 1] += R->count[l];
  for (int t = 0; t < n; t++) R->unit2[R->count[R->level[t]]++] = R->unit[t];
  perp_unit *sorted = R->unit2;
  R->unit2 = R->unit;
  R->unit = sorted;
}
