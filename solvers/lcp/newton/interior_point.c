/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Primal-dual interior point method with predictor and corrector (Mehrotra; Wright, Primal-Dual
 * Interior-Point Methods), for boxed and mixed LCPs, ending with an exact basis where possible.
 *
 * With slacks s_l = lambda - lo, s_u = hi - lambda > 0 and their multipliers z_l, z_u > 0 (only for
 * finite bounds) the conditions read  A lambda + b - z_l + z_u = 0,  s_l z_l = s_u z_u = 0.  Newton
 * on the products = sigma m, m their mean, leaves (A + diag(d)) dlambda = r,   d = z_l / s_l + z_u
 * / s_u, one matrix for the predictor (sigma = 0) and the corrector; free rows have d = 0, fixed
 * ones are eliminated.  One common step, as A couples both sides, short of the boundary.  A
 * friction row has s_l = lambda_t + mu lambda_n, s_u = mu lambda_n - lambda_t, which couples it to
 * its normal row in the same way as in the Newton methods and makes the matrix unsymmetric (see
 * system.h).
 *
 * When the index sets settle, an active-set solve is tried (crossover, perp_newton_polish).  Bounds
 * are kept strictly, so that lambda is feasible throughout; the judge sees lambda as it is.
 *
 * Monotone (A positive semidefinite, symmetric or not) problems with a solution: converges, in
 * practice in 8 to 40 steps whatever n.  Without a solution lambda grows without bound along a
 * direction z >= 0 with A'z <= 0, b'z < 0, which is returned as certificate.  Others, friction
 * included: no theorem.  One factorization a step.  Allocates when the sparsity pattern changes. */
#include "solvers/lcp/newton/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct opts {
  int max_iter, crossover;
  double tol;
};

static const perp_opt options[] = { PERP_INT(struct opts, max_iter, 100, 1, 1e9,
                                             "Maximum number of interior point steps."),
                                    PERP_ROWS_TOL(struct opts),
                                    PERP_INT(struct opts, crossover, 4, 0, 1000,
                                             "Maximum number of final active-set solves. 0: none."),
                                    PERP_OPTIONS_END };

struct ws {
  perp_newton N; /* first */
  struct opts o;
  double *sl, *su, *zl, *zu, *dsl, *dsu, *dzl, *dzu, *res, *cl, *cu; /* [max_n] */
  int products;
};

static void interior_point_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_newton_layout(ws, arena);
  PERP_DOUBLES(arena, work->N.max_n, &work->sl, &work->su, &work->zl, &work->zu, &work->dsl,
               &work->dsu, &work->dzl, &work->dzu, &work->res, &work->cl, &work->cu);
}

static perp_status interior_point_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts };
  return perp_newton_create(ctx, "interior-point", max_n, &like.N, sizeof like,
                            interior_point_layout, ws);
}

/* no room between the bounds: lo = hi, or friction with mu = 0 */
static inline bool is_fixed(const perp_rows *rows, int i)
{
  return rows->type[i] != PERP_ROW_BOUNDED ? !(rows->p->mu[i] > 0) : !(rows->lo[i] < rows->hi[i]);
}

/* which of its two bounds a row has; friction rows have both, fixed ones none */
static inline bool has_lo(const perp_rows *rows, int i)
{
  return !is_fixed(rows, i) && (rows->type[i] != PERP_ROW_BOUNDED || rows->lo[i] > -HUGE_VAL);
}
static inline bool has_hi(const perp_rows *rows, int i)
{
  return !is_fixed(rows, i) && (rows->type[i] != PERP_ROW_BOUNDED || rows->hi[i] < HUGE_VAL);
}

/* slacks of lambda */
static void interior_point_slacks(struct ws *work, const double *lambda)
{
  const perp_rows *rows = &work->N.R;
  for (int i = 0; i < work->N.n; i++) {
    double lo = rows->lo[i], hi = rows->hi[i];
    if (rows->type[i] != PERP_ROW_BOUNDED) {
      hi = rows->p->mu[i] * lambda[rows->p->fric_of[i]];
      lo = -hi;
    }
    work->sl[i] = has_lo(rows, i) ? lambda[i] - lo : 1;
    work->su[i] = has_hi(rows, i) ? hi - lambda[i] : 1;
  }
}

/* A point well inside: at the distance of the data from single bounds, in the inner half of boxes.
 */
static void interior_point_start(struct ws *work, double *lambda)
{
  perp_newton *newton = &work->N;
  const perp_rows *rows = &newton->R;
  double size = DBL_MIN;
  for (int i = 0; i < newton->n; i++) {
    size = fmax(size, fabs(rows->p->b[i]) / newton->scale[i]);
    if (fabs(lambda[i]) < HUGE_VAL) size = fmax(size, fabs(lambda[i]));
    if (rows->type[i] == PERP_ROW_BOUNDED) {
      double x = fmin(fmax(0, rows->lo[i]), rows->hi[i]);
      size = fmax(size, fabs(x));
    }
  }
  work->products = 0;
  for (int i = 0; i < newton->n; i++) {
    if (rows->type[i] != PERP_ROW_BOUNDED) continue;
    double lo = rows->lo[i], hi = rows->hi[i];
    if (!(lo < hi))
      lambda[i] = lo;
    else if (lo > -HUGE_VAL && hi < HUGE_VAL) {
      double margin = fmin(size, 0.25 * (hi - lo));
      lambda[i] = fmin(fmax(lambda[i], lo + margin), hi - margin);
    } else if (lo > -HUGE_VAL)
      lambda[i] = fmax(lambda[i], lo + size);
    else if (hi < HUGE_VAL)
      lambda[i] = fmin(lambda[i], hi - size);
  }
  for (int i = 0; i < newton->n; i++)
    if (rows->type[i] != PERP_ROW_BOUNDED) {
      double limit = 0.5 * rows->p->mu[i] * lambda[rows->p->fric_of[i]];
      lambda[i] = fmin(fmax(lambda[i], -limit), limit);
    }
  interior_point_slacks(work, lambda);
  perp_rows_w(&newton->R, lambda, newton->w);
  for (int i = 0; i < newton->n; i++) {
    double base = newton->scale[i] * size;
    work->zl[i] = work->zu[i] = 0;
    if (has_lo(rows, i)) work->zl[i] = base + fmax(newton->w[i], 0), work->products++;
    if (has_hi(rows, i)) work->zu[i] = base + fmax(-newton->w[i], 0), work->products++;
  }
}

static double mean_product(const struct ws *work)
{
  double sum = 0;
  for (int i = 0; i < work->N.n; i++) sum += work->sl[i] * work->zl[i] + work->su[i] * work->zu[i];
  return sum / (work->products > 0 ? work->products : 1);
}

/* direction for targets cl, cu of s_l dz_l + z_l ds_l and s_u dz_u + z_u ds_u */
static bool solve_direction(struct ws *work, int refine)
{
  perp_newton *newton = &work->N;
  const perp_rows *rows = &newton->R;
  for (int i = 0; i < newton->n; i++)
    newton->rhs[i] = newton->d[i] < HUGE_VAL
                         ? -work->res[i] + work->cl[i] / work->sl[i] - work->cu[i] / work->su[i]
                         : 0;
  if (!perp_system_solve(&newton->S, newton->rhs, newton->dx, refine)) return false;
  for (int i = 0; i < newton->n; i++) {
    double follow = rows->type[i] != PERP_ROW_BOUNDED
                        ? rows->p->mu[i] * newton->dx[rows->p->fric_of[i]]
                        : 0;
    work->dsl[i] = has_lo(rows, i) ? newton->dx[i] + follow : 0;
    work->dsu[i] = has_hi(rows, i) ? follow - newton->dx[i] : 0;
    work->dzl[i] = has_lo(rows, i) ? (work->cl[i] - work->zl[i] * work->dsl[i]) / work->sl[i] : 0;
    work->dzu[i] = has_hi(rows, i) ? (work->cu[i] - work->zu[i] * work->dsu[i]) / work->su[i] : 0;
  }
  return true;
}

/* the longest step that keeps everything positive */
static double interior_point_longest(const struct ws *work)
{
  double t = HUGE_VAL;
  for (int i = 0; i < work->N.n; i++) {
    if (work->dsl[i] < 0) t = fmin(t, -work->sl[i] / work->dsl[i]);
    if (work->dsu[i] < 0) t = fmin(t, -work->su[i] / work->dsu[i]);
    if (work->dzl[i] < 0) t = fmin(t, -work->zl[i] / work->dzl[i]);
    if (work->dzu[i] < 0) t = fmin(t, -work->zu[i] / work->dzu[i]);
  }
  return t;
}

static bool interior_point_factor(struct ws *work)
{
  perp_newton *newton = &work->N;
  const perp_rows *rows = &newton->R;
  for (int i = 0; i < newton->n; i++) {
    double l = work->zl[i] / work->sl[i], u = work->zu[i] / work->su[i];
    bool fixed = is_fixed(rows, i);
    newton->d[i] = fixed ? HUGE_VAL : l + u;
    newton->gamma[i] = rows->type[i] != PERP_ROW_BOUNDED && !fixed
                           ? -rows->p->mu[i] * (l - u) / (l + u)
                           : 0;
  }
  return perp_system_factor(&newton->S, newton->d, newton->coupled ? newton->gamma : NULL);
}

static perp_status interior_point_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp,
                                        double *lambda, double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_newton *newton = &work->N;
  int n = lcp->n, tried = 0;
  size_t bytes = (size_t)n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_newton_prepare(ctx, newton, lcp, work->o.tol));
  double best = perp_newton_rel(newton, lambda, newton->w);
  memcpy(newton->keep, lambda, bytes);
  if (best <= newton->tol) stats->reason = PERP_CONVERGED;
  double *x = lambda, sigma_least = 0, first = 0;
  if (stats->reason == PERP_RUNNING) interior_point_start(work, x);
  while (stats->reason == PERP_RUNNING) {
    if (stats->iterations == work->o.max_iter || perp_rows_spent(&newton->R)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    stats->iterations++;
    for (int i = 0; i < n; i++) work->res[i] = newton->w[i] - work->zl[i] + work->zu[i];
    double mean = mean_product(work), mean_affine = 0;
    if (!interior_point_factor(work)) {
      stats->reason = PERP_SINGULAR;
      break;
    }
    for (int i = 0; i < n; i++) {
      work->cl[i] = -work->sl[i] * work->zl[i];
      work->cu[i] = -work->su[i] * work->zu[i];
    }
    if (!solve_direction(work, 0)) {
      stats->reason = PERP_SINGULAR;
      break;
    }
    double t = fmin(1, interior_point_longest(work));
    for (int i = 0; i < n; i++)
      mean_affine += (work->sl[i] + t * work->dsl[i]) * (work->zl[i] + t * work->dzl[i]) +
                     (work->su[i] + t * work->dsu[i]) * (work->zu[i] + t * work->dzu[i]);
    mean_affine /= work->products > 0 ? work->products : 1;
    double ratio = mean > 0 ? mean_affine / mean : 0;
    double sigma = fmin(1, fmax(ratio * ratio * ratio, sigma_least));
    for (int i = 0; i < n; i++) {
      work->cl[i] = work->zl[i] > 0
                        ? sigma * mean - work->sl[i] * work->zl[i] - work->dsl[i] * work->dzl[i]
                        : 0;
      work->cu[i] = work->zu[i] > 0
                        ? sigma * mean - work->su[i] * work->zu[i] - work->dsu[i] * work->dzu[i]
                        : 0;
    }
    if (!solve_direction(work, 1)) {
      stats->reason = PERP_SINGULAR;
      break;
    }
    t = fmin(1, fmax(0.9, 1 - mean / (first > 0 ? first : mean)) * interior_point_longest(work));
    if (first == 0) first = mean;
    /* a short step: more centering next time */
    sigma_least = t < 0.1 ? fmin(0.8, fmax(0.1, 4 * sigma_least)) : 0.1 * sigma_least;
    for (int i = 0; i < n; i++) {
      x[i] += t * newton->dx[i];
      work->zl[i] += t * work->dzl[i];
      work->zu[i] += t * work->dzu[i];
    }
    interior_point_slacks(work, x);
    double rel = perp_newton_rel(newton, x, newton->w);
    bool inside = true;
    for (int i = 0; i < n; i++) inside = inside && work->sl[i] > 0 && work->su[i] > 0;
    PERP_TRACE(ctx, .method = "interior-point", .what = "newton", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = t, .residual = rel, .n = n, .x = x,
               .w = newton->w);
    if (!isfinite(rel)) {
      stats->reason = PERP_NOT_FINITE;
      break;
    }
    if (rel < best) {
      best = rel;
      memcpy(newton->keep, x, bytes);
    }
    if (best <= newton->tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    /* crossover once the answer is near, and again whenever it is ten times nearer */
    if (rel <= 1e-3 * pow(0.1, tried) && tried < work->o.crossover) {
      tried++;
      memcpy(work->res, x, bytes);
      memcpy(work->cl, newton->w, bytes);
      double polished = perp_newton_polish(newton, work->res, 3, rel);
      if (polished < best) {
        best = polished;
        memcpy(newton->keep, work->res, bytes);
      }
      memcpy(newton->w, work->cl, bytes);
      if (best <= newton->tol) stats->reason = PERP_CONVERGED;
    }
    /* grown beyond what the judge could accept */
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
    if (stats->reason == PERP_RUNNING && (!(t > 1e-12) || !inside || size > 1e13 * newton->R.bnorm))
      stats->reason = PERP_STALLED;
  }
  if (stats->reason != PERP_CONVERGED && certificate != NULL) {
    /* lambda along a ray of growth is the candidate for a proof; solve.c checks it */
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
    bool grown = isfinite(size) && size > 1e3 * fmax(newton->R.bnorm, DBL_MIN);
    for (int i = 0; i < n; i++) certificate[i] = grown ? x[i] / size : 0;
    if (grown) stats->reason = PERP_INFEASIBLE;
  }
  memcpy(lambda, newton->keep, bytes);
  stats->factorizations = newton->S.factorizations;
  stats->matvecs = newton->matvecs;
  stats->work = newton->R.work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_interior_point = {
  .d = { .name = "interior-point",
         .summary =
             "Predictor-corrector interior point method for monotone problems, dense or sparse",
         .reference = "Mehrotra 1992; Wright, Primal-Dual Interior-Point Methods (1997)",
         .equation = "(A + diag(z / s)) dlambda = r,  s z = sigma m",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_SPARSE | PERP_LCP_ITERATIVE |
                 PERP_CAP_ALLOCATES },
  .create = interior_point_create,
  .solve = interior_point_solve,
  .destroy = perp_newton_destroy,
  .serves = "Semidefinite A of any symmetry, bounds of any kind, with a solution. In practice 8 to "
            "40 steps for any n, without a proved bound. Without a solution lambda grows along a "
            "direction that may prove infeasibility. Friction: no theorem.",
  .ties = "None: no pivots, all rows stay strictly inside their bounds.",
  .cost = "One factorization of all n rows per step. It costs n^3 / 3 if symmetric, 2 n^3 / 3 with "
          "friction or nonsymmetric A, or less if sparse, in A or in the velocities. An "
          "initial guess is not used. Memory: n^2 numbers beyond A, or those of a sparse LU.",
  .counts = "Predictor-corrector steps.",
};
