/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single numbers of a dense or sparse A. */
#include "solvers/lcp/lcp.h"

double perp_lcp_entry(const perp_lcp *lcp, int i, int j)
{
  if (lcp->C != NULL) return perp_columns_at(lcp->C, i, j);
  return lcp->A[(size_t)i + (size_t)j * (size_t)lcp->lda];
}

void perp_lcp_row(const perp_lcp *lcp, int i, double *row)
{
  if (lcp->C != NULL)
    perp_columns_row(lcp->C, i, row);
  else
    for (int j = 0; j < lcp->n; j++) row[j] = perp_lcp_entry(lcp, i, j);
}
