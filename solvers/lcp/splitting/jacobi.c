/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projected Jacobi: all rows at once from the same slack.
 *
 *      lambda <- clamp(lambda - omega D^-1 w, lo, hi),   w = A lambda + b.
 *
 * STAR 2012, section 4.3.1, splitting M = D.  With the bare diagonal (option plain) it diverges as
 * soon as the spectral radius of D^-1 A exceeds 2 / omega, which four contacts under one box
 * already do; the default takes D with D - A positive semidefinite (row sums of |A|, or,
 * matrix-free, every block of velocities shared out evenly among the rows that touch it, known as
 * mass splitting), which makes the objective decrease for every omega <= 1 and symmetric positive
 * semidefinite A. One product with A per sweep; friction rows take their limits from the new normal
 * multipliers. */
#include "solvers/lcp/splitting/splitting.h"

#include <math.h>

static const perp_opt options[] = {
  PERP_REAL(struct perp_splitting_opts, omega, 1, 0, 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Relaxation factor."),
  PERP_BOOL(struct perp_splitting_opts, plain, 0,
            "Use the plain diagonal A_ii. Convergence is then not guaranteed."),
  PERP_SPLITTING_STOP, PERP_OPTIONS_END
};

static double jacobi_step(perp_splitting *splitting, double *lambda, int iteration)
{
  perp_rows *rows = &splitting->rows;
  double *d = splitting->aux, worst = 0;
  if (iteration == 1) {
    perp_rows_majorant(rows, d);
    for (int i = 0; i < rows->n; i++)
      if (splitting->o.plain) d[i] = rows->inv[i] > 0 ? splitting->o.omega / rows->inv[i] : 1;
  }
  perp_rows_w(rows, lambda, splitting->slack);
  for (int i = 0; i < rows->n; i++)
    splitting->slack[i] = lambda[i] - splitting->o.omega * splitting->slack[i] / d[i];
  perp_rows_project(rows, splitting->slack, splitting->slack);
  for (int i = 0; i < rows->n; i++) {
    double change = fabs(splitting->slack[i] - lambda[i]);
    if (!(change <= worst)) worst = change;
    lambda[i] = splitting->slack[i];
  }
  return worst / splitting->o.omega;
}

static perp_status jacobi_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                double *certificate, perp_stats *stats)
{
  return perp_splitting_solve(ctx, ws, lcp, lambda, certificate, "jacobi", jacobi_step, stats);
}

const perp_lcp_desc perp_lcp_jacobi = {
  .d = { .name = "jacobi",
         .summary = "Projected Jacobi method with a safe diagonal, dense or matrix-free",
         .reference = "STAR 2012, section 4.3.1 (splitting M = D)",
         .equation = "lambda <- clamp(lambda - omega D^-1 w, lo, hi)",
         PERP_OPTIONS(options, struct perp_splitting_opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_NONSYMMETRIC | PERP_LCP_BY_ROWS },
  .create = perp_splitting_create,
  .solve = jacobi_solve,
  .destroy = perp_rows_destroy,
  .serves = "Symmetric semidefinite A with a solution: the objective decreases for every omega, as "
            "D - A is semidefinite (not with plain). Nonsymmetric A with dominant rows, up to "
            "scaling, for omega <= 1. Friction and cones: no theorem.",
  .ties = "None: all rows move at once, without pivots.",
  .cost = "One product with A per sweep: n^2, or 2 nnz(J) matrix-free. It converges slowest of all "
          "sweeps, as D includes all couplings. Memory: O(n) numbers beyond A.",
  .counts = "Sweeps.",
};
