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
#include "solvers/core/clones.h"
#include "solvers/lcp/splitting/splitting.h"

#include <math.h>
#include <string.h>

static const perp_opt options[] = { PERP_SPLITTING_STOP, PERP_OPTIONS_END };

/* |x - y|^2, summed in the order of the rows, and the largest |x_i - y_i| */
PERP_CLONES_OF_FOUR static double nncg_size(int n, const double *x, const double *y, double *worst)
{
  perp_v4 most = { 0 };
  double sum = 0, top = 0;
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const perp_v4 g = *(const perp_v4_any *)(x + i) - *(const perp_v4_any *)(y + i);
    const perp_v4 size = PERP_SIZE4(g), square = g * g;
    most = PERP_CHOOSE4(~(size <= most), size, most);
    for (int k = 0; k < 4; k++) sum += square[k];
  }
  for (int k = 0; k < 4; k++)
    if (!(most[k] <= top)) top = most[k];
  for (; i < n; i++) {
    const double g = x[i] - y[i];
    sum += g * g;
    if (!(fabs(g) <= top)) top = fabs(g);
  }
  *worst = top;
  return sum;
}

/* lambda += beta p,  p = beta p - (before - lambda) */
PERP_CLONES_OF_FOUR static void nncg_combine(int n, double beta, const double *before,
                                             double *lambda, double *p)
{
  for (int i = 0; i < n; i++) {
    const double g = before[i] - lambda[i];
    lambda[i] += beta * p[i];
    p[i] = beta * p[i] - g;
  }
}

static double nncg_step(perp_splitting *splitting, double *lambda, int iteration)
{
  int n = splitting->rows.n;
  double *before = splitting->slack, *p = splitting->aux, worst;
  memcpy(before, lambda, (size_t)n * sizeof *lambda);
  perp_rows_sweep(&splitting->rows, lambda, NULL, false);
  const double size = nncg_size(n, before, lambda, &worst);
  double beta = iteration > 1 && splitting->memory > 0 ? size / splitting->memory : 2;
  splitting->memory = size;
  if (beta > 1) { /* the first step, or a restart */
    for (int i = 0; i < n; i++) p[i] = lambda[i] - before[i];
    return worst;
  }
  nncg_combine(n, beta, before, lambda, p);
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
