/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows depend on others: Cholesky with pivots of the rows that close loops, behind the forest
 * of the others; the equations are in redundancy_decide.c. */
#include "models/stepping/redundancy_private.h"

#include <string.h>

/* Of rows that are redundant everywhere sigma is at most 0.2 delta on the mechanisms of
 * tests/agree/redundant.c; the thresholds are 5 and 50 times that. */
static const double ROUNDING = 1e-6, LARGEST = 1e-3, RETURN = 10, RETURN_LEAST = 1e-5,
                    RETURN_MOST = 0.1, REGULAR = 0.1;
static const double SWAP = 0.1; /* of sigma: a row gives its place to one so much better */

/* f = scale * J_i' of all rows */
static void redundancy_row(const perp_redundancy *redundancy, int x, double *f)
{
  const perp_model *model = redundancy->model;
  const int g = redundancy->loops.group[x], i = redundancy->loops.row[x] - model->pattern.cptr[g],
            rows = model->pattern.cptr[g + 1] - model->pattern.cptr[g];
  memset(f, 0, (size_t)model->nv * sizeof *f);
  for (int k = model->pattern.jptr[g]; k < model->pattern.jptr[g + 1]; k++)
    for (int c = 0; c < model->nvb; c++)
      f[model->nvb * model->pattern.jblk[k] + c] =
          redundancy->e.J[model->pattern.joff[k] + i + c * rows];
}

/* J_x a */
static double redundancy_along(const perp_redundancy *redundancy, int x, const double *a)
{
  const perp_model *model = redundancy->model;
  const int g = redundancy->loops.group[x], i = redundancy->loops.row[x] - model->pattern.cptr[g],
            rows = model->pattern.cptr[g + 1] - model->pattern.cptr[g];
  double sum = 0;
  for (int k = model->pattern.jptr[g]; k < model->pattern.jptr[g + 1]; k++)
    for (int c = 0; c < model->nvb; c++)
      sum += redundancy->e.J[model->pattern.joff[k] + i + c * rows] *
             a[model->nvb * model->pattern.jblk[k] + c];
  return sum;
}

/* J of the forest, without its compliant rows, and its factor */
static perp_status redundancy_factor(perp_ctx *ctx, perp_redundancy *redundancy,
                                     perp_reason *reason)
{
  const perp_model *model = redundancy->model;
  perp_blocks all = perp_model_pattern(model);
  all.M = redundancy->forest.M;
  all.Minv = redundancy->forest.Minv;
  all.J = redundancy->e.J;
  all.s = NULL;
  all.diag = NULL;
  all.flat = NULL;
  perp_blocks_diagonal(&all, redundancy->d);
  for (int g = 0; g < redundancy->forest.nf; g++) {
    const int j = redundancy->forest.joint[g],
              rows = model->pattern.cptr[j + 1] - model->pattern.cptr[j];
    const int n = (model->pattern.jptr[j + 1] - model->pattern.jptr[j]) * model->nvb;
    double *J = redundancy->forest.J + redundancy->forest.joff[redundancy->forest.jptr[g]];
    memcpy(J, redundancy->e.J + model->pattern.joff[model->pattern.jptr[j]],
           (size_t)(n * rows) * sizeof *J);
    for (int i = 0; i < rows; i++) {
      const int row = model->pattern.cptr[j] + i;
      const bool none = redundancy->compliant[row] || !(redundancy->d[row] > 0);
      redundancy->forest.s[redundancy->forest.cptr[g] + i] = none ? 1 : 0;
      for (int c = 0; none && c < n; c++) J[i + c * rows] = 0;
    }
  }
  perp_stats stats = { 0 };
  PERP_TRY(perp_kkt_factor(ctx, redundancy->forest.solver, &redundancy->forest.blocks, &stats));
  *reason = stats.reason;
  return PERP_OK;
}

/* G, scaled, and P at the state of e */
perp_status perp_redundancy_analyse(perp_ctx *ctx, perp_redundancy *redundancy, perp_reason *reason)
{
  const int k = redundancy->loops.k, mf = redundancy->forest.mf;
  PERP_TRY(redundancy_factor(ctx, redundancy, reason));
  for (int x = 0; x < k && *reason >= 0; x++) {
    perp_stats stats = { 0 };
    redundancy_row(redundancy, x, redundancy->f);
    double *P = redundancy->loops.P + (size_t)x * (size_t)mf;
    memset(P, 0, (size_t)mf * sizeof *P);
    PERP_TRY(perp_kkt_solve(ctx, redundancy->forest.solver, &redundancy->forest.blocks,
                            redundancy->f, redundancy->zero, redundancy->a, P, &stats));
    if (stats.reason < 0 && stats.reason != PERP_INFEASIBLE) *reason = stats.reason;
    for (int y = x; y < k; y++) {
      const double scale = sqrt(redundancy->d[redundancy->loops.row[x]] *
                                redundancy->d[redundancy->loops.row[y]]);
      const double value = scale > 0 ? redundancy_along(redundancy, y, redundancy->a) / scale : 0;
      redundancy->loops.G[y + x * k] = redundancy->loops.G[x + y * k] = value;
    }
  }
  return PERP_OK;
}

/* the largest pivot left among the rows that are in, or out; -1: none */
static int redundancy_best(const perp_redundancy *redundancy, bool out)
{
  int best = -1;
  for (int x = 0; x < redundancy->loops.k; x++)
    if (!redundancy->loops.used[x] && redundancy->loops.out[x] == out &&
        (best < 0 || redundancy->loops.pivot[x] > redundancy->loops.pivot[best]))
      best = x;
  return best;
}

/* The next row and the least pivot that it must have; -1: none. */
static int redundancy_next(const perp_redundancy *redundancy, int n, int before, double delta,
                           double least, double *limit)
{
  const double error = delta / fmax(least, REGULAR);
  const double tau = fmin(fmax(error, ROUNDING), LARGEST);
  const double back = fmin(fmax(RETURN * error, RETURN_LEAST), RETURN_MOST);
  const int in = redundancy_best(redundancy, false), out = redundancy_best(redundancy, true);
  *limit = redundancy->decided && n >= before ? back * back : tau * tau;
  const bool keep = in >= 0 && redundancy->loops.pivot[in] > tau * tau;
  if (out >= 0 &&
      !(keep && redundancy->loops.pivot[in] >= SWAP * SWAP * redundancy->loops.pivot[out]))
    return out;
  return in;
}

/* Cholesky of G: rank and order; fixed: of the rows that are in.  Column n of the factor is left in
 * row order[n] of G, as k numbers. */
void perp_redundancy_choose(perp_redundancy *redundancy, bool fixed, double delta)
{
  const int k = redundancy->loops.k, before = redundancy->loops.rank;
  double least = 1;
  for (int x = 0; x < k; x++) {
    redundancy->loops.pivot[x] = redundancy->loops.G[x + x * k];
    redundancy->loops.used[x] = false;
  }
  redundancy->loops.rank = 0;
  for (int n = 0; n < k; n++) {
    double limit = 0;
    const int x = fixed ? redundancy_best(redundancy, false)
                        : redundancy_next(redundancy, n, before, delta, least, &limit);
    if (x < 0 || !(redundancy->loops.pivot[x] > limit)) break;
    const double p = sqrt(redundancy->loops.pivot[x]);
    double *column = redundancy->loops.G + (size_t)x * (size_t)k;
    redundancy->loops.order[redundancy->loops.rank++] = x;
    redundancy->loops.used[x] = true;
    least = fmin(least, p);
    for (int y = 0; y < k; y++) {
      double sum = column[y];
      for (int l = 0; l < n; l++) {
        const double *L = redundancy->loops.G + (size_t)redundancy->loops.order[l] * (size_t)k;
        sum -= L[y] * L[x];
      }
      redundancy->loops.y[y] = sum / p;
    }
    for (int y = 0; y < k; y++) {
      column[y] = redundancy->loops.used[y] && y != x ? 0 : redundancy->loops.y[y];
      if (!redundancy->loops.used[y])
        redundancy->loops.pivot[y] -= redundancy->loops.y[y] * redundancy->loops.y[y];
    }
    column[x] = p;
  }
  if (!fixed) redundancy->margin = least;
}

/* Null vectors of J' into N, of the rows that are out. */
void perp_redundancy_null(perp_redundancy *redundancy)
{
  const perp_model *model = redundancy->model;
  const int k = redundancy->loops.k, mf = redundancy->forest.mf;
  int n = 0;
  for (int x = 0; x < k; x++) {
    if (redundancy->loops.used[x]) continue;
    double *N = redundancy->loops.N + (size_t)n++ * (size_t)model->m;
    memset(N, 0, (size_t)model->m * sizeof *N);
    /* coefficients y of row x in the rows that are in: L' y = (row x of L)' */
    for (int l = redundancy->loops.rank - 1; l >= 0; l--) {
      const double *L = redundancy->loops.G + (size_t)redundancy->loops.order[l] * (size_t)k;
      double sum = L[x];
      for (int b = l + 1; b < redundancy->loops.rank; b++)
        sum -= L[redundancy->loops.order[b]] * redundancy->loops.y[b];
      redundancy->loops.y[l] = sum / L[redundancy->loops.order[l]];
    }
    memcpy(redundancy->zero, redundancy->loops.P + (size_t)x * (size_t)mf,
           (size_t)mf * sizeof *redundancy->zero);
    N[redundancy->loops.row[x]] = 1;
    for (int l = 0; l < redundancy->loops.rank; l++) {
      const int in = redundancy->loops.order[l];
      const double y = redundancy->loops.y[l] * sqrt(redundancy->d[redundancy->loops.row[x]] /
                                                     redundancy->d[redundancy->loops.row[in]]);
      N[redundancy->loops.row[in]] = -y;
      for (int i = 0; i < mf; i++)
        redundancy->zero[i] -= y * redundancy->loops.P[i + (size_t)in * (size_t)mf];
    }
    for (int g = 0; g < redundancy->forest.nf; g++)
      for (int i = redundancy->forest.cptr[g]; i < redundancy->forest.cptr[g + 1]; i++)
        if (!(redundancy->forest.s[i] > 0))
          N[model->pattern.cptr[redundancy->forest.joint[g]] + i - redundancy->forest.cptr[g]] =
              redundancy->zero[i];
  }
  memset(redundancy->zero, 0, (size_t)mf * sizeof *redundancy->zero);
}

/* Orthonormal columns of N, twice is enough. */
void perp_redundancy_orthonormal(perp_redundancy *redundancy)
{
  const int m = redundancy->model->m;
  for (int j = 0; j < redundancy->dropped.n; j++) {
    double *x = redundancy->loops.N + (size_t)j * (size_t)m, size = 0;
    for (int l = 0; l < 2 * j; l++) {
      const double *y = redundancy->loops.N + (size_t)(l % j) * (size_t)m;
      double along = 0;
      for (int i = 0; i < m; i++) along += x[i] * y[i];
      for (int i = 0; i < m; i++) x[i] -= along * y[i];
    }
    for (int i = 0; i < m; i++) size += x[i] * x[i];
    for (int i = 0; i < m && size > 0; i++) x[i] /= sqrt(size);
  }
}
