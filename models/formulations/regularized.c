/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regularized constraints (Servin 2011, time integration of constrained multibodies): a joint gives way,
 *
 *      -compliance lambda = C + relaxation Cdot,
 *
 * a spring of stiffness k = 1 / compliance and a damper d = relaxation / compliance, but taken at the *end*
 * of the step, C+ = C + h J v+.  With impulses p = h lambda this is the system of the velocity level with
 *
 *      M v+ = M v + h f + J' p,   J v+ + S p = -alpha C,
 *      S = compliance / (h (h + relaxation)) = 1 / (h (h k + d)),
 *      alpha = 1 / (h + relaxation)          = k / (h k + d):
 *
 * the exact correspondence of spring and damper to softness and feedback, for any h.  (Servin's epsilon / h
 * is S for multipliers lambda and relaxation 0.)  Stable for every h and compliance; A + S is regular whatever
 * the joints, redundant ones share the load.  As compliance goes to 0, velocity level with alpha = 1 / (h +
 * relaxation).  A joint is off by compliance lambda; order 1 in h.
 *
 * The softness of a joint of the model is added to S.  Cost per step: assembly, one factorization, one
 * solve.  Positions move by symplectic-euler. */
#include "models/formulations/constrained.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

struct opts {
  double compliance, relaxation;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, compliance, 1e-8, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "of each row, 1 / stiffness: m/N, and rad/(N m)"),
  PERP_REAL(struct opts, relaxation, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "s",
            "damping / stiffness of each row"),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_constrained k;
  struct opts o;
  perp_ode_sys sys;
  perp_ode *ode;
  double *q;      /* [nq] start of a restart */
  double *S;      /* [m] */
  double *lambda; /* [m] forces */
  perp_arena arena;
} workspace;

static perp_ode_answer deriv(void *user, double t, double h, const double *q, const double *v,
                             bool intermediate, double *qdot, double *a)
{
  workspace *w = user;
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  (void)intermediate;
  perp_constrained_at(k, q);
  double start = perp_constrained_clock(k);
  perp_eval_impulse(k->e, model, t, h, v, k->f);
  const double alpha = 1 / (h + w->o.relaxation), soft = w->o.compliance * alpha / h;
  for (int i = 0; i < model->m; i++) {
    k->c[i] = -alpha * k->e->C[i];
    w->S[i] = soft + model->softness[i];
  }
  k->assembly_s += perp_constrained_clock(k) - start;
  k->factored = NULL; /* S depends on h */
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return PERP_ODE_FAILED;
  for (int i = 0; i < model->nv; i++) a[i] = (k->a[i] - v[i]) / h;
  for (int i = 0; i < model->m; i++) w->lambda[i] = k->lambda[i] / h;
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  return PERP_ODE_OK;
}

static perp_ode_answer accept(void *user, double t, double *q, double *v)
{
  return perp_constrained_accept(&((workspace *)user)->k, t, q, v);
}

static void layout(workspace *w, const perp_model *model, perp_arena *a)
{
  perp_constrained_layout(&w->k, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  w->S = PERP_CARVE(a, double, model->m);
  w->lambda = PERP_CARVE(a, double, model->m);
}

static void destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  perp_constrained_destroy(&w->k);
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                          void **ws)
{
  *ws = NULL;
  if (!(parts->ode.d->caps & PERP_ODE_ONE_EVALUATION))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation regularized needs an ode with one evaluation a step (euler, "
                     "symplectic-euler): '%s' takes more",
                     parts->ode.d->name);
  workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "regularized: no memory");
  perp_arena a = { 0 };
  layout(w, model, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(w);
    return status;
  }
  w->arena = a;
  layout(w, model, &a);
  w->o = *(const struct opts *)parts->formulation.opts;
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  status = perp_constrained_create(ctx, &w->k, model, &with, false);
  for (int i = 0; i < 2; i++) w->k.eval[i].blocks.s = w->S;
  w->sys = perp_constrained_ode_sys(&w->k);
  w->sys.deriv = deriv;
  w->sys.accept = accept;
  if (status == PERP_OK) status = perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

static perp_status restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_restart(&w->k);
  w->k.ctx = ctx;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, w->q, v));
  return perp_ode_restart(ctx, w->ode, t, w->q, v);
}

static perp_status step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  PERP_TRY(perp_constrained_step(ctx, &w->k, w->ode, t_max, info));
  info->lambda = w->lambda;
  return PERP_OK;
}

static void state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = perp_ode_time(w->ode);
  *q = perp_ode_q(w->ode);
  *v = perp_ode_v(w->ode);
}

static void counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = *perp_ode_count(w->ode);
  if (kkt != NULL) *kkt = w->k.count;
}

static void timing(void *ws, bool on, perp_times *times)
{
  perp_constrained_timing(&((workspace *)ws)->k, on, times);
}

const perp_formulation_desc perp_formulation_regularized = {
  .d = { .name = "regularized",
         .summary = "compliant constraints at the end of the step: implicit springs and dampers",
         .reference = "Servin 2011, time integration of constrained multibodies; Lacoursiere 2007",
         .equation = "M v+ = M v + h f + J' p,  J v+ + compliance p / (h (h + relaxation)) = "
                     "-C / (h + relaxation)",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_FORM_USES_ODE | PERP_FORM_USES_KKT },
  .create = create,
  .restart = restart,
  .step = step,
  .state = state,
  .counters = counters,
  .timing = timing,
  .destroy = destroy,
};
