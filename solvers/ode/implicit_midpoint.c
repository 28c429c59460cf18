/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implicit midpoint rule on the manifold, order 2, A-stable, symmetric:
 *   v1 = v0 + D,   D = h a(t + h/2, qm, vm),   vm = v0 + D/2,
 *   q1 = P(q0 + h N(q0) vm),   qm = P((q0 + q1) / 2)          P = project
 * and for a plain system (nv = 0)  q1 = q0 + D,  D = h f(t + h/2, q0 + D/2).
 *
 * Source of the rule: Hairer, Lubich and Wanner, Geometric Numerical Integration.  It keeps
 * quadratic invariants. For a free body, I w' = (I w) x w with w in the body frame, these are the
 * energy w.Iw / 2 and |I w|^2. The form of the position update is chosen to keep the angular
 * momentum in space too: with wm = vm, I (w1 - w0) = h (I w0 + I w1)/2 x wm   <=>   (1 + h/2 [wm
 * x]) I w1 = (1 - h/2 [wm x]) I w0, so R1 I w1 = R0 I w0 needs R1 = R0 (1 - h/2 [wm x])^-1 (1 + h/2
 * [wm x]), the Cayley transform of h wm.  In quaternions that is q0 (1, h wm / 2) normalized, which
 * is just P(q0 + h N(q0) vm): on the numbers.  The exponential map (retract) would keep it to
 * O(h^2) only.  qm is then half of that rotation, which makes the rule symmetric. Where the system
 * does not offer N(q) v alone (sys->qdot), retract(q0, h vm) and retract(q0, h/2 vm) are used;
 * energy and |L| in the body frame do not depend on that.
 *
 * Solution: fixed point D <- h a(...), which contracts by about h |da/dv| / 2 + h^2 |da/dq| / 4;
 * when it is slower than 1/2 and n <= NEWTON_MOST, Newton with a finite-difference Jacobian (n
 * derivatives and an LU factorization, made again only when the convergence is slow).  Iterated
 * until the correction is at round-off and no longer falls, because an error left in every step in
 * the same direction would add up.  Fails with PERP_MAX_ITER when that does not happen.
 *
 * Cost: 1 + iterations derivatives.  Memory: 3 nq + 9 n + n^2 numbers, n = nv (or nq), the square
 * only up to NEWTON_MOST = 512. */
#include "solvers/ode/method.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

enum { NEWTON_MOST = 512, FIXED_POINT_MOST = 60, NEWTON_ITERATIONS = 40, JACOBIANS_MOST = 4 };

/* A correction below ROUND_OFF times the size of the velocities is round-off once it has stopped
 * falling. */
#define ROUND_OFF 1e-12

struct ws {
  int nq, nv, n; /* n: unknowns */
  double *qdot, *qm, *q1;
  double *vm, *a;
  double *D, *G, *r, *Dj; /* [n] increment, its image, residual, trial for the Jacobian */
  double *jacobian;       /* [n * n] column-major, then its LU factors; NULL above NEWTON_MOST */
  lapack_int *pivots;
  /* the step being made */
  const perp_ode_sys *sys;
  double t, h;
  const double *q0, *v0;
  perp_stats *stats;
  double base;   /* size of what D is added to */
  double unseen; /* of a velocity: lost in the positions, or less than what a is known to */
};
_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

static void implicit_midpoint_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->nq, &work->qdot, &work->qm, &work->q1);
  PERP_DOUBLES(arena, work->nv, &work->vm, &work->a);
  PERP_DOUBLES(arena, work->n, &work->D, &work->G, &work->r, &work->Dj);
  if (work->n > NEWTON_MOST) return;
  work->jacobian = PERP_CARVE(arena, double, (size_t)work->n *(size_t)work->n);
  work->pivots = PERP_CARVE(arena, lapack_int, work->n);
}

static perp_status implicit_midpoint_create(perp_ctx *ctx, const perp_ode_sys *sys,
                                            const void *opts, void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .n = sys->nv > 0 ? sys->nv : sys->nq };
  return perp_workspace_create(ctx, "implicit-midpoint", &like, sizeof like,
                               implicit_midpoint_layout, ws);
}

static perp_ode_answer implicit_midpoint_fail(const struct ws *work, perp_reason reason)
{
  work->stats->reason = reason;
  return PERP_ODE_FAILED;
}

/* q1 and qm of the mean velocity vm */
static void implicit_midpoint_positions(struct ws *work)
{
  const perp_ode_sys *sys = work->sys;
  const double h = work->h, *q0 = work->q0;
  if (sys->qdot != NULL && sys->retract != NULL) {
    sys->qdot(sys->user, q0, work->vm, work->qdot);
    for (int i = 0; i < work->nq; i++) work->q1[i] = q0[i] + h * work->qdot[i];
    if (sys->project != NULL) sys->project(sys->user, work->q1);
    for (int i = 0; i < work->nq; i++) work->qm[i] = 0.5 * (q0[i] + work->q1[i]);
    if (sys->project != NULL) sys->project(sys->user, work->qm);
    return;
  }
  for (int i = 0; i < work->nv; i++) work->r[i] = 0.5 * h * work->vm[i];
  perp_ode_retract(sys, q0, work->r, work->qm);
  for (int i = 0; i < work->nv; i++) work->r[i] = h * work->vm[i];
  perp_ode_retract(sys, q0, work->r, work->q1);
}

/* G = h a(t + h/2, qm(D), v0 + D/2), the map whose fixed point is the step */
static perp_ode_answer implicit_midpoint_image(struct ws *work, const double *D, double *G)
{
  const bool plain = work->nv == 0;
  if (plain) {
    for (int i = 0; i < work->n; i++) work->qm[i] = work->q0[i] + 0.5 * D[i];
  } else {
    for (int i = 0; i < work->n; i++) work->vm[i] = work->v0[i] + 0.5 * D[i];
    implicit_midpoint_positions(work);
  }
  double *qdot = plain ? work->qdot : perp_ode_unwanted(work->sys, work->qdot);
  const perp_ode_answer answer = perp_ode_eval(work->sys, work->t + 0.5 * work->h, work->h,
                                               work->qm, work->vm, true, qdot, work->a,
                                               work->stats);
  const double *rate = plain ? work->qdot : work->a;
  for (int i = 0; i < work->n; i++) G[i] = work->h * rate[i];
  return answer;
}

/* jacobian = LU of 1 - dG/dD at work->D, whose image is work->G */
static perp_ode_answer implicit_midpoint_factor(struct ws *work, double scale)
{
  const int n = work->n;
  const double least = sqrt(DBL_EPSILON) * scale;
  memcpy(work->Dj, work->D, (size_t)n * sizeof *work->D);
  for (int j = 0; j < n; j++) {
    double *column = work->jacobian + (size_t)j * (size_t)n;
    double step = fmax(sqrt(DBL_EPSILON) * fabs(work->D[j]), least);
    work->Dj[j] = work->D[j] + step;
    step = work->Dj[j] - work->D[j]; /* as it was rounded */
    perp_ode_answer answer = implicit_midpoint_image(work, work->Dj, column);
    if (answer != PERP_ODE_OK) return answer;
    for (int i = 0; i < n; i++) column[i] = (i == j) - (column[i] - work->G[i]) / step;
    work->Dj[j] = work->D[j];
  }
  work->stats->factorizations++;
  lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, work->jacobian, n, work->pivots);
  return info == 0 ? PERP_ODE_OK : implicit_midpoint_fail(work, PERP_SINGULAR);
}

/* Corrections below this are round-off: of the velocities, or too small to move a position by more
 * than its rounding (bodies at rest, whose accelerations are the rounding of forces in balance), or
 * no more than the accelerations are known to (bodies at rest on each other, whose forces are found
 * to a tolerance). */
static double round_off(const struct ws *work, double scale)
{
  return fmax(ROUND_OFF * scale, work->unseen);
}

/* A correction of size `now` after one of size `before` ends the iteration. */
static bool at_round_off(const struct ws *work, double now, double before, double scale)
{
  return now == 0 || (now <= round_off(work, scale) && now >= 0.5 * before);
}

/* D = G(D) by Newton's method from D = 0, which no stiffness can have spoilt. */
static perp_ode_answer implicit_midpoint_newton(struct ws *work)
{
  const int n = work->n;
  double before = HUGE_VAL;
  int jacobians = 0;
  bool factored = false;
  memset(work->D, 0, (size_t)n * sizeof *work->D);
  for (int i = 0; i < NEWTON_ITERATIONS; i++) {
    perp_ode_answer answer = implicit_midpoint_image(work, work->D, work->G);
    if (answer == PERP_ODE_OK && !factored) {
      if (jacobians++ == JACOBIANS_MOST) break;
      /* differences are taken on the scale of the velocities, from rest on that of what they become
       */
      double scale = work->base > 0 ? fmax(work->base, perp_ode_size(n, work->D))
                                    : fmax(perp_ode_size(n, work->G), DBL_MIN);
      answer = implicit_midpoint_factor(work, scale);
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
    if (at_round_off(work, now, before, scale)) return PERP_ODE_OK;
    factored = now <= 0.3 * before || now <= round_off(work, scale);
    before = now;
  }
  return implicit_midpoint_fail(work, PERP_MAX_ITER);
}

/* Solve D = G(D) from the guess in work->D. */
static perp_ode_answer implicit_midpoint_solve(struct ws *work)
{
  const int n = work->n;
  double before = HUGE_VAL;
  for (int i = 0; i < FIXED_POINT_MOST; i++) {
    perp_ode_answer answer = implicit_midpoint_image(work, work->D, work->G);
    if (answer != PERP_ODE_OK && work->jacobian == NULL) return answer;
    if (answer != PERP_ODE_OK) break; /* perhaps the iteration strayed */
    work->stats->iterations++;
    double now = 0;
    for (int j = 0; j < n; j++) now = fmax(now, fabs(work->G[j] - work->D[j]));
    double scale = fmax(work->base, perp_ode_size(n, work->G));
    const bool above = now > round_off(work, scale);
    const bool slow = i > 0 && now > 0.5 * before && above;
    if (!(now < HUGE_VAL) || (now > 1e3 * before && above) || (slow && work->jacobian != NULL))
      break;
    memcpy(work->D, work->G, (size_t)n * sizeof *work->D);
    if (at_round_off(work, now, before, scale)) return PERP_ODE_OK;
    before = now;
  }
  return work->jacobian != NULL ? implicit_midpoint_newton(work)
                                : implicit_midpoint_fail(work, PERP_MAX_ITER);
}

static perp_ode_answer implicit_midpoint_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                              double *q, double *v, double *err, perp_stats *stats)
{
  (void)err;
  struct ws *work = ws;
  const int n = work->n;
  const bool plain = work->nv == 0;
  work->sys = sys;
  work->t = t;
  work->h = h;
  work->q0 = q;
  work->v0 = v;
  work->stats = stats;
  work->base = perp_ode_size(n, plain ? q : v);
  work->unseen = plain ? 0
                       : fmax(DBL_EPSILON * perp_ode_size(work->nq, q) / fabs(h),
                              fabs(h) * sys->rough);

  /* first guess: Euler's increment, from the derivative at the regular state */
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, work->qdot, work->a, stats);
  if (answer != PERP_ODE_OK) return answer;
  const double *rate = plain ? work->qdot : work->a;
  for (int i = 0; i < n; i++) work->D[i] = h * rate[i];
  answer = implicit_midpoint_solve(work);
  if (answer != PERP_ODE_OK) return answer;

  if (plain) {
    for (int i = 0; i < n; i++) q[i] += work->D[i];
    if (sys->project != NULL) sys->project(sys->user, q);
    return PERP_ODE_OK;
  }
  for (int i = 0; i < n; i++) work->vm[i] = v[i] + 0.5 * work->D[i];
  implicit_midpoint_positions(work);
  memcpy(q, work->q1, (size_t)work->nq * sizeof *q);
  for (int i = 0; i < n; i++) v[i] += work->D[i];
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_implicit_midpoint = {
  .d = { .name = "implicit-midpoint",
         .summary =
             "Implicit midpoint rule on the configuration manifold, order 2, solved to round-off; "
             "symplectic without constraints",
         .reference = "Hairer, Lubich and Wanner, Geometric Numerical Integration",
         .equation = "v+ = v + h a(t + h/2, q_m, (v + v+)/2), q+ = q [+] h (v + v+)/2",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts),
         .caps = PERP_ODE_IMPLICIT | PERP_ODE_SYMPLECTIC },
  .order = 2,
  .stages = 0,
  .create = implicit_midpoint_create,
  .step = implicit_midpoint_step,
  .destroy = free,
};
