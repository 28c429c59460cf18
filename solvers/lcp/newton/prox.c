/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proximal point algorithm over a semismooth Newton method, for contacts with Coulomb's circular
 * cone.
 *
 * Acary, Bremond and Huber 2018, as PROX of Siconos has it: lambda_k+1 solves the problem with
 *
 *      A + alpha_k D  for A,   b - alpha_k D lambda_k  for b,   alpha_k = sigma |F(lambda_k)|^nu
 *
 * up to an inner tolerance that follows the outer residual |F|.  The inner
 * problems are regular where A is not (redundant contacts), and near their solution from the start;
 * alpha goes to zero with the residual, so that the last steps are those of Newton's method.
 *
 * Here D = diag(A_ii), the larger one of the two rows of a cone, where the paper has the identity,
 * and |F| is the residual of the judge: both make the iterates independent of units.  The natural
 * map of the inner problem is scaled by (1 + alpha) D.  Ours, too: where the inner method fails
 * alpha grows by a factor until it does not, and falls back afterwards; a failed inner result that
 * is farther from a solution than where it began is given up.
 *
 * Monotone problems (semidefinite A, no friction): with bounded alpha > 0 and inner problems solved
 * well enough the iterates converge (Rockafellar 1976).  Coulomb's law is not monotone: no theorem.
 * An inner step is that of cone_step.h; memory: n^2 for the free rows, or sparse ones.  Allocates
 * when a problem is larger or has another pattern than those before; the sparse LU, in every step.
 */
#include "solvers/lcp/newton/cone_step.h"

#include <math.h>
#include <string.h>

/* outer iterations without half of the residual */
enum { PATIENCE = 100 };
/* alpha over the residual, with the exponent nu = 1, as Siconos has them; tolerance of the inner
 * problems over the residual */
static const double SIGMA = 5, RATIO = 0.1;
/* of alpha where the inner method fails, and where it does not; the end of that */
static const double GROWTH = 4, FALL = 2, MOST = 1e8;

struct opts {
  int max_iter, inner, window;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 500, 1, 1e9, "Maximum number of outer iterations."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, inner, 20, 1, 1e9, "Maximum number of Newton steps per outer iteration."),
  PERP_INT(
      struct opts, window, 8, 1, PERP_CONES_WINDOW,
      "Number of previous values that the non-monotone line search compares with. 1: monotone."),
  PERP_OPTIONS_END
};

struct ws {
  perp_cones C; /* first */
  struct opts o;
  double *best, *base; /* [max_n] base: D */
};

static void prox_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_cones_layout(ws, arena);
  PERP_DOUBLES(arena, work->C.N.max_n, &work->best, &work->base);
}

static perp_status prox_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  return perp_cones_create(ctx, "prox", max_n, &like.C, sizeof like, prox_layout, ws);
}

/* The inner problem around x to the tolerance tol; false: not reached. */
static perp_status prox_inner(perp_ctx *ctx, struct ws *work, double alpha, double tol,
                              bool *solved, perp_stats *stats)
{
  perp_cones *cones = &work->C;
  const int n = cones->R.n;
  cones->proximal = true;
  for (int i = 0; i < n; i++) {
    cones->center[i] = cones->x[i];
    cones->shift[i] = alpha * work->base[i];
    cones->scale[i] = work->base[i] + cones->shift[i];
  }
  perp_cones_restart(cones); /* the slack at the center is that of the problem itself */
  *solved = false;
  for (int k = 0; k < work->o.inner && !*solved && !perp_rows_spent(&cones->R); k++) {
    double t;
    PERP_TRY(perp_cones_step(ctx, cones, &t, &stats->factorizations));
    if (t == 0) return PERP_OK;
    *solved = perp_rows_residual(&cones->R, cones->x, cones->w) <= tol;
  }
  return PERP_OK;
}

static perp_status prox_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_cones *cones = &work->C;
  const perp_rows *rows = &cones->R;
  const int n = lcp->n;
  const size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_cones_prepare(ctx, cones, lcp));
  cones->refine = 1;
  cones->window = work->o.window;
  const double tol = perp_rows_target(work->o.tol, lcp);
  memcpy(work->base, cones->scale, bytes);
  memcpy(cones->x, lambda, bytes);
  memcpy(work->best, lambda, bytes);
  perp_cones_slack(cones);
  double rel = perp_rows_residual(&cones->R, cones->x, cones->w), least = rel, half = rel,
         grown = 1;
  int since = 0;
  for (;;) {
    if (rel < least || !isfinite(least)) {
      least = rel;
      memcpy(work->best, cones->x, bytes);
    }
    if (least <= 0.5 * half || !isfinite(half)) {
      half = least;
      since = 0;
    }
    stats->reason = least <= tol                            ? PERP_CONVERGED
                    : stats->iterations == work->o.max_iter ? PERP_MAX_ITER
                    : perp_rows_spent(rows)                 ? PERP_MAX_ITER
                    : !isfinite(rel)                        ? PERP_NOT_FINITE
                    : since++ == PATIENCE                   ? PERP_STALLED
                                                            : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    stats->iterations++;
    const double alpha = grown * SIGMA * fmin(rel, 1);
    bool solved;
    PERP_TRY(prox_inner(ctx, work, alpha, RATIO * rel, &solved, stats));
    for (int i = 0; i < n; i++) cones->w[i] -= cones->shift[i] * (cones->x[i] - cones->center[i]);
    cones->proximal = false;
    double now = perp_rows_residual(&cones->R, cones->x, cones->w);
    if (!solved && !(now < rel)) {
      memcpy(cones->x, cones->center, bytes);
      perp_cones_slack(cones);
      now = rel;
    }
    grown = solved ? fmax(1, grown / FALL) : fmin(grown * GROWTH, MOST);
    rel = now;
    PERP_TRACE(ctx, .method = "prox", .what = solved ? "proximal" : "failed",
               .iteration = stats->iterations, .entering = -1, .leaving = -1, .step = alpha,
               .residual = rel, .n = n, .x = cones->x, .w = cones->w, .state = cones->N.state);
  }
  memcpy(lambda, work->best, bytes);
  stats->matvecs = cones->matvecs;
  stats->work = rows->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_prox = {
  .d = { .name = "prox",
         .summary = "Proximal point method with semismooth Newton steps for circular cones, boxes "
                    "and redundant contacts, dense or sparse",
         .reference = "Acary, Bremond & Huber 2018; Rockafellar 1976",
         .equation = "lambda+ solves the problem with A + alpha D, b - alpha D lambda,  alpha = "
                     "sigma |F(lambda)|^nu",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED |
                 PERP_LCP_SPARSE | PERP_LCP_ITERATIVE | PERP_LCP_WARM | PERP_CAP_ALLOCATES },
  .create = prox_create,
  .solve = prox_solve,
  .destroy = perp_cones_destroy,
  .serves = "Circular cones, boxes and bounds of any kind with semidefinite A, including redundant "
            "contacts. Monotone problems converge by a theorem if the inner problems are solved. "
            "Coulomb's law: no theorem.",
  .ties = "None: no pivots. A contact exactly on the limit counts as sticking.",
  .cost = "Inner Newton steps, each with an LU factorization of the k free rows: 2 k^3 / 3, or "
          "sparse. Memory: n^2 numbers beyond A, or a sparse factor.",
  .counts = "Outer iterations. Newton steps count as factorizations.",
};
