/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Islands in a mode that is given: what presses and what slides is known, and forces follow from linear equations.
 *
 * With F the rows whose accelerations are zero (the normal row of a contact that presses, the tangential rows of one that
 * sticks, unbounded rows) and x_t = -drag x_n where a contact slides,
 *
 *      (A x + b)_F = 0,     x_i as it is for rows with finite bounds, 0 for contacts that are open.
 *
 * So the forces, and accelerations, are smooth functions of the state, which the stages of a method of high order need;
 * complementarity is consulted at the ends of its step.  Where rows are redundant (four contacts of a box) F is
 * singular and the equations consistent: the answer is the one next to the guess, by complete orthogonal factorization
 * (LAPACK's dgelsy) of the rows scaled by sqrt(A_ii).  4/3 rows^3 flops, for islands of up to 600 rows; allocates only
 * when there are more rows than ever. */
#include "models/islands/islands_private.h"

#include <lapacke.h>
#include <string.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

static const double DEPENDS = 1e-11; /* of the largest pivot, of scaled rows */
enum { ROWS_MOST = 600 };            /* of an island: more cost too much */
static const double WEAK = 1e-3;     /* of A_ii, what friction leaves of it */
static const double LEFT =
    1e-6; /* of the largest |b|: more means that the rows contradict each other */

static void frozen_layout(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const size_t n = (size_t)s->cap_frozen;
  s->frozen_A = PERP_CARVE(a, double, n *n);
  s->frozen_b = PERP_CARVE(a, double, 3 * n);
  s->frozen_work = PERP_CARVE(a, double, s->lwork);
  PERP_INTS(a, n, &s->frozen_row, &s->frozen_pivot);
}

static perp_status frozen_reserve(perp_ctx *ctx, perp_islands *s, int rows)
{
  if (rows <= s->cap_frozen) return PERP_OK;
  s->cap_frozen = rows + rows / 2 + 8;
  s->lwork = 34 * s->cap_frozen + 64; /* blocks of 32 rows */
  const perp_status status = perp_arena_layout(ctx, &s->frozen_grown, frozen_layout, s);
  if (status != PERP_OK) s->cap_frozen = 0;
  return status;
}

/* The rows F of island i, and x of the others. */
static int frozen_rows(const perp_islands *s, const perp_island_task *task, int i, double *x)
{
  const island *p = &s->start[i];
  const int r = s->r, nc = islands_number(s, i, CONTACTS), further = islands_further(s, i);
  const size_t first = islands_first_further(s, i);
  int n = 0;
  for (int c = 0; c < nc; c++) {
    const int place = p->first[CONTACTS] + c, mode = task->frozen[s->order[place]];
    const double *drag = s->drag + 2 * (size_t)place;
    if (mode != PERP_FROZEN_OPEN) s->frozen_row[n++] = r * c;
    if (mode == PERP_FROZEN_OPEN) x[r * c] = 0;
    for (int q = 1; q < r; q++) {
      if (mode == PERP_FROZEN_STICKS)
        s->frozen_row[n++] = r * c + q;
      else
        x[r * c + q] = mode == PERP_FROZEN_SLIDES ? -drag[q - 1] * x[r * c] : 0;
    }
  }
  for (int j = 0; j < further; j++)
    if (s->row_lo[first + (size_t)j] == -HUGE_VAL && s->row_hi[first + (size_t)j] == HUGE_VAL)
      s->frozen_row[n++] = r * nc + j;
  return n;
}

/* column `row` of A into out [rows], friction of a sliding contact with its normal force */
static void frozen_column(const perp_islands *s, const perp_island_task *task, int i, int rows,
                          int row, double *out)
{
  const double *A = s->A + s->start[i].dense;
  const int r = s->r, c = row / r, nc = islands_number(s, i, CONTACTS);
  memcpy(out, A + (size_t)row * (size_t)rows, (size_t)rows * sizeof *out);
  if (c >= nc || row % r != 0) return;
  const int place = s->start[i].first[CONTACTS] + c;
  if (task->frozen[s->order[place]] != PERP_FROZEN_SLIDES) return;
  for (int q = 1; q < r; q++) {
    const double drag = s->drag[2 * place + q - 1], *column = A + (size_t)(row + q) * (size_t)rows;
    for (int y = 0; y < rows && drag != 0; y++) out[y] -= drag * column[y];
  }
}

static double frozen_scale(const double *diag, int row)
{
  return diag[row] > 0 ? 1 / sqrt(diag[row]) : 1;
}

/* B [n, n] = the columns F of A at the rows F, scaled.  False: friction that slides takes what the normal force gives
 * (Painleve); the equations are then no answer. */
static bool frozen_matrix(perp_islands *s, const perp_island_task *task, int i, int rows, int n,
                          const double *diag)
{
  const int *F = s->frozen_row, normal = s->r * islands_number(s, i, CONTACTS);
  double *column = s->frozen_b + s->cap_frozen;
  for (int z = 0; z < n; z++) {
    frozen_column(s, task, i, rows, F[z], column);
    if (F[z] < normal && !(column[F[z]] > WEAK * diag[F[z]]) && diag[F[z]] > 0) return false;
    for (int y = 0; y < n; y++)
      s->frozen_A[(size_t)z * (size_t)n + (size_t)y] = column[F[y]] * frozen_scale(diag, F[z]) *
                                                       frozen_scale(diag, F[y]);
  }
  return true;
}

static bool frozen_solve(perp_islands *s, perp_constrained *k, perp_island_task *task, int i)
{
  const int r = s->r, nc = islands_number(s, i, CONTACTS), rows = r * nc + islands_further(s, i);
  const size_t first = islands_first_row(s, i);
  const double *A = s->A + s->start[i].dense, *b = s->b + first, *diag = s->diagonal + first;
  double *x = s->x + first, most = 0, left = 0;
  if (rows > ROWS_MOST) return false;
  k->status = frozen_reserve(k->ctx, s, rows);
  if (k->status != PERP_OK) return false;
  double *dx = s->frozen_b, *column = dx + s->cap_frozen, *w = column + s->cap_frozen;
  const int n = frozen_rows(s, task, i, x), *F = s->frozen_row;
  if (!frozen_matrix(s, task, i, rows, n, diag)) return false;
  memcpy(w, b, (size_t)rows * sizeof *w);
  for (int z = 0; z < rows; z++)
    for (int y = 0; y < rows && x[z] != 0; y++)
      w[y] += A[(size_t)z * (size_t)rows + (size_t)y] * x[z];
  for (int y = 0; y < n; y++) {
    dx[y] = -frozen_scale(diag, F[y]) * w[F[y]];
    most = fmax(most, fmax(fabs(frozen_scale(diag, F[y]) * b[F[y]]), fabs(dx[y])));
  }
  int rank = 0;
  memset(s->frozen_pivot, 0, (size_t)n * sizeof *s->frozen_pivot);
  if (n > 0 && LAPACKE_dgelsy_work(LAPACK_COL_MAJOR, n, n, 1, s->frozen_A, n, dx, n,
                                   s->frozen_pivot, DEPENDS, &rank, s->frozen_work, s->lwork) != 0)
    return false;
  task->redundant |= rank < n;
  for (int z = 0; z < n; z++) {
    const double d = dx[z] * frozen_scale(diag, F[z]);
    const int c = F[z] / r;
    if (!isfinite(d)) return false;
    frozen_column(s, task, i, rows, F[z], column);
    for (int y = 0; y < rows; y++) w[y] += column[y] * d;
    x[F[z]] += d;
    if (c >= nc || F[z] % r != 0) continue;
    const int place = s->start[i].first[CONTACTS] + c;
    for (int q = 1; q < r && task->frozen[s->order[place]] == PERP_FROZEN_SLIDES; q++)
      x[F[z] + q] = -s->drag[2 * place + q - 1] * x[F[z]];
  }
  for (int y = 0; y < n; y++) left = fmax(left, fabs(w[F[y]]) * frozen_scale(diag, F[y]));
  return left <= LEFT * most;
}

bool perp_islands_freeze(perp_islands *s, perp_constrained *k, perp_island_task *task)
{
  task->redundant = false;
  for (int i = 0; i < s->n_islands; i++) {
    if (!frozen_solve(s, k, task, i)) return false;
    const island *p = &s->start[i];
    const int bounded = islands_number(s, i, BOUNDED);
    const double *last = s->x + islands_first_row(s, i + 1) - bounded;
    for (int j = 0; j < bounded; j++) task->row[s->bounded[p->first[BOUNDED] + j]].lambda = last[j];
  }
  return true;
}
