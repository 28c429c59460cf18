/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All steppers of GSL's odeiv2 behind one bridge: gsl:rk2 ... gsl:msbdf.
 *
 * y = (q, v), f = (qdot, a).  The perp driver stands where GSL has its evolve object: it calls
 * gsl_odeiv2_step_apply, judges the error and repeats from the same t what it refuses, which is how
 * the multistep steppers recognize a refused step and restore their Nordsieck array.  What GSL's
 * steppers want to know of GSL's driver is the error level of each component (they scale with it
 * the end of their Newton or functional iterations, and the multistep steppers the choice of their
 * order).  So each workspace holds a gsl_odeiv2_driver whose control object answers with the error
 * levels of ode.h.  At fixed steps the levels are those of PERP_ODE_FIXED_TOL, and 1e3 and 1e6
 * times these when Newton's seven iterations do not get there: the step is then so long that its
 * own error is larger still.
 *
 * The Jacobian of the implicit steppers comes from forward differences: n + 2 derivatives,
 * row-major as GSL wants it.  It only drives their iterations (bsimp: also the stability of its
 * linearly implicit steps).
 *
 * Orders are those of the solution that is propagated, as measured by tests/agree/ode_order.c;
 * GSL's own numbers are lower for rk2 (it carries the third-order formula on).  rk4 and the rk*imp
 * steppers return two half steps.  bsimp extrapolates over a fixed number of columns, which GSL
 * chooses from the dimension, so it has one order per system.  It measures its increments against
 * |y_i| and gives up, with the state unchanged and an error of infinity, where they exceed that by
 * far: next to the zero of a coordinate at any step.  Such a step is made again in coordinates
 * shifted away from zero by their scale.  rk1imp, rk2imp and rk4imp iterate at most seven times,
 * the multistep steppers three times: a failure is PERP_MAX_ITER, and under error control a shorter
 * step.
 *
 * The multistep steppers hold the solution in their own array.  `project` acts on the state that
 * they hand out and not on that array, whose drift off the manifold is part of the error that the
 * tolerance bounds. They start at order 1 and do so again after every changed state and event; at
 * fixed steps nothing makes up for the error of these first steps.
 *
 * Allocation: create; and gsl_linalg_LU_decomp (GSL 2.7) one index vector a call, so all implicit
 * steppers have PERP_CAP_ALLOCATES.  GSL reports errors through a process-wide handler that aborts
 * by default; it is off during our calls only and then put back, which is not safe against other
 * threads that set it too. */
#include "solvers/ode/control.h"
#include "solvers/ode/method.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <string.h>

struct ws {
  gsl_odeiv2_system system;
  gsl_odeiv2_control control;
  gsl_odeiv2_driver driver;
  gsl_odeiv2_step *step;
  perp_ode_control tolerance;
  struct perp_ode_scale scale; /* of the tolerance, since the last reset */
  bool history;
  int n;
  double *y, *yerr;     /* [n] trial state, its error */
  double *f, *level;    /* [n] derivative at the start, error levels */
  double *f0, *f1, *yj; /* [n] for the Jacobian */
  double *shift, *ys;   /* [n] what GSL sees is y + shift; y itself */
  bool shifted;
  /* the step being made */
  const perp_ode_sys *sys;
  perp_stats *stats;
  double h;
  perp_ode_answer answer; /* of the system, when it is not OK */
};

/* ---- what GSL calls ---- */

static int gsl_function(double t, const double y[], double dydt[], void *user)
{
  struct ws *work = user;
  if (work->shifted) {
    for (int i = 0; i < work->n; i++) work->ys[i] = y[i] - work->shift[i];
    y = work->ys;
  }
  work->answer = perp_ode_eval(work->sys, t, work->h, y, y + work->sys->nq, true, dydt,
                               dydt + work->sys->nq, work->stats);
  return work->answer == PERP_ODE_OK ? GSL_SUCCESS : GSL_FAILURE;
}

/* dfdy [n * n] row-major, dfdt [n] */
static int gsl_jacobian(double t, const double y[], double *dfdy, double dfdt[], void *user)
{
  struct ws *work = user;
  const int n = work->n, nq = work->sys->nq;
  int status = gsl_function(t, y, work->f0, work);
  const double v_scale = perp_ode_at_rest(work->scale, work->h) ? 0 : work->scale.v;
  memcpy(work->yj, y, (size_t)n * sizeof *y);
  for (int j = 0; j < n && status == GSL_SUCCESS; j++) {
    double size = j < nq        ? fmax(fabs(y[j]), work->scale.q)
                  : v_scale > 0 ? fmax(fabs(y[j]), v_scale)
                                : 0;
    double step = sqrt(DBL_EPSILON) * (size > 0 ? size : 1);
    work->yj[j] = y[j] + step;
    step = work->yj[j] - y[j]; /* as it was rounded */
    status = gsl_function(t, work->yj, work->f1, work);
    for (int i = 0; i < n; i++)
      dfdy[(size_t)i * (size_t)n + (size_t)j] = (work->f1[i] - work->f0[i]) / step;
    work->yj[j] = y[j];
  }
  if (status != GSL_SUCCESS) return status;
  double step = sqrt(DBL_EPSILON) * fmax(fabs(t), work->h), t1 = t + step;
  status = gsl_function(t1, y, work->f1, work);
  for (int i = 0; i < n; i++) dfdt[i] = (work->f1[i] - work->f0[i]) / (t1 - t);
  return status;
}

static int error_level(void *state, const double y, const double dydt, const double h,
                       const size_t i, double *level)
{
  (void)y, (void)dydt, (void)h;
  *level = ((const struct ws *)state)->level[i];
  return GSL_SUCCESS;
}

/* Only errlevel is ever called: the step size is the business of the perp driver. */
static const gsl_odeiv2_control_type control_type = { .name = "perp", .errlevel = error_level };

/* ---- the method ---- */

static void gsl_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->n, &work->y, &work->yerr, &work->f, &work->level, &work->f0, &work->f1,
               &work->yj, &work->shift, &work->ys);
}

static perp_status gsl_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                              const gsl_odeiv2_step_type *type, bool history, void **ws)
{
  const int n = sys->nq + sys->nv;
  struct ws like = { .n = n, .tolerance = *(const perp_ode_control *)opts, .history = history };
  PERP_TRY(perp_workspace_create(ctx, type->name, &like, sizeof like, gsl_layout, ws));
  struct ws *work = *ws;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  work->step = gsl_odeiv2_step_alloc(type, (size_t)n);
  gsl_set_error_handler(handler);
  if (work->step == NULL) {
    free(work);
    *ws = NULL;
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "gsl:%s: no memory for %d unknowns", type->name, n);
  }
  work->system = (gsl_odeiv2_system){
    .function = gsl_function, .jacobian = gsl_jacobian, .dimension = (size_t)n, .params = work
  };
  work->control = (gsl_odeiv2_control){ .type = &control_type, .state = work };
  work->driver = (gsl_odeiv2_driver){ .sys = &work->system, .s = work->step, .c = &work->control };
  gsl_odeiv2_step_set_driver(work->step, &work->driver);
  memset(work->yerr, 0, (size_t)n * sizeof *work->yerr); /* bsimp saves it before it is set */
  return PERP_OK;
}

/* level_i = tol |y_i| + the absolute part; a group at rest has the scale of its first motion */
static void set_levels(struct ws *work, double tol, double atol)
{
  const perp_ode_sys *sys = work->sys;
  perp_ode_scale_grow(&work->scale, sys->nq, sys->nv, work->y);
  struct perp_ode_scale scale = work->scale, rate = { 0 };
  perp_ode_scale_grow(&rate, sys->nq, sys->nv, work->f);
  if (scale.q == 0) scale.q = rate.q > 0 ? work->h * rate.q : 1;
  if (scale.v == 0) scale.v = rate.v > 0 ? work->h * rate.v : 1;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, atol, scale, work->h);
  for (int i = 0; i < work->n; i++)
    work->level[i] = tol * fabs(work->y[i]) + (i < sys->nq ? absolute.q : absolute.v);
}

/* A step of bsimp that found its increments too large: see above. */
static int apply_shifted(struct ws *work, double t, const double *q, const double *v)
{
  const int nq = work->sys->nq;
  for (int i = 0; i < work->n; i++) {
    double y = i < nq ? q[i] : v[i - nq], scale = i < nq ? work->scale.q : work->scale.v;
    work->shift[i] = copysign(scale > 0 ? scale : 1, y);
    work->y[i] = y + work->shift[i];
  }
  work->shifted = true;
  int status = gsl_odeiv2_step_apply(work->step, t, work->h, work->y, work->yerr, work->f, NULL,
                                     &work->system);
  work->shifted = false;
  for (int i = 0; i < work->n; i++) work->y[i] -= work->shift[i];
  return status == GSL_SUCCESS && !perp_finite(work->n, work->yerr) ? GSL_EMAXITER : status;
}

static perp_ode_answer gsl_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                double *v, double *err, perp_stats *stats)
{
  struct ws *work = ws;
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  work->sys = sys;
  work->stats = stats;
  work->h = h;
  memcpy(work->y, q, nq * sizeof *q);
  if (nv > 0) memcpy(work->y + nq, v, nv * sizeof *v);

  work->answer = perp_ode_eval(sys, t, h, q, v, false, work->f, work->f + nq, stats);
  if (work->answer != PERP_ODE_OK) return work->answer;
  if (!perp_finite(work->n, work->f)) { /* GSL would take it into its factorizations and history */
    stats->reason = PERP_NOT_FINITE;
    return PERP_ODE_FAILED;
  }

  const perp_ode_control *given = &work->tolerance;
  const bool fixed = given->tol == 0 && !work->history;
  double tol = given->tol > 0 ? given->tol : fixed ? PERP_ODE_FIXED_TOL : PERP_ODE_VARIABLE_TOL;
  int status;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  for (int looser = 0;; looser++, tol *= 1e3) {
    set_levels(work, tol, given->atol);
    status = gsl_odeiv2_step_apply(work->step, t, h, work->y, work->yerr, work->f, NULL,
                                   &work->system);
    if (status == GSL_SUCCESS && work->step->type == gsl_odeiv2_step_bsimp &&
        !perp_finite(work->n, work->yerr))
      status = apply_shifted(work, t, q, v);
    if (status == GSL_SUCCESS || work->answer != PERP_ODE_OK || !fixed || looser == 2) break;
    memcpy(work->y, q, nq * sizeof *q);
    if (nv > 0) memcpy(work->y + nq, v, nv * sizeof *v);
  }
  gsl_set_error_handler(handler);

  if (work->history && (work->answer != PERP_ODE_OK || !perp_finite(work->n, work->y)))
    gsl_odeiv2_step_reset(work->step); /* not every failure of ours leaves the array as it was */
  if (work->answer != PERP_ODE_OK) return work->answer;
  if (status != GSL_SUCCESS) {
    stats->reason = PERP_MAX_ITER;
    return PERP_ODE_FAILED;
  }
  memcpy(q, work->y, nq * sizeof *q);
  if (nv > 0) memcpy(v, work->y + nq, nv * sizeof *v);
  if (sys->project != NULL) sys->project(sys->user, q);
  if (err != NULL) memcpy(err, work->yerr, (nq + nv) * sizeof *err);
  return PERP_ODE_OK;
}

static int current_order(const void *ws)
{
  return (int)gsl_odeiv2_step_order(((const struct ws *)ws)->step);
}

static void gsl_reset(void *ws)
{
  struct ws *work = ws;
  gsl_odeiv2_step_reset(work->step);
  work->scale = (struct perp_ode_scale){ 0 };
}

static void gsl_destroy(void *ws)
{
  if (ws != NULL) gsl_odeiv2_step_free(((struct ws *)ws)->step);
  free(ws);
}

#define STEPPER(identifier, summary_, caps_, order_, error_order_, order_function)                 \
  static perp_status create_##identifier(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, \
                                         void **ws)                                                \
  {                                                                                                \
    return gsl_create(ctx, sys, opts, gsl_odeiv2_step_##identifier,                                \
                      ((caps_)&PERP_ODE_MULTISTEP) != 0, ws);                                      \
  }                                                                                                \
  const perp_ode_desc perp_ode_gsl_##identifier = {                                                \
    .d = { .name = "gsl:" #identifier,                                                             \
           .summary = summary_,                                                                    \
           .reference = "GNU Scientific Library, odeiv2",                                          \
           .equation = "y' = f(t, y), y = (q, v)",                                                 \
           .opts = perp_ode_plain_options,                                                         \
           .opts_size = sizeof(struct perp_ode_plain_opts),                                        \
           .caps = PERP_ODE_EMBEDDED | (caps_) },                                                  \
    .order = order_,                                                                               \
    .stages = 0,                                                                                   \
    .create = create_##identifier,                                                                 \
    .step = gsl_step,                                                                              \
    .reset = gsl_reset,                                                                            \
    .destroy = gsl_destroy,                                                                        \
    .error_order = error_order_,                                                                   \
    .current_order = order_function,                                                               \
  }

#define IMPLICIT (PERP_ODE_IMPLICIT | PERP_CAP_ALLOCATES)
#define HISTORY  (PERP_ODE_MULTISTEP | PERP_ODE_VARIABLE_ORDER | PERP_ODE_OWN_STEP_CONTROL)

STEPPER(rk2, "GSL: Runge-Kutta pair, order 3(2)", 0, 3, 2, NULL);
STEPPER(rk4, "GSL: classical Runge-Kutta method, order 4, with step doubling", 0, 4, 4, NULL);
STEPPER(rkf45, "GSL: Runge-Kutta-Fehlberg pair, order 5(4)", 0, 5, 4, NULL);
STEPPER(rkck, "GSL: Cash-Karp Runge-Kutta pair, order 5(4)", 0, 5, 4, NULL);
STEPPER(rk8pd, "GSL: Prince-Dormand Runge-Kutta pair, order 8(7)", 0, 8, 7, NULL);
STEPPER(rk1imp, "GSL: implicit Euler method, order 1, with step doubling", IMPLICIT, 1, 1, NULL);
STEPPER(rk2imp, "GSL: implicit midpoint rule, order 2, with step doubling", IMPLICIT, 2, 2, NULL);
STEPPER(rk4imp, "GSL: Gauss method, implicit, order 4, with step doubling", IMPLICIT, 4, 4, NULL);
STEPPER(bsimp, "GSL: Bader-Deuflhard extrapolation, linearly implicit, variable order", IMPLICIT, 0,
        0, current_order);
STEPPER(msadams, "GSL: Adams methods, variable order 1 to 12", HISTORY, 0, 0, current_order);
STEPPER(msbdf, "GSL: BDF methods, variable order 1 to 5", HISTORY | IMPLICIT, 0, 0, current_order);
