/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symmetric equilibration after Ruiz: with lambda = D lambda', the problem (D A D, D b, lo / D, hi
 * / D, mu_i D_n / D_i) is equivalent for every positive diagonal D, since w' = D w keeps its signs.
 * D is driven towards rows and columns of largest magnitude 1 by D_i <- D_i / sqrt(max_j |A_ij|,
 * |A_ji|), and rounded to powers of two, so that scaling and unscaling are exact.  The two rows of
 * a cone share one factor.  O(passes n^2). */
#include "solvers/lcp/lcp_private.h"

#include <math.h>

enum { PASSES = 6, MOST = 400 }; /* MOST: exponents stay far from over- and underflow */

void perp_lcp_equilibration(const perp_lcp *lcp, double *D, double *scratch)
{
  int n = lcp->n;
  size_t ld = (size_t)lcp->lda;
  double *largest = scratch;
  for (int i = 0; i < n; i++) D[i] = 1;
  for (int pass = 0; pass < PASSES; pass++) {
    bool changed = false;
    for (int i = 0; i < n; i++) largest[i] = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        double v = fabs(lcp->A[(size_t)i + (size_t)j * ld]) * D[i] * D[j];
        largest[i] = fmax(largest[i], v);
        largest[j] = fmax(largest[j], v);
      }
    for (int i = 0; i < n; i++) {
      bool pair = perp_lcp_is_cone(lcp, i);
      double v = pair ? fmax(largest[i], largest[i + 1]) : largest[i];
      if (v > 0 && isfinite(v)) {
        int e = (int)lrint(-0.5 * log2(v));
        double next = ldexp(D[i], e);
        if (e != 0 && fabs(log2(next)) < MOST) {
          D[i] = next;
          changed = true;
        }
      }
      if (pair) {
        D[i + 1] = D[i];
        i++;
      }
    }
    if (!changed) break;
  }
}

void perp_lcp_rescale(const perp_lcp *lcp, const double *D, double *A, double *b, double *lo,
                      double *hi, double *mu, perp_lcp *out)
{
  int n = lcp->n;
  size_t ld = (size_t)lcp->lda;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      A[(size_t)i + (size_t)j * (size_t)n] = lcp->A[(size_t)i + (size_t)j * ld] * D[i] * D[j];
  for (int i = 0; i < n; i++) {
    b[i] = lcp->b[i] * D[i];
    lo[i] = (lcp->lo != NULL ? lcp->lo[i] : 0) / D[i];
    hi[i] = (lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL) / D[i];
    bool friction = lcp->fric_of != NULL && lcp->fric_of[i] >= 0;
    mu[i] = friction ? lcp->mu[i] * D[lcp->fric_of[i]] / D[i] : 0;
  }
  *out = *lcp;
  out->A = A;
  out->lda = n;
  out->b = b;
  if (lcp->lo != NULL || lcp->hi != NULL) {
    out->lo = lo;
    out->hi = hi;
  }
  if (lcp->fric_of != NULL) out->mu = mu;
  out->unit = NULL; /* rows are in other units now: for the caller */
}
