/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a method as measured: the Theil-Sen slope of log(error) over log(h), half octaves of
 * h, errors above round-off only. */
#ifndef TESTS_ODE_ORDER_H
#define TESTS_ODE_ORDER_H

#include "tests/ode_problems.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { POINTS = 9 };

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* median of the slopes of all pairs of points */
static double theil_sen(int n, const double *x, const double *y)
{
  double slope[POINTS * (POINTS - 1) / 2];
  int m = 0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) slope[m++] = (y[j] - y[i]) / (x[j] - x[i]);
  qsort(slope, (size_t)m, sizeof *slope, ascending);
  return m % 2 == 1 ? slope[m / 2] : 0.5 * (slope[m / 2 - 1] + slope[m / 2]);
}

/* Largest error at about 32 instants: at a single one the leading error term may happen to vanish.
 */
static double error_with(perp_ctx *ctx, const perp_spec *spec, const ode_problem *p, int steps)
{
  perp_ode *ode;
  if (perp_ode_create(ctx, spec, &p->sys, p->t_end / steps, &ode) != PERP_OK) bail("%s", ctx->msg);
  perp_ode_restart(ctx, ode, 0, p->q0, p->v0);
  double error = 0;
  for (int k = 1; k <= steps; k++) {
    if (perp_ode_step(ctx, ode, p->t_end, NULL) != PERP_ODE_REACHED) error = HUGE_VAL;
    if (k == steps || 32 * k / steps > 32 * (k - 1) / steps) error = fmax(error, ode_error(p, ode));
  }
  if (perp_ode_time(ode) != p->t_end) error = HUGE_VAL;
  perp_ode_destroy(ode);
  return error;
}

/* Steps a second from where on the errors fall as they should, for each order. */
static int coarsest(int order)
{
  static const int steps[] = { 0, 200, 40, 30, 20, 15, 15, 2, 2 };
  return order < 0 ? 200 : order < 9 ? steps[order] : 2;
}

static double observed(perp_ctx *ctx, const perp_spec *spec, const ode_problem *p, int first,
                       double *x, double *y, int *points)
{
  int n = 0;
  for (int i = 0; i < POINTS; i++) {
    int steps = (int)lround(first * pow(2, 0.5 * i));
    double error = error_with(ctx, spec, p, steps);
    if (error < 2e-13) break; /* round-off of some hundred steps */
    x[n] = -log(steps);
    y[n++] = log(error);
  }
  *points = n;
  return n >= 4 ? theil_sen(n, x, y) : (double)NAN;
}

#endif
