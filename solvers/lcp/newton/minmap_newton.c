/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semismooth Newton method on the natural (minimum) map, with reduction to the free rows.
 *
 *      H_i = lambda_i - clamp(lambda_i - w_i / a_i, lo_i, hi_i) = 0,  w = A lambda + b,  a_i = A_ii
 *
 * the min map of STAR 2012, eq. 67, 68 and 73, with bounds.  An element of its generalized Jacobian
 * is fixed by the index sets: rows that the clamp sends to a bound read dlambda_i = bound -
 * lambda_i and leave the system, sliding friction rows follow their normal row, and only A_FF of
 * the rows in between is factored: an active-set step, exact as soon as the sets are right.
 *
 * Backtracking on |sqrt(a) H|^2 / 2, non-monotone (the largest of the last `window` values), with a
 * proximal term rho diag(A) where A_FF is singular or the direction fails, and Gauss-Seidel sweeps
 * where even that does not help.  A few sweeps also follow every step but the first: where
 * redundant rows leave lambda undetermined, active sets alone drop and take back rows for many
 * steps.  With friction a shortened step is projected on the limits instead; sweeps lead away from
 * the solution there, and where A_ii <= 0.  Once, a search with friction that is stuck begins again
 * from sweeps. Singular Jacobians cannot produce NaN: pivots have a floor, results are checked.
 *
 * Finite for many P problems, locally exact in one step; may cycle or stop where H has local minima
 * (PERP_STALLED).  A factorization of the free rows per step.  Allocates when the sparsity pattern
 * changes. */
#include "solvers/lcp/newton/newton.h"

#include <math.h>
#include <string.h>

struct opts {
  int max_iter, warm, smooth, window;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 200, 1, 1e9, "Maximum number of Newton steps."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, warm, 0, 0, 1e6, "Number of initial Gauss-Seidel sweeps."),
  PERP_INT(struct opts, smooth, 10, 0, 1e6,
           "Number of Gauss-Seidel sweeps after every step but the first, used if they reduce the "
           "residual. Not used with friction."),
  PERP_INT(
      struct opts, window, 4, 1, 16,
      "Number of previous values that the non-monotone line search compares with. 1: monotone."),
  PERP_OPTIONS_END
};

struct ws {
  perp_newton N; /* first */
  struct opts o;
};

static perp_status minmap_newton_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  return perp_newton_create(ctx, "minmap-newton", max_n, &like.N, sizeof like, perp_newton_layout,
                            ws);
}

/* |sqrt(a) H|^2 / 2 */
static double minmap_newton_merit(const perp_newton *newton, const double *lambda,
                                  const double *slack)
{
  double sum = 0;
  for (int i = 0; i < newton->n; i++) {
    double lo, hi, t = lambda[i] - slack[i] / newton->scale[i];
    perp_rows_bounds(&newton->R, lambda, i, &lo, &hi);
    double h = lambda[i] - (t < lo ? lo : t > hi ? hi : t);
    sum += newton->scale[i] * h * h;
  }
  return 0.5 * sum;
}

/* the point of the direction to -> x + t (to - x) that is good enough; trial and tw hold it, 0 when
 * none */
static double minmap_newton_search(perp_newton *newton, const double *x, double reference,
                                   double theta, double shortest)
{
  for (double t = 1; t > shortest; t *= 0.5) {
    for (int i = 0; i < newton->n; i++) {
      newton->trial[i] = x[i] + t * newton->dx[i];
      newton->tw[i] = newton->w[i] + t * newton->Adx[i];
    }
    double now = minmap_newton_merit(newton, newton->trial, newton->tw);
    if (now <= reference - 1e-4 * t * theta && isfinite(now)) return t;
  }
  return 0;
}

static perp_status minmap_newton_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                       double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_newton *newton = &work->N;
  int n = lcp->n, sweeps = 10;
  size_t bytes = (size_t)n * sizeof *lambda;
  double past[16], rho = 0;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_newton_prepare(ctx, newton, lcp, work->o.tol));
  /* shorter steps are not worth their system; first proximal weight, relative to the diagonal */
  double shortest = newton->coupled ? 0.01 : 1e-6, proximal = newton->coupled ? 1e-3 : 1e-8;
  bool smooth = !newton->coupled && !newton->R.zero_diagonal; /* where sweeps have a theory */
  double rel = perp_newton_rel(newton, lambda, newton->w);
  rel = perp_newton_sweeps(newton, lambda, work->o.warm, rel);
  double best = rel, goal = 0.9 * rel, theta = minmap_newton_merit(newton, lambda, newton->w);
  int progress = 0; /* when rel last fell below the goal */
  bool again = newton->coupled;
  memcpy(newton->keep, lambda, bytes);
  for (int k = 0; k < work->o.window; k++) past[k] = theta;

  while (stats->reason == PERP_RUNNING) {
    if (rel <= newton->tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    if (stats->iterations == work->o.max_iter || perp_rows_spent(&newton->R)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    double reference = past[0], t = 0;
    for (int k = 1; k < work->o.window; k++) reference = fmax(reference, past[k]);
    perp_newton_classify(newton, lambda, newton->w, newton->state);
    for (int attempt = 0; attempt < 8 && t == 0; attempt++) {
      if (attempt > 0) rho = rho > 0 ? 100 * rho : proximal;
      if (!perp_newton_active_step(newton, lambda, newton->w, newton->state, rho, newton->trial))
        continue;
      for (int i = 0; i < n; i++) newton->dx[i] = newton->trial[i] - lambda[i];
      perp_rows_A(&newton->R, newton->dx, newton->Adx);
      newton->matvecs++;
      t = minmap_newton_search(newton, lambda, reference, theta, shortest);
    }
    bool restart = again && stats->iterations - progress > PERP_NEWTON_PATIENCE;
    if (t > 0 && !restart) {
      memcpy(lambda, newton->trial, bytes);
      if (t < 1 && newton->coupled) perp_rows_project(&newton->R, lambda, lambda);
      rho = rho > 1e-8 ? 0.01 * rho : 0;
      rel = perp_newton_rel(newton, lambda, newton->w);
      if (stats->iterations > 1 && smooth)
        rel = perp_newton_sweeps(newton, lambda, work->o.smooth, rel);
    } else {
      double now = restart ? rel : perp_newton_sweeps(newton, lambda, sweeps, rel);
      if (!(now < rel) && again) {
        restart = true;
        again = false;
        now = goal = perp_newton_restart(newton, lambda);
        progress = stats->iterations;
      } else if (!(now < rel)) {
        stats->reason = PERP_STALLED;
        break;
      }
      rel = now;
      rho = 0;
      sweeps = sweeps < 1000 ? 2 * sweeps : sweeps;
    }
    if (rel < goal) {
      goal = 0.9 * rel;
      progress = stats->iterations;
    }
    theta = minmap_newton_merit(newton, lambda, newton->w);
    past[stats->iterations % work->o.window] = theta;
    for (int k = 0; restart && k < work->o.window; k++) past[k] = theta;
    PERP_TRACE(ctx, .method = "minmap-newton", .what = t > 0 ? "newton" : "sweep",
               .iteration = stats->iterations, .entering = -1, .leaving = -1, .step = t,
               .residual = rel, .n = n, .x = lambda, .w = newton->w, .state = newton->state);
    if (!isfinite(rel)) {
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    if (rel < best) {
      best = rel;
      memcpy(newton->keep, lambda, bytes);
    }
  }
  if (stats->reason != PERP_CONVERGED) memcpy(lambda, newton->keep, bytes);
  stats->factorizations = newton->S.factorizations;
  stats->matvecs = newton->matvecs;
  stats->work = newton->R.work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_minmap_newton = {
  .d = { .name = "minmap-newton",
         .summary = "Semismooth Newton method on the natural map with active sets for P-matrices, "
                    "dense or sparse",
         .reference = "STAR 2012, eq. 67, 68 and 73 and section 4.4",
         .equation = "lambda - clamp(lambda - w / a, lo, hi) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_SPARSE | PERP_LCP_ITERATIVE |
                 PERP_LCP_WARM | PERP_CAP_ALLOCATES },
  .create = minmap_newton_create,
  .solve = minmap_newton_solve,
  .destroy = perp_newton_destroy,
  .serves = "P-matrices of any symmetry and, by proximal steps, semidefinite A, bounds of any "
            "kind. One step is exact once the active sets are right, but no theorem guarantees "
            "that. Friction: no theorem.",
  .ties = "None: no pivots. A row with lambda - w / a exactly at a bound counts as free.",
  .cost = "One or more factorizations of the k free rows per step. Each costs k^3 / 3 if "
          "symmetric, 2 k^3 / 3 with friction or nonsymmetric A, or less if sparse, in A "
          "or in the velocities. Memory: n^2 numbers beyond A, or those of a sparse LU.",
  .counts = "Newton steps, and rounds of sweeps if no step helps.",
};
