/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coulomb's law as a cone complementarity problem, for methods that move all contacts at once.
 *
 * De Saxce and Feng 1998: with Gamma(w) = (mu |w_T|, 0, 0) on the normal rows the law of a contact
 * is lambda in K,   y = w + Gamma(w) in K*,   lambda'y = 0,       K: |lambda_T| <= mu lambda_n. The
 * weights d are those of rows, the largest of a contact, so that the nearest point of K in their
 * norm is that of the plain one, contact by contact, and units and mass ratios between contacts do
 * not matter.
 *
 * Rows without friction take part with K their bounds and Gamma = 0.  Friction boxes are the cones
 * |T_k| <= mu_k n, with Gamma_n = sum mu_k |w_k|.  Where the normal row may be negative (a
 * bilateral row with friction) the set is no cone: its friction rows are then projected on the
 * limits of the new normal multiplier, with Gamma = 0, and what is fixed is the natural map. */
#ifndef PERP_LCP_DESAXCE_H
#define PERP_LCP_DESAXCE_H

#include "solvers/lcp/rows/rows.h"

typedef struct perp_desaxce {
  const perp_rows *R;
  double *d;          /* [max_n] weights: A_ii, the largest of a contact */
  int *first, *other; /* [max_n] friction rows of a normal row, a list, a pair by its first row; -1:
                         the end */
} perp_desaxce;

void perp_desaxce_layout(perp_desaxce *desaxce, int max_n, perp_arena *arena);
/* Read prepared rows.  O(n), no allocation, as below. */
void perp_desaxce_open(perp_desaxce *desaxce, const perp_rows *rows);
/* y = P_K(v), may be v. */
void perp_desaxce_project(const perp_desaxce *desaxce, const double *v, double *y);
/* gamma = Gamma(w). */
void perp_desaxce_correct(const perp_desaxce *desaxce, const double *w, double *gamma);
/* Is the set of the contact with normal row j a cone? */
static inline bool perp_desaxce_cone(const perp_desaxce *desaxce, int j)
{
  return desaxce->first[j] >= 0 && desaxce->R->type[j] == PERP_ROW_BOUNDED &&
         desaxce->R->lo[j] >= 0;
}

#endif
