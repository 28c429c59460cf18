/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/orthogonal.h"

#include <lapacke.h>

const perp_opt perp_kkt_orthogonal_options[] = {
  PERP_REAL(kkt_orthogonal_opts, rank_tol, 1e-10, 0, 0.5, PERP_OPEN_MIN, "",
            "Rank tolerance: a row is dependent if the part of it that is orthogonal to the rows "
            "before it is below this fraction of its length."),
  PERP_OPTIONS_END
};

kkt_orthogonal perp_kkt_orthogonal_of(const perp_blocks *blocks)
{
  const int rows = blocks->nv + blocks->m;
  return (
      kkt_orthogonal){ .nv = blocks->nv, .m = blocks->m, .rows = rows, .lwork = 64 * (rows + 1) };
}

void perp_kkt_orthogonal_layout(kkt_orthogonal *o, perp_arena *arena)
{
  o->B = PERP_CARVE(arena, double, (size_t)o->rows *(size_t)o->m);
  PERP_DOUBLES(arena, o->m, &o->tau, &o->tz, &o->unit, &o->x);
  o->work = PERP_CARVE(arena, double, o->lwork);
  o->y = PERP_CARVE(arena, double, o->rows);
  o->pivot = PERP_CARVE(arena, int, o->m);
}

void perp_kkt_orthogonal_fill(kkt_orthogonal *o, const perp_blocks *blocks)
{
  bool soft = false;
  for (int i = 0; blocks->s != NULL && i < o->m; i++) soft |= blocks->s[i] > 0;
  o->n = soft ? o->rows : o->nv;
  const size_t n = (size_t)o->n;
  memset(o->B, 0, n * (size_t)o->m * sizeof *o->B);
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      const int row = blocks->cptr[g], r = blocks->cptr[g + 1] - row;
      const double *J = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++) o->B[(size_t)(col + j) + (size_t)(row + i) * n] = J[i + j * r];
    }
  for (int i = 0; soft && i < o->m; i++)
    o->B[(size_t)(o->nv + i) + (size_t)i * n] = sqrt(blocks->s[i]);
}

bool perp_kkt_orthogonal_factor(kkt_orthogonal *o, double rank_tol)
{
  const int n = o->n, m = o->m, most = n < m ? n : m;
  for (int j = 0; j < m; j++) {
    double *column = o->B + (size_t)j * (size_t)n, size = 0, sum = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(column[i]));
    for (int i = 0; size > 0 && i < n; i++) sum += (column[i] / size) * (column[i] / size);
    o->unit[j] = size > 0 ? 1 / (size * sqrt(sum)) : 1;
    for (int i = 0; i < n; i++) column[i] *= o->unit[j];
    o->pivot[j] = 0;
  }
  o->rank = 0;
  if (most == 0) return true;
  if (LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, n, m, o->B, n, o->pivot, o->tau, o->work, o->lwork) !=
      0)
    return false;
  while (o->rank < most && fabs(o->B[(size_t)o->rank * ((size_t)n + 1)]) > rank_tol) o->rank++;
  return o->rank == 0 ||
         LAPACKE_dtzrzf_work(LAPACK_COL_MAJOR, o->rank, m, o->B, n, o->tz, o->work, o->lwork) == 0;
}

/* x [m] <- W' x or W x */
static void orthogonal_W(kkt_orthogonal *o, char trans, double *x)
{
  if (o->rank > 0 && o->rank < o->m)
    LAPACKE_dormrz_work(LAPACK_COL_MAJOR, 'L', trans, o->m, 1, o->rank, o->m - o->rank, o->B, o->n,
                        o->tz, x, o->m, o->work, o->lwork);
}

void perp_kkt_orthogonal_rows(kkt_orthogonal *o, const double *c, double *z)
{
  for (int j = 0; j < o->m; j++) {
    const int i = o->pivot[j] - 1;
    o->x[j] = o->rank > 0 ? o->unit[i] * c[i] : 0;
  }
  orthogonal_W(o, 'N', o->x);
  if (o->rank > 0)
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'T', 'N', o->rank, 1, o->B, o->n, o->x, o->m);
  memcpy(z, o->x, (size_t)o->rank * sizeof *z);
}

void perp_kkt_orthogonal_multipliers(kkt_orthogonal *o, const double *z, double *lambda)
{
  memset(o->x, 0, (size_t)o->m * sizeof *o->x);
  memcpy(o->x, z, (size_t)o->rank * sizeof *z);
  if (o->rank > 0)
    LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', o->rank, 1, o->B, o->n, o->x, o->m);
  orthogonal_W(o, 'T', o->x);
  for (int j = 0; j < o->m; j++) lambda[o->rank > 0 ? o->pivot[j] - 1 : j] = 0;
  for (int j = 0; j < o->m && o->rank > 0; j++)
    lambda[o->pivot[j] - 1] = o->unit[o->pivot[j] - 1] * o->x[j];
}

void perp_kkt_orthogonal_Q(kkt_orthogonal *o, bool transposed, int columns, double *x)
{
  const int most = o->n < o->m ? o->n : o->m;
  if (most > 0 && columns > 0)
    LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', o->n, columns, most, o->B,
                        o->n, o->tau, x, o->n, o->work, o->lwork);
}
