/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/pivoting/pivot.h"

#include "solvers/linalg/dense.h"

#include <float.h>

static const double DROWNED = 16 * DBL_EPSILON;
enum { SPARSE_MIN = 48, SPARSE_SHARE = 6 };

void perp_pivot_layout(void *ws, perp_arena *arena)
{
  perp_pivot *pivot = ws;
  const size_t n = (size_t)pivot->max_n, share = n * n / SPARSE_SHARE;
  pivot->max_nnz = n >= SPARSE_MIN && share < 0x7fffffff ? (int)share : 0;
  PERP_DOUBLES(arena, n, &pivot->lo, &pivot->hi, &pivot->a, &pivot->r);
  PERP_DOUBLES(arena, pivot->max_nnz, &pivot->val);
  PERP_INTS(arena, n + 1, &pivot->ptr);
  PERP_INTS(arena, pivot->max_nnz, &pivot->idx);
}

/* row maxima; returns the number of nonzero entries */
static int64_t pivot_scan(perp_pivot *pivot)
{
  int n = pivot->n;
  int64_t nnz = 0;
  for (int i = 0; i < n; i++) pivot->a[i] = 0;
  double *restrict a = pivot->a;
  for (int j = 0; j < n; j++) {
    const double *restrict col = pivot->A + (size_t)j * pivot->lda;
    long long count = 0; /* as wide as a double, so that both fill a vector */
    for (int i = 0; i < n; i++) {
      double x = fabs(col[i]);
      a[i] = x > a[i] ? x : a[i];
      count += x != 0;
    }
    nnz += count;
  }
  /* a zero row has no scale of its own: that of A keeps decisions invariant under scaling */
  double top = 0;
  for (int i = 0; i < n; i++) top = perp_larger(top, pivot->a[i]);
  for (int i = 0; i < n; i++)
    if (pivot->a[i] == 0) pivot->a[i] = top > 0 ? top : 1;
  return nnz;
}

static void pivot_compress(perp_pivot *pivot)
{
  int nnz = 0;
  for (int j = 0; j < pivot->n; j++) {
    const double *col = pivot->A + (size_t)j * pivot->lda;
    pivot->ptr[j] = nnz;
    for (int i = 0; i < pivot->n; i++)
      if (col[i] != 0) {
        pivot->idx[nnz] = i;
        pivot->val[nnz++] = col[i];
      }
  }
  pivot->ptr[pivot->n] = nnz;
}

void perp_pivot_retake(perp_pivot *pivot, const perp_lcp *lcp)
{
  pivot->b = lcp->b;
  pivot->bscale = 0;
  pivot->afford = lcp->work;
  pivot->brief = lcp->brief;
  for (int i = 0; i < lcp->n; i++) {
    pivot->lo[i] = lcp->lo != NULL ? lcp->lo[i] : 0;
    pivot->hi[i] = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
    pivot->bscale = perp_larger(pivot->bscale, fabs(lcp->b[i]) / pivot->a[i]);
  }
}

perp_status perp_pivot_take(perp_ctx *ctx, perp_pivot *pivot, const perp_lcp *lcp)
{
  int n = lcp->n;
  if (n > pivot->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d, but the solver was created for at most %d rows", n,
                     pivot->max_n);
  pivot->n = n;
  pivot->A = lcp->A;
  pivot->lda = (size_t)lcp->lda;
  int64_t nnz = pivot_scan(pivot);
  perp_pivot_retake(pivot, lcp);
  pivot->sparse = n >= SPARSE_MIN && nnz <= (int64_t)n * n / SPARSE_SHARE && nnz <= pivot->max_nnz;
  if (pivot->sparse) pivot_compress(pivot);
  pivot->product = pivot->sparse ? (double)nnz : (double)n * n;
  return PERP_OK;
}

void perp_pivot_columns(const perp_pivot *pivot, int k, const int *idx, const double *x, double *y)
{
  if (!pivot->sparse) {
    perp_gaxpy(pivot->n, k, pivot->A, pivot->lda, idx, x, y);
    return;
  }
  for (int j = 0; j < k; j++)
    for (int q = pivot->ptr[idx[j]]; q < pivot->ptr[idx[j] + 1]; q++)
      y[pivot->idx[q]] += x[j] * pivot->val[q];
}

void perp_pivot_slack(const perp_pivot *pivot, const double *lambda, double *w)
{
  for (int i = 0; i < pivot->n; i++) w[i] = pivot->b[i];
  for (int j = 0; j < pivot->n; j++)
    if (lambda[j] != 0) perp_pivot_columns(pivot, 1, &j, lambda + j, w);
}

double perp_pivot_residual(const perp_pivot *pivot, const double *lambda, const double *w)
{
  double worst = 0, poison = 0, scale = perp_larger(pivot->bscale, DBL_MIN), data = scale;
  for (int i = 0; i < pivot->n; i++) {
    double to = perp_smaller(perp_larger(lambda[i] - w[i] / pivot->a[i], pivot->lo[i]),
                             pivot->hi[i]);
    double r = fabs(lambda[i] - to);
    worst = perp_larger(worst, r);
    poison += r * 0;
    scale = perp_larger(scale, fabs(lambda[i]));
    data = perp_larger(data, perp_larger(pivot->lo[i], -pivot->hi[i]));
  }
  if (poison != 0 || isnan(poison)) return (double)NAN;
  /* a lambda so large that b drowns in the rounding of w shows nothing */
  return DROWNED * scale > data && scale > data ? 1 : worst / scale;
}

/* What is rounding beside its own w goes to its bound, where rows that have no other terms need it.
 * False: nothing does. */
static bool pivot_rests(const perp_pivot *pivot, double *lambda, const double *w)
{
  bool any = false;
  for (int i = 0; i < pivot->n; i++) {
    const double a = 0.5 * pivot->a[i], x = lambda[i];
    if (w[i] > 0 && x > pivot->lo[i] && w[i] >= a * (x - pivot->lo[i]))
      lambda[i] = pivot->lo[i];
    else if (w[i] < 0 && x < pivot->hi[i] && w[i] <= a * (x - pivot->hi[i]))
      lambda[i] = pivot->hi[i];
    else
      continue;
    any = true;
  }
  return any;
}

double perp_pivot_settle(const perp_pivot *pivot, double *lambda, double *w)
{
  for (int i = 0; i < pivot->n; i++)
    lambda[i] = perp_smaller(perp_larger(lambda[i], pivot->lo[i]), pivot->hi[i]);
  perp_pivot_slack(pivot, lambda, w);
  if (!pivot->brief && pivot_rests(pivot, lambda, w)) perp_pivot_slack(pivot, lambda, w);
  return perp_pivot_residual(pivot, lambda, w);
}

int perp_pivot_proves_infeasible(perp_pivot *pivot, const double *v)
{
  double vmax = 0, vb = 0, mag = 0;
  for (int i = 0; i < pivot->n; i++) vmax = perp_larger(vmax, fabs(v[i]));
  if (!(vmax > 0) || !isfinite(vmax)) return 0;
  for (int i = 0; i < pivot->n; i++) {
    double tiny = PERP_PIVOT_ZERO * vmax;
    if ((v[i] < -tiny && pivot->lo[i] > -HUGE_VAL) || (v[i] > tiny && pivot->hi[i] < HUGE_VAL))
      return 0;
    vb += v[i] * pivot->b[i];
    mag += fabs(v[i] * pivot->b[i]);
  }
  /* A'v must not be able to make up for v'b: its part against an infinite bound has to vanish */
  double top = vb;
  for (int j = 0; j < pivot->n; j++) {
    double u = 0, scale = 0;
    const double *col = pivot->A + (size_t)j * pivot->lda;
    for (int i = 0; i < pivot->n; i++) {
      u += col[i] * v[i];
      scale += fabs(col[i] * v[i]);
    }
    if (fabs(u) <= 1e-9 * scale) continue;
    double bound = u > 0 ? pivot->hi[j] : pivot->lo[j];
    if (fabs(bound) == HUGE_VAL) return 0;
    top += u * bound;
    mag += fabs(u * bound);
  }
  return top < -1e-9 * mag;
}

double perp_pivot_generic(int i)
{
  /* splitmix64 of the index */
  uint64_t z = (uint64_t)i * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return 1 + (double)(z >> 11) * 0x1p-53;
}

int perp_stops_end(perp_stops *stops)
{
  int kept = 0;
  for (int k = 0; k < stops->count && stops->limit != HUGE_VAL; k++) {
    if (stops->at[k].theta > stops->limit) continue;
    stops->at[kept] = stops->at[k];
    stops->at[kept++].theta_p /= stops->at[k].rate;
  }
  return stops->count = kept;
}

const perp_stop *perp_stops_least(const perp_stops *stops)
{
  const perp_stop *best = stops->at;
  for (const perp_stop *stop = stops->at; stop < stops->at + stops->count; stop++) {
    if (stop->ends) return stop;
    if (stop->theta_p < best->theta_p) best = stop;
  }
  return best;
}
