/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact problems with several solutions: are the impulses unique, and which impulses of least
 * norm stop all sliding?
 *
 * u = A lambda + b, A = J H J' symmetric semidefinite.  Contacts have r rows (n, t1, t2) each,
 * further rows have bounds:
 *
 *      0 <= lambda_n  perp  u_n >= 0,   |lambda_t| <= mu lambda_n, opposed to u_t
 *
 *      lo <= lambda <= hi
 *
 * Redundant rows leave the impulses open: with four contacts on a face the normal impulses have one
 * degree of freedom at least.  Where all contacts stick, the velocities are the same for all of
 * them.  Where contacts slide they may differ, as friction is bounded by normal impulses that the
 * bodies do not determine: a box that two fingers hold may stick, or swing about two corners that
 * bear everything.  Both solve Coulomb's law exactly (Moreau 1988; Pang and Trinkle 2000,
 * "Stability characterizations of rigid body contact problems with Coulomb friction": a sticking
 * solution is one of several). */
#ifndef PERP_LCP_UNIQUE_H
#define PERP_LCP_UNIQUE_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of the largest problem that is examined. */
enum { PERP_UNIQUE_ROWS = 96 };

typedef struct perp_unique_problem {
  int nc, r,
      n; /* contacts, rows of each (1 to 3), all rows: the last n - r nc have bounds of their own */
  const double *A; /* [lda n] column-major, symmetric */
  int lda;
  const double *b;       /* [n] m/s */
  const double *mu;      /* [nc] */
  const double *lo, *hi; /* [n - r nc] */
  double tol;            /* m/s: smaller velocities are zero */
} perp_unique_problem;

typedef struct perp_unique perp_unique;
/* Memory for problems of up to PERP_UNIQUE_ROWS rows, 0.5 MB; PERP_ERR_NOMEM. */
perp_status perp_unique_create(perp_ctx *ctx, perp_unique **out);
void perp_unique_destroy(perp_unique *unique); /* NULL is fine */

/* Are the impulses of the solution lambda [n], w = A lambda + b [n], unique?  They are not exactly
 * if there is d != 0 with A d = 0 that keeps lambda + t d within the bounds for small t > 0:
 * normals at 0 do not fall, friction of a sliding contact follows its normal, friction at its limit
 * does not grow beyond it.  The rows that may change both ways span a space whose rank decides
 * (pivoted Cholesky, relative 1e-10 of A: 1e-5 of the rows); for those that may change one way it
 * is decided whether 0 is in their convex hull (Wolfe 1976, by conditional gradients with away
 * steps).  The friction cone of a contact without impulse counts as a pyramid of four edges within
 * it.  O(n^3), no allocation. */
bool perp_unique_impulses(perp_unique *unique, const perp_unique_problem *problem,
                          const double *lambda, const double *w);

/* The impulses nearest to those in lambda [n] that stop everything which touches: u = 0 at all
 * contacts that touch in the solution (lambda_s, w_s), and at all further rows within their bounds,
 * with |lambda_t| <= mu lambda_n.  From lambda = 0 these are the impulses of least Euclidean norm.
 * They are the projection on an affine space and a product of cones by Dykstra's method (Boyle and
 * Dykstra 1986).  False: none were found; lambda is then undefined.  Where contacts do not touch,
 * other velocities are not looked at: the caller judges the answer.  O(n^2 rank), and O(n rank) for
 * each of at most 300 passes; no allocation. */
bool perp_unique_stick(perp_unique *unique, const perp_unique_problem *problem,
                       const double *lambda_s, const double *w_s, double *lambda);

/* The solution lambda [n], w = A lambda + b [n], both in and out, to rounding, with the same
 * contacts that stick, slide and are open: Newton's method on their equations.  A contact slides
 * where |w_t| > tol.  law: the directions of its friction, PERP_UNIQUE_OTHER: those of lambda.
 * *error [m/s]: of w, the change by the last iteration, not less than rounding.  False: the
 * equations have no solution, and lambda is undefined.  Bounds and signs are not looked at: the
 * caller judges the answer by its law.  O(n^3) for each of at most 12 iterations; no allocation. */
enum { PERP_UNIQUE_BOX, PERP_UNIQUE_CIRCLE, PERP_UNIQUE_OTHER };
bool perp_unique_polish(perp_unique *unique, const perp_unique_problem *problem, int law,
                        double *lambda, double *w, double *error);

#ifdef __cplusplus
}
#endif

#endif
