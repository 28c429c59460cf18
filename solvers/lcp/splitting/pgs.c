/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projected Gauss-Seidel.
 *
 *      lambda_i <- clamp(lambda_i - w_i / A_ii, lo_i, hi_i),   w = A lambda + b
 *
 * one row after the other.
 *
 * STAR 2012, eq. 78, derived there as the exact minimization of 1/2 x'Ax + x'b along one axis; as a
 * matrix splitting M = D + L, section 4.3.1.  Friction rows take their limits from the normal
 * multiplier of the moment; the two rows of a circular cone move together, with the step 1 /
 * (largest eigenvalue of their 2 x 2 block), and are projected on the disc.
 *
 * Converges for symmetric positive definite A and, without friction, on every solvable symmetric
 * semidefinite one (w converges; lambda depends on the guess); linear rate, the slower the longer
 * the stacks and the larger the mass ratios.  Nonsymmetric A: converges for H-matrices (positive
 * diagonal, comparison matrix an M-matrix; Cottle, Pang and Stone), may diverge on others; rows
 * with A_ii <= 0 are outside the theory and get plain gradient steps (see rows.h).
 *
 * order=coloured takes the rows in another order, the same on every machine: units of rows (a
 * contact, for instance) get colours such that those of one colour share no body, greedily in the
 * order of rows; a sweep goes colour by colour. The iterates are those of Gauss-Seidel in that
 * order, with the same theory. What shares no body is independent: contacts of one colour are done
 * by fours in vectors (rows_fours.c), and by several threads where there are many, to the same
 * bits. Dense A: rows of one colour have A_ij = 0. Box2D colours its constraints so, too (E. Catto,
 * 2024).
 *
 * A sweep costs the rows that changed times n (dense), or 2 nnz(J) multiplications (factored).
 *
 * In numbers: the objective STAR 2012, eq. 75, its minimum along an axis STAR 2012, eq. 76, the
 * projection of a splitting STAR 2012, eq. 66, 73 and 74. */
#include "solvers/lcp/splitting/splitting.h"

static const perp_opt options[] = { PERP_SPLITTING_STOP, PERP_SPLITTING_ROW_ORDER,
                                    PERP_OPTIONS_END };

static perp_status pgs_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                             double *certificate, perp_stats *stats)
{
  return perp_splitting_solve(ctx, ws, lcp, lambda, certificate, "pgs", perp_splitting_gauss_seidel,
                              stats);
}

const perp_lcp_desc perp_lcp_pgs = {
  .d = { .name = "pgs",
         .summary =
             "Projected Gauss-Seidel, dense or matrix-free, for symmetric A or dominant rows",
         .reference = "STAR 2012, eq. 78 and section 4.3.1",
         .equation = "lambda_i <- clamp(lambda_i - w_i / A_ii, lo_i, hi_i)",
         PERP_OPTIONS(options, struct perp_splitting_opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_NONSYMMETRIC | PERP_LCP_BY_ROWS },
  .create = perp_splitting_create,
  .solve = pgs_solve,
  .destroy = perp_rows_destroy,
  .serves = "Symmetric semidefinite A with positive diagonal and a solution: w converges linearly, "
            "but slowly for long stacks and large mass ratios. Nonsymmetric A with dominant rows, "
            "up to scaling (H-matrices). Friction and cones: no theorem.",
  .ties = "None: rows in the order of the option order, without pivots.",
  .cost = "Up to n^2 per sweep (n per row that changes), or 2 nnz(J) matrix-free. Memory: O(n) "
          "numbers beyond A. order=coloured updates contacts in groups of four (half the time) and "
          "on several threads.",
  .counts = "Sweeps.",
};
