/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extragradient method with a step that adapts itself, on the cones of De Saxce.
 *
 * Coulomb's law is the variational inequality of F(lambda) = w + Gamma(w), w = A lambda + b, over
 * the cones K (desaxce.h).  Korpelevich's two projections with the step rule of Khobotov 1987, as
 * He and Liao 2002 have it: x = P_K(lambda - rho D^-1 F(lambda)), rho is reduced to 2/3 min(1, 1 /
 * r) of it while r = rho |F(lambda) - F(x)|_D^-1 / |lambda - x|_D > UPPER, lambda+ = P_K(lambda -
 * rho D^-1 F(x)),          rho grows by 3/2 where r < LOWER. D = diag(A_ii) of a contact, where the
 * papers have the identity.  No factorization, two products with A an iteration and one for each
 * step that is refused.
 *
 * Converges where F is monotone and Lipschitz: semidefinite A without friction, symmetric or not,
 * linearly where a solution is isolated enough.  With Gamma F is Lipschitz but not monotone: no
 * theorem. */
#include "solvers/lcp/splitting/desaxce.h"

#include <math.h>
#include <string.h>

struct opts {
  int max_iter;
  double tol;
};

static const perp_opt options[] = { PERP_INT(struct opts, max_iter, 20000, 1, 1e9,
                                             "Maximum number of iterations."),
                                    PERP_ROWS_TOL(struct opts), PERP_OPTIONS_END };

/* Ratios above which a step is made again, and below which the next one is longer: those of
 * Siconos.  The theorem needs UPPER < 1. */
static const double UPPER = 0.9, LOWER = 0.3;
/* steps that an iteration refuses at most: (2/3)^200 is nothing */
enum { MOST_REFUSED = 200 };

struct ws {
  perp_rows R; /* first */
  perp_desaxce K;
  struct opts o;
  double *x, *w, *next, *F, *G, *from; /* [max_n] F at lambda, G at x */
};

static void extragradient_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_desaxce_layout(&work->K, work->R.max_n, arena);
  PERP_DOUBLES(arena, work->R.max_n, &work->x, &work->w, &work->next, &work->F, &work->G,
               &work->from);
}

static perp_status extragradient_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "extragradient", &like, sizeof like, extragradient_layout, ws);
}

/* F of x, its slack in w */
static void extragradient_map(struct ws *work, const double *x, double *F, perp_stats *stats)
{
  perp_rows_w(&work->R, x, work->w);
  stats->matvecs++;
  perp_desaxce_correct(&work->K, work->w, F);
  for (int i = 0; i < work->R.n; i++) F[i] += work->w[i];
}

/* y = P_K(lambda - rho D^-1 F) */
static void extragradient_move(const struct ws *work, const double *lambda, double rho,
                               const double *F, double *y)
{
  for (int i = 0; i < work->R.n; i++) y[i] = lambda[i] - rho * F[i] / work->K.d[i];
  perp_desaxce_project(&work->K, y, y);
}

/* The step; returns its ratio, 0 where nothing moves any more. */
static double extragradient_predict(struct ws *work, const double *lambda, double *rho,
                                    perp_stats *stats)
{
  for (int refused = 0;; refused++) {
    double change = 0, turn = 0;
    extragradient_move(work, lambda, *rho, work->F, work->x);
    for (int i = 0; i < work->R.n; i++)
      change += work->K.d[i] * (lambda[i] - work->x[i]) * (lambda[i] - work->x[i]);
    if (!(change > 0)) return 0;
    extragradient_map(work, work->x, work->G, stats);
    for (int i = 0; i < work->R.n; i++)
      turn += (work->F[i] - work->G[i]) * (work->F[i] - work->G[i]) / work->K.d[i];
    const double ratio = *rho * sqrt(turn / change);
    if (!(ratio > UPPER) || refused == MOST_REFUSED) return ratio;
    *rho *= 2.0 / 3 * fmin(1, 1 / ratio);
  }
}

static perp_status extragradient_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                       double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->R;
  const size_t bytes = (size_t)lcp->n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  perp_desaxce_open(&work->K, rows);
  const double tol = perp_rows_target(work->o.tol, lcp);
  double rho = 1, least = HUGE_VAL;
  perp_desaxce_project(&work->K, lambda, work->next);
  memcpy(lambda, work->next, bytes);
  for (;;) {
    extragradient_map(work, work->next, work->F, stats);
    const double rel = perp_rows_residual(rows, work->next, work->w);
    PERP_TRACE(ctx, .method = "extragradient", .what = "step", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = rho, .residual = rel, .n = lcp->n,
               .x = work->next, .w = work->w);
    if (rel < least) {
      least = rel;
      memcpy(lambda, work->next, bytes);
    }
    stats->reason = rel <= tol       ? PERP_CONVERGED
                    : !isfinite(rel) ? PERP_NOT_FINITE
                    : stats->iterations == work->o.max_iter || perp_rows_spent(rows) ? PERP_MAX_ITER
                                                                                     : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    memcpy(work->from, work->next, bytes); /* where the iteration begins */
    const double ratio = extragradient_predict(work, work->from, &rho, stats);
    if (ratio == 0 && memcmp(work->x, work->from, bytes) == 0) {
      stats->reason = PERP_STALLED;
      break;
    }
    extragradient_move(work, work->from, rho, work->G, work->next);
    if (ratio < LOWER) rho *= 1.5;
  }
  stats->work = rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_extragradient = {
  .d = { .name = "extragradient",
         .summary = "Extragradient method on De Saxce's cones with adaptive step size, without "
                    "factorization, dense, sparse or matrix-free",
         .reference = "Korpelevich 1976; Khobotov 1987; He & Liao 2002; De Saxce & Feng 1998",
         .equation = "x = P(lambda - rho F(lambda) / D),  lambda = P(lambda - rho F(x) / D),  "
                     "F(lambda) = w + Gamma(w)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_NONSYMMETRIC },
  .create = extragradient_create,
  .solve = extragradient_solve,
  .destroy = perp_rows_destroy,
  .serves = "Semidefinite A with a solution, symmetric or not: monotone problems converge from "
            "every start, by a theorem. Friction and cones: no theorem, and slow convergence at "
            "redundant contacts.",
  .ties = "None: all rows move at once, without pivots.",
  .cost = "Two products with A per iteration, and one more per rejected step: n^2 dense, nnz(A) "
          "sparse, 2 nnz(J) matrix-free. Memory: O(n) numbers beyond A.",
  .counts = "Iterations. Rejected steps count as products only.",
};
