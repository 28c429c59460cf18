/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of an answer that no units of rows or columns change, own and own_data of lcp.h.
 *
 * Each row is measured by its own terms, sigma = |A| xi + |b|, and each multiplier by what moves a
 * row by all of its terms, l_j = min_k sigma_k / |A_kj|: with A -> R A C both go with w and lambda,
 * so that the quotients stay.  The backward error: Oettli and Prager 1964.  Long double numbers,
 * whose range no quotient or product of doubles leaves. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

typedef long double real;

/* fmaxl and fminl in place: half of the time of small problems were their calls */
static inline real backward_max(real a, real b)
{
  return a > b || isnan(b) ? a : b;
}
static inline real backward_min(real a, real b)
{
  return a < b || isnan(b) ? a : b;
}

/* Terms of a row from the share 1 / 2n on say how large the multiplier is, as one in each row is.
 * Where that says nothing more, it falls step by step, to the least. */
#define BACKWARD_STEP  (1 / 16.0L)
#define BACKWARD_LEAST 1e-12L
/* Multipliers of a homogeneous row that are less than that share of l say nothing of its size. */
#define BACKWARD_JUNK 1e-11L
/* Bounds other than 0 that are as near are data, so that a multiplier that goes to 0 does not leave
 * such a bound. */
#define BACKWARD_NEAR 2e-10L
/* Rounding that the nearest doubles to a solution leave, too. */
#define BACKWARD_FLOOR (8 * DBL_EPSILON)

typedef struct backward {
  const perp_lcp *p;
  const double *lambda;
  real *sigma, *most; /* [n] sizes of rows, 1 / l */
  real *data, *known; /* [n] what the data make of a row, -1 and -2 where it rests below and above;
                         and of a multiplier */
  real *acc;          /* [n] scratch of factored rows, zeros */
  int *row, *column;  /* [n] rows and columns that have become known and speak next */
  int n_row, n_column;
  real main; /* share of a term that counts */
  bool last; /* multipliers without a unit count as large */
  real part; /* of the column that BACKWARD_JUNK_OF goes down: backward_part */
  real next; /* the largest share of a term that does not count, of BACKWARD_NEXT */
} backward;

/* xi_j: |lambda_j|, of friction rows the limit where that is more */
static real backward_size(const backward *q, int j)
{
  const perp_lcp *lcp = q->p;
  const real x = fabs(q->lambda[j]);
  if (!perp_exact_is_friction(lcp, j)) return x;
  const int i = j > 0 && perp_lcp_is_cone(lcp, j - 1) ? j - 1 : j;
  const real limit = (real)lcp->mu[i] * fmax(q->lambda[lcp->fric_of[i]], 0);
  return x > limit ? x : limit;
}

/* lambda_j in its unit l as far as it is known; infinite where bounds other than 0 are data, too,
 * and at last where it is not */
static real backward_part(const backward *q, int j)
{
  const perp_lcp *lcp = q->p;
  if (!perp_exact_is_friction(lcp, j)) {
    double lo, hi;
    perp_lcp_bounds(lcp, NULL, j, &lo, &hi);
    const real x = fabs(q->lambda[j]), near = BACKWARD_NEAR;
    if (lo > 0 || hi < 0) return HUGE_VALL;
    if (lo < 0 && (x >= -0.5L * lo || -lo * q->most[j] < near)) return HUGE_VALL;
    if (hi > 0 && (x >= 0.5L * hi || hi * q->most[j] < near)) return HUGE_VALL;
  }
  const real x = backward_size(q, j);
  return x == 0 ? 0 : q->most[j] > 0 ? x * q->most[j] : q->last ? HUGE_VALL : 0;
}

/* What is done with A_ij that is not 0, |A_ij| = a. */
enum backward_pass {
  BACKWARD_SIGMA,
  BACKWARD_MOST,
  BACKWARD_JUNK_OF,
  BACKWARD_KNOW,
  BACKWARD_NEXT,
  BACKWARD_DATA
};

static inline __attribute__((always_inline)) void
backward_entry(backward *q, enum backward_pass pass, int i, int j, real a)
{
  switch (pass) {
  case BACKWARD_SIGMA: /* known: xi */
    q->sigma[i] += a * q->known[j];
    break;
  case BACKWARD_MOST: { /* of homogeneous rows those that count; data: is column j in the list? */
    if (q->p->b[i] == 0 && q->known[i] < BACKWARD_JUNK) break;
    const real most = q->sigma[i] > 0 ? a / q->sigma[i] : HUGE_VALL;
    if (!(most > q->most[j])) break;
    q->most[j] = most;
    if (q->data[j] == 0) q->column[q->n_column++] = j;
    q->data[j] = 1;
    break;
  }
  case BACKWARD_JUNK_OF:
    if (q->p->b[i] == 0) {
      if (q->known[i] < BACKWARD_JUNK && !(q->part < BACKWARD_JUNK)) q->row[q->n_row++] = i;
      q->known[i] = backward_max(q->known[i], q->part);
    }
    break;
  case BACKWARD_KNOW: /* of columns that are not known yet */
    if (q->data[i] > 0 && !(q->known[j] < 0) &&
        a * backward_size(q, j) >= q->main * fabsl(q->sigma[i])) {
      const real known = backward_max(q->known[j],
                                      backward_min(backward_size(q, j), q->data[i] / a));
      if (q->known[j] == 0 && known > 0) q->column[q->n_column++] = j;
      q->known[j] = known;
    }
    break;
  case BACKWARD_NEXT: /* likewise */
    if (q->data[i] > 0 && !(q->known[j] < 0)) {
      const real term = a * backward_size(q, j);
      if (term > 0) q->next = backward_max(q->next, term / fabsl(q->sigma[i]));
    }
    break;
  case BACKWARD_DATA: /* of rows that are not known yet */
    if (q->data[i] >= 0 && q->sigma[i] > 0) {
      const real data = backward_max(q->data[i], a * fabsl(q->known[j]));
      if (q->data[i] == 0 && data > 0) q->row[q->n_row++] = i;
      q->data[i] = data;
    }
    break;
  }
}

/* The group of row i of the factored form. */
static int backward_group(const perp_blocks *blocks, int i)
{
  int low = 0, high = blocks->nc - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (blocks->cptr[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Row i of J M^-1 J' + S, of group g, entry by entry; turned: column i, which has the same ones. */
static inline __attribute__((always_inline)) void
backward_factored(backward *q, enum backward_pass pass, int g, int i, bool turned)
{
  real *acc = q->acc;
  const perp_blocks *blocks = q->p->F;
  perp_lcp_long_row(blocks, g, i, acc);
  const real own = acc[i];
  acc[i] = 0;
  if (own != 0) backward_entry(q, pass, i, i, fabsl(own));
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
    for (int t = blocks->tptr[blocks->jblk[k]]; t < blocks->tptr[blocks->jblk[k] + 1]; t++) {
      const int h = blocks->jgrp[blocks->tsub[t]];
      for (int j = blocks->cptr[h]; j < blocks->cptr[h + 1]; j++) {
        if (acc[j] == 0) continue;
        backward_entry(q, pass, turned ? j : i, turned ? i : j, fabsl(acc[j]));
        acc[j] = 0;
      }
    }
}

static inline __attribute__((always_inline)) void backward_along(backward *q,
                                                                 enum backward_pass pass, int i)
{
  const perp_lcp *lcp = q->p;
  for (int j = 0; lcp->A != NULL && j < lcp->n; j++) {
    const double a = lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda];
    if (a != 0) backward_entry(q, pass, i, j, fabs(a));
  }
  for (int k = lcp->C != NULL ? lcp->C->rstart[i] : 0; lcp->C != NULL && k < lcp->C->rstart[i + 1];
       k++)
    if (lcp->C->rvalue[k] != 0) backward_entry(q, pass, i, lcp->C->col[k], fabs(lcp->C->rvalue[k]));
  if (lcp->F != NULL) backward_factored(q, pass, backward_group(lcp->F, i), i, false);
}

static inline __attribute__((always_inline)) void backward_down(backward *q,
                                                                enum backward_pass pass, int j)
{
  const perp_lcp *lcp = q->p;
  for (int i = 0; lcp->A != NULL && i < lcp->n; i++) {
    const double a = lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda];
    if (a != 0) backward_entry(q, pass, i, j, fabs(a));
  }
  for (int k = lcp->C != NULL ? lcp->C->start[j] : 0; lcp->C != NULL && k < lcp->C->start[j + 1];
       k++)
    if (lcp->C->value[k] != 0) backward_entry(q, pass, lcp->C->row[k], j, fabs(lcp->C->value[k]));
  if (lcp->F != NULL) backward_factored(q, pass, backward_group(lcp->F, j), j, true);
}

static inline __attribute__((always_inline)) void backward_all(backward *q, enum backward_pass pass)
{
  for (int j = 0; q->p->F == NULL && j < q->p->n; j++)
    if (pass != BACKWARD_SIGMA || q->known[j] != 0) backward_down(q, pass, j);
  for (int i = 0; q->p->F != NULL && i < q->p->n; i++) backward_along(q, pass, i);
}

/* The rows of the list speak; many rows of a dense A column by column, as they lie. */
static inline __attribute__((always_inline)) void backward_speak(backward *q,
                                                                 enum backward_pass pass)
{
  const bool all = q->p->A != NULL && 8 * q->n_row > q->p->n;
  for (int j = 0; all && j < q->p->n; j++) backward_down(q, pass, j);
  for (int k = 0; !all && k < q->n_row; k++) backward_along(q, pass, q->row[k]);
}

/* (x - bound) / l; where l is 0 (a row without other terms depends on it) or unknown (no row does)
 * 0 or infinite */
static real backward_away(real distance, real most)
{
  if (distance == 0) return 0;
  return most > 0 ? distance * most : distance > 0 ? HUGE_VALL : -HUGE_VALL;
}

/* Are all multipliers of row i, of a homogeneous one that is no row of a cone, nothing in the
 * others? */
static bool backward_junk(const backward *q, int i)
{
  const perp_lcp *lcp = q->p;
  const bool cone = perp_lcp_is_cone(lcp, i) || (i > 0 && perp_lcp_is_cone(lcp, i - 1));
  return lcp->b[i] == 0 && !cone && q->known[i] < BACKWARD_JUNK;
}

/* What is left of row i, or of the two of a cone; *slack: what w has beyond it, less than 0 at an
 * upper bound */
static real backward_row(const backward *q, const double *w, int i, real *slack)
{
  const perp_lcp *lcp = q->p;
  const bool cone = perp_lcp_is_cone(lcp, i);
  double lo, hi;
  perp_lcp_bounds(lcp, q->lambda, i, &lo, &hi);
  *slack = 0;
  if (!cone) {
    real y = q->sigma[i] > 0 ? w[i] / q->sigma[i] : 0;
    if (backward_junk(q, i))
      y = backward_min(backward_max(y, -q->known[i]), q->known[i]); /* right without them */
    const real above = backward_away((real)q->lambda[i] - lo, q->most[i]);
    const real below = backward_away((real)q->lambda[i] - hi, q->most[i]);
    real m = y > above ? above : y;
    m = m < below ? below : m;
    *slack = fabsl(y - m) > PERP_LCP_REST * fabsl(y) ? y - m : 0;
    return fabsl(m);
  }
  const real sigma = hypotl(q->sigma[i], q->sigma[i + 1]);
  const real most = backward_max(q->most[i], q->most[i + 1]);
  if (!(sigma > 0)) return 0;
  if (!(most > 0 && most < HUGE_VALL))
    return hypot(q->lambda[i], q->lambda[i + 1]) > 0 ? HUGE_VALL : 0;
  /* as residual.c's disc_residual, in units of l */
  const real c[2] = { q->lambda[i] * most, q->lambda[i + 1] * most };
  const real y[2] = { w[i] / sigma, w[i + 1] / sigma };
  const real radius = hi * most, l = hypotl(c[0], c[1]), size = hypotl(y[0], y[1]);
  if (!(l > 0)) {
    *slack = backward_max(size - radius, 0);
    return size > radius ? radius : size;
  }
  const real along = (c[0] * y[0] + c[1] * y[1]) / l, across = (c[0] * y[1] - c[1] * y[0]) / l;
  const real beyond = (l - radius) * ((l + radius) / l) - 2 * along + size * (size / l);
  if (!(beyond > 0)) return size;
  const real z = hypotl(c[0] - y[0], c[1] - y[1]);
  *slack = size > l ? backward_max(z - radius, 0) : beyond * (l / (z + radius));
  return hypotl(l - radius, 2 * sqrtl(l) * sqrtl(radius) * sinl(0.5L * atan2l(across, l - along)));
}

/* What the data make of rows, from their b and bounds on: a multiplier is as large as a row makes
 * it in which it is a main term, a row as what such multipliers make of it.  Each gets its size
 * once, from those that have one, so that nothing grows in a circle; those with b_i != 0 in the
 * first round.  Known multipliers and rows are those with known, sigma < 0.  In a round those speak
 * that the one before has made known: each row and column once, and again for a smaller share
 * `main`.  False: nothing is new. */
static bool backward_round(backward *q, bool first)
{
  const perp_lcp *lcp = q->p;
  q->n_column = 0;
  backward_speak(q, BACKWARD_KNOW);
  for (int j = 0; lcp->fric_of != NULL && j < lcp->n; j++) /* limits go with their normal row */
    if (perp_exact_is_friction(lcp, j) && q->data[j] < 0 && q->known[j] == 0) {
      q->known[j] = lcp->mu[j] * fabsl(q->known[lcp->fric_of[j]]);
      if (q->known[j] > 0) q->column[q->n_column++] = j;
    }
  for (int k = 0; k < q->n_column; k++) q->known[q->column[k]] *= -1;
  q->n_row = 0;
  for (int k = 0; !first && k < q->n_column; k++) backward_down(q, BACKWARD_DATA, q->column[k]);
  for (int j = 0; first && j < lcp->n; j++)
    if (q->known[j] < 0) backward_down(q, BACKWARD_DATA, j);
  if (first) q->n_row = 0;
  for (int i = 0; first && i < lcp->n; i++)
    if (q->data[i] > 0 && q->sigma[i] > 0) q->row[q->n_row++] = i;
  for (int k = 0; k < q->n_row; k++) q->sigma[q->row[k]] *= -1;
  return q->n_column > 0 || q->n_row > 0;
}

/* All rows of which the data make something speak. */
static void backward_again(backward *q)
{
  q->n_row = 0;
  for (int i = 0; i < q->p->n; i++)
    if (q->data[i] > 0) q->row[q->n_row++] = i;
}

/* Nothing is new with terms from `main` on: the next share with which there is, of those that fall
 * by BACKWARD_STEP.  In those between, nothing would speak.  False: there is none. */
static bool backward_lower(backward *q)
{
  backward_again(q);
  q->next = 0;
  backward_speak(q, BACKWARD_NEXT);
  q->next *= 1 + 1e-15L; /* its rounding */
  do q->main *= BACKWARD_STEP;
  while (q->main >= BACKWARD_LEAST && q->main > q->next);
  return q->main <= q->next;
}

/* The most that a row leaves of its data, from `floor` of sigma on, or the square of that of any
 * row where it is less than 1 and more; left [n]: of sigma, 0 of rows that rest.  Ends at `enough`.
 */
static real backward_data(backward *q, const real *left, real floor, real enough)
{
  const perp_lcp *lcp = q->p;
  for (int j = 0; j < lcp->n; j++) { /* bounds are data */
    double lo, hi;
    perp_lcp_bounds(lcp, q->lambda, j, &lo, &hi);
    q->known[j] = perp_exact_is_friction(lcp, j) ? 0
                  : q->data[j] < -1              ? -(real)fabs(hi)
                  : q->data[j] < 0               ? -(real)fabs(lo)
                                                 : -backward_max(backward_max(lo, -(real)hi), 0);
  }
  q->main = 0.5L / lcp->n;
  backward_again(q);
  int open = 0; /* all rows before it are known, or rest; of cones one of two is enough */
  for (bool grown = true, first = true;; first = false) {
    while (open < lcp->n && (!(left[open] > 0) || q->data[open] > 0)) open++;
    real worst = open < lcp->n && lcp->cone == NULL ? HUGE_VALL : 0;
    for (int i = 0; i < lcp->n && worst < HUGE_VALL; i++) {
      if (!(left[i] > 0)) continue;
      real size = fabsl(q->sigma[i]), data = q->data[i];
      const int lead = i;
      if (perp_lcp_is_cone(lcp, i)) { /* one row of two components */
        size = hypotl(size, q->sigma[++i]);
        data = hypotl(data, q->data[i]);
      }
      const real of = data > 0 ? left[lead] * (size / data) : HUGE_VALL;
      worst = backward_max(worst, left[lead] > floor || of > 1 ? of : of * of);
    }
    if (worst <= enough || q->main < BACKWARD_LEAST) return worst;
    if (!grown) {
      if (!backward_lower(q)) return worst;
    }
    grown = backward_round(q, first);
  }
}

/* Units of multipliers from rows with b_i = 0, too: from those where a multiplier whose unit is
 * known is more than nothing. known [n] out: of the others, the largest that is in it. */
static void backward_homogeneous(backward *q)
{
  const perp_lcp *lcp = q->p;
  bool homogeneous = false;
  for (int i = 0; i < lcp->n; i++) {
    homogeneous |= lcp->b[i] == 0;
    q->column[i] = i;
  }
  if (!homogeneous) return;
  for (q->n_column = lcp->n;;) {
    q->n_row = 0;
    for (int k = 0; k < q->n_column; k++) {
      q->data[q->column[k]] = 0;
      q->part = backward_part(q, q->column[k]);
      backward_down(q, BACKWARD_JUNK_OF, q->column[k]);
    }
    q->n_column = 0;
    for (int k = 0; k < q->n_row; k++) q->known[q->row[k]] = HUGE_VALL;
    backward_speak(q, BACKWARD_MOST);
    if (q->n_row > 0) continue;
    if (q->last) return;
    q->last = true;
    for (int i = 0; i < lcp->n; i++) q->column[q->n_column++] = i;
  }
}

/* How far w_k may be off, in units of sigma_k: by doubt, and by the half of the smallest number
 * where the terms of a row that counts are so small that w_k may have vanished as a double. */
static real backward_off(const backward *q, const perp_lcp_doubt *doubt, bool junk, int k)
{
  const real sigma = q->sigma[k], lost = 0x1p-1075L;
  if (sigma == 0) return doubt != NULL ? doubt->share : 0;
  return (doubt != NULL ? doubt->share + (doubt->off != NULL ? doubt->off[k] / sigma : 0) : 0) +
         (sigma < lost * 0x1p75L && !junk ? lost / sigma : 0);
}

void perp_lcp_backward(const perp_lcp *lcp, const double *lambda, const double *w,
                       const perp_lcp_doubt *doubt, double *scratch, perp_lcp_own *out)
{
  const size_t n = (size_t)lcp->n;
  real *at = (real *)(((uintptr_t)scratch + _Alignof(real) - 1) & ~(uintptr_t)(_Alignof(real) - 1));
  backward q = { .p = lcp,
                 .lambda = lambda,
                 .sigma = at,
                 .most = at + n,
                 .data = at + 2 * n,
                 .known = at + 3 * n,
                 .acc = at + 4 * n,
                 .row = (int *)(at + 5 * n),
                 .column = (int *)(at + 5 * n) + n };
  real most = 0, least = 0;
  bool any = false;
  for (int i = 0; i < lcp->n; i++) {
    q.sigma[i] = fabs(lcp->b[i]);
    q.most[i] = q.data[i] = q.acc[i] = 0;
    q.known[i] = backward_size(&q, i);
  }
  backward_all(&q, BACKWARD_SIGMA);
  for (int i = 0; i < lcp->n; i++) q.known[i] = 0;
  backward_all(&q, BACKWARD_MOST);
  backward_homogeneous(&q);
  for (int i = 0; i < lcp->n; i++) {
    const int rows = perp_lcp_is_cone(lcp, i) ? 2 : 1;
    real slack, off = 0;
    real left = backward_row(&q, w, i, &slack);
    const bool junk = backward_junk(&q, i);
    for (int k = i; k < i + rows; k++) off = backward_max(off, backward_off(&q, doubt, junk, k));
    if (rows == 2) off *= 1.5L;
    least = backward_max(least, left - off);
    if (!(fabsl(slack) > 2 * off)) slack = 0;
    left += off;
    most = left > most || isnan(left) ? left : most;
    if (slack != 0 || junk) left = 0;
    for (int k = i; k < i + rows; k++) {
      q.data[k] = slack == 0 ? fabs(lcp->b[k]) : slack > 0 ? -1 : -2;
      q.most[k] = left; /* needed no more as it was */
      any |= left > 0;
    }
    i += rows - 1;
  }
  out->most = (double)most;
  out->least = (double)least;
  out->data = any ? (double)backward_data(&q, q.most, doubt != NULL ? 0 : BACKWARD_FLOOR,
                                          doubt != NULL ? doubt->enough : 0)
                  : 0;
}

double perp_lcp_close(const perp_lcp *lcp, double merit, const double *lambda, const double *w,
                      double *scratch)
{
  const double limit = sqrt(lcp->tol);
  const perp_lcp_doubt doubt = { .enough = limit };
  if (lcp->brief || !(merit <= lcp->tol)) return merit;
  perp_lcp_own own;
  perp_lcp_backward(lcp, lambda, w, &doubt, scratch, &own);
  return isnan(own.most) ? own.most : fmax(merit, fmax(own.most, own.data * limit));
}
