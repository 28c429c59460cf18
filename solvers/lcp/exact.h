/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear conditions of a problem in exact arithmetic: a dictionary of integers over one
 * denominator.
 *
 * Doubles are dyadic rationals, so rows and columns times powers of two give integers.  With
 * nonbasic variables y at 0,   d x_basic = D_0 + D y;   pivots keep all numbers integers (each is a
 * minor of the first matrix: Bareiss 1968, Edmonds 1967), so nothing is ever rounded.  Private
 * header. */
#ifndef PERP_LCP_EXACT_H
#define PERP_LCP_EXACT_H

#include "solvers/lcp/lcp.h"

#include <gmp.h>

enum perp_exact_kind {
  PERP_EXACT_FREE, /* any value */
  PERP_EXACT_UP,   /* >= 0 */
  PERP_EXACT_BOX,  /* 0 <= . <= U */
  PERP_EXACT_FIXED /* 0 */
};

typedef struct perp_exact_var {
  unsigned char kind;
  signed char sign; /* value in the dictionary = sign (original value) + constant */
  mpz_t U;          /* of a box */
  mpz_t origin;     /* original value where the dictionary has 0 */
} perp_exact_var;

typedef struct perp_exact {
  int m, k;           /* basic and nonbasic variables */
  mpz_t *D;           /* [m (k + 1)] by rows, constants first */
  mpz_t d;            /* > 0 */
  int *basic, *non;   /* [m], [k] variables; those from 0 to k - 1 were nonbasic to begin with */
  perp_exact_var *v;  /* [m + k] */
  long *row, *column; /* [m], [k + 1] exponents: first D = 2^(row + column) (the conditions) */
  int64_t work, budget;
  mpz_t s, t;
} perp_exact;

enum perp_exact_answer {
  PERP_EXACT_POSSIBLE,   /* the vertex at hand satisfies all conditions */
  PERP_EXACT_IMPOSSIBLE, /* no point does */
  PERP_EXACT_SPENT       /* the budget is used up */
};

/* Zeros.  Like GMP it ends the process when there is no memory: what it serves has no way back. */
void *perp_exact_alloc(int count, size_t size);

/* m basic and k nonbasic variables, all free, from R [m (k + 1)] (dyadic rationals, constants
 * first); upper [k] sets U where it is > 0.  Allocates. */
void perp_exact_new(perp_exact *exact, int m, int k, mpq_t *R, mpq_t *upper, int64_t budget);
void perp_exact_copy(const perp_exact *from, perp_exact *to);
void perp_exact_free(perp_exact *exact);

/* Conditions of variable v; both may be called at any vertex. */
void perp_exact_restrict(perp_exact *exact, int v, enum perp_exact_kind kind);
/* v -> U - v (a box), v -> -v (others) */
void perp_exact_reflect(perp_exact *exact, int v);

/* Basic row r against nonbasic column c (from 1), whose entry is not zero. */
void perp_exact_pivot(perp_exact *exact, int r, int c);
/* Least-index criss-cross (Fukuda and Terlaky 1997).  *row: the basic row that shows that it is
 * impossible. */
enum perp_exact_answer perp_exact_decide(perp_exact *exact, int *row);

/* The value of v as rational (original sign and origin, in units of the dictionary). */
void perp_exact_value(const perp_exact *exact, int v, mpq_t out);

#endif
