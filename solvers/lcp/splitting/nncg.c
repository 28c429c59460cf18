/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nonsmooth nonlinear conjugate gradients on top of projected Gauss-Seidel.
 *
 * One sweep is taken for a step along minus a gradient, g(lambda) = lambda - sweep(lambda), and
 * successive steps are combined as Fletcher and Reeves do: lambda <- sweep(lambda) + beta p,   beta
 * = |g|^2 / |g before|^2,   p <- beta p - g, with p = 0 whenever beta > 1 (the gradient grew:
 * restart).  Silcowitz, Niebe and Erleben 2010, cited in STAR 2012, section 4.3.1, as [SNE10b].
 *
 * Where Gauss-Seidel converges slowly (stacks, mass ratios) the combination needs far fewer sweeps;
 * there is no theorem.  Costs a sweep, and a pass over J (or A) as lambda moves as a whole.  The
 * residual decides as in pgs.  No allocation beyond pgs. */
#include "solvers/lcp/splitting/splitting.h"

#include <math.h>
#include <string.h>

static const perp_opt options[] = { PERP_SPLITTING_STOP, PERP_OPTIONS_END };

static double nncg_step(perp_splitting *splitting, double *lambda, int iteration)
{
  int n = splitting->rows.n;
  double *before = splitting->slack, *p = splitting->aux, size = 0, worst = 0;
  memcpy(before, lambda, (size_t)n * sizeof *lambda);
  perp_rows_sweep(&splitting->rows, lambda, NULL, false);
  for (int i = 0; i < n; i++) {
    double g = before[i] - lambda[i];
    size += g * g;
    if (!(fabs(g) <= worst)) worst = fabs(g);
  }
  double beta = iteration > 1 && splitting->memory > 0 ? size / splitting->memory : 2;
  splitting->memory = size;
  if (beta > 1) { /* the first step, or a restart */
    for (int i = 0; i < n; i++) p[i] = lambda[i] - before[i];
    return worst;
  }
  for (int i = 0; i < n; i++) {
    double g = before[i] - lambda[i];
    lambda[i] += beta * p[i];
    p[i] = beta * p[i] - g;
  }
  perp_rows_project(&splitting->rows, lambda, lambda);
  perp_rows_reset(&splitting->rows, lambda);
  return worst;
}

static perp_status nncg_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  return perp_splitting_solve(ctx, ws, lcp, lambda, certificate, "nncg", nncg_step, stats);
}

const perp_lcp_desc perp_lcp_nncg = {
  .d = { .name = "nncg",
         .summary = "Nonsmooth nonlinear conjugate gradients over Gauss-Seidel sweeps, dense or "
                    "matrix-free",
         .reference = "Silcowitz, Niebe and Erleben 2010 ([SNE10b] of STAR 2012)",
         .equation = "lambda <- sweep(lambda) + beta p,  beta = |g|^2 / |g before|^2",
         PERP_OPTIONS(options, struct perp_splitting_opts),
         .caps = PERP_ROWS_CAPS },
  .create = perp_splitting_create,
  .solve = nncg_solve,
  .destroy = perp_rows_destroy,
  .serves = "Symmetric semidefinite A with positive diagonal. No theorem, not even where pgs has "
            "one. In practice far fewer sweeps than pgs on stacks and large mass ratios, with "
            "friction and cones as well.",
  .ties = "None: sweeps in the order of the rows, without pivots.",
  .cost = "A sweep of pgs and a product with A per iteration: 2 n^2, or 4 nnz(J) matrix-free. "
          "Memory: O(n) numbers beyond A.",
  .counts = "Sweeps, each with its conjugate gradient step.",
};
