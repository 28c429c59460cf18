/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runge-Kutta methods that move a configuration by increments of its group, and need no commutator:
 *
 *   q_s = q0 [+] h sum_r alpha^1_sr v_r [+] ... [+] h sum_r alpha^J_sr v_r,
 *   v_s = v0 + h sum_r (alpha^1_sr + ... + alpha^J_sr) a_r,    a_s = a(t + c_s h, q_s, v_s),
 *
 * and the end of the step likewise with the last factors.  [+] is `retract`: for rotations the
 * exponential map of the body frame, so that no stage leaves the manifold and nothing is normalized
 * but rounding.  Velocities are a vector space, where the factors add up.  A plain system (nv = 0)
 * has increments h f in its numbers.
 *
 * Cost: `stages` derivatives and one retraction a factor.  Memory: stages (n + nv) + nq + nv
 * numbers, n = nv (or nq).  Fails only where the system has no derivative. */
#include "solvers/ode/method.h"

#include <string.h>

struct ws {
  const perp_ode_factors *of;
  int nq, nv, n;                   /* n: numbers of an increment */
  double *q, *v, *rate, *qdot, *u; /* [nq] [nv] [stages * n] [nq] [n] */
  double *a;                       /* [stages * nv] */
};

static void factors_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const size_t stages = (size_t)work->of->stages;
  PERP_DOUBLES(arena, work->nq, &work->q, &work->qdot);
  PERP_DOUBLES(arena, work->nv, &work->v);
  PERP_DOUBLES(arena, work->n, &work->u);
  work->rate = PERP_CARVE(arena, double, stages *(size_t)work->n);
  work->a = PERP_CARVE(arena, double, stages *(size_t)work->nv);
}

perp_status perp_ode_factors_create(perp_ctx *ctx, const perp_ode_sys *sys,
                                    const perp_ode_factors *of, void **ws)
{
  struct ws like = { .of = of, .nq = sys->nq, .nv = sys->nv };
  like.n = sys->nv > 0 ? sys->nv : sys->nq;
  return perp_workspace_create(ctx, "Runge-Kutta", &like, sizeof like, factors_layout, ws);
}

/* out += h sum_r coeff_r x_r */
static void factors_add(int n, double h, int terms, const double *coeff, const double *x,
                        double *out)
{
  for (int term = 0; term < terms; term++) {
    const double c = h * coeff[term];
    for (int i = 0; i < n && c != 0; i++) out[i] += c * x[i + (size_t)term * (size_t)n];
  }
}

perp_ode_answer perp_ode_factors_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                      double *q, double *v, double *err, perp_stats *stats)
{
  struct ws *work = ws;
  const perp_ode_factors *of = work->of;
  const int n = work->n, nv = work->nv;
  if (err != NULL) { /* no embedded formula */
    stats->reason = PERP_UNSUITED;
    return PERP_ODE_FAILED;
  }
  const double *row = of->coeff;
  for (int term = 0; term <= of->stages; term++) { /* the last one is the end of the step */
    memcpy(work->q, q, (size_t)work->nq * sizeof *q);
    memcpy(work->v, v, (size_t)nv * sizeof *v);
    for (int f = 0; f < of->factors[term]; f++, row += term) {
      memset(work->u, 0, (size_t)n * sizeof *work->u);
      factors_add(n, h, term, row, work->rate, work->u);
      perp_ode_retract(sys, work->q, work->u, work->q);
      factors_add(nv, h, term, row, work->a, work->v);
    }
    if (term == of->stages) break;
    double *rate = work->rate + (size_t)term * (size_t)n, *a = work->a + (size_t)term * (size_t)nv;
    double *qdot = nv == 0 ? rate : perp_ode_unwanted(sys, work->qdot);
    perp_ode_answer answer = perp_ode_eval(sys, t + of->c[term] * h, h, work->q, work->v, term > 0,
                                           qdot, a, stats);
    if (answer != PERP_ODE_OK) return answer;
    if (nv > 0) memcpy(rate, work->v, (size_t)nv * sizeof *v);
  }
  memcpy(q, work->q, (size_t)work->nq * sizeof *q);
  memcpy(v, work->v, (size_t)nv * sizeof *v);
  if (sys->project != NULL) sys->project(sys->user, q);
  return PERP_ODE_OK;
}
