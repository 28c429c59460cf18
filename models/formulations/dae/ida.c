/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IDA of SUNDIALS (BDF of order 1 to 5 for F(t, y, y') = 0, Hindmarsh et al. 2005) for the
 * equations of constrained motion,
 *
 *      q' = N(q) (v + M^-1 J' mu),   v' = M^-1 (f + J' lambda),   0 = J v,   0 = C(q),
 *
 * of index 2 (Gear, Gupta and Leimkuhler 1985), or of index 1,
 *
 *      q' = N(q) v,   v' = M^-1 (f + J' lambda),   0 = J v' + J' v,
 *
 * which drifts off C = 0 as its errors let it.  IDA chooses its orders and steps, and its
 * interpolant is the dense output.  perp gives it a consistent start: lambda and v' of the KKT
 * system at the state, mu = 0; and the length of the first step, for which IDA has no rule in
 * equations of index 2.
 *
 * The Jacobian dF/dy + c dF/dy' is by differences on the graph of the model, a few columns at a
 * time, and its factors are as sparse as that (local.h): IDA's own would be dense.  The numbers of
 * q are those of the model; of a quaternion that is off its unit by an error, the model gets the
 * unit, and so does who asks.
 *
 * Tolerances: e is held to tol times the size of the model, one radian, the largest speed so far,
 * one for translations and one for rotations; with atol to tol |y_i| + atol.  IDA's norm is the
 * mean of squares. Multipliers are not held to it.
 *
 * Dependent rows: 0 = J v + s (lambda - lambda_0) and 0 = C + s mu with s = 1e-9 h J M^-1 J', h the
 * first step and lambda_0 the multipliers of the restart; index 1 without h.  Where J loses rank
 * multipliers have a peak, at which IDA's error test may end the motion: PERP_STEP_TOO_SMALL, or
 * PERP_MAX_ITER of the iteration.
 *
 * Cost: an evaluation of the model per iteration, and as many as the nodes of the graph have
 * colours, times their unknowns, for a Jacobian.  No allocation, but for new pivots of wide models
 * (local.h). */
#include "models/stepping/stepper.h"
#include "models/stepping/implicit_step.h"
#include "solvers/ode/peers/sundials.h"

#include <float.h>
#include <ida/ida.h>
#include <ida/ida_ls.h>
#include <string.h>

struct opts {
  double tol, atol, h_min, h_max;
  int index;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, index, 2, 1, 2,
           "Index of the DAE. 2: stabilized (Gear, Gupta, Leimkuhler). 1: constraints on "
           "accelerations."),
  PERP_REAL(struct opts, tol, 1e-8, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Error tolerance per step, relative to the size of the model, to one radian and to the "
            "speed."),
  PERP_REAL(struct opts, atol, 0, 0, HUGE_VAL, 0, "",
            "Absolute error tolerance; tol is then relative to each component. 0: tol alone, "
            "relative to the size of the model."),
  PERP_REAL(struct opts, h_min, 1e-14, 0, HUGE_VAL, PERP_OPEN_MIN, "s",
            "Shortest step. The run ends when a shorter one would be needed."),
  PERP_REAL(struct opts, h_max, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "s", "Longest step."),
  PERP_OPTIONS_END
};

enum { PART_LAMBDA, PART_MU }; /* of the joints; those of a body are its q and its v */
static const double SOFT = 1e-9;

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit graph; /* its parts; it solves nothing */
  perp_local_lu lu;
  SUNContext context;
  void *mem;
  N_Vector y, yp;
  SUNMatrix A;
  SUNLinearSolver linear;
  bool fresh, dense;       /* no history; there is a last step */
  double t_start;          /* of the last step */
  double h;                /* that is being made */
  double speed[2];         /* largest velocities so far, of translation and rotation */
  double *J;               /* the matrix, its factors */
  double *step, *scale;    /* [graph.n] of the differences, of the tolerance */
  double *q, *unit, *qdot; /* [nq] */
  double *v, *accel, *x;   /* [nv] */
  double *lambda, *mu, *row;
  double *force, *about, *soft; /* [m] lambda at the state and at the restart; s */
  const double *at, *ap;        /* where the Jacobian is asked for: y and y', c */
  double t_at, c_at, *moved;
} workspace;

/* ---- the parts of the bodies ---- */

static void ida_get(const workspace *w, const double *x, double *q, double *v)
{
  const perp_model *m = w->s.k.model;
  for (int b = 0; b < m->n_bodies; b++) {
    const double *part = x + w->graph.local.first[b];
    if (q != NULL) memcpy(q + b * m->nqb, part, (size_t)m->nqb * sizeof *q);
    if (v != NULL) memcpy(v + b * m->nvb, part + m->nqb, (size_t)m->nvb * sizeof *v);
  }
}

static void ida_put(const workspace *w, const double *q, const double *v, double *x)
{
  const perp_model *m = w->s.k.model;
  for (int b = 0; b < m->n_bodies; b++) {
    double *part = x + w->graph.local.first[b];
    memcpy(part, q + b * m->nqb, (size_t)m->nqb * sizeof *q);
    memcpy(part + m->nqb, v + b * m->nvb, (size_t)m->nvb * sizeof *v);
  }
}

/* ---- the equations ---- */

static bool ida_f(workspace *w, double t, const double *y, const double *yp, double *r)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  const perp_implicit *g = &w->graph;
  ida_get(w, y, w->q, w->v);
  memcpy(w->unit, w->q, (size_t)model->nq * sizeof *w->q);
  perp_model_project(model, w->unit);
  if (!perp_all_finite(model->nq, w->unit)) return false;
  perp_constrained_at(k, t, w->unit);
  w->s.grid.count.rhs++;

  perp_implicit_get_row(g, y, PART_LAMBDA, w->lambda);
  perp_eval_forces(k->e, model, t, w->v, true, k->f);
  if (m > 0) perp_blocks_Jt(&k->e->blocks, 1, w->lambda, k->f);
  perp_blocks_Minv(&k->e->blocks, k->f, w->x);
  ida_get(w, yp, NULL, w->accel);
  if (w->o.index == 1) {
    perp_joints_bias(model, k->e, w->v, w->row);
    if (m > 0) perp_blocks_J(&k->e->blocks, 1, w->accel, w->row);
  } else {
    perp_constrained_rate(k, w->v, w->row);
  }
  for (int i = 0; i < m; i++) w->row[i] += w->soft[i] * (w->lambda[i] - w->about[i]);
  perp_implicit_put_row(g, PART_LAMBDA, w->row, r);
  for (int i = 0; i < nv; i++) w->accel[i] -= w->x[i];

  if (w->o.index == 2 && m > 0) {
    perp_implicit_get_row(g, y, PART_MU, w->mu);
    memset(k->f, 0, (size_t)nv * sizeof *k->f);
    perp_blocks_Jt(&k->e->blocks, 1, w->mu, k->f);
    perp_blocks_Minv(&k->e->blocks, k->f, w->x);
    for (int i = 0; i < nv; i++) w->v[i] += w->x[i];
    for (int i = 0; i < m; i++) w->row[i] = k->e->C[i] + w->soft[i] * w->mu[i];
    perp_implicit_put_row(g, PART_MU, w->row, r);
  }
  perp_model_qdot(model, w->q, w->v, w->qdot);
  ida_get(w, yp, w->q, NULL);
  for (int i = 0; i < model->nq; i++) w->q[i] -= w->qdot[i];
  ida_put(w, w->q, w->accel, r);
  return perp_all_finite(g->n, r);
}

static int ida_residual(realtype t, N_Vector y, N_Vector yp, N_Vector r, void *user)
{
  return ida_f(user, t, N_VGetArrayPointer(y), N_VGetArrayPointer(yp), N_VGetArrayPointer(r)) ? 0
                                                                                              : 1;
}

/* 1 / E_i; times what brings the mean over all unknowns to one over q and v */
static int ida_weights(N_Vector y, N_Vector weight, void *user)
{
  const workspace *w = user;
  const perp_model *m = w->s.k.model;
  const double *x = N_VGetArrayPointer(y), tol = w->o.tol, atol = w->o.atol;
  const double whole = sqrt(w->graph.n / (double)(m->nq + m->nv));
  double *e = N_VGetArrayPointer(weight);
  memset(e, 0, (size_t)w->graph.n * sizeof *e);
  for (int b = 0; b < m->n_bodies; b++)
    for (int i = 0; i < m->nqb + m->nvb; i++) {
      const int at = w->graph.local.first[b] + i;
      e[at] = whole / (atol > 0 ? tol * fabs(x[at]) + atol : tol * w->scale[at]);
    }
  return perp_all_finite(w->graph.n, e) ? 0 : -1;
}

/* ---- the matrix ---- */

static bool ida_moved(void *user, const double *y, double *r)
{
  workspace *w = user;
  for (int i = 0; i < w->graph.n; i++) w->moved[i] = w->ap[i] + w->c_at * (y[i] - w->at[i]);
  return ida_f(w, w->t_at, y, w->moved, r);
}

static int ida_jacobian(realtype t, realtype c, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix A,
                        void *user, N_Vector x1, N_Vector x2, N_Vector x3)
{
  workspace *w = user;
  (void)A, (void)x2, (void)x3;
  w->t_at = t;
  w->c_at = c;
  w->at = N_VGetArrayPointer(y);
  w->ap = N_VGetArrayPointer(yp);
  w->moved = N_VGetArrayPointer(x1);
  int64_t evaluations = 0; /* ida_f counts them */
  return perp_local_jacobian(&w->graph.local, ida_moved, w, w->at, N_VGetArrayPointer(r), w->step,
                             w->J, &evaluations)
             ? 0
             : 1;
}

static SUNMatrix_ID ida_matrix_id(SUNMatrix A)
{
  (void)A;
  return SUNMATRIX_CUSTOM;
}

static int ida_matrix_zero(SUNMatrix A)
{
  (void)A; /* ida_jacobian writes all of it */
  return 0;
}

static SUNLinearSolver_Type ida_linear_type(SUNLinearSolver S)
{
  (void)S;
  return SUNLINEARSOLVER_DIRECT;
}

static int ida_linear_setup(SUNLinearSolver S, SUNMatrix A)
{
  workspace *w = S->content;
  (void)A;
  w->s.k.count.factorizations++;
  return perp_local_factor(&w->graph.local, w->J, &w->lu) ? 0 : 1;
}

static int ida_linear_solve(SUNLinearSolver S, SUNMatrix A, N_Vector x, N_Vector b, realtype tol)
{
  workspace *w = S->content;
  (void)A, (void)tol;
  N_VScale(1, b, x);
  perp_local_solve(&w->graph.local, w->J, &w->lu, N_VGetArrayPointer(x));
  return 0;
}

/* ---- a step ---- */

/* Scales of the tolerance and steps of the differences, for a step h from the state. */
static void ida_levels(workspace *w)
{
  const perp_model *m = w->s.k.model;
  const double size = m->size > 0 ? m->size : 1, part = sqrt(DBL_EPSILON), h = w->h;
  double mass = 0;
  for (int b = 0; b < m->n_bodies; b++) {
    mass += m->inertia[b].mass / m->n_bodies;
    for (int i = 0; i < m->nvb; i++) {
      const int at = b * m->nvb + i;
      double *most = &w->speed[i >= m->dim];
      *most = fmax(*most, fabs(w->s.v[at]));
      if (w->fresh) *most = fmax(*most, h * fabs(w->accel[at]));
    }
  }
  for (int i = 0; i < w->graph.n; i++) w->step[i] = mass * size / (h * h) * part; /* linear */
  for (int b = 0; b < m->n_bodies; b++) {
    double *scale = w->scale + w->graph.local.first[b], *step = w->step + w->graph.local.first[b];
    for (int i = 0; i < m->nqb; i++) {
      scale[i] = i < m->dim ? size : m->dim == 3 ? 0.5 : 1; /* of a quaternion, half an angle */
      step[i] = part * scale[i];
    }
    for (int i = 0; i < m->nvb; i++) {
      const bool turns = i >= m->dim;
      const double slow = 1e-3 * (turns ? 1 : size) / h;
      scale[m->nqb + i] = w->speed[turns] > 0 ? w->speed[turns] : slow;
      step[m->nqb + i] = part * fmax(w->speed[turns], slow);
    }
  }
}

/* Consistent values at the state. */
static perp_reason ida_begin(workspace *w, double left)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m;
  double *y = N_VGetArrayPointer(w->y), *yp = N_VGetArrayPointer(w->yp);
  perp_constrained_at(k, w->s.grid.t, w->s.q);
  perp_eval_forces(k->e, model, w->s.grid.t, w->s.v, true, k->f);
  perp_joints_bias(model, k->e, w->s.v, k->c);
  for (int i = 0; i < m; i++) k->c[i] = -k->c[i];
  if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, w->s.grid.h, w->s.v)) return k->reason;
  k->reason = PERP_EXACT;
  memcpy(w->accel, k->a, (size_t)model->nv * sizeof *w->accel);
  memcpy(w->force, k->lambda, (size_t)m * sizeof *w->force);
  memcpy(w->about, k->lambda, (size_t)m * sizeof *w->about);
  if (m > 0) perp_blocks_diagonal(&k->e->blocks, w->soft);
  const double part = w->o.index == 1 ? SOFT : SOFT * w->s.grid.h;
  for (int i = 0; i < m; i++) w->soft[i] = w->soft[i] > 0 ? part * w->soft[i] : 1;
  memset(y, 0, (size_t)w->graph.n * sizeof *y);
  memset(yp, 0, (size_t)w->graph.n * sizeof *yp);
  perp_model_qdot(model, w->s.q, w->s.v, w->qdot);
  ida_put(w, w->s.q, w->s.v, y);
  perp_implicit_put_row(&w->graph, PART_LAMBDA, w->force, y);
  ida_put(w, w->qdot, w->accel, yp);
  w->h = fmin(fmin(w->s.grid.h, w->o.h_max), left);
  ida_levels(w);
  int flag = IDAReInit(w->mem, w->s.grid.t, w->y, w->yp);
  if (flag >= 0) flag = IDASetInitStep(w->mem, w->h);
  return flag < 0 ? perp_sundials_reason(flag, PERP_RUNNING) : PERP_EXACT;
}

static perp_reason ida_reason(int flag)
{
  const bool residual = flag == IDA_RES_FAIL || flag == IDA_REP_RES_ERR ||
                        flag == IDA_FIRST_RES_FAIL;
  return perp_sundials_reason(flag, residual ? PERP_NOT_FINITE : PERP_RUNNING);
}

static long ida_refused(const workspace *w)
{
  long by_error = 0, by_iteration = 0;
  IDAGetNumErrTestFails(w->mem, &by_error);
  IDAGetNumStepSolveFails(w->mem, &by_iteration);
  return by_error + by_iteration;
}

static perp_reason ida_make_step(workspace *w, double t_max)
{
  perp_time_grid *g = &w->s.grid;
  const double end = fmin(t_max, DBL_MAX);
  w->dense = false;
  if (w->fresh) {
    const perp_reason reason = ida_begin(w, end - g->t);
    if (reason < 0 || w->s.k.status != PERP_OK) return reason;
  } else {
    IDAGetCurrentStep(w->mem, &w->h);
    ida_levels(w);
  }
  long before = 0, after = 0;
  if (!w->fresh) IDAGetNumNonlinSolvIters(w->mem, &before);
  const long refused = w->fresh ? 0 : ida_refused(w);
  realtype t = g->t;
  int flag = IDASetStopTime(w->mem, end);
  if (flag >= 0)
    flag = IDASolve(w->mem, end < DBL_MAX ? end : g->t + 1e3 * w->h, &t, w->y, w->yp, IDA_ONE_STEP);
  IDAGetNumNonlinSolvIters(w->mem, &after);
  g->count.rejected += ida_refused(w) - refused;
  g->count.iterations += after - before;
  perp_reason reason = flag < 0 ? ida_reason(flag) : PERP_EXACT;
  if (flag >= 0 && !perp_all_finite(w->graph.n, N_VGetArrayPointer(w->y))) reason = PERP_NOT_FINITE;
  if (fabs(end - t) <= 4 * DBL_EPSILON * fabs(end)) t = end;
  if (reason > 0 && !(t > g->t)) reason = PERP_STEP_TOO_SMALL;
  w->fresh = w->fresh || reason < 0;
  if (reason > 0) {
    /* The step is one: what is kept of it. */
    perp_constrained *k = &w->s.k;
    const double *y = N_VGetArrayPointer(w->y);
    memcpy(w->s.lambda, w->force, (size_t)k->model->m * sizeof *w->force);
    perp_implicit_get_row(&w->graph, y, PART_LAMBDA, w->force);
    ida_get(w, y, w->s.q, w->s.v);
    perp_model_project(k->model, w->s.q);
    perp_constrained_at(k, t, w->s.q);
    k->drift = perp_worst(k->model->m, k->e->C);
    w->t_start = w->s.grid.t;
    w->fresh = false;
    w->dense = true;
    perp_time_grid_accept(&w->s.grid, t);
  }
  return reason;
}

static perp_status ida_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  perp_constrained *k = &w->s.k;
  const double start = perp_constrained_clock(k);
  k->ctx = ctx;
  k->status = PERP_OK;
  k->reason = PERP_EXACT;
  info->reason = t_max > w->s.grid.t ? ida_make_step(w, t_max) : PERP_EXACT;
  if (k->status != PERP_OK) return k->status;
  k->step_s += perp_constrained_clock(k) - start;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  info->lambda = w->s.lambda;
  return PERP_OK;
}

static perp_status ida_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                             double *lambda)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  if (!w->dense || !(t >= w->t_start && t <= w->s.grid.t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "sundials:ida: dense output at t = %.17g s is not available: t is outside of the last step",
        t);
  if (IDAGetDky(w->mem, t, 0, w->y) < 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "sundials:ida: dense output at t = %.17g s is not available", t);
  const double *y = N_VGetArrayPointer(w->y);
  ida_get(w, y, q, v);
  perp_model_project(model, q);
  if (lambda != NULL) perp_implicit_get_row(&w->graph, y, PART_LAMBDA, lambda);
  return PERP_OK;
}

/* ---- life ---- */

static void ida_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  w->J = PERP_CARVE(a, double, perp_local_length(&w->graph.local));
  PERP_DOUBLES(a, w->graph.n, &w->step, &w->scale);
  PERP_DOUBLES(a, model->nq, &w->q, &w->unit, &w->qdot);
  PERP_DOUBLES(a, model->nv, &w->v, &w->accel, &w->x);
  PERP_DOUBLES(a, model->m, &w->lambda, &w->mu, &w->row, &w->force, &w->about, &w->soft);
}

static void ida_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->mem != NULL) IDAFree(&w->mem);
  if (w->linear != NULL) SUNLinSolFreeEmpty(w->linear);
  if (w->A != NULL) SUNMatFreeEmpty(w->A);
  if (w->yp != NULL) N_VDestroy(w->yp);
  if (w->y != NULL) N_VDestroy(w->y);
  if (w->context != NULL) SUNContext_Free(&w->context);
  perp_local_lu_destroy(&w->graph.local, &w->lu);
  perp_implicit_destroy(&w->graph);
  perp_stepper_destroy(ws);
}

static perp_status ida_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  w->fresh = true;
  w->dense = false;
  w->speed[0] = w->speed[1] = 0;
  return perp_stepper_restart(ctx, ws, t, q, v);
}

/* The objects of SUNDIALS. */
static bool ida_make(workspace *w)
{
  if (SUNContext_Create(NULL, &w->context) != 0) return false;
  w->y = N_VNew_Serial(w->graph.n, w->context);
  w->yp = N_VNew_Serial(w->graph.n, w->context);
  w->A = SUNMatNewEmpty(w->context);
  w->linear = SUNLinSolNewEmpty(w->context);
  w->mem = IDACreate(w->context);
  if (w->y == NULL || w->yp == NULL || w->A == NULL || w->linear == NULL || w->mem == NULL)
    return false;
  N_VConst(0, w->y);
  N_VConst(0, w->yp);
  w->A->ops->getid = ida_matrix_id;
  w->A->ops->zero = ida_matrix_zero;
  w->linear->ops->gettype = ida_linear_type;
  w->linear->ops->setup = ida_linear_setup;
  w->linear->ops->solve = ida_linear_solve;
  w->linear->content = w;
  return IDASetErrHandlerFn(w->mem, perp_sundials_quiet, NULL) == 0 &&
         IDAInit(w->mem, ida_residual, 0, w->y, w->yp) == 0 && IDASetUserData(w->mem, w) == 0 &&
         IDAWFtolerances(w->mem, ida_weights) == 0 &&
         IDASetLinearSolver(w->mem, w->linear, w->A) == 0 &&
         IDASetJacFn(w->mem, ida_jacobian) == 0 && IDASetMinStep(w->mem, w->o.h_min) == 0 &&
         IDASetMaxStep(w->mem, w->o.h_max < HUGE_VAL ? w->o.h_max : 0) == 0;
}

static perp_status ida_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  workspace like = { .o = *(const struct opts *)parts->formulation.opts };
  *ws = NULL;
  for (int i = 0; i < model->m; i++)
    if (model->softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation sundials:ida does not support joints with softness: use rigid "
                       "joints, or --formulation velocity");
  if (like.o.h_min > like.o.h_max)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "sundials:ida: h_min = %g s is above h_max = %g s: choose h_min below h_max",
                     like.o.h_min, like.o.h_max);
  PERP_TRY(perp_implicit_graph_of(ctx, model, model->nqb + model->nvb, like.o.index, &like.graph));
  perp_status status = perp_local_lu_create(ctx, &like.graph.local, false, &like.lu);
  if (status == PERP_OK)
    status = perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, ida_layout, ws);
  if (status != PERP_OK) {
    perp_local_lu_destroy(&like.graph.local, &like.lu);
    perp_implicit_destroy(&like.graph);
    return status;
  }
  if (ida_make(*ws)) return PERP_OK;
  ida_destroy(*ws);
  *ws = NULL;
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for IDA with %d bodies", model->n_bodies);
}

const perp_formulation_desc perp_formulation_sundials_ida = {
  .d = { .name = "sundials:ida",
         .summary = "IDA: BDF of order 1 to 5 for the DAE of index 2 (stabilized) or 1",
         .reference = "A. C. Hindmarsh et al., SUNDIALS: suite of nonlinear and "
                      "differential/algebraic equation solvers, ACM TOMS 31, 2005",
         .equation = "q' = N (v + M^-1 J' mu),  M v' = f + J' lambda,  C = 0,  J v = 0",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS |
                 PERP_FORM_MOTIONS | PERP_FORM_DISABLED },
  .create = ida_create,
  .restart = ida_restart,
  .step = ida_step,
  .state = perp_stepper_state,
  .dense = ida_dense,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = ida_destroy,
};
