/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/extrapolation.h"

void perp_extrapolation_layout(perp_extrapolation *extrapolation, perp_arena *arena)
{
  for (int j = 0; j < PERP_EXTRAPOLATION_ROWS; j++)
    extrapolation->row[j] = PERP_CARVE(arena, double, extrapolation->n);
}

int perp_extrapolation_parts(int j)
{
  return j + 4;
}

void perp_extrapolation_add(perp_extrapolation *extrapolation, int j)
{
  for (int k = j; k > 0; k--) {
    const double ratio = (double)perp_extrapolation_parts(j) / perp_extrapolation_parts(k - 1);
    const double *finer = extrapolation->row[k];
    double *coarser = extrapolation->row[k - 1];
    for (int i = 0; i < extrapolation->n; i++)
      coarser[i] = finer[i] + (finer[i] - coarser[i]) / (ratio - 1);
  }
}
