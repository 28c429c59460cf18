/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semi-implicit (symplectic) Euler (STAR 4.1), order 1:
 *   v(t + h) = v + h a(t, q, v),   q(t + h) = q [+] h v(t + h).
 * STAR 2012, eq. 42, with the map at q(t) as a turn.
 *
 * The position moves with the *new* velocity along the manifold (retract), so rotations stay
 * rotations. Symplectic where a depends on positions only: the energy of a pendulum or a spring
 * then stays within O(h) of its start for ever (stable for h omega < 2).  Where a depends on v
 * because the mass matrix depends on q (joint coordinates), the step is made in (q, p) if the
 * system gives its momenta, and is then implicit: p(t + h) = p + h dL/dq(q, u),   p(t + h) = H(q)
 * u,   q(t + h) = q [+] h u          (canonical.c). Else, as for a gyroscopic torque in maximal
 * coordinates, the step is not symplectic.
 *
 * One derivative a step, at the regular state, or about 10 in momenta.  Memory: nq + 2 nv numbers,
 * 2 nq + 8 nv more with momenta.  Needs the split (q, v). */
#include "solvers/ode/method.h"

struct ws {
  int nq, nv;
  bool in_momenta;
  double *qdot, *a, *dq;
  perp_ode_canonical_step canonical;
};

static void symplectic_euler_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  work->qdot = PERP_CARVE(arena, double, work->nq);
  PERP_DOUBLES(arena, work->nv, &work->a, &work->dq);
  if (work->in_momenta) perp_ode_canonical_layout(&work->canonical, work->nq, work->nv, arena);
}

static perp_status symplectic_euler_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                           void **ws)
{
  (void)opts;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .in_momenta = perp_ode_in_momenta(sys) };
  return perp_workspace_create(ctx, "symplectic-euler", &like, sizeof like, symplectic_euler_layout,
                               ws);
}

static perp_ode_answer symplectic_euler_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                             double *q, double *v, double *err, perp_stats *stats)
{
  (void)err;
  struct ws *work = ws;
  if (work->in_momenta) {
    perp_ode_canonical_step *step = &work->canonical;
    perp_ode_answer answer = perp_ode_canonical_begin(step, sys, t, q, v, stats);
    if (answer == PERP_ODE_OK) answer = perp_ode_canonical_euler(step, sys, t, h, false, stats);
    return answer == PERP_ODE_OK ? perp_ode_canonical_end(step, sys, t + h, q, v, stats) : answer;
  }
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, perp_ode_unwanted(sys, work->qdot),
                                         work->a, stats);
  if (answer != PERP_ODE_OK) return answer;
  for (int i = 0; i < sys->nv; i++) {
    v[i] += h * work->a[i];
    work->dq[i] = h * v[i];
  }
  perp_ode_retract(sys, q, work->dq, q);
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_symplectic_euler = {
  .d = { .name = "symplectic-euler",
         .summary =
             "Semi-implicit Euler method, order 1, symplectic without constraints, for forces of "
             "position",
         .reference = "STAR 2012, 4.1",
         .equation = "v+ = v + h a(t, q, v), q+ = q [+] h v+",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts),
         .caps = PERP_ODE_SYMPLECTIC | PERP_ODE_SECOND_ORDER | PERP_ODE_ONE_EVALUATION },
  .order = 1,
  .stages = 1,
  .create = symplectic_euler_create,
  .step = symplectic_euler_step,
  .destroy = free,
};
