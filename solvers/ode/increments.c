/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps whose change D of the velocities is the fixed point of D = G(D), of implicit methods.
 *
 * Fixed point D <- G(D); when it contracts by less than 1/2 and n <= NEWTON_MOST, Newton with a
 * finite-difference Jacobian (n images and an LU factorization, made again only when the
 * convergence is slow).  Iterated until the correction is at round-off and no longer falls, because
 * an error left in every step in the same direction would add up.  Fails with PERP_MAX_ITER when
 * that does not happen.  Memory: 4 n + n^2 numbers, the square only up to NEWTON_MOST = 512. */
#include "solvers/ode/increments.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

enum { NEWTON_MOST = 512, FIXED_POINT_MOST = 60, NEWTON_ITERATIONS = 40, JACOBIANS_MOST = 4 };

/* A correction below ROUND_OFF times the size of the velocities is round-off once it has stopped
 * falling. */
#define ROUND_OFF 1e-12
_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

void perp_ode_increments_layout(perp_ode_increments *work, int n, perp_arena *arena)
{
  work->n = n;
  PERP_DOUBLES(arena, n, &work->D, &work->G, &work->r, &work->Dj);
  if (n > NEWTON_MOST) return;
  work->jacobian = PERP_CARVE(arena, double, (size_t)n *(size_t)n);
  work->pivots = PERP_CARVE(arena, lapack_int, n);
}

void perp_ode_increments_start(perp_ode_increments *work, const perp_ode_sys *sys, double h,
                               const double *q, const double *v, perp_stats *stats)
{
  const bool plain = sys->nv == 0;
  work->stats = stats;
  work->base = perp_ode_size(work->n, plain ? q : v);
  work->unseen = plain ? 0
                       : fmax(DBL_EPSILON * perp_ode_size(sys->nq, q) / fabs(h),
                              fabs(h) * sys->rough);
}

static perp_ode_answer increments_fail(const perp_ode_increments *work, perp_reason reason)
{
  work->stats->reason = reason;
  return PERP_ODE_FAILED;
}

/* jacobian = LU of 1 - dG/dD at work->D, whose image is work->G */
static perp_ode_answer increments_factor(perp_ode_increments *work, double scale)
{
  const int n = work->n;
  const double least = sqrt(DBL_EPSILON) * scale;
  memcpy(work->Dj, work->D, (size_t)n * sizeof *work->D);
  for (int j = 0; j < n; j++) {
    double *column = work->jacobian + (size_t)j * (size_t)n;
    double step = fmax(sqrt(DBL_EPSILON) * fabs(work->D[j]), least);
    work->Dj[j] = work->D[j] + step;
    step = work->Dj[j] - work->D[j]; /* as it was rounded */
    perp_ode_answer answer = work->image(work->user, work->Dj, column);
    if (answer != PERP_ODE_OK) return answer;
    for (int i = 0; i < n; i++) column[i] = (i == j) - (column[i] - work->G[i]) / step;
    work->Dj[j] = work->D[j];
  }
  work->stats->factorizations++;
  lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, work->jacobian, n, work->pivots);
  return info == 0 ? PERP_ODE_OK : increments_fail(work, PERP_SINGULAR);
}

/* Corrections below this are round-off: of the velocities, or too small to move a position by more
 * than its rounding (bodies at rest, whose accelerations are the rounding of forces in balance), or
 * no more than the accelerations are known to (bodies at rest on each other, whose forces are found
 * to a tolerance). */
static double increments_round_off(const perp_ode_increments *work, double scale)
{
  return fmax(ROUND_OFF * scale, work->unseen);
}

/* A correction of size `now` after one of size `before` ends the iteration. */
static bool increments_at_round_off(const perp_ode_increments *work, double now, double before,
                                    double scale)
{
  return now == 0 || (now <= increments_round_off(work, scale) && now >= 0.5 * before);
}

/* D = G(D) by Newton's method from D = 0, which no stiffness can have spoilt. */
static perp_ode_answer increments_newton(perp_ode_increments *work)
{
  const int n = work->n;
  double before = HUGE_VAL;
  int jacobians = 0;
  bool factored = false;
  memset(work->D, 0, (size_t)n * sizeof *work->D);
  for (int i = 0; i < NEWTON_ITERATIONS; i++) {
    perp_ode_answer answer = work->image(work->user, work->D, work->G);
    if (answer == PERP_ODE_OK && !factored) {
      if (jacobians++ == JACOBIANS_MOST) break;
      /* differences are taken on the scale of the velocities, from rest on that of what they become
       */
      double scale = work->base > 0 ? fmax(work->base, perp_ode_size(n, work->D))
                                    : fmax(perp_ode_size(n, work->G), DBL_MIN);
      answer = increments_factor(work, scale);
    }
    if (answer != PERP_ODE_OK) return answer;
    work->stats->iterations++;
    for (int j = 0; j < n; j++) work->r[j] = work->G[j] - work->D[j];
    if (LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, work->jacobian, n, work->pivots, work->r,
                            n) != 0)
      break;
    double now = perp_ode_size(n, work->r);
    if (!(now < HUGE_VAL)) break;
    for (int j = 0; j < n; j++) work->D[j] += work->r[j];
    double scale = fmax(work->base, perp_ode_size(n, work->D));
    if (increments_at_round_off(work, now, before, scale)) return PERP_ODE_OK;
    factored = now <= 0.3 * before || now <= increments_round_off(work, scale);
    before = now;
  }
  return increments_fail(work, PERP_MAX_ITER);
}

/* Solve D = G(D) from the guess in work->D. */
perp_ode_answer perp_ode_increments_solve(perp_ode_increments *work)
{
  const int n = work->n;
  double before = HUGE_VAL;
  for (int i = 0; i < FIXED_POINT_MOST; i++) {
    perp_ode_answer answer = work->image(work->user, work->D, work->G);
    if (answer != PERP_ODE_OK && work->jacobian == NULL) return answer;
    if (answer != PERP_ODE_OK) break; /* perhaps the iteration strayed */
    work->stats->iterations++;
    double now = 0;
    for (int j = 0; j < n; j++) now = fmax(now, fabs(work->G[j] - work->D[j]));
    double scale = fmax(work->base, perp_ode_size(n, work->G));
    const bool above = now > increments_round_off(work, scale);
    const bool slow = i > 0 && now > 0.5 * before && above;
    if (!(now < HUGE_VAL) || (now > 1e3 * before && above) || (slow && work->jacobian != NULL))
      break;
    memcpy(work->D, work->G, (size_t)n * sizeof *work->D);
    if (increments_at_round_off(work, now, before, scale)) return PERP_ODE_OK;
    before = now;
  }
  return work->jacobian != NULL ? increments_newton(work) : increments_fail(work, PERP_MAX_ITER);
}
