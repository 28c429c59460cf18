/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_newton_layout(void *ws, perp_arena *arena)
{
  perp_newton *newton = ws;
  PERP_DOUBLES(arena, newton->max_n, &newton->w, &newton->scale, &newton->d, &newton->gamma,
               &newton->rhs, &newton->dx, &newton->Adx, &newton->trial, &newton->tw, &newton->keep,
               &newton->known);
  newton->state = PERP_CARVE(arena, signed char, newton->max_n);
  newton->state2 = PERP_CARVE(arena, signed char, newton->max_n);
}

void perp_newton_destroy(void *ws)
{
  perp_newton *newton = ws;
  if (newton == NULL) return;
  perp_rows_close(&newton->R);
  perp_system_close(&newton->S);
  free(newton);
}

perp_status perp_newton_create(perp_ctx *ctx, const char *name, int max_n, perp_newton *like,
                               size_t size, perp_layout_fn *layout, void **ws)
{
  *ws = NULL;
  if (max_n < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: max_n must not be negative: got %d", name, max_n);
  like->max_n = max_n;
  PERP_TRY(perp_workspace_create(ctx, name, like, size, layout, ws));
  perp_newton *newton = *ws;
  perp_status status = perp_rows_open(ctx, &newton->R, max_n);
  if (status == PERP_OK) status = perp_system_open(ctx, &newton->S, max_n);
  if (status == PERP_OK) return PERP_OK;
  perp_newton_destroy(newton);
  *ws = NULL;
  return status;
}

perp_status perp_newton_prepare(perp_ctx *ctx, perp_newton *newton, const perp_lcp *lcp, double tol)
{
  if (lcp->n > newton->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", lcp->n,
                     newton->max_n);
  PERP_TRY(perp_rows_prepare(ctx, &newton->R, lcp, 1));
  newton->n = lcp->n;
  newton->tol = perp_rows_target(tol, lcp);
  newton->coupled = newton->R.friction;
  newton->matvecs = 0;
  for (int i = 0; i < lcp->n; i++)
    newton->scale[i] = newton->R.diag[i] > 0 ? newton->R.diag[i] : newton->R.big[i];
  return perp_system_prepare(ctx, &newton->S, &newton->R, newton->coupled);
}

double perp_newton_rel(perp_newton *newton, const double *lambda, double *w)
{
  perp_rows_w(&newton->R, lambda, w);
  newton->matvecs++;
  return perp_rows_residual(&newton->R, lambda, w);
}

double perp_newton_sweeps(perp_newton *newton, double *lambda, int sweeps, double rel)
{
  if (sweeps <= 0 || rel <= newton->tol) return rel;
  double *x = newton->trial;
  perp_rows_project(&newton->R, lambda, x);
  perp_rows_reset(&newton->R, x);
  for (int k = 0; k < sweeps && !perp_rows_spent(&newton->R); k++)
    perp_rows_sweep(&newton->R, x, NULL, k % 2 == 1);
  newton->matvecs += sweeps;
  double now = perp_newton_rel(newton, x, newton->tw);
  if (!(now < rel)) return rel;
  memcpy(lambda, x, (size_t)newton->n * sizeof *x);
  memcpy(newton->w, newton->tw, (size_t)newton->n * sizeof *x);
  return now;
}

double perp_newton_restart(perp_newton *newton, double *lambda)
{
  enum { SWEEPS = 50 };
  memset(lambda, 0, (size_t)newton->n * sizeof *lambda);
  perp_rows_project(&newton->R, lambda, lambda);
  perp_rows_reset(&newton->R, lambda);
  for (int k = 0; k < SWEEPS && !perp_rows_spent(&newton->R); k++)
    perp_rows_sweep(&newton->R, lambda, NULL, k % 2 == 1);
  newton->matvecs += SWEEPS;
  return perp_newton_rel(newton, lambda, newton->w);
}

void perp_newton_classify(const perp_newton *newton, const double *lambda, const double *w,
                          signed char *state)
{
  for (int i = 0; i < newton->n; i++) {
    double lo, hi, t = lambda[i] - w[i] / newton->scale[i];
    perp_rows_bounds(&newton->R, lambda, i, &lo, &hi);
    /* a tie counts as free: at lambda = lo, w = 0 the rows that push next are not known yet */
    state[i] = t < lo ? PERP_ROW_LO : t > hi ? PERP_ROW_HI : PERP_ROW_FREE;
  }
}

bool perp_newton_active_step(perp_newton *newton, const double *lambda, const double *w,
                             const signed char *state, double rho, double *to)
{
  const perp_lcp *lcp = newton->R.p;
  int n = newton->n;
  bool moved = false;
  for (int i = 0; i < n; i++) { /* bounded rows first: friction rows look at them */
    newton->gamma[i] = 0;
    newton->d[i] = state[i] == PERP_ROW_FREE ? rho * newton->scale[i] : HUGE_VAL;
    to[i] = lambda[i];
    if (newton->R.type[i] != PERP_ROW_BOUNDED) continue;
    if (state[i] != PERP_ROW_FREE)
      to[i] = state[i] == PERP_ROW_LO ? newton->R.lo[i] : newton->R.hi[i];
    moved = moved || to[i] != lambda[i];
  }
  for (int i = 0; newton->R.friction && i < n; i++) {
    if (newton->R.type[i] == PERP_ROW_BOUNDED || state[i] == PERP_ROW_FREE) continue;
    int j = lcp->fric_of[i];
    double mu = state[i] == PERP_ROW_LO ? -lcp->mu[i] : lcp->mu[i];
    to[i] = mu * fmax(to[j], 0);
    if (state[j] == PERP_ROW_FREE) newton->gamma[i] = mu;
    moved = moved || to[i] != lambda[i];
  }
  if (moved) {
    perp_rows_w(&newton->R, to, newton->rhs);
    newton->matvecs++;
  } else
    memcpy(newton->rhs, w, (size_t)n * sizeof *w);
  for (int i = 0; i < n; i++) newton->rhs[i] = -newton->rhs[i];
  if (!perp_system_factor(&newton->S, newton->d, newton->R.friction ? newton->gamma : NULL))
    return false;
  if (!perp_system_solve(&newton->S, newton->rhs, newton->dx, 3)) return false;
  for (int i = 0; i < n; i++) to[i] += newton->dx[i];
  return true;
}

double perp_newton_polish(perp_newton *newton, double *lambda, int rounds, double rel)
{
  size_t size = (size_t)newton->n * sizeof *lambda;
  double *x = newton->known;
  double now = rel;
  memcpy(x, lambda, size);
  memcpy(newton->tw, newton->w, size);
  for (int round = 0; round < rounds && rel > newton->tol; round++) {
    perp_newton_classify(newton, x, newton->tw, newton->state);
    if (round > 0 && memcmp(newton->state, newton->state2, (size_t)newton->n) == 0) break;
    memcpy(newton->state2, newton->state, (size_t)newton->n);
    if (!perp_newton_active_step(newton, x, newton->tw, newton->state, 0, newton->trial)) break;
    now = perp_newton_rel(newton, newton->trial, newton->tw);
    if (!isfinite(now)) break;
    memcpy(x, newton->trial, size);
    if (now < rel) {
      rel = now;
      memcpy(lambda, x, size);
      memcpy(newton->w, newton->tw, size);
    }
  }
  return rel;
}
