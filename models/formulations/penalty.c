/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Penalty method: joints are springs and dampers (Vondrak 2005, eq. 3.9; STAR 2012, section 3.2.1),
 *
 *      M v' = f + J' lambda,      lambda = -stiffness C - damping J v
 *
 * under any ODE solver.  No linear system is solved.  A joint gives way by lambda / stiffness, so that
 * positions are in error by O(1 / stiffness) however small the step; the joint vibrates at
 * sqrt(stiffness a), a an eigenvalue of A = J M^-1 J', which is what limits the step of explicit methods.
 * With a the largest one at the start, symplectic Euler is stable for
 *
 *      h < (sqrt(damping^2 a^2 + 4 stiffness a) - damping a) / (stiffness a),
 *
 * which is reported (h.stable); a by power iteration.
 *
 * Cost per evaluation: assembly.  No allocation in the steady state.  Fails: states that are not finite.
 *
 * The stiffness keeps C small: the force is minus the gradient of Vondrak 2005, eq. 3.7, 3.8 with a
 * damper. */
#include "models/stepping/constrained.h"

#include <stdlib.h>
#include <string.h>

struct opts {
  double stiffness, damping;
};
static const perp_opt options[] = { PERP_REAL(struct opts, stiffness, 1e5, 0, HUGE_VAL,
                                              PERP_OPEN_MIN | PERP_OPEN_MAX, "",
                                              "of each row: N/m, and N m/rad"),
                                    PERP_REAL(struct opts, damping, 10, 0, HUGE_VAL, PERP_OPEN_MAX,
                                              "", "of each row: N s/m, and N m s/rad"),
                                    PERP_OPTIONS_END };

enum { POWER_ITERATIONS = 200 };

typedef struct workspace {
  const perp_model *model; /* first */
  struct opts o;
  perp_eval e;
  perp_ode_sys sys;
  perp_ode *ode;
  double *q;           /* [nq] start of a restart */
  double *f, *scratch; /* [nv], [2 nv] */
  double *trial, *lambda,
      *product; /* [m] penalty forces of an evaluation, at the last regular state */
  double drift, h_stable;
  bool timing;
  double assembly_s, step_s;
} workspace;

static double penalty_now(const workspace *w)
{
  return w->timing ? perp_clock_thread() : 0;
}

static perp_ode_answer penalty_deriv(void *user, double t, double h, const double *q,
                                     const double *v, bool intermediate, double *qdot, double *a)
{
  workspace *w = user;
  const perp_model *model = w->model;
  const double start = penalty_now(w);
  (void)h;
  perp_eval_at(&w->e, model, t, q);
  perp_eval_forces(&w->e, model, t, v, true, w->f);
  memset(w->trial, 0, (size_t)model->m * sizeof *w->trial);
  perp_blocks_J(&w->e.blocks, -w->o.damping, v, w->trial);
  for (int i = 0; model->driven && i < model->m; i++) w->trial[i] -= w->o.damping * w->e.Ct[i];
  for (int i = 0; i < model->m; i++) w->trial[i] -= w->o.stiffness * w->e.C[i];
  perp_blocks_Jt(&w->e.blocks, 1, w->trial, w->f);
  perp_blocks_Minv(&w->e.blocks, w->f, a);
  if (!intermediate) memcpy(w->lambda, w->trial, (size_t)model->m * sizeof *w->lambda);
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  w->assembly_s += penalty_now(w) - start;
  return perp_all_finite(model->nv, a) ? PERP_ODE_OK : PERP_ODE_FAILED;
}

static perp_ode_answer penalty_accept(void *user, double t, double *q, double *v)
{
  workspace *w = user;
  if (!perp_all_finite(w->model->nq, q) || !perp_all_finite(w->model->nv, v))
    return PERP_ODE_FAILED;
  perp_eval_at(&w->e, w->model, t, q);
  w->drift = perp_worst(w->model->m, w->e.C);
  return PERP_ODE_OK;
}

/* the largest eigenvalue of A at the last evaluation */
static double penalty_largest(workspace *w)
{
  const perp_blocks *B = &w->e.blocks;
  double *x = w->trial, *y = w->product, value = 0;
  for (int i = 0; i < B->m; i++) x[i] = 1 + 0.1 * sin(i); /* orthogonal to no eigenvector, likely */
  for (int k = 0; k < POWER_ITERATIONS; k++) {
    double size = 0;
    for (int i = 0; i < B->m; i++) size += x[i] * x[i];
    size = sqrt(size);
    if (!(size > 0)) return 0;
    for (int i = 0; i < B->m; i++) x[i] /= size;
    perp_blocks_A(B, x, y, w->scratch);
    value = 0;
    for (int i = 0; i < B->m; i++) value += x[i] * y[i];
    memcpy(x, y, (size_t)B->m * sizeof *x);
  }
  return value;
}

static void penalty_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->model;
  perp_eval_layout(&w->e, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  w->f = PERP_CARVE(a, double, model->nv);
  w->scratch = PERP_CARVE(a, double, 2 * model->nv);
  PERP_DOUBLES(a, model->m, &w->trial, &w->lambda, &w->product);
}

static void penalty_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  free(w);
}

static perp_status penalty_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  *ws = NULL;
  workspace like = { .model = model, .o = *(const struct opts *)parts->formulation.opts };
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_layout, ws));
  workspace *w = *ws;
  perp_eval_init(&w->e, model);
  w->e.blocks.s = NULL; /* the penalty is all the softness there is */
  w->sys = perp_formulation_ode_sys(w);
  w->sys.deriv = penalty_deriv;
  w->sys.accept = penalty_accept;
  if (!model->velocity_forces && w->o.damping == 0) w->sys.caps |= PERP_ODE_SYS_POSITION_FORCES;
  const perp_status status = perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
  if (status != PERP_OK) {
    penalty_destroy(w);
    *ws = NULL;
  }
  return status;
}

static perp_status penalty_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  workspace *w = ws;
  memset(w->lambda, 0, (size_t)w->model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)w->model->nq * sizeof *q);
  w->assembly_s = w->step_s = 0;
  PERP_TRY(perp_constrained_check_start(ctx, w->model, w->q, v));
  PERP_TRY(perp_ode_restart(ctx, w->ode, t, w->q, v));
  perp_eval_at(&w->e, w->model, t, w->q);
  const double a = penalty_largest(w), k = w->o.stiffness * a, d = w->o.damping * a;
  w->h_stable = k > 0 ? (sqrt(d * d + 4 * k) - d) / k : HUGE_VAL;
  return PERP_OK;
}

static perp_status penalty_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  perp_stats stats = { 0 };
  const double start = penalty_now(w);
  perp_ode_stop stop = perp_ode_step(ctx, w->ode, t_max, &stats);
  w->step_s += penalty_now(w) - start;
  info->reason = stop != PERP_ODE_STOPPED        ? PERP_EXACT
                 : stats.reason == PERP_SINGULAR ? PERP_NOT_FINITE /* all that deriv refuses */
                                                 : stats.reason;
  info->drift_pos_pre = w->drift;
  info->lambda = w->lambda;
  info->h_stable = w->h_stable;
  return PERP_OK;
}

static void penalty_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = perp_ode_time(w->ode);
  *q = perp_ode_q(w->ode);
  *v = perp_ode_v(w->ode);
}

static perp_status penalty_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                 double *lambda)
{
  workspace *w = ws;
  PERP_TRY(perp_ode_dense_at(ctx, w->ode, t, q, v));
  if (lambda == NULL) return PERP_OK;
  penalty_deriv(w, t, 0, q, v, true, NULL, w->scratch);
  memcpy(lambda, w->trial, (size_t)w->model->m * sizeof *lambda);
  return PERP_OK;
}

static void penalty_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = *perp_ode_count(w->ode);
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

static void penalty_timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  if (times != NULL)
    *times = (perp_times){ .assembly = w->assembly_s, .integrate = w->step_s - w->assembly_s };
  w->timing = on;
}

const perp_formulation_desc perp_formulation_penalty = {
  .d = { .name = "penalty",
         .summary = "joints as stiff springs and dampers: no linear system, no exact joint",
         .reference = "Vondrak 2005, section 3.4, eq. 3.9; STAR 2012, section 3.2.1",
         .equation = "M v' = f - J' (stiffness C + damping J v)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_USES_ODE | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS },
  .create = penalty_create,
  .restart = penalty_restart,
  .step = penalty_step,
  .state = penalty_state,
  .dense = penalty_dense,
  .counters = penalty_counters,
  .timing = penalty_timing,
  .destroy = penalty_destroy,
};
