/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/orthogonal.h"

#include <lapacke.h>

/* A row is dependent where the part of it that is orthogonal to the rows before it is below this
 * part of its length: rounding leaves 1e-15 times the condition of the others. */
static const double DEPENDENT = 1e-10;

kkt_orthogonal perp_kkt_orthogonal_of(const perp_blocks *blocks)
{
  const int rows = blocks->nv + blocks->m;
  return (
      kkt_orthogonal){ .nv = blocks->nv, .m = blocks->m, .rows = rows, .lwork = 64 * (rows + 1) };
}

void perp_kkt_orthogonal_layout(kkt_orthogonal *work, perp_arena *arena)
{
  work->B = PERP_CARVE(arena, double, (size_t)work->rows *(size_t)work->m);
  PERP_DOUBLES(arena, work->m, &work->tau, &work->tz, &work->unit, &work->x);
  work->work = PERP_CARVE(arena, double, work->lwork);
  work->y = PERP_CARVE(arena, double, work->rows);
  work->pivot = PERP_CARVE(arena, int, work->m);
}

void perp_kkt_orthogonal_fill(kkt_orthogonal *work, const perp_blocks *blocks)
{
  bool soft = false;
  for (int i = 0; blocks->s != NULL && i < work->m; i++) soft |= blocks->s[i] > 0;
  work->n = soft ? work->rows : work->nv;
  const size_t n = (size_t)work->n;
  memset(work->B, 0, n * (size_t)work->m * sizeof *work->B);
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      const int row = blocks->cptr[g], r = blocks->cptr[g + 1] - row;
      const double *J = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++)
          work->B[(size_t)(col + j) + (size_t)(row + i) * n] = J[i + j * r];
    }
  for (int i = 0; soft && i < work->m; i++)
    work->B[(size_t)(work->nv + i) + (size_t)i * n] = sqrt(blocks->s[i]);
}

bool perp_kkt_orthogonal_factor(kkt_orthogonal *work)
{
  const int n = work->n, m = work->m, most = n < m ? n : m;
  for (int j = 0; j < m; j++) {
    double *column = work->B + (size_t)j * (size_t)n, size = 0, sum = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(column[i]));
    for (int i = 0; size > 0 && i < n; i++) sum += (column[i] / size) * (column[i] / size);
    work->unit[j] = size > 0 ? 1 / (size * sqrt(sum)) : 1;
    for (int i = 0; i < n; i++) column[i] *= work->unit[j];
    work->pivot[j] = 0;
  }
  work->rank = 0;
  if (most == 0) return true;
  if (LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, n, m, work->B, n, work->pivot, work->tau, work->work,
                          work->lwork) != 0)
    return false;
  while (work->rank < most && fabs(work->B[(size_t)work->rank * ((size_t)n + 1)]) > DEPENDENT)
    work->rank++;
  return work->rank == 0 || LAPACKE_dtzrzf_work(LAPACK_COL_MAJOR, work->rank, m, work->B, n,
                                                work->tz, work->work, work->lwork) == 0;
}

/* x [m] <- W' x or W x */
static void orthogonal_W(kkt_orthogonal *work, char trans, double *x)
{
  if (work->rank > 0 && work->rank < work->m)
    LAPACKE_dormrz_work(LAPACK_COL_MAJOR, 'L', trans, work->m, 1, work->rank, work->m - work->rank,
                        work->B, work->n, work->tz, x, work->m, work->work, work->lwork);
}

void perp_kkt_orthogonal_rows(kkt_orthogonal *work, const double *c, double *z)
{
  for (int j = 0; j < work->m; j++) {
    const int i = work->pivot[j] - 1;
    work->x[j] = work->rank > 0 ? work->unit[i] * c[i] : 0;
  }
  orthogonal_W(work, 'N', work->x);
  if (work->rank > 0)
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'T', 'N', work->rank, 1, work->B, work->n, work->x,
                        work->m);
  memcpy(z, work->x, (size_t)work->rank * sizeof *z);
}

void perp_kkt_orthogonal_multipliers(kkt_orthogonal *work, const double *z, double *lambda)
{
  memset(work->x, 0, (size_t)work->m * sizeof *work->x);
  memcpy(work->x, z, (size_t)work->rank * sizeof *z);
  if (work->rank > 0)
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', work->rank, 1, work->B, work->n, work->x,
                        work->m);
  orthogonal_W(work, 'T', work->x);
  for (int j = 0; j < work->m; j++) lambda[work->rank > 0 ? work->pivot[j] - 1 : j] = 0;
  for (int j = 0; j < work->m && work->rank > 0; j++)
    lambda[work->pivot[j] - 1] = work->unit[work->pivot[j] - 1] * work->x[j];
}

void perp_kkt_orthogonal_Q(kkt_orthogonal *work, bool transposed, int columns, double *x)
{
  const int most = work->n < work->m ? work->n : work->m;
  if (most > 0 && columns > 0)
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', work->n, columns, most,
                        work->B, work->n, work->tau, x, work->n, work->work, work->lwork);
}
