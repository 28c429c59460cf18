/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LCPs of 2 to 12 rows with answers that were there first: A, lambda and w are chosen, small whole
 * numbers or fractions of two, and b = w - A lambda is exact.  One or more for each thing that a
 * solver can declare. */
#ifndef PERP_CONTRACT_LCP_KNOWN_H
#define PERP_CONTRACT_LCP_KNOWN_H

#include "solvers/lcp/lcp.h"

#include <math.h>
#include <stdlib.h>

enum { KNOWN_ROWS = 12, KNOWN_MOST = 32 };

typedef struct known {
  const char *what;
  int n;
  double A[KNOWN_ROWS * KNOWN_ROWS], b[KNOWN_ROWS], lo[KNOWN_ROWS], hi[KNOWN_ROWS], mu[KNOWN_ROWS];
  double x[KNOWN_ROWS], w[KNOWN_ROWS];
  int fric_of[KNOWN_ROWS];
  signed char cone[KNOWN_ROWS];
  unsigned asks; /* capabilities that promise this answer, all of them */
  bool only_w;   /* lambda is one of many, w is not */
  bool pivots; /* promised by methods that pivot only: others may need a matrix of dominant rows */
  double pivoted; /* size of the rounding that elimination may leave in lambda, in units of 1e-15 */
} known;

/* Matrices by their entries. */
typedef double known_matrix(int i, int j);
static inline double known_spd(int i, int j)
{
  int d = abs(i - j);
  return d == 0 ? 7 : d == 1 ? -2 : d == 2 ? 1 : 0;
}
/* rows of a contact: its own three coupled strongly, those of other contacts weakly */
static inline double known_contacts(int i, int j)
{
  static const double own[3][3] = { { 4, 0.5, -0.5 }, { 0.5, 4, 0.5 }, { -0.5, 0.5, 4 } };
  if (i / 3 == j / 3) return own[i % 3][j % 3];
  return abs(i / 3 - j / 3) == 1 && i % 3 == j % 3 ? (i % 3 == 0 ? 0.5 : -0.25) : 0;
}
/* ill-conditioned as chains are: the inverse of second differences; about 4 n^2 / 10 */
static inline double known_chain(int i, int j)
{
  return (i < j ? i : j) + 1;
}
/* dominant rows, but nothing like its transpose */
static inline double known_lopsided(int i, int j)
{
  return i == j ? 8 : j == i + 1 ? -3 : j == i - 1 ? 2 : j == i + 2 ? 1 : 0;
}
/* triangular with large entries: all principal minors are 1, no row is dominant, A + A' is
 * indefinite */
static inline double known_minors(int i, int j)
{
  return i == j ? 1 : j > i ? 2 : 0;
}
/* x'A x = 2 |x|^2 > 0 with a skew part that is larger */
static inline double known_skew(int i, int j)
{
  return i == j ? 2 : j > i ? -3 : 3;
}
/* J J' of the four legs of a table: rank 3 */
static inline double known_table(int i, int j)
{
  static const double leg[4][3] = { { 1, 1, 1 }, { 1, -1, 1 }, { 1, 1, -1 }, { 1, -1, -1 } };
  double sum = 0;
  for (int k = 0; k < 3; k++) sum += leg[i][k] * leg[j][k];
  return sum;
}
/* twelve rows of rank 5 */
static inline double known_rank5(int i, int j)
{
  double sum = 0;
  for (int k = 0; k < 5; k++)
    sum += ((i * (k + 2) + k) % 5 - 1.5) * ((j * (k + 2) + k) % 5 - 1.5) / 4;
  return sum;
}

static inline void known_start(known *k, const char *what, int n, unsigned asks, known_matrix *a)
{
  *k = (known){ .what = what, .n = n, .asks = asks, .pivoted = 100 };
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) k->A[i + n * j] = a(i, j);
    k->hi[i] = HUGE_VAL;
    k->fric_of[i] = -1;
  }
}

static inline void known_row(known *k, int i, double lo, double hi, double x, double w)
{
  k->lo[i] = lo;
  k->hi[i] = hi;
  k->x[i] = x;
  k->w[i] = w;
}

static inline void known_end(known *k)
{
  for (int i = 0; i < k->n; i++) {
    k->b[i] = k->w[i];
    for (int j = 0; j < k->n; j++) k->b[i] -= k->A[i + k->n * j] * k->x[j];
  }
}

/* rows >= 0: x[i] > 0 carries, x[i] < 0 stands for w = -x[i] */
static inline void known_plain(known *k, const double *x)
{
  for (int i = 0; i < k->n; i++)
    known_row(k, i, 0, HUGE_VAL, x[i] > 0 ? x[i] : 0, x[i] < 0 ? -x[i] : 0);
  known_end(k);
}

/* a contact of three rows from row i: normal (impulse or speed), two tangents */
static inline void known_contact(known *k, int i, double mu, bool cone, const double *x,
                                 const double *w)
{
  for (int r = 0; r < 3; r++) known_row(k, i + r, 0, HUGE_VAL, x[r], w[r]);
  for (int r = 1; r < 3; r++) {
    k->fric_of[i + r] = i;
    k->mu[i + r] = mu;
  }
  k->cone[i + 1] = cone;
}

/* all of them; how many */
static inline int known_all(known *list)
{
  const double inf = HUGE_VAL;
  const unsigned box = PERP_LCP_BOX, open = PERP_LCP_FREE, friction = PERP_LCP_FRICTION,
                 cone = PERP_LCP_CONE, lopsided = PERP_LCP_NONSYMMETRIC,
                 loose = PERP_LCP_SEMIDEFINITE;
  known *k = list;

  /* pure */
  known_start(k, "2 rows that carry", 2, 0, known_spd);
  known_plain(k++, (double[]){ 1, 2 });
  known_start(k, "3 rows, one open", 3, 0, known_spd);
  known_plain(k++, (double[]){ 2, -3, 1 });
  known_start(k, "4 rows, all open", 4, 0, known_spd);
  known_plain(k++, (double[]){ -1, -2, -3, -4 });
  known_start(k, "12 rows, half of them open", 12, 0, known_spd);
  known_plain(k++, (double[]){ 1, -2, 3, 4, -1, -0.5, 2, 8, -4, 0.25, -16, 5 });
  known_start(k, "a chain of 8 rows", 8, 0, known_chain);
  known_plain(k++, (double[]){ 1, -1, 2, 3, -2, 1, -0.5, 4 });

  /* boxes */
  known_start(k, "2 rows at their upper bounds", 2, box, known_spd);
  known_row(k, 0, 0, 1, 1, -2);
  known_row(k, 1, -1, 0.5, 0.5, -0.25);
  known_end(k++);
  known_start(k, "6 boxes of all kinds", 6, box, known_spd);
  known_row(k, 0, -1, 2, -1, 3);
  known_row(k, 1, -3, 3, 1.5, 0);
  known_row(k, 2, 1, 4, 4, -2);
  known_row(k, 3, -inf, 1, 1, -1);
  known_row(k, 4, 2, 2, 2, 5);
  known_row(k, 5, -inf, 3, -2, 0);
  known_end(k++);
  known_start(k, "12 boxes", 12, box, known_spd);
  for (int i = 0; i < 12; i++)
    known_row(k, i, -1 - i % 3, 1 + i % 4,
              i % 3 == 0   ? -1 - i % 3
              : i % 3 == 1 ? 1 + i % 4
                           : 0.5 * (i % 5) - 1,
              i % 3 == 0   ? 1 + i
              : i % 3 == 1 ? -0.5 * i
                           : 0);
  known_end(k++);

  /* free rows */
  known_start(k, "2 free rows", 2, open, known_spd);
  known_row(k, 0, -inf, inf, -3, 0);
  known_row(k, 1, -inf, inf, 2, 0);
  known_end(k++);
  known_start(k, "free rows between others", 9, open, known_spd);
  for (int i = 0; i < 9; i++)
    if (i % 3 == 0)
      known_row(k, i, -inf, inf, i % 2 == 0 ? -2 - i : 3, 0);
    else
      known_row(k, i, 0, inf, i % 3 == 1 ? 1 + i : 0, i % 3 == 1 ? 0 : i);
  known_end(k++);
  known_start(k, "boxes, free rows and others", 7, box | open, known_spd);
  for (int i = 0; i < 7; i++) known_row(k, i, 0, inf, i % 2, 1 - i % 2);
  known_row(k, 2, -inf, inf, -4, 0);
  known_row(k, 5, -1, 2, 2, -3);
  known_end(k++);

  /* friction as boxes: sliding forwards and backwards, sticking, open, bounds far from one another
   */
  known_start(k, "a contact that slides along one tangent", 3, friction, known_contacts);
  known_contact(k, 0, 0.5, false, (double[]){ 2, 1, -0.25 }, (double[]){ 0, -2, 0 });
  known_end(k++);
  known_start(k, "a contact that sticks", 3, friction, known_contacts);
  known_contact(k, 0, 0.5, false, (double[]){ 16, 7, -5 }, (double[]){ 0, 0, 0 });
  known_end(k++);
  known_start(k, "two contacts, one carries little", 6, friction, known_contacts);
  known_contact(k, 0, 0.5, false, (double[]){ 8, -4, 1 }, (double[]){ 0, 3, 0 });
  known_contact(k, 3, 0.25, false, (double[]){ 0.5, 0.125, -0.125 }, (double[]){ 0, -1, 1 });
  known_end(k++);
  known_start(k, "four contacts: slides, sticks, is open, has no friction", 12, friction,
              known_contacts);
  known_contact(k, 0, 1, false, (double[]){ 1, 1, -1 }, (double[]){ 0, -1, 2 });
  known_contact(k, 3, 0.5, false, (double[]){ 12, 5, 0 }, (double[]){ 0, 0, 0 });
  known_contact(k, 6, 0.5, false, (double[]){ 0, 0, 0 }, (double[]){ 2, 1, -1 });
  known_contact(k, 9, 0, false, (double[]){ 3, 0, 0 }, (double[]){ 0, 2, -3 });
  known_end(k++);

  /* circular cones: a direction that no box has */
  known_start(k, "a cone that slides", 3, cone, known_contacts);
  known_contact(k, 0, 0.5, true, (double[]){ 10, 3, -4 }, (double[]){ 0, -1.5, 2 });
  known_end(k++);
  known_start(k, "a cone that sticks", 3, cone, known_contacts);
  known_contact(k, 0, 0.5, true, (double[]){ 10, 3, -3.5 }, (double[]){ 0, 0, 0 });
  known_end(k++);
  known_start(k, "three cones: slide, stick, open", 9, cone, known_contacts);
  known_contact(k, 0, 0.25, true, (double[]){ 20, -4, -3 }, (double[]){ 0, 2, 1.5 });
  known_contact(k, 3, 1, true, (double[]){ 2, 1, 1 }, (double[]){ 0, 0, 0 });
  known_contact(k, 6, 0.5, true, (double[]){ 0, 0, 0 }, (double[]){ 1, 1, 2 });
  known_end(k++);

  /* A other than its transpose */
  known_start(k, "3 rows of a lopsided matrix", 3, lopsided, known_lopsided);
  known_plain(k++, (double[]){ 1, 3, -2 });
  known_start(k, "12 rows of a lopsided matrix", 12, lopsided, known_lopsided);
  known_plain(k++, (double[]){ 1, 3, -2, 2, 1, 0.5, -1, -3, 4, 2, 6, -5 });
  known_start(k, "3 rows with positive minors only", 3, lopsided, known_minors);
  k->pivots = true;
  known_plain(k++, (double[]){ 2, -1, 3 });
  known_start(k, "6 rows with positive minors only", 6, lopsided, known_minors);
  k->pivots = true;
  known_plain(k++, (double[]){ 2, -1, 3, 1, -4, 0.5 });
  known_start(k, "5 rows, more skew than symmetric", 5, lopsided, known_skew);
  k->pivots = true;
  known_plain(k++, (double[]){ 1, -2, 3, 2, -1 });

  /* rank-deficient */
  known_start(k, "a table on four legs", 4, loose, known_table);
  k->only_w = true;
  known_plain(k++, (double[]){ 1, 2, 3, 4 });
  known_start(k, "12 rows of rank 5", 12, loose, known_rank5);
  k->only_w = true;
  known_plain(k++, (double[]){ 1, 3, -2, 2, 1, 0.5, -1, -3, 4, 2, 6, -5 });
  return (int)(k - list);
}

static inline perp_lcp known_problem(const known *k)
{
  return (perp_lcp){ .n = k->n,
                     .A = k->A,
                     .lda = k->n,
                     .b = k->b,
                     .lo = k->lo,
                     .hi = k->hi,
                     .fric_of = k->asks & (PERP_LCP_FRICTION | PERP_LCP_CONE) ? k->fric_of : NULL,
                     .mu = k->mu,
                     .cone = k->asks & PERP_LCP_CONE ? k->cone : NULL,
                     .tol = 1e-10 };
}

/* ---- a factored one: A = J M^-1 J' + S of two bodies ---- */

enum { KNOWN_FACTORED = 4 };
typedef struct known_factors {
  int bptr[3], mptr[3], cptr[4], jptr[4], jblk[4], joff[5], jgrp[4], tptr[3], tsub[4];
  double M[8], Minv[8], J[14], s[KNOWN_FACTORED];
  perp_blocks F;
} known_factors;

/* A wheel of mass 2 (two coordinates) on the ground and a block of masses 4 and 0.5 on it; the
 * third group, of two rows, holds the block alone. */
static inline void known_factored(known_factors *f, known *k)
{
  *f = (known_factors){
    .bptr = { 0, 2, 4 },
    .mptr = { 0, 4, 8 },
    .cptr = { 0, 1, 2, 4 },
    .jptr = { 0, 1, 3, 4 },
    .jblk = { 0, 0, 1, 1 },
    .joff = { 0, 2, 4, 6, 10 },
    .M = { 2, 0, 0, 2, 4, 0, 0, 0.5 },
    .Minv = { 0.5, 0, 0, 0.5, 0.25, 0, 0, 2 },
    .J = { 1, 0, -1, 0.5, 1, 0.25, 1, -1, 0.5, 1 },
    .s = { 0.25, 0, 0.5, 0 },
  };
  perp_blocks_transpose(2, 3, f->jptr, f->jblk, f->jgrp, f->tptr, f->tsub);
  f->F = (perp_blocks){ .nv = 4,
                        .m = KNOWN_FACTORED,
                        .nb = 2,
                        .nc = 3,
                        .bptr = f->bptr,
                        .mptr = f->mptr,
                        .cptr = f->cptr,
                        .jptr = f->jptr,
                        .jblk = f->jblk,
                        .joff = f->joff,
                        .jgrp = f->jgrp,
                        .tptr = f->tptr,
                        .tsub = f->tsub,
                        .M = f->M,
                        .Minv = f->Minv,
                        .J = f->J,
                        .s = f->s };
  double scratch[32];
  known_start(k, "4 factored rows", KNOWN_FACTORED, PERP_LCP_FACTORED, known_spd);
  perp_blocks_delassus(&f->F, k->A, k->n, scratch);
  known_plain(k, (double[]){ 3, 2, -1, 4 });
}

/* ---- a sparse one ---- */

enum { KNOWN_SPARSE = 5, KNOWN_NUMBERS = 9 };
typedef struct known_columns {
  int start[KNOWN_SPARSE + 1], row[KNOWN_NUMBERS], rstart[KNOWN_SPARSE + 1], col[KNOWN_NUMBERS];
  double value[KNOWN_NUMBERS], rvalue[KNOWN_NUMBERS];
  perp_columns C;
} known_columns;

static inline void known_sparse(known_columns *f, known *k)
{
  *f = (known_columns){ .start = { 0, 2, 4, 6, 8, 9 },
                        .row = { 0, 3, 1, 2, 1, 2, 0, 3, 4 },
                        .value = { 4, -1, 3, 0.5, 0.5, 2, -1, 5, 0.25 } };
  perp_columns_turn(KNOWN_SPARSE, f->start, f->row, f->value, f->rstart, f->col, f->rvalue);
  f->C = (perp_columns){ KNOWN_SPARSE, f->start, f->row, f->value, f->rstart, f->col, f->rvalue };
  known_start(k, "5 sparse rows", KNOWN_SPARSE, PERP_LCP_SPARSE, known_spd);
  perp_columns_form(&f->C, k->A, k->n);
  known_plain(k, (double[]){ 3, 2, -1, 4, 2 });
}

#endif
