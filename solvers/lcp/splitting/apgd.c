/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accelerated projected gradient descent with restarts.
 *
 * Nesterov's scheme for  min 1/2 x'Ax + x'b  over the bounds, in the metric D = diag(A_ii):
 *      lambda+ = P(y - (A y + b) / (L D)),   y = lambda+ + beta (lambda+ - lambda),
 * theta+ = (1 + sqrt(1 + 4 theta^2)) / 2, beta = (theta - 1) / theta+.  L is found by backtracking:
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

static void apgd_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  PERP_DOUBLES(a, w->rows.max_n, &w->d, &w->y, &w->wy, &w->w, &w->next, &w->wnext);
}

static perp_status apgd_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws w = { .rows.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "apgd", &w, sizeof w, apgd_layout, ws);
}

static perp_status apgd_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->rows;
  int n = p->n;
  size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  double tol = perp_rows_target(w->o.tol, p), L = 1, theta = 1;
  for (int i = 0; i < n; i++) w->d[i] = R->inv[i] > 0 && R->inv[i] < HUGE_VAL ? 1 / R->inv[i] : 1;
  for (int i = 0; i < n; i++)
    if (!(w->d[i] > 0)) w->d[i] = R->big[i];
  perp_rows_project(R, lambda, lambda);
  perp_rows_w(R, lambda, w->w);
  stats->matvecs++;
  memcpy(w->y, lambda, bytes);
  memcpy(w->wy, w->w, bytes);
  if (perp_rows_residual(R, lambda, w->w) <= tol) stats->reason = PERP_CONVERGED;

  while (stats->reason == PERP_RUNNING) {
    if (stats->iterations == w->o.max_iter || perp_rows_spent(R)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    for (int back = 0;; back++) {
      double dAd = 0, dDd = 0;
      for (int i = 0; i < n; i++) w->next[i] = w->y[i] - w->wy[i] / (L * w->d[i]);
      perp_rows_project(R, w->next, w->next);
      perp_rows_w(R, w->next, w->wnext);
      stats->matvecs++;
      for (int i = 0; i < n; i++) {
        double d = w->next[i] - w->y[i];
        dAd += d * (w->wnext[i] - w->wy[i]);
        dDd += d * d * w->d[i];
      }
      if (dAd <= L * dDd * (1 + 1e-10) || back == 60) break;
      L *= 2;
    }
    double uphill = 0, rel = perp_rows_residual(R, w->next, w->wnext);
    PERP_TRACE(ctx, .method = "apgd", .what = "step", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = 1 / L, .residual = rel, .n = n, .x = w->next,
               .w = w->wnext);
    if (!isfinite(rel)) { /* lambda is the last finite iterate */
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    for (int i = 0; i < n; i++)
      uphill += w->d[i] * (w->y[i] - w->next[i]) * (w->next[i] - lambda[i]);
    if (uphill > 0) theta = 1;
    double theta_next = 0.5 * (1 + sqrt(1 + 4 * theta * theta));
    double beta = uphill > 0 ? 0 : (theta - 1) / theta_next;
    theta = theta_next;
    for (int i = 0; i < n; i++) {
      w->y[i] = w->next[i] + beta * (w->next[i] - lambda[i]);
      w->wy[i] = w->wnext[i] + beta * (w->wnext[i] - w->w[i]);
    }
    memcpy(lambda, w->next, bytes);
    memcpy(w->w, w->wnext, bytes);
    if (rel <= tol) stats->reason = PERP_CONVERGED;
    L = fmax(0.9 * L, 1e-3);
  }
  stats->work = R->work;
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
