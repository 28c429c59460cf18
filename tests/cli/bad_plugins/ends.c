/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LCP solvers that end the process which calls them, or never return: at once, or after ten honest
 * problems (impulse 0, which solves nothing of a body at rest), or where there is no memory. */
#include "perp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)ctx, (void)max_n, (void)opts;
  *ws = calloc(1, sizeof(int));
  return *ws != NULL ? PERP_OK : PERP_ERR_NOMEM;
}

static perp_status create_and_exit(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)ctx, (void)max_n, (void)opts, (void)ws;
  exit(0);
}

static perp_status solve_exit(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)p, (void)lambda, (void)certificate, (void)stats;
  exit(0);
}

static perp_status solve_end(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                             double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)p, (void)lambda, (void)certificate, (void)stats;
  _exit(0);
}

static bool tired(void *ws, const perp_lcp *p, double *lambda, perp_stats *stats)
{
  int *solved = ws;
  memset(lambda, 0, (size_t)p->n * sizeof *lambda);
  stats->reason = PERP_MAX_ITER;
  return ++*solved > 10;
}

static perp_status solve_later(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  (void)ctx, (void)certificate;
  usleep(20000); /* so that something can be kept before */
  if (tired(ws, p, lambda, stats)) exit(0);
  return PERP_OK;
}

static perp_status solve_hang(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  (void)ctx, (void)certificate;
  usleep(20000);
  while (tired(ws, p, lambda, stats)) sleep(1);
  return PERP_OK;
}

/* Waits as a process does on a busy machine, 2 s in all. */
static perp_status solve_wait(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                              double *certificate, perp_stats *stats)
{
  (void)ctx, (void)certificate;
  if (!tired(ws, p, lambda, stats)) usleep(100000);
  return PERP_OK;
}

/* What GMP does where there is no memory. */
static perp_status solve_abort(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  enum { LIMB = 8192, MANY = 1 << 20 }; /* 8 GiB: far beyond what the test allows */
  (void)ctx, (void)ws, (void)p, (void)lambda, (void)certificate, (void)stats;
  for (int k = 0; k < MANY; k++) {
    char *volatile number = malloc(LIMB); /* volatile: else a compiler may leave it out */
    if (number == NULL) abort();
    memset(number, k, LIMB);
    if (k == MANY - 1) free(number);
  }
  return PERP_OK;
}

static void destroy(void *ws)
{
  free(ws);
}

#define SOLVER(IDENT, NAME, CREATE, SOLVE)                                                         \
  static const perp_lcp_desc IDENT = {                                                             \
    .d = { .name = NAME,                                                                           \
           .summary = "a bad solver",                                                              \
           .reference = "tests",                                                                   \
           .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_SEMIDEFINITE | PERP_LCP_NONSYMMETRIC }, \
    .create = CREATE,                                                                              \
    .solve = SOLVE,                                                                                \
    .destroy = destroy                                                                             \
  }
SOLVER(bad_exit, "bad-exit", create, solve_exit);
SOLVER(bad_end, "bad-end", create, solve_end);
SOLVER(bad_create, "bad-create", create_and_exit, solve_exit);
SOLVER(bad_later, "bad-later", create, solve_later);
SOLVER(bad_hang, "bad-hang", create, solve_hang);
SOLVER(bad_wait, "bad-wait", create, solve_wait);
SOLVER(bad_abort, "bad-abort", create, solve_abort);

PERP_OUTSIDE({ PERP_KIND_lcp, &bad_exit.d }, { PERP_KIND_lcp, &bad_end.d },
             { PERP_KIND_lcp, &bad_create.d }, { PERP_KIND_lcp, &bad_later.d },
             { PERP_KIND_lcp, &bad_hang.d }, { PERP_KIND_lcp, &bad_wait.d },
             { PERP_KIND_lcp, &bad_abort.d });
