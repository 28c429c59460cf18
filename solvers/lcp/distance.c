/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far is an answer from the solution?  For matrices of which that can be shown: H-matrices with
 * a positive diagonal, and positive definite ones, symmetric or not.  Theorems and proofs:
 * docs/explanation/lcp-judge.md. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

typedef struct distance {
  const perp_lcp *p;
  double *A;    /* [n n] */
  double *r;    /* [n] natural map with w_i / A_ii, and its error */
  double *v;    /* [n] */
  double *size; /* [n] bound of the rounding of w */
  double *work; /* [n n + 5 n] */
} distance;

static double distance_map(const perp_lcp *lcp, double x, double y, int i)
{
  double lo, hi;
  perp_lcp_bounds(lcp, NULL, i, &lo, &hi);
  const double above = x - lo, below = x - hi;
  y = y > above ? above : y;
  return y < below ? below : y;
}

/* |w_i - what w [n] says| */
static void distance_rounding(distance *d, const double *lambda)
{
  const int n = d->p->n;
  const double gamma = 0.51 * DBL_EPSILON * (n + 6.0);
  for (int i = 0; i < n; i++) {
    d->size[i] = fabs(d->p->b[i]);
    for (int j = 0; j < n; j++) d->size[i] += fabs(d->A[i + (size_t)j * (size_t)n] * lambda[j]);
    d->size[i] = gamma * d->size[i] + n * DBL_MIN;
  }
}

/* v > 0 with u = v - |A_ij / A_ii| v (j != i) > 0:  |lambda - x|_i <= v_i max_k |r_k| / u_k */
static bool distance_dominant(distance *d, const double *lambda, const double *w, double *bound)
{
  enum { ROUNDS = 200 };
  const int n = d->p->n;
  const size_t ld = (size_t)n;
  const double up = 1 + 4 * (n + 8) * DBL_EPSILON;
  double *u = d->work, most = 0;
  for (int i = 0; i < n; i++) {
    if (!(d->A[(size_t)i * (ld + 1)] > DBL_MIN)) return false;
    d->v[i] = 1;
  }
  /* Jacobi's method for <A> v = the diagonal: v >= 1 grows until u is near 1, or for ever */
  bool found = false;
  for (int round = 0; round < ROUNDS && !found; round++) {
    for (int i = 0; i < n; i++) u[i] = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if (i != j) u[i] += fabs(d->A[(size_t)i + (size_t)j * ld]) * d->v[j];
    found = true;
    for (int i = 0; i < n; i++) {
      const double off = u[i] / d->A[(size_t)i * (ld + 1)] * up;
      found = found && d->v[i] - off > 0.25;
      u[i] = (d->v[i] - off) / up;
      d->work[ld + (size_t)i] = 1 + off;
    }
    for (int i = 0; i < n && !found; i++) d->v[i] = d->work[ld + (size_t)i];
  }
  if (!found) return false;
  for (int i = 0; i < n; i++) {
    const double a = d->A[(size_t)i * (ld + 1)];
    const double r = fabs(distance_map(d->p, lambda[i], w[i] / a, i));
    most = fmax(most, (r * up + d->size[i] / a * up + DBL_MIN) / u[i] * up);
  }
  for (int i = 0; i < n; i++) bound[i] = d->v[i] * most * up;
  return true;
}

/* H = S (A + A') / 2 S, S powers of two with H_ii in [1/2, 2], H >= least I:
 * |lambda - x|_i <= S_i |r + (S A S)' r|_2 / least,  r the natural map of the scaled problem */
static bool distance_definite(distance *d, const double *lambda, const double *w, double *bound)
{
  const int n = d->p->n;
  const size_t ld = (size_t)n;
  double *H = d->work, *value = H + ld * ld, *s = value + ld, *kept = s + ld;
  const double up = 1 + 8 * (n + 8) * DBL_EPSILON;
  double trace = 0, rows = 0;
  for (int i = 0; i < n; i++) {
    const double a = d->A[(size_t)i * (ld + 1)];
    int e;
    if (!(a > 1e-280 && a < 1e280)) return false;
    frexp(a, &e);
    s[i] = ldexp(1, -(int)floor(e / 2.0));
  }
  for (int pass = 0; pass < 2; pass++) {
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        H[(size_t)i + (size_t)j * ld] = 0.5 * s[i] * s[j] *
                                        (d->A[(size_t)i + (size_t)j * ld] +
                                         d->A[(size_t)j + (size_t)i * ld]);
    if (pass == 0) {
      for (int j = 0; j < n; j++) {
        double row = 0;
        for (int i = 0; i < n; i++) row += fabs(H[(size_t)i + (size_t)j * ld]);
        rows = fmax(rows, row);
      }
      if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'L', n, H, n, value, kept, 3 * n) != 0)
        return false;
      if (!(value[0] > 0)) return false;
      continue;
    }
    for (int i = 0; i < n; i++) {
      trace += fabs(H[(size_t)i * (ld + 1)]);
      H[(size_t)i * (ld + 1)] -= 0.5 * value[0];
    }
    /* what has a Cholesky factor in doubles is positive definite but for that (Rump 2006) */
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, H, n) != 0) return false;
  }
  const double lost = DBL_EPSILON * (2 * (n + 4) * trace + 4 * rows) * 1.01;
  const double least = 0.5 * value[0] - lost;
  if (!(least > 0)) return false;
  double *r = d->r, *e = d->v, norm = 0;
  for (int i = 0; i < n; i++) {
    double lo, hi;
    perp_lcp_bounds(d->p, NULL, i, &lo, &hi);
    const double above = (lambda[i] - lo) / s[i], below = (lambda[i] - hi) / s[i];
    double y = s[i] * w[i];
    y = y > above ? above : y;
    r[i] = y < below ? below : y;
    e[i] = fabs(r[i]) * DBL_EPSILON + s[i] * d->size[i]; /* and how far it is off */
  }
  for (int j = 0; j < n; j++) {
    double sum = r[j], off = e[j], terms = fabs(r[j]);
    for (int i = 0; i < n; i++) {
      const double a = s[i] * s[j] * d->A[(size_t)i + (size_t)j * ld];
      sum += a * r[i];
      terms += fabs(a * r[i]);
      off += fabs(a) * e[i];
    }
    const double all = fabs(sum) + off * up + (n + 4) * DBL_EPSILON * terms;
    norm += all * all * up;
  }
  norm = sqrt(norm) * up;
  for (int i = 0; i < n; i++) bound[i] = s[i] * norm / least * up;
  return true;
}

perp_lcp_near perp_lcp_distance(const perp_lcp *lcp, const double *lambda, double *bound)
{
  const size_t n = (size_t)lcp->n;
  for (int i = 0; i < lcp->n; i++) bound[i] = HUGE_VAL;
  if (lcp->n == 0 || lcp->F != NULL || !perp_lcp_finite(lcp)) return PERP_NEAR_UNKNOWN;
  for (int i = 0; i < lcp->n; i++)
    if (perp_exact_is_friction(lcp, i) || !(fabs(lambda[i]) <= DBL_MAX)) return PERP_NEAR_UNKNOWN;
  double *block = perp_exact_alloc((int)(2 * n * n + 9 * n), sizeof *block), *w = block;
  distance d = { .p = lcp,
                 .r = w + n,
                 .v = w + 2 * n,
                 .size = w + 3 * n,
                 .A = w + 4 * n,
                 .work = w + 4 * n + n * n };
  for (int i = 0; i < lcp->n; i++)
    for (int j = 0; j < lcp->n; j++) d.A[(size_t)i + (size_t)j * n] = perp_lcp_entry(lcp, i, j);
  perp_lcp_product(lcp, lambda, w, NULL);
  distance_rounding(&d, lambda);
  perp_lcp_near near = PERP_NEAR_UNKNOWN;
  if (distance_dominant(&d, lambda, w, bound))
    near = PERP_NEAR_DOMINANT;
  else if (distance_definite(&d, lambda, w, bound))
    near = PERP_NEAR_DEFINITE;
  for (int i = 0; i < lcp->n; i++)
    if (near == PERP_NEAR_UNKNOWN || !(bound[i] <= DBL_MAX)) bound[i] = HUGE_VAL;
  free(block);
  return near;
}
