/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single numbers of a dense or sparse A. */
#include "solvers/lcp/lcp.h"

double perp_lcp_entry(const perp_lcp *p, int i, int j)
{
  if (p->C != NULL) return perp_columns_at(p->C, i, j);
  return p->A[(size_t)i + (size_t)j * (size_t)p->lda];
}

void perp_lcp_row(const perp_lcp *p, int i, double *row)
{
  if (p->C != NULL)
    perp_columns_row(p->C, i, row);
  else
    for (int j = 0; j < p->n; j++) row[j] = perp_lcp_entry(p, i, j);
}
