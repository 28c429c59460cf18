/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extrapolation of a method of order one to the step 0, the Aitken-Neville table (Hairer, Norsett
 * and Wanner, Solving Ordinary Differential Equations I, II.9; of time stepping with contacts
 * Studer 2009).  The step H is made again and again, in n_j = 4, 5, 6, ... parts, and
 *
 *      T_j1 = the end after n_j parts,     T_jk+1 = T_jk + (T_jk - T_j-1k) / (n_j / n_j-k - 1)
 *
 * so that T_jk is of order k as long as the end has an expansion in powers of H / n: no event
 * within H.  No row has less than 4 parts: what the start of a step leaves in the velocities of the
 * first two (gap / h, C / h) is gone then, and two parts that are alike are left to look at. */
#ifndef PERP_EXTRAPOLATION_H
#define PERP_EXTRAPOLATION_H

#include "solvers/core/core.h"

enum { PERP_EXTRAPOLATION_ROWS = 8 };

typedef struct perp_extrapolation {
  int n;                                /* numbers */
  double *row[PERP_EXTRAPOLATION_ROWS]; /* [n] each */
} perp_extrapolation;

void perp_extrapolation_layout(perp_extrapolation *extrapolation, perp_arena *arena);
/* Parts n_j of the step in row j = 0, 1, ... */
int perp_extrapolation_parts(int j);
/* extrapolation->row[j] holds T_j1, the rows before are in.  After it row[0] is the last of the
 * diagonal, of order j + 1, and row[1] the number beside it, of order j. O(n j). */
void perp_extrapolation_add(perp_extrapolation *extrapolation, int j);

#endif
