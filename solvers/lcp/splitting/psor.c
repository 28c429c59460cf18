/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projected successive over-relaxation.
 *
 *      lambda_i <- clamp(lambda_i - omega w_i / A_ii, lo_i, hi_i),   w = A lambda + b.
 *
 * STAR 2012, eq. 79-81: for symmetric positive semidefinite A and omega in (0, 2) the objective
 * 1/2 x'Ax + x'b never grows.  Everything else as in pgs, which is omega = 1. */
#include "solvers/lcp/splitting/splitting.h"

static const perp_opt options[] = { PERP_REAL(struct perp_splitting_opts, omega, 1.3, 0, 2,
                                              PERP_OPEN_MIN | PERP_OPEN_MAX, "",
                                              "Relaxation factor. 1 is Gauss-Seidel."),
                                    PERP_SPLITTING_STOP, PERP_SPLITTING_ROW_ORDER,
                                    PERP_OPTIONS_END };

static perp_status psor_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  return perp_splitting_solve(ctx, ws, lcp, lambda, certificate, "psor",
                              perp_splitting_gauss_seidel, stats);
}

const perp_lcp_desc perp_lcp_psor = {
  .d = { .name = "psor",
         .summary = "Projected successive over-relaxation, dense or matrix-free, for symmetric A "
                    "or dominant rows",
         .reference = "STAR 2012, eq. 79-81 and section 4.3.2",
         .equation = "lambda_i <- clamp(lambda_i - omega w_i / A_ii, lo_i, hi_i)",
         PERP_OPTIONS(options, struct perp_splitting_opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_NONSYMMETRIC | PERP_LCP_BY_ROWS },
  .create = perp_splitting_create,
  .solve = psor_solve,
  .destroy = perp_rows_destroy,
  .serves = "As pgs: symmetric semidefinite A with positive diagonal and a solution, for every "
            "omega in (0, 2). Nonsymmetric A with dominant rows, up to scaling (H-matrices), for "
            "omega <= 1. Friction and cones: no theorem.",
  .ties = "None: rows in the order of the option order, without pivots.",
  .cost = "Up to n^2 per sweep (n per row that changes), or 2 nnz(J) matrix-free. Memory: O(n) "
          "numbers beyond A. order=coloured: as in pgs.",
  .counts = "Sweeps.",
};
