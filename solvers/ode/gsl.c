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
  struct ws *w = user;
  if (w->shifted) {
    for (int i = 0; i < w->n; i++) w->ys[i] = y[i] - w->shift[i];
    y = w->ys;
  }
  w->answer = perp_ode_eval(w->sys, t, w->h, y, y + w->sys->nq, true, dydt, dydt + w->sys->nq,
                            w->stats);
  return w->answer == PERP_ODE_OK ? GSL_SUCCESS : GSL_FAILURE;
}

/* dfdy [n * n] row-major, dfdt [n] */
static int gsl_jacobian(double t, const double y[], double *dfdy, double dfdt[], void *user)
{
  struct ws *w = user;
  const int n = w->n, nq = w->sys->nq;
  int status = gsl_function(t, y, w->f0, w);
  const double v_scale = perp_ode_at_rest(w->scale, w->h) ? 0 : w->scale.v;
  memcpy(w->yj, y, (size_t)n * sizeof *y);
  for (int j = 0; j < n && status == GSL_SUCCESS; j++) {
    double size = j < nq        ? fmax(fabs(y[j]), w->scale.q)
                  : v_scale > 0 ? fmax(fabs(y[j]), v_scale)
                                : 0;
    double step = sqrt(DBL_EPSILON) * (size > 0 ? size : 1);
    w->yj[j] = y[j] + step;
    step = w->yj[j] - y[j]; /* as it was rounded */
    status = gsl_function(t, w->yj, w->f1, w);
    for (int i = 0; i < n; i++)
      dfdy[(size_t)i * (size_t)n + (size_t)j] = (w->f1[i] - w->f0[i]) / step;
    w->yj[j] = y[j];
  }
  if (status != GSL_SUCCESS) return status;
  double step = sqrt(DBL_EPSILON) * fmax(fabs(t), w->h), t1 = t + step;
  status = gsl_function(t1, y, w->f1, w);
  for (int i = 0; i < n; i++) dfdt[i] = (w->f1[i] - w->f0[i]) / (t1 - t);
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

static void gsl_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  PERP_DOUBLES(a, w->n, &w->y, &w->yerr, &w->f, &w->level, &w->f0, &w->f1, &w->yj, &w->shift,
               &w->ys);
}

static perp_status gsl_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                              const gsl_odeiv2_step_type *type, bool history, void **ws)
{
  const int n = sys->nq + sys->nv;
  struct ws like = { .n = n, .tolerance = *(const perp_ode_control *)opts, .history = history };
  PERP_TRY(perp_workspace_create(ctx, type->name, &like, sizeof like, gsl_layout, ws));
  struct ws *w = *ws;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  w->step = gsl_odeiv2_step_alloc(type, (size_t)n);
  gsl_set_error_handler(handler);
  if (w->step == NULL) {
    free(w);
    *ws = NULL;
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "gsl:%s: no memory for %d unknowns", type->name, n);
  }
  w->system = (gsl_odeiv2_system){
    .function = gsl_function, .jacobian = gsl_jacobian, .dimension = (size_t)n, .params = w
  };
  w->control = (gsl_odeiv2_control){ .type = &control_type, .state = w };
  w->driver = (gsl_odeiv2_driver){ .sys = &w->system, .s = w->step, .c = &w->control };
  gsl_odeiv2_step_set_driver(w->step, &w->driver);
  memset(w->yerr, 0, (size_t)n * sizeof *w->yerr); /* bsimp saves it before it is set */
  return PERP_OK;
}

/* level_i = tol |y_i| + the absolute part; a group at rest has the scale of its first motion */
static void set_levels(struct ws *w, double tol, double atol)
{
  const perp_ode_sys *sys = w->sys;
  perp_ode_scale_grow(&w->scale, sys->nq, sys->nv, w->y);
  struct perp_ode_scale scale = w->scale, rate = { 0 };
  perp_ode_scale_grow(&rate, sys->nq, sys->nv, w->f);
  if (scale.q == 0) scale.q = rate.q > 0 ? w->h * rate.q : 1;
  if (scale.v == 0) scale.v = rate.v > 0 ? w->h * rate.v : 1;
  const struct perp_ode_scale absolute = perp_ode_absolute(tol, atol, scale, w->h);
  for (int i = 0; i < w->n; i++)
    w->level[i] = tol * fabs(w->y[i]) + (i < sys->nq ? absolute.q : absolute.v);
}

/* A step of bsimp that found its increments too large: see above. */
static int apply_shifted(struct ws *w, double t, const double *q, const double *v)
{
  const int nq = w->sys->nq;
  for (int i = 0; i < w->n; i++) {
    double y = i < nq ? q[i] : v[i - nq], scale = i < nq ? w->scale.q : w->scale.v;
    w->shift[i] = copysign(scale > 0 ? scale : 1, y);
    w->y[i] = y + w->shift[i];
  }
  w->shifted = true;
  int status = gsl_odeiv2_step_apply(w->step, t, w->h, w->y, w->yerr, w->f, NULL, &w->system);
  w->shifted = false;
  for (int i = 0; i < w->n; i++) w->y[i] -= w->shift[i];
  return status == GSL_SUCCESS && !perp_finite(w->n, w->yerr) ? GSL_EMAXITER : status;
}

static perp_ode_answer gsl_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                double *v, double *err, perp_stats *stats)
{
  struct ws *w = ws;
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  w->sys = sys;
  w->stats = stats;
  w->h = h;
  memcpy(w->y, q, nq * sizeof *q);
  if (nv > 0) memcpy(w->y + nq, v, nv * sizeof *v);

  w->answer = perp_ode_eval(sys, t, h, q, v, false, w->f, w->f + nq, stats);
  if (w->answer != PERP_ODE_OK) return w->answer;
  if (!perp_finite(w->n, w->f)) { /* GSL would take it into its factorizations and history */
    stats->reason = PERP_NOT_FINITE;
    return PERP_ODE_FAILED;
  }

  const perp_ode_control *given = &w->tolerance;
  const bool fixed = given->tol == 0 && !w->history;
  double tol = given->tol > 0 ? given->tol : fixed ? PERP_ODE_FIXED_TOL : PERP_ODE_VARIABLE_TOL;
  int status;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  for (int looser = 0;; looser++, tol *= 1e3) {
    set_levels(w, tol, given->atol);
    status = gsl_odeiv2_step_apply(w->step, t, h, w->y, w->yerr, w->f, NULL, &w->system);
    if (status == GSL_SUCCESS && w->step->type == gsl_odeiv2_step_bsimp &&
        !perp_finite(w->n, w->yerr))
      status = apply_shifted(w, t, q, v);
    if (status == GSL_SUCCESS || w->answer != PERP_ODE_OK || !fixed || looser == 2) break;
    memcpy(w->y, q, nq * sizeof *q);
    if (nv > 0) memcpy(w->y + nq, v, nv * sizeof *v);
  }
  gsl_set_error_handler(handler);

  if (w->history && (w->answer != PERP_ODE_OK || !perp_finite(w->n, w->y)))
    gsl_odeiv2_step_reset(w->step); /* not every failure of ours leaves the array as it was */
  if (w->answer != PERP_ODE_OK) return w->answer;
  if (status != GSL_SUCCESS) {
    stats->reason = PERP_MAX_ITER;
    return PERP_ODE_FAILED;
  }
  memcpy(q, w->y, nq * sizeof *q);
  if (nv > 0) memcpy(v, w->y + nq, nv * sizeof *v);
  if (sys->project != NULL) sys->project(sys->user, q);
  if (err != NULL) memcpy(err, w->yerr, (nq + nv) * sizeof *err);
  return PERP_ODE_OK;
}

static int current_order(const void *ws)
{
  return (int)gsl_odeiv2_step_order(((const struct ws *)ws)->step);
}

static void gsl_reset(void *ws)
{
  struct ws *w = ws;
  gsl_odeiv2_step_reset(w->step);
  w->scale = (struct perp_ode_scale){ 0 };
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
