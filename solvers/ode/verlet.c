/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verlet, order 2, in two forms.
 *
 * Position form, where the system says that a depends on positions only (van Overveld and Barenbrug
 * 1995, eq. 4): x(t+h) = 2 x(t) - x(t-h) + h^2 a(t, x). The difference d = x(t) [-] x(t-h) is kept
 * as the increment that made it instead of being computed from two nearly equal positions (nothing
 * cancels), so a step is d+ = (h / g) d + h (h + g) / 2 a,   q+ = q [+] d+,      g = the step that
 * made d, which is the formula above for g = h.  The first step after a reset has d+ = h v + h^2 /
 * 2 a.  The velocity is an output only:  v+ = d+ / h + h/2 a(t + h, q+).
 *
 * Velocity form, where a depends on velocity too (gyroscopic torque, drag):
 *   q+ = q [+] (h v + h^2 / 2 a),   v+ = v + h/2 (a(t, q, v) + a(t + h, q+, v+)),
 * implicit in v+, solved by two fixed-point passes from v + h a.  The first pass leaves an error of
 * O(h^3), the second one of O(h^4): the order stays 2.
 *
 * Where a depends on velocity because the mass matrix depends on q (joint coordinates), and the
 * system gives its momenta: the generalized Stormer-Verlet method in (q, p) (Hairer, Lubich and
 * Wanner, Geometric Numerical Integration, VI.3.4), half a step of the implicit symplectic Euler
 * method and half a step of its adjoint (canonical.c), p_m = p + h/2 dL/dq(q, p_m),  q+ = q + h/2
 * (v(q, p_m) + v(q+, p_m)),  p+ = p_m + h/2 dL/dq(q+, p_m).
 *
 * On rotations all increments are rotation vectors in the body frame, applied by retract; a
 * constant vector is a constant rotation there, so the formulas keep their order.
 *
 * Position form and form in momenta: symplectic, energy bounded.  Velocity form: not.
 * Cost: 2 derivatives (position form), 3 (velocity form), about 20 (momenta).  Memory: nq + 6 nv
 * numbers, 2 nq + 8 nv more with momenta.  Needs the split (q, v). */
#include "solvers/ode/method.h"

#include <string.h>

/* The increment d [nv] of the step from t to t + h. */
struct increment {
  bool known;
  double t, h;
  double *d;
};

struct ws {
  int nq, nv;
  double *qdot, *q1, *a0, *a1, *v1, *dq;
  /* position form: `before` led to the state that the last step started from, `last` was that step
   */
  struct increment before, last;
  bool in_momenta;
  perp_ode_canonical_step canonical;
};

static void verlet_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->nq, &work->qdot, &work->q1);
  PERP_DOUBLES(arena, work->nv, &work->a0, &work->a1, &work->v1, &work->dq, &work->before.d,
               &work->last.d);
  if (work->in_momenta) perp_ode_canonical_layout(&work->canonical, work->nq, work->nv, arena);
}

static perp_status verlet_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                 void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .in_momenta = perp_ode_in_momenta(sys) };
  return perp_workspace_create(ctx, "verlet", &like, sizeof like, verlet_layout, ws);
}

/* The increment that led to the state at t, NULL when there is none.  Called at the start of a step
 * from t: either the last step was accepted (t is its end), or it is made again (t is its start).
 */
static const struct increment *verlet_history(struct ws *work, double t)
{
  if (!work->last.known) return NULL;
  double close = 1e-9 * work->last.h;
  if (fabs(work->last.t + work->last.h - t) <= close) {
    struct increment spare = work->before;
    work->before = work->last;
    work->last = spare;
    work->last.known = false;
  } else if (work->last.t != t) {
    return NULL;
  }
  return work->before.known && fabs(work->before.t + work->before.h - t) <= close ? &work->before
                                                                                  : NULL;
}

static perp_ode_answer position_step(struct ws *work, const perp_ode_sys *sys, double t, double h,
                                     double *q, double *v, double *qdot, perp_stats *stats)
{
  const int nv = sys->nv;
  const struct increment *old = verlet_history(work, t);
  if (old != NULL) {
    double ratio = h / old->h, half = 0.5 * h * (h + old->h);
    for (int i = 0; i < nv; i++) work->dq[i] = ratio * old->d[i] + half * work->a0[i];
  } else {
    for (int i = 0; i < nv; i++) work->dq[i] = h * (v[i] + 0.5 * h * work->a0[i]);
    work->before.known = false;
  }
  perp_ode_retract(sys, q, work->dq, work->q1);
  for (int i = 0; i < nv; i++) work->v1[i] = work->dq[i] / h;
  perp_ode_answer answer = perp_ode_eval(sys, t + h, h, work->q1, work->v1, true, qdot, work->a1,
                                         stats);
  if (answer != PERP_ODE_OK) return answer;
  for (int i = 0; i < nv; i++) v[i] = work->v1[i] + 0.5 * h * work->a1[i];
  memcpy(q, work->q1, (size_t)sys->nq * sizeof *q);
  memcpy(work->last.d, work->dq, (size_t)nv * sizeof *work->dq);
  work->last = (struct increment){ true, t, h, work->last.d };
  return PERP_ODE_OK;
}

static perp_ode_answer velocity_step(struct ws *work, const perp_ode_sys *sys, double t, double h,
                                     double *q, double *v, double *qdot, perp_stats *stats)
{
  const int nv = sys->nv;
  for (int i = 0; i < nv; i++) {
    work->dq[i] = h * (v[i] + 0.5 * h * work->a0[i]);
    work->v1[i] = v[i] + h * work->a0[i];
  }
  perp_ode_retract(sys, q, work->dq, work->q1);
  for (int pass = 0; pass < 2; pass++) {
    perp_ode_answer answer = perp_ode_eval(sys, t + h, h, work->q1, work->v1, true, qdot, work->a1,
                                           stats);
    if (answer != PERP_ODE_OK) return answer;
    for (int i = 0; i < nv; i++) work->v1[i] = v[i] + 0.5 * h * (work->a0[i] + work->a1[i]);
  }
  memcpy(q, work->q1, (size_t)sys->nq * sizeof *q);
  memcpy(v, work->v1, (size_t)nv * sizeof *v);
  return PERP_ODE_OK;
}

static perp_ode_answer verlet_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats)
{
  (void)err;
  struct ws *work = ws;
  if (work->in_momenta) {
    perp_ode_canonical_step *step = &work->canonical;
    perp_ode_answer answer = perp_ode_canonical_begin(step, sys, t, q, v, stats);
    if (answer == PERP_ODE_OK) answer = perp_ode_canonical_euler(step, sys, t, h / 2, false, stats);
    if (answer == PERP_ODE_OK)
      answer = perp_ode_canonical_euler(step, sys, t + h / 2, h / 2, true, stats);
    return answer == PERP_ODE_OK ? perp_ode_canonical_end(step, sys, t + h, q, v, stats) : answer;
  }
  double *qdot = perp_ode_unwanted(sys, work->qdot);
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, qdot, work->a0, stats);
  if (answer != PERP_ODE_OK) return answer;
  if ((sys->caps & PERP_ODE_SYS_POSITION_FORCES) != 0)
    return position_step(work, sys, t, h, q, v, qdot, stats);
  return velocity_step(work, sys, t, h, q, v, qdot, stats);
}

static void verlet_reset(void *ws)
{
  struct ws *work = ws;
  work->before.known = work->last.known = false;
}

const perp_ode_desc perp_ode_verlet = {
  .d = { .name = "verlet",
         .summary = "Stormer-Verlet method, order 2: position, momentum or velocity form, as the "
                    "system allows; symplectic without constraints, for forces of position",
         .reference = "van Overveld and Barenbrug 1995, eq. 4",
         .equation = "x(t+h) = 2 x(t) - x(t-h) + h^2 a(t, x)",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts),
         .caps = PERP_ODE_SYMPLECTIC | PERP_ODE_SECOND_ORDER | PERP_ODE_MULTISTEP },
  .order = 2,
  .stages = 0, /* 2 in position form, 3 in velocity form, more in momenta */
  .create = verlet_create,
  .step = verlet_step,
  .reset = verlet_reset,
  .destroy = free,
};
