/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RODAS: Rosenbrock method of order 4(3) with six stages, L-stable and stiffly accurate, on the
 * numbers of y = (q, v).  Linear systems take the place of iterations:
 *
 *   (1 / (h gamma) - J) U_i = f(t + c_i h, y0 + sum_j a_ij U_j) + sum_j C_ij / h U_j + h d_i f_t,
 *   y1 = y0 + sum_j a_6j U_j + U_6,   e = U_6,   J = df/dy, f_t = df/dt at the start.
 *
 * Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.7 (the code RODAS).  On
 * constrained motion J is that of the accelerations that keep the constraints, and the driver's
 * `accept` projects the end of the step.
 *
 * J and f_t are made of central differences in each step: forward ones leave an error of order 1.
 * Cost: 2 n + 8 derivatives, one LU factorization and six solutions of n rows, n = nq + nv. Memory:
 * n^2 + 10 n numbers.  Fails with PERP_SINGULAR.  No allocation in steps. */
#include "solvers/ode/method.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

enum { STAGES = 6 };
static const double gamma_ = 0.25;
static const double c[STAGES] = { 0, 0.386, 0.21, 0.63, 1, 1 };
static const double d[STAGES] = { 0.25, -0.1043, 0.1035, -0.0362, 0, 0 };
/* the last two rows of a are one, with U_5 in full in the last: stiffly accurate */
static const double a[STAGES][STAGES] = {
  { 0 },
  { 1.544 },
  { 0.9466785280815826, 0.2557011698983284 },
  { 3.314825187068521, 2.896124015972201, 0.9986419139977817 },
  { 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895 },
  { 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1 },
};
static const double C[STAGES][STAGES] = {
  { 0 },
  { -5.6688 },
  { -2.430093356833875, -0.2063599157091915 },
  { -0.1073529058151375, -9.594562251023355, -20.47028614809616 },
  { 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616 },
  { 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
    -6.058818238834054 },
};

struct ws {
  int nq, nv, n;
  double *y, *f, *f_t, *u[STAGES]; /* [n] */
  double *E;                       /* [n * n] column-major, then its LU factors */
  lapack_int *pivots;
};

static void rodas4_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->n, &work->y, &work->f, &work->f_t);
  for (int s = 0; s < STAGES; s++) PERP_DOUBLES(arena, work->n, &work->u[s]);
  work->E = PERP_CARVE(arena, double, (size_t)work->n *(size_t)work->n);
  work->pivots = PERP_CARVE(arena, lapack_int, work->n);
}

static perp_status rodas4_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                 void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .n = sys->nq + sys->nv };
  return perp_workspace_create(ctx, "rodas4", &like, sizeof like, rodas4_layout, ws);
}

static perp_ode_answer rodas4_f(const struct ws *work, const perp_ode_sys *sys, double t, double h,
                                const double *y, double *f, perp_stats *stats)
{
  return perp_ode_eval(sys, t, h, y, y + work->nq, true, f, f + work->nq, stats);
}

/* E = LU of 1 / (h gamma) - J, and f_t, at work->y, where the derivative is work->f */
static perp_ode_answer rodas4_linearize(struct ws *work, const perp_ode_sys *sys, double t,
                                        double h, perp_stats *stats)
{
  const int n = work->n, nq = work->nq;
  const double root = cbrt(DBL_EPSILON);
  /* from rest on the scale of what the step makes of it */
  const double q = fmax(perp_ode_size(nq, work->y), h * perp_ode_size(nq, work->f));
  const double v = fmax(perp_ode_size(n - nq, work->y + nq),
                        h * perp_ode_size(n - nq, work->f + nq));
  for (int j = 0; j < n; j++) {
    double *column = work->E + (size_t)j * (size_t)n;
    const double size = j < nq ? q : v, y = work->y[j];
    const double step = root * (size > 0 ? fmax(fabs(y), size) : 1);
    work->y[j] = y + step;
    const double up = work->y[j]; /* as it was rounded */
    perp_ode_answer answer = rodas4_f(work, sys, t, h, work->y, column, stats);
    work->y[j] = y - step;
    const double apart = up - work->y[j];
    if (answer == PERP_ODE_OK) answer = rodas4_f(work, sys, t, h, work->y, work->u[0], stats);
    work->y[j] = y;
    if (answer != PERP_ODE_OK) return answer;
    for (int i = 0; i < n; i++)
      column[i] = (i == j ? 1 / (h * gamma_) : 0) - (column[i] - work->u[0][i]) / apart;
  }
  /* central: an error of f_t is one of order 1 of the step */
  const double apart = cbrt(DBL_EPSILON) * fmax(fabs(t), h);
  perp_ode_answer answer = rodas4_f(work, sys, t + apart, h, work->y, work->f_t, stats);
  if (answer == PERP_ODE_OK) answer = rodas4_f(work, sys, t - apart, h, work->y, work->u[0], stats);
  if (answer != PERP_ODE_OK) return answer;
  for (int i = 0; i < n; i++)
    work->f_t[i] = (work->f_t[i] - work->u[0][i]) / ((t + apart) - (t - apart));
  stats->factorizations++;
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, work->E, n, work->pivots) == 0)
    return PERP_ODE_OK;
  stats->reason = PERP_SINGULAR;
  return PERP_ODE_FAILED;
}

static perp_ode_answer rodas4_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  struct ws *work = ws;
  const int n = work->n, nq = work->nq;
  double *y = work->y;
  memcpy(y, q, (size_t)nq * sizeof *y);
  memcpy(y + nq, v, (size_t)work->nv * sizeof *y);
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, work->f, work->f + nq, stats);
  if (answer == PERP_ODE_OK) answer = rodas4_linearize(work, sys, t, h, stats);
  for (int s = 0; s < STAGES && answer == PERP_ODE_OK; s++) {
    double *u = work->u[s];
    for (int i = 0; i < n; i++) { /* y holds the stage before */
      for (int r = 0; r < s; r++) y[i] += (a[s][r] - (s > 0 ? a[s - 1][r] : 0)) * work->u[r][i];
    }
    if (s == 0)
      memcpy(u, work->f, (size_t)n * sizeof *u);
    else
      answer = rodas4_f(work, sys, t + c[s] * h, h, y, u, stats);
    if (answer != PERP_ODE_OK) break;
    for (int i = 0; i < n; i++) {
      u[i] += h * d[s] * work->f_t[i];
      for (int r = 0; r < s; r++) u[i] += C[s][r] / h * work->u[r][i];
    }
    if (LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, work->E, n, work->pivots, u, n) != 0) {
      stats->reason = PERP_SINGULAR;
      answer = PERP_ODE_FAILED;
    }
  }
  if (answer != PERP_ODE_OK) return answer;
  const double *last = work->u[STAGES - 1];
  for (int i = 0; i < nq; i++) q[i] = y[i] + last[i];
  for (int i = nq; i < n; i++) v[i - nq] = y[i] + last[i];
  if (sys->project != NULL) sys->project(sys->user, q);
  if (err != NULL) memcpy(err, last, (size_t)n * sizeof *err);
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_rodas4 = {
  .d = { .name = "rodas4",
         .summary = "RODAS, Rosenbrock method of order 4(3), L-stable, without iterations, for "
                    "stiff systems",
         .reference = "Hairer and Wanner, Solving Ordinary Differential Equations II, IV.7",
         .equation = "(1 / (h gamma) - J) U_i = f(y + sum a_ij U_j) + sum C_ij / h U_j + h d_i f_t",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts),
         .caps = PERP_ODE_EMBEDDED | PERP_ODE_IMPLICIT },
  .order = 4,
  .stages = 0,
  .error_order = 3,
  .create = rodas4_create,
  .step = rodas4_step,
  .destroy = free,
};
