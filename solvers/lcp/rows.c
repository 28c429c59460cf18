/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/rows.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Kinds of units.  FAST + 8 (blocks - 1) + 4 (pairs - 2) + (r - 1): one or two blocks of 3-4 (2 pairs of
 * doubles) or 5-6 (3 pairs) numbers, at most PERP_UNIT_ROWS rows; anything else goes row by row. */
enum { DENSE_ROW, GENERIC, FAST };
enum { PARAMS = 4 }; /* b, step, then lo, hi or mu */

/* What the rows of a unit are: anything; bounded rows; contacts [0, inf); a normal row [0, inf) followed
 * by friction rows of it, boxes or one cone. */
enum { MIXED, BOXES, NORMALS, CONTACT_BOX, CONTACT_CONE };

typedef double v2 __attribute__((vector_size(16)));

static int even(int k)
{
  return k + (k & 1);
}

static void layout(perp_rows *R, perp_arena *a)
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
  R->count = PERP_CARVE(a, int, (size_t)R->max_n + 1);
  R->type = PERP_CARVE(a, signed char, R->max_n);
}

perp_status perp_rows_open(perp_ctx *ctx, perp_rows *R, int max_n)
{
  *R = (perp_rows){ .max_n = max_n };
  layout(R, &R->own);
  PERP_TRY(perp_arena_reserve(ctx, &R->own));
  layout(R, &R->own);
  return PERP_OK;
}

void perp_rows_close(perp_rows *R)
{
  perp_arena_free(&R->own);
  perp_arena_free(&R->grown);
}

/* ---- reading the problem --------------------------------------------------------------------------- */

static void read_types(perp_rows *R)
{
  const perp_lcp *p = R->p;
  R->friction = false;
  for (int i = 0; i < p->n; i++) {
    R->lo[i] = p->lo != NULL ? p->lo[i] : 0;
    R->hi[i] = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    R->type[i] = PERP_ROW_BOUNDED;
    if (p->fric_of == NULL || p->fric_of[i] < 0) continue;
    R->friction = true;
    R->type[i] = PERP_ROW_FRICTION;
    if (p->cone == NULL) continue;
    if (p->cone[i] && i + 1 < p->n)
      R->type[i] = PERP_ROW_CONE;
    else if (i > 0 && R->type[i - 1] == PERP_ROW_CONE)
      R->type[i] = PERP_ROW_CONE_TAIL;
  }
}

/* Step length of row i from diag and big (0 on entry: a zero row).  A zero row has w = b: it is fixed at
 * the bound that b asks for, or does not move when that bound is infinite. */
static void step_of(perp_rows *R, int i, double omega)
{
  double b = R->p->b[i];
  if (R->big[i] > 0) {
    bool positive = R->diag[i] > DBL_MIN;
    R->inv[i] = omega / (positive ? R->diag[i] : R->big[i]);
    if (!positive) R->zero_diagonal = true;
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
    for (int i = 0; i < n; i++) R->big[i] = fmax(R->big[i], fabs(a[i]));
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
static void schedule(perp_rows *R, int *block_level)
{
  const perp_blocks *F = R->p->F;
  int n = R->n_units, levels = 0, c = 0;
  for (int b = 0; b < F->nb; b++) block_level[b] = 0;
  for (int t = 0; t < n; t++) {
    const perp_unit *unit = &R->unit[t];
    while (unit->row >= F->cptr[c + 1]) c++;
    int level = 0;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
      if (block_level[F->jblk[k]] > level) level = block_level[F->jblk[k]];
    R->level[t] = level++;
    if (level > levels) levels = level;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) block_level[F->jblk[k]] = level;
    for (int i = unit->row; R->friction && i < unit->row + unit->r; i++) {
      int j = R->type[i] == PERP_ROW_BOUNDED ? i : R->p->fric_of[i];
      if (j < unit->row || j >= unit->row + unit->r) levels = n + 1;
    }
  }
  if (levels <= n) {
    for (int l = 0; l <= levels; l++) R->count[l] = 0;
    for (int t = 0; t < n; t++) R->count[R->level[t] + 1]++;
    for (int l = 0; l < levels; l++) R->count[l + 1] += R->count[l];
    for (int t = 0; t < n; t++) R->unit2[R->count[R->level[t]]++] = R->unit[t];
    perp_unit *swap = R->unit;
    R->unit = R->unit2;
    R->unit2 = swap;
  }
  size_t at = 0;
  for (int t = 0; t < n; t++) {
    R->unit[t].at = at;
    at += unit_size(R, &R->unit[t]);
  }
}

/* Cut the rows into units: runs of rows on the same blocks, never between the rows of a cone.  False when
 * the groups themselves do. */
static bool cut(perp_rows *R)
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
  R->u = PERP_CARVE(a, double, R->nu);
  R->uu = PERP_CARVE(a, double, R->nu);
  R->data = PERP_CARVE(a, double, data);
}

/* W = L L' of a positive semidefinite block; a vanishing pivot gives a zero column */
static void cholesky(int d, const double *W, double *L)
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

/* rows of unit t in the order they are stored: g [width] = the row of J L, padding zero */
static void pack_unit(perp_rows *R, const perp_unit *t)
{
  const perp_blocks *F = R->p->F;
  double *g = R->data + t->at + (t->kind >= FAST ? even(t->r * (t->r - 1) / 2) : 0);
  int c = t->kind >= FAST ? -1 : t->a;
  for (int i = t->row; i < t->row + t->r; i++) {
    if (t->kind >= FAST && (c < 0 || i >= F->cptr[c + 1])) {
      /* the group of row i; units hold few groups, ordered */
      if (c < 0) {
        int low = 0, high = F->nc - 1;
        while (low < high) {
          int mid = (low + high + 1) / 2;
          if (F->cptr[mid] <= i)
            low = mid;
          else
            high = mid - 1;
        }
        c = low;
      }
      while (i >= F->cptr[c + 1]) c++;
    }
    int r = F->cptr[c + 1] - F->cptr[c], local = i - F->cptr[c];
    double sum = F->s != NULL ? F->s[i] : 0;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int blk = F->jblk[k], d = F->bptr[blk + 1] - F->bptr[blk];
      const double *J = F->J + F->joff[k] + local, *L = R->chol + F->mptr[blk];
      for (int j = 0; j < d; j++) {
        double x = 0;
        for (int l = j; l < d; l++) x += J[l * r] * L[l + j * d];
        g[j] = x;
        sum += x * x;
      }
      int width = R->uoff[blk + 1] - R->uoff[blk];
      for (int j = d; j < width; j++) g[j] = 0;
      g += width;
    }
    R->diag[i] = sum;
  }
}

/* where row i of unit t, its parameters and the length of a row are */
static double *unit_rows(const perp_rows *R, const perp_unit *t, int *width)
{
  const perp_blocks *F = R->p->F;
  if (t->kind >= FAST) {
    *width = 2 * (2 + ((t->kind - FAST) >> 2 & 1)) * (1 + ((t->kind - FAST) >> 3));
    return R->data + t->at + even(t->r * (t->r - 1) / 2);
  }
  *width = 0;
  for (int k = F->jptr[t->a]; k < F->jptr[t->a + 1]; k++)
    *width += R->uoff[F->jblk[k] + 1] - R->uoff[F->jblk[k]];
  return R->data + t->at;
}

static double dot(int width, const double *x, const double *y)
{
  double sum = 0;
  for (int k = 0; k < width; k++) sum += x[k] * y[k];
  return sum;
}

static perp_status prepare_factored(perp_ctx *ctx, perp_rows *R, double omega)
{
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  /* uoff is needed to cut the units, the units to know the size: the first pass uses a bound */
  size_t bound = 0;
  R->nu = 0;
  for (int b = 0; b < F->nb; b++) R->nu += even(F->bptr[b + 1] - F->bptr[b]);
  for (int c = 0; c < F->nc; c++) {
    int r = F->cptr[c + 1] - F->cptr[c], width = 0;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
      width += even(F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]]);
    bound += (size_t)r * (size_t)(width + PARAMS + 2);
  }
  perp_arena need = { 0 };
  layout_factored(R, &need, F->nb, F->mptr[F->nb], bound);
  if (need.used > R->capacity) {
    perp_arena_free(&R->grown);
    R->capacity = 0;
    perp_arena a = { .used = need.used };
    PERP_TRY(perp_arena_reserve(ctx, &a));
    R->grown = a;
    R->capacity = need.used;
  }
  R->grown.used = 0;
  layout_factored(R, &R->grown, F->nb, F->mptr[F->nb], bound);
  R->uoff[0] = 0;
  for (int b = 0; b < F->nb; b++) R->uoff[b + 1] = R->uoff[b] + even(F->bptr[b + 1] - F->bptr[b]);
  if (!cut(R))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "lcp: the two rows of a cone are in two groups");
  schedule(R, R->block_level);

  for (int b = 0; b < F->nb; b++)
    cholesky(F->bptr[b + 1] - F->bptr[b], F->Minv + F->mptr[b], R->chol + F->mptr[b]);
  double top = 0;
  for (int t = 0; t < R->n_units; t++) {
    pack_unit(R, &R->unit[t]);
    for (int i = R->unit[t].row; i < R->unit[t].row + R->unit[t].r; i++)
      top = fmax(top, R->diag[i]);
  }
  for (int t = 0; t < R->n_units; t++) {
    const perp_unit *unit = &R->unit[t];
    int width, r = unit->r;
    double *g = unit_rows(R, unit, &width), *par = g + (size_t)r * (size_t)width;
    for (int i = unit->row; i < unit->row + r; i++) {
      double d = R->diag[i];
      /* |A_ij| <= sqrt(A_ii A_jj) */
      R->big[i] = d > 0 ? sqrt(d) * sqrt(top) : 0;
      step_of(R, i, omega);
      if (R->type[i] == PERP_ROW_CONE_TAIL) {
        const double *x = g + (size_t)(i - unit->row) * (size_t)width;
        step_of_cone(R, i - 1, dot(width, x, x - width), omega);
      }
    }
    if (unit->kind >= FAST) {
      double *gram = R->data + unit->at;
      for (int i = 1; i < r; i++)
        for (int j = 0; j < i; j++)
          *gram++ = R->inv[unit->row + i] * dot(width, g + i * width, g + j * width);
    }
    for (int i = unit->row; i < unit->row + r; i++, par += PARAMS) {
      par[0] = p->b[i];
      par[1] = R->inv[i];
      par[2] = R->type[i] == PERP_ROW_BOUNDED ? R->lo[i] : p->mu[i];
      par[3] = R->hi[i];
    }
  }
  return PERP_OK;
}

perp_status perp_rows_prepare(perp_ctx *ctx, perp_rows *R, const perp_lcp *p, double omega)
{
  if (p->n > R->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lcp: n = %d but the workspace holds %d", p->n, R->max_n);
  R->p = p;
  R->n = p->n;
  R->zero_diagonal = R->scaled = false;
  read_types(R);
  if (p->F == NULL)
    prepare_dense(R, omega);
  else
    PERP_TRY(prepare_factored(ctx, R, omega));
  R->bnorm = 0;
  for (int i = 0; i < p->n; i++) R->bnorm = fmax(R->bnorm, fabs(p->b[i]) / R->big[i]);
  return PERP_OK;
}

/* ---- products ---------------------------------------------------------------------------------------- */

/* y += x' G of one unit, or the other way round */
static void unit_Gt(const perp_rows *R, const perp_unit *t, const double *x, double *u)
{
  const perp_blocks *F = R->p->F;
  int width;
  const double *g = unit_rows(R, t, &width);
  for (int i = 0; i < t->r; i++) {
    double xi = x[t->row + i];
    if (t->kind >= FAST) {
      int d = t->b >= 0 ? width / 2 : width;
      for (int k = 0; k < d; k++) u[t->a + k] += xi * g[k];
      if (t->b >= 0)
        for (int k = 0; k < d; k++) u[t->b + k] += xi * g[d + k];
      g += width;
    } else
      for (int k = F->jptr[t->a]; k < F->jptr[t->a + 1]; k++) {
        int at = R->uoff[F->jblk[k]], d = R->uoff[F->jblk[k] + 1] - at;
        for (int j = 0; j < d; j++) u[at + j] += xi * g[j];
        g += d;
      }
  }
}

static double row_dot(const perp_rows *R, const perp_unit *t, const double *g, int width,
                      const double *u)
{
  const perp_blocks *F = R->p->F;
  double sum = 0;
  if (t->kind >= FAST) {
    int d = t->b >= 0 ? width / 2 : width;
    sum = dot(d, g, u + t->a);
    if (t->b >= 0) sum += dot(d, g + d, u + t->b);
  } else
    for (int k = F->jptr[t->a]; k < F->jptr[t->a + 1]; k++) {
      int at = R->uoff[F->jblk[k]], d = R->uoff[F->jblk[k] + 1] - at;
      sum += dot(d, g, u + at);
      g += d;
    }
  return sum;
}

/* y = A x (+ b) */
static void apply(perp_rows *R, const double *x, double *u, const double *b, double *y)
{
  const perp_lcp *p = R->p;
  if (p->F == NULL) {
    for (int i = 0; i < p->n; i++) y[i] = b != NULL ? b[i] : 0;
    if (p->n < 48) { /* below that the call costs more than the work */
      for (int j = 0; j < p->n; j++) {
        const double *a = p->A + (size_t)j * (size_t)p->lda;
        for (int i = 0; i < p->n; i++) y[i] += x[j] * a[i];
      }
    } else
      cblas_dgemv(CblasColMajor, CblasNoTrans, p->n, p->n, 1, p->A, p->lda, x, 1, 1, y, 1);
    return;
  }
  for (int k = 0; k < R->nu; k++) u[k] = 0;
  for (int t = 0; t < R->n_units; t++) unit_Gt(R, &R->unit[t], x, u);
  for (int t = 0; t < R->n_units; t++) {
    const perp_unit *unit = &R->unit[t];
    int width;
    const double *g = unit_rows(R, unit, &width);
    for (int i = unit->row; i < unit->row + unit->r; i++, g += width) {
      double sum = row_dot(R, unit, g, width, u);
      if (p->F->s != NULL) sum += p->F->s[i] * x[i];
      y[i] = b != NULL ? sum + b[i] : sum;
    }
  }
}

void perp_rows_reset(perp_rows *R, const double *lambda)
{
  if (R->p->F == NULL) {
    apply(R, lambda, NULL, R->p->b, R->w);
    return;
  }
  for (int k = 0; k < R->nu; k++) R->u[k] = 0;
  for (int t = 0; t < R->n_units; t++) unit_Gt(R, &R->unit[t], lambda, R->u);
}

void perp_rows_w(perp_rows *R, const double *lambda, double *w)
{
  apply(R, lambda, R->uu, R->p->b, w);
}

void perp_rows_A(perp_rows *R, const double *x, double *y)
{
  apply(R, x, R->uu, NULL, y);
}

void perp_rows_majorant(const perp_rows *R, double *d)
{
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  for (int i = 0; i < p->n; i++) d[i] = 0;
  if (F == NULL)
    for (int j = 0; j < p->n; j++) {
      const double *a = p->A + (size_t)j * (size_t)p->lda;
      for (int i = 0; i < p->n; i++) d[i] += fabs(a[i]);
    }
  else {
    /* uu [uoff[b]] counts the rows that touch block b */
    for (int b = 0; b < F->nb; b++) R->uu[R->uoff[b]] = 0;
    for (int c = 0; c < F->nc; c++)
      for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
        R->uu[R->uoff[F->jblk[k]]] += F->cptr[c + 1] - F->cptr[c];
    for (int t = 0; t < R->n_units; t++) {
      const perp_unit *unit = &R->unit[t];
      int width;
      const double *g = unit_rows(R, unit, &width);
      for (int i = unit->row; i < unit->row + unit->r; i++) {
        d[i] = F->s != NULL ? F->s[i] : 0;
        if (unit->kind >= FAST) {
          int h = unit->b >= 0 ? width / 2 : width;
          d[i] += R->uu[unit->a] * dot(h, g, g);
          if (unit->b >= 0) d[i] += R->uu[unit->b] * dot(h, g + h, g + h);
          g += width;
        } else
          for (int k = F->jptr[unit->a]; k < F->jptr[unit->a + 1]; k++) {
            int at = R->uoff[F->jblk[k]], h = R->uoff[F->jblk[k] + 1] - at;
            d[i] += R->uu[at] * dot(h, g, g);
            g += h;
          }
      }
    }
  }
  for (int i = 0; i < p->n; i++) {
    if (!(d[i] > 0)) d[i] = 1;
    if (R->type[i] == PERP_ROW_CONE_TAIL) d[i] = d[i - 1] = fmax(d[i], d[i - 1]);
  }
}

/* ---- bounds and residual -------------------------------------------------------------------------------- */

static inline double limit(const perp_rows *R, const double *lambda, int i)
{
  double normal = lambda[R->p->fric_of[i]];
  return R->p->mu[i] * (normal > 0 ? normal : 0);
}

static inline double clamp(double x, double lo, double hi)
{
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

void perp_rows_bounds(const perp_rows *R, const double *lambda, int i, double *lo, double *hi)
{
  if (R->type[i] == PERP_ROW_BOUNDED) {
    *lo = R->lo[i];
    *hi = R->hi[i];
  } else {
    *hi = limit(R, lambda, i);
    *lo = -*hi;
  }
}

void perp_rows_project(const perp_rows *R, const double *x, double *y)
{
  for (int i = 0; i < R->n; i++)
    y[i] = R->type[i] == PERP_ROW_BOUNDED ? clamp(x[i], R->lo[i], R->hi[i]) : x[i];
  if (!R->friction) return;
  for (int i = 0; i < R->n; i++) {
    if (R->type[i] == PERP_ROW_BOUNDED) continue;
    double r = limit(R, y, i);
    if (R->type[i] == PERP_ROW_FRICTION)
      y[i] = clamp(y[i], -r, r);
    else if (R->type[i] == PERP_ROW_CONE)
      perp_disc(r, &y[i], &y[i + 1]);
  }
}

double perp_rows_residual(perp_rows *R, const double *lambda, const double *w)
{
  if (R->p->F == NULL) return perp_lcp_rel(R->p, R->big, lambda, w);
  if (!R->scaled) {
    perp_lcp_scales(R->p, R->a, R->scratch);
    R->scaled = true;
  }
  return perp_lcp_rel(R->p, R->a, lambda, w);
}

/* ---- sweeps --------------------------------------------------------------------------------------------- */

/* the new value of row i with slack w */
static inline double relax(const perp_rows *R, int i, double inv, double lo, double hi, double w,
                           const double *lambda)
{
  if (R->type[i] != PERP_ROW_BOUNDED) {
    hi = limit(R, lambda, i);
    lo = -hi;
  }
  return clamp(lambda[i] - inv * w, lo, hi);
}

static double dense_row(perp_rows *R, const perp_unit *t, double *lambda)
{
  const perp_lcp *p = R->p;
  int i = t->row, n = R->n;
  double change[2] = { 0, 0 };
  if (R->type[i] == PERP_ROW_CONE) {
    double x = lambda[i] - R->inv[i] * R->w[i], y = lambda[i + 1] - R->inv[i] * R->w[i + 1];
    perp_disc(limit(R, lambda, i), &x, &y);
    change[0] = x - lambda[i];
    change[1] = y - lambda[i + 1];
  } else
    change[0] = relax(R, i, R->inv[i], R->lo[i], R->hi[i], R->w[i], lambda) - lambda[i];
  for (int k = 0; k < t->r; k++) {
    double c = change[k];
    if (c == 0) continue;
    lambda[i + k] += c;
    const double *a = p->A + (size_t)(i + k) * (size_t)p->lda;
    double *w = R->w;
    for (int j = 0; j < n; j++) w[j] += c * a[j];
  }
  return fmax(fabs(change[0]), fabs(change[1]));
}

/* a unit of any shape, row by row */
static double generic_unit(perp_rows *R, const perp_unit *t, double *lambda, bool back)
{
  const perp_lcp *p = R->p;
  const double *s = p->F->s;
  int width;
  double worst = 0;
  const double *g0 = unit_rows(R, t, &width);
  for (int step = 0; step < t->r; step++) {
    int k = back ? t->r - 1 - step : step, i = t->row + k, pair = 1;
    if (R->type[i] == PERP_ROW_CONE_TAIL) {
      if (!back) continue;
      k--, i--, step++;
    }
    const double *g = g0 + (size_t)k * (size_t)width;
    double w = row_dot(R, t, g, width, R->u) + p->b[i] + (s != NULL ? s[i] * lambda[i] : 0);
    double x, y = 0;
    if (R->type[i] == PERP_ROW_CONE) {
      double w2 = row_dot(R, t, g + width, width, R->u) + p->b[i + 1] +
                  (s != NULL ? s[i + 1] * lambda[i + 1] : 0);
      pair = 2;
      x = lambda[i] - R->inv[i] * w;
      y = lambda[i + 1] - R->inv[i] * w2;
      perp_disc(limit(R, lambda, i), &x, &y);
    } else
      x = relax(R, i, R->inv[i], R->lo[i], R->hi[i], w, lambda);
    for (int q = 0; q < pair; q++, g += width) {
      double c = (q == 0 ? x : y) - lambda[i + q];
      worst = fmax(worst, fabs(c));
      lambda[i + q] += c;
      if (t->kind >= FAST) {
        int d = t->b >= 0 ? width / 2 : width;
        for (int j = 0; j < d; j++) R->u[t->a + j] += c * g[j];
        if (t->b >= 0)
          for (int j = 0; j < d; j++) R->u[t->b + j] += c * g[d + j];
      } else {
        const double *h = g;
        for (int l = p->F->jptr[t->a]; l < p->F->jptr[t->a + 1]; l++) {
          int at = R->uoff[p->F->jblk[l]], d = R->uoff[p->F->jblk[l] + 1] - at;
          for (int j = 0; j < d; j++) R->u[at + j] += c * h[j];
          h += d;
        }
      }
    }
  }
  return worst;
}

/* Forward pass over a unit of r rows on `subs` blocks of `pairs` pairs of numbers: constants after
 * inlining.  y is the step of each row as u asks for it, corrected by the Gram matrix (scaled by the
 * steps) as the rows before it change. */
static inline __attribute__((always_inline)) double
fast_unit(const perp_rows *R, const perp_unit *t, double *restrict lambda, const int subs,
          const int pairs, const int r)
{
  const double *gram = R->data + t->at;
  const v2 *g = (const v2 *)(gram + (r * (r - 1) / 2 + 1) / 2 * 2);
  const double *par = (const double *)(g + r * subs * pairs);
  const double *s = R->p->F->s;
  v2 *ua = (v2 *)(R->u + t->a), *ub = (v2 *)(R->u + t->b);
  v2 x[6];
  double y[PERP_UNIT_ROWS], change[PERP_UNIT_ROWS] = { 0 }, worst = 0;
  double *l = lambda + t->row;
  for (int k = 0; k < pairs; k++) {
    x[k] = ua[k];
    if (subs == 2) x[pairs + k] = ub[k];
  }
  for (int i = 0; i < r; i++) {
    v2 even_sum = g[i * subs * pairs] * x[0], odd_sum = g[i * subs * pairs + 1] * x[1];
    for (int k = 2; k < subs * pairs; k++)
      if (k & 1)
        odd_sum += g[i * subs * pairs + k] * x[k];
      else
        even_sum += g[i * subs * pairs + k] * x[k];
    even_sum += odd_sum;
    y[i] = even_sum[0] + even_sum[1] + par[PARAMS * i];
    if (s != NULL) y[i] += s[t->row + i] * l[i];
    y[i] *= -par[PARAMS * i + 1];
  }
  switch (t->mix) {
  case NORMALS:
    for (int i = 0; i < r; i++) {
      double d = y[i];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = d > -l[i] ? d : -l[i];
      l[i] += change[i];
    }
    break;
  case BOXES:
    for (int i = 0; i < r; i++) {
      double d = y[i], lo = par[PARAMS * i + 2], hi = par[PARAMS * i + 3];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = clamp(d, lo - l[i], hi - l[i]);
      l[i] = clamp(l[i] + change[i], lo, hi);
    }
    break;
  case CONTACT_BOX: {
    change[0] = y[0] > -l[0] ? y[0] : -l[0];
    l[0] += change[0];
    double normal = l[0];
    for (int i = 1; i < r; i++) {
      double d = y[i], top = par[PARAMS * i + 2] * normal;
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = clamp(d, -top - l[i], top - l[i]);
      l[i] = clamp(l[i] + change[i], -top, top);
    }
    break;
  }
  case CONTACT_CONE:
    change[0] = y[0] > -l[0] ? y[0] : -l[0];
    l[0] += change[0];
    if (r == 3) {
      double z1 = l[1] + y[1] - gram[0] * change[0], z2 = l[2] + y[2] - gram[1] * change[0];
      perp_disc(par[PARAMS + 2] * l[0], &z1, &z2);
      change[1] = z1 - l[1];
      change[2] = z2 - l[2];
      l[1] = z1;
      l[2] = z2;
    }
    break;
  default:
    for (int i = 0; i < r; i++) {
      double d = y[i], lo = par[PARAMS * i + 2], hi = par[PARAMS * i + 3];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      int type = R->type[t->row + i];
      if (type != PERP_ROW_BOUNDED) {
        hi = limit(R, lambda, t->row + i);
        lo = -hi;
      }
      if (type == PERP_ROW_CONE && i + 1 < r) {
        double d2 = y[i + 1], z = l[i] + d;
        for (int j = 0; j < i; j++) d2 -= gram[(i + 1) * i / 2 + j] * change[j];
        double z2 = l[i + 1] + d2;
        perp_disc(hi, &z, &z2);
        change[i] = z - l[i];
        change[i + 1] = z2 - l[i + 1];
        l[i] = z;
        l[i + 1] = z2;
        i++;
      } else {
        change[i] = clamp(d, lo - l[i], hi - l[i]);
        l[i] = clamp(l[i] + change[i], lo, hi);
      }
    }
  }
  for (int i = 0; i < r; i++) worst = fmax(worst, fabs(change[i]));
  for (int i = 0; i < r; i++) {
    v2 c = { change[i], change[i] };
    for (int k = 0; k < subs * pairs; k++) x[k] += c * g[i * subs * pairs + k];
  }
  for (int k = 0; k < pairs; k++) {
    ua[k] = x[k];
    if (subs == 2) ub[k] = x[pairs + k];
  }
  return worst;
}

static double any_unit(perp_rows *R, const perp_unit *t, double *lambda)
{
  switch (t->kind) {
  case DENSE_ROW:
    return dense_row(R, t, lambda);
#define FAST_CASE(subs, pairs, r)                                                                  \
  case FAST + 8 * ((subs)-1) + 4 * ((pairs)-2) + (r)-1:                                            \
    return fast_unit(R, t, lambda, subs, pairs, r);
#define FAST_CASES(subs, pairs)                                                                    \
  FAST_CASE(subs, pairs, 1)                                                                        \
  FAST_CASE(subs, pairs, 2) FAST_CASE(subs, pairs, 3) FAST_CASE(subs, pairs, 4)
    FAST_CASES(1, 2)
    FAST_CASES(1, 3)
    FAST_CASES(2, 2)
    FAST_CASES(2, 3)
#undef FAST_CASES
#undef FAST_CASE
  default:
    return generic_unit(R, t, lambda, false);
  }
}

double perp_rows_sweep(perp_rows *R, double *lambda, const int *order, bool back)
{
  double worst = 0;
  for (int k = 0; k < R->n_units; k++) {
    int at = back ? R->n_units - 1 - k : k;
    const perp_unit *t = &R->unit[order != NULL ? order[at] : at];
    double d = back && t->kind != DENSE_ROW ? generic_unit(R, t, lambda, true)
                                            : any_unit(R, t, lambda);
    if (!(d <= worst)) worst = d;
  }
  return worst;
}
