/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/sequence_run.h"

#include <string.h>

perp_status perp_sequence_open(perp_ctx *ctx, const char *prefix, perp_sequence *s)
{
  *s = (perp_sequence){ 0 };
  PERP_TRY(perp_lcp_sequence_read(ctx, prefix, &s->problem, &s->n));
  for (int k = 0; k < s->n; k++) {
    perp_lcp *p = &s->problem[k].p;
    p->brief = true; /* judged as in the time steps that they are of */
    int born = 0, gone = 0;
    if (p->n > s->rows) s->rows = p->n;
    if (p->F != NULL && p->F->nv > s->columns) s->columns = p->F->nv;
    perp_status status = k > 0 ? perp_lcp_carry_count(ctx, &s->problem[k], &born, &gone) : PERP_OK;
    if (status != PERP_OK) {
      perp_sequence_close(s);
      return status;
    }
    s->born += born;
    s->gone += gone;
  }
  const size_t rows = (size_t)s->rows + 1;
  s->start = perp_pool_alloc(&s->pool, rows, sizeof *s->start);
  s->lambda = perp_pool_alloc(&s->pool, rows, sizeof *s->lambda);
  s->next = perp_pool_alloc(&s->pool, rows, sizeof *s->next);
  s->w = perp_pool_alloc(&s->pool, rows, sizeof *s->w);
  return PERP_OK;
}

void perp_sequence_close(perp_sequence *s)
{
  perp_lcp_sequence_free(s->problem, s->n);
  perp_pool_free(&s->pool);
  *s = (perp_sequence){ 0 };
}

const char *perp_sequence_unsuited(const perp_sequence *s, const perp_desc *method)
{
  const char *what = NULL;
  for (int k = 0; k < s->n && what == NULL; k++) what = perp_lcp_unsuited(method, &s->problem[k].p);
  return what;
}

bool perp_sequence_warms(const perp_desc *method)
{
  return method->caps & PERP_LCP_WARM;
}

static perp_status sequence_run_solve(perp_ctx *ctx, perp_lcp_solver *solver, double tol,
                                      perp_sequence *s, int k, double *lambda,
                                      perp_sequence_answer *answer)
{
  perp_stats stats;
  PERP_TRY(perp_lcp_solve(ctx, solver, &s->problem[k].p, tol, lambda, s->w,
                          answer != NULL ? &answer->judgement : NULL, &stats));
  if (answer != NULL) answer->stats = stats;
  return PERP_OK;
}

perp_status perp_sequence_begin(perp_ctx *ctx, perp_lcp_solver *solver, double tol,
                                perp_sequence *s, perp_sequence_answer *answer)
{
  memset(s->start, 0, (size_t)s->rows * sizeof *s->start);
  return sequence_run_solve(ctx, solver, tol, s, 0, s->start, answer);
}

perp_status perp_sequence_march(perp_ctx *ctx, perp_lcp_solver *solver, double tol, bool warm,
                                perp_sequence *s, perp_sequence_answer *answer)
{
  memcpy(s->lambda, s->start, (size_t)s->rows * sizeof *s->lambda);
  for (int k = 1; k < s->n; k++) {
    if (warm)
      perp_lcp_carry_over(&s->problem[k], s->lambda, s->next);
    else
      memset(s->next, 0, (size_t)s->rows * sizeof *s->next);
    PERP_TRY(
        sequence_run_solve(ctx, solver, tol, s, k, s->next, answer != NULL ? &answer[k] : NULL));
    double *swap = s->lambda;
    s->lambda = s->next;
    s->next = swap;
  }
  return PERP_OK;
}

bool perp_sequence_solved(const perp_sequence_answer *answer)
{
  return answer->stats.reason == PERP_CONVERGED || answer->stats.reason == PERP_INFEASIBLE;
}

perp_sequence_sums perp_sequence_sum(const perp_sequence *s, const perp_sequence_answer *answer)
{
  perp_sequence_sums sum = { 0 };
  for (int k = 1; k < s->n; k++) {
    const perp_stats *x = &answer[k].stats;
    sum.iterations += x->iterations;
    sum.factorizations += x->factorizations;
    sum.matvecs += (double)x->matvecs;
    sum.fallbacks += x->fallbacks;
    sum.work += x->work;
  }
  return sum;
}
