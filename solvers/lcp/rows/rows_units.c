/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of rows, and the units of a factored problem: rows are cut into them, they are put in
 * order, their rows of G = J L packed. */
#include "solvers/lcp/rows/rows_private.h"

#include <float.h>
#include <math.h>

/* ---- steps of rows ---- */

void perp_rows_step(perp_rows *rows, int i, double omega)
{
  double b = rows->p->b[i];
  if (rows->big[i] > 0) {
    bool positive = rows->diag[i] > DBL_MIN;
    rows->inv[i] = omega / (positive ? rows->diag[i] : rows->big[i]);
    if (!positive)
      __atomic_store_n(&rows->zero_diagonal, true, __ATOMIC_RELAXED); /* by any member */
    return;
  }
  rows->big[i] = 1;
  rows->inv[i] = 0;
  if (rows->type[i] != PERP_ROW_BOUNDED)
    rows->inv[i] = DBL_MAX;
  else if (b > 0 && rows->lo[i] > -HUGE_VAL)
    rows->hi[i] = rows->lo[i];
  else if (b < 0 && rows->hi[i] < HUGE_VAL)
    rows->lo[i] = rows->hi[i];
}

/* ---- cutting and ordering ---- */

/* The unit that the rows of group c alone would be, but for its rows. */
static perp_unit rows_units_of_group(const perp_rows *rows, int c)
{
  const perp_blocks *F = rows->p->F;
  const int *block = F->jblk + F->jptr[c], blocks = F->jptr[c + 1] - F->jptr[c];
  perp_unit unit = { .group = c, .b = -1, .shape = GENERIC };
  for (int k = 0; k < blocks; k++) unit.width += rows->uoff[block[k] + 1] - rows->uoff[block[k]];
  if (blocks < 1 || blocks > 2) return unit;
  const int length = rows->uoff[block[0] + 1] - rows->uoff[block[0]];
  unit.a = rows->uoff[block[0]];
  if (blocks == 2) unit.b = rows->uoff[block[1]];
  if (unit.width != blocks * length) return unit;
  if (length == 4) unit.shape = blocks == 1 ? PLANE_ONE : PLANE_TWO;
  if (length == 6) unit.shape = blocks == 1 ? SPACE_ONE : SPACE_TWO;
  return unit;
}

static bool rows_units_neighbours(const perp_blocks *F, int c, int d)
{
  const int blocks = F->jptr[c + 1] - F->jptr[c];
  bool same = F->jptr[d + 1] - F->jptr[d] == blocks;
  for (int k = 0; same && k < blocks; k++)
    same = F->jblk[F->jptr[c] + k] == F->jblk[F->jptr[d] + k];
  return same;
}

static int rows_units_contents(const perp_rows *rows, int row, int r)
{
  int bounded = 0, contacts = 0, own = 0, cones = 0;
  for (int i = row; i < row + r; i++)
    if (rows->type[i] == PERP_ROW_BOUNDED) {
      bounded++;
      contacts += rows->lo[i] == 0 && rows->hi[i] == HUGE_VAL;
    } else {
      own += rows->p->fric_of[i] == row;
      cones += rows->type[i] == PERP_ROW_CONE;
    }
  if (bounded == r) return contacts == r ? NORMALS : BOXES;
  if (contacts != 1 || own != r - 1 || (cones > 0 && r != CONTACT_ROWS)) return MIXED;
  return cones > 0 ? CONTACT_CONE : CONTACT_BOX;
}

/* Is it made of groups of one row each, in space, on bodies with diagonal inertia?  Contacts
 * without friction are. */
static inline bool rows_units_single(const perp_rows *rows, const perp_unit *unit)
{
  const int *cptr = rows->p->F->cptr + unit->group;
  return unit->contents == NORMALS && unit->group + unit->r <= rows->p->F->nc &&
         cptr[0] == unit->row && cptr[unit->r] == cptr[0] + unit->r && perp_rows_flat(rows, unit);
}

static signed char rows_units_packed(const perp_rows *rows, const perp_unit *unit)
{
  return perp_rows_contact(rows, unit)   ? PACKED_CONTACT
         : rows_units_single(rows, unit) ? PACKED_SINGLE
                                         : PACKED_ANY;
}

/* Cut the rows into units: runs of rows on the same blocks, never between the rows of a cone.
 * False when the groups themselves do. */
static bool rows_units_cut(perp_rows *rows)
{
  const perp_blocks *blocks = rows->p->F;
  rows->n_units = 0;
  for (int c = 0, next; c < blocks->nc; c = next) {
    perp_unit unit = rows_units_of_group(rows, c);
    int row = blocks->cptr[c];
    for (next = c + 1; unit.shape != GENERIC && next < blocks->nc; next++)
      if (blocks->cptr[next + 1] - row > PERP_UNIT_ROWS || !rows_units_neighbours(blocks, c, next))
        break;
    const int end = blocks->cptr[next];
    while (row < end) {
      int r = end - row;
      if (unit.shape != GENERIC && r > PERP_UNIT_ROWS) {
        r = PERP_UNIT_ROWS;
        if (rows->type[row + r] == PERP_ROW_CONE_TAIL) r--;
      }
      while (row >= blocks->cptr[unit.group + 1]) unit.group++;
      unit.row = row;
      unit.r = (short)r;
      unit.contents = (signed char)rows_units_contents(rows, row, r);
      unit.packed = rows_units_packed(rows, &unit);
      rows->unit[rows->n_units++] = unit;
      row += r;
    }
    if (end < rows->n && rows->type[end] == PERP_ROW_CONE_TAIL) return false;
  }
  return true;
}

/* Level of each unit = 1 + the highest level of the units before that share a block.  Returns the
 * number of levels, 0 where a friction row looks at a normal row of another unit: the units must
 * then stay in order. */
static int rows_units_levels(perp_rows *rows)
{
  const perp_blocks *blocks = rows->p->F;
  int levels = 0;
  for (int b = 0; b < blocks->nb; b++) rows->schedule.block_level[b] = 0;
  for (int t = 0; t < rows->n_units; t++) {
    const perp_unit *unit = &rows->unit[t];
    const int from = blocks->jptr[unit->group], to = blocks->jptr[unit->group + 1];
    int level = 0;
    for (int k = from; k < to; k++)
      if (rows->schedule.block_level[blocks->jblk[k]] > level)
        level = rows->schedule.block_level[blocks->jblk[k]];
    rows->schedule.level[t] = level++;
    if (level > levels) levels = level;
    for (int k = from; k < to; k++) rows->schedule.block_level[blocks->jblk[k]] = level;
    for (int i = unit->row; unit->contents == MIXED && i < unit->row + unit->r; i++) {
      const int j = rows->type[i] == PERP_ROW_BOUNDED ? i : rows->p->fric_of[i];
      if (j < unit->row || j >= unit->row + unit->r) return 0;
    }
  }
  return levels;
}

/* Sort the units by level. */
static void rows_units_schedule(perp_rows *rows)
{
  if (rows->coloured) {
    bool commute;
    const int colours = perp_rows_colours(rows, &commute);
    perp_rows_by_colours(rows, colours);
    rows->schedule.n_levels = commute ? colours : 0;
    return;
  }
  const int n = rows->n_units, levels = rows->schedule.n_levels = rows_units_levels(rows);
  for (int l = 0; l <= levels; l++) rows->schedule.count[l] = 0;
  for (int t = 0; levels > 0 && t < n; t++) rows->schedule.count[rows->schedule.level[t] + 1]++;
  for (int l = 0; l < levels; l++) rows->schedule.count[l + 1] += rows->schedule.count[l];
  for (int t = 0; t < n; t++) {
    rows->schedule.place[t] = levels > 0 ? rows->schedule.count[rows->schedule.level[t]]++ : t;
    rows->schedule.unit2[rows->schedule.place[t]] = rows->unit[t];
  }
  perp_unit *sorted = rows->schedule.unit2;
  rows->schedule.unit2 = rows->unit;
  rows->unit = sorted;
}

/* ---- packing ---- */

/* W = L L' of a positive semidefinite block; a vanishing pivot gives a zero column */
static void rows_units_cholesky(int d, const double *W, double *L)
{
  for (int j = 0; j < d; j++) {
    for (int i = 0; i < j; i++) L[i + j * d] = 0;
    for (int i = j; i < d; i++) {
      double sum = W[i + j * d];
      for (int k = 0; k < j; k++) sum -= L[i + k * d] * L[j + k * d];
      L[i + j * d] = sum;
    }
    double pivot = L[j + j * d];
    double scale = pivot > 4 * DBL_EPSILON * W[j + j * d] ? 1 / sqrt(pivot) : 0;
    for (int i = j; i < d; i++) L[i + j * d] *= scale;
  }
}

static void rows_units_factor(perp_rows *rows, int b)
{
  const perp_blocks *blocks = rows->p->F;
  const int d = blocks->bptr[b + 1] - blocks->bptr[b];
  const double *W = blocks->Minv + blocks->mptr[b];
  double *L = rows->chol + blocks->mptr[b];
  if (blocks->diag == NULL || !blocks->diag[b]) {
    rows_units_cholesky(d, W, L);
    return;
  }
  int step;
  double *root = rows->root + blocks->bptr[b];
  W = perp_blocks_flat(blocks, b, &step);
  for (int j = 0; j < d; j++) root[j] = W[step * j] > 0 ? sqrt(W[step * j]) : 0;
}

/* g [d] = row of J_b L, L [d] where it is diagonal; returns |g|^2 */
static inline __attribute__((always_inline)) double
rows_units_pack_row(int d, int r, bool diagonal, const double *J, const double *L, double *g)
{
  double sum = 0;
  for (int j = 0; j < d; j++) {
    double x = J[j * r] * L[diagonal ? j : j + j * d];
    if (!diagonal)
      for (int l = j + 1; l < d; l++) x += J[l * r] * L[l + j * d];
    g[j] = x;
    sum += x * x;
  }
  return sum;
}

static inline void rows_units_parameters(const perp_rows *rows, const perp_unit *unit, double *par)
{
  for (int i = unit->row; i < unit->row + unit->r; i++, par += PARAMS) {
    par[ROW_B] = rows->p->b[i];
    par[ROW_STEP] = rows->inv[i];
    par[ROW_LO] = rows->type[i] == PERP_ROW_BOUNDED ? rows->lo[i] : rows->p->mu[i];
    par[ROW_HI] = rows->hi[i];
  }
}

/* Gram matrix and parameters of unit t, when its steps are there but for those of cones */
static void rows_units_finish(perp_rows *rows, int t, double omega)
{
  const perp_unit *unit = &rows->unit[t];
  const int width = unit->width, r = unit->r;
  double *g = unit_rows(rows, unit), *gram = rows->data + unit->at;
  for (int i = unit->row; i < unit->row + r; i++) {
    rows->unit_of[i] = t;
    if (rows->type[i] != PERP_ROW_CONE_TAIL) continue;
    const double *x = g + (size_t)(i - unit->row) * (size_t)width;
    perp_rows_step_cone(rows, i - 1, dot(width, x, x - width), omega);
  }
  const double *inv = rows->inv + unit->row;
  for (int k = 1; unit->shape != GENERIC && k < r; k++)
    for (int j = 0; j < k; j++) *gram++ = inv[k] * dot(width, g + k * width, g + j * width);
  rows_units_parameters(rows, unit, g + (size_t)r * (size_t)width);
}

/* Are all diagonals of a unit clear of zero?  Its steps then need no other row. */
static inline bool rows_units_regular(const perp_rows *rows, const perp_unit *unit)
{
  bool all = true;
  for (int i = unit->row; i < unit->row + unit->r; i++) all = all && rows->diag[i] > DBL_MIN;
  return all;
}

/* Any unit: packed and, where it is regular, finished. */
static void rows_units_pack(perp_rows *rows, int t, double omega)
{
  const perp_unit *unit = &rows->unit[t];
  /* rows of unit t in the order they are stored: g [width] = the row of J L, padding zero */
  const perp_blocks *blocks = rows->p->F;
  double *g = unit_rows(rows, unit);
  int c = unit->group;
  for (int i = unit->row; i < unit->row + unit->r; i++) {
    while (i >= blocks->cptr[c + 1]) c++; /* units hold few groups */
    const int r = blocks->cptr[c + 1] - blocks->cptr[c], local = i - blocks->cptr[c];
    double sum = blocks->s != NULL ? blocks->s[i] : 0;
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int blk = blocks->jblk[k], d = blocks->bptr[blk + 1] - blocks->bptr[blk];
      const bool diagonal = blocks->diag != NULL && blocks->diag[blk];
      const double *J = blocks->J + blocks->joff[k] + local;
      const double *L = diagonal ? rows->root + blocks->bptr[blk] : rows->chol + blocks->mptr[blk];
      if (d == BODY_WIDTH && r == CONTACT_ROWS && !diagonal) /* a fifth of a preparation */
        sum += rows_units_pack_row(BODY_WIDTH, CONTACT_ROWS, false, J, L, g);
      else
        sum += rows_units_pack_row(d, r, diagonal, J, L, g);
      g += d;
      if (d & 1) *g++ = 0;
    }
    rows->diag[i] = sum;
  }
  if (!rows_units_regular(rows, unit)) return;
  for (int i = unit->row; i < unit->row + unit->r; i++) rows->inv[i] = omega / rows->diag[i];
  rows_units_finish(rows, t, omega);
}

/* A contact in space on `blocks` blocks, see perp_rows_contact, packed and, where it is regular,
 * finished.  J comes column by column, with the three rows side by side; sums are those of the rows
 * one by one. */
static inline __attribute__((always_inline)) void rows_units_contact(perp_rows *rows, int t,
                                                                     double omega, const int blocks)
{
  enum { WIDTH = 2 * BODY_WIDTH };
  const perp_lcp *lcp = rows->p;
  const perp_blocks *F = lcp->F;
  const perp_unit *unit = &rows->unit[t];
  const int row = unit->row, first = F->jptr[unit->group], width = blocks * BODY_WIDTH;
  double *gram = rows->data + unit->at, *g = gram + 4, *par = g + CONTACT_ROWS * width;
  perp_v4 column[WIDTH], sum = { 0, 0, 0, 0 }, product = { 0, 0, 0, 0 };
  if (F->s != NULL) sum = (perp_v4){ F->s[row], F->s[row + 1], F->s[row + 2], 0 };
  for (int k = 0; k < blocks; k++) {
    const double *J = F->J + F->joff[first + k], *L = rows->root + F->bptr[F->jblk[first + k]];
    perp_v4 part = { 0, 0, 0, 0 };
    for (int j = 0; j < BODY_WIDTH; j++) {
      perp_v4 x = { J[3 * j], J[3 * j + 1], J[3 * j + 2], 0 };
      if (j + 1 < BODY_WIDTH)
        x = *(const perp_v4_any *)(J + 3 * j); /* one of the next comes along */
      x *= L[j];
      part += x * x;
      product += x * __builtin_shufflevector(x, x, 1, 2, 0, 3);
      column[BODY_WIDTH * k + j] = x;
    }
    sum += part;
  }
  for (int j = 0; j < width; j += 4) {
    const perp_v4 *c = column + j;
    const perp_v4 x = __builtin_shufflevector(c[0], c[1], 0, 4, 2, 6);
    const perp_v4 y = __builtin_shufflevector(c[0], c[1], 1, 5, 3, 7);
    if (j + 4 > width) { /* a pair is left */
      for (int i = 0; i < 2; i++)
        g[j + i] = x[i], g[width + j + i] = y[i], g[2 * width + j + i] = x[2 + i];
      break;
    }
    const perp_v4 x2 = __builtin_shufflevector(c[2], c[3], 0, 4, 2, 6);
    const perp_v4 y2 = __builtin_shufflevector(c[2], c[3], 1, 5, 3, 7);
    *(perp_v4 *)(g + j) = __builtin_shufflevector(x, x2, 0, 1, 4, 5);
    *(perp_v4 *)(g + width + j) = __builtin_shufflevector(y, y2, 0, 1, 4, 5);
    *(perp_v4 *)(g + 2 * width + j) = __builtin_shufflevector(x, x2, 2, 3, 6, 7);
  }
  for (int i = 0; i < CONTACT_ROWS; i++) rows->diag[row + i] = sum[i];
  if (!rows_units_regular(rows, unit)) return;
  for (int i = 0; i < CONTACT_ROWS; i++) {
    rows->inv[row + i] = omega / rows->diag[row + i];
    rows->unit_of[row + i] = t;
  }
  for (int i = 1; i < CONTACT_ROWS; i++)
    if (rows->type[row + i] == PERP_ROW_CONE_TAIL)
      perp_rows_step_cone(rows, row + i - 1, i == 1 ? product[0] : product[1], omega);
  gram[0] = rows->inv[row + 1] * product[0];
  gram[1] = rows->inv[row + 2] * product[2];
  gram[2] = rows->inv[row + 2] * product[1];
  rows_units_parameters(rows, unit, par);
}

/* Groups of one row each, packed and, where they are regular, finished: the rows side by side in
 * the lanes of vectors.  Sums are those of the rows one by one. */
static inline __attribute__((always_inline)) void rows_units_normals(perp_rows *rows, int t,
                                                                     double omega, const int blocks)
{
  const perp_blocks *F = rows->p->F;
  const perp_unit *unit = &rows->unit[t];
  const int row = unit->row, r = unit->r, first = F->jptr[unit->group], width = blocks * BODY_WIDTH;
  const double *A = rows->root + F->bptr[F->jblk[first]];
  double *gram = rows->data + unit->at, *g = gram + unit_gram(unit), *par = g + r * width;
  const perp_v4 none = { 0 };
  const perp_v4 start = *(const perp_v4_any *)A;
  perp_v4 middle = none, end = none;
  if (blocks == 2) {
    const double *B = rows->root + F->bptr[F->jblk[first + 1]];
    middle = (perp_v4){ A[4], A[5], B[0], B[1] };
    end = *(const perp_v4_any *)(B + 2);
  }
  perp_v4 x[PERP_UNIT_ROWS][3] = { { none } }, sum = none, part = none, next = none, cross = none;
  for (int l = 0; l < r; l++) {
    const double *J = F->J + F->joff[first + blocks * l];
    if (F->s != NULL) sum[l] = F->s[row + l];
    x[l][0] = *(const perp_v4_any *)J * start;
    *(perp_v4_any *)(g + l * width) = x[l][0];
    if (blocks == 2) {
      x[l][1] = *(const perp_v4_any *)(J + 4) * middle;
      x[l][2] = *(const perp_v4_any *)(J + 8) * end;
      *(perp_v4_any *)(g + l * width + 4) = x[l][1];
      *(perp_v4_any *)(g + l * width + 8) = x[l][2];
    } else {
      x[l][1] = (perp_v4){ J[4] * A[4], J[5] * A[5], 0, 0 };
      for (int k = 4; k < BODY_WIDTH; k++) g[l * width + k] = x[l][1][k - 4];
    }
  }
  for (int q = 0; 4 * q < width; q++) {
    const perp_v4 a = __builtin_shufflevector(x[0][q], x[1][q], 0, 4, 2, 6),
                  b = __builtin_shufflevector(x[2][q], x[3][q], 0, 4, 2, 6),
                  c = __builtin_shufflevector(x[0][q], x[1][q], 1, 5, 3, 7),
                  d = __builtin_shufflevector(x[2][q], x[3][q], 1, 5, 3, 7);
    const perp_v4 column[4] = { __builtin_shufflevector(a, b, 0, 1, 4, 5),
                                __builtin_shufflevector(c, d, 0, 1, 4, 5),
                                __builtin_shufflevector(a, b, 2, 3, 6, 7),
                                __builtin_shufflevector(c, d, 2, 3, 6, 7) };
    for (int k = 0; k < 4 && 4 * q + k < width; k++) {
      const perp_v4 y = column[k];
      if (4 * q + k == BODY_WIDTH) sum += part, part = none;
      part += y * y;
      next += y * __builtin_shufflevector(y, y, 1, 2, 3, 0);
      cross += y * __builtin_shufflevector(y, y, 2, 3, 0, 1);
    }
  }
  sum += part;
  for (int l = 0; l < r; l++) rows->diag[row + l] = sum[l];
  if (!rows_units_regular(rows, unit)) return;
  for (int l = 0; l < r; l++) {
    rows->inv[row + l] = omega / sum[l];
    rows->unit_of[row + l] = t;
  }
  const double *inv = rows->inv + row;
  if (r > 1) gram[0] = inv[1] * next[0];
  if (r > 2) gram[1] = inv[2] * cross[0], gram[2] = inv[2] * next[1];
  if (r > 3) gram[3] = inv[3] * next[3], gram[4] = inv[3] * cross[1], gram[5] = inv[3] * next[2];
  rows_units_parameters(rows, unit, par);
}

/* Four contacts that are done one by one after all. */
static void rows_units_split(perp_rows *rows, int t)
{
  __atomic_store_n(&rows->pattern.valid, false, __ATOMIC_RELAXED); /* fours again, next time */
  for (perp_unit *unit = rows->unit + t; unit < rows->unit + t + 4; unit++)
    unit->shape = unit->b < 0 ? SPACE_ONE : SPACE_TWO;
}

/* All units in the order of rows (or of colours), so that J is read as it lies; then what needs the
 * largest diagonal. */
typedef struct packing {
  perp_rows *R;
  double omega;
  bool irregular;                                  /* a unit is */
  double top[PERP_TEAM_MAX], bnorm[PERP_TEAM_MAX]; /* of each member */
} packing;

static inline __attribute__((always_inline)) void rows_units_one(perp_rows *rows, int t,
                                                                 double omega)
{
  const perp_unit *unit = &rows->unit[t];
  if (unit->shape == FOURS && !perp_fours_pack(rows, t, omega)) rows_units_split(rows, t);
  if (unit->shape == FOURS || unit->shape == FOLLOWS) return; /* packed */
  const bool two = unit->shape == SPACE_TWO;
  if (unit->packed == PACKED_CONTACT && two)
    rows_units_contact(rows, t, omega, 2);
  else if (unit->packed == PACKED_CONTACT)
    rows_units_contact(rows, t, omega, 1);
  else if (unit->packed == PACKED_SINGLE && two)
    rows_units_normals(rows, t, omega, 2);
  else if (unit->packed == PACKED_SINGLE)
    rows_units_normals(rows, t, omega, 1);
  else
    rows_units_pack(rows, t, omega);
}

static double rows_units_largest(const double *x, int from, int end, double most)
{
  for (int i = from; i < end; i++) most = larger(most, x[i]);
  return most;
}

PERP_CLONES_OF_FOUR static void rows_units_share(void *user, int member, int members)
{
  packing *job = user;
  perp_rows *rows = job->R;
  const int from = perp_rows_whole(rows, perp_share(rows->n_units, member, members));
  const int end = perp_rows_whole(rows, perp_share(rows->n_units, member + 1, members));
  const int blocks = rows->p->F->nb, last = perp_share(blocks, member + 1, members);
  const int low = perp_share(rows->n, member, members),
            high = perp_share(rows->n, member + 1, members);
  bool irregular = false;
  for (int b = perp_share(blocks, member, members); b < last; b++) rows_units_factor(rows, b);
  perp_team_wait(members);
  for (int k = from; k < end; k++)
    rows_units_one(rows, rows->coloured ? k : rows->schedule.place[k], job->omega);
  perp_team_wait(members);
  perp_v4 tops = { 0 };
  int i = low;
  for (; i + 4 <= high; i += 4) {
    const perp_v4 d = *(const perp_v4_any *)(rows->diag + i);
    tops = PERP_LARGER4(d, tops);
    const perp_i4 bad = ~(d > DBL_MIN);
    irregular |= (bad[0] | bad[1] | bad[2] | bad[3]) != 0;
  }
  double top = rows_units_largest(rows->diag, i, high, 0);
  for (; i < high; i++) irregular |= !(rows->diag[i] > DBL_MIN);
  for (int k = 0; k < 4; k++) top = larger(top, tops[k]);
  job->top[member] = top;
  if (irregular) __atomic_store_n(&job->irregular, true, __ATOMIC_RELAXED);
  perp_team_wait(members);
  for (int k = 0; k < members; k++) top = larger(top, job->top[k]);
  const double root = sqrt(top);
  for (i = low; i < high; i++) { /* |A_ij| <= sqrt(A_ii A_jj) */
    const double size = sqrt(rows->diag[i]) * root;
    rows->big[i] = rows->diag[i] > 0 ? size : 0;
  }
  if (__atomic_load_n(&job->irregular, __ATOMIC_RELAXED)) {
    perp_team_wait(members);
    for (int k = from; k < end; k++) {
      const int t = rows->coloured ? k : rows->schedule.place[k];
      const perp_unit *unit = &rows->unit[t];
      if (rows_units_regular(rows, unit)) continue;
      for (int l = unit->row; l < unit->row + unit->r; l++) perp_rows_step(rows, l, job->omega);
      rows_units_finish(rows, t, job->omega);
    }
    perp_team_wait(members);
  }
  perp_v4 norms = { 0 };
  for (i = low; i + 4 <= high; i += 4) {
    const perp_v4 b = PERP_SIZE4(*(const perp_v4_any *)(rows->p->b + i)) /
                      *(const perp_v4_any *)(rows->big + i);
    norms = PERP_LARGER4(b, norms);
  }
  double bnorm = 0;
  for (; i < high; i++) bnorm = larger(bnorm, fabs(rows->p->b[i]) / rows->big[i]);
  for (int k = 0; k < 4; k++) bnorm = larger(bnorm, norms[k]);
  job->bnorm[member] = bnorm;
}

/* ---- memory, and all of it ---- */

static void rows_units_layout(perp_rows *rows, perp_arena *arena)
{
  const perp_blocks *blocks = rows->p->F;
  /* before the units are cut: a bound of their numbers; blocks of odd length are padded */
  bool odd = false;
  rows->nu = 0;
  for (int b = 0; b < blocks->nb; b++) {
    const int d = blocks->bptr[b + 1] - blocks->bptr[b];
    rows->nu += even(d);
    odd = odd || (d & 1);
  }
  const size_t numbers = (size_t)blocks->joff[blocks->jptr[blocks->nc]];
  perp_rows_pattern_layout(rows, arena);
  PERP_INTS(arena, blocks->nb + 1, &rows->uoff);
  PERP_INTS(arena, blocks->nb, &rows->schedule.block_level);
  rows->schedule.used = PERP_CARVE(arena, uint64_t, rows->coloured ? blocks->nb : 0);
  PERP_INTS(arena, rows->coloured ? PERP_FOURS_KINDS * (size_t)rows->p->n + 1 : 0,
            &rows->schedule.bin);
  PERP_DOUBLES(arena, rows->p->n + blocks->nv, &rows->scratch);
  PERP_DOUBLES(arena, blocks->mptr[blocks->nb], &rows->chol);
  PERP_DOUBLES(arena, blocks->nv, &rows->root);
  PERP_DOUBLES(arena, rows->nu, &rows->u, &rows->uu);
  PERP_DOUBLES(
      arena, (odd ? 2 : 1) * numbers + (size_t)rows->p->n * (PARAMS + 2 + (rows->coloured ? 4 : 0)),
      &rows->data);
}

/* The units in their order, and where the numbers of each are. */
static perp_status rows_units_make(perp_ctx *ctx, perp_rows *rows)
{
  const perp_blocks *blocks = rows->p->F;
  rows->uoff[0] = 0;
  for (int b = 0; b < blocks->nb; b++)
    rows->uoff[b + 1] = rows->uoff[b] + even(blocks->bptr[b + 1] - blocks->bptr[b]);
  if (!rows_units_cut(rows)) {
    rows->pattern.valid = false;
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "lcp: the two rows of a cone must be in the same group");
  }
  rows_units_schedule(rows);
  /* Place the numbers of units in their order.  Coloured: at multiples of 32 bytes, and with room
   * for what fours have beside those of each. */
  size_t at = 0;
  for (perp_unit *unit = rows->unit; unit < rows->unit + rows->n_units; unit++) {
    unit->at = at;
    at += (size_t)(unit_gram(unit) + unit->r * (unit->width + PARAMS));
    if (rows->coloured) at = (at + (unit->r == 1 ? 4 : 3)) & ~(size_t)3;
  }
  return PERP_OK;
}

perp_status perp_rows_units(perp_ctx *ctx, perp_rows *rows, double omega)
{
  perp_arena need = { 0 };
  rows_units_layout(rows, &need);
  PERP_TRY(perp_rows_grow(ctx, rows, need.used));
  rows_units_layout(rows, &rows->grown);
  if (!perp_rows_pattern_known(rows)) PERP_TRY(rows_units_make(ctx, rows));
  packing job = { .R = rows, .omega = omega };
  perp_team(rows->threads, rows_units_share, &job);
  for (int k = 0; k < PERP_TEAM_MAX; k++) rows->bnorm = larger(rows->bnorm, job.bnorm[k]);
  return PERP_OK;
}
