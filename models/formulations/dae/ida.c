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
 * one for translations and one for rotations.  IDA's norm is the
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
#include "solvers/core/library_files.h"
#include "solvers/ode/peers/sundials.h"

#include <float.h>
#include <ida/ida.h>
#include <ida/ida_ls.h>
#include <string.h>

#define IDA(X)                                                                                     \
  X(IDACreate)                                                                                     \
  X(IDAFree)                                                                                       \
  X(IDAGetCurrentStep)                                                                             \
  X(IDAGetDky)                                                                                     \
  X(IDAGetNumErrTestFails)                                                                         \
  X(IDAGetNumNonlinSolvIters)                                                                      \
  X(IDAGetNumStepSolveFails)                                                                       \
  X(IDAInit)                                                                                       \
  X(IDAReInit)                                                                                     \
  X(IDASetErrHandlerFn)                                                                            \
  X(IDASetInitStep)                                                                                \
  X(IDASetJacFn)                                                                                   \
  X(IDASetLinearSolver)                                                                            \
  X(IDASetMaxStep)                                                                                 \
  X(IDASetMinStep)                                                                                 \
  X(IDASetStopTime)                                                                                \
  X(IDASetUserData)                                                                                \
  X(IDASolve)                                                                                      \
  X(IDAWFtolerances)

static struct {
  IDA(PERP_LIBRARY_POINTER)
} ida_calls;
PERP_LIBRARY(ida, IDA, ida_calls, SUNDIALS_IDA, "IDA of SUNDIALS", "libsundials-dev");

struct opts {
  double tol, h_min, h_max;
  int index;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, index, 2, 1, 2,
           "Index of the DAE. 2: stabilized (Gear, Gupta, Leimkuhler). 1: constraints on "
           "accelerations."),
  PERP_REAL(struct opts, tol, 1e-8, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Error tolerance per step, relative to the size of the model, to one radian and to the "
            "speed."),
  PERP_REAL(struct opts, h_min, 1e-14, 0, HUGE_VAL, PERP_OPEN_MIN, "s",
            "Shortest step. The run ends when a shorter one would be needed."),
  PERP_REAL(struct opts, h_max, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "s", "Longest step."),
  PERP_OPTIONS_END
};

enum { PART_LAMBDA, PART_MU }; /* of the joints; those of a body are its q and its v */
static const double SOFT = 1e-9;
static const double RESTS = 1e-9; /* of a slow speed: below, it is rounding */

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

static void ida_get(const workspace *work, const double *x, double *q, double *v)
{
  const perp_model *model = work->s.k.model;
  for (int body = 0; body < model->n_bodies; body++) {
    const double *part = x + work->graph.local.first[body];
    if (q != NULL) memcpy(q + body * model->nqb, part, (size_t)model->nqb * sizeof *q);
    if (v != NULL) memcpy(v + body * model->nvb, part + model->nqb, (size_t)model->nvb * sizeof *v);
  }
}

static void ida_put(const workspace *work, const double *q, const double *v, double *x)
{
  const perp_model *model = work->s.k.model;
  for (int body = 0; body < model->n_bodies; body++) {
    double *part = x + work->graph.local.first[body];
    memcpy(part, q + body * model->nqb, (size_t)model->nqb * sizeof *q);
    memcpy(part + model->nqb, v + body * model->nvb, (size_t)model->nvb * sizeof *v);
  }
}

/* ---- the equations ---- */

static bool ida_f(workspace *work, double t, const double *y, const double *yp, double *r)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int nv = model->nv, m = model->m;
  const perp_implicit *implicit = &work->graph;
  ida_get(work, y, work->q, work->v);
  memcpy(work->unit, work->q, (size_t)model->nq * sizeof *work->q);
  perp_model_project(model, work->unit);
  if (!perp_all_finite(model->nq, work->unit)) return false;
  perp_constrained_at(system, t, work->unit);
  work->s.grid.count.rhs++;

  perp_implicit_get_row(implicit, y, PART_LAMBDA, work->lambda);
  perp_stepper_forces(&work->s, t, work->v, system->f);
  if (m > 0) perp_blocks_Jt(&system->e->blocks, 1, work->lambda, system->f);
  perp_blocks_Minv(&system->e->blocks, system->f, work->x);
  ida_get(work, yp, NULL, work->accel);
  if (work->o.index == 1) {
    perp_joints_bias(model, system->e, work->v, work->row);
    if (m > 0) perp_blocks_J(&system->e->blocks, 1, work->accel, work->row);
  } else {
    perp_constrained_rate(system, work->v, work->row);
  }
  for (int i = 0; i < m; i++) work->row[i] += work->soft[i] * (work->lambda[i] - work->about[i]);
  perp_implicit_put_row(implicit, PART_LAMBDA, work->row, r);
  for (int i = 0; i < nv; i++) work->accel[i] -= work->x[i];

  if (work->o.index == 2 && m > 0) {
    perp_implicit_get_row(implicit, y, PART_MU, work->mu);
    memset(system->f, 0, (size_t)nv * sizeof *system->f);
    perp_blocks_Jt(&system->e->blocks, 1, work->mu, system->f);
    perp_blocks_Minv(&system->e->blocks, system->f, work->x);
    for (int i = 0; i < nv; i++) work->v[i] += work->x[i];
    for (int i = 0; i < m; i++) work->row[i] = system->e->C[i] + work->soft[i] * work->mu[i];
    perp_implicit_put_row(implicit, PART_MU, work->row, r);
  }
  perp_model_qdot(model, work->q, work->v, work->qdot);
  ida_get(work, yp, work->q, NULL);
  for (int i = 0; i < model->nq; i++) work->q[i] -= work->qdot[i];
  ida_put(work, work->q, work->accel, r);
  return perp_all_finite(implicit->n, r);
}

static int ida_residual(realtype t, N_Vector y, N_Vector yp, N_Vector r, void *user)
{
  return ida_f(user, t, perp_sundials_calls.N_VGetArrayPointer(y),
               perp_sundials_calls.N_VGetArrayPointer(yp),
               perp_sundials_calls.N_VGetArrayPointer(r))
             ? 0
             : 1;
}

/* 1 / E_i; times what brings the mean over all unknowns to one over q and v */
static int ida_weights(N_Vector y, N_Vector weight, void *user)
{
  (void)y;
  const workspace *work = user;
  const perp_model *model = work->s.k.model;
  const double whole = sqrt(work->graph.n / (double)(model->nq + model->nv));
  double *e = perp_sundials_calls.N_VGetArrayPointer(weight);
  memset(e, 0, (size_t)work->graph.n * sizeof *e);
  for (int body = 0; body < model->n_bodies; body++)
    for (int i = 0; i < model->nqb + model->nvb; i++) {
      const int at = work->graph.local.first[body] + i;
      e[at] = whole / (work->o.tol * work->scale[at]);
    }
  return perp_all_finite(work->graph.n, e) ? 0 : -1;
}

/* ---- the matrix ---- */

static bool ida_moved(void *user, const double *y, double *r)
{
  workspace *work = user;
  for (int i = 0; i < work->graph.n; i++)
    work->moved[i] = work->ap[i] + work->c_at * (y[i] - work->at[i]);
  return ida_f(work, work->t_at, y, work->moved, r);
}

static int ida_jacobian(realtype t, realtype c, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix A,
                        void *user, N_Vector x1, N_Vector x2, N_Vector x3)
{
  workspace *work = user;
  (void)A, (void)x2, (void)x3;
  work->t_at = t;
  work->c_at = c;
  work->at = perp_sundials_calls.N_VGetArrayPointer(y);
  work->ap = perp_sundials_calls.N_VGetArrayPointer(yp);
  work->moved = perp_sundials_calls.N_VGetArrayPointer(x1);
  int64_t evaluations = 0; /* ida_f counts them */
  return perp_local_jacobian(&work->graph.local, ida_moved, work, work->at,
                             perp_sundials_calls.N_VGetArrayPointer(r), work->step, work->J,
                             &evaluations)
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
  workspace *work = S->content;
  (void)A;
  work->s.k.count.factorizations++;
  return perp_local_factor(&work->graph.local, work->J, &work->lu) ? 0 : 1;
}

static int ida_linear_solve(SUNLinearSolver S, SUNMatrix A, N_Vector x, N_Vector b, realtype tol)
{
  workspace *work = S->content;
  (void)A, (void)tol;
  perp_sundials_calls.N_VScale(1, b, x);
  perp_local_solve(&work->graph.local, work->J, &work->lu,
                   perp_sundials_calls.N_VGetArrayPointer(x));
  return 0;
}

/* ---- a step ---- */

/* Scales of the tolerance and steps of the differences, for a step h from the state. */
static void ida_levels(workspace *work)
{
  const perp_model *model = work->s.k.model;
  const double size = model->size > 0 ? model->size : 1, part = sqrt(DBL_EPSILON), h = work->h;
  double mass = 0;
  for (int body = 0; body < model->n_bodies; body++) {
    mass += model->inertia[body].mass / model->n_bodies;
    for (int i = 0; i < model->nvb; i++) {
      const int at = body * model->nvb + i;
      double *most = &work->speed[i >= model->dim];
      *most = fmax(*most, fabs(work->s.v[at]));
      if (work->fresh) *most = fmax(*most, h * fabs(work->accel[at]));
    }
  }
  for (int i = 0; i < work->graph.n; i++) work->step[i] = mass * size / (h * h) * part; /* linear */
  for (int body = 0; body < model->n_bodies; body++) {
    double *scale = work->scale + work->graph.local.first[body],
           *step = work->step + work->graph.local.first[body];
    for (int i = 0; i < model->nqb; i++) {
      scale[i] = i < model->dim    ? size
                 : model->dim == 3 ? 0.5
                                   : 1; /* of a quaternion, half an angle */
      step[i] = part * scale[i];
    }
    for (int i = 0; i < model->nvb; i++) {
      const bool turns = i >= model->dim;
      const double slow = 1e-3 * (turns ? 1 : size) / h;
      scale[model->nqb + i] = work->speed[turns] > RESTS * slow ? work->speed[turns] : slow;
      step[model->nqb + i] = part * fmax(work->speed[turns], slow);
    }
  }
}

/* Consistent values at the state. */
static perp_reason ida_begin(workspace *work, double left)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int m = model->m;
  double *y = perp_sundials_calls.N_VGetArrayPointer(work->y),
         *yp = perp_sundials_calls.N_VGetArrayPointer(work->yp);
  perp_constrained_at(system, work->s.grid.t, work->s.q);
  perp_stepper_forces(&work->s, work->s.grid.t, work->s.v, system->f);
  perp_joints_bias(model, system->e, work->s.v, system->c);
  for (int i = 0; i < m; i++) system->c[i] = -system->c[i];
  if (!perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, work->s.grid.h, work->s.v))
    return system->reason;
  system->reason = PERP_EXACT;
  memcpy(work->accel, system->a, (size_t)model->nv * sizeof *work->accel);
  memcpy(work->force, system->lambda, (size_t)m * sizeof *work->force);
  memcpy(work->about, system->lambda, (size_t)m * sizeof *work->about);
  if (m > 0) perp_blocks_diagonal(&system->e->blocks, work->soft);
  const double part = work->o.index == 1 ? SOFT : SOFT * work->s.grid.h;
  for (int i = 0; i < m; i++) work->soft[i] = work->soft[i] > 0 ? part * work->soft[i] : 1;
  memset(y, 0, (size_t)work->graph.n * sizeof *y);
  memset(yp, 0, (size_t)work->graph.n * sizeof *yp);
  perp_model_qdot(model, work->s.q, work->s.v, work->qdot);
  ida_put(work, work->s.q, work->s.v, y);
  perp_implicit_put_row(&work->graph, PART_LAMBDA, work->force, y);
  ida_put(work, work->qdot, work->accel, yp);
  work->h = fmin(fmin(work->s.grid.h, work->o.h_max), left);
  ida_levels(work);
  int flag = ida_calls.IDAReInit(work->mem, work->s.grid.t, work->y, work->yp);
  if (flag >= 0) flag = ida_calls.IDASetInitStep(work->mem, work->h);
  return flag < 0 ? perp_sundials_reason(flag, PERP_RUNNING) : PERP_EXACT;
}

static perp_reason ida_reason(int flag)
{
  const bool residual = flag == IDA_RES_FAIL || flag == IDA_REP_RES_ERR ||
                        flag == IDA_FIRST_RES_FAIL;
  return perp_sundials_reason(flag, residual ? PERP_NOT_FINITE : PERP_RUNNING);
}

static long ida_refused(const workspace *work)
{
  long by_error = 0, by_iteration = 0;
  ida_calls.IDAGetNumErrTestFails(work->mem, &by_error);
  ida_calls.IDAGetNumStepSolveFails(work->mem, &by_iteration);
  return by_error + by_iteration;
}

static perp_reason ida_make_step(workspace *work, double t_max)
{
  perp_time_grid *grid = &work->s.grid;
  const double end = fmin(t_max, DBL_MAX);
  work->dense = false;
  if (work->fresh) {
    const perp_reason reason = ida_begin(work, end - grid->t);
    if (reason < 0 || work->s.k.status != PERP_OK) return reason;
  } else {
    ida_calls.IDAGetCurrentStep(work->mem, &work->h);
    ida_levels(work);
  }
  long before = 0, after = 0;
  if (!work->fresh) ida_calls.IDAGetNumNonlinSolvIters(work->mem, &before);
  const long refused = work->fresh ? 0 : ida_refused(work);
  realtype t = grid->t;
  int flag = ida_calls.IDASetStopTime(work->mem, end);
  if (flag >= 0)
    flag = ida_calls.IDASolve(work->mem, end < DBL_MAX ? end : grid->t + 1e3 * work->h, &t, work->y,
                              work->yp, IDA_ONE_STEP);
  ida_calls.IDAGetNumNonlinSolvIters(work->mem, &after);
  grid->count.rejected += ida_refused(work) - refused;
  grid->count.iterations += after - before;
  perp_reason reason = flag < 0 ? ida_reason(flag) : PERP_EXACT;
  if (flag >= 0 && !perp_all_finite(work->graph.n, perp_sundials_calls.N_VGetArrayPointer(work->y)))
    reason = PERP_NOT_FINITE;
  if (fabs(end - t) <= 4 * DBL_EPSILON * fabs(end)) t = end;
  if (reason > 0 && !(t > grid->t)) reason = PERP_STEP_TOO_SMALL;
  work->fresh = work->fresh || reason < 0;
  if (reason > 0) {
    /* The step is one: what is kept of it. */
    perp_constrained *system = &work->s.k;
    const double *y = perp_sundials_calls.N_VGetArrayPointer(work->y);
    memcpy(work->s.lambda, work->force, (size_t)system->model->m * sizeof *work->force);
    perp_implicit_get_row(&work->graph, y, PART_LAMBDA, work->force);
    perp_stepper_servos(&work->s, grid->t, work->s.q, work->s.v);
    ida_get(work, y, work->s.q, work->s.v);
    perp_model_project(system->model, work->s.q);
    perp_constrained_at(system, t, work->s.q);
    system->drift = perp_worst(system->model->m, system->e->C);
    work->t_start = work->s.grid.t;
    work->fresh = false;
    work->dense = true;
    perp_time_grid_accept(&work->s.grid, t);
  }
  return reason;
}

static perp_status ida_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  perp_constrained *system = &work->s.k;
  const double start = perp_constrained_clock(system);
  system->ctx = ctx;
  system->status = PERP_OK;
  system->reason = PERP_EXACT;
  info->reason = t_max > work->s.grid.t ? ida_make_step(work, t_max) : PERP_EXACT;
  if (system->status != PERP_OK) return system->status;
  system->spent.step += perp_constrained_clock(system) - start;
  system->count.reason = info->reason;
  info->drift_pos_pre = system->drift;
  info->lambda = work->s.lambda;
  info->drive = system->model->n_drives > 0 ? work->s.servo : NULL;
  return PERP_OK;
}

static perp_status ida_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                             double *lambda)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  if (!work->dense || !(t >= work->t_start && t <= work->s.grid.t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "sundials:ida: dense output at t = %.17g s is not available: t is outside of the last step",
        t);
  if (ida_calls.IDAGetDky(work->mem, t, 0, work->y) < 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "sundials:ida: dense output at t = %.17g s is not available", t);
  const double *y = perp_sundials_calls.N_VGetArrayPointer(work->y);
  ida_get(work, y, q, v);
  perp_model_project(model, q);
  if (lambda != NULL) perp_implicit_get_row(&work->graph, y, PART_LAMBDA, lambda);
  return PERP_OK;
}

/* ---- life ---- */

static void ida_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  work->J = PERP_CARVE(arena, double, perp_local_length(&work->graph.local));
  PERP_DOUBLES(arena, work->graph.n, &work->step, &work->scale);
  PERP_DOUBLES(arena, model->nq, &work->q, &work->unit, &work->qdot);
  PERP_DOUBLES(arena, model->nv, &work->v, &work->accel, &work->x);
  PERP_DOUBLES(arena, model->m, &work->lambda, &work->mu, &work->row, &work->force, &work->about,
               &work->soft);
}

static void ida_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  if (work->mem != NULL) ida_calls.IDAFree(&work->mem);
  if (work->linear != NULL) perp_sundials_calls.SUNLinSolFreeEmpty(work->linear);
  if (work->A != NULL) perp_sundials_calls.SUNMatFreeEmpty(work->A);
  if (work->yp != NULL) perp_sundials_calls.N_VDestroy(work->yp);
  if (work->y != NULL) perp_sundials_calls.N_VDestroy(work->y);
  if (work->context != NULL) perp_sundials_calls.SUNContext_Free(&work->context);
  perp_local_lu_destroy(&work->graph.local, &work->lu);
  perp_implicit_destroy(&work->graph);
  perp_stepper_destroy(ws);
}

static perp_status ida_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *work = ws;
  work->fresh = true;
  work->dense = false;
  work->speed[0] = work->speed[1] = 0;
  return perp_stepper_restart(ctx, ws, t, q, v);
}

/* The objects of SUNDIALS. */
static bool ida_make(workspace *work)
{
  if (perp_sundials_calls.SUNContext_Create(NULL, &work->context) != 0) return false;
  work->y = perp_sundials_calls.N_VNew_Serial(work->graph.n, work->context);
  work->yp = perp_sundials_calls.N_VNew_Serial(work->graph.n, work->context);
  work->A = perp_sundials_calls.SUNMatNewEmpty(work->context);
  work->linear = perp_sundials_calls.SUNLinSolNewEmpty(work->context);
  work->mem = ida_calls.IDACreate(work->context);
  if (work->y == NULL || work->yp == NULL || work->A == NULL || work->linear == NULL ||
      work->mem == NULL)
    return false;
  perp_sundials_calls.N_VConst(0, work->y);
  perp_sundials_calls.N_VConst(0, work->yp);
  work->A->ops->getid = ida_matrix_id;
  work->A->ops->zero = ida_matrix_zero;
  work->linear->ops->gettype = ida_linear_type;
  work->linear->ops->setup = ida_linear_setup;
  work->linear->ops->solve = ida_linear_solve;
  work->linear->content = work;
  return ida_calls.IDASetErrHandlerFn(work->mem, perp_sundials_quiet, NULL) == 0 &&
         ida_calls.IDAInit(work->mem, ida_residual, 0, work->y, work->yp) == 0 &&
         ida_calls.IDASetUserData(work->mem, work) == 0 &&
         ida_calls.IDAWFtolerances(work->mem, ida_weights) == 0 &&
         ida_calls.IDASetLinearSolver(work->mem, work->linear, work->A) == 0 &&
         ida_calls.IDASetJacFn(work->mem, ida_jacobian) == 0 &&
         ida_calls.IDASetMinStep(work->mem, work->o.h_min) == 0 &&
         ida_calls.IDASetMaxStep(work->mem, work->o.h_max < HUGE_VAL ? work->o.h_max : 0) == 0;
}

static perp_status ida_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  workspace like = { .o = *(const struct opts *)parts->formulation.opts };
  *ws = NULL;
  for (int i = 0; i < model->m; i++)
    if (model->soft.softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation sundials:ida does not support joints with softness: use rigid "
                       "joints, or --formulation velocity");
  if (like.o.h_min > like.o.h_max)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "sundials:ida: h_min = %g s is above h_max = %g s: choose h_min below h_max",
                     like.o.h_min, like.o.h_max);
  PERP_TRY(perp_sundials_open(ctx, &ida_library));
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
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_SERVOS },
  .create = ida_create,
  .restart = ida_restart,
  .step = ida_step,
  .state = perp_stepper_state,
  .dense = ida_dense,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = ida_destroy,
};
