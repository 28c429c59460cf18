/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction limits and sets at once: block exchanges with limits that move along.
 *
 * With lambda_i = +-mu_i lambda_n in the friction rows at a limit, as long as no row changes its
 * set, w_F = 0 is one system of linear equations, not symmetric, in lambda_F.  Its solution may be
 * outside of the bounds that it makes, or leave rows at a bound that are pushed off it: all of
 * these change their sets, or, after rounds that have not made them fewer, about half of them,
 * which breaks cycles; and the next system is solved, until none does.  That is the semismooth
 * Newton method on the natural map with its coupled bounds (Alart and Curnier 1991; STAR
 * 2012, 4.4), from the sets of a boxed solution (clamped_limits.c).  It ends in a few rounds, or
 * not: nothing makes it go down.  O(k^3 2/3) a round. */
#include "solvers/lcp/pivoting/clamped.h"

#include <lapacke.h>
#include <string.h>

enum { ROUNDS_MOST = 100, PATIENCE = 6 }; /* in all, and without fewer changes than ever */
static const double WITHIN = 1e-13;       /* of the largest multiplier */
static const double ENOUGH = 1e-12;       /* residual of a solution */

int perp_clamped_joint(perp_clamped *clamped, const perp_lcp *lcp, int k, const int *rows,
                       const int *slot)
{
  const int n = lcp->n, ld = (int)clamped->K.ld;
  clamped->stats->work += perp_pivot_cost(&clamped->P, n) + (double)k * k * (1 + k / 3.0);
  double *B = clamped->K.L, *x = clamped->res;
  memcpy(clamped->dw, clamped->lambda, (size_t)n * sizeof *clamped->dw);
  if (k == 0) return 1;
  for (int u = 0; u < k; u++) {
    const double *col = clamped->P.A + (size_t)rows[u] * clamped->P.lda;
    for (int r = 0; r < k; r++) B[r + (size_t)u * clamped->K.ld] = col[rows[r]];
    clamped->dw[rows[u]] = 0;
  }
  for (int i = 0; i < n; i++) {
    int j = lcp->fric_of[i];
    if (j < 0 || slot[i] >= 0 || slot[j] < 0 || clamped->set[i] == PARKED || clamped->P.hi[i] == 0)
      continue;
    const double *col = clamped->P.A + (size_t)i * clamped->P.lda;
    double slope = clamped->set[i] == AT_HI ? lcp->mu[i] : -lcp->mu[i];
    for (int r = 0; r < k; r++) B[r + (size_t)slot[j] * clamped->K.ld] += slope * col[rows[r]];
    clamped->dw[i] = 0;
  }
  perp_pivot_slack(&clamped->P, clamped->dw, clamped->wp);
  for (int r = 0; r < k; r++) x[r] = -clamped->wp[rows[r]];
  if (LAPACKE_dgesv_work(LAPACK_COL_MAJOR, k, 1, B, ld, clamped->K.order, x, k) != 0) return 0;
  for (int u = 0; u < k; u++) {
    if (!isfinite(x[u])) return 0;
    clamped->dw[rows[u]] = x[u];
  }
  return 1;
}

/* F as a list; its number of rows. */
static int couple_list(perp_clamped *clamped, const perp_lcp *lcp, int *rows, int *slot)
{
  int k = 0;
  for (int i = 0; i < lcp->n; i++) {
    slot[i] = clamped->set[i] == CLAMPED || clamped->set[i] == PARKED ? k : -1;
    if (slot[i] >= 0) rows[k++] = i;
  }
  return k;
}

/* The set of row i with lambda_i = x, w_i = w and these bounds. */
static signed char couple_set(signed char set, double x, double w, double lo, double hi,
                              double zero)
{
  if (lo == hi) return w >= 0 ? AT_LO : AT_HI;
  if (set == CLAMPED) return x < lo - zero ? AT_LO : x > hi + zero ? AT_HI : CLAMPED;
  return (set == AT_LO && w < 0) || (set == AT_HI && w > 0) ? CLAMPED : set;
}

void perp_clamped_mark(perp_clamped *clamped)
{
  const size_t size = (size_t)clamped->P.n * sizeof *clamped->lambda;
  memcpy(clamped->from, clamped->P.hi, size);
  memcpy(clamped->before, clamped->lambda, size);
  memcpy(clamped->held, clamped->set, (size_t)clamped->P.n);
}

void perp_clamped_back(perp_clamped *clamped, const perp_lcp *lcp)
{
  const size_t size = (size_t)clamped->P.n * sizeof *clamped->lambda;
  memcpy(clamped->set, clamped->held, (size_t)clamped->P.n);
  memcpy(clamped->lambda, clamped->before, size);
  memcpy(clamped->P.hi, clamped->from, size);
  for (int i = 0; i < lcp->n; i++)
    if (lcp->fric_of[i] >= 0) clamped->P.lo[i] = -clamped->P.hi[i];
}

int perp_clamped_couple(perp_clamped *clamped, const perp_lcp *lcp)
{
  const int n = lcp->n;
  int *rows = clamped->list, *slot = clamped->list + n;
  perp_clamped_mark(clamped);
  int changes = 1, seed = 1, least = n + 1, patience = PATIENCE;
  for (int round = 0; changes > 0 && round < ROUNDS_MOST; round++) {
    const bool some = patience <= 0;
    for (int i = 0; i < n; i++) /* rows at a limit of 0 move with it, too: perp_clamped_joint */
      if (lcp->fric_of[i] >= 0) clamped->P.hi[i] = 1;
    const int k = couple_list(clamped, lcp, rows, slot);
    for (int i = 0; i < n; i++)
      if (lcp->fric_of[i] >= 0 && slot[i] < 0 && slot[lcp->fric_of[i]] < 0)
        clamped->lambda[i] = (clamped->set[i] == AT_HI ? 1 : -1) * lcp->mu[i] *
                             perp_larger(clamped->lambda[lcp->fric_of[i]], 0);
    if (!perp_clamped_joint(clamped, lcp, k, rows, slot)) break;
    double zs = clamped->P.bscale;
    for (int u = 0; u < k; u++) zs = perp_larger(zs, fabs(clamped->dw[rows[u]]));
    for (int i = 0; i < n; i++) /* what the equations have left out */
      if (lcp->fric_of[i] >= 0 && slot[i] < 0)
        clamped->dw[i] = (clamped->set[i] == AT_HI ? 1 : -1) * lcp->mu[i] *
                         clamped->dw[lcp->fric_of[i]];
    perp_pivot_slack(&clamped->P, clamped->dw, clamped->wp);
    changes = 0;
    for (int i = 0; i < n; i++) {
      const int j = lcp->fric_of[i];
      const double hi = j < 0 ? clamped->P.hi[i] : lcp->mu[i] * perp_larger(clamped->dw[j], 0),
                   lo = j < 0 ? clamped->P.lo[i] : -hi;
      const signed char old = clamped->set[i] == PARKED ? CLAMPED : clamped->set[i];
      const signed char to = couple_set(old, clamped->dw[i], clamped->wp[i], lo, hi, WITHIN * zs);
      clamped->set[i] = some && lo != hi && perp_pivot_generic(seed++) < 1.5 ? old : to;
      changes += to != old && lo != hi;
      clamped->lambda[i] = clamped->set[i] == CLAMPED ? clamped->dw[i]
                           : clamped->set[i] == AT_LO ? lo
                                                      : hi;
    }
    patience = changes < least ? PATIENCE : patience - 1;
    if (changes < least) least = changes;
    perp_clamped_trace(clamped, "couple", -1, -1, changes);
  }
  for (int i = 0; i < n && changes == 0; i++) {
    if (lcp->fric_of[i] < 0) continue;
    clamped->P.hi[i] = lcp->mu[i] * perp_larger(clamped->lambda[lcp->fric_of[i]], 0);
    clamped->P.lo[i] = -clamped->P.hi[i];
  }
  if (changes == 0 && perp_pivot_settle(&clamped->P, clamped->lambda, clamped->w) <= ENOUGH)
    return 1;
  perp_clamped_back(clamped, lcp);
  return 0;
}
