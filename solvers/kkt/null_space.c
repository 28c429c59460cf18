/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Null space method: accelerations along a basis Z of the motions that the constraints leave, and
 * the rest by the constraints alone (Maggi's equations, with the basis of a QR decomposition),
 *
 *      J' = Q1 T W1',   Z: the further columns of Q,   J Z = 0
 *
 *      a = Q1 y + Z x,   T' y = W1' c,   Z' M Z x = Z' (f - M Q1 y)
 *
 *      T W1' lambda = Q1' (M a - f)
 *
 * The multipliers do not enter the motion, and the rank of J is explicit: nv - rank motions are
 * left.  Householder QR with column pivoting and an RZ factorization (orthogonal.h) of rows that
 * are brought to length 1.  Softness S adds coordinates of mass 1: (J, S^1/2).
 *
 * Dependent rows: rank by orthogonal.c, multipliers of least norm times the lengths of the rows of
 * J; where they contradict each other the least-squares answer of rows of length 1.
 *
 * Cost, n = nv, or nv + m with softness: about 2 n m^2 + 2 n m (n - rank) + n (n - rank)^2 / 2 for
 * the factor, 4 n m + 2 n (n - rank) a solve; memory (nv + m) (nv + 2 m). Worth it where nearly all
 * motions are constrained. */
#include "solvers/kkt/orthogonal.h"

#include <cblas.h>
#include <lapacke.h>

struct ws {
  kkt_orthogonal o;
  double *Z, *MZ;  /* [rows rows] basis; M times it, then the Cholesky factor of Z' M Z */
  double *g, *x;   /* [rows] */
  double *z, *own; /* [m], [2 m] */
};

static void null_space_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const size_t rows = (size_t)work->o.rows;
  perp_kkt_orthogonal_layout(&work->o, arena);
  work->Z = PERP_CARVE(arena, double, rows *rows);
  work->MZ = PERP_CARVE(arena, double, rows *rows);
  PERP_DOUBLES(arena, work->o.rows, &work->g, &work->x);
  PERP_DOUBLES(arena, work->o.m, &work->z);
  PERP_DOUBLES(arena, 2 * work->o.m, &work->own);
}

static perp_status null_space_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                     void **ws)
{
  (void)opts;
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .o = perp_kkt_orthogonal_of(blocks) };
  return perp_workspace_create(ctx, "null-space", &like, sizeof like, null_space_layout, ws);
}

/* y = M x of the bodies, and of the coordinates of softness, whose mass is 1. */
static void null_space_mass(const kkt_orthogonal *work, const perp_blocks *blocks, const double *x,
                            double *y)
{
  perp_blocks_M(blocks, x, y);
  for (int i = work->nv; i < work->n; i++) y[i] = x[i];
}

static perp_status null_space_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                     perp_stats *stats)
{
  struct ws *work = ws;
  kkt_orthogonal *orthogonal = &work->o;
  PERP_TRY(kkt_same_size(ctx, "null-space", blocks, orthogonal->nv, orthogonal->m));
  stats->factorizations++;
  stats->reason = perp_kkt_why_no_factor(blocks);
  orthogonal->rank = 0;
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK; /* LAPACK need not see NaN */
  stats->reason = PERP_SINGULAR;
  for (int i = 0; blocks->s != NULL && i < orthogonal->m; i++)
    if (blocks->s[i] < 0) return PERP_OK;
  perp_kkt_orthogonal_fill(orthogonal, blocks);
  if (!perp_kkt_orthogonal_factor(orthogonal)) {
    stats->reason = PERP_STALLED;
    return PERP_OK;
  }
  const int n = orthogonal->n, left = n - orthogonal->rank;
  const size_t ld = (size_t)n;
  stats->work += 2.0 * n * orthogonal->m * (double)orthogonal->m +
                 2.0 * n * orthogonal->m * (double)left + 0.5 * n * left * (double)left +
                 pow(left, 3) / 6;
  memset(work->Z, 0, ld * (size_t)left * sizeof *work->Z);
  for (int j = 0; j < left; j++) work->Z[(size_t)(orthogonal->rank + j) + (size_t)j * ld] = 1;
  perp_kkt_orthogonal_Q(orthogonal, false, left, work->Z);
  for (int j = 0; j < left; j++)
    null_space_mass(orthogonal, blocks, work->Z + (size_t)j * ld, work->MZ + (size_t)j * ld);
  if (left > 0) {
    /* Z' M Z in place of M Z */
    for (int j = 0; j < left; j++) {
      double *column = work->MZ + (size_t)j * ld;
      cblas_dgemv(CblasColMajor, CblasTrans, n, left, 1, work->Z, n, column, 1, 0, work->x, 1);
      memcpy(column, work->x, (size_t)left * sizeof *column);
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', left, work->MZ, n) != 0) return PERP_OK;
  }
  stats->reason = orthogonal->rank < orthogonal->m ? PERP_REGULARIZED : PERP_EXACT;
  return PERP_OK;
}

static perp_status null_space_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                    const double *f, const double *c, double *a, double *lambda,
                                    perp_stats *stats)
{
  struct ws *work = ws;
  kkt_orthogonal *orthogonal = &work->o;
  PERP_TRY(kkt_same_size(ctx, "null-space", blocks, orthogonal->nv, orthogonal->m));
  const int n = orthogonal->n, left = n - orthogonal->rank;
  double *y = orthogonal->y, *g = work->g;
  stats->work += 4.0 * n * orthogonal->m + 2.0 * n * left;
  /* y = Q1 T'^-1 W1' c */
  perp_kkt_orthogonal_rows(orthogonal, c, work->z);
  memset(y, 0, (size_t)orthogonal->rows * sizeof *y);
  memcpy(y, work->z, (size_t)orthogonal->rank * sizeof *y);
  perp_kkt_orthogonal_Q(orthogonal, false, 1, y);
  /* x = (Z' M Z)^-1 Z' (f - M y) */
  null_space_mass(orthogonal, blocks, y, g);
  for (int i = 0; i < n; i++) g[i] = (i < orthogonal->nv ? f[i] : 0) - g[i];
  if (left > 0) {
    cblas_dgemv(CblasColMajor, CblasTrans, n, left, 1, work->Z, n, g, 1, 0, work->x, 1);
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', left, 1, work->MZ, n, work->x, left);
    cblas_dgemv(CblasColMajor, CblasNoTrans, n, left, 1, work->Z, n, work->x, 1, 1, y, 1);
  }
  memcpy(a, y, (size_t)orthogonal->nv * sizeof *a);
  null_space_mass(orthogonal, blocks, y, g);
  for (int i = 0; i < orthogonal->nv; i++) g[i] -= f[i];
  perp_kkt_orthogonal_Q(orthogonal, true, 1, g);
  perp_kkt_orthogonal_multipliers(orthogonal, g, lambda);
  if (orthogonal->rank < orthogonal->m)
    return perp_kkt_judge_dependent(blocks, c, a, lambda, stats, work->own);
  return kkt_take(blocks, a, lambda, stats);
}

const perp_kkt_desc perp_kkt_null_space = {
  .d = { .name = "null-space",
         .summary = "Null space of J by QR with explicit rank; equations of motion along its basis",
         .reference = "Kim and Vanderploeg 1986; Maggi 1896; Golub and Van Loan, section 5.5.2",
         .equation = "Z' M Z x = Z' (f - M y),  J Z = 0,  J y = c,  a = y + Z x",
         .caps = PERP_KKT_REDUNDANT | PERP_KKT_LOOPS },
  .create = null_space_create,
  .factor = null_space_factor,
  .solve = null_space_solve,
  .destroy = free,
};
