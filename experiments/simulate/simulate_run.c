/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One face for simulations and plain problems. */
#include "experiments/simulate/simulate_run.h"

#include <math.h>
#include <stdlib.h>

const double *perp_cell_q0(const perp_cell_run *run)
{
  if (run->moved != NULL) return run->moved;
  return run->sim != NULL ? perp_model_q0(run->scene.model) : run->scene.ode_q0;
}
const double *perp_cell_v0(const perp_cell_run *run)
{
  if (run->moved != NULL) return run->moved + run->measure->nq;
  return run->sim != NULL ? perp_model_v0(run->scene.model) : run->scene.ode_v0;
}

perp_status perp_cell_perturb(perp_ctx *ctx, perp_cell_run *run, double perturb)
{
  const int nq = run->measure->nq, nv = run->measure->nv, n = run->sim != NULL ? nv : nq;
  const double *q0 = perp_cell_q0(run), *v0 = perp_cell_v0(run);
  double *moved = malloc((size_t)(nq + nv + n) * sizeof *moved);
  if (moved == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the perturbed start");
  double *v = moved + nq, *dq = v + nv;
  const double dv = perturb * perp_measure_largest(nv, v0);
  for (int i = 0; i < n; i++) dq[i] = perturb * perp_measure_largest(nq, q0) * sin(i + 1);
  for (int i = 0; i < nv; i++) v[i] = v0[i] + dv * sin(n + i + 1);
  if (run->sim != NULL)
    perp_model_retract(run->scene.model, q0, dq, moved);
  else
    for (int i = 0; i < nq; i++) moved[i] = q0[i] + dq[i];
  run->moved = moved;
  run->measure->run.perturbed = true;
  return PERP_OK;
}

perp_status perp_cell_equivalent(perp_ctx *ctx, perp_cell_run *run, const char *name)
{
  if (name == NULL || name[0] == '\0') return PERP_OK;
  const int kind = perp_equivalence_named(name);
  if (kind < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "unknown equivalent model '%s' (valid: given, mirrored, reversed, shuffled, "
                     "mirrored-shuffled)",
                     name);
  if (run->scene.model == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "equivalent has no effect: scene %s has no bodies. Leave it out",
                     run->request->scene);
  if (kind == PERP_EQUIVALENT_GIVEN) return PERP_OK;
  PERP_TRY(perp_equivalent_create(ctx, run->scene.model, (perp_equivalence)kind, &run->equivalent));
  const size_t nq = (size_t)perp_model_nq(run->scene.model),
               nv = (size_t)perp_model_nv(run->scene.model),
               m = (size_t)perp_model_m(run->scene.model);
  run->q_there = malloc((2 * (nq + nv) + m) * sizeof *run->q_there);
  if (run->q_there == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the state of an equivalent model");
  run->v_there = run->q_there + nq;
  run->q_back = run->v_there + nv;
  run->v_back = run->q_back + nq;
  run->lambda_there = run->v_back + nv;
  return PERP_OK;
}

perp_status perp_cell_start(perp_ctx *ctx, perp_cell_run *run)
{
  if (run->equivalent != NULL) {
    perp_equivalent_there(run->equivalent, perp_cell_q0(run), perp_cell_v0(run), run->q_there,
                          run->v_there);
    return perp_sim_restart(ctx, run->sim, 0, run->q_there, run->v_there);
  }
  if (run->sim != NULL)
    return perp_sim_restart(ctx, run->sim, 0, perp_cell_q0(run), perp_cell_v0(run));
  return perp_ode_restart(ctx, run->ode, 0, perp_cell_q0(run), perp_cell_v0(run));
}

perp_status perp_cell_raised(const perp_ctx *ctx, const perp_step_info *info)
{
  return info->reason < 0 && ctx->status == PERP_ERR_RAISED ? PERP_ERR_RAISED : PERP_OK;
}

perp_status perp_cell_step(perp_ctx *ctx, perp_cell_run *run, double t_max, perp_step_info *info)
{
  ctx->status = PERP_OK;
  if (run->sim != NULL) {
    PERP_TRY(perp_sim_step(ctx, run->sim, t_max, info));
    PERP_TRY(perp_cell_raised(ctx, info));
    return run->equivalent != NULL ? perp_equivalent_info(ctx, run->equivalent, info) : PERP_OK;
  }
  perp_stats stats = { 0 };
  perp_ode_stop stop = perp_ode_step(ctx, run->ode, t_max, &stats);
  *info = (perp_step_info){ .reason = stop == PERP_ODE_STOPPED ? stats.reason : PERP_EXACT,
                            .drift_pos_pre = nan("") };
  return perp_cell_raised(ctx, info);
}

void perp_cell_state(const perp_cell_run *run, double *t, const double **q, const double **v)
{
  if (run->sim != NULL) {
    perp_sim_state(run->sim, t, q, v);
    if (run->equivalent == NULL) return;
    perp_equivalent_back(run->equivalent, *q, *v, run->q_back, run->v_back);
    *q = run->q_back;
    *v = run->v_back;
  } else {
    *t = perp_ode_time(run->ode);
    *q = perp_ode_q(run->ode);
    *v = perp_ode_v(run->ode);
  }
}

bool perp_cell_dense(perp_ctx *ctx, perp_cell_run *run, double t, double *lambda)
{
  if (run->equivalent != NULL) {
    if (perp_sim_dense_at(ctx, run->sim, t, run->q_there, run->v_there, run->lambda_there) !=
        PERP_OK)
      return false;
    perp_equivalent_back(run->equivalent, run->q_there, run->v_there, run->q_at, run->v_at);
    if (lambda != NULL) perp_equivalent_multipliers(run->equivalent, run->lambda_there, lambda);
    return true;
  }
  return (run->sim != NULL ? perp_sim_dense_at(ctx, run->sim, t, run->q_at, run->v_at, lambda)
                           : perp_ode_dense_at(ctx, run->ode, t, run->q_at, run->v_at)) == PERP_OK;
}

void perp_cell_counters(const perp_cell_run *run, perp_ode_counters *ode, perp_stats *kkt)
{
  *kkt = (perp_stats){ 0 };
  if (run->sim != NULL)
    perp_sim_counters(run->sim, ode, kkt);
  else
    *ode = *perp_ode_count(run->ode);
}

int perp_cell_redundant(const perp_cell_run *run)
{
  const perp_redundant *redundant = run->sim != NULL ? perp_sim_redundant(run->sim) : NULL;
  return redundant != NULL ? redundant->rows : -1;
}

bool perp_cell_same_time(double a, double b)
{
  return fabs(a - b) <= 1e-10 * fmax(1, fabs(b));
}

perp_cut perp_cell_cut(const perp_cell_run *run)
{
  const perp_minder *minder = run->request->minder;
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
