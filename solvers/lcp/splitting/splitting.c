/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/splitting.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *const perp_sweep_orders[] = { "forward", "symmetric", "random", NULL };
const char *const perp_row_orders[] = { "forward", "symmetric", "random", "coloured", NULL };

void perp_splitting_layout(void *ws, perp_arena *arena)
{
  perp_splitting *splitting = ws;
  PERP_DOUBLES(arena, splitting->rows.max_n, &splitting->keep, &splitting->slack, &splitting->aux);
  PERP_INTS(arena, splitting->rows.max_n, &splitting->order);
}

perp_status perp_splitting_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  perp_splitting splitting = { .rows.max_n = max_n,
                               .o = *(const struct perp_splitting_opts *)opts };
  if (splitting.o.omega == 0) splitting.o.omega = 1; /* not one of the options of the method */
  return perp_rows_create(ctx, "lcp", &splitting, sizeof splitting, perp_splitting_layout, ws);
}

void perp_shuffle(uint64_t *state, int *index, int n)
{
  for (int i = n - 1; i > 0; i--) {
    int j = (int)(perp_splitmix(state) % (uint64_t)(i + 1)), t = index[i];
    index[i] = index[j];
    index[j] = t;
  }
}

double perp_splitting_gauss_seidel(perp_splitting *splitting, double *lambda, int iteration)
{
  const int *order = NULL;
  bool back = splitting->o.order == PERP_ORDER_SYMMETRIC && iteration % 2 == 0;
  if (splitting->o.order == PERP_ORDER_RANDOM) {
    if (iteration == 1) {
      splitting->random = (uint64_t)splitting->o.seed;
      for (int i = 0; i < splitting->rows.n_units; i++) splitting->order[i] = i;
    }
    perp_shuffle(&splitting->random, splitting->order, splitting->rows.n_units);
    order = splitting->order;
  }
  return perp_rows_sweep(&splitting->rows, lambda, order, back) / splitting->o.omega;
}

static double splitting_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n && !isnan(top); i++) /* nothing is larger than NaN */
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

/* What changes are compared with. */
static double splitting_size(const perp_rows *rows, double norm)
{
  return fmax(fmax(rows->bnorm, norm), DBL_MIN);
}

perp_status perp_splitting_solve(perp_ctx *ctx, perp_splitting *splitting, const perp_lcp *lcp,
                                 double *lambda, double *certificate, const char *name,
                                 perp_splitting_step *step, perp_stats *stats)
{
  enum { EVERY = 64 }; /* sweeps between two copies of lambda and two corrections of rounding */
  perp_rows *rows = &splitting->rows;
  int n = lcp->n, limit = splitting->o.sweeps > 0 ? splitting->o.sweeps : splitting->o.max_iter;
  double tol = perp_rows_target(splitting->o.tol, lcp);
  perp_no_certificate(lcp, certificate);
  rows->coloured = splitting->o.order == PERP_ORDER_COLOURED;
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, splitting->o.omega));
  perp_rows_project(rows, lambda, lambda);
  memcpy(splitting->keep, lambda, (size_t)n * sizeof *lambda);
  perp_rows_reset(rows, lambda);

  double sign = 1; /* how much below tol the changes must be before the residual is looked at */
  double size = splitting_size(rows, splitting_norm(n, lambda));
  bool trace = ctx != NULL && ctx->trace != NULL;
  stats->reason = n == 0 ? PERP_CONVERGED : PERP_RUNNING;
  if (n > 0 && splitting->o.sweeps == 0) { /* the guess may be the answer */
    if (perp_rows_rate(rows, lambda, splitting->slack, stats) <= tol)
      stats->reason = PERP_CONVERGED;
  }
  while (stats->reason == PERP_RUNNING) {
    double change = step(splitting, lambda, ++stats->iterations);
    stats->matvecs++;
    bool last = stats->iterations == limit, due = stats->iterations % EVERY == 0 || last;
    if (due || isnan(change)) {
      double top = splitting_norm(n, lambda);
      if (!isfinite(top)) { /* diverged: back to what was finite */
        memcpy(lambda, splitting->keep, (size_t)n * sizeof *lambda);
        stats->reason = PERP_NOT_FINITE;
        break;
      }
      memcpy(splitting->keep, lambda, (size_t)n * sizeof *lambda);
      size = splitting_size(rows, top);
    }
    bool look = splitting->o.sweeps == 0 && (change <= sign * tol * size || last);
    if (look || trace) {
      const double rel = perp_rows_rate(rows, lambda, splitting->slack, stats);
      PERP_TRACE(ctx, .method = name, .what = "sweep", .iteration = stats->iterations,
                 .entering = -1, .leaving = -1, .step = change, .residual = rel, .n = n,
                 .x = lambda, .w = splitting->slack);
      if (look && rel <= tol)
        stats->reason = PERP_CONVERGED;
      else if (look && isnan(rel)) { /* diverged; the changes need not show it */
        memcpy(lambda, splitting->keep, (size_t)n * sizeof *lambda);
        stats->reason = PERP_NOT_FINITE;
      } else if (look) {
        size = splitting_size(rows, splitting_norm(n, lambda));
        sign *= 0.5;
        due = true;
        /* nothing moves any more, and it is not a solution */
        if (change == 0) stats->reason = PERP_STALLED;
      }
    }
    if (stats->reason == PERP_RUNNING && last)
      stats->reason = splitting->o.sweeps > 0 ? PERP_SWEEPS_DONE : PERP_MAX_ITER;
    if (stats->reason == PERP_RUNNING && perp_rows_spent(rows)) stats->reason = PERP_MAX_ITER;
    if (due && stats->reason == PERP_RUNNING) perp_rows_reset(rows, lambda);
  }
  stats->work = rows->work;
  /* what cannot move by these rules is outside the domain of the method */
  if (stats->reason == PERP_STALLED && rows->zero_diagonal) stats->reason = PERP_UNSUITED;
  return PERP_OK;
}
