/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxed problems to pure LCPs; the cases and their conditions stand in convert.h.
 *
 * Every case is one affine map  lambda = c + C z.  The rows of the pure problem are signed rows of
 * w = A lambda + b, plus hi - lambda for two-sided rows:  A' = S A C (+ the multipliers y of upper
 * bounds), b' = S (A c + b). */
#include "solvers/lcp/io/convert.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double condition = 1e-12; /* of A_ff, below which free rows are split */

/* One row of the pure problem: sign times w of `row`, or the distance of `row` to its upper
 * bound. */
struct row {
  int row, sign; /* sign 0: hi - lambda */
};

struct perp_lcp_map {
  int n, m;         /* rows of the boxed and of the pure problem */
  double *c;        /* [n] */
  double *C;        /* [n m] column-major */
  struct row *rows; /* [m] */
  double *size;     /* [m + 1] scratch */
  double noise;     /* rounding of the elimination, relative to the terms of a sum */
};

void perp_lcp_map_back(const perp_lcp_map *map, const double *z, double *lambda)
{
  for (int i = 0; i < map->n; i++) lambda[i] = map->c[i];
  for (int j = 0; j < map->m; j++)
    for (int i = 0; i < map->n; i++)
      lambda[i] += map->C[(size_t)i + (size_t)j * (size_t)map->n] * z[j];
}

void perp_lcp_map_free(perp_lcp_map *map)
{
  free(map);
}

static double convert_pure_lower(const perp_lcp *lcp, int i)
{
  return lcp->lo != NULL ? lcp->lo[i] : 0;
}
static double convert_pure_upper(const perp_lcp *lcp, int i)
{
  return lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
}
static bool is_free(const perp_lcp *lcp, int i)
{
  return convert_pure_lower(lcp, i) == -HUGE_VAL && convert_pure_upper(lcp, i) == HUGE_VAL;
}

/* Columns of C and rows of A' for all rows of lcp; free ones only when they are split.  Returns the
 * number of rows of the pure problem; out and C may be NULL (counting). */
static int convert_pure_lay_out(const perp_lcp *lcp, bool split, struct row *out, double *c,
                                double *C)
{
  int m = 0, n = lcp->n;
  for (int i = 0; i < n; i++) {
    const double lo = convert_pure_lower(lcp, i), hi = convert_pure_upper(lcp, i);
    const bool free_row = is_free(lcp, i), from_above = !free_row && lo == -HUGE_VAL;
    /* signs of the rows that row i becomes, and their number */
    const int signs[2] = { from_above ? -1 : 1, free_row ? -1 : 0 };
    const int count = free_row   ? (split ? 2 : 0)
                      : lo == hi ? 0
                                 : 1 + (!from_above && hi < HUGE_VAL);
    if (c != NULL && !free_row) c[i] = from_above ? hi : lo;
    for (int k = 0; k < count; k++, m++) {
      if (C != NULL && signs[k] != 0) C[(size_t)i + (size_t)m * (size_t)n] = signs[k];
      if (out != NULL) out[m] = (struct row){ i, signs[k] };
    }
  }
  return m;
}

/* Rows of the eliminated free variables in c and C; false when A_ff is too ill-conditioned. */
static perp_status convert_pure_eliminate(perp_ctx *ctx, const perp_lcp *lcp, perp_lcp_map *map,
                                          bool *done)
{
  int n = lcp->n, m = map->m, f = 0;
  size_t nn = (size_t)n;
  *done = true;
  for (int i = 0; i < n; i++) f += is_free(lcp, i);
  if (f == 0) return PERP_OK;
  size_t ff = (size_t)f;
  int *index = calloc(ff, sizeof *index);
  lapack_int *pivot = calloc(ff, sizeof *pivot);
  double *A = calloc(ff * ff, sizeof *A), *R = calloc(ff * ((size_t)m + 1), sizeof *R);
  double *work = calloc(4 * ff, sizeof *work);
  lapack_int *iwork = calloc(ff, sizeof *iwork);
  perp_status status = PERP_OK;
  if (index == NULL || pivot == NULL || A == NULL || R == NULL || work == NULL || iwork == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d free rows", f);
  else {
    double one = 0, rcond = 0;
    for (int i = 0, k = 0; i < n; i++)
      if (is_free(lcp, i)) index[k++] = i;
    for (size_t j = 0; j < ff; j++) {
      double sum = 0;
      for (size_t i = 0; i < ff; i++) {
        A[i + j * ff] = lcp->A[(size_t)index[i] + (size_t)index[j] * (size_t)lcp->lda];
        sum += fabs(A[i + j * ff]);
      }
      if (!(sum <= one) && !isnan(one)) one = sum; /* a NaN stays */
    }
    /* right-hand sides: -(A (c, C))_f with the free entries of c and C still zero, -b_f in the
     * first */
    for (size_t k = 0; k < ff; k++) {
      R[k] = -lcp->b[index[k]];
      for (size_t j = 0; j < nn; j++) {
        double a = lcp->A[(size_t)index[k] + j * (size_t)lcp->lda];
        if (a == 0) continue;
        R[k] -= a * map->c[j];
        for (size_t q = 0; q < (size_t)m; q++) R[k + (q + 1) * ff] -= a * map->C[j + q * nn];
      }
    }
    lapack_int info = isfinite(one) ? LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, f, f, A, f, pivot) : 1;
    if (info == 0) LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', f, A, f, one, &rcond, work, iwork);
    *done = info == 0 && rcond > condition;
    map->noise = 4 * n * DBL_EPSILON / fmax(rcond, condition);
    if (*done) {
      LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', f, m + 1, A, f, pivot, R, f);
      for (size_t k = 0; k < ff; k++) {
        map->c[index[k]] = R[k];
        for (size_t q = 0; q < (size_t)m; q++)
          map->C[(size_t)index[k] + q * nn] = R[k + (q + 1) * ff];
      }
    }
  }
  free(index);
  free(pivot);
  free(A);
  free(R);
  free(work);
  free(iwork);
  return status;
}

static void map_layout(void *ws, perp_arena *arena)
{
  perp_lcp_map *map = ws;
  map->c = PERP_CARVE(arena, double, map->n);
  map->C = PERP_CARVE(arena, double, (size_t)map->n *(size_t)map->m);
  map->rows = PERP_CARVE(arena, struct row, map->m);
  map->size = PERP_CARVE(arena, double, (size_t)map->m + 1);
}

static perp_status new_map(perp_ctx *ctx, const perp_lcp *lcp, bool split, perp_lcp_map **out)
{
  perp_lcp_map like = { .n = lcp->n, .m = convert_pure_lay_out(lcp, split, NULL, NULL, NULL) };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "pure LCP", &like, sizeof like, map_layout, &ws));
  *out = ws;
  const size_t n = (size_t)like.n, m = (size_t)like.m;
  for (size_t i = 0; i < n; i++) (*out)->c[i] = 0;
  for (size_t k = 0; k < n * m; k++) (*out)->C[k] = 0;
  convert_pure_lay_out(lcp, split, (*out)->rows, (*out)->c, (*out)->C);
  return PERP_OK;
}

/* A' = S A C, b' = S (A c + b), and the rows of upper bounds.  Where terms cancel to less than the
 * rounding of the elimination the sum is zero: a semidefinite A leaves zero rows, not rows of
 * noise. */
static void convert_pure_project(const perp_lcp *lcp, const perp_lcp_map *map, double *A, double *b)
{
  const struct row *rows = map->rows;
  double *size = map->size;
  size_t n = (size_t)lcp->n, m = (size_t)map->m, ld = (size_t)lcp->lda;
  for (size_t r = 0; r < m; r++) {
    size_t i = (size_t)rows[r].row;
    if (rows[r].sign == 0) { /* hi - lambda; y enters the row before it, w = u - y */
      b[r] = convert_pure_upper(lcp, rows[r].row) - map->c[i];
      for (size_t j = 0; j < m; j++) A[r + j * m] = -map->C[i + j * n];
      A[r - 1 + r * m] += 1;
      continue;
    }
    double s = rows[r].sign;
    memset(size, 0, (m + 1) * sizeof *size);
    b[r] += s * lcp->b[i];
    size[m] = fabs(lcp->b[i]);
    for (size_t k = 0; k < n; k++) {
      double a = s * lcp->A[i + k * ld];
      if (a == 0) continue;
      b[r] += a * map->c[k];
      size[m] += fabs(a * map->c[k]);
      for (size_t j = 0; j < m; j++) {
        A[r + j * m] += a * map->C[k + j * n];
        size[j] += fabs(a * map->C[k + j * n]);
      }
    }
    if (fabs(b[r]) <= map->noise * size[m]) b[r] = 0;
    for (size_t j = 0; j < m; j++)
      if (fabs(A[r + j * m]) <= map->noise * size[j]) A[r + j * m] = 0;
  }
}

perp_status perp_lcp_pure(perp_ctx *ctx, const perp_lcp_problem *problem, perp_lcp_problem *out,
                          perp_lcp_map **out_map)
{
  const perp_lcp *lcp = &problem->p;
  perp_lcp_map *map = NULL;
  bool done;
  *out = (perp_lcp_problem){ 0 };
  *out_map = NULL;
  PERP_TRY(perp_lcp_check(ctx, lcp, NULL));
  if (lcp->A == NULL && lcp->n > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "the conversion to a pure LCP needs a dense A");
  if (perp_lcp_needs(lcp) & PERP_LCP_FRICTION)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "friction rows have no pure LCP; convert them to a pyramid first");
  PERP_TRY(new_map(ctx, lcp, false, &map));
  perp_status status = convert_pure_eliminate(ctx, lcp, map, &done);
  if (status == PERP_OK && !done) {
    perp_lcp_map_free(map);
    map = NULL;
    status = new_map(ctx, lcp, true, &map);
  }
  if (status == PERP_OK) status = perp_lcp_problem_new(ctx, map->m, PERP_PART_A, out);
  if (status == PERP_OK) {
    perp_lcp_arrays arrays = perp_lcp_edit(out);
    convert_pure_project(lcp, map, arrays.A, arrays.b);
    memcpy(out->family, problem->family, sizeof out->family);
    out->classes = problem->classes &
                   (PERP_CLASS_SOLVABLE | PERP_CLASS_UNSOLVABLE | PERP_CLASS_PSD);
    if (problem->provenance != NULL)
      status = perp_lcp_problem_note(ctx, out, "%s; pure LCP", problem->provenance);
  }
  if (status != PERP_OK) {
    perp_lcp_problem_free(out);
    perp_lcp_map_free(map);
    return status;
  }
  *out_map = map;
  return PERP_OK;
}
