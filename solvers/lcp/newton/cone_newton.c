/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semismooth Newton method for contacts with Coulomb's circular cone.
 *
 * The natural map, its generalized derivative and the search are in cone_step.h.  Where no
 * direction helps, Gauss-Seidel sweeps go on instead.  The first approximation comes from sweeps,
 * too.
 *
 * No convergence theorem: Coulomb's law is not monotone, and a solution need not exist.  Quadratic
 * near regular solutions; several solutions, redundant contacts and sticking at the limit make it
 * slow or stop it (PERP_STALLED: no half of the residual in PATIENCE steps, or in AT_ROUNDING where
 * it is SMALL or accepted).  A step: an LU of the free rows (dense or sparse), or of the sparse
 * matrix in the space of velocities.  Memory: n^2 for the free rows (dense).  Allocates when a
 * problem is larger or has another pattern than those before; the sparse LU, in every step. */
#include "solvers/lcp/newton/cone_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* steps without half of the residual; those of one that is SMALL, near what rounding leaves, or
 * that the caller accepts */
enum { PATIENCE = 60, AT_ROUNDING = 3 };
static const double SMALL = 1e-11;

struct opts {
  int max_iter, min_iter, warm, window;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 300, 1, 1e9, "Maximum number of Newton steps."),
  PERP_INT(struct opts, min_iter, 0, 0, 1e9,
           "Minimum number of Newton steps, also from a guess that satisfies the tolerance."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, warm, 50, 0, 1e6, "Number of initial Gauss-Seidel sweeps."),
  PERP_INT(
      struct opts, window, 8, 1, 16,
      "Number of previous values that the non-monotone line search compares with. 1: monotone."),
  PERP_OPTIONS_END
};

struct ws {
  perp_cones C; /* first */
  struct opts o;
  double *best; /* [max_n] */
};

static void cone_newton_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_cones_layout(ws, arena);
  PERP_DOUBLES(arena, work->C.N.max_n, &work->best);
}

static perp_status cone_newton_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  return perp_cones_create(ctx, "cone-newton", max_n, &like.C, sizeof like, cone_newton_layout, ws);
}

static void cone_newton_sweeps(perp_cones *cones, int count)
{
  perp_rows_project(&cones->R, cones->x, cones->x);
  perp_rows_reset(&cones->R, cones->x);
  for (int k = 0; k < count && !perp_rows_spent(&cones->R); k++)
    perp_rows_sweep(&cones->R, cones->x, NULL, false);
  cones->matvecs += count;
  perp_cones_slack(cones);
}

static perp_status cone_newton_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                     double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_cones *cones = &work->C;
  int n = lcp->n, more = 20, since = 0; /* steps since the residual was halved */
  size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_cones_prepare(ctx, cones, lcp));
  cones->refine = 3;
  cones->window = work->o.window;
  double tol = perp_rows_target(work->o.tol, lcp);
  const double good = lcp->part > 0 ? fmax(0.9 * lcp->tol, SMALL) : SMALL;
  memcpy(cones->x, lambda, bytes);
  memcpy(work->best, lambda, bytes);
  perp_cones_slack(cones);
  double rel = perp_rows_residual(&cones->R, cones->x, cones->w), least = rel, half = rel;
  if (rel > tol && work->o.warm > 0) {
    cone_newton_sweeps(cones, work->o.warm);
    rel = perp_rows_residual(&cones->R, cones->x, cones->w);
  }
  perp_cones_restart(cones);
  for (;;) {
    if (rel < least || !isfinite(least)) {
      least = rel;
      memcpy(work->best, cones->x, bytes);
    }
    if (least <= 0.5 * half || !isfinite(half)) {
      half = least;
      since = 0;
    }
    const bool enough = stats->iterations >= work->o.min_iter;
    stats->reason = least <= tol && enough                                ? PERP_CONVERGED
                    : stats->iterations == work->o.max_iter               ? PERP_MAX_ITER
                    : perp_rows_spent(&cones->R)                          ? PERP_MAX_ITER
                    : !isfinite(rel)                                      ? PERP_NOT_FINITE
                    : since++ >= (least <= good ? AT_ROUNDING : PATIENCE) ? PERP_STALLED
                                                                          : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    double t = 0;
    PERP_TRY(perp_cones_step(ctx, cones, &t, &stats->factorizations));
    if (t == 0 && least <= tol) { /* nothing left to gain */
      stats->reason = PERP_CONVERGED;
      break;
    }
    if (t == 0) {
      cone_newton_sweeps(cones, more);
      perp_cones_restart(cones);
      more = more < 1000 ? 2 * more : more;
    }
    rel = perp_rows_residual(&cones->R, cones->x, cones->w);
    PERP_TRACE(ctx, .method = "cone-newton", .what = t > 0 ? "newton" : "sweep",
               .iteration = stats->iterations, .entering = -1, .leaving = -1, .step = t,
               .residual = rel, .n = n, .x = cones->x, .w = cones->w, .state = cones->N.state);
  }
  memcpy(lambda, work->best, bytes);
  stats->matvecs = cones->matvecs;
  stats->work = cones->R.work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_cone_newton = {
  .d = { .name = "cone-newton",
         .summary = "Semismooth Newton method on the natural map of circular cones and boxes, "
                    "dense or sparse",
         .reference = "Alart & Curnier 1991; STAR 2012, section 4.4",
         .equation = "n - max(n - w_n / a, 0) = 0,  T - P(T - w_T / a, mu n) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED |
                 PERP_LCP_SPARSE | PERP_LCP_ITERATIVE | PERP_LCP_WARM | PERP_CAP_ALLOCATES },
  .create = cone_newton_create,
  .solve = cone_newton_solve,
  .destroy = perp_cones_destroy,
  .serves = "Circular cones, boxes and bounds of any kind with semidefinite A. No theorem, because "
            "Coulomb's law is not monotone. Convergence is quadratic near regular solutions, but "
            "slow or stalled at redundant contacts and at sticking on the limit.",
  .ties = "None: no pivots. A contact exactly on the limit counts as sticking.",
  .cost = "One or more LU factorizations of the k free rows per step: 2 k^3 / 3, or sparse in the "
          "velocities. Initially 50 sweeps. Memory: n^2 numbers beyond A.",
  .counts = "Newton steps, and rounds of sweeps if no step helps.",
};
