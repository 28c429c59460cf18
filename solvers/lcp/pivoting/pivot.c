/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/pivoting/pivot.h"

#include "solvers/linalg/dense.h"

#include <float.h>

static const double DROWNED = 16 * DBL_EPSILON;
enum { SPARSE_MIN = 48, SPARSE_SHARE = 6 };

void perp_pivot_layout(void *ws, perp_arena *arena)
{
  perp_pivot *P = ws;
  const size_t n = (size_t)P->max_n, share = n * n / SPARSE_SHARE;
  P->max_nnz = n >= SPARSE_MIN && share < 0x7fffffff ? (int)share : 0;
  PERP_DOUBLES(arena, n, &P->lo, &P->hi, &P->a, &P->r);
  PERP_DOUBLES(arena, P->max_nnz, &P->val);
  PERP_INTS(arena, n + 1, &P->ptr);
  PERP_INTS(arena, P->max_nnz, &P->idx);
}

/* row maxima; returns the number of nonzero entries */
static int64_t pivot_scan(perp_pivot *P)
{
  int n = P->n;
  int64_t nnz = 0;
  for (int i = 0; i < n; i++) P->a[i] = 0;
  double *restrict a = P->a;
  for (int j = 0; j < n; j++) {
    const double *restrict col = P->A + (size_t)j * P->lda;
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
  for (int i = 0; i < n; i++) top = perp_larger(top, P->a[i]);
  for (int i = 0; i < n; i++)
    if (P->a[i] == 0) P->a[i] = top > 0 ? top : 1;
  return nnz;
}

static void pivot_compress(perp_pivot *P)
{
  int nnz = 0;
  for (int j = 0; j < P->n; j++) {
    const double *col = P->A + (size_t)j * P->lda;
    P->ptr[j] = nnz;
    for (int i = 0; i < P->n; i++)
      if (col[i] != 0) {
        P->idx[nnz] = i;
        P->val[nnz++] = col[i];
      }
  }
  P->ptr[P->n] = nnz;
}

void perp_pivot_retake(perp_pivot *P, const perp_lcp *p)
{
  P->b = p->b;
  P->bscale = 0;
  P->afford = p->work;
  P->brief = p->brief;
  for (int i = 0; i < p->n; i++) {
    P->lo[i] = p->lo != NULL ? p->lo[i] : 0;
    P->hi[i] = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    P->bscale = perp_larger(P->bscale, fabs(p->b[i]) / P->a[i]);
  }
}

perp_status perp_pivot_take(perp_ctx *ctx, perp_pivot *P, const perp_lcp *p)
{
  int n = p->n;
  if (n > P->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d, but the solver was created for at most %d rows", n,
                     P->max_n);
  P->n = n;
  P->A = p->A;
  P->lda = (size_t)p->lda;
  int64_t nnz = pivot_scan(P);
  perp_pivot_retake(P, p);
  P->sparse = n >= SPARSE_MIN && nnz <= (int64_t)n * n / SPARSE_SHARE && nnz <= P->max_nnz;
  if (P->sparse) pivot_compress(P);
  P->product = P->sparse ? (double)nnz : (double)n * n;
  return PERP_OK;
}

void perp_pivot_columns(const perp_pivot *P, int k, const int *idx, const double *x, double *y)
{
  if (!P->sparse) {
    perp_gaxpy(P->n, k, P->A, P->lda, idx, x, y);
    return;
  }
  for (int j = 0; j < k; j++)
    for (int q = P->ptr[idx[j]]; q < P->ptr[idx[j] + 1]; q++) y[P->idx[q]] += x[j] * P->val[q];
}

void perp_pivot_slack(const perp_pivot *P, const double *lambda, double *w)
{
  for (int i = 0; i < P->n; i++) w[i] = P->b[i];
  for (int j = 0; j < P->n; j++)
    if (lambda[j] != 0) perp_pivot_columns(P, 1, &j, lambda + j, w);
}

double perp_pivot_residual(const perp_pivot *P, const double *lambda, const double *w)
{
  double worst = 0, poison = 0, scale = perp_larger(P->bscale, DBL_MIN), data = scale;
  for (int i = 0; i < P->n; i++) {
    double to = perp_smaller(perp_larger(lambda[i] - w[i] / P->a[i], P->lo[i]), P->hi[i]);
    double r = fabs(lambda[i] - to);
    worst = perp_larger(worst, r);
    poison += r * 0;
    scale = perp_larger(scale, fabs(lambda[i]));
    data = perp_larger(data, perp_larger(P->lo[i], -P->hi[i]));
  }
  if (poison != 0 || isnan(poison)) return (double)NAN;
  /* a lambda so large that b drowns in the rounding of w shows nothing */
  return DROWNED * scale > data && scale > data ? 1 : worst / scale;
}

/* What is rounding beside its own w goes to its bound, where rows that have no other terms need it.
 * False: nothing does. */
static bool pivot_rests(const perp_pivot *P, double *lambda, const double *w)
{
  bool any = false;
  for (int i = 0; i < P->n; i++) {
    const double a = 0.5 * P->a[i], x = lambda[i];
    if (w[i] > 0 && x > P->lo[i] && w[i] >= a * (x - P->lo[i]))
      lambda[i] = P->lo[i];
    else if (w[i] < 0 && x < P->hi[i] && w[i] <= a * (x - P->hi[i]))
      lambda[i] = P->hi[i];
    else
      continue;
    any = true;
  }
  return any;
}

double perp_pivot_settle(const perp_pivot *P, double *lambda, double *w)
{
  for (int i = 0; i < P->n; i++)
    lambda[i] = perp_smaller(perp_larger(lambda[i], P->lo[i]), P->hi[i]);
  perp_pivot_slack(P, lambda, w);
  if (!P->brief && pivot_rests(P, lambda, w)) perp_pivot_slack(P, lambda, w);
  return perp_pivot_residual(P, lambda, w);
}

int perp_pivot_proves_infeasible(perp_pivot *P, const double *v)
{
  double vmax = 0, vb = 0, mag = 0;
  for (int i = 0; i < P->n; i++) vmax = perp_larger(vmax, fabs(v[i]));
  if (!(vmax > 0) || !isfinite(vmax)) return 0;
  for (int i = 0; i < P->n; i++) {
    double tiny = PERP_PIVOT_ZERO * vmax;
    if ((v[i] < -tiny && P->lo[i] > -HUGE_VAL) || (v[i] > tiny && P->hi[i] < HUGE_VAL)) return 0;
    vb += v[i] * P->b[i];
    mag += fabs(v[i] * P->b[i]);
  }
  /* A'v must not be able to make up for v'b: its part against an infinite bound has to vanish */
  double top = vb;
  for (int j = 0; j < P->n; j++) {
    double u = 0, scale = 0;
    const double *col = P->A + (size_t)j * P->lda;
    for (int i = 0; i < P->n; i++) {
      u += col[i] * v[i];
      scale += fabs(col[i] * v[i]);
    }
    if (fabs(u) <= 1e-9 * scale) continue;
    double bound = u > 0 ? P->hi[j] : P->lo[j];
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

int perp_stops_end(perp_stops *S)
{
  int kept = 0;
  for (int k = 0; k < S->count && S->limit != HUGE_VAL; k++) {
    if (S->at[k].theta > S->limit) continue;
    S->at[kept] = S->at[k];
    S->at[kept++].theta_p /= S->at[k].rate;
  }
  return S->count = kept;
}

const perp_stop *perp_stops_least(const perp_stops *S)
{
  const perp_stop *best = S->at;
  for (const perp_stop *k = S->at; k < S->at + S->count; k++) {
    if (k->ends) return k;
    if (k->theta_p < best->theta_p) best = k;
  }
  return best;
}
