/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/sequence_run.h"

#include <string.h>

perp_status perp_sequence_open(perp_ctx *ctx, const char *prefix, perp_sequence *sequence)
{
  *sequence = (perp_sequence){ 0 };
  PERP_TRY(perp_lcp_sequence_read(ctx, prefix, &sequence->problem, &sequence->n));
  for (int problem = 0; problem < sequence->n; problem++) {
    perp_lcp *lcp = &sequence->problem[problem].p;
    lcp->brief = true; /* judged as in the time steps that they are of */
    int born = 0, gone = 0;
    if (lcp->n > sequence->rows) sequence->rows = lcp->n;
    if (lcp->F != NULL && lcp->F->nv > sequence->columns) sequence->columns = lcp->F->nv;
    perp_status status = problem > 0
                             ? perp_lcp_carry_count(ctx, &sequence->problem[problem], &born, &gone)
                             : PERP_OK;
    if (status != PERP_OK) {
      perp_sequence_close(sequence);
      return status;
    }
    sequence->born += born;
    sequence->gone += gone;
  }
  const size_t rows = (size_t)sequence->rows + 1;
  sequence->start = perp_pool_alloc(&sequence->pool, rows, sizeof *sequence->start);
  sequence->lambda = perp_pool_alloc(&sequence->pool, rows, sizeof *sequence->lambda);
  sequence->next = perp_pool_alloc(&sequence->pool, rows, sizeof *sequence->next);
  sequence->w = perp_pool_alloc(&sequence->pool, rows, sizeof *sequence->w);
  return PERP_OK;
}

void perp_sequence_close(perp_sequence *sequence)
{
  perp_lcp_sequence_free(sequence->problem, sequence->n);
  perp_pool_free(&sequence->pool);
  *sequence = (perp_sequence){ 0 };
}

const char *perp_sequence_unsuited(const perp_sequence *sequence, const perp_desc *method)
{
  const char *what = NULL;
  for (int problem = 0; problem < sequence->n && what == NULL; problem++)
    what = perp_lcp_unsuited(method, &sequence->problem[problem].p);
  return what;
}

bool perp_sequence_warms(const perp_desc *method)
{
  return method->caps & PERP_LCP_WARM;
}

static perp_status sequence_run_solve(perp_ctx *ctx, perp_lcp_solver *solver, double tol,
                                      perp_sequence *sequence, int problem, double *lambda,
                                      perp_sequence_answer *answer)
{
  perp_stats stats;
  PERP_TRY(perp_lcp_solve(ctx, solver, &sequence->problem[problem].p, tol, lambda, sequence->w,
                          answer != NULL ? &answer->judgement : NULL, &stats));
  if (answer != NULL) answer->stats = stats;
  return PERP_OK;
}

perp_status perp_sequence_begin(perp_ctx *ctx, perp_lcp_solver *solver, double tol,
                                perp_sequence *sequence, perp_sequence_answer *answer)
{
  memset(sequence->start, 0, (size_t)sequence->rows * sizeof *sequence->start);
  return sequence_run_solve(ctx, solver, tol, sequence, 0, sequence->start, answer);
}

perp_status perp_sequence_march(perp_ctx *ctx, perp_lcp_solver *solver, double tol, bool warm,
                                perp_sequence *sequence, perp_sequence_answer *answer)
{
  memcpy(sequence->lambda, sequence->start, (size_t)sequence->rows * sizeof *sequence->lambda);
  for (int problem = 1; problem < sequence->n; problem++) {
    if (warm)
      perp_lcp_carry_over(&sequence->problem[problem], sequence->lambda, sequence->next);
    else
      memset(sequence->next, 0, (size_t)sequence->rows * sizeof *sequence->next);
    PERP_TRY(sequence_run_solve(ctx, solver, tol, sequence, problem, sequence->next,
                                answer != NULL ? &answer[problem] : NULL));
    double *swap = sequence->lambda;
    sequence->lambda = sequence->next;
    sequence->next = swap;
  }
  return PERP_OK;
}

bool perp_sequence_solved(const perp_sequence_answer *answer)
{
  return answer->stats.reason == PERP_CONVERGED || answer->stats.reason == PERP_INFEASIBLE;
}

perp_sequence_sums perp_sequence_sum(const perp_sequence *sequence,
                                     const perp_sequence_answer *answer)
{
  perp_sequence_sums sum = { 0 };
  for (int k = 1; k < sequence->n; k++) {
    const perp_stats *stats = &answer[k].stats;
    sum.iterations += stats->iterations;
    sum.factorizations += stats->factorizations;
    sum.matvecs += (double)stats->matvecs;
    sum.fallbacks += stats->fallbacks;
    sum.work += stats->work;
  }
  return sum;
}
