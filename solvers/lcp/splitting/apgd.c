/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accelerated projected gradient descent with restarts.
 *
 * Nesterov's scheme for  min 1/2 x'Ax + x'b  over the bounds, in the metric D = diag(A_ii):
 *
 *      lambda+ = P(y - (A y + b) / (L D)),   y = lambda+ + beta (lambda+ - lambda)
 *
 *      theta+ = (1 + sqrt(1 + 4 theta^2)) / 2,   beta = (theta - 1) / theta+
 *
 * L is found by backtracking:
 * it doubles until d'Ad <= L d'Dd for the step d taken (A d is a combination of products at hand),
 * and shrinks by a tenth every iteration.  Restart (theta = 1) when the momentum points uphill,
 * O'Donoghue and Candes 2015. With friction the projection takes the limits of the new normal
 * multipliers (Mazhar, Heyn, Negrut and Tasora 2015 use the method for cones); no theorem then.
 *
 * Symmetric positive semidefinite A: the objective converges like 1/k^2.  One product with A per
 * iteration and backtracking step; all rows at once, so it suits problems where sweeps propagate
 * slowly. */
#include "solvers/lcp/rows/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct opts {
  int max_iter;
  double tol;
};

static const perp_opt options[] = { PERP_INT(struct opts, max_iter, 10000, 1, 1e9,
                                             "Maximum number of iterations."),
                                    PERP_ROWS_TOL(struct opts), PERP_OPTIONS_END };

struct ws {
  perp_rows rows; /* first: see perp_rows_create */
  struct opts o;
  double *d, *y, *wy, *w, *next, *wnext; /* [max_n]; w*: A () + b */
};

static void apgd_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->rows.max_n, &work->d, &work->y, &work->wy, &work->w, &work->next,
               &work->wnext);
}

static perp_status apgd_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws work = { .rows.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "apgd", &work, sizeof work, apgd_layout, ws);
}

static perp_status apgd_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->rows;
  int n = lcp->n;
  size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  double tol = perp_rows_target(work->o.tol, lcp), L = 1, theta = 1;
  for (int i = 0; i < n; i++)
    work->d[i] = rows->inv[i] > 0 && rows->inv[i] < HUGE_VAL ? 1 / rows->inv[i] : 1;
  for (int i = 0; i < n; i++)
    if (!(work->d[i] > 0)) work->d[i] = rows->big[i];
  perp_rows_project(rows, lambda, lambda);
  perp_rows_w(rows, lambda, work->w);
  stats->matvecs++;
  memcpy(work->y, lambda, bytes);
  memcpy(work->wy, work->w, bytes);
  if (perp_rows_residual(rows, lambda, work->w) <= tol) stats->reason = PERP_CONVERGED;

  while (stats->reason == PERP_RUNNING) {
    if (stats->iterations == work->o.max_iter || perp_rows_spent(rows)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    for (int back = 0;; back++) {
      double dAd = 0, dDd = 0;
      for (int i = 0; i < n; i++) work->next[i] = work->y[i] - work->wy[i] / (L * work->d[i]);
      perp_rows_project(rows, work->next, work->next);
      perp_rows_w(rows, work->next, work->wnext);
      stats->matvecs++;
      for (int i = 0; i < n; i++) {
        double d = work->next[i] - work->y[i];
        dAd += d * (work->wnext[i] - work->wy[i]);
        dDd += d * d * work->d[i];
      }
      if (dAd <= L * dDd * (1 + 1e-10) || back == 60) break;
      L *= 2;
    }
    double uphill = 0, rel = perp_rows_residual(rows, work->next, work->wnext);
    PERP_TRACE(ctx, .method = "apgd", .what = "step", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = 1 / L, .residual = rel, .n = n,
               .x = work->next, .w = work->wnext);
    if (!isfinite(rel)) { /* lambda is the last finite iterate */
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    for (int i = 0; i < n; i++)
      uphill += work->d[i] * (work->y[i] - work->next[i]) * (work->next[i] - lambda[i]);
    if (uphill > 0) theta = 1;
    double theta_next = 0.5 * (1 + sqrt(1 + 4 * theta * theta));
    double beta = uphill > 0 ? 0 : (theta - 1) / theta_next;
    theta = theta_next;
    for (int i = 0; i < n; i++) {
      work->y[i] = work->next[i] + beta * (work->next[i] - lambda[i]);
      work->wy[i] = work->wnext[i] + beta * (work->wnext[i] - work->w[i]);
    }
    memcpy(lambda, work->next, bytes);
    memcpy(work->w, work->wnext, bytes);
    if (rel <= tol) stats->reason = PERP_CONVERGED;
    L = fmax(0.9 * L, 1e-3);
  }
  stats->work = rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_apgd = {
  .d = { .name = "apgd",
         .summary = "Accelerated projected gradient method with restarts, dense or matrix-free",
         .reference = "Nesterov 1983; O'Donoghue and Candes 2015; Mazhar et al. 2015",
         .equation =
             "lambda = P(y - (A y + b) / (L D)),  y = lambda + beta (lambda - lambda before)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS },
  .create = apgd_create,
  .solve = apgd_solve,
  .destroy = perp_rows_destroy,
  .serves =
      "Semidefinite A with a solution, symmetric up to rounding in files (1e-3 of its largest "
      "number): a convex quadratic programme. Nesterov's rate 1/k^2 is observed; the theorem "
      "assumes no restarts and steps that never grow. Friction and cones: no theorem.",
  .ties = "None: all rows move at once, without pivots.",
  .cost = "One product with A per step that is tried, mostly one per iteration: n^2, or 2 nnz(J) "
          "matrix-free. Memory: O(n) numbers beyond A.",
  .counts = "Iterations. Steps that backtracking rejects count as products only.",
};
