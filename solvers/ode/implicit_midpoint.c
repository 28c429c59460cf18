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
 * The increment D is found to round-off by increments.c: the fixed point contracts by about
 * h |da/dv| / 2 + h^2 |da/dq| / 4, Newton's method takes over where that is slow.
 *
 * Cost: 1 + iterations derivatives.  Memory: 3 nq + 3 nv numbers and those of increments.c. */
#include "solvers/ode/increments.h"

#include <string.h>

struct ws {
  int nq, nv, n; /* n: unknowns */
  double *qdot, *qm, *q1;
  double *vm, *a, *dq;
  perp_ode_increments unknown;
  /* the step being made */
  const perp_ode_sys *sys;
  double t, h;
  const double *q0, *v0;
};

static void implicit_midpoint_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->nq, &work->qdot, &work->qm, &work->q1);
  PERP_DOUBLES(arena, work->nv, &work->vm, &work->a, &work->dq);
  perp_ode_increments_layout(&work->unknown, work->n, arena);
}

static perp_status implicit_midpoint_create(perp_ctx *ctx, const perp_ode_sys *sys,
                                            const void *opts, void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .n = sys->nv > 0 ? sys->nv : sys->nq };
  return perp_workspace_create(ctx, "implicit-midpoint", &like, sizeof like,
                               implicit_midpoint_layout, ws);
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
  for (int i = 0; i < work->nv; i++) work->dq[i] = 0.5 * h * work->vm[i];
  perp_ode_retract(sys, q0, work->dq, work->qm);
  for (int i = 0; i < work->nv; i++) work->dq[i] = h * work->vm[i];
  perp_ode_retract(sys, q0, work->dq, work->q1);
}

/* G = h a(t + h/2, qm(D), v0 + D/2), the map whose fixed point is the step */
static perp_ode_answer implicit_midpoint_image(void *user, const double *D, double *G)
{
  struct ws *work = user;
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
                                               work->unknown.stats);
  const double *rate = plain ? work->qdot : work->a;
  for (int i = 0; i < work->n; i++) G[i] = work->h * rate[i];
  return answer;
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
  work->unknown.image = implicit_midpoint_image;
  work->unknown.user = work;
  perp_ode_increments_start(&work->unknown, sys, h, q, v, stats);
  double *D = work->unknown.D;

  /* first guess: Euler's increment, from the derivative at the regular state */
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, work->qdot, work->a, stats);
  if (answer != PERP_ODE_OK) return answer;
  const double *rate = plain ? work->qdot : work->a;
  for (int i = 0; i < n; i++) D[i] = h * rate[i];
  answer = perp_ode_increments_solve(&work->unknown);
  if (answer != PERP_ODE_OK) return answer;

  if (plain) {
    for (int i = 0; i < n; i++) q[i] += D[i];
    if (sys->project != NULL) sys->project(sys->user, q);
    return PERP_ODE_OK;
  }
  for (int i = 0; i < n; i++) work->vm[i] = v[i] + 0.5 * D[i];
  implicit_midpoint_positions(work);
  memcpy(q, work->q1, (size_t)work->nq * sizeof *q);
  for (int i = 0; i < n; i++) v[i] += D[i];
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
