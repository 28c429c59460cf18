/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The acceleration level without contacts: each evaluation of an explicit method solves
 *
 *      M a = f(t, q, v) + J' lambda,   J a + S lambda = c(t, q, v)
 *
 * and its derivative is the same system with another right-hand side (derivative.c).  The
 * projections of a stabilization at the end of the step are systems of that kind, too:
 *
 *      M x = J' mu,   J x + S mu = -C(q)  or  -Cdot(q, v). */
#include "models/stepping/derivative_smooth.h"

#include <stdlib.h>
#include <string.h>

typedef struct smooth {
  const perp_model *model; /* first, as of the system of the formulation */
  perp_derivative *d;
  perp_constrained *k;
  perp_ode_sys sys; /* of the formulation */
  perp_variational *steps;
  perp_stab_passes passes;
  perp_ctx *ctx;
  perp_status status;
  /* the stage at hand */
  double t, h;
  bool velocity; /* of projections: the second one */
  perp_eval eval;
  double *x, *lambda, *f, *c; /* [nv], [m], [nv], [m] */
  double *q, *v, *end;        /* [nq], [nv], [nq] on the way of projections */
} smooth;

void perp_derivative_tangent(const perp_model *model, const double *q, const double *dq,
                             double *out)
{
  if (model->dim == 2) {
    memcpy(out, dq, (size_t)model->nv * sizeof *out);
    return;
  }
  for (int body = 0; body < model->n_bodies; body++) {
    const double *p = q + 7 * body + 3, back[4] = { p[0], -p[1], -p[2], -p[3] };
    double turn[4];
    perp_quat_product(back, dq + 7 * body + 3, turn);
    for (int i = 0; i < 3; i++) {
      out[6 * body + i] = dq[7 * body + i];
      out[6 * body + 3 + i] = 2 * turn[1 + i];
    }
  }
}

void perp_derivative_numbers(const perp_model *model, const double *q, const double *dq,
                             double *out)
{
  perp_model_qdot(model, q, dq, out);
}

/* ---- one evaluation ---- */

static perp_ode_answer smooth_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  smooth *work = user;
  (void)intermediate;
  return work->sys.deriv(work->sys.user, t, h, q, v, true, qdot, a);
}

static void smooth_residual(void *user, const perp_model *model, int wrt, double eps,
                            const double *q, const double *v, double *r)
{
  smooth *work = user;
  perp_constrained system = *work->k;
  system.model = model;
  system.e = &work->eval;
  system.c = work->c;
  perp_eval_at(&work->eval, model, work->t, q);
  perp_eval_forces(&work->eval, model, work->t, v, true, work->f);
  if (perp_derivative_acts(work->d, wrt, PERP_GRADIENT_FORCE))
    work->f[work->d->wrt[wrt].index] += eps;
  perp_eval_impulse(&work->eval, model, work->t, 0, work->x, r);
  for (int i = 0; i < model->nv; i++) r[i] -= work->f[i];
  if (model->m == 0) return;
  perp_blocks_Jt(&work->eval.blocks, -1, work->lambda, r);
  perp_joints_bias(model, &work->eval, v, work->c);
  for (int i = 0; i < model->m; i++) work->c[i] = -work->c[i];
  perp_constrained_feedback(&system, PERP_LEVEL_ACCELERATION, work->h, v);
  double *r2 = r + model->nv;
  perp_blocks_J(&work->eval.blocks, 1, work->x, r2);
  for (int i = 0; i < model->m; i++)
    r2[i] += (work->eval.blocks.s != NULL ? work->eval.blocks.s[i] * work->lambda[i] : 0) -
             work->c[i];
}

static bool smooth_derivative(void *user, double t, double h, const double *q, const double *v,
                              const double *a, const double *dq, const double *dv, double *dqdot,
                              double *da)
{
  smooth *work = user;
  const perp_model *model = work->model;
  const perp_derivative_stage stage = { .k = work->k,
                                        .q = q,
                                        .v = v,
                                        .dq = dq,
                                        .dv = dv,
                                        .flat = true,
                                        .residual = smooth_residual,
                                        .user = work };
  work->t = t;
  work->h = h;
  memcpy(work->x, a, (size_t)model->nv * sizeof *a);
  memcpy(work->lambda, work->k->lambda, (size_t)model->m * sizeof *work->lambda);
  if (!perp_derivative_solve(work->ctx, work->d, &stage, &work->status)) return false;
  memcpy(da, work->d->x, (size_t)model->nv * (size_t)work->d->n * sizeof *da);
  for (int j = 0; j < work->d->n; j++) {
    double *out = dqdot + model->nq * j;
    const double *x = dq + model->nq * j;
    perp_model_qdot(model, q, dv + model->nv * j, out);
    for (int body = 0; body < model->n_bodies && model->dim == 3; body++) { /* N is linear in q */
      double rate[4];
      perp_quat_rate(x + 7 * body + 3, v + 6 * body + 3, rate);
      for (int i = 0; i < 4; i++) out[7 * body + 3 + i] += rate[i];
    }
  }
  return true;
}

/* ---- projections ---- */

static void smooth_projection(void *user, const perp_model *model, int j, double eps,
                              const double *q, const double *v, double *r)
{
  smooth *work = user;
  double *r2 = r + model->nv;
  (void)j, (void)eps;
  perp_eval_at(&work->eval, model, work->t, q);
  perp_eval_impulse(&work->eval, model, work->t, 0, work->x, r);
  perp_blocks_Jt(&work->eval.blocks, -1, work->lambda, r);
  if (work->velocity) {
    perp_blocks_J(&work->eval.blocks, 1, v, r2);
    for (int i = 0; model->driven && i < model->m; i++) r2[i] += work->eval.Ct[i];
  } else {
    memcpy(r2, work->eval.C, (size_t)model->m * sizeof *r2);
  }
  perp_model_rigid_rows(model, r2);
  perp_blocks_J(&work->eval.blocks, 1, work->x, r2);
  for (int i = 0; work->eval.blocks.s != NULL && i < model->m; i++)
    r2[i] += work->eval.blocks.s[i] * work->lambda[i];
}

/* x of a projection at work->q, work->v, and the derivatives of it, d->x.  False: there is none. */
static bool smooth_project(smooth *work, bool velocity, double *off)
{
  perp_constrained *system = work->k;
  const perp_model *model = work->model;
  const perp_derivative_stage stage = { .k = system,
                                        .q = work->q,
                                        .v = work->v,
                                        .dq = work->d->dq,
                                        .dv = work->d->dv,
                                        .residual = smooth_projection,
                                        .user = work };
  work->velocity = velocity;
  perp_constrained_at(system, work->t, work->q);
  if (velocity) {
    perp_constrained_rate(system, work->v, system->c);
    perp_model_rigid_rows(model, system->c);
  } else {
    perp_constrained_error(system, system->c);
  }
  *off = perp_worst(model->m, system->c);
  for (int i = 0; i < model->m; i++) system->c[i] = -system->c[i];
  memset(system->f, 0, (size_t)model->nv * sizeof *system->f);
  memset(system->lambda, 0, (size_t)model->m * sizeof *system->lambda);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, 1, system->zeros)) return false;
  memcpy(work->x, system->a, (size_t)model->nv * sizeof *work->x);
  memcpy(work->lambda, system->lambda, (size_t)model->m * sizeof *work->lambda);
  return perp_derivative_solve(work->ctx, work->d, &stage, &work->status);
}

/* From s->q, s->v, on: the columns of what the stabilization makes of them.  A state that is on its
 * constraints already is not moved, but those beside it are: the first pass counts. */
static bool smooth_post(smooth *s)
{
  perp_derivative *d = s->d;
  const perp_model *m = s->model;
  const size_t nv = (size_t)m->nv;
  double off;
  for (int pass = 0; pass < s->passes.position; pass++) {
    if (!smooth_project(s, false, &off)) return false;
    if (pass > 0 && off <= s->passes.tol) break;
    perp_model_retract(m, s->q, s->x, s->end);
    for (size_t j = 0; j < (size_t)d->n; j++)
      perp_derivative_move(d, false, s->q, 1, s->x, d->x + nv * j, s->end, d->dq + nv * j);
    memcpy(s->q, s->end, (size_t)m->nq * sizeof *s->q);
  }
  if (!s->passes.velocity) return true;
  if (!smooth_project(s, true, &off)) return false;
  for (size_t i = 0; i < nv * (size_t)d->n; i++) d->dv[i] += d->x[i];
  return true;
}

/* ---- life ---- */

static void smooth_layout(void *ws, perp_arena *arena)
{
  smooth *work = ws;
  perp_eval_layout(&work->eval, work->model, arena);
  PERP_DOUBLES(arena, work->model->nv, &work->x, &work->f, &work->v);
  PERP_DOUBLES(arena, work->model->m, &work->lambda, &work->c);
  PERP_DOUBLES(arena, work->model->nq, &work->q, &work->end);
}

static void smooth_destroy(void *own)
{
  smooth *work = own;
  perp_variational_destroy(work->steps);
  free(work);
}

perp_status perp_derivative_smooth_create(perp_ctx *ctx, perp_derivative *derivative,
                                          perp_constrained *system, const perp_spec *method,
                                          const perp_ode_sys *sys)
{
  smooth like = { .model = system->model, .d = derivative, .k = system, .sys = *sys };
  void *ws;
  derivative->model = system->model;
  if (perp_constrained_flows(system) ||
      (perp_constrained_projects(system) &&
       (system->stab->projects == NULL || !system->stab->projects(system->stab_ws, &like.passes))))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps need a stabilization by feedback or by projections with "
                     "the masses and without a limit (--stab post:velocity=true): '%s' is none",
                     system->stab->d.name);
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, smooth_layout, &ws));
  smooth *work = ws;
  derivative->own = work;
  derivative->own_destroy = smooth_destroy;
  perp_eval_init(&work->eval, system->model);
  if (system->model->soft.springs) work->eval.blocks.s = system->S;
  perp_ode_sys mine = *sys;
  mine.user = work;
  mine.deriv = smooth_deriv;
  PERP_TRY(
      perp_variational_create(ctx, method, &mine, derivative->n, smooth_derivative, &work->steps));
  return perp_derivative_room(ctx, derivative, 0, 0);
}

/* ---- steps ---- */

static perp_status smooth_end(smooth *work, bool good)
{
  perp_constrained_put_back(work->k);
  if (!good && work->status == PERP_OK) work->d->verdict = PERP_GRADIENT_NONE;
  return work->status;
}

static void smooth_begin(smooth *work, perp_ctx *ctx)
{
  work->ctx = work->k->ctx = ctx;
  work->status = PERP_OK;
  perp_constrained_keep(work->k);
}

perp_status perp_derivative_smooth_reset(perp_ctx *ctx, perp_derivative *derivative)
{
  smooth *work = derivative->own;
  const perp_model *model = work->model;
  if (model->m == 0 || !perp_constrained_projects(work->k)) return PERP_OK;
  smooth_begin(work, ctx);
  work->t = derivative->t;
  memcpy(work->q, derivative->q, (size_t)model->nq * sizeof *work->q);
  memcpy(work->v, derivative->v, (size_t)model->nv * sizeof *work->v);
  return smooth_end(work, smooth_post(work));
}

static bool smooth_whole_step(smooth *work)
{
  perp_derivative *derivative = work->d;
  const perp_model *model = work->model;
  const size_t nq = (size_t)model->nq, nv = (size_t)model->nv, n = (size_t)derivative->n;
  double *dq = perp_variational_dq(work->steps), *dv = perp_variational_dv(work->steps);
  const double *q, *v;
  for (size_t j = 0; j < n; j++)
    perp_derivative_numbers(model, derivative->q, derivative->dq + nv * j, dq + nq * j);
  memcpy(dv, derivative->dv, nv * n * sizeof *dv);
  if (perp_variational_step(work->steps, derivative->t, derivative->t_end - derivative->t,
                            derivative->q, derivative->v, &q, &v) != PERP_ODE_OK)
    return false;
  for (size_t j = 0; j < n; j++)
    perp_derivative_tangent(model, q, dq + nq * j, derivative->dq + nv * j);
  memcpy(derivative->dv, dv, nv * n * sizeof *dv);
  if (model->m == 0 || !perp_constrained_projects(work->k)) return true;
  work->t = derivative->t_end;
  memcpy(work->q, q, nq * sizeof *q);
  memcpy(work->v, v, nv * sizeof *v);
  return smooth_post(work);
}

perp_status perp_derivative_smooth_step(perp_ctx *ctx, perp_derivative *derivative)
{
  smooth *work = derivative->own;
  smooth_begin(work, ctx);
  return smooth_end(work, smooth_whole_step(work));
}
