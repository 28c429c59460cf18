/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems of the reader's own: solved step by step, with the reason of each pivot. */
#include "experiments/lessons/pivots_json.h"
#include "experiments/live/module/live.h"
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A problem as text (.lcp, JSON, Matrix Market) of at most LIVE_SMALL rows, dense; with n_d > 0
 * its friction as a pyramid of so many directions. */
static perp_status lcp_read(perp_ctx *ctx, const char *text, int n_d, perp_lcp_problem *out)
{
  perp_lcp_problem read;
  PERP_TRY(perp_lcp_read_memory(ctx, "problem", text, strlen(text), &read));
  perp_status status = PERP_OK;
  if (read.p.n < 1 || read.p.n > LIVE_SMALL)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%d rows: this page solves 1 to %d, perp lcp solve any number", read.p.n,
                       LIVE_SMALL);
  if (status == PERP_OK)
    status = n_d > 0 ? perp_lcp_pyramid(ctx, &read, n_d, out)
                     : perp_lcp_problem_form(ctx, &read, out);
  perp_lcp_problem_free(&read);
  if (status == PERP_OK && out->p.n > LIVE_SMALL) {
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "with %d directions this problem has %d rows: at most %d are solved here",
                       n_d, out->p.n, LIVE_SMALL);
    perp_lcp_problem_free(out);
  }
  return status;
}

static void put_ints(perp_json *json, const char *key, const int *v, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_int(json, NULL, v[i]);
  perp_json_close(json, ']');
}

/* { n, A (columns), b, lo, hi, friction_of, mu, cone, names } */
void live_put_problem(perp_json *json, const live_problem *p)
{
  int cone[LIVE_SMALL];
  perp_json_open(json, NULL, '{');
  perp_json_int(json, "n", p->n);
  perp_json_reals(json, "A", p->A, p->n * p->n);
  perp_json_reals(json, "b", p->b, p->n);
  perp_json_reals(json, "lo", p->lo, p->n);
  perp_json_reals(json, "hi", p->hi, p->n);
  put_ints(json, "friction_of", p->fric_of, p->n);
  perp_json_reals(json, "mu", p->mu, p->n);
  for (int i = 0; i < p->n; i++) cone[i] = p->cone[i];
  put_ints(json, "cone", cone, p->n);
  perp_json_open(json, "names", '[');
  for (int i = 0; i < p->n; i++) perp_json_text(json, NULL, p->name[i]);
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}

/* A problem that perp lcp reads, as an object (live_put_problem), or its friction as a pyramid of
 * 2 to 64 directions; NULL: the message says why. */
LIVE_EXPORT(live_matrix) const char *live_matrix(const char *text, int directions)
{
  perp_lcp_problem problem;
  live_problem out = { 0 };
  if (lcp_read(live_ctx(), text, directions, &problem) != PERP_OK) return NULL;
  const perp_lcp *p = &problem.p;
  const bool friction = p->fric_of != NULL && !p->frozen;
  out.n = p->n;
  for (int i = 0; i < p->n; i++) {
    for (int j = 0; j < p->n; j++) out.A[i + j * p->n] = perp_lcp_entry(p, i, j);
    out.b[i] = p->b[i];
    out.lo[i] = p->lo != NULL ? p->lo[i] : 0;
    out.hi[i] = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    out.fric_of[i] = friction ? p->fric_of[i] : -1;
    out.mu[i] = out.fric_of[i] >= 0 ? p->mu[i] : 0;
    out.cone[i] = perp_lcp_is_cone(p, i);
  }
  perp_json json = { .out = live_text_begin() };
  live_put_problem(&json, &out);
  perp_lcp_problem_free(&problem);
  return live_text_end();
}

/* One solver on a problem that perp lcp reads.  An object as a lesson has it of a run
 * (pivots_json.h), with lambda, w, residual, work and, where the method does not serve the problem,
 * what of it; NULL: the message says why. */
LIVE_EXPORT(live_solve) const char *live_solve(const char *solver, const char *problem)
{
  perp_ctx *ctx = live_ctx();
  perp_lcp_problem read;
  perp_pivots *pivots = calloc(1, sizeof *pivots);
  if (pivots == NULL) abort();
  perp_status status = lcp_read(ctx, problem, 0, &read);
  const char *text = NULL;
  if (status == PERP_OK) {
    const int n = read.p.n;
    double lo[LIVE_SMALL], hi[LIVE_SMALL];
    for (int i = 0; i < n; i++) {
      lo[i] = read.p.lo != NULL ? read.p.lo[i] : 0;
      hi[i] = read.p.hi != NULL ? read.p.hi[i] : HUGE_VAL;
    }
    read.p.lo = lo;
    read.p.hi = hi;
    status = perp_pivots_record(ctx, &read.p, solver, pivots);
    if (status == PERP_OK) {
      const char *unsuited = pivots->stats.reason == PERP_UNSUITED
                                 ? perp_lcp_unsuited(perp_find(ctx, PERP_KIND_lcp, pivots->method),
                                                     &read.p)
                                 : NULL;
      perp_json json = { .out = live_text_begin() };
      perp_json_open(&json, NULL, '{');
      perp_json_members(&json, "residual %g, factorizations %d, work %g, unsuited %s",
                        pivots->stats.residual, pivots->stats.factorizations, pivots->stats.work,
                        unsuited != NULL ? unsuited : "");
      perp_pivots_put_reals(&json, "lambda", pivots->lambda, n);
      perp_pivots_put_reals(&json, "w", pivots->w, n);
      if (pivots->certified) perp_pivots_put_reals(&json, "certificate", pivots->certificate, n);
      perp_json_open(&json, "runs", '[');
      perp_pivots_put_run(&json, pivots, 0);
      perp_json_close(&json, ']');
      perp_json_close(&json, '}');
      text = live_text_end();
    }
    perp_lcp_problem_free(&read);
  }
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
