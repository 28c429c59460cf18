/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small problems: is there a solution at all where an answer is about to be called one?
 *
 * The answer says which rows are at a bound and which are not.  Where the rows inside have a
 * regular matrix and room to their bounds, and all others a w of the right sign by more than
 * rounding, an exact solution is near: shown in long double with bounds of all roundings, lambda_F
 * - x_F = A_FF^-1 w_F,   |A_FF^-1 w_F| <= |R| |w_F| / (1 - |I - R A_FF|),   R about A_FF^-1 (Rump
 * 1999, theorem 2.1).  Else the conditions of these index sets are decided without rounding, and
 * where they contradict each other, those of all index sets (exact_lcp.h). */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

typedef long double real;

enum { ROWS = PERP_LCP_SMALL };
#define SMALL_WORK 20000000 /* of exact arithmetic: some 20 ms */

enum small_end { SMALL_LOWER, SMALL_INSIDE, SMALL_UPPER };

typedef struct small {
  const perp_lcp *p;
  int n;
  real A[ROWS * ROWS];
  real x[ROWS], lo[ROWS], hi[ROWS]; /* the answer with rows at rest on their bounds */
  real w[ROWS], size[ROWS];         /* A x + b, |A||x| + |b| */
  enum small_end end[ROWS];
} small;

static void small_matrix(small *q)
{
  const int n = q->n;
  const perp_lcp *lcp = q->p;
  for (int j = 0; j < n && lcp->F == NULL; j++)
    for (int i = 0; i < n; i++) q->A[i + j * ROWS] = perp_lcp_entry(lcp, i, j);
  if (lcp->F == NULL) return;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) q->A[i + j * ROWS] = 0;
  const perp_blocks *blocks = lcp->F;
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b],
                r = blocks->cptr[g + 1] - blocks->cptr[g];
      int step;
      const double *W = perp_lcp_inverse(blocks, b, &step);
      for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
        const int u = blocks->tsub[t], h = blocks->jgrp[u],
                  c = blocks->cptr[h + 1] - blocks->cptr[h];
        for (int i = 0; i < r; i++)
          for (int j = 0; j < c; j++) {
            real sum = 0;
            for (int s = 0; s < d * d; s++) {
              const real m = step == 0 ? W[s] : s % (d + 1) == 0 ? W[step * (s % d)] : 0;
              sum += m * blocks->J[blocks->joff[k] + i + s % d * r] *
                     blocks->J[blocks->joff[u] + j + s / d * c];
            }
            q->A[blocks->cptr[g] + i + (blocks->cptr[h] + j) * ROWS] += sum;
          }
      }
    }
  for (int i = 0; blocks->s != NULL && i < n; i++) q->A[i + i * ROWS] += blocks->s[i];
}

/* w and size of what x is */
static void small_slack(small *q)
{
  for (int i = 0; i < q->n; i++) {
    q->w[i] = q->p->b[i];
    q->size[i] = fabs(q->p->b[i]);
    for (int j = 0; j < q->n; j++) {
      q->w[i] += q->A[i + j * ROWS] * q->x[j];
      q->size[i] += fabsl(q->A[i + j * ROWS] * q->x[j]);
    }
  }
}

static void small_bounds(small *q, int i)
{
  const perp_lcp *lcp = q->p;
  if (perp_exact_is_friction(lcp, i)) {
    q->hi[i] = lcp->mu[i] * fmaxl(q->x[lcp->fric_of[i]], 0);
    q->lo[i] = -q->hi[i];
    return;
  }
  double lo, hi;
  perp_lcp_bounds(lcp, NULL, i, &lo, &hi);
  q->lo[i] = lo;
  q->hi[i] = hi;
}

/* A row rests where the natural map says so: nearer to its bound than w / a. */
static void small_rest(small *q, const double *lambda)
{
  const int n = q->n;
  for (int i = 0; i < n; i++) q->x[i] = lambda[i];
  small_slack(q);
  for (int friction = 0; friction < 2; friction++)
    for (int i = 0; i < n; i++) {
      if (perp_exact_is_friction(q->p, i) != (friction == 1)) continue;
      real a = 0;
      for (int j = 0; j < n; j++) a = fmaxl(a, fabsl(q->A[i + j * ROWS]));
      const double *x = &lambda[i];
      double lo, hi;
      perp_lcp_bounds(q->p, lambda, i, &lo, &hi);
      small_bounds(q, i);
      q->end[i] = SMALL_INSIDE;
      if (q->w[i] >= a * (*x - (real)lo) && (q->w[i] > 0 || *x <= lo)) {
        q->end[i] = SMALL_LOWER;
        q->x[i] = q->lo[i];
      } else if (q->w[i] <= a * (*x - (real)hi) && (q->w[i] < 0 || *x >= hi)) {
        q->end[i] = SMALL_UPPER;
        q->x[i] = q->hi[i];
      } else
        q->x[i] = fminl(fmaxl(q->x[i], q->lo[i]), q->hi[i]);
    }
  small_slack(q);
}

/* R = A_FF^-1, nearly, of the rows f [m]; false: singular */
static bool small_inverse(const small *q, const int *f, int m, double *R)
{
  double M[ROWS * 2 * ROWS];
  for (int i = 0; i < m; i++)
    for (int j = 0; j < 2 * m; j++)
      M[i * 2 * ROWS + j] = j < m ? (double)q->A[f[i] + f[j] * ROWS] : j - m == i;
  for (int k = 0; k < m; k++) {
    int top = k;
    for (int i = k + 1; i < m; i++)
      if (fabs(M[i * 2 * ROWS + k]) > fabs(M[top * 2 * ROWS + k])) top = i;
    if (!(fabs(M[top * 2 * ROWS + k]) > 0)) return false;
    for (int j = 0; j < 2 * m && top != k; j++) {
      const double kept = M[k * 2 * ROWS + j];
      M[k * 2 * ROWS + j] = M[top * 2 * ROWS + j];
      M[top * 2 * ROWS + j] = kept;
    }
    const double by = 1 / M[k * 2 * ROWS + k];
    for (int j = 0; j < 2 * m; j++) M[k * 2 * ROWS + j] *= by;
    for (int i = 0; i < m; i++) {
      const double f_ik = M[i * 2 * ROWS + k];
      for (int j = 0; j < 2 * m && i != k; j++) M[i * 2 * ROWS + j] -= f_ik * M[k * 2 * ROWS + j];
    }
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      R[i + j * ROWS] = M[i * 2 * ROWS + m + j];
      if (!isfinite(R[i + j * ROWS])) return false;
    }
  return true;
}

/* Is an exact solution near, with the rows where they are?  Dense or sparse A, no friction rows. */
static bool small_regular(const small *q)
{
  const int n = q->n;
  const real eps = 2 * (n + 4) * LDBL_EPSILON;
  int f[ROWS], m = 0;
  double R[ROWS * ROWS];
  if (q->p->F != NULL) return false;
  for (int i = 0; i < n; i++) {
    if (perp_exact_is_friction(q->p, i)) return false;
    if (q->end[i] == SMALL_INSIDE) f[m++] = i;
  }
  if (!small_inverse(q, f, m, R)) return false;
  real off = 0, step = 0; /* |I - R A_FF| and | |R||w_F| |, both in the largest row */
  for (int i = 0; i < m; i++) {
    real row = 0, move = 0;
    for (int j = 0; j < m; j++) {
      real sum = i == j ? -1 : 0, terms = i == j;
      for (int k = 0; k < m; k++) {
        const real product = (real)R[i + k * ROWS] * q->A[f[k] + f[j] * ROWS];
        sum += product;
        terms += fabsl(product);
      }
      row += fabsl(sum) + eps * terms;
      move += fabs(R[i + j * ROWS]) * (fabsl(q->w[f[j]]) + eps * q->size[f[j]]);
    }
    off = fmaxl(off, row);
    step = fmaxl(step, move);
  }
  if (!(off < 0.5L)) return false;
  step *= 2.1L;
  for (int i = 0; i < n; i++) {
    if (q->end[i] == SMALL_INSIDE) {
      if (!(q->x[i] - q->lo[i] > step && q->hi[i] - q->x[i] > step)) return false;
      continue;
    }
    if (q->lo[i] == q->hi[i]) continue;
    real may = eps * q->size[i];
    for (int k = 0; k < m; k++) may += 1.01L * fabsl(q->A[i + f[k] * ROWS]) * step;
    if (!((q->end[i] == SMALL_LOWER ? q->w[i] : -q->w[i]) > may)) return false;
  }
  return true;
}

perp_lcp_exists perp_lcp_small(const perp_lcp *lcp, const double *lambda)
{
  if (lcp->n > ROWS || lcp->n == 0 || lcp->brief) return PERP_EXISTS_UNKNOWN;
  for (int i = 0; i < lcp->n; i++)
    if (perp_lcp_is_cone(lcp, i)) return PERP_EXISTS_UNKNOWN;
  small q = { .p = lcp, .n = lcp->n };
  small_matrix(&q);
  small_rest(&q, lambda);
  if (small_regular(&q)) return PERP_EXISTS_PROVED;
  signed char end[ROWS];
  double found[ROWS];
  for (int i = 0; i < lcp->n; i++)
    end[i] = q.end[i] == SMALL_LOWER   ? PERP_ROW_LO
             : q.end[i] == SMALL_UPPER ? PERP_ROW_HI
                                       : PERP_ROW_FREE;
  switch (perp_exact_exclude(lcp, SMALL_WORK, end, found)) {
  case PERP_EXACT_POSSIBLE:
    return PERP_EXISTS_PROVED;
  case PERP_EXACT_IMPOSSIBLE:
    return PERP_EXISTS_NOT;
  default:
    return PERP_EXISTS_UNKNOWN;
  }
}
