/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside rows_prepare.c, rows_units.c, rows_sweep.c and rows_product.c: how units store their rows.
 */
#ifndef PERP_LCP_ROWS_IMPL_H
#define PERP_LCP_ROWS_IMPL_H

#include "solvers/core/clones.h"
#include "solvers/lcp/rows/rows.h"

#include <float.h>
#include <math.h>

/* Shapes of units.  On one or two bodies in the plane (blocks of 3 or 4 numbers, which fill 2
 * pairs) or in space (5 or 6, 3 pairs) up to PERP_UNIT_ROWS rows are done together, with their Gram
 * matrix; anything else goes row by row.  FOURS is the first of four contacts that are done
 * together, FOLLOWS are the other three. */
enum { DENSE_ROW, GENERIC, PLANE_ONE, PLANE_TWO, SPACE_ONE, SPACE_TWO, FOURS, FOLLOWS };
/* Does f(blocks, pairs) for the shape of unit t, both constants. */
#define PERP_FOR_SHAPE(t, f)                                                                       \
  switch ((t)->shape) {                                                                            \
  case PLANE_ONE:                                                                                  \
    f(1, 2) break;                                                                                 \
  case PLANE_TWO:                                                                                  \
    f(2, 2) break;                                                                                 \
  case SPACE_ONE:                                                                                  \
    f(1, 3) break;                                                                                 \
  default:                                                                                         \
    f(2, 3)                                                                                        \
  }
enum { PERP_TEAM_ROWS = 3000, PERP_TEAM_MAX = 64, PERP_LEVEL_UNITS = 32, PERP_COLOUR_UNITS = 128 };
/* The parameters of a row of a unit: b, its step (omega / A_ii), its bounds; of friction mu. */
enum { ROW_B, ROW_STEP, ROW_LO, ROW_HI, PARAMS, ROW_MU = ROW_LO };
enum { CONTACT_ROWS = 3, BODY_WIDTH = 6 }; /* rows of a contact, and numbers of a body, in space */

/* What the rows of a unit are: anything; bounded rows; contacts [0, inf); a normal row [0, inf)
 * followed by friction rows of it, boxes or one cone. */
enum { MIXED, BOXES, NORMALS, CONTACT_BOX, CONTACT_CONE };

/* How a unit is packed: number by number; as a contact of three rows, or groups of one row, in
 * space on bodies with diagonal inertia. */
enum { PACKED_ANY, PACKED_CONTACT, PACKED_SINGLE };

static inline int even(int k)
{
  return k + (k & 1);
}

/* Numbers of the Gram matrix of unit t, which its rows follow. */
static inline int unit_gram(const perp_unit *unit)
{
  return unit->shape > GENERIC ? even(unit->r * (unit->r - 1) / 2) : 0;
}

static inline double *unit_rows(const perp_rows *rows, const perp_unit *unit)
{
  return rows->data + unit->at + unit_gram(unit);
}

static inline double dot(int width, const double *x, const double *y)
{
  double sum = 0;
  for (int k = 0; k < width; k++) sum += x[k] * y[k];
  return sum;
}

/* The k-th block of a row of unit t: its length, and in *at where its accumulators are; 0 past the
 * end. */
static inline int row_block(const perp_rows *rows, const perp_unit *unit, int k, int *at)
{
  if (unit->shape > GENERIC) {
    if (k > (unit->b >= 0)) return 0;
    *at = k == 0 ? unit->a : unit->b;
    return unit->b >= 0 ? unit->width / 2 : unit->width;
  }
  const perp_blocks *blocks = rows->p->F;
  if (k >= blocks->jptr[unit->group + 1] - blocks->jptr[unit->group]) return 0;
  const int b = blocks->jblk[blocks->jptr[unit->group] + k];
  *at = rows->uoff[b];
  return rows->uoff[b + 1] - rows->uoff[b];
}

static inline double row_dot(const perp_rows *rows, const perp_unit *unit, const double *g,
                             const double *u)
{
  double sum = 0;
  for (int k = 0, at = 0, d; (d = row_block(rows, unit, k, &at)) > 0; k++, g += d)
    sum += dot(d, g, u + at);
  return sum;
}

/* u += c g for one row g of unit t */
static inline void row_axpy(const perp_rows *rows, const perp_unit *unit, const double *g, double c,
                            double *u)
{
  for (int k = 0, at = 0, d; (d = row_block(rows, unit, k, &at)) > 0; k++, g += d)
    for (int j = 0; j < d; j++) u[at + j] += c * g[j];
}

/* The accumulators of a unit on `blocks` blocks of `pairs` pairs of numbers: by fours, a pair may
 * be left over. */
typedef struct held {
  perp_v4 x[3];
  perp_v2 rest;
} held;

/* Two pairs of numbers, each read by itself: what has just been written, whatever its cut, is
 * there without a way through the cache. */
#define HELD_PAIRS(x, y)                                                                           \
  __builtin_shufflevector(*(const perp_v2 *)(x), *(const perp_v2 *)(y), 0, 1, 2, 3)

static inline __attribute__((always_inline)) void hold(held *h, const double *a, const double *b,
                                                       const int blocks, const int pairs)
{
  h->x[0] = HELD_PAIRS(a, a + 2);
  if (pairs == 2 && blocks == 2) h->x[1] = *(const perp_v4 *)b;
  if (pairs == 3 && blocks == 1) h->rest = *(const perp_v2 *)(a + 4);
  if (pairs == 3 && blocks == 2) {
    h->x[1] = HELD_PAIRS(a + 4, b);
    h->x[2] = HELD_PAIRS(b + 2, b + 4);
  }
}

static inline __attribute__((always_inline)) void release(const held *h, double *a, double *b,
                                                          const int blocks, const int pairs)
{
  *(perp_v4 *)a = h->x[0];
  if (pairs == 2 && blocks == 2) *(perp_v4 *)b = h->x[1];
  if (pairs == 3 && blocks == 1) *(perp_v2 *)(a + 4) = h->rest;
  if (pairs == 3 && blocks == 2) {
    *(perp_v2 *)(a + 4) = (perp_v2){ h->x[1][0], h->x[1][1] };
    *(perp_v2 *)b = (perp_v2){ h->x[1][2], h->x[1][3] };
    *(perp_v4 *)(b + 2) = h->x[2];
  }
}

/* product with the row g */
static inline __attribute__((always_inline)) double held_dot(const held *h, const double *g,
                                                             const int blocks, const int pairs)
{
  const int fours = blocks * pairs / 2;
  const perp_v4 *row = (const perp_v4 *)g;
  perp_v4 sum = row[0] * h->x[0];
  for (int k = 1; k < fours; k++) sum += row[k] * h->x[k];
  perp_v2 half = { sum[0], sum[1] };
  if (blocks * pairs % 2) half += *(const perp_v2 *)(g + 4 * fours) * h->rest;
  half += (perp_v2){ sum[2], sum[3] };
  return half[0] + half[1];
}

/* += c times the row g */
static inline __attribute__((always_inline)) void held_add(held *h, double c, const double *g,
                                                           const int blocks, const int pairs)
{
  const int fours = blocks * pairs / 2;
  for (int k = 0; k < fours; k++) h->x[k] += c * ((const perp_v4 *)g)[k];
  if (blocks * pairs % 2) h->rest += c * *(const perp_v2 *)(g + 4 * fours);
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

/* Threads for work over the units, level by level: one where waiting takes longer than a level
 * does. */
static inline int perp_rows_threads(const perp_rows *rows)
{
  const int least = rows->coloured ? PERP_COLOUR_UNITS : PERP_LEVEL_UNITS;
  return rows->schedule.n_levels > 0 && rows->n_units >= least * rows->schedule.n_levels
             ? rows->threads
             : 1;
}

/* One member's share [from, to) of the next level, which ends at `end`. */
typedef struct perp_share_of {
  int level, from, to, end;
} perp_share_of;

/* Is unit t in space, on bodies with diagonal inertia? */
static inline bool perp_rows_flat(const perp_rows *rows, const perp_unit *unit)
{
  const perp_blocks *blocks = rows->p->F;
  const int c = unit->group;
  if ((unit->shape != SPACE_ONE && unit->shape != SPACE_TWO) || blocks->diag == NULL) return false;
  for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
    if (blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]] != BODY_WIDTH ||
        !blocks->diag[blocks->jblk[k]])
      return false;
  return true;
}

/* Is it one contact there, alone in its unit?  All sizes are known then. */
static inline bool perp_rows_contact(const perp_rows *rows, const perp_unit *unit)
{
  const perp_blocks *blocks = rows->p->F;
  const int c = unit->group;
  return unit->r == CONTACT_ROWS && blocks->cptr[c] == unit->row &&
         blocks->cptr[c + 1] - unit->row == CONTACT_ROWS && perp_rows_flat(rows, unit);
}

/* rows_memory.c: rows->grown with room for so many bytes, and nothing in it. */
perp_status perp_rows_grow(perp_ctx *ctx, perp_rows *rows, size_t bytes);
/* The columns of a dense A, which holds so many numbers other than 0. */
perp_status perp_rows_compress(perp_ctx *ctx, perp_rows *rows, size_t numbers);
/* rows_units.c: the units of a factored problem and what they hold; PERP_ERR_UNSUPPORTED where
 * groups cut cones. */
perp_status perp_rows_units(perp_ctx *ctx, perp_rows *rows, double omega);

/* rows_pattern.c: room for the pattern of the problem, and is it that of the units that are there?
 * From now on it is. */
void perp_rows_pattern_layout(perp_rows *rows, perp_arena *arena);
bool perp_rows_pattern_known(perp_rows *rows);

/* The step of row i from diag and big (0 on entry: a zero row).  A zero row has w = b: it is fixed
 * at the bound that b asks for, or does not move when that bound is infinite.  Rows i and i + 1 of
 * a cone, off = A_i,i+1. */
void perp_rows_step(perp_rows *rows, int i, double omega);
static inline void perp_rows_step_cone(perp_rows *rows, int i, double off, double omega)
{
  const double a = rows->diag[i], c = rows->diag[i + 1];
  const double top = 0.5 * (a + c) + hypot(0.5 * (a - c), off);
  if (top > DBL_MIN) rows->inv[i] = rows->inv[i + 1] = omega / top;
}

/* rows_colours.c.  Level of each unit = its colour: the number of levels; *commute: units of a
 * level may be done in any order.  Then the units in that order, with their places, and alike
 * contacts of a level side by side. */
int perp_rows_colours(perp_rows *rows, bool *commute);
void perp_rows_by_colours(perp_rows *rows, int levels);
/* The units of a dense problem by colours: rows i and j have different ones where A_ij or A_ji is
 * not 0.  O(n^2). */
void perp_rows_dense_colours(perp_rows *rows);

/* rows_fours.c: contacts by fours, of the units t, t + 4, ... end - 4, each with its three
 * followers. */
/* Their numbers, from J; false: a diagonal vanishes, they have to be packed one by one. */
bool perp_fours_pack(perp_rows *rows, int t, double omega);
/* One sweep, as unit_sweep of rows_sweep.c: the largest change. */
double perp_fours_sweep(const perp_rows *rows, int t, int end, double *lambda);
/* u += G' x, and y = G u + S x (b: + b). */
void perp_fours_Gt(const perp_rows *rows, int t, int end, const double *x, double *u);
void perp_fours_G(const perp_rows *rows, int t, int end, const double *u, const double *x, bool b,
                  double *y);
/* For tests, before other threads begin: no AVX2 from now on, whatever the processor has. */
void perp_fours_force_plain(bool plain);

/* Where the fours that begin at or before t end; t itself where it is no part of any. */
static inline int perp_rows_whole(const perp_rows *rows, int t)
{
  while (t < rows->n_units && rows->unit[t].shape == FOLLOWS) t++;
  return t;
}

/* The end of the fours in a row that begin with unit t. */
static inline int perp_rows_run(const perp_rows *rows, int t, int end)
{
  while (t < end && rows->unit[t].shape == FOURS) t += 4;
  return t;
}

/* Start from { 0 }; false past the last level.  Alone, all units are one level. */
static inline bool perp_rows_next(const perp_rows *rows, int member, int members, perp_share_of *s)
{
  if (s->end >= rows->n_units) return false;
  if (members == 1) {
    s->to = s->end = rows->n_units;
    return true;
  }
  const int start = s->end;
  s->end = rows->schedule.count[s->level++];
  s->from = perp_rows_whole(rows, start + perp_share(s->end - start, member, members));
  s->to = perp_rows_whole(rows, start + perp_share(s->end - start, member + 1, members));
  if (start > 0) perp_team_wait(members);
  return true;
}

#endif
