/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain of coarser problems for the start of active sets: nested iteration.
 *
 * The rows of A are split into coarse ones and those that depend strongly on one of them (Ruge and
 * Stueben 1987, section 4.6.1: the independent set of one pass, A_ij <= theta min_k A_ik with theta
 * = 1/4).  The others are interpolated, P_ij = -(A_ij / a_i) (sum of negative A_ik) / (sum of A_ik
 * over strong coarse k), a_i = A_ii + sum of positive A_ik, the direct interpolation of
 * section 4.4. The coarse problem is
 *
 *      P'A P y + P'b = w,    lo_C <= y <= hi_C,    w complementary.
 *
 * Only its index sets are used, as a start for the sets of the finer problem, so nothing of it
 * stands in an answer. */
#ifndef PERP_LCP_COARSE_H
#define PERP_LCP_COARSE_H

#include "solvers/core/core.h"

#include <suitesparse/cholmod.h>

enum { PERP_AT_LO = -1, PERP_BETWEEN = 0, PERP_AT_HI = 1 };

typedef struct perp_level {
  int n;
  bool symmetric;
  cholmod_sparse *A;       /* n x n, both triangles, rows ascending */
  cholmod_sparse *turned;  /* A', the same object as A where it is symmetric */
  cholmod_sparse *weights; /* P' [coarser n x n], NULL: there is no coarser one */
  const double *b, *lo, *hi;
  double *own;      /* [3 n] where they are, but for the finest problem */
  signed char *set; /* [n] PERP_AT_LO ... */
} perp_level;

/* The coarser problem of fine, whose A, b, lo, hi are set; fills fine->turned and fine->weights.
 * False: there is none that is much smaller and as sparse, or no memory (cm->status < 0).
 * O(numbers) for patterns of grids.  Allocates; perp_level_free of both. */
bool perp_level_coarsen(perp_level *fine, perp_level *coarse, cholmod_common *cm);
/* fine->set from coarse->set: a row is at a bound where all that it is interpolated from is, and
 * where, besides, no neighbour is between its bounds: sets of free rows shrink in large steps and
 * grow in small ones.  scratch [n]. */
void perp_level_prolong(const perp_level *coarse, perp_level *fine, signed char *scratch);
/* All but the A, b, lo, hi of the finest problem, which are the caller's. */
void perp_level_free(perp_level *level, bool finest, cholmod_common *cm);

#endif
