/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors of the equations of frozen contacts, kept from solve to solve. */
#ifndef PERP_ISLANDS_FACTOR_H
#define PERP_ISLANDS_FACTOR_H

#include "solvers/core/core.h"

enum { PERP_ISLAND_FACTORS = 5 }; /* the first one for what is not kept */

typedef struct island_factor {
  uint64_t key;
  int64_t used; /* in this call of perp_islands_solve */
  int n, rank;  /* n: 0 = none */
  double *A, *tau_q, *tau_z;
  int *pivot;
} island_factor;

/* Zeros before the first use. */
typedef struct perp_island_factors {
  int64_t call; /* of perp_islands_solve */
  int cap, lwork;
  double *b, *work; /* [4 cap], [lwork] */
  int *row;         /* [cap] */
  island_factor factor[PERP_ISLAND_FACTORS];
  perp_arena grown;
} perp_island_factors;

/* Room for matrices of so many rows, and b, work and row; factors are lost where that is more than
 * ever. */
perp_status perp_island_factors_room(perp_ctx *ctx, perp_island_factors *s, int rows);
/* Nothing is known, as before the first use. */
void perp_island_factors_forget(perp_island_factors *s);
/* Factors [n, n] made under this key, NULL: none. */
island_factor *perp_island_factors_find(perp_island_factors *s, uint64_t key, int n);
/* Where to make them: the caller writes A, perp_island_factors_make overwrites it. */
island_factor *perp_island_factors_take(perp_island_factors *s, uint64_t key, int n);
bool perp_island_factors_make(perp_island_factors *s, island_factor *f);
/* c [n] = A^+ c; overwrites work */
void perp_island_factors_solve(perp_island_factors *s, const island_factor *f, double *c);

#endif
