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
static void redundancy_row(const perp_redundancy *r, int x, double *f)
{
  const perp_model *m = r->model;
  const int g = r->group[x], i = r->row[x] - m->cptr[g], rows = m->cptr[g + 1] - m->cptr[g];
  memset(f, 0, (size_t)m->nv * sizeof *f);
  for (int k = m->jptr[g]; k < m->jptr[g + 1]; k++)
    for (int c = 0; c < m->nvb; c++) f[m->nvb * m->jblk[k] + c] = r->e.J[m->joff[k] + i + c * rows];
}

/* J_x a */
static double redundancy_along(const perp_redundancy *r, int x, const double *a)
{
  const perp_model *m = r->model;
  const int g = r->group[x], i = r->row[x] - m->cptr[g], rows = m->cptr[g + 1] - m->cptr[g];
  double sum = 0;
  for (int k = m->jptr[g]; k < m->jptr[g + 1]; k++)
    for (int c = 0; c < m->nvb; c++)
      sum += r->e.J[m->joff[k] + i + c * rows] * a[m->nvb * m->jblk[k] + c];
  return sum;
}

/* J of the forest, without its compliant rows, and its factor */
static perp_status redundancy_factor(perp_ctx *ctx, perp_redundancy *r, perp_reason *reason)
{
  const perp_model *m = r->model;
  perp_blocks all = perp_model_pattern(m);
  all.M = r->M;
  all.Minv = r->Minv;
  all.J = r->e.J;
  all.s = NULL;
  all.diag = NULL;
  all.flat = NULL;
  perp_blocks_diagonal(&all, r->d);
  for (int g = 0; g < r->nf; g++) {
    const int j = r->joint[g], rows = m->cptr[j + 1] - m->cptr[j];
    const int n = (m->jptr[j + 1] - m->jptr[j]) * m->nvb;
    double *J = r->J + r->joff[r->jptr[g]];
    memcpy(J, r->e.J + m->joff[m->jptr[j]], (size_t)(n * rows) * sizeof *J);
    for (int i = 0; i < rows; i++) {
      const int row = m->cptr[j] + i;
      const bool none = r->compliant[row] || !(r->d[row] > 0);
      r->s[r->cptr[g] + i] = none ? 1 : 0;
      for (int c = 0; none && c < n; c++) J[i + c * rows] = 0;
    }
  }
  perp_stats stats = { 0 };
  PERP_TRY(perp_kkt_factor(ctx, r->solver, &r->forest, &stats));
  *reason = stats.reason;
  return PERP_OK;
}

/* G, scaled, and P at the state of e */
perp_status perp_redundancy_analyse(perp_ctx *ctx, perp_redundancy *r, perp_reason *reason)
{
  const int k = r->k, mf = r->mf;
  PERP_TRY(redundancy_factor(ctx, r, reason));
  for (int x = 0; x < k && *reason >= 0; x++) {
    perp_stats stats = { 0 };
    redundancy_row(r, x, r->f);
    double *P = r->P + (size_t)x * (size_t)mf;
    memset(P, 0, (size_t)mf * sizeof *P);
    PERP_TRY(perp_kkt_solve(ctx, r->solver, &r->forest, r->f, r->zero, r->a, P, &stats));
    if (stats.reason < 0 && stats.reason != PERP_INFEASIBLE) *reason = stats.reason;
    for (int y = x; y < k; y++) {
      const double scale = sqrt(r->d[r->row[x]] * r->d[r->row[y]]);
      const double value = scale > 0 ? redundancy_along(r, y, r->a) / scale : 0;
      r->G[y + x * k] = r->G[x + y * k] = value;
    }
  }
  return PERP_OK;
}

/* the largest pivot left among the rows that are in, or out; -1: none */
static int redundancy_best(const perp_redundancy *r, bool out)
{
  int best = -1;
  for (int x = 0; x < r->k; x++)
    if (!r->used[x] && r->out[x] == out && (best < 0 || r->pivot[x] > r->pivot[best])) best = x;
  return best;
}

/* The next row and the least pivot that it must have; -1: none. */
static int redundancy_next(const perp_redundancy *r, int n, int before, double delta, double least,
                           double *limit)
{
  const double error = delta / fmax(least, REGULAR);
  const double tau = fmin(fmax(error, ROUNDING), LARGEST);
  const double back = fmin(fmax(RETURN * error, RETURN_LEAST), RETURN_MOST);
  const int in = redundancy_best(r, false), out = redundancy_best(r, true);
  *limit = r->decided && n >= before ? back * back : tau * tau;
  const bool keep = in >= 0 && r->pivot[in] > tau * tau;
  if (out >= 0 && !(keep && r->pivot[in] >= SWAP * SWAP * r->pivot[out])) return out;
  return in;
}

/* Cholesky of G: rank and order; fixed: of the rows that are in.  Column n of the factor is left in
 * row order[n] of G, as k numbers. */
void perp_redundancy_choose(perp_redundancy *r, bool fixed, double delta)
{
  const int k = r->k, before = r->rank;
  double least = 1;
  for (int x = 0; x < k; x++) {
    r->pivot[x] = r->G[x + x * k];
    r->used[x] = false;
  }
  r->rank = 0;
  for (int n = 0; n < k; n++) {
    double limit = 0;
    const int x = fixed ? redundancy_best(r, false)
                        : redundancy_next(r, n, before, delta, least, &limit);
    if (x < 0 || !(r->pivot[x] > limit)) break;
    const double p = sqrt(r->pivot[x]);
    double *column = r->G + (size_t)x * (size_t)k;
    r->order[r->rank++] = x;
    r->used[x] = true;
    least = fmin(least, p);
    for (int y = 0; y < k; y++) {
      double sum = column[y];
      for (int l = 0; l < n; l++) {
        const double *L = r->G + (size_t)r->order[l] * (size_t)k;
        sum -= L[y] * L[x];
      }
      r->y[y] = sum / p;
    }
    for (int y = 0; y < k; y++) {
      column[y] = r->used[y] && y != x ? 0 : r->y[y];
      if (!r->used[y]) r->pivot[y] -= r->y[y] * r->y[y];
    }
    column[x] = p;
  }
  if (!fixed) r->margin = least;
}

/* Null vectors of J' into N, of the rows that are out. */
void perp_redundancy_null(perp_redundancy *r)
{
  const perp_model *m = r->model;
  const int k = r->k, mf = r->mf;
  int n = 0;
  for (int x = 0; x < k; x++) {
    if (r->used[x]) continue;
    double *N = r->N + (size_t)n++ * (size_t)m->m;
    memset(N, 0, (size_t)m->m * sizeof *N);
    /* coefficients y of row x in the rows that are in: L' y = (row x of L)' */
    for (int l = r->rank - 1; l >= 0; l--) {
      const double *L = r->G + (size_t)r->order[l] * (size_t)k;
      double sum = L[x];
      for (int b = l + 1; b < r->rank; b++) sum -= L[r->order[b]] * r->y[b];
      r->y[l] = sum / L[r->order[l]];
    }
    memcpy(r->zero, r->P + (size_t)x * (size_t)mf, (size_t)mf * sizeof *r->zero);
    N[r->row[x]] = 1;
    for (int l = 0; l < r->rank; l++) {
      const int in = r->order[l];
      const double y = r->y[l] * sqrt(r->d[r->row[x]] / r->d[r->row[in]]);
      N[r->row[in]] = -y;
      for (int i = 0; i < mf; i++) r->zero[i] -= y * r->P[i + (size_t)in * (size_t)mf];
    }
    for (int g = 0; g < r->nf; g++)
      for (int i = r->cptr[g]; i < r->cptr[g + 1]; i++)
        if (!(r->s[i] > 0)) N[m->cptr[r->joint[g]] + i - r->cptr[g]] = r->zero[i];
  }
  memset(r->zero, 0, (size_t)mf * sizeof *r->zero);
}

/* Orthonormal columns of N, twice is enough. */
void perp_redundancy_orthonormal(perp_redundancy *r)
{
  const int m = r->model->m;
  for (int j = 0; j < r->dropped.n; j++) {
    double *x = r->N + (size_t)j * (size_t)m, size = 0;
    for (int l = 0; l < 2 * j; l++) {
      const double *y = r->N + (size_t)(l % j) * (size_t)m;
      double along = 0;
      for (int i = 0; i < m; i++) along += x[i] * y[i];
      for (int i = 0; i < m; i++) x[i] -= along * y[i];
    }
    for (int i = 0; i < m; i++) size += x[i] * x[i];
    for (int i = 0; i < m && size > 0; i++) x[i] /= sqrt(size);
  }
}
