/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside rows.c and rows_sweep.c: how units store their rows. */
#ifndef PERP_LCP_ROWS_IMPL_H
#define PERP_LCP_ROWS_IMPL_H

#include "solvers/lcp/rows.h"

/* Kinds of units.  FAST + 8 (blocks - 1) + 4 (pairs - 2) + (r - 1): one or two blocks of 3-4 (2 pairs of
 * doubles) or 5-6 (3 pairs) numbers, at most PERP_UNIT_ROWS rows; anything else goes row by row. */
enum { DENSE_ROW, GENERIC, FAST };
enum { PERP_TEAM_ROWS = 3000, PERP_TEAM_MAX = 64, PERP_LEVEL_UNITS = 32 };
enum { PARAMS = 4 }; /* b, step, then lo, hi or mu */

/* What the rows of a unit are: anything; bounded rows; contacts [0, inf); a normal row [0, inf) followed
 * by friction rows of it, boxes or one cone. */
enum { MIXED, BOXES, NORMALS, CONTACT_BOX, CONTACT_CONE };

static inline int even(int k)
{
  return k + (k & 1);
}

/* where row i of unit t, its parameters and the length of a row are */
static inline double *unit_rows(const perp_rows *R, const perp_unit *t, int *width)
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

static inline double dot(int width, const double *x, const double *y)
{
  double sum = 0;
  for (int k = 0; k < width; k++) sum += x[k] * y[k];
  return sum;
}

/* The k-th block of a row of unit t: its length, and in *at where its accumulators are; 0 past the end. */
static inline int row_block(const perp_rows *R, const perp_unit *t, int width, int k, int *at)
{
  if (t->kind >= FAST) {
    if (k > (t->b >= 0)) return 0;
    *at = k == 0 ? t->a : t->b;
    return t->b >= 0 ? width / 2 : width;
  }
  const perp_blocks *F = R->p->F;
  if (k >= F->jptr[t->a + 1] - F->jptr[t->a]) return 0;
  int b = F->jblk[F->jptr[t->a] + k];
  *at = R->uoff[b];
  return R->uoff[b + 1] - R->uoff[b];
}

static inline double row_dot(const perp_rows *R, const perp_unit *t, const double *g, int width,
                             const double *u)
{
  double sum = 0;
  for (int k = 0, at = 0, d; (d = row_block(R, t, width, k, &at)) > 0; k++, g += d)
    sum += dot(d, g, u + at);
  return sum;
}

/* u += c g for one row g of unit t */
static inline void row_axpy(const perp_rows *R, const perp_unit *t, const double *g, int width,
                            double c, double *u)
{
  for (int k = 0, at = 0, d; (d = row_block(R, t, width, k, &at)) > 0; k++, g += d)
    for (int j = 0; j < d; j++) u[at + j] += c * g[j];
}

static inline double limit(const perp_rows *R, const double *lambda, int i)
{
  double normal = lambda[R->p->fric_of[i]];
  return R->p->mu[i] * (normal > 0 ? normal : 0);
}

/* fmax without its call; x is no NaN, and a NaN for y is passed over likewise */
static inline double larger(double x, double y)
{
  return y > x ? y : x;
}

static inline double clamp(double x, double lo, double hi)
{
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

/* Threads for work over the units, level by level: one where waiting takes longer than a level does. */
static inline int perp_rows_threads(const perp_rows *R)
{
  return R->n_levels > 0 && R->n_units >= PERP_LEVEL_UNITS * R->n_levels ? R->threads : 1;
}

/* One member's share [from, to) of the next level, which ends at `end`. */
typedef struct perp_share_of {
  int level, from, to, end;
} perp_share_of;

/* Start from { 0 }; false past the last level.  Alone, all units are one level. */
static inline bool perp_rows_next(const perp_rows *R, int member, int members, perp_share_of *s)
{
  if (s->end >= R->n_units) return false;
  if (members == 1) {
    s->to = s->end = R->n_units;
    return true;
  }
  const int start = s->end;
  s->end = R->count[s->level++];
  s->from = start + perp_share(s->end - start, member, members);
  s->to = start + perp_share(s->end - start, member + 1, members);
  if (start > 0) perp_team_wait(members);
  return true;
}

#endif
