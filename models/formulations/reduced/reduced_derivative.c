/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of steps of a tree in joint coordinates: the method steps the variational equation
 * (variational.c).  Accelerations of joint coordinates are a function without multipliers, that of
 * the articulated-body algorithm; their derivative along a column is a central difference of order
 * 4 of it.  Between the coordinates of the model and those of the joints columns are differences of
 * that kind of the maps, so that a column off the joints is projected on them as perp_sim_restart
 * does it. */
#include "models/formulations/reduced/reduced_derivative.h"

#include "models/stepping/variational.h"

#include <stdlib.h>
#include <string.h>

static const double MOVE = 4e-4; /* as in derivative.c */

typedef struct reduced_derivative {
  perp_derivative *d;
  perp_reduced_lent of;
  perp_variational *steps;
  int nq, nu;
  double *q, *u;        /* [nq], [nu] at the start of the step */
  double *cq, *cu;      /* [nq n], [nu n] columns */
  double *qa, *ua;      /* beside them */
  double *rate, *a;     /* [nq], [nu] */
  double *qm, *vm, *qe; /* [model nq], [model nv], [model nq] */
  double *push;         /* [model nv] */
} reduced_derivative;

static void reduced_derivative_layout(void *ws, perp_arena *arena)
{
  reduced_derivative *derivative = ws;
  const size_t n = (size_t)derivative->d->n;
  PERP_DOUBLES(arena, derivative->nq, &derivative->q, &derivative->qa, &derivative->rate);
  PERP_DOUBLES(arena, derivative->nu, &derivative->u, &derivative->ua, &derivative->a);
  derivative->cq = PERP_CARVE(arena, double, (size_t)derivative->nq *n);
  derivative->cu = PERP_CARVE(arena, double, (size_t)derivative->nu *n);
  PERP_DOUBLES(arena, derivative->d->model->nq, &derivative->qm, &derivative->qe);
  PERP_DOUBLES(arena, derivative->d->model->nv, &derivative->vm, &derivative->push);
}

/* ---- accelerations ---- */

/* The tree has the numbers of this model. */
static void reduced_derivative_model(reduced_derivative *s, const perp_model *model)
{
  perp_reduced_tree *tree = s->of.tree;
  tree->model = model;
  for (int i = 0; i < tree->n; i++) {
    perp_reduced_node *node = &tree->node[i];
    const perp_mass *def = &s->d->model->body_def[node->body].mass;
    const double part = model->inertia[node->body].mass / s->d->model->inertia[node->body].mass;
    node->mass = part == 1 ? def->mass : part * def->mass;
    const double *I = def->inertia;
    for (int k = 0; k < 9; k++)
      node->inertia[k] = tree->dim == 3 ? part * I[k] : k % 4 == 0 ? part * I[8] : 0;
  }
}

static double reduced_derivative_eps(const reduced_derivative *s, int j, const double *dq,
                                     const double *du)
{
  const perp_derivative *d = s->d;
  const double length = fmin(1, d->length), scale = perp_derivative_eps(d, j, NULL, NULL);
  double most = scale > 0 ? MOVE / scale : 0;
  for (int i = 0; i < s->nq; i++) most = fmax(most, fabs(dq[i]) / length);
  for (int i = 0; i < s->nu; i++) most = fmax(most, fabs(du[i]) * length / d->speed);
  return most > 0 ? MOVE / most : 0;
}

/* The derivative of qdot and udot along column j. */
static bool reduced_derivative_along(reduced_derivative *s, int j, double t, double h,
                                     const double *q, const double *u, const double *dq,
                                     const double *du, double *dqdot, double *da)
{
  perp_derivative *d = s->d;
  const bool forced = perp_derivative_acts(d, j, PERP_GRADIENT_FORCE);
  double eps = reduced_derivative_eps(s, j, dq, du);
  if (forced && eps == 0) eps = 1;
  memset(dqdot, 0, (size_t)s->nq * sizeof *dqdot);
  memset(da, 0, (size_t)s->nu * sizeof *da);
  bool good = true;
  for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
    const double by = eps * perp_derivative_at[p], weight = perp_derivative_weight[p] / eps;
    for (int i = 0; i < s->nq; i++) s->qa[i] = q[i] + by * dq[i];
    for (int i = 0; i < s->nu; i++) s->ua[i] = u[i] + by * du[i];
    reduced_derivative_model(s, perp_derivative_model(d, j, by));
    if (forced) {
      s->push[d->wrt[j].index] = by;
      *s->of.push = s->push;
    }
    good &= s->of.sys->deriv(s->of.sys->user, t, h, s->qa, s->ua, true, s->rate, s->a) ==
            PERP_ODE_OK;
    *s->of.push = NULL;
    for (int i = 0; i < s->nq; i++) dqdot[i] += weight * s->rate[i];
    for (int i = 0; i < s->nu; i++) da[i] += weight * s->a[i];
  }
  if (forced) s->push[d->wrt[j].index] = 0;
  reduced_derivative_model(s, d->model);
  return good;
}

static bool reduced_derivative_fn(void *user, double t, double h, const double *q, const double *u,
                                  const double *a, const double *dq, const double *du,
                                  double *dqdot, double *da)
{
  reduced_derivative *derivative = user;
  bool good = true;
  (void)a;
  for (int j = 0; j < derivative->d->n; j++)
    good &= reduced_derivative_along(derivative, j, t, h, q, u, dq + derivative->nq * j,
                                     du + derivative->nu * j, dqdot + derivative->nq * j,
                                     da + derivative->nu * j);
  return good;
}

static perp_ode_answer reduced_derivative_deriv(void *user, double t, double h, const double *q,
                                                const double *u, bool intermediate, double *qdot,
                                                double *a)
{
  reduced_derivative *derivative = user;
  (void)intermediate;
  return derivative->of.sys->deriv(derivative->of.sys->user, t, h, q, u, true, qdot, a);
}

static void reduced_derivative_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_reduced_retract(((reduced_derivative *)user)->of.tree, q, dq, q_out);
}

static void reduced_derivative_project(void *user, double *q)
{
  perp_reduced_project(((reduced_derivative *)user)->of.tree, q);
}

/* ---- coordinates ---- */

static void reduced_derivative_to_joints(reduced_derivative *s)
{
  perp_derivative *d = s->d;
  const perp_model *m = d->model;
  memset(s->cq, 0, (size_t)s->nq * (size_t)d->n * sizeof *s->cq);
  memset(s->cu, 0, (size_t)s->nu * (size_t)d->n * sizeof *s->cu);
  for (int j = 0; j < d->n; j++) {
    const double *dq = d->dq + m->nv * j, *dv = d->dv + m->nv * j;
    double most = 0;
    for (int i = 0; i < m->nv; i++) most = fmax(most, fmax(fabs(dq[i]), fabs(dv[i])));
    const double eps = most > 0 ? MOVE * fmin(1, d->length) / most : 0;
    for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
      const double by = eps * perp_derivative_at[p], weight = perp_derivative_weight[p] / eps;
      for (int i = 0; i < m->nv; i++) d->x_at[i] = by * dq[i];
      perp_model_retract(m, d->q, d->x_at, s->qm);
      for (int i = 0; i < m->nv; i++) s->vm[i] = d->v[i] + by * dv[i];
      perp_reduced_from_model(s->of.tree, s->qm, s->vm, s->qa, s->ua);
      for (int i = 0; i < s->nq; i++) s->cq[s->nq * j + i] += weight * s->qa[i];
      for (int i = 0; i < s->nu; i++) s->cu[s->nu * j + i] += weight * s->ua[i];
    }
  }
}

static void reduced_derivative_to_model(reduced_derivative *derivative, const double *q,
                                        const double *u)
{
  perp_derivative *d = derivative->d;
  const perp_model *model = d->model;
  perp_reduced_kinematics(derivative->of.tree, q, u);
  perp_reduced_to_model(derivative->of.tree, derivative->qe, derivative->vm);
  for (int j = 0; j < d->n; j++) {
    const double *cq = derivative->cq + derivative->nq * j,
                 *cu = derivative->cu + derivative->nu * j,
                 eps = reduced_derivative_eps(derivative, j, cq, cu);
    double *dq = d->dq + model->nv * j, *dv = d->dv + model->nv * j;
    memset(dq, 0, (size_t)model->nv * sizeof *dq);
    memset(dv, 0, (size_t)model->nv * sizeof *dv);
    for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
      const double by = eps * perp_derivative_at[p], weight = perp_derivative_weight[p] / eps;
      for (int i = 0; i < derivative->nq; i++) derivative->qa[i] = q[i] + by * cq[i];
      for (int i = 0; i < derivative->nu; i++) derivative->ua[i] = u[i] + by * cu[i];
      perp_reduced_project(derivative->of.tree, derivative->qa);
      perp_reduced_kinematics(derivative->of.tree, derivative->qa, derivative->ua);
      perp_reduced_to_model(derivative->of.tree, derivative->qm, derivative->vm);
      perp_model_difference(model, derivative->qe, derivative->qm, d->x_at);
      for (int i = 0; i < model->nv; i++)
        dq[i] += weight * d->x_at[i], dv[i] += weight * derivative->vm[i];
    }
  }
}

/* ---- life and steps ---- */

static void reduced_derivative_destroy(void *own)
{
  reduced_derivative *derivative = own;
  perp_variational_destroy(derivative->steps);
  free(derivative);
}

perp_status perp_reduced_derivative_create(perp_ctx *ctx, const perp_reduced_lent *lent,
                                           perp_derivative *d)
{
  void *ws;
  if (lent->tree->cut_rows > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps of formulation reduced need a tree of joints that are "
                     "coordinates: use --formulation acceleration for loops");
  reduced_derivative like = { .d = d, .of = *lent, .nq = lent->tree->nq, .nu = lent->tree->nu };
  d->model = lent->tree->model;
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, reduced_derivative_layout,
                                 &ws));
  reduced_derivative *s = ws;
  d->own = s;
  d->own_destroy = reduced_derivative_destroy;
  memset(s->push, 0, (size_t)d->model->nv * sizeof *s->push);
  const perp_ode_sys sys = { .nq = s->nq,
                             .nv = s->nu,
                             .caps = lent->sys->caps,
                             .user = s,
                             .deriv = reduced_derivative_deriv,
                             .retract = reduced_derivative_retract,
                             .project = reduced_derivative_project,
                             .canonical = lent->sys->canonical };
  return perp_variational_create(ctx, perp_ode_method(lent->ode), &sys, d->n, reduced_derivative_fn,
                                 &s->steps);
}

void perp_reduced_derivative_reset(perp_derivative *derivative)
{
  reduced_derivative_to_joints(derivative->own);
}

void perp_reduced_derivative_before(perp_derivative *d)
{
  reduced_derivative *s = d->own;
  memcpy(s->q, perp_ode_q(s->of.ode), (size_t)s->nq * sizeof *s->q);
  memcpy(s->u, perp_ode_v(s->of.ode), (size_t)s->nu * sizeof *s->u);
}

void perp_reduced_derivative_step(perp_derivative *d)
{
  reduced_derivative *s = d->own;
  const size_t columns_q = (size_t)s->nq * (size_t)d->n * sizeof *s->cq,
               columns_u = (size_t)s->nu * (size_t)d->n * sizeof *s->cu;
  const double *q, *u;
  memcpy(perp_variational_dq(s->steps), s->cq, columns_q);
  memcpy(perp_variational_dv(s->steps), s->cu, columns_u);
  if (perp_variational_step(s->steps, d->t, d->t_end - d->t, s->q, s->u, &q, &u) != PERP_ODE_OK) {
    perp_derivative_worse(d, PERP_GRADIENT_NONE);
    return;
  }
  memcpy(s->cq, perp_variational_dq(s->steps), columns_q);
  memcpy(s->cu, perp_variational_dv(s->steps), columns_u);
  reduced_derivative_to_model(s, q, u);
}
