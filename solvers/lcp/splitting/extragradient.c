/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extragradient method with a step that adapts itself, on the cones of De Saxce.
 *
 * Coulomb's law is the variational inequality of F(lambda) = w + Gamma(w), w = A lambda + b, over
 * the cones K (desaxce.h).  Korpelevich's two projections with the step rule of Khobotov 1987, as
 * He and Liao 2002 have it: x = P_K(lambda - rho D^-1 F(lambda)), rho is reduced to 2/3 min(1, 1 /
 * r) of it while r = rho |F(lambda) - F(x)|_D^-1 / |lambda - x|_D > upper, lambda+ = P_K(lambda -
 * rho D^-1 F(x)),          rho grows by 3/2 where r < lower. D = diag(A_ii) of a contact, where the
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
  double tol, upper, lower;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 20000, 1, 1e9, "Maximum number of iterations."),
  PERP_ROWS_TOL(struct opts),
  PERP_REAL(struct opts, upper, 0.9, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Largest Lipschitz ratio of a step. A step above it is shortened and repeated."),
  PERP_REAL(struct opts, lower, 0.3, 0, 1, PERP_OPEN_MAX, "",
            "Lipschitz ratio below which the step size grows."),
  PERP_OPTIONS_END
};

/* steps that an iteration refuses at most: (2/3)^200 is nothing */
enum { MOST_REFUSED = 200 };

struct ws {
  perp_rows R; /* first */
  perp_desaxce K;
  struct opts o;
  double *x, *w, *next, *F, *G, *from; /* [max_n] F at lambda, G at x */
};

static void extragradient_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  perp_desaxce_layout(&w->K, w->R.max_n, a);
  PERP_DOUBLES(a, w->R.max_n, &w->x, &w->w, &w->next, &w->F, &w->G, &w->from);
}

static perp_status extragradient_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "extragradient", &like, sizeof like, extragradient_layout, ws);
}

/* F of x, its slack in w */
static void extragradient_map(struct ws *w, const double *x, double *F, perp_stats *stats)
{
  perp_rows_w(&w->R, x, w->w);
  stats->matvecs++;
  perp_desaxce_correct(&w->K, w->w, F);
  for (int i = 0; i < w->R.n; i++) F[i] += w->w[i];
}

/* y = P_K(lambda - rho D^-1 F) */
static void extragradient_move(const struct ws *w, const double *lambda, double rho,
                               const double *F, double *y)
{
  for (int i = 0; i < w->R.n; i++) y[i] = lambda[i] - rho * F[i] / w->K.d[i];
  perp_desaxce_project(&w->K, y, y);
}

/* The step; returns its ratio, 0 where nothing moves any more. */
static double extragradient_predict(struct ws *w, const double *lambda, double *rho,
                                    perp_stats *stats)
{
  for (int refused = 0;; refused++) {
    double change = 0, turn = 0;
    extragradient_move(w, lambda, *rho, w->F, w->x);
    for (int i = 0; i < w->R.n; i++)
      change += w->K.d[i] * (lambda[i] - w->x[i]) * (lambda[i] - w->x[i]);
    if (!(change > 0)) return 0;
    extragradient_map(w, w->x, w->G, stats);
    for (int i = 0; i < w->R.n; i++) turn += (w->F[i] - w->G[i]) * (w->F[i] - w->G[i]) / w->K.d[i];
    const double ratio = *rho * sqrt(turn / change);
    if (!(ratio > w->o.upper) || refused == MOST_REFUSED) return ratio;
    *rho *= 2.0 / 3 * fmin(1, 1 / ratio);
  }
}

static perp_status extragradient_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                                       double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->R;
  const size_t bytes = (size_t)p->n * sizeof *lambda;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  perp_desaxce_open(&w->K, R);
  const double tol = perp_rows_target(w->o.tol, p);
  double rho = 1, least = HUGE_VAL;
  perp_desaxce_project(&w->K, lambda, w->next);
  memcpy(lambda, w->next, bytes);
  for (;;) {
    extragradient_map(w, w->next, w->F, stats);
    const double rel = perp_rows_residual(R, w->next, w->w);
    PERP_TRACE(ctx, .method = "extragradient", .what = "step", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = rho, .residual = rel, .n = p->n, .x = w->next,
               .w = w->w);
    if (rel < least) {
      least = rel;
      memcpy(lambda, w->next, bytes);
    }
    stats->reason = rel <= tol                                                 ? PERP_CONVERGED
                    : !isfinite(rel)                                           ? PERP_NOT_FINITE
                    : stats->iterations == w->o.max_iter || perp_rows_spent(R) ? PERP_MAX_ITER
                                                                               : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    memcpy(w->from, w->next, bytes); /* where the iteration begins */
    const double ratio = extragradient_predict(w, w->from, &rho, stats);
    if (ratio == 0 && memcmp(w->x, w->from, bytes) == 0) {
      stats->reason = PERP_STALLED;
      break;
    }
    extragradient_move(w, w->from, rho, w->G, w->next);
    if (ratio < w->o.lower) rho *= 1.5;
  }
  stats->work = R->work;
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
