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

static void implicit_midpoint_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  PERP_DOUBLES(a, w->nq, &w->qdot, &w->qm, &w->q1);
  PERP_DOUBLES(a, w->nv, &w->vm, &w->a);
  PERP_DOUBLES(a, w->n, &w->D, &w->G, &w->r, &w->Dj);
  if (w->n > NEWTON_MOST) return;
  w->jacobian = PERP_CARVE(a, double, (size_t)w->n *(size_t)w->n);
  w->pivots = PERP_CARVE(a, lapack_int, w->n);
}

static perp_status implicit_midpoint_create(perp_ctx *ctx, const perp_ode_sys *sys,
                                            const void *opts, void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .n = sys->nv > 0 ? sys->nv : sys->nq };
  return perp_workspace_create(ctx, "implicit-midpoint", &like, sizeof like,
                               implicit_midpoint_layout, ws);
}

static perp_ode_answer implicit_midpoint_fail(const struct ws *w, perp_reason reason)
{
  w->stats->reason = reason;
  return PERP_ODE_FAILED;
}

/* q1 and qm of the mean velocity vm */
static void implicit_midpoint_positions(struct ws *w)
{
  const perp_ode_sys *sys = w->sys;
  const double h = w->h, *q0 = w->q0;
  if (sys->qdot != NULL && sys->retract != NULL) {
    sys->qdot(sys->user, q0, w->vm, w->qdot);
    for (int i = 0; i < w->nq; i++) w->q1[i] = q0[i] + h * w->qdot[i];
    if (sys->project != NULL) sys->project(sys->user, w->q1);
    for (int i = 0; i < w->nq; i++) w->qm[i] = 0.5 * (q0[i] + w->q1[i]);
    if (sys->project != NULL) sys->project(sys->user, w->qm);
    return;
  }
  for (int i = 0; i < w->nv; i++) w->r[i] = 0.5 * h * w->vm[i];
  perp_ode_retract(sys, q0, w->r, w->qm);
  for (int i = 0; i < w->nv; i++) w->r[i] = h * w->vm[i];
  perp_ode_retract(sys, q0, w->r, w->q1);
}

/* G = h a(t + h/2, qm(D), v0 + D/2), the map whose fixed point is the step */
static perp_ode_answer implicit_midpoint_image(struct ws *w, const double *D, double *G)
{
  const bool plain = w->nv == 0;
  if (plain) {
    for (int i = 0; i < w->n; i++) w->qm[i] = w->q0[i] + 0.5 * D[i];
  } else {
    for (int i = 0; i < w->n; i++) w->vm[i] = w->v0[i] + 0.5 * D[i];
    implicit_midpoint_positions(w);
  }
  double *qdot = plain ? w->qdot : perp_ode_unwanted(w->sys, w->qdot);
  const perp_ode_answer answer = perp_ode_eval(w->sys, w->t + 0.5 * w->h, w->h, w->qm, w->vm, true,
                                               qdot, w->a, w->stats);
  const double *rate = plain ? w->qdot : w->a;
  for (int i = 0; i < w->n; i++) G[i] = w->h * rate[i];
  return answer;
}

/* jacobian = LU of 1 - dG/dD at w->D, whose image is w->G */
static perp_ode_answer implicit_midpoint_factor(struct ws *w, double scale)
{
  const int n = w->n;
  const double least = sqrt(DBL_EPSILON) * scale;
  memcpy(w->Dj, w->D, (size_t)n * sizeof *w->D);
  for (int j = 0; j < n; j++) {
    double *column = w->jacobian + (size_t)j * (size_t)n;
    double step = fmax(sqrt(DBL_EPSILON) * fabs(w->D[j]), least);
    w->Dj[j] = w->D[j] + step;
    step = w->Dj[j] - w->D[j]; /* as it was rounded */
    perp_ode_answer answer = implicit_midpoint_image(w, w->Dj, column);
    if (answer != PERP_ODE_OK) return answer;
    for (int i = 0; i < n; i++) column[i] = (i == j) - (column[i] - w->G[i]) / step;
    w->Dj[j] = w->D[j];
  }
  w->stats->factorizations++;
  lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, w->jacobian, n, w->pivots);
  return info == 0 ? PERP_ODE_OK : implicit_midpoint_fail(w, PERP_SINGULAR);
}

/* Corrections below this are round-off: of the velocities, or too small to move a position by more
 * than its rounding (bodies at rest, whose accelerations are the rounding of forces in balance), or
 * no more than the accelerations are known to (bodies at rest on each other, whose forces are found
 * to a tolerance). */
static double round_off(const struct ws *w, double scale)
{
  return fmax(ROUND_OFF * scale, w->unseen);
}

/* A correction of size `now` after one of size `before` ends the iteration. */
static bool at_round_off(const struct ws *w, double now, double before, double scale)
{
  return now == 0 || (now <= round_off(w, scale) && now >= 0.5 * before);
}

/* D = G(D) by Newton's method from D = 0, which no stiffness can have spoilt. */
static perp_ode_answer implicit_midpoint_newton(struct ws *w)
{
  const int n = w->n;
  double before = HUGE_VAL;
  int jacobians = 0;
  bool factored = false;
  memset(w->D, 0, (size_t)n * sizeof *w->D);
  for (int i = 0; i < NEWTON_ITERATIONS; i++) {
    perp_ode_answer answer = implicit_midpoint_image(w, w->D, w->G);
    if (answer == PERP_ODE_OK && !factored) {
      if (jacobians++ == JACOBIANS_MOST) break;
      /* differences are taken on the scale of the velocities, from rest on that of what they become
       */
      double scale = w->base > 0 ? fmax(w->base, perp_ode_size(n, w->D))
                                 : fmax(perp_ode_size(n, w->G), DBL_MIN);
      answer = implicit_midpoint_factor(w, scale);
    }
    if (answer != PERP_ODE_OK) return answer;
    w->stats->iterations++;
    for (int j = 0; j < n; j++) w->r[j] = w->G[j] - w->D[j];
    if (LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, w->jacobian, n, w->pivots, w->r, n) != 0)
      break;
    double now = perp_ode_size(n, w->r);
    if (!(now < HUGE_VAL)) break;
    for (int j = 0; j < n; j++) w->D[j] += w->r[j];
    double scale = fmax(w->base, perp_ode_size(n, w->D));
    if (at_round_off(w, now, before, scale)) return PERP_ODE_OK;
    factored = now <= 0.3 * before || now <= round_off(w, scale);
    before = now;
  }
  return implicit_midpoint_fail(w, PERP_MAX_ITER);
}

/* Solve D = G(D) from the guess in w->D. */
static perp_ode_answer implicit_midpoint_solve(struct ws *w)
{
  const int n = w->n;
  double before = HUGE_VAL;
  for (int i = 0; i < FIXED_POINT_MOST; i++) {
    perp_ode_answer answer = implicit_midpoint_image(w, w->D, w->G);
    if (answer != PERP_ODE_OK && w->jacobian == NULL) return answer;
    if (answer != PERP_ODE_OK) break; /* perhaps the iteration strayed */
    w->stats->iterations++;
    double now = 0;
    for (int j = 0; j < n; j++) now = fmax(now, fabs(w->G[j] - w->D[j]));
    double scale = fmax(w->base, perp_ode_size(n, w->G));
    const bool above = now > round_off(w, scale);
    const bool slow = i > 0 && now > 0.5 * before && above;
    if (!(now < HUGE_VAL) || (now > 1e3 * before && above) || (slow && w->jacobian != NULL)) break;
    memcpy(w->D, w->G, (size_t)n * sizeof *w->D);
    if (at_round_off(w, now, before, scale)) return PERP_ODE_OK;
    before = now;
  }
  return w->jacobian != NULL ? implicit_midpoint_newton(w)
                             : implicit_midpoint_fail(w, PERP_MAX_ITER);
}

static perp_ode_answer implicit_midpoint_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                              double *q, double *v, double *err, perp_stats *stats)
{
  (void)err;
  struct ws *w = ws;
  const int n = w->n;
  const bool plain = w->nv == 0;
  w->sys = sys;
  w->t = t;
  w->h = h;
  w->q0 = q;
  w->v0 = v;
  w->stats = stats;
  w->base = perp_ode_size(n, plain ? q : v);
  w->unseen = plain ? 0
                    : fmax(DBL_EPSILON * perp_ode_size(w->nq, q) / fabs(h), fabs(h) * sys->rough);

  /* first guess: Euler's increment, from the derivative at the regular state */
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, w->qdot, w->a, stats);
  if (answer != PERP_ODE_OK) return answer;
  const double *rate = plain ? w->qdot : w->a;
  for (int i = 0; i < n; i++) w->D[i] = h * rate[i];
  answer = implicit_midpoint_solve(w);
  if (answer != PERP_ODE_OK) return answer;

  if (plain) {
    for (int i = 0; i < n; i++) q[i] += w->D[i];
    if (sys->project != NULL) sys->project(sys->user, q);
    return PERP_ODE_OK;
  }
  for (int i = 0; i < n; i++) w->vm[i] = v[i] + 0.5 * w->D[i];
  implicit_midpoint_positions(w);
  memcpy(q, w->q1, (size_t)w->nq * sizeof *q);
  for (int i = 0; i < n; i++) v[i] += w->D[i];
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
