/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A solver, and impulses of last resort where it fails.  A solver that gives up may leave nothing
 * (a problem too large for its matrix), or anything (a problem without a solution); with no
 * impulses bodies fall through each other, with wrong ones they are thrown.  After `of`, whose
 * answer is judged, two attempts, each from the best that is known:
 *
 *   1. projected Gauss-Seidel sweeps on the problem itself;
 *   2. where that leaves a large residual, too: sweeps on  A + eps diag(A),  which, for positive
 * semidefinite A, always has one solution, that of
 *
 *         min  1/2 |v+ - v^|_M^2 + sum_i eps A_ii lambda_i^2 / 2 + bias' lambda     (without
 * friction)
 *
 *      Contradictory contacts then meet halfway, with impulses of at most about 1 / eps times the
 * largest that one contact alone would ask for: a box in too narrow a gap stays where it is, held
 * by friction.
 *
 * Both start from no impulses where the best that is known throws bodies (gain.h, without the mass
 * of the bodies, which no linear complementarity problem tells): from impulses of 1e20 sweeps do
 * not come back.  What throws loses to what does not, whatever the residuals are.
 *
 * The second is taken although its rating is up to twice that of the best before: where no impulses
 * satisfy all rows the largest residual is that of the contradiction, and says nothing about the
 * other contacts.  It is no solution of the problem, and perp_lcp_solve says so; it is the answer
 * to use where one must go on.
 *
 * stats.by: the name of `of` (or of its own part), "sweeps", "softened", or "guess" where nothing
 * was better. stats.reason of a failure is that of `of`.
 *
 * Cost: that of `of`; where it fails, up to 2 `sweeps` sweeps more.  Memory: that of `of`, and for
 * dense problems a second A, when the softened problem is first needed. Source: regularized (soft)
 * constraints of ODE (Smith, Open Dynamics Engine v0.5 User Guide, 3.8.2, CFM) as a last resort;
 * sweeps: pgs.c. */
#include "solvers/lcp/gain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double WORSE = 2; /* rating that softened impulses may have beside others */

struct opts {
  char of[PERP_TEXT_MAX];
  int sweeps;
  double softness;
};

static const perp_opt options[] = {
  PERP_TEXT(struct opts, of, "dantzig:start=bpp", "Solver that is tried first (in parentheses)."),
  PERP_INT(struct opts, sweeps, 200, 1, 1000000,
           "Maximum number of Gauss-Seidel sweeps per attempt."),
  PERP_REAL(struct opts, softness, 0.05, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Regularization eps of the softened problem (see the equation)."),
  PERP_OPTIONS_END
};

/* a solver, made when needed, for problems of its size */
struct part {
  perp_spec spec;
  perp_lcp_solver *s;
  int max_n, max_nv;
};

struct ws {
  struct opts o;
  int max_n, cap_nv;
  struct part of, sweeps;
  perp_arena arena;
  double *x, *best, *w, *w0, *none, *s, *a, *scratch; /* [max_n], scratch [max_n + 2 cap_nv] */
  double *A;                                          /* [cap_A] softened */
  size_t cap_A;
};

static void rescue_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->max_n, &work->x, &work->best, &work->w, &work->w0, &work->none,
               &work->s, &work->a);
  work->scratch = PERP_CARVE(arena, double, (size_t)work->max_n + 2 * (size_t)work->cap_nv);
}

static void rescue_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_lcp_destroy(work->of.s);
  perp_lcp_destroy(work->sweeps.s);
  perp_spec_free(&work->of.spec);
  perp_spec_free(&work->sweeps.spec);
  perp_arena_free(&work->arena);
  free(work->A);
  free(work);
}

static perp_status rescue_arrays(perp_ctx *ctx, struct ws *work, int nv)
{
  if (nv <= work->cap_nv && work->x != NULL) return PERP_OK;
  work->cap_nv = nv + nv / 4;
  return perp_arena_layout(ctx, &work->arena, rescue_layout, work); /* x is NULL where it fails */
}

static perp_status rescue_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  char text[40];
  *ws = NULL;
  if (max_n < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "rescue: max_n must not be negative: got %d", max_n);
  struct ws *work = calloc(1, sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "rescue: no memory for a workspace");
  work->o = *(const struct opts *)opts;
  work->max_n = max_n;
  snprintf(text, sizeof text, "pgs:max_iter=%d", work->o.sweeps);
  perp_status status = perp_spec_parse(ctx, PERP_KIND_lcp, work->o.of, &work->of.spec);
  if (status == PERP_OK) status = perp_spec_parse(ctx, PERP_KIND_lcp, text, &work->sweeps.spec);
  if (status == PERP_OK) status = rescue_arrays(ctx, work, 0);
  if (status != PERP_OK) {
    rescue_destroy(work);
    return status;
  }
  *ws = work;
  return PERP_OK;
}

static perp_status rescue_open(perp_ctx *ctx, const struct ws *work, struct part *part, int n,
                               int nv)
{
  if (part->s != NULL && n <= part->max_n && nv <= part->max_nv) return PERP_OK;
  perp_lcp_destroy(part->s);
  part->s = NULL;
  part->max_n = n + n / 4 < work->max_n ? n + n / 4 : work->max_n;
  part->max_nv = nv > part->max_nv ? nv + nv / 4 : part->max_nv;
  return perp_lcp_create(ctx, &part->spec, part->max_n, part->max_nv, &part->s);
}

/* p with eps times its diagonal added, in arrays of w */
static perp_status rescue_soften(perp_ctx *ctx, struct ws *work, const perp_lcp *p,
                                 perp_blocks *blocks, perp_lcp *q)
{
  const size_t n = (size_t)p->n;
  *q = *p;
  if (p->F != NULL) {
    for (size_t i = 0; i < n; i++)
      work->s[i] = work->o.softness * work->a[i] + (p->F->s != NULL ? p->F->s[i] : 0);
    *blocks = *p->F;
    blocks->s = work->s;
    q->F = blocks;
    return PERP_OK;
  }
  if (n * n > work->cap_A) {
    free(work->A);
    work->cap_A = 0;
    work->A = malloc((n * n + n * n / 4) * sizeof *work->A);
    if (work->A == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "rescue: no memory for %d rows", p->n);
    work->cap_A = n * n + n * n / 4;
  }
  for (size_t i = 0; i < n; i++) {
    memcpy(work->A + i * n, p->A + i * (size_t)p->lda, n * sizeof *work->A);
    work->A[i + i * n] += work->o.softness * work->a[i];
  }
  q->A = work->A;
  q->lda = p->n;
  return PERP_OK;
}

/* of work->x */
static perp_lcp_candidate rescue_judge(struct ws *work, const perp_lcp *lcp)
{
  perp_lcp_product(lcp, work->x, work->w, work->scratch);
  const double rating = perp_lcp_rating(lcp, work->a, work->x, work->w);
  return (perp_lcp_candidate){ isnan(rating) ? HUGE_VAL : rating,
                               perp_lcp_gain(lcp, work->a, 0, work->x, work->w, work->none,
                                             work->w0, work->scratch) };
}

static perp_status rescue_attempt(perp_ctx *ctx, struct ws *work, struct part *part,
                                  const perp_lcp *lcp, double tol, const char *what,
                                  perp_stats *stats, perp_stats *inner)
{
  PERP_TRY(rescue_open(ctx, work, part, lcp->n, lcp->F != NULL ? lcp->F->nv : 0));
  PERP_TRY(perp_lcp_solve(ctx, part->s, lcp, tol, work->x, NULL, NULL, inner));
  stats->iterations += inner->iterations;
  stats->factorizations += inner->factorizations;
  stats->matvecs += inner->matvecs;
  stats->work += inner->work;
  stats->fallbacks += inner->fallbacks;
  PERP_TRACE(ctx, .method = "rescue", .what = what, .iteration = stats->iterations, .entering = -1,
             .leaving = -1, .residual = inner->residual, .n = lcp->n, .x = work->x);
  return PERP_OK;
}

/* A part that did what it was asked for. */
static bool rescue_done(const struct ws *work, int n, const perp_stats *inner, const char *by,
                        double *lambda, perp_stats *stats)
{
  if (inner->reason != PERP_CONVERGED && inner->reason != PERP_SWEEPS_DONE) {
    stats->fallbacks++;
    return false;
  }
  memcpy(lambda, work->x, (size_t)n * sizeof *lambda);
  stats->reason = inner->reason;
  stats->by = by;
  return true;
}

static perp_status rescue_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  const int n = lcp->n;
  const size_t size = (size_t)n * sizeof *lambda;
  const double tol = lcp->tol > 0 ? lcp->tol : 1e-8;
  perp_stats inner;
  if (n > work->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "rescue: n = %d, but the solver was created for at most %d rows", n,
                     work->max_n);
  perp_no_certificate(lcp, certificate);
  PERP_TRY(rescue_arrays(ctx, work, lcp->F != NULL ? lcp->F->nv : 0));
  memcpy(work->x, lambda, size);
  PERP_TRY(rescue_attempt(ctx, work, &work->of, lcp, tol, work->of.spec.d->name, stats, &inner));
  const char *by = inner.by != NULL ? inner.by : work->of.spec.d->name;
  if (rescue_done(work, n, &inner, by, lambda, stats)) return PERP_OK;
  stats->reason = inner.reason;
  const double *proof = perp_lcp_certificate(work->of.s);
  if (certificate != NULL && proof != NULL) memcpy(certificate, proof, size);
  if (inner.reason == PERP_INFEASIBLE && proof == NULL) stats->reason = PERP_STALLED;

  perp_lcp_scales(lcp, work->a, work->scratch);
  perp_lcp_candidate now = rescue_judge(work, lcp);
  memcpy(work->best, work->x, size);
  stats->by = by;
  memcpy(work->x, lambda, size);
  perp_lcp_candidate best = rescue_judge(work, lcp);
  if (perp_lcp_better(now, best)) {
    best = now;
  } else {
    memcpy(work->best, lambda, size);
    stats->by = "guess";
  }
  for (int soft = 0; soft < 2; soft++) {
    perp_blocks blocks;
    perp_lcp q = *lcp;
    if (soft && best.rating <= PERP_USABLE && best.gain <= PERP_THROWN) break;
    if (soft) PERP_TRY(rescue_soften(ctx, work, lcp, &blocks, &q));
    if (lcp->work > 0) q.work = fmax(lcp->work - stats->work, 1);
    memcpy(work->x, best.gain <= PERP_THROWN ? work->best : work->none, size);
    const char *what = soft ? "softened" : "sweeps";
    PERP_TRY(rescue_attempt(ctx, work, &work->sweeps, &q, tol, what, stats, &inner));
    if (!soft && rescue_done(work, n, &inner, what, lambda, stats)) return PERP_OK;
    perp_lcp_candidate limit = best;
    if (soft) limit.rating *= WORSE;
    now = rescue_judge(work, lcp);
    if (!perp_lcp_better(now, limit)) continue;
    best = now;
    memcpy(work->best, work->x, size);
    stats->by = what;
  }
  memcpy(lambda, work->best, size);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_rescue = {
  .d = { .name = "rescue",
         .summary = "Fallback after another solver: Gauss-Seidel sweeps, then approximate impulses "
                    "of a softened problem",
         .reference = "Smith, Open Dynamics Engine v0.5 User Guide, 3.8.2 (softened constraints)",
         .equation = "A + eps diag(A) replaces A if the problem itself is not solved",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_WARM |
                 PERP_LCP_CHOOSES },
  .create = rescue_create,
  .solve = rescue_solve,
  .destroy = rescue_destroy,
  .serves = "Every problem that the first solver serves. The sweeps need dominant rows or a "
            "symmetric A. If both fail, the result is approximate and is reported as unsolved.",
  .ties = "Those of the first solver. The sweeps need no rule.",
  .cost = "The cost of the first solver. If it fails: 200 sweeps of pgs, and 200 more on the "
          "softened problem. A dense softened problem needs a second A.",
  .counts = "Iterations of the first solver, and sweeps.",
  .same = "*", /* the solver asked first, where it answers */
};
