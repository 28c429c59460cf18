/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems of the reader's own: solved step by step, with the reason of each pivot. */
#include "experiments/lessons/pivots_json.h"
#include "experiments/live/module/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* n rows (1 to 8), A by columns, one solver.  An object as a lesson has it of a run
 * (pivots_json.h), with lambda, w, residual, status, work; NULL: the message says why. */
LIVE_EXPORT(live_solve)
const char *live_solve(const char *solver, int n, const double *A, const double *b,
                       const double *lo, const double *hi)
{
  perp_ctx *ctx = live_ctx();
  perp_lesson *problem = calloc(1, sizeof *problem);
  perp_pivots *pivots = calloc(1, sizeof *pivots);
  if (problem == NULL || pivots == NULL || n < 1 || n > PERP_LESSON_ROWS) abort();
  problem->n = n;
  memcpy(problem->A, A, (size_t)(n * n) * sizeof *A);
  memcpy(problem->b, b, (size_t)n * sizeof *b);
  memcpy(problem->lo, lo, (size_t)n * sizeof *lo);
  memcpy(problem->hi, hi, (size_t)n * sizeof *hi);
  perp_status status = perp_pivots_record(ctx, problem, b, solver, pivots);
  const char *text = NULL;
  if (status == PERP_OK) {
    perp_json json = { .out = live_text_begin() };
    perp_json_open(&json, NULL, '{');
    perp_json_members(&json, "residual %g, factorizations %d, work %g", pivots->stats.residual,
                      pivots->stats.factorizations, pivots->stats.work);
    perp_pivots_put_reals(&json, "lambda", pivots->lambda, n);
    perp_pivots_put_reals(&json, "w", pivots->w, n);
    if (pivots->certified) perp_pivots_put_reals(&json, "certificate", pivots->certificate, n);
    perp_json_open(&json, "runs", '[');
    perp_pivots_put_run(&json, pivots, 0);
    perp_json_close(&json, ']');
    perp_json_close(&json, '}');
    text = live_text_end();
  }
  free(problem);
  free(pivots);
  return text;
}

/* The pivots of a solve as a number: FNV-1a over the rows that enter and leave. */
static void answer_pivot(void *user, const perp_trace_event *event)
{
  uint32_t *hash = user;
  if (event->entering < 0 && event->leaving < 0) return;
  *hash = (*hash ^ (uint32_t)(event->entering + 1)) * 16777619u;
  *hash = (*hash ^ (uint32_t)(event->leaving + 1)) * 16777619u;
}

/* Bare answers of any size, for comparisons with the program: lambda [n] in: guess, out; figures
 * [5] out: reason, iterations, factorizations, residual, pivots.  false: the message says why. */
LIVE_EXPORT(live_answer)
int live_answer(const char *solver, int n, const double *A, const double *b, const double *lo,
                const double *hi, double *lambda, double *figures)
{
  perp_ctx *ctx = live_ctx();
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats = { 0 };
  uint32_t pivots = 2166136261u;
  const perp_lcp p = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
  if (perp_spec_parse(ctx, PERP_KIND_lcp, solver, &spec) != PERP_OK) return false;
  perp_status status = perp_lcp_create(ctx, &spec, n, 0, &s);
  if (status == PERP_OK) {
    ctx->trace = answer_pivot;
    ctx->trace_user = &pivots;
    status = perp_lcp_solve(ctx, s, &p, 1e-10, lambda, NULL, NULL, &stats);
    ctx->trace = NULL;
    perp_lcp_destroy(s);
  }
  perp_spec_free(&spec);
  figures[0] = stats.reason;
  figures[1] = stats.iterations;
  figures[2] = stats.factorizations;
  figures[3] = stats.residual;
  figures[4] = pivots;
  return status == PERP_OK;
}
