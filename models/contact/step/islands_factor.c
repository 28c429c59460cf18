/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complete orthogonal factorization of square matrices that may be singular,
 *
 *      A P = Q [ T 0 ] Z,   T upper triangular of the rank of A,   A^+ c = P Z' [ T^-1 (Q' c)_1 ]
 *              [ 0 0 ]                                                        [      0       ]
 *
 * (LAPACK's dgeqp3 and dtzrzf, as in its dgelsy), kept for later: the equations of contacts whose
 * modes do not change have nearly the same matrix for many evaluations (islands_frozen.c).  Those
 * of the four islands used last are known; smaller ones than KEPT rows are not kept. */
#include "models/contact/step/islands_factor.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

static const double DEPENDS = 1e-11; /* of the largest pivot */
enum { KEPT = 24 };

static void factor_layout(void *ws, perp_arena *a)
{
  perp_island_factors *s = ws;
  const size_t n = (size_t)s->cap;
  s->b = PERP_CARVE(a, double, 4 * n);
  s->work = PERP_CARVE(a, double, s->lwork);
  PERP_INTS(a, n, &s->row);
  for (int i = 0; i < PERP_ISLAND_FACTORS; i++) {
    island_factor *f = &s->factor[i];
    f->A = PERP_CARVE(a, double, n *n);
    PERP_DOUBLES(a, n, &f->tau_q, &f->tau_z);
    PERP_INTS(a, n, &f->pivot);
    f->n = 0;
  }
}

perp_status perp_island_factors_room(perp_ctx *ctx, perp_island_factors *s, int rows)
{
  if (rows <= s->cap) return PERP_OK;
  s->cap = rows + rows / 4 + 8;
  s->lwork = 34 * s->cap + 64; /* blocks of 32 rows */
  const perp_status status = perp_arena_layout(ctx, &s->grown, factor_layout, s);
  if (status != PERP_OK) s->cap = 0;
  return status;
}

void perp_island_factors_forget(perp_island_factors *s)
{
  /* the room too: what it loses when it grows is then the same each time */
  perp_arena_free(&s->grown);
  s->cap = 0;
  for (int i = 0; i < PERP_ISLAND_FACTORS; i++) s->factor[i].n = 0;
}

island_factor *perp_island_factors_find(perp_island_factors *s, uint64_t key, int n)
{
  for (int i = 0; i < PERP_ISLAND_FACTORS && n >= KEPT; i++) {
    island_factor *f = &s->factor[i];
    if (f->n != n || f->key != key) continue;
    f->used = s->call;
    return f;
  }
  return NULL;
}

island_factor *perp_island_factors_take(perp_island_factors *s, uint64_t key, int n)
{
  island_factor *f = &s->factor[0]; /* of what is not kept */
  for (int i = 1; i < PERP_ISLAND_FACTORS && n >= KEPT; i++) {
    island_factor *other = &s->factor[i];
    if (f == s->factor || other->n == 0 || (f->n > 0 && other->used < f->used)) f = other;
    if (other->n != n || other->key != key) continue;
    f = other;
    break;
  }
  f->key = key;
  f->n = n;
  f->used = s->call;
  return f;
}

bool perp_island_factors_make(perp_island_factors *s, island_factor *f)
{
  const int n = f->n;
  f->n = 0; /* until it holds */
  memset(f->pivot, 0, (size_t)n * sizeof *f->pivot);
  if (LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, n, n, f->A, n, f->pivot, f->tau_q, s->work, s->lwork) !=
      0)
    return false;
  f->rank = 0;
  while (f->rank < n && fabs(f->A[(size_t)f->rank * (size_t)(n + 1)]) > DEPENDS * fabs(f->A[0]))
    f->rank++;
  if (f->rank > 0 && f->rank < n &&
      LAPACKE_dtzrzf_work(LAPACK_COL_MAJOR, f->rank, n, f->A, n, f->tau_z, s->work, s->lwork) != 0)
    return false;
  f->n = n;
  return true;
}

void perp_island_factors_solve(perp_island_factors *s, const island_factor *f, double *c)
{
  const int n = f->n, rank = f->rank;
  double *y = s->work;
  memcpy(y, c, (size_t)n * sizeof *y);
  /* one column: no blocks of reflectors are worth it, and lwork = 1 asks for none */
  double work[1];
  LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', n, 1, rank, f->A, n, f->tau_q, y, n, work, 1);
  if (rank > 0) LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', rank, 1, f->A, n, y, n);
  memset(y + rank, 0, (size_t)(n - rank) * sizeof *y);
  if (rank > 0 && rank < n)
    LAPACKE_dormrz_work(LAPACK_COL_MAJOR, 'L', 'T', n, 1, rank, n - rank, f->A, n, f->tau_z, y, n,
                        work, 1);
  for (int z = 0; z < n; z++) c[f->pivot[z] - 1] = y[z];
}
