/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Independent velocities in the null space of J (Kim and Vanderploeg 1986): QR with column pivoting
 * of J' finds the rank and splits the space of increments in the directions across the constraints,
 * and those along them, which are integrated.  At the position of the choice a dependent direction
 * does not move at all.  partition.c has the equations and the step. */
#include "models/formulations/dae/partition.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

/* J' = Q R P' */
static bool tangent_choose(int m, int nv, double *J, double *Q, int *rank, int *pivot, double *copy,
                           double *work)
{
  const int k = m < nv ? m : nv, lwork = perp_partition_work(m, nv) - k;
  double *tau = work + lwork;
  for (int i = 0; i < m; i++) {
    pivot[i] = 0;
    for (int j = 0; j < nv; j++)
      copy[(size_t)j + (size_t)i * (size_t)nv] = J[(size_t)i + (size_t)j * (size_t)m];
  }
  if (k > 0 && LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, nv, m, copy, nv, pivot, tau, work, lwork) != 0)
    return false;
  *rank = 0;
  while (*rank < k &&
         fabs(copy[(size_t)*rank * ((size_t)nv + 1)]) > PERP_PARTITION_DEPENDENT * fabs(copy[0]))
    ++*rank;
  memcpy(Q, copy, (size_t)k * (size_t)nv * sizeof *Q);
  if (k > 0) return LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, nv, nv, k, Q, nv, tau, work, lwork) == 0;
  memset(Q, 0, (size_t)nv * (size_t)nv * sizeof *Q);
  for (int j = 0; j < nv; j++) Q[(size_t)j * ((size_t)nv + 1)] = 1;
  return true;
}

static perp_status tangent_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  return perp_partition_create(ctx, model, parts, h, tangent_choose, ws);
}

const perp_formulation_desc perp_formulation_tangent_coordinates = {
  .d = { .name = "tangent-coordinates",
         .summary = "Coordinates in the null space of J by QR are integrated (Kim, Vanderploeg)",
         .reference = "Kim and Vanderploeg 1986",
         .equation = "J' = [Y N] R,  u = N y + Y w,  C(q* [+] u) = 0 gives w(y),  y'' = N' u''",
         .caps = PERP_PARTITION_CAPS },
  .create = tangent_create,
  PERP_PARTITION_CALLS,
};
