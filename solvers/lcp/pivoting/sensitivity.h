/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the solution of a complementarity problem depends on its data: derivatives on the basis, the
 * intervals in which the basis stays, and a verdict where there is no derivative. */
#ifndef PERP_LCP_SENSITIVITY_H
#define PERP_LCP_SENSITIVITY_H

#include "solvers/lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_lcp_basis {
  PERP_BASIS_REGULAR = 0, /* differentiable */
  PERP_BASIS_DEGENERATE,  /* strict complementarity fails in some row: derivatives to each side */
  PERP_BASIS_SINGULAR,    /* the matrix of the free rows is singular: no derivatives */
  PERP_BASIS_NONE         /* lambda is no solution: no derivatives */
} perp_lcp_basis;

/* How lambda depends on b_i. */
typedef enum perp_lcp_smooth {
  PERP_SMOOTH = 0,   /* differentiable */
  PERP_SMOOTH_SIDES, /* derivatives to both sides, which differ */
  PERP_SMOOTH_UP,    /* a derivative for rising b_i alone */
  PERP_SMOOTH_DOWN,  /* for falling b_i alone */
  PERP_SMOOTH_NOT,   /* neither: no, or several, solutions beside lambda */
  PERP_SMOOTH_OPEN   /* not decided: more than PERP_SENSITIVITY_WEAK degenerate rows */
} perp_lcp_smooth;
enum { PERP_SENSITIVITY_WEAK = 8 };

/* Arrays of the caller to be filled, NULL: not wanted.  Matrices are column-major without gaps. */
typedef struct perp_lcp_sensitivity {
  unsigned char *sets;   /* [n] PERP_SET_* of solution_set.h: LO, FREE, HI; several: degenerate */
  double *db;            /* [n n] d lambda_k / d b_i at [k + i n], for rising b_i */
  double *db_down;       /* [n n] the same for falling b_i (d lambda / d b_i from below) */
  perp_lcp_smooth *kind; /* [n] of b_i */
  double *dbound;        /* [n n] d lambda_k / d (the bound that row i rests on); 0: on none */
  double *dmu;           /* [n n] d lambda_k / d mu_i; 0: row i is no friction at its limit */
  double *least, *most;  /* [n] interval of b_i in which lambda is linear to the side */
  int *least_row, *most_row; /* [n] the row whose set changes there; -1: none, it is infinite */
  /* out */
  perp_lcp_basis verdict;
  int row;                  /* degenerate, none: the first such row; else -1 */
  int free_rows, weak_rows; /* free; where strict complementarity fails */
  double rcond; /* reciprocal condition of the matrix of the free rows, rows and columns scaled
                 * (1-norm estimate); 1 where there are none */
} perp_lcp_sensitivity;

/* Sensitivities of a solution lambda [n] of a problem with plain bounds or boxed friction, any A.
 *
 * With lambda = T y, y the free multipliers F (friction at its limit follows its normal: y_t =
 * lambda_t -+ mu lambda_n = 0),
 *
 *      (A T)_FF y_F = -b_F - constants,       d lambda / d b = -T_F ((A T)_FF)^-1 E_F'
 *
 *      d w / d b = I + A d lambda / d b,      d lambda_k / d A_ij = (d lambda_k / d b_i) lambda_j
 *
 * since A_ij enters row i as b_i does.  d lambda / d b_i = 0 for rows that are not free.
 *
 * Where strict complementarity fails (lambda_i at a bound and w_i = 0), the derivative in a
 * direction solves the problem without constants in which these rows alone have a choice
 * (Robinson 1980; Cottle, Pang and Stone 1992, section 7.4); all its solutions are enumerated for
 * up to PERP_SENSITIVITY_WEAK such rows.  `dbound` and `dmu` are then NaN, as are columns of db or
 * db_down without a derivative; with PERP_BASIS_SINGULAR and PERP_BASIS_NONE everything but sets.
 * dbound of a normal row at 0 with friction is NaN.
 *
 * least, most: b_i + t with lambda(t) = lambda + t d lambda / d b_i a solution, the ranging of
 * linear programming; from below by db_down, from above by db.
 *
 * zero: what counts as 0, as in perp_lcp_row_sets (0: 1e-9).  The matrix counts as singular where
 * rcond < 16 n eps.
 * PERP_ERR_UNSUPPORTED: a factored A (form it: perp_lcp_problem_form), circular cones (solve as
 * boxes or pyramids); PERP_ERR_ARG: numbers that are not finite; PERP_ERR_NOMEM; else as
 * perp_lcp_check. Outputs are undefined after an error.  O(n^3) and 2 n enumerations of weak rows;
 * allocates 3 n^2 numbers. */
perp_status perp_lcp_sensitivity_find(perp_ctx *ctx, const perp_lcp *lcp, const double *lambda,
                                      double zero, perp_lcp_sensitivity *out);

/* dlambda [n] = db (dA lambda + b'), the change of lambda by a change of A by dA [lda n] (NULL:
 * none) and of b by b' [n] (NULL: none), of a regular basis with the matrix db [n n].  O(n^2). */
void perp_lcp_sensitivity_apply(int n, const double *db, const double *lambda, const double *dA,
                                int lda, const double *change, double *dlambda);

#ifdef __cplusplus
}
#endif

#endif
