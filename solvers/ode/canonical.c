/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symplectic Euler steps in (q, p) for a Lagrangian L(t, q, v) = v' H(q) v / 2 - V(t, q) whose H
 * depends on q, so that the Hamiltonian does not separate and no explicit step is symplectic.  With
 * the discrete Lagrangian h L(q0, dq / h) or h L(q1, dq / h) and dq = h u,
 *
 *      p0 = A0(dq) H(q0) u - h g(q0, u),   q1 = q0 [+] dq,   p1 = A1(dq) H(q0) u
 *
 * and its adjoint
 *
 *      p0 = A0(dq) H(q1) u,   q1 = q0 [+] dq,   p1 = A1(dq) H(q1) u + h g(q1, u)
 *
 * g = dL/dq.  A0 and A1 are 1 for plain coordinates: the first is then the implicit symplectic
 * Euler method p1 = p0 - h dK/dq(q0, p1), q1 = q0 + h dK/dp(q0, p1) of the Hamiltonian K.  On
 * rotations they are the transposed inverse derivatives of [+] at both ends. Sources: Hairer,
 * Lubich and Wanner, Geometric Numerical Integration, section VI.3 (generalized Stormer-Verlet:
 * half a step of each) and VI.6 (discrete Lagrangians); Bou-Rabee and Marsden 2009 on Lie groups.
 *
 * u by u += H^-1 (residual), which contracts by about h |v| over the length on which H changes,
 * until the correction is round-off and no longer falls: what is left in every step in the same
 * direction would add up.  Round-off of u is that of the residual, a sum of nv terms, times the
 * condition of H (n^4 or so of a chain of n links), so either may be at its own. */
#include "solvers/ode/method.h"

#include <float.h>
#include <string.h>

enum { CANONICAL_PASSES = 100 };
#define CANONICAL_ROUND_OFF 1e-12

void perp_ode_canonical_layout(perp_ode_canonical_step *step, int nq, int nv, perp_arena *arena)
{
  PERP_DOUBLES(arena, nq, &step->q, &step->q1);
  PERP_DOUBLES(arena, nv, &step->u, &step->du, &step->dq, &step->g, &step->p, &step->p0,
               &step->start, &step->end);
}

static perp_ode_answer canonical_momentum(const perp_ode_sys *sys, double t, const double *q,
                                          const double *v, double *p, double *g, perp_stats *stats)
{
  stats->matvecs++;
  return sys->canonical->momentum(sys->user, t, q, v, p, g) ? PERP_ODE_OK : PERP_ODE_FAILED;
}

perp_ode_answer perp_ode_canonical_begin(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                         double t, const double *q, const double *v,
                                         perp_stats *stats)
{
  memcpy(step->q, q, (size_t)sys->nq * sizeof *q);
  memcpy(step->u, v, (size_t)sys->nv * sizeof *v);
  return canonical_momentum(sys, t, q, v, step->p0, step->g, stats);
}

perp_ode_answer perp_ode_canonical_euler(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                         double t, double h, bool adjoint, perp_stats *stats)
{
  const int nv = sys->nv;
  double before = HUGE_VAL;
  for (int pass = 0; pass < CANONICAL_PASSES; pass++) {
    for (int i = 0; i < nv; i++) step->dq[i] = h * step->u[i];
    perp_ode_retract(sys, step->q, step->dq, step->q1);
    const perp_ode_answer answer = canonical_momentum(
        sys, adjoint ? t + h : t, adjoint ? step->q1 : step->q, step->u, step->p, step->g, stats);
    if (answer != PERP_ODE_OK) return answer;
    sys->canonical->transport(sys->user, step->dq, step->p, step->start, step->end);
    for (int i = 0; i < nv; i++)
      step->p[i] = step->p0[i] + (adjoint ? 0 : h * step->g[i]) - step->start[i];
    if (!sys->canonical->velocity(sys->user, step->p, step->du)) return PERP_ODE_FAILED;
    stats->iterations++;
    const double now = perp_ode_size(nv, step->du), scale = perp_ode_size(nv, step->u);
    if (!(now < HUGE_VAL)) break;
    const bool rounding = now <= CANONICAL_ROUND_OFF * scale ||
                          perp_ode_size(nv, step->p) <=
                              nv * DBL_EPSILON *
                                  (perp_ode_size(nv, step->p0) + perp_ode_size(nv, step->start));
    if (now == 0 || (rounding && now >= 0.5 * before)) {
      memcpy(step->q, step->q1, (size_t)sys->nq * sizeof *step->q);
      for (int i = 0; i < nv; i++) step->p0[i] = step->end[i] + (adjoint ? h * step->g[i] : 0);
      return PERP_ODE_OK;
    }
    for (int i = 0; i < nv; i++) step->u[i] += step->du[i];
    before = now;
  }
  stats->reason = PERP_MAX_ITER;
  return PERP_ODE_FAILED;
}

perp_ode_answer perp_ode_canonical_end(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                       double t, double *q, double *v, perp_stats *stats)
{
  /* H at the end of the step, whatever the velocities */
  const perp_ode_answer answer = canonical_momentum(sys, t, step->q, step->u, step->p, step->g,
                                                    stats);
  if (answer != PERP_ODE_OK) return answer;
  if (!sys->canonical->velocity(sys->user, step->p0, step->du)) return PERP_ODE_FAILED;
  memcpy(q, step->q, (size_t)sys->nq * sizeof *q);
  memcpy(v, step->du, (size_t)sys->nv * sizeof *v);
  return PERP_ODE_OK;
}
