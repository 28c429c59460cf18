/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LCP solvers and an integrator that do what outside code may do: crash, hang, eat memory, answer
 * NaN, print.  With a slow and a good one beside them. */
#include "perp.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)ctx, (void)max_n, (void)opts;
  *ws = NULL;
  return PERP_OK;
}

static void destroy(void *ws)
{
  (void)ws;
}

static perp_status solve_segv(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)p, (void)certificate, (void)stats;
  lambda[0] = 1;
  fputs("about to use a null pointer\n", stderr);
  raise(SIGSEGV); /* what a null pointer does, without a compiler that sees through it */
  return PERP_OK;
}

static perp_status solve_loop(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)p, (void)certificate, (void)stats;
  for (volatile double *x = lambda;;) *x = *x + 1;
  return PERP_OK;
}

static perp_status solve_memory(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                                double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)p, (void)lambda, (void)certificate, (void)stats;
  enum { PIECE = 1 << 24 };
  for (;;) {
    char *piece = malloc(PIECE);
    memset(piece, 1, PIECE); /* unchecked, as in code that "cannot run out of memory" */
    *(char *volatile *)piece = piece;
  }
  return PERP_OK;
}

static perp_status solve_not_a_number(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                                      double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)certificate;
  puts("nan, nan, nan");
  for (int i = 0; i < p->n; i++) lambda[i] = (double)NAN;
  stats->reason = PERP_CONVERGED;
  return PERP_OK;
}

#define SOLVER(IDENT, NAME)                                                                        \
  static const perp_lcp_desc IDENT = {                                                             \
    .d = { .name = NAME,                                                                           \
           .summary = "a bad solver",                                                              \
           .reference = "tests",                                                                   \
           .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_SEMIDEFINITE | PERP_LCP_NONSYMMETRIC }, \
    .create = create,                                                                              \
    .solve = solve_##IDENT,                                                                        \
    .destroy = destroy                                                                             \
  }
SOLVER(segv, "bad-segv");
SOLVER(loop, "bad-loop");
SOLVER(memory, "bad-memory");
SOLVER(not_a_number, "bad-nan");

/* ---- an integrator that loses its numbers ---- */

struct ode_opts {
  perp_ode_control control;
};
static const perp_opt ode_options[] = { PERP_ODE_CONTROL_OPTIONS(struct ode_opts),
                                        PERP_OPTIONS_END };

static perp_status ode_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, void **ws)
{
  (void)ctx, (void)sys, (void)opts;
  *ws = NULL;
  return PERP_OK;
}

static perp_ode_answer ode_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                double *v, double *err, perp_stats *stats)
{
  (void)ws, (void)t, (void)h, (void)err, (void)stats, (void)v;
  for (int i = 0; i < sys->nq; i++) q[i] = (double)NAN;
  return PERP_ODE_OK;
}

static const perp_ode_desc ode_nan = { .d = { .name = "bad-nan",
                                              .summary = "a bad integrator",
                                              .reference = "tests",
                                              .equation = "y = NaN",
                                              .opts = ode_options,
                                              .opts_size = sizeof(struct ode_opts) },
                                       .order = 1,
                                       .stages = 1,
                                       .create = ode_create,
                                       .step = ode_step,
                                       .destroy = destroy };

PERP_OUTSIDE({ PERP_KIND_lcp, &segv.d }, { PERP_KIND_lcp, &loop.d }, { PERP_KIND_lcp, &memory.d },
             { PERP_KIND_lcp, &not_a_number.d }, { PERP_KIND_ode, &ode_nan.d });
