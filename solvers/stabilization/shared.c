/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the schemes share: workspaces, feedback of joints, one projection of velocities. */
#include "solvers/stabilization/stab_private.h"

#include <float.h>

static void shared_layout(void *ws, perp_arena *arena)
{
  struct stab_projection *projection = ws;
  PERP_DOUBLES(arena, projection->sys.m, &projection->C, &projection->lambda);
  PERP_DOUBLES(arena, projection->sys.nv, &projection->dx, &projection->v);
  projection->q = PERP_CARVE(arena, double, projection->sys.nq);
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

static void shared_no_arrays(void *ws, perp_arena *arena)
{
  (void)ws, (void)arena;
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
  const struct stab_joints *joints = ws;
  const int m = joints->m;
  double alpha = joints->alpha, beta = joints->beta;
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

perp_status perp_stab_correction(struct stab_projection *projection, double t, const double *q,
                                 double *h, perp_stats *stats)
{
  const perp_stab_sys *sys = &projection->sys;
  if (h == NULL) {
    PERP_TRY(sys->linearize(sys->user, t, q, stats));
    if (stats->reason < 0) return PERP_OK;
  }
  for (int i = 0; i < sys->m; i++) projection->C[i] = -projection->C[i];
  PERP_TRY(h == NULL
               ? sys->solve(sys->user, projection->C, projection->dx, projection->lambda, stats)
               : sys->solve_start(sys->user, projection->C, projection->dx, projection->lambda, h,
                                  stats));
  if (stats->reason >= 0 && isnan(perp_stab_norm(sys->nv, projection->dx)))
    stats->reason = PERP_NOT_FINITE;
  if (stats->reason < 0) return PERP_OK;
  stats->iterations++;
  stats->reason = PERP_CONVERGED;
  return PERP_OK;
}

perp_status perp_stab_project_velocity(struct stab_projection *projection, double t,
                                       const double *q, double *v, double tol, perp_stats *stats)
{
  const perp_stab_sys *sys = &projection->sys;
  sys->rate(sys->user, t, q, v, projection->C);
  const double norm = perp_stab_norm(sys->m, projection->C);
  stats->reason = isnan(norm) ? PERP_NOT_FINITE : PERP_CONVERGED;
  if (!(norm > tol)) return PERP_OK;
  PERP_TRY(perp_stab_correction(projection, t, q, NULL, stats));
  if (stats->reason < 0) return PERP_OK;
  for (int i = 0; i < sys->nv; i++) v[i] += projection->dx[i];
  if (sys->impulse != NULL) sys->impulse(sys->user, 1, projection->lambda);
  return PERP_OK;
}
