/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/extrapolation.h"

void perp_extrapolation_layout(perp_extrapolation *x, perp_arena *a)
{
  for (int j = 0; j < PERP_EXTRAPOLATION_ROWS; j++) x->row[j] = PERP_CARVE(a, double, x->n);
}

int perp_extrapolation_parts(int j)
{
  return j + 4;
}

void perp_extrapolation_add(perp_extrapolation *x, int j)
{
  for (int k = j; k > 0; k--) {
    const double ratio = (double)perp_extrapolation_parts(j) / perp_extrapolation_parts(k - 1);
    const double *finer = x->row[k];
    double *coarser = x->row[k - 1];
    for (int i = 0; i < x->n; i++) coarser[i] = finer[i] + (finer[i] - coarser[i]) / (ratio - 1);
  }
}
