/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxed friction by a fixed point over boxed problems without friction rows.
 *
 * With frozen limits g the problem  |lambda_t| <= g_t  is a plain boxed LCP; its solution lambda(g)
 * gives new limits  T(g)_t = mu_t max(lambda_n(g), 0), and g = T(g) solves the coupled problem.
 * Iterated as g <- (1 - omega) g + omega T(g), omega halved whenever the coupled residual has not
 * fallen for PATIENCE steps.  Any boxed solver serves as the inner one.  Source: the decoupled
 * friction models of STAR 4.3.4 (staggering with fixed limits).
 *
 * Cost: one inner solve a step, warm-started.  Memory: the inner solver's and 4 n.  Fails where T
 * is no contraction under any omega (large mu, strong coupling of normal and tangential rows):
 * PERP_STALLED; where the inner solver fails: its reason. */
#include "solvers/lcp/lcp_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const perp_lcp_desc perp_lcp_fixed_point;

/* Steps without progress before omega, which begins at 1, is halved. */
enum { PATIENCE = 5 };

struct options {
  char inner[PERP_TEXT_MAX];
  int max_iter;
};

static const perp_opt option_table[] = {
  PERP_TEXT(struct options, inner, "lemke", "Solver of the inner boxed problems."),
  PERP_INT(struct options, max_iter, 200, 1, 1000000, "Maximum number of inner solves."),
  PERP_OPTIONS_END
};

struct workspace {
  struct options opt;
  perp_lcp_solver *inner;
  int max_n;
  double *lo, *hi, *w, *best, *a, *scratch;
};

static void fixed_point_layout(void *ws, perp_arena *arena)
{
  struct workspace *work = ws;
  PERP_DOUBLES(arena, work->max_n, &work->lo, &work->hi, &work->w, &work->best, &work->a);
  PERP_DOUBLES(arena, PERP_LCP_SCRATCH(work->max_n, 0), &work->scratch);
}

static void fixed_point_destroy(void *ws)
{
  struct workspace *work = ws;
  if (work == NULL) return;
  perp_lcp_destroy(work->inner);
  free(work);
}

static perp_status fixed_point_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct workspace like = { .opt = *(const struct options *)opts, .max_n = max_n };
  perp_spec spec = { 0 };
  PERP_TRY(perp_workspace_create(ctx, "fixed-point", &like, sizeof like, fixed_point_layout, ws));
  struct workspace *work = *ws;
  perp_status status = perp_spec_parse(ctx, PERP_KIND_lcp, work->opt.inner, &spec);
  if (status == PERP_OK && spec.d == &perp_lcp_fixed_point.d)
    status = PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "fixed-point.inner must be another solver than fixed-point: use lemke, for example");
  if (status == PERP_OK) status = perp_lcp_create(ctx, &spec, max_n, 0, &work->inner);
  perp_spec_free(&spec);
  if (status == PERP_OK) return PERP_OK;
  fixed_point_destroy(work);
  *ws = NULL;
  return status;
}

static bool fixed_point_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0;
}

static void keep_certificate(const struct workspace *work, int n, double *certificate)
{
  const double *z = perp_lcp_certificate(work->inner);
  if (z != NULL && certificate != NULL) memcpy(certificate, z, (size_t)n * sizeof *z);
}

static perp_status fixed_point_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                     double *certificate, perp_stats *stats)
{
  struct workspace *work = ws;
  int n = lcp->n, idle = 0;
  size_t bytes = (size_t)n * sizeof *lambda;
  double tol = lcp->tol > 0 ? lcp->tol : 1e-10;
  double omega = 1, least = HUGE_VAL;
  bool coupled = false;
  perp_no_certificate(lcp, certificate);
  perp_lcp box = *lcp;
  box.fric_of = NULL;
  box.mu = NULL;
  box.cone = NULL;
  box.lo = work->lo;
  box.hi = work->hi;
  box.tol_data = 0.1 * lcp->tol_data;
  for (int i = 0; i < n; i++) {
    perp_lcp_bounds(lcp, lambda, i, &work->lo[i], &work->hi[i]);
    coupled |= fixed_point_is_friction(lcp, i);
  }
  perp_lcp_scales(lcp, work->a, NULL);
  memcpy(work->best, lambda, bytes);
  stats->reason = PERP_MAX_ITER;
  while (stats->iterations < work->opt.max_iter && !perp_lcp_spent(lcp, stats->work)) {
    perp_stats inner;
    if (lcp->work > 0) box.work = lcp->work - stats->work;
    stats->iterations++;
    /* the inner problem must be better solved than the coupled one */
    PERP_TRY(perp_lcp_solve(ctx, work->inner, &box, 0.1 * tol, lambda, work->w, NULL, &inner));
    stats->factorizations += inner.factorizations;
    stats->matvecs += inner.matvecs;
    stats->work += inner.work;
    stats->fallbacks += inner.fallbacks;
    const double merit = perp_lcp_merit(lcp, work->a, lambda, work->w);
    const double rel = perp_lcp_close(lcp, merit, lambda, work->w, work->scratch);
    PERP_TRACE(ctx, .method = "fixed-point", .what = "limits", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = omega, .residual = rel, .n = n, .x = lambda,
               .w = work->w);
    bool better = rel < least;
    if (better) {
      least = rel;
      memcpy(work->best, lambda, bytes);
      idle = 0;
    } else if (++idle == PATIENCE) {
      omega *= 0.5;
      idle = 0;
    }
    if (rel <= tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    if (!coupled || (inner.reason != PERP_CONVERGED && !better)) {
      stats->reason = inner.reason == PERP_CONVERGED ? PERP_INACCURATE : inner.reason;
      /* what frozen limits make impossible, others may allow */
      if (!coupled)
        keep_certificate(work, n, certificate);
      else if (stats->reason == PERP_INFEASIBLE || stats->reason == PERP_NONE_WITHIN ||
               stats->reason == PERP_RAY)
        stats->reason = PERP_STALLED;
      break;
    }
    if (omega < 1e-3) {
      stats->reason = PERP_STALLED;
      break;
    }
    for (int i = 0; i < n; i++) {
      if (!fixed_point_is_friction(lcp, i)) continue;
      double limit = lcp->mu[i] * fmax(lambda[lcp->fric_of[i]], 0);
      work->hi[i] += omega * (limit - work->hi[i]);
      work->lo[i] = -work->hi[i];
    }
  }
  memcpy(lambda, work->best, bytes);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_fixed_point = {
  .d = { .name = "fixed-point",
         .summary = "Fixed point of the friction limits around any solver of boxed problems",
         .reference = "STAR 4.3.4 (decoupled limits)",
         .equation = "g = mu max(lambda_n(g), 0), lambda(g) from the boxed LCP with limits g",
         PERP_OPTIONS(option_table, struct options),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_ITERATIVE | PERP_LCP_WARM },
  .create = fixed_point_create,
  .solve = fixed_point_solve,
  .destroy = fixed_point_destroy,
  .serves = "Boxed friction rows together with the rows that the inner solver serves. It converges "
            "if the limits contract for some omega.",
  .ties = "Those of the inner solver.",
  .cost = "One warm-started inner solve per step. Memory: 5 n numbers beyond the inner solver.",
  .counts = "Steps: solves of the inner solver.",
  .same = "lemke", /* the inner solver alone where there is no friction row */
};
