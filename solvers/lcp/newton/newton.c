/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_newton_layout(void *ws, perp_arena *a)
{
  perp_newton *N = ws;
  PERP_DOUBLES(a, N->max_n, &N->w, &N->scale, &N->d, &N->gamma, &N->rhs, &N->dx, &N->Adx, &N->trial,
               &N->tw, &N->keep, &N->known);
  N->state = PERP_CARVE(a, signed char, N->max_n);
  N->state2 = PERP_CARVE(a, signed char, N->max_n);
}

void perp_newton_destroy(void *ws)
{
  perp_newton *N = ws;
  if (N == NULL) return;
  perp_rows_close(&N->R);
  perp_system_close(&N->S);
  free(N);
}

perp_status perp_newton_create(perp_ctx *ctx, const char *name, int max_n, perp_newton *like,
                               size_t size, perp_layout_fn *layout, void **ws)
{
  *ws = NULL;
  if (max_n < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: max_n must not be negative: got %d", name, max_n);
  like->max_n = max_n;
  PERP_TRY(perp_workspace_create(ctx, name, like, size, layout, ws));
  perp_newton *N = *ws;
  perp_status status = perp_rows_open(ctx, &N->R, max_n);
  if (status == PERP_OK) status = perp_system_open(ctx, &N->S, max_n);
  if (status == PERP_OK) return PERP_OK;
  perp_newton_destroy(N);
  *ws = NULL;
  return status;
}

perp_status perp_newton_prepare(perp_ctx *ctx, perp_newton *N, const perp_lcp *p, double tol)
{
  if (p->n > N->max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", p->n, N->max_n);
  PERP_TRY(perp_rows_prepare(ctx, &N->R, p, 1));
  N->n = p->n;
  N->tol = perp_rows_target(tol, p);
  N->coupled = N->R.friction;
  N->matvecs = 0;
  for (int i = 0; i < p->n; i++) N->scale[i] = N->R.diag[i] > 0 ? N->R.diag[i] : N->R.big[i];
  return perp_system_prepare(ctx, &N->S, &N->R, N->coupled);
}

double perp_newton_rel(perp_newton *N, const double *lambda, double *w)
{
  perp_rows_w(&N->R, lambda, w);
  N->matvecs++;
  return perp_rows_residual(&N->R, lambda, w);
}

double perp_newton_sweeps(perp_newton *N, double *lambda, int sweeps, double rel)
{
  if (sweeps <= 0 || rel <= N->tol) return rel;
  double *x = N->trial;
  perp_rows_project(&N->R, lambda, x);
  perp_rows_reset(&N->R, x);
  for (int k = 0; k < sweeps && !perp_rows_spent(&N->R); k++)
    perp_rows_sweep(&N->R, x, NULL, k % 2 == 1);
  N->matvecs += sweeps;
  double now = perp_newton_rel(N, x, N->tw);
  if (!(now < rel)) return rel;
  memcpy(lambda, x, (size_t)N->n * sizeof *x);
  memcpy(N->w, N->tw, (size_t)N->n * sizeof *x);
  return now;
}

double perp_newton_restart(perp_newton *N, double *lambda)
{
  enum { SWEEPS = 50 };
  memset(lambda, 0, (size_t)N->n * sizeof *lambda);
  perp_rows_project(&N->R, lambda, lambda);
  perp_rows_reset(&N->R, lambda);
  for (int k = 0; k < SWEEPS && !perp_rows_spent(&N->R); k++)
    perp_rows_sweep(&N->R, lambda, NULL, k % 2 == 1);
  N->matvecs += SWEEPS;
  return perp_newton_rel(N, lambda, N->w);
}

void perp_newton_classify(const perp_newton *N, const double *lambda, const double *w,
                          signed char *state)
{
  for (int i = 0; i < N->n; i++) {
    double lo, hi, t = lambda[i] - w[i] / N->scale[i];
    perp_rows_bounds(&N->R, lambda, i, &lo, &hi);
    /* a tie counts as free: at lambda = lo, w = 0 the rows that push next are not known yet */
    state[i] = t < lo ? PERP_ROW_LO : t > hi ? PERP_ROW_HI : PERP_ROW_FREE;
  }
}

bool perp_newton_active_step(perp_newton *N, const double *lambda, const double *w,
                             const signed char *state, double rho, double *to)
{
  const perp_lcp *p = N->R.p;
  int n = N->n;
  bool moved = false;
  for (int i = 0; i < n; i++) { /* bounded rows first: friction rows look at them */
    N->gamma[i] = 0;
    N->d[i] = state[i] == PERP_ROW_FREE ? rho * N->scale[i] : HUGE_VAL;
    to[i] = lambda[i];
    if (N->R.type[i] != PERP_ROW_BOUNDED) continue;
    if (state[i] != PERP_ROW_FREE) to[i] = state[i] == PERP_ROW_LO ? N->R.lo[i] : N->R.hi[i];
    moved = moved || to[i] != lambda[i];
  }
  for (int i = 0; N->R.friction && i < n; i++) {
    if (N->R.type[i] == PERP_ROW_BOUNDED || state[i] == PERP_ROW_FREE) continue;
    int j = p->fric_of[i];
    double mu = state[i] == PERP_ROW_LO ? -p->mu[i] : p->mu[i];
    to[i] = mu * fmax(to[j], 0);
    if (state[j] == PERP_ROW_FREE) N->gamma[i] = mu;
    moved = moved || to[i] != lambda[i];
  }
  if (moved) {
    perp_rows_w(&N->R, to, N->rhs);
    N->matvecs++;
  } else
    memcpy(N->rhs, w, (size_t)n * sizeof *w);
  for (int i = 0; i < n; i++) N->rhs[i] = -N->rhs[i];
  if (!perp_system_factor(&N->S, N->d, N->R.friction ? N->gamma : NULL)) return false;
  if (!perp_system_solve(&N->S, N->rhs, N->dx, 3)) return false;
  for (int i = 0; i < n; i++) to[i] += N->dx[i];
  return true;
}

double perp_newton_polish(perp_newton *N, double *lambda, int rounds, double rel)
{
  size_t size = (size_t)N->n * sizeof *lambda;
  double *x = N->known;
  double now = rel;
  memcpy(x, lambda, size);
  memcpy(N->tw, N->w, size);
  for (int round = 0; round < rounds && rel > N->tol; round++) {
    perp_newton_classify(N, x, N->tw, N->state);
    if (round > 0 && memcmp(N->state, N->state2, (size_t)N->n) == 0) break;
    memcpy(N->state2, N->state, (size_t)N->n);
    if (!perp_newton_active_step(N, x, N->tw, N->state, 0, N->trial)) break;
    now = perp_newton_rel(N, N->trial, N->tw);
    if (!isfinite(now)) break;
    memcpy(x, N->trial, size);
    if (now < rel) {
      rel = now;
      memcpy(lambda, x, size);
      memcpy(N->w, N->tw, size);
    }
  }
  return rel;
}
