/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/rows_private.h"

#include <float.h>
#include <math.h>

static void rows_layout(perp_rows *R, perp_arena *a)
{
  R->diag = PERP_CARVE(a, double, R->max_n);
  R->big = PERP_CARVE(a, double, R->max_n);
  R->a = PERP_CARVE(a, double, R->max_n);
  R->inv = PERP_CARVE(a, double, R->max_n);
  R->lo = PERP_CARVE(a, double, R->max_n);
  R->hi = PERP_CARVE(a, double, R->max_n);
  R->w = PERP_CARVE(a, double, R->max_n);
  R->unit = PERP_CARVE(a, perp_unit, R->max_n);
  R->unit2 = PERP_CARVE(a, perp_unit, R->max_n);
  R->level = PERP_CARVE(a, int, R->max_n);
  R->place = PERP_CARVE(a, int, R->max_n);
  R->count = PERP_CARVE(a, int, (size_t)R->max_n + 1);
  R->unit_of = PERP_CARVE(a, int, R->max_n);
  R->type = PERP_CARVE(a, signed char, R->max_n);
}

perp_status perp_rows_open(perp_ctx *ctx, perp_rows *R, int max_n)
{
  *R = (perp_rows){ .max_n = max_n };
  rows_layout(R, &R->own);
  PERP_TRY(perp_arena_reserve(ctx, &R->own));
  rows_layout(R, &R->own);
  return PERP_OK;
}

void perp_rows_close(perp_rows *R)
{
  perp_arena_free(&R->own);
  perp_arena_free(&R->grown);
}

/* ---- reading the problem --------------------------------------------------------------------------- */

static void types_share(void *user, int member, int members)
{
  perp_rows *R = user;
  const perp_lcp *p = R->p;
  const int end = perp_share(p->n, member + 1, members);
  bool friction = false;
  for (int i = perp_share(p->n, member, members); i < end; i++) {
    R->lo[i] = p->lo != NULL ? p->lo[i] : 0;
    R->hi[i] = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    R->type[i] = PERP_ROW_BOUNDED;
    if (p->fric_of == NULL || p->fric_of[i] < 0) continue;
    friction = true;
    R->type[i] = perp_lcp_is_cone(p, i)                ? PERP_ROW_CONE
                 : i > 0 && perp_lcp_is_cone(p, i - 1) ? PERP_ROW_CONE_TAIL
                                                       : PERP_ROW_FRICTION;
  }
  if (friction) __atomic_store_n(&R->friction, true, __ATOMIC_RELAXED);
}

/* Step length of row i from diag and big (0 on entry: a zero row).  A zero row has w = b: it is fixed at
 * the bound that b asks for, or does not move when that bound is infinite. */
static void step_of(perp_rows *R, int i, double omega)
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

static void step_of_cone(perp_rows *R, int i, double off, double omega)
{
  double a = R->diag[i], c = R->diag[i + 1];
  double top = 0.5 * (a + c) + hypot(0.5 * (a - c), off);
  if (top > DBL_MIN) R->inv[i] = R->inv[i + 1] = omega / top;
}

static void prepare_dense(perp_rows *R, double omega)
{
  const perp_lcp *p = R->p;
  int n = p->n;
  for (int i = 0; i < n; i++) R->big[i] = 0;
  for (int j = 0; j < n; j++) {
    const double *a = p->A + (size_t)j * (size_t)p->lda;
    R->diag[j] = a[j];
    for (int i = 0; i < n; i++) R->big[i] = larger(R->big[i], fabs(a[i]));
  }
  R->n_units = 0;
  for (int i = 0; i < n; i++) {
    step_of(R, i, omega);
    if (R->type[i] == PERP_ROW_CONE_TAIL)
      step_of_cone(R, i - 1, p->A[i + (size_t)(i - 1) * (size_t)p->lda], omega);
    else
      R->unit[R->n_units++] = (perp_unit){ .row = i,
                                           .r = R->type[i] == PERP_ROW_CONE ? 2 : 1,
                                           .kind = DENSE_ROW };
  }
}

/* kind of the unit that group c alone would be; a, b: its accumulators */
static int group_kind(const perp_blocks *F, const int *uoff, int c, int *a, int *b)
{
  int k = F->jptr[c], subs = F->jptr[c + 1] - k;
  *a = c;
  *b = -1;
  if (subs < 1 || subs > 2) return GENERIC;
  int d = 0;
  for (int s = 0; s < subs; s++) {
    int width = uoff[F->jblk[k + s] + 1] - uoff[F->jblk[k + s]];
    if ((width != 4 && width != 6) || (s > 0 && width != d)) return GENERIC;
    d = width;
  }
  *a = uoff[F->jblk[k]];
  if (subs == 2) *b = uoff[F->jblk[k + 1]];
  return FAST + 8 * (subs - 1) + 4 * (d / 2 - 2);
}

static size_t unit_size(const perp_rows *R, const perp_unit *t)
{
  const perp_blocks *F = R->p->F;
  int width = 0;
  if (t->kind >= FAST) {
    int subs = 1 + ((t->kind - FAST) >> 3), pairs = 2 + ((t->kind - FAST) >> 2 & 1);
    width = 2 * pairs * subs;
  } else
    for (int k = F->jptr[t->a]; k < F->jptr[t->a + 1]; k++)
      width += R->uoff[F->jblk[k] + 1] - R->uoff[F->jblk[k]];
  int gram = t->kind >= FAST ? even(t->r * (t->r - 1) / 2) : 0;
  return (size_t)(gram + t->r * (width + PARAMS));
}

static int mix_of(const perp_rows *R, int row, int r)
{
  const signed char *type = R->type + row;
  if (r == 3 && type[0] == PERP_ROW_BOUNDED && type[1] == PERP_ROW_FRICTION &&
      type[2] == PERP_ROW_FRICTION && R->lo[row] == 0 && R->hi[row] == HUGE_VAL &&
      R->p->fric_of[row + 1] == row && R->p->fric_of[row + 2] == row)
    return CONTACT_BOX; /* what comes most */
  bool boxes = true, normals = true;
  for (int i = row; i < row + r; i++) {
    boxes = boxes && R->type[i] == PERP_ROW_BOUNDED;
    normals = normals && boxes && R->lo[i] == 0 && R->hi[i] == HUGE_VAL;
  }
  if (normals) return NORMALS;
  if (boxes) return BOXES;
  if (R->type[row] != PERP_ROW_BOUNDED || R->lo[row] != 0 || R->hi[row] != HUGE_VAL) return MIXED;
  bool friction = true;
  for (int i = row + 1; i < row + r; i++)
    friction = friction && R->type[i] != PERP_ROW_BOUNDED && R->p->fric_of[i] == row;
  if (!friction) return MIXED;
  if (r == 3 && R->type[row + 1] == PERP_ROW_CONE) return CONTACT_CONE;
  for (int i = row + 1; i < row + r; i++) friction = friction && R->type[i] == PERP_ROW_FRICTION;
  return friction ? CONTACT_BOX : MIXED;
}

/* Sort the units by level = 1 + the highest level of the units before that share a block, and place their
 * numbers in that order.  Friction rows that look at a normal row of another unit forbid it. */
static void rows_schedule(perp_rows *R, int *block_level)
{
  const perp_blocks *F = R->p->F;
  int n = R->n_units, levels = 0;
  for (int b = 0; b < F->nb; b++) block_level[b] = 0;
  for (int t = 0; t < n; t++) {
    const perp_unit *unit = &R->unit[t];
    int level = 0, c = unit->group;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
      if (block_level[F->jblk[k]] > level) level = block_level[F->jblk[k]];
    R->level[t] = level++;
    if (level > levels) levels = level;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) block_level[F->jblk[k]] = level;
    for (int i = unit->row; unit->mix == MIXED && i < unit->row + unit->r; i++) {
      int j = R->type[i] == PERP_ROW_BOUNDED ? i : R->p->fric_of[i];
      if (j < unit->row || j >= unit->row + unit->r) levels = n + 1;
    }
  }
  R->n_levels = levels <= n ? levels : 0;
  if (levels <= n) {
    for (int l = 0; l <= levels; l++) R->count[l] = 0;
    for (int t = 0; t < n; t++) R->count[R->level[t] + 1]++;
    for (int l = 0; l < levels; l++) R->count[l + 1] += R->count[l];
    for (int t = 0; t < n; t++) {
      const int place = R->count[R->level[t]]++;
      R->unit2[place] = R->unit[t];
      R->place[t] = place;
    }
    perp_unit *swap = R->unit;
    R->unit = R->unit2;
    R->unit2 = swap;
  } else
    for (int t = 0; t < n; t++) R->place[t] = t;
  size_t at = 0;
  for (int t = 0; t < n; t++) {
    R->unit[t].at = at;
    at += unit_size(R, &R->unit[t]);
  }
}

/* Cut the rows into units: runs of rows on the same blocks, never between the rows of a cone.  False when
 * the groups themselves do. */
static bool rows_cut(perp_rows *R)
{
  const perp_blocks *F = R->p->F;
  R->n_units = 0;
  for (int c = 0; c < F->nc;) {
    int a, b, kind = group_kind(F, R->uoff, c, &a, &b), row = F->cptr[c], end = F->cptr[c + 1];
    int next = c + 1;
    if (kind >= FAST)
      for (int a2, b2; next < F->nc && F->cptr[next + 1] - row <= PERP_UNIT_ROWS; next++) {
        if (group_kind(F, R->uoff, next, &a2, &b2) != kind || a2 != a || b2 != b) break;
        end = F->cptr[next + 1];
      }
    while (row < end) {
      int r = end - row;
      if (kind >= FAST && r > PERP_UNIT_ROWS) {
        r = PERP_UNIT_ROWS;
        if (R->type[row + r] == PERP_ROW_CONE_TAIL) r--;
      }
      perp_unit *t = &R->unit[R->n_units++];
      *t = (perp_unit){ .row = row, .r = (short)r, .a = a, .b = b };
      while (row >= F->cptr[c + 1]) c++;
      t->group = c;
      t->kind = (signed char)(kind >= FAST ? kind + r - 1 : kind);
      t->mix = (signed char)mix_of(R, row, r);
      row += r;
    }
    if (end < R->n && R->type[end] == PERP_ROW_CONE_TAIL) return false;
    c = next;
  }
  return true;
}

static void layout_factored(perp_rows *R, perp_arena *a, int nb, int m_size, size_t data)
{
  R->uoff = PERP_CARVE(a, int, nb + 1);
  R->block_level = PERP_CARVE(a, int, nb);
  R->scratch = PERP_CARVE(a, double, R->p->n + R->p->F->nv);
  R->chol = PERP_CARVE(a, double, m_size);
  R->root = PERP_CARVE(a, double, R->p->F->nv);
  R->u = PERP_CARVE(a, double, R->nu);
  R->uu = PERP_CARVE(a, double, R->nu);
  R->data = PERP_CARVE(a, double, data);
}

/* W = L L' of a positive semidefinite block; a vanishing pivot gives a zero column */
static void rows_cholesky(int d, const double *W, double *L)
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

static void rows_factor_block(perp_rows *R, int b)
{
  const perp_blocks *F = R->p->F;
  const int d = F->bptr[b + 1] - F->bptr[b];
  const double *W = F->Minv + F->mptr[b];
  double *L = R->chol + F->mptr[b];
  if (F->diag == NULL || !F->diag[b]) {
    rows_cholesky(d, W, L);
    return;
  }
  int step;
  double *root = R->root + F->bptr[b];
  W = perp_blocks_flat(F, b, &step);
  for (int j = 0; j < d; j++) root[j] = W[step * j] > 0 ? sqrt(W[step * j]) : 0;
}

/* g [d] = row of J_b L, L [d] where it is diagonal; returns |g|^2 */
static inline __attribute__((always_inline)) double
pack_row(int d, int r, bool diagonal, const double *J, const double *L, double *g)
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

enum { CONTACT_ROWS = 3, BODY_WIDTH = 6 };

/* rows of unit t in the order they are stored: g [width] = the row of J L, padding zero */
static void pack_rows(perp_rows *R, const perp_unit *t)
{
  const perp_blocks *F = R->p->F;
  double *g = R->data + t->at + (t->kind >= FAST ? even(t->r * (t->r - 1) / 2) : 0);
  int c = t->group;
  for (int i = t->row; i < t->row + t->r; i++) {
    while (i >= F->cptr[c + 1]) c++; /* units hold few groups */
    int r = F->cptr[c + 1] - F->cptr[c], local = i - F->cptr[c];
    double sum = F->s != NULL ? F->s[i] : 0;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      const int blk = F->jblk[k], d = F->bptr[blk + 1] - F->bptr[blk];
      const bool diagonal = F->diag != NULL && F->diag[blk];
      const double *J = F->J + F->joff[k] + local;
      const double *L = diagonal ? R->root + F->bptr[blk] : R->chol + F->mptr[blk];
      if (d == BODY_WIDTH && r == CONTACT_ROWS && !diagonal)
        sum += pack_row(BODY_WIDTH, CONTACT_ROWS, false, J, L, g);
      else
        sum += pack_row(d, r, diagonal, J, L, g);
      int width = R->uoff[blk + 1] - R->uoff[blk];
      for (int j = d; j < width; j++) g[j] = 0;
      g += width;
    }
    R->diag[i] = sum;
  }
}

static inline void put_parameters(const perp_rows *R, const perp_unit *unit, double *par)
{
  for (int i = unit->row; i < unit->row + unit->r; i++, par += PARAMS) {
    par[0] = R->p->b[i];
    par[1] = R->inv[i];
    par[2] = R->type[i] == PERP_ROW_BOUNDED ? R->lo[i] : R->p->mu[i];
    par[3] = R->hi[i];
  }
}

/* Gram matrix and parameters of unit t, when its steps are there but for those of cones */
static void finish_unit(perp_rows *R, int t, double omega)
{
  const perp_unit *unit = &R->unit[t];
  int width, r = unit->r;
  double *g = unit_rows(R, unit, &width), *par = g + (size_t)r * (size_t)width;
  for (int i = unit->row; i < unit->row + r; i++) {
    R->unit_of[i] = t;
    if (R->type[i] == PERP_ROW_CONE_TAIL) {
      const double *x = g + (size_t)(i - unit->row) * (size_t)width;
      step_of_cone(R, i - 1, dot(width, x, x - width), omega);
    }
  }
  if (unit->kind >= FAST) {
    double *gram = R->data + unit->at;
    const double *inv = R->inv + unit->row;
    for (int k = 1; k < r; k++)
      for (int j = 0; j < k; j++) *gram++ = inv[k] * dot(width, g + k * width, g + j * width);
  }
  put_parameters(R, unit, par);
}

/* Are all diagonals of a unit clear of zero?  Its steps then need no other row. */
static inline bool rows_regular(const perp_rows *R, const perp_unit *unit)
{
  bool all = true;
  for (int i = unit->row; i < unit->row + unit->r; i++) all = all && R->diag[i] > DBL_MIN;
  return all;
}

/* Any unit: packed and, where it is regular, finished. */
static void pack_unit(perp_rows *R, int t, double omega)
{
  const perp_unit *unit = &R->unit[t];
  pack_rows(R, unit);
  if (!rows_regular(R, unit)) return;
  for (int i = unit->row; i < unit->row + unit->r; i++) R->inv[i] = omega / R->diag[i];
  finish_unit(R, t, omega);
}

/* Is unit t a contact in space, alone in its unit, on bodies with diagonal inertia?  All sizes are known then. */
static inline bool is_contact(const perp_rows *R, const perp_unit *t)
{
  const perp_blocks *F = R->p->F;
  const int c = t->group;
  if (t->kind < FAST || F->diag == NULL || F->cptr[c] != t->row || t->r != CONTACT_ROWS ||
      F->cptr[c + 1] - t->row != CONTACT_ROWS)
    return false;
  for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
    if (F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]] != BODY_WIDTH || !F->diag[F->jblk[k]])
      return false;
  return true;
}

/* Such a unit on `subs` blocks, packed and, where it is regular, finished.  J comes column by column, with the three
 * rows side by side; sums are those of the rows one by one. */
static inline __attribute__((always_inline)) void pack_contact(perp_rows *R, int t, double omega,
                                                               const int subs)
{
  enum { WIDTH = 2 * BODY_WIDTH };
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  const perp_unit *unit = &R->unit[t];
  const int row = unit->row, first = F->jptr[unit->group], width = subs * BODY_WIDTH;
  double *gram = R->data + unit->at, *g = gram + 4, *par = g + CONTACT_ROWS * width;
  perp_v4 column[WIDTH], sum = { 0, 0, 0, 0 }, product = { 0, 0, 0, 0 };
  if (F->s != NULL) sum = (perp_v4){ F->s[row], F->s[row + 1], F->s[row + 2], 0 };
  for (int k = 0; k < subs; k++) {
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
  if (!rows_regular(R, unit)) return;
  for (int i = 0; i < CONTACT_ROWS; i++) {
    R->inv[row + i] = omega / R->diag[row + i];
    R->unit_of[row + i] = t;
  }
  for (int i = 1; i < CONTACT_ROWS; i++)
    if (R->type[row + i] == PERP_ROW_CONE_TAIL)
      step_of_cone(R, row + i - 1, i == 1 ? product[0] : product[1], omega);
  gram[0] = R->inv[row + 1] * product[0];
  gram[1] = R->inv[row + 2] * product[2];
  gram[2] = R->inv[row + 2] * product[1];
  put_parameters(R, unit, par);
}

/* All units in the order of rows, so that J is read as it lies; then what needs the largest diagonal. */
typedef struct packing {
  perp_rows *R;
  double omega;
  double top[PERP_TEAM_MAX], bnorm[PERP_TEAM_MAX]; /* of each member */
} packing;

PERP_CLONES_OF_FOUR static void pack_share(void *user, int member, int members)
{
  packing *job = user;
  perp_rows *R = job->R;
  const int from = perp_share(R->n_units, member, members);
  const int end = perp_share(R->n_units, member + 1, members);
  const int blocks = R->p->F->nb, last = perp_share(blocks, member + 1, members);
  double top = 0, bnorm = 0;
  for (int b = perp_share(blocks, member, members); b < last; b++) rows_factor_block(R, b);
  perp_team_wait(members);
  for (int k = from; k < end; k++) {
    const int t = R->place[k];
    const perp_unit *unit = &R->unit[t];
    if (!is_contact(R, unit))
      pack_unit(R, t, job->omega);
    else if (unit->b >= 0)
      pack_contact(R, t, job->omega, 2);
    else
      pack_contact(R, t, job->omega, 1);
    for (int i = unit->row; i < unit->row + unit->r; i++) top = R->diag[i] > top ? R->diag[i] : top;
  }
  job->top[member] = top;
  perp_team_wait(members);
  for (int k = 0; k < members; k++) top = job->top[k] > top ? job->top[k] : top;
  const double root = sqrt(top);
  for (int k = from; k < end; k++) {
    const perp_unit *unit = &R->unit[R->place[k]];
    const bool done = rows_regular(R, unit);
    for (int i = unit->row; i < unit->row + unit->r; i++) {
      /* |A_ij| <= sqrt(A_ii A_jj) */
      R->big[i] = R->diag[i] > 0 ? sqrt(R->diag[i]) * root : 0;
      if (!done) step_of(R, i, job->omega);
      const double b = fabs(R->p->b[i]) / R->big[i];
      bnorm = b > bnorm ? b : bnorm;
    }
    if (!done) finish_unit(R, R->place[k], job->omega);
  }
  job->bnorm[member] = bnorm;
}

static perp_status prepare_factored(perp_ctx *ctx, perp_rows *R, double omega)
{
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  /* uoff is needed to cut the units, the units to know the size: the first pass uses a bound */
  bool odd = false; /* such blocks are padded */
  R->nu = 0;
  for (int b = 0; b < F->nb; b++) {
    const int d = F->bptr[b + 1] - F->bptr[b];
    R->nu += even(d);
    odd = odd || (d & 1);
  }
  const size_t numbers = (size_t)F->joff[F->jptr[F->nc]];
  const size_t bound = (odd ? 2 : 1) * numbers + (size_t)p->n * (PARAMS + 2);
  perp_arena need = { 0 };
  layout_factored(R, &need, F->nb, F->mptr[F->nb], bound);
  if (need.used > R->capacity) {
    perp_arena_free(&R->grown);
    R->capacity = 0;
    perp_arena a = { .used = need.used + need.used / 4 };
    size_t capacity = a.used;
    PERP_TRY(perp_arena_reserve(ctx, &a));
    R->grown = a;
    R->capacity = capacity;
  }
  R->grown.used = 0;
  layout_factored(R, &R->grown, F->nb, F->mptr[F->nb], bound);
  R->uoff[0] = 0;
  for (int b = 0; b < F->nb; b++) R->uoff[b + 1] = R->uoff[b] + even(F->bptr[b + 1] - F->bptr[b]);
  if (!rows_cut(R))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "lcp: the two rows of a cone are in two groups");
  rows_schedule(R, R->block_level);

  packing job = { .R = R, .omega = omega };
  perp_team(R->threads, pack_share, &job);
  for (int k = 0; k < PERP_TEAM_MAX; k++) R->bnorm = larger(R->bnorm, job.bnorm[k]);
  return PERP_OK;
}

perp_status perp_rows_prepare(perp_ctx *ctx, perp_rows *R, const perp_lcp *p, double omega)
{
  if (p->n > R->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lcp: n = %d but the workspace holds %d", p->n, R->max_n);
  R->p = p;
  R->n = p->n;
  R->zero_diagonal = R->scaled = false;
  R->n_levels = 0;
  R->bnorm = 0;
  /* small problems are done before a second thread has begun */
  const int threads = ctx->threads < PERP_TEAM_MAX ? ctx->threads : PERP_TEAM_MAX;
  R->threads = p->n >= PERP_TEAM_ROWS ? threads : 1;
  R->friction = false;
  perp_team(R->threads, types_share, R);
  if (p->F == NULL)
    prepare_dense(R, omega);
  else
    PERP_TRY(prepare_factored(ctx, R, omega));
  for (int i = 0; p->F == NULL && i < p->n; i++)
    R->bnorm = larger(R->bnorm, fabs(p->b[i]) / R->big[i]);
  R->product = p->F == NULL ? (double)p->n * p->n : 2.0 * p->F->joff[p->F->jptr[p->F->nc]];
  R->work = R->product;
  return PERP_OK;
}
