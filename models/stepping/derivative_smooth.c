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

void perp_derivative_tangent(const perp_model *m, const double *q, const double *dq, double *out)
{
  if (m->dim == 2) {
    memcpy(out, dq, (size_t)m->nv * sizeof *out);
    return;
  }
  for (int b = 0; b < m->n_bodies; b++) {
    const double *p = q + 7 * b + 3, back[4] = { p[0], -p[1], -p[2], -p[3] };
    double turn[4];
    perp_quat_product(back, dq + 7 * b + 3, turn);
    for (int i = 0; i < 3; i++) {
      out[6 * b + i] = dq[7 * b + i];
      out[6 * b + 3 + i] = 2 * turn[1 + i];
    }
  }
}

void perp_derivative_numbers(const perp_model *m, const double *q, const double *dq, double *out)
{
  perp_model_qdot(m, q, dq, out);
}

/* ---- one evaluation ---- */

static perp_ode_answer smooth_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  smooth *s = user;
  (void)intermediate;
  return s->sys.deriv(s->sys.user, t, h, q, v, true, qdot, a);
}

static void smooth_residual(void *user, const perp_model *model, int j, double eps, const double *q,
                            const double *v, double *r)
{
  smooth *s = user;
  perp_constrained k = *s->k;
  k.model = model;
  k.e = &s->eval;
  k.c = s->c;
  perp_eval_at(&s->eval, model, s->t, q);
  perp_eval_forces(&s->eval, model, s->t, v, true, s->f);
  if (perp_derivative_acts(s->d, j, PERP_GRADIENT_FORCE)) s->f[s->d->wrt[j].index] += eps;
  perp_eval_impulse(&s->eval, model, s->t, 0, s->x, r);
  for (int i = 0; i < model->nv; i++) r[i] -= s->f[i];
  if (model->m == 0) return;
  perp_blocks_Jt(&s->eval.blocks, -1, s->lambda, r);
  perp_joints_bias(model, &s->eval, v, s->c);
  for (int i = 0; i < model->m; i++) s->c[i] = -s->c[i];
  perp_constrained_feedback(&k, PERP_LEVEL_ACCELERATION, s->h, v);
  double *r2 = r + model->nv;
  perp_blocks_J(&s->eval.blocks, 1, s->x, r2);
  for (int i = 0; i < model->m; i++)
    r2[i] += (s->eval.blocks.s != NULL ? s->eval.blocks.s[i] * s->lambda[i] : 0) - s->c[i];
}

static bool smooth_derivative(void *user, double t, double h, const double *q, const double *v,
                              const double *a, const double *dq, const double *dv, double *dqdot,
                              double *da)
{
  smooth *s = user;
  const perp_model *m = s->model;
  const perp_derivative_stage stage = { .k = s->k,
                                        .q = q,
                                        .v = v,
                                        .dq = dq,
                                        .dv = dv,
                                        .flat = true,
                                        .residual = smooth_residual,
                                        .user = s };
  s->t = t;
  s->h = h;
  memcpy(s->x, a, (size_t)m->nv * sizeof *a);
  memcpy(s->lambda, s->k->lambda, (size_t)m->m * sizeof *s->lambda);
  if (!perp_derivative_solve(s->ctx, s->d, &stage, &s->status)) return false;
  memcpy(da, s->d->x, (size_t)m->nv * (size_t)s->d->n * sizeof *da);
  for (int j = 0; j < s->d->n; j++) {
    double *out = dqdot + m->nq * j;
    const double *x = dq + m->nq * j;
    perp_model_qdot(m, q, dv + m->nv * j, out);
    for (int b = 0; b < m->n_bodies && m->dim == 3; b++) { /* N is linear in q */
      double rate[4];
      perp_quat_rate(x + 7 * b + 3, v + 6 * b + 3, rate);
      for (int i = 0; i < 4; i++) out[7 * b + 3 + i] += rate[i];
    }
  }
  return true;
}

/* ---- projections ---- */

static void smooth_projection(void *user, const perp_model *model, int j, double eps,
                              const double *q, const double *v, double *r)
{
  smooth *s = user;
  double *r2 = r + model->nv;
  (void)j, (void)eps;
  perp_eval_at(&s->eval, model, s->t, q);
  perp_eval_impulse(&s->eval, model, s->t, 0, s->x, r);
  perp_blocks_Jt(&s->eval.blocks, -1, s->lambda, r);
  if (s->velocity) {
    perp_blocks_J(&s->eval.blocks, 1, v, r2);
    for (int i = 0; model->driven && i < model->m; i++) r2[i] += s->eval.Ct[i];
  } else {
    memcpy(r2, s->eval.C, (size_t)model->m * sizeof *r2);
  }
  perp_model_rigid_rows(model, r2);
  perp_blocks_J(&s->eval.blocks, 1, s->x, r2);
  for (int i = 0; s->eval.blocks.s != NULL && i < model->m; i++)
    r2[i] += s->eval.blocks.s[i] * s->lambda[i];
}

/* x of a projection at s->q, s->v, and the derivatives of it, d->x.  False: there is none. */
static bool smooth_project(smooth *s, bool velocity, double *off)
{
  perp_constrained *k = s->k;
  const perp_model *m = s->model;
  const perp_derivative_stage stage = { .k = k,
                                        .q = s->q,
                                        .v = s->v,
                                        .dq = s->d->dq,
                                        .dv = s->d->dv,
                                        .residual = smooth_projection,
                                        .user = s };
  s->velocity = velocity;
  perp_constrained_at(k, s->t, s->q);
  if (velocity) {
    perp_constrained_rate(k, s->v, k->c);
    perp_model_rigid_rows(m, k->c);
  } else {
    perp_constrained_error(k, k->c);
  }
  *off = perp_worst(m->m, k->c);
  for (int i = 0; i < m->m; i++) k->c[i] = -k->c[i];
  memset(k->f, 0, (size_t)m->nv * sizeof *k->f);
  memset(k->lambda, 0, (size_t)m->m * sizeof *k->lambda);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, 1, k->zeros)) return false;
  memcpy(s->x, k->a, (size_t)m->nv * sizeof *s->x);
  memcpy(s->lambda, k->lambda, (size_t)m->m * sizeof *s->lambda);
  return perp_derivative_solve(s->ctx, s->d, &stage, &s->status);
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

static void smooth_layout(void *ws, perp_arena *a)
{
  smooth *s = ws;
  perp_eval_layout(&s->eval, s->model, a);
  PERP_DOUBLES(a, s->model->nv, &s->x, &s->f, &s->v);
  PERP_DOUBLES(a, s->model->m, &s->lambda, &s->c);
  PERP_DOUBLES(a, s->model->nq, &s->q, &s->end);
}

static void smooth_destroy(void *own)
{
  smooth *s = own;
  perp_variational_destroy(s->steps);
  free(s);
}

perp_status perp_derivative_smooth_create(perp_ctx *ctx, perp_derivative *d, perp_constrained *k,
                                          const perp_spec *method, const perp_ode_sys *sys)
{
  smooth like = { .model = k->model, .d = d, .k = k, .sys = *sys };
  void *ws;
  d->model = k->model;
  if (perp_constrained_flows(k) ||
      (perp_constrained_projects(k) &&
       (k->stab->projects == NULL || !k->stab->projects(k->stab_ws, &like.passes))))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps need a stabilization by feedback or by projections with "
                     "the masses and without a limit (--stab post:velocity=true): '%s' is none",
                     k->stab->d.name);
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, smooth_layout, &ws));
  smooth *s = ws;
  d->own = s;
  d->own_destroy = smooth_destroy;
  perp_eval_init(&s->eval, k->model);
  if (k->model->soft.springs) s->eval.blocks.s = k->S;
  perp_ode_sys mine = *sys;
  mine.user = s;
  mine.deriv = smooth_deriv;
  PERP_TRY(perp_variational_create(ctx, method, &mine, d->n, smooth_derivative, &s->steps));
  return perp_derivative_room(ctx, d, 0, 0);
}

/* ---- steps ---- */

static perp_status smooth_end(smooth *s, bool good)
{
  perp_constrained_put_back(s->k);
  if (!good && s->status == PERP_OK) s->d->verdict = PERP_GRADIENT_NONE;
  return s->status;
}

static void smooth_begin(smooth *s, perp_ctx *ctx)
{
  s->ctx = s->k->ctx = ctx;
  s->status = PERP_OK;
  perp_constrained_keep(s->k);
}

perp_status perp_derivative_smooth_reset(perp_ctx *ctx, perp_derivative *d)
{
  smooth *s = d->own;
  const perp_model *m = s->model;
  if (m->m == 0 || !perp_constrained_projects(s->k)) return PERP_OK;
  smooth_begin(s, ctx);
  s->t = d->t;
  memcpy(s->q, d->q, (size_t)m->nq * sizeof *s->q);
  memcpy(s->v, d->v, (size_t)m->nv * sizeof *s->v);
  return smooth_end(s, smooth_post(s));
}

static bool smooth_whole_step(smooth *s)
{
  perp_derivative *d = s->d;
  const perp_model *m = s->model;
  const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, n = (size_t)d->n;
  double *dq = perp_variational_dq(s->steps), *dv = perp_variational_dv(s->steps);
  const double *q, *v;
  for (size_t j = 0; j < n; j++) perp_derivative_numbers(m, d->q, d->dq + nv * j, dq + nq * j);
  memcpy(dv, d->dv, nv * n * sizeof *dv);
  if (perp_variational_step(s->steps, d->t, d->t_end - d->t, d->q, d->v, &q, &v) != PERP_ODE_OK)
    return false;
  for (size_t j = 0; j < n; j++) perp_derivative_tangent(m, q, dq + nq * j, d->dq + nv * j);
  memcpy(d->dv, dv, nv * n * sizeof *dv);
  if (m->m == 0 || !perp_constrained_projects(s->k)) return true;
  s->t = d->t_end;
  memcpy(s->q, q, nq * sizeof *q);
  memcpy(s->v, v, nv * sizeof *v);
  return smooth_post(s);
}

perp_status perp_derivative_smooth_step(perp_ctx *ctx, perp_derivative *d)
{
  smooth *s = d->own;
  smooth_begin(s, ctx);
  return smooth_end(s, smooth_whole_step(s));
}
