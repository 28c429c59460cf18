/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explicit Runge-Kutta methods from their Butcher tableau (STAR 4.1, Vondrak 2.2.2):
 *
 *   k_s = f(t + c_s h, y + h sum_{r < s} a_sr k_r),   y(t + h) = y + h sum_s b_s k_s,
 *   e = h sum_s (b_s - bhat_s) k_s  where there is an embedded formula.
 *
 * y = (q, v) are the plain numbers of the state.  The stages may leave the manifold of q by O(h^2);
 * only the end of the step is projected.  That costs no order: the exact solution lies on the
 * manifold, so the projection moves q by no more than the error of the step.
 *
 * Cost: `stages` derivatives (`all` when the error is wanted), and about stages^2 / 2 vector
 * updates. Memory: (all + 1) (nq + nv) numbers.  Fails only where the system has no derivative. */
#include "solvers/ode/method.h"

const perp_opt perp_ode_plain_options[] = { PERP_ODE_CONTROL_OPTIONS(struct perp_ode_plain_opts),
                                            PERP_OPTIONS_END };

struct ws {
  const perp_ode_tableau *tableau;
  int n;
  double *y, *k; /* [n], [all * n], n = nq + nv */
};

static void rk_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  work->y = PERP_CARVE(arena, double, work->n);
  work->k = PERP_CARVE(arena, double, (size_t)work->n *(size_t)work->tableau->all);
}

perp_status perp_ode_rk_create(perp_ctx *ctx, const perp_ode_sys *sys,
                               const perp_ode_tableau *tableau, void **ws)
{
  struct ws like = { .tableau = tableau, .n = sys->nq + sys->nv };
  return perp_workspace_create(ctx, "Runge-Kutta", &like, sizeof like, rk_layout, ws);
}

/* out = base + h sum_r coeff_r k_r over n numbers; out may be base */
static void rk_combine(int n, const double *base, double h, int terms, const double *coeff,
                       const double *k, int ld, double *out)
{
  switch (terms) { /* the short sums of the cheap methods in one pass */
  case 1: {
    double c0 = h * coeff[0];
    for (int i = 0; i < n; i++) out[i] = base[i] + c0 * k[i];
    return;
  }
  case 2: {
    for (int i = 0; i < n; i++) out[i] = base[i] + h * (coeff[0] * k[i] + coeff[1] * k[i + ld]);
    return;
  }
  default:
    for (int i = 0; i < n; i++) {
      double sum = coeff[0] * k[i];
      for (int term = 1; term < terms; term++)
        sum += coeff[term] * k[i + (size_t)term * (size_t)ld];
      out[i] = base[i] + h * sum;
    }
  }
}

static double rk_sum(int terms, const double *coeff, const double *k, int ld)
{
  double sum = 0;
  for (int term = 0; term < terms; term++) sum += coeff[term] * k[(size_t)term * (size_t)ld];
  return sum;
}

perp_ode_answer perp_ode_rk_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                 double *v, double *err, perp_stats *stats)
{
  struct ws *work = ws;
  const perp_ode_tableau *tab = work->tableau;
  const int nq = sys->nq, nv = sys->nv, n = nq + nv;
  const int stages = err != NULL ? tab->all : tab->stages;
  if (err != NULL && tab->e == NULL) { /* no embedded formula */
    stats->reason = PERP_UNSUITED;
    return PERP_ODE_FAILED;
  }

  const double *a = tab->a;
  for (int stage = 0; stage < stages; stage++) {
    double *k = work->k + (size_t)stage * (size_t)n;
    const double *qs = q, *vs = v;
    if (stage > 0) {
      rk_combine(nq, q, h, stage, a, work->k, n, work->y);
      rk_combine(nv, v, h, stage, a, work->k + nq, n, work->y + nq);
      qs = work->y;
      vs = work->y + nq;
      a += stage;
    }
    perp_ode_answer answer = perp_ode_eval(sys, t + tab->c[stage] * h, h, qs, vs, stage > 0, k,
                                           k + nq, stats);
    if (answer != PERP_ODE_OK) return answer;
  }

  rk_combine(nq, q, h, tab->stages, tab->b, work->k, n, q);
  rk_combine(nv, v, h, tab->stages, tab->b, work->k + nq, n, v);
  if (sys->project != NULL) sys->project(sys->user, q);
  for (int i = 0; i < n && err != NULL; i++) {
    err[i] = h * rk_sum(stages, tab->e, work->k + i, n);
    if (tab->e3 == NULL || err[i] == 0) continue;
    const double e3 = h * rk_sum(stages, tab->e3, work->k + i, n);
    err[i] *= fabs(err[i]) / hypot(err[i], 0.1 * e3);
  }
  return PERP_ODE_OK;
}
