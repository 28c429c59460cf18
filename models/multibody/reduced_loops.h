/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops in joint coordinates: the joints that no tree needs stay constraints, see reduced_loops.c.
 */
#ifndef PERP_REDUCED_LOOPS_H
#define PERP_REDUCED_LOOPS_H

#include "models/multibody/reduced_tree.h"
#include "models/multibody/model_private.h"

typedef struct perp_reduced_loops {
  perp_reduced_tree *tree;
  const perp_eval *e;     /* the model, with J and C at the state that the tree is in */
  int all;                /* rows of the loops, tree->cut_rows */
  int m;                  /* of these that are asked, the first in row: others depend on them */
  bool chosen;            /* they were chosen */
  bool factored;          /* A + delta I is positive definite */
  int *row;               /* [all] rows of the model */
  int *pivot, *order;     /* [all] scratch */
  double *W, *A, *L;      /* [nu x m] H^-1 S' J'; [m x m] A, factor of A + delta I, column-major */
  double *r, *c, *lambda; /* [m] */
  double *work;           /* [2 all] */
  double *a, *f;          /* [nv] of the model */
  double *rows;           /* [rows of the model] */
} perp_reduced_loops;

/* tree, e, m and all are there. */
void perp_reduced_loops_layout(perp_reduced_loops *loops, perp_arena *arena);
/* After the layout. */
void perp_reduced_loops_start(perp_reduced_loops *loops);
/* x [m]: J vm and C of the loops, in m and m/s (radians where a row is one). */
void perp_reduced_loops_rate(perp_reduced_loops *loops, const double *vm, double *x);
void perp_reduced_loops_error(const perp_reduced_loops *loops, double *x);
/* W and A after perp_reduced_accelerate or perp_reduced_velocity at the state.  O(m (n + nnz J) +
 * m^3), no allocation. */
void perp_reduced_loops_factor(perp_reduced_loops *loops);
/* Leave out the rows that depend on others, at a state on the loops where perp_reduced_velocity was
 * called: as many as there are the first time. */
void perp_reduced_loops_choose(perp_reduced_loops *loops);
/* The largest |C| of a row that is left out. */
double perp_reduced_loops_left(const perp_reduced_loops *loops);
/* udot [nu] in: of perp_reduced_accelerate, just called; out: with the forces of the loops, so that
 * J a + Jdot v = 0. vm [nv] the velocities of the model.  false: the rows contradict each other.
 * Cost as above. */
bool perp_reduced_loops_accelerate(perp_reduced_loops *loops, const double *vm, double *udot);
/* du [nu] = -W A^-1 x, which takes away a violation x [m]: shortest in the metric of H.  After a
 * factor. */
void perp_reduced_loops_correct(perp_reduced_loops *loops, const double *x, double *du);

#endif
