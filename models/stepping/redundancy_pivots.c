/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows depend on others: Cholesky with pivots of the rows that close loops, behind the forest
 * of the others; the equations are in redundancy.c. */
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
  const int g = redundancy->group[x], i = redundancy->row[x] - model->pattern.cptr[g],
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
  const int g = redundancy->group[x], i = redundancy->row[x] - model->pattern.cptr[g],
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
  all.M = redundancy->M;
  all.Minv = redundancy->Minv;
  all.J = redundancy->e.J;
  all.s = NULL;
  all.diag = NULL;
  all.flat = NULL;
  perp_blocks_diagonal(&all, redundancy->d);
  for (int g = 0; g < redundancy->nf; g++) {
    const int j = redundancy->joint[g], rows = model->pattern.cptr[j + 1] - model->pattern.cptr[j];
    const int n = (model->pattern.jptr[j + 1] - model->pattern.jptr[j]) * model->nvb;
    double *J = redundancy->J + redundancy->joff[redundancy->jptr[g]];
    memcpy(J, redundancy->e.J + model->pattern.joff[model->pattern.jptr[j]],
           (size_t)(n * rows) * sizeof *J);
    for (int i = 0; i < rows; i++) {
      const int row = model->pattern.cptr[j] + i;
      const bool none = redundancy->compliant[row] || !(redundancy->d[row] > 0);
      redundancy->s[redundancy->cptr[g] + i] = none ? 1 : 0;
      for (int c = 0; none && c < n; c++) J[i + c * rows] = 0;
    }
  }
  perp_stats stats = { 0 };
  PERP_TRY(perp_kkt_factor(ctx, redundancy->solver, &redundancy->forest, &stats));
  *reason = stats.reason;
  return PERP_OK;
}

/* G, scaled, and P at the state of e */
perp_status perp_redundancy_analyse(perp_ctx *ctx, perp_redundancy *redundancy, perp_reason *reason)
{
  const int k = redundancy->k, mf = redundancy->mf;
  PERP_TRY(redundancy_factor(ctx, redundancy, reason));
  for (int x = 0; x < k && *reason >= 0; x++) {
    perp_stats stats = { 0 };
    redundancy_row(redundancy, x, redundancy->f);
    double *P = redundancy->P + (size_t)x * (size_t)mf;
    memset(P, 0, (size_t)mf * sizeof *P);
    PERP_TRY(perp_kkt_solve(ctx, redundancy->solver, &redundancy->forest, redundancy->f,
                            redundancy->zero, redundancy->a, P, &stats));
    if (stats.reason < 0 && stats.reason != PERP_INFEASIBLE) *reason = stats.reason;
    for (int y = x; y < k; y++) {
      const double scale = sqrt(redundancy->d[redundancy->row[x]] *
                                redundancy->d[redundancy->row[y]]);
      const double value = scale > 0 ? redundancy_along(redundancy, y, redundancy->a) / scale : 0;
      redundancy->G[y + x * k] = redundancy->G[x + y * k] = value;
    }
  }
  return PERP_OK;
}

/* the largest pivot left among the rows that are in, or out; -1: none */
static int redundancy_best(const perp_redundancy *redundancy, bool out)
{
  int best = -1;
  for (int x = 0; x < redundancy->k; x++)
    if (!redundancy->used[x] && redundancy->out[x] == out &&
        (best < 0 || redundancy->pivot[x] > redundancy->pivot[best]))
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
  const bool keep = in >= 0 && redundancy->pivot[in] > tau * tau;
  if (out >= 0 && !(keep && redundancy->pivot[in] >= SWAP * SWAP * redundancy->pivot[out]))
    return out;
  return in;
}

/* Cholesky of G: rank and order; fixed: of the rows that are in.  Column n of the factor is left in
 * row order[n] of G, as k numbers. */
void perp_redundancy_choose(perp_redundancy *redundancy, bool fixed, double delta)
{
  const int k = redundancy->k, before = redundancy->rank;
  double least = 1;
  for (int x = 0; x < k; x++) {
    redundancy->pivot[x] = redundancy->G[x + x * k];
    redundancy->used[x] = false;
  }
  redundancy->rank = 0;
  for (int n = 0; n < k; n++) {
    double limit = 0;
    const int x = fixed ? redundancy_best(redundancy, false)
                        : redundancy_next(redundancy, n, before, delta, least, &limit);
    if (x < 0 || !(redundancy->pivot[x] > limit)) break;
    const double p = sqrt(redundancy->pivot[x]);
    double *column = redundancy->G + (size_t)x * (size_t)k;
    redundancy->order[redundancy->rank++] = x;
    redundancy->used[x] = true;
    least = fmin(least, p);
    for (int y = 0; y < k; y++) {
      double sum = column[y];
      for (int l = 0; l < n; l++) {
        const double *L = redundancy->G + (size_t)redundancy->order[l] * (size_t)k;
        sum -= L[y] * L[x];
      }
      redundancy->y[y] = sum / p;
    }
    for (int y = 0; y < k; y++) {
      column[y] = redundancy->used[y] && y != x ? 0 : redundancy->y[y];
      if (!redundancy->used[y]) redundancy->pivot[y] -= redundancy->y[y] * redundancy->y[y];
    }
    column[x] = p;
  }
  if (!fixed) redundancy->margin = least;
}

/* Null vectors of J' into N, of the rows that are out. */
void perp_redundancy_null(perp_redundancy *redundancy)
{
  const perp_model *model = redundancy->model;
  const int k = redundancy->k, mf = redundancy->mf;
  int n = 0;
  for (int x = 0; x < k; x++) {
    if (redundancy->used[x]) continue;
    double *N = redundancy->N + (size_t)n++ * (size_t)model->m;
    memset(N, 0, (size_t)model->m * sizeof *N);
    /* coefficients y of row x in the rows that are in: L' y = (row x of L)' */
    for (int l = redundancy->rank - 1; l >= 0; l--) {
      const double *L = redundancy->G + (size_t)redundancy->order[l] * (size_t)k;
      double sum = L[x];
      for (int b = l + 1; b < redundancy->rank; b++)
        sum -= L[redundancy->order[b]] * redundancy->y[b];
      redundancy->y[l] = sum / L[redundancy->order[l]];
    }
    memcpy(redundancy->zero, redundancy->P + (size_t)x * (size_t)mf,
           (size_t)mf * sizeof *redundancy->zero);
    N[redundancy->row[x]] = 1;
    for (int l = 0; l < redundancy->rank; l++) {
      const int in = redundancy->order[l];
      const double y = redundancy->y[l] *
                       sqrt(redundancy->d[redundancy->row[x]] / redundancy->d[redundancy->row[in]]);
      N[redundancy->row[in]] = -y;
      for (int i = 0; i < mf; i++)
        redundancy->zero[i] -= y * redundancy->P[i + (size_t)in * (size_t)mf];
    }
    for (int g = 0; g < redundancy->nf; g++)
      for (int i = redundancy->cptr[g]; i < redundancy->cptr[g + 1]; i++)
        if (!(redundancy->s[i] > 0))
          N[model->pattern.cptr[redundancy->joint[g]] + i - redundancy->cptr[g]] =
              redundancy->zero[i];
  }
  memset(redundancy->zero, 0, (size_t)mf * sizeof *redundancy->zero);
}

/* Orthonormal columns of N, twice is enough. */
void perp_redundancy_orthonormal(perp_redundancy *redundancy)
{
  const int m = redundancy->model->m;
  for (int j = 0; j < redundancy->dropped.n; j++) {
    double *x = redundancy->N + (size_t)j * (size_t)m, size = 0;
    for (int l = 0; l < 2 * j; l++) {
      const double *y = redundancy->N + (size_t)(l % j) * (size_t)m;
      double along = 0;
      for (int i = 0; i < m; i++) along += x[i] * y[i];
      for (int i = 0; i < m; i++) x[i] -= along * y[i];
    }
    for (int i = 0; i < m; i++) size += x[i] * x[i];
    for (int i = 0; i < m && size > 0; i++) x[i] /= sqrt(size);
  }
}
