/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generalized coordinate partitioning (Wehage and Haug 1982): of the coordinates themselves some
 * are independent and are integrated, the others follow from the constraints at each evaluation.
 * Which says Gaussian elimination of J with full pivoting: the columns of the pivots are dependent.
 * partition.c has the equations and the step. */
#include "models/formulations/dae/partition.h"

#include <math.h>
#include <string.h>

/* Columns in the order of the pivots to Q. */
static bool coordinates_choose(int m, int nv, double *J, double *Q, int *rank, int *order,
                               double *copy, double *work)
{
  double first = 0;
  (void)copy;
  (void)work;
  const size_t ld = (size_t)m;
  for (int j = 0; j < nv; j++) order[j] = j;
  for (*rank = 0; *rank < m && *rank < nv; ++*rank) {
    int row = *rank, column = *rank;
    const int k = *rank;
    for (int j = k; j < nv; j++)
      for (int i = k; i < m; i++)
        if (fabs(J[(size_t)i + (size_t)j * ld]) > fabs(J[(size_t)row + (size_t)column * ld]))
          row = i, column = j;
    const double pivot = J[(size_t)row + (size_t)column * ld];
    if (k == 0) first = fabs(pivot);
    if (!(fabs(pivot) > PERP_PARTITION_DEPENDENT * first)) break;
    for (int i = 0; i < m; i++) {
      const double x = J[(size_t)i + (size_t)k * ld];
      J[(size_t)i + (size_t)k * ld] = J[(size_t)i + (size_t)column * ld];
      J[(size_t)i + (size_t)column * ld] = x;
    }
    for (int j = 0; j < nv; j++) {
      const double x = J[(size_t)k + (size_t)j * ld];
      J[(size_t)k + (size_t)j * ld] = J[(size_t)row + (size_t)j * ld];
      J[(size_t)row + (size_t)j * ld] = x;
    }
    const int number = order[k];
    order[k] = order[column];
    order[column] = number;
    for (int i = k + 1; i < m; i++) {
      const double by = J[(size_t)i + (size_t)k * ld] / pivot;
      for (int j = k; j < nv && by != 0; j++)
        J[(size_t)i + (size_t)j * ld] -= by * J[(size_t)k + (size_t)j * ld];
    }
  }
  memset(Q, 0, (size_t)nv * (size_t)nv * sizeof *Q);
  for (int j = 0; j < nv; j++) Q[(size_t)j * (size_t)nv + (size_t)order[j]] = 1;
  return true;
}

static perp_status coordinates_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                      double h, void **ws)
{
  return perp_partition_create(ctx, model, parts, h, coordinates_choose, ws);
}

const perp_formulation_desc perp_formulation_coordinate_partitioning = {
  .d = { .name = "coordinate-partitioning",
         .summary = "Independent coordinates are integrated, the others follow (Wehage and Haug)",
         .reference = "Wehage and Haug 1982",
         .equation = "u = N y + Y w,  C(q* [+] u) = 0 gives w(y),  y'' = N' u''",
         .caps = PERP_PARTITION_CAPS },
  .create = coordinates_create,
  PERP_PARTITION_CALLS,
};
