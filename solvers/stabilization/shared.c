/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the schemes share: workspaces, feedback of joints, one projection of velocities. */
#include "solvers/stabilization/stab_private.h"

#include <float.h>

static void shared_layout(void *ws, perp_arena *a)
{
  struct stab_projection *p = ws;
  PERP_DOUBLES(a, p->sys.m, &p->C, &p->lambda);
  PERP_DOUBLES(a, p->sys.nv, &p->dx, &p->v);
  p->q = PERP_CARVE(a, double, p->sys.nq);
}

perp_status perp_stab_create(perp_ctx *ctx, const char *name, const perp_stab_sys *sys, void *like,
                             size_t size, void **ws)
{
  *ws = NULL;
  if (sys->nq < 0 || sys->nv < 0 || sys->m < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "%s: sizes must not be negative: got nq = %d, nv = %d, m = %d", name, sys->nq,
                     sys->nv, sys->m);
  if (sys->m > 0 && (sys->error == NULL || sys->rate == NULL || sys->linearize == NULL ||
                     sys->solve == NULL || sys->retract == NULL))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the system needs the functions error, rate, linearize, solve and retract",
                     name);
  ((struct stab_projection *)like)->sys = *sys;
  return perp_workspace_create(ctx, name, like, size, shared_layout, ws);
}

double perp_stab_norm(int n, const double *x)
{
  double norm = 0;
  for (int i = 0; i < n; i++) {
    if (!(fabs(x[i]) <= DBL_MAX)) return (double)NAN;
    norm = fmax(norm, fabs(x[i]));
  }
  return norm;
}

static void shared_no_arrays(void *ws, perp_arena *a)
{
  (void)ws, (void)a;
}

perp_status perp_stab_joints_create(perp_ctx *ctx, const char *name, void *like, size_t size,
                                    void **ws)
{
  *ws = NULL;
  const int m = ((struct stab_joints *)like)->m;
  if (m < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: the number of rows must not be negative: got m = %d",
                     name, m);
  return perp_workspace_create(ctx, name, like, size, shared_no_arrays, ws);
}

void perp_stab_joints_rhs(void *ws, perp_level level, double h, const double *C, const double *Cdot,
                          double *rhs)
{
  const struct stab_joints *w = ws;
  const int m = w->m;
  double alpha = w->alpha, beta = w->beta;
  if (level == PERP_LEVEL_VELOCITY) {
    if (alpha == 0) alpha = 1 / h;
    for (int i = 0; i < m; i++) rhs[i] -= alpha * C[i];
  } else {
    if (alpha == 0) alpha = 1 / (20 * h);
    if (beta == 0) beta = alpha;
    for (int i = 0; i < m; i++) rhs[i] -= 2 * alpha * Cdot[i] + beta * beta * C[i];
  }
}

const char *perp_stab_joints_idle(double beta, perp_level level)
{
  return level == PERP_LEVEL_VELOCITY && beta > 0
             ? "beta has an effect on the acceleration level only; leave it out, or use "
               "formulation acceleration"
             : NULL;
}

double perp_stab_contact(double alpha, double beta, double push, double gap, double rate)
{
  return -2 * alpha * rate - fmax(beta * beta * gap, -2 * alpha * push);
}

perp_status perp_stab_correction(struct stab_projection *p, double t, const double *q, double *h,
                                 perp_stats *stats)
{
  const perp_stab_sys *sys = &p->sys;
  if (h == NULL) {
    PERP_TRY(sys->linearize(sys->user, t, q, stats));
    if (stats->reason < 0) return PERP_OK;
  }
  for (int i = 0; i < sys->m; i++) p->C[i] = -p->C[i];
  PERP_TRY(h == NULL ? sys->solve(sys->user, p->C, p->dx, p->lambda, stats)
                     : sys->solve_start(sys->user, p->C, p->dx, p->lambda, h, stats));
  if (stats->reason >= 0 && isnan(perp_stab_norm(sys->nv, p->dx))) stats->reason = PERP_NOT_FINITE;
  if (stats->reason < 0) return PERP_OK;
  stats->iterations++;
  stats->reason = PERP_CONVERGED;
  return PERP_OK;
}

perp_status perp_stab_project_velocity(struct stab_projection *p, double t, const double *q,
                                       double *v, double tol, perp_stats *stats)
{
  const perp_stab_sys *sys = &p->sys;
  sys->rate(sys->user, t, q, v, p->C);
  const double norm = perp_stab_norm(sys->m, p->C);
  stats->reason = isnan(norm) ? PERP_NOT_FINITE : PERP_CONVERGED;
  if (!(norm > tol)) return PERP_OK;
  PERP_TRY(perp_stab_correction(p, t, q, NULL, stats));
  if (stats->reason < 0) return PERP_OK;
  for (int i = 0; i < sys->nv; i++) v[i] += p->dx[i];
  if (sys->impulse != NULL) sys->impulse(sys->user, 1, p->lambda);
  return PERP_OK;
}
