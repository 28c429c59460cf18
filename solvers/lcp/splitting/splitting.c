/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/splitting.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *const perp_sweep_orders[] = { "forward", "symmetric", "random", NULL };
const char *const perp_row_orders[] = { "forward", "symmetric", "random", "coloured", NULL };

void perp_splitting_layout(void *ws, perp_arena *a)
{
  perp_splitting *w = ws;
  PERP_DOUBLES(a, w->rows.max_n, &w->keep, &w->slack, &w->aux);
  PERP_INTS(a, w->rows.max_n, &w->order);
}

perp_status perp_splitting_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  perp_splitting w = { .rows.max_n = max_n, .o = *(const struct perp_splitting_opts *)opts };
  if (w.o.omega == 0) w.o.omega = 1; /* not one of the options of the method */
  return perp_rows_create(ctx, "lcp", &w, sizeof w, perp_splitting_layout, ws);
}

void perp_shuffle(uint64_t *state, int *index, int n)
{
  for (int i = n - 1; i > 0; i--) {
    int j = (int)(perp_splitmix(state) % (uint64_t)(i + 1)), t = index[i];
    index[i] = index[j];
    index[j] = t;
  }
}

double perp_splitting_gauss_seidel(perp_splitting *w, double *lambda, int iteration)
{
  const int *order = NULL;
  bool back = w->o.order == PERP_ORDER_SYMMETRIC && iteration % 2 == 0;
  if (w->o.order == PERP_ORDER_RANDOM) {
    if (iteration == 1) {
      w->random = (uint64_t)w->o.seed;
      for (int i = 0; i < w->rows.n_units; i++) w->order[i] = i;
    }
    perp_shuffle(&w->random, w->order, w->rows.n_units);
    order = w->order;
  }
  return perp_rows_sweep(&w->rows, lambda, order, back) / w->o.omega;
}

static double splitting_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n && !isnan(top); i++) /* nothing is larger than NaN */
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

/* What changes are compared with. */
static double splitting_size(const perp_rows *R, double norm)
{
  return fmax(fmax(R->bnorm, norm), DBL_MIN);
}

perp_status perp_splitting_solve(perp_ctx *ctx, perp_splitting *w, const perp_lcp *p,
                                 double *lambda, double *certificate, const char *name,
                                 perp_splitting_step *step, perp_stats *stats)
{
  enum { EVERY = 64 }; /* sweeps between two copies of lambda and two corrections of rounding */
  perp_rows *R = &w->rows;
  int n = p->n, limit = w->o.sweeps > 0 ? w->o.sweeps : w->o.max_iter;
  double tol = perp_rows_target(w->o.tol, p);
  perp_no_certificate(p, certificate);
  R->coloured = w->o.order == PERP_ORDER_COLOURED;
  PERP_TRY(perp_rows_prepare(ctx, R, p, w->o.omega));
  perp_rows_project(R, lambda, lambda);
  memcpy(w->keep, lambda, (size_t)n * sizeof *lambda);
  perp_rows_reset(R, lambda);

  double sign = 1; /* how much below tol the changes must be before the residual is looked at */
  double size = splitting_size(R, splitting_norm(n, lambda));
  bool trace = ctx != NULL && ctx->trace != NULL;
  stats->reason = n == 0 ? PERP_CONVERGED : PERP_RUNNING;
  if (n > 0 && w->o.sweeps == 0) { /* the guess may be the answer */
    if (perp_rows_rate(R, lambda, w->slack, stats) <= tol) stats->reason = PERP_CONVERGED;
  }
  while (stats->reason == PERP_RUNNING) {
    double change = step(w, lambda, ++stats->iterations);
    stats->matvecs++;
    bool last = stats->iterations == limit, due = stats->iterations % EVERY == 0 || last;
    if (due || isnan(change)) {
      double top = splitting_norm(n, lambda);
      if (!isfinite(top)) { /* diverged: back to what was finite */
        memcpy(lambda, w->keep, (size_t)n * sizeof *lambda);
        stats->reason = PERP_NOT_FINITE;
        break;
      }
      memcpy(w->keep, lambda, (size_t)n * sizeof *lambda);
      size = splitting_size(R, top);
    }
    bool look = w->o.sweeps == 0 && (change <= sign * tol * size || last);
    if (look || trace) {
      const double rel = perp_rows_rate(R, lambda, w->slack, stats);
      PERP_TRACE(ctx, .method = name, .what = "sweep", .iteration = stats->iterations,
                 .entering = -1, .leaving = -1, .step = change, .residual = rel, .n = n,
                 .x = lambda, .w = w->slack);
      if (look && rel <= tol)
        stats->reason = PERP_CONVERGED;
      else if (look && isnan(rel)) { /* diverged; the changes need not show it */
        memcpy(lambda, w->keep, (size_t)n * sizeof *lambda);
        stats->reason = PERP_NOT_FINITE;
      } else if (look) {
        size = splitting_size(R, splitting_norm(n, lambda));
        sign *= 0.5;
        due = true;
        /* nothing moves any more, and it is not a solution */
        if (change == 0) stats->reason = PERP_STALLED;
      }
    }
    if (stats->reason == PERP_RUNNING && last)
      stats->reason = w->o.sweeps > 0 ? PERP_SWEEPS_DONE : PERP_MAX_ITER;
    if (stats->reason == PERP_RUNNING && perp_rows_spent(R)) stats->reason = PERP_MAX_ITER;
    if (due && stats->reason == PERP_RUNNING) perp_rows_reset(R, lambda);
  }
  stats->work = R->work;
  /* what cannot move by these rules is outside the domain of the method */
  if (stats->reason == PERP_STALLED && R->zero_diagonal) stats->reason = PERP_UNSUITED;
  return PERP_OK;
}
