/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ESDIRK of order 4(3) on the accelerations, with projections (Kennedy and Carpenter 2003; Hairer
 * and Wanner II, sections IV.6 and VII.2).  The increment x of a step, q = q0 [+] x, obeys
 *
 *      x' = dexp^-1_x(v),   v' = a,   M a = f(t, q, v) + J' lambda,   0 = J a + J' v,
 *
 * a DAE of index 1: no order is lost but to stiff forces (stage order 2).  Stage i is
 *
 *      x_i = X_i + h g dexp^-1_{x_i}(v_i),   v_i = V_i + h g a_i,   g = 1/4,
 *
 * X_i and V_i of the stages before, solved for x_i and lambda_i alone: v_i = dexp_{x_i}((x_i - X_i)
 * / (h g)), a_i = (v_i - V_i) / (h g).  The first stage is explicit, the last one the end of the
 * step (stiffly accurate, L-stable), which is projected onto C = 0 and then J v + C_t = 0 in the
 * norm of M.
 *
 * Newton's method is that of implicit_step.h: one matrix for all stages, and for all steps of one
 * length.  tol > 0: error control by the embedded method; steps of nearly the same length stay the
 * same.  tol = 0: steps of h, stages to rounding.
 *
 * lambda is that of M a = f + J' lambda at the start of the step.  Joints with softness are
 * refused. Cost per step: five times some evaluations and solves with nv + m unknowns, a Jacobian
 * when h changes or convergence asks for it, two factorizations of the KKT system.  No allocation,
 * but for new pivots of wide models (local.h). */
#include "models/formulations/dae/esdirk_table.h"
#include "models/stepping/implicit_step.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <string.h>

enum { STAGES = PERP_ESDIRK_STAGES };
static const double GAMMA = 0.25;
static const double NEWTON = 1e-3; /* of the tolerance, what iterations may leave */

struct opts {
  perp_stepper_control control;
  int iterations;
};
static const perp_opt options[] = { PERP_STEPPER_CONTROL_OPTIONS,
                                    PERP_INT(struct opts, iterations, 50, 1, 1000,
                                             "Largest number of Newton corrections in a stage."),
                                    PERP_OPTIONS_END };

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double t, step;                  /* of the stage: its time, h g */
  bool begun;                      /* da[0] and force hold at the start */
  double *dx[STAGES], *da[STAGES]; /* [nv] x'_i, a_i */
  double *X, *V, *x, *v, *z;       /* [nv] */
  double *force, *p;               /* [m] lambda at the start, (h g)^2 lambda */
  double *unknown;                 /* [newton.n] */
} workspace;

/* ---- a stage ---- */

/* v_i and (h g) a_i, to v and z, of x_i */
static void esdirk_rates(workspace *work)
{
  const perp_model *model = work->s.k.model;
  for (int i = 0; i < model->nv; i++) work->z[i] = (work->x[i] - work->X[i]) / work->step;
  perp_model_dexp(model, work->x, work->z, work->v);
  for (int i = 0; i < model->nv; i++) work->z[i] = work->v[i] - work->V[i];
}

static bool esdirk_residual(void *user, const double *unknown, double *r)
{
  workspace *work = user;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const double step = work->step;
  const int m = model->m;
  perp_implicit_get_body(&work->newton, unknown, 0, work->x);
  perp_implicit_get_row(&work->newton, unknown, 0, work->p);
  perp_model_retract(model, work->s.q, work->x, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  esdirk_rates(work);
  perp_constrained_at(k, work->t, work->s.q1);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, work->t, work->v, k->f);
  perp_joints_bias(model, k->e, work->v, k->c);
  for (int i = 0; i < m; i++) k->c[i] *= step * step;
  for (int i = 0; i < model->nv; i++) work->z[i] *= step;
  if (m > 0) perp_blocks_J(&k->e->blocks, 1, work->z, k->c);
  perp_implicit_put_row(&work->newton, 0, k->c, r);
  perp_blocks_M(&k->e->blocks, work->z, work->v);
  for (int i = 0; i < model->nv; i++) work->v[i] -= step * step * k->f[i];
  if (m > 0) perp_blocks_Jt(&k->e->blocks, -1, work->p, work->v);
  perp_implicit_put_body(&work->newton, 0, work->v, r);
  return perp_all_finite(work->newton.n, r);
}

static perp_reason esdirk_stage(workspace *work, int i, double t, double h)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv;
  const double tol = work->o.control.tol, size = model->size > 0 ? model->size : 1;
  double fastest = 0;
  work->t = t + PERP_ESDIRK_C[i] * h;
  for (int j = 0; j < nv; j++) {
    double x = 0, v = work->s.v[j];
    for (int l = 0; l < i; l++) {
      x += h * PERP_ESDIRK_A[i][l] * work->dx[l][j];
      v += h * PERP_ESDIRK_A[i][l] * work->da[l][j];
    }
    work->X[j] = x;
    work->V[j] = v;
    work->x[j] = x + work->step * (v + work->step * work->da[i - 1][j]);
    fastest = fmax(fastest, h * fabs(work->s.v[j]));
  }
  perp_implicit_put_body(&work->newton, 0, work->x, work->unknown);
  perp_implicit_put_row(&work->newton, 0, work->p, work->unknown);
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(
      &work->newton, esdirk_residual, work, h, &k->e->blocks, fmax(1e-14, NEWTON * tol),
      work->o.iterations, fmax(fastest, 1e-3 * size), work->unknown);
  work->s.grid.count.iterations += work->newton.iterations - before;
  k->count.factorizations += (int)(work->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  esdirk_rates(work);
  for (int j = 0; j < nv; j++) {
    work->dx[i][j] = (work->x[j] - work->X[j]) / work->step;
    work->da[i][j] = work->z[j] / work->step;
  }
  return PERP_EXACT;
}

/* ---- a step ---- */

static perp_reason esdirk_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  const size_t size = (size_t)nv * sizeof *work->v, rows = (size_t)m * sizeof *work->p;
  work->s.error = 0;
  work->step = GAMMA * h;
  if (!work->begun) {
    if (!perp_stepper_accelerate(&work->s, t, h, work->s.q, work->s.v)) return k->reason;
    memcpy(work->da[0], k->a, size);
    memcpy(work->force, k->lambda, rows);
    work->begun = true;
  }
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  memcpy(work->dx[0], work->s.v, size);
  for (int i = 0; i < m; i++) work->p[i] = work->step * work->step * work->force[i];
  perp_constrained_at(k, t, work->s.q);
  for (int i = 1; i < STAGES; i++) {
    const perp_reason reason = esdirk_stage(work, i, t, h);
    if (reason < 0) return reason;
  }
  k->drift = perp_worst(m, k->e->C);
  memcpy(work->s.v1, work->v, size);
  if (work->o.control.tol > 0) {
    for (int i = 0; i < nv; i++) {
      work->x[i] = work->z[i] = 0;
      for (int j = 0; j < STAGES; j++) {
        const double by = h * (PERP_ESDIRK_A[STAGES - 1][j] - PERP_ESDIRK_EMBEDDED[j]);
        work->x[i] += by * work->dx[j][i];
        work->z[i] += by * work->da[j][i];
      }
    }
    perp_stepper_judge(&work->s, &work->o.control, h, work->x, work->z);
    if (!(work->s.error < 1)) return isnan(work->s.error) ? PERP_NOT_FINITE : PERP_EXACT;
  }
  if (!perp_stepper_project(&work->s, t + h, h, work->s.q1, work->s.v1)) return k->reason;
  if (!perp_all_finite(model->nq, work->s.q1) || !perp_all_finite(nv, work->s.v1))
    return PERP_NOT_FINITE;
  memcpy(work->s.lambda, work->force, rows);
  perp_model_project(model, work->s.q1);
  return PERP_EXACT;
}

static void esdirk_keep(perp_stepper *stepper)
{
  ((workspace *)stepper)->begun = false;
}

static void esdirk_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  for (int i = 0; i < STAGES; i++) PERP_DOUBLES(arena, model->nv, &work->dx[i], &work->da[i]);
  PERP_DOUBLES(arena, model->nv, &work->X, &work->V, &work->x, &work->v, &work->z);
  PERP_DOUBLES(arena, model->m, &work->force, &work->p);
  PERP_DOUBLES(arena, model->nv + model->m, &work->unknown);
}

static void esdirk_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status esdirk_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                  const double *v)
{
  workspace *work = ws;
  work->begun = false;
  perp_implicit_restart(&work->newton);
  perp_stepper_control_restart(&work->o.control, work->s.grid.h);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status esdirk_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                 double h, void **ws)
{
  workspace like = { .s = { .make_step = esdirk_make_step, .keep = esdirk_keep },
                     .o = *(const struct opts *)parts->formulation.opts };
  like.o.control.order = 3;
  like.o.control.keep = 1.2;
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, esdirk_layout, ws));
  workspace *work = *ws;
  const perp_status status = perp_implicit_create(ctx, model, 1, 1, &work->newton);
  work->newton.hard = true;
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(work);
  *ws = NULL;
  return status;
}

static perp_status esdirk_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  return perp_stepper_controlled(ctx, ws, &((workspace *)ws)->o.control, t_max, info);
}

const perp_formulation_desc perp_formulation_esdirk = {
  .d = { .name = "esdirk",
         .summary = "ESDIRK of order 4(3) on the accelerations, with projections; for stiff forces",
         .reference = "Kennedy and Carpenter 2003; Hairer and Wanner II, sections IV.6 and VII.2",
         .equation = "v_i = V_i + h g a_i,  M a_i = f_i + J' lambda_i,  J a_i + J' v_i = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_SERVOS },
  .create = esdirk_create,
  .restart = esdirk_restart,
  .step = esdirk_step,
  .destroy = esdirk_destroy,
  PERP_STEPPER_CALLS,
};
