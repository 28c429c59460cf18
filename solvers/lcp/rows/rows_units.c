/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of rows, and the units of a factored problem: rows are cut into them, they are put in
 * order, their rows of G = J L packed. */
#include "solvers/lcp/rows/rows_private.h"

#include <float.h>
#include <math.h>

/* ---- steps of rows ---- */

void perp_rows_step(perp_rows *R, int i, double omega)
{
  double b = R->p->b[i];
  if (R->big[i] > 0) {
    bool positive = R->diag[i] > DBL_MIN;
    R->inv[i] = omega / (positive ? R->diag[i] : R->big[i]);
    if (!positive) __atomic_store_n(&R->zero_diagonal, true, __ATOMIC_RELAXED); /* by any member */
    return;
  }
  R->big[i] = 1;
  R->inv[i] = 0;
  if (R->type[i] != PERP_ROW_BOUNDED)
    R->inv[i] = DBL_MAX;
  else if (b > 0 && R->lo[i] > -HUGE_VAL)
    R->hi[i] = R->lo[i];
  else if (b < 0 && R->hi[i] < HUGE_VAL)
    R->lo[i] = R->hi[i];
}

/* ---- cutting and ordering ---- */

/* The unit that the rows of group c alone would be, but for its rows. */
static perp_unit rows_units_of_group(const perp_rows *R, int c)
{
  const perp_blocks *F = R->p->F;
  const int *block = F->jblk + F->jptr[c], blocks = F->jptr[c + 1] - F->jptr[c];
  perp_unit t = { .group = c, .b = -1, .shape = GENERIC };
  for (int k = 0; k < blocks; k++) t.width += R->uoff[block[k] + 1] - R->uoff[block[k]];
  if (blocks < 1 || blocks > 2) return t;
  const int length = R->uoff[block[0] + 1] - R->uoff[block[0]];
  t.a = R->uoff[block[0]];
  if (blocks == 2) t.b = R->uoff[block[1]];
  if (t.width != blocks * length) return t;
  if (length == 4) t.shape = blocks == 1 ? PLANE_ONE : PLANE_TWO;
  if (length == 6) t.shape = blocks == 1 ? SPACE_ONE : SPACE_TWO;
  return t;
}

static bool rows_units_neighbours(const perp_blocks *F, int c, int d)
{
  const int blocks = F->jptr[c + 1] - F->jptr[c];
  bool same = F->jptr[d + 1] - F->jptr[d] == blocks;
  for (int k = 0; same && k < blocks; k++)
    same = F->jblk[F->jptr[c] + k] == F->jblk[F->jptr[d] + k];
  return same;
}

static int rows_units_contents(const perp_rows *R, int row, int r)
{
  int bounded = 0, contacts = 0, own = 0, cones = 0;
  for (int i = row; i < row + r; i++)
    if (R->type[i] == PERP_ROW_BOUNDED) {
      bounded++;
      contacts += R->lo[i] == 0 && R->hi[i] == HUGE_VAL;
    } else {
      own += R->p->fric_of[i] == row;
      cones += R->type[i] == PERP_ROW_CONE;
    }
  if (bounded == r) return contacts == r ? NORMALS : BOXES;
  if (contacts != 1 || own != r - 1 || (cones > 0 && r != CONTACT_ROWS)) return MIXED;
  return cones > 0 ? CONTACT_CONE : CONTACT_BOX;
}

/* Cut the rows into units: runs of rows on the same blocks, never between the rows of a cone.
 * False when the groups themselves do. */
static bool rows_units_cut(perp_rows *R)
{
  const perp_blocks *F = R->p->F;
  R->n_units = 0;
  for (int c = 0, next; c < F->nc; c = next) {
    perp_unit t = rows_units_of_group(R, c);
    int row = F->cptr[c];
    for (next = c + 1; t.shape != GENERIC && next < F->nc; next++)
      if (F->cptr[next + 1] - row > PERP_UNIT_ROWS || !rows_units_neighbours(F, c, next)) break;
    const int end = F->cptr[next];
    while (row < end) {
      int r = end - row;
      if (t.shape != GENERIC && r > PERP_UNIT_ROWS) {
        r = PERP_UNIT_ROWS;
        if (R->type[row + r] == PERP_ROW_CONE_TAIL) r--;
      }
      while (row >= F->cptr[t.group + 1]) t.group++;
      t.row = row;
      t.r = (short)r;
      t.contents = (signed char)rows_units_contents(R, row, r);
      R->unit[R->n_units++] = t;
      row += r;
    }
    if (end < R->n && R->type[end] == PERP_ROW_CONE_TAIL) return false;
  }
  return true;
}

/* Level of each unit = 1 + the highest level of the units before that share a block.  Returns the
 * number of levels, 0 where a friction row looks at a normal row of another unit: the units must
 * then stay in order. */
static int rows_units_levels(perp_rows *R)
{
  const perp_blocks *F = R->p->F;
  int levels = 0;
  for (int b = 0; b < F->nb; b++) R->block_level[b] = 0;
  for (int t = 0; t < R->n_units; t++) {
    const perp_unit *unit = &R->unit[t];
    const int from = F->jptr[unit->group], to = F->jptr[unit->group + 1];
    int level = 0;
    for (int k = from; k < to; k++)
      if (R->block_level[F->jblk[k]] > level) level = R->block_level[F->jblk[k]];
    R->level[t] = level++;
    if (level > levels) levels = level;
    for (int k = from; k < to; k++) R->block_level[F->jblk[k]] = level;
    for (int i = unit->row; unit->contents == MIXED && i < unit->row + unit->r; i++) {
      const int j = R->type[i] == PERP_ROW_BOUNDED ? i : R->p->fric_of[i];
      if (j < unit->row || j >= unit->row + unit->r) return 0;
    }
  }
  return levels;
}

/* Sort the units by level. */
static void rows_units_schedule(perp_rows *R)
{
  if (R->coloured) {
    bool commute;
    const int colours = perp_rows_colours(R, &commute);
    perp_rows_by_colours(R, colours);
    R->n_levels = commute ? colours : 0;
    return;
  }
  const int n = R->n_units, levels = R->n_levels = rows_units_levels(R);
  for (int l = 0; l <= levels; l++) R->count[l] = 0;
  for (int t = 0; levels > 0 && t < n; t++) R->count[R->level[t] + 1]++;
  for (int l = 0; l < levels; l++) R->count[l + 1] += R->count[l];
  for (int t = 0; t < n; t++) {
    R->place[t] = levels > 0 ? R->count[R->level[t]]++ : t;
    R->unit2[R->place[t]] = R->unit[t];
  }
  perp_unit *sorted = R->unit2;
  R->unit2 = R->unit;
  R->unit = sorted;
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

static void rows_units_factor(perp_rows *R, int b)
{
  const perp_blocks *F = R->p->F;
  const int d = F->bptr[b + 1] - F->bptr[b];
  const double *W = F->Minv + F->mptr[b];
  double *L = R->chol + F->mptr[b];
  if (F->diag == NULL || !F->diag[b]) {
    rows_units_cholesky(d, W, L);
    return;
  }
  int step;
  double *root = R->root + F->bptr[b];
  W = perp_blocks_flat(F, b, &step);
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

static inline void rows_units_parameters(const perp_rows *R, const perp_unit *unit, double *par)
{
  for (int i = unit->row; i < unit->row + unit->r; i++, par += PARAMS) {
    par[0] = R->p->b[i];
    par[1] = R->inv[i];
    par[2] = R->type[i] == PERP_ROW_BOUNDED ? R->lo[i] : R->p->mu[i];
    par[3] = R->hi[i];
  }
}

/* Gram matrix and parameters of unit t, when its steps are there but for those of cones */
static void rows_units_finish(perp_rows *R, int t, double omega)
{
  const perp_unit *unit = &R->unit[t];
  const int width = unit->width, r = unit->r;
  double *g = unit_rows(R, unit), *gram = R->data + unit->at;
  for (int i = unit->row; i < unit->row + r; i++) {
    R->unit_of[i] = t;
    if (R->type[i] != PERP_ROW_CONE_TAIL) continue;
    const double *x = g + (size_t)(i - unit->row) * (size_t)width;
    perp_rows_step_cone(R, i - 1, dot(width, x, x - width), omega);
  }
  const double *inv = R->inv + unit->row;
  for (int k = 1; unit->shape != GENERIC && k < r; k++)
    for (int j = 0; j < k; j++) *gram++ = inv[k] * dot(width, g + k * width, g + j * width);
  rows_units_parameters(R, unit, g + (size_t)r * (size_t)width);
}

/* Are all diagonals of a unit clear of zero?  Its steps then need no other row. */
static inline bool rows_units_regular(const perp_rows *R, const perp_unit *unit)
{
  bool all = true;
  for (int i = unit->row; i < unit->row + unit->r; i++) all = all && R->diag[i] > DBL_MIN;
  return all;
}

/* Any unit: packed and, where it is regular, finished. */
static void rows_units_pack(perp_rows *R, int t, double omega)
{
  const perp_unit *unit = &R->unit[t];
  /* rows of unit t in the order they are stored: g [width] = the row of J L, padding zero */
  const perp_blocks *F = R->p->F;
  double *g = unit_rows(R, unit);
  int c = unit->group;
  for (int i = unit->row; i < unit->row + unit->r; i++) {
    while (i >= F->cptr[c + 1]) c++; /* units hold few groups */
    const int r = F->cptr[c + 1] - F->cptr[c], local = i - F->cptr[c];
    double sum = F->s != NULL ? F->s[i] : 0;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      const int blk = F->jblk[k], d = F->bptr[blk + 1] - F->bptr[blk];
      const bool diagonal = F->diag != NULL && F->diag[blk];
      const double *J = F->J + F->joff[k] + local;
      const double *L = diagonal ? R->root + F->bptr[blk] : R->chol + F->mptr[blk];
      if (d == BODY_WIDTH && r == CONTACT_ROWS && !diagonal) /* a fifth of a preparation */
        sum += rows_units_pack_row(BODY_WIDTH, CONTACT_ROWS, false, J, L, g);
      else
        sum += rows_units_pack_row(d, r, diagonal, J, L, g);
      g += d;
      if (d & 1) *g++ = 0;
    }
    R->diag[i] = sum;
  }
  if (!rows_units_regular(R, unit)) return;
  for (int i = unit->row; i < unit->row + unit->r; i++) R->inv[i] = omega / R->diag[i];
  rows_units_finish(R, t, omega);
}

/* A contact in space on `blocks` blocks, see perp_rows_contact, packed and, where it is regular,
 * finished.  J comes column by column, with the three rows side by side; sums are those of the rows
 * one by one. */
static inline __attribute__((always_inline)) void rows_units_contact(perp_rows *R, int t,
                                                                     double omega, const int blocks)
{
  enum { WIDTH = 2 * BODY_WIDTH };
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  const perp_unit *unit = &R->unit[t];
  const int row = unit->row, first = F->jptr[unit->group], width = blocks * BODY_WIDTH;
  double *gram = R->data + unit->at, *g = gram + 4, *par = g + CONTACT_ROWS * width;
  perp_v4 column[WIDTH], sum = { 0, 0, 0, 0 }, product = { 0, 0, 0, 0 };
  if (F->s != NULL) sum = (perp_v4){ F->s[row], F->s[row + 1], F->s[row + 2], 0 };
  for (int k = 0; k < blocks; k++) {
    const double *J = F->J + F->joff[first + k], *L = R->root + F->bptr[F->jblk[first + k]];
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
  for (int i = 0; i < CONTACT_ROWS; i++) R->diag[row + i] = sum[i];
  if (!rows_units_regular(R, unit)) return;
  for (int i = 0; i < CONTACT_ROWS; i++) {
    R->inv[row + i] = omega / R->diag[row + i];
    R->unit_of[row + i] = t;
  }
  for (int i = 1; i < CONTACT_ROWS; i++)
    if (R->type[row + i] == PERP_ROW_CONE_TAIL)
      perp_rows_step_cone(R, row + i - 1, i == 1 ? product[0] : product[1], omega);
  gram[0] = R->inv[row + 1] * product[0];
  gram[1] = R->inv[row + 2] * product[2];
  gram[2] = R->inv[row + 2] * product[1];
  rows_units_parameters(R, unit, par);
}

/* Four contacts that are done one by one after all. */
static void rows_units_split(perp_rows *R, int t)
{
  for (perp_unit *unit = R->unit + t; unit < R->unit + t + 4; unit++)
    unit->shape = unit->b < 0 ? SPACE_ONE : SPACE_TWO;
}

/* All units in the order of rows (or of colours), so that J is read as it lies; then what needs the
 * largest diagonal. */
typedef struct packing {
  perp_rows *R;
  double omega;
  double top[PERP_TEAM_MAX], bnorm[PERP_TEAM_MAX]; /* of each member */
} packing;

PERP_CLONES_OF_FOUR static void rows_units_share(void *user, int member, int members)
{
  packing *job = user;
  perp_rows *R = job->R;
  const int from = perp_rows_whole(R, perp_share(R->n_units, member, members));
  const int end = perp_rows_whole(R, perp_share(R->n_units, member + 1, members));
  const int blocks = R->p->F->nb, last = perp_share(blocks, member + 1, members);
  double top = 0, bnorm = 0;
  for (int b = perp_share(blocks, member, members); b < last; b++) rows_units_factor(R, b);
  perp_team_wait(members);
  for (int k = from; k < end; k++) {
    const int t = R->coloured ? k : R->place[k];
    const perp_unit *unit = &R->unit[t];
    if (unit->shape == FOURS && !perp_fours_pack(R, t, job->omega)) rows_units_split(R, t);
    if (unit->shape == FOURS || unit->shape == FOLLOWS) {
      /* packed */
    } else if (!perp_rows_contact(R, unit))
      rows_units_pack(R, t, job->omega);
    else if (unit->shape == SPACE_TWO)
      rows_units_contact(R, t, job->omega, 2);
    else
      rows_units_contact(R, t, job->omega, 1);
    for (int i = unit->row; i < unit->row + unit->r; i++) top = larger(top, R->diag[i]);
  }
  job->top[member] = top;
  perp_team_wait(members);
  for (int k = 0; k < members; k++) top = larger(top, job->top[k]);
  const double root = sqrt(top);
  for (int k = from; k < end; k++) {
    const int t = R->coloured ? k : R->place[k];
    const perp_unit *unit = &R->unit[t];
    const bool done = rows_units_regular(R, unit);
    for (int i = unit->row; i < unit->row + unit->r; i++) {
      /* |A_ij| <= sqrt(A_ii A_jj) */
      R->big[i] = R->diag[i] > 0 ? sqrt(R->diag[i]) * root : 0;
      if (!done) perp_rows_step(R, i, job->omega);
      bnorm = larger(bnorm, fabs(R->p->b[i]) / R->big[i]);
    }
    if (!done) rows_units_finish(R, t, job->omega);
  }
  job->bnorm[member] = bnorm;
}

/* ---- memory, and all of it ---- */

static void rows_units_layout(perp_rows *R, perp_arena *a)
{
  const perp_blocks *F = R->p->F;
  /* before the units are cut: a bound of their numbers; blocks of odd length are padded */
  bool odd = false;
  R->nu = 0;
  for (int b = 0; b < F->nb; b++) {
    const int d = F->bptr[b + 1] - F->bptr[b];
    R->nu += even(d);
    odd = odd || (d & 1);
  }
  const size_t numbers = (size_t)F->joff[F->jptr[F->nc]];
  PERP_INTS(a, F->nb + 1, &R->uoff);
  PERP_INTS(a, F->nb, &R->block_level);
  R->used = PERP_CARVE(a, uint64_t, R->coloured ? F->nb : 0);
  PERP_INTS(a, R->coloured ? PERP_FOURS_KINDS * (size_t)R->p->n + 1 : 0, &R->bin);
  PERP_DOUBLES(a, R->p->n + F->nv, &R->scratch);
  PERP_DOUBLES(a, F->mptr[F->nb], &R->chol);
  PERP_DOUBLES(a, F->nv, &R->root);
  PERP_DOUBLES(a, R->nu, &R->u, &R->uu);
  PERP_DOUBLES(a, (odd ? 2 : 1) * numbers + (size_t)R->p->n * (PARAMS + 2 + (R->coloured ? 4 : 0)),
               &R->data);
}

perp_status perp_rows_units(perp_ctx *ctx, perp_rows *R, double omega)
{
  const perp_blocks *F = R->p->F;
  perp_arena need = { 0 };
  rows_units_layout(R, &need);
  PERP_TRY(perp_rows_grow(ctx, R, need.used));
  rows_units_layout(R, &R->grown);
  R->uoff[0] = 0;
  for (int b = 0; b < F->nb; b++) R->uoff[b + 1] = R->uoff[b] + even(F->bptr[b + 1] - F->bptr[b]);
  if (!rows_units_cut(R))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "lcp: the two rows of a cone must be in the same group");
  rows_units_schedule(R);
  /* Place the numbers of units in their order.  Coloured: at multiples of 32 bytes, and with room
   * for what fours have beside those of each. */
  size_t at = 0;
  for (perp_unit *t = R->unit; t < R->unit + R->n_units; t++) {
    t->at = at;
    at += (size_t)(unit_gram(t) + t->r * (t->width + PARAMS));
    if (R->coloured) at = (at + (t->r == 1 ? 4 : 3)) & ~(size_t)3;
  }

  packing job = { .R = R, .omega = omega };
  perp_team(R->threads, rows_units_share, &job);
  for (int k = 0; k < PERP_TEAM_MAX; k++) R->bnorm = larger(R->bnorm, job.bnorm[k]);
  return PERP_OK;
}
