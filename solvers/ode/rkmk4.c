/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runge-Kutta-Munthe-Kaas method of order 4: the classical Runge-Kutta method for the increment u
 * of q = q0 [+] u, whose rate is u' = dexp^-1_u(v), and for v:
 *   u_s = h sum_r a_sr k_r,   k_s = dexp^-1_{u_s}(v_s),   v_s = v0 + h sum_r a_sr a_r,
 *   q(t + h) = q0 [+] h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6.
 * dexp^-1 is taken whole (sys->dexpinv), not as a series.  A plain system (nv = 0) has dexp = 1.
 * Source: Munthe-Kaas, Appl. Numer. Math. 29 (1999), algorithm 1.
 *
 * Cost: 4 derivatives, 4 retractions.  Memory: 4 (n + nv) + 2 nq + nv + n numbers, n = nv (or nq).
 * Refuses systems that have a retraction and no dexpinv. */
#include "solvers/ode/method.h"

#include <string.h>

enum { STAGES = 4 };
static const double c[STAGES] = { 0, 0.5, 0.5, 1 };
static const double b[STAGES] = { 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6 };

struct ws {
  int nq, nv, n;        /* n: numbers of an increment */
  double *q, *v, *qdot; /* [nq] [nv] [nq] of a stage */
  double *u;            /* [n] */
  double *k[STAGES];    /* [n] */
  double *a[STAGES];    /* [nv] */
};

static void rkmk4_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->nq, &work->q, &work->qdot);
  PERP_DOUBLES(arena, work->nv, &work->v);
  PERP_DOUBLES(arena, work->n, &work->u);
  for (int s = 0; s < STAGES; s++) {
    PERP_DOUBLES(arena, work->n, &work->k[s]);
    PERP_DOUBLES(arena, work->nv, &work->a[s]);
  }
}

static perp_status rkmk4_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, void **ws)
{
  (void)opts;
  if (sys->retract != NULL && sys->dexpinv == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "rkmk4 needs the derivative of the exponential map, which this system does "
                     "not have: take commutator-free");
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .n = sys->nv > 0 ? sys->nv : sys->nq };
  return perp_workspace_create(ctx, "rkmk4", &like, sizeof like, rkmk4_layout, ws);
}

static perp_ode_answer rkmk4_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                  double *v, double *err, perp_stats *stats)
{
  struct ws *work = ws;
  const int n = work->n, nv = work->nv;
  if (err != NULL) { /* no embedded formula */
    stats->reason = PERP_UNSUITED;
    return PERP_ODE_FAILED;
  }
  for (int s = 0; s < STAGES; s++) {
    const double *qs = q, *vs = v;
    if (s > 0) { /* the row of the tableau has one number */
      for (int i = 0; i < n; i++) work->u[i] = c[s] * h * work->k[s - 1][i];
      perp_ode_retract(sys, q, work->u, work->q);
      for (int i = 0; i < nv; i++) work->v[i] = v[i] + c[s] * h * work->a[s - 1][i];
      qs = work->q;
      vs = work->v;
    }
    double *qdot = nv == 0 ? work->k[s] : perp_ode_unwanted(sys, work->qdot);
    perp_ode_answer answer = perp_ode_eval(sys, t + c[s] * h, h, qs, vs, s > 0, qdot, work->a[s],
                                           stats);
    if (answer != PERP_ODE_OK) return answer;
    if (nv == 0) continue;
    if (s > 0 && sys->dexpinv != NULL)
      sys->dexpinv(sys->user, work->u, vs, work->k[s]);
    else
      memcpy(work->k[s], vs, (size_t)nv * sizeof *vs);
  }
  memset(work->u, 0, (size_t)n * sizeof *work->u);
  for (int s = 0; s < STAGES; s++) {
    for (int i = 0; i < n; i++) work->u[i] += h * b[s] * work->k[s][i];
    for (int i = 0; i < nv; i++) v[i] += h * b[s] * work->a[s][i];
  }
  perp_ode_retract(sys, q, work->u, q);
  if (sys->project != NULL) sys->project(sys->user, q);
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_rkmk4 = {
  .d = { .name = "rkmk4",
         .summary = "Runge-Kutta-Munthe-Kaas method on the configuration manifold, order 4",
         .reference = "Munthe-Kaas 1999",
         .equation = "u' = dexp^-1_u(v), v' = a(t, q0 [+] u, v), q+ = q0 [+] u+",
         PERP_OPTIONS(perp_ode_plain_options, struct perp_ode_plain_opts) },
  .order = 4,
  .stages = STAGES,
  .create = rkmk4_create,
  .step = rkmk4_step,
  .destroy = free,
};
