/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One face for simulations and plain problems. */
#include "experiments/simulate/simulate_run.h"

#include <math.h>
#include <stdlib.h>

const double *perp_cell_q0(const perp_cell_run *r)
{
  if (r->moved != NULL) return r->moved;
  return r->sim != NULL ? perp_model_q0(r->scene.model) : r->scene.ode_q0;
}
const double *perp_cell_v0(const perp_cell_run *r)
{
  if (r->moved != NULL) return r->moved + r->measure->nq;
  return r->sim != NULL ? perp_model_v0(r->scene.model) : r->scene.ode_v0;
}

perp_status perp_cell_perturb(perp_ctx *ctx, perp_cell_run *r, double perturb)
{
  const int nq = r->measure->nq, nv = r->measure->nv, n = r->sim != NULL ? nv : nq;
  const double *q0 = perp_cell_q0(r), *v0 = perp_cell_v0(r);
  double *moved = malloc((size_t)(nq + nv + n) * sizeof *moved);
  if (moved == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the perturbed start");
  double *v = moved + nq, *dq = v + nv;
  const double dv = perturb * perp_measure_largest(nv, v0);
  for (int i = 0; i < n; i++) dq[i] = perturb * perp_measure_largest(nq, q0) * sin(i + 1);
  for (int i = 0; i < nv; i++) v[i] = v0[i] + dv * sin(n + i + 1);
  if (r->sim != NULL)
    perp_model_retract(r->scene.model, q0, dq, moved);
  else
    for (int i = 0; i < nq; i++) moved[i] = q0[i] + dq[i];
  r->moved = moved;
  r->measure->run.perturbed = true;
  return PERP_OK;
}

perp_status perp_cell_equivalent(perp_ctx *ctx, perp_cell_run *r, const char *name)
{
  if (name == NULL || name[0] == '\0') return PERP_OK;
  const int kind = perp_equivalence_named(name);
  if (kind < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "unknown equivalent model '%s' (valid: given, mirrored, reversed, shuffled, "
                     "mirrored-shuffled)",
                     name);
  if (r->scene.model == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "equivalent has no effect: scene %s has no bodies. Leave it out",
                     r->request->scene);
  if (kind == PERP_EQUIVALENT_GIVEN) return PERP_OK;
  PERP_TRY(perp_equivalent_create(ctx, r->scene.model, (perp_equivalence)kind, &r->equivalent));
  const size_t nq = (size_t)perp_model_nq(r->scene.model),
               nv = (size_t)perp_model_nv(r->scene.model), m = (size_t)perp_model_m(r->scene.model);
  r->q_there = malloc((2 * (nq + nv) + m) * sizeof *r->q_there);
  if (r->q_there == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the state of an equivalent model");
  r->v_there = r->q_there + nq;
  r->q_back = r->v_there + nv;
  r->v_back = r->q_back + nq;
  r->lambda_there = r->v_back + nv;
  return PERP_OK;
}

perp_status perp_cell_start(perp_ctx *ctx, perp_cell_run *r)
{
  if (r->equivalent != NULL) {
    perp_equivalent_there(r->equivalent, perp_cell_q0(r), perp_cell_v0(r), r->q_there, r->v_there);
    return perp_sim_restart(ctx, r->sim, 0, r->q_there, r->v_there);
  }
  if (r->sim != NULL) return perp_sim_restart(ctx, r->sim, 0, perp_cell_q0(r), perp_cell_v0(r));
  return perp_ode_restart(ctx, r->ode, 0, perp_cell_q0(r), perp_cell_v0(r));
}

perp_status perp_cell_step(perp_ctx *ctx, perp_cell_run *r, double t_max, perp_step_info *info)
{
  if (r->sim != NULL) {
    PERP_TRY(perp_sim_step(ctx, r->sim, t_max, info));
    return r->equivalent != NULL ? perp_equivalent_info(ctx, r->equivalent, info) : PERP_OK;
  }
  perp_stats stats = { 0 };
  perp_ode_stop stop = perp_ode_step(ctx, r->ode, t_max, &stats);
  *info = (perp_step_info){ .reason = stop == PERP_ODE_STOPPED ? stats.reason : PERP_EXACT,
                            .drift_pos_pre = nan("") };
  return PERP_OK;
}

void perp_cell_state(const perp_cell_run *r, double *t, const double **q, const double **v)
{
  if (r->sim != NULL) {
    perp_sim_state(r->sim, t, q, v);
    if (r->equivalent == NULL) return;
    perp_equivalent_back(r->equivalent, *q, *v, r->q_back, r->v_back);
    *q = r->q_back;
    *v = r->v_back;
  } else {
    *t = perp_ode_time(r->ode);
    *q = perp_ode_q(r->ode);
    *v = perp_ode_v(r->ode);
  }
}

bool perp_cell_dense(perp_ctx *ctx, perp_cell_run *r, double t, double *lambda)
{
  if (r->equivalent != NULL) {
    if (perp_sim_dense_at(ctx, r->sim, t, r->q_there, r->v_there, r->lambda_there) != PERP_OK)
      return false;
    perp_equivalent_back(r->equivalent, r->q_there, r->v_there, r->q_at, r->v_at);
    if (lambda != NULL) perp_equivalent_multipliers(r->equivalent, r->lambda_there, lambda);
    return true;
  }
  return (r->sim != NULL ? perp_sim_dense_at(ctx, r->sim, t, r->q_at, r->v_at, lambda)
                         : perp_ode_dense_at(ctx, r->ode, t, r->q_at, r->v_at)) == PERP_OK;
}

void perp_cell_counters(const perp_cell_run *r, perp_ode_counters *ode, perp_stats *kkt)
{
  *kkt = (perp_stats){ 0 };
  if (r->sim != NULL)
    perp_sim_counters(r->sim, ode, kkt);
  else
    *ode = *perp_ode_count(r->ode);
}

bool perp_cell_same_time(double a, double b)
{
  return fabs(a - b) <= 1e-10 * fmax(1, fabs(b));
}

perp_cut perp_cell_cut(const perp_cell_run *r)
{
  const perp_minder *minder = r->request->minder;
  return minder != NULL ? minder->cut(minder->user) : PERP_CUT_NONE;
}

double perp_cell_clock_cost(void)
{
  static double least; /* of this machine: once a process */
  if (least > 0) return least;
  least = HUGE_VAL;
  for (int i = 0; i < 20; i++) {
    double t0 = perp_clock_thread();
    least = fmin(least, perp_clock_thread() - t0);
  }
  return least;
}
