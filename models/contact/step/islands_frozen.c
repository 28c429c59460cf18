/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Islands in a mode that is given: what presses and what slides is known, and forces follow from
 * linear equations.
 *
 * With F the rows whose accelerations are zero (the normal row of a contact that presses, the
 * tangential rows of one that sticks, unbounded rows) and x_t = -drag x_n where a contact slides,
 *
 *      (A x + b)_F = 0,     x_i as it is for rows with finite bounds, 0 for contacts that are open.
 *
 * So the forces, and accelerations, are smooth functions of the state, which the stages of a method
 * of high order need; complementarity is consulted at the ends of its step.  Where rows are
 * redundant (four contacts of a box) F is singular and the equations consistent: the answer is the
 * one next to the guess, by complete orthogonal factorization of the rows scaled
 * by sqrt(A_ii).
 *
 * A changes little from one evaluation to the next: with the factors of an earlier one, A0, the
 * equations are solved by refinement, dx += A0^+ (c - A dx), and factorized anew only where that
 * does not take the residual to rounding. 4/3 rows^3 flops at worst, 6 rows^2 for each pass with
 * factors that are known; for islands of up to 600 rows; allocates only when there are more rows
 * than ever. */
#include "models/contact/step/islands_problem.h"

#include <lapacke.h>
#include <string.h>

enum { ROWS_MOST = 600 };        /* of an island: more cost too much */
static const double WEAK = 1e-3; /* of A_ii, what friction leaves of it */
static const double LEFT =
    1e-6; /* of the largest |b|: more means that the rows contradict each other */
static const double EXACT = 1e-15,
                    GOOD =
                        1e-13; /* of it: no more is asked for; what known factors have to reach */
enum { PASSES = 12 };          /* of refinement */

/* ---- factors ---- */

/* Complete orthogonal factorization of square matrices that may be singular,
 *
 *      A P = Q [ T 0 ] Z,   T upper triangular of the rank of A,   A^+ c = P Z' [ T^-1 (Q' c)_1 ]
 *              [ 0 0 ]                                                        [      0       ]
 *
 * (LAPACK's dgeqp3 and dtzrzf, as in its dgelsy), kept for later: the equations of contacts whose
 * modes do not change have nearly the same matrix for many evaluations .  Those
 * of the four islands used last are known; smaller ones than KEPT rows are not kept. */

_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

static const double DEPENDS = 1e-11; /* of the largest pivot */
enum { KEPT = 24 };

static void frozen_factor_layout(void *ws, perp_arena *arena)
{
  perp_island_factors *factors = ws;
  const size_t n = (size_t)factors->cap;
  factors->b = PERP_CARVE(arena, double, 4 * n);
  factors->work = PERP_CARVE(arena, double, factors->lwork);
  PERP_INTS(arena, n, &factors->row);
  for (int i = 0; i < PERP_ISLAND_FACTORS; i++) {
    island_factor *factor = &factors->factor[i];
    factor->A = PERP_CARVE(arena, double, n *n);
    PERP_DOUBLES(arena, n, &factor->tau_q, &factor->tau_z);
    PERP_INTS(arena, n, &factor->pivot);
    factor->n = 0;
  }
}

/* Room for matrices of so many rows, and b, work and row; factors are lost where that is more than
 * ever. */
static perp_status frozen_factor_room(perp_ctx *ctx, perp_island_factors *factors, int rows)
{
  if (rows <= factors->cap) return PERP_OK;
  factors->cap = rows + rows / 4 + 8;
  factors->lwork = 34 * factors->cap + 64; /* blocks of 32 rows */
  const perp_status status = perp_arena_layout(ctx, &factors->grown, frozen_factor_layout, factors);
  if (status != PERP_OK) factors->cap = 0;
  return status;
}

void perp_islands_forget(perp_islands *islands)
{
  perp_island_factors *factors = &islands->factors;
  /* the room too: what it loses when it grows is then the same each time */
  perp_arena_free(&factors->grown);
  factors->cap = 0;
  for (int i = 0; i < PERP_ISLAND_FACTORS; i++) factors->factor[i].n = 0;
}

/* Factors [n, n] made under this key, NULL: none. */
static island_factor *frozen_factor_find(perp_island_factors *factors, uint64_t key, int n)
{
  for (int i = 0; i < PERP_ISLAND_FACTORS && n >= KEPT; i++) {
    island_factor *factor = &factors->factor[i];
    if (factor->n != n || factor->key != key) continue;
    factor->used = factors->call;
    return factor;
  }
  return NULL;
}

/* Where to make them: the caller writes A, perp_island_factors_make overwrites it. */
static island_factor *frozen_factor_take(perp_island_factors *factors, uint64_t key, int n)
{
  island_factor *factor = &factors->factor[0]; /* of what is not kept */
  for (int i = 1; i < PERP_ISLAND_FACTORS && n >= KEPT; i++) {
    island_factor *other = &factors->factor[i];
    if (factor == factors->factor || other->n == 0 || (factor->n > 0 && other->used < factor->used))
      factor = other;
    if (other->n != n || other->key != key) continue;
    factor = other;
    break;
  }
  factor->key = key;
  factor->n = n;
  factor->used = factors->call;
  return factor;
}

static bool frozen_factor_make(perp_island_factors *factors, island_factor *factor)
{
  const int n = factor->n;
  factor->n = 0; /* until it holds */
  memset(factor->pivot, 0, (size_t)n * sizeof *factor->pivot);
  if (LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, n, n, factor->A, n, factor->pivot, factor->tau_q,
                          factors->work, factors->lwork) != 0)
    return false;
  factor->rank = 0;
  while (factor->rank < n &&
         fabs(factor->A[(size_t)factor->rank * (size_t)(n + 1)]) > DEPENDS * fabs(factor->A[0]))
    factor->rank++;
  if (factor->rank > 0 && factor->rank < n &&
      LAPACKE_dtzrzf_work(LAPACK_COL_MAJOR, factor->rank, n, factor->A, n, factor->tau_z,
                          factors->work, factors->lwork) != 0)
    return false;
  factor->n = n;
  return true;
}

/* c [n] = A^+ c; overwrites work */
static void frozen_factor_solve(perp_island_factors *factors, const island_factor *factor,
                                double *c)
{
  const int n = factor->n, rank = factor->rank;
  double *y = factors->work;
  memcpy(y, c, (size_t)n * sizeof *y);
  /* one column: no blocks of reflectors are worth it, and lwork = 1 asks for none */
  double work[1];
  LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', n, 1, rank, factor->A, n, factor->tau_q, y, n,
                      work, 1);
  if (rank > 0) LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', rank, 1, factor->A, n, y, n);
  memset(y + rank, 0, (size_t)(n - rank) * sizeof *y);
  if (rank > 0 && rank < n)
    LAPACKE_dormrz_work(LAPACK_COL_MAJOR, 'L', 'T', n, 1, rank, n - rank, factor->A, n,
                        factor->tau_z, y, n, work, 1);
  for (int z = 0; z < n; z++) c[factor->pivot[z] - 1] = y[z];
}

/* ---- equations ---- */

/* The rows F of island i, and x of the others. */
static int frozen_rows(const perp_islands *islands, const perp_island_task *task, int i, double *x)
{
  const island *p = &islands->start[i];
  const int r = islands->r, nc = islands_number(islands, i, CONTACTS),
            further = islands_further(islands, i);
  const size_t first = islands_first_further(islands, i);
  int n = 0;
  for (int c = 0; c < nc; c++) {
    const int place = p->first[CONTACTS] + c, mode = task->frozen[islands->contact.order[place]];
    const double *drag = islands->contact.drag + 2 * (size_t)place;
    if (mode != PERP_FROZEN_OPEN) islands->factors.row[n++] = r * c;
    if (mode == PERP_FROZEN_OPEN) x[r * c] = 0;
    for (int q = 1; q < r; q++) {
      if (mode == PERP_FROZEN_STICKS)
        islands->factors.row[n++] = r * c + q;
      else
        x[r * c + q] = mode == PERP_FROZEN_SLIDES ? -drag[q - 1] * x[r * c] : 0;
    }
  }
  for (int j = 0; j < further; j++)
    if (islands->row.lo[first + (size_t)j] == -HUGE_VAL &&
        islands->row.hi[first + (size_t)j] == HUGE_VAL)
      islands->factors.row[n++] = r * nc + j;
  return n;
}

/* column `row` of A into out [rows], friction of a sliding contact with its normal force */
static void frozen_column(const perp_islands *islands, const perp_island_task *task, int i,
                          int rows, int row, double *out)
{
  const double *A = islands->A + islands->start[i].dense;
  const int r = islands->r, c = row / r, nc = islands_number(islands, i, CONTACTS);
  memcpy(out, A + (size_t)row * (size_t)rows, (size_t)rows * sizeof *out);
  if (c >= nc || row % r != 0) return;
  const int place = islands->start[i].first[CONTACTS] + c;
  if (task->frozen[islands->contact.order[place]] != PERP_FROZEN_SLIDES) return;
  for (int q = 1; q < r; q++) {
    const double drag = islands->contact.drag[2 * place + q - 1],
                 *column = A + (size_t)(row + q) * (size_t)rows;
    for (int y = 0; y < rows && drag != 0; y++) out[y] -= drag * column[y];
  }
}

static double frozen_scale(const double *diag, int row)
{
  return diag[row] > 0 ? 1 / sqrt(diag[row]) : 1;
}

/* False: friction that slides takes what the normal force gives (Painleve); the equations are then
 * no answer. */
static bool frozen_sound(const perp_islands *islands, const perp_island_task *task, int i, int rows)
{
  const int r = islands->r, nc = islands_number(islands, i, CONTACTS);
  const double *A = islands->A + islands->start[i].dense,
               *diag = islands->row.diagonal + islands_first_row(islands, i);
  for (int c = 0; c < nc; c++) {
    const int place = islands->start[i].first[CONTACTS] + c, row = r * c;
    if (task->frozen[islands->contact.order[place]] != PERP_FROZEN_SLIDES) continue;
    double left = diag[row];
    for (int q = 1; q < r; q++)
      left -= islands->contact.drag[2 * place + q - 1] *
              A[(size_t)(row + q) * (size_t)rows + (size_t)row];
    if (!(left > WEAK * diag[row]) && diag[row] > 0) return false;
  }
  return true;
}

/* B [n, n] = the columns F of A at the rows F, scaled. */
static void frozen_matrix(const perp_islands *islands, const perp_island_task *task, int i,
                          int rows, int n, double *column, double *B)
{
  const int *F = islands->factors.row;
  const double *diag = islands->row.diagonal + islands_first_row(islands, i);
  for (int z = 0; z < n; z++) {
    frozen_column(islands, task, i, rows, F[z], column);
    for (int y = 0; y < n; y++)
      B[(size_t)z * (size_t)n + (size_t)y] = column[F[y]] * frozen_scale(diag, F[z]) *
                                             frozen_scale(diag, F[y]);
  }
}

/* x_F += D d and w = A x + b with it, D the scales. */
static void frozen_add(perp_islands *islands, const perp_island_task *task, int i, int rows, int n,
                       const double *d, double *column, double *w)
{
  const int r = islands->r, nc = islands_number(islands, i, CONTACTS), *F = islands->factors.row;
  double *x = islands->row.x + islands_first_row(islands, i);
  const double *diag = islands->row.diagonal + islands_first_row(islands, i);
  for (int z = 0; z < n; z++) {
    const double step = d[z] * frozen_scale(diag, F[z]);
    const int c = F[z] / r;
    if (step == 0) continue;
    frozen_column(islands, task, i, rows, F[z], column);
    for (int y = 0; y < rows; y++) w[y] += column[y] * step;
    x[F[z]] += step;
    if (c >= nc || F[z] % r != 0) continue;
    const int place = islands->start[i].first[CONTACTS] + c;
    for (int q = 1; q < r && task->frozen[islands->contact.order[place]] == PERP_FROZEN_SLIDES; q++)
      x[F[z] + q] = -islands->contact.drag[2 * place + q - 1] * x[F[z]];
  }
}

/* c = -D w_F; the largest */
static double frozen_left(const perp_islands *islands, int n, const double *diag, const double *w,
                          double *c)
{
  double left = 0;
  for (int y = 0; y < n; y++) {
    c[y] = -frozen_scale(diag, islands->factors.row[y]) * w[islands->factors.row[y]];
    left = fmax(left, fabs(c[y]));
  }
  return left;
}

/* x refined with the factors f, from w = A x + b; what is left, over the largest |b|. */
static double frozen_refine(perp_islands *islands, const perp_island_task *task, int i, int rows,
                            int n, island_factor *f, double most, double *w, double *c,
                            double *column)
{
  const double *diag = islands->row.diagonal + islands_first_row(islands, i);
  double left = frozen_left(islands, n, diag, w, c), last = HUGE_VAL;
  for (int pass = 0; pass < PASSES && left > EXACT * most && left < 0.5 * last; pass++) {
    last = left;
    frozen_factor_solve(&islands->factors, f, c);
    frozen_add(islands, task, i, rows, n, c, column, w);
    left = frozen_left(islands, n, diag, w, c);
  }
  return isfinite(left) ? left / most : HUGE_VAL;
}

/* What the factors of an island are known by: its first body, its contacts and what they do. */
static uint64_t frozen_key(const perp_islands *islands, const perp_island_task *task, int i)
{
  uint64_t key = (uint64_t)islands->body.order[islands->start[i].first[BODIES]] + 1;
  for (int place = islands->start[i].first[CONTACTS]; place < islands->start[i + 1].first[CONTACTS];
       place++) {
    const int at = islands->contact.order[place];
    key = (key ^ task->contact[at].id ^ (uint64_t)task->frozen[at] << 61) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
  return key;
}

static bool frozen_solve(perp_islands *islands, perp_constrained *system, perp_island_task *task,
                         int i)
{
  const int r = islands->r,
            rows = r * islands_number(islands, i, CONTACTS) + islands_further(islands, i);
  const size_t first = islands_first_row(islands, i);
  const double *A = islands->A + islands->start[i].dense, *b = islands->row.b + first,
               *diag = islands->row.diagonal + first;
  double *x = islands->row.x + first, most = 0;
  if (rows > ROWS_MOST) return false;
  system->status = frozen_factor_room(system->ctx, &islands->factors, rows);
  if (system->status != PERP_OK) return false;
  double *c = islands->factors.b, *column = c + islands->factors.cap,
         *w = column + islands->factors.cap, *guess = w + islands->factors.cap;
  const int n = frozen_rows(islands, task, i, x), *F = islands->factors.row;
  if (n == 0) return true;
  if (!frozen_sound(islands, task, i, rows)) return false;
  memcpy(guess, x, (size_t)rows * sizeof *x);
  const uint64_t key = frozen_key(islands, task, i);
  island_factor *factor = frozen_factor_find(&islands->factors, key, n);
  for (bool fresh = factor == NULL;; fresh = true) {
    memcpy(x, guess, (size_t)rows * sizeof *x);
    memcpy(w, b, (size_t)rows * sizeof *w);
    for (int z = 0; z < rows; z++)
      for (int y = 0; y < rows && x[z] != 0; y++)
        w[y] += A[(size_t)z * (size_t)rows + (size_t)y] * x[z];
    most = frozen_left(islands, n, diag, w, c);
    for (int y = 0; y < n; y++) most = fmax(most, fabs(frozen_scale(diag, F[y]) * b[F[y]]));
    if (fresh) {
      factor = frozen_factor_take(&islands->factors, key, n);
      frozen_matrix(islands, task, i, rows, n, column, factor->A);
      if (!frozen_factor_make(&islands->factors, factor)) return false;
    }
    const double left = frozen_refine(islands, task, i, rows, n, factor, most, w, c, column);
    if (!fresh && !(left <= GOOD)) continue;
    task->redundant |= factor->rank < n;
    return left <= LEFT;
  }
}

bool perp_islands_freeze(perp_islands *islands, perp_constrained *system, perp_island_task *task)
{
  task->redundant = false;
  for (int i = 0; i < islands->n_islands; i++) {
    if (!frozen_solve(islands, system, task, i)) return false;
    const island *p = &islands->start[i];
    const int bounded = islands_number(islands, i, BOUNDED);
    const double *last = islands->row.x + islands_first_row(islands, i + 1) - bounded;
    for (int j = 0; j < bounded; j++)
      task->row[islands->bounded[p->first[BOUNDED] + j]].lambda = last[j];
  }
  return true;
}
