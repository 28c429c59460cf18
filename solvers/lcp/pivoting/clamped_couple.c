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

int perp_clamped_joint(perp_clamped *D, const perp_lcp *p, int k, const int *rows, const int *slot)
{
  const int n = p->n, ld = (int)D->K.ld;
  D->stats->work += perp_pivot_cost(&D->P, n) + (double)k * k * (1 + k / 3.0);
  double *B = D->K.L, *x = D->res;
  memcpy(D->dw, D->lambda, (size_t)n * sizeof *D->dw);
  if (k == 0) return 1;
  for (int u = 0; u < k; u++) {
    const double *col = D->P.A + (size_t)rows[u] * D->P.lda;
    for (int r = 0; r < k; r++) B[r + (size_t)u * D->K.ld] = col[rows[r]];
    D->dw[rows[u]] = 0;
  }
  for (int i = 0; i < n; i++) {
    int j = p->fric_of[i];
    if (j < 0 || slot[i] >= 0 || slot[j] < 0 || D->set[i] == PARKED || D->P.hi[i] == 0) continue;
    const double *col = D->P.A + (size_t)i * D->P.lda;
    double slope = D->set[i] == AT_HI ? p->mu[i] : -p->mu[i];
    for (int r = 0; r < k; r++) B[r + (size_t)slot[j] * D->K.ld] += slope * col[rows[r]];
    D->dw[i] = 0;
  }
  perp_pivot_slack(&D->P, D->dw, D->wp);
  for (int r = 0; r < k; r++) x[r] = -D->wp[rows[r]];
  if (LAPACKE_dgesv_work(LAPACK_COL_MAJOR, k, 1, B, ld, D->K.order, x, k) != 0) return 0;
  for (int u = 0; u < k; u++) {
    if (!isfinite(x[u])) return 0;
    D->dw[rows[u]] = x[u];
  }
  return 1;
}

/* F as a list; its number of rows. */
static int couple_list(perp_clamped *D, const perp_lcp *p, int *rows, int *slot)
{
  int k = 0;
  for (int i = 0; i < p->n; i++) {
    slot[i] = D->set[i] == CLAMPED || D->set[i] == PARKED ? k : -1;
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

void perp_clamped_mark(perp_clamped *D)
{
  const size_t size = (size_t)D->P.n * sizeof *D->lambda;
  memcpy(D->from, D->P.hi, size);
  memcpy(D->before, D->lambda, size);
  memcpy(D->held, D->set, (size_t)D->P.n);
}

void perp_clamped_back(perp_clamped *D, const perp_lcp *p)
{
  const size_t size = (size_t)D->P.n * sizeof *D->lambda;
  memcpy(D->set, D->held, (size_t)D->P.n);
  memcpy(D->lambda, D->before, size);
  memcpy(D->P.hi, D->from, size);
  for (int i = 0; i < p->n; i++)
    if (p->fric_of[i] >= 0) D->P.lo[i] = -D->P.hi[i];
}

int perp_clamped_couple(perp_clamped *D, const perp_lcp *p)
{
  const int n = p->n;
  int *rows = D->list, *slot = D->list + n;
  perp_clamped_mark(D);
  int changes = 1, seed = 1, least = n + 1, patience = PATIENCE;
  for (int round = 0; changes > 0 && round < ROUNDS_MOST; round++) {
    const bool some = patience <= 0;
    for (int i = 0; i < n; i++) /* rows at a limit of 0 move with it, too: perp_clamped_joint */
      if (p->fric_of[i] >= 0) D->P.hi[i] = 1;
    const int k = couple_list(D, p, rows, slot);
    for (int i = 0; i < n; i++)
      if (p->fric_of[i] >= 0 && slot[i] < 0 && slot[p->fric_of[i]] < 0)
        D->lambda[i] = (D->set[i] == AT_HI ? 1 : -1) * p->mu[i] *
                       perp_larger(D->lambda[p->fric_of[i]], 0);
    if (!perp_clamped_joint(D, p, k, rows, slot)) break;
    double zs = D->P.bscale;
    for (int u = 0; u < k; u++) zs = perp_larger(zs, fabs(D->dw[rows[u]]));
    for (int i = 0; i < n; i++) /* what the equations have left out */
      if (p->fric_of[i] >= 0 && slot[i] < 0)
        D->dw[i] = (D->set[i] == AT_HI ? 1 : -1) * p->mu[i] * D->dw[p->fric_of[i]];
    perp_pivot_slack(&D->P, D->dw, D->wp);
    changes = 0;
    for (int i = 0; i < n; i++) {
      const int j = p->fric_of[i];
      const double hi = j < 0 ? D->P.hi[i] : p->mu[i] * perp_larger(D->dw[j], 0),
                   lo = j < 0 ? D->P.lo[i] : -hi;
      const signed char old = D->set[i] == PARKED ? CLAMPED : D->set[i];
      const signed char to = couple_set(old, D->dw[i], D->wp[i], lo, hi, WITHIN * zs);
      D->set[i] = some && lo != hi && perp_pivot_generic(seed++) < 1.5 ? old : to;
      changes += to != old && lo != hi;
      D->lambda[i] = D->set[i] == CLAMPED ? D->dw[i] : D->set[i] == AT_LO ? lo : hi;
    }
    patience = changes < least ? PATIENCE : patience - 1;
    if (changes < least) least = changes;
    perp_clamped_trace(D, "couple", -1, -1, changes);
  }
  for (int i = 0; i < n && changes == 0; i++) {
    if (p->fric_of[i] < 0) continue;
    D->P.hi[i] = p->mu[i] * perp_larger(D->lambda[p->fric_of[i]], 0);
    D->P.lo[i] = -D->P.hi[i];
  }
  if (changes == 0 && perp_pivot_settle(&D->P, D->lambda, D->w) <= ENOUGH) return 1;
  perp_clamped_back(D, p);
  return 0;
}
