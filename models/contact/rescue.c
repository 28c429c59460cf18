/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impulses of last resort.  A solver that gives up may leave nothing (a problem too large for its matrix), or
 * anything (a problem without a solution); with no impulses bodies fall through each other, with wrong ones they
 * are thrown.  Two attempts, each from the best that is known:
 *
 *   1. projected Gauss-Seidel sweeps on the problem itself;
 *   2. where that leaves a large residual, too: sweeps on  A + eps diag(A),  which always has one solution, that of
 *
 *         min  1/2 |v+ - v^|_M^2 + sum_i eps A_ii lambda_i^2 / 2 + bias' lambda     (without friction)
 *
 *      Contradictory contacts then meet halfway, with impulses of at most about 1 / eps times the largest that one
 *      contact alone would ask for: a box in too narrow a gap stays where it is, held by friction.
 *
 * Both start from no impulses where the best that is known throws bodies (perp_judged_gain): from impulses of 1e20
 * sweeps do not come back.  What throws loses to what does not, whatever the residuals are.
 *
 * The second is taken although its residual is a little larger than that of no impulses: where no impulses satisfy
 * all rows the largest residual is that of the contradiction, and says nothing about the other contacts. */
#include "models/contact/judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 200 };
static const double SOFT = 0.05, WORSE = 2;

void perp_rescue_close(perp_rescue *r)
{
  perp_lcp_destroy(r->sweeps);
  perp_arena_free(&r->arena);
  free(r->A);
  *r = (perp_rescue){ 0 };
}

static void layout(perp_rescue *r, perp_arena *a)
{
  r->x = PERP_CARVE(a, double, r->cap_n);
  r->w = PERP_CARVE(a, double, r->cap_n);
  r->s = PERP_CARVE(a, double, r->cap_n);
  r->w0 = PERP_CARVE(a, double, r->cap_n);
  r->none = PERP_CARVE(a, double, r->cap_n);
}

/* room for p; allocates when it is larger than any before */
static perp_status reserve(perp_ctx *ctx, perp_rescue *r, const perp_lcp *p)
{
  const int n = p->n, nv = p->F != NULL ? p->F->nv : 0;
  const size_t square = p->F == NULL ? (size_t)n * (size_t)n : 0;
  if (n > r->max_n || nv > r->max_nv) {
    char text[40];
    perp_spec spec;
    int max_n = n > r->max_n ? n + n / 4 : r->max_n,
        max_nv = nv > r->max_nv ? nv + nv / 4 : r->max_nv;
    perp_lcp_destroy(r->sweeps);
    r->sweeps = NULL;
    r->max_n = r->max_nv = 0;
    snprintf(text, sizeof text, "pgs:max_iter=%d", SWEEPS);
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &spec));
    perp_status status = perp_lcp_create(ctx, &spec, max_n, max_nv, &r->sweeps);
    perp_spec_free(&spec);
    if (status != PERP_OK) return status;
    r->max_n = max_n;
    r->max_nv = max_nv;
  }
  if (n > r->cap_n) {
    perp_arena_free(&r->arena);
    r->arena = (perp_arena){ 0 };
    r->cap_n = n + n / 4;
    layout(r, &r->arena);
    perp_status status = perp_arena_reserve(ctx, &r->arena);
    if (status != PERP_OK) {
      r->cap_n = 0;
      return status;
    }
    layout(r, &r->arena);
  }
  if (square > r->cap_A) {
    free(r->A);
    r->cap_A = 0;
    r->A = malloc((square + square / 4) * sizeof *r->A);
    if (r->A == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", n);
    r->cap_A = square + square / 4;
  }
  return PERP_OK;
}

/* p with eps times its diagonal added, in arrays of r */
static perp_lcp soften(perp_rescue *r, const perp_lcp *p, const double *a, perp_blocks *F)
{
  perp_lcp q = *p;
  if (p->F != NULL) {
    for (int i = 0; i < p->n; i++) r->s[i] = SOFT * a[i] + (p->F->s != NULL ? p->F->s[i] : 0);
    *F = *p->F;
    F->s = r->s;
    q.F = F;
    return q;
  }
  const size_t n = (size_t)p->n;
  for (size_t i = 0; i < n; i++) {
    memcpy(r->A + i * n, p->A + i * (size_t)p->lda, n * sizeof *r->A);
    r->A[i + i * n] += SOFT * a[i];
  }
  q.A = r->A;
  q.lda = p->n;
  return q;
}

/* of x [n]; *rel out: its residual */
static perp_candidate judge(perp_judged *j, const perp_lcp *p, const double *a, const double *x,
                            double *rel)
{
  perp_rescue *r = &j->rescue;
  perp_lcp_product(p, x, r->w, j->scratch);
  *rel = perp_lcp_rel(p, a, x, r->w);
  return (perp_candidate){ perp_judged_rating(p, a, x, r->w),
                           perp_judged_gain(p, a, j->mass, x, r->w, r->none, r->w0, j->scratch) };
}

perp_status perp_judged_rescue(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, const double *a,
                               double *lambda, double *rel, perp_contact_count *count)
{
  bool better = false;
  perp_rescue *r = &j->rescue;
  const size_t size = (size_t)p->n * sizeof *lambda;
  PERP_TRY(reserve(ctx, r, p));
  perp_candidate best = judge(j, p, a, lambda, rel);
  for (int soft = 0; soft < 2 && !(soft && perp_judged_useful(best, PERP_USABLE)); soft++) {
    perp_blocks F;
    perp_lcp q = soft ? soften(r, p, a, &F) : *p;
    perp_stats stats;
    memcpy(r->x, best.gain <= PERP_THROWN ? lambda : r->none, size);
    PERP_TRY(perp_lcp_solve(ctx, r->sweeps, &q, j->setup.tol, r->x, NULL, NULL, &stats));
    double rel_now;
    perp_candidate now = judge(j, p, a, r->x, &rel_now), worst = best;
    if (soft) worst.rating *= WORSE;
    if (!perp_judged_better(now, worst)) continue;
    best = now;
    *rel = rel_now;
    memcpy(lambda, r->x, size);
    better = true;
  }
  count->rescued += better;
  return PERP_OK;
}
